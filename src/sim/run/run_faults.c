/* Runs the phases with faults, from the first node's start to the choice of the core. */
#include "sim/run/run_inside.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "ddata/replicator.h"
#include "sim/check/check_convergence.h"
#include "sim/check/check_remember.h"
#include "sim/check/checks.h"
#include "sim/faults/nemesis.h"
#include "sim/seed/streams.h"
#include "sim/workload/workload_world.h"
#include "sim/world/world.h"

#define READ_MIN 5 /* majority-min-cap of sharding's data */
#define GENTLE_STORE (2 * MS)
/* Akka's default: entities may take 10 s to stop, and slow links more */
#define GENTLE_SHUTDOWN_MS 60000
/* last messages of a member that left pass a full pipe of a slow link */
#define GENTLE_PARTED_MS 5000
#define JOINS_KEPT (11 * SECOND) /* join_retry_ms, and the way */

void run_form(struct run *run)
{
    cluster_form(&run->cluster);
    (void)run_until_holds(run, run_is_converged, "member-convergence",
                          quiet_agree_bound(run->options),
                          "at the beginning, no agreement on the members");
}

/* Starts with a clean partition before other faults. Ended nodes are started again afterwards. */
void run_split(struct run *run)
{
    struct rng rng = stream_rng(run->options->seed, STREAM_NEMESIS, RUN_SPLIT_INDEX);
    struct node_settings settings;

    if (!run->options->value[OPTION_SPLIT] ||
        !run_until_holds(run, run_is_coordinated, "homes-available",
                         quiet_coordinate_bound(run->options),
                         "before the cut, no coordinator that all know"))
        return;
    memset(&settings, 0, sizeof settings);
    options_settings(run->options, &settings);
    split_draw(&run->split, run->world, run->cluster.nodes, &rng);
    run->split.heard = quiet_hear_bound(run->options);
    split_cut(&run->split, run->world, true);
    run_until(run, world_now(run->world) + quiet_split_bound(run->options));
    if (!run_is_over(run))
        split_judge(&run->split, run->world, run->verdict,
                    settings.resolver.strategy.kind);
    split_cut(&run->split, run->world, false);
    split_fini(&run->split);
    /* if the strategy kept no side, nodes that wait for each other restart */
    run->has_operator = true;
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        if (!cluster_lives(&run->cluster, i))
            cluster_start(&run->cluster, i);
    (void)run_until_holds(run, run_is_converged, "member-convergence",
                          quiet_agree_bound(run->options) +
                              quiet_resolve_bound(run->options),
                          "after the cut, no agreement on the members");
}

/* Whether no fault explains a lost message: nodes only leave and return and are heard for a while,
 * entities stop when told, storage is fast, and hand-offs had all the time they needed. */
static bool is_gentle(const struct run *run, const struct schedule *schedule)
{
    const struct check_coordinator_counts moves =
        check_coordinator_counts(run->checks->coordinator);
    const uint64_t *value = run->options->value;

    for (uint32_t i = 0; i < schedule->faults.count; i++)
        if (schedule->faults.items[i].verb != FAULT_VERB_LEAVE &&
            schedule->faults.items[i].verb != FAULT_VERB_RESTART &&
            schedule->faults.items[i].verb != FAULT_VERB_START)
            return false;
    return !value[OPTION_STUBBORN] && !value[OPTION_PHASE] && !run->has_begun_again &&
           value[OPTION_PARTED] >= GENTLE_PARTED_MS &&
           value[OPTION_STORE] * 1000 <= GENTLE_STORE && !moves.failed &&
           !moves.given_up &&
           !check_member_counts(run->checks->member).downed;
}

/* A shard stops after all markers, which follow all messages, so no message meets a former home.
 * But a region whose shutdown time is over stops without markers, and a removed node sends none. */
static void judge_moves(struct run *run)
{
    const struct check_message_counts messages =
        check_message_counts(workload_check(workload_world_of(run->load)));
    uint64_t moved = messages.undelivered[SHERD_REASON_HANDED_OFF] -
                     messages.last_words_moved;

    run->result->is_gentle = true;
    if (moved)
        violation(run->verdict, "message-accounting", VERDICT_NO_NODE,
                  "%llu messages ended because their shard moved, although no fault explains it",
                  (unsigned long long)moved);
    if (messages.lost_to_entities)
        violation(run->verdict, "message-accounting", VERDICT_NO_NODE,
                  "%llu messages for entities were lost, although nodes only left and came back",
                  (unsigned long long)messages.lost_to_entities);
}

/* If every hand-off succeeded, a region that still had shards after sufficient time was not asked
 * for them. */
static bool all_handed_off(struct run *run)
{
    const struct check_coordinator_counts moves =
        check_coordinator_counts(run->checks->coordinator);

    if (moves.left_over &&
        run->options->value[OPTION_SHUTDOWN] >= GENTLE_SHUTDOWN_MS)
        violation(run->verdict, "shutdown-completes", VERDICT_NO_NODE,
                  "%llu regions had shards when their time was over, although no fault explains it",
                  (unsigned long long)moves.left_over);
    return !moves.forced;
}

void run_safety(struct run *run)
{
    uint64_t length = run->options->value[OPTION_LENGTH] * SECOND;
    const struct nemesis_hands hands = cluster_hands(
        &run->cluster, run->options->value[OPTION_LINK_MIN] * 1000,
        run_link_mean(run->options));
    const struct schedule *schedule =
        run->settings->schedule ? run->settings->schedule : &run->drawn;

    nemesis_free(run->nemesis);
    run->nemesis =
        nemesis_new(run->world, schedule, run->cluster.nodes, &hands);
    run->has_operator = true;
    if (run->options->value[OPTION_FAULTS])
        world_database_faults(run->world, true);
    if (run->options->value[OPTION_ACTIVE_LIMIT])
        run_with_limits(run, length);
    else
        run_until(run, world_now(run->world) + length);
    nemesis_end(run->nemesis);
    world_database_faults(run->world, false);
    if (is_gentle(run, schedule) && all_handed_off(run))
        judge_moves(run);
}

/* Finds a member that is up and takes commands. */
static uint32_t find_operator(const struct run *run)
{
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        if (cluster_lives(&run->cluster, i) && world_node(run->world, i)->is_up)
            return i;
    return run->cluster.nodes;
}

static void down_the_dead(struct run *run)
{
    uint32_t by = find_operator(run);

    for (uint32_t i = 0; i < run->cluster.nodes && by < run->cluster.nodes; i++)
        if (!cluster_lives(&run->cluster, i) && world_node(run->world, i)->life)
            cluster_down(&run->cluster, by, i);
}

/* Returns the fewest nodes that can start a cluster and that the resolver keeps when the others
 * die. */
static uint32_t least_core(const struct run *run)
{
    const uint64_t *value = run->options->value;
    uint32_t least = (uint32_t)value[OPTION_MEMBERS_MIN];
    uint32_t quorum = run->cluster.nodes / 2 + 1;

    if (value[OPTION_RESOLVER] == RESOLVER_ALL)
        return run->cluster.nodes;
    return value[OPTION_RESOLVER] == RESOLVER_QUORUM && least < quorum ? quorum
                                                                      : least;
}

/* Draws the nodes of the core; one of them is a member. */
static void draw_core(struct run *run, bool *in_core)
{
    uint32_t least = least_core(run);
    uint32_t member = find_operator(run);
    uint32_t size, count = 0;

    if (least > run->cluster.nodes)
        least = run->cluster.nodes;
    size = least +
           (uint32_t)rng_below(&run->rng, run->cluster.nodes - least + 1);
    if (member < run->cluster.nodes) {
        in_core[member] = true;
        count++;
    }
    while (count < size) {
        uint32_t node = (uint32_t)rng_below(&run->rng, run->cluster.nodes);

        count += !in_core[node];
        in_core[node] = true;
    }
    run->result->core = size;
}

/* A node that restarts from disk has its state as of its death. A majority read without the running
 * core nodes finds only that. */
static void judge_loss(struct run *run, const bool *in_core)
{
    uint32_t size = run->result->core;
    uint32_t living = 0;

    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        living += in_core[i] && cluster_lives(&run->cluster, i);
    if (living + consistency_majority(READ_MIN, size, 0) <= size)
        check_remember_lost(workload_world_remember(run->load));
}

static bool nobody_ends(struct run *run, char *text, size_t size)
{
    (void)snprintf(text, size, "%u nodes must still end",
                   checks_ending(run->checks));
    return !checks_ending(run->checks);
}

static uint32_t count_living(const struct run *run, const bool *in)
{
    uint32_t living = 0;

    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        living += (!in || in[i]) && cluster_lives(&run->cluster, i);
    return living;
}

/* A member keeps a request to join for join_retry_ms, so a node that has died may still become a
 * member. The operator downs dead nodes once, and waits for that. */
static void crash_outsiders(struct run *run)
{
    uint32_t crashed = cluster_crash_outsiders(&run->cluster);

    run->result->outsiders += crashed;
    if (crashed)
        run_until(run, world_now(run->world) + JOINS_KEPT);
}

/* Whether the resolver may handle the others' death alone. It must keep the survivors, and waits
 * for a stable view, which restarting nodes may change for so long that it downs all. Half of the
 * possible runs keep the operator. */
static bool resolver_can(const struct run *run, bool agreed, uint32_t members,
                         const bool *in_core)
{
    uint32_t living = count_living(run, in_core);
    struct rng rng = stream_rng(run->options->seed, STREAM_NEMESIS,
                                RUN_ALONE_INDEX);

    switch (run->options->value[OPTION_RESOLVER]) {
    case RESOLVER_MAJORITY:
    case RESOLVER_LEASE:
        if (2 * living <= members)
            return false;
        break;
    case RESOLVER_QUORUM:
        if (living <= run->cluster.nodes / 2)
            return false;
        break;
    default:
        return false;
    }
    return agreed && living < members && run->cluster.centers <= 1 &&
           (!options_unstable_ms(run->options) ||
            living == run->result->core) &&
           quiet_is_patient(run->options) &&
           quiet_is_steady(run->options) && rng_below(&rng, 2);
}

/* member-convergence: a live node that was not downed is up, if the cluster has enough nodes and
 * nothing prevents a welcome. */
static void judge_waiting(struct run *run)
{
    uint64_t time = quiet_agree_bound(run->options);

    if (!quiet_rests(run->world) ||
        cluster_belonging(&run->cluster) <
            run->options->value[OPTION_MEMBERS_MIN])
        return;
    for (uint32_t i = 0; i < run->cluster.nodes; i++) {
        if (!cluster_waits_wrongly(&run->cluster, i, time))
            continue;
        violation(run->verdict, "member-convergence", i,
                  "the faults are over, and it has waited %llu s to become a member",
                  (unsigned long long)((world_now(run->world) -
                                        run->checks->entries[i].started_at) /
                                       SECOND));
    }
}

/* Connections that hang in a chain fail one after the other. */
static void wait_to_agree(struct run *run)
{
    char text[VERDICT_TEXT_MAX];
    uint64_t end;

    run_until(run, world_now(run->world) + quiet_converge_bound(run->options));
    end = world_now(run->world) + run->options->value[OPTION_GIVE_UP] * SECOND;
    while (!run_is_over(run) && world_now(run->world) < end &&
           !run_is_converged(run, text, sizeof text))
        run_until(run, world_now(run->world) + SECOND);
}

/* First dead nodes are downed, and leaving nodes get their time. Then the others die and are downed
 * by the operator or the resolver. The core restarts last: a node that starts while all others are
 * dead founds a cluster. */
void run_heal(struct run *run)
{
    bool *in_core = mem_alloc(run->cluster.nodes * sizeof *in_core);
    char text[VERDICT_TEXT_MAX];
    uint32_t members;
    bool agreed;

    down_the_dead(run);
    wait_to_agree(run);
    (void)run_until_holds(run, nobody_ends, "shutdown-completes",
                          2 * quiet_leave_bound(run->options),
                          /* some were detected late */
                          "after the faults, leaving nodes have ended");
    run->has_operator = false;
    agreed = run_is_converged(run, text, sizeof text);
    members = count_living(run, NULL);
    judge_waiting(run);
    crash_outsiders(run);
    draw_core(run, in_core);
    judge_loss(run, in_core);
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        if (cluster_lives(&run->cluster, i) && !in_core[i])
            world_crash(run->world, i);
    run->result->is_left = resolver_can(run, agreed, members, in_core);
    if (!run->result->is_left)
        down_the_dead(run);
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        if (in_core[i] && !cluster_lives(&run->cluster, i))
            cluster_start(&run->cluster, i);
    mem_free(in_core);
}
