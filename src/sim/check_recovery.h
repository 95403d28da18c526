/* Checks recoveries: an entity that starts has exactly the events that its node read by a replay
 * for it.
 *
 *   no-lost-ack      a recovered entity had a replay, and has as many events as it
 *   faithful-replay  the entity got those events in their order, with their types and bytes
 *
 * gapless-sequence (check_journal.h) ensures that a replay has all events that were durable at its
 * request, so together no acknowledged event is missing. Events that were acknowledged later,
 * elsewhere, may be missing: a node that slept since its replay, and whose shard moved, starts
 * outdated entities until it learns of that. Its fence keeps them from storing anything.
 * The store calls this as its observer, and the workload when an entity starts. */
#ifndef SHERD_SIM_CHECK_RECOVERY_H
#define SHERD_SIM_CHECK_RECOVERY_H

#include <stdint.h>

#include "sim/disk_backend.h"

struct check_recovery;
struct verdict;

struct check_recovery *check_recovery_new(struct verdict *verdict); /* lent for life */
void check_recovery_free(struct check_recovery *check); /* null is fine */
/* The observer for disk_backend_observe. */
struct disk_backend_observer
check_recovery_observer(struct check_recovery *check);

/* Returns the hash of a sequence of events, from the hash of those before (0: none) and the next
 * one. */
uint64_t check_recovery_fold(uint64_t before, uint32_t event_type,
                             struct slice event);
/* An entity has started with that many events of that hash. type and id are texts; lent. */
void check_recovery_started(struct check_recovery *check, uint32_t node,
                            const char *type, const char *id,
                            uint64_t events, uint64_t hash);

#endif
