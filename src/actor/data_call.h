/* Writes a call of distributed data (sherd/ddata.h) as bytes on the actor's lane, and reads it on
 * control.
 *
 * u8 level | u32 members | u64 timeout, ms | u8 key size | key | u8 type | u16 changes, each:
 * u8 verb | i64 amount | u8 inside | item | value;
 * an item: u8 kind | i64 number | u32 size | bytes.
 * A call for keys has one field: u32 from. The bytes never leave the process. */
#ifndef SHERD_ACTOR_DATA_CALL_H
#define SHERD_ACTOR_DATA_CALL_H

#include <sherd/ddata.h>

#include "base/bytes.h"

enum data_verb {
    DATA_GET,
    DATA_UPDATE,
    DATA_DELETE,
    DATA_RELEASE,
    DATA_FOLLOW, /* reads the key for a new subscriber, which hears only of a value */
    DATA_KEYS,
    DATA_ALLOCATION, /* no data: an answer to a coordinator here (allocation_call.h) */
    DATA_SINGLETON   /* no data: a call of a singleton's keeper (singleton_call.h) */
};

struct data_call {
    struct sherd_consistency consistency;
    struct slice key;
    enum sherd_data_type type;
    struct sherd_change *changes; /* owned; their texts lie in the bytes */
    uint32_t count;
    uint32_t from; /* the only field of DATA_KEYS */
};

/* Writes a call. Returns false if sherd/ddata.h does not allow the key, the consistency or the
 * changes. A null consistency means local. */
bool data_call_put(struct buf *bytes, const char *key,
                   const struct sherd_consistency *consistency,
                   enum sherd_data_type type,
                   const struct sherd_change *changes, uint32_t count);
/* Reads the bytes of data_call_put or of a DATA_KEYS call. The call points into the bytes. */
void data_call_read(struct data_call *call, enum data_verb verb,
                    struct slice bytes);
void data_call_fini(struct data_call *call);

#endif
