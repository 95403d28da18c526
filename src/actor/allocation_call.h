/* Writes an answer to a request for an allocation (sherd/allocation.h) as bytes on the caller's
 * thread, and reads it on control. The bytes never leave the process.
 *
 * u64 request | u8 host size (0: no region) | host | u16 port | u32 shards | i32 each. */
#ifndef SHERD_ACTOR_ALLOCATION_CALL_H
#define SHERD_ACTOR_ALLOCATION_CALL_H

#include <sherd/allocation.h>

#include "base/address.h"
#include "base/bytes.h"

struct allocation_call {
    uint64_t request;
    bool has_region;
    struct address region;
    int32_t *shards; /* owned */
    uint32_t shard_count;
};

/* region: the choice's address, read; or null. The choice has at most ALLOCATION_MOVES_MAX
 * shards. */
void allocation_call_put(struct buf *bytes,
                         const struct sherd_allocation_choice *choice,
                         const struct address *region);
void allocation_call_read(struct allocation_call *call, struct slice bytes);
void allocation_call_fini(struct allocation_call *call);

#endif
