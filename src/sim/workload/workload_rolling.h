/* Asks entities of a type of its own from every node while nodes restart gracefully (run_rolling.c),
 * and reports how the asks end to check_restart.h:
 *
 *   graceful-restart  no ask of a member that all others see, and that stays, fails or takes long
 *
 * The type's entities answer at once, store nothing, and do not passivate. A process has one such
 * workload at a time. */
#ifndef SHERD_SIM_WORKLOAD_ROLLING_H
#define SHERD_SIM_WORKLOAD_ROLLING_H

#include <stdint.h>

#include "sim/check/check_restart.h"
#include "sim/world/world.h"

#define ROLLING_ASK_MS 5000 /* time-out of an ask */

struct rolling_load;

struct rolling_load *rolling_load_new(struct world *world); /* before the first node starts; lent */
void rolling_load_free(struct rolling_load *load); /* after world_free */

/* Returns the types of the nodes with that of this workload behind them; lent. */
const struct sherd_entity_type *rolling_load_types(struct rolling_load *load,
                                                   const struct sherd_entity_type *types,
                                                   uint32_t count);
/* All nodes see each other as up, and ask from now on, until they leave or are stopped. */
void rolling_load_ask(struct rolling_load *load);
void rolling_load_stop(struct rolling_load *load);
/* The node is told to leave: its present incarnation asks no more, and its open asks may fail. */
void rolling_load_leaves(struct rolling_load *load, uint32_t node);
/* Judges from now on, until the end. */
void rolling_load_judge(struct rolling_load *load, bool on);

struct check_restart_counts rolling_load_counts(const struct rolling_load *load);

#endif
