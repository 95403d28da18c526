/* Runs a workload in a world. It passes the world's facts to the workload and to the checkers of
 * messages, of the journal, of recoveries and of remembered entities (check_message.h,
 * check_journal.h, check_recovery.h, check_remember.h). It spawns clients on every node that
 * starts. */
#ifndef SHERD_SIM_WORKLOAD_WORLD_H
#define SHERD_SIM_WORKLOAD_WORLD_H

#include "sim/workload/workload.h"
#include "sim/world/world.h"

struct workload_world;
struct check_journal;
struct check_remember;
struct check_safety;

/* Before the first node starts. Settings are copied; seed 0: the world's. All nodes that start
 * later are the workload's, with workload_types and settings.probes. Violations go to the world's
 * verdict. The caller owns the result. */
struct workload_world *workload_world_new(struct world *world,
                                          const struct workload_settings *settings);
/* Before the first node starts: remembered entities are in distributed data. */
void workload_world_in_data(struct workload_world *of);
void workload_world_free(struct workload_world *of); /* after world_free */
struct workload *workload_world_of(const struct workload_world *of);
struct check_journal_counts workload_world_journal_counts(
    const struct workload_world *of); /* of all journals */
const struct check_journal *workload_world_journal(
    const struct workload_world *of); /* of the world's first journal; lent */
struct check_remember *
workload_world_remember(const struct workload_world *of); /* lent */
/* Nodes outside (facts.h), for its checkers; lent for life. */
void workload_world_safety(struct workload_world *of,
                           const struct check_safety *safety);
/* Judges by it what entities do; lent for life. */
struct check_shard_lease;
void workload_world_leases(struct workload_world *of, struct check_shard_lease *check);
/* Begins or ends the quiet phase. */
void workload_world_quiet(struct workload_world *of, bool on);

/* Checks the counts of a node's recoveries (recovery-limit). */
void workload_world_recoveries(struct workload_world *of, uint32_t node,
                               const struct sherd_recovery_status *status, uint32_t lanes);
/* bounded-buffers, and the nodes' counters compared with the table; paused nodes are left out.
 * Between two runs, about once a second of the world. */
void workload_world_sample(struct workload_world *of);
/* Stops the clients; then all messages and asks must end. */
void workload_world_stop(struct workload_world *of);
bool workload_world_is_drained(const struct workload_world *of);
uint64_t workload_world_open(const struct workload_world *of); /* messages */
/* Reports all that is open as violations. */
void workload_world_drained(struct workload_world *of);
/* Stops, runs until all has ended, and judges; false: not within `limit`. */
bool workload_world_drain(struct workload_world *of, uint64_t limit);
/* entities-answer, after a drain: asks `count` entities of each type and runs until all replied.
 * False, with a violation, after `limit` plus the time to ask (workload_roll_begin). */
bool workload_world_roll(struct workload_world *of, uint32_t count,
                         uint64_t limit);
/* ns that the last roll call may take to ask: each client asks a few at a time. */
uint64_t workload_world_roll_time(const struct workload_world *of);

#endif
