/* Checks `down-removal-margin` (docs/protocol/downing.md), each node by its own clock:
 *
 *   handoff-safety      a home whose node was removed ends after the margin on its coordinator's
 *                       node
 *   single-coordinator  after a coordinator's node died or was given up, the next one starts after
 *                       the margin on its own node
 *
 * A coordinator that ended by itself requires no wait. Not judged: nodes outside (facts.h), and
 * starts on a node that was not up at the removal, because its first view lacks removed members, as
 * in Akka. */
#ifndef SHERD_SIM_CHECK_MARGIN_H
#define SHERD_SIM_CHECK_MARGIN_H

#include "base/probe.h"
#include "sim/check/facts.h"

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
void check_margin_probe(struct check_margin *check, uint32_t node,
                        const struct probe *probe);
struct check_margin_counts
check_margin_counts(const struct check_margin *check);

#endif
