/* Follows changes of other nodes in remembered entities in distributed data, on control
 * (remember_events.h). */
#include "node/control/remember_events.h"

#include "base/bound.h"
#include "node/control/control.h"
#include "node/control/remember_data.h"
#include "shard/remember_keys.h"
#include "shard/shard_id.h"

/* A subscriber's token has REMEMBER_TOKEN, the type, and for a shard's keys its place (from 1),
 * lane and key. */
#define TOP_AT 63
#define PLACE_AT 32
#define LANE_AT 20
#define KEY_AT 16

_Static_assert(ACTOR_TYPES_MAX <= 1 << KEY_AT, "a type");
_Static_assert(REMEMBER_FOLLOWED_MAX + 3 * ACTOR_TYPES_MAX <=
                   REPLICATOR_SUBSCRIPTIONS_MAX,
               "each coordinator has its two keys and the set of shards");
_Static_assert(REMEMBER_KEYS <= 1 << (LANE_AT - KEY_AT), "a key");
_Static_assert(LANES_MAX <= 1 << (PLACE_AT - LANE_AT), "a lane");

static uint64_t token_of(const struct mail_content *content, uint32_t lane,
                         uint32_t index)
{
    return REMEMBER_TOKEN |
           (uint64_t)(shard_place(content->shard) + 1) << PLACE_AT |
           (uint64_t)lane << LANE_AT | (uint64_t)index << KEY_AT |
           content->type;
}

static uint32_t bits_of(uint64_t token, int from, int to)
{
    return (uint32_t)(token >> from & ((UINT64_C(1) << (to - from)) - 1));
}

static const char *name_of(const struct control *control, uint32_t type)
{
    return control->machine->node->names[type].name;
}

void remember_follow_list(struct control *control, uint32_t type)
{
    struct replicator *replicator;
    uint64_t token = REMEMBER_TOKEN | type;
    struct buf key = { 0 };

    if (!control->machine->node->names[type].remembers_in_data)
        return;
    replicator = shard_data_replicator(control, type);
    remember_shards_key_put(&key, name_of(control, type));
    replicator_unsubscribe(replicator, token, buf_slice(&key)); /* of the previous coordinator */
    if (!replicator_subscribe(replicator, token, buf_slice(&key)))
        trace_put(control->machine->trace, TRACE_ERROR, "coordinator",
                  "shards with remembered entities not followed: distributed "
                  "data has too many subscribers type=%s "
                  "hint=\"use fewer entity types\"",
                  name_of(control, type));
    buf_fini(&key);
}

/* Returns false if there are too many. */
static bool follow_key(struct control *control, struct replicator *replicator,
                       uint64_t token, struct slice key)
{
    struct remember_data *data = &control->remember_data;
    bool is_new = !replicator_is_subscribed(replicator, token, key);

    if (is_new && data->followed >= REMEMBER_FOLLOWED_MAX)
        return false;
    if (!replicator_subscribe(replicator, token, key))
        return false;
    data->followed += is_new;
    BOUNDED("keys of remembered entities that are followed", data->followed,
            REMEMBER_FOLLOWED_MAX);
    return true;
}

static void follow(struct control *control, uint32_t lane,
                   const struct mail_content *content)
{
    struct replicator *replicator =
        shard_data_replicator(control, content->type);
    struct remember_data *data = &control->remember_data;
    struct buf key = { 0 };
    char text[SHARD_TEXT_MAX];
    bool is_followed = true;

    for (uint32_t i = 0; i < REMEMBER_KEYS; i++) {
        buf_clear(&key);
        remember_key_put(&key, name_of(control, content->type),
                         shard_name(shard_names_of(control, content->type), content->shard, text),
                         i);
        is_followed &= follow_key(control, replicator, token_of(content, lane, i),
                                  buf_slice(&key));
    }
    if (!is_followed && !data->is_crowded)
        trace_put(control->machine->trace, TRACE_WARNING, "shard",
                  "remembered entities not followed: a late change counts at "
                  "the next read type=%s shard=%d keys_max=%d hint=\"add nodes "
                  "or use fewer shards; more shards are not logged\"",
                  name_of(control, content->type), content->shard,
                  REMEMBER_FOLLOWED_MAX);
    data->is_crowded |= !is_followed;
    buf_fini(&key);
}

static void follow_no_more(struct control *control, uint32_t lane,
                           const struct mail_content *content)
{
    struct replicator *replicator =
        shard_data_replicator(control, content->type);
    struct remember_data *data = &control->remember_data;
    struct buf key = { 0 };
    char text[SHARD_TEXT_MAX];

    for (uint32_t i = 0; i < REMEMBER_KEYS; i++) {
        uint64_t token = token_of(content, lane, i);

        buf_clear(&key);
        remember_key_put(&key, name_of(control, content->type),
                         shard_name(shard_names_of(control, content->type), content->shard, text),
                         i);
        if (!replicator_is_subscribed(replicator, token, buf_slice(&key)))
            continue;
        replicator_unsubscribe(replicator, token, buf_slice(&key));
        data->followed--;
        data->is_crowded = false;
    }
    buf_fini(&key);
}

void remember_events_mail(struct control *control, uint32_t lane,
                            const struct mail_content *content)
{
    enum remember_verb verb = mail_remember_of(content)->verb;

    if (verb == REMEMBER_FOLLOW)
        follow(control, lane, content);
    else if (verb == REMEMBER_GIVE_UP)
        follow_no_more(control, lane, content);
}

static void list_changed(struct control *control, uint32_t type,
                         const struct dd_value *value)
{
    struct machine *machine = control->machine;
    struct coordinator *coordinator = control->types[type].coordinator;
    struct dd_element element;

    if (!coordinator || dd_kind_of(value) != DD_GSET)
        return;
    /* no shard of the type: a read handles it */
    for (uint32_t at = 0; dd_set_next(value, &at, &element);)
        if (element.kind == DD_TEXT)
            (void)coordinator_remembered(coordinator, element.text);
    coordinator_step(coordinator, machine->now, &machine->outbox);
    turn_stir(&control->turn);
}

static void key_changed(struct control *control, uint64_t token,
                        const struct dd_value *set)
{
    struct buf *record = mem_alloc(sizeof *record);
    struct mail_content content = mail_for_shard(
        bits_of(token, 0, KEY_AT),
        shard_at_place(bits_of(token, PLACE_AT, TOP_AT) - 1),
        MAIL(remember_changed, .key = bits_of(token, KEY_AT, LANE_AT),
             .own = { record }));
    struct buf ids = { 0 };
    uint64_t strange = 0;
    uint64_t count = remember_data_ids(&ids, set, &strange);

    remember_starts_put(record, buf_slice(&ids), count);
    buf_fini(&ids);
    outputs_post(&control->machine->outputs, bits_of(token, LANE_AT, PLACE_AT) + 1,
                 &content);
}

void remember_follow_news(struct control *control,
                          const struct replicator_news *news)
{
    if (!news->value)
        return;
    if (!bits_of(news->token, PLACE_AT, TOP_AT))
        list_changed(control, bits_of(news->token, 0, KEY_AT), news->value);
    else if (news->by_others && dd_kind_of(news->value) == DD_ORSET)
        key_changed(control, news->token, news->value);
}
