/* The checker of who has seen which version: what all have held passes, a leader that believes more is found, and what is forgotten excuses
 * nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/peer.h"
#include "judged.h"
#include "sim/check_gossip_seen.h"

/* Facts name only the fields that they need. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define NODES 3
#define SAYS 7 /* the content of every version, but where it is said */

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

/* Takes it from another one, behind a version of one entry; is_part: that entry's member is removed in the new one. */
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

/* The node acts on that version, and these, which are 0 or more, are said to have seen it. */
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

/* All hold version 1, which the first one has made. */
static void agree(void)
{
    make(0, 1);
    join(1, 1);
    join(2, 1);
}

static void what_all_have_held_passes(void **state)
{
    (void)state;
    agree();
    act(0, 1, true, all);
    make(0, 2);
    act(0, 2, true, (uint64_t[]){ 100, 0, 0 });
    take(1, 2, false);
    make(1, 3);
    take(2, 2, true);
    act(0, 2, true, all); /* the second one is further */
    expect_only(NULL);
    assert_int_equal(check_gossip_seen_counts(check).held, 7);
    assert_int_equal(check_gossip_seen_counts(check).judged, 7);
    assert_int_equal(check_gossip_seen_counts(check).kept, 3);
}

static void leader_actions_who_holds_an_older_version_is_found(void **state)
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

static void leader_actions_who_has_gone_past_the_version_is_found(void **state)
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

static void leader_actions_who_holds_it_with_another_value_is_found(void **state)
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

static void leader_actions_a_stranger_is_found(void **state)
{
    (void)state;
    agree();
    act(0, 1, true, (uint64_t[]){ 100, 900, 102 });
    expect_only("leader-actions");
}

static void who_has_ended_has_held_it(void **state)
{
    (void)state;
    agree();
    check_gossip_seen_node_ended(check, 2);
    act(0, 1, true, all);
    check_gossip_seen_node_started(check, 2, 202);
    act(0, 1, true, all);
    expect_only(NULL);
}

static void leader_actions_what_a_former_life_has_held_does_not_count(void **state)
{
    (void)state;
    agree();
    check_gossip_seen_node_ended(check, 2);
    check_gossip_seen_node_started(check, 2, 202);
    act(0, 1, true, (uint64_t[]){ 100, 101, 202 });
    expect_only("leader-actions");
}

static void without_convergence_nothing_is_asked(void **state)
{
    (void)state;
    make(0, 1);
    act(0, 1, false, all);
    expect_only(NULL);
    assert_int_equal(check_gossip_seen_counts(check).judged, 0);
}

/* ---- what is forgotten ---- */

/* The second node makes so many, from that one on. */
static void make_many(uint64_t from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        make(1, from + i);
}

static void what_is_held_is_not_forgotten(void **state)
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

static void what_may_have_been_forgotten_is_excused(void **state)
{
    (void)state;
    agree();
    make(0, 2);
    take(2, 2, false);
    make_many(1000, 2 * CHECK_SEEN_MAX);
    make(0, 3);
    make(2, 4); /* nobody holds 2 any more */
    make_many(100000, 2 * CHECK_SEEN_MAX);
    check_gossip_seen_node_ended(check, 0);
    check_gossip_seen_node_started(check, 0, 200);
    join(0, 2); /* which has been on its way */
    act(0, 2, true, (uint64_t[]){ 200, 0, 102 });
    expect_only(NULL);
    assert_int_equal(check_gossip_seen_counts(check).excused, 1);
}

static void what_the_ended_have_held_is_forgotten(void **state)
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

/* A change of the first one is younger than what was forgotten, and so is what has that in it. */
static void leader_actions_what_was_not_there_yet_is_not_excused(void **state)
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

/* A removal takes what was last changed out of a version: it may be an old one. */
static void what_has_the_last_change_no_more_is_excused(void **state)
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
        TEST(what_all_have_held_passes),
        TEST(leader_actions_who_holds_an_older_version_is_found),
        TEST(leader_actions_who_has_gone_past_the_version_is_found),
        TEST(leader_actions_who_holds_it_with_another_value_is_found),
        TEST(leader_actions_a_version_that_the_leader_does_not_hold_is_found),
        TEST(leader_actions_a_leader_that_holds_nothing_is_found),
        TEST(leader_actions_a_stranger_is_found),
        TEST(who_has_ended_has_held_it),
        TEST(leader_actions_what_a_former_life_has_held_does_not_count),
        TEST(without_convergence_nothing_is_asked),
        TEST(what_is_held_is_not_forgotten),
        TEST(what_may_have_been_forgotten_is_excused),
        TEST(what_the_ended_have_held_is_forgotten),
        TEST(leader_actions_what_was_not_there_yet_is_not_excused),
        TEST(what_has_the_last_change_no_more_is_excused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
