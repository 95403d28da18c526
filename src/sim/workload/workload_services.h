/* Runs singletons and daemons in a world: every node opens a singleton, asks its instance, opens
 * daemons, and changes their number. Instances and daemons report to check_services.h.
 *
 *   singleton-answers  in the quiet phase every node's reference reaches the instance
 *   daemons-run        in the quiet phase a change of the number is made, and then each daemon runs
 *                      exactly once
 *
 * A process has one such workload at a time. It draws from its own stream. */
#ifndef SHERD_SIM_WORKLOAD_SERVICES_H
#define SHERD_SIM_WORKLOAD_SERVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/check/check_services.h"
#include "sim/world/world.h"

struct services_load;

struct services_load_settings {
    uint64_t interval_ms; /* mean time between two asks of a node; default 1,000 */
    uint32_t centers;     /* data centers; 0: one */
};

/* Before the first node starts; world lent. */
struct services_load *services_load_new(struct world *world,
                                        const struct services_load_settings *settings);
void services_load_safety(struct services_load *load, const struct check_safety *safety);
/* The singleton needs a lease. */
void services_load_leases(struct services_load *load, check_singleton_has *has, void *user);
void services_load_free(struct services_load *load); /* after world_free */

/* Returns the types of the nodes with that of the daemons behind them; lent. */
const struct sherd_entity_type *services_load_types(struct services_load *load,
                                                    const struct sherd_entity_type *types,
                                                    uint32_t count);
/* Call it while no node runs: the first count types have this number of shards. */
void services_load_set_shards(struct services_load *load, uint32_t count, uint32_t shards);
/* Between two calls: the nodes ask again and again. */
void services_load_stop(struct services_load *load);
void services_load_resume(struct services_load *load);
/* In the quiet phase: begins a round in which each live node must get an answer. */
void services_load_round(struct services_load *load);
bool services_load_reached(const struct services_load *load, char *why, size_t size);

/* Whether each data center has the number of daemons of this round, once each. */
bool services_load_daemons_run(const struct services_load *load, char *why, size_t size);

struct services_load_counts {
    uint64_t changes, refused; /* of the number of daemons */
    uint64_t asked, answered, failed; /* asks of nodes */
    struct check_services_counts check;
};
struct services_load_counts services_load_counts(const struct services_load *load);

#endif
