/* Tests that each key of Akka's reference block has an effect, or that the node says why it has none.
 *
 * reference_keys.conf has the keys of akka.cluster.sharding in the manual of Akka Cluster Sharding
 * 2.6.21, and of the sections beside it: singleton, singleton-proxy, distributed-data,
 * sharded-daemon-process, and their copies. Each has another value than its default. For each key one
 * of three must happen: the settings of the node differ from those without it, the node opens and
 * names the key with a reason, or it refuses to open and names the key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "host/settings.h"

#define KEYS_MIN 242 /* the block has no fewer */
#define TEXT_MAX 600
#define POINTER_MIN UINT64_C(0x500000000000) /* words from here on, and below 1 << 47, are addresses */

/* Texts, which the settings refer to. */
#define NODE(name) offsetof(struct settings, node) + offsetof(struct node_settings, name)
static const size_t texts[] = {
    NODE(guardian),
    NODE(coordinator_role),
    NODE(sharding_role),
    NODE(data_name),
    NODE(data_role),
    NODE(services.singleton_name),
    NODE(services.singleton_role),
    NODE(services.singleton_lease),
    NODE(services.proxy_name),
    NODE(services.proxy_role),
    NODE(services.daemon_role),
    offsetof(struct settings, daemons.use_lease),
    offsetof(struct settings, durable_dir),
};

/* Settings beside which a key matters: the first one that the key begins with. */
static const struct {
    const char *key, *text;
} bases[] = {
    { "akka.cluster.sharding.passivation.default-strategy.replacement.least-recently-used.segmented.levels",
      "akka.cluster.sharding.passivation { strategy = default-strategy\n"
      "default-strategy.replacement.least-recently-used.segmented.proportions = [] }" },
    { "akka.cluster.sharding.passivation.default-strategy",
      "akka.cluster.sharding.passivation.strategy = default-strategy" },
    { "akka.cluster.sharding.passivation.strategy-defaults.replacement.least-frequently-used",
      "akka.cluster.sharding.passivation { strategy = own, own { active-entity-limit = 9\n"
      "replacement.policy = least-frequently-used } }" },
    { "akka.cluster.sharding.passivation.strategy-defaults.admission.window.least-frequently-used",
      "akka.cluster.sharding.passivation { strategy = own, own { active-entity-limit = 9\n"
      "replacement.policy = most-recently-used, admission.window.policy = least-frequently-used } }" },
    { "akka.cluster.sharding.passivation.strategy-defaults.replacement.policy",
      "akka.cluster.sharding.passivation { strategy = own, own.active-entity-limit = 9 }" },
    { "akka.cluster.sharding.passivation.strategy-defaults.active-entity-limit",
      "akka.cluster.sharding.passivation { strategy = own, own.replacement.policy = most-recently-used }" },
    { "akka.cluster.sharding.passivation.strategy-defaults.idle-entity.interval",
      "akka.cluster.sharding.passivation { strategy = own, own.idle-entity.timeout = 50 s }" },
    { "akka.cluster.sharding.passivation.strategy-defaults.idle-entity",
      "akka.cluster.sharding.passivation { strategy = own, own.active-entity-limit = none }" },
    { "akka.cluster.sharding.passivation.strategy-defaults",
      "akka.cluster.sharding.passivation { strategy = own, own.active-entity-limit = 9\n"
      "strategy-defaults { replacement { policy = least-recently-used\n"
      "least-recently-used.segmented.levels = 2 }, admission { filter = frequency-sketch, window {\n"
      "policy = least-recently-used, optimizer = hill-climbing\n"
      "least-recently-used.segmented.levels = 2 } } } }" },
    { "akka.cluster.sharding.snapshot-after", "akka.cluster.sharding.remember-entities-store = eventsourced" },
    { "akka.cluster.sharding.keep-nr-of-batches",
      "akka.cluster.sharding.remember-entities-store = eventsourced" },
    { "akka.cluster.sharding.event-sourced-remember-entities-store",
      "akka.cluster.sharding.remember-entities-store = eventsourced" },
    { "akka.cluster.sharding.entity-recovery-constant-rate-strategy",
      "akka.cluster.sharding.entity-recovery-strategy = constant" },
    { "akka.cluster.sharding.coordinator-singleton.role",
      "akka.cluster.sharding.coordinator-singleton-role-override = off" },
    { "akka.cluster.sharding.coordinator-singleton-role-override",
      "akka.cluster.sharding.coordinator-singleton.role = some" },
    { "akka.cluster.distributed-data.durable.", "akka.cluster.distributed-data.durable.keys = [\"a*\"]" },
};

/* Keys with which a node does not open: it would not do what they ask for. */
static const char *const refused[] = {
    "akka.cluster.sharding.state-store-mode",
    "akka.cluster.sharding.distributed-data.durable.store-actor-class",
    "akka.cluster.distributed-data.durable.store-actor-class",
};

static char logged[16384];

static void keep(void *user, enum sherd_log_level level, const char *module, const char *line)
{
    size_t size = strlen(logged);

    (void)user;
    (void)level;
    (void)module;
    (void)snprintf(logged + size, sizeof logged - size, "%s\n", line);
}

static const char *base_of(const char *key)
{
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        if (strncmp(key, bases[i].key, strlen(bases[i].key)) == 0)
            return bases[i].text;
    return "";
}

static void read_text(struct settings *settings, const char *text)
{
    const struct sherd_options options = { .journal = "memory", .config_text = text };
    char error[1024] = "";

    if (settings_read(settings, &options, error, sizeof error))
        fail_msg("%s: %s", text, error);
}

/* ---- differences ---- */

static uint64_t word_of(const struct settings *settings, size_t at)
{
    uint64_t word;

    memcpy(&word, (const char *)settings + at, sizeof word);
    return word;
}

static bool is_address(uint64_t word)
{
    return word >= POINTER_MIN && word < UINT64_C(1) << 47;
}

static bool differ_in_text(const struct settings *one, const struct settings *other)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *left, *right;

        memcpy(&left, (const char *)one + texts[i], sizeof left);
        memcpy(&right, (const char *)other + texts[i], sizeof right);
        if (strcmp(left ? left : "", right ? right : "") != 0)
            return true;
    }
    return false;
}

/* again: read from the same text as one; what differs there is no effect. */
static bool differ(const struct settings *one, const struct settings *again,
                   const struct settings *other)
{
    for (size_t at = 0; at + 8 <= sizeof *one; at += 8) {
        uint64_t word = word_of(one, at);

        if (word == word_of(again, at) && word != word_of(other, at) && !is_address(word) &&
            !is_address(word_of(other, at)))
            return true;
    }
    return differ_in_text(one, other);
}

static bool has_effect(const char *base, const char *line)
{
    struct settings one, again, other;
    char text[2 * TEXT_MAX];
    bool found;

    read_text(&one, base);
    read_text(&again, base);
    (void)snprintf(text, sizeof text, "%s\n%s", base, line);
    read_text(&other, text);
    found = differ(&one, &again, &other);
    settings_fini(&one);
    settings_fini(&again);
    settings_fini(&other);
    return found;
}

/* ---- the log ---- */

static int open_with(const char *base, const char *line)
{
    char text[2 * TEXT_MAX];
    const struct sherd_options options = { .port = SHERD_PORT_ANY, .config_text = text,
                                           .journal = "memory", .log = keep };
    struct sherd_system *system;
    int result;

    logged[0] = 0;
    (void)snprintf(text, sizeof text, "%s\n%s", base, line);
    result = sherd_open(&system, &options);
    if (!result)
        sherd_close(system);
    return result;
}

/* A reason that is a sentence about the key. */
static bool is_explained(const char *key)
{
    char words[TEXT_MAX];
    const char *at;

    (void)snprintf(words, sizeof words, "msg=\"a setting has no effect\" key=%s why=\"", key);
    at = strstr(logged, words);
    return at && strcspn(at + strlen(words), "\"") > 20;
}

static bool is_refused(const char *key)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strcmp(key, refused[i]) == 0)
            return true;
    return false;
}

/* Returns what is wrong with the key; null: nothing. */
static const char *fault_of(const char *key, const char *line)
{
    const char *base = base_of(key);
    bool opens = open_with(base, line) == 0;

    if (is_refused(key))
        return !opens && strstr(logged, strchr(key, '.') + 1)
                   ? NULL
                   : "is not refused by an error that names it";
    if (!opens)
        return "is refused";
    if (is_explained(key) != has_effect(base, line))
        return NULL;
    return is_explained(key) ? "has an effect, and the node says that it has none"
                             : "has no effect, and the node does not say why";
}

static void each_key_of_the_reference_block_has_an_effect_or_a_reason(void **state)
{
    FILE *file = fopen(REFERENCE_KEYS, "r");
    char line[TEXT_MAX];
    char key[TEXT_MAX];
    const char *fault;
    uint32_t count = 0;
    uint32_t wrong = 0;

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#' || sscanf(line, "%599[^ ] =", key) != 1)
            continue;
        fault = fault_of(key, line);
        if (fault)
            print_error("%s %s: %s\n", key, fault, logged);
        wrong += fault != NULL;
        count++;
    }
    (void)fclose(file);
    assert_true(count >= KEYS_MIN);
    assert_int_equal(wrong, 0);
}

static void an_untrusted_mode_is_refused(void **state)
{
    (void)state;
    assert_int_equal(open_with("", "akka.remote.artery.untrusted-mode = on"), SHERD_ECONFIG);
    assert_non_null(strstr(logged, "akka.remote.artery.untrusted-mode is on"));
    assert_int_equal(open_with("", "akka.remote.artery.untrusted-mode = off"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_of_the_reference_block_has_an_effect_or_a_reason),
        cmocka_unit_test(an_untrusted_mode_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
