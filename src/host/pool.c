/* Runs jobs on worker threads with one queue, under one lock.
 *
 * A worker that is left behind holds the pool's memory, and nothing else of the system. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/check.h"
#include "base/limits.h"

struct worker {
    struct pool *pool;
    pthread_t thread;
    uint32_t number;
    struct job *job;     /* running; null: none */
    uint64_t started_at; /* of the job */
    bool is_left;        /* pool_close gave up, so it is not joined */
};

struct pool {
    struct pool_options options;
    pthread_mutex_t lock;   /* guards everything below, and the workers */
    pthread_cond_t filled;  /* a job waits, or the pool closes */
    pthread_cond_t settled; /* a worker has ended */
    struct job *first, *last; /* waiting jobs */
    bool closing;
    uint32_t running; /* threads that have not ended, except those left behind */
    uint32_t holders; /* owner and left threads: the last one frees the pool */
    uint32_t count;
    struct worker workers[];
};

static uint64_t clock_now(void)
{
    struct timespec now;

    check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void lock(struct pool *pool)
{
    check(pthread_mutex_lock(&pool->lock) == 0);
}

static void unlock(struct pool *pool)
{
    check(pthread_mutex_unlock(&pool->lock) == 0);
}

static void pool_free(struct pool *pool)
{
    check(pthread_mutex_destroy(&pool->lock) == 0);
    check(pthread_cond_destroy(&pool->filled) == 0);
    check(pthread_cond_destroy(&pool->settled) == 0);
    mem_free(pool);
}

/* Under the lock, which is free while the job runs. False: the worker was left behind. */
static bool run_one(struct worker *worker)
{
    struct pool *pool = worker->pool;
    struct job *job = pool->first;

    pool->first = job->next;
    job->next = NULL;
    worker->job = job;
    worker->started_at = clock_now();
    unlock(pool);
    job->face.run(job->arg);
    lock(pool);
    worker->job = NULL; /* from now on pool_close waits without limit */
    if (worker->is_left) {
        unlock(pool);
        job_free(job);
        lock(pool);
        return false;
    }
    unlock(pool);
    pool->options.done(pool->options.context, job);
    lock(pool);
    return true;
}

static void *run(void *argument)
{
    struct worker *worker = argument;
    struct pool *pool = worker->pool;
    char name[16];
    bool goes_on = true;
    bool is_last;

    (void)snprintf(name, sizeof name, "sherd-%.5s-%u",
                   pool->options.name ? pool->options.name : "pool",
                   (unsigned)worker->number % 1000); /* fits */
    (void)pthread_setname_np(pthread_self(), name);  /* only for debugging */
    lock(pool);
    while (goes_on && !pool->closing) {
        if (pool->first)
            goes_on = run_one(worker);
        else
            check(pthread_cond_wait(&pool->filled, &pool->lock) == 0);
    }
    if (!worker->is_left)
        pool->running--;
    is_last = worker->is_left && --pool->holders == 0;
    check(pthread_cond_broadcast(&pool->settled) == 0);
    unlock(pool);
    if (is_last)
        pool_free(pool);
    return NULL;
}

static void init_conditions(struct pool *pool)
{
    pthread_condattr_t attributes;

    check(pthread_mutex_init(&pool->lock, NULL) == 0);
    check(pthread_cond_init(&pool->filled, NULL) == 0);
    check(pthread_condattr_init(&attributes) == 0);
    check(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    check(pthread_cond_init(&pool->settled, &attributes) == 0);
    check(pthread_condattr_destroy(&attributes) == 0);
}

int pool_open(struct pool **opened, const struct pool_options *options)
{
    struct pool *pool = mem_alloc(sizeof *pool + options->threads *
                                                     sizeof pool->workers[0]);
    uint32_t started = 0;
    int fault = 0;

    check(options->threads > 0);
    *opened = NULL;
    pool->options = *options;
    pool->holders = 1;
    init_conditions(pool);
    lock(pool);
    for (; started < options->threads; started++) {
        struct worker *worker = &pool->workers[started];

        worker->pool = pool;
        worker->number = started + 1;
        fault = pthread_create(&worker->thread, NULL, run, worker);
        if (fault != 0)
            break;
    }
    pool->count = pool->running = started;
    unlock(pool);
    if (started < options->threads) {
        (void)pool_close(pool); /* no job was submitted */
        errno = fault;
        return -1;
    }
    *opened = pool;
    return 0;
}

void pool_submit(struct pool *pool, struct job *job)
{
    job->next = NULL;
    lock(pool);
    check(!pool->closing);
    if (pool->first)
        pool->last->next = job;
    else
        pool->first = job;
    pool->last = job;
    check(pthread_cond_signal(&pool->filled) == 0);
    unlock(pool);
}

static uint32_t free_waiting(struct job *job)
{
    uint32_t count = 0;

    while (job) {
        struct job *next = job->next;

        job_free(job);
        job = next;
        count++;
    }
    return count;
}

/* Under the lock. */
static void wait_for_all(struct pool *pool)
{
    uint64_t now = clock_now();
    uint64_t until = pool->options.patience < UINT64_MAX - now
                         ? now + pool->options.patience
                         : UINT64_MAX;
    struct timespec at = { .tv_sec = (time_t)(until / 1000000000),
                           .tv_nsec = (long)(until % 1000000000) };
    int result = 0;

    while (pool->running && result == 0)
        result = pthread_cond_timedwait(&pool->settled, &pool->lock, &at);
    for (uint32_t i = 0; i < pool->count; i++) {
        struct worker *worker = &pool->workers[i];

        if (!worker->job)
            continue;
        worker->is_left = true;
        pool->running--;
        pool->holders++;
        pool->options.late(pool->options.context,
                           worker->job->face.name ? worker->job->face.name
                                                  : "",
                           clock_now() - worker->started_at);
    }
    /* The remaining workers have finished their jobs. */
    while (pool->running)
        check(pthread_cond_wait(&pool->settled, &pool->lock) == 0);
}

uint32_t pool_close(struct pool *pool)
{
    struct job *waiting;
    uint32_t dropped;
    bool is_last;

    if (!pool)
        return 0;
    lock(pool);
    pool->closing = true;
    waiting = pool->first;
    pool->first = pool->last = NULL;
    check(pthread_cond_broadcast(&pool->filled) == 0);
    unlock(pool);
    dropped = free_waiting(waiting);
    lock(pool);
    wait_for_all(pool);
    unlock(pool);
    for (uint32_t i = 0; i < pool->count; i++) {
        struct worker *worker = &pool->workers[i];

        if (worker->is_left)
            check(pthread_detach(worker->thread) == 0);
        else
            check(pthread_join(worker->thread, NULL) == 0);
    }
    lock(pool);
    is_last = --pool->holders == 0;
    unlock(pool);
    if (is_last)
        pool_free(pool);
    return dropped;
}
