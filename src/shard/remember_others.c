/* Handles changes of other nodes to a shared store: stores living entities again, and starts new
 * ones. */
#include "shard/remember_inside.h"

#include "base/mark.h"
#include "shard/remember_keys.h"

void remember_store_again(struct remember *remember, struct remembered *entity)
{
    REACHED("an entity that other nodes removed is stored again");
    entity->stored = false;
    entity->stays = true;
    remember->counters.again++;
}

/* Changes of a key come after the answers to all earlier writes, so an unknown entity was added by
 * another node. Null: it stays. */
static struct remembered *comes_late(struct remember *remember,
                                     struct remember_shard *at, uint32_t key,
                                     struct slice id)
{
    struct remembered *entity;

    if (!id.size || remember_key_of(id) != key)
        return NULL; /* no node would remove it there */
    entity = remember_add(remember, at, id);
    if (!entity)
        return NULL;
    REACHED("a remembered entity appears after its shard was read");
    entity->stored = entity->wanted = true;
    remember_due_put(remember, at, entity);
    remember->counters.late++;
    return entity;
}

/* Returns how many ids of the key are in the store. */
static uint32_t take_starts(struct remember *remember,
                            struct remember_shard *at, uint32_t key,
                            struct slice record)
{
    struct remember_changes changes = remember_changes_of(record);
    uint32_t count = 0;
    struct slice id;
    bool is_start;

    while (remember_changes_next(&changes, &id, &is_start)) {
        struct remembered *entity = remember_find(at, id);

        if (!entity)
            entity = comes_late(remember, at, key, id);
        if (!entity || entity->is_there)
            continue;
        entity->is_there = true;
        count += remember_key_of(id) == key;
    }
    return count;
}

static void unmark(const struct remember_shard *at, struct slice record)
{
    struct remember_changes changes = remember_changes_of(record);
    struct slice id;
    bool is_start;

    while (remember_changes_next(&changes, &id, &is_start)) {
        struct remembered *entity = remember_find(at, id);

        if (entity)
            entity->is_there = false;
    }
}

/* Goes through all ids, so only if one is missing or on its way. */
static uint32_t queue_missing(struct remember *remember,
                              struct remember_shard *at, uint32_t key)
{
    struct map_entry entry;
    uint32_t count = 0;

    for (uint32_t i = 0; map_next(&at->ids, &i, &entry);) {
        struct remembered *entity = entry.value;
        bool is_there = entity->is_there;

        entity->is_there = false;
        if (is_there || !entity->wanted || entity->flying ||
            entity->queued || remember_key_of(remembered_id(entity)) != key)
            continue;
        remember_store_again(remember, entity);
        remember_queue_put(at, entity);
        count++;
    }
    return count;
}

void remember_changed(struct remember *remember, uint64_t now, int32_t shard,
                      uint32_t key, struct slice record)
{
    struct remember_shard *at = remember_here(remember, shard);
    struct trace *trace = remember->options.trace;
    bool is_lined_up;
    uint64_t late = remember->counters.late;
    uint32_t there;
    uint32_t count;

    if (!at || at->state != REMEMBER_READY)
        return;
    is_lined_up = at->dues.count > 0;
    there = take_starts(remember, at, key, record);
    count = (uint32_t)(remember->counters.late - late);
    if (count)
        trace_put(trace, TRACE_INFO, "shard",
                  "remembered entities started that a former node of the shard "
                  "added late type=%s shard=%d entities=%u",
                  remember->options.type, shard, count);
    if (count && !is_lined_up)
        remember_line_up(remember, now, at, shard);
    if (there == at->of_key[key]) {
        unmark(at, record);
        return;
    }
    count = queue_missing(remember, at, key);
    if (count)
        trace_put(trace, TRACE_INFO, "shard",
                  "remembered entities stored again that a former node of the "
                  "shard removed type=%s shard=%d entities=%u",
                  remember->options.type, shard, count);
    remember_write_next(remember, now, at, shard);
}
