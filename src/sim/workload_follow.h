/* Runs followers of cluster events in a world. Actors of nodes subscribe (sherd/cluster.h) at their
 * start and later, to all events or to some. They unsubscribe, ask for the state again, end, and
 * make room for others. Some entities do so, too, whose mailboxes may be small. Their events go to
 * check_follow.h, and are compared with the membership of their node:
 *
 *   cluster-events  When a node's membership has rested for ten seconds, its followers have heard
 *                   all of it; entities after a minute. In the quiet phase all have. If all nodes
 *                   see the same members, all followers of a data center have heard the same, and
 *                   know the leaders that follow from the nodes' start values. A follower that
 *                   lives until its node ends hears of that end
 *
 * Behaviors are constants, so a process has one such workload at a time. It draws from its own
 * streams, so a world without it is unchanged. */
#ifndef SHERD_SIM_WORKLOAD_FOLLOW_H
#define SHERD_SIM_WORKLOAD_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/check_follow.h"
#include "sim/world.h"

struct follow_load;
struct following; /* an incarnation of an entity that follows */

struct follow_load_settings {
    /* followers of an incarnation, at most; in large clusters few incarnations have any */
    uint32_t most;
    uint32_t nodes;
    uint32_t centers; /* data centers: node n is in number n modulo that; 0: one */
    /* mailboxes are so small that they may always be full, so entities are judged only in the quiet
     * phase */
    bool is_crowded;
};

struct follow_load *follow_load_new(struct world *world,
                                    /* create it before the first node starts; world lent */
                                    const struct follow_load_settings *settings);
void follow_load_free(struct follow_load *load); /* call it after world_free */

/* Judges the followers. Call it between two runs, every few seconds. */
void follow_load_sample(struct follow_load *load);
/* In the quiet phase: whether every follower has heard what its node's membership holds and, if
 * that is converged, all have heard the same. If false, text (size bytes) has the difference. */
bool follow_load_agrees(struct follow_load *load, bool is_converged,
                        char *text, size_t size);
struct check_follow_counts follow_load_counts(const struct follow_load *load);

/* ---- entities of other workloads, in their receive and release ---- */

/* An incarnation has started. Null if it does not follow, which is usual, or without such a
 * workload. */
struct following *follow_entity_started(struct sherd_ctx *ctx, uint32_t node);
void follow_entity_heard(struct following *following,
                         const struct sherd_msg *msg); /* null is fine, also in the next one */
void follow_entity_released(struct following *following);

#endif
