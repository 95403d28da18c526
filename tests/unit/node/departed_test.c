/* Tests for how long frames of a member are accepted that left, or was downed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "artery/association.h"
#include "artery/peers.h"
#include "base/limits.h"
#include "cast.h"
#include "node/control/control.h"
#include "node/machine/machine.h"

static struct control *control_of(struct world *world)
{
    return node_machine(world_node(world, 0)->node, 0)->control;
}

static const struct node_id *member(struct world *world, uint32_t index)
{
    return &world_node(world, index)->settings.identity.node;
}

/* Whether control and the lane of the first node accept its frames. */
static bool is_heard(struct world *world, uint64_t uid)
{
    struct machine *lane = node_machine(world_node(world, 0)->node, 1);
    bool is_over = peers_is_over(&control_of(world)->machine->peers, uid);

    assert_int_equal(peers_is_over(&lane->peers, uid), is_over);
    return !is_over;
}

static bool is_gone(struct world *world, void *uid)
{
    struct machine *lane = node_machine(world_node(world, 0)->node, 1);
    struct peer *peer =
        peers_uid(&lane->peers, *(const uint64_t *)uid);

    return peer && peer->gone;
}

/* Makes three nodes; the last two have written to an actor of the first. */
static struct world *begin(void)
{
    struct world *world = cast_world(31, 3, 1);
    struct player players[3];

    for (uint32_t i = 0; i < 3; i++)
        player_spawn(&players[i], world, i, 0);
    for (uint32_t i = 1; i < 3; i++) {
        players[i].other = players[0].ref;
        (void)player_asks(&players[i], NULL, NULL, ECHO);
    }
    return world;
}

static void frames_of_a_departed_member_are_accepted_for_a_while(void **state)
{
    struct world *world = begin();
    uint64_t uid = member(world, 2)->uid;
    uint64_t start;
    (void)state;

    world_leave(world, 2);
    assert_true(world_until(world, is_gone, &uid, 60 * SECOND));
    start = world_now(world);
    world_run(world, MS);
    assert_true(is_heard(world, uid));
    world_run(world, start + (DEPARTED_MS - 100) * MS - world_now(world));
    assert_true(is_heard(world, uid));
    world_run(world, 200 * MS);
    assert_false(is_heard(world, uid));
    world_free(world);
}

static void frames_of_a_downed_member_are_refused(void **state)
{
    struct world *world = begin();
    uint64_t uid = member(world, 2)->uid;
    (void)state;

    world_crash(world, 2);
    world_run(world, 10 * SECOND);
    world_down(world, 0, 2);
    assert_true(world_until(world, is_gone, &uid, 60 * SECOND));
    world_run(world, MS);
    assert_false(is_heard(world, uid));
    world_free(world);
}

/* The new incarnation is a member. */
static void a_new_incarnation_ends_the_time_of_the_departed_one(void **state)
{
    struct world *world = begin();
    struct node_settings settings = world_node(world, 2)->settings;
    uint64_t uid = settings.identity.node.uid;
    uint64_t start;
    (void)state;

    world_leave(world, 2);
    assert_true(world_until(world, is_gone, &uid, 60 * SECOND));
    start = world_now(world);
    while (!world_node(world, 2)->has_ended)
        world_run(world, MS);
    settings.identity.node.uid = uid + 1;
    world_start(world, 2, &settings);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    assert_true(world_now(world) < start + DEPARTED_MS * MS);
    assert_false(is_heard(world, uid));
    assert_true(is_heard(world, uid + 1));
    world_run(world, 10 * SECOND);
    assert_true(is_heard(world, uid + 1));
    world_free(world);
}

static void departed_members_are_accepted_up_to_a_limit(void **state)
{
    struct world *world = cast_world(32, 1, 1);
    struct control *control = control_of(world);
    (void)state;

    for (uint64_t i = 1; i <= DEPARTED_MAX + 1; i++)
        control_departs(control, &(struct node_id){ { "gone", (uint16_t)i }, i });
    assert_int_equal(control->departed.count, DEPARTED_MAX);
    assert_true(peers_is_over(&control->machine->peers, 1));
    assert_false(peers_is_over(&control->machine->peers, 2));
    control_replaces_departed(control, &(struct node_id){ { "gone", 7 }, 7 });
    control_replaces_departed(control, &(struct node_id){ { "gone", 8 }, 1234 });
    assert_int_equal(control->departed.count, DEPARTED_MAX - 1);
    assert_true(peers_is_over(&control->machine->peers, 8));
    assert_false(peers_is_over(&control->machine->peers, 7));
    world_run(world, (DEPARTED_MS + 1) * MS);
    assert_int_equal(control->departed.count, 0);
    assert_true(peers_is_over(&control->machine->peers, 7));
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_a_departed_member_are_accepted_for_a_while),
        cmocka_unit_test(frames_of_a_downed_member_are_refused),
        cmocka_unit_test(a_new_incarnation_ends_the_time_of_the_departed_one),
        cmocka_unit_test(departed_members_are_accepted_up_to_a_limit),
    };

    return cmocka_run_group_tests_name("node_parted", tests, NULL, NULL);
}
