/* The disks of durable keys: each node has its own, which outlives its lives. What host/durable does with files, in memory.
 *
 * A request is one transaction: it is done whole or not at all, takes a while, and is synced before it is said to be done.
 * Of a process that is killed meanwhile the one or the other happens; with the machine goes what was not synced. Nothing but
 * the world's seed and these faults decides anything. */
#ifndef SHERD_SIM_DURABLE_H
#define SHERD_SIM_DURABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct world;

/* Zero is a disk that never fails. Chances are millionths. */
struct durable_faults {
    uint32_t stall_ppm;  /* a request stands still */
    uint64_t stall_max;  /* ns, at most that long */
    uint32_t error_ppm;  /* a request fails; of a write nobody knows whether it was done */
    uint32_t rot_ppm;    /* of each value that is loaded: it is lost, or an earlier one is found */
    bool is_full;        /* writes fail, and are not done */
    bool lies;           /* a sync is said to be done and nothing of it is: for tests of what must see it */
};

/* Of the node's disk, from the next request on. Copied. */
void world_durable_faults(struct world *world, uint32_t node,
                          const struct durable_faults *faults);
/* What the node's disk holds under a key, as REPLICATOR_NEWS_STORE gave it; lent until the world runs. False: nothing. */
bool world_durable_value(struct world *world, uint32_t node, struct slice key,
                         struct slice *value);
uint32_t world_durable_count(struct world *world, uint32_t node); /* keys that it holds */
uint64_t world_durable_writes(struct world *world, uint32_t node); /* requests that were done */

#endif
