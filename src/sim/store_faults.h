/* The faults of a schedule that are the store's, done to all stores of a world, and those of its disk to the disks of durable keys. */
#ifndef SHERD_SIM_STORE_FAULTS_H
#define SHERD_SIM_STORE_FAULTS_H

#include <stdbool.h>

#include "sim/schedule.h"

struct world;

/* Begins or ends a fault; power and disk-sync only begin: power comes back by itself within 20 s. False: it is no fault of the
 * store. */
bool store_fault(struct world *world, enum fault_verb verb, bool on);
/* What faults of that verb have done to the stores so far: operations that stood still or failed, losses of power. */
uint64_t store_harm(struct world *world, enum fault_verb verb);

#endif
