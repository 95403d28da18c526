/* Tests messages as JVM nodes wrote them: bytes recorded between real nodes (tests/interop). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "member/cluster.pb-c.h"
#include "member/compat.h"
#include "member/gossip_pack.h"
#include "member/wire.h"
#include "values.h"

static const struct identity interop = {
    .protocol = "akka",
    .system = "Interop",
    .node = { { "127.0.0.1", 37811 }, UINT64_C(0x86b553d8a366e87) },
};

static struct buf bytes_of(const char *hex)
{
    static const char digits[] = "0123456789abcdef";
    struct buf buf = { 0 };

    for (; *hex; hex += 2)
        buf_put_u8(&buf,
                   (uint8_t)((strchr(digits, hex[0]) - digits) * 16 +
                             (strchr(digits, hex[1]) - digits)));
    return buf;
}

/* InitJoin of Akka 2.6.21 with typed sharding on its class path. */
static const char init_join[] =
    "0af5017b22616b6b61223a7b22636c7573746572223a7b22646f776e696e672d70726f"
    "76696465722d636c617373223a22222c227368617264696e67223a7b226e756d626572"
    "2d6f662d736861726473223a313030302c2273746174652d73746f72652d6d6f646522"
    "3a226464617461227d2c2273706c69742d627261696e2d7265736f6c766572223a7b22"
    "6163746976652d7374726174656779223a226b6565702d6d616a6f72697479227d2c22"
    "7479706564223a7b22726563657074696f6e697374223a7b2264697374726962757465"
    "642d6b65792d636f756e74223a357d7d7d2c2276657273696f6e223a22322e362e3231"
    "227d7d";

/* A joiner needs only those of our values that it does not do without. */
static void a_jvm_joiner_is_answered(void **state)
{
    static const char own[] =
        "{\"akka\":{\"cluster\":{\"downing-provider-class\":\"\","
        "\"sharding\":{\"state-store-mode\":\"ddata\","
        "\"number-of-shards\":1000}}}}";
    struct buf payload = bytes_of(init_join);
    struct buf config = { 0 };
    struct buf reply = { 0 };
    struct compat ours;
    struct compat theirs;
    (void)state;

    assert_int_equal(
        wire_get_init_join(&interop, buf_slice(&payload), &config), WIRE_OK);
    assert_true(compat_parse(&theirs, buf_slice(&config)));
    assert_true(compat_parse(&ours, slice_text(own)));
    assert_int_equal(compat_answer(&ours, &theirs, &reply), CONFIG_COMPATIBLE);
    buf_put_u8(&reply, 0);
    assert_string_equal((const char *)reply.data, own);
    compat_fini(&ours);
    compat_fini(&theirs);
    buf_fini(&payload);
    buf_fini(&config);
    buf_fini(&reply);
}

/* Akka 2.6.21's Welcome to a joiner: with itself, another JVM node and the joiner. */
static const char welcome[] =
    "1f8b08000000000000ffe3d2e692e362f7cc2b492dca2f10e2343432d73300424389f3"
    "3799945812b3b313058eb66ed9cd2fb1eadeb924a116262e5cea372f87a96fbf7bf322"
    "87c4de556b9d712ac66638970e0ec5bb6fc314cfbd30f53f8bc4f9a36b6e700a71a524"
    "eba6a4a62596e6944829981999255aa6a5195a1a245a269b265a245aa618a6a69a1ba5"
    "58189a5b9a5a582af1733008fc07027609062546060d26256e0e460146094618874980"
    "09cad162e26034e2e0601062016a61756205b9c1009502006ea0cf0534010000";

/* A JVM node's gossip, and another one's status of the same version. */
static const char gossip_of_a[] =
    "0a2c0a1e0a07496e7465726f7012093132372e302e302e3118bbdb022204616b6b6110"
    "9dd095ff0418cfc5acd809122b0a1e0a07496e7465726f7012093132372e302e302e31"
    "18cfd9022204616b6b6110c585b4bb0f18aadece621ab2011f8b08000000000000ffe3"
    "d2e692e362f7cc2b492dca2f10e2343432d73300424389f33799945812b3b313058eb6"
    "6ed9cd2fb1eadeb9242e1d1c8a77df86299e7b61ea7f1689f347d7dce014e24a49d64d"
    "494d4b2ccd2991523033324bb44c4b33b43448b44c364db448b44c314c4d35374ab130"
    "34b734b5b054e2e66010609460546264d06054e2e76014f80f04ec120c60012d160e06"
    "0e46230e0e0621204b80d9891564b101940200d5fc8385c5000000";
static const char status_of_b[] =
    "0a2b0a1e0a07496e7465726f7012093132372e302e302e3118cfd9022204616b6b6110"
    "c585b4bb0f18aadece6212203632366139666631393061396335613861396431656537"
    "3264383137393538391a0808001204080010032214936687445bc77d0414faee77e1b7"
    "8823e49a6fd9";

#define FIRST UINT64_C(0x0c53af2af76d02c5)
#define SECOND UINT64_C(0x9b0b22cf4fe5681d)

static void a_jvm_welcome_is_read(void **state)
{
    struct buf payload = bytes_of(welcome);
    struct gossip none = { 0 };
    struct gossip gossip = { 0 };
    struct node_id from;
    static const struct {
        uint64_t uid;
        uint16_t port;
        enum member_status status;
    } members[] = {
        { UINT64_C(0x86b553d8a366e87), 37811, MEMBER_JOINING },
        { FIRST, 44239, MEMBER_UP },
        { SECOND, 44475, MEMBER_UP },
    };
    (void)state;

    assert_int_equal(wire_get_welcome(&interop, buf_slice(&payload), &none,
                                      &from, &gossip),
                     WIRE_OK);
    assert_true(from.uid == FIRST);
    assert_int_equal(gossip.members.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct gossip_member *member = &gossip.members.items[i];

        assert_true(member->profile->uid == members[i].uid);
        assert_int_equal(member->profile->address->port, members[i].port);
        assert_int_equal(member->status, members[i].status);
        assert_string_equal(member->profile->traits->app_version, "0.0.0");
    }
    gossip_fini(&gossip);
    buf_fini(&payload);
}

/* Another JVM node's clock and digest equal those of the gossip as we read it. */
static void a_jvm_gossip_has_the_jvm_status(void **state)
{
    static const struct identity second = {
        .protocol = "akka",
        .system = "Interop",
        .node = { { "127.0.0.1", 44239 }, FIRST },
    };
    struct buf payload = bytes_of(gossip_of_a);
    struct buf said = bytes_of(status_of_b);
    struct buf packed = { 0 };
    struct gossip none = { 0 };
    struct gossip gossip = { 0 };
    struct gossip_status status = { .has_digest = false };
    struct node_id from;
    struct node_id to;
    uint8_t digest[SEEN_DIGEST_SIZE];
    (void)state;

    assert_int_equal(wire_get_envelope(&second, buf_slice(&payload), &from, &to,
                                       &packed),
                     WIRE_OK);
    assert_true(from.uid == SECOND && to.uid == FIRST);
    assert_int_equal(
        wire_get_gossip(&second, buf_slice(&packed), &none, &gossip), WIRE_OK);
    assert_int_equal(wire_get_status(&second, buf_slice(&said), &status),
                     WIRE_OK);
    assert_true(status.from.uid == FIRST && status.has_digest);
    assert_int_equal(clock_compare(&gossip.clock, &status.clock), CLOCK_SAME);
    wire_seen_digest(&second, &gossip, digest);
    assert_memory_equal(digest, status.digest, sizeof digest);
    clock_fini(&status.clock);
    gossip_fini(&gossip);
    buf_fini(&packed);
    buf_fini(&payload);
    buf_fini(&said);
}

/* The same with the longest host name of DNS, which the recording lacks. */
static void a_jvm_gossip_may_name_the_longest_host(void **state)
{
    static const struct identity second = {
        .protocol = "akka",
        .system = "Interop",
        .node = { { "127.0.0.1", 44239 }, FIRST },
    };
    struct buf payload = bytes_of(gossip_of_a);
    struct buf packed = { 0 }, bytes = { 0 }, longer = { 0 };
    struct gossip none = { 0 }, gossip = { 0 };
    struct node_id from, to;
    Cluster__Gossip *part;
    char host[254];
    char *before;
    (void)state;

    memset(host, 'h', 253);
    host[253] = 0;
    assert_int_equal(wire_get_envelope(&second, buf_slice(&payload), &from, &to,
                                       &packed),
                     WIRE_OK);
    assert_true(gossip_pack_inflate(&bytes, buf_slice(&packed)));
    part = cluster__gossip__unpack(NULL, bytes.size, bytes.data);
    assert_non_null(part);
    before = part->addresses[1]->address->hostname;
    part->addresses[1]->address->hostname = host;
    buf_clear(&bytes);
    bytes.size = cluster__gossip__pack(
        part, buf_reserve(&bytes, cluster__gossip__get_packed_size(part)));
    gossip_pack_deflate(&longer, buf_slice(&bytes));
    assert_int_equal(
        wire_get_gossip(&second, buf_slice(&longer), &none, &gossip), WIRE_OK);
    assert_int_equal(gossip.members.count, 2);
    assert_string_equal(gossip.members.items[1].profile->address->host,
                        host);
    part->addresses[1]->address->hostname = before;
    cluster__gossip__free_unpacked(part, NULL);
    gossip_fini(&gossip);
    buf_fini(&packed);
    buf_fini(&bytes);
    buf_fini(&longer);
    buf_fini(&payload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_jvm_joiner_is_answered),
        cmocka_unit_test(a_jvm_welcome_is_read),
        cmocka_unit_test(a_jvm_gossip_has_the_jvm_status),
        cmocka_unit_test(a_jvm_gossip_may_name_the_longest_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
