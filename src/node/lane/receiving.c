/* Reads frames from a lane's connections: takes messages to entities and actors, and passes
 * envelopes for control on. Decoding has limits; unreadable frames are counted and dropped. */
#include "node/lane/lane.h"

#include "artery/control.h"
#include "artery/extension.h"
#include "base/check.h"
#include "base/mark.h"
#include "node/machine/large.h"
#include "shard/shard_id.h"
#include "shard/wire.h"

/* Drops a message that is unreadable here, or that no format of this node reads. */
static void drop(struct lane *lane, const struct envelope *envelope)
{
    if (envelope->serializer == SERIALIZER_SHERD) {
        lane->unknown++;
        machine_envelope_ended(lane->machine, SHERD_REASON_NO_HANDLER,
                               envelope, envelope->payload);
        return;
    }
    lane->machine->undelivered[SHERD_REASON_NO_FORMAT]++;
    machine_frame_ended(lane->machine, SHERD_REASON_NO_FORMAT,
                        envelope->payload);
}

static void carry(struct lane *lane, enum stream stream,
                  const struct envelope *envelope)
{
    struct mail_content content =
        mail_from(lane->own, MAIL(frame, .stream = stream,
                                  .own = { envelope_keep(envelope) }));

    outputs_post(&lane->machine->outputs, 0, &content);
}

/* Returns -1 if the region is none of this node. */
static int region_type(struct lane *lane, const struct envelope *envelope)
{
    const struct node *node = lane->machine->node;
    struct address address;
    struct slice path;

    /* This node's table has nobody at 0, then the regions. */
    if (envelope->recipient_index > 0 &&
        (uint32_t)envelope->recipient_index <= lane->type_count)
        return envelope->recipient_index - 1;
    if (!ref_parse(lane->machine->self, envelope->recipient, &address, &path))
        return -1;
    path = path_plain(path);
    for (uint32_t i = 0; i < lane->type_count; i++)
        if (slice_is(path, node->names[i].region_plain) ||
            (!node->names[i].is_far &&
             slice_is(path, node->names[i].remote_path)))
            return (int)i;
    return -1;
}

/* Returns false if the message is not known here. */
static bool read_number(const struct lane *lane, int32_t serializer,
                        struct slice manifest, uint32_t *number)
{
    const struct node_settings *settings = lane->machine->settings;

    if (serializer == SERIALIZER_SHERD)
        return message_manifest_read(manifest, number);
    for (uint32_t i = 0; i < settings->format_count; i++) {
        const struct sherd_format *format = &settings->formats[i];

        if (format->serializer == serializer &&
            slice_is(manifest, format->manifest)) {
            *number = format->msg;
            return true;
        }
    }
    return false;
}

/* Takes a message to an entity, from the sender of the run. */
static void to_entity(struct lane *lane, enum message_kind kind, struct slice id,
                      uint32_t number, struct slice body)
{
    const struct frame_run *run = &lane->run;
    struct message *message =
        actors_entity_message(lane->actors, run->type, id, body);

    message->kind = (uint8_t)kind;
    message->msg = number;
    message->sender = run->sender;
    message->ask = run->ask;
    message->expires = run->expires;
    message->wants_undelivered = run->wants_undelivered;
    message->arrived = run->arrived;
    lane_set_shard(lane, message);
    lane_arrived(lane, message);
}

/* Akka's typed StartEntity: an envelope with the classic one, which has the id again. */
static bool is_start(const struct sharding_envelope *inside)
{
    return inside->serializer == SHARDING_SERIALIZER && slice_is(inside->manifest, "EA") &&
           inside->id.size && inside->id.size <= SHERD_ID_MAX;
}

/* Takes the payload of a ShardingEnvelope. */
static void sharded(struct lane *lane, struct slice payload)
{
    const struct frame_run *run = &lane->run;
    struct sharding_envelope inside;
    uint32_t number;
    bool is_read = sharding_envelope_read(payload, &inside);

    if (is_read && is_start(&inside)) {
        to_entity(lane, MESSAGE_START, inside.id, 0, slice_of(NULL, 0));
        return;
    }
    if (!is_read ||
        !read_number(lane, inside.serializer, inside.manifest, &number) ||
        !inside.id.size || inside.id.size > SHERD_ID_MAX ||
        inside.body.size > run->body_max) {
        lane->unknown++;
        machine_message_ended(lane->machine, SHERD_REASON_NO_HANDLER,
                              SERIALIZER_SHARDING_TYPED, slice_of(NULL, 0),
                              payload);
        return;
    }
    to_entity(lane, MESSAGE_TELL, inside.id, number, inside.body);
}

/* With the same head envelope_read would find the same. Within a batch, only a frame with another
 * head changes its meaning. */
bool lane_frame_again(struct lane *lane, struct slice frame)
{
    struct slice head = lane->run.head;

    if (!head.size || frame.size < head.size ||
        memcmp(frame.data, head.data, head.size) != 0) { /* long enough for a call */
        lane->run.head.size = 0;
        return false;
    }
    sharded(lane, slice_of(frame.data + head.size, frame.size - head.size));
    return true;
}

static uint32_t body_max(const struct lane *lane, enum stream stream)
{
    return stream == STREAM_LARGE ? large_body_max(lane->machine->settings)
                                  : SHERD_BODY_MAX;
}

/* Returns when an ask from elsewhere expires, by the time left that its path tells. */
static uint16_t ask_expiry(const struct lane *lane, struct slice sender)
{
    uint32_t left = name_left(sender);

    return left ? message_expiry(lane->machine->now, left < ACTOR_ASK_MS_MAX ? left : ACTOR_ASK_MS_MAX)
                : 0;
}

static void begin_run(struct lane *lane, enum stream stream,
                      const struct envelope *envelope, struct slice frame,
                      const struct peer *peer, uint32_t type)
{
    struct frame_run *run = &lane->run;

    run->head = slice_of(frame.data, frame.size - envelope->payload.size);
    run->sender = name_any(lane, envelope->origin, envelope->sender, &run->ask);
    run->expires = run->ask ? ask_expiry(lane, envelope->sender) : 0;
    run->wants_undelivered =
        name_wants(envelope->sender) && !names_has(run->sender);
    run->arrived = (peer->capabilities & CAPABILITY_SHERD) != 0;
    run->body_max = body_max(lane, stream);
    run->type = (uint16_t)type;
}

/* Takes a message of a user to the region itself: the extractor finds the entity. False: the region
 * reads the frame otherwise. */
static bool extracted(struct lane *lane, enum stream stream,
                      const struct envelope *envelope, struct slice frame,
                      const struct peer *peer)
{
    struct sherd_extracted message = { .msg = 0 };
    int type;

    if (!read_number(lane, envelope->serializer, envelope->manifest, &message.msg) ||
        (type = region_type(lane, envelope)) < 0)
        return false;
    begin_run(lane, stream, envelope, frame, peer, (uint32_t)type);
    lane->run.head.size = 0; /* no envelopes follow with the same head */
    message.body = (struct sherd_bytes){ envelope->payload.data, envelope->payload.size };
    if (message.body.size <= lane->run.body_max &&
        shard_rule_extract(&lane->machine->node->names[type].rule, &message)) {
        to_entity(lane, MESSAGE_TELL, slice_text(message.id), message.msg,
                  slice_of(message.body.data, message.body.size));
        return true;
    }
    REACHED("an extractor does not handle a message from another node");
    lane->machine->undelivered[SHERD_REASON_NOT_EXTRACTED]++;
    machine_frame_ended(lane->machine, SHERD_REASON_NOT_EXTRACTED, envelope->payload);
    return true;
}

static void take_marker(struct lane *lane, const struct envelope *envelope,
                   uint32_t type)
{
    struct shard_message message;
    struct mail_marker marker;
    struct mail_content content;
    int32_t shard;
    uint32_t to;

    if (!shard_message_read(&message, envelope->serializer, envelope->manifest,
                            envelope->payload) ||
        message.kind != SHARD_MARKER) {
        lane->unknown++;
        return;
    }
    if (!shard_number(lane_shard_names(lane, type), message.shard, &shard)) {
        shard_message_fini(&message);
        lane->unknown++;
        return;
    }
    marker = (struct mail_marker){ { message.fence, message.attempt },
                                   message.uid, message.lane };
    shard_message_fini(&message);
    to = shard_lane(type, shard, lane->machine->settings->lanes);
    lane_batch_end(lane);
    if (to == lane->own) {
        owned_marker(&lane->types[type].owned, lane->machine->now, shard,
                     marker.attempt, marker.uid, marker.lane);
        return;
    }
    lane_chains_end(lane); /* earlier messages go before the marker */
    content = mail_from(lane->own,
                        mail_for_shard(type, shard, mail_marker_new(marker)));
    outputs_post(&lane->machine->outputs, to + 1, &content);
}

/* Reads "U": an actor's message was not delivered. */
static bool read_notice(const struct envelope *envelope,
                        struct message *message)
{
    struct cursor cursor = cursor_of(envelope->payload);

    message->reason = cursor_u8(&cursor);
    message->stage = cursor_u8(&cursor);
    message->msg = cursor_u32(&cursor);
    message->kind = message->ask ? MESSAGE_NO_ANSWER : MESSAGE_UNDELIVERED;
    return !cursor.failed && message->reason != SHERD_REASON_NONE &&
           message->reason < SHERD_REASON_COUNT &&
           message->stage < SHERD_STAGE_COUNT;
}

/* The text of a notice; empty if there is none. */
static struct slice read_why(const struct envelope *envelope)
{
    struct slice payload = envelope->payload;
    size_t size = payload.size > NOTICE_HEAD ? payload.size - NOTICE_HEAD : 0;

    return size ? slice_of(payload.data + NOTICE_HEAD,
                           size < EVENT_FAULT_MAX ? size : EVENT_FAULT_MAX)
                : (struct slice){ 0 };
}

void lane_to_actor(struct lane *lane, enum stream stream,
                   const struct envelope *envelope, struct sherd_ref to,
                   uint64_t ask)
{
    bool notice = envelope_is(envelope, SERIALIZER_SHERD, MANIFEST_UNDELIVERED);
    bool stop = envelope_is(envelope, SERIALIZER_MISC, "P");
    struct message *message;
    uint64_t asked = 0;
    uint32_t number = 0;
    struct slice body = envelope->payload;

    if (!notice && !stop &&
        (!read_number(lane, envelope->serializer, envelope->manifest, &number) ||
         body.size > body_max(lane, stream))) {
        drop(lane, envelope);
        return;
    }
    if (notice || stop)
        body = notice ? read_why(envelope) : (struct slice){ 0 };
    message = actors_message(lane->actors, body);
    message->to = to;
    message->msg = number;
    message->sender = name_any(lane, envelope->origin, envelope->sender, &asked);
    message->wants_undelivered =
        name_wants(envelope->sender) && !names_has(message->sender);
    message->ask = ask ? ask : asked;
    if (asked && !ask)
        message->expires = ask_expiry(lane, envelope->sender);
    if (stop)
        message->kind = MESSAGE_STOP;
    else if (ask)
        message->kind = MESSAGE_ANSWER;
    if (notice && !read_notice(envelope, message)) {
        actors_message_free(lane->actors, message);
        lane->unknown++;
        return;
    }
    lane_arrived(lane, message);
}

/* Answers Flush, termination and heartbeats, which concern the connection itself. */
static bool answered(struct lane *lane, const struct envelope *envelope,
                     const struct peer *peer)
{
    struct machine *machine = lane->machine;
    struct mail_content content;
    struct node_id from;

    if (envelope->serializer != SERIALIZER_ARTERY &&
        envelope->serializer != SERIALIZER_SELECTION)
        return false;
    lane_batch_end(lane);
    from = peer_node(peer);
    if (!control_answer(machine->self, &from, envelope, &machine->outbox))
        return false;
    if (envelope_is(envelope, SERIALIZER_ARTERY, ARTERY_TERMINATING)) {
        content = mail_from(lane->own, MAIL(terminating, .uid = peer->uid));
        outputs_post(&machine->outputs, 0, &content);
    }
    return true;
}

void lane_frame(struct lane *lane, enum stream stream,
                const struct envelope *envelope, struct slice frame,
                struct inlet *inlet)
{
    const struct peer *peer;
    struct address address;
    struct sherd_ref to;
    struct slice path;
    uint64_t actor;
    uint64_t ask;
    int type;

    /* Only a handshake changes an inlet whose sender is known. */
    if (!(inlet_uid(inlet) &&
          envelope->serializer == SERIALIZER_SHARDING_TYPED) &&
        !machine_handshake(lane->machine, stream, envelope, inlet))
        return;
    peer = peers_sender(&lane->machine->peers, envelope->origin);
    if (!peer) {
        lane->machine->refused++;
        machine_envelope_ended(lane->machine, SHERD_REASON_NODE_GONE, envelope,
                               frame);
        return;
    }
    if (envelope->serializer == SERIALIZER_SHARDING_TYPED &&
        (type = region_type(lane, envelope)) >= 0) {
        begin_run(lane, stream, envelope, frame, peer, (uint32_t)type);
        sharded(lane, envelope->payload);
        return;
    }
    if (envelope_is(envelope, SHARDING_OWN_SERIALIZER, MANIFEST_FLUSH) &&
        (type = region_type(lane, envelope)) >= 0) {
        take_marker(lane, envelope, (uint32_t)type);
        return;
    }
    if (envelope_is(envelope, SHARDING_SERIALIZER, "EA") &&
        (type = region_type(lane, envelope)) >= 0) {
        lane_start_entity(lane, envelope, peer, (uint32_t)type);
        return;
    }
    if (answered(lane, envelope, peer))
        return;
    if (envelope->serializer == SERIALIZER_SELECTION &&
        lane_select(lane, stream, envelope))
        return;
    if (!envelope_is(envelope, SERIALIZER_MISC, "A") &&
        ref_parse(lane->machine->self, envelope->recipient, &address, &path) &&
        lane_actor_at(lane, path, &actor, &ask)) {
        if (envelope_is(envelope, SERIALIZER_SHERD, MANIFEST_STAGE)) {
            lane->unknown += !lane_ask_stage_frame(lane, actor, ask, envelope);
            return;
        }
        to = (struct sherd_ref){ lane->machine->self->node.uid, actor };
        if (envelope_is(envelope, SHARDING_SERIALIZER, "EB"))
            lane_start_acknowledged(lane, envelope, to, ask);
        else
            lane_to_actor(lane, stream, envelope, to, ask);
        return;
    }
    if (!extracted(lane, stream, envelope, frame, peer))
        carry(lane, stream, envelope);
}

void lane_frames_end(struct lane *lane)
{
    lane->run.head.size = 0;
    lane_batch_end(lane);
}
