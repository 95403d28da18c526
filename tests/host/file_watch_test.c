/* Tests files on a stalled mount: a look at one blocks, but nothing waits for the look. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <uv.h>

#include "base/check.h"
#include "host/discovery.h"
#include "host/file_watch.h"
#include "mount.h"

/* ---- any look ---- */

struct subject {
    _Atomic int *released; /* lent by the test */
    int runs;
};

struct counts {
    _Atomic int done;
};

static void run(void *context)
{
    struct subject *subject = context;
    struct stat about;

    subject->runs++;
    (void)fstat(0, &about);
}

static void done(void *context, void *subject)
{
    struct counts *counts = context;

    assert_true(((struct subject *)subject)->runs == atomic_fetch_add(&counts->done, 1) + 1);
}

static void release(void *context)
{
    struct subject *subject = context;

    atomic_fetch_add(subject->released, 1);
    mem_free(subject);
}

static struct file_watch *open_looks(struct counts *counts, _Atomic int *released)
{
    const struct file_watch_options options = { .name = "looks", .run = run, .done = done, .release = release, .context = counts };
    struct subject *subject = mem_alloc(sizeof *subject);
    struct file_watch *file_watch;

    subject->released = released;
    file_watch = file_watch_open(&options, subject);
    assert_non_null(file_watch);
    return file_watch;
}

static void requests_during_a_check_are_merged(void **state)
{
    static _Atomic int released;
    struct counts counts = { 0 };
    struct file_watch *file_watch = open_looks(&counts, &released);
    (void)state;

    mount_stop();
    file_watch_ask(file_watch);
    mount_holds(1);
    for (int i = 0; i < 10; i++)
        file_watch_ask(file_watch);
    assert_false(file_watch_are_late(file_watch));
    mount_go_on();
    file_watch_wait(file_watch);
    assert_int_equal(counts.done, 2); /* requests during a look are merged */
    file_watch_ask(file_watch);
    file_watch_wait(file_watch);
    assert_int_equal(counts.done, 3);
    assert_int_equal(released, 0);
    file_watch_ask(file_watch);
    assert_false(file_watch_close(file_watch));
    assert_int_equal(released, 1);
    assert_false(file_watch_close(NULL));
}

static void closing_does_not_wait_for_an_endless_check(void **state)
{
    static _Atomic int released;
    struct counts counts = { 0 };
    struct file_watch *file_watch = open_looks(&counts, &released);
    (void)state;

    mount_stop();
    file_watch_ask(file_watch);
    mount_holds(1);
    file_watch_ask(file_watch);
    assert_true(file_watch_close(file_watch));
    assert_int_equal(released, 0);
    mount_go_on();
    while (!atomic_load(&released))
        uv_sleep(1);
    assert_int_equal(counts.done, 0); /* it is not reported */
}

/* ---- seed nodes ---- */

struct heard {
    _Atomic int lists, lines;
};

static void found(void *context, struct seed_list *list)
{
    struct heard *heard = context;

    atomic_fetch_add(&heard->lists, 1);
    mem_free(list);
}

static void say(void *context, enum trace_level level, const char *text)
{
    struct heard *heard = context;

    assert_int_equal(level, TRACE_WARNING);
    assert_string_equal(text, "/dev/null: it does not answer");
    atomic_fetch_add(&heard->lines, 1);
}

static void closing_does_not_wait_for_a_stalled_seed_file(void **state)
{
    struct heard heard = { 0 };
    struct discovery_options options = { .file = "/dev/null", .protocol = "akka", .system = "Shop",
                                      .done = found, .say = say, .context = &heard };
    struct discovery *discovery = discovery_open(&options);
    (void)state;

    assert_non_null(discovery);
    assert_false(discovery_watch(NULL));
    mount_stop();
    discovery_look(discovery);
    mount_holds(1);
    for (int i = 0; i < 20000 && !heard.lines; i++) {
        assert_true(discovery_watch(discovery));
        uv_sleep(1);
    }
    assert_true(discovery_watch(discovery));
    assert_int_equal(heard.lines, 1);
    discovery_close(discovery);
    assert_int_equal(heard.lists, 0);
    mount_go_on();
    mount_holds(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_during_a_check_are_merged),
        cmocka_unit_test(closing_does_not_wait_for_an_endless_check),
        cmocka_unit_test(closing_does_not_wait_for_a_stalled_seed_file),
    };

    return cmocka_run_group_tests_name("looks", tests, NULL, NULL);
}
