/* Moves messages inside a lane: routes an effect, to a mailbox here or out to the node, and ends
 * undelivered messages with a notice to the waiting sender. run.c handles delivered ones. */
#include "actor/inside.h"

/* --- undelivered messages --- */

void mailbox_message_end(struct actors *actors, struct message *message,
                         enum sherd_reason reason)
{
    if (message_is_job(message)) {
        mailbox_undelivered(actors, message, reason);
        return;
    }
    if (message_counts(message))
        mailbox_count_undelivered(actors, message->type, message_body(message), reason);
    message_free(actors, message);
}

void actors_message_end(struct actors *actors, struct message *message,
                        enum sherd_reason reason)
{
    if (message_counts(message))
        actors->counts.arrived++;
    mailbox_message_end(actors, message, reason);
}

/* A watch of an absent actor is answered by TERMINATED. */
static void watch_fails(struct actors *actors, struct message *message,
                        enum sherd_reason reason)
{
    struct sherd_ref watched = message->to;

    if (!is_here(actors, message->sender))
        message->reason = (uint8_t)reason; /* a JVM is told whether it existed */
    message->kind = MESSAGE_TERMINATED;
    message->to = message->sender;
    message->sender = watched;
    effects_route(actors, message);
}

struct message *mailbox_explain(struct actors *actors, struct message *notice, const char *why)
{
    struct message *explained;

    if (!*why)
        return notice;
    explained = actors_message(actors, slice_text(why));
    explained->kind = notice->kind;
    explained->reason = notice->reason;
    explained->stage = notice->stage;
    explained->msg = notice->msg;
    explained->to = notice->to;
    explained->ask = notice->ask;
    message_free(actors, notice);
    return explained;
}

void mailbox_undelivered(struct actors *actors, struct message *message,
                         enum sherd_reason reason)
{
    mailbox_undelivered_why(actors, message, reason, "");
}

void mailbox_undelivered_why(struct actors *actors, struct message *message,
                             enum sherd_reason reason, const char *why)
{
    bool is_wanted;

    if (message->kind == MESSAGE_WATCH &&
        (reason == SHERD_REASON_NO_SUCH_ACTOR ||
         reason == SHERD_REASON_NODE_GONE)) {
        watch_fails(actors, message, reason);
        return;
    }
    if (message_is_job(message)) {
        is_wanted = job_notice(actors, message, reason);
    } else {
        if (message_counts(message))
            mailbox_count_undelivered(actors, message->type, message_body(message), reason);
        is_wanted = message_notice(message, reason);
    }
    if (is_wanted)
        effects_route(actors, mailbox_explain(actors, message, why));
    else
        message_free(actors, message);
}

void actors_undelivered(struct actors *actors, struct message *message,
                        enum sherd_reason reason)
{
    /* It left by actors_take_out or came by a link, and is back. */
    if (message_counts(message))
        actors->counts.arrived++;
    mailbox_undelivered(actors, message, reason);
}

/* Ends a message to an actor that has ended. */
static void gone(struct actors *actors, struct message *message)
{
    mailbox_undelivered(actors, message,
                        message->kind == MESSAGE_ANSWER
                          ? SHERD_REASON_ASKER_GONE
                          : SHERD_REASON_NO_SUCH_ACTOR);
}

/* --- delivery --- */

static void deliver_tell(struct actors *actors, uint32_t index,
                         struct slot *slot, struct message *message)
{
    if (slot_is_full(actors, slot)) {
        mailbox_undelivered(actors, message, SHERD_REASON_MAILBOX_FULL);
        return;
    }
    if (message->ask && is_here(actors, message->sender))
        actors_ask_stage(actors, message->ask, SHERD_STAGE_QUEUED, 0);
    mailbox_put(actors, index, slot, message);
    slot_is_bounded(actors, slot);
}

void mailbox_deliver(struct actors *actors, struct message *message)
{
    struct slot *slot = slot_of(actors, message->to.actor);
    uint32_t index = actor_id_slot(message->to.actor);

    if (!slot || !slot_has_incarnation(slot)) {
        if (message->kind == MESSAGE_ANSWER ||
            message->kind == MESSAGE_NO_ANSWER)
            ask_close(actors, message);
        gone(actors, message);
        return;
    }
    switch ((enum message_kind)message->kind) {
    case MESSAGE_TELL:
        deliver_tell(actors, index, slot, message);
        break;
    case MESSAGE_ANSWER:
    case MESSAGE_NO_ANSWER:
        if (ask_close(actors, message))
            mailbox_put(actors, index, slot, message);
        else
            gone(actors, message);
        break;
    case MESSAGE_UNDELIVERED:
    case MESSAGE_TERMINATED:
    case MESSAGE_CLUSTER:
    case MESSAGE_SHUTDOWN:
    case MESSAGE_DATA:
        mailbox_put(actors, index, slot, message);
        break;
    case MESSAGE_STARTED:
        slot_start_now(actors, message);
        break;
    case MESSAGE_WATCH:
        watch_arrived(actors, message);
        break;
    case MESSAGE_UNWATCH:
        unwatch_arrived(actors, message);
        break;
    case MESSAGE_STOP:
        if (!(slot->flags & FLAG_MARKED) && slot->status != SLOT_STOPPING &&
            slot->status != SLOT_ENDING)
            mailbox_mark(actors, index, slot);
        message_free(actors, message);
        break;
    default:
        actors->counts.ignored++;
        message_free(actors, message);
        break;
    }
}

void actors_deliver(struct actors *actors, struct message *message)
{
    if (message_counts(message))
        actors->counts.arrived++;
    if (message_to_entity(message) || !is_here(actors, message->to)) {
        /* Another lane's: it ends here instead of circling. */
        mailbox_undelivered(actors, message, SHERD_REASON_NO_SUCH_ACTOR);
        return;
    }
    mailbox_deliver(actors, message);
}

/* --- effects --- */

void effects_route(struct actors *actors, struct message *message)
{
    if (message_to_entity(message)) {
        uint32_t key = entity_table_key(message->type, message->entity.hash);

        if (actors->table.cells)
            __builtin_prefetch(&actors->table.cells[key & actors->table.mask]);
        actors->pending[actors->pending_count++] = message;
        if (actors->pending_count == PENDING_MAX)
            entity_flush(actors);
        return;
    }
    if (is_here(actors, message->to))
        mailbox_deliver(actors, message);
    else if (ref_is_nobody(message->to))
        gone(actors, message);
    else
        mailbox_out_put(actors, message);
}

struct message *actors_take_out(struct actors *actors)
{
    struct message *message;

    if (!actors->out.first && actors->pending_count)
        entity_flush(actors);
    message = actors->out.first;
    if (message) {
        struct message *next = message->next;

        actors->out.first = next;
        __builtin_prefetch(next); /* the caller reads it soon */
        __builtin_prefetch((const void *)((uintptr_t)next + 64));
        __builtin_prefetch((const void *)((uintptr_t)next + 128));
        message->next = NULL;
        if (message_counts(message))
            actors->counts.left++;
    }
    return message;
}
