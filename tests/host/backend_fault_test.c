/* Tests the SQLite backend on a failing disk: a sync or write of the log fails once, and nothing is
 * lost, duplicated or acknowledged too early. */
#define _GNU_SOURCE
#include "backends.h"

#include <sqlite3.h>

#include "host/backend_sqlite.h"

/* SQLite's own files; the log fails on demand. */
static sqlite3_vfs faulty;
static sqlite3_vfs *real;
static sqlite3_io_methods log_methods;
static const sqlite3_io_methods *real_methods;
static int syncs_before_failure = -1; /* -1: never */
static int writes_before_failure = -1;
static int write_error;

static int log_sync(sqlite3_file *file, int flags)
{
    if (syncs_before_failure >= 0 && syncs_before_failure-- == 0)
        return SQLITE_IOERR_FSYNC;
    return real_methods->xSync(file, flags);
}

static int log_write(sqlite3_file *file, const void *data, int size,
                     sqlite3_int64 at)
{
    if (writes_before_failure >= 0 && writes_before_failure-- == 0)
        return write_error;
    return real_methods->xWrite(file, data, size, at);
}

static int open_faulty(sqlite3_vfs *vfs, sqlite3_filename name,
                       sqlite3_file *file, int flags, int *flags_out)
{
    int result = real->xOpen(real, name, file, flags, flags_out);

    (void)vfs;
    if (result == SQLITE_OK && (flags & SQLITE_OPEN_WAL)) {
        real_methods = file->pMethods;
        log_methods = *real_methods;
        log_methods.xSync = log_sync;
        log_methods.xWrite = log_write;
        file->pMethods = &log_methods;
    }
    return result;
}

struct place {
    void *writer;
    char folder[200];
    char path[220];
};

static int place_make(void **state)
{
    struct place *place = mem_alloc(sizeof *place);
    struct backend_options options = { .path = place->path, .cluster = "c" };
    char error[BACKEND_ERROR_MAX] = "";
    struct journal_request *request = journal_request_claim(
        slice_text("T"), slice_text("s"), (struct fence){ 1, 1 });

    folder_make(place->folder, sizeof place->folder);
    snprintf(place->path, sizeof place->path, "%s/journal.db", place->folder);
    place->writer = backend_sqlite.open(&options, BACKEND_WRITER, error);
    assert_string_equal(error, "");
    backend_sqlite.write(place->writer, &request, 1);
    assert_int_equal(request->result, BACKEND_DONE);
    journal_request_free(request);
    *state = place;
    return 0;
}

static int place_drop(void **state)
{
    struct place *place = *state;

    backend_sqlite.close(place->writer);
    folder_drop(place->folder);
    mem_free(place);
    return 0;
}

static enum backend_result append(struct place *place, uint64_t from,
                                const char *events, bool again)
{
    struct journal_request *request =
        append_new("s", (struct fence){ 1, 1 }, "T|x", from, events);
    enum backend_result result;

    request->again = again;
    backend_sqlite.write(place->writer, &request, 1);
    result = request->entities.items[0].result;
    assert_int_equal(result != BACKEND_DONE, request->error[0] != 0);
    journal_request_free(request);
    return result;
}

static void expect(struct place *place, const char *letters)
{
    struct backend_options options = { .path = place->path, .cluster = "c" };
    char error[BACKEND_ERROR_MAX] = "";
    void *reader = backend_sqlite.open(&options, BACKEND_READER, error);

    assert_non_null(reader);
    assert_stored(&backend_sqlite, reader, "T|x", letters);
    backend_sqlite.close(reader);
}

static void a_failed_sync_leaves_the_outcome_open(void **state)
{
    struct place *place = *state;

    assert_int_equal(append(place, 1, "ab", false), BACKEND_DONE);
    syncs_before_failure = 0;
    assert_int_equal(append(place, 3, "c", false), BACKEND_UNKNOWN);
    assert_int_equal(append(place, 3, "c", true), BACKEND_DONE);
    assert_int_equal(append(place, 3, "c", true), BACKEND_DONE);
    assert_int_equal(append(place, 4, "d", false), BACKEND_DONE);
    expect(place, "abcd");
}

static void a_failing_disk_gets_no_answer(void **state)
{
    struct place *place = *state;

    for (int i = 0; i < 5; i++) {
        syncs_before_failure = 0;
        assert_int_equal(append(place, 1, "a", i > 0), BACKEND_UNKNOWN);
    }
    assert_int_equal(append(place, 1, "a", true), BACKEND_DONE);
    expect(place, "a");
}

static void a_full_disk_stores_nothing(void **state)
{
    struct place *place = *state;

    assert_int_equal(append(place, 1, "a", false), BACKEND_DONE);
    for (int at = 0; at < 3; at++) {
        enum backend_result result;

        write_error = SQLITE_FULL;
        writes_before_failure = at;
        result = append(place, 2, "b", false);
        if (writes_before_failure >= 0) { /* the commit had fewer writes */
            assert_int_equal(result, BACKEND_DONE);
            writes_before_failure = -1;
            expect(place, "ab");
            return;
        }
        assert_int_equal(result, BACKEND_FAILED);
        expect(place, "a");
    }
    assert_int_equal(append(place, 2, "b", false), BACKEND_DONE);
    expect(place, "ab");
}

static void a_write_error_is_read_back(void **state)
{
    struct place *place = *state;

    assert_int_equal(append(place, 1, "a", false), BACKEND_DONE);
    write_error = SQLITE_IOERR_WRITE;
    writes_before_failure = 0;
    assert_int_equal(append(place, 2, "b", false), BACKEND_UNKNOWN);
    assert_int_equal(append(place, 2, "b", true), BACKEND_DONE);
    expect(place, "ab");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_failed_sync_leaves_the_outcome_open,
                                        place_make, place_drop),
        cmocka_unit_test_setup_teardown(
            a_failing_disk_gets_no_answer, place_make, place_drop),
        cmocka_unit_test_setup_teardown(a_full_disk_stores_nothing, place_make,
                                        place_drop),
        cmocka_unit_test_setup_teardown(a_write_error_is_read_back, place_make,
                                        place_drop),
    };

    real = sqlite3_vfs_find(NULL);
    faulty = *real;
    faulty.zName = "faulty";
    faulty.xOpen = open_faulty;
    sqlite3_vfs_register(&faulty, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
