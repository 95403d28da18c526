/* The checker of what split brain resolvers decide, whenever a cluster falls apart, by the picture that each of them decided from.
 *
 *   no-split-brain  of two sides one goes on at most: of two decisions from the same members each keeps somebody whom the other keeps, too
 *
 * Said of members that are settled, all of them up, by resolvers that count all of them, and of those that saw a clean cut: nobody who both
 * observes and is observed as unreachable, and nobody unreachable who has seen the gossip. There no two sides can both have the majority, the
 * quorum, the oldest member or the lease. Elsewhere the reference's rules let both sides go on, too. A lease binds as long as who
 * decided with it believes to hold it.
 *
 * Fed with facts in the order in which they happened. */
#ifndef SHERD_SIM_CHECK_PARTITION_H
#define SHERD_SIM_CHECK_PARTITION_H

#include "base/probe.h"
#include "resolver/strategy.h"
#include "sim/check_lease.h"

struct verdict;
struct check_partition;

struct check_partition_counts {
    uint64_t decided;
    uint64_t ended;     /* of those: the decider downed itself */
    uint64_t unsettled; /* of the others: not judged, somebody joins or leaves, or does not count */
    uint64_t unclean;   /* the same: somebody is connected indirectly */
    uint64_t compared;  /* pairs from the same members */
};

struct check_partition *
check_partition_new(struct verdict *verdict,
                const struct check_lease *lease); /* both lent for life */
void check_partition_free(struct check_partition *check); /* null is fine */

void check_partition_node_ended(struct check_partition *check, uint32_t node);
/* What a resolver of that strategy decided: PROBE_RESOLVED. */
void check_partition_resolved(struct check_partition *check, uint32_t node,
                          enum strategy_kind kind, const struct probe *probe);
struct check_partition_counts check_partition_counts(const struct check_partition *check);

#endif
