/* Makes looks of every kind on all nodes of a world, follows their cursors, and cancels some.
 * check_looks.h judges them. It draws from its own stream. */
#ifndef SHERD_SIM_WORKLOAD_LOOKS_H
#define SHERD_SIM_WORKLOAD_LOOKS_H

#include "sim/check/check_looks.h"
#include "sim/world/world.h"

struct look_load;

struct look_load_settings {
    const struct sherd_entity_type *types; /* of the nodes; lent */
    uint32_t type_count;
    uint64_t interval_ms; /* mean time between two looks of the world */
};

/* Before the first node starts. World lent. */
struct look_load *look_load_new(struct world *world, const struct look_load_settings *settings);
void look_load_free(struct look_load *load); /* after world_free */
void look_load_stop(struct look_load *load); /* no more looks */
void look_load_resume(struct look_load *load);
bool look_load_idle(const struct look_load *load); /* no look is open */
struct check_looks_counts look_load_counts(const struct look_load *load);

#endif
