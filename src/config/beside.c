/* Says which settings have no effect beside others.
 *
 * The rules are those of Akka's ClusterShardingSettings and its strategies, which ignore such settings
 * in silence. */
#include "config/beside.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"

#define SHARDING "cluster.sharding."
#define PASSIVATION SHARDING "passivation."
#define LEAST SHARDING "least-shard-allocation-strategy."
#define RECOVERY SHARDING "entity-recovery-"
#define KEY_MAX 256

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is(const struct config *config, const char *key, const char *value)
{
    return strcmp(config_text(config, key), value) == 0;
}

/* ---- strategies of passivation ---- */

/* A key of a strategy's section, as PREFIX and REST. */
struct part {
    const struct config *config;
    const char *prefix; /* lent; size bytes, with the last dot */
    int size;
    const char *rest;
};

static const char *value_of(const struct part *part, const char *rest)
{
    char key[KEY_MAX];
    const char *value;

    (void)snprintf(key, sizeof key, "%.*s%.100s", part->size, part->prefix, rest); /* fits */
    value = config_text(part->config, key);
    return strcmp(value, "off") == 0 ? "none" : value;
}

static bool has(const struct part *part, const char *rest, const char *value)
{
    return strcmp(value_of(part, rest), value) == 0;
}

/* Parts that need another value of the same section. */
static const struct {
    const char *begin; /* of the rest of the key */
    const char *needs, *value; /* null: any value but none */
    const char *why;
} parts[] = {
    { "idle-entity.interval", "idle-entity.timeout", NULL, "`idle-entity.timeout` of its section is off" },
    { "replacement.least-recently-used.", "replacement.policy", "least-recently-used",
      "`replacement.policy` of its section is another one" },
    { "replacement.least-recently-used.segmented.proportions",
      "replacement.least-recently-used.segmented.levels", NULL, "`segmented.levels` of its section is off" },
    { "replacement.least-frequently-used.", "replacement.policy", "least-frequently-used",
      "`replacement.policy` of its section is another one" },
    { "admission.window.p", "admission.window.policy", NULL, "`admission.window.policy` of its section is off" },
    { "admission.window.m", "admission.window.policy", NULL, "`admission.window.policy` of its section is off" },
    { "admission.window.optimizer", "admission.window.policy", NULL,
      "`admission.window.policy` of its section is off" },
    { "admission.window.m", "admission.window.optimizer", NULL,
      "`admission.window.optimizer` of its section is off" },
    { "admission.window.hill-climbing.", "admission.window.optimizer", "hill-climbing",
      "`admission.window.optimizer` of its section is off" },
    { "admission.window.least-recently-used.", "admission.window.policy", "least-recently-used",
      "`admission.window.policy` of its section is another one" },
    { "admission.window.least-recently-used.segmented.proportions",
      "admission.window.least-recently-used.segmented.levels", NULL,
      "`segmented.levels` of its section is off" },
    { "admission.window.least-frequently-used.", "admission.window.policy", "least-frequently-used",
      "`admission.window.policy` of its section is another one" },
    { "admission.frequency-sketch.", "admission.filter", "frequency-sketch",
      "`admission.filter` of its section is off" },
    { "admission.", "replacement.policy", NULL, "`replacement.policy` of its section is off" },
};

static const char *part_reason(const struct part *part)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool is_met;

        if (!begins(part->rest, parts[i].begin) || strcmp(part->rest, parts[i].needs) == 0)
            continue;
        is_met = parts[i].value ? has(part, parts[i].needs, parts[i].value)
                                : !has(part, parts[i].needs, "none");
        if (!is_met)
            return parts[i].why;
    }
    return NULL;
}

static const char *strategy_reason(const struct config *config, const char *key, bool *by_type)
{
    const char *name = key + strlen(PASSIVATION);
    const char *used = config_text(config, PASSIVATION "strategy");
    const char *dot = strchr(name, '.');
    const bool is_old = !config_is_null(config, SHARDING "passivate-idle-entity-after");
    struct part part;
    const char *why;

    if (!dot)
        return is_old ? "`passivate-idle-entity-after` is set, and replaces the strategy" : NULL;
    if (begins(name, "strategy-defaults."))
        return NULL;
    part = (struct part){ config, key, (int)(dot + 1 - key), dot + 1 };
    why = part.size + 100 < KEY_MAX ? part_reason(&part) : NULL;
    if (why)
        return why;
    *by_type = true;
    if (is_old)
        return "`passivate-idle-entity-after` is set, and no type chooses this strategy";
    if (strlen(used) != (size_t)(dot - name) || strncmp(name, used, strlen(used)) != 0)
        return "another strategy is in use: see `cluster.sharding.passivation.strategy`; and no type "
               "chooses this one";
    if (strcmp(part.rest, "replacement.policy") == 0 && has(&part, "active-entity-limit", "none") &&
        has(&part, "active-byte-limit", "none"))
        return "there is no limit of active entities: set `active-entity-limit` of its section, or of a type";
    return NULL;
}

/* ---- the rest of sharding ---- */

static bool moves_by_limit(const struct config *config)
{
    return config_int(config, LEAST "rebalance-absolute-limit") > 0;
}

static const char *allocation_reason(const struct config *config, const char *key, bool *by_type)
{
    const char *name = key + strlen(LEAST);

    if (strcmp(name, "rebalance-threshold") == 0 || strcmp(name, "max-simultaneous-rebalance") == 0)
        return moves_by_limit(config) ? "it is of the older algorithm, and `rebalance-absolute-limit` chooses "
                                        "the newer one"
                                      : NULL;
    if (strcmp(name, "rebalance-relative-limit") != 0 || moves_by_limit(config))
        return NULL;
    *by_type = true;
    return "it is of the newer algorithm, and `rebalance-absolute-limit` is 0";
}

static const char *remember_reason(const struct config *config, const char *key)
{
    static const char store[] = SHARDING "remember-entities-store";

    if (begins(key, RECOVERY "constant-rate-strategy."))
        return is(config, RECOVERY "strategy", "constant") ? NULL : "`entity-recovery-strategy` is not constant";
    if (begins(key, RECOVERY "paced-strategy."))
        return is(config, RECOVERY "strategy", "paced") ? NULL : "`entity-recovery-strategy` is not paced";
    if (begins(key, SHARDING "event-sourced-remember-entities-store.") ||
        strcmp(key, SHARDING "snapshot-after") == 0 || strcmp(key, SHARDING "keep-nr-of-batches") == 0)
        return is(config, store, "eventsourced") ? NULL : "`remember-entities-store` is not eventsourced";
    if (strcmp(key, SHARDING "distributed-data.durable.keys") == 0)
        return is(config, store, "ddata") ? NULL : "`remember-entities-store` is not ddata";
    return NULL;
}

const char *beside_reason(const struct config *config, const char *key, bool *by_type)
{
    static const char role[] = SHARDING "coordinator-singleton.role";

    *by_type = false;
    if (!begins(key, SHARDING))
        return NULL;
    if (begins(key, PASSIVATION))
        return strategy_reason(config, key, by_type);
    if (begins(key, LEAST))
        return allocation_reason(config, key, by_type);
    if (strcmp(key, role) == 0 && config_bool(config, SHARDING "coordinator-singleton-role-override"))
        return "`coordinator-singleton-role-override` is on, so coordinators have the role of their type";
    if (begins(key, SHARDING "consistent-hashing-allocation-strategy.") &&
        !is(config, SHARDING "allocation-strategy", "consistent-hashing")) {
        *by_type = true;
        return "`allocation-strategy` is not consistent-hashing, and no type sets it";
    }
    if (strcmp(key, SHARDING "lease-retry-interval") == 0 && is(config, SHARDING "use-lease", "")) {
        *by_type = true;
        return "`use-lease` is empty, so shards have no leases";
    }
    return remember_reason(config, key);
}
