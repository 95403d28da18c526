/* Derives streams of random numbers from the world's seed, one for each purpose and thing.
 *
 * The numbers of one stream do not depend on draws from another. So a failing run can be shrunk:
 * removing a fault from a schedule changes no other draw. */
#ifndef SHERD_SIM_STREAMS_H
#define SHERD_SIM_STREAMS_H

#include <stdint.h>

#include "base/rng.h"

enum stream_purpose {
    STREAM_SCHEDULING, /* ties and short waits */
    STREAM_PATH,       /* index: the sending node's */
    STREAM_NODE,       /* index: the node's; uids and seeds of its incarnations */
    STREAM_MAIL,       /* index: the node's, as the next */
    STREAM_FATE,       /* effects of a crash on bytes in flight and on disks */
    STREAM_DISK,       /* index: the owner's choice, as the next */
    STREAM_WORKLOAD,
    STREAM_NEMESIS,
    STREAM_KNOBS,
    STREAM_LEASE, /* index: the node's, as the next */
    STREAM_JOB,   /* how long jobs take */
    STREAM_DURABLE,
    STREAM_DATA,
    STREAM_VERSIONS, /* the workload of the N/R/W store */
    /* index: that of the node that looks for seed nodes; a higher one for their owner */
    STREAM_SEEDS,
    /* index: that of the node whose actors subscribe; a higher one for entities that subscribe */
    STREAM_FOLLOW,
};

struct rng stream_rng(uint64_t seed, enum stream_purpose purpose,
                      uint64_t index);

/* Returns a delay of at least `min` ns whose mean is `mean`. The part above min is exponential, at
 * most 43 times its mean. Integers only; mean at most an hour. */
uint64_t stream_delay(struct rng *rng, uint64_t min, uint64_t mean);

#endif
