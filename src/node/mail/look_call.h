/* Describes a look of a program on its way from the driver to control and back (sherd/look.h). */
#ifndef SHERD_NODE_MAIL_LOOK_CALL_H
#define SHERD_NODE_MAIL_LOOK_CALL_H

#include "look/gather.h"
#include "node/node.h"

struct look_call {
    uint64_t number; /* of the driver */
    enum sherd_look_kind kind;
    struct buf type, shard, entity, cursor;
    struct address node; /* port 0: all */
    uint32_t order;
    uint32_t count;
    uint64_t since_ms;
    uint64_t within; /* ns */
    int result;      /* 0: the gather is done */
    struct gather *gather; /* null until it begins */
    void *driver;    /* the driver's own */
};

/* Checks options (null: the defaults). 0 or SHERD_EINVAL; then there is no call. */
int look_call_new(enum sherd_look_kind kind, const struct sherd_look_options *options,
                  struct look_call **call);
void look_call_free(struct look_call *call); /* null is fine */

#endif
