/* A gossip, not yet compressed, from a member to a member: decoded, merged into a valid state, spread on. What was decoded must
 * encode to the same again. */
#include "core.h"
#include "member/pack.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outbox outbox = { 0 };
    struct member *member = core_new(&outbox);
    enum member_status before = member_self(member)->status;
    struct buf packed = { 0 };
    struct buf payload = { 0 };

    pack_deflate(&packed, slice_of(data, size));
    round_trip(buf_slice(&packed));
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
