/* Reads the lease settings of lease-majority: provider and times. */
#include "host/settings.h"

#include <string.h>

#include "base/timers.h"

#define LEASE "cluster.split-brain-resolver.lease-majority."
#define ETCD "lease.etcd."

static void read_etcd(struct settings *settings)
{
    const struct config *config = settings->config;
    uint32_t count = config_list(config, ETCD "endpoints");

    for (uint32_t i = 0; i < count; i++)
        vec_push(&settings->etcd_endpoints,
                 config_list_at(config, ETCD "endpoints", i));
    settings->has_etcd = true;
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
        .patience = config_duration_ns(
            config, "coordination.lease.lease-operation-timeout"),
    };
}

static bool read_keeper(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    const char *provider = config_text(config, LEASE "lease-implementation");

    if (strcmp(provider, "file") == 0) {
        settings->lease_directory = settings_path(settings, "lease.directory");
    } else if (strcmp(provider, "etcd") == 0) {
        read_etcd(settings);
    } else if (strcmp(provider, "memory") != 0) {
        (void)settings_refuse(settings, error, size,
                              LEASE "lease-implementation",
                              "is \"%s\"; it must be \"etcd\", \"file\" or "
                              "\"memory\"",
                              provider);
        return false;
    }
    if (!settings->has_etcd ||
        settings->etcd.request_timeout < settings->etcd.patience)
        return true;
    (void)settings_refuse(settings, error, size, ETCD "request-timeout",
                          "must be less than "
                          "coordination.lease.lease-operation-timeout");
    return false;
}

/* Akka's rule for an empty interval. */
static uint64_t interval_of(const struct config *config, uint64_t ttl)
{
    uint64_t interval =
        config_duration_ns(config, "coordination.lease.heartbeat-interval");

    if (interval != CONFIG_OFF)
        return interval;
    return ttl / 10 < 5 * SECOND ? 5 * SECOND : ttl / 10;
}

bool settings_read_lease(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    struct node_settings *node = &settings->node;

    if (!read_keeper(settings, error, size))
        return false;
    node->lease_name = config_text(config, LEASE "lease-name");
    node->resolver.strategy.minority_delay = config_duration_ns(
        config, LEASE "acquire-lease-delay-for-minority");
    node->resolver.release_after =
        config_duration_ns(config, LEASE "release-after");
    node->lease_ttl =
        config_duration_ns(config, "coordination.lease.heartbeat-timeout");
    node->lease_interval = interval_of(config, node->lease_ttl);
    node->lease_patience = config_duration_ns(
        config, "coordination.lease.lease-operation-timeout");
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
