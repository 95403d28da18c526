/* Tests what keys of akka.cluster.sharding do on whole nodes: guardian-name, the role of coordinators,
 * and verbose-debug-logging. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/timers.h"
#include "cast.h"

#define NODES 3
#define ENTITIES 40
#define OLDEST "path=/system/sharding/ECoordinator from=starting to=oldest"

static const char *const brain[] = { "brain" };

/* The first node is the oldest. */
static struct world *begin(uint64_t seed, struct node_settings (*of)(struct world *, uint32_t))
{
    struct world *world = cast_new(seed);

    cast_begin();
    for (uint32_t i = 0; i < NODES; i++) {
        struct node_settings settings = of(world, i);

        world_start(world, i, &settings);
        assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    }
    return world;
}

static struct node_settings base_of(struct world *world, uint32_t index)
{
    struct node_settings settings = world_node_settings(world, index, cast_types, 1);

    settings.number_of_shards = 20;
    settings.rebalance_interval = SECOND;
    settings.trace_level = TRACE_DEBUG;
    return settings;
}

static uint32_t shards_at(struct world *world, uint32_t node)
{
    struct sherd_status status = world_status(world, node);
    uint32_t shards = status.types[0].shards_here;

    world_status_fini(&status);
    return shards;
}

static bool is_served(struct world *world, uint32_t node, uint32_t seed)
{
    struct player player;
    const struct heard *heard;
    char id[16];

    (void)snprintf(id, sizeof id, "id-%u", seed);
    player_spawn(&player, world, node, 0);
    player_ask(&player, "E", id, ECHO, 20000);
    heard = player_hears(&player, 30 * SECOND);
    return heard && heard->kind == SHERD_ANSWER;
}

static struct node_settings guarded(struct world *world, uint32_t index)
{
    struct node_settings settings = base_of(world, index);

    settings.guardian = "parts";
    return settings;
}

static void regions_find_each_other_below_another_guardian(void **state)
{
    struct world *world = begin(1, guarded);
    (void)state;

    cast_wake(world, "E", ENTITIES);
    world_run(world, 20 * SECOND); /* spread */
    for (uint32_t i = 0; i < NODES; i++) {
        assert_true(shards_at(world, i) > 0);
        assert_true(is_served(world, i, i));
    }
    assert_true(world_logged(world, 0, "path=/system/parts/ECoordinator"));
    assert_false(world_logged(world, 0, "path=/system/sharding/"));
    world_free(world);
}

/* The oldest node has no such role. */
static struct node_settings with_brains(struct world *world, uint32_t index)
{
    struct node_settings settings = base_of(world, index);

    settings.coordinator_role = "brain";
    if (index) {
        settings.roles = brain;
        settings.role_count = 1;
    }
    return settings;
}

static void coordinators_run_on_members_with_their_role(void **state)
{
    struct world *world = begin(3, with_brains);
    (void)state;

    cast_wake(world, "E", ENTITIES);
    world_run(world, 20 * SECOND);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_true(shards_at(world, i) > 0); /* entities run everywhere */
        assert_true(is_served(world, i, i));
    }
    assert_true(world_logged(world, 1, OLDEST));
    assert_false(world_logged(world, 0, "path=/system/sharding/ECoordinator"));
    world_crash(world, 1);
    world_down(world, 0, 1);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    for (uint32_t i = 0; i < ENTITIES; i++)
        assert_true(is_served(world, i % 2 * 2, i));
    assert_true(world_logged(world, 2, "path=/system/sharding/ECoordinator from=becoming-oldest to=oldest") ||
                world_logged(world, 2, "path=/system/sharding/ECoordinator from=younger to=oldest"));
    world_free(world);
}

static struct node_settings talkative(struct world *world, uint32_t index)
{
    struct node_settings settings = base_of(world, index);

    settings.verbose_sharding = index != 2;
    return settings;
}

static void each_message_is_logged_where_it_is_routed_and_handled(void **state)
{
    struct world *world = begin(4, talkative);
    struct player player;
    const char *id;
    (void)state;

    cast_wake(world, "E", ENTITIES);
    world_run(world, 20 * SECOND);
    player_spawn(&player, world, 0, 0);
    id = cast_id_at(&player, "E", 1);
    assert_non_null(id);
    assert_true(world_logged(world, 0, "message routed to=\""));
    assert_true(world_logged(world, 0, "waits for the home of its shard"));
    assert_true(world_logged(world, 0, id));
    assert_true(world_logged(world, 1, "message handled msg="));
    assert_false(world_logged(world, 2, "message handled msg="));
    assert_false(world_logged(world, 2, "message routed to="));
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_find_each_other_below_another_guardian),
        cmocka_unit_test(coordinators_run_on_members_with_their_role),
        cmocka_unit_test(each_message_is_logged_where_it_is_routed_and_handled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
