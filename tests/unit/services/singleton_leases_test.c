/* Tests singletons of actors that need a lease: crashes, pauses, cuts, hand-overs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cast.h"

#include <sherd/singleton.h>

#include "lease/book.h"

#define NODES 3
#define TTL (30 * SECOND)
#define RETRY (2 * SECOND)
#define CLOSE 77 /* the stop message of some instances, which need some time */
#define CLOSE_MS 3000

static uint32_t running[NODES], starts[NODES];
static struct sherd_singleton settings; /* of those that are opened next */
static int opened;

/* The instance's state. */
struct instance {
    uint32_t node;
    bool has_started;
};

static enum sherd_next instance_receive(struct sherd_ctx *ctx, void *self,
                                        const struct sherd_msg *msg)
{
    struct instance *instance = self;

    if (msg->kind == SHERD_STARTED) {
        memcpy(&instance->node, msg->body.data, sizeof instance->node);
        instance->has_started = true;
        running[instance->node]++;
        starts[instance->node]++;
    } else if (msg->kind == SHERD_MESSAGE && msg->msg == FAIL) {
        return SHERD_FAIL;
    } else if (msg->kind == SHERD_MESSAGE && msg->msg == CLOSE) {
        sherd_timer(ctx, 1, CLOSE_MS);
    } else if (msg->kind == SHERD_TIMER) {
        return SHERD_STOP;
    } else if (msg->kind == SHERD_MESSAGE) {
        uint64_t node = instance->node;

        assert_int_equal(running[instance->node], 1);
        sherd_reply(ctx, ECHO, (struct sherd_bytes){ &node, sizeof node });
    }
    return SHERD_CONTINUE;
}

static void instance_release(void *self)
{
    struct instance *instance = self;

    if (instance->has_started)
        running[instance->node]--;
}

static struct world *cluster(uint64_t seed, uint32_t count)
{
    struct world *world = cast_new(seed);

    memset(running, 0, sizeof running);
    memset(starts, 0, sizeof starts);
    settings = (struct sherd_singleton){
        .name = "one",
        .behavior = { .name = "one",
                      .state_size = sizeof(struct instance),
                      .receive = instance_receive,
                      .release = instance_release },
        .lease = "memory",
        .lease_retry_ms = RETRY / MS,
    };
    cast_begin();
    for (uint32_t i = 0; i < count; i++) {
        struct node_settings node = world_node_settings(world, i, NULL, 0);

        node.lanes = 1 + i % 2;
        node.lease_ttl = TTL;
        node.lease_interval = 3 * SECOND;
        node.lease_patience = 2 * SECOND;
        world_start(world, i, &node);
        /* alone, so that the first one is the oldest */
        assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    }
    return world;
}

static void open_act(struct sherd_ctx *ctx, struct player *player)
{
    struct sherd_singleton singleton = settings;

    singleton.init = (struct sherd_bytes){ &player->node, sizeof player->node };
    opened = sherd_singleton_open(ctx, &singleton, &player->other);
}

static void open_on(struct player *player, struct world *world, uint32_t node)
{
    player_spawn(player, world, node, 0);
    player_do(player, open_act);
    world_run(world, SECOND);
}

static uint32_t all(const uint32_t *counts)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < NODES; i++)
        sum += counts[i];
    return sum;
}

static uint32_t home(struct player *player)
{
    return (uint32_t)player_asks(player, NULL, NULL, ECHO);
}

/* The session that has the lease with Akka's name of it; null: none. */
static const char *holder(struct world *world)
{
    const struct node_settings *node = &world_node(world, 0)->settings;
    char name[200];

    (void)snprintf(name, sizeof name, "%s-singleton-%s://%s/system/singletonManagerone",
                   node->identity.system, node->identity.protocol, node->identity.system);
    return lease_book_holder(world_leases(world), world_now(world), slice_text(name));
}

static void an_instance_runs_while_its_node_has_the_lease_of_akkas_name(void **state)
{
    struct world *world = cluster(1, 1);
    struct player player;

    (void)state;
    world_cut_leases(world, 0, true);
    open_on(&player, world, 0);
    world_run(world, 10 * SECOND);
    assert_int_equal(all(starts), 0);
    assert_null(holder(world));
    assert_true(world_logged(world, 0, "lease of a singleton not acquired, tried again name=one"));
    assert_true(world_logged(world, 0, "the lease provider does not answer"));
    world_cut_leases(world, 0, false);
    world_run(world, RETRY + 3 * SECOND);
    assert_int_equal(home(&player), 0);
    assert_non_null(holder(world));
    world_free(world);
    assert_int_equal(all(running), 0);
}

/* Messages wait until another instance answers. */
static void a_lost_lease_ends_the_instance_until_it_is_had_again(void **state)
{
    struct world *world = cluster(2, 1);
    struct player player;

    (void)state;
    open_on(&player, world, 0);
    assert_int_equal(home(&player), 0);
    world_cut_leases(world, 0, true);
    world_run(world, TTL - TTL / 8 - 4 * SECOND); /* the last renewal, and a margin */
    assert_int_equal(running[0], 1);
    world_run(world, 5 * SECOND);
    assert_int_equal(running[0], 0);
    assert_true(world_logged(world, 0, "leases lost"));
    assert_true(world_logged(world, 0, "singleton ended, its lease is lost name=one"));
    player.count = 0;
    player_ask(&player, NULL, NULL, ECHO, 600000);
    assert_null(player_hears(&player, 30 * SECOND));
    assert_int_equal(starts[0], 1);
    world_cut_leases(world, 0, false);
    assert_non_null(player_hears(&player, RETRY + 4 * SECOND));
    assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
    assert_int_equal(starts[0], 2);
    world_free(world);
}

static void a_node_that_slept_past_its_lease_runs_no_instance(void **state)
{
    struct world *world = cluster(3, 2);
    struct player players[2];

    (void)state;
    for (uint32_t i = 0; i < 2; i++)
        open_on(&players[i], world, i);
    assert_int_equal(home(&players[1]), 0);
    world_pause(world, 0, true);
    world_run(world, TTL + SECOND);
    world_down(world, 1, 0);
    world_run(world, TTL + RETRY);
    assert_int_equal(running[1], 1); /* although the other one is in memory still */
    player_tell(&players[0], NULL, NULL, FAIL);
    world_pause(world, 0, false);
    world_run(world, 100 * MS);
    assert_int_equal(running[0], 0);
    assert_int_equal(home(&players[1]), 1);
    world_free(world);
}

static void a_lease_of_a_dead_node_is_granted_when_it_expires(void **state)
{
    struct world *world = cluster(4, 2);
    struct player players[2];
    uint64_t crashed;

    (void)state;
    for (uint32_t i = 0; i < 2; i++)
        open_on(&players[i], world, i);
    assert_int_equal(home(&players[1]), 0);
    world_crash_as(world, 0, WORLD_KILLED);
    running[0] = 0;
    crashed = world_now(world);
    world_down(world, 1, 0);
    world_run(world, TTL - 5 * SECOND);
    assert_int_equal(starts[1], 0);
    assert_true(world_logged(world, 1, "another node has it"));
    world_run(world, 5 * SECOND + 2 * RETRY);
    assert_int_equal(running[1], 1);
    assert_true(world_now(world) - crashed >= TTL);
    assert_int_equal(home(&players[1]), 1);
    world_free(world);
}

static bool runs_on_next(struct world *world, void *user)
{
    (void)world;
    (void)user;
    return running[1] == 1;
}

static void a_hand_over_gives_the_lease_up_first_SGT018_SGT019_SGT020(void **state)
{
    struct world *world = cluster(5, 2);
    struct player players[2];

    (void)state;
    for (uint32_t i = 0; i < 2; i++)
        open_on(&players[i], world, i);
    assert_int_equal(home(&players[1]), 0);
    world_leave(world, 0);
    assert_true(world_until(world, runs_on_next, NULL, TTL - 5 * SECOND));
    assert_int_equal(all(running), 1);
    assert_false(world_logged(world, 1, "another node has it"));
    assert_int_equal(home(&players[1]), 1);
    world_free(world);
}

/* Nothing but the provider's answer ends the wait for the release. */
static void a_lone_node_with_a_lease_leaves_at_once(void **state)
{
    struct world *world = cluster(9, 1);
    struct player player;
    uint32_t node = 0;

    (void)state;
    open_on(&player, world, 0);
    assert_int_equal(running[0], 1);
    world_leave(world, 0);
    assert_true(world_until(world, world_node_ended, &node, SECOND));
    world_free(world);
}

static bool runs_nowhere(struct world *world, void *user)
{
    (void)user;
    if (!all(running))
        return true;
    assert_non_null(holder(world)); /* the instance that ends needs it */
    return false;
}

static void an_instance_that_ends_slowly_keeps_its_lease(void **state)
{
    struct world *world = cluster(8, 2);
    struct player players[2];

    (void)state;
    settings.stop_msg = CLOSE;
    for (uint32_t i = 0; i < 2; i++)
        open_on(&players[i], world, i);
    assert_int_equal(home(&players[1]), 0);
    world_leave(world, 0);
    assert_true(world_until(world, runs_nowhere, NULL, TTL));
    assert_true(world_until(world, runs_on_next, NULL, 10 * SECOND));
    world_free(world);
}

static void an_instance_that_fails_starts_again_with_its_lease(void **state)
{
    struct world *world = cluster(6, 1);
    struct player player;

    (void)state;
    open_on(&player, world, 0);
    player_tell(&player, NULL, NULL, FAIL);
    world_run(world, 2 * SECOND);
    assert_int_equal(starts[0], 2);
    assert_true(world_logged(world, 0, "singleton ended by itself, starts again name=one"));
    assert_int_equal(home(&player), 0);
    world_free(world);
}

/* With the default of the configuration, and without. */
static void a_singleton_can_do_without_the_configured_lease(void **state)
{
    struct world *world = cluster(7, 1);
    struct player player;

    (void)state;
    settings.lease = "";
    world_cut_leases(world, 0, true);
    open_on(&player, world, 0);
    assert_int_equal(home(&player), 0);
    assert_null(holder(world));
    settings.lease = "paper";
    open_on(&player, world, 0);
    assert_int_equal(opened, SHERD_EINVAL);
    assert_true(world_logged(world, 0, "its lease provider is unknown"));
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_instance_runs_while_its_node_has_the_lease_of_akkas_name),
        cmocka_unit_test(a_lost_lease_ends_the_instance_until_it_is_had_again),
        cmocka_unit_test(a_node_that_slept_past_its_lease_runs_no_instance),
        cmocka_unit_test(a_lease_of_a_dead_node_is_granted_when_it_expires),
        cmocka_unit_test(a_hand_over_gives_the_lease_up_first_SGT018_SGT019_SGT020),
        cmocka_unit_test(a_lone_node_with_a_lease_leaves_at_once),
        cmocka_unit_test(an_instance_that_ends_slowly_keeps_its_lease),
        cmocka_unit_test(an_instance_that_fails_starts_again_with_its_lease),
        cmocka_unit_test(a_singleton_can_do_without_the_configured_lease),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
