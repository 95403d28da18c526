/* Keeps one core's timers in a heap, ordered by time, then by the order in which they were set.
 * A timer has a kind, an id and the generation of the state that armed it. Nothing is cancelled:
 * the owner ignores timers of old generations, or drops many at once. */
#ifndef SHERD_BASE_TIMERS_H
#define SHERD_BASE_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#define NEVER UINT64_MAX /* a deadline that does not come */
#define MS UINT64_C(1000000) /* nanoseconds */
#define SECOND UINT64_C(1000000000)

struct timer {
    uint64_t at;    /* ns, monotonic */
    uint64_t order; /* set by timers_put */
    uint64_t id;
    uint32_t kind;
    uint32_t generation;
};

/* Zero is an empty one. */
struct timers {
    struct timer *heap;
    uint32_t count;
    uint32_t capacity;
    uint64_t order;
};

void timers_fini(struct timers *timers);
void timers_put(struct timers *timers, uint64_t at, uint32_t kind, uint64_t id,
                uint32_t generation);
/* The earliest due one; false if none. */
bool timers_take(struct timers *timers, uint64_t now, struct timer *timer);
/* Drops unwanted timers and their memory. It looks at each timer: for owners with mostly stale
 * ones. */
void timers_keep(struct timers *timers,
                 bool (*is_wanted)(const void *owner,
                                   const struct timer *timer),
                 const void *owner);
uint64_t timers_deadline(const struct timers *timers); /* NEVER when empty */

#endif
