/* The two parts of a gossip: RFC 1951 lets a stream be cut behind a full flush, RFC 1952 frames it. */
#include "member/head.h"

#include <zlib.h>

#include "base/check.h"
#include "base/limits.h"
#include "member/wire_parts.h"

enum { HEADER_SIZE = 10, TRAILER_SIZE = 8, MARK_SIZE = 4 };

static const uint8_t header[HEADER_SIZE] = { 0x1f, 0x8b, 8, 0, 0,
                                             0,    0,    0, 0, 3 };
/* An empty stored block, which ends a full flush. */
static const uint8_t mark[MARK_SIZE] = { 0, 0, 0xff, 0xff };

static void forget_names(struct gossip_names *names)
{
    for (uint32_t i = 0; i < names->members.count; i++)
        profile_drop(names->members.items[i]);
    names->members.count = names->gone.count = 0;
    buf_clear(&names->bytes);
}

void head_clear(struct gossip_head *head)
{
    buf_clear(&head->bytes);
}

void head_fini(struct gossip_head *head)
{
    forget_names(&head->names);
    buf_fini(&head->names.bytes);
    vec_fini(&head->names.members);
    vec_fini(&head->names.gone);
    buf_fini(&head->bytes);
    *head = (struct gossip_head){ 0 };
}

static uint32_t crc_of(struct slice bytes)
{
    return (uint32_t)crc32(crc32(0, NULL, 0), bytes.data, (uInt)bytes.size);
}

/* Whether these are the names of just the gossip's nodes. */
static bool names_fit(const struct gossip_names *names,
                      const struct gossip *gossip)
{
    if (!names->bytes.size || names->members.count != gossip->members.count ||
        names->gone.count != gossip->tombstones.count)
        return false;
    for (uint32_t i = 0; i < names->members.count; i++)
        if (names->members.items[i] != gossip->members.items[i].profile)
            return false;
    for (uint32_t i = 0; i < names->gone.count; i++)
        if (!node_equal(&names->gone.items[i],
                        &gossip->tombstones.items[i].node))
            return false;
    return true;
}

static void encode_names(const Cluster__Gossip *whole, struct buf *bytes)
{
    Cluster__GossipNames message = CLUSTER__GOSSIP_NAMES__INIT;

    message.n_addresses = whole->n_addresses;
    message.addresses = whole->addresses;
    part_put(bytes, &message.base);
}

/* The rest of the head. */
static void encode_rest(const Cluster__Gossip *whole, struct buf *bytes)
{
    Cluster__GossipHead message = CLUSTER__GOSSIP_HEAD__INIT;

    message.n_roles = whole->n_roles;
    message.roles = whole->roles;
    message.n_hashes = whole->n_hashes;
    message.hashes = whole->hashes;
    message.n_members = whole->n_members;
    message.members = whole->members;
    message.clock = whole->clock;
    message.n_tombstones = whole->n_tombstones;
    message.tombstones = whole->tombstones;
    message.n_app_versions = whole->n_app_versions;
    message.app_versions = whole->app_versions;
    part_put(bytes, &message.base);
}

static void encode_tail(struct buf *bytes, const struct gossip *gossip)
{
    Cluster__GossipTail message = CLUSTER__GOSSIP_TAIL__INIT;
    struct arena arena;

    arena_init(&arena, SIZE_MAX);
    message.overview = part_of_overview(&arena, gossip);
    part_put(bytes, &message.base);
    arena_fini(&arena);
}

/* Names whose bytes stand in names->bytes already are those of the gossip. */
static void keep_names(struct gossip_names *names, const struct gossip *gossip,
                       struct slice encoded)
{
    for (uint32_t i = 0; i < gossip->members.count; i++)
        vec_push(&names->members,
                 profile_hold(gossip->members.items[i].profile));
    for (uint32_t i = 0; i < gossip->tombstones.count; i++)
        vec_push(&names->gone, gossip->tombstones.items[i].node);
    names->size = encoded.size;
    names->crc = crc_of(encoded);
}

static void make_names(const struct gossip *gossip,
                       const Cluster__Gossip *whole,
                       struct gossip_names *names)
{
    struct buf bytes = { 0 };

    if (names_fit(names, gossip))
        return;
    forget_names(names);
    encode_names(whole, &bytes);
    pack_part(&names->bytes, buf_slice(&bytes), false);
    keep_names(names, gossip, buf_slice(&bytes));
    buf_fini(&bytes);
}

/* The head's size and crc, from its names and the rest. */
static void measure(struct gossip_head *head, struct slice rest)
{
    head->size = head->names.size + rest.size;
    head->crc = (uint32_t)crc32_combine(head->names.crc, crc_of(rest),
                                        (z_off_t)rest.size);
}

static void make(const struct identity *identity, const struct gossip *gossip,
                 struct gossip_head *head)
{
    const Cluster__Gossip *whole;
    struct buf bytes = { 0 };
    struct arena arena;

    arena_init(&arena, SIZE_MAX);
    whole = part_of_gossip(&arena, identity, gossip);
    make_names(gossip, whole, &head->names);
    encode_rest(whole, &bytes);
    buf_put_slice(&head->bytes, buf_slice(&head->names.bytes));
    pack_part(&head->bytes, buf_slice(&bytes), false);
    measure(head, buf_slice(&bytes));
    buf_fini(&bytes);
    arena_fini(&arena);
}

void head_put_gossip(const struct identity *identity, struct buf *packed,
                     const struct gossip *gossip, struct gossip_head *head)
{
    struct buf tail = { 0 };

    if (gossip->members.count < HEAD_MEMBERS_MIN) {
        wire_put_gossip(identity, packed, gossip);
        return;
    }
    if (!head->bytes.size)
        make(identity, gossip, head);
    encode_tail(&tail, gossip);
    buf_put(packed, header, HEADER_SIZE);
    buf_put_slice(packed, buf_slice(&head->bytes));
    pack_part(packed, buf_slice(&tail), true);
    buf_put_u32(packed,
                (uint32_t)crc32_combine(head->crc, crc_of(buf_slice(&tail)),
                                        (z_off_t)tail.size));
    buf_put_u32(packed, (uint32_t)(head->size + tail.size));
    buf_fini(&tail);
}

/* What is behind the first bytes of a stream when they are these; else nothing. */
static struct slice behind(struct slice packed, const struct buf *bytes)
{
    size_t size = HEADER_SIZE + bytes->size;

    if (!bytes->size || packed.size < size + TRAILER_SIZE ||
        memcmp(packed.data, header, HEADER_SIZE) != 0 ||
        memcmp(packed.data + HEADER_SIZE, bytes->data, bytes->size) != 0)
        return (struct slice){ 0 };
    return slice_of(packed.data + size, packed.size - size);
}

/* rest: what is behind bytes that inflate to so many, with that crc. */
static bool inflate_tail(struct buf *tail, struct slice rest, size_t size,
                         uint32_t crc)
{
    struct cursor trailer =
        cursor_of(slice_of(rest.data + rest.size - TRAILER_SIZE, TRAILER_SIZE));
    size_t size_max = rest.size * MEMBER_INFLATE_RATIO_MAX;

    if (size_max > MEMBER_INFLATE_SIZE_MAX / 2)
        size_max = MEMBER_INFLATE_SIZE_MAX / 2;
    rest.size -= TRAILER_SIZE;
    return pack_inflate_part(tail, rest, true, size_max) &&
           cursor_u32(&trailer) ==
               (uint32_t)crc32_combine(crc, crc_of(buf_slice(tail)),
                                       (z_off_t)tail->size) &&
           cursor_u32(&trailer) == (uint32_t)(size + tail->size);
}

static bool is_member(const struct gossip *gossip, int32_t index,
                      const struct profile *profile)
{
    return index >= 0 && (uint32_t)index < gossip->members.count &&
           gossip->members.items[index].profile == profile;
}

static bool same_rows(const struct gossip *gossip,
                      const Cluster__Observer *part,
                      const struct observer *observer)
{
    if (!is_member(gossip, part->address, observer->profile) ||
        part->version != observer->version ||
        part->n_subjects != observer->rows.count)
        return false;
    for (uint32_t i = 0; i < observer->rows.count; i++) {
        const struct observation *row = &observer->rows.items[i];

        if (!is_member(gossip, part->subjects[i]->address, row->subject) ||
            part->subjects[i]->status != (int32_t)row->status ||
            part->subjects[i]->version != row->version)
            return false;
    }
    return true;
}

static bool same_observations(const struct gossip *gossip,
                              const Cluster__Overview *part)
{
    const struct reachability *table = &gossip->reachability;

    if (part->n_observers != table->observers.count)
        return false;
    for (uint32_t i = 0; i < table->observers.count; i++)
        if (!same_rows(gossip, part->observers[i], &table->observers.items[i]))
            return false;
    return true;
}

static bool take_seen(const struct gossip *gossip,
                      const Cluster__Overview *part, bool *seen)
{
    for (uint32_t i = 0; i < gossip->members.count; i++)
        seen[i] = false;
    for (size_t i = 0; i < part->n_seen; i++) {
        if (part->seen[i] < 0 ||
            (uint32_t)part->seen[i] >= gossip->members.count)
            return false;
        seen[part->seen[i]] = true;
    }
    return true;
}

bool head_get_seen(struct slice packed, const struct gossip *gossip,
                   const struct gossip_head *head, bool *seen)
{
    struct slice rest = behind(packed, &head->bytes);
    const Cluster__GossipTail *message = NULL;
    struct buf tail = { 0 };
    struct arena arena;
    bool good;

    if (!rest.size)
        return false;
    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    if (inflate_tail(&tail, rest, head->size, head->crc))
        message = (const void *)protobuf_c_message_unpack(
            &cluster__gossip_tail__descriptor, &arena.allocator, tail.size,
            tail.data);
    /* Another field would change the head. */
    good = message && !message->base.n_unknown_fields &&
           same_observations(gossip, message->overview) &&
           take_seen(gossip, message->overview, seen);
    arena_fini(&arena);
    buf_fini(&tail);
    return good;
}

/* The nodes that are named, in memory of the arena; null when there are too many for it. */
static const struct node_id *const *
named_nodes(struct arena *arena, const struct gossip_names *names)
{
    ProtobufCAllocator *allocator = &arena->allocator;
    uint32_t members = names->members.count;
    const struct node_id **nodes =
        allocator->alloc(allocator->allocator_data,
                         (members + names->gone.count) * sizeof *nodes);

    if (!nodes)
        return NULL;
    for (uint32_t i = 0; i < members; i++)
        nodes[i] = &names->members.items[i]->node;
    for (uint32_t i = 0; i < names->gone.count; i++)
        nodes[members + i] = &names->gone.items[i];
    return nodes;
}

enum verdict head_get_gossip(const struct identity *identity,
                             struct slice packed, const struct gossip *known,
                             const struct gossip_head *head,
                             struct gossip *gossip)
{
    const struct gossip_names *names = &head->names;
    struct slice rest = behind(packed, &names->bytes);
    const struct node_id *const *nodes = NULL;
    enum verdict verdict = WIRE_MALFORMED;
    Cluster__Gossip *message = NULL;
    struct buf bytes = { 0 };
    struct arena arena;

    if (!rest.size)
        return wire_get_gossip(identity, packed, known, gossip);
    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    if (inflate_tail(&bytes, rest, names->size, names->crc))
        message = (void *)protobuf_c_message_unpack(
            &cluster__gossip__descriptor, &arena.allocator, bytes.size,
            bytes.data);
    if (message && !message->n_addresses)
        nodes = named_nodes(&arena, names);
    if (nodes) {
        message->n_addresses = names->members.count + names->gone.count;
        verdict = part_get_gossip(&arena, identity, message, nodes, known,
                                  gossip);
    }
    arena_fini(&arena);
    buf_fini(&bytes);
    /* More names in the rest: no node of this library writes so, but it may be right. */
    return nodes ? verdict : wire_get_gossip(identity, packed, known, gossip);
}

/* Where the last full flush of a stream ended; 0 when there was none. */
static size_t last_mark(struct slice packed)
{
    for (size_t at = packed.size; at >= HEADER_SIZE + MARK_SIZE; at--)
        if (!memcmp(packed.data + at - MARK_SIZE, mark, MARK_SIZE))
            return at;
    return 0;
}

/* Likewise the first one. */
static size_t first_mark(struct slice packed)
{
    for (size_t at = HEADER_SIZE + MARK_SIZE; at <= packed.size; at++)
        if (!memcmp(packed.data + at - MARK_SIZE, mark, MARK_SIZE))
            return at;
    return 0;
}

/* Whether the part of a stream is one that inflates to the bytes. */
static bool is_part(struct slice part, struct slice wanted)
{
    struct buf found = { 0 };
    bool good = pack_inflate_part(&found, part, false, wanted.size) &&
                slice_equal(buf_slice(&found), wanted);

    buf_fini(&found);
    return good;
}

static void take_names(struct slice packed, const struct gossip *gossip,
                       const Cluster__Gossip *whole,
                       struct gossip_names *names)
{
    size_t end = first_mark(packed);
    struct buf wanted = { 0 };
    struct slice part;

    if (names_fit(names, gossip) || !end)
        return;
    part = slice_of(packed.data + HEADER_SIZE, end - HEADER_SIZE);
    encode_names(whole, &wanted);
    if (is_part(part, buf_slice(&wanted))) {
        forget_names(names);
        buf_put_slice(&names->bytes, part);
        keep_names(names, gossip, buf_slice(&wanted));
    }
    buf_fini(&wanted);
}

void head_take(const struct identity *identity, struct slice packed,
               const struct gossip *gossip, struct gossip_head *head)
{
    size_t end = last_mark(packed);
    const Cluster__Gossip *whole;
    struct buf wanted = { 0 };
    struct arena arena;
    struct slice rest;

    head_clear(head);
    if (gossip->members.count < HEAD_MEMBERS_MIN || !end)
        return;
    arena_init(&arena, SIZE_MAX);
    whole = part_of_gossip(&arena, identity, gossip);
    take_names(packed, gossip, whole, &head->names);
    rest = behind(slice_of(packed.data, end), &head->names.bytes);
    if (rest.size && names_fit(&head->names, gossip)) {
        encode_rest(whole, &wanted);
        if (is_part(rest, buf_slice(&wanted))) {
            buf_put(&head->bytes, packed.data + HEADER_SIZE,
                    end - HEADER_SIZE);
            measure(head, buf_slice(&wanted));
        }
    }
    arena_fini(&arena);
    buf_fini(&wanted);
}
