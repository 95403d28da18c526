/* Loses the coordinator's node at every step of giving or changing homes, alone or with a home: its
 * successor continues.
 *
 * A run without faults records the instants of events. Each is the end of the node in a run of its
 * own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/timers.h"
#include "sim/check/checks.h"
#include "sim/world/verdict.h"
#include "sim/workload/workload_world.h"

#define NODES 4
#define SHARDS 12
#define IDS 36
#define INSTANTS_MAX 4096
#define WINDOW (7 * SECOND)
#define BOUND (60 * SECOND) /* until all shards have homes again */

/* Why shards get other homes. Node 0 is the oldest. */
enum cause {
    ASKED_FOR,  /* the first messages come */
    REBALANCED, /* node 3 joins */
    LEFT,       /* node 2 leaves */
    STUBBORN    /* node 3 joins, and entities do not stop in time */
};

static const char *const cause_texts[] = { "asked for", "rebalanced", "left",
                                           "stubborn" };

struct scenario {
    enum cause cause;
    uint32_t with; /* also lost; 0: none */
};

/* A world, its judge, and the instants of events about homes. */
struct scene {
    struct world *world;
    struct workload_world *workload;
    struct checks *checks;
    const struct scenario *scenario;
    bool is_watched;
    uint32_t count;
    uint64_t at[INSTANTS_MAX];
    uint32_t seen[PROBE_KIND_COUNT]; /* probes */
    uint32_t steps[PROBE_HANDOFF_GIVEN_UP + 1]; /* of hand-offs */
};

static bool concerns_homes(const struct probe *probe)
{
    switch (probe->kind) {
    case PROBE_SHARD_HOSTED:
    case PROBE_SHARD_STOPPING:
    case PROBE_SHARD_ENDED:
    case PROBE_SHARD_SAID_STOPPED:
    case PROBE_REGION_STOPPED:
    case PROBE_DIRECTIVE_TAKEN:
    case PROBE_HOME_SET:
    case PROBE_HOME_FENCED:
    case PROBE_HOME_ENDED:
    case PROBE_HOME_TOLD:
    case PROBE_STATE_SENT:
    case PROBE_STATE_STORED:
    case PROBE_HANDOFF:
        return true;
    default:
        return false;
    }
}

static void see(struct scene *scene)
{
    uint64_t now = world_now(scene->world);

    if (scene->count && scene->at[scene->count - 1] == now)
        return;
    assert_true(scene->count < INSTANTS_MAX);
    scene->at[scene->count++] = now;
}

static void see_probe(void *user, uint32_t node, uint32_t machine,
                      const struct probe *probe)
{
    struct scene *scene = user;

    (void)node;
    (void)machine;
    if (!scene->is_watched || !concerns_homes(probe))
        return;
    scene->seen[probe->kind]++;
    if (probe->kind == PROBE_HANDOFF)
        scene->steps[probe->second]++;
    see(scene);
}

/* Records an event that the coordinator could see. */
static void see_step(void *user, const struct world_step *step, bool begins)
{
    struct scene *scene = user;

    if (scene->is_watched && !begins && !step->node && !step->machine &&
        !strcmp(step->what, "bytes"))
        see(scene);
}

static void start(struct scene *scene, uint32_t node)
{
    uint32_t count;
    const struct sherd_entity_type *types =
        workload_types(workload_world_of(scene->workload), &count);
    struct node_settings settings =
        world_node_settings(scene->world, node, types, count);
    static const struct address seeds[] = { { "n0", 2551 },
                                            { "n1", 2551 },
                                            { "n2", 2551 },
                                            { "n3", 2551 } };

    settings.seed_nodes = seeds;
    settings.seed_node_count = NODES;
    settings.alone = false;
    settings.probes = true;
    settings.number_of_shards = SHARDS;
    if (scene->scenario->cause == STUBBORN)
        settings.handoff_timeout = SECOND / 2; /* before the forced stop */
    world_start(scene->world, node, &settings);
}

static struct scene *scene_new(const struct scenario *scenario)
{
    struct world_settings world = { .seed = 3, .keep_lines = true };
    struct workload_settings work = {
        .types = 1 << (scenario->cause == STUBBORN ? WORKLOAD_RESTLESS
                                                   : WORKLOAD_STREAM),
        .ids = IDS,
        .shards = SHARDS,
        .ask_ms_max = 5000,
    };
    struct scene *scene = calloc(1, sizeof *scene);
    struct world_observer observer = { .user = scene, .probe = see_probe,
                                       .step = see_step };
    bool joins = scenario->cause == REBALANCED || scenario->cause == STUBBORN;

    if (scenario->cause == STUBBORN)
        work.slow_stop_ms = 10000;
    scene->scenario = scenario;
    scene->world = world_new(&world);
    scene->workload = workload_world_new(scene->world, &work);
    scene->checks = checks_new(scene->world, 0);
    workload_world_safety(scene->workload, &scene->checks->safety);
    world_observe(scene->world, &observer);
    if (scenario->cause == ASKED_FOR)
        workload_stop(workload_world_of(scene->workload));
    for (uint32_t i = 0; i < NODES - (uint32_t)joins; i++) {
        start(scene, i);
        /* it is older than the next one */
        assert_true(world_until(scene->world, world_all_up, NULL, 60 * SECOND));
    }
    world_run(scene->world, 5 * SECOND);
    return scene;
}

static void scene_free(struct scene *scene)
{
    world_free(scene->world);
    workload_world_free(scene->workload);
    checks_free(scene->checks);
    free(scene);
}

static void begin(struct scene *scene)
{
    scene->is_watched = true;
    see(scene); /* before all events */
    switch (scene->scenario->cause) {
    case ASKED_FOR:
        workload_resume(workload_world_of(scene->workload));
        break;
    case LEFT:
        world_leave(scene->world, 2);
        break;
    case REBALANCED:
    case STUBBORN:
        start(scene, 3);
        break;
    }
}

/* Runs the scenario without faults and frees its world. There is one workload at a time. */
static struct scene unharmed(const struct scenario *scenario)
{
    struct scene *scene = scene_new(scenario);
    struct scene seen;

    begin(scene);
    world_run(scene->world, WINDOW);
    switch (scenario->cause) {
    case ASKED_FOR:
        assert_int_equal(scene->seen[PROBE_HOME_SET], SHARDS);
        break;
    case REBALANCED:
        assert_true(scene->steps[PROBE_HANDOFF_MOVED] > 1);
        break;
    case LEFT:
        assert_true(scene->steps[PROBE_HANDOFF_MOVED] > 1);
        assert_int_equal(scene->seen[PROBE_REGION_STOPPED], 1);
        break;
    case STUBBORN:
        assert_true(scene->steps[PROBE_HANDOFF_FAILED] > 1);
        break;
    }
    seen = *scene;
    scene_free(scene);
    return seen;
}

/* Runs as far as the run without faults had come. */
static void run_up_to(struct scene *scene, const struct scene *unharmed,
                      uint32_t instant)
{
    begin(scene);
    world_run(scene->world, unharmed->at[instant] - world_now(scene->world));
    assert_int_equal(scene->count, instant + 1);
    assert_memory_equal(scene->at, unharmed->at, (instant + 1) * sizeof *scene->at);
}

static void lose(struct scene *scene, uint32_t node, enum world_crash how)
{
    if (world_node(scene->world, node)->node)
        world_crash_as(scene->world, node, how);
}

static bool is_good(struct scene *scene)
{
    struct verdict *verdict = world_verdict(scene->world);
    uint32_t broken;

    checks_look(scene->checks);
    broken = verdict_count(verdict);
    for (uint32_t i = 0; i < broken; i++) {
        char line[VERDICT_LINE_MAX];

        print_message("  %s\n", verdict_line(verdict, verdict_at(verdict, i),
                                             line, sizeof line));
    }
    return !broken;
}

/* Checks that all shards get one home each in time, and that every message is accounted for. */
static bool goes_on(struct scene *scene, uint32_t by)
{
    struct check_message_counts counts;
    bool is_drained;
    bool has_homes;

    world_run(scene->world, 3 * SECOND);
    for (uint32_t node = 0; node < NODES; node++)
        if (!node || node == scene->scenario->with)
            world_down(scene->world, by, node);
    world_run(scene->world, 20 * SECOND);
    is_drained = workload_world_drain(scene->workload, BOUND);
    has_homes = workload_world_roll(scene->workload, IDS, BOUND);
    counts = check_message_counts(
        workload_check(workload_world_of(scene->workload)));
    return is_drained && has_homes && is_good(scene) &&
           counts.sent == counts.delivered + counts.undelivered_total +
                              counts.lost_with_node + counts.lost_in_connection;
}

static bool is_lost_at(const struct scenario *scenario, const struct scene *calm,
                       uint32_t instant, enum world_crash how)
{
    struct scene *scene = scene_new(scenario);
    uint32_t by = 1;
    bool is_well;

    run_up_to(scene, calm, instant);
    lose(scene, 0, how);
    if (scenario->with)
        lose(scene, scenario->with, how);
    if (scenario->with == by) /* and node 2 may leave */
        by = scenario->cause == LEFT ? 3 : 2;
    is_well = goes_on(scene, by);
    if (!is_well)
        print_message("%s, %u: instant %u of %u, at %.6f s, way %d\n",
                      cause_texts[scenario->cause], scenario->with, instant,
                      calm->count, (double)calm->at[instant] / SECOND, how);
    scene_free(scene);
    return is_well;
}

/* Uses all ways if COORDINATOR_LOSS_WAYS is set; else one, which changes with the instant. Takes
 * each COORDINATOR_LOSS_STEP-th instant, by default all. */
static void is_lost(const struct scenario *scenario)
{
    bool all_ways = getenv("COORDINATOR_LOSS_WAYS");
    const char *steps = getenv("COORDINATOR_LOSS_STEP");
    uint32_t step = steps ? (uint32_t)strtoul(steps, NULL, 10) : 1;
    struct scene calm = unharmed(scenario);
    uint32_t bad = 0;

    for (uint32_t i = 0; i < calm.count; i += step)
        for (uint32_t way = WORLD_KILLED; way <= WORLD_DARK; way++)
            if (all_ways || way == (i + scenario->with) % 3)
                bad += !is_lost_at(scenario, &calm, i, (enum world_crash)way);
    print_message("%s, %u: %u instants\n", cause_texts[scenario->cause],
                  scenario->with, calm.count);
    assert_int_equal(bad, 0);
}

static void over(enum cause cause, const uint32_t *with, uint32_t count)
{
    is_lost(&(struct scenario){ cause, 0 });
    for (uint32_t i = 0; i < count; i++)
        is_lost(&(struct scenario){ cause, with[i] });
}

static void shards_get_homes_if_the_coordinator_is_lost_at_first_messages(void **state)
{
    (void)state;
    over(ASKED_FOR, (const uint32_t[]){ 1 }, 1);
}

static void shards_get_homes_if_the_coordinator_is_lost_during_a_join(void **state)
{
    (void)state;
    over(REBALANCED, (const uint32_t[]){ 1, 3 }, 2);
}

static void shards_get_homes_if_the_coordinator_is_lost_during_a_leave(void **state)
{
    (void)state;
    over(LEFT, (const uint32_t[]){ 1, 2 }, 2);
}

static void shards_get_homes_if_the_coordinator_is_lost_in_failed_hand_offs(void **state)
{
    (void)state;
    over(STUBBORN, (const uint32_t[]){ 1, 3 }, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            shards_get_homes_if_the_coordinator_is_lost_at_first_messages),
        cmocka_unit_test(
            shards_get_homes_if_the_coordinator_is_lost_during_a_join),
        cmocka_unit_test(
            shards_get_homes_if_the_coordinator_is_lost_during_a_leave),
        cmocka_unit_test(
            shards_get_homes_if_the_coordinator_is_lost_in_failed_hand_offs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
