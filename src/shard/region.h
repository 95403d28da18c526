/* Runs the region of one entity type, host or proxy: tracks the type's coordinator, homes and
 * hand-offs for this node. Part of the control machine.
 *
 * The region registers with the coordinator, asks for homes for the lanes, and takes the
 * coordinator's directives. It refuses stale ones. Its news goes to the lanes: the node mails it to
 * their routes (route.h) and owned shards (owned_shards.h). The lanes answer through
 * region_lane_... and region_shard_... Mail between two machines keeps its order.
 *
 * Messages: Akka's of serializer 13 (BA to BN) with this library's additions, and R, D and X of
 * serializer 7300. The node handles queries (D, E, F) and markers (7300 F). wire.h states the rules
 * for two nodes; docs/protocol/shard.md describes the protocol. */
#ifndef SHERD_SHARD_REGION_H
#define SHERD_SHARD_REGION_H

#include "base/outbox.h"
#include "base/peer.h"
#include "base/trace.h"
#include "shard/attempt.h"
#include "shard/owned_shards.h"

#define LANE_ALL UINT32_MAX

struct region_options {
    const struct identity *self;  /* lent for its lifetime */
    struct outbox *outbox;        /* lent likewise; takes its messages */
    struct trace *trace;          /* lent likewise; may be null */
    struct probes *probes;        /* lent likewise; may be null */
    uint16_t type_index;          /* for probes */
    const char *type;             /* the entity type's name; copied */
    const char *path; /* the region's path with "#uid": "/system/sharding/Counter#-12"; copied */
    const char *coordinator_path; /* ".../CounterCoordinator/singleton/coordinator"; copied */
    uint32_t shard_count;         /* 1..SHARDS_MAX */
    uint32_t lanes;               /* lanes of this node, 1..LANES_MAX */
    bool is_proxy;                /* never hosts */
    bool persists;                /* reported to the coordinator */
    uint64_t retry_interval;      /* ns; 0 = 2 s */
    uint64_t handoff_timeout;     /* ns; 0 = 60 s */
};

enum region_news_kind {
    REGION_HOST,   /* owning lane: place_host(shard, fence) */
    /* lane: routes_set_local if node is this one (its owning lane), else routes_set_remote */
    REGION_ROUTE,
    REGION_FORGET, /* all lanes: routes_forget */
    /* all lanes: routes_hold_begin; then a marker to `node` if it has a port, after the messages
     * and on their way (to this node too: through the ring to the owning lane, or directly to
     * owned_marker); then region_lane_held */
    REGION_HOLD,
    REGION_DRAIN,  /* owning lane: owned_drain(shard, attempt, owing, owing_count, deadline) */
    /* owning lane: owned_lost(shard, fence): another region has the shard under that newer fence;
     * none: it ends */
    REGION_LOST,
    /* all lanes: routes_drain until null, undelivered: a coordinator without markers moves the
     * shard */
    REGION_DROP,
    REGION_NODE_GONE, /* all lanes: routes_peer_gone, owned_node_gone(node.uid) */
    REGION_COORDINATOR, /* found: watch `path` at `node`; at its end call region_coordinator_gone */
    /* the coordinator refuses this registration for the reason in `text`; repeated later */
    REGION_REFUSED,
    REGION_STOPPED  /* the shutdown is complete */
};

/* Lent until the next call of region_next_news or region_free. */
struct region_news {
    enum region_news_kind kind;
    int32_t shard;
    uint32_t lane; /* ROUTE: one lane, or LANE_ALL */
    struct fence fence;
    struct attempt attempt;  /* HOLD, DRAIN */
    struct node_id node; /* ROUTE, HOLD, NODE_GONE, COORDINATOR; uid 0 = any node at that address */
    /* ROUTE, COORDINATOR: path of the region or coordinator, with "#uid" if it has one */
    struct slice path;
    struct slice text;       /* REFUSED */
    const struct owing *owing; /* DRAIN */
    uint32_t owing_count;
    uint64_t deadline; /* DRAIN */
};

struct region_counters {
    uint64_t registrations;  /* sent Register messages */
    uint64_t home_requests;  /* sent GetShardHomes */
    uint64_t directives;     /* accepted */
    uint64_t stale;          /* refused: older fence, attempt or coordinator */
    uint64_t strangers;      /* from nodes that cannot be the coordinator */
    uint64_t malformed;      /* unreadable, or no such shard */
    uint64_t unknown;        /* manifests for other receivers */
    uint64_t handoffs;       /* shards stopped and handed off */
    uint64_t handoffs_failed;
    uint64_t fenced;
    uint64_t limited;        /* refused at a limit */
    uint64_t forgotten;      /* removed nodes, oldest first at GONE_MAX */
};

struct region;

struct region *region_new(const struct region_options *options);
void region_free(struct region *region);

/* Passes a new or changed member. Members with the role that are Up, Leaving or Exiting may run the
 * coordinator, the oldest first. A new oldest member restarts the registration. Members beyond
 * MEMBERS_MAX are counted and left out. Lent. */
void region_peer(struct region *region, uint64_t now, const struct peer *peer);
/* A node was removed, with any role: forgets its homes and its debts of markers. */
void region_peer_removed(struct region *region, uint64_t now,
                         const struct node_id *node);
/* The region at that ref of a living node has ended: forgets its homes. */
void region_gone(struct region *region, uint64_t now,
                 const struct address *address, struct slice path);
/* The coordinator's actor has ended: registers again. */
void region_coordinator_gone(struct region *region, uint64_t now);

/* Passes a message for the region's path; lent. Returns true if the region took it, even to drop
 * it; false for messages of the node (queries). */
bool region_receive(struct region *region, uint64_t now,
                    const struct inbound *message);
/* Handles the query Q about this type from a coordinator of that term (0: not given). A region
 * registers there at once, a proxy answers N; lent. After a report to a newer coordinator, the
 * directives of an older one are refused. */
void region_asked(struct region *region, uint64_t now,
                  const struct inbound *query, uint64_t term);
/* Answers Q about a type that this node does not have with N; the type's name is lent. */
void region_answer_unknown(const struct identity *self, struct outbox *outbox,
                           const struct inbound *query, struct slice type);
void region_tick(struct region *region, uint64_t now);
uint64_t region_deadline(const struct region *region);
bool region_next_news(struct region *region, struct region_news *news);

/* Handles a lane's ROUTES_WANT_HOME. */
void region_want_home(struct region *region, uint64_t now, uint32_t lane,
                      int32_t shard);
/* Handles a lane's ROUTES_DOUBT_HOME: asks for a home that the coordinator has not confirmed, else
 * sends the home to the lane again. */
void region_doubt_home(struct region *region, uint64_t now, uint32_t lane,
                       int32_t shard);
/* A lane has carried out REGION_HOLD. */
void region_lane_held(struct region *region, uint64_t now, uint32_t lane,
                      int32_t shard, struct attempt attempt);
/* Passes the number of messages that wait in a lane's routes and owned shards: at the start of a
 * shutdown, and then whenever it becomes or stops being 0. */
void region_lane_waiting(struct region *region, uint64_t now, uint32_t lane,
                         uint64_t count);
/* Handles HOSTED_STARTED of the owning lane. */
void region_shard_started(struct region *region, uint64_t now, int32_t shard,
                          struct fence fence);
/* Handles HOSTED_STOPPED (ok) or HOSTED_DRAIN_FAILED (not ok, with a reason). */
void region_shard_stopped(struct region *region, uint64_t now, int32_t shard,
                          struct attempt attempt, bool ok,
                          const char *reason);
/* The store has fences of that term; called before region_shard_fenced. The next report tells a
 * coordinator with a lower term. */
void region_store_has(struct region *region, uint64_t term);
/* Handles HOSTED_FENCED: forgets the home and asks for it again. */
void region_shard_fenced(struct region *region, uint64_t now, int32_t shard,
                         struct fence fence);

/* Starts the graceful shutdown: asks the coordinator to move all shards away. Asks again if the
 * coordinator still allocates a shard here. Such a shard starts and is moved like the others; under
 * a coordinator without fences it does not start. REGION_STOPPED comes when no shard is here and
 * nothing waits, or at `deadline` (NEVER: no limit) with a warning. Messages continue to flow
 * during the shutdown and after it: under a coordinator with terms the region continues as a proxy,
 * for its lanes' markers. Repeated calls have no effect. */
void region_shutdown(struct region *region, uint64_t now, uint64_t deadline);
/* The whole cluster is about to stop: allows no further hand-offs, and ends a shutdown at once. */
void region_prepare_shutdown(struct region *region, uint64_t now);

/* For status. */
bool region_registered(const struct region *region);
/* Null if unknown; lent until the next call. */
const struct node_id *region_coordinator(const struct region *region);
uint64_t region_term(const struct region *region);
uint32_t region_hosted_count(const struct region *region);
uint32_t region_wanted_count(const struct region *region); /* shards whose home it asks for */
/* Iterates over these in order. Start with *at = 0; returns false after the last. */
bool region_next_wanted(const struct region *region, uint32_t *at,
                        int32_t *shard);
const struct region_counters *region_counters(const struct region *region);
/* Returns the last home of a shard that this region learned; false if unknown. */
bool region_home(const struct region *region, int32_t shard,
                 struct node_id *node, struct fence *fence);
/* Iterates over the shards hosted here in index order; start with *at = 0. */
bool region_next_hosted(const struct region *region, uint32_t *at,
                        int32_t *shard, struct fence *fence);

#endif
