/* A store of versioned values over the cluster, as Dynamo's: N replicas of a key, W of which take a write and R of which answer a read.
 *
 * Each node that shall keep values starts a *broker*, an actor: sherd_store_open. Brokers of one name are one store. A key is kept by
 * the N members that follow it on a ring of hashes (those of the store's role that are up, in this node's data center); any broker
 * takes calls for any key, and answers them to the actor that called.
 *
 *   sherd_store_put(ctx, store, "cart/7", sherd_store_context(msg), bytes, NULL, TAG);
 *   ...
 *   case SHERD_ANSWER:
 *       if (msg->msg == SHERD_STORE_FOUND)
 *           while (sherd_store_next(msg, &at, &value))
 *               ...                                            more than one: siblings, written without knowing of each other
 *
 * Nothing is locked, and nobody decides between two writes. A value has a vector clock; a read gives its *context*, and a write with
 * that context replaces what was read and nothing else. Two writes of which neither has read the other are both there: siblings, until
 * somebody writes with the context of all. A write without a context replaces nothing.
 *
 * When R + W > N, a read sees every write that was answered SHERD_STORE_WRITTEN before it began, while the replicas of the key stay the
 * same incarnations; Q = N / 2 + 1 for both is the default. A write that was not answered so may be there in part: it is found later
 * or not. But what a read of R1 found, a read of R2 that begins after that answer finds, too, or what replaced it, when R1 + R2 > N: a
 * read is answered when R replicas are known to have what it found. That is at once where they agree; where some are behind it sends
 * them what they lack, and waits until R have taken it, no longer than its time-out. Replicas that answer after R are repaired, too. When
 * members come or go, keys move to their new replicas within seconds, and a read meanwhile may miss what only those have that are gone.
 *
 * Values are in memory: what all N replicas of a key lose at one time is lost. Any thread of actors; no call blocks.
 *
 * Seed 001, "Implementing a Dynamo-style Distributed Database on top of Akka Cluster". */
#ifndef SHERD_STORE_H
#define SHERD_STORE_H

#include <sherd/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHERD_STORE_NAME_MAX 64     /* bytes of a store's name */
#define SHERD_STORE_KEY_MAX 255     /* bytes of a key */
#define SHERD_STORE_VALUE_MAX 16384 /* bytes of a value */
#define SHERD_STORE_REPLICAS_MAX 7  /* N */

/* Zero means the default. The same on all nodes of a store. */
struct sherd_store_settings {
    const char *name;     /* required; a text */
    const char *role;     /* whose members keep values; default all. Every one of them must open the store */
    uint32_t replicas;    /* N, 1 to SHERD_STORE_REPLICAS_MAX; default 3. Fewer members than that keep one each */
    uint32_t read;        /* R, at most N; default Q */
    uint32_t write;       /* W, at most N; default Q */
    uint64_t timeout_ms;  /* of a call, 1 to 60,000; default 3,000 */
    uint32_t keys_max;    /* that this broker keeps; default 100,000. Beyond it new ones are refused */
    uint64_t bytes_max;   /* of keys, values and clocks that this broker keeps, at least 1 MiB; default 256 MiB. Beyond it is refused
                             what would be more than before: a smaller value, or a deletion of one, is not */
    uint64_t keep_deleted_ms; /* how long it is known at least that a key was deleted, and counted as a key; default a day. Then it
                                 is forgotten when all replicas of the key have it; while a member cannot be reached none is.
                                 Longer than a message may be on its way */
};

/* Of one call; zero means the store's. */
struct sherd_store_level {
    uint32_t replicas;   /* R of a get, W of a put or delete; 1 to N */
    uint64_t timeout_ms; /* 1 to 60,000 */
};

/* As `msg` of the SHERD_ANSWER with the call's tag. */
enum sherd_store_message {
    SHERD_STORE_FOUND = 1, /* to a get: sherd_store_next, sherd_store_context */
    SHERD_STORE_NOT_FOUND, /* to a get; a context when it was deleted */
    SHERD_STORE_WRITTEN,   /* to a put or delete: W replicas have it. With a context for the next one when it has no sibling */
    SHERD_STORE_UNMET,     /* fewer than R or W replicas have answered, or have what the others have: they were asked in vain, or are at a limit.
                              See sherd_store_replicas; a write may be there */
    SHERD_STORE_TOO_FEW,   /* there are fewer replicas than R or W; nothing was done */
    SHERD_STORE_REFUSED,   /* at a limit of the replica that would coordinate: 8 siblings of the key that the write would not replace, keys_max, bytes_max, or 1,024 open calls;
                              nothing was done */
    SHERD_STORE_STATUS     /* to a status: sherd_store_counts */
};

/* Starts this node's broker as an actor on this lane; once on a node for each name. *store is a ref as others: copy it, send it to
 * other actors, also of other lanes and nodes. It takes calls at once; those for replicas that it does not know yet are UNMET or
 * TOO_FEW. It ends with the node: in a graceful end its values go to their next replicas first. settings: copied. SHERD_EINVAL: a
 * setting is out of its range. SHERD_EFULL: too many actors. */
SHERD_API SHERD_MUST_USE int
sherd_store_open(struct sherd_ctx *ctx,
                 const struct sherd_store_settings *settings,
                 struct sherd_ref *store);

/* Calls. Each is answered once: by SHERD_ANSWER as above, or, when the broker itself does not, by SHERD_NO_ANSWER half a second after level's
 * time-out, or a minute when that is the store's; a write may be there then. key: a text with a zero byte; all is copied. level: null is the store's. SHERD_EINVAL: a key, value, context or level
 * that is none; then nothing is sent and no answer comes. */
SHERD_API SHERD_MUST_USE int
sherd_store_get(struct sherd_ctx *ctx, struct sherd_ref store, const char *key,
                const struct sherd_store_level *level, uint32_t tag);
/* context: of an answer for this key, as it came, or empty: see above. SHERD_EINVAL: of another key, or altered. */
SHERD_API SHERD_MUST_USE int
sherd_store_put(struct sherd_ctx *ctx, struct sherd_ref store, const char *key,
                struct sherd_bytes context, struct sherd_bytes value,
                const struct sherd_store_level *level, uint32_t tag);
/* A write of no value: what is in the context is gone, a sibling that is not stays. */
SHERD_API SHERD_MUST_USE int
sherd_store_delete(struct sherd_ctx *ctx, struct sherd_ref store,
                   const char *key, struct sherd_bytes context,
                   const struct sherd_store_level *level, uint32_t tag);
SHERD_API void sherd_store_status(struct sherd_ctx *ctx, struct sherd_ref store,
                                  uint32_t tag);

/* ---- answers; what they give is lent as long as the message ---- */

/* The next sibling of a SHERD_STORE_FOUND, in an order that is the same for all; *at is 0 at first. 0 when there is none left. */
SHERD_API int sherd_store_next(const struct sherd_msg *msg, size_t *at,
                               struct sherd_bytes *value);
/* What to give back with the next write of this key; empty: nothing. At most 4 KiB, and bytes like others: keep them, send them. */
SHERD_API struct sherd_bytes sherd_store_context(const struct sherd_msg *msg);
/* How many replicas were known to have what was found, or had taken the write. Of a get that is UNMET because fewer than R answered:
 * how many did. */
SHERD_API uint32_t sherd_store_replicas(const struct sherd_msg *msg);

/* name, text. Of one broker since its start, but for the last four. */
#define SHERD_STORE_COUNTERS(X)                                                \
    X(SHERD_STORE_GETS, "gets")                                                \
    X(SHERD_STORE_PUTS, "puts") /* and deletes, that it coordinated or passed on */ \
    X(SHERD_STORE_RELAYED, "relayed") /* of them: to a replica of the key */   \
    X(SHERD_STORE_DONE, "done") /* found, not found, written */                \
    X(SHERD_STORE_SHORT, "unmet or too few")                                   \
    X(SHERD_STORE_DENIED, "refused")                                           \
    X(SHERD_STORE_MALFORMED, "malformed") /* messages that cannot be read */   \
    X(SHERD_STORE_REPAIRS, "repairs") /* versions sent to replicas that a read found behind */ \
    X(SHERD_STORE_MOVED, "moved") /* versions sent to new replicas */          \
    X(SHERD_STORE_DROPPED, "dropped") /* keys given up: others keep them, or deleted long ago */ \
    X(SHERD_STORE_NOT_TAKEN, "not taken") /* versions of others that were beyond a limit here */ \
    X(SHERD_STORE_FULL, "full") /* of the refused and the not taken: keys_max or bytes_max */ \
    X(SHERD_STORE_OPEN, "open") /* calls; gets + puts = done + short + denied + open */ \
    X(SHERD_STORE_KEYS, "keys") /* here */                                     \
    X(SHERD_STORE_BYTES, "bytes") /* of keys, values and clocks here */                         \
    X(SHERD_STORE_MEMBERS, "members") /* on the ring */                        \
    X(SHERD_STORE_MOVING, "moving") /* 1: keys may have to move */

enum sherd_store_counter {
#define X(name, text) name,
    SHERD_STORE_COUNTERS(X)
#undef X
        SHERD_STORE_COUNTER_COUNT
};

SHERD_API const char *
sherd_store_counter_text(enum sherd_store_counter counter); /* "repairs"; a literal. Any thread */
/* 1 when the message is a SHERD_STORE_STATUS. */
SHERD_API int
sherd_store_counts(const struct sherd_msg *msg,
                   uint64_t counts[SHERD_STORE_COUNTER_COUNT]);

#ifdef __cplusplus
}
#endif

#endif
