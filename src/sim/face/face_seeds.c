/* Implements sherd_sim_seeds: runs a user's test for many seeds, and names the seed if a signal
 * ends the process. */
#define _GNU_SOURCE
#include "sim/face/face.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the running seed, for the signal handler ---- */

/* Signals by which a failing or hanging test ends. */
static const int endings[] = { SIGSEGV, SIGBUS, SIGFPE,  SIGILL,  SIGTRAP,
                               SIGABRT, SIGINT, SIGTERM, SIGQUIT, SIGALRM,
                               SIGXCPU };

#define ENDINGS (sizeof endings / sizeof *endings)
#define STACK_SIZE (64 * 1024) /* more than any CPU's signal frame */

static char running[64];        /* "seed 17: ended by signal "; global for the handler */
static char stack[STACK_SIZE];  /* in case the test has used up its own */

struct watch {
    struct sigaction former[ENDINGS];
    bool is_ours[ENDINGS];
    stack_t former_stack;
    bool has_stack;
    char outside[sizeof running]; /* of an outer sherd_sim_seeds */
};

static void say(const char *text, size_t size)
{
    (void)!write(STDERR_FILENO, text, size); /* no remedy */
}

/* Calls only async-signal-safe functions. The default action was set before, and the repeated
 * signal triggers it. */
static void name_the_seed(int signal_number)
{
    const char digits[] = { (char)('0' + signal_number / 10),
                            (char)('0' + signal_number % 10), '\n' };
    bool is_small = signal_number < 10;

    say(running, strlen(running));
    say(digits + is_small, sizeof digits - is_small);
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number);
}

/* Leaves signals that have a handler alone, such as those of sanitizers and test frameworks. */
static void watch_begin(struct watch *watch)
{
    const stack_t own = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction action;

    memset(watch, 0, sizeof *watch);
    memcpy(watch->outside, running, sizeof running);
    memset(&action, 0, sizeof action);
    action.sa_handler = name_the_seed;
    action.sa_flags = SA_ONSTACK;
    (void)sigemptyset(&action.sa_mask);
    if (!sigaltstack(NULL, &watch->former_stack) &&
        watch->former_stack.ss_flags & SS_DISABLE)
        watch->has_stack = !sigaltstack(&own, NULL);
    for (size_t i = 0; i < ENDINGS; i++)
        if (!sigaction(endings[i], NULL, &watch->former[i]) &&
            !(watch->former[i].sa_flags & SA_SIGINFO) &&
            watch->former[i].sa_handler == SIG_DFL)
            watch->is_ours[i] = !sigaction(endings[i], &action, NULL);
}

static void watch_end(const struct watch *watch)
{
    for (size_t i = 0; i < ENDINGS; i++)
        if (watch->is_ours[i])
            (void)sigaction(endings[i], &watch->former[i], NULL);
    if (watch->has_stack)
        (void)sigaltstack(&watch->former_stack, NULL);
    memcpy(running, watch->outside, sizeof running);
}

/* ---- seeds ---- */

/* Whether that seed fails; reports it. */
static bool fails(const struct sherd_sim_options *options, sherd_sim_test test,
                  void *arg)
{
    unsigned long long seed = options->seed;
    struct sherd_sim *sim;
    const char *broken;
    char time[TIME_TEXT_MAX];
    int error = sherd_sim_open(&sim, options);

    if (error) {
        (void)fprintf(stderr, "seed %llu: %s\n", seed, sherd_strerror(error));
        return true;
    }
    error = test(sim, arg);
    broken = sherd_sim_violation(sim);
    if (broken)
        (void)fprintf(stderr, "%s\n", broken);
    if (error)
        (void)fprintf(stderr, "seed %llu: the test returned %d at t=%s\n", seed,
                      error,
                      time_text(world_now(sim->world), time, sizeof time));
    sherd_sim_close(sim);
    return error || broken;
}

/* Whether no seed can run; reports it once. */
static bool is_refused(const struct sherd_sim_options *options, uint64_t first,
                       uint64_t last, sherd_sim_test test)
{
    char text[FACE_WRONG_MAX];

    if (first > last)
        (void)snprintf(text, sizeof text, "from %llu to %llu there is no seed",
                       (unsigned long long)first, (unsigned long long)last);
    else if (!options || !test)
        (void)snprintf(text, sizeof text, "%s is null",
                       options ? "test" : "options");
    else if (!face_wrong(options, text, sizeof text))
        return false;
    (void)fprintf(stderr, "sherd_sim_seeds: %s\n", text);
    return true;
}

uint64_t sherd_sim_seeds(const struct sherd_sim_options *options,
                         uint64_t first, uint64_t last, sherd_sim_test test,
                         void *arg)
{
    uint64_t seeds = first > last ? 0 : last - first + 1;
    struct sherd_sim_options own;
    uint64_t failed = 0;
    struct watch watch;

    if (is_refused(options, first, last, test)) {
        (void)fprintf(stderr, "0 passed, %llu failed\n",
                      (unsigned long long)(seeds ? seeds : 1));
        return seeds ? seeds : 1;
    }
    own = *options;
    watch_begin(&watch);
    for (uint64_t seed = first; seed <= last && seed >= first; seed++) {
        own.seed = seed;
        (void)snprintf(running, sizeof running, "seed %llu: ended by signal ",
                       (unsigned long long)seed);
        failed += fails(&own, test, arg);
    }
    watch_end(&watch);
    (void)fprintf(stderr, "%llu passed, %llu failed\n",
                  (unsigned long long)(seeds - failed),
                  (unsigned long long)failed);
    return failed;
}
