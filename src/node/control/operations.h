/* Carries out this node's operations (sherd/operate.h): asks the node that decides until each has
 * ended. Also decides operations about this node, and passes others to a coordinator here.
 * docs/protocol/operations.md describes the frames. */
#ifndef SHERD_NODE_CONTROL_OPERATIONS_H
#define SHERD_NODE_CONTROL_OPERATIONS_H

#include "base/outbox.h"
#include "base/vec.h"

struct control;
struct operate_call;

/* Zero has none. */
struct operations {
    VEC(struct operate_call *) open; /* at most OPERATIONS_MAX */
    uint64_t numbers; /* of ids that this node made */
    uint64_t refused; /* at that limit */
};

void operations_fini(struct control *control);
void operations_begin(struct control *control, struct operate_call *call); /* given */
bool operations_is_frame(const struct inbound *inbound);
void operations_receive(struct control *control, const struct inbound *inbound);
void operations_step(struct control *control);
uint64_t operations_deadline(const struct control *control);

/* ---- operations_serve.c ---- */
/* Answers a request of any node, this one included. */
void operations_serve(struct control *control, const struct inbound *inbound);

#endif
