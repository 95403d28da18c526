/* Answers requests of looks with parts: what this lane knows of shards and entities. Each turn does a
 * small step of one request, so that a look never delays messages. Nothing is kept after the answer:
 * its cursor says where the next part begins. */
#include "node/lane/lane.h"

#include "artery/extension.h"
#include "base/bound.h"
#include "base/limits.h"
#include "base/mark.h"
#include "actor/samples.h"
#include "node/lane/look_rows.h"

#define HOT_WINDOW_NS (500 * MS) /* the shortest */
#define HOT_LOOKED_NS (30 * SECOND) /* after the last look entities are sampled for so long */

enum step {
    STEP_MORE, /* the turn's share is done */
    STEP_FULL, /* the part is */
    STEP_OVER  /* the lane has no more rows */
};

void lane_look_free(struct look_serving *serving)
{
    look_asked_free(serving->asked);
    look_rows_fini(&serving->rows);
    top_fini(&serving->top);
    mem_free(serving);
}

void lane_look_serve_fini(struct lane *lane)
{
    for (uint32_t i = 0; i < lane->servings.count; i++)
        lane_look_free(lane->servings.items[i]);
    vec_fini(&lane->servings);
}

/* ---- answers ---- */

static void answer(struct lane *lane, const struct look_serving *serving, enum look_error error,
                   const struct look_cursor *next)
{
    struct machine *machine = lane->machine;
    struct buf *payload = mem_alloc(sizeof *payload);
    struct look_reply reply = { .id = serving->request.id,
                                .rows = buf_slice(&serving->rows.bytes),
                                .next = *next,
                                .error = error,
                                .wall_ms = (uint64_t)machine->wall_ms };
    const struct node_id *to = &serving->asked->from;
    struct mail_content content;

    look_reply_put(payload, &reply);
    if (address_equal(&to->address, &machine->self->node.address)) {
        content = mail_from(lane->own, MAIL(look_reply, .own = { payload }));
        outputs_post(&machine->outputs, 0, &content);
        return;
    }
    outbox_put(&machine->outbox,
               &(struct outbound){ .to = *to,
                                   .manifest = slice_text(MANIFEST_LOOK_PART),
                                   .payload = buf_slice(payload),
                                   .serializer = SERIALIZER_SHERD,
                                   .stream = STREAM_ORDINARY });
    buf_fini(payload);
    mem_free(payload);
}

static bool is_ordered(const struct look_serving *serving)
{
    return serving->request.order != LOOK_NO_ORDER;
}

static bool is_full(const struct look_serving *serving)
{
    return !is_ordered(serving) && (serving->rows.count >= serving->request.limit ||
                                    serving->rows.bytes.size >= LOOK_PART_SIZE);
}

static bool is_wanted(const struct lane *lane, const struct look_serving *serving, uint32_t type)
{
    return !serving->request.type.size ||
           slice_is(serving->request.type, lane->machine->node->names[type].name);
}

/* ---- shards ---- */

static void take_shard(struct lane *lane, struct look_serving *serving, uint32_t type,
                       uint32_t index)
{
    int32_t shard = (int32_t)index - (int32_t)lane->types[type].owned.shard_count + 1;
    struct top_item left, item = { .tie = (uint64_t)type << 32 | index };

    if (!is_ordered(serving)) {
        lane_look_shard(lane, &serving->rows, type, shard);
        return;
    }
    item.key = actors_shard_entities(lane->actors, (uint16_t)type, shard);
    item.value = item.tie;
    (void)top_put(&serving->top, serving->request.limit, item, &left);
}

/* Whether the index is of the only shard that is asked for. */
static bool is_other_shard(struct lane *lane, const struct look_serving *serving, uint32_t type,
                           uint32_t index)
{
    const struct owned_shards *owned = &lane->types[type].owned;
    int32_t shard;

    return serving->request.shard.size &&
           (!shard_number(lane_shard_names(lane, type), serving->request.shard, &shard) ||
            shard_index(shard, owned->shard_count) != (int64_t)index);
}

static enum step step_shards(struct lane *lane, struct look_serving *serving)
{
    struct look_place *place = &serving->place;
    uint32_t places = 0, shards = 0;

    for (; place->first < lane->type_count; place->first++, place->second = 0) {
        uint32_t type = (uint32_t)place->first;
        const struct owned_shards *owned = &lane->types[type].owned;
        uint32_t end = 2 * owned->shard_count - 1;

        if (!is_wanted(lane, serving, type) || !owned->count)
            continue;
        for (; place->second < end; place->second++) {
            uint32_t index = (uint32_t)place->second;

            if (is_full(serving))
                return STEP_FULL;
            if (places++ == LOOK_PLACES_OF_TURN || shards == LOOK_SHARDS_OF_TURN)
                return STEP_MORE;
            if (owned->state[index] == OWNED_ABSENT || is_other_shard(lane, serving, type, index))
                continue;
            shards++;
            take_shard(lane, serving, type, index);
        }
    }
    return STEP_OVER;
}

/* ---- entities ---- */

static uint64_t entity_key(const struct look_serving *serving, const struct entity_view *view)
{
    switch ((enum look_ENTITIES_column)serving->request.order) {
    case LOOK_ENTITIES_MAILBOX:
        return view->mailbox;
    case LOOK_ENTITIES_IDLE:
        return view->may_idle ? view->idle_ms : 0;
    case LOOK_ENTITIES_UNDURABLE:
        return view->undurable;
    default:
        return 0;
    }
}

static void take_entity(struct lane *lane, struct look_serving *serving, uint32_t slot)
{
    struct entity_view view;
    struct top_item left;

    if (!entity_view_at(lane->actors, slot, &view) || !is_wanted(lane, serving, view.type))
        return;
    if (!is_ordered(serving))
        lane_look_entity(lane, &serving->rows, &view, false);
    else
        (void)top_put(&serving->top, serving->request.limit,
                      (struct top_item){ .key = entity_key(serving, &view),
                                         .tie = slot,
                                         .value = (uint64_t)view.generation << 32 | slot },
                      &left);
}

static enum step step_slots(struct lane *lane, struct look_serving *serving)
{
    struct look_place *place = &serving->place;
    uint32_t end = entity_view_slots(lane->actors);

    for (uint32_t slots = 0; place->second < end; place->second++) {
        if (is_full(serving))
            return STEP_FULL;
        if (slots++ == LOOK_SLOTS_OF_TURN)
            return STEP_MORE;
        take_entity(lane, serving, (uint32_t)place->second);
    }
    return STEP_OVER;
}

/* The entities of one shard, from the last one on. place->second: one more than are left; 0: all. */
static enum step step_shard(struct lane *lane, struct look_serving *serving)
{
    struct look_place *place = &serving->place;
    uint32_t type = 0, count;
    uint64_t left;
    int32_t shard;

    while (type < lane->type_count && !is_wanted(lane, serving, type))
        type++;
    if (type == lane->type_count ||
        !shard_number(lane_shard_names(lane, type), serving->request.shard, &shard))
        return STEP_OVER;
    count = actors_shard_entities(lane->actors, (uint16_t)type, shard);
    left = place->second ? place->second - 1 : count;
    left = left < count ? left : count;
    for (uint32_t slots = 0; left; left--) {
        place->second = left + 1;
        if (is_full(serving))
            return STEP_FULL;
        if (slots++ == LOOK_SLOTS_OF_TURN)
            return STEP_MORE;
        take_entity(lane, serving,
                    entity_view_place(lane->actors, (uint16_t)type, shard, (uint32_t)left - 1));
    }
    return STEP_OVER;
}

static enum step step_entity(struct lane *lane, struct look_serving *serving)
{
    struct entity_view view;

    for (uint32_t type = 0; type < lane->type_count; type++)
        if (is_wanted(lane, serving, type) && serving->rows.count < serving->request.limit &&
            entity_view_at(lane->actors,
                           entity_view_find(lane->actors, (uint16_t)type, serving->request.entity),
                           &view))
            lane_look_entity(lane, &serving->rows, &view, true);
    return STEP_OVER;
}

static enum step step_types(struct lane *lane, struct look_serving *serving)
{
    for (uint32_t type = 0; type < lane->type_count; type++)
        if (is_wanted(lane, serving, type))
            lane_look_type(lane, &serving->rows, type);
    return STEP_OVER;
}

/* ---- samples ---- */

/* Entities that have ended since are left out. */
static enum step step_hot(struct lane *lane, struct look_serving *serving)
{
    uint64_t since = hot_begin(lane->actors, lane->machine->now + HOT_LOOKED_NS);
    const struct hot_entity *entities;
    struct hot_seen seen;
    uint32_t count;

    if (lane->machine->now < since + HOT_WINDOW_NS && lane->machine->now < serving->until - MS) {
        serving->ready_at = since + HOT_WINDOW_NS < serving->until - MS ? since + HOT_WINDOW_NS
                                                                        : serving->until - MS;
        return STEP_MORE;
    }
    entities = hot_list(lane->actors, &count, &seen.of);
    seen.window_ms = (lane->machine->now - since) / MS;
    for (uint32_t i = 0; i < count; i++) {
        struct entity_view view;
        struct top_item left;

        if (entity_view_of(lane->actors, entities[i].actor, &view) &&
            is_wanted(lane, serving, view.type))
            (void)top_put(&serving->top, serving->request.limit,
                          (struct top_item){ .key = entities[i].count, .tie = i, .value = i },
                          &left);
    }
    top_sort(&serving->top);
    for (uint32_t i = 0; i < serving->top.items.count; i++) {
        const struct hot_entity *entity = &entities[serving->top.items.items[i].value];
        struct entity_view view;

        check(entity_view_of(lane->actors, entity->actor, &view));
        seen.entity = entity;
        lane_look_hot(lane, &serving->rows, &view, &seen);
    }
    return STEP_OVER;
}

static enum step step_undelivered(struct lane *lane, struct look_serving *serving)
{
    struct undelivered_sample sample;

    for (uint32_t i = 0; serving->rows.count < serving->request.limit &&
                         undelivered_sample_at(lane->actors, i, &sample);
         i++)
        if ((uint64_t)sample.wall_ms >= serving->request.since_ms &&
            (sample.type == TYPE_NONE ? !serving->request.type.size
                                      : is_wanted(lane, serving, sample.type)))
            lane_look_undelivered(lane, &serving->rows, &sample);
    return STEP_OVER;
}

/* ---- turns ---- */

static enum step step(struct lane *lane, struct look_serving *serving)
{
    switch (serving->request.kind) {
    case SHERD_LOOK_LANES:
        lane_look_lane(lane, &serving->rows);
        return STEP_OVER;
    case SHERD_LOOK_TYPES:
        return step_types(lane, serving);
    case SHERD_LOOK_SHARDS:
        return step_shards(lane, serving);
    case SHERD_LOOK_ENTITIES:
        return serving->request.shard.size ? step_shard(lane, serving) : step_slots(lane, serving);
    case SHERD_LOOK_ENTITY:
        return step_entity(lane, serving);
    case SHERD_LOOK_HOT:
        return step_hot(lane, serving);
    case SHERD_LOOK_UNDELIVERED:
        return step_undelivered(lane, serving);
    default:
        return STEP_OVER; /* control's */
    }
}

/* Describes the best rows, without those that have ended or moved since. */
static void put_top(struct lane *lane, struct look_serving *serving)
{
    if (serving->request.kind != SHERD_LOOK_SHARDS && serving->request.kind != SHERD_LOOK_ENTITIES)
        return; /* samples are described at once */
    top_sort(&serving->top);
    for (uint32_t i = 0; i < serving->top.items.count; i++) {
        uint64_t value = serving->top.items.items[i].value;
        uint32_t high = (uint32_t)(value >> 32), low = (uint32_t)value;
        struct entity_view view;

        if (serving->rows.bytes.size > LOOK_PART_BYTES_MAX - 2 * LOOK_TEXT_MAX)
            return;
        if (serving->request.kind == SHERD_LOOK_SHARDS)
            lane_look_shard(lane, &serving->rows, high,
                            (int32_t)low - (int32_t)lane->types[high].owned.shard_count + 1);
        else if (entity_view_at(lane->actors, low, &view) && view.generation == high)
            lane_look_entity(lane, &serving->rows, &view, false);
    }
}

uint64_t lane_look_deadline(const struct lane *lane)
{
    uint64_t deadline = hot_deadline(lane->actors);

    for (uint32_t i = 0; i < lane->servings.count; i++)
        if (lane->servings.items[i]->ready_at < deadline)
            deadline = lane->servings.items[i]->ready_at;
    return deadline;
}

/* Goes on with the first request that is ready; the others have their steps in the next turns. */
void lane_look_serve_step(struct lane *lane)
{
    uint32_t lanes = lane->machine->settings->lanes;
    uint64_t now = lane->machine->now;
    struct look_serving *serving;
    struct look_cursor next;
    enum step result;
    uint32_t at = 0;

    if (hot_deadline(lane->actors) <= now)
        hot_end(lane->actors);
    while (at < lane->servings.count && lane->servings.items[at]->ready_at > now)
        at++;
    if (at == lane->servings.count)
        return;
    serving = lane->servings.items[at];
    vec_remove(&lane->servings, at);
    if (lane->machine->now >= serving->until) {
        REACHED("the asker of a look waits no longer");
        lane_look_free(serving);
        return;
    }
    result = step(lane, serving);
    if (result == STEP_MORE) {
        vec_push(&lane->servings, serving);
        return;
    }
    if (is_ordered(serving))
        put_top(lane, serving);
    if (result == STEP_FULL)
        next = look_place_put(&serving->place);
    else
        next = look_place_after(serving->request.kind, lane->machine->index, lanes);
    answer(lane, serving, LOOK_ERROR_NONE, &next);
    lane_look_free(serving);
}

void lane_look_asked(struct lane *lane, struct mail_content *content)
{
    static const struct look_cursor none = { .size = 0 };
    struct look_serving *serving = mem_alloc(sizeof *serving);
    enum look_error error;

    serving->asked = mail_look_asked_take(content).own.asked;
    check(look_request_read(buf_slice(&serving->asked->payload), &serving->request, &error) &&
          look_place_read(&serving->request, lane->machine->settings->lanes,
                          &serving->place)); /* control has read it */
    serving->until = lane->machine->now + serving->request.within_ms * MS;
    if (is_ordered(serving) && serving->request.limit > LOOK_TOP_MAX)
        serving->request.limit = LOOK_TOP_MAX;
    if (lane->servings.count < LOOKS_SERVED_MAX) {
        vec_push(&lane->servings, serving);
        BOUNDED("requests of looks at a lane", lane->servings.count, LOOKS_SERVED_MAX);
        return;
    }
    lane->looks_refused++;
    answer(lane, serving, LOOK_ERROR_BUSY, &none);
    lane_look_free(serving);
}
