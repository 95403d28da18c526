/* Tests leases in files and in memory: one owner at a time, across threads and processes. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/timers.h"
#include "compete.h"
#include "host/lease_file.h"
#include "host/lease_provider.h"

#define TTL (120 * SECOND)

static char directory[64];

static int make_directory(void **state)
{
    (void)state;
    (void)snprintf(directory, sizeof directory, "/tmp/sherd-leases-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int drop_directory(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

static struct lease_request ask(uint64_t now, enum lease_verb verb,
                                const char *name, const char *owner)
{
    struct lease_request request = { .verb = verb, .ttl = TTL };
    struct lease_file file = { .path = "" };

    (void)snprintf(request.name, sizeof request.name, "%s", name);
    (void)snprintf(request.owner, sizeof request.owner, "%s", owner);
    lease_file_do(&file, directory, now, &request);
    lease_file_forget(&file);
    return request;
}

static void a_lease_has_one_owner_at_a_time(void **state)
{
    (void)state;
    assert_int_equal(ask(1, LEASE_TAKE, "L", "a:1").token, 1);
    assert_int_equal(ask(2, LEASE_TAKE, "L", "b:1").answer, LEASE_REFUSED);
    assert_int_equal(ask(3, LEASE_TAKE, "M", "b:1").answer, LEASE_GRANTED);
    assert_int_equal(ask(4, LEASE_GIVE_UP, "L", "b:1").answer, LEASE_GRANTED);
    assert_int_equal(ask(5, LEASE_TAKE, "L", "a:1").token, 1);
    assert_int_equal(ask(TTL + 4, LEASE_TAKE, "L", "b:1").answer,
                     LEASE_REFUSED);
    assert_int_equal(ask(TTL + 5, LEASE_TAKE, "L", "b:1").token, 2);
    assert_int_equal(ask(TTL + 6, LEASE_GIVE_UP, "L", "b:1").answer,
                     LEASE_GRANTED);
    assert_int_equal(ask(TTL + 7, LEASE_TAKE, "L", "a:1").token, 3);
}

static void any_lease_name_gets_a_file(void **state)
{
    char name[LEASE_TEXT_MAX];

    (void)state;
    assert_int_equal(ask(1, LEASE_TAKE, "../up/x y", "a:1").answer,
                     LEASE_GRANTED);
    assert_int_equal(ask(1, LEASE_TAKE, "../up/x z", "b:1").answer,
                     LEASE_GRANTED);
    assert_int_equal(ask(1, LEASE_TAKE, "L", "a b").answer, LEASE_REFUSED);
    memset(name, '/', sizeof name - 1);
    name[sizeof name - 1] = 0;
    /* too long for a file name */
    assert_int_equal(ask(1, LEASE_TAKE, name, "a:1").answer, LEASE_UNKNOWN);
}

static void put_file(const char *text)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/L.lease", directory);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_lease_of_an_earlier_boot_is_free(void **state)
{
    (void)state;
    put_file("01234567-other-boot z:1 18446744073709551615 41\n");
    assert_int_equal(ask(1, LEASE_TAKE, "L", "a:1").token, 42);
}

static void a_file_that_is_no_lease_stays_unchanged(void **state)
{
    (void)state;
    put_file("my diary\n");
    assert_int_equal(ask(1, LEASE_TAKE, "L", "a:1").answer, LEASE_UNKNOWN);
}

/* ---- processes ---- */

#define TURNS 50 /* of each */

static bool take(const char *owner)
{
    return ask(1, LEASE_TAKE, "L", owner).answer == LEASE_GRANTED;
}

static bool give_up(const char *owner)
{
    return ask(1, LEASE_GIVE_UP, "L", owner).answer == LEASE_GRANTED;
}

static void processes_exclude_each_other(void **state)
{
    (void)state;
    compete(directory, TURNS, take, give_up);
    assert_int_equal(ask(1, LEASE_TAKE, "L", "last").token,
                     COMPETITORS * TURNS + 1);
}

/* ---- the thread ---- */

struct answers {
    uv_mutex_t mutex;
    uv_cond_t changed;
    struct lease_request *request;
};

static void done(void *context, struct lease_request *request)
{
    struct answers *answers = context;

    uv_mutex_lock(&answers->mutex);
    answers->request = request;
    uv_cond_signal(&answers->changed);
    uv_mutex_unlock(&answers->mutex);
}

static enum lease_answer submit(struct leases *leases,
                                struct answers *answers, const char *owner)
{
    struct lease_request *request = mem_alloc(sizeof *request);
    enum lease_answer answer;

    request->ttl = TTL;
    (void)snprintf(request->name, sizeof request->name, "T");
    (void)snprintf(request->owner, sizeof request->owner, "%s", owner);
    lease_provider_submit(leases, request);
    uv_mutex_lock(&answers->mutex);
    while (!answers->request)
        uv_cond_wait(&answers->changed, &answers->mutex);
    answer = answers->request->answer;
    mem_free(answers->request);
    answers->request = NULL;
    uv_mutex_unlock(&answers->mutex);
    return answer;
}

/* ---- changed files ---- */

struct seen {
    struct answers answers;
    _Atomic uint32_t losses;  /* changes under a held lease */
    _Atomic uint32_t changes; /* all changes */
    _Atomic uint32_t returns; /* a file is there again */
    char why[LEASE_PATH_SIZE + 160];
};

static void on_changed(void *context, enum lease_use use, const char *why, bool is_held)
{
    struct seen *seen = context;

    assert_int_equal(use, LEASE_USE_RESOLVER);
    if (why)
        (void)snprintf(seen->why, sizeof seen->why, "%s", why);
    atomic_fetch_add(&seen->losses, is_held);
    atomic_fetch_add(&seen->changes, why != NULL);
    atomic_fetch_add(&seen->returns, why == NULL);
}

static struct leases *open_seen(struct seen *seen)
{
    struct lease_provider_options options = { .directory = directory,
                                              .name = "T",
                                              .done = done,
                                              .changed = on_changed,
                                              .context = seen };
    struct leases *leases;
    char error[256];

    memset(seen, 0, sizeof *seen);
    assert_int_equal(uv_mutex_init(&seen->answers.mutex), 0);
    assert_int_equal(uv_cond_init(&seen->answers.changed), 0);
    if (lease_provider_open(&leases, &options, error, sizeof error) != 0)
        fail_msg("%s", error);
    return leases;
}

static void close_seen(struct seen *seen, struct leases *leases)
{
    lease_provider_close(leases);
    uv_cond_destroy(&seen->answers.changed);
    uv_mutex_destroy(&seen->answers.mutex);
}

static void wait_for(const _Atomic uint32_t *count)
{
    for (int i = 0; i < 20000 && !atomic_load(count); i++)
        uv_sleep(1);
    assert_int_equal(atomic_load(count), 1);
}

static void delete_file(const char *path)
{
    assert_int_equal(unlink(path), 0);
}

static void replace_file(const char *path)
{
    char command[300];

    (void)snprintf(command, sizeof command, "cp %s %s.copy && mv %s.copy %s",
                   path, path, path, path);
    assert_int_equal(system(command), 0);
}

static void cut_file(const char *path)
{
    assert_int_equal(truncate(path, 0), 0);
}

static void move_folder(const char *path)
{
    char moved[80];

    (void)path;
    (void)snprintf(moved, sizeof moved, "%s.moved", directory);
    assert_int_equal(rename(directory, moved), 0);
    assert_int_equal(mkdir(directory, 0700), 0);
    (void)snprintf(moved, sizeof moved, "rm -r %s.moved", directory);
    assert_int_equal(system(moved), 0);
}

static const struct {
    void (*make)(const char *path);
    const char *what;
} changes[] = { { delete_file, "T.lease was deleted under this node" },
                { replace_file, "T.lease was replaced under this node" },
                { cut_file, "T.lease was cut under this node" },
                { move_folder, "T.lease was deleted under this node" } };

#define CHANGES (sizeof changes / sizeof *changes)

static void path_of_lease(char path[96])
{
    (void)snprintf(path, 96, "%s/T.lease", directory);
}

static void a_lease_in_a_changed_file_is_lost(void **state)
{
    struct seen seen;
    char path[96];

    path_of_lease(path);
    for (size_t i = 0; i < CHANGES; i++) {
        struct leases *leases = open_seen(&seen);

        assert_int_equal(submit(leases, &seen.answers, "a:1"), LEASE_GRANTED);
        assert_int_equal(submit(leases, &seen.answers, "a:1"), LEASE_GRANTED);
        assert_int_equal(seen.changes, 0);
        changes[i].make(path);
        wait_for(&seen.losses); /* without a request */
        assert_non_null(strstr(seen.why, changes[i].what));
        assert_non_null(strstr(seen.why, directory));
        assert_int_equal(seen.changes, 1);
        close_seen(&seen, leases);
        (void)drop_directory(state);
        (void)make_directory(state);
        path_of_lease(path);
    }
}

static struct lease_request ask_in(struct lease_file *file)
{
    struct lease_request request = { .verb = LEASE_TAKE, .name = "T",
                                     .owner = "a:1", .ttl = TTL };

    lease_file_do(file, directory, 1, &request);
    return request;
}

/* The renewal may come before the look. */
static void a_renewal_in_a_changed_file_is_refused(void **state)
{
    char path[96];

    for (size_t i = 0; i < CHANGES; i++) {
        struct lease_file file = { .path = "" };
        const char *what;
        char why[256];

        path_of_lease(path);
        assert_true(lease_file_make(&file, directory, "T", why, sizeof why));
        assert_int_equal(ask_in(&file).answer, LEASE_GRANTED);
        assert_false(file.is_new);
        assert_int_equal(lease_file_look(&file, &what), LEASE_FILE_SAME);
        changes[i].make(path);
        for (int j = 0; j < 3; j++)
            assert_int_equal(ask_in(&file).answer, LEASE_REFUSED);
        assert_int_equal(lease_file_look(&file, &what), LEASE_FILE_CHANGED);
        assert_non_null(strstr(changes[i].what, what));
        assert_int_equal(ask_in(&file).answer, LEASE_GRANTED); /* as after a look */
        assert_int_equal(file.is_new, changes[i].make != replace_file);
        assert_int_equal(lease_file_look(&file, &what), LEASE_FILE_BACK);
        assert_int_equal(lease_file_look(&file, &what), LEASE_FILE_SAME);
        lease_file_forget(&file);
        (void)drop_directory(state);
        (void)make_directory(state);
    }
}

/* Else two nodes would consider the lease theirs until the first one looks. */
static void a_new_file_grants_only_after_holders_have_noticed(void **state)
{
    struct seen first, second;
    struct leases *holder = open_seen(&first);
    struct leases *other = open_seen(&second);
    char path[96];
    uint64_t start;
    (void)state;

    assert_int_equal(submit(holder, &first.answers, "a:1"), LEASE_GRANTED);
    path_of_lease(path);
    delete_file(path);
    start = uv_hrtime();
    assert_int_equal(submit(other, &second.answers, "b:1"), LEASE_GRANTED);
    assert_true(uv_hrtime() - start >= LEASE_SETTLE_MS * MS);
    wait_for(&first.losses);
    assert_int_equal(second.losses, 0); /* it held nothing */
    assert_int_equal(second.changes, 1);
    wait_for(&first.returns); /* there is a file again */
    assert_int_equal(submit(holder, &first.answers, "a:1"), LEASE_REFUSED);
    close_seen(&first, holder);
    close_seen(&second, other);
}

static void a_lease_file_is_made_at_the_start(void **state)
{
    struct seen seen;
    struct leases *leases = open_seen(&seen);
    char path[96];
    (void)state;

    path_of_lease(path);
    assert_int_equal(access(path, W_OK), 0);
    close_seen(&seen, leases);
    leases = open_seen(&seen); /* it stays */
    assert_int_equal(submit(leases, &seen.answers, "a:1"), LEASE_GRANTED);
    assert_int_equal(seen.changes, 0);
    close_seen(&seen, leases);
}

/* Two systems with one provider. */
static void ask_two(const char *where)
{
    struct answers answers = { .request = NULL };
    struct lease_provider_options options = { .directory = where, .done = done,
                                      .context = &answers };
    struct leases *first, *second;
    char error[256];

    assert_int_equal(uv_mutex_init(&answers.mutex), 0);
    assert_int_equal(uv_cond_init(&answers.changed), 0);
    assert_int_equal(lease_provider_open(&first, &options, error, sizeof error), 0);
    assert_int_equal(lease_provider_open(&second, &options, error, sizeof error), 0);
    assert_int_equal(submit(first, &answers, "a:1"), LEASE_GRANTED);
    assert_int_equal(submit(second, &answers, "b:1"), LEASE_REFUSED);
    assert_int_equal(submit(second, &answers, "a:1"), LEASE_GRANTED);
    lease_provider_close(first);
    lease_provider_close(second);
    uv_cond_destroy(&answers.changed);
    uv_mutex_destroy(&answers.mutex);
}

static void systems_share_a_lease_provider(void **state)
{
    (void)state;
    ask_two(NULL);
    ask_two(directory);
}

static void a_missing_directory_is_an_error(void **state)
{
    struct lease_provider_options options = { .directory = "/nowhere/at/all",
                                      .done = done };
    struct leases *leases;
    char error[256];

    (void)state;
    assert_int_equal(lease_provider_open(&leases, &options, error, sizeof error), -1);
    assert_null(leases);
    assert_non_null(strstr(error, "/nowhere/at/all"));
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, make_directory, drop_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_lease_has_one_owner_at_a_time),
        TEST(any_lease_name_gets_a_file),
        TEST(a_lease_of_an_earlier_boot_is_free),
        TEST(a_file_that_is_no_lease_stays_unchanged),
        TEST(processes_exclude_each_other),
        TEST(systems_share_a_lease_provider),
        TEST(a_missing_directory_is_an_error),
        TEST(a_lease_in_a_changed_file_is_lost),
        TEST(a_renewal_in_a_changed_file_is_refused),
        TEST(a_new_file_grants_only_after_holders_have_noticed),
        TEST(a_lease_file_is_made_at_the_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
