/* Runs the thread that checks a journal, and paces it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host/backend_checker.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/check.h"
#include "host/backend_damage.h"

#define SECOND UINT64_C(1000000000)
#define SHARE 3 /* a step's time that follows it as a pause */

struct backend_checker {
    struct backend_checker_options options;
    char *path;
    char *cluster;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool stopping; /* under the lock */
};

static uint64_t clock_now(void)
{
    struct timespec now;

    check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* False: it is to stop. */
static bool sleep_for(struct backend_checker *checker, uint64_t time)
{
    uint64_t end = clock_now() + time;
    struct timespec until = { (time_t)(end / SECOND), (long)(end % SECOND) };
    bool goes_on;
    int result = 0;

    check(pthread_mutex_lock(&checker->lock) == 0);
    while (!checker->stopping && result != ETIMEDOUT) {
        result = pthread_cond_timedwait(&checker->stopped, &checker->lock, &until);
        check(result == 0 || result == ETIMEDOUT);
    }
    goes_on = !checker->stopping;
    check(pthread_mutex_unlock(&checker->lock) == 0);
    return goes_on;
}

/* False: it is to stop. */
static bool run_steps(struct backend_checker *checker, void *store,
                      struct backend_check *found)
{
    bool goes_on = true;

    while (goes_on && !found->is_over) {
        uint64_t began = clock_now();
        uint64_t pause, least;

        checker->options.ops->check_step(store, found);
        pause = (clock_now() - began) * SHARE;
        least = found->is_waiting
                    ? SECOND
                    : found->bytes * SECOND / checker->options.rate;
        goes_on = sleep_for(checker, pause > least ? pause : least);
    }
    return goes_on;
}

static bool run_pass(struct backend_checker *checker)
{
    const struct backend_ops *ops = checker->options.ops;
    struct backend_check found = { .bytes = 0 };
    void *store = ops->open(&checker->options.store, BACKEND_CHECKER, found.error);
    bool goes_on = true;

    if (store) {
        goes_on = run_steps(checker, store, &found);
        ops->close(store);
    }
    found.damaged = backend_damage_list(checker->options.store.damage, NULL, 0);
    if (goes_on && checker->options.done)
        checker->options.done(checker->options.context, &found);
    return goes_on;
}

static void *run(void *argument)
{
    struct backend_checker *checker = argument;

    (void)pthread_setname_np(pthread_self(), "sherd-check"); /* only for debugging */
    while (run_pass(checker) && sleep_for(checker, checker->options.interval))
        ;
    return NULL;
}

static void free_checker(struct backend_checker *checker)
{
    check(pthread_mutex_destroy(&checker->lock) == 0);
    check(pthread_cond_destroy(&checker->stopped) == 0);
    mem_free(checker->path);
    mem_free(checker->cluster);
    mem_free(checker);
}

struct backend_checker *
backend_checker_start(const struct backend_checker_options *options)
{
    struct backend_checker *checker = mem_alloc(sizeof *checker);
    pthread_condattr_t monotonic;

    checker->options = *options;
    checker->options.store.path = checker->path = mem_text(options->store.path);
    checker->options.store.cluster = checker->cluster =
        mem_text(options->store.cluster);
    check(pthread_mutex_init(&checker->lock, NULL) == 0);
    check(pthread_condattr_init(&monotonic) == 0);
    check(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
    check(pthread_cond_init(&checker->stopped, &monotonic) == 0);
    check(pthread_condattr_destroy(&monotonic) == 0);
    if (pthread_create(&checker->thread, NULL, run, checker) == 0)
        return checker;
    free_checker(checker);
    return NULL;
}

void backend_checker_stop(struct backend_checker *checker)
{
    if (!checker)
        return;
    check(pthread_mutex_lock(&checker->lock) == 0);
    checker->stopping = true;
    check(pthread_cond_signal(&checker->stopped) == 0);
    check(pthread_mutex_unlock(&checker->lock) == 0);
    check(pthread_join(checker->thread, NULL) == 0);
    free_checker(checker);
}
