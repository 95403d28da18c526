/* Applies a schedule's faults of storage to all journal backends of a world, and to the disks of
 * durable keys. */
#ifndef SHERD_SIM_FAULTS_BACKEND_FAULTS_H
#define SHERD_SIM_FAULTS_BACKEND_FAULTS_H

#include <stdbool.h>

#include "base/rng.h"
#include "sim/faults/schedule.h"

struct world;

/* A pending loss of power. Zero is none. Lives as long as its world. */
struct power_wait {
    struct rng rng;
    uint64_t until; /* ns: power goes by then at the latest; 0: none is pending */
};

/* Plans a loss of power for a moment with unsynced writes in some backend, or after 5 s. Power
 * returns as after an immediate loss. */
void backend_power_waits(struct world *world, struct power_wait *wait);
/* Starts or ends a fault; power and disk-sync only start, and power returns within 20 s. False if
 * it is no fault of storage. */
bool backend_fault(struct world *world, enum fault_verb verb, bool on);
/* Counts operations that faults of that verb stalled or failed, losses of power, or those of nodes
 * with writes under way. */
uint64_t backend_harm(struct world *world, enum fault_verb verb);

#endif
