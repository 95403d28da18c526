/* A job (sherd/job.h) on its way from its actor to the driver's pool, and back.
 *
 * The actor makes it; it leaves the lane's actors as a MESSAGE_JOB, held back like every effect, goes to the driver as a want of the
 * lane, and comes back to the lane when its function has returned. Whoever holds it when it cannot go on frees it. */
#ifndef SHERD_ACTOR_JOB_H
#define SHERD_ACTOR_JOB_H

#include <stdint.h>

#include <sherd/job.h>

struct job {
    struct job *next; /* whoever holds it links it */
    struct sherd_job face;
    void *arg;
    uint64_t actor;          /* whose it is */
    struct sherd_ref sender; /* of the message in whose handling it was started; nobody: there is none to answer */
    uint64_t ask;            /* the sender's number of the ask, 0 = none */
    uint32_t tag;
    uint32_t machine; /* the node's: where it comes back to */
};

void job_free(struct job *job); /* releases its argument; null is fine. Any thread */

#endif
