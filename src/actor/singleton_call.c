/* Writes calls of a singleton's keeper as bytes, and reads them. */
#include "actor/singleton_call.h"

#include "base/check.h"

static void put_text(struct buf *bytes, struct slice text)
{
    buf_put_u8(bytes, (uint8_t)text.size);
    buf_put_slice(bytes, text);
}

static struct slice text_of(struct cursor *cursor)
{
    return cursor_slice(cursor, cursor_u8(cursor));
}

void singleton_call_put(struct buf *bytes, const struct singleton_call *call)
{
    check(call->name.size <= UINT8_MAX && call->role.size <= UINT8_MAX &&
          call->center.size <= UINT8_MAX);
    buf_put_u8(bytes, (uint8_t)call->verb);
    buf_put_u64(bytes, call->instance);
    put_text(bytes, call->name);
    put_text(bytes, call->role);
    put_text(bytes, call->center);
    buf_put_u8(bytes, call->is_host);
    buf_put_u64(bytes, call->retry_ms);
    buf_put_u64(bytes, call->interval_ms);
    buf_put_u32(bytes, call->retries);
    buf_put_u32(bytes, call->lease);
    buf_put_u64(bytes, call->lease_retry_ms);
}

void singleton_call_read(struct singleton_call *call, struct slice bytes)
{
    struct cursor cursor = cursor_of(bytes);

    call->verb = (enum singleton_verb)cursor_u8(&cursor);
    call->instance = cursor_u64(&cursor);
    call->name = text_of(&cursor);
    call->role = text_of(&cursor);
    call->center = text_of(&cursor);
    call->is_host = cursor_u8(&cursor) != 0;
    call->retry_ms = cursor_u64(&cursor);
    call->interval_ms = cursor_u64(&cursor);
    call->retries = cursor_u32(&cursor);
    call->lease = cursor_u32(&cursor);
    call->lease_retry_ms = cursor_u64(&cursor);
    check(!cursor.failed);
}
