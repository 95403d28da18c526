/* Where a shard goes, and which shards should move: the two least-shard algorithms of behaviour 15, as pure functions.
 *
 * Called by the coordinator with a view of all regions. Ties are broken by the order of the regions given. */
#ifndef SHERD_SHARD_ALLOCATION_H
#define SHERD_SHARD_ALLOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/peer.h"

/* A shard of a region's list. */
struct allocation_shard {
    struct slice id;
    uint32_t shard; /* the caller's number for it */
    bool is_moving; /* a hand-off is in progress */
};

struct allocation_region {
    uint32_t region; /* the caller's number for it */
    enum peer_status status;
    struct peer_version version;
    const struct allocation_shard *shards; /* in order of allocation; lent */
    uint32_t shard_count;
};

struct allocation_limits {
    uint32_t absolute_limit;   /* 0: the old algorithm */
    double relative_limit;     /* of all shards */
    uint32_t threshold;        /* old algorithm: a smaller difference stays */
    uint32_t simultaneous_max; /* old algorithm */
};

#define ALLOCATION_NONE UINT32_MAX

/* The number of the region that suits best for a new shard; ALLOCATION_NONE when there is no region. Behaviour 15.1. */
uint32_t allocation_choose(const struct allocation_region *regions,
                           uint32_t count);

/* The shards that should move, as the caller's numbers, into chosen, which has room for as many as there are shards; returns
 * how many. moving: hand-offs in progress, over all regions. is_calm: every member of the data center is reachable and none
 * is joining; different versions among the regions are seen here. Behaviour 15.2, 15.3. */
uint32_t allocation_rebalance(const struct allocation_limits *limits,
                              const struct allocation_region *regions,
                              uint32_t count, uint32_t moving, bool is_calm,
                              uint32_t *chosen);

#endif
