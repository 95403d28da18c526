/* Tracks where the shards of one entity type are, as one lane sees it, and holds messages until a
 * home is known. Part of a lane machine; one `struct routes` for each type and lane.
 *
 * Every change of a home comes by mail from the region on control (region.h), which compares
 * fences. Mail keeps its order, and repeating a call does no harm. Waiting messages leave in order
 * before the direct way opens. So one lane's messages to one entity keep their order across look-up
 * and hand-off.
 *
 * UNKNOWN --hold--> ASKED --set--> FLUSHING --empty--> LOCAL / REMOTE
 * any --hold_begin--> HELD --set--> FLUSHING or LOCAL / REMOTE
 * REMOTE --doubt--> ASKED
 * LOCAL / REMOTE / FLUSHING --forget, node_gone--> UNKNOWN or, while something waits, ASKED
 * any --set_gone--> UNKNOWN or, while something waits, ASKED
 *
 * docs/protocol/shard.md describes the states. */
#ifndef SHERD_SHARD_ROUTE_H
#define SHERD_SHARD_ROUTE_H

#include "base/check.h"
#include "shard/pending.h"
#include "shard/shard_id.h"

enum route_state {
    ROUTE_UNKNOWN,  /* hold; the first message asks for the home */
    ROUTE_ASKED,    /* hold */
    ROUTE_LOCAL,    /* pass it to `lane` of this node */
    ROUTE_REMOTE,   /* write it to `peer` */
    ROUTE_HELD,     /* hold: a hand-off is in progress */
    /* hold, then routes_take: the home is known, but older messages have not left */
    ROUTE_FLUSHING,
    ROUTE_INVALID   /* no such shard */
};

struct route {
    uint8_t state; /* enum route_state */
    /* ROUTE_LOCAL or ROUTE_REMOTE in FLUSHING, LOCAL and REMOTE; else ROUTE_UNKNOWN */
    uint8_t target;
    uint8_t lane; /* when the target is LOCAL */
    bool asked; /* ASKED, HELD: control has the question; not after routes_set_gone */
    uint32_t peer; /* when the target is REMOTE: the lane's own index of a peer */
};

struct routes_options {
    uint32_t shard_count;       /* shards of the type, 1..SHARDS_MAX */
    struct pending_budget *budget; /* lent for its lifetime; shared with the type's owned shards */
};

struct routes_counters {
    uint64_t held;      /* messages that began to wait */
    uint64_t flushed;   /* messages taken to a home */
    uint64_t drained;   /* messages taken without a home: routes_drain */
    uint64_t asked;     /* requests for a home */
    uint64_t hold_begun;
    uint64_t ignored;   /* calls for a shard out of range */
};

enum routes_news_kind {
    /* mail to control: region_want_home(shard); once whenever the home becomes unknown */
    ROUTES_WANT_HOME,
    ROUTES_DOUBT_HOME, /* mail to control: region_doubt_home(shard) */
    ROUTES_FLUSH /* take the waiting messages: routes_take until null, now or over several turns */
};

struct routes_news {
    enum routes_news_kind kind;
    int32_t shard;
};

struct routes {
    struct route *table;         /* by index; 2 * shard_count - 1 entries */
    struct pending_queue **waiting; /* by index; null = nothing waits */
    struct pending_budget *budget;
    struct routes_news *news;
    uint32_t news_first;
    uint32_t news_count;
    uint32_t news_capacity;
    uint32_t shard_count;
    struct routes_counters counters;
};

/* Fills the caller's object. */
void routes_init(struct routes *routes, const struct routes_options *options);
/* Take all waiting messages before: routes_take_any. Accepts null and zero. */
void routes_fini(struct routes *routes);

/* The hot path: returns what to do with a message for a shard. Takes any number; ROUTE_INVALID if
 * out of range. */
static inline struct route routes_find(const struct routes *routes,
                                       int32_t shard)
{
    int64_t index = shard_index(shard, routes->shard_count);
    return index >= 0 ? routes->table[index]
                      : (struct route){ ROUTE_INVALID, ROUTE_UNKNOWN, 0, false, 0 };
}

/* Keeps a message for its shard; given if true. Returns false at a limit, or if there is no such
 * shard; the caller keeps the message, which is undelivered. In LOCAL and REMOTE it first forgets
 * the home, which the caller found wrong. */
bool routes_hold(struct routes *routes, uint64_t now, int32_t shard,
                 struct held *held);
/* Moves all messages that wait for a shard to the end of `queue`, in any state; for place_host. */
void routes_release(struct routes *routes, int32_t shard,
                    struct pending_queue *queue);
/* Puts messages that waited elsewhere on this lane (owned_release) before those that wait here;
 * given. */
void routes_prepend(struct routes *routes, int32_t shard,
                    struct pending_queue *queue);

/* Set the home of a shard. FLUSHING (and ROUTES_FLUSH) while messages wait, else LOCAL or REMOTE at
 * once. */
void routes_set_local(struct routes *routes, int32_t shard, uint16_t lane);
void routes_set_remote(struct routes *routes, int32_t shard, uint32_t peer);
/* The home is a node that has gone, which the region does not know yet. Messages keep waiting, and
 * no home is asked for until routes_ask_again. */
void routes_set_gone(struct routes *routes, int32_t shard);
/* Asks again for the homes of all shards with waiting messages whose home had gone. */
void routes_ask_again(struct routes *routes);
/* Handles REGION_HOLD: holds the shard from now on. Waiting messages stay. Then the lane sends its
 * marker after everything that it sent before, and mails region_lane_held. */
void routes_hold_begin(struct routes *routes, int32_t shard);
/* Handles REGION_FORGET, or a home that the lane found wrong. Asks for the home again if messages
 * wait. No effect in HELD. */
void routes_forget(struct routes *routes, int32_t shard);
/* A message arrived for a shard whose home is elsewhere: REMOTE becomes ASKED, and the region
 * checks the home. No effect in other states. */
void routes_doubt(struct routes *routes, int32_t shard);
/* Forgets every home at a peer. */
void routes_peer_gone(struct routes *routes, uint32_t peer);

/* Returns the next message for a shard in FLUSHING, now the caller's, to send to the target of
 * routes_find. Returns null if none is left, which opens the direct way, and in any other state. */
struct held *routes_take(struct routes *routes, int32_t shard);
/* Handles REGION_DROP (Akka drops these messages too) or the end of a wait: returns the oldest
 * message in any state, null if there is none. The caller makes it undelivered. */
struct held *routes_drain(struct routes *routes, int32_t shard);
/* The same over all shards in index order, for the end of the node. */
struct held *routes_take_any(struct routes *routes);

/* Returns false if there is none. */
bool routes_next_news(struct routes *routes, struct routes_news *news);

uint32_t routes_waiting(const struct routes *routes, int32_t shard);
/* Returns the oldest message that waits for an unknown home, lent; `next` leads to the others. Null
 * if there is none. */
const struct held *routes_homeless(const struct routes *routes, int32_t shard);
/* Returns the start of the oldest message's wait in ns; 0 if none waits. With the state it names
 * the stage of a time-out. */
uint64_t routes_waiting_since(const struct routes *routes, int32_t shard);
/* Returns "unknown", "asked", ...: a literal. */
const char *route_state_name(uint8_t state);

#endif
