/* Fuzzes a gossip between members, before compression: it is decoded, merged into a valid state,
 * and sent on. A decoded gossip encodes to the same bytes. */
#include "core.h"
#include "member/gossip_cache.h"
#include "member/gossip_pack.h"
#include "member/wire_parts.h"

#include <stdio.h>
#include <zlib.h>

#include "base/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(struct slice packed)
{
    struct gossip none = { 0 };
    struct gossip gossip = { 0 };
    struct gossip again = { 0 };
    struct buf once = { 0 };
    struct buf twice = { 0 };

    if (wire_get_gossip(&core_identity, packed, &none, &gossip) == WIRE_OK) {
        check(gossip_valid(&gossip));
        wire_put_gossip(&core_identity, &once, &gossip);
        check(wire_get_gossip(&core_identity, buf_slice(&once), &none,
                              &again) == WIRE_OK);
        wire_put_gossip(&core_identity, &twice, &again);
        check(slice_equal(buf_slice(&once), buf_slice(&twice)));
    }
    gossip_fini(&gossip);
    gossip_fini(&again);
    buf_fini(&once);
    buf_fini(&twice);
}

/* Checks that the hand-written decoder reads the same as the general one. */
static void by_hand(struct slice data)
{
    struct gossip none = { 0 };
    struct gossip read = { 0 };
    struct gossip general = { 0 };
    struct buf once = { 0 };
    struct buf twice = { 0 };
    Cluster__Gossip *message;
    struct arena arena;

    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    if (gossip_read(&arena, &core_identity, data, NULL, &none, &read)) {
        message = (void *)protobuf_c_message_unpack(
            &cluster__gossip__descriptor, &arena.allocator, data.size,
            data.data);
        check(message && part_get_gossip(&arena, &core_identity, message, NULL,
                                         &none, &general) == WIRE_OK);
        gossip_write(&once, &core_identity, &read);
        gossip_write(&twice, &core_identity, &general);
        check(slice_equal(buf_slice(&once), buf_slice(&twice)));
    }
    arena_fini(&arena);
    gossip_fini(&read);
    gossip_fini(&general);
    buf_fini(&once);
    buf_fini(&twice);
}

static void fill(struct gossip *gossip)
{
    for (uint32_t i = 0; i < GOSSIP_CACHE_MEMBERS_MIN; i++) {
        struct node_id node = { { "", 1 }, 1 + i };
        struct profile *profile;

        (void)snprintf(node.address.host, sizeof node.address.host, "h%u", i);
        profile = profile_new(&core_identity, &node, NULL, 0, "0.0.0");
        (void)gossip_add(gossip, profile, MEMBER_UP, (int32_t)i + 1);
        profile_drop(profile);
    }
}

/* Puts the names of a known gossip before the bytes. The result does not depend on the cache: with
 * the known names or without, and with a cache entry that was opened with these names or
 * without. */
static void behind_names(struct slice data)
{
    enum { HEADER_SIZE = 10 };
    struct gossip known = { 0 };
    struct gossip read = { 0 };
    struct gossip plain = { 0 };
    struct gossip_cache head = { 0 };
    const struct gossip_cache none = { .size = 0 };
    struct gossip_cache_opened opened = { .bytes = { 0 } };
    struct buf packed = { 0 };
    struct buf once = { 0 };
    struct buf twice = { 0 };
    uLong crc = crc32(0, data.data, (uInt)data.size);
    enum verdict verdict;

    fill(&known);
    gossip_cache_put_gossip(&core_identity, &packed, &known, &head);
    packed.size = HEADER_SIZE;
    buf_put_slice(&packed, buf_slice(&head.names.bytes));
    gossip_pack_part(&packed, data, 0, true);
    crc = crc32_combine(head.names.crc, crc, (z_off_t)data.size);
    buf_put_u32(&packed, (uint32_t)crc);
    buf_put_u32(&packed, (uint32_t)(head.names.size + data.size));
    if (data.size % 3)
        gossip_cache_open(buf_slice(&packed), data.size % 3 == 1 ? &head : &none,
                  &opened);
    verdict = gossip_cache_get_gossip(&core_identity, buf_slice(&packed), &known,
                              data.size % 2 ? &head : &none, &read, &opened);
    check(verdict == wire_get_gossip(&core_identity, buf_slice(&packed), &known,
                                     &plain));
    if (verdict == WIRE_OK) {
        check(gossip_valid(&read));
        wire_put_gossip(&core_identity, &once, &read);
        wire_put_gossip(&core_identity, &twice, &plain);
        check(slice_equal(buf_slice(&once), buf_slice(&twice)));
    }
    gossip_fini(&known);
    gossip_fini(&read);
    gossip_fini(&plain);
    gossip_cache_opened_fini(&opened);
    gossip_cache_fini(&head);
    buf_fini(&packed);
    buf_fini(&once);
    buf_fini(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outbox outbox = { 0 };
    struct member *member = core_new(&outbox);
    enum member_status before = member_self(member)->status;
    struct buf packed = { 0 };
    struct buf payload = { 0 };

    gossip_pack_deflate(&packed, slice_of(data, size));
    round_trip(buf_slice(&packed));
    if (size) {
        by_hand(slice_of(data, size));
        behind_names(slice_of(data, size));
    }
    wire_put_envelope(&core_identity, &payload, &core_peer, &core_identity.node,
                      buf_slice(&packed));
    core_put(member, "GE", buf_slice(&payload), &outbox);
    core_check(member, before, &outbox);
    buf_fini(&packed);
    buf_fini(&payload);
    member_free(member);
    outbox_fini(&outbox);
    return 0;
}
