/* Keeps asks and timers as entries of the wheel that belong to an incarnation. The generation tells
 * whether the incarnation has ended, so an end costs nothing for open asks. */
#include "actor/deliver.h"

#include "base/bound.h"

/* --- asks --- */

uint64_t ask_limit(uint64_t timeout_ms)
{
    if (timeout_ms < 1)
        return 1;
    return timeout_ms < ACTOR_ASK_MS_MAX ? timeout_ms : ACTOR_ASK_MS_MAX;
}

uint64_t ask_open(struct actors *actors, uint32_t index, struct slot *slot,
                  uint32_t tag, uint64_t timeout_ms)
{
    struct entry *entry;
    uint32_t at;

    if (slot->asks >= ACTOR_ASKS_OF_ONE_MAX)
        return 0;
    at = entry_new(actors, ask_limit(timeout_ms));
    if (at == 0)
        return 0;
    if (++actors->ask_number == 0)
        actors->ask_number = 1;
    entry = entry_at(actors, at);
    entry->kind = ENTRY_ASK;
    entry->slot = index;
    entry->generation = slot->generation;
    entry->tag = tag;
    entry->number = actors->ask_number;
    entry->peer = 0;
    entry->stage = SHERD_STAGE_NONE;
    entry->may_fail = false;
    slot->asks++;
    BOUNDED("asks of an actor", slot->asks, ACTOR_ASKS_OF_ONE_MAX);
    actors->counts.asks++;
    return (uint64_t)entry->number << 32 | at;
}

static struct entry *ask_find(const struct actors *actors, uint64_t ask)
{
    uint32_t at = (uint32_t)ask;
    struct entry *entry;

    if (at < WHEEL_BUCKETS || at >= actors->wheel.used)
        return NULL;
    entry = entry_at(actors, at);
    return entry->kind == ENTRY_ASK && entry->number == (uint32_t)(ask >> 32)
               ? entry
               : NULL;
}

/* The asker of an entry; null when that incarnation has ended. */
static struct slot *entry_slot(const struct actors *actors,
                               const struct entry *entry)
{
    struct slot *slot = slot_at(actors, entry->slot);

    return slot->generation == entry->generation ? slot : NULL;
}

bool ask_close(struct actors *actors, struct message *message)
{
    struct entry *entry = ask_find(actors, message->ask);
    struct slot *slot;

    if (!entry || entry->slot != actor_id_slot(message->to.actor) ||
        entry->generation != actor_id_generation(message->to.actor)) {
        actors->counts.ignored++;
        return false;
    }
    slot = entry_slot(actors, entry);
    if (slot)
        slot->asks--;
    if (message->kind == MESSAGE_NO_ANSWER && message->stage == SHERD_STAGE_NONE) {
        message->stage = entry->stage;
        message->peer = entry->peer;
    }
    actors->counts.asks--;
    entry_free(actors, (uint32_t)message->ask);
    message->ask = entry->tag;
    return slot != NULL;
}

void ask_drop(struct actors *actors, uint32_t index, struct slot *slot, uint64_t ask)
{
    const struct entry *entry = ask_find(actors, ask);

    if (!entry || entry->slot != index || entry->generation != slot->generation)
        return;
    slot->asks--;
    actors->counts.asks--;
    entry_free(actors, (uint32_t)ask);
}

void actors_ask_stage(struct actors *actors, uint64_t ask,
                      enum sherd_stage stage, uint16_t peer)
{
    struct entry *entry = ask_find(actors, ask);

    if (!entry) {
        actors->counts.ignored++;
        return;
    }
    entry->stage = (uint8_t)stage;
    entry->peer = peer < actors->peers.count ? peer : 0;
}

void ask_refuse(struct actors *actors, uint32_t index, struct slot *slot,
                uint32_t tag, enum sherd_reason reason)
{
    struct message *message = actors_message(actors, slice_of(NULL, 0));

    message->kind = MESSAGE_NO_ANSWER;
    message->to = slot_ref(actors, slot, index);
    message->ask = tag;
    message->reason = (uint8_t)reason;
    mailbox_put(actors, index, slot, message);
}

/* Ends an ask without an answer; its entry is out of the wheel. */
static void ask_ends(struct actors *actors, uint32_t at,
                     enum sherd_reason reason)
{
    struct entry *entry = entry_at(actors, at);
    struct slot *slot = entry_slot(actors, entry);
    struct message *message;

    entry->kind = ENTRY_FIRED;
    actors->counts.asks--;
    if (slot) {
        message = actors_message(actors, slice_of(NULL, 0));
        message->kind = MESSAGE_NO_ANSWER;
        message->to = slot_ref(actors, slot, entry->slot);
        message->ask = entry->tag;
        message->reason = (uint8_t)reason;
        message->stage = entry->stage;
        message->peer = entry->peer;
        slot->asks--;
        mailbox_put(actors, entry->slot, slot, message);
    }
    entry_free(actors, at);
}

/* Whether the message is at the named node, and goes nowhere else. */
static bool is_with_peer(uint8_t stage)
{
    return stage == SHERD_STAGE_SENT || stage == SHERD_STAGE_RECOVERING ||
           stage == SHERD_STAGE_QUEUED;
}

static void end_asks(struct actors *actors, uint64_t node, bool only_may_fail,
                     enum sherd_reason reason)
{
    for (uint32_t at = WHEEL_BUCKETS; at < actors->wheel.used; at++) {
        struct entry *entry = entry_at(actors, at);

        if (entry->kind != ENTRY_ASK || !is_with_peer(entry->stage) ||
            entry->peer == 0 || (only_may_fail && !entry->may_fail) ||
            actors->peers.items[entry->peer].node != node)
            continue;
        wheel_remove(actors, entry);
        ask_ends(actors, at, reason);
    }
}

void asks_node_gone(struct actors *actors, uint64_t node)
{
    end_asks(actors, node, false, SHERD_REASON_NODE_GONE);
}

void actors_node_unreachable(struct actors *actors, uint64_t node)
{
    end_asks(actors, node, true, SHERD_REASON_UNREACHABLE);
}

void ask_may_fail(struct actors *actors, uint64_t ask)
{
    ask_find(actors, ask)->may_fail = true; /* it was just opened */
}

bool actors_ask_is_open(const struct actors *actors, uint64_t ask)
{
    return ask_find(actors, ask) != NULL;
}

bool actors_ask_may_fail(const struct actors *actors, uint64_t ask)
{
    const struct entry *entry = ask_find(actors, ask);

    return entry && entry->may_fail;
}

/* --- timers --- */

static void timer_unlink(struct actors *actors, struct slot *slot, uint32_t at)
{
    struct extra *extra = extra_of(actors, slot);
    uint32_t *link = &extra->timers;

    while (*link != at)
        link = &entry_at(actors, *link)->next_of_actor;
    *link = entry_at(actors, at)->next_of_actor;
    extra->timer_count--;
    actors->counts.timers--;
}

static void timer_free(struct actors *actors, struct slot *slot, uint32_t at)
{
    struct entry *entry = entry_at(actors, at);

    timer_unlink(actors, slot, at);
    if (entry->kind == ENTRY_FIRED)
        entry->message->at = 0; /* its timer is cancelled */
    entry_free(actors, at);
}

void timer_cancel(struct actors *actors, struct slot *slot, uint32_t tag)
{
    struct extra *extra = extra_of(actors, slot);

    if (!extra)
        return;
    for (uint32_t at = extra->timers; at;
         at = entry_at(actors, at)->next_of_actor)
        if (entry_at(actors, at)->tag == tag) {
            timer_free(actors, slot, at);
            return;
        }
}

/* The wheel takes at most ACTOR_TIMER_MS_MAX. The remainder, at least a tick, comes first. */
static uint16_t laps_of(uint64_t *delay_ms)
{
    uint64_t laps = *delay_ms ? (*delay_ms - 1) / ACTOR_TIMER_MS_MAX : 0;

    *delay_ms -= laps * ACTOR_TIMER_MS_MAX;
    return laps < UINT16_MAX ? (uint16_t)laps : UINT16_MAX;
}

void timer_set(struct actors *actors, uint32_t index, struct slot *slot,
               uint32_t tag, uint64_t delay_ms)
{
    struct extra *extra = slot_extra(actors, slot);
    uint16_t laps = laps_of(&delay_ms);
    struct entry *entry;
    uint32_t at = 0;

    timer_cancel(actors, slot, tag);
    if (extra->timer_count < ACTOR_TIMERS_OF_ONE_MAX)
        at = entry_new(actors, delay_ms);
    if (at == 0) {
        actors->counts.timers_refused++;
        slot_trace(actors, slot, TRACE_ERROR, "timer refused: the actor has "
                   "too many timers hint=\"cancel timers that are no longer needed\"");
        return;
    }
    entry = entry_at(actors, at);
    entry->kind = ENTRY_TIMER;
    entry->slot = index;
    entry->generation = slot->generation;
    entry->tag = tag;
    entry->laps = laps;
    entry->next_of_actor = extra->timers;
    extra->timers = at;
    extra->timer_count++;
    BOUNDED("timers of an actor", extra->timer_count, ACTOR_TIMERS_OF_ONE_MAX);
    actors->counts.timers++;
}

void timer_drop_all(struct actors *actors, struct slot *slot)
{
    struct extra *extra = extra_of(actors, slot);

    while (extra && extra->timers)
        timer_free(actors, slot, extra->timers);
}

bool timer_take(struct actors *actors, struct slot *slot,
                struct message *message)
{
    uint32_t at = (uint32_t)message->at;

    if (at == 0)
        return false;
    timer_unlink(actors, slot, at);
    entry_free(actors, at);
    return true;
}

/* --- expired entries --- */

uint32_t entry_fire(struct actors *actors, uint32_t at)
{
    struct entry *entry = entry_at(actors, at);
    struct slot *slot = entry_slot(actors, entry);
    uint32_t index = entry->slot, ready = 0;
    struct message *message;

    switch ((enum entry_kind)entry->kind) {
    case ENTRY_ASK:
        actors->counts.asks_late[entry->stage]++;
        ask_ends(actors, at, SHERD_REASON_TIMEOUT);
        break;
    case ENTRY_TIMER: /* its incarnation lives: its end would have dropped the timer */
        check(slot);
        if (entry->laps) {
            entry->laps--;
            entry_again(actors, at, ACTOR_TIMER_MS_MAX);
            break;
        }
        message = actors_message(actors, slice_of(NULL, 0));
        message->kind = MESSAGE_TIMER;
        message->ask = entry->tag;
        message->at = at;
        entry->kind = ENTRY_FIRED;
        entry->message = message;
        mailbox_put(actors, index, slot, message);
        break;
    case ENTRY_BACKOFF:
        entry->kind = ENTRY_FIRED;
        entry_free(actors, at);
        if (slot && (slot->status == SLOT_BACKOFF ||
                     slot->status == SLOT_RESTARTING))
            ready = index;
        break;
    case ENTRY_DELIVERY: /* likewise */
        check(slot);
        entry->kind = ENTRY_FIRED;
        entry_free(actors, at);
        delivery_due(actors, slot);
        message = actors_message(actors, slice_of(NULL, 0));
        message->kind = MESSAGE_REPEAT;
        mailbox_put(actors, index, slot, message);
        break;
    case ENTRY_FREE:
    case ENTRY_FIRED:
        check(entry->kind == ENTRY_ASK); /* an entry of the wheel is in use */
        break;
    }
    return ready;
}
