/* Opens an SQLite journal: files and settings. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host/backend_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "host/backend_holder.h"
#include "host/backend_place.h"
#include "host/backend_sqlite_inside.h"
#include "host/backend_sqlite_pages.h"
#include "host/file.h"

#define READ_LOCK_WAIT_MS 1000 /* readers wait only while another process recovers the log */

static const char *const write_sql[SQL_COUNT] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_CLAIMS] = "SELECT count FROM claims WHERE id = 1",
    [SQL_CLAIMS_RAISE] = "UPDATE claims SET count = count + 1 WHERE id = 1",
    [SQL_FENCE] = "SELECT term, epoch FROM fence WHERE type = ? AND shard = ?",
    [SQL_FENCE_SET] = "REPLACE INTO fence VALUES(?, ?, ?, ?)",
    [SQL_SHARDS] = "SELECT shard FROM fence WHERE type = ?",
    [SQL_TERM] = "SELECT term FROM term WHERE type = ?",
    [SQL_TERM_SET] = "REPLACE INTO term VALUES(?, ?)",
    [SQL_PROOF] = "SELECT proof, (SELECT min(term) FROM proof WHERE type = ?1)"
                  " FROM (SELECT 1) LEFT JOIN proof"
                  " ON type = ?1 AND term = ?2",
    [SQL_PROOF_ADD] = "REPLACE INTO proof VALUES(?, ?, ?)",
    [SQL_PROOF_CUT] = "DELETE FROM proof WHERE type = ?1 AND term <="
                      " (SELECT term FROM proof WHERE type = ?1"
                      "  ORDER BY term DESC LIMIT 1 OFFSET ?2)",
    [SQL_ENTITY] = "SELECT id FROM entity WHERE pid = ?",
    [SQL_ENTITY_ADD] = "INSERT INTO entity(pid) VALUES(?)",
    [SQL_LAST] = "SELECT max(seq) FROM event WHERE entity = ?",
    [SQL_RECORD] = "SELECT record FROM event WHERE entity = ? AND seq = ?",
    [SQL_EVENT_ADD] = "INSERT INTO event VALUES(?, ?, ?)",
    [SQL_FIRST] = "SELECT min(seq) FROM event WHERE entity = ?",
    [SQL_CUT] = "DELETE FROM event WHERE entity = ? AND seq < ?",
    [SQL_SAVE] = "REPLACE INTO snapshot VALUES(?, ?, ?)",
    [SQL_SAVE_KEEP] = "DELETE FROM snapshot WHERE entity = ?1 AND seq <="
                      " (SELECT seq FROM snapshot WHERE entity = ?1"
                      "  ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
    [SQL_SAVE_OLDEST] = ("SELECT CASE WHEN count(*) < ?2 THEN 0 ELSE min(seq) END"
                         " FROM snapshot WHERE entity = ?1"), /* clang warns of two texts without () */
    [SQL_DROP] = "DELETE FROM snapshot WHERE entity = ? AND seq >= ?",
};

static const char *const read_sql[SQL_READ_COUNT] = {
    [SQL_READ_BEGIN] = "BEGIN",
    [SQL_READ_END] = "COMMIT",
    [SQL_REPLAY] = "SELECT event.seq, event.record FROM entity"
                   " CROSS JOIN event ON event.entity = entity.id"
                   " WHERE entity.pid = ? AND event.seq >= ?"
                   " ORDER BY event.seq",
    [SQL_REPLAY_LAST] = "SELECT event.seq, event.record FROM entity"
                        " CROSS JOIN event ON event.entity = entity.id"
                        " WHERE entity.pid = ?"
                        " ORDER BY event.seq DESC LIMIT 1",
    [SQL_LOAD] = "SELECT snapshot.seq, snapshot.entity FROM entity"
                 " CROSS JOIN snapshot ON snapshot.entity = entity.id"
                 " WHERE entity.pid = ? AND snapshot.seq <= ?"
                 " ORDER BY snapshot.seq DESC LIMIT 1",
    [SQL_LOAD_RECORD] = "SELECT record FROM snapshot WHERE entity = ? AND seq = ?",
};

uint64_t sqlite_now(void)
{
    struct timespec now;

    check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void sqlite_pause(uint32_t attempt)
{
    struct timespec pause = { 0, 100000 }; /* 0.1 ms to 2 ms */

    pause.tv_nsec *= attempt < 20 ? attempt + 1 : 20;
    (void)nanosleep(&pause, NULL);
}

int sqlite_run(struct sqlite_store *store, enum statement which)
{
    int result = sqlite3_step(store->statements[which]);
    int reset = sqlite3_reset(store->statements[which]);

    return result == SQLITE_DONE || result == SQLITE_ROW ? reset : result;
}

bool sqlite_is_busy(int result)
{
    return (result & 0xff) == SQLITE_BUSY || (result & 0xff) == SQLITE_LOCKED;
}

int sqlite_run_text(struct sqlite_store *store, const char *sql)
{
    uint64_t end = sqlite_now() + store->lock_wait_ms * UINT64_C(1000000);
    int result;

    for (uint32_t attempt = 0;; attempt++) {
        result = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
        if (!sqlite_is_busy(result) || sqlite_now() > end)
            return result;
        sqlite_pause(attempt);
    }
}

void sqlite_locked(const struct sqlite_store *store, char *error)
{
    uint32_t holder = backend_holder(store->path);

    if (holder)
        (void)snprintf(error, BACKEND_ERROR_MAX,
                       "journal %s: process %u has the write lock, waited "
                       "%u ms; if it is stopped, continue or kill it",
                       store->label, holder,
                       store->lock_wait_ms); /* fits */
    else
        (void)snprintf(error, BACKEND_ERROR_MAX,
                       "journal %s: no write lock in %u ms, others have it",
                       store->label, store->lock_wait_ms); /* fits */
}

/* Returns the number of the system's error, which SQLite's texts leave out; 0: there is none. A commit
 * that cannot enlarge the mapped index of the log has lost it. */
static int system_error_of(const struct sqlite_store *store)
{
    int code = sqlite3_extended_errcode(store->db);
    int system_error = sqlite3_system_errno(store->db);

    if ((code & 0xff) == SQLITE_FULL ||
        (code == SQLITE_IOERR_SHMSIZE && !system_error))
        return ENOSPC;
    return (code & 0xff) == SQLITE_IOERR ? system_error : 0;
}

bool sqlite_is_full(const struct sqlite_store *store)
{
    return system_error_of(store) == ENOSPC;
}

void sqlite_describe(const struct sqlite_store *store, char *error)
{
    bool is_damaged = sqlite3_extended_errcode(store->db) == SQLITE_IOERR_DATA;
    int system_error = system_error_of(store);
    char page[SQLITE_PAGES_TEXT];

    sqlite_pages_describe(page, sizeof page);
    (void)snprintf(error, BACKEND_ERROR_MAX, "journal %s: %s", store->label,
                   is_damaged     ? page
                   : system_error ? strerror(system_error)
                                  : sqlite3_errmsg(store->db)); /* may be cut */
}

int sqlite_failed(struct sqlite_store *store, char *error)
{
    int code = sqlite3_errcode(store->db);

    if (sqlite_is_busy(code))
        sqlite_locked(store, error);
    else if (code == SQLITE_NOTADB)
        (void)snprintf(error, BACKEND_ERROR_MAX,
                       "journal %s: the file is not a database", store->label);
    else
        sqlite_describe(store, error);
    return -1;
}

int sqlite_refused(struct sqlite_store *store, char *error,
                   const char *format, ...)
{
    int used = snprintf(error, BACKEND_ERROR_MAX, "journal %s: ", store->label);
    va_list arguments;

    if (used < 0 || used >= BACKEND_ERROR_MAX)
        return -1;
    va_start(arguments, format);
    (void)vsnprintf(error + used, BACKEND_ERROR_MAX - (size_t)used, format,
                    arguments); /* may be cut */
    va_end(arguments);
    return -1;
}

static int prepare(struct sqlite_store *store, const char *const *sql,
                   uint32_t count, char *error)
{
    for (uint32_t i = 0; i < count; i++)
        if (sqlite3_prepare_v3(store->db, sql[i], -1,
                               SQLITE_PREPARE_PERSISTENT,
                               &store->statements[i], NULL) != SQLITE_OK)
            return sqlite_failed(store, error);
    return 0;
}

static int on_wal(void *context, sqlite3 *db, const char *name, int pages)
{
    struct sqlite_store *store = context;

    (void)db;
    (void)name;
    store->wal_pages = pages;
    return SQLITE_OK;
}

/* Mode 0600. The file must be new: closing one that SQLite has open in this process drops SQLite's
 * locks. */
static void create_file(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                    0600);

    if (file >= 0)
        (void)close(file); /* nothing was written */
}

static int open_file(struct sqlite_store *store, char *error)
{
    int reserved = SQLITE_PAGES_RESERVED;
    int result;

    if (store->mode == BACKEND_WRITER)
        create_file(store->path);
    result = sqlite3_open_v2(store->path, &store->db,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                                 SQLITE_OPEN_NOFOLLOW,
                             sqlite_pages_vfs());
    if (result == SQLITE_OK) /* an older file stays as it is */
        result = sqlite3_file_control(store->db, "main",
                                      SQLITE_FCNTL_RESERVE_BYTES, &reserved);
    if (result == SQLITE_OK)
        return 0;
    result = sqlite3_system_errno(store->db);
    if (!result && access(store->path, R_OK | W_OK) != 0)
        result = errno;
    return sqlite_refused(store, error, "cannot open the file: %s",
                   result ? strerror(result) : sqlite3_errmsg(store->db));
}

/* Marks of an earlier start may be older than the file, after a loss of power or a restore. */
static int check_marks(struct sqlite_store *store, char *error)
{
    if (sqlite_pages_are_kept(sqlite_file_of(store)))
        return 0;
    if (!turn_is_alone(store->turn))
        return sqlite_refused(store, error,
                              "it was overwritten while other processes have it "
                              "open: stop all of them and restore the file");
    page_marks_clear(turn_marks(store->turn));
    return 0;
}

static void copy_log(struct sqlite_store *store)
{
    (void)sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_PASSIVE,
                                    NULL, NULL); /* others may be doing it */
}

/* Writes a page that no copy has, if no page has a mark. */
static void set_first_mark(struct sqlite_store *store)
{
    if (sqlite_pages_have_sums(sqlite_file_of(store)) &&
        page_marks_is_empty(turn_marks(store->turn)) &&
        sqlite_run_text(store, "REPLACE INTO meta VALUES('stamp', hex(randomblob(16)))") ==
            SQLITE_OK)
        copy_log(store);
}

/* The caller has the turn. */
static int set_up_writer(struct sqlite_store *store, char *error)
{
    if (sqlite3_db_readonly(store->db, "main") == 1)
        return sqlite_refused(store, error,
                              "the file cannot be written: its permissions "
                              "or its file system allow reading only");
    if (sqlite_run_text(store, "PRAGMA journal_mode = WAL") != SQLITE_OK ||
        sqlite_run_text(store, "PRAGMA synchronous = FULL;"
                        "PRAGMA cache_size = -32768;"
                        "PRAGMA trusted_schema = OFF") != SQLITE_OK)
        return sqlite_failed(store, error);
    if (sqlite_set_up_schema(store, error) != 0 || check_marks(store, error) != 0)
        return -1;
    if (turn_is_alone(store->turn))
        sqlite_pages_refuse_missing(sqlite_file_of(store));
    sqlite_fill_log(store);
    copy_log(store); /* an earlier process may have left frames in it that were never synced */
    set_first_mark(store);
    sqlite_pages_sign_all(sqlite_file_of(store), BACKEND_SIGN_PAGES);
    turn_hold(store->turn);
    store->has_marks = true;
    store->frames_moved = sqlite_pages_damaged_frames();
    /* sqlite_tidy empties the log. */
    (void)sqlite3_wal_hook(store->db, on_wal, store);
    store->checkpoint_at = BACKEND_WAL_PAGES;
    return prepare(store, write_sql, SQL_COUNT, error);
}

static int set_up_reader(struct sqlite_store *store, char *error)
{
    if (sqlite3_busy_timeout(store->db, READ_LOCK_WAIT_MS) != SQLITE_OK ||
        sqlite_run_text(store, "PRAGMA cache_size = -16384;"
                        "PRAGMA trusted_schema = OFF;"
                        "PRAGMA query_only = ON") != SQLITE_OK)
        return sqlite_failed(store, error);
    return prepare(store, read_sql, SQL_READ_COUNT, error);
}

static int connect_store(struct sqlite_store *store, char *error)
{
    int result = open_file(store, error);

    if (result == 0 && store->turn)
        sqlite_pages_mark(sqlite_file_of(store), turn_marks(store->turn));
    if (result == 0 && store->mode == BACKEND_READER) {
        result = set_up_reader(store, error);
    } else if (result == 0 && store->mode == BACKEND_CHECKER) {
        result = sqlite_check_set_up(store, error);
    } else if (result == 0) {
        turn_take(store->turn);
        result = set_up_writer(store, error);
        turn_give(store->turn);
    }
    if (result == 0)
        sqlite_watch(store);
    return result;
}

void sqlite_forget(struct sqlite_store *store)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&store->entities, &at, &entry);)
        mem_free(entry.value);
    for (uint32_t at = 0; map_next(&store->fences, &at, &entry);)
        mem_free(entry.value);
    map_fini(&store->entities);
    map_fini(&store->fences);
    store->claims = -1;
}

/* The last process's close copies the log into the file and deletes it. */
static void close_db(void *context)
{
    struct sqlite_store *store = context;

    check(sqlite3_close(store->db) == SQLITE_OK);
}

static void close_store(void *opened)
{
    struct sqlite_store *store = opened;

    for (uint32_t i = 0; i < SQL_COUNT && !store->is_broken; i++)
        (void)sqlite3_finalize(store->statements[i]); /* errors were reported before */
    sqlite_check_fini(store);
    if (store->db && !store->is_broken)
        (void)sqlite_guard(store, close_db, store);
    sqlite_forget(store);
    mem_free(store->verdicts);
    turn_close(store->turn);
    if (store->folder >= 0)
        (void)close(store->folder); /* nothing was written */
    buf_fini(&store->key);
    mem_free(store->path);
    mem_free(store->cluster);
    mem_free(store);
}

static struct turn *open_turn(const char *path, bool creates, char *error)
{
    struct buf name = { 0 };
    struct turn *turn;

    buf_put_text(&name, path);
    buf_put(&name, "-turn", sizeof "-turn");
    turn = turn_open((const char *)name.data, creates, error);
    buf_fini(&name);
    return turn;
}

/* One level: a longer missing path is more likely a mistake. */
static int make_directory(struct sqlite_store *store, char *error)
{
    const char *end = strrchr(store->path, '/');
    char *directory;
    int result = 0;

    if (!end || end == store->path)
        return 0;
    directory = mem_copy(store->path, (size_t)(end - store->path));
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        result = sqlite_refused(store, error, "cannot make its folder: %s",
                                strerror(errno));
    mem_free(directory);
    return result;
}

/* SQLITE_OPEN_NOFOLLOW refuses links anywhere in a path, but only the file itself must not be one.
 * If the directory cannot be resolved, opening reports why. */
static void resolve_directory(struct sqlite_store *store)
{
    const char *name = strrchr(store->path, '/');
    char found[PATH_MAX];
    struct buf path = { 0 };
    char *directory;

    if (!name)
        return; /* its path has no links */
    name++;
    directory = mem_copy(store->path, (size_t)(name - store->path));
    if (realpath(directory, found)) {
        buf_put_text(&path, found);
        buf_put_text(&path, "/");
        buf_put(&path, name, strlen(name) + 1);
        mem_free(store->path);
        store->path = mem_text((const char *)path.data);
        backend_place_label(store->path, store->label);
        buf_fini(&path);
    }
    mem_free(directory);
}

/* Without one, the files are watched by their path alone. */
static void open_directory(struct sqlite_store *store)
{
    const char *name = strrchr(store->path, '/');
    char *directory =
        name ? mem_copy(store->path, (size_t)(name - store->path) + 1)
             : mem_text(".");

    store->folder = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    mem_free(directory);
}

static int refuse_network(struct sqlite_store *store, char *error)
{
    const char *name = strrchr(store->path, '/');
    char *directory =
        name ? mem_copy(store->path, (size_t)(name - store->path) + 1)
             : mem_text(".");
    const char *network = backend_place_network(directory);
    int result = 0;

    if (network)
        result = sqlite_refused(store, error,
                                "it is on a network file system (%s), where "
                                "SQLite's locks do not work: put it on a local "
                                "disk",
                                network);
    mem_free(directory);
    return result;
}

/* SQLite waits for ever for the writer of a FIFO. */
static int refuse_beside(struct sqlite_store *store, char *error)
{
    static const char *const ends[] = { "-wal", "-shm", "-turn", "-journal" };
    int result = 0;

    for (size_t i = 0; i < sizeof ends / sizeof *ends && result == 0; i++) {
        struct buf path = { 0 };

        buf_put_text(&path, store->path);
        buf_put(&path, ends[i], strlen(ends[i]) + 1);
        if (file_is_endless((const char *)path.data))
            result = sqlite_refused(store, error, "its file FILE%s is no regular file: "
                                    "delete it", ends[i]);
        buf_fini(&path);
    }
    return result;
}

/* Refuses directories, links and network file systems, before SQLite creates files there. */
static int refuse_others(struct sqlite_store *store, char *error)
{
    struct stat found;

    if (refuse_network(store, error) != 0 || refuse_beside(store, error) != 0)
        return -1;
    if (lstat(store->path, &found) != 0)
        return 0;
    if (S_ISLNK(found.st_mode))
        return sqlite_refused(store, error, "cannot open the file: it is a symbolic "
                                     "link; name the file that it leads to");
    if (S_ISDIR(found.st_mode))
        return sqlite_refused(store, error, "cannot open the file: %s",
                       strerror(EISDIR));
    if (!S_ISREG(found.st_mode))
        return sqlite_refused(store, error, "cannot open the file: it is no "
                                            "regular file");
    /* Each name would have a write-ahead log of its own. */
    if (found.st_nlink > 1)
        return sqlite_refused(store, error,
                              "the file has %lu names (hard links): remove "
                              "all but one",
                              (unsigned long)found.st_nlink);
    return 0;
}

static void *open_store(const struct backend_options *options,
                        enum backend_mode mode, char *error)
{
    struct sqlite_store *store = mem_alloc(sizeof *store);
    char ignored[BACKEND_ERROR_MAX];
    bool is_ready;

    store->path = mem_text(options->path ? options->path : "");
    backend_place_label(store->path, store->label);
    store->folder = -1;
    store->cluster = mem_text(options->cluster ? options->cluster : "");
    store->lock_wait_ms = options->lock_wait_ms ? options->lock_wait_ms
                                                : BACKEND_LOCK_WAIT_MS;
    store->mode = mode;
    store->damage = options->damage;
    store->signs = options->signs;
    store->opens_moved = options->opens_moved;
    store->claims = -1;
    is_ready = mode != BACKEND_WRITER || make_directory(store, error) == 0;
    if (is_ready) {
        resolve_directory(store);
        open_directory(store);
        is_ready = refuse_others(store, error) == 0;
    }
    if (is_ready && mode == BACKEND_WRITER) {
        store->turn = open_turn(store->path, true, error);
        is_ready = store->turn != NULL;
    }
    if (is_ready && mode != BACKEND_WRITER) {
        store->turn = open_turn(store->path, false, ignored); /* a backup has none */
        store->has_marks = store->turn && !turn_is_alone(store->turn);
    }
    if (!is_ready || connect_store(store, error) != 0) {
        close_store(store);
        return NULL;
    }
    return store;
}

static void identify_store(void *opened, struct backend_identity *identity)
{
    const struct sqlite_store *store = opened;

    *identity = store->identity;
}

const struct backend_ops backend_sqlite = {
    .name = "sqlite",
    .open = open_store,
    .write = sqlite_write,
    .tidy = sqlite_tidy,
    .read = sqlite_read,
    .close = close_store,
    .identify = identify_store,
    .is_whole = sqlite_is_whole,
    .check_step = sqlite_check,
    .can_write = sqlite_can_write,
};
