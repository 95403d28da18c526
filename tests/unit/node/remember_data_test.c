/* Tests remembered entities in distributed data, on whole nodes: they return after moves, crashes
 * and, with durable keys, a full restart; starts wait for a majority; full keys refuse. The journal
 * has no records of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/shard_names.h"
#include "base/rng.h"
#include "cast.h"
#include "node/control/control.h"
#include "node/lane/lane.h"
#include "node/machine/machine.h"
#include "shard/remember_keys.h"
#include "sim/world/durable.h"

#define SHARDS 12
#define ENTITIES 40
#define MANY 60 /* started at once: a write has several */
#define FULL 700 /* more than there is room for */

/* "E" remembers, "P" is persistent and remembers. */
#define TYPES 2
static struct sherd_entity_type types[TYPES];
static const char *const durable[] = { "shard-*" };
static const char *const everything[] = { "*" };

static bool is_durable;    /* of later nodes */
static bool stores_all;    /* with durable keys: of coordinators, too */
static uint32_t entry_size; /* of later nodes */
static uint32_t shards = SHARDS; /* of later nodes */
static uint32_t least;      /* of later nodes: least members that store an entity */
static uint64_t write_timeout; /* of later nodes */

static void start(struct world *world, uint32_t index)
{
    struct node_settings settings =
        world_node_settings(world, index, types, TYPES);

    settings.lanes = 2;
    settings.number_of_shards = shards;
    settings.remembers_in_data = true;
    settings.shard_durable_keys = stores_all ? everything : durable;
    settings.shard_durable_key_count = is_durable;
    settings.sharding_data.entry_size_max = entry_size;
    settings.state_majority_min = least;
    settings.updating_state_timeout = write_timeout;
    world_start(world, index, &settings);
}

static struct world *begin(uint64_t seed, uint32_t nodes)
{
    struct world *world = cast_new(seed);

    for (uint32_t i = 0; i < TYPES; i++) {
        types[i] = cast_types[i];
        types[i].remember = 1;
    }
    cast_begin();
    for (uint32_t i = 0; i < nodes; i++)
        start(world, i);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    return world;
}

static void restart_all(struct world *world, uint32_t nodes,
                        enum world_crash crash)
{
    for (uint32_t i = 0; i < nodes; i++)
        world_crash_as(world, i, crash);
    world_run(world, SECOND);
    for (uint32_t i = 0; i < nodes; i++)
        start(world, i);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
}

static void entities_move_with_their_shards(void **state)
{
    struct world *world = begin(1, 2);
    struct sherd_status status;
    uint32_t leaving = 0;

    (void)state;
    cast_wake(world, types[0].name, ENTITIES);
    cast_wake(world, types[1].name, 10);
    status = world_status(world, 0);
    assert_int_equal(status.events, 0);
    world_status_fini(&status);
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
    cast_await_running(world, 1, 10);
    world_free(world);
}

static void start_many(struct sherd_ctx *ctx, struct player *player)
{
    char id[8];

    (void)player;
    for (uint32_t i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof id, "e%u", i);
        sherd_entity_start(ctx, "P", id);
    }
}

/* Checks that each id is in the one key of five where a JVM looks for it. */
static void check_keys(struct world *world, uint32_t node, uint32_t type)
{
    const struct replicator *replicator =
        node_machine(world_node(world, node)->node, 0)
            ->control->shard_data.replicators.items[0]
            .replicator;

    for (uint32_t i = 0; i < MANY; i++) {
        struct buf key = { 0 };
        char id[8], text[SHARD_TEXT_MAX];

        (void)snprintf(id, sizeof id, "e%u", i);
        for (uint32_t j = 0; j < REMEMBER_KEYS; j++) {
            const struct dd_value *value;
            struct dd_element element = dd_text(id);

            buf_clear(&key);
            remember_key_put(&key, types[type].name,
                             shard_text(hash_shard(slice_text(id), SHARDS), text), j);
            value = replicator_look(replicator, buf_slice(&key));
            assert_int_equal(value && dd_kind_of(value) == DD_ORSET &&
                                 dd_set_has(value, &element),
                             j == remember_key_of(slice_text(id)));
        }
        buf_fini(&key);
    }
}

/* Checks all shards that ever were: each id from `first` on is in its shard's keys alone, without
 * others. */
static void check_stored(struct world *world, uint32_t node, uint32_t type,
                         uint32_t first)
{
    const struct replicator *replicator =
        node_machine(world_node(world, node)->node, 0)
            ->control->shard_data.replicators.items[0]
            .replicator;

    for (int32_t shard = 0; shard < SHARDS + 5; shard++)
        for (uint32_t j = 0; j < REMEMBER_KEYS; j++) {
            const struct dd_value *value;
            struct buf key = { 0 };
            char number[SHARD_TEXT_MAX];
            uint32_t count = 0;

            for (uint32_t i = first; i < MANY; i++) {
                char id[8];

                (void)snprintf(id, sizeof id, "e%u", i);
                count += hash_shard(slice_text(id), shards) == shard &&
                         remember_key_of(slice_text(id)) == j;
            }
            remember_key_put(&key, types[type].name, shard_text(shard, number), j);
            value = replicator_look(replicator, buf_slice(&key));
            assert_int_equal(value ? dd_set_count(value) : 0, count);
            buf_fini(&key);
        }
}

/* The machines lose power: unsynced data is lost. */
static void all_entities_run_after_a_full_restart(void **state)
{
    struct world *world;
    struct player player;
    struct slice value;
    uint32_t kept = 0;

    (void)state;
    is_durable = true;
    world = begin(2, 3);
    cast_wake(world, types[0].name, ENTITIES);
    player_spawn(&player, world, 1, 1);
    player_do(&player, start_many);
    (void)player_asks(&player, "E", "e3", PASSIVATE);
    (void)player_asks(&player, "E", "e4", PASSIVATE);
    cast_await_running(world, 0, ENTITIES - 2);
    cast_await_running(world, 1, MANY);
    check_keys(world, 2, 1);
    for (int i = 0; i < 2; i++) {
        restart_all(world, 3, WORLD_DARK);
        cast_await_running(world, 0, ENTITIES - 2);
        cast_await_running(world, 1, MANY);
    }
    player_spawn(&player, world, 1, 1);
    (void)player_asks(&player, "E", "e3", ECHO); /* a message brings it back */
    restart_all(world, 3, WORLD_KILLED);
    cast_await_running(world, 0, ENTITIES - 1);
    assert_true(world_durable_value(
        world, 1, slice_text("\xff\xff" "shard-E-all"), &value));
    for (int i = 0; i < SHARDS * 5; i++) {
        char key[32];

        (void)snprintf(key, sizeof key, "\xff\xffshard-E-%d-%d", i / 5, i % 5);
        kept += world_durable_value(world, 1, slice_text(key), &value);
    }
    assert_in_range(kept, SHARDS, SHARDS * 5);
    world_free(world);
    is_durable = false;
}

/* Keys have only their shard's entities, and keys of removed shards have none. Entities that are
 * passivated later stay away. */
static void another_number_of_shards_moves_entities(void **state)
{
    static const uint32_t numbers[] = { SHARDS + 5, SHARDS - 5, SHARDS };
    struct world *world;
    struct player player;
    char id[8];

    (void)state;
    is_durable = true;
    world = begin(9, 3);
    player_spawn(&player, world, 1, 1);
    player_do(&player, start_many);
    cast_await_running(world, 1, MANY);
    for (uint32_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
        shards = numbers[n];
        restart_all(world, 3, WORLD_DARK);
        cast_await_running(world, 1, MANY - 10 * n);
        player_spawn(&player, world, 1, 0);
        for (uint32_t i = 10 * n; i < 10 * n + 10; i++) {
            (void)snprintf(id, sizeof id, "e%u", i);
            (void)player_asks(&player, "P", id, PASSIVATE);
        }
        for (uint32_t i = 0; i < 2; i++) {
            cast_await_running(world, 1, MANY - 10 * n - 10);
            for (uint32_t j = 0; j < 3; j++)
                check_stored(world, j, 1, 10 * n + 10);
            restart_all(world, 3, WORLD_KILLED);
        }
    }
    world_free(world);
    is_durable = false;
}

/* Stored homes are at nodes of a former start, also of more shards than now, with their fences. */
static void durable_homes_of_an_earlier_cluster_block_no_shard(void **state)
{
    static const uint32_t numbers[] = { SHARDS, SHARDS - 5, SHARDS };
    struct world *world;
    struct player player;
    struct slice value;
    char id[8];

    (void)state;
    is_durable = stores_all = true;
    world = begin(11, 3);
    cast_wake(world, types[0].name, ENTITIES);
    for (uint32_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
        cast_await_running(world, 0, ENTITIES + n);
        assert_true(world_durable_value(
            world, 1, slice_text("\xff\xff" "ECoordinatorState"), &value));
        assert_true(world_durable_value(
            world, 1, slice_text("\xff\xff" "EFences"), &value));
        shards = numbers[n];
        restart_all(world, 3, n ? WORLD_KILLED : WORLD_DARK);
        cast_await_running(world, 0, ENTITIES + n);
        (void)snprintf(id, sizeof id, "new%u", n);
        player_spawn(&player, world, 1, 0);
        (void)player_asks(&player, "E", id, ECHO);
    }
    world_free(world);
    is_durable = stores_all = false;
}

/* A node without its disk is alone at first and finds no shards. The others' shards start when they
 * are back. */
static void shards_that_are_found_later_start(void **state)
{
    struct world *world;

    (void)state;
    is_durable = true;
    world = begin(12, 3);
    cast_wake(world, types[0].name, ENTITIES);
    cast_await_running(world, 0, ENTITIES);
    for (uint32_t i = 0; i < 3; i++)
        world_crash_as(world, i, WORLD_KILLED);
    is_durable = false;
    start(world, 0);
    world_run(world, 60 * SECOND);
    cast_await_running(world, 0, 0);
    is_durable = true;
    start(world, 1);
    start(world, 2);
    cast_await_running(world, 0, ENTITIES);
    world_free(world);
    is_durable = false;
}

/* New entities are not affected. */
static void without_durable_keys_entities_are_forgotten(void **state)
{
    struct world *world = begin(3, 2);

    (void)state;
    cast_wake(world, types[0].name, 10);
    restart_all(world, 2, WORLD_KILLED);
    cast_await_running(world, 0, 0);
    assert_int_equal(world_durable_count(world, 0), 0);
    cast_wake(world, types[0].name, 5);
    cast_await_running(world, 0, 5);
    world_free(world);
}

static bool hosts(struct world *world, uint32_t node, int32_t shard)
{
    bool found = false;

    for (uint32_t i = 1; i <= 2; i++)
        found = found ||
                owned_accepts(&node_machine(world_node(world, node)->node, i)
                                    ->lane->types[0]
                                    .owned,
                               shard);
    return found;
}

static uint64_t failures(struct world *world, uint32_t node)
{
    uint64_t sum = 0;

    for (uint32_t i = 1; i <= 2; i++)
        sum += node_machine(world_node(world, node)->node, i)
                   ->lane->types[0]
                   .remember.counters.failures;
    return sum;
}

static void cut(struct world *world, uint32_t node, bool on)
{
    for (uint32_t i = 0; i < 3; i++)
        if (i != node)
            net_part(world, node, i, on);
}

/* Asks a new entity of a shard on that node. */
static void ask_new_at(struct player *player, struct world *world,
                       uint32_t node, char id[16])
{
    int n = 0;

    do
        (void)snprintf(id, 16, "n%d", n);
    while (!hosts(world, node, hash_shard(slice_text(id), SHARDS)) &&
           ++n < 100);
    cast_begin();
    player_ask(player, "E", id, ECHO, 60000);
}

static void ask_new(struct player *player, struct world *world, char id[16])
{
    ask_new_at(player, world, 0, id);
}

/* No message is handled before, then each once. */
static void messages_wait_until_a_majority_has_the_start(void **state)
{
    struct world *world = begin(4, 3);
    struct player player;
    char id[16];

    (void)state;
    cast_wake(world, types[0].name, ENTITIES);
    player_spawn(&player, world, 0, 0);
    cut(world, 0, true);
    ask_new(&player, world, id);
    world_run(world, 2 * SECOND);
    assert_int_equal(cast.started, 0);
    cut(world, 0, false);
    assert_non_null(player_hears(&player, 60 * SECOND));
    assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
    assert_int_equal(cast.started, 1);
    assert_int_equal(failures(world, 0), 0); /* tried again */
    cast_await_running(world, 0, ENTITIES + 1);
    world_free(world);
}

/* Whether all nodes have the id in its shard's set. */
static bool all_have(struct world *world, uint32_t nodes, const char *id)
{
    struct slice text = slice_text(id);
    struct dd_element element = dd_text(id);
    struct buf key = { 0 };
    char number[SHARD_TEXT_MAX];
    uint32_t count = 0;

    remember_key_put(&key, types[0].name,
                     shard_text(hash_shard(text, SHARDS), number),
                     remember_key_of(text));
    for (uint32_t i = 0; i < nodes; i++) {
        const struct dd_value *value = replicator_look(
            node_machine(world_node(world, i)->node, 0)
                ->control->shard_data.replicators.items[0]
                .replicator,
            buf_slice(&key));

        count += value && dd_set_has(value, &element);
    }
    buf_fini(&key);
    return count == nodes;
}

/* The nodes have durable keys; the player is on the last one. */
static struct world *begin_three(uint64_t seed, struct player *player)
{
    struct world *world;

    is_durable = true;
    world = begin(seed, 3);
    cast_wake(world, types[0].name, ENTITIES);
    player_spawn(player, world, 2, 0);
    return world;
}

/* The last node is cut off, killed and downed, and its shards move; then it starts again, with its
 * disk. */
static void lose_and_start_it(struct world *world)
{
    world_crash_as(world, 2, WORLD_KILLED);
    world_down(world, 1, 2);
    world_run(world, 20 * SECOND);
    assert_int_equal(cast_running(world, 0), ENTITIES);
    cut(world, 2, false);
    start(world, 2);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, 60 * SECOND);
}

/* An entity stops on a node that is cut off and downed, and starts elsewhere. Then that node's disk
 * comes back, with the removal. */
static void a_late_removal_removes_no_running_entity(void **state)
{
    struct player player;
    struct world *world = begin_three(9, &player);
    char id[16];

    (void)state;
    (void)snprintf(id, sizeof id, "%s", cast_id_at(&player, "E", 2));
    cut(world, 2, true);
    player_tell(&player, "E", id, QUIET);
    world_run(world, 2 * SECOND);
    assert_false(all_have(world, 3, id));
    lose_and_start_it(world);
    assert_true(all_have(world, 3, id));
    restart_all(world, 3, WORLD_KILLED);
    cast_await_running(world, 0, ENTITIES);
    world_free(world);
    is_durable = false;
}

/* An entity starts on a node that is cut off and downed, and only that disk has it. Later the disk
 * comes back. */
static void an_entity_that_is_found_late_starts(void **state)
{
    struct player player;
    struct world *world = begin_three(11, &player);
    char id[16];

    (void)state;
    cut(world, 2, true);
    ask_new_at(&player, world, 2, id);
    world_run(world, 2 * SECOND);
    assert_int_equal(cast.started, 0);
    lose_and_start_it(world);
    assert_true(all_have(world, 3, id));
    assert_int_equal(cast_running(world, 0), ENTITIES + 1);
    world_free(world);
    is_durable = false;
}

/* The write fails after 5 s; 1 s later its keys are read, until enough nodes answer. */
static void a_read_without_a_majority_is_repeated(void **state)
{
    struct world *world = begin(7, 3);
    struct player player;
    char id[16];

    (void)state;
    cast_wake(world, types[0].name, ENTITIES);
    player_spawn(&player, world, 0, 0);
    cut(world, 0, true);
    ask_new(&player, world, id);
    world_run(world, 9 * SECOND); /* first reads of 2 s are over */
    assert_int_equal(failures(world, 0), 1);
    cut(world, 0, false);
    assert_non_null(player_hears(&player, 4 * SECOND));
    assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
    assert_int_equal(failures(world, 0), 1);
    world_free(world);
}

/* The retry comes after the back-off, other than after too few confirmations. */
static void a_write_that_the_own_disk_refuses_is_repeated_later(void **state)
{
    const struct durable_faults full = { .is_full = true };
    const struct durable_faults none = { .is_full = false };
    struct world *world;
    struct player player;
    uint64_t writes;
    char id[16];

    (void)state;
    is_durable = true;
    world = begin(8, 1);
    cast_wake(world, types[0].name, ENTITIES);
    player_spawn(&player, world, 0, 0);
    world_durable_faults(world, 0, &full);
    ask_new(&player, world, id);
    world_run(world, SECOND / 2);
    assert_int_equal(failures(world, 0), 1);
    assert_int_equal(cast.started, 0);
    world_durable_faults(world, 0, &none);
    writes = world_durable_writes(world, 0);
    world_run(world, SECOND / 4);
    assert_true(world_durable_writes(world, 0) == writes);
    assert_non_null(player_hears(&player, 2 * SECOND));
    assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
    assert_int_equal(failures(world, 0), 1);
    world_free(world);
    is_durable = false;
}

/* A start in memory does not count as stored. */
static void a_full_disk_starts_no_entity(void **state)
{
    const struct durable_faults full = { .is_full = true };
    const struct durable_faults none = { .is_full = false };
    struct world *world;
    struct player player;
    char id[16];

    (void)state;
    is_durable = true;
    world = begin(9, 1);
    cast_wake(world, types[0].name, ENTITIES);
    player_spawn(&player, world, 0, 0);
    world_durable_faults(world, 0, &full);
    ask_new(&player, world, id);
    world_run(world, 6 * SECOND);
    assert_int_equal(cast.started, 0);
    assert_in_range(failures(world, 0), 2, 4);
    world_durable_faults(world, 0, &none);
    assert_non_null(player_hears(&player, 10 * SECOND));
    assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
    assert_int_equal(cast.started, 1);
    world_free(world);
    is_durable = false;
}

/* A slow write gets more time. */
static void a_slow_disk_is_waited_for(void **state)
{
    const struct durable_faults slow = { .stall_ppm = 1000000,
                                         .stall_max = 2 * SECOND };
    struct world *world;
    struct player player;
    char id[16];

    (void)state;
    is_durable = true;
    write_timeout = SECOND / 10;
    world = begin(11, 2);
    cast_wake(world, types[0].name, ENTITIES);
    player_spawn(&player, world, 0, 0);
    world_durable_faults(world, 0, &slow);
    world_durable_faults(world, 1, &slow);
    for (int n = 0, asked = 0; asked < 8; n++) {
        (void)snprintf(id, sizeof id, "s%d", n);
        if (!hosts(world, 0, hash_shard(slice_text(id), SHARDS)))
            continue;
        player_ask(&player, "E", id, ECHO, 60000);
        assert_non_null(player_hears(&player, 60 * SECOND));
        assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
        asked++;
    }
    assert_in_range(failures(world, 0), 1, 20);
    world_free(world);
    is_durable = false;
    write_timeout = 0;
}

/* Other members could not read its key, whatever else is in it. */
static void an_id_that_is_no_text_is_refused(void **state)
{
    struct world *world = begin(10, 2);
    struct player player;

    (void)state;
    player_spawn(&player, world, 0, 0);
    player_ask(&player, "E", "b\xff", ECHO, 20000);
    assert_non_null(player_hears(&player, SECOND));
    assert_int_equal(player_last(&player)->kind, SHERD_NO_ANSWER);
    cast_wake(world, types[0].name, MANY);
    cast_await_running(world, 0, MANY);
    assert_int_equal(failures(world, 0) + failures(world, 1), 0);
    check_keys(world, 1, 0);
    world_free(world);
}

static void start_texts_and_others(struct sherd_ctx *ctx, struct player *player)
{
    char id[12];

    (void)player;
    for (uint32_t i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof id, "e%u\xff", i);
        sherd_entity_start(ctx, "P", id);
        (void)snprintf(id, sizeof id, "e%u", i);
        sherd_entity_start(ctx, "P", id);
    }
}

/* Valid ids are in the same writes and keys as invalid ones. */
static void valid_ids_are_stored_without_invalid_ones(void **state)
{
    struct world *world;
    struct player player;

    (void)state;
    shards = 1;
    world = begin(13, 2);
    player_spawn(&player, world, 0, 0);
    player_do(&player, start_texts_and_others);
    cast_await_running(world, 1, MANY);
    for (uint32_t i = 0; i < 2; i++)
        check_stored(world, i, 1, 0);
    world_free(world);
    shards = SHARDS;
}

/* By default, up to five members must all have it: any disk is enough. With a lower minimum, two of
 * three. */
static void the_minimum_of_a_majority_is_a_setting(void **state)
{
    (void)state;

    for (least = 0; least <= 1; least++) { /* 0: not set */
        struct world *world = begin(6, 3);
        struct player player;

        cast_wake(world, types[1].name, ENTITIES); /* each shard has its home */
        cut(world, 2, true);
        cast_begin();
        player_spawn(&player, world, 0, 0);
        player_do(&player, start_many);
        world_run(world, 3 * SECOND);
        if (least ? cast.started == 0 : cast.started > 0)
            fail_msg("%u entities have started", (unsigned)cast.started);
        cut(world, 2, false);
        cast_await_running(world, 1, MANY);
        world_free(world);
    }
    least = 0;
}

/* A key grows up to the size of an entry. The sender of a refused start is told. Remembered
 * entities stay, can be erased, and make room. */
static void a_full_key_refuses_starts(void **state)
{
    struct world *world;
    struct player player;
    uint32_t refused = 0;
    uint32_t kept = 0;
    struct rng rng;
    char id[101] = "";

    (void)state;
    rng_init(&rng, 5);
    entry_size = 1000;
    world = begin(5, 1);
    player_spawn(&player, world, 0, 0);
    for (uint32_t i = 0; i < FULL; i++) {
        for (size_t j = 0; j < sizeof id - 1; j++) /* compression gains nothing */
            id[j] = (char)('!' + rng_below(&rng, 90));
        player_ask(&player, "E", id, ECHO, 5000);
        assert_non_null(player_hears(&player, 10 * SECOND));
        if (player_last(&player)->kind == SHERD_ANSWER)
            kept++;
        else
            refused++;
    }
    assert_in_range(kept, FULL / 3, FULL - FULL / 10);
    assert_int_equal(refused, FULL - kept);
    cast_await_running(world, 0, kept);
    world_free(world);
    entry_size = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entities_move_with_their_shards),
        cmocka_unit_test(all_entities_run_after_a_full_restart),
        cmocka_unit_test(another_number_of_shards_moves_entities),
        cmocka_unit_test(durable_homes_of_an_earlier_cluster_block_no_shard),
        cmocka_unit_test(shards_that_are_found_later_start),
        cmocka_unit_test(without_durable_keys_entities_are_forgotten),
        cmocka_unit_test(messages_wait_until_a_majority_has_the_start),
        cmocka_unit_test(a_late_removal_removes_no_running_entity),
        cmocka_unit_test(an_entity_that_is_found_late_starts),
        cmocka_unit_test(a_read_without_a_majority_is_repeated),
        cmocka_unit_test(a_write_that_the_own_disk_refuses_is_repeated_later),
        cmocka_unit_test(a_full_disk_starts_no_entity),
        cmocka_unit_test(a_slow_disk_is_waited_for),
        cmocka_unit_test(an_id_that_is_no_text_is_refused),
        cmocka_unit_test(valid_ids_are_stored_without_invalid_ones),
        cmocka_unit_test(the_minimum_of_a_majority_is_a_setting),
        cmocka_unit_test(a_full_key_refuses_starts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
