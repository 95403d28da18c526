/* Tests singletons of actors on whole nodes: which node runs the instance, and what becomes of
 * messages to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cast.h"

#include <sherd/singleton.h>

#include "base/limits.h"

#define NODES 6
#define STOPPER 77 /* the stop message of some singletons */
#define WHERE ECHO

/* Counts of the instances, by node. */
static uint32_t running[NODES], starts[NODES], stops[NODES], stop_messages[NODES];
static uint32_t received[SINGLETON_BUFFER_MAX], received_count;
static const char *names[NODES]; /* the data center of each node */
static struct sherd_singleton settings; /* of those that are opened next */
static int opened;                      /* the result of the last open */

/* The instance's state. */
struct instance {
    uint32_t node;
    bool has_started;
};

static enum sherd_next instance_receive(struct sherd_ctx *ctx, void *self,
                                        const struct sherd_msg *msg)
{
    struct instance *instance = self;

    switch (msg->kind) {
    case SHERD_STARTED:
        memcpy(&instance->node, msg->body.data, sizeof instance->node);
        instance->has_started = true;
        running[instance->node]++;
        starts[instance->node]++;
        for (uint32_t i = 0; i < NODES; i++)
            if (i != instance->node && running[i])
                assert_string_not_equal(names[i], names[instance->node]);
        return SHERD_CONTINUE;
    case SHERD_STOPPING:
        stops[instance->node]++;
        return SHERD_STOP;
    case SHERD_MESSAGE:
        if (msg->msg == STOPPER) {
            stop_messages[instance->node]++;
            return SHERD_STOP;
        }
        if (msg->msg == FAIL)
            return SHERD_FAIL;
        if (msg->msg == NUMBERED)
            memcpy(&received[received_count++], msg->body.data, 4);
        if (msg->msg == WHERE) {
            uint64_t node = instance->node;

            sherd_reply(ctx, WHERE, (struct sherd_bytes){ &node, sizeof node });
        }
        return SHERD_CONTINUE;
    default:
        return SHERD_CONTINUE;
    }
}

static void instance_release(void *self)
{
    struct instance *instance = self;

    if (instance->has_started)
        running[instance->node]--;
}

static void begin(void)
{
    memset(running, 0, sizeof running);
    memset(starts, 0, sizeof starts);
    memset(stops, 0, sizeof stops);
    memset(stop_messages, 0, sizeof stop_messages);
    received_count = 0;
    settings = (struct sherd_singleton){
        .name = "one",
        .behavior = { .name = "one",
                      .state_size = sizeof(struct instance),
                      .receive = instance_receive,
                      .release = instance_release },
    };
    for (uint32_t i = 0; i < NODES; i++)
        names[i] = "default";
    cast_begin();
}

static void start(struct world *world, uint32_t index, const char *const *roles)
{
    struct node_settings node = world_node_settings(world, index, NULL, 0);

    node.roles = roles;
    node.role_count = roles ? 1 : 0;
    node.data_center = names[index];
    node.lanes = 1 + index % 2;
    world_start(world, index, &node);
}

static struct world *world_of(uint64_t seed, uint32_t count)
{
    struct world *world = cast_new(seed);

    for (uint32_t i = 0; i < count; i++)
        start(world, i, NULL);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    return world;
}

static void open_act(struct sherd_ctx *ctx, struct player *player)
{
    struct sherd_singleton singleton = settings;

    singleton.init = (struct sherd_bytes){ &player->node, sizeof player->node };
    opened = sherd_singleton_open(ctx, &singleton, &player->other);
}

/* Opens the singleton on a node, by a player that asks it from then on. */
static void open_on(struct player *player, struct world *world, uint32_t node)
{
    player_spawn(player, world, node, 0);
    player_do(player, open_act);
}

static uint32_t all(const uint32_t *counts)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < NODES; i++)
        sum += counts[i];
    return sum;
}

/* Returns the node whose instance answers the player. */
static uint32_t home(struct player *player)
{
    return (uint32_t)player_asks(player, NULL, NULL, WHERE);
}

static void every_node_reaches_the_one_instance_SGT010_SGT029_SGT038(void **state)
{
    struct player players[NODES];
    struct world *world;

    (void)state;
    begin();
    world = world_of(1, NODES);
    for (uint32_t i = 0; i < NODES; i++)
        open_on(&players[i], world, i);
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < NODES; i++)
            assert_int_equal(home(&players[i]), 0);
    assert_int_equal(all(starts), 1);
    world_free(world);
    assert_int_equal(all(running), 0);
}

static void only_members_with_the_role_run_it_SGT041(void **state)
{
    static const char *const roles[] = { "host" };
    struct player players[3];
    struct world *world;

    (void)state;
    begin();
    settings.role = "host";
    world = cast_new(2);
    start(world, 0, NULL);
    start(world, 1, roles);
    start(world, 2, roles);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    for (uint32_t i = 0; i < 3; i++)
        open_on(&players[i], world, i);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(home(&players[i]), home(&players[1]));
    assert_int_not_equal(home(&players[0]), 0);
    assert_int_equal(all(starts), 1);
    world_free(world);
}

static void a_leaving_node_stops_the_instance_before_the_next_one_starts_SGT042(void **state)
{
    struct player players[3];
    struct world *world;

    (void)state;
    begin();
    world = world_of(3, 3);
    for (uint32_t i = 0; i < 3; i++)
        open_on(&players[i], world, i);
    assert_int_equal(home(&players[2]), 0);
    world_leave(world, 0);
    world_run(world, 30 * SECOND);
    assert_int_equal(stops[0], 1);
    assert_int_equal(home(&players[2]), home(&players[1]));
    assert_int_not_equal(home(&players[2]), 0);
    assert_int_equal(all(running), 1);
    world_free(world);
}

static void the_second_oldest_of_six_takes_over_from_the_oldest_SGT030(void **state)
{
    struct player players[NODES];
    struct world *world;
    uint32_t oldest = 0;

    (void)state;
    begin();
    world = cast_new(21);
    for (uint32_t i = 0; i < NODES; i++) { /* one after the other, so the index is the age */
        start(world, i, NULL);
        assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
        open_on(&players[i], world, i);
    }
    for (uint32_t i = 0; i < NODES; i++)
        assert_int_equal(home(&players[i]), 0);
    world_leave(world, 0);
    assert_true(world_until(world, world_node_ended, &oldest, 60 * SECOND));
    assert_int_equal(stops[0], 1);
    assert_int_equal(running[0], 0);
    for (uint32_t i = 1; i < NODES; i++)
        assert_int_equal(home(&players[i]), 1); /* each proxy follows */
    assert_int_equal(all(starts), 2);
    assert_int_equal(all(running), 1);
    world_free(world);
}

/* There is no removal to wait for. */
static void a_singleton_answers_within_three_seconds_in_a_fresh_cluster_SGT034(void **state)
{
    struct player players[3];
    struct world *world;

    (void)state;
    begin();
    world = cast_new(22);
    for (uint32_t i = 0; i < 3; i++) {
        start(world, i, NULL);
        open_on(&players[i], world, i);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t before = world_now(world);

        assert_int_equal(home(&players[i]), home(&players[0]));
        assert_in_range(world_now(world) - before, 0, 3 * SECOND);
    }
    assert_int_equal(all(starts), 1);
    world_free(world);
}

static void the_stop_message_ends_an_instance_at_its_hand_over(void **state)
{
    struct player players[2];
    struct world *world;

    (void)state;
    begin();
    settings.stop_msg = STOPPER;
    world = world_of(4, 2);
    for (uint32_t i = 0; i < 2; i++)
        open_on(&players[i], world, i);
    assert_int_equal(home(&players[1]), 0);
    world_leave(world, 0);
    world_run(world, 30 * SECOND);
    assert_int_equal(stop_messages[0], 1);
    assert_int_equal(stops[0], 0);
    assert_int_equal(home(&players[1]), 1);
    world_free(world);
}

static void each_data_center_has_its_own_and_a_proxy_reaches_the_other_SGT036_SGT039_SGT040(
    void **state)
{
    struct player own[4], far;
    struct world *world;

    (void)state;
    begin();
    for (uint32_t i = 0; i < NODES; i++)
        names[i] = i < 2 ? "east" : "west";
    world = world_of(5, 4);
    for (uint32_t i = 0; i < 4; i++)
        open_on(&own[i], world, i);
    assert_int_equal(home(&own[1]), home(&own[0]));
    assert_int_equal(home(&own[3]), home(&own[2]));
    assert_true(home(&own[0]) < 2);
    assert_true(home(&own[2]) >= 2);
    settings.data_center = "west";
    open_on(&far, world, 0);
    assert_int_equal(opened, 0);
    assert_int_equal(home(&far), home(&own[2]));
    assert_int_equal(all(starts), 2);
    world_free(world);
}

static void send_numbers(struct sherd_ctx *ctx, struct player *player)
{
    for (uint32_t i = 0; i < 10; i++)
        sherd_tell(ctx, player->other, NUMBERED, (struct sherd_bytes){ &i, sizeof i });
}

static void full_buffers_end_the_oldest_messages_and_keep_the_order(void **state)
{
    struct player proxy, host;
    struct world *world;

    (void)state;
    begin();
    world = world_of(6, 2);
    settings.proxy = 1;
    settings.buffer_size = 4;
    open_on(&proxy, world, 1);
    proxy.count = 0;
    player_do(&proxy, send_numbers);
    world_run(world, SECOND);
    assert_int_equal(proxy.count, 6); /* it wants to know */
    assert_int_equal(player_last(&proxy)->kind, SHERD_UNDELIVERED);
    assert_int_equal(player_last(&proxy)->reason, SHERD_REASON_BUFFER_FULL);
    settings.proxy = 0;
    open_on(&host, world, 0);
    world_run(world, 5 * SECOND);
    assert_int_equal(received_count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(received[i], 6 + i);
    world_free(world);
}

static void without_a_buffer_messages_end_at_once(void **state)
{
    struct player proxy;
    struct world *world;

    (void)state;
    begin();
    world = world_of(7, 2);
    settings.proxy = 1;
    settings.buffer_size = SHERD_SINGLETON_NO_BUFFER;
    open_on(&proxy, world, 1);
    player_ask(&proxy, NULL, NULL, WHERE, 10000);
    world_run(world, SECOND);
    assert_int_equal(player_last(&proxy)->kind, SHERD_NO_ANSWER);
    assert_int_equal(player_last(&proxy)->reason, SHERD_REASON_BUFFER_FULL);
    world_free(world);
}

static void send_large(struct sherd_ctx *ctx, struct player *player)
{
    static uint8_t body[SHERD_BODY_MAX];

    for (uint32_t i = 0; i < KEPT_QUEUE_BYTES_MAX / SHERD_BODY_MAX + 5; i++)
        sherd_tell(ctx, player->other, NUMBERED, (struct sherd_bytes){ body, sizeof body });
}

static void buffers_have_a_limit_of_bytes(void **state)
{
    struct player proxy;
    struct world *world;

    (void)state;
    begin();
    world = world_of(11, 1);
    settings.proxy = 1;
    open_on(&proxy, world, 0);
    proxy.count = 0;
    player_do(&proxy, send_large);
    world_run(world, SECOND);
    assert_in_range(proxy.count, 4, 6);
    assert_int_equal(player_last(&proxy)->reason, SHERD_REASON_BUFFER_FULL);
    world_free(world);
}

static void open_many(struct sherd_ctx *ctx, struct player *player)
{
    struct sherd_singleton singleton = settings;
    char name[16];

    singleton.init = (struct sherd_bytes){ &player->node, sizeof player->node };
    singleton.name = name;
    singleton.proxy = 1;
    for (uint32_t i = 0; i <= USER_SINGLETONS_MAX; i++) {
        (void)snprintf(name, sizeof name, "s%u", i);
        assert_int_equal(sherd_singleton_open(ctx, &singleton, &player->other), 0);
    }
}

static void a_node_has_a_limit_of_singletons(void **state)
{
    struct player player;
    struct world *world;

    (void)state;
    begin();
    world = world_of(12, 1);
    player_spawn(&player, world, 0, 0);
    player_do(&player, open_many);
    world_run(world, SECOND);
    assert_true(world_logged(world, 0, "the node has too many name=s256"));
    world_free(world);
}

static void an_instance_that_fails_starts_again_later(void **state)
{
    struct player players[2];
    struct world *world;

    (void)state;
    begin();
    world = world_of(8, 2);
    for (uint32_t i = 0; i < 2; i++)
        open_on(&players[i], world, i);
    assert_int_equal(home(&players[1]), 0);
    player_tell(&players[1], NULL, NULL, FAIL);
    world_run(world, 100 * MS);
    assert_int_equal(all(running), 0);
    world_run(world, 5 * SECOND);
    assert_int_equal(starts[0], 2);
    assert_int_equal(home(&players[1]), 0);
    world_leave(world, 0);
    world_run(world, 30 * SECOND);
    assert_int_equal(home(&players[1]), 1);
    world_free(world);
}

static void a_crashed_node_is_followed_after_its_removal(void **state)
{
    struct player players[3];
    struct world *world;

    (void)state;
    begin();
    world = world_of(9, 3);
    for (uint32_t i = 0; i < 3; i++)
        open_on(&players[i], world, i);
    assert_int_equal(home(&players[2]), 0);
    world_crash(world, 0);
    world_run(world, 5 * SECOND);
    assert_int_equal(all(running), 0);
    world_down(world, 1, 0);
    world_run(world, 60 * SECOND);
    assert_int_equal(all(running), 1);
    assert_int_equal(home(&players[2]), home(&players[1]));
    world_free(world);
}

static void wrong_settings_are_refused(void **state)
{
    struct sherd_singleton good;
    struct player player, again;
    struct world *world;
    char text[200];

    (void)state;
    begin();
    world = world_of(10, 1);
    good = settings;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
#define REFUSED(field, value)                    \
    settings = good;                             \
    settings.field = (value);                    \
    open_on(&player, world, 0);                  \
    assert_int_equal(opened, SHERD_EINVAL)
    REFUSED(name, "a/b");
    REFUSED(name, text);
    REFUSED(role, text);
    REFUSED(data_center, text);
    REFUSED(behavior.receive, NULL);
    REFUSED(lease, "paper");
    REFUSED(lease_retry_ms, SINGLETON_TIME_MAX_MS + 1);
    REFUSED(buffer_size, SINGLETON_BUFFER_MAX + 1);
    REFUSED(hand_over_retry_ms, UINT64_MAX);
    REFUSED(identification_ms, SINGLETON_TIME_MAX_MS + 1);
    REFUSED(hand_over_retries, SINGLETON_RETRIES_MAX + 1);
#undef REFUSED
    settings = good;
    open_on(&player, world, 0);
    open_on(&again, world, 0);
    assert_int_equal(opened, 0);
    assert_true(world_logged(world, 0, "this node has opened it already"));
    player_ask(&again, NULL, NULL, WHERE, 1000);
    world_run(world, SECOND);
    assert_int_equal(player_last(&again)->reason, SHERD_REASON_NO_SUCH_ACTOR);
    assert_int_equal(home(&player), 0);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_reaches_the_one_instance_SGT010_SGT029_SGT038),
        cmocka_unit_test(only_members_with_the_role_run_it_SGT041),
        cmocka_unit_test(a_leaving_node_stops_the_instance_before_the_next_one_starts_SGT042),
        cmocka_unit_test(the_second_oldest_of_six_takes_over_from_the_oldest_SGT030),
        cmocka_unit_test(a_singleton_answers_within_three_seconds_in_a_fresh_cluster_SGT034),
        cmocka_unit_test(the_stop_message_ends_an_instance_at_its_hand_over),
        cmocka_unit_test(
            each_data_center_has_its_own_and_a_proxy_reaches_the_other_SGT036_SGT039_SGT040),
        cmocka_unit_test(full_buffers_end_the_oldest_messages_and_keep_the_order),
        cmocka_unit_test(without_a_buffer_messages_end_at_once),
        cmocka_unit_test(buffers_have_a_limit_of_bytes),
        cmocka_unit_test(a_node_has_a_limit_of_singletons),
        cmocka_unit_test(an_instance_that_fails_starts_again_later),
        cmocka_unit_test(a_crashed_node_is_followed_after_its_removal),
        cmocka_unit_test(wrong_settings_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
