/* Tests the child that reads a database of durable keys after a crash: slow, hanging, killed or
 * crashing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <uv.h>

#include "durable_bench.h"

#include "base/limits.h"
#include "host/durable.h"
#include "host/durable_inside.h"

/* Done by the child at each pair. */
enum trouble { TROUBLE_NONE, TROUBLE_SLOW, TROUBLE_HANGS, TROUBLE_CIRCLES, TROUBLE_KILLED, TROUBLE_CRASHES };
static enum trouble trouble;
static pid_t parent; /* 0: do not check */
static int children;     /* created so far */
static int hanging = 99; /* number of children that hang */

__attribute__((visibility("default"))) int
mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value,
               MDB_cursor_op how)
{
    int (*real)(MDB_cursor *, MDB_val *, MDB_val *, MDB_cursor_op);

    *(void **)&real = dlsym(RTLD_NEXT, "mdb_cursor_get");
    if (parent && getpid() != parent) {
        if (trouble == TROUBLE_SLOW)
            (void)usleep(50000);
        while (trouble == TROUBLE_HANGS && children <= hanging)
            (void)pause();
        while (trouble == TROUBLE_CIRCLES)
            ;
        if (trouble == TROUBLE_KILLED)
            (void)raise(SIGKILL);
        if (trouble == TROUBLE_CRASHES)
            (void)raise(SIGSEGV);
    }
    return real(cursor, key, value, how);
}

static void count_child(void)
{
    children++;
}

#define PAIRS 20

static struct durable_files *open_impatient(uint32_t silence_ms)
{
    char error[DURABLE_ERROR_MAX] = "";
    struct durable_files *files;

    if (durable_files_open(&files, directory, "c", MIB, error) != 0)
        fail_msg("%s", error);
    files->begin_ms = files->silence_ms = silence_ms;
    files->circle_ms = 100;
    return files;
}

/* Loads once after a crash, with this trouble. */
static struct durable_request *read_in_trouble(enum trouble kind,
                                               uint32_t silence_ms,
                                               struct durable_files **files)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);

    *files = open_impatient(silence_ms);
    parent = getpid();
    trouble = kind;
    durable_files_load(*files, loaded);
    parent = 0;
    return loaded;
}

static void leave_pairs(void)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    struct durable_files *files = open_files(loaded);

    for (int i = 0; i < PAIRS; i++) {
        char key[8];

        (void)snprintf(key, sizeof key, "k%02d", i);
        assert_int_equal(change(files, key, "v", 3), 0);
    }
    durable_files_close(crash(files, &loaded));
    durable_request_free(loaded);
}

static void forget_the_end(void)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/clean", directory);
    (void)unlink(path); /* a crash leaves none */
}

static bool is_set_aside(void)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/values.mdb.damaged", directory);
    return access(path, F_OK) == 0;
}

static void assert_pairs(const struct durable_request *loaded)
{
    assert_done(loaded);
    assert_false(loaded->was_damaged || loaded->may_lack_keys);
    assert_int_equal(loaded->entries.count, PAIRS);
    for (int i = 0; i < PAIRS; i++) {
        char key[8];

        (void)snprintf(key, sizeof key, "k%02d", i);
        assert_value(loaded, key, "vvv");
        assert_false(entry_of(loaded, key)->is_held);
    }
}

/* 21 pairs of 50 ms in each tree take longer than a child may be silent. */
static void a_slow_disk_is_no_damage(void **state)
{
    struct durable_request *loaded;
    struct durable_files *files;

    (void)state;
    leave_pairs();
    forget_the_end();
    loaded = read_in_trouble(TROUBLE_SLOW, 800, &files);
    /* another program had the processor for too long */
    for (int i = 0; i < 20 && loaded->result != DURABLE_DONE; i++) {
        assert_false(loaded->was_damaged);
        durable_files_close(files);
        durable_request_free(loaded);
        loaded = read_in_trouble(TROUBLE_SLOW, 800, &files);
    }
    assert_pairs(loaded);
    assert_false(is_set_aside());
    durable_files_close(files);
    durable_request_free(loaded);
}

/* The rest of the file is unknown: this process or the next one reads it again. */
static void a_killed_child_is_no_damage(void **state)
{
    static const struct {
        enum trouble trouble;
        const char *error;
    } rows[] = { { TROUBLE_HANGS, "too slow" }, { TROUBLE_KILLED, "killed" } };

    (void)state;
    leave_pairs();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct durable_request *loaded;
        struct durable_files *files;

        forget_the_end();
        loaded = read_in_trouble(rows[i].trouble, 100, &files);
        assert_int_equal(loaded->result, DURABLE_FAILED);
        assert_non_null(strstr(loaded->error, rows[i].error));
        assert_false(loaded->is_refused || loaded->was_damaged);
        durable_request_free(loaded);
        loaded = durable_request_new(DURABLE_LOAD);
        files->begin_ms = DURABLE_BEGIN_MS;
        files->silence_ms = DURABLE_SILENCE_MS;
        files->circle_ms = DURABLE_CIRCLE_MS;
        durable_files_load(files, loaded);
        assert_pairs(loaded);
        assert_false(is_set_aside());
        durable_files_close(files);
        durable_request_free(loaded);
    }
}

/* The fork happened while another thread held a lock that the child needs. The patience doubles;
 * the third child has at least 200 ms. */
static void a_child_that_hangs_from_its_begin_is_replaced(void **state)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    struct durable_files *files;

    (void)state;
    leave_pairs();
    forget_the_end();
    files = open_impatient(DURABLE_SILENCE_MS);
    files->begin_ms = 50;
    files->circle_ms = DURABLE_CIRCLE_MS;
    parent = getpid();
    trouble = TROUBLE_HANGS;
    children = 0;
    hanging = 2;
    durable_files_load(files, loaded);
    parent = 0;
    hanging = 99;
    assert_in_range(children, 4, 12); /* two trees, and more on a busy machine */
    assert_pairs(loaded);
    assert_false(is_set_aside());
    durable_files_close(files);
    durable_request_free(loaded);
}

/* A damaged tree does this: it counts as torn, and the search finds its records. */
static void a_child_that_crashes_or_loops_shows_damage(void **state)
{
    static const enum trouble troubles[] = { TROUBLE_CRASHES,
                                             TROUBLE_CIRCLES };

    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        struct durable_request *loaded;
        struct durable_files *files;

        leave_pairs();
        forget_the_end();
        loaded = read_in_trouble(troubles[i], DURABLE_SILENCE_MS, &files);
        assert_done(loaded);
        assert_true(loaded->was_damaged && loaded->may_lack_keys);
        assert_int_equal(loaded->entries.count, PAIRS);
        assert_true(is_set_aside());
        durable_files_close(files);
        durable_request_free(loaded);
        assert_int_equal(drop_directory(state), 0);
        assert_int_equal(make_directory(state), 0);
    }
}

/* ---- the end of the node ---- */

static struct durable_request *came_back; /* by the thread, which has ended before the check */

static void take_back(void *context, struct durable_request *request)
{
    (void)context;
    came_back = request;
}

static void the_end_does_not_wait_for_a_slow_disk(void **state)
{
    struct durable_options options = { .directory = directory,
                                       .cluster = "c",
                                       .map_size = MIB,
                                       .done = take_back };
    char error[DURABLE_ERROR_MAX] = "";
    struct durable *durable;
    uint64_t begun = uv_hrtime();

    (void)state;
    leave_pairs();
    forget_the_end();
    parent = getpid();
    trouble = TROUBLE_HANGS;
    if (durable_open(&durable, &options, error) != 0)
        fail_msg("%s", error);
    durable_submit(durable, durable_request_new(DURABLE_LOAD));
    durable_close(durable);
    parent = 0;
    assert_true(uv_hrtime() - begun < DURABLE_SILENCE_MS / 2 * UINT64_C(1000000));
    assert_non_null(came_back);
    assert_int_equal(came_back->result, DURABLE_FAILED);
    assert_non_null(strstr(came_back->error, "broken off"));
    assert_false(came_back->was_damaged || is_set_aside());
    durable_request_free(came_back);
}

#define in_a_directory(test) \
    cmocka_unit_test_setup_teardown(test, make_directory, drop_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_directory(a_slow_disk_is_no_damage),
        in_a_directory(a_killed_child_is_no_damage),
        in_a_directory(a_child_that_hangs_from_its_begin_is_replaced),
        in_a_directory(a_child_that_crashes_or_loops_shows_damage),
        in_a_directory(the_end_does_not_wait_for_a_slow_disk),
    };

    (void)pthread_atfork(count_child, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
