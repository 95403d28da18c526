/* Handles deliveries and commands once: stores what a handler has ended in its commit, and answers
 * repetitions without it. */
#include "actor/deliver.h"
#include "actor/delivery/handling.h"

#include "base/line.h"
#include "base/mark.h"

/* --- the receiver --- */

/* Answers the sender, wherever it runs now. If this node does not know its type, the incarnation that
 * sent it last gets the answer. */
static void answer(struct actors *actors, const struct receipt *receipt, struct sherd_ref from)
{
    uint16_t type = actors_type(actors, receipt->type);
    struct message *message;
    struct slice body;

    if (type == TYPE_NONE && ref_is_nobody(from))
        return;
    buf_clear(&actors->handling->scratch);
    outcome_write(&actors->handling->scratch, &(struct outcome){ receipt->number, receipt->end });
    body = buf_slice(&actors->handling->scratch);
    message = type != TYPE_NONE ? actors_entity_message(actors, type, receipt->id, body)
                                : actors_message(actors, body);
    if (type == TYPE_NONE)
        message->to = from;
    message->sender = actors->ctx.self;
    message->msg = MSG_OUTCOME;
    effects_emit(actors, message);
}

/* Stores that a delivery has ended here. The names lie outside of the book. */
static void store_mark(struct actors *actors, uint32_t index, struct slot *slot,
                       const struct receipt *mark)
{
    buf_clear(&actors->handling->scratch);
    receipt_write(&actors->handling->scratch, mark);
    incoming_mark(&delivery_of(actors, slot)->incoming, mark);
    delivery_append(actors, index, slot, EVENT_RECEIPT, &actors->handling->scratch);
}

static struct receipt receipt_of(const struct actors *actors, const struct parcel *parcel,
                                 enum sherd_delivery_end end)
{
    return (struct receipt){ parcel->number, parcel->floor, delivery_wall(actors),
                             end,            parcel->type,  parcel->id };
}

/* The delivery is too late to be handled, and its sender gets to know that for certain. */
static enum delivery_turn expire(struct actors *actors, struct slot *slot,
                                 const struct message *message, const struct parcel *parcel,
                                 enum sherd_reason *reason)
{
    struct receipt receipt = receipt_of(actors, parcel, SHERD_DELIVERY_EXPIRED);

    REACHED("a delivery expires");
    if (slot->flags & FLAG_PERSISTENT)
        store_mark(actors, actors->ctx.index, slot, &receipt);
    answer(actors, &receipt, message->sender);
    *reason = SHERD_REASON_EXPIRED;
    return DELIVERY_REFUSES;
}

static enum delivery_turn repeated(struct actors *actors, const struct message *message,
                                   const struct parcel *parcel, enum incoming_answer known)
{
    struct receipt receipt = receipt_of(actors, parcel,
                                        known == INCOMING_EXPIRED ? SHERD_DELIVERY_EXPIRED
                                                                  : SHERD_DELIVERY_HANDLED);

    SOMETIMES("a delivery comes again", known == INCOMING_HANDLED);
    SOMETIMES("a delivery comes again before it is confirmed", known == INCOMING_TAKEN);
    SOMETIMES("a delivery comes after its end", known == INCOMING_ENDED);
    actors->counts.deliveries_again++;
    if (known == INCOMING_HANDLED || known == INCOMING_EXPIRED)
        answer(actors, &receipt, message->sender);
    return DELIVERY_DROPS;
}

static enum delivery_turn begin_parcel(struct actors *actors, struct slot *slot,
                                       const struct message *message, struct sherd_msg *msg,
                                       enum sherd_reason *reason)
{
    struct handling *handling = actors->handling;
    struct parcel *parcel = &handling->parcel;
    bool persists = (slot->flags & FLAG_PERSISTENT) != 0;
    enum incoming_answer known = INCOMING_NEW;

    if (!message_to_entity(message) || !parcel_read(message_body(message), parcel))
        return DELIVERY_REFUSES;
    if (persists)
        known = incoming_look(&delivery_of(actors, slot)->incoming, parcel,
                              delivery_forgets(actors));
    if (known == INCOMING_FULL) {
        REACHED("a receiver has no room for a delivery");
        *reason = SHERD_REASON_BUFFER_FULL;
        return DELIVERY_REFUSES;
    }
    if (known != INCOMING_NEW)
        return repeated(actors, message, parcel, known);
    if (parcel->expires <= delivery_wall(actors) + (actors_clock(actors) - actors->now) / MS)
        return expire(actors, slot, message, parcel, reason);
    handling->after = AFTER_PARCEL;
    actors->is_handling = true;
    msg->kind = SHERD_MESSAGE;
    msg->msg = parcel->msg;
    msg->body = (struct sherd_bytes){ parcel->body.data, parcel->body.size };
    if (parcel->body.size) { /* bodies are aligned */
        buf_clear(&handling->body);
        buf_put_slice(&handling->body, parcel->body);
        msg->body.data = handling->body.data;
    }
    return DELIVERY_HANDLES;
}

/* --- the sender --- */

static enum delivery_turn begin_outcome(struct actors *actors, struct slot *slot,
                                        const struct message *message, struct sherd_msg *msg)
{
    struct handling *handling = actors->handling;
    const struct extra *extra = extra_of(actors, slot);

    if (!outcome_read(message_body(message), &handling->outcome))
        return DELIVERY_REFUSES;
    if (!extra || !extra->delivery ||
        !outgoing_find(&extra->delivery->outgoing, handling->outcome.number))
        return DELIVERY_DROPS; /* its end was known */
    handling->after = AFTER_OUTCOME;
    actors->is_handling = true;
    msg->kind = SHERD_DELIVERY;
    msg->msg = handling->outcome.end;
    msg->body = (struct sherd_bytes){ &handling->outcome.number, sizeof handling->outcome.number };
    return DELIVERY_HANDLES;
}

enum delivery_turn delivery_begin(struct actors *actors, struct slot *slot,
                                  const struct message *message, struct sherd_msg *msg,
                                  enum sherd_reason *reason)
{
    const struct extra *extra = extra_of(actors, slot);

    *reason = SHERD_REASON_NO_HANDLER;
    actors->handling->seq = extra ? extra->seq : 0;
    if (message->ask)
        return DELIVERY_REFUSES;
    if (message->msg == MSG_PARCEL)
        return begin_parcel(actors, slot, message, msg, reason);
    if (message->msg == MSG_OUTCOME)
        return begin_outcome(actors, slot, message, msg);
    return DELIVERY_REFUSES;
}

/* --- after receive --- */

static void finish_parcel(struct actors *actors, struct slot *slot)
{
    struct receipt receipt =
        receipt_of(actors, &actors->handling->parcel, SHERD_DELIVERY_HANDLED);

    if (slot->flags & FLAG_PERSISTENT)
        store_mark(actors, actors->ctx.index, slot, &receipt);
    answer(actors, &receipt, actors->ctx.message->sender);
    actors->counts.deliveries_handled++;
}

static void finish_outcome(struct actors *actors, struct slot *slot)
{
    const struct outcome *outcome = &actors->handling->outcome;
    struct delivery *delivery = delivery_of(actors, slot);

    buf_clear(&actors->handling->scratch);
    outcome_write(&actors->handling->scratch, outcome);
    outgoing_end(&delivery->outgoing, outcome->number);
    delivery_append(actors, actors->ctx.index, slot, EVENT_OUTCOME, &actors->handling->scratch);
    delivery_count(actors, delivery);
    actors->counts.deliveries_ended[outcome->end]++;
    if (delivery->passivates && !delivery->outgoing.list.count)
        entity_passivate(actors, actors->ctx.index, slot);
}

static void finish_command(struct actors *actors, struct slot *slot)
{
    struct handling *handling = actors->handling;
    struct command command = { .at = delivery_wall(actors),
                               .id = buf_slice(&handling->command),
                               .has_reply = handling->has_reply,
                               .msg = handling->reply_msg,
                               .body = buf_slice(&handling->reply) };

    if (!command.has_reply)
        command.body = slice_of(NULL, 0);
    buf_clear(&handling->scratch);
    command_write(&handling->scratch, &command);
    commands_add(&delivery_of(actors, slot)->commands, &command,
                 actors->settings.delivery.commands_max);
    delivery_append(actors, actors->ctx.index, slot, EVENT_COMMAND, &handling->scratch);
    actors->counts.commands++;
}

void delivery_finish(struct actors *actors, enum sherd_next next)
{
    struct handling *handling = actors->handling;
    struct slot *slot = actors->ctx.slot;
    const struct extra *extra = extra_of(actors, slot);
    enum after after = handling->after;
    bool is_command = handling->is_command;
    bool is_done = next == SHERD_CONTINUE || next == SHERD_STOP ||
                   (extra && extra->seq != handling->seq);

    actors->is_handling = false;
    handling->after = AFTER_NOTHING;
    handling->is_command = false;
    if (actors->ctx.store_failed || !is_done)
        return;
    if (is_command)
        finish_command(actors, slot);
    if (after == AFTER_PARCEL)
        finish_parcel(actors, slot);
    else if (after == AFTER_OUTCOME)
        finish_outcome(actors, slot);
}

/* --- calls --- */

SHERD_API uint64_t sherd_delivery_number(const struct sherd_msg *msg)
{
    uint64_t number = 0;

    if (msg->kind == SHERD_DELIVERY)
        memcpy(&number, msg->body.data, sizeof number);
    return number;
}

SHERD_API int sherd_delivery_get(const struct sherd_ctx *ctx, struct sherd_delivery *delivery)
{
    const struct handling *handling = ctx->actors->handling;
    const struct parcel *parcel = &handling->parcel;

    memset(delivery, 0, sizeof *delivery);
    if (handling->after != AFTER_PARCEL)
        return 0;
    delivery->number = parcel->number;
    delivery->sender = ctx->message->sender;
    bytes_copy((uint8_t *)delivery->type, parcel->type.data, parcel->type.size);
    bytes_copy((uint8_t *)delivery->id, parcel->id.data, parcel->id.size);
    return 1;
}

SHERD_API int sherd_confirm_later(struct sherd_ctx *ctx, struct sherd_delivery *delivery)
{
    struct handling *handling = ctx->actors->handling;

    if (!sherd_delivery_get(ctx, delivery))
        return 0;
    handling->after = AFTER_NOTHING;
    if (ctx->slot->flags & FLAG_PERSISTENT)
        incoming_take(&delivery_of(ctx->actors, ctx->slot)->incoming, handling->parcel.type,
                      handling->parcel.id, delivery->number);
    return 1;
}

static void confirm(struct sherd_ctx *ctx, const struct sherd_delivery *delivery)
{
    struct actors *actors = ctx->actors;
    struct receipt mark = { .number = delivery->number,
                         .at = delivery_wall(actors),
                         .end = SHERD_DELIVERY_HANDLED,
                         .type = slice_text(delivery->type),
                         .id = slice_text(delivery->id) };

    if (ctx->slot->flags & FLAG_PERSISTENT) {
        struct incoming *incoming = &delivery_of(actors, ctx->slot)->incoming;

        if (!incoming_is_taken(incoming, mark.type, mark.id, mark.number))
            return;
        mark.floor = incoming_floor(incoming, mark.type, mark.id);
        if (mark.floor > mark.number) /* its sender has given up */
            mark.floor = mark.number;
        store_mark(actors, ctx->index, ctx->slot, &mark);
    }
    answer(actors, &mark, delivery->sender);
    actors->counts.deliveries_handled++;
}

SHERD_API void sherd_confirm(struct sherd_ctx *ctx, struct sherd_delivery *delivery)
{
    if (delivery->number && delivery->type[0] && delivery->id[0] && !ctx->store_failed)
        confirm(ctx, delivery);
    memset(delivery, 0, sizeof *delivery);
}

uint32_t delivery_content(const struct actors *actors, struct sherd_bytes *body)
{
    const struct parcel *parcel = &actors->handling->parcel;

    *body = (struct sherd_bytes){ parcel->body.data, parcel->body.size };
    return parcel->msg;
}

static int repeat_reply(struct sherd_ctx *ctx, const struct command *known)
{
    ctx->actors->counts.commands_again++;
    SOMETIMES("a command is repeated", known->has_reply);
    if (!known->has_reply)
        return SHERD_ONCE_SEEN;
    sherd_reply(ctx, known->msg, (struct sherd_bytes){ known->body.data, known->body.size });
    return SHERD_ONCE_ANSWERED;
}

SHERD_API int sherd_once(struct sherd_ctx *ctx, struct sherd_bytes id)
{
    struct actors *actors = ctx->actors;
    struct handling *handling = actors->handling;
    uint64_t wall = delivery_wall(actors);
    uint64_t age = actors->settings.delivery.commands_ms;
    const struct known_command *known;

    if (!(ctx->slot->flags & FLAG_PERSISTENT) || !id.size || id.size > SHERD_COMMAND_MAX) {
        slot_trace(actors, ctx->slot, TRACE_ERROR,
                   "command cannot be remembered, actor stops "
                   "hint=\"only persistent entities do that, for ids of 1 to 255 bytes\"");
        if (ctx->slot->flags & FLAG_PERSISTENT)
            effects_refuse_event(ctx, "the id of a command is empty or too long");
        else
            effects_refuse_plain(ctx);
        return SHERD_ONCE_NEW;
    }
    known = commands_find(&delivery_of(actors, ctx->slot)->commands, slice_of(id.data, id.size),
                          wall > age ? wall - age : 0);
    if (known)
        return repeat_reply(ctx, &known->command);
    if (handling->after == AFTER_NOTHING && !handling->is_command)
        handling->seq = slot_extra(actors, ctx->slot)->seq;
    handling->is_command = true;
    actors->is_handling = true;
    handling->has_reply = false;
    buf_clear(&handling->command);
    buf_put(&handling->command, id.data, id.size);
    return SHERD_ONCE_NEW;
}

void delivery_replies(struct actors *actors, uint32_t msg, struct sherd_bytes body)
{
    struct handling *handling = actors->handling;

    if (!handling->is_command || handling->has_reply || body.size > SHERD_COMMAND_REPLY_MAX)
        return;
    handling->has_reply = true;
    handling->reply_msg = msg;
    buf_clear(&handling->reply);
    buf_put(&handling->reply, body.data, body.size);
}
