/* Reads the lease settings: providers, times, and the providers of lease-majority, shards and
 * coordinators. */
#include "host/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/timers.h"
#include "host/lease_provider.h"

#define LEASE "cluster.split-brain-resolver.lease-majority."
#define ETCD "lease.etcd."
#define TIMES "coordination.lease."
#define SHARDING "cluster.sharding."
#define DAEMONS "cluster.sharded-daemon-process."
#define INTERVAL_MIN (5 * SECOND)

static void read_etcd(struct settings *settings)
{
    const struct config *config = settings->config;
    uint32_t count = config_list(config, ETCD "endpoints");

    for (uint32_t i = 0; i < count; i++)
        vec_push(&settings->etcd_endpoints,
                 config_list_at(config, ETCD "endpoints", i));
    settings->etcd = (struct etcd_options){
        .endpoints = settings->etcd_endpoints.items,
        .endpoint_count = settings->etcd_endpoints.count,
        .prefix = config_text(config, ETCD "prefix"),
        .user = config_text(config, ETCD "user"),
        .password = config_text(config, ETCD "password"),
        .ca_file = settings_path(settings, ETCD "ca-file"),
        .cert_file = settings_path(settings, ETCD "cert-file"),
        .key_file = settings_path(settings, ETCD "key-file"),
        .request_timeout = config_duration_ns(config, ETCD "request-timeout"),
        .patience = config_duration_ns(config, TIMES "lease-operation-timeout"),
    };
}

/* An empty interval is Akka's: a tenth of the time, at least 5 s. */
static void read_times(struct settings *settings)
{
    const struct config *config = settings->config;
    struct node_settings *node = &settings->node;

    node->lease_ttl = config_duration_ns(config, TIMES "heartbeat-timeout");
    node->lease_interval = config_duration_ns(config, TIMES "heartbeat-interval");
    node->lease_patience = config_duration_ns(config, TIMES "lease-operation-timeout");
    if (node->lease_interval != CONFIG_OFF)
        return;
    node->lease_interval = node->lease_ttl / 10;
    if (node->lease_interval < INTERVAL_MIN)
        node->lease_interval = INTERVAL_MIN;
}

bool settings_check_lease(const struct settings *settings, enum lease_provider_kind provider,
                          char *error, size_t size)
{
    const struct node_settings *node = &settings->node;

    if (provider == LEASE_PROVIDER_ETCD &&
        settings->etcd.request_timeout >= settings->etcd.patience) {
        (void)settings_refuse(settings, error, size, ETCD "request-timeout",
                              "must be less than "
                              "coordination.lease.lease-operation-timeout");
        return false;
    }
    if (node->lease_interval < node->lease_ttl / 2)
        return true;
    (void)settings_refuse(
        settings, error, size, "coordination.lease.heartbeat-interval",
        "is %llu ms; it must be less than half of heartbeat-timeout, "
        "which is %llu ms",
        (unsigned long long)(node->lease_interval / MS),
        (unsigned long long)(node->lease_ttl / MS));
    return false;
}

/* Reads the name of a provider, which may be empty. False, with the reason in error. */
static bool read_provider(struct settings *settings, const char *key,
                          enum lease_provider_kind *provider, char *error, size_t size)
{
    const char *text = config_text(settings->config, key);

    if (lease_provider_parse(text, provider))
        return settings_check_lease(settings, *provider, error, size);
    (void)settings_refuse(settings, error, size, key,
                          "is \"%s\"; it must be \"etcd\", \"file\", \"memory\" or empty, because "
                          "this library has no other lease providers",
                          text);
    return false;
}

bool settings_read_lease_majority(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    struct node_settings *node = &settings->node;
    const char *key = LEASE "lease-implementation";
    const char *text = config_text(config, key);

    if (!lease_provider_parse(text, &node->lease_provider) || !node->lease_provider) {
        (void)settings_refuse(settings, error, size, key,
                              "is \"%s\"; it must be \"etcd\", \"file\" or "
                              "\"memory\"",
                              text);
        return false;
    }
    node->lease_name = config_text(config, LEASE "lease-name");
    node->resolver.strategy.minority_delay = config_duration_ns(
        config, LEASE "acquire-lease-delay-for-minority");
    node->resolver.release_after =
        config_duration_ns(config, LEASE "release-after");
    return settings_check_lease(settings, node->lease_provider, error, size);
}

int settings_read_leases(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    struct node_settings *node = &settings->node;
    enum lease_provider_kind daemons; /* opened with their types */

    settings->lease_directory = settings_path(settings, "lease.directory");
    read_times(settings);
    read_etcd(settings);
    if (!read_provider(settings, SHARDING "use-lease", &node->shard_lease, error, size) ||
        /* its value may be the next one's */
        !read_provider(settings, "cluster.singleton.use-lease", &node->singleton_lease, error, size) ||
        !read_provider(settings, DAEMONS "sharding.use-lease", &daemons, error, size) ||
        !read_provider(settings, SHARDING "coordinator-singleton.use-lease",
                       &node->coordinator_lease, error, size))
        return SHERD_ECONFIG;
    node->shard_lease_retry = config_duration_ns(config, SHARDING "lease-retry-interval");
    node->coordinator_lease_retry =
        config_duration_ns(config, SHARDING "coordinator-singleton.lease-retry-interval");
    return 0;
}

uint64_t settings_lease_needs(const struct settings *settings)
{
    const struct node_settings *node = &settings->node;
    const struct resolver_settings *resolver = &node->resolver;
    uint64_t unstable = resolver->unstable_after ? resolver->unstable_after
                                                 : resolver->stable_after;

    if (!node->resolves ||
        resolver->strategy.kind != STRATEGY_LEASE_MAJORITY)
        return 0;
    return resolver->strategy.minority_delay + unstable +
           node->lease_patience;
}

/* ---- the scope that a join compares ---- */

static void put_boot(struct buf *text)
{
    char boot[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");

    if (file && fscanf(file, "%63s", boot) == 1)
        buf_put_text(text, boot);
    if (file)
        (void)fclose(file);
}

/* All nodes that share the leases have the same text; a node elsewhere, which they would not protect,
 * has another one. */
static void put_scope(struct buf *text, const struct settings *settings,
                      enum lease_provider_kind provider)
{
    struct stat about;
    char number[64];

    buf_put_text(text, lease_provider_text(provider));
    buf_put_text(text, " ");
    if (provider == LEASE_PROVIDER_ETCD) {
        buf_put_text(text, settings->etcd.prefix);
        return;
    }
    put_boot(text);
    if (provider == LEASE_PROVIDER_MEMORY) {
        (void)snprintf(number, sizeof number, " %ld", (long)getpid());
        buf_put_text(text, number);
    } else if (stat(settings->lease_directory, &about) == 0) {
        (void)snprintf(number, sizeof number, " %llu:%llu", (unsigned long long)about.st_dev,
                       (unsigned long long)about.st_ino);
        buf_put_text(text, number);
    }
}

static void put_scope_of(struct buf *json, const char *name, const struct settings *settings,
                         enum lease_provider_kind provider)
{
    struct buf text = { 0 };

    if (!provider)
        return;
    put_scope(&text, settings, provider);
    buf_put_u8(&text, 0);
    buf_put_text(json, json->size ? "," : "");
    buf_put_text(json, name);
    settings_put_quoted(json, (const char *)text.data);
    buf_fini(&text);
}

/* Shards of other data centers are other shards, so only this center's nodes need the same leases. */
void settings_put_lease_scope(struct buf *json, const struct settings *settings)
{
    const struct node_settings *node = &settings->node;
    struct buf scopes = { 0 };

    if (!node->data_center || !*node->data_center || strcmp(node->data_center, "default") == 0) {
        put_scope_of(&scopes, "\"shards\":", settings, node->shard_lease);
        put_scope_of(&scopes, "\"coordinators\":", settings, node->coordinator_lease);
        put_scope_of(&scopes, "\"singletons\":", settings, node->singleton_lease);
    }
    if (scopes.size) {
        buf_put_text(json, ",\"sherd\":{\"lease\":{");
        buf_put_slice(json, buf_slice(&scopes));
        buf_put_text(json, "}}");
    }
    buf_fini(&scopes);
}
