/* Reads an SQLite journal: the connection cannot write, and each call is one read transaction. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sherd-journal.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "host/backend_place.h"
#include "host/backend_sqlite_inside.h"
#include "host/backend_sqlite_pages.h"
#include "host/backend_turn.h"

#define APPLICATION_ID 0x73686a6c /* "shjl" */
#define VERSION_MAX 3
#define WAIT_MS 1000
#define PAGE_BYTES (1024 * 1024)

enum { READ_IDS, READ_EVENTS, READ_SNAPSHOT, READ_TERMS, READ_FENCES, READ_LOOSE_EVENTS, READ_LOOSE_SNAPSHOTS, READ_SCHEMA, READ_SIZES, READ_META, READS };

static const char *const sql[READS] = {
    [READ_IDS] = "SELECT pid, coalesce((SELECT min(seq) FROM event WHERE entity = id), 0),"
                 " coalesce((SELECT max(seq) FROM event WHERE entity = id), 0),"
                 " (SELECT count(*) FROM snapshot WHERE entity = id)"
                 " FROM entity WHERE pid >= ?1 AND pid > ?2 ORDER BY pid LIMIT ?3",
    [READ_EVENTS] = "SELECT event.seq, event.record FROM entity CROSS JOIN event ON event.entity = entity.id"
                    " WHERE entity.pid = ?1 AND event.seq >= ?2 ORDER BY event.seq LIMIT ?3",
    [READ_SNAPSHOT] = "SELECT snapshot.seq, snapshot.record FROM entity CROSS JOIN snapshot"
                      " ON snapshot.entity = entity.id WHERE entity.pid = ?1 AND snapshot.seq >= ?2"
                      " ORDER BY snapshot.seq LIMIT ?3",
    [READ_TERMS] = "SELECT type, term FROM term ORDER BY type",
    [READ_FENCES] = "SELECT type, shard, term, epoch FROM fence ORDER BY type, shard",
    [READ_LOOSE_EVENTS] = "SELECT DISTINCT entity FROM event WHERE entity NOT IN (SELECT id FROM entity)",
    [READ_LOOSE_SNAPSHOTS] = "SELECT DISTINCT entity FROM snapshot WHERE entity NOT IN (SELECT id FROM entity)",
    [READ_SCHEMA] = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid",
    [READ_SIZES] = "SELECT (SELECT count(*) FROM entity), (SELECT count(*) FROM event),"
                   " (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size),"
                   " (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM snapshot)",
    [READ_META] = "SELECT (SELECT value FROM meta WHERE name = 'cluster'),"
                  " (SELECT value FROM meta WHERE name = 'store'), (SELECT value FROM meta WHERE name = 'moved')",
};

struct sqlite_journal {
    struct journal base;
    sqlite3 *db;
    char *path;
    sqlite3_stmt *statements[READS];
};

static struct sqlite_journal *own_of(struct journal *journal)
{
    return (struct sqlite_journal *)journal;
}

/* False. */
static bool refuse(struct sqlite_journal *own, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool refuse(struct sqlite_journal *own, const char *format, ...)
{
    char label[BACKEND_LABEL_SIZE];
    va_list arguments;
    int used;

    backend_place_label(own->path, label);
    used = snprintf(own->base.error, sizeof own->base.error, "journal %s: ", label); /* fits */
    va_start(arguments, format);
    (void)vsnprintf(own->base.error + used, sizeof own->base.error - (size_t)used, format,
                    arguments); /* may be cut */
    va_end(arguments);
    return false;
}

static bool failed(struct sqlite_journal *own)
{
    int code = sqlite3_extended_errcode(own->db);
    int number = sqlite3_system_errno(own->db);
    char page[SQLITE_PAGES_TEXT];

    if (code == SQLITE_IOERR_DATA) {
        sqlite_pages_describe(page, sizeof page);
        return refuse(own, "%s; try sherd journal verify", page);
    }
    if ((code & 0xff) == SQLITE_CANTOPEN)
        return refuse(own, "cannot open it to read: %s; the user needs the rights to write to the file's "
                      "folder, or to FILE-wal and FILE-shm", number ? strerror(number) : "unknown");
    return refuse(own, "%s", sqlite3_errmsg(own->db));
}

static struct slice column(sqlite3_stmt *statement, int at)
{
    const void *data = sqlite3_column_blob(statement, at);

    return slice_of(data, (size_t)sqlite3_column_bytes(statement, at));
}

static uint64_t number(sqlite3_stmt *statement, int at)
{
    return (uint64_t)sqlite3_column_int64(statement, at);
}

/* The statement, ready to be bound; null on failure. */
static sqlite3_stmt *statement_of(struct sqlite_journal *own, int which)
{
    if (!own->statements[which] &&
        sqlite3_prepare_v2(own->db, sql[which], -1, &own->statements[which], NULL) != SQLITE_OK) {
        (void)failed(own);
        return NULL;
    }
    return own->statements[which];
}

/* Ends a read whose last step gave `result`. */
static bool end_read(struct sqlite_journal *own, sqlite3_stmt *statement, int result)
{
    bool good = result == SQLITE_DONE || result == SQLITE_ROW || failed(own);

    (void)sqlite3_reset(statement); /* the error was noted */
    return good;
}

static void bind_text(sqlite3_stmt *statement, int at, struct slice text)
{
    check(sqlite3_bind_text64(statement, at, text.size ? (const char *)text.data : "", text.size,
                              SQLITE_TRANSIENT, SQLITE_UTF8) == SQLITE_OK);
}

static int users_of(const struct sqlite_journal *own)
{
    struct buf path = { 0 };
    char error[BACKEND_ERROR_MAX];
    struct turn *turn;
    struct stat found;
    int users = -1;

    buf_put_text(&path, own->path);
    buf_put(&path, "-turn", sizeof "-turn");
    if (lstat((const char *)path.data, &found) != 0)
        users = errno == ENOENT ? 0 : -1;
    else if (S_ISREG(found.st_mode) && (turn = turn_open((const char *)path.data, false, error)) != NULL) {
        users = turn_is_alone(turn) ? 0 : 1;
        turn_close(turn);
    }
    buf_fini(&path);
    return users;
}

static bool read_info(struct journal *journal, struct journal_info *info)
{
    struct sqlite_journal *own = own_of(journal);
    sqlite3_stmt *statement = statement_of(own, READ_META);
    int result;

    if (!statement)
        return false;
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        struct slice store = column(statement, 1);
        struct slice moved = column(statement, 2);

        buf_put_slice(&info->cluster, column(statement, 0));
        (void)snprintf(info->store, sizeof info->store, "%.*s", (int)store.size,
                       store.size ? (const char *)store.data : ""); /* may be cut */
        (void)snprintf(info->moved, sizeof info->moved, "%.*s", (int)moved.size,
                       moved.size ? (const char *)moved.data : ""); /* may be cut */
    }
    if (!end_read(own, statement, result) || !(statement = statement_of(own, READ_SIZES)))
        return false;
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        info->entities = number(statement, 0);
        info->events = number(statement, 1);
        info->bytes = number(statement, 2);
        info->version = sqlite3_column_int64(statement, 3);
        info->snapshots = number(statement, 4);
    }
    (void)snprintf(info->kind, sizeof info->kind, "sqlite");
    info->users = users_of(own);
    return end_read(own, statement, result);
}

static bool read_ids(struct journal *journal, struct slice prefix, struct slice after, uint64_t limit,
                     void (*found)(void *context, const struct journal_id *id), void *context)
{
    struct sqlite_journal *own = own_of(journal);
    sqlite3_stmt *statement = statement_of(own, READ_IDS);
    int result;

    if (!statement)
        return false;
    bind_text(statement, 1, prefix);
    bind_text(statement, 2, after);
    check(sqlite3_bind_int64(statement, 3, (sqlite3_int64)limit) == SQLITE_OK);
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        struct slice id = column(statement, 0);

        if (id.size < prefix.size || !slice_equal(slice_of(id.data, prefix.size), prefix))
            break; /* the order puts all others with the prefix before */
        found(context, &(struct journal_id){ id, number(statement, 1), number(statement, 2), number(statement, 3) });
    }
    return end_read(own, statement, result);
}

/* Reads up to `most` rows of events or snapshots. */
static bool read_records(struct sqlite_journal *own, int which, struct slice id, uint64_t from, int most,
                         journal_found found, void *context)
{
    sqlite3_stmt *statement = statement_of(own, which);
    size_t size = 0;
    int result;

    if (!statement)
        return false;
    bind_text(statement, 1, id);
    check(sqlite3_bind_int64(statement, 2, from > INT64_MAX ? INT64_MAX : (sqlite3_int64)from) == SQLITE_OK &&
          sqlite3_bind_int64(statement, 3, most) == SQLITE_OK);
    while (size < PAGE_BYTES && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        struct slice record = column(statement, 1);

        size += record.size;
        found(context, number(statement, 0), record);
    }
    return end_read(own, statement, result);
}

static bool read_events(struct journal *journal, struct slice id, uint64_t from, journal_found found,
                        void *context)
{
    return read_records(own_of(journal), READ_EVENTS, id, from, JOURNAL_PAGE, found, context);
}

static bool read_snapshot(struct journal *journal, struct slice id, uint64_t from, journal_found found,
                          void *context)
{
    return read_records(own_of(journal), READ_SNAPSHOT, id, from, 1, found, context);
}

static bool hold(struct journal *journal, bool begins)
{
    struct sqlite_journal *own = own_of(journal);

    return sqlite3_exec(own->db, begins ? "BEGIN" : "COMMIT", NULL, NULL, NULL) == SQLITE_OK || failed(own);
}

static bool read_terms(struct journal *journal, void (*found)(void *context, struct slice type, uint64_t term),
                       void *context)
{
    struct sqlite_journal *own = own_of(journal);
    sqlite3_stmt *statement = statement_of(own, READ_TERMS);
    int result;

    if (!statement)
        return false;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW)
        found(context, column(statement, 0), number(statement, 1));
    return end_read(own, statement, result);
}

static bool read_fences(struct journal *journal,
                        void (*found)(void *context, struct slice type, struct slice shard, struct fence fence),
                        void *context)
{
    struct sqlite_journal *own = own_of(journal);
    sqlite3_stmt *statement = statement_of(own, READ_FENCES);
    int result;

    if (!statement)
        return false;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW)
        found(context, column(statement, 0), column(statement, 1),
              (struct fence){ number(statement, 2), number(statement, 3) });
    return end_read(own, statement, result);
}

/* Rows of entities are never deleted. */
static bool read_loose(struct sqlite_journal *own, int which, const char *why,
                       void (*found)(void *context, struct slice part, const char *why), void *context)
{
    sqlite3_stmt *statement = statement_of(own, which);
    int result;

    if (!statement)
        return false;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW)
        found(context, slice_text((const char *)sqlite3_column_text(statement, 0)), why);
    return end_read(own, statement, result);
}

static bool read_faults(struct journal *journal, void (*found)(void *context, struct slice part, const char *why),
                        void *context)
{
    struct sqlite_journal *own = own_of(journal);

    return read_loose(own, READ_LOOSE_EVENTS, "events without a row of their entity", found, context) &&
           read_loose(own, READ_LOOSE_SNAPSHOTS, "snapshots without a row of their entity", found, context);
}

static bool read_schema(struct journal *journal, void (*found)(void *context, const char *sql), void *context)
{
    struct sqlite_journal *own = own_of(journal);
    sqlite3_stmt *statement = statement_of(own, READ_SCHEMA);
    int result;

    if (!statement)
        return false;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW)
        found(context, (const char *)sqlite3_column_text(statement, 0));
    return end_read(own, statement, result);
}

static void close_journal(struct journal *journal)
{
    struct sqlite_journal *own = own_of(journal);

    for (int i = 0; i < READS; i++)
        (void)sqlite3_finalize(own->statements[i]); /* errors were noted */
    (void)sqlite3_close(own->db); /* nothing was written */
    mem_free(own->path);
    mem_free(own);
}

static const struct journal_ops sqlite_ops = {
    .info = read_info,
    .ids = read_ids,
    .events = read_events,
    .snapshot = read_snapshot,
    .hold = hold,
    .terms = read_terms,
    .fences = read_fences,
    .faults = read_faults,
    .schema = read_schema,
    .close = close_journal,
};

static bool one_number(struct sqlite_journal *own, const char *query, int64_t *result)
{
    sqlite3_stmt *statement = NULL;
    bool good = sqlite3_prepare_v2(own->db, query, -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_ROW;

    if (good)
        *result = sqlite3_column_int64(statement, 0);
    else
        (void)failed(own);
    (void)sqlite3_finalize(statement); /* as above */
    return good;
}

static bool connect_to(struct sqlite_journal *own)
{
    int64_t application = 0, version = 0;
    struct stat found;

    if (lstat(own->path, &found) != 0)
        return refuse(own, "cannot open the file: %s", strerror(errno));
    if (!S_ISREG(found.st_mode))
        return refuse(own, "cannot open the file: it is no regular file");
    if (sqlite3_open_v2(own->path, &own->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                        sqlite_pages_vfs()) != SQLITE_OK ||
        sqlite3_busy_timeout(own->db, WAIT_MS) != SQLITE_OK ||
        sqlite3_exec(own->db, "PRAGMA trusted_schema = OFF; PRAGMA cache_size = -4096", NULL, NULL, NULL) !=
            SQLITE_OK)
        return failed(own);
    if (!one_number(own, "PRAGMA application_id", &application) ||
        !one_number(own, "PRAGMA user_version", &version))
        return false;
    if (application != APPLICATION_ID)
        return refuse(own, "the file is no journal of Sherd");
    if (version < 1 || version > VERSION_MAX)
        return refuse(own, "its tables are version %lld, this program knows 1 to %d", (long long)version,
                      VERSION_MAX);
    own->base.is_old = version < VERSION_MAX;
    if (sqlite_add_snapshots(own->db) != SQLITE_OK)
        return failed(own);
    return true;
}

struct journal *journal_open_sqlite(const char *path, char *error)
{
    struct sqlite_journal *own = mem_alloc(sizeof *own);

    own->base.ops = &sqlite_ops;
    own->path = mem_text(path);
    if (connect_to(own))
        return &own->base;
    memcpy(error, own->base.error, BACKEND_ERROR_MAX);
    close_journal(&own->base);
    return NULL;
}
