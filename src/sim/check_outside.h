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
void check_outside_probe(struct check_outside *check, uint64_t now,
                         uint32_t node, const struct probe *probe);
/* Stores a node that has become late since the last call. Returns false if there is none. */
bool check_outside_late(struct check_outside *check, uint64_t now,
                        uint32_t *node);
struct check_outside_counts
check_outside_counts(const struct check_outside *check);

#endif
