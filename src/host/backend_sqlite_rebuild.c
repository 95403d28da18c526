/* Copies what can be read of a damaged journal into a new file. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host/backend_sqlite_rebuild.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "host/backend_sqlite.h"
#include "host/backend_sqlite_inside.h"
#include "host/backend_sqlite_pages.h"
#include "journal/record.h"

enum {
    FROM_META,
    FROM_LAST,
    FROM_ROW,
    FROM_PID, /* of an entity whose row is damaged, from the index */
    FROM_PID_BACK,
    FROM_EVENTS,
    FROM_EVENTS_BACK,
    FROM_SNAPSHOTS,
    FROM_SNAPSHOTS_BACK,
    FROM_COUNT
};

static const char *const from_sql[FROM_COUNT] = {
    [FROM_META] = "SELECT value FROM meta WHERE name = ?",
    [FROM_LAST] = "SELECT max(id) FROM entity",
    [FROM_ROW] = "SELECT pid FROM entity WHERE id = ?",
    [FROM_PID] = "SELECT id, pid FROM entity"
                 " INDEXED BY sqlite_autoindex_entity_1 ORDER BY pid",
    [FROM_PID_BACK] = "SELECT id, pid FROM entity"
                      " INDEXED BY sqlite_autoindex_entity_1 ORDER BY pid DESC",
    [FROM_EVENTS] = "SELECT seq, record FROM event WHERE entity = ?"
                    " ORDER BY seq",
    [FROM_EVENTS_BACK] = "SELECT seq, record FROM event WHERE entity = ?"
                         " ORDER BY seq DESC",
    [FROM_SNAPSHOTS] = "SELECT seq, record FROM snapshot WHERE entity = ?"
                       " ORDER BY seq",
    [FROM_SNAPSHOTS_BACK] = "SELECT seq, record FROM snapshot WHERE entity = ?"
                            " ORDER BY seq DESC",
};

enum { TO_ENTITY, TO_EVENT, TO_CUT, TO_SNAPSHOT, TO_NEWEST, TO_TRIM, TO_COUNT };

static const char *const to_sql[TO_COUNT] = {
    [TO_ENTITY] = "INSERT OR IGNORE INTO entity VALUES(?, ?)",
    [TO_EVENT] = "INSERT OR REPLACE INTO event VALUES(?, ?, ?)",
    [TO_CUT] = "DELETE FROM event WHERE entity = ?",
    [TO_SNAPSHOT] = "INSERT OR REPLACE INTO snapshot VALUES(?, ?, ?)",
    [TO_NEWEST] = "SELECT max(seq) FROM snapshot WHERE entity = ? AND seq <= ?", /* of the copied ones */
    [TO_TRIM] = "DELETE FROM snapshot WHERE entity = ? AND seq NOT BETWEEN ? AND ?",
};

/* Tables that are copied row by row, from both ends up to the damage. */
static const struct {
    const char *name;
    const char *forth, *back; /* queries */
    const char *into;
} tables[] = {
    { "fence", "SELECT * FROM fence ORDER BY type, shard",
      "SELECT * FROM fence ORDER BY type DESC, shard DESC",
      "INSERT OR REPLACE INTO fence VALUES(?, ?, ?, ?)" },
    { "term", "SELECT * FROM term ORDER BY type",
      "SELECT * FROM term ORDER BY type DESC",
      "INSERT OR REPLACE INTO term VALUES(?, ?)" },
    { "proof", "SELECT * FROM proof ORDER BY type, term",
      "SELECT * FROM proof ORDER BY type DESC, term DESC",
      "INSERT OR REPLACE INTO proof VALUES(?, ?, ?)" },
};

struct work {
    struct backend_rebuild *rebuild;
    const char *path;
    char *new_path, *turn_path, *new_turn_path, *damaged_path;
    sqlite3 *from;
    struct sqlite_store *to;
    sqlite3_stmt *read[FROM_COUNT];
    sqlite3_stmt *write[TO_COUNT];
    char *error;
};

static char *path_with(const char *path, const char *end)
{
    struct buf name = { 0 };

    buf_put_text(&name, path);
    buf_put(&name, end, strlen(end) + 1);
    return (char *)name.data;
}

static int refuse(struct work *work, const char *why)
{
    (void)snprintf(work->error, BACKEND_ERROR_MAX, "journal %.100s: %s",
                   work->path, why); /* may be cut */
    return -1;
}

__attribute__((format(printf, 2, 3))) static void tell_lost(struct work *work,
                                                            const char *format,
                                                            ...)
{
    char text[BACKEND_ERROR_MAX + BACKEND_PART_SIZE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* may be cut */
    va_end(arguments);
    work->rebuild->lost(work->rebuild->context, text);
}

/* ---- opening ---- */

/* Leaving the write-ahead log needs the file alone, and empties the log into it. */
static int open_from(struct work *work)
{
    static const char alone[] = "PRAGMA journal_mode = DELETE;"
                                "PRAGMA locking_mode = EXCLUSIVE;"
                                "BEGIN EXCLUSIVE";
    int result = sqlite3_open_v2(work->path, &work->from,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                                     SQLITE_OPEN_NOFOLLOW,
                                 sqlite_pages_vfs());

    if (result == SQLITE_OK)
        result = sqlite3_exec(work->from, alone, NULL, NULL, NULL);
    if (sqlite_is_busy(result))
        return refuse(work, "other processes have it open: stop all nodes that use it");
    if (result == SQLITE_OK)
        result = sqlite_add_snapshots(work->from);
    for (int i = 0; i < FROM_COUNT && result == SQLITE_OK; i++)
        result = sqlite3_prepare_v2(work->from, from_sql[i], -1,
                                    &work->read[i], NULL);
    if (result == SQLITE_OK)
        return 0;
    (void)snprintf(work->error, BACKEND_ERROR_MAX,
                   "journal %.80s: its tables cannot be found (%.60s); restore "
                   "a backup",
                   work->path, sqlite3_errmsg(work->from)); /* fits */
    return -1;
}

/* Returns a value of the table meta, or null. The caller frees it. */
static char *meta_of(struct work *work, const char *name)
{
    sqlite3_stmt *statement = work->read[FROM_META];
    char *value = NULL;

    check(sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC) == SQLITE_OK);
    if (sqlite3_step(statement) == SQLITE_ROW)
        value = mem_text((const char *)sqlite3_column_text(statement, 0));
    (void)sqlite3_reset(statement); /* without a value it is unreadable */
    return value;
}

/* The new file is synced as a whole at the end. */
static int open_to(struct work *work)
{
    char *cluster = meta_of(work, "cluster");
    char *store = meta_of(work, "store");
    struct backend_options options = { .path = work->new_path,
                                       .cluster = cluster };
    char *sql = sqlite3_mprintf("PRAGMA journal_mode = OFF;"
                                "PRAGMA synchronous = OFF; BEGIN;"
                                "UPDATE meta SET value = %Q"
                                " WHERE name = 'store' AND %d",
                                store ? store : "", store != NULL);
    int result = 0;

    check(sql != NULL);
    (void)unlink(work->new_path); /* of an interrupted call */
    if (!cluster)
        result = refuse(work, "its cluster cannot be read; restore a backup");
    if (result == 0) {
        work->to = backend_sqlite.open(&options, BACKEND_WRITER, work->error);
        result = work->to ? 0 : -1;
    }
    if (result == 0 && sqlite_run_text(work->to, sql) != SQLITE_OK)
        result = sqlite_failed(work->to, work->error);
    for (int i = 0; i < TO_COUNT && result == 0; i++)
        if (sqlite3_prepare_v2(work->to->db, to_sql[i], -1, &work->write[i],
                               NULL) != SQLITE_OK)
            result = sqlite_failed(work->to, work->error);
    sqlite3_free(sql);
    mem_free(cluster);
    mem_free(store);
    return result;
}

/* ---- tables ---- */

/* Copies rows until the end or the damage. -1: the new file cannot be written. */
static int copy_rows(struct work *work, sqlite3_stmt *from, sqlite3_stmt *into,
                     bool *is_whole)
{
    int result;

    while ((result = sqlite3_step(from)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(from); i++)
            check(sqlite3_bind_value(into, i + 1, sqlite3_column_value(from, i)) ==
                  SQLITE_OK);
        if (sqlite3_step(into) != SQLITE_DONE)
            return sqlite_failed(work->to, work->error);
        check(sqlite3_reset(into) == SQLITE_OK);
    }
    *is_whole = result == SQLITE_DONE;
    return 0;
}

static int copy_table(struct work *work, size_t which)
{
    sqlite3_stmt *forth = NULL, *back = NULL, *into = NULL;
    bool is_whole = false, ignored;
    int result = -1;

    if (sqlite3_prepare_v2(work->from, tables[which].forth, -1, &forth, NULL) != SQLITE_OK)
        return 0; /* a file of an older version lacks the table */
    check(sqlite3_prepare_v2(work->from, tables[which].back, -1, &back, NULL) ==
          SQLITE_OK);
    check(sqlite3_prepare_v2(work->to->db, tables[which].into, -1, &into,
                             NULL) == SQLITE_OK);
    result = copy_rows(work, forth, into, &is_whole);
    if (result == 0 && !is_whole)
        result = copy_rows(work, back, into, &ignored);
    if (!is_whole)
        tell_lost(work, "table %s: some rows", tables[which].name);
    (void)sqlite3_finalize(forth); /* errors were told */
    (void)sqlite3_finalize(back);
    (void)sqlite3_finalize(into);
    return result;
}

/* ---- entities ---- */

struct stream {
    int64_t entity;
    struct slice pid;
    uint64_t key;
    uint64_t first, last; /* numbers of the records that were kept; 0: none */
    uint64_t newest;  /* good snapshot */
    bool is_own;      /* a shard's */
    bool is_whole;    /* nothing is lost */
    bool may_be_whole; /* a damaged page follows, which may have other entities only */
};

/* Puts an event or a snapshot. */
static int put_record(struct work *work, int which, const struct stream *stream,
                      uint64_t seq, struct slice bytes)
{
    sqlite3_stmt *statement = work->write[which];

    check(sqlite3_bind_int64(statement, 1, stream->entity) == SQLITE_OK &&
          sqlite3_bind_int64(statement, 2, (sqlite3_int64)seq) == SQLITE_OK &&
          sqlite3_bind_blob64(statement, 3, bytes.data, bytes.size,
                              SQLITE_STATIC) == SQLITE_OK);
    if (sqlite3_step(statement) != SQLITE_DONE)
        return sqlite_failed(work->to, work->error);
    check(sqlite3_reset(statement) == SQLITE_OK);
    work->rebuild->events += which == TO_EVENT;
    return 0;
}

/* Copies good snapshots until the end or the damage. */
static int copy_snapshots(struct work *work, int which, const struct stream *stream,
                          bool *is_whole)
{
    sqlite3_stmt *statement = work->read[which];
    int found, result = 0;

    check(sqlite3_bind_int64(statement, 1, stream->entity) == SQLITE_OK);
    *is_whole = true;
    while (result == 0 && (found = sqlite3_step(statement)) == SQLITE_ROW) {
        uint64_t seq = (uint64_t)sqlite3_column_int64(statement, 0);
        const void *data = sqlite3_column_blob(statement, 1); /* null: its page is damaged */
        struct slice bytes = slice_of(data, (size_t)sqlite3_column_bytes(statement, 1));
        struct snapshot snapshot;

        if (data && !snapshot_decode(bytes, stream->key, seq, &snapshot))
            result = put_record(work, TO_SNAPSHOT, stream, seq, bytes);
        else
            *is_whole = false;
    }
    *is_whole = *is_whole && found == SQLITE_DONE;
    (void)sqlite3_reset(statement); /* the end of what can be read */
    return result;
}

/* Returns the number of the newest good snapshot up to a number; 0: there is none. */
static uint64_t newest_up_to(struct work *work, const struct stream *stream, uint64_t seq)
{
    sqlite3_stmt *statement = work->write[TO_NEWEST];
    uint64_t newest = 0;

    check(sqlite3_bind_int64(statement, 1, stream->entity) == SQLITE_OK &&
          sqlite3_bind_int64(statement, 2, (sqlite3_int64)seq) == SQLITE_OK);
    if (sqlite3_step(statement) == SQLITE_ROW)
        newest = (uint64_t)sqlite3_column_int64(statement, 0);
    (void)sqlite3_reset(statement); /* then all events are needed */
    return newest;
}

/* Copies the snapshots of an entity, and notes the newest one. */
static int copy_images(struct work *work, struct stream *stream)
{
    bool is_whole = false, ignored;
    int result = copy_snapshots(work, FROM_SNAPSHOTS, stream, &is_whole);

    if (result == 0 && !is_whole)
        result = copy_snapshots(work, FROM_SNAPSHOTS_BACK, stream, &ignored);
    if (!is_whole)
        tell_lost(work, "snapshots of entity %.*s: some, or all", (int)stream->pid.size,
                  (const char *)stream->pid.data);
    stream->newest = newest_up_to(work, stream, INT64_MAX);
    return result;
}

static int cut_events(struct work *work, const struct stream *stream)
{
    sqlite3_stmt *cut = work->write[TO_CUT];

    check(sqlite3_bind_int64(cut, 1, stream->entity) == SQLITE_OK);
    if (sqlite3_step(cut) != SQLITE_DONE)
        return sqlite_failed(work->to, work->error);
    check(sqlite3_reset(cut) == SQLITE_OK);
    return 0;
}

/* Deletes the snapshots that the kept events do not follow, and then events that no snapshot leads to. */
static int trim_images(struct work *work, struct stream *stream)
{
    sqlite3_stmt *statement = work->write[TO_TRIM];

    check(sqlite3_bind_int64(statement, 1, stream->entity) == SQLITE_OK &&
          sqlite3_bind_int64(statement, 2, stream->first ? (sqlite3_int64)stream->first - 1 : 0) == SQLITE_OK &&
          sqlite3_bind_int64(statement, 3, (sqlite3_int64)stream->last) == SQLITE_OK);
    if (sqlite3_step(statement) != SQLITE_DONE)
        return sqlite_failed(work->to, work->error);
    check(sqlite3_reset(statement) == SQLITE_OK);
    if (stream->first <= 1 || newest_up_to(work, stream, INT64_MAX))
        return 0;
    stream->first = stream->last = 0;
    stream->is_whole = stream->may_be_whole = false;
    return cut_events(work, stream);
}

/* Copies records from the first one on, until one is missing or damaged. */
static int copy_forth(struct work *work, struct stream *stream)
{
    sqlite3_stmt *statement = work->read[FROM_EVENTS];
    int found, result = 0;
    bool fits = true;

    check(sqlite3_bind_int64(statement, 1, stream->entity) == SQLITE_OK);
    while (result == 0 && fits && (found = sqlite3_step(statement)) == SQLITE_ROW) {
        uint64_t seq = (uint64_t)sqlite3_column_int64(statement, 0);
        struct slice bytes =
            slice_of(sqlite3_column_blob(statement, 1),
                     (size_t)sqlite3_column_bytes(statement, 1));
        struct record record;

        fits = (seq == stream->last + 1 ||
                (!stream->last && (stream->is_own || seq <= stream->newest + 1))) &&
               !record_decode(bytes, stream->key, seq, &record);
        if (!fits)
            break;
        result = put_record(work, TO_EVENT, stream, seq, bytes);
        stream->first = stream->first ? stream->first : seq;
        stream->last = seq;
    }
    stream->is_whole = fits && found == SQLITE_DONE;
    stream->may_be_whole = fits;
    (void)sqlite3_reset(statement); /* the end of what can be read */
    return result;
}

/* Tells whether a record behind the damage can be read. */
static bool has_later(struct work *work, const struct stream *stream)
{
    sqlite3_stmt *statement = work->read[FROM_EVENTS_BACK];
    bool has;

    check(sqlite3_bind_int64(statement, 1, stream->entity) == SQLITE_OK);
    has = sqlite3_step(statement) == SQLITE_ROW &&
          (uint64_t)sqlite3_column_int64(statement, 0) > stream->last;
    (void)sqlite3_reset(statement); /* the end of what can be read */
    return has;
}

/* Finds the number behind which all records are intact, and which replaces those before: the newest base of a
 * shard's stream, or the event behind a good snapshot; 0: none. */
static uint64_t find_base(struct work *work, struct stream *stream)
{
    sqlite3_stmt *statement = work->read[FROM_EVENTS_BACK];
    uint64_t base = 0, before = 0;

    check(sqlite3_bind_int64(statement, 1, stream->entity) == SQLITE_OK);
    while (!base && sqlite3_step(statement) == SQLITE_ROW) {
        uint64_t seq = (uint64_t)sqlite3_column_int64(statement, 0);
        struct slice bytes =
            slice_of(sqlite3_column_blob(statement, 1),
                     (size_t)sqlite3_column_bytes(statement, 1));
        struct record record;

        if ((before && seq + 1 != before) ||
            record_decode(bytes, stream->key, seq, &record) != NULL)
            break;
        if (!before && !stream->is_own)
            stream->newest = newest_up_to(work, stream, seq);
        before = seq;
        if (stream->is_own ? record.event_type == 0 : stream->newest && seq <= stream->newest + 1)
            base = seq;
    }
    (void)sqlite3_reset(statement); /* as above */
    return base;
}

/* Replaces what was copied by the part from a number on, which has all that came before. */
static int copy_from_base(struct work *work, struct stream *stream, uint64_t base)
{
    sqlite3_stmt *statement = work->read[FROM_EVENTS_BACK];
    int result = cut_events(work, stream);

    if (!stream->is_own)
        tell_lost(work, "some events of entity %.*s below %llu, which a snapshot replaces",
                  (int)stream->pid.size, (const char *)stream->pid.data, (unsigned long long)base);
    check(sqlite3_bind_int64(statement, 1, stream->entity) == SQLITE_OK);
    while (result == 0 && sqlite3_step(statement) == SQLITE_ROW &&
           (uint64_t)sqlite3_column_int64(statement, 0) >= base)
        result = put_record(work, TO_EVENT, stream,
                            (uint64_t)sqlite3_column_int64(statement, 0),
                            slice_of(sqlite3_column_blob(statement, 1),
                                     (size_t)sqlite3_column_bytes(statement, 1)));
    (void)sqlite3_reset(statement); /* as above */
    stream->first = base;
    stream->last = INT64_MAX;
    stream->is_whole = true;
    return result;
}

static int copy_entity(struct work *work, int64_t entity, struct slice pid)
{
    struct stream stream = { .entity = entity,
                             .pid = pid,
                             .key = record_key(pid),
                             .is_own = pid.size && pid.data[0] == '|' };
    sqlite3_stmt *statement = work->write[TO_ENTITY];
    uint64_t base;
    int result;

    check(sqlite3_bind_int64(statement, 1, entity) == SQLITE_OK &&
          sqlite3_bind_text64(statement, 2, (const char *)pid.data, pid.size,
                              SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK);
    if (sqlite3_step(statement) != SQLITE_DONE)
        return sqlite_failed(work->to, work->error);
    check(sqlite3_reset(statement) == SQLITE_OK);
    if (!sqlite3_changes(work->to->db))
        return 0; /* it was copied before */
    work->rebuild->entities++;
    result = stream.is_own ? 0 : copy_images(work, &stream);
    if (result == 0)
        result = copy_forth(work, &stream);
    base = result == 0 && !stream.is_whole && (stream.is_own || stream.newest)
               ? find_base(work, &stream)
               : 0;
    if (base > stream.last)
        result = copy_from_base(work, &stream, base);
    if (result == 0 && !stream.is_own)
        result = trim_images(work, &stream);
    if (!stream.is_whole)
        tell_lost(work, "entity %.*s: events from %llu on%s", (int)pid.size,
                  (const char *)pid.data,
                  (unsigned long long)stream.last + 1,
                  stream.may_be_whole && !has_later(work, &stream)
                      ? ", if there were any"
                      : "");
    return result;
}

/* Rows are never deleted, so each number up to the highest is tried. */
static int copy_rows_of_entities(struct work *work)
{
    sqlite3_stmt *last = work->read[FROM_LAST];
    sqlite3_stmt *row = work->read[FROM_ROW];
    int64_t count = 0;
    int result = 0;

    if (sqlite3_step(last) == SQLITE_ROW)
        count = sqlite3_column_int64(last, 0);
    (void)sqlite3_reset(last); /* then the index has them */
    for (int64_t entity = 1; entity <= count && result == 0; entity++) {
        check(sqlite3_bind_int64(row, 1, entity) == SQLITE_OK);
        if (sqlite3_step(row) == SQLITE_ROW)
            result = copy_entity(
                work, entity,
                slice_of(sqlite3_column_text(row, 0),
                         (size_t)sqlite3_column_bytes(row, 0)));
        (void)sqlite3_reset(row); /* as above */
    }
    return result;
}

/* Copies the entities that only the index has. */
static int copy_indexed_entities(struct work *work, int which)
{
    sqlite3_stmt *statement = work->read[which];
    int result = 0;

    while (result == 0 && sqlite3_step(statement) == SQLITE_ROW)
        result = copy_entity(work, sqlite3_column_int64(statement, 0),
                             slice_of(sqlite3_column_text(statement, 1),
                                      (size_t)sqlite3_column_bytes(statement, 1)));
    (void)sqlite3_reset(statement); /* the end of what can be read */
    return result;
}

static int copy_all(struct work *work)
{
    /* A term below those of the fences would refuse every claim. */
    static const char raise_terms[] =
        "INSERT OR REPLACE INTO term"
        " SELECT type, max(term) FROM (SELECT type, term FROM fence"
        " UNION ALL SELECT type, term FROM term) GROUP BY type;"
        "COMMIT";
    int result = 0;

    for (size_t i = 0; i < sizeof tables / sizeof *tables && result == 0; i++)
        result = copy_table(work, i);
    if (result == 0)
        result = copy_rows_of_entities(work);
    if (result == 0)
        result = copy_indexed_entities(work, FROM_PID);
    if (result == 0)
        result = copy_indexed_entities(work, FROM_PID_BACK);
    if (result == 0 && sqlite_run_text(work->to, raise_terms) != SQLITE_OK)
        result = sqlite_failed(work->to, work->error);
    return result;
}

/* ---- the end ---- */

static int sync_path(const char *path, int flags)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | flags);
    int result = file < 0 ? -1 : fsync(file);

    if (file >= 0)
        (void)close(file); /* nothing was written through it */
    return result;
}

static int sync_folder(const char *path)
{
    const char *end = strrchr(path, '/');
    char *folder = end ? mem_copy(path, (size_t)(end - path) + 1) : mem_text(".");
    int result = sync_path(folder, O_DIRECTORY);

    mem_free(folder);
    return result;
}

/* A file has the name at every moment: a node would take a missing one for a new journal. */
static int put_in_place(struct work *work)
{
    if (sync_path(work->new_path, 0) != 0 ||
        link(work->path, work->damaged_path) != 0 ||
        rename(work->new_path, work->path) != 0 ||
        (unlink(work->turn_path) != 0 && errno != ENOENT) ||
        sync_folder(work->path) != 0)
        return refuse(work, strerror(errno));
    return 0;
}

static void close_to(struct work *work)
{
    for (int i = 0; i < TO_COUNT; i++)
        (void)sqlite3_finalize(work->write[i]); /* errors were reported */
    if (work->to)
        backend_sqlite.close(work->to);
    (void)unlink(work->new_turn_path); /* it was made with the new file */
}

int backend_sqlite_rebuild(const char *path, struct backend_rebuild *rebuild,
                           char *error)
{
    struct work work = { .rebuild = rebuild, .path = path, .error = error };
    struct stat found;
    int result;

    rebuild->entities = rebuild->events = 0;
    work.new_path = path_with(path, ".new");
    work.turn_path = path_with(path, "-turn");
    work.new_turn_path = path_with(path, ".new-turn");
    work.damaged_path = path_with(path, ".damaged");
    if (lstat(work.damaged_path, &found) == 0)
        result = refuse(&work, "FILE.damaged exists: move it away first");
    else
        result = open_from(&work);
    if (result == 0)
        result = open_to(&work);
    if (result == 0)
        result = copy_all(&work);
    close_to(&work);
    if (result == 0)
        result = put_in_place(&work);
    else
        (void)unlink(work.new_path); /* incomplete */
    for (int i = 0; i < FROM_COUNT; i++)
        (void)sqlite3_finalize(work.read[i]); /* as above */
    (void)sqlite3_close(work.from); /* the lock was held until the new file is in place */
    mem_free(work.new_path);
    mem_free(work.turn_path);
    mem_free(work.new_turn_path);
    mem_free(work.damaged_path);
    return result;
}
