/* Tests the node's settings that result from options and configuration. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/timers.h"
#include "host/settings.h"

static void a_memory_journal_takes_terms_from_the_clock(void **state)
{
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512];

    (void)state;
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_false(settings.sqlite);
    assert_true(settings.node.terms_by_clock);
    settings_fini(&settings);
    options.journal = "sqlite:/nowhere/journal.db";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_true(settings.sqlite);
    assert_string_equal(settings.sqlite_path, "/nowhere/journal.db");
    assert_false(settings.node.terms_by_clock);
    settings_fini(&settings);
}

static void a_wrong_journal_is_refused(void **state)
{
    struct sherd_options options = { .journal = "sqlite:" };
    struct settings settings;
    char error[512];

    (void)state;
    assert_int_equal(settings_read(&settings, &options, error, sizeof error),
                     SHERD_EINVAL);
    assert_non_null(strstr(error, "sqlite:PATH"));
    settings_fini(&settings);
}

/* SQLite would not take these names for files. */
static void a_journal_is_a_file(void **state)
{
    static const char *const rows[][2] = {
        { "sqlite::memory:", "options: journal.sqlite.path \":memory:\" is SQLite's name of a "
                             "database in memory" },
        { "sqlite:file:journal.db?mode=ro", "\"file:journal.db?mode=ro\" is a URI; write the path alone" },
        { "sherd.journal { plugin = sqlite, sqlite.path = \"\" }",
          "config_text:1:34: sherd.journal.sqlite.path \"\" names no file" },
        { "sqlite:~/journal.db", "\"~/journal.db\" begins with ~, which only shells replace" },
        { "sqlite:${DATA}/journal.db", "\"${DATA}/journal.db\" has a reference in quotes" },
    };
    struct settings settings;
    char error[512];
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sherd_options options = {
            .journal = i == 2 ? NULL : rows[i][0],
            .config_text = i == 2 ? rows[i][0] : NULL,
        };

        assert_int_equal(settings_read(&settings, &options, error, sizeof error),
                         SHERD_ECONFIG);
        if (!strstr(error, rows[i][1]))
            fail_msg("wanted %s, got %s", rows[i][1], error);
        settings_fini(&settings);
    }
}

static void an_image_has_at_least_a_byte_and_at_most_16_mib(void **state)
{
    static const struct {
        const char *text;
        int result;
    } rows[] = { { "0", SHERD_ECONFIG }, { "1", 0 }, { "16 MiB", 0 }, { "16777217", SHERD_ECONFIG } };
    char text[80], error[512] = "";
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sherd_options options = { .config_text = text };
        struct settings settings;

        snprintf(text, sizeof text, "sherd.journal.snapshot-size-max = %s", rows[i].text);
        assert_int_equal(settings_read(&settings, &options, error, sizeof error), rows[i].result);
        if (rows[i].result)
            assert_non_null(strstr(error, "snapshot-size-max"));
        settings_fini(&settings);
    }
}

static int read_format(const struct sherd_format *formats, uint32_t count)
{
    struct sherd_options options = { .formats = formats,
                                     .format_count = count };
    struct settings settings;
    char error[512];
    int result = settings_read(&settings, &options, error, sizeof error);

    if (result == 0) {
        assert_int_equal(settings.node.format_count, count);
        assert_int_equal(settings.node.formats[count - 1].msg,
                         formats[count - 1].msg);
        assert_string_equal(settings.node.formats[count - 1].manifest,
                            formats[count - 1].manifest);
    } else {
        assert_non_null(strstr(error, "options.format"));
    }
    settings_fini(&settings);
    return result;
}

static void formats_are_unique_and_avoid_reserved_ids(void **state)
{
    static const struct {
        struct sherd_format formats[2];
        int result;
    } rows[] = {
        { { { 1, 20, "" }, { 2, 4, "" } }, 0 },
        { { { 1, 33, "a.B" }, { 2, 33, "a.C" } }, 0 },
        { { { 1, 41, "" }, { 2, 7299, "" } }, 0 },
        { { { 1, 20, "" }, { 1, 4, "" } }, SHERD_EINVAL },
        { { { 1, 20, "" }, { 2, 20, "" } }, SHERD_EINVAL },
        { { { 1, 20, "" }, { 2, 7300, "" } }, SHERD_EINVAL }, /* reserved for the library */
        { { { 1, 20, "" }, { 2, 5, "" } }, SHERD_EINVAL },    /* reserved for the cluster */
        { { { 1, 20, "" }, { 2, 4, NULL } }, SHERD_EINVAL },
    };
    struct sherd_format many[FORMATS_MAX + 1];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(read_format(rows[i].formats, 2), rows[i].result);
    for (uint32_t i = 0; i <= FORMATS_MAX; i++)
        many[i] = (struct sherd_format){ i, (int32_t)(100 + i), "" };
    assert_int_equal(read_format(many, FORMATS_MAX), 0);
    assert_int_equal(read_format(many, FORMATS_MAX + 1), SHERD_EINVAL);
}

/* cluster.sharding.passivation and passivate-idle-entity-after. */
static void idleness_is_configured_in_every_way(void **state)
{
    static const struct {
        const char *text;
        uint64_t after;
    } rows[] = {
        { "", 120 * SECOND },
        { "passivation.default-idle-strategy.idle-entity.timeout = 3 minutes",
          180 * SECOND },
        { "passivation.default-idle-strategy.idle-entity.timeout = 0",
          UINT64_MAX },
        { "passivation.default-idle-strategy.idle-entity.timeout = 1ns", MS },
        { "passivation.strategy = none", UINT64_MAX },
        { "passivation.strategy = off", UINT64_MAX },
        { "passivation { strategy = default-strategy\n"
          "default-strategy.idle-entity.timeout = 30 minutes }",
          1800 * SECOND },
        { "passivate-idle-entity-after = 42s", 42 * SECOND },
        { "passivate-idle-entity-after = 0", UINT64_MAX },
        { "passivate-idle-entity-after = off", UINT64_MAX },
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sherd_options options = { .journal = "memory" };
        struct settings settings;
        char text[256];
        char error[512];

        (void)snprintf(text, sizeof text, "akka.cluster.sharding {\n%s\n}",
                       rows[i].text);
        options.config_text = text;
        error[0] = 0;
        if (settings_read(&settings, &options, error, sizeof error) != 0)
            fail_msg("%s: %s", rows[i].text, error);
        if (settings.node.passivate_idle_after != rows[i].after)
            fail_msg("%s: %llu ns", rows[i].text,
                     (unsigned long long)settings.node.passivate_idle_after);
        settings_fini(&settings);
    }
}

static int read_passivation(struct settings *settings, const char *text, char *error,
                            size_t size)
{
    struct sherd_options options = { .journal = "memory" };
    char whole[1200];

    (void)snprintf(whole, sizeof whole, "akka.cluster.sharding {\n%s\n}", text);
    options.config_text = whole;
    error[0] = 0;
    return settings_read(settings, &options, error, size);
}

static void strategies_of_passivation_are_read(void **state)
{
    struct settings settings;
    struct passivation_settings *found = &settings.node.passivation;
    char error[512];
    (void)state;

    assert_int_equal(read_passivation(&settings, "", error, sizeof error), 0);
    assert_int_equal(settings.node.active_entity_limit, 0);
    assert_int_equal(found->main.policy, PASSIVATION_NONE);
    settings_fini(&settings);

    assert_int_equal(read_passivation(&settings, "passivation.strategy = default-strategy",
                                      error, sizeof error), 0);
    assert_int_equal(settings.node.active_entity_limit, 100000);
    assert_true(settings.node.active_byte_limit == 0);
    assert_true(settings.node.passivate_idle_after == UINT64_MAX);
    assert_memory_equal(found, &passivation_default, sizeof *found);
    settings_fini(&settings);

    assert_int_equal(read_passivation(&settings,
        "passivation { strategy = own\n own {\n"
        "active-entity-limit = 7\n active-byte-limit = 3 KiB\n"
        "idle-entity { timeout = 42 s\n interval = 2 s }\n"
        "replacement { policy = least-recently-used\n"
        "least-recently-used.segmented { levels = 3\n proportions = [0.5, 0.25, 0.25] } }\n"
        "admission { window { policy = least-frequently-used\n"
        "least-frequently-used.dynamic-aging = on\n proportion = 0.3\n"
        "minimum-proportion = 0.2\n maximum-proportion = 0.9\n optimizer = hill-climbing\n"
        "hill-climbing { adjust-multiplier = 3\n initial-step = 0.25\n"
        "restart-threshold = 0.5\n step-decay = 0.75 } }\n"
        "filter = frequency-sketch\n frequency-sketch { depth = 3\n counter-bits = 8\n"
        "width-multiplier = 2\n reset-multiplier = 5.5 } } } }", error, sizeof error), 0);
    assert_int_equal(settings.node.active_entity_limit, 7);
    assert_true(settings.node.active_byte_limit == 3072);
    assert_true(settings.node.passivate_idle_after == 42 * SECOND);
    assert_true(settings.node.passivate_interval == 2 * SECOND);
    assert_int_equal(found->main.policy, PASSIVATION_LEAST_RECENT);
    assert_int_equal(found->main.levels, 3);
    assert_true(found->main.shares[0] == 0.5 && found->main.shares[2] == 0.25);
    assert_int_equal(found->window.policy, PASSIVATION_LEAST_FREQUENT);
    assert_true(found->window.is_aging && !found->main.is_aging);
    assert_true(found->window_share == 0.3 && found->window_share_min == 0.2 &&
                found->window_share_max == 0.9);
    assert_true(found->climbs && found->climb.adjust_multiplier == 3 &&
                found->climb.initial_step == 0.25 && found->climb.restart_threshold == 0.5 &&
                found->climb.step_decay == 0.75);
    assert_true(found->has_filter && found->filter.depth == 3 && found->filter.bits == 8);
    assert_true(found->filter.width_multiplier == 2 && found->filter.reset_multiplier == 5.5);
    settings_fini(&settings);

    /* The old setting means idle time alone. */
    assert_int_equal(read_passivation(&settings, "passivation.strategy = default-strategy\n"
                                      "passivate-idle-entity-after = 9 s", error,
                                      sizeof error), 0);
    assert_int_equal(settings.node.active_entity_limit, 0);
    assert_true(settings.node.passivate_idle_after == 9 * SECOND);
    settings_fini(&settings);
}

static void faults_of_a_strategy_are_explained(void **state)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        { "replacement.least-recently-used.segmented { levels = 3\n proportions = [0.5, 0.5] }",
          "has 2 items; it must be empty or have one for each of the 3 levels" },
        { "replacement.least-recently-used.segmented { levels = 2\n proportions = [0.5, much] }",
          "has the item \"much\"; it must be a number from 0 to 1" },
        { "admission.frequency-sketch.counter-bits = 5", "is 5; it must be 2, 4, 8, 16, 32 or 64" },
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct settings settings;
        char text[512], error[512];

        (void)snprintf(text, sizeof text,
                       "passivation { strategy = own\n own { replacement.policy = "
                       "least-recently-used\n %s } }",
                       rows[i].text);
        assert_int_equal(read_passivation(&settings, text, error, sizeof error), SHERD_ECONFIG);
        if (!strstr(error, rows[i].part))
            fail_msg("%s", error);
        settings_fini(&settings);
    }
}

static void entities_live_with_the_configured_role(void **state)
{
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512];
    (void)state;

    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_string_equal(settings.node.sharding_role, "");
    settings_fini(&settings);
    options.config_text = "akka.cluster.sharding.role = back";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_string_equal(settings.node.sharding_role, "back");
    settings_fini(&settings);
}

static void member_logging_is_configured(void **state)
{
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512];
    (void)state;

    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_false(settings.node.log_info_off);
    assert_false(settings.node.log_verbose);
    settings_fini(&settings);
    options.config_text = "akka.cluster { log-info = off, log-info-verbose = on }";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_true(settings.node.log_info_off);
    assert_true(settings.node.log_verbose);
    settings_fini(&settings);
}

/* Minimums by role, and words instead of amounts. */
static void members_are_configured(void **state)
{
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512];
    (void)state;

    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_int_equal(settings.node.role_minimum_count, 0);
    assert_false(settings.node.weakly_up_off);
    assert_false(settings.node.accept_incompatible);
    assert_true(settings.node.join_give_up == 0);
    assert_true(settings.node.tombstone_ttl == 86400 * SECOND);
    settings_fini(&settings);
    options.config_text =
        "akka.cluster {\n"
        "  role { back.min-nr-of-members = 3, front.min-nr-of-members = 2 }\n"
        "  allow-weakly-up-members = off\n"
        "  shutdown-after-unsuccessful-join-seed-nodes = 20 s\n"
        "  configuration-compatibility-check.enforce-on-join = off\n"
        "  prune-gossip-tombstones-after = 1h\n"
        "}";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_int_equal(settings.node.role_minimum_count, 2);
    assert_string_equal(settings.node.minimum_roles[0], "back");
    assert_int_equal(settings.node.role_minimums[0], 3);
    assert_string_equal(settings.node.minimum_roles[1], "front");
    assert_int_equal(settings.node.role_minimums[1], 2);
    assert_true(settings.node.weakly_up_off);
    assert_true(settings.node.accept_incompatible);
    assert_true(settings.node.join_give_up == 20 * SECOND);
    assert_true(settings.node.tombstone_ttl == 3600 * SECOND);
    settings_fini(&settings);
    options.config_text = "akka.cluster.allow-weakly-up-members = on";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_false(settings.node.weakly_up_off);
    settings_fini(&settings);
}

/* cluster.multi-data-center; each data center has a cluster id of its own. */
static void data_centers_are_configured_MEM002(void **state)
{
    struct sherd_options options = { .journal = "memory", .name = "Shop" };
    struct settings settings;
    char error[512];
    (void)state;

    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_string_equal(settings.node.data_center, "default");
    assert_int_equal(settings.node.cross_connections, 5);
    assert_true(settings.node.cross_gossip_probability == 0.2);
    assert_true(settings.node.cross_heartbeat_interval == 3 * SECOND);
    assert_true(settings.node.cross_heartbeat_pause == 10 * SECOND);
    assert_true(settings.node.cross_heartbeat_expected == 1 * SECOND);
    assert_string_equal(settings.node.cluster_id, "Shop");
    settings_fini(&settings);
    options.config_text =
        "akka.cluster.roles = [ hamlet ]\n"
        "akka.cluster.multi-data-center {\n"
        "  self-data-center = blue\n"
        "  cross-data-center-connections = 2\n"
        "  cross-data-center-gossip-probability = 0\n"
        "  failure-detector.acceptable-heartbeat-pause = 4 s\n"
        "}";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_string_equal(settings.node.data_center, "blue");
    assert_int_equal(settings.node.role_count, 1);
    assert_string_equal(settings.node.roles[0], "hamlet");
    assert_string_equal(settings.node.cluster_id, "Shop@blue");
    assert_int_equal(settings.node.cross_connections, 2);
    assert_true(settings.node.cross_gossip_probability == 0.01);
    assert_true(settings.node.cross_heartbeat_pause == 4 * SECOND);
    settings_fini(&settings);
    options.data_center = "red";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_string_equal(settings.node.data_center, "red");
    settings_fini(&settings);
}

/* Values that membership would abort on are refused with their place, before it starts. */
static void bad_members_are_refused(void **state)
{
    static const char *const texts[][2] = {
        { "akka.cluster.roles = [dc-x]", "cluster.roles cannot be used" },
        { "akka.cluster.multi-data-center.self-data-center = \"\"",
          "self-data-center cannot be used" },
        { "akka.cluster.app-version = \"1.a.b.c.d-\"",
          "cluster.app-version cannot be used" },
        { "akka.cluster.failure-detector.threshold = 0",
          "cluster.failure-detector.threshold must be greater than 0" },
    };
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512];
    (void)state;

    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        options.config_text = texts[i][0];
        assert_int_equal(settings_read(&settings, &options, error,
                                       sizeof error),
                         SHERD_ECONFIG);
        assert_non_null(strstr(error, texts[i][1]));
        settings_fini(&settings);
    }
}

/* The core counts in ms, and its zero is its default. Zero is a valid pause and first delay, as in
 * the reference. */
static void an_allowed_zero_is_not_replaced_by_the_default(void **state)
{
    static const char *const times[] = { "0 s", "1 ns", "999 us" };
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512], text[512];
    (void)state;

    options.config_text = text;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        (void)snprintf(text, sizeof text,
                       "app.t = %s\nakka.cluster { periodic-tasks-initial-delay = ${app.t}\n"
                       "failure-detector.acceptable-heartbeat-pause = ${app.t}\n"
                       "multi-data-center.failure-detector.acceptable-heartbeat-pause = ${app.t} }",
                       times[i]);
        if (settings_read(&settings, &options, error, sizeof error) != 0)
            fail_msg("%s", error);
        assert_true(settings.node.acceptable_heartbeat_pause == MS);
        assert_true(settings.node.cross_heartbeat_pause == MS);
        assert_true(settings.node.periodic_initial_delay == MS);
        settings_fini(&settings);
    }
}

static void too_short_times_are_refused(void **state)
{
    static const char *const keys[] = {
        "seed-node-timeout", "retry-unsuccessful-join-after",
        "shutdown-after-unsuccessful-join-seed-nodes", "allow-weakly-up-members",
        "gossip-interval", "leader-actions-interval",
        "unreachable-nodes-reaper-interval", "publish-stats-interval",
        "prune-gossip-tombstones-after", "failure-detector.heartbeat-interval",
        "failure-detector.min-std-deviation",
        "failure-detector.expected-response-after",
        "multi-data-center.failure-detector.heartbeat-interval",
        "multi-data-center.failure-detector.expected-response-after",
        "sharding.handoff-timeout", "sharding.shard-start-timeout",
        "sharding.rebalance-interval",
        "distributed-data.gossip-interval",
        "distributed-data.notify-subscribers-interval",
        "distributed-data.pruning-interval",
        "distributed-data.max-pruning-dissemination",
        "distributed-data.pruning-marker-time-to-live",
        "distributed-data.durable.pruning-marker-time-to-live",
        "sharding.distributed-data.gossip-interval",
        "sharding.distributed-data.max-pruning-dissemination",
    };
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512], text[256];
    (void)state;

    options.config_text = text;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        (void)snprintf(text, sizeof text, "akka.cluster.%s = 999 us", keys[i]);
        if (settings_read(&settings, &options, error, sizeof error) !=
                SHERD_ECONFIG ||
            !strstr(error, keys[i]) ||
            !strstr(error, "wants a duration of at least 1 ms"))
            fail_msg("%s: %s", text, error);
        settings_fini(&settings);
        (void)snprintf(text, sizeof text, "akka.cluster.%s = 1 ms", keys[i]);
        if (settings_read(&settings, &options, error, sizeof error) != 0)
            fail_msg("%s: %s", text, error);
        settings_fini(&settings);
    }
}

/* Zero is a core's default. */
static void a_zero_that_cores_read_as_default_is_refused(void **state)
{
    static const char *const refused[][2] = {
        { "sherd.journal.sqlite.lock-timeout = 0", "lock-timeout" },
        { "sherd.journal.sqlite.lock-timeout = 999 us", "at least 1 ms" },
    };
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512];
    (void)state;

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        options.config_text = refused[i][0];
        if (settings_read(&settings, &options, error, sizeof error) !=
                SHERD_ECONFIG ||
            !strstr(error, refused[i][1]))
            fail_msg("%s: %s", refused[i][0], error);
        settings_fini(&settings);
    }
    options.config_text = "akka.cluster.sharding.least-shard-allocation-"
                          "strategy.rebalance-relative-limit = 0";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error),
                     0);
    assert_true(settings.node.rebalance_relative_limit < 0);
    settings_fini(&settings);
}

static void statistics_are_off_unless_set(void **state)
{
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512];
    (void)state;

    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_true(settings.node.publish_stats_interval == 0);
    settings_fini(&settings);
    options.config_text = "akka.cluster.publish-stats-interval = 10 s";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_true(settings.node.publish_stats_interval == 10 * SECOND);
    settings_fini(&settings);
}

static void protocol_and_provider_names_are_checked(void **state)
{
    static const char *const good[] = {
        "sherd.protocol.name = pekko",
        "pekko.actor.provider = \"org.apache.pekko.cluster.ClusterActorRefProvider\"",
        "sherd { protocol { name = pekko, config-prefix = pekko } }",
        "akka.cluster.roles = [a]\nsherd.protocol.config-prefix = pekko",
        "akka.remote.protocol-name = pekko",
        "sherd.cluster.seed-nodes = [\"pekko://s@127.0.0.1:1\"]",
        "akka.actor.provider = cluster",
        "akka.actor.provider = \"akka.cluster.ClusterActorRefProvider\"",
        "akka.actor.provider = akka.remote.RemoteActorRefProvider",
        "pekko.cluster.roles = [a]\nakka.loglevel = info",
        "pekko { cluster.roles = [a], remote.protocol-name = akka }",
        "pekko { cluster.seed-nodes = [\"akka://s@127.0.0.1:1\"] }",
    };
    static const char *const bad[][2] = {
        { "sherd.protocol.name = akkka", "protocol.name is \"akkka\"; it must be akka or pekko" },
        { "sherd.protocol.name = \"\"", "it must be akka or pekko" },
        { "sherd.protocol { name = pekko, config-prefix = akka }",
          "config_text:1:32: sherd.protocol.config-prefix is akka, but protocol.name is pekko" },
        { "sherd.protocol.name = akka\npekko.remote.protocol-name = pekko",
          "pekko.remote.protocol-name is pekko, but protocol.name is akka" },
        { "pekko.remote.protocol-name = pekko\nsherd.protocol.config-prefix = akka",
          "config-prefix is akka, but remote.protocol-name is pekko" },
        { "sherd.protocol.name = akka\npekko.cluster.seed-nodes = [\"pekko://s@a:1\"]",
          "correct the address or sherd.protocol.name" },
        { "akka.cluster.seed-nodes = [\"akka.tcp://s@a:1\"]", "classic remoting, which is not built" },
        { "sherd.system-name = t\nakka.cluster.seed-nodes = [\"akka://s@a:1\"]",
          "need the same system name" },
        { "akka.cluster.seed-nodes = [\"akka://s@a:1\", \"akka://t@a:2\"]",
          "has \"akka://t@a:2\", which is not an address of akka://s@HOST:PORT" },
        { "akka.cluster.seed-nodes = [\"akka://s@a\"]", "it needs a host and a port" },
        { "akka.actor.provider = my.Provider", "actor.provider is \"my.Provider\"; it must be cluster" },
    };
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512];
    (void)state;

    for (uint32_t i = 0; i < sizeof good / sizeof *good; i++) {
        options.config_text = good[i];
        if (settings_read(&settings, &options, error, sizeof error) != 0)
            fail_msg("%s", error);
        assert_string_equal(settings.node.identity.protocol, i < 6 ? "pekko" : "akka");
        /* A JVM looks for its own prefix in this text, and crashes without it. */
        if (strncmp(settings.node.join_config, i < 6 ? "{\"pekko\":{" : "{\"akka\":{",
                    i < 6 ? 10 : 9) != 0)
            fail_msg("%s: %s", good[i], settings.node.join_config);
        settings_fini(&settings);
    }
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        options.config_text = bad[i][0];
        assert_int_equal(settings_read(&settings, &options, error, sizeof error), SHERD_ECONFIG);
        if (!strstr(error, bad[i][1]))
            fail_msg("\"%s\", not \"%s\"", error, bad[i][1]);
        settings_fini(&settings);
    }
}

static void the_system_name_is_that_of_the_seed_nodes(void **state)
{
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512];
    (void)state;

    options.config_text = "pekko.cluster.seed-nodes = [\"a:1\", \"pekko://Orders@b:2\"]";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_string_equal(settings.node.identity.system, "Orders");
    assert_string_equal(settings.protocol_reason, "the addresses in cluster.seed-nodes");
    settings_fini(&settings);
    options.config_text = "akka.cluster.seed-nodes = [\"a:1\"]";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_string_equal(settings.node.identity.system, "ClusterSystem");
    assert_null(settings.protocol_reason);
    settings_fini(&settings);
    options.config_text = "akka.cluster.seed-nodes = [\"akka://-@b:2\"]";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), SHERD_ECONFIG);
    assert_non_null(strstr(error, "cluster.seed-nodes has the system name \"-\"; it must be"));
    settings_fini(&settings);
}

/* Akka's words for the machine's own address and name. */
static void the_machines_own_host_can_be_used(void **state)
{
    static const char *const words[] = { "<getHostName>", "<getHostAddress>" };
    struct settings settings;
    char error[512], text[200], name[256] = "";
    (void)state;

    assert_int_equal(gethostname(name, sizeof name - 1), 0);
    for (int i = 0; i < 2; i++) {
        struct sherd_options options = { .journal = "memory", .config_text = text };

        (void)snprintf(text, sizeof text,
                       "akka.remote.artery { canonical.hostname = \"%s\"\n"
                       "bind.hostname = \"%s\" }", words[i], words[i]);
        if (settings_read(&settings, &options, error, sizeof error) == 0) {
            assert_string_equal(settings.bind_host, settings.node.identity.node.address.host);
            assert_null(strchr(settings.bind_host, '<'));
            if (i == 0)
                assert_string_equal(settings.bind_host, name);
        } else if (!strstr(error, "config_text:1:22: akka.remote.artery.canonical.hostname")) {
            fail_msg("%s", error); /* a machine whose name has no address */
        }
        settings_fini(&settings);
    }
}

static void a_method_of_discovery_is_dns_or_refused(void **state)
{
    static const char *const rows[][2] = {
        { "akka.discovery.method = akka-dns", "dns" },
        { "akka.management.cluster.bootstrap.contact-point-discovery.discovery-method = pekko-dns", "dns" },
        { "akka.discovery.method = kubernetes-api", "" },
        { "akka.discovery.method = config\nakka.cluster.seed-nodes = [\"akka://s@h:1\"]\n"
          "akka.management.cluster.bootstrap.contact-point-discovery.service-name = x", "" },
        { "akka.discovery.method = kubernetes-api\n"
          "akka.management.cluster.bootstrap.contact-point-discovery.service-name = x",
          "config_text:1:1: akka.discovery.method is \"kubernetes-api\", which is not built" },
        { "pekko.management.cluster.bootstrap.contact-point-discovery.discovery-method = config",
          "discovery-method is \"config\", which is not built; a node finds its seed nodes by akka-dns" },
    };
    struct settings settings;
    char error[512];
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sherd_options options = { .journal = "memory", .config_text = rows[i][0] };
        int result = settings_read(&settings, &options, error, sizeof error);

        if (i < 4) {
            assert_int_equal(result, 0);
            assert_int_equal(settings.node.finds_seeds, rows[i][1][0] == 'd');
        } else {
            assert_int_equal(result, SHERD_ECONFIG);
            if (!strstr(error, rows[i][1]))
                fail_msg("wanted %s, got %s", rows[i][1], error);
        }
        settings_fini(&settings);
    }
}

static void limits_of_unknown_nodes_are_configured(void **state)
{
    static const char *const wrong[][2] = {
        { "connections = 32", "reserved-for-peers leaves none of 32" },
        { "frame-size = 1023", "frame-size must be from 1024 to 262144" },
        { "frame-size = 257 KiB", "frame-size must be from" },
        { "tls-handshake-size = 1 KiB", "tls-handshake-size must be from" },
        { "timeout = 0", "timeout" },
        { "timeout = 21 s, handshake-timeout = 20 s",
          "handshake-timeout must not be shorter" },
        { "connections = 0", "connections" },
    };
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512], text[256];
    (void)state;

    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_int_equal(settings.strangers.waiting_max, ACCEPT_WAITING_MAX);
    assert_int_equal(settings.strangers.waiting_each_max, ACCEPT_WAITING_EACH_MAX);
    assert_int_equal(settings.strangers.strangers_max, ACCEPT_STRANGERS_MAX);
    assert_int_equal(settings.strangers.preamble_ms, ACCEPT_PREAMBLE_MS);
    assert_int_equal(settings.strangers.frame_ms, ACCEPT_FRAME_MS);
    assert_int_equal(settings.strangers.frame_size_max, INLET_UNKNOWN_SIZE_MAX);
    assert_int_equal(settings.node.unknown_size_max, INLET_UNKNOWN_SIZE_MAX);
    assert_true(settings.node.preamble_within == INLET_PREAMBLE_MS * MS);
    assert_true(settings.node.handshake_within == INLET_HANDSHAKE_MS * MS);
    assert_int_equal(settings.tls.handshake_bytes_max, TLS_HANDSHAKE_BYTES_MAX);
    assert_int_equal(settings.connections_max, CONNECTIONS_MAX);
    settings_fini(&settings);

    options.config_text = "sherd.remote { connections = 9, unauthenticated { connections = 8\n"
                          "connections-of-one-address = 2, reserved-for-peers = 3, timeout = 1 s\n"
                          "handshake-timeout = 2 s, frame-size = 4 KiB, tls-handshake-size = 8 KiB } }";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_int_equal(settings.strangers.waiting_max, 8);
    assert_int_equal(settings.strangers.waiting_each_max, 2);
    assert_int_equal(settings.strangers.strangers_max, 5);
    assert_int_equal(settings.strangers.preamble_ms, 1000);
    assert_int_equal(settings.strangers.frame_ms, 2000);
    assert_int_equal(settings.strangers.frame_size_max, 4092);
    assert_int_equal(settings.node.unknown_size_max, 4092);
    assert_true(settings.node.handshake_within == 2 * SECOND);
    assert_int_equal(settings.tls.handshake_bytes_max, 8192);
    assert_int_equal(settings.connections_max, 9);
    settings_fini(&settings);
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        (void)snprintf(text, sizeof text, "sherd.remote.unauthenticated { %s }", wrong[i][0]);
        options.config_text = text;
        assert_int_equal(settings_read(&settings, &options, error, sizeof error), SHERD_ECONFIG);
        if (!strstr(error, wrong[i][1]))
            fail_msg("\"%s\", not \"%s\"", error, wrong[i][1]);
        settings_fini(&settings);
    }
}

#define REMEMBER_STORE "akka.cluster.sharding.remember-entities-store = "

/* In distributed data by default, where their keys are durable, as in the reference. */
static void remembered_entities_are_kept_where_it_is_set(void **state)
{
    struct sherd_options options = { .journal = "memory", .name = "Shop", .port = 2551 };
    struct settings settings;
    char error[512];
    (void)state;

    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_true(settings.node.remembers_in_data);
    assert_int_equal(settings.node.shard_durable_key_count, 1);
    assert_string_equal(settings.node.shard_durable_keys[0], "shard-*");
    assert_int_equal(settings.node.durable_key_count, 0);
    assert_int_equal(settings.durable_map_size, 100 * 1024 * 1024);
    settings_fini(&settings);
    options.config_text = REMEMBER_STORE "ddata\n"
        "akka.cluster.sharding.distributed-data.durable.keys = []";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_true(settings.node.remembers_in_data);
    assert_int_equal(settings.node.shard_durable_key_count, 0);
    settings_fini(&settings);
    options.config_text = REMEMBER_STORE "eventsourced";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_false(settings.node.remembers_in_data);
    settings_fini(&settings);
    options.config_text = REMEMBER_STORE "ddata\n"
        "akka.cluster.distributed-data.durable.lmdb.dir = \"\"";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), SHERD_ECONFIG);
    settings_fini(&settings);
    options.config_text = REMEMBER_STORE "ddata\n"
        "akka.cluster.sharding.distributed-data.durable.store-actor-class = mine";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), SHERD_ECONFIG);
    assert_non_null(strstr(error, "sharding.distributed-data.durable.store-actor-class is \"mine\""));
    settings_fini(&settings);
    options.config_text = REMEMBER_STORE "eventsourced\n" /* stores no keys */
        "akka.cluster.sharding.distributed-data.durable.store-actor-class = mine";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    settings_fini(&settings);
}

/* Defaults of the reference, and configured values. */
static void remembered_entities_start_as_configured(void **state)
{
    static const enum remember_strategy strategies[] = {
        REMEMBER_ALL, REMEMBER_CONSTANT, REMEMBER_PACED
    };
    static const char *const names[] = { "all", "constant", "paced" };
    struct sherd_options options = { .journal = "memory" };
    const struct remember_options *remember;
    struct settings settings;
    char text[128], error[512];
    (void)state;

    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    remember = &settings.node.remember;
    assert_false(settings.node.remember_entities);
    assert_true(settings.node.entity_restart_backoff == 10 * SECOND);
    assert_int_equal(remember->strategy, REMEMBER_ALL);
    assert_true(remember->frequency == 100 * MS && remember->target == 20 * MS);
    assert_int_equal(remember->batch, 5);
    assert_int_equal(remember->part_ids, 100);
    assert_int_equal(remember->base_after, 1000);
    assert_int_equal(settings.node.remembered_kept, 2000);
    assert_true(remember->failure_backoff == 10 * SECOND);
    assert_true(remember->load_timeout == 2 * SECOND);
    assert_true(remember->write_timeout == 5 * SECOND);
    settings_fini(&settings);
    for (uint32_t i = 0; i < 3; i++) {
        (void)snprintf(text, sizeof text,
                       "akka.cluster.sharding.entity-recovery-strategy = %s", names[i]);
        options.config_text = text;
        assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
        assert_int_equal(settings.node.remember.strategy, strategies[i]);
        settings_fini(&settings);
    }
    options.config_text =
        "akka.cluster.sharding {\n"
        "  remember-entities = on, entity-restart-backoff = 3 s, shard-failure-backoff = 4 s\n"
        "  entity-recovery-constant-rate-strategy { frequency = 70 ms, number-of-entities = 8 }\n"
        "  entity-recovery-paced-strategy.latency-target = 9 ms, snapshot-after = 33, keep-nr-of-batches = 0\n"
        "  event-sourced-remember-entities-store.max-updates-per-write = 44\n"
        "  waiting-for-state-timeout = 6 s, updating-state-timeout = 0\n"
        "}";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_true(settings.node.remember_entities);
    assert_true(settings.node.entity_restart_backoff == 3 * SECOND);
    assert_true(remember->frequency == 70 * MS && remember->target == 9 * MS);
    assert_int_equal(remember->batch, 8);
    assert_int_equal(remember->part_ids, 44);
    assert_int_equal(remember->base_after, 33);
    assert_int_equal(settings.node.remembered_kept, 0);
    assert_true(remember->failure_backoff == 4 * SECOND);
    assert_true(remember->load_timeout == 6 * SECOND);
    assert_true(remember->write_timeout == MS);
    settings_fini(&settings);
}

#define DURABLE "akka.cluster.distributed-data.durable"

static void durable_keys_are_configured_DD134(void **state)
{
    struct sherd_options options = { .journal = "memory", .name = "Shop", .port = 2551 };
    struct settings settings;
    char error[512];
    char *directory;
    (void)state;

    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_int_equal(settings.node.durable_key_count, 0);
    assert_string_equal(settings.node.data_name, "ddataReplicator");
    settings_fini(&settings);
    options.config_text = DURABLE ".keys = [a, \"shard-*\"]";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_int_equal(settings.node.durable_key_count, 2);
    assert_string_equal(settings.node.durable_keys[1], "shard-*");
    assert_int_equal(settings.durable_map_size, 100 * 1024 * 1024);
    assert_int_equal(settings.durable_write_behind_ms, 0);
    assert_true(settings.node.data.durable_pruning_marker_ms ==
                10ull * 24 * 3600 * 1000);
    directory = settings_durable_directory(&settings);
    assert_string_equal(strrchr(directory, '/'), "/ddata-Shop-ddataReplicator-2551");
    mem_free(directory);
    settings_fini(&settings);
    options.config_text =
        DURABLE " { keys = [k], lmdb { dir = /var/lib/shop, map-size = 2 MiB\n"
        " write-behind-interval = 200 ms }\n"
        " store-actor-class = org.apache.pekko.cluster.ddata.LmdbDurableStore }";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_int_equal(settings.durable_map_size, 2 * 1024 * 1024);
    assert_int_equal(settings.durable_write_behind_ms, 200);
    directory = settings_durable_directory(&settings);
    assert_string_equal(directory, "/var/lib/shop");
    mem_free(directory);
    settings_fini(&settings);
    /* A node without a replica stores nothing. */
    options.config_text = DURABLE ".keys = [k]\n"
        "akka.cluster.distributed-data.role = other";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_int_equal(settings.node.durable_key_count, 0);
    settings_fini(&settings);
}

static void bad_durable_keys_are_refused(void **state)
{
    static const char *const texts[][2] = {
        { "keys = [\"\"]", "durable.keys has a key of 0 bytes" },
        { "keys = [k], store-actor-class = mine",
          "store-actor-class is \"mine\"" },
        { "keys = [k], lmdb.dir = \"\"", "lmdb.dir is empty" },
        { "keys = [k], lmdb.map-size = 1 KiB", "map-size must be" },
        { "keys = [k], lmdb.map-size = 65 GiB", "map-size must be" },
        { "keys = [k], lmdb.write-behind-interval = 1 us",
          "write-behind-interval must be" },
        { "keys = [k], lmdb.write-behind-interval = 50 d",
          "write-behind-interval must be" },
    };
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512], text[256];
    (void)state;

    for (uint32_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        (void)snprintf(text, sizeof text, DURABLE " { %s }", texts[i][0]);
        options.config_text = text;
        assert_int_equal(settings_read(&settings, &options, error,
                                       sizeof error),
                         SHERD_ECONFIG);
        if (!strstr(error, texts[i][1]))
            fail_msg("%s", error);
        settings_fini(&settings);
    }
}

/* Defaults of the reference, and configured values; sharding inherits from the general section. */
static void coordinators_keep_their_state_as_configured(void **state)
{
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512];
    (void)state;

    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_int_equal(settings.node.state_write_plus, 3);
    assert_int_equal(settings.node.state_read_plus, 5);
    assert_int_equal(settings.node.state_majority_min, 5);
    assert_true(settings.node.waiting_for_state_timeout == 2 * SECOND);
    assert_true(settings.node.updating_state_timeout == 5 * SECOND);
    assert_int_equal(settings.node.sharding_data.gossip_interval_ms, 2000);
    assert_int_equal(settings.node.sharding_data.max_delta_elements, 5);
    assert_true(settings.node.sharding_data.prefer_oldest);
    assert_int_equal(settings.node.data.max_delta_elements, 500);
    assert_false(settings.node.data.prefer_oldest);
    settings_fini(&settings);
    options.config_text =
        "akka.cluster.sharding {\n"
        "  state-store-mode = ddata\n"
        "  coordinator-state { write-majority-plus = all, read-majority-plus = 0 }\n"
        "  waiting-for-state-timeout = 0, updating-state-timeout = 7 s\n"
        "  distributed-data { majority-min-cap = 2, max-delta-elements = 9, prefer-oldest = off,\n"
        "    pruning-interval = off, delta-crdt.enabled = off, delta-crdt.max-delta-size = 3,\n"
        "    log-data-size-exceeding = 3 KiB\n"
        "    notify-subscribers-interval = 100 ms, max-pruning-dissemination = 5 s,\n"
        "    pruning-marker-time-to-live = 1 h, durable.pruning-marker-time-to-live = 2 d }\n"
        "}\n"
        "akka.cluster.distributed-data.gossip-interval = 3 s";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_true(settings.node.state_write_plus == STATE_ALL);
    assert_true(settings.node.state_read_plus == STATE_NONE);
    assert_int_equal(settings.node.state_majority_min, 2);
    assert_true(settings.node.waiting_for_state_timeout == MS);
    assert_true(settings.node.updating_state_timeout == 7 * SECOND);
    assert_int_equal(settings.node.sharding_data.gossip_interval_ms, 3000);
    assert_int_equal(settings.node.sharding_data.notify_interval_ms, 100);
    assert_int_equal(settings.node.sharding_data.max_delta_elements, 9);
    assert_int_equal(settings.node.sharding_data.max_delta_size, 3);
    assert_true(settings.node.sharding_data.logged_size == 3 * 1024);
    assert_true(settings.node.data.logged_size == 10 * 1024);
    assert_int_equal(settings.node.sharding_data.pruning_dissemination_ms, 5000);
    assert_int_equal(settings.node.sharding_data.pruning_marker_ms, 3600 * 1000);
    assert_true(settings.node.sharding_data.durable_pruning_marker_ms ==
                2ull * 24 * 3600 * 1000);
    assert_true(settings.node.sharding_data.pruning_off);
    assert_true(settings.node.sharding_data.deltas_off);
    assert_false(settings.node.sharding_data.prefer_oldest);
    assert_false(settings.node.data.pruning_off || settings.node.data.deltas_off);
    settings_fini(&settings);
}

/* Has all that a JVM's JoinConfigCompatChecker compares, as configured. */
static void joins_are_checked_with_what_is_set(void **state)
{
    struct sherd_options options = {
        .journal = "memory",
        .config_text = "pekko.cluster { sharding.number-of-shards = 100\n"
                       "split-brain-resolver.active-strategy = keep-oldest }",
    };
    struct settings settings;
    char error[512];
    (void)state;

    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_string_equal(
        settings.node.join_config,
        "{\"pekko\":{\"cluster\":{\"downing-provider-class\":\"\","
        "\"split-brain-resolver\":{\"active-strategy\":\"keep-oldest\"},"
        "\"sharding\":{\"state-store-mode\":\"ddata\",\"number-of-shards\":100}}}}");
    settings_fini(&settings);
}

static void keys_expire_as_configured_PKO038_PKO039(void **state)
{
    struct sherd_options options = {
        .journal = "memory",
        .config_text = "akka.cluster.distributed-data.expire-keys-after-inactivity {\n"
                       "  \"session-*\" = 10 minutes, \"a.b c\" = 4 s, kept = off\n"
                       "}",
    };
    struct sherd_options plain = { .journal = "memory" };
    struct buf text = { 0 };
    struct settings settings;
    char error[512];
    (void)state;

    assert_int_equal(settings_read(&settings, &plain, error, sizeof error), 0);
    assert_int_equal(settings.node.data_expiry_count, 0);
    settings_fini(&settings);
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_int_equal(settings.node.data_expiry_count, 2);
    assert_string_equal(settings.node.data_expiries[0].pattern, "session-*");
    assert_int_equal(settings.node.data_expiries[0].after_ms, 600000);
    assert_string_equal(settings.node.data_expiries[1].pattern, "a.b c");
    assert_int_equal(settings.node.data_expiries[1].after_ms, 4000);
    settings_fini(&settings);
    options.config_text = "akka.cluster.distributed-data.expire-keys-after-inactivity.x = 3 s";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), SHERD_ECONFIG);
    if (!strstr(error, "expire-keys-after-inactivity.x is 3000 ms; ") ||
        !strstr(error, "at least 2 times the gossip-interval of 2000 ms"))
        fail_msg("%s", error);
    settings_fini(&settings);
    buf_put_text(&text, "akka.cluster.distributed-data.expire-keys-after-inactivity {");
    for (int i = 0; i <= EXPIRIES_MAX; i++) {
        char key[32];

        (void)snprintf(key, sizeof key, "k%d = 1 h\n", i);
        buf_put_text(&text, key);
    }
    buf_put_text(&text, "}");
    buf_put_u8(&text, 0);
    options.config_text = (const char *)text.data;
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), SHERD_ECONFIG);
    if (!strstr(error, "k1024 is one too many: at most 1024"))
        fail_msg("%s", error);
    settings_fini(&settings);
    buf_fini(&text);
}

static void the_size_of_values_is_configured(void **state)
{
    static const char *const wrong[] = { "0", "1023", "253953", "1 MiB" };
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512], text[100];
    (void)state;

    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_int_equal(settings.node.data.update_size_max, REPLICATOR_UPDATE_SIZE_MAX);
    settings_fini(&settings);
    options.config_text = "akka.cluster.distributed-data.max-data-size = 10 KiB";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_int_equal(settings.node.data.update_size_max, 10 * 1024);
    /* sharding has no limit of its own */
    assert_int_equal(settings.node.sharding_data.update_size_max, 0);
    settings_fini(&settings);
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        (void)snprintf(text, sizeof text, "akka.cluster.distributed-data.max-data-size = %s", wrong[i]);
        options.config_text = text;
        assert_int_equal(settings_read(&settings, &options, error, sizeof error), SHERD_ECONFIG);
        if (!strstr(error, "max-data-size is ") || !strstr(error, " bytes; it must be 1024 to 253952"))
            fail_msg("%s", error);
        settings_fini(&settings);
    }
}

static void a_coordinator_state_in_a_journal_is_refused(void **state)
{
    struct sherd_options options = {
        .journal = "memory",
        .config_text = "pekko.cluster.sharding.state-store-mode = persistence",
    };
    struct settings settings;
    char error[512];
    (void)state;

    assert_int_equal(settings_read(&settings, &options, error, sizeof error), SHERD_ECONFIG);
    if (!strstr(error, "pekko.cluster.sharding.state-store-mode is persistence; ") ||
        !strstr(error, "set it to ddata, or leave it out, on all nodes"))
        fail_msg("%s", error);
    settings_fini(&settings);
}

/* Actors' tasks have five seconds; the node's own steps have configured or own times. */
static void phases_are_configured_UTL047(void **state)
{
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512];
    (void)state;

    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_true(settings.node.phase_timeouts[SHERD_SERVICE_STOP] == 5 * SECOND);
    assert_true(settings.node.phase_timeouts[SHERD_CLUSTER_LEAVE] == 0);
    settings_fini(&settings);
    options.config_text =
        "akka.coordinated-shutdown {\n"
        "  default-phase-timeout = 7 s\n"
        "  phases.service-unbind.timeout = 1 s\n"
        "  phases.service-requests-done.timeout = 0\n"
        "  phases.cluster-sharding-shutdown-region.timeout = 10 s\n"
        "}";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_true(settings.node.phase_timeouts[SHERD_SERVICE_STOP] == 7 * SECOND);
    assert_true(settings.node.phase_timeouts[SHERD_SERVICE_UNBIND] == SECOND);
    /* at once, not as if unset */
    assert_true(settings.node.phase_timeouts[SHERD_SERVICE_REQUESTS_DONE] == 1);
    assert_true(
        settings.node.phase_timeouts[SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION] ==
        10 * SECOND);
    assert_true(settings.node.phase_timeouts[SHERD_CLUSTER_LEAVE] == 7 * SECOND);
    assert_true(settings.node.phase_timeouts[SHERD_CLUSTER_EXITING_DONE] == 7 * SECOND);
    assert_true(settings.node.phase_timeouts[SHERD_CLUSTER_SHUTDOWN] == 7 * SECOND);
    /* the reference has its own time */
    assert_true(settings.node.phase_timeouts[SHERD_CLUSTER_EXITING] == 0);
    settings_fini(&settings);
}

/* The reference's block, unchanged. */
#define REFERENCE_PHASES                                                                                    \
    "before-service-unbind {}\n service-unbind { depends-on = [before-service-unbind] }\n"                   \
    "service-requests-done { depends-on = [service-unbind] }\n"                                             \
    "service-stop { depends-on = [service-requests-done] }\n"                                               \
    "before-cluster-shutdown { depends-on = [service-stop] }\n"                                             \
    "cluster-sharding-shutdown-region { timeout = 10 s, depends-on = [before-cluster-shutdown] }\n"         \
    "cluster-leave { depends-on = [cluster-sharding-shutdown-region] }\n"                                   \
    "cluster-exiting { timeout = 10 s, depends-on = [cluster-leave] }\n"                                    \
    "cluster-exiting-done { depends-on = [cluster-exiting] }\n"                                             \
    "cluster-shutdown { depends-on = [cluster-exiting-done] }\n"                                            \
    "before-actor-system-terminate { depends-on = [cluster-shutdown] }\n"                                   \
    "actor-system-terminate { timeout = 10 s, depends-on = [before-actor-system-terminate] }\n"

static void phases_may_be_disabled_or_abort(void **state)
{
    static const char *const wrong[][2] = {
        { "service-stop.depends-on = []", "can be nothing but service-requests-done" },
        { "service-stop.depends-on = [service-requests-done, mine]", "the order of phases is fixed" },
        { "before-service-unbind.depends-on = [service-stop]", "can be nothing but nothing" },
        { "cluster-leave.enabled = off", "cluster-leave.enabled cannot be off" },
        { "actor-system-terminate.enabled = off", "cannot be off" },
        { "cluster-sharding-shutdown-region.recover = off", "recover cannot be off" },
        { "before-actor-system-terminate.recover = off", "recover cannot be off" },
    };
    struct sherd_options options = { .journal = "memory",
                                     .config_text = "akka.coordinated-shutdown.phases {\n" REFERENCE_PHASES "}" };
    struct settings settings;
    char error[512], text[256];
    (void)state;

    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    for (uint32_t i = 0; i < SHERD_PHASE_COUNT; i++)
        assert_false(settings.node.phases_off[i] || settings.node.phases_fatal[i]);
    assert_true(settings.node.phase_timeouts[SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION] == 10 * SECOND);
    settings_fini(&settings);
    options.config_text = "akka.coordinated-shutdown.phases { service-stop.enabled = off\n"
                          "cluster-sharding-shutdown-region.enabled = off, service-unbind.recover = off\n"
                          "mine.depends-on = [service-stop] }";
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    for (uint32_t i = 0; i < SHERD_PHASE_COUNT; i++) {
        assert_int_equal(settings.node.phases_off[i],
                         i == SHERD_SERVICE_STOP || i == SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION);
        assert_int_equal(settings.node.phases_fatal[i], i == SHERD_SERVICE_UNBIND);
    }
    settings_fini(&settings);
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        (void)snprintf(text, sizeof text, "akka.coordinated-shutdown.phases { %s }", wrong[i][0]);
        options.config_text = text;
        assert_int_equal(settings_read(&settings, &options, error, sizeof error), SHERD_ECONFIG);
        if (!strstr(error, wrong[i][1]))
            fail_msg("\"%s\", not \"%s\"", error, wrong[i][1]);
        settings_fini(&settings);
    }
}

/* The first log line, and the number of lines. */
struct first {
    char line[512];
    int count;
};

static void keep_first(void *user, enum sherd_log_level level,
                       const char *module, const char *line)
{
    struct first *first = user;

    (void)level;
    (void)module;
    if (!first->count++)
        (void)snprintf(first->line, sizeof first->line, "%s", line);
}

/* Two processes may log to one file, so an error names its node. */
static void a_fault_of_the_configuration_names_the_node(void **state)
{
    static const struct {
        const char *text;
        const char *host;
        uint16_t port;
        const char *wanted; /* null: no node */
    } rows[] = {
        { "akka.cluster.shardin.x = 1", "127.0.0.1", 4001,
          " node=127.0.0.1:4001 " },
        { "akka {", "10.0.0.1", 4002, " node=10.0.0.1:4002 " },
        { "akka.remote.artery.canonical { hostname = h, port = 4003 }\n"
          "akka.cluster.seed-nodes = [\"nonsense\"]",
          NULL, 0, " node=h:4003 " },
        { "akka {", "127.0.0.1", SHERD_PORT_ANY, " node=127.0.0.1:0 " },
        { "akka {", NULL, 0, NULL },
        { "akka.cluster {\n nonsense = 1 }", NULL, 4004, " node=127.0.0.1:4004 " },
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct first first = { .count = 0 };
        struct sherd_options options = { .journal = "memory",
                                         .config_text = rows[i].text,
                                         .host = rows[i].host,
                                         .port = rows[i].port,
                                         .log = keep_first,
                                         .log_user = &first };
        struct sherd_system *system;

        assert_int_not_equal(sherd_open(&system, &options), 0);
        assert_non_null(strstr(first.line, "module=config "));
        if (rows[i].wanted ? !strstr(first.line, rows[i].wanted)
                           : strstr(first.line, " node=") != NULL)
            fail_msg("row %zu: %s", i, first.line);
    }
}

static int read_downing(struct settings *settings, const char *more,
                        char error[512])
{
    struct sherd_options options = { .journal = "memory" };
    char text[512];

    (void)snprintf(text, sizeof text,
                   "akka.cluster {\ndowning-provider-class = "
                   "\"akka.cluster.sbr.SplitBrainResolverProvider\"\n%s\n}",
                   more);
    options.config_text = text;
    return settings_read(settings, &options, error, 512);
}

static void no_resolver_is_configured_by_default_MEM077(void **state)
{
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char error[512];

    (void)state;
    assert_int_equal(settings_read(&settings, &options, error, sizeof error), 0);
    assert_false(settings.node.resolves);
    assert_int_equal(settings.node.down_removal_margin, 0);
    settings_fini(&settings);
}

/* As in the reference, "off" means never. */
static void a_zero_unstable_time_is_refused(void **state)
{
    struct settings settings;
    char error[512] = "";
    (void)state;

    assert_int_equal(read_downing(&settings, "split-brain-resolver.down-all-when-unstable = 0s", error), SHERD_ECONFIG);
    if (!strstr(error, "down-all-when-unstable wants a duration above 0 such as 10 s or 500 ms, or on|off"))
        fail_msg("%s", error);
    settings_fini(&settings);
}

/* cluster.split-brain-resolver, and the reference's defaults. */
static void the_resolver_is_configured_SBR069_SBR100_MEM078(void **state)
{
    static const struct {
        const char *text;
        enum strategy_kind kind;
        uint64_t stable, unstable, margin;
    } rows[] = {
        { "", STRATEGY_KEEP_MAJORITY, 20 * SECOND, 15 * SECOND, 20 * SECOND },
        { "split-brain-resolver.stable-after = 4s", STRATEGY_KEEP_MAJORITY,
          4 * SECOND, 4 * SECOND, 4 * SECOND },
        { "split-brain-resolver.down-all-when-unstable = off",
          STRATEGY_KEEP_MAJORITY, 20 * SECOND, 0, 20 * SECOND },
        { "split-brain-resolver.down-all-when-unstable = 7s\n"
          "down-removal-margin = 3s",
          STRATEGY_KEEP_MAJORITY, 20 * SECOND, 7 * SECOND, 3 * SECOND },
        { "split-brain-resolver.active-strategy = keep-oldest",
          STRATEGY_KEEP_OLDEST, 20 * SECOND, 15 * SECOND, 20 * SECOND },
        { "split-brain-resolver.active-strategy = down-all",
          STRATEGY_DOWN_ALL, 20 * SECOND, 15 * SECOND, 20 * SECOND },
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct settings settings;
        const struct resolver_settings *resolver = &settings.node.resolver;
        char error[512] = "";

        if (read_downing(&settings, rows[i].text, error) != 0)
            fail_msg("row %zu: %s", i, error);
        assert_true(settings.node.resolves);
        assert_int_equal(resolver->strategy.kind, rows[i].kind);
        assert_false(resolver->strategy.keeps_alone);
        assert_int_equal(resolver->stable_after, rows[i].stable);
        assert_int_equal(resolver->unstable_after, rows[i].unstable);
        assert_int_equal(settings.node.down_removal_margin, rows[i].margin);
        assert_null(settings.node.resolver_role);
        settings_fini(&settings);
    }
}

static void strategies_have_settings_of_their_own(void **state)
{
    struct settings settings;
    char error[512] = "";

    (void)state;
    assert_int_equal(
        read_downing(&settings,
                     "split-brain-resolver { active-strategy = static-quorum\n"
                     "static-quorum { quorum-size = 3, role = core } }",
                     error),
        0);
    assert_int_equal(settings.node.resolver.strategy.quorum_size, 3);
    assert_string_equal(settings.node.resolver_role, "core");
    settings_fini(&settings);
    assert_int_equal(
        read_downing(&settings,
                     "split-brain-resolver { active-strategy = keep-oldest\n"
                     "keep-oldest.down-if-alone = off }",
                     error),
        0);
    assert_true(settings.node.resolver.strategy.keeps_alone);
    assert_false(settings.node.resolver.strategy.joining_breaks_tie);
    settings_fini(&settings);
    assert_int_equal(
        read_downing(&settings,
                     "split-brain-resolver.keep-majority { role = core, "
                     "joining-breaks-tie = on }",
                     error),
        0);
    assert_true(settings.node.resolver.strategy.joining_breaks_tie);
    settings_fini(&settings);
    assert_int_equal(
        read_downing(&settings,
                     "split-brain-resolver.active-strategy = static-quorum",
                     error),
        SHERD_ECONFIG);
    assert_non_null(strstr(error, "quorum-size"));
    settings_fini(&settings);
    assert_int_equal(
        read_downing(&settings,
                     "split-brain-resolver.active-strategy = lease-majority",
                     error),
        SHERD_ECONFIG);
    assert_non_null(strstr(error, "lease-implementation"));
    settings_fini(&settings);
    assert_int_equal(
        read_downing(&settings,
                     "split-brain-resolver { active-strategy = lease-majority\n"
                     "lease-majority { lease-implementation = file, "
                     "lease-name = l, release-after = 1s } }",
                     error),
        0);
    assert_string_equal(strrchr(settings.lease_directory, '/'), "/.");
    assert_string_equal(settings.node.lease_name, "l");
    assert_int_equal(settings.node.lease_ttl, 120 * SECOND);
    assert_int_equal(settings.node.resolver.release_after, SECOND);
    assert_int_equal(settings.node.resolver.strategy.minority_delay,
                     2 * SECOND);
    assert_int_equal(settings_lease_needs(&settings), 22 * SECOND);
    settings_fini(&settings);
    assert_int_equal(
        read_downing(&settings,
                     "split-brain-resolver { active-strategy = lease-majority\n"
                     "down-all-when-unstable = off, stable-after = 60s\n"
                     "lease-majority { lease-implementation = memory\n"
                     "acquire-lease-delay-for-minority = 3s } }",
                     error),
        0);
    assert_int_equal(settings_lease_needs(&settings), 68 * SECOND);
    settings_fini(&settings);
    assert_int_equal(
        read_downing(&settings,
                     "split-brain-resolver.active-strategy = keep-majority",
                     error),
        0);
    assert_int_equal(settings_lease_needs(&settings), 0);
    settings_fini(&settings);
    assert_int_equal(
        read_downing(&settings, "downing-provider-class = my.Provider", error),
        SHERD_ECONFIG);
    assert_non_null(strstr(error, "my.Provider"));
    settings_fini(&settings);
}

/* Unknown values are reported like wrong types, with the key as written. */
static void errors_name_the_place_of_a_setting(void **state)
{
    static const struct {
        const char *text, *wanted;
    } rows[] = {
        { "sherd.system-name = ClusterSystem\n akka.cluster.seed-nodes = [\"akka://Other@h:1\"]",
          "config_text:2:2: akka.cluster.seed-nodes has \"akka://Other@h:1\", "
          "which is not an address of akka://ClusterSystem@HOST:PORT" },
        { "pekko.remote.artery { canonical { hostname = \"\" } }",
          "config_text:1:35: pekko.remote.artery.canonical.hostname is \"\", "
          "which is not a host's name" },
        { "akka.system-name = \"my system\"",
          "config_text:1:1: akka.system-name is \"my system\"; it must be "
          "letters, digits, - or _" },
        { "akka.cluster.downing-provider-class = my.Provider",
          "config_text:1:1: akka.cluster.downing-provider-class is "
          "\"my.Provider\", which is not known; it must be empty or" },
        { "sherd.cluster { downing-provider-class = "
          "\"akka.cluster.sbr.SplitBrainResolverProvider\"\n"
          "split-brain-resolver { active-strategy = lease-majority\n"
          "lease-majority.lease-implementation = zoo } }",
          "config_text:3:1: sherd.cluster.split-brain-resolver.lease-majority."
          "lease-implementation is \"zoo\"; it must be" },
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sherd_options options = { .journal = "memory",
                                         .config_text = rows[i].text };
        struct settings settings;
        char error[512] = "";

        assert_int_equal(settings_read(&settings, &options, error, 512),
                         SHERD_ECONFIG);
        if (strncmp(error, rows[i].wanted, strlen(rows[i].wanted)) != 0)
            fail_msg("wanted %s, got %s", rows[i].wanted, error);
        settings_fini(&settings);
    }
}

static int read_lease(const char *text, struct settings *settings,
                      char *error, size_t size)
{
    struct sherd_options options = { .journal = "memory" };
    char whole[1024];

    (void)snprintf(whole, sizeof whole,
                   "akka.cluster { downing-provider-class = akka.cluster.sbr.SplitBrainResolverProvider\n"
                   "split-brain-resolver.active-strategy = lease-majority }\n%s", text);
    options.config_text = whole;
    return settings_read(settings, &options, error, size);
}

#define KEEPER "sherd.cluster.split-brain-resolver.lease-majority.lease-implementation = "

static void lease_providers_are_configured(void **state)
{
    struct settings settings;
    char error[512];
    (void)state;

    assert_int_equal(read_lease(KEEPER "etcd", &settings, error, sizeof error), 0);
    assert_true(settings.node.lease_provider == LEASE_PROVIDER_ETCD);
    assert_int_equal(settings.etcd.endpoint_count, 1);
    assert_string_equal(settings.etcd.endpoints[0], "http://127.0.0.1:2379");
    assert_string_equal(settings.etcd.prefix, "/sherd/leases/");
    assert_true(settings.etcd.request_timeout == 1500 * MS);
    assert_true(settings.etcd.patience == 5 * SECOND);
    settings_fini(&settings);
    assert_int_equal(read_lease(KEEPER "etcd\nsherd.lease.etcd { endpoints = [\"https://a:1\", \"https://b:2\"]\n"
                                "user = u, password = p, ca-file = /ca, prefix = x }",
                                &settings, error, sizeof error), 0);
    assert_int_equal(settings.etcd.endpoint_count, 2);
    assert_string_equal(settings.etcd.endpoints[1], "https://b:2");
    assert_string_equal(settings.etcd.user, "u");
    assert_string_equal(settings.etcd.password, "p");
    assert_string_equal(settings.etcd.ca_file, "/ca");
    settings_fini(&settings);
    assert_int_equal(read_lease(KEEPER "file", &settings, error, sizeof error), 0);
    assert_false(settings.node.lease_provider == LEASE_PROVIDER_ETCD);
    assert_string_equal(strrchr(settings.lease_directory, '/'), "/.");
    settings_fini(&settings);
    assert_int_equal(read_lease(KEEPER "etcd\nsherd.lease.etcd.request-timeout = 5s",
                                &settings, error, sizeof error), SHERD_ECONFIG);
    assert_non_null(strstr(error, "lease-operation-timeout"));
    settings_fini(&settings);
}

static void a_missing_or_unknown_lease_provider_is_refused_LSE010_LSE011(
    void **state)
{
    static const char *const texts[] = { KEEPER "\"\"", KEEPER "zookeeper" };
    struct settings settings;
    char error[512];
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(read_lease(texts[i], &settings, error, sizeof error), SHERD_ECONFIG);
        assert_non_null(strstr(error, "lease-implementation"));
        assert_non_null(strstr(error, "\"etcd\""));
        settings_fini(&settings);
    }
}

static void a_lease_has_its_name_and_times_LSE006(void **state)
{
    struct settings settings;
    char error[512];
    (void)state;

    assert_int_equal(read_lease(KEEPER "file", &settings, error, sizeof error), 0);
    assert_string_equal(settings.node.lease_name, "");
    assert_true(settings.node.lease_ttl == 120 * SECOND);
    assert_true(settings.node.lease_interval == 12 * SECOND);
    assert_true(settings.node.lease_patience == 5 * SECOND);
    settings_fini(&settings);
    assert_int_equal(read_lease(KEEPER "file\n"
                                "akka.cluster.split-brain-resolver.lease-majority.lease-name = mine\n"
                                "akka.coordination.lease { heartbeat-timeout = 60s, heartbeat-interval = 6s\n"
                                "lease-operation-timeout = 3s }", &settings, error, sizeof error), 0);
    assert_string_equal(settings.node.lease_name, "mine");
    assert_true(settings.node.lease_ttl == 60 * SECOND);
    assert_true(settings.node.lease_interval == 6 * SECOND);
    assert_true(settings.node.lease_patience == 3 * SECOND);
    settings_fini(&settings);
}

/* Times of cluster.split-brain-resolver.lease-majority. */
static void the_pace_of_a_lease_is_configured_LSE001_LSE002_LSE003(void **state)
{
    static const struct {
        const char *text;
        uint64_t ttl, interval; /* in seconds; ttl 0: refused */
    } rows[] = {
        { "", 120, 12 },
        { "akka.coordination.lease.heartbeat-timeout = 100s", 100, 12 },
        { "akka.coordination.lease { heartbeat-timeout = 100s, heartbeat-interval = 20s }", 100, 20 },
        { "akka.coordination.lease { heartbeat-timeout = 100s, heartbeat-interval = \"\" }", 100, 10 },
        { "akka.coordination.lease { heartbeat-timeout = 40s, heartbeat-interval = \"\" }", 40, 5 },
        { "akka.coordination.lease.heartbeat-timeout = 25s", 25, 12 },
        { "akka.coordination.lease.heartbeat-timeout = 24s", 0, 0 },
        { "akka.coordination.lease.heartbeat-interval = 60s", 0, 0 },
    };
    char text[256];
    char error[512];
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct settings settings;
        int result;

        (void)snprintf(text, sizeof text, KEEPER "file\n%s", rows[i].text);
        result = read_lease(text, &settings, error, sizeof error);
        if (rows[i].ttl) {
            assert_int_equal(result, 0);
            assert_int_equal(settings.node.lease_ttl, rows[i].ttl * SECOND);
            assert_int_equal(settings.node.lease_interval, rows[i].interval * SECOND);
        } else {
            assert_int_equal(result, SHERD_ECONFIG);
            assert_non_null(strstr(error, "less than half of heartbeat-timeout"));
        }
        settings_fini(&settings);
    }
}

static void read_seeds(const char *text, struct settings *settings)
{
    struct sherd_options options = { .journal = "memory", .name = "My_Shop",
                                     .config_text = text };
    char error[512] = "";

    if (settings_read(settings, &options, error, sizeof error) != 0)
        fail_msg("%s", error);
}

#define DISCOVERY "akka.management.cluster.bootstrap.contact-point-discovery"

static void sources_of_seed_nodes_are_configured(void **state)
{
    struct settings settings;
    (void)state;

    read_seeds("", &settings);
    assert_false(settings.node.finds_seeds);
    settings_fini(&settings);
    read_seeds("sherd.cluster.seed-nodes-file = /etc/seeds", &settings);
    assert_true(settings.node.finds_seeds);
    assert_string_equal(settings.discovery.file, "/etc/seeds");
    assert_string_equal(settings.discovery.system, "My_Shop");
    /* the file may be read while it is written: two looks must agree */
    assert_true(settings.node.stable_margin == SECOND);
    assert_int_equal(settings.node.required_seeds, 0);
    settings_fini(&settings);
    read_seeds(DISCOVERY ".discovery-method = akka-dns", &settings);
    assert_true(settings.node.finds_seeds);
    assert_null(settings.discovery.file);
    assert_string_equal(settings.discovery.dns.name, "my-shop");
    assert_false(settings.discovery.dns.is_srv);
    assert_int_equal(settings.discovery.dns.port, 0); /* the node's own */
    assert_true(settings.node.stable_margin == 5 * SECOND);
    assert_int_equal(settings.node.required_seeds, 2);
    assert_true(settings.node.find_interval == SECOND);
    assert_false(settings.node.founds_never);
    settings_fini(&settings);
    read_seeds(DISCOVERY " { discovery-method = pekko-dns, service-name = shop, service-namespace = prod.svc\n"
               "port-name = remote, required-contact-point-nr = 3, stable-margin = 1s }\n"
               "sherd.dns.servers = [\"127.0.0.1:5353\", \"10.0.0.1\"]\n"
               "akka.management.cluster.bootstrap { new-cluster-enabled = off, contact-point.fallback-port = 2552 }",
               &settings);
    assert_true(settings.discovery.dns.is_srv);
    assert_string_equal(settings.discovery.dns.name, "_remote._tcp.shop.prod.svc");
    assert_string_equal(settings.discovery.dns.servers, "127.0.0.1:5353,10.0.0.1");
    assert_int_equal(settings.discovery.dns.port, 2552);
    assert_int_equal(settings.node.required_seeds, 3);
    assert_true(settings.node.founds_never);
    settings_fini(&settings);
    read_seeds(DISCOVERY " { discovery-method = akka-dns, effective-name = x.y }\n"
               "akka.cluster.seed-nodes = [\"akka://My_Shop@a:1\"]", &settings);
    assert_false(settings.node.finds_seeds); /* configured seed nodes win */
    assert_int_equal(settings.node.seed_node_count, 1);
    settings_fini(&settings);
}

static void invalid_sources_of_seed_nodes_are_refused(void **state)
{
    static const char *const texts[] = {
        DISCOVERY ".discovery-method = kubernetes-api",
        "akka.cluster { seed-nodes = [\"akka://My_Shop@a:1\"], seed-nodes-file = x }",
    };
    (void)state;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct sherd_options options = { .journal = "memory", .name = "My_Shop",
                                         .config_text = texts[i] };
        struct settings settings;
        char error[512] = "";

        assert_int_equal(settings_read(&settings, &options, error, sizeof error), SHERD_ECONFIG);
        assert_non_null(strstr(error, i ? "and cluster.seed-nodes too" : "kubernetes-api"));
        settings_fini(&settings);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_name_the_place_of_a_setting),
        cmocka_unit_test(a_memory_journal_takes_terms_from_the_clock),
        cmocka_unit_test(formats_are_unique_and_avoid_reserved_ids),
        cmocka_unit_test(a_wrong_journal_is_refused),
        cmocka_unit_test(a_journal_is_a_file),
        cmocka_unit_test(an_image_has_at_least_a_byte_and_at_most_16_mib),
        cmocka_unit_test(strategies_of_passivation_are_read),
        cmocka_unit_test(faults_of_a_strategy_are_explained),
        cmocka_unit_test(entities_live_with_the_configured_role),
        cmocka_unit_test(member_logging_is_configured),
        cmocka_unit_test(members_are_configured),
        cmocka_unit_test(data_centers_are_configured_MEM002),
        cmocka_unit_test(bad_members_are_refused),
        cmocka_unit_test(remembered_entities_are_kept_where_it_is_set),
        cmocka_unit_test(remembered_entities_start_as_configured),
        cmocka_unit_test(durable_keys_are_configured_DD134),
        cmocka_unit_test(bad_durable_keys_are_refused),
        cmocka_unit_test(coordinators_keep_their_state_as_configured),
        cmocka_unit_test(joins_are_checked_with_what_is_set),
        cmocka_unit_test(keys_expire_as_configured_PKO038_PKO039),
        cmocka_unit_test(the_size_of_values_is_configured),
        cmocka_unit_test(a_coordinator_state_in_a_journal_is_refused),
        cmocka_unit_test(lease_providers_are_configured),
        cmocka_unit_test(a_missing_or_unknown_lease_provider_is_refused_LSE010_LSE011),
        cmocka_unit_test(a_lease_has_its_name_and_times_LSE006),
        cmocka_unit_test(
            the_pace_of_a_lease_is_configured_LSE001_LSE002_LSE003),
        cmocka_unit_test(sources_of_seed_nodes_are_configured),
        cmocka_unit_test(invalid_sources_of_seed_nodes_are_refused),
        cmocka_unit_test(phases_are_configured_UTL047),
        cmocka_unit_test(phases_may_be_disabled_or_abort),
        cmocka_unit_test(protocol_and_provider_names_are_checked),
        cmocka_unit_test(the_system_name_is_that_of_the_seed_nodes),
        cmocka_unit_test(the_machines_own_host_can_be_used),
        cmocka_unit_test(a_method_of_discovery_is_dns_or_refused),
        cmocka_unit_test(an_allowed_zero_is_not_replaced_by_the_default),
        cmocka_unit_test(too_short_times_are_refused),
        cmocka_unit_test(a_zero_unstable_time_is_refused),
        cmocka_unit_test(a_zero_that_cores_read_as_default_is_refused),
        cmocka_unit_test(statistics_are_off_unless_set),
        cmocka_unit_test(limits_of_unknown_nodes_are_configured),
        cmocka_unit_test(idleness_is_configured_in_every_way),
        cmocka_unit_test(no_resolver_is_configured_by_default_MEM077),
        cmocka_unit_test(the_resolver_is_configured_SBR069_SBR100_MEM078),
        cmocka_unit_test(strategies_have_settings_of_their_own),
        cmocka_unit_test(a_fault_of_the_configuration_names_the_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
