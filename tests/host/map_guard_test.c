/* Tests that a cut file breaks off the call that reads it, and that other faults end the process. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/map_guard.h"

#define SIZE 4096

struct mapped {
    int fd;
    volatile char *bytes;
    uint32_t calls, ends;
};

static int map_file(void **state)
{
    static struct mapped mapped;
    FILE *file = tmpfile();

    mapped = (struct mapped){ .fd = file ? fileno(file) : -1 };
    if (!file || ftruncate(mapped.fd, SIZE) != 0)
        return -1;
    mapped.bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
                        mapped.fd, 0);
    *state = &mapped;
    return mapped.bytes == MAP_FAILED ? -1 : 0;
}

static int unmap_file(void **state)
{
    struct mapped *mapped = *state;

    (void)close(mapped->fd);
    return munmap((void *)(uintptr_t)mapped->bytes, SIZE);
}

static void touch(void *context)
{
    struct mapped *mapped = context;

    mapped->calls++;
    mapped->bytes[0]++;
    mapped->ends++;
}

static void a_call_on_a_cut_file_is_broken_off(void **state)
{
    struct mapped *mapped = *state;

    assert_true(map_guard_run(touch, mapped));
    assert_int_equal(ftruncate(mapped->fd, 0), 0);
    for (int i = 0; i < 3; i++)
        assert_false(map_guard_run(touch, mapped));
    assert_int_equal(mapped->calls, 4);
    assert_int_equal(mapped->ends, 1);
    assert_int_equal(ftruncate(mapped->fd, SIZE), 0);
    assert_true(map_guard_run(touch, mapped)); /* the handler is still there */
}

static void *touch_on_a_thread(void *context)
{
    return map_guard_run(touch, context) ? context : NULL;
}

static void each_thread_has_its_own_call(void **state)
{
    struct mapped *mapped = *state;
    pthread_t threads[4];
    void *result;

    assert_int_equal(ftruncate(mapped->fd, 0), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, touch_on_a_thread, mapped), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_null(result);
    }
}

static void end_as_told(int number)
{
    _exit(number == SIGBUS ? 3 : 4);
}

static void do_nothing(void *context)
{
    (void)context;
}

/* Returns the status of a child that touches a cut file outside of a call. */
static int end_of_child(struct mapped *mapped, void (*handler)(int))
{
    const struct rlimit none = { 0, 0 };
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGBUS, handler);
        (void)map_guard_run(do_nothing, NULL);
        if (ftruncate(mapped->fd, 0) == 0)
            mapped->bytes[0]++;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_fault_elsewhere_is_passed_on(void **state)
{
    int status = end_of_child(*state, end_as_told);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    status = end_of_child(*state, SIG_DFL);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGBUS);
}

#define on_a_map(test) \
    cmocka_unit_test_setup_teardown(test, map_file, unmap_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        on_a_map(a_fault_elsewhere_is_passed_on),
        on_a_map(a_call_on_a_cut_file_is_broken_off),
        on_a_map(each_thread_has_its_own_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
