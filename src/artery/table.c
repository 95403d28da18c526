/* Compression tables: their contents, versions, and advertisements (wire 2.5).
 */
#include "artery/table.h"

#include "artery/artery.pb-c.h"
#include "artery/control.h"
#include "base/check.h"

void table_fini(struct table *table)
{
    map_fini(&table->indexes);
    buf_fini(&table->bytes);
    mem_free(table->texts);
    *table = (struct table){0};
}

void table_set(struct table *table, uint8_t version, const struct slice *texts,
               uint32_t count)
{
    struct buf bytes = {0};
    struct slice *own;
    size_t at = 0;

    /* texts may be this table's own: copied before the old memory goes. */
    if (count > TABLE_ENTRIES_MAX)
        count = TABLE_ENTRIES_MAX;
    for (uint32_t i = 0; i < count; i++)
        buf_put_slice(&bytes, texts[i]);
    (void)buf_reserve(&bytes, 1); /* so that an empty text has an address too */
    own = mem_alloc(count * sizeof *own);
    for (uint32_t i = 0; i < count; i++) {
        own[i] = slice_of(bytes.data + at, texts[i].size);
        at += texts[i].size;
    }
    mem_free(table->texts);
    table->texts = own;
    map_fini(&table->indexes);
    buf_fini(&table->bytes);
    table->indexes = (struct map){0};
    table->bytes = bytes;
    table->version = version;
    table->count = count;
    for (uint32_t i = 0; i < count; i++)
        if (!map_get(&table->indexes, table->texts[i]))
            map_put(&table->indexes, table->texts[i],
                    (void *)(uintptr_t)(i + 1));
}

int32_t table_index(const struct table *table, struct slice text)
{
    uintptr_t found;

    if (!table->count)
        return -1;
    found = (uintptr_t)map_get(&table->indexes, text);
    return (int32_t)found - 1;
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

    /* wire 2.5: the first version is 1; after 127 comes 0. */
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
        *text = table->texts[index];
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

        /* wire 2.5: indices are 0..n-1 without gaps. */
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
    struct buf part = {0};

    unique_address_put(&part, self, &self->node);
    buf_put(buf, part.data,
            part.size); /* field 1, as in every UniqueAddress message */
    buf_put_u8(buf, 2 << 3);
    buf_put_varint(buf, origin);
    buf_put_u8(buf, 3 << 3);
    buf_put_varint(buf, table->version);
    for (uint32_t i = 0; i < table->count; i++) {
        buf_put_u8(buf, 4 << 3 | 2);
        buf_put_varint(buf, table->texts[i].size);
        buf_put_slice(buf, table->texts[i]);
    }
    for (uint32_t i = 0; i < table->count; i++) {
        buf_put_u8(buf, 5 << 3);
        buf_put_varint(buf, i);
    }
    buf_fini(&part);
}
