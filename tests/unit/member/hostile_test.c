/* Tests one core with wrong, late, forged and excess messages. Each is counted and changes
 * nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/timers.h"
#include "member/cluster.pb-c.h"
#include "member/gossip_pack.h"
#include "member/version.h"
#include "member/wire.h"
#include "values.h"

/* A core at a:2552 that founded a cluster and accepted b:2552. */
struct fixture {
    struct member *member;
    struct trace *trace;
    struct outbox outbox;
    struct node_id b;
    uint64_t now;
};

static void put(struct fixture *fixture, const struct node_id *from,
                const char *manifest, const struct buf *payload)
{
    struct inbound inbound = {
        .from = *from,
        .sender = slice_text(MEMBER_DAEMON_PATH "#1"),
        .recipient = slice_text(MEMBER_DAEMON_PATH),
        .manifest = slice_text(manifest),
        .payload = buf_slice(payload),
        .serializer = MEMBER_SERIALIZER,
    };

    member_receive(fixture->member, fixture->now, 0, &inbound,
                   &fixture->outbox);
}

/* Empties the outbox. Returns how many messages had that manifest. */
static uint32_t sent(struct fixture *fixture, const char *manifest)
{
    struct outbound out;
    uint32_t count = 0;

    while (outbox_next(&fixture->outbox, &out))
        count += slice_is(out.manifest, manifest);
    return count;
}

static void join(struct fixture *fixture, const struct node_id *node,
                 const char *version)
{
    struct profile *profile =
        profile_new(&test_identity, node, NULL, 0, version);
    struct buf payload = { 0 };

    wire_put_join(&test_identity, &payload, profile);
    put(fixture, node, "J", &payload);
    buf_fini(&payload);
    profile_drop(profile);
}

static int setup(void **state)
{
    struct fixture *fixture = mem_alloc(sizeof *fixture);
    struct member_settings settings = { 0 };

    fixture->now = SECOND;
    fixture->b = test_node("b", 2552, 2);
    fixture->trace = trace_new(TRACE_WARNING);
    fixture->member =
        member_new(&test_identity, &settings, 1, fixture->trace);
    (void)member_join(fixture->member, fixture->now, 0,
                      &test_identity.node.address, &fixture->outbox);
    join(fixture, &fixture->b, "1.0");
    assert_int_equal(sent(fixture, "W"), 1);
    assert_int_equal(member_count(fixture->member), 2);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    member_free(fixture->member);
    trace_free(fixture->trace);
    outbox_fini(&fixture->outbox);
    mem_free(fixture);
    return 0;
}

/* The core's gossip as in b's Welcome: the base of forgeries. */
static void learn(struct fixture *fixture, struct gossip *gossip)
{
    struct gossip none = { 0 };
    struct outbound out;
    struct node_id from;
    bool found = false;

    join(fixture, &fixture->b, "1.0");
    while (outbox_next(&fixture->outbox, &out))
        if (slice_is(out.manifest, "W"))
            found = wire_get_welcome(&test_identity, out.payload, &none, &from,
                                     gossip) == WIRE_OK;
    assert_true(found);
}

static void put_gossip(struct fixture *fixture, const struct node_id *from,
                       const struct node_id *to, const struct gossip *gossip)
{
    struct buf packed = { 0 };
    struct buf payload = { 0 };

    wire_put_gossip(&test_identity, &packed, gossip);
    wire_put_envelope(&test_identity, &payload, from, to, buf_slice(&packed));
    put(fixture, from, "GE", &payload);
    buf_fini(&packed);
    buf_fini(&payload);
}

/* b makes a new version. */
static void advance(struct fixture *fixture, struct gossip *gossip)
{
    clock_increment(&gossip->clock,
                    &gossip_find(gossip, &fixture->b)->profile->key);
    gossip_clear_seen(gossip);
    gossip_find(gossip, &fixture->b)->seen = true;
}

static void honest_gossip_is_accepted(void **state)
{
    struct fixture *fixture = *state;
    struct gossip gossip = { 0 };

    learn(fixture, &gossip);
    gossip_find(&gossip, &fixture->b)->status = MEMBER_LEAVING;
    advance(fixture, &gossip);
    put_gossip(fixture, &fixture->b, &test_identity.node, &gossip);
    assert_int_equal(member_counters(fixture->member)->gossip_received, 1);
    assert_int_equal(member_find(fixture->member, &fixture->b)->status,
                     MEMBER_LEAVING);
    assert_int_equal(sent(fixture, "GE"), 1); /* it had not been seen by us */
    gossip_fini(&gossip);
}

static void expect_refused(struct fixture *fixture, const struct gossip *gossip)
{
    uint64_t before = member_counters(fixture->member)->dropped_hostile;

    put_gossip(fixture, &fixture->b, &test_identity.node, gossip);
    assert_int_equal(member_counters(fixture->member)->dropped_hostile,
                     before + 1);
    assert_int_equal(member_counters(fixture->member)->gossip_received, 0);
    assert_int_equal(member_count(fixture->member), 2);
    assert_int_equal(member_self(fixture->member)->status, MEMBER_UP);
    assert_int_equal(sent(fixture, "GE"), 0);
}

static void a_peer_cannot_forge_the_own_status(void **state)
{
    struct fixture *fixture = *state;
    const struct node_id *self = &test_identity.node;
    struct gossip gossip = { 0 };
    struct profile *a;

    learn(fixture, &gossip);
    a = gossip_find(&gossip, self)->profile;
    clock_increment(&gossip.clock, &a->key); /* our count */
    expect_refused(fixture, &gossip);
    gossip_fini(&gossip);

    learn(fixture, &gossip);
    (void)reachability_change(&gossip.reachability,
                              gossip_find(&gossip, self)->profile,
                              gossip_find(&gossip, &fixture->b)->profile,
                              TERMINATED); /* our observation */
    advance(fixture, &gossip);
    expect_refused(fixture, &gossip);
    gossip_fini(&gossip);

    learn(fixture, &gossip);
    (void)gossip_remove(&gossip, self, 1); /* us: then it is not for us */
    advance(fixture, &gossip);
    put_gossip(fixture, &fixture->b, &test_identity.node, &gossip);
    assert_int_equal(member_counters(fixture->member)->dropped_state, 1);
    assert_int_equal(member_self(fixture->member)->status, MEMBER_UP);
    gossip_fini(&gossip);

    learn(fixture, &gossip);
    gossip_find(&gossip, self)->status = MEMBER_JOINING; /* our status */
    advance(fixture, &gossip);
    expect_refused(fixture, &gossip);
    gossip_fini(&gossip);
}

static void only_reachable_members_may_gossip(void **state)
{
    struct fixture *fixture = *state;
    struct node_id stranger = test_node("x", 1, 9);
    struct node_id older = test_node("a", 2552, 99);
    const struct member_counters *counters = member_counters(fixture->member);
    struct gossip gossip = { 0 };
    struct buf payload = { 0 };
    uint8_t digest[SEEN_DIGEST_SIZE];

    learn(fixture, &gossip);
    put_gossip(fixture, &stranger, &test_identity.node, &gossip);
    assert_int_equal(counters->dropped_no_member, 1);
    put_gossip(fixture, &fixture->b, &older, &gossip);
    assert_int_equal(counters->dropped_misdirected, 1);
    /* In b's name, over another node's connection. */
    wire_seen_digest(&test_identity, &gossip, digest);
    wire_put_status(&test_identity, &payload, &fixture->b, &gossip, digest);
    put(fixture, &stranger, "GS", &payload);
    assert_int_equal(counters->dropped_hostile, 1);
    put(fixture, &fixture->b, "GS", &payload);
    assert_int_equal(counters->status_received, 1);
    member_quarantined(fixture->member, fixture->now, &fixture->b);
    put(fixture, &fixture->b, "GS", &payload);
    put_gossip(fixture, &fixture->b, &test_identity.node, &gossip);
    assert_int_equal(counters->dropped_unreachable, 2);
    assert_false(member_find(fixture->member, &fixture->b)->reachable);
    gossip_fini(&gossip);
    buf_fini(&payload);
}

/* Sends a gossip message unchanged. */
static void put_raw(struct fixture *fixture, const Cluster__Gossip *gossip)
{
    struct buf bytes = { 0 };
    struct buf packed = { 0 };
    struct buf payload = { 0 };
    size_t size = cluster__gossip__get_packed_size(gossip);

    (void)cluster__gossip__pack(gossip, buf_reserve(&bytes, size));
    bytes.size = size;
    gossip_pack_deflate(&packed, buf_slice(&bytes));
    wire_put_envelope(&test_identity, &payload, &fixture->b,
                      &test_identity.node, buf_slice(&packed));
    put(fixture, &fixture->b, "GE", &payload);
    buf_fini(&bytes);
    buf_fini(&packed);
    buf_fini(&payload);
}

/* Each breaks one rule of a correct gossip. Then the field is restored. */
static void forged_fields_are_refused(void **state)
{
    struct fixture *fixture = *state;
    struct gossip gossip = { 0 };
    struct buf packed = { 0 };
    struct buf bytes = { 0 };
    Cluster__Gossip *part;
    uint64_t tries = 0;

    learn(fixture, &gossip);
    (void)reachability_change(&gossip.reachability,
                              gossip_find(&gossip, &fixture->b)->profile,
                              gossip.members.items[0].profile, UNREACHABLE);
    advance(fixture, &gossip);
    wire_put_gossip(&test_identity, &packed, &gossip);
    assert_true(gossip_pack_inflate(&bytes, buf_slice(&packed)));
    part = cluster__gossip__unpack(NULL, bytes.size, bytes.data);
    assert_non_null(part);
#define FORGE(field, value)                                                    \
    do {                                                                       \
        __typeof__(field) before = (field);                                    \
        (field) = (value);                                                     \
        put_raw(fixture, part);                                                \
        (field) = before;                                                      \
        tries++;                                                               \
        assert_int_equal(member_counters(fixture->member)->dropped_hostile,    \
                         tries);                                               \
    } while (0)
    FORGE(part->members[0]->address, 2);
    FORGE(part->members[0]->address, -1);
    FORGE(part->members[1]->address, 0);
    FORGE(part->members[0]->status, 5);
    FORGE(part->members[0]->status, 9);
    FORGE(part->members[0]->status, -1);
    FORGE(part->members[0]->up_number, -1);
    FORGE(part->members[0]->up_number, INT32_MAX - 1);
    FORGE(part->members[0]->roles[0], 7);
    FORGE(part->members[0]->app_version, 9);
    FORGE(part->overview->seen[0], 5);
    FORGE(part->overview->observers[0]->address, 3);
    FORGE(part->overview->observers[0]->version, -1);
    FORGE(part->overview->observers[0]->version, INT64_MAX);
    FORGE(part->overview->observers[0]->subjects[0]->address, 1);
    FORGE(part->overview->observers[0]->subjects[0]->address, 77);
    FORGE(part->overview->observers[0]->subjects[0]->status, 3);
    FORGE(part->clock->versions[0]->hash, 2);
    FORGE(part->clock->versions[0]->count, -1);
    FORGE(part->clock->versions[0]->count, INT64_MAX);
    FORGE(part->clock->versions[1]->hash, 0);
    FORGE(part->addresses[1]->address->port, 70000);
    FORGE(part->addresses[1]->uid, 0);
#undef FORGE
    assert_int_equal(member_count(fixture->member), 2);
    assert_int_equal(member_counters(fixture->member)->gossip_received, 0);
    put_raw(fixture, part); /* unchanged, it is correct */
    assert_int_equal(member_counters(fixture->member)->gossip_received, 1);
    cluster__gossip__free_unpacked(part, NULL);
    gossip_fini(&gossip);
    buf_fini(&packed);
    buf_fini(&bytes);
}

/* Errors logged since the last call; all are about limits. */
static uint32_t errors(struct fixture *fixture)
{
    struct trace_line line;
    uint32_t count = 0;

    while (trace_next(fixture->trace, &line)) {
        if (line.level != TRACE_ERROR)
            continue;
        assert_non_null(strstr(line.text, "exceeds a limit of this node"));
        count++;
    }
    return count;
}

/* Nothing of such a gossip is taken, an error is logged, and other gossips are still accepted. */
static void a_passed_limit_is_logged(void **state)
{
    struct fixture *fixture = *state;
    const struct member_counters *counters = member_counters(fixture->member);
    struct node_id node = test_node("c", 2552, 3);
    char host[HOST_MAX + 2], version[VERSION_SIZE_MAX + 2];
    struct gossip gossip = { 0 };
    struct buf packed = { 0 }, bytes = { 0 };
    Cluster__Gossip *part;
    char *before;

    memset(host, 'h', sizeof host);
    host[HOST_MAX + 1] = 0;
    memset(version, 'v', sizeof version);
    version[VERSION_SIZE_MAX + 1] = 0;
    learn(fixture, &gossip);
    assert_true(gossip_add_tombstone(&gossip, &node, 1));
    advance(fixture, &gossip);
    wire_put_gossip(&test_identity, &packed, &gossip);
    assert_true(gossip_pack_inflate(&bytes, buf_slice(&packed)));
    part = cluster__gossip__unpack(NULL, bytes.size, bytes.data);
    assert_non_null(part);
    assert_int_equal(part->n_addresses, 3);
    before = part->addresses[2]->address->hostname;
    part->addresses[2]->address->hostname = host; /* the tombstone's */
    put_raw(fixture, part);
    part->addresses[2]->address->hostname = before;
    assert_int_equal(errors(fixture), 1);
    assert_int_equal(counters->dropped_hostile, 1);
    assert_int_equal(counters->gossip_received, 0);
    join(fixture, &node, version);
    assert_int_equal(errors(fixture), 1);
    assert_int_equal(counters->dropped_hostile, 2);
    assert_int_equal(member_count(fixture->member), 2);
    put_raw(fixture, part);
    assert_int_equal(errors(fixture), 0);
    assert_int_equal(counters->gossip_received, 1);
    cluster__gossip__free_unpacked(part, NULL);
    gossip_fini(&gossip);
    buf_fini(&packed);
    buf_fini(&bytes);
}

static void invalid_joins_are_refused(void **state)
{
    struct fixture *fixture = *state;
    const struct member_counters *counters = member_counters(fixture->member);
    struct node_id node = test_node("c", 2552, 3);
    struct node_id other = test_node("d", 2552, 4);
    struct profile *profile =
        profile_new(&test_identity, &node, NULL, 0, "1.0");
    struct buf payload = { 0 };

    join(fixture, &node, "1.x"); /* JVM members could not read it */
    assert_int_equal(counters->dropped_malformed, 1);
    wire_put_join(&test_identity, &payload, profile);
    put(fixture, &other, "J", &payload); /* for another node */
    assert_int_equal(counters->dropped_hostile, 1);
    join(fixture, &test_identity.node, "1.0"); /* for this node */
    assert_int_equal(counters->dropped_hostile, 2);
    assert_int_equal(member_count(fixture->member), 2);
    assert_int_equal(sent(fixture, "W"), 0);
    join(fixture, &node, "1.0");
    join(fixture, &node, "1.0"); /* a retry gets another Welcome */
    assert_int_equal(sent(fixture, "W"), 2);
    assert_int_equal(member_count(fixture->member), 3);
    profile_drop(profile);
    buf_fini(&payload);
}

static void members_have_a_limit(void **state)
{
    struct fixture *fixture = *state;

    for (uint32_t i = 2; i < GOSSIP_MEMBERS_MAX + 3; i++) {
        struct node_id node = test_node("z", i + 1, i + 10);
        struct buf payload = { 0 };
        struct profile *profile =
            profile_new(&test_identity, &node, NULL, 0, "1.0");
        struct inbound inbound = {
            .from = node,
            .sender = slice_text(MEMBER_DAEMON_PATH),
            .manifest = slice_text("J"),
            .serializer = MEMBER_SERIALIZER,
        };

        if (i > 20 && i < GOSSIP_MEMBERS_MAX - 20) {
            /* filled by one gossip, which is much cheaper */
            struct gossip gossip = { 0 };

            learn(fixture, &gossip);
            for (; i < GOSSIP_MEMBERS_MAX - 20; i++) {
                struct node_id more = test_node("z", i + 1, i + 10);
                struct profile *added =
                    profile_new(&test_identity, &more, NULL, 0, "1.0");

                (void)gossip_add(&gossip, added, MEMBER_JOINING,
                                 UP_NUMBER_NONE);
                profile_drop(added);
            }
            advance(fixture, &gossip);
            put_gossip(fixture, &fixture->b, &test_identity.node, &gossip);
            (void)sent(fixture, "");
            gossip_fini(&gossip);
            i--;
            profile_drop(profile);
            continue;
        }
        wire_put_join(&test_identity, &payload, profile);
        inbound.payload = buf_slice(&payload);
        member_receive(fixture->member, fixture->now, 0, &inbound,
                       &fixture->outbox);
        (void)sent(fixture, "");
        buf_fini(&payload);
        profile_drop(profile);
    }
    assert_int_equal(member_count(fixture->member), GOSSIP_MEMBERS_MAX);
    assert_int_equal(member_counters(fixture->member)->dropped_full, 3);
}

/* Reads the log. Returns how many lines begin with the text. */
static uint32_t warned(struct fixture *fixture, const char *text)
{
    struct trace_line line;
    uint32_t count = 0;

    while (trace_next(fixture->trace, &line))
        count += !strncmp(line.text, text, strlen(text));
    return count;
}

static void malformed_messages_are_counted(void **state)
{
    static const char *const manifests[] = { "IJ", "IJA", "IJN", "J",   "W",
                                             "GE", "GS",  "HB",  "HBR", "L",
                                             "D",  "EC",  "XX",  "" };
    struct fixture *fixture = *state;
    const struct member_counters *counters = member_counters(fixture->member);
    struct buf payload = { 0 };

    buf_put_text(&payload, "\x0a\xff\xff\xff\x7frubbish");
    for (size_t i = 0; i < sizeof manifests / sizeof *manifests; i++)
        put(fixture, &fixture->b, manifests[i], &payload);
    assert_int_equal(counters->unknown_manifest, 2);
    assert_int_equal(counters->dropped_malformed, 11);
    /* with the first, second, fourth and eighth */
    assert_int_equal(warned(fixture, "membership message dropped"), 4);
    assert_int_equal(counters->dropped_state,
                     1); /* not even read */
    assert_int_equal(sent(fixture, "IJA"), 0);
    buf_fini(&payload);
}

static void questions_are_answered_MEM059_MEM063(void **state)
{
    struct fixture *fixture = *state;
    struct node_id asker = test_node("q", 5, 6);
    struct member_settings settings = { 0 };
    struct fixture outside = { .now = SECOND };
    struct buf payload = { 0 };

    outside.member = member_new(&test_identity, &settings, 1, NULL);
    wire_put_init_join(
        &test_identity, &payload,
        slice_text("{\"akka\":{\"cluster\":{\"downing-provider-class\":"
                   "\"\"}}}"));
    put(fixture, &asker, "IJ", &payload);
    assert_int_equal(sent(fixture, "IJA"), 1);
    put(&outside, &asker, "IJ", &payload);
    assert_int_equal(sent(&outside, "IJN"), 1);
    (void)member_down(fixture->member, fixture->now,
                      &test_identity.node.address, &fixture->outbox);
    (void)sent(fixture, "");
    put(fixture, &asker, "IJ", &payload);
    assert_int_equal(sent(fixture, "IJN"), 1);
    member_free(outside.member);
    outbox_fini(&outside.outbox);
    buf_fini(&payload);
}

static void heartbeats_are_answered_MEM038(void **state)
{
    struct fixture *fixture = *state;
    struct node_id stranger = test_node("x", 1, 9);
    struct heartbeat heartbeat = { stranger, 1, 2 };
    struct buf payload = { 0 };
    struct outbound out;

    wire_put_heartbeat(&test_identity, &payload, &heartbeat);
    put(fixture, &stranger, "HB", &payload); /* from a non-member, too */
    assert_true(outbox_next(&fixture->outbox, &out));
    assert_int_equal(wire_get_response(&test_identity, out.payload, &heartbeat),
                     WIRE_OK);
    assert_true(node_equal(&heartbeat.from, &test_identity.node));
    assert_int_equal(heartbeat.sequence, 1);
    assert_int_equal(heartbeat.created, 2);
    assert_int_equal(out.stream, STREAM_CONTROL);
    assert_false(out.selection);
    assert_true(slice_is(out.recipient, MEMBER_DAEMON_PATH "#1"));
    buf_fini(&payload);
}

static void settings_are_checked(void **state)
{
    const char *const center[] = { "dc-x" };
    struct member_settings settings = { .app_version = "1.2.3.4" };
    char text[128];
    (void)state;

    assert_false(member_settings_valid(&settings, text, sizeof text));
    settings = (struct member_settings){ .config = "{}" };
    assert_false(member_settings_valid(&settings, text, sizeof text));
    assert_non_null(strstr(text, "downing-provider-class"));
    settings = (struct member_settings){ .roles = center, .role_count = 1 };
    assert_false(member_settings_valid(&settings, text, sizeof text));
    settings = (struct member_settings){ .data_center = "" };
    assert_false(member_settings_valid(&settings, text, sizeof text));
    settings = (struct member_settings){ .seed_count = MEMBER_SEEDS_MAX + 1 };
    assert_false(member_settings_valid(&settings, text, sizeof text));
    settings = (struct member_settings){ 0 };
    assert_true(member_settings_valid(&settings, text, sizeof text));
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH(honest_gossip_is_accepted),
        WITH(a_peer_cannot_forge_the_own_status),
        WITH(only_reachable_members_may_gossip),
        WITH(forged_fields_are_refused),
        WITH(a_passed_limit_is_logged),
        WITH(invalid_joins_are_refused),
        WITH(members_have_a_limit),
        WITH(malformed_messages_are_counted),
        WITH(questions_are_answered_MEM059_MEM063),
        WITH(heartbeats_are_answered_MEM038),
        cmocka_unit_test(settings_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
