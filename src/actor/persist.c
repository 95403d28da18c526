/* Passes events to the journal, and keeps effects until their cause is durable.
 *
 * The journal gives each event its position. An entity with events on their way is FLAG_UNDURABLE:
 * its effects get its last position and wait in its extra. The queue of stored events names the
 * entities whose effects a durable position releases. */
#include "actor/apply.h"
#include "actor/inside.h"
#include "actor/snapshot.h"

#include "base/line.h"
#include "base/mark.h"

/* --- effects --- */

void effects_hold(struct actors *actors, struct slot *slot, struct message *message)
{
    struct extra *extra = slot_extra(actors, slot);

    message->at = extra->position;
    message->next = NULL;
    if (extra->held_first)
        extra->held_last->next = message;
    else
        extra->held_first = message;
    extra->held_last = message;
    extra->held_count++;
    extra->held_bytes += (uint32_t)sizeof *message + message->body_size;
    actors->counts.held++;
}

void effects_uncount(struct actors *actors, struct extra *extra, const struct message *message)
{
    extra->held_count--;
    extra->held_bytes -= (uint32_t)sizeof *message + message->body_size;
    actors->counts.held--;
}

struct message *effects_take_held(struct actors *actors, struct extra *extra)
{
    struct message *message = extra->held_first;

    extra->held_first = message->next;
    effects_uncount(actors, extra, message);
    return message;
}

bool slot_is_blocked(const struct actors *actors, const struct slot *slot)
{
    const struct extra *extra;

    if (!(slot->flags & FLAG_UNDURABLE))
        return false;
    extra = extra_of(actors, slot);
    return extra->event_count >= ENTITY_EVENTS_MAX ||
           extra->event_bytes >= ENTITY_EVENT_BYTES_MAX ||
           extra->held_count >= ENTITY_HELD_MAX ||
           extra->held_bytes >= ENTITY_HELD_BYTES_MAX;
}

/* --- events --- */

static void stored_put(struct actors *actors, struct stored stored)
{
    if (!actors->stored || actors->stored_count > actors->stored_mask) {
        uint32_t size = actors->stored ? (actors->stored_mask + 1) * 2 : 256;
        struct stored *ring = mem_alloc(size * sizeof *ring);

        for (uint32_t i = 0; i < actors->stored_count; i++)
            ring[i] = actors->stored[(actors->stored_head + i) &
                                     actors->stored_mask];
        mem_free(actors->stored);
        actors->stored = ring;
        actors->stored_mask = size - 1;
        actors->stored_head = 0;
    }
    actors->stored[(actors->stored_head + actors->stored_count++) &
                   actors->stored_mask] = stored;
}

/* Notes what stays if this call has an event refused. */
static inline void note_kept(struct sherd_ctx *ctx, const struct extra *extra)
{
    if (ctx->stores)
        return;
    ctx->stores = true;
    ctx->kept_seq = extra->seq;
    ctx->kept_position = extra->position;
}

void effects_refuse_event(struct sherd_ctx *ctx, const char *why)
{
    struct extra *extra = slot_extra(ctx->actors, ctx->slot);

    note_kept(ctx, extra);
    line_format(ctx->refused_why, sizeof ctx->refused_why, "%s", why); /* may be cut */
    ctx->store_failed = true;
    ctx->slot->flags |= FLAG_UNDURABLE;
    extra->position = EVENT_REFUSED;
}

void effects_refuse_plain(struct sherd_ctx *ctx)
{
    char why[EVENT_FAULT_MAX];

    line_format(why, sizeof why,
                ctx->slot->flags & FLAG_ENTITY
                    ? "type %s cannot store anything: its behavior has neither apply nor apply_checked"
                    : "actor %s cannot store anything: only entities can",
                slot_type(ctx->actors, ctx->slot)); /* may be cut */
    effects_refuse_event(ctx, why);
}

/* Forgets the events of the running call, the last ones of the queue. */
static void stored_take_back(struct actors *actors, uint32_t index, const struct slot *slot,
                             struct extra *extra)
{
    while (actors->stored_count) {
        const struct stored *last = &actors->stored[(actors->stored_head + actors->stored_count - 1) &
                                                    actors->stored_mask];

        if (last->slot != index || last->generation != slot->generation ||
            last->position <= actors->ctx.kept_position)
            return;
        extra->event_count--;
        extra->event_bytes -= last->bytes;
        actors->stored_count--;
    }
}

bool effects_take_back(struct actors *actors, uint32_t index, struct slot *slot)
{
    const struct sherd_ctx *ctx = &actors->ctx;
    struct extra *extra = extra_of(actors, slot);

    SOMETIMES("a refused event takes others back", extra->seq > ctx->kept_seq);
    if (extra->seq > ctx->kept_seq)
        actors->settings.take_back(actors->settings.user, slot_ref(actors, slot, index).actor,
                                   ctx->kept_seq);
    stored_take_back(actors, index, slot, extra);
    extra->seq = ctx->kept_seq;
    extra->position = ctx->kept_position;
    return extra->event_count && extra->position != EVENT_REFUSED;
}

/* Applies an event that the entity may reject, before it is stored. The event may lie in the state, so
 * apply and the journal get a copy. */
static bool apply_first(struct actors *actors, struct slot *slot, struct entity_event *event)
{
    char why[EVENT_FAULT_MAX];
    char text[EVENT_FAULT_MAX + 100];

    buf_clear(&actors->event);
    buf_put_slice(&actors->event, event->payload);
    event->payload = buf_slice(&actors->event);
    if (event_apply(actors, slot, slot_extra(actors, slot)->seq + 1, event, why))
        return true;
    REACHED("an entity rejects the event that it stores");
    actors->counts.rejected++;
    line_format(text, sizeof text, "event rejected and not stored, entity stops reason=\"%s\"",
                why); /* fits */
    slot_trace(actors, slot, TRACE_ERROR, text);
    effects_refuse_event(&actors->ctx, why);
    return false;
}

static void apply_last(struct actors *actors, const struct slot *slot,
                       const struct entity_event *event)
{
    behavior_of(actors, slot)
        ->face.apply(slot->state ? slot->state : actors->nothing, event->type,
                     (struct sherd_bytes){ event->payload.data, event->payload.size });
}

static bool may_reject(const struct actors *actors, const struct slot *slot,
                       const struct entity_event *event)
{
    const struct behavior *behavior = behavior_of(actors, slot);

    return behavior->face.apply_checked || actors->types[behavior->type].upcast_count ||
           event->version;
}

void effects_append(struct actors *actors, uint32_t index, struct slot *slot,
                    const struct entity_event *event)
{
    struct extra *extra = slot_extra(actors, slot);

    note_kept(&actors->ctx, extra);
    extra->seq++;
    extra->position = actors->settings.append(
        actors->settings.user, slot_ref(actors, slot, index).actor, *event);
    if (extra->position != EVENT_REFUSED)
        stored_put(actors, (struct stored){ extra->position, index,
                                            slot->generation,
                                            (uint32_t)event->payload.size });
    extra->event_count++;
    extra->event_bytes += (uint32_t)event->payload.size;
    slot->flags |= FLAG_UNDURABLE;
    actors->counts.events++;
}

void effects_persist(struct actors *actors, uint32_t index, struct slot *slot,
                     struct entity_event event)
{
    bool is_first = may_reject(actors, slot, &event);

    if (is_first && !apply_first(actors, slot, &event))
        return;
    effects_append(actors, index, slot, &event);
    if (!is_first)
        apply_last(actors, slot, &event);
    if (behavior_of(actors, slot)->face.save && !actors->ctx.save_due)
        actors->ctx.save_due = snapshot_is_due(actors, slot, &event);
}

void actors_set_storing_room(struct actors *actors, bool room)
{
    actors->room = room;
    SOMETIMES("there is no room for more events", !room);
    if (!room)
        return;
    for (uint32_t i = 0; i < actors->parked.count; i++) {
        uint32_t index = actors->parked.items[i];
        struct slot *slot = slot_at(actors, index);

        if (!(slot->flags & FLAG_PARKED))
            continue;
        slot->flags &= (uint8_t)~FLAG_PARKED;
        if (slot->status == SLOT_ALIVE || slot->status == SLOT_STOPPING)
            slot_queue(actors, index, slot);
    }
    actors->parked.count = 0;
}
