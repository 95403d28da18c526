/* Identifies one try of a hand-off: the fence of the home that the shard leaves, and a number. The
 * number grows with every try, also across terms, so a marker or an answer of a failed try never
 * counts for a later one. A coordinator without fences (a JVM) gives zeros. */
#ifndef SHERD_SHARD_ATTEMPT_H
#define SHERD_SHARD_ATTEMPT_H

#include "base/fence.h"

struct attempt {
    struct fence fence;
    uint64_t number;
};

/* Returns a value below, equal to or above zero if left is older than, equal to or newer than
 * right. */
static inline int attempt_compare(struct attempt left, struct attempt right)
{
    int order = fence_compare(left.fence, right.fence);
    if (order != 0 || left.number == right.number)
        return order;
    return left.number < right.number ? -1 : 1;
}

#endif
