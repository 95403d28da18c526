/* How long agreement may take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/timers.h"
#include "sim/check_quiet.h"
#include "sim/checks.h"
#include "sim/cluster.h"
#include "sim/world.h"

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

/* Each monitors the next one in the ring only. Behind one that is dead stands another one that is: it is watched when the first
 * is unreachable, and so on. */
static void the_dead_are_found_one_after_the_other(void **state)
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
    assert_true(took > quiet_converge_bound(&options));
    assert_true(took < quiet_bury_bound(&options));
    world_free(cluster.world);
    checks_free(cluster.checks);
    cluster_fini(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_dead_are_found_one_after_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
