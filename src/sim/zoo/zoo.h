/* Chooses the known bug (tests/bugs) that the simulator's copy of the cores has in this process, if
 * any. */
#ifndef SHERD_SIM_ZOO_H
#define SHERD_SIM_ZOO_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/zoo/zoo_names.h" /* made by tools/bugs: enum zoo_mutant, with ZOO_NONE and ZOO_COUNT */

/* The kind of seeds that can find a bug: the line "world:" of its file. */
enum zoo_world {
    WORLD_ANY,
    WORLD_REMEMBER,      /* entities are remembered in the journal */
    WORLD_REMEMBER_DATA, /* entities are remembered in distributed data */
    WORLD_DATA,          /* distributed data under load */
    WORLD_DURABLE,       /* the same with durable keys */
    WORLD_STORE,         /* the N/R/W store under load */
    WORLD_LIMIT,         /* active entities are limited */
    WORLD_ALLOCATION,    /* types have all allocation strategies */
    WORLD_CLIENT,        /* threads of programs make requests */
    WORLD_UNKNOWN,       /* distributed data under load; some nodes do not know a type */
    WORLD_SERVICES,      /* every node opens a singleton */
    WORLD_FLOOD,         /* strangers shake hands */
    WORLD_LEASE,         /* shards and coordinators have leases */
    WORLD_ROLLING,       /* nodes restart gracefully before the faults */
    WORLD_LOCATED_LEASES, /* coordinators with locations of shards lose their leases */
    WORLD_RAPID,         /* nodes restart within a second */
    WORLD_DELIVERY,      /* accounts deliver to each other */
    WORLD_LOOKS,         /* all nodes look at each other */
    WORLD_OPERATIONS,    /* operators cordon nodes and move shards */
    WORLD_DATABASE,      /* the journal's server may lose the last commits */
};

struct zoo_entry {
    const char *name;      /* "older-gossip-wins" */
    const char *origin;    /* source of the bug: a tracker and a number, or "own" */
    const char *rule;      /* the rule that it breaks */
    const char *invariant; /* the invariant that should find it */
    enum zoo_world world;
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

extern enum zoo_mutant zoo_chosen; /* the copies of the cores only read it */
extern uint64_t zoo_met; /* passes of the chosen bug's code */

/* BUG of a bug file: is this the chosen bug? */
static inline bool zoo_is(enum zoo_mutant mutant)
{
    if (__builtin_expect(zoo_chosen != mutant, 1))
        return false;
    zoo_met++;
    return true;
}

#endif
