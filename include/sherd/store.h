/* Stores versioned values with N replicas for each key, as in Amazon's Dynamo.
 * W replicas confirm a write, and R replicas answer a read.
 *
 * Each node that keeps values starts a *broker*, an actor: sherd_store_open.
 * Brokers of one name are one store. Any broker takes calls for any key, and
 * answers the actor that called. Bytes of an answer are lent as long as its
 * message. Values are in memory: if all N replicas of a key end at the same
 * time, the key is lost. Guide: docs/guide/replicated-data.md; program:
 * examples/cart.c. */
#ifndef SHERD_STORE_H
#define SHERD_STORE_H

#include <sherd/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An example:
 *
 *   sherd_store_get(ctx, store, "cart/7", NULL, TAG);
 *   ...
 *   case SHERD_ANSWER:
 *       if (msg->msg == SHERD_STORE_FOUND)
 *           for (size_t at = 0; sherd_store_next(msg, &at, &value);)
 *               merge(&cart, value);         more than one value: siblings
 *       sherd_store_put(ctx, store, "cart/7", sherd_store_context(msg),
 *                       cart.bytes, NULL, TAG);
 *
 * Nothing is locked. A read gives a *context*; a write with this context
 * replaces what was read, and nothing else. Two writes of which neither has
 * read the other stay side by side: siblings, until a write has the context of
 * all of them. A write without a context replaces nothing. */

#define SHERD_STORE_NAME_MAX 64     /* bytes of a store's name */
#define SHERD_STORE_KEY_MAX 255     /* bytes of a key */
#define SHERD_STORE_VALUE_MAX 16384 /* bytes of a value */
#define SHERD_STORE_REPLICAS_MAX 7  /* the largest N */

/* A store's settings, the same on all its nodes. Zero means the default. */
struct sherd_store_settings {
    /* The store's name, 1 to SHERD_STORE_NAME_MAX bytes. Required. */
    const char *name;
    /* Members with this role keep values, and each must open the store;
     * default: all members. */
    const char *role;
    /* N, 1 to SHERD_STORE_REPLICAS_MAX; default 3. If there are fewer members,
     * each of them keeps every key. */
    uint32_t replicas;
    /* R, at most N; default N / 2 + 1. */
    uint32_t read;
    /* W, at most N; default N / 2 + 1. */
    uint32_t write;
    /* The time of a call in milliseconds, 1 to 60,000; default 3,000. */
    uint64_t timeout_ms;
    /* Keys that this broker keeps; default 100,000. It refuses more. */
    uint32_t keys_max;
    /* Bytes of keys, values and clocks that this broker keeps, at least 1 MiB;
     * default 256 MiB. Then it takes only what makes a key smaller. */
    uint64_t bytes_max;
    /* Milliseconds for which a deleted key is remembered at least, and counted
     * as a key; default one day. After that it is forgotten once all its
     * replicas have the deletion, and not while a member is unreachable. It
     * must be longer than a message can be under way. */
    uint64_t keep_deleted_ms;
};

/* Starts this node's broker, an actor on this lane. Call it once on a node for
 * each name. The broker takes calls immediately; a call for replicas that it
 * does not know yet is UNMET or TOO_FEW. It ends with the node. In a graceful
 * end it sends its values to their next replicas first.
 *
 * settings: copied.
 * store: gets the broker's ref. Other actors, lanes and nodes may use it.
 * Result: 0; SHERD_EINVAL: a setting is out of range; SHERD_EFULL: too many
 * actors. */
SHERD_API SHERD_MUST_USE int
sherd_store_open(struct sherd_ctx *ctx,
                 const struct sherd_store_settings *settings,
                 struct sherd_ref *store);

/* ---- calls ---- */

/* How many replicas one call needs. Zero means the store's setting. */
struct sherd_store_level {
    uint32_t replicas;   /* R of a get, W of a put or delete; 1 to N */
    uint64_t timeout_ms; /* 1 to 60,000 */
};

/* Each call is answered once: by SHERD_ANSWER with its tag and an enum
 * sherd_store_message as msg. If the broker does not answer, SHERD_NO_ANSWER
 * comes half a second after level's timeout_ms, or after 60.5 s if level has
 * none. Then a write may have been made.
 *
 * store: a broker's ref. key: a text, 1 to SHERD_STORE_KEY_MAX bytes, copied.
 * level: copied; null for the store's settings.
 * Result: 0; SHERD_EINVAL: a parameter is wrong. Then nothing was sent and no
 * answer comes. */

/* Reads a key. */
SHERD_API SHERD_MUST_USE int
sherd_store_get(struct sherd_ctx *ctx, struct sherd_ref store, const char *key,
                const struct sherd_store_level *level, uint32_t tag);

/* Writes a value.
 *
 * context: of an answer for this key, unchanged, or empty; copied. One of
 * another key is SHERD_EINVAL.
 * value: at most SHERD_STORE_VALUE_MAX bytes, copied. */
SHERD_API SHERD_MUST_USE int
sherd_store_put(struct sherd_ctx *ctx, struct sherd_ref store, const char *key,
                struct sherd_bytes context, struct sherd_bytes value,
                const struct sherd_store_level *level, uint32_t tag);

/* Deletes what is in the context. Siblings that are not in it stay. */
SHERD_API SHERD_MUST_USE int
sherd_store_delete(struct sherd_ctx *ctx, struct sherd_ref store,
                   const char *key, struct sherd_bytes context,
                   const struct sherd_store_level *level, uint32_t tag);

/* Asks the broker for its counters: sherd_store_counts reads the answer. */
SHERD_API void sherd_store_status(struct sherd_ctx *ctx, struct sherd_ref store,
                                  uint32_t tag);

/* ---- answers ---- */

/* The `msg` of the SHERD_ANSWER. */
enum sherd_store_message {
    /* A get found values (sherd_store_next) and a context. */
    SHERD_STORE_FOUND = 1,
    /* A get found no value. It has a context if the key was deleted. */
    SHERD_STORE_NOT_FOUND,
    /* W replicas have a put or delete. The answer has a context for the next
     * write, unless there are siblings. */
    SHERD_STORE_WRITTEN,
    /* Fewer than R or W replicas answered, took the write, or agree on what was
     * read. A write may have been made in part. See sherd_store_replicas. */
    SHERD_STORE_UNMET,
    /* The cluster has fewer replicas than R or W. Nothing was done. */
    SHERD_STORE_TOO_FEW,
    /* A limit of the replica that coordinates the call: keys_max, bytes_max, 8
     * siblings that the write would not replace, or 1,024 open calls. Nothing
     * was done. */
    SHERD_STORE_REFUSED,
    /* The answer to sherd_store_status: sherd_store_counts. */
    SHERD_STORE_STATUS
};

/* Reads the next value of a SHERD_STORE_FOUND. Siblings come in the same order
 * everywhere.
 *
 * at: 0 for the first; the call moves it on. value: lent, of any alignment.
 * Result: 1; 0: there is no further value.
 * Threads: any, while the message is valid. The same holds for the next
 * two. */
SHERD_API int sherd_store_next(const struct sherd_msg *msg, size_t *at,
                               struct sherd_bytes *value);

/* Returns the context for the next write of this key, lent; empty: there is
 * none. At most 4 KiB. It may be copied, kept and sent, as other bytes. */
SHERD_API struct sherd_bytes sherd_store_context(const struct sherd_msg *msg);

/* Returns how many replicas have what was found, or took the write. If a get is
 * UNMET because fewer than R answered, it is the number of those. 0 for other
 * messages. */
SHERD_API uint32_t sherd_store_replicas(const struct sherd_msg *msg);

/* ---- counters ---- */

/* Counters of one broker: name, text. Since its start; the last five say how it
 * is now. */
#define SHERD_STORE_COUNTERS(X)                                                \
    /* Gets, puts and deletes that it coordinated or passed on. */             \
    X(SHERD_STORE_GETS, "gets")                                                \
    X(SHERD_STORE_PUTS, "puts")                                                \
    /* Puts that were passed on to a replica of the key. */                    \
    X(SHERD_STORE_RELAYED, "relayed")                                          \
    /* Answered with found, not found or written. */                           \
    X(SHERD_STORE_DONE, "done")                                                \
    X(SHERD_STORE_SHORT, "unmet or too few")                                   \
    X(SHERD_STORE_DENIED, "refused")                                           \
    /* Messages that cannot be read. */                                        \
    X(SHERD_STORE_MALFORMED, "malformed")                                      \
    /* Versions sent to replicas that a read found behind. */                  \
    X(SHERD_STORE_REPAIRS, "repairs")                                          \
    /* Versions sent to new replicas. */                                       \
    X(SHERD_STORE_MOVED, "moved")                                              \
    /* Keys given up: others keep them, or they were deleted long ago. */      \
    X(SHERD_STORE_DROPPED, "dropped")                                          \
    /* Versions of others beyond a limit here. */                              \
    X(SHERD_STORE_NOT_TAKEN, "not taken")                                      \
    /* Calls and versions not taken because of keys_max or bytes_max. */       \
    X(SHERD_STORE_FULL, "full")                                                \
    /* Open calls: gets + puts = done + short + denied + open. */              \
    X(SHERD_STORE_OPEN, "open")                                                \
    /* Keys here. */                                                           \
    X(SHERD_STORE_KEYS, "keys")                                                \
    /* Bytes of keys, values and clocks here. */                               \
    X(SHERD_STORE_BYTES, "bytes")                                              \
    /* Members that keep values, as this broker sees it. */                    \
    X(SHERD_STORE_MEMBERS, "members")                                          \
    /* 1: keys may have to move to other replicas. */                          \
    X(SHERD_STORE_MOVING, "moving")

enum sherd_store_counter {
#define X(name, text) name,
    SHERD_STORE_COUNTERS(X)
#undef X
        SHERD_STORE_COUNTER_COUNT
};

/* Reads a SHERD_STORE_STATUS into counts, by enum sherd_store_counter.
 * Result: 1; 0: it is another message.
 * Threads: any, while the message is valid. */
SHERD_API int sherd_store_counts(const struct sherd_msg *msg,
                                 uint64_t counts[SHERD_STORE_COUNTER_COUNT]);

/* Returns the text of a counter, such as "repairs": a constant.
 * Threads: any. */
SHERD_API const char *
sherd_store_counter_text(enum sherd_store_counter counter);

#ifdef __cplusplus
}
#endif

#endif
