/* Encodes and decodes all messages but the gossip itself: joining, heartbeats, status,
 * envelopes. */
#include "member/wire.h"

#include <sha1.h>

#include "base/check.h"
#include "base/limits.h"
#include "member/version.h"
#include "member/wire_parts.h"

/* protobuf-c wants char *, but only reads what it encodes. */
static char *text_of(const char *text)
{
    return (char *)(uintptr_t)text;
}

static ProtobufCBinaryData data_of(struct slice slice)
{
    return (ProtobufCBinaryData){ slice.size,
                                  (uint8_t *)(uintptr_t)slice.data };
}

void part_put(struct buf *buf, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);

    (void)protobuf_c_message_pack(message, buf_reserve(buf, size));
    buf->size += size;
}

static void *unpack(struct arena *arena,
                    const ProtobufCMessageDescriptor *descriptor,
                    struct slice payload)
{
    static const uint8_t nothing[1] = { 0 };

    return protobuf_c_message_unpack(descriptor, &arena->allocator,
                                     payload.size,
                                     payload.data ? payload.data : nothing);
}

void part_init_address(Cluster__Address *part, const struct identity *identity,
                       const struct address *address)
{
    cluster__address__init(part);
    part->system = text_of(identity->system);
    part->hostname = text_of(address->host);
    part->port = address->port;
    part->protocol = text_of(identity->protocol);
}

void part_init_node(struct node_part *part, const struct identity *identity,
                    const struct node_id *node)
{
    cluster__node__init(&part->node);
    part_init_address(&part->address, identity, &node->address);
    part->node.address = &part->address;
    part->node.uid = (uint32_t)node->uid;
    part->node.has_uid2 = true;
    part->node.uid2 = (uint32_t)(node->uid >> 32);
}

enum verdict part_get_address(const struct identity *identity,
                              const Cluster__Address *part,
                              struct address *address)
{
    if (!part->protocol || strcmp(part->protocol, identity->protocol) ||
        strcmp(part->system, identity->system))
        return WIRE_FOREIGN;
    if (strlen(part->hostname) > HOST_MAX)
        return WIRE_BEYOND;
    return address_set(address, part->hostname, strlen(part->hostname),
                       part->port)
               ? WIRE_OK
               : WIRE_MALFORMED;
}

enum verdict part_get_node(const struct identity *identity,
                           const Cluster__Node *part, struct node_id *node)
{
    memset(node, 0, sizeof *node);
    node->uid = part->uid | (uint64_t)part->uid2 << 32;
    if (!node->uid) /* here 0 means any incarnation */
        return WIRE_MALFORMED;
    return part_get_address(identity, part->address, &node->address);
}

void wire_put_init_join(const struct identity *identity, struct buf *buf,
                        struct slice config)
{
    struct buf text = { 0 };
    Cluster__InitJoin message = CLUSTER__INIT_JOIN__INIT;

    (void)identity; /* in the frame */
    buf_put_slice(&text, config);
    buf_put_u8(&text, 0);
    message.config = (char *)text.data;
    part_put(buf, &message.base);
    buf_fini(&text);
}

static bool take_text(struct buf *buf, const char *text)
{
    size_t size = text ? strlen(text) : 0;

    buf_clear(buf);
    if (size > MEMBER_CONFIG_SIZE_MAX)
        return false;
    buf_put(buf, text ? text : "", size);
    buf_put_u8(buf, 0);
    buf->size--;
    return true;
}

enum verdict wire_get_init_join(const struct identity *identity,
                                struct slice payload, struct buf *config)
{
    struct arena arena;
    enum verdict verdict = WIRE_MALFORMED;
    const Cluster__InitJoin *message;

    (void)identity; /* in the frame */
    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    message = unpack(&arena, &cluster__init_join__descriptor, payload);
    if (message && take_text(config, message->config))
        verdict = WIRE_OK;
    arena_fini(&arena);
    return verdict;
}

void wire_put_init_join_ack(const struct identity *identity, struct buf *buf,
                            enum config_check check, struct slice config)
{
    Cluster__InitJoinAck message = CLUSTER__INIT_JOIN_ACK__INIT;
    Cluster__ConfigCheck part = CLUSTER__CONFIG_CHECK__INIT;
    Cluster__Address address;
    struct buf text = { 0 };

    part_init_address(&address, identity, &identity->node.address);
    part.type = (Cluster__ConfigCheck__Type)check;
    buf_put_slice(&text, config);
    buf_put_u8(&text, 0);
    if (config.size)
        part.config = (char *)text.data;
    message.address = &address;
    message.check = &part;
    part_put(buf, &message.base);
    buf_fini(&text);
}

enum verdict wire_get_init_join_ack(const struct identity *identity,
                                    struct slice payload,
                                    struct address *address,
                                    enum config_check *check,
                                    struct buf *config)
{
    struct arena arena;
    enum verdict verdict = WIRE_MALFORMED;
    const Cluster__InitJoinAck *message;

    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    message = unpack(&arena, &cluster__init_join_ack__descriptor, payload);
    if (message && message->check->type >= 1 && message->check->type <= 3 &&
        take_text(config, message->check->config)) {
        *check = (enum config_check)message->check->type;
        verdict = part_get_address(identity, message->address, address);
    }
    arena_fini(&arena);
    return verdict;
}

void wire_put_address(const struct identity *identity, struct buf *buf,
                      const struct address *address)
{
    Cluster__Address part;

    part_init_address(&part, identity, address);
    part_put(buf, &part.base);
}

enum verdict wire_get_address(const struct identity *identity,
                              struct slice payload, struct address *address)
{
    struct arena arena;
    enum verdict verdict = WIRE_MALFORMED;
    const Cluster__Address *part;

    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    part = unpack(&arena, &cluster__address__descriptor, payload);
    if (part)
        verdict = part_get_address(identity, part, address);
    arena_fini(&arena);
    return verdict;
}

void wire_put_node(const struct identity *identity, struct buf *buf,
                   const struct node_id *node)
{
    struct node_part part;

    part_init_node(&part, identity, node);
    part_put(buf, &part.node.base);
}

enum verdict wire_get_node(const struct identity *identity,
                           struct slice payload, struct node_id *node)
{
    struct arena arena;
    enum verdict verdict = WIRE_MALFORMED;
    const Cluster__Node *part;

    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    part = unpack(&arena, &cluster__node__descriptor, payload);
    if (part)
        verdict = part_get_node(identity, part, node);
    arena_fini(&arena);
    return verdict;
}

void wire_put_join(const struct identity *identity, struct buf *buf,
                   const struct profile *profile)
{
    Cluster__Join message = CLUSTER__JOIN__INIT;
    struct node_part node;

    part_init_node(&node, identity, PROFILE_NODE(profile));
    message.node = &node.node;
    message.n_roles = profile->traits->role_count;
    message.roles = (char **)(uintptr_t)profile->traits->roles;
    message.app_version = text_of(profile->traits->app_version);
    part_put(buf, &message.base);
}

static enum verdict check_join(const Cluster__Join *message,
                               const char *app_version)
{
    struct version version;

    if (message->n_roles > MEMBER_ROLES_MAX ||
        strlen(app_version) > VERSION_SIZE_MAX)
        return WIRE_BEYOND;
    for (size_t i = 0; i < message->n_roles; i++) {
        if (!*message->roles[i])
            return WIRE_HOSTILE;
        if (strlen(message->roles[i]) > MEMBER_ROLE_SIZE_MAX)
            return WIRE_BEYOND;
    }
    /* A version that does not parse would break every JVM peer. */
    return version_parse(&version, app_version) ? WIRE_OK : WIRE_HOSTILE;
}

enum verdict wire_get_join(const struct identity *identity,
                           struct slice payload, struct profile **profile)
{
    struct arena arena;
    enum verdict verdict = WIRE_MALFORMED;
    const Cluster__Join *message;
    struct node_id node;

    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    message = unpack(&arena, &cluster__join__descriptor, payload);
    if (message)
        verdict = part_get_node(identity, message->node, &node);
    if (verdict == WIRE_OK) {
        const char *version =
            message->app_version ? message->app_version : "0.0.0";

        verdict = check_join(message, version);
        if (verdict == WIRE_OK)
            *profile = profile_new(identity, &node,
                                   (const char *const *)message->roles,
                                   (uint32_t)message->n_roles, version);
    }
    arena_fini(&arena);
    return verdict;
}

enum verdict wire_get_heartbeat(const struct identity *identity,
                                struct slice payload,
                                struct heartbeat *heartbeat)
{
    struct arena arena;
    enum verdict verdict = WIRE_MALFORMED;
    const Cluster__Heartbeat *message;

    if (heartbeat_wire_get_heartbeat(identity, payload, heartbeat))
        return WIRE_OK;
    memset(heartbeat, 0, sizeof *heartbeat);
    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    message = unpack(&arena, &cluster__heartbeat__descriptor, payload);
    if (message) {
        heartbeat->sequence = message->sequence;
        heartbeat->created = message->created;
        verdict =
            part_get_address(identity, message->from, &heartbeat->from.address);
    }
    arena_fini(&arena);
    return verdict;
}

enum verdict wire_get_response(const struct identity *identity,
                               struct slice payload,
                               struct heartbeat *heartbeat)
{
    struct arena arena;
    enum verdict verdict = WIRE_MALFORMED;
    const Cluster__Response *message;

    if (heartbeat_wire_get_response(identity, payload, heartbeat))
        return WIRE_OK;
    memset(heartbeat, 0, sizeof *heartbeat);
    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    message = unpack(&arena, &cluster__response__descriptor, payload);
    if (message) {
        heartbeat->sequence = message->sequence;
        heartbeat->created = message->created;
        verdict = part_get_node(identity, message->from, &heartbeat->from);
    }
    arena_fini(&arena);
    return verdict;
}

void wire_seen_digest(const struct identity *identity,
                      const struct gossip *gossip,
                      uint8_t digest[SEEN_DIGEST_SIZE])
{
    struct buf text = { 0 };
    SHA1_CTX sha1;

    SHA1Init(&sha1);
    for (uint32_t i = 0; i < gossip->members.count; i++) {
        const struct gossip_member *member = &gossip->members.items[i];

        if (!member->seen)
            continue;
        if (text.size)
            buf_put_text(&text, ",");
        ref_put(&text, identity, &PROFILE_NODE(member->profile)->address,
                slice_text(""));
    }
    SHA1Update(&sha1, text.data, text.size);
    SHA1Final(digest, &sha1);
    buf_fini(&text);
}

void wire_put_status(const struct identity *identity, struct buf *buf,
                     const struct node_id *from, const struct gossip *gossip,
                     const uint8_t digest[SEEN_DIGEST_SIZE])
{
    Cluster__Status message = CLUSTER__STATUS__INIT;
    struct node_part node;
    struct arena arena;

    arena_init(&arena, SIZE_MAX);
    part_init_node(&node, identity, from);
    message.from = &node.node;
    message.clock = part_of_clock(&arena, &gossip->clock, &message.hashes);
    message.n_hashes = gossip->clock.entries.count;
    message.has_seen_digest = true;
    message.seen_digest = data_of(slice_of(digest, SEEN_DIGEST_SIZE));
    part_put(buf, &message.base);
    arena_fini(&arena);
}

enum verdict wire_get_status(const struct identity *identity,
                             struct slice payload, struct gossip_status *status)
{
    struct arena arena;
    enum verdict verdict = WIRE_MALFORMED;
    const Cluster__Status *message;

    memset(status, 0, sizeof *status);
    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    message = unpack(&arena, &cluster__status__descriptor, payload);
    if (message)
        verdict = part_get_node(identity, message->from, &status->from);
    if (verdict == WIRE_OK)
        verdict = part_get_clock(message->clock, message->hashes,
                                 message->n_hashes, &status->clock);
    if (verdict == WIRE_OK && message->has_seen_digest &&
        message->seen_digest.len) {
        status->has_digest = true;
        if (message->seen_digest.len == SEEN_DIGEST_SIZE)
            memcpy(status->digest, message->seen_digest.data, SEEN_DIGEST_SIZE);
    }
    arena_fini(&arena);
    return verdict;
}

void wire_put_envelope(const struct identity *identity, struct buf *buf,
                       const struct node_id *from, const struct node_id *to,
                       struct slice packed)
{
    Cluster__Envelope message = CLUSTER__ENVELOPE__INIT;
    struct node_part from_part;
    struct node_part to_part;

    part_init_node(&from_part, identity, from);
    part_init_node(&to_part, identity, to);
    message.from = &from_part.node;
    message.to = &to_part.node;
    message.gossip = data_of(packed);
    part_put(buf, &message.base);
}

enum verdict wire_get_envelope(const struct identity *identity,
                               struct slice payload, struct node_id *from,
                               struct node_id *to, struct buf *packed)
{
    struct arena arena;
    enum verdict verdict = WIRE_MALFORMED;
    const Cluster__Envelope *message;

    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    message = unpack(&arena, &cluster__envelope__descriptor, payload);
    if (message)
        verdict = part_get_node(identity, message->from, from);
    if (verdict == WIRE_OK)
        verdict = part_get_node(identity, message->to, to);
    if (verdict == WIRE_OK) {
        buf_clear(packed);
        buf_put(packed, message->gossip.data, message->gossip.len);
    }
    arena_fini(&arena);
    return verdict;
}

void wire_put_gossip(const struct identity *identity, struct buf *buf,
                     const struct gossip *gossip)
{
    struct buf bytes = { 0 };

    gossip_write(&bytes, identity, gossip);
    gossip_pack_deflate(buf, buf_slice(&bytes));
    buf_fini(&bytes);
}

enum verdict wire_read_gossip(const struct identity *identity,
                              struct slice bytes, const struct gossip *known,
                              struct gossip *gossip)
{
    struct arena arena;
    const Cluster__Gossip *message;
    enum verdict verdict = WIRE_MALFORMED;

    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    if (gossip_read(&arena, identity, bytes, NULL, known, gossip)) {
        arena_fini(&arena);
        return WIRE_OK;
    }
    arena_fini(&arena);
    message = unpack(&arena, &cluster__gossip__descriptor, bytes);
    if (message)
        verdict = part_get_gossip(&arena, identity, message, NULL, known,
                                  gossip);
    arena_fini(&arena);
    return verdict;
}

enum verdict wire_get_gossip(const struct identity *identity,
                             struct slice packed, const struct gossip *known,
                             struct gossip *gossip)
{
    struct buf bytes = { 0 };
    enum verdict verdict = WIRE_MALFORMED;

    if (gossip_pack_inflate(&bytes, packed))
        verdict = wire_read_gossip(identity, buf_slice(&bytes), known, gossip);
    buf_fini(&bytes);
    return verdict;
}

/* Writes a field of bytes. */
static void put_part(struct buf *buf, uint8_t field, struct slice bytes)
{
    buf_put_u8(buf, (uint8_t)(field << 3 | 2));
    buf_put_varint(buf, bytes.size);
    buf_put_slice(buf, bytes);
}

void wire_put_welcome(const struct identity *identity, struct buf *buf,
                      const struct node_id *from, const struct gossip *gossip)
{
    struct buf node = { 0 };
    struct buf written = { 0 };
    struct buf bytes = { 0 };

    wire_put_node(identity, &node, from);
    gossip_write(&written, identity, gossip);
    put_part(&bytes, 1, buf_slice(&node));
    put_part(&bytes, 2, buf_slice(&written));
    gossip_pack_deflate(buf, buf_slice(&bytes));
    buf_fini(&node);
    buf_fini(&written);
    buf_fini(&bytes);
}

/* Reads a field of bytes, if it is the next one and whole. */
static bool get_part(struct cursor *cursor, uint8_t field, struct slice *bytes)
{
    uint64_t size;

    if (cursor_u8(cursor) != (uint8_t)(field << 3 | 2))
        return false;
    size = cursor_varint(cursor);
    if (cursor->failed || size > cursor_left(cursor))
        return false;
    *bytes = cursor_slice(cursor, (size_t)size);
    return true;
}

/* Reads a Welcome in its usual form. False: the general decoder must read it. */
static bool read_welcome(const struct identity *identity, struct slice bytes,
                         const struct gossip *known, struct node_id *from,
                         struct gossip *gossip)
{
    struct cursor cursor = cursor_of(bytes);
    struct slice node;
    struct slice whole;

    return get_part(&cursor, 1, &node) && get_part(&cursor, 2, &whole) &&
           !cursor_left(&cursor) &&
           wire_get_node(identity, node, from) == WIRE_OK &&
           wire_read_gossip(identity, whole, known, gossip) == WIRE_OK;
}

static enum verdict decode_welcome(const struct identity *identity,
                                   struct slice bytes,
                                   const struct gossip *known,
                                   struct node_id *from, struct gossip *gossip)
{
    struct arena arena;
    const Cluster__Welcome *message;
    enum verdict verdict = WIRE_MALFORMED;

    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    message = unpack(&arena, &cluster__welcome__descriptor, bytes);
    if (message)
        verdict = part_get_node(identity, message->from, from);
    if (verdict == WIRE_OK)
        verdict =
            part_get_gossip(&arena, identity, message->gossip, NULL, known,
                            gossip);
    arena_fini(&arena);
    return verdict;
}

enum verdict wire_read_welcome(const struct identity *identity,
                               struct slice bytes, const struct gossip *known,
                               struct node_id *from, struct gossip *gossip)
{
    if (read_welcome(identity, bytes, known, from, gossip))
        return WIRE_OK;
    gossip_fini(gossip);
    return decode_welcome(identity, bytes, known, from, gossip);
}

enum verdict wire_get_welcome(const struct identity *identity,
                              struct slice payload, const struct gossip *known,
                              struct node_id *from, struct gossip *gossip)
{
    struct buf bytes = { 0 };
    enum verdict verdict = WIRE_MALFORMED;

    if (gossip_pack_inflate(&bytes, payload))
        verdict = wire_read_welcome(identity, buf_slice(&bytes), known, from,
                                    gossip);
    buf_fini(&bytes);
    return verdict;
}
