/* Handles a lane's part of jobs (sherd/job.h): starts them, and delivers the results of the
 * driver. */
#include "actor/job.h"

#include "actor/inside.h"
#include "base/bound.h"

static struct job *job_new(const struct sherd_ctx *ctx,
                           const struct sherd_job *face, void *arg,
                           uint32_t tag)
{
    const struct message *asked = ctx->message;
    struct job *job = mem_alloc(sizeof *job);

    job->face = *face;
    job->arg = arg;
    job->actor = ctx->self.actor;
    job->tag = tag;
    if (asked && !ctx->answered &&
        (asked->kind == MESSAGE_TELL || asked->kind == MESSAGE_JOB_DONE)) {
        job->sender = asked->sender;
        job->ask = asked->ask;
    }
    return job;
}

SHERD_API int sherd_job_start(struct sherd_ctx *ctx,
                              const struct sherd_job *job, void *arg,
                              uint32_t tag)
{
    struct actors *actors = ctx->actors;
    struct slot *slot = ctx->slot;
    struct message *message;
    int error = 0;

    if (!job || !job->run)
        error = SHERD_EINVAL;
    else if (actors->counts.jobs_open >= ACTOR_JOBS_MAX ||
             slot->asks >= ACTOR_ASKS_OF_ONE_MAX)
        error = SHERD_EFULL;
    if (error) {
        actors->counts.jobs_refused += error == SHERD_EFULL;
        if (job && job->release)
            job->release(arg);
        return error;
    }
    actors->counts.jobs++;
    actors->counts.jobs_open++;
    BOUNDED("open jobs of a lane", actors->counts.jobs_open, ACTOR_JOBS_MAX);
    slot->asks++;
    message = job_message(actors, job_new(ctx, job, arg, tag), MESSAGE_JOB);
    message->to = MESSAGE_TO_NODE;
    effects_emit(actors, message);
    return 0;
}

void actors_job_done(struct actors *actors, struct job *job)
{
    struct slot *slot = slot_of(actors, job->actor);
    struct message *message = job_message(actors, job, MESSAGE_JOB_DONE);

    check(!actors->ctx.slot);
    if (!slot || !slot_has_incarnation(slot) || actors->closed) {
        mailbox_undelivered(actors, message, SHERD_REASON_STOPPED);
        return;
    }
    slot->asks--;
    /* Results ignore the mailbox limit: their number is limited by the jobs. */
    mailbox_put(actors, actor_id_slot(job->actor), slot, message);
}
