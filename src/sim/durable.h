/* The disks of durable keys: each node has its own, which outlives its lives. What host/durable does with files, in memory.
 *
 * A request is one transaction, takes a while, and is synced before it is said to be done. One that failed, or whose process is killed
 * meanwhile, has left any part of its values in the cache, all when it was the sync that failed; such a sync is over, and the next one
 * does not write them. Before the next transaction that is done they are gone; a load that comes first finds any part of them, as what
 * searches the files' bytes does, and so does one after a loss of power. Nothing but the world's seed and these faults decides anything. */
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
    uint32_t error_ppm;  /* a request fails; of a write nobody knows what was done */
    uint32_t sync_error_ppm; /* of a write: all was done, and is not synced */
    uint32_t rot_ppm;    /* of each value that is loaded: it is lost, or an earlier one is found */
    bool is_full;        /* writes fail, and are not done */
    bool is_blank;       /* a load finds nothing: another disk is in its place. For tests of what must see it, as the next one */
    bool lies;           /* a sync is said to be done and nothing of it is: for tests of what must see it */
};

/* What they did to a disk. */
struct durable_counters {
    uint64_t stalls;
    uint64_t errors;
    uint64_t sync_errors;
    uint64_t full;         /* requests refused for want of space */
    uint64_t cut_off;      /* requests under way when their process was killed, or the machine lost power */
    uint64_t power_losses;
    uint64_t power_harm;   /* of them: something was under way, or not synced */
    uint64_t torn;         /* of what was not synced a part was there later, and a part was not */
    uint64_t values_lost;  /* that were not */
};

/* Of the node's disk, from the next request on. Copied. */
void world_durable_faults(struct world *world, uint32_t node,
                          const struct durable_faults *faults);
void world_durable_fail_sync(struct world *world, uint32_t node); /* the next one fails, once */
/* A write is under way, or its disk's cache holds what is not synced. */
bool world_durable_is_writing(struct world *world, uint32_t node);
struct durable_counters world_durable_counters(struct world *world,
                                               uint32_t node);
/* What the node's disk holds for good under a key, as REPLICATOR_NEWS_STORE gave it; lent until the world runs. False: nothing. */
bool world_durable_value(struct world *world, uint32_t node, struct slice key,
                         struct slice *value);
uint32_t world_durable_count(struct world *world, uint32_t node); /* keys that it holds */
uint64_t world_durable_writes(struct world *world, uint32_t node); /* requests that were done */

#endif
