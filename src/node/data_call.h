/* Encodes a call of distributed data (sherd/ddata.h) on its way from an actor's lane to control.
 *
 * u8 level | u32 members | u64 timeout, ns | u8 key size | key | u8 type | u16 changes, each: u8
 * verb | i64 amount | u8 inside | item | value;
 * an item: u8 kind | i64 number | u32 size | bytes.
 * A call for keys: u32 offset. The bytes do not leave the process. */
#ifndef SHERD_NODE_DATA_CALL_H
#define SHERD_NODE_DATA_CALL_H

#include <sherd/ddata.h>

#include "base/bytes.h"
#include "ddata/replicator.h"

enum data_verb {
    /* read for a new subscriber: the result is reported as a change, a missing key not at all */
    DATA_GET,
    DATA_UPDATE,
    DATA_DELETE,
    DATA_RELEASE,
    DATA_FOLLOW,
    DATA_KEYS
};

struct data_call {
    struct consistency consistency;
    struct slice key;
    enum sherd_data_type type;
    struct sherd_change *changes; /* owned; they point into the bytes */
    uint32_t count;
    uint32_t from; /* for DATA_KEYS, which has no other field */
};

/* Returns false if sherd/ddata.h does not allow the key, the consistency or the number of changes.
 * consistency null: local. */
bool data_call_put(struct buf *bytes, const char *key,
                   const struct sherd_consistency *consistency,
                   enum sherd_data_type type,
                   const struct sherd_change *changes, uint32_t count);
/* bytes: of data_call_put, or of DATA_KEYS; lent as long as the call. */
void data_call_read(struct data_call *call, enum data_verb verb,
                    struct slice bytes);
void data_call_fini(struct data_call *call);

#endif
