/* Connects control's cores: each event of one with the function of another. Read it with
 * association_wiring.c and lane_wiring.c. */
#include "node/control/control.h"

#include "actor/message.h"
#include "artery/extension.h"
#include "base/check.h"
#include "base/limits.h"
#include "journal/backend.h"
#include "node/peers/actor_path.h"

static uint32_t owning_machine(const struct control *control, uint32_t type,
                               int32_t shard)
{
    return 1 + shard_lane(type, shard, control->machine->settings->lanes);
}

/* ---- membership ---- */

/* A JVM's coordinator would accept this region and give it shards, so it is not asked. */
void control_tell_region(struct control *control, const struct member_view *view, uint32_t type)
{
    struct member_info peer = control_peer_of_all(control, view);

    peer.has_role = control_may_coordinate(control, view, type);
    peer.has_role &= !control_is_jvm_peer(control, view);
    region_peer(control->types[type].region, control->machine->now, &peer);
}

static void tell_types(struct control *control, const struct member_view *view)
{
    struct machine *machine = control->machine;
    struct member_info peer = control_peer_of_all(control, view);
    uint64_t now = machine->now;

    turn_stir(&control->turn);
    data_peer(control, view);
    shard_data_peer(control, view);
    relays_peer(control, view);
    user_singletons_peer(control, view);
    for (uint32_t i = 0; i < control->type_count; i++) {
        struct control_type *type = &control->types[i];

        control_tell_region(control, view, i);
        peer.has_role = control_may_coordinate(control, view, i);
        if (type->singleton)
            singleton_peer(type->singleton, now, &peer);
        peer.has_role = control_has_role(control, view, i);
        if (type->coordinator)
            control_tell_coordinator(control, type->coordinator, view, &peer);
    }
}

/* The member's connections will end, without a log line. */
static void member_leaves(struct control *control,
                          const struct member_view *view)
{
    struct machine *machine = control->machine;
    struct mail_content content;

    switch (view->status) {
    case MEMBER_LEAVING:
    case MEMBER_EXITING:
    case MEMBER_DOWN:
        break;
    default:
        return;
    }
    peers_leaves(&machine->peers, PROFILE_NODE(view->profile));
    content = MAIL(leaves, .own = { mail_node(PROFILE_NODE(view->profile)) });
    outputs_post_lanes(&machine->outputs, &content);
}

static void tell_reach(struct control *control, const struct member_news *news)
{
    struct mail_content content =
        MAIL(reach, .is_reachable = news->kind == MEMBER_NEWS_REACHABLE,
             .own = { mail_node(&news->node) });

    outputs_post_lanes(&control->machine->outputs, &content);
}

/* The whole cluster shuts down: no shard has to move. */
static void cluster_ends(struct control *control,
                         const struct member_view *view)
{
    if (view->status != MEMBER_PREPARING_FOR_SHUTDOWN &&
        view->status != MEMBER_READY_FOR_SHUTDOWN)
        return;
    for (uint32_t i = 0; i < control->type_count; i++)
        region_prepare_shutdown(control->types[i].region,
                                control->machine->now);
}

/* True if the member's singletons have ended for certain. A JVM that could not hand them over in
 * time confirms its exit while they still run. */
static bool has_left(const struct control *control,
                     const struct member_news *news)
{
    const struct peer *peer = peers_uid(&control->machine->peers, news->node.uid);

    return news->has_left && !(peer && peer->met && !peer->capabilities);
}

static void member_gone(struct control *control, const struct member_news *news)
{
    struct machine *machine = control->machine;
    struct mail_content content =
        MAIL(gone, .is_heard = news->previous != MEMBER_DOWN,
             .own = { mail_node(&news->node) });
    uint64_t now = machine->now;

    turn_stir(&control->turn);
    data_peer_removed(control, &news->node);
    shard_data_peer_removed(control, &news->node);
    relays_peer_removed(control, &news->node);
    looks_member_gone(control, news->node.uid);
    user_singletons_peer_removed(control, &news->node, has_left(control, news));
    for (uint32_t i = 0; i < control->type_count; i++) {
        struct control_type *type = &control->types[i];

        region_peer_removed(type->region, now, &news->node);
        if (type->singleton)
            singleton_peer_removed(type->singleton, now, &news->node,
                                   has_left(control, news));
        if (type->coordinator)
            coordinator_peer_removed(type->coordinator, now, &news->node,
                                     &machine->outbox);
    }
    outputs_post_lanes(&machine->outputs, &content);
    if (news->previous == MEMBER_DOWN) {
        associations_quarantine(control->associations, &news->node);
        control_remember(control, news->node.uid);
    } else {
        control_departs(control, &news->node);
    }
    peer_links_gone(&machine->links, &news->node);
}

/* Returns the level by akka.cluster.log-info and log-info-verbose. By default the node that makes a
 * change logs it at info; others log only the leader, and events about themselves. */
static enum trace_level news_level(const struct node_settings *settings,
                                   enum member_news_kind kind)
{
    bool is_verbose =
        kind == MEMBER_NEWS_MEMBER || kind == MEMBER_NEWS_REMOVED ||
        kind == MEMBER_NEWS_UNREACHABLE || kind == MEMBER_NEWS_REACHABLE ||
        kind == MEMBER_NEWS_ROLE_LEADER;

    return settings->log_info_off || (is_verbose && !settings->log_verbose)
               ? TRACE_DEBUG
               : TRACE_INFO;
}

static void trace_news(struct trace *trace,
                       const struct node_settings *settings,
                       const struct member_news *news)
{
    enum trace_level level = news_level(settings, news->kind);

    if (news->kind == MEMBER_NEWS_CENTER_UNREACHABLE)
        trace_put(trace, TRACE_WARNING, "member",
                  "data center unreachable, none of its members is downed for "
                  "that data-center=\"%s\" "
                  "hint=\"check the network between the data centers\"",
                  news->detail);
    else if (news->kind == MEMBER_NEWS_CENTER_REACHABLE)
        trace_put(trace, level, "member",
                  "data center reachable again data-center=\"%s\"",
                  news->detail);
    else if (news->view)
        trace_put(trace, level, "member", "%s member=%s:%u status=%s",
                  member_news_text(news->kind), news->node.address.host,
                  news->node.address.port,
                  member_status_text(news->view->status));
    else
        trace_put(trace, level, "member", "%s member=%s:%u",
                  member_news_text(news->kind), news->node.address.host,
                  news->node.address.port);
}

/* Runs cores that look at all members, once all events are wired: maybe in a turn without such
 * events. */
static void members_reported(struct control *control)
{
    struct machine *machine = control->machine;
    struct turn_events events =
        turn_events_done(&control->turn, member_count(control->member));

    control_judge_removed(control);
    if (events.has_any)
        downing_see(control);
    if (events.has_changes) {
        control_check_jvm_peer(control);
        control_check_stores(control);
    }
    for (uint32_t i = 0; events.has_changes && i < control->type_count; i++)
        if (control->types[i].singleton)
            singleton_peers_done(control->types[i].singleton, machine->now, &machine->outbox);
    if (events.has_changes)
        user_singletons_peers_done(control);
}

static void trace_refused(struct machine *machine, const struct member_news *news)
{
    const struct node_settings *settings = machine->settings;
    const char *what = news->gave_up ? "this node found no cluster in time"
                                     : "the cluster refused this node";
    const char *hint = "remove the reason, then start it again";

    if (settings->store_name)
        trace_put(machine->trace, TRACE_ERROR, "member",
                  "%s reason=\"%s\" journal=\"%s\" store=%s hint=\"%s\"", what,
                  news->detail, settings->store_name,
                  settings->store_id ? settings->store_id : "none", hint);
    else
        trace_put(machine->trace, TRACE_ERROR, "member",
                  "%s reason=\"%s\" hint=\"%s\"", what, news->detail, hint);
}

/* Wires events up to that cost. Cores may hear of changes in several turns, as from several
 * gossips; a core that decides by all members waits until all are wired. */
static void wire_member(struct control *control, uint32_t max)
{
    struct machine *machine = control->machine;
    struct member_news news;

    while (turn_takes_event(&control->turn, max) &&
           member_next_news(control->member, &news)) {
        turn_event(&control->turn, news.kind == MEMBER_NEWS_REMOVED);
        trace_news(machine->trace, machine->settings, &news);
        decided_member(control, &news);
        control_count_news(control, news.kind);
        control_follow_news(control, &news);
        switch (news.kind) {
        case MEMBER_NEWS_WELCOME:
        case MEMBER_NEWS_LEADER:
        case MEMBER_NEWS_ROLE_LEADER:
        case MEMBER_NEWS_CENTER_UNREACHABLE:
        case MEMBER_NEWS_CENTER_REACHABLE:
            break;
        case MEMBER_NEWS_UNREACHABLE:
        case MEMBER_NEWS_REACHABLE:
            tell_reach(control, &news);
            /* fall through */
        case MEMBER_NEWS_MEMBER:
            tell_types(control, news.view);
            member_leaves(control, news.view);
            control_replaces_departed(control, PROFILE_NODE(news.view->profile));
            cluster_ends(control, news.view);
            turn_members_changed(&control->turn);
            break;
        case MEMBER_NEWS_REMOVED:
            member_gone(control, &news);
            turn_members_changed(&control->turn);
            break;
        case MEMBER_NEWS_SELF_UP:
            control_tell_ready(control); /* its user may ask whether it is ready */
            outputs_request(&machine->outputs, &(struct driver_request){ .kind = DRIVER_UP });
            break;
        case MEMBER_NEWS_SELF_EXITING:
            control_exiting(control);
            break;
        case MEMBER_NEWS_SELF_STOPPED:
            outputs_request(&machine->outputs, &(struct driver_request){ .kind = DRIVER_REMOVED });
            control_removed(control, news.previous);
            break;
        case MEMBER_NEWS_REFUSED:
            trace_refused(machine, &news);
            control_stop(control, SHERD_EJOIN);
            break;
        }
    }
    if (!member_has_news(control->member))
        members_reported(control);
}

void control_tell_all(struct control *control)
{
    if (member_has_news(control->member))
        wire_member(control, UINT32_MAX);
}

void control_tell_changes(struct control *control)
{
    if (!control->followers || !member_has_news(control->member))
        return;
    turn_early_events(&control->turn);
    wire_member(control, NEWS_OF_TURN_MAX);
}

/* Members are downed only after the events that wait, as by a command. */
static void wire_resolver(struct control *control)
{
    if (!downing_wire(control))
        return;
    control_tell_changes(control);
    downing_carry_out(control);
}

static void wire_downing(struct control *control)
{
    wire_resolver(control);
    if (!downing_wire_lease(control))
        return;
    wire_resolver(control); /* the lease's answer may cause an event there */
    downing_probe_lease(control);
}

/* ---- singleton and coordinator ---- */

static void wire_singleton(struct control *control, uint32_t index)
{
    struct machine *machine = control->machine;
    struct control_type *type = &control->types[index];
    enum singleton_news news;

    if (!type->singleton || !singleton_has_news(type->singleton) ||
        !turn_may_walk(&control->turn, member_count(control->member)))
        return;
    while (singleton_next_news(type->singleton, &news)) {
        switch (news) {
        case SINGLETON_NEWS_START:
            if (singleton_may_run(type->singleton)) /* else END follows */
                control_start_coordinator(control, index);
            break;
        case SINGLETON_NEWS_STOP:
            if (type->coordinator)
                coordinator_stop(type->coordinator, machine->now,
                                 &machine->outbox);
            else
                singleton_stopped(type->singleton, machine->now, &machine->outbox);
            break;
        case SINGLETON_NEWS_END:
            control_end_coordinator(control, index);
            break;
        case SINGLETON_NEWS_LEASE:
            control_leases_ask(control, index);
            break;
        case SINGLETON_NEWS_RELEASE:
            control_leases_give_up(control, index);
            break;
        case SINGLETON_NEWS_EXIT_DONE:
            type->exit_done = true;
            break;
        case SINGLETON_NEWS_OLDEST:
            break; /* the region follows membership itself */
        }
    }
}

/* Whether the type's nodes must have one journal. */
static bool needs_proof(const struct control *control, uint32_t index)
{
    const struct type_names *names = &control->machine->node->names[index];

    return control->machine->settings->store_id &&
           (names->persists || (names->remembers && !names->remembers_in_data));
}

/* former: the proof of the coordinator before this one. */
static void request_term(struct control *control, uint32_t index, uint64_t used,
                         struct proof former)
{
    struct machine *machine = control->machine;
    uint64_t clock = (uint64_t)machine->wall_ms;
    struct driver_request request = { .kind = DRIVER_STORE };

    /* The journal ends with its process and knows no terms: the wall clock replaces them. */
    if (machine->settings->terms_by_clock && used < clock)
        used = clock;
    request.journal = journal_request_take_term(
        slice_text(machine->node->names[index].name), used);
    if (needs_proof(control, index)) {
        /* This node may know a later coordinator than the stored state. */
        if (region_proof(control->types[index].region).term > former.term)
            former = region_proof(control->types[index].region);
        request.journal->proof = former;
        request.journal->next_proof = rng_next(&control->proofs) | 1; /* 0 is none */
    }
    request.journal->machine = machine->index;
    request.journal->tag = index;
    request.journal->lists = machine->node->names[index].remembers &&
                          !machine->node->names[index].remembers_in_data;
    outputs_request(&machine->outputs, &request);
}

void control_listed(struct control *control, uint32_t type,
                    const struct journal_request *request)
{
    struct remembered_shards counts = { 0 };

    if (!control->types[type].coordinator || request->result != BACKEND_DONE)
        return;
    for (uint32_t i = 0; i < request->shards.count; i++)
        control_remembered(
            control, type,
            backend_slice(request, request->shards.items[i].shard),
            request->fence.term, &counts);
    control_remembered_all(control, type, &counts);
}

static void wire_coordinator(struct control *control, uint32_t index)
{
    struct machine *machine = control->machine;
    struct control_type *type = &control->types[index];
    struct coordinator_news news;

    shard_data_requests(control, index);
    while (type->coordinator &&
           coordinator_next_news(type->coordinator, &news)) {
        switch (news.kind) {
        case COORDINATOR_NEWS_NEEDS_TERM:
            request_term(control, index, news.term, news.proof);
            break;
        case COORDINATOR_NEWS_ACTIVE:
            trace_put(machine->trace, TRACE_INFO, "coordinator",
                      "active type=%s term=%llu",
                      machine->node->names[index].name,
                      (unsigned long long)news.term);
            decided_type(control, index, "coordinator active");
            remember_data_list(control, index);
            remember_follow_list(control, index);
            break;
        case COORDINATOR_NEWS_STOP_REGION:
            region_shutdown(type->region, machine->now, NEVER);
            break;
        case COORDINATOR_NEWS_STOPPED:
            control_end_coordinator(control, index);
            break;
        }
    }
}

/* ---- region: to the lanes ---- */

/* Posts to the lane that owns the shard. */
static void to_owner(struct control *control, uint32_t index, int32_t shard,
                     struct mail_content content)
{
    content = mail_for_shard(index, shard, content);
    outputs_post(&control->machine->outputs,
                 owning_machine(control, index, shard), &content);
}

static void to_lanes(struct control *control, uint32_t index, int32_t shard,
                     struct mail_content content)
{
    content = mail_for_shard(index, shard, content);
    outputs_post_lanes(&control->machine->outputs, &content);
}

static void drain_mail(struct control *control, uint32_t index,
                         const struct region_news *news)
{
    struct owing *owing =
        mem_copy(news->owing, news->owing_count * sizeof *owing);

    to_owner(control, index, news->shard,
             MAIL(drain, .attempt = news->attempt, .deadline = news->deadline,
                  .count = news->owing_count, .own = { owing }));
}

static void route_mail(struct control *control, uint32_t index,
                         const struct region_news *news)
{
    struct machine *machine = control->machine;
    struct mail_content content =
        mail_for_shard(index, news->shard,
                       MAIL(route, .own = { mail_node(&news->node) }));

    if (news->lane == LANE_ALL)
        outputs_post_lanes(&machine->outputs, &content);
    else
        outputs_post(&machine->outputs, news->lane + 1, &content);
}

static void hold_mail(struct control *control, uint32_t index,
                      const struct region_news *news)
{
    const struct node_id *owner =
        news->node.address.port ? &news->node : NULL;

    to_lanes(control, index, news->shard,
             MAIL(hold, .attempt = news->attempt, .own = { mail_node(owner) }));
}

static void wire_region(struct control *control, uint32_t index)
{
    struct machine *machine = control->machine;
    struct control_type *type = &control->types[index];
    struct region_news news;

    control_divide_limit(control, index); /* before a shard starts */
    while (region_next_news(type->region, &news)) {
        switch (news.kind) {
        case REGION_HOST:
            decided_shard(control, index, news.shard, "home given", NULL);
            to_owner(control, index, news.shard,
                     MAIL(host, .fence = news.fence, .proof = news.proof));
            break;
        case REGION_ROUTE:
            route_mail(control, index, &news);
            break;
        case REGION_FORGET:
            to_lanes(control, index, news.shard, mail_forget_new());
            break;
        case REGION_HOLD:
            hold_mail(control, index, &news);
            break;
        case REGION_DRAIN:
            decided_shard(control, index, news.shard, "hand-off", NULL);
            drain_mail(control, index, &news);
            break;
        case REGION_LOST:
            to_owner(control, index, news.shard,
                     MAIL(lost, .fence = news.fence));
            break;
        case REGION_DROP:
            to_lanes(control, index, news.shard, mail_drop_new());
            break;
        case REGION_NODE_GONE:
            to_lanes(control, index, news.shard,
                     MAIL(owes_nothing, .uid = news.node.uid));
            break;
        case REGION_COORDINATOR:
            break; /* membership reports its end */
        case REGION_REFUSED:
            decided_type(control, index, "region refused");
            type->refused = true;
            trace_put(machine->trace, TRACE_ERROR, "region",
                      "the coordinator refuses this region type=%s reason=\"%.*s\" "
                      "hint=\"give the type equal settings on all nodes\"",
                      machine->node->names[index].name, (int)news.text.size,
                      (const char *)news.text.data);
            break;
        case REGION_STOPPED:
            control_region_stopped(control, index);
            break;
        }
    }
}

struct slice control_identified(struct control *control, struct slice path)
{
    for (uint32_t i = 0; i < control->type_count; i++) {
        const struct type_names *names = &control->machine->node->names[i];
        struct control_type *type = &control->types[i];

        if (slice_is(path, names->region_plain))
            return slice_text(names->region_path);
        if (type->coordinator &&
            slice_equal(path, path_plain(coordinator_path(type->coordinator))))
            return coordinator_path(type->coordinator);
    }
    return user_singletons_identified(control, path);
}

void control_wire(struct control *control)
{
    control_wire_associations(control);
    wire_downing(control);
    (void)control_leases_wire(control);
    wire_member(control, turn_share(&control->turn));
    data_wire(control);
    relays_wire(control);
    do { /* a state on this node alone is there at once */
        shard_data_wire(control);
        for (uint32_t i = 0;
             turn_is_stirred(&control->turn) && i < control->type_count; i++) {
            wire_singleton(control, i);
            wire_coordinator(control, i);
            wire_region(control, i);
        }
        user_singletons_wire(control);
    } while (control_leases_wire(control) || control->shard_data.is_stirred);
}
