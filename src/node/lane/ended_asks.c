/* Drops messages that wait for a home although their asks have ended, so that a node that leaves
 * does not wait for a home that nobody needs. */
#include "node/lane/lane.h"

static bool has_ended(const struct pending_item *held, const void *user)
{
    const struct lane *lane = user;
    const struct message *message = ((const struct waiting *)held)->message;

    return message->ask && message->kind == MESSAGE_TELL &&
           message->sender.node == lane->machine->self->node.uid &&
           actor_id_lane(message->sender.actor) == lane->own &&
           !actors_ask_is_open(lane->actors, message->ask);
}

void lane_drop_ended_asks(struct lane *lane, struct lane_type *type)
{
    struct pending_queue ended = { 0 };
    struct pending_item *next;
    struct actors_status status;

    if (!type->budget.count)
        return;
    actors_status(lane->actors, &status);
    if (status.asks == type->asks_seen)
        return; /* none has ended since */
    type->asks_seen = status.asks;
    routes_take_if(&type->routes, has_ended, lane, &ended);
    for (struct pending_item *held = ended.first; held; held = next) {
        next = held->next;
        actors_undelivered(lane->actors, lane_unwrap(lane, held), SHERD_REASON_ASKER_GONE);
    }
}
