/* Who is taken for a part of the cluster when the faults are over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/timers.h"
#include "sim/checks.h"
#include "sim/cluster.h"
#include "sim/net.h"
#include "sim/world.h"

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

/* It stood still when it was downed, and those who know of it are gone when it goes on: nobody tells it, and it takes itself
 * for a member. */
static void a_member_that_was_downed_unawares_is_a_stray(void **state)
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
    net_part(cluster.world, 0, 1, true); /* or what waits in its sockets tells it */
    cluster_down(&cluster, 1, 0);
    assert_true(world_until(cluster.world, one_is_alone, NULL, 60 * SECOND));
    world_crash_as(cluster.world, 1, WORLD_DARK);
    world_pause(cluster.world, 0, false);
    world_run(cluster.world, 60 * SECOND);
    assert_true(cluster_lives(&cluster, 0));
    assert_true(world_node(cluster.world, 0)->is_up);
    cluster_crash_strays(&cluster);
    assert_false(cluster_lives(&cluster, 0));
    world_free(cluster.world);
    checks_free(cluster.checks);
    cluster_fini(&cluster);
}

/* A member that is well is none. */
static void members_are_no_strays(void **state)
{
    struct world_settings settings = { .seed = 2 };
    struct cluster cluster = { .nodes = 2, .settings = set_life };

    (void)state;
    cluster.world = world_new(&settings);
    cluster.checks = checks_new(cluster.world, 0);
    cluster_init(&cluster);
    cluster_form(&cluster);
    assert_true(world_until(cluster.world, world_all_up, NULL, 60 * SECOND));
    cluster_crash_strays(&cluster);
    assert_true(cluster_lives(&cluster, 0) && cluster_lives(&cluster, 1));
    world_free(cluster.world);
    checks_free(cluster.checks);
    cluster_fini(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_that_was_downed_unawares_is_a_stray),
        cmocka_unit_test(members_are_no_strays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
