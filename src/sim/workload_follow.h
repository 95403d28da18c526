/* Followers of the cluster in a world: actors of nodes subscribe to it (sherd/cluster.h), at their start and in mid-life, with all events and
 * with some, unsubscribe, ask again, end and make room for others; some entities do, whose mailboxes may be small. What they hear goes to
 * check_follow.h, and is compared with the membership of their node:
 *
 *   follow  while a node's membership rests for ten seconds its followers have heard all of it, entities after a minute; in the quiet all have,
 *           and where all nodes see the same members all followers of a data center have heard the same, and of those leaders that follow from
 *           what the nodes were started with; who is there to the end of its node hears of that
 *
 * Behaviors are constants, so there is one such workload of a process at a time. Its draws come from streams of its own: a world without it
 * is what it was. */
#ifndef SHERD_SIM_WORKLOAD_FOLLOW_H
#define SHERD_SIM_WORKLOAD_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/check_follow.h"
#include "sim/world.h"

struct follow_load;
struct following; /* an incarnation of an entity that follows */

struct follow_load_settings {
    uint32_t most;    /* followers of a life, at most; of large clusters few lives have any */
    uint32_t nodes;
    uint32_t centers; /* data centers: node n is in number n modulo that; 0: one */
    bool is_crowded;  /* mailboxes hold so few messages that they may be full whenever something is to be heard: entities are looked at in the quiet alone */
};

struct follow_load *follow_load_new(struct world *world,
                                    const struct follow_load_settings *settings); /* before the first node starts; world lent */
void follow_load_free(struct follow_load *load); /* after world_free */

/* Between two runs, every few seconds. */
void follow_load_sample(struct follow_load *load);
/* In the quiet: has every follower heard what its node's membership holds, and where that is converged, all the same? False with what differs
 * in text (size bytes). */
bool follow_load_agrees(struct follow_load *load, bool is_converged,
                        char *text, size_t size);
struct check_follow_counts follow_load_counts(const struct follow_load *load);

/* ---- entities of other workloads, in their receive and release ---- */

/* An incarnation has started: null when it does not follow, as most do not, or when there is no such workload. */
struct following *follow_entity_started(struct sherd_ctx *ctx, uint32_t node);
void follow_entity_heard(struct following *following,
                         const struct sherd_msg *msg); /* null is fine, as below */
void follow_entity_released(struct following *following);

#endif
