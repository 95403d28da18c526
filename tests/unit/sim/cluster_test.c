/* Tests which nodes count as part of the cluster after the faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/timers.h"
#include "sim/check/check_convergence.h"
#include "sim/check/checks.h"
#include "sim/run/cluster.h"
#include "sim/world/net.h"
#include "sim/world/world.h"

static void set_life(void *user, struct node_settings *settings)
{
    (void)user;
    settings->lanes = 1;
}

static bool one_is_alone(struct world *world, void *arg)
{
    struct sherd_status status = world_status(world, 1);
    bool alone = status.member_count == 1;

    (void)arg;
    world_status_fini(&status);
    return alone;
}

/* A node was paused when it was downed. All nodes that know of it have ended when it resumes, so it
 * considers itself a member. */
static void a_member_unaware_of_its_downing_is_crashed(void **state)
{
    struct world_settings settings = { .seed = 1 };
    struct cluster cluster = { .nodes = 2, .settings = set_life };

    (void)state;
    cluster.world = world_new(&settings);
    cluster.checks = checks_new(cluster.world, 0);
    cluster_init(&cluster);
    cluster_form(&cluster);
    assert_true(world_until(cluster.world, world_all_up, NULL, 60 * SECOND));
    world_pause(cluster.world, 0, true);
    net_part(cluster.world, 0, 1, true); /* otherwise it learns of it from its sockets */
    cluster_down(&cluster, 1, 0);
    assert_true(world_until(cluster.world, one_is_alone, NULL, 60 * SECOND));
    world_crash_as(cluster.world, 1, WORLD_DARK);
    world_pause(cluster.world, 0, false);
    world_run(cluster.world, 60 * SECOND);
    assert_true(cluster_lives(&cluster, 0));
    assert_true(world_node(cluster.world, 0)->is_up);
    cluster_crash_outsiders(&cluster);
    assert_false(cluster_lives(&cluster, 0));
    world_free(cluster.world);
    checks_free(cluster.checks);
    cluster_fini(&cluster);
}

static void members_are_not_crashed(void **state)
{
    struct world_settings settings = { .seed = 2 };
    struct cluster cluster = { .nodes = 2, .settings = set_life };

    (void)state;
    cluster.world = world_new(&settings);
    cluster.checks = checks_new(cluster.world, 0);
    cluster_init(&cluster);
    cluster_form(&cluster);
    assert_true(world_until(cluster.world, world_all_up, NULL, 60 * SECOND));
    cluster_crash_outsiders(&cluster);
    assert_true(cluster_lives(&cluster, 0) && cluster_lives(&cluster, 1));
    world_free(cluster.world);
    checks_free(cluster.checks);
    cluster_fini(&cluster);
}

/* All nodes see each other as up, in one cluster. */
static void expect_one(struct cluster *cluster)
{
    assert_true(world_until(cluster->world, world_all_up, NULL, 120 * SECOND));
}

/* Discovery shows a list that grows with starts, shows dead nodes for a while, and fails now and
 * then. A node that starts when all are dead founds a cluster once it is the first of the list. A
 * node that starts while others run founds none. */
static void nodes_find_their_seed_nodes(void **state)
{
    struct world_settings settings = { .seed = 3, .keep_lines = true };
    struct cluster cluster = { .nodes = 4, .settings = set_life, .finds = true };

    (void)state;
    cluster.world = world_new(&settings);
    cluster.checks = checks_new(cluster.world, 0);
    cluster_init(&cluster);
    cluster_form(&cluster);
    expect_one(&cluster);
    assert_true(world_logged(cluster.world, 3, "found seed nodes count=4"));
    assert_int_equal(world_node(cluster.world, 0)->settings.seed_node_count, 0);
    world_crash_as(cluster.world, 0, WORLD_DARK);
    cluster_start(&cluster, 0);
    net_part(cluster.world, 0, 1, true); /* alone, the first of the list founds nothing */
    net_part(cluster.world, 0, 2, true);
    net_part(cluster.world, 0, 3, true);
    world_run(cluster.world, 120 * SECOND);
    assert_false(world_node(cluster.world, 0)->is_up);
    for (uint32_t i = 1; i < cluster.nodes; i++)
        net_part(cluster.world, 0, i, false);
    expect_one(&cluster);
    for (uint32_t i = 0; i < cluster.nodes; i++)
        world_crash_as(cluster.world, i, WORLD_DARK);
    cluster_start(&cluster, 2);
    world_run(cluster.world, 3 * SECOND);
    assert_false(world_node(cluster.world, 2)->is_up); /* dead ones before it are still shown */
    cluster_start(&cluster, 3);
    expect_one(&cluster);
    world_free(cluster.world);
    checks_free(cluster.checks);
    cluster_fini(&cluster);
}

/* Node 2 reaches no node and should be a member by now. Once it reaches one, it soon is. */
static void member_convergence_a_node_that_is_not_welcomed_is_found(void **state)
{
    struct world_settings settings = { .seed = 4 };
    struct cluster cluster = { .nodes = 3, .settings = set_life };

    (void)state;
    cluster.world = world_new(&settings);
    cluster.checks = checks_new(cluster.world, 0);
    cluster_init(&cluster);
    net_part(cluster.world, 2, 0, true);
    net_part(cluster.world, 2, 1, true);
    cluster_form(&cluster);
    world_run(cluster.world, 60 * SECOND);
    assert_true(quiet_rests(cluster.world));
    assert_true(cluster_waits_wrongly(&cluster, 2, 50 * SECOND));
    assert_false(cluster_waits_wrongly(&cluster, 2, 70 * SECOND));
    assert_false(cluster_waits_wrongly(&cluster, 1, 0));
    cluster.checks->entries[2].by = 17; /* of an ended incarnation */
    assert_false(cluster_waits_wrongly(&cluster, 2, 50 * SECOND));
    cluster.checks->entries[2].by = 0;
    net_part(cluster.world, 2, 0, false);
    net_part(cluster.world, 2, 1, false);
    expect_one(&cluster);
    assert_false(cluster_waits_wrongly(&cluster, 2, 0));
    assert_int_equal(cluster_crash_outsiders(&cluster), 0);
    world_free(cluster.world);
    checks_free(cluster.checks);
    cluster_fini(&cluster);
}

static void set_slow_gossip(void *user, struct node_settings *settings)
{
    (void)user;
    settings->lanes = 1;
    settings->gossip_interval = 30 * SECOND;
}

static bool misses_the_other(struct world *world, void *arg)
{
    (void)arg;
    return !world_all_up(world, NULL);
}

/* After a cut both find each other again by heartbeats before either has heard the other's
 * changes. */
static void member_convergence_different_gossip_versions_are_found(void **state)
{
    struct world_settings settings = { .seed = 5 };
    struct cluster cluster = { .nodes = 2, .settings = set_slow_gossip };
    uint32_t first = 0;
    char text[100];

    (void)state;
    cluster.world = world_new(&settings);
    cluster.checks = checks_new(cluster.world, 0);
    cluster_init(&cluster);
    cluster_form(&cluster);
    assert_true(world_until(cluster.world, world_all_up, NULL, 600 * SECOND));
    world_run(cluster.world, 120 * SECOND);
    assert_true(quiet_same_version(cluster.world, &first, text, sizeof text));
    net_part(cluster.world, 0, 1, true);
    assert_true(world_until(cluster.world, misses_the_other, NULL,
                            60 * SECOND));
    world_run(cluster.world, 5 * SECOND);
    net_part(cluster.world, 0, 1, false);
    expect_one(&cluster);
    assert_false(quiet_converged(cluster.world, &first, text, sizeof text));
    assert_non_null(strstr(text, "hold different versions of the gossip"));
    world_run(cluster.world, 120 * SECOND);
    assert_true(quiet_converged(cluster.world, &first, text, sizeof text));
    world_free(cluster.world);
    checks_free(cluster.checks);
    cluster_fini(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_unaware_of_its_downing_is_crashed),
        cmocka_unit_test(members_are_not_crashed),
        cmocka_unit_test(nodes_find_their_seed_nodes),
        cmocka_unit_test(member_convergence_a_node_that_is_not_welcomed_is_found),
        cmocka_unit_test(member_convergence_different_gossip_versions_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
