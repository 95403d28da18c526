/* The checker of coordinators, homes and hand-offs, by the probes of coordinators, regions and lanes of all nodes.
 *
 *   coordinator-state  terms strictly increase; a shard has one home at a time for a coordinator, allocated under its own term and a fence that
 *        grows
 *   handoff-safety  a home ends only after its region said that the shard stopped under the home's fence, and was told to; or its node
 *        was removed, or its region stopped. A region says so only when no lane of it hosts the shard. A shard is allocated
 *        only when no other node hosts it. What a region reports it was told to host, what a coordinator finds stored some
 *        coordinator had decided for that address; a home gives way to one under a higher fence only, which somebody has had. A hand-off takes no step that is not in the table
 *   no-stale-sender  a region takes no directive of an older fence or attempt than the newest that it took, and registers with no older term
 *   single-coordinator  one coordinator of a type lives at a time, active or not yet
 *
 * Nodes outside (facts.h) are excused from what another owner elsewhere means, of coordinators until they are late, and their terms and fences bind nobody inside;
 * but no term is taken twice. Fed with facts in the order in which they happened. */
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
    uint64_t stale;     /* directives refused */
    uint64_t forced;    /* regions that stopped because their time was over */
    uint64_t left_over; /* of them those that had shards */
};

/* verdict and safety are lent for life. */
struct check_coordinator *check_coordinator_new(struct verdict *verdict,
                                                const struct check_safety *safety);
void check_coordinator_free(struct check_coordinator *check);

void check_coordinator_node_started(struct check_coordinator *check,
                                    uint32_t node, uint64_t uid);
void check_coordinator_node_ended(struct check_coordinator *check,
                                  uint32_t node);
/* The node should be gone by now (facts.h): what lives there beside another one is judged. */
void check_coordinator_late(struct check_coordinator *check, uint32_t node);
/* Kinds that are not its own are ignored. */
void check_coordinator_probe(struct check_coordinator *check, uint32_t node,
                             const struct probe *probe);
struct check_coordinator_counts
check_coordinator_counts(const struct check_coordinator *check);

#endif
