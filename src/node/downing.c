/* Between membership and the split brain resolver: what this node sees goes in, whom to down comes out. Behaviour 8.3, 8.5. */
#include "base/check.h"
#include "node/control.h"

struct resolver *downing_new(const struct control *control)
{
    const struct machine *machine = control->machine;
    const struct node_settings *settings = machine->settings;

    return settings->resolves
               ? resolver_new(&machine->self->node, &settings->resolver,
                              machine->trace, machine->now)
               : NULL;
}

void downing_fini(struct control *control)
{
    resolver_free(control->resolver);
    vec_fini(&control->side_members);
    vec_fini(&control->side_records);
}

/* The role that names the data center; null before the welcome. */
static const char *own_center(const struct control *control)
{
    const struct member_view *self = member_self(control->member);

    for (uint32_t i = 0; self && i < self->role_count; i++)
        if (strncmp(self->roles[i], "dc-", 3) == 0)
            return self->roles[i];
    return NULL;
}

/* The members of the own data center; they are sorted as membership sorts them. */
static void put_members(struct control *control)
{
    const char *center = own_center(control);
    const struct machine *machine = control->machine;

    control->side_members.count = 0;
    for (uint32_t i = 0; center && i < member_count(control->member); i++) {
        const struct member_view *view = member_at(control->member, i);
        bool is_self = node_equal(&view->node, &machine->self->node);
        struct side_member member = {
            .node = view->node,
            .up_number = view->up_number,
            .status = (enum peer_status)view->status,
            .has_role =
                member_has_role(view, machine->settings->resolver_role),
            .reachable = is_self || (view->reachable &&
                                     view->status != MEMBER_DOWN),
            .seen = view->seen,
        };

        if (member_has_role(view, center))
            vec_push(&control->side_members, member);
    }
}

static bool find(const struct control *control, const struct node_id *node,
                 uint32_t *index)
{
    uint32_t low = 0;
    uint32_t high = control->side_members.count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order =
            node_compare(&control->side_members.items[middle].node, node);

        if (order == 0) {
            *index = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static void put_records(struct control *control)
{
    struct member_walk walk = { 0, 0 };
    struct member_observation observation;
    struct side_record record;

    control->side_records.count = 0;
    while (member_next_observation(control->member, &walk, &observation))
        if (find(control, &observation.observer, &record.observer) &&
            find(control, &observation.subject, &record.subject))
            vec_push(&control->side_records, record);
}

void downing_see(struct control *control)
{
    struct resolver_view view = {
        .is_leader = member_is_leader(control->member),
    };

    if (!control->resolver || !member_is_in(control->member))
        return;
    put_members(control);
    put_records(control);
    view.side = (struct side){
        .members = control->side_members.items,
        .member_count = control->side_members.count,
        .records = control->side_records.items,
        .record_count = control->side_records.count,
    };
    resolver_see(control->resolver, control->machine->now, &view);
}

void downing_step(struct control *control)
{
    if (!control->resolver || !member_is_in(control->member) ||
        resolver_deadline(control->resolver) > control->machine->now)
        return;
    downing_see(control); /* who has seen what, and who observes whom, are no news */
    resolver_step(control->resolver, control->machine->now);
}

void downing_wire(struct control *control)
{
    struct machine *machine = control->machine;
    struct resolver_news news;

    while (control->resolver &&
           resolver_next_news(control->resolver, &news)) {
        switch (news.kind) {
        case RESOLVER_NEWS_DOWN:
            (void)member_down_decided(control->member, machine->now,
                                      &news.node,
                                      &machine->outbox); /* or it is gone */
            break;
        case RESOLVER_NEWS_ACQUIRE:
        case RESOLVER_NEWS_RELEASE:
            break;
        }
    }
}

uint64_t downing_deadline(const struct control *control)
{
    return control->resolver && member_is_in(control->member)
               ? resolver_deadline(control->resolver)
               : NEVER;
}
