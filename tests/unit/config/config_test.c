/* Tests settings: Akka's reference block, the grammar, every kind of error with its place,
 * overrides, round trips. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/limits.h"
#include "config/config.h"

#define SECOND 1000000000ull

static struct config_problem problem;

/* Returns the finished configuration of a text. */
static struct config *read_all(const char *text)
{
    struct config *config = config_new();

    if (!config_read(config, slice_text(text), "test.conf", &problem) ||
        !config_finish(config, &problem))
        fail_msg("%s", problem.text);
    return config;
}

/* Expects that reading or finishing refuses a text. */
static void refused(const char *text, uint32_t line, uint32_t column,
                    const char *words)
{
    struct config *config = config_new();
    char place[64];

    memset(&problem, 0, sizeof problem);
    if (config_read(config, slice_text(text), "test.conf", &problem) &&
        config_finish(config, &problem))
        fail_msg("accepted: %s", text);
    config_free(config);
    snprintf(place, sizeof place, "test.conf:%u:%u: ", line, column);
    if (strncmp(problem.text, place, strlen(place)) != 0 ||
        !strstr(problem.text, words))
        fail_msg("wanted %s...%s..., got %s", place, words, problem.text);
    assert_int_equal(problem.line, line);
    assert_int_equal(problem.column, column);
}

static char *file_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);

    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

/* Expects the defaults of Akka's reference.conf. */
static void assert_defaults(const struct config *c)
{
#define KEY(name) "cluster.sharding." name
    assert_int_equal(config_int(c, KEY("number-of-shards")), 1000);
    assert_string_equal(config_text(c, KEY("guardian-name")), "sharding");
    assert_string_equal(config_text(c, KEY("role")), "");
    assert_false(config_bool(c, KEY("remember-entities")));
    assert_true(config_is_null(c, KEY("passivate-idle-entity-after")));
    assert_string_equal(config_text(c, KEY("passivation.strategy")),
                        "default-idle-strategy");
    assert_int_equal(
        config_duration_ns(
            c, KEY("passivation.default-idle-strategy.idle-entity.timeout")),
        120 * SECOND);
    assert_int_equal(
        config_duration_ns(
            c, KEY("passivation.strategy-defaults.idle-entity.timeout")),
        CONFIG_OFF);
    assert_int_equal(
        config_int(c, KEY("passivation.default-strategy.active-entity-limit")),
        100000);
    assert_int_equal(
        config_list(c, KEY("passivation.default-strategy.replacement."
                           "least-recently-used.segmented.proportions")),
        2);
    assert_string_equal(
        config_list_at(c,
                       KEY("passivation.default-strategy.replacement."
                           "least-recently-used.segmented.proportions"),
                       1),
        "0.8");
    assert_int_equal(config_int(c, KEY("buffer-size")), 100000);
    assert_int_equal(config_duration_ns(c, KEY("handoff-timeout")),
                     60 * SECOND);
    assert_int_equal(config_duration_ns(c, KEY("shard-start-timeout")),
                     10 * SECOND);
    assert_int_equal(config_duration_ns(c, KEY("rebalance-interval")),
                     10 * SECOND);
    assert_int_equal(config_duration_ns(c, KEY("retry-interval")), 2 * SECOND);
    assert_int_equal(
        config_int(
            c, KEY("least-shard-allocation-strategy.rebalance-absolute-limit")),
        0);
    assert_true(config_number(c, KEY("least-shard-allocation-strategy."
                                     "rebalance-relative-limit")) == 0.1);
    assert_int_equal(config_int(c, KEY("coordinator-state.read-majority-plus")),
                     5);
    assert_int_equal(
        config_duration_ns(
            c, KEY("coordinator-singleton.hand-over-retry-interval")),
        SECOND);
    assert_int_equal(config_int(c, KEY("distributed-data.max-delta-elements")),
                     5);
    assert_string_equal(
        config_list_at(c, KEY("distributed-data.durable.keys"), 0), "shard-*");
    assert_int_equal(
        config_duration_ns(c, KEY("distributed-data.gossip-interval")),
        2 * SECOND);
    assert_int_equal(
        config_duration_ns(c, KEY("entity-recovery-constant-rate-strategy."
                                  "frequency")),
        SECOND / 10);
    assert_int_equal(config_list(c, KEY("healthcheck.names")), 0);
}

static void unset_keys_have_akkas_defaults(void **state)
{
    struct config *config = read_all("");
    uint32_t at = 0;
    struct config_setting setting;
    (void)state;

    assert_defaults(config);
    assert_false(config_next_setting(config, &at, &setting));
    assert_true(config_number(config, "cluster.failure-detector.threshold") ==
                8);
    assert_int_equal(config_int(config, "remote.artery.canonical.port"), 25520);
    assert_int_equal(config_int(config, "remote.artery.bind.port"),
                     CONFIG_WORD);
    assert_int_equal(
        config_size(config, "remote.artery.advanced.maximum-frame-size"),
        FRAME_SIZE_MAX);
    assert_int_equal(config_origin(config, "cluster.roles").kind,
                     CONFIG_DEFAULT);
    config_free(config);
}

static void the_reference_block_pastes_in_unchanged(void **state)
{
    char *text = file_text(REFERENCE_CONF);
    struct config *config = read_all(text);
    struct config_setting setting;
    uint32_t at = 0;
    uint32_t count = 0;
    (void)state;

    assert_defaults(config);
    while (config_next_setting(config, &at, &setting)) {
        if (!setting.is_default && !setting.is_jvm)
            fail_msg("%s = %s is not our default", setting.key, setting.value);
        assert_int_equal(setting.origin.kind, CONFIG_FILE);
        assert_string_equal(setting.origin.source, "test.conf");
        assert_true(setting.origin.line > 0);
        count++;
    }
    assert_int_equal(count, 78); /* every key = value, without the two ${...} */
    config_free(config);
    free(text);
}

static void a_pasted_block_resolves_its_references(void **state)
{
    char *block = file_text(REFERENCE_CONF);
    char *text = calloc(1, 1 << 20);
    struct config *config;
    (void)state;

    /* In any order: references are resolved at the end. */
    snprintf(text, 1 << 20,
             "akka.cluster.singleton.hand-over-retry-interval = 3 s\n%s\n"
             "akka.cluster.distributed-data { gossip-interval = 7s, "
             "max-delta-elements = 9 }\n",
             block);
    config = read_all(text);
#define SHARDS "cluster.sharding."
    assert_int_equal(
        config_duration_ns(config, SHARDS
                           "coordinator-singleton.hand-over-retry-interval"),
        3 * SECOND);
    assert_int_equal(
        config_duration_ns(config, SHARDS "distributed-data.gossip-interval"),
        7 * SECOND);
    assert_int_equal(
        config_int(config, SHARDS "distributed-data.max-delta-elements"), 5);
    config_free(config);

    /* The same without the block, by the table. */
    config = read_all("akka.cluster.singleton.hand-over-retry-interval = 3 s");
    assert_int_equal(
        config_duration_ns(config, SHARDS
                           "coordinator-singleton.hand-over-retry-interval"),
        3 * SECOND);
    assert_int_equal(
        config_origin(config,
                      SHARDS "coordinator-singleton.hand-over-retry-interval")
            .line,
        1);
    config_free(config);
    free(block);
    free(text);
}

static void ineffective_keys_are_named(void **state)
{
    struct config *config =
        read_all("akka.cluster.sharding { journal-plugin-id = x\n"
                 "number-of-shards = 10 }\n"
                 "akka.actor.serializers.mine = \"x.Y\"");
    struct config_setting setting;
    uint32_t at = 0;
    (void)state;

    assert_true(config_next_ineffective(config, &at, &setting));
    assert_string_equal(setting.key, "cluster.sharding.journal-plugin-id");
    assert_int_equal(setting.origin.line, 1);
    assert_false(setting.is_default);
    assert_true(config_next_ineffective(config, &at, &setting));
    assert_string_equal(setting.key, "actor.serializers.mine");
    assert_true(setting.is_jvm);
    assert_false(setting.is_default); /* the default is unknown here */
    assert_false(config_next_ineffective(config, &at, &setting));
    config_free(config);
    config = read_all("akka." SHARDS "distributed-data.role = other");
    at = 0;
    assert_true(config_next_ineffective(config, &at, &setting));
    assert_string_equal(setting.key, "cluster.sharding.distributed-data.role");
    assert_false(setting.is_default);
    config_free(config);
    /* Sharding's durable keys use the general directory. */
    config = read_all("akka." SHARDS "distributed-data.durable { keys = [a]\n"
                      "lmdb { dir = d, map-size = 2 MiB, write-behind-interval = 1 s }\n"
                      "pruning-marker-time-to-live = 1 h, store-actor-class = mine }");
    at = 0;
    for (uint32_t i = 0; i < 3; i++) {
        static const char *const names[] = { "dir", "map-size",
                                             "write-behind-interval" };
        char key[80];

        (void)snprintf(key, sizeof key,
                       "cluster.sharding.distributed-data.durable.lmdb.%s",
                       names[i]);
        assert_true(config_next_ineffective(config, &at, &setting));
        assert_string_equal(setting.key, key);
        assert_false(setting.is_default || setting.is_jvm);
    }
    assert_false(config_next_ineffective(config, &at, &setting));
    config_free(config);
    /* Only keys of the strategy in use have an effect. */
    config = read_all("akka.cluster.sharding.passivation { strategy = a\n"
                      "a.idle-entity.timeout = 1 s\n"
                      "ab.idle-entity.timeout = 1 s }");
    at = 0;
    assert_true(config_next_ineffective(config, &at, &setting));
    assert_string_equal(
        setting.key, "cluster.sharding.passivation.ab.idle-entity.timeout");
    assert_false(config_next_ineffective(config, &at, &setting));
    config_free(config);
}

static void the_three_prefixes_are_equal(void **state)
{
    struct config *config = read_all("akka.cluster.sharding.role = a\n"
                                     "pekko { cluster.sharding.role = b }\n"
                                     "sherd.log.level = ${akka.log.format}\n"
                                     "pekko.log.level = debug\n");
    (void)state;

    assert_string_equal(config_text(config, "cluster.sharding.role"), "b");
    assert_string_equal(config_text(config, "log.level"), "debug");
    assert_string_equal(config_text(config, "log.member"), "debug");
    config_free(config);
    /* Akka's name of the level. */
    config = read_all("akka.loglevel = \"WARNING\"");
    assert_string_equal(config_text(config, "log.level"), "warning");
    assert_string_equal(config_text(config, "log.member"), "warning");
    config_free(config);
    config = read_all("akka.loglevel = DEBUG\nakka.log.level = error");
    assert_string_equal(config_text(config, "log.level"), "error");
    config_free(config);
}

static void the_grammar_is_understood(void **state)
{
    struct config *c = read_all(
        "\xef\xbb\xbf{ # braces around it all\n"
        " \"akka\" : { // json\n"
        "   \"cluster\" : { \"roles\" : [ \"a\", b c ,\n d ], "
        "\"min-nr-of-members\" : 3.0 }\n"
        " }\n"
        " akka.cluster.roles += ${app.name}-x\n"
        " akka.cluster.roles = ${akka.cluster.roles} [last]\n"
        " app { name = n, port = 99, text = \"\"\"two\nlines\"\"\"\"\n }\n"
        " akka.remote.artery.canonical { hostname = \"h\\u00e4\\ud834\\udd1e\""
        ".example, port = ${app.port} }\n"
        " akka.system-name = ${app.text}\n"
        " akka.cluster = { log-info = no } { log-info-verbose : yes }\n"
        " akka.cluster.sharding.role = ${?app.none}\n"
        " akka.cluster.sharding.guardian-name = one two  three # trimmed\n"
        "}\n");
    (void)state;

    assert_int_equal(config_list(c, "cluster.roles"), 5);
    assert_string_equal(config_list_at(c, "cluster.roles", 1), "b c");
    assert_string_equal(config_list_at(c, "cluster.roles", 3), "n-x");
    assert_string_equal(config_list_at(c, "cluster.roles", 4), "last");
    assert_int_equal(config_int(c, "cluster.min-nr-of-members"), 3);
    assert_string_equal(config_text(c, "remote.artery.canonical.hostname"),
                        "h\xc3\xa4\xf0\x9d\x84\x9e.example");
    assert_int_equal(config_int(c, "remote.artery.canonical.port"), 99);
    assert_string_equal(config_text(c, "system-name"), "two\nlines\"");
    assert_false(config_bool(c, "cluster.log-info"));
    assert_true(config_bool(c, "cluster.log-info-verbose"));
    assert_string_equal(config_text(c, "cluster.sharding.role"), "");
    assert_string_equal(config_text(c, "cluster.sharding.guardian-name"),
                        "one two  three");
    config_free(c);
}

/* Akka's users set one item after the other: -Dakka.cluster.seed-nodes.0=... */
static void numbered_keys_make_a_list(void **state)
{
    struct config *c = read_all(
        "akka.cluster.roles = [before]\n"
        "akka.cluster.roles { 10 = c, 2 = b }\n"
        "akka.cluster.roles.0 = a\n"
        "akka.cluster.seed-nodes.1 = \"akka://s@b:2\"\n"
        "pekko.cluster.seed-nodes.0 = \"akka://s@a:1\"\n");
    (void)state;

    assert_int_equal(config_list(c, "cluster.roles"), 3);
    assert_string_equal(config_list_at(c, "cluster.roles", 0), "a");
    assert_string_equal(config_list_at(c, "cluster.roles", 1), "b");
    assert_string_equal(config_list_at(c, "cluster.roles", 2), "c");
    assert_int_equal(config_list(c, "cluster.seed-nodes"), 2);
    assert_string_equal(config_list_at(c, "cluster.seed-nodes", 0),
                        "akka://s@a:1");
    assert_int_equal(config_origin(c, "cluster.seed-nodes").line, 5);
    config_free(c);
    c = read_all("akka.cluster.roles { 1 = a, one = b }"); /* no number is left out */
    assert_int_equal(config_list(c, "cluster.roles"), 1);
    config_free(c);
    refused("akka.cluster.roles { 0 = { x = y } }", 1, 26, "an item of");
    refused("akka.cluster.min-nr-of-members.0 = 3", 1, 1, "unknown key");
    refused("akka.cluster.roles.4294967296 = a", 1, 1, "unknown key");
}

static void later_keys_win_and_sections_merge(void **state)
{
    struct config *config = config_new();
    (void)state;

    assert_true(config_read(
        config,
        slice_text("akka.cluster { gossip-interval = 5 s, roles = [a] }"),
        "first.conf", &problem));
    assert_true(config_read(
        config,
        slice_text("\nakka.cluster { gossip-interval = 250 ms }\n"
                   "akka.cluster.sharding.buffer-size = 7\n"
                   "akka.cluster.sharding.buffer-size = null\n"
                   "akka.cluster.sharding.passivation { strategy = mine\n"
                   " mine { idle-entity.timeout = 1 minute } }"),
        "second.conf", &problem));
    assert_true(config_finish(config, &problem));
    assert_int_equal(config_duration_ns(config, "cluster.gossip-interval"),
                     SECOND / 4);
    assert_string_equal(config_origin(config, "cluster.gossip-interval").source,
                        "second.conf");
    assert_int_equal(config_origin(config, "cluster.gossip-interval").line, 2);
    assert_int_equal(config_list(config, "cluster.roles"), 1);
    assert_int_equal(config_int(config, "cluster.sharding.buffer-size"),
                     100000);
    assert_int_equal(
        config_duration_ns(
            config, "cluster.sharding.passivation.mine.idle-entity.timeout"),
        60 * SECOND);
    assert_int_equal(
        config_int(config,
                   "cluster.sharding.passivation.mine.active-entity-limit"),
        CONFIG_WORD);
    config_free(config);
}

static void amounts_are_read_with_their_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } durations[] = {
        {"10 s", 10 * SECOND},
        {"120s", 120 * SECOND},
        {"500 ms", SECOND / 2},
        {"500", SECOND / 2},
        {"1 minute", 60 * SECOND},
        {"1.5 minutes", 90 * SECOND},
        {"0.000000001s", 1},
        {"6 h", 6ull * 3600 * SECOND},
        {"36500d", 36500ull * 86400 * SECOND},
        {"3 nanos", 3},
        {"2us", 2000},
        {" 10 s ", 10 * SECOND},
        {"\n\xc2\xa0" "10\xe3\x80\x80s\t", 10 * SECOND},
        {".5 s", SECOND / 2},
        {"1. s", SECOND},
        {"1e1 s", 10 * SECOND},
        {"2.5E-3s", 2500000},
        {"12e+2 ms", 1200 * (SECOND / 1000)},
        {"0.00000001e8 m", 60 * SECOND},
        {"0000000000000000000000000000000000000000001 s", SECOND},
        {"+3 s", 3 * SECOND},
        {"0e99 s", 0},
    };
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {
        {"512 KiB", 512 * 1024},
        {"256k", 256 * 1024},
        {"2 MiB", 2 << 20},
        {"1kB", 1000},
        {"7", 7},
        {"0b", 0},
        {"1.5 k", 1536},
        {"3 GB", 3000000000},
        {" .5 KiB ", 512},
        {"1e3", 1000},
        {"1E", 1ull << 60},
        {"2e0e", 2ull << 60},
        {"3PB", 3000000000000000},
    };
    static const char *const wrong[] = {"",
                                        "s",
                                        "1 x",
                                        "-1 s",
                                        "1..2",
                                        "1 s s",
                                        ".",
                                        ". s",
                                        "1 S",
                                        "e1 s",
                                        "1e400 s",
                                        "1e1.5 s",
                                        "99999999999999999999",
                                        "9999999999 d"};
    uint64_t amount;
    (void)state;

    for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++) {
        assert_true(
            config_parse_duration(slice_text(durations[i].text), &amount));
        assert_int_equal(amount, durations[i].ns);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_true(config_parse_size(slice_text(sizes[i].text), &amount));
        assert_int_equal(amount, sizes[i].bytes);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(config_parse_duration(slice_text(wrong[i]), &amount));
}

static void wrong_keys_are_refused_with_the_nearest_key(void **state)
{
    (void)state;
    refused("\n  akka.cluster.sharding.number-of-shard = 10", 2, 3,
            "did you mean akka.cluster.sharding.number-of-shards?");
    refused("akka.cluster {\n sharding {\n  bufer-size = 10\n }\n}", 3, 3,
            "did you mean akka.cluster.sharding.buffer-size?");
    refused("akka.cluster.number-of-shards = 10", 1, 1,
            "did you mean akka.cluster.sharding.number-of-shards?");
    refused("akka.cluster.zzzzzz.yyyyyyyyyyyyyy = 10", 1, 1,
            "unknown key akka.cluster.zzzzzz.yyyyyyyyyyyyyy; remove it, or set "
            "sherd.config.unknown-keys = warn");
    refused("sherd.zzzzzz.yyyyyyyyyyyyyy = 10", 1, 1,
            "unknown key sherd.zzzzzz; remove it");
    refused("aka.cluster.roles = []", 1, 1,
            "unknown section aka; did you mean akka?");
    refused("pekk { remote.artery.canonical.port = 1 }", 1, 1,
            "unknown section pekk; did you mean pekko?");
    refused("akka.sharding.number-of-shards = 10", 1, 1,
            "did you mean akka.cluster.sharding.number-of-shards?");
    refused("akka.seed-nodes = []", 1, 1, "did you mean akka.cluster.seed-nodes?");
    refused("akka.clutser.zzzzz = 10", 1, 1, "unknown key akka.clutser.zzzzz");
    refused("akka.cluster.shardin {}", 1, 1, "unknown key akka.cluster.shardin");
    refused("pekko.cluster.rols = []", 1, 1,
            "unknown key pekko.cluster.rols; did you mean "
            "pekko.cluster.roles?");
    refused("pekko { cluster {\n rols = [] } }\nakka.cluster.log-info = on", 2,
            2, "did you mean pekko.cluster.roles?");
    refused("sherd.lane = 1", 1, 1, "did you mean sherd.lanes?");
    refused("pekko.cluster.log-info = maybe", 1, 26,
            "pekko.cluster.log-info wants on or off");
    refused("akka.cluster = 5", 1, 1, "akka.cluster is a section; write akka.cluster { ... }");
    refused("akka = 5", 1, 1, "settings are a section; write akka { ... }");
    refused("akka.cluster.sharding.distributed-data = ${akka.cluster."
            "singleton}\nakka.cluster.singleton.role = x\n"
            "akka.cluster.singleton.use-lease=y",
            3, 1, "unknown key akka.cluster.sharding.distributed-data.use-lease");
}

/* A key whose sections are not all there, or are too many. */
static void a_key_in_a_wrong_section_is_refused_with_the_right_one(void **state)
{
    (void)state;
    refused("akka.remote.artery.hostname = a", 1, 1,
            "did you mean akka.remote.artery.canonical.hostname?");
    refused("akka.remote.port = 1", 1, 1,
            "did you mean akka.remote.artery.canonical.port?");
    refused("sherd.journal.path = a", 1, 1,
            "did you mean sherd.journal.sqlite.path?");
    refused("akka.split-brain-resolver.active-strategy = a", 1, 1,
            "did you mean akka.cluster.split-brain-resolver.active-strategy?");
    refused("akka.cluster.coordinated-shutdown.phases.cluster-exiting.timeout = 1 s",
            1, 1,
            "did you mean akka.coordinated-shutdown.phases.cluster-exiting.timeout?");
    refused("akka.cluster.sharding.passivation-strategy.idle-entity.timeout = 1 s",
            1, 1,
            "did you mean akka.cluster.sharding.passivation."
            "default-idle-strategy.idle-entity.timeout?");
    refused("akka.cluster.x.y.z.timeout = 1 s", 1, 1, "remove it");
    refused("sherd.nope = 1", 1, 1, "remove it"); /* not akka.home */
    refused("AKKA.cluster.roles = [a]", 1, 1,
            "unknown section AKKA; did you mean akka?");
    refused("Pekko.lanes = 1", 1, 1, "unknown section Pekko; did you mean pekko?");
}

/* Returns the names of one kind, each with a comma. */
static const char *names_of(const struct config *config,
                             enum config_unread_kind kind)
{
    static char names[512];
    struct config_unread unread;
    uint32_t at = 0;

    names[0] = '\0';
    while (config_next_unread(config, &at, &unread)) {
        size_t size = strlen(names);

        if (unread.kind == kind)
            snprintf(names + size, sizeof names - size, "%s%s%s,", unread.name,
                     unread.meant ? "=" : "", unread.meant ? unread.meant : "");
    }
    return names;
}

static void settings_at_the_root_are_listed(void **state)
{
    struct config *config = read_all("cluster { seed-nodes = [\"a:1\"], name = x }\n"
                                     "remote.artery.canonical { port = 1, x = 2 }\n"
                                     "journal.plugin = sqlite\ncluster.y.roles = 1");
    (void)state;

    assert_string_equal(names_of(config, CONFIG_BARE),
                        "cluster.seed-nodes,remote.artery.canonical.port,");
    assert_string_equal(names_of(config, CONFIG_OWN), "cluster,remote,journal,");
    config_free(config);
}

static void variables_that_resemble_settings_are_listed(void **state)
{
    static const char *const variables[] = {
        "SHERD_LANES=1", "SHERD_CLUSTER_SEED_NODES=a:1",
        "CONFIG_FORCE_akka_cluster_roles_0=a", "CONFIG_FORCE_pekko_loglevel=INFO",
        "CONFIG_FORCE_mine_lanes=1", "SHERD_HOME=/x", "SHERDLANES=1",
        "AKKA_LANES=1", "SHERD_LANES_0=1", "AKKA__CLUSTER__SEED_NODES=a:1", "PEKKO_LOGLEVEL=INFO",
        "PEKKO__CLUSTER__ROLES=a", "AKKA_HOME=/x", "AKKA__=x", "sherd__lanes=2",
        "SHERD_LAMES=1", "SHERD_CLUSTER_SEED_NODS=a:1", "SHERD_REMOTE_ARTERY_CANONICAL_HOST_NAME=a", NULL,
    };
    struct config *config = config_new();
    (void)state;

    config_environment(config, variables);
    assert_true(config_finish(config, &problem));
    assert_string_equal(names_of(config, CONFIG_VARIABLE),
                        "SHERD_LANES=SHERD__LANES,"
                        "SHERD_CLUSTER_SEED_NODES=SHERD__CLUSTER__SEED_NODES,"
                        "CONFIG_FORCE_akka_cluster_roles_0=SHERD__CLUSTER__ROLES,"
                        "CONFIG_FORCE_pekko_loglevel=SHERD__LOGLEVEL,"
                        "AKKA_LANES=SHERD__LANES,"
                        "AKKA__CLUSTER__SEED_NODES=SHERD__CLUSTER__SEED_NODES,"
                        "PEKKO_LOGLEVEL=SHERD__LOGLEVEL,"
                        "PEKKO__CLUSTER__ROLES=SHERD__CLUSTER__ROLES,"
                        "SHERD_LAMES=SHERD__LANES,"
                        "SHERD_CLUSTER_SEED_NODS=SHERD__CLUSTER__SEED_NODES,"
                        "SHERD_REMOTE_ARTERY_CANONICAL_HOST_NAME=SHERD__REMOTE__ARTERY__CANONICAL__HOSTNAME,");
    assert_int_equal(config_int(config, "lanes"), 2);
    config_free(config);
}

static void a_byte_that_no_text_has_is_named(void **state)
{
    static const uint8_t text[] = "akka.lanes = 1\0";
    struct config *config = config_new();
    (void)state;

    assert_false(config_read(config, slice_of(text, sizeof text - 1), "t", &problem));
    assert_string_equal(problem.text,
                        "t:1:15: the byte 0x00 cannot stand in a bare value; remove it");
    config_free(config);
}

/* A name that resembles a key with an effect is an error in any section. */
static void misspelled_keys_are_refused_in_all_sections(void **state)
{
    (void)state;
    refused("akka.remote.artery.advanced.outbound-mesage-queue-size = 1", 1, 1,
            "did you mean "
            "akka.remote.artery.advanced.outbound-message-queue-size?");
    refused("akka.remote.artery.canonical.hostnam = a", 1, 1,
            "did you mean akka.remote.artery.canonical.hostname?");
    refused("akka.remote.canonical.hostname = a", 1, 1,
            "did you mean akka.remote.artery.canonical.hostname?");
    refused("akka.remote.frobnicate = 1", 1, 1,
            "unknown key akka.remote.frobnicate; remove it");
    refused("akka.persistence.journal.plugn = x", 1, 1,
            "did you mean akka.persistence.journal.plugin?");
    refused("akka.coordinated-shutdown.default-phase-timout = 3 s", 1, 1,
            "did you mean akka.coordinated-shutdown.default-phase-timeout?");
    refused("akka.coordinated-shutdown.phases.cluster-leav.timeout = 3 s", 1,
            1,
            "did you mean "
            "akka.coordinated-shutdown.phases.cluster-leave.timeout?");
    refused("akka.cluster.sharding.passivation.default-idle-strategie"
            ".idle-entity.timeout = 3 s",
            1, 1,
            "did you mean akka.cluster.sharding.passivation."
            "default-idle-strategy.idle-entity.timeout?");
    refused("akka.cluster.sharding.passivation.mine.idle-entity.timeot = 3 s",
            1, 1,
            "did you mean "
            "akka.cluster.sharding.passivation.mine.idle-entity.timeout?");
    refused("akka.cluster.sharding.frobnicate = 1", 1, 1, "remove it");
}

/* Names that Akka's users choose, and copies of sections. */
static void names_of_the_user_are_accepted(void **state)
{
    struct config *config = read_all(
        "akka.actor { serializers.mine = x, serialization-bindings { "
        "\"a.b.C\" = mine }, deployment { /a/b { router = r } }\n"
        " my-dispatcher { type = Dispatcher, throughput = 1,"
        " fork-join-executor.parallelism-max = 2 } }\n"
        "akka.persistence { journal { plugin = x, mine.class = y },"
        " dispatchers.own.type = z }\n"
        "akka.remote.artery.advanced.materializer = "
        "${akka.stream.materializer}\n"
        "akka.stream.materializer.max-input-buffer-size = 3\n"
        "akka.cluster.sharded-daemon-process.sharding = ${akka.cluster"
        ".sharding}\nakka.cluster.sharding.role = r\n"
        "akka.library-extensions = ${?akka.library-extensions} [\"x\"]\n"
        "akka.cluster.sharding.passivation { default-strategy2 {"
        " active-entity-limit = 3 } }\n"
        "akka.coordinated-shutdown.phases.of-mine.depends-on = [a]");
    struct config_setting setting;
    uint32_t foreign = 0;
    uint32_t at = 0;
    (void)state;

    while (config_next_ineffective(config, &at, &setting))
        foreign += setting.is_jvm;
    assert_int_equal(foreign, 13);
    config_free(config);
}

/* Returns the parts that are not read, as "KIND NAME MEANT" lines. */
static const char *unread_of(const char *text)
{
    static const char *const kinds[] = { "module", "unknown", "own", "nested" };
    static char lines[2048];
    struct config *config = read_all(text);
    struct config_unread unread;
    size_t size = 0;
    uint32_t at = 0;

    lines[0] = '\0';
    while (config_next_unread(config, &at, &unread))
        size += (size_t)snprintf(lines + size, sizeof lines - size, "%s %s%s%s\n",
                                 kinds[unread.kind], unread.name,
                                 unread.meant ? " " : "",
                                 unread.meant ? unread.meant : "");
    config_free(config);
    return lines;
}

/* An application's file has settings of modules that a node here lacks, and of newer releases. */
static void keys_of_other_modules_are_listed(void **state)
{
    (void)state;
    assert_string_equal(
        unread_of("akka {\n http.server.request-timeout = 20 s\n"
                  "kafka.producer { close-timeout = ${NOT_SET}, x = 1 }\n"
                  "grpc.client.connection-attempts = 5\n"
                  "cluster.http.management.port = 8558\n"
                  "cluster.bootstrap.contact-point-discovery.service-name = x\n"
                  "projection.restart-backoff.max-backoff = 10 s\n"
                  "persistence.jdbc.database-provider-fqcn = \"x.y.Z\"\n"
                  "actor.newer = 1\nactor.x { y = 1 }\n"
                  "license-key = k\n"
                  "remote.log-remote-lifecycle-events = off\n"
                  "test.timefactor = 2.0\ndiagnostics.recorder.enabled = off\n"
                  "cluster.metrics.newer { a = 1 }\n}"),
        "module akka.http\nmodule akka.kafka\nmodule akka.grpc\n"
        "module akka.cluster.http\nmodule akka.cluster.bootstrap\nmodule akka.cluster.metrics.newer\n"
        "module akka.projection\nmodule akka.persistence.jdbc\n"
        "module akka.actor.newer\n"
        "module akka.actor.x.y\nmodule akka.license-key\n"
        "module akka.remote.log-remote-lifecycle-events\nmodule akka.test\n"
        "module akka.diagnostics\n");
    refused("akka.cluster.newer-key = 1", 1, 1, "unknown key");
    refused("akka.management.http.prt = 1", 1, 1, "unknown key");
    refused("akka.cluster.request-timeout = 1", 1, 1,
            "unknown key akka.cluster.request-timeout; remove it");
    refused("akka.remote.artery.canonical.bind-hostname = x", 1, 1,
            "unknown key akka.remote.artery.canonical.bind-hostname; remove it");
    refused("akka.remote.artery.ssl.config-ssl-engin.protocol = x", 1, 1,
            "did you mean akka.remote.artery.ssl.config-ssl-engine.protocol?");
}

static void sections_of_the_application_are_ignored(void **state)
{
    struct config *config;
    (void)state;

    assert_string_equal(unread_of("orders { http.port = ${PORT}, r = ${orders} }\n"
                                  "akka.cluster.roles = [a]\nslick = null\n"
                                  "kamon.x = [ 1, { y = z } ]"),
                        "own orders\nown slick\nown kamon\n");
    assert_string_equal(
        unread_of("orders-data { akka { cluster.roles = [a] } }\n"
                  "a.b = ${x} { pekko.remote.artery.canonical.port = 0 }\n"
                  "c.akka.loglevel = info"),
        "own orders-data\nnested orders-data.akka\nown a\n"
        "nested a.b.pekko\nown c\n");
    config = read_all("orders.roles = [a, ${?X}]\n"
                      "akka.cluster.roles = ${orders.roles} [b]");
    assert_int_equal(config_list(config, "cluster.roles"), 2);
    config_free(config);
}

static void unknown_keys_can_be_allowed(void **state)
{
    static const char *const variables[] = { "SHERD__CLUSTER__ROLS=x",
                                             "SHERD__CONFIG__UNKNOWN_KEYS=warn",
                                             NULL };
    struct config *config = config_new();
    struct config_unread unread;
    uint32_t at = 0;
    (void)state;

    assert_string_equal(
        unread_of("sherd.config.unknown-keys = warn\n"
                  "akka.cluster.rols = [a]\nakka.cluster.newer.key = 1\n"
                  "sherd.lane = 1\naka.cluster.x = 1"),
        "unknown akka.cluster.rols cluster.roles\n"
        "unknown akka.cluster.newer.key\nunknown sherd.lane lanes\n"
        "unknown aka akka\n");
    refused("sherd.config.unknown-keys = warn\nakka.lanes = x", 2, 14, "wants");
    refused("sherd.config.unknown-keys = sometimes", 1, 29, "error|warn");
    config_environment(config, variables);
    config_set(config, "akka.cluster.nothing", "1", "code");
    assert_true(config_finish(config, &problem));
    assert_true(config_next_unread(config, &at, &unread));
    assert_string_equal(unread.name, "cluster.rols");
    assert_string_equal(unread.origin.source, "SHERD__CLUSTER__ROLS");
    assert_true(config_next_unread(config, &at, &unread));
    assert_string_equal(unread.name, "akka.cluster.nothing");
    config_free(config);
}

static void wrong_values_are_refused_with_the_type(void **state)
{
    (void)state;
    refused("akka.cluster.sharding.number-of-shards = many", 1, 42,
            "wants a whole number from 1 to 20000, not \"many\"");
    refused("akka.cluster.sharding.number-of-shards = 0", 1, 42,
            "from 1 to 20000");
    refused("akka.cluster.sharding.handoff-timeout = 10 sek", 1, 41,
            "wants a duration of at least 1 ms such as 10 s or 500 ms, not \"10 sek\"");
    refused("akka.cluster.sharding.handoff-timeout = off", 1, 41,
            "wants a duration");
    refused("akka.cluster.gossip-interval = 0 s", 1, 32,
            "wants a duration of at least 1 ms such as 10 s or 500 ms, not \"0 s\"");
    refused("akka.cluster.sharding.handoff-timeout = 0", 1, 41,
            "wants a duration of at least 1 ms");
    refused("akka.cluster.sharding.retry-interval = 0", 1, 40,
            "wants a duration above 0 such as 10 s or 500 ms, not \"0\"");
    refused("akka.cluster.down-removal-margin = 1 week", 1, 36,
            "wants a duration such as 10 s or 500 ms, or off|none");
    refused("akka.cluster.gossip-interval = -5 s", 1, 32, "not \"-5 s\"");
    refused("akka.cluster.down-removal-margin = of", 1, 36, ", or off|none");
    refused("akka.cluster.log-info = maybe", 1, 25, "wants on or off");
    refused("akka.cluster.roles = a", 1, 22, "wants a list such as [a, b]");
    refused("akka.cluster.roles = [[a]]", 1, 23, "wants a text");
    refused("akka.cluster.log-info = [on]", 1, 25, "not a list");
    refused("akka.remote.artery.transport = aeron-udp", 1, 32,
            "one of tcp|tls-tcp");
    refused("akka.remote.artery.advanced.maximum-frame-size = 1 Kib", 1, 50,
            "wants a size such as 512 KiB");
    refused("akka.cluster.gossip-different-view-probability = 1.1", 1, 50,
            "wants a number from 0 to 1");
    refused("\nakka.cluster.sharding.passivation.strategy = mine", 2, 1,
            "akka.cluster.sharding.passivation.strategy names the strategy \"mine\", which has no section");
    refused("akka.cluster.sharding.passivation.strategy = a.b", 1, 1,
            "which has no section");
    refused("akka.log.level = loud", 1, 18, "error|warning|info|debug|off");
    refused("akka.log.member = loud", 1, 19, "error|warning|info|debug|off");
    refused("akka.log.membr = debug", 1, 1, "did you mean akka.log.member?");
    refused("akka.log.levle = debug", 1, 1, "did you mean akka.log.level?");
    refused("akka.log.fromat = json", 1, 1, "did you mean akka.log.format?");
    refused("akka.log.kubernetes = debug", 1, 1,
            "unknown key akka.log.kubernetes; remove it");
}

static void wrong_texts_are_refused_with_the_place(void **state)
{
    (void)state;
    refused("app.a = b\napp.b = \xe9t\xe9", 2, 9,
            "the byte 0xe9 is not UTF-8; save the text as UTF-8");
    refused("app.a = \xc0\xaf", 1, 9, "0xc0 is not UTF-8");
    refused("app.a = \xed\xa0\x80", 1, 9, "0xed is not UTF-8");
    refused("app.a = \xf4\x90\x80\x80", 1, 9, "0xf4 is not UTF-8");
    refused("app.a = \xe2\x82", 1, 9, "0xe2 is not UTF-8");
    refused("akka {", 1, 6, "this { is not closed");
    refused("akka.cluster {\n roles = [a, b\n}", 3, 1, "expected a value");
    refused("akka.cluster.roles = [a,", 1, 22, "this [ is not closed");
    refused("akka.cluster.roles = [a b {}]", 1, 27, "cannot join");
    refused("}", 1, 1, "a } without its {");
    refused("{}\nx", 2, 1, "nothing may follow");
    refused("akka", 1, 5, "expected =, : or {");
    refused("akka.cluster.role =", 1, 20, "expected a value");
    refused("akka.cluster.role = # none\n", 2, 1, "expected a value");
    refused("a..b = 1", 1, 3, "expected a key");
    refused(", a = 1", 1, 1, "expected a key, found \",\"");
    refused("app.a = \"open\nb = 1", 1, 9, "does not end on its line");
    refused("app.a = \"\"\"open\n\n", 1, 9, "is not closed");
    refused("app.a = \"\\q\"", 1, 11, "unknown escape \\q");
    refused("app.a = \"\\u12g4\"", 1, 14, "four hexadecimal digits");
    refused("app.a = \"\\ud800\"", 1, 12, "is half of a character");
    refused("app.a = akka://s@h:1", 1, 13, "the sign : cannot stand");
    refused("app.a = ${b", 1, 9, "this ${ is not closed");
    refused("app.a = {} {} ] ", 1, 15, "expected the end of the line");
    refused("app.a = [1] \"x\" ", 1, 13, "cannot join");
    refused("akka.system-name = ${app.b}", 1, 20, "${app.b} is neither set");
    refused("akka.cluster.roles = [${pekko.cluster.sharding.rol}]", 1, 23,
            "did you mean ${pekko.cluster.sharding.role}?");
    refused("akka.cluster.role =\nakka.cluster.roles = [a]", 2, 20,
            "is a value, a comma or a bracket missing?");
    refused("akka.system-name = ${akka.system-name}", 1, 20,
            "${akka.system-name} refers to the value that it stands in");
    refused("app.a = ${app.b}\napp.b = ${app.a}\nakka.system-name = ${app.a}",
            2, 9, "break the cycle");
    refused("akka.cluster.role.x { a = ${akka.cluster.role} }", 1, 27,
            "break the cycle");
    refused("akka.cluster.roles = 1\nakka.cluster.roles += 2", 2, 1,
            "+= adds to a list");
    refused("include \"x\"", 1, 1, "includes are not allowed here");
    refused("include url(\"x\")", 1, 1, "\"x\" is not a file");
    refused("include x", 1, 9, "include wants");
}

static void too_large_texts_are_refused(void **state)
{
    struct buf buf = {0};
    char line[64];
    (void)state;

    for (int i = 0; i < CONFIG_DEPTH_MAX; i++)
        buf_put_text(&buf, "app {");
    buf_put_u8(&buf, 0);
    refused((char *)buf.data, 1, 5 * CONFIG_DEPTH_MAX, "nest deeper");
    buf_clear(&buf);
    buf_put_text(&buf, "app.a = ");
    for (int i = 0; i < 100000; i++)
        buf_put_u8(&buf, '[');
    buf_put_u8(&buf, 0);
    refused((char *)buf.data, 1, 9 + CONFIG_DEPTH_MAX - 2, "nest deeper");
    refused("a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a = 1", 1, 34, "more than 16");
    buf_clear(&buf);
    for (int i = 0; i <= CONFIG_KEYS_MAX; i++) {
        snprintf(line, sizeof line, "app.k%d = 1\n", i);
        buf_put_text(&buf, line);
    }
    buf_put_u8(&buf, 0);
    memset(&problem, 0, sizeof problem);
    refused((char *)buf.data, CONFIG_KEYS_MAX + 1, 14, "more than 4096 keys, ");
    buf_clear(&buf);
    /* Each doubles the previous one. */
    buf_put_text(&buf, "app.k0 = [1, 2, 3, 4]\n");
    for (int i = 1; i < 30; i++) {
        snprintf(line, sizeof line, "app.k%d = ${app.k%d} ${app.k%d}\n", i,
                 i - 1, i - 1);
        buf_put_text(&buf, line);
    }
    buf_put_text(&buf, "akka.cluster.roles = ${app.k29}\n");
    buf_put_u8(&buf, 0);
    {
        struct config *config = config_new();

        assert_true(config_read(config, slice_text((char *)buf.data),
                                "test.conf", &problem));
        assert_false(config_finish(config, &problem));
        assert_non_null(strstr(problem.text, "check whether they multiply"));
        assert_true(problem.line > 0);
        config_free(config);
    }
    buf_clear(&buf);
    buf_put_text(&buf, "app.a = \"");
    for (int i = 0; i <= CONFIG_VALUE_SIZE_MAX; i++)
        buf_put_u8(&buf, 'x');
    buf_put_text(&buf, "\"");
    buf_put_u8(&buf, 0);
    refused((char *)buf.data, 1, 9, "longer than 65536 bytes");
    buf_clear(&buf);
    for (int i = 0; i <= CONFIG_SIZE_MAX; i++)
        buf_put_u8(&buf, ' ');
    buf_put_u8(&buf, 0);
    refused((char *)buf.data, 1, 1, "1048577 bytes; at most 1048576");
    buf_fini(&buf);
}

static void the_environment_overrides_the_file(void **state)
{
    static const char *const variables[] = {
        "HOME=/home/x",
        "SHERD__CLUSTER__SHARDING__NUMBER_OF_SHARDS=64",
        "sherd__Cluster__roles=a, b ,c",
        "SHERD__CLUSTER__SEED_NODES=[\"akka://s@h:1\"]",
        "SHERD__REMOTE__ARTERY__CANONICAL__HOSTNAME=akka://odd",
        "SHERD_OTHER=1",
        "=x",
        "y",
        NULL,
    };
    struct config *config = config_new();
    (void)state;

    config_environment(config, variables);
    config_set(config, "pekko.cluster.sharding.role", "from code", "--role");
    config_set(config, "cluster.sharding.retry-interval", "\"9s\"", "code");
    config_set(config, "system-name", "\"a \\\"b\\\"\"", "code");
    config_set(config, "journal.sqlite.path", "\"odd", "code");
    assert_true(config_read(
        config,
        slice_text("akka.cluster.sharding { number-of-shards = 5, role = r\n"
                   "guardian-name = ${HOME}/y }\napp.x = ${?NONE}"),
        "test.conf", &problem));
    assert_true(config_finish(config, &problem));
    assert_int_equal(config_int(config, "cluster.sharding.number-of-shards"),
                     64);
    assert_int_equal(
        config_origin(config, "cluster.sharding.number-of-shards").kind,
        CONFIG_ENVIRONMENT);
    assert_string_equal(
        config_origin(config, "cluster.sharding.number-of-shards").source,
        "SHERD__CLUSTER__SHARDING__NUMBER_OF_SHARDS");
    assert_int_equal(
        config_duration_ns(config, "cluster.sharding.retry-interval"),
        9 * SECOND);
    assert_string_equal(config_text(config, "system-name"), "a \"b\"");
    assert_string_equal(config_text(config, "journal.sqlite.path"), "\"odd");
    assert_int_equal(config_list(config, "cluster.roles"), 3);
    assert_string_equal(config_list_at(config, "cluster.roles", 1), "b");
    assert_string_equal(config_list_at(config, "cluster.seed-nodes", 0),
                        "akka://s@h:1");
    assert_string_equal(config_text(config, "remote.artery.canonical.hostname"),
                        "akka://odd");
    assert_string_equal(config_text(config, "cluster.sharding.role"),
                        "from code");
    assert_int_equal(config_origin(config, "cluster.sharding.role").kind,
                     CONFIG_CODE);
    assert_string_equal(config_text(config, "cluster.sharding.guardian-name"),
                        "/home/x/y");
    config_free(config);
}

/* A pattern cannot be a variable's name, but its section can. */
static void the_environment_sets_sections_with_users_names(void **state)
{
    static const char section[] =
        "cluster.distributed-data.expire-keys-after-inactivity";
    static const char *const variables[] = {
        "SHERD__CLUSTER__DISTRIBUTED_DATA__EXPIRE_KEYS_AFTER_INACTIVITY="
        "\"session-*\" = 10 minutes, Exact = 5s, last = off",
        NULL,
    };
    static const char *const wrong[] = {
        "SHERD__CLUSTER__DISTRIBUTED_DATA__EXPIRE_KEYS_AFTER_INACTIVITY="
        "{ x = soon }",
        NULL,
    };
    struct config *config = config_new();
    char key[100];
    (void)state;

    config_environment(config, variables);
    config_set(config, section, "{ other = 7s }", "code");
    assert_true(config_read(
        config,
        slice_text("sherd.cluster.distributed-data."
                   "expire-keys-after-inactivity { last = 1s, file = 2s }"),
        "test.conf", &problem));
    assert_true(config_finish(config, &problem));
    for (uint32_t i = 0; i < 5; i++) {
        static const char *const names[] = {"session-*", "Exact", "last",
                                            "file", "other"};
        static const uint64_t times[] = {600 * SECOND, 5 * SECOND, CONFIG_OFF,
                                         2 * SECOND, 7 * SECOND};

        (void)snprintf(key, sizeof key, "%s.%s", section, names[i]);
        assert_true(config_duration_ns(config, key) == times[i]);
    }
    config_free(config);
    config = config_new();
    config_environment(config, wrong);
    assert_false(config_finish(config, &problem));
    assert_non_null(strstr(problem.text, "soon"));
    config_free(config);
}

static void wrong_overrides_are_refused(void **state)
{
    static const char *const unknown[] = {"SHERD__CLUSTER__ROLLS=x", NULL};
    static const char *const wrong[] = {"SHERD__LANES=0", NULL};
    struct config *config = config_new();
    (void)state;

    config_environment(config, unknown);
    assert_false(config_finish(config, &problem));
    assert_string_equal(problem.text,
                        "SHERD__CLUSTER__ROLLS: no setting has this name; did "
                        "you mean SHERD__CLUSTER__ROLES?");
    config_free(config);
    config = config_new();
    config_environment(config, wrong);
    assert_false(config_finish(config, &problem));
    assert_string_equal(problem.text,
                        "SHERD__LANES: lanes wants a whole number from 1 to "
                        "64, or auto, not \"0\"");
    config_free(config);
    config = config_new();
    config_set(config, "cluster.seed-nodes", "[a, [", "code");
    assert_false(config_finish(config, &problem));
    assert_string_equal(problem.source, "code");
    config_free(config);
    config = config_new();
    config_set(config, "cluster.rolls", "a", "code");
    assert_false(config_finish(config, &problem));
    assert_string_equal(problem.text, "code: unknown key cluster.rolls; did "
                                      "you mean cluster.roles?");
    config_free(config);
    config = config_new();
    config_set(config, "pekko.cluster.rolls", "a", "code");
    assert_false(config_finish(config, &problem));
    assert_string_equal(problem.text, "code: unknown key pekko.cluster.rolls; "
                                      "did you mean pekko.cluster.roles?");
    config_free(config);
}

/* The name selects the text; `from` is the text that included it. */
static bool include(void *user, const char *name, const char *from,
                    struct slice *text)
{
    static char given[128]; /* the same memory for every text */

    ++*(int *)user;
    if (strcmp(name, "loop.conf") == 0)
        *text = slice_text("include \"loop\"");
    else if (strcmp(name, "roles.conf") == 0)
        *text = slice_text("roles = [included]\n");
    else if (strcmp(name, "sub/outer.conf") == 0)
        *text = slice_text("include \"inner.conf\"\nlog.level = debug\n");
    else if (strcmp(name, "inner.conf") == 0 &&
             strcmp(from, "etc/sub/outer.conf") == 0)
        *text = slice_text("include \"/abs\"\nlog.format = json\n");
    else if (strcmp(name, "/abs.conf") == 0 &&
             strcmp(from, "etc/sub/inner.conf") == 0)
        *text = slice_text("include \"none\"\n lanes = 3\n");
    else if (strcmp(name, "wrong.conf") == 0)
        *text = slice_text("\n x =");
    else
        return false;
    memset(given, '}', sizeof given);
    memcpy(given, text->data, text->size);
    text->data = (const uint8_t *)given;
    return true;
}

static void includes_are_read_where_they_stand(void **state)
{
    static const struct {
        const char *text;
        const char *wanted;
    } wrong[] = {
        {"include \"loop\"", "loop.conf:1:1: includes nest deeper than 8"},
        {"include required(\"none\")",
         "t:1:1: cannot read the include none: there is no such file"},
        {"include file(\"wrong.conf\")", "wrong.conf:2:5: expected a value"},
        {"include file(\"x\"", "t:1:17: expected )"},
    };
    struct config *config = config_new();
    struct config_origin origin;
    const char *name, *why;
    uint32_t at = 0;
    int calls = 0;
    (void)state;

    config_set_include(config, include, &calls);
    assert_true(config_read(config,
                            slice_text("akka.cluster { include \"roles.conf\"\n"
                                       "include file(\"none\") }\n"
                                       "include \"also none\""),
                            "t", &problem));
    assert_true(config_finish(config, &problem));
    assert_int_equal(calls, 9); /* one file by its whole name, and four tries for each of the others */
    assert_true(config_next_missing(config, &at, &name, &why, &origin));
    assert_string_equal(name, "none");
    assert_string_equal(why, "there is no such file");
    assert_string_equal(origin.source, "t");
    assert_int_equal(origin.line, 2);
    assert_true(config_next_missing(config, &at, &name, &why, &origin));
    assert_string_equal(name, "also none");
    assert_int_equal(origin.line, 3);
    assert_false(config_next_missing(config, &at, &name, &why, &origin));
    assert_string_equal(config_list_at(config, "cluster.roles", 0), "included");
    assert_string_equal(config_origin(config, "cluster.roles").source,
                        "roles.conf");
    config_free(config);
    config = config_new();
    config_set_include(config, include, &calls);
    assert_true(config_read(config,
                            slice_text("sherd { include \"sub/outer.conf\" }"),
                            "etc/node.conf", &problem));
    assert_true(config_finish(config, &problem));
    assert_string_equal(config_text(config, "log.level"), "debug");
    assert_string_equal(config_text(config, "log.format"), "json");
    assert_int_equal(config_int(config, "lanes"), 3);
    assert_string_equal(config_origin(config, "lanes").source, "/abs.conf");
    assert_int_equal(config_origin(config, "lanes").line, 2);
    config_free(config);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        config = config_new();
        config_set_include(config, include, &calls);
        assert_false(
            config_read(config, slice_text(wrong[i].text), "t", &problem));
        if (strncmp(problem.text, wrong[i].wanted, strlen(wrong[i].wanted)))
            fail_msg("%s", problem.text);
        config_free(config);
    }
}

static void a_written_configuration_reads_back(void **state)
{
    static const char *const variables[] = {"SHERD__LOG__REGION=debug", NULL};
    struct config *first = config_new();
    struct config *second = config_new();
    struct config_setting setting;
    struct buf out = {0};
    struct buf again = {0};
    uint32_t at = 0;
    (void)state;

    config_environment(first, variables);
    assert_true(config_read(
        first,
        slice_text("akka.cluster { roles = [\"a\\\"b\", \"c\\\\\", \"\"]\n"
                   "gossip-interval = 1.5s, role.x.min-nr-of-members = 2 }\n"
                   "akka.system-name = \"a\\nb\""),
        "test.conf", &problem));
    assert_true(config_finish(first, &problem));
    config_write(first, &out);
    if (!config_read(second, buf_slice(&out), "written", &problem) ||
        !config_finish(second, &problem))
        fail_msg("%s", problem.text);
    while (config_next_setting(first, &at, &setting)) {
        if (strcmp(setting.key, "cluster.roles") == 0)
            continue;
        assert_string_equal(config_text(second, setting.key), setting.value);
    }
    assert_string_equal(config_list_at(second, "cluster.roles", 0), "a\"b");
    assert_string_equal(config_list_at(second, "cluster.roles", 1), "c\\");
    assert_string_equal(config_text(second, "log.region"), "debug");
    assert_int_equal(config_int(second, "cluster.role.x.min-nr-of-members"), 2);
    config_write(second, &again);
    assert_true(out.size > 5000 && again.size > 5000);
    config_free(first);
    config_free(second);
    buf_fini(&out);
    buf_fini(&again);
}

static void every_row_has_its_line(void **state)
{
    struct config_row row;
    uint32_t at = 0;
    uint32_t count = 0;
    (void)state;

    while (config_next_row(&at, &row)) {
        assert_true(strlen(row.about) > 5);
        assert_non_null(row.type);
        count++;
    }
    assert_true(count > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unset_keys_have_akkas_defaults),
        cmocka_unit_test(the_reference_block_pastes_in_unchanged),
        cmocka_unit_test(a_pasted_block_resolves_its_references),
        cmocka_unit_test(ineffective_keys_are_named),
        cmocka_unit_test(the_three_prefixes_are_equal),
        cmocka_unit_test(the_grammar_is_understood),
        cmocka_unit_test(numbered_keys_make_a_list),
        cmocka_unit_test(later_keys_win_and_sections_merge),
        cmocka_unit_test(amounts_are_read_with_their_units),
        cmocka_unit_test(wrong_keys_are_refused_with_the_nearest_key),
        cmocka_unit_test(a_key_in_a_wrong_section_is_refused_with_the_right_one),
        cmocka_unit_test(settings_at_the_root_are_listed),
        cmocka_unit_test(variables_that_resemble_settings_are_listed),
        cmocka_unit_test(a_byte_that_no_text_has_is_named),
        cmocka_unit_test(misspelled_keys_are_refused_in_all_sections),
        cmocka_unit_test(names_of_the_user_are_accepted),
        cmocka_unit_test(keys_of_other_modules_are_listed),
        cmocka_unit_test(sections_of_the_application_are_ignored),
        cmocka_unit_test(unknown_keys_can_be_allowed),
        cmocka_unit_test(wrong_values_are_refused_with_the_type),
        cmocka_unit_test(wrong_texts_are_refused_with_the_place),
        cmocka_unit_test(too_large_texts_are_refused),
        cmocka_unit_test(the_environment_overrides_the_file),
        cmocka_unit_test(the_environment_sets_sections_with_users_names),
        cmocka_unit_test(wrong_overrides_are_refused),
        cmocka_unit_test(includes_are_read_where_they_stand),
        cmocka_unit_test(a_written_configuration_reads_back),
        cmocka_unit_test(every_row_has_its_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
