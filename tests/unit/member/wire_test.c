/* Tests cluster messages with Akka's bytes, and round trips. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "member/gossip_pack.h"
#include "base/rng.h"
#include "member/wire.h"
#include "member/wire_parts.h"
#include "values.h"

static const struct identity cluster_system = {
    .protocol = "akka",
    .system = "ClusterSystem",
    .node = { { "127.0.0.1", 2551 }, UINT64_C(0x1122334455667788) },
};

static struct node_id node_b(void)
{
    return test_node("127.0.0.1", 2552, UINT64_C(0x0807060504030201));
}

static void expect_hex(const struct buf *buf, const char *hex)
{
    struct buf text = { 0 };
    char digits[3];

    for (size_t i = 0; i < buf->size; i++) {
        snprintf(digits, sizeof digits, "%02x", buf->data[i]);
        buf_put_text(&text, digits);
    }
    buf_put_u8(&text, 0);
    assert_string_equal((const char *)text.data, hex);
    buf_fini(&text);
}

#define ADDRESS_A                                                              \
    "0a0d436c757374657253797374656d12093132372e302e302e3118f7132204616b6b61"
#define NODE_B                                                                 \
    "0a230a0d436c757374657253797374656d12093132372e302e302e3118f8132204616b6b" \
    "611081848c2018858c9c40"

static void messages_are_encoded_like_akkas(void **state)
{
    struct node_id b = node_b();
    struct node_id node;
    struct heartbeat heartbeat = { cluster_system.node, 5, 1000 };
    struct heartbeat read;
    struct buf buf = { 0 };
    (void)state;

    wire_put_node(&cluster_system, &buf, &b);
    expect_hex(&buf, NODE_B);
    assert_int_equal(wire_get_node(&cluster_system, buf_slice(&buf), &node),
                     WIRE_OK);
    assert_true(node_equal(&node, &b));
    buf_clear(&buf);
    wire_put_address(&cluster_system, &buf, &cluster_system.node.address);
    expect_hex(&buf, ADDRESS_A);
    buf_clear(&buf);
    wire_put_heartbeat(&cluster_system, &buf, &heartbeat);
    expect_hex(&buf, "0a23" ADDRESS_A "100518d00f");
    assert_int_equal(
        wire_get_heartbeat(&cluster_system, buf_slice(&buf), &read), WIRE_OK);
    assert_int_equal(read.sequence, 5);
    assert_int_equal(read.created, 1000);
    assert_true(
        address_equal(&read.from.address, &cluster_system.node.address));
    buf_clear(&buf);
    heartbeat.from = b;
    wire_put_response(&cluster_system, &buf, &heartbeat);
    expect_hex(&buf, "0a2f" NODE_B "100518e807");
    assert_int_equal(wire_get_response(&cluster_system, buf_slice(&buf), &read),
                     WIRE_OK);
    assert_true(node_equal(&read.from, &b));
    buf_fini(&buf);
}

static void expect_digest(const struct identity *identity,
                          const struct gossip *gossip, const char *hex)
{
    struct buf buf = { 0 };

    wire_seen_digest(identity, gossip, buf_reserve(&buf, SEEN_DIGEST_SIZE));
    buf.size = SEEN_DIGEST_SIZE;
    expect_hex(&buf, hex);
    buf_fini(&buf);
}

static void add_node(struct gossip *gossip, const struct identity *identity,
                     struct node_id node)
{
    struct profile *profile = profile_new(identity, &node, NULL, 0, "0.0.0");

    gossip_add(gossip, profile, MEMBER_UP, 1)->seen = true;
    profile_drop(profile);
}

static void digests_of_the_seen_set_equal_akkas(void **state)
{
    struct gossip gossip = { 0 };
    (void)state;

    expect_digest(&test_identity, &gossip,
                  "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    add_node(&gossip, &test_identity, test_node("a", 2552, 1));
    expect_digest(&test_identity, &gossip,
                  "0367692ea5f465c269d659b5e34693216d480fa9");
    add_node(&gossip, &test_identity, test_node("b", 2552, 2));
    expect_digest(&test_identity, &gossip,
                  "92eb4d453441bf023418e35fa872c24762383c5d");
    add_node(&gossip, &test_identity, test_node("b", 2551, 3));
    expect_digest(&test_identity, &gossip,
                  "b4de05e5ec4bf87e40aeb27b2921dd9fba9cff66");
    gossip_fini(&gossip);
    add_node(&gossip, &cluster_system, cluster_system.node);
    add_node(&gossip, &cluster_system, node_b());
    expect_digest(&cluster_system, &gossip,
                  "b3dd6030cbda1009cc42e84ec1e23593208cd6c5");
    gossip_fini(&gossip);
}

/* A gossip with every field. */
static void make_gossip(struct gossip *gossip)
{
    struct profile *store = test_profile("s", 9, 77, "store");
    struct node_id gone = test_node("gone", 1, (uint64_t)-5);
    struct profile *a = test_add(gossip, 'a', MEMBER_UP, 1, true);
    struct profile *b = test_add(gossip, 'b', MEMBER_LEAVING, 2, false);

    (void)gossip_add(gossip, store, MEMBER_JOINING, UP_NUMBER_NONE);
    (void)gossip_add_tombstone(gossip, &gone, 123456789);
    clock_increment(&gossip->clock, &a->key);
    clock_increment(&gossip->clock, &a->key);
    clock_increment(&gossip->clock, &b->key);
    (void)reachability_change(&gossip->reachability, a, b, UNREACHABLE);
    (void)reachability_change(&gossip->reachability, b, store, TERMINATED);
    profile_drop(store);
}

static void expect_equal(const struct gossip *left, const struct gossip *right)
{
    assert_int_equal(left->members.count, right->members.count);
    for (uint32_t i = 0; i < left->members.count; i++) {
        const struct gossip_member *a = &left->members.items[i];
        const struct gossip_member *b = &right->members.items[i];

        assert_true(profile_same(a->profile, b->profile));
        assert_int_equal(a->status, b->status);
        assert_int_equal(a->up_number, b->up_number);
        assert_int_equal(a->seen, b->seen);
        assert_int_equal(a->profile->traits->role_count,
                         b->profile->traits->role_count);
        for (uint32_t k = 0; k < a->profile->traits->role_count; k++)
            assert_string_equal(a->profile->traits->roles[k],
                                b->profile->traits->roles[k]);
    }
    assert_true(reachability_equal(&left->reachability, &right->reachability));
    assert_int_equal(clock_compare(&left->clock, &right->clock), CLOCK_SAME);
    assert_int_equal(left->tombstones.count, right->tombstones.count);
    for (uint32_t i = 0; i < left->tombstones.count; i++)
        assert_int_equal(left->tombstones.items[i].at_ms,
                         right->tombstones.items[i].at_ms);
}

/* For any bytes the fast decoder agrees with the general one, or refuses. */
static void both_decoders_agree_about_heartbeats(void **state)
{
    struct heartbeat heartbeat = { test_identity.node, -7, -1000 };
    struct rng rng;
    (void)state;

    rng_init(&rng, 1);
    for (int round = 0; round < 3000; round++) {
        bool answer = rng_below(&rng, 2);
        struct buf buf = { 0 };
        struct heartbeat quick, general;
        ProtobufCMessage *message;
        uint64_t created;
        bool good;

        heartbeat.sequence = (int64_t)rng_next(&rng);
        heartbeat.created = (int64_t)rng_next(&rng) >> rng_below(&rng, 64);
        if (answer)
            wire_put_response(&test_identity, &buf, &heartbeat);
        else
            wire_put_heartbeat(&test_identity, &buf, &heartbeat);
        for (uint64_t k = rng_below(&rng, 3); k > 0; k--)
            buf.data[rng_below(&rng, buf.size)] = (uint8_t)rng_next(&rng);
        buf.size -= rng_below(&rng, 8) ? 0 : rng_below(&rng, buf.size);
        good = answer ? heartbeat_wire_get_response(&test_identity, buf_slice(&buf),
                                          &quick)
                      : heartbeat_wire_get_heartbeat(&test_identity, buf_slice(&buf),
                                           &quick);
        message = protobuf_c_message_unpack(
            answer ? &cluster__response__descriptor
                   : &cluster__heartbeat__descriptor,
            NULL, buf.size, buf.data);
        if (good) {
            assert_non_null(message);
            memset(&general, 0, sizeof general);
            if (answer) {
                assert_int_equal(
                    part_get_node(&test_identity,
                                  ((Cluster__Response *)message)->from,
                                  &general.from),
                    WIRE_OK);
                created = (uint64_t)((Cluster__Response *)message)->created;
            } else {
                assert_int_equal(
                    part_get_address(&test_identity,
                                     ((Cluster__Heartbeat *)message)->from,
                                     &general.from.address),
                    WIRE_OK);
                created = (uint64_t)((Cluster__Heartbeat *)message)->created;
            }
            assert_true(node_equal(&quick.from, &general.from));
            assert_true((uint64_t)quick.created == created);
        }
        if (message)
            protobuf_c_message_free_unpacked(message, NULL);
        buf_fini(&buf);
    }
}

static void own_heartbeats_use_the_fast_decoder(void **state)
{
    struct heartbeat heartbeat = { test_identity.node, 7, -1000 };
    (void)state;

    for (int answer = 0; answer < 2; answer++) {
        struct buf buf = { 0 };
        struct heartbeat read;

        (answer ? wire_put_response
                : wire_put_heartbeat)(&test_identity, &buf, &heartbeat);
        assert_true((answer ? heartbeat_wire_get_response : heartbeat_wire_get_heartbeat)(
            &test_identity, buf_slice(&buf), &read));
        assert_true(read.sequence == heartbeat.sequence);
        assert_true(read.created == heartbeat.created);
        buf_fini(&buf);
    }
}

static void a_gossip_survives_a_round_trip(void **state)
{
    struct gossip gossip = { 0 };
    struct gossip none = { 0 };
    struct gossip read = { 0 };
    struct buf buf = { 0 };
    struct buf again = { 0 };
    (void)state;

    make_gossip(&gossip);
    wire_put_gossip(&test_identity, &buf, &gossip);
    assert_int_equal(
        wire_get_gossip(&test_identity, buf_slice(&buf), &none, &read),
        WIRE_OK);
    expect_equal(&gossip, &read);
    wire_put_gossip(&test_identity, &again, &read);
    assert_true(slice_equal(buf_slice(&buf), buf_slice(&again)));
    gossip_fini(&read);
    /* Known incarnations share their profile. */
    assert_int_equal(
        wire_get_gossip(&test_identity, buf_slice(&buf), &gossip, &read),
        WIRE_OK);
    assert_ptr_equal(read.members.items[0].profile,
                     gossip.members.items[0].profile);
    gossip_fini(&read);
    gossip_fini(&gossip);
    buf_fini(&buf);
    buf_fini(&again);
}

static void other_messages_survive_a_round_trip(void **state)
{
    struct gossip gossip = { 0 };
    struct gossip read = { 0 };
    struct gossip_status status;
    struct node_id from;
    struct node_id to;
    struct profile *profile = NULL;
    struct address address;
    struct buf buf = { 0 };
    struct buf text = { 0 };
    enum config_check check;
    uint8_t digest[SEEN_DIGEST_SIZE];
    (void)state;

    make_gossip(&gossip);
    wire_seen_digest(&test_identity, &gossip, digest);
    wire_put_status(&test_identity, &buf, &test_identity.node, &gossip, digest);
    assert_int_equal(wire_get_status(&test_identity, buf_slice(&buf), &status),
                     WIRE_OK);
    assert_true(status.has_digest);
    assert_int_equal(clock_compare(&status.clock, &gossip.clock), CLOCK_SAME);
    clock_fini(&status.clock);
    buf_clear(&buf);
    wire_put_welcome(&test_identity, &buf, &test_identity.node, &gossip);
    assert_int_equal(wire_get_welcome(&test_identity, buf_slice(&buf), &gossip,
                                      &from, &read),
                     WIRE_OK);
    expect_equal(&gossip, &read);
    buf_clear(&buf);
    to = test_node("b", 2552, 2);
    wire_put_envelope(&test_identity, &buf, &test_identity.node, &to,
                      slice_text("packed"));
    assert_int_equal(
        wire_get_envelope(&test_identity, buf_slice(&buf), &from, &to, &text),
        WIRE_OK);
    assert_true(slice_is(buf_slice(&text), "packed"));
    assert_int_equal(to.uid, 2);
    buf_clear(&buf);
    wire_put_join(&test_identity, &buf, gossip.members.items[2].profile);
    assert_int_equal(wire_get_join(&test_identity, buf_slice(&buf), &profile),
                     WIRE_OK);
    assert_true(profile_has_role(profile, "store"));
    assert_string_equal(profile->traits->data_center, "default");
    profile_drop(profile);
    buf_clear(&buf);
    wire_put_init_join(&test_identity, &buf, slice_text("{}"));
    assert_int_equal(wire_get_init_join(&test_identity, buf_slice(&buf), &text),
                     WIRE_OK);
    assert_string_equal((const char *)text.data, "{}");
    buf_clear(&buf);
    wire_put_init_join_ack(&test_identity, &buf, CONFIG_COMPATIBLE,
                           slice_text("{\"a\":1}"));
    assert_int_equal(wire_get_init_join_ack(&test_identity, buf_slice(&buf),
                                            &address, &check, &text),
                     WIRE_OK);
    assert_int_equal(check, CONFIG_COMPATIBLE);
    assert_string_equal((const char *)text.data, "{\"a\":1}");
    gossip_fini(&read);
    gossip_fini(&gossip);
    buf_fini(&buf);
    buf_fini(&text);
}

/* A join without a data center is of the default one. */
static void a_join_without_data_center_gets_the_default_MEM080_MEM239(
    void **state)
{
    struct node_id b = node_b();
    struct profile *profile = NULL;
    struct buf node = { 0 };
    struct buf buf = { 0 };
    (void)state;

    wire_put_node(&cluster_system, &node, &b);
    buf_put_u8(&buf, 0x0a); /* field 1, and nothing else */
    buf_put_u8(&buf, (uint8_t)node.size);
    buf_put_slice(&buf, buf_slice(&node));
    assert_int_equal(wire_get_join(&cluster_system, buf_slice(&buf), &profile),
                     WIRE_OK);
    assert_string_equal(profile->traits->data_center, "default");
    assert_int_equal(profile->traits->role_count, 1);
    assert_string_equal(profile->traits->roles[0], "dc-default");
    assert_true(node_equal(PROFILE_NODE(profile), &b));
    profile_drop(profile);
    buf_fini(&node);
    buf_fini(&buf);
}

static void foreign_and_broken_nodes_are_refused(void **state)
{
    struct identity other = test_identity;
    struct address address;
    struct node_id node = test_node("b", 1, 2);
    struct buf buf = { 0 };
    (void)state;

    other.system = "other";
    wire_put_node(&other, &buf, &node);
    assert_int_equal(wire_get_node(&test_identity, buf_slice(&buf), &node),
                     WIRE_FOREIGN);
    buf_clear(&buf);
    other = test_identity;
    other.protocol = "pekko";
    wire_put_address(&other, &buf, &node.address);
    assert_int_equal(
        wire_get_address(&test_identity, buf_slice(&buf), &address),
        WIRE_FOREIGN);
    buf_clear(&buf);
    node.uid = 0;
    wire_put_node(&test_identity, &buf, &node);
    assert_int_equal(wire_get_node(&test_identity, buf_slice(&buf), &node),
                     WIRE_MALFORMED);
    assert_int_equal(
        wire_get_node(&test_identity, slice_text("rubbish"), &node),
        WIRE_MALFORMED);
    assert_int_equal(wire_get_node(&test_identity, slice_of(NULL, 0), &node),
                     WIRE_MALFORMED);
    buf_fini(&buf);
}

/* limit: MEMBER_INFLATE_RATIO_MAX */
static void gzip_has_limits(void **state)
{
    struct buf bytes = { 0 };
    struct buf packed = { 0 };
    struct buf read = { 0 };
    (void)state;

    memset(buf_reserve(&bytes, 9 << 20), 0, 9 << 20);
    bytes.size = MEMBER_INFLATE_SIZE_FREE;
    gossip_pack_deflate(&packed, buf_slice(&bytes));
    assert_true(gossip_pack_inflate(&read, buf_slice(&packed)));
    assert_int_equal(read.size, bytes.size);
    for (size_t i = 0; i < packed.size; i++) { /* truncated */
        buf_clear(&read);
        assert_false(gossip_pack_inflate(&read, slice_of(packed.data, i)));
    }
    buf_clear(&packed);
    buf_clear(&read);
    bytes.size = 1 << 20; /* zeros compress 1000 to 1 */
    gossip_pack_deflate(&packed, buf_slice(&bytes));
    assert_false(gossip_pack_inflate(&read, buf_slice(&packed)));
    buf_clear(&packed);
    buf_clear(&read);
    srand(1);
    for (size_t i = 0; i < 9 << 20; i += 4)
        bytes.data[i] = (uint8_t)rand();
    bytes.size = 9 << 20; /* compresses far below 50 to 1, but is too large */
    gossip_pack_deflate(&packed, buf_slice(&bytes));
    assert_false(gossip_pack_inflate(&read, buf_slice(&packed)));
    buf_fini(&bytes);
    buf_fini(&packed);
    buf_fini(&read);
}

/* ---- long hosts ---- */

/* A DNS name has at most 253 bytes. */
#define LONGEST 253

static struct node_id long_node(char letter, uint64_t uid)
{
    char host[LONGEST + 1];

    memset(host, letter, LONGEST);
    host[63] = host[127] = host[191] = '.';
    host[LONGEST] = 0;
    return test_node(host, 2552, uid);
}

static void the_longest_host_is_accepted_in_each_message(void **state)
{
    struct node_id node = long_node('m', 7);
    struct profile *profile =
        profile_new(&test_identity, &node, NULL, 0, "1.0");
    struct profile *joined = NULL;
    struct heartbeat heartbeat = { node, 5, 1000 };
    struct heartbeat beat;
    struct node_id read;
    struct buf buf = { 0 };
    (void)state;

    wire_put_node(&test_identity, &buf, &node);
    assert_int_equal(wire_get_node(&test_identity, buf_slice(&buf), &read),
                     WIRE_OK);
    assert_true(node_equal(&read, &node));
    buf_clear(&buf);
    wire_put_address(&test_identity, &buf, &node.address);
    assert_int_equal(
        wire_get_address(&test_identity, buf_slice(&buf), &read.address),
        WIRE_OK);
    assert_true(address_equal(&read.address, &node.address));
    buf_clear(&buf);
    wire_put_heartbeat(&test_identity, &buf, &heartbeat);
    assert_int_equal(
        wire_get_heartbeat(&test_identity, buf_slice(&buf), &beat), WIRE_OK);
    assert_true(address_equal(&beat.from.address, &node.address));
    buf_clear(&buf);
    wire_put_response(&test_identity, &buf, &heartbeat);
    assert_int_equal(wire_get_response(&test_identity, buf_slice(&buf), &beat),
                     WIRE_OK);
    assert_true(node_equal(&beat.from, &node));
    buf_clear(&buf);
    wire_put_join(&test_identity, &buf, profile);
    assert_int_equal(wire_get_join(&test_identity, buf_slice(&buf), &joined),
                     WIRE_OK);
    assert_true(profile_is(joined, &node));
    profile_drop(profile);
    profile_drop(joined);
    buf_fini(&buf);
}

/* As a member, and for a day after its removal. */
static void the_longest_hosts_are_accepted_in_gossip(void **state)
{
    struct node_id member = long_node('m', 7), gone = long_node('g', 8);
    struct gossip none = { 0 }, gossip = { 0 }, read = { 0 };
    struct profile *profile =
        profile_new(&test_identity, &member, NULL, 0, "1.0");
    struct node_id from;
    struct buf buf = { 0 };
    (void)state;

    test_add(&gossip, 'a', MEMBER_UP, 1, true);
    gossip_add(&gossip, profile, MEMBER_UP, 2)->seen = true;
    assert_true(gossip_add_tombstone(&gossip, &gone, 1000));
    clock_increment(&gossip.clock, &profile->key);
    (void)reachability_change(&gossip.reachability, profile,
                              gossip.members.items[0].profile, UNREACHABLE);
    wire_put_gossip(&test_identity, &buf, &gossip);
    assert_int_equal(
        wire_get_gossip(&test_identity, buf_slice(&buf), &none, &read),
        WIRE_OK);
    assert_non_null(gossip_find(&read, &member));
    assert_true(gossip_is_tombstoned(&read, &gone));
    gossip_fini(&read);
    buf_clear(&buf);
    wire_put_welcome(&test_identity, &buf, &member, &gossip);
    assert_int_equal(wire_get_welcome(&test_identity, buf_slice(&buf), &none,
                                      &from, &read),
                     WIRE_OK);
    assert_true(node_equal(&from, &member));
    assert_non_null(gossip_find(&read, &member));
    gossip_fini(&read);
    gossip_fini(&gossip);
    profile_drop(profile);
    buf_fini(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_encoded_like_akkas),
        cmocka_unit_test(digests_of_the_seen_set_equal_akkas),
        cmocka_unit_test(both_decoders_agree_about_heartbeats),
        cmocka_unit_test(own_heartbeats_use_the_fast_decoder),
        cmocka_unit_test(a_gossip_survives_a_round_trip),
        cmocka_unit_test(other_messages_survive_a_round_trip),
        cmocka_unit_test(
            a_join_without_data_center_gets_the_default_MEM080_MEM239),
        cmocka_unit_test(foreign_and_broken_nodes_are_refused),
        cmocka_unit_test(gzip_has_limits),
        cmocka_unit_test(the_longest_host_is_accepted_in_each_message),
        cmocka_unit_test(the_longest_hosts_are_accepted_in_gossip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
