/* Implements the disks of durable keys. */
#include "sim/world/durable.h"

#include <stdio.h>

#include "base/check.h"
#include "base/sort.h"
#include "ddata/durable.h"
#include "sim/world/inside.h"
#include "sim/seed/streams.h"

#define MILLION 1000000

struct durable_value {
    struct buf now;
    struct buf synced;
    struct buf before; /* the predecessor of `now` */
    bool is_synced; /* `synced` exists */
    bool is_there;  /* `now` exists */
    bool is_held;   /* damaged and not written since; below: the same of `synced` */
    bool is_synced_held;
    bool is_dirty;  /* `now` is not synced: its transaction failed, or no answer was sent */
};

struct durable_disk {
    struct event event;
    struct site *site;
    struct durable_request *request; /* null: none under way */
    struct durable_faults faults;
    struct rng rng;
    struct map values; /* key -> struct durable_value */
    uint32_t dirty;    /* dirty values */
    bool sync_fails;   /* the next one fails */
    uint64_t writes;
    struct durable_counters counters;
};

static struct durable_disk *disk_of(struct world *world, struct site *site)
{
    struct durable_disk *disk = site->durable;

    if (disk)
        return disk;
    disk = mem_alloc(sizeof *disk);
    disk->event.kind = EVENT_DURABLE;
    disk->site = site;
    disk->rng = stream_rng(world->settings.seed, STREAM_DURABLE, site->index);
    site->durable = disk;
    return disk;
}

static bool happens(struct durable_disk *disk, uint32_t ppm)
{
    return ppm && rng_below(&disk->rng, MILLION) < ppm;
}

static void copy(struct buf *to, const struct buf *from)
{
    buf_clear(to);
    buf_put_slice(to, buf_slice(from));
}

/* ---- requests ---- */

static void write_one(struct durable_disk *disk, struct slice key,
                      struct slice value, bool erases)
{
    struct durable_value *kept = map_get(&disk->values, key);

    if (!kept) {
        kept = mem_alloc(sizeof *kept);
        (void)map_put(&disk->values, key, kept);
    }
    copy(&kept->before, &kept->now);
    buf_clear(&kept->now);
    buf_put_slice(&kept->now, value);
    kept->is_there = !erases;
    kept->is_held = false;
    disk->dirty += !kept->is_dirty;
    kept->is_dirty = true;
}

/* Makes the present value permanent, or restores the last synced one. */
static void settle_one(struct durable_disk *disk, struct durable_value *kept,
                       bool stays)
{
    if (stays) {
        copy(&kept->synced, &kept->now);
        kept->is_synced = kept->is_there;
        kept->is_synced_held = kept->is_held;
    } else {
        copy(&kept->now, &kept->synced);
        kept->is_there = kept->is_synced;
        kept->is_held = kept->is_synced_held;
    }
    disk->dirty -= kept->is_dirty;
    kept->is_dirty = false;
}

enum settling {
    SETTLE_SYNC,   /* all stay */
    SETTLE_UNDO,   /* none stays */
    SETTLE_ANYHOW, /* any part stays: each value is a record */
};

static void settle(struct durable_disk *disk, enum settling how)
{
    struct map_entry entry;
    uint64_t stayed = 0, lost = 0;

    for (uint32_t at = 0; disk->dirty && map_next(&disk->values, &at, &entry);) {
        struct durable_value *kept = entry.value;
        bool stays = how == SETTLE_SYNC;

        if (!kept->is_dirty)
            continue;
        if (how == SETTLE_ANYHOW)
            stays = rng_below(&disk->rng, 2);
        stayed += stays;
        lost += !stays;
        settle_one(disk, kept, stays);
    }
    disk->counters.values_lost += how == SETTLE_ANYHOW ? lost : 0;
    disk->counters.torn += how == SETTLE_ANYHOW && stayed && lost;
}

static void write_entries(struct durable_disk *disk,
                          const struct durable_request *request, bool all)
{
    for (uint32_t i = 0; i < request->entries.count; i++) {
        const struct durable_entry *entry = &request->entries.items[i];

        if (all || rng_below(&disk->rng, 2))
            write_one(disk, durable_slice(request, entry->key),
                      durable_slice(request, entry->value),
                      request->verb == DURABLE_ERASE);
    }
}

/* Removes the remains of failed transactions first, as host/durable does. */
static void write_all(struct durable_disk *disk,
                      const struct durable_request *request)
{
    if (!disk->faults.lies)
        settle(disk, SETTLE_UNDO);
    write_entries(disk, request, true);
    disk->writes++;
    if (!disk->faults.lies)
        settle(disk, SETTLE_SYNC);
}

static int order(const void *left, const void *right)
{
    const struct map_entry *one = left, *other = right;
    size_t size = one->key.size < other->key.size ? one->key.size
                                                  : other->key.size;
    int by_bytes = memcmp(one->key.data, other->key.data, size);

    return by_bytes ? by_bytes
                    : (one->key.size > other->key.size) -
                          (one->key.size < other->key.size);
}

/* A load detects damage. It then returns the previous value, or none, and the damage is
 * permanent. */
static void load_one(struct durable_disk *disk, struct durable_request *request,
                     struct slice key, struct durable_value *kept)
{
    struct durable_entry *entry;
    bool is_damaged = happens(disk, disk->faults.rot_ppm);
    struct buf name = { 0 };

    if (is_damaged) {
        copy(&kept->now, &kept->before);
        kept->is_there = kept->before.size > 0;
        kept->is_held = durable_hold_key(key, &name);
        settle_one(disk, kept, true);
        request->was_damaged = true;
    }
    buf_fini(&name);
    durable_request_add(request, key, buf_slice(&kept->now));
    entry = &request->entries.items[request->entries.count - 1];
    is_damaged |= kept->is_held;
    entry->is_stale = is_damaged && kept->is_there;
    entry->is_lost = is_damaged && !kept->is_there;
    entry->is_held = kept->is_held;
}

static void lose_all(struct durable_disk *disk)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&disk->values, &at, &entry);) {
        struct durable_value *kept = entry.value;

        kept->is_there = kept->is_held = false;
        settle_one(disk, kept, true);
    }
}

static void load_all(struct durable_disk *disk, struct durable_request *request)
{
    VEC(struct map_entry) found = { NULL, 0, 0 };
    struct map_entry entry;

    if (disk->faults.is_blank)
        lose_all(disk);
    if (!disk->faults.lies) /* loaded values are written again and synced */
        settle(disk, SETTLE_ANYHOW);
    for (uint32_t at = 0; map_next(&disk->values, &at, &entry);)
        if (((const struct durable_value *)entry.value)->is_there ||
            ((const struct durable_value *)entry.value)->is_held)
            vec_push(&found, entry);
    sort_stable(found.items, found.count, sizeof entry, order);
    for (uint32_t i = 0; i < found.count; i++)
        load_one(disk, request, found.items[i].key, found.items[i].value);
    vec_fini(&found);
}

static void fail(struct durable_request *request, const char *why)
{
    request->result = DURABLE_FAILED;
    (void)snprintf(request->error, sizeof request->error, "%s", why); /* fits */
}

static bool sync_fails_now(struct durable_disk *disk)
{
    bool fails = disk->sync_fails || happens(disk, disk->faults.sync_error_ppm);

    disk->sync_fails = false;
    return fails;
}

/* After a failure the cache holds any part of the request; all of it if the sync failed. */
static void finish(struct durable_disk *disk, struct durable_request *request)
{
    bool is_load = request->verb == DURABLE_LOAD;
    bool fails = happens(disk, disk->faults.error_ppm);
    bool sync_fails = !is_load && sync_fails_now(disk);

    if (!is_load && disk->faults.is_full) {
        disk->counters.full++;
        fail(request, "No space left on device");
        return;
    }
    if (fails || sync_fails) {
        disk->counters.errors += fails;
        disk->counters.sync_errors += !fails;
        if (!is_load)
            write_entries(disk, request, !fails);
        fail(request, "Input/output error");
        return;
    }
    request->result = DURABLE_DONE;
    if (is_load)
        load_all(disk, request);
    else
        write_all(disk, request);
}

void durable_take(struct world *world, struct site *site,
                  struct durable_request *request)
{
    struct durable_disk *disk = disk_of(world, site);
    uint64_t at = world->now + stream_delay(&disk->rng, 1,
                                            world->settings.backend_delay);

    check(!disk->request);
    disk->request = request;
    if (happens(disk, disk->faults.stall_ppm) && disk->faults.stall_max) {
        disk->counters.stalls++;
        at += rng_below(&disk->rng, disk->faults.stall_max);
    }
    events_put(&world->events, &disk->event, at);
}

void durable_event(struct world *world, struct event *event)
{
    struct durable_disk *disk = (struct durable_disk *)(void *)event;
    struct durable_request *request = disk->request;
    struct site *site = disk->site;
    struct worker *worker = &site->workers[0];

    disk->request = NULL;
    finish(disk, request);
    digest_add(world, site->index, EVENT_DURABLE,
               (uint64_t)request->verb << 8 | (uint64_t)request->result);
    worker_touched(world, worker);
    machine_durable(worker->machine, site_runs(world, site),
                    request);
}

struct site *durable_site(const struct event *event)
{
    return ((const struct durable_disk *)(const void *)event)->site;
}

/* ---- ends ---- */

/* The process or the machine ended during the request. */
static void cut_off(struct durable_disk *disk)
{
    const struct durable_request *request = disk->request;

    disk->counters.cut_off++;
    if (!disk->faults.is_full)
        write_entries(disk, request, rng_below(&disk->rng, 2));
}

/* Any part of the unsynced values is lost. */
static void lose_power(struct durable_disk *disk)
{
    disk->counters.power_losses++;
    settle(disk, disk->faults.lies ? SETTLE_UNDO : SETTLE_ANYHOW);
}

void durable_end(struct world *world, struct site *site, bool crashes,
                 bool is_dark)
{
    struct durable_disk *disk = site->durable;
    bool writes;

    if (!disk)
        return;
    writes = disk->request && disk->request->verb != DURABLE_LOAD;
    disk->counters.power_harm += is_dark && (writes || disk->dirty);
    if (writes && crashes)
        cut_off(disk);
    else if (writes && !disk->faults.is_full) /* an orderly end completes the write */
        write_all(disk, disk->request);
    durable_request_free(disk->request);
    disk->request = NULL;
    events_drop(&world->events, &disk->event);
    if (is_dark)
        lose_power(disk);
}

void durable_free(struct site *site)
{
    struct durable_disk *disk = site->durable;
    struct map_entry entry;

    if (!disk)
        return;
    for (uint32_t at = 0; map_next(&disk->values, &at, &entry);) {
        struct durable_value *kept = entry.value;

        buf_fini(&kept->now);
        buf_fini(&kept->synced);
        buf_fini(&kept->before);
        mem_free(kept);
    }
    map_fini(&disk->values);
    mem_free(disk);
}

/* ---- called from outside ---- */

void world_durable_faults(struct world *world, uint32_t node,
                          const struct durable_faults *faults)
{
    disk_of(world, world_site(world, node))->faults = *faults;
}

bool world_durable_value(struct world *world, uint32_t node, struct slice key,
                         struct slice *value)
{
    struct durable_disk *disk = disk_of(world, world_site(world, node));
    const struct durable_value *kept = map_get(&disk->values, key);

    if (!kept || !kept->is_synced)
        return false;
    *value = buf_slice(&kept->synced);
    return true;
}

uint32_t world_durable_count(struct world *world, uint32_t node)
{
    struct durable_disk *disk = disk_of(world, world_site(world, node));
    struct map_entry entry;
    uint32_t count = 0;

    for (uint32_t at = 0; map_next(&disk->values, &at, &entry);)
        count += ((const struct durable_value *)entry.value)->is_synced;
    return count;
}

uint64_t world_durable_writes(struct world *world, uint32_t node)
{
    return disk_of(world, world_site(world, node))->writes;
}

void world_durable_fail_sync(struct world *world, uint32_t node)
{
    disk_of(world, world_site(world, node))->sync_fails = true;
}

bool world_durable_is_writing(struct world *world, uint32_t node)
{
    const struct durable_disk *disk = world_site(world, node)->durable;

    return disk && (disk->dirty || (disk->request && disk->request->verb !=
                                                         DURABLE_LOAD));
}

struct durable_counters world_durable_counters(struct world *world,
                                               uint32_t node)
{
    const struct durable_disk *disk = world_site(world, node)->durable;

    return disk ? disk->counters : (struct durable_counters){ 0 };
}
