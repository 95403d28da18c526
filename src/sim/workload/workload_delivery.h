/* Runs accounts in a world that deliver to each other, and on each node a teller that tells them to, and
 * gives them commands (workload_commands.h). check_delivery.h judges what they store.
 *
 *   deliveries-end  in the quiet phase each delivery ends, and its sender has stored that, in data
 *                   centers with nodes
 *
 * A process has one such workload at a time. It draws from its own stream. */
#ifndef SHERD_SIM_WORKLOAD_DELIVERY_H
#define SHERD_SIM_WORKLOAD_DELIVERY_H

#include "sim/check/check_delivery.h"
#include "sim/world/world.h"

struct delivery_load;

struct delivery_load_settings {
    uint64_t interval_ms; /* mean time between two acts of a teller; default 1,000 */
    uint32_t shards;
    uint32_t commands_max;    /* as the nodes' settings */
    uint64_t commands_age_ms; /* likewise */
};

/* Before the first node starts; world lent. */
struct delivery_load *delivery_load_new(struct world *world,
                                        const struct delivery_load_settings *settings);
void delivery_load_free(struct delivery_load *load); /* after world_free */
/* Returns the types of the nodes with that of the accounts behind them; lent. */
const struct sherd_entity_type *delivery_load_types(struct delivery_load *load,
                                                    const struct sherd_entity_type *types,
                                                    uint32_t count);
/* Call it while no node runs: the first count types have this number of shards. */
void delivery_load_set_shards(struct delivery_load *load, uint32_t count, uint32_t shards);
/* No new deliveries; tellers only wake the accounts. */
void delivery_load_stop(struct delivery_load *load);
void delivery_load_resume(struct delivery_load *load);
bool delivery_load_has_ended(const struct delivery_load *load, char *text, size_t size);
bool delivery_load_commands_end(const struct delivery_load *load, char *text, size_t size);
struct check_command_counts delivery_load_command_counts(const struct delivery_load *load);
struct check_delivery_counts delivery_load_counts(const struct delivery_load *load);

#endif
