/* What a queue holds and what it may hold, said where something is put into it: for who judges a run (bounded-buffers).
 *
 * Nothing everywhere but in the simulator's own copy of the cores, which is built with SHERD_ZOO: there each statement compares
 * the two, whatever the code around it has decided, and tells sim/bound.h of a queue that holds more than it may. */
#ifndef SHERD_BASE_BOUND_H
#define SHERD_BASE_BOUND_H

#include <stdint.h>

/* BOUNDED("what the queue holds", how much it holds by now, how much it may hold). A statement; the text is a literal. Neither
 * number has an effect: without SHERD_ZOO they are not evaluated. */
#ifdef SHERD_ZOO
void bound_broken(const char *what, uint64_t held, uint64_t most); /* sim/bound.c's */

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
