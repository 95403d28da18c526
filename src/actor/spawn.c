/* Spawns actors; one whose cause is not durable starts later or never. */
#include "actor/inside.h"

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
