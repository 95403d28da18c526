/* One job on a pool of one thread, over and over. */
#define _GNU_SOURCE
#include "host/looks.h"

#include <uv.h>

#include "base/check.h"
#include "host/pool.h"

#define LATE_NS UINT64_C(5000000000)
#define PATIENCE_NS UINT64_C(2000000000)

struct looks {
    struct looks_options options;
    struct pool *pool;
    uv_mutex_t mutex; /* of everything below */
    uv_cond_t ended;  /* a look, and none follows */
    struct job *idle; /* null: the pool has it */
    bool is_wanted;   /* once more */
    bool is_told;     /* that it is late */
    bool closing;
    uint64_t began;
    bool is_left;
};

/* Under the mutex. */
static void start(struct looks *looks, struct job *job)
{
    looks->idle = NULL;
    looks->is_wanted = looks->is_told = false;
    looks->began = uv_hrtime();
    pool_submit(looks->pool, job);
}

static void on_done(void *context, struct job *job)
{
    struct looks *looks = context;

    looks->options.done(looks->options.context, job->arg);
    uv_mutex_lock(&looks->mutex);
    if (looks->is_wanted && !looks->closing) {
        start(looks, job);
    } else {
        looks->idle = job;
        uv_cond_broadcast(&looks->ended);
    }
    uv_mutex_unlock(&looks->mutex);
}

static void on_late(void *context, const char *name, uint64_t running_ns)
{
    struct looks *looks = context;

    (void)name;
    (void)running_ns;
    looks->is_left = true;
}

static struct job *job_of(const struct looks_options *options, void *subject)
{
    struct job *job = mem_alloc(sizeof *job);

    job->face = (struct sherd_job){ options->name, options->run,
                                    options->release };
    job->arg = subject;
    return job;
}

struct looks *looks_open(const struct looks_options *options, void *subject)
{
    struct looks *looks = mem_alloc(sizeof *looks);
    struct pool_options pool = { .threads = 1,
                                 .name = options->name,
                                 .patience = PATIENCE_NS,
                                 .done = on_done,
                                 .late = on_late,
                                 .context = looks };

    looks->options = *options;
    looks->idle = job_of(options, subject);
    check(uv_mutex_init(&looks->mutex) == 0);
    check(uv_cond_init(&looks->ended) == 0);
    if (pool_open(&looks->pool, &pool) == 0)
        return looks;
    (void)looks_close(looks); /* none is under way */
    return NULL;
}

void looks_ask(struct looks *looks)
{
    uv_mutex_lock(&looks->mutex);
    if (looks->idle)
        start(looks, looks->idle);
    else
        looks->is_wanted = true;
    uv_mutex_unlock(&looks->mutex);
}

bool looks_are_late(struct looks *looks)
{
    bool is_late;

    uv_mutex_lock(&looks->mutex);
    is_late = !looks->idle && !looks->is_told &&
              uv_hrtime() - looks->began > LATE_NS;
    looks->is_told |= is_late;
    uv_mutex_unlock(&looks->mutex);
    return is_late;
}

void looks_wait(struct looks *looks)
{
    uv_mutex_lock(&looks->mutex);
    while (!looks->idle)
        uv_cond_wait(&looks->ended, &looks->mutex);
    uv_mutex_unlock(&looks->mutex);
}

bool looks_close(struct looks *looks)
{
    bool is_left;

    if (!looks)
        return false;
    uv_mutex_lock(&looks->mutex);
    looks->closing = true;
    uv_mutex_unlock(&looks->mutex);
    (void)pool_close(looks->pool); /* frees a job that has not begun, or leaves it behind */
    job_free(looks->idle);
    is_left = looks->is_left;
    uv_cond_destroy(&looks->ended);
    uv_mutex_destroy(&looks->mutex);
    mem_free(looks);
    return is_left;
}
