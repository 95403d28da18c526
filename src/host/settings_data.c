/* Reads settings of distributed data: replicators and durable keys. */
#include "host/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/timers.h"
#include "base/url.h"

#define DATA "cluster.distributed-data."
#define SHARDING "cluster.sharding."
#define SHARDING_DATA SHARDING "distributed-data."
#define DURABLE DATA "durable."
#define LMDB DURABLE "lmdb."
#define EXPIRE DATA "expire-keys-after-inactivity."
#define EXPIRE_ROUNDS_MIN 2 /* gossip intervals */
#define STORE "cluster.ddata.LmdbDurableStore"
#define KEY_SIZE 96

static const char *key_of(char key[KEY_SIZE], const char *section,
                          const char *name)
{
    (void)snprintf(key, KEY_SIZE, "%s%s", section, name); /* fits */
    return key;
}

/* At least 1, as the core's zero is its default. */
static uint64_t ms_of(const struct config *config, const char *section,
                      const char *name)
{
    char key[KEY_SIZE];

    return config_duration_ns(config, key_of(key, section, name)) / MS;
}

/* `section`: the users' replicator, or sharding's. */
static void read_replicator(const struct config *config, const char *section,
                            struct replicator_settings *data)
{
    char key[KEY_SIZE];

    data->gossip_interval_ms = ms_of(config, section, "gossip-interval");
    data->notify_interval_ms =
        ms_of(config, section, "notify-subscribers-interval");
    data->pruning_off =
        config_duration_ns(config, key_of(key, section, "pruning-interval")) ==
        CONFIG_OFF;
    data->pruning_interval_ms =
        data->pruning_off ? 0 : ms_of(config, section, "pruning-interval");
    data->pruning_dissemination_ms =
        ms_of(config, section, "max-pruning-dissemination");
    data->pruning_marker_ms =
        ms_of(config, section, "pruning-marker-time-to-live");
    data->durable_pruning_marker_ms =
        ms_of(config, section, "durable.pruning-marker-time-to-live");
    data->max_delta_elements = (uint32_t)config_int(
        config, key_of(key, section, "max-delta-elements"));
    data->logged_size =
        config_size(config, key_of(key, section, "log-data-size-exceeding"));
    if (!data->logged_size)
        data->logged_size = 1; /* all of them */
    data->max_delta_size = (uint32_t)config_int(
        config, key_of(key, section, "delta-crdt.max-delta-size"));
    data->deltas_off =
        !config_bool(config, key_of(key, section, "delta-crdt.enabled"));
    data->prefer_oldest =
        config_bool(config, key_of(key, section, "prefer-oldest"));
}

/* A number added to a majority, or all. */
static uint32_t plus_of(const struct config *config, const char *key)
{
    int64_t plus;

    if (strcmp(config_text(config, key), "all") == 0)
        return STATE_ALL;
    plus = config_int(config, key);
    return plus ? (uint32_t)plus : STATE_NONE;
}

static uint64_t at_least_one_ms(uint64_t time)
{
    return time < MS ? MS : time;
}

static int read_coordinators(struct settings *settings, char *error,
                             size_t size)
{
    const struct config *config = settings->config;
    struct node_settings *node = &settings->node;
    const char *mode = config_text(config, SHARDING "state-store-mode");

    if (strcmp(mode, "ddata") != 0)
        return settings_refuse(
            settings, error, size, SHARDING "state-store-mode",
            "is %s; coordinators keep their state in distributed data only: "
            "set it to ddata, or leave it out, on all nodes",
            mode);
    read_replicator(config, SHARDING_DATA, &node->sharding_data);
    node->state_majority_min =
        (uint32_t)config_int(config, SHARDING_DATA "majority-min-cap");
    node->state_write_plus =
        plus_of(config, SHARDING "coordinator-state.write-majority-plus");
    node->state_read_plus =
        plus_of(config, SHARDING "coordinator-state.read-majority-plus");
    node->waiting_for_state_timeout = at_least_one_ms(
        config_duration_ns(config, SHARDING "waiting-for-state-timeout"));
    node->updating_state_timeout = at_least_one_ms(
        config_duration_ns(config, SHARDING "updating-state-timeout"));
    node->region_query_timeout = at_least_one_ms(
        config_duration_ns(config, SHARDING "shard-region-query-timeout"));
    return 0;
}

/* A node without the role has no replica. */
static bool has_replica(const struct settings *settings)
{
    const struct node_settings *node = &settings->node;

    if (!*node->data_role)
        return true;
    for (uint32_t i = 0; i < node->role_count; i++)
        if (strcmp(node->roles[i], node->data_role) == 0)
            return true;
    return false;
}

/* Accepts Akka's and Pekko's durable store class; both select ours. */
static bool is_store(const char *name)
{
    return strcmp(name, "akka." STORE) == 0 ||
           strcmp(name, "org.apache.pekko." STORE) == 0;
}

static int read_keys(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    uint32_t count = config_list(config, DURABLE "keys");

    for (uint32_t i = 0; i < count; i++) {
        const char *key = config_list_at(config, DURABLE "keys", i);

        if (!*key || strlen(key) > DURABLE_KEY_MAX)
            return settings_refuse(settings, error, size, DURABLE "keys",
                                   "has a key of %zu bytes; a durable key has "
                                   "1 to %d",
                                   strlen(key), DURABLE_KEY_MAX);
        vec_push(&settings->durable_keys, key);
    }
    return 0;
}

/* The key's name is the pattern. */
static int read_expiries(struct settings *settings, char *error, size_t size)
{
    uint64_t interval = settings->node.data.gossip_interval_ms;
    struct config_setting setting;
    uint32_t at = 0;

    while (config_next_setting(settings->config, &at, &setting)) {
        struct replicator_expiry expiry = { 0 };
        uint64_t after;

        if (strncmp(setting.key, EXPIRE, strlen(EXPIRE)) != 0)
            continue;
        after = config_duration_ns(settings->config, setting.key);
        if (after == CONFIG_OFF)
            continue;
        expiry.pattern = setting.key + strlen(EXPIRE);
        expiry.after_ms = after / MS;
        if (expiry.after_ms < (uint64_t)EXPIRE_ROUNDS_MIN * interval)
            return settings_refuse(settings, error, size, setting.key,
                                   "is %llu ms; it must be at least %d times "
                                   "the gossip-interval of %llu ms, by which "
                                   "members learn of uses",
                                   (unsigned long long)expiry.after_ms,
                                   EXPIRE_ROUNDS_MIN,
                                   (unsigned long long)interval);
        if (settings->expiries.count >= EXPIRIES_MAX)
            return settings_refuse(settings, error, size, setting.key,
                                   "is one too many: at most %d entries; a * "
                                   "at the end makes one for all keys that "
                                   "begin so",
                                   EXPIRIES_MAX);
        vec_push(&settings->expiries, expiry);
    }
    settings->node.data_expiries = settings->expiries.items;
    settings->node.data_expiry_count = settings->expiries.count;
    return 0;
}

static int read_store(struct settings *settings, const char *key, char *error,
                      size_t size)
{
    const char *store = config_text(settings->config, key);

    if (is_store(store))
        return 0;
    return settings_refuse(settings, error, size, key,
                           "is \"%s\"; durable keys are kept by akka." STORE
                           " only",
                           store);
}

/* Sharding's durable keys use the same files, so directory and size are common. */
static int read_durable(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    uint64_t behind = config_duration_ns(config, LMDB "write-behind-interval");

    settings->durable_dir = settings_path(settings, LMDB "dir");
    settings->durable_map_size = config_size(config, LMDB "map-size");
    if (!settings->durable_keys.count && !settings->shard_durable_keys.count)
        return 0;
    if (settings->durable_keys.count &&
        read_store(settings, DURABLE "store-actor-class", error, size) != 0)
        return SHERD_ECONFIG;
    if (settings->shard_durable_keys.count &&
        read_store(settings, SHARDING_DATA "durable.store-actor-class", error,
                   size) != 0)
        return SHERD_ECONFIG;
    if (!*settings->durable_dir)
        return settings_refuse(settings, error, size, LMDB "dir",
                               "is empty; it must name a directory");
    if (settings->durable_map_size < DURABLE_MAP_SIZE_MIN ||
        settings->durable_map_size > DURABLE_MAP_SIZE_MAX)
        return settings_refuse(settings, error, size, LMDB "map-size",
                               "must be 1 MiB to 64 GiB");
    if (behind == CONFIG_OFF)
        return 0;
    if (behind / MS == 0 || behind / MS > UINT32_MAX)
        return settings_refuse(settings, error, size,
                               LMDB "write-behind-interval",
                               "must be off, or 1 ms to 49 days");
    settings->durable_write_behind_ms = (uint32_t)(behind / MS);
    return 0;
}

static int read_size(struct settings *settings, char *error, size_t size)
{
    const char *key = DATA "max-data-size";
    uint64_t max = config_size(settings->config, key);

    if (max < REPLICATOR_UPDATE_SIZE_MIN || max > REPLICATOR_UPDATE_SIZE_MAX)
        return settings_refuse(settings, error, size, key,
                               "is %llu bytes; it must be %d to %d, for which a message has room",
                               (unsigned long long)max,
                               REPLICATOR_UPDATE_SIZE_MIN,
                               REPLICATOR_UPDATE_SIZE_MAX);
    settings->node.data.update_size_max = (uint32_t)max;
    return 0;
}

int settings_read_data(struct settings *settings, char *error, size_t size)
{
    struct node_settings *node = &settings->node;
    int result;

    node->data_name = config_text(settings->config, DATA "name");
    node->data_role = config_text(settings->config, DATA "role");
    read_replicator(settings->config, DATA, &node->data);
    result = read_size(settings, error, size);
    if (result == 0)
        result = read_coordinators(settings, error, size);
    if (result == 0)
        result = read_keys(settings, error, size);
    if (result == 0)
        result = read_expiries(settings, error, size);
    if (result == 0)
        result = read_durable(settings, error, size);
    if (result == 0 && has_replica(settings)) {
        node->durable_keys = settings->durable_keys.items;
        node->durable_key_count = settings->durable_keys.count;
    }
    return result;
}

/* As in Akka, a directory that ends with "ddata" gets a suffix for each system. */
char *settings_durable_directory(const struct settings *settings)
{
    const struct node_settings *node = &settings->node;
    const char *directory = settings->durable_dir;
    size_t length = strlen(directory);
    struct buf path = { 0 };
    char port[16];

    buf_put_text(&path, directory);
    if (length >= 5 && strcmp(directory + length - 5, "ddata") == 0) {
        (void)snprintf(port, sizeof port, "-%u",
                       (unsigned)node->identity.node.address.port);
        buf_put_text(&path, "-");
        buf_put_text(&path, node->identity.system);
        buf_put_text(&path, "-");
        url_put(&path, slice_text(node->data_name));
        buf_put_text(&path, port);
    }
    buf_put_u8(&path, 0);
    return (char *)path.data;
}
