/* Tests the coordinator by its messages: registration, allocation, hand-offs, take-over, and
 * failures. */
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

#define counter(scene, name) (coordinator_counters((scene)->coordinator)->name)

static void asks_to_stop(struct scene *scene, int n, uint64_t idle)
{
    char ref[80];

    ref_of(ref, sizeof ref, n, false);
    say(scene, n, (struct shard_message){ .kind = SHARD_GRACEFUL_SHUTDOWN,
                                          .ref = slice_text(ref),
                                          .idle = idle });
}

static void nothing_is_answered_before_the_term(void **state)
{
    struct scene *scene = scene_new(NULL);
    (void)state;

    assert_true(has_news(scene, COORDINATOR_NEWS_NEEDS_TERM));
    peer_up(scene, 0);
    registers(scene, 0);
    asks(scene, 0, "1");
    assert_int_equal(scene->sent.count, 0);
    give_term(scene, 4);
    assert_true(has_news(scene, COORDINATOR_NEWS_ACTIVE));
    assert_int_equal(sent_count(scene, SHARD_REGISTER_ACK, 0), 1);
    assert_int_equal(sent_last(scene, SHARD_REGISTER_ACK, 0).fence.term, 4);
    assert_true(strncmp(sent_last(scene, SHARD_REGISTER_ACK, 0).ref,
                        "akka://S@n0:2550/system/sharding/TCoordinator/"
                        "singleton/coordinator#",
                        68) == 0);
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 1);
    assert_int_equal(sent_count(scene, SHARD_HOME, 0), 1);
    assert_int_equal(fence_of(scene, "1").term, 4);
    assert_int_equal(fence_of(scene, "1").epoch, 1);
    assert_string_equal(sent_last(scene, SHARD_HOST, 0).recipient,
                        REGION_PATH);
    scene_free(scene);
}

/* The store gave no term, and logged why. */
static void a_missing_term_is_not_logged_as_an_old_one(void **state)
{
    struct scene *scene = scene_new(NULL);
    struct trace_line line;
    (void)state;

    peer_up(scene, 0);
    registers_one(scene, 0, "1", (struct fence){ 9, 1 });
    give_term(scene, 0);
    assert_false(trace_next(scene->trace, &line));
    give_term(scene, 3);
    assert_true(trace_next(scene->trace, &line));
    assert_non_null(strstr(line.text, "an old term, asked again type=T term=3 seen=9"));
    assert_false(trace_next(scene->trace, &line));
    scene_free(scene);
}

static void first_allocations_wait_for_members_that_can_answer(void **state)
{
    struct scene *scene = scene_new(NULL);
    (void)state;

    peer_up(scene, 0);
    peer_up(scene, 1);
    peer_up(scene, 2);
    peer_is(scene, 3, MEMBER_LEAVING, true, false);
    peer_is(scene, 4, MEMBER_UP, false, true); /* another role */
    peer_is(scene, 5, MEMBER_JOINING, true, true);
    give_term(scene, 1);
    assert_int_equal(sent_count(scene, SHARD_QUERY, ANY_NODE), 4);
    assert_string_equal(sent_last(scene, SHARD_QUERY, 1).recipient,
                        SHARDING_PATH);
    assert_int_equal(coordinator_awaited(scene->coordinator), 3);
    registers(scene, 0);
    asks(scene, 0, "1");
    assert_int_equal(home_of(scene, "1"), -1);
    assert_int_equal(counter(scene, deferred), 1);
    forget_sent(scene);
    passes(scene, 1000);
    assert_int_equal(sent_count(scene, SHARD_QUERY, ANY_NODE), 3);
    registers(scene, 1);
    say(scene, 2, (struct shard_message){ .kind = SHARD_NO_REGION,
                                          .type = slice_text("other") });
    assert_int_equal(coordinator_awaited(scene->coordinator), 1);
    assert_int_equal(home_of(scene, "1"), -1);
    say(scene, 2, (struct shard_message){ .kind = SHARD_NO_REGION,
                                          .type = slice_text("T") });
    assert_int_equal(home_of(scene, "1"), 0); /* ties go to the first */
    assert_int_equal(sent_last(scene, SHARD_HOME, 0).fence.epoch, 1);
    scene_free(scene);
}

/* Stored shards have homes, so a silent member delays only new homes. */
static void first_allocations_stop_waiting_after_ten_queries(void **state)
{
    struct scene *scene = scene_new(NULL);
    (void)state;

    for (int n = 0; n < 3; n++)
        peer_up(scene, n);
    give_term(scene, 1);
    registers(scene, 0);
    asks(scene, 0, "1");
    for (int i = 0; i < 5; i++)
        passes(scene, 1000);
    peer_is(scene, 1, MEMBER_UP, true, false);
    for (int i = 0; i < 4; i++)
        passes(scene, 1000);
    assert_int_equal(home_of(scene, "1"), -1);
    peer_up(scene, 1);
    passes(scene, 1000);
    assert_int_equal(home_of(scene, "1"), -1); /* queries to an unreachable member do not count */
    assert_int_equal(coordinator_awaited(scene->coordinator), 1);
    peer_is(scene, 1, MEMBER_UP, true, false);
    assert_int_equal(home_of(scene, "1"), 0);
    forget_sent(scene);
    passes(scene, 1000);
    assert_int_equal(sent_count(scene, SHARD_QUERY, 2), 1); /* it is asked anyway */
    registers(scene, 2);
    asks(scene, 0, "2");
    assert_int_equal(home_of(scene, "2"), 2);
    scene_free(scene);
}

/* Its messages may still travel to the old home. */
static void shards_move_only_after_every_member_is_known(void **state)
{
    struct scene *scene = scene_new(&eager);
    (void)state;

    for (int n = 0; n < 3; n++)
        peer_up(scene, n);
    peer_is(scene, 2, MEMBER_UP, true, false);
    give_term(scene, 1);
    registers(scene, 0);
    registers(scene, 1);
    asks(scene, 0, "1");
    assert_int_equal(home_of(scene, "1"), 0);
    asks_to_stop(scene, 0, 0);
    play(scene);
    assert_int_equal(home_of(scene, "1"), 0);
    peer_removed(scene, 2);
    play(scene);
    assert_int_equal(home_of(scene, "1"), 1);
    scene_free(scene);
}

static void an_unreachable_late_member_delays_no_allocation(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    (void)state;

    asks(scene, 0, "1");
    assert_int_equal(home_of(scene, "1"), 0);
    peer_up(scene, 1);
    asks(scene, 0, "2");
    assert_int_equal(home_of(scene, "2"), -1);
    peer_is(scene, 1, MEMBER_UP, true, false);
    assert_int_equal(home_of(scene, "2"), 0);
    scene_free(scene);
}

static void members_without_this_library_are_not_awaited(void **state)
{
    struct scene *scene = scene_new(NULL);
    struct node_id node = node_of(1);
    (void)state;

    peer_up(scene, 0);
    peer_up(scene, 1);
    give_term(scene, 1);
    registers(scene, 0);
    asks(scene, 0, "1");
    assert_int_equal(home_of(scene, "1"), -1);
    coordinator_peer_jvm(scene->coordinator, scene->now, &node,
                             &scene->outbox);
    assert_int_equal(home_of(scene, "1"), 0);
    scene_free(scene);
}

static void enough_regions_must_have_registered(void **state)
{
    struct coordinator_settings settings = { .min_members = 2 };
    struct scene *scene = scene_with(1, &settings);
    (void)state;

    asks(scene, 0, "1");
    assert_int_equal(home_of(scene, "1"), -1);
    peer_up(scene, 1);
    registers(scene, 1);
    assert_int_equal(home_of(scene, "1"), 0);
    peer_removed(scene, 1);
    asks(scene, 0, "2");
    assert_int_equal(home_of(scene, "2"), 0);
    scene_free(scene);
}

static void shards_go_to_the_region_with_the_fewest_shards(void **state)
{
    struct scene *scene = scene_with(3, NULL);
    (void)state;

    for (int i = 0; i < 30; i++) {
        char id[8];

        snprintf(id, sizeof id, "%d", i);
        asks(scene, i % 3, id);
        assert_int_equal(sent_last(scene, SHARD_HOME, i % 3).kind, SHARD_HOME);
    }
    for (int n = 0; n < 3; n++)
        assert_int_equal(shards_at(scene, n), 10);
    forget_sent(scene);
    asks(scene, 2, "0");
    assert_int_equal(scene->sent.count, 1);
    assert_string_equal(sent_last(scene, SHARD_HOME, 2).ref,
                        "akka://S@n0:2550" REGION_PATH);
    scene_free(scene);
}

static void unknown_nodes_are_not_registered(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    struct shard_message message = {
        .kind = SHARD_REGISTER,
        .ref = slice_text("akka://S@n0:2550" REGION_PATH),
        .lanes = 1,
        .report = 1,
    };
    struct node_id node = node_of(3);
    (void)state;

    registers(scene, 5);
    peer_is(scene, 1, MEMBER_JOINING, true, true);
    registers(scene, 1);
    peer_is(scene, 2, MEMBER_UP, false, true);
    registers(scene, 2); /* not the role */
    assert_int_equal(counter(scene, ignored_register), 3);
    peer_up(scene, 3);
    say(scene, 3, message); /* another node's ref */
    assert_int_equal(counter(scene, malformed), 1);
    asks(scene, 5, "1");
    assert_int_equal(counter(scene, stranger), 1);
    coordinator_peer_jvm(scene->coordinator, scene->now, &node,
                             &scene->outbox);
    registers(scene, 3); /* not of this library */
    assert_int_equal(counter(scene, ignored_register), 4);
    asks(scene, 3, "1");
    assert_int_equal(counter(scene, stranger), 2);
    assert_int_equal(sent_count(scene, SHARD_REGISTER_ACK, ANY_NODE), 0);
    scene_free(scene);
}

static void another_number_of_shards_is_refused(void **state)
{
    struct coordinator_settings settings = { .number_of_shards = 100 };
    struct scene *scene = scene_with(1, &settings);
    struct shard_message message = {
        .kind = SHARD_REGISTER,
        .ref = slice_text("akka://S@n1:2550" REGION_PATH),
        .lanes = 1,
        .number_of_shards = 64,
    };
    struct trace_line line;
    (void)state;

    peer_up(scene, 1);
    message.report = 1;
    say(scene, 1, message);
    assert_string_equal(sent_last(scene, SHARD_REFUSED, 1).reason,
                        "number-of-shards is 100 in the cluster and 64 on the node");
    assert_string_equal(sent_last(scene, SHARD_REFUSED, 1).recipient,
                        REGION_PATH);
    assert_true(trace_next(scene->trace, &line));
    assert_int_equal(line.level, TRACE_ERROR);
    message.report = 2;
    say(scene, 1, message);
    assert_false(trace_next(scene->trace, &line)); /* logged once */
    assert_int_equal(counter(scene, refused), 2);
    assert_int_equal(sent_count(scene, SHARD_REGISTER_ACK, 1), 0);
    asks(scene, 0, "1");
    assert_int_equal(home_of(scene, "1"), 0);
    scene_free(scene);
}

static void host_shard_is_repeated_until_started(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    struct sent host;
    (void)state;

    asks(scene, 0, "1");
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 1);
    passes(scene, 9999);
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 1);
    passes(scene, 1);
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 2);
    host = sent_last(scene, SHARD_HOST, 0);
    host.fence.epoch--; /* of another allocation */
    answers(scene, &host, SHARD_HOST_STARTED);
    assert_int_equal(counter(scene, stale), 1);
    passes(scene, 10000);
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 3);
    host = sent_last(scene, SHARD_HOST, 0);
    answers(scene, &host, SHARD_HOST_STARTED);
    passes(scene, 30000);
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 3);
    scene_free(scene);
}

static void host_shard_is_repeated_less_often_to_a_silent_home(void **state)
{
    static const struct coordinator_settings settings = {
        .shard_start_timeout_ms = 500,
    };
    struct scene *scene = scene_with(1, &settings);
    static const uint64_t waits[] = { 500, 1000, 2000, 4000, 8000, 10000,
                                      10000 };
    uint32_t count = 1;
    (void)state;

    asks(scene, 0, "1");
    for (uint32_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        passes(scene, waits[i] - 1);
        assert_int_equal(sent_count(scene, SHARD_HOST, 0), count);
        passes(scene, 1);
        assert_int_equal(sent_count(scene, SHARD_HOST, 0), ++count);
    }
    scene_free(scene);
}

/* n0 hosts 1 to 4. n1 and a proxy at n2 register, and the tick moves two shards. */
static struct scene *scene_moving(void)
{
    struct scene *scene = scene_with(1, &eager);
    char ref[80];

    for (int i = 1; i <= 4; i++) {
        char id[8];

        snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    peer_up(scene, 1);
    registers(scene, 1);
    peer_is(scene, 2, MEMBER_UP, false, true);
    ref_of(ref, sizeof ref, 2, true);
    say_from(scene, 2, PROXY_PATH,
             (struct shard_message){ .kind = SHARD_REGISTER_PROXY,
                                     .ref = slice_text(ref),
                                     .lanes = 3,
                                     .report = 1 });
    play(scene);
    assert_int_equal(sent_count(scene, SHARD_REGISTER_ACK, 2), 1);
    assert_int_equal(sent_last(scene, SHARD_HOMES, 2).home_count, 4);
    forget_sent(scene);
    passes(scene, 10000);
    return scene;
}

static void a_move_waits_for_all_regions_and_notifies_them(void **state)
{
    struct scene *scene = scene_moving();
    struct sent begin;
    struct sent hand_off;
    (void)state;

    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 0), 2);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 1), 2);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 2), 2);
    assert_int_equal(coordinator_moves(scene->coordinator).beginning, 2);
    begin = scene->sent.items[0];
    assert_string_equal(begin.shard, "1");
    assert_string_equal(begin.ref, "akka://S@n0:2550" REGION_PATH);
    assert_true(begin.attempt > 0);
    assert_int_equal(fence_compare(begin.fence, fence_of(scene, "1")), 0);
    forget_sent(scene);
    asks(scene, 1, "1");
    assert_int_equal(scene->sent.count, 0);
    answers(scene, &begin, SHARD_BEGIN_HAND_OFF_ACK);
    answers(scene, &begin, SHARD_BEGIN_HAND_OFF_ACK);
    assert_int_equal(counter(scene, stale), 1);
    begin.node = 1;
    answers(scene, &begin, SHARD_BEGIN_HAND_OFF_ACK);
    assert_int_equal(sent_count(scene, SHARD_HAND_OFF, ANY_NODE), 0);
    begin.node = 2;
    snprintf(begin.recipient, sizeof begin.recipient, "%s", PROXY_PATH);
    answers(scene, &begin, SHARD_BEGIN_HAND_OFF_ACK);
    assert_int_equal(sent_count(scene, SHARD_HAND_OFF, 0), 1);
    assert_int_equal(coordinator_moves(scene->coordinator).beginning, 1);
    assert_int_equal(coordinator_moves(scene->coordinator).stopping, 1);
    hand_off = sent_last(scene, SHARD_HAND_OFF, 0);
    assert_int_equal(hand_off.owing_count, 3); /* own lanes count */
    assert_int_equal(hand_off.owing_lanes, 2 + 2 + 3);
    assert_true(hand_off.attempt == begin.attempt);
    forget_sent(scene);
    hand_off.attempt++;
    answers(scene, &hand_off, SHARD_HOST_STOPPED); /* wrong attempt */
    assert_int_equal(home_of(scene, "1"), 0);
    hand_off.attempt--;
    hand_off.fence.epoch++;
    answers(scene, &hand_off, SHARD_HOST_STOPPED); /* wrong fence */
    hand_off.fence.epoch--;
    assert_int_equal(home_of(scene, "1"), 0);
    hand_off.node = 1;
    answers(scene, &hand_off, SHARD_HOST_STOPPED); /* wrong region */
    assert_int_equal(home_of(scene, "1"), 0);
    hand_off.node = 0;
    answers(scene, &hand_off, SHARD_HOST_STOPPED);
    assert_int_equal(home_of(scene, "1"), 1);
    assert_int_equal(fence_of(scene, "1").epoch, 2);
    assert_int_equal(scene->sent.items[0].kind, SHARD_HOST); /* before any region learns it */
    for (int n = 0; n < 3; n++) {
        assert_int_equal(sent_count(scene, SHARD_HOME, n), 1);
        assert_string_equal(sent_last(scene, SHARD_HOME, n).ref,
                            "akka://S@n1:2550" REGION_PATH);
        assert_int_equal(sent_last(scene, SHARD_HOME, n).fence.epoch, 2);
    }
    /* Late. */
    answers(scene, &hand_off, SHARD_HOST_STOPPED);
    assert_int_equal(home_of(scene, "1"), 1);
    assert_int_equal(counter(scene, moves), 1);
    scene_free(scene);
}

static void moves_end_in_balance(void **state)
{
    struct scene *scene = scene_moving();
    (void)state;

    play(scene);
    for (int i = 0; i < 5; i++) {
        passes(scene, 10000);
        play(scene);
    }
    assert_int_equal(shards_at(scene, 0), 2);
    assert_int_equal(shards_at(scene, 1), 2);
    assert_int_equal(counter(scene, moves), 2);
    scene_free(scene);
}

static void the_old_algorithm_moves_one_at_a_time(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    (void)state;

    for (int i = 1; i <= 6; i++) {
        char id[8];

        snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    peer_up(scene, 1);
    registers(scene, 1);
    play(scene);
    for (uint32_t i = 1; i <= 3; i++) {
        passes(scene, 10000);
        play(scene);
        assert_int_equal(counter(scene, moves), i);
    }
    assert_int_equal(shards_at(scene, 0), 3);
    passes(scene, 10000);
    assert_int_equal(counter(scene, moves), 3);
    scene_free(scene);
}

/* With this member no shard moves. */
static void check_no_move_with(const struct coordinator_settings *settings,
                               enum member_status status, bool is_reachable)
{
    struct scene *scene = scene_with(1, settings);

    for (int i = 1; i <= 4; i++) {
        char id[8];

        snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    peer_up(scene, 1);
    registers(scene, 1);
    peer_is(scene, 7, status, false, is_reachable);
    passes(scene, 10000);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, ANY_NODE), 0);
    peer_is(scene, 7, MEMBER_UP, false, true);
    passes(scene, 10000);
    assert_int_not_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, ANY_NODE), 0);
    scene_free(scene);
}

static void no_shard_moves_while_a_member_joins_SHD113_SHD075(void **state)
{
    (void)state;
    check_no_move_with(&eager, MEMBER_JOINING, true);
    check_no_move_with(NULL, MEMBER_JOINING, true); /* the old algorithm */
}

static void no_shard_moves_while_a_member_is_unreachable_SHD112_SHD074(
    void **state)
{
    (void)state;
    check_no_move_with(&eager, MEMBER_UP, false);
    check_no_move_with(NULL, MEMBER_UP, false); /* the old algorithm */
}

/* A connection lost the order or its answer. The coordinator repeats it before the time-out. */
static void unanswered_hand_off_messages_are_repeated(void **state)
{
    struct scene *scene = scene_moving();
    struct sent begin = sent_last(scene, SHARD_BEGIN_HAND_OFF, 1);
    struct sent again;
    (void)state;

    scene->is_silent[1] = true;
    play(scene); /* n0 and the proxy hold both shards */
    forget_sent(scene);
    for (int s = 0; s < 5; s++)
        passes(scene, 1000);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 0), 0);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 2), 0);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 1), 2 * 2);
    again = sent_last(scene, SHARD_BEGIN_HAND_OFF, 1);
    assert_true(again.attempt == begin.attempt);
    assert_string_equal(again.ref, begin.ref);
    answers(scene, &again, SHARD_BEGIN_HAND_OFF_ACK);
    begin = sent_last(scene, SHARD_HAND_OFF, 0);
    forget_sent(scene);
    scene->is_silent[0] = true;
    for (int s = 0; s < 3; s++)
        passes(scene, 1000);
    assert_int_equal(sent_count(scene, SHARD_HAND_OFF, ANY_NODE), 1);
    for (int n = 0; n < 3; n++) /* markers may be lost, too */
        assert_true(sent_count(scene, SHARD_BEGIN_HAND_OFF, n) > 0);
    again = sent_last(scene, SHARD_HAND_OFF, 0);
    assert_true(again.attempt == begin.attempt);
    assert_int_equal(again.owing_lanes, begin.owing_lanes);
    answers(scene, &again, SHARD_HOST_STOPPED);
    assert_int_equal(home_of(scene, again.shard), 1);
    answers(scene, &again, SHARD_HOST_STOPPED); /* to the first order */
    assert_int_equal(home_of(scene, again.shard), 1);
    scene_free(scene);
}

/* The pause that has doubled is cut short. */
static void a_member_that_is_reachable_again_is_asked_at_once(void **state)
{
    struct scene *scene = scene_moving();
    (void)state;

    scene->is_silent[1] = true;
    play(scene);
    peer_is(scene, 1, MEMBER_UP, true, false);
    for (int s = 0; s < 20; s++)
        passes(scene, 1000);
    forget_sent(scene);
    for (int s = 0; s < 3; s++)
        passes(scene, 1000);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 1), 0);
    peer_is(scene, 1, MEMBER_UP, true, true);
    passes(scene, 1000);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 1), 2);
    scene_free(scene);
}

/* A JVM cannot tell a repeat from another hand-off. */
static void a_jvm_gets_hand_off_messages_once(void **state)
{
    struct scene *scene = scene_with(1, &eager);
    (void)state;

    scene->is_jvm[1] = true;
    peer_up(scene, 1);
    registers(scene, 1);
    asks(scene, 0, "1");
    asks(scene, 0, "2");
    play(scene);
    forget_sent(scene);
    scene->is_silent[0] = scene->is_silent[1] = true;
    say(scene, 1, (struct shard_message){
                      .kind = SHARD_GRACEFUL_SHUTDOWN,
                      .ref = slice_text("akka://S@n1:2550" REGION_PATH) });
    for (int s = 0; s < 5; s++)
        passes(scene, 1000);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 0), 1 + 2);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 1), 1);
    scene_free(scene);
}

static void a_failed_hand_off_leaves_the_old_home(void **state)
{
    struct scene *scene = scene_moving();
    struct sent late;
    struct sent begin;
    (void)state;

    scene->is_silent[1] = true;
    play(scene);
    late = sent_last(scene, SHARD_BEGIN_HAND_OFF, 1);
    asks(scene, 1, "1");
    forget_sent(scene);
    passes(scene, 60000);
    assert_int_equal(counter(scene, failed_moves), 2);
    assert_int_equal(home_of(scene, "1"), 0);
    assert_int_equal(fence_of(scene, "1").epoch, 1);
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 2); /* continues */
    assert_int_equal(sent_count(scene, SHARD_HOME, 1), 2); /* releases held messages */
    assert_int_equal(sent_count(scene, SHARD_HOME, 2), 2);
    assert_int_equal(sent_last(scene, SHARD_HOME, 1).fence.epoch, 1);
    /* The next tick tries again; the late answer belongs to the last attempt. */
    passes(scene, 10000);
    begin = sent_last(scene, SHARD_BEGIN_HAND_OFF, 1);
    assert_true(begin.attempt > late.attempt);
    play(scene);
    answers(scene, &late, SHARD_BEGIN_HAND_OFF_ACK);
    assert_int_equal(sent_count(scene, SHARD_HAND_OFF, 0), 0);
    scene->is_silent[1] = false;
    for (uint32_t i = 0; i < scene->sent.count; i++) {
        struct sent sent = scene->sent.items[i];

        if (sent.node == 1 && sent.kind == SHARD_BEGIN_HAND_OFF)
            answers(scene, &sent, SHARD_BEGIN_HAND_OFF_ACK);
    }
    play(scene);
    assert_int_equal(home_of(scene, "1"), 1);
    scene_free(scene);
}

/* Too many hand-offs for slow links never end. Each failure halves the number that may begin, down
 * to one; each success raises it. */
/* Sixteen shards at the first region, none at the second. */
static struct scene *
scene_uneven(const struct coordinator_settings *settings)
{
    struct scene *scene = scene_with(1, settings);

    for (int i = 1; i <= 16; i++) {
        char id[8];

        snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    peer_up(scene, 1);
    registers(scene, 1);
    play(scene);
    return scene;
}

static void fewer_shards_move_at_a_time_after_failures(void **state)
{
    struct scene *scene = scene_uneven(&eager);
    uint32_t begun;
    (void)state;

    forget_sent(scene);
    scene->is_silent[0] = scene->is_silent[1] = true;
    passes(scene, 10000);
    begun = sent_count(scene, SHARD_BEGIN_HAND_OFF, 0);
    assert_int_equal(begun, 8);
    passes(scene, 59000); /* no answers */
    forget_sent(scene);
    passes(scene, 1000);
    assert_int_equal(counter(scene, failed_moves), begun);
    forget_sent(scene);
    scene->is_silent[0] = scene->is_silent[1] = false;
    for (uint32_t i = 0; i < 3; i++) {
        static const uint64_t moved[] = { 1, 1 + 2, 1 + 2 + 5 };

        passes(scene, 10000);
        play(scene);
        assert_int_equal(counter(scene, moves), moved[i]);
    }
    assert_int_equal(shards_at(scene, 1), 8);
    scene_free(scene);
}

/* The older strategy begins hand-offs beside open ones. */
static void after_failures_one_hand_off_is_open_at_a_time(void **state)
{
    static const struct coordinator_settings older = {
        .simultaneous_max = 8, .threshold = 1
    };
    struct scene *scene = scene_uneven(&older);
    uint64_t failed;
    (void)state;

    scene->is_silent[0] = scene->is_silent[1] = true;
    for (int i = 0; i < 200; i++)
        passes(scene, 1000);
    failed = counter(scene, failed_moves);
    assert_true(failed >= 2);
    for (int i = 0; i < 300; i++) /* thirty rebalances; a hand-off takes 60 s */
        passes(scene, 1000);
    assert_in_range(counter(scene, failed_moves) - failed, 1, 3);
    scene_free(scene);
}

/* Returns the failures within some seconds. */
static uint64_t fail_within(struct scene *scene, int seconds)
{
    uint64_t failed = counter(scene, failed_moves);

    for (int i = 0; i < seconds; i++)
        passes(scene, 1000);
    return counter(scene, failed_moves) - failed;
}

/* Otherwise a slow home would never serve its shard. */
static void pauses_grow_after_a_hand_off_that_fails_alone(void **state)
{
    static const struct coordinator_settings hasty = {
        .absolute_limit = 1000,
        .relative_limit = 0.5,
        .handoff_timeout_ms = 1000,
        .rebalance_interval_ms = 1000
    };
    struct scene *scene = scene_uneven(&hasty);
    uint64_t moved;
    (void)state;

    scene->is_silent[0] = scene->is_silent[1] = true;
    (void)fail_within(scene, 10);
    assert_in_range(fail_within(scene, 60), 2, 4);
    (void)fail_within(scene, 1000);
    /* every 300 s, plus the hand-off's own time */
    assert_in_range(fail_within(scene, 3000), 9, 11);
    peer_up(scene, 2);
    assert_in_range(fail_within(scene, 4), 1, 2);
    scene->is_silent[0] = scene->is_silent[1] = false;
    moved = counter(scene, moves);
    for (int i = 0; i < 30; i++) {
        passes(scene, 1000);
        play(scene);
    }
    assert_true(counter(scene, moves) - moved >= 8); /* the first success ends the pauses */
    scene_free(scene);
}

static void the_owner_may_fail_a_hand_off(void **state)
{
    struct scene *scene = scene_moving();
    struct sent hand_off;
    (void)state;

    scene->is_silent[0] = true;
    play(scene);
    for (uint32_t i = 0; i < 6; i++) {
        struct sent sent = scene->sent.items[i];

        if (sent.node == 0)
            answers(scene, &sent, SHARD_BEGIN_HAND_OFF_ACK);
    }
    hand_off = sent_last(scene, SHARD_HAND_OFF, 0);
    say(scene, 0, (struct shard_message){ .kind = SHARD_HAND_OFF_FAILED,
                                          .shard = slice_text(hand_off.shard),
                                          .fence = hand_off.fence,
                                          .attempt = hand_off.attempt,
                                          .reason = slice_text("no marker") });
    assert_int_equal(counter(scene, failed_moves), 1);
    assert_int_equal(home_of(scene, hand_off.shard), 0);
    scene_free(scene);
}

static void a_hand_off_does_not_wait_for_removed_nodes(void **state)
{
    struct scene *scene = scene_moving();
    (void)state;

    scene->is_silent[1] = true;
    play(scene);
    assert_int_equal(sent_count(scene, SHARD_HAND_OFF, 0), 0);
    peer_removed(scene, 1);
    assert_int_equal(sent_count(scene, SHARD_HAND_OFF, 0), 2);
    assert_int_equal(sent_last(scene, SHARD_HAND_OFF, 0).owing_count, 2);
    play(scene);
    assert_int_equal(shards_at(scene, 0), 4);
    assert_int_equal(fence_of(scene, "1").epoch, 2);
    scene_free(scene);
}

static void a_dead_owner_s_shards_go_elsewhere_at_once(void **state)
{
    struct scene *scene = scene_with(3, NULL);
    (void)state;

    for (int i = 0; i < 9; i++) {
        char id[8];

        snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    play(scene);
    forget_sent(scene);
    peer_removed(scene, 2);
    assert_int_equal(shards_at(scene, 0) + shards_at(scene, 1), 9);
    assert_int_equal(sent_count(scene, SHARD_HOST, ANY_NODE), 3); /* without traffic */
    assert_int_equal(sent_count(scene, SHARD_HOME, 0), 3);
    assert_int_equal(sent_count(scene, SHARD_HOME, 1), 3);
    assert_int_equal(sent_count(scene, SHARD_HOME, 2), 0);
    scene_free(scene);
}

static void an_owner_that_dies_while_stopping_ends_the_move(void **state)
{
    struct scene *scene = scene_moving();
    (void)state;

    scene->is_silent[0] = true;
    play(scene);
    peer_removed(scene, 0);
    assert_int_equal(shards_at(scene, 1), 4);
    passes(scene, 60000);
    assert_int_equal(counter(scene, failed_moves), 0);
    scene_free(scene);
}

static void the_margin_delays_the_effects_of_removal(void **state)
{
    struct coordinator_settings settings = { .removal_margin_ms = 5000 };
    struct scene *scene = scene_with(2, &settings);
    (void)state;

    asks(scene, 0, "1");
    asks(scene, 0, "2");
    assert_int_equal(home_of(scene, "2"), 1);
    forget_sent(scene);
    peer_removed(scene, 1);
    asks(scene, 0, "2");
    assert_int_equal(scene->sent.count, 0);
    passes(scene, 4999);
    assert_int_equal(home_of(scene, "2"), 1);
    passes(scene, 1);
    assert_int_equal(home_of(scene, "2"), 0);
    assert_int_equal(sent_count(scene, SHARD_HOME, 0), 1);
    scene_free(scene);
}

/* The next incarnation would take them as its own. */
static void a_removed_node_gets_no_messages(void **state)
{
    struct coordinator_settings settings = { .removal_margin_ms = 5000,
                                             .handoff_timeout_ms = 3000 };
    struct scene *scene = scene_with(2, &settings);
    struct sent begin;
    (void)state;

    asks(scene, 0, "1");
    asks(scene, 0, "2");
    asks(scene, 0, "3");
    asks(scene, 0, "4");
    assert_int_equal(home_of(scene, "2"), 1);
    assert_int_equal(home_of(scene, "4"), 1);
    forget_sent(scene);
    say(scene, 1, (struct shard_message){
                      .kind = SHARD_GRACEFUL_SHUTDOWN,
                      .ref = slice_text("akka://S@n1:2550" REGION_PATH) });
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 0), 2);
    begin = sent_last(scene, SHARD_BEGIN_HAND_OFF, 1);
    answers(scene, &begin, SHARD_BEGIN_HAND_OFF_ACK);
    begin = sent_last(scene, SHARD_BEGIN_HAND_OFF, 0);
    peer_removed(scene, 1);
    forget_sent(scene);
    /* all hold; the next message would be HandOff */
    answers(scene, &begin, SHARD_BEGIN_HAND_OFF_ACK);
    passes(scene, 3000); /* the other hand-off times out */
    assert_int_equal(scene->sent.count, 0);
    passes(scene, 2000);
    asks(scene, 0, "2");
    asks(scene, 0, "4");
    assert_int_equal(home_of(scene, "2"), 0);
    assert_int_equal(home_of(scene, "4"), 0);
    for (uint32_t i = 0; i < scene->sent.count; i++)
        assert_int_not_equal(scene->sent.items[i].node, 1);
    scene_free(scene);
}

static void a_region_shuts_down_gracefully(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    const char *ref = "akka://S@n1:2550" REGION_PATH;
    (void)state;

    for (int i = 0; i < 8; i++) {
        char id[8];

        snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    play(scene);
    forget_sent(scene);
    say(scene, 1, (struct shard_message){ .kind = SHARD_GRACEFUL_SHUTDOWN,
                                          .ref = slice_text(ref) });
    say(scene, 1, (struct shard_message){ .kind = SHARD_GRACEFUL_SHUTDOWN,
                                          .ref = slice_text(ref) });
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 1), 4); /* all at once, each once */
    asks(scene, 0, "new");
    assert_int_equal(home_of(scene, "new"), 0);
    play(scene);
    assert_int_equal(shards_at(scene, 0), 9);
    assert_int_equal(shards_at(scene, 1), 0);
    say(scene, 1, (struct shard_message){ .kind = SHARD_REGION_STOPPED,
                                          .ref = slice_text(ref) });
    say(scene, 1, (struct shard_message){ .kind = SHARD_REGION_STOPPED,
                                          .ref = slice_text(ref) });
    /* Late. */
    registers_with(scene, 1, 1, NULL, 0);
    assert_int_equal(counter(scene, stale), 1);
    asks(scene, 1, "newer");
    assert_int_equal(home_of(scene, "newer"), 0);
    assert_int_equal(counter(scene, stranger), 0);
    scene_free(scene);
}

/* Orders would reach a stopped region. */
static void a_region_is_dismissed_only_when_no_order_is_on_its_way(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    asks(scene, 0, "1");
    asks(scene, 0, "2");
    assert_int_equal(shards_at(scene, 1), 1);
    asks_to_stop(scene, 1, 1);
    assert_int_equal(sent_count(scene, SHARD_DISMISSED, ANY_NODE), 0);
    play(scene);
    assert_int_equal(shards_at(scene, 1), 0);
    asks_to_stop(scene, 1, 0); /* a late older question */
    assert_int_equal(sent_count(scene, SHARD_DISMISSED, ANY_NODE), 0);
    asks_to_stop(scene, 1, 2);
    asks_to_stop(scene, 1, 2);
    assert_int_equal(sent_count(scene, SHARD_DISMISSED, 1), 2);
    assert_int_equal(sent_last(scene, SHARD_DISMISSED, 1).idle, 2);
    assert_int_equal(sent_last(scene, SHARD_DISMISSED, 1).fence.term, 1);
    scene_free(scene);
}

static void a_dismissed_region_is_no_last_resort(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    asks_to_stop(scene, 0, 1);
    asks_to_stop(scene, 1, 1);
    asks(scene, 0, "1");
    assert_int_equal(home_of(scene, "1"), -1);
    asks_to_stop(scene, 1, 0); /* its waiting messages withdraw the question */
    assert_int_equal(home_of(scene, "1"), 1);
    scene_free(scene);
}

/* Otherwise it would be handed off and placed again for ever, and its waiting messages never
 * read. */
static void a_last_resort_is_handed_off_once_it_has_started(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    (void)state;

    say(scene, 0, (struct shard_message){
                      .kind = SHARD_GRACEFUL_SHUTDOWN,
                      .ref = slice_text("akka://S@n0:2550" REGION_PATH) });
    asks(scene, 0, "1");
    assert_int_equal(home_of(scene, "1"), 0);
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 1);
    passes(scene, 1000);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 0), 0);
    say(scene, 0, (struct shard_message){ .kind = SHARD_HOST_STARTED,
                                          .shard = slice_text("1"),
                                          .fence = fence_of(scene, "1") });
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 0), 1);
    scene_free(scene);
}

/* For its lanes' messages on their way. */
static void a_hand_off_waits_for_a_region_that_has_stopped(void **state)
{
    struct scene *scene = scene_moving();
    struct sent begin = scene->sent.items[0];
    (void)state;

    answers(scene, &begin, SHARD_BEGIN_HAND_OFF_ACK);
    begin.node = 2;
    snprintf(begin.recipient, sizeof begin.recipient, "%s", PROXY_PATH);
    answers(scene, &begin, SHARD_BEGIN_HAND_OFF_ACK);
    say(scene, 1, (struct shard_message){
                      .kind = SHARD_REGION_STOPPED,
                      .ref = slice_text("akka://S@n1:2550" REGION_PATH) });
    assert_int_equal(sent_count(scene, SHARD_HAND_OFF, ANY_NODE), 0);
    begin.node = 1;
    snprintf(begin.recipient, sizeof begin.recipient, "%s", REGION_PATH);
    answers(scene, &begin, SHARD_BEGIN_HAND_OFF_ACK);
    assert_int_equal(sent_count(scene, SHARD_HAND_OFF, 0), 1);
    assert_int_equal(sent_last(scene, SHARD_HAND_OFF, 0).owing_lanes,
                     2 + 2 + 3);
    /* The other hand-off waits only until its member is removed. */
    begin = sent_last(scene, SHARD_BEGIN_HAND_OFF, 0);
    begin.node = 0;
    answers(scene, &begin, SHARD_BEGIN_HAND_OFF_ACK);
    begin.node = 2;
    snprintf(begin.recipient, sizeof begin.recipient, "%s", PROXY_PATH);
    answers(scene, &begin, SHARD_BEGIN_HAND_OFF_ACK);
    assert_int_equal(sent_count(scene, SHARD_HAND_OFF, 0), 1);
    peer_removed(scene, 1);
    assert_int_equal(sent_count(scene, SHARD_HAND_OFF, 0), 2);
    scene_free(scene);
}

/* It stopped before this coordinator began, or the message was lost. */
static void a_region_that_comes_back_as_a_proxy_hosts_nothing(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    asks(scene, 0, "1");
    asks(scene, 0, "2");
    play(scene);
    assert_int_equal(shards_at(scene, 1), 1);
    say(scene, 1, (struct shard_message){
                      .kind = SHARD_REGISTER_PROXY,
                      .ref = slice_text("akka://S@n1:2550" REGION_PATH),
                      .lanes = 2,
                      .report = 9 });
    assert_int_equal(shards_at(scene, 1), 0);
    assert_int_equal(shards_at(scene, 0), 2);
    /* Foreign behaviour: a region that reports shards is no proxy. */
    registers_one(scene, 1, "7", (struct fence){ 1, 50 });
    assert_int_equal(home_of(scene, "7"), 1);
    coordinator_verify(scene->coordinator);
    scene_free(scene);
}

static void the_last_region_can_leave(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    const char *ref = "akka://S@n0:2550" REGION_PATH;
    (void)state;

    asks(scene, 0, "1");
    play(scene);
    has_news(scene, COORDINATOR_NEWS_ACTIVE);
    coordinator_stop(scene->coordinator, scene->now, &scene->outbox);
    assert_true(has_news(scene, COORDINATOR_NEWS_STOP_REGION));
    say(scene, 0, (struct shard_message){ .kind = SHARD_GRACEFUL_SHUTDOWN,
                                          .ref = slice_text(ref) });
    play(scene);
    assert_int_equal(home_of(scene, "1"), -1);
    assert_false(has_news(scene, COORDINATOR_NEWS_STOPPED));
    say(scene, 0, (struct shard_message){ .kind = SHARD_REGION_STOPPED,
                                          .ref = slice_text(ref) });
    assert_true(has_news(scene, COORDINATOR_NEWS_STOPPED));
    assert_true(coordinator_deadline(scene->coordinator) == NEVER);
    forget_sent(scene);
    registers(scene, 0);
    assert_int_equal(scene->sent.count, 0);
    scene_free(scene);
}

static void a_coordinator_without_own_region_stops_at_once(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    peer_removed(scene, 0);
    coordinator_stop(scene->coordinator, scene->now, &scene->outbox);
    scene_drain(scene);
    assert_true(has_news(scene, COORDINATOR_NEWS_STOPPED));
    coordinator_stop(scene->coordinator, scene->now, &scene->outbox);
    assert_false(has_news(scene, COORDINATOR_NEWS_STOPPED));
    scene_free(scene);
}

static void reports_stored_term(struct scene *scene, int n, uint64_t term)
{
    char ref[80];

    ref_of(ref, sizeof ref, n, false);
    say(scene, n, (struct shard_message){ .kind = SHARD_REGISTER,
                                          .ref = slice_text(ref),
                                          .lanes = 2,
                                          .report = ++scene->report[n],
                                          .stored_term = term });
}

/* A coordinator that no node here knows has left a higher term in the store. */
static void a_coordinator_takes_a_term_above_the_stored_one(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    struct coordinator_news news;
    (void)state;

    asks(scene, 0, "1");
    (void)has_news(scene, COORDINATOR_NEWS_ACTIVE);
    reports_stored_term(scene, home_of(scene, "1"), 1);
    assert_false(has_news(scene, COORDINATOR_NEWS_NEEDS_TERM));
    reports_stored_term(scene, home_of(scene, "1"), 7);
    assert_true(coordinator_next_news(scene->coordinator, &news));
    assert_int_equal(news.kind, COORDINATOR_NEWS_NEEDS_TERM);
    assert_int_equal(news.term, 7);
    assert_false(coordinator_is_active(scene->coordinator));
    forget_sent(scene);
    give_term(scene, 8);
    assert_int_equal(sent_count(scene, SHARD_HOST, home_of(scene, "1")), 1);
    assert_int_equal(fence_of(scene, "1").term, 8);
    coordinator_verify(scene->coordinator);
    scene_free(scene);
}

/* No later report would repeat it. */
static void a_shard_refused_between_two_terms_is_hosted_again(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    struct shard_hosted hosted[2] = { { .shard = slice_text("1") },
                                      { .shard = slice_text("2") } };
    (void)state;

    asks(scene, 0, "1");
    asks(scene, 0, "2");
    play(scene);
    hosted[0].fence = (struct fence){ 6, 1 };
    hosted[1].fence = fence_of(scene, "2");
    registers_with(scene, 0, ++scene->report[0], hosted, 2);
    assert_false(coordinator_is_active(scene->coordinator));
    registers_one(scene, 0, "1", hosted[0].fence);
    forget_sent(scene);
    give_term(scene, 8);
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 1);
    assert_string_equal(sent_last(scene, SHARD_HOST, 0).shard, "2");
    assert_int_equal(fence_of(scene, "2").term, 8);
    assert_int_equal(fence_of(scene, "1").term, 6);
    coordinator_verify(scene->coordinator);
    scene_free(scene);
}

/* The report that brings a higher term may also lack a shard. */
static void a_report_that_ends_a_term_counts(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    (void)state;

    asks(scene, 0, "1");
    asks(scene, 0, "2");
    play(scene);
    registers_one(scene, 0, "1", (struct fence){ 6, 1 });
    assert_false(coordinator_is_active(scene->coordinator));
    forget_sent(scene);
    give_term(scene, 8);
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 1);
    assert_int_equal(fence_of(scene, "2").term, 8);
    scene_free(scene);
}

/* A region repeats its report until it is answered; the last report counts. */
static void a_shard_lost_before_the_first_term_is_hosted_again(void **state)
{
    struct scene *scene = scene_new(NULL);
    (void)state;

    peer_up(scene, 0);
    registers_one(scene, 0, "1", (struct fence){ 2, 5 });
    registers(scene, 0);
    give_term(scene, 3);
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 1);
    assert_int_equal(fence_compare(sent_last(scene, SHARD_HOST, 0).fence,
                                   (struct fence){ 3, 6 }),
                     0);
    scene_free(scene);
}

/* Two living coordinators, each with its own members, outbid each other. */
static void outbidding_is_limited(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    struct trace_line line;
    uint64_t term = 1;
    uint64_t wait = 10000;
    uint32_t said = 0;
    (void)state;

    (void)has_news(scene, COORDINATOR_NEWS_ACTIVE);
    reports_stored_term(scene, 0, term + 1);
    for (int i = 0; i < COORDINATOR_OUTBIDS_MAX; i++) {
        assert_true(has_news(scene, COORDINATOR_NEWS_NEEDS_TERM));
        term += 2;
        give_term(scene, term);
        passes(scene, wait - 1);
        reports_stored_term(scene, 0, term + 1);
        assert_false(has_news(scene, COORDINATOR_NEWS_NEEDS_TERM));
        passes(scene, 1);
        wait *= 2;
    }
    assert_false(has_news(scene, COORDINATOR_NEWS_NEEDS_TERM));
    assert_int_equal(counter(scene, outbids), COORDINATOR_OUTBIDS_MAX);
    assert_int_equal(counter(scene, outbids_left), 1);
    reports_stored_term(scene, 0, term + 2);
    assert_int_equal(counter(scene, outbids_left), 2);
    while (trace_next(scene->trace, &line))
        said += line.level == TRACE_ERROR &&
                strstr(line.text, "refuses more higher terms") != NULL;
    assert_int_equal(said, 1);
    scene_free(scene);
}

/* Two sides without contact outbid each other, then one joins the other. Its last term is outbid at
 * once, without the remaining wait of minutes. */
static void a_new_member_ends_the_wait_for_outbidding(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    uint64_t term = 1;
    uint64_t wait = 10000;
    (void)state;

    (void)has_news(scene, COORDINATOR_NEWS_ACTIVE);
    for (int i = 0; i < COORDINATOR_OUTBIDS_MAX; i++) {
        reports_stored_term(scene, 0, term + 1);
        assert_true(has_news(scene, COORDINATOR_NEWS_NEEDS_TERM));
        term += 2;
        give_term(scene, term);
        if (i < COORDINATOR_OUTBIDS_MAX - 1)
            passes(scene, wait);
        wait *= 2;
    }
    reports_stored_term(scene, 0, term + 1);
    passes(scene, 1);
    assert_false(has_news(scene, COORDINATOR_NEWS_NEEDS_TERM));
    peer_up(scene, 1);
    passes(scene, 1);
    assert_true(has_news(scene, COORDINATOR_NEWS_NEEDS_TERM));
    term += 2;
    give_term(scene, term);
    reports_stored_term(scene, 0, term + 1); /* too early, so kept */
    passes(scene, 1);
    assert_false(has_news(scene, COORDINATOR_NEWS_NEEDS_TERM));
    peer_removed(scene, 1);
    passes(scene, 1);
    assert_true(has_news(scene, COORDINATOR_NEWS_NEEDS_TERM));
    scene_free(scene);
}

/* Otherwise the next coordinator would not learn of the shard. */
static void a_coordinator_ends_when_its_last_orders_are_answered(void **state)
{
    struct scene *scene = scene_with(3, NULL);
    (void)state;

    asks(scene, 1, "1");
    peer_removed(scene, 0);
    coordinator_stop(scene->coordinator, scene->now, &scene->outbox);
    assert_false(has_news(scene, COORDINATOR_NEWS_STOPPED));
    forget_sent(scene);
    asks(scene, 1, "2");
    assert_int_equal(sent_count(scene, SHARD_HOST, ANY_NODE), 0);
    assert_int_equal(home_of(scene, "2"), -1);
    say(scene, home_of(scene, "1"),
        (struct shard_message){ .kind = SHARD_HOST_STARTED,
                                .shard = slice_text("1"),
                                .fence = fence_of(scene, "1") });
    assert_true(has_news(scene, COORDINATOR_NEWS_STOPPED));
    scene_free(scene);
}

static void the_wait_for_last_orders_is_limited(void **state)
{
    struct scene *scene = scene_with(3, NULL);
    (void)state;

    asks(scene, 1, "1");
    peer_removed(scene, 0);
    coordinator_stop(scene->coordinator, scene->now, &scene->outbox);
    passes(scene, 2900);
    assert_false(has_news(scene, COORDINATOR_NEWS_STOPPED));
    passes(scene, 100);
    assert_true(has_news(scene, COORDINATOR_NEWS_STOPPED));
    scene_free(scene);
}

static void hand_offs_beyond_the_limit_wait(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    for (int i = 0; i < 2 * (COORDINATOR_HANDOFFS_MAX + 10); i++) {
        char id[8];

        snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    play(scene);
    forget_sent(scene);
    say(scene, 1, (struct shard_message){
                      .kind = SHARD_GRACEFUL_SHUTDOWN,
                      .ref = slice_text("akka://S@n1:2550" REGION_PATH) });
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 0),
                     COORDINATOR_HANDOFFS_MAX);
    play(scene);
    assert_int_equal(shards_at(scene, 1), 0);
    assert_int_equal(counter(scene, moves), COORDINATOR_HANDOFFS_MAX + 10);
    scene_free(scene);
}

/* The coordinator moved. Reports and the stored state agree, so no home changes. */
static void a_new_coordinator_learns_from_reports(void **state)
{
    struct scene *scene = scene_new(NULL);
    (void)state;

    peer_up(scene, 0);
    peer_up(scene, 1);
    registers_one(scene, 1, "1", (struct fence){ 3, 8 });
    give_term(scene, 3); /* not above the reported one */
    assert_false(coordinator_is_active(scene->coordinator));
    has_news(scene, COORDINATOR_NEWS_ACTIVE);
    passes(scene, 1000);
    assert_true(has_news(scene, COORDINATOR_NEWS_NEEDS_TERM));
    give_term(scene, 4);
    assert_true(coordinator_is_active(scene->coordinator));
    assert_int_equal(home_of(scene, "1"), 1);
    assert_int_equal(fence_of(scene, "1").epoch, 8);
    assert_int_equal(sent_count(scene, SHARD_HOST, 1), 0); /* it runs */
    registers(scene, 0);
    asks(scene, 0, "1");
    assert_int_equal(sent_last(scene, SHARD_HOME, 0).fence.term, 3);
    asks(scene, 0, "2");
    assert_int_equal(fence_of(scene, "2").term, 4);
    peer_removed(scene, 1);
    assert_int_equal(home_of(scene, "1"), 0);
    assert_int_equal(fence_of(scene, "1").term, 4);
    assert_int_equal(fence_of(scene, "1").epoch, 9);
    scene_free(scene);
}

static void late_reports_change_nothing(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    (void)state;

    asks(scene, 0, "1");
    play(scene);
    assert_int_equal(fence_of(scene, "1").term, 1);
    /* A late member reports shard 1 under the former coordinator's fence. */
    peer_up(scene, 1);
    forget_sent(scene);
    registers_one(scene, 1, "1", (struct fence){ 0, 77 });
    assert_int_equal(home_of(scene, "1"), 0);
    assert_int_equal(counter(scene, conflicts), 1);
    assert_int_equal(counter(scene, lost_claims), 1);
    assert_string_equal(sent_last(scene, SHARD_HOME, 1).ref,
                        "akka://S@n0:2550" REGION_PATH);
    assert_int_equal(sent_last(scene, SHARD_HOME, 1).fence.term, 1);
    assert_int_equal(sent_count(scene, SHARD_HOME, 0), 0);
    scene_free(scene);
}

static void the_higher_fence_wins(void **state)
{
    struct scene *scene = scene_new(NULL);
    (void)state;

    peer_up(scene, 0);
    peer_up(scene, 1);
    registers_one(scene, 0, "1", (struct fence){ 2, 5 });
    registers_one(scene, 1, "1", (struct fence){ 2, 6 });
    assert_int_equal(home_of(scene, "1"), 1);
    /* Repeated and swapped. */
    registers_with(scene, 0, 1, NULL, 0);
    registers_one(scene, 0, "1", (struct fence){ 2, 5 });
    assert_int_equal(home_of(scene, "1"), 1);
    assert_int_equal(sent_count(scene, SHARD_HOME, ANY_NODE), 0);
    give_term(scene, 3);
    assert_int_equal(home_of(scene, "1"), 1);
    assert_int_equal(sent_last(scene, SHARD_HOME, 0).fence.epoch, 6);
    scene_free(scene);
}

static void a_second_claim_with_an_equal_fence_raises_the_fence(void **state)
{
    struct scene *scene = scene_new(NULL);
    (void)state;

    peer_up(scene, 0);
    peer_up(scene, 1);
    registers_one(scene, 0, "1", (struct fence){ 2, 5 });
    registers_one(scene, 1, "1", (struct fence){ 2, 5 });
    assert_int_equal(home_of(scene, "1"), 0);
    forget_sent(scene);
    give_term(scene, 3);
    assert_int_equal(home_of(scene, "1"), 0);
    assert_int_equal(fence_of(scene, "1").term, 3);
    assert_int_equal(fence_of(scene, "1").epoch, 6);
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 1);
    assert_int_equal(sent_last(scene, SHARD_HOME, 1).fence.epoch, 6);
    scene_free(scene);
}

static void a_claim_on_a_homeless_shard_must_be_current(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    asks(scene, 0, "1");
    asks(scene, 0, "2");
    play(scene);
    assert_int_equal(home_of(scene, "2"), 1);
    /* All are gone; a member returns with shard 2 from long ago. */
    peer_removed(scene, 0);
    peer_removed(scene, 1);
    assert_int_equal(home_of(scene, "2"), -1);
    peer_up(scene, 3);
    registers_one(scene, 3, "2", (struct fence){ 0, 9 });
    assert_int_equal(home_of(scene, "2"), 3);
    assert_int_equal(fence_of(scene, "2").term, 1);
    assert_true(fence_of(scene, "2").epoch > 1);
    assert_int_equal(fence_compare(sent_last(scene, SHARD_HOST, 3).fence,
                                   fence_of(scene, "2")),
                     0); /* it must claim the new fence */
    scene_free(scene);
}

static void an_older_report_is_only_acknowledged(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    struct shard_hosted hosted = { slice_text("1"), { 1, 50 } };
    (void)state;

    asks(scene, 0, "1");
    assert_int_equal(home_of(scene, "1"), 0);
    registers(scene, 1);
    registers(scene, 1);
    forget_sent(scene);
    registers_with(scene, 1, 2, &hosted, 1); /* overtaken by report 3 */
    assert_int_equal(home_of(scene, "1"), 0);
    assert_int_equal(counter(scene, stale), 1);
    assert_int_equal(sent_count(scene, SHARD_REGISTER_ACK, 1), 1);
    /* The same claim in a new report counts. */
    registers_with(scene, 1, 4, &hosted, 1);
    assert_int_equal(home_of(scene, "1"), 1);
    scene_free(scene);
}

static void a_reported_higher_term_makes_the_coordinator_take_another(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    struct coordinator_news news;
    (void)state;

    while (coordinator_next_news(scene->coordinator, &news))
        ;
    registers_one(scene, 1, "1", (struct fence){ 9, 1 });
    assert_int_equal(home_of(scene, "1"), 1);
    assert_false(coordinator_is_active(scene->coordinator));
    assert_true(coordinator_next_news(scene->coordinator, &news));
    assert_int_equal(news.kind, COORDINATOR_NEWS_NEEDS_TERM);
    assert_int_equal(news.term, 9);
    asks(scene, 0, "2");
    assert_int_equal(home_of(scene, "2"), -1);
    give_term(scene, 10);
    assert_int_equal(home_of(scene, "2"), 0);
    assert_int_equal(fence_of(scene, "2").term, 10);
    scene_free(scene);
}

static void a_shard_missing_in_a_report_is_hosted_again(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    (void)state;

    asks(scene, 0, "1");
    play(scene);
    forget_sent(scene);
    registers(scene, 0);
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 1);
    assert_int_equal(home_of(scene, "1"), 0);
    /* The store may have refused the old fence. */
    assert_int_equal(sent_last(scene, SHARD_HOST, 0).fence.epoch, 2);
    assert_int_equal(sent_last(scene, SHARD_HOME, 0).fence.epoch, 2);
    registers_one(scene, 0, "1", fence_of(scene, "1"));
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 1);
    /* Once a second. */
    for (int i = 0; i < 10; i++)
        registers(scene, 0);
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 1);
    passes(scene, 1000);
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 2);
    assert_int_equal(fence_of(scene, "1").epoch, 3);
    scene_free(scene);
}

/* The store may refuse every fence of a replaced coordinator that does not know it. */
static void a_home_that_always_refuses_is_asked_less_often(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    uint64_t quick, slow;
    (void)state;

    asks(scene, 0, "1");
    play(scene);
    for (int i = 0; i < 600; i++) {
        registers(scene, 0);
        registers(scene, 0);
        passes(scene, 100);
    }
    quick = fence_of(scene, "1").epoch;
    assert_true(quick > 8);
    for (int i = 0; i < 600; i++) {
        registers(scene, 0);
        registers(scene, 0);
        passes(scene, 100);
    }
    slow = fence_of(scene, "1").epoch - quick;
    assert_in_range(slow, 1, 3);
    /* The count begins again. */
    play(scene);
    quick = fence_of(scene, "1").epoch;
    passes(scene, 1000);
    registers(scene, 0);
    assert_int_equal(fence_of(scene, "1").epoch, quick + 1);
    scene_free(scene);
}

/* The report with the shard settles the earlier refusal: its timer does not raise the fence. */
static void a_home_that_reports_its_shard_keeps_its_fence(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    struct fence fence;
    (void)state;

    asks(scene, 0, "1");
    play(scene);
    passes(scene, 1000);
    registers(scene, 0);
    registers(scene, 0); /* starts a timer */
    fence = fence_of(scene, "1");
    registers_one(scene, 0, "1", fence);
    passes(scene, 5000);
    assert_int_equal(fence_of(scene, "1").epoch, fence.epoch);
    scene_free(scene);
}

/* Only some regions may know the former coordinator's last allocations, which no report names. */
static void regions_of_the_previous_coordinator_learn_first_allocations(
    void **state)
{
    struct scene *scene = scene_new(NULL);
    (void)state;

    for (int n = 0; n < 3; n++)
        peer_up(scene, n);
    give_term(scene, 5);
    registers(scene, 0);
    registers(scene, 1);
    say(scene, 2, (struct shard_message){
                      .kind = SHARD_REGISTER,
                      .ref = slice_text("akka://S@n2:2550" REGION_PATH),
                      .lanes = 1,
                      .report = 1,
                      .fence = { 4, 0 } });
    forget_sent(scene);
    asks(scene, 0, "1");
    assert_int_equal(sent_count(scene, SHARD_HOME, 0), 1);
    assert_int_equal(sent_count(scene, SHARD_HOME, 1), 0);
    assert_int_equal(sent_count(scene, SHARD_HOME, 2), 1);
    /* And homes that another region reports later. */
    peer_up(scene, 3);
    forget_sent(scene);
    registers_one(scene, 3, "7", (struct fence){ 4, 1 });
    assert_int_equal(sent_count(scene, SHARD_HOME, 2), 1);
    assert_int_equal(sent_count(scene, SHARD_HOME, 1), 0);
    scene_free(scene);
}

/* Its own region stopped before it knew the coordinator, and never said so. */
static void a_stopping_coordinator_asks_its_own_region(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    has_news(scene, COORDINATOR_NEWS_ACTIVE);
    coordinator_stop(scene->coordinator, scene->now, &scene->outbox);
    scene_drain(scene);
    assert_int_equal(sent_count(scene, SHARD_REGISTER_ACK, 0), 1);
    passes(scene, 1000);
    assert_int_equal(sent_count(scene, SHARD_REGISTER_ACK, 0), 2);
    assert_int_equal(sent_count(scene, SHARD_REGISTER_ACK, 1), 0);
    say(scene, 0, (struct shard_message){
                      .kind = SHARD_REGION_STOPPED,
                      .ref = slice_text("akka://S@n0:2550" REGION_PATH) });
    assert_true(has_news(scene, COORDINATOR_NEWS_STOPPED));
    scene_free(scene);
}

/* A coordinator whose state is from reports also moves shards. */
static void adopted_shards_are_rebalanced(void **state)
{
    struct scene *scene = scene_new(&eager);
    struct shard_hosted hosted[] = { { slice_text("1"), { 1, 1 } },
                                     { slice_text("2"), { 1, 1 } } };
    (void)state;

    peer_up(scene, 0);
    peer_up(scene, 1);
    registers_with(scene, 0, 1, hosted, 2);
    registers(scene, 1);
    give_term(scene, 2);
    passes(scene, 10000);
    play(scene);
    assert_int_equal(shards_at(scene, 1), 1);
    scene_free(scene);
}

/* As in Akka, at least one shard moves, also with a share of zero; the default would move four. */
static void a_relative_limit_of_zero_moves_one_shard(void **state)
{
    struct coordinator_settings settings = { .absolute_limit = 1000,
                                             .relative_limit = -1 };
    struct scene *scene = scene_with(1, &settings);
    char id[8];
    (void)state;

    for (int i = 0; i < 40; i++) {
        (void)snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    peer_up(scene, 1);
    registers(scene, 1);
    passes(scene, 10000);
    play(scene);
    assert_int_equal(shards_at(scene, 1), 1);
    scene_free(scene);
}

static void a_leaving_region_reports_to_a_new_coordinator(void **state)
{
    struct scene *scene = scene_new(NULL);
    (void)state;

    peer_up(scene, 0);
    peer_is(scene, 1, MEMBER_EXITING, true, true);
    registers_one(scene, 1, "1", (struct fence){ 1, 1 });
    registers(scene, 0);
    give_term(scene, 2);
    assert_int_equal(home_of(scene, "1"), 1);
    say(scene, 1, (struct shard_message){
                      .kind = SHARD_GRACEFUL_SHUTDOWN,
                      .ref = slice_text("akka://S@n1:2550" REGION_PATH) });
    play(scene);
    assert_int_equal(home_of(scene, "1"), 0);
    scene_free(scene);
}

static void jvm_regions_have_no_fences(void **state)
{
    struct scene *scene = scene_new(&eager);
    (void)state;

    scene->is_jvm[1] = true;
    peer_up(scene, 0);
    peer_up(scene, 1);
    give_term(scene, 1);
    registers(scene, 1);
    registers(scene, 0);
    for (int i = 0; i < 4; i++) {
        char id[8];

        snprintf(id, sizeof id, "%d", i);
        asks(scene, 1, id);
    }
    play(scene);
    assert_int_equal(shards_at(scene, 1), 2);
    say(scene, 1, (struct shard_message){
                      .kind = SHARD_GRACEFUL_SHUTDOWN,
                      .ref = slice_text("akka://S@n1:2550" REGION_PATH) });
    play(scene);
    assert_int_equal(shards_at(scene, 0), 4);
    assert_int_equal(sent_last(scene, SHARD_HAND_OFF, 1).owing_count, 1); /* only n0 */
    scene_free(scene);
}

static void a_restarted_node_is_another_member(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    struct sent hand_off;
    (void)state;

    asks(scene, 0, "1");
    asks(scene, 0, "2");
    assert_int_equal(home_of(scene, "2"), 1);
    hand_off = (struct sent){ .node = 1, .kind = SHARD_HOST,
                              .fence = fence_of(scene, "2") };
    snprintf(hand_off.shard, sizeof hand_off.shard, "2");
    peer_removed(scene, 1);
    assert_int_equal(home_of(scene, "2"), 0);
    answers(scene, &hand_off, SHARD_HOST_STARTED); /* from the former incarnation */
    registers(scene, 1);
    assert_int_equal(counter(scene, ignored_register), 1);
    assert_int_equal(home_of(scene, "2"), 0);
    scene_free(scene);
}

static void cluster_questions_are_answered(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    struct shard_count counts[] = { { slice_text("1"), 5, 0 } };
    struct shard_message stats = { .kind = SHARD_REGION_STATS,
                                   .stats = counts,
                                   .stat_count = 1 };
    struct sent sent;
    (void)state;

    say_from(scene, 1, "/user/asker#1",
             (struct shard_message){ .kind = SHARD_GET_CURRENT_REGIONS });
    sent = sent_last(scene, SHARD_CURRENT_REGIONS, 1);
    assert_int_equal(sent.address_count, 2);
    assert_string_equal(sent.recipient, "/user/asker#1");
    say_from(scene, 1, "/user/asker#1",
             (struct shard_message){ .kind = SHARD_GET_CLUSTER_STATS,
                                     .timeout_ns = 3000000000 });
    assert_int_equal(sent_count(scene, SHARD_GET_REGION_STATS, ANY_NODE), 2);
    say(scene, 0, stats);
    say(scene, 0, stats);
    assert_int_equal(sent_count(scene, SHARD_CLUSTER_STATS, 1), 0);
    say(scene, 1, stats);
    sent = sent_last(scene, SHARD_CLUSTER_STATS, 1);
    assert_int_equal(sent.address_count, 2);
    assert_int_equal(sent.stat_count, 2);
    /* One time-out makes the answer empty. */
    say_from(scene, 1, "/user/asker#1",
             (struct shard_message){ .kind = SHARD_GET_CLUSTER_STATS,
                                     .timeout_ns = 3000000000 });
    say(scene, 0, stats);
    passes(scene, 3000);
    sent = sent_last(scene, SHARD_CLUSTER_STATS, 1);
    assert_int_equal(sent.address_count, 0);
    for (int i = 0; i < COORDINATOR_QUERIES_MAX + 1; i++)
        say_from(scene, 1, "/user/asker#1",
                 (struct shard_message){ .kind = SHARD_GET_CLUSTER_STATS,
                                         .timeout_ns = 3000000000 });
    assert_int_equal(counter(scene, dropped_full), 1);
    scene_free(scene);
}

static void tables_have_limits(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    struct shard_hosted *hosted =
        mem_alloc(10000 * sizeof *hosted);
    char (*ids)[12] = mem_alloc(10000 * sizeof *ids);
    uint32_t at = 0;
    (void)state;

    while (at < COORDINATOR_SHARDS_MAX + 1) {
        uint32_t count = 0;

        for (; count < 10000 && at < COORDINATOR_SHARDS_MAX + 1;
             count++, at++) {
            snprintf(ids[count], sizeof ids[count], "%u", at);
            hosted[count] = (struct shard_hosted){ slice_text(ids[count]),
                                                   { 1, 1 } };
        }
        /* HostShard messages are not kept here. */
        registers_with(scene, 0, ++scene->report[0], hosted, count);
        forget_sent(scene);
    }
    assert_int_equal(shards_at(scene, 0), COORDINATOR_SHARDS_MAX);
    assert_int_equal(counter(scene, dropped_full), 1);
    mem_free(ids);
    mem_free(hosted);
    scene_free(scene);
}

static void malformed_messages_are_counted(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    struct inbound inbound = { .from = node_of(0),
                               .sender = slice_text(REGION_PATH),
                               .manifest = slice_text("BA"),
                               .payload = slice_text("\xff\xff"),
                               .serializer = 13 };
    (void)state;

    coordinator_receive(scene->coordinator, scene->now, &inbound,
                        &scene->outbox);
    assert_int_equal(counter(scene, malformed), 1);
    say(scene, 0, (struct shard_message){ .kind = SHARD_HOST,
                                          .shard = slice_text("1") });
    assert_int_equal(counter(scene, unknown), 1);
    registers_one(scene, 0, "1", (struct fence){ UINT64_MAX, UINT64_MAX });
    assert_int_equal(counter(scene, malformed), 2);
    assert_true(coordinator_is_active(scene->coordinator));
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_answered_before_the_term),
        cmocka_unit_test(a_missing_term_is_not_logged_as_an_old_one),
        cmocka_unit_test(first_allocations_wait_for_members_that_can_answer),
        cmocka_unit_test(first_allocations_stop_waiting_after_ten_queries),
        cmocka_unit_test(shards_move_only_after_every_member_is_known),
        cmocka_unit_test(an_unreachable_late_member_delays_no_allocation),
        cmocka_unit_test(members_without_this_library_are_not_awaited),
        cmocka_unit_test(enough_regions_must_have_registered),
        cmocka_unit_test(shards_go_to_the_region_with_the_fewest_shards),
        cmocka_unit_test(unknown_nodes_are_not_registered),
        cmocka_unit_test(another_number_of_shards_is_refused),
        cmocka_unit_test(host_shard_is_repeated_until_started),
        cmocka_unit_test(host_shard_is_repeated_less_often_to_a_silent_home),
        cmocka_unit_test(a_move_waits_for_all_regions_and_notifies_them),
        cmocka_unit_test(moves_end_in_balance),
        cmocka_unit_test(the_old_algorithm_moves_one_at_a_time),
        cmocka_unit_test(no_shard_moves_while_a_member_joins_SHD113_SHD075),
        cmocka_unit_test(
            no_shard_moves_while_a_member_is_unreachable_SHD112_SHD074),
        cmocka_unit_test(unanswered_hand_off_messages_are_repeated),
        cmocka_unit_test(a_member_that_is_reachable_again_is_asked_at_once),
        cmocka_unit_test(a_jvm_gets_hand_off_messages_once),
        cmocka_unit_test(a_failed_hand_off_leaves_the_old_home),
        cmocka_unit_test(fewer_shards_move_at_a_time_after_failures),
        cmocka_unit_test(pauses_grow_after_a_hand_off_that_fails_alone),
        cmocka_unit_test(after_failures_one_hand_off_is_open_at_a_time),
        cmocka_unit_test(the_owner_may_fail_a_hand_off),
        cmocka_unit_test(a_hand_off_does_not_wait_for_removed_nodes),
        cmocka_unit_test(a_dead_owner_s_shards_go_elsewhere_at_once),
        cmocka_unit_test(an_owner_that_dies_while_stopping_ends_the_move),
        cmocka_unit_test(the_margin_delays_the_effects_of_removal),
        cmocka_unit_test(a_removed_node_gets_no_messages),
        cmocka_unit_test(a_region_shuts_down_gracefully),
        cmocka_unit_test(a_region_is_dismissed_only_when_no_order_is_on_its_way),
        cmocka_unit_test(a_dismissed_region_is_no_last_resort),
        cmocka_unit_test(a_last_resort_is_handed_off_once_it_has_started),
        cmocka_unit_test(a_hand_off_waits_for_a_region_that_has_stopped),
        cmocka_unit_test(a_region_that_comes_back_as_a_proxy_hosts_nothing),
        cmocka_unit_test(the_last_region_can_leave),
        cmocka_unit_test(a_coordinator_without_own_region_stops_at_once),
        cmocka_unit_test(a_coordinator_takes_a_term_above_the_stored_one),
        cmocka_unit_test(a_shard_refused_between_two_terms_is_hosted_again),
        cmocka_unit_test(a_report_that_ends_a_term_counts),
        cmocka_unit_test(a_shard_lost_before_the_first_term_is_hosted_again),
        cmocka_unit_test(outbidding_is_limited),
        cmocka_unit_test(a_new_member_ends_the_wait_for_outbidding),
        cmocka_unit_test(a_coordinator_ends_when_its_last_orders_are_answered),
        cmocka_unit_test(the_wait_for_last_orders_is_limited),
        cmocka_unit_test(hand_offs_beyond_the_limit_wait),
        cmocka_unit_test(a_new_coordinator_learns_from_reports),
        cmocka_unit_test(late_reports_change_nothing),
        cmocka_unit_test(the_higher_fence_wins),
        cmocka_unit_test(a_second_claim_with_an_equal_fence_raises_the_fence),
        cmocka_unit_test(a_claim_on_a_homeless_shard_must_be_current),
        cmocka_unit_test(an_older_report_is_only_acknowledged),
        cmocka_unit_test(a_reported_higher_term_makes_the_coordinator_take_another),
        cmocka_unit_test(a_shard_missing_in_a_report_is_hosted_again),
        cmocka_unit_test(a_home_that_always_refuses_is_asked_less_often),
        cmocka_unit_test(a_home_that_reports_its_shard_keeps_its_fence),
        cmocka_unit_test(
            regions_of_the_previous_coordinator_learn_first_allocations),
        cmocka_unit_test(a_stopping_coordinator_asks_its_own_region),
        cmocka_unit_test(adopted_shards_are_rebalanced),
        cmocka_unit_test(a_relative_limit_of_zero_moves_one_shard),
        cmocka_unit_test(a_leaving_region_reports_to_a_new_coordinator),
        cmocka_unit_test(jvm_regions_have_no_fences),
        cmocka_unit_test(a_restarted_node_is_another_member),
        cmocka_unit_test(cluster_questions_are_answered),
        cmocka_unit_test(tables_have_limits),
        cmocka_unit_test(malformed_messages_are_counted),
    };

    return cmocka_run_group_tests_name("coordinator", tests, NULL, NULL);
}
