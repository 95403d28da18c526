/* Streams of randomness: one for each purpose and thing, all from the world's seed.
 *
 * What one stream gives does not depend on how much was drawn from another: taking one fault out of a plan does not change
 * what else is drawn, so that a failing run can be made smaller. */
#ifndef SHERD_SIM_STREAMS_H
#define SHERD_SIM_STREAMS_H

#include <stdint.h>

#include "base/rng.h"

enum stream_purpose {
    STREAM_SCHEDULING, /* ties and short waits */
    STREAM_PATH,       /* index: the node's that sends */
    STREAM_NODE,       /* index: the node's; uids and seeds of its lives */
    STREAM_MAIL,       /* index: the node's, as the next */
    STREAM_FATE,       /* what a crash leaves behind */
    STREAM_DISK,       /* index: as its owner likes, as the next */
    STREAM_WORKLOAD,
    STREAM_NEMESIS,
    STREAM_KNOBS,
    STREAM_LEASE, /* index: the node's, as the next */
    STREAM_JOB,   /* how long jobs take */
    STREAM_DURABLE,
    STREAM_DATA,
    STREAM_VERSIONS, /* the workload of the N/R/W store */
    STREAM_SEEDS, /* index: the node's that looks for seed nodes, and those above all: their owner's */
    STREAM_FOLLOW, /* index: the node's whose actors follow the cluster, and those above all: whose entities do */
};

struct rng stream_rng(uint64_t seed, enum stream_purpose purpose,
                      uint64_t index);

/* A delay of at least `min` ns whose mean is `mean`: what is above min falls off exponentially, at most 43 times its mean. Whole
 * numbers only; mean at most an hour. */
uint64_t stream_delay(struct rng *rng, uint64_t min, uint64_t mean);

#endif
