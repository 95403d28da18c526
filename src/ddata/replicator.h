/* Replicated data of one node: keys whose values converge on all members with the same roles (behaviour 13, wire 6).
 *
 * Speaks the messages of Akka's replicator (serializer 12): direct writes and reads with a consistency, gossip of
 * digests and of whole values, deltas, pruning of removed members. A pure machine: told commands, members, messages,
 * the store's answers and the time; it leaves messages in an outbox, news, and a deadline. The values are
 * ddata/value.h's.
 *
 * Order of use: replicator_new, replicator_wall, replicator_peer for every member; with durable keys replicator_load
 * for each stored entry (or replicator_hold), then replicator_loaded. After each call: drain replicator_next_news and the outbox, look at
 * replicator_deadline. The node passes it every message of REPLICATOR_SERIALIZER whose recipient is its path or lies
 * below it. Peers answer to its path, or to one below it that stands for one write or read. See
 * docs/protocol/ddata.md. */
#ifndef SHERD_DDATA_REPLICATOR_H
#define SHERD_DDATA_REPLICATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/outbox.h"
#include "base/peer.h"
#include "base/probe.h"
#include "base/trace.h"
#include "ddata/value.h"

#define REPLICATOR_SERIALIZER 12

/* Zero = the reference's default, in brackets (behaviour 13.1). Times below a millisecond have no meaning. */
struct replicator_settings {
    uint64_t gossip_interval_ms;        /* [2000] */
    uint64_t notify_interval_ms;        /* between two looks for what to tell subscribers [500] */
    uint64_t pruning_interval_ms;       /* [120000] */
    uint64_t pruning_dissemination_ms;  /* from a removal to the start of its pruning, all reachable [300000] */
    uint64_t pruning_marker_ms;         /* that a marker of what was pruned is kept [6 h] */
    uint64_t durable_pruning_marker_ms; /* the same of durable keys [10 d] */
    uint32_t max_delta_elements;        /* entries of one gossip, digests of one status [500] */
    uint32_t max_delta_size;            /* elements of one delta; a larger one is left to gossip [50] */
    uint32_t entry_size_max;            /* bytes of one entry as it is sent [a frame, less REPLICATOR_ENTRY_MARGIN] */
    uint32_t update_size_max;           /* bytes of one that an update here makes larger; others' may be [entry_size_max, less REPLICATOR_MARKS_SIZE] */
    uint32_t frame_size;                /* bytes of a message that the peers take [FRAME_SIZE_MAX] */
    uint64_t told_size;                 /* bytes of an entry from which on its size is logged [10 KiB]; UINT64_MAX: never */
    bool prefer_oldest;                 /* ask the oldest members first, instead of any */
    bool deltas_off;                    /* delta-crdt.enabled = off */
    bool pruning_off;
    bool gossip_off;                    /* for tests: no status is sent */
};

/* A key that was used nowhere for so long is forgotten, deleted or not. One of which no use is known stays. */
struct replicator_expiry {
    const char *pattern; /* a key, or with a "*" at the end all that begin so */
    uint64_t after_ms;   /* above 0; a use is seen elsewhere within a few gossip intervals */
};

/* What may be done before the next step, beyond answers; the rest is done in the steps that follow at once. */
struct replicator_room {
    uint32_t messages; /* of writes and reads to several replicas */
    uint32_t bytes;    /* of them, copied for each */
    uint32_t digested; /* bytes packed for digests and for answers to others', and unpacked of what comes */
};

struct replicator_options {
    const struct identity *identity; /* lent for the replicator's life */
    const char *path; /* of the replicator, the same on all nodes, e.g. "/system/ddataReplicator"; copied */
    struct replicator_settings settings;
    const char *const *durable_keys; /* exact, or with a "*" at the end everything that begins so; copied */
    uint32_t durable_key_count;      /* 0: nothing is stored, and nothing loaded */
    const struct replicator_expiry *expiries; /* copied, with their patterns; of those that fit the longest counts */
    uint32_t expiry_count;
    struct dd_writer *writer; /* the process's, lent for life: it writes what this node takes over of removed ones */
    struct trace *trace; /* lent for life; may be null */
    struct probes *probes; /* the same */
    uint64_t seed;
    /* Lent for life: that of all replicators of a machine, which fills it at each turn. Null = one of its own, filled at each step. */
    struct replicator_room *room;
};

void replicator_room_fill(struct replicator_room *room);

enum consistency_level {
    CONSISTENCY_LOCAL,
    CONSISTENCY_COUNT,         /* at least `count` replicas, this one among them; count from 2 on */
    CONSISTENCY_MAJORITY,
    CONSISTENCY_MAJORITY_PLUS, /* and `count` more; exiting members do not count */
    CONSISTENCY_ALL            /* exiting members do not count */
};

struct consistency {
    enum consistency_level level;
    uint32_t count;
    uint32_t cap_min;    /* a majority is at least so many, if there are */
    uint64_t timeout_ms; /* of all but local */
};

/* How a command ended. Exactly one answer comes for each token, whatever happens, unless the replicator is freed. A change of a
 * durable key succeeds only when the own store has it, however many others do. */
#define REPLICATOR_ANSWERS(X)                                                  \
    X(REPLICATOR_SUCCESS, "success") /* a get's has the value */               \
    X(REPLICATOR_NOT_FOUND, "not-found")                                       \
    X(REPLICATOR_DELETED, "deleted") /* the key is deleted, for ever */        \
    X(REPLICATOR_GET_FAILURE, "get-failure") /* too few replicas answered */   \
    X(REPLICATOR_UPDATE_TIMEOUT, "update-timeout") /* too few did, or the own store not in time; it is not undone, and spreads */ \
    X(REPLICATOR_DELETE_FAILURE, "delete-failure") /* the same of a delete */  \
    X(REPLICATOR_STORE_FAILURE, "store-failure") /* the own durable store refused, or so many others' that too few have it; it is not undone */ \
    X(REPLICATOR_MODIFY_FAILURE, "modify-failure") /* no new value, or one of another type; nothing is changed */ \
    X(REPLICATOR_TOO_LARGE, "too-large") /* key or value would have more bytes than one may; nothing is changed */ \
    X(REPLICATOR_HELD, "held") /* what the store had of the key was damaged, and nothing better has come; nothing is changed */ \
    X(REPLICATOR_FULL, "full") /* a limit in number; nothing is changed */     \
    X(REPLICATOR_STOPPED, "stopped")

enum replicator_answer {
#define X(name, text) name,
    REPLICATOR_ANSWERS(X)
#undef X
};

enum replicator_news_kind {
    REPLICATOR_NEWS_ANSWER,  /* token, answer; value of a get that succeeded */
    REPLICATOR_NEWS_CHANGED, /* token of a subscriber, key, value */
    REPLICATOR_NEWS_REMOVED, /* token of a subscriber, key: the key was deleted */
    REPLICATOR_NEWS_EXPIRED, /* token of a subscriber, key: nobody used it, and it is forgotten */
    REPLICATOR_NEWS_MODIFY,  /* token: of an update that had to wait; begin it again at once */
    REPLICATOR_NEWS_STORE,   /* key, bytes, ticket: put it into the durable store, in order; answer with
                                replicator_stored unless the ticket is 0 */
    REPLICATOR_NEWS_FORGET,  /* key: take it out of the durable store, in order with those above */
    REPLICATOR_NEWS_ENDED    /* it does nothing more: this node was removed, or the durable store failed */
};

/* All is lent until the next call. */
struct replicator_news {
    enum replicator_news_kind kind;
    enum replicator_answer answer;
    uint64_t token;
    uint64_t ticket;
    struct slice key;
    struct slice bytes;
    const struct dd_value *value;
    bool by_others; /* CHANGED: some of it came from another node, or the subscriber has just come */
};

/* Why something was dropped. Every message that arrives is counted here, or is acted on. node/status.c tells users what was refused or given up. */
#define REPLICATOR_COUNTERS(X)                                                 \
    X(writes, "entries written by command")                                    \
    X(merges, "entries merged that came from others")                          \
    X(deltas_applied, "deltas applied")                                        \
    X(deltas_repeated, "deltas that were applied before")                      \
    X(delta_gaps, "deltas dropped: what is before them, or a pruning, is missing") \
    X(deltas_refused, "messages of deltas dropped: deltas are off")            \
    X(deltas_lost, "own deltas given up: too many; gossip carries them")       \
    X(full_resends, "writes sent whole because deltas were not taken")         \
    X(statuses, "statuses that came")                                          \
    X(gossips, "gossips that came")                                            \
    X(gossip_dropped, "statuses and gossips dropped: too many wait")           \
    X(unmerged, "entries refused: another type, or not of a kind that merges") \
    X(too_large, "entries refused: more bytes than an entry may have")         \
    X(too_many, "entries refused: too many keys or bytes in all")              \
    X(unsent, "entries not sent: larger than a message")                       \
    X(malformed, "messages dropped: not readable")                             \
    X(unknown, "messages dropped: of an unknown kind")                         \
    X(clients, "messages dropped: commands of remote actors")                  \
    X(strangers, "messages dropped: of no member")                             \
    X(other_uid, "messages dropped: for another incarnation of this node")     \
    X(removed, "messages dropped: deltas of a member that was removed")        \
    X(late, "answers dropped: nobody waits for them any more")                 \
    X(not_asked, "answers dropped: of a node that was not asked")              \
    X(held, "messages dropped: reads and changes of keys that were damaged")   \
    X(loading, "messages dropped: the durable entries are not there yet")      \
    X(ended, "messages dropped: the replicator has ended")                     \
    X(refused, "commands refused: at a limit")                                 \
    X(stores_refused, "entries not given to the store: too many on their way") \
    X(unloaded, "stored entries not loaded: not readable, or at a limit")      \
    X(forgotten, "removed members forgotten: too many")                        \
    X(crowded, "members not kept: too many")                                   \
    X(pruned, "entries from which a removed member was pruned")            \
    X(expired, "entries forgotten: nobody used them")                          \
    X(unforgotten, "times that an entry nobody used was not forgotten: too much is hidden") \
    X(stale, "entries refused: nobody used them for too long")

struct replicator_counters {
#define X(name, text) uint64_t name;
    REPLICATOR_COUNTERS(X)
#undef X
};

struct replicator;

struct replicator *replicator_new(const struct replicator_options *options,
                                  uint64_t now);
void replicator_free(struct replicator *replicator);

/* The wall clock, ms since 1970, as of the calls that follow. Markers of pruning are dated by it. */
void replicator_wall(struct replicator *replicator, int64_t wall_ms);

/* A member, this node included, is new or has changed its status or reachability; has_role = it has all roles of the
 * replicator. Lent. */
void replicator_peer(struct replicator *replicator, uint64_t now,
                     const struct peer *peer);
void replicator_peer_removed(struct replicator *replicator, uint64_t now,
                             const struct node_id *node);

/* A message whose recipient is the path or below it; lent. */
void replicator_receive(struct replicator *replicator, uint64_t now,
                        const struct inbound *inbound, struct outbox *outbox);

/* Commands. The token is the caller's, and stands in the answer; keys are copied. An answer may be there at once. */
void replicator_get(struct replicator *replicator, uint64_t now, uint64_t token,
                    struct slice key, const struct consistency *consistency,
                    struct outbox *outbox);
/* A get of what is here, for one who follows the key: that is no use of it. */
void replicator_show(struct replicator *replicator, uint64_t token,
                     struct slice key);
void replicator_delete(struct replicator *replicator, uint64_t now,
                       uint64_t token, struct slice key,
                       const struct consistency *consistency,
                       struct outbox *outbox);

enum replicator_begin {
    REPLICATOR_MODIFY,  /* *current is lent, null when there is none: end with replicator_update or
                           replicator_update_fail before anything else is called */
    REPLICATOR_WAIT,    /* the durable entries are not there yet: REPLICATOR_NEWS_MODIFY comes, then begin again */
    REPLICATOR_ANSWERED /* at once: deleted, held, full, stopped */
};
enum replicator_begin replicator_update_begin(struct replicator *replicator,
                                              uint64_t now, uint64_t token,
                                              struct slice key,
                                              const struct dd_value **current,
                                              struct outbox *outbox);
/* Ends it: the value made of the current one, given. It is merged with the current one, so it may also be new. */
void replicator_update(struct replicator *replicator, uint64_t now,
                       uint64_t token, struct slice key, struct dd_value *value,
                       const struct consistency *consistency,
                       struct outbox *outbox);
/* The same of a value that is the current one, as the begin just before this call lent it, and changes made in it: a set takes its place
 * and is not merged, which is most of the work. `current` may be null, as it came. */
void replicator_update_made(struct replicator *replicator, uint64_t now,
                            uint64_t token, struct slice key,
                            const struct dd_value *current,
                            struct dd_value *value,
                            const struct consistency *consistency,
                            struct outbox *outbox);
/* After the begin, instead of a copy, which takes the time of a large set or map: the current value itself, to be changed so that it grows by so
 * many bytes at most, and cannot fail; of a map nothing may be removed. It is then current and value of replicator_update_made, which is called before anything else, with the
 * same consistency. Null: make a copy. It is of another type, or may be refused. */
struct dd_value *
replicator_update_in_place(struct replicator *replicator, struct slice key,
                           size_t growth_max,
                           const struct consistency *consistency);
void replicator_update_fail(struct replicator *replicator, uint64_t now,
                            uint64_t token, struct slice key,
                            struct outbox *outbox);

/* The token names the subscriber: it gets the current value soon, and again after each change, all changes of an
 * interval in one. A key ending with "*" means all that begin so. False at the limit. */
bool replicator_subscribe(struct replicator *replicator, uint64_t token,
                          struct slice key);
bool replicator_is_subscribed(const struct replicator *replicator,
                              uint64_t token, struct slice key);
void replicator_unsubscribe(struct replicator *replicator, uint64_t token,
                            struct slice key);
void replicator_unsubscribe_all(struct replicator *replicator, uint64_t token);
/* Tells subscribers at once. */
void replicator_flush(struct replicator *replicator);

/* Keys that are not deleted, in the order they came; start with *at = 0. Lent until another function is called. */
bool replicator_next_key(const struct replicator *replicator, uint32_t *at,
                         struct slice *key);
/* One step of that: *key is empty where a deleted one stands. For those who may not look at many at once. A key has its
 * place for ever. *index is 0 at first, and whenever *at comes from elsewhere. */
bool replicator_step_key(const struct replicator *replicator, uint32_t *at,
                         uint32_t *index, struct slice *key);
/* Replicas, this one included; 0 while durable entries are loaded. */
uint32_t replicator_count(const struct replicator *replicator);
/* The value of a key as it is here, lent until the next call; null when there is none, or it is deleted. */
const struct dd_value *replicator_look(const struct replicator *replicator,
                                    struct slice key);

/* For those who compare replicas. What digests are made of, appended; nothing for a deleted key. False: it is not there. */
bool replicator_bytes(const struct replicator *replicator, struct slice key,
                      struct buf *bytes);
/* The next of the removed members that are pruned from the key, as far as its marks say; from *at = 0. Null: no more. Lent until
 * something changes. */
const struct node_id *replicator_next_pruned(const struct replicator *replicator,
                                             struct slice key, uint32_t *at);
bool replicator_leads(const struct replicator *replicator); /* so that it may prune */
/* Does this one lead, and take that node for gone, so that it prunes what comes of it, or will? */
bool replicator_prunes(const struct replicator *replicator,
                       const struct node_id *node);
/* Who counts for writes and reads, this one included: the same signature, the same members. */
struct replicator_members {
    uint32_t count;
    uint32_t exiting; /* of them */
    uint32_t asked;   /* of them, where all are, or a majority and some more: replicator_counts */
    uint64_t signature;
};
struct replicator_members replicator_members(
    const struct replicator *replicator);
/* Is that member asked where all are, or a majority and some more? Exiting ones are not; this one always is. */
bool replicator_counts(const struct replicator *replicator,
                       const struct node_id *node);

/* A stored entry, in the bytes of REPLICATOR_NEWS_STORE; lent. Before replicator_loaded. */
void replicator_load(struct replicator *replicator, uint64_t now,
                     struct slice key, struct slice bytes);
/* A stored entry that is not what was written last: bytes are an earlier one, or none. The key is held: not shown, not changed,
 * no replica for others, until half of all members, this one not among them, have sent all that they have of it, which is merged with these
 * bytes; or it is deleted or released. A get of as many others as it needs succeeds meanwhile, with what they have.
 * Before replicator_loaded, in place of replicator_load. */
void replicator_hold(struct replicator *replicator, uint64_t now,
                     struct slice key, struct slice bytes);
bool replicator_is_held(const struct replicator *replicator, struct slice key);
bool replicator_is_durable(const struct replicator *replicator,
                           struct slice key); /* by its name */
/* A command: what is left of a held key, and came of it, is its value from now on, stored as a change is; of nothing the key is not there. Success, when
 * that is stored (where nothing is left: at once), and of a key that is not held. */
void replicator_release(struct replicator *replicator, uint64_t token,
                        struct slice key);
/* All are loaded; false: they could not be, which ends the replicator. */
void replicator_loaded(struct replicator *replicator, uint64_t now,
                       bool is_good, struct outbox *outbox);
/* The store's answer to a ticket. */
void replicator_stored(struct replicator *replicator, uint64_t now,
                       uint64_t ticket, bool is_good, struct outbox *outbox);
/* The store is gone: the replicator ends. */
void replicator_store_lost(struct replicator *replicator);

void replicator_step(struct replicator *replicator, uint64_t now,
                     struct outbox *outbox);
uint64_t replicator_deadline(const struct replicator *replicator);
bool replicator_next_news(struct replicator *replicator,
                          struct replicator_news *news);

struct slice replicator_path(const struct replicator *replicator); /* with "#uid"; lent for its life */
/* Is a recipient this replicator, or one of its writes and reads? */
bool replicator_is_recipient(const struct replicator *replicator,
                             struct slice recipient);
const char *replicator_answer_text(enum replicator_answer answer); /* a literal */
const struct replicator_counters *
replicator_counters(const struct replicator *replicator);

/* What a status page shows. */
struct replicator_view {
    uint32_t keys;
    uint32_t deleted;
    uint32_t subscriptions;
    uint32_t aggregators; /* writes and reads on their way */
    uint64_t bytes;       /* of all entries, as they are sent */
    bool is_loading;
    bool has_ended;
};
struct replicator_view replicator_view(const struct replicator *replicator);

/* How many replicas a majority of count is; behaviour 13.4. */
uint32_t consistency_majority(uint32_t cap_min, uint32_t count,
                              uint32_t additional);

#endif
