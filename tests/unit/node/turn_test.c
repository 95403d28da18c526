/* Tests how control shares a turn between events, walks, writes and membership's step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/timers.h"
#include "node/control/turn.h"

/* Wires up to that many waiting events; returns how many. */
static uint32_t wire(struct turn *turn, uint32_t waiting, bool are_removals)
{
    uint32_t wired = 0;

    while (wired < waiting && turn_takes_event(turn, turn_share(turn))) {
        turn_event(turn, are_removals);
        wired++;
    }
    return wired;
}

static void a_turn_wires_a_share_of_the_events(void **state)
{
    struct turn turn = { 0 };
    (void)state;

    turn_begin(&turn);
    assert_int_equal(wire(&turn, 1000, false), NEWS_OF_TURN_MAX);
    turn_end(&turn);
    turn_begin(&turn);
    assert_int_equal(wire(&turn, 1000, false), NEWS_OF_TURN_MAX);
}

static void events_before_a_turn_belong_to_its_share(void **state)
{
    struct turn turn = { 0 };
    (void)state;

    turn_begin(&turn);
    turn_end(&turn);
    turn_early_events(&turn);
    assert_int_equal(wire(&turn, 10, false), 10);
    turn_begin(&turn);
    assert_int_equal(wire(&turn, 1000, false), NEWS_OF_TURN_MAX - 10);
}

static void a_removal_costs_more_in_a_large_cluster(void **state)
{
    struct turn turn = { 0 };
    (void)state;

    turn_begin(&turn);
    turn_event(&turn, true);
    assert_int_equal(turn.cost, 1);
    turn_events_done(&turn, NEWS_OF_TURN_MAX);
    turn_event(&turn, true);
    assert_int_equal(turn.cost, 1 + NEWS_REMOVAL_COST);
}

static void a_full_turn_makes_the_next_one_a_turn_for_walks(void **state)
{
    struct turn turn = { 0 };
    (void)state;

    turn_begin(&turn);
    (void)wire(&turn, 1000, false);
    assert_false(turn_may_walk(&turn, 100));
    assert_true(turn_has_more(&turn));
    turn_end(&turn);
    turn_begin(&turn);
    assert_true(turn_is_for_walks(&turn));
    assert_true(turn_is_stirred(&turn));
    assert_int_equal(turn_share(&turn), 0);
    assert_true(turn_may_walk(&turn, 100));
}

static void a_turn_for_walks_is_followed_by_one_for_events(void **state)
{
    struct turn turn = { 0 };
    (void)state;

    turn_begin(&turn);
    (void)wire(&turn, 1000, false);
    for (int i = 0; i < 4; i++) {
        bool was_for_walks = turn_is_for_walks(&turn);

        turn_walked(&turn, WALKS_OF_TURN_MAX);
        assert_false(turn_may_walk(&turn, 1)); /* walks never end */
        turn_end(&turn);
        turn_begin(&turn);
        assert_int_equal(turn_is_for_walks(&turn), !was_for_walks);
    }
}

static void a_turn_walks_once_or_a_bounded_number_of_members(void **state)
{
    struct turn turn = { 0 };
    (void)state;

    turn_begin(&turn);
    assert_true(turn_may_walk(&turn, 10 * WALKS_OF_TURN_MAX));
    turn_walked(&turn, WALKS_OF_TURN_MAX - 10);
    assert_true(turn_may_walk(&turn, 10));
    turn_walked(&turn, 10);
    assert_false(turn_may_walk(&turn, 1));
}

static void a_step_after_a_full_share_waits_for_one_turn_only(void **state)
{
    struct turn turn = { 0 };
    (void)state;

    turn_begin(&turn);
    assert_false(turn_step_waited(&turn));
    (void)wire(&turn, 1000, false);
    assert_true(turn_defers_step(&turn));
    assert_true(turn_has_more(&turn));
    turn_end(&turn);
    turn_begin(&turn);
    assert_true(turn_step_waited(&turn)); /* it now runs before events */
    turn_full(&turn);
    assert_int_equal(wire(&turn, 1000, false), 0);
    assert_false(turn_has_more(&turn));
}

static void writes_wait_for_a_crowd_of_events_at_most_a_second(void **state)
{
    struct turn turn = { 0 };
    (void)state;

    turn_begin(&turn);
    assert_false(turn_delays_writes(&turn, SECOND, true)); /* a small cluster */
    turn_events_done(&turn, NEWS_OF_TURN_MAX);
    assert_false(turn_delays_writes(&turn, SECOND, false));
    assert_true(turn_delays_writes(&turn, SECOND, true));
    assert_true(turn_has_more(&turn));
    assert_true(turn_delays_writes(&turn, 2 * SECOND - 1, true));
    assert_false(turn_delays_writes(&turn, 2 * SECOND, true));
    turn_events_done(&turn, NEWS_OF_TURN_MAX);
    assert_true(turn_delays_writes(&turn, 2 * SECOND, true)); /* the next crowd */
}

static void a_turn_without_an_input_does_not_look_at_types(void **state)
{
    struct turn turn = { 0 };
    (void)state;

    turn_end_types(&turn, 2 * SECOND);
    turn_begin(&turn);
    assert_false(turn_begin_types(&turn, SECOND));
    assert_false(turn_is_stirred(&turn));
    assert_int_equal(turn_types_due(&turn), 2 * SECOND);
}

static void an_input_counts_until_the_events_of_types_are_wired(void **state)
{
    struct turn turn = { 0 };
    (void)state;

    turn_end_types(&turn, NEVER);
    turn_stir(&turn);
    turn_end(&turn);
    turn_begin(&turn);
    assert_true(turn_begin_types(&turn, SECOND));
    assert_true(turn_is_stirred(&turn));
    turn_end_types(&turn, NEVER);
    assert_false(turn_is_stirred(&turn));
    assert_false(turn_begin_types(&turn, SECOND));
}

static void a_turn_looks_at_types_from_the_time_that_they_are_due(void **state)
{
    struct turn turn = { 0 };
    (void)state;

    turn_end_types(&turn, 2 * SECOND);
    assert_false(turn_begin_types(&turn, 2 * SECOND - 1));
    assert_true(turn_begin_types(&turn, 2 * SECOND));
    assert_true(turn_is_stirred(&turn)); /* their events are wired, too */
}

static void an_event_is_reported_once(void **state)
{
    struct turn turn = { 0 };
    struct turn_events events;
    (void)state;

    turn_end_types(&turn, NEVER);
    events = turn_events_done(&turn, 2);
    assert_false(events.has_any);
    turn_event(&turn, false);
    events = turn_events_done(&turn, 2);
    assert_true(events.has_any);
    assert_false(events.has_changes); /* a new leader, for example */
    assert_false(turn_is_stirred(&turn));
    events = turn_events_done(&turn, 2);
    assert_false(events.has_any);
}

static void a_change_waits_for_all_events_and_stirs_their_turn(void **state)
{
    struct turn turn = { 0 };
    struct turn_events events;
    (void)state;

    turn_begin(&turn);
    (void)wire(&turn, 1000, false);
    turn_members_changed(&turn);
    turn_end_types(&turn, NEVER);
    turn_end(&turn);
    turn_begin(&turn); /* it has no event, but only now all are wired */
    events = turn_events_done(&turn, 2);
    assert_true(events.has_any);
    assert_true(events.has_changes);
    assert_true(turn_is_stirred(&turn));
    events = turn_events_done(&turn, 2);
    assert_false(events.has_changes);
}

static void a_caller_without_a_share_wires_all_events(void **state)
{
    struct turn turn = { 0 };
    (void)state;

    turn_begin(&turn);
    turn_full(&turn);
    assert_false(turn_takes_event(&turn, turn_share(&turn)));
    assert_true(turn_takes_event(&turn, UINT32_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_wires_a_share_of_the_events),
        cmocka_unit_test(events_before_a_turn_belong_to_its_share),
        cmocka_unit_test(a_removal_costs_more_in_a_large_cluster),
        cmocka_unit_test(a_full_turn_makes_the_next_one_a_turn_for_walks),
        cmocka_unit_test(a_turn_for_walks_is_followed_by_one_for_events),
        cmocka_unit_test(a_turn_walks_once_or_a_bounded_number_of_members),
        cmocka_unit_test(a_step_after_a_full_share_waits_for_one_turn_only),
        cmocka_unit_test(writes_wait_for_a_crowd_of_events_at_most_a_second),
        cmocka_unit_test(a_turn_without_an_input_does_not_look_at_types),
        cmocka_unit_test(an_input_counts_until_the_events_of_types_are_wired),
        cmocka_unit_test(a_turn_looks_at_types_from_the_time_that_they_are_due),
        cmocka_unit_test(an_event_is_reported_once),
        cmocka_unit_test(a_change_waits_for_all_events_and_stirs_their_turn),
        cmocka_unit_test(a_caller_without_a_share_wires_all_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
