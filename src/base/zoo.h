/* Known bugs, each brought back at one place of the cores, to show that the simulator sees it.
 *
 * A place says ZOO(name). It is false, a constant, everywhere but in the simulator's own copy of the cores, which is built
 * with SHERD_ZOO: there it asks which one was chosen at run time (sim/zoo.h), and by default none is. The list is the
 * catalogue: its row in the public tracker where the bug was, the rule that it breaks, and the invariant that should see it. */
#ifndef SHERD_BASE_ZOO_H
#define SHERD_BASE_ZOO_H

#include <stdbool.h>

/* X(name, row, rule, invariant) */
#define ZOO_MUTANTS(X)                                                         \
    X(A2, "net#8146",                                                          \
      "A report that a shard has stopped counts for the attempt it answers.",  \
      "I11")

enum zoo_mutant {
    ZOO_NONE,
#define X(name, row, rule, invariant) ZOO_##name,
    ZOO_MUTANTS(X)
#undef X
        ZOO_COUNT
};

#ifdef SHERD_ZOO
extern enum zoo_mutant zoo_chosen; /* sim/zoo.c's; cores only read it */

static inline bool zoo_is(enum zoo_mutant mutant)
{
    return __builtin_expect(zoo_chosen == mutant, 0);
}

#define ZOO(name) zoo_is(ZOO_##name)
#else
#define ZOO(name) (ZOO_##name == ZOO_NONE)
#endif

#endif
