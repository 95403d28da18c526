/* Runs one instance of an actor in the cluster, and reaches it from all nodes.
 *
 * The instance runs on the oldest member that has the role. When that member
 * leaves, it ends the instance, and then the next oldest one starts another.
 * When it was downed, the next one starts after its removal. Between the two
 * there is none: messages wait. Each data center has its own instance.
 * Guide: docs/guide/singletons.md. Program: examples/singleton.c. */
#ifndef SHERD_SINGLETON_H
#define SHERD_SINGLETON_H

#include <sherd/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An example:
 *
 *   struct sherd_singleton clock = { .name = "clock", .behavior = behavior };
 *
 *   sherd_singleton_open(ctx, &clock, &ref);     on every node, once
 *   sherd_ask(ctx, ref, TIME, none, TAG, 1000);  to the one instance
 */

#define SHERD_SINGLETON_NAME_MAX 64 /* bytes of a name */
#define SHERD_SINGLETON_INIT_MAX 65536 /* bytes of init */
#define SHERD_SINGLETON_NO_BUFFER UINT32_MAX /* as buffer_size: none */

/* A singleton. Zero means the default. */
struct sherd_singleton {
    /* 1 to SHERD_SINGLETON_NAME_MAX characters as in sherd_spawn_named, the
     * same on all nodes. Default: as configured
     * (akka.cluster.singleton.singleton-name, "singleton"; of a proxy
     * akka.cluster.singleton-proxy.singleton-name). */
    const char *name;
    /* The definition of the instance. A proxy needs no receive. */
    struct sherd_behavior behavior;
    /* The body of the instance's SHERD_STARTED message, at most
     * SHERD_SINGLETON_INIT_MAX bytes. */
    struct sherd_bytes init;
    /* 1: this node never runs it, it only sends to it. */
    int proxy;
    /* Only members with this role run it, the same on all nodes; others are
     * proxies. Default: as configured (akka.cluster.singleton.role, of a proxy
     * akka.cluster.singleton-proxy.role; all members). */
    const char *role;
    /* The data center whose instance is meant; default: this node's own. With
     * another one this node is a proxy. */
    const char *data_center;
    /* Sent as a SHERD_MESSAGE to end the instance, which returns SHERD_STOP
     * when it is ready. 0: it gets SHERD_STOPPING and ends. The hand-over waits
     * for it, at most the time of the phase cluster-exiting
     * (sherd/shutdown.h); then it gets SHERD_STOPPING. */
    uint32_t stop_msg;
    /* Milliseconds after which a hand-over is asked for again; default: as
     * configured (akka.cluster.singleton.hand-over-retry-interval, 1,000). */
    uint64_t hand_over_retry_ms;
    /* How often it is asked for at least; default: as configured
     * (min-number-of-hand-over-retries, 15). */
    uint32_t hand_over_retries;
    /* Milliseconds after which this node looks for the instance again; default:
     * as configured (akka.cluster.singleton-proxy
     * .singleton-identification-interval, 1,000). */
    uint64_t identification_ms;
    /* Messages that wait on this node while it knows no instance, at most
     * 10,000 and 64 MiB. One more ends the oldest one as
     * SHERD_REASON_BUFFER_FULL. Default: as configured
     * (akka.cluster.singleton-proxy.buffer-size, 1,000). */
    uint32_t buffer_size;
    /* The provider of the lease that this node must hold while it runs the
     * instance: "etcd", "file" or "memory"; "": none. The same on all nodes.
     * Default: as configured (akka.cluster.singleton.use-lease, none). Guide:
     * docs/guide/leases.md. */
    const char *lease;
    /* Milliseconds after which the lease is asked for again, at most an hour;
     * default: as configured (akka.cluster.singleton.lease-retry-interval,
     * 5,000). */
    uint64_t lease_retry_ms;
};

/* Opens a singleton on this node: makes its reference, and runs the instance
 * when it is this node's turn. Call it once on a node for each name and data
 * center. It ends with the node.
 *
 * singleton: copied. The behavior's name and functions must stay valid until
 * sherd_close returns.
 * ref: gets the reference, valid immediately, for actors and threads of this
 * node. Messages to it go on to the instance with their sender and their ask.
 * The messages of one actor arrive in order; some may be lost when the instance
 * moves, as with sherd_tell.
 * Result: 0. SHERD_EINVAL: a field is wrong, or the lease provider cannot be
 * used; the log explains it. SHERD_EFULL: too many actors.
 * If the name is open already, or the node has 256 singletons, the log has an
 * error, and messages to ref end as SHERD_REASON_NO_SUCH_ACTOR.
 *
 * An instance that ends by itself, also by SHERD_FAIL, starts again on the same
 * node: after about 0.2 s, then later, up to 10 s. It begins with a new state;
 * what must survive belongs into an entity's events or distributed data. */
SHERD_API SHERD_MUST_USE int
sherd_singleton_open(struct sherd_ctx *ctx,
                     const struct sherd_singleton *singleton,
                     struct sherd_ref *ref);

/* At most one instance runs as long as the membership is one. If an operator
 * downs members on both sides of a network split, each side runs one: let a
 * resolver decide (akka.cluster.downing-provider-class), or use a lease. When
 * the lease is lost, the instance ends at once: release is called, and it gets
 * no message. It starts again when a node has the lease. */

#ifdef __cplusplus
}
#endif

#endif
