/* Creates a run from options, and leads it through its phases. */
#include "sim/run/run_inside.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "sim/check/check_convergence.h"
#include "sim/check/checks.h"
#include "sim/world/disk_backend.h"
#include "sim/faults/nemesis.h"
#include "sim/seed/streams.h"
#include "sim/workload/workload_allocation.h"
#include "sim/workload/workload_data.h"
#include "sim/workload/workload_follow.h"
#include "sim/workload/workload_world.h"
#include "sim/world/world.h"

#define CROWDED 10 /* messages that fit into a mailbox */

/* ---- nodes ---- */

/* Gives roles in turn, so that there are role leaders to hear of. */
static void set_role(struct node_settings *settings)
{
    static const char *const roles[] = { "even", "odd" };
    const char *host = settings->identity.node.address.host;

    settings->roles = &roles[host[strlen(host) - 1] % 2];
    settings->role_count = 1;
}

/* Applies the seed's options to an incarnation. */
static void set_life(void *user, struct node_settings *settings)
{
    struct run *run = user;

    options_settings(run->options, settings);
    if (run->follow)
        set_role(settings);
    if (run->data)
        data_load_set(run->data, settings);
    if (!run->settings->looks_on)
        settings->trace_level = TRACE_WARNING; /* more lines only for observers */
    else if (run->settings->is_verbose)
        settings->trace_level = TRACE_DEBUG;
    run->result->lives++;
}

uint64_t run_link_mean(const struct options *options)
{
    return (options->value[OPTION_LINK_MIN] +
            options->value[OPTION_LINK_MEAN]) *
           1000;
}

/* ---- the whole run ---- */

static void work_of_world(const struct run *run, struct run_work *work)
{
    work->kinds = nemesis_kinds(run->nemesis);
    for (uint32_t i = 0; i < world_store_count(run->world); i++)
        run_work_disk(&work->disk, disk_counters(disk_backend_disk(
                                       world_store_at(run->world, i))));
    for (uint32_t i = 0; i < world_store_count(run->world); i++)
        if (world_database_at(run->world, i))
            run_work_database(&work->database,
                              database_counters(world_database_at(run->world, i)));
    for (uint32_t i = 0; i < world_node_count(run->world); i++) {
        const struct durable_counters own =
            world_durable_counters(run->world, i);

        run_work_own_disk(&work->own_disks, &own);
    }
    work->journal = workload_world_journal_counts(run->load);
    work->shards = check_coordinator_counts(run->checks->coordinator);
    work->members = check_member_counts(run->checks->member);
    work->seen = check_gossip_seen_counts(run->checks->gossip_seen);
    work->entities = check_entity_counts(run->checks->entity);
    work->leases = check_shard_lease_counts(run->checks->shard_lease);
    work->choices = check_allocation_counts(run->checks->allocation);
    work->byte_modes = run->options->value[OPTION_BYTE_MODE] != 0;
}

static void keep_violation(void *user, const struct violation *found)
{
    struct run_result *result = user;

    if (!result->violations)
        result->violation_at = found->at;
    if (result->violations < RUN_VIOLATIONS_MAX)
        (void)failure_line(result->seed, found,
                           result->lines[result->violations],
                           VERDICT_LINE_MAX);
    result->violations++;
}

static void finish(struct run *run)
{
    struct run_result *result = run->result;

    result->digest = world_digest(run->world);
    result->ended_at = world_now(run->world);
    result->events = world_events(run->world);
    for (int i = 0; i < FAULT_VERBS; i++) {
        result->faults[i] = nemesis_count(run->nemesis, (enum fault_verb)i);
        result->effects[i] = nemesis_effect(run->nemesis, (enum fault_verb)i);
        result->cells[i] = nemesis_cells(run->nemesis, (enum fault_verb)i);
    }
    result->homes = check_homes_count(run->checks->homes);
    if (result->homes)
        run_waited(run, "homes-asked",
                   world_now(run->world) -
                       check_homes_longest(run->checks->homes),
                   quiet_coordinate_bound(run->options));
    result->faults_skipped = nemesis_skipped(run->nemesis);
    result->work.messages =
        check_message_counts(workload_check(workload_world_of(run->load)));
    result->work.load = workload_counts(workload_world_of(run->load));
    result->work.remembered =
        check_remember_counts(workload_world_remember(run->load));
    if (run->data)
        result->work.data = data_load_counts(run->data);
    if (run->store)
        result->work.store = kvstore_load_counts(run->store);
    if (run->follow)
        result->work.follow = follow_load_counts(run->follow);
    if (run->allocation)
        result->work.allocation = allocation_load_counts(run->allocation);
    if (run->requests)
        result->work.requests = request_load_counts(run->requests);
    if (run->services)
        result->work.services = services_load_counts(run->services);
    if (run->deliveries) {
        result->work.deliveries = delivery_load_counts(run->deliveries);
        result->work.commands = delivery_load_command_counts(run->deliveries);
    }
    if (run->looks)
        result->work.looks = look_load_counts(run->looks);
    if (run->operations)
        result->work.operations = operation_load_counts(run->operations);
    if (run->rolling)
        result->work.rolling = rolling_load_counts(run->rolling);
    work_of_world(run, &result->work);
    result->is_dead = run_work_starved(&result->work) != NULL;
}

static void run_phases(struct run *run)
{
    static const struct {
        const char *name;
        void (*run)(struct run *);
    } phases[] = { { "form", run_form },       { "rolling", run_rolling },
                   { "split", run_split },
                   { "load", run_safety },     { "heal", run_heal },
                   { "agree", run_liveness },  { "drain", run_drain },
                   { "roll call", run_roll_call }, { "restart", run_restart } };

    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        if (run_is_over(run) || verdict_count(run->verdict))
            break;
        phases[i].run(run);
        if (run->settings->phase_ended)
            run->settings->phase_ended(run->settings->user, phases[i].name,
                                       world_now(run->world));
    }
    run->result->is_early = run->settings->until && run_is_over(run);
}

static struct workload_settings load_settings(const struct options *options)
{
    const uint64_t *value = options->value;
    uint64_t clients = value[OPTION_CLIENTS] * value[OPTION_NODES];
    struct workload_settings load = {
        .ids = (uint32_t)value[OPTION_ENTITIES],
        .kept_ids = RUN_REMEMBERED,
        .skewed = value[OPTION_SKEWED],
        .clients = (uint32_t)value[OPTION_CLIENTS],
        .interval_ms = clients * 1000 / value[OPTION_LOAD] + 1,
        .body_max = (uint32_t)value[OPTION_BODY],
        .ask_ms_max = (uint32_t)value[OPTION_ASK],
        .storm = (uint32_t)value[OPTION_STORM_SIZE],
        .shards = (uint32_t)value[OPTION_SHARDS],
        .extractor = value[OPTION_TEXT_SHARDS] && !value[OPTION_ALLOCATION] ? &workload_extractor : NULL,
        .mailbox_max = (uint32_t)value[OPTION_MAILBOX],
        .idle_ms = value[OPTION_IDLE],
        .slow_stop_ms = (uint32_t)value[OPTION_SLOW_STOP],
        .stubborn_ms = (uint32_t)value[OPTION_STUBBORN],
        .event_versions = value[OPTION_EVENT_VERSIONS] != 0,
        .event_rejections =
            value[OPTION_EVENT_VERSIONS] ? (uint32_t)value[OPTION_EVENT_REJECTIONS] : 0,
        .recoveries_max = (uint32_t)value[OPTION_RECOVERIES],
        .snapshot_every = (uint32_t)value[OPTION_SNAPSHOTS],
        .snapshots_kept = (uint32_t)value[OPTION_SNAPSHOTS_KEPT],
        .snapshot_trims = value[OPTION_SNAPSHOT_TRIMS] != 0,
        .snapshot_margin = value[OPTION_SNAPSHOT_MARGIN],
        .type_strategies = value[OPTION_TYPE_STRATEGIES] != 0,
        .has_no_types = value[OPTION_NO_ENTITIES],
        .callers = (uint32_t)value[OPTION_CALLERS],
        .callers_start = value[OPTION_CALLERS] > 1,
    };

    if (value[OPTION_REMEMBER])
        load.types = (1u << WORKLOAD_TYPE_COUNT) - 1;
    for (uint32_t i = 0; i < WORKLOAD_TYPE_COUNT; i++)
        load.allocations[i] = options_allocation(options, i);
    load.custom = &allocation_load_strategy;
    for (int i = 0; i < WORKLOAD_OP_COUNT; i++)
        if (value[OPTION_OPS] >> i & 1)
            load.weights[i] =
                i == WORKLOAD_STORM || i == WORKLOAD_NARROW ? 1 : 20;
    return load;
}

static struct data_load *data_of(const struct run *run)
{
    const uint64_t *value = run->options->value;
    uint32_t clients = value[OPTION_DATA] > 1 ? 2 : 1;
    const struct data_load_settings settings = {
        .slots = (uint32_t)value[OPTION_DATA_SLOTS],
        .clients = clients,
        .interval_ms =
            clients * value[OPTION_NODES] * 1000 / value[OPTION_DATA] + 1,
        .timeout_ms = value[OPTION_DATA_TIMEOUT],
        .levels = (uint32_t)value[OPTION_DATA_LEVELS],
        .in_step = value[OPTION_DATA_STEP],
        .is_durable = value[OPTION_DATA_DURABLE],
        .expire_after_ms = value[OPTION_DATA_EXPIRE],
        .unknown = (uint32_t)value[OPTION_DATA_UNKNOWN],
        .speaks_late = options_data_forgets(run->options),
    };

    return data_load_new(run->world, &settings);
}

static struct kvstore_load *store_of(const struct run *run)
{
    const uint64_t *value = run->options->value;
    const struct kvstore_load_settings settings = {
        .slots = (uint32_t)value[OPTION_VERSIONS_KEYS],
        .interval_ms =
            2 * value[OPTION_NODES] * 1000 / value[OPTION_VERSIONS] + 1,
        .timeout_ms = value[OPTION_VERSIONS_TIMEOUT],
    };

    return kvstore_load_new(run->world, &settings);
}

static struct follow_load *follow_of(const struct run *run)
{
    const uint64_t *value = run->options->value;
    const struct follow_load_settings settings = {
        .most = (uint32_t)value[OPTION_FOLLOWERS],
        .nodes = (uint32_t)value[OPTION_NODES],
        .centers = (uint32_t)value[OPTION_CENTERS],
        .is_crowded = value[OPTION_MAILBOX] < CROWDED,
    };

    return follow_load_new(run->world, &settings);
}

static struct allocation_load *allocation_of(const struct run *run)
{
    const uint64_t *value = run->options->value;
    struct allocation_load_settings settings = {
        .shards = (uint32_t)value[OPTION_SHARDS],
        .load_bound = (double)value[OPTION_LOAD_BOUND] / 100,
        .nodes = (uint32_t)value[OPTION_NODES],
        .centers = (uint32_t)value[OPTION_CENTERS],
    };

    settings.types = workload_types(workload_world_of(run->load),
                                    &settings.type_count);
    return allocation_load_new(run->world, &settings);
}

static struct services_load *services_of(const struct run *run)
{
    const struct services_load_settings settings = {
        .centers = (uint32_t)run->options->value[OPTION_CENTERS],
    };

    return services_load_new(run->world, &settings);
}

static struct delivery_load *deliveries_of(const struct run *run)
{
    const uint64_t *value = run->options->value;
    const struct delivery_load_settings settings = {
        .interval_ms = value[OPTION_NODES] * 1000,
        .shards = (uint32_t)value[OPTION_SHARDS],
        .commands_max = (uint32_t)value[OPTION_COMMANDS_MAX],
        .commands_age_ms = value[OPTION_COMMANDS_AGE],
    };

    return delivery_load_new(run->world, &settings);
}

static struct look_load *looks_of(const struct run *run)
{
    struct look_load_settings settings = {
        .interval_ms = 1000 / run->options->value[OPTION_LOOKS],
    };

    settings.types = workload_types(workload_world_of(run->load), &settings.type_count);
    return look_load_new(run->world, &settings);
}

static struct operation_load *operations_of(const struct run *run)
{
    const uint64_t *value = run->options->value;
    struct operation_load_settings settings = {
        .interval_ms = 10000 / value[OPTION_OPERATIONS],
        .shards = (uint32_t)value[OPTION_SHARDS],
        .centers = (uint32_t)value[OPTION_CENTERS],
    };

    settings.types = workload_types(workload_world_of(run->load), &settings.type_count);
    return operation_load_new(run->world, &settings);
}

static struct request_load *requests_of(const struct run *run)
{
    const uint64_t *value = run->options->value;
    struct request_load_settings settings = {
        .ids = (uint32_t)value[OPTION_ENTITIES] < RUN_REMEMBERED
                   ? (uint32_t)value[OPTION_ENTITIES]
                   : RUN_REMEMBERED,
        .interval_ms =
            value[OPTION_NODES] * 1000 / value[OPTION_REQUESTS] + 1,
        .ask_ms_max = (uint32_t)value[OPTION_ASK],
    };

    settings.types = workload_types(workload_world_of(run->load),
                                    &settings.type_count);
    return settings.type_count ? request_load_new(run->world, &settings) : NULL;
}

static void make_cluster(struct run *run)
{
    const uint64_t *value = run->options->value;

    run->cluster.world = run->world;
    run->cluster.checks = run->checks;
    run->cluster.types = workload_types(workload_world_of(run->load),
                                        &run->cluster.type_count);
    if (run->rolling)
        run->cluster.types =
            rolling_load_types(run->rolling, run->cluster.types, run->cluster.type_count++);
    if (run->services)
        run->cluster.types = services_load_types(run->services, run->cluster.types,
                                                 run->cluster.type_count++);
    if (run->deliveries)
        run->cluster.types = delivery_load_types(run->deliveries, run->cluster.types,
                                                 run->cluster.type_count++);
    run->cluster.settings = set_life;
    run->cluster.user = run;
    run->cluster.resolves = value[OPTION_RESOLVER] != 0;
    run->cluster.power_waits = value[OPTION_POWER_WAITS] != 0;
    run->cluster.finds = value[OPTION_FOUND] != 0;
    run->cluster.centers = (uint32_t)value[OPTION_CENTERS];
    run->checks->centers = run->cluster.centers;
    cluster_init(&run->cluster);
}

/* flat: one workload and one checker after the other */
static void make_world(struct run *run)
{
    const uint64_t *value = run->options->value;
    struct world_settings settings = {
        .seed = run->options->seed,
        .link_min = value[OPTION_LINK_MIN] * 1000,
        .link_mean = run_link_mean(run->options),
        .mail_delay = value[OPTION_MAIL] * 1000,
        .backend_delay = value[OPTION_STORE] * 1000,
        .pipe_size = (uint32_t)value[OPTION_PIPE],
        .give_up = value[OPTION_GIVE_UP] * SECOND,
        .stores = (uint32_t)value[OPTION_CENTERS], /* each data center has its own journal */
        .database = (enum database_servers)value[OPTION_DATABASE],
        .byte_mode = value[OPTION_BYTE_MODE],
        .place = run->settings->place,
    };
    struct workload_settings load = load_settings(run->options);

    run->world = world_new(&settings);
    if (run->settings->until_event)
        world_tells_event(run->world, run->settings->until_event,
                          &run->result->event_at);
    run->verdict = world_verdict(run->world);
    verdict_listens(run->verdict, keep_violation, run->result);
    run->load = workload_world_new(run->world, &load);
    if (options_remember_in_data(run->options))
        workload_world_in_data(run->load);
    if (value[OPTION_DATA])
        run->data = data_of(run);
    if (value[OPTION_VERSIONS])
        run->store = store_of(run);
    if (value[OPTION_FOLLOWERS])
        run->follow = follow_of(run);
    if (value[OPTION_ALLOCATION] && !value[OPTION_NO_ENTITIES])
        run->allocation = allocation_of(run);
    if (value[OPTION_REQUESTS])
        run->requests = requests_of(run);
    if (value[OPTION_SERVICES])
        run->services = services_of(run);
    if (value[OPTION_DELIVERIES] && !value[OPTION_NO_ENTITIES])
        run->deliveries = deliveries_of(run);
    if (value[OPTION_LOOKS])
        run->looks = looks_of(run);
    if (value[OPTION_OPERATIONS])
        run->operations = operations_of(run);
    if (value[OPTION_ROLLING])
        run->rolling = rolling_load_new(run->world);
    /* A downed node waits some ticks of its leader until the others have heard of it. */
    run->checks = checks_new(run->world,
                             CHECK_STOP_NS + 5 * value[OPTION_LEADER] * MS);
    check_liveness_handoff_limit(run->checks->live,
                                 (value[OPTION_HANDOFF] * 9 / 8 + RUN_LATE_MS) * MS);
    check_entity_active_limit(run->checks->entity, value[OPTION_ACTIVE_LIMIT]);
    check_homes_limit(run->checks->homes, quiet_coordinate_bound(run->options));
    if (run->data)
        data_load_safety(run->data, &run->checks->safety,
                         run->checks->member);
    workload_world_safety(run->load, &run->checks->safety);
    if (run->operations)
        operation_load_safety(run->operations, &run->checks->safety);
    if (run->options->value[OPTION_SHARD_LEASES] & 1)
        workload_world_leases(run->load, run->checks->shard_lease);
    if (run->services)
        services_load_safety(run->services, &run->checks->safety);
    if (run->services && value[OPTION_SERVICE_LEASES])
        services_load_leases(run->services, checks_singleton_has, run->checks);
    if (run->store || run->requests || run->services || run->rolling || run->deliveries || value[OPTION_CALLERS] > 1)
        check_message_others(workload_check(workload_world_of(run->load)));
    make_cluster(run);
    if (run->settings->looks_on)
        run->settings->looks_on(run->settings->user, run->world);
}

/* no-leak: a freed world leaves no memory. */
static void leaks(struct run_result *result, uint64_t before)
{
    uint64_t now = mem_live();
    struct violation left = { .invariant = "no-leak",
                              .at = result->ended_at,
                              .node = VERDICT_NO_NODE };

    if (now == before)
        return;
    (void)snprintf(left.text, sizeof left.text,
                   "%lld allocations are left when everything is freed",
                   (long long)(now - before));
    keep_violation(result, &left);
}

void run_seed(const struct run_settings *settings, struct run_result *result)
{
    static const struct schedule nothing;
    uint64_t before = mem_live();
    struct run run;

    memset(&run, 0, sizeof run);
    memset(result, 0, sizeof *result);
    run.settings = settings;
    run.options = settings->options;
    run.result = result;
    run.cluster.nodes = (uint32_t)run.options->value[OPTION_NODES];
    run.rng = stream_rng(run.options->seed, STREAM_NEMESIS, RUN_HEAL_INDEX);
    run.raise_rng =
        stream_rng(run.options->seed, STREAM_NEMESIS, RUN_RAISE_INDEX);
    result->seed = run.options->seed;
    result->nodes = run.cluster.nodes;
    make_world(&run);
    run.nemesis = nemesis_new(run.world, &nothing, run.cluster.nodes,
                              &(struct nemesis_hands){ 0 });
    if (!settings->schedule)
        nemesis_draw(run.options, &run.drawn);
    run_phases(&run);
    finish(&run);
    if (settings->looks_back)
        settings->looks_back(settings->user, run.world);
    world_free(run.world);
    workload_world_free(run.load);
    data_load_free(run.data);
    kvstore_load_free(run.store);
    follow_load_free(run.follow);
    allocation_load_free(run.allocation);
    request_load_free(run.requests);
    services_load_free(run.services);
    delivery_load_free(run.deliveries);
    look_load_free(run.looks);
    operation_load_free(run.operations);
    rolling_load_free(run.rolling);
    mem_free(run.limits);
    checks_free(run.checks);
    nemesis_free(run.nemesis);
    schedule_fini(&run.drawn);
    cluster_fini(&run.cluster);
    leaks(result, before);
}
