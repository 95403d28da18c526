/* Spawns actors. One whose cause is not durable starts later or never; a thread of the program gets
 * the ref of its actor before the lane starts it. */
#include "actor/inside.h"

static uint16_t behavior_for(struct actors *actors,
                             const struct sherd_behavior *face)
{
    return actors->closed ? TYPE_NONE : behavior_intern(actors, face, TYPE_NONE);
}

static void trace_refused(struct actors *actors, const struct sherd_behavior *face)
{
    actors->counts.spawns_refused++;
    trace_put(actors->settings.trace, TRACE_ERROR, "actor",
              "spawn refused: the lane has too many actors or behaviors "
              "name=%s actors=%u hint=\"stop actors that are no longer "
              "needed, or use more lanes\"",
              face->name ? face->name : "", actors->counts.actors);
}

static void start(struct actors *actors, uint32_t index, uint16_t behavior,
                  struct slice init)
{
    struct slot *slot = slot_at(actors, index);
    struct message *started;

    slot->behavior = behavior;
    actors->counts.actors++;
    incarnation_start(actors, index, slot);
    if (!init.size)
        return;
    started = actors_message(actors, init);
    started->kind = MESSAGE_STARTED;
    slot->flags &= (uint8_t)~FLAG_STARTED_DUE;
    mailbox_put_first(actors, slot, started);
}

struct sherd_ref slot_spawn(struct actors *actors,
                            const struct sherd_behavior *face,
                            struct slice init)
{
    uint16_t behavior = behavior_for(actors, face);
    uint32_t index = behavior == TYPE_NONE ? 0 : slot_new(actors);

    if (index == 0) {
        trace_refused(actors, face);
        return (struct sherd_ref){ 0, 0 };
    }
    start(actors, index, behavior, init);
    return slot_ref(actors, slot_at(actors, index), index);
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

void slot_start_never(struct actors *actors, struct message *started)
{
    struct slot *slot = slot_of(actors, started->to.actor);

    if (slot_is_spawned_later(slot))
        incarnation_end(actors, actor_id_slot(started->to.actor), slot);
    message_free(actors, started);
}

struct sherd_ref actors_spawn(struct actors *actors,
                              const struct sherd_behavior *behavior,
                              struct slice init)
{
    return slot_spawn(actors, behavior, init);
}

/* ---- refs before their actors ---- */

/* Never runs: the actor's own behavior replaces it. */
static enum sherd_next end_at_once(struct sherd_ctx *ctx, void *self,
                                   const struct sherd_msg *msg)
{
    (void)ctx;
    (void)self;
    (void)msg;
    return SHERD_STOP;
}

struct sherd_ref actors_reserve(struct actors *actors)
{
    static const struct sherd_behavior reserved = { .name = "not started",
                                                    .receive = end_at_once };
    uint16_t behavior = behavior_for(actors, &reserved);
    uint32_t index = behavior == TYPE_NONE ? 0 : slot_new(actors);
    struct slot *slot;

    if (index == 0)
        return (struct sherd_ref){ 0, 0 };
    slot = slot_at(actors, index);
    slot->behavior = behavior;
    slot->status = SLOT_RECOVERING;
    slot->is_reserved = true;
    return slot_ref(actors, slot, index);
}

bool actors_spawn_reserved(struct actors *actors, uint64_t actor,
                           struct slice name,
                           const struct sherd_behavior *behavior,
                           struct slice init)
{
    struct slot *slot = slot_of(actors, actor);
    uint32_t index = actor_id_slot(actor);
    uint16_t number = behavior_for(actors, behavior);

    check(slot && slot->is_reserved);
    slot->is_reserved = false;
    if (number == TYPE_NONE) {
        trace_refused(actors, behavior);
        actors->counts.actors++; /* its end takes it away */
        incarnation_end(actors, index, slot);
        return false;
    }
    start(actors, index, number, init);
    if (name.size)
        slot_name_first(actors, slot_ref(actors, slot, index), name);
    return true;
}
