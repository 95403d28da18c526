/* The keys of this node. */
#include "base/check.h"
#include "base/limits.h"
#include "store/broker.h"

struct item *keep_find(const struct keep *keep, struct slice key)
{
    return map_get(&keep->map, key);
}

struct item *keep_make(struct broker *broker, struct slice key)
{
    struct keep *keep = &broker->keep;
    struct item *item = keep_find(keep, key);

    if (item || keep->map.count >= broker->settings.keys_max)
        return item;
    item = mem_alloc(sizeof *item + key.size);
    item->key_size = (uint8_t)key.size;
    memcpy(item->key, key.data, key.size);
    item->index = keep->items.count;
    vec_push(&keep->items, item);
    (void)map_put(&keep->map, item_key(item), item); /* it was not there */
    return item;
}

/* One that was made for what was refused then holds nothing. */
static void drop_if_empty(struct broker *broker, struct item *item)
{
    if (!item->siblings.history.entries.count)
        keep_drop(broker, item);
}

bool keep_write(struct broker *broker, struct sherd_ctx *ctx, struct slice key,
                const struct history *seen, bool is_deletion,
                struct slice value)
{
    struct keep *keep = &broker->keep;
    struct item *item = keep_make(broker, key);
    struct dot dot = { broker->self.node, keep->epoch, keep->number + 1 };
    size_t before;
    bool written;

    if (!item)
        return false;
    before = item->siblings.size;
    written = siblings_write(&item->siblings, seen, &dot, wall_s(ctx),
                             is_deletion, value);
    keep->number += written;
    keep->bytes += item->siblings.size - before;
    if (!written)
        drop_if_empty(broker, item);
    return written;
}

bool keep_merge(struct broker *broker, struct slice key,
                const struct siblings *siblings)
{
    struct item *item = keep_make(broker, key);
    size_t before = item ? item->siblings.size : 0;
    bool merged = item && siblings_merge(&item->siblings, siblings);

    if (merged)
        broker->keep.bytes += item->siblings.size - before;
    else
        broker->counts[SHERD_STORE_NOT_TAKEN]++;
    if (item)
        drop_if_empty(broker, item);
    return merged;
}

void keep_drop(struct broker *broker, struct item *item)
{
    struct keep *keep = &broker->keep;
    struct item *last = keep->items.items[keep->items.count - 1];

    (void)map_take(&keep->map, item_key(item)); /* it is there */
    keep->items.items[item->index] = last;
    last->index = item->index;
    keep->items.count--;
    if (broker->walk != UINT32_MAX && broker->walk > item->index)
        broker->walk = item->index; /* `last` may not have been looked at */
    keep->bytes -= item->siblings.size;
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
