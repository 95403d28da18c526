/* Runs actors' jobs (sherd/job.h) on threads, in order of submission.
 *
 * The threads of uv_queue_work do not fit: they belong to the whole process, the environment sets
 * their number, and they block the end while a job runs. ACTOR_JOBS_MAX bounds jobs for each lane
 * where they are started.
 *
 * Called by host/system.c. host/file_watch.c has pools of one thread. */
#ifndef SHERD_HOST_POOL_H
#define SHERD_HOST_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "actor/job.h"

struct pool;

struct pool_options {
    uint32_t threads;
    const char *name; /* the threads', at most 5 bytes; null: "pool". A literal */
    uint64_t patience; /* ns, for running jobs in pool_close */
    /* Receives a finished job, given, on a thread of the pool. Not after pool_close returned. */
    void (*done)(void *context, struct job *job);
    /* Names a job that still runs when pool_close gives up. From pool_close. */
    void (*late)(void *context, const char *name, uint64_t running_ns);
    void *context;
};

/* Starts the threads. 0, or -1 if the system has none left. */
int pool_open(struct pool **pool, const struct pool_options *options);
void pool_submit(struct pool *pool, struct job *job); /* given; any thread, until pool_close */
/* Frees waiting jobs and waits for running ones. A job that does not end in time is passed to
 * `late` and left behind; its thread frees it later. Returns how many were not run. Null is
 * allowed. */
uint32_t pool_close(struct pool *pool);

#endif
