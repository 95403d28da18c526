/* Keeps the contents, versions and advertisements of compression tables. */
#include "artery/table.h"

#include "artery/packed.h"
#include "artery/unique_address.h"
#include "base/check.h"
#include "base/hash.h"

void table_fini(struct table *table)
{
    mem_free(table->ends);
    *table = (struct table){0};
}

/* Open-addressed: 0 = free, else a text's index plus one. */
static uint16_t *slots_of(const struct table *table)
{
    return (uint16_t *)(table->ends + table->count);
}

static struct slice text_at(const struct table *table, uint32_t index)
{
    uint32_t start = index ? table->ends[index - 1] : 0;
    const uint16_t *bytes = slots_of(table) + table->slot_count;

    return slice_of((const uint8_t *)bytes + start,
                    table->ends[index] - start);
}

/* The text's slot, or a free one for it. */
static uint16_t *find(const struct table *table, struct slice text)
{
    uint16_t *slots = slots_of(table);
    uint32_t mask = table->slot_count - 1;
    uint32_t at = (uint32_t)hash_bytes(text) & mask;

    while (slots[at] && !slice_equal(text_at(table, slots[at] - 1u), text))
        at = (at + 1) & mask;
    return &slots[at];
}

void table_set(struct table *table, uint8_t version, const struct slice *texts,
               uint32_t count)
{
    struct table made = { .version = version, .slot_count = 2 };
    uint32_t end = 0;
    size_t size = 0;

    made.count = count < TABLE_ENTRIES_MAX ? count : TABLE_ENTRIES_MAX;
    while (made.slot_count < made.count * 3 / 2)
        made.slot_count *= 2;
    for (uint32_t i = 0; i < made.count; i++)
        size += texts[i].size;
    check(size <= UINT32_MAX);
    made.ends = mem_alloc(made.count * sizeof *made.ends +
                          made.slot_count * sizeof(uint16_t) + size);
    for (uint32_t i = 0; i < made.count; i++) {
        uint16_t *bytes = slots_of(&made) + made.slot_count;
        uint16_t *slot;

        if (texts[i].size)
            memcpy((uint8_t *)bytes + end, texts[i].data, texts[i].size);
        made.ends[i] = end += (uint32_t)texts[i].size;
        slot = find(&made, texts[i]);
        if (!*slot)
            *slot = (uint16_t)(i + 1);
    }
    table_fini(table); /* not before: texts may be its own */
    *table = made;
}

int32_t table_index(const struct table *table, struct slice text)
{
    return table->count ? *find(table, text) - 1 : -1;
}

void own_tables_fini(struct own_tables *tables)
{
    for (unsigned kind = 0; kind < 2; kind++) {
        for (unsigned i = 0; i < TABLE_VERSIONS_KEPT; i++) {
            if (!tables->kept[kind][i])
                continue;
            table_fini(tables->kept[kind][i]);
            mem_free(tables->kept[kind][i]);
        }
    }
    *tables = (struct own_tables){0};
}

void own_tables_set(struct own_tables *tables, enum table_kind kind,
                    const struct slice *texts, uint32_t count)
{
    struct table **kept = tables->kept[kind];
    struct table *table = mem_alloc(sizeof *table);
    unsigned last = TABLE_VERSIONS_KEPT - 1;

    /* The first version is 1; 0 follows 127. */
    table_set(table, kept[0] ? (kept[0]->version + 1) & 127 : 1, texts, count);
    if (kept[last]) {
        table_fini(kept[last]);
        mem_free(kept[last]);
    }
    for (unsigned i = last; i > 0; i--)
        kept[i] = kept[i - 1];
    kept[0] = table;
}

const struct table *own_tables_newest(const struct own_tables *tables,
                                      enum table_kind kind)
{
    return tables->kept[kind][0];
}

bool own_tables_text(const struct own_tables *tables, enum table_kind kind,
                     uint8_t version, uint32_t index, struct slice *text)
{
    for (unsigned i = 0; i < TABLE_VERSIONS_KEPT; i++) {
        const struct table *table = tables->kept[kind][i];

        if (!table)
            return false;
        if (table->version != version)
            continue;
        if (index >= table->count)
            return false;
        *text = text_at(table, index);
        return true;
    }
    return false;
}

void peer_tables_fini(struct peer_tables *tables)
{
    table_fini(&tables->refs);
    table_fini(&tables->manifests);
    tables->uid = 0;
}

static bool read_parts(const Artery__Table *message, struct table *table)
{
    struct slice texts[TABLE_ENTRIES_MAX];
    bool seen[TABLE_ENTRIES_MAX] = {false};
    size_t count = message->n_keys;

    if (count > TABLE_ENTRIES_MAX || count != message->n_values ||
        message->version > 127)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t index = message->values[i];

        /* Indices are 0..n-1 without gaps. */
        if (index >= count || seen[index])
            return false;
        seen[index] = true;
        texts[index] = slice_text(message->keys[i]);
        if (texts[index].size > REF_SIZE_MAX)
            return false;
    }
    if (count == 0)
        texts[0] = slice_text("");
    table_set(table, (uint8_t)message->version, texts, (uint32_t)count);
    return true;
}

static bool read_table(const struct identity *self, struct slice payload,
                       struct node_id *from, uint64_t *origin,
                       struct table *table)
{
    Artery__Table *message =
        artery__table__unpack(NULL, payload.size, payload.data);
    bool good = message != NULL;

    if (!good)
        return false;
    if (self) {
        const Artery__Address *address = message->from->address;

        good = !strcmp(address->protocol, self->protocol) &&
               !strcmp(address->system, self->system) &&
               address_set(&from->address, address->hostname,
                           strlen(address->hostname), address->port);
        from->uid = message->from->uid;
        *origin = message->origin;
    }
    good = good && read_parts(message, table);
    artery__table__free_unpacked(message, NULL);
    return good;
}

bool peer_tables_receive(struct peer_tables *tables, enum table_kind kind,
                         struct slice payload)
{
    struct table table = {0};
    struct table *mine =
        kind == TABLE_REFS ? &tables->refs : &tables->manifests;

    if (!read_table(NULL, payload, NULL, NULL, &table))
        return false;
    table_fini(mine);
    *mine = table;
    return true;
}

bool table_advertisement_read(const struct identity *self, struct slice payload,
                              struct node_id *from, uint64_t *origin,
                              struct table *table)
{
    *from = (struct node_id){0};
    return read_table(self, payload, from, origin, table);
}

void table_advertisement_put(struct buf *buf, const struct identity *self,
                             uint64_t origin, const struct table *table)
{
    unique_address_put(buf, 1, self, &self->node);
    buf_put_u8(buf, 2 << 3);
    buf_put_varint(buf, origin);
    buf_put_u8(buf, 3 << 3);
    buf_put_varint(buf, table->version);
    for (uint32_t i = 0; i < table->count; i++) {
        struct slice text = text_at(table, i);

        buf_put_u8(buf, 4 << 3 | 2);
        buf_put_varint(buf, text.size);
        buf_put_slice(buf, text);
    }
    for (uint32_t i = 0; i < table->count; i++) {
        buf_put_u8(buf, 5 << 3);
        buf_put_varint(buf, i);
    }
}
