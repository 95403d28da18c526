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

/* A node that has been up for long must not hold up a rolling update because of a new type. */
static bool is_over(struct control *control)
{
    const struct member_view *self = member_self(control->member);
    uint64_t most = control->machine->settings->checked_for;

    if (!control->up_at && member_is_in(control->member) && self && self->status == MEMBER_UP)
        control->up_at = control->machine->now;
    return most && control->up_at && control->machine->now >= control->up_at + most;
}

/* Once true, always true, as in Akka. */
bool control_is_healthy(struct control *control)
{
    const struct node_settings *settings = control->machine->settings;
    const struct control_type *type;

    for (uint32_t i = 0; !control->was_healthy && i < settings->checked_type_count; i++) {
        type = type_named(control, settings->checked_types[i]);
        if (!type || !region_registered(type->region)) {
            if (!is_over(control))
                return false;
            trace_put(control->machine->trace, TRACE_WARNING, "node",
                      "this type is not registered, and is not awaited any more type=\"%s\" "
                      "hint=\"register it, or correct cluster.sharding.healthcheck.names\"",
                      settings->checked_types[i]);
        }
    }
    control->was_healthy = true;
    return true;
}
