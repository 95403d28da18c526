/* Reads and writes the messages of operations: O asks a node that decides, P reports the operation's
 * state. docs/protocol/operations.md describes them. */
#ifndef SHERD_SHARD_OPERATION_WIRE_H
#define SHERD_SHARD_OPERATION_WIRE_H

#include <sherd/operate.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "base/outbox.h"

/* All slices are lent. */
struct operation_request {
    enum sherd_operation_kind kind;
    struct slice id;
    struct slice type, shard;
    struct address node; /* port 0: none */
    struct slice by, reason;
    uint64_t within_ms;
    uint64_t hold_ms;
    bool is_dry_run;
};

struct operation_progress {
    struct slice id;
    enum sherd_operation_state state;
    enum sherd_operation_code code;
    struct slice text;
    uint64_t term; /* of the coordinator; 0: none decides */
    uint64_t stall_us;
};

/* Hashes of the last ids of operations that replace each other: a ring. */
struct operation_ids {
    uint64_t hashes[OPERATIONS_OF_CORDON_MAX]; /* 0: none */
    uint32_t count; /* of all so far */
};

void operation_ids_add(struct operation_ids *ids, struct slice id); /* unless it is known */
bool operation_ids_have(const struct operation_ids *ids, struct slice id);
bool operation_ids_end_with(const struct operation_ids *ids, struct slice id);

bool operation_id_is(struct slice id);
/* The node itself decides; else the coordinator of the type. */
static inline bool operation_is_of_node(enum sherd_operation_kind kind)
{
    return kind == SHERD_CORDON || kind == SHERD_UNCORDON || kind == SHERD_DRAIN;
}

static inline bool operation_is_final(enum sherd_operation_state state)
{
    return state >= SHERD_OPERATION_DONE;
}

void operation_request_put(struct buf *buf, const struct operation_request *request);
/* False: malformed, or a field breaks its limit. */
bool operation_request_read(struct slice payload, struct operation_request *request);
void operation_progress_put(struct buf *buf, const struct operation_progress *progress);
bool operation_progress_read(struct slice payload, struct operation_progress *progress);
/* Sends P to a node that asked. */
void operation_report(struct outbox *outbox, const struct node_id *to,
                      const struct operation_progress *progress);

#endif
