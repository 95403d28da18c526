/* Jobs: slow or blocking work of an actor, done by a pool of threads while the actor and its neighbours go on.
 *
 * A handler runs on its lane, and while it runs no other actor of the lane does. What computes for long, or waits (a file, a
 * database, another library), belongs in a job: a function and its argument, given in the handler. The function runs once, on a
 * thread of the pool, never on a lane, and its end comes back as a message to the same actor:
 *
 *   struct digest *digest = malloc(sizeof *digest);     what it needs, and where its result goes
 *   ...
 *   if (sherd_job_start(ctx, &hash, digest, TAG))        hash: { "hash", hash_file, free }
 *       sherd_reply(ctx, BUSY, nothing);                 too many jobs are open; digest is freed
 *   ...
 *   case SHERD_JOB:
 *       digest = sherd_job_arg(msg);                     as hash_file left it; freed behind this call
 *       sherd_reply(ctx, DIGEST, ...);
 *
 * That message is still the one to answer in whose handling the job was started: its sender is the SHERD_JOB's, and sherd_reply
 * there answers it, unless it had its answer when the job was started; of two answers to an ask the first one counts. So an actor
 * that is asked for something slow starts a job, handles what comes meanwhile, and replies when the job is done.
 *
 * A job belongs to the incarnation that started it, as an ask does. When that has ended (passivation, hand-off, failure,
 * sherd_stop) the job is still run to its end, but nobody hears of it: it is counted as SHERD_JOBS_UNHEARD, and who asked gets
 * SHERD_NO_ANSWER with SHERD_REASON_STOPPED. Jobs that have not begun when the system ends are not run: see sherd_close.
 *
 * An entity with open jobs is not passivated for idleness; one that must hear of them before its shard moves has a stop message, and
 * returns SHERD_STOP when the last one is back. A result for whoever is the entity by then the job tells to (type, id) itself:
 * sherd_system_entity_tell may be called on the pool's threads.
 *
 * Jobs of one actor run at the same time and end in any order. The pool takes them first come, first served; its size is the
 * setting pool.threads (4), for the whole node. Under the simulator (sherd/sim.h) jobs run one at a time, after a drawn time;
 * there they must be deterministic, as entities are, and their functions are called on the simulation's thread. */
#ifndef SHERD_JOB_H
#define SHERD_JOB_H

#include <sherd/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A kind of job. Copied; the functions and the name must live as long as the process: see sherd_close. */
struct sherd_job {
    const char *name; /* for the log; may be null */
    /* Does the work, on a thread of the pool; it may block. arg is its own until it returns: nobody else looks at it, and what it
     * writes there the actor reads. No ctx and no state of the actor: those are the lane's. Required. */
    void (*run)(void *arg);
    /* Frees arg: once, whatever becomes of the job, on any thread. May be null. */
    void (*release)(void *arg);
};

/* Starts a job of the running actor: exactly one SHERD_JOB with this tag comes back, if this incarnation is still there. arg is
 * given, also when the result is not 0. A persistent entity's job waits until everything that it has persisted is durable, and is
 * released without having run if that cannot be stored: who asked hears SHERD_REASON_NOT_STORED. SHERD_EFULL: 4,096 jobs of this lane's actors are open, or 65,535 asks
 * and jobs of this one; counted as SHERD_JOBS_REFUSED. SHERD_EINVAL: there is no function to run. */
SHERD_API SHERD_MUST_USE int sherd_job_start(struct sherd_ctx *ctx,
                                             const struct sherd_job *job,
                                             void *arg, uint32_t tag);
/* The argument of the job that a SHERD_JOB tells of, as its function left it. Lent until receive returns, and to be changed: what
 * is taken out of it is not released with it. Null for other messages. */
SHERD_API void *sherd_job_arg(const struct sherd_msg *msg);

#ifdef __cplusplus
}
#endif

#endif
