/* Runs the phases without faults, checks liveness, and restarts the cluster from disk. */
#include "sim/run/run_inside.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "ddata/replicator.h"
#include "sim/check/check_balance.h"
#include "sim/check/check_convergence.h"
#include "sim/check/check_remember.h"
#include "sim/check/checks.h"
#include "sim/world/disk_backend.h"
#include "sim/workload/workload_allocation.h"
#include "sim/workload/workload_data.h"
#include "sim/workload/workload_follow.h"
#include "sim/workload/workload_world.h"
#include "sim/world/world.h"

#define ROUND (100 * MS) /* between two checks while draining */
#define ROLL 32 /* entities of each type that must answer */
#define FOLLOWED (30 * SECOND) /* for mail inside a node; followers start and end meanwhile */
#define REQUESTS_END (70 * SECOND) /* twice the longest time-out of an ask */
#define SERVICES_REACHED (180 * SECOND)
#define LOOKS_END (60 * SECOND) /* twice the longest time-out */
#define OPERATIONS_END (300 * SECOND) /* likewise, and uncordons one after another */
#define DELIVERIES_END (300 * SECOND) /* five times the longest pause of a delivery */
#define LIMITS_HOLD (180 * SECOND) /* entities may take long to stop */
#define SILENCE (60 * SECOND)
/* pieces of memory that the counting steps may add, plus one for each pair */
#define GROWN_PIECES 64
#define GROWN_BYTES 1024 /* for each piece */
/* bytes for each pair: a link that sends again needs a chunk */
#define GROWN_BY_LINK LINK_CHUNK_SIZE
#define KVSTORE_SETTLE (120 * SECOND) /* a minute until asks time out, and time for keys to move */

/* Each type has a coordinator that all know and that has answered all earlier requests. */
static bool is_answered(struct run *run, char *text, size_t size)
{
    checks_look_at_homes(run->checks);
    return run_is_coordinated(run, text, size) &&
           check_homes_answered(run->checks->homes, text, size);
}

/* homes-available, after all agree on the members. Homes are judged from here on. */
static bool coordinates(struct run *run, const char *wanted)
{
    check_homes_quiet(run->checks->homes, world_now(run->world), true);
    if (!run_until_holds(run, is_answered, "homes-available",
                         quiet_coordinate_bound(run->options), wanted))
        return false;
    check_homes_judge(run->checks->homes, world_now(run->world));
    return true;
}

/* No fault occurs from here on. */
void run_liveness(struct run *run)
{
    uint64_t bound = quiet_agree_bound(run->options) +
                     quiet_bury_bound(run->options) +
                     (run->result->is_left ? quiet_resolve_bound(run->options)
                                           : 0);

    if (!run_until_holds(run, run_is_converged, "member-convergence", bound,
                         "in the liveness phase, no agreement on the members"))
        return;
    check_liveness_quiet(run->checks->live, world_now(run->world), true);
    workload_world_quiet(run->load, true);
    if (run->allocation)
        allocation_load_quiet(run->allocation, true);
    (void)coordinates(run,
                      "in the liveness phase, no coordinator that all know and that tells all homes");
}

static bool has_answers(struct run *run, char *text, size_t size)
{
    (void)snprintf(text, size, "calls are open");
    return data_load_idle(run->data);
}

static bool is_settled(struct run *run, char *text, size_t size)
{
    return data_load_settled(run->data, text, size);
}

/* replica-convergence, then value-integrity and no-lost-update. */
static void settle_data(struct run *run)
{
    struct node_settings settings;

    memset(&settings, 0, sizeof settings);
    options_settings(run->options, &settings);
    if (!run_until_holds(run, has_answers, "data-call-ends-once",
                         2 * run->options->value[OPTION_DATA_TIMEOUT] * MS +
                             20 * run->options->value[OPTION_STORE] * 1000 +
                             RUN_LATE_MS * MS,
                         "calls of distributed data without answers"))
        data_load_drained(run->data);
    else if (run_until_holds(run, is_settled, "replica-convergence",
                             data_load_bound(run->data, run->cluster.nodes,
                                             &settings.data),
                             "equal replicas"))
        data_load_judge(run->data);
}

static bool is_remembered(struct run *run, char *text, size_t size)
{
    return check_remember_agrees(workload_world_remember(run->load), text,
                                 size);
}

/* remembered-entities: they start without a message. */
static void remembered(struct run *run, const char *wanted)
{
    if (run->options->value[OPTION_REMEMBER])
        (void)run_until_holds(
            run, is_remembered, "remembered-entities",
            quiet_remember_bound(run->options, 2 * RUN_REMEMBERED), wanted);
}

static bool store_is_idle(struct run *run, char *text, size_t size)
{
    (void)snprintf(text, size, "calls are open");
    return kvstore_load_idle(run->store);
}

static bool store_is_read(struct run *run, char *text, size_t size)
{
    (void)snprintf(text, size, "%u keys are not",
                   kvstore_load_finals_missing(run->store));
    return !kvstore_load_finals_missing(run->store);
}

/* store-one-answer, then store-no-lost-write, with time between them for keys to move. */
static void settle_store(struct run *run)
{
    uint64_t way = run->options->value[OPTION_LINK_MIN] +
                   run->options->value[OPTION_LINK_MEAN];

    if (!run_until_holds(run, store_is_idle, "store-one-answer", 70 * SECOND,
                         "calls of the store without answers")) {
        kvstore_load_drained(run->store);
        return;
    }
    run_until(run, world_now(run->world) + KVSTORE_SETTLE);
    if (run->options->value[OPTION_VERSIONS_TIMEOUT] * 1000 < 20 * way)
        return; /* no read is in time */
    kvstore_load_finals_begin(run->store);
    (void)run_until_holds(run, store_is_read, "store-all-readable", KVSTORE_SETTLE,
                          "all keys read from all their replicas");
}

static bool requests_end(struct run *run, char *text, size_t size)
{
    (void)snprintf(text, size, "asks are open");
    return request_load_idle(run->requests);
}

static bool is_followed(struct run *run, char *text, size_t size)
{
    char why[VERDICT_TEXT_MAX];

    return follow_load_agrees(run->follow,
                              run_is_converged(run, why, sizeof why), text,
                              size);
}

static void drain(struct run *run)
{
    uint64_t end = world_now(run->world) + quiet_drain_bound(run->options) +
                   quiet_recover_bound(run->options,
                                       workload_world_open(run->load));

    workload_world_stop(run->load);
    while (!workload_world_is_drained(run->load) && !run_is_over(run) &&
           world_now(run->world) < end)
        run_pass(run, ROUND);
    if (!run_is_over(run))
        workload_world_drained(run->load);
}

static bool is_reached(struct run *run, char *text, size_t size)
{
    return services_load_reached(run->services, text, size);
}

static bool daemons_run(struct run *run, char *text, size_t size)
{
    return services_load_daemons_run(run->services, text, size);
}

/* singleton-answers, then daemons-run. A hand-over that was cut off begins anew after its retries. */
static void reach_services(struct run *run)
{
    uint64_t margin = run->options->value[OPTION_STABLE] * MS *
                      run->options->value[OPTION_MARGIN] / 100;
    uint64_t limit = SERVICES_REACHED + 4 * margin + 2 * options_leases_ms(run->options) * MS;

    services_load_round(run->services);
    (void)run_until_holds(run, is_reached, "singleton-answers", limit,
                          "answers of the singleton to all nodes");
    if (!run_is_over(run) && !verdict_count(run->verdict))
        (void)run_until_holds(run, daemons_run, "daemons-run", limit, "each daemon once");
}

static bool deliveries_end(struct run *run, char *text, size_t size)
{
    return delivery_load_has_ended(run->deliveries, text, size);
}

static bool commands_end(struct run *run, char *text, size_t size)
{
    return delivery_load_commands_end(run->deliveries, text, size);
}

/* deliveries-end, then commands-answered. */
static void end_deliveries(struct run *run)
{
    uint64_t limit = DELIVERIES_END + quiet_answer_bound(run->options);

    if (run_until_holds(run, deliveries_end, "deliveries-end", limit, "ends of all deliveries"))
        (void)run_until_holds(run, commands_end, "commands-answered", limit, "answers to all commands");
}

static bool looks_end(struct run *run, char *text, size_t size)
{
    (void)snprintf(text, size, "some are open");
    return look_load_idle(run->looks);
}

static bool operations_end(struct run *run, char *text, size_t size)
{
    (void)snprintf(text, size, "some are open, or a node is cordoned");
    return operation_load_idle(run->operations);
}

void run_drain(struct run *run)
{
    if (run->data)
        data_load_stop(run->data);
    if (run->store)
        kvstore_load_stop(run->store);
    if (run->requests)
        request_load_stop(run->requests);
    if (run->services)
        services_load_stop(run->services);
    if (run->deliveries)
        delivery_load_stop(run->deliveries);
    if (run->looks)
        look_load_stop(run->looks);
    if (run->operations)
        operation_load_stop(run->operations);
    drain(run);
    if (run->options->value[OPTION_ACTIVE_LIMIT])
        (void)run_until_holds(run, run_limits_hold, "active-limit", LIMITS_HOLD,
                              "no region with more active entities than its limit");
    if (run->services)
        reach_services(run);
    if (run->deliveries && !run_is_over(run) && !verdict_count(run->verdict))
        end_deliveries(run);
    if (run->requests)
        (void)run_until_holds(run, requests_end, "client-request-ends-once",
                              REQUESTS_END, "asks of threads that have ended");
    if (run->looks)
        (void)run_until_holds(run, looks_end, "look-ends-once", LOOKS_END, "looks that have ended");
    if (run->operations)
        (void)run_until_holds(run, operations_end, "operation-ends", OPERATIONS_END,
                              "operations that have ended, and no cordon");
    if (run->follow)
        (void)run_until_holds(run, is_followed, "cluster-events", FOLLOWED,
                              "followers that agree with their nodes");
    remembered(run, "all remembered entities live, and no others of their types");
    if (run->data && !run_is_over(run) && !verdict_count(run->verdict))
        settle_data(run);
    if (run->store && !run_is_over(run) && !verdict_count(run->verdict))
        settle_store(run);
}

/* Every coordinator found nothing to move twice, and no move was open. */
static bool shards_rest(struct run *run, char *text, size_t size)
{
    uint64_t rest = 2 * run->options->value[OPTION_REBALANCE] * MS +
                    RUN_LATE_MS * MS;
    uint64_t now = world_now(run->world);

    return check_liveness_rests(run->checks->live, now > rest ? now - rest : 0,
                                text, size);
}

#define TRIES 4 /* of a move to a slow home */

/* Time to move all shards one after the other, far above a healthy world's. */
static uint64_t rest_bound(const struct options *options)
{
    return quiet_drain_bound(options) +
           (options->value[OPTION_SHARDS] + 4) *
               options->value[OPTION_REBALANCE] * MS +
           TRIES * CHECK_LIVENESS_TRIED_NS;
}

static bool are_located(struct run *run, char *text, size_t size)
{
    return allocation_load_holds(run->allocation, ALLOCATION_EXTERNAL,
                                 run->checks->live, text, size);
}

static bool are_placed(struct run *run, char *text, size_t size)
{
    return allocation_load_holds(run->allocation, ALLOCATION_CONSISTENT_HASHING,
                                 run->checks->live, text, size) &&
           allocation_load_holds(run->allocation, ALLOCATION_CUSTOM,
                                 run->checks->live, text, size);
}

/* Time for the last locations to reach all members, and then for all moves. */
static uint64_t place_bound(const struct options *options)
{
    return rest_bound(options) +
           20 * (options->value[OPTION_DATA_GOSSIP] +
                 options->value[OPTION_GOSSIP]) * MS;
}

/* location-honoured, and shard-balance of strategies that want a shard at one region. */
static bool settle_allocation(struct run *run)
{
    return run_until_holds(run, are_located, "location-honoured",
                           place_bound(run->options),
                           "in the quiet phase, all shards at their locations") &&
           run_until_holds(run, are_placed, "shard-balance",
                           place_bound(run->options),
                           "in the quiet phase, all shards where their strategy "
                           "wants them");
}

/* A minute without requests. no-leak: the limit for each node and pair of nodes is below one leaked
 * piece for each heartbeat. If links are slower than the detectors tolerate, more is in flight. */
static void silence(struct run *run, bool is_steady)
{
    uint64_t nodes = run->cluster.nodes;
    char text[VERDICT_TEXT_MAX];

    growth_begin(&run->growth, world_now(run->world), SILENCE);
    run_until(run, world_now(run->world) + SILENCE);
    if (!growth_end(&run->growth, GROWN_PIECES + nodes * nodes,
                    (GROWN_PIECES + nodes * nodes) * GROWN_BYTES + nodes * nodes * GROWN_BY_LINK,
                    text, sizeof text) &&
        is_steady)
        violation(run->verdict, "no-leak", VERDICT_NO_NODE,
                  "in the quiet phase, the memory of nodes grows: %s", text);
}

/* entities-answer, then quiet-cluster-rests. If a slow heartbeat looks like a dead node, members
 * seem lost and back forever; then only shards and coordinators must rest. */
void run_roll_call(struct run *run)
{
    struct check_liveness *live = run->checks->live;
    bool is_steady = quiet_is_steady(run->options);
    uint64_t since = world_now(run->world);

    if (!workload_world_roll(run->load, ROLL,
                             quiet_answer_bound(run->options)))
        return;
    run_waited(run, "entities-answer", since,
               quiet_answer_bound(run->options) +
                   workload_world_roll_time(run->load));
    run_until(run, world_now(run->world) + quiet_settle_bound(run->options));
    if (run->allocation && is_steady && !settle_allocation(run))
        return;
    if (!run_until_holds(run, shards_rest, "quiet-cluster-rests", rest_bound(run->options),
                         "in the quiet phase, shards stay where they are"))
        return;
    if (is_steady) /* a node that sees members lost and back moves nothing */
        check_balance_judge(run->verdict, run->world, run->options);
    check_liveness_still(live, true);
    if (is_steady)
        check_liveness_silent(live, true);
    if (is_steady && run->data)
        data_load_silence_begins(run->data);
    silence(run, is_steady);
    run->result->is_still = !run_is_over(run);
    run->result->is_silent = is_steady && !run_is_over(run);
    if (is_steady && run->data)
        data_load_silence_ends(run->data);
    check_liveness_silent(live, false);
}

static bool is_kept(struct run *run, char *text, size_t size)
{
    return data_load_is_kept(run->data, text, size);
}

/* no-lost-update of durable keys. */
static void kept(struct run *run)
{
    if (run->data && run->options->value[OPTION_DATA_DURABLE])
        (void)run_until_holds(run, is_kept, "no-lost-update",
                              quiet_converge_bound(run->options),
                              "after the restart of everything all durable keys");
}

/* Call it while no node runs. */
static void change_shards(struct run *run)
{
    uint32_t shards = (uint32_t)run->options->value[OPTION_SHARDS_AFTER];
    uint32_t count;

    if (!shards || !run->options->value[OPTION_REMEMBER] ||
        workload_settings_of(workload_world_of(run->load))->extractor ||
        options_remember_in_data(run->options))
        return;
    workload_set_shards(workload_world_of(run->load), shards);
    /* they come first; daemons keep their number */
    (void)workload_types(workload_world_of(run->load), &count);
    if (run->services)
        services_load_set_shards(run->services, count, shards);
    if (run->deliveries)
        delivery_load_set_shards(run->deliveries, count, shards);
    check_remember_shards(workload_world_remember(run->load), shards);
}

/* Ends all nodes at once, and restarts them from their storage. */
void run_restart(struct run *run)
{
    bool is_durable = run->options->value[OPTION_DATA_DURABLE] ||
                      options_remember_in_data(run->options);
    bool *lived = mem_alloc(run->cluster.nodes * sizeof *lived);

    if (run->data && run->options->value[OPTION_DATA_DURABLE])
        data_load_note(run->data);
    if (options_remember_in_data(run->options))
        check_remember_restarts(workload_world_remember(run->load));
    check_liveness_quiet(run->checks->live, world_now(run->world), false);
    workload_world_quiet(run->load, false);
    check_homes_quiet(run->checks->homes, world_now(run->world), false);
    for (uint32_t i = 0; i < run->cluster.nodes; i++) {
        lived[i] = cluster_lives(&run->cluster, i);
        if (lived[i] && is_durable) /* everything unsynced is lost everywhere */
            world_crash_as(run->world, i, WORLD_DARK);
        else if (lived[i])
            world_crash(run->world, i);
    }
    for (uint32_t i = 0; i < world_store_count(run->world); i++) {
        world_store_power_loss(run->world, i);
        world_store_reopen(run->world, i);
    }
    change_shards(run);
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        if (lived[i])
            cluster_start(&run->cluster, i);
    mem_free(lived);
    if (!run_until_holds(
            run, run_is_converged, "member-convergence", quiet_agree_bound(run->options),
            "after the restart of everything, no agreement on the members"))
        return;
    if (!coordinates(run,
                     "after the restart of everything, no coordinator that all know and that tells all homes"))
        return;
    workload_world_quiet(run->load, true);
    remembered(run, "after the restart of everything all remembered entities live");
    kept(run);
    if (run_is_over(run))
        return;
    workload_resume(workload_world_of(run->load));
    if (run->data)
        data_load_resume(run->data);
    if (run->store)
        kvstore_load_resume(run->store);
    if (run->requests)
        request_load_resume(run->requests);
    if (run->services)
        services_load_resume(run->services);
    if (run->deliveries)
        delivery_load_resume(run->deliveries);
    if (run->looks)
        look_load_resume(run->looks);
    if (run->operations)
        operation_load_resume(run->operations);
    run_until(run, world_now(run->world) + 60 * SECOND);
    run_drain(run);
    if (!run_is_over(run))
        (void)workload_world_roll(run->load, ROLL,
                                  quiet_answer_bound(run->options));
}
