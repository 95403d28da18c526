/* Finds members that are no Sherd nodes and have the role of an entity type.
 *
 * Their sharding does not work with this node's, but each kind would wait for the other's
 * coordinator. So this node leaves if such a member is older, and else only logs an error. */
#include "node/control/control.h"

#include "base/mark.h"

bool control_is_jvm_peer(struct control *control,
                        const struct member_view *view)
{
    const struct node_id *node = PROFILE_NODE(view->profile);
    const struct peer *peer = peers_uid(&control->machine->peers, node->uid);

    return peer && !peer->capabilities &&
           associations_uid(control->associations, &node->address) == node->uid;
}

/* Logs the types whose role that member has; false if there are none. */
static bool report(struct control *control, const struct member_view *view)
{
    struct machine *machine = control->machine;
    const struct node_id *node = PROFILE_NODE(view->profile);
    struct peer *peer = peers_uid(&machine->peers, node->uid);
    bool shares = false;

    for (uint32_t i = 0; i < control->type_count; i++) {
        const char *role = machine->settings->types[i].role;

        if (!control_peer(control, view, i).has_role)
            continue;
        shares = true;
        if (peer && peer->shares)
            continue;
        trace_put(machine->trace, TRACE_ERROR, "node",
                  "JVM member has the role of an entity type: give the type a "
                  "role that only nodes of this library have type=%s "
                  "role=\"%s\" member=%s:%u",
                  machine->node->names[i].name, role ? role : "",
                  node->address.host, node->address.port);
    }
    if (peer)
        peer->shares = true;
    return shares;
}

bool control_is_younger(const struct member_view *self,
                        const struct member_view *other)
{
    return other->status != MEMBER_JOINING &&
           other->status != MEMBER_WEAKLY_UP &&
           member_compare_age(other, self) < 0;
}

void control_give_way(struct control *control)
{
    const struct member_view *self = member_self(control->member);

    for (uint32_t i = 0; i < control->type_count; i++)
        control->types[i].refused = true; /* no coordinator takes its shards */
    control->refusal = SHERD_EJOIN;
    /* First it must be up. If its leave met the leader's move to up, the merged member would
     * lose its up number, and JVM replicators, which keep members by it, would count this one
     * forever. */
    if (self->status != MEMBER_JOINING && self->status != MEMBER_WEAKLY_UP)
        control_leave(control, SHERD_BEFORE_SERVICE_UNBIND);
}

void control_check_jvm_peer(struct control *control)
{
    const struct member_view *self = member_self(control->member);
    bool gives_way = false;

    if (!control->has_jvm_peer || !self ||
        control->shutdown != SHUTDOWN_NOT)
        return;
    for (uint32_t i = 0; i < member_count(control->member); i++) {
        const struct member_view *view = member_at(control->member, i);

        if (control_is_jvm_peer(control, view) && report(control, view))
            gives_way |= control_is_younger(self, view);
    }
    if (!gives_way)
        return;
    REACHED("a younger node stops: a JVM member has an entity type's role");
    control_give_way(control);
}
