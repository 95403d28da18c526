/* Tests what a coordinator does for operators: cordoned regions, and moves of shards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "scene.h"

static const struct coordinator_settings eager = { .absolute_limit = 1000,
                                                   .relative_limit = 1.0 };

static void registers_cordoned(struct scene *scene, int n, enum cordon_level cordon,
                               const struct shard_hosted *hosted, uint32_t count)
{
    char ref[80];

    ref_of(ref, sizeof ref, n, false);
    say(scene, n, (struct shard_message){ .kind = SHARD_REGISTER,
                                          .ref = slice_text(ref),
                                          .lanes = 2,
                                          .report = ++scene->report[n],
                                          .cordon = cordon,
                                          .hosted = hosted,
                                          .hosted_count = count });
}

static void region_stops(struct scene *scene, int n)
{
    char ref[80];

    ref_of(ref, sizeof ref, n, false);
    say(scene, n, (struct shard_message){ .kind = SHARD_GRACEFUL_SHUTDOWN,
                                          .ref = slice_text(ref) });
}

/* Each shard from 0 on gets a home, in order. */
static void allocates(struct scene *scene, int count)
{
    char id[16];

    for (int i = 0; i < count; i++) {
        (void)snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    play(scene);
}

static struct operation_request move_of(const char *id, const char *shard, int to)
{
    return (struct operation_request){ .kind = SHERD_MOVE_SHARD,
                                       .id = slice_text(id),
                                       .type = slice_text("T"),
                                       .shard = slice_text(shard),
                                       .node = node_of(to).address,
                                       .within_ms = 30000,
                                       .hold_ms = 600000 };
}

static void operates(struct scene *scene, const struct operation_request *request)
{
    const struct node_id asker = node_of(1);

    coordinator_operate(scene->coordinator, scene->now, &asker, request, &scene->outbox);
    scene_drain(scene);
}

static void moves(struct scene *scene, const char *id, const char *shard, int to)
{
    const struct operation_request request = move_of(id, shard, to);

    operates(scene, &request);
}

static void is_reported(const struct scene *scene, enum sherd_operation_state state,
                        enum sherd_operation_code code)
{
    assert_int_equal(scene->told.state, state);
    assert_int_equal(scene->told.code, code);
    assert_int_equal(scene->told_to, 1);
}

/* ---- cordons ---- */

static void a_cordoned_region_gets_no_shard_while_another_takes_them(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    registers_cordoned(scene, 0, CORDON_ON, NULL, 0);
    for (int i = 0; i < 3; i++) {
        char id[16];

        (void)snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
        assert_int_equal(home_of(scene, id), 1);
    }
    registers_cordoned(scene, 0, CORDON_NOT, NULL, 0);
    asks(scene, 0, "7");
    assert_int_equal(home_of(scene, "7"), 0);
    scene_free(scene);
}

static void cordoned_regions_take_shards_as_a_last_resort(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    registers_cordoned(scene, 0, CORDON_ON, NULL, 0);
    region_stops(scene, 1);
    asks(scene, 0, "1");
    assert_int_equal(home_of(scene, "1"), 0);
    scene_free(scene);
}

static void a_rebalance_moves_nothing_to_or_from_a_cordoned_region(void **state)
{
    struct scene *scene = scene_with(1, &eager);
    struct shard_hosted hosted[9];
    char ids[9][16];
    (void)state;

    allocates(scene, 9);
    for (int i = 0; i < 9; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "%d", i);
        hosted[i] = (struct shard_hosted){ slice_text(ids[i]), fence_of(scene, ids[i]) };
    }
    peer_up(scene, 1);
    registers(scene, 1);
    registers_cordoned(scene, 0, CORDON_ON, hosted, 9);
    passes(scene, 10000);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, ANY_NODE), 0);
    registers_cordoned(scene, 0, CORDON_NOT, hosted, 9);
    passes(scene, 10000);
    assert_true(sent_count(scene, SHARD_BEGIN_HAND_OFF, ANY_NODE) > 0);
    scene_free(scene);
}

/* HostShard is on its way: the shard keeps its fence. */
static void a_cordon_that_crosses_an_order_rehosts_no_shard(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    (void)state;

    asks(scene, 0, "1");
    assert_int_equal(fence_of(scene, "1").epoch, 1);
    registers_cordoned(scene, 0, CORDON_ON, NULL, 0);
    assert_int_equal(fence_of(scene, "1").epoch, 1);
    registers_cordoned(scene, 0, CORDON_ON, NULL, 0); /* an ordinary report */
    assert_int_equal(fence_of(scene, "1").epoch, 2);
    scene_free(scene);
}

/* ---- drains ---- */

static void hosts(struct scene *scene, int n, enum cordon_level cordon)
{
    struct shard_hosted hosted[64];
    struct coordinator_shard_view view;
    char ids[64][16];
    uint32_t at = 0, count = 0;

    while (coordinator_next_shard(scene->coordinator, &at, &view)) {
        if (view.node.uid != node_of(n).uid)
            continue;
        text_of(ids[count], sizeof ids[count], view.shard);
        hosted[count] = (struct shard_hosted){ slice_text(ids[count]), view.fence };
        count++;
    }
    registers_cordoned(scene, n, cordon, hosted, count);
}

static void a_drained_region_gives_its_shards_to_others(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    allocates(scene, 10);
    hosts(scene, 1, CORDON_DRAINING);
    play(scene);
    assert_int_equal(shards_at(scene, 1), 0);
    assert_int_equal(shards_at(scene, 0), 10);
    scene_free(scene);
}

static void a_drain_begins_at_most_sixteen_hand_offs(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    allocates(scene, 60);
    hosts(scene, 1, CORDON_DRAINING);
    assert_int_equal(coordinator_moves(scene->coordinator).beginning, 16);
    play(scene);
    assert_int_equal(shards_at(scene, 1), 0);
    scene_free(scene);
}

static void a_drain_waits_while_no_other_region_takes_shards(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    allocates(scene, 4);
    hosts(scene, 0, CORDON_ON);
    forget_sent(scene);
    hosts(scene, 1, CORDON_DRAINING);
    assert_true(sent_last(scene, SHARD_REGISTER_ACK, 1).is_alone);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, ANY_NODE), 0);
    hosts(scene, 0, CORDON_NOT);
    play(scene);
    assert_int_equal(shards_at(scene, 1), 0);
    scene_free(scene);
}

static void a_failed_hand_off_of_a_drain_is_tried_again_after_a_pause(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    allocates(scene, 2);
    scene->is_silent[1] = true;
    hosts(scene, 1, CORDON_DRAINING);
    for (int i = 0; i < 61; i++)
        passes(scene, 1000);
    assert_int_equal(coordinator_moves(scene->coordinator).beginning, 0);
    assert_int_equal(shards_at(scene, 1), 1);
    scene->is_silent[1] = false;
    for (int i = 0; i < 11; i++)
        passes(scene, 1000);
    play(scene);
    assert_int_equal(shards_at(scene, 1), 0);
    scene_free(scene);
}

/* ---- moves ---- */

static void a_shard_moves_to_its_target(void **state)
{
    struct scene *scene = scene_with(3, NULL);
    (void)state;

    allocates(scene, 3);
    assert_int_equal(home_of(scene, "0"), 0);
    moves(scene, "a", "0", 2);
    is_reported(scene, SHERD_OPERATION_HOLDING, SHERD_OPERATION_OK);
    play(scene);
    assert_int_equal(home_of(scene, "0"), 2);
    is_reported(scene, SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    scene_free(scene);
}

static void each_step_of_a_move_is_reported(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    struct sent sent;
    (void)state;

    allocates(scene, 1);
    forget_sent(scene);
    moves(scene, "a", "0", 1);
    for (int n = 0; n < 2; n++) {
        sent = sent_last(scene, SHARD_BEGIN_HAND_OFF, n);
        answers(scene, &sent, SHARD_BEGIN_HAND_OFF_ACK);
    }
    is_reported(scene, SHERD_OPERATION_STOPPING, SHERD_OPERATION_OK);
    scene->now += 5 * MS;
    sent = sent_last(scene, SHARD_HAND_OFF, 0);
    answers(scene, &sent, SHARD_HOST_STOPPED);
    is_reported(scene, SHERD_OPERATION_STARTING, SHERD_OPERATION_OK);
    assert_int_equal(scene->told.stall_us, 5000);
    sent = sent_last(scene, SHARD_HOST, 1);
    answers(scene, &sent, SHARD_HOST_STARTED);
    is_reported(scene, SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    scene_free(scene);
}

static void a_move_to_the_home_is_done_at_once(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    allocates(scene, 1);
    forget_sent(scene);
    moves(scene, "a", "0", 0);
    is_reported(scene, SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, ANY_NODE), 0);
    scene_free(scene);
}

static void the_same_id_is_the_same_operation(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    uint32_t reports;
    (void)state;

    allocates(scene, 2);
    moves(scene, "a", "0", 1);
    play(scene);
    reports = scene->reports;
    moves(scene, "b", "0", 0);
    play(scene);
    assert_int_equal(home_of(scene, "0"), 0);
    moves(scene, "a", "0", 1); /* repeated: it ended */
    assert_true(scene->reports > reports);
    is_reported(scene, SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    assert_int_equal(home_of(scene, "0"), 0);
    moves(scene, "a", "1", 1);
    is_reported(scene, SHERD_OPERATION_FAILED, SHERD_OPERATION_SAME_ID);
    scene_free(scene);
}

static void a_dry_run_changes_nothing(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    struct operation_request request = move_of("a", "0", 1);
    (void)state;

    allocates(scene, 1);
    request.is_dry_run = true;
    forget_sent(scene);
    operates(scene, &request);
    is_reported(scene, SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    assert_int_equal(scene->sent.count, 0);
    request.node = node_of(7).address;
    operates(scene, &request);
    is_reported(scene, SHERD_OPERATION_FAILED, SHERD_OPERATION_NOT_CANDIDATE);
    scene_free(scene);
}

static void the_checks_refuse_what_cannot_be_done(void **state)
{
    struct scene *scene = scene_with(3, NULL);
    (void)state;

    allocates(scene, 1);
    moves(scene, "a", "99", 1);
    is_reported(scene, SHERD_OPERATION_FAILED, SHERD_OPERATION_NO_HOME);
    registers_cordoned(scene, 2, CORDON_ON, NULL, 0);
    moves(scene, "b", "0", 2);
    is_reported(scene, SHERD_OPERATION_FAILED, SHERD_OPERATION_NOT_CANDIDATE);
    moves(scene, "c", "0", 1);
    registers_cordoned(scene, 2, CORDON_NOT, NULL, 0);
    moves(scene, "d", "0", 2);
    is_reported(scene, SHERD_OPERATION_FAILED, SHERD_OPERATION_MOVING);
    moves(scene, "e", "0", 1); /* the same target joins */
    is_reported(scene, SHERD_OPERATION_HOLDING, SHERD_OPERATION_OK);
    play(scene);
    is_reported(scene, SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    peer_is(scene, 0, MEMBER_PREPARING_FOR_SHUTDOWN, true, true);
    moves(scene, "f", "0", 2);
    is_reported(scene, SHERD_OPERATION_FAILED, SHERD_OPERATION_STATE);
    scene_free(scene);
}

static void a_move_waits_for_a_coordinator_that_knows_all_members(void **state)
{
    struct scene *scene = scene_new(NULL);
    (void)state;

    peer_up(scene, 0);
    peer_up(scene, 1);
    moves(scene, "a", "0", 1);
    is_reported(scene, SHERD_OPERATION_WAITING, SHERD_OPERATION_NOT_OPEN);
    scene_free(scene);
}

static void a_failed_hand_off_ends_the_move_and_the_shard_stays(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    allocates(scene, 1);
    scene->is_silent[1] = true;
    moves(scene, "a", "0", 1);
    play(scene);
    for (int i = 0; i < 60; i++)
        passes(scene, 1000);
    is_reported(scene, SHERD_OPERATION_FAILED, SHERD_OPERATION_HANDOFF);
    assert_int_equal(home_of(scene, "0"), 0);
    scene_free(scene);
}

/* The target is cordoned while the shard stops. */
static void the_target_is_checked_again_when_the_shard_is_placed(void **state)
{
    struct scene *scene = scene_with(3, NULL);
    struct sent sent;
    (void)state;

    allocates(scene, 1);
    forget_sent(scene);
    moves(scene, "a", "0", 2);
    for (int n = 0; n < 3; n++) {
        sent = sent_last(scene, SHARD_BEGIN_HAND_OFF, n);
        answers(scene, &sent, SHARD_BEGIN_HAND_OFF_ACK);
    }
    registers_cordoned(scene, 2, CORDON_ON, NULL, 0);
    sent = sent_last(scene, SHARD_HAND_OFF, 0);
    answers(scene, &sent, SHARD_HOST_STOPPED);
    assert_int_not_equal(home_of(scene, "0"), 2);
    scene_free(scene);
}

static void a_shard_whose_node_is_lost_goes_to_the_target(void **state)
{
    struct scene *scene = scene_with(3, NULL);
    (void)state;

    allocates(scene, 2);
    assert_int_equal(home_of(scene, "1"), 1);
    scene->is_silent[2] = true;
    moves(scene, "a", "1", 2);
    peer_removed(scene, 1);
    scene->is_silent[2] = false;
    play(scene);
    assert_int_equal(home_of(scene, "1"), 2);
    is_reported(scene, SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    scene_free(scene);
}

static void a_rebalance_leaves_a_moved_shard_until_its_hold_ends(void **state)
{
    struct scene *scene = scene_with(2, &eager);
    struct operation_request request = move_of("a", "0", 1);
    (void)state;

    allocates(scene, 2);
    request.hold_ms = 60000;
    operates(scene, &request);
    play(scene);
    assert_int_equal(home_of(scene, "0"), 1);
    request = move_of("b", "1", 1);
    request.hold_ms = 60000;
    operates(scene, &request);
    for (int i = 0; i < 5; i++) {
        passes(scene, 10000);
        play(scene);
        assert_int_equal(home_of(scene, "0"), 1);
        assert_int_equal(home_of(scene, "1"), 1);
    }
    for (int i = 0; i < 3; i++) {
        passes(scene, 10000);
        play(scene);
    }
    assert_int_equal(shards_at(scene, 0), 1);
    scene_free(scene);
}

/* ---- pauses ---- */

static void pauses(struct scene *scene, enum sherd_operation_kind kind, const char *id)
{
    const struct operation_request request = { .kind = kind, .id = slice_text(id),
                                               .type = slice_text("T"), .by = slice_text("ops") };

    operates(scene, &request);
}

/* Node 1 comes when node 0 has all shards. Returns whether some move in a rebalance. */
static bool rebalances(struct scene *scene)
{
    forget_sent(scene);
    passes(scene, 10000);
    return sent_count(scene, SHARD_BEGIN_HAND_OFF, ANY_NODE) > 0;
}

static struct scene *unbalanced(void)
{
    struct scene *scene = scene_with(1, &eager);

    allocates(scene, 6);
    peer_up(scene, 1);
    registers(scene, 1);
    return scene;
}

static void a_paused_type_has_no_rebalance_until_it_is_resumed(void **state)
{
    struct scene *scene = unbalanced();
    (void)state;

    pauses(scene, SHERD_PAUSE_REBALANCE, "a");
    pauses(scene, SHERD_PAUSE_REBALANCE, "a"); /* the write has ended */
    is_reported(scene, SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    assert_false(rebalances(scene));
    moves(scene, "m", "0", 1); /* an operation moves shards all the same */
    play(scene);
    assert_int_equal(home_of(scene, "0"), 1);
    pauses(scene, SHERD_RESUME_REBALANCE, "b");
    pauses(scene, SHERD_RESUME_REBALANCE, "b");
    is_reported(scene, SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    pauses(scene, SHERD_PAUSE_REBALANCE, "a"); /* late */
    is_reported(scene, SHERD_OPERATION_CANCELLED, SHERD_OPERATION_OK);
    assert_true(rebalances(scene));
    scene_free(scene);
}

static void the_next_coordinator_keeps_a_pause(void **state)
{
    struct scene *scene = unbalanced();
    (void)state;

    pauses(scene, SHERD_PAUSE_REBALANCE, "a");
    for (int i = 0; i < 2; i++) {
        scene_coordinator(scene, &eager);
        peer_up(scene, 0);
        peer_up(scene, 1);
        give_term(scene, 2 + (uint64_t)i);
        hosts(scene, 0, CORDON_NOT);
        registers(scene, 1);
        play(scene);
        assert_int_equal(rebalances(scene), i);
        pauses(scene, SHERD_RESUME_REBALANCE, "b");
    }
    scene_free(scene);
}

static void a_pause_is_done_when_it_is_stored(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    (void)state;

    scene->is_held = true;
    pauses(scene, SHERD_PAUSE_REBALANCE, "a");
    is_reported(scene, SHERD_OPERATION_WAITING, SHERD_OPERATION_OK);
    scene_answer(scene, true);
    pauses(scene, SHERD_PAUSE_REBALANCE, "a");
    is_reported(scene, SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    scene_free(scene);
}

static void operations_have_limits(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    char id[16], shard[16];
    (void)state;

    allocates(scene, 2 * (OPERATIONS_OF_TYPE_MAX + 1));
    scene->is_silent[0] = scene->is_silent[1] = true;
    for (int i = 0; i <= OPERATIONS_OF_TYPE_MAX; i++) {
        (void)snprintf(id, sizeof id, "id%d", i);
        (void)snprintf(shard, sizeof shard, "%d", 2 * i);
        moves(scene, id, shard, 1);
    }
    is_reported(scene, SHERD_OPERATION_FAILED, SHERD_OPERATION_FULL);
    scene_free(scene);
    scene = scene_with(2, NULL);
    allocates(scene, 1);
    for (int i = 0; i < OPERATIONS_ENDED_MAX + 2; i++) {
        (void)snprintf(id, sizeof id, "id%d", i);
        moves(scene, id, "0", 0);
        is_reported(scene, SHERD_OPERATION_DONE, SHERD_OPERATION_OK);
    }
    moves(scene, "id0", "0", 1); /* forgotten: a new operation */
    is_reported(scene, SHERD_OPERATION_HOLDING, SHERD_OPERATION_OK);
    moves(scene, "id9", "0", 1); /* remembered, with another target */
    is_reported(scene, SHERD_OPERATION_FAILED, SHERD_OPERATION_SAME_ID);
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cordoned_region_gets_no_shard_while_another_takes_them),
        cmocka_unit_test(cordoned_regions_take_shards_as_a_last_resort),
        cmocka_unit_test(a_rebalance_moves_nothing_to_or_from_a_cordoned_region),
        cmocka_unit_test(a_cordon_that_crosses_an_order_rehosts_no_shard),
        cmocka_unit_test(a_drained_region_gives_its_shards_to_others),
        cmocka_unit_test(a_drain_begins_at_most_sixteen_hand_offs),
        cmocka_unit_test(a_drain_waits_while_no_other_region_takes_shards),
        cmocka_unit_test(a_failed_hand_off_of_a_drain_is_tried_again_after_a_pause),
        cmocka_unit_test(a_shard_moves_to_its_target),
        cmocka_unit_test(each_step_of_a_move_is_reported),
        cmocka_unit_test(a_move_to_the_home_is_done_at_once),
        cmocka_unit_test(the_same_id_is_the_same_operation),
        cmocka_unit_test(a_dry_run_changes_nothing),
        cmocka_unit_test(the_checks_refuse_what_cannot_be_done),
        cmocka_unit_test(a_move_waits_for_a_coordinator_that_knows_all_members),
        cmocka_unit_test(a_failed_hand_off_ends_the_move_and_the_shard_stays),
        cmocka_unit_test(the_target_is_checked_again_when_the_shard_is_placed),
        cmocka_unit_test(a_shard_whose_node_is_lost_goes_to_the_target),
        cmocka_unit_test(a_rebalance_leaves_a_moved_shard_until_its_hold_ends),
        cmocka_unit_test(a_paused_type_has_no_rebalance_until_it_is_resumed),
        cmocka_unit_test(the_next_coordinator_keeps_a_pause),
        cmocka_unit_test(a_pause_is_done_when_it_is_stored),
        cmocka_unit_test(operations_have_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
