/* Gathers this node's looks from all members, and answers requests of other nodes' looks with what
 * control knows; other requests go to a lane. docs/protocol/looks.md describes the frames. */
#ifndef SHERD_NODE_CONTROL_LOOKS_H
#define SHERD_NODE_CONTROL_LOOKS_H

#include "base/outbox.h"
#include "base/vec.h"
#include "look/wire.h"
#include "node/mail/mail.h"

struct control;
struct look_call;

/* Zero has none. */
struct looks {
    VEC(struct look_call *) open; /* at most LOOKS_MAX */
    uint64_t requests; /* the id of the last one */
    uint64_t refused;  /* at that limit */
};

void looks_fini(struct control *control);
void looks_mail(struct control *control, struct mail_content *content); /* MAIL_LOOK_CALL, _CANCEL, _REPLY */
bool looks_is_frame(const struct inbound *inbound);
void looks_receive(struct control *control, const struct inbound *inbound);
void looks_member_gone(struct control *control, uint64_t uid);
void looks_step(struct control *control);
uint64_t looks_deadline(const struct control *control);

/* ---- look_serve.c ---- */
/* Answers a request of any node, this one included, or passes it to the lane of its cursor. */
void looks_serve(struct control *control, const struct inbound *inbound);

#endif
