/* Takes what threads of the program give a lane: new actors and messages. */
#include "node/lane/lane.h"

void lane_spawned(struct lane *lane, struct spawning *spawning)
{
    struct slice name = buf_slice(&spawning->name);
    struct slice init = buf_slice(&spawning->init);
    const struct sherd_behavior *behavior = &spawning->behavior;
    bool is_started;

    if (!ref_is_nobody(spawning->ref))
        is_started = actors_spawn_reserved(lane->actors, spawning->ref.actor,
                                           name, behavior, init);
    else if (name.size)
        is_started = !ref_is_nobody(
            actors_spawn_named(lane->actors, name, behavior, init));
    else
        is_started = !ref_is_nobody(actors_spawn(lane->actors, behavior, init));
    if (is_started)
        spawning->unstarted = NULL;
}

struct sherd_ref lane_reserve(struct lane *lane)
{
    return actors_reserve(lane->actors);
}

static bool is_too_large(struct lane *lane, const struct message *message)
{
    return message->body_size > SHERD_BODY_MAX &&
           !lane_is_large(lane, &(struct destination){ .type = TYPE_NONE,
                                                       .ref = message->to });
}

void lane_told(struct lane *lane, const struct tell_content *tell)
{
    struct message *message;

    if (!tell->id.size) {
        message = actors_message(lane->actors, buf_slice(&tell->body));
        message->to = tell->to;
        message->msg = tell->msg;
        if (is_too_large(lane, message))
            actors_undelivered(lane->actors, message, SHERD_REASON_TOO_LARGE);
        else
            lane_arrived(lane, message);
        return;
    }
    message = actors_entity_message(lane->actors, (uint16_t)tell->type,
                                    buf_slice(&tell->id),
                                    buf_slice(&tell->body));
    message->msg = tell->msg;
    lane_set_shard(lane, message);
    if (lane->ended)
        actors_undelivered(lane->actors, message, SHERD_REASON_SHUTTING_DOWN);
    else
        lane_send(lane, message);
}
