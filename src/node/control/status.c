/* Reports a node to its users: members, counters, types (sherd_status). */
#include "node/control/control.h"

#include <stdio.h>

static void put_member(struct sherd_member *to, const struct member_view *view)
{
    (void)kept_address_text(view->profile->address, to->address,
                       sizeof to->address);
    to->uid = view->profile->uid;
    to->status = control_status_of(view->status);
    to->reachable = view->reachable;
    to->seen = view->seen;
}

static void add_replicator(const struct replicator *replicator,
                           uint64_t *counters)
{
    const struct replicator_counters *data;

    if (!replicator)
        return;
    data = replicator_counters(replicator);
    counters[SHERD_MESSAGES_MALFORMED] += data->malformed + data->unknown;
    counters[SHERD_VALUES_UNMERGED] += data->unmerged;
    counters[SHERD_VALUES_TOO_LARGE] += data->too_large;
    counters[SHERD_VALUES_BESIDE] += data->siblings;
    counters[SHERD_VALUES_REFUSED] += data->too_many + data->siblings_full;
    counters[SHERD_VALUES_UNSENT] += data->unsent;
    counters[SHERD_DELTAS_LOST] += data->deltas_lost;
    counters[SHERD_VALUES_GOSSIP_DROPPED] += data->gossip_dropped;
    counters[SHERD_REPLICAS_REFUSED] += data->crowded;
    counters[SHERD_REPLICAS_FORGOTTEN] += data->forgotten;
}

static void put_counters(const struct control *control, uint64_t *counters)
{
    struct association_counts counts =
        associations_counts(control->associations);
    const struct member_counters *member = member_counters(control->member);
    const struct peer_links *links = &control->machine->links;

    counters[SHERD_FRAMES_REFUSED] += counts.foreign + counts.misaddressed +
                                      counts.stale + counts.unknown +
                                      counts.refused;
    counters[SHERD_MESSAGES_MALFORMED] = counts.malformed + control->unknown;
    counters[SHERD_GOSSIP_DROPPED] =
        member->dropped_malformed + member->dropped_hostile +
        member->dropped_no_member + member->dropped_unanswered +
        member->dropped_misdirected +
        member->dropped_unreachable + member->dropped_state +
        member->dropped_full + member->unknown_manifest;
    counters[SHERD_GOSSIP_LEFT_OUT] = links->left_out[REPEATS_MEMBERS];
    counters[SHERD_VALUES_LEFT_OUT] = links->left_out[REPEATS_VALUES];
    counters[SHERD_CHANGES_MERGED] = member->changes_merged;
    counters[SHERD_REMOVED_FORGOTTEN] = control->removed_forgotten;
    counters[SHERD_STRANGERS_FORGOTTEN] = counts.forgotten;
    for (uint32_t i = 0; i < control->type_count; i++) {
        const struct region_counters *region =
            region_counters(control->types[i].region);

        counters[SHERD_MESSAGES_MALFORMED] +=
            region->malformed + region->unknown;
    }
    control_unclaimed_status(control, counters);
    counters[SHERD_ACTOR_NAMES_REFUSED] = control->names_refused;
    add_replicator(control->data.replicator, counters);
    for (uint32_t i = 0; i < control->shard_data.replicators.count; i++)
        add_replicator(control->shard_data.replicators.items[i].replicator,
                       counters);
    for (uint32_t i = 0; i < RELAY_COUNT; i++)
        add_replicator(control->relays[i].replicator, counters);
}

static void put_replica(const struct replicator *replicator,
                        struct sherd_status *status)
{
    struct sherd_replica_status *replica;
    struct replicator_view view;
    struct slice path;

    if (!replicator)
        return;
    view = replicator_view(replicator);
    path = path_plain(replicator_path(replicator));
    replica = &status->replicas[status->replica_count++];
    (void)snprintf(replica->path, sizeof replica->path, "%.*s", (int)path.size,
                   (const char *)path.data); /* cut if too long */
    replica->keys = view.keys;
    replica->bytes = view.bytes;
    replica->members = replicator_count(replicator);
    replica->pruned = replicator_counters(replicator)->pruned;
}

static void put_replicas(const struct control *control,
                         struct sherd_status *status)
{
    uint32_t sharding = control->shard_data.replicators.count;

    status->replicas = mem_alloc((1 + sharding + RELAY_COUNT) *
                                 sizeof *status->replicas);
    put_replica(control->data.replicator, status);
    for (uint32_t i = 0; i < sharding; i++)
        put_replica(control->shard_data.replicators.items[i].replicator,
                    status);
    for (uint32_t i = 0; i < RELAY_COUNT; i++)
        put_replica(control->relays[i].replicator, status);
}

/* The view of a cluster of one stays while the node joins another. */
static bool is_up(const struct control *control)
{
    const struct member_view *self = member_self(control->member);

    return member_is_in(control->member) && self && self->status == MEMBER_UP;
}

void control_tell_ready(struct control *control)
{
    const struct member_view *self = member_self(control->member);
    bool is_member = member_is_in(control->member) && self;
    bool is_staying = control->shutdown == SHUTDOWN_NOT || control->shutdown == SHUTDOWN_FAILED;
    struct node_readiness readiness = {
        .is_member = is_member,
        .status = is_member ? control_status_of(self->status) : SHERD_REMOVED,
        .is_leaving = !is_staying || member_is_preparing(control->member),
        .has_types = control_is_healthy(control),
    };
    bool is_ready = is_up(control) && is_staying && readiness.has_types;

    if (is_ready != control->is_ready || readiness.is_member != control->readiness.is_member ||
        readiness.status != control->readiness.status ||
        readiness.is_leaving != control->readiness.is_leaving ||
        readiness.has_types != control->readiness.has_types)
        outputs_request(&control->machine->outputs,
                        &(struct driver_request){ .kind = DRIVER_READY, .is_ready = is_ready,
                                                  .readiness = readiness });
    control->is_ready = is_ready;
    control->readiness = readiness;
}

void control_status(struct control *control, struct sherd_status *status,
                    bool members)
{
    struct machine *machine = control->machine;

    status->member_count = members ? member_count(control->member) : 0;
    status->members =
        mem_alloc(status->member_count * sizeof *status->members);
    for (uint32_t i = 0; i < status->member_count; i++)
        put_member(&status->members[i], member_at(control->member, i));
    status->up = is_up(control);
    put_counters(control, status->counters);
    put_replicas(control, status);
    data_durable_status(control, status);
    for (uint32_t i = 0; i < SHERD_REASON_COUNT; i++)
        status->undelivered[i] = machine->undelivered[i];
    status->type_count = control->type_count;
    status->types = mem_alloc(control->type_count * sizeof *status->types);
    for (uint32_t i = 0; i < control->type_count; i++) {
        struct sherd_type_status *type = &status->types[i];
        const struct node_id *coordinator =
            region_coordinator(control->types[i].region);

        (void)snprintf(type->name, sizeof type->name, "%s",
                       machine->node->names[i].name);
        if (coordinator)
            (void)address_text(&coordinator->address, type->coordinator,
                               sizeof type->coordinator);
        type->shards_here = region_hosted_count(control->types[i].region);
    }
}
