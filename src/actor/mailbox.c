/* Keeps the mailboxes of actors, and turns undelivered messages into notices to their senders. */
#include "actor/inside.h"
#include "actor/samples.h"

static inline bool is_awake(const struct slot *slot)
{
    return slot->status == SLOT_ALIVE || slot->status == SLOT_STOPPING;
}

void mailbox_put(struct actors *actors, uint32_t index, struct slot *slot,
                 struct message *message)
{
    if (message->size_class == MESSAGE_CLASS_LARGE)
        actors->large_bytes += message->body_size;
    slot->waiting++;
    /* A stopping entity leaves new messages to its next incarnation. */
    if (slot->status == SLOT_STOPPING || slot->status == SLOT_ENDING) {
        if (message_to_entity(message) || message->kind == MESSAGE_STOPPING) {
            message_ring_put(&slot_extra(actors, slot)->behind, message);
            return;
        }
    }
    message_ring_put(&slot->last, message);
    if (is_awake(slot))
        slot_queue(actors, index, slot);
}

void mailbox_put_first(struct actors *actors, struct slot *slot, struct message *message)
{
    if (message->size_class == MESSAGE_CLASS_LARGE)
        actors->large_bytes += message->body_size;
    slot->waiting++;
    message->next = slot->last ? slot->last->next : message;
    if (slot->last)
        slot->last->next = message;
    else
        slot->last = message;
}

void mailbox_mark(struct actors *actors, uint32_t index, struct slot *slot)
{
    struct message *mark;

    entity_unused(actors, index, slot);
    slot->flags |= FLAG_MARKED;
    mark = actors_message(actors, slice_of(NULL, 0));
    mark->kind = MESSAGE_STOPPING;
    mailbox_put(actors, index, slot, mark);
}

void mailbox_split(struct actors *actors, struct slot *slot)
{
    struct message *rest = slot->last;
    struct message *message;

    slot->last = NULL;
    while ((message = message_ring_take(&rest))) {
        if (message_to_entity(message) || message->kind == MESSAGE_STOPPING)
            message_ring_put(&slot_extra(actors, slot)->behind, message);
        else
            message_ring_put(&slot->last, message);
    }
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

void mailbox_hand_back(struct actors *actors, struct slot *slot)
{
    struct message *message;

    slot->flags &= (uint8_t)~FLAG_MARKED;
    while ((message = message_ring_take(&slot->last))) {
        mailbox_uncount(actors, slot, message);
        if (message_to_entity(message)) {
            message->entity.shard = actors->rows.items[slot->row].shard;
            message->entity.has_shard = 1;
            message->returned = 1;
            mailbox_out_put(actors, message);
        } else {
            message_free(actors, message);
        }
    }
}

bool message_notice(struct message *message, enum sherd_reason reason)
{
    struct sherd_ref sender = message->sender;

    bool is_start = message->kind == MESSAGE_START && message->ask;

    if ((message->kind != MESSAGE_TELL && !is_start) || ref_is_nobody(sender) ||
        (message->ask == 0 && !message->wants_undelivered))
        return false;
    message->kind = message->ask ? MESSAGE_NO_ANSWER : MESSAGE_UNDELIVERED;
    message->reason = (uint8_t)reason;
    message->stage = SHERD_STAGE_NONE;
    message->peer = 0;
    message->type = TYPE_NONE;
    message->to = sender;
    message->sender = (struct sherd_ref){ 0, 0 };
    message->body_size = 0;
    message->id_size = 0;
    return true;
}

void mailbox_count_undelivered(struct actors *actors, uint16_t type, struct slice body,
                               enum sherd_reason reason)
{
    struct probe probe = { .kind = PROBE_MESSAGE_ENDED };

    actors->counts.undelivered[reason]++;
    actors->counts.undelivered_total++;
    samples_undelivered(actors, type, body.size, reason);
    if (!actors->settings.probes)
        return;
    probe.type = type;
    probe.reason = (uint8_t)reason;
    probe.bytes = body;
    probes_put(actors->settings.probes, &probe);
}
