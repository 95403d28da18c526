/* Runs the graceful shutdown: hands off shards, leaves, hands over singletons, awaits the removal,
 * stops actors, sends the last frames. On a downed node entities end at once, tasks of actors run,
 * and all the rest ends at once. */
#include "node/control/control.h"

#include "base/mark.h"

#define TASKS_TIME (5 * SECOND) /* akka.coordinated-shutdown.default-phase-timeout */
#define LEAVE_TIME (60 * SECOND) /* until the node is seen as exiting: others may be unreachable */
#define EXITING_TIME (10 * SECOND)
/* for singletons without a successor: a coordinator waits 3 s for its last answers */
#define GIVE_UP_TIME (4 * SECOND)
#define DONE_TIME (10 * SECOND) /* for this node's removal */
#define LANES_TIME (10 * SECOND) /* for actors' last messages */
#define TOGETHER_TIME (10 * SECOND) /* to be seen as exiting, in a shutdown of the whole cluster */
#define LINKS_TIME (500 * MS)   /* for the last frames */
#define REFUSED_TIME SECOND /* for a region that no coordinator accepts: its shards cannot move */

static void enter(struct control *control, enum shutdown_step step, uint64_t time)
{
    control->shutdown = step;
    control->shutdown_deadline = control->machine->now + time;
}

static uint64_t time_of(const struct control *control, enum sherd_phase phase,
                        uint64_t standard)
{
    uint64_t time = control->machine->settings->phase_timeouts[phase];

    return time ? time : standard;
}

static void late_step(struct control *control, enum sherd_phase phase)
{
    control->late++;
    trace_put(control->machine->trace, TRACE_WARNING, "node",
              "shutdown phase not done in time phase=%s "
              "hint=\"raise the phase's timeout; other lines name what is late\"",
              sherd_phase_text(phase));
}

/* Logs each late region, with what is left there. */
static void name_late_regions(struct control *control)
{
    struct machine *machine = control->machine;
    char text[ADDRESS_TEXT_MAX];

    for (uint32_t i = 0; i < control->type_count; i++) {
        const struct region *region = control->types[i].region;
        const struct node_id *coordinator = region_coordinator(region);

        if (control->types[i].region_stopped)
            continue;
        trace_put_all(machine->trace, TRACE_WARNING, "node",
                  "region not stopped type=%s shards=%u coordinator=%s "
                  "hint=\"see the log of the coordinator's node\"",
                  machine->node->names[i].name, region_hosted_count(region),
                  coordinator ? address_text(&coordinator->address, text,
                                             sizeof text)
                              : "unknown");
    }
}

static void name_late_singletons(struct control *control)
{
    for (uint32_t i = 0; i < control->type_count; i++)
        if (!control->types[i].exit_done)
            trace_put_all(control->machine->trace, TRACE_WARNING, "node",
                      "coordinator not handed over type=%s state=%s "
                      "hint=\"see the log of the next oldest member\"",
                      control->machine->node->names[i].name,
                      control->types[i].singleton
                          ? singleton_state_text(singleton_state(
                                control->types[i].singleton))
                          : "none");
}

static bool lane_has_ended(const struct control *control, uint32_t lane)
{
    return control->lanes_ended >> lane & 1;
}

static bool all_lanes_ended(const struct control *control)
{
    for (uint32_t i = 0; i < control->machine->settings->lanes; i++)
        if (!lane_has_ended(control, i))
            return false;
    return true;
}

static void name_late_lanes(struct control *control)
{
    for (uint32_t i = 0; i < control->machine->settings->lanes; i++)
        if (!lane_has_ended(control, i))
            trace_put(control->machine->trace, TRACE_WARNING, "node",
                      "actors of a lane not stopped lane=%u "
                      "hint=\"a handler blocks it, or actors stop too slowly\"",
                      i);
}

/* Returns false if there is no task, or the phase is off. */
static bool begin_tasks(struct control *control, enum sherd_phase phase)
{
    if (!control->machine->settings->phases_off[phase])
        return control_tasks_begin(control, phase);
    control->phase = phase + 1;
    return false;
}

static void regions_done(struct control *control);

static void shut_regions(struct control *control)
{
    struct machine *machine = control->machine;
    uint64_t time = machine->settings->shutdown_region_timeout;

    if (control->phase > SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION) {
        regions_done(control); /* the shutdown began with a later phase */
        return;
    }
    (void)begin_tasks(control, SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION);
    if (machine->settings
            ->phases_off[SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION]) {
        regions_done(control); /* the coordinator finds them missing */
        return;
    }
    if (!time)
        time = time_of(control, SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION,
                       60 * SECOND);
    enter(control, SHUTDOWN_REGIONS, time);
    turn_stir(&control->turn);
    for (uint32_t i = 0; i < control->type_count; i++) {
        struct mail_content content =
            mail_for_type(i, mail_count_waiting_new());

        outputs_post_lanes(&machine->outputs, &content);
        region_shutdown(control->types[i].region, machine->now,
                        machine->now +
                            (control->types[i].refused ? REFUSED_TIME : time));
    }
}

/* Begins the next phase that has tasks. Before the cluster's own phases the node leaves; out of the
 * cluster it takes those after them. */
static void next_tasks(struct control *control)
{
    bool out = control->is_out || !member_is_in(control->member);
    uint32_t last = out ? SHERD_CLUSTER_SHUTDOWN : SHERD_BEFORE_CLUSTER_SHUTDOWN;

    while (control->phase <= last) {
        enum sherd_phase phase = (enum sherd_phase)control->phase;

        if (!begin_tasks(control, phase))
            continue;
        enter(control, control->is_out ? SHUTDOWN_OUT : SHUTDOWN_TASKS,
              time_of(control, phase, TASKS_TIME));
        return;
    }
    if (out)
        control_stop(control, 0);
    else
        shut_regions(control);
}

void control_leave(struct control *control, enum sherd_phase from)
{
    if (control->shutdown != SHUTDOWN_NOT)
        return;
    control->phase = from;
    if (member_is_in(control->member))
        trace_put(control->machine->trace, TRACE_INFO, "node", "leaving");
    next_tasks(control);
}

static bool leave_tasks_open(struct control *control)
{
    return !control->machine->settings->phases_off[SHERD_CLUSTER_LEAVE] &&
           control_tasks_open(control, SHERD_CLUSTER_LEAVE);
}

/* The node is exiting, and earlier tasks are done. */
static void hand_over(struct control *control)
{
    enter(control, SHUTDOWN_HANDING,
          time_of(control, SHERD_CLUSTER_EXITING, EXITING_TIME));
    (void)begin_tasks(control, SHERD_CLUSTER_EXITING);
    turn_stir(&control->turn);
    for (uint32_t i = 0; i < control->type_count; i++)
        if (control->types[i].singleton)
            singleton_exit(control->types[i].singleton,
                           control->machine->now, &control->machine->outbox);
    user_singletons_exit(control);
}

void control_exiting(struct control *control)
{
    if (control->shutdown == SHUTDOWN_NOT || control->shutdown == SHUTDOWN_FAILED) {
        REACHED("another node made this one leave");
        /* another node asked: the shards must still go, even after a failed shutdown */
        next_tasks(control);
        return;
    }
    if (control->shutdown != SHUTDOWN_LEAVING)
        return;
    control->is_exiting = true;
    if (!leave_tasks_open(control))
        hand_over(control);
}

static void end_lanes(struct control *control, bool at_once)
{
    struct mail_content content = MAIL(end, .is_at_once = at_once);

    if (control->shutdown >= SHUTDOWN_LANES)
        return;
    enter(control, SHUTDOWN_LANES,
          time_of(control, SHERD_ACTOR_SYSTEM_TERMINATE, LANES_TIME));
    outputs_post_lanes(&control->machine->outputs, &content);
}

/* Runs tasks after the cluster's phases; then actors stop. */
static void last_tasks(struct control *control)
{
    while (control->phase < SHERD_PHASE_COUNT) {
        enum sherd_phase phase = (enum sherd_phase)control->phase;

        if (!begin_tasks(control, phase))
            continue;
        enter(control, SHUTDOWN_LAST_TASKS,
              time_of(control, phase,
                      phase == SHERD_ACTOR_SYSTEM_TERMINATE ? LANES_TIME
                                                            : TASKS_TIME));
        return;
    }
    end_lanes(control, control->error == SHERD_EDOWN);
}

/* Other nodes may already act in its place, so nothing is handed over; its tasks run, those of the
 * current phase first. */
static void end_downed(struct control *control)
{
    struct mail_content content = mail_downed_new();

    if (control->machine->settings->tasks_unless_downed ||
        !control->tasks.count) {
        end_lanes(control, true);
        return;
    }
    REACHED("a downed node has tasks");
    outputs_post_lanes(&control->machine->outputs, &content);
    user_singletons_end(control);
    if (control->phase > 0 && control_tasks_open(control, control->phase - 1))
        enter(control, SHUTDOWN_LAST_TASKS, TASKS_TIME);
    else
        last_tasks(control);
}

void control_stop(struct control *control, int error)
{
    struct probe probe = { .kind = PROBE_SELF_STOPPING,
                           .type = PROBE_TYPE_NONE,
                           .node = control->machine->self->node,
                           .first = (uint64_t)-error };

    if (control->shutdown >= SHUTDOWN_LAST_TASKS)
        return;
    probes_put(control->machine->probes, &probe);
    SOMETIMES("a node is downed while it leaves",
              error == SHERD_EDOWN && control->shutdown != SHUTDOWN_NOT);
    control->error = error ? error : control->refusal;
    member_join_no_more(control->member); /* else it would end as a member */
    control_follow_end(control);
    if (error == SHERD_EDOWN) {
        end_downed(control);
        return;
    }
    control->phase = SHERD_BEFORE_ACTOR_SYSTEM_TERMINATE;
    last_tasks(control);
}

/* The node was removed, or no longer waits for that. */
static void go_out(struct control *control)
{
    control->is_out = true;
    next_tasks(control);
}

void control_removed(struct control *control, enum member_status previous)
{
    bool graceful = previous == MEMBER_EXITING &&
                    control->shutdown >= SHUTDOWN_HANDING;
    bool waits = control->shutdown == SHUTDOWN_REMOVAL &&
                 control_tasks_open(control, SHERD_CLUSTER_EXITING_DONE);

    if (!graceful && control->shutdown < SHUTDOWN_LAST_TASKS)
        trace_put(control->machine->trace, TRACE_ERROR, "node",
                  "downed or removed by the cluster: this node ends "
                  "hint=\"start it again\"");
    if (graceful)
        downing_leave(control);
    if (!graceful) {
        control_stop(control, SHERD_EDOWN);
    } else if (waits) {
        control->is_out = true;
    } else if (!control->is_out) {
        control_tasks_late(control, SHERD_CLUSTER_EXITING);
        go_out(control);
    }
}

static bool all_regions_stopped(const struct control *control)
{
    for (uint32_t i = 0; i < control->type_count; i++)
        if (!control->types[i].region_stopped)
            return false;
    return true;
}

static bool all_handed_over(const struct control *control)
{
    for (uint32_t i = 0; i < control->type_count; i++)
        if (!control->types[i].exit_done)
            return false;
    return user_singletons_exited(control);
}

/* A peer that this node has never met may be told the most: it is about to lead. */
static bool may_open(enum link_state state)
{
    return state == LINK_OPEN || state == LINK_CONNECTING ||
           state == LINK_HANDSHAKING;
}

/* Counts control's unwritten frames to a peer that can be reached, or that perhaps can. */
static uint32_t frames_waiting(const struct control *control,
                               const struct peer *peer, bool perhaps)
{
    uint32_t count = 0;

    for (uint32_t j = 0; j < PEER_LINKS; j++) {
        const struct link *link =
            peer_link_at(&control->machine->links, peer, j);

        if (link && (link_state(link) == LINK_OPEN ||
                     (perhaps && may_open(link_state(link)))))
            count += link_waiting(link);
    }
    return count;
}

static bool links_empty(const struct control *control, bool perhaps)
{
    const struct peers *peers = &control->machine->peers;

    for (uint32_t i = 0; i < peers->all.count; i++)
        if (peers->all.items[i] &&
            frames_waiting(control, peers->all.items[i], perhaps))
            return false;
    return true;
}

static void name_late_links(struct control *control)
{
    const struct peers *peers = &control->machine->peers;
    char text[ADDRESS_TEXT_MAX];

    control->late++;
    for (uint32_t i = 0; i < peers->all.count; i++) {
        const struct peer *peer = peers->all.items[i];
        uint32_t count = peer ? frames_waiting(control, peer, false) : 0;

        if (count)
            trace_put_all(control->machine->trace, TRACE_WARNING, "node",
                      "last frames not sent in time peer=%s frames=%u "
                      "hint=\"check that node and the network\"",
                      kept_address_text(peer->address, text, sizeof text),
                      count);
    }
}

/* The whole cluster shuts down, which a leaving node may learn late. It waits no longer than the
 * others. */
static void leave_together(struct control *control)
{
    if (control->leave_again_at != NEVER ||
        !member_is_preparing(control->member))
        return;
    control->leave_again_at = control->machine->now + SECOND;
    if (control->shutdown_deadline > control->machine->now + TOGETHER_TIME)
        control->shutdown_deadline = control->machine->now + TOGETHER_TIME;
}

/* Repeats the request to leave: the leader may have missed it, or be gone. And in a merge, ready
 * for shutdown wins over leaving. */
static void leave_again(struct control *control)
{
    struct machine *machine = control->machine;

    if (machine->now < control->leave_again_at)
        return;
    control->leave_again_at = machine->now + SECOND;
    (void)member_leave(control->member, machine->now,
                       &machine->self->node.address, &machine->outbox);
}

static void regions_done(struct control *control)
{
    struct machine *machine = control->machine;
    const struct member_view *self = member_self(control->member);

    enter(control, SHUTDOWN_LEAVING,
          time_of(control, SHERD_CLUSTER_LEAVE, LEAVE_TIME));
    control->leave_again_at = NEVER;
    leave_together(control);
    (void)begin_tasks(control, SHERD_CLUSTER_LEAVE);
    if (self && self->status == MEMBER_EXITING)
        control_exiting(control);
    else
        (void)member_leave(control->member, machine->now,
                           &machine->self->node.address, &machine->outbox);
}

/* Whether others see the node as exiting: then it cannot stay, even if a task is late. */
static bool is_on_its_way(const struct control *control)
{
    const struct member_view *self = member_self(control->member);

    return self && self->status == MEMBER_EXITING;
}

/* The tasks of the phase before control->phase run. */
static void tasks_step(struct control *control, bool late)
{
    uint32_t phase = control->phase - 1;
    bool open = control_tasks_open(control, phase);

    if (open && !late)
        return;
    control_tasks_late(control, phase);
    if (open && !control->refusal && control->error != SHERD_EDOWN &&
        !is_on_its_way(control) &&
        control->machine->settings->phases_fatal[phase]) {
        trace_put(control->machine->trace, TRACE_ERROR, "node",
                  "coordinated shutdown failed and the node goes on: a phase "
                  "was late, and its recover is off phase=%s "
                  "hint=\"raise the phase's timeout, or set its recover = on\"",
                  sherd_phase_text((enum sherd_phase)phase));
        enter(control, SHUTDOWN_FAILED, 0);
        return;
    }
    if (control->shutdown == SHUTDOWN_LAST_TASKS)
        last_tasks(control);
    else
        next_tasks(control);
}

static void regions_step(struct control *control, bool late)
{
    const enum sherd_phase phase = SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION;
    bool stopped = all_regions_stopped(control);

    SOMETIMES("a leaving node's shards did not go in time", late && !stopped);
    if (!late && (!stopped || control_tasks_open(control, phase)))
        return;
    if (!stopped) {
        late_step(control, phase);
        name_late_regions(control);
    }
    control_tasks_late(control, phase);
    regions_done(control);
}

/* Tasks of this phase are awaited after the removal, too. */
static void removal_step(struct control *control, bool late)
{
    const enum sherd_phase phase = SHERD_CLUSTER_EXITING_DONE;

    SOMETIMES("a leaving node was not removed in time",
              late && !control->is_out);
    if (!late && (!control->is_out || control_tasks_open(control, phase)))
        return;
    if (!control->is_out)
        late_step(control, phase);
    control_tasks_late(control, phase);
    go_out(control);
}

/* Once the node is removed, singletons start elsewhere: they end here first. */
static void give_up_singletons(struct control *control)
{
    struct machine *machine = control->machine;

    REACHED("singletons were not handed over in time");
    late_step(control, SHERD_CLUSTER_EXITING);
    name_late_singletons(control);
    enter(control, SHUTDOWN_GIVING_UP, GIVE_UP_TIME);
    turn_stir(&control->turn);
    for (uint32_t i = 0; i < control->type_count; i++)
        if (control->types[i].singleton && !control->types[i].exit_done)
            singleton_give_up(control->types[i].singleton, machine->now,
                              &machine->outbox);
    user_singletons_give_up(control);
}

static void handing_step(struct control *control, bool late)
{
    const enum sherd_phase phase = SHERD_CLUSTER_EXITING;
    bool done = all_handed_over(control);

    if (!late && (!done || control_tasks_open(control, phase)))
        return;
    control_tasks_late(control, phase);
    if (!done && control->shutdown == SHUTDOWN_HANDING) {
        give_up_singletons(control);
        return;
    }
    enter(control, SHUTDOWN_REMOVAL,
          time_of(control, SHERD_CLUSTER_EXITING_DONE, DONE_TIME));
    (void)begin_tasks(control, SHERD_CLUSTER_EXITING_DONE);
    member_exiting_done(control->member, control->machine->now,
                        &control->machine->outbox);
}

/* Others still count the node as a member and will find it unreachable, unless the whole cluster
 * shuts down. */
static void not_exiting_in_time(struct control *control)
{
    bool together = control->leave_again_at != NEVER;

    REACHED("a leaving node did not see itself exiting in time");
    late_step(control, SHERD_CLUSTER_LEAVE);
    control_tasks_late(control, SHERD_CLUSTER_LEAVE);
    /* the refusal says more */
    control_stop(control, together || control->refusal ? 0 : SHERD_ETIME);
}

static void links_step(struct control *control, bool late)
{
    struct driver_request request = { .kind = DRIVER_END, .error = control->error };

    if (!links_empty(control, true) && !late)
        return;
    SOMETIMES("the last frames of a node did not leave in time", late);
    if (!links_empty(control, false))
        name_late_links(control);
    if (control->late)
        trace_put(control->machine->trace, TRACE_WARNING, "node",
                  "node ended; some shutdown steps timed out late=%u "
                  "hint=\"earlier lines name the steps\"",
                  control->late);
    control->shutdown = SHUTDOWN_DONE;
    outputs_request(&control->machine->outputs, &request);
}

/* A downed node does not wait for an answer about its sessions, because requests of its clients are
 * open until it ends. */
static bool waits_for_leases(const struct control *control)
{
    return downing_leaves(control) ||
           (control->error != SHERD_EDOWN && control_leases_end_waits(control));
}

void control_shutdown_step(struct control *control)
{
    struct machine *machine = control->machine;
    bool late = machine->now >= control->shutdown_deadline;

    switch (control->shutdown) {
    case SHUTDOWN_NOT:
    case SHUTDOWN_FAILED:
    case SHUTDOWN_DONE:
        break;
    case SHUTDOWN_TASKS:
    case SHUTDOWN_OUT:
    case SHUTDOWN_LAST_TASKS:
        tasks_step(control, late);
        break;
    case SHUTDOWN_REGIONS:
        regions_step(control, late);
        break;
    case SHUTDOWN_LEAVING:
        leave_together(control);
        leave_again(control);
        if (control->is_exiting && (late || !leave_tasks_open(control))) {
            control_tasks_late(control, SHERD_CLUSTER_LEAVE);
            hand_over(control);
        } else if (late) {
            not_exiting_in_time(control);
        }
        break;
    case SHUTDOWN_HANDING:
    case SHUTDOWN_GIVING_UP:
        handing_step(control, late);
        break;
    case SHUTDOWN_REMOVAL:
        removal_step(control, late);
        break;
    case SHUTDOWN_LANES:
        if (all_lanes_ended(control))
            control_leases_end(control);
        if ((!all_lanes_ended(control) || waits_for_leases(control)) && !late)
            break;
        if (!all_lanes_ended(control)) {
            late_step(control, SHERD_ACTOR_SYSTEM_TERMINATE);
            name_late_lanes(control);
        }
        enter(control, SHUTDOWN_LINKS, LINKS_TIME);
        break;
    case SHUTDOWN_LINKS:
        links_step(control, late);
        break;
    }
}

uint64_t control_shutdown_deadline(const struct control *control)
{
    if (control->shutdown == SHUTDOWN_NOT || control->shutdown == SHUTDOWN_FAILED ||
        control->shutdown == SHUTDOWN_DONE)
        return NEVER;
    if (control->shutdown == SHUTDOWN_LINKS)
        return control->machine->now + 5 * MS; /* the driver writes meanwhile */
    if (control->shutdown == SHUTDOWN_LEAVING &&
        control->leave_again_at < control->shutdown_deadline)
        return control->leave_again_at;
    return control->shutdown_deadline;
}
