/* Tests durable keys whose files are deleted, replaced or cut while they are open: nothing more is
 * acknowledged, and the loss is reported within seconds. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <uv.h>

#include "durable_bench.h"
#include "host/durable.h"

#define WAIT_MS 20000

/* ---- one request at a time ---- */

static uv_sem_t answered;
static struct durable_request *answer; /* the last one */
static _Atomic uint32_t losses;        /* reported ones */
static char loss[DURABLE_ERROR_MAX];
static _Atomic uint32_t warnings;

static void on_done(void *context, struct durable_request *request)
{
    (void)context;
    durable_request_free(answer);
    answer = request;
    uv_sem_post(&answered);
}

static void on_lost(void *context, const char *text)
{
    (void)context;
    (void)snprintf(loss, sizeof loss, "%s", text);
    atomic_fetch_add(&losses, 1);
}

static void on_warning(void *context, const char *text)
{
    (void)context;
    (void)text;
    atomic_fetch_add(&warnings, 1);
}

static const struct durable_request *load(struct durable *durable)
{
    durable_submit(durable, durable_request_new(DURABLE_LOAD));
    uv_sem_wait(&answered);
    return answer;
}

/* Starts, and loads what is there. */
static struct durable *start(uint32_t write_behind_ms)
{
    struct durable_options options = { .directory = directory,
                                       .cluster = "c",
                                       .map_size = MIB,
                                       .write_behind_ms = write_behind_ms,
                                       .done = on_done,
                                       .warn = on_warning,
                                       .lost = on_lost };
    char error[DURABLE_ERROR_MAX];
    struct durable *durable;

    atomic_store(&losses, 0);
    atomic_store(&warnings, 0);
    if (durable_open(&durable, &options, error) != 0)
        fail_msg("%s", error);
    assert_done(load(durable));
    return durable;
}

static const struct durable_request *store(struct durable *durable,
                                           const char *key, const char *value)
{
    struct durable_request *request = durable_request_new(DURABLE_STORE);

    durable_request_add(request, slice_text(key), slice_text(value));
    durable_submit(durable, request);
    uv_sem_wait(&answered);
    return answer;
}

/* ---- changes of files ---- */

static void path_of(char path[96], const char *name)
{
    (void)snprintf(path, 96, "%s/%s", directory, name);
}

static void delete(const char *name)
{
    char path[96];

    path_of(path, name);
    assert_int_equal(unlink(path), 0);
}

static void replace(const char *name)
{
    char path[96], copy[96];
    struct buf bytes = { 0 };

    read_file(name, &bytes);
    write_file("copy", &bytes);
    buf_fini(&bytes);
    path_of(path, name);
    path_of(copy, "copy");
    assert_int_equal(rename(copy, path), 0);
}

static void cut(const char *name)
{
    char path[96];

    path_of(path, name);
    assert_int_equal(truncate(path, 4096), 0);
}

static void cut_to_nothing(const char *name)
{
    char path[96];

    path_of(path, name);
    assert_int_equal(truncate(path, 0), 0);
}

static void name_twice(const char *name)
{
    char path[96], second[96];

    path_of(path, name);
    path_of(second, "second");
    assert_int_equal(link(path, second), 0);
}

static const struct change {
    const char *name;
    void (*make)(const char *name);
    const char *what;
} changes[] = {
    { "values.mdb", delete, "\"values.mdb\" was deleted under this node" },
    { "values.mdb", replace, "\"values.mdb\" was replaced under this node" },
    { "values.mdb", cut, "\"values.mdb\" was cut under this node" },
    { "values.mdb", cut_to_nothing, "\"values.mdb\" was cut under this node" },
    { "values.mdb", name_twice,
      "\"values.mdb\" was given a second name under this node" },
    { "lock", delete, "\"lock\" was deleted under this node" },
    { "lock", replace, "\"lock\" was replaced under this node" },
};

#define CHANGES (sizeof changes / sizeof *changes)

static void assert_refused(const struct durable_request *request,
                           const char *what)
{
    assert_int_equal(request->result, DURABLE_FAILED);
    if (!strstr(request->error, what) || !strstr(request->error, directory) ||
        !strstr(request->error, "restart the node"))
        fail_msg("\"%s\"", request->error);
}

static void begin(void)
{
    assert_int_equal(make_directory(NULL), 0);
}

static bool exists(const char *name)
{
    char path[96];

    path_of(path, name);
    return access(path, F_OK) == 0;
}

/* Replaces the library's call, which LMDB uses. */
static _Atomic bool cut_at_sync;

__attribute__((visibility("default"))) int fdatasync(int file)
{
    int result = fsync(file);

    if (atomic_exchange(&cut_at_sync, false))
        cut_to_nothing("values.mdb");
    return result;
}

/* ---- cases ---- */

static void nothing_is_acknowledged_into_a_changed_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHANGES; i++) {
        struct durable *durable;

        begin();
        durable = start(0);
        for (int j = 0; j < 20; j++)
            assert_done(store(durable, "kept", "value"));
        changes[i].make(changes[i].name);
        assert_refused(store(durable, "kept", "later"), changes[i].what);
        assert_refused(store(durable, "other", "later"), changes[i].what);
        assert_int_equal(losses, 1);
        assert_non_null(strstr(loss, changes[i].what));
        durable_close(durable);
        assert_false(exists("clean")); /* it would vouch for another file */
        assert_int_equal(drop_directory(NULL), 0);
    }
}

static void a_change_is_reported_without_a_write(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHANGES; i++) {
        struct durable *durable;

        begin();
        durable = start(0);
        assert_done(store(durable, "kept", "value"));
        changes[i].make(changes[i].name);
        for (int j = 0; j < WAIT_MS && !losses; j++)
            (void)usleep(1000);
        assert_int_equal(losses, 1);
        assert_non_null(strstr(loss, changes[i].what));
        durable_close(durable);
        assert_int_equal(losses, 1);
        assert_int_equal(drop_directory(NULL), 0);
    }
}

/* LMDB reads the mapped file after the sync. */
static void a_file_that_is_cut_during_a_sync_does_not_end_the_process(void **state)
{
    struct durable *durable;
    (void)state;

    begin();
    durable = start(0);
    for (int j = 0; j < 20; j++)
        assert_done(store(durable, "kept", "value"));
    cut_at_sync = true;
    assert_refused(store(durable, "kept", "later"), "\"values.mdb\" was cut");
    assert_false(cut_at_sync);
    assert_refused(store(durable, "other", "later"), "\"values.mdb\" was cut");
    assert_int_equal(losses, 1);
    durable_close(durable);
    assert_false(exists("clean"));
    assert_int_equal(drop_directory(NULL), 0);
}

static void a_put_back_file_stays_refused(void **state)
{
    struct buf bytes = { 0 };
    struct durable *durable;
    (void)state;

    begin();
    durable = start(0);
    assert_done(store(durable, "kept", "value"));
    read_file("values.mdb", &bytes);
    delete("values.mdb");
    assert_refused(store(durable, "kept", "later"), "deleted");
    write_file("values.mdb", &bytes);
    buf_fini(&bytes);
    assert_refused(store(durable, "kept", "later"), "deleted");
    durable_close(durable);
    durable = start(0);
    assert_value(answer, "kept", "value");
    durable_close(durable);
    assert_int_equal(drop_directory(NULL), 0);
}

/* Acknowledged before the file was lost, and not in any file: the log has them. */
static void write_behind_reports_what_is_lost(void **state)
{
    struct durable *durable;
    (void)state;

    begin();
    durable = start(60000);
    assert_done(store(durable, "kept", "value"));
    delete("values.mdb");
    for (int j = 0; j < WAIT_MS && !losses; j++)
        (void)usleep(1000);
    assert_refused(store(durable, "other", "value"), "deleted");
    durable_close(durable);
    assert_int_equal(warnings, 1);
    assert_int_equal(drop_directory(NULL), 0);
}

static void a_lost_database_is_reported_at_the_next_start(void **state)
{
    struct durable *durable;
    (void)state;

    begin();
    durable = start(0);
    assert_false(answer->may_lack_keys);
    assert_done(store(durable, "kept", "value"));
    delete("values.mdb");
    assert_refused(store(durable, "kept", "later"), "deleted");
    durable_close(durable);
    durable = start(0);
    assert_int_equal(answer->entries.count, 0);
    assert_true(answer->may_lack_keys);
    durable_close(durable);
    durable = start(0);
    assert_false(answer->may_lack_keys); /* reported once */
    durable_close(durable);
    assert_int_equal(drop_directory(NULL), 0);
}

/* A database with two names is copied, so that the other name keeps what it has. */
static void a_second_name_before_the_start_is_left_behind(void **state)
{
    struct buf before = { 0 }, after = { 0 };
    struct durable *durable;
    (void)state;

    begin();
    durable = start(0);
    assert_done(store(durable, "kept", "value"));
    durable_close(durable);
    name_twice("values.mdb");
    read_file("second", &before);
    durable = start(0);
    assert_value(answer, "kept", "value");
    assert_done(store(durable, "kept", "later"));
    durable_close(durable);
    read_file("second", &after);
    assert_true(slice_equal(buf_slice(&before), buf_slice(&after)));
    buf_fini(&before);
    buf_fini(&after);
    assert_int_equal(drop_directory(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_acknowledged_into_a_changed_file),
        cmocka_unit_test(a_change_is_reported_without_a_write),
        cmocka_unit_test(
            a_file_that_is_cut_during_a_sync_does_not_end_the_process),
        cmocka_unit_test(a_put_back_file_stays_refused),
        cmocka_unit_test(write_behind_reports_what_is_lost),
        cmocka_unit_test(a_lost_database_is_reported_at_the_next_start),
        cmocka_unit_test(a_second_name_before_the_start_is_left_behind),
    };
    int failed;

    if (uv_sem_init(&answered, 0) != 0)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    durable_request_free(answer);
    uv_sem_destroy(&answered);
    return failed;
}
