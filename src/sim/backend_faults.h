/* The faults of a schedule that are the store's, done to all stores of a world, and those of its disk to the disks of durable keys. */
#ifndef SHERD_SIM_BACKEND_FAULTS_H
#define SHERD_SIM_BACKEND_FAULTS_H

#include <stdbool.h>

#include "base/rng.h"
#include "sim/schedule.h"

struct world;

/* A loss of power that waits. Zero is none; it lives as long as its world. */
struct power_wait {
    struct rng rng;
    uint64_t until; /* ns: power goes by then at the latest; 0: none waits */
};

/* Power goes in a moment in which some store has something on its way to the disk, or after 5 s; it is back as soon as after one that
 * does not wait. */
void backend_power_waits(struct world *world, struct power_wait *wait);
/* Begins or ends a fault; power and disk-sync only begin: power comes back by itself within 20 s. False: it is no fault of the
 * store. */
bool backend_fault(struct world *world, enum fault_verb verb, bool on);
/* What faults of that verb have done to the stores, and to nodes' own disks, so far: operations that stood still or failed, losses of power,
 * and those of nodes with writes under way. */
uint64_t backend_harm(struct world *world, enum fault_verb verb);

#endif
