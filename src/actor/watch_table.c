/* Keeps watches: which actors receive SHERD_TERMINATED when an actor ends. Each is one item, found
 * by (watcher, watched), in a list of each of the two that lives here. The first SHERD_TERMINATED
 * takes the item away, so there is exactly one. */
#include "actor/inside.h"

static uint32_t bucket_of(const struct watches *watches,
                          struct sherd_ref watcher, struct sherd_ref watched)
{
    uint64_t mixed = watcher.actor * UINT64_C(0x9e3779b97f4a7c15) ^
                     (watched.actor + watched.node) *
                         UINT64_C(0xc2b2ae3d27d4eb4f);

    mixed ^= watcher.node;
    mixed ^= mixed >> 29;
    return (uint32_t)(mixed * UINT64_C(0xbf58476d1ce4e5b9) >> 32) &
           (watches->bucket_count - 1);
}

uint32_t watch_find(const struct watches *watches, struct sherd_ref watcher,
                     struct sherd_ref watched)
{
    uint32_t at;

    if (watches->bucket_count == 0)
        return 0;
    for (at = watches->buckets[bucket_of(watches, watcher, watched)]; at;
         at = watches->items.items[at].chain)
        if (ref_equal(watches->items.items[at].watcher, watcher) &&
            ref_equal(watches->items.items[at].watched, watched))
            return at;
    return 0;
}

static void grow(struct watches *watches)
{
    uint32_t count = watches->bucket_count ? watches->bucket_count * 2 : 64;
    uint32_t *old = watches->buckets;
    uint32_t old_count = watches->bucket_count;

    watches->buckets = mem_alloc(count * sizeof *watches->buckets);
    watches->bucket_count = count;
    for (uint32_t i = 0; i < old_count; i++)
        for (uint32_t at = old[i]; at;) {
            struct watch *watch = &watches->items.items[at];
            uint32_t next = watch->chain;
            uint32_t bucket =
                bucket_of(watches, watch->watcher, watch->watched);

            watch->chain = watches->buckets[bucket];
            watches->buckets[bucket] = at;
            at = next;
        }
    mem_free(old);
}

/* Adds an item, in no list yet; 0 at the limit. */
uint32_t watch_add(struct actors *actors, struct sherd_ref watcher,
                    struct sherd_ref watched)
{
    struct watches *watches = &actors->watches;
    struct watch watch = { .watcher = watcher, .watched = watched };
    uint32_t at = watches->free;
    uint32_t bucket;

    if (watches->count >= actors->settings.watches_max) {
        actors->counts.watches_refused++;
        trace_put(actors->settings.trace, TRACE_ERROR, "actor",
                  "watch refused: the lane has too many watches=%u "
                  "hint=\"unwatch actors that are no longer needed\"",
                  watches->count);
        return 0;
    }
    if (watches->items.count == 0)
        vec_push(&watches->items, watch);
    if (watches->count >= watches->bucket_count)
        grow(watches);
    bucket = bucket_of(watches, watcher, watched);
    watch.chain = watches->buckets[bucket];
    if (at) {
        watches->free = watches->items.items[at].chain;
        watches->items.items[at] = watch;
    } else {
        at = watches->items.count;
        vec_push(&watches->items, watch);
    }
    watches->buckets[bucket] = at;
    watches->count++;
    return at;
}

void watch_link_by(struct actors *actors, uint32_t at, struct slot *watcher)
{
    struct watch *items = actors->watches.items.items;
    struct extra *extra = slot_extra(actors, watcher);

    items[at].by_next = extra->watching;
    items[at].by_prev = 0;
    if (extra->watching)
        items[extra->watching].by_prev = at;
    extra->watching = at;
    items[at].by_linked = 1;
}

static void link_of(struct actors *actors, uint32_t at, struct slot *watched)
{
    struct watch *items = actors->watches.items.items;
    struct extra *extra = slot_extra(actors, watched);

    items[at].of_next = extra->watchers;
    items[at].of_prev = 0;
    if (extra->watchers)
        items[extra->watchers].of_prev = at;
    extra->watchers = at;
    items[at].of_linked = 1;
}

static void unlink_by(struct actors *actors, uint32_t at)
{
    struct watch *items = actors->watches.items.items;
    struct watch *watch = &items[at];
    struct slot *slot;

    if (!watch->by_linked)
        return; /* its slot may be another lane's */
    slot = slot_at(actors, actor_id_slot(watch->watcher.actor));
    watch->by_linked = 0;
    if (watch->by_next)
        items[watch->by_next].by_prev = watch->by_prev;
    if (watch->by_prev)
        items[watch->by_prev].by_next = watch->by_next;
    else
        extra_of(actors, slot)->watching = watch->by_next;
}

void watch_unlink_of(struct actors *actors, uint32_t at)
{
    struct watch *items = actors->watches.items.items;
    struct watch *watch = &items[at];
    struct slot *slot;

    if (!watch->of_linked)
        return; /* its slot may be another lane's */
    slot = slot_at(actors, actor_id_slot(watch->watched.actor));
    watch->of_linked = 0;
    if (watch->of_next)
        items[watch->of_next].of_prev = watch->of_prev;
    if (watch->of_prev)
        items[watch->of_prev].of_next = watch->of_next;
    else
        extra_of(actors, slot)->watchers = watch->of_next;
}

void watch_remove(struct actors *actors, uint32_t at)
{
    struct watches *watches = &actors->watches;
    struct watch *watch = &watches->items.items[at];
    uint32_t *link = &watches->buckets[bucket_of(watches, watch->watcher,
                                                 watch->watched)];

    unlink_by(actors, at);
    watch_unlink_of(actors, at);
    while (*link != at)
        link = &watches->items.items[*link].chain;
    *link = watch->chain;
    watch->watcher = watch->watched = (struct sherd_ref){ 0, 0 };
    watch->chain = watches->free;
    watches->free = at;
    watches->count--;
}

bool watch_take(struct actors *actors, uint32_t index, struct slot *slot,
                struct sherd_ref watched)
{
    uint32_t at = watch_find(&actors->watches, slot_ref(actors, slot, index), watched);

    if (at == 0)
        return false;
    watch_remove(actors, at);
    return true;
}

void watch_arrived(struct actors *actors, struct message *message)
{
    struct slot *slot = slot_of(actors, message->to.actor);
    uint32_t at = watch_find(&actors->watches, message->sender, message->to);

    /* A local watcher without an item has unwatched or ended. */
    if (at == 0 && !is_here(actors, message->sender))
        at = watch_add(actors, message->sender, message->to);
    if (at && slot && !actors->watches.items.items[at].of_linked)
        link_of(actors, at, slot);
    message_free(actors, message);
}

void unwatch_arrived(struct actors *actors, struct message *message)
{
    uint32_t at = watch_find(&actors->watches, message->sender, message->to);

    if (at && !actors->watches.items.items[at].by_linked)
        watch_remove(actors, at);
    message_free(actors, message);
}

void watches_fini(struct actors *actors)
{
    vec_fini(&actors->watches.items);
    mem_free(actors->watches.buckets);
}
