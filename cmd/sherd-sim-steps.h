/* How long the steps of machines take. A step is one input or one turn of one machine.
 *
 * Of those that look long the thread's processor time counts, so that other programs may run beside it. What they take of
 * caches, and what a machine that is itself a program of another one does not say, still makes a step look longer than it
 * is. A seed's steps are the same in every run: so the same run is made some times, and a long step has the shortest of
 * its lengths. Pages that a step is given by the system are made before, where the simulator knows them (heap_ahead). */
#ifndef SHERD_CMD_SIM_STEPS_H
#define SHERD_CMD_SIM_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/world.h"

#define STEPS_RUNS 3

struct steps;

/* Its memory is shared with processes that are forked later. Null: the system gives none. */
struct steps *steps_new(void);
void steps_free(struct steps *steps);

/* The next run of the same world begins, in this process. */
void steps_begin(struct steps *steps);
void steps_observe(struct steps *steps, struct world *world);
/* Prints the phase's steps of the first run. */
void steps_phase_ended(struct steps *steps, const char *phase);
/* Once, after all runs: what is left of the long steps, by phase, and which the longest are. */
void steps_print(struct steps *steps);

#endif
