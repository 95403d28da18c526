/* Tests that acknowledged durable keys survive the end of the process, a full disk, and damage. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/check.h"
#include "base/limits.h"
#include "durable_bench.h"
#include "host/durable.h"

/* Synced directories; replaces the library's call. */
static char synced[4096];
static bool directories_fail; /* their syncs */

int fsync(int file)
{
    char name[64], path[256];
    struct stat about;
    ssize_t size;

    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    size = readlink(name, path, sizeof path - 1);
    if (directories_fail && fstat(file, &about) == 0 &&
        S_ISDIR(about.st_mode)) {
        errno = EIO;
        return -1;
    }
    if (size > 0 && fstat(file, &about) == 0 && S_ISDIR(about.st_mode) &&
        strlen(synced) + (size_t)size + 2 < sizeof synced) {
        strncat(synced, path, (size_t)size);
        strcat(synced, "\n");
    }
    return fdatasync(file);
}

/* ---- one request at a time ---- */

struct answers {
    uv_mutex_t mutex;
    uv_cond_t changed;
    struct durable_request *last;
    uint32_t count;
    uv_sem_t gate; /* blocks a request of tag 1 */
};

static void on_done(void *context, struct durable_request *request)
{
    struct answers *answers = context;

    if (request->tag == 1)
        uv_sem_wait(&answers->gate);
    uv_mutex_lock(&answers->mutex);
    durable_request_free(answers->last);
    answers->last = request;
    answers->count++;
    uv_cond_signal(&answers->changed);
    uv_mutex_unlock(&answers->mutex);
}

static void answers_init(struct answers *answers)
{
    *answers = (struct answers){ .last = NULL };
    assert_int_equal(uv_mutex_init(&answers->mutex), 0);
    assert_int_equal(uv_cond_init(&answers->changed), 0);
    assert_int_equal(uv_sem_init(&answers->gate, 0), 0);
}

static void answers_fini(struct answers *answers)
{
    durable_request_free(answers->last);
    uv_sem_destroy(&answers->gate);
    uv_cond_destroy(&answers->changed);
    uv_mutex_destroy(&answers->mutex);
}

/* Lent until the next call. */
static struct durable_request *ask(struct durable *durable,
                                   struct answers *answers,
                                   struct durable_request *request)
{
    uint32_t before = answers->count;

    durable_submit(durable, request);
    uv_mutex_lock(&answers->mutex);
    while (answers->count == before)
        uv_cond_wait(&answers->changed, &answers->mutex);
    uv_mutex_unlock(&answers->mutex);
    return answers->last;
}

static char said[DURABLE_ERROR_MAX];

static void hear(void *context, const char *text)
{
    (void)context;
    (void)snprintf(said, sizeof said, "%s", text);
}

static void hear_error(void *context, const char *error)
{
    (void)context;
    (void)snprintf(said, sizeof said, "%s", error ? error : "");
}

static struct durable *start(struct answers *answers, const char *cluster,
                             uint32_t write_behind_ms)
{
    struct durable_options options = {
        .directory = directory,
        .cluster = cluster,
        .map_size = MIB,
        .write_behind_ms = write_behind_ms,
        .done = on_done,
        .written = hear_error,
        .context = answers,
    };
    char error[DURABLE_ERROR_MAX] = "";
    struct durable *durable;

    answers_init(answers);
    if (durable_open(&durable, &options, error) != 0)
        fail_msg("%s", error);
    return durable;
}

static void stop(struct durable *durable, struct answers *answers)
{
    durable_close(durable);
    answers_fini(answers);
}

static struct durable_request *store_of(const char *key, struct slice value)
{
    struct durable_request *request = durable_request_new(DURABLE_STORE);

    durable_request_add(request, slice_text(key), value);
    return request;
}

static struct durable_request *store_text(const char *key, const char *value)
{
    return store_of(key, slice_text(value));
}

static struct durable_request *load(struct durable *durable,
                                    struct answers *answers)
{
    struct durable_request *loaded =
        ask(durable, answers, durable_request_new(DURABLE_LOAD));

    assert_done(loaded);
    return loaded;
}

static void wait_for_counter(struct durable *durable, bool failures)
{
    for (int i = 0; i < 20000; i++) {
        struct durable_counters counters;

        durable_get_counters(durable, &counters);
        if (failures ? counters.failures : counters.transactions)
            return;
        (void)usleep(1000);
    }
    fail_msg("nothing was tried for 20 s");
}

/* ---- an orderly run ---- */

static void stored_values_are_loaded_again(void **state)
{
    struct answers answers;
    struct durable *durable = start(&answers, "c", 0);
    struct durable_request *request;

    (void)state;
    assert_int_equal(load(durable, &answers)->entries.count, 0);
    assert_done(ask(durable, &answers, store_text("shard-b", "one")));
    assert_done(ask(durable, &answers, store_text("shard-a", "two")));
    assert_done(ask(durable, &answers, store_text("gone", "three")));
    assert_done(ask(durable, &answers, store_text("shard-b", "")));
    request = durable_request_new(DURABLE_ERASE);
    durable_request_add(request, slice_text("gone"), slice_of(NULL, 0));
    durable_request_add(request, slice_text("never"), slice_of(NULL, 0));
    assert_done(ask(durable, &answers, request));
    stop(durable, &answers);

    durable = start(&answers, "c", 0);
    request = load(durable, &answers);
    assert_false(request->was_damaged);
    assert_int_equal(request->entries.count, 2);
    assert_value(request, "shard-a", "two");
    assert_value(request, "shard-b", "");
    stop(durable, &answers);
}

/* A file or directory without a synced entry is lost with the power, whatever it has. */
static void a_new_database_outlives_a_loss_of_power(void **state)
{
    char parent[40], line[80];
    struct durable *durable;
    struct answers answers;

    (void)state;
    (void)snprintf(parent, sizeof parent, "%.39s", directory);
    (void)snprintf(directory, sizeof directory, "%s/new", parent);
    synced[0] = 0;
    durable = start(&answers, "c", 0);
    (void)snprintf(line, sizeof line, "%s\n", parent);
    assert_string_equal(synced, line);
    synced[0] = 0;
    (void)load(durable, &answers);
    (void)snprintf(line, sizeof line, "%s\n", directory);
    assert_non_null(strstr(synced, line));
    assert_done(ask(durable, &answers, store_text("k", "v")));
    stop(durable, &answers);
    (void)snprintf(directory, sizeof directory, "%s", parent);
}

static void the_database_file_grows_with_its_values(void **state)
{
    uint8_t *value = mem_alloc(MIB);
    struct answers answers;
    struct durable *durable = start(&answers, "c", 0);
    struct durable_request *loaded;

    (void)state;
    (void)load(durable, &answers);
    for (int i = 0; i < 8; i++) {
        char key[8];

        (void)snprintf(key, sizeof key, "k%d", i);
        memset(value, 'a' + i, MIB);
        assert_done(ask(durable, &answers, store_of(key, slice_of(value, MIB))));
    }
    stop(durable, &answers);
    durable = start(&answers, "c", 0);
    loaded = load(durable, &answers);
    assert_int_equal(loaded->entries.count, 8);
    assert_int_equal(loaded->bytes.data[loaded->entries.items[7].value.at], 'h');
    stop(durable, &answers);
    mem_free(value);
}

static void write_behind_writes_the_last_value_once(void **state)
{
    struct durable_counters counters;
    struct answers answers;
    struct durable *durable = start(&answers, "c", 3600 * 1000);

    (void)state;
    (void)load(durable, &answers);
    for (int i = 0; i < 100; i++)
        assert_done(ask(durable, &answers,
                        store_text("k", i < 99 ? "early" : "last")));
    durable_get_counters(durable, &counters);
    assert_int_equal(counters.transactions, 0);
    stop(durable, &answers);
    durable = start(&answers, "c", 0);
    assert_value(load(durable, &answers), "k", "last");
    stop(durable, &answers);
}

static void write_behind_holds_a_bounded_size(void **state)
{
    uint8_t *value = mem_alloc(DURABLE_VALUE_MAX);
    struct durable_counters counters;
    struct answers answers;
    struct durable *durable = start(&answers, "c", 3600 * 1000);
    uint32_t values = DURABLE_PENDING_SIZE_MAX / DURABLE_VALUE_MAX;

    (void)state;
    (void)load(durable, &answers);
    for (uint32_t i = 0; i < values; i++) {
        char key[16];

        (void)snprintf(key, sizeof key, "k%u", i);
        assert_done(ask(durable, &answers,
                        store_of(key, slice_of(value, DURABLE_VALUE_MAX))));
    }
    assert_done(ask(durable, &answers, store_text("k", "v")));
    durable_get_counters(durable, &counters);
    assert_int_equal(counters.transactions, 1);
    assert_int_equal(counters.changes, values);
    stop(durable, &answers);
    mem_free(value);
}

/* ---- refusals ---- */

static void other_systems_and_clusters_are_refused(void **state)
{
    struct durable_options options = { .directory = directory,
                                       .cluster = "c",
                                       .map_size = MIB,
                                       .done = on_done };
    char error[DURABLE_ERROR_MAX];
    struct durable *other;
    struct answers answers;
    struct durable *durable = start(&answers, "c", 0);
    struct durable_request *loaded;

    (void)state;
    (void)load(durable, &answers);
    assert_done(ask(durable, &answers, store_text("k", "v")));
    assert_int_equal(durable_open(&other, &options, error), -1);
    assert_non_null(strstr(error, "another system has them open"));
    options.directory = "/dev/null/ddata";
    assert_int_equal(durable_open(&other, &options, error), -1);
    assert_non_null(strstr(error, "/dev/null/ddata"));
    stop(durable, &answers);

    for (int i = 0; i < 2; i++) { /* closed orderly, then untrusted */
        durable = start(&answers, "another", 0);
        loaded = ask(durable, &answers, durable_request_new(DURABLE_LOAD));
        assert_int_equal(loaded->result, DURABLE_FAILED);
        assert_non_null(strstr(loaded->error, "another cluster"));
        assert_int_equal(ask(durable, &answers, store_text("k", "v"))->result,
                         DURABLE_FAILED);
        stop(durable, &answers);
    }
    durable = start(&answers, "c", 0);
    assert_value(load(durable, &answers), "k", "v");
    stop(durable, &answers);
}

static void sizes_of_the_database_are_bounded(void **state)
{
    struct durable_options options = { .directory = directory,
                                       .cluster = "c",
                                       .map_size = DURABLE_MAP_SIZE_MAX + 1,
                                       .done = on_done };
    char error[DURABLE_ERROR_MAX], path[128];
    struct durable_request *loaded;
    struct durable *durable;
    struct answers answers;
    int file;

    (void)state;
    assert_int_equal(durable_open(&durable, &options, error), -1);
    assert_non_null(strstr(error, "map-size"));

    (void)snprintf(path, sizeof path, "%s/values.mdb", directory);
    durable = start(&answers, "c", 0);
    (void)load(durable, &answers);
    assert_done(ask(durable, &answers, store_text("k", "v")));
    stop(durable, &answers);
    /* A file may be larger than the limit of its content, as it has free pages. */
    file = open(path, O_WRONLY);
    assert_int_equal(ftruncate(file, (off_t)DURABLE_LOAD_SIZE_MAX + 1), 0); /* a hole */
    assert_int_equal(close(file), 0);
    (void)snprintf(path, sizeof path, "%s/clean", directory);
    assert_int_equal(unlink(path), 0);
    durable = start(&answers, "c", 0);
    loaded = load(durable, &answers);
    assert_false(loaded->was_damaged);
    assert_value(loaded, "k", "v");
    stop(durable, &answers);
}

/* The file would exist after a crash, so the database stays untouched, and loading is repeated. */
static void an_irremovable_clean_file_fails_the_load(void **state)
{
    char path[128];
    struct durable_request *loaded;
    struct answers answers;
    struct durable *durable = start(&answers, "c", 0);

    (void)state;
    (void)load(durable, &answers);
    assert_done(ask(durable, &answers, store_text("k", "v")));
    stop(durable, &answers);
    (void)snprintf(path, sizeof path, "%s/clean", directory);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    durable = start(&answers, "c", 0);
    loaded = ask(durable, &answers, durable_request_new(DURABLE_LOAD));
    assert_int_equal(loaded->result, DURABLE_FAILED);
    assert_false(loaded->is_refused);
    assert_non_null(strstr(loaded->error, "\"clean\" cannot be removed: Is a directory"));
    assert_int_equal(ask(durable, &answers, store_text("k", "w"))->result, DURABLE_FAILED);
    assert_int_equal(rmdir(path), 0);
    directories_fail = true;
    loaded = ask(durable, &answers, durable_request_new(DURABLE_LOAD));
    directories_fail = false;
    assert_int_equal(loaded->result, DURABLE_FAILED);
    assert_non_null(strstr(loaded->error, "\"clean\" cannot be removed: Input/output error"));
    loaded = load(durable, &answers);
    assert_value(loaded, "k", "v");
    stop(durable, &answers);
}

static void writes_beyond_a_limit_are_refused(void **state)
{
    static uint8_t long_key[DURABLE_KEY_MAX + 1];
    uint8_t *value = mem_alloc(DURABLE_VALUE_MAX + 1);
    struct durable_counters counters;
    struct answers answers;
    struct durable *durable = start(&answers, "c", 0);
    struct durable_request *request = durable_request_new(DURABLE_STORE);

    (void)state;
    (void)load(durable, &answers);
    memset(long_key, 'k', sizeof long_key);
    durable_request_add(request, slice_of(long_key, sizeof long_key),
                        slice_text("v"));
    request = ask(durable, &answers, request);
    assert_int_equal(request->result, DURABLE_FAILED);
    assert_non_null(strstr(request->error, "510 bytes"));
    request = ask(durable, &answers,
                  store_of("k", slice_of(value, DURABLE_VALUE_MAX + 1)));
    assert_int_equal(request->result, DURABLE_FAILED);
    assert_non_null(strstr(request->error, "2 MiB"));

    request = store_text("k", "v");
    request->tag = 1;
    durable_submit(durable, request);
    wait_for_counter(durable, false); /* the thread is in on_done now */
    for (uint32_t i = 0; i < DURABLE_QUEUE_MAX + 1; i++)
        durable_submit(durable, durable_request_new(DURABLE_ERASE));
    durable_get_counters(durable, &counters);
    uv_sem_post(&answers.gate);
    stop(durable, &answers);
    assert_int_equal(counters.refused, 1);
    mem_free(value);
}

/* ---- the disk ---- */

static void a_full_disk_acknowledges_nothing(void **state)
{
    uint8_t *value = mem_alloc(MIB);
    struct answers answers;
    struct durable *durable = start(&answers, "c", 0);
    struct durable_request *loaded;

    (void)state;
    (void)load(durable, &answers);
    assert_done(ask(durable, &answers, store_text("before", "v")));
    limit_files(MIB / 2);
    for (int i = 0; i < 3; i++) {
        struct durable_request *failed =
            ask(durable, &answers, store_of("large", slice_of(value, MIB)));

        assert_int_equal(failed->result, DURABLE_FAILED);
        assert_non_null(strstr(failed->error, directory));
    }
    limit_files(RLIM_INFINITY);
    assert_done(ask(durable, &answers, store_text("after", "v")));
    stop(durable, &answers);
    durable = start(&answers, "c", 0);
    loaded = load(durable, &answers);
    assert_int_equal(loaded->entries.count, 2);
    assert_value(loaded, "before", "v");
    assert_value(loaded, "after", "v");
    stop(durable, &answers);
    mem_free(value);
}

/* More than fits, on a full disk: closing does not wait for room. */
static void write_behind_ends_on_a_full_disk(void **state)
{
    uint8_t *value = mem_alloc(DURABLE_VALUE_MAX);
    struct durable_counters counters;
    struct answers answers;
    struct durable *durable = start(&answers, "c", 3600 * 1000);

    (void)state;
    (void)load(durable, &answers);
    limit_files(MIB / 2);
    for (uint32_t i = 0; i <= DURABLE_PENDING_SIZE_MAX / DURABLE_VALUE_MAX;
         i++) {
        char key[16];

        (void)snprintf(key, sizeof key, "k%u", i);
        (void)ask(durable, &answers,
                  store_of(key, slice_of(value, DURABLE_VALUE_MAX)));
    }
    wait_for_counter(durable, true);
    durable_get_counters(durable, &counters);
    assert_true(counters.failures <= 2); /* no further tries */
    limit_files(RLIM_INFINITY);
    stop(durable, &answers);
    mem_free(value);
}

static void write_behind_on_a_full_disk_refuses_until_it_is_written(void **state)
{
    uint8_t *value = mem_alloc(MIB);
    struct answers answers;
    struct durable *durable = start(&answers, "c", 1);
    struct durable_request *loaded;

    (void)state;
    (void)load(durable, &answers);
    limit_files(MIB / 2);
    said[0] = 0;
    assert_done(ask(durable, &answers, store_of("k", slice_of(value, MIB))));
    wait_for_counter(durable, true);
    assert_non_null(strstr(said, "not written")); /* although no request waits */
    assert_int_equal(ask(durable, &answers, store_text("x", "v"))->result,
                     DURABLE_FAILED);
    limit_files(RLIM_INFINITY);
    wait_for_counter(durable, false);
    assert_done(ask(durable, &answers, store_text("x", "v")));
    stop(durable, &answers);
    durable = start(&answers, "c", 0);
    loaded = load(durable, &answers);
    assert_int_equal(loaded->entries.count, 2);
    assert_int_equal(entry_of(loaded, "k")->value.size, MIB);
    stop(durable, &answers);
    mem_free(value);
}

/* ---- a crash ---- */

_Noreturn static void store_until_killed(int out)
{
    struct answers answers;
    struct durable *durable = start(&answers, "c", 0);

    (void)load(durable, &answers);
    for (uint32_t i = 0;; i++) {
        char key[16], value[16];

        (void)snprintf(key, sizeof key, "k%u", i % 50);
        (void)snprintf(value, sizeof value, "%u", i);
        assert_done(ask(durable, &answers, store_text(key, value)));
        assert_int_equal(write(out, &i, sizeof i), sizeof i);
    }
}

/* This is no damage: the file is neither set aside nor replaced. */
static void an_unreadable_file_stays_unchanged(void **state)
{
    struct durable_request *loaded;
    struct durable *durable;
    struct answers answers;
    char path[128];

    (void)state;
    (void)snprintf(path, sizeof path, "%s/values.mdb", directory);
    assert_int_equal(mkdir(path, 0700), 0); /* root can read any file, but no directory */
    durable = start(&answers, "c", 0);
    loaded = ask(durable, &answers, durable_request_new(DURABLE_LOAD));
    assert_int_equal(loaded->result, DURABLE_FAILED);
    assert_non_null(strstr(loaded->error,
                           "not loaded: \"values.mdb\" cannot be read: Is a directory"));
    stop(durable, &answers);
    assert_int_equal(rmdir(path), 0);
}

static void acknowledged_values_survive_a_kill(void **state)
{
    struct durable_request *loaded;
    struct durable *durable;
    struct answers answers;
    uint32_t acknowledged = 0;
    int ends[2];
    pid_t child;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        store_until_killed(ends[1]);
    (void)close(ends[1]);
    while (acknowledged < 150)
        assert_int_equal(read(ends[0], &acknowledged, sizeof acknowledged),
                         sizeof acknowledged);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    while (read(ends[0], &acknowledged, sizeof acknowledged) > 0)
        ;
    (void)close(ends[0]);

    durable = start(&answers, "c", 0);
    loaded = load(durable, &answers);
    assert_false(loaded->was_damaged);
    assert_int_equal(loaded->entries.count, 50);
    for (uint32_t i = 0; i < 50; i++) {
        const struct durable_entry *entry;
        char key[16], text[16] = "";
        uint32_t last = acknowledged - (acknowledged + 50 - i) % 50;
        uint32_t found;

        (void)snprintf(key, sizeof key, "k%u", i);
        entry = entry_of(loaded, key);
        memcpy(text, loaded->bytes.data + entry->value.at, entry->value.size);
        found = (uint32_t)atoi(text);
        assert_true(found >= last && found % 50 == i);
        assert_true(found <= acknowledged + 1); /* one may have been in progress */
    }
    stop(durable, &answers);
}

/* ---- files after a crash ---- */

static void erased_keys_stay_erased_after_a_crash(void **state)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    struct durable_files *files = open_files(loaded);

    (void)state;
    assert_int_equal(change(files, "one", "1", 3000), 0);
    assert_int_equal(change(files, "two", "2", 3000), 0);
    assert_int_equal(change(files, "two", NULL, 0), 0);
    for (int i = 0; i < 2; i++) { /* as written, and rebuilt */
        files = crash(files, &loaded);
        assert_false(loaded->was_damaged);
        assert_int_equal(loaded->entries.count, 1);
        assert_non_null(entry_of(loaded, "one"));
    }
    durable_files_close(files);
    durable_request_free(loaded);
}

/* The file has pages of a failed transaction. They are neither damage nor values. */
static void a_failed_transaction_is_no_damage_after_a_crash(void **state)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    struct durable_files *files = open_files(loaded);
    struct durable_change changes[] = {
        { .key = "one", .key_size = 3 }, { .key = "two", .key_size = 3 }
    };
    char error[DURABLE_ERROR_MAX] = "";
    struct map map = { 0 };

    (void)state;
    assert_int_equal(change(files, "one", "1", 3000), 0);
    for (int i = 0; i < 3000; i++)
        buf_put_u8(&changes[0].value, 'x');
    for (int i = 0; i < MIB; i++)
        buf_put_u8(&changes[1].value, 'y');
    for (int i = 0; i < 2; i++)
        (void)map_put(&map, slice_text(changes[i].key), &changes[i]);
    for (int turn = 0; turn < 3; turn++) {
        limit_files(MIB / 2);
        for (int i = 0; i < 3; i++)
            assert_int_equal(durable_files_write(files, &map, error), -1);
        limit_files(RLIM_INFINITY);
        if (turn)
            assert_int_equal(change(files, "four", "4", 30), 0);
        files = crash(files, &loaded);
        assert_false(loaded->was_damaged);
        assert_null(entry_of(loaded, "two"));
        assert_non_null(entry_of(loaded, "one"));
        if (turn) /* a mark tells of the failure before the crash */
            assert_int_equal(
                durable_slice(loaded, entry_of(loaded, "one")->value).data[0],
                '1');
        else /* unknown: it may return like any unfinished one */
            assert_int_equal(change(files, "one", "1", 3000), 0);
    }
    for (int i = 0; i < 2; i++)
        buf_fini(&changes[i].value);
    map_fini(&map);
    durable_files_close(files);
    durable_request_free(loaded);
}

/* The file exceeds the search window, and no tree leads to its records. */
static void all_of_a_large_file_is_searched(void **state)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    struct durable_files *files = open_files(loaded);
    static const uint8_t zeros[8192];
    char path[128], key[8];
    int file;

    (void)state;
    for (int i = 0; i < 10; i++) {
        (void)snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(change(files, key, "v", DURABLE_VALUE_MAX), 0);
    }
    durable_files_close(files);
    (void)snprintf(path, sizeof path, "%s/values.mdb", directory);
    file = open(path, O_WRONLY);
    assert_int_equal(pwrite(file, zeros, sizeof zeros, 0), sizeof zeros);
    assert_int_equal(close(file), 0);
    durable_request_free(loaded);
    loaded = durable_request_new(DURABLE_LOAD);
    files = open_files(loaded);
    assert_true(loaded->was_damaged);
    assert_int_equal(loaded->entries.count, 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(loaded->entries.items[i].value.size,
                         DURABLE_VALUE_MAX);
    durable_files_close(files);
    durable_request_free(loaded);
}

/* A start was killed before it wrote anything. */
static void an_empty_file_is_a_new_one(void **state)
{
    struct durable_request *loaded = durable_request_new(DURABLE_LOAD);
    const struct buf nothing = { .data = (uint8_t *)(uintptr_t)"" };
    struct durable_files *files;

    (void)state;
    write_file("values.mdb", &nothing);
    files = open_files(loaded);
    assert_false(loaded->was_damaged);
    assert_int_equal(loaded->entries.count, 0);
    assert_int_equal(change(files, "k", "v", 1), 0);
    files = crash(files, &loaded);
    assert_value(loaded, "k", "v");
    durable_files_close(files);
    durable_request_free(loaded);
}

static void values_lost_by_write_behind_are_reported(void **state)
{
    struct durable_options options = { .directory = directory,
                                       .cluster = "c",
                                       .map_size = MIB,
                                       .write_behind_ms = 3600 * 1000,
                                       .done = on_done,
                                       .warn = hear };
    char error[DURABLE_ERROR_MAX] = "";
    uint8_t *value = mem_alloc(MIB);
    struct answers answers;
    struct durable *durable;

    (void)state;
    said[0] = 0;
    answers_init(&answers);
    options.context = &answers;
    assert_int_equal(durable_open(&durable, &options, error), 0);
    (void)load(durable, &answers);
    assert_done(ask(durable, &answers, store_of("k", slice_of(value, MIB))));
    limit_files(MIB / 2);
    durable_close(durable);
    limit_files(RLIM_INFINITY);
    assert_non_null(strstr(said, "lost"));
    assert_non_null(strstr(said, "1 "));
    assert_non_null(strstr(said, directory));
    answers_fini(&answers);
    mem_free(value);
}

#define in_a_directory(test) \
    cmocka_unit_test_setup_teardown(test, make_directory, drop_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_directory(stored_values_are_loaded_again),
        in_a_directory(a_new_database_outlives_a_loss_of_power),
        in_a_directory(the_database_file_grows_with_its_values),
        in_a_directory(write_behind_writes_the_last_value_once),
        in_a_directory(write_behind_holds_a_bounded_size),
        in_a_directory(other_systems_and_clusters_are_refused),
        in_a_directory(an_irremovable_clean_file_fails_the_load),
        in_a_directory(writes_beyond_a_limit_are_refused),
        in_a_directory(sizes_of_the_database_are_bounded),
        in_a_directory(a_full_disk_acknowledges_nothing),
        in_a_directory(
            write_behind_on_a_full_disk_refuses_until_it_is_written),
        in_a_directory(write_behind_ends_on_a_full_disk),
        in_a_directory(an_unreadable_file_stays_unchanged),
        in_a_directory(acknowledged_values_survive_a_kill),
        in_a_directory(erased_keys_stay_erased_after_a_crash),
        in_a_directory(a_failed_transaction_is_no_damage_after_a_crash),
        in_a_directory(an_empty_file_is_a_new_one),
        in_a_directory(all_of_a_large_file_is_searched),
        in_a_directory(values_lost_by_write_behind_are_reported),
    };

    (void)signal(SIGXFSZ, SIG_IGN); /* the size limit acts as a full disk */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
