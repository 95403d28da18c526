/* Implements the store's public calls by messages to a broker. */
#include <sherd/store.h>

#include "base/limits.h"
#include "kvstore/broker.h"

#define GRACE_MS 500 /* in addition to the timeout */

static const struct sherd_store_level none;

SHERD_API int sherd_store_open(struct sherd_ctx *ctx,
                               const struct sherd_store_settings *settings,
                               struct sherd_ref *store)
{
    struct sherd_store_settings full;
    struct buf init = { 0 };

    *store = (struct sherd_ref){ 0, 0 };
    if (!broker_settings(settings, &full))
        return SHERD_EINVAL;
    broker_settings_put(&full, &init);
    *store = sherd_spawn(ctx, broker_behavior(),
                         (struct sherd_bytes){ init.data, init.size });
    buf_fini(&init);
    return store->actor || store->node ? 0 : SHERD_EFULL;
}

static int send(struct sherd_ctx *ctx, struct sherd_ref store,
                enum kvstore_request kind, const char *key,
                struct request *request, const struct sherd_store_level *level,
                uint32_t tag)
{
    struct buf body = { 0 };
    struct history history = { 0 };
    bool is_context;

    request->key = slice_text(key);
    is_context = context_get(request->key, request->context, &history);
    history_fini(&history);
    level = level ? level : &none;
    if (!request->key.size || request->key.size > SHERD_STORE_KEY_MAX ||
        request->context.size > KVSTORE_CONTEXT_SIZE_MAX || !is_context ||
        request->rest.size > SHERD_STORE_VALUE_MAX ||
        level->replicas > SHERD_STORE_REPLICAS_MAX ||
        level->timeout_ms > KVSTORE_TIMEOUT_MS_MAX)
        return SHERD_EINVAL;
    request->level = level->replicas;
    request->timeout_ms = (uint32_t)level->timeout_ms;
    request_put(kind, request, &body);
    sherd_ask(ctx, store, kind, (struct sherd_bytes){ body.data, body.size },
              tag,
              (level->timeout_ms ? level->timeout_ms : KVSTORE_TIMEOUT_MS_MAX) +
                  GRACE_MS);
    buf_fini(&body);
    return 0;
}

SHERD_API int sherd_store_get(struct sherd_ctx *ctx, struct sherd_ref store,
                              const char *key,
                              const struct sherd_store_level *level,
                              uint32_t tag)
{
    struct request request = { 0 };

    return send(ctx, store, KVSTORE_GET, key, &request, level, tag);
}

SHERD_API int sherd_store_put(struct sherd_ctx *ctx, struct sherd_ref store,
                              const char *key, struct sherd_bytes context,
                              struct sherd_bytes value,
                              const struct sherd_store_level *level,
                              uint32_t tag)
{
    struct request request = {
        .context = slice_of(context.data, context.size),
        .rest = slice_of(value.data, value.size),
    };

    return send(ctx, store, KVSTORE_PUT, key, &request, level, tag);
}

SHERD_API int sherd_store_delete(struct sherd_ctx *ctx, struct sherd_ref store,
                                 const char *key, struct sherd_bytes context,
                                 const struct sherd_store_level *level,
                                 uint32_t tag)
{
    struct request request = {
        .is_deletion = true,
        .context = slice_of(context.data, context.size),
    };

    return send(ctx, store, KVSTORE_PUT, key, &request, level, tag);
}

SHERD_API void sherd_store_status(struct sherd_ctx *ctx, struct sherd_ref store,
                                  uint32_t tag)
{
    sherd_ask(ctx, store, KVSTORE_STATUS, (struct sherd_bytes){ NULL, 0 }, tag,
              KVSTORE_TIMEOUT_MS);
}

/* ---- answers: replicas, size of the context, the context, and each value after its size ---- */

static struct cursor answer_of(const struct sherd_msg *msg, uint8_t *replicas,
                               struct slice *context)
{
    bool is_answer = msg->kind == SHERD_ANSWER &&
                     msg->msg >= SHERD_STORE_FOUND &&
                     msg->msg < SHERD_STORE_STATUS;
    struct cursor cursor =
        cursor_of(slice_of(msg->body.data, is_answer ? msg->body.size : 0));

    *replicas = cursor_u8(&cursor);
    *context = cursor_slice(&cursor, cursor_u16(&cursor));
    return cursor;
}

SHERD_API int sherd_store_next(const struct sherd_msg *msg, size_t *at,
                               struct sherd_bytes *value)
{
    uint8_t replicas;
    struct slice context, found;
    struct cursor cursor = answer_of(msg, &replicas, &context);

    (void)cursor_slice(&cursor, *at);
    if (cursor.failed || !cursor_left(&cursor))
        return 0;
    found = cursor_slice(&cursor, cursor_u32(&cursor));
    if (cursor.failed)
        return 0;
    *at += 4 + found.size;
    *value = (struct sherd_bytes){ found.data, found.size };
    return 1;
}

SHERD_API struct sherd_bytes sherd_store_context(const struct sherd_msg *msg)
{
    uint8_t replicas;
    struct slice context;

    (void)answer_of(msg, &replicas, &context);
    return (struct sherd_bytes){ context.data, context.size };
}

SHERD_API uint32_t sherd_store_replicas(const struct sherd_msg *msg)
{
    uint8_t replicas;
    struct slice context;

    (void)answer_of(msg, &replicas, &context);
    return replicas;
}

SHERD_API const char *sherd_store_counter_text(enum sherd_store_counter counter)
{
    static const char *const texts[] = {
#define X(name, text) text,
        SHERD_STORE_COUNTERS(X)
#undef X
    };

    return (unsigned)counter < SHERD_STORE_COUNTER_COUNT ? texts[counter]
                                                         : "unknown";
}

SHERD_API int sherd_store_counts(const struct sherd_msg *msg,
                                 uint64_t counts[SHERD_STORE_COUNTER_COUNT])
{
    struct cursor cursor =
        cursor_of(slice_of(msg->body.data, msg->body.size));

    if (msg->kind != SHERD_ANSWER || msg->msg != SHERD_STORE_STATUS)
        return 0;
    for (int i = 0; i < SHERD_STORE_COUNTER_COUNT; i++)
        counts[i] = cursor_u64(&cursor);
    return !cursor.failed;
}
