/* Implements the hash map: a dense array of entries in order of insertion, and an open-addressed
 * table of indexes. */
#include "base/map.h"

#include "base/check.h"
#include "base/hash.h"

#define NUMBER_SIZE sizeof(uint64_t)
#define CAPACITY_FIRST 8

/* Most keys have eight bytes and stand in the entry itself, without a further memory access. */
struct map_item {
    union {
        uint64_t number;
        const uint8_t *data;
    } key;
    void *value; /* null: removed */
    uint32_t size; /* of the key */
    uint32_t hash;
};

/* The finalizer of MurmurHash3 mixes numbers. */
static uint32_t hash_key(struct slice key)
{
    uint64_t number;

    if (key.size != NUMBER_SIZE)
        return (uint32_t)hash_bytes(key);
    memcpy(&number, key.data, sizeof number);
    number ^= number >> 33;
    number *= UINT64_C(0xff51afd7ed558ccd);
    number ^= number >> 33;
    number *= UINT64_C(0xc4ceb9fe1a85ec53);
    return (uint32_t)(number ^ number >> 33);
}

static bool is_same(const struct map_item *item, struct slice key)
{
    if (item->size != key.size || !item->value)
        return false;
    if (key.size == NUMBER_SIZE)
        return !memcmp(&item->key.number, key.data, NUMBER_SIZE);
    return !key.size || !memcmp(item->key.data, key.data, key.size);
}

/* The low bits hold the item's number, below slot_count, the high ones bits of its hash, which
 * spare a look at other items. */
static uint32_t find(const struct map *map, struct slice key, uint32_t hash)
{
    uint32_t mask = map->slot_count - 1;
    uint32_t at;

    if (!map->slot_count)
        return UINT32_MAX;
    for (at = hash & mask; map->slots[at]; at = (at + 1) & mask) {
        uint32_t slot = map->slots[at];
        uint32_t index = (slot & mask) - 1;

        if (((slot ^ hash) & ~mask) == 0 && is_same(&map->items[index], key))
            return index;
    }
    return UINT32_MAX;
}

static void put_slot(struct map *map, uint32_t hash, uint32_t number)
{
    uint32_t mask = map->slot_count - 1;
    uint32_t at = hash & mask;

    check(number <= mask);
    while (map->slots[at])
        at = (at + 1) & mask;
    map->slots[at] = (hash & ~mask) | number;
}

/* Rebuilds both tables without the holes, with room for more. */
static void rebuild(struct map *map)
{
    uint32_t used = 0;
    uint32_t slot_count = 16;

    for (uint32_t i = 0; i < map->used; i++)
        if (map->items[i].value)
            map->items[used++] = map->items[i];
    map->used = used;
    check(map->count == used);
    /* A quarter more: otherwise alternating puts and takes would rebuild a full map each time. */
    map->capacity = used + used / 4 + CAPACITY_FIRST;
    while (slot_count < map->capacity + map->capacity / 2)
        slot_count *= 2;
    map->items = mem_resize(map->items, map->capacity * sizeof *map->items);
    mem_free(map->slots);
    map->slots = mem_alloc(slot_count * sizeof *map->slots);
    map->slot_count = slot_count;
    for (uint32_t i = 0; i < used; i++)
        put_slot(map, map->items[i].hash, i + 1);
}

static void free_key(const struct map *map, const struct map_item *item)
{
    if (!map->is_lent && item->size != NUMBER_SIZE)
        mem_free((void *)(uintptr_t)item->key.data);
}

void map_fini(struct map *map)
{
    for (uint32_t i = 0; i < map->used; i++)
        if (map->items[i].value)
            free_key(map, &map->items[i]);
    mem_free(map->items);
    mem_free(map->slots);
    *map = (struct map){ .is_lent = map->is_lent };
}

void *map_get(const struct map *map, struct slice key)
{
    uint32_t index;

    if (!map->count)
        return NULL;
    index = find(map, key, hash_key(key));
    return index == UINT32_MAX ? NULL : map->items[index].value;
}

void map_fetch(const struct map *map, struct slice key, uint32_t step)
{
    uint32_t mask = map->slot_count - 1;
    uint32_t hash, slot;

    if (!map->count)
        return;
    hash = hash_key(key);
    if (step == 0) {
        __builtin_prefetch(&map->slots[hash & mask]);
        return;
    }
    slot = map->slots[hash & mask]; /* nearly always the right one */
    if (slot & mask)
        __builtin_prefetch(&map->items[(slot & mask) - 1]);
}

void *map_put(struct map *map, struct slice key, void *value)
{
    uint32_t hash = hash_key(key);
    uint32_t index = find(map, key, hash);
    struct map_item *item;

    check(value != NULL && key.size <= UINT32_MAX);
    if (index != UINT32_MAX) {
        void *replaced = map->items[index].value;

        map->items[index].value = value;
        return replaced;
    }
    if (map->used == map->capacity)
        rebuild(map);
    item = &map->items[map->used];
    *item = (struct map_item){ .value = value,
                               .size = (uint32_t)key.size,
                               .hash = hash };
    if (key.size == NUMBER_SIZE)
        memcpy(&item->key.number, key.data, NUMBER_SIZE);
    else
        item->key.data = map->is_lent ? key.data : mem_copy(key.data, key.size);
    put_slot(map, hash, ++map->used);
    map->count++;
    return NULL;
}

void *map_take(struct map *map, struct slice key)
{
    uint32_t index = find(map, key, hash_key(key));
    struct map_item *item;
    void *value;

    if (index == UINT32_MAX)
        return NULL;
    /* The slot keeps pointing at the hole, so that probes continue. */
    item = &map->items[index];
    value = item->value;
    free_key(map, item);
    item->value = NULL;
    map->count--;
    return value;
}

bool map_next(const struct map *map, uint32_t *at, struct map_entry *entry)
{
    for (; *at < map->used; (*at)++) {
        const struct map_item *item = &map->items[*at];

        if (!item->value)
            continue;
        entry->key = item->size == NUMBER_SIZE
                         ? slice_of(&item->key.number, NUMBER_SIZE)
                         : slice_of(item->key.data, item->size);
        entry->value = item->value;
        (*at)++;
        return true;
    }
    return false;
}
