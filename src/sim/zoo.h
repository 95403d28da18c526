/* Chooses the known bug (base/zoo.h) that the simulator's copy of the cores has in this process, if
 * any. */
#ifndef SHERD_SIM_ZOO_H
#define SHERD_SIM_ZOO_H

#include <stdint.h>

#include "base/zoo.h"

struct zoo_entry {
    const char *name;      /* "A2" */
    const char *row;       /* source of the bug: a tracker and a number */
    const char *rule;      /* the rule that it breaks */
    const char *invariant; /* the invariant that should find it */
};

/* Null for ZOO_NONE and unknown ones. */
const struct zoo_entry *zoo_entry(enum zoo_mutant mutant);
/* ZOO_NONE if unknown. */
enum zoo_mutant zoo_find(const char *name);
/* From now on; ZOO_NONE: no bug. Call it between two worlds. */
void zoo_choose(enum zoo_mutant mutant);
enum zoo_mutant zoo_current(void);
/* How often the bug's code was passed since it was chosen. A seed with 0 cannot find it. */
uint64_t zoo_passed(void);

#endif
