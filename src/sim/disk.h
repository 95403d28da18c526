/* A simulated disk: sectors of 512 bytes behind a cache that a loss of power
 * takes away.
 *
 * A write goes to the cache; a sync that succeeds brings what is dirty to the
 * platter. A loss of power in between leaves any part of it there, sector by
 * sector. A sync that fails leaves the cache clean all the same, as Linux does:
 * the next one succeeds and writes nothing of it (the "fsync gate"). An
 * operation's result is known to the caller at once, but counts from `at` on.
 *
 * Who calls: sim/disk_backend. Nothing here but the stream given to disk_new
 * decides anything. */
#ifndef SHERD_SIM_DISK_H
#define SHERD_SIM_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/rng.h"

#define DISK_SECTOR 512 /* bytes; written whole or not at all */

enum disk_result {
    DISK_OK,
    DISK_EIO,  /* any part of it may have happened */
    DISK_FULL, /* a write: certainly not all of it happened */
};

/* How the disk behaves; chances are millionths of each operation. Zero is a
 * disk without delay that never fails. */
struct disk_faults {
    uint64_t latency_min;     /* ns, of each operation */
    uint64_t latency_mean;    /* ns, with the least */
    uint32_t stall_ppm;       /* an operation stands still */
    uint64_t stall_max;       /* ns, at most that long */
    uint32_t write_error_ppm;
    uint32_t sync_error_ppm;
    uint32_t read_error_ppm;
    uint32_t rot_ppm;         /* of each sector read: one of its bits has changed, for good */
    bool is_full;             /* a write behind the last sector fails */
    bool lies;                /* a sync is said to be done, and nothing of it is: for tests of what must see it */
};

struct disk_done {
    enum disk_result result;
    uint64_t at; /* when it counts, ns */
};

struct disk_counters {
    uint64_t writes;
    uint64_t syncs;
    uint64_t reads;
    uint64_t stalls;
    uint64_t write_errors;
    uint64_t sync_errors;
    uint64_t read_errors;
    uint64_t full;         /* writes refused for want of space */
    uint64_t power_losses;
    uint64_t torn;         /* losses of power that left a part of what was not synced */
    uint64_t sectors_lost; /* by them */
    uint64_t rotten;       /* sectors with a bit changed */
};

struct disk;

struct disk *disk_new(struct rng rng); /* empty */
void disk_free(struct disk *disk); /* null is fine */
void disk_set_faults(struct disk *disk, const struct disk_faults *faults);
/* The next sync fails, once. */
void disk_fail_sync(struct disk *disk);
const struct disk_faults *disk_faults(const struct disk *disk);
const struct disk_counters *disk_counters(const struct disk *disk);

/* Writes bytes from a sector on; the last one is filled up with zeros. Not
 * behind a hole: sector is at most disk_size. Copied. */
struct disk_done disk_write(struct disk *disk, uint64_t now, uint64_t sector,
                            struct slice bytes);
/* Takes effect when its time has come; one at a time, and no write meanwhile. */
struct disk_done disk_sync(struct disk *disk, uint64_t now);
/* Appends count sectors to buf, all of them there; nothing when it fails. */
struct disk_done disk_read(struct disk *disk, uint64_t now, uint64_t sector,
                           uint64_t count, struct buf *buf);
uint64_t disk_size(const struct disk *disk); /* sectors */
uint64_t disk_sync_end(const struct disk *disk); /* when the last sync is over or was; 0: none yet */
/* Appends what the platter holds, without delay or fault. */
void disk_platter(struct disk *disk, uint64_t now, struct buf *buf);

/* The cache is gone. Of what was not synced, and of a sync that is under way,
 * any part has reached the platter. */
void disk_power_loss(struct disk *disk, uint64_t now);
/* Under memory pressure: what the cache holds but need not write is read from the platter from here on. */
void disk_evict(struct disk *disk, uint64_t now);

#endif
