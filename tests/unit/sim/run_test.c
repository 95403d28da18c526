/* Tests whole runs: each broken rule is found, effects of faults are counted, and a lost cluster is
 * founded again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/timers.h"
#include "sim/world/disk_backend.h"
#include "sim/world/net.h"
#include "sim/run/run.h"
#include "sim/world/world.h"
#include "sim/zoo/zoo.h"

/* Sets a small, short and quiet run. */
static void set(struct options *options, uint64_t seed)
{
    options_default(options, seed);
    options->value[OPTION_NODES] = 3;
    options->value[OPTION_LENGTH] = 60;
    options->value[OPTION_ENTITIES] = 20;
    options->value[OPTION_SHARDS] = 10;
    options->value[OPTION_LOAD] = 5;
}

static bool broke(const struct run_result *result, const char *invariant)
{
    char mark[48];

    (void)snprintf(mark, sizeof mark, " inv=%s ", invariant);
    for (uint32_t i = 0; i < result->violations && i < RUN_VIOLATIONS_MAX; i++)
        if (strstr(result->lines[i], mark))
            return true;
    return false;
}

static void a_run_without_faults_breaks_nothing(void **state)
{
    struct options options;
    struct run_settings settings = { .options = &options };
    struct run_result result;

    (void)state;
    set(&options, 1);
    run_seed(&settings, &result);
    if (result.violations)
        fail_msg("%s", result.lines[0]);
    assert_false(result.is_dead);
    assert_true(result.work.messages.delivered > 100);
}

/* The dying nodes are drawn, and whether an operator helps. Some of these seeds have a dying
 * minority and no operator. */
static void a_resolver_alone_downs_nodes_that_die_in_the_heal_phase(void **state)
{
    struct options options;
    struct run_settings settings = { .options = &options };
    struct run_result result;
    uint32_t left = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        set(&options, seed);
        options.value[OPTION_NODES] = 5;
        options.value[OPTION_LENGTH] = 10;
        options.value[OPTION_RESOLVER] = RESOLVER_MAJORITY;
        options.value[OPTION_STABLE] = 20000;
        run_seed(&settings, &result);
        if (result.violations)
            fail_msg("%s", result.lines[0]);
        left += result.is_left;
        if (result.is_left)
            assert_true(result.work.members.downed > 0);
    }
    assert_true(left > 1);
}

/* ---- members and distributed data alone ---- */

static void alone(enum zoo_mutant bug, struct run_result *result)
{
    const struct options_wish wish = { .mode = MODE_MEMBER,
                                       .nodes_min = 6,
                                       .nodes_max = 6,
                                       .length_min_s = 240,
                                       .length_max_s = 240 };
    struct options options;
    struct run_settings settings = { .options = &options,
                                     .stops_at_violation = true };

    options_draw(&options, 4, &wish);
    options.value[OPTION_DATA] = 10;
    options.value[OPTION_DATA_TIMEOUT] = 5000; /* most of the calls succeed */
    zoo_choose(bug);
    run_seed(&settings, result);
    zoo_choose(ZOO_NONE);
}

static void a_run_without_entities_has_work_and_no_messages(void **state)
{
    struct run_result result;
    uint64_t faults = 0;

    (void)state;
    alone(ZOO_NONE, &result);
    if (result.violations)
        fail_msg("%s", result.lines[0]);
    for (int i = 0; i < FAULT_VERBS; i++)
        faults += result.faults[i];
    assert_true(faults > 5);
    assert_false(result.is_dead);
    assert_int_equal(result.work.messages.sent, 0);
    assert_int_equal(result.work.load.started + result.work.load.clients, 0);
    assert_true(result.work.data.answers[SHERD_DATA_UPDATED] > 100);
    assert_true(result.work.data.quorums > 0);
}

static void broken_rules_are_found_without_entities(void **state)
{
    struct run_result result;

    (void)state;
    alone(ZOO_OLDER_GOSSIP_WINS, &result); /* of membership */
    assert_true(broke(&result, "member-lifecycle"));
    alone(ZOO_DELTA_SKIPS_THE_PREVIOUS, &result); /* of distributed data */
    assert_true(broke(&result, "no-lost-update"));
}

/* Without calls and messages a run shows nothing. */
static void a_run_without_work_is_dead(void **state)
{
    struct options options;
    struct run_settings settings = { .options = &options };
    struct run_result result;

    (void)state;
    set(&options, 1);
    options.value[OPTION_NO_ENTITIES] = 1;
    run_seed(&settings, &result);
    if (result.violations)
        fail_msg("%s", result.lines[0]);
    assert_true(result.is_dead);
}

/* Each kind of work counts alone: answered calls do not make up for lost messages. */
static void starved_messages_are_seen_beside_calls(void **state)
{
    static const char faults[] = "at 1s cut *<>* data for 59s\n";
    struct schedule schedule = { { 0 } };
    char error[SCHEDULE_ERROR_MAX];
    struct options options;
    struct run_settings settings = { .options = &options,
                                     .schedule = &schedule,
                                     .until = 62 * SECOND };
    struct run_result result;

    (void)state;
    assert_true(schedule_read(&schedule, slice_text(faults), error,
                              sizeof error));
    for (uint64_t data = 0; data <= 10; data += 10) {
        set(&options, 1);
        options.value[OPTION_DATA] = data;
        run_seed(&settings, &result);
        assert_true(result.is_dead);
        assert_string_equal(run_work_starved(&result.work),
                            "less than half was delivered");
    }
    assert_true(result.work.data.answers[SHERD_DATA_UPDATED] > 10);
    schedule_fini(&schedule);
}

static void each_kind_of_work_is_judged_alone(void **state)
{
    struct run_work work = { .messages = { .sent = 10, .delivered = 9 } };

    (void)state;
    assert_null(run_work_starved(&work));
    work.data.answers[SHERD_DATA_UPDATED] = 4;
    work.data.answers[SHERD_DATA_TIMEOUT] = 4;
    assert_null(run_work_starved(&work));
    work.data.answers[SHERD_DATA_REFUSED] = 1;
    assert_non_null(strstr(run_work_starved(&work), "distributed data"));
    work.data.answers[SHERD_DATA_REFUSED] = 0;
    work.store.gets = work.store.puts = 5;
    work.store.answers[SHERD_STORE_WRITTEN] = 5;
    assert_null(run_work_starved(&work));
    work.store.deletes = 1;
    assert_non_null(strstr(run_work_starved(&work), "the store"));
}

/* ---- a clean partition ---- */

static void cut_in_two(uint64_t seed, uint64_t resolver, enum zoo_mutant bug,
                       struct run_result *result)
{
    struct options options;
    struct run_settings settings = { .options = &options,
                                     .stops_at_violation = true };

    set(&options, seed);
    options_insist(&options, MODE_SBR);
    options.value[OPTION_NODES] = 5;
    options.value[OPTION_RESOLVER] = resolver;
    zoo_choose(bug);
    run_seed(&settings, result);
    zoo_choose(ZOO_NONE);
}

static void one_side_of_a_cut_survives(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        for (uint64_t resolver = 1; resolver <= 3; resolver++) {
            struct run_result result;

            cut_in_two(seed, resolver, ZOO_NONE, &result);
            if (result.violations)
                fail_msg("%s", result.lines[0]);
            assert_true(result.lives > 5); /* ended nodes were restarted */
        }
    }
}

static void no_split_brain_both_sides_of_a_cut_are_found(void **state)
{
    struct run_result result;

    (void)state;
    cut_in_two(1, 1, ZOO_BOTH_SIDES_SURVIVE, &result);
    assert_true(broke(&result, "no-split-brain"));
    assert_non_null(strstr(result.lines[0], "both sides of a partition"));
}

static void healthy_node_stays_a_kept_side_that_ends_is_found(void **state)
{
    struct run_result result;

    (void)state;
    cut_in_two(1, 1, ZOO_ALL_DOWNED_IN_A_PARTITION, &result);
    assert_true(broke(&result, "healthy-node-stays"));
    assert_non_null(strstr(result.lines[0], "and it has ended"));
}

/* The resolver may not call the cluster unstable, because the cut is recent. */
static void healthy_node_stays_a_resolver_that_says_unstable_at_each_cut_is_found(void **state)
{
    struct run_result result;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        cut_in_two(seed, 1, ZOO_ALL_DOWNED_TOO_EARLY, &result);
        if (result.violations)
            break;
    }
    assert_true(broke(&result, "healthy-node-stays"));
    assert_non_null(strstr(result.lines[0], "and it has ended"));
}

/* ---- data centers ---- */

static uint32_t commits[2][2]; /* in each backend, by nodes of each data center */

static void count_even(void *user, uint32_t node,
                       const struct journal_request *request)
{
    (void)user;
    (void)request;
    commits[0][node % 2]++;
}

static void count_odd(void *user, uint32_t node,
                      const struct journal_request *request)
{
    (void)user;
    (void)request;
    commits[1][node % 2]++;
}

static void look_at_stores(void *user, struct world *world)
{
    const struct disk_backend_observer even = { .asked = count_even };
    const struct disk_backend_observer odd = { .asked = count_odd };

    (void)user;
    assert_int_equal(world_store_count(world), 2);
    disk_backend_observe(world_store_at(world, 0), &even);
    disk_backend_observe(world_store_at(world, 1), &odd);
}

/* Entities with equal names store their events in their own data center's backend. */
static void data_centers_persist_apart(void **state)
{
    struct options options;
    struct run_settings settings = { .options = &options,
                                     .looks_on = look_at_stores };
    struct run_result result;

    (void)state;
    set(&options, 3);
    options.value[OPTION_NODES] = 4;
    options.value[OPTION_CENTERS] = 2;
    run_seed(&settings, &result);
    if (result.violations)
        fail_msg("%s", result.lines[0]);
    assert_true(result.work.load.acknowledged > 20);
    assert_true(commits[0][0] > 10 && commits[1][1] > 10);
    assert_int_equal(commits[0][1] + commits[1][0], 0);
}

/* ---- member-convergence ---- */

static void part(void *user, struct world *world)
{
    (void)user;
    net_cut(world, 2, 0, NET_BOTH, true);
    net_cut(world, 2, 1, NET_BOTH, true);
}

static void member_convergence_a_node_that_no_peer_hears_is_found(void **state)
{
    struct options options;
    struct run_settings settings = { .options = &options, .looks_on = part };
    struct run_result result;

    (void)state;
    set(&options, 2);
    run_seed(&settings, &result);
    assert_true(broke(&result, "member-convergence"));
    assert_non_null(strstr(result.lines[0], "at the beginning, no agreement on the members"));
}

/* ---- homes-available ---- */

/* The oldest node dies and restarts. The bug makes its successor unable to read the stored state,
 * so it tries forever. */
static void homes_available_a_coordinator_that_never_begins_is_found(void **state)
{
    static const char faults[] = "at 20s crash 0\nat 30s start 0\n";
    struct schedule schedule = { { 0 } };
    char error[SCHEDULE_ERROR_MAX];
    struct options options;
    struct run_settings settings = { .options = &options,
                                     .schedule = &schedule,
                                     .stops_at_violation = true };
    struct run_result result;

    (void)state;
    assert_true(schedule_read(&schedule, slice_text(faults), error,
                              sizeof error));
    set(&options, 4);
    run_seed(&settings, &result);
    if (result.violations)
        fail_msg("%s", result.lines[0]);
    zoo_choose(ZOO_STORED_STATE_NEVER_LOADS);
    run_seed(&settings, &result);
    zoo_choose(ZOO_NONE);
    schedule_fini(&schedule);
    assert_true(broke(&result, "homes-available"));
    assert_non_null(strstr(result.lines[0], "in the liveness phase, no coordinator that all know and that tells all homes"));
}

/* A node restarts after all shards have homes, and the bug lets none move to it. */
static void shard_balance_a_new_node_without_shards_is_found(void **state)
{
    static const char faults[] = "at 20s leave 1\nat 40s start 1\n";
    struct schedule schedule = { { 0 } };
    char error[SCHEDULE_ERROR_MAX];
    struct options options;
    struct run_settings settings = { .options = &options,
                                     .schedule = &schedule,
                                     .stops_at_violation = true };
    struct run_result result;

    (void)state;
    assert_true(schedule_read(&schedule, slice_text(faults), error,
                              sizeof error));
    for (uint64_t absolute_limit = 0; absolute_limit < 2; absolute_limit++) {
        set(&options, 4);
        options.value[OPTION_REBALANCE_ABSOLUTE] = absolute_limit;
        run_seed(&settings, &result);
        if (result.violations)
            fail_msg("%s", result.lines[0]);
        zoo_choose(ZOO_LATER_REGION_STAYS_EMPTY);
        run_seed(&settings, &result);
        zoo_choose(ZOO_NONE);
        assert_true(broke(&result, "shard-balance"));
        assert_non_null(strstr(result.lines[0], "in the quiet, of type"));
    }
    schedule_fini(&schedule);
}

static void shutdown_completes_shards_that_are_not_handed_off_are_found(void **state)
{
    struct schedule schedule = { { 0 } };
    char error[SCHEDULE_ERROR_MAX];
    struct options options;
    struct run_settings settings = { .options = &options,
                                     .schedule = &schedule,
                                     .stops_at_violation = true };
    struct run_result result;

    (void)state;
    assert_true(schedule_read(&schedule, slice_text("at 20s leave 1\n"), error,
                              sizeof error));
    set(&options, 4);
    options.value[OPTION_LENGTH] = 120;
    run_seed(&settings, &result);
    if (result.violations)
        fail_msg("%s", result.lines[0]);
    assert_true(result.is_gentle);
    zoo_choose(ZOO_LEAVING_REGION_KEEPS_SHARDS);
    run_seed(&settings, &result);
    zoo_choose(ZOO_NONE);
    schedule_fini(&schedule);
    assert_true(broke(&result, "shutdown-completes"));
    assert_non_null(strstr(result.lines[0], "regions had shards when their time was over"));
}

/* A shard whose home died gets no other home, so a region requests it forever. */
static void homes_available_a_home_that_is_never_announced_is_found(void **state)
{
    static const char faults[] = "at 20s crash 2\nat 22s down 2\n";
    struct schedule schedule = { { 0 } };
    char error[SCHEDULE_ERROR_MAX];
    struct options options;
    struct run_settings settings = { .options = &options,
                                     .schedule = &schedule,
                                     .stops_at_violation = true };
    struct run_result result;

    (void)state;
    assert_true(schedule_read(&schedule, slice_text(faults), error,
                              sizeof error));
    set(&options, 4);
    run_seed(&settings, &result);
    if (result.violations)
        fail_msg("%s", result.lines[0]);
    zoo_choose(ZOO_SHARD_STAYS_WITHOUT_HOME);
    run_seed(&settings, &result);
    zoo_choose(ZOO_NONE);
    schedule_fini(&schedule);
    assert_true(broke(&result, "homes-available"));
    if (!strstr(result.lines[0], " the home of shard "))
        fail_msg("%s", result.lines[0]);
}

/* ---- followers ---- */

/* n2 leaves while n1 cannot be reached. */
static void followed(enum zoo_mutant bug, struct run_result *result)
{
    static const char faults[] = "at 5s cut 1<>* for 15s\n"
                                 "at 30s leave 2\n";
    struct schedule schedule = { { 0 } };
    char error[SCHEDULE_ERROR_MAX];
    struct options options;
    struct run_settings settings = { .options = &options,
                                     .schedule = &schedule,
                                     .stops_at_violation = true };

    assert_true(schedule_read(&schedule, slice_text(faults), error,
                              sizeof error));
    set(&options, 4);
    options.value[OPTION_FOLLOWERS] = 5;
    zoo_choose(bug);
    run_seed(&settings, result);
    zoo_choose(ZOO_NONE);
    schedule_fini(&schedule);
}

static void cluster_events_that_actors_miss_are_found(void **state)
{
    struct run_result result;

    (void)state;
    followed(ZOO_NONE, &result);
    if (result.violations)
        fail_msg("%s", result.lines[0]);
    assert_true(result.work.follow.states > 0);
    assert_true(result.work.follow.again > 0);
    assert_true(result.work.follow.ends > 0);
    followed(ZOO_OWN_REMOVAL_NOT_PUBLISHED, &result);
    assert_true(broke(&result, "cluster-events"));
    assert_non_null(strstr(result.lines[0], "did not hear that it is out"));
    followed(ZOO_REACHABLE_NOT_PUBLISHED, &result);
    assert_true(broke(&result, "cluster-events"));
    assert_non_null(strstr(result.lines[0], "unreachable"));
}

/* ---- an early end ---- */

static void note_phase(void *user, const char *phase, uint64_t now)
{
    uint64_t *times = user;

    if (!strcmp(phase, "agree"))
        times[0] = now;
    else if (!strcmp(phase, "drain"))
        times[1] = now;
}

static void a_run_can_end_during_the_drain(void **state)
{
    uint64_t times[2] = { 0 };
    struct options options;
    struct run_settings settings = { .options = &options,
                                     .user = times,
                                     .phase_ended = note_phase };
    struct run_result result;

    (void)state;
    set(&options, 1);
    options.value[OPTION_STORE] = 1000000; /* leaves something to drain */
    run_seed(&settings, &result);
    assert_false(result.is_early);
    assert_true(times[1] > times[0] + 150 * MS);
    settings.phase_ended = NULL;
    settings.until = times[0] + 50 * MS; /* within its first look */
    run_seed(&settings, &result);
    assert_true(result.is_early);
    assert_int_equal(result.ended_at, settings.until);
    assert_int_equal(result.violations, 0); /* open rules are not judged */
}

/* ---- digests ---- */

static void deterministic_run_a_repetition_that_differs_is_found(void **state)
{
    struct options options;
    struct run_settings settings = { .options = &options,
                                     .until = 30 * SECOND };
    struct run_result result, again;

    (void)state;
    set(&options, 1);
    run_seed(&settings, &result);
    run_seed(&settings, &again);
    assert_int_equal(result.digest, again.digest);
    zoo_choose(ZOO_RUNS_SHARE_RANDOM_STATE); /* draws depend on earlier runs */
    run_seed(&settings, &result);
    again.digest = result.digest;
    for (int i = 0; i < 4 && again.digest == result.digest; i++)
        run_seed(&settings, &again);
    zoo_choose(ZOO_NONE);
    assert_int_not_equal(result.digest, again.digest);
}

/* ---- no-leak ---- */

static void keep(void *user, struct world *world)
{
    (void)world;
    *(void **)user = mem_alloc(1);
}

static void no_leak_memory_left_at_the_end_is_found(void **state)
{
    struct options options;
    void *kept = NULL;
    struct run_settings settings = { .options = &options,
                                     .looks_back = keep,
                                     .user = &kept };
    struct run_result result;

    (void)state;
    set(&options, 3);
    run_seed(&settings, &result);
    mem_free(kept);
    assert_int_equal(result.violations, 1);
    assert_true(broke(&result, "no-leak"));
    assert_non_null(strstr(result.lines[0], "1 allocations"));
}

/* Memory kept at each look, and freed at the end. */
struct kept {
    struct kept *next;
};

static void keep_more(void *user, struct world *world)
{
    struct kept **kept = user;

    (void)world;
    for (int i = 0; i < 1000; i++) {
        struct kept *one = mem_alloc(sizeof *one);

        one->next = *kept;
        *kept = one;
    }
}

static void give_back(void *user, struct world *world)
{
    struct kept **kept = user;

    (void)world;
    while (*kept) {
        struct kept *next = (*kept)->next;

        mem_free(*kept);
        *kept = next;
    }
}

static void no_leak_growth_in_the_quiet_phase_is_found(void **state)
{
    struct options options;
    struct kept *kept = NULL;
    struct run_settings settings = { .options = &options,
                                     .looks = keep_more,
                                     .looks_back = give_back,
                                     .user = &kept };
    struct run_result result;

    (void)state;
    set(&options, 3);
    run_seed(&settings, &result);
    assert_int_equal(result.violations, 1);
    assert_true(broke(&result, "no-leak"));
    assert_non_null(strstr(result.lines[0], "the memory of nodes grows"));
}

/* ---- moves ---- */

/* A node leaves and returns under load on slow links. With the bug markers-not-awaited,
 * shards stop before all messages to them have arrived. */
static void move(uint64_t seed, enum zoo_mutant bug, enum sim_option option,
                 uint64_t value, const char *faults, struct run_result *result)
{
    struct options options;
    struct schedule schedule = { { 0 } };
    char error[SCHEDULE_ERROR_MAX];
    struct run_settings settings = { .options = &options,
                                     .schedule = &schedule,
                                     .stops_at_violation = true };

    set(&options, seed);
    options.value[OPTION_LOAD] = 200;
    options.value[OPTION_OPS] = 1 << WORKLOAD_TELL;
    options.value[OPTION_SHARDS] = 2;
    options.value[OPTION_LINK_MEAN] = 100000;
    options.value[OPTION_STORE] = 1000;
    options.value[OPTION_REBALANCE] = 1000;
    options.value[OPTION_LENGTH] = 120;
    options.value[option] = value;
    assert_true(schedule_read(&schedule, slice_text(faults), error,
                              sizeof error));
    zoo_choose(bug);
    run_seed(&settings, result);
    zoo_choose(ZOO_NONE);
    schedule_fini(&schedule);
}

static bool moves_lost(const struct run_result *result)
{
    return result->violations &&
           strstr(result->lines[0], " inv=message-accounting ") &&
           strstr(result->lines[0], "because their shard moved");
}

static void message_accounting_a_move_that_costs_messages_is_found(void **state)
{
    static const char leaves[] = "at 20s leave 1\nat 60s start 1\n";
    static const char crashes[] = "at 20s leave 1\nat 60s start 1\n"
                                  "at 110s crash 2\n";
    struct run_result result;
    uint64_t seed = 0;

    (void)state;
    do
        move(++seed, ZOO_MARKERS_NOT_AWAITED, OPTION_SLOW_STOP, 1, leaves, &result);
    while (seed < 20 && !moves_lost(&result));
    assert_true(moves_lost(&result));
    move(seed, ZOO_NONE, OPTION_SLOW_STOP, 1, leaves, &result);
    if (result.violations)
        fail_msg("%s", result.lines[0]);
    /* Not judged if another cause is possible. */
    move(seed, ZOO_MARKERS_NOT_AWAITED, OPTION_SLOW_STOP, 1, crashes, &result);
    assert_false(moves_lost(&result));
    move(seed, ZOO_MARKERS_NOT_AWAITED, OPTION_STUBBORN, 30000, leaves, &result);
    assert_false(moves_lost(&result));
    move(seed, ZOO_MARKERS_NOT_AWAITED, OPTION_STORE, 50000, leaves, &result);
    assert_false(moves_lost(&result));
}

/* ---- disks ---- */

static bool remembers_in_data;

static void with_bug(enum zoo_mutant bug, enum sim_option option,
                     struct run_result *result)
{
    struct options options;
    struct run_settings settings = { .options = &options,
                                     .stops_at_violation = true };

    set(&options, 2);
    options.value[OPTION_LENGTH] = 20;
    options.value[OPTION_NODES] = 2;
    options.value[OPTION_DATA] = option == OPTION_DATA_DURABLE ? 10 : 0;
    options.value[option] = 1;
    options.value[OPTION_REMEMBER_DATA] = remembers_in_data;
    zoo_choose(bug);
    run_seed(&settings, result);
    zoo_choose(ZOO_NONE);
}

static void no_lost_update_a_durable_key_that_is_lost_is_found(void **state)
{
    struct run_result result;

    (void)state;
    with_bug(ZOO_NONE, OPTION_DATA_DURABLE, &result);
    if (result.violations)
        fail_msg("%s", result.lines[0]);
    assert_true(result.work.data.durable > 0);
    assert_true(result.work.data.on_disks > 0);
    assert_true(result.work.data.disks > 0);
    with_bug(ZOO_STORED_KEYS_NOT_LOADED, OPTION_DATA_DURABLE, &result);
    assert_true(broke(&result, "no-lost-update"));
}

static void no_lost_update_an_acknowledged_update_not_stored_is_found(void **state)
{
    struct run_result result;

    (void)state;
    with_bug(ZOO_DURABLE_UPDATE_ANSWERED_UNSTORED, OPTION_DATA_DURABLE, &result);
    assert_true(broke(&result, "no-lost-update"));
}

static void remembered_entities_that_do_not_restart_are_found(void **state)
{
    struct run_result result;

    (void)state;
    with_bug(ZOO_NONE, OPTION_REMEMBER, &result);
    if (result.violations)
        fail_msg("%s", result.lines[0]);
    assert_true(result.work.remembered.judged > 0);
    with_bug(ZOO_REMEMBERED_SHARDS_WAIT_FOR_A_MESSAGE, OPTION_REMEMBER, &result);
    assert_true(broke(&result, "remembered-entities"));
}

/* In distributed data, with the bugs of its own code. */
static void remembered_entities_bugs_of_distributed_data_are_found(void **state)
{
    static const enum zoo_mutant bugs[] = { ZOO_REMEMBERED_WRITTEN_TO_ONE_REPLICA,
                                            ZOO_PASSIVATED_STAYS_IN_KEY };
    struct run_result result;

    (void)state;
    remembers_in_data = true;
    with_bug(ZOO_NONE, OPTION_REMEMBER, &result);
    if (result.violations)
        fail_msg("%s", result.lines[0]);
    assert_true(result.work.remembered.judged > 0);
    assert_true(result.work.remembered.records > 0);
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++) {
        with_bug(bugs[i], OPTION_REMEMBER, &result);
        assert_true(broke(&result, "remembered-entities"));
    }
    remembers_in_data = false;
}

/* ---- the operator ---- */

/* With only these faults. */
static void run_unjudged(const struct options *options, const char *faults,
                         struct run_result *result)
{
    struct schedule schedule = { { 0 } };
    char error[SCHEDULE_ERROR_MAX];
    struct run_settings settings = { .options = options,
                                     .schedule = &schedule };

    assert_true(schedule_read(&schedule, slice_text(faults), error,
                              sizeof error));
    run_seed(&settings, result);
    schedule_fini(&schedule);
}

/* The same without violations, and the run is not dead. */
static void run_with_faults(const struct options *options, const char *faults,
                            struct run_result *result)
{
    run_unjudged(options, faults, result);
    if (result->violations)
        fail_msg("%s", result->lines[0]);
    assert_false(result->is_dead);
}

/* The last member dies while the other two ask it to join. */
static void a_node_that_waits_for_a_lost_cluster_founds_another(void **state)
{
    static const char faults[] = "at 5s crash 1\n"
                                 "at 5s crash 2\n"
                                 "at 10s start 1\n"
                                 "at 10s start 2\n"
                                 "at 10.001s crash 0\n";
    struct options options;
    struct run_result result;

    (void)state;
    set(&options, 4);
    options.value[OPTION_LENGTH] = 600;
    run_with_faults(&options, faults, &result);
    assert_int_equal(result.faults[FAULT_VERB_CRASH], 3);
}

/* A coordinator needs three members. The region of a leaving node waits for one until its time is
 * over. */
static void a_node_that_leaves_after_the_faults_has_its_time(void **state)
{
    static const char faults[] = "at 1s crash 0\n"
                                 "at 59s leave 2\n";
    struct options options;
    struct run_result result;

    (void)state;
    set(&options, 4);
    options.value[OPTION_NODES] = 3;
    options.value[OPTION_MEMBERS_MIN] = 3;
    options.value[OPTION_LENGTH] = 60;
    options.value[OPTION_SHUTDOWN] = 600000;
    run_with_faults(&options, faults, &result);
    assert_int_equal(result.faults[FAULT_VERB_LEAVE], 1);
    assert_true(result.ended_at > 660 * SECOND);
}

/* Faults and their effects appear in the result. */
static void faults_and_their_effects_are_counted(void **state)
{
    static const char faults[] = "at 2s cut 1>0 control for 500ms\n"
                                 "at 5s crash 2\n"
                                 "at 10s start 2\n"
                                 "at 30s pause 1 for 10s\n"
                                 "at 32s down 1 zombie\n"
                                 "at 60s start 1\n"
                                 "at 65s disk-error for 40s\n"
                                 "at 110s power\n";
    struct options options;
    struct run_result result;

    (void)state;
    set(&options, 4);
    options.value[OPTION_LENGTH] = 120;
    options.value[OPTION_BYTE_MODE] = 1;
    run_with_faults(&options, faults, &result);
    assert_int_equal(result.work.kinds.one_way, 1);
    assert_int_equal(result.work.kinds.part, 1);
    assert_int_equal(result.work.kinds.pair, 1);
    assert_int_equal(result.work.kinds.isolated, 0);
    assert_int_equal(result.work.kinds.soon, 1);
    assert_int_equal(result.work.kinds.zombies, 1);
    assert_int_equal(result.work.kinds.asleep, 1);
    assert_int_equal(result.work.byte_modes, 1);
    assert_true(result.work.disk.write_errors + result.work.disk.sync_errors > 0);
    assert_int_equal(result.work.disk.power_losses, 2); /* including the restart's */
    assert_true(result.work.members.joined >= 4);
    assert_true(result.work.shards.allocated >= 10);
}

/* Slow backends; two faults at once are two losses. Acknowledged events remain, or the run breaks a
 * rule. */
static void a_power_loss_that_waits_hits_writes(void **state)
{
    static const char faults[] = "at 5s power\n"
                                 "at 30s power\n"
                                 "at 55s power\n"
                                 "at 55s power\n"
                                 "at 80s power\n";
    struct run_result result;
    struct options options;
    uint64_t lost[2];

    (void)state;
    for (int waits = 0; waits < 2; waits++) {
        set(&options, 7);
        options.value[OPTION_LENGTH] = 110;
        options.value[OPTION_STORE] = 20000;
        options.value[OPTION_POWER_WAITS] = (uint64_t)waits;
        run_with_faults(&options, faults, &result);
        assert_int_equal(result.effects[FAULT_VERB_POWER].faults, 5);
        assert_int_equal(result.work.disk.power_losses, 6);
        lost[waits] = result.work.disk.sectors_lost;
    }
    assert_true(lost[1] > lost[0]);
}

/* Nodes whose disks fail, or that lose power during a write, keep acknowledged updates. */
static void set_own_disks(struct options *options)
{
    set(options, 7);
    options->value[OPTION_LENGTH] = 100;
    options->value[OPTION_STORE] = 20000;
    options->value[OPTION_DATA] = 10;
    options->value[OPTION_DATA_DURABLE] = 1;
}

static void faults_of_own_disks_are_counted(void **state)
{
    static const char faults[] = "at 5s disk-sync\n"
                                 "at 10s disk-error for 20s\n"
                                 "at 25s power-off 1\n"
                                 "at 40s start 1\n"
                                 "at 50s disk-full for 5s\n"
                                 "at 60s disk-stall for 5s\n"
                                 "at 70s power-off 2\n"
                                 "at 80s start 2\n";
    const struct durable_counters *own;
    struct run_result result;
    struct options options;

    (void)state;
    set_own_disks(&options);
    run_with_faults(&options, faults, &result);
    own = &result.work.own_disks;
    assert_true(own->errors > 0 && own->sync_errors > 0 && own->full > 0 &&
                own->stalls > 0);
    assert_int_equal(own->power_losses, 5); /* including the restart's */
    assert_true(own->power_harm >= 2 && own->cut_off > 0);
    assert_int_equal(result.faults[FAULT_VERB_POWER_OFF], 2);
    assert_true(result.effects[FAULT_VERB_POWER_OFF].faults >= 1);
    assert_true(result.work.data.kept > 100);
}

static void replace_disk(void *user, struct world *world)
{
    static const struct durable_faults blank = { .is_blank = true };

    (void)user;
    world_durable_faults(world, 1, &blank);
}

static void no_lost_update_a_disk_that_loses_acknowledged_updates_is_found(void **state)
{
    /* otherwise others give it the value again */
    static const char faults[] = "at 29s cut 1<>* for 40s\n"
                                 "at 30s crash 1\n"
                                 "at 31s start 1\n";
    struct schedule schedule = { { 0 } };
    struct run_result result;
    struct options options;
    struct run_settings settings = { .options = &options,
                                     .schedule = &schedule,
                                     .looks_on = replace_disk,
                                     .stops_at_violation = true };
    char error[SCHEDULE_ERROR_MAX];

    (void)state;
    assert_true(schedule_read(&schedule, slice_text(faults), error,
                              sizeof error));
    set_own_disks(&options);
    run_seed(&settings, &result);
    schedule_fini(&schedule);
    assert_true(broke(&result, "no-lost-update"));
    assert_non_null(strstr(result.lines[0], "it has it no more"));
}

/* The others take it for the former node, and it asks to join. Both are refused. */
static void a_node_of_another_cluster_is_refused(void **state)
{
    static const char faults[] = "at 5s foreign 1 for 5s\n" /* skipped: a node runs there */
                                 "at 10s crash 1\n"
                                 "at 12s foreign 1 for 30s\n"
                                 "at 50s start 1\n";
    struct run_result result;
    struct options options;

    (void)state;
    set(&options, 8);
    options.value[OPTION_LENGTH] = 60;
    run_with_faults(&options, faults, &result);
    assert_int_equal(result.faults[FAULT_VERB_FOREIGN], 1);
    assert_int_equal(result.faults_skipped, 1);
    assert_true(result.effects[FAULT_VERB_FOREIGN].harm >= 2);
    /* two at first, one that restarts, two after the restart of all */
    assert_int_equal(result.work.members.joined, 5);
}

/* Strangers cannot end the cluster by joins for addresses where nobody listens. */
static void joins_of_a_stranger_change_nothing(void **state)
{
    static const char faults[] = "at 5s fake-joins 0 for 10s\n"
                                 "at 6s fake-joins 2 for 10s\n";
    struct run_result result;
    struct options options;

    (void)state;
    set(&options, 8);
    options.value[OPTION_LENGTH] = 60;
    run_with_faults(&options, faults, &result);
    assert_int_equal(result.faults[FAULT_VERB_FAKE_JOINS], 2);
    assert_int_equal(result.faults_skipped, 0);
    assert_true(result.effects[FAULT_VERB_FAKE_JOINS].harm >= 40);
    /* two at first, two after the restart of all */
    assert_int_equal(result.work.members.joined, 4);
}

/* Nor can more of them than a node keeps, or claims of the nodes' addresses. */
static void a_flood_of_strangers_changes_nothing(void **state)
{
    static const char faults[] = "at 5s flood 0 for 10s\n"
                                 "at 20s flood 2 for 10s\n";
    struct run_result result;
    struct options options;

    (void)state;
    set(&options, 8);
    options.value[OPTION_LENGTH] = 60;
    options.value[OPTION_STRANGERS] = 6;
    run_with_faults(&options, faults, &result);
    assert_int_equal(result.faults[FAULT_VERB_FLOOD], 2);
    assert_int_equal(result.faults_skipped, 0);
    assert_true(result.effects[FAULT_VERB_FLOOD].harm >= 2);
    assert_int_equal(result.work.members.joined, 4);
}

/* A cut node's leases expire. A dead one's expire at the provider, and other nodes get them. */
static void leases_are_lost_and_move(void **state)
{
    static const char faults[] = "at 5s lease-cut 1 for 40s\n"
                                 "at 60s crash 2\n";
    struct run_result result;
    struct options options;

    (void)state;
    set(&options, 8);
    options.value[OPTION_LENGTH] = 120;
    options.value[OPTION_SHARD_LEASES] = 3;
    run_with_faults(&options, faults, &result);
    assert_int_equal(result.effects[FAULT_VERB_LEASE_CUT].faults, 1);
    assert_true(result.work.leases.lost >= 1);
    assert_true(result.work.leases.moved > 0);
}

/* A node that is cut off while it leaves does not wait forever to see itself exiting. */
static void shutdown_completes_a_node_that_waits_for_ever_is_found(void **state)
{
    static const char faults[] = "at 1s cut 2<>* for 380s\n"
                                 "at 20s leave 2\n";
    struct options options;
    struct run_result result;

    (void)state;
    set(&options, 4);
    options.value[OPTION_LENGTH] = 400;
    options.value[OPTION_SHUTDOWN] = 10000;
    run_with_faults(&options, faults, &result);
    zoo_choose(ZOO_UNSEEN_EXIT_DELAYS_THE_END);
    run_unjudged(&options, faults, &result);
    zoo_choose(ZOO_NONE);
    assert_true(broke(&result, "shutdown-completes"));
}

/* A slowed link is slower than before, even by less than the least delay of all links. */
static void a_slow_link_is_slower_than_it_was(void **state)
{
    struct options options;
    struct run_result result;

    (void)state;
    set(&options, 2);
    options.value[OPTION_LINK_MIN] = 50000;
    options.value[OPTION_LINK_MEAN] = 60000;
    options.value[OPTION_LENGTH] = 20;
    run_with_faults(&options, "at 5s delay 0<>1 by 10ms for 5s\n", &result);
    assert_int_equal(result.faults[FAULT_VERB_DELAY], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_without_faults_breaks_nothing),
        cmocka_unit_test(a_resolver_alone_downs_nodes_that_die_in_the_heal_phase),
        cmocka_unit_test(a_run_without_entities_has_work_and_no_messages),
        cmocka_unit_test(broken_rules_are_found_without_entities),
        cmocka_unit_test(a_run_without_work_is_dead),
        cmocka_unit_test(starved_messages_are_seen_beside_calls),
        cmocka_unit_test(each_kind_of_work_is_judged_alone),
        cmocka_unit_test(data_centers_persist_apart),
        cmocka_unit_test(member_convergence_a_node_that_no_peer_hears_is_found),
        cmocka_unit_test(homes_available_a_coordinator_that_never_begins_is_found),
        cmocka_unit_test(homes_available_a_home_that_is_never_announced_is_found),
        cmocka_unit_test(shard_balance_a_new_node_without_shards_is_found),
        cmocka_unit_test(cluster_events_that_actors_miss_are_found),
        cmocka_unit_test(a_run_can_end_during_the_drain),
        cmocka_unit_test(deterministic_run_a_repetition_that_differs_is_found),
        cmocka_unit_test(no_leak_memory_left_at_the_end_is_found),
        cmocka_unit_test(no_leak_growth_in_the_quiet_phase_is_found),
        cmocka_unit_test(one_side_of_a_cut_survives),
        cmocka_unit_test(shutdown_completes_shards_that_are_not_handed_off_are_found),
        cmocka_unit_test(no_split_brain_both_sides_of_a_cut_are_found),
        cmocka_unit_test(healthy_node_stays_a_kept_side_that_ends_is_found),
        cmocka_unit_test(
            healthy_node_stays_a_resolver_that_says_unstable_at_each_cut_is_found),
        cmocka_unit_test(message_accounting_a_move_that_costs_messages_is_found),
        cmocka_unit_test(no_lost_update_a_durable_key_that_is_lost_is_found),
        cmocka_unit_test(no_lost_update_an_acknowledged_update_not_stored_is_found),
        cmocka_unit_test(remembered_entities_that_do_not_restart_are_found),
        cmocka_unit_test(remembered_entities_bugs_of_distributed_data_are_found),
        cmocka_unit_test(a_node_that_waits_for_a_lost_cluster_founds_another),
        cmocka_unit_test(a_node_that_leaves_after_the_faults_has_its_time),
        cmocka_unit_test(faults_and_their_effects_are_counted),
        cmocka_unit_test(a_power_loss_that_waits_hits_writes),
        cmocka_unit_test(faults_of_own_disks_are_counted),
        cmocka_unit_test(a_node_of_another_cluster_is_refused),
        cmocka_unit_test(joins_of_a_stranger_change_nothing),
        cmocka_unit_test(a_flood_of_strangers_changes_nothing),
        cmocka_unit_test(leases_are_lost_and_move),
        cmocka_unit_test(
            no_lost_update_a_disk_that_loses_acknowledged_updates_is_found),
        cmocka_unit_test(shutdown_completes_a_node_that_waits_for_ever_is_found),
        cmocka_unit_test(a_slow_link_is_slower_than_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
