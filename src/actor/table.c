/* Maps (type, id) to an entity's slot. Open addressing with linear probes over cells of hash and
 * slot, so a miss touches no slot. Removal shifts back, so there are no tombstones. No decision
 * depends on its order. */
#include "actor/inside.h"

uint32_t entity_table_find(const struct actors *actors, uint16_t type, uint32_t key,
                    struct slice id)
{
    const struct table *table = &actors->table;
    uint16_t behavior = actors->types[type].behavior;

    if (!table->cells)
        return 0;
    for (uint32_t at = key & table->mask;; at = (at + 1) & table->mask) {
        uint64_t cell = table->cells[at];

        if (cell == 0)
            return 0;
        if ((uint32_t)(cell >> 32) == key) {
            const struct slot *slot = slot_at(actors, (uint32_t)cell);

            if (slot->behavior == behavior && slot->id_size == id.size &&
                memcmp(slot_id(slot).data, id.data, id.size) == 0)
                return (uint32_t)cell;
        }
    }
}

/* Returns the stage of the ask's message: queued, recovering, delivered, or none if too many other
 * messages are before it. */
static enum sherd_stage asked_stage(const struct slot *slot,
                                    struct sherd_ref sender, uint64_t ask)
{
    const struct message *message = slot->last;

    for (uint32_t i = 0; slot->last; i++) {
        if (i == ACTOR_LOOK_MAX)
            return SHERD_STAGE_NONE;
        message = message->next;
        if (message->ask == ask && message->kind == MESSAGE_TELL &&
            ref_equal(message->sender, sender))
            return slot->status == SLOT_RECOVERING ||
                           !slot_has_incarnation(slot)
                       ? SHERD_STAGE_RECOVERING
                       : SHERD_STAGE_QUEUED;
        if (message == slot->last)
            break;
    }
    return SHERD_STAGE_DELIVERED;
}

enum sherd_stage actors_asked_stage(const struct actors *actors, uint16_t type,
                                    uint64_t hash, struct sherd_ref sender,
                                    uint64_t ask)
{
    const struct table *table = &actors->table;
    uint32_t key = entity_table_key(type, hash);

    for (uint32_t at = key & table->mask; table->cells && table->cells[at];
         at = (at + 1) & table->mask) {
        const struct slot *slot;

        if ((uint32_t)(table->cells[at] >> 32) != key)
            continue;
        slot = slot_at(actors, (uint32_t)table->cells[at]);
        if (slot->behavior != actors->types[type].behavior ||
            hash_bytes(slot_id(slot)) != hash)
            continue;
        return asked_stage(slot, sender, ask);
    }
    return SHERD_STAGE_NONE;
}

static void put(struct table *table, uint64_t cell)
{
    uint32_t at = (uint32_t)(cell >> 32) & table->mask;

    while (table->cells[at])
        at = (at + 1) & table->mask;
    table->cells[at] = cell;
}

static void grow(struct actors *actors)
{
    struct table *table = &actors->table;
    uint32_t size = table->cells ? (table->mask + 1) * 2 : 1024;
    uint32_t old = table->cells ? table->mask + 1 : 0;
    uint64_t *cells = table->cells;

    table->cells = mem_alloc(size * sizeof *table->cells);
    table->mask = size - 1;
    for (uint32_t i = 0; i < old; i++)
        if (cells[i])
            put(table, cells[i]);
    mem_free(cells);
    actors->memory += (uint64_t)(size - old) * sizeof *cells;
}

void entity_table_put(struct actors *actors, uint32_t key, uint32_t index)
{
    struct table *table = &actors->table;

    /* At most 3/4 full. */
    if (!table->cells || table->count >= (table->mask + 1) / 4 * 3)
        grow(actors);
    put(table, (uint64_t)key << 32 | index);
    table->count++;
    table->puts++;
}

void entity_table_remove(struct actors *actors, uint32_t key, uint32_t index)
{
    struct table *table = &actors->table;
    uint64_t wanted = (uint64_t)key << 32 | index;
    uint32_t at = key & table->mask;
    uint32_t next;

    while (table->cells[at] != wanted) {
        check(table->cells[at] != 0);
        at = (at + 1) & table->mask;
    }
    for (next = (at + 1) & table->mask; table->cells[next];
         next = (next + 1) & table->mask) {
        uint32_t home = (uint32_t)(table->cells[next] >> 32) & table->mask;

        /* It may move back to `at` unless its home lies after `at`. */
        if (((next - home) & table->mask) >= ((next - at) & table->mask)) {
            table->cells[at] = table->cells[next];
            at = next;
        }
    }
    table->cells[at] = 0;
    table->count--;
}
