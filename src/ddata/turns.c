/* Spreads large work over several steps: messages to many replicas, digests, gossip, and passes
 * over all keys.
 *
 * A status message that this node sends or receives needs the digest of every changed value, and a
 * digest needs the packed, deflated value. A message that waits for a later step keeps its place in
 * the order. */
#include "ddata/replicator_inside.h"

bool replicator_waits(const struct replicator *replicator)
{
    return replicator->sendings.count || replicator->round.is_waiting ||
           replicator->is_pruning || replicator->expiring.is_on ||
           arrive_is_busy(replicator);
}

static void round_go_on(struct replicator *replicator, struct outbox *outbox)
{
    if (replicator->round.is_waiting)
        gossip_go_on(replicator, outbox);
}

/* Each replicator that shares a room processes at least one value. This node's status and
 * received gossip alternate as first, so that neither blocks the other. Pruning is last, with at
 * least one entry. */
void turns_step(struct replicator *replicator, struct outbox *outbox)
{
    bool is_round_first = replicator->is_round_first;

    replicator_room_fill(&replicator->own_room);
    expire_go_on(replicator);
    if (!replicator->room->digested)
        replicator->room->digested = 1;
    sendings_go_on(replicator, outbox);
    replicator->is_round_first = !is_round_first;
    if (is_round_first)
        round_go_on(replicator, outbox);
    arrive_go_on(replicator, outbox);
    if (!is_round_first)
        round_go_on(replicator, outbox);
    prune_go_on(replicator);
}

void turns_forget(struct replicator *replicator, const struct node_id *node)
{
    if (node_equal(&replicator->round.to, node))
        replicator->round.is_waiting = false;
    arrive_forget(replicator, node);
}

void turns_end(struct replicator *replicator)
{
    sendings_end(replicator);
    replicator->round.is_waiting = replicator->is_pruning = false;
    replicator->expiring.is_on = false;
    arrive_forget(replicator, NULL);
    vec_fini(&replicator->arrivals);
}
