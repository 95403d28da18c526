/* Sends and takes StartEntity and its acknowledgement: for users, other nodes, and remembered
 * entities that moved because the number of shards changed.
 *
 * Both use routes and regions. A lane that moves an entity is the sender, under a number that no
 * actor has: a lane that does not exist, the type and the former shard. */
#include "node/lane/lane.h"

#include "artery/extension.h"
#include "base/limits.h"
#include "shard/shard_id.h"
#include "shard/wire.h"

_Static_assert(2 * SHARDS_MAX <= 1 << 24, "a shard's place in a generation");
_Static_assert(LANES_MAX == LANE_MOVER, "a lane, and that it moves");

/* ---- on this lane ---- */

void lane_move(struct lane *lane, uint32_t type, int32_t shard,
               struct slice id)
{
    struct message *message = actors_entity_message(
        lane->actors, (uint16_t)type, id, slice_of(NULL, 0));

    message->kind = MESSAGE_START;
    message->sender = (struct sherd_ref){
        lane->machine->self->node.uid,
        actor_id_make(LANE_MOVER | lane->own, shard_place(shard), type)
    };
    lane_set_shard(lane, message);
    lane_send(lane, message);
}

bool lane_is_mover(struct sherd_ref ref)
{
    return actor_id_lane(ref.actor) / LANES_MAX == 1;
}

void lane_moved(struct lane *lane, struct message *ack)
{
    uint32_t type = actor_id_slot(ack->to.actor);
    int32_t shard = shard_at_place(actor_id_generation(ack->to.actor));

    /* a node with another number of shards may name the same one */
    if (type < lane->type_count && (int32_t)(uint32_t)ack->ask != shard)
        remember_moved(&lane->types[type].remember, lane->machine->now, shard,
                       message_body(ack));
    actors_message_free(lane->actors, ack);
}

/* ---- to another node ---- */

/* Writes one of Akka's messages between regions, in order with others on the link. False: no
 * room. */
static bool write_shard_message(struct lane *lane, struct peer *peer,
                                enum stream stream,
                                const struct shard_message *message,
                                struct slice recipient, struct slice sender)
{
    struct peer_links *links = &lane->machine->links;
    struct buf payload = { 0 };
    struct outbound outbound = { .to = peer_node(peer),
                                 .stream = stream,
                                 .serializer = SHARDING_SERIALIZER,
                                 .recipient = recipient,
                                 .sender = sender };
    bool sent;

    shard_message_put(&payload, message, lane->machine->self);
    outbound.manifest = slice_text(shard_message_manifest(message->kind));
    outbound.payload = buf_slice(&payload);
    sent = link_send(peer_link(links, peer, stream),
                     lane->machine->now, peer->tables, &outbound);
    peer_touched(links, peer, stream);
    buf_fini(&payload);
    return sent;
}

bool lane_write_start(struct lane *lane, struct peer *peer,
                      struct message *message)
{
    const struct type_names *names = &lane->machine->node->names[message->type];
    char name[NAME_MAX];

    if (!write_shard_message(
            lane, peer, lane_stream(lane, message->type),
            &(struct shard_message){ .kind = SHARD_START_ENTITY,
                                     .entity = message_id(message) },
            slice_text(names->is_far ? names->region_plain
                                     : names->remote_path),
            name_sender(lane, message, name)))
        return false;
    actors_message_free(lane->actors, message);
    return true;
}

void lane_write_start_ack(struct lane *lane, struct peer *peer,
                          struct message *message)
{
    char recipient[NAME_MAX];
    char shard[SHARD_TEXT_MAX];

    (void)write_shard_message(
        lane, peer, STREAM_ORDINARY,
        &(struct shard_message){
            .kind = SHARD_START_ENTITY_ACK,
            .entity = message_body(message),
            .shard = shard_name(lane_shard_names(lane, message->msg),
                                (int32_t)(uint32_t)message->ask, shard) },
        name_recipient(lane, message->to, 0, recipient),
        (struct slice){ 0 });
    actors_message_free(lane->actors, message);
}

/* ---- from another node ---- */

void lane_start_entity(struct lane *lane, const struct envelope *envelope,
                       const struct peer *peer, uint32_t type)
{
    struct shard_message start;
    struct message *message;
    uint64_t ask;

    if (!shard_message_read(&start, envelope->serializer, envelope->manifest,
                            envelope->payload)) {
        lane->unknown++;
        return;
    }
    if (!start.entity.size || start.entity.size > SHERD_ID_MAX) {
        lane->unknown++;
        shard_message_fini(&start);
        return;
    }
    message = actors_entity_message(lane->actors, (uint16_t)type, start.entity,
                                    slice_of(NULL, 0));
    message->kind = MESSAGE_START;
    message->sender = name_any(lane, envelope->origin, envelope->sender, &ask);
    message->ask = ask;
    message->arrived = (peer->capabilities & CAPABILITY_SHERD) != 0;
    lane_set_shard(lane, message);
    shard_message_fini(&start);
    lane_arrived(lane, message);
}

/* Reads the shard's id in an acknowledgement to a mover. */
static bool read_shard(struct lane *lane, struct sherd_ref mover, struct slice id,
                       int32_t *shard)
{
    uint32_t type = actor_id_slot(mover.actor);

    return type < lane->type_count &&
           shard_number(lane_shard_names(lane, type), id, shard);
}

void lane_start_acknowledged(struct lane *lane, const struct envelope *envelope,
                             struct sherd_ref to, uint64_t ask)
{
    struct shard_message ack;
    struct message *message;
    int32_t shard;

    if (!shard_message_read(&ack, envelope->serializer, envelope->manifest,
                            envelope->payload)) {
        lane->unknown++;
        return;
    }
    if (lane_is_mover(to) && read_shard(lane, to, ack.shard, &shard)) {
        message = actors_message(lane->actors, ack.entity);
        message->kind = MESSAGE_START_ACK;
        message->to = to;
        message->ask = (uint32_t)shard;
        lane_arrived(lane, message);
    } else if (ask && !lane_is_mover(to)) { /* a JVM's region acknowledges */
        message = actors_message(lane->actors, ack.shard);
        message->kind = MESSAGE_ANSWER;
        message->to = to;
        message->ask = ask;
        lane_arrived(lane, message);
    } else {
        lane->unknown++;
    }
    shard_message_fini(&ack);
}
