/* Tests the hand-written encoder and decoder of a gossip against the general ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/rng.h"
#include "member/wire_parts.h"
#include "values.h"

static const char *const some_roles[] = { "store", "front", "dc-far", "x" };
static const char *const some_versions[] = { "0.0.0", "1.2.3", "2.0.0-M1" };

static struct profile *draw_profile(struct rng *rng)
{
    struct node_id node = test_node("n", 1 + (uint32_t)rng_below(rng, 65535),
                                    rng_below(rng, 3) ? rng_next(rng) | 1
                                                      : 1 + rng_below(rng, 99));
    const char *roles[3];
    uint32_t count = (uint32_t)rng_below(rng, 4);

    (void)snprintf(node.address.host, sizeof node.address.host, "host-%llu",
                   (unsigned long long)rng_below(rng, 1000000));
    for (uint32_t i = 0; i < count; i++)
        roles[i] = some_roles[(i + rng_below(rng, 2)) % 4];
    return profile_new(&test_identity, &node, roles, count,
                       some_versions[rng_below(rng, 3)]);
}

static void draw_members(struct rng *rng, struct gossip *gossip, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct profile *profile = draw_profile(rng);
        enum member_status status =
            (enum member_status)rng_below(rng, MEMBER_REMOVED);

        if (!gossip_find(gossip, PROFILE_NODE(profile)))
            gossip_add(gossip, profile, status,
                       status ? 1 + (int32_t)rng_below(rng, 100000)
                              : UP_NUMBER_NONE)
                ->seen = rng_below(rng, 2);
        if (!rng_below(rng, 2))
            clock_increment(&gossip->clock, &profile->key);
        profile_drop(profile);
    }
}

static void draw_rows(struct rng *rng, struct gossip *gossip)
{
    uint32_t count = gossip->members.count;

    for (uint64_t i = rng_below(rng, 3 * count + 1); count > 1 && i > 0; i--) {
        struct profile *observer =
            gossip->members.items[rng_below(rng, count / 2)].profile;
        struct profile *subject =
            gossip->members.items[count / 2 + rng_below(rng, count - count / 2)]
                .profile;

        (void)reachability_change(&gossip->reachability, observer, subject,
                                  (enum reach)rng_below(rng, 3));
    }
}

static void draw_gossip(struct rng *rng, struct gossip *gossip)
{
    draw_members(rng, gossip, 1 + rng_below(rng, 60));
    draw_rows(rng, gossip);
    for (uint64_t i = rng_below(rng, 30); i > 0; i--) {
        struct profile *gone = draw_profile(rng);

        if (!gossip_find(gossip, PROFILE_NODE(gone)))
            (void)gossip_add_tombstone(gossip, PROFILE_NODE(gone), rng_next(rng) >> 20);
        profile_drop(gone);
    }
}

/* In the order of fields, or in pieces. */
static void put(struct buf *bytes, const struct gossip *gossip, bool in_pieces)
{
    buf_clear(bytes);
    if (!in_pieces) {
        gossip_write(bytes, &test_identity, gossip);
        return;
    }
    gossip_write_names(bytes, &test_identity, gossip);
    gossip_write_hashes(bytes, gossip);
    gossip_write_rest(bytes, gossip);
    gossip_write_observations(bytes, gossip);
    gossip_write_seen(bytes, gossip);
}

static bool same(const struct gossip *left, const struct gossip *right)
{
    struct buf a = { 0 };
    struct buf b = { 0 };
    bool equal;

    gossip_write(&a, &test_identity, left);
    gossip_write(&b, &test_identity, right);
    equal = slice_equal(buf_slice(&a), buf_slice(&b));
    buf_fini(&a);
    buf_fini(&b);
    return equal;
}

static enum verdict read_generally(struct slice bytes,
                                   const struct gossip *known,
                                   struct gossip *gossip)
{
    enum verdict verdict = WIRE_MALFORMED;
    const Cluster__Gossip *message;
    struct arena arena;

    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    message = (void *)protobuf_c_message_unpack(&cluster__gossip__descriptor,
                                                &arena.allocator, bytes.size,
                                                bytes.data);
    if (message)
        verdict = part_get_gossip(&arena, &test_identity, message, NULL, known,
                                  gossip);
    arena_fini(&arena);
    return verdict;
}

static bool read_by_hand(struct slice bytes, const struct gossip *known,
                         struct gossip *gossip)
{
    struct arena arena;
    bool good;

    arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
    good = gossip_read(&arena, &test_identity, bytes, NULL, known, gossip);
    arena_fini(&arena);
    return good;
}

static void written_bytes_equal_those_of_the_encoder(void **state)
{
    struct rng rng;
    (void)state;

    rng_init(&rng, 1);
    for (int round = 0; round < 300; round++) {
        struct gossip gossip = { 0 };
        struct buf bytes = { 0 };
        struct buf again = { 0 };
        struct arena arena;
        Cluster__Gossip *message;

        draw_gossip(&rng, &gossip);
        put(&bytes, &gossip, false);
        arena_init(&arena, MEMBER_DECODE_SIZE_MAX);
        message = (void *)protobuf_c_message_unpack(
            &cluster__gossip__descriptor, &arena.allocator, bytes.size,
            bytes.data);
        assert_non_null(message);
        part_put(&again, &message->base);
        assert_true(slice_equal(buf_slice(&bytes), buf_slice(&again)));
        arena_fini(&arena);
        gossip_fini(&gossip);
        buf_fini(&bytes);
        buf_fini(&again);
    }
}

/* known: none, the same gossip, or one with some of its members. */
static void expect_read(struct slice bytes, const struct gossip *known,
                        const struct gossip *expected)
{
    struct gossip by_hand = { 0 };
    struct gossip generally = { 0 };

    assert_true(read_by_hand(bytes, known, &by_hand));
    assert_int_equal(read_generally(bytes, known, &generally), WIRE_OK);
    assert_true(gossip_valid(&by_hand));
    assert_true(same(&by_hand, expected));
    assert_true(same(&generally, expected));
    for (uint32_t i = 0; i < by_hand.members.count; i++) {
        const struct gossip_member *own = gossip_find(
            known, PROFILE_NODE(by_hand.members.items[i].profile));

        if (own)
            assert_ptr_equal(by_hand.members.items[i].profile, own->profile);
    }
    gossip_fini(&by_hand);
    gossip_fini(&generally);
}

static void the_usual_form_is_read(void **state)
{
    struct rng rng;
    (void)state;

    rng_init(&rng, 2);
    for (int round = 0; round < 300; round++) {
        struct gossip none = { 0 };
        struct gossip some = { 0 };
        struct gossip gossip = { 0 };
        struct buf bytes = { 0 };

        draw_gossip(&rng, &gossip);
        put(&bytes, &gossip, round % 2);
        (void)read_generally(buf_slice(&bytes), &none, &some);
        for (uint32_t i = 0; some.members.count > 1 && i < 5; i++) {
            struct node_id node =
                profile_node(
                    some.members.items[rng_below(&rng, some.members.count)]
                        .profile);

            (void)gossip_remove(&some, &node, 1);
        }
        expect_read(buf_slice(&bytes), &none, &gossip);
        expect_read(buf_slice(&bytes), &gossip, &gossip);
        expect_read(buf_slice(&bytes), &some, &gossip);
        gossip_fini(&gossip);
        gossip_fini(&some);
        buf_fini(&bytes);
    }
}

/* Another form may go to the general decoder. Accepted bytes give the same result as there. */
static void damaged_bytes_are_read_like_the_decoder_or_refused(void **state)
{
    uint32_t taken = 0;
    uint32_t left = 0;
    struct rng rng;
    (void)state;

    rng_init(&rng, 3);
    for (int round = 0; round < 20000; round++) {
        struct gossip none = { 0 };
        struct gossip gossip = { 0 };
        struct gossip by_hand = { 0 };
        struct gossip generally = { 0 };
        struct buf bytes = { 0 };

        draw_members(&rng, &gossip, 1 + rng_below(&rng, 6));
        draw_rows(&rng, &gossip);
        put(&bytes, &gossip, round % 2);
        for (uint64_t i = 1 + rng_below(&rng, 2); i > 0; i--)
            bytes.data[rng_below(&rng, bytes.size)] =
                rng_below(&rng, 2) ? (uint8_t)rng_below(&rng, 8)
                                   : (uint8_t)rng_below(&rng, 256);
        if (read_by_hand(buf_slice(&bytes), round % 3 ? &none : &gossip,
                         &by_hand)) {
            taken++;
            assert_int_equal(read_generally(buf_slice(&bytes),
                                            round % 3 ? &none : &gossip,
                                            &generally),
                             WIRE_OK);
            assert_true(same(&by_hand, &generally));
        } else {
            left++;
            assert_int_equal(by_hand.members.count, 0);
        }
        gossip_fini(&gossip);
        gossip_fini(&by_hand);
        gossip_fini(&generally);
        buf_fini(&bytes);
    }
    assert_true(taken > 1000 && left > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_bytes_equal_those_of_the_encoder),
        cmocka_unit_test(the_usual_form_is_read),
        cmocka_unit_test(damaged_bytes_are_read_like_the_decoder_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
