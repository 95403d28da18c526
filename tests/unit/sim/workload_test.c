/* Tests that every message under a workload of whole nodes is accounted for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/timers.h"
#include "sim/world/net.h"
#include "sim/world/verdict.h"
#include "sim/workload/workload_world.h"

#define NODES 3

struct run {
    struct world *world;
    struct workload_world *workload;
    struct check_message *check;
    struct check_message_counts counts;
};

static void start(struct run *run, uint32_t node)
{
    static const struct address seeds[] = { { "n0", 2551 },
                                            { "n1", 2551 },
                                            { "n2", 2551 } };
    uint32_t count;
    const struct sherd_entity_type *types =
        workload_types(workload_world_of(run->workload), &count);
    struct node_settings settings =
        world_node_settings(run->world, node, types, count);

    settings.seed_nodes = seeds;
    settings.seed_node_count = NODES;
    settings.alone = false;
    settings.probes = true;
    world_start(run->world, node, &settings);
}

static struct run begin(uint64_t seed, const struct workload_settings *settings)
{
    struct world_settings world = { .seed = seed, .keep_lines = true };
    struct run run;

    run.world = world_new(&world);
    run.workload = workload_world_new(run.world, settings);
    run.check = workload_check(workload_world_of(run.workload));
    for (uint32_t i = 0; i < NODES; i++)
        start(&run, i);
    assert_true(world_until(run.world, world_all_up, NULL, 60 * SECOND));
    return run;
}

static void run_for(struct run *run, uint64_t seconds)
{
    for (uint64_t i = 0; i < seconds; i++) {
        world_run(run->world, SECOND);
        workload_world_sample(run->workload);
    }
}

static void end(struct run *run)
{
    struct verdict *verdict = world_verdict(run->world);
    bool drained = workload_world_drain(run->workload, 120 * SECOND);
    uint32_t broken;
    char *report;

    workload_world_sample(run->workload);
    run->counts = check_message_counts(run->check);
    broken = verdict_count(verdict);
    for (uint32_t i = 0; i < broken; i++) {
        char line[VERDICT_LINE_MAX];

        print_message("%s (%llu)\n",
                      verdict_line(verdict, verdict_at(verdict, i), line,
                                   sizeof line),
                      (unsigned long long)verdict_at(verdict, i)->count);
    }
    report = workload_report(workload_world_of(run->workload));
    print_message("seed %llu\n%s", (unsigned long long)world_seed(run->world),
                  report);
    mem_free(report);
    world_free(run->world);
    workload_world_free(run->workload);
    assert_int_equal(broken, 0);
    assert_true(drained);
    assert_int_equal(run->counts.sent,
                     run->counts.delivered + run->counts.undelivered_total +
                         run->counts.lost_with_node +
                         run->counts.lost_in_connection);
}

/* The seed of a test: WORKLOAD_SEED, or 2. */
static uint64_t first_seed(void)
{
    const char *one = getenv("WORKLOAD_SEED");

    return one ? strtoull(one, NULL, 10) : 2;
}

static uint64_t last_seed(void)
{
    const char *many = getenv("WORKLOAD_SEEDS");

    return many ? strtoull(many, NULL, 10) : first_seed();
}

static void a_quiet_cluster_loses_nothing(void **state)
{
    struct workload_settings settings = { 0 };
    struct run run = begin(1, &settings);

    (void)state;
    run_for(&run, 120);
    end(&run);
    assert_int_equal(run.counts.lost_with_node, 0);
    assert_int_equal(run.counts.lost_in_connection, 0);
    assert_true(run.counts.delivered > run.counts.sent / 2);
}

/* Its shards are handed off, and others come to it later. */
static void a_graceful_leave_and_a_rebalance_lose_nothing(void **state)
{
    struct workload_settings settings = { 0 };
    uint32_t node = 1;

    (void)state;
    for (uint64_t seed = first_seed(); seed <= last_seed(); seed++) {
        struct run run = begin(seed, &settings);

        run_for(&run, 20);
        world_leave(run.world, node);
        assert_true(world_until(run.world, world_node_ended, &node,
                                120 * SECOND));
        run_for(&run, 20);
        start(&run, node);
        run_for(&run, 40);
        end(&run);
        /* a reply may be in flight to an actor of the node as it closes its connections */
        assert_int_equal(run.counts.lost_with_node, 0);
        assert_int_equal(run.counts.lost_to_entities, 0);
    }
}

/* Not every crash loses a message. */
static void a_crash_loses_only_accounted_messages(void **state)
{
    /* so that messages are always in flight */
    struct workload_settings settings = { .interval_ms = 5 };

    uint64_t lost = 0;

    (void)state;
    for (uint64_t seed = first_seed(); seed <= last_seed() + 3; seed++) {
        struct run run = begin(seed, &settings);

        run_for(&run, 5);
        world_crash(run.world, 1);
        run_for(&run, 3);
        world_down(run.world, 2, 1);
        run_for(&run, 5);
        start(&run, 1);
        run_for(&run, 10);
        end(&run);
        lost += run.counts.lost_with_node + run.counts.lost_in_connection;
    }
    assert_true(lost > 0);
}

/* Entities whose home is behind a cut do not answer. */
static void entities_answer_entities_that_do_not_answer_are_found(void **state)
{
    struct workload_settings settings = { .ids = 10, .interval_ms = 50 };
    struct run run = begin(3, &settings);
    const struct violation *found;

    (void)state;
    run_for(&run, 10);
    assert_true(workload_world_drain(run.workload, 120 * SECOND));
    assert_true(workload_world_roll(run.workload, 8, 60 * SECOND));
    assert_int_equal(verdict_count(world_verdict(run.world)), 0);
    net_cut(run.world, 0, 1, NET_ORDINARY, true);
    net_cut(run.world, 0, 2, NET_ORDINARY, true);
    net_cut(run.world, 1, 2, NET_ORDINARY, true);
    net_cut(run.world, 1, 0, NET_ORDINARY, true);
    net_cut(run.world, 2, 0, NET_ORDINARY, true);
    net_cut(run.world, 2, 1, NET_ORDINARY, true);
    /* each is asked once, not always at its home */
    assert_false(workload_world_roll(run.workload, 8, 20 * SECOND));
    found = verdict_find(world_verdict(run.world), "entities-answer");
    assert_non_null(found);
    assert_non_null(strstr(found->text, "entities have not answered"));
    world_free(run.world);
    workload_world_free(run.workload);
}

/* Clients have long intervals. */
static void the_roll_call_waits_for_entities_not_asked_yet(void **state)
{
    struct workload_settings settings = { .ids = 10, .interval_ms = 5000 };
    struct run run = begin(3, &settings);

    (void)state;
    run_for(&run, 10);
    assert_true(workload_world_drain(run.workload, 120 * SECOND));
    assert_true(workload_world_roll(run.workload, 8, 1 * SECOND));
    assert_int_equal(verdict_count(world_verdict(run.world)), 0);
    world_free(run.world);
    workload_world_free(run.workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entities_answer_entities_that_do_not_answer_are_found),
        cmocka_unit_test(the_roll_call_waits_for_entities_not_asked_yet),
        cmocka_unit_test(a_quiet_cluster_loses_nothing),
        cmocka_unit_test(a_graceful_leave_and_a_rebalance_lose_nothing),
        cmocka_unit_test(a_crash_loses_only_accounted_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
