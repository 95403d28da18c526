/* Keeps the best of many rows: a heap of at most so many items with the worst one at its top. */
#ifndef SHERD_LOOK_TOP_H
#define SHERD_LOOK_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct top_item {
    uint64_t key;   /* the largest is the best */
    uint64_t tie;   /* among equal keys the smallest is the best; no two items have both */
    uint64_t value; /* the owner's */
};

/* Zero is an empty one. */
struct top {
    VEC(struct top_item) items;
};

void top_fini(struct top *top);
/* Adds an item while there are fewer than max, or in place of the worst one if it is better. True: an
 * item is not kept, *left: that one or a former one. */
bool top_put(struct top *top, uint32_t max, struct top_item item, struct top_item *left);
void top_sort(struct top *top); /* the best one first; then nothing is added any more */

#endif
