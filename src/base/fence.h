/* Defines the fence, a shard's right to write: (term of the coordinator, epoch of the allocation),
 * compared lexicographically.
 * A higher fence ends every lower one. The coordinator's directives and every write to the journal
 * carry it. Zero means "none yet" and is below every real fence. */
#ifndef SHERD_BASE_FENCE_H
#define SHERD_BASE_FENCE_H

#include <stdbool.h>
#include <stdint.h>

struct fence {
    uint64_t term;  /* grows each time a coordinator takes over */
    uint64_t epoch; /* grows at each allocation of the shard */
};

/* Returns less than, equal to or greater than zero as left is lower, equal or higher. */
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
