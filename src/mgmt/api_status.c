/* Writes the answers about members and about the whole cluster. */
#include "look/kinds.h"
#include "mgmt/api_inside.h"
#include "mgmt/explain.h"
#include "mgmt/fields.h"
#include "mgmt/json.h"
#include "mgmt/rows.h"

/* ---- members ---- */

static void put_state(struct buf *body, const struct facts *nodes, struct slice address)
{
    const struct sherd_look_part *part = facts_part_of(nodes, address);

    field_text(body, "state", part ? sherd_look_state_text(part->state) : NULL);
    field_time(body, "asOf", part ? part->wall_ms : 0);
}

/* facts: those of MEMBERS, NODES. */
static void put_member(struct buf *body, const struct facts *facts, uint32_t row)
{
    struct slice address = fact_text(&facts[0], row, LOOK_MEMBERS_ADDRESS);
    uint32_t says = facts_row_of(&facts[1], address);

    field_slice(body, "node", address);
    for (uint32_t i = LOOK_MEMBERS_UID; i <= LOOK_MEMBERS_JVM; i++)
        put_column(body, &facts[0], row, i);
    put_state(body, &facts[1], address);
    field_name(body, "says");
    if (says < facts_count(&facts[1]))
        put_row(body, &facts[1], says);
    else
        buf_put_text(body, "null");
}

/* The leader as the member says that saw the membership. */
static struct slice leader_of(const struct facts *facts)
{
    uint32_t row;

    if (!facts_count(&facts[0]))
        return slice_of(NULL, 0);
    row = facts_row_of(&facts[1], slice_text(fact_part(&facts[0], 0)->address));
    return row < facts_count(&facts[1]) ? fact_text(&facts[1], row, LOOK_NODES_LEADER) : slice_of(NULL, 0);
}

void api_put_members(const struct facts *facts, struct buf *body)
{
    buf_put_text(body, "{\"items\":[");
    for (uint32_t i = 0; i < facts_count(&facts[0]); i++) {
        json_next(body);
        buf_put_u8(body, '{');
        put_member(body, facts, i);
        buf_put_u8(body, '}');
    }
    buf_put_u8(body, ']');
    field_text(body, "seenBy", facts_count(&facts[0]) ? fact_part(&facts[0], 0)->address : NULL);
    field_slice(body, "leader", leader_of(facts));
    put_parts(body, facts, 2);
    buf_put_u8(body, '}');
}

enum mgmt_error api_put_member(const struct api_request *request, const struct facts *facts, struct buf *body)
{
    struct slice node = slice_text(api_node(request->words[API_NODE]));
    uint32_t row = type_row(&facts[0], LOOK_MEMBERS_ADDRESS, node);

    if (row == facts_count(&facts[0]))
        return facts[0].is_partial || !facts[0].parts.count ? ERROR_LATE : ERROR_NO_MEMBER;
    buf_put_u8(body, '{');
    put_member(body, facts, row);
    field_name(body, "lanes");
    buf_put_u8(body, '[');
    for (uint32_t i = 0; i < facts_count(&facts[2]); i++)
        put_row(body, &facts[2], i);
    buf_put_text(body, "]}");
    return ERROR_NONE;
}

/* ---- the status ---- */

/* The looks of the status, in the order of its plan. */
enum { MEMBERS, NODES, LANES, TYPES, COORDINATORS, LOOKS };

struct status {
    uint64_t up, joining, leaving, down, unreachable;
    uint64_t delivered, undelivered, waiting, entities, shards;
    bool agree, is_partial;
};

static void count_members(const struct facts *members, struct status *status)
{
    for (uint32_t i = 0; i < facts_count(members); i++) {
        struct slice text = status_name(members->kind, "status", fact_text(members, i, LOOK_MEMBERS_STATUS));

        status->up += slice_is(text, "Up") || slice_is(text, "WeaklyUp");
        status->joining += slice_is(text, "Joining");
        status->leaving += slice_is(text, "Leaving") || slice_is(text, "Exiting");
        status->down += slice_is(text, "Down");
        status->unreachable += !fact_number(members, i, LOOK_MEMBERS_REACHABLE);
        status->agree &= fact_number(members, i, LOOK_MEMBERS_SEEN) != 0;
    }
}

static void count_lane(const struct facts *lanes, uint32_t row, struct status *sums)
{
    sums->delivered += fact_number(lanes, row, LOOK_LANES_DELIVERED);
    sums->undelivered += fact_number(lanes, row, LOOK_LANES_UNDELIVERED);
    sums->waiting += fact_number(lanes, row, LOOK_LANES_WAITING) + fact_number(lanes, row, LOOK_LANES_BUFFERED);
    sums->entities += fact_number(lanes, row, LOOK_LANES_ENTITIES);
}

static const char *health_of(const struct status *status, enum explain_severity worst)
{
    if (!status->up || worst == EXPLAIN_CRITICAL)
        return "critical";
    if (worst == EXPLAIN_WARNING || status->is_partial || status->unreachable || status->down || status->joining || status->leaving ||
        !status->agree)
        return "warning";
    return "ok";
}

static void put_versions(const struct facts *members, struct buf *body)
{
    field_name(body, "versions");
    buf_put_u8(body, '{');
    for (uint32_t i = 0; i < facts_count(members); i++) {
        struct slice version = fact_text(members, i, LOOK_MEMBERS_VERSION);
        uint64_t count = 0;

        if (type_row(members, LOOK_MEMBERS_VERSION, version) != i)
            continue;
        for (uint32_t j = i; j < facts_count(members); j++)
            count += fact_is(members, j, LOOK_MEMBERS_VERSION, version);
        json_next(body);
        value_text(body, version);
        buf_put_u8(body, ':');
        json_number(body, count);
    }
    buf_put_u8(body, '}');
}

static void put_types(const struct facts *facts, struct status *status, struct buf *body)
{
    struct type_sums sums;

    field_name(body, "types");
    buf_put_u8(body, '[');
    for (uint32_t i = 0; i < facts_count(&facts[TYPES]); i++) {
        uint32_t row;

        if (!type_first(&facts[TYPES], i, &sums))
            continue;
        status->shards += sums.hosted;
        row = type_row(&facts[COORDINATORS], LOOK_COORDINATORS_TYPE, sums.type);
        json_next(body);
        buf_put_u8(body, '{');
        type_put(body, &sums);
        if (row < facts_count(&facts[COORDINATORS]))
            field_count(body, "moving", fact_number(&facts[COORDINATORS], row, LOOK_COORDINATORS_BEGINNING) +
                                            fact_number(&facts[COORDINATORS], row, LOOK_COORDINATORS_STOPPING));
        else
            field_null(body, "moving");
        buf_put_u8(body, '}');
    }
    buf_put_u8(body, ']');
}

/* Adds the sums of the member's lanes; null where it did not tell them. */
static void put_lanes(const struct facts *facts, struct slice address, struct status *status, struct buf *body)
{
    struct status sums = { .up = 0 };
    uint32_t count = 0;

    for (uint32_t i = 0; i < facts_count(&facts[LANES]); i++) {
        if (!slice_is(address, fact_part(&facts[LANES], i)->address))
            continue;
        count++;
        count_lane(&facts[LANES], i, &sums);
        count_lane(&facts[LANES], i, status);
    }
    if (count) {
        field_count(body, "entities", sums.entities);
        field_count(body, "delivered", sums.delivered);
        field_count(body, "undelivered", sums.undelivered);
        field_count(body, "waiting", sums.waiting);
        return;
    }
    field_null(body, "entities");
    field_null(body, "delivered");
    field_null(body, "undelivered");
    field_null(body, "waiting");
}

/* Shards of the member's types; null if it did not tell them. */
static void put_shards(const struct facts *types, struct slice address, struct buf *body)
{
    const struct sherd_look_part *part = facts_part_of(types, address);
    uint64_t shards = 0;

    if (!part || part->state != SHERD_LOOK_OK) {
        field_null(body, "shards");
        return;
    }
    for (uint32_t i = 0; i < facts_count(types); i++)
        if (slice_is(address, fact_part(types, i)->address))
            shards += fact_number(types, i, LOOK_TYPES_HOSTED);
    field_count(body, "shards", shards);
}

static void put_node(const struct facts *facts, uint32_t row, struct status *status, struct buf *body)
{
    struct slice address = fact_text(&facts[MEMBERS], row, LOOK_MEMBERS_ADDRESS);
    uint32_t says = facts_row_of(&facts[NODES], address);
    static const uint32_t columns[] = { LOOK_NODES_READY, LOOK_NODES_LANES, LOOK_NODES_UPTIME, LOOK_NODES_CORDON };
    static const char *const names[] = { "ready", "lanes", "uptimeMs", "cordon" };

    json_next(body);
    buf_put_u8(body, '{');
    field_slice(body, "node", address);
    put_state(body, &facts[NODES], address);
    put_column(body, &facts[MEMBERS], row, LOOK_MEMBERS_STATUS);
    put_column(body, &facts[MEMBERS], row, LOOK_MEMBERS_REACHABLE);
    put_column(body, &facts[MEMBERS], row, LOOK_MEMBERS_VERSION);
    for (int i = 0; i < 4; i++) {
        if (says < facts_count(&facts[NODES]))
            put_column(body, &facts[NODES], says, columns[i]);
        else
            field_null(body, names[i]);
    }
    put_shards(&facts[TYPES], address, body);
    put_lanes(facts, address, status, body);
    buf_put_u8(body, '}');
}

static void put_counts(const struct status *status, struct buf *body)
{
    field_name(body, "members");
    buf_put_u8(body, '{');
    field_count(body, "up", status->up);
    field_count(body, "joining", status->joining);
    field_count(body, "leaving", status->leaving);
    field_count(body, "down", status->down);
    field_count(body, "unreachable", status->unreachable);
    field_flag(body, "agree", status->agree);
    buf_put_u8(body, '}');
    field_name(body, "totals");
    buf_put_u8(body, '{');
    field_count(body, "delivered", status->delivered);
    field_count(body, "undelivered", status->undelivered);
    field_count(body, "waiting", status->waiting);
    field_count(body, "entities", status->entities);
    field_count(body, "shards", status->shards);
    buf_put_u8(body, '}');
}

void api_put_status(const struct api_request *request, const struct facts *facts, struct buf *body)
{
    struct status status = { .agree = true };

    for (int i = 0; i < LOOKS; i++)
        status.is_partial |= facts[i].is_partial || !facts[i].parts.count;
    count_members(&facts[MEMBERS], &status);
    buf_put_u8(body, '{');
    field_text(body, "cluster", request->system);
    field_text(body, "self", request->self);
    field_slice(body, "leader", leader_of(facts));
    field_flag(body, "partial", status.is_partial);
    field_time(body, "asOf", request->wall_ms);
    put_versions(&facts[MEMBERS], body);
    put_types(facts, &status, body);
    field_name(body, "nodes");
    buf_put_u8(body, '[');
    for (uint32_t i = 0; i < facts_count(&facts[MEMBERS]); i++)
        put_node(facts, i, &status, body);
    buf_put_u8(body, ']');
    field_text(body, "health", health_of(&status, explain_problems(request, facts, LOOKS, body)));
    put_counts(&status, body);
    buf_put_u8(body, '}');
}
