/* Runs a workload of the versioned store in a world: every node has a broker, and actors read,
 * write and delete keys at drawn levels, with and without contexts. Their calls and answers go to
 * check_kvstore.h.
 *
 *   store-one-answer  each call of a live caller has one answer, from the broker
 *
 * A process has one such workload at a time. It draws from its own stream. */
#ifndef SHERD_SIM_WORKLOAD_KVSTORE_H
#define SHERD_SIM_WORKLOAD_KVSTORE_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/store.h>

#include "sim/world/world.h"

struct kvstore_load;

struct kvstore_load_settings {
    uint32_t slots;       /* keys at a time; default 6 */
    /* mean time between two calls of one of a node's two clients; default 200 */
    uint64_t interval_ms;
    uint64_t timeout_ms;  /* of calls; default 3,000 */
};

struct kvstore_load *kvstore_load_new(struct world *world,
                                  /* before the first node starts; world lent */
                                  const struct kvstore_load_settings *settings);
void kvstore_load_free(struct kvstore_load *load); /* after world_free */

void kvstore_load_stop(struct kvstore_load *load); /* clients call no more */
void kvstore_load_resume(struct kvstore_load *load);
bool kvstore_load_idle(const struct kvstore_load *load); /* no call is open */
/* after a stop, when all had its time: open calls are violations */
void kvstore_load_drained(struct kvstore_load *load);
/* Reports whether all live nodes see the same members. Between two runs. */
void kvstore_load_sample(struct kvstore_load *load, bool is_converged);
/* In the quiet phase: reads every key from all its replicas, and judges. */
void kvstore_load_finals_begin(struct kvstore_load *load);
/* keys that were not read yet */
uint32_t kvstore_load_finals_missing(const struct kvstore_load *load);

struct kvstore_load_counts {
    uint64_t gets, puts, deletes;
    uint64_t answers[SHERD_STORE_STATUS]; /* by enum sherd_store_message */
    uint64_t siblings; /* answers with more than one value */
    uint64_t no_answers;
    uint64_t skipped;  /* no broker yet, or too many calls open */
    uint64_t quorums;  /* writes that a read had to see */
    uint64_t again;    /* values that an earlier read found */
    uint64_t finals;   /* values that had to be present at the end */
};
struct kvstore_load_counts kvstore_load_counts(const struct kvstore_load *load);

#endif
