/* Implements the platter in pieces, and the cached sectors above it. */
#include "sim/world/disk.h"

#include "base/check.h"
#include "base/map.h"
#include "base/timers.h"
#include "base/vec.h"
#include "sim/seed/streams.h"

#define PIECE_SECTORS 128

/* A cached sector that may differ from the platter. */
struct cached {
    uint64_t sector;
    bool dirty; /* the next sync writes it; if false, none does */
    uint8_t data[DISK_SECTOR];
};

struct disk {
    struct rng rng;
    struct disk_faults faults;
    struct disk_counters counters;
    VEC(uint8_t *) pieces; /* the platter, PIECE_SECTORS each */
    uint64_t size;         /* sectors */
    struct map cache;      /* sector -> struct cached */
    bool sync_fails; /* the next one fails */
    bool syncing;
    struct disk_done sync; /* the running one */
};

struct disk *disk_new(struct rng rng)
{
    struct disk *disk = mem_alloc(sizeof *disk);

    disk->rng = rng;
    return disk;
}

static void empty_cache(struct disk *disk)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&disk->cache, &at, &entry);)
        mem_free(entry.value);
    map_fini(&disk->cache);
}

void disk_free(struct disk *disk)
{
    if (!disk)
        return;
    empty_cache(disk);
    for (uint32_t i = 0; i < disk->pieces.count; i++)
        mem_free(disk->pieces.items[i]);
    vec_fini(&disk->pieces);
    mem_free(disk);
}

void disk_set_faults(struct disk *disk, const struct disk_faults *faults)
{
    disk->faults = *faults;
}

void disk_fail_sync(struct disk *disk)
{
    disk->sync_fails = true;
}

const struct disk_faults *disk_faults(const struct disk *disk)
{
    return &disk->faults;
}

const struct disk_counters *disk_counters(const struct disk *disk)
{
    return &disk->counters;
}

uint64_t disk_size(const struct disk *disk)
{
    return disk->size;
}

static bool happens(struct disk *disk, uint32_t ppm)
{
    return ppm && rng_below(&disk->rng, 1000000) < ppm;
}

static bool coin(struct disk *disk)
{
    return rng_below(&disk->rng, 2) == 0;
}

/* Returns when an operation that starts now ends. */
static uint64_t end_of(struct disk *disk, uint64_t now)
{
    const struct disk_faults *faults = &disk->faults;
    uint64_t end = now + stream_delay(&disk->rng, faults->latency_min,
                                      faults->latency_mean);

    if (happens(disk, faults->stall_ppm)) {
        disk->counters.stalls++;
        end += rng_below(&disk->rng, faults->stall_max + 1);
    }
    return end;
}

static uint8_t *platter(struct disk *disk, uint64_t sector)
{
    check(sector < disk->size);
    return disk->pieces.items[sector / PIECE_SECTORS] +
           sector % PIECE_SECTORS * DISK_SECTOR;
}

static struct cached *cached_at(const struct disk *disk, uint64_t sector)
{
    return map_get(&disk->cache, map_u64(&sector));
}

static void to_platter(struct disk *disk, const struct cached *cached)
{
    memcpy(platter(disk, cached->sector), cached->data, DISK_SECTOR);
}

/* Ends the running sync. After a failure the cache considers all sectors written. */
static void settle(struct disk *disk, uint64_t now)
{
    bool done = disk->sync.result == DISK_OK;
    struct map_entry entry;

    if (!disk->syncing || disk->sync.at > now)
        return;
    disk->syncing = false;
    if (disk->faults.lies)
        return; /* all stays dirty */
    for (uint32_t at = 0; map_next(&disk->cache, &at, &entry);) {
        struct cached *cached = entry.value;

        if (!cached->dirty)
            continue;
        if (done || coin(disk))
            to_platter(disk, cached);
        cached->dirty = false;
        if (done)
            mem_free(map_take(&disk->cache, entry.key));
    }
}

static void write_sector(struct disk *disk, uint64_t sector,
                         struct slice bytes)
{
    struct cached *cached = cached_at(disk, sector);

    if (sector == disk->size) {
        if (sector % PIECE_SECTORS == 0)
            vec_push(&disk->pieces,
                     mem_alloc((size_t)PIECE_SECTORS * DISK_SECTOR));
        disk->size++;
    }
    if (!cached) {
        cached = mem_alloc(sizeof *cached);
        cached->sector = sector;
        (void)map_put(&disk->cache, map_u64(&sector), cached); /* it was absent */
    } else if (cached->dirty && coin(disk)) {
        to_platter(disk, cached); /* the kernel wrote it back meanwhile */
    }
    cached->dirty = true;
    memset(cached->data, 0, DISK_SECTOR);
    memcpy(cached->data, bytes.data, bytes.size);
}

/* Returns how many sectors happen without free space: those that had space, and some more, but not
 * all. */
static uint64_t fitting(struct disk *disk, uint64_t sector, uint64_t count)
{
    uint64_t old = disk->size - sector;

    return old + rng_below(&disk->rng, count - old);
}

struct disk_done disk_write(struct disk *disk, uint64_t now, uint64_t sector,
                            struct slice bytes)
{
    uint64_t count = (bytes.size + DISK_SECTOR - 1) / DISK_SECTOR;
    struct disk_done done = { DISK_OK, end_of(disk, now) };
    uint64_t end = count;

    settle(disk, now);
    check(!disk->syncing);
    check(sector <= disk->size);
    disk->counters.writes++;
    if (disk->faults.is_full && sector + count > disk->size) {
        disk->counters.full++;
        done.result = DISK_FULL;
        end = fitting(disk, sector, count);
    } else if (happens(disk, disk->faults.write_error_ppm)) {
        disk->counters.write_errors++;
        done.result = DISK_EIO;
        end = rng_below(&disk->rng, count + 1);
    }
    for (uint64_t i = 0; i < end; i++) {
        size_t at = (size_t)i * DISK_SECTOR;
        size_t left = bytes.size - at;

        write_sector(disk, sector + i,
                     slice_of(bytes.data + at,
                              left < DISK_SECTOR ? left : DISK_SECTOR));
    }
    return done;
}

struct disk_done disk_sync(struct disk *disk, uint64_t now)
{
    settle(disk, now);
    check(!disk->syncing);
    disk->counters.syncs++;
    disk->syncing = true;
    disk->sync = (struct disk_done){ DISK_OK, end_of(disk, now) };
    if (disk->sync_fails || happens(disk, disk->faults.sync_error_ppm)) {
        disk->sync_fails = false;
        disk->counters.sync_errors++;
        disk->sync.result = DISK_EIO;
    }
    return disk->sync;
}

struct disk_done disk_read(struct disk *disk, uint64_t now, uint64_t sector,
                           uint64_t count, struct buf *buf)
{
    struct disk_done done = { DISK_OK, end_of(disk, now) };

    settle(disk, now);
    check(sector + count <= disk->size);
    disk->counters.reads++;
    if (happens(disk, disk->faults.read_error_ppm)) {
        disk->counters.read_errors++;
        done.result = DISK_EIO;
        return done;
    }
    for (uint64_t i = sector; i < sector + count; i++) {
        const struct cached *cached = cached_at(disk, i);
        uint8_t *on_platter = platter(disk, i);

        if (!cached && happens(disk, disk->faults.rot_ppm)) {
            disk->counters.rotten++;
            on_platter[rng_below(&disk->rng, DISK_SECTOR)] ^=
                (uint8_t)(1u << rng_below(&disk->rng, 8));
        }
        buf_put(buf, cached ? cached->data : on_platter, DISK_SECTOR);
    }
    return done;
}

uint64_t disk_sync_end(const struct disk *disk)
{
    return disk->sync.at;
}

void disk_platter(struct disk *disk, uint64_t now, struct buf *buf)
{
    settle(disk, now);
    for (uint64_t i = 0; i < disk->size; i++)
        buf_put(buf, platter(disk, i), DISK_SECTOR);
}

void disk_power_loss(struct disk *disk, uint64_t now)
{
    /* Survivors: none, all, the first ones, or any part. */
    uint64_t mode = rng_below(&disk->rng, 4);
    struct map_entry entry;
    uint64_t kept = 0;
    uint64_t lost = 0;
    uint64_t first;

    settle(disk, now);
    disk->syncing = false;
    disk->counters.power_losses++;
    first = rng_below(&disk->rng, disk->cache.count + 1);
    for (uint32_t at = 0; map_next(&disk->cache, &at, &entry);) {
        const struct cached *cached = entry.value;
        bool keep = (mode == 1) || (mode == 2 && kept < first) ||
                    (mode == 3 && coin(disk));

        /* They have reached the platter by then, or never will. */
        if (!cached->dirty)
            continue;
        if (keep)
            to_platter(disk, cached);
        kept += keep;
        lost += !keep;
    }
    disk->counters.sectors_lost += lost;
    disk->counters.torn += kept && lost;
    empty_cache(disk);
}

void disk_evict(struct disk *disk, uint64_t now)
{
    struct map_entry entry;

    settle(disk, now);
    for (uint32_t at = 0; map_next(&disk->cache, &at, &entry);)
        if (!((struct cached *)entry.value)->dirty)
            mem_free(map_take(&disk->cache, entry.key));
}
