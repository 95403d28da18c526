/* Decides which nodes are outside (facts.h), and until when they may overlap.
 *
 * An incarnation is outside until it ends, in these cases:
 *   - An operator's command, or another incarnation at its address, downs it.
 *   - A resolver downs it whose node is inside and goes on.
 *   - A resolver inside downs its own node and this one, which was on that node's side.
 *   - Another decision of a resolver downs it, and it hears of that, or a node inside does that is
 *     not on the decider's side. Until then no surviving node has given it up.
 *   - It is on the side of such a decider, was not downed, and hears of the decision. It goes with
 *     the decider.
 *   - A leader removes it while it is exiting and unreachable.
 *   - It joins a node outside. It is inside again when a node inside sees it as a member.
 *
 * It may overlap with nodes inside while it cannot know, and for T_stop (downed-node-stops) after
 * it sees itself down or removed. Then it is late. */
#ifndef SHERD_SIM_CHECK_OUTSIDE_NODES_H
#define SHERD_SIM_CHECK_OUTSIDE_NODES_H

#include "base/probe.h"
#include "sim/check/facts.h"

struct outside_nodes;

struct outside_nodes_counts {
    uint64_t given_up; /* incarnations that became outside */
    uint64_t spared;   /* downed by a decision that gives no node up yet */
    uint64_t late;     /* incarnations */
};

/* Writes into safety, which is lent for life. stop_ns: T_stop; 0: CHECK_STOP_NS. */
struct outside_nodes *outside_nodes_new(struct check_safety *safety,
                                        uint64_t stop_ns);
void outside_nodes_free(struct outside_nodes *check); /* null is fine */

void outside_nodes_node_started(struct outside_nodes *check, uint32_t node,
                                uint64_t uid);
void outside_nodes_node_ended(struct outside_nodes *check, uint32_t node);
void outside_nodes_paused(struct outside_nodes *check, uint32_t node,
                          uint64_t duration); /* it did not run during that time */
void outside_nodes_probe(struct outside_nodes *check, uint64_t now,
                         uint32_t node, const struct probe *probe);
/* Stores a node that has become late since the last call. Returns false if there is none. */
bool outside_nodes_late(struct outside_nodes *check, uint64_t now,
                        uint32_t *node);
struct outside_nodes_counts
outside_nodes_counts(const struct outside_nodes *check);

#endif
