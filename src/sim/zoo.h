/* Which bug of the catalogue (base/zoo.h) the simulator's copy of the cores has in this process: none, or one. */
#ifndef SHERD_SIM_ZOO_H
#define SHERD_SIM_ZOO_H

#include <stdint.h>

#include "base/zoo.h"

struct zoo_entry {
    const char *name;      /* "A2" */
    const char *row;       /* where the bug was: a tracker and a number */
    const char *rule;      /* what it breaks */
    const char *invariant; /* that should see it */
};

/* The entry of a mutant, constant; null for ZOO_NONE and what is beyond the list. */
const struct zoo_entry *zoo_entry(enum zoo_mutant mutant);
/* The mutant of a name; ZOO_NONE for a name that is not in the list. */
enum zoo_mutant zoo_find(const char *name);
/* From here on the cores have this bug; ZOO_NONE: no bug. Between two worlds, never in the middle of one. */
void zoo_choose(enum zoo_mutant mutant);
enum zoo_mutant zoo_current(void);
/* How often the bug's place was passed since it was chosen. 0: whoever did not see it could not. */
uint64_t zoo_passed(void);

#endif
