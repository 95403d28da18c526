/* Implements timers as a binary heap keyed by (time, order). */
#include "base/timers.h"

#include "base/check.h"

#define CAPACITY_MIN 16 /* timers, of a heap that is not empty */

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
        timers->capacity =
            timers->capacity ? timers->capacity * 2 : CAPACITY_MIN;
        timers->heap = mem_resize(timers->heap,
                                  timers->capacity * sizeof *timers->heap);
    }
    while (index && before(&timer, &timers->heap[(index - 1) / 2])) {
        timers->heap[index] = timers->heap[(index - 1) / 2];
        index = (index - 1) / 2;
    }
    timers->heap[index] = timer;
}

/* Puts a timer at the index or below. */
static void sink(struct timers *timers, uint32_t index, struct timer timer)
{
    for (;;) {
        uint32_t child = 2 * index + 1;

        if (child >= timers->count)
            break;
        if (child + 1 < timers->count &&
            before(&timers->heap[child + 1], &timers->heap[child]))
            child++;
        if (!before(&timers->heap[child], &timer))
            break;
        timers->heap[index] = timers->heap[child];
        index = child;
    }
    timers->heap[index] = timer;
}

bool timers_take(struct timers *timers, uint64_t now, struct timer *timer)
{
    if (!timers->count || timers->heap[0].at > now)
        return false;
    *timer = timers->heap[0];
    if (--timers->count)
        sink(timers, 0, timers->heap[timers->count]);
    return true;
}

void timers_keep(struct timers *timers,
                 bool (*is_wanted)(const void *owner,
                                   const struct timer *timer),
                 const void *owner)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < timers->count; i++)
        if (is_wanted(owner, &timers->heap[i]))
            timers->heap[kept++] = timers->heap[i];
    timers->count = kept;
    for (uint32_t i = kept / 2; i-- > 0;)
        sink(timers, i, timers->heap[i]);
    if (timers->capacity <= CAPACITY_MIN || kept > timers->capacity / 4)
        return;
    timers->capacity = kept < CAPACITY_MIN / 2 ? CAPACITY_MIN : kept * 2;
    timers->heap = mem_resize(timers->heap,
                              timers->capacity * sizeof *timers->heap);
}

uint64_t timers_deadline(const struct timers *timers)
{
    return timers->count ? timers->heap[0].at : NEVER;
}
