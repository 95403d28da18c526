/* Tests that a node warns of settings and fields of types that contradict each other, and only of those. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sherd/sherd.h>

#define SHARDING "akka.cluster.sharding."
#define OWN(keys) SHARDING "passivation { strategy = own, own { " keys " } }"

static char logged[32768];

static void keep(void *user, enum sherd_log_level level, const char *module, const char *line)
{
    size_t size = strlen(logged);

    (void)user;
    (void)module;
    if (level <= SHERD_LOG_WARNING)
        (void)snprintf(logged + size, sizeof logged - size, "%s\n", line);
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    (void)ctx;
    (void)self;
    (void)msg;
    return SHERD_CONTINUE;
}

/* Nothing is stored on the disk. */
#define IN_JOURNAL SHARDING "remember-entities-store = eventsourced\n"

static struct sherd_options options_of(const char *text)
{
    return (struct sherd_options){ .port = SHERD_PORT_ANY, .config_text = text, .alone = 1, .lanes = 1,
                                   .journal = "memory", .log = keep };
}

/* Opens a node, registers the type unless it is null, starts, and ends. */
static void run(const char *text, const struct sherd_entity_type *fields)
{
    const struct sherd_options options = options_of(text);
    struct sherd_system *system;

    logged[0] = 0;
    if (sherd_open(&system, &options))
        fail_msg("%s", logged);
    if (fields) {
        struct sherd_entity_type type = *fields;

        type.name = "Cart";
        type.behavior.name = "cart";
        type.behavior.receive = receive;
        if (sherd_entity_register(system, &type))
            fail_msg("%s", logged);
    }
    assert_int_equal(sherd_start(system), 0);
    sherd_close(system);
}

static void warns(const char *text, const struct sherd_entity_type *fields, const char *words)
{
    run(text, fields);
    if (!strstr(logged, words))
        fail_msg("wanted %s, got %s", words, logged);
}

static void warns_not(const char *text, const struct sherd_entity_type *fields, const char *words)
{
    run(text, fields);
    if (strstr(logged, words))
        fail_msg("not wanted: %s, got %s", words, logged);
}

/* ---- settings beside settings ---- */

struct row {
    const char *text;
    const char *key; /* the one without effect */
    const char *why; /* a part of the reason */
    const char *instead; /* a text with which the key has an effect */
};

static const struct row rows[] = {
    { SHARDING "least-shard-allocation-strategy { rebalance-absolute-limit = 5, rebalance-threshold = 3 }",
      "least-shard-allocation-strategy.rebalance-threshold", "older algorithm",
      SHARDING "least-shard-allocation-strategy.rebalance-threshold = 3" },
    { SHARDING "least-shard-allocation-strategy { rebalance-absolute-limit = 5\n"
               "max-simultaneous-rebalance = 9 }",
      "least-shard-allocation-strategy.max-simultaneous-rebalance", "older algorithm",
      SHARDING "least-shard-allocation-strategy.max-simultaneous-rebalance = 9" },
    { SHARDING "least-shard-allocation-strategy.rebalance-relative-limit = 0.2",
      "least-shard-allocation-strategy.rebalance-relative-limit", "newer algorithm",
      SHARDING "least-shard-allocation-strategy { rebalance-absolute-limit = 5\n"
               "rebalance-relative-limit = 0.2 }" },
    { SHARDING "consistent-hashing-allocation-strategy.rebalance-limit = 2",
      "consistent-hashing-allocation-strategy.rebalance-limit", "not consistent-hashing",
      SHARDING "allocation-strategy = consistent-hashing\n" SHARDING
               "consistent-hashing-allocation-strategy.rebalance-limit = 2" },
    { SHARDING "lease-retry-interval = 9 s", "lease-retry-interval", "`use-lease` is empty",
      SHARDING "lease-retry-interval = 9 s\n" SHARDING "use-lease = memory" },
    { SHARDING "entity-recovery-constant-rate-strategy.number-of-entities = 9",
      "entity-recovery-constant-rate-strategy.number-of-entities", "not constant",
      SHARDING "entity-recovery-strategy = constant\n" SHARDING
               "entity-recovery-constant-rate-strategy.number-of-entities = 9" },
    { SHARDING "entity-recovery-paced-strategy.latency-target = 9 ms",
      "entity-recovery-paced-strategy.latency-target", "not paced",
      SHARDING "entity-recovery-strategy = paced\n" SHARDING
               "entity-recovery-paced-strategy.latency-target = 9 ms" },
    { SHARDING "snapshot-after = 9", "snapshot-after", "not eventsourced",
      SHARDING "snapshot-after = 9\n" SHARDING "remember-entities-store = eventsourced" },
    { SHARDING "keep-nr-of-batches = 9", "keep-nr-of-batches", "not eventsourced",
      SHARDING "keep-nr-of-batches = 9\n" SHARDING "remember-entities-store = eventsourced" },
    { SHARDING "distributed-data.durable.keys = [\"a\"]\n" SHARDING "remember-entities-store = eventsourced",
      "distributed-data.durable.keys", "not ddata", "" },
    { SHARDING "passivate-idle-entity-after = 60 s\n" SHARDING "passivation.strategy = default-strategy",
      "passivation.strategy", "`passivate-idle-entity-after` is set",
      SHARDING "passivation.strategy = default-strategy" },
    { SHARDING "passivation.other.active-entity-limit = 9", "passivation.other.active-entity-limit",
      "another strategy is in use",
      SHARDING "passivation { strategy = other, other { active-entity-limit = 9\n"
               "replacement.policy = most-recently-used } }" },
    { OWN("idle-entity.interval = 1 s"), "passivation.own.idle-entity.interval", "timeout` of its section is off",
      OWN("idle-entity { interval = 1 s, timeout = 9 s }") },
    { OWN("replacement.policy = most-recently-used"), "passivation.own.replacement.policy",
      "no limit of active entities", OWN("replacement.policy = most-recently-used, active-entity-limit = 9") },
    { OWN("active-entity-limit = 9, replacement { policy = most-recently-used\n"
          "least-recently-used.segmented.levels = 2 }"),
      "passivation.own.replacement.least-recently-used.segmented.levels", "another one",
      OWN("active-entity-limit = 9, replacement { policy = least-recently-used\n"
          "least-recently-used.segmented.levels = 2 }") },
    { OWN("active-entity-limit = 9, replacement { policy = least-recently-used\n"
          "least-recently-used.segmented.proportions = [0.5, 0.5] }"),
      "passivation.own.replacement.least-recently-used.segmented.proportions", "levels` of its section is off",
      OWN("active-entity-limit = 9, replacement { policy = least-recently-used\n"
          "least-recently-used.segmented { levels = 2, proportions = [0.3, 0.7] } }") },
    { OWN("active-entity-limit = 9, replacement { policy = least-recently-used\n"
          "least-frequently-used.dynamic-aging = on }"),
      "passivation.own.replacement.least-frequently-used.dynamic-aging", "another one",
      OWN("active-entity-limit = 9, replacement { policy = least-frequently-used\n"
          "least-frequently-used.dynamic-aging = on }") },
    { OWN("active-entity-limit = 9, replacement.policy = least-recently-used\n"
          "admission.window.proportion = 0.2"),
      "passivation.own.admission.window.proportion", "window.policy` of its section is off",
      OWN("active-entity-limit = 9, replacement.policy = least-recently-used\n"
          "admission.window { proportion = 0.2, policy = least-recently-used }") },
    { OWN("active-entity-limit = 9, replacement.policy = least-recently-used\n"
          "admission.window { policy = least-recently-used, maximum-proportion = 0.5 }"),
      "passivation.own.admission.window.maximum-proportion", "optimizer` of its section is off",
      OWN("active-entity-limit = 9, replacement.policy = least-recently-used\n"
          "admission.window { policy = least-recently-used, maximum-proportion = 0.5\n"
          "optimizer = hill-climbing }") },
    { OWN("active-entity-limit = 9, replacement.policy = least-recently-used\n"
          "admission.window { policy = least-recently-used, hill-climbing.step-decay = 0.5 }"),
      "passivation.own.admission.window.hill-climbing.step-decay", "optimizer` of its section is off",
      OWN("active-entity-limit = 9, replacement.policy = least-recently-used\n"
          "admission.window { policy = least-recently-used, hill-climbing.step-decay = 0.5\n"
          "optimizer = hill-climbing }") },
    { OWN("active-entity-limit = 9, replacement.policy = least-recently-used\n"
          "admission.frequency-sketch.depth = 5"),
      "passivation.own.admission.frequency-sketch.depth", "filter` of its section is off",
      OWN("active-entity-limit = 9, replacement.policy = least-recently-used\n"
          "admission { frequency-sketch.depth = 5, filter = frequency-sketch }") },
    { OWN("idle-entity.timeout = 9 s, admission.filter = frequency-sketch"),
      "passivation.own.admission.filter", "replacement.policy` of its section is off",
      OWN("active-entity-limit = 9, replacement.policy = least-recently-used\n"
          "admission.filter = frequency-sketch") },
};

static void each_setting_without_effect_beside_others_is_warned_of(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char words[300];

        (void)snprintf(words, sizeof words, "msg=\"a setting has no effect\" key=" SHARDING "%s why=\"",
                       rows[i].key);
        warns(rows[i].text, NULL, words);
        if (!strstr(strstr(logged, words), rows[i].why))
            fail_msg("%s: wanted %s, got %s", rows[i].key, rows[i].why, logged);
        warns_not(rows[i].instead, NULL, words);
    }
}

static void a_type_that_uses_such_a_setting_silences_the_warning(void **state)
{
    const struct sherd_passivation other = { .strategy = "other" };
    static const char words[] = "has no effect";
    (void)state;

    warns_not(SHARDING "passivation.other { active-entity-limit = 9\n"
                       "replacement.policy = most-recently-used }",
              &(struct sherd_entity_type){ .passivation = &other }, words);
    warns_not(SHARDING "least-shard-allocation-strategy.rebalance-relative-limit = 0.2",
              &(struct sherd_entity_type){ .rebalance_absolute_limit = 5 }, words);
    warns_not(SHARDING "consistent-hashing-allocation-strategy.rebalance-limit = 2",
              &(struct sherd_entity_type){ .allocation = "consistent-hashing" }, words);
    warns_not(SHARDING "lease-retry-interval = 9 s", &(struct sherd_entity_type){ .use_lease = "memory" }, words);
    warns_not(OWN("replacement.policy = most-recently-used"),
              &(struct sherd_entity_type){ .active_entity_limit = 2000 }, words);
}

static void a_setting_that_is_cut_to_a_bound_is_warned_of(void **state)
{
    (void)state;
    warns(SHARDING "healthcheck.timeout = 6 s", NULL,
          "is cut to 5 s, after which a thread is stalled\" key=" SHARDING
          "healthcheck.timeout source=config_text line=1 hint=\"set it to at most 5 s\"");
    warns_not(SHARDING "healthcheck.timeout = 5 s", NULL, "level=warning");
    warns(SHARDING "handoff-timeout = 5 s", NULL, "entities have 1 s to stop");
    warns_not(SHARDING "handoff-timeout = 6 s", NULL, "level=warning");
    warns(OWN("idle-entity { timeout = 5 s, interval = 6 s }"), NULL,
          "further apart than the idle time\" key=" SHARDING "passivation.own.idle-entity.interval");
    warns("sherd.stalled-lane.leave-after = 4 s", NULL, "raised to 5 s, after which a lane is stalled\" key=sherd.");
    warns("sherd.journal.max-concurrent-recoveries = 65", NULL, "at most 64 for each lane\" key=sherd.journal.");
    warns("akka.cluster.failure-detector { heartbeat-interval = 5 s, acceptable-heartbeat-pause = 4 s }", NULL,
          "members become unreachable without a fault");
    warns_not("akka.cluster.failure-detector { heartbeat-interval = 5 s, acceptable-heartbeat-pause = 5 s }\n"
              "sherd { stalled-lane.leave-after = 5 s, journal.max-concurrent-recoveries = 64 }", NULL,
              "level=warning");
    warns_not(OWN("idle-entity { timeout = 5 s, interval = 5 s }"), NULL, "level=warning");
}

/* ---- types ---- */

static void remembering_beside_a_strategy_is_warned_of(void **state)
{
    static const char words[] = "remembered entities are not passivated";
    static const char strategy[] = IN_JOURNAL SHARDING "passivation.strategy = default-strategy";
    const struct sherd_entity_type remembered = { .remember = 1 };
    (void)state;

    warns(strategy, &remembered, words);
    assert_non_null(strstr(logged, "type=Cart key=cluster.sharding.passivation.strategy hint="));
    warns(IN_JOURNAL SHARDING "remember-entities = on\n" SHARDING "passivate-idle-entity-after = 60 s",
          &(struct sherd_entity_type){ 0 }, words);
    assert_non_null(strstr(logged, "key=cluster.sharding.passivate-idle-entity-after"));
    warns_not(IN_JOURNAL SHARDING "passivation.strategy = none", &remembered, words);
    warns_not(IN_JOURNAL SHARDING "passivate-idle-entity-after = off", &remembered, words);
    warns_not(IN_JOURNAL, &remembered, words);
    warns_not(strategy, &(struct sherd_entity_type){ .remember = 1, .idle_ms = 1000 }, words);
    warns_not(strategy, &(struct sherd_entity_type){ .remember = -1 }, words);
}

static void fields_of_a_type_that_contradict_each_other_are_warned_of(void **state)
{
    const struct sherd_passivation sketch = { .strategy = "default-idle-strategy", .frequency_sketch = -1,
                                              .sketch_depth = 5 };
    const struct sherd_passivation policy = { .replacement.policy = SHERD_MOST_RECENTLY_USED };
    static const char words[] = "fields of an entity type have no effect\" type=Cart why=\"";
    (void)state;

    warns(IN_JOURNAL, &(struct sherd_entity_type){ .remember = 1, .active_entity_limit = 9 }, words);
    assert_non_null(strstr(logged, "entities are remembered"));
    warns("", &(struct sherd_entity_type){ .passivation = &sketch }, words);
    assert_non_null(strstr(logged, "frequency_sketch is off"));
    warns("", &(struct sherd_entity_type){ .passivation = &policy }, words);
    assert_non_null(strstr(logged, "no limit of active entities"));
    warns_not("", &(struct sherd_entity_type){ .passivation = &policy, .active_entity_limit = 2000 }, words);
}

static void an_unknown_strategy_of_a_type_is_refused(void **state)
{
    const struct sherd_passivation own = { .strategy = "own" };
    const struct sherd_entity_type type = { .name = "Cart", .behavior = { .name = "cart", .receive = receive },
                                            .passivation = &own };
    struct sherd_options options = options_of("");
    struct sherd_system *system;
    (void)state;

    logged[0] = 0;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_entity_register(system, &type), SHERD_EINVAL);
    assert_non_null(strstr(logged, "type=Cart strategy=own why=\"its passivation strategy has no section"));
    sherd_close(system);
    options.config_text = SHARDING "passivation.own.idle-entity.timeout = 9 s";
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_entity_register(system, &type), 0);
    sherd_close(system);
}

static void a_window_whose_bounds_are_exchanged_is_refused(void **state)
{
    const struct sherd_options options = options_of(
        OWN("active-entity-limit = 9, replacement.policy = least-recently-used\n"
            "admission.window { minimum-proportion = 0.5, maximum-proportion = 0.4 }"));
    struct sherd_system *system;
    (void)state;

    logged[0] = 0;
    assert_int_equal(sherd_open(&system, &options), SHERD_ECONFIG);
    assert_non_null(strstr(logged, "minimum-proportion is 0.5, and above maximum-proportion, which is 0.4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_setting_without_effect_beside_others_is_warned_of),
        cmocka_unit_test(a_type_that_uses_such_a_setting_silences_the_warning),
        cmocka_unit_test(a_setting_that_is_cut_to_a_bound_is_warned_of),
        cmocka_unit_test(remembering_beside_a_strategy_is_warned_of),
        cmocka_unit_test(fields_of_a_type_that_contradict_each_other_are_warned_of),
        cmocka_unit_test(an_unknown_strategy_of_a_type_is_refused),
        cmocka_unit_test(a_window_whose_bounds_are_exchanged_is_refused),
    };

    return cmocka_run_group_tests_name("settings_contradict", tests, NULL, NULL);
}
