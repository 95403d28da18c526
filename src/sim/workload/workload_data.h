/* Runs a workload of distributed data in a world: actors on every node update, read, delete and
 * subscribe to keys of all types at drawn levels. Their calls and answers, and the replicas, go to
 * check_data.h and check_replica.h.
 *
 *   data-call-ends-once  each call of a live incarnation has one answer; only a key that may expire
 *                        is reported as expired
 *   quiet-cluster-rests  in a silent cluster with equal replicas no node gossips values
 *   no-lost-update       a member that counts for an acknowledged write has it, on disk for a
 *                        durable key; a subscriber got the last value
 *
 * A process has one such workload at a time. It draws from its own stream. */
#ifndef SHERD_SIM_WORKLOAD_DATA_H
#define SHERD_SIM_WORKLOAD_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/world/world.h"

struct data_load;
struct check_member;
struct check_safety;

#define DATA_OPS(X)                                                            \
    X(DATA_OP_UPDATE, "update")                                                \
    X(DATA_OP_READ, "read")                                                    \
    X(DATA_OP_DELETE, "delete")                                                \
    X(DATA_OP_FOLLOW, "follow") /* subscribes to a key, or unsubscribes */

#define X(name, text) name,
enum data_op { DATA_OPS(X) DATA_OP_COUNT };
#undef X

/* Zero is a default for each. */
struct data_load_settings {
    uint32_t slots;        /* keys at a time; default 9, one of each type */
    uint32_t clients;      /* on each node; default 2 */
    uint64_t interval_ms;  /* mean time between two calls of a client; default 200 */
    uint64_t timeout_ms;   /* the longest time-out of calls; default 5,000 */
    uint32_t levels;       /* a set of 1 << enum sherd_level; 0: all */
    bool is_durable;       /* nodes have the keys of traffic_durable_keys */
    uint64_t expire_after_ms; /* nodes have those of data_load_set; 0: no key expires */
    uint32_t unknown; /* this many of one more nodes do not know the G_SET's type */
    bool keeps_keys;       /* none is deleted */
    bool in_step;          /* clients call at the same times, so that writes coincide */
    bool speaks_late;      /* pruning marks end during the run, so it is not silent */
};

struct data_load *data_load_new(struct world *world,
                                /* before the first node starts; world lent */
                                const struct data_load_settings *settings);
/* See check_data_safety; members has each leader's view. Both lent for life. */
void data_load_safety(struct data_load *load,
                      const struct check_safety *safety,
                      const struct check_member *members);
void data_load_free(struct data_load *load); /* after world_free */

void data_load_stop(struct data_load *load); /* clients call no more */
void data_load_resume(struct data_load *load);
bool data_load_idle(const struct data_load *load); /* no call is open */
/* after a stop, when all had its time: open calls are violations */
void data_load_drained(struct data_load *load);

/* Checks the replicas (value-integrity, pruned-stays-pruned) and their disks (no-lost-update).
 * Between two runs, every few seconds. */
void data_load_sample(struct data_load *load);
/* In the quiet phase, without calls: all replicas agree, and subscribers got the last values.
 * False: text has what is missing. */
bool data_load_settled(struct data_load *load, char *text, size_t size);
/* The time by which that holds, for nodes with these settings. */
uint64_t data_load_bound(const struct data_load *load, uint32_t nodes,
                         const struct replicator_settings *settings);
/* Judges replicas that agree. */
void data_load_judge(struct data_load *load);
/* Settings of a node: makes the counting types and the OR-set expire, and a type unknown. They live
 * as long as the load. */
void data_load_set(const struct data_load *load,
                   struct node_settings *settings);
/* Notes what all replicas show of durable keys, in the quiet phase. data_load_is_kept: after a loss
 * of power everywhere, all live ones still show it (no-lost-update). False: text has one that does
 * not. */
void data_load_note(struct data_load *load);
bool data_load_is_kept(struct data_load *load, char *text, size_t size);

/* In between no node may send values. */
void data_load_silence_begins(struct data_load *load);
void data_load_silence_ends(struct data_load *load);

struct data_load_counts {
    uint64_t ops[DATA_OP_COUNT];
    uint64_t answers[SHERD_DATA_EXPIRED + 1]; /* by enum sherd_data_message */
    uint64_t forgotten; /* keys, by a replica */
    uint64_t dropped;  /* calls whose caller ended with its node */
    uint64_t skipped;  /* too many were open */
    uint64_t keys;     /* ever used */
    uint64_t quorums;  /* writes that a read had to see because W + R > N */
    uint64_t firm;     /* acknowledged writes, looked up in the replicas */
    uint64_t on_disks; /* those with durable keys, looked up on disks, too */
    uint64_t kept;     /* later looks at disks that had an acknowledged write */
    uint64_t disks;    /* keys of replicas that were compared with disks */
    uint64_t durable;  /* keys that had to survive a loss of power everywhere */
};
struct data_load_counts data_load_counts(const struct data_load *load);

#endif
