/* How long the steps of machines take, by a real clock. A step is one input or one turn of one machine.
 *
 * The machine that measures has other programs, too, or is itself a program of another machine, and a step in which the
 * processor was away looks long. A seed's steps are the same in every run: so the same run is made some times, and
 * a long step has the shortest of its lengths. */
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
/* After all runs: what is left of the long steps, by phase. */
void steps_print(const struct steps *steps);

#endif
