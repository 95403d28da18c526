/* Moves waiting messages between routes and owned shards when a shard starts, stops or is
 * fenced. */
#include "shard/place.h"

#include "base/mark.h"

void place_host(struct routes *routes, struct hosted *hosted, uint64_t now,
                int32_t shard, uint16_t own, struct fence fence)
{
    if (shard_index(shard, routes->shard_count) < 0)
        return;
    owned_start(hosted, now, shard, fence);
    if (!owned_accepts(hosted, shard) && !owned_waits(hosted, shard))
        return; /* refused as stale */
    struct pending_queue queue = { 0 };
    routes_release(routes, shard, &queue);
    owned_adopt(hosted, shard, &queue);
    routes_set_local(routes, shard, own);
}

void place_stopped(struct routes *routes, struct hosted *hosted, int32_t shard)
{
    struct pending_queue queue = { 0 };
    if (owned_state(hosted, shard) != HOSTED_ABSENT)
        return; /* started again since */
    SOMETIMES("a shard stopped with messages waiting for it",
              hosted->budget->count > 0);
    owned_release(hosted, shard, &queue);
    if (routes_find(routes, shard).state == ROUTE_LOCAL)
        routes_forget(routes, shard);
    routes_prepend(routes, shard, &queue);
}

/* Mailboxes first, then the shard's waiting messages. Refused ones stay in `mailboxes`. */
static void gather(struct hosted *hosted, uint64_t now, int32_t shard,
                   struct pending_queue *mailboxes, struct pending_queue *queue)
{
    struct pending_queue refused = { 0 };
    for (struct held *held = mailboxes->first, *next; held; held = next) {
        next = held->next;
        if (!pending_put(queue, hosted->budget, now, held)) {
            struct pending_queue one = { held, held, 1 };
            held->next = NULL;
            pending_append(&refused, &one);
        }
    }
    *mailboxes = refused;
    owned_release(hosted, shard, queue);
}

void place_fenced(struct routes *routes, struct hosted *hosted, uint64_t now,
                  int32_t shard, struct pending_queue *mailboxes)
{
    struct pending_queue queue = { 0 };
    if (shard_index(shard, routes->shard_count) < 0)
        return;
    SOMETIMES("a fenced shard's mailboxes are not empty", mailboxes->count);
    gather(hosted, now, shard, mailboxes, &queue);
    if (owned_waits(hosted, shard)) {
        owned_adopt(hosted, shard, &queue);
        return;
    }
    routes_forget(routes, shard);
    routes_prepend(routes, shard, &queue);
}

void place_returned(struct routes *routes, struct hosted *hosted, uint64_t now,
                    int32_t shard, struct pending_queue *mailboxes)
{
    struct pending_queue queue = { 0 };
    if (shard_index(shard, routes->shard_count) < 0)
        return;
    gather(hosted, now, shard, mailboxes, &queue);
    if (owned_waits(hosted, shard))
        owned_adopt(hosted, shard, &queue);
    else
        routes_prepend(routes, shard, &queue);
}

struct held *place_flush(struct routes *routes, struct hosted *hosted,
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
    } else if (owned_accepts(hosted, shard)) {
        *place = PLACE_ENTITY;
    } else if (owned_waits(hosted, shard)) {
        *place = PLACE_WAIT;
    } else {
        routes_forget(routes, shard);
        return NULL;
    }
    return routes_take(routes, shard);
}
