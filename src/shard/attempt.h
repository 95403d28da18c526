/* Identifies one try of a hand-off: the fence of the home that the shard leaves, and a number. The
 * number grows also across terms, so messages of a failed try never count later. A JVM coordinator
 * gives zeros. */
#ifndef SHERD_SHARD_ATTEMPT_H
#define SHERD_SHARD_ATTEMPT_H

#include "base/fence.h"

struct attempt {
    struct fence fence;
    uint64_t number;
};

/* Below, equal to or above zero: left is older, the same, newer. */
static inline int attempt_compare(struct attempt left, struct attempt right)
{
    int order = fence_compare(left.fence, right.fence);
    if (order != 0 || left.number == right.number)
        return order;
    return left.number < right.number ? -1 : 1;
}

#endif
