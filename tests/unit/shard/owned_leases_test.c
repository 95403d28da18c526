/* Tests owned shards that hold leases: what waits for a lease, what its loss ends, when it is given
 * up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "shard/owned_shards.h"

#define SHARD 3
#define OTHER 4
#define RETRY (5 * SECOND)
#define UNTIL (100 * SECOND)
static const struct fence one = { 1, 1 };
static const struct fence two = { 1, 2 };
static const struct attempt first = { { 1, 1 }, 1 };
static const struct owing owing[] = { { 100, 1 } };

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
    owned_init(&fixture.owned, &(struct owned_options){ .shard_count = 10,
                                                        .persists = persists,
                                                        .leases = true,
                                                        .lease_retry = RETRY,
                                                        .release_timeout = 2 * SECOND,
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
    return 0;
}

static void expect(struct fixture *fixture, enum owned_news_kind kind)
{
    assert_true(owned_next_news(&fixture->owned, &fixture->news));
    assert_int_equal(fixture->news.kind, kind);
}

static void expect_none(struct fixture *fixture)
{
    assert_false(owned_next_news(&fixture->owned, &fixture->news));
}

static void expect_state(struct fixture *fixture, enum owned_state state)
{
    assert_string_equal(owned_state_name(owned_state(&fixture->owned, SHARD)),
                        owned_state_name(state));
}

static void grant(struct fixture *fixture, uint64_t now, uint64_t until)
{
    expect(fixture, OWNED_LEASE);
    owned_leased(&fixture->owned, now, fixture->news.shard, fixture->news.ticket, until);
}

static void open_it(struct fixture *fixture)
{
    expect(fixture, OWNED_STARTED);
    expect_none(fixture);
    assert_null(owned_take(&fixture->owned, SHARD));
}

static void run(struct fixture *fixture)
{
    owned_start(&fixture->owned, 0, SHARD, one);
    grant(fixture, 0, UNTIL);
    open_it(fixture);
    expect_state(fixture, OWNED_RUNNING);
}

/* After OWNED_STOP_ENTITIES. */
static void stop(struct fixture *fixture)
{
    owned_drain(&fixture->owned, 0, SHARD, first, NULL, 0, 30 * SECOND);
    expect(fixture, OWNED_STOP_ENTITIES);
}

static void a_shard_is_not_initialized_until_its_lease_is_acquired_SHD135(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;
    static struct pending_item held;

    owned_start(owned, 0, SHARD, one);
    expect_state(fixture, OWNED_LEASING);
    assert_true(owned_waits(owned, SHARD));
    assert_false(owned_accepts(owned, SHARD));
    assert_true(owned_hold(owned, 0, SHARD, &held));
    assert_null(owned_take(owned, SHARD));
    grant(fixture, 0, UNTIL);
    expect(fixture, OWNED_STARTED);
    assert_ptr_equal(owned_take(owned, SHARD), &held);
    expect_state(fixture, OWNED_RUNNING);
}

static void a_shard_claims_only_with_its_lease(void **state)
{
    struct fixture *fixture = *state;

    owned_start(&fixture->owned, 0, SHARD, one);
    grant(fixture, 0, UNTIL);
    expect(fixture, OWNED_CLAIM);
    expect_state(fixture, OWNED_CLAIMING);
    owned_claimed(&fixture->owned, 0, SHARD, one, one, CLAIM_OK);
    open_it(fixture);
}

static void a_shard_retries_a_lease_it_could_not_get_SHD137(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;

    owned_start(owned, 0, SHARD, one);
    for (uint64_t now = 0; now < 3 * RETRY; now += RETRY) {
        expect(fixture, OWNED_LEASE);
        owned_lease_denied(owned, now, SHARD, fixture->news.ticket);
        owned_lease_denied(owned, now, SHARD, fixture->news.ticket - 1); /* of an earlier try */
        assert_int_equal(owned_deadline(owned), now + RETRY);
        owned_tick(owned, now + RETRY - 1);
        expect_none(fixture);
        owned_tick(owned, now + RETRY);
    }
    assert_int_equal(owned->counters.leases_denied, 3);
    grant(fixture, 3 * RETRY, UNTIL);
    open_it(fixture);
}

static void a_lost_lease_ends_all_entities_and_is_asked_for_again(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;

    run(fixture);
    owned_leases_lost(owned, 10);
    expect(fixture, OWNED_LEASE_LOST);
    expect_none(fixture);
    assert_false(owned_accepts(owned, SHARD));
    assert_true(owned_waits(owned, SHARD)); /* mailboxes wait here */
    owned_entities_stopped(owned, 10, SHARD);
    expect_state(fixture, OWNED_LEASING);
    grant(fixture, 10, 2 * UNTIL);
    open_it(fixture);
    expect_state(fixture, OWNED_RUNNING);
    assert_int_equal(owned->counters.leases_lost, 1);
    assert_int_equal(fence_compare(owned_fence(owned, SHARD), one), 0);
}

/* Without news: the lane's own clock decides. */
static void leases_that_are_not_extended_are_lost(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;

    run(fixture);
    owned_start(owned, 0, OTHER, one);
    grant(fixture, 0, UNTIL);
    expect(fixture, OWNED_STARTED);
    assert_int_equal(owned_deadline(owned), UNTIL);
    owned_leases_extended(owned, UNTIL + SECOND);
    owned_tick(owned, UNTIL + SECOND - 1);
    expect_none(fixture);
    owned_tick(owned, UNTIL + SECOND);
    expect(fixture, OWNED_LEASE_LOST);
    expect(fixture, OWNED_LEASE_LOST);
    expect_none(fixture);
    assert_int_equal(owned->leased, 0);
}

static void a_grant_that_is_over_does_not_start_the_shard(void **state)
{
    struct fixture *fixture = *state;

    owned_start(&fixture->owned, 0, SHARD, one);
    grant(fixture, UNTIL, UNTIL);
    expect_none(fixture);
    expect_state(fixture, OWNED_LEASING);
    owned_tick(&fixture->owned, UNTIL + RETRY);
    grant(fixture, UNTIL + RETRY, 2 * UNTIL);
    open_it(fixture);
}

static void a_stopped_shard_gives_up_its_lease_before_it_is_reported(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;

    run(fixture);
    stop(fixture);
    expect_none(fixture);
    owned_entities_stopped(owned, 0, SHARD);
    expect(fixture, OWNED_RELEASE);
    expect_none(fixture);
    expect_state(fixture, OWNED_RELEASING);
    assert_true(owned_waits(owned, SHARD));
    owned_released(owned, 0, SHARD, fixture->news.ticket - 1);
    expect_none(fixture);
    owned_released(owned, 0, SHARD, fixture->news.ticket);
    expect(fixture, OWNED_STOPPED);
    expect_state(fixture, OWNED_ABSENT);
    assert_int_equal(attempt_compare(fixture->news.attempt, first), 0);
}

static void a_shard_ends_although_the_release_has_no_answer(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;

    run(fixture);
    stop(fixture);
    owned_entities_stopped(owned, SECOND, SHARD);
    expect(fixture, OWNED_RELEASE);
    owned_tick(owned, 3 * SECOND - 1);
    expect_none(fixture);
    owned_tick(owned, 3 * SECOND);
    expect(fixture, OWNED_STOPPED);
    owned_released(owned, 4 * SECOND, SHARD, fixture->news.ticket);
    expect_none(fixture);
}

static void a_shard_that_waits_for_its_lease_can_be_handed_off(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;

    owned_start(owned, 0, SHARD, one);
    expect(fixture, OWNED_LEASE);
    owned_drain(owned, 0, SHARD, first, owing, 1, 30 * SECOND);
    expect_none(fixture);
    owned_marker(owned, 0, SHARD, first, 100, 0);
    expect(fixture, OWNED_RELEASE); /* the request may still be granted */
    owned_released(owned, 0, SHARD, fixture->news.ticket);
    expect(fixture, OWNED_STOPPED);
    expect_state(fixture, OWNED_ABSENT);
}

static void a_hand_off_without_markers_fails_while_the_lease_is_awaited(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;

    owned_start(owned, 0, SHARD, one);
    expect(fixture, OWNED_LEASE);
    owned_drain(owned, 0, SHARD, first, owing, 1, 30 * SECOND);
    owned_tick(owned, 30 * SECOND);
    expect(fixture, OWNED_DRAIN_FAILED);
    expect_state(fixture, OWNED_LEASING);
}

static void a_lease_that_comes_during_a_hand_off_starts_the_shard(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;

    owned_start(owned, 0, SHARD, one);
    owned_drain(owned, 0, SHARD, first, owing, 1, 30 * SECOND);
    grant(fixture, 0, UNTIL);
    open_it(fixture);
    expect_state(fixture, OWNED_DRAINING);
    owned_marker(owned, 0, SHARD, first, 100, 0);
    expect(fixture, OWNED_STOP_ENTITIES);
    owned_entities_stopped(owned, 0, SHARD);
    expect(fixture, OWNED_RELEASE);
}

static void a_lease_lost_during_a_hand_off_does_not_fail_it(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;

    run(fixture);
    owned_drain(owned, 0, SHARD, first, owing, 1, 30 * SECOND);
    owned_leases_lost(owned, 0);
    expect(fixture, OWNED_LEASE_LOST);
    owned_entities_stopped(owned, 0, SHARD);
    expect_state(fixture, OWNED_LEASING);
    expect(fixture, OWNED_LEASE);
    owned_marker(owned, 0, SHARD, first, 100, 0);
    expect(fixture, OWNED_RELEASE);
    owned_released(owned, 0, SHARD, fixture->news.ticket);
    expect(fixture, OWNED_STOPPED);
}

static void a_lease_lost_during_the_stop_ends_the_shard(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;

    run(fixture);
    stop(fixture);
    owned_leases_lost(owned, 0);
    expect(fixture, OWNED_LEASE_LOST);
    owned_entities_stopped(owned, 0, SHARD);
    expect(fixture, OWNED_STOPPED);
    expect_none(fixture);
    expect_state(fixture, OWNED_ABSENT);
}

static void a_lease_lost_during_the_claim_is_asked_for_again(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;

    owned_start(owned, 0, SHARD, one);
    grant(fixture, 0, UNTIL);
    expect(fixture, OWNED_CLAIM);
    owned_leases_lost(owned, 0);
    expect(fixture, OWNED_LEASE_LOST);
    owned_claimed(owned, 0, SHARD, one, one, CLAIM_OK); /* late */
    expect_none(fixture);
    owned_entities_stopped(owned, 0, SHARD);
    grant(fixture, 0, UNTIL);
    expect(fixture, OWNED_CLAIM);
}

static void a_newer_order_keeps_the_lease(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;

    run(fixture);
    owned_start(owned, 0, SHARD, two);
    expect(fixture, OWNED_FENCED);
    owned_entities_stopped(owned, 0, SHARD);
    expect(fixture, OWNED_STARTED); /* without another request */
    assert_null(owned_take(owned, SHARD));
    assert_int_equal(fence_compare(owned_fence(owned, SHARD), two), 0);
    assert_int_equal(owned->leased, 1);
}

static void an_order_during_the_wait_changes_the_fence(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;

    owned_start(owned, 0, SHARD, one);
    owned_start(owned, 0, SHARD, two);
    grant(fixture, 0, UNTIL);
    open_it(fixture);
    assert_int_equal(fence_compare(owned_fence(owned, SHARD), two), 0);
}

static void an_order_during_the_release_starts_the_shard_again(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;

    run(fixture);
    stop(fixture);
    owned_entities_stopped(owned, 0, SHARD);
    expect(fixture, OWNED_RELEASE);
    owned_start(owned, 0, SHARD, one);
    owned_released(owned, 0, SHARD, fixture->news.ticket);
    expect_state(fixture, OWNED_LEASING);
    grant(fixture, 0, UNTIL);
    open_it(fixture);
}

static void a_shard_with_another_owner_gives_up_its_lease(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;

    run(fixture);
    owned_lost(owned, 0, SHARD, two);
    expect(fixture, OWNED_FENCED);
    owned_entities_stopped(owned, 0, SHARD);
    expect(fixture, OWNED_RELEASE);
    expect_none(fixture);
    expect_state(fixture, OWNED_ABSENT);
}

/* The grant is on its way. */
static void a_shard_that_ends_while_it_waits_gives_up_the_request(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;
    uint32_t ticket;

    owned_start(owned, 0, SHARD, one);
    expect(fixture, OWNED_LEASE);
    ticket = fixture->news.ticket;
    owned_lost(owned, 0, SHARD, two);
    expect(fixture, OWNED_FENCED);
    owned_entities_stopped(owned, 0, SHARD);
    expect(fixture, OWNED_RELEASE);
    owned_leased(owned, 0, SHARD, ticket, UNTIL);
    expect_none(fixture);
    expect_state(fixture, OWNED_ABSENT);
}

/* The shard ended here and comes back, while a grant of its first request is on its way. By then the
 * lease may have been given up. */
static void a_grant_of_an_earlier_life_does_not_start_the_shard(void **state)
{
    struct fixture *fixture = *state;
    struct owned_shards *owned = &fixture->owned;
    const struct fence three = { 1, 3 };
    uint32_t ticket;

    owned_start(owned, 0, SHARD, one);
    expect(fixture, OWNED_LEASE);
    ticket = fixture->news.ticket;
    owned_lost(owned, 0, SHARD, two);
    expect(fixture, OWNED_FENCED);
    owned_entities_stopped(owned, 0, SHARD);
    expect(fixture, OWNED_RELEASE);
    owned_start(owned, 0, SHARD, three);
    owned_leased(owned, 0, SHARD, ticket, UNTIL);
    expect_state(fixture, OWNED_LEASING);
    grant(fixture, 0, UNTIL);
    open_it(fixture);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define PERSISTENT(name) cmocka_unit_test_setup_teardown(name, set_up_persistent, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_shard_is_not_initialized_until_its_lease_is_acquired_SHD135),
        PERSISTENT(a_shard_claims_only_with_its_lease),
        TEST(a_shard_retries_a_lease_it_could_not_get_SHD137),
        TEST(a_lost_lease_ends_all_entities_and_is_asked_for_again),
        TEST(leases_that_are_not_extended_are_lost),
        TEST(a_grant_that_is_over_does_not_start_the_shard),
        TEST(a_stopped_shard_gives_up_its_lease_before_it_is_reported),
        TEST(a_shard_ends_although_the_release_has_no_answer),
        TEST(a_shard_that_waits_for_its_lease_can_be_handed_off),
        TEST(a_hand_off_without_markers_fails_while_the_lease_is_awaited),
        TEST(a_lease_that_comes_during_a_hand_off_starts_the_shard),
        TEST(a_lease_lost_during_a_hand_off_does_not_fail_it),
        TEST(a_lease_lost_during_the_stop_ends_the_shard),
        PERSISTENT(a_lease_lost_during_the_claim_is_asked_for_again),
        TEST(a_newer_order_keeps_the_lease),
        TEST(an_order_during_the_wait_changes_the_fence),
        TEST(an_order_during_the_release_starts_the_shard_again),
        TEST(a_shard_with_another_owner_gives_up_its_lease),
        TEST(a_shard_that_ends_while_it_waits_gives_up_the_request),
        TEST(a_grant_of_an_earlier_life_does_not_start_the_shard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
