/* Runs the region of one entity type, host or proxy: tracks the type's coordinator, homes and
 * hand-offs for this node. Part of control.
 *
 * It registers with the coordinator, asks for homes for the lanes, and takes directives. News goes
 * by mail, in order, to the lanes' routes (route.h) and owned shards (owned_shards.h), which answer
 * through region_lane_... and region_shard_...
 *
 * Messages: Akka's BA to BN of serializer 13, and R, D, X of 7300; the node handles queries and
 * markers. docs/protocol/shard.md describes the protocol. */
#ifndef SHERD_SHARD_REGION_H
#define SHERD_SHARD_REGION_H

#include "base/member_info.h"
#include "base/outbox.h"
#include "base/proof.h"
#include "base/trace.h"
#include "shard/attempt.h"
#include "shard/owned_shards.h"
#include "shard/wire.h"

#define LANE_ALL UINT32_MAX

struct region_options {
    const struct identity *self;  /* lent for its lifetime */
    struct outbox *outbox;        /* lent; for its messages */
    struct trace *trace;          /* lent; may be null */
    struct probes *probes;        /* lent; may be null */
    uint16_t type_index;
    const char *type;             /* name of the entity type; copied */
    const char *path;             /* path of the region, "/system/sharding/Counter#-12"; copied */
    const char *coordinator_path; /* ".../CounterCoordinator/singleton/coordinator"; copied */
    uint32_t shard_count;         /* 1..SHARDS_MAX */
    struct shard_names *names;    /* ids of its shards; lent; null: decimal texts */
    uint32_t lanes;               /* lanes of this node, 1..LANES_MAX */
    bool is_proxy;                /* hosts nothing */
    bool persists;                /* reported to the coordinator */
    uint64_t retry_interval;      /* ns; 0 = 2 s */
    uint64_t handoff_timeout;     /* ns; 0 = 60 s */
};

enum region_news_kind {
    REGION_HOST,   /* owning lane: place_host(shard, fence) */
    /* lane: routes_set_local if node is this one (owning lane), else routes_set_remote */
    REGION_ROUTE,
    REGION_FORGET, /* all lanes: routes_forget */
    /* all lanes: routes_hold_begin, then, if `node` has a port, a marker on the way of the messages
     * (on this node: the ring to the owning lane, or owned_marker), then region_lane_held */
    REGION_HOLD,
    REGION_DRAIN,  /* owning lane: owned_drain(shard, attempt, owing, owing_count, deadline) */
    REGION_LOST,   /* owning lane: owned_lost(shard, fence); none: it ends */
    REGION_DROP,   /* all lanes: routes_drain until null, undelivered: a hand-off without markers */
    REGION_NODE_GONE, /* all lanes: routes_peer_gone, owned_node_gone(node.uid) */
    REGION_COORDINATOR, /* watch `path` at `node`; call region_coordinator_gone at its end */
    REGION_REFUSED, /* `text` is the coordinator's reason; the region tries again */
    REGION_STOPPED
};

/* Lent until the next call. */
struct region_news {
    enum region_news_kind kind;
    int32_t shard;
    uint32_t lane; /* ROUTE: one lane, or LANE_ALL */
    struct fence fence;
    struct proof proof;      /* HOST: the coordinator's; value 0 = none */
    struct attempt attempt;  /* HOLD, DRAIN */
    struct node_id node;     /* ROUTE, HOLD, NODE_GONE, COORDINATOR; uid 0 = any incarnation */
    struct slice path;       /* ROUTE, COORDINATOR: with "#uid" if they have one */
    struct slice text;       /* REFUSED */
    const struct owing *owing; /* DRAIN */
    uint32_t owing_count;
    uint64_t deadline; /* DRAIN */
};

struct region_counters {
    uint64_t registrations;
    uint64_t home_requests;
    uint64_t directives;
    uint64_t stale;          /* refused: older fence, attempt or coordinator */
    uint64_t strangers;      /* from nodes that cannot be the coordinator */
    uint64_t malformed;      /* unreadable, or no such shard */
    uint64_t unknown;
    uint64_t handoffs;
    uint64_t handoffs_failed;
    uint64_t fenced;
    uint64_t limited;        /* refused at a limit */
    uint64_t forgotten;      /* removed nodes beyond GONE_MAX */
};

struct region;

struct region *region_new(const struct region_options *options);
void region_free(struct region *region);

/* Passes a new or changed member, lent. Members with the role that are Up, Leaving or Exiting may
 * run the coordinator, the oldest first. A new oldest restarts the registration. Members beyond
 * MEMBERS_MAX are counted and ignored. */
void region_peer(struct region *region, uint64_t now, const struct member_info *peer);
/* A node with any role was removed: forgets its homes and marker debts. */
void region_peer_removed(struct region *region, uint64_t now,
                         const struct node_id *node);
/* The region at that ref of a living node has ended: forgets its homes. */
void region_gone(struct region *region, uint64_t now,
                 const struct address *address, struct slice path);
/* The coordinator's actor has ended: registers again. */
void region_coordinator_gone(struct region *region, uint64_t now);

/* Takes a message for the region's path, lent; false if it is the node's (queries). */
bool region_receive(struct region *region, uint64_t now,
                    const struct inbound *message);
/* Handles the query Q from a coordinator of that term (0: not given), lent. A region registers
 * there; a proxy answers N before. Afterwards the region refuses directives of older coordinators. */
void region_asked(struct region *region, uint64_t now,
                  const struct inbound *query, uint64_t term);
/* Answers Q with N for a type that this node lacks; lent. */
void region_answer_unknown(const struct identity *self, struct outbox *outbox,
                           const struct inbound *query, struct slice type);
void region_tick(struct region *region, uint64_t now);
uint64_t region_deadline(const struct region *region);
bool region_next_news(struct region *region, struct region_news *news);

/* Shards that this node owns, with those that start or stop. */
uint32_t region_shards(const struct region *region);
void region_request_home(struct region *region, uint64_t now, uint32_t lane,
                         int32_t shard);
/* ROUTES_DOUBT_HOME: asks for a home that is not confirmed; sends a confirmed one to the lane
 * again. */
void region_suspect_home(struct region *region, uint64_t now, uint32_t lane,
                         int32_t shard);
/* The lane has carried out REGION_HOLD. */
void region_lane_held(struct region *region, uint64_t now, uint32_t lane,
                      int32_t shard, struct attempt attempt);
/* Passes the number of messages in a lane's routes and owned shards: when a shutdown begins, and
 * whenever it becomes or stops being 0. */
void region_lane_waiting(struct region *region, uint64_t now, uint32_t lane,
                         uint64_t count);
void region_shard_started(struct region *region, uint64_t now, int32_t shard,
                          struct fence fence);
/* OWNED_STOPPED (ok) or OWNED_DRAIN_FAILED. */
void region_shard_stopped(struct region *region, uint64_t now, int32_t shard,
                          struct attempt attempt, bool ok,
                          const char *reason);
/* The journal has fences of that term; called before region_shard_fenced. The next report passes
 * the term to a coordinator with a lower one. */
void region_store_has(struct region *region, uint64_t term);
/* OWNED_FENCED: forgets the home and asks again. */
void region_shard_fenced(struct region *region, uint64_t now, int32_t shard,
                         struct fence fence);

/* Graceful shutdown: asks the coordinator to move all shards away, and again if it allocates one
 * here. Such a shard starts and moves like the others; without fences it does not start.
 * REGION_STOPPED comes when nothing is left, or at `deadline` (NEVER: none) with a warning.
 * Messages keep flowing. Under a coordinator with terms the region then continues as a proxy, for
 * its lanes' markers. */
void region_shutdown(struct region *region, uint64_t now, uint64_t deadline);
/* The cluster stops: no hand-offs any more, and a shutdown ends at once. */
void region_prepare_shutdown(struct region *region, uint64_t now);

/* The node asks for no shards any more, or for shards again: tells the coordinator, and each later
 * one. Repeated until one has confirmed it. */
void region_cordon(struct region *region, uint64_t now, enum cordon_level cordon);
/* The coordinator has confirmed that, or nothing here may get a shard. */
bool region_cordon_is_told(const struct region *region);
/* It hosts shards, and its coordinator has said that no other region takes them. */
bool region_is_alone(const struct region *region);

bool region_registered(const struct region *region);
const struct node_id *region_coordinator(const struct region *region); /* null if unknown; lent */
uint64_t region_term(const struct region *region);
/* The proof of the last coordinator that gave one; value 0: none. */
struct proof region_proof(const struct region *region);
uint32_t region_hosted_count(const struct region *region);
uint32_t region_wanted_count(const struct region *region); /* shards whose home is asked for */
/* Iterates in order; start with *at = 0. */
bool region_next_wanted(const struct region *region, uint32_t *at,
                        int32_t *shard);
const struct region_counters *region_counters(const struct region *region);
/* Returns the last known home; false if unknown. */
bool region_home(const struct region *region, int32_t shard,
                 struct node_id *node, struct fence *fence);
/* Iterates in index order; start with *at = 0. */
bool region_next_hosted(const struct region *region, uint32_t *at,
                        int32_t *shard, struct fence *fence);

#endif
