/* What a lane does with one message for a shard: the one decision that joins routes and hosted. Lane machine, hot path.
 *
 * Two questions, because an owner that hands a shard off holds what its own lane sends, yet accepts what other lanes and
 * nodes sent before their markers. */
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

/* Where the route leads, for the lane `own`. */
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

/* A message that this lane sends: from an entity or actor here, or from a foreign thread. *route is routes_find's answer. */
static inline enum place place_sent(const struct routes *routes,
                                    const struct hosted *hosted, int32_t shard,
                                    uint16_t own, struct route *route)
{
    *route = routes_find(routes, shard);
    return place_by_route(hosted, *route, shard, own);
}

/* A message that came by a ring or a link, or that hosted gave back; on the lane that the node's rule gives to the shard. The lane that
 * reads a link passes messages and markers on to that lane by the rule alone, without a look at its own routes, which
 * may hold the shard already. One for a shard that is not here waits for its home like one sent here (behaviour 16.3); if that is
 * elsewhere, the caller sends on only a JVM's, with its sender kept (wire 7.4.9). *route is empty unless it was
 * asked for the place. */
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

/* REGION_HOST on the owning lane: owned_start, and what waits in the routes moves to the shard before anything else can
 * arrive for it. The caller drains hosted's news next. */
void place_host(struct routes *routes, struct hosted *hosted, uint64_t now,
                int32_t shard, uint16_t own, struct fence fence);
/* HOSTED_STOPPED: what waited for the shard goes to the routes, before what they hold. */
void place_stopped(struct routes *routes, struct hosted *hosted, int32_t shard);
/* HOSTED_FENCED: the mailboxes of its entities (given, in order; may be empty), then what waited for the shard, wait in the
 * routes, which forget the home; or for its next start here. Left in `mailboxes`: those refused at a limit, undelivered. */
void place_fenced(struct routes *routes, struct hosted *hosted, uint64_t now,
                  int32_t shard, struct pending_queue *mailboxes);
/* A stop that took too long: what waited in the mailboxes of its entities (given, in order) waits before all else that is held
 * for the shard. Left in `mailboxes`: those refused at a limit, undelivered. */
void place_returned(struct routes *routes, struct hosted *hosted, uint64_t now,
                    int32_t shard, struct pending_queue *mailboxes);
/* ROUTES_FLUSH: the next message to leave and where to (ENTITY, WAIT, LANE, PEER; then the route's lane or peer); null when none
 * may leave. A route to this lane for a shard that is not here is forgotten. Call until null, or again in a later turn. */
struct held *place_flush(struct routes *routes, struct hosted *hosted,
                         int32_t shard, uint16_t own, enum place *place,
                         struct route *route);

#endif
