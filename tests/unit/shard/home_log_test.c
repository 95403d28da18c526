/* Checks what a coordinator logs of allocations and moves at level info. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "scene.h"

static char logged[8192];

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
    assert_non_null(strstr(lines_of(scene),
                           "hand-off started type=T shard="));
    assert_non_null(strstr(logged, " from=n0:2550 cause=rebalance attempt="));
    scene->now += 20 * MS;
    play(scene);
    assert_non_null(strstr(lines_of(scene),
                           "hand-off finished type=T shard="));
    assert_non_null(strstr(logged, " ms=20\n"));
    assert_non_null(strstr(logged, "shard moved type=T shard="));
    assert_non_null(strstr(
        logged, " from=n0:2550 to=n1:2550 cause=rebalance term=1 epoch=2\n"));
    scene_free(scene);
}

static void a_removed_node_costs_one_line_for_its_shards(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    char id[8];
    (void)state;

    peer_up(scene, 1);
    registers(scene, 1);
    for (int i = 0; i < 200; i++) {
        (void)snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    play(scene);
    trace_set_level(scene->trace, TRACE_INFO);
    peer_removed(scene, 1);
    assert_int_equal(shards_at(scene, 0), 200);
    assert_non_null(strstr(
        lines_of(scene),
        "more shards allocated type=T count=100 cause=node-removed "));
    assert_int_equal(count_of("shard moved"), 0);
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
    assert_int_equal(count_of("more shards"), 0);
    passes(scene, 1000);
    assert_non_null(strstr(
        lines_of(scene),
        "more shards allocated type=T count=46 cause=first-message "));
    asks(scene, 0, "50");
    assert_non_null(strstr(lines_of(scene), "shard allocated type=T shard=50 "));
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_message_allocates_its_shard),
        cmocka_unit_test(a_rebalance_logs_the_move_and_the_duration),
        cmocka_unit_test(a_removed_node_costs_one_line_for_its_shards),
        cmocka_unit_test(many_first_messages_are_summed_up),
    };

    return cmocka_run_group_tests_name("home log", tests, NULL, NULL);
}
