/* Decides what a lane does with one message for a shard, from its routes and its owned shards. Part
 * of a lane machine, hot path.
 *
 * There are two functions, because an owner that hands a shard off holds what its own lane sends,
 * but accepts what other lanes and nodes sent before their markers. */
#ifndef SHERD_SHARD_PLACE_H
#define SHERD_SHARD_PLACE_H

#include "shard/owned_shards.h"
#include "shard/route.h"

enum place {
    PLACE_ENTITY,  /* append to the entity's mailbox here */
    PLACE_WAIT,    /* owned_hold */
    PLACE_HOLD,    /* routes_hold */
    PLACE_LANE,    /* the ring to route.lane */
    PLACE_PEER,    /* the link to route.peer */
    PLACE_INVALID  /* no such shard: undelivered */
};

/* Follows the route, for the lane `own`. */
static inline enum place place_by_route(const struct hosted *hosted,
                                        struct route route, int32_t shard,
                                        uint16_t own)
{
    switch (route.state) {
    case ROUTE_LOCAL:
        if (route.lane != own)
            return PLACE_LANE;
        if (owned_accepts(hosted, shard))
            return PLACE_ENTITY;
        return owned_waits(hosted, shard) ? PLACE_WAIT : PLACE_HOLD;
    case ROUTE_REMOTE:
        return PLACE_PEER;
    case ROUTE_INVALID:
        return PLACE_INVALID;
    default:
        return PLACE_HOLD;
    }
}

/* Decides for a message that this lane sends: from an entity or actor here, or from a foreign
 * thread. *route is the result of routes_find. */
static inline enum place place_sent(const struct routes *routes,
                                    const struct hosted *hosted, int32_t shard,
                                    uint16_t own, struct route *route)
{
    *route = routes_find(routes, shard);
    return place_by_route(hosted, *route, shard, own);
}

/* Decides for a message that arrived through a ring or a link, or that the owned shards returned.
 * Runs on the lane that owns the shard by the node's rule. The lane that reads a link passes
 * messages and markers to that lane by this rule alone. It ignores its own routes, which may
 * already hold the shard. A message for a shard that is not here waits for its home like one sent
 * here. If the home is elsewhere, the caller forwards only a JVM's message, and keeps its sender.
 * *route is empty unless it was asked for the place. */
static inline enum place place_arrived(const struct routes *routes,
                                       const struct hosted *hosted,
                                       int32_t shard, uint16_t own,
                                       struct route *route)
{
    *route = (struct route){ 0 };
    if (owned_accepts(hosted, shard))
        return PLACE_ENTITY;
    if (owned_waits(hosted, shard))
        return PLACE_WAIT;
    *route = routes_find(routes, shard);
    return place_by_route(hosted, *route, shard, own);
}

/* Handles REGION_HOST on the owning lane: owned_start, then moves the messages in the routes to the
 * shard before any other can arrive. The caller drains the shards' news next. */
void place_host(struct routes *routes, struct hosted *hosted, uint64_t now,
                int32_t shard, uint16_t own, struct fence fence);
/* Handles HOSTED_STOPPED: moves the shard's waiting messages to the routes, before those that wait
 * there. */
void place_stopped(struct routes *routes, struct hosted *hosted, int32_t shard);
/* Handles HOSTED_FENCED. The routes, or the shard's next start here, take the mailboxes of its
 * entities (given, in order; may be empty), then the messages that waited for the shard. The routes
 * forget the home. Messages that a limit refuses stay in `mailboxes`, undelivered. */
void place_fenced(struct routes *routes, struct hosted *hosted, uint64_t now,
                  int32_t shard, struct pending_queue *mailboxes);
/* Handles a stop that took too long: the messages in its entities' mailboxes (given, in order)
 * wait before all others for the shard. Messages that a limit refuses stay in `mailboxes`,
 * undelivered. */
void place_returned(struct routes *routes, struct hosted *hosted, uint64_t now,
                    int32_t shard, struct pending_queue *mailboxes);
/* Handles ROUTES_FLUSH: returns the next message to send and its place (ENTITY, WAIT, LANE, PEER;
 * for the last two the route's lane or peer), or null if none may leave. Forgets a route to this
 * lane for a shard that is not here. Call it until null, or again in a later turn. */
struct held *place_flush(struct routes *routes, struct hosted *hosted,
                         int32_t shard, uint16_t own, enum place *place,
                         struct route *route);

#endif
