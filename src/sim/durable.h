/* Simulates the disks of durable keys in memory, as host/durable uses files. Each place has its own
 * disk, which outlives incarnations.
 *
 * A request is one transaction, takes time, and is synced before it is done. A request that failed,
 * or whose process was killed, has left any part of its values in the cache; all of them if only
 * the sync failed. The next sync does not write them. The next successful transaction removes them.
 * A load before that finds any part of them, as a search of the files' bytes would, and so does a
 * load after a loss of power. Only the world's seed and these faults decide. */
#ifndef SHERD_SIM_DURABLE_H
#define SHERD_SIM_DURABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct world;

/* Chances are millionths. Zero is a disk that never fails. */
struct durable_faults {
    uint32_t stall_ppm;  /* a request stalls */
    uint64_t stall_max;  /* ns, at most */
    uint32_t error_ppm;  /* a request fails; a write has then done any part */
    uint32_t sync_error_ppm; /* a write is done completely, but not synced */
    uint32_t rot_ppm;    /* of each loaded value: it is lost, or an earlier one is found */
    bool is_full;        /* writes fail and do nothing */
    bool is_blank;       /* a load finds nothing, as from a replaced disk; for tests of detection */
    bool lies;           /* a sync reports success and does nothing; for tests of detection */
};

/* Effects of the faults on a disk. */
struct durable_counters {
    uint64_t stalls;
    uint64_t errors;
    uint64_t sync_errors;
    uint64_t full;         /* requests refused for lack of space */
    uint64_t cut_off;      /* requests under way when the process was killed or power went */
    uint64_t power_losses;
    uint64_t power_harm;   /* those that hit a request under way or unsynced values */
    uint64_t torn;         /* how often a part of the unsynced values survived */
    uint64_t values_lost;  /* unsynced values that did not survive */
};

/* Sets the faults of a node's disk from the next request on. Copied. */
void world_durable_faults(struct world *world, uint32_t node,
                          const struct durable_faults *faults);
/* makes the next sync fail, once */
void world_durable_fail_sync(struct world *world, uint32_t node);
/* Whether a write is under way, or the disk's cache holds unsynced values. */
bool world_durable_is_writing(struct world *world, uint32_t node);
struct durable_counters world_durable_counters(struct world *world,
                                               uint32_t node);
/* Returns the synced value under a key, as REPLICATOR_NEWS_STORE gave it; lent until the world
 * runs. False: none. */
bool world_durable_value(struct world *world, uint32_t node, struct slice key,
                         struct slice *value);
uint32_t world_durable_count(struct world *world, uint32_t node); /* number of stored keys */
/* number of completed requests */
uint64_t world_durable_writes(struct world *world, uint32_t node);

#endif
