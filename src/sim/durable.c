/* The disks of durable keys. */
#include "sim/durable.h"

#include <stdio.h>

#include "base/check.h"
#include "base/sort.h"
#include "ddata/durable.h"
#include "sim/inside.h"
#include "sim/streams.h"

#define MILLION 1000000

/* What a disk has under a key. */
struct durable_value {
    struct buf now;
    struct buf synced;
    struct buf before; /* the one before `now` */
    bool is_synced; /* there is a `synced` */
    bool is_there;  /* there is a `now` */
    bool is_held;   /* it was damaged, and not written since; the next one: as synced */
    bool is_synced_held;
};

struct durable_disk {
    struct event event; /* the request is done */
    struct site *site;
    struct durable_request *request; /* null: none is under way */
    struct durable_faults faults;
    struct rng rng;
    struct map values; /* key -> struct durable_value */
    uint64_t writes;
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
        (void)map_put(&disk->values, key, kept); /* there was none */
    }
    copy(&kept->before, &kept->now);
    buf_clear(&kept->now);
    buf_put_slice(&kept->now, value);
    kept->is_there = !erases;
    kept->is_held = false;
}

static void sync_all(struct durable_disk *disk)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&disk->values, &at, &entry);) {
        struct durable_value *kept = entry.value;

        copy(&kept->synced, &kept->now);
        kept->is_synced = kept->is_there;
        kept->is_synced_held = kept->is_held;
    }
}

static void write_all(struct durable_disk *disk,
                      const struct durable_request *request)
{
    for (uint32_t i = 0; i < request->entries.count; i++) {
        const struct durable_entry *entry = &request->entries.items[i];

        write_one(disk, durable_slice(request, entry->key),
                  durable_slice(request, entry->value),
                  request->verb == DURABLE_ERASE);
    }
    disk->writes++;
    if (!disk->faults.lies)
        sync_all(disk);
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

/* Damage is found when a value is read, and then it is as if that had never been. */
static void load_one(struct durable_disk *disk, struct durable_request *request,
                     struct slice key, struct durable_value *kept)
{
    struct durable_entry *entry;
    bool is_damaged = happens(disk, disk->faults.rot_ppm);
    struct buf name = { 0 };

    if (is_damaged) {
        copy(&kept->now, &kept->before);
        kept->is_there = kept->before.size > 0;
        kept->is_held = kept->is_synced_held = durable_hold_key(key, &name);
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

static void load_all(struct durable_disk *disk, struct durable_request *request)
{
    VEC(struct map_entry) found = { NULL, 0, 0 };
    struct map_entry entry;

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

/* What becomes of the request is known now. */
static void finish(struct durable_disk *disk, struct durable_request *request)
{
    bool is_load = request->verb == DURABLE_LOAD;
    bool fails = happens(disk, disk->faults.error_ppm);

    if (!is_load && disk->faults.is_full) {
        fail(request, "No space left on device");
        return;
    }
    if (fails && !is_load && rng_below(&disk->rng, 2))
        write_all(disk, request);
    if (fails) {
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
                                            world->settings.store_delay);

    check(!disk->request);
    disk->request = request;
    if (happens(disk, disk->faults.stall_ppm) && disk->faults.stall_max)
        at += rng_below(&disk->rng, disk->faults.stall_max);
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

/* The machine is gone, and with it what was not synced. */
static void lose_power(struct durable_disk *disk)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&disk->values, &at, &entry);) {
        struct durable_value *kept = entry.value;

        copy(&kept->now, &kept->synced);
        kept->is_there = kept->is_synced;
        kept->is_held = kept->is_synced_held;
    }
}

void durable_end(struct world *world, struct site *site, bool crashes,
                 bool is_dark)
{
    struct durable_disk *disk = site->durable;

    if (!disk)
        return;
    /* An orderly end writes what it was given. */
    if (disk->request && disk->request->verb != DURABLE_LOAD &&
        !disk->faults.is_full && (!crashes || rng_below(&disk->rng, 2)))
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

/* ---- verbs ---- */

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

    if (!kept || !kept->is_there)
        return false;
    *value = buf_slice(&kept->now);
    return true;
}

uint32_t world_durable_count(struct world *world, uint32_t node)
{
    struct durable_disk *disk = disk_of(world, world_site(world, node));
    struct map_entry entry;
    uint32_t count = 0;

    for (uint32_t at = 0; map_next(&disk->values, &at, &entry);)
        count += ((const struct durable_value *)entry.value)->is_there;
    return count;
}

uint64_t world_durable_writes(struct world *world, uint32_t node)
{
    return disk_of(world, world_site(world, node))->writes;
}
