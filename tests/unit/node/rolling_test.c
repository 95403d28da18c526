/* Tests rolling restarts with the split brain resolver: three hosting nodes leave and start again one
 * after another, while a fourth node asks their entities. No ask fails or waits, and the coordinator
 * is never missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cast.h"

enum { HOSTS = 3, ASKER = HOSTS, ITEMS = 50, ASKS_OF_TICK = 2 };
enum { TICK_MS = 1, ASK_MS = 10000, TICK = 1 << 20 };

/* Times in ns of the world. */
struct roll {
    struct world *world;
    uint32_t living;    /* coordinators */
    bool together;      /* two at a time */
    uint64_t missing_since; /* 0: one lives */
    uint64_t missing;   /* longest time without one */
    uint32_t handed;    /* coordinators begun */
    uint64_t sent[1 << 16]; /* by tag */
    uint32_t asked, answered, failed;
    uint64_t slowest;
    bool ends;
};

static void follow(void *user, uint32_t node, uint32_t machine,
                   const struct probe *probe)
{
    struct roll *roll = user;
    uint64_t now = world_now(roll->world);
    (void)node;
    (void)machine;

    if (probe->kind == PROBE_COORDINATOR_STARTED) {
        roll->together |= roll->living++ > 0;
        roll->handed++;
        if (roll->missing_since && now - roll->missing_since > roll->missing)
            roll->missing = now - roll->missing_since;
        roll->missing_since = 0;
    } else if (probe->kind == PROBE_COORDINATOR_ENDED && !--roll->living) {
        roll->missing_since = now;
    }
}

static void ask_some(struct sherd_ctx *ctx, struct roll *roll)
{
    for (int i = 0; i < ASKS_OF_TICK; i++, roll->asked++) {
        char id[16];

        (void)snprintf(id, sizeof id, "item-%u", roll->asked % ITEMS);
        roll->sent[roll->asked % (1 << 16)] = world_now(roll->world);
        sherd_entity_ask(ctx, "Item", id, ECHO, (struct sherd_bytes){ NULL, 0 },
                         roll->asked % (1 << 16), ASK_MS);
    }
}

static enum sherd_next asker(struct sherd_ctx *ctx, void *self,
                             const struct sherd_msg *msg)
{
    struct roll **of = self;
    struct roll *roll;

    if (msg->kind == SHERD_STARTED)
        memcpy(of, msg->body.data, sizeof *of);
    roll = *of;
    if (msg->kind == SHERD_ANSWER || msg->kind == SHERD_NO_ANSWER) {
        uint64_t took = world_now(roll->world) - roll->sent[msg->tag];

        roll->answered += msg->kind == SHERD_ANSWER;
        roll->failed += msg->kind != SHERD_ANSWER;
        roll->slowest = took > roll->slowest ? took : roll->slowest;
    } else if (!roll->ends) {
        ask_some(ctx, roll);
        sherd_timer(ctx, TICK, TICK_MS);
    }
    return SHERD_CONTINUE;
}

static enum sherd_next item(struct sherd_ctx *ctx, void *self,
                            const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_MESSAGE)
        sherd_reply(ctx, msg->msg, (struct sherd_bytes){ NULL, 0 });
    return SHERD_CONTINUE;
}

/* All settings but those of the shards are defaults. */
static void start(struct world *world, uint32_t node)
{
    static const struct sherd_entity_type type = {
        .name = "Item",
        .role = "host",
        .behavior = { .name = "item", .receive = item },
    };
    static const struct address seeds[] = { { "n0", 2551 },
                                            { "n1", 2551 },
                                            { "n2", 2551 } };
    static const char *const roles[] = { "host" };
    struct node_settings settings = world_node_settings(world, node, &type, 1);

    settings.alone = false;
    settings.seed_nodes = seeds;
    settings.seed_node_count = HOSTS;
    settings.roles = roles;
    settings.role_count = node < HOSTS;
    settings.probes = true;
    settings.resolves = true;
    settings.resolver.strategy.kind = STRATEGY_KEEP_MAJORITY;
    settings.resolver.stable_after = 20 * SECOND;
    settings.resolver.unstable_after = 15 * SECOND;
    settings.down_removal_margin = 20 * SECOND;
    world_start(world, node, &settings);
}

static bool is_up(struct world *world, void *node)
{
    return world_node(world, *(uint32_t *)node)->is_up;
}

/* Returns the time that it took. */
static uint64_t await(struct world *world, world_condition *condition,
                      uint32_t node)
{
    uint64_t begin = world_now(world);

    assert_true(world_until(world, condition, &node, 60 * SECOND));
    return world_now(world) - begin;
}

/* How a node that has left starts again. */
enum how { AT_ONCE, LATER };

/* pause: between a start and the next departure; 0: the node does not wait until it is up. */
static void expect_no_stall(uint64_t seed, uint64_t pause, enum how how)
{
    static const struct sherd_behavior behavior = {
        .name = "asker", .state_size = sizeof(struct roll *), .receive = asker
    };
    struct roll *roll = calloc(1, sizeof *roll);
    uint64_t left = 0, joined = 0;

    roll->world = cast_new(seed);
    world_observe(roll->world, &(struct world_observer){ .user = roll,
                                                         .probe = follow });
    for (uint32_t i = 0; i <= HOSTS; i++) {
        start(roll->world, i);
        (void)await(roll->world, is_up, i);
    }
    assert_true(world_until(roll->world, world_all_up, NULL, 60 * SECOND));
    world_spawn(roll->world, ASKER, 0, &behavior, &roll, sizeof roll);
    world_run(roll->world, SECOND);
    for (uint32_t i = 0; i < HOSTS; i++) {
        uint64_t took;

        world_leave(roll->world, i);
        took = await(roll->world, world_node_ended, i);
        left = took > left ? took : left;
        assert_int_equal(world_node(roll->world, i)->error, 0);
        world_run(roll->world, how == LATER ? 3 * SECOND : 0);
        start(roll->world, i);
        took = await(roll->world, is_up, i);
        joined = took > joined ? took : joined;
        world_run(roll->world, pause);
    }
    roll->ends = true;
    world_run(roll->world, ASK_MS * MS);
    assert_true(roll->asked > 2000);
    assert_int_equal(roll->answered, roll->asked);
    assert_int_equal(roll->failed, 0);
    assert_true(roll->slowest <= 500 * MS);
    assert_false(roll->together);
    assert_int_equal(roll->living, 1);
    assert_int_equal(roll->handed, HOSTS + 1);
    assert_true(roll->missing <= SECOND);
    assert_true(left <= 1500 * MS);
    assert_true(joined <= 2 * SECOND);
    world_free(roll->world);
    free(roll);
}

static void a_rolling_restart_stalls_nothing(void **state)
{
    (void)state;

    for (uint64_t seed = 1; seed <= 5; seed++)
        expect_no_stall(seed, seed * SECOND, AT_ONCE);
}

static void a_slow_rolling_restart_stalls_nothing(void **state)
{
    (void)state;

    for (uint64_t seed = 1; seed <= 3; seed++)
        expect_no_stall(seed, seed * SECOND, LATER);
}

static void a_hasty_rolling_restart_stalls_nothing(void **state)
{
    (void)state;

    for (uint64_t seed = 1; seed <= 5; seed++)
        expect_no_stall(seed, 0, AT_ONCE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rolling_restart_stalls_nothing),
        cmocka_unit_test(a_slow_rolling_restart_stalls_nothing),
        cmocka_unit_test(a_hasty_rolling_restart_stalls_nothing),
    };

    return cmocka_run_group_tests_name("rolling", tests, NULL, NULL);
}
