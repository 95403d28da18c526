/* Tests check_split: a cut is judged by what the strategy promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/timers.h"
#include "sim/check/check_convergence.h"
#include "sim/check/check_split.h"
#include "sim/check/checks.h"
#include "sim/run/cluster.h"
#include "sim/seed/options.h"
#include "sim/world/verdict.h"
#include "sim/world/world.h"

#define NODES 4

static void set_life(void *user, struct node_settings *settings)
{
    options_settings(user, settings);
}

static bool agree(struct world *world, void *arg)
{
    uint32_t first = 0;
    char text[200];

    (void)arg;
    return quiet_converged(world, &first, text, sizeof text);
}

static bool is_equal(const struct split *split)
{
    return split->count[SPLIT_LEFT] == split->count[SPLIT_RIGHT];
}

/* Cuts a cluster with that resolver into two parts. Returns how many rules are broken for the
 * expected strategy. */
static uint32_t cut(enum sim_resolver resolver, bool into_equals,
                    enum strategy_kind expected)
{
    struct world_settings settings = { .seed = 1 };
    struct cluster cluster = { .nodes = NODES, .settings = set_life };
    struct options options;
    struct split split;
    struct rng rng;
    uint32_t found;

    options_default(&options, 1);
    options.value[OPTION_NODES] = NODES;
    options.value[OPTION_RESOLVER] = resolver;
    cluster.world = world_new(&settings);
    cluster.checks = checks_new(cluster.world, 0);
    cluster.user = &options;
    cluster.resolves = true;
    cluster_init(&cluster);
    cluster_form(&cluster);
    assert_true(world_until(cluster.world, agree, NULL, 60 * SECOND));
    rng_init(&rng, 1);
    split_draw(&split, cluster.world, NODES, &rng);
    while (is_equal(&split) != into_equals) {
        split_fini(&split);
        split_draw(&split, cluster.world, NODES, &rng);
    }
    split.heard = quiet_hear_bound(&options);
    split_cut(&split, cluster.world, true);
    world_run(cluster.world, quiet_split_bound(&options));
    assert_int_equal(verdict_count(world_verdict(cluster.world)), 0);
    split_judge(&split, cluster.world, world_verdict(cluster.world), expected);
    found = verdict_count(world_verdict(cluster.world));
    split_fini(&split);
    world_free(cluster.world);
    checks_free(cluster.checks);
    cluster_fini(&cluster);
    return found;
}

static void a_side_with_a_quorum_stays(void **state)
{
    (void)state;
    assert_int_equal(cut(RESOLVER_QUORUM, false, STRATEGY_STATIC_QUORUM), 0);
}

static void no_side_stays_without_a_quorum(void **state)
{
    (void)state;
    assert_int_equal(cut(RESOLVER_QUORUM, true, STRATEGY_STATIC_QUORUM), 0);
    assert_int_equal(cut(RESOLVER_MAJORITY, true, STRATEGY_STATIC_QUORUM), 1);
}

static void a_quorum_that_ends_is_found(void **state)
{
    (void)state;
    assert_int_equal(cut(RESOLVER_ALL, false, STRATEGY_STATIC_QUORUM), 1);
}

static void down_all_keeps_no_side(void **state)
{
    (void)state;
    assert_int_equal(cut(RESOLVER_ALL, false, STRATEGY_DOWN_ALL), 0);
    assert_int_equal(cut(RESOLVER_QUORUM, false, STRATEGY_DOWN_ALL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_side_with_a_quorum_stays),
        cmocka_unit_test(no_side_stays_without_a_quorum),
        cmocka_unit_test(a_quorum_that_ends_is_found),
        cmocka_unit_test(down_all_keeps_no_side),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
