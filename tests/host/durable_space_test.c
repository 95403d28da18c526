/* Tests durable keys on a real, full file system of a few MiB that only this process sees. Skipped
 * without the right to mount. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/wait.h>

#include <uv.h>

#include "durable_bench.h"
#include "host/durable.h"
#include "space.h"

#define WAIT_MS 20000

/* ---- one request at a time ---- */

static uv_sem_t answered;
static struct durable_request *answer; /* the last one */

static void on_done(void *context, struct durable_request *request)
{
    (void)context;
    durable_request_free(answer);
    answer = request;
    uv_sem_post(&answered);
}

static void hear(void *context, const char *text)
{
    (void)context;
    (void)text;
}

static struct durable *start(uint32_t write_behind_ms)
{
    struct durable_options options = { .directory = directory,
                                       .cluster = "c",
                                       .map_size = MIB,
                                       .write_behind_ms = write_behind_ms,
                                       .done = on_done,
                                       .warn = hear };
    char error[DURABLE_ERROR_MAX];
    struct durable *durable;

    if (durable_open(&durable, &options, error) != 0)
        fail_msg("%s", error);
    return durable;
}

/* Lent until the next call. */
static struct durable_request *ask(struct durable *durable,
                                   struct durable_request *request)
{
    durable_submit(durable, request);
    uv_sem_wait(&answered);
    return answer;
}

static struct durable_request *store(struct durable *durable, uint32_t key,
                                     uint8_t fill, size_t size)
{
    struct durable_request *request = durable_request_new(DURABLE_STORE);
    uint8_t *value = mem_alloc(size);
    char name[16];

    memset(value, fill, size);
    (void)snprintf(name, sizeof name, "k%u", key);
    durable_request_add(request, slice_text(name), slice_of(value, size));
    mem_free(value);
    return ask(durable, request);
}

static const struct durable_request *load(struct durable *durable)
{
    const struct durable_request *loaded =
        ask(durable, durable_request_new(DURABLE_LOAD));

    assert_done(loaded);
    return loaded;
}

static void assert_filled(const struct durable_request *loaded, uint32_t key,
                          uint8_t fill, size_t size)
{
    const struct durable_entry *entry;
    struct slice value;
    char name[16];

    (void)snprintf(name, sizeof name, "k%u", key);
    entry = entry_of(loaded, name);
    assert_non_null(entry);
    assert_false(entry->is_lost || entry->is_stale);
    value = durable_slice(loaded, entry->value);
    assert_int_equal(value.size, size);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(value.data[i], fill);
}

/* ---- cases ---- */

/* Nothing that is mapped lacks its blocks, so no step ends the process by a signal. */
static void opening_on_a_full_disk_is_an_error(void **state)
{
    bool is_full = true;

    for (size_t left = 0; is_full; left += 4096) {
        char error[DURABLE_ERROR_MAX] = "";
        struct durable_options options = { .directory = directory,
                                           .cluster = "c",
                                           .map_size = MIB,
                                           .done = on_done };
        struct durable *durable;

        space_fill(left);
        is_full = durable_open(&durable, &options, error) != 0;
        if (!is_full) {
            is_full = ask(durable, durable_request_new(DURABLE_LOAD))->result !=
                      DURABLE_DONE;
            (void)snprintf(error, sizeof error, "%s", answer->error);
            durable_close(durable);
        }
        if (is_full && !strstr(error, "No space left on device"))
            fail_msg("%zu bytes left: %s", left, error);
        assert_true(left < 200000);
        space_free();
        assert_int_equal(drop_directory(state), 0);
        assert_int_equal(make_directory(state), 0);
    }
}

static void a_full_disk_acknowledges_nothing(void **state)
{
    struct durable *durable = start(0);
    const struct durable_request *loaded;
    uint32_t stored = 0;
    (void)state;

    (void)load(durable);
    space_fill(512 * 1024);
    while (store(durable, stored, (uint8_t)stored, 30000)->result == DURABLE_DONE)
        stored++;
    assert_true(stored > 3 && stored < 40);
    for (uint32_t i = 0; i < 3; i++) { /* the stored value is neither replaced nor lost */
        assert_int_equal(store(durable, i, 99, 60000)->result, DURABLE_FAILED);
        assert_non_null(strstr(answer->error, "No space left on device"));
        assert_non_null(strstr(answer->error, directory));
    }
    space_free();
    assert_done(store(durable, stored, (uint8_t)stored, 30000));
    durable_close(durable);
    durable = start(0);
    loaded = load(durable);
    assert_false(loaded->was_damaged);
    assert_int_equal(loaded->entries.count, stored + 1);
    for (uint32_t i = 0; i <= stored; i++)
        assert_filled(loaded, i, (uint8_t)i, 30000);
    durable_close(durable);
}

/* Waits until a change is on the disk. */
static void wait_for_changes(struct durable *durable)
{
    struct durable_counters counters = { 0 };

    for (int i = 0; i < WAIT_MS && !counters.changes; i++) {
        (void)usleep(1000);
        durable_get_counters(durable, &counters);
    }
    assert_true(counters.changes > 0);
}

static void wait_for_failures(struct durable *durable)
{
    struct durable_counters counters = { 0 };

    for (int i = 0; i < WAIT_MS && !counters.failures; i++) {
        (void)usleep(1000);
        durable_get_counters(durable, &counters);
    }
    assert_true(counters.failures > 0);
}

static void write_behind_refuses_until_there_is_room(void **state)
{
    struct durable *durable = start(1);
    const struct durable_request *loaded;
    bool is_done = false;
    (void)state;

    (void)load(durable);
    assert_done(store(durable, 0, 1, 100));
    wait_for_changes(durable);
    space_fill(0);
    assert_done(store(durable, 1, 2, 500000));
    wait_for_failures(durable);
    assert_int_equal(store(durable, 2, 3, 100)->result, DURABLE_FAILED);
    space_free();
    for (int i = 0; i < WAIT_MS / 10 && !is_done; i++) {
        (void)usleep(10 * 1000);
        is_done = store(durable, 2, 3, 100)->result == DURABLE_DONE;
    }
    assert_true(is_done);
    durable_close(durable);
    durable = start(0);
    loaded = load(durable);
    assert_int_equal(loaded->entries.count, 3);
    assert_filled(loaded, 1, 2, 500000);
    durable_close(durable);
}

/* Stores until the disk is full, and ends without closing. */
_Noreturn static void store_and_end(int out)
{
    struct durable *durable = start(0);

    (void)load(durable);
    for (uint32_t i = 0; i < 50; i++)
        if (store(durable, i, (uint8_t)i, 30000)->result == DURABLE_DONE &&
            write(out, &i, sizeof i) != sizeof i)
            _exit(1);
    _exit(0);
}

/* The values load completely once there is room; before that, loading fails or is complete. */
static void acknowledged_values_survive_a_crash_on_a_full_disk(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        bool has_room = first;
        const struct durable_request *loaded;
        uint32_t key, count = 0;
        struct durable *durable;
        int ends[2], status;
        pid_t child;

        assert_int_equal(pipe(ends), 0);
        space_fill(512 * 1024);
        child = fork();
        assert_true(child >= 0);
        if (child == 0)
            store_and_end(ends[1]);
        assert_int_equal(close(ends[1]), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        if (has_room)
            space_free();
        durable = start(0);
        loaded = ask(durable, durable_request_new(DURABLE_LOAD));
        if (!has_room && loaded->result == DURABLE_FAILED) {
            assert_non_null(strstr(loaded->error, "not loaded: No space left on device"));
            space_free();
            loaded = load(durable);
            has_room = true;
        }
        assert_done(loaded);
        assert_false(loaded->was_damaged);
        for (; read(ends[0], &key, sizeof key) == sizeof key; count++)
            assert_filled(loaded, key, (uint8_t)key, 30000);
        assert_true(count > 3 && count < 40);
        assert_int_equal(loaded->entries.count, count);
        durable_close(durable);
        assert_int_equal(close(ends[0]), 0);
        if (!has_room)
            space_free();
    }
}

/* ---- all ---- */

#define in_a_directory(test) \
    cmocka_unit_test_setup_teardown(test, make_directory, drop_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_directory(opening_on_a_full_disk_is_an_error),
        in_a_directory(a_full_disk_acknowledges_nothing),
        in_a_directory(write_behind_refuses_until_there_is_room),
        in_a_directory(acknowledged_values_survive_a_crash_on_a_full_disk),
    };
    int failed;

    if (!space_mount("size=6m"))
        return SPACE_SKIPPED;
    disk = space_place;
    if (uv_sem_init(&answered, 0) != 0)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    durable_request_free(answer);
    space_unmount();
    return failed;
}
