/* Plays the programs of allocation strategies in a world.
 *
 * A strategy of the program wants each shard at the region with the highest hash of both. It answers
 * at once or later, from an actor or a thread; sometimes too late, never, or with a region that is
 * none. A program that sets locations has an actor on a drawn node now and then, which sets some
 * shards to any nodes, or takes locations back. In the quiet phase all answers are good and soon,
 * and no location changes.
 *
 *   location-honoured, shard-balance   then each shard is where its strategy wants it
 *
 * A process has one such workload at a time. It draws from its own streams. */
#ifndef SHERD_SIM_WORKLOAD_ALLOCATION_H
#define SHERD_SIM_WORKLOAD_ALLOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/allocation.h>

#include "shard/allocation.h"
#include "sim/world/world.h"

struct allocation_load;
struct check_liveness;

/* Lent for life; of the only load. */
extern const struct sherd_allocation_strategy allocation_load_strategy;
#define ALLOCATION_LOAD_TIMEOUT_MS 3000 /* of its requests */

struct allocation_load_settings {
    const struct sherd_entity_type *types; /* of each node; lent for life */
    uint32_t type_count;
    uint32_t shards;
    double load_bound;
    uint32_t nodes;
    uint32_t centers; /* data centers: node n is in number n modulo that; 0: one */
};

struct allocation_load *
allocation_load_new(struct world *world, /* before the first node starts; lent */
                    const struct allocation_load_settings *settings);
void allocation_load_free(struct allocation_load *load); /* after world_free */
/* Begins or ends the quiet phase. */
void allocation_load_quiet(struct allocation_load *load, bool on);

/* Whether each shard of the types with that strategy is where it should be, in all data centers, in
 * the quiet phase; live tells the coordinators. Without a strategy of that kind it is true. False:
 * text (size bytes) has the first shard that is not. */
bool allocation_load_holds(const struct allocation_load *load,
                           enum allocation_kind kind,
                           const struct check_liveness *live, char *text,
                           size_t size);

struct allocation_load_counts {
    uint64_t now;      /* requests answered at once */
    uint64_t later;    /* answers that were to come later */
    uint64_t never;
    uint64_t wrong;    /* answers that name no region */
    uint64_t sets;     /* calls that set locations */
    uint64_t set_done; /* those that were answered */
    uint64_t judged;   /* shards in calm clusters */
};
struct allocation_load_counts
allocation_load_counts(const struct allocation_load *load);

#endif
