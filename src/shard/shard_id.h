/* Orders the numbers of shards in tables. base/shard_names.h has their texts. */
#ifndef SHERD_SHARD_SHARD_ID_H
#define SHERD_SHARD_SHARD_ID_H

#include "base/shard_names.h"

/* Returns the index in a table of a type's shards, or -1 if it is no shard of the type. Shards are
 * -(n-1)..n-1. */
static inline int64_t shard_index(int32_t shard, uint32_t shard_count)
{
    int64_t index = (int64_t)shard + shard_count - 1;
    return index >= 0 && index <= 2 * (int64_t)shard_count - 2 ? index : -1;
}

/* Returns a place for each shard that does not depend on the number of shards: 0, -1, 1, -2, 2 and
 * so on. |shard| < SHARDS_MAX. */
static inline uint32_t shard_place(int32_t shard)
{
    return shard < 0 ? 2 * (0 - (uint32_t)shard) - 1 : 2 * (uint32_t)shard;
}

static inline int32_t shard_at_place(uint32_t place)
{
    return place % 2 ? -(int32_t)(place / 2) - 1 : (int32_t)(place / 2);
}

#endif
