/* A call of distributed data (sherd/ddata.h) on its way from an actor's lane to control: as bytes, and as read.
 *
 * u8 level | u32 members | u64 timeout, ns | u8 key size | key | u8 type | u16 changes, each: u8 verb | i64 amount |
 * u8 inside | item | value;
 * an item: u8 kind | i64 number | u32 size | bytes. A call for keys: u32 from where. It does not leave the process. */
#ifndef SHERD_NODE_DATA_CALL_H
#define SHERD_NODE_DATA_CALL_H

#include <sherd/ddata.h>

#include "base/bytes.h"
#include "ddata/replicator.h"

enum data_verb {
    DATA_GET,
    DATA_UPDATE,
    DATA_DELETE,
    DATA_RELEASE,
    DATA_FOLLOW, /* a look for one who follows the key: what it finds is told as a change, and nothing as nothing */
    DATA_KEYS
};

struct data_call {
    struct consistency consistency;
    struct slice key;
    enum sherd_data_type type;
    struct sherd_change *changes; /* owned; what they point to lies in the bytes */
    uint32_t count;
    uint32_t from; /* of DATA_KEYS, which has nothing else */
};

/* False: the key, the consistency or the number of changes is not one that sherd/ddata.h allows. consistency null: local. */
bool data_call_put(struct buf *bytes, const char *key,
                   const struct sherd_consistency *consistency,
                   enum sherd_data_type type,
                   const struct sherd_change *changes, uint32_t count);
/* bytes: of data_call_put, or of DATA_KEYS; lent as long as the call. */
void data_call_read(struct data_call *call, enum data_verb verb,
                    struct slice bytes);
void data_call_fini(struct data_call *call);

#endif
