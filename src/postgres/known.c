/* Keeps the writer's two tables, each within its limit. */
#include "postgres/known.h"

#include "base/check.h"

static void empty(struct map *map)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(map, &at, &entry);)
        mem_free(entry.value);
    map_fini(map);
}

void pg_known_fini(struct pg_known *known)
{
    empty(&known->shards);
    empty(&known->entities);
}

struct slice pg_shard_key(struct buf *buf, struct slice type, struct slice shard)
{
    buf_clear(buf);
    buf_put_u32(buf, (uint32_t)type.size);
    buf_put_slice(buf, type);
    buf_put_slice(buf, shard);
    return buf_slice(buf);
}

struct pg_known_shard *pg_known_shard(const struct pg_known *known, struct slice key)
{
    return map_get(&known->shards, key);
}

struct pg_known_entity *pg_known_entity(const struct pg_known *known, struct slice id)
{
    return map_get(&known->entities, id);
}

static void *find_or_add(struct map *map, struct slice key, uint32_t max,
                         size_t size)
{
    void *found = map_get(map, key);

    if (found)
        return found;
    if (map->count >= max)
        empty(map);
    found = mem_alloc(size);
    (void)map_put(map, key, found); /* was absent */
    return found;
}

void pg_know_shard(struct pg_known *known, struct slice key, struct pg_known_shard shard)
{
    struct pg_known_shard *found = find_or_add(
        &known->shards, key, PG_KNOWN_SHARDS_MAX, sizeof *found);

    *found = shard;
}

void pg_know_entity(struct pg_known *known, struct slice id, struct pg_known_entity entity)
{
    struct pg_known_entity *found = find_or_add(
        &known->entities, id, PG_KNOWN_ENTITIES_MAX, sizeof *found);

    *found = entity;
}

void pg_forget_shard(struct pg_known *known, struct slice key)
{
    mem_free(map_take(&known->shards, key));
}

void pg_forget_entities(struct pg_known *known)
{
    empty(&known->entities);
}
