/* Reads the locations of shards (sherd/allocation.h) from a value of distributed data. */
#include <sherd/allocation.h>
#include <sherd/ddata.h>

#include "shard/shard_id.h"

SHERD_API int sherd_location_next_id(const struct sherd_value *value, uint32_t *at,
                                     struct sherd_bytes *shard_id, struct sherd_bytes *address)
{
    struct sherd_item key;
    struct sherd_item item;

    if (sherd_value_type(value) != SHERD_LWW_MAP)
        return 0;
    while (sherd_value_next(value, at, &key)) {
        if (key.kind != SHERD_ITEM_TEXT || !sherd_value_get(value, &key, &item) ||
            item.kind != SHERD_ITEM_TEXT)
            continue;
        *shard_id = key.text;
        *address = item.text;
        return 1;
    }
    return 0;
}

SHERD_API int sherd_location_next(const struct sherd_value *value, uint32_t *at,
                                  int32_t *shard, struct sherd_bytes *address)
{
    struct sherd_bytes id;

    while (sherd_location_next_id(value, at, &id, address))
        if (shard_parse(slice_of(id.data, id.size), shard))
            return 1;
    return 0;
}
