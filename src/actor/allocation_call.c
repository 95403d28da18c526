/* Writes answers to requests for allocations as bytes, and reads them. */
#include "actor/allocation_call.h"

#include "base/check.h"
#include "base/limits.h"

void allocation_call_put(struct buf *bytes,
                         const struct sherd_allocation_choice *choice,
                         const struct address *region)
{
    size_t size = region ? strlen(region->host) : 0;

    check(choice->shard_count <= ALLOCATION_MOVES_MAX);
    buf_put_u64(bytes, choice->request);
    buf_put_u8(bytes, (uint8_t)size);
    if (size)
        buf_put(bytes, region->host, size);
    buf_put_u16(bytes, region ? region->port : 0);
    buf_put_u32(bytes, choice->shard_count);
    for (uint32_t i = 0; i < choice->shard_count; i++)
        buf_put_u32(bytes, (uint32_t)choice->shards[i]);
}

void allocation_call_read(struct allocation_call *call, struct slice bytes)
{
    struct cursor cursor = cursor_of(bytes);
    struct slice host;
    uint16_t port;

    *call = (struct allocation_call){ .request = cursor_u64(&cursor) };
    host = cursor_slice(&cursor, cursor_u8(&cursor));
    port = cursor_u16(&cursor);
    call->has_region = host.size > 0;
    if (call->has_region)
        check(address_set(&call->region, (const char *)host.data, host.size, port));
    call->shard_count = cursor_u32(&cursor);
    call->shards = mem_alloc(call->shard_count * sizeof *call->shards);
    for (uint32_t i = 0; i < call->shard_count; i++)
        call->shards[i] = (int32_t)cursor_u32(&cursor);
    check(!cursor.failed);
}

void allocation_call_fini(struct allocation_call *call)
{
    mem_free(call->shards);
}
