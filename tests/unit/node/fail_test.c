/* Tests nodes that crash, pause, are downed, leave or do not fit: what others see, and what remains
 * of their work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cast.h"

static void a_node_without_the_role_routes_messages_SHD007(void **state)
{
    struct world *world = cast_world(1, 3, 2);
    struct player player;
    char id[8];

    (void)state;
    player_spawn(&player, world, 2, 1);
    for (int i = 0; i < 12; i++) {
        (void)snprintf(id, sizeof id, "r%d", i);
        assert_int_equal(cast_home(&player, "R", id), 0);
    }
    for (uint32_t i = 0; i < 3; i++) {
        struct sherd_status status = world_status(world, i);

        assert_int_equal(status.types[3].entities_here, i ? 0 : 12);
        world_status_fini(&status);
    }
    world_free(world);
}

static void start(struct world *world, uint32_t index,
                  void (*change)(struct node_settings *settings))
{
    struct node_settings settings =
        world_node_settings(world, index, cast_types, CAST_TYPES);

    if (change)
        change(&settings);
    world_start(world, index, &settings);
}

static void wants_three(struct node_settings *settings)
{
    settings->min_nr_of_members = 3;
}

static void no_member_is_up_before_the_minimum_of_members(void **state)
{
    struct world *world = cast_new(2);

    (void)state;
    cast_begin();
    start(world, 0, wants_three);
    start(world, 1, wants_three);
    world_run(world, 30 * SECOND);
    assert_false(world_node(world, 0)->is_up || world_node(world, 1)->is_up);
    start(world, 2, wants_three);
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    world_free(world);
}

static const char *const wanted_roles[] = { "host" };
static const uint32_t wanted_counts[] = { 2 };

static void wants_a_second_host(struct node_settings *settings)
{
    settings->minimum_roles = wanted_roles;
    settings->role_minimums = wanted_counts;
    settings->role_minimum_count = 1;
}

static void is_a_host(struct node_settings *settings)
{
    wants_a_second_host(settings);
    settings->roles = wanted_roles;
    settings->role_count = 1;
}

static void no_member_is_up_before_the_minimum_of_a_role_MEM315(void **state)
{
    struct world *world = cast_new(2);

    (void)state;
    cast_begin();
    start(world, 0, is_a_host);
    start(world, 1, wants_a_second_host);
    world_run(world, 30 * SECOND);
    assert_false(world_node(world, 0)->is_up || world_node(world, 1)->is_up);
    start(world, 2, is_a_host);
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    world_free(world);
}

static void is_a_host_of_three(struct node_settings *settings)
{
    wants_three(settings);
    settings->roles = wanted_roles;
    settings->role_count = 1;
}

/* The minimum of all members does not count regions of a role. */
static void a_role_has_its_own_minimum_of_regions(void **state)
{
    struct world *world = cast_new(2);
    struct player player;

    (void)state;
    cast_begin();
    start(world, 0, is_a_host_of_three);
    start(world, 1, wants_three);
    start(world, 2, wants_three);
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    player_spawn(&player, world, 1, 0);
    assert_int_equal(cast_home(&player, "R", "r1"), 0);
    world_free(world);
}

/* One of two hosts leaves before there is a shard: the other one gets none. */
static void shards_wait_for_the_minimum_of_their_role(void **state)
{
    struct world *world = cast_new(2);
    struct player player;

    (void)state;
    cast_begin();
    start(world, 0, wants_a_second_host);
    start(world, 1, is_a_host);
    start(world, 2, is_a_host);
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    world_crash(world, 1);
    world_run(world, 10 * SECOND);
    world_down(world, 0, 1);
    world_run(world, 20 * SECOND);
    player_spawn(&player, world, 0, 0);
    player_ask(&player, "R", "r1", ECHO, 20000);
    assert_non_null(player_hears(&player, 30 * SECOND));
    assert_int_equal(player_last(&player)->kind, SHERD_NO_ANSWER);
    start(world, 3, is_a_host);
    world_run(world, 30 * SECOND);
    assert_int_not_equal(cast_home(&player, "R", "r1"), 0);
    world_free(world);
}

static void gives_up(struct node_settings *settings)
{
    settings->join_give_up = 20 * SECOND;
}

/* The first seed does not run. */
static void a_node_that_finds_no_cluster_gives_up(void **state)
{
    struct world *world = cast_new(2);
    uint32_t index = 1;

    (void)state;
    cast_begin();
    start(world, 1, gives_up);
    world_run(world, 19 * SECOND);
    assert_false(world_node_ended(world, &index));
    assert_true(world_until(world, world_node_ended, &index, 5 * SECOND));
    assert_int_equal(world_node(world, 1)->error, SHERD_EJOIN);
    world_free(world);
}

static void other_shards(struct node_settings *settings)
{
    settings->number_of_shards = 21;
}

static void another_number_of_shards_is_refused(void **state)
{
    struct world *world = cast_new(3);
    struct player players[3];
    char id[8];

    (void)state;
    cast_begin();
    start(world, 0, NULL);
    start(world, 1, other_shards);
    start(world, 2, NULL);
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    for (uint32_t i = 0; i < 3; i++)
        player_spawn(&players[i], world, i, 0);
    for (uint32_t e = 0; e < 20; e++) {
        (void)snprintf(id, sizeof id, "m%u", e);
        assert_true(cast_home(&players[0], "E", id) != 1);
        assert_true(cast_home(&players[2], "E", id) != 1);
    }
    player_ask(&players[1], "E", "m1", ECHO, 3000);
    assert_non_null(player_hears(&players[1], 5 * SECOND));
    assert_int_equal(player_last(&players[1])->kind, SHERD_NO_ANSWER);
    assert_true(world_logged(world, 1, "refuses this region"));
    world_leave(world, 1); /* it can still leave */
    assert_true(world_until(world, world_node_ended, &(uint32_t){ 1 },
                            100 * SECOND));
    world_free(world);
}

static void other_name(struct node_settings *settings)
{
    settings->identity.system = "Elsewhere";
}

static void another_cluster_is_not_joined(void **state)
{
    struct world *world = cast_new(4);
    struct sherd_status status;

    (void)state;
    cast_begin();
    start(world, 0, NULL);
    start(world, 1, NULL);
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    start(world, 2, other_name);
    world_run(world, 60 * SECOND);
    assert_false(world_node(world, 2)->is_up);
    status = world_status(world, 0);
    assert_int_equal(status.member_count, 2);
    world_status_fini(&status);
    world_leave(world, 2);
    assert_true(world_until(world, world_node_ended, &(uint32_t){ 2 },
                            30 * SECOND));
    world_free(world);
}

/* Entities answer elsewhere, with their acknowledged events. */
static void acknowledged_events_survive_the_coordinator(void **state)
{
    struct world *world = cast_world(5, 3, 2);
    struct player player;
    char id[8];

    (void)state;
    player_spawn(&player, world, 2, 0);
    for (uint32_t e = 0; e < 20; e++) {
        (void)snprintf(id, sizeof id, "p%u", e);
        for (uint64_t i = 1; i <= 1 + e % 3; i++)
            assert_int_equal(player_asks(&player, "P", id, STORE), i);
    }
    world_crash(world, 0);
    world_run(world, 10 * SECOND);
    world_down(world, 2, 0);
    world_run(world, 20 * SECOND);
    for (uint32_t e = 0; e < 20; e++) {
        (void)snprintf(id, sizeof id, "p%u", e);
        assert_int_equal(player_asks(&player, "P", id, STORE), 2 + e % 3);
        assert_true(cast_home(&player, "P", id) != 0);
    }
    world_free(world);
}

/* The shards of the node move, and it resumes with work to do. */
static void a_paused_owner_is_fenced(void **state)
{
    struct world *world = cast_world(6, 3, 2);
    struct player inside;
    struct player player;
    const char *id;
    uint64_t life;

    (void)state;
    player_spawn(&player, world, 0, 0);
    id = cast_id_at(&player, "P", 2);
    player_spawn(&inside, world, 2, 0);
    assert_int_equal(player_asks(&player, "P", id, STORE), 1);
    assert_int_equal(player_asks(&inside, "P", id, STORE), 2);
    world_pause(world, 2, true);
    world_run(world, 10 * SECOND);
    world_down(world, 0, 2);
    world_run(world, 20 * SECOND);
    assert_int_equal(player_asks(&player, "P", id, STORE), 3);
    assert_true(cast_home(&player, "P", id) != 2);
    /* in its last moment, so to speak */
    inside.count = player.count = 0;
    inside.type = "P";
    inside.id = id;
    life = world_node(world, 2)->life;
    world_pause(world, 2, false);
    player_ask(&inside, "P", id, STORE, 60000);
    for (int i = 0; i < 20; i++) {
        world_run(world, 500 * MS);
        assert_true(!inside.count ||
                    player_last(&inside)->kind == SHERD_NO_ANSWER);
    }
    assert_int_equal(world_node(world, 2)->life, life);
    assert_true(world_node(world, 2)->has_ended);
    assert_int_equal(world_node(world, 2)->error, SHERD_EDOWN);
    assert_int_equal(player_asks(&player, "P", id, STORE), 4);
    world_free(world);
}

static void send_ten(struct sherd_ctx *ctx, struct player *player)
{
    for (int i = 0; i < 10; i++) {
        struct numbered body = { (uint32_t)player->timeout_ms, 0,
                                 ++player->tag };

        sherd_entity_tell(ctx, "P", player->id, NUMBERED,
                          (struct sherd_bytes){ &body, sizeof body });
    }
}

/* The node's late frames are refused, and counted at the receiver. */
static void messages_of_a_paused_node_are_accounted_for(void **state)
{
    struct world *world = cast_world(45, 3, 2);
    struct player player;
    struct sherd_status status;

    (void)state;
    player_spawn(&player, world, 2, 0);
    player.id = cast_id_at(&player, "P", 0);
    player.timeout_ms = player.tag = 0;
    player_do(&player, send_ten);
    world_run(world, SECOND);
    assert_int_equal(cast.numbered, 10);
    world_pause(world, 2, true);
    world_run(world, 10 * SECOND);
    world_down(world, 0, 2);
    world_run(world, 20 * SECOND);
    world_pause(world, 2, false);
    player_do(&player, send_ten);
    world_run(world, 5 * SECOND);
    assert_int_equal(cast.numbered, 10);
    status = world_status(world, 0);
    assert_int_equal(status.undelivered[SHERD_REASON_NODE_GONE], 10);
    world_status_fini(&status);
    world_free(world);
}

static void send_numbers(struct sherd_ctx *ctx, struct player *player)
{
    for (int i = 0; i < 4000; i++) {
        struct numbered body = { 0, 0, ++player->tag };

        sherd_entity_tell(ctx, "E", player->id, NUMBERED,
                          (struct sherd_bytes){ &body, sizeof body });
    }
}

static void much_may_wait(struct node_settings *settings)
{
    settings->buffer_size = 100000;
}

/* The peer does not read: the rest waits, in order. */
static void a_full_link_holds_messages_back(void **state)
{
    struct world_settings settings = cast_settings(7);
    struct world *world;
    struct player player;
    struct sherd_status status;

    (void)state;
    cast_begin();
    settings.pipe_size = 16 * 1024;
    world = world_new(&settings);
    start(world, 0, much_may_wait);
    start(world, 1, much_may_wait);
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    player_spawn(&player, world, 0, 1);
    player.id = cast_id_at(&player, "E", 1);
    player.tag = 0;
    player.count = 0;
    world_pause(world, 1, true);
    for (int i = 0; i < 10; i++)
        player_do(&player, send_numbers);
    world_run(world, SECOND);
    assert_int_equal(cast.numbered, 0);
    world_pause(world, 1, false);
    world_run(world, 10 * SECOND);
    status = world_status(world, 0);
    for (uint32_t i = 1; i < SHERD_REASON_COUNT; i++)
        assert_int_equal(status.undelivered[i], 0);
    assert_true(status.held_total > 0);
    world_status_fini(&status);
    status = world_status(world, 1);
    assert_int_equal(cast.numbered +
                         status.undelivered[SHERD_REASON_MAILBOX_FULL],
                     40000);
    world_status_fini(&status);
    world_free(world);
}

/* A recovering entity does not stop in time. Messages of the hand-off have a shorter path than
 * those in its mailbox, which go to the new home only if its own lane sent them; the rest ends and
 * is reported. */
static void a_forced_end_keeps_order_and_accounts_for_all(void **state)
{
    (void)state;
    for (uint32_t lane = 0; lane < 2; lane++) {
        struct world *world = cast_world(33, 3, 2);
        struct player here;
        struct player there;

        player_spawn(&here, world, 2, lane);
        player_spawn(&there, world, 0, lane);
        there.timeout_ms = 1; /* its number as a sender */
        here.id = there.id = cast_id_at(&there, "P", 2);
        here.timeout_ms = 0;
        here.tag = there.tag = 0;
        there.timeout_ms = 1;
        player_tell(&there, "P", there.id, STOP);
        world_run(world, SECOND);
        disk_backend_hold(world_backend(world), true);
        player_do(&here, send_ten);
        player_do(&there, send_ten);
        world_run(world, SECOND);
        world_leave(world, 2);
        for (int i = 0; i < 20; i++) {
            player_do(&here, send_ten);
            player_do(&there, send_ten);
            world_run(world, SECOND);
        }
        assert_int_equal(cast.numbered, 0);
        world_run(world, 10 * SECOND); /* the stop is over by now */
        disk_backend_hold(world_backend(world), false);
        assert_true(world_until(world, world_node_ended, &(uint32_t){ 2 },
                                90 * SECOND));
        world_run(world, SECOND);
        assert_int_equal(cast.overtaken, 0);
        assert_true(cast.numbered >= 380); /* only those in the mailbox end */
        assert_int_equal(cast.numbered + cast.undelivered, 420);
        world_free(world);
    }
}

/* The cluster has not removed the former incarnation, and others still send to it. */
static void a_new_incarnation_gets_no_messages_for_the_earlier_one(void **state)
{
    (void)state;
    for (uint32_t lane = 0; lane < 2; lane++) {
        struct world *world = cast_world(44 + lane, 3, 2);
        struct player player;
        struct sherd_status status;

        player_spawn(&player, world, 0, lane);
        player.id = cast_id_at(&player, "P", 2);
        player.timeout_ms = player.tag = 0;
        player_do(&player, send_ten);
        world_run(world, SECOND);
        assert_int_equal(cast.numbered, 10);
        world_crash(world, 2);
        start(world, 2, NULL);
        for (int i = 0; i < 1000; i++) {
            player_do(&player, send_ten);
            world_run(world, 20 * MS);
        }
        world_run(world, 10 * SECOND);
        assert_int_equal(cast.overtaken, 0);
        assert_int_equal(cast.last[0][0], 10010);
        status = world_status(world, 2);
        assert_int_equal(status.undelivered[SHERD_REASON_HANDED_OFF], 0);
        world_status_fini(&status);
        /* lost: messages in flight at its crash, and in the link to it */
        assert_true(cast.numbered > 9000);
        world_free(world);
    }
}

static void entities_recover_after_the_coordinator_leaves(void **state)
{
    struct world *world = cast_world(8, 6, 2);
    struct player player;
    char id[8];

    (void)state;
    player_spawn(&player, world, 1, 1);
    for (uint32_t e = 0; e < 20; e++) {
        (void)snprintf(id, sizeof id, "p%u", e);
        assert_int_equal(player_asks(&player, "P", id, STORE), 1);
    }
    world_leave(world, 0);
    assert_true(world_until(world, world_node_ended, &(uint32_t){ 0 },
                            60 * SECOND));
    assert_int_equal(world_node(world, 0)->error, 0);
    for (uint32_t e = 0; e < 20; e++) {
        (void)snprintf(id, sizeof id, "p%u", e);
        assert_int_equal(player_asks(&player, "P", id, STORE), 2);
    }
    world_free(world);
}

/* The frames wait for a peer that is briefly unreachable. */
static void a_leaving_node_sends_its_waiting_frames(void **state)
{
    struct world *world = cast_world(22, 3, 1);
    struct player player;
    const char *id;

    (void)state;
    player_spawn(&player, world, 0, 0);
    id = cast_id_at(&player, "P", 2);
    player_spawn(&player, world, 1, 0);
    player.id = id;
    (void)player_asks(&player, "P", id, ECHO); /* it knows the home */
    player.timeout_ms = player.tag = 0;
    world_leave(world, 1);
    while (!world_logged(world, 1, "status=leaving"))
        world_run(world, MS);
    net_part(world, 1, 2, true);
    player_do(&player, send_ten);
    world_run(world, 2900 * MS);
    net_part(world, 1, 2, false);
    world_run(world, 10 * SECOND);
    assert_true(world_node(world, 1)->has_ended);
    assert_int_equal(cast.numbered, 10);
    world_free(world);
}

static void all_nodes_leave_one_after_the_other_MEM073(void **state)
{
    struct world *world = cast_world(9, 3, 3);
    struct player player;

    (void)state;
    player_spawn(&player, world, 2, 2);
    assert_int_equal(player_asks(&player, "P", "a", STORE), 1);
    assert_int_equal(player_asks(&player, "E", "a", COUNT), 1);
    for (uint32_t i = 0; i < 3; i++) {
        world_leave(world, i);
        assert_true(world_until(world, world_node_ended, &i, 100 * SECOND));
        assert_int_equal(world_node(world, i)->error, 0);
    }
    assert_int_equal(cast.started, cast.ended);
    world_free(world);
}

static void all_nodes_leave_at_once(void **state)
{
    struct world *world = cast_world(10, 3, 2);
    struct player player;

    (void)state;
    player_spawn(&player, world, 2, 1);
    assert_int_equal(player_asks(&player, "P", "a", STORE), 1);
    for (uint32_t i = 0; i < 3; i++)
        world_leave(world, i);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(world_until(world, world_node_ended, &i, 150 * SECOND));
        assert_int_equal(world_node(world, i)->error, 0);
    }
    assert_int_equal(cast.started, cast.ended);
    world_free(world);
}

/* Entities end when they say so. */
static void entities_get_the_stop_message_at_a_hand_off(void **state)
{
    struct world *world = cast_world(11, 2, 2);
    struct player player;
    const char *id;

    (void)state;
    player_spawn(&player, world, 0, 0);
    id = cast_id_at(&player, "S", 1);
    cast.stop_messages = 0;
    world_leave(world, 1);
    assert_true(world_until(world, world_node_ended, &(uint32_t){ 1 },
                            60 * SECOND));
    assert_true(cast.stop_messages > 0);
    assert_int_equal(cast_home(&player, "S", id), 0);
    world_free(world);
}

/* It crashes at any time from its start on, with work in progress. */
static void a_crash_frees_everything(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct world *world = cast_world(seed, 3, 1 + (uint32_t)(seed % 3));
        struct player players[3];
        struct rng rng;

        rng_init(&rng, seed);
        for (uint32_t i = 0; i < 3; i++) {
            player_spawn(&players[i], world, i, 0);
            for (uint32_t e = 0; e < 10; e++) {
                char id[8];

                (void)snprintf(id, sizeof id, "c%u", e);
                player_tell(&players[i], e % 2 ? "E" : "P", id,
                            e % 2 ? SILENT : STORE);
            }
        }
        world_run(world, rng_below(&rng, 30 * MS));
        world_crash(world, (uint32_t)rng_below(&rng, 3));
        world_run(world, rng_below(&rng, 30 * MS));
        world_free(world);
    }
}

static void tell_large(struct sherd_ctx *ctx, struct player *player)
{
    static const char body[150000];

    for (uint32_t e = 0; e < 8; e++) {
        char id[8];

        (void)snprintf(id, sizeof id, "l%u", e);
        sherd_entity_tell(ctx, "E", id, SILENT,
                          (struct sherd_bytes){ body, sizeof body });
        sherd_tell(ctx, player->other, SILENT,
                   (struct sherd_bytes){ body, sizeof body });
    }
}

/* Also messages in mail end, in the driver's hands and before. */
static void large_messages_end_with_their_node(void **state)
{
    (void)state;
    for (int when = 0; when < 3; when++) {
        struct world *world = cast_world(20, 2, 3);
        struct player player;
        struct player other;

        player_spawn(&player, world, 0, 0);
        player_spawn(&other, world, 0, 2);
        player.other = other.ref;
        player_do(&player, tell_large);
        world_run(world, SECOND);
        world_mail_delay(world, when == 1 ? 60 * SECOND : 0);
        player_do(&player, tell_large);
        world_crash(world, 0);
        world_free(world);
    }
}

static void messages_arrive_after_a_cut_heals(void **state)
{
    struct world *world = cast_world(12, 3, 2);
    struct player player;
    struct sherd_status status;
    const char *id;

    (void)state;
    player_spawn(&player, world, 0, 0);
    id = cast_id_at(&player, "P", 2);
    (void)player_asks(&player, "P", id, STORE);
    net_part(world, 0, 2, true);
    player.count = 0;
    player_ask(&player, "P", id, STORE, 60000);
    world_run(world, 20 * SECOND);
    assert_int_equal(player.count, 0);
    net_part(world, 0, 2, false);
    assert_non_null(player_hears(&player, 10 * SECOND));
    assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
    assert_int_equal(player_last(&player)->value, 2);
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    status = world_status(world, 0);
    assert_int_equal(status.undelivered[SHERD_REASON_LINK_LOST], 0);
    world_status_fini(&status);
    world_free(world);
}

static void frames_of_a_lost_link_are_counted(void **state)
{
    struct world *world = cast_world(13, 3, 1);
    struct player player;
    struct sherd_status status;
    const char *id;

    (void)state;
    player_spawn(&player, world, 0, 0);
    id = cast_id_at(&player, "E", 2);
    world_crash(world, 2);
    world_run(world, SECOND);
    for (int i = 0; i < 5; i++)
        player_tell(&player, "E", id, SILENT);
    world_run(world, SECOND);
    world_down(world, 0, 2);
    world_run(world, 20 * SECOND);
    status = world_status(world, 0);
    assert_int_equal(status.undelivered[SHERD_REASON_LINK_LOST], 5);
    world_status_fini(&status);
    world_free(world);
}

static void joins_by_1(struct node_settings *settings)
{
    static const struct address seeds[] = { { "n1", 2551 } };

    settings->seed_nodes = seeds;
    settings->seed_node_count = 1;
}

/* The incarnation shook hands and ended before it was a member: no removal will be reported. */
static void messages_for_an_unknown_incarnation_end(void **state)
{
    struct world *world = cast_world(19, 3, 1);
    struct sherd_status status;
    struct player player;
    uint64_t before;

    (void)state;
    player_spawn(&player, world, 1, 0);
    world_run(world, 3 * SECOND); /* heartbeats: each node has met all others */
    world_crash(world, 2);
    start(world, 2, joins_by_1);
    for (int i = 0;
         i < 1000000 && !world_logged(world, 1, "new incarnation peer=n2"); i++)
        world_run(world, MS / 100);
    world_run(world, 3 * MS / 100); /* the lane hears of it; a request to join takes longer */
    player.other.node = world_node(world, 2)->settings.identity.node.uid;
    player.other.actor = player.ref.actor;
    assert_false(world_logged(world, 1, "member downed"));
    world_crash(world, 2);
    world_run(world, 100 * MS);
    status = world_status(world, 1);
    before = status.undelivered[SHERD_REASON_LINK_LOST];
    world_status_fini(&status);
    player_ask(&player, NULL, NULL, ECHO, 1000); /* an unknown node there */
    world_run(world, 60 * SECOND);
    status = world_status(world, 1);
    assert_true(status.undelivered[SHERD_REASON_LINK_LOST] > before);
    world_status_fini(&status);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_without_the_role_routes_messages_SHD007),
        cmocka_unit_test(no_member_is_up_before_the_minimum_of_members),
        cmocka_unit_test(no_member_is_up_before_the_minimum_of_a_role_MEM315),
        cmocka_unit_test(a_role_has_its_own_minimum_of_regions),
        cmocka_unit_test(shards_wait_for_the_minimum_of_their_role),
        cmocka_unit_test(a_node_that_finds_no_cluster_gives_up),
        cmocka_unit_test(another_number_of_shards_is_refused),
        cmocka_unit_test(another_cluster_is_not_joined),
        cmocka_unit_test(acknowledged_events_survive_the_coordinator),
        cmocka_unit_test(a_paused_owner_is_fenced),
        cmocka_unit_test(messages_of_a_paused_node_are_accounted_for),
        cmocka_unit_test(a_full_link_holds_messages_back),
        cmocka_unit_test(a_forced_end_keeps_order_and_accounts_for_all),
        cmocka_unit_test(a_new_incarnation_gets_no_messages_for_the_earlier_one),
        cmocka_unit_test(entities_recover_after_the_coordinator_leaves),
        cmocka_unit_test(a_leaving_node_sends_its_waiting_frames),
        cmocka_unit_test(all_nodes_leave_one_after_the_other_MEM073),
        cmocka_unit_test(all_nodes_leave_at_once),
        cmocka_unit_test(entities_get_the_stop_message_at_a_hand_off),
        cmocka_unit_test(a_crash_frees_everything),
        cmocka_unit_test(large_messages_end_with_their_node),
        cmocka_unit_test(messages_arrive_after_a_cut_heals),
        cmocka_unit_test(frames_of_a_lost_link_are_counted),
        cmocka_unit_test(messages_for_an_unknown_incarnation_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
