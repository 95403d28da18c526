/* Ends asks whose callers prefer a failure to a wait, when the members cannot reach the node. */
#include "node/lane/lane.h"

void lane_reach_gone(struct lane *lane, uint64_t uid)
{
    for (uint32_t i = lane->unreachable.count; i-- > 0;)
        if (lane->unreachable.items[i] == uid)
            vec_remove(&lane->unreachable, i);
}

void lane_reach(struct lane *lane, const struct mail_reach *reach)
{
    uint64_t uid = reach->own.node->uid;

    lane_reach_gone(lane, uid);
    if (reach->is_reachable)
        return;
    vec_push(&lane->unreachable, uid);
    actors_node_unreachable(lane->actors, uid);
}

bool lane_reach_fails(const struct lane *lane, const struct peer *peer,
                      const struct message *message)
{
    if (message->kind != MESSAGE_TELL || !message->ask ||
        message->sender.node != lane->machine->self->node.uid ||
        actor_id_lane(message->sender.actor) != lane->own ||
        !actors_ask_may_fail(lane->actors, message->ask))
        return false;
    for (uint32_t i = 0; i < lane->unreachable.count; i++)
        if (lane->unreachable.items[i] == peer->uid)
            return true;
    return false;
}
