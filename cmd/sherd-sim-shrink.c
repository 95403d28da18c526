/* Searches for a smaller run that breaks the same rule: an earlier end, fewer faults, fewer nodes,
 * default settings. Each attempt runs in its own process. */
#define _GNU_SOURCE
#include "sherd-sim.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/timers.h"
#include "sim/run/child.h"
#include "sim/faults/nemesis.h"

#define INVARIANT_MAX 32
#define TRY_CPU_S 120 /* a longer attempt hangs */

struct attempt {
    struct run_result result;
    struct last_words words;
};

struct shrinker {
    double end;
    struct attempt *attempt; /* the last one, shared with its process */
    /* the rule to keep broken; "crash" if the process dies, "hang" if it takes too long */
    char invariant[INVARIANT_MAX];
    char line[VERDICT_LINE_MAX]; /* of the smallest run so far */
    struct options options;
    struct schedule schedule;
    uint64_t tries;
};

static double seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool is_late(const struct shrinker *shrinker)
{
    return stop_signal() || seconds() >= shrinker->end;
}

/* Takes the invariant from a violation's line, after "inv=". */
static void take_invariant(const char *line, char invariant[INVARIANT_MAX])
{
    const char *at = strstr(line, "inv=");
    size_t size = at ? strcspn(at + 4, " ") : 0;

    if (size >= INVARIANT_MAX)
        size = INVARIANT_MAX - 1;
    if (at)
        memcpy(invariant, at + 4, size);
    invariant[size] = 0;
}

static void run_child(const struct options *options,
                      const struct schedule *schedule,
                      struct attempt *attempt)
{
    const struct rlimit no_core = { 0, 0 };
    const struct run_settings settings = { .options = options,
                                           .schedule = schedule,
                                           .stops_at_violation = true,
                                           .place = &attempt->words.place };

    stop_ignore();
    words_keep(&attempt->words, TRY_CPU_S);
    (void)setrlimit(RLIMIT_CORE, &no_core); /* attempts may die */
    run_seed(&settings, &attempt->result);
    _exit(0);
}

/* Returns the broken invariant, or "". */
static void try(struct shrinker *shrinker, const struct options *options,
                const struct schedule *schedule,
                char invariant[INVARIANT_MAX])
{
    int status;
    pid_t process;

    shrinker->tries++;
    memset(shrinker->attempt, 0, sizeof *shrinker->attempt);
    process = child_fork();
    if (!process)
        run_child(options, schedule, shrinker->attempt);
    stop_worker(0, process);
    while (waitpid(process, &status, 0) != process)
        check(errno == EINTR);
    stop_worker(0, 0);
    if (stop_signal()) {
        *invariant = 0; /* a signal ended it, so it shows nothing */
        return;
    }
    if (WIFEXITED(status)) {
        take_invariant(shrinker->attempt->result.lines[0], invariant);
        return;
    }
    words_line(&shrinker->attempt->words, options->seed, status,
               shrinker->attempt->result.lines[0], VERDICT_LINE_MAX);
    (void)strcpy(invariant, WTERMSIG(status) == SIGXCPU ||
                                    WTERMSIG(status) == SIGKILL
                                ? "hang"
                                : "crash");
}

/* Keeps the attempt if it breaks the same rule. */
static bool keep(struct shrinker *shrinker, const struct options *options,
                 const struct schedule *schedule)
{
    char invariant[INVARIANT_MAX];

    if (is_late(shrinker))
        return false;
    try(shrinker, options, schedule, invariant);
    if (strcmp(invariant, shrinker->invariant) != 0)
        return false;
    (void)snprintf(shrinker->line, sizeof shrinker->line, "%s",
                   shrinker->attempt->result.lines[0]);
    return true;
}

/* ---- an earlier end ---- */

/* Drops faults after the end, too. */
static void copy_until(const struct schedule *schedule, uint64_t end,
                       struct schedule *copy)
{
    for (uint32_t i = 0; i < schedule->faults.count; i++)
        if (schedule->faults.items[i].at <= end)
            schedule_add(copy, fault_copy(&schedule->faults.items[i]));
}

static bool try_length(struct shrinker *shrinker, uint64_t length)
{
    struct options options = shrinker->options;
    struct schedule schedule = { { 0 } };

    options.value[OPTION_LENGTH] = length;
    copy_until(&shrinker->schedule, length * SECOND, &schedule);
    if (!keep(shrinker, &options, &schedule)) {
        schedule_fini(&schedule);
        return false;
    }
    schedule_fini(&shrinker->schedule);
    shrinker->schedule = schedule;
    shrinker->options = options;
    return true;
}

static bool shrink_end(struct shrinker *shrinker)
{
    uint64_t low = 0, high = shrinker->options.value[OPTION_LENGTH];
    uint64_t before = high;

    while (high - low > 1 && !is_late(shrinker)) {
        uint64_t middle = low + (high - low) / 2;

        if (try_length(shrinker, middle))
            high = middle;
        else
            low = middle;
    }
    return high < before;
}

/* ---- fewer faults: Zeller's delta debugging, which removes ever smaller parts ---- */

static bool try_without(struct shrinker *shrinker, uint32_t from,
                        uint32_t count)
{
    struct schedule schedule = { { 0 } };

    for (uint32_t i = 0; i < shrinker->schedule.faults.count; i++)
        if (i < from || i >= from + count)
            schedule_add(&schedule,
                         fault_copy(&shrinker->schedule.faults.items[i]));
    if (!keep(shrinker, &shrinker->options, &schedule)) {
        schedule_fini(&schedule);
        return false;
    }
    schedule_fini(&shrinker->schedule);
    shrinker->schedule = schedule;
    return true;
}

static bool shrink_schedule(struct shrinker *shrinker)
{
    uint32_t before = shrinker->schedule.faults.count;
    uint32_t part = before;

    while (part > 0 && !is_late(shrinker)) {
        for (uint32_t at = 0; at < shrinker->schedule.faults.count;)
            if (!try_without(shrinker, at, part))
                at += part;
        part /= 2;
    }
    return shrinker->schedule.faults.count < before;
}

/* ---- the options ---- */

static bool try_option(struct shrinker *shrinker, enum sim_option option,
                       uint64_t value)
{
    struct options options = shrinker->options;
    struct schedule schedule = { { 0 } };

    if (options.value[option] == value)
        return false;
    options.value[option] = value;
    copy_until(&shrinker->schedule, UINT64_MAX, &schedule);
    schedule_clip(&schedule, (uint32_t)options.value[OPTION_NODES]);
    if (!keep(shrinker, &options, &schedule)) {
        schedule_fini(&schedule);
        return false;
    }
    schedule_fini(&shrinker->schedule);
    shrinker->schedule = schedule;
    shrinker->options = options;
    return true;
}

static bool shrink_nodes(struct shrinker *shrinker)
{
    uint64_t before = shrinker->options.value[OPTION_NODES];

    for (uint64_t nodes = before / 2; nodes > 0; nodes /= 2) {
        uint64_t now = shrinker->options.value[OPTION_NODES];

        if (now > nodes)
            while (try_option(shrinker, OPTION_NODES, now - nodes) &&
                   (now = shrinker->options.value[OPTION_NODES]) > nodes)
                ;
    }
    return shrinker->options.value[OPTION_NODES] < before;
}

static bool shrink_options(struct shrinker *shrinker)
{
    bool any = false;

    for (int i = OPTION_LENGTH + 1; i < OPTION_COUNT; i++)
        any |= try_option(shrinker, (enum sim_option)i,
                          option_default((enum sim_option)i));
    for (uint64_t load = 1; load < shrinker->options.value[OPTION_LOAD];
         load *= 3)
        any |= try_option(shrinker, OPTION_LOAD, load);
    return any;
}

/* ---- the search ---- */

/* Resets options that only decide which faults are drawn. A fault's length stays, because bounds
 * depend on it. */
static void forget_draws(struct options *options)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_is_fault((enum sim_option)i))
            options->value[i] = option_default((enum sim_option)i);
    options->value[OPTION_FAULTS] = option_default(OPTION_FAULTS);
}

static void shrink(struct shrinker *shrinker)
{
    bool any = true;

    while (any && !is_late(shrinker)) {
        any = shrink_end(shrinker);
        any |= shrink_schedule(shrinker);
        any |= shrink_nodes(shrinker);
        any |= shrink_options(shrinker);
    }
}

static int print_smallest(const struct command *command,
                          struct shrinker *shrinker)
{
    struct buf text = { 0 };
    char name[64];
    const char *path = command->out;

    if (!path) {
        (void)snprintf(name, sizeof name, "%llu.case",
                       (unsigned long long)shrinker->options.seed);
        path = name;
    }
    if (!case_write(path, &shrinker->options, &shrinker->schedule,
                    shrinker->line))
        return EXIT_USAGE;
    case_put_replay(&text, shrinker->options.seed, path);
    printf("%s | %.*s", shrinker->line, (int)text.size,
           (const char *)text.data);
    buf_clear(&text);
    schedule_put(&shrinker->schedule, &text);
    printf("%.*s", (int)text.size, (const char *)text.data);
    printf("%llu nodes, %u faults, %llu s, after %llu tries%s\n",
           (unsigned long long)shrinker->options.value[OPTION_NODES],
           shrinker->schedule.faults.count,
           (unsigned long long)shrinker->options.value[OPTION_LENGTH],
           (unsigned long long)shrinker->tries,
           stop_signal()       ? "; stopped by a signal"
           : is_late(shrinker) ? "; the budget is used up"
                               : "");
    buf_fini(&text);
    return 1;
}

static int shrink_case(const struct command *command,
                       struct shrinker *shrinker)
{
    forget_draws(&shrinker->options);
    shrinker->end = seconds() + (double)command->budget;
    try(shrinker, &shrinker->options, &shrinker->schedule,
        shrinker->invariant);
    if (stop_signal()) {
        printf("stopped by a signal before anything was known\n");
        return 128 + stop_signal();
    }
    if (!*shrinker->invariant) {
        printf("seed %llu breaks no rule\n",
               (unsigned long long)shrinker->options.seed);
        return 0;
    }
    (void)snprintf(shrinker->line, sizeof shrinker->line, "%s",
                   shrinker->attempt->result.lines[0]);
    shrink(shrinker);
    return print_smallest(command, shrinker);
}

int command_shrink(const struct command *command)
{
    struct shrinker shrinker = { 0 };
    int status = read_case(command, &shrinker.options, &shrinker.schedule);

    if (status)
        return status;
    shrinker.attempt = shared_new(sizeof *shrinker.attempt);
    stop_watch();
    status = shrink_case(command, &shrinker);
    shared_free(shrinker.attempt, sizeof *shrinker.attempt);
    schedule_fini(&shrinker.schedule);
    return status;
}
