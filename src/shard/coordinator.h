/* The coordinator of one entity type: it knows which region hosts which shard, allocates shards, and moves them.
 *
 * One runs on the oldest node (see singleton/singleton.h). A pure machine: behaviour 14, wire 7.7, architecture 5 and 6.
 * Its state is kept in distributed data (stored.h): read before it is active, and written before anybody is told of a change. Every
 * region also reports the shards it hosts with their fences, which the stored ones are compared with. A shard that has no home is given
 * one when every member with the role that can be reached has registered, has answered that it has no such region, or has not answered
 * for a while. Of two claims on a shard the higher fence wins, and the other region is told (see the rules in wire.h).
 *
 * Order of use: coordinator_new, coordinator_peer for every member, coordinator_next_want gives the read of its state; answered, the first
 * news is COORDINATOR_NEWS_WANTS_TERM, then coordinator_term. After each call: drain coordinator_next_want, coordinator_next_news and
 * the outbox, look at coordinator_deadline. The node passes
 * it every message whose recipient is coordinator_path(), and SHARD_NO_REGION with this type. */
#ifndef SHERD_SHARD_COORDINATOR_H
#define SHERD_SHARD_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/outbox.h"
#include "base/peer.h"
#include "base/trace.h"
#include "shard/wire.h"

/* Zero = the reference's default, in brackets (behaviour 24). */
struct coordinator_settings {
    uint64_t handoff_timeout_ms;     /* of a whole hand-off [60000] */
    uint64_t shard_start_timeout_ms; /* HostShard is sent again; a shorter one doubles to 10000 while there is no answer [10000] */
    uint64_t rebalance_interval_ms;  /* [10000] */
    uint64_t waiting_for_state_timeout_ms; /* of a read of the state [2000] */
    uint64_t updating_state_timeout_ms;    /* of a write [5000] */
    uint64_t query_interval_ms;      /* members that have not registered, and hand-offs, are asked about again [1000] */
    uint64_t removal_margin_ms;      /* after a member's removal, before its shards are allocated again [0] */
    uint32_t absolute_limit;         /* rebalance-absolute-limit [0 = the old algorithm] */
    double relative_limit;           /* rebalance-relative-limit [0.1]; below 0: a share of none, which is one shard */
    uint32_t threshold;              /* rebalance-threshold of the old algorithm [1] */
    uint32_t simultaneous_max;       /* max-simultaneous-rebalance of the old algorithm [3] */
    uint32_t min_members;            /* regions registered before the first allocation [1] */
    uint32_t number_of_shards;       /* registrations with another number are refused [the first one registered] */
};

/* What may be done before the next step; filled anew by coordinator_room_fill. Beyond, it is done in the next one. */
struct coordinator_room {
    uint32_t tells;  /* messages that nobody asked for; answers count, and are always sent */
    uint32_t places; /* regions that are compared to find homes */
    uint32_t packs;  /* parts of the state that are packed */
    uint32_t views;  /* regions that are looked at to decide what moves */
};

struct coordinator_options {
    const struct identity *identity; /* lent for the coordinator's life */
    const char *type;                /* copied */
    struct coordinator_settings settings;
    struct trace *trace; /* lent for life; may be null */
    struct probes *probes; /* the same */
    uint16_t type_index;   /* for probes */
    uint64_t seed;       /* gives the actor uid of its path */
    /* Lent for life: that of all coordinators of a machine, which fills it before it steps them. Null = one of its own. */
    struct coordinator_room *room;
};

enum coordinator_news_kind {
    /* Take a term greater than `term` for this type from the fencing store and give it with coordinator_term. Comes again
     * when a region reports a higher term than the coordinator's: then the coordinator allocates nothing until it has one. */
    COORDINATOR_NEWS_WANTS_TERM,
    COORDINATOR_NEWS_ACTIVE,      /* it has its `term` and answers */
    COORDINATOR_NEWS_STOP_REGION, /* after coordinator_stop: shut this node's own region of the type down gracefully */
    COORDINATOR_NEWS_STOPPED      /* after coordinator_stop: free it, then tell the singleton */
};

struct coordinator_news {
    enum coordinator_news_kind kind;
    uint64_t term;
};

#define COORDINATOR_COUNTERS(X)                                                \
    X(allocations, "shards given a home")                                      \
    X(moves, "hand-offs that ended with a new home")                           \
    X(failed_moves, "hand-offs that failed; the old home stayed")              \
    X(adopted, "shards taken over from a region's report")                     \
    X(loaded, "homes taken over from the stored state")                        \
    X(writes, "writes of the state that succeeded")                            \
    X(failed_writes, "writes that were not confirmed; tried again")            \
    X(failed_reads, "reads that too few answered; tried again")                \
    X(foreign, "values of others found under its keys; written over")          \
    X(conflicts, "reported shards that another region held")                   \
    X(rehosted, "shards that their home did not report, hosted there again")   \
    X(lost_claims, "regions told that a shard is no longer theirs")            \
    X(refused, "registrations refused: settings differ")                       \
    X(ignored_register, "registrations of nodes that are no fitting member")   \
    X(stale, "messages of an older report, fence or attempt")                  \
    X(stranger, "messages of regions that are not registered")                 \
    X(malformed, "messages that could not be read")                            \
    X(unknown, "messages of a kind that is not for a coordinator")             \
    X(deferred, "home requests that had to wait")                              \
    X(homes_left, "homes that a registration was not told: too many")          \
    X(outbids, "terms taken because the store had a higher one")               \
    X(outbids_left, "higher terms of the store that were left alone: too many") \
    X(dropped_full, "requests dropped: too many shards, regions or queries")

struct coordinator_counters {
#define X(name, text) uint64_t name;
    COORDINATOR_COUNTERS(X)
#undef X
};

struct coordinator;

struct coordinator *coordinator_new(const struct coordinator_options *options,
                                    uint64_t now);
void coordinator_free(struct coordinator *coordinator);

void coordinator_room_fill(struct coordinator_room *room);

/* Its path on this node with "#uid"; lent for its life. Compare recipients with path_plain of it. */
struct slice coordinator_path(const struct coordinator *coordinator);

/* What it wants of distributed data, one at a time: the state of its type and the fences, two keys (see stored.h), read by
 * read-majority-plus and written by write-majority-plus. Look after each call; each is answered once, by its ticket. */
enum coordinator_want_kind {
    COORDINATOR_WANT_READ, /* both; answered with coordinator_read */
    COORDINATOR_WANT_WRITE /* those that are not empty; answered with coordinator_written */
};

struct coordinator_want {
    enum coordinator_want_kind kind;
    uint64_t ticket;
    uint64_t timeout_ms;
    struct slice state; /* both lent until the next call */
    struct slice fences;
    bool to_all; /* a last write, of a coordinator that ends: every member that is not exiting should have it */
};

/* Is there one, also if it is not packed yet? is_write: what kind it is. */
bool coordinator_wants(const struct coordinator *coordinator, bool *is_write);
/* False also when it is not packed yet: then the coordinator is busy. */
bool coordinator_next_want(struct coordinator *coordinator,
                           struct coordinator_want *want);
/* What is stored, lent, each empty when nothing is. is_good false: too few answered. The answer to a former ticket is dropped. */
void coordinator_read(struct coordinator *coordinator, uint64_t now,
                      uint64_t ticket, bool is_good, struct slice state,
                      struct slice fences, struct outbox *outbox);
/* is_good false: too few confirmed at least one of them. */
void coordinator_written(struct coordinator *coordinator, uint64_t now,
                         uint64_t ticket, bool is_good, struct outbox *outbox);
/* Under one of its keys stands another value than the one that it has read or written last: of a former coordinator, which too few replicas
 * had when they were read, or whose clock was ahead. `fences`: that key's, lent; empty when it is the other one. Both are written
 * anew; the term, and the fences of homes, become higher than those. Before coordinator_read it is ignored. */
void coordinator_foreign(struct coordinator *coordinator, uint64_t now,
                         struct slice fences, struct outbox *outbox);

/* The term that the store gave. One that is not greater than wanted is refused: the news comes again after a second. */
void coordinator_term(struct coordinator *coordinator, uint64_t now,
                      uint64_t term, struct outbox *outbox);

/* A shard that there was once, of a type that remembers its entities: it gets a home without being asked for. False: it is no shard of
 * the type. Before coordinator_term. Copied. */
bool coordinator_remembered(struct coordinator *coordinator,
                            struct slice shard);

/* A member is new or has changed its status, version or reachability. Tell all known members before the term. Lent. */
void coordinator_peer(struct coordinator *coordinator, uint64_t now,
                      const struct peer *peer, struct outbox *outbox);
void coordinator_peer_removed(struct coordinator *coordinator, uint64_t now,
                              const struct node_id *node,
                              struct outbox *outbox);
/* That member is no node of this library: it cannot report what it hosts, and is not waited for; its region is not registered, but for one that
 * was stored. */
void coordinator_peer_foreign(struct coordinator *coordinator, uint64_t now,
                              const struct node_id *node,
                              struct outbox *outbox);

/* A message to the coordinator, lent. What cannot be read, or is stale, is counted and dropped. */
void coordinator_receive(struct coordinator *coordinator, uint64_t now,
                         const struct inbound *inbound, struct outbox *outbox);

/* Singleton hand-over (behaviour 14.11): it ends at once, or after this node's own region has handed off and stopped; and when each
 * HostShard that it sent is answered, but for at most 3 s. */
void coordinator_stop(struct coordinator *coordinator, uint64_t now,
                      struct outbox *outbox);

/* Does what is due at now. */
void coordinator_step(struct coordinator *coordinator, uint64_t now,
                      struct outbox *outbox);
/* When to step next; NEVER if nothing waits, 0 while it is busy. */
uint64_t coordinator_deadline(const struct coordinator *coordinator);
/* More was to be said, decided or packed than one step may: another one, at any time, goes on with it. */
bool coordinator_is_busy(const struct coordinator *coordinator);
bool coordinator_next_news(struct coordinator *coordinator,
                           struct coordinator_news *news);

const struct coordinator_counters *
coordinator_counters(const struct coordinator *coordinator);

/* What status pages show. Texts are lent until the next call that changes the coordinator. */
struct coordinator_region_view {
    struct slice ref;
    struct node_id node;
    uint32_t shard_count;
    uint32_t lanes; /* 0 = a JVM node */
    bool is_proxy;
    bool is_shutting_down;
};

struct coordinator_shard_view {
    struct slice shard;
    struct slice region; /* its home's ref; empty = none */
    struct node_id node; /* of its home */
    struct fence fence;
    bool is_started;
    bool is_moving;
};

/* In order of registration, of first mention; start with *at = 0; false at the end. */
bool coordinator_next_region(const struct coordinator *coordinator,
                             uint32_t *at, struct coordinator_region_view *view);
bool coordinator_next_shard(const struct coordinator *coordinator, uint32_t *at,
                            struct coordinator_shard_view *view);
bool coordinator_is_active(const struct coordinator *coordinator); /* has a term */
/* Hand-offs that are open, by how far they are. */
struct coordinator_moves {
    uint32_t beginning; /* not all regions hold the shard yet */
    uint32_t stopping;  /* they do, and the owner was told to stop it */
};
struct coordinator_moves
coordinator_moves(const struct coordinator *coordinator);
uint32_t coordinator_awaited(const struct coordinator *coordinator); /* members whose answer holds first allocations back */

/* Aborts when an invariant is broken: each shard has at most one home, each home is registered, lists agree. For tests. */
void coordinator_verify(const struct coordinator *coordinator);

#endif
