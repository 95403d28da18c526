/* Hunting: seeds are run in child processes, because a bug may crash or hang, until one of them sees the bug.
 *
 * How one seed is run is the caller's: a function that is called in the child and says whether a rule was broken. A seed that
 * breaks a rule without the bug, too, proves nothing: each find is run once more without it. */
#ifndef SHERD_SIM_ZOO_HUNT_H
#define SHERD_SIM_ZOO_HUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/mark.h"
#include "sim/zoo.h"

#define HUNT_INVARIANT_MAX 32 /* bytes with the zero */
#define HUNT_TEXT_MAX 576
#define HUNT_JOBS_MAX 64

/* What broke in a run. A check() that fails is the invariant "check", a signal "crash". */
struct hunt_finding {
    char invariant[HUNT_INVARIANT_MAX];
    char text[HUNT_TEXT_MAX];
};

/* Runs one seed in this process, which has the chosen bug. True: a rule is broken, finding is filled in. */
typedef bool hunt_run(void *arg, uint64_t seed, struct hunt_finding *finding);

struct hunt_options {
    hunt_run *run;
    void *arg;
    uint64_t seed;      /* the first one */
    uint64_t seeds_max; /* at most so many */
    uint64_t wall_ms;   /* a seed that takes longer is ended, and sees nothing */
    uint32_t jobs;      /* children at once; 0: one */
    /* Of hunt_marks: what else a child leaves, lines behind its marks, and what is done with them (false: they are none). Both null: nothing. */
    void (*leave)(void *arg, struct buf *lines);
    bool (*take)(void *arg, struct slice lines);
};

struct hunt_result {
    bool is_found;
    uint64_t seed;    /* that saw it: of several the first in order */
    uint64_t seeds;   /* up to that one, in order; all when it was not found */
    uint64_t hung;    /* seeds that took too long */
    uint64_t spoiled; /* seeds that break a rule without the bug, or take too long: they prove nothing */
    uint64_t broken;  /* of them those that break a rule; the first one is broken_seed */
    uint64_t broken_seed;
    uint64_t met;     /* seeds that passed the bug's place and came to an end */
    uint64_t cpu_us;  /* of all children */
    struct hunt_finding finding;
};

/* Until the bug is seen. mutant ZOO_NONE: until any rule is broken. */
void hunt(const struct hunt_options *options, enum zoo_mutant mutant,
          struct hunt_result *result);

/* Runs all seeds without a bug, and adds up their marks. Returns how many did not end well. */
uint64_t hunt_marks(const struct hunt_options *options, struct mark_list *marks);

#endif
