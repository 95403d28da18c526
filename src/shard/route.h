/* Tracks where one type's shards are, as one lane sees it, and buffers messages without a home. One
 * `struct routes` for each type and lane.
 *
 * Changes of homes come by mail, in order, from the region (region.h), which compares fences.
 * Repeated calls do no harm. Waiting messages leave before the direct way opens, so a lane's
 * messages to an entity keep their order.
 *
 * UNKNOWN --hold--> ASKED --set--> FLUSHING --empty--> LOCAL / REMOTE
 * any --hold_begin--> HELD --set--> FLUSHING or LOCAL / REMOTE
 * REMOTE --suspect--> ASKED
 * LOCAL / REMOTE / FLUSHING --forget, node_gone--> UNKNOWN or, while something waits, ASKED
 * any --set_gone--> UNKNOWN or, while something waits, ASKED */
#ifndef SHERD_SHARD_ROUTE_H
#define SHERD_SHARD_ROUTE_H

#include "base/check.h"
#include "shard/pending.h"
#include "shard/shard_id.h"

enum route_state {
    ROUTE_UNKNOWN,  /* buffer; the first message asks for the home */
    ROUTE_ASKED,    /* buffer */
    ROUTE_LOCAL,    /* pass it to `lane` of this node */
    ROUTE_REMOTE,   /* write it to `peer` */
    ROUTE_HELD,     /* buffer during a hand-off */
    ROUTE_FLUSHING, /* buffer, then routes_take, until older messages have left */
    ROUTE_INVALID   /* no such shard */
};

struct route {
    uint8_t state; /* enum route_state */
    uint8_t target; /* LOCAL or REMOTE in FLUSHING, LOCAL and REMOTE; else UNKNOWN */
    uint8_t lane; /* when the target is LOCAL */
    bool asked; /* ASKED, HELD: control has the question */
    uint32_t peer; /* REMOTE: the lane's index of the peer */
};

struct routes_options {
    uint32_t shard_count;       /* 1..SHARDS_MAX */
    struct pending_budget *budget; /* lent; shared with the type's owned shards */
};

struct routes_counters {
    uint64_t held;
    uint64_t flushed;   /* messages taken to a home */
    uint64_t drained;   /* messages taken without one: routes_drain */
    uint64_t asked;
    uint64_t hold_begun;
    uint64_t ignored;   /* calls for a shard out of range */
};

enum routes_news_kind {
    /* mail region_request_home to control; once each time the home becomes unknown */
    ROUTES_REQUEST_HOME,
    ROUTES_DOUBT_HOME, /* mail region_suspect_home to control */
    ROUTES_FLUSH      /* routes_take until null, now or over several turns */
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

void routes_init(struct routes *routes, const struct routes_options *options);
/* Take all messages before: routes_take_any. Zero and null are allowed. */
void routes_fini(struct routes *routes);

/* Hot path: returns what to do with a message; ROUTE_INVALID if out of range. */
static inline struct route routes_find(const struct routes *routes,
                                       int32_t shard)
{
    int64_t index = shard_index(shard, routes->shard_count);
    return index >= 0 ? routes->table[index]
                      : (struct route){ ROUTE_INVALID, ROUTE_UNKNOWN, 0, false, 0 };
}

/* Keeps a message, given if true. False at a limit or for an invalid shard: the caller makes it
 * undelivered. In LOCAL and REMOTE it first forgets the home, which the caller found wrong; in
 * REMOTE only if it keeps the message. Asks for an unknown home in any case. */
bool routes_hold(struct routes *routes, uint64_t now, int32_t shard,
                 struct pending_item *held);
/* Moves all waiting messages to the end of `queue`, in any state; for place_host. */
void routes_release(struct routes *routes, int32_t shard,
                    struct pending_queue *queue);
/* Puts messages from owned_release before those that wait here; given. */
void routes_prepend(struct routes *routes, int32_t shard,
                    struct pending_queue *queue);

/* Set the home: FLUSHING and ROUTES_FLUSH while messages wait, else LOCAL or REMOTE at once. */
void routes_set_local(struct routes *routes, int32_t shard, uint16_t lane);
void routes_set_remote(struct routes *routes, int32_t shard, uint32_t peer);
/* The home's node has gone, and the region does not know it yet. Messages wait until
 * routes_ask_again. */
void routes_set_gone(struct routes *routes, int32_t shard);
/* Asks for homes that had gone, if messages wait for them. */
void routes_ask_again(struct routes *routes);
/* REGION_HOLD: buffers for the shard during its hand-off. Waiting messages stay. The lane then
 * sends its marker after all earlier messages, and mails region_lane_held. */
void routes_hold_begin(struct routes *routes, int32_t shard);
/* REGION_FORGET, or the lane found the home wrong. Asks again if messages wait. No effect in
 * HELD. */
void routes_forget(struct routes *routes, int32_t shard);
/* A message arrived for a shard that is elsewhere: REMOTE becomes ASKED, and the region checks the
 * home. */
void routes_suspect(struct routes *routes, int32_t shard);
/* Forgets every home at a peer. */
void routes_peer_gone(struct routes *routes, uint32_t peer);

/* Returns the next message of a shard in FLUSHING, for the target in routes_find. Returns null at
 * the end, which opens the direct way, and in other states. */
struct pending_item *routes_take(struct routes *routes, int32_t shard);
/* REGION_DROP, as in Akka, or the end of a wait: returns the oldest message in any state, or null.
 * The caller makes it undelivered. */
struct pending_item *routes_drain(struct routes *routes, int32_t shard);
/* The same over all shards in index order, at the node's end. */
struct pending_item *routes_take_any(struct routes *routes);
/* Moves messages that wait for a home, and for which the test is true, to `out`. */
void routes_take_if(struct routes *routes, pending_test *test, const void *user,
                    struct pending_queue *out);

bool routes_next_news(struct routes *routes, struct routes_news *news);

uint32_t routes_waiting(const struct routes *routes, int32_t shard);
/* Returns the oldest message without a known home, lent; `next` leads to the others. Null if there
 * is none. */
const struct pending_item *routes_homeless(const struct routes *routes, int32_t shard);
/* Returns when the oldest message began to wait, in ns; 0 = none. The state then tells the stage of
 * a time-out. */
uint64_t routes_waiting_since(const struct routes *routes, int32_t shard);
const char *route_state_name(uint8_t state);

#endif
