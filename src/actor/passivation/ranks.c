/* Keeps the array of ranks as large as the largest slot that has one. */
#include "actor/passivation/ranks.h"

#include "base/check.h"

void ranks_room(struct ranks *ranks, uint32_t slot)
{
    uint32_t count = ranks->count;

    if (slot < count)
        return;
    check(slot < 1u << RANK_SLOT_BITS);
    count += count / 8; /* as slots grow */
    if (count <= slot)
        count = slot + 64;
    ranks->items = mem_resize(ranks->items, count * sizeof *ranks->items);
    memset(ranks->items + ranks->count, 0,
           (count - ranks->count) * sizeof *ranks->items);
    ranks->count = count;
}

void ranks_fini(struct ranks *ranks)
{
    mem_free(ranks->items);
    vec_fini(&ranks->passivated);
    vec_fini(&ranks->moved);
    *ranks = (struct ranks){ 0 };
}
