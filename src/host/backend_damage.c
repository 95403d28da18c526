/* Keeps the list of a journal's damaged parts. */
#include "host/backend_damage.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/map.h"

struct backend_damage {
    backend_damaged told;
    void *context;
    pthread_mutex_t lock;
    struct map parts;        /* name -> struct backend_damaged_part */
    uint64_t unlisted;       /* parts that did not fit */
    _Atomic uint32_t count;  /* so that an empty list costs no lock */
};

struct backend_damage *backend_damage_new(backend_damaged told, void *context)
{
    struct backend_damage *damage = mem_alloc(sizeof *damage);

    damage->told = told;
    damage->context = context;
    check(pthread_mutex_init(&damage->lock, NULL) == 0);
    return damage;
}

void backend_damage_free(struct backend_damage *damage)
{
    struct map_entry entry;

    if (!damage)
        return;
    for (uint32_t at = 0; map_next(&damage->parts, &at, &entry);)
        mem_free(entry.value);
    map_fini(&damage->parts);
    check(pthread_mutex_destroy(&damage->lock) == 0);
    mem_free(damage);
}

static void lock(struct backend_damage *damage)
{
    check(pthread_mutex_lock(&damage->lock) == 0);
}

static void unlock(struct backend_damage *damage)
{
    atomic_store(&damage->count, damage->parts.count);
    check(pthread_mutex_unlock(&damage->lock) == 0);
}

static struct backend_damaged_part *part_new(struct slice name, const char *why)
{
    struct backend_damaged_part *part = mem_alloc(sizeof *part);

    (void)snprintf(part->name, sizeof part->name, "%.*s", (int)name.size,
                   (const char *)name.data); /* may be cut */
    (void)snprintf(part->why, sizeof part->why, "%s", why); /* of that size */
    return part;
}

void backend_damage_add(struct backend_damage *damage, struct slice name,
                        const char *why)
{
    struct backend_damaged_part *part;
    struct backend_damaged_part told;
    bool is_known;

    if (!damage)
        return;
    part = part_new(name, why);
    told = *part;
    lock(damage);
    is_known = map_get(&damage->parts, name);
    if (!is_known && damage->parts.count < BACKEND_DAMAGED_MAX) {
        (void)map_put(&damage->parts, name, part); /* there was none */
        part = NULL;
    } else if (!is_known) {
        damage->unlisted++;
    }
    unlock(damage);
    mem_free(part);
    if (!is_known && damage->told)
        damage->told(damage->context, told.name, told.why);
}

void backend_damage_remove(struct backend_damage *damage, struct slice name)
{
    struct backend_damaged_part *part;

    if (!damage || !atomic_load(&damage->count))
        return;
    lock(damage);
    part = map_take(&damage->parts, name);
    unlock(damage);
    if (part && damage->told)
        damage->told(damage->context, part->name, NULL);
    mem_free(part);
}

bool backend_damage_find(struct backend_damage *damage, struct slice name,
                         char *why)
{
    const struct backend_damaged_part *part;

    if (!damage || !atomic_load(&damage->count))
        return false;
    lock(damage);
    part = map_get(&damage->parts, name);
    if (part)
        (void)snprintf(why, BACKEND_ERROR_MAX, "%s", part->why); /* of that size */
    unlock(damage);
    return part != NULL;
}

uint64_t backend_damage_list(struct backend_damage *damage,
                             struct backend_damaged_part *parts, uint32_t max)
{
    struct map_entry entry;
    uint32_t copied = 0;
    uint64_t count;

    if (!damage)
        return 0;
    lock(damage);
    for (uint32_t at = 0; copied < max && map_next(&damage->parts, &at, &entry);)
        parts[copied++] = *(const struct backend_damaged_part *)entry.value;
    count = damage->parts.count + damage->unlisted;
    unlock(damage);
    return count;
}

void backend_damage_snapshots(char name[BACKEND_PART_SIZE], struct slice id)
{
    (void)snprintf(name, BACKEND_PART_SIZE, "snapshots of %.*s", (int)id.size,
                   (const char *)id.data); /* may be cut */
}

void backend_damage_shard(char name[BACKEND_PART_SIZE], struct slice type,
                          struct slice shard)
{
    (void)snprintf(name, BACKEND_PART_SIZE, "shard %.*s of type %.*s",
                   (int)shard.size, (const char *)shard.data, (int)type.size,
                   (const char *)type.data); /* may be cut */
}
