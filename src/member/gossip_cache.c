/* Packs and reads a gossip in two parts. A full flush splits the stream (RFC 1951); gzip frames it
 * (RFC 1952). */
#include "member/gossip_cache.h"

#include <zlib.h>

#include "base/check.h"
#include "base/limits.h"
#include "member/wire_parts.h"

enum { HEADER_SIZE = 10, TRAILER_SIZE = 8, OVERVIEW = 5 << 3 | 2, SEEN = 1 << 3 };

static const uint8_t header[HEADER_SIZE] = { 0x1f, 0x8b, 8, 0, 0,
                                             0,    0,    0, 0, 3 };
static void forget_names(struct gossip_names *names)
{
    for (uint32_t i = 0; i < names->members.count; i++)
        profile_drop(names->members.items[i]);
    names->members.count = names->gone.count = 0;
    buf_clear(&names->bytes);
}

void gossip_cache_clear(struct gossip_cache *head)
{
    buf_clear(&head->bytes);
}

void gossip_cache_fini(struct gossip_cache *head)
{
    forget_names(&head->names);
    buf_fini(&head->names.bytes);
    vec_fini(&head->names.members);
    vec_fini(&head->names.gone);
    buf_fini(&head->bytes);
    *head = (struct gossip_cache){ 0 };
}

static uint32_t crc_of(struct slice bytes)
{
    return (uint32_t)crc32(crc32(0, NULL, 0), bytes.data, (uInt)bytes.size);
}

/* True if these are exactly the names of the gossip's nodes. */
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

/* Writes all of the head but the names. Returns the size of the digits at its beginning. */
static size_t write_rest(struct buf *bytes, const struct gossip *gossip)
{
    size_t digits;

    gossip_write_hashes(bytes, gossip);
    digits = bytes->size;
    gossip_write_rest(bytes, gossip);
    gossip_write_observations(bytes, gossip);
    return digits;
}

/* The bytes of names->bytes are of this gossip: keeps its nodes with them. */
static void keep_names(struct gossip_names *names, const struct gossip *gossip,
                       size_t size, uint32_t crc)
{
    for (uint32_t i = 0; i < gossip->members.count; i++)
        vec_push(&names->members,
                 profile_hold(gossip->members.items[i].profile));
    for (uint32_t i = 0; i < gossip->tombstones.count; i++)
        vec_push(&names->gone, gossip->tombstones.items[i].node);
    names->size = size;
    names->crc = crc;
}

static void make_names(const struct identity *identity,
                       const struct gossip *gossip, struct gossip_names *names)
{
    struct buf bytes = { 0 };

    forget_names(names);
    gossip_write_names(&bytes, identity, gossip);
    gossip_pack_part(&names->bytes, buf_slice(&bytes), 0, false);
    keep_names(names, gossip, bytes.size, crc_of(buf_slice(&bytes)));
    buf_fini(&bytes);
}

/* Sets size and crc of the head from its names and the rest. */
static void measure(struct gossip_cache *head, size_t rest_size,
                    uint32_t rest_crc)
{
    head->size = head->names.size + rest_size;
    head->crc = (uint32_t)crc32_combine(head->names.crc, rest_crc,
                                        (z_off_t)rest_size);
}

/* Makes all of the head after the names. */
static void make_rest(const struct gossip *gossip, struct gossip_cache *head)
{
    struct buf bytes = { 0 };
    size_t digits = write_rest(&bytes, gossip);

    buf_put_slice(&head->bytes, buf_slice(&head->names.bytes));
    gossip_pack_part(&head->bytes, buf_slice(&bytes), digits, false);
    measure(head, bytes.size, crc_of(buf_slice(&bytes)));
    buf_fini(&bytes);
}

bool gossip_cache_make_step(const struct identity *identity, const struct gossip *gossip,
                    struct gossip_cache *head)
{
    if (head->bytes.size)
        return false;
    if (!names_fit(&head->names, gossip))
        make_names(identity, gossip, &head->names);
    else
        make_rest(gossip, head);
    return true;
}

void gossip_cache_put_gossip(const struct identity *identity, struct buf *packed,
                     const struct gossip *gossip, struct gossip_cache *head)
{
    struct buf tail = { 0 };

    if (gossip->members.count < GOSSIP_CACHE_MEMBERS_MIN) {
        wire_put_gossip(identity, packed, gossip);
        return;
    }
    while (gossip_cache_make_step(identity, gossip, head))
        ;
    gossip_write_seen(&tail, gossip);
    buf_put(packed, header, HEADER_SIZE);
    buf_put_slice(packed, buf_slice(&head->bytes));
    gossip_pack_part(packed, buf_slice(&tail), 0, true);
    buf_put_u32(packed,
                (uint32_t)crc32_combine(head->crc, crc_of(buf_slice(&tail)),
                                        (z_off_t)tail.size));
    buf_put_u32(packed, (uint32_t)(head->size + tail.size));
    buf_fini(&tail);
}

/* The stream after these first bytes; empty if it begins with others. */
static struct slice behind(struct slice packed, const struct buf *bytes)
{
    size_t size = HEADER_SIZE + bytes->size;

    if (!bytes->size || packed.size < size + TRAILER_SIZE ||
        memcmp(packed.data, header, HEADER_SIZE) != 0 ||
        memcmp(packed.data + HEADER_SIZE, bytes->data, bytes->size) != 0)
        return (struct slice){ 0 };
    return slice_of(packed.data + size, packed.size - size);
}

/* The last bytes of a gzip stream. */
struct trailer {
    uint32_t crc;
    uint32_t size;
};

static struct trailer trailer_of(struct slice packed)
{
    struct cursor cursor = cursor_of(slice_of(
        packed.data + packed.size - TRAILER_SIZE, TRAILER_SIZE));
    struct trailer trailer;

    trailer.crc = cursor_u32(&cursor);
    trailer.size = cursor_u32(&cursor);
    return trailer;
}

/* rest: the stream after bytes that inflate to `before`; the trailer covers both. False: malformed,
 * or larger than a gossip may be. */
static bool inflate_rest(struct buf *bytes, struct slice rest, size_t before,
                         struct gossip_pack_marks *marks)
{
    struct trailer trailer = trailer_of(rest);
    size_t size_max = rest.size * MEMBER_INFLATE_RATIO_MAX;

    if (size_max > MEMBER_INFLATE_SIZE_MAX / 2)
        size_max = MEMBER_INFLATE_SIZE_MAX / 2;
    rest.size -= TRAILER_SIZE;
    return trailer.size >= before && trailer.size - before <= size_max &&
           gossip_pack_inflate_parts(bytes, rest, trailer.size - before, marks);
}

/* The tail may hold only the seen set. Anything else would change the head. */
static bool take_seen(struct slice tail, uint32_t count, bool *seen)
{
    struct cursor cursor = cursor_of(tail);

    for (uint32_t i = 0; i < count; i++)
        seen[i] = false;
    if (cursor_u8(&cursor) != OVERVIEW ||
        cursor_varint(&cursor) != cursor_left(&cursor))
        return false;
    while (!cursor.failed && cursor_left(&cursor)) {
        uint64_t index;

        if (cursor_u8(&cursor) != SEEN)
            return false;
        index = cursor_varint(&cursor);
        if (index >= count)
            return false;
        seen[index] = true;
    }
    return !cursor.failed;
}

bool gossip_cache_get_seen(struct slice packed, const struct gossip *gossip,
                   const struct gossip_cache *head, bool *seen)
{
    struct slice rest = behind(packed, &head->bytes);
    struct buf tail = { 0 };
    struct gossip_pack_marks marks;
    bool good;

    if (!rest.size)
        return false;
    good = inflate_rest(&tail, rest, head->size, &marks) &&
           trailer_of(rest).crc ==
               (uint32_t)crc32_combine(head->crc, crc_of(buf_slice(&tail)),
                                       (z_off_t)tail.size) &&
           take_seen(buf_slice(&tail), gossip->members.count, seen);
    buf_fini(&tail);
    return good;
}

void gossip_cache_opened_fini(struct gossip_cache_opened *opened)
{
    buf_fini(&opened->bytes);
    *opened = (struct gossip_cache_opened){ .bytes = { 0 } };
}

/* Finds the parts of the inflated bytes and checks their crc. names: the known ones, or null. */
static bool take_parts(struct slice packed, size_t start,
                       const struct gossip_pack_marks *marks,
                       const struct gossip_names *names,
                       struct gossip_cache_opened *opened)
{
    struct slice bytes = buf_slice(&opened->bytes);
    uint32_t last = names ? 0 : 1; /* mark where the head ends */
    uint32_t crc;

    if (marks->count == last + 1) {
        opened->names_end = start + (names ? 0 : marks->at[0].packed);
        opened->names_size = names ? 0 : marks->at[0].size;
        opened->head_end = start + marks->at[last].packed;
        opened->head_size = marks->at[last].size;
    }
    opened->names_crc = crc_of(slice_of(bytes.data, opened->names_size));
    opened->rest_crc = crc_of(slice_of(bytes.data + opened->names_size,
                                       opened->head_size - opened->names_size));
    crc = (uint32_t)crc32_combine(
        opened->names_crc, opened->rest_crc,
        (z_off_t)(opened->head_size - opened->names_size));
    crc = (uint32_t)crc32_combine(
        crc,
        crc_of(slice_of(bytes.data + opened->head_size,
                        bytes.size - opened->head_size)),
        (z_off_t)(bytes.size - opened->head_size));
    if (names)
        crc = (uint32_t)crc32_combine(names->crc, crc, (z_off_t)bytes.size);
    return crc == trailer_of(packed).crc;
}

void gossip_cache_open(struct slice packed, const struct gossip_cache *head,
               struct gossip_cache_opened *opened)
{
    const struct gossip_names *names = &head->names;
    struct slice rest = behind(packed, &names->bytes);
    struct gossip_pack_marks marks;

    if (rest.size) {
        opened->known_size = names->bytes.size;
    } else {
        names = NULL;
        if (packed.size < HEADER_SIZE + TRAILER_SIZE ||
            memcmp(packed.data, header, HEADER_SIZE) != 0)
            return;
        rest = slice_of(packed.data + HEADER_SIZE, packed.size - HEADER_SIZE);
    }
    opened->is_open =
        inflate_rest(&opened->bytes, rest, names ? names->size : 0, &marks) &&
        take_parts(packed, packed.size - rest.size, &marks, names, opened);
}

/* True if the names that were known when it was opened are still known. */
static bool still_fits(struct slice packed, const struct gossip_names *names,
                       const struct gossip_cache_opened *opened)
{
    return !opened->known_size || (opened->known_size == names->bytes.size &&
                                   behind(packed, &names->bytes).size);
}

/* The named nodes, in memory of the arena. Null: too many for it. */
static const struct node_id *const *
named_nodes(struct arena *arena, const struct gossip_names *names)
{
    ProtobufCAllocator *allocator = &arena->allocator;
    uint32_t members = names->members.count;
    const struct node_id **nodes =
        allocator->alloc(allocator->allocator_data,
                         (members + names->gone.count) * sizeof *nodes);
    struct node_id *copies = allocator->alloc(allocator->allocator_data,
                                              members * sizeof *copies);

    if (!nodes || !copies)
        return NULL;
    for (uint32_t i = 0; i < members; i++) {
        copies[i] = profile_node(names->members.items[i]);
        nodes[i] = &copies[i];
    }
    for (uint32_t i = 0; i < names->gone.count; i++)
        nodes[members + i] = &names->gone.items[i];
    return nodes;
}

static bool read_usual(const struct identity *identity, struct slice bytes,
                       const struct gossip_names *names,
                       const struct gossip *known, struct gossip *gossip)
{
    struct given_names given;
    struct arena arena;
    bool good;

    if (names)
        given = (struct given_names){
            .members = names->members.items,
            .member_count = names->members.count,
            .gone = names->gone.items,
            .gone_count = names->gone.count,
        };
    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    good = gossip_read(&arena, identity, bytes, names ? &given : NULL, known,
                       gossip);
    arena_fini(&arena);
    return good;
}

/* Reads what follows known names with the general decoder. False: the message has names of its own,
 * or is malformed. */
static bool read_any(const struct identity *identity, struct slice bytes,
                     const struct gossip_names *names,
                     const struct gossip *known, struct gossip *gossip,
                     enum verdict *verdict)
{
    const struct node_id *const *nodes = NULL;
    Cluster__Gossip *message;
    struct arena arena;

    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    message = (void *)protobuf_c_message_unpack(&cluster__gossip__descriptor,
                                                &arena.allocator, bytes.size,
                                                bytes.data);
    if (message && !message->n_addresses)
        nodes = named_nodes(&arena, names);
    if (nodes) {
        message->n_addresses = names->members.count + names->gone.count;
        *verdict = part_get_gossip(&arena, identity, message, nodes, known,
                                   gossip);
    }
    arena_fini(&arena);
    return nodes != NULL;
}

enum verdict gossip_cache_get_gossip(const struct identity *identity,
                             struct slice packed, const struct gossip *known,
                             const struct gossip_cache *head,
                             struct gossip *gossip, struct gossip_cache_opened *opened)
{
    const struct gossip_names *names;
    struct slice bytes;
    enum verdict verdict;

    if (!opened->is_open || !still_fits(packed, &head->names, opened)) {
        gossip_cache_opened_fini(opened);
        gossip_cache_open(packed, head, opened);
    }
    names = opened->known_size ? &head->names : NULL;
    bytes = buf_slice(&opened->bytes);
    if (opened->is_open && read_usual(identity, bytes, names, known, gossip))
        return WIRE_OK;
    if (opened->is_open && names &&
        read_any(identity, bytes, names, known, gossip, &verdict)) {
        gossip_cache_opened_fini(opened);
        return verdict;
    }
    gossip_cache_opened_fini(opened);
    /* Another form, more names, or an error, which this call reports. */
    return wire_get_gossip(identity, packed, known, gossip);
}

/* Keeps the part of `packed` that inflates to these names. */
static void take_names(const struct identity *identity, struct slice packed,
                       const struct gossip_cache_opened *opened,
                       const struct gossip *gossip, struct gossip_names *names)
{
    struct slice packed_names = slice_of(opened->bytes.data, opened->names_size);
    struct buf wanted = { 0 };

    if (!opened->names_size || names_fit(names, gossip))
        return;
    gossip_write_names(&wanted, identity, gossip);
    if (slice_equal(buf_slice(&wanted), packed_names)) {
        forget_names(names);
        buf_put(&names->bytes, packed.data + HEADER_SIZE,
                opened->names_end - HEADER_SIZE);
        keep_names(names, gossip, opened->names_size, opened->names_crc);
    }
    buf_fini(&wanted);
}

void gossip_cache_take(const struct identity *identity, struct slice packed,
               const struct gossip_cache_opened *opened, const struct gossip *gossip,
               struct gossip_cache *head)
{
    size_t rest_size = opened->head_size - opened->names_size;
    struct buf wanted = { 0 };
    struct slice names;

    gossip_cache_clear(head);
    if (gossip->members.count < GOSSIP_CACHE_MEMBERS_MIN || !opened->names_end)
        return;
    take_names(identity, packed, opened, gossip, &head->names);
    names = slice_of(packed.data + HEADER_SIZE,
                     opened->names_end - HEADER_SIZE);
    if (!names_fit(&head->names, gossip) ||
        !slice_equal(buf_slice(&head->names.bytes), names))
        return;
    (void)write_rest(&wanted, gossip); /* by any sender */
    if (slice_equal(buf_slice(&wanted),
                    slice_of(opened->bytes.data + opened->names_size,
                             rest_size))) {
        buf_put(&head->bytes, packed.data + HEADER_SIZE,
                opened->head_end - HEADER_SIZE);
        measure(head, rest_size, opened->rest_crc);
    }
    buf_fini(&wanted);
}
