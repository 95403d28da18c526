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
#include <unistd.h>
#include <uv.h>

#include "base/check.h"
#include "base/timers.h"
#include "compete.h"
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

    (void)snprintf(request.name, sizeof request.name, "%s", name);
    (void)snprintf(request.owner, sizeof request.owner, "%s", owner);
    lease_file_do(directory, now, NULL, &request);
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
