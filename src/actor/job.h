/* Carries a job (sherd/job.h) from its actor to the driver's pool and back.
 *
 * The actor makes it. It leaves the lane's actors as a MESSAGE_JOB once its cause is durable, and
 * reaches the driver as a request of the lane. It returns to the lane when its function has
 * returned. The holder frees a job that cannot go on. */
#ifndef SHERD_ACTOR_JOB_H
#define SHERD_ACTOR_JOB_H

#include <stdint.h>

#include <sherd/job.h>

struct job {
    struct job *next; /* for the list of its holder */
    struct sherd_job face;
    void *arg;
    uint64_t actor;          /* its owner */
    /* the sender of the message whose handler started it; nobody: there is no asker */
    struct sherd_ref sender;
    uint64_t ask;            /* the sender's number of the ask, 0 = none */
    uint32_t tag;
    uint32_t machine; /* the node's: where it returns to */
};

void job_free(struct job *job); /* releases its argument; null is allowed. Any thread */

#endif
