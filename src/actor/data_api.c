/* Turns the public calls of distributed data into effects of the running actor. */
#include <sherd/ddata.h>

#include "actor/actors.h"
#include "actor/data_call.h"
#include "base/check.h"

static void leave(struct sherd_ctx *ctx, enum data_verb verb, const char *key,
                  enum sherd_data_type type, const struct sherd_change *changes,
                  uint32_t count, const struct sherd_consistency *consistency,
                  uint32_t tag)
{
    struct buf bytes = { 0 };

    if (!data_call_put(&bytes, key, consistency, type, changes, count) ||
        !actors_call(ctx, verb, tag, buf_slice(&bytes)))
        actors_call_refused(ctx, SHERD_DATA_REFUSED, tag,
                            key ? slice_of(key, strlen(key) + 1)
                                : slice_of("", 1));
    buf_fini(&bytes);
}

SHERD_API void sherd_data_get(struct sherd_ctx *ctx, const char *key,
                              const struct sherd_consistency *consistency,
                              uint32_t tag)
{
    leave(ctx, DATA_GET, key, SHERD_FLAG, NULL, 0, consistency, tag);
}

SHERD_API void sherd_data_update(struct sherd_ctx *ctx, const char *key,
                                 enum sherd_data_type type,
                                 const struct sherd_change *changes,
                                 uint32_t count,
                                 const struct sherd_consistency *consistency,
                                 uint32_t tag)
{
    leave(ctx, DATA_UPDATE, key, type, changes, count, consistency, tag);
}

SHERD_API void sherd_data_delete(struct sherd_ctx *ctx, const char *key,
                                 const struct sherd_consistency *consistency,
                                 uint32_t tag)
{
    leave(ctx, DATA_DELETE, key, SHERD_FLAG, NULL, 0, consistency, tag);
}

SHERD_API void sherd_data_release(struct sherd_ctx *ctx, const char *key,
                                  uint32_t tag)
{
    leave(ctx, DATA_RELEASE, key, SHERD_FLAG, NULL, 0, NULL, tag);
}

SHERD_API void sherd_data_keys(struct sherd_ctx *ctx, uint32_t from,
                               uint32_t tag)
{
    struct buf bytes = { 0 };

    buf_put_u32(&bytes, from);
    check(actors_call(ctx, DATA_KEYS, tag, buf_slice(&bytes))); /* fits */
    buf_fini(&bytes);
}
