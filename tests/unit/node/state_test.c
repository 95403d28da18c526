/* Tests coordinators' states on whole nodes: how many members store them, and other values under
 * their keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/gzip.h"
#include "cast.h"
#include "node/control/control.h"
#include "shard/stored.h"

#define NODES 3

/* The third node is paused, and the others have seen that. */
static struct world *with_one_away(const struct node_settings *as)
{
    struct world *world = cast_new(5);

    cast_begin();
    for (uint32_t i = 0; i < NODES; i++) {
        struct node_settings settings =
            world_node_settings(world, i, cast_types, CAST_TYPES);

        settings.state_write_plus = as->state_write_plus;
        settings.state_read_plus = as->state_read_plus;
        settings.state_majority_min = as->state_majority_min;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, 10 * SECOND); /* all regions are known */
    world_pause(world, NODES - 1, true);
    world_run(world, 30 * SECOND);
    return world;
}

/* Whether a shard without a home gets one. */
static bool finds_a_new_home(struct world *world)
{
    struct player player;
    uint32_t found = 0;
    char id[8];

    player_spawn(&player, world, 0, 0);
    for (int i = 0; i < 6; i++) {
        const struct heard *heard;

        (void)snprintf(id, sizeof id, "e%d", i);
        player.count = 0;
        player_ask(&player, "E", id, ECHO, 8000);
        heard = player_hears(&player, 10 * SECOND);
        found += heard && heard->kind == SHERD_ANSWER;
    }
    return found > 0;
}

static void the_members_that_must_store_a_state_are_a_setting(void **state)
{
    static const struct node_settings rows[] = {
        { .state_write_plus = 0 }, /* Akka's: three and five beyond, at least five */
        { .state_write_plus = STATE_ALL, .state_majority_min = 1 },
        { .state_write_plus = STATE_NONE, .state_majority_min = 3 },
        { .state_write_plus = 1, .state_majority_min = 1 },
        { .state_write_plus = STATE_NONE, .state_majority_min = 1 },
        { .state_write_plus = STATE_NONE, .state_majority_min = 2 },
    };
    (void)state;

    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world *world = with_one_away(&rows[i]);

        if (finds_a_new_home(world) != (i >= 4))
            fail_msg("row %u", i); /* two can be reached */
        world_free(world);
    }
}

/* Other members may be absent. */
static void members_without_the_role_are_not_asked(void **state)
{
    static const char *const roles[] = { "host" };
    struct world *world = cast_new(6);
    struct player player;

    (void)state;
    cast_begin();
    for (uint32_t i = 0; i < NODES; i++) {
        struct node_settings settings =
            world_node_settings(world, i, cast_types, CAST_TYPES);

        settings.roles = roles;
        settings.role_count = i < 2;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, 10 * SECOND);
    world_pause(world, NODES - 1, true);
    world_run(world, 30 * SECOND);
    assert_false(finds_a_new_home(world)); /* of type "E", for any node */
    player_spawn(&player, world, 1, 0);
    (void)player_asks(&player, "R", "r1", ECHO);
    world_free(world);
}

static struct control *control_of(struct world *world, uint32_t node)
{
    return world_node(world, node)->node->machines[0]->control;
}

/* Returns the replicator without a role; any message makes it. */
static struct replicator *replicator_on(struct world *world, uint32_t node)
{
    struct control *control = control_of(world, node);
    struct inbound inbound = {
        .recipient = slice_text("/system/sharding/replicator"),
        .serializer = REPLICATOR_SERIALIZER,
    };

    assert_true(shard_data_receive(control, &inbound));
    assert_string_equal(control->shard_data.replicators.items[0].role, "");
    return control->shard_data.replicators.items[0].replicator;
}

/* Puts a value, given, as from a replica: it is here only, until gossip spreads it. */
static void there_is(struct world *world, uint32_t node, const char *key,
                     struct dd_value *value)
{
    const struct consistency local = { .level = CONSISTENCY_LOCAL };
    struct replicator *replicator = replicator_on(world, node);
    struct control *control = control_of(world, node);
    struct outbox *outbox = &control->machine->outbox;
    const struct dd_value *current;
    struct replicator_news news;

    assert_int_equal(replicator_update_begin(replicator, control->machine->now,
                                             1, slice_text(key), &current,
                                             outbox),
                     REPLICATOR_MODIFY);
    replicator_update(replicator, control->machine->now, 1, slice_text(key),
                      value, &local, outbox);
    while (replicator_next_news(replicator, &news))
        assert_int_equal(news.answer, REPLICATOR_SUCCESS); /* the test's own, not the node's */
}

/* Returns fences of a former coordinator elsewhere. */
static struct dd_value *fences_of(uint64_t term, int64_t time)
{
    const struct node_id other = { .address = { "gone", 2551 }, .uid = 77 };
    struct buf bytes = { 0 }, packed = { 0 };
    struct dd_value *value;

    stored_term_put(&bytes, (struct proof){ term, 0 });
    gzip_deflate(&packed, buf_slice(&bytes));
    value = dd_register_new(&other,
                            (struct dd_other){
                                .serializer = STORED_FENCES_SERIALIZER,
                                .bytes = buf_slice(&packed) },
                            time, DD_CLOCK_LAST);
    buf_fini(&bytes);
    buf_fini(&packed);
    return value;
}

/* Returns the term as this node has it; the register must be its own. */
static uint64_t stored_term(struct world *world, uint32_t node)
{
    const struct dd_value *value =
        replicator_look(replicator_on(world, node), slice_text("EFences"));
    struct stored stored;
    uint64_t term;

    assert_non_null(value);
    assert_true(node_equal(dd_register_node(value),
                           &control_of(world, node)->machine->self->node));
    assert_true(stored_read(&stored, slice_of(NULL, 0),
                            dd_register_get(value).bytes));
    term = stored.term;
    stored_fini(&stored);
    return term;
}

/* The replica missed the read, or its clock was ahead. */
static void a_state_found_after_the_read_is_outbid(void **state)
{
    struct world *world = cast_world(7, 2, 1);
    struct player player;
    uint64_t term;

    (void)state;
    player_spawn(&player, world, 1, 0);
    (void)player_asks(&player, "E", "e1", ECHO);
    term = stored_term(world, 0);
    /* the replicator reports it */
    there_is(world, 0, "EFences",
             fences_of(term + 5, WORLD_WALL_MS + 3600 * 1000));
    world_run(world, 5 * SECOND);
    assert_true(stored_term(world, 0) > term + 5);
    (void)player_asks(&player, "E", "e2", ECHO);
    assert_int_equal(coordinator_counters(
                         control_of(world, 0)->types[0].coordinator)
                         ->overwritten,
                     1);
    world_free(world);
}

/* With Akka's times it is reported within half a second. */
static void shardings_data_has_its_own_settings(void **state)
{
    static const uint64_t intervals[] = { 0, 60000 };
    (void)state;

    for (uint32_t i = 0; i < 2; i++) {
        struct world *world = cast_new(7);
        struct node_settings settings =
            world_node_settings(world, 0, cast_types, CAST_TYPES);

        cast_begin();
        settings.sharding_data = (struct replicator_settings){
            .max_delta_elements = 5,
            .notify_interval_ms = intervals[i],
        };
        world_start(world, 0, &settings);
        assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
        world_run(world, 5 * SECOND);
        there_is(world, 0, "EFences",
                 fences_of(1, WORLD_WALL_MS + 3600 * 1000));
        world_run(world, 5 * SECOND);
        assert_int_equal(coordinator_counters(
                             control_of(world, 0)->types[0].coordinator)
                             ->overwritten,
                         i == 0);
        world_free(world);
    }
}

/* Otherwise the write would hide the state. */
static void a_state_found_by_a_write_is_outbid(void **state)
{
    struct world *world = cast_world(7, 2, 1);
    struct player player;
    uint64_t term;

    (void)state;
    player_spawn(&player, world, 0, 0);
    (void)player_asks(&player, "E", "e1", ECHO);
    term = stored_term(world, 0);
    there_is(world, 0, "EFences",
             fences_of(term + 5, WORLD_WALL_MS + 3600 * 1000));
    player.count = 0;
    player_tell(&player, "E", "e2", ECHO);
    world_run(world, 20 * MS); /* begun, and not announced yet */
    assert_int_equal(coordinator_counters(
                         control_of(world, 0)->types[0].coordinator)
                         ->overwritten,
                     1);
    world_run(world, 5 * SECOND);
    assert_true(stored_term(world, 0) > term + 5);
    world_free(world);
}

/* No time is later: writes would be confirmed with the other's value. */
static void a_value_of_the_latest_time_stops_new_homes(void **state)
{
    struct world *world = cast_world(7, 2, 1);
    struct player player;
    const struct heard *heard;

    (void)state;
    player_spawn(&player, world, 1, 0);
    (void)player_asks(&player, "E", "e1", ECHO);
    there_is(world, 0, "EFences", fences_of(1, INT64_MAX));
    player.count = 0;
    player_ask(&player, "E", "e2", ECHO, 5000);
    heard = player_hears(&player, 6 * SECOND);
    assert_true(heard && heard->kind != SHERD_ANSWER);
    assert_true(coordinator_counters(
                    control_of(world, 0)->types[0].coordinator)
                    ->failed_writes > 0);
    (void)player_asks(&player, "E", "e1", ECHO); /* shards with homes continue */
    assert_true(world_logged(world, 0, "distributed data refuses"));
    world_free(world);
}

static void a_key_of_another_type_is_no_empty_state(void **state)
{
    struct world *world = cast_new(7);
    struct dd_value *flag = dd_new(DD_FLAG);
    struct node_settings settings =
        world_node_settings(world, 0, cast_types, CAST_TYPES);
    const struct coordinator *coordinator;

    (void)state;
    cast_begin();
    world_start(world, 0, &settings);
    dd_flag_switch_on(flag);
    there_is(world, 0, "ECoordinatorState", flag);
    world_run(world, 30 * SECOND);
    coordinator = control_of(world, 0)->types[0].coordinator;
    assert_non_null(coordinator);
    assert_false(coordinator_is_active(coordinator));
    assert_true(coordinator_counters(coordinator)->failed_reads > 2);
    assert_int_equal(coordinator_counters(coordinator)->malformed, 0);
    assert_true(world_logged(world, 0, "has another type"));
    assert_true(coordinator_is_active(
        control_of(world, 0)->types[1].coordinator)); /* other types are not affected */
    world_free(world);
}

/* ---- without a coordinator, or with one that can store nothing ---- */

#define FIVE 5
#define KNOWN 15

struct known {
    struct world *world;
    struct player players[FIVE];
    uint32_t homes[KNOWN];
};

/* All nodes know the home of each entity. Node 0 has the coordinator. */
static struct known known_to_all(void)
{
    struct known known = { .world = cast_world(9, FIVE, 1) };
    uint32_t hosts = 0;
    char id[8];

    world_run(known.world, 10 * SECOND);
    for (uint32_t i = 0; i < FIVE; i++)
        for (uint32_t e = 0; e < KNOWN; e++) {
            struct player player;

            (void)snprintf(id, sizeof id, "e%u", e);
            player_spawn(&player, known.world, i, 0);
            known.homes[e] = cast_home(&player, "E", id);
            hosts |= 1U << known.homes[e];
        }
    assert_int_equal(hosts, (1 << FIVE) - 1);
    return known;
}

/* Each node asks its side's entities: the same incarnation answers, and no node is removed. */
static void answer_on_one_side(struct known *known, uint32_t side)
{
    char id[8];

    for (uint32_t i = 0; i < FIVE; i++) {
        if (!(side >> i & 1))
            continue;
        player_spawn(&known->players[i], known->world, i, 0);
        for (uint32_t e = 0; e < KNOWN; e++) {
            uint64_t begin = world_now(known->world);

            if (!(side >> known->homes[e] & 1))
                continue;
            (void)snprintf(id, sizeof id, "e%u", e);
            assert_true(player_asks(&known->players[i], "E", id, COUNT) > FIVE);
            assert_int_equal(cast_home(&known->players[i], "E", id),
                             known->homes[e]);
            assert_true(world_now(known->world) - begin < SECOND);
        }
    }
}

static bool is_new_one_found(struct known *known, uint32_t by)
{
    struct player player;
    const struct heard *heard;

    player_spawn(&player, known->world, by, 0);
    player_ask(&player, "P", "new", ECHO, 5000); /* a type without homes */
    heard = player_hears(&player, 6 * SECOND);
    assert_non_null(heard);
    return heard->kind == SHERD_ANSWER;
}

static void known_homes_serve_without_a_coordinator(void **state)
{
    struct known known = known_to_all();
    (void)state;

    world_crash_as(known.world, 0, WORLD_DARK);
    for (int i = 0; i < 6; i++) {
        answer_on_one_side(&known, 0x1e);
        world_run(known.world, 10 * SECOND); /* the first nodes do not miss it */
    }
    assert_false(is_new_one_found(&known, 1));
    world_down(known.world, 1, 0);
    world_run(known.world, 20 * SECOND);
    answer_on_one_side(&known, 0x1e);
    assert_true(is_new_one_found(&known, 1));
    world_free(known.world);
}

static void part(struct known *known, uint32_t side, bool on)
{
    for (uint32_t i = 0; i < FIVE; i++)
        for (uint32_t k = 0; k < i; k++)
            if ((side >> i & 1) != (side >> k & 1))
                net_part(known->world, i, k, on);
}

static void known_homes_serve_on_both_sides_of_a_cut(void **state)
{
    /* with the coordinator: few, and many */
    static const uint32_t sides[] = { 0x1, 0x3, 0x13, 0x11 };
    (void)state;

    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        struct known known = known_to_all();

        part(&known, sides[i], true);
        for (int k = 0; k < 4; k++) {
            answer_on_one_side(&known, sides[i]);
            answer_on_one_side(&known, 0x1f & ~sides[i]);
            world_run(known.world, 10 * SECOND);
        }
        assert_false(is_new_one_found(&known, 0)); /* five must have its home */
        assert_false(is_new_one_found(&known, 2));
        part(&known, sides[i], false);
        world_run(known.world, 60 * SECOND);
        answer_on_one_side(&known, 0x1f);
        assert_true(is_new_one_found(&known, 2));
        world_free(known.world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_homes_serve_without_a_coordinator),
        cmocka_unit_test(known_homes_serve_on_both_sides_of_a_cut),
        cmocka_unit_test(the_members_that_must_store_a_state_are_a_setting),
        cmocka_unit_test(members_without_the_role_are_not_asked),
        cmocka_unit_test(a_state_found_after_the_read_is_outbid),
        cmocka_unit_test(shardings_data_has_its_own_settings),
        cmocka_unit_test(a_state_found_by_a_write_is_outbid),
        cmocka_unit_test(a_value_of_the_latest_time_stops_new_homes),
        cmocka_unit_test(a_key_of_another_type_is_no_empty_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
