/* Names actors at their spawn: such an actor waits until the node has reserved its name. */
#include "actor/inside.h"

static bool is_sign(uint8_t sign)
{
    return (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') ||
           (sign >= '0' && sign <= '9') ||
           (sign && strchr("-_.$+:@&=,!~';", sign));
}

/* Whether it could be the path of an actor without a name (node/peers/actor_path.h). */
static bool is_number(struct slice name)
{
    if (name.size != 17 || (name.data[0] != 'a' && name.data[0] != 'w'))
        return false;
    for (size_t i = 1; i < name.size; i++)
        if (!memchr("0123456789abcdef", name.data[i], 16))
            return false;
    return true;
}

bool actor_name_is_valid(struct slice name)
{
    if (!name.size || name.size > SHERD_NAME_MAX || name.data[0] == '$')
        return false;
    for (size_t i = 0; i < name.size; i++)
        if (!is_sign(name.data[i]))
            return false;
    return !is_number(name);
}

void slot_name_first(struct actors *actors, struct sherd_ref spawned, struct slice name)
{
    struct message *started;

    slot_of(actors, spawned.actor)->status = SLOT_RECOVERING;
    (void)map_put(&actors->named, map_u64(&spawned.actor), actors);
    started = actors_message(actors, name);
    started->kind = MESSAGE_STARTED;
    started->to = spawned;
    effects_emit(actors, started);
}

struct sherd_ref actors_spawn_named(struct actors *actors, struct slice name,
                                    const struct sherd_behavior *behavior,
                                    struct slice init)
{
    struct sherd_ref spawned = slot_spawn(actors, behavior, init);

    if (!ref_is_nobody(spawned))
        slot_name_first(actors, spawned, name);
    return spawned;
}

void actors_named(struct actors *actors, uint64_t actor, bool is_granted)
{
    struct slot *slot = slot_of(actors, actor);

    if (!slot_is_spawned_later(slot))
        return;
    if (!is_granted) {
        incarnation_end(actors, actor_id_slot(actor), slot);
        return;
    }
    slot->status = SLOT_ALIVE;
    slot_queue(actors, actor_id_slot(actor), slot);
}
