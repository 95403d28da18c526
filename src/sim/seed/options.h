/* Decides about a run before it begins: cluster, links, every setting of its nodes, load, and kinds
 * and rates of faults.
 *
 * Options are a table of named numbers. options_draw draws each from its own stream, so an added
 * option changes no other one. options_set overrides one. options_put prints all as one line of
 * JSON.
 *
 * Settings of nodes come from {smallest allowed, small, default, large}, as in swarm testing
 * (FoundationDB, TigerBeetle's VOPR). */
#ifndef SHERD_SIM_SEED_OPTIONS_H
#define SHERD_SIM_SEED_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "node/node.h"

#define OPTIONS_NODES_MAX 1000

enum sim_mode {
    MODE_SWARM,   /* everything */
    MODE_LITE,    /* default settings; nodes only crash and restart */
    MODE_CHURN,   /* nodes join, leave, crash and restart at once */
    MODE_HANDOFF, /* nodes only join and leave gracefully: no message may be lost */
    MODE_STORAGE, /* storage fails, stalls and loses power; nodes crash */
    MODE_SCALE,   /* 100 to 1,000 nodes, light load, few faults */
    MODE_SBR,     /* nodes have split brain resolvers; networks part, nodes crash and pause */
    MODE_CENTERS, /* two or three data centers, which networks part; nodes crash, leave and pause */
    MODE_DATA,    /* everything, with little load for entities and much for distributed data */
    MODE_STORE,   /* membership changes and partitions, with much load for an N/R/W store */
    MODE_MEMBER,  /* 100 to 1,000 nodes with a little distributed data and without entities */
    MODE_COUNT
};

/* Values of the option "resolver". */
enum sim_resolver {
    RESOLVER_NONE,
    RESOLVER_MAJORITY,
    RESOLVER_OLDEST,
    RESOLVER_LEASE,
    RESOLVER_QUORUM,
    RESOLVER_ALL,
    RESOLVER_COUNT
};

/* X(id, name, default, values that a swarm draws with equal probability). A value that is listed
 * twice is drawn twice as often. A name ends with its unit. load: bursts of messages per second, of
 * all clients together. ops: a set of bits of enum workload_op. */
/* for settings of which few are unusual in one world */
#define SELDOM(usual, ...) usual, usual, usual, usual, usual, usual, usual, usual, __VA_ARGS__
#define OPTION_LIST(X)                                                         \
    X(MODE, "mode", 0, 0)                                                      \
    X(NODES, "nodes", 5, 3, 4, 5, 6, 7, 8, 12, 20, 21, 40, 60)                 \
    X(LENGTH, "length_s", 600, 600, 1200, 3600, 7200, 21600)                   \
    X(LANES, "lanes", 2, 1, 2, 3, 4)                                           \
    X(BYTE_MODE, "byte_mode", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)                 \
    X(LINK_MIN, "link_min_us", 50, 0, 50, 5000, 30000)                         \
    X(LINK_MEAN, "link_mean_us", 1000, 1000, 1000, 10000, 100000)              \
    X(MAIL, "mail_us", 20, 1, 20, 1000, 20000)                                 \
    X(STORE, "store_us", 2000, 100, 2000, 50000, 1000000)                      \
    X(PIPE, "pipe_bytes", 262144, 4096, 65536, 262144, 4194304)                \
    X(GIVE_UP, "give_up_s", 60, 10, 30, 60, 924)                               \
    X(GOSSIP, "gossip_interval_ms", 1000, 100, 300, 1000, 3000)                \
    X(LEADER, "leader_actions_interval_ms", 1000, 100, 300, 1000, 3000)        \
    X(HEARTBEAT, "heartbeat_interval_ms", 1000, 100, 500, 1000, 2000)          \
    X(PAUSE, "acceptable_heartbeat_pause_ms", 3000, 500, 1000, 3000, 20000)      \
    X(DEVIATION, "min_std_deviation_ms", 100, 1, 50, 100, 1000)                \
    X(ESTIMATE, "first_heartbeat_estimate_ms", 1000, 100, 500, 1000, 5000)     \
    X(REAPER, "unreachable_reaper_interval_ms", 1000, 100, 500, 1000, 3000)    \
    X(SEED_TIMEOUT, "seed_node_timeout_ms", 5000, 1000, 2000, 5000, 10000)     \
    X(JOIN_RETRY, "retry_unsuccessful_join_after_ms", 10000, 1000, 3000,       \
      10000, 20000)                                                            \
    X(WEAKLY_UP, "weakly_up_after_ms", 7000, 1000, 3000, 7000, 30000)          \
    X(WEAKLY_UP_OFF, "weakly_up_off", 0, 0, 0, 0, 1)                           \
    X(INITIAL_DELAY, "periodic_initial_delay_ms", 1000, 1, 100, 1000, 5000)    \
    X(PHI, "phi_threshold_tenths", 80, 10, 40, 80, 160)                        \
    X(MONITORED_BY, "monitored_by", 9, 1, 3, 9, 60)                            \
    X(MEMBERS_MIN, "min_nr_of_members", 1, 1, 1, 2, 3)                         \
    X(SHARDS, "number_of_shards", 100, 1, 8, 100, 1000)                        \
    X(BUFFER, "buffer_size", 100000, 0, 1, 10, 1000, 100000)                   \
    X(REBALANCE_ABSOLUTE, "rebalance_absolute_limit", 0, 0, 1, 5, 100)         \
    X(REBALANCE_RELATIVE, "rebalance_relative_limit_percent", 10, 1, 5, 10,    \
      100)                                                                     \
    X(REBALANCE_THRESHOLD, "rebalance_threshold", 1, 1, 1, 3, 10)              \
    X(REBALANCE_MAX, "max_simultaneous_rebalance", 3, 1, 2, 3, 100)            \
    X(RETRY, "retry_interval_ms", 2000, 100, 500, 2000, 10000)                 \
    X(HANDOFF, "handoff_timeout_ms", 60000, 1000, 10000, 60000, 120000)        \
    X(SHARD_START, "shard_start_timeout_ms", 10000, 500, 2000, 10000, 60000)   \
    X(REBALANCE, "rebalance_interval_ms", 10000, 200, 1000, 10000, 60000)      \
    X(SHUTDOWN, "shutdown_region_timeout_ms", 60000, 1000, 10000, 60000,       \
      120000)                                                                  \
    X(QUEUE, "outbound_queue", 3072, 1, 16, 3072, 100000)                      \
    X(CONTROL_QUEUE, "outbound_control_queue", 20000, 1, 100, 20000, 100000)   \
    X(IDLE, "idle_ms", 120000, 10, 1000, 120000, 86400000)                     \
    X(MAILBOX, "mailbox_max", 10000, 1, 10, 10000, 1000000)                    \
    X(CLIENTS, "clients", 2, 1, 1, 2, 4)                                       \
    X(ENTITIES, "entities", 100, 1, 10, 100, 1000)                             \
    X(SKEWED, "skewed", 0, 0, 1)                                               \
    X(LOAD, "load", 10, 1, 3, 10, 30)                                          \
    X(OPS, "ops", 2047, 4095, 4095, 2047, 1, 2, 4, 7, 28, 127, 511)            \
    X(STORM_SIZE, "storm", 100, 1, 10, 100, 500)                               \
    X(SLOW_STOP, "slow_stop_ms", 2000, 1, 500, 2000, 10000)                    \
    X(ASK, "ask_ms", 10000, 100, 1000, 10000, 30000)                           \
    X(FAULTS, "faults_per_hour", 0, 6, 20, 60, 200)                            \
    X(FAULT_LENGTH, "fault_length_s", 20, 1, 5, 20, 120)                       \
    X(ZOMBIES, "zombies", 0, 0, 0, 0, 1)                                       \
    X(CRASH, "fault_crash", 0, 0, 1, 3)                                        \
    X(LEAVE, "fault_leave", 0, 0, 1, 3)                                        \
    X(LEAVE_KILL, "fault_leave_kill", 0, 0, 1, 3)                              \
    X(STILL, "fault_pause", 0, 0, 1, 3)                                        \
    X(SLOW, "fault_slow", 0, 0, 0, 1)                                          \
    X(WALL, "fault_wall", 0, 0, 1, 3)                                          \
    X(DRIFT, "fault_drift", 0, 0, 0, 1)                                        \
    X(CUT, "fault_cut", 0, 0, 1, 3)                                            \
    X(FLAP, "fault_flap", 0, 0, 0, 1)                                          \
    X(CLOG, "fault_clog", 0, 0, 1, 3)                                          \
    X(SWIZZLE, "fault_swizzle", 0, 0, 0, 1)                                    \
    X(RESET, "fault_reset", 0, 0, 1, 3)                                        \
    X(HALF_OPEN, "fault_half_open", 0, 0, 0, 1)                                \
    X(REFUSE, "fault_refuse", 0, 0, 0, 1)                                      \
    X(SLOW_ACCEPT, "fault_slow_accept", 0, 0, 0, 1)                            \
    X(BLACK_HOLE, "fault_black_hole", 0, 0, 0, 1)                              \
    X(SLOW_LINK, "fault_slow_link", 0, 0, 0, 1)                                \
    X(DISK_STALL, "fault_disk_stall", 0, 0, 1, 3)                              \
    X(DISK_ERROR, "fault_disk_error", 0, 0, 1, 3)                              \
    X(DISK_FULL, "fault_disk_full", 0, 0, 0, 1)                                \
    X(DISK_SYNC, "fault_disk_sync", 0, 0, 0, 1)                                \
    X(POWER, "fault_power", 0, 0, 0, 1)                                        \
    X(DOWN_ALIVE, "fault_down", 0, 0, 0, 0, 1)                                 \
    X(LEAVE_OLDEST, "fault_leave_oldest", 0, 0, 0, 0, 1)                       \
    X(STUBBORN, "stubborn_ms", 0, 0, 0, 0, 30000, 100000)                      \
    X(RESOLVER, "resolver", 0, 0, 0, 0, 0, 0, 0, 1, 2, 3)                      \
    X(STABLE, "resolver_stable_ms", 5000, 5000, 20000)                         \
    X(CENTERS, "data_centers", 1, 2, 2, 3)                                     \
    X(DATA, "data_load", 0, 0, 0, 0, 10)                                       \
    X(DATA_SLOTS, "data_slots", 9, 9, 9, 18, 36)                               \
    X(DATA_LEVELS, "data_levels", 31, 31, 31, 31, 1, 4, 20)                    \
    X(DATA_TIMEOUT, "data_timeout_ms", 5000, 100, 1000, 5000, 20000)           \
    X(DATA_GOSSIP, "data_gossip_interval_ms", 2000, 200, 1000, 2000, 5000)     \
    X(DATA_ELEMENTS, "data_max_delta_elements", 500, 2, 10, 500, 500)          \
    X(DATA_DELTA, "data_max_delta_size", 50, 1, 4, 50, 500)                    \
    X(DATA_NO_DELTAS, "data_no_deltas", 0, 0, 0, 0, 0, 1)                      \
    X(DATA_OLDEST, "data_prefer_oldest", 0, 0, 0, 1)                           \
    X(DATA_PRUNING, "data_pruning_interval_ms", 120000, 500, 2000, 10000,      \
      120000)                                                                  \
    X(DATA_SPREAD, "data_pruning_dissemination_ms", 300000, 1000, 5000, 30000, \
      300000)                                                                  \
    X(DATA_MARKER, "data_pruning_marker_s", 864000, 864000, 600)               \
    X(DATA_STEP, "data_in_step", 0, 0, 0, 1)                                   \
    X(REMEMBER, "remember", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3)             \
    X(REMEMBER_PART, "remember_part_ids", 100, 1, 3, 100)                      \
    X(REMEMBER_BASE, "remember_base_after", 1000, 1, 3, 20, 1000)              \
    X(DATA_DURABLE, "data_durable", 0, 0, 0, 0, 0, 1)                          \
    X(VERSIONS, "versions_load", 0, 3, 10, 30)                                 \
    X(VERSIONS_KEYS, "versions_keys", 6, 1, 6, 20)                             \
    X(VERSIONS_TIMEOUT, "versions_timeout_ms", 3000, 300, 3000, 10000)         \
    X(REMEMBER_DATA, "remember_in_data", 0, 0, 0, 1)                           \
    X(KEPT_WRITE, "coordinator_write_plus", 3, 3, 3, 0)                        \
    X(KEPT_READ, "coordinator_read_plus", 5, 5, 5, 0)                          \
    X(KEPT_MIN, "coordinator_majority_min", 5, 5, 5, 1)                        \
    X(FOUND, "seeds_found", 0, 0, 0, 0, 0, 1)                                  \
    X(RESTART, "fault_restart", 0, 0, 0, 0, 1)                                 \
    X(CRASH_SEVERAL, "fault_crash_several", 0, 0, 0, 0, 0, 0, 1)          \
    X(NO_ENTITIES, "no_entities", 0, 0, 1)                                     \
    X(SPLIT, "split", 0, 0, 1)                                                 \
    X(TOMBSTONE, "tombstone_ttl_s", 86400, SELDOM(86400, 1200, 3600, 604800))  \
    X(OTHER_VIEW, "different_view_percent", 80, SELDOM(80, 1, 40, 100))        \
    X(VIEW_REDUCE, "different_view_reduce", 400, SELDOM(400, 1, 5, 5000))      \
    X(SAMPLES, "heartbeat_samples_max", 1000, SELDOM(1000, 1, 10, 10000))      \
    X(JOIN_GIVE_UP, "join_give_up_s", 0, SELDOM(0, 60, 120, 3600))             \
    X(PARTED, "quarantine_removed_after_ms", 5000,                             \
      SELDOM(5000, 1, 1000, 60000))                                            \
    X(FIND_INTERVAL, "find_interval_ms", 1000, SELDOM(1000, 100, 300, 10000))  \
    X(FIND_BACKOFF, "find_backoff_ms", 4000, SELDOM(4000, 100, 1000, 15000))   \
    X(CROSS_CONNECTIONS, "cross_connections", 5, SELDOM(5, 1, 2, 60))          \
    X(CROSS_GOSSIP, "cross_gossip_percent", 20, SELDOM(20, 1, 5, 100))         \
    X(CROSS_HEARTBEAT, "cross_heartbeat_interval_ms", 3000,                    \
      SELDOM(3000, 500, 1000, 10000))                                          \
    X(CROSS_EXPECTED, "cross_heartbeat_expected_ms", 1000,                     \
      SELDOM(1000, 100, 500, 5000))                                            \
    X(CROSS_PAUSE, "cross_heartbeat_pause_ms", 10000,                          \
      SELDOM(10000, 1000, 3000, 30000))                                        \
    X(RESOLVER_PLAIN, "resolver_plain", 0, 0, 0, 0, 0, 0, 0, 4, 5)             \
    X(UNSTABLE, "resolver_unstable_percent", 75, SELDOM(75, 0, 100, 400))      \
    X(MINORITY, "lease_minority_delay_ms", 2000, SELDOM(2000, 1, 500, 10000))  \
    X(RELEASE, "lease_release_after_ms", 10000,                                \
      SELDOM(10000, 20000, 40000, 300000))                                     \
    X(LEASE_TTL, "lease_ttl_ms", 20000, SELDOM(20000, 4000, 8000, 120000))     \
    X(LEASE_INTERVAL, "lease_interval_ms", 4000,                               \
      SELDOM(4000, 500, 1000, 9000))                                           \
    X(LEASE_PATIENCE, "lease_patience_ms", 5000,                               \
      SELDOM(5000, 100, 1000, 20000))                                          \
    X(MARGIN, "down_removal_margin_percent", 100, SELDOM(100, 150, 200, 400)) \
    X(READ_STATE, "waiting_for_state_timeout_ms", 2000,                        \
      SELDOM(2000, 100, 500, 10000))                                           \
    X(WRITE_STATE, "updating_state_timeout_ms", 5000,                          \
      SELDOM(5000, 500, 1000, 20000))                                          \
    X(BACKOFF, "entity_restart_backoff_ms", 10000,                             \
      SELDOM(10000, 100, 1000, 60000))                                         \
    X(REMEMBER_FREQUENCY, "remember_frequency_ms", 100,                        \
      SELDOM(100, 1, 10, 1000))                                                \
    X(REMEMBER_BATCH, "remember_batch", 5, SELDOM(5, 1, 2, 100))               \
    X(REMEMBER_TARGET, "remember_target_ms", 20, SELDOM(20, 1, 5, 500))        \
    X(REMEMBER_FAILURE, "remember_failure_backoff_ms", 10000,                  \
      SELDOM(10000, 1000, 3000, 60000))                                        \
    X(REMEMBER_KEPT, "remembered_kept", 0, SELDOM(0, 1, 10, 10000))            \
    X(KEPT_GOSSIP, "sharding_gossip_interval_ms", 2000,                        \
      SELDOM(2000, 200, 1000, 5000))                                           \
    X(KEPT_NOTIFY, "sharding_notify_interval_ms", 500,                         \
      SELDOM(500, 50, 200, 2000))                                              \
    X(KEPT_ELEMENTS, "sharding_max_delta_elements", 5, SELDOM(5, 1, 2, 500))   \
    X(KEPT_DELTA, "sharding_max_delta_size", 50, SELDOM(50, 1, 4, 500))        \
    X(KEPT_PRUNING, "sharding_pruning_interval_ms", 120000,                    \
      SELDOM(120000, 2000, 10000, 600000))                                     \
    X(KEPT_SPREAD, "sharding_pruning_dissemination_ms", 300000,                \
      SELDOM(300000, 90000, 150000, 900000))                                     \
    X(KEPT_MARKER, "sharding_pruning_marker_s", 21600,                         \
      SELDOM(21600, 600, 3600, 864000))                                        \
    X(KEPT_DURABLE_MARKER, "sharding_durable_pruning_marker_s", 864000,        \
      SELDOM(864000, 600, 3600, 8640000))                                      \
    X(PREAMBLE, "preamble_within_ms", 5000, SELDOM(5000, 500, 1000, 20000))    \
    X(HANDSHAKE, "handshake_within_ms", 5000, SELDOM(5000, 500, 2000, 20000))  \
    X(UNKNOWN_SIZE, "unknown_size_max", 16380,                                 \
      SELDOM(16380, 1024, 4096, 262144))                                       \
    X(LARGE, "large_types", 0, SELDOM(0, 1, 2, 6))                             \
    X(LARGE_FRAME, "large_frame_size", 2097152,                                \
      SELDOM(2097152, 262144, 1048576, 16777216))                              \
    X(LARGE_QUEUE, "outbound_large_queue", 256, SELDOM(256, 1, 16, 100000))    \
    X(BODY, "body_bytes", 200, SELDOM(200, 40, 2000, 100000))                  \
    X(DATA_NOTIFY, "data_notify_interval_ms", 500, SELDOM(500, 50, 200, 2000)) \
    X(DATA_DURABLE_MARKER, "data_durable_pruning_marker_s", 864000,            \
      SELDOM(864000, 600, 3600, 8640000))                                      \
    X(PHASE, "phase_timeout_ms", 0, SELDOM(0, 2000, 5000, 120000))                              \
    X(SHARDS_AFTER, "shards_after_restart", 0, 0, 0, 0, 8, 150)                \
    X(DATA_EXPIRE, "data_expire_ms", 0, SELDOM(0, 4000, 10000, 30000, 120000)) \
    X(POWER_WAITS, "power_waits", 0, 0, 0, 1)                                  \
    X(STORES_MUCH, "stores_much", 0, SELDOM(0, 0, 0, 0, 0, 0, 0, 0, 1))        \
    X(POWER_OFF, "fault_power_off", 0, 0, 5, 10)                               \
    X(FOREIGN, "fault_foreign", 0, SELDOM(0, 0, 0, 0, 0, 0, 0, 0, 1))          \
    X(FOLLOWERS, "followers", 1, 2, 2, 2, 0, 1, 5)                             \
    X(CALLERS, "callers", 0, 0, 0, 0, 0, 0, 0, 1, 2)                           \
    X(FAKE_JOINS, "fault_fake_joins", 0, SELDOM(0, 0, 0, 0, 0, 0, 1))          \
    X(ACTIVE_LIMIT, "active_entity_limit", 0, SELDOM(0, 1, 8, 40, 200))        \
    X(ACTIVE_BYTES, "active_byte_limit", 0, SELDOM(0, 0, 400, 4000, 40000))    \
    X(ACTIVE_STRATEGY, "active_strategy", 0, 0, 0, 1, 2, 3, 4, 5)              \
    X(IDLE_INTERVAL, "idle_interval_ms", 0, SELDOM(0, 10, 1000, 30000))        \
    X(REQUESTS, "requests_load", 0, 0, 0, 0, 2, 10)                            \
    X(DATA_UNKNOWN, "data_unknown", 0, SELDOM(0, 0, 1, 2))                     \
    X(ALLOCATION, "allocation", 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4)               \
    X(HASHING_LIMIT, "hashing_rebalance_limit", 0, 0, 0, 1, 5)                 \
    X(LOAD_BOUND, "hashing_load_bound_percent", 0, 0, 0, 100, 125, 200)        \
    X(STRANGERS, "strangers_max", 1024, SELDOM(1024, 5, 10, 65))               \
    X(FLOOD, "fault_flood", 0, SELDOM(0, 0, 0, 0, 0, 0, 1))                    \
    X(SHARD_LEASES, "shard_leases", 0, SELDOM(0, 1, 2, 3))                     \
    X(LEASE_RETRY, "lease_retry_ms", 5000, SELDOM(5000, 200, 1000, 20000))     \
    X(LEASE_CUT, "fault_lease_cut", 0, 0, 1, 3)                                  \
    X(TEXT_SHARDS, "text_shards", 0, 0, 0, 0, 1)                               \
    X(SERVICES, "services_load", 0, 0, 0, 1)                                   \
    X(SERVICE_LEASES, "service_leases", 0, SELDOM(0, 1, 1))                    \
    X(ROLLING, "rolling_restarts", 0, SELDOM(0, 0, 0, 0, 0, 0, 0, 6))          \
    X(RAPID, "fault_rapid_restart", 0, 0, 0, 0, 1, 3)                          \
    X(LEASES_MUCH, "leases_much", 0, SELDOM(0, 0, 0, 0, 0, 0, 0, 1))           \
    X(LIMIT_CHANGES, "limit_changes", 8, 8, 8, 1, 60)                          \
    X(EVENT_VERSIONS, "event_versions", 0, 0, 1)                               \
    X(EVENT_REJECTIONS, "event_rejections", 0, 0, 0, 1000, 200, 50)            \
    X(RECOVERIES, "recoveries_max", 50, SELDOM(50, 8, 20, 200))                \
    X(SNAPSHOTS, "snapshot_every", 0, 0, 0, 1, 4, 20)                          \
    X(SNAPSHOTS_KEPT, "snapshots_kept", 2, 2, 1, 3)                            \
    X(SNAPSHOT_TRIMS, "snapshot_trims", 0, 0, 1)                               \
    X(SNAPSHOT_MARGIN, "snapshot_margin", 0, 0, 0, 5)                          \
    X(TYPE_STRATEGIES, "type_strategies", 0, SELDOM(0, 1, 1))                  \
    X(DELIVERIES, "deliveries_load", 0, 0, 0, 1)                               \
    X(COMMANDS_MAX, "commands_max", 1000, SELDOM(1000, 1, 3, 10))              \
    X(COMMANDS_AGE, "commands_age_ms", 3600000, SELDOM(3600000, 5000, 30000, 120000)) \
    X(DATABASE, "database", 0, SELDOM(0, 0, 0, 0, 0, 0, 1, 2, 3))              \
    X(LOOKS, "looks_load", 0, 0, 0, 0, 2, 10)                                  \
    X(OPERATIONS, "operations_load", 0, 0)

/* Meanings that the names do not tell:
 *
 *   - allocation: the strategy of all types as enum allocation_kind; 4: each type has another one.
 *   - data_durable: half of the keys' types are stored on each node's disk.
 *   - data_unknown: n of n + 1 nodes do not know the type of one key, as if it were a JVM program's
 *     own; then no node sends deltas. 0: all know it.
 *   - data_expire_ms: counters and the OR-set expire when they are unused for that time, where
 *     clocks are exact; 0: never.
 *   - remember: entities of two more types are remembered; 0 = no, else how they start again: 1 =
 *     all, 2 = constant, 3 = paced. With remember_in_data they are stored in distributed data on
 *     each node's disk, not in the journal.
 *   - phase_timeout_ms: of each phase of a node's shutdown; 0: Akka's time-outs.
 *   - large_types: messages from other nodes to the first types of enum workload_type, that many,
 *     use the large stream.
 *   - body_bytes: the longest body of one message in 32.
 *   - shards_after_restart: the number of shards of types with entities remembered in the journal,
 *     after the restart from disk; 0: unchanged.
 *   - active_entity_limit, active_byte_limit: of the region of each type on a node; 0: none.
 *     active_strategy: 0 = the default, else the main area's alone: 1 = least recent, 2 = segments,
 *     3 = most recent, 4 = least frequent, 5 = with dynamic aging.
 *   - type_strategies: some types have passivation strategies of their own.
 *   - shard_leases: 1 = of all shards, 2 = of all coordinators, 3 = of both, with lease_ttl_ms and
 *     the like.
 *   - service_leases: of singletons of services_load, 1 = likewise.
 *   - power_waits: a loss of power waits for a moment in which a backend writes.
 *   - stores_much: backends are slow, many entities store events, and power fails often.
 *   - fault_flood: with few strangers_max.
 *   - fault_power_off: only for nodes with durable keys, which have disks.
 *   - split: with a resolver, the run begins with a clean partition, judged by the promise of the
 *     strategy.
 *   - event_versions: events have several versions, and old ones are upcast.
 *   - snapshot_every: entities take a snapshot every so many events, or sometimes; 0: none.
 *     snapshot_trims: then events are deleted up to the oldest one of snapshots_kept, but for
 *     snapshot_margin events.
 *   - event_rejections: with event_versions, entities reject one of so many events; 0: none.
 *   - commands_max, commands_age_ms: how many commands of sherd_once an entity keeps, and how long.
 *   - rolling_restarts: before the faults so many nodes restart gracefully, one after another, while
 *     all nodes ask. Links, storage and settings are usual then.
 *   - leases_much: shards or coordinators have leases, all types have locations, and nodes are often
 *     cut off from the provider for longer than a lease lasts.
 *   - limit_changes: how often the limits of active entities change in a run that has them.
 *   - no_entities: nodes have no entity types, and no clients that talk to any.
 *   - followers: most actors of an incarnation that subscribe to cluster events. If there are any,
 *     one entity in 32 may subscribe, too, and each node has a role. In clusters above eight nodes
 *     about eight nodes have followers.
 *   - callers: actors of an incarnation that talk to each other by ref and by path, forward
 *     messages, and stop actors. With two of them they also start entities; counters of nodes can
 *     then not be compared exactly.
 *   - seeds_found: nodes look up their seed nodes in a list that follows starts and ends with a
 *     delay.
 *   - coordinator_...: replicas beyond a majority that store a coordinator's state or are read for
 *     it, and the least majority. With remember_in_data the last has its default, because
 *     remembered entities use it, too.
 *   - data_load, versions_load, requests_load, looks_load: calls of distributed data and of the N/R/W
 *     store, bursts of requests of programs' threads, and looks, per second, of all nodes together.
 *     With requests
 *     counters of nodes cannot be compared exactly.
 *   - operations_load: operations in 10 seconds, of all nodes together: cordons, drains,
 *     moves of shards, pauses of rebalances.
 *   - database: 0 = the journal is on a disk that all nodes share, else in a simulated PostgreSQL
 *     server, with the store that real nodes use: 1 = alone, 2 = with a synchronous standby, 3 = with
 *     one that may lack the last commits. With faults the server has its own, too. Not drawn with
 *     rolling_restarts or stores_much.
 *   - text_shards: the types have an extractor: shards have texts as ids, every other tell goes to
 *     the region, and starts of entities are acknowledged. The number of shards stays. Not with
 *     allocation.
 *   - data_levels: a set of bits of enum sherd_level.
 *   - data_pruning_marker_s, also of durable keys: where clocks are exact; otherwise longer than
 *     any run.
 *   - data_in_step: clients call at the same times.
 *   - data_centers: node n is in number n modulo this. Each has its own entities and its own
 *     journal backend.
 *   - resolver: 0 = none, the operator downs dead nodes; 1 = keep-majority, 2 = keep-oldest, 3 =
 *     lease-majority, 4 = static-quorum of more than half of the nodes, 5 = down-all.
 *   - resolver_plain: if not 0, it replaces a resolver that is not 0.
 *   - resolver_unstable_percent, down_removal_margin_percent: of resolver_stable_ms. */
/* The option after the faults that begin with CRASH; a few more faults stand at the end of the list. */
#define OPTION_FAULTS_END OPTION_STUBBORN

enum sim_option {
#define OPTION_ID(id, name, ...) OPTION_##id,
    OPTION_LIST(OPTION_ID)
#undef OPTION_ID
    OPTION_COUNT
};

struct options {
    uint64_t seed;
    uint64_t value[OPTION_COUNT];
};

/* Limits of the draw. 0 = none. */
struct options_wish {
    enum sim_mode mode;
    uint64_t nodes_min, nodes_max;
    uint64_t length_min_s, length_max_s;
};

void options_default(struct options *options, uint64_t seed);
/* Equal wishes and seeds give equal options. */
void options_draw(struct options *options, uint64_t seed,
                  const struct options_wish *wish);
/* Sets the options that define a mode. Needs the number of nodes. */
void options_insist(struct options *options, enum sim_mode mode);
/* Sets an option from "name=value", or "mode=lite". False with the reason in error. */
bool options_set(struct options *options, const char *text, char *error,
                 size_t size);
/* {"seed":1,"nodes":5,...}, all options */
void options_put(const struct options *options, struct buf *text);
const char *option_name(enum sim_option option);
uint64_t option_default(enum sim_option option);
bool option_is_fault(enum sim_option option); /* whether its value is the fault's weight */
const char *mode_name(enum sim_mode mode);
bool mode_parse(const char *text, enum sim_mode *mode);

/* Fills in a node's settings except its entity types. */
void options_settings(const struct options *options,
                      struct node_settings *settings);
/* time of changes before a resolver downs all; 0: never */
uint64_t options_unstable_ms(const struct options *options);
/* The allocation strategy of the type with that index. */
enum allocation_kind options_allocation(const struct options *options,
                                        uint32_t type);
/* round trip through a third node with two writes */
uint64_t options_answer_ms(const struct options *options);
bool options_remember_in_data(const struct options *options);
bool options_have_disks(const struct options *options); /* nodes have disks of durable keys */
/* most time of a node without leases that it needs, after the end of faults: those of a dead one
 * expire, and it asks again */
uint64_t options_leases_ms(const struct options *options);
/* pruning markers expire during the run */
bool options_data_forgets(const struct options *options);

#endif
