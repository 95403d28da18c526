/* A hash map from a key of bytes to a pointer. Iteration is in the order of insertion, so that no decision can depend
 * on a hash. Keys are copied, unless they are lent; values belong to the caller. Removal keeps the order of the rest. */
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
    bool is_lent; /* keys are not copied: they lie in what is the value, or live as long. Set while it is empty */
};

void map_fini(struct map *map); /* frees keys and tables, not the values */
void *map_get(const struct map *map, struct slice key); /* null when absent */
/* Asks for the memory that map_get will look at, in two steps, some time apart: 0, and then 1, which needs what 0 has asked for. For
 * several keys at once: else each is waited for (base/fetch.h). */
void map_fetch(const struct map *map, struct slice key, uint32_t step);
void *map_put(struct map *map, struct slice key, void *value); /* value must not be null; returns the value replaced, or null */
void *map_take(struct map *map, struct slice key); /* removes; returns the value, or null */
bool map_next(const struct map *map, uint32_t *at, struct map_entry *entry); /* start with *at = 0; the current entry may be taken meanwhile */

static inline struct slice kept_address_key(const struct kept_address *kept)
{
    return slice_of(kept, offsetof(struct kept_address, host) + kept->host_size);
}

static inline struct slice map_u64(const uint64_t *key)
{
    return slice_of(key, sizeof *key);
}

#endif
