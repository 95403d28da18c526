/* Keeps watches of JVM nodes by number and by texts. */
#include "node/peers/watchers.h"

#include "actor/message.h"
#include "base/bound.h"
#include "base/check.h"
#include "base/limits.h"

#define NO_LANE 255u /* above LANES_MAX: no actor has such a number */

static struct buf key_of(uint64_t node, struct slice watchee,
                         struct slice watcher)
{
    struct buf key = { 0 };

    buf_put(&key, &node, sizeof node);
    buf_put_slice(&key, watchee);
    buf_put_u8(&key, 0);
    buf_put_slice(&key, watcher);
    return key;
}

static void forget(struct watchers *watchers, struct watcher *watcher)
{
    (void)map_take(&watchers->by_key, buf_slice(&watcher->key)); /* this one */
    (void)map_take(&watchers->by_number, map_u64(&watcher->number));
    buf_fini(&watcher->key);
    mem_free(watcher);
}

void watchers_fini(struct watchers *watchers)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(&watchers->by_number, &at, &entry))
        forget(watchers, entry.value);
    map_fini(&watchers->by_number);
    map_fini(&watchers->by_key);
}

struct sherd_ref watchers_put(struct watchers *watchers, uint64_t node,
                              struct slice watchee, struct slice watcher)
{
    struct sherd_ref ref = watchers_known(watchers, node, watchee, watcher);
    struct watcher *item;

    if (!ref_is_nobody(ref))
        return ref;
    if (watchers->by_number.count >= WATCHERS_MAX) {
        watchers->refused++;
        return ref;
    }
    item = mem_alloc(sizeof *item);
    item->number = actor_id_make(NO_LANE, 0, 0) | ++watchers->last;
    item->node = node;
    item->key = key_of(node, watchee, watcher);
    item->watchee = slice_of(item->key.data + sizeof node, watchee.size);
    item->watcher = slice_of(item->watchee.data + watchee.size + 1,
                             watcher.size);
    map_put(&watchers->by_number, map_u64(&item->number), item);
    BOUNDED("watches of other nodes' actors", watchers->by_number.count,
            WATCHERS_MAX);
    map_put(&watchers->by_key, buf_slice(&item->key), item);
    return (struct sherd_ref){ node, item->number };
}

struct sherd_ref watchers_known(const struct watchers *watchers, uint64_t node,
                                struct slice watchee, struct slice watcher)
{
    struct buf key = key_of(node, watchee, watcher);
    const struct watcher *item = map_get(&watchers->by_key, buf_slice(&key));

    buf_fini(&key);
    return item ? (struct sherd_ref){ node, item->number }
                : (struct sherd_ref){ 0, 0 };
}

static struct watcher *find(const struct watchers *watchers,
                            struct sherd_ref ref)
{
    struct watcher *item;

    if (actor_id_lane(ref.actor) != NO_LANE)
        return NULL;
    item = map_get(&watchers->by_number, map_u64(&ref.actor));
    return item && item->node == ref.node ? item : NULL;
}

const struct watcher *watchers_find(const struct watchers *watchers,
                                    struct sherd_ref ref)
{
    return find(watchers, ref);
}

void watchers_drop(struct watchers *watchers, struct sherd_ref ref)
{
    struct watcher *item = find(watchers, ref);

    if (item)
        forget(watchers, item);
}

void watchers_node_gone(struct watchers *watchers, uint64_t node)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(&watchers->by_number, &at, &entry))
        if (((struct watcher *)entry.value)->node == node)
            forget(watchers, entry.value);
}
