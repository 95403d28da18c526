/* Tests whole clusters whose members are cut off, fail one after another, or return. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net.h"

static struct net *converged(uint64_t seed, uint32_t count,
                             const struct member_settings *settings)
{
    struct net *net = net_new(seed);

    for (uint32_t i = 0; i < count; i++)
        net_add(net, i, settings);
    for (uint32_t i = 0; i < count; i++)
        net_start(net, i);
    assert_true(net_converge(net, 60 * SECOND));
    net_run(net, 10 * SECOND);
    return net;
}

static void down(struct net *net, uint32_t by, uint32_t index)
{
    struct address address = net_address(index);
    struct outbox outbox = { 0 };

    assert_true(
        member_down(net->nodes[by].member, net->now, &address, &outbox));
    net_flush(net, by, &outbox);
    outbox_fini(&outbox);
}

static uint32_t leader_port(const struct net *net, uint32_t index)
{
    return member_leader(net->nodes[index].member)->profile->address->port;
}

static void the_next_leads_when_the_leader_is_down(void **state)
{
    struct net *net = converged(31, 4, NULL);
    (void)state;

    for (uint32_t gone = 0; gone < 2; gone++) {
        for (uint32_t i = gone; i < 4; i++)
            assert_int_equal(leader_port(net, i), 2551 + gone);
        net_crash(net, gone);
        net_run(net, 10 * SECOND);
        down(net, gone + 1, gone);
        assert_true(net_converge(net, 20 * SECOND));
    }
    assert_int_equal(leader_port(net, 2), 2553);
    assert_int_equal(leader_port(net, 3), 2553);
    net_free(net);
}

/* Node 0 welcomes node 2 and ends before node 1 heard of node 2. */
static void a_joining_node_that_no_member_knows_asks_again(void **state)
{
    struct net *net = converged(34, 2, NULL);
    (void)state;

    net_add(net, 2, NULL);
    net_start(net, 2);
    net->deaf[1] = true;
    while (!net_told(net, 2, MEMBER_NEWS_WELCOME, 0))
        net_run(net, MS);
    net_crash(net, 0);
    net->deaf[1] = false;
    net_run(net, 10 * SECOND);
    assert_int_equal(net_told(net, 1, MEMBER_NEWS_MEMBER, 2553), 0);
    down(net, 1, 0);
    assert_true(net_converge(net, 30 * SECOND));
    assert_int_equal(net_told(net, 2, MEMBER_NEWS_SELF_UP, 0), 1);
    net_free(net);
}

static void two_islands_heal(void **state)
{
    struct net *net = converged(32, 5, NULL);
    (void)state;

    net->cut[3] = net->cut[4] = true;
    net_run(net, 20 * SECOND);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(net_told(net, i, MEMBER_NEWS_UNREACHABLE, 0),
                         i < 3 ? 2 : 3);
        assert_int_equal(net_told(net, i, MEMBER_NEWS_REMOVED, 0), 0);
        assert_int_equal(leader_port(net, i), i < 3 ? 2551 : 2554);
        assert_false(member_is_converged(net->nodes[i].member));
    }
    net->cut[3] = net->cut[4] = false;
    assert_true(net_converge(net, 30 * SECOND));
    /* For a time a member may get the other side's observations of its own side. */
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t back = net_told(net, i, MEMBER_NEWS_REACHABLE, 0);

        assert_in_range(back, i < 3 ? 2 : 3, 4);
        assert_int_equal(net_told(net, i, MEMBER_NEWS_UNREACHABLE, 0), back);
        assert_int_equal(net_told(net, i, MEMBER_NEWS_REMOVED, 0), 0);
    }
    net_free(net);
}

static void islands_that_downed_each_other_stay_apart(void **state)
{
    struct net *net = converged(33, 4, NULL);
    (void)state;

    net->cut[2] = net->cut[3] = true;
    net_run(net, 15 * SECOND);
    for (uint32_t i = 0; i < 4; i++)
        down(net, i < 2 ? 2 : 0, i);
    net_run(net, 15 * SECOND);
    net->cut[2] = net->cut[3] = false;
    net_run(net, 30 * SECOND);
    for (uint32_t i = 0; i < 4; i++) {
        const struct member *member = net->nodes[i].member;

        assert_true(member_is_in(member));
        assert_true(member_is_converged(member));
        assert_int_equal(member_count(member), 2);
        assert_int_equal(leader_port(net, i), i < 2 ? 2551 : 2553);
    }
    net_free(net);
}

static void a_downed_node_joins_again_as_another_MEM360(void **state)
{
    struct net *net = converged(34, 4, NULL);
    (void)state;

    net->cut[2] = true;
    net_run(net, 15 * SECOND);
    assert_int_equal(net_told(net, 3, MEMBER_NEWS_UNREACHABLE, 2553), 1);
    assert_int_equal(leader_port(net, 0), 2551);
    down(net, 3, 2);
    net_run(net, 5 * SECOND);
    net->cut[2] = false; /* it does not know; all ignore it */
    net_run(net, 20 * SECOND);
    for (uint32_t i = 0; i < 4; i++)
        if (i != 2)
            assert_int_equal(member_count(net->nodes[i].member), 3);
    net_crash(net, 2);
    net_add(net, 2, NULL);
    net_start(net, 2);
    assert_true(net_converge(net, 30 * SECOND));
    assert_int_equal(net_told(net, 3, MEMBER_NEWS_REMOVED, 2553), 1);
    net_free(net);
}

static void two_monitors_for_each_are_enough_MEM291(void **state)
{
    static const struct member_settings settings = { .monitored_by = 2 };
    struct net *net = converged(35, 6, &settings);
    (void)state;

    net_crash(net, 4);
    net_run(net, 15 * SECOND);
    for (uint32_t i = 0; i < 6; i++)
        if (i != 4)
            assert_int_equal(net_told(net, i, MEMBER_NEWS_UNREACHABLE, 2555),
                             1);
    for (uint32_t i = 1; i < 6; i++)
        net_crash(net, i);
    net_run(net, 60 * SECOND); /* one after another becomes monitored */
    assert_int_equal(net_told(net, 0, MEMBER_NEWS_UNREACHABLE, 0), 5);
    for (uint32_t i = 1; i < 6; i++)
        down(net, 0, i);
    net_run(net, 5 * SECOND);
    assert_int_equal(member_count(net->nodes[0].member), 1);
    assert_true(member_is_converged(net->nodes[0].member));
    net_free(net);
}

#define CONFIG(provider)                                                       \
    "{\"akka\":{\"version\":\"2.6.21\",\"cluster\":{\"downing-provider-class"  \
    "\":\"" provider "\"}}}"

/* The nodes of a data center need one journal, those of different ones do not. */
static void a_node_with_another_journal_is_refused(void **state)
{
    struct member_settings settings = { .config = CONFIG("x"), .store = "ab-1" };
    struct net *net = converged(37, 2, &settings);
    (void)state;

    settings.store = "ab-2";
    net_add(net, 2, &settings);
    net_start(net, 2);
    net_run(net, 30 * SECOND);
    assert_int_equal(net_told(net, 2, MEMBER_NEWS_REFUSED, 0), 1);
    assert_int_equal(member_count(net->nodes[0].member), 2);
    settings.store = NULL; /* it has no journal, or does not tell it */
    net_add(net, 2, &settings);
    net_start(net, 2);
    assert_true(net_converge(net, 60 * SECOND));
    settings.store = "ab-2";
    settings.data_center = "b\"l\\ue";
    net_add(net, 3, &settings);
    net_start(net, 3);
    assert_true(net_converge(net, 60 * SECOND));
    net_free(net);
}

/* Nor may it found a cluster of its own. */
static void a_first_seed_with_another_configuration_stays_out_MEM150_MEM151_MEM155(
    void **state)
{
    struct member_settings settings = { .config = CONFIG("x") };
    struct net *net = converged(36, 3, &settings);
    (void)state;

    net_crash(net, 0);
    net_run(net, 10 * SECOND);
    down(net, 1, 0);
    assert_true(net_converge(net, 20 * SECOND));
    settings.config = CONFIG("y");
    net_add(net, 0, &settings);
    net_start(net, 0);
    net_run(net, 30 * SECOND);
    assert_int_equal(net_told(net, 0, MEMBER_NEWS_REFUSED, 0), 1);
    assert_false(member_is_in(net->nodes[0].member));
    assert_int_equal(member_count(net->nodes[1].member), 2);
    settings.accept_incompatible = true; /* unless it joins anyway */
    net_add(net, 0, &settings);
    net_start(net, 0);
    assert_true(net_converge(net, 30 * SECOND));
    settings.accept_incompatible = false;
    settings.config = CONFIG("x");
    net_crash(net, 0);
    net_run(net, 1 * SECOND);
    net_add(net, 0, &settings);
    net_start(net, 0);
    assert_true(net_converge(net, 60 * SECOND));
    net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_leads_when_the_leader_is_down),
        cmocka_unit_test(a_joining_node_that_no_member_knows_asks_again),
        cmocka_unit_test(two_islands_heal),
        cmocka_unit_test(islands_that_downed_each_other_stay_apart),
        cmocka_unit_test(a_downed_node_joins_again_as_another_MEM360),
        cmocka_unit_test(two_monitors_for_each_are_enough_MEM291),
        cmocka_unit_test(
            a_first_seed_with_another_configuration_stays_out_MEM150_MEM151_MEM155),
        cmocka_unit_test(a_node_with_another_journal_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
