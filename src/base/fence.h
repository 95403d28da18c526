/* The right to write for a shard: (term of the coordinator, epoch of the
 * allocation), compared lexicographically. A higher fence ends every lower
 * one. Carried by directives of the coordinator and by every write to a store;
 * zero is "none yet", below every real one. */
#ifndef SHERD_BASE_FENCE_H
#define SHERD_BASE_FENCE_H

#include <stdbool.h>
#include <stdint.h>

struct fence {
    uint64_t term;  /* grows at every take-over of the coordinator's role */
    uint64_t epoch; /* grows at every allocation of the shard */
};

/* Below zero, zero or above zero, as left is lower, equal or higher. */
static inline int fence_compare(struct fence left, struct fence right)
{
    if (left.term != right.term)
        return left.term < right.term ? -1 : 1;
    if (left.epoch != right.epoch)
        return left.epoch < right.epoch ? -1 : 1;
    return 0;
}

static inline bool fence_is_none(struct fence fence)
{
    return fence.term == 0 && fence.epoch == 0;
}

#endif
