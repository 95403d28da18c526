/* Encodes and decodes requests. */
#include "kvstore/request.h"

#include "base/hash.h"
#include "base/limits.h"

static bool is_call(enum kvstore_request kind)
{
    return kind == KVSTORE_GET || kind == KVSTORE_PUT || kind == KVSTORE_COORDINATE;
}

static bool is_put(enum kvstore_request kind)
{
    return kind == KVSTORE_PUT || kind == KVSTORE_COORDINATE;
}

static bool is_write(enum kvstore_request kind)
{
    return kind == KVSTORE_WRITE || kind == KVSTORE_CONFIRM;
}

void request_put(enum kvstore_request kind, const struct request *request,
                 struct buf *buf)
{
    if (is_call(kind)) {
        buf_put_u8(buf, (uint8_t)request->level);
        buf_put_u32(buf, request->timeout_ms);
    }
    buf_put_u8(buf, (uint8_t)request->key.size);
    buf_put_slice(buf, request->key);
    if (is_put(kind)) {
        buf_put_u8(buf, request->is_deletion);
        buf_put_u16(buf, (uint16_t)request->context.size);
        buf_put_slice(buf, request->context);
    }
    buf_put_slice(buf, request->rest);
}

static bool is_within_limits(enum kvstore_request kind,
                             const struct request *request)
{
    size_t rest_max = is_put(kind)     ? SHERD_STORE_VALUE_MAX
                      : is_write(kind) ? SHERD_BODY_MAX
                                       : 0;

    return request->level <= SHERD_STORE_REPLICAS_MAX &&
           request->timeout_ms <= KVSTORE_TIMEOUT_MS_MAX && request->key.size &&
           request->context.size <= KVSTORE_CONTEXT_SIZE_MAX &&
           request->rest.size <= (request->is_deletion ? 0 : rest_max);
}

bool request_get(enum kvstore_request kind, struct slice bytes,
                 struct request *request)
{
    struct cursor cursor = cursor_of(bytes);
    uint8_t flag = 0;

    *request = (struct request){ 0 };
    if (is_call(kind)) {
        request->level = cursor_u8(&cursor);
        request->timeout_ms = cursor_u32(&cursor);
    }
    request->key = cursor_slice(&cursor, cursor_u8(&cursor));
    if (is_put(kind)) {
        flag = cursor_u8(&cursor);
        request->is_deletion = flag;
        request->context = cursor_slice(&cursor, cursor_u16(&cursor));
    }
    request->rest = cursor_slice(&cursor, cursor_left(&cursor));
    return !cursor.failed && flag <= 1 && is_within_limits(kind, request);
}

/* ---- contexts ---- */

static uint64_t seal(struct slice key, struct slice clock)
{
    struct buf bytes = { 0 };
    uint64_t hash;

    buf_put_u8(&bytes, (uint8_t)key.size);
    buf_put_slice(&bytes, key);
    buf_put_slice(&bytes, clock);
    hash = hash_bytes(buf_slice(&bytes));
    buf_fini(&bytes);
    return hash;
}

void context_put(struct slice key, const struct history *history,
                 struct buf *buf)
{
    struct buf clock = { 0 };

    if (!history->entries.count)
        return;
    history_put(history, &clock);
    buf_put_u64(buf, seal(key, buf_slice(&clock)));
    buf_put_slice(buf, buf_slice(&clock));
    buf_fini(&clock);
}

bool context_get(struct slice key, struct slice bytes, struct history *history)
{
    struct cursor cursor = cursor_of(bytes);
    struct buf written = { 0 };
    bool is_one;

    history->entries.count = 0;
    if (!bytes.size)
        return true;
    (void)cursor_u64(&cursor);
    if (!history_get(&cursor, history))
        return false;
    context_put(key, history, &written);
    is_one = slice_equal(buf_slice(&written), bytes);
    buf_fini(&written);
    return is_one;
}
