/* Derives streams of random numbers from the world's seed, one for each purpose and thing.
 *
 * A stream does not depend on draws from another. So a failing run can be shrunk: removing a fault
 * changes no other draw. */
#ifndef SHERD_SIM_SEED_STREAMS_H
#define SHERD_SIM_SEED_STREAMS_H

#include <stdint.h>

#include "base/rng.h"

enum stream_purpose {
    STREAM_SCHEDULING, /* ties and short waits */
    STREAM_PATH,       /* index: the sending node's */
    STREAM_NODE,       /* index: the node's; uids and seeds */
    STREAM_MAIL,       /* index: the node's, as the next */
    STREAM_FATE,       /* effects of crashes */
    STREAM_DISK,       /* index: the owner's choice, as the next */
    STREAM_WORKLOAD,
    STREAM_NEMESIS,
    STREAM_KNOBS,
    STREAM_LEASE, /* index: the node's, as the next */
    STREAM_JOB,   /* how long jobs take */
    STREAM_DURABLE,
    STREAM_DATA,
    STREAM_VERSIONS, /* the workload of the N/R/W store */
    STREAM_SEEDS, /* index: the looking node's; a higher one for its owner */
    STREAM_FOLLOW, /* index: the node's, for its actors; a higher one for entities */
    STREAM_REQUESTS, /* the workload of clients of threads */
    STREAM_ALLOCATION, /* index: the node's; a higher one for programs that set locations */
    STREAM_SERVICES, /* the workload of singletons and daemons */
    STREAM_ROLLING, /* asks during graceful restarts; 1: the restarts */
    STREAM_DELIVERY, /* the workload of accounts */
    STREAM_COMMANDS, /* commands to accounts */
    STREAM_DATABASE, /* 2 * the store's index: delays; 1 more: its faults */
    STREAM_LOOKS, /* looks of programs */
    STREAM_OPERATIONS, /* operations of programs */
};

struct rng stream_rng(uint64_t seed, enum stream_purpose purpose,
                      uint64_t index);

/* Returns a delay of at least `min` ns with the mean `mean`. The part above min is exponential, at
 * most 43 times its mean. Integers only; mean at most an hour. */
uint64_t stream_delay(struct rng *rng, uint64_t min, uint64_t mean);

#endif
