/* Acts on the nodes of a world as operators do: cordons and drains them, moves shards, and pauses
 * rebalances.
 * check_operations.h judges the operations. It draws from its own stream. */
#ifndef SHERD_SIM_WORKLOAD_OPERATIONS_H
#define SHERD_SIM_WORKLOAD_OPERATIONS_H

#include "sim/check/check_operations.h"
#include "sim/world/world.h"

struct operation_load;
struct check_safety;

struct operation_load_settings {
    const struct sherd_entity_type *types; /* of the nodes; lent */
    uint32_t type_count;
    uint64_t interval_ms; /* mean time between two operations of the world */
    uint32_t shards;      /* numbers of shards, for each type */
    uint32_t centers;     /* data centers */
};

/* Before the first node starts. World lent. */
struct operation_load *operation_load_new(struct world *world,
                                          const struct operation_load_settings *settings);
void operation_load_free(struct operation_load *load); /* after world_free */
/* Nodes outside (facts.h); lent for life. */
void operation_load_safety(struct operation_load *load, const struct check_safety *safety);
/* No more operations but those that end all cordons. */
void operation_load_stop(struct operation_load *load);
void operation_load_resume(struct operation_load *load);
/* No operation is open, no node is cordoned, no rebalance is paused. Ends the others. */
bool operation_load_idle(struct operation_load *load);
struct check_operations_counts operation_load_counts(const struct operation_load *load);

#endif
