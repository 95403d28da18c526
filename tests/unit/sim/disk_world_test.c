/* Tests whole nodes over the simulated disk: power fails during writes, all nodes restart from
 * disk, and acknowledged events are there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/timers.h"
#include "sim/check/check_journal.h"
#include "sim/world/verdict.h"
#include "sim/workload/workload_world.h"

#define NODES 3

static void start(struct world *world, struct workload_world *load,
                  uint32_t node)
{
    static const struct address seeds[] = { { "n0", 2551 },
                                            { "n1", 2551 },
                                            { "n2", 2551 } };
    uint32_t count;
    const struct sherd_entity_type *types =
        workload_types(workload_world_of(load), &count);
    struct node_settings settings =
        world_node_settings(world, node, types, count);

    settings.seed_nodes = seeds;
    settings.seed_node_count = NODES;
    settings.alone = false;
    settings.probes = true;
    world_start(world, node, &settings);
}

/* Repeats three times: entities store events on a faulty disk; all power fails at once; everything
 * starts again. */
static struct check_journal_counts live(uint64_t seed, bool lies,
                                        uint32_t *broken)
{
    static const char *const rules[] = { "no-lost-ack", "fenced-writes", "coordinator-state", "faithful-replay", "gapless-sequence",
                                         "unknown-outcome" };
    struct world_settings settings = { .seed = seed };
    struct workload_settings what = { .ids = 20, .interval_ms = 30 };
    struct disk_faults faults = { .latency_min = 100000,
                                  .latency_mean = 3 * MS,
                                  .write_error_ppm = 10000,
                                  .sync_error_ppm = 10000,
                                  .read_error_ppm = 10000,
                                  .lies = lies };
    struct world *world = world_new(&settings);
    struct check_journal_counts counts;
    struct workload_world *load;

    what.weights[WORKLOAD_COUNT] = 1;
    load = workload_world_new(world, &what);
    for (int life = 0; life < 3; life++) {
        for (uint32_t i = 0; i < NODES; i++)
            start(world, load, i);
        assert_true(world_until(world, world_all_up, NULL, 120 * SECOND));
        disk_set_faults(disk_backend_disk(world_backend(world)), &faults);
        world_run(world, 10 * SECOND);
        for (uint32_t i = 0; i < NODES; i++)
            world_crash(world, i);
        disk_backend_power_loss(world_backend(world), world_now(world));
        disk_backend_reopen(world_backend(world), world_now(world));
        world_run(world, SECOND);
        *broken += disk_backend_damage(world_backend(world)) != NULL;
        if (*broken)
            break;
        assert_true(disk_backend_serves(world_backend(world)));
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct violation *found =
            verdict_find(world_verdict(world), rules[i]);

        *broken += found != NULL;
        if (found && !lies)
            print_message("seed %u: %s: %s\n", (unsigned)seed, rules[i],
                          found->text);
    }
    counts = *check_journal_counts(workload_world_journal(load));
    world_free(world);
    workload_world_free(load);
    return counts;
}

static void acknowledged_events_survive_a_power_loss(void **state)
{
    struct check_journal_counts sum = { 0 };
    uint32_t broken = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct check_journal_counts counts = live(seed, false, &broken);

        assert_int_equal(broken, 0);
        assert_int_equal(counts.scans, 3);
        sum.acknowledged += counts.acknowledged;
        sum.unknown += counts.unknown;
        sum.replays += counts.replays;
        sum.found += counts.found;
    }
    print_message("acknowledged %u, unknown %u, of them found %u, replays %u\n",
                  (unsigned)sum.acknowledged, (unsigned)sum.unknown,
                  (unsigned)sum.found, (unsigned)sum.replays);
    assert_true(sum.acknowledged > 1000);
    assert_true(sum.unknown > 20);
    assert_true(sum.replays > 100);
}

/* The same detects a disk whose syncs do nothing. */
static void a_disk_with_false_syncs_is_found(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        uint32_t broken = 0;

        (void)live(seed, true, &broken);
        assert_true(broken > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acknowledged_events_survive_a_power_loss),
        cmocka_unit_test(a_disk_with_false_syncs_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
