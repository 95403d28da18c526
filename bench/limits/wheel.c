/* Measures a minimal time-out that can be found by a number and cancelled: 24 bytes in the list of
 * its tick. See limits.h. */
#include "limits.h"

#include <stdlib.h>

#define TICKS 8192 /* longer than every time-out, so one level is enough */

struct pending {
    uint32_t next, prev; /* neighbours in its bucket or in the free list */
    uint32_t number;     /* changes with each use */
    uint32_t owner, tag, due;
};

static struct pending *wheel; /* the first TICKS elements are heads of buckets */
static uint32_t free_first, used;

static uint64_t start(uint32_t due, uint32_t tag)
{
    uint32_t bucket = due % TICKS;
    uint32_t at = free_first;

    if (at)
        free_first = wheel[at].next;
    else
        at = used++;
    wheel[at].owner = 1;
    wheel[at].tag = tag;
    wheel[at].due = due;
    wheel[at].number++;
    wheel[at].next = bucket;
    wheel[at].prev = wheel[bucket].prev;
    wheel[wheel[bucket].prev].next = at;
    wheel[bucket].prev = at;
    return (uint64_t)wheel[at].number << 32 | at;
}

static void cancel(uint64_t handle)
{
    uint32_t at = (uint32_t)handle;

    if (wheel[at].number != handle >> 32)
        abort();
    wheel[wheel[at].next].prev = wheel[at].prev;
    wheel[wheel[at].prev].next = wheel[at].next;
    wheel[at].number++;
    wheel[at].next = free_first;
    free_first = at;
}

void limit_timeouts(uint32_t pending, uint64_t count, double *bytes, double *ns)
{
    uint64_t *handles = malloc(pending * sizeof *handles);
    uint64_t begin;
    long before;

    if (!handles)
        exit(1);
    for (uint32_t i = 0; i < pending; i++)
        handles[i] = 0; /* touches the pages */
    before = bench_rss();
    wheel = calloc(TICKS + pending + 1ul, sizeof *wheel);
    for (uint32_t i = 0; i < TICKS; i++)
        wheel[i].next = wheel[i].prev = i;
    used = TICKS;
    for (uint32_t i = 0; i < pending; i++)
        handles[i] = start(5000, i);
    *bytes = (double)(bench_rss() - before) / pending;
    begin = bench_now();
    for (uint64_t i = 0; i < count; i++) {
        cancel(handles[i % pending]);
        handles[i % pending] = start(5000 + (uint32_t)(i >> 14) % 1000, 1);
    }
    *ns = (double)(bench_now() - begin) / (double)count;
    free(wheel);
    free(handles);
}
