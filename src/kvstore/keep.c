/* Stores the keys of this node. */
#include "base/check.h"
#include "base/limits.h"
#include "kvstore/broker.h"

struct item *keep_find(const struct keep *keep, struct slice key)
{
    return map_get(&keep->map, key);
}

/* without the siblings */
static size_t bare_size(const struct item *item)
{
    return sizeof *item + item->key_size;
}

/* Makes the item if there is room for another key; else null. */
static struct item *make(struct broker *broker, struct slice key)
{
    struct keep *keep = &broker->keep;
    struct item *item = keep_find(keep, key);

    if (item || keep->map.count >= broker->settings.keys_max)
        return item;
    item = mem_alloc(sizeof *item + key.size);
    item->epoch = keep->epoch;
    item->key_size = (uint8_t)key.size;
    memcpy(item->key, key.data, key.size);
    item->index = keep->items.count;
    vec_push(&keep->items, item);
    (void)map_put(&keep->map, item_key(item), item);
    keep->bytes += bare_size(item) + siblings_size(&item->siblings);
    return item;
}

/* Drops an item that was made for a refused write. */
static void drop_if_empty(struct broker *broker, struct item *item)
{
    if (!item->siblings.history.entries.count)
        keep_drop(broker, item);
}

static bool has_room(struct broker *broker, size_t growth)
{
    if (!growth || broker->keep.bytes + growth <= broker->settings.bytes_max)
        return true;
    broker->counts[SHERD_STORE_FULL]++;
    return false;
}

bool keep_write(struct broker *broker, struct sherd_ctx *ctx, struct slice key,
                const struct history *seen, bool is_deletion,
                struct slice value)
{
    struct keep *keep = &broker->keep;
    struct item *item = make(broker, key);
    struct dot dot = { broker->id, 0, keep->number + 1 };
    size_t before;
    bool written;

    if (!item) {
        broker->counts[SHERD_STORE_FULL]++;
        return false;
    }
    dot.epoch = item->epoch;
    before = siblings_size(&item->siblings);
    written = has_room(broker, siblings_write_growth(&item->siblings, seen,
                                                     &dot, value)) &&
              siblings_write(&item->siblings, seen, &dot, wall_s(ctx),
                             is_deletion, value);
    keep->number += written;
    keep->bytes += siblings_size(&item->siblings) - before;
    if (!written)
        drop_if_empty(broker, item);
    return written;
}

static bool merge(struct broker *broker, struct item *item,
                  const struct siblings *siblings)
{
    size_t before = siblings_size(&item->siblings);
    bool merged =
        has_room(broker, siblings_merge_growth(&item->siblings, siblings)) &&
        siblings_merge(&item->siblings, siblings);

    broker->keep.bytes += siblings_size(&item->siblings) - before;
    return merged;
}

bool keep_merge(struct broker *broker, struct slice key,
                const struct siblings *siblings)
{
    struct item *item = make(broker, key);
    bool merged = item && merge(broker, item, siblings);

    broker->counts[SHERD_STORE_FULL] += !item;
    broker->counts[SHERD_STORE_NOT_TAKEN] += !merged;
    if (item)
        drop_if_empty(broker, item);
    return merged;
}

void keep_drop(struct broker *broker, struct item *item)
{
    struct keep *keep = &broker->keep;
    struct item *last = keep->items.items[keep->items.count - 1];

    (void)map_take(&keep->map, item_key(item));
    keep->items.items[item->index] = last;
    last->index = item->index;
    keep->items.count--;
    if (broker->walk != UINT32_MAX && broker->walk > item->index)
        broker->walk = item->index; /* the walk may not have reached `last` */
    keep->bytes -= bare_size(item) + siblings_size(&item->siblings);
    keep->epoch++;
    siblings_fini(&item->siblings);
    mem_free(item);
}

void keep_fini(struct keep *keep)
{
    for (uint32_t i = 0; i < keep->items.count; i++) {
        siblings_fini(&keep->items.items[i]->siblings);
        mem_free(keep->items.items[i]);
    }
    vec_fini(&keep->items);
    map_fini(&keep->map);
}
