/* Describes an operation of a program on its way from the driver to control and back
 * (sherd/operate.h). */
#ifndef SHERD_NODE_MAIL_OPERATE_CALL_H
#define SHERD_NODE_MAIL_OPERATE_CALL_H

#include "node/node.h"
#include "shard/operation_wire.h"

struct operate_call {
    uint64_t number; /* of the driver */
    enum sherd_operation_kind kind;
    struct buf id, type, shard, by, reason;
    struct address node; /* port 0: this one */
    uint64_t within;     /* ns */
    uint64_t hold_ms;
    bool is_dry_run;
    void *driver; /* the driver's own */
    /* as it ended */
    int result; /* 0, or an error without an operation */
    enum sherd_operation_state state;
    enum sherd_operation_code code;
    struct buf text;
    struct node_id decider; /* port 0: nobody */
    uint64_t stall_us;
    /* at control */
    uint64_t deadline;
    uint64_t ask_at;
    uint64_t pause;
};

/* Checks options (null: the defaults). 0 or SHERD_EINVAL; then there is no call. */
int operate_call_new(enum sherd_operation_kind kind,
                     const struct sherd_operation_options *options, struct operate_call **call);
void operate_call_free(struct operate_call *call); /* null is fine */

#endif
