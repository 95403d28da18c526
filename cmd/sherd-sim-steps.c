/* Measures steps of machines in several runs of the same world, and prints the longest. */
#define _GNU_SOURCE
#include "sherd-sim-steps.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "sim/world/heap.h"

#define PARTS 8 /* classes of lengths for each power of two */
#define KINDS (PARTS * 40)
#define SHORT_MAX 20000     /* ns of wall time: longer steps are measured in processor time */
#define LONG_MIN 700000     /* ns: longer steps are kept and compared in the next run */
#define GOAL 1000000        /* ns */
#define KEPT_MAX 100000
#define PHASES_MAX 16
#define NAME_SIZE 16
#define SHOWN_MAX 5 /* of the longest steps of a phase */

enum which { CONTROL, LANES, WHICH_COUNT };

static const char *const which_names[] = { "control", "lanes" };

struct tally {
    uint64_t count;
    uint64_t by_length[KINDS];
    uint64_t longest; /* ns */
    uint64_t above;   /* steps above GOAL */
};

struct kept {
    uint64_t at; /* number of the step in its run */
    uint64_t length; /* ns, the shortest so far */
    struct world_step step;
    uint8_t phase;
    uint8_t which;
    bool is_shown;
};

struct steps {
    struct tally of[WHICH_COUNT]; /* of the phase, in this run */
    uint64_t began;        /* ns of wall time */
    uint64_t began_thread; /* ns of the thread's processor time */
    uint64_t at;    /* steps of this run */
    uint32_t run;   /* 1 is the first */
    uint32_t phase;
    uint32_t next; /* index in kept of the next step to compare */
    uint32_t kept_count;
    uint64_t not_kept; /* for lack of room */
    char names[PHASES_MAX][NAME_SIZE];
    struct kept kept[KEPT_MAX]; /* in the order of at */
};

struct steps *steps_new(void)
{
    void *memory = mmap(NULL, sizeof(struct steps), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory; /* zeroed */
}

void steps_free(struct steps *steps)
{
    if (steps)
        (void)munmap(steps, sizeof *steps); /* cannot fail for a mapping */
}

static uint64_t now_of(clockid_t clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now); /* cannot fail */
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint32_t kind_of(uint64_t length)
{
    uint32_t bits = 63 - (uint32_t)__builtin_clzll(length | 8);
    uint32_t kind =
        (bits - 3) * PARTS + (uint32_t)(length >> (bits - 3) & (PARTS - 1));

    return kind < KINDS ? kind : KINDS - 1;
}

void steps_begin(struct steps *steps)
{
    memset(steps->of, 0, sizeof steps->of);
    steps->at = 0;
    steps->phase = steps->next = 0;
    steps->run++;
}

/* Counts a step of the first run. */
static void keep(struct steps *steps, const struct world_step *step,
                 enum which which, uint64_t length)
{
    if (length < LONG_MIN)
        return;
    if (steps->kept_count == KEPT_MAX) {
        steps->not_kept++;
        return;
    }
    steps->kept[steps->kept_count++] =
        (struct kept){ .at = steps->at,
                       .length = length,
                       .step = *step,
                       .phase = (uint8_t)steps->phase,
                       .which = (uint8_t)which };
}

/* Compares a step of a later run. */
static void compare(struct steps *steps, uint64_t length)
{
    struct kept *kept;

    while (steps->next < steps->kept_count &&
           steps->kept[steps->next].at < steps->at)
        steps->next++;
    kept = &steps->kept[steps->next];
    if (steps->next < steps->kept_count && kept->at == steps->at &&
        length < kept->length)
        kept->length = length;
}

/* Reading the processor time takes longer than most steps, so it is read only for long ones. */
static uint64_t length_of(const struct steps *steps)
{
    uint64_t length = now_of(CLOCK_MONOTONIC) - steps->began;

    return length < SHORT_MAX
               ? length
               : now_of(CLOCK_THREAD_CPUTIME_ID) - steps->began_thread;
}

static void step(void *user, const struct world_step *step, bool begins)
{
    struct steps *steps = user;
    enum which which = step->machine != 0 ? LANES : CONTROL;
    struct tally *tally = &steps->of[which];
    uint64_t length;

    if (begins) {
        heap_ahead();
        steps->began_thread = now_of(CLOCK_THREAD_CPUTIME_ID);
        steps->began = now_of(CLOCK_MONOTONIC);
        return;
    }
    length = length_of(steps);
    steps->at++;
    if (steps->run > 1)
        compare(steps, length);
    else
        keep(steps, step, which, length);
    tally->count++;
    tally->by_length[kind_of(length)]++;
    tally->above += length > GOAL;
    if (length > tally->longest)
        tally->longest = length;
}

void steps_observe(struct steps *steps, struct world *world)
{
    struct world_observer observer = { .user = steps, .step = step };

    world_observe(world, &observer);
}

/* Returns the ns that one step in a thousand exceeds. */
static uint64_t exceeded(const struct tally *tally)
{
    uint64_t left = tally->count / 1000;
    uint32_t kind = KINDS;

    while (kind && tally->by_length[kind - 1] <= left)
        left -= tally->by_length[--kind];
    return (uint64_t)(PARTS + kind % PARTS) << kind / PARTS;
}

void steps_phase_ended(struct steps *steps, const char *phase)
{
    for (uint32_t i = 0; i < WHICH_COUNT && steps->run == 1; i++)
        printf("             %-7s %10llu steps  p99.9 %8.1f us  longest %8.1f us  above 1 ms %llu\n",
               which_names[i], (unsigned long long)steps->of[i].count,
               (double)exceeded(&steps->of[i]) / 1e3,
               (double)steps->of[i].longest / 1e3,
               (unsigned long long)steps->of[i].above);
    memset(steps->of, 0, sizeof steps->of);
    (void)snprintf(steps->names[steps->phase], NAME_SIZE, "%s", phase);
    if (steps->phase + 1 < PHASES_MAX)
        steps->phase++;
}

static struct kept *longest_of(struct steps *steps, uint32_t phase,
                               uint32_t which)
{
    struct kept *longest = NULL;

    for (uint32_t i = 0; i < steps->kept_count; i++) {
        struct kept *kept = &steps->kept[i];

        if (kept->phase == phase && kept->which == which && !kept->is_shown &&
            (!longest || kept->length > longest->length))
            longest = kept;
    }
    return longest;
}

static void print_longest(struct steps *steps, uint32_t phase, uint32_t which)
{
    struct kept *kept;

    for (uint32_t i = 0;
         i < SHOWN_MAX && (kept = longest_of(steps, phase, which)); i++) {
        kept->is_shown = true;
        printf("               %8.1f us  %s", (double)kept->length / 1e3,
               kept->step.what);
        if (kept->step.size)
            printf(" (%zu)", kept->step.size);
        printf(" of machine %u of node %u at %.3f s\n", kept->step.machine,
               kept->step.node, (double)kept->step.at / 1e9);
    }
}

void steps_print(struct steps *steps)
{
    uint64_t above[PHASES_MAX][WHICH_COUNT] = { 0 };

    for (uint32_t i = 0; i < steps->kept_count; i++)
        above[steps->kept[i].phase][steps->kept[i].which] +=
            steps->kept[i].length > GOAL;
    printf("long steps, the shortest of their lengths in %u runs:\n",
           steps->run);
    for (uint32_t i = 0; i < PHASES_MAX && steps->names[i][0]; i++)
        for (uint32_t k = 0; k < WHICH_COUNT; k++)
            if (longest_of(steps, i, k)) {
                printf("             %-9s %-7s %6llu above 1 ms, the longest:\n",
                       steps->names[i], which_names[k],
                       (unsigned long long)above[i][k]);
                print_longest(steps, i, k);
            }
    if (steps->not_kept)
        printf("             and %llu that were not measured again\n",
               (unsigned long long)steps->not_kept);
}
