#define _GNU_SOURCE
#include "sherd-sim-steps.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#define PARTS 8 /* kinds of lengths, for each power of two */
#define KINDS (PARTS * 40)
#define DISTURBED_MIN 50000 /* ns: whether something else came in between is asked of longer ones */
#define LONG_MIN 700000     /* ns: is kept, and looked at again in the next run */
#define GOAL 1000000        /* ns */
#define KEPT_MAX 100000
#define PHASES_MAX 16
#define NAME_SIZE 16

enum which { CONTROL, LANES, WHICH_COUNT };

static const char *const which_names[] = { "control", "lanes" };

struct tally {
    uint64_t count;
    uint64_t by_length[KINDS];
    uint64_t longest; /* ns */
};

struct kept {
    uint64_t at; /* the how manieth step of the run */
    uint64_t length; /* ns, the shortest so far */
    uint8_t phase;
    uint8_t which;
};

struct steps {
    struct tally of[WHICH_COUNT]; /* of the phase, in this run */
    uint64_t left_out;
    uint64_t began; /* ns of a real clock */
    long disturbed; /* how often the process had been, when last looked */
    uint64_t at;    /* steps of this run */
    uint32_t run;   /* 1 = first */
    uint32_t phase;
    uint32_t next; /* of kept: those before it were before `at` */
    uint32_t kept_count;
    uint64_t not_kept; /* there was no room */
    char names[PHASES_MAX][NAME_SIZE];
    struct kept kept[KEPT_MAX]; /* by at */
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
        (void)munmap(steps, sizeof *steps); /* cannot fail: it is a mapping */
}

static uint64_t real_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A clock of processor time would take longer than most steps do. */
static bool was_disturbed(struct steps *steps)
{
    struct rusage usage;
    long before = steps->disturbed;

    (void)getrusage(RUSAGE_SELF, &usage); /* cannot fail */
    steps->disturbed = usage.ru_nivcsw + usage.ru_nvcsw + usage.ru_minflt;
    return steps->disturbed != before;
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
    steps->left_out = steps->at = 0;
    steps->phase = steps->next = 0;
    steps->run++;
}

/* A step of the first run. */
static void keep(struct steps *steps, enum which which, uint64_t length)
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
                       .phase = (uint8_t)steps->phase,
                       .which = (uint8_t)which };
}

/* A step of a later run. */
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

static void step(void *user, uint32_t machine, bool begins)
{
    struct steps *steps = user;
    enum which which = machine != 0 ? LANES : CONTROL;
    struct tally *tally = &steps->of[which];
    uint64_t length;

    if (begins) {
        steps->began = real_now();
        return;
    }
    length = real_now() - steps->began;
    steps->at++;
    if (steps->run > 1)
        compare(steps, length);
    else
        keep(steps, which, length);
    if (length >= DISTURBED_MIN && was_disturbed(steps)) {
        steps->left_out++;
        return;
    }
    tally->count++;
    tally->by_length[kind_of(length)]++;
    if (length > tally->longest)
        tally->longest = length;
}

void steps_observe(struct steps *steps, struct world *world)
{
    struct world_observer observer = { .user = steps, .step = step };

    world_observe(world, &observer);
}

/* What one in a thousand exceeds, ns. */
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
        printf("             %-7s %10llu steps  p99.9 %8.1f us  longest %8.1f us\n",
               which_names[i], (unsigned long long)steps->of[i].count,
               (double)exceeded(&steps->of[i]) / 1e3,
               (double)steps->of[i].longest / 1e3);
    if (steps->run == 1)
        printf("             left out %llu\n",
               (unsigned long long)steps->left_out);
    memset(steps->of, 0, sizeof steps->of);
    steps->left_out = 0;
    (void)snprintf(steps->names[steps->phase], NAME_SIZE, "%s", phase);
    if (steps->phase + 1 < PHASES_MAX)
        steps->phase++;
}

void steps_print(const struct steps *steps)
{
    struct {
        uint64_t above;
        uint64_t longest;
    } of[PHASES_MAX][WHICH_COUNT] = { 0 };

    for (uint32_t i = 0; i < steps->kept_count; i++) {
        const struct kept *kept = &steps->kept[i];

        of[kept->phase][kept->which].above += kept->length > GOAL;
        if (kept->length > of[kept->phase][kept->which].longest)
            of[kept->phase][kept->which].longest = kept->length;
    }
    printf("long steps, the shortest of their lengths in %u runs:\n",
           steps->run);
    for (uint32_t i = 0; i < PHASES_MAX && steps->names[i][0]; i++)
        for (uint32_t k = 0; k < WHICH_COUNT; k++)
            if (of[i][k].longest)
                printf("             %-9s %-7s %6llu above 1 ms, longest %8.1f us\n",
                       steps->names[i], which_names[k],
                       (unsigned long long)of[i][k].above,
                       (double)of[i][k].longest / 1e3);
    if (steps->not_kept)
        printf("             and %llu of which no more is known\n",
               (unsigned long long)steps->not_kept);
}
