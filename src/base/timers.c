/* A binary heap keyed by (time, order). */
#include "base/timers.h"

#include "base/check.h"

static bool before(const struct timer *left, const struct timer *right)
{
    return left->at != right->at ? left->at < right->at
                                 : left->order < right->order;
}

void timers_fini(struct timers *timers)
{
    mem_free(timers->heap);
    *timers = (struct timers){ 0 };
}

void timers_put(struct timers *timers, uint64_t at, uint32_t kind, uint64_t id,
                uint32_t generation)
{
    struct timer timer = { at, timers->order++, id, kind, generation };
    uint32_t index = timers->count++;

    if (index == timers->capacity) {
        timers->capacity = timers->capacity ? timers->capacity * 2 : 16;
        timers->heap = mem_resize(timers->heap,
                                  timers->capacity * sizeof *timers->heap);
    }
    while (index && before(&timer, &timers->heap[(index - 1) / 2])) {
        timers->heap[index] = timers->heap[(index - 1) / 2];
        index = (index - 1) / 2;
    }
    timers->heap[index] = timer;
}

bool timers_take(struct timers *timers, uint64_t now, struct timer *timer)
{
    struct timer last;
    uint32_t index = 0;

    if (!timers->count || timers->heap[0].at > now)
        return false;
    *timer = timers->heap[0];
    last = timers->heap[--timers->count];
    for (;;) {
        uint32_t child = 2 * index + 1;

        if (child >= timers->count)
            break;
        if (child + 1 < timers->count &&
            before(&timers->heap[child + 1], &timers->heap[child]))
            child++;
        if (!before(&timers->heap[child], &last))
            break;
        timers->heap[index] = timers->heap[child];
        index = child;
    }
    if (timers->count)
        timers->heap[index] = last;
    return true;
}

uint64_t timers_deadline(const struct timers *timers)
{
    return timers->count ? timers->heap[0].at : NEVER;
}
