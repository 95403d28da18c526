/* Runs seeds in child processes, because a bug may crash or hang, until one of them finds the bug.
 *
 * The caller's function runs one seed in the child. A seed that breaks a rule without the bug
 * proves nothing, so each find is repeated without it. */
#ifndef SHERD_SIM_ZOO_HUNT_H
#define SHERD_SIM_ZOO_HUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/run/mark.h"
#include "sim/zoo/zoo.h"

#define HUNT_INVARIANT_MAX 32 /* bytes with the zero */
#define HUNT_TEXT_MAX 576
#define HUNT_JOBS_MAX 64

/* The first broken rule of a run. A failed check() is the invariant "check", a signal is
 * "crash". */
struct hunt_finding {
    char invariant[HUNT_INVARIANT_MAX];
    char text[HUNT_TEXT_MAX];
};

/* Runs one seed in this process. True: a rule is broken, and finding has it. */
typedef bool hunt_run(void *arg, uint64_t seed, struct hunt_finding *finding);

struct hunt_options {
    hunt_run *run;
    void *arg;
    uint64_t seed;      /* first seed */
    uint64_t seeds_max; /* largest number of seeds */
    uint64_t wall_ms;   /* limit for a seed, which then counts as not finding */
    uint32_t jobs;      /* simultaneous children; 0: one */
    /* For hunt_marks: `leave` writes further lines in the child, `take` reads them (false:
     * malformed). Both may be null. */
    void (*leave)(void *arg, struct buf *lines);
    bool (*take)(void *arg, struct slice lines);
};

struct hunt_result {
    bool is_found;
    uint64_t seed;    /* the first one in order that found it */
    uint64_t seeds;   /* up to that one; all if none found it */
    uint64_t hung;    /* seeds that exceeded the limit */
    /* seeds that break a rule without the bug or exceed the limit: they prove nothing */
    uint64_t spoiled;
    uint64_t broken;  /* those that break a rule; the first is broken_seed */
    uint64_t broken_seed;
    uint64_t met;
    uint64_t cpu_us;  /* of all children */
    struct hunt_finding finding;
};

/* With ZOO_NONE, until any rule is broken. */
void hunt(const struct hunt_options *options, enum zoo_mutant mutant,
          struct hunt_result *result);

/* Runs all seeds without a bug, and adds up their marks. Returns how many did not end well. */
uint64_t hunt_marks(const struct hunt_options *options, struct mark_list *marks);

#endif
