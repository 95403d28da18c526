/* Tests check_margin with allowed histories and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/member_info.h"
#include "judged.h"
#include "sim/check/check_margin.h"

#define NODES 3
#define MARGIN (20 * SECOND)

static struct check_safety safety;
static struct check_margin *check;

static uint64_t clock_of(void *user, uint32_t node)
{
    (void)user;
    return now + 1000 * SECOND * node;
}

static int begin(void **state)
{
    (void)state;
    judge();
    safety = (struct check_safety){ .outside = { false } };
    check = check_margin_new(verdict, &safety, clock_of, NULL);
    for (uint32_t i = 0; i < NODES; i++)
        check_margin_node_started(check, i, 100 + i, MARGIN);
    return 0;
}

static int end(void **state)
{
    (void)state;
    check_margin_free(check);
    verdict_free(verdict);
    return 0;
}

static void see(uint32_t by, uint32_t node, enum member_status status)
{
    check_margin_probe(check, by,
                       &(struct probe){ .kind = PROBE_MEMBER_SEEN,
                                        .type = PROBE_TYPE_NONE,
                                        .node = { .uid = 100 + node },
                                        .first = status });
}

static void coordinator(uint32_t node, enum probe_kind kind)
{
    check_margin_probe(check, node, &(struct probe){ .kind = kind, .type = 2 });
}

static void home_ends(uint32_t by, uint32_t at)
{
    check_margin_probe(check, by,
                       &(struct probe){ .kind = PROBE_HOME_ENDED,
                                        .type = 2,
                                        .shard = 7,
                                        .node = { .uid = 100 + at },
                                        .second = PROBE_HOME_NODE_REMOVED });
}

/* Node 0 runs a coordinator and is removed. */
static void remove_first(void)
{
    coordinator(0, PROBE_COORDINATOR_STARTED);
    coordinator(0, PROBE_COORDINATOR_ACTIVE);
    see(1, 1, MEMBER_UP);
    see(1, 0, MEMBER_DOWN);
    see(1, 0, MEMBER_REMOVED);
}

static void handoff_safety_a_home_that_ends_too_early_is_found(void **state)
{
    (void)state;
    see(1, 0, MEMBER_REMOVED);
    now += MARGIN / 2;
    home_ends(1, 0);
    expect_only("handoff-safety");
}

static void single_coordinator_a_coordinator_that_starts_too_early_is_found(void **state)
{
    (void)state;
    remove_first();
    now += MARGIN / 2;
    coordinator(1, PROBE_COORDINATOR_STARTED);
    expect_only("single-coordinator");
}

static void an_end_and_a_start_after_the_margin_pass(void **state)
{
    (void)state;
    remove_first();
    now += MARGIN;
    coordinator(1, PROBE_COORDINATOR_STARTED);
    home_ends(1, 0);
    expect_only(NULL);
    assert_int_equal(check_margin_counts(check).starts, 1);
    assert_int_equal(check_margin_counts(check).homes, 1);
}

/* It ended before its removal. */
static void a_coordinator_that_has_ended_is_not_waited_for(void **state)
{
    (void)state;
    coordinator(0, PROBE_COORDINATOR_STARTED);
    coordinator(0, PROBE_COORDINATOR_ENDED);
    see(1, 1, MEMBER_UP);
    see(1, 0, MEMBER_REMOVED);
    coordinator(1, PROBE_COORDINATOR_STARTED);
    expect_only(NULL);
}

/* It has waited for the first one's margin. */
static void the_coordinator_that_took_over_is_the_last_one(void **state)
{
    (void)state;
    remove_first();
    now += MARGIN;
    coordinator(1, PROBE_COORDINATOR_STARTED);
    coordinator(1, PROBE_COORDINATOR_ENDED);
    see(2, 2, MEMBER_UP);
    see(2, 0, MEMBER_REMOVED);
    coordinator(2, PROBE_COORDINATOR_STARTED);
    expect_only(NULL);
}

static void a_node_that_was_not_up_is_not_judged(void **state)
{
    (void)state;
    coordinator(0, PROBE_COORDINATOR_STARTED);
    see(1, 1, MEMBER_JOINING);
    see(1, 0, MEMBER_REMOVED);
    see(1, 1, MEMBER_UP);
    coordinator(1, PROBE_COORDINATOR_STARTED);
    expect_only(NULL);
}

static void a_node_outside_is_not_judged(void **state)
{
    (void)state;
    remove_first();
    safety.outside[1] = true;
    coordinator(1, PROBE_COORDINATOR_STARTED);
    home_ends(1, 0);
    expect_only(NULL);
}

static void no_start_waits_without_a_margin(void **state)
{
    (void)state;
    check_margin_node_started(check, 1, 101, 0);
    remove_first();
    coordinator(1, PROBE_COORDINATOR_STARTED);
    home_ends(1, 0);
    expect_only(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
        CASE(handoff_safety_a_home_that_ends_too_early_is_found),
        CASE(single_coordinator_a_coordinator_that_starts_too_early_is_found),
        CASE(an_end_and_a_start_after_the_margin_pass),
        CASE(a_coordinator_that_has_ended_is_not_waited_for),
        CASE(the_coordinator_that_took_over_is_the_last_one),
        CASE(a_node_that_was_not_up_is_not_judged),
        CASE(a_node_outside_is_not_judged),
        CASE(no_start_waits_without_a_margin),
#undef CASE
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
