/* Reads settings of remembered entities: where they are stored, and how fast they start. */
#include "host/settings.h"

#include <string.h>

#include "base/timers.h"

#define SHARDING "cluster.sharding."
#define RECOVERY SHARDING "entity-recovery-"

/* Not 0, as the core's zero is its default. */
static uint64_t time_of(const struct config *config, const char *key)
{
    uint64_t time = config_duration_ns(config, key);

    return time < MS ? MS : time;
}

/* Keys that are too long are never stored; their changes report it. */
static void read_shard_keys(struct settings *settings)
{
    const char *keys = SHARDING "distributed-data.durable.keys";
    uint32_t count = config_list(settings->config, keys);

    for (uint32_t i = 0; i < count; i++)
        vec_push(&settings->shard_durable_keys,
                 config_list_at(settings->config, keys, i));
    settings->node.shard_durable_keys = settings->shard_durable_keys.items;
    settings->node.shard_durable_key_count =
        settings->shard_durable_keys.count;
}

void settings_read_remembering(struct settings *settings)
{
    const struct config *config = settings->config;
    struct node_settings *node = &settings->node;
    struct remember_options *remember = &node->remember;
    const char *strategy =
        config_text(config, SHARDING "entity-recovery-strategy");
    const char *store = SHARDING "remember-entities-store";

    node->remembers_in_data = strcmp(config_text(config, store), "ddata") == 0;
    if (node->remembers_in_data)
        read_shard_keys(settings);
    node->remember_entities = config_bool(config, SHARDING "remember-entities");
    node->entity_restart_backoff =
        time_of(config, SHARDING "entity-restart-backoff");
    remember->strategy = strcmp(strategy, "paced") == 0      ? REMEMBER_PACED
                         : strcmp(strategy, "constant") == 0 ? REMEMBER_CONSTANT
                                                             : REMEMBER_ALL;
    remember->frequency =
        time_of(config, RECOVERY "constant-rate-strategy.frequency");
    remember->batch = (uint32_t)config_int(
        config, RECOVERY "constant-rate-strategy.number-of-entities");
    remember->target =
        config_duration_ns(config, RECOVERY "paced-strategy.latency-target");
    remember->part_ids = (uint32_t)config_int(
        config, SHARDING
        "event-sourced-remember-entities-store.max-updates-per-write");
    remember->base_after =
        (uint32_t)config_int(config, SHARDING "snapshot-after");
    node->remembered_kept =
        (uint64_t)config_int(config, SHARDING "keep-nr-of-batches") *
        remember->base_after;
    remember->failure_backoff =
        time_of(config, SHARDING "shard-failure-backoff");
    remember->load_timeout =
        time_of(config, SHARDING "waiting-for-state-timeout");
    remember->write_timeout =
        time_of(config, SHARDING "updating-state-timeout");
}
