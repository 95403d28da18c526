/* Defines the fence, a shard's right to write: (term of the coordinator, epoch of the allocation),
 * compared lexicographically.
 * A higher fence ends every lower one. Directives of the coordinator and writes to the journal
 * carry it. Zero means "none yet". */
#ifndef SHERD_BASE_FENCE_H
#define SHERD_BASE_FENCE_H

#include <stdbool.h>
#include <stdint.h>

struct fence {
    uint64_t term;  /* grows with each take-over by a coordinator */
    uint64_t epoch; /* grows with each allocation of the shard */
};

/* Returns less than, equal to or greater than zero. */
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
