/* One try of handing a shard off: the fence of the home that it leaves, and a number that grows with every try, also over terms,
 * so that a marker or an answer of a failed try counts for no later one. A coordinator without fences (a JVM) gives zeros. */
#ifndef SHERD_SHARD_ATTEMPT_H
#define SHERD_SHARD_ATTEMPT_H

#include "base/fence.h"

struct attempt {
    struct fence fence;
    uint64_t number;
};

/* Below, equal to or above zero, as left is older than, equal to or newer than right. */
static inline int attempt_compare(struct attempt left, struct attempt right)
{
    int order = fence_compare(left.fence, right.fence);
    if (order != 0 || left.number == right.number)
        return order;
    return left.number < right.number ? -1 : 1;
}

#endif
