/* A workload of an N/R/W store in a world: every node has a broker, actors on every node read, write and delete keys with drawn levels,
 * with and without contexts; what they do and hear goes to check_store.h.
 *
 *   store-one-answer  each call of a caller that lives is answered exactly once, and the broker itself answers
 *
 * Behaviors are constants, so there is one such workload of a process at a time. Its draws come from a stream of its own: a world
 * without it is what it was. */
#ifndef SHERD_SIM_WORKLOAD_KVSTORE_H
#define SHERD_SIM_WORKLOAD_KVSTORE_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/store.h>

#include "sim/world.h"

struct kvstore_load;

struct kvstore_load_settings {
    uint32_t slots;       /* keys at a time; default 6 */
    uint64_t interval_ms; /* mean time between two calls of a client, of which each node has two; default 200 */
    uint64_t timeout_ms;  /* of calls; default 3,000 */
};

struct kvstore_load *kvstore_load_new(struct world *world,
                                  const struct kvstore_load_settings *settings); /* before the first node starts; world lent */
void kvstore_load_free(struct kvstore_load *load); /* after world_free */

void kvstore_load_stop(struct kvstore_load *load); /* clients call no more */
void kvstore_load_resume(struct kvstore_load *load);
bool kvstore_load_idle(const struct kvstore_load *load); /* no call is open */
void kvstore_load_drained(struct kvstore_load *load); /* after a stop, when everything had its time: open calls are violations */
/* Between two runs: whether all nodes that live see the same members now. */
void kvstore_load_sample(struct kvstore_load *load, bool is_converged);
/* In the quiet: every key in use is read of all its replicas, and judged. */
void kvstore_load_finals_begin(struct kvstore_load *load);
uint32_t kvstore_load_finals_missing(const struct kvstore_load *load); /* keys that were not read yet */

struct kvstore_load_counts {
    uint64_t gets, puts, deletes;
    uint64_t answers[SHERD_STORE_STATUS]; /* by enum sherd_store_message */
    uint64_t siblings; /* answers with more than one value */
    uint64_t no_answers;
    uint64_t skipped;  /* no broker yet, or too many calls open */
    uint64_t quorums;  /* writes that a read had to see or to see the end of */
    uint64_t again;    /* the same, of values that a read before had found */
    uint64_t finals;   /* writes that had to be there in the end */
};
struct kvstore_load_counts kvstore_load_counts(const struct kvstore_load *load);

#endif
