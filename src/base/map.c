/* Insertion-ordered hash map: a dense array of entries and an open-addressed table of indexes. */
#include "base/map.h"

#include "base/check.h"
#include "base/hash.h"

/* Most keys are numbers: they are mixed one to one (the finalizer of MurmurHash3), so that equal hashes are equal keys, and a
 * key need not be looked at, which lies elsewhere in memory. */
static uint64_t hash_key(struct slice key)
{
    uint64_t number;

    if (key.size != sizeof number)
        return hash_bytes(key);
    memcpy(&number, key.data, sizeof number);
    number ^= number >> 33;
    number *= UINT64_C(0xff51afd7ed558ccd);
    number ^= number >> 33;
    number *= UINT64_C(0xc4ceb9fe1a85ec53);
    return number ^ number >> 33;
}

static bool is_same(const struct map_entry *entry, struct slice key)
{
    return entry->key.size == key.size &&
           (!key.size || key.size == sizeof(uint64_t) ||
            !memcmp(entry->key.data, key.data, key.size));
}

static uint32_t find(const struct map *map, struct slice key, uint64_t hash)
{
    uint32_t mask = map->slot_count - 1;
    uint32_t at;

    if (!map->slot_count)
        return UINT32_MAX;
    for (at = (uint32_t)hash & mask; map->slots[at]; at = (at + 1) & mask) {
        const struct map_entry *entry = &map->entries[map->slots[at] - 1];

        if (entry->hash == hash && entry->key.data && is_same(entry, key))
            return map->slots[at] - 1;
    }
    return UINT32_MAX;
}

/* Rebuilds both tables without the holes, with room for more. */
static void rebuild(struct map *map)
{
    uint32_t used = 0;
    uint32_t slot_count = 16;

    for (uint32_t i = 0; i < map->used; i++)
        if (map->entries[i].key.data)
            map->entries[used++] = map->entries[i];
    map->used = used;
    check(map->count == used);
    /* A quarter more than there are: or a full map that is put into and taken from in turn would be rebuilt each time. */
    while (slot_count < (used + used / 4 + 1) * 2)
        slot_count *= 2;
    map->capacity = slot_count / 2;
    map->entries =
        mem_resize(map->entries, map->capacity * sizeof *map->entries);
    mem_free(map->slots);
    map->slots = mem_alloc(slot_count * sizeof *map->slots);
    map->slot_count = slot_count;
    for (uint32_t i = 0; i < used; i++) {
        uint32_t at = (uint32_t)map->entries[i].hash & (slot_count - 1);

        while (map->slots[at])
            at = (at + 1) & (slot_count - 1);
        map->slots[at] = i + 1;
    }
}

static void free_key(const struct map *map, struct map_entry *entry)
{
    if (!map->is_lent)
        mem_free((void *)(uintptr_t)entry->key.data);
    entry->key.data = NULL;
}

void map_fini(struct map *map)
{
    for (uint32_t i = 0; i < map->used; i++)
        free_key(map, &map->entries[i]);
    mem_free(map->entries);
    mem_free(map->slots);
    *map = (struct map){ .is_lent = map->is_lent };
}

void *map_get(const struct map *map, struct slice key)
{
    uint32_t index;

    if (!map->count)
        return NULL;
    index = find(map, key, hash_key(key));
    return index == UINT32_MAX ? NULL : map->entries[index].value;
}

void *map_put(struct map *map, struct slice key, void *value)
{
    uint64_t hash = hash_key(key);
    uint32_t index = find(map, key, hash);
    uint32_t at;

    check(value != NULL);
    if (index != UINT32_MAX) {
        void *replaced = map->entries[index].value;

        map->entries[index].value = value;
        return replaced;
    }
    if (map->used == map->capacity)
        rebuild(map);
    map->entries[map->used] = (struct map_entry){
        .key = map->is_lent
                   ? key
                   : slice_of(mem_copy(key.data, key.size), key.size),
        .hash = hash,
        .value = value,
    };
    at = (uint32_t)hash & (map->slot_count - 1);
    while (map->slots[at])
        at = (at + 1) & (map->slot_count - 1);
    map->slots[at] = ++map->used;
    map->count++;
    return NULL;
}

void *map_take(struct map *map, struct slice key)
{
    uint32_t index = find(map, key, hash_key(key));
    struct map_entry *entry;

    if (index == UINT32_MAX)
        return NULL;
    /* The slot keeps pointing at the hole, so that probes go on past it. */
    entry = &map->entries[index];
    free_key(map, entry);
    map->count--;
    return entry->value;
}

bool map_next(const struct map *map, uint32_t *at, struct map_entry *entry)
{
    for (; *at < map->used; (*at)++) {
        if (map->entries[*at].key.data) {
            *entry = map->entries[(*at)++];
            return true;
        }
    }
    return false;
}
