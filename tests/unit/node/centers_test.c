/* Tests two data centers: own coordinators and shards, proxies, and cuts between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cast.h"

#include <sherd/cluster.h>

#define WIDTH 3 /* nodes of a data center: 0 to 2 in the east, 3 to 5 in the west */

static const char *const names[] = { "east", "west" };

/* A listener's events of data centers, "west!" unreachable and "west?" reachable, and its number of
 * member events. */
struct ear {
    char text[128];
    uint32_t reaches;
};

/* of later nodes; two_centers resets it */
static enum strategy_kind strategy = STRATEGY_KEEP_MAJORITY;

/* Starts a node with "E" of its own data center and of the other one. */
static void start(struct world *world, uint32_t index)
{
    const struct sherd_entity_type types[] = {
        cast_types[0],
        { .name = "E", .data_center = names[!(index / WIDTH)] },
    };
    struct node_settings settings =
        world_node_settings(world, index, types, 2);

    settings.data_center = names[index / WIDTH];
    settings.lanes = 2;
    settings.number_of_shards = 12;
    settings.resolves = true;
    settings.resolver.strategy.kind = strategy;
    settings.resolver.stable_after = 5 * SECOND;
    settings.resolver.unstable_after = 10 * SECOND;
    world_start(world, index, &settings);
}

static struct world *two_centers(uint64_t seed)
{
    struct world *world = cast_new(seed);

    cast_begin();
    for (uint32_t i = 0; i < 2 * WIDTH; i++)
        start(world, i);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    strategy = STRATEGY_KEEP_MAJORITY;
    return world;
}

static void cut(struct world *world, bool on)
{
    for (uint32_t i = 0; i < WIDTH; i++)
        for (uint32_t k = WIDTH; k < 2 * WIDTH; k++)
            net_part(world, i, k, on);
}

/* Returns the coordinator's node as another node sees it. */
static uint32_t coordinator(struct world *world, uint32_t node, uint32_t type)
{
    struct sherd_status status = world_status(world, node);
    const char *text = status.types[type].coordinator;
    uint32_t found = UINT32_MAX;

    if (text[0] == 'n')
        found = (uint32_t)(text[1] - '0');
    world_status_fini(&status);
    return found;
}

/* An entity of one id lives in both centers. */
static void each_center_has_its_own_shards_SHD261_SHD262_SGT037(
    void **state)
{
    struct world *world = two_centers(71);
    struct player player;
    char id[8];

    (void)state;
    for (uint32_t node = 0; node < 2 * WIDTH; node++) {
        uint32_t center = node / WIDTH;

        player_spawn(&player, world, node, 1);
        for (uint32_t e = 0; e < 24; e++) {
            (void)snprintf(id, sizeof id, "c%u", e);
            assert_in_range(cast_home(&player, "E", id), center * WIDTH,
                            center * WIDTH + WIDTH - 1);
        }
        assert_int_equal(coordinator(world, node, 0) / WIDTH, center);
    }
    world_free(world);
}

static void a_center_takes_tells_and_asks_SHT078_SHT079_SHT080_SHT081(
    void **state)
{
    struct world *world = two_centers(78);
    struct player player;

    (void)state;
    for (uint32_t node = 0; node < 2 * WIDTH; node++) {
        player_spawn(&player, world, node, 0);
        player_tell(&player, "E", "one", COUNT);
        world_run(world, SECOND);
        assert_int_equal(player_asks(&player, "E", "one", COUNT),
                         2 * (node % WIDTH) + 2);
    }
    world_free(world);
}

/* The name of the proxy has the center. */
static void a_proxy_reaches_the_other_center_SHD249_SHD265_SHT083_SHT084(
    void **state)
{
    struct world *world = two_centers(72);
    struct player player;
    char type[16];
    char id[8];

    (void)state;
    for (uint32_t node = 0; node < 2 * WIDTH; node++) {
        uint32_t other = !(node / WIDTH);

        (void)snprintf(type, sizeof type, "E@%s", names[other]);
        player_spawn(&player, world, node, 0);
        for (uint32_t e = 0; e < 24; e++) {
            (void)snprintf(id, sizeof id, "p%u", e);
            assert_in_range(cast_home(&player, type, id), other * WIDTH,
                            other * WIDTH + WIDTH - 1);
        }
        assert_int_equal(coordinator(world, node, 1) / WIDTH, other);
    }
    /* One entity for all askers: two in the east, one in the west. */
    player_spawn(&player, world, 0, 0);
    assert_int_equal(player_asks(&player, "E@west", "one", COUNT), 1);
    player_spawn(&player, world, 1, 1);
    assert_int_equal(player_asks(&player, "E@west", "one", COUNT), 2);
    player_spawn(&player, world, 3, 0);
    assert_int_equal(player_asks(&player, "E", "one", COUNT), 3);
    assert_int_equal(player_asks(&player, "E@east", "one", COUNT), 1);
    world_free(world);
}

/* Asks the entity "one" of a data center by its reference. */
static void ask_center(struct sherd_ctx *ctx, struct player *player)
{
    struct sherd_entity_ref ref;

    assert_int_equal(sherd_entity_ref_make(&ref, "E", "one", player->type), 0);
    sherd_entity_ref_ask(ctx, &ref, ECHO, (struct sherd_bytes){ 0 }, 1, 5000);
}

static uint32_t center_of_answer(struct player *player, const char *center)
{
    const struct heard *heard;

    player->type = center;
    player->count = 0;
    player_do(player, ask_center);
    heard = player_hears(player, 10 * SECOND);
    assert_non_null(heard);
    assert_int_equal(heard->kind, SHERD_ANSWER);
    for (uint32_t i = 0; i < 2 * WIDTH; i++)
        if (world_node(player->world, i)->settings.identity.node.uid ==
            heard->value)
            return i / WIDTH;
    fail_msg("no node of the world has answered");
    return UINT32_MAX;
}

static void a_reference_reaches_its_data_center_from_both(void **state)
{
    struct world *world = two_centers(79);
    struct player player;

    (void)state;
    for (uint32_t node = 0; node < 2 * WIDTH; node += WIDTH) {
        player_spawn(&player, world, node, 0);
        assert_int_equal(center_of_answer(&player, "east"), 0);
        assert_int_equal(center_of_answer(&player, "west"), 1);
        assert_int_equal(center_of_answer(&player, ""), node / WIDTH);
    }
    world_free(world);
}

static enum sherd_next listen(struct sherd_ctx *ctx, void *self,
                              const struct sherd_msg *msg)
{
    struct ear **ear = self;
    struct sherd_cluster_event event;
    size_t at = 0;

    if (msg->kind == SHERD_STARTED) {
        memcpy(ear, msg->body.data, sizeof *ear);
        assert_int_equal(sherd_cluster_subscribe(ctx, SHERD_EVENTS_ALL,
                                                 SHERD_STATE_FIRST),
                         0);
    }
    while (sherd_cluster_next(msg, &at, &event)) {
        bool gone = event.kind == SHERD_DATA_CENTER_UNREACHABLE;
        size_t used = strlen((*ear)->text);

        (*ear)->reaches += event.kind == SHERD_MEMBER_UNREACHABLE ||
                           event.kind == SHERD_MEMBER_REACHABLE;
        if (!gone && event.kind != SHERD_DATA_CENTER_REACHABLE)
            continue;
        assert_string_equal(event.member.address, "");
        assert_string_equal(event.role, "");
        (void)snprintf((*ear)->text + used, sizeof (*ear)->text - used,
                       "%s%c ", event.member.data_center, gone ? '!' : '?');
    }
    return SHERD_CONTINUE;
}

static void ear_open(struct ear *ear, struct world *world, uint32_t node)
{
    static const struct sherd_behavior behavior = {
        .name = "ear", .state_size = sizeof(struct ear *), .receive = listen
    };
    struct ear *body = ear;

    *ear = (struct ear){ .reaches = 0 };
    world_spawn(world, node, 0, &behavior, &body, sizeof body);
    world_run(world, 10 * MS);
}

static void expect_members(struct world *world, uint32_t count)
{
    for (uint32_t node = 0; node < 2 * WIDTH; node++) {
        struct sherd_status status;

        if (!world_node(world, node)->node)
            continue;
        status = world_status(world, node);
        assert_int_equal(status.member_count, count);
        world_status_fini(&status);
    }
}

/* Both sides serve and get events of the other data center, late subscribers too. */
static void a_cut_downs_no_member_of_either_center_SBR086(void **state)
{
    struct world *world = two_centers(73);
    struct player player;
    struct ear ears[2 * WIDTH];
    struct ear late;

    (void)state;
    for (uint32_t i = 0; i < 2 * WIDTH; i++)
        ear_open(&ears[i], world, i);
    cut(world, true);
    world_run(world, 120 * SECOND);
    expect_members(world, 2 * WIDTH);
    assert_true(world_logged(world, 0, "data center unreachable, none of its members is downed"));
    ear_open(&late, world, 1);
    assert_string_equal(late.text, "west! ");
    for (uint32_t i = 0; i < 2 * WIDTH; i++) {
        assert_string_equal(ears[i].text, i < WIDTH ? "west! " : "east! ");
        player_spawn(&player, world, i, 0);
        assert_int_equal(player_asks(&player, "E", "calm", COUNT),
                         i % WIDTH + 1);
    }
    cut(world, false);
    world_run(world, 60 * SECOND);
    expect_members(world, 2 * WIDTH);
    assert_string_equal(late.text, "west! west? ");
    for (uint32_t i = 0; i < 2 * WIDTH; i++) {
        assert_string_equal(ears[i].text,
                            i < WIDTH ? "west! west? " : "east! east? ");
        assert_int_equal(ears[i].reaches, 0);
    }
    player_spawn(&player, world, 0, 0);
    assert_int_equal(player_asks(&player, "E@west", "calm", COUNT), WIDTH + 1);
    world_free(world);
}

/* A majority of three downs it, and a node that joins meanwhile comes up. */
static void a_crash_during_a_cut_is_downed_by_its_own_center_SBR083(
    void **state)
{
    struct world *world = two_centers(75);

    (void)state;
    cut(world, true);
    world_run(world, 30 * SECOND);
    world_crash(world, 5);
    world_run(world, 60 * SECOND);
    for (uint32_t node = 0; node < 5; node++) {
        struct sherd_status status = world_status(world, node);

        assert_false(world_node(world, node)->has_ended);
        assert_int_equal(status.member_count, node < WIDTH ? 6 : 5);
        world_status_fini(&status);
    }
    cut(world, false);
    world_run(world, 60 * SECOND);
    expect_members(world, 5);
    world_free(world);
}

static void down_all_downs_only_its_own_center_SBR092(void **state)
{
    struct world *world;

    (void)state;
    strategy = STRATEGY_DOWN_ALL;
    world = two_centers(76);
    world_crash(world, 5);
    world_run(world, 60 * SECOND);
    for (uint32_t node = 0; node < 5; node++)
        assert_int_equal(world_node(world, node)->has_ended, node >= WIDTH);
    expect_members(world, WIDTH);
    world_free(world);
}

/* The ages of members in the other data center do not matter. */
static void keep_oldest_counts_only_its_own_center_SBR085(void **state)
{
    struct world *world;
    bool side[2 * WIDTH] = { false };
    uint32_t oldest, lost;

    (void)state;
    strategy = STRATEGY_KEEP_OLDEST;
    world = two_centers(77);
    oldest = coordinator(world, WIDTH, 0);
    lost = oldest == WIDTH ? WIDTH + 1 : WIDTH;
    for (uint32_t i = WIDTH; i < 2 * WIDTH; i++)
        side[i] = i != lost;
    for (int round = 0; round < 2; round++) { /* cut, and healed */
        for (uint32_t i = 0; i < 2 * WIDTH; i++)
            for (uint32_t k = 0; k < i; k++)
                if (side[i] != side[k])
                    net_part(world, i, k, round == 0);
        world_run(world, 90 * SECOND);
        for (uint32_t node = 0; node < 2 * WIDTH; node++)
            assert_int_equal(world_node(world, node)->has_ended, node == lost);
    }
    expect_members(world, 2 * WIDTH - 1);
    world_free(world);
}

/* The coordinator's own data center downs it, and all remove it. */
static void proxies_follow_when_the_oldest_of_the_other_center_crashes(void **state)
{
    struct world *world = two_centers(74);
    uint32_t oldest = 0;
    struct player player;
    struct player far;
    char id[8];

    (void)state;
    player_spawn(&far, world, 0, 0);
    for (uint32_t e = 0; e < 12; e++) {
        (void)snprintf(id, sizeof id, "d%u", e);
        assert_in_range(cast_home(&far, "E@west", id), 3, 5);
    }
    oldest = coordinator(world, 3, 0);
    world_crash(world, oldest);
    world_run(world, 90 * SECOND);
    expect_members(world, 2 * WIDTH - 1);
    player_spawn(&player, world, oldest == 5 ? 4 : 5, 0);
    for (uint32_t e = 0; e < 12; e++) {
        uint32_t home;

        (void)snprintf(id, sizeof id, "d%u", e);
        home = cast_home(&player, "E", id);
        assert_in_range(home, 3, 5);
        assert_int_not_equal(home, oldest);
        assert_int_equal(cast_home(&far, "E@west", id), home);
        assert_in_range(cast_home(&far, "E", id), 0, 2);
    }
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            each_center_has_its_own_shards_SHD261_SHD262_SGT037),
        cmocka_unit_test(
            a_center_takes_tells_and_asks_SHT078_SHT079_SHT080_SHT081),
        cmocka_unit_test(
            a_proxy_reaches_the_other_center_SHD249_SHD265_SHT083_SHT084),
        cmocka_unit_test(a_cut_downs_no_member_of_either_center_SBR086),
        cmocka_unit_test(
            a_crash_during_a_cut_is_downed_by_its_own_center_SBR083),
        cmocka_unit_test(down_all_downs_only_its_own_center_SBR092),
        cmocka_unit_test(keep_oldest_counts_only_its_own_center_SBR085),
        cmocka_unit_test(a_reference_reaches_its_data_center_from_both),
        cmocka_unit_test(
            proxies_follow_when_the_oldest_of_the_other_center_crashes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
