/* Allocates the shards of one entity type to regions and moves them. This coordinator runs on the
 * oldest node (singleton/singleton.h); docs/protocol/shard.md describes its rules.
 *
 * It reads its state from distributed data (stored.h) before it is active, and writes each change
 * before it announces it.
 *
 * Order of use: coordinator_new, coordinator_peer for each member, coordinator_next_request for the
 * read. After the read comes COORDINATOR_NEWS_NEEDS_TERM; answer with coordinator_term. After each
 * call drain coordinator_next_request, coordinator_next_news and the outbox, then look at
 * coordinator_deadline. The node passes messages for coordinator_path() to the coordinator, and
 * SHARD_NO_REGION with this type. */
#ifndef SHERD_SHARD_COORDINATOR_H
#define SHERD_SHARD_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/outbox.h"
#include "base/member_info.h"
#include "base/trace.h"
#include "shard/allocation.h"
#include "shard/operation_wire.h"
#include "shard/wire.h"

struct sherd_allocation_strategy; /* sherd/allocation.h */

/* Zero means Akka's default, in brackets. */
struct coordinator_settings {
    uint64_t handoff_timeout_ms;     /* limit of a whole hand-off [60000] */
    /* pause before HostShard is repeated; doubles to 10000 while unanswered [10000] */
    uint64_t shard_start_timeout_ms;
    uint64_t rebalance_interval_ms;  /* [10000] */
    uint64_t waiting_for_state_timeout_ms; /* limit of a read of the state [2000] */
    uint64_t updating_state_timeout_ms;    /* limit of a write [5000] */
    uint64_t failure_backoff_ms; /* longest pause after failed reads and writes; the first is 100 [5000] */
    uint64_t query_interval_ms; /* pause between repeated queries and hand-off messages [1000] */
    uint64_t removal_margin_ms; /* time from a member's removal to new homes for its shards [0] */
    uint32_t absolute_limit;         /* [0 = the old algorithm] */
    double relative_limit;           /* [0.1]; below 0: one shard */
    uint32_t threshold;              /* old algorithm only [1] */
    uint32_t simultaneous_max;       /* old algorithm only [3] */
    uint32_t min_members;            /* registered regions before the first allocation [1] */
    uint32_t number_of_shards;       /* others are refused [that of the first registration] */
    enum allocation_kind allocation; /* [ALLOCATION_LEAST_SHARD] */
    uint32_t hashing_limit; /* consistent hashing: shards that move in one round [0 = all] */
    double load_bound; /* consistent hashing: see allocation_ring_bound [0 = none] */
};

/* Describes a member to a strategy of the program, beyond its member_info; lent. */
struct coordinator_traits {
    const char *app_version;
    const char *data_center;
    const char *const *roles;
    uint32_t role_count;
};

/* Work that is left for the present step; the rest waits for the next one. */
struct coordinator_room {
    uint32_t tells;  /* unsolicited messages; answers count too, but are always sent */
    uint32_t places; /* regions to compare for homes */
    uint32_t packs;  /* parts of the state to pack */
    uint32_t views;  /* regions to look at for moves */
};

struct coordinator_options {
    const struct identity *identity; /* lent for its lifetime */
    const char *type;                /* copied */
    struct coordinator_settings settings;
    struct trace *trace; /* lent likewise; may be null */
    struct probes *probes; /* lent likewise; may be null */
    uint16_t type_index;   /* for probes */
    const char *guardian; /* as in wire.h; copied */
    struct shard_names *names; /* ids of the shards; lent likewise; null: decimal texts */
    uint64_t seed;       /* for the actor uid of its path */
    /* Lent likewise; one for all coordinators of a machine, which refills it before it steps them.
     * Null = a private one. */
    struct coordinator_room *room;
    /* Null unless ALLOCATION_CUSTOM. Lent likewise, with its functions. */
    const struct sherd_allocation_strategy *strategy;
    /* False: no such member. May be null. */
    bool (*describe)(const void *user, const struct node_id *node,
                     struct coordinator_traits *traits);
    const void *user;  /* of describe */
    uint64_t requests; /* its requests have the numbers from here on, without this one */
};

enum coordinator_news_kind {
    /* Take a term above `term` from the journal and pass it to coordinator_term. Comes again
     * when a region reports a higher term; nothing is allocated until the next term. */
    COORDINATOR_NEWS_NEEDS_TERM,
    COORDINATOR_NEWS_ACTIVE,      /* it has its `term` and answers */
    /* after coordinator_stop: shut this node's own region down gracefully */
    COORDINATOR_NEWS_STOP_REGION,
    /* after coordinator_stop: free the coordinator, then inform the singleton */
    COORDINATOR_NEWS_STOPPED
};

struct coordinator_news {
    enum coordinator_news_kind kind;
    uint64_t term;
    /* NEEDS_TERM: the former coordinator's, which the journal must have; value 0 = none */
    struct proof proof;
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
    X(overwritten, "values of other coordinators under its keys; written over") \
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
    X(outbids, "terms taken because the journal had a higher one")               \
    X(outbids_left, "higher terms of the journal that were left alone: too many") \
    X(dropped_full, "requests dropped: too many shards, regions or queries")   \
    X(requests, "requests to the program's strategy")                          \
    X(requests_late, "such requests given up: no answer in time")              \
    X(answers_refused, "answers to them that name no region that takes shards") \
    X(answers_late, "answers to requests that had ended")                      \
    X(locations_ignored, "locations without a shard or an address of this cluster")

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

/* Path on this node with "#uid", lent. Compare recipients with its path_plain. */
struct slice coordinator_path(const struct coordinator *coordinator);

/* A request to distributed data, one at a time, for its two keys: state and fences (stored.h).
 * Reads use read-majority-plus, writes write-majority-plus. Each is answered once, by ticket. */
enum coordinator_request_kind {
    COORDINATOR_REQUEST_READ, /* both keys; answered with coordinator_read */
    /* the keys whose values are not empty; answered with coordinator_written */
    COORDINATOR_REQUEST_WRITE
};

struct coordinator_request {
    enum coordinator_request_kind kind;
    uint64_t ticket;
    uint64_t timeout_ms;
    struct slice state; /* lent until the next call */
    struct slice fences;
    bool to_all; /* last write of a coordinator that ends: to every member that is not exiting */
};

/* True if a request waits, packed or not. */
bool coordinator_requests(const struct coordinator *coordinator, bool *is_write);
/* False also until the request is packed; the coordinator is busy then. */
bool coordinator_next_request(struct coordinator *coordinator,
                              struct coordinator_request *request);
/* Stored values, lent; empty if nothing is stored. is_good false: too few answers. Ignores earlier
 * tickets. */
void coordinator_read(struct coordinator *coordinator, uint64_t now,
                      uint64_t ticket, bool is_good, struct slice state,
                      struct slice fences, struct outbox *outbox);
/* is_good false: too few members confirmed a key. */
void coordinator_written(struct coordinator *coordinator, uint64_t now,
                         uint64_t ticket, bool is_good, struct outbox *outbox);
/* A key holds a value that this coordinator neither read nor wrote last. A former coordinator wrote
 * it, and the read missed it, or the clock was ahead. `fences`: that key's value, lent; empty if it
 * is the other key. Writes both again, with a higher term and higher fences. Ignored before
 * coordinator_read. */
void coordinator_other_state(struct coordinator *coordinator, uint64_t now,
                         struct slice fences, struct outbox *outbox);

/* Passes the journal's term with its proof (value 0: none), which HostShard carries. A term that is
 * too low is refused; the news comes again in a second. */
void coordinator_term(struct coordinator *coordinator, uint64_t now,
                      struct proof proof, struct outbox *outbox);

/* Names a former shard of a type that remembers entities; it gets a home without a request. Copied.
 * False if it is no shard of the type. Only before coordinator_term. */
bool coordinator_remembered(struct coordinator *coordinator,
                            struct slice shard);

/* Passes a new or changed member, lent. Pass all known members before the term. */
void coordinator_peer(struct coordinator *coordinator, uint64_t now,
                      const struct member_info *peer, struct outbox *outbox);
void coordinator_peer_removed(struct coordinator *coordinator, uint64_t now,
                              const struct node_id *node,
                              struct outbox *outbox);
/* The member does not run this library and reports no shards, so nothing waits for it. Its region
 * is refused unless it is stored. */
void coordinator_peer_jvm(struct coordinator *coordinator, uint64_t now,
                              const struct node_id *node,
                              struct outbox *outbox);

/* Passes a message, lent. Malformed and stale ones are counted and dropped. */
void coordinator_receive(struct coordinator *coordinator, uint64_t now,
                         const struct inbound *inbound, struct outbox *outbox);

/* Passes the request of a node to move a shard; lent. The answer P goes to it now, and again when the
 * operation's state changes. */
void coordinator_operate(struct coordinator *coordinator, uint64_t now,
                         const struct node_id *asker, const struct operation_request *request,
                         struct outbox *outbox);

/* Starts the singleton hand-over: waits until this node's own region has stopped, then at most 3 s
 * for answers to HostShard. */
void coordinator_stop(struct coordinator *coordinator, uint64_t now,
                      struct outbox *outbox);
/* Ends it at once, without a hand-over: it may act no more. Only coordinator_free may follow. */
void coordinator_abandon(struct coordinator *coordinator);

/* An answer to a request of ALLOCATION_CUSTOM that comes later; lent. */
struct coordinator_choice {
    const struct address *region; /* for a shard; null: the default choice */
    const int32_t *shards;        /* for moves */
    uint32_t shard_count;
};
/* An unknown number is counted and ignored. */
void coordinator_answer(struct coordinator *coordinator, uint64_t now,
                        uint64_t request,
                        const struct coordinator_choice *choice,
                        struct outbox *outbox);

/* Replaces all locations of ALLOCATION_EXTERNAL: forgets them, then takes one after the other.
 * Both texts are lent. address: "protocol://System@host:port". */
void coordinator_locations_forget(struct coordinator *coordinator);
void coordinator_location(struct coordinator *coordinator, struct slice shard,
                          struct slice address);

void coordinator_step(struct coordinator *coordinator, uint64_t now,
                      struct outbox *outbox);
/* NEVER if nothing waits, 0 while busy. */
uint64_t coordinator_deadline(const struct coordinator *coordinator);
/* A step had no room for everything. A further step at any time continues. */
bool coordinator_is_busy(const struct coordinator *coordinator);
bool coordinator_next_news(struct coordinator *coordinator,
                           struct coordinator_news *news);

const struct coordinator_counters *
coordinator_counters(const struct coordinator *coordinator);

/* For status pages. Texts are lent until the coordinator changes. */
struct coordinator_region_view {
    struct slice ref;
    struct node_id node;
    uint32_t shard_count;
    uint32_t lanes; /* 0 = a JVM node */
    bool is_proxy;
    bool is_shutting_down;
    enum cordon_level cordon;
};

struct coordinator_shard_view {
    struct slice shard;
    struct slice region; /* the home's ref; empty = none */
    struct node_id node; /* the home's node */
    struct fence fence;
    bool is_started;
    bool is_moving;
};

/* In order of registration or first mention. Start with *at = 0. */
bool coordinator_next_region(const struct coordinator *coordinator,
                             uint32_t *at, struct coordinator_region_view *view);
bool coordinator_next_shard(const struct coordinator *coordinator, uint32_t *at,
                            struct coordinator_shard_view *view);
bool coordinator_is_active(const struct coordinator *coordinator);
/* Open hand-offs by state. */
struct coordinator_moves {
    uint32_t beginning; /* waiting for regions to buffer for the shard */
    uint32_t stopping;  /* waiting for the owner to stop it */
};
struct coordinator_moves
coordinator_moves(const struct coordinator *coordinator);
/* Members that block first allocations. */
uint32_t coordinator_awaited(const struct coordinator *coordinator);
/* The words of the operator who paused rebalances, lent; empty: they go on. */
struct slice coordinator_pause(const struct coordinator *coordinator);
/* Wanted shards without a home. */
uint32_t coordinator_unplaced(const struct coordinator *coordinator);

/* Aborts if a shard has two homes, a home is not registered, or lists disagree. For tests. */
void coordinator_verify(const struct coordinator *coordinator);

#endif
