/* Checks recoveries: an entity starts with exactly the events of a replay for it.
 *
 *   no-lost-ack      it had a replay, and has as many events
 *   faithful-replay  it got those events in order, with types and bytes
 *   snapshot-equals-replay  its snapshot and the events after it give the same state as all events, with
 *                    those that were deleted since
 *
 * With gapless-sequence (check_journal.h), a replay has all events that were durable at its
 * request, so none that was acknowledged is missing. Later events may be: a node that slept while
 * its shard moved starts outdated entities until it learns of that; its fence keeps them from
 * storing.
 * The journal calls it as its observer, and the workload when an entity starts. */
#ifndef SHERD_SIM_CHECK_RECOVERY_H
#define SHERD_SIM_CHECK_RECOVERY_H

#include <stdint.h>

#include "sim/world/disk_backend.h"

struct check_recovery;
struct verdict;

struct check_recovery *check_recovery_new(struct verdict *verdict); /* lent for life */
void check_recovery_free(struct check_recovery *check); /* null is fine */
/* The observer for disk_backend_observe. */
struct disk_backend_observer
check_recovery_observer(struct check_recovery *check);

/* Hashes a sequence of events: the hash of those before (0: none), and the next one. */
uint64_t check_recovery_fold(uint64_t before, uint32_t event_type,
                             struct slice event);
/* An entity has started with that many events of that hash, from the snapshot with that number (0: none).
 * type and id are texts; lent. */
void check_recovery_started(struct check_recovery *check, uint32_t node,
                            const char *type, const char *id,
                            uint64_t events, uint64_t snapshot, uint64_t hash);

#endif
