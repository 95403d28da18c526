/* Who has been given up while it lives: which nodes are outside (facts.h), from when, and until when they may overlap.
 *
 * A life is outside
 *   - from when an operator's command or another life at its address downs it: two sides are made by design there
 *   - from when a resolver downs it whose node is inside itself and goes on, or, when it downs its own node, too, was on that node's side
 *   - of any other decision of a resolver, by a node that is outside or of those that a node which gives itself up cannot reach, from when it
 *     hears of it itself, or somebody inside does who is not of the decider's side: until then nobody has given it up who goes on. Who is of
 *     that side, was not downed, and hears of it goes with the decider, and is outside itself
 *   - from when a leader removes it while it exits and cannot be reached (behaviour 5.2)
 *   - from when it joins a node that is outside, until a node that is not has seen it as a member
 * until it ends. It may overlap with who is inside only as long as it cannot know, and for T_stop (downed-node-stops) from when it sees itself down or
 * removed: then it is late.
 *
 * Fed with facts in the order in which they happened. */
#ifndef SHERD_SIM_CHECK_OUTSIDE_H
#define SHERD_SIM_CHECK_OUTSIDE_H

#include "base/probe.h"
#include "sim/facts.h"

struct check_outside;

struct check_outside_counts {
    uint64_t given_up; /* lives that became outside */
    uint64_t spared;   /* downed by a resolver that gives nobody up */
    uint64_t late;     /* lives */
};

/* Writes into safety, which is lent for life. stop_ns: T_stop; 0: CHECK_STOP_NS. */
struct check_outside *check_outside_new(struct check_safety *safety,
                                        uint64_t stop_ns);
void check_outside_free(struct check_outside *check); /* null is fine */

void check_outside_node_started(struct check_outside *check, uint32_t node,
                                uint64_t uid);
void check_outside_node_ended(struct check_outside *check, uint32_t node);
void check_outside_paused(struct check_outside *check, uint32_t node,
                          uint64_t duration); /* it did not run for so long */
/* Kinds that are not its own are ignored. */
void check_outside_probe(struct check_outside *check, uint64_t now,
                         uint32_t node, const struct probe *probe);
/* A node that has become late since the last call; false: none. */
bool check_outside_late(struct check_outside *check, uint64_t now,
                        uint32_t *node);
struct check_outside_counts
check_outside_counts(const struct check_outside *check);

#endif
