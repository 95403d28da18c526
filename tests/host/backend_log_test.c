/* Tests the size of SQLite's write-ahead log while readers overlap, so that no passive checkpoint
 * empties it. Also tests the report of a reader that does not end. */
#define _GNU_SOURCE
#include "backends.h"

#include <sherd/sherd.h>

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

#include "base/limits.h"
#include "host/backend_sqlite.h"

enum {
    PAGES = 2048, /* added to the log by each step */
    STEPS = 10,   /* exceeds the limit without a bound */
    SLACK = BACKEND_WAL_PAGES_MAX / 4, /* for late readers on a busy machine */
    PAGE_SIZE = 4096 + 24,
    READ_NS = 5000000
};

#define EVENT_NS 20000000000u /* for one event, on any machine */

/* Two readers, one of which is always reading. */
struct readers {
    sqlite3 *db[2];
    int current;
    atomic_int end;
};

static void run(sqlite3 *db, const char *sql)
{
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Leaves a read open, with little work. */
static void read_some(sqlite3 *db)
{
    const uint64_t end = now_ns() + READ_NS;

    run(db, "BEGIN");
    do
        run(db, "SELECT count(*) FROM sqlite_master");
    while (now_ns() < end);
}

static void *take_turns(void *argument)
{
    struct readers *readers = argument;

    while (!atomic_load(&readers->end)) {
        read_some(readers->db[1 - readers->current]);
        run(readers->db[readers->current], "COMMIT");
        readers->current = 1 - readers->current;
    }
    return NULL;
}

static sqlite3 *open_db(const char *path)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    return db;
}

static off_t log_pages(const char *path)
{
    char name[260];
    struct stat stat_of;

    snprintf(name, sizeof name, "%s-wal", path);
    assert_int_equal(stat(name, &stat_of), 0);
    return stat_of.st_size / PAGE_SIZE;
}

/* Another program adds a row, without a sync. */
static void grow(sqlite3 *other)
{
    run(other, "INSERT OR REPLACE INTO other VALUES(1, randomblob(8380000))");
}

static void claim(void *writer)
{
    struct journal_request *request = journal_request_claim(
        slice_text("T"), slice_text("s"), (struct fence){ 1, 1 });

    backend_sqlite.write(writer, &request, 1);
    assert_int_equal(request->result, BACKEND_DONE);
    journal_request_free(request);
}

/* A commit among readers, and the work after it. */
static void commit(void *writer, struct readers *readers, uint64_t seq)
{
    struct journal_request *request =
        append_new("s", (struct fence){ 1, 1 }, "T|x", seq, "e");
    struct backend_kept kept = { 0 };
    pthread_t thread;

    backend_sqlite.write(writer, &request, 1);
    assert_int_equal(request->result, BACKEND_DONE);
    journal_request_free(request);
    atomic_store(&readers->end, 0);
    assert_int_equal(pthread_create(&thread, NULL, take_turns, readers), 0);
    backend_sqlite.tidy(writer, &kept);
    atomic_store(&readers->end, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* A store, and another program that makes its log grow. */
struct place {
    char folder[200];
    char path[220];
    void *writer;
    sqlite3 *other;
};

static void place_open(struct place *place)
{
    struct backend_options options = { .path = place->path, .cluster = "c" };
    char error[BACKEND_ERROR_MAX] = "";

    folder_make(place->folder, sizeof place->folder);
    snprintf(place->path, sizeof place->path, "%s/journal.db", place->folder);
    place->writer = backend_sqlite.open(&options, BACKEND_WRITER, error);
    assert_string_equal(error, "");
    claim(place->writer);
    place->other = open_db(place->path);
    run(place->other,
        "PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0;"
        "CREATE TABLE other(id INTEGER PRIMARY KEY, x)");
}

static void place_close(struct place *place)
{
    assert_int_equal(sqlite3_close(place->other), SQLITE_OK);
    backend_sqlite.close(place->writer);
    folder_drop(place->folder);
}

static void the_log_is_emptied_while_readers_overlap(void **state)
{
    struct readers readers = { .current = 0 };
    struct place place;
    (void)state;

    place_open(&place);
    for (int i = 0; i < 2; i++)
        readers.db[i] = open_db(place.path);
    run(readers.db[0], "BEGIN; SELECT count(*) FROM sqlite_master");
    while (log_pages(place.path) < BACKEND_WAL_PAGES_MAX)
        grow(place.other);
    for (int step = 0; step < STEPS; step++) {
        commit(place.writer, &readers, (uint64_t)step + 1);
        grow(place.other);
        assert_true(log_pages(place.path) < BACKEND_WAL_PAGES_MAX + SLACK);
    }
    run(readers.db[readers.current], "COMMIT");
    for (int i = 0; i < 2; i++)
        assert_int_equal(sqlite3_close(readers.db[i]), SQLITE_OK);
    place_close(&place);
}

/* ---- a log that another process empties ---- */

static int count_pages(void *pages, sqlite3 *db, const char *name, int count)
{
    (void)db;
    (void)name;
    *(int *)pages = count;
    return SQLITE_OK;
}

static void write_one(void *writer, uint64_t seq, struct backend_kept *kept)
{
    struct journal_request *request =
        append_new("s", (struct fence){ 1, 1 }, "T|x", seq, "e");

    backend_sqlite.write(writer, &request, 1);
    assert_int_equal(request->result, BACKEND_DONE);
    journal_request_free(request);
    backend_sqlite.tidy(writer, kept);
}

/* The log had grown far beyond the limit. Another process empties it, and the usual limit applies
 * again. */
static void a_log_emptied_by_others_keeps_its_limit(void **state)
{
    struct backend_kept kept = { 0 };
    int pages = 0; /* in the log after the other's commit */
    int before;
    sqlite3 *reader;
    struct place place;
    (void)state;

    place_open(&place);
    (void)sqlite3_wal_hook(place.other, count_pages, &pages);
    reader = open_db(place.path);
    run(reader, "BEGIN; SELECT count(*) FROM sqlite_master");
    while (pages < BACKEND_WAL_PAGES_MAX)
        grow(place.other);
    write_one(place.writer, 1, &kept);
    assert_true(kept.size >= (uint64_t)BACKEND_WAL_PAGES_MAX * 4096);
    assert_int_equal(kept.tries, 1);
    run(reader, "COMMIT");
    run(place.other, "PRAGMA wal_checkpoint(RESTART)");
    write_one(place.writer, 2, &kept);
    assert_int_equal(kept.size, 0);
    while (pages >= BACKEND_WAL_PAGES_MAX || pages < BACKEND_WAL_PAGES)
        grow(place.other);
    before = pages;
    write_one(place.writer, 3, &kept);
    grow(place.other);
    assert_true(pages <= before); /* the log began anew */
    assert_int_equal(kept.tries, 1);
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    place_close(&place);
}

/* ---- a reader that does not end ---- */

static const struct sherd_bytes nothing;
static atomic_int begins, ends; /* log lines */
static char growing[600];       /* last line */

static void keep_line(void *user, enum sherd_log_level level,
                      const char *module, const char *line)
{
    (void)user;
    (void)module;
    if (strstr(line, "write-ahead log of the journal grows")) {
        assert_int_equal(level, 2);
        snprintf(growing, sizeof growing, "%s", line);
        atomic_fetch_add(&begins, 1);
    } else if (strstr(line, "write-ahead log of the journal is short again")) {
        atomic_fetch_add(&ends, 1);
    }
}

static void apply(void *self, uint32_t type, struct sherd_bytes event)
{
    (void)self;
    (void)type;
    (void)event;
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_MESSAGE)
        sherd_persist(ctx, 1, nothing);
    return SHERD_CONTINUE;
}

static struct sherd_status status_of(struct sherd_system *system)
{
    struct sherd_status status;
    struct sherd_status numbers;

    assert_int_equal(sherd_get_status(system, &status), 0);
    numbers = status;
    sherd_status_free(&status);
    return numbers; /* does not own its arrays */
}

static uint64_t counted(struct sherd_system *system)
{
    return status_of(system).counters[SHERD_JOURNAL_LOG_KEPT];
}

/* Several events, one at a time: a state after one event is reported with the next. */
static void persist_some(struct sherd_system *system)
{
    for (int i = 0; i < 3; i++) {
        const uint64_t end = now_ns() + EVENT_NS;
        uint64_t before = status_of(system).events;

        assert_int_equal(
            sherd_system_entity_tell(system, "T", "x", 1, nothing), 0);
        while (status_of(system).events == before && now_ns() < end)
            continue; /* each check waits for the node */
        assert_true(status_of(system).events > before);
    }
}

static struct sherd_system *started(const char *path)
{
    char journal[240];
    struct sherd_options options = { .alone = 1,
                                     .port = SHERD_PORT_ANY,
                                     .lanes = 1,
                                     .log = keep_line,
                                     .log_level = SHERD_LOG_WARNING,
                                     .journal = journal };
    struct sherd_entity_type type = {
        .name = "T", .behavior = { .name = "t", .receive = receive, .apply = apply }
    };
    struct sherd_system *system;

    snprintf(journal, sizeof journal, "sqlite:%s", path);
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_entity_register(system, &type), 0);
    assert_int_equal(sherd_start(system), 0);
    persist_some(system);
    return system;
}

/* Logged once at the begin and once at the end, whatever happens between. */
static void an_endless_reader_is_reported(void **state)
{
    char folder[200];
    char path[220];
    struct sherd_system *system;
    sqlite3 *reader;
    sqlite3 *other;
    (void)state;

    folder_make(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/journal.db", folder);
    system = started(path);
    reader = open_db(path);
    run(reader, "BEGIN; SELECT count(*) FROM sqlite_master");
    other = open_db(path);
    run(other, "PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0;"
               "CREATE TABLE other(id INTEGER PRIMARY KEY, x)");
    while (log_pages(path) < BACKEND_WAL_PAGES_MAX)
        grow(other);
    assert_int_equal(counted(system), 0);
    for (int i = 0; i < 3; i++) {
        persist_some(system);
        grow(other); /* enough for another try */
    }
    assert_int_equal(counted(system), 3);
    assert_int_equal(atomic_load(&begins), 1);
    assert_int_equal(atomic_load(&ends), 0);
    assert_non_null(strstr(growing, "/journal.db-wal size=27"));
    run(reader, "COMMIT");
    persist_some(system);
    assert_int_equal(counted(system), 3);
    assert_int_equal(atomic_load(&begins), 1);
    assert_int_equal(atomic_load(&ends), 1);
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    sherd_close(system);
    folder_drop(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_log_is_emptied_while_readers_overlap),
        cmocka_unit_test(a_log_emptied_by_others_keeps_its_limit),
        cmocka_unit_test(an_endless_reader_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
