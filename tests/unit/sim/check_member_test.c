/* Tests check_member with a legal history and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/member_info.h"
#include "judged.h"
#include "sim/check/check_member.h"

/* Facts name only the fields that they need. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

static struct check_member *check;

static int begin(void **state)
{
    (void)state;
    judge();
    check = check_member_new(verdict);
    for (uint32_t i = 0; i < 4; i++)
        check_member_node_started(check, i, 100 + i);
    return 0;
}

static int end(void **state)
{
    (void)state;
    check_member_free(check);
    verdict_free(verdict);
    return 0;
}

static const struct address *address_of(uint32_t which)
{
    static struct address addresses[4];

    assert_true(address_set(&addresses[which], "n", 1, 2551 + which));
    return &addresses[which];
}

static void tell(uint32_t node, enum probe_kind kind, uint32_t which,
                 uint64_t first)
{
    struct probe probe = { .kind = kind,
                           .node = { *address_of(which), 100 + which },
                           .first = first };

    check_member_probe(check, node, &probe);
}

static void see(uint32_t node, uint32_t which, enum member_status status)
{
    tell(node, PROBE_MEMBER_SEEN, which, status);
}

static void a_members_lifecycle_passes(void **state)
{
    static const enum member_status life[] = { MEMBER_JOINING, MEMBER_WEAKLY_UP,
                                             MEMBER_UP,      MEMBER_LEAVING,
                                             MEMBER_EXITING, MEMBER_REMOVED };

    (void)state;
    for (uint32_t i = 0; i < 6; i++)
        see(0, 1, life[i]);
    see(2, 1, MEMBER_JOINING);
    see(2, 1, MEMBER_EXITING); /* the statuses between were not reported */
    see(2, 1, MEMBER_REMOVED);
    see(3, 1, MEMBER_EXITING); /* it came late */
    expect_only(NULL);
    assert_int_equal(check_member_counts(check).seen, 10);
    assert_int_equal(check_member_counts(check).removed, 2);
}

static void a_status_that_goes_back_is_found(void **state)
{
    (void)state;
    see(0, 1, MEMBER_LEAVING);
    see(0, 1, MEMBER_UP);
    expect_only("member-lifecycle");
}

static void a_removed_member_that_returns_is_found(void **state)
{
    (void)state;
    see(0, 1, MEMBER_UP);
    see(0, 1, MEMBER_REMOVED);
    see(0, 1, MEMBER_UP);
    expect_only("member-lifecycle");
}

static void a_removal_of_an_unknown_member_is_found(void **state)
{
    (void)state;
    see(0, 1, MEMBER_REMOVED);
    expect_only("member-lifecycle");
}

static void a_removed_member_is_not_seen_any_more(void **state)
{
    (void)state;
    assert_false(check_member_sees(check, 0, 101));
    see(0, 1, MEMBER_JOINING);
    assert_true(check_member_sees(check, 0, 101));
    assert_false(check_member_sees(check, 2, 101));
    see(0, 1, MEMBER_REMOVED);
    assert_false(check_member_sees(check, 0, 101));
}

static void a_new_incarnation_begins_anew(void **state)
{
    (void)state;
    see(0, 1, MEMBER_EXITING);
    check_member_node_ended(check, 0);
    check_member_node_started(check, 0, 200);
    see(0, 1, MEMBER_UP);
    expect_only(NULL);
}

static void downs_with_a_cause_pass(void **state)
{
    (void)state;
    tell(0, PROBE_MEMBER_DOWNED, 1, PROBE_DOWN_COMMAND);
    see(0, 1, MEMBER_DOWN);
    see(2, 1, MEMBER_DOWN);
    check_member_node_ended(check, 3);
    tell(0, PROBE_MEMBER_DOWNED, 3, PROBE_DOWN_REPLACED);
    see(2, 3, MEMBER_DOWN);
    check_member_commanded(check, address_of(2));
    tell(0, PROBE_MEMBER_DOWNED, 2, PROBE_DOWN_COMMAND);
    expect_only(NULL);
}

static void a_down_without_a_cause_is_found(void **state)
{
    (void)state;
    see(0, 1, MEMBER_DOWN);
    expect_only("no-split-brain");
}

static void a_down_without_a_command_is_found(void **state)
{
    (void)state;
    check_member_commanded(check, address_of(2));
    tell(0, PROBE_MEMBER_DOWNED, 1, PROBE_DOWN_COMMAND);
    expect_only("no-split-brain");
}

static void a_command_is_not_for_the_next_incarnation(void **state)
{
    struct probe next = { .kind = PROBE_MEMBER_DOWNED,
                          .node = { *address_of(2), 202 },
                          .first = PROBE_DOWN_COMMAND };

    (void)state;
    check_member_commanded(check, address_of(2));
    tell(0, PROBE_MEMBER_DOWNED, 2, PROBE_DOWN_COMMAND);
    tell(1, PROBE_MEMBER_DOWNED, 2, PROBE_DOWN_COMMAND); /* it is downed already */
    expect_only(NULL);
    check_member_probe(check, 0, &next);
    expect_only("no-split-brain");
}

static void a_replaced_node_that_runs_is_found(void **state)
{
    (void)state;
    tell(0, PROBE_MEMBER_DOWNED, 1, PROBE_DOWN_REPLACED);
    expect_only("no-split-brain");
}

static void a_down_for_another_node_is_found(void **state)
{
    (void)state;
    tell(0, PROBE_MEMBER_DOWNED, 1, PROBE_DOWN_REMOTE);
    expect_only("no-split-brain");
}

static void a_down_by_a_resolver_that_is_off_is_found(void **state)
{
    (void)state;
    tell(0, PROBE_MEMBER_DOWNED, 1, PROBE_DOWN_DECIDED);
    expect_only("no-split-brain");
}

static void a_down_by_a_resolver_passes(void **state)
{
    (void)state;
    check_member_resolves(check);
    tell(0, PROBE_MEMBER_DOWNED, 1, PROBE_DOWN_DECIDED);
    see(0, 1, MEMBER_DOWN);
    expect_only(NULL);
}

/* ---- leaders ---- */

/* Three members that agree; the first of them leads. */
static const struct probe_evidence calm[3] = {
    { 100, MEMBER_UP, MEMBER_UP, 1, 1, 1, 0 },
    { 101, MEMBER_UP, MEMBER_UP, 1, 1, 1, 0 },
    { 102, MEMBER_UP, MEMBER_UP, 1, 1, 1, 0 },
};

static void act(uint32_t node, bool converged,
                const struct probe_evidence *evidence)
{
    struct probe probe = { .kind = PROBE_LEADER_ACTED,
                           .node.uid = 100 + node,
                           .first = !converged,
                           .bytes = slice_of(evidence, sizeof calm) };

    check_member_probe(check, node, &probe);
}

/* `calm` with another second member. */
static const struct probe_evidence *with(struct probe_evidence second)
{
    static struct probe_evidence members[3];

    memcpy(members, calm, sizeof members);
    second.uid = 101;
    members[1] = second;
    return members;
}

static void a_leaders_actions_pass(void **state)
{
    static const struct probe_evidence second[] = {
        { 0, MEMBER_JOINING, MEMBER_UP, 0, 1, 1, 0 },
        { 0, MEMBER_WEAKLY_UP, MEMBER_UP, 0, 1, 1, 0 },
        { 0, MEMBER_LEAVING, MEMBER_EXITING, 1, 1, 1, 0 },
        { 0, MEMBER_EXITING, MEMBER_REMOVED, 0, 1, 1, 1 },
        { 0, MEMBER_EXITING, MEMBER_REMOVED, 0, 0, 0, 0 },
        { 0, MEMBER_DOWN, MEMBER_REMOVED, 0, 0, 0, 0 },
    };

    (void)state;
    for (uint32_t i = 0; i < sizeof second / sizeof *second; i++)
        act(0, true, with(second[i]));
    act(0, false, with((struct probe_evidence){ 0, MEMBER_JOINING, MEMBER_WEAKLY_UP,
                                                0, 1, 1, 0 }));
    expect_only(NULL);
    assert_int_equal(check_member_counts(check).actions, 7);
}

static void an_action_of_another_than_the_leader_is_found(void **state)
{
    (void)state;
    act(1, true, calm);
    expect_only("leader-actions");
}

static void a_leader_that_is_down_is_found(void **state)
{
    struct probe_evidence members[3];

    (void)state;
    memcpy(members, calm, sizeof members);
    members[0].status = members[0].after = MEMBER_DOWN;
    act(1, true, members);
    expect_only(NULL);
    act(0, true, members);
    expect_only("leader-actions");
}

static void wrong_actions_are_found(void **state)
{
    static const struct probe_evidence second[] = {
        { 0, MEMBER_UP, MEMBER_UP, 0, 1, 1, 0 },            /* has not seen */
        { 0, MEMBER_UP, MEMBER_UP, 1, 0, 0, 0 },            /* unreachable */
        { 0, MEMBER_UP, MEMBER_DOWN, 1, 1, 1, 0 },          /* no action of a leader */
        { 0, MEMBER_EXITING, MEMBER_REMOVED, 0, 1, 1, 0 },  /* has not handed over */
        { 0, MEMBER_DOWN, MEMBER_REMOVED, 0, 1, 1, 0 },     /* is still there */
        { 0, MEMBER_JOINING, MEMBER_WEAKLY_UP, 1, 1, 1, 0 } /* converged: up */
    };

    for (uint32_t i = 0; i < sizeof second / sizeof *second; i++) {
        act(0, true, with(second[i]));
        expect_only("leader-actions");
        (void)end(state);
        (void)begin(state);
    }
    act(0, false, with((struct probe_evidence){ 0, MEMBER_JOINING, MEMBER_UP, 1, 1,
                                                1, 0 }));
    expect_only("leader-actions");
}

/* They do not prevent convergence, and a leader here may only remove them. */
static void a_leaders_actions_in_another_data_center_pass(void **state)
{
    static const struct probe_evidence second[] = {
        { 0, MEMBER_UP, MEMBER_UP, 0, 0, 0, 0, .is_far = 1 },
        { 0, MEMBER_JOINING, MEMBER_JOINING, 0, 1, 1, 0, .is_far = 1 },
        { 0, MEMBER_DOWN, MEMBER_REMOVED, 0, 1, 1, 0, .is_far = 1 },
        { 0, MEMBER_EXITING, MEMBER_REMOVED, 0, 1, 1, 0, .is_far = 1 },
    };
    struct probe_evidence members[3];

    (void)state;
    for (uint32_t i = 0; i < sizeof second / sizeof *second; i++)
        act(0, true, with(second[i]));
    memcpy(members, calm, sizeof members);
    members[0].is_far = 1; /* the lowest, but no leader here */
    act(1, true, members);
    expect_only(NULL);
}

static void wrong_actions_in_another_data_center_are_found(void **state)
{
    static const struct probe_evidence second[] = {
        { 0, MEMBER_JOINING, MEMBER_UP, 1, 1, 1, 0, .is_far = 1 },
        { 0, MEMBER_LEAVING, MEMBER_EXITING, 1, 1, 1, 0, .is_far = 1 },
        { 0, MEMBER_UP, MEMBER_REMOVED, 1, 0, 0, 0, .is_far = 1 },
    };
    struct probe_evidence members[3];

    for (uint32_t i = 0; i < sizeof second / sizeof *second; i++) {
        act(0, true, with(second[i]));
        expect_only("leader-actions");
        (void)end(state);
        (void)begin(state);
    }
    /* The first members of a data center come up when all members of all data centers have seen the
     * version. */
    memcpy(members, calm, sizeof members);
    members[0].status = MEMBER_JOINING;
    members[1].is_far = members[2].is_far = 1;
    act(0, true, members);
    expect_only(NULL);
    members[2].seen = 0;
    act(0, true, members);
    expect_only("leader-actions");
}

/* ---- clusters ---- */

static void nodes_that_join_one_cluster_pass(void **state)
{
    (void)state;
    tell(0, PROBE_CLUSTER_FOUNDED, 0, 0);
    tell(1, PROBE_CLUSTER_JOINED, 0, 0);
    tell(2, PROBE_CLUSTER_JOINED, 1, 0);
    for (uint32_t i = 0; i < 9; i++)
        see(i / 3, i % 3, MEMBER_UP);
    expect_only(NULL);
    assert_int_equal(check_member_counts(check).founded, 1);
    assert_int_equal(check_member_counts(check).joined, 2);
}

static void two_clusters_that_merge_are_found(void **state)
{
    (void)state;
    tell(0, PROBE_CLUSTER_FOUNDED, 0, 0);
    tell(1, PROBE_CLUSTER_FOUNDED, 1, 0);
    see(0, 1, MEMBER_JOINING); /* it asked here, too, and was welcomed elsewhere */
    see(1, 0, MEMBER_UP);
    expect_only(NULL);
    see(0, 1, MEMBER_UP);
    expect_only("no-cluster-merge");
}

static void a_node_of_two_clusters_is_found(void **state)
{
    (void)state;
    tell(0, PROBE_CLUSTER_FOUNDED, 0, 0);
    tell(1, PROBE_CLUSTER_FOUNDED, 1, 0);
    tell(2, PROBE_CLUSTER_JOINED, 0, 0);
    tell(2, PROBE_CLUSTER_JOINED, 1, 0);
    expect_only("no-cluster-merge");
}

static void a_node_of_another_cluster_is_judged_alone(void **state)
{
    (void)state;
    tell(0, PROBE_CLUSTER_FOUNDED, 0, 0);
    check_member_node_foreign(check, 2);
    see(0, 0, MEMBER_UP);
    see(2, 2, MEMBER_JOINING);
    expect_only(NULL);
    see(0, 2, MEMBER_JOINING);
    expect_only("no-cluster-merge");
}

static void a_stranger_that_is_seen_as_a_member_is_found(void **state)
{
    (void)state;
    tell(0, PROBE_CLUSTER_FOUNDED, 0, 0);
    check_member_stranger(check, 100 + 2);
    see(0, 0, MEMBER_UP);
    expect_only(NULL);
    see(0, 2, MEMBER_JOINING);
    expect_only("no-cluster-merge");
}

static void a_member_that_another_clusters_node_sees_is_found(void **state)
{
    (void)state;
    check_member_node_foreign(check, 2);
    see(2, 0, MEMBER_UP);
    expect_only("no-cluster-merge");
}

static void a_node_of_another_cluster_that_enters_is_found(void **state)
{
    (void)state;
    tell(0, PROBE_CLUSTER_FOUNDED, 0, 0);
    check_member_node_foreign(check, 2);
    tell(2, PROBE_CLUSTER_JOINED, 0, 0);
    expect_only("no-cluster-merge");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

/* ---- versions ---- */

static void take(uint32_t node, const struct probe_version *versions,
                 uint64_t own, uint64_t others)
{
    struct probe probe = { .kind = PROBE_VERSION_TAKEN,
                           .node = { *address_of(node), 100 + node },
                           .first = own,
                           .bytes = slice_of(versions, (own + others) *
                                                           sizeof *versions) };

    check_member_probe(check, node, &probe);
}

static void member_lifecycle_an_older_version_is_found(void **state)
{
    static const struct probe_version newer[] = { { 1, 3 }, { 2, 5 }, { 1, 3 }, { 2, 6 } };
    static const struct probe_version merged[] = { { 1, 3 }, { 2, 5 }, { 1, 4 }, { 2, 5 }, { 3, 1 } };
    static const struct probe_version more[] = { { 1, 3 }, { 1, 3 }, { 2, 1 } };
    static const struct probe_version pruned[] = { { 1, 3 }, { 2, 5 }, { 2, 5 } };
    static const struct probe_version older[] = { { 1, 3 }, { 2, 5 }, { 1, 3 }, { 2, 4 } };

    (void)state;
    take(0, newer, 2, 2);
    take(0, merged, 2, 3);
    take(0, more, 1, 2);
    take(0, pruned, 2, 1);
    expect_only(NULL);
    assert_int_equal(check_member_counts(check).versions, 4);
    take(1, older, 2, 2);
    expect_only("member-lifecycle");
}

/* It is newer in part, but loses what the node knew. */
static void member_lifecycle_a_concurrent_version_that_is_taken_whole_is_found(void **state)
{
    static const struct probe_version other[] = { { 1, 3 }, { 2, 5 }, { 1, 4 }, { 2, 4 } };

    (void)state;
    take(1, other, 2, 2);
    assert_non_null(verdict_find(verdict, "member-lifecycle"));
    assert_string_equal(verdict_find(verdict, "member-lifecycle")->text,
                        "takes a concurrent version of the gossip for its own");
    expect_only("member-lifecycle");
}

static void act_on(uint32_t node, uint64_t version,
                   const struct probe_evidence *evidence, size_t count)
{
    struct probe probe = { .kind = PROBE_LEADER_ACTED,
                           .node = { *address_of(node), 100 + node },
                           .second = version,
                           .bytes = slice_of(evidence,
                                             count * sizeof *evidence) };

    check_member_probe(check, node, &probe);
}

static void leader_actions_two_leaders_of_one_version_are_found(void **state)
{
    /* each leads by its own evidence, because it sees the other as unreachable */
    static const struct probe_evidence first[] = {
        { 100, MEMBER_LEAVING, MEMBER_EXITING, 1, 1, 1, 0 },
        { 101, MEMBER_DOWN, MEMBER_DOWN, 1, 0, 0, 0 },
    };
    static const struct probe_evidence second[] = {
        { 100, MEMBER_LEAVING, MEMBER_EXITING, 1, 0, 1, 0 },
        { 101, MEMBER_DOWN, MEMBER_DOWN, 1, 1, 1, 0 },
    };

    (void)state;
    act_on(0, 7, first, 2);
    act_on(0, 8, second, 2); /* another version */
    act_on(0, 7, first, 2);
    expect_only(NULL);
    act_on(0, 7, second, 2);
    expect_only("leader-actions");
}

static void leader_actions_one_version_with_two_contents_is_found(void **state)
{
    static const struct probe_evidence first[] = {
        { 100, MEMBER_UP, MEMBER_UP, 1, 1, 1, 0 },
        { 101, MEMBER_JOINING, MEMBER_UP, 1, 1, 1, 0 },
    };
    static const struct probe_evidence second[] = {
        { 100, MEMBER_UP, MEMBER_UP, 1, 1, 1, 0 },
        { 101, MEMBER_LEAVING, MEMBER_EXITING, 1, 1, 1, 0 },
    };

    (void)state;
    act_on(0, 7, first, 2);
    expect_only(NULL);
    act_on(0, 7, second, 2);
    expect_only("leader-actions");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_members_lifecycle_passes),
        TEST(a_status_that_goes_back_is_found),
        TEST(a_removed_member_that_returns_is_found),
        TEST(a_removal_of_an_unknown_member_is_found),
        TEST(a_removed_member_is_not_seen_any_more),
        TEST(a_new_incarnation_begins_anew),
        TEST(downs_with_a_cause_pass),
        TEST(a_down_without_a_cause_is_found),
        TEST(a_down_without_a_command_is_found),
        TEST(a_command_is_not_for_the_next_incarnation),
        TEST(a_replaced_node_that_runs_is_found),
        TEST(a_down_for_another_node_is_found),
        TEST(a_down_by_a_resolver_that_is_off_is_found),
        TEST(a_down_by_a_resolver_passes),
        TEST(a_leaders_actions_pass),
        TEST(an_action_of_another_than_the_leader_is_found),
        TEST(a_leader_that_is_down_is_found),
        TEST(wrong_actions_are_found),
        TEST(a_leaders_actions_in_another_data_center_pass),
        TEST(wrong_actions_in_another_data_center_are_found),
        TEST(nodes_that_join_one_cluster_pass),
        TEST(two_clusters_that_merge_are_found),
        TEST(a_node_of_another_cluster_is_judged_alone),
        TEST(a_stranger_that_is_seen_as_a_member_is_found),
        TEST(a_member_that_another_clusters_node_sees_is_found),
        TEST(a_node_of_another_cluster_that_enters_is_found),
        TEST(a_node_of_two_clusters_is_found),
        TEST(member_lifecycle_an_older_version_is_found),
        TEST(member_lifecycle_a_concurrent_version_that_is_taken_whole_is_found),
        TEST(leader_actions_two_leaders_of_one_version_are_found),
        TEST(leader_actions_one_version_with_two_contents_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
