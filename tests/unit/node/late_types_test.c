/* Tests types that are registered on nodes that run, and regions that are shut down alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/timers.h"
#include "cast.h"

#define ENTITIES 40

static bool is_called(struct world *world, void *arg)
{
    return world_node(world, *(uint32_t *)arg)->types_called > 0;
}

static void add(struct world *world, uint32_t node, const struct sherd_entity_type *type)
{
    uint32_t called = world_node(world, node)->types_called;

    world_add_type(world, node, type);
    for (int i = 0; i < 100 && world_node(world, node)->types_called == called; i++)
        world_run(world, 10 * MS);
    assert_int_equal(world_node(world, node)->types_called, called + 1);
    assert_int_equal(world_node(world, node)->type_result, 0);
}

static struct world *begin(uint32_t nodes, uint32_t types)
{
    struct world *world = cast_new(21);

    cast_begin();
    for (uint32_t i = 0; i < nodes; i++) {
        struct node_settings settings = world_node_settings(world, i, cast_types, types);

        settings.number_of_shards = 20;
        settings.rebalance_interval = SECOND;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    return world;
}

static uint32_t shards_at(struct world *world, uint32_t node, uint32_t type)
{
    struct sherd_status status = world_status(world, node);
    uint32_t shards = status.types[type].shards_here;

    world_status_fini(&status);
    return shards;
}

/* The first node knows the type alone at first, and hosts it. Its coordinator is on the oldest. */
static void a_type_is_added_to_nodes_that_run(void **state)
{
    struct world *world = begin(3, 1);
    (void)state;

    cast_wake(world, "E", ENTITIES);
    add(world, 0, &cast_types[1]);
    cast_wake(world, "P", ENTITIES);
    assert_true(shards_at(world, 0, 1) > 0);
    add(world, 1, &cast_types[1]);
    add(world, 2, &cast_types[1]);
    world_run(world, 30 * SECOND); /* spread */
    assert_in_range(shards_at(world, 1, 1), 6, 7);
    assert_in_range(shards_at(world, 2, 1), 6, 7);
    cast_wake(world, "P", ENTITIES);
    cast_await_running(world, 1, ENTITIES);
    cast_await_running(world, 0, ENTITIES);
    world_free(world);
}

/* Members that are older do not know the type yet: the region waits for its coordinator. */
static void a_region_waits_until_the_oldest_knows_its_type(void **state)
{
    struct world *world = begin(3, 1);
    struct player player;
    (void)state;

    add(world, 2, &cast_types[1]);
    player_spawn(&player, world, 2, 0);
    player_ask(&player, "P", "early", ECHO, 60000);
    world_run(world, 5 * SECOND);
    assert_int_equal(player.count, 0);
    add(world, 0, &cast_types[1]);
    add(world, 1, &cast_types[1]);
    assert_non_null(player_hears(&player, 30 * SECOND));
    assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
    world_free(world);
}

static void an_added_type_survives_the_coordinators_node(void **state)
{
    struct world *world = begin(3, 1);
    struct player player;
    (void)state;

    for (uint32_t i = 0; i < 3; i++)
        add(world, i, &cast_types[1]);
    cast_wake(world, "P", ENTITIES);
    world_leave(world, 0);
    world_run(world, 60 * SECOND);
    player_spawn(&player, world, 1, 0);
    for (uint32_t i = 0; i < ENTITIES; i++) {
        char id[16];

        (void)snprintf(id, sizeof id, "e%u", i);
        (void)player_asks(&player, "P", id, ECHO);
    }
    world_free(world);
}

/* Two calls come at once: each is answered, in order. */
static void types_are_added_one_after_another(void **state)
{
    struct world *world = begin(1, 1);
    (void)state;

    world_add_type(world, 0, &cast_types[1]);
    world_add_type(world, 0, &cast_types[2]);
    world_run(world, SECOND);
    assert_int_equal(world_node(world, 0)->types_called, 2);
    cast_wake(world, "P", 4);
    cast_wake(world, "S", 4);
    world_free(world);
}

static void a_node_that_shuts_down_adds_no_type(void **state)
{
    struct world *world = begin(2, 1);
    uint32_t node = 1;
    (void)state;

    world_leave(world, 1);
    world_add_type(world, 1, &cast_types[1]);
    assert_true(world_until(world, is_called, &node, 10 * SECOND));
    assert_int_equal(world_node(world, 1)->type_result, SHERD_ESTATE);
    world_run(world, 30 * SECOND);
    world_free(world);
}

/* ---- one region ---- */

static void a_region_is_shut_down_alone(void **state)
{
    struct world *world = begin(2, 2);
    uint32_t node = 1;
    struct player player;
    (void)state;

    cast_wake(world, "E", ENTITIES);
    cast_wake(world, "P", ENTITIES);
    world_run(world, 30 * SECOND);
    world_stop_region(world, 1, "E");
    assert_true(world_until(world, is_called, &node, 60 * SECOND));
    assert_int_equal(world_node(world, 1)->type_result, 0);
    assert_int_equal(shards_at(world, 1, 0), 0);
    assert_true(shards_at(world, 1, 1) > 0);
    world_run(world, 30 * SECOND);
    assert_int_equal(shards_at(world, 1, 0), 0); /* it gets no shard again */
    assert_int_equal(shards_at(world, 0, 0), 20);
    player_spawn(&player, world, 1, 0);
    (void)player_asks(&player, "E", "e1", ECHO); /* it still sends there */
    world_leave(world, 1);
    world_run(world, 60 * SECOND);
    assert_true(world_node(world, 1)->has_ended);
    assert_int_equal(world_node(world, 1)->error, 0);
    world_free(world);
}

static void a_region_stops_once_for_all_its_callers(void **state)
{
    struct world *world = begin(2, 1);
    (void)state;

    world_stop_region(world, 1, "E");
    world_stop_region(world, 1, "E");
    world_run(world, 30 * SECOND);
    world_stop_region(world, 1, "E");
    world_run(world, SECOND);
    assert_int_equal(world_node(world, 1)->types_called, 3);
    world_free(world);
}

/* The coordinator's own node: the region goes, the coordinator stays. */
static void the_coordinators_node_shuts_its_region_down(void **state)
{
    struct world *world = begin(2, 1);
    uint32_t node = 0;
    (void)state;

    cast_wake(world, "E", ENTITIES);
    world_stop_region(world, 0, "E");
    assert_true(world_until(world, is_called, &node, 60 * SECOND));
    assert_int_equal(shards_at(world, 0, 0), 0);
    cast_wake(world, "E", ENTITIES);
    assert_int_equal(shards_at(world, 1, 0), 20);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_type_is_added_to_nodes_that_run),
        cmocka_unit_test(a_region_waits_until_the_oldest_knows_its_type),
        cmocka_unit_test(an_added_type_survives_the_coordinators_node),
        cmocka_unit_test(types_are_added_one_after_another),
        cmocka_unit_test(a_node_that_shuts_down_adds_no_type),
        cmocka_unit_test(a_region_is_shut_down_alone),
        cmocka_unit_test(a_region_stops_once_for_all_its_callers),
        cmocka_unit_test(the_coordinators_node_shuts_its_region_down),
    };

    return cmocka_run_group_tests_name("late types", tests, NULL, NULL);
}
