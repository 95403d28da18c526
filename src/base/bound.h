/* Checks in the simulator that no queue exceeds its limit (invariant bounded-buffers).
 * Only the simulator's copy of the cores, built with SHERD_MARKS, has these checks. Each compares
 * both numbers where an item is added, independently of the code around it, and reports an excess
 * to sim/world/bound.h. */
#ifndef SHERD_BASE_BOUND_H
#define SHERD_BASE_BOUND_H

#include <stdint.h>

/* BOUNDED("text of the queue", number held now, limit). A statement; the text is a literal. Without
 * SHERD_MARKS nothing is evaluated. */
#ifdef SHERD_MARKS
void bound_broken(const char *what, uint64_t held, uint64_t most); /* in sim/world/bound.c */

#define BOUNDED(what, held, most)                                             \
    do {                                                                      \
        uint64_t bound_held = (uint64_t)(held);                               \
        uint64_t bound_most = (uint64_t)(most);                               \
                                                                              \
        if (__builtin_expect(bound_held > bound_most, 0))                     \
            bound_broken("" what, bound_held, bound_most);                    \
    } while (0)
#else
#define BOUNDED(what, held, most)                                             \
    ((void)sizeof("" what), (void)sizeof((uint64_t)(held)),                   \
     (void)sizeof((uint64_t)(most)))
#endif

#endif
