/* Refuses a setting with an error that names its place, key and fault. */
#include "host/settings.h"

#include <stdarg.h>
#include <stdio.h>

int settings_refuse(const struct settings *settings, char *error, size_t size,
                    const char *key, const char *format, ...)
{
    struct config_origin origin = config_origin(settings->config, key);
    char place[192] = "";
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* may be cut */
    va_end(arguments);
    if (origin.line)
        (void)snprintf(place, sizeof place, "%.150s:%u:%u: ", origin.source,
                       (unsigned)origin.line, (unsigned)origin.column);
    else if (origin.kind != CONFIG_DEFAULT)
        (void)snprintf(place, sizeof place, "%.150s: ", origin.source);
    (void)snprintf(error, size, "%s%s%s %s", place, origin.prefix, key, text);
    return SHERD_ECONFIG;
}
