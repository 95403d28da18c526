/* Continues remembered entities after the node has stored their starts and stops, and starts those
 * that the node names. */
#include "actor/inside.h"

#include "base/mark.h"

/* The slot of an answer; null when it comes too late. */
static struct slot *waiting(struct actors *actors, uint64_t actor,
                            enum slot_status status)
{
    struct slot *slot = slot_of(actors, actor);

    check(!actors->ctx.slot);
    if (slot && slot->status == status)
        return slot;
    actors->counts.ignored++;
    return NULL;
}

/* Releases it if its shard stops and nothing more is read here. */
static bool goes_with_shard(struct actors *actors, uint32_t index,
                            struct slot *slot)
{
    const struct row *row = &actors->rows.items[slot->row];

    if (row->state != ROW_STOPPING)
        return false;
    if (!row->over && slot->last &&
        slot->last->next->kind != MESSAGE_STOPPING)
        return false;
    mailbox_hand_back(actors, slot);
    slot->generation++;
    entity_release(actors, index, slot);
    return true;
}

void actors_remembered(struct actors *actors, uint64_t actor)
{
    struct slot *slot = waiting(actors, actor, SLOT_REMEMBERING);

    if (slot && !goes_with_shard(actors, actor_id_slot(actor), slot))
        incarnation_start(actors, actor_id_slot(actor), slot);
}

void actors_not_remembered(struct actors *actors, uint64_t actor)
{
    struct slot *slot = waiting(actors, actor, SLOT_REMEMBERING);
    struct message *rest;
    struct message *message;

    if (!slot)
        return;
    slot_trace(actors, slot, TRACE_ERROR,
               "entity not started: its start could not be stored among the "
               "remembered entities hint=\"see the lines of module shard\"");
    mailbox_unmark(actors, slot);
    rest = slot->last;
    slot->last = NULL;
    while ((message = message_ring_take(&rest))) {
        mailbox_uncount(actors, slot, message);
        mailbox_undelivered(actors, message, SHERD_REASON_BUFFER_FULL);
    }
    slot->generation++;
    entity_release(actors, actor_id_slot(actor), slot);
}

void actors_forgotten(struct actors *actors, uint64_t actor)
{
    struct slot *slot = waiting(actors, actor, SLOT_FORGETTING);
    uint32_t index = actor_id_slot(actor);

    if (!slot || goes_with_shard(actors, index, slot))
        return;
    if (!slot->last) {
        entity_release(actors, index, slot);
        return;
    }
    REACHED("a message came while an entity was forgotten");
    slot->generation++;
    entity_remember(actors, index, slot);
}

uint64_t actors_entity_start(struct actors *actors, uint16_t type,
                             int32_t shard, struct slice id)
{
    uint32_t key = entity_table_key(type, hash_bytes(id));
    uint32_t row = shard_row_find(actors, type, shard);
    uint32_t index;
    char number[SHARD_TEXT_MAX];

    check(!actors->ctx.slot);
    entity_flush(actors);
    if (row == 0 || actors->rows.items[row].state == ROW_STOPPING)
        return 0;
    index = entity_table_find(actors, type, key, id);
    if (index) /* a message was quicker */
        return 0;
    index = entity_make(actors, type, id, key, row);
    if (!index) {
        trace_put(actors->settings.trace, TRACE_ERROR, "actor",
                  "remembered entity not started: the lane has too many actors "
                  "type=%s shard=%s hint=\"use more lanes or nodes\" id=%.*s",
                  actors->types[type].name,
                  shard_label(actors->types[type].rule.names, shard, number), (int)id.size,
                  (const char *)id.data);
        return 0;
    }
    incarnation_start(actors, index, slot_at(actors, index));
    return slot_ref(actors, slot_at(actors, index), index).actor;
}

bool actors_is_recovering(const struct actors *actors, uint64_t actor)
{
    const struct slot *slot = slot_of(actors, actor);

    return slot && slot->status == SLOT_RECOVERING;
}
