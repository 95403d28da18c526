/* Tests that an ask that times out reports where its message waits, also on another node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cast.h"

static void runs_out(struct player *player, enum sherd_stage stage,
                     const char *where)
{
    const struct heard *heard = player_hears(player, 100 * SECOND);

    assert_non_null(heard);
    assert_int_equal(heard->kind, SHERD_NO_ANSWER);
    assert_int_equal(heard->reason, SHERD_REASON_TIMEOUT);
    assert_string_equal(sherd_stage_text(heard->stage),
                        sherd_stage_text(stage));
    assert_string_equal(heard->where, where);
    player->count = 0;
}

static void timeout_names_a_missing_coordinator(void **state)
{
    struct world *world = cast_new(1);
    struct player player;
    struct node_settings settings =
        world_node_settings(world, 1, cast_types, CAST_TYPES);

    (void)state;
    cast_begin();
    world_start(world, 1, &settings); /* its seed node does not run */
    world_run(world, SECOND);
    player_spawn(&player, world, 1, 0);
    player_ask(&player, "E", "a", ECHO, 500);
    runs_out(&player, SHERD_STAGE_NO_COORDINATOR, "");
    world_free(world);
}

/* A coordinator that waits for its term gives no homes. */
static void timeout_names_an_unknown_home(void **state)
{
    struct world *world = cast_world(2, 2, 2);
    struct player player;

    (void)state;
    player_spawn(&player, world, 1, 1);
    world_pause(world, 0, true);
    player_ask(&player, "E", "a", ECHO, 500);
    runs_out(&player, SHERD_STAGE_HOME_UNKNOWN, "");
    world_free(world);
}

/* At the time-out there is a coordinator, with too few regions. */
static void timeout_names_the_latest_stage(void **state)
{
    struct world *world = cast_new(1);
    struct sherd_entity_type proxies[CAST_TYPES];
    struct node_settings settings;
    struct player player;

    (void)state;
    cast_begin();
    memcpy(proxies, cast_types, sizeof proxies);
    for (int i = 0; i < CAST_TYPES; i++)
        proxies[i].proxy = 1;
    settings = world_node_settings(world, 1, proxies, CAST_TYPES);
    world_start(world, 1, &settings); /* its seed node does not run */
    world_run(world, SECOND);
    player_spawn(&player, world, 1, 0);
    player_ask(&player, "E", "a", ECHO, 60000);
    settings = world_node_settings(world, 0, cast_types, CAST_TYPES);
    settings.min_nr_of_members = 2;
    world_start(world, 0, &settings);
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    runs_out(&player, SHERD_STAGE_HOME_UNKNOWN, "");
    world_free(world);
}

/* Its message waits for a home that nobody needs any more. */
static void an_ask_that_has_ended_delays_no_shutdown(void **state)
{
    struct world *world = cast_new(2);
    struct sherd_entity_type proxies[CAST_TYPES];
    struct node_settings settings;
    struct player player;
    uint32_t node = 0;

    (void)state;
    cast_begin();
    memcpy(proxies, cast_types, sizeof proxies);
    for (int i = 0; i < CAST_TYPES; i++)
        proxies[i].proxy = 1;
    settings = world_node_settings(world, 0, proxies, CAST_TYPES);
    world_start(world, 0, &settings);
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    player_spawn(&player, world, 0, 0);
    player_ask(&player, "E", "a", ECHO, 300);
    runs_out(&player, SHERD_STAGE_NO_COORDINATOR, "");
    player_ask(&player, "E", "a", ECHO, 1500);
    world_leave(world, 0);
    assert_true(world_until(world, world_node_ended, &node, 3 * SECOND));
    world_free(world);
}

static void timeout_names_delivery_here_and_sending_elsewhere(void **state)
{
    struct world *world = cast_world(3, 2, 2);
    struct player players[2];

    (void)state;
    for (uint32_t node = 0; node < 2; node++) {
        const char *id;

        for (uint32_t i = 0; i < 2; i++)
            player_spawn(&players[i], world, node, i);
        id = cast_id_at(&players[0], "E", node);
        (void)player_asks(&players[1], "E", id, ECHO);
        for (uint32_t i = 0; i < 2; i++) {
            players[i].count = 0;
            player_ask(&players[i], "E", id, SILENT, 500);
        }
        /* one is on the entity's lane, the other gets a report */
        runs_out(&players[0], SHERD_STAGE_DELIVERED, "");
        runs_out(&players[1], SHERD_STAGE_DELIVERED, "");
        id = cast_id_at(&players[0], "E", 1 - node);
        players[0].count = 0;
        player_ask(&players[0], "E", id, SILENT, 500);
        runs_out(&players[0], SHERD_STAGE_SENT, node ? "n0:2551" : "n1:2551");
    }
    world_free(world);
}

/* An unknown stage is never "not sent". */
static void timeout_counts_a_message_to_another_lane_as_sent(void **state)
{
    struct world *world = cast_world(8, 1, 2);
    struct player players[2];
    struct player *others = &players[1];
    uint32_t sent = 0;
    const char *id;

    (void)state;
    for (uint32_t i = 0; i < 2; i++)
        player_spawn(&players[i], world, 0, i);
    id = cast_id_at(&players[0], "E", 0);
    for (uint32_t i = 0; i < 2; i++) {
        players[i].count = 0;
        player_ask(&players[i], "E", id, SILENT, 50);
        assert_non_null(player_hears(&players[i], SECOND));
        sent += player_last(&players[i])->stage == SHERD_STAGE_SENT;
        assert_true(player_last(&players[i])->stage == SHERD_STAGE_SENT ||
                    player_last(&players[i])->stage == SHERD_STAGE_DELIVERED);
    }
    assert_int_equal(sent, 1); /* the other one is on the entity's lane */
    players[0].count = 0;
    players[0].other = others->ref;
    player_ask(&players[0], NULL, NULL, SILENT, 500);
    runs_out(&players[0], SHERD_STAGE_SENT, "");
    world_free(world);
}

static void store_much(struct sherd_ctx *ctx, struct player *player)
{
    for (int i = 0; i < 1030; i++)
        sherd_entity_tell(ctx, "P", player->id, STORE,
                          (struct sherd_bytes){ NULL, 0 });
}

static void timeout_names_a_mailbox_of_another_lane(void **state)
{
    struct world *world = cast_world(9, 1, 2);
    struct player players[2];

    (void)state;
    for (uint32_t i = 0; i < 2; i++)
        player_spawn(&players[i], world, 0, i);
    players[0].id = cast_id_at(&players[0], "P", 0);
    disk_backend_hold(world_backend(world), true);
    player_do(&players[0], store_much);
    world_run(world, SECOND);
    for (uint32_t i = 0; i < 2; i++) {
        players[i].count = 0;
        player_ask(&players[i], "P", players[0].id, ECHO, 500);
        runs_out(&players[i], SHERD_STAGE_QUEUED, "");
    }
    world_free(world);
}

/* The store hangs: entities recover, and running ones are not scheduled. */
static void timeout_counts_a_recovery_on_another_node_as_sent(void **state)
{
    struct world *world = cast_world(4, 2, 2);
    struct player player;
    const char *id;

    (void)state;
    player_spawn(&player, world, 0, 1);
    id = cast_id_at(&player, "P", 1);
    player_tell(&player, "P", id, STOP);
    world_run(world, SECOND);
    disk_backend_hold(world_backend(world), true);
    player.count = 0;
    player_ask(&player, "P", id, ECHO, 500);
    runs_out(&player, SHERD_STAGE_SENT, "n1:2551"); /* it may have read it since */
    player_ask(&player, "P", id, ECHO, 50); /* no report yet */
    runs_out(&player, SHERD_STAGE_SENT, "n1:2551");
    world_free(world);
}

static void timeout_names_a_mailbox_on_another_node(void **state)
{
    struct world *world = cast_world(5, 2, 2);
    struct player player;

    (void)state;
    player_spawn(&player, world, 0, 1);
    player.id = cast_id_at(&player, "P", 1);
    disk_backend_hold(world_backend(world), true);
    player_do(&player, store_much); /* more than a link may have in flight */
    world_run(world, SECOND);
    player.count = 0;
    player_ask(&player, "P", player.id, ECHO, 500);
    runs_out(&player, SHERD_STAGE_QUEUED, "n1:2551");
    world_free(world);
}

static void timeout_names_a_hand_off(void **state)
{
    struct world *world = cast_world(6, 3, 1);
    struct player players[3];
    uint32_t home;
    uint32_t owner;

    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        player_spawn(&players[i], world, i, 0);
    home = cast_home(&players[0], "E", "a");
    owner = home ? home : 2;
    if (!home) /* node 0 decides, so another must own the shard */
        players[0].id = cast_id_at(&players[0], "E", owner);
    else
        players[0].id = "a";
    world_pause(world, 3 - owner, true); /* the hand-off waits for it */
    world_leave(world, owner);
    world_run(world, 100 * MS);
    players[0].count = 0;
    player_ask(&players[0], "E", players[0].id, ECHO, 1000);
    runs_out(&players[0], SHERD_STAGE_HANDING_OFF, "");
    world_pause(world, 3 - owner, false);
    assert_true(world_until(world, world_node_ended, &owner, 60 * SECOND));
    assert_true(cast_home(&players[0], "E", players[0].id) != owner);
    world_free(world);
}

/* The message waits for the claim of the shard's fence. */
static void timeout_counts_a_claim_on_another_node_as_sent(void **state)
{
    struct world *world = cast_world(7, 2, 1);
    struct player player;
    const struct heard *heard;
    bool seen = false;
    char id[8];

    (void)state;
    player_spawn(&player, world, 0, 0);
    disk_backend_hold(world_backend(world), true);
    for (uint32_t i = 0; i < 20 && !seen; i++) {
        (void)snprintf(id, sizeof id, "h%u", i);
        player.count = 0;
        player_ask(&player, "P", id, ECHO, 300);
        heard = player_hears(&player, SECOND);
        assert_non_null(heard);
        assert_int_equal(heard->reason, SHERD_REASON_TIMEOUT);
        seen = !strcmp(heard->where, "n1:2551");
        if (seen)
            assert_int_equal(heard->stage, SHERD_STAGE_SENT);
    }
    assert_true(seen);
    world_free(world);
}

/* The entity's node reports the recovery. Then the entity reads the message and never answers. */
static void timeout_after_a_recovery_on_another_node_says_sent(void **state)
{
    struct world *world = cast_world(10, 2, 2);
    struct player player;
    const char *id;

    (void)state;
    player_spawn(&player, world, 0, 1);
    id = cast_id_at(&player, "P", 1);
    player_tell(&player, "P", id, STOP);
    world_run(world, SECOND);
    disk_backend_hold(world_backend(world), true);
    player.count = 0;
    player_ask(&player, "P", id, SILENT, 5000);
    world_run(world, SECOND);
    disk_backend_hold(world_backend(world), false);
    runs_out(&player, SHERD_STAGE_SENT, "n1:2551");
    world_free(world);
}

/* The same on another lane of the asker's node. */
static void timeout_after_a_recovery_on_another_lane_says_sent(void **state)
{
    struct world *world = cast_world(11, 1, 2);
    struct player players[2];
    uint32_t sent = 0, delivered = 0;
    const char *id;

    (void)state;
    for (uint32_t i = 0; i < 2; i++)
        player_spawn(&players[i], world, 0, i);
    id = cast_id_at(&players[0], "P", 0);
    player_tell(&players[0], "P", id, STOP);
    world_run(world, SECOND);
    disk_backend_hold(world_backend(world), true);
    for (uint32_t i = 0; i < 2; i++) {
        players[i].count = 0;
        player_ask(&players[i], "P", id, SILENT, 5000);
    }
    world_run(world, SECOND);
    disk_backend_hold(world_backend(world), false);
    for (uint32_t i = 0; i < 2; i++) {
        const struct heard *heard = player_hears(&players[i], 100 * SECOND);

        assert_non_null(heard);
        assert_int_equal(heard->reason, SHERD_REASON_TIMEOUT);
        sent += heard->stage == SHERD_STAGE_SENT;
        delivered += heard->stage == SHERD_STAGE_DELIVERED;
    }
    assert_int_equal(sent, 1);
    assert_int_equal(delivered, 1); /* this asker is on the entity's lane */
    world_free(world);
}

/* The message waits for the claim of the shard's fence. Then the entity reads it and never
 * answers. */
static void timeout_after_a_claim_on_another_node_says_sent(void **state)
{
    struct world *world = cast_world(7, 2, 1);
    struct player player;
    const struct heard *heard;
    uint32_t sent = 0;
    char id[8];

    (void)state;
    player_spawn(&player, world, 0, 0);
    for (uint32_t i = 0; i < 20; i++) {
        (void)snprintf(id, sizeof id, "h%u", i);
        player.count = 0;
        disk_backend_hold(world_backend(world), true);
        player_ask(&player, "P", id, SILENT, 3000);
        world_run(world, 500 * MS);
        disk_backend_hold(world_backend(world), false);
        heard = player_hears(&player, 4 * SECOND);
        assert_non_null(heard);
        assert_int_equal(heard->reason, SHERD_REASON_TIMEOUT);
        if (!strcmp(heard->where, "n1:2551")) {
            /* a message before the order to host waits for a home there */
            assert_true(heard->stage == SHERD_STAGE_SENT ||
                        heard->stage == SHERD_STAGE_HOME_UNKNOWN);
            sent += heard->stage == SHERD_STAGE_SENT;
        }
    }
    assert_true(sent > 0);
    world_free(world);
}

static void ask_or_fail(struct sherd_ctx *ctx, struct player *player)
{
    struct sherd_bytes none = { NULL, 0 };

    if (player->type)
        sherd_entity_ask_or_fail(ctx, player->type, player->id, player->msg,
                                 none, player->tag, player->timeout_ms);
    else
        sherd_ask_or_fail(ctx, player->other, player->msg, none, player->tag,
                          player->timeout_ms);
}

static void begin_to_ask(struct player *player, const char *type,
                         const char *id, uint32_t msg)
{
    player->count = 0;
    player->type = type;
    player->id = id;
    player->msg = msg;
    player->timeout_ms = 60000;
    player->tag++;
    player_do(player, ask_or_fail);
}

/* Returns the time that it took. */
static uint64_t fails(struct player *player)
{
    uint64_t begin = world_now(player->world);
    const struct heard *heard = player_hears(player, 50 * SECOND);

    assert_non_null(heard);
    assert_int_equal(heard->kind, SHERD_NO_ANSWER);
    assert_int_equal(heard->reason, SHERD_REASON_UNREACHABLE);
    assert_string_equal(heard->where, "n1:2551");
    return world_now(player->world) - begin;
}

static void remember_sender(struct player *player, const struct heard *heard)
{
    player->other = heard->sender;
}

/* An ask that may fail ends when the member is unreachable, and later ones at once. Others wait. */
static void asks_to_an_unreachable_member_fail_if_the_caller_chooses(void **state)
{
    struct world *world = cast_world(9, 3, 2);
    struct player players[3];
    struct player *player = &players[0];
    char id[8];
    (void)state;

    player_spawn(&players[0], world, 0, 0);
    player_spawn(&players[1], world, 0, 0);
    player_spawn(&players[2], world, 0, 0);
    (void)snprintf(id, sizeof id, "%s", cast_id_at(player, "E", 1));
    player->hears = remember_sender;
    (void)player_asks(player, "E", id, ECHO);
    player->hears = NULL;
    players[1].other = player->other;
    begin_to_ask(player, "E", id, ECHO); /* the member is reachable */
    assert_int_equal(player_hears(player, SECOND)->kind, SHERD_ANSWER);

    net_part(world, 0, 1, true);
    net_part(world, 2, 1, true);
    begin_to_ask(player, "E", id, ECHO);
    begin_to_ask(&players[1], NULL, NULL, ECHO);
    player_ask(&players[2], "E", id, ECHO, 20000); /* may not fail */
    assert_true(fails(player) > 2 * SECOND);
    assert_true(fails(&players[1]) < SECOND);
    for (int i = 0; i < 2; i++) {
        begin_to_ask(player, i ? NULL : "E", id, ECHO);
        assert_true(fails(player) <= 10 * MS);
    }
    player->count = 0;
    player_ask(player, "E", id, ECHO, 5000);
    runs_out(player, SHERD_STAGE_SENT, "n1:2551");
    runs_out(&players[2], SHERD_STAGE_SENT, "n1:2551");

    net_part(world, 0, 1, false);
    net_part(world, 2, 1, false);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, SECOND);
    begin_to_ask(player, "E", id, ECHO);
    assert_int_equal(player_hears(player, 5 * SECOND)->kind, SHERD_ANSWER);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeout_names_a_missing_coordinator),
        cmocka_unit_test(asks_to_an_unreachable_member_fail_if_the_caller_chooses),
        cmocka_unit_test(an_ask_that_has_ended_delays_no_shutdown),
        cmocka_unit_test(timeout_names_an_unknown_home),
        cmocka_unit_test(timeout_names_the_latest_stage),
        cmocka_unit_test(timeout_names_delivery_here_and_sending_elsewhere),
        cmocka_unit_test(timeout_counts_a_message_to_another_lane_as_sent),
        cmocka_unit_test(timeout_names_a_mailbox_of_another_lane),
        cmocka_unit_test(timeout_counts_a_recovery_on_another_node_as_sent),
        cmocka_unit_test(timeout_names_a_mailbox_on_another_node),
        cmocka_unit_test(timeout_names_a_hand_off),
        cmocka_unit_test(timeout_counts_a_claim_on_another_node_as_sent),
        cmocka_unit_test(timeout_after_a_recovery_on_another_node_says_sent),
        cmocka_unit_test(timeout_after_a_recovery_on_another_lane_says_sent),
        cmocka_unit_test(timeout_after_a_claim_on_another_node_says_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
