/* Tests the workload of distributed data in a small world. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "sim/world/net.h"
#include "sim/world/verdict.h"
#include "sim/workload/workload_data.h"
#include "sim/world/world.h"

#define NODES 3

static struct world *world;
static struct data_load *load;
static struct replicator_settings settings;

static void start(uint32_t node)
{
    struct node_settings of = world_node_settings(world, node, NULL, 0);

    of.data = settings;
    data_load_set(load, &of);
    of.probes = true;
    world_start(world, node, &of);
}

static int begin_with(uint64_t expire_after_ms)
{
    const struct world_settings own = { .seed = 7 };
    const struct data_load_settings wanted = {
        .interval_ms = 50,
        .timeout_ms = 1000,
        .expire_after_ms = expire_after_ms,
    };

    settings = (struct replicator_settings){ .gossip_interval_ms = 200,
                                             .max_delta_elements = 500,
                                             .pruning_interval_ms = 500,
                                             .pruning_dissemination_ms = 1000 };
    world = world_new(&own);
    load = data_load_new(world, &wanted);
    for (uint32_t i = 0; i < NODES; i++)
        start(i);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    return 0;
}

static int begin(void **state)
{
    (void)state;
    return begin_with(0);
}

static int begin_expiring(void **state)
{
    (void)state;
    return begin_with(3000);
}

static int end(void **state)
{
    (void)state;
    world_free(world);
    data_load_free(load);
    return 0;
}

static void settle(void)
{
    uint64_t until =
        world_now(world) + data_load_bound(load, NODES, &settings);
    char text[200] = "";

    data_load_stop(load);
    while ((!data_load_idle(load) ||
            !data_load_settled(load, text, sizeof text)) &&
           world_now(world) < until)
        world_run(world, 200 * MS);
    assert_true(data_load_settled(load, text, sizeof text));
    data_load_drained(load);
    data_load_judge(load);
}

static void expect_good(void)
{
    for (uint32_t i = 0; i < verdict_count(world_verdict(world)); i++)
        print_error("%s: %s\n", verdict_at(world_verdict(world), i)->invariant,
                    verdict_at(world_verdict(world), i)->text);
    assert_int_equal(verdict_count(world_verdict(world)), 0);
}

static void all_calls_end_and_replicas_settle(void **state)
{
    struct data_load_counts counts;

    (void)state;
    for (int i = 0; i < 10; i++) {
        world_run(world, SECOND);
        data_load_sample(load);
    }
    settle();
    counts = data_load_counts(load);
    for (int i = 0; i < DATA_OP_COUNT; i++)
        assert_true(counts.ops[i] > 0);
    assert_true(counts.answers[SHERD_DATA_UPDATED] > 100);
    assert_true(counts.answers[SHERD_DATA_FOUND] > 100);
    assert_true(counts.answers[SHERD_DATA_CHANGED] > 20);
    assert_true(counts.quorums > 20);
    assert_true(counts.firm > 20);
    data_load_silence_begins(load);
    world_run(world, 10 * SECOND);
    data_load_silence_ends(load);
    expect_good();
}

/* It is pruned, and its writes stay. */
static void replicas_settle_after_a_member_dies(void **state)
{
    (void)state;
    world_run(world, 5 * SECOND);
    world_crash(world, 2);
    world_run(world, SECOND);
    world_down(world, 0, 2);
    world_run(world, 5 * SECOND);
    start(2);
    world_run(world, 5 * SECOND);
    data_load_sample(load);
    settle();
    expect_good();
}

static void replicas_that_do_not_settle_are_reported(void **state)
{
    char text[200] = "";

    (void)state;
    world_run(world, 3 * SECOND);
    data_load_stop(load);
    world_pause(world, 2, true);
    data_load_resume(load);
    world_run(world, SECOND);
    assert_false(data_load_settled(load, text, sizeof text));
    assert_true(*text);
}

static void a_cluster_that_sends_values_is_not_silent(void **state)
{
    (void)state;
    data_load_silence_begins(load);
    world_run(world, 3 * SECOND);
    data_load_silence_ends(load);
    assert_non_null(verdict_find(world_verdict(world), "quiet-cluster-rests"));
}

static void calls_without_an_answer_are_found(void **state)
{
    (void)state;
    world_run(world, 2 * SECOND);
    while (data_load_idle(load))
        world_run(world, MS);
    data_load_drained(load);
    assert_non_null(verdict_find(world_verdict(world), "data-call-ends-once"));
}

static void cut_first(bool cut)
{
    for (uint32_t i = 1; i < NODES; i++)
        net_part(world, 0, i, cut);
}

/* A node that is cut off for longer forgets what the others use. */
static void unused_keys_expire_on_a_cut_off_node(void **state)
{
    struct data_load_counts counts;

    (void)state;
    for (int i = 0; i < 3; i++) {
        cut_first(true);
        world_run(world, 5 * SECOND);
        cut_first(false);
        world_run(world, 5 * SECOND);
        data_load_sample(load);
    }
    counts = data_load_counts(load);
    assert_true(counts.forgotten > 5);
    assert_true(counts.answers[SHERD_DATA_EXPIRED] > 0);
    settle();
    data_load_silence_begins(load);
    world_run(world, 10 * SECOND);
    data_load_silence_ends(load);
    expect_good();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_calls_end_and_replicas_settle),
        TEST(replicas_settle_after_a_member_dies),
        TEST(replicas_that_do_not_settle_are_reported),
        TEST(a_cluster_that_sends_values_is_not_silent),
        TEST(calls_without_an_answer_are_found),
        cmocka_unit_test_setup_teardown(unused_keys_expire_on_a_cut_off_node, begin_expiring, end),
    };

    return cmocka_run_group_tests_name("workload_data", tests, NULL, NULL);
}
