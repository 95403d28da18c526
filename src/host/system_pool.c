/* Connects a system to its pool: takes finished jobs back, and logs jobs that do not end. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "host/pool.h"
#include "host/thread.h"

static void job_done(void *context, struct job *job)
{
    struct thread *thread = system_thread(context, job->machine);

    inbox_put_job(&thread->inbox, job);
    thread_wake(thread);
}

static void job_late(void *context, const char *name, uint64_t running_ns)
{
    system_log(context, TRACE_WARNING, "host",
               "job still runs, left behind at the end job=\"%s\" seconds=%llu "
               "hint=\"raise pool.close-timeout, or end jobs sooner\"",
               name, (unsigned long long)(running_ns / 1000000000));
}

int system_pool_open(struct sherd_system *system)
{
    struct pool_options options = {
        .threads = system->settings.pool_threads,
        .patience = system->settings.pool_close_timeout,
        .done = job_done,
        .late = job_late,
        .context = system,
    };

    if (pool_open(&system->pool, &options) == 0)
        return 0;
    system_log(system, TRACE_ERROR, "host",
               "thread of the pool cannot start threads=%u reason=\"%s\" "
               "hint=\"check the limits of threads and memory\"",
               (unsigned)options.threads, strerror(errno));
    return SHERD_ESYSTEM;
}

void system_pool_close(struct sherd_system *system)
{
    uint32_t dropped = pool_close(system->pool);

    system->pool = NULL;
    if (dropped)
        system_log(system, TRACE_WARNING, "host",
                   "jobs not run: the node has ended jobs=%u "
                   "hint=\"wait for open jobs in a shutdown task\"",
                   (unsigned)dropped);
}
