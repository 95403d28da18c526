/* Connects membership and the split brain resolver: the node's view goes in, decisions come out.
 * See docs/protocol/downing.md. */
#include "node/control/control.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"

/* Warns that the lease's default name is the same in all data centers. The default stays, because
 * JVM nodes of this data center use the same name. */
static void warn_of_centers(const struct machine *machine, const char *name)
{
    if (strcmp(machine->settings->data_center, "default") != 0)
        trace_put(machine->trace, TRACE_WARNING, "lease",
                  "all data centers ask for one lease, and while one of them "
                  "holds it the others' nodes down themselves: set "
                  "akka.cluster.split-brain-resolver.lease-majority.lease-name "
                  "to another name in each data-center=%s lease-name=%s",
                  machine->settings->data_center, name);
}

/* The lease's owner is host:port, so a restarted node still has its lease. */
static struct lease *make_lease(const struct control *control)
{
    const struct machine *machine = control->machine;
    const struct node_settings *settings = machine->settings;
    char name[LEASE_TEXT_MAX];
    char owner[ADDRESS_TEXT_MAX];
    struct lease_options options = {
        .name = name,
        .owner = address_text(&machine->self->node.address, owner,
                              sizeof owner),
        .ttl = settings->lease_ttl,
        .interval = settings->lease_interval,
        .patience = settings->lease_patience,
        .provider = settings->lease_provider,
        .use = LEASE_USE_RESOLVER,
        .trace = machine->trace,
    };

    if (!lease_name(name, settings->lease_name, machine->self->system))
        warn_of_centers(machine, name);
    return lease_new(&options);
}

void downing_init(struct control *control)
{
    const struct machine *machine = control->machine;
    const struct node_settings *settings = machine->settings;

    if (!settings->resolves)
        return;
    control->resolver = resolver_new(&machine->self->node,
                                     &settings->resolver, machine->trace,
                                     machine->now);
    if (settings->resolver.strategy.kind == STRATEGY_LEASE_MAJORITY)
        control->lease = make_lease(control);
}

void downing_fini(struct control *control)
{
    resolver_free(control->resolver);
    lease_free(control->lease);
    vec_fini(&control->side_members);
    vec_fini(&control->side_places);
    vec_fini(&control->side_records);
    vec_fini(&control->decided);
}

/* Collects the members of this node's data center, in membership's order. */
static void put_members(struct control *control)
{
    const struct machine *machine = control->machine;

    control->side_members.count = control->side_places.count = 0;
    for (uint32_t i = 0; i < member_count(control->member); i++) {
        const struct member_view *view = member_at(control->member, i);
        bool is_self = profile_is(view->profile, &machine->self->node);
        struct kept_member member = {
            .uid = view->profile->uid,
            .address = peers_lasting(&control->machine->peers,
                                     &PROFILE_NODE(view->profile)->address),
            .up_number = view->up_number,
            .status = (uint8_t)view->status,
            .has_role =
                member_has_role(view, machine->settings->resolver_role),
            .reachable = is_self || (view->reachable &&
                                     view->status != MEMBER_DOWN),
            .seen = view->seen,
        };

        bool is_near = strcmp(view->profile->traits->data_center,
                              machine->settings->data_center) == 0;

        vec_push(&control->side_places,
                 is_near ? control->side_members.count : UINT32_MAX);
        if (is_near)
            vec_push(&control->side_members, member);
    }
}

/* Returns false if the member is not in the side. */
static bool find(const struct control *control, uint32_t member,
                 uint32_t *index)
{
    *index = member < control->side_places.count
                 ? control->side_places.items[member]
                 : UINT32_MAX;
    return *index != UINT32_MAX;
}

static void put_records(struct control *control)
{
    struct member_walk walk = { 0, 0 };
    struct member_observation observation;
    struct side_record record;

    control->side_records.count = 0;
    while (member_next_observation(control->member, &walk, &observation))
        if (find(control, observation.observer, &record.observer) &&
            find(control, observation.subject, &record.subject))
            vec_push(&control->side_records, record);
}

void downing_see(struct control *control)
{
    struct resolver_view view = {
        .is_leader = member_is_leader(control->member),
        .holds_lease = control->lease &&
                       lease_is_held(control->lease, control->machine->now),
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
    uint64_t now = control->machine->now;

    if (control->lease && lease_deadline(control->lease) <= now)
        lease_step(control->lease, now);
    if (!control->resolver || !member_is_in(control->member) ||
        resolver_deadline(control->resolver) > now)
        return;
    downing_see(control); /* seen-by and observers change without events */
    resolver_step(control->resolver, now);
}

void downing_lease_forgotten(struct control *control)
{
    if (control->lease)
        lease_forgotten(control->lease, control->machine->now);
}

void downing_leased(struct control *control, struct lease_request *request)
{
    check(control->lease != NULL);
    lease_answered(control->lease, control->machine->now, request);
}

/* ---- news ---- */

bool downing_wire_lease(struct control *control)
{
    struct machine *machine = control->machine;
    struct driver_request request = { .kind = DRIVER_LEASE };
    enum lease_news news;

    if (!control->lease)
        return false;
    while (lease_next_news(control->lease, &news)) {
        switch (news) {
        case LEASE_NEWS_ACQUIRED:
        case LEASE_NEWS_NOT_ACQUIRED:
            resolver_acquired(control->resolver, machine->now,
                              news == LEASE_NEWS_ACQUIRED);
            break;
        case LEASE_NEWS_RELEASED:
        case LEASE_NEWS_NOT_RELEASED:
            resolver_released(control->resolver, machine->now,
                              news == LEASE_NEWS_RELEASED);
            break;
        case LEASE_NEWS_LOST:
            break; /* a decision that needs it looks */
        }
    }
    if (lease_next_request(control->lease, &request.lease))
        outputs_request(&machine->outputs, &request);
    return true;
}

void downing_leave(struct control *control)
{
    uint64_t until;

    if (control->lease && resolver_keeps_lease(control->resolver, &until))
        lease_leave(control->lease, control->machine->now, until);
}

bool downing_leaves(const struct control *control)
{
    return control->lease && lease_state(control->lease) == LEASE_RELEASING;
}

static bool is_among(const struct node_id *nodes, uint32_t count,
                     const struct kept_member *member)
{
    for (uint32_t i = 0; i < count; i++)
        if (kept_member_is(member, &nodes[i]))
            return true;
    return false;
}

static void probe_resolved(const struct control *control,
                           const struct node_id *downed, uint32_t count)
{
    const struct side side = resolver_side(control->resolver);
    struct probe probe = { .kind = PROBE_RESOLVED,
                           .type = PROBE_TYPE_NONE,
                           .node = control->machine->self->node,
                           .first = side.member_count };
    struct buf bytes = { 0 };

    for (uint32_t i = 0; i < side.member_count; i++) {
        const struct kept_member *member = &side.members[i];
        const struct probe_side seen = {
            .uid = member->uid,
            .status = member->status,
            .reachable = member->reachable,
            .seen = member->seen,
            .downed = is_among(downed, count, member),
            .has_role = member->has_role,
        };

        buf_put(&bytes, &seen, sizeof seen);
    }
    for (uint32_t i = 0; i < side.record_count; i++) {
        const struct probe_unreached record = {
            side.members[side.records[i].observer].uid,
            side.members[side.records[i].subject].uid,
        };

        buf_put(&bytes, &record, sizeof record);
    }
    probe.bytes = buf_slice(&bytes);
    probes_put(control->machine->probes, &probe);
    buf_fini(&bytes);
}

bool downing_wire(struct control *control)
{
    struct machine *machine = control->machine;
    const struct probe unstable = { .kind = PROBE_UNSTABLE,
                                    .type = PROBE_TYPE_NONE };
    struct resolver_news news;

    if (!control->resolver)
        return false;
    while (resolver_next_news(control->resolver, &news)) {
        switch (news.kind) {
        case RESOLVER_NEWS_DOWN:
            vec_push(&control->decided, news.node);
            if (control->lease && lease_is_held(control->lease, machine->now))
                control_condemn(control, news.node.uid);
            break;
        case RESOLVER_NEWS_ACQUIRE:
            lease_acquire(control->lease, machine->now);
            break;
        case RESOLVER_NEWS_RELEASE:
            lease_release(control->lease, machine->now);
            break;
        case RESOLVER_NEWS_UNSTABLE:
            probes_put(machine->probes, &unstable);
            break;
        }
    }
    if (control->decided.count && machine->probes)
        probe_resolved(control, control->decided.items, control->decided.count);
    return control->decided.count != 0;
}

void downing_carry_out(struct control *control)
{
    struct machine *machine = control->machine;

    for (uint32_t i = 0; i < control->decided.count; i++)
        decided(control, "resolver downs", &control->decided.items[i]);
    (void)member_down_decided(control->member, machine->now,
                              control->decided.items, control->decided.count,
                              &machine->outbox); /* or they are gone */
    control->decided.count = 0;
}

void downing_probe_lease(struct control *control)
{
    struct machine *machine = control->machine;
    struct probe probe = { .kind = PROBE_LEASE_ENDED,
                           .type = PROBE_TYPE_NONE,
                           .first = lease_token(control->lease),
                           .second = lease_until(control->lease) };

    if (!machine->probes || probe.second == control->lease_until)
        return;
    control->lease_until = probe.second;
    if (probe.second)
        probe.kind = PROBE_LEASE_HELD;
    probes_put(machine->probes, &probe);
}

uint64_t downing_deadline(const struct control *control)
{
    uint64_t lease = control->lease ? lease_deadline(control->lease) : NEVER;
    uint64_t resolver =
        control->resolver && member_is_in(control->member)
            ? resolver_deadline(control->resolver)
            : NEVER;

    return lease < resolver ? lease : resolver;
}
