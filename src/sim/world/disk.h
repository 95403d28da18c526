/* Simulates a disk: sectors of 512 bytes behind a cache that a loss of power empties.
 *
 * A successful sync brings the dirty sectors from the cache to the platter. A loss of power before
 * that leaves any part of them there. A failed sync also leaves the cache clean, as Linux does: the
 * next sync succeeds and writes nothing ("fsync gate"). The caller gets a result at once, but it
 * counts from `at` on. */
#ifndef SHERD_SIM_WORLD_DISK_H
#define SHERD_SIM_WORLD_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/rng.h"

#define DISK_SECTOR 512 /* bytes; written completely or not at all */

enum disk_result {
    DISK_OK,
    DISK_EIO,  /* any part of it may have happened */
    DISK_FULL, /* of a write: not all of it happened */
};

/* Chances are millionths of each operation. Zero is an exact disk without delay. */
struct disk_faults {
    uint64_t latency_min;     /* ns of each operation */
    uint64_t latency_mean;    /* ns, including the least */
    uint32_t stall_ppm;       /* an operation stalls */
    uint64_t stall_max;       /* ns, at most */
    uint32_t write_error_ppm;
    uint32_t sync_error_ppm;
    uint32_t read_error_ppm;
    uint32_t rot_ppm;         /* for each sector read: one bit has changed permanently */
    bool is_full;             /* a write after the last sector fails */
    bool lies;                /* a sync only reports success; for tests of detection */
};

struct disk_done {
    enum disk_result result;
    uint64_t at; /* ns from which it counts */
};

struct disk_counters {
    uint64_t writes;
    uint64_t syncs;
    uint64_t reads;
    uint64_t stalls;
    uint64_t write_errors;
    uint64_t sync_errors;
    uint64_t read_errors;
    uint64_t full;
    uint64_t power_losses;
    uint64_t torn;         /* losses that kept part of the unsynced sectors */
    uint64_t sectors_lost; /* by losses of power */
    uint64_t rotten;       /* sectors with a changed bit */
};

struct disk;

struct disk *disk_new(struct rng rng);
void disk_free(struct disk *disk);
void disk_set_faults(struct disk *disk, const struct disk_faults *faults);
/* Makes the next sync fail, once. */
void disk_fail_sync(struct disk *disk);
const struct disk_faults *disk_faults(const struct disk *disk);
const struct disk_counters *disk_counters(const struct disk *disk);

/* Writes from a sector on, and fills the last one with zeros. sector is at most disk_size.
 * Copied. */
struct disk_done disk_write(struct disk *disk, uint64_t now, uint64_t sector,
                            struct slice bytes);
/* Takes effect at its time. Only one at a time, without writes meanwhile. */
struct disk_done disk_sync(struct disk *disk, uint64_t now);
/* Appends count existing sectors; nothing if it fails. */
struct disk_done disk_read(struct disk *disk, uint64_t now, uint64_t sector,
                           uint64_t count, struct buf *buf);
uint64_t disk_size(const struct disk *disk); /* sectors */
uint64_t disk_sync_end(const struct disk *disk); /* end of the last sync; 0: none yet */
/* Appends the content of the platter, without delay or fault. */
void disk_platter(struct disk *disk, uint64_t now, struct buf *buf);

/* Drops the cache. Any part of the unsynced sectors has reached the platter. */
void disk_power_loss(struct disk *disk, uint64_t now);
/* Simulates memory pressure: clean cached sectors are read from the platter again. */
void disk_evict(struct disk *disk, uint64_t now);

#endif
