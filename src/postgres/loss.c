/* Notices that a server has less than it confirmed: compares the shards of a writer with those of a server
 * whose history changed. */
#include "postgres/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

void pg_store_lost(struct pg_store *store, struct slice type, struct slice shard,
                   uint64_t confirmed, uint64_t found)
{
    bool halts = store->settings.halts;

    pg_store_log(store, SHERD_BACKEND_ERROR,
                 "the journal's server lost confirmed events type=%.*s shard=%.*s confirmed=%" PRIu64
                 " found=%" PRIu64 " %s hint=\"%s\"",
                 (int)type.size, (const char *)type.data, (int)shard.size,
                 (const char *)shard.data, confirmed, found, halts ? "policy=halt" : "policy=stop",
                 halts ? "this process writes nothing more for the type; restore the server, then restart it"
                       : "entities recover from what is there; use a synchronous standby");
    if (halts && store->halted.count < PG_TYPES_HALTED_MAX)
        (void)map_put(&store->halted, type, store); /* a value that is not null */
}

bool pg_store_must_compare(struct pg_store *store, const char *timeline)
{
    bool is_other = store->timeline[0] && strcmp(timeline, store->timeline) != 0;

    (void)snprintf(store->next_timeline, sizeof store->next_timeline, "%s", timeline); /* fits */
    if (is_other) { /* the sequence may have gone back with the rest */
        store->ids.blocks.count = 0;
        store->ids.left = 0;
    }
    if (is_other && store->settings.is_writer)
        pg_store_log(store, SHERD_BACKEND_WARNING,
                     "another server took over the journal, or it was restored; shards are compared "
                     "%s timeline=%s", store->link->ops->label(store->link), timeline);
    if (!is_other || !store->settings.is_writer || !store->known.shards.count) {
        memcpy(store->timeline, store->next_timeline, sizeof store->timeline);
        return false;
    }
    pg_ask_owned(store, 0);
    return true;
}

struct slice pg_own_number(struct pg_store *store)
{
    pg_put_int8(store->number, store->settings.claim);
    return slice_of(store->number, 8);
}

void pg_ask_owned(struct pg_store *store, uint32_t index)
{
    struct pg_call *call = pg_call_put(store, index, PG_OWNED, 2);
    struct map_entry entry;

    pg_array_clear(&store->owned, false);
    for (uint32_t at = 0; map_next(&store->known.shards, &at, &entry);)
        pg_array_add(&store->owned, ((const struct pg_known_shard *)entry.value)->id);
    call->parameters[0] = pg_array_value(&store->owned);
    call->parameters[1] = pg_own_number(store);
}

/* One known shard that the server has not, or has less of. */
static void note_lost(struct pg_store *store, struct slice key, struct pg_known_shard *known,
                      uint64_t found)
{
    struct cursor cursor = cursor_of(key);
    uint32_t size = cursor_u32(&cursor);
    struct slice type = cursor_slice(&cursor, size);
    struct slice shard = cursor_slice(&cursor, cursor_left(&cursor));

    if (known->is_lost)
        return;
    known->is_lost = true;
    pg_forget_entities(&store->known);
    pg_store_lost(store, type, shard, known->last, found);
}

/* Rows of PG_OWNED as a table from the shard's number. */
static bool read_rows(const struct pg_store *store, uint32_t index, struct map *table)
{
    for (uint32_t i = 0; i < pg_rows(store, index); i++) {
        struct pg_cell cells[PG_SHARD_CELLS];
        struct pg_shard_row *row = mem_alloc(sizeof *row);

        if (!pg_row(store, index, i, cells, PG_SHARD_CELLS) || !pg_shard_decode(cells, row)) {
            mem_free(row);
            return false;
        }
        mem_free(map_put(table, map_u64(&row->id), row));
    }
    return true;
}

/* After a loss another shard can have the number. */
static bool is_row_of(const struct pg_shard_row *row, struct slice key)
{
    struct buf buf = { 0 };
    bool is_same = slice_equal(pg_shard_key(&buf, row->type, row->shard), key);

    buf_fini(&buf);
    return is_same;
}

static void compare_rows(struct pg_store *store, struct map *table)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&store->known.shards, &at, &entry);) {
        struct pg_known_shard *known = entry.value;
        const struct pg_shard_row *row = map_get(table, map_u64(&known->id));

        if (row && !is_row_of(row, entry.key))
            row = NULL;
        known->is_taken = !row || row->claim != store->settings.claim ||
                          fence_compare(row->fence, known->fence) != 0;
        if (!row || fence_compare(row->fence, known->fence) < 0 || row->last < known->last)
            note_lost(store, entry.key, known, row ? row->last : 0);
    }
}

bool pg_read_owned(struct pg_store *store, uint32_t index)
{
    struct map table = { 0 };
    struct map_entry entry;
    bool is_good = read_rows(store, index, &table);

    if (is_good)
        compare_rows(store, &table);
    for (uint32_t at = 0; map_next(&table, &at, &entry);)
        mem_free(entry.value);
    map_fini(&table);
    return is_good;
}

void pg_store_compared(struct pg_store *store, bool is_good)
{
    if (is_good)
        is_good = pg_read_owned(store, 0);
    if (is_good)
        memcpy(store->timeline, store->next_timeline, sizeof store->timeline);
    pg_forget_entities(&store->known);
}

static bool is_halted(const struct pg_store *store, const struct sherd_backend_request *request)
{
    if (request->verb != SHERD_BACKEND_APPEND)
        return map_get(&store->halted, pg_slice(request->type)) != NULL;
    for (uint32_t i = 0; i < request->shard_count; i++)
        if (!map_get(&store->halted, pg_slice(request->shards[i].type)))
            return false; /* the group judges each shard */
    return request->shard_count > 0;
}

bool pg_store_refuse_halted(struct pg_store *store, struct sherd_backend_request *request)
{
    if (!store->halted.count || !is_halted(store, request))
        return false;
    sherd_backend_settle(request, SHERD_BACKEND_FAILED, PG_HALTED);
    return true;
}
