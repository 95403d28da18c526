/* Implements entity_view.h. */
#include "actor/entity_view.h"

#include "actor/inside.h"

static const char *const statuses[] = {
    [SLOT_FREE] = "free",
    [SLOT_RECOVERING] = "recovering",
    [SLOT_ALIVE] = "alive",
    [SLOT_STOPPING] = "stopping",
    [SLOT_ENDING] = "ending",
    [SLOT_BACKOFF] = "back-off",
    [SLOT_REMEMBERING] = "remembering",
    [SLOT_FORGETTING] = "forgetting",
    [SLOT_RESTARTING] = "restarting",
};

uint32_t entity_view_slots(const struct actors *actors)
{
    return actors->slot_used;
}

static void describe_extra(const struct slot *slot, const struct extra *extra,
                           struct entity_view *view)
{
    view->persists = (slot->flags & FLAG_PERSISTENT) != 0;
    view->seq = extra->seq;
    view->undurable = extra->event_count;
    view->held = extra->held_count;
    view->timers = extra->timer_count;
    view->attempts = extra->attempts;
    view->fault = extra->fault;
    view->own_bytes = (uint64_t)extra->own_kib * 1024;
}

bool entity_view_at(const struct actors *actors, uint32_t index, struct entity_view *view)
{
    const struct behavior *behavior;
    const struct extra *extra;
    const struct slot *slot;

    if (!index || index >= actors->slot_used)
        return false;
    slot = slot_at(actors, index);
    if (slot->status == SLOT_FREE || !(slot->flags & FLAG_ENTITY))
        return false;
    behavior = behavior_of(actors, slot);
    extra = extra_of(actors, slot);
    *view = (struct entity_view){
        .type = behavior->type,
        .shard = actors->rows.items[slot->row].shard,
        .generation = slot->generation,
        .id = slot_id(slot),
        .status = statuses[slot->status],
        .mailbox = slot->waiting,
        .asks = slot->asks,
        .may_idle = behavior->tick_ns != 0 && slot->status == SLOT_ALIVE,
        .idle_ms = (uint16_t)(behavior->tick - slot->touched) * behavior->tick_ns / MS,
        .idle_step_ms = behavior->tick_ns / MS,
        .state_bytes = slot_has_incarnation(slot) ? behavior->face.state_size : 0,
    };
    if (extra)
        describe_extra(slot, extra, view);
    return true;
}

bool entity_view_of(const struct actors *actors, uint64_t actor, struct entity_view *view)
{
    return slot_of(actors, actor) && entity_view_at(actors, actor_id_slot(actor), view);
}

uint32_t entity_view_find(const struct actors *actors, uint16_t type, struct slice id)
{
    return entity_table_find(actors, type, entity_table_key(type, hash_bytes(id)), id);
}

uint32_t entity_view_place(const struct actors *actors, uint16_t type, int32_t shard,
                           uint32_t place)
{
    const struct row *row = &actors->rows.items[shard_row_find(actors, type, shard)];

    return place < row->slots.count ? row->slots.items[place] : 0;
}
