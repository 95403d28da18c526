/* Handles a lane's part of jobs (sherd/job.h): starts them, and delivers the results of the
 * driver. */
#include "actor/job.h"

#include "actor/inside.h"
#include "base/bound.h"

void job_free(struct job *job)
{
    if (job && job->face.release)
        job->face.release(job->arg);
    mem_free(job);
}

/* The body holds the job's address. */
static struct job *job_of(const struct message *message)
{
    struct job *job;

    check(message->body_size == sizeof job);
    memcpy(&job, message->data, sizeof job);
    return job;
}

static struct message *message_of(struct actors *actors, struct job *job,
                                  enum message_kind kind)
{
    struct message *message =
        actors_message(actors, slice_of(&job, sizeof job));

    message->kind = (uint8_t)kind;
    message->sender = job->sender;
    message->ask = job->ask;
    return message;
}

/* ---- start ---- */

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
    message = message_of(actors, job_new(ctx, job, arg, tag), MESSAGE_JOB);
    message->to = MESSAGE_TO_NODE;
    effects_emit(actors, message);
    return 0;
}

struct job *actors_job_take(struct actors *actors, struct message *message)
{
    struct job *job = job_of(message);

    check(message->kind == MESSAGE_JOB);
    message_free(actors, message);
    return job;
}

/* ---- end ---- */

void actors_job_done(struct actors *actors, struct job *job)
{
    struct slot *slot = slot_of(actors, job->actor);
    struct message *message = message_of(actors, job, MESSAGE_JOB_DONE);

    check(!actors->ctx.slot);
    if (!slot || !slot_has_incarnation(slot) || actors->closed) {
        job_orphaned(actors, message, SHERD_REASON_STOPPED);
        return;
    }
    slot->asks--;
    /* Results ignore the mailbox limit: their number is limited by the jobs. */
    mailbox_put(actors, actor_id_slot(job->actor), slot, message);
}

void job_orphaned(struct actors *actors, struct message *message,
                 enum sherd_reason reason)
{
    actors->counts.jobs_open--;
    actors->counts.jobs_orphaned++;
    job_free(job_of(message));
    if (message->ask == 0 || actors->closed) {
        message_free(actors, message);
        return;
    }
    message->kind = MESSAGE_NO_ANSWER;
    message->reason = (uint8_t)reason;
    message->stage = SHERD_STAGE_DELIVERED;
    message->to = message->sender;
    message->sender = (struct sherd_ref){ 0, 0 };
    message->body_size = 0;
    effects_route(actors, message);
}

struct job *job_result(const struct message *message, struct sherd_msg *msg)
{
    struct job *job = job_of(message);

    msg->tag = job->tag;
    msg->body = (struct sherd_bytes){ job->arg, 0 };
    return job;
}

void job_result_free(struct actors *actors, struct job *job)
{
    actors->counts.jobs_open--;
    actors->counts.jobs_heard++;
    job_free(job);
}

SHERD_API void *sherd_job_arg(const struct sherd_msg *msg)
{
    return msg->kind == SHERD_JOB ? (void *)(uintptr_t)msg->body.data : NULL;
}
