/* Checks whether the configured types are registered (cluster.sharding.healthcheck.names): before that
 * the node is not ready. */
#include "node/control/control.h"

#include <string.h>

static const struct control_type *type_named(const struct control *control, const char *name)
{
    for (uint32_t i = 0; i < control->type_count; i++)
        if (strcmp(control->machine->node->names[i].name, name) == 0)
            return &control->types[i];
    return NULL;
}

void control_health_begin(struct control *control)
{
    const struct node_settings *settings = control->machine->settings;

    for (uint32_t i = 0; i < settings->checked_type_count; i++)
        if (!type_named(control, settings->checked_types[i]))
            trace_put(control->machine->trace, TRACE_WARNING, "node",
                      "the node is not ready before this type is registered type=\"%s\" "
                      "hint=\"register it, or correct cluster.sharding.healthcheck.names\"",
                      settings->checked_types[i]);
}

/* Once true, always true, as in Akka. */
bool control_is_healthy(struct control *control)
{
    const struct node_settings *settings = control->machine->settings;
    const struct control_type *type;

    for (uint32_t i = 0; !control->was_healthy && i < settings->checked_type_count; i++) {
        type = type_named(control, settings->checked_types[i]);
        if (!type || !region_registered(type->region))
            return false;
    }
    control->was_healthy = true;
    return true;
}
