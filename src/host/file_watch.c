/* Runs one job repeatedly on a pool of one thread. */
#define _GNU_SOURCE
#include "host/file_watch.h"

#include <uv.h>

#include "base/check.h"
#include "host/pool.h"

#define LATE_NS UINT64_C(5000000000)
#define PATIENCE_NS UINT64_C(2000000000)

struct file_watch {
    struct file_watch_options options;
    struct pool *pool;
    uv_mutex_t mutex; /* guards everything below */
    uv_cond_t ended;  /* a look ended, and none follows */
    struct job *idle; /* null: the pool has it */
    bool is_wanted;   /* another look follows */
    bool is_reported;     /* reported as late */
    bool closing;
    uint64_t began;
    bool is_left;
};

/* Under the mutex. */
static void start(struct file_watch *file_watch, struct job *job)
{
    file_watch->idle = NULL;
    file_watch->is_wanted = file_watch->is_reported = false;
    file_watch->began = uv_hrtime();
    pool_submit(file_watch->pool, job);
}

static void on_done(void *context, struct job *job)
{
    struct file_watch *file_watch = context;

    file_watch->options.done(file_watch->options.context, job->arg);
    uv_mutex_lock(&file_watch->mutex);
    if (file_watch->is_wanted && !file_watch->closing) {
        start(file_watch, job);
    } else {
        file_watch->idle = job;
        uv_cond_broadcast(&file_watch->ended);
    }
    uv_mutex_unlock(&file_watch->mutex);
}

static void on_late(void *context, const char *name, uint64_t running_ns)
{
    struct file_watch *file_watch = context;

    (void)name;
    (void)running_ns;
    file_watch->is_left = true;
}

static struct job *job_of(const struct file_watch_options *options, void *subject)
{
    struct job *job = mem_alloc(sizeof *job);

    job->face = (struct sherd_job){ options->name, options->run,
                                    options->release };
    job->arg = subject;
    return job;
}

struct file_watch *file_watch_open(const struct file_watch_options *options, void *subject)
{
    struct file_watch *file_watch = mem_alloc(sizeof *file_watch);
    struct pool_options pool = { .threads = 1,
                                 .name = options->name,
                                 .patience = PATIENCE_NS,
                                 .done = on_done,
                                 .late = on_late,
                                 .context = file_watch };

    file_watch->options = *options;
    file_watch->idle = job_of(options, subject);
    check(uv_mutex_init(&file_watch->mutex) == 0);
    check(uv_cond_init(&file_watch->ended) == 0);
    if (pool_open(&file_watch->pool, &pool) == 0)
        return file_watch;
    (void)file_watch_close(file_watch);
    return NULL;
}

void file_watch_ask(struct file_watch *file_watch)
{
    uv_mutex_lock(&file_watch->mutex);
    if (file_watch->idle)
        start(file_watch, file_watch->idle);
    else
        file_watch->is_wanted = true;
    uv_mutex_unlock(&file_watch->mutex);
}

bool file_watch_are_late(struct file_watch *file_watch)
{
    bool is_late;

    uv_mutex_lock(&file_watch->mutex);
    is_late = !file_watch->idle && !file_watch->is_reported &&
              uv_hrtime() - file_watch->began > LATE_NS;
    file_watch->is_reported |= is_late;
    uv_mutex_unlock(&file_watch->mutex);
    return is_late;
}

void file_watch_wait(struct file_watch *file_watch)
{
    uv_mutex_lock(&file_watch->mutex);
    while (!file_watch->idle)
        uv_cond_wait(&file_watch->ended, &file_watch->mutex);
    uv_mutex_unlock(&file_watch->mutex);
}

bool file_watch_close(struct file_watch *file_watch)
{
    bool is_left;

    if (!file_watch)
        return false;
    uv_mutex_lock(&file_watch->mutex);
    file_watch->closing = true;
    uv_mutex_unlock(&file_watch->mutex);
    (void)pool_close(file_watch->pool); /* frees a waiting job, leaves a running one behind */
    job_free(file_watch->idle);
    is_left = file_watch->is_left;
    uv_cond_destroy(&file_watch->ended);
    uv_mutex_destroy(&file_watch->mutex);
    mem_free(file_watch);
    return is_left;
}
