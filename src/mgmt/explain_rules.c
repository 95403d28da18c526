/* Decides which rules of `explain` hold. A rule whose facts are missing does not. */
#include <stdio.h>

#include "base/near.h"
#include "look/kinds.h"
#include "mgmt/akka.h"
#include "mgmt/api_inside.h"
#include "mgmt/explain.h"
#include "mgmt/fields.h"
#include "mgmt/rows.h"

#define NEAR_MOST 3             /* changes of letters by which a name may be another one's */
#define HOT_LANE_MESSAGES 10000 /* of a lane in the window of a look; below, a share means little */

/* ---- facts ---- */

static const struct facts *of_kind(const struct explained *explained, enum sherd_look_kind kind)
{
    static const struct facts none;

    for (uint32_t i = 0; i < explained->count; i++)
        if (explained->facts[i].kind == kind && explained->facts[i].parts.count)
            return &explained->facts[i];
    return &none;
}

static struct slice wanted(const struct explained *explained, enum api_param param)
{
    return slice_text(explained->request->words[param]);
}

/* The node of the question; this one unless it is named. */
static struct slice node_of(const struct explained *explained)
{
    const char *node = api_node(explained->request->words[API_NODE]);

    return slice_text(node ? node : explained->request->self);
}

static struct slice told_by(const struct facts *facts, uint32_t row)
{
    return slice_text(fact_part(facts, row)->address);
}

static struct slice status_of(const struct facts *members, uint32_t row)
{
    return status_name(SHERD_LOOK_MEMBERS, "status", fact_text(members, row, LOOK_MEMBERS_STATUS));
}

/* The row that this node has of a member; facts_count: none. */
static uint32_t member_row(const struct explained *explained, const struct facts *members, struct slice node)
{
    uint32_t row = 0;

    while (row < facts_count(members) && !(fact_is(members, row, LOOK_MEMBERS_ADDRESS, node) &&
                                           slice_is(told_by(members, row), explained->request->self)))
        row++;
    return row;
}

static bool has_status(const struct explained *explained, const char *status)
{
    const struct facts *members = of_kind(explained, SHERD_LOOK_MEMBERS);
    uint32_t row = member_row(explained, members, node_of(explained));

    return row < facts_count(members) && slice_is(status_of(members, row), status);
}

static bool is_unreachable(const struct explained *explained, struct slice node)
{
    const struct facts *members = of_kind(explained, SHERD_LOOK_MEMBERS);
    uint32_t row = member_row(explained, members, node);

    return row < facts_count(members) && fact_at(members, row, LOOK_MEMBERS_REACHABLE)->is_known &&
           !fact_number(members, row, LOOK_MEMBERS_REACHABLE);
}

/* The time of the newest decision with that event about the member, the shard, or nothing. */
static void since(const struct explained *explained, const char *event, uint32_t column, struct slice about,
                  struct explain_words *words)
{
    const struct facts *timeline = of_kind(explained, SHERD_LOOK_TIMELINE);
    char date[DATE_SIZE];

    for (uint32_t i = 0; i < facts_count(timeline); i++) {
        if (!fact_is(timeline, i, LOOK_TIMELINE_EVENT, slice_text(event)) || !fact_is(timeline, i, column, about))
            continue;
        date_text(date, fact_number(timeline, i, LOOK_TIMELINE_TIME));
        (void)snprintf(words->since, sizeof words->since, ", since %s", date);
        return;
    }
}

/* ---- nodes ---- */

/* A member that has not seen the last change, for a node with that status. */
static bool disagrees(const struct explained *explained, const char *status, struct explain_words *words)
{
    const struct facts *members = of_kind(explained, SHERD_LOOK_MEMBERS);

    if (!has_status(explained, status))
        return false;
    for (uint32_t i = 0; i < facts_count(members); i++) {
        if (!slice_is(told_by(members, i), explained->request->self) ||
            !fact_at(members, i, LOOK_MEMBERS_SEEN)->is_known || fact_number(members, i, LOOK_MEMBERS_SEEN))
            continue;
        words->other = fact_text(members, i, LOOK_MEMBERS_ADDRESS);
        return true;
    }
    return false;
}

static bool is_alone(const struct explained *explained, bool has_seeds, struct explain_words *words)
{
    const struct facts *nodes = of_kind(explained, SHERD_LOOK_NODES);
    const struct facts *config = of_kind(explained, SHERD_LOOK_CONFIG);
    uint32_t row = facts_row_of(nodes, node_of(explained));
    uint32_t seeds = type_row(config, LOOK_CONFIG_KEY, slice_text("cluster.seed-nodes"));

    if (row == facts_count(nodes) || fact_at(nodes, row, LOOK_NODES_STATUS)->is_known || !config->parts.count ||
        config->is_partial)
        return false;
    if (seeds < facts_count(config))
        words->text = fact_text(config, seeds, LOOK_CONFIG_VALUE);
    return has_seeds == (seeds < facts_count(config));
}

/* A lane of the node is blocked. */
static bool is_stalled(const struct explained *explained, struct explain_words *words)
{
    const struct facts *nodes = of_kind(explained, SHERD_LOOK_NODES);
    uint32_t row = facts_row_of(nodes, words->node);

    if (row == facts_count(nodes) || !fact_at(nodes, row, LOOK_NODES_STALLED)->is_known)
        return false;
    words->count = fact_number(nodes, row, LOOK_NODES_STALLED_LANE);
    words->most = fact_number(nodes, row, LOOK_NODES_STALLED) / 1000;
    return true;
}

/* The home of an entity is not known, and a member has a blocked lane, so it may be the home. */
static bool some_node_is_stalled(const struct explained *explained, struct explain_words *words)
{
    const struct facts *nodes = of_kind(explained, SHERD_LOOK_NODES);

    for (uint32_t i = 0; !of_kind(explained, SHERD_LOOK_HOMES)->parts.count && i < facts_count(nodes); i++) {
        words->node = told_by(nodes, i);
        if (is_stalled(explained, words))
            return true;
    }
    return false;
}

static bool is_cordoned(const struct explained *explained, struct explain_words *words)
{
    const struct facts *nodes = of_kind(explained, SHERD_LOOK_NODES);
    uint32_t row = facts_row_of(nodes, words->node);

    words->text = row < facts_count(nodes) ? fact_text(nodes, row, LOOK_NODES_CORDON) : slice_of(NULL, 0);
    return words->text.data != NULL;
}

/* One entity gets half of the messages of a lane that has many. */
static bool has_hot_entity(const struct explained *explained, struct explain_words *words)
{
    const struct facts *hot = of_kind(explained, SHERD_LOOK_HOT);

    for (uint32_t i = 0; i < facts_count(hot); i++) {
        uint64_t of = fact_number(hot, i, LOOK_HOT_OF);
        struct slice type = fact_text(hot, i, LOOK_HOT_TYPE), id = fact_text(hot, i, LOOK_HOT_ID);
        uint64_t least = fact_number(hot, i, LOOK_HOT_MESSAGES) - fact_number(hot, i, LOOK_HOT_ERROR);

        if (!slice_equal(told_by(hot, i), words->node) || of < HOT_LANE_MESSAGES || least < of / 2)
            continue;
        words->count = 100 * least / of;
        (void)snprintf(words->room, sizeof words->room, "%.*s/%.*s", (int)type.size, (const char *)type.data, (int)id.size,
                       (const char *)id.data);
        words->text = slice_text(words->room);
        return true;
    }
    return false;
}

static bool waits_for_members(const struct explained *explained, struct explain_words *words)
{
    const struct facts *members = of_kind(explained, SHERD_LOOK_MEMBERS);
    const struct facts *config = of_kind(explained, SHERD_LOOK_CONFIG);
    uint32_t row = type_row(config, LOOK_CONFIG_KEY, slice_text("cluster.min-nr-of-members"));
    struct slice value;

    if (!has_status(explained, "Joining") || row == facts_count(config))
        return false;
    value = fact_text(config, row, LOOK_CONFIG_VALUE);
    for (size_t i = 0; i < value.size && i < 9 && value.data[i] >= '0' && value.data[i] <= '9'; i++)
        words->most = words->most * 10 + (uint64_t)(value.data[i] - '0');
    for (uint32_t i = 0; i < facts_count(members); i++)
        words->count += slice_is(told_by(members, i), explained->request->self);
    return words->count < words->most;
}

static bool is_missed(const struct explained *explained, struct explain_words *words)
{
    const struct facts *members = of_kind(explained, SHERD_LOOK_MEMBERS);
    struct slice node = node_of(explained);

    for (uint32_t i = 0; i < facts_count(members); i++) {
        if (!fact_is(members, i, LOOK_MEMBERS_ADDRESS, node) || !fact_at(members, i, LOOK_MEMBERS_REACHABLE)->is_known ||
            fact_number(members, i, LOOK_MEMBERS_REACHABLE))
            continue;
        words->other = told_by(members, i);
        since(explained, "unreachable", LOOK_TIMELINE_MEMBER, node, words);
        return true;
    }
    return false;
}

static bool leaves(const struct explained *explained, struct explain_words *words)
{
    const struct facts *types = of_kind(explained, SHERD_LOOK_TYPES);
    struct slice node = node_of(explained);

    for (uint32_t i = 0; i < facts_count(types); i++)
        if (slice_equal(told_by(types, i), node))
            words->count += fact_number(types, i, LOOK_TYPES_HOSTED);
    return types->parts.count && (has_status(explained, "Leaving") || has_status(explained, "Exiting"));
}

/* ---- shards ---- */

/* The type's rows of all members. False: none is there. */
static bool type_of(const struct explained *explained, struct type_sums *sums)
{
    const struct facts *types = of_kind(explained, SHERD_LOOK_TYPES);
    uint32_t row = type_row(types, LOOK_TYPES_TYPE, wanted(explained, API_TYPE));

    return row < facts_count(types) && type_first(types, row, sums);
}

/* The coordinator's row of the type; facts_count: none. */
static uint32_t coordinator_row(const struct explained *explained, const struct facts *coordinators)
{
    return type_row(coordinators, LOOK_COORDINATORS_TYPE, wanted(explained, API_TYPE));
}

static bool awaits(const struct explained *explained, struct explain_words *words)
{
    const struct facts *coordinators = of_kind(explained, SHERD_LOOK_COORDINATORS);
    uint32_t row = coordinator_row(explained, coordinators);

    if (row == facts_count(coordinators) || fact_number(coordinators, row, LOOK_COORDINATORS_ACTIVE))
        return false;
    words->count = fact_number(coordinators, row, LOOK_COORDINATORS_AWAITED);
    return words->count > 0;
}

/* Whether the coordinator acts, and its looks are whole. */
static bool is_told(const struct explained *explained)
{
    const struct facts *coordinators = of_kind(explained, SHERD_LOOK_COORDINATORS);
    const struct facts *homes = of_kind(explained, SHERD_LOOK_HOMES);
    uint32_t row = coordinator_row(explained, coordinators);

    return row < facts_count(coordinators) && fact_number(coordinators, row, LOOK_COORDINATORS_ACTIVE) &&
           homes->parts.count && !homes->is_partial;
}

static bool has_home(const struct explained *explained, struct slice *home)
{
    const struct facts *homes = of_kind(explained, SHERD_LOOK_HOMES);

    *home = facts_count(homes) ? fact_text(homes, 0, LOOK_HOMES_HOME) : slice_of(NULL, 0);
    return home->data != NULL;
}

static bool lacks_home(const struct explained *explained)
{
    struct slice home;

    return explained->shard && is_told(explained) && !has_home(explained, &home);
}

static bool has_no_candidate(const struct explained *explained, struct explain_words *words)
{
    const struct facts *regions = of_kind(explained, SHERD_LOOK_REGIONS);

    if (!is_told(explained) || !regions->parts.count || regions->is_partial)
        return false;
    for (uint32_t i = 0; i < facts_count(regions); i++)
        if (!fact_number(regions, i, LOOK_REGIONS_PROXY) && !fact_number(regions, i, LOOK_REGIONS_LEAVING))
            return false;
    words->count = facts_count(regions);
    return true;
}

static bool is_moving(const struct explained *explained)
{
    const struct facts *homes = of_kind(explained, SHERD_LOOK_HOMES);

    return facts_count(homes) && fact_number(homes, 0, LOOK_HOMES_MOVING);
}

/* Whether a member runs the shard with one of these two states. */
static bool runs_as(const struct explained *explained, const char *state, const char *other, struct explain_words *words)
{
    const struct facts *shards = of_kind(explained, SHERD_LOOK_SHARDS);

    for (uint32_t i = 0; i < facts_count(shards); i++) {
        struct slice text = fact_text(shards, i, LOOK_SHARDS_STATE);

        if (!slice_is(text, state) && !slice_is(text, other))
            continue;
        words->node = told_by(shards, i);
        words->text = text;
        words->count = fact_number(shards, i, LOOK_SHARDS_ENTITIES);
        words->most = fact_number(shards, i, LOOK_SHARDS_OWED);
        return true;
    }
    return false;
}

static bool is_not_started(const struct explained *explained, struct explain_words *words)
{
    const struct facts *homes = of_kind(explained, SHERD_LOOK_HOMES);
    const struct facts *shards = of_kind(explained, SHERD_LOOK_SHARDS);

    return has_home(explained, &words->node) && !fact_number(homes, 0, LOOK_HOMES_STARTED) && !is_moving(explained) &&
           shards->parts.count && !shards->is_partial && !facts_count(shards);
}

static bool is_above(const struct explained *explained, struct explain_words *words)
{
    struct type_sums sums;
    uint64_t number = 0;

    if (!explained->shard || !type_of(explained, &sums) || !sums.shards || strlen(explained->shard) > 9)
        return false;
    for (const char *at = explained->shard; *at; at++) {
        if (*at < '0' || *at > '9')
            return false;
        number = number * 10 + (uint64_t)(*at - '0');
    }
    words->most = sums.shards;
    return number >= sums.shards;
}

static bool runs(const struct explained *explained, struct explain_words *words)
{
    if (!explained->shard || is_moving(explained) || !runs_as(explained, "running", "running", words))
        return false;
    since(explained, "shard started", LOOK_TIMELINE_SHARD, slice_text(explained->shard), words);
    return true;
}

/* The newest of the shard's decisions is a failed hand-off. */
static bool has_failed_to_move(const struct explained *explained, struct explain_words *words)
{
    const struct facts *timeline = of_kind(explained, SHERD_LOOK_TIMELINE);

    for (uint32_t i = 0; explained->shard && i < facts_count(timeline); i++) {
        if (!fact_is(timeline, i, LOOK_TIMELINE_SHARD, slice_text(explained->shard)))
            continue;
        words->node = told_by(timeline, i);
        words->text = fact_text(timeline, i, LOOK_TIMELINE_TEXT);
        if (!words->text.data)
            words->text = slice_text("the cause is not known");
        since(explained, "hand-off failed", LOOK_TIMELINE_SHARD, slice_text(explained->shard), words);
        return fact_is(timeline, i, LOOK_TIMELINE_EVENT, slice_text("hand-off failed"));
    }
    return false;
}

static bool holds_for_shard(enum explain_rule rule, const struct explained *explained, struct explain_words *words)
{
    struct type_sums sums;

    switch (rule) {
    case RULE_S1:
        return lacks_home(explained) && type_of(explained, &sums) && !sums.wanted;
    case RULE_S2:
        return type_of(explained, &sums) && !sums.coordinator.data &&
               !of_kind(explained, SHERD_LOOK_TYPES)->is_partial;
    case RULE_S3:
        return awaits(explained, words);
    case RULE_S5:
        return lacks_home(explained) && has_no_candidate(explained, words);
    case RULE_S7:
        return has_home(explained, &words->node) && is_unreachable(explained, words->node);
    case RULE_S8:
        return is_not_started(explained, words);
    case RULE_S9:
        return runs_as(explained, "claiming", "leasing", words);
    case RULE_S10:
        return runs_as(explained, "fenced", "fenced", words);
    case RULE_S12:
        return is_moving(explained) && runs_as(explained, "running", "running", words);
    case RULE_S13:
        if (!runs_as(explained, "draining", "stopping", words))
            return false;
        words->count = words->most;
        return true;
    case RULE_S14:
        return has_failed_to_move(explained, words);
    case RULE_S15:
        return runs(explained, words);
    case RULE_S17:
        return has_home(explained, &words->node) && is_stalled(explained, words);
    default:
        return is_above(explained, words);
    }
}

/* ---- entities ---- */

/* A number of the entity's lane; 0: it is not known. */
static uint64_t of_lane(const struct explained *explained, const struct facts *entity, uint32_t column)
{
    const struct facts *lanes = of_kind(explained, SHERD_LOOK_LANES);

    for (uint32_t i = 0; i < facts_count(lanes); i++)
        if (slice_equal(told_by(lanes, i), told_by(entity, 0)) &&
            fact_number(lanes, i, LOOK_LANES_LANE) == fact_number(entity, 0, LOOK_ENTITY_LANE))
            return fact_number(lanes, i, column);
    return 0;
}

static bool holds_for_entity(enum explain_rule rule, const struct explained *explained, struct explain_words *words)
{
    const struct facts *entity = of_kind(explained, SHERD_LOOK_ENTITY);
    struct slice status;

    if (rule == RULE_E1)
        return entity->parts.count && !entity->is_partial && !facts_count(entity);
    if (!facts_count(entity))
        return false;
    status = fact_text(entity, 0, LOOK_ENTITY_STATUS);
    words->node = told_by(entity, 0);
    words->text = fact_text(entity, 0, LOOK_ENTITY_FAULT);
    switch (rule) {
    case RULE_E2:
        words->count = of_lane(explained, entity, LOOK_LANES_RECOVERING);
        return slice_is(status, "recovering");
    case RULE_E3:
        words->count = fact_number(entity, 0, LOOK_ENTITY_ATTEMPTS);
        if (!words->text.data)
            words->text = slice_text("the cause is not known");
        return slice_is(status, "back-off");
    case RULE_E4:
        words->count = fact_number(entity, 0, LOOK_ENTITY_HELD);
        words->most = fact_number(entity, 0, LOOK_ENTITY_UNDURABLE);
        return words->count > 0 && words->most > 0;
    case RULE_E7:
        words->count = fact_number(entity, 0, LOOK_ENTITY_MAILBOX);
        words->most = of_lane(explained, entity, LOOK_LANES_RUNNABLE);
        return slice_is(status, "alive") && words->count > 0;
    case RULE_E9:
        return slice_is(status, "stopping") || slice_is(status, "ending");
    case RULE_E10:
        return slice_is(status, "restarting");
    default:
        words->count = fact_number(entity, 0, LOOK_ENTITY_ASKS);
        return slice_is(status, "alive") && words->count > 0 && !fact_number(entity, 0, LOOK_ENTITY_MAILBOX);
    }
}

/* ---- messages ---- */

/* Begins the list of types with the one that was probably meant. Returns the size. */
static size_t put_nearest(const struct explained *explained, const struct facts *types, struct explain_words *words)
{
    const char *wanted_type = explained->request->words[API_TYPE];
    char name[NEAR_TEXT_SIZE + 1], best[NEAR_TEXT_SIZE + 1] = "";
    uint32_t distance, least = NEAR_MOST + 1;
    struct type_sums sums;

    for (uint32_t i = 0; strlen(wanted_type) <= NEAR_TEXT_SIZE && i < facts_count(types); i++) {
        if (!type_first(types, i, &sums) || sums.type.size > NEAR_TEXT_SIZE)
            continue;
        (void)snprintf(name, sizeof name, "%.*s", (int)sums.type.size, (const char *)sums.type.data);
        distance = near_distance(wanted_type, name);
        if (distance < least) {
            least = distance;
            memcpy(best, name, sizeof name);
        }
    }
    if (*best)
        return (size_t)snprintf(words->room, sizeof words->room, "did you mean %s? The types are", best);
    return (size_t)snprintf(words->room, sizeof words->room, "the types are");
}

static bool is_unknown_type(const struct explained *explained, struct explain_words *words)
{
    const struct facts *types = of_kind(explained, SHERD_LOOK_TYPES);
    struct type_sums sums;
    size_t size;

    if (!types->parts.count || types->is_partial || type_of(explained, &sums))
        return false;
    size = put_nearest(explained, types, words);
    for (uint32_t i = 0; i < facts_count(types); i++)
        if (type_first(types, i, &sums) && sums.type.size + 3 < sizeof words->room - size)
            size += (size_t)snprintf(words->room + size, sizeof words->room - size, " %.*s", (int)sums.type.size,
                                     (const char *)sums.type.data);
    words->text = slice_of(words->room, size);
    return true;
}

/* The newest sample comes first. */
static bool was_undelivered(const struct explained *explained, struct explain_words *words)
{
    const struct facts *samples = of_kind(explained, SHERD_LOOK_UNDELIVERED);
    uint32_t row = type_row(samples, LOOK_UNDELIVERED_TYPE, wanted(explained, API_TYPE));
    char date[DATE_SIZE];

    if (row == facts_count(samples))
        return false;
    date_text(date, fact_number(samples, row, LOOK_UNDELIVERED_TIME));
    (void)snprintf(words->since, sizeof words->since, " at %s", date);
    words->node = told_by(samples, row);
    words->text = fact_text(samples, row, LOOK_UNDELIVERED_REASON);
    return true;
}

static bool has_jvm_coordinator(const struct explained *explained, struct explain_words *words)
{
    const struct facts *members = of_kind(explained, SHERD_LOOK_MEMBERS);
    struct type_sums sums;
    uint32_t row;

    if (!type_of(explained, &sums) || !sums.coordinator.data)
        return false;
    row = member_row(explained, members, sums.coordinator);
    words->node = sums.coordinator;
    return row < facts_count(members) && fact_number(members, row, LOOK_MEMBERS_JVM);
}

static bool holds_for_message(enum explain_rule rule, const struct explained *explained, struct explain_words *words)
{
    const struct facts *entity = of_kind(explained, SHERD_LOOK_ENTITY);
    struct type_sums sums;

    switch (rule) {
    case RULE_M1:
        return is_unknown_type(explained, words);
    case RULE_M2:
        words->count = wanted(explained, API_ID).size;
        words->most = SHERD_ID_MAX;
        return words->count > SHERD_ID_MAX;
    case RULE_M4:
        if (!lacks_home(explained) || !type_of(explained, &sums))
            return false;
        words->count = sums.waiting;
        return true;
    case RULE_M5:
        return is_moving(explained) && has_home(explained, &words->node);
    case RULE_M7:
        if (is_moving(explained) || !runs_as(explained, "running", "running", words))
            return false;
        words->count = facts_count(entity) ? fact_number(entity, 0, LOOK_ENTITY_MAILBOX) : 0;
        return !facts_count(entity) || !fact_is(entity, 0, LOOK_ENTITY_STATUS, slice_text("back-off"));
    case RULE_M8:
        return was_undelivered(explained, words);
    default:
        return has_jvm_coordinator(explained, words);
    }
}

/* ---- rebalance ---- */

static bool is_paused(const struct explained *explained, struct explain_words *words)
{
    const struct facts *coordinators = of_kind(explained, SHERD_LOOK_COORDINATORS);
    uint32_t row = coordinator_row(explained, coordinators);

    words->text = row < facts_count(coordinators) ? fact_text(coordinators, row, LOOK_COORDINATORS_PAUSED) : slice_of(NULL, 0);
    return words->text.data != NULL;
}

static bool is_on_the_move(const struct explained *explained, struct explain_words *words)
{
    const struct facts *coordinators = of_kind(explained, SHERD_LOOK_COORDINATORS);
    uint32_t row = coordinator_row(explained, coordinators);

    if (row == facts_count(coordinators))
        return false;
    words->count = fact_number(coordinators, row, LOOK_COORDINATORS_BEGINNING) +
                   fact_number(coordinators, row, LOOK_COORDINATORS_STOPPING);
    return words->count > 0;
}

static bool is_not_calm(const struct explained *explained, struct explain_words *words)
{
    const struct facts *members = of_kind(explained, SHERD_LOOK_MEMBERS);

    for (uint32_t i = 0; i < facts_count(members); i++) {
        words->other = fact_text(members, i, LOOK_MEMBERS_ADDRESS);
        words->text = status_of(members, i);
        if (is_unreachable(explained, words->other)) {
            words->text = slice_text("unreachable");
            return true;
        }
        if (slice_is(words->text, "Joining") || slice_is(words->text, "Leaving") || slice_is(words->text, "Exiting"))
            return true;
    }
    return false;
}

static bool versions_differ(const struct explained *explained, struct explain_words *words)
{
    const struct facts *members = of_kind(explained, SHERD_LOOK_MEMBERS);

    for (uint32_t i = 1; i < facts_count(members); i++) {
        words->other = fact_text(members, i, LOOK_MEMBERS_ADDRESS);
        words->text = fact_text(members, i, LOOK_MEMBERS_VERSION);
        if (words->text.data && !fact_is(members, 0, LOOK_MEMBERS_VERSION, words->text))
            return true;
    }
    return false;
}

static bool is_balanced(const struct explained *explained, struct explain_words *words)
{
    const struct facts *regions = of_kind(explained, SHERD_LOOK_REGIONS);
    bool has_any = false;

    if (regions->is_partial)
        return false;
    for (uint32_t i = 0; i < facts_count(regions); i++) {
        uint64_t shards = fact_number(regions, i, LOOK_REGIONS_SHARDS);

        if (fact_number(regions, i, LOOK_REGIONS_PROXY) || !fact_is(regions, i, LOOK_REGIONS_TYPE, wanted(explained, API_TYPE)))
            continue;
        if (!has_any || shards < words->count)
            words->count = shards;
        if (!has_any || shards > words->most)
            words->most = shards;
        has_any = true;
    }
    return has_any && words->most - words->count <= 1;
}

/* ---- readiness ---- */

static bool is_unready(const struct explained *explained, enum explain_rule rule, struct explain_words *words)
{
    static const struct {
        enum explain_rule rule;
        uint32_t bit;
    } rows[] = {
        { RULE_Q1, SHERD_UNREADY_ENDED },   { RULE_Q2, SHERD_UNREADY_MEMBER },   { RULE_Q3, SHERD_UNREADY_LEAVING },
        { RULE_Q4, SHERD_UNREADY_LANES },   { RULE_Q5, SHERD_UNREADY_STORAGE },  { RULE_Q6, SHERD_UNREADY_SHARDING },
        { RULE_Q8, SHERD_UNREADY_TLS },
    };

    words->node = slice_text(explained->request->self);
    words->text = slice_text(akka_status(explained->request->health.status));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].rule == rule)
            return (explained->request->health.unready & rows[i].bit) != 0;
    return false;
}

bool explain_holds(enum explain_rule rule, const struct explained *explained, struct explain_words *words)
{
    words->node = node_of(explained);
    switch (rule) {
    case RULE_N1:
        return is_alone(explained, false, words);
    case RULE_N2:
        return is_alone(explained, true, words);
    case RULE_N10:
        return explained->of == EXPLAIN_NODE ? is_stalled(explained, words) : some_node_is_stalled(explained, words);
    case RULE_N12:
        return is_cordoned(explained, words);
    case RULE_N13:
        return has_hot_entity(explained, words);
    case RULE_N3:
        return waits_for_members(explained, words);
    case RULE_N4:
        return disagrees(explained, "Joining", words);
    case RULE_N5:
        return disagrees(explained, "WeaklyUp", words);
    case RULE_N6:
        return is_missed(explained, words);
    case RULE_N14:
        return leaves(explained, words);
    case RULE_R1:
        return is_paused(explained, words);
    case RULE_R5:
        return is_on_the_move(explained, words);
    case RULE_R2:
        return is_not_calm(explained, words);
    case RULE_R3:
        return versions_differ(explained, words);
    case RULE_R4:
        return is_balanced(explained, words);
    case RULE_R8:
        return awaits(explained, words);
    default:
        break;
    }
    if (rule >= RULE_Q1)
        return is_unready(explained, rule, words);
    if (rule >= RULE_M1)
        return holds_for_message(rule, explained, words);
    return rule >= RULE_E1 ? holds_for_entity(rule, explained, words) : holds_for_shard(rule, explained, words);
}
