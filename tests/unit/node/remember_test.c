/* Tests remembered entities on whole nodes: they return after moves, crashes and a full restart,
 * passivated ones do not. See remembered-entities in docs/invariants.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cast.h"
#include "node/lane/lane.h"
#include "node/machine/machine.h"

#define SHARDS 12
#define ENTITIES 40
#define PACED 500
#define BUSY 100

/* "E" remembers, "P" is persistent and remembers, "I" remembers and is passivated when idle, "B" is
 * persistent only. */
#define TYPES 4
static struct sherd_entity_type types[TYPES];

static void make_types(void)
{
    for (uint32_t i = 0; i < TYPES; i++) {
        types[i] = cast_types[i % 2];
        types[i].remember = i < 3;
    }
    types[2].name = "I";
    types[2].idle_ms = 2000;
    types[3].name = "B";
}

static enum remember_strategy strategy; /* of later nodes */
static uint32_t shards = SHARDS;        /* of later nodes */

static struct node_settings settings_of(struct world *world, uint32_t index)
{
    struct node_settings settings =
        world_node_settings(world, index, types, TYPES);

    settings.lanes = 2;
    settings.number_of_shards = shards;
    settings.entity_restart_backoff = 5 * SECOND;
    settings.remember.strategy = strategy;
    return settings;
}

static void start(struct world *world, uint32_t index)
{
    struct node_settings settings = settings_of(world, index);

    world_start(world, index, &settings);
}

static struct world *begin(uint64_t seed, uint32_t nodes)
{
    struct world *world = cast_new(seed);

    make_types();
    cast_begin();
    for (uint32_t i = 0; i < nodes; i++)
        start(world, i);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    return world;
}

static void crash_all(struct world *world, uint32_t nodes)
{
    for (uint32_t i = 0; i < nodes; i++)
        world_crash_as(world, i, WORLD_KILLED);
    world_run(world, SECOND);
    for (uint32_t i = 0; i < nodes; i++)
        start(world, i);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
}

/* Entities of every kind come back, again and again. */
static void all_entities_run_after_a_full_restart(void **state)
{
    struct world *world = begin(1, 3);

    (void)state;
    cast_wake(world, types[0].name, ENTITIES);
    cast_wake(world, types[1].name, ENTITIES / 2);
    cast_await_running(world, 0, ENTITIES);
    for (int i = 0; i < 2; i++) {
        crash_all(world, 3);
        cast_await_running(world, 0, ENTITIES);
        cast_await_running(world, 1, ENTITIES / 2);
    }
    world_free(world);
}

static void entities_move_with_their_shards(void **state)
{
    struct world *world = begin(2, 2);
    uint32_t leaving = 0;

    (void)state;
    cast_wake(world, types[0].name, ENTITIES);
    start(world, 2);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, 20 * SECOND); /* rebalanced once a second */
    cast_await_running(world, 0, ENTITIES);
    world_leave(world, leaving);
    assert_true(world_until(world, world_node_ended, &leaving, 60 * SECOND));
    cast_await_running(world, 0, ENTITIES);
    world_crash_as(world, 2, WORLD_DARK);
    world_down(world, 1, 2);
    cast_await_running(world, 0, ENTITIES);
    world_free(world);
}

static void passivated_entities_stay_away_SHD086(void **state)
{
    struct world *world = begin(3, 2);
    struct player player;

    (void)state;
    cast_wake(world, types[0].name, 10);
    player_spawn(&player, world, 1, 1);
    (void)player_asks(&player, "E", "e3", PASSIVATE);
    (void)player_asks(&player, "E", "e4", PASSIVATE);
    cast_await_running(world, 0, 8);
    crash_all(world, 2);
    cast_await_running(world, 0, 8);
    player_spawn(&player, world, 1, 1);
    (void)player_asks(&player, "E", "e3", ECHO); /* a message brings it back */
    crash_all(world, 2);
    cast_await_running(world, 0, 9);
    world_free(world);
}

static void an_entity_that_stops_itself_starts_again_SHD252(void **state)
{
    struct world *world = begin(4, 1);
    struct player player;

    (void)state;
    cast_wake(world, types[0].name, 3);
    player_spawn(&player, world, 0, 0);
    player_tell(&player, "E", "e1", STOP);
    player_tell(&player, "E", "e2", FAIL);
    world_run(world, SECOND);
    assert_int_equal(cast_running(world, 0), 1);
    (void)player_asks(&player, "E", "e2", ECHO); /* at once */
    assert_int_equal(cast_running(world, 0), 2);
    assert_int_equal(cast.started, 4);
    world_run(world, 5 * SECOND);
    assert_int_equal(cast_running(world, 0), 3);
    assert_int_equal(cast.started, 5);
    world_free(world);
}

/* The stop of an entity is to be stored, but the store gives errors or no answer, or is slow. */
static void an_entity_whose_stop_is_not_stored_answers_again_SHD123(
    void **state)
{
    static const struct disk_faults slow[] = {
        { .latency_min = 500 * MS, .latency_mean = 500 * MS },
        { .latency_min = SECOND, .latency_mean = SECOND },
    };
    struct world *world = begin(13, 1);
    struct player player;

    (void)state;
    cast_wake(world, types[0].name, 3);
    player_spawn(&player, world, 0, 0);
    for (int way = 0; way < 4; way++) {
        if (way < 2)
            (way ? disk_backend_hold : disk_backend_refuse)(
                world_backend(world), true);
        else
            disk_set_faults(disk_backend_disk(world_backend(world)),
                            &slow[way - 2]);
        player_tell(&player, "E", "e1", QUIET);
        world_run(world, 2 * SECOND);
        if (way < 2)
            (way ? disk_backend_hold : disk_backend_refuse)(
                world_backend(world), false);
        player.count = 0;
        player_ask(&player, "E", "e1", ECHO, 10000);
        assert_non_null(player_hears(&player, 10 * SECOND));
        assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
    }
    world_free(world);
}

static bool ten_run(struct world *world, void *arg)
{
    (void)arg;
    return cast_running(world, 2) == 10;
}

/* Akka does not allow this: they are still remembered, and are not stored again. */
static void idle_entities_end_and_return_with_their_shard(void **state)
{
    struct world *world = begin(5, 2);
    struct sherd_status status;
    uint64_t events;

    (void)state;
    cast_wake(world, types[2].name, 10);
    cast_await_running(world, 2, 0);
    status = world_status(world, 0);
    events = status.events;
    world_status_fini(&status);
    cast_wake(world, types[2].name, 10);
    status = world_status(world, 0);
    assert_int_equal(status.events, events);
    world_status_fini(&status);
    for (uint32_t i = 0; i < 2; i++)
        world_crash_as(world, i, WORLD_KILLED);
    world_run(world, SECOND);
    cast_begin();
    for (uint32_t i = 0; i < 2; i++)
        start(world, i);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    assert_true(world_until(world, ten_run, NULL, 10 * SECOND));
    cast_await_running(world, 2, 0);
    assert_in_range(cast.started, 10, 20); /* some moved at once */
    world_free(world);
}

/* By the setting, and by that of the type. */
static void remembered_entities_are_never_idle_SHD047(void **state)
{
    struct sherd_entity_type both[2] = { cast_types[0], cast_types[0] };

    (void)state;
    both[1].name = "F";
    for (uint32_t i = 0; i < 2; i++) {
        struct world *world = cast_new(14);
        struct node_settings settings =
            world_node_settings(world, 0, both, 2);
        uint64_t later;

        settings.remember_entities = i == 0;
        both[1].remember = i == 0 ? -1 : 1; /* not like the other type */
        cast_begin();
        world_start(world, 0, &settings);
        assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
        cast_wake(world, "E", 5);
        cast_wake(world, "F", 5);
        later = 5 * settings.passivate_idle_after;
        assert_true(later > 0);
        world_run(world, later);
        assert_int_equal(cast_running(world, i), 5);
        assert_int_equal(cast_running(world, 1 - i), 0);
        world_free(world);
    }
}

/* Messages come in order; none is handled before. */
static void messages_wait_until_the_start_is_stored(void **state)
{
    struct world *world = begin(6, 1);
    struct player player;

    (void)state;
    cast_wake(world, types[0].name, 1); /* homes are known */
    disk_backend_refuse(world_backend(world), true);
    player_spawn(&player, world, 0, 0);
    cast_begin();
    player_ask(&player, "E", "e77", ECHO, 60000);
    world_run(world, 3 * SECOND);
    assert_int_equal(cast.started, 0);
    disk_backend_refuse(world_backend(world), false);
    world_run(world, 15 * SECOND); /* failed, and its result is found out */
    assert_int_equal(cast.started, 1);
    assert_int_equal(player.count, 1);
    assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
    crash_all(world, 1);
    cast_await_running(world, 0, 2);
    world_free(world);
}

/* Counts ids in sets that are read now. */
static uint32_t remembered(struct world *world, uint32_t first, uint32_t last,
                           uint32_t type)
{
    uint32_t sum = 0;

    for (uint32_t i = first; i <= last; i++)
        for (uint32_t j = 1; j <= 2; j++)
            sum += node_machine(world_node(world, i)->node, j)
                       ->lane->types[type]
                       .remember.ids;
    return sum;
}

/* Each entity starts once, where messages go now, also from removed shards. Entities that are
 * passivated later stay away. */
static void another_number_of_shards_moves_entities_SHD230_SHD231(void **state)
{
    static const uint32_t numbers[] = { SHARDS + 5, SHARDS - 5, 1 };
    struct player player;
    char id[8];

    (void)state;
    for (uint32_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
        struct world *world = begin(7 + n, 2);

        cast_wake(world, types[0].name, ENTITIES);
        cast_wake(world, types[1].name, ENTITIES);
        shards = numbers[n];
        crash_all(world, 2);
        cast_await_running(world, 0, ENTITIES);
        cast_await_running(world, 1, ENTITIES);
        assert_int_equal(remembered(world, 0, 1, 0), ENTITIES);
        assert_int_equal(remembered(world, 0, 1, 1), ENTITIES);
        player_spawn(&player, world, 1, 0);
        for (uint32_t i = 0; i < ENTITIES; i++) {
            (void)snprintf(id, sizeof id, "e%u", i);
            assert_int_equal(player_asks(&player, "E", id, COUNT), 1);
            if (i % 2)
                (void)player_asks(&player, "E", id, PASSIVATE);
        }
        for (int i = 0; i < 3; i++) {
            if (i == 2)
                shards = SHARDS;
            cast_await_running(world, 0, ENTITIES / 2);
            crash_all(world, 2);
        }
        cast_await_running(world, 0, ENTITIES / 2);
        cast_await_running(world, 1, ENTITIES);
        world_free(world);
    }
}

/* The node ends during the move, or the store refuses for a while. */
static void a_move_survives_the_node_that_makes_it(void **state)
{
    struct world *world = begin(11, 3);
    uint32_t leaving = 0;

    (void)state;
    cast_wake(world, types[0].name, ENTITIES);
    shards = 3;
    strategy = REMEMBER_CONSTANT; /* five in 100 ms */
    for (uint32_t i = 0; i < 3; i++)
        world_crash_as(world, i, WORLD_KILLED);
    world_run(world, SECOND);
    for (uint32_t i = 0; i < 3; i++)
        start(world, i);
    while (cast_running(world, 0) < ENTITIES / 4)
        world_run(world, 10 * MS);
    assert_in_range(cast_running(world, 0), 1, ENTITIES - 5);
    disk_backend_refuse(world_backend(world), true);
    world_run(world, SECOND);
    disk_backend_refuse(world_backend(world), false);
    world_leave(world, leaving);
    assert_true(world_until(world, world_node_ended, &leaving, 60 * SECOND));
    cast_await_running(world, 0, ENTITIES);
    world_run(world, 20 * SECOND);
    assert_int_equal(remembered(world, 1, 2, 0), ENTITIES);
    world_free(world);
    strategy = REMEMBER_ALL;
    shards = SHARDS;
}

/* The pace does not matter. */
static void batches_follow_one_another(void **state)
{
    (void)state;

    for (strategy = REMEMBER_CONSTANT; strategy <= REMEMBER_PACED; strategy++) {
        struct world *world = begin(9, 1);

        cast_wake(world, types[1].name, 150);
        world_crash_as(world, 0, WORLD_KILLED);
        world_run(world, SECOND);
        start(world, 0);
        assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
        world_run(world, 10 * SECOND);
        assert_int_equal(cast_running(world, 1), 150);
        world_free(world);
    }
    strategy = REMEMBER_ALL;
}

/* A slow journal gets requests slowly, a quick one at once. A journal with slow reads, but many at
 * a time, is not slowed down. */
static void a_slow_journal_sets_the_pace(void **state)
{
    static const struct disk_faults slow = { .latency_min = 100 * MS,
                                             .latency_mean = 100 * MS };
    struct world *world;

    (void)state;
    strategy = REMEMBER_PACED;
    world = begin(10, 1);
    cast_wake(world, types[1].name, PACED);
    for (int is_slow = 0; is_slow <= 1; is_slow++) {
        world_crash_as(world, 0, WORLD_KILLED);
        world_run(world, SECOND);
        start(world, 0);
        assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
        if (is_slow)
            disk_set_faults(disk_backend_disk(world_backend(world)), &slow);
        world_run(world, SECOND);
        if (is_slow)
            assert_in_range(cast_running(world, 1), 2, PACED / 2);
        world_run(world, 9 * SECOND);
        assert_int_equal(cast_running(world, 1), PACED);
    }
    world_free(world);
    strategy = REMEMBER_ALL;
}

/* Entities of another type recover at every moment. */
static void a_busy_lane_does_not_delay_restarts(void **state)
{
    static const struct disk_faults slow = { .latency_min = 100 * MS,
                                             .latency_mean = 100 * MS };
    struct world *world;
    struct player player;
    char id[16];

    (void)state;
    strategy = REMEMBER_PACED;
    world = begin(11, 1);
    cast_wake(world, types[1].name, BUSY);
    world_crash_as(world, 0, WORLD_KILLED);
    world_run(world, SECOND);
    disk_set_faults(disk_backend_disk(world_backend(world)), &slow);
    start(world, 0);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    player_spawn(&player, world, 0, 0);
    /* fifty a second on each of two lanes, each for 100 ms or longer */
    for (uint32_t i = 0; i < 15 * 100; i++) {
        (void)snprintf(id, sizeof id, "b%u", i);
        player_tell(&player, types[3].name, id, SILENT);
        world_run(world, 10 * MS);
    }
    assert_int_equal(cast_running(world, 1), BUSY);
    world_free(world);
    strategy = REMEMBER_ALL;
}

/* Each twentieth message goes to a new entity, then none does. */
static void new_and_started_entities_answer_SHT068_SHT072_SHT073(void **state)
{
    struct world *world = begin(15, 3);
    struct player player;
    uint32_t started = 200;
    char id[8];

    (void)state;
    cast_wake(world, types[0].name, started);
    player_spawn(&player, world, 1, 1);
    for (uint32_t i = 0; i < 400; i++) {
        uint32_t which = i < 200 && i % 20 == 0 ? started++ : i % 10;

        (void)snprintf(id, sizeof id, "e%u", which);
        (void)player_asks(&player, types[0].name, id, ECHO);
    }
    assert_int_equal(cast_running(world, 0), started);
    world_free(world);
}

static void start_some(struct sherd_ctx *ctx, struct player *player)
{
    char id[8];

    for (uint32_t i = 0; i < ENTITIES; i++) {
        (void)snprintf(id, sizeof id, "s%u", i);
        sherd_entity_start(ctx, "E", id);
    }
    sherd_entity_start(ctx, "unknown", "x"); /* ignored, like the next */
    sherd_entity_start(ctx, "E", "");
    (void)player;
}

/* They start wherever their shard is, and are remembered. */
static void entities_are_started_without_a_message_SHT031(void **state)
{
    struct world *world = begin(8, 3);
    struct player player;
    char id[8];

    (void)state;
    player_spawn(&player, world, 1, 1);
    player_do(&player, start_some);
    cast_await_running(world, 0, ENTITIES);
    for (uint32_t i = 0; i < ENTITIES; i++) {
        (void)snprintf(id, sizeof id, "s%u", i);
        assert_int_equal(player_asks(&player, "E", id, COUNT), 1); /* this message */
    }
    assert_int_equal(cast.started, ENTITIES);
    crash_all(world, 3);
    cast_await_running(world, 0, ENTITIES);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_entities_run_after_a_full_restart),
        cmocka_unit_test(entities_move_with_their_shards),
        cmocka_unit_test(passivated_entities_stay_away_SHD086),
        cmocka_unit_test(an_entity_that_stops_itself_starts_again_SHD252),
        cmocka_unit_test(
            an_entity_whose_stop_is_not_stored_answers_again_SHD123),
        cmocka_unit_test(remembered_entities_are_never_idle_SHD047),
        cmocka_unit_test(idle_entities_end_and_return_with_their_shard),
        cmocka_unit_test(messages_wait_until_the_start_is_stored),
        cmocka_unit_test(another_number_of_shards_moves_entities_SHD230_SHD231),
        cmocka_unit_test(a_move_survives_the_node_that_makes_it),
        cmocka_unit_test(batches_follow_one_another),
        cmocka_unit_test(a_slow_journal_sets_the_pace),
        cmocka_unit_test(a_busy_lane_does_not_delay_restarts),
        cmocka_unit_test(new_and_started_entities_answer_SHT068_SHT072_SHT073),
        cmocka_unit_test(entities_are_started_without_a_message_SHT031),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
