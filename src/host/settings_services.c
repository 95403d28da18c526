/* Reads the settings of singletons, their proxies, and sharded daemon processes. */
#include "host/settings.h"

#include "base/timers.h"

#define SINGLETON "cluster.singleton."
#define PROXY "cluster.singleton-proxy."
#define DAEMONS "cluster.sharded-daemon-process."

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
    services->keep_alive_ms = config_duration_ns(config, DAEMONS "keep-alive-interval") / MS;
}
