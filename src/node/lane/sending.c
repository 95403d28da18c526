/* Sends a message out of a lane: to an entity or actor here, into a ring or link, or into a buffer
 * that waits for a home.
 *
 * Order: a shard has one route at a time, waiting messages leave before the direct path opens, and
 * a hand-off's marker follows them on the same link or ring. A message from elsewhere is never
 * forwarded to a third lane or node: its sender will know the new home, and a shorter path. */
#include "node/lane/lane.h"

#include "artery/extension.h"
#include "base/check.h"
#include "base/mark.h"
#include "node/machine/large.h"
#include "shard/shard_id.h"
#include "shard/wire.h"

#define HOPS_MAX 64 /* a message that was passed on more often ends */

static struct lane_type *type_of(struct lane *lane, uint32_t type)
{
    check(type < lane->type_count);
    return &lane->types[type];
}

/* ---- waiting ---- */

struct pending_item *lane_wrap(struct message *message)
{
    struct waiting *waiting = mem_alloc(sizeof *waiting);

    waiting->message = message;
    waiting->held.size =
        sizeof *message + message->body_size + message->id_size;
    return &waiting->held;
}

struct message *lane_unwrap(struct lane *lane, struct pending_item *held)
{
    struct waiting *waiting = (struct waiting *)held;
    struct message *message;
    uint64_t waited;

    if (!held)
        return NULL;
    message = waiting->message;
    waited = lane->machine->now - held->since;
    if (waited > lane->held_ns_max)
        lane->held_ns_max = waited;
    mem_free(waiting);
    return message;
}

static bool asked_here(const struct lane *lane, const struct message *message)
{
    return message->ask && message->kind == MESSAGE_TELL &&
           message->sender.node == lane->machine->self->node.uid &&
           actor_id_lane(message->sender.actor) == lane->own;
}

static enum sherd_stage waiting_stage(const struct lane_type *type,
                                      int32_t shard)
{
    switch (routes_find(&type->routes, shard).state) {
    case ROUTE_UNKNOWN:
    case ROUTE_ASKED:
        return type->coordinator_known ? SHERD_STAGE_HOME_UNKNOWN
                                       : SHERD_STAGE_NO_COORDINATOR;
    default:
        return SHERD_STAGE_HANDING_OFF;
    }
}

static void count_waiting(struct lane *lane, const struct lane_type *type)
{
    lane->held_total++;
    if (type->budget.count > lane->held_max)
        lane->held_max = type->budget.count;
}

void lane_wait(struct lane *lane, struct message *message)
{
    struct lane_type *type = type_of(lane, message->type);
    int32_t shard = message->entity.shard;
    struct pending_item *held = lane_wrap(message);

    if (!routes_hold(&type->routes, lane->machine->now, shard, held)) {
        held->since = lane->machine->now;
        actors_undelivered(lane->actors, lane_unwrap(lane, held),
                           SHERD_REASON_BUFFER_FULL);
        return;
    }
    count_waiting(lane, type);
    lane_ask_stage(lane, message, waiting_stage(type, shard));
}

/* The message waits while the shard has no lease, claims its fence, or stops to start again. */
static void wait_for_start(struct lane *lane, struct message *message)
{
    struct lane_type *type = type_of(lane, message->type);
    struct pending_item *held = lane_wrap(message);

    if (owned_hold(&type->owned, lane->machine->now, message->entity.shard,
                    held)) {
        count_waiting(lane, type);
        lane_ask_stage(lane, message,
                       owned_state(&type->owned, message->entity.shard) == OWNED_LEASING
                           ? SHERD_STAGE_LEASING
                           : SHERD_STAGE_RECOVERING);
        return;
    }
    held->since = lane->machine->now;
    actors_undelivered(lane->actors, lane_unwrap(lane, held),
                       SHERD_REASON_BUFFER_FULL);
}

void lane_open(struct lane *lane, uint32_t type, int32_t shard)
{
    struct lane_type *of = type_of(lane, type);
    struct route route = routes_find(&of->routes, shard);
    bool open = route.state == ROUTE_LOCAL && route.lane == lane->own &&
                owned_state(&of->owned, shard) == OWNED_RUNNING &&
                !routes_waiting(&of->routes, shard);

    actors_shard_open(lane->actors, (uint16_t)type, shard, open);
}

/* peer: null: the message stays on this node. */
static void sent_stage(struct lane *lane, const struct message *message,
                       struct peer *peer)
{
    if (asked_here(lane, message))
        actors_ask_stage(lane->actors, message->ask, SHERD_STAGE_SENT,
                         peer ? lane_peer_name(lane, peer) : 0);
}

/* ---- to another lane ---- */

static void chain_put(struct lane *lane, uint32_t to, struct message *message)
{
    struct chain *chain = &lane->chains[to];

    if (message->ask)
        sent_stage(lane, message, NULL);
    message->next = NULL;
    if (chain->last)
        chain->last->next = message;
    else
        chain->first = message;
    chain->last = message;
}

static void chain_post(struct lane *lane, uint32_t to)
{
    struct chain *chain = &lane->chains[to];
    struct mail_content content =
        mail_from(lane->own, MAIL(messages, .own = { chain->first }));

    outputs_post(&lane->machine->outputs, to + 1, &content);
    *chain = (struct chain){ 0 };
}

static void chain_end(struct lane *lane, uint32_t to)
{
    if (lane->chains[to].first)
        chain_post(lane, to);
}

void lane_chains_end(struct lane *lane)
{
    for (uint32_t i = 0; i < lane->machine->settings->lanes; i++)
        chain_end(lane, i);
}

/* ---- to another node ---- */

/* Returns the frame's head, and what to insert as sender. The bound head often has it, because
 * messages come in runs. Null: literals too long. */
static const struct envelope_head *head_for(struct lane *lane,
                                            struct peer *peer,
                                            const struct message *message,
                                            char *name, struct slice *sender)
{
    struct prepared *prepared = peer->prepared;
    const struct envelope_head *head;

    *sender = (struct slice){ 0 };
    if (!message->ask && prepared && prepared->bound.bytes.size &&
        prepared->bound_type == message->type &&
        prepared->bound_sender.actor == message->sender.actor &&
        prepared->bound_sender.node == message->sender.node &&
        prepared->bound_wants == message->wants_undelivered)
        return &prepared->bound;
    head = peer_head(&lane->machine->links, peer, message->type);
    if (!head)
        return NULL;
    *sender = name_for(lane, peer, message, name);
    if (message->ask || !sender->size ||
        message->sender.node != lane->machine->self->node.uid)
        return head;
    prepared = peer->prepared;
    envelope_head_bind(&prepared->bound, head, *sender);
    prepared->bound_type = message->type;
    prepared->bound_sender = message->sender;
    prepared->bound_wants = message->wants_undelivered;
    *sender = (struct slice){ 0 };
    return &prepared->bound;
}

static bool fails(const struct lane *lane, const struct peer *peer,
                  const struct message *message)
{
    return lane->unreachable.count &&
           lane_reach_fails(lane, peer, message);
}

/* The asker hears which node it is. */
static void fail(struct lane *lane, struct peer *peer,
                 struct message *message)
{
    REACHED("an ask fails because a member is unreachable");
    actors_ask_stage(lane->actors, message->ask, SHERD_STAGE_NONE,
                     lane_peer_name(lane, peer));
    actors_undelivered(lane->actors, message, SHERD_REASON_UNREACHABLE);
}

/* Returns false if there is no room; the message stays the caller's. */
static bool write_entity(struct lane *lane, struct peer *peer,
                         struct message *message)
{
    struct peer_links *links = &lane->machine->links;
    struct link *link = peer_link(links, peer,
                                  lane_stream(lane, message->type));
    const struct envelope_head *head;
    char manifest[MESSAGE_MANIFEST_MAX];
    char name[NAME_MAX];
    struct sharding_envelope envelope;
    struct slice sender;
    struct buf *buf;

    if (peer->gone)
        return false;
    if (fails(lane, peer, message)) {
        fail(lane, peer, message);
        return true;
    }
    if (message->kind == MESSAGE_START)
        return lane_write_start(lane, peer, message);
    head = head_for(lane, peer, message, name, &sender);
    if (!head)
        return false;
    envelope = (struct sharding_envelope){
        .id = message_id(message),
        .manifest = message_manifest_put(manifest, message->msg),
        .body = message_body(message),
        .serializer = SERIALIZER_SHERD,
    };
    buf = link_begin(link, envelope_size_max(head, sender,
                                             (size_t)message->id_size +
                                                 message->body_size +
                                                 envelope.manifest.size +
                                                 SHARDING_ENVELOPE_OVERHEAD));
    if (!buf)
        return false;
    sharding_envelope_put(buf, head, sender, &envelope);
    link_end(link, lane->machine->now);
    peer_touched(links, peer, lane_stream(lane, message->type));
    if (message->ask)
        sent_stage(lane, message, peer);
    actors_message_free(lane->actors, message);
    return true;
}

/* A JVM may have its own serializer for the number. */
static void put_number(const struct lane *lane, const struct peer *peer,
                       const struct message *message, struct outbound *outbound,
                       char *manifest)
{
    const struct node_settings *settings = lane->machine->settings;

    outbound->manifest = message_manifest_put(manifest, message->msg);
    if (peer->capabilities & CAPABILITY_SHERD)
        return;
    for (uint32_t i = 0; i < settings->format_count; i++)
        if (settings->formats[i].msg == message->msg) {
            outbound->serializer = settings->formats[i].serializer;
            outbound->manifest = slice_text(settings->formats[i].manifest);
            return;
        }
}

/* Writes why the receiver could not be recovered, behind the head of a notice; returns its size. */
static size_t put_why(const struct message *message, uint8_t *text)
{
    size_t size = message->body_size < EVENT_FAULT_MAX ? message->body_size : EVENT_FAULT_MAX;

    bytes_copy(text, message->data, size);
    return size;
}

/* Describes a message in the control plane's form. False for kinds that control sends. */
static bool describe(const struct lane *lane, const struct peer *peer,
                     const struct message *message, struct outbound *outbound,
                     char *recipient, char *manifest, uint8_t *notice)
{
    uint64_t ask = message->kind == MESSAGE_TELL ? 0 : message->ask;

    outbound->payload = message_body(message);
    outbound->recipient = name_recipient(lane, message->to, ask, recipient);
    switch ((enum message_kind)message->kind) {
    case MESSAGE_TELL:
    case MESSAGE_ANSWER:
        put_number(lane, peer, message, outbound, manifest);
        return true;
    case MESSAGE_NO_ANSWER:
    case MESSAGE_UNDELIVERED:
        outbound->manifest = slice_text(MANIFEST_UNDELIVERED);
        notice[0] = message->reason;
        notice[1] = message->stage;
        memcpy(notice + 2, &message->msg, 4); /* all supported machines are little endian */
        outbound->payload = slice_of(notice, NOTICE_HEAD + put_why(message, notice + NOTICE_HEAD));
        return true;
    case MESSAGE_STOP:
        outbound->serializer = SERIALIZER_MISC;
        outbound->manifest = slice_text("P"); /* Akka's PoisonPill */
        return true;
    default:
        return false;
    }
}

static void watch_by_control(struct lane *lane, struct peer *peer,
                             const struct message *message)
{
    struct watching *watching = mem_alloc(sizeof *watching);
    struct mail_content content;
    bool ended = message->kind == MESSAGE_TERMINATED;
    struct sherd_ref watchee = ended ? message->sender : message->to;
    struct sherd_ref watcher = ended ? message->to : message->sender;
    const struct watcher *jvm =
        ended ? watchers_find(&lane->watchers, watcher) : NULL;
    char name[NAME_MAX];

    content = mail_from(
        lane->own,
        MAIL(watch,
             .verb = ended                            ? WATCH_TERMINATED
                     : message->kind == MESSAGE_WATCH ? WATCH_START
                                                      : WATCH_STOP,
             .has_existed = message->reason != SHERD_REASON_NO_SUCH_ACTOR,
             .own = { watching }));
    watching->peer = peer_node(peer);
    if (jvm) {
        buf_put_slice(&watching->watchee_text, jvm->watchee);
        buf_put_slice(&watching->watcher_text, jvm->watcher);
        watchers_drop(&lane->watchers, watcher);
    } else {
        buf_put_slice(&watching->watchee_text,
                      name_literal(lane, watchee, 0, name));
        buf_put_slice(&watching->watcher_text,
                      name_literal(lane, watcher, 0, name));
    }
    outputs_post(&lane->machine->outputs, 0, &content);
}

static void call_control(struct lane *lane, struct message *message)
{
    struct buf *bytes = mem_alloc(sizeof *bytes);
    struct mail_content content = mail_from(
        lane->own,
        MAIL(data_call, .actor = message->sender.actor, .tag = message->ask,
             .verb = (enum data_verb)message->msg, .own = { bytes }));

    buf_put_slice(bytes, message_body(message));
    outputs_post(&lane->machine->outputs, 0, &content);
    actors_message_free(lane->actors, message);
}

static void give_job(struct lane *lane, struct message *message)
{
    struct driver_request request = { .kind = DRIVER_JOB,
                         .job = actors_job_take(lane->actors, message) };

    request.job->machine = lane->machine->index;
    outputs_request(&lane->machine->outputs, &request);
}

static void write_ref(struct lane *lane, struct message *message)
{
    struct peer_links *links = &lane->machine->links;
    struct peer *peer = peers_uid(&lane->machine->peers, message->to.node);
    struct outbound outbound = { .serializer = SERIALIZER_SHERD };
    struct link *link;
    char recipient[NAME_MAX];
    char manifest[MESSAGE_MANIFEST_MAX];
    char name[NAME_MAX];
    uint8_t notice[NOTICE_HEAD + EVENT_FAULT_MAX];

    if (message->kind == MESSAGE_CALL) {
        call_control(lane, message);
        return;
    }
    if (message->kind == MESSAGE_JOB) {
        give_job(lane, message);
        return;
    }
    if (!peer || peer->gone) {
        REACHED("a message is for an actor of a removed node");
        actors_undelivered(lane->actors, message, SHERD_REASON_NODE_GONE);
        return;
    }
    if (fails(lane, peer, message)) {
        fail(lane, peer, message);
        return;
    }
    if (names_has(message->to) &&
        !names_path(&lane->names, message->to).size) {
        REACHED("a message is for a JVM actor with a forgotten name");
        actors_undelivered(lane->actors, message, SHERD_REASON_NO_SUCH_ACTOR);
        return;
    }
    if (message->kind == MESSAGE_START_ACK) {
        lane_write_start_ack(lane, peer, message);
        return;
    }
    if (!describe(lane, peer, message, &outbound, recipient, manifest,
                  notice)) {
        watch_by_control(lane, peer, message);
        actors_message_free(lane->actors, message);
        return;
    }
    outbound.to = peer_node(peer);
    outbound.stream = large_stream(lane->machine->settings, outbound.recipient);
    outbound.sender = name_seen_by(lane, peer, message, name);
    link = peer_link(links, peer, outbound.stream);
    if (!link_send(link, lane->machine->now,
                   peer->tables, &outbound)) {
        actors_undelivered(lane->actors, message, link_counts(link).refusal);
        return;
    }
    peer_touched(links, peer, outbound.stream);
    sent_stage(lane, message, peer);
    actors_message_free(lane->actors, message);
}

/* ---- the decision ---- */

void lane_batch_end(struct lane *lane)
{
    uint32_t count = lane->batch_count;

    lane->batch_count = 0;
    if (count)
        actors_deliver_entities(lane->actors, lane->batch, count);
}

static void to_entity_here(struct lane *lane, struct message *message)
{
    if (message->ask)
        lane_ask_stage_watch(lane, message);
    lane->batch[lane->batch_count++] = message;
    if (lane->batch_count == BATCH_MAX)
        lane_batch_end(lane);
}

/* The shard has moved: only the sender's own link or ring keeps the order. */
static bool is_far_enough(struct lane *lane, struct message *message)
{
    if (!message->arrived)
        return false;
    REACHED("a message arrives at a former home");
    actors_undelivered(lane->actors, message, SHERD_REASON_HANDED_OFF);
    return true;
}

static void to_peer(struct lane *lane, struct message *message, uint32_t peer)
{
    if (is_far_enough(lane, message))
        return;
    if (!write_entity(lane, lane->machine->peers.all.items[peer], message))
        lane_wait(lane, message); /* full: later it takes a fresh route */
}

static void take_place(struct lane *lane, struct message *message,
                       enum place place, struct route route)
{
    switch (place) {
    case PLACE_ENTITY:
        to_entity_here(lane, message);
        break;
    case PLACE_WAIT:
        wait_for_start(lane, message);
        break;
    case PLACE_HOLD:
        lane_wait(lane, message);
        break;
    case PLACE_LANE:
        message->arrived = 1;
        chain_put(lane, route.lane, message);
        break;
    case PLACE_PEER:
        to_peer(lane, message, route.peer);
        break;
    case PLACE_INVALID:
        actors_undelivered(lane->actors, message,
                           message->entity.shard == SHARD_NONE
                               ? SHERD_REASON_NO_SHARD
                               : SHERD_REASON_NO_SUCH_TYPE);
        break;
    }
}

static bool goes_in_circles(struct lane *lane, struct message *message)
{
    if (++message->hops <= HOPS_MAX)
        return false;
    REACHED("a message has been forwarded too often");
    actors_undelivered(lane->actors, message, SHERD_REASON_HANDED_OFF);
    return true;
}

/* Turns a message to a path into one to a ref. False: no such actor; the message has ended. */
static bool find_path(struct lane *lane, struct message *message)
{
    struct address address;
    struct slice path;
    uint64_t ask;

    message->to = name_any(lane, 0, message_id(message), &ask);
    if (!ref_is_nobody(message->to) && !ask)
        return true;
    actors_undelivered(lane->actors, message,
                       ref_parse(lane->machine->self, message_id(message),
                                 &address, &path) &&
                               !address_equal(
                                   &address,
                                   &lane->machine->self->node.address)
                           ? SHERD_REASON_NODE_GONE
                           : SHERD_REASON_NO_SUCH_ACTOR);
    return false;
}

void lane_send(struct lane *lane, struct message *message)
{
    struct lane_type *type;
    struct route route;
    enum place place;

    if (!message_to_entity(message)) {
        uint32_t to;

        if (message->id_size && !find_path(lane, message))
            return;
        to = actor_id_lane(message->to.actor) & ~LANE_MOVER;
        if (message->to.node != lane->machine->self->node.uid)
            write_ref(lane, message);
        else if (to != lane->own && to < lane->machine->settings->lanes)
            chain_put(lane, to, message);
        else if (message->kind == MESSAGE_START_ACK &&
                 lane_is_mover(message->to))
            lane_moved(lane, message);
        else
            actors_deliver(lane->actors, message);
        return;
    }
    if (goes_in_circles(lane, message))
        return;
    type = type_of(lane, message->type);
    place = place_sent(&type->routes, &type->owned, message->entity.shard,
                       lane->own, &route);
    if (lane->machine->settings->verbose_sharding)
        lane_say_sent(lane, message, place, route);
    if (place == PLACE_PEER) /* the usual case */
        to_peer(lane, message, route.peer);
    else
        take_place(lane, message, place, route);
}

void lane_arrived(struct lane *lane, struct message *message)
{
    struct lane_type *type;
    struct route route;
    enum place place;
    uint32_t to;

    if (lane->ended) {
        actors_undelivered(lane->actors, message, SHERD_REASON_SHUTTING_DOWN);
        return;
    }
    if (!message_to_entity(message)) {
        lane_send(lane, message);
        return;
    }
    if (goes_in_circles(lane, message))
        return;
    /* A message from elsewhere goes to the shard's lane in any case: so it stays before its
     * sender's marker. */
    to = shard_lane(message->type, message->entity.shard,
                    lane->machine->settings->lanes);
    if (to != lane->own) {
        chain_put(lane, to, message);
        return;
    }
    type = type_of(lane, message->type);
    place = place_arrived(&type->routes, &type->owned, message->entity.shard,
                          lane->own, &route);
    if (place == PLACE_ENTITY) {
        to_entity_here(lane, message);
    } else if (place == PLACE_PEER && message->arrived) {
        /* the sender knows more of the shard than this lane, or less */
        routes_suspect(&type->routes, message->entity.shard);
        lane_wait(lane, message);
    } else {
        take_place(lane, message, place, route);
    }
}

/* ---- messages that a full link stopped ---- */

static void remember_flush(struct lane *lane, uint32_t type, int32_t shard)
{
    struct flush entry = { type, shard };

    for (uint32_t i = 0; i < lane->flushing.count; i++)
        if (lane->flushing.items[i].shard == shard &&
            lane->flushing.items[i].type == type)
            return;
    vec_push(&lane->flushing, entry);
}

void lane_flush(struct lane *lane, uint32_t type, int32_t shard)
{
    struct lane_type *of = type_of(lane, type);
    uint32_t count = routes_waiting(&of->routes, shard);

    /* A message that cannot leave goes back behind the others, so each is tried once, in order. The
     * last look opens the direct path. */
    for (; count || !routes_waiting(&of->routes, shard); count--) {
        struct route next = routes_find(&of->routes, shard);
        enum place place;
        struct route route;
        struct message *message;

        if (next.state == ROUTE_FLUSHING && next.target == ROUTE_REMOTE) {
            struct peer *peer =
                lane->machine->peers.all.items[next.peer];

            if (!link_room(peer_link(&lane->machine->links, peer,
                                     lane_stream(lane, type)))) {
                REACHED("a flush waits for room in the link");
                remember_flush(lane, type, shard);
                return;
            }
        }
        message = lane_unwrap(lane, place_flush(&of->routes, &of->owned,
                                                shard, lane->own, &place,
                                                &route));
        if (!message)
            break;
        take_place(lane, message, place, route);
    }
    lane_open(lane, type, shard);
}

/* Sends the marker of a MAIL_HOLD, which goes last; false if the link is full. */
static bool send_marker(struct lane *lane, const struct mail_content *content)
{
    struct machine *machine = lane->machine;
    const struct mail_hold *hold = mail_hold_of(content);
    const struct node_id *owner = hold->own.owner;
    const struct mail_marker mark = { hold->attempt, machine->self->node.uid,
                                      lane->own };
    uint32_t to = shard_lane(content->type, content->shard,
                             machine->settings->lanes);
    struct peer *peer;
    struct buf payload = { 0 };
    char shard[SHARD_TEXT_MAX];
    struct outbound outbound = { .stream = lane_stream(lane, content->type),
                                 .serializer = SHARDING_OWN_SERIALIZER };
    bool sent;

    if (!owner)
        return true;
    if (node_equal(owner, &machine->self->node) ||
        (!owner->uid &&
         address_equal(&owner->address, &machine->self->node.address))) {
        struct mail_content marker;

        if (to == lane->own) {
            lane_batch_end(lane);
            owned_marker(&type_of(lane, content->type)->owned, machine->now,
                          content->shard, mark.attempt, mark.uid, mark.lane);
            return true;
        }
        chain_end(lane, to);
        marker = mail_from(lane->own,
                           mail_for_shard(content->type, content->shard,
                                          mail_marker_new(mark)));
        outputs_post(&machine->outputs, to + 1, &marker);
        return true;
    }
    peer = peers_meant(&machine->peers, owner);
    if (!peer || (peer->gone && owner->uid))
        return true; /* no message is on its way there */
    shard_message_put(
        &payload,
        &(struct shard_message){
            .kind = SHARD_MARKER,
            .type = slice_text(machine->node->names[content->type].type),
            .shard = shard_name(lane_shard_names(lane, content->type),
                                content->shard, shard),
            .fence = mark.attempt.fence,
            .attempt = mark.attempt.number,
            .uid = mark.uid,
            .lane = mark.lane,
        },
        machine->self);
    outbound.to = *owner;
    outbound.recipient =
        slice_text(machine->node->names[content->type].remote_path);
    outbound.manifest = slice_text(MANIFEST_FLUSH);
    outbound.payload = buf_slice(&payload);
    sent = link_send(peer_link(&machine->links, peer, outbound.stream),
                     machine->now, NULL, &outbound);
    peer_touched(&machine->links, peer, outbound.stream);
    buf_fini(&payload);
    return sent;
}

static void say_held(struct lane *lane, const struct mail_content *content)
{
    struct mail_content held = mail_from(
        lane->own,
        mail_for_shard(content->type, content->shard,
                       MAIL(held, .attempt = mail_hold_of(content)->attempt)));

    outputs_post(&lane->machine->outputs, 0, &held);
}

void lane_hold(struct lane *lane, const struct mail_content *content)
{
    struct routes *routes = &type_of(lane, content->type)->routes;

    /* A failed hand-off may begin again at once, with home and hold in one turn: without this,
     * messages would never leave. */
    if (routes_find(routes, content->shard).state == ROUTE_FLUSHING)
        lane_flush(lane, content->type, content->shard);
    routes_hold_begin(routes, content->shard);
    lane_open(lane, content->type, content->shard);
    if (send_marker(lane, content)) {
        say_held(lane, content);
        return;
    }
    REACHED("a marker waits for room in the link");
    vec_push(&lane->markers, mail_copy(content)); /* at most one for each hand-off */
}

void lane_sending_step(struct lane *lane)
{
    uint32_t count = lane->flushing.count;

    for (uint32_t i = 0; i < lane->markers.count;) {
        struct mail_content *content = &lane->markers.items[i];

        if (!send_marker(lane, content)) {
            i++;
            continue;
        }
        say_held(lane, content);
        mail_content_free(content);
        vec_remove(&lane->markers, i);
    }
    while (count-- && lane->flushing.count) {
        struct flush entry = lane->flushing.items[0];

        vec_remove(&lane->flushing, 0);
        lane_flush(lane, entry.type, entry.shard);
    }
}

bool lane_sending_waits(const struct lane *lane)
{
    return lane->flushing.count || lane->markers.count;
}
