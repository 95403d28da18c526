/* Where the shards of one entity type are, as one lane sees it, and what waits there for a home. Lane machine.
 *
 * One `struct routes` for each type and lane. The lane obeys: every change of a home comes by mail from the region on
 * control (region.h), which judges fences; mail is in order, and each verb is harmless when repeated. What waits is taken
 * in order before the direct way opens, so one lane's messages to one entity stay in order over look-up and hand-off.
 *
 *   UNKNOWN --hold--> ASKED --set--> FLUSHING --empty--> LOCAL / REMOTE
 *   any --hold_begin--> HELD --set--> FLUSHING or LOCAL / REMOTE
 *   REMOTE --doubt--> ASKED
 *   LOCAL / REMOTE / FLUSHING --forget, node_gone--> UNKNOWN or, while something waits, ASKED
 *   any --set_gone--> UNKNOWN or, while something waits, ASKED
 *
 * Behaviour 16.3, 16.4; architecture "the way of one message". */
#ifndef SHERD_SHARD_ROUTE_H
#define SHERD_SHARD_ROUTE_H

#include "base/check.h"
#include "shard/pending.h"
#include "shard/shard_id.h"

enum route_state {
    ROUTE_UNKNOWN,  /* hold: the first one asks for the home */
    ROUTE_ASKED,    /* hold */
    ROUTE_LOCAL,    /* give it to `lane` of this node */
    ROUTE_REMOTE,   /* write it to `peer` */
    ROUTE_HELD,     /* a hand-off is in progress: hold */
    ROUTE_FLUSHING, /* the home is known, older ones have not left yet: hold, then routes_take */
    ROUTE_INVALID   /* no such shard */
};

struct route {
    uint8_t state; /* enum route_state */
    uint8_t target; /* ROUTE_LOCAL or ROUTE_REMOTE in FLUSHING, LOCAL and REMOTE; else ROUTE_UNKNOWN */
    uint8_t lane; /* when the target is LOCAL */
    bool asked; /* in ASKED and HELD: control has the question; in ASKED it has not after routes_set_gone */
    uint32_t peer; /* when the target is REMOTE: the lane's own index of a peer */
};

struct routes_options {
    uint32_t shard_count;       /* of the type, 1..SHARDS_MAX */
    struct pending_budget *budget; /* lent for life; shared with the type's hosted */
};

struct routes_counters {
    uint64_t held;      /* messages that began to wait */
    uint64_t flushed;   /* taken towards a home */
    uint64_t drained;   /* taken without one: routes_drain */
    uint64_t asked;     /* news that a home is wanted */
    uint64_t hold_begun;
    uint64_t ignored;   /* verbs for a shard out of range */
};

enum routes_news_kind {
    ROUTES_WANT_HOME, /* mail to control: region_want_home(shard); once for each time it becomes unknown */
    ROUTES_DOUBT_HOME, /* mail to control: region_doubt_home(shard) */
    ROUTES_FLUSH      /* take what waits: routes_take until it gives null, now or over several turns */
};

struct routes_news {
    enum routes_news_kind kind;
    int32_t shard;
};

struct routes {
    struct route *table;         /* by index, 2 * shard_count - 1 */
    struct pending_queue **waiting; /* by index; null = nothing waits */
    struct pending_budget *budget;
    struct routes_news *news;
    uint32_t news_first;
    uint32_t news_count;
    uint32_t news_capacity;
    uint32_t shard_count;
    struct routes_counters counters;
};

/* The caller's object, filled. */
void routes_init(struct routes *routes, const struct routes_options *options);
/* Everything that waits must have been taken: routes_take_any. Null and zero are fine. */
void routes_fini(struct routes *routes);

/* The hot path: what to do with a message for a shard. Any number; ROUTE_INVALID out of range. */
static inline struct route routes_find(const struct routes *routes,
                                       int32_t shard)
{
    int64_t index = shard_index(shard, routes->shard_count);
    return index >= 0 ? routes->table[index]
                      : (struct route){ ROUTE_INVALID, ROUTE_UNKNOWN, 0, false, 0 };
}

/* Lets a message wait for its shard, given when true. False: a limit is reached or there is no such shard, it stays the
 * caller's and becomes undelivered. In LOCAL and REMOTE the home is forgotten first: the caller found that it is wrong. */
bool routes_hold(struct routes *routes, uint64_t now, int32_t shard,
                 struct held *held);
/* Moves all that waits for a shard behind `queue`, in any state; for place_host. */
void routes_release(struct routes *routes, int32_t shard,
                    struct pending_queue *queue);
/* Puts messages that waited elsewhere on this lane for the shard (owned_release) before those that wait here; given. */
void routes_prepend(struct routes *routes, int32_t shard,
                    struct pending_queue *queue);

/* The home of a shard. FLUSHING (and ROUTES_FLUSH) while messages wait, else LOCAL or REMOTE at once. */
void routes_set_local(struct routes *routes, int32_t shard, uint16_t lane);
void routes_set_remote(struct routes *routes, int32_t shard, uint32_t peer);
/* The home is a node that is not there any more, which region does not know yet: what waits goes on waiting, and is not asked for
 * until routes_ask_again. */
void routes_set_gone(struct routes *routes, int32_t shard);
/* Asks again for all shards of which something waits, and whose home was gone. */
void routes_ask_again(struct routes *routes);
/* REGION_HOLD: holds the shard from here on. What waits stays. After it the lane sends its marker behind everything that it
 * sent before, then mails region_lane_held. */
void routes_hold_begin(struct routes *routes, int32_t shard);
/* REGION_FORGET, or the lane found the home wrong. Asks for it again when messages wait. Nothing in HELD. */
void routes_forget(struct routes *routes, int32_t shard);
/* A message came for a shard whose home is elsewhere: REMOTE becomes ASKED, and the region is to look whether it still is.
 * Nothing in the other states. */
void routes_doubt(struct routes *routes, int32_t shard);
/* Forgets every home at a peer. */
void routes_peer_gone(struct routes *routes, uint32_t peer);

/* The next message for a shard in FLUSHING, now the caller's, to be sent to routes_find's target; null when none is left: then
 * the direct way is open. Null in any other state. */
struct held *routes_take(struct routes *routes, int32_t shard);
/* REGION_DROP (Akka's rule, behaviour 16.4) or the end of a wait: the oldest that waits in whatever state; null when none. The
 * caller makes it undelivered. */
struct held *routes_drain(struct routes *routes, int32_t shard);
/* The same over all shards in order of their index, for the end of the node. */
struct held *routes_take_any(struct routes *routes);

/* False when there is none. */
bool routes_next_news(struct routes *routes, struct routes_news *news);

uint32_t routes_waiting(const struct routes *routes, int32_t shard);
/* The oldest that waits for a home that is not known, lent; the others follow by `next`. Null when none does. */
const struct held *routes_homeless(const struct routes *routes, int32_t shard);
/* Since when the oldest one waits, in ns; 0 when none does. With the state it is the stage of a time-out. */
uint64_t routes_waiting_since(const struct routes *routes, int32_t shard);
/* "unknown", "asked", ... a literal. */
const char *route_state_name(uint8_t state);

#endif
