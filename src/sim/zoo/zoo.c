/* Keeps the catalogue of bugs as a table, and the choice. */
#include "sim/zoo/zoo.h"

#include <stddef.h>
#include <string.h>

#include "base/check.h"

enum zoo_mutant zoo_chosen;
uint64_t zoo_met;

static const struct zoo_entry entries[ZOO_COUNT] = {
#define ROW(mutant, name, origin, rule, invariant, world) \
    [mutant] = { name, origin, rule, invariant, world },
#include "sim/zoo/zoo_rows.h"
#undef ROW
};

const struct zoo_entry *zoo_entry(enum zoo_mutant mutant)
{
    return mutant > ZOO_NONE && mutant < ZOO_COUNT ? &entries[mutant] : NULL;
}

enum zoo_mutant zoo_find(const char *name)
{
    for (int mutant = ZOO_NONE + 1; mutant < ZOO_COUNT; mutant++) {
        if (!strcmp(entries[mutant].name, name))
            return (enum zoo_mutant)mutant;
    }
    return ZOO_NONE;
}

void zoo_choose(enum zoo_mutant mutant)
{
    check(mutant >= ZOO_NONE && mutant < ZOO_COUNT);
    zoo_chosen = mutant;
    zoo_met = 0;
}

enum zoo_mutant zoo_current(void)
{
    return zoo_chosen;
}

uint64_t zoo_passed(void)
{
    return zoo_met;
}
