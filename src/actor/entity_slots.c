/* Keeps the slots of entities: in the table by type and id, and in the row of their shard. A row
 * lists the slots of a shard's entities. */
#include "actor/inside.h"

static void row_add(struct actors *actors, uint32_t row, uint32_t index,
                    struct slot *slot)
{
    struct row *here = &actors->rows.items[row];

    slot->row = row;
    slot->row_index = here->slots.count;
    vec_push(&here->slots, index);
}

void shard_row_free(struct actors *actors, uint32_t row)
{
    struct row *here = &actors->rows.items[row];
    struct type *type = &actors->types[here->type];

    check(here->slots.count == 0);
    if (here->state == ROW_STOPPING)
        actors->rows_stopping--;
    vec_fini(&here->slots);
    type->rows[here->shard + (int32_t)type->shards] = 0;
    here->state = ROW_FREE;
    actors->rows_free++;
}

void shard_row_empty(struct actors *actors, uint32_t row)
{
    struct row *here = &actors->rows.items[row];

    slot_news_put(actors, &(struct actors_news){
                              .kind = ACTORS_SHARD_EMPTY,
                              .values.shard = { .type = here->type, .number = here->shard } });
    shard_row_free(actors, row);
}

static void row_remove(struct actors *actors, struct slot *slot)
{
    struct row *here = &actors->rows.items[slot->row];
    uint32_t last = here->slots.items[--here->slots.count];

    /* The last one takes its place. */
    here->slots.items[slot->row_index] = last;
    slot_at(actors, last)->row_index = slot->row_index;
    if (here->slots.count == 0 && here->state == ROW_STOPPING &&
        here->deadline != 0)
        shard_row_empty(actors, slot->row);
}

uint32_t entity_make(struct actors *actors, uint16_t type, struct slice id,
                     uint32_t key, uint32_t row)
{
    uint16_t behavior = actors->types[type].behavior;
    uint32_t index = slot_new(actors);
    struct slot *slot;

    if (index == 0)
        return 0;
    slot = slot_at(actors, index);
    slot->behavior = behavior;
    slot->flags |= FLAG_ENTITY;
    if (behavior_of(actors, slot)->face.apply || behavior_of(actors, slot)->face.apply_checked)
        slot->flags |= FLAG_PERSISTENT;
    slot->id_size = (uint8_t)id.size;
    if (id.size > ID_INLINE)
        slot->far_id = mem_copy(id.data, id.size);
    else
        memcpy(slot->id, id.data, id.size);
    entity_table_put(actors, key, index);
    row_add(actors, row, index, slot);
    actors->counts.entities++;
    return index;
}

void entity_release(struct actors *actors, uint32_t index, struct slot *slot)
{
    struct slice id = slot_id(slot);
    uint16_t type = behavior_of(actors, slot)->type;

    check(!slot->last && slot->waiting == 0);
    entity_table_remove(actors, entity_table_key(type, hash_bytes(id)), index);
    if (slot->id_size > ID_INLINE)
        mem_free(slot->far_id);
    slot->id_size = 0;
    actors->counts.entities--;
    row_remove(actors, slot);
    slot_free(actors, index);
}
