/* Tests check_gossip_seen with versions that all have held, wrong claims and forgotten versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/member_info.h"
#include "judged.h"
#include "sim/check/check_gossip_seen.h"

/* Facts name only the fields that they need. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define NODES 3
#define SAYS 7 /* the content of every version by default */

static struct check_gossip_seen *check;

static int begin(void **state)
{
    (void)state;
    judge();
    check = check_gossip_seen_new(verdict);
    for (uint32_t i = 0; i < NODES; i++)
        check_gossip_seen_node_started(check, i, 100 + i);
    return 0;
}

static int end(void **state)
{
    (void)state;
    check_gossip_seen_free(check);
    verdict_free(verdict);
    return 0;
}

static void hold(uint32_t node, uint64_t version, uint64_t content)
{
    struct probe probe = { .kind = PROBE_VERSION_HELD,
                           .first = version,
                           .second = content };

    check_gossip_seen_probe(check, node, &probe);
}

static void make(uint32_t node, uint64_t version)
{
    hold(node, version, SAYS);
}

/* The node takes it after a version with one entry. is_part: it lacks that entry, of a removed
 * member. */
static void take(uint32_t node, uint64_t version, bool is_part)
{
    const struct probe_version entries[] = { { 1, 1 }, { is_part ? 2 : 1, 2 } };
    struct probe probe = { .kind = PROBE_VERSION_TAKEN,
                           .first = 1,
                           .bytes = slice_of(entries, sizeof entries) };

    check_gossip_seen_probe(check, node, &probe);
    hold(node, version, SAYS);
}

static void join(uint32_t node, uint64_t version)
{
    struct probe probe = { .kind = PROBE_CLUSTER_JOINED };

    check_gossip_seen_probe(check, node, &probe);
    hold(node, version, SAYS);
}

/* The node acts on that version, which the nodes of `seen` (0: none) are said to have seen. */
static void act(uint32_t node, uint64_t version, bool converged,
                const uint64_t seen[NODES])
{
    struct probe_evidence members[NODES] = { { .uid = 0 } };
    struct probe probe = { .kind = PROBE_LEADER_ACTED,
                           .node.uid = 100 + node,
                           .first = !converged,
                           .second = version,
                           .bytes = slice_of(members, sizeof members) };

    for (uint32_t i = 0; i < NODES; i++) {
        members[i].uid = seen[i] ? seen[i] : 100 + i;
        members[i].seen = seen[i] != 0;
    }
    check_gossip_seen_probe(check, node, &probe);
}

static const uint64_t all[NODES] = { 100, 101, 102 };

/* The first node has made version 1, which all hold. */
static void agree(void)
{
    make(0, 1);
    join(1, 1);
    join(2, 1);
}

static void a_version_that_all_have_held_passes(void **state)
{
    (void)state;
    agree();
    act(0, 1, true, all);
    make(0, 2);
    act(0, 2, true, (uint64_t[]){ 100, 0, 0 });
    take(1, 2, false);
    make(1, 3);
    take(2, 2, true);
    act(0, 2, true, all); /* the second node is further */
    expect_only(NULL);
    assert_int_equal(check_gossip_seen_counts(check).held, 7);
    assert_int_equal(check_gossip_seen_counts(check).judged, 7);
    assert_int_equal(check_gossip_seen_counts(check).kept, 3);
}

static void leader_actions_a_member_with_an_older_version_is_found(void **state)
{
    (void)state;
    agree();
    make(0, 2);
    take(1, 2, false);
    act(0, 2, true, (uint64_t[]){ 100, 101, 0 });
    expect_only(NULL);
    act(0, 2, true, all);
    expect_only("leader-actions");
}

static void leader_actions_a_member_that_skipped_the_version_is_found(void **state)
{
    (void)state;
    agree();
    make(0, 2);
    take(1, 2, false);
    make(1, 3);
    take(2, 3, false); /* and has not seen 2 */
    act(0, 2, true, all);
    expect_only("leader-actions");
}

static void leader_actions_a_version_with_other_content_is_found(void **state)
{
    (void)state;
    make(0, 1);
    join(1, 1);
    hold(2, 1, SAYS + 1);
    act(0, 1, true, (uint64_t[]){ 100, 101, 0 });
    expect_only(NULL);
    act(0, 1, true, all);
    expect_only("leader-actions");
}

static void leader_actions_a_version_that_the_leader_does_not_hold_is_found(void **state)
{
    (void)state;
    agree();
    make(0, 2);
    act(0, 1, true, (uint64_t[]){ 100, 0, 0 });
    expect_only("leader-actions");
}

static void leader_actions_a_leader_that_holds_nothing_is_found(void **state)
{
    (void)state;
    act(0, 1, true, (uint64_t[]){ 0, 0, 0 });
    expect_only("leader-actions");
}

static void leader_actions_an_unknown_member_is_found(void **state)
{
    (void)state;
    agree();
    act(0, 1, true, (uint64_t[]){ 100, 900, 102 });
    expect_only("leader-actions");
}

static void an_ended_incarnation_still_counts_as_holder(void **state)
{
    (void)state;
    agree();
    check_gossip_seen_node_ended(check, 2);
    act(0, 1, true, all);
    check_gossip_seen_node_started(check, 2, 202);
    act(0, 1, true, all);
    expect_only(NULL);
}

static void leader_actions_an_earlier_incarnation_does_not_count(void **state)
{
    (void)state;
    agree();
    check_gossip_seen_node_ended(check, 2);
    check_gossip_seen_node_started(check, 2, 202);
    act(0, 1, true, (uint64_t[]){ 100, 101, 202 });
    expect_only("leader-actions");
}

static void actions_without_convergence_are_not_judged(void **state)
{
    (void)state;
    make(0, 1);
    act(0, 1, false, all);
    expect_only(NULL);
    assert_int_equal(check_gossip_seen_counts(check).judged, 0);
}

/* ---- forgotten versions ---- */

/* The second node makes so many, from that one on. */
static void make_many(uint64_t from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        make(1, from + i);
}

static void a_held_version_is_not_forgotten(void **state)
{
    (void)state;
    agree();
    make(2, 2);
    make_many(1000, 3 * CHECK_SEEN_MAX);
    assert_true(check_gossip_seen_counts(check).kept <= CHECK_SEEN_MAX);
    assert_true(check_gossip_seen_counts(check).forgotten > CHECK_SEEN_MAX);
    act(0, 1, true, all);
    expect_only(NULL);
    act(2, 2, true, (uint64_t[]){ 0, 0, 102 });
    expect_only(NULL);
    act(2, 2, true, all);
    expect_only("leader-actions");
    assert_int_equal(check_gossip_seen_counts(check).excused, 0);
}

static void a_version_that_may_be_forgotten_is_excused(void **state)
{
    (void)state;
    agree();
    make(0, 2);
    take(2, 2, false);
    make_many(1000, 2 * CHECK_SEEN_MAX);
    make(0, 3);
    make(2, 4); /* no node holds 2 any more */
    make_many(100000, 2 * CHECK_SEEN_MAX);
    check_gossip_seen_node_ended(check, 0);
    check_gossip_seen_node_started(check, 0, 200);
    join(0, 2); /* it was in flight */
    act(0, 2, true, (uint64_t[]){ 200, 0, 102 });
    expect_only(NULL);
    assert_int_equal(check_gossip_seen_counts(check).excused, 1);
}

static void a_version_of_ended_nodes_is_forgotten(void **state)
{
    (void)state;
    agree();
    make(2, 2);
    check_gossip_seen_node_ended(check, 2);
    make_many(1000, 2 * CHECK_SEEN_MAX);
    join(0, 2);
    act(0, 2, true, (uint64_t[]){ 100, 0, 102 });
    expect_only(NULL);
    assert_int_equal(check_gossip_seen_counts(check).excused, 1);
}

/* Versions with the first node's change are younger than the forgotten ones. */
static void leader_actions_a_newer_version_is_not_excused(void **state)
{
    (void)state;
    agree();
    make_many(1000, 2 * CHECK_SEEN_MAX);
    make(0, 2);
    act(0, 2, true, (uint64_t[]){ 100, 0, 0 });
    take(0, 3, false);
    expect_only(NULL);
    act(0, 3, true, all);
    expect_only("leader-actions");
    assert_int_equal(check_gossip_seen_counts(check).excused, 0);
}

/* Without its last change a version may be an old one. */
static void a_version_without_the_last_change_is_excused(void **state)
{
    (void)state;
    agree();
    make_many(1000, 2 * CHECK_SEEN_MAX);
    make(0, 2);
    take(0, 3, true);
    act(0, 3, true, (uint64_t[]){ 100, 101, 0 });
    expect_only(NULL);
    assert_int_equal(check_gossip_seen_counts(check).excused, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_version_that_all_have_held_passes),
        TEST(leader_actions_a_member_with_an_older_version_is_found),
        TEST(leader_actions_a_member_that_skipped_the_version_is_found),
        TEST(leader_actions_a_version_with_other_content_is_found),
        TEST(leader_actions_a_version_that_the_leader_does_not_hold_is_found),
        TEST(leader_actions_a_leader_that_holds_nothing_is_found),
        TEST(leader_actions_an_unknown_member_is_found),
        TEST(an_ended_incarnation_still_counts_as_holder),
        TEST(leader_actions_an_earlier_incarnation_does_not_count),
        TEST(actions_without_convergence_are_not_judged),
        TEST(a_held_version_is_not_forgotten),
        TEST(a_version_that_may_be_forgotten_is_excused),
        TEST(a_version_of_ended_nodes_is_forgotten),
        TEST(leader_actions_a_newer_version_is_not_excused),
        TEST(a_version_without_the_last_change_is_excused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
