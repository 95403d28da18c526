/* Tests check_coordinator with a legal history and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/member_info.h"
#include "judged.h"
#include "sim/check/check_coordinator.h"

/* Facts name only the fields that they need. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define SHARD 7
#define ATTEMPT 40

static struct check_safety safety;
static struct check_coordinator *check;

static int begin(void **state)
{
    (void)state;
    safety = (struct check_safety){ .outside = { false } };
    judge();
    check = check_coordinator_new(verdict, &safety);
    for (uint32_t i = 0; i < 3; i++)
        check_coordinator_node_started(check, i, 100 + i);
    return 0;
}

static int end(void **state)
{
    (void)state;
    check_coordinator_free(check);
    verdict_free(verdict);
    return 0;
}

static void tell(uint32_t node, struct probe probe)
{
    probe.type = 2;
    check_coordinator_probe(check, node, &probe);
}

static void take_over(uint32_t node, uint64_t term)
{
    tell(node, (struct probe){ .kind = PROBE_COORDINATOR_STARTED });
    tell(node, (struct probe){ .kind = PROBE_COORDINATOR_ACTIVE,
                               .first = term });
}

static struct fence fence_of(uint64_t term, uint64_t epoch)
{
    return (struct fence){ term, epoch };
}

static void home(uint32_t node, enum probe_kind kind, uint32_t at,
                 struct fence fence, enum probe_home why)
{
    tell(node, (struct probe){ .kind = kind,
                               .shard = SHARD,
                               .fence = fence,
                               .node = { { .port = (uint16_t)at }, 100 + at },
                               .second = why });
}

static void allocate(uint32_t node, uint32_t at, struct fence fence)
{
    home(node, PROBE_HOME_SET, at, fence, PROBE_HOME_ALLOCATED);
}

static void lane(uint32_t node, enum probe_kind kind, struct fence fence)
{
    tell(node, (struct probe){ .kind = kind, .shard = SHARD, .fence = fence });
}

static void step(uint32_t node, uint64_t attempt, enum probe_handoff state)
{
    tell(node, (struct probe){ .kind = PROBE_HANDOFF,
                               .shard = SHARD,
                               .first = attempt,
                               .second = state });
}

static void take(uint32_t node, enum probe_directive directive,
                 struct fence fence, uint64_t attempt)
{
    tell(node, (struct probe){ .kind = PROBE_DIRECTIVE_TAKEN,
                               .shard = SHARD,
                               .fence = fence,
                               .first = attempt,
                               .second = directive });
}

static void enrol(uint32_t node, uint64_t term)
{
    tell(node, (struct probe){ .kind = PROBE_REGISTERED, .first = term });
}

/* The coordinator of node 0 learns of a node's removal. */
static void remove_node(uint32_t which)
{
    tell(0, (struct probe){ .kind = PROBE_MEMBER_SEEN,
                            .node.uid = 100 + which,
                            .first = MEMBER_REMOVED });
}

/* The shard lives at node 1, and its hand-off reaches the stop. */
static void hand_off(void)
{
    take_over(0, 1);
    allocate(0, 1, fence_of(1, 1));
    lane(1, PROBE_SHARD_HOSTED, fence_of(1, 1));
    step(0, ATTEMPT, PROBE_HANDOFF_BEGUN);
    step(0, ATTEMPT, PROBE_HANDOFF_STOPPING);
}

static void move(void)
{
    lane(1, PROBE_SHARD_ENDED, fence_of(1, 1));
    lane(1, PROBE_SHARD_SAID_STOPPED, fence_of(1, 1));
    step(0, ATTEMPT, PROBE_HANDOFF_MOVED);
    home(0, PROBE_HOME_ENDED, 1, fence_of(1, 1), PROBE_HOME_STOPPED);
    allocate(0, 2, fence_of(1, 2));
    lane(2, PROBE_SHARD_HOSTED, fence_of(1, 2));
}

static void a_legal_history_passes(void **state)
{
    struct check_coordinator_counts counts;

    (void)state;
    hand_off();
    move();
    home(0, PROBE_HOME_FENCED, 2, fence_of(1, 3), PROBE_HOME_ALLOCATED);
    step(0, ATTEMPT + 1, PROBE_HANDOFF_BEGUN);
    step(0, ATTEMPT + 1, PROBE_HANDOFF_FAILED);
    step(0, ATTEMPT + 2, PROBE_HANDOFF_BEGUN);
    step(0, ATTEMPT + 2, PROBE_HANDOFF_GIVEN_UP);
    check_coordinator_node_ended(check, 2); /* it crashed */
    remove_node(2);
    home(0, PROBE_HOME_ENDED, 2, fence_of(1, 3), PROBE_HOME_NODE_REMOVED);
    allocate(0, 1, fence_of(1, 4));
    lane(1, PROBE_SHARD_HOSTED, fence_of(1, 4));
    tell(0, (struct probe){ .kind = PROBE_COORDINATOR_ENDED, .first = 1 });
    take_over(1, 2);
    home(1, PROBE_HOME_SET, 1, fence_of(1, 4), PROBE_HOME_REPORTED);
    expect_only(NULL);
    counts = check_coordinator_counts(check);
    assert_int_equal(counts.active, 2);
    assert_int_equal(counts.allocated, 3);
    assert_int_equal(counts.reported, 1);
    assert_int_equal(counts.handoffs, 3);
    assert_int_equal(counts.moved, 1);
    assert_int_equal(counts.failed, 1);
    assert_int_equal(counts.given_up, 1);
}

static void a_term_that_does_not_grow_is_found(void **state)
{
    (void)state;
    take_over(0, 5);
    tell(0, (struct probe){ .kind = PROBE_COORDINATOR_ENDED, .first = 5 });
    take_over(1, 5);
    expect_only("coordinator-state");
}

static void a_second_home_is_found(void **state)
{
    (void)state;
    take_over(0, 1);
    allocate(0, 1, fence_of(1, 1));
    allocate(0, 2, fence_of(1, 2));
    expect_only("coordinator-state");
}

static void an_old_fence_is_found(void **state)
{
    (void)state;
    hand_off();
    lane(1, PROBE_SHARD_ENDED, fence_of(1, 1));
    lane(1, PROBE_SHARD_SAID_STOPPED, fence_of(1, 1));
    step(0, ATTEMPT, PROBE_HANDOFF_MOVED);
    home(0, PROBE_HOME_ENDED, 1, fence_of(1, 1), PROBE_HOME_STOPPED);
    allocate(0, 2, fence_of(1, 1));
    expect_only("coordinator-state");
}

static void an_allocation_under_another_term_is_found(void **state)
{
    (void)state;
    take_over(0, 2);
    allocate(0, 1, fence_of(1, 1));
    expect_only("coordinator-state");
}

static void an_allocation_without_a_term_is_found(void **state)
{
    (void)state;
    tell(0, (struct probe){ .kind = PROBE_COORDINATOR_STARTED });
    allocate(0, 1, fence_of(1, 1));
    expect_only("coordinator-state");
}

static void a_fence_of_a_home_that_falls_is_found(void **state)
{
    (void)state;
    take_over(0, 1);
    allocate(0, 1, fence_of(1, 4));
    home(0, PROBE_HOME_FENCED, 1, fence_of(1, 3), PROBE_HOME_ALLOCATED);
    expect_only("coordinator-state");
}

/* The bug treats the late report as one about the present home. */
static void a_late_report_that_ends_a_home_is_found(void **state)
{
    (void)state;
    hand_off();
    move();
    home(0, PROBE_HOME_ENDED, 2, fence_of(1, 2), PROBE_HOME_STOPPED);
    expect_only("handoff-safety");
}

static void a_home_that_ends_without_a_report_is_found(void **state)
{
    (void)state;
    hand_off();
    lane(1, PROBE_SHARD_ENDED, fence_of(1, 1));
    step(0, ATTEMPT, PROBE_HANDOFF_MOVED);
    home(0, PROBE_HOME_ENDED, 1, fence_of(1, 1), PROBE_HOME_STOPPED);
    expect_only("handoff-safety");
}

static void a_home_that_ends_without_its_nodes_removal_is_found(void **state)
{
    (void)state;
    take_over(0, 1);
    allocate(0, 1, fence_of(1, 1));
    home(0, PROBE_HOME_ENDED, 1, fence_of(1, 1), PROBE_HOME_NODE_REMOVED);
    expect_only("handoff-safety");
}

static void a_region_that_did_not_stop_is_found(void **state)
{
    (void)state;
    take_over(0, 1);
    allocate(0, 1, fence_of(1, 1));
    tell(2, (struct probe){ .kind = PROBE_REGION_STOPPED }); /* another region */
    home(0, PROBE_HOME_ENDED, 1, fence_of(1, 1), PROBE_HOME_REGION_STOPPED);
    expect_only("handoff-safety");
}

static void a_stopped_region_loses_its_homes(void **state)
{
    (void)state;
    take_over(0, 1);
    allocate(0, 1, fence_of(1, 1));
    tell(1, (struct probe){ .kind = PROBE_REGION_STOPPED });
    home(0, PROBE_HOME_ENDED, 1, fence_of(1, 1), PROBE_HOME_REGION_STOPPED);
    expect_only(NULL);
}

static void regions_that_were_forced_are_counted(void **state)
{
    (void)state;
    tell(1, (struct probe){ .kind = PROBE_REGION_STOPPED });
    assert_int_equal(check_coordinator_counts(check).forced, 0);
    tell(2, (struct probe){ .kind = PROBE_REGION_STOPPED, .second = 1 });
    assert_int_equal(check_coordinator_counts(check).forced, 1);
    expect_only(NULL);
}

static void a_shard_that_runs_elsewhere_is_found(void **state)
{
    (void)state;
    lane(1, PROBE_SHARD_HOSTED, fence_of(1, 1));
    take_over(0, 2);
    allocate(0, 2, fence_of(2, 1));
    expect_only("handoff-safety");
}

static void shards_on_removed_and_outside_nodes_are_excused(void **state)
{
    (void)state;
    lane(1, PROBE_SHARD_HOSTED, fence_of(1, 1));
    take_over(0, 2);
    remove_node(1);
    allocate(0, 2, fence_of(2, 1));
    tell(2, (struct probe){ .kind = PROBE_REGION_STOPPED });
    home(0, PROBE_HOME_ENDED, 2, fence_of(2, 1), PROBE_HOME_REGION_STOPPED);
    lane(2, PROBE_SHARD_HOSTED, fence_of(2, 1));
    safety.outside[2] = true;
    allocate(0, 0, fence_of(2, 2));
    expect_only(NULL);
}

static void a_false_report_is_found(void **state)
{
    (void)state;
    lane(1, PROBE_SHARD_HOSTED, fence_of(1, 1));
    lane(1, PROBE_SHARD_SAID_STOPPED, fence_of(1, 1));
    expect_only("handoff-safety");
}

static void report(uint32_t by, struct fence fence)
{
    take(1, PROBE_HOST, fence_of(1, 4), 0);
    take_over(0, 2);
    home(0, PROBE_HOME_SET, by, fence, PROBE_HOME_REPORTED);
}

static void handoff_safety_a_reported_home_that_was_never_hosted_is_found(void **state)
{
    (void)state;
    report(2, fence_of(1, 4));
    expect_only("handoff-safety");
}

static void handoff_safety_a_home_reported_under_an_unknown_fence_is_found(void **state)
{
    (void)state;
    report(1, fence_of(1, 5));
    expect_only("handoff-safety");
}

static void handoff_safety_a_stored_home_that_was_never_decided_is_found(void **state)
{
    (void)state;
    take_over(0, 1);
    allocate(0, 1, fence_of(1, 1));
    tell(0, (struct probe){ .kind = PROBE_COORDINATOR_ENDED, .first = 1 });
    take_over(2, 2);
    home(2, PROBE_HOME_SET, 1, fence_of(1, 1), PROBE_HOME_STORED);
    expect_only(NULL);
    tell(2, (struct probe){ .kind = PROBE_COORDINATOR_ENDED, .first = 2 });
    take_over(0, 3);
    home(0, PROBE_HOME_SET, 2, fence_of(1, 1), PROBE_HOME_STORED);
    expect_only("handoff-safety");
}

static void handoff_safety_a_home_that_ends_without_a_contest_is_found(void **state)
{
    (void)state;
    report(1, fence_of(1, 4));
    take(2, PROBE_HOST, fence_of(1, 5), 0);
    home(0, PROBE_HOME_ENDED, 1, fence_of(1, 4), PROBE_HOME_CONTESTED);
    home(0, PROBE_HOME_SET, 2, fence_of(1, 5), PROBE_HOME_REPORTED);
    expect_only(NULL);
    home(0, PROBE_HOME_ENDED, 2, fence_of(1, 5), PROBE_HOME_CONTESTED);
    expect_only("handoff-safety"); /* node 1 had it under an older one */
}

static void handoff_safety_a_renewal_of_the_same_region_is_found(void **state)
{
    (void)state;
    report(1, fence_of(1, 4));
    check_coordinator_node_ended(check, 1);
    home(0, PROBE_HOME_ENDED, 1, fence_of(1, 4), PROBE_HOME_REGION_RENEWED);
    expect_only(NULL);
    take(2, PROBE_HOST, fence_of(2, 1), 0);
    home(0, PROBE_HOME_SET, 2, fence_of(2, 1), PROBE_HOME_REPORTED);
    home(0, PROBE_HOME_ENDED, 2, fence_of(2, 1), PROBE_HOME_REGION_RENEWED);
    expect_only("handoff-safety");
}

static void steps_that_are_not_in_the_table_are_found(void **state)
{
    static const enum probe_handoff wrong[][2] = {
        { PROBE_HANDOFF_BEGUN, PROBE_HANDOFF_MOVED },
        { PROBE_HANDOFF_BEGUN, PROBE_HANDOFF_BEGUN },
        { PROBE_HANDOFF_STOPPING, PROBE_HANDOFF_STOPPING },
        { PROBE_HANDOFF_FAILED, PROBE_HANDOFF_MOVED },
        { PROBE_HANDOFF_GIVEN_UP, PROBE_HANDOFF_STOPPING },
    };

    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        take_over(0, 1);
        allocate(0, 1, fence_of(1, 1));
        step(0, ATTEMPT, PROBE_HANDOFF_BEGUN);
        if (wrong[i][0] != PROBE_HANDOFF_BEGUN)
            step(0, ATTEMPT, wrong[i][0]);
        expect_only(NULL);
        step(0, ATTEMPT, wrong[i][1]);
        expect_only("handoff-safety");
        (void)end(state);
        (void)begin(state);
    }
}

static void an_attempt_that_is_not_new_is_found(void **state)
{
    (void)state;
    take_over(0, 1);
    allocate(0, 1, fence_of(1, 1));
    step(0, ATTEMPT, PROBE_HANDOFF_BEGUN);
    step(0, ATTEMPT, PROBE_HANDOFF_FAILED);
    step(0, ATTEMPT, PROBE_HANDOFF_BEGUN);
    expect_only("handoff-safety");
}

static void directives_that_grow_pass(void **state)
{
    (void)state;
    enrol(1, 3);
    take(1, PROBE_HOST, fence_of(3, 1), 0);
    take(1, PROBE_BEGIN_HAND_OFF, fence_of(3, 1), ATTEMPT);
    take(1, PROBE_HAND_OFF, fence_of(3, 1), ATTEMPT);
    take(1, PROBE_HOME, fence_of(3, 2), 0);
    enrol(1, 4); /* older directives are forgotten */
    take(1, PROBE_HOME, fence_of(3, 1), 0);
    enrol(1, 4);
    take(1, PROBE_HOST, fence_of(4, 2), 0);
    check_coordinator_node_ended(check, 1);
    check_coordinator_node_started(check, 1, 201);
    take(1, PROBE_HOST, fence_of(1, 1), 0); /* another incarnation */
    take(1, PROBE_HOME, fence_of(0, 0), 0); /* without fences */
    expect_only(NULL);
}

static void an_old_directive_is_found(void **state)
{
    (void)state;
    enrol(1, 3);
    take(1, PROBE_HOST, fence_of(3, 2), 0);
    take(1, PROBE_HOME, fence_of(3, 1), 0);
    expect_only("no-stale-sender");
}

static void an_old_attempt_is_found(void **state)
{
    (void)state;
    enrol(1, 3);
    take(1, PROBE_BEGIN_HAND_OFF, fence_of(3, 2), ATTEMPT);
    take(1, PROBE_HAND_OFF, fence_of(3, 2), ATTEMPT - 1);
    expect_only("no-stale-sender");
}

static void an_old_coordinator_is_found(void **state)
{
    (void)state;
    enrol(1, 3);
    enrol(1, 2);
    expect_only("no-stale-sender");
}

static void two_active_coordinators_are_found(void **state)
{
    (void)state;
    take_over(0, 1);
    take_over(1, 2);
    expect_only("single-coordinator");
}

static void a_coordinator_that_starts_beside_another_is_found(void **state)
{
    (void)state;
    take_over(0, 1);
    tell(0, (struct probe){ .kind = PROBE_COORDINATOR_ENDED });
    tell(1, (struct probe){ .kind = PROBE_COORDINATOR_STARTED });
    tell(1, (struct probe){ .kind = PROBE_COORDINATOR_ENDED, .first = 1 });
    tell(1, (struct probe){ .kind = PROBE_COORDINATOR_ACTIVE, .first = 2 });
    expect_only(NULL);
    tell(0, (struct probe){ .kind = PROBE_COORDINATOR_STARTED });
    expect_only("single-coordinator");
}

/* Its node saw itself down, and should have stopped. */
static void a_coordinator_on_a_late_node_is_found(void **state)
{
    (void)state;
    safety.outside[0] = true;
    take_over(0, 1);
    take_over(1, 2);
    check_coordinator_late(check, 1); /* no other one that may not be */
    expect_only(NULL);
    safety.late[0] = true;
    check_coordinator_late(check, 0);
    expect_only("single-coordinator");
}

static bool are_together(void *user, uint32_t node, uint32_t other)
{
    (void)user;
    return node + other == 3; /* 1 and 2 */
}

static void two_coordinators_of_one_side_outside_are_found(void **state)
{
    (void)state;
    safety.outside[1] = safety.outside[2] = true;
    safety.are_together = are_together;
    take_over(0, 3);
    take_over(1, 1);
    expect_only(NULL);
    tell(2, (struct probe){ .kind = PROBE_COORDINATOR_STARTED });
    expect_only("single-coordinator");
}

static void a_coordinator_outside_is_excused(void **state)
{
    (void)state;
    take_over(0, 1);
    safety.outside[0] = true;
    take_over(1, 2);
    check_coordinator_node_ended(check, 1);
    safety.outside[0] = false;
    check_coordinator_node_ended(check, 0);
    take_over(2, 3);
    expect_only(NULL);
}

/* The node slept with its term. */
static void a_late_term_outside_is_excused(void **state)
{
    (void)state;
    take_over(0, 7);
    safety.outside[1] = true;
    take_over(1, 6);
    expect_only(NULL);
    check_coordinator_node_ended(check, 0);
    safety.outside[1] = false;
    check_coordinator_node_ended(check, 1);
    take_over(2, 5); /* inside, a late term is wrong */
    expect_only("coordinator-state");
}

static void a_term_taken_twice_is_found(void **state)
{
    (void)state;
    take_over(0, 7);
    safety.outside[1] = true;
    take_over(1, 7);
    expect_only("coordinator-state");
}

/* The node outside has a higher term. The others go on under their own fences. */
static void an_allocation_outside_does_not_bind_nodes_inside(void **state)
{
    (void)state;
    take_over(0, 9);
    safety.outside[1] = true;
    take_over(1, 10);
    allocate(1, 1, fence_of(10, 1));
    home(1, PROBE_HOME_FENCED, 1, fence_of(10, 2), PROBE_HOME_ALLOCATED);
    allocate(0, 2, fence_of(9, 3));
    home(0, PROBE_HOME_ENDED, 2, fence_of(9, 3), PROBE_HOME_CONTESTED);
    tell(0, (struct probe){ .kind = PROBE_COORDINATOR_ENDED, .first = 9 });
    take_over(1, 12);
    take_over(0, 11); /* the store gave it before */
    allocate(0, 2, fence_of(11, 4));
    tell(2, (struct probe){ .kind = PROBE_REGION_STOPPED });
    home(0, PROBE_HOME_ENDED, 2, fence_of(11, 4), PROBE_HOME_REGION_STOPPED);
    expect_only(NULL);
    allocate(0, 2, fence_of(11, 4));
    expect_only("coordinator-state");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_legal_history_passes),
        TEST(a_term_that_does_not_grow_is_found),
        TEST(a_second_home_is_found),
        TEST(an_old_fence_is_found),
        TEST(an_allocation_under_another_term_is_found),
        TEST(an_allocation_without_a_term_is_found),
        TEST(a_fence_of_a_home_that_falls_is_found),
        TEST(a_late_report_that_ends_a_home_is_found),
        TEST(a_home_that_ends_without_a_report_is_found),
        TEST(a_home_that_ends_without_its_nodes_removal_is_found),
        TEST(a_region_that_did_not_stop_is_found),
        TEST(a_stopped_region_loses_its_homes),
        TEST(regions_that_were_forced_are_counted),
        TEST(a_shard_that_runs_elsewhere_is_found),
        TEST(shards_on_removed_and_outside_nodes_are_excused),
        TEST(a_false_report_is_found),
        TEST(handoff_safety_a_reported_home_that_was_never_hosted_is_found),
        TEST(
            handoff_safety_a_home_reported_under_an_unknown_fence_is_found),
        TEST(handoff_safety_a_stored_home_that_was_never_decided_is_found),
        TEST(handoff_safety_a_home_that_ends_without_a_contest_is_found),
        TEST(handoff_safety_a_renewal_of_the_same_region_is_found),
        TEST(steps_that_are_not_in_the_table_are_found),
        TEST(an_attempt_that_is_not_new_is_found),
        TEST(directives_that_grow_pass),
        TEST(an_old_directive_is_found),
        TEST(an_old_attempt_is_found),
        TEST(an_old_coordinator_is_found),
        TEST(two_active_coordinators_are_found),
        TEST(a_coordinator_that_starts_beside_another_is_found),
        TEST(a_coordinator_on_a_late_node_is_found),
        TEST(two_coordinators_of_one_side_outside_are_found),
        TEST(a_coordinator_outside_is_excused),
        TEST(a_late_term_outside_is_excused),
        TEST(a_term_taken_twice_is_found),
        TEST(an_allocation_outside_does_not_bind_nodes_inside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
