/* A workload of distributed data in a world: actors on every node update, read, delete and follow keys of all types at drawn
 * consistency levels; what they call, hear and what the replicas hold goes to check_data.h and check_replica.h.
 *
 *   data  each call of an incarnation that lives is answered exactly once; who follows a key is told that it has expired only where it may
 *   quiet-cluster-rests    in a silent cluster whose replicas are equal nobody gossips values
 *   no-lost-update   a member that counts for an acknowledged write has it, of a durable key on its disk; a follower was told the last value (besides check_data.h)
 *
 * Behaviors are constants, so there is one such workload of a process at a time. Its draws come from a stream of its own: a world
 * without it is what it was. */
#ifndef SHERD_SIM_WORKLOAD_DATA_H
#define SHERD_SIM_WORKLOAD_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/world.h"

struct data_load;
struct check_member;
struct check_safety;

/* What clients do: name, text. */
#define DATA_OPS(X)                                                            \
    X(DATA_OP_UPDATE, "update")                                                \
    X(DATA_OP_READ, "read")                                                    \
    X(DATA_OP_DELETE, "delete")                                                \
    X(DATA_OP_FOLLOW, "follow") /* a key, or no longer */

#define X(name, text) name,
enum data_op { DATA_OPS(X) DATA_OP_COUNT };
#undef X

/* Zero is a default for each. */
struct data_load_settings {
    uint32_t slots;        /* keys at a time; default 9, one of each type */
    uint32_t clients;      /* on each node; default 2 */
    uint64_t interval_ms;  /* mean time between two calls of a client; default 200 */
    uint64_t timeout_ms;   /* the longest of calls; default 5,000 */
    uint32_t levels;       /* a set of 1 << enum sherd_level; 0: all */
    bool is_durable;       /* nodes have the settings of data_load_durable */
    uint64_t expire_after_ms; /* nodes have those of data_load_expiring; 0: no key expires */
    bool keeps_keys;       /* none is deleted */
    bool in_step;          /* all clients call at the same times: two write at one time */
    bool speaks_late;      /* marks of pruning end while it runs: a cluster is not silent by itself */
};

struct data_load *data_load_new(struct world *world,
                                const struct data_load_settings *settings); /* before the first node starts; world lent */
/* See check_data_safety; members tells whom who leads sees as one. Both are lent for life. */
void data_load_safety(struct data_load *load,
                      const struct check_safety *safety,
                      const struct check_member *members);
void data_load_free(struct data_load *load); /* after world_free */

void data_load_stop(struct data_load *load); /* clients call no more */
void data_load_resume(struct data_load *load);
bool data_load_idle(const struct data_load *load); /* no call is open */
void data_load_drained(struct data_load *load); /* after a stop, when everything had its time: open calls are violations */

/* Between two runs, every few seconds: value-integrity and pruned-stays-pruned of what the replicas hold by then, and no-lost-update of what their disks do. */
void data_load_sample(struct data_load *load);
/* In the quiet, without calls: do all replicas agree, and has everybody been told? False: text says what is missing. */
bool data_load_settled(struct data_load *load, char *text, size_t size);
/* The time by which that is so, for nodes with these settings. */
uint64_t data_load_bound(const struct data_load *load, uint32_t nodes,
                         const struct replicator_settings *settings);
/* When they agree: what they hold is what was written. */
void data_load_judge(struct data_load *load);
/* Half of the keys, by their types, are durable on a node with these settings. */
void data_load_durable(struct node_settings *settings);
/* The types that count, and the OR-set, expire. settings are as long as the load. */
void data_load_expiring(const struct data_load *load,
                        struct node_settings *settings);
/* Of the durable keys: what all replicas show by now, in the quiet; and, when everything has lost power since, whether all that live show
 * it still, no-lost-update. False: text says which does not. */
void data_load_note(struct data_load *load);
bool data_load_is_kept(struct data_load *load, char *text, size_t size);

/* From the one to the other nobody may send values. */
void data_load_silence_begins(struct data_load *load);
void data_load_silence_ends(struct data_load *load);

struct data_load_counts {
    uint64_t ops[DATA_OP_COUNT];
    uint64_t answers[SHERD_DATA_EXPIRED + 1]; /* by enum sherd_data_message */
    uint64_t forgotten; /* keys, by a replica */
    uint64_t dropped;  /* calls whose caller ended with its node */
    uint64_t skipped;  /* not made: too many were open */
    uint64_t keys;     /* ever used */
    uint64_t quorums;  /* writes that a read had to see because of its number and theirs */
    uint64_t firm;     /* acknowledged writes that were looked up in the replicas */
    uint64_t on_disks; /* of those, of durable keys: on the disks, too */
    uint64_t kept;     /* looks for acknowledged ones at disks that had them */
    uint64_t disks;    /* keys of replicas that were compared with their disks */
    uint64_t durable;  /* keys that had to be there after all had lost power */
};
struct data_load_counts data_load_counts(const struct data_load *load);

#endif
