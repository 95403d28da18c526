/* Tests lease providers that do not answer: files on a stalled mount, and an etcd whose name DNS
 * does not answer. Closing does not wait. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <uv.h>

#include "base/check.h"
#include "base/timers.h"
#include "host/lease_file.h"
#include "host/lease_provider.h"
#include "mount.h"
#include "slow_names.h"

#define DIRECTORY "/tmp/sherd-leases-XXXXXX" /* template for mkdtemp */

#define MANY 3 /* requests, one of them running */

struct told {
    uv_mutex_t mutex;
    uint32_t count; /* answers */
    enum lease_answer last;
    char warning[256];
};

static void done(void *context, struct lease_request *request)
{
    struct told *told = context;

    uv_mutex_lock(&told->mutex);
    told->count++;
    told->last = request->answer;
    uv_mutex_unlock(&told->mutex);
    mem_free(request);
}

static void warn(void *context, const char *text)
{
    struct told *told = context;

    uv_mutex_lock(&told->mutex);
    (void)snprintf(told->warning, sizeof told->warning, "%s", text); /* may be cut */
    uv_mutex_unlock(&told->mutex);
}

static uint32_t answers(struct told *told)
{
    uint32_t count;

    uv_mutex_lock(&told->mutex);
    count = told->count;
    uv_mutex_unlock(&told->mutex);
    return count;
}

static struct leases *open_for(struct told *told, const char *directory, const struct etcd_options *etcd)
{
    struct lease_provider_options options = { .directory = directory, .etcd = etcd, .done = done, .warn = warn, .context = told };
    struct leases *leases;
    char error[256];

    assert_int_equal(uv_mutex_init(&told->mutex), 0);
    if (lease_provider_open(&leases, &options, error, sizeof error) != 0)
        fail_msg("%s", error);
    return leases;
}

static void submit(struct leases *leases, enum lease_verb verb)
{
    struct lease_request *request = mem_alloc(sizeof *request);

    request->verb = verb;
    request->ttl = 60 * SECOND;
    (void)snprintf(request->name, sizeof request->name, "L");
    (void)snprintf(request->owner, sizeof request->owner, "a:1");
    lease_provider_submit(leases, request);
}

/* Long before an answer comes. */
static void closes_in_time(struct leases *leases)
{
    uint64_t start = uv_hrtime();

    lease_provider_close(leases);
    assert_true(uv_hrtime() - start < (SLOW_SECONDS / 2) * SECOND);
}

/* directory: DIRECTORY, completed here. */
static struct leases *open_on_stopped(struct told *told, char *directory)
{
    struct leases *leases;

    assert_non_null(mkdtemp(directory));
    leases = open_for(told, directory, NULL);
    mount_stop();
    return leases;
}

static void end(struct told *told, const char *directory)
{
    char command[64];

    (void)snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
    uv_mutex_destroy(&told->mutex);
}

static void a_stalled_mount_does_not_delay_closing(void **state)
{
    char directory[] = DIRECTORY;
    struct lease_request other = { .verb = LEASE_TAKE, .name = "L", .owner = "b:1", .ttl = SECOND };
    struct lease_file file = { .path = "" };
    struct told told = { .count = 0 };
    struct leases *leases;

    (void)state;
    leases = open_on_stopped(&told, directory);
    for (int i = 0; i < MANY; i++)
        submit(leases, LEASE_TAKE);
    mount_holds(1);
    closes_in_time(leases);
    assert_int_equal(told.count, MANY); /* each came back */
    assert_int_equal(told.last, LEASE_UNKNOWN);
    assert_string_equal(told.warning,
                        "lease provider does not answer; its open requests end as unknown "
                        "hint=\"check etcd, or the file system of the leases\"");
    mount_go_on();
    mount_holds(0);
    assert_int_equal(told.count, MANY); /* none came twice */
    lease_file_do(&file, directory, uv_hrtime(), &other); /* waits for the abandoned thread's lock */
    /* an unknown request is not done later, as the next incarnation may use the name */
    assert_int_equal(other.answer, LEASE_GRANTED);
    lease_file_forget(&file);
    end(&told, directory);
}

/* Waiting requests are done at the end if files answer. */
static void waiting_requests_are_done_before_the_end(void **state)
{
    char directory[] = DIRECTORY;
    struct told told = { .count = 0 };
    struct leases *leases;

    (void)state;
    leases = open_on_stopped(&told, directory);
    submit(leases, LEASE_TAKE);
    submit(leases, LEASE_GIVE_UP);
    mount_holds(1);
    mount_go_on();
    closes_in_time(leases);
    assert_int_equal(told.count, 2);
    assert_int_equal(told.last, LEASE_GRANTED);
    assert_string_equal(told.warning, "");
    end(&told, directory);
}

static void waits_for_names(uint32_t count)
{
    for (int i = 0; i < SLOW_SECONDS * 1000 && atomic_load(&waiting) < count; i++)
        uv_sleep(1);
    assert_true(atomic_load(&waiting) >= count);
}

static void a_name_without_dns_answer_does_not_delay_closing(void **state)
{
    const char *const endpoints[] = { "http://slow.etcd:2379" };
    const struct etcd_options etcd = { .endpoints = endpoints, .endpoint_count = 1, .request_timeout = 600 * SECOND, .patience = 600 * SECOND };
    struct told told = { .count = 0 };
    struct leases *leases = open_for(&told, NULL, &etcd);

    (void)state;
    waits_for_names(1);
    submit(leases, LEASE_TAKE);
    closes_in_time(leases);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.last, LEASE_UNKNOWN);
    uv_mutex_destroy(&told.mutex);
}

/* Time limits include look-ups: the next endpoint is asked. */
static void a_silent_name_does_not_delay_a_request(void **state)
{
    const char *const endpoints[] = { "http://slow.etcd:2379", "http://nobody.etcd:2379" };
    const struct etcd_options etcd = { .endpoints = endpoints, .endpoint_count = 2, .request_timeout = 50 * MS, .patience = 300 * MS };
    struct told told = { .count = 0 };
    struct leases *leases = open_for(&told, NULL, &etcd);
    uint64_t until = uv_hrtime() + (SLOW_SECONDS / 2) * SECOND;

    (void)state;
    submit(leases, LEASE_TAKE);
    while (!answers(&told) && uv_hrtime() < until)
        uv_sleep(1);
    assert_int_equal(answers(&told), 1);
    closes_in_time(leases);
    uv_mutex_destroy(&told.mutex);
}

/* Lets abandoned threads end, as sanitizers would report them. */
static int let_go(void **state)
{
    (void)state;
    atomic_store(&is_let_go, true);
    while (atomic_load(&waiting))
        uv_sleep(1);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stalled_mount_does_not_delay_closing),
        cmocka_unit_test(waiting_requests_are_done_before_the_end),
        cmocka_unit_test(a_name_without_dns_answer_does_not_delay_closing),
        cmocka_unit_test(a_silent_name_does_not_delay_a_request),
    };

    return cmocka_run_group_tests_name("leases mount", tests, NULL, let_go);
}
