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
struct search {
    struct net *net;
    uint32_t lists[8];
    bool is_away[8]; /* it never answers */
    uint32_t looks[8];
};

static void answer(struct search *search, uint32_t index)
{
    struct address list[8];
    struct outbox outbox = { 0 };
    uint32_t count = 0;

    search->looks[index]++;
    for (uint32_t i = 0; i < 8; i++)
        if (search->lists[index] >> i & 1)
            list[count++] = net_address(i);
    member_found(search->net->nodes[index].member, search->net->now, list,
                 count, &outbox);
    net_flush(search->net, index, &outbox);
    outbox_fini(&outbox);
}

static void run(struct search *search, uint64_t duration)
{
    struct net *net = search->net;
    uint64_t end = net->now + duration;

    while (net->now < end) {
        net_run(net, SLICE);
        for (uint32_t i = 0; i < net->count; i++)
            if (!search->is_away[i] && net->nodes[i].member &&
                member_wants_seeds(net->nodes[i].member))
                answer(search, i);
    }
}

static struct search started(uint64_t seed, uint32_t count, uint32_t list,
                             const struct member_settings *settings)
{
    struct search search = { .net = net_new(seed) };

    for (uint32_t i = 0; i < count; i++) {
        search.lists[i] = list;
        net_add(search.net, i, settings);
        net_start(search.net, i);
    }
    return search;
}

static bool is_in(const struct search *search, uint32_t index)
{
    return member_is_in(search->net->nodes[index].member);
}

static void nodes_that_start_at_once_form_one_cluster(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct search search = started(seed, 2, 3, &by_dns);

        run(&search, MARGIN - SECOND);
        assert_false(is_in(&search, 0));
        assert_false(is_in(&search, 1));
        run(&search, 20 * SECOND);
        if (!net_is_converged(search.net))
            fail_msg("seed %llu", (unsigned long long)seed);
        assert_int_equal(member_count(search.net->nodes[0].member), 2);
        net_free(search.net);
    }
}

/* The others are silent: the first founds only after seed-node-timeout, counted from the settled
 * list. */
static void the_first_node_waits_for_silent_nodes(void **state)
{
    struct search search = started(1, 1, 7, &by_dns);
    (void)state;

    run(&search, MARGIN + TIMEOUT - SECOND);
    assert_false(is_in(&search, 0));
    run(&search, 4 * SECOND);
    assert_true(is_in(&search, 0));
    net_free(search.net);
}

static void a_short_list_founds_no_cluster(void **state)
{
    struct search search = started(2, 1, 1, &by_dns);
    (void)state;

    run(&search, 300 * SECOND);
    assert_false(is_in(&search, 0));
    search.lists[0] = 3;
    run(&search, MARGIN + TIMEOUT + 3 * SECOND);
    assert_true(is_in(&search, 0));
    net_free(search.net);
}

/* Only the first founds, and only if it is in its own list. */
static void only_the_first_of_its_list_founds(void **state)
{
    struct search search = started(3, 3, 6, &by_dns);
    (void)state;

    search.lists[1] = 7;
    search.net->cut[0] = true; /* the others list 0 first, but do not reach it */
    search.lists[0] = 6;
    run(&search, 300 * SECOND);
    for (uint32_t i = 0; i < 2; i++)
        assert_false(is_in(&search, i));
    net_free(search.net);
}

static void a_node_that_is_not_listed_joins(void **state)
{
    struct search search = started(4, 3, 3, &by_dns);
    (void)state;

    run(&search, 30 * SECOND);
    assert_true(net_is_converged(search.net));
    assert_int_equal(member_count(search.net->nodes[2].member), 3);
    net_free(search.net);
}

/* No cluster is founded while lists change. */
static void a_list_that_changes_founds_nothing(void **state)
{
    struct search search = started(5, 2, 3, &by_dns);
    (void)state;

    for (uint32_t i = 0; i < 30; i++) {
        for (uint32_t j = 0; j < 2; j++)
            search.lists[j] = i % 2 ? 7 : 3;
        run(&search, MARGIN - SECOND);
        assert_false(is_in(&search, 0));
    }
    run(&search, 30 * SECOND);
    assert_true(net_is_converged(search.net));
    net_free(search.net);
}

/* Failed look-ups confirm nothing and become rarer. The known list stays. */
/* The file is written line by line while a cluster exists. At first it shows only the node
 * itself. */
static void a_list_that_is_being_written_founds_nothing(void **state)
{
    const struct member_settings by_file = { .finds_seeds = true,
                                             .stable_margin_ms = 1000 };
    struct search search = started(12, 1, 1, &by_file);
    (void)state;

    run(&search, 5 * SECOND);
    assert_true(is_in(&search, 0));
    search.lists[1] = 2;
    net_add(search.net, 1, &by_file);
    net_start(search.net, 1);
    run(&search, SECOND / 2);
    search.lists[1] = 3;
    run(&search, 20 * SECOND);
    assert_true(net_is_converged(search.net));
    assert_int_equal(member_count(search.net->nodes[1].member), 2);
    net_free(search.net);
}

static void failed_look_ups_confirm_nothing(void **state)
{
    struct search search = started(6, 2, 3, &by_dns);
    (void)state;

    run(&search, SECOND / 2);
    search.lists[0] = search.lists[1] = 0;
    search.looks[0] = 0;
    run(&search, 300 * SECOND);
    assert_false(is_in(&search, 0));
    assert_in_range(search.looks[0], 300 / 18 - 1, 300 / 15 + 6);
    /* as before; an hour between look-ups restarts nothing */
    search.lists[0] = search.lists[1] = 3;
    run(&search, 18 * SECOND + 10 * SECOND);
    assert_true(net_is_converged(search.net));
    net_free(search.net);
}

/* During a look-up that never ends, no node asks or founds anything. */
static void a_look_up_that_never_ends_founds_nothing(void **state)
{
    struct search search = started(7, 1, 1, &by_dns);
    (void)state;

    search.is_away[0] = true;
    run(&search, 300 * SECOND);
    assert_false(is_in(&search, 0));
    assert_true(member_wants_seeds(search.net->nodes[0].member));
    assert_false(member_wants_seeds(search.net->nodes[0].member));
    net_free(search.net);
}

/* Node 0 finds only itself for a time, as in a growing service. It must not found beside the
 * existing cluster. */
static void an_existing_cluster_is_joined(void **state)
{
    struct search search = started(8, 2, 6, &by_dns);
    (void)state;

    search.lists[0] = 1; /* itself */
    net_add(search.net, 2, &by_dns);
    net_start(search.net, 2);
    search.lists[2] = 6;
    run(&search, 60 * SECOND);
    assert_false(is_in(&search, 0));
    assert_true(is_in(&search, 1));
    search.lists[0] = 7; /* it would be the first */
    run(&search, 3 * SECOND);
    assert_true(is_in(&search, 0));
    assert_true(net_converge(search.net, 20 * SECOND));
    assert_int_equal(member_count(search.net->nodes[0].member), 3);
    net_free(search.net);
}

/* A node in no cluster says so while the list is new, but may be in one when it is settled. */
static void old_refusals_do_not_count(void **state)
{
    struct search search = started(9, 3, 7, &by_dns);
    (void)state;

    search.lists[1] = search.lists[2] = 6; /* another view: 1 is first */
    run(&search, SECOND);
    search.lists[0] = 3;
    run(&search, 60 * SECOND);
    assert_true(net_is_converged(search.net));
    assert_int_equal(member_count(search.net->nodes[0].member), 3);
    net_free(search.net);
}

static void new_clusters_may_be_forbidden(void **state)
{
    struct member_settings settings = by_dns;
    struct search search;
    (void)state;

    settings.founds_never = true;
    search = started(10, 2, 3, &settings);
    run(&search, 300 * SECOND);
    assert_false(is_in(&search, 0));
    net_add(search.net, 2, NULL);
    search.lists[0] = search.lists[1] = 7;
    assert_true(member_join(search.net->nodes[2].member, search.net->now, 0,
                            &search.net->nodes[2].identity.node.address,
                            &(struct outbox){ 0 })); /* founding sends nothing */
    run(&search, 60 * SECOND);
    assert_true(net_is_converged(search.net));
    net_free(search.net);
}

/* A list from a file: no margin, and one node is enough. */
static void a_single_listed_node_founds_at_once_without_a_margin(void **state)
{
    struct search search =
        started(11, 1, 1, &(struct member_settings){ .finds_seeds = true });
    (void)state;

    run(&search, SECOND);
    assert_true(is_in(&search, 0));
    search.looks[0] = 0;
    run(&search, 60 * SECOND);
    /* a member looks for nothing; one look-up may have been under way */
    assert_true(search.looks[0] <= 1);
    net_free(search.net);
}

static void a_node_that_gives_up_ends_its_look_ups(void **state)
{
    struct member_settings settings = by_dns;
    struct search search;
    (void)state;

    settings.join_give_up_ms = 30000;
    search = started(12, 1, 0, &settings);
    run(&search, 40 * SECOND);
    assert_int_equal(net_told(search.net, 0, MEMBER_NEWS_REFUSED, 0), 1);
    search.looks[0] = 0;
    run(&search, 300 * SECOND);
    assert_true(search.looks[0] <= 1);
    net_free(search.net);
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
