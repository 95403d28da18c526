/* Maps a key of bytes to a pointer. Iteration follows the order of insertion, so no decision
 * depends on a hash. Keys are copied unless is_lent; values belong to the caller. */
#ifndef SHERD_BASE_MAP_H
#define SHERD_BASE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"

struct map_entry {
    struct slice key; /* lent until the next put */
    void *value;
};

struct map_item;

/* Zero is an empty map. */
struct map {
    struct map_item *items; /* in order of insertion, with holes */
    uint32_t used;          /* items and holes */
    uint32_t count;         /* items */
    uint32_t capacity;
    uint32_t *slots; /* 0 = free, else index of the item + 1, and bits of its hash */
    uint32_t slot_count;
    /* keys are not copied: they live as long as the value. Set only while the map is empty */
    bool is_lent;
};

void map_fini(struct map *map); /* keys and tables, not the values */
void *map_get(const struct map *map, struct slice key); /* null if absent */
/* Prefetches what map_get will read: step 0, then some time later step 1, which needs the result of
 * 0. Pays off for several keys at once (base/fetch.h). */
void map_fetch(const struct map *map, struct slice key, uint32_t step);
/* Value must not be null; returns the replaced value, or null. */
void *map_put(struct map *map, struct slice key, void *value);
void *map_take(struct map *map, struct slice key); /* returns the removed value, or null */
/* Starts at *at = 0; the caller may take the current entry. */
bool map_next(const struct map *map, uint32_t *at, struct map_entry *entry);

static inline struct slice kept_address_key(const struct kept_address *kept)
{
    return slice_of(kept, offsetof(struct kept_address, host) + kept->host_size);
}

static inline struct slice map_u64(const uint64_t *key)
{
    return slice_of(key, sizeof *key);
}

#endif
