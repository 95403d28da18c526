/* Tests the region on control: registration, homes, directives and their senders, shutdown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/rng.h"
#include "base/timers.h"
#include "shard/region.h"
#include "shard/wire.h"

#define PATH "/system/sharding/T#5"
#define COORDINATOR "/system/sharding/TCoordinator/singleton/coordinator"
#define COORDINATOR_REF "akka://S@n0:1" COORDINATOR "#9"
#define REF(n) "akka://S@n" #n ":1" PATH

struct fixture {
    struct identity self; /* node 2 */
    struct outbox outbox;
    struct region *region;
    struct region_news news;
    struct shard_message sent;
    struct outbound out;
};

static struct node_id node(int number)
{
    struct node_id id = { .uid = 100u + (unsigned)number };
    char host[3] = { 'n', (char)('0' + number), 0 };
    assert_true(address_set(&id.address, host, 2, 1));
    return id;
}

static void peer(struct fixture *fixture, uint64_t now, int number,
                 enum member_status status)
{
    region_peer(fixture->region, now,
                &(struct member_info){ .node = node(number), .up_number = number + 1,
                                .status = status, .has_role = true });
}

static struct fixture *make(void **state, bool is_proxy,
                            uint64_t retry_interval)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    fixture.self = (struct identity){ "akka", "S", node(2) };
    fixture.region = region_new(&(struct region_options){
        .self = &fixture.self, .outbox = &fixture.outbox, .type = "T",
        .path = PATH, .coordinator_path = COORDINATOR, .shard_count = 10,
        .lanes = 2, .is_proxy = is_proxy,
        .retry_interval = retry_interval });
    *state = &fixture;
    return &fixture;
}

static int set_up(void **state)
{
    (void)make(state, false, 0);
    return 0;
}

static int set_up_proxy(void **state)
{
    (void)make(state, true, 0);
    return 0;
}

static int set_up_hasty(void **state)
{
    (void)make(state, false, 100 * MS);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    shard_message_fini(&fixture->sent);
    region_free(fixture->region);
    region_free(NULL);
    outbox_fini(&fixture->outbox);
    return 0;
}

static bool take(struct fixture *fixture)
{
    shard_message_fini(&fixture->sent);
    memset(&fixture->sent, 0, sizeof fixture->sent);
    if (!outbox_next(&fixture->outbox, &fixture->out))
        return false;
    assert_true(shard_message_read(&fixture->sent, fixture->out.serializer,
                                   fixture->out.manifest,
                                   fixture->out.payload));
    return true;
}

static void expect_sent(struct fixture *fixture, enum shard_message_kind kind,
                        int to)
{
    assert_true(take(fixture));
    assert_string_equal(shard_message_text(fixture->sent.kind),
                        shard_message_text(kind));
    assert_int_equal(fixture->out.to.uid, 100 + to);
    assert_true(slice_is(fixture->out.sender, PATH));
}

static void expect_none_sent(struct fixture *fixture)
{
    assert_false(take(fixture));
}

static void expect(struct fixture *fixture, enum region_news_kind kind)
{
    assert_true(region_next_news(fixture->region, &fixture->news));
    assert_int_equal(fixture->news.kind, kind);
}

static void expect_none(struct fixture *fixture)
{
    assert_false(region_next_news(fixture->region, &fixture->news));
}

static void receive_from(struct fixture *fixture, uint64_t now, int from,
                         const struct shard_message *message)
{
    struct buf payload = { 0 };
    shard_message_put(&payload, message, &fixture->self);
    assert_true(region_receive(
        fixture->region, now,
        &(struct inbound){
            .from = node(from), .sender = slice_text("/system/c#7"),
            .recipient = slice_text("/system/sharding/T"),
            .manifest = slice_text(shard_message_manifest(message->kind)),
            .payload = buf_slice(&payload),
            .serializer = shard_message_serializer(message->kind) }));
    buf_fini(&payload);
}

static void receive(struct fixture *fixture,
                    const struct shard_message *message)
{
    receive_from(fixture, 0, 0, message);
}

static void directive(struct fixture *fixture, enum shard_message_kind kind,
                      const char *shard, const char *ref, uint64_t epoch,
                      uint64_t attempt)
{
    receive(fixture,
            &(struct shard_message){ .kind = kind, .shard = slice_text(shard),
                                     .ref = slice_text(ref),
                                     .fence = { 1, epoch },
                                     .attempt = attempt });
}

static void register_at(struct fixture *fixture, uint64_t term)
{
    for (int i = 0; i < 3; i++)
        peer(fixture, 0, i, MEMBER_UP);
    receive(fixture, &(struct shard_message){
                         .kind = SHARD_REGISTER_ACK, .fence = { term, 0 },
                         .ref = slice_text(COORDINATOR_REF) });
    expect(fixture, REGION_COORDINATOR);
    expect_none(fixture);
    while (take(fixture)) {
    }
}

static const struct attempt none = { { 0, 0 }, 0 };

static struct attempt attempt(uint64_t epoch, uint64_t number)
{
    return (struct attempt){ { 1, epoch }, number };
}

/* Candidates are the first Up member and older ones that leave. */
static void a_region_registers_with_all_candidates(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t delays[] = { 250, 500, 1000, 2000, 2000 };
    uint64_t now = 0;
    uint64_t report = 0;
    peer(fixture, 0, 0, MEMBER_LEAVING);
    expect_sent(fixture, SHARD_REGISTER, 0);
    assert_true(slice_is(fixture->sent.ref, REF(2)));
    assert_int_equal(fixture->sent.lanes, 2);
    assert_int_equal(fixture->sent.number_of_shards, 10);
    peer(fixture, 0, 1, MEMBER_UP);
    peer(fixture, 0, 2, MEMBER_UP);
    expect_none_sent(fixture); /* the oldest has not changed */
    for (int i = 0; i < 5; i++) {
        now += delays[i] * MS;
        assert_true(region_deadline(fixture->region) == now);
        region_tick(fixture->region, now);
        expect_sent(fixture, SHARD_REGISTER, 0);
        assert_true(fixture->sent.report > report);
        report = fixture->sent.report;
        expect_sent(fixture, SHARD_REGISTER, 1); /* not 2: 1 is Up */
        expect_none_sent(fixture);
    }
    receive_from(fixture, now, 2, &(struct shard_message){
                             .kind = SHARD_REGISTER_ACK,
                             .ref = slice_text(REF(2)) });
    assert_false(region_registered(fixture->region));
    receive(fixture, &(struct shard_message){
                         .kind = SHARD_REGISTER_ACK, .fence = { 3, 0 },
                         .ref = slice_text(COORDINATOR_REF) });
    expect(fixture, REGION_COORDINATOR);
    assert_true(slice_is(fixture->news.path, COORDINATOR "#9"));
    assert_int_equal(region_term(fixture->region), 3);
    assert_true(region_deadline(fixture->region) == NEVER);
    region_peer_removed(fixture->region, now, &(struct node_id){ 0 });
    struct node_id gone = node(0);
    region_peer_removed(fixture->region, now, &gone);
    expect(fixture, REGION_NODE_GONE);
    expect_sent(fixture, SHARD_REGISTER, 1);
    assert_false(region_registered(fixture->region));
    peer(fixture, now, 0, MEMBER_UP); /* a removed one does not return */
    expect_none_sent(fixture);
}

static void acknowledge(struct fixture *fixture, uint64_t now, uint64_t term, enum cordon_level cordon)
{
    receive_from(fixture, now, 0, &(struct shard_message){
                                      .kind = SHARD_REGISTER_ACK, .fence = { term, 0 },
                                      .cordon = cordon,
                                      .ref = slice_text(COORDINATOR_REF) });
}

static void a_cordon_is_registered_until_the_coordinator_confirms_it(void **state)
{
    struct fixture *fixture = *state;

    register_at(fixture, 1);
    region_cordon(fixture->region, 0, CORDON_ON);
    expect_sent(fixture, SHARD_REGISTER, 0);
    assert_int_equal(fixture->sent.cordon, CORDON_ON);
    assert_false(region_cordon_is_told(fixture->region));
    assert_true(region_registered(fixture->region));
    region_tick(fixture->region, region_deadline(fixture->region));
    expect_sent(fixture, SHARD_REGISTER, 0); /* no answer came */
    acknowledge(fixture, SECOND, 1, CORDON_NOT);  /* of an earlier registration */
    assert_false(region_cordon_is_told(fixture->region));
    region_tick(fixture->region, region_deadline(fixture->region));
    expect_sent(fixture, SHARD_REGISTER, 0);
    acknowledge(fixture, SECOND, 1, CORDON_ON);
    assert_true(region_cordon_is_told(fixture->region));
    assert_true(region_deadline(fixture->region) == NEVER);
    region_cordon(fixture->region, SECOND, CORDON_ON); /* nothing new */
    expect_none_sent(fixture);
    region_cordon(fixture->region, SECOND, CORDON_NOT);
    expect_sent(fixture, SHARD_REGISTER, 0);
    assert_int_equal(fixture->sent.cordon, CORDON_NOT);
}

static void a_later_coordinator_hears_of_the_cordon(void **state)
{
    struct fixture *fixture = *state;

    register_at(fixture, 1);
    region_cordon(fixture->region, 0, CORDON_ON);
    expect_sent(fixture, SHARD_REGISTER, 0);
    acknowledge(fixture, 0, 1, CORDON_ON);
    region_coordinator_gone(fixture->region, 0);
    assert_false(region_cordon_is_told(fixture->region));
    expect_sent(fixture, SHARD_REGISTER, 0);
    assert_int_equal(fixture->sent.cordon, CORDON_ON);
    acknowledge(fixture, 0, 2, CORDON_ON);
    expect(fixture, REGION_COORDINATOR);
    assert_true(region_cordon_is_told(fixture->region));
}

static void a_proxy_has_no_cordon(void **state)
{
    struct fixture *fixture = *state;

    register_at(fixture, 1);
    region_cordon(fixture->region, 0, CORDON_ON);
    expect_none_sent(fixture);
    assert_true(region_cordon_is_told(fixture->region));
}

/* A region of node 2 waits for the coordinator of node 0. Copies its warning to `text`. */
static void waits_for_coordinator(bool reachable, char *text, size_t size)
{
    struct trace *trace = trace_new(TRACE_WARNING);
    struct identity self = { "akka", "S", node(2) };
    struct outbox outbox = { 0 };
    struct region *region = region_new(&(struct region_options){
        .self = &self, .outbox = &outbox, .type = "T", .path = PATH,
        .coordinator_path = COORDINATOR, .shard_count = 10, .lanes = 2,
        .trace = trace });
    struct trace_line line;

    for (int i = 0; i < 3; i += 2)
        region_peer(region, 0,
                    &(struct member_info){ .node = node(i), .up_number = i + 1,
                                    .status = MEMBER_UP, .has_role = true,
                                    .reachable = i != 0 || reachable });
    region_request_home(region, 0, 0, 7);
    for (uint64_t now = 0; now < 10 * SECOND; now = region_deadline(region))
        region_tick(region, now);
    assert_true(trace_next(trace, &line));
    (void)snprintf(text, size, "%s", line.text);
    region_free(region);
    outbox_fini(&outbox);
    trace_free(trace);
}

static void a_silent_coordinator_is_logged_with_a_remedy(void **state)
{
    const char *event = "coordinator does not answer type=T expected_at=n0:1 ";
    char text[512];
    (void)state;

    waits_for_coordinator(false, text, sizeof text);
    assert_true(strncmp(text, event, strlen(event)) == 0);
    assert_non_null(strstr(text, " shards_wanted=1 hint=\"that node is unreachable: "
                                 "repair the network, or down it\""));
    waits_for_coordinator(true, text, sizeof text);
    assert_true(strncmp(text, event, strlen(event)) == 0);
    assert_non_null(strstr(text, "hint=\"that node has sent nothing about the "
                                 "type yet: check that its program registers"));
}

static void a_home_is_requested_again_every_two_seconds(void **state)
{
    struct fixture *fixture = *state;
    region_request_home(fixture->region, 0, 0, 7);
    expect_none_sent(fixture);
    register_at(fixture, 1);
    region_request_home(fixture->region, 0, 1, 7);
    region_request_home(fixture->region, 0, 1, -3);
    expect_sent(fixture, SHARD_GET_HOME, 0);
    assert_true(slice_is(fixture->sent.shard, "-3"));
    expect_none_sent(fixture);
    region_tick(fixture->region, 2 * SECOND);
    expect_sent(fixture, SHARD_GET_HOME, 0);
    expect_sent(fixture, SHARD_GET_HOME, 0);
    directive(fixture, SHARD_HOME, "7", REF(1), 1, 0);
    directive(fixture, SHARD_HOME, "7", REF(1), 1, 0);
    expect(fixture, REGION_ROUTE);
    assert_int_equal(fixture->news.shard, 7);
    assert_int_equal(fixture->news.lane, LANE_ALL);
    assert_int_equal(fixture->news.node.uid, 101);
    assert_true(slice_is(fixture->news.path, PATH));
    expect_none(fixture);
    region_request_home(fixture->region, 0, 1, 7);
    expect(fixture, REGION_ROUTE);
    assert_int_equal(fixture->news.lane, 1);
    assert_int_equal(region_wanted_count(fixture->region), 1);
}

static uint32_t count_asked(struct fixture *fixture)
{
    uint32_t count = 0;

    for (; take(fixture); count++)
        assert_int_equal(fixture->sent.kind, SHARD_GET_HOME);
    return count;
}

/* Each repetition without an answer asks for fewer homes, in turn. After any message it asks for
 * all that are left. */
static void a_silent_coordinator_gets_fewer_requests_for_homes(void **state)
{
    static const uint32_t asked[] = { 19, 16, 16, 16, 16, 16 };
    struct fixture *fixture = *state;
    struct region *region = fixture->region;
    uint32_t of_one = 0;

    register_at(fixture, 1);
    for (int32_t i = -9; i < 10; i++)
        region_request_home(region, 0, 1, i);
    (void)count_asked(fixture);
    for (uint32_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        uint32_t count = 0;

        region_tick(region, (i + 1) * 2 * SECOND);
        for (; take(fixture); count++)
            of_one += slice_is(fixture->sent.shard, "7");
        assert_int_equal(count, asked[i]);
    }
    assert_in_range(of_one, 4, 6);
    directive(fixture, SHARD_HOME, "7", REF(1), 1, 0);
    expect(fixture, REGION_ROUTE);
    region_tick(region, 14 * SECOND);
    assert_int_equal(count_asked(fixture), 18);
    region_tick(region, 16 * SECOND);
    assert_int_equal(count_asked(fixture), 16);
}

/* Repetitions at the configured rate would fill a slow connection: 16 for each type, ten times a
 * second. The rate returns with the first message. */
static void a_silent_coordinator_is_asked_less_often(void **state)
{
    struct fixture *fixture = *state;
    struct region *region = fixture->region;
    uint32_t times = 0;
    uint64_t now = 0;

    register_at(fixture, 1);
    region_request_home(region, 0, 1, 3);
    region_request_home(region, 0, 1, 7);
    (void)count_asked(fixture);
    for (; now < 60 * SECOND; now += 10 * MS) {
        region_tick(region, now);
        times += count_asked(fixture) > 0;
    }
    assert_in_range(times, 60 / 2, 60 / 2 + 5);
    directive(fixture, SHARD_HOME, "7", REF(1), 1, 0);
    expect(fixture, REGION_ROUTE);
    for (times = 0; times < 2; now += 10 * MS) { /* the due one, and the next */
        region_tick(region, now);
        times += count_asked(fixture) > 0;
    }
    assert_in_range(now, 60 * SECOND, 62 * SECOND + 220 * MS);
}

static void a_repeated_host_shard_is_answered(void **state)
{
    struct fixture *fixture = *state;
    const struct fence fence = { 1, 4 };
    register_at(fixture, 1);
    directive(fixture, SHARD_HOST, "3", "", 4, 0);
    expect(fixture, REGION_HOST);
    expect(fixture, REGION_ROUTE);
    assert_int_equal(fixture->news.node.uid, 102);
    expect_none(fixture);
    directive(fixture, SHARD_HOST, "3", "", 4, 0);
    expect_none(fixture);
    expect_none_sent(fixture);
    region_shard_started(fixture->region, 0, 3, (struct fence){ 1, 3 });
    expect_none_sent(fixture);
    region_shard_started(fixture->region, 0, 3, fence);
    expect_sent(fixture, SHARD_HOST_STARTED, 0);
    assert_int_equal(fence_compare(fixture->sent.fence, fence), 0);
    assert_true(slice_is(fixture->out.recipient, "/system/c#7"));
    directive(fixture, SHARD_HOST, "3", "", 4, 0);
    expect_sent(fixture, SHARD_HOST_STARTED, 0);
    directive(fixture, SHARD_HOST, "3", "", 3, 0);
    expect_none_sent(fixture);
    assert_int_equal(region_counters(fixture->region)->stale, 1);
    assert_int_equal(region_hosted_count(fixture->region), 1);
    region_coordinator_gone(fixture->region, 0);
    expect_sent(fixture, SHARD_REGISTER, 0);
    assert_int_equal(fixture->sent.hosted_count, 1);
    assert_true(slice_is(fixture->sent.hosted[0].shard, "3"));
    assert_int_equal(fixture->sent.hosted[0].fence.epoch, 4);
}

static void a_region_hands_a_shard_off(void **state)
{
    struct fixture *fixture = *state;
    struct shard_owing owing[] = { { slice_text(REF(1)), 101, 3 },
                                   { slice_text(REF(2)), 102, 2 },
                                   { slice_text(REF(3)), 103, 1 } };
    struct shard_message hand_off = {
        .kind = SHARD_HAND_OFF, .shard = slice_text("3"), .fence = { 1, 4 },
        .attempt = 8, .owing = owing, .owing_count = 3
    };
    struct node_id gone = node(3);
    register_at(fixture, 1);
    region_peer_removed(fixture->region, 0, &gone);
    expect(fixture, REGION_NODE_GONE);
    directive(fixture, SHARD_HOST, "3", "", 4, 0);
    region_shard_started(fixture->region, 0, 3, (struct fence){ 1, 4 });
    expect_sent(fixture, SHARD_HOST_STARTED, 0);
    expect(fixture, REGION_HOST);
    expect(fixture, REGION_ROUTE);
    directive(fixture, SHARD_BEGIN_HAND_OFF, "3", REF(2), 4, 8);
    expect(fixture, REGION_HOLD);
    assert_int_equal(fixture->news.node.uid, 102);
    region_lane_held(fixture->region, 0, 0, 3, attempt(4, 8));
    region_lane_held(fixture->region, 0, 1, 3, attempt(4, 7));
    expect_none_sent(fixture);
    region_lane_held(fixture->region, 0, 1, 3, attempt(4, 8));
    expect_sent(fixture, SHARD_BEGIN_HAND_OFF_ACK, 0);
    assert_int_equal(fixture->sent.attempt, 8);
    directive(fixture, SHARD_BEGIN_HAND_OFF, "3", REF(2), 4, 8);
    expect_sent(fixture, SHARD_BEGIN_HAND_OFF_ACK, 0);
    expect(fixture, REGION_HOLD); /* markers may be lost */
    assert_int_equal(fixture->news.node.uid, 102);
    assert_int_equal(fixture->news.attempt.number, 8);
    region_lane_held(fixture->region, 0, 0, 3, attempt(4, 8));
    region_lane_held(fixture->region, 0, 1, 3, attempt(4, 8));
    expect_none_sent(fixture);
    directive(fixture, SHARD_BEGIN_HAND_OFF, "3", REF(2), 4, 7);
    expect_none_sent(fixture);
    receive(fixture, &hand_off);
    receive(fixture, &hand_off);
    expect(fixture, REGION_DRAIN);
    assert_int_equal(fixture->news.owing_count, 2); /* node 3 was removed */
    assert_int_equal(fixture->news.owing[0].lanes, 3);
    expect_none(fixture);
    region_shard_stopped(fixture->region, 0, 3, attempt(4, 8), false, "x");
    expect_sent(fixture, SHARD_HAND_OFF_FAILED, 0);
    assert_true(slice_is(fixture->sent.reason, "x"));
    hand_off.attempt = 9;
    receive(fixture, &hand_off);
    expect(fixture, REGION_DRAIN);
    region_shard_stopped(fixture->region, 0, 3, attempt(4, 8), true, NULL);
    expect_none_sent(fixture);
    region_shard_stopped(fixture->region, 0, 3, attempt(4, 9), true, NULL);
    expect_sent(fixture, SHARD_HOST_STOPPED, 0);
    assert_int_equal(fixture->sent.attempt, 9);
    assert_int_equal(region_hosted_count(fixture->region), 0);
    receive(fixture, &hand_off);
    expect_sent(fixture, SHARD_HOST_STOPPED, 0);
    expect_none(fixture);
}

static void a_region_that_never_asked_sends_markers_to_the_home(void **state)
{
    struct fixture *fixture = *state;
    register_at(fixture, 1);
    directive(fixture, SHARD_BEGIN_HAND_OFF, "3", REF(1), 4, 1);
    expect(fixture, REGION_HOLD);
    assert_int_equal(fixture->news.node.uid, 101);
    /* The hand-off failed: the old home ends the hold, and late answers of lanes are ignored. */
    directive(fixture, SHARD_HOME, "3", REF(1), 4, 0);
    expect(fixture, REGION_ROUTE);
    region_lane_held(fixture->region, 0, 0, 3, attempt(4, 1));
    region_lane_held(fixture->region, 0, 1, 3, attempt(4, 1));
    expect_none_sent(fixture);
}

static void directives_come_from_the_coordinator_only(void **state)
{
    struct fixture *fixture = *state;
    struct shard_message host = { .kind = SHARD_HOST, .fence = { 9, 9 },
                                  .shard = slice_text("3") };
    register_at(fixture, 1);
    receive_from(fixture, 0, 1, &host);
    receive_from(fixture, 0, 3, &host);
    assert_int_equal(region_counters(fixture->region)->strangers, 2);
    directive(fixture, SHARD_HOST, "10", "", 1, 0);
    directive(fixture, SHARD_HOST, "x", "", 1, 0);
    directive(fixture, SHARD_HOME, "1", "nonsense", 1, 0);
    assert_int_equal(region_counters(fixture->region)->malformed, 3);
    receive(fixture, &(struct shard_message){ .kind = SHARD_HOST_STARTED,
                                              .shard = slice_text("3") });
    assert_int_equal(region_counters(fixture->region)->unknown, 1);
    assert_false(region_receive(
        fixture->region, 0,
        &(struct inbound){ .serializer = SHARDING_SERIALIZER,
                           .manifest = slice_text("DC") }));
    expect_none(fixture);
    expect_none_sent(fixture);
}

static void a_newer_fence_takes_a_shard_away(void **state)
{
    struct fixture *fixture = *state;
    register_at(fixture, 1);
    directive(fixture, SHARD_HOST, "3", "", 4, 0);
    expect(fixture, REGION_HOST);
    expect(fixture, REGION_ROUTE);
    directive(fixture, SHARD_HOME, "3", REF(1), 4, 0);
    expect_none(fixture);
    directive(fixture, SHARD_HOME, "3", REF(1), 5, 0);
    expect(fixture, REGION_LOST);
    assert_int_equal(fixture->news.fence.epoch, 5);
    expect(fixture, REGION_ROUTE);
    region_shard_fenced(fixture->region, 0, 3, (struct fence){ 1, 4 });
    expect_sent(fixture, SHARD_REGISTER, 0);
    assert_int_equal(fixture->sent.hosted_count, 0);
    expect_none(fixture);
    expect_none_sent(fixture);
}

/* Other nodes may not know the former coordinator's last home. A home of the present one is
 * confirmed. */
static void a_home_of_the_previous_coordinator_is_requested_again(void **state)
{
    struct fixture *fixture = *state;
    register_at(fixture, 1);
    directive(fixture, SHARD_HOME, "3", REF(1), 4, 0);
    expect(fixture, REGION_ROUTE);
    region_suspect_home(fixture->region, 0, 1, 3);
    expect(fixture, REGION_ROUTE);
    assert_int_equal(fixture->news.lane, 1);
    expect_none(fixture);
    expect_none_sent(fixture);
    register_at(fixture, 2);
    region_suspect_home(fixture->region, 0, 1, 3);
    expect(fixture, REGION_FORGET);
    expect_none(fixture);
    expect_sent(fixture, SHARD_GET_HOME, 0);
    expect_none_sent(fixture);
    region_suspect_home(fixture->region, 0, 0, 3);
    expect_none(fixture);
    expect_none_sent(fixture);
    receive(fixture, &(struct shard_message){ .kind = SHARD_HOST,
                                              .shard = slice_text("3"),
                                              .fence = { 2, 1 } });
    expect(fixture, REGION_HOST);
    expect(fixture, REGION_ROUTE);
    region_suspect_home(fixture->region, 0, 1, 3);
    expect(fixture, REGION_ROUTE);
    expect_none(fixture);
}

static void a_refused_write_forgets_the_home(void **state)
{
    struct fixture *fixture = *state;
    register_at(fixture, 1);
    directive(fixture, SHARD_HOST, "3", "", 4, 0);
    expect(fixture, REGION_HOST);
    expect(fixture, REGION_ROUTE);
    region_shard_fenced(fixture->region, 0, 3, (struct fence){ 1, 4 });
    expect(fixture, REGION_FORGET);
    expect_sent(fixture, SHARD_REGISTER, 0);
    expect_sent(fixture, SHARD_GET_HOME, 0);
    directive(fixture, SHARD_HOME, "3", REF(2), 4, 0);
    expect_none(fixture); /* not under that fence again */
    directive(fixture, SHARD_HOME, "3", REF(2), 5, 0);
    expect(fixture, REGION_HOST);
    expect(fixture, REGION_ROUTE);
}

/* The coordinator does not know the one with the higher term. */
static void a_refused_claim_reports_the_stores_term(void **state)
{
    struct fixture *fixture = *state;
    register_at(fixture, 2);
    directive(fixture, SHARD_HOST, "3", "", 4, 0);
    region_store_has(fixture->region, 7);
    region_store_has(fixture->region, 6);
    region_shard_fenced(fixture->region, 0, 3, (struct fence){ 1, 4 });
    expect_sent(fixture, SHARD_REGISTER, 0);
    assert_int_equal(fixture->sent.stored_term, 7);
    while (take(fixture) || region_next_news(fixture->region, &fixture->news)) {
    }
    register_at(fixture, 8); /* it took a higher term */
    directive(fixture, SHARD_HOST, "4", "", 4, 0);
    region_shard_fenced(fixture->region, 0, 4, (struct fence){ 1, 4 });
    expect_sent(fixture, SHARD_REGISTER, 0);
    assert_int_equal(fixture->sent.stored_term, 0);
}

/* The report was lost with its connection, and the coordinator keeps naming this region as home. */
static void a_lost_shard_is_reported_until_the_coordinator_knows(void **state)
{
    struct fixture *fixture = *state;
    struct shard_message home = { .kind = SHARD_HOME,
                                  .shard = slice_text("3"),
                                  .ref = slice_text(REF(2)),
                                  .fence = { 1, 4 } };
    register_at(fixture, 1);
    directive(fixture, SHARD_HOST, "3", "", 4, 0);
    region_shard_fenced(fixture->region, SECOND, 3, (struct fence){ 1, 4 });
    expect_sent(fixture, SHARD_REGISTER, 0);
    expect_sent(fixture, SHARD_GET_HOME, 0);
    receive_from(fixture, 2 * SECOND, 0, &home);
    expect_none_sent(fixture); /* the answer may be on its way */
    receive_from(fixture, 11 * SECOND, 0, &home);
    expect_sent(fixture, SHARD_REGISTER, 0);
    assert_int_equal(fixture->sent.hosted_count, 0);
    receive_from(fixture, 12 * SECOND, 0, &home);
    expect_none_sent(fixture);
    receive_from(fixture, 21 * SECOND, 0, &home);
    expect_sent(fixture, SHARD_REGISTER, 0);
    home.fence.epoch++;
    receive_from(fixture, 40 * SECOND, 0, &home);
    expect_none_sent(fixture);
    assert_int_equal(region_hosted_count(fixture->region), 1);
}

static void homes_of_a_removed_node_are_forgotten(void **state)
{
    struct fixture *fixture = *state;
    struct node_id id = node(1);
    struct fence fence;
    register_at(fixture, 1);
    directive(fixture, SHARD_HOME, "3", REF(1), 4, 0);
    directive(fixture, SHARD_HOME, "4", REF(0), 4, 0);
    assert_true(region_home(fixture->region, 3, &id, &fence));
    region_peer_removed(fixture->region, 0, &id);
    assert_false(region_home(fixture->region, 3, &id, &fence));
    assert_true(region_home(fixture->region, 4, &id, &fence));
    region_gone(fixture->region, 0, &id.address, slice_text(PATH));
    assert_false(region_home(fixture->region, 4, &id, &fence));
}

static void without_fences_a_region_drops_messages_as_akka_does(void **state)
{
    struct fixture *fixture = *state;
    struct shard_message message = { .shard = slice_text("3") };
    register_at(fixture, 0);
    message.kind = SHARD_HOST;
    receive(fixture, &message);
    expect(fixture, REGION_HOST);
    expect(fixture, REGION_ROUTE);
    message.kind = SHARD_BEGIN_HAND_OFF;
    receive(fixture, &message);
    expect(fixture, REGION_HOLD);
    assert_int_equal(fixture->news.node.uid, 102);
    struct attempt own = fixture->news.attempt;
    region_lane_held(fixture->region, 0, 0, 3, own);
    region_lane_held(fixture->region, 0, 1, 3, own);
    expect_sent(fixture, SHARD_BEGIN_HAND_OFF_ACK, 0);
    assert_true(fence_is_none(fixture->sent.fence));
    message.kind = SHARD_HAND_OFF;
    receive(fixture, &message);
    expect(fixture, REGION_DROP);
    expect(fixture, REGION_DRAIN);
    assert_int_equal(attempt_compare(fixture->news.attempt, own), 0);
    assert_int_equal(fixture->news.owing_count, 1);
    assert_int_equal(fixture->news.owing[0].uid, 102);
    message.kind = SHARD_HOST; /* late */
    receive(fixture, &message);
    expect_none(fixture);
    region_shard_stopped(fixture->region, 0, 3, own, true, NULL);
    expect_sent(fixture, SHARD_HOST_STOPPED, 0);
    assert_int_equal(attempt_compare(
                         (struct attempt){ fixture->sent.fence,
                                           fixture->sent.attempt },
                         none),
                     0);
}

static void dismiss(struct fixture *fixture, uint64_t idle)
{
    receive(fixture, &(struct shard_message){ .kind = SHARD_DISMISSED,
                                              .fence = { 1, 0 },
                                              .idle = idle });
}

static void a_region_stops_when_nothing_is_left(void **state)
{
    struct fixture *fixture = *state;
    register_at(fixture, 1);
    directive(fixture, SHARD_HOST, "3", "", 4, 0);
    region_shard_started(fixture->region, 0, 3, (struct fence){ 1, 4 });
    expect_sent(fixture, SHARD_HOST_STARTED, 0);
    expect(fixture, REGION_HOST);
    expect(fixture, REGION_ROUTE);
    region_shutdown(fixture->region, 0, NEVER);
    expect_sent(fixture, SHARD_GRACEFUL_SHUTDOWN, 0);
    assert_true(slice_is(fixture->sent.ref, REF(2)));
    region_tick(fixture->region, 2 * SECOND);
    expect_sent(fixture, SHARD_GRACEFUL_SHUTDOWN, 0);
    receive(fixture, &(struct shard_message){ .kind = SHARD_HAND_OFF,
                                              .shard = slice_text("3"),
                                              .fence = { 1, 4 },
                                              .attempt = 1 });
    region_shard_stopped(fixture->region, 0, 3, attempt(4, 1), true, NULL);
    expect_sent(fixture, SHARD_HOST_STOPPED, 0);
    expect(fixture, REGION_DRAIN);
    expect(fixture, REGION_FORGET); /* no BeginHandOff came before */
    region_lane_waiting(fixture->region, 0, 0, 0);
    region_lane_waiting(fixture->region, 0, 1, 1);
    expect_none(fixture);
    region_lane_waiting(fixture->region, 0, 1, 0);
    expect_sent(fixture, SHARD_GRACEFUL_SHUTDOWN, 0);
    assert_int_equal(fixture->sent.idle, 1);
    dismiss(fixture, 1);
    expect_sent(fixture, SHARD_REGION_STOPPED, 0);
    expect(fixture, REGION_STOPPED);
    assert_true(region_deadline(fixture->region) == NEVER);
    directive(fixture, SHARD_HOST, "3", "", 6, 0);
    expect_none(fixture);
    expect_sent(fixture, SHARD_REGION_STOPPED, 0);
}

static void shut_down_idle(struct fixture *fixture)
{
    register_at(fixture, 1);
    region_shutdown(fixture->region, 0, NEVER);
    expect_sent(fixture, SHARD_GRACEFUL_SHUTDOWN, 0);
    assert_int_equal(fixture->sent.idle, 0);
    for (uint32_t i = 0; i < 2; i++)
        region_lane_waiting(fixture->region, 0, i, 0);
    expect_sent(fixture, SHARD_GRACEFUL_SHUTDOWN, 0);
    assert_int_equal(fixture->sent.idle, 1);
    expect_none(fixture);
}

/* Others already send here. */
static void a_region_that_shuts_down_takes_a_late_shard(void **state)
{
    struct fixture *fixture = *state;

    shut_down_idle(fixture);
    directive(fixture, SHARD_HOST, "3", "", 4, 0);
    expect(fixture, REGION_HOST);
    expect(fixture, REGION_ROUTE);
    expect_sent(fixture, SHARD_GRACEFUL_SHUTDOWN, 0);
    assert_int_equal(fixture->sent.idle, 0);
    dismiss(fixture, 1);
    expect_none(fixture);
    region_shard_fenced(fixture->region, 0, 3, (struct fence){ 1, 4 });
    expect(fixture, REGION_FORGET);
    expect_none(fixture);
    expect_sent(fixture, SHARD_REGISTER, 0);
    expect_sent(fixture, SHARD_GET_HOME, 0);
    expect_sent(fixture, SHARD_GRACEFUL_SHUTDOWN, 0);
    assert_int_equal(fixture->sent.idle, 2);
    dismiss(fixture, 2);
    expect(fixture, REGION_STOPPED);
}

static void waiting_messages_withdraw_the_request_to_stop(void **state)
{
    struct fixture *fixture = *state;

    shut_down_idle(fixture);
    region_lane_waiting(fixture->region, 0, 1, 1);
    expect_sent(fixture, SHARD_GRACEFUL_SHUTDOWN, 0);
    assert_int_equal(fixture->sent.idle, 0);
    region_lane_waiting(fixture->region, 0, 1, 0);
    expect_sent(fixture, SHARD_GRACEFUL_SHUTDOWN, 0);
    assert_int_equal(fixture->sent.idle, 2);
    dismiss(fixture, 1);
    expect_none(fixture);
    region_tick(fixture->region, 2 * SECOND); /* one may be lost */
    expect_sent(fixture, SHARD_GRACEFUL_SHUTDOWN, 0);
    assert_int_equal(fixture->sent.idle, 2);
    dismiss(fixture, 2);
    expect(fixture, REGION_STOPPED);
}

static void the_wait_for_a_dismissal_is_limited(void **state)
{
    struct fixture *fixture = *state;
    uint64_t now = 0;

    shut_down_idle(fixture);
    for (uint32_t i = 0; i < 5; i++) {
        expect_none(fixture);
        now = region_deadline(fixture->region);
        region_tick(fixture->region, now);
    }
    expect(fixture, REGION_STOPPED);
    assert_true(now == 10 * SECOND);
    assert_true(region_deadline(fixture->region) == NEVER);
}

/* An older coordinator's answer does not bind the newer one, which may still allocate here. */
static void another_coordinator_is_asked_again(void **state)
{
    struct fixture *fixture = *state;
    struct inbound query = { .from = node(0),
                             .sender = slice_text(COORDINATOR "#9") };

    shut_down_idle(fixture);
    region_asked(fixture->region, 0, &query, 2);
    expect_sent(fixture, SHARD_REGISTER, 0);
    dismiss(fixture, 1);
    region_tick(fixture->region, 10 * SECOND);
    expect_none(fixture);
    assert_true(region_deadline(fixture->region) > 10 * SECOND);
    while (take(fixture))
        ;
    receive(fixture, &(struct shard_message){
                         .kind = SHARD_REGISTER_ACK, .fence = { 2, 0 },
                         .ref = slice_text(COORDINATOR_REF) });
    expect(fixture, REGION_COORDINATOR);
    expect_none(fixture);
    expect_sent(fixture, SHARD_GRACEFUL_SHUTDOWN, 0);
    assert_int_equal(fixture->sent.idle, 0);
    expect_sent(fixture, SHARD_GRACEFUL_SHUTDOWN, 0);
    assert_int_equal(fixture->sent.idle, 2);
    dismiss(fixture, 2);
    expect_none(fixture);
    receive(fixture, &(struct shard_message){ .kind = SHARD_DISMISSED,
                                              .fence = { 2, 0 },
                                              .idle = 2 });
    expect(fixture, REGION_STOPPED);
}

static void a_jvm_coordinator_gets_no_query_from_a_stopped_region(void **state)
{
    struct fixture *fixture = *state;

    register_at(fixture, 0);
    region_shutdown(fixture->region, 0, NEVER);
    for (uint32_t i = 0; i < 2; i++)
        region_lane_waiting(fixture->region, 0, i, 0);
    expect(fixture, REGION_STOPPED);
    expect_sent(fixture, SHARD_GRACEFUL_SHUTDOWN, 0);
    assert_int_equal(fixture->sent.idle, 0);
    expect_sent(fixture, SHARD_REGION_STOPPED, 0);
}

/* Its lanes may have sent to moving shards, and continue until their node ends. */
static void a_region_that_has_stopped_continues_as_a_proxy(void **state)
{
    struct fixture *fixture = *state;
    struct inbound query = { .from = node(0),
                             .sender = slice_text(COORDINATOR "#9") };
    register_at(fixture, 1);
    region_shutdown(fixture->region, 0, NEVER);
    region_lane_waiting(fixture->region, 0, 0, 0);
    region_lane_waiting(fixture->region, 0, 1, 0);
    dismiss(fixture, 1);
    expect(fixture, REGION_STOPPED);
    while (take(fixture))
        ;
    directive(fixture, SHARD_BEGIN_HAND_OFF, "3", REF(1), 4, 1);
    expect(fixture, REGION_HOLD);
    expect_none_sent(fixture);
    region_lane_held(fixture->region, 0, 0, 3, attempt(4, 1));
    region_lane_held(fixture->region, 0, 1, 3, attempt(4, 1));
    expect_sent(fixture, SHARD_BEGIN_HAND_OFF_ACK, 0);
    region_request_home(fixture->region, 0, 1, 3);
    expect_sent(fixture, SHARD_GET_HOME, 0);
    directive(fixture, SHARD_HOME, "3", REF(1), 5, 0);
    expect(fixture, REGION_ROUTE);
    region_asked(fixture->region, 0, &query, 0);
    assert_true(take(fixture));
    assert_int_equal(fixture->sent.kind, SHARD_NO_REGION);
    expect_sent(fixture, SHARD_REGISTER_PROXY, 0);
    region_prepare_shutdown(fixture->region, 0); /* the cluster stops: no further hand-offs */
    directive(fixture, SHARD_BEGIN_HAND_OFF, "3", REF(1), 5, 2);
    expect_none(fixture);
    expect_sent(fixture, SHARD_REGION_STOPPED, 0);
}

/* A stopped region ignores directives and queries of a JVM's coordinator. */
static void under_a_jvm_a_stopped_region_ignores_directives(void **state)
{
    struct fixture *fixture = *state;
    register_at(fixture, 0);
    region_shutdown(fixture->region, 0, SECOND);
    region_tick(fixture->region, SECOND);
    expect(fixture, REGION_STOPPED);
    while (take(fixture))
        ;
    directive(fixture, SHARD_BEGIN_HAND_OFF, "3", "", 0, 0);
    expect_none(fixture);
    expect_sent(fixture, SHARD_REGION_STOPPED, 0);
}

static void a_shutdown_has_a_limit(void **state)
{
    struct fixture *fixture = *state;
    register_at(fixture, 1);
    directive(fixture, SHARD_HOST, "3", "", 4, 0);
    expect(fixture, REGION_HOST);
    expect(fixture, REGION_ROUTE);
    region_shutdown(fixture->region, 0, SECOND);
    assert_true(region_deadline(fixture->region) == SECOND);
    region_tick(fixture->region, SECOND);
    /* its entities end at once; no other node may start them before */
    expect(fixture, REGION_LOST);
    expect_none(fixture);
    while (take(fixture))
        assert_int_not_equal(fixture->sent.kind, SHARD_REGION_STOPPED);
    directive(fixture, SHARD_HOST, "4", "", 5, 0);
    expect_none(fixture);
    while (take(fixture))
        ;
    region_shard_fenced(fixture->region, SECOND, 3, (struct fence){ 1, 4 });
    expect(fixture, REGION_FORGET);
    expect(fixture, REGION_STOPPED);
    expect_sent(fixture, SHARD_REGION_STOPPED, 0);
}

static void an_empty_region_stops_at_its_limit(void **state)
{
    struct fixture *fixture = *state;
    register_at(fixture, 1);
    region_shutdown(fixture->region, 0, SECOND);
    region_tick(fixture->region, SECOND);
    expect(fixture, REGION_STOPPED);
}

static void a_proxy_hosts_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct inbound query = { .from = node(0),
                             .sender = slice_text(COORDINATOR "#9") };
    peer(fixture, 0, 0, MEMBER_UP);
    expect_sent(fixture, SHARD_REGISTER_PROXY, 0);
    register_at(fixture, 1);
    directive(fixture, SHARD_HOST, "3", "", 4, 0);
    expect_none(fixture);
    directive(fixture, SHARD_BEGIN_HAND_OFF, "3", REF(1), 4, 1);
    expect(fixture, REGION_HOLD);
    region_asked(fixture->region, 0, &query, 0);
    assert_true(take(fixture));
    assert_int_equal(fixture->sent.kind, SHARD_NO_REGION);
    assert_true(slice_is(fixture->sent.type, "T"));
}

static void a_query_registers_at_once(void **state)
{
    struct fixture *fixture = *state;
    struct inbound query = { .from = node(1),
                             .sender = slice_text(COORDINATOR "#4") };
    register_at(fixture, 1);
    region_asked(fixture->region, 0, &query, 0);
    expect_sent(fixture, SHARD_REGISTER, 1);
    assert_true(slice_is(fixture->out.recipient, COORDINATOR "#4"));
    receive(fixture, &(struct shard_message){ .kind = SHARD_REFUSED,
                                              .reason = slice_text("why") });
    expect(fixture, REGION_REFUSED);
    assert_true(slice_is(fixture->news.text, "why"));
}

/* Its report stands: late orders of the older coordinator name shards outside the report. */
static void a_newer_coordinators_query_ends_the_older_ones_directives(void **state)
{
    struct fixture *fixture = *state;
    struct inbound query = { .from = node(1),
                             .sender = slice_text(COORDINATOR "#4") };
    struct shard_message ack = {
        .kind = SHARD_REGISTER_ACK, .fence = { 2, 0 },
        .ref = slice_text("akka://S@n1:1" COORDINATOR "#4") };
    struct shard_message host = { .kind = SHARD_HOST, .fence = { 2, 1 },
                                  .shard = slice_text("4") };
    register_at(fixture, 1);
    region_asked(fixture->region, 0, &query, 2);
    expect_sent(fixture, SHARD_REGISTER, 1);
    directive(fixture, SHARD_HOST, "3", "", 4, 0);
    expect(fixture, REGION_HOST); /* 1 cannot be the coordinator */
    expect(fixture, REGION_ROUTE);
    peer(fixture, 0, 0, MEMBER_EXITING);
    region_asked(fixture->region, 0, &query, 1);
    expect_sent(fixture, SHARD_REGISTER, 1);
    assert_true(region_registered(fixture->region));
    region_asked(fixture->region, 0, &query, 2);
    expect_sent(fixture, SHARD_REGISTER, 1);
    assert_int_equal(fixture->sent.hosted_count, 1);
    directive(fixture, SHARD_HOST, "4", "", 4, 0);
    expect_none(fixture);
    receive(fixture, &(struct shard_message){
                         .kind = SHARD_REGISTER_ACK, .fence = { 1, 0 },
                         .ref = slice_text(COORDINATOR_REF) });
    expect_none(fixture);
    region_tick(fixture->region, 10 * SECOND); /* the answer may be lost */
    expect_sent(fixture, SHARD_REGISTER, 0);
    expect_sent(fixture, SHARD_REGISTER, 1);
    receive_from(fixture, 0, 1, &ack);
    expect(fixture, REGION_COORDINATOR);
    receive_from(fixture, 0, 1, &host);
    expect(fixture, REGION_HOST);
}

static void without_a_host_waiting_messages_are_given_up_soon(void **state)
{
    struct fixture *fixture = *state;
    peer(fixture, 0, 0, MEMBER_UP);
    region_peer_removed(fixture->region, 0, &(struct node_id){ node(0).address, 100 });
    expect(fixture, REGION_NODE_GONE);
    region_shutdown(fixture->region, 0, 60 * SECOND);
    region_lane_waiting(fixture->region, 0, 0, 0);
    region_lane_waiting(fixture->region, 0, 1, 1);
    region_tick(fixture->region, 2 * SECOND);
    expect_none(fixture);
    region_tick(fixture->region, 12 * SECOND - 1);
    expect_none(fixture);
    region_tick(fixture->region, 12 * SECOND);
    expect(fixture, REGION_STOPPED);
}

static void with_a_possible_host_waiting_messages_are_kept(void **state)
{
    struct fixture *fixture = *state;
    peer(fixture, 0, 0, MEMBER_UP);
    region_shutdown(fixture->region, 0, 60 * SECOND);
    region_lane_waiting(fixture->region, 0, 0, 0);
    region_lane_waiting(fixture->region, 0, 1, 1);
    for (uint64_t at = 2; at < 60; at += 2)
        region_tick(fixture->region, at * SECOND);
    expect_none(fixture);
    region_tick(fixture->region, 60 * SECOND);
    expect(fixture, REGION_STOPPED);
}

/* The coordinator that has a region's report must learn that it stopped. */
static void a_region_stops_only_when_the_coordinator_that_asked_knows(
    void **state)
{
    struct fixture *fixture = *state;
    struct inbound query = { .from = node(0),
                             .sender = slice_text(COORDINATOR "#9") };
    register_at(fixture, 1);
    region_asked(fixture->region, 0, &query, 2);
    region_shutdown(fixture->region, 0, 5 * SECOND);
    for (uint32_t i = 0; i < 2; i++)
        region_lane_waiting(fixture->region, 0, i, 0);
    expect_none(fixture);
    receive(fixture, &(struct shard_message){
                         .kind = SHARD_REGISTER_ACK, .fence = { 2, 0 },
                         .ref = slice_text(COORDINATOR_REF) });
    expect(fixture, REGION_COORDINATOR);
    receive(fixture, &(struct shard_message){ .kind = SHARD_DISMISSED,
                                              .fence = { 2, 0 },
                                              .idle = 1 });
    expect(fixture, REGION_STOPPED);
}

#define CROWD 60

/* Several share an address. */
static struct node_id one_of_crowd(uint32_t number)
{
    struct node_id id = { .uid = 5000 + number };
    uint32_t place = number < CROWD ? number : number - CROWD;
    char host[24];

    (void)snprintf(host, sizeof host, "crowd-%u", (unsigned)place / 2);
    assert_true(address_set(&id.address, host, strlen(host), 1 + place % 2));
    return id;
}

/* Gives 10 shards to a crowd of which some are gone, some appear twice, and some are unknown. */
static void fill_crowd(struct fixture *fixture, struct rng *rng)
{
    for (uint32_t i = 0; i < 2 * CROWD; i++)
        if (rng_below(rng, 3))
            region_peer(fixture->region, 0,
                        &(struct member_info){ .node = one_of_crowd(i),
                                        .up_number = 100 + (int32_t)i,
                                        .status = MEMBER_UP });
    for (uint32_t i = 0; i < CROWD / 3; i++) {
        struct node_id id = one_of_crowd((uint32_t)rng_below(rng, 2 * CROWD));

        region_peer_removed(fixture->region, 0, &id);
    }
}

/* Lists look up members by address, single homes do not. */
static void a_list_of_homes_equals_single_homes(void **state)
{
    static char refs[20][HOST_MAX + 128], shards[20][4];
    struct shard_home homes[20];
    struct fixture *fixture = *state;
    struct node_id ids[2][10];

    for (uint64_t seed = 1; seed <= 200; seed++) {
        for (uint32_t way = 0; way < 2; way++) {
            struct rng rng;

            tear_down(state);
            (void)make(state, false, 0);
            rng_init(&rng, seed);
            register_at(fixture, 1);
            fill_crowd(fixture, &rng);
            for (uint32_t i = 0; i < 20; i++) {
                struct node_id id = one_of_crowd((uint32_t)rng_below(&rng, CROWD + 10) % CROWD);

                (void)snprintf(refs[i], sizeof refs[i], "akka://S@%s:%u%s", id.address.host,
                               (unsigned)id.address.port, PATH);
                (void)snprintf(shards[i], sizeof shards[i], "%c", (char)('0' + i % 10));
                homes[i] = (struct shard_home){ slice_text(refs[i]), slice_text(shards[i]), { 1, 1 + i / 10 } };
                if (way)
                    directive(fixture, SHARD_HOME, shards[i], refs[i], 1 + i / 10, 0);
            }
            if (!way)
                receive(fixture, &(struct shard_message){ .kind = SHARD_HOMES, .homes = homes, .home_count = 20 });
            for (int32_t i = 0; i < 10; i++) {
                struct fence fence;

                ids[way][i] = (struct node_id){ .uid = 1 };
                (void)region_home(fixture->region, i, &ids[way][i], &fence); /* none */
            }
        }
        for (uint32_t i = 0; i < 10; i++)
            assert_int_equal(ids[0][i].uid, ids[1][i].uid);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_region_registers_with_all_candidates),
        TEST(a_cordon_is_registered_until_the_coordinator_confirms_it),
        TEST(a_later_coordinator_hears_of_the_cordon),
        cmocka_unit_test_setup_teardown(a_proxy_has_no_cordon, set_up_proxy, tear_down),
        cmocka_unit_test(a_silent_coordinator_is_logged_with_a_remedy),
        TEST(a_home_is_requested_again_every_two_seconds),
        TEST(a_silent_coordinator_gets_fewer_requests_for_homes),
        cmocka_unit_test_setup_teardown(
            without_a_host_waiting_messages_are_given_up_soon, set_up_proxy,
            tear_down),
        cmocka_unit_test_setup_teardown(
            with_a_possible_host_waiting_messages_are_kept, set_up_proxy,
            tear_down),
        cmocka_unit_test_setup_teardown(a_silent_coordinator_is_asked_less_often,
                                        set_up_hasty, tear_down),
        TEST(a_repeated_host_shard_is_answered),
        TEST(a_region_hands_a_shard_off),
        TEST(a_region_that_never_asked_sends_markers_to_the_home),
        TEST(directives_come_from_the_coordinator_only),
        TEST(a_home_of_the_previous_coordinator_is_requested_again),
        TEST(a_newer_fence_takes_a_shard_away),
        TEST(a_refused_write_forgets_the_home),
        TEST(a_refused_claim_reports_the_stores_term),
        TEST(a_lost_shard_is_reported_until_the_coordinator_knows),
        TEST(homes_of_a_removed_node_are_forgotten),
        TEST(a_list_of_homes_equals_single_homes),
        TEST(without_fences_a_region_drops_messages_as_akka_does),
        TEST(a_region_stops_when_nothing_is_left),
        TEST(a_region_that_shuts_down_takes_a_late_shard),
        TEST(waiting_messages_withdraw_the_request_to_stop),
        TEST(the_wait_for_a_dismissal_is_limited),
        TEST(another_coordinator_is_asked_again),
        TEST(a_jvm_coordinator_gets_no_query_from_a_stopped_region),
        TEST(a_region_that_has_stopped_continues_as_a_proxy),
        TEST(under_a_jvm_a_stopped_region_ignores_directives),
        TEST(a_shutdown_has_a_limit),
        TEST(an_empty_region_stops_at_its_limit),
        cmocka_unit_test_setup_teardown(a_proxy_hosts_nothing, set_up_proxy,
                                        tear_down),
        TEST(a_query_registers_at_once),
        TEST(a_newer_coordinators_query_ends_the_older_ones_directives),
        TEST(a_region_stops_only_when_the_coordinator_that_asked_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
