/* Runs slow or blocking work of an actor, a job, on a pool of threads.
 *
 * A handler occupies its lane: no other actor of the lane runs meanwhile. Work
 * that computes for long or waits (a file, a database, another library) belongs
 * in a job. The actor gives the argument away; the library frees it by
 * `release`. Guide: docs/guide/entities-and-persistence.md; program:
 * examples/primes.c. */
#ifndef SHERD_JOB_H
#define SHERD_JOB_H

#include <sherd/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An example. The argument has what the work needs, and room for its result.
 *
 *   static const struct sherd_job hash = { "hash", hash_file, free };
 *
 *   case SHERD_MESSAGE:
 *       if (sherd_job_start(ctx, &hash, digest, TAG))
 *           sherd_reply(ctx, BUSY, nothing);          digest is freed already
 *       break;
 *   case SHERD_JOB:
 *       digest = sherd_job_arg(msg);                  as hash_file left it
 *       sherd_reply(ctx, DIGEST, digest->bytes);
 */

/* A kind of job. Copied; the functions and the name must stay valid as long as
 * the process, because a job may outlive sherd_close. */
struct sherd_job {
    /* For the log. May be null. */
    const char *name;
    /* Does the work. Required. It runs once, on a thread of the pool, and may
     * block. Only it uses arg until it returns. It must not use a ctx or the
     * state of the actor: these belong to the lane. */
    void (*run)(void *arg);
    /* Frees arg. May be null. It is called once, whatever happens to the job,
     * on any thread. */
    void (*release)(void *arg);
};

/* Starts a job of this actor. Exactly one SHERD_JOB with this tag follows, if
 * this incarnation still runs then.
 *
 * job: copied. arg: given away, also when the call fails.
 * tag: comes back with the SHERD_JOB; the actor chooses it.
 * Result: 0; SHERD_EFULL: see the limits; SHERD_EINVAL: no function to run.
 *
 * The message that is being handled can be answered at the end. The SHERD_JOB
 * has its sender, and sherd_reply answers it. This does not hold for a message
 * that was answered before the job was started. The first of two answers to an
 * ask counts.
 *
 * Jobs of one actor run at the same time and end in any order. The pool takes
 * them in the order of their start. If the actor is a persistent entity, the
 * job waits until the entity's events are durable. If they cannot be stored it
 * does not run, and the asker gets SHERD_REASON_NOT_STORED.
 *
 * A job belongs to this incarnation. After its end the job still runs, but no
 * SHERD_JOB follows (SHERD_JOBS_ORPHANED), and the asker gets
 * SHERD_REASON_STOPPED. An entity with open jobs is not passivated for
 * idleness. An entity that must wait for its jobs before its shard moves sets
 * stop_msg, and returns SHERD_STOP after the last one. The job itself may tell
 * its result to the entity: sherd_system_entity_tell may be called in `run`.
 *
 * At the end of the system waiting jobs do not run: see sherd_close.
 * Limits: 4,096 open jobs of a lane, 65,535 open asks and jobs of an actor;
 * then SHERD_EFULL, counted as SHERD_JOBS_REFUSED. The node's pool has
 * pool.threads (4) threads. */
SHERD_API SHERD_MUST_USE int sherd_job_start(struct sherd_ctx *ctx,
                                             const struct sherd_job *job,
                                             void *arg, uint32_t tag);

/* Returns the argument of the job that a SHERD_JOB is about, as `run` left it;
 * null for other messages. It is released after receive returns. The handler
 * may change it, to keep a part of it.
 * Threads: any, while the message is valid. */
SHERD_API void *sherd_job_arg(const struct sherd_msg *msg);

/* In the simulator (sherd/sim.h) jobs run one at a time, on the simulation's
 * thread, and end after a drawn time. There they must be deterministic. */

#ifdef __cplusplus
}
#endif

#endif
