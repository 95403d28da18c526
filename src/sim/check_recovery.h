/* The checker of recoveries: an entity that starts has the events that its node
 * has read, by a replay of its own.
 *
 *   no-lost-ack   a recovered entity has as many events as its replay had; it has had one
 *   faithful-replay  it was given those events, in that order: their types and their bytes
 *
 * That a replay has all that was durable when it was asked for is gapless-sequence
 * (check_journal.h); the two together say that nothing acknowledged is missing.
 * What was acknowledged later, elsewhere, may be: a node that slept since its
 * replay, and whose shard another one has, starts entities of the past until it
 * hears of that, and its fence keeps them from storing anything.
 *
 * Who calls: the store, as its observer; the workload when an entity starts. */
#ifndef SHERD_SIM_CHECK_RECOVERY_H
#define SHERD_SIM_CHECK_RECOVERY_H

#include <stdint.h>

#include "sim/disk_backend.h"

struct check_recovery;
struct verdict;

struct check_recovery *check_recovery_new(struct verdict *verdict); /* lent for life */
void check_recovery_free(struct check_recovery *check); /* null is fine */
/* What to give to disk_backend_observe. */
struct disk_backend_observer
check_recovery_observer(struct check_recovery *check);

/* The hash of a sequence of events: that of the ones before, 0 for none, and the next one. */
uint64_t check_recovery_fold(uint64_t before, uint32_t event_type,
                             struct slice event);
/* An entity has started with so many events, of that hash. type and id are texts; lent. */
void check_recovery_started(struct check_recovery *check, uint32_t node,
                            const char *type, const char *id,
                            uint64_t events, uint64_t hash);

#endif
