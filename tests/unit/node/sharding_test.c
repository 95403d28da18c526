/* Tests sharding on whole nodes: a quick start, shares of new nodes, roles, statistics, entities
 * that stop, and the coordinator's place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cast.h"

#define SHARDS 12

static uint32_t shards_at(struct world *world, uint32_t node, uint32_t type)
{
    struct sherd_status status = world_status(world, node);
    uint32_t shards = status.types[type].shards_here;

    world_status_fini(&status);
    return shards;
}

static uint64_t entities_at(struct world *world, uint32_t node, uint32_t type)
{
    struct sherd_status status = world_status(world, node);
    uint64_t entities = status.types[type].entities_here;

    world_status_fini(&status);
    return entities;
}

static const char *configured_role; /* cluster.sharding.role of all nodes */
/* The least members, of all and of each role. */
static uint32_t least_members;
static const char *const both_roles[] = { "first", "second" };
static const uint32_t two_of_each[] = { 2, 2 };

static void start(struct world *world, uint32_t index,
                  const struct sherd_entity_type *types, uint32_t count,
                  const char *const *role)
{
    struct node_settings settings = world_node_settings(world, index, types, count);

    settings.sharding_role = configured_role;
    settings.lanes = 2;
    settings.number_of_shards = SHARDS;
    settings.roles = role;
    settings.role_count = role != NULL;
    settings.min_nr_of_members = least_members;
    if (least_members) {
        settings.minimum_roles = both_roles;
        settings.role_minimums = two_of_each;
        settings.role_minimum_count = 2;
    }
    world_start(world, index, &settings);
}

/* There is no removal to wait for. */
static void a_fresh_cluster_answers_within_three_seconds(void **state)
{
    struct world *world = cast_new(31);
    struct player players[3];

    (void)state;
    cast_begin();
    for (uint32_t i = 0; i < 3; i++)
        start(world, i, cast_types, CAST_TYPES, NULL);
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    for (uint32_t i = 0; i < 3; i++) {
        player_spawn(&players[i], world, i, 0);
        player_ask(&players[i], "E", "quick", ECHO, 3000);
    }
    world_run(world, 3 * SECOND);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(players[i].count, 1);
        assert_int_equal(player_last(&players[i])->kind, SHERD_ANSWER);
    }
    world_free(world);
}

/* Stored events move along. */
static void each_node_that_joins_gets_its_share_SHD238_SHD239_SHD244(
    void **state)
{
    struct world *world = cast_new(32);
    struct player player;
    char id[8];

    (void)state;
    cast_begin();
    for (uint32_t count = 1; count <= 4; count++) {
        uint32_t total = 0;

        start(world, count - 1, cast_types, CAST_TYPES, NULL);
        assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
        world_run(world, 20 * SECOND); /* rebalanced once a second */
        player_spawn(&player, world, count - 1, 1);
        for (uint32_t e = 0; e < 60; e++) {
            (void)snprintf(id, sizeof id, "j%u", e);
            assert_int_equal(player_asks(&player, "P", id, STORE), count);
        }
        for (uint32_t i = 0; i < count; i++) {
            uint32_t here = shards_at(world, i, 1);

            assert_in_range(here, SHARDS / count, (SHARDS + count - 1) / count);
            assert_true(entities_at(world, i, 1) > 0);
            total += here;
        }
        assert_int_equal(total, SHARDS);
    }
    world_free(world);
}

/* All nodes reach both types, whichever node is the oldest. first_role is the first type's own. */
static void live_with_roles(const char *first_role)
{
    struct sherd_entity_type types[2] = { cast_types[0], cast_types[0] };
    struct world *world = cast_new(33);
    struct player player;
    char id[8];

    cast_begin();
    types[0].role = first_role;
    types[1].name = "F";
    types[1].role = both_roles[1];
    start(world, 0, types, 2, NULL);
    for (uint32_t i = 1; i < 5; i++)
        start(world, i, types, 2, &both_roles[(i - 1) / 2]);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    for (uint32_t node = 0; node < 5; node++) {
        player_spawn(&player, world, node, 0);
        for (uint32_t e = 0; e < 24; e++) {
            (void)snprintf(id, sizeof id, "r%u", e);
            assert_in_range(cast_home(&player, "E", id), 1, 2);
            assert_in_range(cast_home(&player, "F", id), 3, 4);
        }
    }
    assert_int_equal(shards_at(world, 0, 0) + shards_at(world, 0, 1), 0);
    world_free(world);
}

static void types_run_only_on_nodes_with_their_role_SHD235_SHD242(void **state)
{
    (void)state;
    live_with_roles("first");
    least_members = 2;
    live_with_roles("first");
    least_members = 0;
}

/* A type with its own role keeps it. */
static void a_type_without_a_role_takes_the_configured_one(void **state)
{
    (void)state;
    configured_role = "first";
    live_with_roles(NULL);
    live_with_roles("");
    configured_role = NULL;
}

/* It counts nothing, then exactly what was started. */
static void the_status_counts_entities_and_shards(void **state)
{
    struct world *world = cast_world(34, 3, 2);
    struct sherd_status status;
    struct player player;
    uint64_t entities = 0;
    uint32_t shards = 0;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        status = world_status(world, i);
        assert_int_equal(status.type_count, CAST_TYPES);
        for (uint32_t t = 0; t < CAST_TYPES; t++) {
            assert_string_equal(status.types[t].name, cast_types[t].name);
            assert_int_equal(status.types[t].shards_here, 0);
            assert_int_equal(status.types[t].entities_here, 0);
        }
        world_status_fini(&status);
    }
    player_spawn(&player, world, 2, 1);
    for (uint32_t e = 0; e < 4; e++) /* of four shards */
        (void)player_asks(&player, "E", (const char *[]){ "1", "2", "3", "4" }[e],
                          ECHO);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(shards_at(world, i, 0), entities_at(world, i, 0));
        shards += shards_at(world, i, 0);
        entities += entities_at(world, i, 0);
        assert_int_equal(entities_at(world, i, 1), 0);
    }
    assert_int_equal(shards, 4);
    assert_int_equal(entities, 4);
    world_free(world);
}

/* The entity starts anew with its next message; its neighbour keeps its state. */
static void an_entity_that_stops_itself_disturbs_no_other_SHD084(void **state)
{
    struct sherd_entity_type type = cast_types[0];
    struct world *world = cast_new(35);
    struct player player;

    (void)state;
    cast_begin();
    type.shards = 1;
    start(world, 0, &type, 1, NULL);
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    player_spawn(&player, world, 0, 1);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(player_asks(&player, "E", "ends", COUNT), i);
        assert_int_equal(player_asks(&player, "E", "stays", COUNT), i);
    }
    player_tell(&player, "E", "ends", STOP);
    world_run(world, 10 * SECOND);
    assert_int_equal(entities_at(world, 0, 0), 1);
    assert_int_equal(player_asks(&player, "E", "stays", COUNT), 4);
    assert_int_equal(player_asks(&player, "E", "ends", COUNT), 1);
    world_free(world);
}

/* State in memory is lost. */
static void a_passivated_entity_recovers_its_events_only_SHT010(void **state)
{
    struct world *world = cast_world(36, 2, 2);
    struct player player;

    (void)state;
    player_spawn(&player, world, 1, 0);
    for (uint32_t node = 0; node < 2; node++) {
        const char *id = cast_id_at(&player, "P", node);

        for (uint64_t i = 1; i <= 3; i++)
            assert_int_equal(player_asks(&player, "P", id, STORE), i);
        (void)player_asks(&player, "P", id, PASSIVATE);
        world_run(world, SECOND);
        assert_int_equal(player_asks(&player, "P", id, COUNT), 1);
        assert_int_equal(player_asks(&player, "P", id, STORE), 4);
    }
    world_free(world);
}

/* The node waits only for the steps of leaving. */
static void an_empty_node_leaves_soon_SHD219(void **state)
{
    struct world *world = cast_world(37, 3, 2);

    (void)state;
    world_leave(world, 2);
    assert_true(world_until(world, world_node_ended, &(uint32_t){ 2 },
                            5 * SECOND));
    assert_int_equal(world_node(world, 2)->error, 0);
    world_free(world);
}

/* It is named until the next oldest has it. */
static void a_type_that_the_oldest_lacks_is_named_in_the_log_SHD220(
    void **state)
{
    struct world *world = cast_new(39);
    struct player player;

    (void)state;
    cast_begin();
    start(world, 0, &cast_types[1], 1, NULL);
    start(world, 1, cast_types, 2, NULL);
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    world_run(world, 20 * SECOND);
    assert_false(world_logged(world, 1, "coordinator does not answer")); /* none waits */
    player_spawn(&player, world, 1, 0);
    player_ask(&player, "E", "waits", ECHO, 180000);
    assert_int_equal(player_asks(&player, "P", "does not", STORE), 1);
    world_run(world, 70 * SECOND);
    assert_true(world_logged(
        world, 1, "coordinator does not answer type=E expected_at=n0:2551 "));
    assert_true(world_logged(world, 1, "check that its program registers the type"));
    assert_false(world_logged(world, 0, "coordinator does not answer"));
    assert_int_equal(player.count, 1);
    player.count = 0;
    world_leave(world, 0);
    assert_true(world_until(world, world_node_ended, &(uint32_t){ 0 },
                            60 * SECOND));
    assert_non_null(player_hears(&player, 10 * SECOND)); /* the waiting one is not lost */
    assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
    assert_int_equal(player_last(&player)->tag, 1);
    assert_int_equal(cast_home(&player, "E", "waits"), 1);
    world_free(world);
}

/* The next coordinator gets no term, for the store stands still: the warning says what is known of its node. */
static void a_silent_coordinator_is_not_considered_a_missing_type(void **state)
{
    struct world *world = cast_world(41, 3, 2);
    struct player players[2];
    uint32_t node = 0;

    (void)state;
    for (uint32_t i = 0; i < 2; i++)
        player_spawn(&players[i], world, i + 1, 0);
    (void)cast_id_at(&players[1], "E", 1); /* it has shards of the type */
    world_leave(world, 0);
    disk_backend_hold(world_backend(world), true);
    assert_true(world_until(world, world_node_ended, &node, 60 * SECOND));
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t shard = 0; shard < 40; shard++) {
            char id[16];

            (void)snprintf(id, sizeof id, "x%u", shard);
            player_ask(&players[i], "E", id, ECHO, 60000);
        }
    world_run(world, 20 * SECOND);
    assert_true(world_logged(
        world, 2, "coordinator does not answer type=E expected_at=n1:2551 "));
    assert_true(world_logged(world, 2, "that node has the type"));
    assert_true(world_logged(world, 1, "of this node is not active yet"));
    for (uint32_t i = 1; i < 3; i++)
        assert_false(world_logged(world, i, "program registers the type"));
    world_free(world);
}

/* Two crash at once, then the next; the last node has every event. */
static void coordinators_follow_when_the_oldest_crash_SGT032_SGT033(
    void **state)
{
    struct world *world = cast_world(38, 4, 2);
    struct player player;
    char id[8];

    (void)state;
    player_spawn(&player, world, 3, 0);
    for (uint32_t e = 0; e < 20; e++) {
        (void)snprintf(id, sizeof id, "c%u", e);
        assert_int_equal(player_asks(&player, "P", id, STORE), 1);
    }
    for (uint64_t round = 2; round <= 3; round++) {
        struct sherd_status status;

        for (uint32_t i = round == 2 ? 0 : 2; i < round; i++)
            world_crash(world, i);
        world_run(world, 10 * SECOND);
        for (uint32_t i = round == 2 ? 0 : 2; i < round; i++)
            world_down(world, 3, i);
        world_run(world, 20 * SECOND);
        for (uint32_t e = 0; e < 20; e++) {
            (void)snprintf(id, sizeof id, "c%u", e);
            assert_int_equal(player_asks(&player, "P", id, STORE), round);
        }
        status = world_status(world, 3);
        assert_string_equal(status.types[1].coordinator,
                            round == 2 ? "n2:2551" : "n3:2551");
        world_status_fini(&status);
    }
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_cluster_answers_within_three_seconds),
        cmocka_unit_test(
            each_node_that_joins_gets_its_share_SHD238_SHD239_SHD244),
        cmocka_unit_test(types_run_only_on_nodes_with_their_role_SHD235_SHD242),
        cmocka_unit_test(a_type_without_a_role_takes_the_configured_one),
        cmocka_unit_test(the_status_counts_entities_and_shards),
        cmocka_unit_test(an_entity_that_stops_itself_disturbs_no_other_SHD084),
        cmocka_unit_test(a_passivated_entity_recovers_its_events_only_SHT010),
        cmocka_unit_test(an_empty_node_leaves_soon_SHD219),
        cmocka_unit_test(
            a_type_that_the_oldest_lacks_is_named_in_the_log_SHD220),
        cmocka_unit_test(a_silent_coordinator_is_not_considered_a_missing_type),
        cmocka_unit_test(
            coordinators_follow_when_the_oldest_crash_SGT032_SGT033),
    };

    return cmocka_run_group_tests_name("sharding", tests, NULL, NULL);
}
