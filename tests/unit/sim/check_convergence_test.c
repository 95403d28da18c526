/* Tests check_convergence: how long agreement may take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/timers.h"
#include "sim/check/check_convergence.h"
#include "sim/check/checks.h"
#include "sim/run/cluster.h"
#include "sim/world/world.h"

#define NODES 14

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

/* Each node monitors only the next one in the ring, so a dead one after a dead one is watched
 * later. */
static void dead_nodes_are_detected_one_after_the_other(void **state)
{
    struct world_settings settings = { .seed = 1 };
    struct options options;
    struct cluster cluster = { .nodes = NODES, .settings = set_life };
    uint64_t begin, took;

    (void)state;
    options_default(&options, 1);
    options.value[OPTION_NODES] = NODES;
    options.value[OPTION_MONITORED_BY] = 1;
    options.value[OPTION_PAUSE] = 20000;
    options.value[OPTION_GIVE_UP] = 15;
    cluster.world = world_new(&settings);
    cluster.checks = checks_new(cluster.world, 0);
    cluster.user = &options;
    cluster_init(&cluster);
    cluster_form(&cluster);
    assert_true(world_until(cluster.world, agree, NULL, 60 * SECOND));
    for (uint32_t i = 2; i < NODES; i++)
        world_crash_as(cluster.world, i, WORLD_KILLED);
    for (uint32_t i = 2; i < NODES; i++)
        cluster_down(&cluster, 0, i);
    begin = world_now(cluster.world);
    assert_true(world_until(cluster.world, agree, NULL, 3600 * SECOND));
    took = world_now(cluster.world) - begin;
    assert_true(took > quiet_agree_bound(&options));
    assert_true(took < quiet_bury_bound(&options));
    world_free(cluster.world);
    checks_free(cluster.checks);
    cluster_fini(&cluster);
}

/* With defaults and 1 ms each way there is no other reason to wait. */
static void bounds_follow_from_the_settings(void **state)
{
    struct options options;
    uint64_t agree, coordinate, answer;

    (void)state;
    options_default(&options, 1);
    agree = quiet_agree_bound(&options);
    coordinate = quiet_coordinate_bound(&options);
    answer = quiet_answer_bound(&options);
    assert_true(agree > 10 * SECOND && agree < 120 * SECOND);
    assert_true(coordinate > 5 * SECOND && coordinate < 25 * SECOND);
    assert_true(answer > 5 * SECOND && answer < 120 * SECOND);
    options.value[OPTION_GIVE_UP] = 924; /* no reason to wait */
    assert_true(quiet_agree_bound(&options) == agree);
    options.value[OPTION_RESOLVER] = RESOLVER_MAJORITY;
    options.value[OPTION_STABLE] = 20000;
    options.value[OPTION_MARGIN] = 400;
    assert_true(quiet_coordinate_bound(&options) ==
                coordinate + 80 * SECOND);
    assert_true(quiet_resolve_bound(&options) == 22 * SECOND);
    options.value[OPTION_PIPE] = 4096; /* the messages about a thousand shards do not fit */
    options.value[OPTION_LINK_MEAN] = 100000;
    options.value[OPTION_SHARDS] = options.value[OPTION_ENTITIES] = 1000;
    assert_true(quiet_coordinate_bound(&options) >
                coordinate + 180 * SECOND);
    assert_true(quiet_answer_bound(&options) > answer + 100 * SECOND);
}

/* Only a moving shard ends it earlier, and messages for it wait. */
static void a_passivated_entity_has_its_full_time(void **state)
{
    struct options options;
    uint64_t answer;

    (void)state;
    options_default(&options, 1);
    options.value[OPTION_HANDOFF] = 1000;
    answer = quiet_answer_bound(&options);
    options.value[OPTION_STUBBORN] = 100000;
    assert_true(quiet_answer_bound(&options) >= answer + 100 * SECOND);
}

/* Each may be for an entity that recovers first, with two requests. */
static void slow_stores_have_time_for_open_messages(void **state)
{
    struct options options;

    (void)state;
    options_default(&options, 1);
    options.value[OPTION_STORE] = 1000000;
    assert_int_equal(quiet_recover_bound(&options, 0), 0);
    options.value[OPTION_LANES] = 1;
    options.value[OPTION_RECOVERIES] = 1000;
    assert_true(quiet_recover_bound(&options, 40 * JOURNAL_REPLAYS_MAX) ==
                80 * SECOND);
    options.value[OPTION_LANES] = 4;
    options.value[OPTION_RECOVERIES] = 20;
    assert_true(quiet_recover_bound(&options, 40 * 5) == 80 * SECOND);
    options.value[OPTION_STORE] = 100;
    assert_true(quiet_recover_bound(&options, 40 * JOURNAL_REPLAYS_MAX) <
                SECOND);
}

static void a_slow_lease_needs_patience(void **state)
{
    struct options options;

    (void)state;
    options_default(&options, 1);
    options.value[OPTION_RESOLVER] = RESOLVER_LEASE;
    options.value[OPTION_STABLE] = 20000;
    options.value[OPTION_UNSTABLE] = 75;
    options.value[OPTION_STORE] = 1000000;
    assert_true(quiet_is_patient(&options));
    options.value[OPTION_STABLE] = 5000;
    assert_false(quiet_is_patient(&options));
    options.value[OPTION_STORE] = 1000;
    options.value[OPTION_GOSSIP] = 100;
    assert_true(quiet_is_patient(&options));
    options.value[OPTION_REAPER] = 3000;
    options.value[OPTION_GOSSIP] = 200;
    assert_false(quiet_is_patient(&options));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_follow_from_the_settings),
        cmocka_unit_test(a_passivated_entity_has_its_full_time),
        cmocka_unit_test(slow_stores_have_time_for_open_messages),
        cmocka_unit_test(a_slow_lease_needs_patience),
        cmocka_unit_test(dead_nodes_are_detected_one_after_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
