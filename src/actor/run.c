/* Runs actors with messages, first in, first out, and handles each message. */
#include "actor/deliver.h"
#include "actor/samples.h"
#include "actor/snapshot.h"

#include <stdio.h>

static const enum sherd_kind faces[MESSAGE_KIND_COUNT] = {
    [MESSAGE_TELL] = SHERD_MESSAGE,
    [MESSAGE_ANSWER] = SHERD_ANSWER,
    [MESSAGE_NO_ANSWER] = SHERD_NO_ANSWER,
    [MESSAGE_UNDELIVERED] = SHERD_UNDELIVERED,
    [MESSAGE_TERMINATED] = SHERD_TERMINATED,
    [MESSAGE_STARTED] = SHERD_STARTED,
    [MESSAGE_TIMER] = SHERD_TIMER,
    [MESSAGE_STOPPING] = SHERD_STOPPING,
    [MESSAGE_CLUSTER] = SHERD_CLUSTER,
    [MESSAGE_SHUTDOWN] = SHERD_SHUTDOWN,
    [MESSAGE_DATA] = SHERD_DATA,
    [MESSAGE_JOB_DONE] = SHERD_JOB,
    [MESSAGE_WAKE] = SHERD_TIMER
};

/* Calls receive; the ctx already names the actor. */
static inline enum sherd_next call(struct actors *actors, struct slot *slot,
                                   struct message *message,
                                   const struct sherd_msg *msg)
{
    const struct sherd_behavior *face = &behavior_of(actors, slot)->face;
    struct sherd_ctx *ctx = &actors->ctx;
    enum sherd_next next;

    ctx->message = message;
    ctx->answered = false;
    ctx->stores = false;
    next = face->receive(ctx, slot->state ? slot->state : actors->nothing, msg);
    if (unlikely(actors->is_handling))
        delivery_finish(actors, next);
    if (unlikely(ctx->save_due))
        snapshot_take(actors, ctx->index, slot, next == SHERD_CONTINUE || next == SHERD_STOP);
    return next;
}

/* The handler failed on this message, given, unless null: its sender is notified once the earlier
 * effects are durable. */
static void failed_on(struct actors *actors, struct slot *slot,
                      struct message *message)
{
    struct message *notice = message;

    actors->counts.handlers_failed++;
    slot->flags |= FLAG_FAILED;
    slot_trace(actors, slot, TRACE_WARNING,
               "receive returned SHERD_FAIL, actor stopped");
    if (!notice)
        return;
    if (notice->kind != MESSAGE_TELL) {
        message_free(actors, notice);
        return;
    }
    actors->counts.delivered--;
    mailbox_count_undelivered(actors, notice->type, message_body(notice),
                              SHERD_REASON_HANDLER_FAILED);
    if (actors->ctx.answered ||
        !message_notice(notice, SHERD_REASON_HANDLER_FAILED))
        message_free(actors, notice);
    else
        effects_emit(actors, notice);
}

/* Carries out the result of receive. message: given, null when it had no memory. True: the
 * incarnation continues. */
static bool settle(struct actors *actors, uint32_t index, struct slot *slot,
                   struct message *message, enum sherd_next next, bool last)
{
    struct sherd_ctx *ctx = &actors->ctx;

    if (next != SHERD_CONTINUE && next != SHERD_STOP)
        failed_on(actors, slot, message);
    else if (message && ctx->store_failed && message->ask && !ctx->answered &&
             message_notice(message, SHERD_REASON_NOT_STORED))
        effects_route(actors, mailbox_explain(actors, message, ctx->refused_why));
    else if (message)
        message_free(actors, message);
    if (ctx->store_failed) {
        ctx->store_failed = false;
        effects_refused(actors, index, slot);
        return false;
    }
    if (next == SHERD_CONTINUE && !last)
        return true;
    incarnation_request_end(actors, index, slot);
    return false;
}

/* Handles the SHERD_STARTED of an incarnation without init. */
static bool handle_started(struct actors *actors, uint32_t index,
                           struct slot *slot)
{
    struct sherd_msg msg = { .kind = SHERD_STARTED };
    enum sherd_next next;

    next = call(actors, slot, NULL, &msg);
    /* An incarnation that ends at once would restart for the same messages endlessly: the flag
     * makes incarnation_next back off. */
    if (next == SHERD_CONTINUE && !actors->ctx.store_failed) {
        slot->flags &= (uint8_t)~FLAG_STARTED_DUE;
        /* Persistent ones: a durable event does this. */
        if (slot->extra && !(slot->flags & FLAG_PERSISTENT))
            extra_of(actors, slot)->attempts = 0;
    }
    return settle(actors, index, slot, NULL, next, false);
}

/* Handles the stop mark: entity messages after it are for the next incarnation. */
static bool handle_mark(struct actors *actors, uint32_t index,
                        struct slot *slot, struct message *mark)
{
    struct sherd_msg msg = { .kind = SHERD_STOPPING };
    uint16_t type = behavior_of(actors, slot)->type;
    bool last = true;

    message_free(actors, mark);
    slot->flags &= (uint8_t)~FLAG_MARKED;
    slot->status = SLOT_STOPPING;
    if (type != TYPE_NONE && actors->types[type].stop_msg) {
        msg.kind = SHERD_MESSAGE;
        msg.msg = actors->types[type].stop_msg;
        last = false;
    }
    mailbox_split(actors, slot);
    return settle(actors, index, slot, NULL,
                  call(actors, slot, NULL, &msg), last);
}

/* Acknowledges a START, given, once the entity runs and, if remembered, its start is stored. An asker
 * gets an answer. */
static void acknowledge_start(struct actors *actors, const struct slot *slot,
                              struct message *message)
{
    char text[SHARD_TEXT_MAX];
    struct message *ack;

    if (message->ask) {
        ack = actors_message(actors, slot_shard(actors, slot, text));
        ack->kind = MESSAGE_ANSWER;
        ack->to = message->sender;
        ack->sender = actors->ctx.self;
        ack->ask = message->ask;
        effects_emit(actors, ack);
    } else if (!ref_is_nobody(message->sender)) {
        ack = actors_message(actors, slot_id(slot));
        ack->kind = MESSAGE_START_ACK;
        ack->to = message->sender;
        ack->msg = behavior_of(actors, slot)->type;
        ack->ask = (uint32_t)actors->rows.items[slot->row].shard;
        effects_emit(actors, ack);
    }
    message_free(actors, message);
}

/* Handles any message but the usual one. Given; false: the incarnation has ended or must pause. */
static bool handle(struct actors *actors, uint32_t index, struct slot *slot,
                   struct message *message)
{
    struct sherd_msg msg = { .msg = message->msg,
                             .sender = message->sender,
                             .body = { message->data, message->body_size } };
    struct job *job = NULL;
    enum sherd_next next;

    msg.kind = faces[message->kind];
    switch ((enum message_kind)message->kind) {
    case MESSAGE_TELL:
        if (message->expires && !behavior_of(actors, slot)->face.wants_expired &&
            message_is_expired(message, actors_clock(actors))) {
            mailbox_message_end(actors, message, SHERD_REASON_EXPIRED);
            return true;
        }
        actors->counts.delivered++;
        if (message->ask && is_here(actors, message->sender))
            actors_ask_stage(actors, message->ask, SHERD_STAGE_DELIVERED, 0);
        break;
    case MESSAGE_ANSWER:
        actors->counts.delivered++;
        msg.tag = (uint32_t)message->ask;
        break;
    case MESSAGE_NO_ANSWER:
        msg.tag = (uint32_t)message->ask;
        msg.reason = (enum sherd_reason)message->reason;
        msg.stage = (enum sherd_stage)message->stage;
        msg.where = actors->peers.items[message->peer].text;
        break;
    case MESSAGE_DATA:
        msg.tag = (uint32_t)message->ask;
        break;
    case MESSAGE_UNDELIVERED:
        msg.reason = (enum sherd_reason)message->reason;
        break;
    case MESSAGE_TIMER:
        if (!timer_take(actors, slot, message)) {
            message_free(actors, message);
            return true;
        }
        msg.tag = (uint32_t)message->ask;
        break;
    case MESSAGE_TERMINATED:
        if (!watch_take(actors, index, slot, message->sender)) {
            message_free(actors, message);
            return true;
        }
        break;
    case MESSAGE_STOPPING:
        return handle_mark(actors, index, slot, message);
    case MESSAGE_START:
        acknowledge_start(actors, slot, message);
        return true;
    case MESSAGE_REPEAT:
        delivery_repeat(actors, index, slot);
        message_free(actors, message);
        return true;
    case MESSAGE_JOB_DONE:
        job = job_result(message, &msg);
        slot->touched = behavior_of(actors, slot)->tick;
        break;
    default:
        break;
    }
    next = call(actors, slot, message, &msg);
    if (job)
        job_result_free(actors, job);
    return settle(actors, index, slot, message, next, false);
}

/* Handles a message of the library. Given; false: see handle. */
static bool handle_delivery(struct actors *actors, uint32_t index, struct slot *slot,
                            struct message *message)
{
    struct sherd_msg msg = { .sender = message->sender, .where = "" };
    enum sherd_reason reason;

    switch (delivery_begin(actors, slot, message, &msg, &reason)) {
    case DELIVERY_HANDLES:
        actors->counts.delivered++;
        return settle(actors, index, slot, message, call(actors, slot, message, &msg), false);
    case DELIVERY_DROPS:
        actors->counts.delivered++;
        message_free(actors, message);
        return true;
    default:
        mailbox_undelivered(actors, message, reason);
        return true;
    }
}

static struct message *mailbox_take(struct actors *actors, struct slot *slot)
{
    struct message *message = message_ring_take(&slot->last);

    if (message)
        mailbox_uncount(actors, slot, message);
    return message;
}

/* Whether it may handle a message now. If not, arranges what wakes it later. */
static bool may_run(struct actors *actors, uint32_t index, struct slot *slot)
{
    if (slot->status != SLOT_ALIVE && slot->status != SLOT_STOPPING)
        return false;
    if (!(slot->flags & FLAG_PERSISTENT))
        return true;
    if (!actors->room) {
        if (!(slot->flags & FLAG_PARKED)) {
            slot->flags |= FLAG_PARKED;
            vec_push(&actors->parked, index);
        }
        return false;
    }
    return !slot_is_blocked(actors, slot); /* actors_durable queues it again */
}

/* Handles the usual message: a tell without an ask of this lane. Given; false: see handle. */
static inline bool handle_tell(struct actors *actors, uint32_t index,
                               struct slot *slot, struct message *message)
{
    struct sherd_msg msg;
    enum sherd_next next;

    msg.kind = SHERD_MESSAGE;
    msg.msg = message->msg;
    msg.tag = 0;
    msg.reason = SHERD_REASON_NONE;
    msg.stage = SHERD_STAGE_NONE;
    msg.sender = message->sender;
    msg.body.data = message->data;
    msg.body.size = message->body_size;
    msg.where = "";
    actors->counts.delivered++;
    next = call(actors, slot, message, &msg);
    if (likely(next == SHERD_CONTINUE && !actors->ctx.store_failed)) {
        message_free(actors, message);
        return true;
    }
    return settle(actors, index, slot, message, next, false);
}

/* Limits what waits for durability before a message that may add to it; one handler may add any
 * amount. */
static inline void undurable_is_bounded(const struct actors *actors,
                                        const struct slot *slot)
{
    BOUNDED("events of an entity that are not durable",
            extra_of(actors, slot)->event_count, ENTITY_EVENTS_MAX - 1);
    BOUNDED("effects of an entity that wait for durability",
            extra_of(actors, slot)->held_count, ENTITY_HELD_MAX - 1);
    (void)actors;
    (void)slot;
}

/* Handles messages of one actor; returns how many. */
static uint32_t run_messages(struct actors *actors, uint32_t index,
                             struct slot *slot)
{
    bool persistent = (slot->flags & FLAG_PERSISTENT) != 0;
    uint16_t tick = behavior_of(actors, slot)->tick;
    uint32_t most = actors->exact_left ? 1 : ACTOR_RUN_MESSAGES;
    uint32_t handled = 0;

    if (slot->flags & FLAG_STARTED_DUE) {
        slot->touched = tick;
        actors->handled_kind = MESSAGE_STARTED;
        actors->handled_msg = 0;
        if (!handle_started(actors, index, slot))
            return 1;
        handled++;
    }
    while (handled < most) {
        struct message *message;
        bool goes_on;

        if (persistent && handled && slot_is_blocked(actors, slot))
            return handled;
        message = mailbox_take(actors, slot);
        if (!message)
            return handled;
        handled++;
        actors->handled_msg = message->msg;
        actors->handled_kind = message->kind;
        if (actors->settings.is_verbose && (slot->flags & FLAG_ENTITY))
            slot_trace_message(actors, slot, message->msg);
        if (slot->flags & FLAG_UNDURABLE)
            undurable_is_bounded(actors, slot);
        /* as Akka's passivation: only messages through sharding count as use */
        if (message_to_entity(message))
            slot->touched = tick;
        if (unlikely(message->kind == MESSAGE_TELL && message->msg >= SHERD_NUMBERS_END))
            goes_on = handle_delivery(actors, index, slot, message);
        else if (likely(message->kind == MESSAGE_TELL && message->ask == 0))
            goes_on = handle_tell(actors, index, slot, message);
        else
            goes_on = handle(actors, index, slot, message);
        if (!goes_on)
            return handled;
    }
    if (slot->last)
        slot_queue(actors, index, slot);
    return handled;
}

/* Runs one actor; returns the number of messages handled. */
static inline uint32_t run_slot(struct actors *actors, uint32_t index)
{
    struct slot *slot = slot_at(actors, index);
    struct sherd_ctx *ctx = &actors->ctx;
    uint32_t handled;

    slot->flags &= (uint8_t)~FLAG_QUEUED;
    if (!may_run(actors, index, slot))
        return 0;
    ctx->slot = slot;
    ctx->index = index;
    ctx->self = slot_ref(actors, slot, index);
    ctx->wants_undelivered = (uint8_t)behavior_of(actors, slot)
                                 ->face.wants_undelivered;
    handled = run_messages(actors, index, slot);
    ctx->slot = NULL;
    ctx->message = NULL;
    return handled;
}

#define CANDIDATES_PER_LINE 16

/* "cart/3/alice" of an entity: type, shard and id; else the behavior's name. */
static void put_candidate(const struct actors *actors, struct buf *text,
                          uint64_t actor)
{
    const struct slot *slot = slot_of(actors, actor);
    char shard[16];

    buf_put_text(text, text->size ? ", " : "");
    buf_put_text(text, slot ? slot_type(actors, slot) : "(stopped)");
    if (!slot || !(slot->flags & FLAG_ENTITY))
        return;
    (void)snprintf(shard, sizeof shard, "/%d/",
                   (int)actors->rows.items[slot->row].shard); /* fits */
    buf_put_text(text, shard);
    buf_put_slice(text, slot_id(slot));
}

/* Names all actors that ran between two clock reads, a few in each line. */
static void report_candidates(const struct actors *actors, uint64_t ms,
                              uint32_t handled, uint32_t count)
{
    for (uint32_t first = 0; first < count; first += CANDIDATES_PER_LINE) {
        uint32_t end = first + CANDIDATES_PER_LINE;
        struct buf text = { 0 };

        if (end > count)
            end = count;
        for (uint32_t i = first; i < end; i++)
            put_candidate(actors, &text, actors->ran[i]);
        trace_put(actors->settings.trace, TRACE_WARNING, "actor",
                  "one of these handlers took long, the next slow message is "
                  "timed alone ms=%llu messages=%u actors=%u listed=%u..%u "
                  "candidates=\"%.*s\"",
                  (unsigned long long)ms, handled, count, first + 1, end,
                  (int)text.size, (const char *)text.data);
        buf_fini(&text);
    }
}

/* count: actors that ran; above 1, the clock does not tell which of them was slow. */
static void report_slow(struct actors *actors, uint64_t took,
                        uint32_t handled, uint32_t count)
{
    const struct slot *slot = slot_of(actors, actors->ran[0]);
    const char *label = handled > 1 ? "last_message" : "message";
    const char *kind = message_kind_text(actors->handled_kind);
    uint64_t ms = took / MS;
    char number[SHARD_TEXT_MAX];

    actors->counts.slow_handlers++;
    if (count != 1)
        report_candidates(actors, ms, handled, count);
    else if (!slot || !(slot->flags & FLAG_ENTITY))
        trace_put(actors->settings.trace, TRACE_WARNING, "actor",
                  "handler took long actor=%s %s=%u kind=\"%s\" ms=%llu "
                  "messages=%u",
                  slot ? slot_type(actors, slot) : "(stopped)", label,
                  actors->handled_msg, kind, (unsigned long long)ms, handled);
    else
        trace_put(actors->settings.trace, TRACE_WARNING, "actor",
                  "handler took long behavior=%s type=%s shard=%s id=%.*s "
                  "%s=%u kind=\"%s\" ms=%llu messages=%u",
                  behavior_of(actors, slot)->face.name
                      ? behavior_of(actors, slot)->face.name
                      : "",
                  slot_type(actors, slot),
                  (const char *)slot_shard(actors, slot, number).data,
                  (int)slot_id(slot).size, (const char *)slot_id(slot).data,
                  label, actors->handled_msg, kind, (unsigned long long)ms,
                  handled);
}

static inline void prefetch_next(const struct actors *actors)
{
    if (actors->queue_count > 2) {
        uint32_t head = actors->queue_head;

        __builtin_prefetch(slot_at(
            actors, actors->queue[(head + 2) & actors->queue_mask]));
    }
    if (actors->queue_count > 0) {
        const struct slot *slot = slot_at(
            actors, actors->queue[actors->queue_head & actors->queue_mask]);

        __builtin_prefetch(slot->last);
        __builtin_prefetch(slot->state);
    }
}

/* Runs until `budget` messages or the queue's end. count gets the number of actors that handled any;
 * `ran` gets their ids, of more than ACTOR_RUN_MESSAGES the last ones. */
static uint32_t run_some(struct actors *actors, uint32_t budget,
                         uint32_t *count)
{
    uint32_t handled = 0;

    *count = 0;
    while (handled < budget && actors->queue_count) {
        uint32_t index = actors->queue[actors->queue_head];
        uint32_t some;

        actors->queue_head = (actors->queue_head + 1) & actors->queue_mask;
        actors->queue_count--;
        prefetch_next(actors);
        some = run_slot(actors, index);
        actors->ran[*count % ACTOR_RUN_MESSAGES] = actors->ctx.self.actor;
        *count += some != 0;
        handled += some;
    }
    return handled;
}

/* Does the same while somebody looks for hot entities: one actor after the other. */
static __attribute__((noinline)) uint32_t run_sampled(struct actors *actors, uint32_t budget,
                                                      uint32_t *count)
{
    uint32_t handled = 0, actor_count = 0;
    uint64_t first = 0; /* run_some names its actor at this place */

    while (handled < budget && actors->queue_count) {
        uint32_t one;
        uint32_t some = run_some(actors, 1, &one);

        handled += some;
        if (!one)
            continue;
        first = actor_count % ACTOR_RUN_MESSAGES ? first : actors->ctx.self.actor;
        actors->ran[actor_count++ % ACTOR_RUN_MESSAGES] = actors->ctx.self.actor;
        samples_handled(actors, actors->ctx.self.actor, some);
    }
    actors->ran[0] = first;
    *count = actor_count;
    return handled;
}

/* Takes the last actor of a piece as the sample of its messages. */
static void sample_handler(struct actors *actors, uint64_t ns, uint32_t count)
{
    const struct slot *slot = slot_of(actors, actors->ran[(count - 1) % ACTOR_RUN_MESSAGES]);

    if (slot && slot->flags & FLAG_ENTITY)
        histogram_add(&actors->types[behavior_of(actors, slot)->type].figures.handlers, ns);
}

/* Reads the clock once for about 64 messages. After a batch that took longer than a whole run, it
 * reads the clock after each message, until ACTOR_EXACT_MESSAGES in a row were quick. Otherwise 64
 * slow messages of one actor would delay everything on the thread, with one lane also heartbeats.
 * It also lets the report name the right actor. */
static uint32_t run_timed(struct actors *actors, uint32_t budget)
{
    uint64_t begin = actors->settings.clock();
    uint64_t before = begin;
    uint32_t handled = 0;

    while (handled < budget && actors->queue_count && before < actors->end_of_leases) {
        uint32_t count;
        uint32_t piece =
            (unlikely(actors->is_sampled) ? run_sampled : run_some)(
                actors, actors->exact_left ? 1 : ACTOR_RUN_MESSAGES, &count);
        uint64_t after = actors->settings.clock();

        handled += piece;
        if (likely(count))
            sample_handler(actors, (after - before) / piece, count);
        if (actors->exact_left)
            actors->exact_left--;
        if (piece && after - before > actors->settings.slow_handler)
            report_slow(actors, after - before, piece, count);
        if (after - before > ACTOR_RUN_NS ||
            after - before > actors->settings.slow_handler)
            actors->exact_left = ACTOR_EXACT_MESSAGES;
        if (after - begin > ACTOR_RUN_NS)
            break;
        before = after;
    }
    return handled;
}

/* There is room again when a hundredth of the message memory is free. */
static void look_for_room(struct actors *actors)
{
    uint64_t max = actors->settings.waiting_bytes_max;

    if (actors->full)
        actors->full = actors->large_bytes > max ||
                       memory_free_bytes(actors, max / 100) < max / 100;
}

static uint32_t run_all(struct actors *actors, uint32_t budget)
{
    uint32_t handled = 0;
    uint32_t count;

    /* Messages to open shards are delivered in the same run while the budget lasts. */
    for (;;) {
        entity_flush(actors);
        if (handled >= budget || !actors->queue_count)
            return handled;
        if (actors->settings.clock) {
            handled += run_timed(actors, budget - handled);
            entity_flush(actors);
            return handled;
        }
        handled += (actors->is_sampled ? run_sampled : run_some)(actors, budget - handled, &count);
    }
}

void actors_set_end_of_leases(struct actors *actors, uint64_t until)
{
    actors->end_of_leases = until;
}

uint32_t actors_run(struct actors *actors, uint64_t now, int64_t wall_ms,
                    uint32_t budget)
{
    uint32_t handled;

    check(!actors->ctx.slot);
    if (now > actors->now)
        actors->now = now;
    actors->wall_ms = wall_ms;
    entity_ticks(actors);
    handled = run_all(actors, budget);
    if (actors->view.missed)
        view_retry(actors);
    if (actors->followers_missed)
        followers_retry(actors);
    look_for_room(actors);
    return handled;
}

bool actors_runnable(const struct actors *actors)
{
    return actors->queue_count > 0;
}
