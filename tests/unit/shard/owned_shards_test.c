/* Tests the shards that a lane owns: states, repeated and stale orders, time-outs, early markers,
 * limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "shard/owned_shards.h"

#define SHARD 3
static const struct fence one = { 1, 1 };
static const struct fence two = { 1, 2 };
static const struct attempt first = { { 1, 1 }, 1 };
static const struct attempt second = { { 1, 1 }, 2 };
static const struct owing owing[] = { { 100, 2 }, { 200, 1 } };

struct fixture {
    struct pending_budget budget;
    struct owned_shards owned;
    struct owned_news news;
};

static struct fixture *set(void **state, bool persists)
{
    static struct fixture fixture;
    fixture = (struct fixture){ 0 };
    pending_budget_init(&fixture.budget, 0, 0, 1);
    owned_init(&fixture.owned,
                &(struct owned_options){ .shard_count = 10,
                                          .persists = persists,
                                          .stop_timeout = 25 * SECOND,
                                          .budget = &fixture.budget });
    *state = &fixture;
    return &fixture;
}

static int set_up(void **state)
{
    (void)set(state, false);
    return 0;
}

static int set_up_persistent(void **state)
{
    (void)set(state, true);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(fixture->budget.count, 0);
    owned_fini(&fixture->owned);
    owned_fini(NULL);
    return 0;
}

static void expect(struct fixture *fixture, enum owned_news_kind kind)
{
    assert_true(owned_next_news(&fixture->owned, &fixture->news));
    assert_int_equal(fixture->news.kind, kind);
    assert_int_equal(fixture->news.shard, SHARD);
}

static void expect_none(struct fixture *fixture)
{
    assert_false(owned_next_news(&fixture->owned, &fixture->news));
}

static void expect_state(struct fixture *fixture, enum owned_state state)
{
    assert_string_equal(owned_state_name(owned_state(&fixture->owned,
                                                       SHARD)),
                        owned_state_name(state));
}

static void run(struct fixture *fixture)
{
    owned_start(&fixture->owned, 0, SHARD, one);
    expect(fixture, OWNED_STARTED);
    expect_none(fixture);
    expect_state(fixture, OWNED_STARTING);
    assert_true(owned_waits(&fixture->owned, SHARD));
    assert_null(owned_take(&fixture->owned, SHARD));
    expect_state(fixture, OWNED_RUNNING);
}

static void a_drained_shard_stops(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;
    run(fixture);
    owned_marker(owned, 0, SHARD, first, 100, 0);
    owned_drain(owned, 0, SHARD, first, owing, 2, 30 * SECOND);
    owned_drain(owned, 0, SHARD, first, owing, 2, 30 * SECOND);
    expect_state(fixture, OWNED_DRAINING);
    assert_int_equal(owned_owed(owned, SHARD), 2);
    assert_true(owned_accepts(owned, SHARD));
    owned_marker(owned, 0, SHARD, first, 200, 0);
    owned_marker(owned, 0, SHARD, first, 200, 0);
    owned_marker(owned, 0, SHARD, first, 300, 0);
    assert_int_equal(owned->counters.markers_stale, 2);
    expect_none(fixture);
    owned_marker(owned, 0, SHARD, first, 100, 1);
    expect(fixture, OWNED_STOP_ENTITIES);
    assert_false(owned_accepts(owned, SHARD));
    owned_drain(owned, 0, SHARD, first, owing, 2, 30 * SECOND);
    expect_none(fixture);
    owned_entities_stopped(owned, 0, SHARD);
    expect(fixture, OWNED_STOPPED);
    assert_int_equal(attempt_compare(fixture->news.attempt, first), 0);
    expect_state(fixture, OWNED_ABSENT);
    owned_entities_stopped(owned, 0, SHARD);
    expect_none(fixture);
    owned_drain(owned, 0, SHARD, first, owing, 2, 0); /* late repeat */
    expect(fixture, OWNED_STOPPED);
    assert_int_equal(owned->count, 0);
}

static void missing_markers_fail_the_attempt_only(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;
    run(fixture);
    owned_drain(owned, 0, SHARD, first, owing, 2, 30 * SECOND);
    owned_marker(owned, 0, SHARD, first, 200, 0);
    assert_true(owned_deadline(owned) == 30 * SECOND);
    owned_tick(owned, 30 * SECOND - 1);
    expect_none(fixture);
    owned_tick(owned, 30 * SECOND);
    expect(fixture, OWNED_DRAIN_FAILED);
    assert_non_null(fixture->news.reason);
    expect_state(fixture, OWNED_RUNNING);
    /* Its late markers and a repeat of its order have no effect. */
    owned_marker(owned, 0, SHARD, first, 100, 0);
    owned_marker(owned, 0, SHARD, first, 100, 1);
    owned_drain(owned, 0, SHARD, first, owing, 2, 90 * SECOND);
    expect_none(fixture);
    owned_drain(owned, 0, SHARD, second, owing, 2, 90 * SECOND);
    assert_int_equal(owned_owed(owned, SHARD), 3);
    owned_marker(owned, 0, SHARD, first, 100, 0);
    assert_int_equal(owned_owed(owned, SHARD), 3);
    owned_node_gone(owned, 0, 100);
    assert_int_equal(owned_owed(owned, SHARD), 1);
    owned_node_gone(owned, 0, 200);
    expect(fixture, OWNED_STOP_ENTITIES);
    owned_entities_stopped(owned, 0, SHARD);
    expect(fixture, OWNED_STOPPED);
}

static void a_slow_stop_is_forced(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;
    run(fixture);
    owned_drain(owned, SECOND, SHARD, first, NULL, 0, 30 * SECOND);
    expect(fixture, OWNED_STOP_ENTITIES);
    owned_tick(owned, 26 * SECOND);
    expect(fixture, OWNED_KILL_ENTITIES);
    owned_tick(owned, 100 * SECOND);
    expect_none(fixture);
    expect_state(fixture, OWNED_STOPPING);
    owned_entities_stopped(owned, 100 * SECOND, SHARD);
    expect(fixture, OWNED_STOPPED);
}

/* So it ends before the coordinator gives the hand-off up. Entities have a second at least. */
static void the_time_of_a_stop_counts_from_the_order(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;

    run(fixture);
    owned_drain(owned, SECOND, SHARD, first, owing, 1, 30 * SECOND);
    owned_node_gone(owned, 20 * SECOND, owing[0].uid);
    expect(fixture, OWNED_STOP_ENTITIES);
    owned_tick(owned, 26 * SECOND - 1);
    expect_none(fixture);
    owned_tick(owned, 26 * SECOND);
    expect(fixture, OWNED_KILL_ENTITIES);
    owned_entities_stopped(owned, 27 * SECOND, SHARD);
    expect(fixture, OWNED_STOPPED);
    run(fixture);
    owned_drain(owned, 30 * SECOND, SHARD, second, owing, 1, 60 * SECOND);
    owned_node_gone(owned, 58 * SECOND, owing[0].uid);
    expect(fixture, OWNED_STOP_ENTITIES);
    owned_tick(owned, 59 * SECOND - 1);
    expect_none(fixture);
    owned_tick(owned, 59 * SECOND);
    expect(fixture, OWNED_KILL_ENTITIES);
    owned_entities_stopped(owned, 60 * SECOND, SHARD);
    expect(fixture, OWNED_STOPPED);
}

static void a_start_cancels_a_hand_off(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;
    struct pending_item held = { .size = 1 };
    run(fixture);
    owned_start(owned, 0, SHARD, one);
    expect(fixture, OWNED_STARTED);
    owned_drain(owned, 0, SHARD, first, owing, 2, 30 * SECOND);
    owned_start(owned, 0, SHARD, one);
    expect(fixture, OWNED_STARTED);
    expect_state(fixture, OWNED_RUNNING);
    owned_tick(owned, 30 * SECOND);
    expect_none(fixture);
    owned_drain(owned, 0, SHARD, second, NULL, 0, 30 * SECOND);
    expect(fixture, OWNED_STOP_ENTITIES);
    assert_true(owned_waits(owned, SHARD));
    assert_true(owned_hold(owned, 0, SHARD, &held));
    owned_start(owned, 0, SHARD, one);
    expect_none(fixture);
    owned_entities_stopped(owned, 0, SHARD);
    expect(fixture, OWNED_STARTED);
    assert_ptr_equal(owned_take(owned, SHARD), &held);
    assert_null(owned_take(owned, SHARD));
}

static void a_shard_claims_before_it_runs(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;
    struct pending_item held = { .size = 1 };
    owned_start(owned, 0, SHARD, one);
    expect(fixture, OWNED_CLAIM);
    assert_false(owned_accepts(owned, SHARD));
    assert_true(owned_hold(owned, 0, SHARD, &held));
    assert_null(owned_take(owned, SHARD));
    owned_claimed(owned, 0, SHARD, one, one, CLAIM_ERROR);
    owned_tick(owned, SECOND - 1);
    expect_none(fixture);
    owned_tick(owned, SECOND);
    expect(fixture, OWNED_CLAIM);
    owned_claimed(owned, SECOND, SHARD, two, two, CLAIM_OK);
    expect_none(fixture);
    owned_drain(owned, 0, SHARD, first, NULL, 0, 30 * SECOND);
    expect_none(fixture);
    owned_claimed(owned, SECOND, SHARD, one, one, CLAIM_OK);
    expect(fixture, OWNED_STARTED);
    owned_tick(owned, SECOND); /* too early: waiting messages come first */
    expect_none(fixture);
    assert_ptr_equal(owned_take(owned, SHARD), &held);
    owned_tick(owned, SECOND);
    expect(fixture, OWNED_STOP_ENTITIES);
    owned_entities_stopped(owned, SECOND, SHARD);
    expect(fixture, OWNED_STOPPED);
}

static void a_stale_claim_gives_up(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;
    owned_start(owned, 0, SHARD, one);
    expect(fixture, OWNED_CLAIM);
    owned_claimed(owned, 0, SHARD, one, two, CLAIM_STALE);
    expect(fixture, OWNED_FENCED);
    assert_false(owned_waits(owned, SHARD));
    owned_start(owned, 0, SHARD, one); /* stale, like the shard */
    owned_entities_stopped(owned, 0, SHARD);
    expect_none(fixture);
    expect_state(fixture, OWNED_ABSENT);
}

static void without_fences_the_store_counts_epochs(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;
    const struct fence none = { 0, 0 };
    const struct fence seventh = { 0, 7 };
    owned_start(owned, 0, SHARD, none);
    expect(fixture, OWNED_CLAIM);
    assert_true(fence_is_none(fixture->news.fence));
    owned_claimed(owned, 0, SHARD, none, seventh, CLAIM_OK);
    expect(fixture, OWNED_STARTED);
    assert_null(owned_take(owned, SHARD));
    assert_int_equal(owned_fence(owned, SHARD).epoch, 7);
    owned_start(owned, 0, SHARD, none);
    expect(fixture, OWNED_STARTED);
    owned_fenced(owned, 0, SHARD, (struct fence){ 0, 6 });
    expect_none(fixture);
    owned_fenced(owned, 0, SHARD, seventh);
    expect(fixture, OWNED_FENCED);
    owned_entities_stopped(owned, 0, SHARD);
    expect_none(fixture);
}

static void a_newer_fence_restarts_a_shard(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;
    run(fixture);
    owned_start(owned, 0, SHARD, two);
    expect(fixture, OWNED_FENCED);
    assert_int_equal(fixture->news.fence.epoch, 1);
    assert_true(owned_waits(owned, SHARD));
    owned_entities_stopped(owned, 0, SHARD);
    expect(fixture, OWNED_STARTED);
    assert_int_equal(owned_fence(owned, SHARD).epoch, 2);
    owned_start(owned, 0, SHARD, one);
    owned_drain(owned, 0, SHARD, first, NULL, 0, 0);
    owned_marker(owned, 0, SHARD, first, 100, 0);
    expect_none(fixture);
    assert_int_equal(owned->counters.stale, 2);
    assert_int_equal(owned->counters.markers_stale, 1);
    owned_lost(owned, 0, SHARD, two); /* its own fence */
    expect_none(fixture);
    owned_lost(owned, 0, SHARD, (struct fence){ 2, 1 });
    expect(fixture, OWNED_FENCED);
    assert_false(owned_waits(owned, SHARD));
    owned_entities_stopped(owned, 0, SHARD);
    expect_none(fixture);
}

/* It would start again, but must go: the reported fence is the one of the start that is
 * cancelled. */
static void a_waiting_start_can_be_cancelled(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;
    run(fixture);
    owned_start(owned, 0, SHARD, two);
    expect(fixture, OWNED_FENCED);
    owned_lost(owned, 0, SHARD, (struct fence){ 0, 0 });
    expect(fixture, OWNED_FENCED);
    assert_int_equal(fixture->news.fence.epoch, 2);
    assert_false(owned_waits(owned, SHARD));
    owned_entities_stopped(owned, 0, SHARD);
    expect_none(fixture);
    assert_int_equal(owned_state(owned, SHARD), OWNED_ABSENT);
}

static void early_markers_are_bounded(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;
    for (uint64_t i = 0; i <= EARLY_MARKERS_MAX; i++)
        owned_marker(owned, 0, SHARD, first, 1000 + i, 0);
    assert_int_equal(owned->early_count, EARLY_MARKERS_MAX);
    assert_int_equal(owned->counters.markers_dropped, 1);
    run(fixture);
    const struct owing owes[] = { { 1000, 1 }, { 1001, 1 } };
    owned_drain(owned, 0, SHARD, first, owes, 2, SECOND);
    assert_int_equal(owned_owed(owned, SHARD), 1); /* the oldest was dropped */
    assert_int_equal(owned->early_count, 0);
}

static void a_list_beyond_the_limit_is_cut(void **state)
{
    struct fixture *fixture = *state;
    static struct owing owes[OWING_MAX + 1];
    run(fixture);
    for (uint32_t i = 0; i <= OWING_MAX; i++)
        owes[i] = (struct owing){ 1 + i, 1 };
    owes[3].lanes = LANES_MAX + 1;
    owned_drain(&fixture->owned, 0, SHARD, first, owes, OWING_MAX + 1,
                 SECOND);
    assert_int_equal(owned_owed(&fixture->owned, SHARD), OWING_MAX - 1);
    assert_int_equal(fixture->owned.counters.invalid, 2);
    owned_start(&fixture->owned, 0, 10, one);
    owned_marker(&fixture->owned, 0, SHARD, first, 1, LANES_MAX);
    assert_int_equal(fixture->owned.counters.invalid, 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define PERSISTENT(name) \
    cmocka_unit_test_setup_teardown(name, set_up_persistent, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_drained_shard_stops),
        TEST(missing_markers_fail_the_attempt_only),
        TEST(a_slow_stop_is_forced),
        TEST(the_time_of_a_stop_counts_from_the_order),
        TEST(a_start_cancels_a_hand_off),
        PERSISTENT(a_shard_claims_before_it_runs),
        PERSISTENT(a_stale_claim_gives_up),
        PERSISTENT(without_fences_the_store_counts_epochs),
        TEST(a_newer_fence_restarts_a_shard),
        TEST(a_waiting_start_can_be_cancelled),
        TEST(early_markers_are_bounded),
        TEST(a_list_beyond_the_limit_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
