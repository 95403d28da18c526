/* Holds messages of an actor that it passes on later, oldest first. */
#ifndef SHERD_SERVICES_KEPT_QUEUE_H
#define SHERD_SERVICES_KEPT_QUEUE_H

#include "actor/services.h"
#include "base/vec.h"

/* Zero is an empty one without room. */
struct kept_queue {
    VEC(struct message *) items; /* those before `head` are gone */
    uint32_t head;
    uint32_t max;
    uint64_t bytes; /* of bodies */
    struct actors *actors; /* of the first message */
};

/* Keeps the message that is being handled. When there is no room, the oldest one ends as
 * SHERD_REASON_BUFFER_FULL; this one, if there is none. */
void kept_queue_put(struct kept_queue *queue, struct sherd_ctx *ctx);
/* Passes all on, in order. */
void kept_queue_send(struct kept_queue *queue, struct sherd_ctx *ctx, struct sherd_ref to);
void kept_queue_end(struct kept_queue *queue, struct sherd_ctx *ctx, enum sherd_reason reason);
/* Frees all without a notice. */
void kept_queue_fini(struct kept_queue *queue);

#endif
