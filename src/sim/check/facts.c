/* Keeps a table of values that are made at their first mention. */
#include "sim/check/facts.h"

#include "base/check.h"

void *facts_of(struct map *map, struct fact_key key, size_t size)
{
    struct slice bytes = slice_of(&key, sizeof key);
    void *value = map_get(map, bytes);

    if (value)
        return value;
    value = mem_alloc(size);
    (void)map_put(map, bytes, value); /* it replaces no other value */
    return value;
}

void *facts_find(const struct map *map, struct fact_key key)
{
    return map_get(map, slice_of(&key, sizeof key));
}

void facts_fini(struct map *map)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(map, &at, &entry);)
        mem_free(entry.value);
    map_fini(map);
}
