/* Tests leases of shards and coordinators in whole nodes: crashes, pauses, cuts, hand-offs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sherd/allocation.h>

#include "cast.h"
#include "lease/book.h"

#define TTL (30 * SECOND)
#define RETRY (2 * SECOND)
#define SOON (4 * SECOND) /* less than a lease lasts without its holder */

enum { SHARDS = 1, COORDINATORS = 2 };

static struct node_settings settings_of(struct world *world, uint32_t index, uint32_t uses)
{
    struct node_settings settings = world_node_settings(world, index, cast_types, CAST_TYPES);

    settings.lease_ttl = TTL;
    settings.lease_interval = 3 * SECOND;
    settings.lease_patience = 2 * SECOND;
    settings.shard_lease_retry = RETRY;
    settings.coordinator_lease_retry = RETRY;
    if (uses & SHARDS)
        settings.shard_lease = LEASE_PROVIDER_MEMORY;
    if (uses & COORDINATORS)
        settings.coordinator_lease = LEASE_PROVIDER_MEMORY;
    return settings;
}

static struct world *cluster(uint64_t seed, uint32_t count, uint32_t uses)
{
    struct world *world = cast_new(seed);

    cast_begin();
    for (uint32_t i = 0; i < count; i++) {
        struct node_settings settings = settings_of(world, i, uses);

        world_start(world, i, &settings);
        /* alone, so that the first one is the oldest */
        assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    }
    return world;
}

static uint64_t running_at(struct world *world, uint32_t node, uint32_t type)
{
    struct sherd_status status = world_status(world, node);
    uint64_t count = status.types[type].entities_here;

    world_status_fini(&status);
    return count;
}

static const struct heard *asks_for_long(struct player *player, const char *id, uint64_t limit)
{
    player->count = 0;
    player_ask(player, "E", id, COUNT, 600000);
    return player_hears(player, limit);
}

static void assert_served(struct player *player, const char *id, uint64_t limit)
{
    const struct heard *heard = asks_for_long(player, id, limit);

    assert_non_null(heard);
    assert_int_equal(heard->kind, SHERD_ANSWER);
}

/* Removes a node that has crashed, before its leases expire. */
static void assert_removed(struct world *world, uint32_t node, uint32_t which)
{
    world_down(world, node, which);
    assert_true(world_until(world, world_all_up, NULL, TTL - 10 * SECOND));
}

/* ---- shards ---- */

static void a_shard_serves_when_its_lease_is_granted_SHD009_SHD011(void **state)
{
    struct world *world = cluster(1, 1, SHARDS);
    struct player player;
    (void)state;

    world_cut_leases(world, 0, true);
    player_spawn(&player, world, 0, 0);
    player_ask(&player, "E", "a", ECHO, 1000);
    assert_non_null(player_hears(&player, SOON));
    assert_int_equal(player_last(&player)->reason, SHERD_REASON_TIMEOUT);
    assert_string_equal(sherd_stage_text(player_last(&player)->stage),
                        sherd_stage_text(SHERD_STAGE_LEASING));
    assert_null(asks_for_long(&player, "a", 20 * SECOND));
    assert_int_equal(cast.started, 0);
    assert_true(world_logged(world, 0, "lease of a shard not acquired, tried again"));
    assert_true(world_logged(world, 0, "the lease provider does not answer"));
    world_cut_leases(world, 0, false);
    assert_non_null(player_hears(&player, RETRY + 2 * SECOND + SECOND));
    assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
    world_free(world);
}

static void messages_that_find_the_buffer_full_are_counted(void **state)
{
    struct world *world = cast_new(2);
    struct node_settings settings = settings_of(world, 0, SHARDS);
    struct player player;
    (void)state;

    cast_begin();
    settings.lanes = 1;
    settings.buffer_size = 5;
    world_start(world, 0, &settings);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_cut_leases(world, 0, true);
    player_spawn(&player, world, 0, 0);
    player_ask(&player, "E", "a", ECHO, 600000);
    world_run(world, SECOND);
    for (int i = 0; i < 8; i++)
        player_tell(&player, "E", "a", QUIET);
    world_run(world, 10 * SECOND);
    assert_int_equal(player.count, 4);
    for (uint32_t i = 0; i < player.count; i++)
        assert_int_equal(player.heard[i].reason, SHERD_REASON_BUFFER_FULL);
    world_free(world);
}

/* The next home asks in vain until the lease of the dead node has expired. */
static void a_lease_of_a_dead_node_is_granted_when_it_expires_SHD010(void **state)
{
    struct world *world = cluster(3, 2, SHARDS);
    struct player player;
    const char *id;
    uint64_t crashed;
    (void)state;

    player_spawn(&player, world, 0, 0);
    id = cast_id_at(&player, "E", 1);
    world_crash_as(world, 1, WORLD_KILLED);
    crashed = world_now(world);
    assert_removed(world, 0, 1);
    assert_null(asks_for_long(&player, id, crashed + TTL - 5 * SECOND - world_now(world)));
    assert_true(world_logged(world, 0, "another node has it"));
    assert_non_null(player_hears(&player, 10 * SECOND + RETRY));
    assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
    assert_true(world_now(world) - crashed >= TTL - 4 * SECOND); /* the last renewal */
    world_free(world);
}

/* Its messages wait here, and start the entity again when the lease can be had. */
static void a_lost_lease_stops_the_entities_until_it_is_had_again(void **state)
{
    struct world *world = cluster(4, 1, SHARDS);
    struct player player;
    (void)state;

    player_spawn(&player, world, 0, 0);
    for (int i = 0; i < 3; i++) {
        player.count = 0;
        (void)player_asks(&player, "E", "a", COUNT);
    }
    cast_wake(world, "E", 10);
    world_cut_leases(world, 0, true);
    world_run(world, TTL - TTL / 8 - 4 * SECOND); /* the last renewal, and a margin */
    assert_true(cast_running(world, 0) >= 10);
    world_run(world, 5 * SECOND);
    assert_int_equal(cast_running(world, 0), 0);
    assert_int_equal(cast.started, cast.ended);
    assert_true(world_logged(world, 0, "leases lost"));
    assert_null(asks_for_long(&player, "a", 30 * SECOND));
    world_cut_leases(world, 0, false);
    assert_non_null(player_hears(&player, RETRY + 3 * SECOND));
    assert_int_equal(player_last(&player)->value, 1); /* a new incarnation */
    world_free(world);
}

/* It handles nothing after it is resumed, although its mailbox is full of messages. */
static void a_node_that_slept_past_its_lease_runs_no_entity(void **state)
{
    struct world *world = cluster(5, 2, SHARDS);
    struct player player;
    char id[80];
    (void)state;

    player_spawn(&player, world, 0, 0);
    (void)snprintf(id, sizeof id, "%s", cast_id_at(&player, "E", 1));
    world_pause(world, 1, true);
    for (uint32_t i = 1; i <= 100; i++) {
        struct numbered body = { 0, 0, i };

        world_tell_entity(world, 1, "E", id, NUMBERED,
                          (struct sherd_bytes){ (const uint8_t *)&body, sizeof body });
    }
    world_run(world, TTL);
    world_down(world, 0, 1);
    world_run(world, 3 * SECOND);
    assert_served(&player, id, 20 * SECOND);
    assert_int_equal(cast.numbered, 0);
    assert_true(running_at(world, 1, 0) > 0); /* as it left them */
    world_pause(world, 1, false);
    world_run(world, 100 * MS);
    assert_int_equal(cast.numbered, 0);
    if (!world_node(world, 1)->has_ended)
        assert_int_equal(running_at(world, 1, 0), 0);
    world_free(world);
}

static void a_node_that_leaves_gives_its_leases_up(void **state)
{
    struct world *world = cluster(6, 2, SHARDS | COORDINATORS);
    struct player player;
    uint32_t node = 0;
    char id[80];
    (void)state;

    cast_wake(world, "E", 40);
    player_spawn(&player, world, 1, 0);
    (void)snprintf(id, sizeof id, "%s", cast_id_at(&player, "E", 0));
    world_leave(world, 0);
    assert_true(world_until(world, world_node_ended, &node, 20 * SECOND));
    assert_served(&player, id, SOON);
    assert_false(world_logged(world, 1, "not acquired"));
    world_free(world);
}

/* The next home has them when they expire, if none of its requests arrives. */
static void a_node_that_is_cut_off_hands_its_shards_off(void **state)
{
    struct world *world = cluster(7, 2, SHARDS);
    struct player player;
    uint32_t node = 1;
    char id[80];
    (void)state;

    player_spawn(&player, world, 0, 0);
    (void)snprintf(id, sizeof id, "%s", cast_id_at(&player, "E", 1));
    world_cut_leases(world, 1, true);
    world_run(world, SECOND);
    world_leave(world, 1);
    assert_true(world_until(world, world_node_ended, &node, 30 * SECOND));
    assert_served(&player, id, TTL + RETRY);
    world_free(world);
}

static bool is_told(struct world *world, void *arg)
{
    (void)arg;
    return world_logged(world, 1, "downed or removed by the cluster: this node ends");
}

/* The next home may start them as soon as the leases are given up. */
static void a_downed_node_ends_its_entities_before_it_gives_leases_up(void **state)
{
    struct world *world = cluster(12, 2, SHARDS);
    struct player player;
    uint64_t there;
    (void)state;

    player_spawn(&player, world, 0, 0);
    assert_served(&player, cast_id_at(&player, "E", 1), SOON);
    there = running_at(world, 1, 0);
    assert_true(there > 0);
    assert_int_equal(cast.ended, 0);
    world_cut_leases(world, 1, true); /* so that giving up takes its time */
    world_down(world, 0, 1);
    assert_true(world_until(world, is_told, NULL, 20 * SECOND));
    world_run(world, 100 * MS);
    assert_int_equal(cast.ended, there);
    world_free(world);
}

/* A shard that waits for its lease here goes to a node that can have it. */
static void a_shard_that_waits_for_its_lease_moves(void **state)
{
    struct world *world = cluster(8, 2, SHARDS);
    struct player player;
    uint32_t node = 1;
    (void)state;

    world_cut_leases(world, 1, true);
    player_spawn(&player, world, 0, 0);
    for (uint32_t i = 0; i < 20; i++) {
        char id[16];

        (void)snprintf(id, sizeof id, "e%u", i);
        player_ask(&player, "E", id, ECHO, 600000);
    }
    world_run(world, 20 * SECOND);
    assert_true(player.count > 0 && player.count < 20);
    world_leave(world, 1);
    assert_true(world_until(world, world_node_ended, &node, 20 * SECOND));
    world_run(world, SOON);
    assert_int_equal(player.count, 20);
    world_free(world);
}

/* ---- coordinators ---- */

static void a_coordinator_starts_when_its_lease_is_granted_SGT001_SGT004_SGT005(void **state)
{
    struct world *world = cast_new(9);
    struct node_settings settings = settings_of(world, 0, COORDINATORS);
    struct player player;
    (void)state;

    cast_begin();
    world_start(world, 0, &settings);
    world_cut_leases(world, 0, true);
    player_spawn(&player, world, 0, 0);
    assert_null(asks_for_long(&player, "a", 20 * SECOND));
    assert_false(world_logged(world, 0, "coordinator started"));
    assert_true(world_logged(world, 0, "lease of a coordinator not acquired, tried again"));
    world_cut_leases(world, 0, false);
    assert_non_null(player_hears(&player, RETRY + 3 * SECOND));
    assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
    world_free(world);
}

static void the_next_coordinator_waits_for_the_lease_SGT002(void **state)
{
    struct world *world = cluster(10, 2, COORDINATORS);
    struct player player;
    uint64_t crashed;
    const char *id;
    (void)state;

    player_spawn(&player, world, 1, 0);
    id = cast_id_at(&player, "E", 0);
    world_crash_as(world, 0, WORLD_KILLED);
    crashed = world_now(world);
    assert_removed(world, 1, 0);
    assert_null(asks_for_long(&player, id, crashed + TTL - 5 * SECOND - world_now(world)));
    assert_true(world_logged(world, 1, "another node has it"));
    assert_non_null(player_hears(&player, 10 * SECOND + RETRY));
    assert_true(world_now(world) - crashed >= TTL - 4 * SECOND);
    world_free(world);
}

/* Shards that have a home are served without it. */
static void a_coordinator_ends_with_its_lease(void **state)
{
    struct world *world = cluster(11, 2, COORDINATORS);
    struct player player;
    (void)state;

    player_spawn(&player, world, 1, 0);
    assert_served(&player, "a", SOON);
    world_cut_leases(world, 0, true);
    world_run(world, TTL);
    assert_true(world_logged(world, 0, "leases lost"));
    assert_served(&player, "a", SOON);
    player.count = 0;
    for (uint32_t i = 0; i < 20; i++) {
        char id[16];

        (void)snprintf(id, sizeof id, "e%u", i);
        player_ask(&player, "E", id, ECHO, 600000);
    }
    world_run(world, 10 * SECOND);
    assert_true(player.count < 20); /* some shards have no home yet */
    world_cut_leases(world, 0, false);
    world_run(world, RETRY + 10 * SECOND);
    assert_int_equal(player.count, 20);
    world_free(world);
}

static void a_coordinator_gives_its_lease_up_when_it_moves_SGT007(void **state)
{
    struct world *world = cluster(12, 2, COORDINATORS);
    struct player player;
    uint32_t node = 0;
    (void)state;

    player_spawn(&player, world, 1, 0);
    world_leave(world, 0);
    assert_true(world_until(world, world_node_ended, &node, 20 * SECOND));
    assert_served(&player, "new", SOON);
    assert_false(world_logged(world, 1, "not acquired"));
    world_free(world);
}

/* One provider serves five nodes that join one after another: each has a session there, with the lease of
 * its shard. */
static void every_node_finds_the_lease_provider_SGT018_SGT019_SGT020(void **state)
{
    struct world *world = cluster(14, 5, SHARDS | COORDINATORS);
    struct player player;
    (void)state;

    player_spawn(&player, world, 0, 0);
    for (uint32_t i = 0; i < 5; i++) {
        const char *id = cast_id_at(&player, "E", i);
        char name[80];
        const char *holder;
        char session[40];

        (void)snprintf(name, sizeof name, "World-shard-E-%d",
                       (int)sherd_shard_of(id, world_node(world, i)->settings.number_of_shards));
        (void)snprintf(session, sizeof session, "World-node-n%u:2551", i);
        holder = lease_book_holder(world_leases(world), world_now(world), slice_text(name));
        assert_non_null(holder);
        assert_string_equal(holder, session);
        assert_false(world_logged(world, i, "lease of a shard not acquired"));
    }
    world_free(world);
}

/* ---- types ---- */

static void a_type_of_a_node_that_runs_has_leases(void **state)
{
    struct world *world = cast_new(13);
    struct node_settings settings = settings_of(world, 0, 0);
    struct sherd_entity_type type = cast_types[1];
    struct player player;
    (void)state;

    cast_begin();
    settings.type_count = 1;
    world_start(world, 0, &settings);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_cut_leases(world, 0, true);
    type.use_lease = "memory";
    type.lease_retry_ms = 1000;
    world_add_type(world, 0, &type);
    world_run(world, SECOND);
    assert_int_equal(world_node(world, 0)->type_result, 0);
    player_spawn(&player, world, 0, 0);
    (void)player_asks(&player, "E", "a", ECHO);
    player.count = 0;
    player_ask(&player, "P", "a", ECHO, 600000);
    assert_null(player_hears(&player, 10 * SECOND));
    world_cut_leases(world, 0, false);
    assert_non_null(player_hears(&player, 4 * SECOND));
    world_free(world);
}

/* A type says for itself whether it has leases. */
static void a_type_without_leases_needs_no_provider(void **state)
{
    struct world *world = cast_new(14);
    struct node_settings settings = settings_of(world, 0, SHARDS);
    struct sherd_entity_type types[2] = { cast_types[0], cast_types[1] };
    struct player player;
    (void)state;

    cast_begin();
    types[0].use_lease = "";
    settings.types = types;
    settings.type_count = 2;
    world_start(world, 0, &settings);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_cut_leases(world, 0, true);
    player_spawn(&player, world, 0, 0);
    (void)player_asks(&player, "E", "a", ECHO);
    player.count = 0;
    player_ask(&player, "P", "a", ECHO, 600000);
    assert_null(player_hears(&player, 10 * SECOND));
    world_free(world);
}

static void a_name_too_long_for_a_lease_is_refused(void **state)
{
    struct world *world = cast_new(15);
    struct node_settings settings = settings_of(world, 0, COORDINATORS);
    struct sherd_entity_type type = cast_types[0];
    char name[SHERD_TYPE_MAX + 1] = "";
    char error[256] = "";
    (void)state;

    memset(name, '#', SHERD_TYPE_MAX); /* %23 in a path */
    type.name = name;
    settings.types = &type;
    settings.type_count = 1;
    assert_null(node_new(&settings, error, sizeof error));
    assert_non_null(strstr(error, "the names of its leases"));
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_serves_when_its_lease_is_granted_SHD009_SHD011),
        cmocka_unit_test(messages_that_find_the_buffer_full_are_counted),
        cmocka_unit_test(a_lease_of_a_dead_node_is_granted_when_it_expires_SHD010),
        cmocka_unit_test(a_lost_lease_stops_the_entities_until_it_is_had_again),
        cmocka_unit_test(a_node_that_slept_past_its_lease_runs_no_entity),
        cmocka_unit_test(a_node_that_leaves_gives_its_leases_up),
        cmocka_unit_test(a_node_that_is_cut_off_hands_its_shards_off),
        cmocka_unit_test(a_downed_node_ends_its_entities_before_it_gives_leases_up),
        cmocka_unit_test(a_shard_that_waits_for_its_lease_moves),
        cmocka_unit_test(a_coordinator_starts_when_its_lease_is_granted_SGT001_SGT004_SGT005),
        cmocka_unit_test(the_next_coordinator_waits_for_the_lease_SGT002),
        cmocka_unit_test(a_coordinator_ends_with_its_lease),
        cmocka_unit_test(a_coordinator_gives_its_lease_up_when_it_moves_SGT007),
        cmocka_unit_test(every_node_finds_the_lease_provider_SGT018_SGT019_SGT020),
        cmocka_unit_test(a_type_of_a_node_that_runs_has_leases),
        cmocka_unit_test(a_type_without_leases_needs_no_provider),
        cmocka_unit_test(a_name_too_long_for_a_lease_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
