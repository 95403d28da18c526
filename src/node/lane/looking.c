/* Tells control of the shards of a type on this lane and of their entities, for a query. Each turn does
 * a part. */
#include "node/lane/lane.h"

#include "base/limits.h"

static void free_look(struct look *look)
{
    if (look->records)
        buf_fini(look->records);
    mem_free(look->records);
}

void lane_looks_fini(struct lane *lane)
{
    for (uint32_t i = 0; i < lane->looks.count; i++)
        free_look(&lane->looks.items[i]);
    vec_fini(&lane->looks);
}

void lane_look(struct lane *lane, const struct mail_content *content)
{
    struct look look = { .number = mail_look_of(content)->number,
                         .type = content->type,
                         .wants_ids = mail_look_of(content)->wants_ids };

    look.records = mem_alloc(sizeof *look.records);
    vec_push(&lane->looks, look); /* control has at most QUERIES_MAX open */
}

/* Appends the ids; without room for all of them the record says so. */
static uint32_t put_ids(struct lane *lane, struct look *look, int32_t shard)
{
    struct buf *records = look->records;
    size_t ids_at = records->size;
    uint32_t at = 0, count = 0;
    struct slice id;

    while (actors_shard_next_entity(lane->actors, (uint16_t)look->type, shard, &at, &id)) {
        count++;
        if (records->size + id.size + 4 > LOOK_BYTES_MAX) {
            records->size = ids_at;
            records->data[ids_at - 1] = LOOK_TOO_LARGE;
            return count;
        }
        buf_put_u32(records, (uint32_t)id.size);
        buf_put_slice(records, id);
    }
    return count;
}

/* Writes a record, and returns the number of entities that were walked. */
static uint32_t put_shard(struct lane *lane, struct look *look, int32_t shard)
{
    struct buf *records = look->records;

    buf_put_u32(records, (uint32_t)shard);
    buf_put_u32(records, actors_shard_entities(lane->actors, (uint16_t)look->type, shard));
    buf_put_u8(records, look->wants_ids ? LOOK_HAS_IDS : LOOK_COUNT);
    return look->wants_ids ? put_ids(lane, look, shard) : 0;
}

/* True: all shards are told. */
static bool look_on(struct lane *lane, struct look *look)
{
    const struct owned_shards *owned = &lane->types[look->type].owned;
    uint32_t places = 2 * owned->shard_count - 1;
    uint32_t entities = 0;

    while (look->index < places && entities < LOOK_ENTITIES_OF_TURN) {
        uint32_t index = look->index++;

        if (owned->count && owned->state[index] != OWNED_ABSENT)
            entities += put_shard(lane, look, (int32_t)index - (int32_t)owned->shard_count + 1);
    }
    return look->index >= places;
}

void lane_looks_step(struct lane *lane)
{
    struct look *look = &lane->looks.items[0];
    struct mail_content content;

    if (!look_on(lane, look))
        return;
    content = mail_from(
        lane->own, mail_for_type(look->type, MAIL(looked, .number = look->number,
                                                  .own = { look->records })));
    outputs_post(&lane->machine->outputs, 0, &content);
    vec_remove(&lane->looks, 0);
}
