/* Turns the public calls of allocation (sherd/allocation.h) into effects of the running actor. */
#include <stdio.h>

#include <sherd/allocation.h>
#include <sherd/ddata.h>
#include <sherd/extractor.h>

#include "actor/allocation_call.h"
#include "actor/data_call.h"
#include "actor/inside.h"
#include "base/hash.h"
#include "base/limits.h"

#define KEY_PREFIX "external-sharding-" /* akka.cluster.sharding.external */
#define READ_TIME_MS 5000

SHERD_API int32_t sherd_shard_of(const char *id, uint32_t shards)
{
    return hash_shard(slice_text(id), shards);
}

static bool read_address(const struct sherd_ctx *ctx, const char *text,
                         struct address *address)
{
    const struct identity *identity = ctx->actors->settings.identity;

    return text && address_parse(address, text, identity->protocol,
                                 identity->system);
}

SHERD_API int sherd_allocation_answer(struct sherd_ctx *ctx,
                                      const struct sherd_allocation_choice *choice)
{
    struct address region;
    struct buf bytes = { 0 };

    if (choice->shard_count > ALLOCATION_MOVES_MAX ||
        (choice->address && !read_address(ctx, choice->address, &region)))
        return SHERD_EINVAL;
    allocation_call_put(&bytes, choice, choice->address ? &region : NULL);
    check(actors_call(ctx, DATA_ALLOCATION, 0, buf_slice(&bytes))); /* fits */
    buf_fini(&bytes);
    return 0;
}

/* ---- locations ---- */

/* Writes the key of a type's locations. */
static bool put_key(char key[SHERD_DATA_KEY_MAX + 1], const char *type)
{
    size_t size = type ? strlen(type) : 0;

    if (!size || size > SHERD_TYPE_MAX || !text_is_valid(slice_of(type, size)))
        return false;
    (void)snprintf(key, SHERD_DATA_KEY_MAX + 1, KEY_PREFIX "%s", type); /* fits */
    return true;
}

/* False: its text is none. */
static bool put_shard(char text[SHERD_SHARD_MAX + 1],
                      const struct sherd_shard_location *location)
{
    const char *id = location->shard_id;

    if (id && (!*id || strlen(id) > SHERD_SHARD_MAX || !text_is_valid(slice_text(id))))
        return false;
    if (id)
        (void)snprintf(text, SHERD_SHARD_MAX + 1, "%s", id); /* fits */
    else
        (void)snprintf(text, SHERD_SHARD_MAX + 1, "%d", (int)location->shard);
    return true;
}

/* The texts lie in one buffer, which grows: they are offsets at first. */
static bool put_locations(const struct sherd_ctx *ctx, struct buf *texts,
                          struct sherd_change *changes,
                          const struct sherd_shard_location *locations,
                          uint32_t count)
{
    const struct identity *identity = ctx->actors->settings.identity;
    char text[ADDRESS_TEXT_MAX];
    struct address address;
    size_t at = 0;

    for (uint32_t i = 0; i < count; i++) {
        char shard[SHERD_SHARD_MAX + 1];
        size_t before;

        if ((locations[i].address &&
             !read_address(ctx, locations[i].address, &address)) ||
            !put_shard(shard, &locations[i]))
            return false;
        changes[i].item = (struct sherd_item){ .kind = SHERD_ITEM_TEXT,
                                               .text.size = strlen(shard) };
        buf_put_text(texts, shard);
        changes[i].verb = locations[i].address ? SHERD_PUT : SHERD_REMOVE;
        if (!locations[i].address)
            continue;
        before = texts->size;
        buf_put_text(texts, identity->protocol);
        buf_put_text(texts, "://");
        buf_put_text(texts, identity->system);
        buf_put_u8(texts, '@');
        buf_put_text(texts, address_text(&address, text, sizeof text));
        changes[i].value =
            (struct sherd_item){ .kind = SHERD_ITEM_TEXT,
                                 .text.size = texts->size - before };
    }
    for (uint32_t i = 0; i < count; i++) {
        changes[i].item.text.data = texts->data + at;
        at += changes[i].item.text.size;
        changes[i].value.text.data = texts->data + at;
        at += changes[i].value.text.size;
    }
    return true;
}

SHERD_API int sherd_locations_set(struct sherd_ctx *ctx, const char *type,
                                  const struct sherd_shard_location *locations,
                                  uint32_t count, uint32_t tag)
{
    char key[SHERD_DATA_KEY_MAX + 1];
    struct sherd_change *changes;
    struct buf texts = { 0 };
    bool is_good;

    if (!put_key(key, type) || !count || count > DATA_CHANGES_MAX)
        return SHERD_EINVAL;
    changes = mem_alloc(count * sizeof *changes);
    is_good = put_locations(ctx, &texts, changes, locations, count);
    if (is_good)
        sherd_data_update(ctx, key, SHERD_LWW_MAP, changes, count, NULL, tag);
    buf_fini(&texts);
    mem_free(changes);
    return is_good ? 0 : SHERD_EINVAL;
}

SHERD_API int sherd_locations_get(struct sherd_ctx *ctx, const char *type,
                                  uint32_t tag)
{
    uint64_t time = ctx->actors->settings.locations_ms;
    struct sherd_consistency majority = { SHERD_MAJORITY, 0,
                                          time ? time : READ_TIME_MS };
    char key[SHERD_DATA_KEY_MAX + 1];

    if (!put_key(key, type))
        return SHERD_EINVAL;
    sherd_data_get(ctx, key, &majority, tag);
    return 0;
}
