/* Starts and ends a type's coordinator on the oldest node, and tells it of members. */
#include "node/control/control.h"

void control_tell_coordinator(struct control *control, struct coordinator *coordinator,
                              const struct member_view *view, const struct member_info *peer)
{
    struct machine *machine = control->machine;

    coordinator_peer(coordinator, machine->now, peer, &machine->outbox);
    if (control_is_jvm_peer(control, view))
        coordinator_peer_jvm(coordinator, machine->now,
                                 PROFILE_NODE(view->profile), &machine->outbox);
}

/* A role has its own minimum; that of all members says nothing about its regions. */
static uint32_t regions_min(const struct node_settings *settings,
                            const char *role)
{
    if (!role || !*role)
        return settings->min_nr_of_members;
    for (uint32_t i = 0; i < settings->role_minimum_count; i++)
        if (strcmp(settings->minimum_roles[i], role) == 0)
            return settings->role_minimums[i];
    return 1;
}

void control_start_coordinator(struct control *control, uint32_t index)
{
    struct machine *machine = control->machine;
    const struct node_settings *from = machine->settings;
    const struct sherd_entity_type *type = &from->types[index];
    struct control_type *of = &control->types[index];
    struct coordinator_options options = {
        .identity = machine->self,
        .type = type->name,
        .guardian = from->guardian,
        .names = shard_names_of(control, index),
        .settings = {
            .waiting_for_state_timeout_ms =
                from->waiting_for_state_timeout / MS,
            .updating_state_timeout_ms = from->updating_state_timeout / MS,
            .failure_backoff_ms = from->coordinator_backoff / MS,
            .handoff_timeout_ms = from->handoff_timeout / MS,
            .shard_start_timeout_ms = from->shard_start_timeout / MS,
            .removal_margin_ms = from->down_removal_margin / MS,
            .rebalance_interval_ms = from->rebalance_interval / MS,
            .absolute_limit = type->rebalance_absolute_limit
                                  ? type->rebalance_absolute_limit
                                  : from->rebalance_absolute_limit,
            .relative_limit = type->rebalance_relative_limit > 0
                                  ? type->rebalance_relative_limit
                                  : from->rebalance_relative_limit,
            .threshold = from->rebalance_threshold,
            .simultaneous_max = from->max_simultaneous_rebalance,
            .min_members = regions_min(from, type->role),
            .number_of_shards = machine->node->names[index].shards,
        },
        .room = &control->room,
        .trace = machine->trace,
        .probes = machine->probes,
        .type_index = (uint16_t)index,
        .seed = from->seed + 2000 + index,
    };

    if (of->coordinator)
        return;
    control_allocation_options(control, index, &options);
    of->coordinator = coordinator_new(&options, machine->now);
    decided_type(control, index, "coordinator started");
    control_locations_begin(control, index);
    turn_walked(&control->turn, member_count(control->member)); /* it hears of all */
    shard_data_begin(control, index);
    for (uint32_t i = 0; i < member_count(control->member); i++) {
        const struct member_view *view = member_at(control->member, i);
        struct member_info peer = control_peer(control, view, index);

        control_tell_coordinator(control, of->coordinator, view, &peer);
    }
}

void control_end_coordinator(struct control *control, uint32_t index)
{
    struct machine *machine = control->machine;
    struct control_type *type = &control->types[index];

    if (type->coordinator) {
        control_locations_end(control, index);
        coordinator_abandon(type->coordinator);
    }
    decided_type(control, index, "coordinator ended");
    coordinator_free(type->coordinator);
    type->coordinator = NULL;
    control_orphan_shards_end(control, index);
    if (type->singleton)
        singleton_stopped(type->singleton, machine->now, &machine->outbox);
}
