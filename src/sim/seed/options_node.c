/* Turns options into the settings of a node.
 *
 * Each numeric setting of a node and of an entity type is drawn here or where a run makes its
 * workload, or this list has the reason. tests/unit/sim/settings_drawn_test.py compares.
 *
 * The identity of a node, and settings that follow from others:
 *   - seed_node_count, role_count, type_count, format_count, durable_key_count,
 *     shard_durable_key_count, data_expiry_count, role_minimum_count: lengths of lists
 *   - strategy_count: the types of a run choose the node's strategy; tests of nodes have others
 *   - checked_type_count, checked_for: a node that is not ready runs as others do
 *   - coordinator_retry, coordinator_retries, coordinator_backoff: bounds of the quiet phase count on Akka's
 *     values; the cores' own tests have others
 *   - region_query_timeout: no simulated program asks
 *   - late_types_max: room for types that a test adds
 *   - seed, now: the world's
 *   - required_seeds, stable_margin: follow from the number of nodes and the delays of discovery
 *     (cluster.c)
 *   - type.rebalance_absolute_limit, type.rebalance_relative_limit: a type without them uses the
 *     node's
 *   - type.active_entity_limit, type.active_byte_limit, type.lease_retry_ms: likewise
 *   - locations_timeout: of a call whose answer no checker judges
 *   - delivery_give_up, delivery_forget: a run is shorter than these times;
 *     unit tests of the core reach them
 *   - delivery_repeat, delivery_repeat_max: the workload's accounts need no other
 *   - type.stop_msg, type.remember, type.proxy: define a type (traffic.h)
 *   - remember.shard_count: the type's
 *   - remember.move_again: the node's retry_interval, which is drawn
 *   - remember.moves_max: follows from buffer_size, which is drawn
 *   - remember.ids_max: an entity beyond the limit does not answer, but the roll call asks all; the
 *     core's own test reaches the limit
 *   - data.update_size_max: a refused update shows nothing; the replicator's own tests reach the
 *     limit
 *   - data.frame_size, sharding_data.frame_size, data.entry_size_max, sharding_data.entry_size_max,
 *     sharding_data.update_size_max: follow from the size of a frame; the entries of a run are far
 *     smaller
 *   - snapshot_max: the images of a run are far smaller
 *   - timeline_max: of decisions that only looks show; small, because a world has many nodes (cluster.c)
 * Reports without effect:
 *   - slow_handler, publish_stats_interval, long_replay: lines of the log
 *   - data.logged_size, sharding_data.logged_size, remember.load_timeout, remember.write_timeout:
 *     lines of the log */
#include "base/timers.h"
#include "sim/seed/options.h"
#include "sim/seed/traffic.h"

#define UNSTABLE_MIN_MS 4000

static uint64_t ms(const struct options *options, enum sim_option option)
{
    return options->value[option] * MS;
}

static uint32_t number(const struct options *options, enum sim_option option)
{
    return (uint32_t)options->value[option];
}

static double share(const struct options *options, enum sim_option option)
{
    return (double)options->value[option] / 100;
}

static void member_settings(const struct options *options,
                            struct node_settings *settings)
{
    settings->tombstone_ttl = options->value[OPTION_TOMBSTONE] * SECOND;
    settings->different_view_probability = share(options, OPTION_OTHER_VIEW);
    settings->different_view_reduce = number(options, OPTION_VIEW_REDUCE);
    settings->heartbeat_samples_max = number(options, OPTION_SAMPLES);
    settings->join_give_up = options->value[OPTION_JOIN_GIVE_UP] * SECOND;
    settings->quarantine_removed_after = ms(options, OPTION_PARTED);
    settings->find_interval = ms(options, OPTION_FIND_INTERVAL);
    settings->find_backoff = ms(options, OPTION_FIND_BACKOFF);
    settings->cross_connections = number(options, OPTION_CROSS_CONNECTIONS);
    settings->cross_gossip_probability = share(options, OPTION_CROSS_GOSSIP);
    settings->cross_heartbeat_interval = ms(options, OPTION_CROSS_HEARTBEAT);
    settings->cross_heartbeat_expected = ms(options, OPTION_CROSS_EXPECTED);
    settings->cross_heartbeat_pause = ms(options, OPTION_CROSS_PAUSE);
}

uint64_t options_unstable_ms(const struct options *options)
{
    uint64_t share = options->value[OPTION_STABLE] *
                     options->value[OPTION_UNSTABLE] / 100;

    if (!options->value[OPTION_UNSTABLE])
        return 0;
    return share > UNSTABLE_MIN_MS ? share : UNSTABLE_MIN_MS;
}

enum allocation_kind options_allocation(const struct options *options,
                                        uint32_t type)
{
    uint64_t drawn = options->value[OPTION_ALLOCATION];

    return drawn < ALLOCATION_KIND_COUNT
               ? (enum allocation_kind)drawn
               : (enum allocation_kind)((type + options->seed) %
                                        ALLOCATION_KIND_COUNT);
}

static void strategy_settings(const struct options *options,
                              struct strategy *strategy)
{
    static const enum strategy_kind kinds[RESOLVER_COUNT] = {
        [RESOLVER_MAJORITY] = STRATEGY_KEEP_MAJORITY,
        [RESOLVER_OLDEST] = STRATEGY_KEEP_OLDEST,
        [RESOLVER_LEASE] = STRATEGY_LEASE_MAJORITY,
        [RESOLVER_QUORUM] = STRATEGY_STATIC_QUORUM,
        [RESOLVER_ALL] = STRATEGY_DOWN_ALL,
    };

    strategy->kind = kinds[options->value[OPTION_RESOLVER]];
    strategy->quorum_size = number(options, OPTION_NODES) / 2 + 1;
    strategy->minority_delay = ms(options, OPTION_MINORITY);
}

static void lease_settings(const struct options *options, struct node_settings *settings)
{
    settings->lease_ttl = ms(options, OPTION_LEASE_TTL);
    settings->lease_interval = ms(options, OPTION_LEASE_INTERVAL);
    settings->lease_patience = ms(options, OPTION_LEASE_PATIENCE);
    if (options->value[OPTION_SHARD_LEASES] & 1)
        settings->shard_lease = LEASE_PROVIDER_MEMORY;
    if (options->value[OPTION_SHARD_LEASES] & 2)
        settings->coordinator_lease = LEASE_PROVIDER_MEMORY;
    if (options->value[OPTION_SERVICE_LEASES])
        settings->services.singleton_lease = "memory";
    settings->services.lease_retry_ms = options->value[OPTION_LEASE_RETRY];
    settings->shard_lease_retry = ms(options, OPTION_LEASE_RETRY);
    settings->coordinator_lease_retry = ms(options, OPTION_LEASE_RETRY);
}

static void resolver_settings(const struct options *options,
                              struct node_settings *settings)
{
    settings->resolves = options->value[OPTION_RESOLVER] != RESOLVER_NONE;
    if (!settings->resolves)
        return;
    strategy_settings(options, &settings->resolver.strategy);
    settings->resolver.release_after = ms(options, OPTION_RELEASE);
    settings->lease_provider = LEASE_PROVIDER_MEMORY;
    settings->resolver.stable_after = ms(options, OPTION_STABLE);
    settings->resolver.unstable_after = options_unstable_ms(options) * MS;
    settings->down_removal_margin =
        ms(options, OPTION_STABLE) * options->value[OPTION_MARGIN] / 100;
}

static void data_settings(const struct options *options,
                          struct node_settings *node)
{
    struct replicator_settings *data = &node->data;
    const uint64_t *value = options->value;

    if (value[OPTION_DATA_DURABLE]) {
        node->durable_keys = traffic_durable_keys;
        node->durable_key_count = TRAFFIC_DURABLE_KEYS;
    }
    data->gossip_interval_ms = value[OPTION_DATA_GOSSIP];
    data->max_delta_elements = number(options, OPTION_DATA_ELEMENTS);
    data->max_delta_size = number(options, OPTION_DATA_DELTA);
    data->deltas_off = value[OPTION_DATA_NO_DELTAS];
    data->prefer_oldest = value[OPTION_DATA_OLDEST];
    data->pruning_interval_ms = value[OPTION_DATA_PRUNING];
    data->pruning_dissemination_ms = value[OPTION_DATA_SPREAD];
    data->pruning_marker_ms = value[OPTION_DATA_MARKER] * 1000;
    data->durable_pruning_marker_ms =
        value[OPTION_DATA_DURABLE_MARKER] * 1000;
    data->notify_interval_ms = value[OPTION_DATA_NOTIFY];
}

bool options_data_forgets(const struct options *options)
{
    const uint64_t *value = options->value;

    return value[OPTION_DATA_MARKER] < option_default(OPTION_DATA_MARKER) ||
           (value[OPTION_DATA_DURABLE] &&
            value[OPTION_DATA_DURABLE_MARKER] <
                option_default(OPTION_DATA_DURABLE_MARKER));
}

bool options_remember_in_data(const struct options *options)
{
    return options->value[OPTION_REMEMBER] &&
           options->value[OPTION_REMEMBER_DATA];
}

bool options_have_disks(const struct options *options)
{
    return options_remember_in_data(options) ||
           (options->value[OPTION_DATA] &&
            options->value[OPTION_DATA_DURABLE]);
}

static uint32_t beyond_majority(const struct options *options,
                                enum sim_option option)
{
    return options->value[option] ? number(options, option) : STATE_NONE;
}

static void remember_in_data(struct node_settings *node)
{
    static const char *const durable[] = { "shard-*" };

    node->remembers_in_data = true;
    node->shard_durable_keys = durable;
    node->shard_durable_key_count = 1;
}

static void kept_settings(const struct options *options,
                          struct node_settings *node)
{
    struct replicator_settings *sharding = &node->sharding_data;
    const uint64_t *value = options->value;

    node->state_write_plus = beyond_majority(options, OPTION_KEPT_WRITE);
    node->state_read_plus = beyond_majority(options, OPTION_KEPT_READ);
    node->state_majority_min = number(options, OPTION_KEPT_MIN);
    node->waiting_for_state_timeout = ms(options, OPTION_READ_STATE);
    node->updating_state_timeout = ms(options, OPTION_WRITE_STATE);
    sharding->prefer_oldest = true; /* as in Akka */
    sharding->gossip_interval_ms = value[OPTION_KEPT_GOSSIP];
    sharding->notify_interval_ms = value[OPTION_KEPT_NOTIFY];
    sharding->max_delta_elements = number(options, OPTION_KEPT_ELEMENTS);
    sharding->max_delta_size = number(options, OPTION_KEPT_DELTA);
    sharding->pruning_interval_ms = value[OPTION_KEPT_PRUNING];
    sharding->pruning_dissemination_ms = value[OPTION_KEPT_SPREAD];
    sharding->pruning_marker_ms = value[OPTION_KEPT_MARKER] * 1000;
    sharding->durable_pruning_marker_ms =
        value[OPTION_KEPT_DURABLE_MARKER] * 1000;
}

static void remember_settings(const struct options *options,
                              struct node_settings *node)
{
    struct remember_options *remember = &node->remember;
    static const enum remember_strategy strategies[] = {
        REMEMBER_ALL, /* unused */
        REMEMBER_ALL,
        REMEMBER_CONSTANT,
        REMEMBER_PACED,
    };

    remember->strategy = strategies[options->value[OPTION_REMEMBER]];
    remember->part_ids = number(options, OPTION_REMEMBER_PART);
    remember->base_after = number(options, OPTION_REMEMBER_BASE);
    remember->frequency = ms(options, OPTION_REMEMBER_FREQUENCY);
    remember->batch = number(options, OPTION_REMEMBER_BATCH);
    remember->target = ms(options, OPTION_REMEMBER_TARGET);
    remember->failure_backoff = ms(options, OPTION_REMEMBER_FAILURE);
    node->remembered_kept = options->value[OPTION_REMEMBER_KEPT];
    node->entity_restart_backoff = ms(options, OPTION_BACKOFF);
    if (options_remember_in_data(options))
        remember_in_data(node);
}

static void artery_settings(const struct options *options,
                            struct node_settings *settings)
{
#define X(name, text, persists, stops, remembers) "/system/sharding/" text,
    static const char *const regions[] = { WORKLOAD_TYPES(X) };
#undef X

    settings->preamble_within = ms(options, OPTION_PREAMBLE);
    settings->handshake_within = ms(options, OPTION_HANDSHAKE);
    settings->unknown_size_max = number(options, OPTION_UNKNOWN_SIZE);
    settings->large_destinations = regions;
    settings->large_destination_count = number(options, OPTION_LARGE);
    settings->large_frame_size = number(options, OPTION_LARGE_FRAME);
    settings->outbound_large_queue = number(options, OPTION_LARGE_QUEUE);
    settings->outbound_queue = number(options, OPTION_QUEUE);
    settings->outbound_control_queue = number(options, OPTION_CONTROL_QUEUE);
    settings->strangers_max = number(options, OPTION_STRANGERS);
}

/* The default strategy stays the node's; others have a main area alone. */
static void active_settings(const struct options *options, struct node_settings *settings)
{
    struct area_settings *main = &settings->passivation.main;
    uint64_t strategy = options->value[OPTION_ACTIVE_STRATEGY];

    settings->active_entity_limit = number(options, OPTION_ACTIVE_LIMIT);
    settings->active_byte_limit = options->value[OPTION_ACTIVE_BYTES];
    if (strategy == 0)
        return;
    main->policy = strategy <= 2    ? PASSIVATION_LEAST_RECENT
                   : strategy == 3  ? PASSIVATION_MOST_RECENT
                                    : PASSIVATION_LEAST_FREQUENT;
    main->levels = strategy == 2 ? 3 : 0;
    main->is_aging = strategy == 5;
}

void options_settings(const struct options *options,
                      struct node_settings *settings)
{
    member_settings(options, settings);
    data_settings(options, settings);
    kept_settings(options, settings);
    remember_settings(options, settings);
    artery_settings(options, settings);
    lease_settings(options, settings);
    resolver_settings(options, settings);
    settings->lanes = number(options, OPTION_LANES);
    settings->gossip_interval = ms(options, OPTION_GOSSIP);
    settings->leader_actions_interval = ms(options, OPTION_LEADER);
    settings->heartbeat_interval = ms(options, OPTION_HEARTBEAT);
    settings->acceptable_heartbeat_pause = ms(options, OPTION_PAUSE);
    settings->min_std_deviation = ms(options, OPTION_DEVIATION);
    settings->first_heartbeat_estimate = ms(options, OPTION_ESTIMATE);
    settings->unreachable_reaper_interval = ms(options, OPTION_REAPER);
    settings->seed_node_timeout = ms(options, OPTION_SEED_TIMEOUT);
    settings->retry_unsuccessful_join_after = ms(options, OPTION_JOIN_RETRY);
    settings->weakly_up_after = ms(options, OPTION_WEAKLY_UP);
    settings->weakly_up_off = options->value[OPTION_WEAKLY_UP_OFF];
    settings->periodic_initial_delay = ms(options, OPTION_INITIAL_DELAY);
    settings->phi_threshold = (double)options->value[OPTION_PHI] / 10;
    settings->monitored_by_nr_of_members =
        number(options, OPTION_MONITORED_BY);
    settings->min_nr_of_members = number(options, OPTION_MEMBERS_MIN);
    settings->number_of_shards = number(options, OPTION_SHARDS);
    settings->buffer_size = number(options, OPTION_BUFFER);
    if (!settings->buffer_size)
        settings->buffer_size = BUFFER_NONE;
    settings->rebalance_absolute_limit =
        number(options, OPTION_REBALANCE_ABSOLUTE);
    settings->rebalance_relative_limit =
        share(options, OPTION_REBALANCE_RELATIVE);
    settings->rebalance_threshold =
        number(options, OPTION_REBALANCE_THRESHOLD);
    settings->max_simultaneous_rebalance =
        number(options, OPTION_REBALANCE_MAX);
    settings->hashing_limit = number(options, OPTION_HASHING_LIMIT);
    settings->load_bound = share(options, OPTION_LOAD_BOUND);
    settings->retry_interval = ms(options, OPTION_RETRY);
    settings->handoff_timeout = ms(options, OPTION_HANDOFF);
    settings->shard_start_timeout = ms(options, OPTION_SHARD_START);
    settings->rebalance_interval = ms(options, OPTION_REBALANCE);
    settings->shutdown_region_timeout = ms(options, OPTION_SHUTDOWN);
    settings->passivate_idle_after = ms(options, OPTION_IDLE);
    settings->recoveries_max = number(options, OPTION_RECOVERIES);
    settings->commands_max = number(options, OPTION_COMMANDS_MAX);
    settings->commands_age = ms(options, OPTION_COMMANDS_AGE);
    settings->passivate_interval = ms(options, OPTION_IDLE_INTERVAL);
    active_settings(options, settings);
    for (int i = 0; i < SHERD_PHASE_COUNT; i++)
        settings->phase_timeouts[i] = ms(options, OPTION_PHASE);
}
