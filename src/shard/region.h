/* The region of one entity type, host or proxy: what this node knows of the type's coordinator, homes and hand-offs. Control
 * machine.
 *
 * It registers with the coordinator, asks for homes on behalf of the lanes, takes the coordinator's directives, refuses
 * stale ones, and tells the lanes by news, which the node mails to their routes (route.h) and hosted (hosted.h). The lanes'
 * answers come back as the verbs region_lane_..., region_shard_... All mail between two machines is in order.
 * Behaviour 16; wire 7.4, 7.5; architecture "hand-off loses nothing", "fencing".
 *
 * Messages: Akka's of serializer 13 (BA to BN) with this library's additions, and 7300's R, D and X. Queries (D, E, F) and
 * markers (7300 F) are the node's. For two nodes to agree, see the rules in wire.h. */
#ifndef SHERD_SHARD_REGION_H
#define SHERD_SHARD_REGION_H

#include "base/outbox.h"
#include "base/peer.h"
#include "base/trace.h"
#include "shard/attempt.h"
#include "shard/owned_shards.h"

#define LANE_ALL UINT32_MAX

struct region_options {
    const struct identity *self;  /* lent for life */
    struct outbox *outbox;        /* lent for life: where its messages go */
    struct trace *trace;          /* lent for life; may be null */
    struct probes *probes;        /* the same */
    uint16_t type_index;          /* for probes */
    const char *type;             /* the entity type's name; copied */
    const char *path;             /* of the region, with "#uid": "/system/sharding/Counter#-12"; copied */
    const char *coordinator_path; /* ".../CounterCoordinator/singleton/coordinator"; copied */
    uint32_t shard_count;         /* 1..SHARDS_MAX */
    uint32_t lanes;               /* of this node, 1..LANES_MAX */
    bool is_proxy;                /* never hosts */
    bool persists;                /* announced to the coordinator */
    uint64_t retry_interval;      /* ns; 0: 2 s */
    uint64_t handoff_timeout;     /* ns; 0: 60 s */
};

enum region_news_kind {
    REGION_HOST,   /* owning lane: place_host(shard, fence) */
    REGION_ROUTE,  /* lane: routes_set_local when node is this one (its owning lane), else routes_set_remote */
    REGION_FORGET, /* all lanes: routes_forget */
    REGION_HOLD,   /* all lanes: routes_hold_begin; marker to `node` when it has a port (by the way of messages, behind them; to this
                    * node too, each lane through its ring to the owning lane or straight to owned_marker); region_lane_held */
    REGION_DRAIN,  /* owning lane: owned_drain(shard, attempt, owing, owing_count, deadline) */
    REGION_LOST,   /* owning lane: owned_lost(shard, fence): another region has the shard under that newer fence; none: it ends */
    REGION_DROP,   /* all lanes: routes_drain until null, undelivered: a coordinator without markers hands the shard off */
    REGION_NODE_GONE, /* all lanes: routes_peer_gone, owned_node_gone(node.uid) */
    REGION_COORDINATOR, /* found: watch `path` at `node`; when it ends: region_coordinator_gone */
    REGION_REFUSED, /* the coordinator refuses this registration: `text` says why; it is tried again */
    REGION_STOPPED  /* the shutdown is done */
};

/* Lent until the next call of region_next_news or region_free. */
struct region_news {
    enum region_news_kind kind;
    int32_t shard;
    uint32_t lane; /* ROUTE: one lane, or LANE_ALL */
    struct fence fence;
    struct attempt attempt;  /* HOLD, DRAIN */
    struct node_id node;     /* ROUTE, HOLD, NODE_GONE, COORDINATOR; uid 0: whoever is at that address */
    struct slice path;       /* ROUTE, COORDINATOR: of the region, of the coordinator, with "#uid" if they have one */
    struct slice text;       /* REFUSED */
    const struct owing *owing; /* DRAIN */
    uint32_t owing_count;
    uint64_t deadline; /* DRAIN */
};

struct region_counters {
    uint64_t registrations;  /* Register messages sent */
    uint64_t home_requests;  /* GetShardHome sent */
    uint64_t directives;     /* taken */
    uint64_t stale;          /* refused: an older fence, attempt or coordinator */
    uint64_t strangers;      /* from a node that can not be the coordinator */
    uint64_t malformed;      /* not to be read, or no such shard */
    uint64_t unknown;        /* manifests that are not the region's */
    uint64_t handoffs;       /* shards stopped and handed off */
    uint64_t handoffs_failed;
    uint64_t fenced;
    uint64_t limited;        /* refused at a limit */
    uint64_t forgotten;      /* removed nodes, the oldest at GONE_MAX */
};

struct region;

struct region *region_new(const struct region_options *options);
void region_free(struct region *region);

/* A member is new or changed. Those with the role that are Up, Leaving or Exiting may run the coordinator, the oldest first; a
 * new oldest starts the registration again (behaviour 16.2). More than MEMBERS_MAX are counted and left out. Lent. */
void region_peer(struct region *region, uint64_t now, const struct peer *peer);
/* A node was removed, whatever its roles: its homes are forgotten and it owes no marker. */
void region_peer_removed(struct region *region, uint64_t now,
                         const struct node_id *node);
/* The region at that ref of a living node has ended: its homes are forgotten. */
void region_gone(struct region *region, uint64_t now,
                 const struct address *address, struct slice path);
/* The coordinator's actor has ended: register again. */
void region_coordinator_gone(struct region *region, uint64_t now);

/* A message for the region's path; lent. True when the region took it (also to drop it); false for the node's (queries). */
bool region_receive(struct region *region, uint64_t now,
                    const struct inbound *message);
/* The query Q about this type, from a coordinator of that term (0: it said none): a region registers there at once, a proxy answers N;
 * lent. What it reports to a newer coordinator stands: an older one's directives are refused from then on. */
void region_asked(struct region *region, uint64_t now,
                  const struct inbound *query, uint64_t term);
/* Answers Q about a type that this node does not have with N; the type's name is lent. */
void region_answer_unknown(const struct identity *self, struct outbox *outbox,
                           const struct inbound *query, struct slice type);
void region_tick(struct region *region, uint64_t now);
uint64_t region_deadline(const struct region *region);
bool region_next_news(struct region *region, struct region_news *news);

/* ROUTES_WANT_HOME of a lane. */
void region_want_home(struct region *region, uint64_t now, uint32_t lane,
                      int32_t shard);
/* ROUTES_DOUBT_HOME of a lane: a home that the coordinator has not confirmed is asked for, of another one the lane is told again. */
void region_doubt_home(struct region *region, uint64_t now, uint32_t lane,
                       int32_t shard);
/* A lane has done what REGION_HOLD asks for. */
void region_lane_held(struct region *region, uint64_t now, uint32_t lane,
                      int32_t shard, struct attempt attempt);
/* Messages that wait in a lane's routes and hosted, whenever it becomes or stops being 0 during a shutdown, and when it begins. */
void region_lane_waiting(struct region *region, uint64_t now, uint32_t lane,
                         uint64_t count);
/* HOSTED_STARTED of the owning lane. */
void region_shard_started(struct region *region, uint64_t now, int32_t shard,
                          struct fence fence);
/* HOSTED_STOPPED (ok) or HOSTED_DRAIN_FAILED (not ok, a reason). */
void region_shard_stopped(struct region *region, uint64_t now, int32_t shard,
                          struct attempt attempt, bool ok,
                          const char *reason);
/* Before region_shard_fenced: the store has fences of that term. A coordinator of a lower one hears it with the next report. */
void region_store_has(struct region *region, uint64_t term);
/* HOSTED_FENCED: the home is forgotten and asked for again. */
void region_shard_fenced(struct region *region, uint64_t now, int32_t shard,
                         struct fence fence);

/* Graceful shutdown (behaviour 16.7): asks the coordinator to move all shards away, again when it still allocates one here (which
 * starts, and is moved like the others; under a coordinator without fences it does not start); REGION_STOPPED when none is here and nothing
 * waits, or at `deadline` (NEVER: no limit) with a warning. Messages flow meanwhile, and afterwards: under a coordinator with terms
 * the region goes on as a proxy, for its lanes' markers. Repeats are harmless. */
void region_shutdown(struct region *region, uint64_t now, uint64_t deadline);
/* The whole cluster is about to stop: no hand-offs any more (behaviour 16.4); a shutdown is done at once. */
void region_prepare_shutdown(struct region *region, uint64_t now);

/* For status. */
bool region_registered(const struct region *region);
const struct node_id *region_coordinator(const struct region *region); /* null when unknown; lent until the next call */
uint64_t region_term(const struct region *region);
uint32_t region_hosted_count(const struct region *region);
uint32_t region_wanted_count(const struct region *region); /* shards whose home is asked for */
/* Walks these in order: start with *at = 0; false past the last. */
bool region_next_wanted(const struct region *region, uint32_t *at,
                        int32_t *shard);
const struct region_counters *region_counters(const struct region *region);
/* The home of a shard as last heard; false when unknown. */
bool region_home(const struct region *region, int32_t shard,
                 struct node_id *node, struct fence *fence);
/* Walks the shards hosted here in order of their index: start with *at = 0. */
bool region_next_hosted(const struct region *region, uint32_t *at,
                        int32_t *shard, struct fence *fence);

#endif
