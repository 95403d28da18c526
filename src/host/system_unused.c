/* Warns of settings and fields of entity types that contradict each other, so that one has no effect. */
#define _GNU_SOURCE
#include "host/system.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/timers.h"
#include "node/entity_type.h"
#include "node/type_passivation.h"

#define SHARDING "cluster.sharding."
#define PASSIVATION SHARDING "passivation."
#define HANDOFF_SHORTEST (6 * SECOND) /* Akka's reserve of 5 s, and the least time to stop */

/* ---- a type ---- */

static bool remembers(const struct sherd_system *system, const struct sherd_entity_type *type)
{
    return type->remember ? type->remember > 0 : system->settings.node.remember_entities;
}

static void warn_of_type(struct sherd_system *system, const struct sherd_entity_type *type,
                         const char *what, const char *hint)
{
    system_log(system, TRACE_WARNING, "host",
               "fields of an entity type have no effect type=\"%s\" why=\"%s\" hint=\"%s\"", type->name,
               what, hint);
}

static bool has_limit(const struct sherd_system *system, const struct sherd_entity_type *type)
{
    struct sherd_entity_type copy = *type;

    if (type->active_entity_limit || type->active_byte_limit)
        return true;
    copy.passivation = type_passivation_copy(type->passivation);
    type_passivation_complete(&system->settings.node, &copy);
    type_passivation_free(copy.passivation);
    return copy.active_entity_limit || copy.active_byte_limit;
}

static void warn_of_strategy(struct sherd_system *system, const struct sherd_entity_type *type)
{
    const char *unused = type_passivation_unused(&system->settings.node, type);

    if (unused)
        warn_of_type(system, type, unused, "correct its passivation, or remove them");
    else if (type->passivation->replacement.policy != SHERD_REPLACEMENT_CONFIGURED &&
             !has_limit(system, type))
        warn_of_type(system, type, "a replacement policy, and the type has no limit of active entities",
                     "set active_entity_limit or active_byte_limit");
}

static bool is_set(const struct config *config, const char *key)
{
    return config_origin(config, key).kind != CONFIG_DEFAULT;
}

/* A strategy that says more than that nothing is passivated. */
static bool has_own_strategy(const struct config *config)
{
    const char *strategy = config_text(config, PASSIVATION "strategy");

    if (!config_is_null(config, SHARDING "passivate-idle-entity-after"))
        return config_duration_ns(config, SHARDING "passivate-idle-entity-after") != CONFIG_OFF;
    return (is_set(config, PASSIVATION "strategy") && strcmp(strategy, "none") != 0 &&
            strcmp(strategy, "off") != 0) ||
           is_set(config, PASSIVATION "default-idle-strategy.idle-entity.timeout");
}

/* As in Akka, remembering turns passivation off. */
void system_log_type(struct sherd_system *system, const struct sherd_entity_type *type)
{
    const char *hint = "remove them, or do not remember entities; idle_ms of the type passivates idle "
                       "entities, which stay remembered";

    if (!remembers(system, type)) {
        if (type->passivation)
            warn_of_strategy(system, type);
        return;
    }
    if (type->passivation || type->active_entity_limit || type->active_byte_limit)
        warn_of_type(system, type, "entities are remembered, so no strategy or limit passivates them", hint);
    else if (!type->idle_ms && has_own_strategy(system->settings.config))
        system_log(system, TRACE_WARNING, "host",
                   "remembered entities are not passivated, and a strategy of passivation is configured "
                   "type=\"%s\" key=%s hint=\"set idle_ms of the type, or do not remember its entities\"",
                   type->name,
                   config_is_null(system->settings.config, SHARDING "passivate-idle-entity-after")
                       ? PASSIVATION "strategy"
                       : SHARDING "passivate-idle-entity-after");
}

/* ---- settings that are cut to a bound ---- */

static void warn_of_key(struct sherd_system *system, const char *what, const char *key, const char *hint)
{
    const struct config_origin origin = config_origin(system->settings.config, key);

    system_log(system, TRACE_WARNING, "config", "%s key=%s%s source=%s line=%u hint=\"%s\"", what,
               origin.prefix, key, origin.source, (unsigned)origin.line, hint);
}

/* An entity that is idle waits for the next look. */
static void warn_of_interval(struct sherd_system *system)
{
    const struct node_settings *node = &system->settings.node;
    const char *strategy = config_text(system->settings.config, PASSIVATION "strategy");
    char key[256];

    if (node->passivate_idle_after == CONFIG_OFF || node->passivate_interval <= node->passivate_idle_after)
        return;
    (void)snprintf(key, sizeof key, PASSIVATION "%.100s.idle-entity.interval", strategy); /* fits */
    warn_of_key(system, "looks for idle entities are further apart than the idle time", key,
                "set it to at most idle-entity.timeout");
}

/* Each lane has at least one. */
static void warn_of_recoveries(struct sherd_system *system)
{
    const struct node_settings *node = &system->settings.node;

    if (!is_set(system->settings.config, "journal.max-concurrent-recoveries"))
        return;
    if (node->recoveries_max < node->lanes)
        warn_of_key(system, "more entities recover at a time than is set: at least one for each lane",
                    "journal.max-concurrent-recoveries", "set it to at least the number of lanes");
    if (node->recoveries_max > JOURNAL_REPLAYS_MAX * node->lanes)
        warn_of_key(system, "fewer entities recover at a time than is set: at most 64 for each lane",
                    "journal.max-concurrent-recoveries", "set it to at most 64 for each lane");
}

void system_log_bounds(struct sherd_system *system)
{
    const struct settings *settings = &system->settings;

    if (settings->health_timeout > STALLED_NS)
        warn_of_key(system, "the time of the health check is cut to 5 s, after which a thread is stalled",
                    SHARDING "healthcheck.timeout", "set it to at most 5 s");
    if (settings->node.handoff_timeout < HANDOFF_SHORTEST)
        warn_of_key(system,
                    "entities have 1 s to stop when their shard moves: the hand-off's time is hardly longer "
                    "than the 5 s that Akka keeps for its end",
                    SHARDING "handoff-timeout", "set it to more than 6 s");
    warn_of_interval(system);
    if (settings->stalled_leave_after < STALLED_NS)
        warn_of_key(system, "the time of a stalled lane is raised to 5 s, after which a lane is stalled",
                    "stalled-lane.leave-after", "set it to at least 5 s, or off");
    if (settings->node.acceptable_heartbeat_pause < settings->node.heartbeat_interval)
        warn_of_key(system,
                    "members become unreachable without a fault: heartbeats are further apart than the pause "
                    "that is accepted",
                    "cluster.failure-detector.acceptable-heartbeat-pause",
                    "set it to at least heartbeat-interval");
    warn_of_recoveries(system);
}

/* ---- settings that only types can use ---- */

/* A key of the section that the type chooses, or of the configured one, which has no limit. */
static bool uses_strategy(const struct sherd_system *system, const struct sherd_entity_type *type,
                          const char *key)
{
    const char *own = type->passivation ? type->passivation->strategy : NULL;
    const char *name = own ? own : config_text(system->settings.config, PASSIVATION "strategy");
    const char *section = key + strlen(PASSIVATION);

    return strncmp(section, name, strlen(name)) == 0 && section[strlen(name)] == '.' &&
           (own || has_limit(system, type));
}

static bool uses(const struct sherd_system *system, const struct sherd_entity_type *type, const char *key)
{
    if (strncmp(key, PASSIVATION, strlen(PASSIVATION)) == 0)
        return uses_strategy(system, type, key);
    if (strstr(key, "relative-limit"))
        return type->rebalance_absolute_limit > 0;
    if (strstr(key, "lease-retry"))
        return type->use_lease && *type->use_lease;
    return entity_type_allocation(&system->settings.node, type) == ALLOCATION_CONSISTENT_HASHING;
}

static bool is_used(const struct sherd_system *system, const char *key)
{
    for (uint32_t i = 0; i < system->types.count; i++)
        if (uses(system, &system->types.items[i], key))
            return true;
    return false;
}

void system_log_unused(struct sherd_system *system)
{
    struct config_setting setting;
    uint32_t at = 0;

    while (config_next_ineffective(system->settings.config, &at, &setting))
        if (setting.by_type && !setting.is_default && !setting.is_jvm && !is_used(system, setting.key))
            system_log_setting(system, &setting);
}
