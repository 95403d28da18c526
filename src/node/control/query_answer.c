/* Implements query_answer.h. */
#include "node/control/query_answer.h"

#include <stdio.h>

#include "base/limits.h"
#include "node/mail/kinds.h"
#include "shard/shard_id.h"

void query_answer_fini(struct query_answer *answer)
{
    vec_fini(&answer->regions);
    vec_fini(&answer->shards);
    buf_fini(&answer->texts);
}

void query_answer_region(struct query_answer *answer, const struct address *address)
{
    vec_push(&answer->regions, *address);
}

static struct answer_shard *add_shard(struct query_answer *answer, struct slice id)
{
    struct answer_shard shard = {
        .region = answer->regions.count - 1,
        .id = answer->texts.size,
        .id_size = (uint32_t)id.size,
    };

    buf_put_slice(&answer->texts, id);
    buf_put_u8(&answer->texts, 0);
    vec_push(&answer->shards, shard);
    return &answer->shards.items[answer->shards.count - 1];
}

void query_answer_shard(struct query_answer *answer, struct slice shard, uint32_t count)
{
    add_shard(answer, shard)->count = count;
}

void query_answer_failed(struct query_answer *answer, struct slice shard)
{
    add_shard(answer, shard)->has_failed = true;
}

/* A record: the shard, its number of entities, whether ids follow, the ids. */
void query_answer_lane(struct query_answer *answer, const struct shard_names *names,
                       struct slice records)
{
    struct cursor cursor = cursor_of(records);
    char text[SHARD_TEXT_MAX];

    while (cursor_left(&cursor)) {
        int32_t number = (int32_t)cursor_u32(&cursor);
        uint32_t count = cursor_u32(&cursor);
        uint8_t ids = cursor_u8(&cursor); /* enum look_ids */
        struct answer_shard *shard = add_shard(answer, shard_name(names, number, text));

        shard->count = count;
        shard->has_failed = ids == LOOK_TOO_LARGE;
        shard->has_ids = ids == LOOK_HAS_IDS;
        for (uint32_t i = 0; shard->has_ids && i < count; i++) {
            uint32_t size = cursor_u32(&cursor);

            buf_put_u32(&answer->texts, size);
            buf_put_slice(&answer->texts, cursor_slice(&cursor, size));
            buf_put_u8(&answer->texts, 0);
        }
    }
    check(!cursor.failed);
}

void query_answer_cluster(struct query_answer *answer, const struct shard_message *message)
{
    for (uint32_t i = 0, at = 0; i < message->address_count; i++) {
        query_answer_region(answer, &message->addresses[i]);
        for (; at < message->stat_count && message->stats[at].region == i; at++) {
            const struct shard_count *count = &message->stats[at];

            if (count->value < 0)
                query_answer_failed(answer, count->key);
            else
                query_answer_shard(answer, count->key, (uint32_t)count->value);
        }
    }
}

static struct slice shard_id(const struct query_answer *answer, const struct answer_shard *shard)
{
    return slice_of(answer->texts.data + shard->id, shard->id_size);
}

static struct cursor ids_of(const struct query_answer *answer, const struct answer_shard *shard)
{
    size_t at = shard->id + shard->id_size + 1;

    return cursor_of(slice_of(answer->texts.data + at, answer->texts.size - at));
}

static struct slice next_id(struct cursor *ids)
{
    struct slice id = cursor_slice(ids, cursor_u32(ids));

    (void)cursor_u8(ids); /* the zero byte */
    return id;
}

/* ---- as a message ---- */

/* Protobuf's tags and lengths of an entity or a shard take less. */
#define ITEM_SIZE 16
#define STATE_SIZE_MAX (FRAME_SIZE_MAX - 16 * 1024) /* the rest of the frame: refs, manifest */

/* A message under construction. */
struct parts {
    VEC(struct shard_count) stats;
    VEC(struct shard_entity) entities;
    VEC(struct slice) failed;
    size_t size;
    uint32_t left_out;
};

/* Adds a shard with its ids; false: they do not fit. */
static bool put_ids(struct parts *parts, const struct query_answer *answer,
                    const struct answer_shard *shard)
{
    struct cursor ids = ids_of(answer, shard);
    struct slice id = shard_id(answer, shard);
    uint32_t before = parts->entities.count;
    size_t size = parts->size;

    if (!shard->count)
        vec_push(&parts->entities, ((struct shard_entity){ .shard = id }));
    for (uint32_t i = 0; i < shard->count; i++) {
        struct shard_entity entity = { id, next_id(&ids) };

        size += entity.entity.size + ITEM_SIZE;
        if (size > STATE_SIZE_MAX) {
            parts->entities.count = before;
            return false;
        }
        vec_push(&parts->entities, entity);
    }
    parts->size = size;
    return true;
}

static void put_shard(struct parts *parts, const struct query_answer *answer,
                      const struct answer_shard *shard, bool wants_ids)
{
    struct slice id = shard_id(answer, shard);
    struct shard_count count = { id, (int32_t)shard->count, 0 };

    parts->size += id.size + ITEM_SIZE;
    if (shard->has_failed) {
        vec_push(&parts->failed, id);
    } else if (!wants_ids) {
        vec_push(&parts->stats, count);
    } else if (!put_ids(parts, answer, shard)) {
        vec_push(&parts->failed, id);
        parts->left_out++;
    }
}

uint32_t query_answer_send(const struct query_answer *answer, enum shard_message_kind kind,
                           struct outbox *outbox, const struct node_id *to,
                           struct slice recipient, struct slice sender,
                           const struct identity *self)
{
    struct shard_message message = { .kind = kind };
    struct parts parts = { 0 };

    for (uint32_t i = 0; i < answer->shards.count; i++)
        put_shard(&parts, answer, &answer->shards.items[i], kind == SHARD_REGION_STATE);
    message.stats = parts.stats.items;
    message.stat_count = parts.stats.count;
    message.entities = parts.entities.items;
    message.entity_count = parts.entities.count;
    message.failed = parts.failed.items;
    message.failed_count = parts.failed.count;
    shard_message_send(outbox, to, recipient, sender, &message, self);
    vec_fini(&parts.stats);
    vec_fini(&parts.entities);
    vec_fini(&parts.failed);
    return parts.left_out;
}

/* ---- for a program ---- */

/* One block: regions, shards, pointers to ids, then the texts. */
struct layout {
    size_t shards, pointers, texts, size;
};

static struct layout layout_of(const struct query_answer *answer)
{
    size_t pointers = 0;
    struct layout layout;

    for (uint32_t i = 0; i < answer->shards.count; i++)
        pointers += answer->shards.items[i].has_ids ? answer->shards.items[i].count : 0;
    pointers += answer->shards.count; /* the failed ones */
    layout.shards = answer->regions.count * sizeof(struct sherd_region);
    layout.pointers = layout.shards + answer->shards.count * sizeof(struct sherd_shard);
    layout.texts = layout.pointers + pointers * sizeof(char *);
    layout.size = layout.texts + answer->texts.size;
    return layout;
}

/* Where the next parts of the block go. */
struct room {
    struct sherd_shard *shard;
    const char **pointer;
    const char *texts;
};

static void export_ids(const struct query_answer *answer, const struct answer_shard *shard,
                       struct room *room)
{
    struct cursor ids = ids_of(answer, shard);

    room->shard->entity_ids = room->pointer;
    for (uint32_t i = 0; i < shard->count; i++)
        *room->pointer++ = room->texts + (next_id(&ids).data - answer->texts.data);
}

/* Exports shards from index `at`, and returns the index after the region's last one. */
static uint32_t export_region(const struct query_answer *answer, uint32_t index, uint32_t at,
                              struct sherd_region *region, struct room *room)
{
    uint32_t end = at;

    (void)address_text(&answer->regions.items[index], region->address, sizeof region->address);
    region->shards = room->shard;
    for (; end < answer->shards.count && answer->shards.items[end].region == index; end++) {
        const struct answer_shard *shard = &answer->shards.items[end];

        if (shard->has_failed)
            continue;
        room->shard->id = room->texts + shard->id;
        room->shard->entity_count = shard->count;
        if (shard->has_ids)
            export_ids(answer, shard, room);
        room->shard++;
        region->shard_count++;
    }
    region->failed = room->pointer;
    for (uint32_t i = at; i < end; i++) {
        if (!answer->shards.items[i].has_failed)
            continue;
        *room->pointer++ = room->texts + answer->shards.items[i].id;
        region->failed_count++;
    }
    return end;
}

void query_answer_export(const struct query_answer *answer, struct sherd_regions *regions)
{
    struct layout layout = layout_of(answer);
    uint8_t *block = mem_alloc(layout.size ? layout.size : 1);
    struct room room = { (struct sherd_shard *)(void *)(block + layout.shards),
                         (const char **)(void *)(block + layout.pointers),
                         (const char *)block + layout.texts };
    uint32_t at = 0;

    if (answer->texts.size)
        memcpy(block + layout.texts, answer->texts.data, answer->texts.size);
    regions->memory = block;
    regions->regions = (struct sherd_region *)(void *)block;
    regions->region_count = answer->regions.count;
    for (uint32_t i = 0; i < answer->regions.count; i++)
        at = export_region(answer, i, at, &regions->regions[i], &room);
}
