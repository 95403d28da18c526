/* Tests that keys of a configuration change what simulated nodes do: each is read from a text, and a
 * number is measured with two of its values.
 *
 * The other keys are compared as settings (tests/host/settings_reach_test.c, settings_keys_test.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cast.h"
#include "host/settings.h"

#define CLUSTER "akka.cluster."
#define SHARDING CLUSTER "sharding."
#define LEAST SHARDING "least-shard-allocation-strategy."
#define NODES 3
#define NEVER UINT64_MAX

static const char *const host_role[] = { "host" };
static struct settings settings[NODES + 1]; /* of the nodes, while their world lives */

/* ---- nodes with a configuration ---- */

/* Keeps of the read settings what the world does not decide. */
static void start(struct world *world, uint32_t index, const char *text)
{
    const struct sherd_options options = { .journal = "memory", .config_text = text };
    const struct node_settings of_world = world_node_settings(world, index, cast_types, CAST_TYPES);
    struct node_settings node;
    char error[512] = "";

    settings_fini(&settings[index]);
    if (settings_read(&settings[index], &options, error, sizeof error))
        fail_msg("%s: %s", text, error);
    node = settings[index].node;
    node.identity = of_world.identity;
    node.seed_nodes = of_world.seed_nodes;
    node.seed_node_count = of_world.seed_node_count;
    node.alone = of_world.alone;
    node.lanes = 2;
    node.seed = of_world.seed;
    node.types = cast_types;
    node.type_count = CAST_TYPES;
    node.late_types_max = 0;
    node.trace_level = TRACE_DEBUG;
    node.clock = NULL;
    node.roles = host_role;
    node.role_count = index == 0;
    world_start(world, index, &node);
}

static struct world *begin(const char *text, uint32_t nodes)
{
    struct world *world = cast_new(5);

    cast_begin();
    for (uint32_t i = 0; i < nodes; i++)
        start(world, i, text);
    return world;
}

static struct world *begin_up(const char *text, uint32_t nodes)
{
    struct world *world = begin(text, nodes);

    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    return world;
}

static void end(struct world *world)
{
    world_free(world);
    for (uint32_t i = 0; i <= NODES; i++)
        settings_fini(&settings[i]);
}

static uint32_t shards_at(struct world *world, uint32_t node)
{
    struct sherd_status status = world_status(world, node);
    uint32_t shards = status.types[0].shards_here;

    world_status_fini(&status);
    return shards;
}

/* ---- measurements ---- */

static void count_bytes(void *user, uint64_t pipe, uint32_t from, uint32_t to, struct slice bytes)
{
    uint64_t *sum = user;

    (void)pipe;
    (void)from;
    (void)to;
    *sum += bytes.size;
}

/* Bytes in half a minute in which nothing happens. */
static uint64_t quiet_bytes(const char *text)
{
    struct world *world = begin_up(text, NODES);
    uint64_t bytes = 0;

    world_run(world, 10 * SECOND);
    world_observe(world, &(struct world_observer){ .user = &bytes, .written = count_bytes });
    world_run(world, 30 * SECOND);
    end(world);
    return bytes;
}

/* Milliseconds until the first node finds the third one unreachable, which crashed. */
static bool is_unreachable(struct world *world, void *arg)
{
    struct sherd_status status = world_status(world, 0);
    bool found = false;

    (void)arg;
    for (uint32_t i = 0; i < status.member_count; i++)
        found |= !status.members[i].reachable;
    world_status_fini(&status);
    return found;
}

static uint64_t detection_ms(const char *text)
{
    struct world *world = begin_up(text, NODES);
    uint64_t at;

    world_run(world, 30 * SECOND);
    world_crash_as(world, 2, WORLD_DARK);
    at = world_now(world);
    assert_true(world_until(world, is_unreachable, NULL, 120 * SECOND));
    at = (world_now(world) - at) / MS;
    end(world);
    return at;
}

/* Whether a single node is up at once. */
static uint64_t is_alone_up(const char *text)
{
    struct world *world = begin(text, 1);
    uint64_t is_up;

    world_run(world, 10 * SECOND);
    is_up = world_node(world, 0)->is_up;
    end(world);
    return is_up;
}

/* Shards of 400 entities. */
static uint64_t shards(const char *text)
{
    struct world *world = begin_up(text, 1);
    uint64_t count;

    cast_wake(world, "E", 400);
    count = shards_at(world, 0);
    end(world);
    return count;
}

/* Those of twenty messages that are undelivered while no node hosts the type. */
static uint64_t unbuffered(const char *text)
{
    struct world *world = begin_up(text, 2);
    struct player player;
    uint64_t count = 0;

    player_spawn(&player, world, 1, 0);
    world_crash_as(world, 0, WORLD_DARK);
    for (int i = 0; i < 20; i++)
        player_tell(&player, "R", "e1", SILENT);
    world_run(world, SECOND);
    for (uint32_t i = 0; i < player.count; i++)
        count += player.heard[i].kind == SHERD_UNDELIVERED;
    end(world);
    return count;
}

/* Bytes that a region writes while the coordinator does not answer. */
static uint64_t repeated_bytes(const char *text)
{
    struct world *world = begin_up(text, 2);
    struct player player;
    char ids[20][8];
    uint64_t bytes = 0;

    world_run(world, 10 * SECOND);
    player_spawn(&player, world, 1, 0);
    world_pause(world, 0, true);
    for (uint32_t i = 0; i < 20; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "e%u", i);
        player_tell(&player, "E", ids[i], SILENT);
    }
    world_observe(world, &(struct world_observer){ .user = &bytes, .written = count_bytes });
    world_run(world, 3 * SECOND);
    end(world);
    return bytes;
}

/* Entities of 100 that are active after half a minute without a message. */
static uint64_t active(const char *text)
{
    struct world *world = begin_up(text, 1);
    uint64_t count;

    cast_wake(world, "E", 100);
    world_run(world, 30 * SECOND);
    count = cast_running(world, 0);
    end(world);
    return count;
}

/* Whether the entity that was used first is active, if there may be two of three. */
static uint64_t keeps_first(const char *text)
{
    struct world *world = begin_up(text, 1);
    struct player player;
    uint64_t given;

    player_spawn(&player, world, 0, 0);
    for (int i = 0; i < 3; i++)
        player_asks(&player, "E", i ? i == 1 ? "b" : "c" : "a", ECHO);
    given = player_asks(&player, "E", "a", COUNT);
    end(world);
    return given == 2;
}

/* Shards of the node without the role "host". */
static uint64_t shards_elsewhere(const char *text)
{
    struct world *world = begin_up(text, 2);
    uint64_t count;

    cast_wake(world, "E", 100);
    world_run(world, 30 * SECOND);
    count = shards_at(world, 1);
    end(world);
    return count;
}

/* Starts a second node beside one with 90 shards. */
static struct world *joined(const char *text)
{
    struct world *world = begin_up(text, 1);

    cast_wake(world, "E", 400);
    start(world, 1, text);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    return world;
}

static bool has_shards(struct world *world, void *arg)
{
    (void)arg;
    return shards_at(world, 1) > 0;
}

static uint64_t first_move_ms(const char *text)
{
    struct world *world = joined(text);
    uint64_t at = world_now(world);

    assert_true(world_until(world, has_shards, NULL, 120 * SECOND));
    at = (world_now(world) - at) / MS;
    end(world);
    return at;
}

/* Shards that move in one round. */
static uint64_t moves(const char *text)
{
    struct world *world = joined(text);
    uint64_t count;

    assert_true(world_until(world, has_shards, NULL, 120 * SECOND));
    world_run(world, 4 * SECOND); /* less than the interval, which is 10 s */
    count = shards_at(world, 1);
    end(world);
    return count;
}

/* Shards of the second node in the end. */
static uint64_t moves_in_all(const char *text)
{
    struct world *world = joined(text);
    uint64_t count;

    world_run(world, 120 * SECOND);
    count = shards_at(world, 1);
    end(world);
    return count;
}

/* Entities that run again after a restart of their only node. */
static uint64_t remembered(const char *text)
{
    struct world *world = begin_up(text, 2);
    uint64_t count;

    cast_wake(world, "R", 20); /* the first node alone has the role */
    world_crash_as(world, 0, WORLD_KILLED);
    world_down(world, 1, 0);
    world_run(world, 10 * SECOND);
    start(world, 0, text);
    world_run(world, 30 * SECOND);
    count = cast_running(world, 3);
    end(world);
    return count;
}

/* Entities of a node that cannot reach the lease provider any more. */
static uint64_t active_without_leases(const char *text)
{
    struct world *world = begin_up(text, 1);
    uint64_t count;

    cast_wake(world, "E", 40);
    world_cut_leases(world, 0, true);
    world_run(world, 200 * SECOND); /* a lease lasts 120 s */
    count = cast_running(world, 0);
    end(world);
    return count;
}

/* Milliseconds until the resolver removes a node that crashed. */
static bool are_two(struct world *world, void *arg)
{
    struct sherd_status status = world_status(world, 0);
    bool are = status.member_count == 2;

    (void)arg;
    world_status_fini(&status);
    return are;
}

static uint64_t removal_ms(const char *text)
{
    struct world *world = begin_up(text, NODES);
    uint64_t at;

    world_run(world, 30 * SECOND);
    world_crash_as(world, 2, WORLD_DARK);
    at = world_now(world);
    assert_true(world_until(world, are_two, NULL, 120 * SECOND));
    at = (world_now(world) - at) / MS;
    end(world);
    return at;
}

static uint64_t is_logged(const char *text)
{
    struct world *world = begin_up(text, 1);
    uint64_t found;

    cast_wake(world, "E", 1);
    found = world_logged(world, 0, "message handled msg=");
    end(world);
    return found;
}

static uint64_t has_path(const char *text)
{
    struct world *world = begin_up(text, 1);
    uint64_t found;

    cast_wake(world, "E", 1);
    found = world_logged(world, 0, "path=/system/parts/ECoordinator");
    end(world);
    return found;
}

/* ---- the keys ---- */

#define RESOLVER CLUSTER "downing-provider-class = akka.cluster.sbr.SplitBrainResolverProvider\n"
#define LIMIT(keys)                                                                                    \
    SHARDING "number-of-shards = 1\n" SHARDING "passivation { strategy = own, own { active-entity-limit = 2\n" \
             keys " } }\n"
#define FEW SHARDING "number-of-shards = 90\n"

/* The least and the most that may be measured with each value. */
static const struct row {
    const char *name; /* of the test */
    uint64_t (*measure)(const char *text);
    const char *one;
    uint64_t one_least, one_most;
    const char *other;
    uint64_t other_least, other_most;
} rows[] = {
    { "gossip-interval", quiet_bytes, CLUSTER "gossip-interval = 5 s", 0, 50000,
      CLUSTER "gossip-interval = 200 ms", 50001, NEVER },
    { "failure-detector.heartbeat-interval", quiet_bytes, CLUSTER "failure-detector.heartbeat-interval = 2 s", 0,
      70000, CLUSTER "failure-detector.heartbeat-interval = 100 ms", 70001, NEVER },
    { "failure-detector.acceptable-heartbeat-pause", detection_ms,
      CLUSTER "failure-detector.acceptable-heartbeat-pause = 3 s", 3000, 8000,
      CLUSTER "failure-detector.acceptable-heartbeat-pause = 20 s", 20000, 25000 },
    { "unreachable-nodes-reaper-interval", detection_ms, CLUSTER "unreachable-nodes-reaper-interval = 1 s", 3000,
      8000, CLUSTER "unreachable-nodes-reaper-interval = 40 s", 8001, 60000 },
    { "min-nr-of-members", is_alone_up, CLUSTER "min-nr-of-members = 1", 1, 1, CLUSTER "min-nr-of-members = 2", 0,
      0 },
    { "split-brain-resolver.stable-after", removal_ms,
      RESOLVER CLUSTER "split-brain-resolver.stable-after = 5 s", 8000, 18000,
      RESOLVER CLUSTER "split-brain-resolver.stable-after = 30 s", 33000, 43000 },
    { "sharding.number-of-shards", shards, SHARDING "number-of-shards = 7", 7, 7,
      SHARDING "number-of-shards = 70", 60, 70 },
    { "sharding.buffer-size", unbuffered, SHARDING "buffer-size = 4", 10, 18, SHARDING "buffer-size = 100", 0, 0 },
    { "sharding.retry-interval", repeated_bytes, SHARDING "retry-interval = 2 s", 0, 6000,
      SHARDING "retry-interval = 100 ms", 6001, NEVER },
    { "sharding.passivation...idle-entity.timeout", active,
      SHARDING "passivation.default-idle-strategy.idle-entity.timeout = 10 s", 0, 0,
      SHARDING "passivation.default-idle-strategy.idle-entity.timeout = 100 s", 100, 100 },
    { "sharding.passivation.strategy", active,
      SHARDING "passivation { strategy = none, default-idle-strategy.idle-entity.timeout = 10 s }", 100, 100,
      SHARDING "passivation { strategy = default-idle-strategy\n"
               "default-idle-strategy.idle-entity.timeout = 10 s }", 0, 0 },
    { "sharding.passivation...active-entity-limit", active,
      SHARDING "number-of-shards = 1\n" SHARDING
               "passivation { strategy = default-strategy, default-strategy.active-entity-limit = 30 }", 30, 30,
      SHARDING "number-of-shards = 1\n" SHARDING
               "passivation { strategy = default-strategy, default-strategy.active-entity-limit = 60 }", 60, 60 },
    { "sharding.passivation...replacement.policy", keeps_first, LIMIT("replacement.policy = least-recently-used"),
      0, 0, LIMIT("replacement.policy = most-recently-used"), 1, 1 },
    { "sharding.role", shards_elsewhere, SHARDING "role = \"\"", 1, NEVER, SHARDING "role = host", 0, 0 },
    { "sharding.rebalance-interval", first_move_ms, SHARDING "rebalance-interval = 2 s", 0, 4000,
      SHARDING "rebalance-interval = 40 s", 4001, 42000 },
    { "sharding...rebalance-absolute-limit", moves, FEW LEAST "rebalance-absolute-limit = 4\n" LEAST
      "rebalance-relative-limit = 1.0", 4, 4,
      FEW LEAST "rebalance-absolute-limit = 20\n" LEAST "rebalance-relative-limit = 1.0", 20, 20 },
    { "sharding...rebalance-relative-limit", moves, FEW LEAST "rebalance-absolute-limit = 90\n" LEAST
      "rebalance-relative-limit = 0.1", 7, 9,
      FEW LEAST "rebalance-absolute-limit = 90\n" LEAST "rebalance-relative-limit = 0.2", 15, 18 },
    { "sharding...rebalance-threshold", moves_in_all,
      FEW SHARDING "rebalance-interval = 1 s\n" LEAST "rebalance-threshold = 80", 1, 10,
      FEW SHARDING "rebalance-interval = 1 s\n" LEAST "rebalance-threshold = 1", 40, 50 },
    { "sharding.remember-entities", remembered,
      SHARDING "remember-entities-store = eventsourced", 0, 0,
      SHARDING "remember-entities-store = eventsourced\n" SHARDING "remember-entities = on", 20, 20 },
    { "sharding.use-lease", active_without_leases,
      SHARDING "passivation.strategy = none\n" SHARDING "use-lease = \"\"", 40, 40,
      SHARDING "passivation.strategy = none\n" SHARDING "use-lease = memory", 0, 0 },
    { "sharding.verbose-debug-logging", is_logged, SHARDING "verbose-debug-logging = off", 0, 0,
      SHARDING "verbose-debug-logging = on", 1, 1 },
    { "sharding.guardian-name", has_path, SHARDING "guardian-name = sharding", 0, 0,
      SHARDING "guardian-name = parts", 1, 1 },
};

#define ROWS (sizeof rows / sizeof *rows)

static void expect(const struct row *row, const char *text, uint64_t least, uint64_t most)
{
    uint64_t found = row->measure(text);

    if (found < least || found > most)
        fail_msg("%s: %llu, not %llu to %llu", text, (unsigned long long)found, (unsigned long long)least,
                 (unsigned long long)most);
}

static void the_key_changes_what_nodes_do(void **state)
{
    const struct row *row = *state;

    expect(row, row->one, row->one_least, row->one_most);
    expect(row, row->other, row->other_least, row->other_most);
}

int main(void)
{
    struct CMUnitTest tests[ROWS];

    for (size_t i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){ rows[i].name, the_key_changes_what_nodes_do, NULL, NULL,
                                        (void *)(uintptr_t)&rows[i] };
    return cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
