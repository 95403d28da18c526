/* Tests the states of a node's automata, as an observer sees them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cast.h"
#include "node/states.h"

#define LANES 2
#define LOOK (MS / 2)
#define HOSTED_TYPES 3 /* no node has the role of the last type */

static uint64_t states_of(struct world *world, uint32_t index)
{
    const struct world_node *place = world_node(world, index);
    uint64_t states = 0;

    for (uint32_t i = 0; place->node && i <= LANES; i++)
        states |= machine_states(node_machine(place->node, i),
                                 world_clock(world, index));
    return states;
}

static bool has(uint64_t states, enum node_state state)
{
    return states >> state & 1;
}

/* Collects states while the world runs on, as long as the node lives. */
static uint64_t states_in(struct world *world, uint32_t index, uint64_t time)
{
    uint64_t states = 0;

    for (uint64_t end = world_now(world) + time;
         world_now(world) < end && world_node(world, index)->node;) {
        states |= states_of(world, index);
        world_run(world, LOOK);
    }
    return states;
}

static void begin_one(struct world *world, uint32_t index)
{
    struct node_settings settings =
        world_node_settings(world, index, cast_types, HOSTED_TYPES);

    settings.lanes = LANES;
    world_start(world, index, &settings);
}

static void a_starting_node_is_outside_then_up(void **state)
{
    struct world *world = cast_new(3);
    uint64_t states;

    (void)state;
    cast_begin();
    assert_true(states_of(world, 0) == 0);
    begin_one(world, 0); /* it founds the cluster */
    states = states_in(world, 0, 10 * SECOND);
    assert_true(has(states, NODE_READING)); /* its coordinators' state */
    begin_one(world, 1);
    states = states_of(world, 1);
    assert_true(has(states, NODE_OUTSIDE) && has(states, NODE_REGISTERING));
    assert_false(has(states, NODE_UP) || has(states, NODE_RESTING));
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, 10 * SECOND);
    for (uint32_t i = 0; i < 2; i++) {
        states = states_of(world, i);
        assert_true(has(states, NODE_UP));
        assert_false(has(states, NODE_OUTSIDE) || has(states, NODE_READING) ||
                     has(states, NODE_REGISTERING) || has(states, NODE_CALM) ||
                     has(states, NODE_LEASE_FREE));
    }
    world_free(world);
}

static void a_leaving_node_hands_off_its_shards(void **state)
{
    struct world *world = cast_world(4, 2, LANES);
    struct player player;
    uint64_t left, other;

    (void)state;
    cast_wake(world, "P", 20);
    player_spawn(&player, world, 1, 0);
    (void)player_asks(&player, "P", cast_id_at(&player, "P", 0), STORE);
    assert_true(has(states_of(world, 0), NODE_RUNNING));
    assert_true(has(states_of(world, 0), NODE_RESTING));
    player_ask(&player, "P", cast_id_at(&player, "P", 0), STORE, 5000);
    assert_true(has(states_in(world, 0, SECOND), NODE_WRITING));
    world_leave(world, 0);
    left = states_in(world, 0, 60 * SECOND);
    assert_null(world_node(world, 0)->node);
    assert_true(has(left, NODE_UP) && has(left, NODE_EXITING));
    assert_true(has(left, NODE_BEGINNING)); /* it has the coordinators */
    assert_true(has(left, NODE_ORDERED));
    assert_true(has(left, NODE_DRAINING) || has(left, NODE_STOPPING));
    assert_false(has(left, NODE_FENCED));
    other = states_of(world, 1);
    assert_true(has(other, NODE_UP) && has(other, NODE_RUNNING));
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_starting_node_is_outside_then_up),
        cmocka_unit_test(a_leaving_node_hands_off_its_shards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
