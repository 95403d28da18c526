/* Whole clusters of membership cores: joining, crash and downing, leaving, loss and reordering, restarts, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "net.h"

static struct net *started(uint64_t seed, uint32_t count)
{
    struct net *net = net_new(seed);

    for (uint32_t i = 0; i < count; i++)
        net_add(net, i, NULL);
    for (uint32_t i = 0; i < count; i++)
        net_start(net, i);
    return net;
}

static void five_nodes_converge(void **state)
{
    struct net *net = started(1, 5);
    const struct member *first = net->nodes[0].member;
    (void)state;

    assert_true(net_converge(net, 30 * SECOND));
    for (uint32_t i = 0; i < 5; i++) {
        const struct member *member = net->nodes[i].member;

        assert_int_equal(net_told(net, i, MEMBER_NEWS_WELCOME, 0), 1);
        assert_int_equal(net_told(net, i, MEMBER_NEWS_SELF_UP, 0), 1);
        assert_int_equal(member_leader(member)->node.address.port, 2551);
        assert_int_equal(member_is_leader(member), i == 0);
        assert_true(member_is_converged(member));
        assert_int_equal(member_oldest(member, NULL)->node.address.port, 2551);
    }
    /* The first is number 1; the others follow in the order of addresses per change. */
    assert_int_equal(member_at(first, 0)->up_number, 1);
    net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_nodes_converge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
