/* Checks no-split-brain by the evidence of each resolver's decision: of two decisions about the
 * same members, each keeps a member that the other keeps, too.
 *
 * Only settled members and clean cuts are judged: all are up and count; none both observes and is
 * observed as unreachable; none unreachable has seen the gossip. Then no two sides can both have
 * the majority, the quorum, the oldest member or the lease. Otherwise Akka's rules let both sides
 * go on, too. A lease binds as long as the decider believes that it holds it. */
#ifndef SHERD_SIM_CHECK_RESOLVER_H
#define SHERD_SIM_CHECK_RESOLVER_H

#include "base/probe.h"
#include "resolver/strategy.h"
#include "sim/check/check_lease.h"

struct verdict;
struct check_resolver;

struct check_resolver_counts {
    uint64_t decided;
    uint64_t ended;     /* those of them in which the decider downed itself */
    uint64_t unsettled; /* others, not judged: a member joins, leaves or does not count */
    uint64_t unclean;   /* others, not judged: a member is indirectly connected */
    uint64_t compared;  /* pairs about the same members */
};

struct check_resolver *
check_resolver_new(struct verdict *verdict,
                const struct check_lease *lease); /* both lent for life */
void check_resolver_free(struct check_resolver *check); /* null is fine */

void check_resolver_node_ended(struct check_resolver *check, uint32_t node);
/* PROBE_RESOLVED of a resolver with that strategy. */
void check_resolver_resolved(struct check_resolver *check, uint32_t node,
                          enum strategy_kind kind, const struct probe *probe);
struct check_resolver_counts check_resolver_counts(const struct check_resolver *check);

#endif
