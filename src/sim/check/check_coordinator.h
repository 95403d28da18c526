/* Checks coordinators, homes and hand-offs by the probes of coordinators, regions and lanes.
 *
 *   coordinator-state   terms increase; a coordinator gives a shard one home at a time, under its
 *                       own term and a growing fence
 *   handoff-safety      a home ends when its region, told to stop, says that the shard stopped
 *                       under the home's fence; when its node is removed; or when its region
 *                       stopped. No lane of the region hosts the shard then. A shard is allocated
 *                       while no other node hosts it. A region reports only what it was told to
 *                       host, and a stored home was decided for that address. A home gives way only
 *                       to an incarnation that had the shard under a higher fence. A hand-off takes
 *                       only steps of the table
 *   no-stale-sender     a region takes no directive of an older fence or attempt than its newest,
 *                       and does not register under an older term
 *   single-coordinator  one coordinator of a type lives at a time, active or not
 *
 * Nodes outside (facts.h) may conflict with owners elsewhere; their coordinators until they are
 * late. Their terms and fences do not bind nodes inside, but no term is taken twice. */
#ifndef SHERD_SIM_CHECK_COORDINATOR_H
#define SHERD_SIM_CHECK_COORDINATOR_H

#include "base/probe.h"
#include "sim/check/facts.h"

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
    uint64_t forced;    /* stopped at their time-out */
    uint64_t left_over; /* those of them with shards */
};

/* verdict and safety are lent for life. */
struct check_coordinator *check_coordinator_new(struct verdict *verdict,
                                                const struct check_safety *safety);
void check_coordinator_free(struct check_coordinator *check);

void check_coordinator_node_started(struct check_coordinator *check,
                                    uint32_t node, uint64_t uid);
void check_coordinator_node_ended(struct check_coordinator *check,
                                  uint32_t node);
/* Judges the coordinators on a node that must have ended (facts.h). */
void check_coordinator_late(struct check_coordinator *check, uint32_t node);
void check_coordinator_probe(struct check_coordinator *check, uint32_t node,
                             const struct probe *probe);
struct check_coordinator_counts
check_coordinator_counts(const struct check_coordinator *check);

#endif
