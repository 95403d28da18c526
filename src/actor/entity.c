/* Finds entities for messages, in batches, and makes absent ones. */
#include "actor/inside.h"

#include "base/mark.h"

static uint32_t entity_new(struct actors *actors, const struct message *message,
                           uint32_t key, uint32_t row)
{
    uint32_t index = entity_make(actors, message->type, message_id(message),
                                 key, row);

    if (index && actors->types[message->type].remembers)
        entity_remember(actors, index, slot_at(actors, index));
    else if (index)
        incarnation_start(actors, index, slot_at(actors, index));
    return index;
}

/* True: the message to a daemon, given, needs no delivery. */
static bool is_taken(struct actors *actors, struct message *message, uint32_t index)
{
    enum daemon_fate fate = daemon_take(actors, message, index);

    if (fate == DAEMON_ANSWERS)
        effects_route(actors, message);
    else if (fate == DAEMON_DROPS && message_counts(message))
        mailbox_undelivered(actors, message, SHERD_REASON_NO_SUCH_ACTOR);
    else if (fate == DAEMON_DROPS)
        message_free(actors, message);
    return fate != DAEMON_DELIVERS;
}

/* Whether messages end at once, because the entity rejects one of its events. Ends the message,
 * given, then. */
static bool recovery_refuses(struct actors *actors, struct slot *slot, struct message *message)
{
    struct extra *extra = extra_of(actors, slot);

    if (slot->status != SLOT_BACKOFF || !extra || !extra->fault)
        return false;
    REACHED("a message comes to an entity that rejected an event");
    extra->is_asked_for = true;
    mailbox_undelivered_why(actors, message, SHERD_REASON_RECOVERY_FAILED, extra->fault);
    return true;
}

/* from_node: a closed shard takes it, too. */
static inline void deliver_entity(struct actors *actors,
                                  struct message *message, uint32_t index,
                                  uint32_t key, bool from_node)
{
    struct slot *slot;
    uint8_t state;
    uint32_t row;

    if (index) {
        row = slot_at(actors, index)->row;
        message->entity.shard = actors->rows.items[row].shard;
        message->entity.has_shard = 1;
    } else {
        if (!message->entity.has_shard) {
            message->entity.shard = message_shard(actors, message);
            message->entity.has_shard = 1;
        }
        row = shard_row_find(actors, message->type, message->entity.shard);
    }
    state = actors->rows.items[row].state;
    if (state != ROW_OPEN && !(from_node && state == ROW_CLOSED)) {
        mailbox_out_put(actors, message);
        return;
    }
    message->returned = 0;
    if (unlikely(actors->types[message->type].is_daemon) && is_taken(actors, message, index))
        return;
    if (!index) {
        index = entity_new(actors, message, key, row);
        if (!index) {
            mailbox_undelivered(actors, message, SHERD_REASON_BUFFER_FULL);
            return;
        }
    }
    slot = slot_at(actors, index);
    if (unlikely(slot->status == SLOT_RESTARTING))
        entity_restart(actors, index, slot);
    if (unlikely(slot->status == SLOT_BACKOFF) && recovery_refuses(actors, slot, message))
        return;
    if (message->kind == MESSAGE_START && !slot_is_leaving(slot) &&
        ref_is_nobody(message->sender)) {
        message_free(actors, message);
        entity_used(actors, index, slot);
        return;
    }
    if (slot_is_full(actors, slot)) {
        REACHED("a mailbox is full");
        mailbox_undelivered(actors, message, SHERD_REASON_MAILBOX_FULL);
        return;
    }
    if (message->ask && is_here(actors, message->sender))
        actors_ask_stage(actors, message->ask,
                         slot->status == SLOT_RECOVERING ||
                                 !slot_has_incarnation(slot)
                             ? SHERD_STAGE_RECOVERING
                             : SHERD_STAGE_QUEUED,
                         0);
    if (likely(slot->status == SLOT_ALIVE &&
               message->size_class != MESSAGE_CLASS_LARGE))
        mailbox_put_usual(actors, index, slot, message);
    else
        mailbox_put(actors, index, slot, message);
    if (unlikely(actors->counts_bytes))
        actors->rows.items[row].bytes += message->body_size;
    slot_is_bounded(actors, slot);
    entity_used(actors, index, slot);
}

/* Returns the slot in the first cell with this hash, its id not compared; 0 = none. */
static inline uint32_t candidate(const struct table *table, uint32_t key)
{
    if (!table->cells)
        return 0;
    for (uint32_t at = key & table->mask;; at = (at + 1) & table->mask) {
        uint64_t cell = table->cells[at];

        if (cell == 0)
            return 0;
        if ((uint32_t)(cell >> 32) == key)
            return (uint32_t)cell;
    }
}

static inline bool is_entity(const struct actors *actors, uint32_t index,
                             const struct message *message)
{
    const struct slot *slot = slot_at(actors, index);

    return slot->status != SLOT_FREE && slot->id_size == message->id_size &&
           slot->behavior == actors->types[message->type].behavior &&
           bytes_same(slot_id(slot).data, message_id(message).data,
                      message->id_size);
}

/* Finds all entities, prefetches all slots, then delivers: with a million entities four times as
 * fast as one by one. */
static inline void deliver_batch(struct actors *actors,
                                 struct message **messages, uint32_t count,
                                 bool from_node)
{
    uint32_t keys[PENDING_MAX];
    uint32_t found[PENDING_MAX];
    uint64_t puts = actors->table.puts;

    for (uint32_t i = 0; i < count; i++) {
        keys[i] = entity_table_key(messages[i]->type, messages[i]->entity.hash);
        found[i] = candidate(&actors->table, keys[i]);
        if (found[i])
            __builtin_prefetch(slot_at(actors, found[i]), 1);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct message *message = messages[i];
        uint32_t index = found[i];

        /* An absent entity needs a second look only if this batch has made entities. */
        if (index ? !is_entity(actors, index, message)
                  : actors->table.puts != puts)
            index = entity_table_find(actors, message->type, keys[i],
                               message_id(message));
        deliver_entity(actors, message, index, keys[i], from_node);
    }
}

void entity_flush(struct actors *actors)
{
    struct message *messages[PENDING_MAX];
    uint32_t count = actors->pending_count;

    if (count == 0)
        return;
    memcpy(messages, actors->pending, count * sizeof *messages);
    actors->pending_count = 0;
    deliver_batch(actors, messages, count, false);
}

void actors_deliver_entities(struct actors *actors, struct message **messages,
                             uint32_t count)
{
    entity_flush(actors);
    for (uint32_t done = 0; done < count;) {
        uint32_t batch = count - done < PENDING_MAX ? count - done : PENDING_MAX;

        for (uint32_t i = 0; i < batch; i++) {
            struct message *message = messages[done + i];
            uint32_t key = entity_table_key(message->type, message->entity.hash);

            check(message->type < actors->type_count &&
                  actors->types[message->type].known);
            if (message_counts(message))
                actors->counts.arrived++;
            if (actors->table.cells)
                __builtin_prefetch(
                    &actors->table.cells[key & actors->table.mask]);
        }
        deliver_batch(actors, messages + done, batch, true);
        done += batch;
    }
}
