/* How long SQLite's write-ahead log gets while readers take turns without a pause, so that it is never emptied in passing. */
#define _GNU_SOURCE
#include "stores.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

#include "base/limits.h"
#include "host/store_sqlite.h"

enum {
    PAGES = 2048, /* that each step adds to the log */
    STEPS = 10,   /* above the limit, if it could grow */
    SLACK = STORE_WAL_PAGES_MAX / 4, /* readers may be late a few times on a busy machine */
    PAGE_SIZE = 4096 + 24,
    READ_NS = 5000000
};

/* Of two readers one is always in the midst of a read. */
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

/* Left open, with as much work as fits into its time on any machine. */
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

/* By another program's row, which costs no sync. */
static void grow(sqlite3 *other)
{
    run(other, "INSERT OR REPLACE INTO other VALUES(1, randomblob(8380000))");
}

static void claim(void *writer)
{
    struct store_request *request = store_request_claim(
        slice_text("T"), slice_text("s"), (struct fence){ 1, 1 });

    store_sqlite.write(writer, &request, 1);
    assert_int_equal(request->result, STORE_DONE);
    store_request_free(request);
}

/* A commit and what comes after it, among readers. */
static void commit(void *writer, struct readers *readers, uint64_t seq)
{
    struct store_request *request =
        append_new("s", (struct fence){ 1, 1 }, "T|x", seq, "e");
    pthread_t thread;

    store_sqlite.write(writer, &request, 1);
    assert_int_equal(request->result, STORE_DONE);
    store_request_free(request);
    atomic_store(&readers->end, 0);
    assert_int_equal(pthread_create(&thread, NULL, take_turns, readers), 0);
    store_sqlite.tidy(writer);
    atomic_store(&readers->end, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void the_log_is_emptied_though_somebody_always_reads(void **state)
{
    char folder[200];
    char path[220];
    char error[STORE_ERROR_MAX] = "";
    struct store_options options = { .path = path, .cluster = "c" };
    struct readers readers = { .current = 0 };
    sqlite3 *other;
    void *writer;
    (void)state;

    folder_make(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/journal.db", folder);
    writer = store_sqlite.open(&options, STORE_WRITER, error);
    assert_string_equal(error, "");
    claim(writer);
    other = open_db(path);
    run(other, "PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0;"
               "CREATE TABLE other(id INTEGER PRIMARY KEY, x)");
    for (int i = 0; i < 2; i++)
        readers.db[i] = open_db(path);
    run(readers.db[0], "BEGIN; SELECT count(*) FROM sqlite_master");
    while (log_pages(path) < STORE_WAL_PAGES_MAX)
        grow(other);
    for (int step = 0; step < STEPS; step++) {
        commit(writer, &readers, (uint64_t)step + 1);
        grow(other);
        assert_true(log_pages(path) < STORE_WAL_PAGES_MAX + SLACK);
    }
    run(readers.db[readers.current], "COMMIT");
    for (int i = 0; i < 2; i++)
        assert_int_equal(sqlite3_close(readers.db[i]), SQLITE_OK);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    store_sqlite.close(writer);
    folder_drop(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_log_is_emptied_though_somebody_always_reads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
