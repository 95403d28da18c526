/* Runs a workload in a world: as the world's observer it reports nodes, connections and probes to
 * the workload and to check_message.h. It reports the store's work and what clients hear to
 * check_journal.h, check_recovery.h and check_remember.h. It spawns clients on every node that
 * starts, and samples every node's status now and then. */
#ifndef SHERD_SIM_WORKLOAD_WORLD_H
#define SHERD_SIM_WORKLOAD_WORLD_H

#include "sim/workload.h"
#include "sim/world.h"

struct workload_world;
struct check_journal;
struct check_remember;
struct check_safety;

/* Create it before the first node starts. Settings are copied; a seed of 0 means the world's. All
 * nodes that start from now on belong to the workload, and must have workload_types and
 * settings.probes. Violations go to the world's verdict. The caller owns the result. */
struct workload_world *workload_world_new(struct world *world,
                                          const struct workload_settings *settings);
/* The nodes keep remembered entities in distributed data. Call it before the first node starts. */
void workload_world_in_data(struct workload_world *of);
void workload_world_free(struct workload_world *of); /* call it after world_free */
struct workload *workload_world_of(const struct workload_world *of);
struct check_journal_counts workload_world_journal_counts(
    const struct workload_world *of); /* of all stores */
const struct check_journal *workload_world_journal(
    const struct workload_world *of); /* of the world's first store; lent */
struct check_remember *
workload_world_remember(const struct workload_world *of); /* lent */
/* Sets which nodes are outside (facts.h), for its checkers; lent for life. */
void workload_world_safety(struct workload_world *of,
                           const struct check_safety *safety);
/* Begins or ends the quiet phase, in which no faults happen. */
void workload_world_quiet(struct workload_world *of, bool on);

/* Checks bounded-buffers, and compares the nodes' counters with the table. Call it between two
 * runs, about once in a second of the world. Paused nodes are left out. */
void workload_world_sample(struct workload_world *of);
/* Stops the clients, after which every message and ask must end; and whether all have ended. */
void workload_world_stop(struct workload_world *of);
bool workload_world_is_drained(const struct workload_world *of);
uint64_t workload_world_open(const struct workload_world *of); /* messages */
/* Reports all that is still open as violations. */
void workload_world_drained(struct workload_world *of);
/* Stops, runs until all has ended, and judges. False if that takes longer than `limit`. */
bool workload_world_drain(struct workload_world *of, uint64_t limit);
/* entities-answer: after a drain, asks `count` entities of each type and runs until all have
 * replied. If that takes longer than `limit` plus the time to ask (workload_roll_begin), it reports
 * a violation and returns false. */
bool workload_world_roll(struct workload_world *of, uint32_t count,
                         uint64_t limit);
/* ns that the asking of the last roll call may take: each client asks a few at a time. */
uint64_t workload_world_roll_time(const struct workload_world *of);

#endif
