/* Puts a job into a message, and takes it out where the message ends. */
#include "actor/job.h"

#include "actor/inside.h"

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

struct message *job_message(struct actors *actors, struct job *job,
                            enum message_kind kind)
{
    struct message *message =
        actors_message(actors, slice_of(&job, sizeof job));

    message->kind = (uint8_t)kind;
    message->sender = job->sender;
    message->ask = job->ask;
    return message;
}

struct job *actors_job_take(struct actors *actors, struct message *message)
{
    struct job *job = job_of(message);

    check(message->kind == MESSAGE_JOB);
    message_free(actors, message);
    return job;
}

bool job_notice(struct actors *actors, struct message *message,
                enum sherd_reason reason)
{
    actors->counts.jobs_open--;
    actors->counts.jobs_orphaned++;
    job_free(job_of(message));
    if (message->ask == 0 || actors->closed)
        return false;
    message->kind = MESSAGE_NO_ANSWER;
    message->reason = (uint8_t)reason;
    message->stage = SHERD_STAGE_DELIVERED;
    message->to = message->sender;
    message->sender = (struct sherd_ref){ 0, 0 };
    message->body_size = 0;
    return true;
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
