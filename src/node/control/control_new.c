/* Creates control's cores from the node's settings, and frees them. */
#include "node/control/control.h"

#include "artery/extension.h"
#include "base/check.h"

static struct region *make_region(struct control *control, uint32_t index)
{
    struct machine *machine = control->machine;
    const struct node_settings *settings = machine->settings;
    const struct type_names *names = &machine->node->names[index];
    struct region_options options = {
        .self = machine->self,
        .outbox = &machine->outbox,
        .trace = machine->trace,
        .probes = machine->probes,
        .type_index = (uint16_t)index,
        .type = names->type,
        .path = names->region_path,
        .coordinator_path = names->coordinator_path,
        .shard_count = names->shards,
        .names = names->rule.names,
        .lanes = settings->lanes,
        .is_proxy = names->is_proxy,
        .persists = names->persists,
        .retry_interval = settings->retry_interval,
        .handoff_timeout = settings->handoff_timeout,
    };

    return region_new(&options);
}

static struct singleton *make_singleton(struct control *control,
                                        uint32_t index)
{
    struct machine *machine = control->machine;
    struct singleton_options options = {
        .identity = machine->self,
        .path = machine->node->names[index].manager_path,
        .settings = {
            .retry_interval_ms = machine->settings->coordinator_retry / MS,
            .retries_min = machine->settings->coordinator_retries,
            .removal_margin_ms = machine->settings->down_removal_margin / MS,
            .uses_lease = machine->settings->coordinator_lease != LEASE_PROVIDER_NONE,
            .lease_retry_ms = machine->settings->coordinator_lease_retry / MS,
            .release_timeout_ms = machine->settings->lease_patience / MS,
        },
        .trace = machine->trace,
        .seed = machine->settings->seed + 1000 + index,
    };

    return machine->node->names[index].coordinates ? singleton_new(&options, machine->now) : NULL;
}

/* More than 49 days count as forever. */
static uint32_t ms(uint64_t duration)
{
    return duration / MS < UINT32_MAX ? (uint32_t)(duration / MS) : UINT32_MAX;
}

static enum peer_form form_of(const void *user, const struct node_id *node)
{
    const struct control *control = user;
    const struct peer *peer =
        peers_uid(&control->machine->peers, node->uid);

    if (!peer || !peer->met)
        return PEER_UNKNOWN;
    return peer->capabilities & CAPABILITY_GOSSIP_DIGEST ? PEER_GOSSIP_DIGEST : PEER_USUAL;
}

static bool has_answered(const void *user, const struct node_id *node)
{
    const struct control *control = user;
    const struct peer *peer = peers_uid(&control->machine->peers, node->uid);

    return peer && peer->has_answered &&
           kept_address_equal(peer->address, &node->address);
}

static void verify_peer(const void *user, const struct node_id *node)
{
    const struct control *control = user;

    peer_links_verify(&control->machine->links, node);
}

static void fetch_peers(const void *user, const uint64_t *uids,
                           uint32_t count)
{
    const struct control *control = user;

    peer_links_fetch(&control->machine->links, uids, count);
}

static struct member *make_member(struct control *control)
{
    const struct node_settings *from = control->machine->settings;
    struct member_role_minimum *minimums =
        mem_alloc(from->role_minimum_count * sizeof *minimums);
    struct member *member;
    struct member_settings settings = {
        .seeds = from->seed_nodes,
        .seed_count = from->seed_node_count,
        .finds_seeds = from->finds_seeds,
        .founds_never = from->founds_never,
        .required_seeds = from->required_seeds,
        .stable_margin_ms = ms(from->stable_margin),
        .find_interval_ms = ms(from->find_interval),
        .find_backoff_ms = ms(from->find_backoff),
        .roles = from->roles,
        .role_count = from->role_count,
        .data_center = from->data_center,
        .app_version = from->app_version,
        .config = from->join_config,
        .store = from->store_id,
        .accept_incompatible = from->accept_incompatible,
        .role_minimums = minimums,
        .role_minimum_count = from->role_minimum_count,
        .join_give_up_ms = ms(from->join_give_up),
        .tombstone_ttl_ms = ms(from->tombstone_ttl),
        .different_view_percent =
            (uint32_t)(from->different_view_probability * 100 + 0.5),
        .different_view_reduce = from->different_view_reduce,
        .heartbeat_samples_max = from->heartbeat_samples_max,
        .min_members = from->min_nr_of_members,
        .seed_timeout_ms = ms(from->seed_node_timeout),
        .join_retry_ms = ms(from->retry_unsuccessful_join_after),
        .gossip_interval_ms = ms(from->gossip_interval),
        .leader_interval_ms = ms(from->leader_actions_interval),
        .stats_interval_ms = ms(from->publish_stats_interval),
        .reaper_interval_ms = ms(from->unreachable_reaper_interval),
        .initial_delay_ms = ms(from->periodic_initial_delay),
        .weakly_up_after_ms = ms(from->weakly_up_after),
        .weakly_up_off = from->weakly_up_off,
        .one_word_ends = from->resolves && from->resolver.strategy.kind ==
                                               STRATEGY_LEASE_MAJORITY,
        .heartbeat_interval_ms = ms(from->heartbeat_interval),
        .heartbeat_expected_ms = ms(from->first_heartbeat_estimate),
        .heartbeat_pause_ms = ms(from->acceptable_heartbeat_pause),
        .heartbeat_deviation_ms = ms(from->min_std_deviation),
        .heartbeat_threshold = from->phi_threshold,
        .monitored_by = from->monitored_by_nr_of_members,
        .cross_connections = from->cross_connections,
        .cross_gossip_percent =
            (uint32_t)(from->cross_gossip_probability * 100 + 0.5),
        .cross_heartbeat_interval_ms = ms(from->cross_heartbeat_interval),
        .cross_heartbeat_expected_ms = ms(from->cross_heartbeat_expected),
        .cross_heartbeat_pause_ms = ms(from->cross_heartbeat_pause),
        .log_info_off = from->log_info_off,
        .probes = control->machine->probes,
        .form_of = form_of,
        .has_answered = has_answered,
        .verify = verify_peer,
        .fetch = fetch_peers,
        .user = control,
    };

    for (uint32_t i = 0; i < from->role_minimum_count; i++)
        minimums[i] = (struct member_role_minimum){ from->minimum_roles[i], from->role_minimums[i] };
    member = member_new(control->machine->self, &settings, from->seed + 1, control->machine->trace);
    mem_free(minimums);
    return member;
}

void control_make_type(struct control *control, uint32_t index)
{
    struct control_type *type = &control->types[index];

    type->region = make_region(control, index);
    type->singleton = make_singleton(control, index);
    region_cordon(type->region, control->machine->now, control->cordon);
    control_limit_init(control, index);
    control_leases_add(control, index);
    type->exit_done = !type->singleton;
}

struct control *control_new(struct machine *machine)
{
    struct control *control = mem_alloc(sizeof *control);
    struct association_options options = {
        .peers = &machine->peers,
        .self = machine->self,
        .capabilities = CAPABILITIES,
        .lanes = machine->settings->lanes,
        .tables = &machine->tables,
        .trace = machine->trace,
        .probes = machine->probes,
    };

    control->machine = machine;
    control->associations = associations_new(&options);
    control->member = make_member(control);
    control->type_count = machine->settings->type_count;
    guardian_path_put(&control->guardian_path, machine->settings->guardian);
    downing_init(control);
    data_init(control);
    relays_init(control);
    shard_data_init(control);
    remember_data_init(control);
    rng_init(&control->proofs, machine->settings->seed + 4000);
    control->types = mem_alloc((control->type_count + machine->settings->late_types_max) *
                               sizeof *control->types);
    for (uint32_t i = 0; i < control->type_count; i++)
        control_make_type(control, i);
    coordinator_room_fill(&control->room);
    turn_stir(&control->turn);
    return control;
}

void control_free(struct control *control)
{
    if (!control)
        return;
    for (uint32_t i = 0; i < control->type_count; i++) {
        if (control->types[i].coordinator)
            coordinator_free(control->types[i].coordinator);
        if (control->types[i].singleton)
            singleton_free(control->types[i].singleton);
        region_free(control->types[i].region);
    }
    actor_names_fini(&control->names);
    buf_fini(&control->guardian_path);
    remember_data_fini(control);
    shard_data_fini(control);
    mem_free(control->types);
    control_leases_fini(control);
    downing_fini(control);
    relays_fini(control);
    queries_fini(control);
    looks_fini(control);
    operations_fini(control);
    decisions_fini(control);
    user_singletons_fini(control);
    control_type_calls_fini(control);
    data_fini(control);
    member_free(control->member);
    associations_free(control->associations);
    control_tasks_fini(control);
    control_removed_fini(control);
    vec_fini(&control->departed);
    vec_fini(&control->other_stores);
    mem_free(control);
}

void control_start(struct control *control)
{
    struct machine *machine = control->machine;

    data_durable_start(control);
    control_health_begin(control);
    if (machine->settings->seed_node_count || machine->settings->finds_seeds)
        member_start(control->member, machine->now, (uint64_t)machine->wall_ms, &machine->outbox);
    else if (machine->settings->alone)
        (void)member_join(control->member, machine->now,
                          (uint64_t)machine->wall_ms,
                          &machine->self->node.address,
                          &machine->outbox); /* a new node is in no cluster */
}
