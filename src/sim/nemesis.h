/* The enemy of a run: what goes wrong when. nemesis_draw makes the schedule from the seed's options.
 *
 * The operator is part of it: nodes that are dead are downed by command on another node, since nobody else does that. */
#ifndef SHERD_SIM_NEMESIS_H
#define SHERD_SIM_NEMESIS_H

#include "sim/options.h"
#include "sim/schedule.h"

/* Draws the faults of the safety phase into an empty schedule. Beginnings lie in the phase; ends may lie behind it. */
void nemesis_draw(const struct options *options, struct schedule *schedule);

#endif
