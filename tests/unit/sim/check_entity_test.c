/* Tests check_entity with legal incarnations and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/member_info.h"
#include "judged.h"
#include "sim/check/check_entity.h"

/* Facts name only the fields that they need. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

static struct check_safety safety;
static struct check_entity *check;

static int begin(void **state)
{
    (void)state;
    safety = (struct check_safety){ .outside = { false } };
    judge();
    check = check_entity_new(verdict, &safety, 0);
    for (uint32_t i = 0; i < 3; i++)
        check_entity_node_started(check, i, 100 + i);
    return 0;
}

static int end(void **state)
{
    (void)state;
    check_entity_free(check);
    verdict_free(verdict);
    return 0;
}

static void tell(uint32_t node, enum probe_kind kind, int32_t shard,
                 const char *id, uint64_t actor)
{
    struct probe probe = { .kind = kind,
                           .type = 1,
                           .shard = shard,
                           .first = actor,
                           .bytes = slice_text(id) };

    check_entity_probe(check, now, node, &probe);
}

static void see(uint32_t node, uint64_t uid, enum member_status status)
{
    struct probe probe = { .kind = PROBE_MEMBER_SEEN,
                           .node.uid = uid,
                           .first = status };

    check_entity_probe(check, now, node, &probe);
}

static void expect(const char *invariant)
{
    check_entity_look(check, now);
    expect_only(invariant);
}

static void incarnations_one_after_another_pass(void **state)
{
    (void)state;
    tell(0, PROBE_SHARD_HOSTED, -3, "", 0);
    tell(0, PROBE_ENTITY_STARTED, -3, "a", 1);
    tell(0, PROBE_ENTITY_STARTED, -3, "b", 2);
    tell(0, PROBE_ENTITY_STOPPED, -3, "a", 1);
    tell(0, PROBE_ENTITY_STARTED, -3, "a", 3);
    assert_int_equal(check_entity_counts(check).live, 2);
    tell(0, PROBE_ENTITY_STOPPED, -3, "a", 3);
    tell(0, PROBE_ENTITY_STOPPED, -3, "b", 2);
    tell(0, PROBE_SHARD_ENDED, -3, "", 0);
    tell(1, PROBE_SHARD_HOSTED, -3, "", 0);
    tell(1, PROBE_ENTITY_STARTED, -3, "a", 1);
    check_entity_node_ended(check, now, 1); /* it crashed */
    tell(2, PROBE_SHARD_HOSTED, -3, "", 0);
    tell(2, PROBE_ENTITY_STARTED, -3, "a", 1);
    assert_int_equal(check_entity_counts(check).live, 1);
    assert_int_equal(check_entity_counts(check).started, 5);
    expect(NULL);
}

static void two_owners_are_found(void **state)
{
    (void)state;
    tell(0, PROBE_SHARD_HOSTED, 3, "", 0);
    tell(1, PROBE_SHARD_HOSTED, 3, "", 0);
    tell(0, PROBE_ENTITY_STARTED, 3, "a", 1);
    tell(1, PROBE_ENTITY_STARTED, 3, "a", 1);
    expect("single-activation");
    assert_int_equal(verdict_find(verdict, "single-activation")->node, 1);
}

static void an_overlap_outside_is_measured(void **state)
{
    (void)state;
    safety.outside[0] = true;
    tell(0, PROBE_SHARD_HOSTED, 3, "", 0);
    tell(1, PROBE_SHARD_HOSTED, 3, "", 0);
    tell(0, PROBE_ENTITY_STARTED, 3, "a", 1);
    tell(1, PROBE_ENTITY_STARTED, 3, "a", 1);
    now += 5 * SECOND;
    check_entity_node_ended(check, now, 0);
    expect(NULL);
    assert_int_equal(check_entity_counts(check).overlaps, 1);
    assert_int_equal(check_entity_counts(check).overlap_ns, 5 * SECOND);
    assert_int_equal(check_entity_counts(check).overlap_ns_max, 5 * SECOND);
}

static bool are_together(void *user, uint32_t node, uint32_t other)
{
    (void)user;
    return node + other == 3; /* 1 and 2 */
}

static void an_overlap_inside_a_side_that_was_given_up_is_found(void **state)
{
    (void)state;
    safety.outside[1] = safety.outside[2] = true;
    safety.are_together = are_together;
    for (uint32_t i = 0; i < 3; i++) {
        expect(NULL);
        tell(i, PROBE_SHARD_HOSTED, 3, "", 0);
        tell(i, PROBE_ENTITY_STARTED, 3, "a", 1);
    }
    expect("single-activation");
}

static void an_overlap_with_a_late_node_is_found(void **state)
{
    (void)state;
    safety.outside[0] = safety.late[0] = true;
    for (uint32_t i = 0; i < 2; i++) {
        tell(i, PROBE_SHARD_HOSTED, 3, "", 0);
        tell(i, PROBE_ENTITY_STARTED, 3, "a", 1);
    }
    expect("single-activation");
}

/* A third incarnation runs on a node without an excuse. */
static void an_excuse_covers_only_its_own_node(void **state)
{
    (void)state;
    safety.outside[0] = true;
    for (uint32_t i = 0; i < 3; i++) {
        tell(i, PROBE_SHARD_HOSTED, 3, "", 0);
        tell(i, PROBE_ENTITY_STARTED, 3, "a", 1);
    }
    expect("single-activation");
    assert_int_equal(verdict_find(verdict, "single-activation")->count, 1);
}

static void two_incarnations_on_one_node_are_found(void **state)
{
    (void)state;
    safety.outside[0] = true;
    tell(0, PROBE_SHARD_HOSTED, 3, "", 0);
    tell(0, PROBE_ENTITY_STARTED, 3, "a", 1);
    tell(0, PROBE_ENTITY_STARTED, 3, "a", 2);
    expect("single-activation");
}

static void an_entity_without_its_shard_is_found(void **state)
{
    (void)state;
    tell(0, PROBE_SHARD_HOSTED, 4, "", 0);
    tell(0, PROBE_ENTITY_STARTED, 3, "a", 1);
    expect("single-activation");
}

static void an_end_without_a_start_is_found(void **state)
{
    (void)state;
    tell(0, PROBE_SHARD_HOSTED, 3, "", 0);
    tell(0, PROBE_ENTITY_STARTED, 3, "a", 1);
    tell(0, PROBE_ENTITY_STOPPED, 3, "a", 2);
    expect("single-activation");
}

static void a_shard_that_ends_with_entities_is_found(void **state)
{
    (void)state;
    tell(0, PROBE_SHARD_HOSTED, 3, "", 0);
    tell(0, PROBE_ENTITY_STARTED, 3, "a", 1);
    tell(0, PROBE_SHARD_ENDED, 3, "", 0);
    expect("handoff-safety");
}

static void a_downed_node_must_stop(void **state)
{
    (void)state;
    tell(0, PROBE_SHARD_HOSTED, 3, "", 0);
    tell(0, PROBE_ENTITY_STARTED, 3, "a", 1);
    see(0, 101, MEMBER_DOWN); /* another node is down */
    now += 2 * CHECK_STOP_NS;
    expect(NULL);
    see(0, 100, MEMBER_DOWN);
    now += CHECK_STOP_NS;
    expect(NULL);
    check_entity_paused(check, 0, SECOND);
    now += SECOND;
    expect(NULL);
    now++;
    expect("downed-node-stops");
}

static void a_node_that_stops_in_time_passes(void **state)
{
    struct probe stopping = { .kind = PROBE_SELF_STOPPING };

    (void)state;
    tell(0, PROBE_SHARD_HOSTED, 3, "", 0);
    tell(0, PROBE_ENTITY_STARTED, 3, "a", 1);
    check_entity_probe(check, now, 0, &stopping);
    now += SECOND;
    tell(0, PROBE_ENTITY_STOPPED, 3, "a", 1);
    now += 2 * CHECK_STOP_NS;
    expect(NULL);
    tell(0, PROBE_ENTITY_STARTED, 3, "a", 2);
    expect("downed-node-stops");
}

static void limit(int32_t shard, uint64_t entities, uint64_t shards)
{
    struct probe probe = { .kind = PROBE_ACTIVE_LIMIT,
                           .type = 1,
                           .shard = shard,
                           .first = entities,
                           .second = shards };

    check_entity_probe(check, now, 0, &probe);
}

/* Two entities of a shard whose limit is one. */
static void start_two(void)
{
    tell(0, PROBE_SHARD_HOSTED, 3, "", 0);
    limit(3, 1, 1);
    tell(0, PROBE_ENTITY_STARTED, 3, "a", 1);
    tell(0, PROBE_ENTITY_STARTED, 3, "b", 2); /* it makes room at once */
    expect(NULL);
}

static void entities_within_the_limit_pass(void **state)
{
    (void)state;
    check_entity_active_limit(check, 3);
    start_two();
    tell(0, PROBE_ENTITY_LEAVING, 3, "a", 1);
    tell(0, PROBE_ENTITY_STARTED, 3, "c", 3);
    tell(0, PROBE_ENTITY_LEAVING, 3, "c", 3);
    tell(0, PROBE_ENTITY_STOPPED, 3, "a", 1);
    tell(0, PROBE_ENTITY_STOPPED, 3, "c", 3);
    tell(0, PROBE_ENTITY_STARTED, 3, "d", 4);
    limit(3, 3, 1);
    tell(0, PROBE_ENTITY_STARTED, 3, "e", 5);
    tell(0, PROBE_ENTITY_STARTED, 3, "f", 6);
    limit(3, UINT32_MAX, 2);
    for (uint64_t actor = 10; actor < 20; actor++)
        tell(0, PROBE_ENTITY_STARTED, 3, (char[]){ (char)('p' + actor), 0 }, actor);
    expect(NULL);
}

static void an_active_entity_beyond_the_limit_is_found(void **state)
{
    (void)state;
    start_two();
    tell(0, PROBE_ENTITY_STARTED, 3, "c", 3);
    expect("active-limit");
}

static void a_lower_limit_must_be_reached_at_once(void **state)
{
    (void)state;
    start_two();
    tell(0, PROBE_ENTITY_LEAVING, 3, "b", 2);
    limit(3, 1, 1);
    expect(NULL);
    tell(0, PROBE_ENTITY_STARTED, 3, "c", 3);
    limit(3, 1, 1);
    expect("active-limit");
}

static void an_undivided_limit_is_found(void **state)
{
    (void)state;
    check_entity_active_limit(check, 5);
    tell(0, PROBE_SHARD_HOSTED, 3, "", 0);
    limit(3, 2, 2);
    expect(NULL);
    limit(3, 3, 2);
    expect("active-limit");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(incarnations_one_after_another_pass),
        TEST(two_owners_are_found),
        TEST(an_overlap_outside_is_measured),
        TEST(an_overlap_inside_a_side_that_was_given_up_is_found),
        TEST(an_overlap_with_a_late_node_is_found),
        TEST(an_excuse_covers_only_its_own_node),
        TEST(two_incarnations_on_one_node_are_found),
        TEST(an_entity_without_its_shard_is_found),
        TEST(an_end_without_a_start_is_found),
        TEST(a_shard_that_ends_with_entities_is_found),
        TEST(a_downed_node_must_stop),
        TEST(a_node_that_stops_in_time_passes),
        TEST(entities_within_the_limit_pass),
        TEST(an_active_entity_beyond_the_limit_is_found),
        TEST(a_lower_limit_must_be_reached_at_once),
        TEST(an_undivided_limit_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
