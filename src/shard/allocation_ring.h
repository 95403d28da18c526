/* Places regions on a hash ring and finds each shard's region there, as Pekko's
 * ConsistentHashingShardAllocationStrategy does. So shards with one id, of different types, share a
 * node, and a new region takes over only a few shards. Pure.
 *
 * With a bound on the load, a region takes at most its part of the shards. Others go to the next
 * region on the ring that has room (Mirrokni, Thorup, Zadimoghaddam: Consistent Hashing with
 * Bounded Loads, 2018). The homes follow from the regions and the number of shards alone. */
#ifndef SHERD_SHARD_ALLOCATION_RING_H
#define SHERD_SHARD_ALLOCATION_RING_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/vec.h"
#include "shard/allocation.h"

struct allocation_point {
    int32_t hash;
    uint32_t region; /* index of its name */
};

/* Zero is an empty one. */
struct allocation_ring {
    VEC(struct allocation_point) points; /* by hash, each hash once */
    VEC(uint32_t) homes; /* with a bound: the regions of shards 0, 1 and so on */
};

void allocation_ring_fini(struct allocation_ring *ring);
/* names: as "akka://System@host:port", sorted by address, each once; lent for the call. If two
 * points have one hash, the last one stays. There is no bound at first. */
void allocation_ring_make(struct allocation_ring *ring,
                          const struct slice *names, uint32_t count);
/* Finds the homes of `shards` shards, so that none of `count` regions has more than the average
 * times `bound`, rounded up. bound: at least 1. */
void allocation_ring_bound(struct allocation_ring *ring, uint32_t count,
                           uint32_t shards, double bound);
/* Returns the index of the region's name. The ring has a region. A shard beyond those of the bound
 * goes where it would go without one. */
uint32_t allocation_ring_find(const struct allocation_ring *ring,
                              struct slice shard);
/* Writes the shards that are not at their region to `chosen`, which has room for all, up to a limit
 * (0: none), and returns their count. regions: in the order of the names. */
uint32_t allocation_ring_rebalance(const struct allocation_ring *ring,
                                   const struct allocation_region *regions,
                                   uint32_t count, uint32_t limit,
                                   uint32_t *chosen);

#endif
