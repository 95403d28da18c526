/* Simulates the disks of durable keys in memory, as host/durable uses files. Each place has its
 * own, which outlives incarnations.
 *
 * A request is one transaction, done after its sync. A failed request, or one whose process was
 * killed, has left any part of its values in the cache; all of them if only the sync failed. The
 * next sync does not write them, and the next successful transaction removes them. A load before
 * that, or after a loss of power, finds any part of them. */
#ifndef SHERD_SIM_WORLD_DURABLE_H
#define SHERD_SIM_WORLD_DURABLE_H

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
    uint32_t rot_ppm;    /* for each loaded value: it is lost, or an earlier one is found */
    bool is_full;        /* writes fail and do nothing */
    bool is_blank;       /* a load finds nothing, as on a replaced disk; for tests */
    bool lies;           /* a sync only reports success; for tests */
};

/* Effects of the faults on a disk. */
struct durable_counters {
    uint64_t stalls;
    uint64_t errors;
    uint64_t sync_errors;
    uint64_t full;
    uint64_t cut_off;      /* requests cut off by a kill or a loss of power */
    uint64_t power_losses;
    uint64_t power_harm;   /* with a request under way or unsynced values */
    uint64_t torn;         /* how often a part of the unsynced values survived */
    uint64_t values_lost;
};

/* From the next request on. Copied. */
void world_durable_faults(struct world *world, uint32_t node,
                          const struct durable_faults *faults);
void world_durable_fail_sync(struct world *world, uint32_t node); /* once */
/* Whether a write is under way or unsynced. */
bool world_durable_is_writing(struct world *world, uint32_t node);
struct durable_counters world_durable_counters(struct world *world,
                                               uint32_t node);
/* The synced value under a key, as REPLICATOR_NEWS_STORE gave it; lent until the world runs. False:
 * none. */
bool world_durable_value(struct world *world, uint32_t node, struct slice key,
                         struct slice *value);
uint32_t world_durable_count(struct world *world, uint32_t node); /* stored keys */
uint64_t world_durable_writes(struct world *world, uint32_t node); /* completed requests */

#endif
