/* Tests check_shard_lease with allowed histories and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/timers.h"
#include "sim/check/check_shard_lease.h"
#include "sim/world/verdict.h"

#define NODES 3
#define TYPE 2
#define SHARD 7

static struct verdict *verdict;
static struct check_shard_lease *check;
static uint64_t now;
static uint64_t clocks[NODES];
static uint32_t holder; /* at the provider */

static uint64_t clock_of(void *user, uint32_t node)
{
    assert_ptr_equal(user, clocks);
    assert_true(node < NODES);
    return clocks[node];
}

static bool has(void *user, uint32_t node, uint16_t type, int32_t shard)
{
    assert_ptr_equal(user, clocks);
    assert_int_equal(type, TYPE);
    assert_true(shard == SHARD || shard == CHECK_COORDINATOR);
    return node == holder;
}

static int begin(void **state)
{
    (void)state;
    now = SECOND;
    holder = 0;
    for (int i = 0; i < NODES; i++)
        clocks[i] = (uint64_t)(i + 1) * 1000 * SECOND; /* no two alike */
    verdict = verdict_new(1, &now);
    check = check_shard_lease_new(verdict, clock_of, has, clocks);
    return 0;
}

static int end(void **state)
{
    (void)state;
    check_shard_lease_free(check);
    verdict_free(verdict);
    return 0;
}

static void pass(uint64_t time)
{
    now += time;
    for (int i = 0; i < NODES; i++)
        clocks[i] += time;
}

static void session(uint32_t node, uint64_t time)
{
    const struct probe probe = { .kind = time ? PROBE_SESSION_HELD : PROBE_SESSION_ENDED,
                                 .type = PROBE_TYPE_NONE,
                                 .first = 1,
                                 .second = time ? clocks[node] + time : 0 };

    check_shard_lease_probe(check, node, &probe);
}

static void shard(uint32_t node, enum probe_kind kind)
{
    const struct probe probe = { .kind = kind, .type = TYPE, .shard = SHARD };

    check_shard_lease_probe(check, node, &probe);
}

static bool is_found(const char *invariant, uint32_t node)
{
    const struct violation *found = verdict_find(verdict, invariant);

    return found && found->node == node;
}

static void holders_one_after_the_other_pass(void **state)
{
    (void)state;
    session(0, 20 * SECOND);
    shard(0, PROBE_SHARD_LEASED);
    pass(10 * SECOND);
    session(0, 20 * SECOND); /* renewed */
    shard(0, PROBE_SHARD_UNLEASED);
    session(1, 20 * SECOND);
    shard(1, PROBE_SHARD_LEASED);
    pass(20 * SECOND); /* its time is over */
    session(2, 20 * SECOND);
    shard(2, PROBE_SHARD_LEASED);
    check_shard_lease_node_ended(check, 2);
    session(0, 20 * SECOND);
    shard(0, PROBE_SHARD_LEASED);
    assert_int_equal(verdict_count(verdict), 0);
    assert_int_equal(check_shard_lease_counts(check).leased, 4);
    assert_int_equal(check_shard_lease_counts(check).moved, 3);
}

static void two_holders_are_found(void **state)
{
    (void)state;
    session(0, 20 * SECOND);
    shard(0, PROBE_SHARD_LEASED);
    pass(20 * SECOND - 1);
    session(1, 20 * SECOND);
    shard(1, PROBE_SHARD_LEASED);
    assert_true(is_found("single-shard-lease", 1));
}

/* A slow or stopped clock makes its node believe for longer. */
static void each_holder_believes_by_its_own_clock(void **state)
{
    (void)state;
    session(0, 20 * SECOND);
    shard(0, PROBE_SHARD_LEASED);
    pass(30 * SECOND);
    clocks[0] -= 11 * SECOND;
    shard(1, PROBE_SHARD_LEASED);
    assert_true(is_found("single-shard-lease", 1));
}

static void a_session_that_ended_holds_nothing(void **state)
{
    (void)state;
    session(0, 20 * SECOND);
    shard(0, PROBE_SHARD_LEASED);
    session(0, 0);
    shard(1, PROBE_SHARD_LEASED);
    assert_int_equal(verdict_count(verdict), 0);
    assert_int_equal(check_shard_lease_counts(check).lost, 0);
    session(1, 20 * SECOND);
    pass(20 * SECOND);
    session(1, 0);
    assert_int_equal(check_shard_lease_counts(check).lost, 1);
}

static void an_entity_without_its_lease_is_found(void **state)
{
    (void)state;
    shard(0, PROBE_ENTITY_STARTED);
    check_shard_lease_runs(check, 0, TYPE, SHARD);
    assert_int_equal(verdict_count(verdict), 0);
    shard(1, PROBE_ENTITY_STARTED);
    assert_true(is_found("leased-shards", 1));
}

static void an_entity_that_outlives_its_lease_is_found(void **state)
{
    (void)state;
    shard(0, PROBE_ENTITY_STARTED);
    holder = 1;
    check_shard_lease_runs(check, 0, TYPE, SHARD);
    assert_true(is_found("leased-shards", 0));
}

static void a_coordinator_that_acts_without_its_lease_is_found(void **state)
{
    static const enum probe_kind acts[] = { PROBE_COORDINATOR_STARTED, PROBE_COORDINATOR_ACTIVE,
                                            PROBE_HOME_SET, PROBE_STATE_SENT };
    (void)state;

    for (uint32_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        shard(0, acts[i]);
        shard(2, acts[i]);
        assert_true(is_found("leased-shards", 2));
        assert_int_equal(verdict_find(verdict, "leased-shards")->count, i + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(holders_one_after_the_other_pass, begin, end),
        cmocka_unit_test_setup_teardown(two_holders_are_found, begin, end),
        cmocka_unit_test_setup_teardown(each_holder_believes_by_its_own_clock, begin, end),
        cmocka_unit_test_setup_teardown(a_session_that_ended_holds_nothing, begin, end),
        cmocka_unit_test_setup_teardown(an_entity_without_its_lease_is_found, begin, end),
        cmocka_unit_test_setup_teardown(an_entity_that_outlives_its_lease_is_found, begin, end),
        cmocka_unit_test_setup_teardown(a_coordinator_that_acts_without_its_lease_is_found, begin,
                                        end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
