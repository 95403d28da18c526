/* Decides which nodes are outside (facts.h): the cluster has given them up while they live. Decides
 * from when, and until when they may overlap.
 *
 * An incarnation is outside
 *   - from when an operator's command, or another incarnation at its address, downs it. Such a
 *     command creates two sides by design;
 *   - from when a resolver downs it whose node is inside and goes on. If the resolver downs its own
 *     node, too, the incarnation must have been on that node's side;
 *   - after any other decision of a resolver, from when it hears of the decision itself, or a node
 *     inside does that is not on the decider's side. Other decisions are those by a node outside,
 *     and those about nodes that a node which downs itself cannot reach. Until then no surviving
 *     node has given it up. A node on the decider's side that was not downed and hears of the
 *     decision goes with the decider, and is outside itself;
 *   - from when a leader removes it while it is exiting and unreachable;
 *   - from when it joins a node that is outside, until a node inside has seen it as a member
 * until it ends. It may overlap with nodes inside only while it cannot know. T_stop
 * (downed-node-stops) after it sees itself down or removed, it is late.
 * Facts must arrive in the order in which they happened. */
#ifndef SHERD_SIM_CHECK_OUTSIDE_H
#define SHERD_SIM_CHECK_OUTSIDE_H

#include "base/probe.h"
#include "sim/facts.h"

struct check_outside;

struct check_outside_counts {
    uint64_t given_up; /* incarnations that became outside */
    uint64_t spared;   /* downed by a decision that gives no node up yet */
    uint64_t late;     /* incarnations */
};

/* Writes into safety, which is lent for life. stop_ns: T_stop; 0: CHECK_STOP_NS. */
struct check_outside *check_outside_new(struct check_safety *safety,
                                        uint64_t stop_ns);
void check_outside_free(struct check_outside *check); /* null is fine */

void check_outside_node_started(struct check_outside *check, uint32_t node,
                                uint64_t uid);
void check_outside_node_ended(struct check_outside *check, uint32_t node);
void check_outside_paused(struct check_outside *check, uint32_t node,
                          uint64_t duration); /* it did not run during that time */
/* Ignores other kinds of probes. */
void check_outside_probe(struct check_outside *check, uint64_t now,
                         uint32_t node, const struct probe *probe);
/* Stores a node that has become late since the last call. Returns false if there is none. */
bool check_outside_late(struct check_outside *check, uint64_t now,
                        uint32_t *node);
struct check_outside_counts
check_outside_counts(const struct check_outside *check);

#endif
