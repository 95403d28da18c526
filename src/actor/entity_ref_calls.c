/* Sends to entities that references name (sherd/entity_ref.h), from inside an actor. */
#include <stdio.h>

#include "actor/entity_ref.h"
#include "actor/inside.h"

/* A name as sherd_entity_tell takes it. */
struct full_name {
    char text[2 * (SHERD_TYPE_MAX + 1)];
};

/* The node's own data center has no part in the names of its types. */
static const char *name_of(const struct sherd_ctx *ctx,
                           const struct sherd_entity_ref *ref,
                           struct full_name *name)
{
    const char *own = ctx->actors->settings.data_center;

    if (!ref->data_center[0] || (own && strcmp(ref->data_center, own) == 0))
        return ref->type;
    (void)snprintf(name->text, sizeof name->text, "%.*s@%.*s", SHERD_TYPE_MAX,
                   ref->type, SHERD_TYPE_MAX, ref->data_center); /* fits */
    return name->text;
}

SHERD_API int sherd_entity_ref_self(const struct sherd_ctx *ctx,
                                    struct sherd_entity_ref *ref)
{
    const struct slot *slot = ctx->slot;
    struct slice id = slot_id(slot);
    char text[SHERD_ID_MAX + 1];

    if (!(slot->flags & FLAG_ENTITY)) {
        memset(ref, 0, sizeof *ref);
        return SHERD_EINVAL;
    }
    memcpy(text, id.data, id.size);
    text[id.size] = 0;
    return sherd_entity_ref_make(ref, slot_type(ctx->actors, slot), text,
                                 ctx->actors->settings.data_center);
}

SHERD_API void sherd_entity_ref_tell(struct sherd_ctx *ctx,
                                     const struct sherd_entity_ref *ref,
                                     uint32_t msg, struct sherd_bytes body)
{
    struct full_name name;

    sherd_entity_tell(ctx, name_of(ctx, ref, &name), ref->id, msg, body);
}

SHERD_API void sherd_entity_ref_ask(struct sherd_ctx *ctx,
                                    const struct sherd_entity_ref *ref,
                                    uint32_t msg, struct sherd_bytes body,
                                    uint32_t tag, uint64_t timeout_ms)
{
    struct full_name name;

    sherd_entity_ask(ctx, name_of(ctx, ref, &name), ref->id, msg, body, tag,
                     timeout_ms);
}

SHERD_API void sherd_entity_ref_ask_or_fail(struct sherd_ctx *ctx,
                                            const struct sherd_entity_ref *ref,
                                            uint32_t msg,
                                            struct sherd_bytes body,
                                            uint32_t tag, uint64_t timeout_ms)
{
    struct full_name name;

    sherd_entity_ask_or_fail(ctx, name_of(ctx, ref, &name), ref->id, msg, body,
                             tag, timeout_ms);
}
