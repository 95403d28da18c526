/* Runs followers of cluster events in a world: actors and some entities, whose mailboxes may be
 * small. They subscribe to all events or some (sherd/cluster.h), unsubscribe, ask for the state
 * again, end, and make room for others. Their events go to check_cluster_events.h.
 *
 *   cluster-events  followers have heard all that their node's membership holds when it has rested
 *                   for ten seconds, entities for a minute, and all in the quiet phase. If all
 *                   nodes see the same members, followers of a data center have heard the same, and
 *                   know the leaders that follow from start values. A follower hears of its node's
 *                   end
 *
 * A process has one such workload at a time. It draws from its own streams. */
#ifndef SHERD_SIM_WORKLOAD_FOLLOW_H
#define SHERD_SIM_WORKLOAD_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/check/check_cluster_events.h"
#include "sim/world/world.h"

struct follow_load;
struct following; /* an incarnation of an entity that follows */

struct follow_load_settings {
    uint32_t most;    /* for each incarnation, at most; in large clusters few have any */
    uint32_t nodes;
    uint32_t centers; /* data centers: node n is in number n modulo that; 0: one */
    /* mailboxes may always be full, so entities are judged only in the quiet phase */
    bool is_crowded;
};

struct follow_load *follow_load_new(struct world *world,
                                    /* before the first node starts; world lent */
                                    const struct follow_load_settings *settings);
void follow_load_free(struct follow_load *load); /* after world_free */

/* Judges the followers. Call it between two runs, every few seconds. */
void follow_load_sample(struct follow_load *load);
/* In the quiet phase: every follower has heard what its node's membership holds, and if that is
 * converged, all the same. False: text (size bytes) has the difference. */
bool follow_load_agrees(struct follow_load *load, bool is_converged,
                        char *text, size_t size);
struct check_cluster_events_counts follow_load_counts(const struct follow_load *load);

/* ---- entities of other workloads, in their receive and release ---- */

/* An incarnation starts. Null: it does not follow, or there is no such workload. */
struct following *follow_entity_started(struct sherd_ctx *ctx, uint32_t node);
void follow_entity_heard(struct following *following,
                         const struct sherd_msg *msg); /* null is fine, also in the next one */
void follow_entity_released(struct following *following);

#endif
