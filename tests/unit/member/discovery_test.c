/* Tests found seed nodes: lists that grow, differ and vanish must lead to one cluster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "net.h"

#define MARGIN (5 * SECOND)
#define TIMEOUT (5 * SECOND) /* seed-node-timeout */
#define SLICE (50 * MS)

static const struct member_settings by_dns = {
    .finds_seeds = true, .required_seeds = 2, .stable_margin_ms = 5000
};

/* The list that each node finds: a bit for each node in it; zero: a failed look-up. */
struct finder {
    struct net *net;
    uint32_t lists[8];
    bool is_away[8]; /* it never answers */
    uint32_t looks[8];
};

static void answer(struct finder *finder, uint32_t index)
{
    struct address list[8];
    struct outbox outbox = { 0 };
    uint32_t count = 0;

    finder->looks[index]++;
    for (uint32_t i = 0; i < 8; i++)
        if (finder->lists[index] >> i & 1)
            list[count++] = net_address(i);
    member_found(finder->net->nodes[index].member, finder->net->now, list,
                 count, &outbox);
    net_flush(finder->net, index, &outbox);
    outbox_fini(&outbox);
}

static void run(struct finder *finder, uint64_t duration)
{
    struct net *net = finder->net;
    uint64_t end = net->now + duration;

    while (net->now < end) {
        net_run(net, SLICE);
        for (uint32_t i = 0; i < net->count; i++)
            if (!finder->is_away[i] && net->nodes[i].member &&
                member_wants_seeds(net->nodes[i].member))
                answer(finder, i);
    }
}

static struct finder started(uint64_t seed, uint32_t count, uint32_t list,
                             const struct member_settings *settings)
{
    struct finder finder = { .net = net_new(seed) };

    for (uint32_t i = 0; i < count; i++) {
        finder.lists[i] = list;
        net_add(finder.net, i, settings);
        net_start(finder.net, i);
    }
    return finder;
}

static bool is_in(const struct finder *finder, uint32_t index)
{
    return member_is_in(finder->net->nodes[index].member);
}

static void nodes_that_start_at_once_form_one_cluster(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct finder finder = started(seed, 2, 3, &by_dns);

        run(&finder, MARGIN - SECOND);
        assert_false(is_in(&finder, 0));
        assert_false(is_in(&finder, 1));
        run(&finder, 20 * SECOND);
        if (!net_is_converged(finder.net))
            fail_msg("seed %llu", (unsigned long long)seed);
        assert_int_equal(member_count(finder.net->nodes[0].member), 2);
        net_free(finder.net);
    }
}

/* The others are silent: the first founds only after seed-node-timeout, counted from the settled
 * list. */
static void the_first_node_waits_for_silent_nodes(void **state)
{
    struct finder finder = started(1, 1, 7, &by_dns);
    (void)state;

    run(&finder, MARGIN + TIMEOUT - SECOND);
    assert_false(is_in(&finder, 0));
    run(&finder, 4 * SECOND);
    assert_true(is_in(&finder, 0));
    net_free(finder.net);
}

static void a_short_list_founds_no_cluster(void **state)
{
    struct finder finder = started(2, 1, 1, &by_dns);
    (void)state;

    run(&finder, 300 * SECOND);
    assert_false(is_in(&finder, 0));
    finder.lists[0] = 3;
    run(&finder, MARGIN + TIMEOUT + 3 * SECOND);
    assert_true(is_in(&finder, 0));
    net_free(finder.net);
}

/* Only the first founds, and only if it is in its own list. */
static void only_the_first_of_its_list_founds(void **state)
{
    struct finder finder = started(3, 3, 6, &by_dns);
    (void)state;

    finder.lists[1] = 7;
    finder.net->cut[0] = true; /* the others list 0 first, but do not reach it */
    finder.lists[0] = 6;
    run(&finder, 300 * SECOND);
    for (uint32_t i = 0; i < 2; i++)
        assert_false(is_in(&finder, i));
    net_free(finder.net);
}

static void a_node_that_is_not_listed_joins(void **state)
{
    struct finder finder = started(4, 3, 3, &by_dns);
    (void)state;

    run(&finder, 30 * SECOND);
    assert_true(net_is_converged(finder.net));
    assert_int_equal(member_count(finder.net->nodes[2].member), 3);
    net_free(finder.net);
}

/* No cluster is founded while lists change. */
static void a_list_that_changes_founds_nothing(void **state)
{
    struct finder finder = started(5, 2, 3, &by_dns);
    (void)state;

    for (uint32_t i = 0; i < 30; i++) {
        for (uint32_t j = 0; j < 2; j++)
            finder.lists[j] = i % 2 ? 7 : 3;
        run(&finder, MARGIN - SECOND);
        assert_false(is_in(&finder, 0));
    }
    run(&finder, 30 * SECOND);
    assert_true(net_is_converged(finder.net));
    net_free(finder.net);
}

/* Failed look-ups confirm nothing and become rarer. The known list stays. */
/* The file is written line by line while a cluster exists. At first it shows only the node
 * itself. */
static void a_list_that_is_being_written_founds_nothing(void **state)
{
    const struct member_settings by_file = { .finds_seeds = true,
                                             .stable_margin_ms = 1000 };
    struct finder finder = started(12, 1, 1, &by_file);
    (void)state;

    run(&finder, 5 * SECOND);
    assert_true(is_in(&finder, 0));
    finder.lists[1] = 2;
    net_add(finder.net, 1, &by_file);
    net_start(finder.net, 1);
    run(&finder, SECOND / 2);
    finder.lists[1] = 3;
    run(&finder, 20 * SECOND);
    assert_true(net_is_converged(finder.net));
    assert_int_equal(member_count(finder.net->nodes[1].member), 2);
    net_free(finder.net);
}

static void failed_look_ups_confirm_nothing(void **state)
{
    struct finder finder = started(6, 2, 3, &by_dns);
    (void)state;

    run(&finder, SECOND / 2);
    finder.lists[0] = finder.lists[1] = 0;
    finder.looks[0] = 0;
    run(&finder, 300 * SECOND);
    assert_false(is_in(&finder, 0));
    assert_in_range(finder.looks[0], 300 / 18 - 1, 300 / 15 + 6);
    /* as before; an hour between look-ups restarts nothing */
    finder.lists[0] = finder.lists[1] = 3;
    run(&finder, 18 * SECOND + 10 * SECOND);
    assert_true(net_is_converged(finder.net));
    net_free(finder.net);
}

/* During a look-up that never ends, no node asks or founds anything. */
static void a_look_up_that_never_ends_founds_nothing(void **state)
{
    struct finder finder = started(7, 1, 1, &by_dns);
    (void)state;

    finder.is_away[0] = true;
    run(&finder, 300 * SECOND);
    assert_false(is_in(&finder, 0));
    assert_true(member_wants_seeds(finder.net->nodes[0].member));
    assert_false(member_wants_seeds(finder.net->nodes[0].member));
    net_free(finder.net);
}

/* Node 0 finds only itself for a time, as in a growing service. It must not found beside the
 * existing cluster. */
static void an_existing_cluster_is_joined(void **state)
{
    struct finder finder = started(8, 2, 6, &by_dns);
    (void)state;

    finder.lists[0] = 1; /* itself */
    net_add(finder.net, 2, &by_dns);
    net_start(finder.net, 2);
    finder.lists[2] = 6;
    run(&finder, 60 * SECOND);
    assert_false(is_in(&finder, 0));
    assert_true(is_in(&finder, 1));
    finder.lists[0] = 7; /* it would be the first */
    run(&finder, 3 * SECOND);
    assert_true(is_in(&finder, 0));
    assert_true(net_converge(finder.net, 20 * SECOND));
    assert_int_equal(member_count(finder.net->nodes[0].member), 3);
    net_free(finder.net);
}

/* A node in no cluster says so while the list is new, but may be in one when it is settled. */
static void old_refusals_do_not_count(void **state)
{
    struct finder finder = started(9, 3, 7, &by_dns);
    (void)state;

    finder.lists[1] = finder.lists[2] = 6; /* another view: 1 is first */
    run(&finder, SECOND);
    finder.lists[0] = 3;
    run(&finder, 60 * SECOND);
    assert_true(net_is_converged(finder.net));
    assert_int_equal(member_count(finder.net->nodes[0].member), 3);
    net_free(finder.net);
}

static void new_clusters_may_be_forbidden(void **state)
{
    struct member_settings settings = by_dns;
    struct finder finder;
    (void)state;

    settings.founds_never = true;
    finder = started(10, 2, 3, &settings);
    run(&finder, 300 * SECOND);
    assert_false(is_in(&finder, 0));
    net_add(finder.net, 2, NULL);
    finder.lists[0] = finder.lists[1] = 7;
    assert_true(member_join(finder.net->nodes[2].member, finder.net->now, 0,
                            &finder.net->nodes[2].identity.node.address,
                            &(struct outbox){ 0 })); /* founding sends nothing */
    run(&finder, 60 * SECOND);
    assert_true(net_is_converged(finder.net));
    net_free(finder.net);
}

/* A list from a file: no margin, and one node is enough. */
static void a_single_listed_node_founds_at_once_without_a_margin(void **state)
{
    struct finder finder =
        started(11, 1, 1, &(struct member_settings){ .finds_seeds = true });
    (void)state;

    run(&finder, SECOND);
    assert_true(is_in(&finder, 0));
    finder.looks[0] = 0;
    run(&finder, 60 * SECOND);
    /* a member looks for nothing; one look-up may have been under way */
    assert_true(finder.looks[0] <= 1);
    net_free(finder.net);
}

static void a_node_that_gives_up_ends_its_look_ups(void **state)
{
    struct member_settings settings = by_dns;
    struct finder finder;
    (void)state;

    settings.join_give_up_ms = 30000;
    finder = started(12, 1, 0, &settings);
    run(&finder, 40 * SECOND);
    assert_int_equal(net_told(finder.net, 0, MEMBER_NEWS_REFUSED, 0), 1);
    finder.looks[0] = 0;
    run(&finder, 300 * SECOND);
    assert_true(finder.looks[0] <= 1);
    net_free(finder.net);
}

static void seeds_are_given_or_found(void **state)
{
    struct address seed = net_address(0);
    struct member_settings settings = { .finds_seeds = true,
                                        .seeds = &seed,
                                        .seed_count = 1 };
    char text[128];
    (void)state;

    assert_false(member_settings_valid(&settings, text, sizeof text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_that_start_at_once_form_one_cluster),
        cmocka_unit_test(the_first_node_waits_for_silent_nodes),
        cmocka_unit_test(a_short_list_founds_no_cluster),
        cmocka_unit_test(only_the_first_of_its_list_founds),
        cmocka_unit_test(a_node_that_is_not_listed_joins),
        cmocka_unit_test(a_list_that_changes_founds_nothing),
        cmocka_unit_test(a_list_that_is_being_written_founds_nothing),
        cmocka_unit_test(failed_look_ups_confirm_nothing),
        cmocka_unit_test(a_look_up_that_never_ends_founds_nothing),
        cmocka_unit_test(an_existing_cluster_is_joined),
        cmocka_unit_test(old_refusals_do_not_count),
        cmocka_unit_test(new_clusters_may_be_forbidden),
        cmocka_unit_test(a_single_listed_node_founds_at_once_without_a_margin),
        cmocka_unit_test(a_node_that_gives_up_ends_its_look_ups),
        cmocka_unit_test(seeds_are_given_or_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
