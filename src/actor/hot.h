/* Passes every message on its usual way, inline: memory, mailbox, run queue, a tell to an actor of
 * this lane. Included by inside.h only. */
#ifndef SHERD_ACTOR_HOT_H
#define SHERD_ACTOR_HOT_H

#include "base/bound.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Fetches the line for writing, without asking another processor later. Compilers use this
 * instruction only when told that every processor has it; older processors ignore it. */
static inline void prefetch_to_write(uintptr_t address)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw (%0)" : : "r"(address));
#else
    __builtin_prefetch((const void *)address, 1);
#endif
}

/* The present time for what expires: slow handlers may have run since the turn began. Without a clock,
 * in the simulator, a turn takes no time. */
static inline uint64_t actors_clock(const struct actors *actors)
{
    uint64_t now = actors->settings.clock ? actors->settings.clock() : 0;

    return now > actors->now ? now : actors->now;
}

/* Room for size bytes of data; the caller sets all fields but memory's. */
static inline struct message *message_new(struct actors *actors, size_t size)
{
    size_t units = (sizeof(struct message) + size + 63) / 64;

    if (likely(units <= 64)) {
        uint8_t size_class = message_class_of[units];
        struct message *message = actors->free_messages[size_class];

        if (likely(message)) {
            struct message *next = message->next;

            actors->free_messages[size_class] = next;
            prefetch_to_write((uintptr_t)next);
            prefetch_to_write((uintptr_t)next + 64);
            prefetch_to_write((uintptr_t)next + 128);
            return message;
        }
    }
    return message_new_slow(actors, size);
}

static inline void message_free(struct actors *actors, struct message *message)
{
    if (likely(message->owner == actors->lane)) {
        message->next = actors->free_messages[message->size_class];
        actors->free_messages[message->size_class] = message;
        return;
    }
    message_free_slow(actors, message);
}

static inline void message_ring_put(struct message **last,
                                    struct message *message)
{
    if (*last) {
        message->next = (*last)->next;
        (*last)->next = message;
    } else {
        message->next = message;
    }
    *last = message;
}

static inline struct message *message_ring_take(struct message **last)
{
    struct message *first;

    if (!*last)
        return NULL;
    first = (*last)->next;
    if (first == *last)
        *last = NULL;
    else
        (*last)->next = first->next;
    return first;
}

/* Makes it runnable; repeating is harmless. */
static inline void slot_queue(struct actors *actors, uint32_t index,
                              struct slot *slot)
{
    if (slot->flags & FLAG_QUEUED)
        return;
    slot->flags |= FLAG_QUEUED;
    actors->queue[(actors->queue_head + actors->queue_count) &
                  actors->queue_mask] = index;
    actors->queue_count++;
}

static inline bool slot_is_full(const struct actors *actors,
                                const struct slot *slot)
{
    return slot->waiting >= behavior_of(actors, slot)->mailbox_max ||
           actors->full;
}

/* For the line after each put that asks whether there is room. */
static inline void slot_is_bounded(const struct actors *actors,
                                   const struct slot *slot)
{
    BOUNDED("messages in a mailbox", slot->waiting,
            behavior_of(actors, slot)->mailbox_max);
    (void)actors;
    (void)slot;
}

/* Puts a message that is not large into the mailbox of an actor that is ALIVE; see mailbox_put. */
static inline void mailbox_put_usual(struct actors *actors, uint32_t index,
                                     struct slot *slot,
                                     struct message *message)
{
    slot->waiting++;
    message_ring_put(&slot->last, message);
    slot_queue(actors, index, slot);
}

/* Delivers a tell without an ask to a running actor of this lane: the usual case. False: nothing
 * was done. */
static inline bool deliver_fast(struct actors *actors, struct message *message)
{
    uint32_t index = actor_id_slot(message->to.actor);
    struct slot *slot;

    if (index >= actors->slot_used)
        return false;
    slot = slot_at(actors, index);
    if (slot->generation != actor_id_generation(message->to.actor) ||
        slot->status != SLOT_ALIVE || message->ask != 0 ||
        message->size_class == MESSAGE_CLASS_LARGE ||
        slot_is_full(actors, slot))
        return false;
    mailbox_put_usual(actors, index, slot, message);
    slot_is_bounded(actors, slot);
    return true;
}

static inline int32_t message_shard(const struct actors *actors, const struct message *message)
{
    return shard_rule_of(&actors->types[message->type].rule, message_id(message),
                         message->msg, message_said(message));
}

/* Puts a message, given, last into the queue of messages that leave the lane. */
static inline void mailbox_out_put(struct actors *actors, struct message *message)
{
    if (message_to_entity(message) && !message->entity.has_shard) {
        message->entity.shard = message_shard(actors, message);
        message->entity.has_shard = 1;
    }
    message->next = NULL;
    if (actors->out.first)
        actors->out.last->next = message;
    else
        actors->out.first = message;
    actors->out.last = message;
}

/* Returns the row of a shard, or 0. */
static inline uint32_t shard_row_find(const struct actors *actors, uint16_t type,
                                      int32_t shard)
{
    const struct type *known = &actors->types[type];
    int64_t at = (int64_t)shard + known->shards;

    if (!known->rows || at < 0 || at >= 2 * (int64_t)known->shards)
        return 0;
    return known->rows[at];
}

/* Whether new messages are for the next incarnation. */
static inline bool slot_is_leaving(const struct slot *slot)
{
    return slot->status == SLOT_STOPPING || slot->status == SLOT_ENDING ||
           slot->status == SLOT_FORGETTING || (slot->flags & FLAG_MARKED);
}

/* Counts a use of an entity that has got a message or has started. */
static inline void entity_used(struct actors *actors, uint32_t index, struct slot *slot)
{
    if (unlikely(actors->ranks) && actors->rows.items[slot->row].strategy)
        active_use(actors, index, slot);
}

/* Takes an entity that is stopping off the books of its shard's limit. */
static inline void entity_unused(struct actors *actors, uint32_t index, struct slot *slot)
{
    if (unlikely(slot->is_ranked))
        active_end(actors, index, slot);
}

/* Emits an effect, given, of the running actor; it waits while an event is not durable. */
static inline void effects_emit(struct actors *actors, struct message *message)
{
    struct slot *slot = actors->ctx.slot;

    if (message_counts(message))
        actors->counts.sent++;
    if (slot && (slot->flags & FLAG_UNDURABLE))
        effects_hold(actors, slot, message);
    else
        effects_route(actors, message);
}

#endif
