/* Runs threads of the program in a world: they ask and tell entities through ports of clients
 * (client/port.h), cancel requests, and close and open clients. Entities of the other workload answer
 * them.
 *
 *   client-request-ends-once  each accepted ask ends once, by its own answer, at its time-out, as
 *                             cancelled only if it was, and with its node at the latest.
 *                             A request is handled at most once, and never if its end says that it
 *                             was not sent
 *
 * A process has one such workload at a time. It draws from its own stream. */
#ifndef SHERD_SIM_WORKLOAD_REQUESTS_H
#define SHERD_SIM_WORKLOAD_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/client.h>

#include "sim/world/world.h"

/* Messages of requests to entities; they have no tokens. */
#define REQUEST_ASK 70u    /* answered with its body */
#define REQUEST_SILENT 71u /* not answered */

struct request_load;

struct request_load_settings {
    const struct sherd_entity_type *types; /* of the nodes; lent */
    uint32_t type_count;
    uint32_t ids;         /* entities "k0".. of each type */
    uint64_t interval_ms; /* mean time between two bursts of a node's thread */
    uint32_t ask_ms_max;  /* longest time-out */
    const struct sherd_behavior *actor; /* of ports, lent; null: port_behavior */
};

/* Before the first node starts. World lent. */
struct request_load *request_load_new(struct world *world,
                                      const struct request_load_settings *settings);
void request_load_free(struct request_load *load); /* after world_free */

/* An entity on a node handles a message. False: it is no request of this workload. */
bool request_load_handles(struct sherd_ctx *ctx, uint32_t node,
                          const struct sherd_msg *msg);

void request_load_stop(struct request_load *load); /* no more requests */
void request_load_resume(struct request_load *load);
bool request_load_idle(const struct request_load *load); /* no ask is open */

struct request_load_counts {
    uint64_t asked, told, refused, cancels, closes, handled;
    uint64_t ended[SHERD_CLIENT_STATUS_COUNT];
};
struct request_load_counts request_load_counts(const struct request_load *load);

#endif
