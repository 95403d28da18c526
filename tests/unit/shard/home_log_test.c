/* Checks what a coordinator logs of allocations and moves at level info. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "scene.h"

static char logged[16384];

static const char *lines_of(struct scene *scene)
{
    struct trace_line line;
    size_t used = 0;

    logged[0] = 0;
    while (trace_next(scene->trace, &line)) {
        used += (size_t)snprintf(logged + used, sizeof logged - used, "%s\n",
                                 line.text);
        assert_true(used < sizeof logged);
    }
    return logged;
}

static uint32_t count_of(const char *text)
{
    uint32_t count = 0;

    for (const char *at = logged; (at = strstr(at, text)); at++)
        count++;
    return count;
}

static struct scene *talkative(int nodes,
                               const struct coordinator_settings *settings)
{
    struct scene *scene = scene_with(nodes, settings);

    trace_set_level(scene->trace, TRACE_INFO);
    return scene;
}

/* A message that names only its region. */
static void says(struct scene *scene, int n, enum shard_message_kind kind)
{
    char ref[80];

    ref_of(ref, sizeof ref, n, false);
    say(scene, n, (struct shard_message){ .kind = kind,
                                          .ref = slice_text(ref) });
}

/* Another region of the same node registers. */
static void restarts(struct scene *scene, int n)
{
    char ref[80];

    (void)snprintf(ref, sizeof ref, "akka://S@n%d:2550/system/sharding/T#9", n);
    say_from(scene, n, "/system/sharding/T#9",
             (struct shard_message){ .kind = SHARD_REGISTER,
                                     .ref = slice_text(ref),
                                     .lanes = 2,
                                     .report = ++scene->report[n] });
}

static void a_first_message_allocates_its_shard(void **state)
{
    struct scene *scene = talkative(1, NULL);
    (void)state;

    asks(scene, 0, "7");
    assert_string_equal(lines_of(scene),
                        "shard allocated type=T shard=7 to=n0:2550 "
                        "cause=first-message term=1 epoch=1\n");
    scene_free(scene);
}

static void a_rebalance_logs_the_move_and_the_duration(void **state)
{
    struct coordinator_settings settings = { .absolute_limit = 1,
                                             .relative_limit = 1.0,
                                             .rebalance_interval_ms = 1000 };
    struct scene *scene = talkative(1, &settings);
    (void)state;

    asks(scene, 0, "1");
    asks(scene, 0, "2");
    play(scene);
    peer_up(scene, 1);
    registers(scene, 1);
    (void)lines_of(scene);
    forget_sent(scene);
    passes(scene, 1000);
    assert_string_equal(lines_of(scene), ""); /* the begin is a line at level debug */
    scene->now += 20 * MS;
    play(scene);
    assert_non_null(strstr(lines_of(scene), "shard moved type=T shard="));
    assert_int_equal(count_of("\n"), 1);
    assert_non_null(strstr(logged, " from=n0:2550 to=n1:2550 cause=rebalance "
                                   "handoff_ms=20 term=1 epoch=2\n"));
    scene_free(scene);
}

static void a_removed_node_costs_one_line_for_each_destination(void **state)
{
    struct scene *scene = scene_with(3, NULL);
    char id[8], text[128];
    (void)state;

    for (int i = 0; i < 300; i++) {
        (void)snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    play(scene);
    trace_set_level(scene->trace, TRACE_INFO);
    peer_removed(scene, 2);
    assert_int_equal(shards_at(scene, 0), 150);
    assert_int_equal(shards_at(scene, 1), 150);
    (void)lines_of(scene);
    assert_int_equal(count_of("shards moved"), 2);
    for (int n = 0; n < 2; n++) {
        (void)snprintf(text, sizeof text,
                       "shards moved type=T count=50 from=n2:2550 to=n%d:2550 "
                       "cause=node-removed\n", n);
        assert_non_null(strstr(logged, text));
    }
    scene_free(scene);
}

/* 40 nodes take the shards of the removed one: 32 have lines, the rest has one. */
static void the_lines_for_destinations_are_bounded(void **state)
{
    struct scene *scene = scene_with(41, NULL);
    char id[8];
    (void)state;

    for (int i = 0; i < 41 * 40; i++) {
        (void)snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    play(scene);
    assert_int_equal(shards_at(scene, 40), 40);
    trace_set_level(scene->trace, TRACE_INFO);
    peer_removed(scene, 40);
    (void)lines_of(scene);
    assert_int_equal(count_of("shards moved type=T count=1 from=n40:2550 to="), 32);
    assert_int_equal(count_of("shards moved"), 32);
    assert_non_null(strstr(logged, "shards allocated or moved, too many nodes "
                                   "for lines of their own type=T count=8 "));
    scene_free(scene);
}

static void many_first_messages_are_summed_up(void **state)
{
    struct scene *scene = talkative(1, NULL);
    char id[8];
    (void)state;

    for (int i = 0; i < 50; i++) {
        (void)snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    (void)lines_of(scene);
    assert_int_equal(count_of("shard allocated"), 4);
    assert_int_equal(count_of("shards allocated"), 0);
    passes(scene, 1000);
    assert_string_equal(lines_of(scene), "shards allocated type=T count=46 "
                                         "to=n0:2550 cause=first-message\n");
    asks(scene, 0, "50");
    assert_non_null(strstr(lines_of(scene), "shard allocated type=T shard=50 "));
    scene_free(scene);
}

static void the_end_of_a_coordinator_logs_the_sums(void **state)
{
    struct scene *scene = scene_new(NULL);
    char id[8];
    (void)state;

    trace_set_level(scene->trace, TRACE_INFO);
    peer_is(scene, 0, MEMBER_UP, false, true); /* the coordinator's node has no region */
    peer_up(scene, 1);
    give_term(scene, 1);
    registers(scene, 1);
    for (int i = 0; i < 50; i++) {
        (void)snprintf(id, sizeof id, "%d", i);
        asks(scene, 1, id);
    }
    play(scene);
    (void)lines_of(scene);
    assert_int_equal(count_of("shards allocated"), 0);
    coordinator_stop(scene->coordinator, scene->now, &scene->outbox);
    scene_drain(scene);
    assert_true(has_news(scene, COORDINATOR_NEWS_STOPPED));
    assert_non_null(strstr(lines_of(scene), "shards allocated type=T count=46 "
                                            "to=n1:2550 cause=first-message\n"));
    scene_free(scene);
}

/* The only other region goes during the hand-off. */
static void a_shard_that_returns_to_its_home_stays(void **state)
{
    struct coordinator_settings settings = { .absolute_limit = 1,
                                             .relative_limit = 1.0,
                                             .rebalance_interval_ms = 1000 };
    struct scene *scene = talkative(1, &settings);
    (void)state;

    asks(scene, 0, "1");
    asks(scene, 0, "2");
    play(scene);
    peer_up(scene, 1);
    registers(scene, 1);
    passes(scene, 1000);
    peer_removed(scene, 1);
    (void)lines_of(scene);
    play(scene);
    assert_non_null(strstr(lines_of(scene),
                           "shard stays at its home after a hand-off type=T shard="));
    assert_non_null(strstr(logged, " from=n0:2550 to=n0:2550 cause=rebalance "));
    assert_int_equal(count_of("shard moved"), 0);
    scene_free(scene);
}

static void a_line_names_the_cause(void **state)
{
    struct scene *scene = talkative(2, NULL);
    (void)state;

    /* The shard of a removed node. */
    asks(scene, 0, "1");
    play(scene);
    peer_removed(scene, home_of(scene, "1"));
    asks(scene, 1, "1");
    assert_non_null(strstr(lines_of(scene), " cause=node-removed "));
    scene_free(scene);

    /* A region has stopped, and another one starts on its node. */
    scene = talkative(1, NULL);
    asks(scene, 0, "1");
    play(scene);
    says(scene, 0, SHARD_REGION_STOPPED);
    registers(scene, 0);
    asks(scene, 0, "1");
    assert_non_null(strstr(lines_of(scene), "shard stays at its home type=T "));
    assert_non_null(strstr(logged, " cause=region-stopped "));
    scene_free(scene);

    /* A node registers another region without the stop of the first one. */
    scene = talkative(1, NULL);
    asks(scene, 0, "1");
    play(scene);
    restarts(scene, 0);
    asks(scene, 0, "1");
    assert_non_null(strstr(lines_of(scene), " cause=region-restarted "));
    scene_free(scene);

    /* A region shuts down gracefully. */
    scene = talkative(2, NULL);
    asks(scene, 0, "1");
    play(scene);
    says(scene, home_of(scene, "1"), SHARD_GRACEFUL_SHUTDOWN);
    play(scene);
    assert_non_null(strstr(lines_of(scene), "shard moved type=T shard=1 "));
    assert_non_null(strstr(logged, " cause=region-shutdown "));
    assert_non_null(strstr(logged, " handoff_ms=0 "));
    scene_free(scene);
}

/* A region reports a shard to the next coordinator before this one has read the stored fence, which
 * is higher. */
static void a_home_below_the_stored_fence_names_this_cause(void **state)
{
    struct scene *scene = scene_new(NULL);
    (void)state;

    peer_is(scene, 0, MEMBER_UP, false, true);
    peer_up(scene, 1);
    give_term(scene, 1);
    registers(scene, 1);
    asks(scene, 1, "1");
    play(scene);
    restarts(scene, 1); /* allocates it again */
    asks(scene, 1, "1");
    play(scene);
    assert_int_equal(fence_of(scene, "1").epoch, 2);
    peer_removed(scene, 1);
    scene->is_held = true;
    scene_coordinator(scene, NULL);
    scene_drain(scene);
    trace_set_level(scene->trace, TRACE_INFO);
    peer_is(scene, 0, MEMBER_UP, false, true);
    peer_up(scene, 2);
    registers_one(scene, 2, "1", (struct fence){ 1, 1 });
    scene->is_held = false;
    scene_answer(scene, true);
    scene_drain(scene);
    give_term(scene, 2);
    assert_non_null(strstr(lines_of(scene), "shard stays at its home type=T shard=1 "));
    assert_non_null(strstr(logged, " from=n2:2550 to=n2:2550 cause=higher-fence "));
    scene_free(scene);
}

static void a_shard_with_remembered_entities_names_this_cause(void **state)
{
    struct coordinator_settings settings = { .number_of_shards = 10 };
    struct scene *scene = scene_new(&settings);
    (void)state;

    trace_set_level(scene->trace, TRACE_INFO);
    peer_up(scene, 0);
    assert_true(coordinator_remembered(scene->coordinator, slice_text("7")));
    give_term(scene, 1);
    registers(scene, 0);
    assert_non_null(strstr(lines_of(scene), "shard allocated type=T shard=7 "
                                            "to=n0:2550 cause=remembered-entities "));
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_message_allocates_its_shard),
        cmocka_unit_test(a_rebalance_logs_the_move_and_the_duration),
        cmocka_unit_test(a_removed_node_costs_one_line_for_each_destination),
        cmocka_unit_test(the_lines_for_destinations_are_bounded),
        cmocka_unit_test(many_first_messages_are_summed_up),
        cmocka_unit_test(the_end_of_a_coordinator_logs_the_sums),
        cmocka_unit_test(a_shard_that_returns_to_its_home_stays),
        cmocka_unit_test(a_line_names_the_cause),
        cmocka_unit_test(a_home_below_the_stored_fence_names_this_cause),
        cmocka_unit_test(a_shard_with_remembered_entities_names_this_cause),
    };

    return cmocka_run_group_tests_name("home log", tests, NULL, NULL);
}
