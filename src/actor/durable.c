/* Carries out what the journal reports: releases or drops waiting effects, ends entities whose events
 * were not stored, and recovers entities. */
#include "actor/apply.h"
#include "actor/deliver.h"
#include "actor/snapshot.h"

#include "base/line.h"
#include "base/mark.h"

/* --- durability --- */

/* Counts an answer that is no longer possible, and notifies its asker. */
static void answer_fails(struct actors *actors, struct message *message,
                         enum sherd_reason reason, const char *why)
{
    mailbox_count_undelivered(actors, message->type, message_body(message), reason);
    if (message->ask == 0) {
        message_free(actors, message);
        return;
    }
    message->kind = MESSAGE_NO_ANSWER;
    message->reason = (uint8_t)reason;
    message->stage = SHERD_STAGE_DELIVERED;
    message->peer = 0;
    message->sender = (struct sherd_ref){ 0, 0 };
    message->body_size = 0;
    effects_route(actors, mailbox_explain(actors, message, why));
}

static void drop(struct actors *actors, struct message *message, enum sherd_reason reason,
                 const char *why)
{
    switch ((enum message_kind)message->kind) {
    case MESSAGE_ANSWER:
        answer_fails(actors, message, reason, why);
        break;
    case MESSAGE_NO_ANSWER: /* of a failed handler: true either way */
        effects_route(actors, message);
        break;
    /* a forwarded ask is answered; the entity's own tells and asks end with it */
    case MESSAGE_TELL:
    case MESSAGE_JOB:
        mailbox_undelivered_why(actors, message, reason, why);
        break;
    case MESSAGE_STARTED:
        slot_start_never(actors, message);
        break;
    default:
        message_free(actors, message);
        break;
    }
}

/* Drops the effects that wait for a later position. */
static void drop_after(struct actors *actors, struct extra *extra, uint64_t position,
                       enum sherd_reason reason, const char *why)
{
    struct message **link = &extra->held_first;
    struct message *last = NULL;
    struct message *rest;

    for (; *link && (*link)->at <= position; link = &(*link)->next)
        last = *link;
    rest = *link;
    *link = NULL;
    extra->held_last = last;
    while (rest) {
        struct message *message = rest;

        rest = message->next;
        effects_uncount(actors, extra, message);
        drop(actors, message, reason, why);
    }
}

void effects_drop_held(struct actors *actors, struct slot *slot, enum sherd_reason reason,
                       const char *why)
{
    struct extra *extra = extra_of(actors, slot);

    if (!extra)
        return;
    while (extra->held_first)
        drop(actors, effects_take_held(actors, extra), reason, why);
    extra->event_count = 0;
    extra->event_bytes = 0;
    slot->flags &= (uint8_t)~FLAG_UNDURABLE;
}

/* Releases the entity's effects up to a position, then its own end, if that waited. */
static void release_effects(struct actors *actors, uint32_t index,
                            struct slot *slot, uint64_t position)
{
    struct extra *extra = extra_of(actors, slot);

    while (extra->held_first && extra->held_first->at <= position)
        effects_route(actors, effects_take_held(actors, extra));
    extra->attempts = 0;
    if (extra->position > position) {
        if (slot->last && !slot_is_blocked(actors, slot) &&
            (slot->status == SLOT_ALIVE || slot->status == SLOT_STOPPING))
            slot_queue(actors, index, slot);
        return;
    }
    /* Also those that became durable with the last one: actors_durable skips a durable entity. */
    extra->event_count = 0;
    extra->event_bytes = 0;
    slot->flags &= (uint8_t)~FLAG_UNDURABLE;
    if (slot->status == SLOT_ENDING)
        incarnation_end(actors, index, slot);
    else if (slot->last)
        slot_queue(actors, index, slot);
}

void actors_durable(struct actors *actors, uint64_t position)
{
    check(!actors->ctx.slot);
    while (actors->stored_count &&
           actors->stored[actors->stored_head].position <= position) {
        struct stored stored = actors->stored[actors->stored_head];
        struct slot *slot = slot_at(actors, stored.slot);
        struct extra *extra;

        actors->stored_head = (actors->stored_head + 1) & actors->stored_mask;
        actors->stored_count--;
        if (slot->generation != stored.generation ||
            !(slot->flags & FLAG_UNDURABLE)) {
            REACHED("an event becomes durable after its entity has ended");
            continue;
        }
        extra = extra_of(actors, slot);
        extra->event_count--;
        extra->event_bytes -= stored.bytes;
        release_effects(actors, stored.slot, slot, position);
    }
}

/* --- failure --- */

/* why: of an event that the journal did not get; "": the journal has refused it. */
static void trace_failure(struct actors *actors, const struct slot *slot, enum sherd_reason reason,
                          const char *why)
{
    char text[EVENT_FAULT_MAX + 120];

    actors->counts.store_failures++;
    line_format(text, sizeof text, "event not stored, entity stopped reason=\"%s\" %s=\"%s\"",
                sherd_reason_text(reason), *why ? "why" : "hint",
                *why ? why : "see the lines of module journal"); /* fits */
    slot_trace(actors, slot, TRACE_WARNING, text);
}

void effects_store_failed(struct actors *actors, uint32_t index, struct slot *slot,
                          enum sherd_reason reason, const char *why)
{
    SOMETIMES("a write was fenced off", reason == SHERD_REASON_FENCED);
    SOMETIMES("an entity stops while its write fails",
              slot->status == SLOT_STOPPING || slot->status == SLOT_ENDING);
    trace_failure(actors, slot, reason, why);
    effects_drop_held(actors, slot, reason, why);
    if (reason != SHERD_REASON_FENCED) {
        incarnation_end_unstored(actors, index, slot);
        return;
    }
    /* No restart and no timer: its messages wait for actors_shard_fenced. */
    incarnation_close(actors, index, slot, END_FENCED);
    slot->status = SLOT_BACKOFF;
}

void effects_refused(struct actors *actors, uint32_t index, struct slot *slot)
{
    struct extra *extra = extra_of(actors, slot);
    const char *why = actors->ctx.refused_why;

    if (!effects_take_back(actors, index, slot)) {
        effects_store_failed(actors, index, slot, SHERD_REASON_NOT_STORED, why);
        return;
    }
    REACHED("an event is refused while earlier ones are on their way");
    trace_failure(actors, slot, SHERD_REASON_NOT_STORED, why);
    drop_after(actors, extra, extra->position, SHERD_REASON_NOT_STORED, why);
    extra->is_refused = true;
    incarnation_request_end(actors, index, slot);
}

void actors_store_failed(struct actors *actors, uint64_t actor,
                         enum sherd_reason reason)
{
    struct slot *slot = slot_of(actors, actor);

    check(!actors->ctx.slot);
    if (!slot || !(slot->flags & FLAG_PERSISTENT) ||
        !slot_has_incarnation(slot)) {
        actors->counts.ignored++;
        return;
    }
    effects_store_failed(actors, actor_id_slot(actor), slot, reason, "");
}

/* --- recovery --- */

static struct slot *recovering(struct actors *actors, uint64_t actor)
{
    struct slot *slot = slot_of(actors, actor);

    if (slot && slot->status == SLOT_RECOVERING)
        return slot;
    actors->counts.ignored++;
    return NULL;
}

static void forget_fault(struct extra *extra)
{
    mem_free(extra->fault);
    extra->fault = NULL;
}

/* Ends the recovery and the messages that wait for it. */
static void recovery_ends(struct actors *actors, uint32_t index, struct slot *slot,
                          const char *why)
{
    struct message *rest;
    struct message *message;

    incarnation_close(actors, index, slot, END_RECOVERY_FAILED);
    mailbox_unmark(actors, slot);
    rest = slot->last;
    slot->last = NULL;
    while ((message = message_ring_take(&rest))) {
        mailbox_uncount(actors, slot, message);
        mailbox_undelivered_why(actors, message, SHERD_REASON_RECOVERY_FAILED, why);
    }
    if (actors->rows.items[slot->row].state == ROW_STOPPING)
        entity_release(actors, index, slot);
    else
        incarnation_back_off(actors, index, slot);
}

static void reject(struct actors *actors, uint32_t index, struct slot *slot, const char *why)
{
    struct extra *extra = slot_extra(actors, slot);
    char line[EVENT_FAULT_MAX + 150];

    REACHED("an entity rejects a stored event");
    actors->counts.rejected++;
    line_format(line, sizeof line,
                "recovery failed, the entity rejects an event, tried again later reason=\"%s\" "
                "hint=\"run a program that knows the event\"",
                why); /* fits */
    slot_trace(actors, slot, TRACE_ERROR, line);
    forget_fault(extra);
    extra->fault = mem_text(why);
    recovery_ends(actors, index, slot, why);
}

/* Warns at most once a minute for each type. */
static void long_replay(struct actors *actors, const struct slot *slot)
{
    struct type *type = &actors->types[behavior_of(actors, slot)->type];
    char text[160];

    actors->counts.long_replays++;
    if (type->long_replay_said && actors->now - type->long_replay_said < LONG_REPLAY_SAID_NS)
        return;
    REACHED("a recovery reads many events");
    type->long_replay_said = actors->now;
    line_format(text, sizeof text,
                "recovery reads many events events_replayed=%u "
                "hint=\"use more entities with fewer events each\"",
                extra_of(actors, slot)->replayed); /* fits */
    slot_trace(actors, slot, TRACE_WARNING, text);
}

bool actors_replay_event(struct actors *actors, uint64_t actor, uint64_t seq,
                         struct entity_event event)
{
    struct slot *slot = recovering(actors, actor);
    char why[EVENT_FAULT_MAX];

    if (!slot)
        return true;
    slot_extra(actors, slot)->seq = seq;
    if (++slot_extra(actors, slot)->replayed == actors->settings.long_replay)
        long_replay(actors, slot);
    if (event.type < SHERD_NUMBERS_END) {
        if (event_apply(actors, slot, seq, &event, why))
            return true;
    } else {
        const char *fault = delivery_replay(actors, slot, &event);

        if (!fault)
            return true;
        event_fault(why, seq, &event, fault);
    }
    reject(actors, actor_id_slot(actor), slot, why);
    return false;
}

static void trace_recovered(struct actors *actors, const struct slot *slot)
{
    const struct extra *extra = extra_of(actors, slot);
    char text[80];

    if (!trace_on(actors->settings.trace, TRACE_DEBUG))
        return;
    line_format(text, sizeof text, "entity started events_replayed=%u ms=%llu",
                extra->replayed,
                (unsigned long long)((actors->now - extra->recover_at) /
                                     MS)); /* fits */
    slot_trace(actors, slot, TRACE_DEBUG, text);
}

void actors_recovered(struct actors *actors, uint64_t actor,
                      uint64_t highest_seq)
{
    struct slot *slot = recovering(actors, actor);
    struct extra *extra;

    if (!slot)
        return;
    trace_recovered(actors, slot);
    extra = slot_extra(actors, slot);
    extra->seq = highest_seq;
    extra->position = 0;
    extra->event_bytes = 0;
    forget_fault(extra);
    slot->status = SLOT_ALIVE;
    delivery_recovered(actors, actor_id_slot(actor), slot);
    if (behavior_of(actors, slot)->face.save && snapshot_is_due(actors, slot, NULL))
        snapshot_take(actors, actor_id_slot(actor), slot, true);
    slot_queue(actors, actor_id_slot(actor), slot);
}

const char *actors_replay_snapshot(struct actors *actors, uint64_t actor, uint64_t seq,
                                   uint32_t version, struct slice part, struct slice image)
{
    struct slot *slot = recovering(actors, actor);

    return slot ? snapshot_load(actors, slot, seq, version, part, image) : NULL;
}

void actors_snapshot_saved(struct actors *actors, uint64_t actor, uint64_t seq)
{
    struct slot *slot = slot_of(actors, actor);

    if (!slot || !slot_has_incarnation(slot))
        actors->counts.ignored++;
    else
        slot_extra(actors, slot)->saved_seq = seq;
}

void actors_recovery_failed(struct actors *actors, uint64_t actor,
                            const char *text)
{
    uint32_t index = actor_id_slot(actor);
    struct slot *slot = recovering(actors, actor);
    char line[280];

    if (!slot)
        return;
    line_format(line, sizeof line, "recovery failed, tried again later "
                "hint=\"check the journal's database and disk\" reason=\"%s\"",
                text ? text : ""); /* may be cut */
    slot_trace(actors, slot, TRACE_ERROR, line);
    REACHED("an entity could not be recovered");
    forget_fault(slot_extra(actors, slot));
    recovery_ends(actors, index, slot, text ? text : "");
}
