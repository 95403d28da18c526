/* Checks leases of shards and coordinators.
 *
 *   leased-shards       an entity of a type with leases runs only while its node has the shard's lease
 *                       at the provider, and a coordinator acts only while its node has its lease
 *   single-shard-lease  at most one node believes that it holds a shard's lease, each by its own
 *                       clock */
#ifndef SHERD_SIM_CHECK_SHARD_LEASE_H
#define SHERD_SIM_CHECK_SHARD_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/probe.h"
#include "sim/check/check_lease.h"

struct verdict;
struct check_shard_lease;

#define CHECK_COORDINATOR INT32_MIN /* in place of a shard: the type's coordinator */

/* Whether the node needs no such lease, or has it at the provider now. */
typedef bool check_provider_has(void *user, uint32_t node, uint16_t type, int32_t shard);

struct check_shard_lease_counts {
    uint64_t leased; /* grants that reached a shard */
    uint64_t moved;  /* of them, to another node than the last one */
    uint64_t lost;   /* sessions whose time was over before their node's */
};

/* user: of both functions; all lent for life. */
struct check_shard_lease *check_shard_lease_new(struct verdict *verdict, check_lease_clock *clock,
                                                check_provider_has *has, void *user);
void check_shard_lease_free(struct check_shard_lease *check);

void check_shard_lease_node_ended(struct check_shard_lease *check, uint32_t node);
void check_shard_lease_probe(struct check_shard_lease *check, uint32_t node,
                             const struct probe *probe);
/* An entity of the shard handles something. */
void check_shard_lease_runs(struct check_shard_lease *check, uint32_t node, uint16_t type,
                            int32_t shard);
struct check_shard_lease_counts check_shard_lease_counts(const struct check_shard_lease *check);

#endif
