/* Implements look_rows.h. */
#include "node/lane/look_rows.h"

#include "node/lane/lane.h"

/* Rows of entities and of one entity begin alike. */
_Static_assert((int)LOOK_ENTITIES_COUNT == (int)LOOK_ENTITY_HELD, "the first columns are the same");

void lane_look_lane(struct lane *lane, struct look_rows *rows)
{
    struct actors_status actors;
    struct journal_status journal;
    uint64_t buffered = 0;

    actors_status(lane->actors, &actors);
    journal_status(lane->journal, &journal);
    for (uint32_t i = 0; i < lane->type_count; i++)
        buffered += lane->types[i].budget.count;
    look_row_begin(rows);
    look_put(rows, LOOK_LANES_LANE, lane->own);
    look_put(rows, LOOK_LANES_ENTITIES, actors.entities);
    look_put(rows, LOOK_LANES_ACTORS, actors.actors);
    look_put(rows, LOOK_LANES_RUNNABLE, actors.runnable);
    look_put(rows, LOOK_LANES_SENT, actors.sent);
    look_put(rows, LOOK_LANES_ARRIVED, actors.arrived);
    look_put(rows, LOOK_LANES_DELIVERED, actors.delivered);
    look_put(rows, LOOK_LANES_UNDELIVERED, actors.undelivered_total);
    look_put(rows, LOOK_LANES_LEFT, actors.left);
    look_put(rows, LOOK_LANES_WAITING, actors.waiting);
    look_put(rows, LOOK_LANES_BUFFERED, buffered);
    look_put(rows, LOOK_LANES_HELD, actors.held);
    look_put(rows, LOOK_LANES_ASKS, actors.asks);
    look_put(rows, LOOK_LANES_TIMERS, actors.timers);
    look_put(rows, LOOK_LANES_JOBS, actors.jobs_open);
    look_put(rows, LOOK_LANES_EVENTS, journal.events_stored);
    look_put(rows, LOOK_LANES_RECOVERING, journal.replays_waiting + journal.replays_running);
    look_put(rows, LOOK_LANES_SLOW, actors.slow_handlers);
    look_put(rows, LOOK_LANES_MESSAGE_BYTES, actors.message_bytes);
    look_put(rows, LOOK_LANES_MEMORY, actors.memory);
    look_row_end(rows);
}

void lane_look_type(struct lane *lane, struct look_rows *rows, uint32_t type)
{
    look_row_begin(rows);
    look_put_text(rows, LOOK_TYPES_TYPE, lane->machine->node->names[type].name);
    look_put(rows, LOOK_TYPES_ENTITIES, actors_type_entities(lane->actors, (uint16_t)type));
    look_put(rows, LOOK_TYPES_WAITING, lane->types[type].budget.count);
    look_row_end(rows);
}

void lane_look_shard(struct lane *lane, struct look_rows *rows, uint32_t type, int32_t shard)
{
    const struct owned_shards *owned = &lane->types[type].owned;
    enum owned_state state = owned_state(owned, shard);
    struct fence fence = owned_fence(owned, shard);
    char text[SHARD_TEXT_MAX];

    if (state == OWNED_ABSENT)
        return;
    look_row_begin(rows);
    look_put_text(rows, LOOK_SHARDS_TYPE, lane->machine->node->names[type].name);
    look_put_bytes(rows, LOOK_SHARDS_SHARD,
                   shard_name(lane_shard_names(lane, type), shard, text));
    look_put(rows, LOOK_SHARDS_LANE, lane->own);
    look_put_text(rows, LOOK_SHARDS_STATE, owned_state_name(state));
    look_put(rows, LOOK_SHARDS_TERM, fence.term);
    look_put(rows, LOOK_SHARDS_EPOCH, fence.epoch);
    look_put(rows, LOOK_SHARDS_ENTITIES,
             actors_shard_entities(lane->actors, (uint16_t)type, shard));
    look_put(rows, LOOK_SHARDS_OWED, owned_owed(owned, shard));
    look_row_end(rows);
}

static void put_whole(struct lane *lane, struct look_rows *rows, const struct entity_view *view)
{
    struct fence fence = owned_fence(&lane->types[view->type].owned, view->shard);

    look_put(rows, LOOK_ENTITY_HELD, view->held);
    look_put(rows, LOOK_ENTITY_ASKS, view->asks);
    look_put(rows, LOOK_ENTITY_TIMERS, view->timers);
    look_put(rows, LOOK_ENTITY_ATTEMPTS, view->attempts);
    look_put_text(rows, LOOK_ENTITY_FAULT, view->fault);
    look_put(rows, LOOK_ENTITY_STATE_BYTES, view->state_bytes);
    look_put(rows, LOOK_ENTITY_OWN_BYTES, view->own_bytes);
    look_put(rows, LOOK_ENTITY_TERM, fence.term);
    look_put(rows, LOOK_ENTITY_EPOCH, fence.epoch);
}

void lane_look_entity(struct lane *lane, struct look_rows *rows, const struct entity_view *view,
                      bool is_whole)
{
    char text[SHARD_TEXT_MAX];

    look_row_begin(rows);
    look_put_text(rows, LOOK_ENTITIES_TYPE, lane->machine->node->names[view->type].name);
    look_put_bytes(rows, LOOK_ENTITIES_SHARD,
                   shard_name(lane_shard_names(lane, view->type), view->shard, text));
    look_put_bytes(rows, LOOK_ENTITIES_ID, view->id);
    look_put(rows, LOOK_ENTITIES_LANE, lane->own);
    look_put_text(rows, LOOK_ENTITIES_STATUS, view->status);
    look_put(rows, LOOK_ENTITIES_MAILBOX, view->mailbox);
    if (view->may_idle) {
        look_put(rows, LOOK_ENTITIES_IDLE, view->idle_ms);
        look_put(rows, LOOK_ENTITIES_IDLE_STEP, view->idle_step_ms);
    }
    if (view->persists) {
        look_put(rows, LOOK_ENTITIES_SEQUENCE, view->seq);
        look_put(rows, LOOK_ENTITIES_UNDURABLE, view->undurable);
    }
    if (is_whole)
        put_whole(lane, rows, view);
    look_row_end(rows);
}

void lane_look_hot(struct lane *lane, struct look_rows *rows, const struct entity_view *view,
                   const struct hot_seen *seen)
{
    char text[SHARD_TEXT_MAX];

    look_row_begin(rows);
    look_put_text(rows, LOOK_HOT_TYPE, lane->machine->node->names[view->type].name);
    look_put_bytes(rows, LOOK_HOT_SHARD,
                   shard_name(lane_shard_names(lane, view->type), view->shard, text));
    look_put_bytes(rows, LOOK_HOT_ID, view->id);
    look_put(rows, LOOK_HOT_LANE, lane->own);
    look_put(rows, LOOK_HOT_MESSAGES, seen->entity->count);
    look_put(rows, LOOK_HOT_ERROR, seen->entity->error);
    look_put(rows, LOOK_HOT_OF, seen->of);
    look_put(rows, LOOK_HOT_WINDOW, seen->window_ms);
    look_row_end(rows);
}

void lane_look_undelivered(struct lane *lane, struct look_rows *rows,
                           const struct undelivered_sample *sample)
{
    look_row_begin(rows);
    look_put(rows, LOOK_UNDELIVERED_TIME, (uint64_t)sample->wall_ms);
    look_put(rows, LOOK_UNDELIVERED_LANE, lane->own);
    look_put_text(rows, LOOK_UNDELIVERED_REASON,
                  sherd_reason_text((enum sherd_reason)sample->reason));
    if (sample->type != TYPE_NONE)
        look_put_text(rows, LOOK_UNDELIVERED_TYPE, lane->machine->node->names[sample->type].name);
    look_put(rows, LOOK_UNDELIVERED_SIZE, sample->size);
    look_put(rows, LOOK_UNDELIVERED_NUMBER, sample->number);
    look_row_end(rows);
}
