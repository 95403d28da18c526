/* Tests sharding on whole nodes in the scenes of Akka's multi-node tests: nodes that join, leave,
 * crash, are downed or have another version, while entities answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cast.h"

#define TYPE_E 0
#define ENTITIES 100

static uint32_t shards_at(struct world *world, uint32_t node)
{
    struct sherd_status status = world_status(world, node);
    uint32_t shards = status.types[TYPE_E].shards_here;

    world_status_fini(&status);
    return shards;
}

static void check_answers(struct world *world, uint32_t node, uint32_t count)
{
    struct player player;
    char id[8];

    player_spawn(&player, world, node, 0);
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(id, sizeof id, "e%u", i);
        (void)player_asks(&player, "E", id, ECHO);
    }
}

static void the_status_has_the_names_of_all_types_SHD087_SHD088(void **state)
{
    (void)state;
    for (uint32_t count = 0; count <= 2; count += 2) {
        struct world *world = cast_new(51);
        struct node_settings settings =
            world_node_settings(world, 0, cast_types, count);
        struct sherd_status status;

        cast_begin();
        world_start(world, 0, &settings);
        assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
        status = world_status(world, 0);
        assert_int_equal(status.type_count, count);
        for (uint32_t i = 0; i < count; i++)
            assert_string_equal(status.types[i].name, cast_types[i].name);
        world_status_fini(&status);
        world_free(world);
    }
}

/* With buffer-size = 0 messages to a shard without a home end, and ask for it. */
static void without_a_buffer_messages_end_until_the_home_is_known(void **state)
{
    struct world *world = cast_new(59);
    struct player player;
    const struct heard *heard;
    struct sherd_status status;
    (void)state;

    cast_begin();
    for (uint32_t i = 0; i < 2; i++) {
        struct node_settings settings = world_node_settings(world, i, cast_types, 1);

        settings.buffer_size = BUFFER_NONE;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    for (uint32_t node = 0; node < 2; node++) {
        player_spawn(&player, world, node, 0);
        player_ask(&player, "E", node ? "a" : "b", ECHO, 10000);
        heard = player_hears(&player, SECOND);
        assert_non_null(heard);
        assert_int_equal(heard->kind, SHERD_NO_ANSWER);
        assert_int_equal(heard->reason, SHERD_REASON_BUFFER_FULL);
        world_run(world, 5 * SECOND);
        (void)player_asks(&player, "E", node ? "a" : "b", ECHO);
        status = world_status(world, node);
        assert_int_equal(status.undelivered[SHERD_REASON_BUFFER_FULL], 1);
        assert_int_equal(status.held_max, 0);
        world_status_fini(&status);
    }
    world_free(world);
}

/* The second node only sends to the first type, and hosts the other one. */
static void types_are_found_by_their_names_SHD247_SHD248(void **state)
{
    struct sherd_entity_type types[2] = { cast_types[0], cast_types[1] };
    struct world *world = cast_new(58);
    struct player player;
    bool is_hosted_there = false;
    char id[8];

    (void)state;
    cast_begin();
    for (uint32_t i = 0; i < 2; i++) {
        struct node_settings settings;

        types[0].proxy = i == 1;
        settings = world_node_settings(world, i, types, 2);
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    for (uint32_t node = 0; node < 2; node++) {
        player_spawn(&player, world, node, 0);
        for (uint32_t i = 0; i < 24; i++) {
            (void)snprintf(id, sizeof id, "e%u", i);
            assert_int_equal(cast_home(&player, "E", id), 0);
            is_hosted_there |= cast_home(&player, "P", id) == 1;
        }
    }
    assert_true(is_hosted_there);
    player_tell(&player, "E", "e1", FAIL); /* the next message starts it again */
    assert_int_equal(player_asks(&player, "E", "e1", COUNT), 1);
    world_free(world);
}

/* The proxy names its own data center. */
static void a_proxy_reaches_its_own_data_center_SHD264(void **state)
{
    struct sherd_entity_type type = cast_types[0];
    struct world *world = cast_new(59);
    struct player player;

    (void)state;
    cast_begin();
    type.data_center = "east";
    for (uint32_t i = 0; i < 2; i++) {
        struct node_settings settings;

        type.proxy = i == 1;
        settings = world_node_settings(world, i, &type, 1);
        settings.data_center = "east";
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    player_spawn(&player, world, 1, 0);
    assert_int_equal(cast_home(&player, "E", "e1"), 0);
    assert_int_equal(player_asks(&player, "E", "e1", COUNT), 2);
    world_free(world);
}

/* The crashed node had the coordinator or not. */
static void a_node_takes_all_shards_of_a_downed_one_SHD196_SHD197_SHD199_SHD200(
    void **state)
{
    (void)state;
    for (uint32_t crashes = 0; crashes < 2; crashes++) {
        struct world *world = cast_world(52, 2, 2);
        uint32_t stays = 1 - crashes;

        cast_wake(world, "E", ENTITIES);
        assert_true(shards_at(world, 0) > 0);
        assert_true(shards_at(world, 1) > 0);
        world_crash(world, crashes);
        world_run(world, 10 * SECOND);
        world_down(world, stays, crashes);
        world_run(world, 20 * SECOND);
        check_answers(world, stays, ENTITIES);
        assert_int_equal(cast_running(world, TYPE_E), ENTITIES);
        world_free(world);
    }
}

/* Both regions have shards. The oldest one with its coordinator leaves, or the other one. */
static void entities_answer_after_a_graceful_leave_SHD215_SHD217(void **state)
{
    (void)state;
    for (uint32_t leaves = 0; leaves < 2; leaves++) {
        struct world *world = cast_world(53, 2, 2);

        cast_wake(world, "E", ENTITIES);
        assert_true(shards_at(world, 0) > 0);
        assert_true(shards_at(world, 1) > 0);
        world_leave(world, leaves);
        assert_true(
            world_until(world, world_node_ended, &leaves, 60 * SECOND));
        assert_int_equal(world_node(world, leaves)->error, 0);
        check_answers(world, 1 - leaves, ENTITIES);
        world_free(world);
    }
}

/* It is healthy, and gets the decision of another one. */
static void a_downed_node_ends_its_entities_and_itself_SHD054_SHD056(
    void **state)
{
    struct world *world = cast_world(54, 3, 2);
    uint32_t downed = 2;

    (void)state;
    cast_wake(world, "E", ENTITIES);
    for (uint32_t i = 0; i < 3; i++) {
        check_answers(world, i, ENTITIES);
        assert_true(shards_at(world, i) > 0);
    }
    world_down(world, 0, downed);
    assert_true(world_until(world, world_node_ended, &downed, 30 * SECOND));
    assert_int_equal(world_node(world, downed)->error, SHERD_EDOWN);
    assert_true(cast.ended > 0);
    world_run(world, 20 * SECOND);
    check_answers(world, 0, ENTITIES);
    check_answers(world, 1, ENTITIES);
    assert_int_equal(cast_running(world, TYPE_E), ENTITIES);
    world_free(world);
}

/* Entities of each node answer while the oldest leaves; none of the others loses its place. */
static void shards_of_other_nodes_stay_when_one_leaves_SHD221_SHD222(
    void **state)
{
    struct world *world = cast_world(55, 5, 1);
    uint32_t homes[ENTITIES];
    struct player player;
    uint32_t leaves = 0;
    char id[8];

    (void)state;
    player_spawn(&player, world, 4, 0);
    for (uint32_t i = 0; i < ENTITIES; i++) {
        (void)snprintf(id, sizeof id, "e%u", i);
        homes[i] = cast_home(&player, "E", id);
    }
    for (uint32_t i = 0; i < 5; i++)
        assert_true(shards_at(world, i) > 0);
    world_leave(world, leaves);
    assert_true(world_until(world, world_node_ended, &leaves, 60 * SECOND));
    for (uint32_t i = 0; i < ENTITIES; i++) {
        uint32_t home;

        (void)snprintf(id, sizeof id, "e%u", i);
        home = cast_home(&player, "E", id);
        if (homes[i] == leaves)
            assert_int_not_equal(home, leaves);
        else
            assert_int_equal(home, homes[i]);
    }
    world_free(world);
}

/* New shards go to the newest version. */
static void shards_start_where_the_newest_version_is_SHD266_SHD267(
    void **state)
{
    struct world *world = cast_new(56);
    struct player player;
    char id[8];

    (void)state;
    cast_begin();
    for (uint32_t i = 0; i < 3; i++) {
        struct node_settings settings =
            world_node_settings(world, i, cast_types, CAST_TYPES);

        settings.number_of_shards = 1000;
        settings.app_version = i < 2 ? "1.0.0" : "1.0.1";
        world_start(world, i, &settings);
        assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
        player_spawn(&player, world, i, 0);
        for (uint32_t e = 0; e < 10 && i == 1; e++) {
            (void)snprintf(id, sizeof id, "a%u", e);
            (void)cast_home(&player, "E", id);
        }
    }
    assert_true(shards_at(world, 0) > 0);
    assert_true(shards_at(world, 1) > 0);
    for (uint32_t e = 0; e < 10; e++) {
        (void)snprintf(id, sizeof id, "b%u", e);
        assert_int_equal(cast_home(&player, "E", id), 2);
    }
    world_free(world);
}

static void check_answer(struct player *player, uint64_t wanted, uint64_t limit)
{
    assert_non_null(player_hears(player, limit));
    assert_int_equal(player_last(player)->kind, SHERD_ANSWER);
    assert_int_equal(player_last(player)->value, wanted);
    player->count = 0;
}

/* Entities count on both nodes. Their connection is cut for a short and for a long time, and no
 * node is downed; then the store does not answer for a while. */
static void counters_are_exact_after_cuts_and_silence_of_the_store_SHD204(
    void **state)
{
    static const uint64_t cuts[] = { 3 * SECOND, 30 * SECOND };
    struct world *world = cast_world(57, 2, 2);
    struct player player;
    char ids[2][16];
    uint64_t count = 0;

    (void)state;
    player_spawn(&player, world, 0, 0);
    for (uint32_t node = 0; node < 2; node++)
        (void)snprintf(ids[node], sizeof ids[node], "%s",
                       cast_id_at(&player, "P", node));
    player.count = 0;
    for (uint32_t i = 0; i < 2; i++) {
        count++;
        net_part(world, 0, 1, true);
        player_ask(&player, "P", ids[0], STORE, 60000);
        check_answer(&player, count, SECOND);
        player_ask(&player, "P", ids[1], STORE, 60000);
        world_run(world, cuts[i]);
        assert_int_equal(player.count, 0);
        net_part(world, 0, 1, false);
        check_answer(&player, count, 30 * SECOND);
        assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    }
    count++;
    disk_backend_hold(world_backend(world), true);
    for (uint32_t node = 0; node < 2; node++)
        player_ask(&player, "P", ids[node], STORE, 60000);
    world_run(world, 3 * SECOND);
    assert_int_equal(player.count, 0);
    disk_backend_hold(world_backend(world), false);
    world_run(world, 30 * SECOND);
    assert_int_equal(player.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(player.heard[i].kind, SHERD_ANSWER);
        assert_int_equal(player.heard[i].value, count);
    }
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_status_has_the_names_of_all_types_SHD087_SHD088),
        cmocka_unit_test(without_a_buffer_messages_end_until_the_home_is_known),
        cmocka_unit_test(types_are_found_by_their_names_SHD247_SHD248),
        cmocka_unit_test(a_proxy_reaches_its_own_data_center_SHD264),
        cmocka_unit_test(
            a_node_takes_all_shards_of_a_downed_one_SHD196_SHD197_SHD199_SHD200),
        cmocka_unit_test(entities_answer_after_a_graceful_leave_SHD215_SHD217),
        cmocka_unit_test(
            a_downed_node_ends_its_entities_and_itself_SHD054_SHD056),
        cmocka_unit_test(
            shards_of_other_nodes_stay_when_one_leaves_SHD221_SHD222),
        cmocka_unit_test(shards_start_where_the_newest_version_is_SHD266_SHD267),
        cmocka_unit_test(
            counters_are_exact_after_cuts_and_silence_of_the_store_SHD204),
    };

    return cmocka_run_group_tests_name("shards", tests, NULL, NULL);
}
