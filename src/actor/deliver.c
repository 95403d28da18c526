/* Sends an entity's deliveries, and repeats them until their end is known. */
#include "actor/deliver.h"
#include "actor/delivery/handling.h"

#include "base/line.h"
#include "base/mark.h"

/* --- events --- */

void delivery_append(struct actors *actors, uint32_t index, struct slot *slot, uint32_t type,
                     const struct buf *event)
{
    effects_append(actors, index, slot, &(struct entity_event){ type, 0, buf_slice(event) });
    actors->counts.delivery_events++;
}

/* --- timer --- */

/* Sets the entity's timer to the earliest transmission. */
static void arm(struct actors *actors, uint32_t index, struct slot *slot, uint64_t due)
{
    struct delivery *delivery = extra_of(actors, slot)->delivery;
    uint64_t delay = due > actors->now ? (due - actors->now + MS - 1) / MS : DELIVERY_BURST_MS;
    struct entry *entry;

    if (delivery->timer && delivery->timer_due <= due)
        return;
    if (delivery->timer)
        entry_free(actors, delivery->timer);
    delivery->timer = entry_new(actors, delay);
    if (!delivery->timer) {
        actors->counts.timers_refused++;
        slot_trace(actors, slot, TRACE_ERROR,
                   "timer of deliveries refused: the lane has too many timers "
                   "hint=\"cancel timers that are no longer needed\"");
        return;
    }
    delivery->timer_due = due;
    entry = entry_at(actors, delivery->timer);
    entry->kind = ENTRY_DELIVERY;
    entry->slot = index;
    entry->generation = slot->generation;
}

static void arm_earliest(struct actors *actors, uint32_t index, struct slot *slot)
{
    const struct outgoing *outgoing = &extra_of(actors, slot)->delivery->outgoing;
    uint64_t earliest = NEVER;

    for (uint32_t i = 0; i < outgoing->list.count; i++)
        if (outgoing->list.items[i]->due < earliest)
            earliest = outgoing->list.items[i]->due;
    if (earliest != NEVER)
        arm(actors, index, slot, earliest);
}

/* Doubles with each transmission, less up to an eighth. */
static uint64_t pause(struct actors *actors, uint32_t transmissions)
{
    const struct delivery_settings *settings = &actors->settings.delivery;
    uint32_t doublings = transmissions < 20 ? transmissions - 1 : 19;
    uint64_t ms = settings->repeat_ms << doublings;

    if (ms > settings->repeat_max_ms)
        ms = settings->repeat_max_ms;
    return (ms - rng_below(&actors->rng, ms / 8 + 1)) * MS;
}

/* --- transmission --- */

static bool is_far(struct slice type)
{
    return memchr(type.data, '@', type.size) != NULL;
}

/* The sender's type, as the receiver's data center knows it. False: the name is too long. */
static bool sender_type(const struct actors *actors, const struct slot *slot, struct slice to,
                        struct buf *text)
{
    buf_clear(text);
    buf_put_text(text, slot_type(actors, slot));
    if (is_far(to) && actors->settings.data_center) {
        buf_put_text(text, "@");
        buf_put_text(text, actors->settings.data_center);
    }
    return text->size <= SHERD_TYPE_MAX;
}

static void transmit(struct actors *actors, const struct slot *slot,
                     const struct outgoing *outgoing, struct open_delivery *open)
{
    struct handling *handling = actors->handling;
    uint16_t type = actors_type(actors, open->parcel.type);
    struct parcel parcel = open->parcel;
    struct message *message;

    open->transmissions++;
    open->due = actors->now + pause(actors, open->transmissions);
    if (open->transmissions > 1)
        actors->counts.deliveries_repeated++;
    if (type == TYPE_NONE || !sender_type(actors, slot, parcel.type, &handling->name)) {
        REACHED("a delivery to a type that is not registered any more waits");
        return;
    }
    parcel.floor = outgoing_floor(outgoing, open);
    parcel.type = buf_slice(&handling->name);
    parcel.id = slot_id(slot);
    buf_clear(&handling->scratch);
    parcel_write(&handling->scratch, &parcel);
    message = actors_entity_message(actors, type, open->parcel.id, buf_slice(&handling->scratch));
    message->msg = MSG_PARCEL;
    message->sender = actors->ctx.self;
    effects_emit(actors, message);
}

/* Lets the entity know that a delivery has no end. Its record follows when it handles this. */
static void give_up(struct actors *actors, struct open_delivery *open)
{
    struct message *message;

    open->due = NEVER;
    buf_clear(&actors->handling->scratch);
    outcome_write(&actors->handling->scratch,
                  &(struct outcome){ open->parcel.number, SHERD_DELIVERY_GIVEN_UP });
    message = actors_message(actors, buf_slice(&actors->handling->scratch));
    message->to = actors->ctx.self;
    message->sender = actors->ctx.self;
    message->msg = MSG_OUTCOME;
    effects_emit(actors, message);
}

void delivery_repeat(struct actors *actors, uint32_t index, struct slot *slot)
{
    struct extra *extra = extra_of(actors, slot);
    uint64_t wall = delivery_wall(actors);
    struct outgoing *outgoing;
    uint32_t burst = 0;

    if (!extra || !extra->delivery)
        return;
    outgoing = &extra->delivery->outgoing;
    for (uint32_t i = 0; i < outgoing->list.count && burst < DELIVERY_BURST_MAX; i++) {
        struct open_delivery *open = outgoing->list.items[i];

        if (open->due > actors->now)
            continue;
        burst++;
        if (wall >= open->parcel.made + actors->settings.delivery.give_up_ms)
            give_up(actors, open);
        else
            transmit(actors, slot, outgoing, open);
    }
    SOMETIMES("an entity repeats many deliveries", burst == DELIVERY_BURST_MAX);
    arm_earliest(actors, index, slot);
}

void delivery_recovered(struct actors *actors, uint32_t index, struct slot *slot)
{
    struct message *message;

    (void)index;
    if (!delivery_is_open(actors, slot))
        return;
    REACHED("an entity with open deliveries recovers");
    delivery_count(actors, extra_of(actors, slot)->delivery);
    message = actors_message(actors, slice_of(NULL, 0));
    message->kind = MESSAGE_REPEAT;
    mailbox_put_first(actors, slot, message);
}

/* --- calls --- */

/* Warns once that nothing starts the entities of the type again. */
static void warn_unless_remembered(struct actors *actors, const struct slot *slot)
{
    struct type *type = &actors->types[behavior_of(actors, slot)->type];

    if (type->remembers || type->is_daemon || type->delivery_said)
        return;
    type->delivery_said = true;
    slot_trace(actors, slot, TRACE_WARNING,
               "deliveries of a type that is not remembered: after a move or a crash they wait "
               "until the entity starts hint=\"set remember for the type\"");
}

static uint64_t refuse(struct actors *actors)
{
    actors->counts.deliveries_refused++;
    return 0;
}

/* Whether an entity that persists may deliver this now. */
static bool may_deliver(struct actors *actors, struct slot *slot, const struct parcel *parcel)
{
    if (!parcel->id.size || parcel->id.size > SHERD_ID_MAX ||
        parcel->body.size > SHERD_DELIVERY_BODY_MAX || parcel->msg >= LIBRARY_NUMBERS ||
        actors_type(actors, parcel->type) == TYPE_NONE ||
        !sender_type(actors, slot, parcel->type, &actors->handling->name))
        return false;
    return outgoing_has_room(&delivery_of(actors, slot)->outgoing, parcel->body.size);
}

SHERD_API uint64_t sherd_deliver(struct sherd_ctx *ctx, const char *type, const char *id,
                                 uint32_t msg, struct sherd_bytes body, uint64_t ttl_ms)
{
    struct actors *actors = ctx->actors;
    struct slot *slot = ctx->slot;
    uint64_t longest = actors->settings.delivery.give_up_ms;
    struct parcel parcel = { .made = delivery_wall(actors),
                             .type = slice_text(type),
                             .id = slice_text(id),
                             .msg = msg,
                             .body = slice_of(body.data, body.size) };
    struct outgoing *outgoing;
    struct open_delivery *open;

    if (!(slot->flags & FLAG_PERSISTENT)) {
        slot_trace(actors, slot, TRACE_ERROR,
                   "delivery by an actor that is not a persistent entity, it stops "
                   "hint=\"set apply in the behavior of the type\"");
        effects_refuse_plain(ctx);
        return refuse(actors);
    }
    if (ctx->store_failed || !may_deliver(actors, slot, &parcel))
        return refuse(actors);
    warn_unless_remembered(actors, slot);
    outgoing = &delivery_of(actors, slot)->outgoing;
    parcel.number = outgoing->last + 1;
    parcel.expires = parcel.made + (ttl_ms && ttl_ms < longest ? ttl_ms : longest);
    buf_clear(&actors->handling->scratch);
    parcel_write(&actors->handling->scratch, &parcel);
    outgoing_add(outgoing, &parcel);
    delivery_append(actors, ctx->index, slot, EVENT_PARCEL, &actors->handling->scratch);
    actors->counts.deliveries++;
    delivery_count(actors, delivery_of(actors, slot));
    open = outgoing_find(outgoing, parcel.number);
    transmit(actors, slot, outgoing, open);
    arm(actors, ctx->index, slot, open->due);
    return parcel.number;
}

SHERD_API uint32_t sherd_deliveries_open(const struct sherd_ctx *ctx)
{
    const struct extra *extra = extra_of(ctx->actors, ctx->slot);
    uint32_t count = extra && extra->delivery ? extra->delivery->outgoing.list.count : 0;

    return count - (ctx->actors->handling->after == AFTER_OUTCOME && count);
}
