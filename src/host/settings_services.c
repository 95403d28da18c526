/* Reads the settings of singletons, their proxies, and sharded daemon processes. */
#include "host/settings.h"

#include "base/timers.h"

#define SINGLETON "cluster.singleton."
#define PROXY "cluster.singleton-proxy."
#define DAEMONS "cluster.sharded-daemon-process."
#define DAEMON_SHARDING DAEMONS "sharding."
#define DAEMON_LEAST_SHARD DAEMON_SHARDING "least-shard-allocation-strategy."

void settings_read_services(struct settings *settings)
{
    const struct config *config = settings->config;
    struct service_defaults *services = &settings->node.services;
    uint32_t buffer = (uint32_t)config_int(config, PROXY "buffer-size");

    services->singleton_name = config_text(config, SINGLETON "singleton-name");
    services->singleton_role = config_text(config, SINGLETON "role");
    services->singleton_lease = config_text(config, SINGLETON "use-lease");
    services->hand_over_retry_ms =
        config_duration_ns(config, SINGLETON "hand-over-retry-interval") / MS;
    services->hand_over_retries =
        (uint32_t)config_int(config, SINGLETON "min-number-of-hand-over-retries");
    services->lease_retry_ms = config_duration_ns(config, SINGLETON "lease-retry-interval") / MS;
    services->proxy_name = config_text(config, PROXY "singleton-name");
    services->proxy_role = config_text(config, PROXY "role");
    services->identification_ms =
        config_duration_ns(config, PROXY "singleton-identification-interval") / MS;
    services->proxy_buffer = buffer ? buffer : PROXY_BUFFER_NONE;
    services->daemon_role = config_text(config, DAEMON_SHARDING "role");
    settings->daemons = (struct daemon_settings){
        .use_lease = config_text(config, DAEMON_SHARDING "use-lease"),
        .lease_retry_ms = config_duration_ns(config, DAEMON_SHARDING "lease-retry-interval") / MS,
        .absolute_limit = (uint32_t)config_int(config, DAEMON_LEAST_SHARD "rebalance-absolute-limit"),
        .relative_limit = config_number(config, DAEMON_LEAST_SHARD "rebalance-relative-limit"),
    };
    services->keep_alive_ms = config_duration_ns(config, DAEMONS "keep-alive-interval") / MS;
}
