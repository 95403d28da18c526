/* Tests the gossip value: laws of the merge, convergence, leader, age. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "member/state.h"
#include "values.h"

static const struct profile *profile_at(const struct gossip *gossip,
                                        char content)
{
    struct node_id node = test_mail(content);

    return gossip_find(gossip, &node)->profile;
}

static bool converged(const struct gossip *gossip, char self)
{
    return state_is_converged(gossip, profile_at(gossip, self), NULL, 0);
}

static char leader(const struct gossip *gossip, char self)
{
    const struct profile *profile = profile_at(gossip, self);
    uint8_t *reach = state_reach(gossip, profile, ALL_OBSERVERS);
    const struct gossip_member *found = state_leader(gossip, profile, reach);

    mem_free(reach);
    return found ? found->profile->address->host[0] : '-';
}

static void observe(struct gossip *gossip, char observer, char subject,
                    enum reach status)
{
    (void)reachability_change(
        &gossip->reachability,
        (struct profile *)(uintptr_t)profile_at(gossip, observer),
        (struct profile *)(uintptr_t)profile_at(gossip, subject), status);
}

static void a_gossip_converges_when_all_have_seen_it_MEM081_MEM082_MEM083_MEM084(
    void **state)
{
    struct gossip gossip = { 0 };
    struct node_id b = test_mail('b');
    struct profile *none = test_profile("x", 2552, 24, NULL);
    (void)state;

    assert_true(state_is_converged(&gossip, none, NULL, 0)); /* no member */
    (void)test_add(&gossip, 'a', MEMBER_UP, 1, true);
    assert_true(converged(&gossip, 'a'));
    (void)test_add(&gossip, 'b', MEMBER_UP, 2, false);
    assert_false(converged(&gossip, 'a'));
    assert_true(state_is_converged(&gossip, profile_at(&gossip, 'a'), &b, 1));
    gossip_find(&gossip, &b)->seen = true;
    assert_true(converged(&gossip, 'a'));
    profile_drop(none);
    gossip_fini(&gossip);
}

static void only_reachable_members_that_stay_are_awaited_MEM085_MEM086_MEM089(
    void **state)
{
    struct gossip gossip = { 0 };
    (void)state;

    (void)test_add(&gossip, 'a', MEMBER_UP, 1, true);
    (void)test_add(&gossip, 'b', MEMBER_UP, 2, true);
    (void)test_add(&gossip, 'c', MEMBER_JOINING, UP_NUMBER_NONE, false);
    (void)test_add(&gossip, 'd', MEMBER_DOWN, 3, false);
    (void)test_add(&gossip, 'e', MEMBER_EXITING, 4, false);
    (void)test_add(&gossip, 'f', MEMBER_WEAKLY_UP, UP_NUMBER_NONE, false);
    assert_true(converged(&gossip, 'a'));
    observe(&gossip, 'b', 'a', UNREACHABLE);
    assert_false(converged(&gossip, 'b'));
    assert_true(converged(&gossip, 'a')); /* a's own view of itself counts */
    observe(&gossip, 'b', 'a', REACHABLE);
    observe(&gossip, 'a', 'd', UNREACHABLE); /* down: does not delay */
    assert_true(converged(&gossip, 'a'));
    observe(&gossip, 'd', 'b', UNREACHABLE); /* the observer is down */
    assert_true(converged(&gossip, 'a'));
    gossip_fini(&gossip);
    /* The first members of a data center: joining ones must have seen, too. */
    (void)test_add(&gossip, 'a', MEMBER_JOINING, UP_NUMBER_NONE, true);
    (void)test_add(&gossip, 'b', MEMBER_JOINING, UP_NUMBER_NONE, false);
    assert_false(converged(&gossip, 'a'));
    gossip.members.items[1].status = MEMBER_WEAKLY_UP;
    assert_false(converged(&gossip, 'a'));
    gossip.members.items[1].seen = true;
    assert_true(converged(&gossip, 'a'));
    gossip_fini(&gossip);
}

static void the_first_reachable_member_leads_MEM095_MEM096_MEM107(void **state)
{
    struct gossip gossip = { 0 };
    (void)state;

    (void)test_add(&gossip, 'a', MEMBER_UP, 1, true);
    (void)test_add(&gossip, 'b', MEMBER_UP, 2, true);
    (void)test_add(&gossip, 'c', MEMBER_JOINING, UP_NUMBER_NONE, true);
    assert_int_equal(leader(&gossip, 'b'), 'a');
    observe(&gossip, 'b', 'a', UNREACHABLE);
    assert_int_equal(leader(&gossip, 'b'), 'b');
    assert_int_equal(leader(&gossip, 'a'), 'a');
    gossip.members.items[0].status = MEMBER_DOWN;
    assert_int_equal(leader(&gossip, 'a'), 'b');
    gossip_fini(&gossip);

    (void)test_add(&gossip, 'a', MEMBER_DOWN, 1, true);
    assert_int_equal(leader(&gossip, 'a'), '-');
    (void)test_add(&gossip, 'b', MEMBER_EXITING, 2, true);
    assert_int_equal(leader(&gossip, 'a'), 'b');
    (void)test_add(&gossip, 'c', MEMBER_JOINING, UP_NUMBER_NONE, true);
    assert_int_equal(leader(&gossip, 'a'), 'c');
    (void)test_add(&gossip, 'd', MEMBER_WEAKLY_UP, UP_NUMBER_NONE, true);
    assert_int_equal(leader(&gossip, 'a'), 'd');
    (void)test_add(&gossip, 'e', MEMBER_LEAVING, 5, true);
    assert_int_equal(leader(&gossip, 'a'), 'e');
    gossip_fini(&gossip);
}

/* Another data center neither leads here nor delays convergence. */
static void another_data_center_neither_leads_nor_delays_convergence_MEM097_MEM101(
    void **state)
{
    struct gossip gossip = { 0 };
    struct profile *other = test_profile("b", 2552, 2, "dc-two");
    (void)state;

    (void)test_add(&gossip, 'a', MEMBER_UP, 1, true);
    (void)gossip_add(&gossip, other, MEMBER_UP, 1);
    (void)test_add(&gossip, 'c', MEMBER_UP, 2, true);
    assert_int_equal(leader(&gossip, 'a'), 'a');
    assert_int_equal(leader(&gossip, 'b'), 'b');
    assert_true(converged(&gossip, 'a')); /* b has not seen it */
    assert_false(converged(&gossip, 'b'));
    observe(&gossip, 'b', 'a', UNREACHABLE);
    assert_true(converged(&gossip, 'a'));
    assert_int_equal(leader(&gossip, 'c'), 'a');
    profile_drop(other);
    gossip_fini(&gossip);
}

/* A member that is unreachable in another data center, or for it, delays only that one. */
static void unreachable_members_elsewhere_do_not_delay_MEM100_MEM104_MEM105_MEM108(
    void **state)
{
    struct gossip gossip = { 0 };
    struct profile *c = test_profile("c", 2552, 3, "dc-two");
    struct profile *d = test_profile("d", 2552, 4, "dc-two");
    (void)state;

    (void)test_add(&gossip, 'a', MEMBER_UP, 1, true);
    (void)test_add(&gossip, 'b', MEMBER_UP, 2, true);
    gossip_add(&gossip, c, MEMBER_UP, 1)->seen = true;
    gossip_add(&gossip, d, MEMBER_UP, 2)->seen = true;
    assert_true(converged(&gossip, 'a'));
    assert_true(converged(&gossip, 'c'));
    observe(&gossip, 'a', 'd', UNREACHABLE); /* across, in both directions */
    observe(&gossip, 'c', 'b', UNREACHABLE);
    assert_true(converged(&gossip, 'a'));
    assert_true(converged(&gossip, 'c'));
    assert_int_equal(leader(&gossip, 'b'), 'a');
    assert_int_equal(leader(&gossip, 'd'), 'c');
    observe(&gossip, 'c', 'd', UNREACHABLE); /* within the second */
    assert_true(converged(&gossip, 'a'));
    assert_false(converged(&gossip, 'c'));
    gossip.members.items[2].status = MEMBER_DOWN;
    assert_int_equal(leader(&gossip, 'd'), 'd');
    assert_int_equal(leader(&gossip, 'b'), 'a');
    profile_drop(c);
    profile_drop(d);
    gossip_fini(&gossip);
}

/* Observations of downed members do not count for convergence. */
static void observations_by_downed_members_do_not_count_MEM205(void **state)
{
    struct gossip gossip = { 0 };
    uint8_t *all;
    uint8_t *others;
    (void)state;

    (void)test_add(&gossip, 'a', MEMBER_UP, 1, true);
    (void)test_add(&gossip, 'b', MEMBER_DOWN, 2, true);
    (void)test_add(&gossip, 'c', MEMBER_UP, 3, true);
    observe(&gossip, 'c', 'a', UNREACHABLE);
    observe(&gossip, 'c', 'a', REACHABLE);
    observe(&gossip, 'c', 'b', UNREACHABLE);
    observe(&gossip, 'b', 'a', UNREACHABLE);
    observe(&gossip, 'b', 'c', UNREACHABLE);
    all = state_reach(&gossip, profile_at(&gossip, 'a'), ALL_OBSERVERS);
    others = state_reach(&gossip, profile_at(&gossip, 'a'), OBSERVERS_NOT_DOWN);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(all[i], UNREACHABLE);
        assert_int_equal(others[i], i == 1 ? UNREACHABLE : REACHABLE);
    }
    mem_free(all);
    mem_free(others);
    gossip_fini(&gossip);
}

static void merge_prefers_the_further_status_MEM091_MEM092(void **state)
{
    struct gossip one = { 0 };
    struct gossip two = { 0 };
    struct gossip merged = { 0 };
    struct node_id c = test_mail('c');
    (void)state;

    (void)test_add(&one, 'a', MEMBER_JOINING, UP_NUMBER_NONE, true);
    (void)test_add(&two, 'a', MEMBER_UP, 1, true);
    (void)test_add(&one, 'b', MEMBER_LEAVING, 2, true);
    (void)test_add(&two, 'b', MEMBER_UP, 2, true);
    (void)test_add(&one, 'c', MEMBER_EXITING, 3, true); /* removed there */
    (void)gossip_add_tombstone(&two, &c, 1000);
    (void)test_add(&two, 'd', MEMBER_JOINING, UP_NUMBER_NONE, true); /* new */
    (void)test_add(&one, 'e', MEMBER_UP, 7, true);
    (void)test_add(&two, 'e', MEMBER_UP, 5, true);
    (void)test_add(&one, 'f', MEMBER_READY_FOR_SHUTDOWN, 8, true);
    (void)test_add(&two, 'f', MEMBER_DOWN, 8, true);
    observe(&one, 'a', 'c', UNREACHABLE);
    observe(&two, 'b', 'a', UNREACHABLE);
    assert_false(gossip_merge(&merged, &one, &two, 1000));
    assert_true(gossip_valid(&merged));
    assert_int_equal(merged.members.count, 5);
    assert_int_equal(merged.members.items[0].status, MEMBER_UP);
    assert_int_equal(merged.members.items[1].status, MEMBER_LEAVING);
    assert_int_equal(merged.members.items[2].profile->address->host[0],
                     'd');
    assert_int_equal(merged.members.items[3].up_number, 5);
    assert_int_equal(merged.members.items[4].status, MEMBER_READY_FOR_SHUTDOWN);
    assert_int_equal(gossip_seen_count(&merged), 0);
    assert_int_equal(
        reachability_of(&merged.reachability, PROFILE_NODE(profile_at(&merged, 'a'))),
        UNREACHABLE);
    gossip_fini(&one);
    gossip_fini(&two);
    gossip_fini(&merged);
}

/* As in Akka, in any order of merging: the leader moved it to up while it left. */
static void a_member_that_left_while_joining_has_no_number(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        struct gossip left = { 0 }, up = { 0 }, merged = { 0 };

        (void)test_add(&left, 'a', MEMBER_LEAVING, UP_NUMBER_NONE, true);
        (void)test_add(&up, 'a', MEMBER_UP, 3, true);
        assert_false(turn ? gossip_merge(&merged, &left, &up, 1000)
                          : gossip_merge(&merged, &up, &left, 1000));
        assert_int_equal(merged.members.items[0].status, MEMBER_LEAVING);
        assert_int_equal(merged.members.items[0].up_number, UP_NUMBER_NONE);
        gossip_fini(&left);
        gossip_fini(&up);
        gossip_fini(&merged);
    }
}

static void removed_member_stays_removed_MEM113(void **state)
{
    struct gossip one = { 0 };
    struct gossip two = { 0 };
    struct gossip merged = { 0 };
    struct node_id b = test_mail('b');
    (void)state;

    (void)test_add(&one, 'a', MEMBER_UP, 1, true);
    (void)test_add(&one, 'b', MEMBER_DOWN, 2, true);
    (void)test_add(&two, 'a', MEMBER_UP, 1, true);
    (void)test_add(&two, 'b', MEMBER_UP, 2, true); /* behind */
    clock_increment(&one.clock, &profile_at(&one, 'a')->key);
    clock_increment(&one.clock, &profile_at(&one, 'b')->key);
    clock_increment(&two.clock, &profile_at(&two, 'b')->key);
    observe(&one, 'a', 'b', UNREACHABLE);
    assert_true(gossip_remove(&one, &b, 1000));
    assert_false(gossip_remove(&one, &b, 1000));
    assert_int_equal(one.clock.entries.count, 1);
    assert_int_equal(one.reachability.observers.items[0].rows.count, 0);
    assert_false(gossip_merge(&merged, &two, &one, 1000));
    assert_int_equal(merged.members.count, 1);
    assert_int_equal(merged.clock.entries.count, 1);
    assert_true(gossip_is_tombstoned(&merged, &b));
    assert_false(gossip_prune_tombstones(&merged, 1500, 1000));
    assert_true(gossip_prune_tombstones(&merged, 2000, 1000));
    assert_int_equal(merged.tombstones.count, 0);
    gossip_fini(&one);
    gossip_fini(&two);
    gossip_fini(&merged);
}

/* A member that leaves on one side and is absent on the other is removed permanently, with all
 * traces. A third node that knows it as up does not bring it back. */
static void a_leaving_member_unknown_to_the_other_side_is_removed_MEM093(
    void **state)
{
    struct gossip slept = { 0 };
    struct gossip here = { 0 };
    struct gossip late = { 0 };
    struct gossip merged = { 0 };
    struct gossip again = { 0 };
    struct node_id b = test_mail('b');
    struct node_id c = test_mail('c');
    struct clock_key down;
    (void)state;

    (void)test_add(&slept, 'a', MEMBER_UP, 1, true);
    (void)test_add(&here, 'a', MEMBER_UP, 1, true);
    down = test_add(&here, 'b', MEMBER_DOWN, UP_NUMBER_NONE, true)->key;
    clock_increment(&here.clock, &down);
    (void)test_add(&here, 'c', MEMBER_EXITING, 3, true);
    observe(&here, 'a', 'c', UNREACHABLE);
    observe(&here, 'b', 'a', UNREACHABLE);
    for (int turn = 0; turn < 2; turn++) {
        assert_true(turn ? gossip_merge(&merged, &here, &slept, 1000)
                         : gossip_merge(&merged, &slept, &here, 1000));
        assert_true(gossip_valid(&merged));
        assert_int_equal(merged.members.count, 1);
        assert_int_equal(merged.clock.entries.count, 0);
        assert_int_equal(reachability_of(&merged.reachability,
                                         PROFILE_NODE(profile_at(&merged, 'a'))),
                         REACHABLE);
        assert_true(gossip_is_tombstoned(&merged, &b));
        assert_true(gossip_is_tombstoned(&merged, &c));
        gossip_fini(&again);
        again = merged;
        merged = (struct gossip){ 0 };
    }
    (void)test_add(&late, 'a', MEMBER_UP, 1, true);
    (void)test_add(&late, 'b', MEMBER_UP, 2, true);
    assert_false(gossip_merge(&merged, &again, &late, 2000));
    assert_int_equal(merged.members.count, 1);
    gossip_fini(&merged);
    /* with a tombstone it was removed before */
    (void)gossip_add_tombstone(&slept, &b, 1000);
    (void)gossip_add_tombstone(&slept, &c, 1000);
    assert_false(gossip_merge(&merged, &slept, &here, 2000));
    assert_int_equal(merged.members.count, 1);
    gossip_fini(&slept);
    gossip_fini(&here);
    gossip_fini(&late);
    gossip_fini(&again);
    gossip_fini(&merged);
}

/* Both sides have as many members as before, but not the same ones. */
static void the_clock_forgets_replaced_members(void **state)
{
    struct gossip one = { 0 };
    struct gossip two = { 0 };
    struct gossip merged = { 0 };
    struct node_id b = test_mail('b');
    (void)state;

    (void)test_add(&one, 'a', MEMBER_UP, 1, true);
    clock_increment(&one.clock,
                    &test_add(&one, 'b', MEMBER_UP, 2, true)->key);
    (void)test_add(&two, 'a', MEMBER_UP, 1, true);
    (void)test_add(&two, 'c', MEMBER_UP, 3, true);
    (void)gossip_add_tombstone(&two, &b, 1000);
    one.keys_checked = two.keys_checked = true;
    assert_false(gossip_merge(&merged, &one, &two, 2000));
    assert_int_equal(merged.members.count, 2);
    assert_int_equal(merged.clock.entries.count, 0);
    gossip_fini(&one);
    gossip_fini(&two);
    gossip_fini(&merged);
}

/* Any gossip of up to eight members. */
static void make_random(struct gossip *gossip, struct rng *rng)
{
    static const enum member_status statuses[] = {
        MEMBER_JOINING, MEMBER_UP,
        MEMBER_LEAVING, MEMBER_EXITING,
        MEMBER_DOWN,    MEMBER_WEAKLY_UP,
        MEMBER_UP,      MEMBER_PREPARING_FOR_SHUTDOWN
    };

    for (char content = 'a'; content <= 'h'; content++) {
        struct node_id node = test_mail(content);

        switch (rng_below(rng, 4)) {
        case 0:
            break;
        case 1:
            if (rng_below(rng, 2))
                (void)gossip_add_tombstone(gossip, &node, 1000);
            break;
        default:
            clock_increment(
                &gossip->clock,
                &test_add(gossip, content, statuses[rng_below(rng, 8)],
                          (int32_t)rng_below(rng, 9), rng_below(rng, 2))
                     ->key);
        }
    }
    for (uint32_t i = 0; i < gossip->members.count; i++) {
        struct profile *observer = gossip->members.items[i].profile;
        uint64_t other = rng_below(rng, gossip->members.count);

        if (other != i)
            (void)reachability_change(&gossip->reachability, observer,
                                      gossip->members.items[other].profile,
                                      UNREACHABLE);
    }
}

static bool equal(const struct gossip *left, const struct gossip *right)
{
    if (left->members.count != right->members.count ||
        left->tombstones.count != right->tombstones.count ||
        clock_compare(&left->clock, &right->clock) != CLOCK_SAME)
        return false;
    for (uint32_t i = 0; i < left->members.count; i++) {
        const struct gossip_member *a = &left->members.items[i];
        const struct gossip_member *b = &right->members.items[i];

        if (!profile_same(a->profile, b->profile) ||
            a->status != b->status || a->up_number != b->up_number ||
            a->seen != b->seen)
            return false;
    }
    return true;
}

static void merge_is_commutative_and_idempotent(void **state)
{
    struct rng rng;
    (void)state;

    rng_init(&rng, 5);
    for (int i = 0; i < 2000; i++) {
        struct gossip one = { 0 };
        struct gossip two = { 0 };
        struct gossip left = { 0 };
        struct gossip right = { 0 };
        struct gossip again = { 0 };

        make_random(&one, &rng);
        make_random(&two, &rng);
        assert_true(gossip_valid(&one));
        assert_int_equal(gossip_merge(&left, &one, &two, 1000),
                         gossip_merge(&right, &two, &one, 1000));
        assert_true(gossip_valid(&left));
        assert_true(equal(&left, &right));
        assert_false(gossip_merge(&again, &left, &left, 1000));
        assert_true(equal(&left, &again));
        assert_true(
            reachability_equal(&left.reachability, &again.reachability));
        gossip_fini(&one);
        gossip_fini(&two);
        gossip_fini(&left);
        gossip_fini(&right);
        gossip_fini(&again);
    }
}

/* Merges as a node does: a merge that removes a member counts in the clock. */
static void merge_at(char node, struct gossip *result,
                     const struct gossip *left, const struct gossip *right)
{
    if (gossip_merge(result, left, right, 1000))
        clock_increment(&result->clock, &profile_at(result, node)->key);
}

/* The order of merges does not matter: one version is one value. */
static void one_version_is_one_value(void **state)
{
    struct rng rng;
    uint32_t same = 0, other = 0;
    (void)state;

    rng_init(&rng, 6);
    for (int i = 0; i < 4000; i++) {
        struct gossip parts[3] = { 0 };
        struct gossip first = { 0 };
        struct gossip last = { 0 };
        struct gossip left = { 0 };
        struct gossip right = { 0 };
        struct gossip both = { 0 };

        for (int k = 0; k < 3; k++) {
            (void)test_add(&parts[k], 'y', MEMBER_UP, 1, true);
            (void)test_add(&parts[k], 'z', MEMBER_UP, 2, true);
            make_random(&parts[k], &rng);
        }
        merge_at('y', &first, &parts[0], &parts[1]);
        merge_at('y', &left, &first, &parts[2]);
        merge_at('z', &last, &parts[1], &parts[2]);
        merge_at('z', &right, &parts[0], &last);
        if (clock_compare(&left.clock, &right.clock) == CLOCK_SAME) {
            assert_true(equal(&left, &right));
            same++;
        } else {
            other += left.members.count != right.members.count;
        }
        assert_false(gossip_merge(&both, &left, &right, 2000));
        assert_true(gossip_valid(&both));
        for (int k = 0; k < 3; k++)
            gossip_fini(&parts[k]);
        gossip_fini(&first);
        gossip_fini(&last);
        gossip_fini(&left);
        gossip_fini(&right);
        gossip_fini(&both);
    }
    assert_true(same > 100);
    assert_true(other > 100); /* the reason for counting */
}

static void a_status_takes_allowed_steps_only(void **state)
{
    (void)state;
    assert_true(member_status_may_change(MEMBER_JOINING, MEMBER_WEAKLY_UP));
    assert_true(member_status_may_change(MEMBER_UP, MEMBER_LEAVING));
    assert_false(member_status_may_change(MEMBER_UP, MEMBER_JOINING));
    assert_false(member_status_may_change(MEMBER_UP, MEMBER_EXITING));
    assert_false(member_status_may_change(MEMBER_DOWN, MEMBER_UP));
    assert_false(member_status_may_change(MEMBER_REMOVED, MEMBER_DOWN));
    for (int i = 0; i < MEMBER_STATUS_COUNT; i++)
        for (int k = 0; k < MEMBER_STATUS_COUNT; k++)
            if (k != MEMBER_REMOVED && /* never in a gossip */
                member_status_may_change((enum member_status)i,
                                         (enum member_status)k))
                assert_true(member_status_may_follow((enum member_status)i,
                                                     (enum member_status)k));
    assert_true(member_status_may_follow(MEMBER_JOINING, MEMBER_DOWN));
    assert_false(member_status_may_follow(MEMBER_UP, MEMBER_WEAKLY_UP));
    assert_false(member_status_may_follow(MEMBER_EXITING, MEMBER_LEAVING));
    assert_false(member_status_may_follow(MEMBER_DOWN, MEMBER_EXITING));
}

/* Order of addresses, two oldest. */
static void the_two_oldest_are_those_with_the_lowest_up_numbers(void **state)
{
    struct gossip gossip = { 0 };
    const struct gossip_member *oldest[2];
    const struct profile *self;
    struct node_id left = test_node("host1", 9000, 1);
    struct node_id right = test_node("host1", 10000, 1);
    (void)state;

    assert_true(node_compare(&left, &right) < 0);
    right = left;
    right.uid = (uint64_t)-3;
    left.uid = 0;
    assert_true(node_compare(&left, &right) > 0);
    self = test_add(&gossip, 'a', MEMBER_UP, 3, true);
    assert_int_equal(state_two_oldest(&gossip, self, NULL, oldest), 1);
    (void)test_add(&gossip, 'b', MEMBER_EXITING, 1, true);
    (void)test_add(&gossip, 'c', MEMBER_UP, 2, true);
    (void)test_add(&gossip, 'd', MEMBER_JOINING, UP_NUMBER_NONE, true);
    assert_int_equal(state_two_oldest(&gossip, self, NULL, oldest), 2);
    assert_int_equal(oldest[0]->profile->address->host[0], 'b');
    assert_int_equal(oldest[1]->profile->address->host[0], 'c');
    assert_int_equal(state_two_oldest(&gossip, self, "none", oldest), 0);
    gossip_fini(&gossip);
}

static struct gossip_member *add_at(struct gossip *gossip, const char *host,
                                    uint32_t port, const char *const *roles,
                                    uint32_t role_count, int32_t up_number)
{
    struct node_id node = test_node(host, port, port);
    struct profile *profile =
        profile_new(&test_identity, &node, roles, role_count, "0.0.0");
    struct gossip_member *member =
        gossip_add(gossip, profile, MEMBER_UP, up_number);

    member->seen = true;
    profile_drop(profile);
    return member;
}

/* By host as text, then by port as number, whatever the status. */
static void members_are_ordered_by_address_MEM164_MEM165_MEM169_MEM170_MEM171(
    void **state)
{
    static const struct {
        const char *host;
        uint32_t port;
    } order[] = {
        { "Host2", 10000 }, /* as text: upper case first, and another host */
        { "darkstar0", 1110 }, { "darkstar0", 1111 }, { "darkstar2", 1110 },
        { "darkstar2", 1111 }, { "host1", 9000 },     { "host1", 10000 },
        { "host2", 8000 },     { "host2", 9000 },     { "host2", 10000 },
    };
    static const int added[] = { 5, 0, 8, 3, 9, 6, 1, 4, 7, 2 };
    struct gossip gossip = { 0 };
    (void)state;

    for (size_t i = 0; i < 10; i++)
        add_at(&gossip, order[added[i]].host, order[added[i]].port, NULL, 0,
               (int32_t)i)
            ->status = i % 2 ? MEMBER_DOWN : MEMBER_UP;
    for (size_t i = 0; i < 10; i++) {
        const struct node_id *node = PROFILE_NODE(gossip.members.items[i].profile);

        assert_string_equal(node->address.host, order[i].host);
        assert_int_equal(node->address.port, order[i].port);
    }
    gossip_fini(&gossip);
}

/* A member is found and removed by its node, whatever its status is now. */
static void a_changed_member_keeps_its_place_MEM115_MEM168(void **state)
{
    struct gossip gossip = { 0 };
    struct node_id b = test_mail('b');
    (void)state;

    for (char letter = 'a'; letter <= 'c'; letter++)
        (void)test_add(&gossip, letter, MEMBER_UP, letter - 'a' + 1, true);
    gossip_find(&gossip, &b)->status = MEMBER_LEAVING;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(gossip.members.items[i].profile->address->host[0],
                         'a' + i);
        assert_int_equal(gossip.members.items[i].status,
                         i == 1 ? MEMBER_LEAVING : MEMBER_UP);
    }
    gossip_find(&gossip, &b)->status = MEMBER_EXITING;
    assert_true(gossip_remove(&gossip, &b, 1));
    assert_null(gossip_find(&gossip, &b));
    assert_int_equal(gossip.members.count, 2);
    gossip_fini(&gossip);
}

/* Up before joining before exiting, then by port; down never. */
static void leaders_follow_each_other_by_status(void **state)
{
    static const struct {
        uint32_t port;
        enum member_status status;
    } order[] = {
        { 8000, MEMBER_UP },      { 9000, MEMBER_UP },
        { 5000, MEMBER_JOINING }, { 7000, MEMBER_JOINING },
        { 3000, MEMBER_EXITING }, { 6000, MEMBER_EXITING },
    };
    struct gossip gossip = { 0 };
    struct node_id gone[6];
    const struct profile *self;
    uint8_t *reach;
    (void)state;

    add_at(&gossip, "host", 2000, NULL, 0, 1)->status = MEMBER_DOWN;
    add_at(&gossip, "host", 4000, NULL, 0, 1)->status = MEMBER_DOWN;
    for (uint32_t i = 0; i < 6; i++) {
        gone[i] = test_node("host", order[i].port, order[i].port);
        add_at(&gossip, "host", order[i].port, NULL, 0, 1)->status =
            order[i].status;
    }
    self = gossip.members.items[0].profile;
    reach = state_reach(&gossip, self, ALL_OBSERVERS);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(state_leader_without(&gossip, self, reach, gone, i)
                             ->profile->address->port,
                         order[i].port);
    assert_null(state_leader_without(&gossip, self, reach, gone, 6));
    mem_free(reach);
    gossip_fini(&gossip);
}

static void expect_oldest(const struct gossip *gossip, const char *role,
                          uint32_t first, uint32_t second)
{
    const struct gossip_member *oldest[2];
    uint32_t count = state_two_oldest(gossip, gossip->members.items[0].profile,
                                      role, oldest);

    assert_int_equal(count, second ? 2 : 1);
    assert_int_equal(oldest[0]->profile->address->port, first);
    if (second)
        assert_int_equal(oldest[1]->profile->address->port, second);
}

/* Receivers of the news that a5 and a6 exit: the two oldest of all, and of each of their roles. */
static void the_oldest_of_each_role_MEM174(void **state)
{
    static const char *const one_two[] = { "role1", "role2" };
    static const char *const one_three[] = { "role1", "role3" };
    static const char *const two[] = { "role2" };
    struct gossip gossip = { 0 };
    (void)state;

    for (uint32_t i = 1; i <= 9; i++) {
        const char *const *roles = i == 5 ? one_two : i == 9 ? two : one_three;
        uint32_t count = i < 5 ? 0 : i < 7 ? 2 : 1;

        /* ages in the reverse order of addresses */
        add_at(&gossip, "a", 100 - i, roles, count, (int32_t)i);
    }
    expect_oldest(&gossip, NULL, 99, 98);
    expect_oldest(&gossip, "role1", 95, 94);
    expect_oldest(&gossip, "role2", 95, 91);
    expect_oldest(&gossip, "role3", 94, 0);
    gossip_fini(&gossip);
}

static void gossip_is_faster_while_less_than_half_have_seen_it(void **state)
{
    struct profile *x = test_profile("x", 2552, 24, "dc-two");
    struct profile *y = test_profile("y", 2552, 25, "dc-two");
    struct gossip gossip = { 0 };
    const struct profile *self;
    (void)state;

    self = test_add(&gossip, 'a', MEMBER_UP, 1, true);
    (void)test_add(&gossip, 'b', MEMBER_UP, 2, false);
    (void)test_add(&gossip, 'c', MEMBER_UP, 3, false);
    assert_false(state_needs_speed(&gossip, self, true)); /* 1 < 3 / 2 is false */
    (void)test_add(&gossip, 'd', MEMBER_UP, 4, false);
    assert_true(state_needs_speed(&gossip, self, true));
    gossip.members.items[1].seen = true;
    assert_false(state_needs_speed(&gossip, self, true));
    (void)gossip_add(&gossip, x, MEMBER_UP, 1);
    (void)gossip_add(&gossip, y, MEMBER_UP, 2);
    assert_false(state_needs_speed(&gossip, self, true)); /* 2 of this data center's 4 */
    gossip.members.items[3].status = MEMBER_DOWN;
    assert_true(state_needs_speed(&gossip, self, true));
    profile_drop(x);
    profile_drop(y);
    gossip_fini(&gossip);
}

/* Two incarnations at one address, from two gossips: the one that is not down, if any. */
static void the_member_that_is_not_down_is_found_at_an_address(void **state)
{
    static const struct address other = { "x", 2552 };
    struct gossip gossip = { 0 };
    struct gossip_member *late;
    struct node_id node;
    struct profile *profile;

    (void)state;
    node = profile_node(test_add(&gossip, 'a', MEMBER_DOWN, 1, true));
    profile = test_profile(node.address.host, node.address.port, node.uid + 1, NULL);
    (void)gossip_add(&gossip, profile, MEMBER_WEAKLY_UP, UP_NUMBER_NONE);
    profile_drop(profile);
    late = gossip_find_address(&gossip, &node.address);
    assert_int_equal(late->profile->uid, node.uid + 1);
    late->status = MEMBER_DOWN;
    assert_int_equal(gossip_find_address(&gossip, &node.address)->profile->uid, node.uid);
    assert_null(gossip_find_address(&gossip, &other));
    gossip_fini(&gossip);
}

/* Checks every index, with another profile of the incarnation, and with an unknown one. */
static void expect_indexes(const struct gossip *gossip)
{
    struct profile *nobody = test_profile("zz", 1, 5, NULL);

    for (uint32_t i = 0; i < gossip->members.count; i++) {
        const struct profile *profile = gossip->members.items[i].profile;
        struct profile *other =
            profile_new(&test_identity, PROFILE_NODE(profile), NULL, 0, "0.0.0");

        assert_int_equal(gossip_index(gossip, profile), i);
        assert_int_equal(gossip_index(gossip, other), i);
        profile_drop(other);
    }
    assert_int_equal(gossip_index(gossip, nobody), UINT32_MAX);
    profile_drop(nobody);
}

static void members_are_found_by_their_profiles(void **state)
{
    struct gossip gossip = { 0 };
    struct gossip other = { 0 };
    struct gossip merged = { 0 };
    struct rng rng;
    (void)state;

    rng_init(&rng, 4);
    expect_indexes(&gossip);
    for (uint32_t i = 0; i < 200; i++) {
        struct profile *profile = test_profile(
            "host", 2551, 1 + rng_below(&rng, 1000000), NULL);

        if (!gossip_find(&gossip, PROFILE_NODE(profile)))
            (void)gossip_add(&gossip, profile, MEMBER_UP, 1);
        if (i % 3 && !gossip_find(&other, PROFILE_NODE(profile)))
            (void)gossip_add(&other, profile, MEMBER_UP, 1);
        profile_drop(profile);
        if (i % 16 == 0)
            expect_indexes(&gossip);
    }
    while (gossip.members.count > 100) {
        struct node_id node =
            profile_node(gossip.members
                             .items[rng_below(&rng, gossip.members.count)]
                             .profile);

        assert_true(gossip_remove(&gossip, &node, 1));
        if (gossip.members.count % 16 == 0)
            expect_indexes(&gossip);
    }
    assert_false(gossip_merge(&merged, &gossip, &other, 1000));
    expect_indexes(&merged);
    gossip_fini(&gossip);
    gossip_fini(&other);
    gossip_fini(&merged);
}

#define CROWD 120

/* Equal for equal seeds. */
static void make_crowd(struct gossip *gossip, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed);
    for (uint32_t i = 0; i < CROWD; i++) {
        struct profile *profile = test_profile(
            "host", 2551 + (uint32_t)rng_below(&rng, 9), 1 + i, NULL);

        (void)gossip_add(gossip, profile, MEMBER_UP, (int32_t)i + 1);
        if (rng_below(&rng, 3))
            clock_increment(&gossip->clock, &profile->key);
        profile_drop(profile);
    }
    for (uint32_t i = 0; i < 4 * CROWD; i++)
        (void)reachability_change(
            &gossip->reachability,
            gossip->members.items[rng_below(&rng, CROWD)].profile,
            gossip->members.items[rng_below(&rng, CROWD)].profile,
            rng_below(&rng, 4) ? UNREACHABLE : REACHABLE);
    for (uint32_t i = 0; i < 30; i++) {
        struct node_id node =
            test_node("host", 2551 + (uint32_t)rng_below(&rng, 9), 1000 + i);

        (void)gossip_add_tombstone(gossip, &node, 5);
    }
}

static void expect_equal(const struct gossip *one, const struct gossip *two)
{
    assert_true(gossip_valid(one));
    assert_int_equal(one->members.count, two->members.count);
    for (uint32_t i = 0; i < one->members.count; i++)
        assert_true(profile_same(one->members.items[i].profile, two->members.items[i].profile));
    assert_int_equal(one->tombstones.count, two->tombstones.count);
    for (uint32_t i = 0; i < one->tombstones.count; i++) {
        assert_true(node_equal(&one->tombstones.items[i].node,
                               &two->tombstones.items[i].node));
        assert_int_equal(one->tombstones.items[i].at_ms,
                         two->tombstones.items[i].at_ms);
    }
    assert_int_equal(clock_compare(&one->clock, &two->clock), CLOCK_SAME);
    assert_true(reachability_equal(&one->reachability, &two->reachability));
}

static void removing_many_equals_removing_each(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct gossip all = { 0 }, one = { 0 };
        struct node_id nodes[CROWD + 1];
        uint32_t count = 0, found = 0;
        struct rng rng;

        rng_init(&rng, seed);
        make_crowd(&all, seed);
        make_crowd(&one, seed);
        for (uint32_t i = 0; i < CROWD; i++)
            if (rng_below(&rng, 100) < seed * 2)
                nodes[count++] = profile_node(all.members.items[i].profile);
        nodes[count++] = test_node("nobody", 1, 1);
        for (uint32_t i = count; i-- > 0;)
            found += gossip_remove(&one, &nodes[i], 77);
        assert_int_equal(found, count - 1);
        assert_int_equal(gossip_remove_all(&all, nodes, count, 77), found);
        expect_equal(&all, &one);
        expect_indexes(&all);
        assert_int_equal(gossip_remove_all(&all, nodes, count, 78), 0);
        gossip_fini(&all);
        gossip_fini(&one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_gossip_converges_when_all_have_seen_it_MEM081_MEM082_MEM083_MEM084),
        cmocka_unit_test(
            only_reachable_members_that_stay_are_awaited_MEM085_MEM086_MEM089),
        cmocka_unit_test(the_first_reachable_member_leads_MEM095_MEM096_MEM107),
        cmocka_unit_test(
            another_data_center_neither_leads_nor_delays_convergence_MEM097_MEM101),
        cmocka_unit_test(
            unreachable_members_elsewhere_do_not_delay_MEM100_MEM104_MEM105_MEM108),
        cmocka_unit_test(observations_by_downed_members_do_not_count_MEM205),
        cmocka_unit_test(merge_prefers_the_further_status_MEM091_MEM092),
        cmocka_unit_test(a_member_that_left_while_joining_has_no_number),
        cmocka_unit_test(removed_member_stays_removed_MEM113),
        cmocka_unit_test(
            a_leaving_member_unknown_to_the_other_side_is_removed_MEM093),
        cmocka_unit_test(the_clock_forgets_replaced_members),
        cmocka_unit_test(merge_is_commutative_and_idempotent),
        cmocka_unit_test(one_version_is_one_value),
        cmocka_unit_test(a_status_takes_allowed_steps_only),
        cmocka_unit_test(the_two_oldest_are_those_with_the_lowest_up_numbers),
        cmocka_unit_test(
            members_are_ordered_by_address_MEM164_MEM165_MEM169_MEM170_MEM171),
        cmocka_unit_test(a_changed_member_keeps_its_place_MEM115_MEM168),
        cmocka_unit_test(leaders_follow_each_other_by_status),
        cmocka_unit_test(the_oldest_of_each_role_MEM174),
        cmocka_unit_test(gossip_is_faster_while_less_than_half_have_seen_it),
        cmocka_unit_test(the_member_that_is_not_down_is_found_at_an_address),
        cmocka_unit_test(members_are_found_by_their_profiles),
        cmocka_unit_test(removing_many_equals_removing_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
