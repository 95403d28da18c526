/* Runs replicas of the replicators that JVM nodes have beside those of users and of sharding.
 *
 * Nothing on this node uses their values. But a JVM node counts every member for its writes and
 * reads, and prunes the data of a removed member only when every member has confirmed that. So this
 * node takes part in gossip, deltas and pruning, and answers writes and reads. A peer's first
 * message makes the replica. */
#ifndef SHERD_NODE_RELAYS_H
#define SHERD_NODE_RELAYS_H

#include <sherd/system.h>

#include "ddata/replicator.h"

struct control;
struct member_view;

#define RELAY_COUNT 1

struct relay {
    struct replicator *replicator; /* null: not used yet */
    bool is_stirred; /* it had an input since its events were wired */
    uint64_t due;    /* its deadline while it is not stirred */
};

void relays_init(struct control *control);
void relays_fini(struct control *control);
void relays_peer(struct control *control, const struct member_view *view);
void relays_peer_removed(struct control *control, const struct node_id *node);
/* Returns false if the message is for no such replicator. */
bool relays_receive(struct control *control, const struct inbound *inbound);
void relays_wire(struct control *control);
void relays_step(struct control *control);
uint64_t relays_deadline(const struct control *control);

#endif
