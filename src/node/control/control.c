/* Takes control's inputs and runs its turn: frames and mail go to their cores, what is due is done,
 * events are wired. */
#include "node/control/control.h"
#include "actor/message.h"
#include "node/peers/actor_path.h"

#include "artery/extension.h"
#include "base/check.h"
#include "base/fetch.h"
#include "journal/backend.h"

void control_found(struct control *control, const struct seed_list *list)
{
    struct machine *machine = control->machine;

    member_found(control->member, machine->now, list->addresses, list->count, &machine->outbox);
}

void control_leased(struct control *control, struct lease_request *request)
{
    if (request->use == LEASE_USE_RESOLVER)
        downing_leased(control, request);
    else
        control_leases_answered(control, request);
}

void control_lease_forgotten(struct control *control, enum lease_provider_kind provider,
                             enum lease_use use)
{
    if (use == LEASE_USE_RESOLVER)
        downing_lease_forgotten(control);
    else
        control_leases_forgotten(control, provider);
}

/* ---- messages ---- */

static bool path_starts(struct slice path, const char *start)
{
    size_t size = strlen(start);

    return path.size >= size && !memcmp(path.data, start, size);
}

/* Answers a query about a type: by its region, or by the node for a type that is not here. */
static void region_query(struct control *control, const struct inbound *inbound)
{
    struct machine *machine = control->machine;
    struct shard_message message;

    if (!shard_message_read(&message, inbound->serializer, inbound->manifest,
                            inbound->payload)) {
        control->unknown++;
        return;
    }
    for (uint32_t i = 0; i < control->type_count; i++) {
        /* never of another data center */
        if (slice_is(message.type, machine->node->names[i].name)) {
            region_asked(control->types[i].region, machine->now, inbound, message.fence.term);
            shard_message_fini(&message);
            return;
        }
    }
    region_answer_unknown(machine->self, &machine->outbox, inbound, message.type);
    shard_message_fini(&message);
}

static bool sharding(struct control *control, const struct inbound *inbound)
{
    struct machine *machine = control->machine;
    struct slice path = inbound->recipient;

    if (slice_equal(path, buf_slice(&control->guardian_path))) {
        region_query(control, inbound);
        return true;
    }
    turn_stir(&control->turn);
    for (uint32_t i = 0; i < control->type_count; i++) {
        const struct type_names *names = &machine->node->names[i];
        struct control_type *type = &control->types[i];

        if (slice_is(path, names->region_plain))
            return region_receive(type->region, machine->now, inbound) ||
                   queries_receive(control, i, inbound);
        if (slice_is(path, names->manager_path) && type->singleton &&
            inbound->serializer == SINGLETON_SERIALIZER) {
            control_tell_all(control);
            singleton_receive(type->singleton, machine->now, inbound, &machine->outbox);
            return true;
        }
        if (!names->is_far && path_starts(path, names->coordinator_path) &&
            (path.size == strlen(names->coordinator_path) ||
             path.data[strlen(names->coordinator_path)] == '/')) {
            if (type->coordinator)
                coordinator_receive(type->coordinator, machine->now, inbound, &machine->outbox);
            return true; /* no coordinator here: the sender tries again */
        }
    }
    return false;
}

static bool singletons(struct control *control, const struct inbound *inbound)
{
    if (!user_singletons_take(control, inbound))
        return false;
    control_tell_all(control);
    user_singletons_receive(control, inbound);
    return true;
}

void control_dispatch(struct control *control, const struct inbound *inbound)
{
    struct machine *machine = control->machine;

    if (control_is_store(inbound)) {
        control_store_heard(control, inbound);
    } else if (looks_is_frame(inbound)) {
        looks_receive(control, inbound);
    } else if (operations_is_frame(inbound)) {
        operations_receive(control, inbound);
    } else if (inbound->serializer == MEMBER_SERIALIZER ||
        (inbound->serializer == SERIALIZER_SHERD && !inbound->recipient.size)) {
        control_tell_changes(control);
        member_receive(control->member, machine->now,
                       (uint64_t)machine->wall_ms, inbound, &machine->outbox);
    } else if (inbound->serializer == SERIALIZER_MISC &&
             slice_is(inbound->manifest, "A"))
        control_identify(control, inbound);
    else if (!data_receive(control, inbound) &&
             !shard_data_receive(control, inbound) &&
             !relays_receive(control, inbound) &&
             !singletons(control, inbound) &&
             !queries_answered(control, inbound) &&
             !sharding(control, inbound))
        control_unclaimed(control, inbound);
}

void control_frame(struct control *control, enum stream stream,
                   const struct envelope *envelope, struct inlet *inlet)
{
    struct machine *machine = control->machine;
    struct selection selection;
    struct inbound inbound;

    if (inlet && !machine_handshake(machine, stream, envelope, inlet)) { /* null: a lane did it */
        if (control->removed.count)
            control_tell_refused(control, envelope);
        return;
    }
    if (control->removed.count)
        control_tell_removed(control, envelope);
    if (associations_receive(control->associations, machine->now, stream,
                             inlet ? inlet_order(inlet) : 0, envelope, &selection, &inbound,
                             &machine->outbox) == ASSOCIATION_DELIVER)
        control_dispatch(control, &inbound);
}

/* ---- mail ---- */

/* Joins another cluster. A cluster of one may do that, but not with shards: the other cluster may
 * have the same ones in its own journal. */
static void join(struct control *control, const struct address *address)
{
    struct machine *machine = control->machine;
    bool is_in = member_is_in(control->member);

    if (is_in && address_equal(address, &machine->self->node.address))
        trace_put(machine->trace, TRACE_WARNING, "member",
                  "join ignored: the address is this node, which is already "
                  "in a cluster address=%s:%u hint=\"name another node\"",
                  address->host, address->port);
    else if ((control->type_count || control->singletons.items.count) && is_in)
        trace_put(machine->trace, TRACE_ERROR, "member",
                  "join refused: a node with entity types or singletons cannot change its "
                  "cluster address=%s:%u hint=\"restart it without a cluster "
                  "of its own, then join\"",
                  address->host, address->port);
    else if (control->shutdown >= SHUTDOWN_LAST_TASKS ||
             !member_join(control->member, machine->now,
                          (uint64_t)machine->wall_ms, address,
                          &machine->outbox))
        trace_put(machine->trace, TRACE_ERROR, "member",
                  "join refused: this node has left, or its cluster has other "
                  "members address=%s:%u hint=\"start it again, then join\"",
                  address->host, address->port);
}

static void leave_member(struct control *control, const struct address *address)
{
    struct machine *machine = control->machine;

    if (address_equal(address, &machine->self->node.address))
        control_leave(control, SHERD_BEFORE_SERVICE_UNBIND);
    else if (!member_leave(control->member, machine->now, address,
                           &machine->outbox))
        trace_put(machine->trace, TRACE_WARNING, "member",
                  "leave ignored: the member does not exist or is already "
                  "leaving address=%s:%u hint=\"check the address\"",
                  address->host, address->port);
}

static void command(struct control *control, const struct mail_command *command)
{
    struct machine *machine = control->machine;
    const struct address *address = command->own.address;

    control_tell_changes(control);
    switch (command->command) {
    case NODE_LEAVE:
        control_leave(control, command->from);
        break;
    case NODE_JOIN:
        join(control, address);
        break;
    case NODE_PREPARE_SHUTDOWN:
        if (!member_prepare_shutdown(control->member, machine->now,
                                     &machine->outbox))
            trace_put(machine->trace, TRACE_WARNING, "member",
                      "shutdown of the cluster ignored: in no cluster "
                      "hint=\"ask a node that is a member\"");
        break;
    case NODE_LEAVE_MEMBER:
        leave_member(control, address);
        break;
    case NODE_DOWN:
        if (!member_down(control->member, machine->now, address,
                         &machine->outbox))
            trace_put(machine->trace, TRACE_WARNING, "member",
                      "down ignored: no such member address=%s:%u "
                      "hint=\"check the address\"",
                      address->host, address->port);
        break;
    }
}

static void watch_mail(struct control *control, const struct mail_watch *watch)
{
    struct machine *machine = control->machine;
    const struct watching *watching = watch->own.watching;
    struct slice watchee = buf_slice(&watching->watchee_text);
    struct slice watcher = buf_slice(&watching->watcher_text);

    switch (watch->verb) {
    case WATCH_START:
        associations_watch(control->associations, machine->now,
                           &watching->peer, watchee, watcher,
                           &machine->outbox);
        break;
    case WATCH_STOP:
        associations_unwatch(control->associations, machine->now,
                             &watching->peer, watchee, watcher,
                             &machine->outbox);
        break;
    case WATCH_TERMINATED:
        associations_terminated(control->associations, machine->now,
                                &watching->peer, watchee, watcher,
                                watch->has_existed, false, &machine->outbox);
        break;
    }
}

/* A lane has read it. Refused: counted there, and the lane is told. */
static void take_handshake(struct control *control,
                           const struct mail_handshake *mail)
{
    struct machine *machine = control->machine;

    if (mail->is_claim)
        associations_claim(control->associations, mail->own.handshake);
    else
        (void)associations_handshake(control->associations, machine->now,
                                     STREAM_ORDINARY, mail->own.handshake,
                                     &machine->outbox);
}

/* A lane gets no connection to the node. A member may come back, or will be removed; of any other
 * node no event comes. */
static void suspect_home(struct control *control, uint32_t lane,
                         const struct node_id *node)
{
    struct mail_content content;

    if (member_find(control->member, node))
        return;
    content = MAIL(no_member, .own = { mail_node(node) });
    outputs_post(&control->machine->outputs, lane + 1, &content);
}

/* flat */
void control_mail(struct control *control, uint32_t from,
                    struct mail_content *content)
{
    struct machine *machine = control->machine;
    struct region *region = content->type < control->type_count
                                ? control->types[content->type].region
                                : NULL;
    const struct mail_stopped *stopped;
    const struct mail_fenced *fenced;
    uint64_t now = machine->now;

    if (content->kind != MAIL_HANDSHAKE)
        turn_stir(&control->turn);
    switch ((enum mail_kind)content->kind) {
    case MAIL_FRAME:
        control_frame(control, mail_frame_of(content)->stream,
                      mail_frame_of(content)->own.envelope, NULL);
        break;
    case MAIL_HANDSHAKE:
        take_handshake(control, mail_handshake_of(content));
        break;
    case MAIL_TERMINATING:
        associations_terminating(control->associations, now,
                                 mail_terminating_of(content)->uid);
        break;
    case MAIL_REQUEST_HOME:
        (mail_request_home_of(content)->is_suspect
             ? region_suspect_home
             : region_request_home)(region, now, from, content->shard);
        break;
    case MAIL_HELD:
        region_lane_held(region, now, from, content->shard,
                         mail_held_of(content)->attempt);
        break;
    case MAIL_STARTED:
        decided_shard(control, content->type, content->shard, "shard started", NULL);
        region_shard_started(region, now, content->shard,
                             mail_started_of(content)->fence);
        break;
    case MAIL_STOPPED:
        stopped = mail_stopped_of(content);
        decided_shard(control, content->type, content->shard,
                      stopped->is_stopped ? "shard stopped" : "hand-off failed", stopped->reason);
        region_shard_stopped(region, now, content->shard, stopped->attempt,
                             stopped->is_stopped, stopped->reason);
        break;
    case MAIL_FENCED:
        fenced = mail_fenced_of(content);
        decided_shard(control, content->type, content->shard, "shard fenced", NULL);
        region_store_has(region, fenced->stored_term);
        region_shard_fenced(region, now, content->shard, fenced->fence);
        break;
    case MAIL_OTHER_STORE:
        control_other_store(control, content->type);
        break;
    case MAIL_WAITING:
        region_lane_waiting(region, now, from, mail_waiting_of(content)->count);
        break;
    case MAIL_WATCH:
        watch_mail(control, mail_watch_of(content));
        break;
    case MAIL_FOLLOW:
        if (!control_follows(control, from))
            control_tell_all(control);
        control_follow(control, from);
        break;
    case MAIL_TASK:
        control_task(control, content);
        break;
    case MAIL_TASK_DONE:
        control_task_done(control, content);
        break;
    case MAIL_NAME:
        control_name(control, from, mail_name_of(content));
        break;
    case MAIL_NAME_SEEN:
        control_name_seen(control, from, mail_name_seen_of(content)->actor);
        break;
    case MAIL_NAME_END:
        control_name_end(control, mail_name_end_of(content)->actor);
        break;
    case MAIL_ALLOCATION:
        control_allocation_answer(
            control, buf_slice(mail_allocation_of(content)->own.bytes));
        break;
    case MAIL_DATA_CALL:
        if (mail_data_call_of(content)->verb == DATA_ALLOCATION) {
            control_allocation_answer(
                control, buf_slice(mail_data_call_of(content)->own.bytes));
            break;
        }
        if (mail_data_call_of(content)->verb == DATA_SINGLETON) {
            control_tell_all(control); /* waiting events are earlier than the call */
            user_singletons_call(control, from, mail_data_call_of(content));
            break;
        }
        /* fall through */
    case MAIL_DATA_FOLLOW:
        data_mail(control, from, content);
        break;
    case MAIL_REMEMBER:
        remember_events_mail(control, from, content);
        remember_data_mail(control, from, content);
        break;
    case MAIL_LEASE:
        control_leases_mail(control, content);
        break;
    case MAIL_SUSPECT:
        suspect_home(control, from, mail_suspect_of(content)->own.node);
        break;
    case MAIL_QUERY:
        queries_mail(control, content);
        break;
    case MAIL_LOOK_CALL:
    case MAIL_LOOK_CANCEL:
    case MAIL_LOOK_REPLY:
        looks_mail(control, content);
        break;
    case MAIL_OPERATE_CALL:
        operations_begin(control, mail_operate_call_take(content).own.call);
        break;
    case MAIL_TYPE_CALL:
        control_type_call(control, content);
        break;
    case MAIL_TYPE_ADDED:
    case MAIL_TYPE_OPENED:
        control_type_added(control, from);
        break;
    case MAIL_LOOKED:
        queries_looked(control, content);
        break;
    case MAIL_ENDED:
        control->lanes_ended |= UINT64_C(1) << content->lane;
        break;
    case MAIL_COMMAND:
        command(control, mail_command_of(content));
        break;
    case MAIL_REGION_LIMIT:
        control_set_limit(control, content->type, mail_region_limit_of(content)->limit);
        break;
    default:
        check_failed(__FILE__, __LINE__, "mail for control of an unknown kind");
    }
    mail_content_free(content);
}

struct association_place control_place(const struct control *control,
                                       uint64_t uid)
{
    return associations_place(control->associations, uid);
}

void control_expect(struct control *control,
                    const struct association_place *place)
{
    associations_expect(control->associations, place);
}

void control_fetch(const struct control *control, uint32_t step)
{
    if (step == 0) {
        fetch_memory(control, sizeof *control);
        return;
    }
    member_fetch(control->member, step - 1);
    if (step == 1)
        associations_fetch(control->associations);
}

void control_stored(struct control *control, struct journal_request *request)
{
    struct machine *machine = control->machine;
    struct coordinator *coordinator;

    check(request->verb == BACKEND_TAKE_TERM &&
          request->tag < control->type_count);
    coordinator = control->types[request->tag].coordinator;
    turn_stir(&control->turn);
    if (request->result == BACKEND_OTHER_STORE)
        control_other_store(control, (uint32_t)request->tag);
    else if (request->result != BACKEND_DONE)
        trace_put(machine->trace, TRACE_ERROR, "journal",
                  "coordinator got no term from the journal, tried again "
                  "type=%s error=\"%s\" "
                  "hint=\"check the journal's database and disk\"",
                  machine->node->names[request->tag].name, request->error);
    control_listed(control, (uint32_t)request->tag, request);
    if (coordinator) /* term 0 is refused there, and requested again */
        coordinator_term(
            coordinator, machine->now,
            request->result == BACKEND_DONE
                ? (struct proof){ request->fence.term, request->next_proof }
                : (struct proof){ 0 },
            &machine->outbox);
    journal_request_free(request);
}

/* ---- the turn ---- */

static void own_message(struct machine *machine, const struct outbound *message)
{
    struct inbound inbound = {
        .from = machine->self->node,
        .sender = message->sender,
        .recipient = path_plain(message->recipient),
        .manifest = message->manifest,
        .payload = message->payload,
        .serializer = message->serializer,
    };

    control_dispatch(machine->control, &inbound);
}

/* Tells lanes whether there is a coordinator: it decides the stage of asks that wait. */
static void tell_coordinators(struct control *control)
{
    for (uint32_t i = 0; i < control->type_count; i++) {
        struct control_type *type = &control->types[i];
        bool known = region_coordinator(type->region) != NULL;
        struct mail_content content;

        if (type->coordinator_reported == known)
            continue;
        type->coordinator_reported = known;
        content = mail_for_type(i, MAIL(coordinator, .is_known = known));
        outputs_post_lanes(&control->machine->outputs, &content);
    }
}

/* is_busy: this turn has done much already. */
static void step_types(struct control *control, bool is_busy)
{
    struct machine *machine = control->machine;
    uint64_t now = machine->now;

    if (!turn_begin_types(&control->turn, now))
        return;
    coordinator_room_fill(&control->room);
    if (is_busy || turn_is_for_walks(&control->turn))
        return;
    for (uint32_t i = 0; i < control->type_count; i++) {
        struct control_type *type = &control->types[i];

        if (region_deadline(type->region) <= now)
            region_tick(type->region, now);
        if (type->singleton && singleton_deadline(type->singleton) <= now &&
            !member_has_news(control->member))
            singleton_step(type->singleton, now, &machine->outbox);
        if (type->coordinator && coordinator_deadline(type->coordinator) <= now)
            coordinator_step(type->coordinator, now, &machine->outbox);
    }
    user_singletons_step(control);
}

static uint64_t earlier(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

static uint64_t types_deadline(const struct control *control)
{
    uint64_t deadline = user_singletons_deadline(control);

    for (uint32_t i = 0; i < control->type_count; i++) {
        const struct control_type *type = &control->types[i];

        deadline = earlier(deadline, region_deadline(type->region));
        if (type->singleton)
            deadline = earlier(deadline, singleton_deadline(type->singleton));
        if (type->coordinator)
            deadline =
                earlier(deadline, coordinator_deadline(type->coordinator));
    }
    return deadline;
}

/* Wires events first. After a turn's share of them, the step waits for the next turn. Returns
 * whether the step was much work. */
static bool step_member(struct control *control)
{
    struct machine *machine = control->machine;
    struct turn *turn = &control->turn;
    bool has_waited;
    bool is_much;

    if (turn_is_for_walks(turn))
        return false;
    has_waited = turn_step_waited(turn);
    if (member_deadline(control->member) > machine->now)
        return false;
    if (!has_waited) {
        control_tell_changes(control);
        if (turn_defers_step(turn))
            return false;
    }
    is_much = member_step(control->member, machine->now,
                          (uint64_t)machine->wall_ms, &machine->outbox);
    if (is_much || has_waited)
        turn_full(turn);
    return is_much;
}

/* Most turns are about heartbeats, so types are looked at only after an input. */
bool control_turn(struct control *control)
{
    struct machine *machine = control->machine;
    uint64_t now = machine->now;
    enum shutdown_step shutdown;
    bool is_busy;

    turn_begin(&control->turn);
    control_leases_look(control);
    is_busy = step_member(control);
    if (member_wants_seeds(control->member))
        outputs_request(&machine->outputs, &(struct driver_request){ .kind = DRIVER_SEEDS });
    if (associations_deadline(control->associations) <= now)
        associations_tick(control->associations, now, &machine->outbox);
    step_types(control, is_busy);
    data_step(control);
    shard_data_step(control);
    remember_data_step(control);
    relays_step(control);
    if (control->queries.open.count)
        queries_step(control);
    if (control->looks.open.count)
        looks_step(control);
    if (control->operations.open.count)
        operations_step(control);
    downing_step(control);
    control_departed_step(control);
    /* A message to this node may cause events, events cause messages, and both may advance the
     * shutdown, which may give up leases. */
    do {
        shutdown = control->shutdown;
        control_wire(control);
        machine_flush_outbox(machine, own_message);
        control_wire(control);
        control_shutdown_step(control);
    } while (control_leases_wire(control) || machine->outbox.count || control->shutdown != shutdown);
    if (turn_is_stirred(&control->turn)) {
        tell_coordinators(control);
        turn_end_types(&control->turn, types_deadline(control));
    }
    control_tell_ready(control);
    turn_end(&control->turn);
    return member_has_news(control->member) || turn_has_more(&control->turn);
}

uint64_t control_deadline(const struct control *control)
{
    uint64_t deadline = member_deadline(control->member);

    deadline = earlier(deadline, associations_deadline(control->associations));
    deadline = earlier(deadline, control_shutdown_deadline(control));
    deadline = earlier(deadline, downing_deadline(control));
    deadline = earlier(deadline, control_leases_deadline(control));
    deadline = earlier(deadline, control_departed_deadline(control));
    deadline = earlier(deadline, data_deadline(control));
    deadline = earlier(deadline, shard_data_deadline(control));
    deadline = earlier(deadline, relays_deadline(control));
    deadline = earlier(deadline, queries_deadline(control));
    deadline = earlier(deadline, looks_deadline(control));
    deadline = earlier(deadline, operations_deadline(control));
    deadline = earlier(deadline, remember_data_deadline(control));
    return earlier(deadline, turn_is_stirred(&control->turn)
                                 ? types_deadline(control)
                                 : turn_types_due(&control->turn));
}
