/* The pool: threads that run jobs of actors (sherd/job.h), first come, first served.
 *
 * Threads of its own, not libuv's (uv_queue_work): those are one set for the whole process, of a size that only the environment says,
 * and nothing could end while one of them runs.
 *
 * The queue has no limit of its own: each lane's is ACTOR_JOBS_MAX, refused where a job is started.
 *
 * Who calls: host/system.c; the threads of a system submit. host/file_watch.c has pools of one thread, for its own. */
#ifndef SHERD_HOST_POOL_H
#define SHERD_HOST_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "actor/job.h"

struct pool;

struct pool_options {
    uint32_t threads;
    const char *name; /* of the threads, at most 5 bytes; null: "pool". A literal */
    uint64_t patience; /* ns that pool_close waits for what runs */
    /* A job whose function has returned; given. On a thread of the pool; not any more once pool_close has returned. */
    void (*done)(void *context, struct job *job);
    /* A job that still runs when pool_close gives up. From pool_close. */
    void (*late)(void *context, const char *name, uint64_t running_ns);
    void *context;
};

/* Starts the threads. 0, or -1 when the system has none left. */
int pool_open(struct pool **pool, const struct pool_options *options);
void pool_submit(struct pool *pool, struct job *job); /* given; any thread, until pool_close */
/* Frees the jobs that wait, without running them, and waits for those that run. One that does not end in time is named by `late` and
 * left behind: its thread frees it when it ends, and nobody is told. The result: how many were not run. Null is fine. */
uint32_t pool_close(struct pool *pool);

#endif
