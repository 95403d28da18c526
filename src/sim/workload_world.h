/* A workload in a world: the world's observer tells its nodes, connections and probes to the workload and the checker of
 * messages; its store and what clients hear are told to the checkers of the journal, of recoveries and of remembered entities
 * (check_journal.h, check_recovery.h, check_remember.h); clients are spawned on every node that starts; once in a while every node is
 * asked for its status. */
#ifndef SHERD_SIM_WORKLOAD_WORLD_H
#define SHERD_SIM_WORKLOAD_WORLD_H

#include "sim/workload.h"
#include "sim/world.h"

struct workload_world;
struct check_journal;
struct check_remember;
struct check_safety;

/* Settings copied; a seed of 0 is the world's. Before the first node starts. Nodes that are started from now on are the workload's:
 * they must have workload_types and settings.probes. Violations go to the world's verdict. The caller's. */
struct workload_world *workload_world_new(struct world *world,
                                          const struct workload_settings *settings);
/* Before the first node starts: its nodes keep remembered entities in distributed data. */
void workload_world_in_data(struct workload_world *of);
void workload_world_free(struct workload_world *of); /* after world_free */
struct workload *workload_world_of(const struct workload_world *of);
struct check_journal_counts workload_world_journal_counts(
    const struct workload_world *of); /* of all stores */
const struct check_journal *workload_world_journal(
    const struct workload_world *of); /* of the world's first store; lent */
struct check_remember *
workload_world_remember(const struct workload_world *of); /* lent */
/* Which nodes are outside (facts.h), for its checkers; lent for life. */
void workload_world_safety(struct workload_world *of,
                           const struct check_safety *safety);
/* From now on nothing goes wrong any more, or something may again. */
void workload_world_quiet(struct workload_world *of, bool on);

/* Between two runs, each second or so of the world's time: bounded-buffers, and the nodes' counters against the table's. Paused nodes are
 * left out. */
void workload_world_sample(struct workload_world *of);
/* Stops the clients; then every message and ask is to be closed: is that so? */
void workload_world_stop(struct workload_world *of);
bool workload_world_is_drained(const struct workload_world *of);
uint64_t workload_world_open(const struct workload_world *of); /* messages */
/* What is open now are violations. */
void workload_world_drained(struct workload_world *of);
/* All of it: stops, runs until that is so, and judges; false when it takes longer than `limit`. */
bool workload_world_drain(struct workload_world *of, uint64_t limit);
/* entities-answer: after a drain asks `count` entities of each type, and runs until all have answered; false when that takes longer than
 * `limit` and what asking takes (workload_roll_begin), which is a violation then. */
bool workload_world_roll(struct workload_world *of, uint32_t count,
                         uint64_t limit);
/* ns that the asking of the last roll call may take: each client asks a few at a time. */
uint64_t workload_world_roll_time(const struct workload_world *of);

#endif
