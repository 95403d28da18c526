/* Takes a lane's inputs and runs its turn. */
#include "node/lane/lane.h"

#include <stdio.h>

#include "artery/control.h"
#include "base/check.h"
#include "base/hash.h"
#include "node/machine/large.h"

#define RUN_BUDGET 2048 /* messages in one turn */
#define STOP_TIME (3 * SECOND) /* for actors to stop at the node's end */
#define FRAMES_TIME (2 * SECOND) /* for frames in links, before the node leaves */
#define LAST_TIME (4 * SECOND) /* and for their last frames: less than control waits */
#define HEARING_TIME SECOND /* on a downed node, for actors to handle the last events */

/* Lanes share no counter, so no recovery's place can be lost or given twice: each lane counts those of
 * its own entities. */
static uint32_t recoveries_share(const struct node_settings *settings, uint32_t lane)
{
    uint32_t all = settings->recoveries_max ? settings->recoveries_max : RECOVERIES_NODE;
    uint32_t share = all / settings->lanes + (lane < all % settings->lanes);

    return share ? share : 1;
}

struct lane *lane_new(struct machine *machine)
{
    struct lane *lane = mem_alloc(sizeof *lane);
    const struct node_settings *settings = machine->settings;
    struct actors_settings actors = {
        .lane = machine->index - 1,
        .lanes = settings->lanes,
        .node = machine->self->node.uid,
        .data_center = settings->data_center,
        .seed = settings->seed + 100 + machine->index,
        .trace = machine->trace,
        .probes = machine->probes,
        .clock = settings->clock,
        .slow_handler = settings->slow_handler,
        .now = settings->now,
        .identity = machine->self,
        .services = &settings->services,
        .locations_ms = settings->locations_timeout / MS,
        .restart_ms = settings->entity_restart_backoff / MS,
        .is_verbose = settings->verbose_sharding,
        .idle_interval = settings->passivate_interval,
        .large_max = large_any_max(settings),
        .is_large = lane_is_large,
        .long_replay = settings->long_replay ? settings->long_replay : LONG_REPLAY_EVENTS,
        .snapshot_max = settings->snapshot_max,
        .delivery = { .repeat_ms = settings->delivery_repeat / MS,
                      .repeat_max_ms = settings->delivery_repeat_max / MS,
                      .give_up_ms = settings->delivery_give_up / MS,
                      .forget_ms = settings->delivery_forget / MS,
                      .commands_max = settings->commands_max,
                      .commands_ms = settings->commands_age / MS },
        .append = lane_append,
        .take_back = lane_take_back,
        .save = lane_save,
        .user = lane,
    };
    struct journal_options journal = {
        .seed = settings->seed + 200 + machine->index,
        .replays_max = recoveries_share(settings, machine->index - 1),
        .kept = settings->remembered_kept,
        .trace = machine->trace,
    };

    lane->machine = machine;
    lane->own = (uint16_t)(machine->index - 1);
    lane->actors = actors_new(&actors);
    lane->journal = journal_new(&journal);
    lane->lease_end = NEVER;
    lane->type_count = settings->type_count;
    lane->types = mem_alloc((lane->type_count + settings->late_types_max) * sizeof *lane->types);
    for (uint32_t i = 0; i < lane->type_count; i++) {
        lane_make_type(lane, i);
        lane_open_type(lane, i);
    }
    return lane;
}

static void end_message(struct lane *lane, struct message *message)
{
    actors_message_end(lane->actors, message, SHERD_REASON_SHUTTING_DOWN);
}

static void end_chain(struct lane *lane, struct message *message)
{
    while (message) {
        struct message *next = message->next;

        end_message(lane, message);
        message = next;
    }
}

void lane_close(struct lane *lane)
{
    for (uint32_t i = 0; i < lane->type_count; i++)
        lane_close_type(lane, i);
    for (uint32_t i = 0; i < lane->batch_count; i++)
        end_message(lane, lane->batch[i]);
    lane->batch_count = 0;
    for (uint32_t i = 0; i < LANES_MAX; i++) {
        end_chain(lane, lane->chains[i].first);
        lane->chains[i] = (struct chain){ 0 };
    }
    actors_close(lane->actors);
}

void lane_mail_end(struct lane *lane, struct mail_content *content)
{
    if (content->kind == MAIL_MESSAGES)
        end_chain(lane, mail_messages_take(content).own.first);
    else if (content->kind == MAIL_FRAME)
        machine_frame_ended(lane->machine, SHERD_REASON_SHUTTING_DOWN,
                            mail_frame_of(content)->own.envelope->payload);
}

void lane_free(struct lane *lane)
{
    if (!lane)
        return;
    for (uint32_t i = 0; i < lane->markers.count; i++)
        mail_content_free(&lane->markers.items[i]);
    mem_free(lane->types);
    watchers_fini(&lane->watchers);
    names_fini(&lane->names);
    actor_names_fini(&lane->actor_names);
    journal_free(lane->journal);
    actors_free(lane->actors);
    vec_fini(&lane->remember_writes);
    vec_fini(&lane->flushing);
    vec_fini(&lane->asked);
    vec_fini(&lane->markers);
    vec_fini(&lane->tasks);
    lane_looks_fini(lane);
    lane_look_serve_fini(lane);
    vec_fini(&lane->unreachable);
    mem_free(lane);
}

/* ---- mail ---- */

static void take_messages(struct lane *lane, struct message *chain)
{
    while (chain) {
        struct message *next = chain->next;

        chain->next = NULL;
        lane_arrived(lane, chain);
        chain = next;
    }
    lane_batch_end(lane);
}

static void take_route(struct lane *lane, const struct mail_content *content)
{
    struct lane_type *type = &lane->types[content->type];
    const struct node_id *home = mail_route_of(content)->own.home;
    struct peer *peer;

    if (address_equal(&home->address, &lane->machine->self->node.address))
        routes_set_local(&type->routes, content->shard,
                         (uint16_t)shard_lane(content->type, content->shard,
                                              lane->machine->settings->lanes));
    else if ((peer = peers_meant(&lane->machine->peers, home)))
        routes_set_remote(&type->routes, content->shard, peer->index);
    else
        routes_set_gone(&type->routes, content->shard);
    lane_open(lane, content->type, content->shard);
}

/* Returns the ref of a watcher that is no Sherd actor. watches: false: it stops watching. */
static struct sherd_ref jvm_watcher(struct lane *lane,
                                        const struct watching *watching,
                                        bool watches)
{
    struct slice watchee = buf_slice(&watching->watchee_text);
    struct slice watcher = buf_slice(&watching->watcher_text);
    uint64_t node = watching->peer.uid;
    struct sherd_ref ref;

    if (!watches)
        return watchers_known(&lane->watchers, node, watchee, watcher);
    ref = watchers_put(&lane->watchers, node, watchee, watcher);
    if (ref_is_nobody(ref))
        trace_put(lane->machine->trace, TRACE_ERROR, "node",
                  "watch of a JVM node refused: too many watches=%d peer=%s:%u "
                  "hint=\"watch fewer actors from there\"",
                  WATCHERS_MAX, watching->peer.address.host,
                  watching->peer.address.port);
    return ref;
}

/* Handles a watch from another node, an unwatch, or the end of an actor. */
static void watched(struct lane *lane, const struct mail_watched *watch)
{
    const struct watching *watching = watch->own.watching;
    bool ended = watch->verb == WATCH_TERMINATED;
    uint64_t ask;
    struct sherd_ref watchee = (ended ? name_any : name_ref)(
        lane, watching->peer.uid, buf_slice(&watching->watchee_text), &ask);
    struct sherd_ref watcher = name_ref(
        lane, watching->peer.uid, buf_slice(&watching->watcher_text), &ask);
    struct sherd_ref to = ended ? watcher : watchee;
    struct message *message;

    if (to.node != lane->machine->self->node.uid ||
        actor_id_lane(to.actor) != lane->own)
        return;
    if (!ended && ref_is_nobody(watcher))
        watcher = jvm_watcher(lane, watching, watch->verb == WATCH_START);
    if (ref_is_nobody(watcher))
        return;
    message = actors_message(lane->actors, (struct slice){ 0 });
    message->to = to;
    message->sender = ended ? watchee : watcher;
    message->kind = ended                        ? MESSAGE_TERMINATED
                    : watch->verb == WATCH_START ? MESSAGE_WATCH
                                                 : MESSAGE_UNWATCH;
    actors_deliver(lane->actors, message);
    if (watch->verb == WATCH_STOP)
        watchers_drop(&lane->watchers, watcher);
}

static void data_answered(struct lane *lane,
                          const struct mail_data_answer *answer)
{
    actors_data(lane->actors, answer->actor, answer->msg,
                (uint32_t)answer->tag, buf_slice(answer->own.body));
}

/* The key comes first in a body, with a zero byte. */
static const char *key_of(const struct buf *body)
{
    return (const char *)body->data;
}

static void data_changed(struct lane *lane,
                         const struct mail_data_changed *changed)
{
    actors_data_changed(lane->actors, key_of(changed->own.body), changed->msg,
                        buf_slice(changed->own.body));
}

static void data_refused(struct lane *lane,
                         const struct mail_data_refused *refused)
{
    actors_data_refused(lane->actors, refused->actor, key_of(refused->own.body));
}

static void named(struct lane *lane, const struct naming *naming)
{
    bool is_new;

    (void)names_put(&lane->names, naming->node, buf_slice(&naming->path),
                    &is_new); /* if it is nobody, it is nobody on the other lane, too */
}

/* The node is downed: other nodes may already run these entities. */
static void downed(struct lane *lane)
{
    static const struct fence none = { 0 };

    lane->is_downed = true;
    for (uint32_t i = 0; i < lane->type_count; i++) {
        struct owned_shards *owned = &lane->types[i].owned;
        enum owned_state state;
        int32_t shard;

        if (lane->machine->node->names[i].remembers)
            lane_orphan_shards_end(lane, i);
        for (uint32_t at = 0; owned_next(owned, &at, &shard, &state);)
            owned_lost(owned, lane->machine->now, shard, none);
    }
}

static void end(struct lane *lane, bool at_once)
{
    struct mail_content content = mail_from(lane->own, mail_ended_new());

    lane->ending = true;
    /* Actors hear their last events. Entities with leases end, before the leases are given up. */
    if (at_once && (lane->leases || actors_cluster_unheard(lane->actors))) {
        lane->ends_at_once = true;
        lane->ending_until = lane->machine->now + HEARING_TIME;
        if (!lane->is_downed)
            downed(lane);
        actors_leases_end_all(lane->actors);
        return;
    }
    if (at_once) { /* downed: nothing here may act */
        lane->ended = true;
        outputs_post(&lane->machine->outputs, 0, &content);
        return;
    }
    lane->ending_until = lane->machine->now + LAST_TIME;
    actors_stop_all(lane->actors, lane->machine->now + STOP_TIME);
}

bool lane_is_large(void *user, const struct destination *destination)
{
    const struct lane *lane = user;
    const struct node_settings *settings = lane->machine->settings;
    struct slice path = destination->path;
    struct address address;
    char text[NAME_MAX];

    if (destination->type != TYPE_NONE)
        return lane->machine->node->names[destination->type].is_large;
    if (!path.size)
        path = name_recipient(lane, destination->ref, destination->ask, text);
    else if (!ref_parse(lane->machine->self, path, &address, &path))
        return false;
    return large_path(settings, path);
}

static void take_marker(struct lane *lane, struct lane_type *type,
                        const struct mail_content *content)
{
    const struct mail_marker *marker = mail_marker_of(content);

    owned_marker(&type->owned, lane->machine->now, content->shard,
                 marker->attempt, marker->uid, marker->lane);
}

static void drain(struct lane *lane, struct lane_type *type,
                  const struct mail_content *content)
{
    const struct mail_drain *drain = mail_drain_of(content);

    owned_drain(&type->owned, lane->machine->now, content->shard,
                drain->attempt, drain->own.owing, drain->count,
                drain->deadline);
    lane_open(lane, content->type, content->shard);
}

static void drop_waiting(struct lane *lane, const struct mail_content *content)
{
    struct routes *routes = &lane->types[content->type].routes;
    struct message *message;

    while ((message = lane_unwrap(lane, routes_drain(routes, content->shard))))
        actors_undelivered(lane->actors, message, SHERD_REASON_HANDED_OFF);
}

/* flat */
void lane_mail(struct lane *lane, uint32_t from, struct mail_content *content)
{
    struct machine *machine = lane->machine;
    struct lane_type *type = content->type < lane->type_count
                                 ? &lane->types[content->type]
                                 : NULL;

    (void)from; /* the mail names its sender if needed */
    switch ((enum mail_kind)content->kind) {
    case MAIL_MESSAGES:
        take_messages(lane, mail_messages_take(content).own.first);
        break;
    case MAIL_RETURNS:
        actors_give_returns(lane->actors,
                            mail_returns_take(content).own.first);
        break;
    case MAIL_MARKER:
        take_marker(lane, type, content);
        break;
    case MAIL_STAGE:
        lane_ask_stage_read(lane, mail_stage_of(content));
        break;
    case MAIL_PEER:
        lane_peer(lane, mail_peer_of(content));
        break;
    case MAIL_LEAVES:
        peers_leaves(&machine->peers, mail_leaves_of(content)->own.node);
        break;
    case MAIL_REACH:
        lane_reach(lane, mail_reach_of(content));
        break;
    case MAIL_GONE:
        lane_node_gone(lane, mail_gone_of(content));
        break;
    case MAIL_OVER:
        lane_peer_over(lane, mail_over_of(content)->own.node->uid);
        break;
    case MAIL_STRANGER:
        lane_stranger_gone(lane, mail_stranger_of(content));
        break;
    case MAIL_NO_MEMBER:
        peer_links_no_member(&machine->links,
                          mail_no_member_of(content)->own.node);
        break;
    case MAIL_ANSWERED:
        lane_peer_answered(lane, mail_answered_of(content));
        break;
    case MAIL_TABLE:
        lane_peer_table(lane, mail_table_of(content));
        break;
    case MAIL_ROUTE:
        take_route(lane, content);
        break;
    case MAIL_FORGET:
        routes_forget(&type->routes, content->shard);
        lane_open(lane, content->type, content->shard);
        break;
    case MAIL_HOLD:
        lane_hold(lane, content);
        break;
    case MAIL_DROP:
        drop_waiting(lane, content);
        break;
    case MAIL_HOST:
        if (lane->is_downed)
            break;
        type->proof = mail_host_of(content)->proof;
        place_host(&type->routes, &type->owned, machine->now, content->shard,
                   lane->own, mail_host_of(content)->fence);
        lane_open(lane, content->type, content->shard);
        break;
    case MAIL_DRAIN:
        drain(lane, type, content);
        break;
    case MAIL_LOST:
        owned_lost(&type->owned, machine->now, content->shard,
                   mail_lost_of(content)->fence);
        break;
    case MAIL_OWES_NOTHING:
        owned_node_gone(&type->owned, machine->now,
                        mail_owes_nothing_of(content)->uid);
        break;
    case MAIL_COORDINATOR:
        type->coordinator_known = mail_coordinator_of(content)->is_known;
        lane_ask_stage_homeless(lane, type);
        break;
    case MAIL_ACTIVE_LIMIT:
        actors_set_active_limit(lane->actors, content->type,
                                mail_active_limit_of(content)->limit);
        break;
    case MAIL_COUNT_WAITING:
        type->reporting = true;
        if (!lane->frames_until)
            lane->frames_until = machine->now + FRAMES_TIME;
        type->waiting_report = WAITING_UNREPORTED;
        type->asks_seen = UINT32_MAX;
        break;
    case MAIL_WATCHED:
        watched(lane, mail_watched_of(content));
        break;
    case MAIL_NAMED:
        named(lane, mail_named_of(content)->own.naming);
        break;
    case MAIL_NAME_KNOWN:
    case MAIL_NAME_ANSWER:
    case MAIL_NAME_GONE:
        lane_name_mail(lane, content);
        break;
    case MAIL_IDENTIFY:
        lane_identified(lane, mail_identify_of(content));
        break;
    case MAIL_CLUSTER:
        actors_cluster(lane->actors, mail_cluster_of(content)->own.change);
        break;
    case MAIL_DATA_ANSWER:
        data_answered(lane, mail_data_answer_of(content));
        break;
    case MAIL_DATA_CHANGED:
        data_changed(lane, mail_data_changed_of(content));
        break;
    case MAIL_DATA_REFUSED:
        data_refused(lane, mail_data_refused_of(content));
        break;
    case MAIL_REMEMBERED:
        lane_remembered(lane, content);
        break;
    case MAIL_REMEMBER_CHANGED:
        lane_remember_changed(lane, content);
        break;
    case MAIL_LEASED:
        if (!lane->ended) /* else nobody takes what waits for a shard that ends */
            lane_leased(lane, content);
        break;
    case MAIL_ORPHAN:
        if (!lane->is_downed)
            lane_orphan_shard(lane, content);
        break;
    case MAIL_ORPHANS_END:
        lane_orphan_shards_end(lane, content->type);
        break;
    case MAIL_LOOK:
        lane_look(lane, content);
        break;
    case MAIL_LOOK_ASKED:
        lane_look_asked(lane, content);
        break;
    case MAIL_ADD_TYPE:
    case MAIL_OPEN_TYPE:
        lane_take_type(lane, content);
        break;
    case MAIL_PHASE:
        lane_phase(lane, mail_phase_of(content));
        break;
    case MAIL_DOWNED:
        downed(lane);
        break;
    case MAIL_END:
        end(lane, mail_end_of(content)->is_at_once);
        break;
    case MAIL_SPAWN:
        lane_spawned(lane, mail_spawn_of(content)->own.spawning);
        break;
    case MAIL_WAKE:
        actors_wake(lane->actors, mail_wake_of(content)->actor);
        break;
    case MAIL_TELL:
        lane_told(lane, mail_tell_of(content)->own.content);
        break;
    default:
        check_failed(__FILE__, __LINE__, "mail for a lane of an unknown kind");
    }
    mail_content_free(content);
}

void lane_stored(struct lane *lane, struct journal_request *request)
{
    journal_reply(lane->journal, lane->machine->now, request);
}

void lane_job_done(struct lane *lane, struct job *job)
{
    actors_job_done(lane->actors, job);
}

/* ---- the turn ---- */

static void own_message(struct machine *machine, const struct outbound *message)
{
    (void)machine; /* only answers to connections of others */
    (void)message;
}

static void tick(struct lane *lane)
{
    uint64_t now = lane->machine->now;

    if (actors_deadline(lane->actors) <= now)
        actors_step(lane->actors, now, lane->machine->wall_ms);
    for (uint32_t i = 0; i < lane->type_count; i++) {
        if (owned_deadline(&lane->types[i].owned) <= now)
            owned_tick(&lane->types[i].owned, now);
        if (lane->remembers)
            lane_remember_step(lane, i);
    }
    lane_ask_stages_step(lane);
    if (lane_sending_waits(lane))
        lane_sending_step(lane);
}

static void ask_store(struct lane *lane)
{
    struct driver_request request = { .kind = DRIVER_STORE };

    while ((request.journal =
                journal_take_request(lane->journal, lane->machine->now))) {
        request.journal->machine = lane->machine->index;
        outputs_request(&lane->machine->outputs, &request);
    }
    actors_set_storing_room(lane->actors, journal_has_room(lane->journal, 0));
}

/* Frames that wait in links count as waiting messages for a while. After the node's removal, homes
 * wait no longer for what its actors sent before. */
static void report_waiting(struct lane *lane)
{
    bool has_frames = lane->machine->now < lane->frames_until &&
                      peer_links_waiting(&lane->machine->links);

    for (uint32_t i = 0; i < lane->type_count; i++) {
        struct lane_type *type = &lane->types[i];
        struct mail_content content;
        enum waiting_report waits;
        uint64_t count;

        if (!type->reporting)
            continue;
        lane_drop_ended_asks(lane, type);
        count = type->budget.count + has_frames;
        waits = count ? WAITING_SOME : WAITING_NONE;
        if (type->waiting_report == waits)
            continue;
        type->waiting_report = waits;
        content = mail_from(
            lane->own,
            mail_for_type(i, MAIL(waiting, .count = count)));
        outputs_post(&lane->machine->outputs, 0, &content);
    }
}

static void send_returns(struct lane *lane)
{
    struct mail_content content;
    struct message *first;

    for (uint32_t i = 0; i < lane->machine->settings->lanes; i++) {
        if (i == lane->own)
            continue;
        first = actors_take_returns(lane->actors, i);
        if (!first)
            continue;
        content = mail_from(lane->own, MAIL(returns, .own = { first }));
        outputs_post(&lane->machine->outputs, i + 1, &content);
    }
}

static bool may_end(const struct lane *lane)
{
    bool is_late = lane->machine->now >= lane->ending_until;

    if (lane->ends_at_once)
        return is_late || !actors_cluster_unheard(lane->actors);
    return !actors_alive(lane->actors) &&
           (is_late || !peer_links_waiting(&lane->machine->links));
}

bool lane_turn(struct lane *lane)
{
    struct machine *machine = lane->machine;
    struct mail_content ended;

    if (lane->ended)
        return false;
    if (lane->leases)
        lane_leases_step(lane);
    tick(lane);
    lane_wire(lane);
    (void)actors_run(lane->actors, machine->now, machine->wall_ms, RUN_BUDGET);
    lane_wire(lane);
    if (lane->tasks.count)
        lane_tasks_step(lane);
    if (lane->looks.count)
        lane_looks_step(lane);
    if (lane_look_deadline(lane) <= machine->now)
        lane_look_serve_step(lane);
    ask_store(lane);
    lane_chains_end(lane);
    send_returns(lane);
    report_waiting(lane);
    machine_flush_outbox(machine, own_message);
    if (lane->ending && may_end(lane)) {
        lane->ended = true;
        ended = mail_from(lane->own, mail_ended_new());
        outputs_post(&machine->outputs, 0, &ended);
    }
    return actors_runnable(lane->actors) || lane->looks.count ||
           lane_look_deadline(lane) <= machine->now;
}

uint64_t lane_deadline(const struct lane *lane)
{
    uint64_t deadline = actors_deadline(lane->actors);
    uint64_t other = journal_deadline(lane->journal);

    if (lane->ended)
        return NEVER;
    deadline = other < deadline ? other : deadline;
    if (lane->frames_until > lane->machine->now &&
        lane->frames_until < deadline)
        deadline = lane->frames_until;
    for (uint32_t i = 0; i < lane->type_count; i++) {
        other = owned_deadline(&lane->types[i].owned);
        deadline = other < deadline ? other : deadline;
        other = lane->remembers ? lane_remember_deadline(lane, i) : NEVER;
        deadline = other < deadline ? other : deadline;
    }
    other = lane->leases ? lane->lease_end : NEVER;
    deadline = other < deadline ? other : deadline;
    if (lane->ending && lane->machine->now + 5 * MS < deadline)
        deadline = lane->machine->now + 5 * MS; /* the driver writes meanwhile */
    other = lane_ask_stages_deadline(lane);
    deadline = other < deadline ? other : deadline;
    other = lane_look_deadline(lane);
    deadline = other < deadline ? other : deadline;
    other = lane->machine->now + MS;
    return lane_sending_waits(lane) && other < deadline ? other : deadline;
}
