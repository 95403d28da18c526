/* Describes a member to the cores of an entity type. */
#include "node/control/control.h"

#include "member/version.h"

struct member_info control_peer_of_all(const struct control *control,
                                       const struct member_view *view)
{
    struct version version = { { 0 }, "" };
    struct member_info peer = {
        .node = profile_node(view->profile),
        .up_number = view->up_number,
        .status = view->status,
        .reachable = view->reachable,
    };

    peer.is_far = strcmp(view->profile->traits->data_center,
                         control->machine->settings->data_center) != 0;
    peer.lasting = peers_lasting(&control->machine->peers,
                                 &PROFILE_NODE(view->profile)->address);
    (void)version_parse(&version, view->profile->traits->app_version); /* checked when received */
    memcpy(peer.version.numbers, version.numbers, sizeof version.numbers);
    peer.version.rest = version.rest;
    return peer;
}

bool control_has_role(const struct control *control,
                      const struct member_view *view, uint32_t type)
{
    const struct machine *machine = control->machine;
    const struct sherd_entity_type *of = &machine->settings->types[type];
    const char *own = machine->settings->data_center;

    return member_has_role(view, of->role) &&
           strcmp(view->profile->traits->data_center,
                  of->data_center ? of->data_center : own) == 0;
}

bool control_may_coordinate(const struct control *control, const struct member_view *view,
                            uint32_t type)
{
    return control_has_role(control, view, type) &&
           member_has_role(view, control->machine->settings->coordinator_role);
}

struct member_info control_peer(const struct control *control,
                                const struct member_view *view, uint32_t type)
{
    struct member_info peer = control_peer_of_all(control, view);

    peer.has_role = control_has_role(control, view, type);
    return peer;
}
