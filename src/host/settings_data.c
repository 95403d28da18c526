/* Settings of distributed data: the replicator's, and where durable keys are kept. */
#include "host/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/timers.h"
#include "base/url.h"

#define DATA "cluster.distributed-data."
#define DURABLE DATA "durable."
#define LMDB DURABLE "lmdb."
#define STORE "cluster.ddata.LmdbDurableStore"

/* A setting of zero is the core's word for its default, so none is. */
static void read_replicator(struct settings *settings)
{
    const struct config *config = settings->config;
    struct replicator_settings *data = &settings->node.data;
    uint64_t pruning = config_duration_ns(config, DATA "pruning-interval");

    settings->node.data_name = config_text(config, DATA "name");
    settings->node.data_role = config_text(config, DATA "role");
    data->gossip_interval_ms =
        config_duration_ns(config, DATA "gossip-interval") / MS;
    data->notify_interval_ms =
        config_duration_ns(config, DATA "notify-subscribers-interval") /
        MS;
    data->pruning_off = pruning == CONFIG_OFF;
    data->pruning_interval_ms = data->pruning_off ? 0 : pruning / MS;
    data->pruning_dissemination_ms =
        config_duration_ns(config, DATA "max-pruning-dissemination") /
        MS;
    data->pruning_marker_ms =
        config_duration_ns(config, DATA "pruning-marker-time-to-live") /
        MS;
    data->durable_pruning_marker_ms =
        config_duration_ns(config,
                           DURABLE "pruning-marker-time-to-live") /
        MS;
    data->max_delta_elements =
        (uint32_t)config_int(config, DATA "max-delta-elements");
    data->max_delta_size =
        (uint32_t)config_int(config, DATA "delta-crdt.max-delta-size");
    data->deltas_off = !config_bool(config, DATA "delta-crdt.enabled");
    data->prefer_oldest = config_bool(config, DATA "prefer-oldest");
}

/* Without the role a node has no replica, and nothing to keep. */
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

/* The reference's own store, of Akka or Pekko, is what ours stands for. */
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

static int read_durable(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    const char *store = config_text(config, DURABLE "store-actor-class");
    uint64_t behind = config_duration_ns(config, LMDB "write-behind-interval");

    settings->durable_dir = config_text(config, LMDB "dir");
    settings->durable_map_size = config_size(config, LMDB "map-size");
    if (!settings->durable_keys.count)
        return 0;
    if (!is_store(store))
        return settings_refuse(settings, error, size,
                               DURABLE "store-actor-class",
                               "is \"%s\"; durable keys are kept by akka."
                               STORE " only",
                               store);
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

int settings_read_data(struct settings *settings, char *error, size_t size)
{
    struct node_settings *node = &settings->node;
    int result;

    read_replicator(settings);
    result = read_keys(settings, error, size);
    if (result == 0)
        result = read_durable(settings, error, size);
    if (result == 0 && has_replica(settings)) {
        node->durable_keys = settings->durable_keys.items;
        node->durable_key_count = settings->durable_keys.count;
    }
    return result;
}

/* Behaviour 13.10: a directory that ends with "ddata" is one for each system. */
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
                       (unsigned)node->identity.node.address.port); /* fits */
        buf_put_text(&path, "-");
        buf_put_text(&path, node->identity.system);
        buf_put_text(&path, "-");
        url_put(&path, slice_text(node->data_name));
        buf_put_text(&path, port);
    }
    buf_put_u8(&path, 0);
    return (char *)path.data;
}
