/* Replicates keys whose values converge on all members with the same roles. Speaks the messages of
 * Akka's replicator (serializer 12). See docs/protocol/ddata.md.
 *
 * A pure core: commands, members, messages, the durable file's answers and the time come in;
 * messages, news and a deadline go out. Order of calls: replicator_new, replicator_wall,
 * replicator_peer for every member. With durable keys follow replicator_load or replicator_hold for
 * each stored entry, and replicator_loaded. After each call, drain replicator_next_news and the
 * outbox, and read replicator_deadline.
 *
 * The node passes in every message of REPLICATOR_SERIALIZER to the replicator's path or to a path
 * below it. Each write or read has such a path, to which peers answer. */
#ifndef SHERD_DDATA_REPLICATOR_H
#define SHERD_DDATA_REPLICATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/outbox.h"
#include "base/member_info.h"
#include "base/probe.h"
#include "base/trace.h"
#include "ddata/value.h"

#define REPLICATOR_SERIALIZER 12

/* Zero: Akka's default, in brackets. Times are whole milliseconds. */
struct replicator_settings {
    uint64_t gossip_interval_ms;        /* [2000] */
    uint64_t notify_interval_ms;        /* [500] */
    uint64_t pruning_interval_ms;       /* [120000] */
    /* from a removal to its pruning, while all are reachable [300000] */
    uint64_t pruning_dissemination_ms;
    uint64_t pruning_marker_ms;         /* how long a pruning marker is kept [6 h] */
    uint64_t durable_pruning_marker_ms; /* the same for durable keys [10 d] */
    uint32_t max_delta_elements;        /* entries of a gossip, digests of a status [500] */
    uint32_t max_delta_size;            /* elements of a delta; gossip carries larger ones [50] */
    uint32_t entry_size_max; /* bytes of one sent entry [a frame less REPLICATOR_ENTRY_MARGIN] */
    /* bytes of an entry enlarged by a local update; received ones may be larger [entry_size_max
     * less REPLICATOR_MARKS_SIZE] */
    uint32_t update_size_max;
    uint32_t frame_size;                /* bytes of a message that peers accept [FRAME_SIZE_MAX] */
    uint64_t logged_size; /* bytes of an entry whose size is logged [10 KiB]; UINT64_MAX: never */
    bool prefer_oldest;                 /* ask the oldest members first, not random ones */
    bool deltas_off;                    /* delta-crdt.enabled = off */
    bool pruning_off;
    bool gossip_off;                    /* for tests: sends no status */
    /* for tests, lent: this node does not know the type of a DD_GSET under this key, or prefix with
     * "*"; then deltas must be off everywhere */
    const char *unknown_key;
};

/* Removes a key that no node used for this time, even a deleted one. A key without a known use
 * stays. */
struct replicator_expiry {
    const char *pattern; /* a key, or a prefix with "*" */
    uint64_t after_ms;   /* above 0; uses elsewhere are known within a few gossip intervals */
};

/* Work allowed until the next step, besides answers. The rest follows in steps due at once. */
struct replicator_room {
    uint32_t messages; /* of writes and reads to several replicas */
    uint32_t bytes;    /* copied for these messages */
    /* bytes packed for digests and answers to statuses, and unpacked from gossip */
    uint32_t digested;
};

struct replicator_options {
    const struct identity *identity; /* lent for the replicator's lifetime */
    const char *path; /* the same on all nodes; copied */
    struct replicator_settings settings;
    const char *const *durable_keys; /* exact, or prefixes with "*"; copied */
    uint32_t durable_key_count;      /* 0: nothing is stored or loaded */
    /* copied with their patterns; the longest match applies */
    const struct replicator_expiry *expiries;
    uint32_t expiry_count;
    /* the process's, lent for the lifetime: takes over the parts of removed members */
    struct dd_writer *writer;
    struct trace *trace; /* lent; may be null */
    struct probes *probes; /* the same */
    uint64_t seed;
    /* Lent for the lifetime: shared by all replicators of a machine, which fills it each turn.
     * Null: own, filled each step. */
    struct replicator_room *room;
};

void replicator_room_fill(struct replicator_room *room);

enum consistency_level {
    CONSISTENCY_LOCAL,
    CONSISTENCY_COUNT,         /* at least `count` replicas, from 2 on, including this one */
    CONSISTENCY_MAJORITY,
    CONSISTENCY_MAJORITY_PLUS, /* plus `count` more; exiting members do not count */
    CONSISTENCY_ALL            /* exiting members do not count */
};

struct consistency {
    enum consistency_level level;
    uint32_t count;
    uint32_t cap_min;    /* minimum size of a majority, if so many exist */
    uint64_t timeout_ms; /* for all levels but local */
};

/* Each token gets exactly one answer, unless the replicator is freed. A change of a durable key
 * succeeds only when the local durable file has it. */
#define REPLICATOR_ANSWERS(X)                                                  \
    X(REPLICATOR_SUCCESS, "success") /* a get's answer has the value */               \
    X(REPLICATOR_NOT_FOUND, "not-found")                                       \
    X(REPLICATOR_DELETED, "deleted") /* the key is deleted permanently */        \
    X(REPLICATOR_GET_FAILURE, "get-failure") /* too few replicas answered */   \
    /* too few acknowledged, or the local durable file was late; not undone */ \
    X(REPLICATOR_UPDATE_TIMEOUT, "update-timeout") \
    X(REPLICATOR_DELETE_FAILURE, "delete-failure") /* the same for a delete */  \
    /* the local durable file refused, or too many others did; not undone */ \
    X(REPLICATOR_STORE_FAILURE, "store-failure") \
    /* no new value, or another type; nothing changed */ \
    X(REPLICATOR_MODIFY_FAILURE, "modify-failure") \
    /* the key or value would exceed its limit; nothing changed */ \
    X(REPLICATOR_TOO_LARGE, "too-large") \
    /* the stored value was damaged, and none has replaced it; nothing changed */ \
    X(REPLICATOR_HELD, "held") \
    X(REPLICATOR_FULL, "full") /* a limit on a number; nothing changed */     \
    X(REPLICATOR_STOPPED, "stopped")

enum replicator_answer {
#define X(name, text) name,
    REPLICATOR_ANSWERS(X)
#undef X
};

enum replicator_news_kind {
    REPLICATOR_NEWS_ANSWER,  /* token, answer; the value of a successful get */
    REPLICATOR_NEWS_CHANGED, /* token of a subscriber, key, value */
    REPLICATOR_NEWS_REMOVED, /* token of a subscriber, key, which was deleted */
    REPLICATOR_NEWS_EXPIRED, /* token of a subscriber, key */
    REPLICATOR_NEWS_MODIFY,  /* token of an update that had to wait: begin it again at once */
    /* key, bytes, ticket: write to the durable file, in order; answer by replicator_stored unless
     * the ticket is 0 */
    REPLICATOR_NEWS_STORE,
    REPLICATOR_NEWS_FORGET,  /* key: erase from the durable file, in the same order */
    REPLICATOR_NEWS_ENDED    /* the replicator stops: this node was removed, or the file failed */
};

/* Lent until the next call. */
struct replicator_news {
    enum replicator_news_kind kind;
    enum replicator_answer answer;
    uint64_t token;
    uint64_t ticket;
    struct slice key;
    struct slice bytes;
    const struct dd_value *value; /* replicator_news_value has further ones */
    bool by_others; /* CHANGED: partly from another node, or the subscription is new */
};

/* Every received message is acted on or counted. node/control/status.c reports refusals. */
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
    X(siblings, "entries kept beside others: they do not merge here")          \
    X(siblings_full, "entries refused: too many beside others")                \
    X(opaque_deltas, "deltas dropped: they do not merge here")                 \
    X(pulls_lost, "writes of changes not answered: the whole did not come, or too many wait") \
    X(late, "answers dropped: nobody waits for them any more")                 \
    X(not_asked, "answers dropped: of a node that was not asked")              \
    X(held, "messages dropped: reads and changes of keys that were damaged")   \
    X(loading, "messages dropped: the durable entries are not there yet")      \
    X(ended, "messages dropped: the replicator has ended")                     \
    X(refused, "commands refused: at a limit")                                 \
    X(stores_refused, "entries not given to the durable file: too many on their way") \
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

/* The wall clock (ms since 1970) of the following calls. It dates pruning markers. */
void replicator_wall(struct replicator *replicator, int64_t wall_ms);

/* A member (or this node) is new or has changed. has_role: it has all roles of the replicator.
 * Lent. */
void replicator_peer(struct replicator *replicator, uint64_t now,
                     const struct member_info *peer);
void replicator_peer_removed(struct replicator *replicator, uint64_t now,
                             const struct node_id *node);

/* A message to the path or below it; lent. */
void replicator_receive(struct replicator *replicator, uint64_t now,
                        const struct inbound *inbound, struct outbox *outbox);

/* Commands. The answer repeats the caller's token, and may be available at once. Keys are
 * copied. */
void replicator_get(struct replicator *replicator, uint64_t now, uint64_t token,
                    struct slice key, const struct consistency *consistency,
                    struct outbox *outbox);
/* A get for a subscriber: local, and no use of the key. */
void replicator_show(struct replicator *replicator, uint64_t token,
                     struct slice key);
void replicator_delete(struct replicator *replicator, uint64_t now,
                       uint64_t token, struct slice key,
                       const struct consistency *consistency,
                       struct outbox *outbox);

enum replicator_begin {
    /* current is lent, or null: next call replicator_update or replicator_update_fail */
    REPLICATOR_MODIFY,
    REPLICATOR_WAIT,    /* still loading: begin again after REPLICATOR_NEWS_MODIFY */
    REPLICATOR_ANSWERED /* deleted, held, full, stopped */
};
enum replicator_begin replicator_update_begin(struct replicator *replicator,
                                              uint64_t now, uint64_t token,
                                              struct slice key,
                                              const struct dd_value **current,
                                              struct outbox *outbox);
/* Finishes the update: merges the value, given, with the current one. */
void replicator_update(struct replicator *replicator, uint64_t now,
                       uint64_t token, struct slice key, struct dd_value *value,
                       const struct consistency *consistency,
                       struct outbox *outbox);
/* Like replicator_update, for a value made by changing `current` as the begin returned it (perhaps
 * null). A set replaces the current value without a merge, which is most of the work. */
void replicator_update_made(struct replicator *replicator, uint64_t now,
                            uint64_t token, struct slice key,
                            const struct dd_value *current,
                            struct dd_value *value,
                            const struct consistency *consistency,
                            struct outbox *outbox);
/* Instead of copying a large set or map after the begin: lends the current value to be changed.
 * The change must not fail, add more than growth_max bytes, or remove from a map. Next, pass the
 * value as `current` and `value` to replicator_update_made, with the same consistency. Null:
 * make a copy. */
struct dd_value *
replicator_update_in_place(struct replicator *replicator, struct slice key,
                           size_t growth_max,
                           const struct consistency *consistency);
void replicator_update_fail(struct replicator *replicator, uint64_t now,
                            uint64_t token, struct slice key,
                            struct outbox *outbox);

/* The token names the subscriber. It gets the current value soon, and later changes, all of an
 * interval as one. "*" at the end of the key makes it a prefix. False at the limit. */
bool replicator_subscribe(struct replicator *replicator, uint64_t token,
                          struct slice key);
bool replicator_is_subscribed(const struct replicator *replicator,
                              uint64_t token, struct slice key);
void replicator_unsubscribe(struct replicator *replicator, uint64_t token,
                            struct slice key);
void replicator_unsubscribe_all(struct replicator *replicator, uint64_t token);
/* Notifies at once. */
void replicator_flush(struct replicator *replicator);

/* The next key that is not deleted, in order of arrival, from *at = 0. Lent until the next call. */
bool replicator_next_key(const struct replicator *replicator, uint32_t *at,
                         struct slice *key);
/* One step of that, to limit the work: *key is empty for a deleted key. A key keeps its place
 * permanently. *index is 0 at first and when *at comes from elsewhere. */
bool replicator_step_key(const struct replicator *replicator, uint32_t *at,
                         uint32_t *index, struct slice *key);
/* Replicas, this one included; 0 while durable entries are loading. */
uint32_t replicator_count(const struct replicator *replicator);
/* The local value, lent until the next call; null if there is none. */
const struct dd_value *replicator_look(const struct replicator *replicator,
                                    struct slice key);

/* The same for a key whose values do not merge here: one place after the other from 0, the last
 * that arrived first; null after them. Other keys have one. */
const struct dd_value *replicator_look_at(const struct replicator *replicator,
                                          struct slice key, uint32_t index);

/* Appends the bytes that the key's digest covers; nothing for a deleted key. False: no such key. */
bool replicator_bytes(const struct replicator *replicator, struct slice key,
                      struct buf *bytes);
/* The next removed member that was pruned from the key, from *at = 0; null: no more. Lent until a
 * change. */
const struct node_id *replicator_next_pruned(const struct replicator *replicator,
                                             struct slice key, uint32_t *at);
bool replicator_leads(const struct replicator *replicator); /* true: may begin pruning */
/* True if it leads and considers the node removed: it prunes the node's data now or later. */
bool replicator_prunes(const struct replicator *replicator,
                       const struct node_id *node);
/* Members that count for writes and reads, this one included. Equal signatures mean equal
 * members. */
struct replicator_members {
    uint32_t count;
    uint32_t exiting; /* those that are exiting */
    uint32_t asked;   /* those with replicator_counts */
    uint64_t signature;
};
struct replicator_members replicator_members(
    const struct replicator *replicator);
/* True if the levels "all" and "majority plus" count the member. */
bool replicator_counts(const struct replicator *replicator,
                       const struct node_id *node);

/* A stored entry in the bytes of REPLICATOR_NEWS_STORE; lent. Before replicator_loaded. */
void replicator_load(struct replicator *replicator, uint64_t now,
                     struct slice key, struct slice bytes);
/* Like replicator_load, for a damaged entry: bytes are an earlier value, or empty. The key is held:
 * not shown, not changed, not counted as this replica's answer. It stays held until at least half
 * of all members, without this one, have sent all that they have, which is merged with these bytes;
 * or until it is deleted or released. A get succeeds if enough others answer. */
void replicator_hold(struct replicator *replicator, uint64_t now,
                     struct slice key, struct slice bytes);
bool replicator_is_held(const struct replicator *replicator, struct slice key);
bool replicator_is_durable(const struct replicator *replicator,
                           struct slice key); /* decided by the name */
/* Command: serves a held key with what is left and what came, stored like a change; without any,
 * the key does not exist. Answers success when that is stored; at once if there is nothing to
 * store. */
void replicator_release(struct replicator *replicator, uint64_t token,
                        struct slice key);
/* False: loading failed, which ends the replicator. */
void replicator_loaded(struct replicator *replicator, uint64_t now,
                       bool is_good, struct outbox *outbox);
void replicator_stored(struct replicator *replicator, uint64_t now,
                       uint64_t ticket, bool is_good, struct outbox *outbox);
/* Ends the replicator. */
void replicator_store_lost(struct replicator *replicator);

void replicator_step(struct replicator *replicator, uint64_t now,
                     struct outbox *outbox);
uint64_t replicator_deadline(const struct replicator *replicator);
bool replicator_next_news(struct replicator *replicator,
                          struct replicator_news *news);
/* The value of the news at this place: news->value is at 0; null: no more. */
const struct dd_value *
replicator_news_value(const struct replicator *replicator,
                      const struct replicator_news *news, uint32_t index);

/* With "#uid"; lent for the replicator's lifetime. */
struct slice replicator_path(const struct replicator *replicator);
/* True for this replicator, and for its writes and reads. */
bool replicator_is_recipient(const struct replicator *replicator,
                             struct slice recipient);
const char *replicator_answer_text(enum replicator_answer answer); /* a literal */
const struct replicator_counters *
replicator_counters(const struct replicator *replicator);

/* For a status page. */
struct replicator_view {
    uint32_t keys;
    uint32_t deleted;
    uint32_t subscriptions;
    uint32_t aggregators; /* writes and reads in progress */
    uint64_t bytes;       /* of all entries as sent */
    bool is_loading;
    bool has_ended;
};
struct replicator_view replicator_view(const struct replicator *replicator);

/* The number of replicas in a majority of count. */
uint32_t consistency_majority(uint32_t cap_min, uint32_t count,
                              uint32_t additional);

#endif
