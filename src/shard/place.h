/* Decides what a lane does with a message for a shard, from its routes and owned shards. Hot path.
 *
 * Sent and arrived messages differ: an owner that hands a shard off buffers its own lane's
 * messages, but accepts those that others sent before their markers. */
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

static inline enum place place_by_route(const struct owned_shards *owned,
                                        struct route route, int32_t shard,
                                        uint16_t own)
{
    switch (route.state) {
    case ROUTE_LOCAL:
        if (route.lane != own)
            return PLACE_LANE;
        if (owned_accepts(owned, shard))
            return PLACE_ENTITY;
        return owned_waits(owned, shard) ? PLACE_WAIT : PLACE_HOLD;
    case ROUTE_REMOTE:
        return PLACE_PEER;
    case ROUTE_INVALID:
        return PLACE_INVALID;
    default:
        return PLACE_HOLD;
    }
}

/* Decides for a message of an actor or entity of this lane, or of a thread of the program. *route
 * is from routes_find. */
static inline enum place place_sent(const struct routes *routes,
                                    const struct owned_shards *owned, int32_t shard,
                                    uint16_t own, struct route *route)
{
    *route = routes_find(routes, shard);
    return place_by_route(owned, *route, shard, own);
}

/* Decides for a message from a ring, a link or the owned shards, on the shard's own lane. The lane
 * that reads a link chooses this lane by the shard's hash alone, because its own routes may already
 * buffer for the shard. If the shard's home is elsewhere, the caller forwards only a JVM's message,
 * and keeps its sender. *route stays empty unless it is needed. */
static inline enum place place_arrived(const struct routes *routes,
                                       const struct owned_shards *owned,
                                       int32_t shard, uint16_t own,
                                       struct route *route)
{
    *route = (struct route){ 0 };
    if (owned_accepts(owned, shard))
        return PLACE_ENTITY;
    if (owned_waits(owned, shard))
        return PLACE_WAIT;
    *route = routes_find(routes, shard);
    return place_by_route(owned, *route, shard, own);
}

/* REGION_HOST on the owning lane: owned_start, then moves the routes' messages to the shard before
 * any other arrives. Drain the shards' news next. */
void place_host(struct routes *routes, struct owned_shards *owned, uint64_t now,
                int32_t shard, uint16_t own, struct fence fence);
/* OWNED_STOPPED: moves waiting messages to the routes, before those that wait there. */
void place_stopped(struct routes *routes, struct owned_shards *owned, int32_t shard);
/* OWNED_FENCED: moves the entities' mailboxes (given, in order; may be empty), then the shard's
 * waiting messages, to the routes or to the shard's next start here. The routes forget the home.
 * Messages refused at a limit stay in `mailboxes`, undelivered. */
void place_fenced(struct routes *routes, struct owned_shards *owned, uint64_t now,
                  int32_t shard, struct pending_queue *mailboxes);
/* The stop took too long: the entities' mailboxes (given, in order) wait before all else for the
 * shard. Messages refused at a limit stay in `mailboxes`, undelivered. */
void place_returned(struct routes *routes, struct owned_shards *owned, uint64_t now,
                    int32_t shard, struct pending_queue *mailboxes);
/* ROUTES_FLUSH: returns the next message to send, with its place (ENTITY, WAIT, LANE, PEER) and
 * route; null if none may leave. Forgets a route to this lane for an absent shard. Call it until
 * null, or again in a later turn. */
struct pending_item *place_flush(struct routes *routes, struct owned_shards *owned,
                                 int32_t shard, uint16_t own, enum place *place,
                                 struct route *route);

#endif
