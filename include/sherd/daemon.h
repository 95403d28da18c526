/* Runs a number of daemons, spread over the cluster: each of them all the time,
 * in one place.
 *
 * A daemon is an entity that starts by itself. The daemons of a name have the
 * numbers 0 to count - 1. The cluster starts those that are missing every
 * keep-alive interval: at first, after a crash, and after a rebalance. The
 * count can be changed while they run.
 * Guide: docs/guide/singletons.md. Program: examples/daemons.c. */
#ifndef SHERD_DAEMON_H
#define SHERD_DAEMON_H

#include <sherd/system.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An example:
 *
 *   struct sherd_daemons readers = { .name = "readers", .count = 4,
 *                                    .behavior = behavior };
 *   struct sherd_daemons_type type;
 *
 *   sherd_daemons_type(&readers, &type);          on every node
 *   sherd_entity_register(system, &type.type);
 *   ...
 *   sherd_daemons_open(ctx, &readers, &ref);      in an actor of every node
 *   ...
 *   case SHERD_STARTED:                           in a daemon
 *       sherd_daemon(ctx, &self->daemon);         its number, and their count
 */

#define SHERD_DAEMONS_NAME_MAX 40    /* bytes of a name */
#define SHERD_DAEMONS_COUNT_MAX 10000 /* daemons of one name */

/* Daemons of one name, the same on all nodes. Zero means the default. */
struct sherd_daemons {
    /* 1 to SHERD_DAEMONS_NAME_MAX characters as in sherd_spawn_named.
     * Required. */
    const char *name;
    /* The number of daemons before the first sherd_daemons_set_count, 1 to
     * SHERD_DAEMONS_COUNT_MAX. Required. Later it has no effect as long as a
     * member of the cluster lives. */
    uint32_t count;
    /* The definition of the daemons. Required. */
    struct sherd_behavior behavior;
    /* Only members with this role run them; default: as for entity types. */
    const char *role;
    /* As in sherd_entity_type: ends a daemon. */
    uint32_t stop_msg;
    /* Milliseconds after which missing daemons are started; default: as
     * configured (akka.cluster.sharded-daemon-process.keep-alive-interval,
     * 10,000). */
    uint64_t keep_alive_ms;
};

/* The entity type of daemons. `type` points into the struct: do not move it. */
struct sherd_daemons_type {
    char name[SHERD_TYPE_MAX + 1];
    struct sherd_entity_type type;
};

/* Makes the entity type, for sherd_entity_register: "sharded-daemon-process-"
 * and the name, with a shard for each daemon, spread evenly; never passivated,
 * not remembered. A program may change mailbox_max and the rebalance limits.
 *
 * daemons: its texts are lent to the type. type: filled.
 * Result: 0; SHERD_EINVAL: a field is wrong.
 * Threads: any. */
SHERD_API SHERD_MUST_USE int
sherd_daemons_type(const struct sherd_daemons *daemons,
                   struct sherd_daemons_type *type);

/* Lets the daemons run. Call it once on each node that has registered the type:
 * one of those with the role starts the daemons. It ends with the node.
 *
 * daemons: copied. ref: gets a reference for sherd_daemons_set_count.
 * Result: 0; SHERD_EINVAL: a field is wrong, the log explains it;
 * SHERD_ENOTYPE: this node has not registered the type; SHERD_EFULL: too many
 * actors. */
SHERD_API SHERD_MUST_USE int
sherd_daemons_open(struct sherd_ctx *ctx, const struct sherd_daemons *daemons,
                   struct sherd_ref *ref);

/* A daemon's place among the daemons. */
struct sherd_daemon {
    uint32_t number;   /* 0 to count - 1 */
    uint32_t count;    /* 0: as in sherd_daemons.count */
    uint32_t revision; /* how often the count was changed */
};

/* Gets the place of the running daemon.
 * Result: 1; 0: the caller is no daemon. */
SHERD_API int sherd_daemon(const struct sherd_ctx *ctx,
                           struct sherd_daemon *daemon);

/* Changes the number of daemons. All daemons end; when the last one has ended,
 * those of the new count start, with a new state.
 *
 * ref: of sherd_daemons_open. count: 1 to SHERD_DAEMONS_COUNT_MAX.
 * tag, timeout_ms: as for sherd_ask. The change goes on if the time runs out.
 * The answer is a SHERD_ANSWER with the tag and an enum sherd_daemons_answer as
 * msg, or a SHERD_NO_ANSWER. */
SHERD_API void sherd_daemons_set_count(struct sherd_ctx *ctx,
                                       struct sherd_ref ref, uint32_t count,
                                       uint32_t tag, uint64_t timeout_ms);

/* The `msg` of the answer. */
enum sherd_daemons_answer {
    /* The former daemons have ended, and the new ones are being started. */
    SHERD_DAEMONS_CHANGED = 1,
    /* A change is being made, the state is not read yet, or the count is out of
     * range. Nothing was changed. */
    SHERD_DAEMONS_REFUSED
};

#ifdef __cplusplus
}
#endif

#endif
