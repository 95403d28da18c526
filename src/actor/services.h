/* Declares what services above the node (src/services) use of the lane they run on, beside the
 * public calls: settings, calls to control, and messages that are passed on later. */
#ifndef SHERD_ACTOR_SERVICES_H
#define SHERD_ACTOR_SERVICES_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/actor.h>

#include "base/bytes.h"

struct actors;
struct message;

/* As configured; texts lent for the node's life. A null text and 0 mean Akka's default, unless the
 * comment says otherwise. */
struct service_defaults {
    const char *singleton_name, *singleton_role; /* akka.cluster.singleton */
    const char *singleton_lease;                 /* use-lease: a name of lease/request.h */
    const char *proxy_name, *proxy_role;         /* akka.cluster.singleton-proxy */
    uint64_t hand_over_retry_ms;
    uint64_t lease_retry_ms;
    uint64_t identification_ms;
    uint64_t keep_alive_ms; /* akka.cluster.sharded-daemon-process */
    const char *daemon_role; /* likewise, sharding.role */
    uint32_t hand_over_retries;
    uint32_t proxy_buffer;
#define PROXY_BUFFER_NONE UINT32_MAX
    /* Opens the provider of leases with that number of lease/request.h, on any thread, and may wait for
     * the disk. False: it cannot be used, and the log says why. Null: all are open. */
    bool (*open_lease)(void *user, uint32_t provider);
    void *user;
};

/* Returns the node's defaults; never null. */
const struct service_defaults *actors_service_defaults(const struct sherd_ctx *ctx);

/* Takes the SHERD_MESSAGE that is being handled, with its sender and its ask, to pass it on or to end
 * it later. It counts as answered. Null: it is no message, or is answered. */
struct message *actors_keep(struct sherd_ctx *ctx);
uint32_t actors_kept_size(const struct message *kept); /* bytes of its body */
/* Passes a kept message, given, on to an actor, as sherd_forward does. */
void actors_kept_send(struct sherd_ctx *ctx, struct message *kept, struct sherd_ref to);
/* Ends a kept message, given, as undelivered: it is counted, and its sender is notified. */
void actors_kept_end(struct sherd_ctx *ctx, struct message *kept, enum sherd_reason reason);
/* Frees a kept message, given, of an actor that is released: nobody is notified. */
void actors_kept_free(struct actors *actors, struct message *kept);
/* Whether the lease that control has granted to the running actor is certain now. */
bool actors_lease_is_held(const struct sherd_ctx *ctx);
/* Another actor of this lane, by its number, ends at once with that lease. */
void actors_lease_bind(struct sherd_ctx *ctx, uint64_t actor);
void actors_lease_drop(struct sherd_ctx *ctx); /* the lease is not needed any more */
struct actors *actors_of(const struct sherd_ctx *ctx);

#endif
