/* Tests sharded daemons on whole nodes: which run, and a change of their count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cast.h"

#include <sherd/daemon.h>
#include <sherd/ddata.h>

#include "base/limits.h"

#define NODES 3
#define COUNT_MAX (DAEMON_PINGS_MAX + 50)
#define STOPPER 77

/* By number; a daemon of a former count that still runs is `mixed`. */
static uint32_t running[COUNT_MAX], starts[COUNT_MAX], total, mixed;
static uint32_t revisions[COUNT_MAX];
static uint32_t active_limit; /* of the nodes that start next */
static struct sherd_daemons settings;
static struct sherd_daemons_type type;
static uint32_t wanted; /* the count of the next change */

struct worker {
    struct sherd_daemon daemon;
    bool has_started;
};

static enum sherd_next worker_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    struct worker *worker = self;

    if (msg->kind == SHERD_STARTED) {
        assert_int_equal(sherd_daemon(ctx, &worker->daemon), 1);
        for (uint32_t i = 0; i < COUNT_MAX; i++)
            mixed += running[i] && revisions[i] != worker->daemon.revision;
        worker->has_started = true;
        running[worker->daemon.number]++;
        revisions[worker->daemon.number] = worker->daemon.revision;
        starts[worker->daemon.number]++;
        total++;
    }
    if (msg->kind == SHERD_MESSAGE && msg->msg == STOPPER)
        sherd_timer(ctx, 1, 700); /* it ends late */
    return msg->kind == SHERD_TIMER ? SHERD_STOP : SHERD_CONTINUE;
}

static void worker_release(void *self)
{
    struct worker *worker = self;

    if (worker->has_started) {
        running[worker->daemon.number]--;
        total--;
    }
}

static void begin(uint32_t count)
{
    memset(running, 0, sizeof running);
    memset(starts, 0, sizeof starts);
    total = mixed = 0;
    active_limit = 0;
    settings = (struct sherd_daemons){
        .name = "work",
        .count = count,
        .behavior = { .name = "worker",
                      .state_size = sizeof(struct worker),
                      .receive = worker_receive,
                      .release = worker_release },
        .keep_alive_ms = 2000,
    };
    cast_begin();
}

static const char *configured_role; /* of nodes that start */

static void start(struct world *world, uint32_t index, const char *const *roles)
{
    struct node_settings node;

    assert_int_equal(sherd_daemons_type(&settings, &type), 0);
    node = world_node_settings(world, index, &type.type, 1);
    node.roles = roles;
    node.role_count = roles ? 1 : 0;
    node.lanes = 1 + index % 2;
    node.active_entity_limit = active_limit;
    node.services.daemon_role = configured_role;
    world_start(world, index, &node);
}

static int opened;

static void open_act(struct sherd_ctx *ctx, struct player *player)
{
    opened = sherd_daemons_open(ctx, &settings, &player->other);
}

static void open_on(struct player *player, struct world *world, uint32_t node)
{
    player_spawn(player, world, node, 0);
    player_do(player, open_act);
}

static struct world *world_of(uint64_t seed, uint32_t count, struct player *players)
{
    struct world *world = cast_new(seed);

    for (uint32_t i = 0; i < count; i++)
        start(world, i, NULL);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    for (uint32_t i = 0; i < count; i++)
        open_on(&players[i], world, i);
    return world;
}

static void expect_running(uint32_t count)
{
    for (uint32_t i = 0; i < COUNT_MAX; i++)
        assert_int_equal(running[i], i < count);
    assert_int_equal(total, count);
    assert_int_equal(mixed, 0);
}

static void each_daemon_runs_once_over_the_cluster_SHT037_SHT088_SHT089_PKO021(void **state)
{
    struct player players[NODES];
    struct world *world;

    (void)state;
    begin(5);
    world = world_of(1, NODES, players);
    world_run(world, 20 * SECOND);
    expect_running(5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(starts[i], 1);
    world_free(world);
    assert_int_equal(total, 0);
}

static void expect_shard(const char *id, const char *number)
{
    struct sherd_extracted message = { .msg = 0 };
    char shard[SHERD_SHARD_MAX + 1];

    (void)snprintf(message.id, sizeof message.id, "%s", id);
    assert_int_equal(type.type.extractor->shard(NULL, &message, shard), number != NULL);
    if (number)
        assert_string_equal(shard, number);
}

static void each_daemon_has_its_own_shard_PKO029_PKO030_PKO031_PKO032(void **state)
{
    char id[32], number[8];

    (void)state;
    begin(8);
    assert_int_equal(sherd_daemons_type(&settings, &type), 0);
    for (uint32_t i = 0; i < 8; i++) {
        (void)snprintf(number, sizeof number, "%u", i);
        expect_shard(number, number);
        (void)snprintf(id, sizeof id, "3|8|%u", i);
        expect_shard(id, number);
    }
    expect_shard("x", NULL);
}

static void only_members_with_the_role_run_daemons_SHT039(void **state)
{
    static const char *const roles[] = { "other" };
    struct player player;
    struct world *world;

    (void)state;
    begin(3);
    settings.role = "host";
    world = cast_new(2);
    start(world, 0, roles);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    open_on(&player, world, 0);
    world_run(world, 20 * SECOND);
    expect_running(0);
    world_free(world);
}

static void daemons_without_a_role_have_the_configured_one(void **state)
{
    static const char *const roles[] = { "other" };
    struct player player;
    struct world *world;

    (void)state;
    begin(3);
    configured_role = "host";
    world = cast_new(2);
    start(world, 0, roles);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    open_on(&player, world, 0);
    world_run(world, 20 * SECOND);
    expect_running(0);
    world_free(world);
    configured_role = NULL;
}

static void daemons_of_a_crashed_node_start_elsewhere(void **state)
{
    struct player players[NODES];
    struct world *world;

    (void)state;
    begin(8);
    world = world_of(3, NODES, players);
    world_run(world, 20 * SECOND);
    expect_running(8);
    world_crash(world, 0);
    world_run(world, 5 * SECOND);
    world_down(world, 1, 0);
    world_run(world, 90 * SECOND);
    expect_running(8);
    world_free(world);
}

static void limits_of_active_entities_do_not_end_daemons(void **state)
{
    struct player players[NODES];
    struct world *world;

    (void)state;
    begin(6);
    active_limit = 1;
    world = world_of(7, 1, players);
    world_run(world, 20 * SECOND);
    expect_running(6);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(starts[i], 1);
    world_free(world);
}

static void change_act(struct sherd_ctx *ctx, struct player *player)
{
    sherd_daemons_set_count(ctx, player->other, wanted, ++player->tag, 60000);
}

static void change(struct player *player, uint32_t count)
{
    wanted = count;
    player->count = 0;
    player_do(player, change_act);
}

static void a_change_ends_all_daemons_before_the_new_ones_start(void **state)
{
    struct player players[NODES];
    struct world *world;

    (void)state;
    begin(6);
    settings.stop_msg = STOPPER;
    world = world_of(4, NODES, players);
    world_run(world, 20 * SECOND);
    expect_running(6);
    change(&players[2], 9);
    world_run(world, 200 * MS);
    change(&players[1], 4); /* in the middle of the other */
    assert_non_null(player_hears(&players[1], 10 * SECOND));
    assert_int_equal(player_last(&players[1])->msg, SHERD_DAEMONS_REFUSED);
    assert_non_null(player_hears(&players[2], 60 * SECOND));
    assert_int_equal(player_last(&players[2])->msg, SHERD_DAEMONS_CHANGED);
    world_run(world, 20 * SECOND);
    expect_running(9);
    change(&players[0], 2);
    assert_non_null(player_hears(&players[0], 60 * SECOND));
    world_run(world, 20 * SECOND);
    expect_running(2);
    assert_int_equal(revisions[0], 2);
    change(&players[0], 0);
    assert_non_null(player_hears(&players[0], 60 * SECOND));
    assert_int_equal(player_last(&players[0])->msg, SHERD_DAEMONS_REFUSED);
    world_free(world);
}

static void many_daemons_of_one_node_are_started_in_steps_SHT036_PKO023(void **state)
{
    struct player players[NODES];
    struct world *world;

    (void)state;
    begin(COUNT_MAX);
    world = world_of(8, 1, players);
    world_run(world, 2 * SECOND);
    expect_running(COUNT_MAX);
    world_free(world);
}

/* States as of many changes, none of which was replaced. */
static void write_states(struct sherd_ctx *ctx, struct player *player)
{
    struct sherd_change changes[DAEMON_STATES_MAX + 10];
    char texts[DAEMON_STATES_MAX + 10][16];
    uint32_t count = DAEMON_STATES_MAX + 10;

    (void)player;
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "c%u|3|2", i + 1);
        changes[i] = (struct sherd_change){ .verb = SHERD_ADD, .item = sherd_text(texts[i]) };
    }
    sherd_data_update(ctx, type.name, SHERD_OR_SET, changes, count, NULL, 1);
}

static void the_latest_of_many_states_counts(void **state)
{
    struct player player;
    struct world *world;

    (void)state;
    begin(2);
    world = cast_new(9);
    start(world, 0, NULL);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    player_spawn(&player, world, 0, 0);
    player_do(&player, write_states);
    world_run(world, 2 * SECOND);
    player_do(&player, open_act);
    world_run(world, 10 * SECOND);
    expect_running(3);
    assert_int_equal(revisions[0], DAEMON_STATES_MAX + 10);
    change(&player, 5);
    assert_non_null(player_hears(&player, 60 * SECOND));
    world_run(world, 10 * SECOND);
    expect_running(5);
    world_free(world);
}

static void the_next_coordinator_finishes_a_change(void **state)
{
    struct player players[NODES];
    struct world *world;

    (void)state;
    begin(6);
    settings.stop_msg = STOPPER;
    world = world_of(5, NODES, players);
    world_run(world, 20 * SECOND);
    expect_running(6);
    change(&players[1], 3);
    world_run(world, 300 * MS); /* the former daemons end */
    world_crash(world, 0); /* the coordinator's node */
    world_run(world, 2 * SECOND);
    world_down(world, 1, 0);
    world_run(world, 90 * SECOND);
    expect_running(3);
    assert_int_equal(revisions[0], 1);
    world_free(world);
}

static void wrong_settings_are_refused(void **state)
{
    struct sherd_daemons good;
    struct sherd_daemon daemon;
    struct player player;
    struct world *world;

    (void)state;
    (void)daemon;
    begin(2);
    world = world_of(6, 1, &player);
    good = settings;
#define REFUSED(field, value)                    \
    settings = good;                             \
    settings.field = (value);                    \
    open_on(&player, world, 0);                  \
    assert_int_equal(opened, SHERD_EINVAL)
    REFUSED(name, NULL);
    REFUSED(name, "a b");
    REFUSED(name, "12345678901234567890123456789012345678901");
    REFUSED(count, 0);
    REFUSED(count, SHERD_DAEMONS_COUNT_MAX + 1);
    REFUSED(behavior.receive, NULL);
    REFUSED(keep_alive_ms, UINT64_MAX);
#undef REFUSED
    settings = good;
    settings.name = "unregistered";
    open_on(&player, world, 0);
    assert_int_equal(opened, SHERD_ENOTYPE);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_daemon_runs_once_over_the_cluster_SHT037_SHT088_SHT089_PKO021),
        cmocka_unit_test(each_daemon_has_its_own_shard_PKO029_PKO030_PKO031_PKO032),
        cmocka_unit_test(only_members_with_the_role_run_daemons_SHT039),
        cmocka_unit_test(daemons_without_a_role_have_the_configured_one),
        cmocka_unit_test(daemons_of_a_crashed_node_start_elsewhere),
        cmocka_unit_test(limits_of_active_entities_do_not_end_daemons),
        cmocka_unit_test(a_change_ends_all_daemons_before_the_new_ones_start),
        cmocka_unit_test(many_daemons_of_one_node_are_started_in_steps_SHT036_PKO023),
        cmocka_unit_test(the_latest_of_many_states_counts),
        cmocka_unit_test(the_next_coordinator_finishes_a_change),
        cmocka_unit_test(wrong_settings_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
