/* Checks the decisions of split brain resolvers whenever a cluster falls apart, by the evidence of
 * each decision.
 *
 *   no-split-brain  at most one side of a partition survives: of two decisions about the same
 *                   members, each keeps some member that the other keeps, too
 *
 * Two kinds of decisions are judged. Their members are settled: all are up, and the resolver counts
 * all of them. And the cut is clean: no member both observes and is observed as unreachable, and no
 * unreachable member has seen the gossip. Then no two sides can both have the majority, the quorum,
 * the oldest member or the lease. In other cases Akka's rules let both sides go on, too. A lease
 * binds as long as the decider believes that it holds it.
 * Facts must arrive in the order in which they happened. */
#ifndef SHERD_SIM_CHECK_PARTITION_H
#define SHERD_SIM_CHECK_PARTITION_H

#include "base/probe.h"
#include "resolver/strategy.h"
#include "sim/check_lease.h"

struct verdict;
struct check_partition;

struct check_partition_counts {
    uint64_t decided;
    uint64_t ended;     /* those of them in which the decider downed itself */
    uint64_t unsettled; /* others, not judged: a member joins, leaves or does not count */
    uint64_t unclean;   /* others, not judged: a member is indirectly connected */
    uint64_t compared;  /* pairs about the same members */
};

struct check_partition *
check_partition_new(struct verdict *verdict,
                const struct check_lease *lease); /* both lent for life */
void check_partition_free(struct check_partition *check); /* null is fine */

void check_partition_node_ended(struct check_partition *check, uint32_t node);
/* The decision of a resolver with that strategy: PROBE_RESOLVED. */
void check_partition_resolved(struct check_partition *check, uint32_t node,
                          enum strategy_kind kind, const struct probe *probe);
struct check_partition_counts check_partition_counts(const struct check_partition *check);

#endif
