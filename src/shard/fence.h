/* A fence: what makes a directive about a shard stale. Compared by term, then by epoch.
 *
 * The term belongs to the coordinator and grows with every take-over; the epoch belongs to the shard and grows at every
 * allocation. Zero: a coordinator without fences (a JVM). An attempt names one hand-off of a shard: the fence of the home
 * that it leaves and a number that grows with every try, so that a marker of a failed try counts for no later one. */
#ifndef SHERD_SHARD_FENCE_H
#define SHERD_SHARD_FENCE_H

#include <stdbool.h>
#include <stdint.h>

struct fence {
    uint64_t term;
    uint64_t epoch;
};

struct attempt {
    struct fence fence;
    uint64_t number;
};

/* Below, equal to or above zero, as left is older than, equal to or newer than right. */
static inline int fence_compare(struct fence left, struct fence right)
{
    if (left.term != right.term)
        return left.term < right.term ? -1 : 1;
    return left.epoch < right.epoch ? -1 : left.epoch > right.epoch;
}

/* True when the coordinator gave one. */
static inline bool fence_given(struct fence fence)
{
    return fence.term != 0 || fence.epoch != 0;
}

static inline int attempt_compare(struct attempt left, struct attempt right)
{
    int order = fence_compare(left.fence, right.fence);
    if (order != 0 || left.number == right.number)
        return order;
    return left.number < right.number ? -1 : 1;
}

#endif
