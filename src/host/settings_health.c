/* Reads the settings of the health check: types that must be registered. */
#include "host/settings.h"

#define SHARDING "cluster.sharding."

void settings_read_health(struct settings *settings)
{
    const struct config *config = settings->config;
    uint32_t count = config_list(config, SHARDING "healthcheck.names");

    for (uint32_t i = 0; i < count; i++)
        vec_push(&settings->checked_types,
                 config_list_at(config, SHARDING "healthcheck.names", i));
    settings->node.checked_types = settings->checked_types.items;
    settings->node.checked_type_count = settings->checked_types.count;
    settings->node.checked_for = config_duration_ns(config, SHARDING "healthcheck.disabled-after");
    if (settings->node.checked_for == CONFIG_OFF)
        settings->node.checked_for = 0;
    settings->health_timeout = config_duration_ns(config, SHARDING "healthcheck.timeout");
}
