/* Allocates the shards of one entity type to regions and moves them: the coordinator, which runs on
 * the oldest node (singleton/singleton.h). The protocol is docs/protocol/shard.md.
 *
 * The coordinator keeps its state in distributed data (stored.h). It reads the state before it is
 * active, and writes each change before it announces it. It compares the stored fences with those
 * that regions report; the higher fence has the shard, and the other region is told. Shards without
 * a home get one after every reachable member with the role has registered, has answered that it
 * has no region, or has ignored ten queries.
 *
 * Order of use: coordinator_new, coordinator_peer for each member, coordinator_next_want for the
 * read of the state. After the read the first news is COORDINATOR_NEWS_WANTS_TERM; answer it with
 * coordinator_term. After each call: drain coordinator_next_want, coordinator_next_news and the
 * outbox, then look at coordinator_deadline. The node passes each message for coordinator_path() to
 * the coordinator, and SHARD_NO_REGION with this type. */
#ifndef SHERD_SHARD_COORDINATOR_H
#define SHERD_SHARD_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/outbox.h"
#include "base/peer.h"
#include "base/trace.h"
#include "shard/wire.h"

/* Zero means Akka's default, which stands in brackets (docs/protocol/config.md). */
struct coordinator_settings {
    uint64_t handoff_timeout_ms;     /* limit of a whole hand-off [60000] */
    /* pause before HostShard is repeated; a shorter one doubles to 10000 while unanswered
     * [10000] */
    uint64_t shard_start_timeout_ms;
    uint64_t rebalance_interval_ms;  /* [10000] */
    uint64_t waiting_for_state_timeout_ms; /* limit of a read of the state [2000] */
    uint64_t updating_state_timeout_ms;    /* limit of a write [5000] */
    /* pause between queries to members and between repeated hand-off messages [1000] */
    uint64_t query_interval_ms;
    /* time from a member's removal to the new allocation of its shards [0] */
    uint64_t removal_margin_ms;
    uint32_t absolute_limit;         /* rebalance-absolute-limit [0 = the old algorithm] */
    double relative_limit; /* rebalance-relative-limit [0.1]; below 0: no share, so one shard */
    uint32_t threshold;              /* rebalance-threshold of the old algorithm [1] */
    uint32_t simultaneous_max;       /* max-simultaneous-rebalance of the old algorithm [3] */
    uint32_t min_members;            /* registered regions before the first allocation [1] */
    uint32_t number_of_shards;       /* others are refused [the number of the first registration] */
};

/* Work that the coordinator may do before the next step; coordinator_room_fill refills it. The rest
 * waits for the next step. */
struct coordinator_room {
    uint32_t tells;  /* unsolicited messages; answers are always sent, and count */
    uint32_t places; /* regions to compare when homes are chosen */
    uint32_t packs;  /* parts of the state to pack */
    uint32_t views;  /* regions to look at when moves are decided */
};

struct coordinator_options {
    const struct identity *identity; /* lent for the coordinator's lifetime */
    const char *type;                /* copied */
    struct coordinator_settings settings;
    struct trace *trace; /* lent likewise; may be null */
    struct probes *probes; /* lent likewise; may be null */
    uint16_t type_index;   /* for probes */
    uint64_t seed;       /* makes the actor uid of its path */
    /* Lent likewise; one for all coordinators of a machine, which refills it before it steps them.
     * Null = a private one. */
    struct coordinator_room *room;
};

enum coordinator_news_kind {
    /* Take a term greater than `term` for this type from the fencing store and pass it to
     * coordinator_term. Comes again when a region reports a higher term; the coordinator then
     * allocates nothing until it has a new one. */
    COORDINATOR_NEWS_WANTS_TERM,
    COORDINATOR_NEWS_ACTIVE,      /* it has its `term` and answers */
    /* after coordinator_stop: shut down this node's own region of the type gracefully */
    COORDINATOR_NEWS_STOP_REGION,
    /* after coordinator_stop: free the coordinator, then inform the singleton */
    COORDINATOR_NEWS_STOPPED
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

/* Its path on this node with "#uid"; lent for its lifetime. Compare recipients with the path_plain
 * of this path. */
struct slice coordinator_path(const struct coordinator *coordinator);

/* A request to distributed data, one at a time. The two keys are the state of its type and the
 * fences (stored.h). Reads use read-majority-plus, writes write-majority-plus. Look after each
 * call; answer each request once, by its ticket. */
enum coordinator_want_kind {
    COORDINATOR_WANT_READ, /* both keys; answered with coordinator_read */
    /* the keys whose values are not empty; answered with coordinator_written */
    COORDINATOR_WANT_WRITE
};

struct coordinator_want {
    enum coordinator_want_kind kind;
    uint64_t ticket;
    uint64_t timeout_ms;
    struct slice state; /* both lent until the next call */
    struct slice fences;
    bool to_all; /* last write of a coordinator that ends: for every member that is not exiting */
};

/* True if a request waits, packed or not. is_write: its kind. */
bool coordinator_wants(const struct coordinator *coordinator, bool *is_write);
/* False also while the request is not packed yet; then the coordinator is busy. */
bool coordinator_next_want(struct coordinator *coordinator,
                           struct coordinator_want *want);
/* The stored values, lent; empty if nothing is stored. is_good false: too few members answered.
 * Ignores answers to earlier tickets. */
void coordinator_read(struct coordinator *coordinator, uint64_t now,
                      uint64_t ticket, bool is_good, struct slice state,
                      struct slice fences, struct outbox *outbox);
/* is_good false: too few members confirmed at least one key. */
void coordinator_written(struct coordinator *coordinator, uint64_t now,
                         uint64_t ticket, bool is_good, struct outbox *outbox);
/* One of its keys holds another value than the coordinator read or wrote last. A former coordinator
 * wrote it, and it reached too few replicas before the read, or that coordinator's clock was ahead.
 * `fences`: that key's value, lent; empty if it is the other key. Writes both keys again, with a
 * higher term and higher fences. Ignored before coordinator_read. */
void coordinator_foreign(struct coordinator *coordinator, uint64_t now,
                         struct slice fences, struct outbox *outbox);

/* Passes the term that the store gave. A term that is not greater than requested is refused; the
 * news then comes again after a second. */
void coordinator_term(struct coordinator *coordinator, uint64_t now,
                      uint64_t term, struct outbox *outbox);

/* Names an earlier shard of a type that remembers its entities; the shard gets a home without a
 * request. Copies `shard`. Returns false if it is no shard of the type. Call it before
 * coordinator_term. */
bool coordinator_remembered(struct coordinator *coordinator,
                            struct slice shard);

/* Passes a new member, or a changed status, version or reachability. Pass all known members before
 * the term. Lent. */
void coordinator_peer(struct coordinator *coordinator, uint64_t now,
                      const struct peer *peer, struct outbox *outbox);
void coordinator_peer_removed(struct coordinator *coordinator, uint64_t now,
                              const struct node_id *node,
                              struct outbox *outbox);
/* Marks a member as a node without this library. It cannot report its shards, so nothing waits for
 * its report. Its region is refused unless the stored state has it. */
void coordinator_peer_foreign(struct coordinator *coordinator, uint64_t now,
                              const struct node_id *node,
                              struct outbox *outbox);

/* Passes a message to the coordinator, lent. Malformed and stale messages are counted and
 * dropped. */
void coordinator_receive(struct coordinator *coordinator, uint64_t now,
                         const struct inbound *inbound, struct outbox *outbox);

/* Starts the singleton hand-over. The coordinator first waits until this node's own region, if any,
 * has handed off and stopped. It then waits at most 3 s until each HostShard is answered. */
void coordinator_stop(struct coordinator *coordinator, uint64_t now,
                      struct outbox *outbox);

/* Does everything that is due at `now`. */
void coordinator_step(struct coordinator *coordinator, uint64_t now,
                      struct outbox *outbox);
/* Returns when to step next: NEVER if nothing waits, 0 while the coordinator is busy. */
uint64_t coordinator_deadline(const struct coordinator *coordinator);
/* True if a step had no room for all messages, decisions or parts. A further step at any time
 * continues. */
bool coordinator_is_busy(const struct coordinator *coordinator);
bool coordinator_next_news(struct coordinator *coordinator,
                           struct coordinator_news *news);

const struct coordinator_counters *
coordinator_counters(const struct coordinator *coordinator);

/* Data for status pages. Texts are lent until the next call that changes the coordinator. */
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
    struct slice region; /* the home's ref; empty = none */
    struct node_id node; /* the home's node */
    struct fence fence;
    bool is_started;
    bool is_moving;
};

/* Iterates in order of registration or of first mention. Start with *at = 0; returns false at the
 * end. */
bool coordinator_next_region(const struct coordinator *coordinator,
                             uint32_t *at, struct coordinator_region_view *view);
bool coordinator_next_shard(const struct coordinator *coordinator, uint32_t *at,
                            struct coordinator_shard_view *view);
bool coordinator_is_active(const struct coordinator *coordinator); /* has a term */
/* Open hand-offs by state. */
struct coordinator_moves {
    uint32_t beginning; /* some regions do not hold the shard yet */
    uint32_t stopping;  /* all hold it; the owner was asked to stop it */
};
struct coordinator_moves
coordinator_moves(const struct coordinator *coordinator);
/* Members whose answers the first allocations wait for. */
uint32_t coordinator_awaited(const struct coordinator *coordinator);

/* Aborts if an invariant is broken: each shard has at most one home, each home is registered, and
 * the lists agree. For tests. */
void coordinator_verify(const struct coordinator *coordinator);

#endif
