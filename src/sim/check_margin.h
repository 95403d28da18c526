/* The checker of the removal margin (behaviour 12.3, 14.10): what ran on a member that was removed starts elsewhere only when the margin has
 * passed since then, each by its own clock.
 *
 *   handoff-safety  a home that ends because its node is removed ends so long after its coordinator's node has seen that
 *   single-coordinator  where a coordinator's node died, or was given up, while the coordinator ran, another one of its type starts so long after its own
 *        node has seen the removal
 *
 * A coordinator that has ended by itself, as for a hand-over, leaves nobody to wait for. Not judged: nodes outside (facts.h), and starts
 * on a node that was not up itself when it saw the removal, since its first view of the members begins without the removed ones, as in the
 * reference.
 *
 * Fed with facts in the order in which they happened. */
#ifndef SHERD_SIM_CHECK_MARGIN_H
#define SHERD_SIM_CHECK_MARGIN_H

#include "base/probe.h"
#include "sim/facts.h"

struct verdict;
struct check_margin;

typedef uint64_t check_margin_clock(void *user, uint32_t node); /* what the node's monotonic clock shows now, ns */

struct check_margin_counts {
    uint64_t homes;  /* that ended with their node, and were judged */
    uint64_t starts; /* of coordinators behind one that died, and were judged */
};

/* verdict, safety (may be null) and user are lent for life. */
struct check_margin *check_margin_new(struct verdict *verdict,
                                      const struct check_safety *safety,
                                      check_margin_clock *clock, void *user);
void check_margin_free(struct check_margin *check); /* null is fine */

void check_margin_node_started(struct check_margin *check, uint32_t node,
                               uint64_t uid,
                               uint64_t margin); /* ns; 0: it has none, and is not judged */
/* Kinds that are not its own are ignored. */
void check_margin_probe(struct check_margin *check, uint32_t node,
                        const struct probe *probe);
struct check_margin_counts
check_margin_counts(const struct check_margin *check);

#endif
