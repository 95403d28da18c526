/* Tests whole clusters in the scenes of Akka's multi-node tests: nodes that join, leave, crash and
 * are cut off, one by one and several at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net.h"

#define CROWD 10

static bool command(struct net *net, uint32_t by, uint32_t which,
                    bool (*act)(struct member *member, uint64_t now,
                                const struct address *address,
                                struct outbox *outbox))
{
    struct address address = net_address(which);
    struct outbox outbox = { 0 };
    bool done = act(net->nodes[by].member, net->now, &address, &outbox);

    net_flush(net, by, &outbox);
    outbox_fini(&outbox);
    return done;
}

static bool leave(struct net *net, uint32_t which)
{
    return command(net, which, which, member_leave);
}

static bool down(struct net *net, uint32_t by, uint32_t which)
{
    return command(net, by, which, member_down);
}

static void join(struct net *net, uint32_t index, uint32_t seed)
{
    struct address address = net_address(seed);
    struct member_settings settings = { .seeds = &address, .seed_count = 1 };

    net_add(net, index, &settings);
    net_start(net, index);
}

static struct net *cluster_of(uint64_t seed, uint32_t count)
{
    struct net *net = net_new(seed);

    for (uint32_t i = 0; i < count; i++)
        net_add(net, i, NULL);
    for (uint32_t i = 0; i < count; i++)
        net_start(net, i);
    assert_true(net_converge(net, 60 * SECOND));
    net_run(net, 10 * SECOND); /* heartbeats: each node has met all others */
    return net;
}

/* Each living node sees the living ones, all up and reachable, with the first as their leader. */
static void check_members(const struct net *net, uint32_t count,
                          uint32_t leader)
{
    assert_true(net_is_converged(net));
    for (uint32_t i = 0; i < net->count; i++) {
        const struct member *member = net->nodes[i].member;

        if (net->nodes[i].is_dead || member_is_stopped(member))
            continue;
        assert_int_equal(member_count(member), count);
        assert_int_equal(member_self(member)->status, MEMBER_UP);
        assert_int_equal(member_leader(member)->profile->address->port,
                         2551 + leader);
        assert_int_equal(member_is_leader(member), i == leader);
    }
}

/* All others see that it is unreachable. */
static void check_unreachable(const struct net *net, uint32_t which)
{
    for (uint32_t i = 0; i < net->count; i++)
        if (i != which && !net->nodes[i].is_dead &&
            !member_is_stopped(net->nodes[i].member))
            assert_int_equal(net_told(net, i, MEMBER_NEWS_UNREACHABLE,
                                      (uint16_t)(2551 + which)),
                             1);
}

static void a_first_seed_is_up_alone_MEM062_MEM356_MEM391_OLD001(void **state)
{
    struct net *net = net_new(61);
    (void)state;

    net_add(net, 0, NULL);
    net_start(net, 0);
    assert_true(net_converge(net, 10 * SECOND));
    check_members(net, 1, 0);
    assert_true(member_is_converged(net->nodes[0].member));
    assert_int_equal(member_self(net->nodes[0].member)->up_number, 1);
    net_free(net);
}

/* They wait for a sixth. */
static void all_joiners_are_joining_in_order_OLD002_OLD003_OLD004(void **state)
{
    struct member_settings settings = { .min_members = 6 };
    struct net *net = net_new(79);
    (void)state;

    for (uint32_t i = 5; i-- > 0;)
        net_add(net, i, &settings);
    for (uint32_t i = 0; i < 5; i++) {
        net_start(net, i);
        net_run(net, 10 * SECOND);
        assert_int_equal(member_count(net->nodes[0].member), i + 1);
        for (uint32_t at = 0; at <= i; at++) {
            const struct member_view *view =
                member_at(net->nodes[0].member, at);

            assert_int_equal(view->status, MEMBER_JOINING);
            assert_int_equal(view->profile->address->port, 2551 + at);
        }
    }
    net_free(net);
}

static void a_second_node_comes_up_MEM311_MEM340_MEM344_MEM357(void **state)
{
    struct net *net = cluster_of(62, 1);
    (void)state;

    net_add(net, 1, NULL);
    net_start(net, 1);
    assert_true(net_converge(net, 20 * SECOND)); /* both are up, and seen */
    check_members(net, 2, 0);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(net_told(net, i, MEMBER_NEWS_MEMBER, 2552) > 0);
    net_free(net);
}

static void a_third_node_is_seen_by_all_MEM003_MEM272_MEM277_MEM312_MEM341(
    void **state)
{
    struct net *net = cluster_of(63, 2);
    (void)state;

    net_add(net, 2, NULL);
    net_start(net, 2);
    assert_true(net_converge(net, 20 * SECOND));
    check_members(net, 3, 0);
    net_free(net);
}

/* A member joins again: no news, and all stay. */
static void a_member_that_joins_again_changes_nothing_MEM345(void **state)
{
    struct net *net = cluster_of(64, 2);
    struct address first = net_address(0);
    struct outbox outbox = { 0 };
    uint32_t counts[2];
    (void)state;

    for (uint32_t i = 0; i < 2; i++)
        counts[i] = net->nodes[i].news.count;
    (void)member_join(net->nodes[1].member, net->now, 0, &first, &outbox);
    net_flush(net, 1, &outbox);
    net_run(net, 10 * SECOND);
    check_members(net, 2, 0);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(net->nodes[i].news.count, counts[i]);
    outbox_fini(&outbox);
    net_free(net);
}

static void the_last_node_is_a_cluster_of_one_MEM358(void **state)
{
    struct net *net = cluster_of(65, 2);
    (void)state;

    net_crash(net, 1);
    net_run(net, 10 * SECOND);
    check_unreachable(net, 1);
    assert_true(down(net, 0, 1));
    assert_true(net_converge(net, 10 * SECOND));
    check_members(net, 1, 0);
    net_free(net);
}

/* No change, and every member is available. */
static void a_healthy_cluster_is_calm_MEM258_MEM374_MEM383(void **state)
{
    struct net *net = cluster_of(66, 5);
    uint32_t counts[5];
    (void)state;

    for (uint32_t i = 0; i < 5; i++)
        counts[i] = net->nodes[i].news.count;
    net_run(net, 60 * SECOND);
    check_members(net, 5, 0);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(net->nodes[i].news.count, counts[i]);
    net_free(net);
}

/* A last one, then one in the middle. The leader downs them. */
static void the_leader_downs_a_crashed_node_MEM256_MEM260_MEM293_MEM294(
    void **state)
{
    static const uint32_t crashes[] = { 3, 1 };
    struct net *net = cluster_of(67, 4);
    (void)state;

    for (uint32_t i = 0; i < 2; i++) {
        net_crash(net, crashes[i]);
        net_run(net, 10 * SECOND);
        check_unreachable(net, crashes[i]);
        assert_true(down(net, 0, crashes[i]));
        assert_true(net_converge(net, 10 * SECOND));
        check_members(net, 3 - i, 0);
    }
    net_free(net);
}

/* The leader crashes, twice. */
static void the_next_address_leads_after_the_leader_MEM295_MEM296_MEM297(
    void **state)
{
    struct net *net = cluster_of(68, 4);
    (void)state;

    check_members(net, 4, 0);
    for (uint32_t leader = 0; leader < 2; leader++) {
        net_crash(net, leader);
        net_run(net, 10 * SECOND);
        check_unreachable(net, leader);
        assert_true(down(net, 3, leader));
        assert_true(net_converge(net, 10 * SECOND));
        check_members(net, 3 - leader, leader + 1);
    }
    net_free(net);
}

/* It is healthy, and another one downs it. */
static void a_downed_node_is_removed_and_stops_MEM337(void **state)
{
    struct net *net = cluster_of(69, 3);
    (void)state;

    assert_true(down(net, 0, 2));
    net_run(net, 20 * SECOND);
    assert_true(member_is_stopped(net->nodes[2].member));
    check_members(net, 2, 0);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(net_told(net, i, MEMBER_NEWS_REMOVED, 2553), 1);
    net_free(net);
}

static void a_node_leaves_by_exiting_MEM310_MEM338_MEM339(void **state)
{
    struct net *net = cluster_of(70, 3);
    (void)state;

    assert_true(leave(net, 2));
    assert_true(net_converge(net, 20 * SECOND));
    assert_true(member_is_stopped(net->nodes[2].member));
    check_members(net, 2, 0);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t exiting = 0, removed = 0;

        for (uint32_t k = 0; k < net->nodes[i].news.count; k++) {
            const struct net_news *news = &net->nodes[i].news.items[k];

            if (news->port != 2553)
                continue;
            exiting += news->kind == MEMBER_NEWS_MEMBER &&
                       news->status == MEMBER_EXITING;
            if (news->kind == MEMBER_NEWS_REMOVED) {
                assert_int_equal(exiting, 1); /* reported before */
                assert_int_equal(news->previous, MEMBER_EXITING);
                removed++;
            }
        }
        assert_int_equal(removed, 1);
    }
    net_free(net);
}

/* One node, then two of five. No node is downed. */
static void islands_heal_MEM307_MEM362_MEM384_MEM386_MEM387(void **state)
{
    struct net *net = cluster_of(71, 5);
    (void)state;

    check_members(net, 5, 0);
    for (uint32_t islanders = 1; islanders <= 2; islanders++) {
        for (uint32_t i = 0; i < islanders; i++)
            net->cut[4 - i] = true; /* from each other, too, if there are two */
        net_run(net, 20 * SECOND);
        for (uint32_t i = 0; i < 5; i++)
            for (uint32_t k = 0; k < 5; k++) {
                const struct member_view *view =
                    member_find(net->nodes[i].member,
                                &net->nodes[k].identity.node);

                assert_non_null(view);
                if (i == k || (i < 5 - islanders && k < 5 - islanders))
                    assert_true(view->reachable);
                else if (k >= 5 - islanders && i < 5 - islanders)
                    assert_false(view->reachable);
            }
        for (uint32_t i = 0; i < islanders; i++)
            net->cut[4 - i] = false;
        assert_true(net_converge(net, 60 * SECOND));
        check_members(net, 5, 0);
        net_run(net, 10 * SECOND);
    }
    net_free(net);
}

/* Then it joins again as another incarnation. */
static void a_node_that_was_cut_off_is_downed_MEM395_MEM396_MEM397(void **state)
{
    struct net *net = cluster_of(72, 4);
    (void)state;

    net->cut[3] = true;
    net_run(net, 20 * SECOND);
    check_unreachable(net, 3);
    assert_int_equal(
        member_leader(net->nodes[0].member)->profile->address->port, 2551);
    assert_true(down(net, 1, 3));
    net_run(net, 10 * SECOND);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(member_count(net->nodes[i].member), 3);
        assert_int_equal(net_told(net, i, MEMBER_NEWS_REMOVED, 2554), 1);
    }
    net_crash(net, 3);
    net->cut[3] = false;
    net_add(net, 3, NULL);
    net_start(net, 3);
    assert_true(net_converge(net, 60 * SECOND));
    check_members(net, 4, 0);
    net_free(net);
}

/* One by one, several through one node, and several through the seed nodes. */
static void nodes_join_in_every_way_MEM287_MEM368_MEM369_MEM370_MEM371(
    void **state)
{
    struct net *net = cluster_of(73, 2);
    (void)state;

    for (uint32_t i = 2; i < 5; i++) {
        net_add(net, i, NULL);
        net_start(net, i);
        assert_true(net_converge(net, 30 * SECOND));
        check_members(net, i + 1, 0);
    }
    for (uint32_t i = 5; i < 8; i++)
        join(net, i, 4);
    assert_true(net_converge(net, 30 * SECOND));
    for (uint32_t i = 8; i < CROWD; i++) {
        net_add(net, i, NULL);
        net_start(net, i);
    }
    assert_true(net_converge(net, 30 * SECOND));
    check_members(net, CROWD, 0);
    net_free(net);
}

/* From a large cluster and from a small one, then several at once. */
static void nodes_leave_in_every_way_MEM376_MEM378_MEM381(void **state)
{
    struct net *net = cluster_of(74, CROWD);
    (void)state;

    for (uint32_t i = CROWD - 1; i >= CROWD - 2; i--) {
        assert_true(leave(net, i));
        assert_true(net_converge(net, 30 * SECOND));
        check_members(net, i, 0);
    }
    for (uint32_t i = 3; i < 8; i++)
        assert_true(leave(net, i));
    net_run(net, 60 * SECOND);
    check_members(net, 3, 0);
    for (uint32_t i = 2; i >= 1; i--) {
        assert_true(leave(net, i));
        assert_true(net_converge(net, 30 * SECOND));
        check_members(net, i, 0);
    }
    net_free(net);
}

static void nodes_crash_one_by_one_MEM377_MEM380(void **state)
{
    struct net *net = cluster_of(75, 6);
    (void)state;

    for (uint32_t i = 5; i >= 1; i--) {
        net_crash(net, i);
        net_run(net, 15 * SECOND);
        check_unreachable(net, i);
        assert_true(down(net, 0, i));
        assert_true(net_converge(net, 20 * SECOND));
        check_members(net, i, 0);
    }
    net_free(net);
}

/* Three nodes stay while others come and go, also at the same address. */
static void stable_nodes_see_others_come_and_go_MEM335_MEM346(void **state)
{
    struct net *net = cluster_of(76, 3);
    (void)state;

    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t i = 3; i < 6; i++) {
            net_add(net, i, NULL);
            net_start(net, i);
        }
        assert_true(net_converge(net, 60 * SECOND));
        check_members(net, 6, 0);
        for (uint32_t i = 3; i < 6; i++)
            if (round % 2)
                assert_true(leave(net, i));
            else
                net_crash(net, i); /* its next incarnation replaces it */
        if (round % 2) {
            net_run(net, 60 * SECOND);
            check_members(net, 3, 0);
        }
    }
    net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_seed_is_up_alone_MEM062_MEM356_MEM391_OLD001),
        cmocka_unit_test(
            all_joiners_are_joining_in_order_OLD002_OLD003_OLD004),
        cmocka_unit_test(
            a_second_node_comes_up_MEM311_MEM340_MEM344_MEM357),
        cmocka_unit_test(
            a_third_node_is_seen_by_all_MEM003_MEM272_MEM277_MEM312_MEM341),
        cmocka_unit_test(a_member_that_joins_again_changes_nothing_MEM345),
        cmocka_unit_test(the_last_node_is_a_cluster_of_one_MEM358),
        cmocka_unit_test(a_healthy_cluster_is_calm_MEM258_MEM374_MEM383),
        cmocka_unit_test(
            the_leader_downs_a_crashed_node_MEM256_MEM260_MEM293_MEM294),
        cmocka_unit_test(
            the_next_address_leads_after_the_leader_MEM295_MEM296_MEM297),
        cmocka_unit_test(a_downed_node_is_removed_and_stops_MEM337),
        cmocka_unit_test(a_node_leaves_by_exiting_MEM310_MEM338_MEM339),
        cmocka_unit_test(
            islands_heal_MEM307_MEM362_MEM384_MEM386_MEM387),
        cmocka_unit_test(
            a_node_that_was_cut_off_is_downed_MEM395_MEM396_MEM397),
        cmocka_unit_test(
            nodes_join_in_every_way_MEM287_MEM368_MEM369_MEM370_MEM371),
        cmocka_unit_test(nodes_leave_in_every_way_MEM376_MEM378_MEM381),
        cmocka_unit_test(nodes_crash_one_by_one_MEM377_MEM380),
        cmocka_unit_test(stable_nodes_see_others_come_and_go_MEM335_MEM346),
    };

    return cmocka_run_group_tests_name("scenes", tests, NULL, NULL);
}
