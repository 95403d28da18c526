/* Tests check_lease with allowed histories and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/timers.h"
#include "sim/check/check_lease.h"
#include "sim/world/verdict.h"

#define NODES 3

static struct verdict *verdict;
static struct check_lease *check;
static uint64_t now;
static uint64_t clocks[NODES];

static uint64_t clock_of(void *user, uint32_t node)
{
    assert_ptr_equal(user, clocks);
    assert_true(node < NODES);
    return clocks[node];
}

static int begin(void **state)
{
    (void)state;
    now = SECOND;
    for (int i = 0; i < NODES; i++)
        clocks[i] = (uint64_t)(i + 1) * 1000 * SECOND; /* no two alike */
    verdict = verdict_new(1, &now);
    check = check_lease_new(verdict, clock_of, clocks);
    return 0;
}

static int end(void **state)
{
    (void)state;
    check_lease_free(check);
    verdict_free(verdict);
    return 0;
}

static void pass(uint64_t time)
{
    now += time;
    for (int i = 0; i < NODES; i++)
        clocks[i] += time;
}

static void hold(uint32_t node, uint64_t token, uint64_t time)
{
    const struct probe probe = { .kind = PROBE_LEASE_HELD,
                                 .type = PROBE_TYPE_NONE,
                                 .first = token,
                                 .second = clocks[node] + time };

    check_lease_probe(check, node, &probe);
}

static void give_back(uint32_t node)
{
    const struct probe probe = { .kind = PROBE_LEASE_ENDED,
                                 .type = PROBE_TYPE_NONE };

    check_lease_probe(check, node, &probe);
}

static void holders_one_after_the_other_pass(void **state)
{
    (void)state;
    hold(0, 1, 20 * SECOND);
    pass(10 * SECOND);
    hold(0, 1, 20 * SECOND); /* renewed */
    pass(20 * SECOND);       /* its time is over */
    hold(1, 2, 20 * SECOND);
    give_back(1);
    hold(2, 3, 20 * SECOND);
    check_lease_node_ended(check, 2);
    hold(2, 3, 20 * SECOND); /* restarted: the lease belongs to the address */
    check_lease_node_ended(check, 2);
    hold(0, 4, 20 * SECOND);
    assert_int_equal(verdict_count(verdict), 0);
    assert_int_equal(check_lease_count(check), 4);
}

static void two_holders_are_found(void **state)
{
    (void)state;
    hold(0, 1, 20 * SECOND);
    pass(20 * SECOND - 1);
    hold(1, 2, 20 * SECOND);
    assert_non_null(verdict_find(verdict, "single-lease-holder"));
    assert_int_equal(verdict_find(verdict, "single-lease-holder")->node, 1);
}

/* A slow or stopped clock makes its node believe for longer. */
static void each_holder_believes_by_its_own_clock(void **state)
{
    (void)state;
    hold(0, 1, 20 * SECOND);
    pass(30 * SECOND);
    clocks[0] -= 11 * SECOND;
    hold(1, 2, 20 * SECOND);
    assert_non_null(verdict_find(verdict, "single-lease-holder"));
}

static void an_old_token_is_found(void **state)
{
    (void)state;
    hold(0, 2, SECOND);
    pass(SECOND);
    hold(1, 1, SECOND);
    assert_non_null(verdict_find(verdict, "single-lease-holder"));
}

static void a_token_of_another_holder_is_found(void **state)
{
    (void)state;
    hold(0, 2, SECOND);
    pass(SECOND);
    hold(1, 2, SECOND);
    assert_non_null(verdict_find(verdict, "single-lease-holder"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(holders_one_after_the_other_pass),
        TEST(two_holders_are_found),
        TEST(each_holder_believes_by_its_own_clock),
        TEST(an_old_token_is_found),
        TEST(a_token_of_another_holder_is_found),
    };

    return cmocka_run_group_tests_name("check_lease", tests, NULL, NULL);
}
