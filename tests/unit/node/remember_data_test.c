/* Remembered entities in distributed data, in whole nodes: they are there again without a message after moves, crashes and, with durable
 * keys, a full restart; nothing starts before a majority has it; a key that is full refuses; and the journal has nothing of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/rng.h"
#include "cast.h"
#include "node/control.h"
#include "node/lane.h"
#include "node/machine.h"
#include "shard/remember_keys.h"
#include "sim/durable.h"

#define SHARDS 12
#define ENTITIES 40
#define MANY 60 /* started at once: writes have several */
#define FULL 700 /* entities, more than there is place for */

/* "E" remembers, "P" is persistent and remembers. */
#define TYPES 2
static struct sherd_entity_type types[TYPES];
static const char *const durable[] = { "shard-*" };
static const char *const everything[] = { "*" };

static bool is_durable;    /* nodes that start from here on */
static bool stores_all;    /* the same, if they are: what coordinators decide, too */
static uint32_t entry_size; /* the same */
static uint32_t shards = SHARDS; /* the same */
static uint32_t least;      /* the same: members that must have what is remembered, at least */
static uint64_t write_timeout; /* the same */

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

static void they_move_with_their_shards(void **state)
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

/* Each id in the one key of five where a JVM looks for it, on that node. */
static void check_keys(struct world *world, uint32_t node, uint32_t type)
{
    const struct replicator *replicator =
        node_machine(world_node(world, node)->node, 0)
            ->control->shard_data.replicators.items[0]
            .replicator;

    for (uint32_t i = 0; i < MANY; i++) {
        struct buf key = { 0 };
        char id[8];

        (void)snprintf(id, sizeof id, "e%u", i);
        for (uint32_t j = 0; j < REMEMBER_KEYS; j++) {
            const struct dd_value *value;
            struct dd_element element = dd_text(id);

            buf_clear(&key);
            remember_key_put(&key, types[type].name,
                             hash_shard(slice_text(id), SHARDS), j);
            value = replicator_look(replicator, buf_slice(&key));
            assert_int_equal(value && dd_kind_of(value) == DD_ORSET &&
                                 dd_set_has(value, &element),
                             j == remember_key_of(slice_text(id)));
        }
        buf_fini(&key);
    }
}

/* Of all shards that there ever were: each id from `first` on in its shard's keys alone, and nobody else. */
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
            uint32_t count = 0;

            for (uint32_t i = first; i < MANY; i++) {
                char id[8];

                (void)snprintf(id, sizeof id, "e%u", i);
                count += hash_shard(slice_text(id), shards) == shard &&
                         remember_key_of(slice_text(id)) == j;
            }
            remember_key_put(&key, types[type].name, shard, j);
            value = replicator_look(replicator, buf_slice(&key));
            assert_int_equal(value ? dd_set_count(value) : 0, count);
            buf_fini(&key);
        }
}

/* The machines go dark: what the disks have not synced is lost. SHD-189. */
static void all_are_back_after_a_full_restart(void **state)
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

/* A8: in a shard's keys is nobody who belongs to another one after the number of shards has changed, also not in those of shards that
 * the type has not any more; who is passivated after that stays away. */
static void another_number_of_shards_moves_them(void **state)
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

/* What coordinators decided is durable where the keys say so: homes at nodes of a former life, also of more shards than there are now, and their
 * fences are in nobody's way. */
static void what_coordinators_decided_is_in_nobodys_way(void **state)
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

/* One that has lost its disk is there alone at first, and its coordinator finds no shards: those of the others start when these are back. */
static void shards_that_come_to_light_later_start(void **state)
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

/* Without them nothing is, and it is not in the way of what is new. */
static void without_durable_keys_all_is_forgotten(void **state)
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
                                    .hosted,
                               shard);
    return found;
}

/* Reads and writes of "E" that failed on the node. */
static uint64_t failures(struct world *world, uint32_t node)
{
    uint64_t sum = 0;

    for (uint32_t i = 1; i <= 2; i++)
        sum += node_machine(world_node(world, node)->node, i)
                   ->lane->types[0]
                   .remember.counters.failures;
    return sum;
}

/* One of three nodes from the others. */
static void cut(struct world *world, uint32_t node, bool on)
{
    for (uint32_t i = 0; i < 3; i++)
        if (i != node)
            net_part(world, node, i, on);
}

/* Of a shard that is on that node, whose entities are others. */
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

/* Messages come before a majority has the start; none is read before that, and then each once. */
static void nothing_is_delivered_before_a_majority_has_it(void **state)
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
    assert_int_equal(failures(world, 0), 0); /* it was tried again */
    cast_await_running(world, 0, ENTITIES + 1);
    world_free(world);
}

/* Is it in its shard's set, on all nodes? */
static bool all_have(struct world *world, uint32_t nodes, const char *id)
{
    struct slice text = slice_text(id);
    struct dd_element element = dd_text(id);
    struct buf key = { 0 };
    uint32_t count = 0;

    remember_key_put(&key, types[0].name, hash_shard(text, SHARDS),
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

/* Three nodes with durable keys; the player is on the last one. */
static struct world *begin_three(uint64_t seed, struct player *player)
{
    struct world *world;

    is_durable = true;
    world = begin(seed, 3);
    cast_wake(world, types[0].name, ENTITIES);
    player_spawn(player, world, 2, 0);
    return world;
}

/* The last one, which is cut off, is killed, downed, and its shards are elsewhere, with all who were there; then it starts again, with its disk. */
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

/* It stops on a node that is cut off, and nobody else hears of that; the node is downed, and it starts elsewhere. Then the node's disk comes back,
 * with the removal. */
static void a_late_removal_takes_nobody_who_lives(void **state)
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

/* It is to start on a node that is cut off, whose disk alone has it; the node is downed, and its shard is read elsewhere. Then that disk comes back. */
static void who_comes_to_light_late_starts(void **state)
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

/* The write is given up after 5 s; 1 s later the shard's keys are read, until enough answer. */
static void a_read_that_too_few_answer_is_made_again(void **state)
{
    struct world *world = begin(7, 3);
    struct player player;
    char id[16];

    (void)state;
    cast_wake(world, types[0].name, ENTITIES);
    player_spawn(&player, world, 0, 0);
    cut(world, 0, true);
    ask_new(&player, world, id);
    world_run(world, 9 * SECOND); /* the first reads of 2 s are over */
    assert_int_equal(failures(world, 0), 1);
    cut(world, 0, false);
    assert_non_null(player_hears(&player, 4 * SECOND));
    assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
    assert_int_equal(failures(world, 0), 1);
    world_free(world);
}

/* Not as what too few confirm: a disk that refuses is asked again after the back-off. */
static void what_the_own_disk_refuses_is_written_later(void **state)
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

/* Nor is what its memory has a start that is stored: no read of it makes it one. */
static void a_full_disk_starts_nothing(void **state)
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

/* One that takes longer than a write has is given longer. */
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

/* An id that is no text: other members could not read the key that it stands in, whatever else is there. */
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

/* Of one shard, so they are in the same writes, and of each of its keys there are both. */
static void texts_beside_it_are_stored_alone(void **state)
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

/* Of up to five members all must have it, as sharding sets it: so any of their disks will do. With a lower minimum two of three. */
static void so_many_have_it_as_is_set(void **state)
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

/* A key grows up to what an entry may have. Beyond it a start is refused, to whoever sent the message; who is remembered stays, can be
 * forgotten, and makes room. */
static void a_key_that_is_full_refuses(void **state)
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
        for (size_t j = 0; j < sizeof id - 1; j++) /* values are packed: of these nothing is saved */
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
        cmocka_unit_test(they_move_with_their_shards),
        cmocka_unit_test(all_are_back_after_a_full_restart),
        cmocka_unit_test(another_number_of_shards_moves_them),
        cmocka_unit_test(what_coordinators_decided_is_in_nobodys_way),
        cmocka_unit_test(shards_that_come_to_light_later_start),
        cmocka_unit_test(without_durable_keys_all_is_forgotten),
        cmocka_unit_test(nothing_is_delivered_before_a_majority_has_it),
        cmocka_unit_test(a_late_removal_takes_nobody_who_lives),
        cmocka_unit_test(who_comes_to_light_late_starts),
        cmocka_unit_test(a_read_that_too_few_answer_is_made_again),
        cmocka_unit_test(what_the_own_disk_refuses_is_written_later),
        cmocka_unit_test(a_full_disk_starts_nothing),
        cmocka_unit_test(a_slow_disk_is_waited_for),
        cmocka_unit_test(an_id_that_is_no_text_is_refused),
        cmocka_unit_test(texts_beside_it_are_stored_alone),
        cmocka_unit_test(so_many_have_it_as_is_set),
        cmocka_unit_test(a_key_that_is_full_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
