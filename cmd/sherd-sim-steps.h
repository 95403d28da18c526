/* Measures how long the steps of machines take. A step is one input or one turn of one machine.
 *
 * Long steps are measured in processor time, because other programs may run. Caches and a
 * hypervisor still lengthen them. The steps of a seed are equal in every run, so the world runs
 * several times, and a long step counts with its shortest length. Known new pages are created
 * before a step (heap_ahead). */
#ifndef SHERD_CMD_SIM_STEPS_H
#define SHERD_CMD_SIM_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/world/world.h"

#define STEPS_RUNS 3

struct steps;

/* Its memory is shared with processes that are forked later. Null: no memory. */
struct steps *steps_new(void);
void steps_free(struct steps *steps);

/* Starts the next run of the same world, in this process. */
void steps_begin(struct steps *steps);
void steps_observe(struct steps *steps, struct world *world);
/* Prints the phase's steps in the first run. */
void steps_phase_ended(struct steps *steps, const char *phase);
/* Call it once after all runs. Prints the remaining long steps by phase, and the longest. */
void steps_print(struct steps *steps);

#endif
