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

void head_fini(struct gossip_head *head)
{
    buf_fini(&head->bytes);
    *head = (struct gossip_head){ 0 };
}

static uint32_t crc_of(struct slice bytes)
{
    return (uint32_t)crc32(crc32(0, NULL, 0), bytes.data, (uInt)bytes.size);
}

/* The head's message. */
static void encode(const struct identity *identity, struct buf *bytes,
                   const struct gossip *gossip)
{
    Cluster__GossipHead message = CLUSTER__GOSSIP_HEAD__INIT;
    const Cluster__Gossip *whole;
    struct arena arena;

    arena_init(&arena, SIZE_MAX);
    whole = part_of_gossip(&arena, identity, gossip);
    message.n_addresses = whole->n_addresses;
    message.addresses = whole->addresses;
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
    arena_fini(&arena);
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

static void make(const struct identity *identity, const struct gossip *gossip,
                 struct gossip_head *head)
{
    struct buf bytes = { 0 };

    encode(identity, &bytes, gossip);
    head->size = bytes.size;
    head->crc = crc_of(buf_slice(&bytes));
    pack_part(&head->bytes, buf_slice(&bytes), false);
    buf_fini(&bytes);
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

/* The bytes behind a head that is ours, or nothing. */
static struct slice behind(struct slice packed, const struct gossip_head *head)
{
    size_t size = HEADER_SIZE + head->bytes.size;

    if (!head->bytes.size || packed.size < size + TRAILER_SIZE ||
        memcmp(packed.data, header, HEADER_SIZE) != 0 ||
        memcmp(packed.data + HEADER_SIZE, head->bytes.data,
               head->bytes.size) != 0)
        return (struct slice){ 0 };
    return slice_of(packed.data + size, packed.size - size);
}

static bool inflate_tail(struct buf *tail, struct slice rest,
                         const struct gossip_head *head)
{
    struct cursor trailer =
        cursor_of(slice_of(rest.data + rest.size - TRAILER_SIZE, TRAILER_SIZE));
    size_t size_max = rest.size * MEMBER_INFLATE_RATIO_MAX;

    if (size_max > MEMBER_INFLATE_SIZE_MAX / 2)
        size_max = MEMBER_INFLATE_SIZE_MAX / 2;
    rest.size -= TRAILER_SIZE;
    return pack_inflate_part(tail, rest, true, size_max) &&
           cursor_u32(&trailer) ==
               (uint32_t)crc32_combine(head->crc, crc_of(buf_slice(tail)),
                                       (z_off_t)tail->size) &&
           cursor_u32(&trailer) == (uint32_t)(head->size + tail->size);
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
    struct slice rest = behind(packed, head);
    const Cluster__GossipTail *message = NULL;
    struct buf tail = { 0 };
    struct arena arena;
    bool good;

    if (!rest.size)
        return false;
    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    if (inflate_tail(&tail, rest, head))
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

/* Where the last full flush of a stream ended; 0 when there was none. */
static size_t last_mark(struct slice packed)
{
    for (size_t at = packed.size; at >= HEADER_SIZE + MARK_SIZE; at--)
        if (!memcmp(packed.data + at - MARK_SIZE, mark, MARK_SIZE))
            return at;
    return 0;
}

void head_take(const struct identity *identity, struct slice packed,
               const struct gossip *gossip, struct gossip_head *head)
{
    size_t end = last_mark(packed);
    struct buf wanted = { 0 };
    struct buf found = { 0 };
    struct slice part;

    head_fini(head);
    if (gossip->members.count < HEAD_MEMBERS_MIN || !end)
        return;
    part = slice_of(packed.data + HEADER_SIZE, end - HEADER_SIZE);
    encode(identity, &wanted, gossip);
    if (pack_inflate_part(&found, part, false, wanted.size) &&
        slice_equal(buf_slice(&found), buf_slice(&wanted))) {
        buf_put_slice(&head->bytes, part);
        head->size = wanted.size;
        head->crc = crc_of(buf_slice(&wanted));
    }
    buf_fini(&wanted);
    buf_fini(&found);
}
