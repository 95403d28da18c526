/* Checks the removal margin: parts of a removed member start elsewhere only after the margin has
 * passed, each by its own clock. The margin is `down-removal-margin` (docs/protocol/downing.md).
 *
 *   handoff-safety      a home whose node was removed ends when the margin has passed on its
 *                       coordinator's node
 *   single-coordinator  after a coordinator's node died or was given up, the next coordinator of
 *                       the type starts when the margin has passed on its own node
 *
 * A coordinator that ended by itself, for example in a hand-over, requires no wait. Two cases are
 * not judged: nodes outside (facts.h), and starts on a node that was not up when it saw the
 * removal. Its first view of the members begins without the removed ones, as in Akka.
 * Facts must arrive in the order in which they happened. */
#ifndef SHERD_SIM_CHECK_MARGIN_H
#define SHERD_SIM_CHECK_MARGIN_H

#include "base/probe.h"
#include "sim/facts.h"

struct verdict;
struct check_margin;

/* ns of the node's monotonic clock now */
typedef uint64_t check_margin_clock(void *user, uint32_t node);

struct check_margin_counts {
    uint64_t homes;  /* homes that ended with their node and were judged */
    uint64_t starts; /* coordinators that followed a dead one and were judged */
};

/* verdict, safety (may be null) and user are lent for life. */
struct check_margin *check_margin_new(struct verdict *verdict,
                                      const struct check_safety *safety,
                                      check_margin_clock *clock, void *user);
void check_margin_free(struct check_margin *check); /* null is fine */

void check_margin_node_started(struct check_margin *check, uint32_t node,
                               uint64_t uid,
                               uint64_t margin); /* ns; 0: none, the node is not judged */
/* Ignores other kinds of probes. */
void check_margin_probe(struct check_margin *check, uint32_t node,
                        const struct probe *probe);
struct check_margin_counts
check_margin_counts(const struct check_margin *check);

#endif
