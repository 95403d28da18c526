/* Tests the notice to a removed node that goes on. A JVM ends at the first one, so the smaller side
 * sends it none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "artery/control.h"
#include "base/limits.h"
#include "cast.h"
#include "node/control/control.h"

#define COUNT 4
#define WORD "considers this node removed"

static struct control *control_of(struct world *world, uint32_t index)
{
    return node_machine(world_node(world, index)->node, 0)->control;
}

static uint64_t uid_of(struct world *world, uint32_t index)
{
    return world_node(world, index)->settings.identity.node.uid;
}

/* The node considers the other one a JVM's from now on. */
static void take_for_jvm(struct world *world, uint32_t at, uint32_t index)
{
    struct peers *peers = &control_of(world, at)->machine->peers;

    peers_uid(peers, uid_of(world, index))->capabilities = 0;
}

static void part_last(struct world *world, bool cut)
{
    for (uint32_t i = 0; i < COUNT - 1; i++)
        net_part(world, i, COUNT - 1, cut);
}

/* The others down and remove the last node, or it downs and removes them. Both sides consider each
 * other JVMs. */
static struct world *cut_off(uint64_t seed, bool by_the_others)
{
    struct world *world = cast_world(seed, COUNT, 1);
    const uint32_t last = COUNT - 1;

    world_run(world, 3 * SECOND); /* heartbeats: each node has met all others */
    part_last(world, true);
    world_run(world, 20 * SECOND);
    for (uint32_t i = 0; i < last; i++) {
        if (by_the_others && i == 0)
            world_down(world, i, last);
        if (!by_the_others)
            world_down(world, last, i);
    }
    world_run(world, 10 * SECOND);
    for (uint32_t i = 0; i < last; i++) {
        take_for_jvm(world, i, last);
        take_for_jvm(world, last, i);
    }
    return world;
}

static bool has_heard(struct world *world, void *index)
{
    return world_logged(world, *(uint32_t *)index, WORD);
}

static void the_larger_side_notifies_a_jvm(void **state)
{
    struct world *world = cut_off(1, true);
    uint32_t last = COUNT - 1;
    (void)state;

    assert_true(world_logged(world, 0, "leader removes member=n3"));
    assert_false(has_heard(world, &last));
    part_last(world, false);
    assert_true(world_until(world, has_heard, &last, 30 * SECOND));
    for (uint32_t i = 0; i < last; i++)
        assert_false(has_heard(world, &i));
    world_free(world);
}

static void the_smaller_side_notifies_no_jvm(void **state)
{
    struct world *world = cut_off(2, false);
    uint32_t last = COUNT - 1;
    (void)state;

    assert_true(world_logged(world, last, "leader removes member=n1"));
    part_last(world, false);
    world_run(world, 30 * SECOND);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_false(has_heard(world, &i));
    world_free(world);
}

/* With the lease a side of any size may stay. */
static void a_node_that_decided_by_lease_notifies_jvms(void **state)
{
    struct world *world = cut_off(3, false);
    uint32_t last = COUNT - 1;
    (void)state;

    for (uint32_t i = 0; i < last; i++)
        control_condemn(control_of(world, last), uid_of(world, i));
    part_last(world, false);
    for (uint32_t i = 0; i < last; i++)
        assert_true(world_until(world, has_heard, &i, 30 * SECOND));
    world_free(world);
}

/* Counts the notices that a frame of that node causes. */
static uint32_t told(struct control *control, uint64_t origin,
                     const char *manifest)
{
    struct outbox *outbox = &control->machine->outbox;
    const struct envelope envelope = { .origin = origin,
                                       .serializer = SERIALIZER_ARTERY,
                                       .manifest = slice_text(manifest) };
    uint32_t before = outbox->count;

    control_tell_removed(control, &envelope);
    return outbox->count - before;
}

static void not_every_frame_is_answered(void **state)
{
    struct world *world = cut_off(4, true);
    struct control *control = control_of(world, 0);
    uint64_t uid = uid_of(world, COUNT - 1);
    (void)state;

    assert_int_equal(told(control, uid, ARTERY_QUARANTINED), 0);
    assert_int_equal(told(control, uid, ARTERY_HEARTBEAT), 0);
    assert_int_equal(told(control, uid_of(world, 1), ARTERY_FLUSH), 0);
    control->shutdown = SHUTDOWN_REGIONS;
    assert_int_equal(told(control, uid, ARTERY_FLUSH), 0);
    control->shutdown = SHUTDOWN_NOT;
    assert_int_equal(told(control, uid, ARTERY_FLUSH), 1);
    assert_int_equal(told(control, uid, ARTERY_FLUSH), 0); /* not twice in a second */
    world_free(world);
}

/* The member is not removed yet, or not after all. */
static void a_member_gets_no_notice(void **state)
{
    struct world *world = cast_world(5, 2, 1);
    struct control *control = control_of(world, 0);
    (void)state;

    control_condemn(control, uid_of(world, 1));
    assert_int_equal(told(control, uid_of(world, 1), ARTERY_FLUSH), 0);
    world_free(world);
}

static void a_member_that_left_gets_no_notice(void **state)
{
    struct world *world = cast_world(6, 3, 1);
    struct control *control = control_of(world, 0);
    uint64_t uid = uid_of(world, 2);
    (void)state;

    world_leave(world, 2);
    world_run(world, 30 * SECOND);
    assert_int_equal(member_count(control->member), 2);
    assert_int_equal(told(control, uid, ARTERY_FLUSH), 0);
    world_free(world);
}

static void removed_incarnations_are_remembered_up_to_a_limit(void **state)
{
    struct world *world = cast_world(7, 1, 1);
    struct control *control = control_of(world, 0);
    (void)state;

    for (uint64_t i = 1; i <= REMOVED_MAX + 1; i++)
        control_remember(control, i);
    assert_int_equal(control->removed.count, REMOVED_MAX);
    assert_int_equal(control->removed_forgotten, 1);
    control_judge_removed(control);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_larger_side_notifies_a_jvm),
        cmocka_unit_test(the_smaller_side_notifies_no_jvm),
        cmocka_unit_test(a_node_that_decided_by_lease_notifies_jvms),
        cmocka_unit_test(not_every_frame_is_answered),
        cmocka_unit_test(a_member_gets_no_notice),
        cmocka_unit_test(a_member_that_left_gets_no_notice),
        cmocka_unit_test(removed_incarnations_are_remembered_up_to_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
