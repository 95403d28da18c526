/* Moves waiting messages between routes and owned shards when a shard starts, stops or is
 * fenced. */
#include "shard/place.h"

#include "base/mark.h"

void place_host(struct routes *routes, struct owned_shards *owned, uint64_t now,
                int32_t shard, uint16_t own, struct fence fence)
{
    if (shard_index(shard, routes->shard_count) < 0)
        return;
    owned_start(owned, now, shard, fence);
    if (!owned_accepts(owned, shard) && !owned_waits(owned, shard))
        return; /* refused as stale */
    struct pending_queue queue = { 0 };
    routes_release(routes, shard, &queue);
    owned_adopt(owned, shard, &queue);
    routes_set_local(routes, shard, own);
}

void place_stopped(struct routes *routes, struct owned_shards *owned, int32_t shard)
{
    struct pending_queue queue = { 0 };
    if (owned_state(owned, shard) != OWNED_ABSENT)
        return; /* started again since */
    SOMETIMES("a shard stopped with messages waiting for it",
              owned->budget->count > 0);
    owned_release(owned, shard, &queue);
    if (routes_find(routes, shard).state == ROUTE_LOCAL)
        routes_forget(routes, shard);
    routes_prepend(routes, shard, &queue);
}

/* Mailboxes first, then the shard's waiting messages. Refused ones stay in `mailboxes`. */
static void gather(struct owned_shards *owned, uint64_t now, int32_t shard,
                   struct pending_queue *mailboxes, struct pending_queue *queue)
{
    struct pending_queue refused = { 0 };
    for (struct pending_item *held = mailboxes->first, *next; held; held = next) {
        next = held->next;
        if (!pending_put(queue, owned->budget, now, held)) {
            struct pending_queue one = { held, held, 1 };
            held->next = NULL;
            pending_append(&refused, &one);
        }
    }
    *mailboxes = refused;
    owned_release(owned, shard, queue);
}

void place_fenced(struct routes *routes, struct owned_shards *owned, uint64_t now,
                  int32_t shard, struct pending_queue *mailboxes)
{
    struct pending_queue queue = { 0 };
    if (shard_index(shard, routes->shard_count) < 0)
        return;
    SOMETIMES("a fenced shard's mailboxes are not empty", mailboxes->count);
    gather(owned, now, shard, mailboxes, &queue);
    if (owned_waits(owned, shard)) {
        owned_adopt(owned, shard, &queue);
        return;
    }
    routes_forget(routes, shard);
    routes_prepend(routes, shard, &queue);
}

void place_returned(struct routes *routes, struct owned_shards *owned, uint64_t now,
                    int32_t shard, struct pending_queue *mailboxes)
{
    struct pending_queue queue = { 0 };
    if (shard_index(shard, routes->shard_count) < 0)
        return;
    gather(owned, now, shard, mailboxes, &queue);
    if (owned_waits(owned, shard))
        owned_adopt(owned, shard, &queue);
    else
        routes_prepend(routes, shard, &queue);
}

struct pending_item *place_flush(struct routes *routes, struct owned_shards *owned,
                                 int32_t shard, uint16_t own, enum place *place,
                                 struct route *route)
{
    *route = routes_find(routes, shard);
    if (route->state != ROUTE_FLUSHING)
        return NULL;
    if (route->target == ROUTE_REMOTE) {
        *place = PLACE_PEER;
    } else if (route->lane != own) {
        *place = PLACE_LANE;
    } else if (owned_accepts(owned, shard)) {
        *place = PLACE_ENTITY;
    } else if (owned_waits(owned, shard)) {
        *place = PLACE_WAIT;
    } else {
        routes_forget(routes, shard);
        return NULL;
    }
    return routes_take(routes, shard);
}
