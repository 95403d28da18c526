/* Starts, restarts, ends and passivates incarnations, and finds entities for messages, in batches.
 *
 * An entity's slot stays in the table and in its shard's row while it has an incarnation or waiting
 * messages. Messages that arrive while an incarnation ends wait and start the next one. */
#include "actor/inside.h"

#include "base/line.h"
#include "base/mark.h"

#define SCAN_SLOTS 4096u /* slots scanned in one step: 256 KiB */

/* Reports an incarnation before its first callback and after its last. */
static void probe_entity(struct actors *actors, enum probe_kind kind,
                         uint32_t index, const struct slot *slot)
{
    const struct row *row = &actors->rows.items[slot->row];
    struct probe probe = { .kind = kind };

    probe.type = row->type;
    probe.shard = row->shard;
    probe.first = slot_ref(actors, slot, index).actor;
    probe.bytes = slot_id(slot);
    probes_put(actors->settings.probes, &probe);
}

/* --- start --- */

void incarnation_start(struct actors *actors, uint32_t index, struct slot *slot)
{
    const struct behavior *behavior = behavior_of(actors, slot);

    check(!slot->state);
    if (slot->generation == 0xffffff)
        slot->generation = 1;
    slot->state = slot_state_new(actors, behavior->face.state_size);
    slot->flags |= FLAG_STARTED_DUE;
    slot->leaving = LEAVES_BY_ITSELF;
    slot->touched = behavior->tick;
    slot->asks = 0;
    if (slot->flags & FLAG_ENTITY)
        actors->types[behavior->type].running++;
    if (actors->settings.probes && (slot->flags & FLAG_ENTITY))
        probe_entity(actors, PROBE_ENTITY_STARTED, index, slot);
    if (slot->flags & FLAG_PERSISTENT) {
        slot->status = SLOT_RECOVERING;
        incarnation_recover(actors, index, slot);
        return;
    }
    slot->status = SLOT_ALIVE;
    if (slot->flags & FLAG_ENTITY &&
        trace_on(actors->settings.trace, TRACE_DEBUG))
        slot_trace(actors, slot, TRACE_DEBUG, "entity started");
    slot_queue(actors, index, slot);
}

uint32_t entity_make(struct actors *actors, uint16_t type, struct slice id,
                     uint32_t key, uint32_t row)
{
    uint16_t behavior = actors->types[type].behavior;
    uint32_t index = slot_new(actors);
    struct slot *slot;

    if (index == 0)
        return 0;
    slot = slot_at(actors, index);
    slot->behavior = behavior;
    slot->flags |= FLAG_ENTITY;
    if (behavior_of(actors, slot)->face.apply)
        slot->flags |= FLAG_PERSISTENT;
    slot->id_size = (uint8_t)id.size;
    if (id.size > ID_INLINE)
        slot->far_id = mem_copy(id.data, id.size);
    else
        memcpy(slot->id, id.data, id.size);
    entity_table_put(actors, key, index);
    shard_row_add(actors, row, index, slot);
    actors->counts.entities++;
    return index;
}

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

struct sherd_ref slot_spawn(struct actors *actors,
                            const struct sherd_behavior *face,
                            struct slice init)
{
    uint16_t behavior = behavior_intern(actors, face, TYPE_NONE);
    uint32_t index = behavior == TYPE_NONE || actors->closed ? 0 : slot_new(actors);
    struct slot *slot;

    if (index == 0) {
        actors->counts.spawns_refused++;
        trace_put(actors->settings.trace, TRACE_ERROR, "actor",
                  "spawn refused: the lane has too many actors or behaviors "
                  "name=%s actors=%u hint=\"stop actors that are no longer "
                  "needed, or use more lanes\"",
                  face->name ? face->name : "", actors->counts.actors);
        return (struct sherd_ref){ 0, 0 };
    }
    slot = slot_at(actors, index);
    slot->behavior = behavior;
    actors->counts.actors++;
    incarnation_start(actors, index, slot);
    if (init.size) {
        struct message *started = actors_message(actors, init);

        started->kind = MESSAGE_STARTED;
        slot->flags &= (uint8_t)~FLAG_STARTED_DUE;
        mailbox_put(actors, index, slot, started);
    }
    return slot_ref(actors, slot, index);
}

/* A spawned actor must not run, nor send anything, before the event that caused it is durable. */
void slot_start_later(struct actors *actors, struct sherd_ref spawned)
{
    struct message *started = actors_message(actors, slice_of(NULL, 0));

    slot_of(actors, spawned.actor)->status = SLOT_RECOVERING;
    started->kind = MESSAGE_STARTED;
    started->to = spawned;
    effects_emit(actors, started);
}

/* Whether it waits for that. */
static bool is_spawned_later(const struct slot *slot)
{
    return slot && !(slot->flags & FLAG_ENTITY) &&
           slot->status == SLOT_RECOVERING;
}

void slot_start_now(struct actors *actors, struct message *started)
{
    struct slot *slot = slot_of(actors, started->to.actor);

    if (is_spawned_later(slot)) {
        slot->status = SLOT_ALIVE;
        slot_queue(actors, actor_id_slot(started->to.actor), slot);
    }
    message_free(actors, started);
}

void slot_start_never(struct actors *actors, struct message *started)
{
    struct slot *slot = slot_of(actors, started->to.actor);

    if (is_spawned_later(slot))
        incarnation_end(actors, actor_id_slot(started->to.actor), slot);
    message_free(actors, started);
}

struct sherd_ref actors_spawn(struct actors *actors,
                              const struct sherd_behavior *behavior,
                              struct slice init)
{
    return slot_spawn(actors, behavior, init);
}

/* --- end --- */

void incarnation_request_end(struct actors *actors, uint32_t index, struct slot *slot)
{
    if (!(slot->flags & FLAG_UNDURABLE)) {
        incarnation_end(actors, index, slot);
        return;
    }
    /* It ends when its events are durable. Unread messages go to the next incarnation, before later
     * ones. */
    REACHED("an entity ends while the journal writes its events");
    if (slot->status != SLOT_ENDING)
        mailbox_split(actors, slot);
    slot->status = SLOT_ENDING;
}

/* Keeps what the next incarnation reads, ends the rest. */
static void mailbox_sift(struct actors *actors, struct slot *slot)
{
    struct extra *extra = extra_of(actors, slot);
    struct message *rest = slot->last;
    struct message *kept = NULL;
    struct message *message;
    bool entity = (slot->flags & FLAG_ENTITY) != 0;

    slot->last = NULL;
    slot->flags &= (uint8_t)~FLAG_MARKED;
    for (;;) {
        message = message_ring_take(&rest);
        if (!message && extra && extra->behind) {
            REACHED("messages arrive while an entity ends");
            rest = extra->behind;
            extra->behind = NULL;
            message = message_ring_take(&rest);
        }
        if (!message)
            break;
        if (entity && (message_to_entity(message) ||
                       message->kind == MESSAGE_STOPPING)) {
            if (message->kind == MESSAGE_STOPPING)
                slot->flags |= FLAG_MARKED;
            message_ring_put(&kept, message);
            continue;
        }
        mailbox_uncount(actors, slot, message);
        if (message->kind == MESSAGE_TELL || message_is_job(message))
            mailbox_undelivered(actors, message, SHERD_REASON_STOPPED);
        else
            mailbox_undelivered(actors, message, SHERD_REASON_ASKER_GONE);
    }
    slot->last = kept;
}

void incarnation_release(struct actors *actors, uint32_t index,
                         struct slot *slot)
{
    const struct sherd_behavior *face = &behavior_of(actors, slot)->face;

    if (face->release)
        face->release(slot->state ? slot->state : actors->nothing);
    slot_state_free(actors, slot->state, face->state_size);
    slot->state = NULL;
    if (actors->settings.probes && (slot->flags & FLAG_ENTITY))
        probe_entity(actors, PROBE_ENTITY_STOPPED, index, slot);
}

static enum end_cause cause_by_slot(const struct actors *actors,
                                    const struct slot *slot)
{
    if (slot->flags & FLAG_FAILED)
        return END_FAILED;
    if (actors->rows.items[slot->row].state == ROW_STOPPING)
        return END_SHARD_STOPS;
    return slot->leaving == LEAVES_IDLE       ? END_IDLE
           : slot->leaving == LEAVES_FOR_GOOD ? END_REQUESTED
                                              : END_BY_ITSELF;
}

static void trace_end(const struct actors *actors, const struct slot *slot,
                      enum end_cause cause)
{
    static const char *const texts[] = {
        [END_FAILED] = "failed",
        [END_SHARD_STOPS] = "shard-stops",
        [END_IDLE] = "idle",
        [END_REQUESTED] = "requested",
        [END_BY_ITSELF] = "by-itself",
        [END_STOP_TIMEOUT] = "stop-timeout",
        [END_FENCED] = "fenced",
        [END_NOT_STORED] = "not-stored",
        [END_RECOVERY_FAILED] = "recovery-failed",
    };
    char text[80];

    if (!(slot->flags & FLAG_ENTITY) ||
        !trace_on(actors->settings.trace, TRACE_DEBUG))
        return;
    if (cause == END_BY_SLOT)
        cause = cause_by_slot(actors, slot);
    line_format(text, sizeof text, "entity %s cause=%s",
                cause == END_IDLE || cause == END_REQUESTED ? "passivated"
                                                            : "stopped",
                texts[cause]); /* fits */
    slot_trace(actors, slot, TRACE_DEBUG, text);
}

void incarnation_close(struct actors *actors, uint32_t index, struct slot *slot,
                       enum end_cause cause)
{
    const struct behavior *behavior = behavior_of(actors, slot);
    uint64_t actor = slot_ref(actors, slot, index).actor;

    trace_end(actors, slot, cause);
    incarnation_release(actors, index, slot);
    if (slot->flags & FLAG_ENTITY)
        actors->types[behavior->type].running--;
    if (slot->flags & FLAG_PERSISTENT)
        slot_news_put(actors, ACTORS_FORGET, behavior->type, 0, actor,
                 slice_of(NULL, 0));
    timer_drop_all(actors, slot);
    slot->flags &=
        (uint8_t) ~(FLAG_STARTED_DUE | FLAG_UNDURABLE | FLAG_FAILED);
    slot->asks = 0;
    /* From here on the old ref is invalid. */
    slot->status = SLOT_BACKOFF;
    watches_end(actors, index, slot);
    slot->generation++;
    mailbox_sift(actors, slot);
}

void incarnation_end(struct actors *actors, uint32_t index, struct slot *slot)
{
    bool waits = (slot->flags & FLAG_STARTED_DUE) != 0;

    incarnation_close(actors, index, slot, END_BY_SLOT);
    incarnation_next(actors, index, slot, waits);
}

void mailbox_unmark(struct actors *actors, struct slot *slot)
{
    struct message **rings[2] = { &slot->last, NULL };
    struct extra *extra = extra_of(actors, slot);

    if (!(slot->flags & FLAG_MARKED))
        return;
    slot->flags &= (uint8_t)~FLAG_MARKED;
    if (extra)
        rings[1] = &extra->behind;
    for (int i = 0; i < 2 && rings[i]; i++) {
        struct message *rest = *rings[i];
        struct message *message;

        *rings[i] = NULL;
        while ((message = message_ring_take(&rest))) {
            if (message->kind == MESSAGE_STOPPING) {
                mailbox_uncount(actors, slot, message);
                message_free(actors, message);
            } else {
                message_ring_put(rings[i], message);
            }
        }
    }
}

void entity_release(struct actors *actors, uint32_t index, struct slot *slot)
{
    struct slice id = slot_id(slot);
    uint16_t type = behavior_of(actors, slot)->type;

    check(!slot->last && slot->waiting == 0);
    entity_table_remove(actors, entity_table_key(type, hash_bytes(id)), index);
    if (slot->id_size > ID_INLINE)
        mem_free(slot->far_id);
    slot->id_size = 0;
    actors->counts.entities--;
    shard_row_remove(actors, slot);
    slot_free(actors, index);
}

void incarnation_next(struct actors *actors, uint32_t index, struct slot *slot,
                      bool waits)
{
    if (!(slot->flags & FLAG_ENTITY)) {
        actors->counts.actors--;
        slot_free(actors, index);
        return;
    }
    if (actors->rows.items[slot->row].state == ROW_STOPPING) {
        /* Messages before the mark are still handled here, unless the deadline is over or the
         * entity fails: the other entities of the shard must not wait for a start that may never
         * succeed. */
        if (actors->rows.items[slot->row].over || waits || !slot->last ||
            slot->last->next->kind == MESSAGE_STOPPING) {
            shard_hand_back(actors, slot);
            entity_release(actors, index, slot);
            return;
        }
    } else {
        mailbox_unmark(actors, slot);
        if (slot_remembers(actors, slot) &&
            slot->leaving == LEAVES_FOR_GOOD) {
            entity_forget_stored(actors, index, slot);
            return;
        }
        if (slot_remembers(actors, slot) && !slot->last &&
            slot->leaving == LEAVES_BY_ITSELF) {
            entity_restart_later(actors, index, slot);
            return;
        }
    }
    if (!slot->last)
        entity_release(actors, index, slot);
    else if (waits)
        incarnation_back_off(actors, index, slot);
    else
        incarnation_start(actors, index, slot);
}

/* Doubles with each attempt, with a jitter of a quarter. */
void incarnation_back_off(struct actors *actors, uint32_t index,
                          struct slot *slot)
{
    struct extra *extra = slot_extra(actors, slot);
    uint32_t doublings = extra->attempts < 6 ? extra->attempts : 6;
    uint64_t delay = (uint64_t)ENTITY_BACKOFF_MS << doublings;
    uint32_t entry;

    if (delay > ENTITY_BACKOFF_MS_MAX)
        delay = ENTITY_BACKOFF_MS_MAX;
    delay += rng_below(&actors->rng, delay / 4 + 1);
    REACHED("an entity waits before it starts again");
    extra->attempts++;
    slot->status = SLOT_BACKOFF;
    entry = entry_new(actors, delay);
    if (entry == 0) { /* too many timers: it starts at once */
        incarnation_start(actors, index, slot);
        return;
    }
    entry_at(actors, entry)->kind = ENTRY_BACKOFF;
    entry_at(actors, entry)->slot = index;
    entry_at(actors, entry)->generation = slot->generation;
}

void incarnation_back_off_end(struct actors *actors, uint32_t index, struct slot *slot)
{
    slot->generation++;
    if (slot->last || slot_remembers(actors, slot))
        incarnation_start(actors, index, slot);
    else
        entity_release(actors, index, slot);
}

/* --- messages to entities --- */

/* Whether new messages are for the next incarnation. */
static inline bool is_leaving(const struct slot *slot)
{
    return slot->status == SLOT_STOPPING || slot->status == SLOT_ENDING ||
           slot->status == SLOT_FORGETTING || (slot->flags & FLAG_MARKED);
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
            message->entity.shard = hash_shard(
                message_id(message), actors->types[message->type].shards);
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
    if (message->kind == MESSAGE_START && !is_leaving(slot) &&
        ref_is_nobody(message->sender)) {
        message_free(actors, message);
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
    slot_is_bounded(actors, slot);
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

/* --- idleness --- */

void entity_ticks(struct actors *actors)
{
    if (actors->tick_ns == 0 || actors->now < actors->tick_at)
        return;
    actors->tick_at = actors->now + actors->tick_ns;
    for (uint32_t i = 0; i < actors->behaviors.count; i++) {
        struct behavior *behavior = &actors->behaviors.items[i];

        if (behavior->tick_ns)
            behavior->tick = (uint16_t)(actors->now / behavior->tick_ns);
    }
}

/* Whether it was idle for 8 ticks and has nothing to read, no open ask or job, and no effect that
 * waits. */
static bool is_idle(const struct actors *actors, const struct slot *slot)
{
    const struct behavior *behavior = behavior_of(actors, slot);

    return slot->status == SLOT_ALIVE && (slot->flags & FLAG_ENTITY) &&
           !(slot->flags & (FLAG_MARKED | FLAG_UNDURABLE | FLAG_STARTED_DUE)) &&
           !slot->last && slot->asks == 0 && behavior->tick_ns &&
           (uint16_t)(behavior->tick - slot->touched) > 8;
}

void entity_scan(struct actors *actors)
{
    uint32_t parts = actors->slot_used / SCAN_SLOTS + 1;
    uint32_t end;

    if (actors->tick_ns == 0 || actors->now < actors->scan_time)
        return;
    actors->scan_time = actors->now + actors->tick_ns / parts;
    if (actors->scan_next >= actors->slot_used)
        actors->scan_next = 1;
    end = actors->scan_next + SCAN_SLOTS;
    if (end > actors->slot_used)
        end = actors->slot_used;
    for (; actors->scan_next < end; actors->scan_next++) {
        struct slot *slot = slot_at(actors, actors->scan_next);

        SOMETIMES("an idle entity is passivated", is_idle(actors, slot));
        if (!is_idle(actors, slot))
            continue;
        slot->leaving = LEAVES_IDLE;
        mailbox_mark(actors, actors->scan_next, slot);
    }
}

uint64_t entity_scan_deadline(const struct actors *actors)
{
    return actors->tick_ns && actors->counts.entities ? actors->scan_time
                                                      : NEVER;
}
