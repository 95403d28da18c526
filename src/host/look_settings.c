/* Implements look_settings.h. */
#include "host/look_settings.h"

#include <string.h>

#include "config/config.h"

/* Secrets are in files; only passwords may stand in the configuration itself. */
static bool is_secret(const char *key)
{
    return strstr(key, "password") || strstr(key, "token");
}

bool look_next_setting(const void *configuration, uint32_t *at, struct node_setting *setting)
{
    struct config_setting found;

    if (!config_next_setting(configuration, at, &found))
        return false;
    *setting = (struct node_setting){ .key = found.key,
                                      .value = is_secret(found.key) ? "***" : found.value,
                                      .source = found.origin.source };
    return true;
}
