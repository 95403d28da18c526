/* Checks coordinators, homes and hand-offs by the probes of coordinators, regions and lanes of all
 * nodes.
 *
 *   coordinator-state   terms strictly increase; for a coordinator a shard has one home at a time,
 *                       allocated under its own term and under a fence that grows
 *   handoff-safety      a home ends only in three cases: its region was told to stop the shard and
 *                       said that it stopped under the home's fence; its node was removed; its
 *                       region stopped. A region says so only when none of its lanes hosts the
 *                       shard. A shard is allocated only while no other node hosts it. A region
 *                       reports only shards that it was told to host. A stored home was decided by
 *                       some coordinator for that address. A home gives way only to one under a
 *                       higher fence that some incarnation had. A hand-off takes only steps of the
 *                       table
 *   no-stale-sender     a region takes no directive of an older fence or attempt than the newest
 *                       that it took, and does not register under an older term
 *   single-coordinator  a type has one live coordinator at a time, active or not yet
 *
 * Nodes outside (facts.h) are excused from conflicts with owners elsewhere; their coordinators only
 * until they are late. Their terms and fences do not bind nodes inside, but no term is taken twice.
 * Facts must arrive in the order in which they happened. */
#ifndef SHERD_SIM_CHECK_COORDINATOR_H
#define SHERD_SIM_CHECK_COORDINATOR_H

#include "base/probe.h"
#include "sim/facts.h"

struct verdict;
struct check_coordinator;

struct check_coordinator_counts {
    uint64_t active;    /* take-overs */
    uint64_t allocated; /* homes */
    uint64_t reported;
    uint64_t handoffs;  /* begun */
    uint64_t moved;
    uint64_t failed;
    uint64_t given_up;
    uint64_t stale;     /* refused directives */
    uint64_t forced;    /* regions that stopped at their time-out */
    uint64_t left_over; /* those of them that had shards */
};

/* verdict and safety are lent for life. */
struct check_coordinator *check_coordinator_new(struct verdict *verdict,
                                                const struct check_safety *safety);
void check_coordinator_free(struct check_coordinator *check);

void check_coordinator_node_started(struct check_coordinator *check,
                                    uint32_t node, uint64_t uid);
void check_coordinator_node_ended(struct check_coordinator *check,
                                  uint32_t node);
/* The node must have ended by now (facts.h). Judges its coordinators beside others. */
void check_coordinator_late(struct check_coordinator *check, uint32_t node);
/* Ignores other kinds of probes. */
void check_coordinator_probe(struct check_coordinator *check, uint32_t node,
                             const struct probe *probe);
struct check_coordinator_counts
check_coordinator_counts(const struct check_coordinator *check);

#endif
