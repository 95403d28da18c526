/* Creates, upgrades and checks the tables of an SQLite journal, and reads the store's identity. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "host/backend_place.h"
#include "host/backend_sqlite_inside.h"
#include "host/backend_sqlite_pages.h"

#define SCHEMA_VERSION 3
#define SCHEMA_OLDEST 1 /* older ones are refused */
#define APPLICATION_ID 0x73686a6c /* "shjl" */

/* Version 2 added the store's identity and the terms' proofs. */
#define SCHEMA_2                                                               \
    "CREATE TABLE proof(type TEXT, term INTEGER, proof INTEGER NOT NULL,"      \
    " PRIMARY KEY(type, term)) WITHOUT ROWID;"                                 \
    "INSERT INTO meta VALUES('store', lower(hex(randomblob(16))));"

/* Version 3 added snapshots. Their key has an index of its own: a search without one would read the
 * large records that it passes. */
#define SCHEMA_3                                                               \
    "CREATE TABLE snapshot(entity INTEGER, seq INTEGER, record BLOB NOT NULL," \
    " PRIMARY KEY(entity, seq));"

static const char schema[] =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE claims(id INTEGER PRIMARY KEY, count INTEGER NOT NULL);"
    "CREATE TABLE fence(type TEXT, shard TEXT, term INTEGER NOT NULL,"
    " epoch INTEGER NOT NULL, PRIMARY KEY(type, shard)) WITHOUT ROWID;"
    "CREATE TABLE term(type TEXT PRIMARY KEY, term INTEGER NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE TABLE entity(id INTEGER PRIMARY KEY, pid TEXT NOT NULL UNIQUE);"
    "CREATE TABLE event(entity INTEGER, seq INTEGER, record BLOB NOT NULL,"
    " PRIMARY KEY(entity, seq)) WITHOUT ROWID;"
    "INSERT INTO claims VALUES(1, 0);" SCHEMA_2 SCHEMA_3;

int sqlite_add_snapshots(sqlite3 *db)
{
    if (sqlite3_table_column_metadata(db, "main", "snapshot", NULL, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK)
        return SQLITE_OK;
    return sqlite3_exec(db, "PRAGMA temp_store = MEMORY;"
                        "CREATE TEMP TABLE snapshot(entity INTEGER, seq INTEGER, record BLOB)",
                        NULL, NULL, NULL);
}

/* `missing` if there is no row */
static int64_t one_number(struct sqlite_store *store, const char *sql,
                          int64_t missing)
{
    sqlite3_stmt *statement = NULL;
    int64_t number = missing;

    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return number;
}

/* Returns a text of the table meta, or null with a line in `error`. The caller frees it. */
static char *read_meta(struct sqlite_store *store, const char *sql, char *error)
{
    sqlite3_stmt *statement = NULL;
    char *text = NULL;

    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW)
        (void)sqlite_failed(store, error);
    else
        text = mem_text((const char *)sqlite3_column_text(statement, 0));
    (void)sqlite3_finalize(statement);
    return text;
}

static int make_schema(struct sqlite_store *store, char *error)
{
    char *sql = sqlite3_mprintf(
        "%s INSERT INTO meta VALUES('cluster', %Q),('page_sums', 1);"
        "PRAGMA application_id = %d; PRAGMA user_version = %d;",
        schema, store->cluster, APPLICATION_ID, SCHEMA_VERSION);
    int result;

    check(sql != NULL);
    result = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return result == SQLITE_OK ? 0 : sqlite_failed(store, error);
}

static int check_cluster(struct sqlite_store *store, char *error)
{
    char *found = read_meta(
        store, "SELECT value FROM meta WHERE name = 'cluster'", error);
    int result = -1;

    if (found && strcmp(found, store->cluster) == 0)
        result = 0;
    else if (found)
        (void)sqlite_refused(store, error,
                             "it belongs to cluster \"%s\", not to \"%s\"",
                             found, store->cluster);
    mem_free(found);
    return result;
}

/* `sherd journal move` leaves a mark, so that no node goes on with the former file. */
static int check_moved(struct sqlite_store *store, char *error)
{
    char *to;

    if (store->opens_moved || !one_number(store, "SELECT count(*) FROM meta WHERE name = 'moved'", 0))
        return 0;
    to = read_meta(store, "SELECT value FROM meta WHERE name = 'moved'", error);
    if (to)
        (void)sqlite_refused(store, error,
                             "its events were moved to %.60s: use the journal there, or undo it with "
                             "sherd journal move --undo",
                             to);
    mem_free(to);
    return -1;
}

static int64_t count_tables(struct sqlite_store *store)
{
    return one_number(store, "SELECT count(*) FROM sqlite_schema", -1);
}

static int64_t version_of(struct sqlite_store *store)
{
    return one_number(store, "PRAGMA user_version", 0);
}

/* One flipped bit of the header would switch all checksums off. */
static bool lacks_sums(struct sqlite_store *store)
{
    return one_number(store, "SELECT value FROM meta WHERE name = 'page_sums'", 0) &&
           !sqlite_pages_find_sums(sqlite_file_of(store));
}

/* Needs no lock, as one transaction creates or upgrades all tables. */
static int check_schema(struct sqlite_store *store, char *error)
{
    int64_t application = one_number(store, "PRAGMA application_id", 0);
    int64_t version = version_of(store);

    if (application != APPLICATION_ID)
        return sqlite_refused(store, error,
                              "the file is another program's database");
    if (version < SCHEMA_OLDEST || version > SCHEMA_VERSION)
        return sqlite_refused(store, error,
                              "its schema is version %lld, this program knows "
                              "%d",
                              (long long)version, SCHEMA_VERSION);
    if (lacks_sums(store))
        return sqlite_refused(store, error, "page 1 of the file is damaged");
    return check_cluster(store, error) == 0 ? check_moved(store, error) : -1;
}

static int in_transaction(struct sqlite_store *store, char *error,
                          int (*step)(struct sqlite_store *store, char *error))
{
    int result;

    if (sqlite_run_text(store, "BEGIN IMMEDIATE") != SQLITE_OK)
        return sqlite_failed(store, error);
    result = step(store, error);
    if (result == 0 && sqlite_run_text(store, "COMMIT") != SQLITE_OK)
        result = sqlite_failed(store, error);
    if (result != 0)
        (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return result;
}

static int add_schema(struct sqlite_store *store, char *error)
{
    return count_tables(store) == 0 ? make_schema(store, error) : 0;
}

static int add_versions(struct sqlite_store *store, char *error)
{
    int64_t version = version_of(store);
    int result = SQLITE_OK;

    if (version == 1)
        result = sqlite3_exec(store->db, SCHEMA_2, NULL, NULL, NULL);
    if (result == SQLITE_OK && version < SCHEMA_VERSION) /* else another process was faster */
        result = sqlite3_exec(store->db, SCHEMA_3 "PRAGMA user_version = 3;", NULL, NULL, NULL);
    return result == SQLITE_OK ? 0 : sqlite_failed(store, error);
}

/* Leaving the write-ahead log needs the file alone. So no program of an older version has it open
 * during the upgrade, and none opens it later. */
static int upgrade(struct sqlite_store *store, char *error)
{
    int result;

    if (sqlite_run_text(store, "PRAGMA journal_mode = DELETE") != SQLITE_OK)
        return sqlite_refused(store, error,
                              "its schema is version %lld, and other processes "
                              "have it open: stop all of them, then start one "
                              "to upgrade it to version %d",
                              (long long)version_of(store), SCHEMA_VERSION);
    result = in_transaction(store, error, add_versions);
    if (sqlite_run_text(store, "PRAGMA journal_mode = WAL") != SQLITE_OK &&
        result == 0)
        result = sqlite_failed(store, error);
    return result;
}

static bool is_identity(const char *id)
{
    return strlen(id) == 32 && strspn(id, "0123456789abcdef") == 32;
}

static int identify(struct sqlite_store *store, char *error)
{
    char *id = read_meta(store, "SELECT value FROM meta WHERE name = 'store'",
                         error);

    if (!id || !is_identity(id)) {
        mem_free(id);
        return sqlite_refused(store, error,
                              "the identity of its store is damaged");
    }
    /* A copy has the same identity, but is another file. */
    (void)snprintf(store->identity.id, sizeof store->identity.id,
                   "%s-%016" PRIx64, id,
                   backend_place_of(store->path)); /* fits */
    store->mark.store = hash_bytes(slice_text(id));
    mem_free(id);
    return 0;
}

enum marked { MARKED_FOUND, MARKED_MISSING, MARKED_DAMAGED };

/* Looks for the marked record. */
static enum marked find_marked(struct sqlite_store *store,
                               const struct turn_mark *mark)
{
    enum marked found = MARKED_MISSING;
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(store->db,
                           "SELECT record FROM event"
                           " WHERE entity = ? AND seq = ?",
                           -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)mark->entity) ==
            SQLITE_OK &&
        sqlite3_bind_int64(statement, 2, (sqlite3_int64)mark->seq) ==
            SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        struct slice record =
            slice_of(sqlite3_column_blob(statement, 0),
                     (size_t)sqlite3_column_bytes(statement, 0));

        if (hash_bytes(record) == mark->sum)
            found = MARKED_FOUND;
    } else if (sqlite_is_damaged(store)) {
        found = MARKED_DAMAGED;
    }
    (void)sqlite3_finalize(statement);
    return found;
}

/* Returns the marked entity's persistence id, or null. The caller frees it. */
static char *marked_id(struct sqlite_store *store, const struct turn_mark *mark,
                       char *error)
{
    char sql[80];

    (void)snprintf(sql, sizeof sql,
                   "SELECT pid FROM entity WHERE id = %" PRIu64,
                   mark->entity); /* fits */
    return read_meta(store, sql, error);
}

/* The record's page is damaged, so only its entity is refused. */
static void note_marked(struct sqlite_store *store, const struct turn_mark *mark)
{
    char why[BACKEND_ERROR_MAX], error[BACKEND_ERROR_MAX];
    char *id;

    sqlite_describe(store, why);
    id = marked_id(store, mark, error);
    if (id)
        backend_damage_add(store->damage, slice_text(id), why);
    mem_free(id);
}

/* Frames before the end may be older than what was copied into the file already. */
static bool lacks_frames(struct sqlite_store *store, const struct turn_mark *mark)
{
    struct frames_state state;

    return sqlite_pages_log_state(sqlite_file_of(store), &state) &&
           state.salt == mark->log_salt && state.count < mark->log_frames;
}

/* SQLite takes the first damaged frame for the log's end, and would go on without the commits behind
 * it. All commits before the marked one are there if it is. */
static int check_mark(struct sqlite_store *store, char *error)
{
    struct turn_mark mark = { 0 };
    struct turn_mark later;
    enum marked found;
    char *id;

    if (!turn_get_mark(store->turn, &mark))
        return 0; /* new */
    if (mark.store != store->mark.store)
        return sqlite_refused(store, error,
                              "is another journal than the one whose events "
                              "were stored here; restore the files, or accept "
                              "the loss by deleting FILE-turn");
    while ((found = find_marked(store, &mark)) == MARKED_MISSING) {
        if (turn_get_mark(store->turn, &later) &&
            memcmp(&later, &mark, sizeof mark) != 0) {
            mark = later; /* another process has written, and may have deleted that record */
            continue;
        }
        id = marked_id(store, &mark, error);
        (void)sqlite_refused(store, error,
                             "lost its end: event %" PRIu64 " of \"%.40s\" is "
                             "missing; restore the files, or accept the "
                             "loss by deleting FILE-turn",
                             mark.seq, id ? id : "a new entity");
        mem_free(id);
        return -1;
    }
    if (lacks_frames(store, &mark))
        return sqlite_refused(store, error,
                              "lost the end of its log (-wal); restore the "
                              "files, or accept the loss by deleting FILE-turn");
    if (found == MARKED_DAMAGED)
        note_marked(store, &mark);
    return 0;
}

int sqlite_set_up_schema(struct sqlite_store *store, char *error)
{
    int64_t tables = count_tables(store);

    if (tables < 0)
        return sqlite_failed(store, error);
    if (tables == 0 && in_transaction(store, error, add_schema) != 0)
        return -1;
    if (check_schema(store, error) != 0)
        return -1;
    if (version_of(store) < SCHEMA_VERSION && upgrade(store, error) != 0)
        return -1;
    return identify(store, error) == 0 ? check_mark(store, error) : -1;
}
