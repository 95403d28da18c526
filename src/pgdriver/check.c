/* Checks the server of a new connection: its version, its tables, whose store it is, and whether its
 * history changed. */
#include "pgdriver/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "pgdriver/schema_001.h" /* generated from postgres/schema/001.sql */

#define SCHEMA_VERSION 1
#define VERSION_MIN 130000
#define TABLES_LOCK "7307481216" /* nodes create the tables one after the other */

/* Runs SQL in which @ is the schema and ? the cluster's id. */
static bool ask(struct pg_store *store, const char *template, uint64_t deadline,
                char *cell, size_t size)
{
    const char *mark = strchr(template, '?');
    char *before = mem_copy(template, mark ? (size_t)(mark - template) : strlen(template));
    struct buf sql = { 0 };
    bool good;

    pg_sql_fill(&sql, before, store->options->schema);
    if (mark) {
        pg_link_quote(store->link, &sql, store->options->cluster);
        pg_sql_fill(&sql, mark + 1, store->options->schema);
    }
    buf_put_u8(&sql, 0);
    good = pg_link_query(store->link, (const char *)sql.data, deadline, cell, size);
    buf_fini(&sql);
    mem_free(before);
    return good;
}

static bool set_session(struct pg_store *store, uint64_t deadline)
{
    struct buf sql = { 0 };
    bool good;

    buf_put_text(&sql,
                 "SET search_path = pg_catalog; SET default_transaction_isolation = 'read committed';"
                 "SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '10s';"
                 "SET statement_timeout = '30s'; SET synchronous_commit = ");
    buf_put_text(&sql, store->options->commit);
    buf_put_u8(&sql, 0);
    good = pg_link_query(store->link, (const char *)sql.data, deadline, NULL, 0);
    buf_fini(&sql);
    /* Not on every system: the server then notices a lost client only when it answers. */
    if (good && !pg_link_query(store->link, "SET client_connection_check_interval = '5s'",
                               deadline, NULL, 0))
        good = pg_link_is_open(store->link);
    return good;
}

/* ---- tables ---- */

static bool create_tables(struct pg_store *store, uint64_t deadline)
{
    if (!store->options->creates_schema)
        return pg_link_refuse(store->link,
                              "schema \"%.63s\" lacks tables of a journal; let its owner run "
                              "share/sherd/postgres/001.sql",
                              store->options->schema);
    return ask(store, "BEGIN; SELECT pg_advisory_xact_lock(" TABLES_LOCK ")", deadline, NULL, 0) &&
           ask(store, "SET LOCAL client_min_messages = warning", deadline, NULL, 0) &&
           ask(store, schema_001, deadline, NULL, 0) && ask(store, "COMMIT", deadline, NULL, 0);
}

/* Makes the row of a new store, if another node did not. */
static bool name_store(struct pg_store *store, uint64_t deadline)
{
    return ask(store,
               "INSERT INTO @meta (store_id, cluster, schema, min_reader)"
               " VALUES (gen_random_uuid(), ?, 1, 1) ON CONFLICT DO NOTHING",
               deadline, NULL, 0);
}

static bool check_owner(struct pg_store *store, uint64_t deadline)
{
    char id[64], cluster[300], version[32];
    const char *label = pg_link_label(store->link);

    if (!ask(store, "SELECT store_id FROM @meta", deadline, id, sizeof id) ||
        !ask(store, "SELECT cluster FROM @meta", deadline, cluster, sizeof cluster) ||
        !ask(store, "SELECT min_reader FROM @meta", deadline, version, sizeof version))
        return false;
    if (!id[0])
        return name_store(store, deadline) && check_owner(store, deadline);
    if (atoi(version) > SCHEMA_VERSION)
        return pg_link_refuse(store->link,
                              "the journal's tables need a newer program: they are for version %s, "
                              "this one is %d", version, SCHEMA_VERSION);
    if (strcmp(cluster, store->options->cluster) != 0)
        return pg_link_refuse(store->link, "journal belongs to cluster \"%.40s\", not to \"%.40s\" %s",
                              cluster, store->options->cluster, label);
    if (store->store_id[0] && strcmp(id, store->store_id) != 0)
        return pg_link_refuse(store->link,
                              "another journal answers: %s in place of %s; nothing is written",
                              id, store->store_id);
    memcpy(store->store_id, id, sizeof id);
    return true;
}

static bool check_tables(struct pg_store *store, uint64_t deadline)
{
    char found[64], sql[160];

    (void)snprintf(sql, sizeof sql, "SELECT to_regclass('%s.snapshot')", store->options->schema); /* fits */
    if (!pg_link_query(store->link, sql, deadline, found, sizeof found))
        return false;
    return (found[0] || create_tables(store, deadline)) && check_owner(store, deadline);
}

/* ---- durability and history ---- */

/* Says once how safe confirmed events are. */
static bool check_durability(struct pg_store *store, uint64_t deadline)
{
    char fsync[16], standbys[64], commit[32];

    if (!pg_link_query(store->link, "SHOW fsync", deadline, fsync, sizeof fsync) ||
        !pg_link_query(store->link, "SHOW synchronous_standby_names", deadline, standbys, sizeof standbys) ||
        !pg_link_query(store->link, "SHOW synchronous_commit", deadline, commit, sizeof commit))
        return false;
    if (strcmp(fsync, "off") == 0 && !store->options->allows_loss)
        return pg_link_refuse(store->link,
                              "the server runs with fsync = off and loses confirmed events in a "
                              "crash; to accept that, set journal.postgres.allow-loss = on");
    if (strcmp(commit, store->options->commit) != 0)
        return pg_link_refuse(store->link, "synchronous_commit is %s, not %s: does a pooler share "
                              "sessions? use its session mode", commit, store->options->commit);
    if (store->was_opened || store->mode != SHERD_BACKEND_WRITER)
        return true;
    if (!standbys[0] || strcmp(commit, "local") == 0 || strcmp(commit, "off") == 0)
        pg_store_log(store, SHERD_BACKEND_WARNING,
                     "journal is on one server only: events survive its crash, not the loss of its "
                     "disk %s hint=\"set synchronous_standby_names on the server\"",
                     pg_link_label(store->link));
    else
        pg_store_log(store, SHERD_BACKEND_INFO,
                     "journal is on several servers %s standbys=\"%s\" commit=%s",
                     pg_link_label(store->link), standbys, commit);
    return true;
}

/* A promotion starts a new timeline. */
static bool read_timeline(struct pg_store *store, uint64_t deadline, char *timeline, size_t size)
{
    if (pg_link_query(store->link, "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)",
                      deadline, timeline, size))
        return true;
    timeline[0] = 0; /* other servers lack the function: positions are compared at each write */
    return pg_link_is_open(store->link);
}

void pg_store_lost(struct pg_store *store, struct slice type, struct slice shard,
                   uint64_t confirmed, uint64_t found)
{
    pg_store_log(store, SHERD_BACKEND_ERROR,
                 "the journal's server lost confirmed events type=%.*s shard=%.*s confirmed=%" PRIu64
                 " found=%" PRIu64 " %s hint=\"%s\"",
                 (int)type.size, (const char *)type.data, (int)shard.size,
                 (const char *)shard.data, confirmed, found, store->options->halts ? "policy=halt" : "policy=stop",
                 store->options->halts
                     ? "this process writes nothing more for the type; restore the server, then restart it"
                     : "entities recover from what is there; use a synchronous standby");
    if (store->options->halts && store->halted.count < PG_TYPES_HALTED_MAX)
        (void)map_put(&store->halted, type, store); /* a value that is not null */
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
    pg_store_lost(store, type, shard, known->last, found);
}

/* Rows of PG_OWNED as a table from the shard's number. */
static bool read_rows(const struct pg_call *call, struct map *table)
{
    for (uint32_t i = 0; i < pg_call_rows(call); i++) {
        struct pg_cell cells[PG_SHARD_CELLS];
        struct pg_shard_row *row = mem_alloc(sizeof *row);

        if (!pg_call_row(call, i, cells, PG_SHARD_CELLS) || !pg_shard_decode(cells, row)) {
            mem_free(row);
            return false;
        }
        mem_free(map_put(table, map_u64(&row->id), row));
    }
    return true;
}

static void compare_rows(struct pg_store *store, struct map *table)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&store->known.shards, &at, &entry);) {
        struct pg_known_shard *known = entry.value;
        const struct pg_shard_row *row = map_get(table, map_u64(&known->id));

        if (!row || fence_compare(row->fence, known->fence) < 0)
            note_lost(store, entry.key, known, row ? row->last : 0);
        else if (row->claim == store->claim && row->last < known->last)
            note_lost(store, entry.key, known, row->last);
    }
}

void pg_store_compare(struct pg_store *store, uint64_t deadline)
{
    struct pg_call call = { .which = PG_OWNED, .count = 1 };
    struct pg_array ids = { .count = 0 };
    struct map table = { 0 };
    struct map_entry entry;

    pg_array_clear(&ids, false);
    for (uint32_t at = 0; map_next(&store->known.shards, &at, &entry);)
        pg_array_add(&ids, ((const struct pg_known_shard *)entry.value)->id);
    call.parameters[0] = pg_array_value(&ids);
    if (ids.count && pg_link_run(store->link, &call, 1, false, deadline, NULL) &&
        read_rows(&call, &table))
        compare_rows(store, &table);
    pg_forget_entities(&store->known);
    pg_calls_clear(&call, 1);
    for (uint32_t at = 0; map_next(&table, &at, &entry);)
        mem_free(entry.value);
    map_fini(&table);
    pg_array_fini(&ids);
}

bool pg_store_check(struct pg_store *store, uint64_t deadline)
{
    char timeline[sizeof store->timeline];
    bool is_other;

    if (pg_link_version(store->link) < VERSION_MIN)
        return pg_link_refuse(store->link, "the server is older than PostgreSQL 13");
    if (!set_session(store, deadline) || !check_tables(store, deadline) ||
        !check_durability(store, deadline) ||
        !read_timeline(store, deadline, timeline, sizeof timeline) || !pg_link_begin(store->link))
        return false;
    is_other = store->timeline[0] && strcmp(timeline, store->timeline) != 0;
    memcpy(store->timeline, timeline, sizeof timeline);
    if (is_other && store->mode == SHERD_BACKEND_WRITER) {
        pg_store_log(store, SHERD_BACKEND_WARNING,
                     "another server took over the journal, or it was restored; shards are compared "
                     "%s timeline=%s", pg_link_label(store->link), timeline);
        pg_store_compare(store, deadline);
    }
    return pg_link_is_open(store->link);
}
