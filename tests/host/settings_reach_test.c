/* Tests that each key of membership, sharding and links sets its own member of the node's settings,
 * and has the reference's default. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/timers.h"
#include "host/settings.h"

enum kind { TIME, COUNT, NUMBER };

/* value: the default; other, text: another value. Times in ms. Rows of a kind differ in `other`, so
 * a mix-up shows. */
struct row {
    const char *key;
    enum kind kind;
    size_t place;
    double value, other;
    const char *text;
};

#define AT(name) offsetof(struct node_settings, name)
#define CLUSTER "akka.cluster."
#define DETECTOR CLUSTER "failure-detector."
#define CENTERS CLUSTER "multi-data-center."
#define SHARDING CLUSTER "sharding."
#define LEAST_SHARD SHARDING "least-shard-allocation-strategy."
#define HASHING SHARDING "consistent-hashing-allocation-strategy."
#define QUEUES "akka.remote.artery.advanced."

static const struct row rows[] = {
    { "sherd.journal.max-concurrent-recoveries", COUNT, AT(recoveries_max), 50, 7, "7" },
    { "sherd.journal.long-replay-events", COUNT, AT(long_replay), 100000, 8, "8" },
    { "sherd.journal.snapshot-size-max", COUNT, AT(snapshot_max), 16777216, 9, "9" },
    { "sherd.delivery.repeat-interval", TIME, AT(delivery_repeat), 5000, 6001, "6001 ms" },
    { "sherd.delivery.repeat-interval-max", TIME, AT(delivery_repeat_max), 60000, 70002, "70002 ms" },
    { "sherd.delivery.give-up-after", TIME, AT(delivery_give_up), 5 * 86400000.0, 3600003, "3600003 ms" },
    { "sherd.delivery.forget-after", TIME, AT(delivery_forget), 7 * 86400000.0, 604800004, "604800004 ms" },
    { "sherd.delivery.commands-max", COUNT, AT(commands_max), 1000, 9, "9" },
    { "sherd.delivery.commands-max-age", TIME, AT(commands_age), 3600000, 1005, "1005 ms" },
    { CLUSTER "gossip-interval", TIME, AT(gossip_interval), 1000, 1101, "1101 ms" },
    { CLUSTER "leader-actions-interval", TIME, AT(leader_actions_interval), 1000, 1102, "1102 ms" },
    { CLUSTER "unreachable-nodes-reaper-interval", TIME, AT(unreachable_reaper_interval), 1000, 1103, "1103 ms" },
    { CLUSTER "seed-node-timeout", TIME, AT(seed_node_timeout), 5000, 1104, "1104 ms" },
    { CLUSTER "retry-unsuccessful-join-after", TIME, AT(retry_unsuccessful_join_after), 10000, 1105, "1105 ms" },
    { CLUSTER "periodic-tasks-initial-delay", TIME, AT(periodic_initial_delay), 1000, 1106, "1106 ms" },
    { CLUSTER "prune-gossip-tombstones-after", TIME, AT(tombstone_ttl), 86400000, 1107, "1107 ms" },
    { CLUSTER "shutdown-after-unsuccessful-join-seed-nodes", TIME, AT(join_give_up), 0, 1108, "1108 ms" },
    { CLUSTER "quarantine-removed-node-after", TIME, AT(quarantine_removed_after), 5000, 1111, "1111 ms" },
    { CLUSTER "down-removal-margin", TIME, AT(down_removal_margin), 0, 1109, "1109 ms" },
    { CLUSTER "allow-weakly-up-members", TIME, AT(weakly_up_after), 7000, 1110, "1110 ms" },
    { CLUSTER "min-nr-of-members", COUNT, AT(min_nr_of_members), 1, 31, "31" },
    { CLUSTER "gossip-different-view-probability", NUMBER, AT(different_view_probability), 0.8, 0.51, "0.51" },
    { CLUSTER "reduce-gossip-different-view-probability", COUNT, AT(different_view_reduce), 400, 32, "32" },
    { DETECTOR "heartbeat-interval", TIME, AT(heartbeat_interval), 1000, 1201, "1201 ms" },
    { DETECTOR "acceptable-heartbeat-pause", TIME, AT(acceptable_heartbeat_pause), 3000, 1202, "1202 ms" },
    { DETECTOR "min-std-deviation", TIME, AT(min_std_deviation), 100, 1203, "1203 ms" },
    { DETECTOR "expected-response-after", TIME, AT(first_heartbeat_estimate), 1000, 1204, "1204 ms" },
    { DETECTOR "threshold", NUMBER, AT(phi_threshold), 8, 9.25, "9.25" },
    { DETECTOR "max-sample-size", COUNT, AT(heartbeat_samples_max), 1000, 33, "33" },
    { DETECTOR "monitored-by-nr-of-members", COUNT, AT(monitored_by_nr_of_members), 9, 34, "34" },
    { CENTERS "cross-data-center-connections", COUNT, AT(cross_connections), 5, 35, "35" },
    { CENTERS "cross-data-center-gossip-probability", NUMBER, AT(cross_gossip_probability), 0.2, 0.52, "0.52" },
    { CENTERS "failure-detector.heartbeat-interval", TIME, AT(cross_heartbeat_interval), 3000, 1301, "1301 ms" },
    { CENTERS "failure-detector.acceptable-heartbeat-pause", TIME, AT(cross_heartbeat_pause), 10000, 1302, "1302 ms" },
    { CENTERS "failure-detector.expected-response-after", TIME, AT(cross_heartbeat_expected), 1000, 1303, "1303 ms" },
    { SHARDING "number-of-shards", COUNT, AT(number_of_shards), 1000, 36, "36" },
    { SHARDING "buffer-size", COUNT, AT(buffer_size), 100000, 37, "37" },
    { SHARDING "retry-interval", TIME, AT(retry_interval), 2000, 1401, "1401 ms" },
    { SHARDING "handoff-timeout", TIME, AT(handoff_timeout), 60000, 1402, "1402 ms" },
    { SHARDING "shard-start-timeout", TIME, AT(shard_start_timeout), 10000, 1403, "1403 ms" },
    { SHARDING "rebalance-interval", TIME, AT(rebalance_interval), 10000, 1404, "1404 ms" },
    { SHARDING "waiting-for-state-timeout", TIME, AT(waiting_for_state_timeout), 2000, 1405, "1405 ms" },
    { SHARDING "updating-state-timeout", TIME, AT(updating_state_timeout), 5000, 1406, "1406 ms" },
    { SHARDING "passivation.default-idle-strategy.idle-entity.timeout", TIME, AT(passivate_idle_after), 120000, 1407, "1407 ms" },
    { SHARDING "passivation.default-idle-strategy.idle-entity.interval", TIME, AT(passivate_interval), 0, 1408, "1408 ms" },
    /* the old algorithm */
    { LEAST_SHARD "rebalance-absolute-limit", COUNT, AT(rebalance_absolute_limit), 0, 38, "38" },
    { LEAST_SHARD "rebalance-relative-limit", NUMBER, AT(rebalance_relative_limit), 0.1, 0.53, "0.53" },
    { LEAST_SHARD "rebalance-threshold", COUNT, AT(rebalance_threshold), 1, 39, "39" },
    { LEAST_SHARD "max-simultaneous-rebalance", COUNT, AT(max_simultaneous_rebalance), 3, 40, "40" },
    { HASHING "rebalance-limit", COUNT, AT(hashing_limit), 0, 44, "44" },
    { HASHING "load-bound", NUMBER, AT(load_bound), -1, 1.25, "1.25" },
    { SHARDING "external-shard-allocation-strategy.client-timeout", TIME, AT(locations_timeout), 5000, 1409, "1409 ms" },
    { QUEUES "outbound-message-queue-size", COUNT, AT(outbound_queue), 3072, 41, "41" },
    { QUEUES "outbound-control-queue-size", COUNT, AT(outbound_control_queue), 20000, 42, "42" },
    { QUEUES "outbound-large-message-queue-size", COUNT, AT(outbound_large_queue), 256, 43, "43" },
    { QUEUES "maximum-large-frame-size", COUNT, AT(large_frame_size), 2097152, 1048576, "1 MiB" },
};

#define ROWS (sizeof rows / sizeof *rows)

static double value_of(const struct node_settings *node, const struct row *row)
{
    const char *place = (const char *)node + row->place;

    switch (row->kind) {
    case TIME:
        return (double)*(const uint64_t *)(const void *)place / MS;
    case COUNT:
        return *(const uint32_t *)(const void *)place;
    default:
        return *(const double *)(const void *)place;
    }
}

static void read_text(struct settings *settings, const char *text)
{
    struct sherd_options options = { .journal = "memory",
                                     .config_text = text };
    char error[512] = "";

    if (settings_read(settings, &options, error, sizeof error) != 0)
        fail_msg("%s: %s", text, error);
}

/* Expects defaults everywhere except in row `but`. */
static void expect_defaults(const struct settings *settings, size_t but)
{
    for (size_t i = 0; i < ROWS; i++) {
        double found = value_of(&settings->node, &rows[i]);
        double wanted = i == but ? rows[i].other : rows[i].value;

        if (found != wanted)
            fail_msg("%s is %g, not %g%s%s", rows[i].key, found, wanted,
                     but < ROWS ? ", with " : "",
                     but < ROWS ? rows[but].key : "");
    }
}

static void defaults_are_those_of_the_reference_MEM001(void **state)
{
    struct settings settings;
    (void)state;

    read_text(&settings, "");
    expect_defaults(&settings, ROWS);
    settings_fini(&settings);
}

static void each_key_reaches_its_own_setting(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        struct settings settings;
        char text[200];

        (void)snprintf(text, sizeof text, "%s = %s", rows[i].key,
                       rows[i].text);
        read_text(&settings, text);
        expect_defaults(&settings, i);
        settings_fini(&settings);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_reference_MEM001),
        cmocka_unit_test(each_key_reaches_its_own_setting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
