/* Tests that a thread's loop wakes although its alarm was due before the loop polled. libuv before
 * 1.45 runs such an alarm first, and then polls without a time limit. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <uv.h>

#include "base/timers.h"
#include "fake_node.h"

#define ALARM_MS 20
#define TURNS 10

int __real_uv_timer_start(uv_timer_t *timer, uv_timer_cb call, uint64_t ms, uint64_t again);
int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb call, uint64_t ms, uint64_t again);

/* Delays short alarms as if another process had the processor. */
int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb call, uint64_t ms, uint64_t again)
{
    int result = __real_uv_timer_start(timer, call, ms, again);

    if (ms <= 2 * ALARM_MS)
        uv_sleep((unsigned)ms + 2);
    return result;
}

static _Atomic int turns;

static bool ask_for_an_alarm(struct machine *machine)
{
    if (machine->index == 0) {
        machine->deadline = machine->now + ALARM_MS * MS;
        atomic_fetch_add(&turns, 1);
    }
    return false;
}

static void a_due_alarm_ends_the_sleep(void **state)
{
    struct sherd_options options = { .port = SHERD_PORT_ANY, .lanes = 1 };
    struct sherd_system *system;
    (void)state;

    fake_hooks.turn = ask_for_an_alarm;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_start(system), 0);
    for (int i = 0; i < 5000 && atomic_load(&turns) < TURNS; i++)
        uv_sleep(1);
    assert_in_range(atomic_load(&turns), TURNS, INT32_MAX);
    sherd_close(system);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_due_alarm_ends_the_sleep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
