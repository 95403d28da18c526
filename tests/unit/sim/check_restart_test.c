/* Tests check_restart with allowed histories and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/timers.h"
#include "judged.h"
#include "sim/check/check_restart.h"

static struct check_restart *check;

static void begin(void)
{
    judge();
    check = check_restart_new(verdict);
}

static void end(void)
{
    check_restart_free(check);
    verdict_free(verdict);
}

static void coordinator(uint64_t at_ms, uint32_t node, enum probe_kind kind)
{
    const struct probe probe = { .kind = kind, .type = 3 };

    check_restart_probe(check, at_ms * MS, node, &probe);
}

static void ask(uint64_t from_ms, uint64_t to_ms, const char *failure)
{
    check_restart_asked(check, to_ms * MS, 0, from_ms * MS, failure);
}

static void a_second_without_coordinator_is_allowed(void **state)
{
    (void)state;
    begin();
    coordinator(1, 0, PROBE_COORDINATOR_STARTED);
    check_restart_begin(check, 10 * MS);
    coordinator(1000, 0, PROBE_COORDINATOR_ENDED);
    coordinator(2000, 1, PROBE_COORDINATOR_STARTED);
    check_restart_end(check, 9000 * MS);
    expect_only(NULL);
    assert_int_equal(check_restart_counts(check).hand_overs, 1);
    assert_int_equal(check_restart_counts(check).missing_ns, SECOND);
    end();
}

static void a_longer_time_without_coordinator_breaks_the_rule(void **state)
{
    (void)state;
    begin();
    coordinator(1, 0, PROBE_COORDINATOR_STARTED);
    check_restart_begin(check, 10 * MS);
    coordinator(1000, 0, PROBE_COORDINATOR_ENDED);
    coordinator(2001, 1, PROBE_COORDINATOR_STARTED);
    expect_only("graceful-restart");
    end();
}

static void a_node_takes_its_coordinator_with_it(void **state)
{
    (void)state;
    begin();
    coordinator(1, 0, PROBE_COORDINATOR_STARTED);
    check_restart_begin(check, 10 * MS);
    check_restart_node_ended(check, 1000 * MS, 0);
    check_restart_end(check, 2001 * MS);
    expect_only("graceful-restart");
    end();
}

static void two_coordinators_are_not_missed_when_one_ends(void **state)
{
    (void)state;
    begin();
    coordinator(1, 0, PROBE_COORDINATOR_STARTED);
    coordinator(2, 1, PROBE_COORDINATOR_STARTED);
    check_restart_begin(check, 10 * MS);
    coordinator(20, 0, PROBE_COORDINATOR_ENDED);
    check_restart_end(check, 9000 * MS);
    expect_only(NULL);
    end();
}

static void only_the_time_of_the_restarts_counts(void **state)
{
    (void)state;
    begin();
    coordinator(1, 0, PROBE_COORDINATOR_STARTED);
    coordinator(2, 0, PROBE_COORDINATOR_ENDED);
    ask(2, 900, "no coordinator");
    check_restart_begin(check, 5000 * MS);
    ask(4999, 6000, "no coordinator");
    coordinator(5900, 0, PROBE_COORDINATOR_STARTED);
    check_restart_end(check, 6000 * MS);
    ask(6000, 7000, NULL);
    expect_only(NULL);
    assert_int_equal(check_restart_counts(check).asks, 0);
    end();
}

static void a_failed_ask_breaks_the_rule(void **state)
{
    (void)state;
    begin();
    check_restart_begin(check, 10 * MS);
    ask(20, 520, NULL);
    expect_only(NULL);
    ask(20, 30, "timeout");
    expect_only("graceful-restart");
    end();
}

static void a_slow_ask_breaks_the_rule(void **state)
{
    (void)state;
    begin();
    check_restart_begin(check, 10 * MS);
    ask(20, 521, NULL);
    expect_only("graceful-restart");
    assert_int_equal(check_restart_counts(check).slowest_ns, 501 * MS);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_without_coordinator_is_allowed),
        cmocka_unit_test(a_longer_time_without_coordinator_breaks_the_rule),
        cmocka_unit_test(a_node_takes_its_coordinator_with_it),
        cmocka_unit_test(two_coordinators_are_not_missed_when_one_ends),
        cmocka_unit_test(only_the_time_of_the_restarts_counts),
        cmocka_unit_test(a_failed_ask_breaks_the_rule),
        cmocka_unit_test(a_slow_ask_breaks_the_rule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
