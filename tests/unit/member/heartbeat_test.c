/* Tests the failure detector's numbers, the ring, the choice of peers, and the share of gossip
 * rounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/timers.h"
#include "member/heartbeat.h"
#include "member/phi.h"
#include "member/state.h"
#include "member/wire.h"
#include "values.h"

static void expect_near(double value, double expected, double tolerance)
{
    if (!(value >= expected - tolerance && value <= expected + tolerance))
        fail_msg("%.9f is not %.9f within %g", value, expected, tolerance);
}

static void phi_follows_the_distribution(void **state)
{
    static const double t[] = { 0, 500, 1000, 1200, 1400, 1600, 1700 };
    static const double phi[] = { 0,        0,         0.301030, 1.642828,
                                  4.736695, 10.782601, 15.368526 };
    double before = -1;
    (void)state;

    for (int i = 0; i < 7; i++)
        expect_near(phi_of(t[i], 1000, 100), phi[i], 1e-5);
    for (int i = 0; i <= 40; i++) {
        double value = phi_of(i, 0, 10);

        assert_true(value > before);
        before = value;
    }
    expect_near(phi_of(0, 0, 10), 0.30103, 1e-5); /* cdf 0.5 */
    expect_near(phi_of(10, 0, 1), 37.584713, 1e-5);
    assert_true(phi_of(-25, 0, 1) == 0);
    assert_true(phi_of(-1e9, 0, 1) == 0);
    expect_near(phi_of(1100, 1000, 500), 0.376074, 1e-5);
    expect_near(phi_of(1100, 1000, 100), 0.799508, 1e-5);
    assert_true(phi_of(1e12, 0, 1) > 1e300); /* infinite, not a NaN */
}

/* The distribution's table as phi, -log10(1 - cdf), with its tolerance. */
static void phi_approximates_the_normal_distribution_FD001(void **state)
{
    static const struct {
        double elapsed;
        double mean;
        double deviation;
        double least;
        double most;
    } rows[] = {
        { 0, 0, 10, 0.300162, 0.301899 },  { 6, 0, 10, 0.560194, 0.563360 },
        { 15, 0, 10, 1.168770, 1.181774 }, { 20, 0, 10, 1.624336, 1.662541 },
        { 25, 0, 10, 2.142065, 2.283162 }, { 35, 0, 10, 2.910095, 5 },
        { 40, 0, 10, 3.886057, 9 },        { 22, 20, 3, 0.596022, 0.599462 },
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double phi = phi_of(rows[i].elapsed, rows[i].mean, rows[i].deviation);

        if (phi < rows[i].least || phi > rows[i].most)
            fail_msg("phi(%g) is %.6f", rows[i].elapsed, phi);
    }
}

static const struct phi_settings no_pause = { 8, 1000, 100, 0, 1000 };

/* Heartbeats at growing times. Each call advances the clock. */
struct heartbeats {
    struct phi phi;
    struct phi_settings settings;
    uint64_t ms;
};

static void heartbeat(struct heartbeats *heartbeats, uint64_t after)
{
    heartbeats->ms += after;
    phi_heartbeat(&heartbeats->phi, &heartbeats->settings, heartbeats->ms * MS);
}

static bool available(struct heartbeats *heartbeats, uint64_t after)
{
    heartbeats->ms += after;
    return phi_is_available(&heartbeats->phi, &heartbeats->settings,
                            heartbeats->ms * MS);
}

static double value(struct heartbeats *heartbeats, uint64_t after)
{
    heartbeats->ms += after;
    return phi_value(&heartbeats->phi, &heartbeats->settings, heartbeats->ms * MS);
}

static void phi_grows_with_the_silence_of_a_peer_FD005(void **state)
{
    struct heartbeats b = { .settings = no_pause, .ms = 1000 };
    (void)state;

    assert_true(available(&b, 0)); /* no heartbeat so far */
    heartbeat(&b, 0);
    expect_near(value(&b, 1000), 0.301030, 1e-4);
    expect_near(value(&b, 1000), 4.736695, 1e-2);
    expect_near(value(&b, 1000), 21.241600, 1e-1);
    phi_fini(&b.phi);
}

static void a_peer_whose_heartbeats_are_missing_is_unavailable_FD008_FD022(
    void **state)
{
    struct heartbeats b = { .settings = no_pause, .ms = 1000 };
    (void)state;

    b.settings.threshold = 3;
    heartbeat(&b, 0);
    heartbeat(&b, 1000);
    heartbeat(&b, 100);
    assert_true(available(&b, 100));
    assert_false(available(&b, 7000));
    phi_fini(&b.phi);
}

static const struct phi_settings with_pause = { 8, 1000, 100, 3000, 1000 };

static void a_peer_that_returns_is_available(void **state)
{
    struct heartbeats b = { .settings = with_pause, .ms = 1000 };
    (void)state;

    heartbeat(&b, 0);
    for (int i = 1; i < 1000; i++)
        heartbeat(&b, 1000);
    assert_false(available(&b, 300000));
    heartbeat(&b, 100);
    assert_true(available(&b, 900));
    heartbeat(&b, 100);
    assert_false(available(&b, 7000));
    heartbeat(&b, 100);
    assert_true(available(&b, 900));
    heartbeat(&b, 100);
    assert_true(available(&b, 900));
    phi_fini(&b.phi);
}

static void a_pause_of_heartbeats_is_accepted_FD010_FD023(void **state)
{
    struct heartbeats b = { .settings = with_pause, .ms = 1000 };
    (void)state;

    for (int i = 0; i < 4; i++)
        heartbeat(&b, 1000);
    assert_true(available(&b, 4000));
    heartbeat(&b, 1000);
    assert_true(available(&b, 1000));
    phi_fini(&b.phi);
}

static void a_longer_pause_is_not_accepted_FD011(void **state)
{
    struct heartbeats b = { .settings = with_pause, .ms = 1000 };
    (void)state;

    for (int i = 0; i < 5; i++)
        heartbeat(&b, 1000);
    heartbeat(&b, 500);
    assert_true(available(&b, 500));
    heartbeat(&b, 0);
    assert_false(available(&b, 5500));
    phi_fini(&b.phi);
}

static void old_intervals_leave_the_window(void **state)
{
    struct heartbeats b = { .settings = no_pause, .ms = 1000 };
    double third;
    (void)state;

    b.settings.samples_max = 3;
    for (int i = 0; i < 4; i++)
        heartbeat(&b, 100);
    third = value(&b, 100);
    heartbeat(&b, 600);
    for (int i = 0; i < 3; i++)
        heartbeat(&b, 500);
    expect_near(value(&b, 500), third, 1e-3);
    phi_fini(&b.phi);
}

/* Available below the threshold, not at it. */
static void a_peer_at_the_threshold_is_unavailable(void **state)
{
    struct heartbeats b = { .settings = { 8, 1000, 100, 3000, 1000 }, .ms = 1000 };
    uint64_t silent = 4000;
    (void)state;

    for (int i = 0; i < 20; i++)
        heartbeat(&b, 1000);
    b.ms += silent;
    for (; value(&b, 0) < 8; b.ms++, silent++)
        assert_true(available(&b, 0));
    assert_in_range(silent, 4522, 4525); /* mean, pause, and 5.226 deviations */
    for (; value(&b, 0) < 12; b.ms++)
        assert_false(available(&b, 0));
    phi_fini(&b.phi);
}

static void phi_grows_after_the_first_heartbeats_FD004_FD006(void **state)
{
    struct heartbeats b = { .settings = no_pause, .ms = 1000 };
    (void)state;

    assert_true(value(&b, 0) == 0);
    heartbeat(&b, 0);
    assert_true(value(&b, 100) > 0);
    heartbeat(&b, 100);
    assert_true(value(&b, 100) > 0);
    phi_fini(&b.phi);
}

static void a_series_of_heartbeats_makes_a_peer_available_FD007_FD021(
    void **state)
{
    struct heartbeats b = { .settings = no_pause, .ms = 1000 };
    (void)state;

    assert_false(b.phi.is_monitoring);
    heartbeat(&b, 0);
    heartbeat(&b, 1000);
    heartbeat(&b, 100);
    assert_true(b.phi.is_monitoring);
    assert_true(available(&b, 100));
    phi_fini(&b.phi);
}

static void a_forgotten_peer_begins_a_fresh_history_FD026(void **state)
{
    struct heartbeats b = { .settings = no_pause, .ms = 1000 };
    (void)state;

    heartbeat(&b, 0);
    heartbeat(&b, 100);
    phi_fini(&b.phi);
    assert_true(available(&b, 600000)); /* forgotten: not monitored */
    assert_false(b.phi.is_monitoring);
    heartbeat(&b, 0);
    heartbeat(&b, 1000);
    heartbeat(&b, 100);
    assert_true(available(&b, 100)); /* the old silence is no interval */
    assert_true(b.phi.is_monitoring);
    phi_fini(&b.phi);
    heartbeat(&b, 0);
    heartbeat(&b, 1000);
    assert_true(phi_variance(&b.phi) >= 0);
    phi_fini(&b.phi);
}

/* From the intervals of heartbeats, after the first estimate has left the window. */
static void the_mean_and_variance_follow_the_intervals_FD013_FD014(void **state)
{
    static const uint64_t intervals[] = { 100, 200, 125, 340, 130 };
    struct heartbeats b = { .settings = { 1e9, 5, 1, 3000, 1000 }, .ms = 1000 };
    (void)state;

    heartbeat(&b, 0);
    for (int i = 0; i < 5; i++)
        heartbeat(&b, intervals[i]);
    expect_near(phi_mean(&b.phi), 179, 1e-9);
    expect_near(phi_variance(&b.phi), 7584, 1e-5);
    phi_fini(&b.phi);
    b.settings.samples_max = 3;
    heartbeat(&b, 0);
    heartbeat(&b, 100);
    heartbeat(&b, 110);
    heartbeat(&b, 90);
    expect_near(phi_mean(&b.phi), 100, 1e-9);
    expect_near(phi_variance(&b.phi), 66.6666667, 1e-5);
    heartbeat(&b, 140);
    expect_near(phi_variance(&b.phi), 422.222222, 1e-5);
    heartbeat(&b, 80);
    expect_near(phi_mean(&b.phi), 103.333333, 1e-5);
    expect_near(phi_variance(&b.phi), 688.88888889, 1e-5);
    phi_fini(&b.phi);
    b.settings.samples_max = 1;
    heartbeat(&b, 0);
    heartbeat(&b, 110);
    assert_true(phi_mean(&b.phi) == 110);
    assert_true(phi_variance(&b.phi) == 0);
    phi_fini(&b.phi);
}

/* min-std-deviation applies only if intervals vary by less. */
static void phi_has_a_least_deviation(void **state)
{
    struct heartbeats b = { .settings = { 8, 1000, 400, 3000, 1000 },
                         .ms = 1000 };
    (void)state;

    heartbeat(&b, 0); /* as if after 750 and 1250 ms */
    expect_near(value(&b, 5000), phi_of(5000, 4000, 400), 1e-9);
    b.settings.deviation_ms = 300;
    expect_near(value(&b, 0), phi_of(5000, 4000, 300), 1e-9);
    b.settings.deviation_ms = 200;
    expect_near(value(&b, 0), phi_of(5000, 4000, 250), 1e-6);
    phi_fini(&b.phi);
}

static const struct heart_settings three_peers = {
    .phi = { 8, 1000, 100, 3000, 1000 },
    .interval = 1000 * MS,
    .expected = 1000 * MS,
    .monitored_by = 3,
};

static void expect_some_peers(uint32_t wanted, char self,
                              const char *unreachable, const char *expected)
{
    struct heart_settings settings = three_peers;
    struct gossip gossip = { 0 };
    struct heart heart = { 0 };
    uint8_t reach[6] = { 0 };
    char text[8] = { 0 };

    for (char content = 'a'; content <= 'f'; content++)
        (void)test_add(&gossip, content, MEMBER_UP, content, true);
    for (; *unreachable; unreachable++)
        reach[*unreachable - 'a'] = UNREACHABLE;
    settings.monitored_by = wanted;
    heart_follow(&heart, &settings, &gossip, reach,
                 gossip.members.items[self - 'a'].profile, SECOND);
    for (uint32_t i = 0; i < heart.peers.count; i++)
        text[i] = heart.peers.items[i].profile->address->host[0];
    assert_string_equal(text, expected);
    heart_fini(&heart);
    gossip_fini(&gossip);
}

static void expect_peers(char self, const char *unreachable,
                         const char *expected)
{
    expect_some_peers(3, self, unreachable, expected);
}

/* Peers are listed by name. */
static void the_ring_chooses_the_monitored_peers_MEM131_MEM133(void **state)
{
    (void)state;
    expect_peers('a', "", "bcd");
    expect_peers('b', "", "cde");
    expect_peers('c', "", "def");
    expect_peers('d', "", "aef");
    expect_peers('e', "", "abf");
    expect_peers('f', "", "abc");
    expect_peers('a', "ade", "bcdf");
    expect_peers('b', "ade", "cdef");
    expect_peers('c', "ade", "bdef");
    expect_peers('d', "ade", "abcef");
    expect_peers('e', "ade", "abcf");
    expect_peers('f', "ade", "abc");
    for (uint32_t wanted = 5; wanted <= 7; wanted++) {
        expect_some_peers(wanted, 'a', "", "bcdef");
        expect_some_peers(wanted, 'd', "", "abcef");
        expect_some_peers(wanted, 'f', "ade", "abcde");
    }
    assert_int_equal(ring_hash(UINT64_C(0x1122334455667788)), 0x444444cc);
    assert_int_equal(ring_hash(UINT64_C(0xffffffff00000001)), -2);
}

static void expect_same_ring(const struct heart *left,
                             const struct heart *right)
{
    assert_int_equal(left->ring.count, right->ring.count);
    for (uint32_t i = 0; i < left->ring.count; i++)
        assert_ptr_equal(left->ring.items[i].profile,
                         right->ring.items[i].profile);
}

/* Members come and go; one in four is in another data center. */
static void an_updated_ring_equals_a_new_one(void **state)
{
    struct gossip gossip = { 0 };
    struct heart heart = { 0 };
    struct rng rng;
    uint8_t reach[256] = { 0 };
    struct profile *self = test_profile("a", 1, 77, NULL);
    (void)state;

    rng_init(&rng, 3);
    (void)gossip_add(&gossip, self, MEMBER_UP, 1);
    for (uint32_t round = 0; round < 60; round++) {
        struct heart anew = { 0 };

        for (uint64_t i = rng_below(&rng, 12); i > 0; i--) {
            struct profile *added =
                test_profile("b", 1 + (uint32_t)rng_below(&rng, 200),
                             rng_next(&rng) | 1,
                             rng_below(&rng, 4) ? NULL : "dc-far");

            (void)gossip_add(&gossip, added, MEMBER_UP, 2);
            profile_drop(added);
        }
        for (uint64_t i = rng_below(&rng, 12);
             i > 0 && gossip.members.count > 1; i--) {
            struct node_id gone =
                profile_node(
                    gossip.members.items[1 + rng_below(&rng, gossip.members.count -
                                                                 1)]
                        .profile);

            (void)gossip_remove(&gossip, &gone, 1);
        }
        assert_true(gossip.members.count <= 256);
        heart_follow(&heart, &three_peers, &gossip, reach, self, SECOND);
        heart_follow(&anew, &three_peers, &gossip, reach, self, SECOND);
        expect_same_ring(&heart, &anew);
        assert_int_equal(heart.peers.count, anew.peers.count);
        heart_fini(&anew);
    }
    heart_fini(&heart);
    gossip_fini(&gossip);
    profile_drop(self);
}

/* Expects the log line that a late answer leaves, or none. */
static void expect_warned(struct heart *heart, struct trace *trace,
                          const struct node_id *node, uint64_t ms,
                          const char *text)
{
    struct trace_line line;
    bool found;

    assert_true(heart_response(heart, &three_peers, node, trace, ms * MS));
    found = trace_next(trace, &line);
    assert_int_equal(found, text != NULL);
    if (found)
        assert_string_equal(line.text, text);
    while (trace_next(trace, &line))
        ;
}

/* From two thirds of the acceptable pause on, but not for the first answer or one that ends
 * unreachability. */
static void late_heartbeats_are_logged(void **state)
{
    struct trace *trace = trace_new(TRACE_WARNING);
    struct gossip gossip = { 0 };
    struct heart heart = { 0 };
    uint8_t reach[6] = { 0 };
    struct node_id c = test_mail('c');
    const struct profile *self;
    (void)state;

    self = test_add(&gossip, 'a', MEMBER_UP, 1, true);
    (void)test_add(&gossip, 'c', MEMBER_UP, 2, true);
    heart_follow(&heart, &three_peers, &gossip, reach, self, SECOND);
    expect_warned(&heart, trace, &c, 9000, NULL); /* the first one */
    expect_warned(&heart, trace, &c, 10000, NULL);
    expect_warned(&heart, trace, &c, 11999, NULL);
    expect_warned(&heart, trace, &c, 13999,
                  "heartbeat interval is growing too large member=c:2552 "
                  "after_ms=2000 acceptable_pause_ms=3000 hint=\"check that "
                  "node's load and the network\"");
    assert_false(heart_is_available(&heart, &three_peers, &c, 60 * SECOND));
    expect_warned(&heart, trace, &c, 60000, NULL);
    expect_warned(&heart, trace, &c, 61000, NULL);
    heart_fini(&heart);
    gossip_fini(&gossip);
    trace_free(trace);
}

/* A silent peer that the ring drops is monitored until it answers or is removed. */
static void silent_peer_stays_monitored_MEM048_MEM049(void **state)
{
    struct gossip gossip = { 0 };
    struct heart heart = { 0 };
    struct outbox outbox = { 0 };
    uint8_t reach[6] = { 0 };
    struct node_id e = test_mail('e');
    const struct profile *self;
    (void)state;

    self = test_add(&gossip, 'a', MEMBER_UP, 1, true);
    (void)test_add(&gossip, 'c', MEMBER_UP, 2, true);
    (void)test_add(&gossip, 'd', MEMBER_UP, 3, true);
    (void)test_add(&gossip, 'e', MEMBER_UP, 4, true);
    heart_follow(&heart, &three_peers, &gossip, reach, self, SECOND);
    assert_int_equal(
        heart_step(&heart, &three_peers, &test_identity, NULL, SECOND, &outbox),
        3);
    assert_int_equal(heart_deadline(&heart), 2 * SECOND);
    (void)heart_step(&heart, &three_peers, &test_identity, NULL, 2 * SECOND,
                     &outbox); /* no answer: silence counts from here */
    assert_true(heart_is_available(&heart, &three_peers, &e, 3 * SECOND));
    assert_false(heart_is_available(&heart, &three_peers, &e, 20 * SECOND));
    (void)test_add(&gossip, 'b', MEMBER_UP, 5, true);
    heart_follow(&heart, &three_peers, &gossip, reach, self, 20 * SECOND);
    assert_int_equal(heart.peers.count, 4);
    for (char content = 'b'; content <= 'e'; content++) {
        struct node_id node = test_mail(content);

        assert_true(heart_response(&heart, &three_peers, &node, NULL, 20 * SECOND));
    }
    assert_false(heart_response(&heart, &three_peers, &e, NULL, 20 * SECOND));
    assert_int_equal(heart.peers.count, 3);
    assert_null(heart_peer(&heart, &e));
    heart_fini(&heart);
    gossip_fini(&gossip);
    outbox_fini(&outbox);
}

/* A suspended node asked no peer: that time is no silence, whether or not the peer answered
 * before. */
static void a_suspended_node_misses_no_peer(void **state)
{
    struct gossip gossip = { 0 };
    struct heart heart = { 0 };
    struct outbox outbox = { 0 };
    uint8_t reach[6] = { 0 };
    struct node_id c = test_mail('c'), d = test_mail('d');
    const struct profile *self;
    uint64_t now = SECOND;
    (void)state;

    self = test_add(&gossip, 'a', MEMBER_UP, 1, true);
    (void)test_add(&gossip, 'c', MEMBER_UP, 2, true);
    heart_follow(&heart, &three_peers, &gossip, reach, self, now);
    for (; now < 20 * SECOND; now += SECOND) {
        if (now == 19 * SECOND) {
            (void)test_add(&gossip, 'd', MEMBER_UP, 3, true);
            heart_follow(&heart, &three_peers, &gossip, reach, self, now);
        }
        (void)heart_step(&heart, &three_peers, &test_identity, NULL, now, &outbox);
        assert_true(heart_response(&heart, &three_peers, &c, NULL, now));
    }
    now += 60 * SECOND; /* it is suspended one second after the last answer */
    (void)heart_step(&heart, &three_peers, &test_identity, NULL, now, &outbox);
    assert_true(heart_is_available(&heart, &three_peers, &c, now));
    assert_true(heart_is_available(&heart, &three_peers, &d, now));
    for (int i = 0; i < 3; i++)
        (void)heart_step(&heart, &three_peers, &test_identity, NULL,
                         now += SECOND, &outbox);
    assert_true(heart_is_available(&heart, &three_peers, &c, now));
    (void)heart_step(&heart, &three_peers, &test_identity, NULL,
                     now += SECOND, &outbox);
    assert_false(heart_is_available(&heart, &three_peers, &c, now)); /* 5 s */
    /* it has fewer samples */
    assert_false(heart_is_available(&heart, &three_peers, &d, now + 2 * SECOND));
    heart_fini(&heart);
    gossip_fini(&gossip);
    outbox_fini(&outbox);
}

/* A suspension is no interval between two answers, either, if one waited and is read before the due
 * round. */
static void a_response_that_waited_is_not_late(void **state)
{
    struct gossip gossip = { 0 };
    struct heart heart = { 0 };
    struct outbox outbox = { 0 };
    uint8_t reach[6] = { 0 };
    struct node_id c = test_mail('c');
    const struct profile *self;
    uint64_t now = SECOND;
    double variance;
    (void)state;

    self = test_add(&gossip, 'a', MEMBER_UP, 1, true);
    (void)test_add(&gossip, 'c', MEMBER_UP, 2, true);
    heart_follow(&heart, &three_peers, &gossip, reach, self, now);
    for (; now < 20 * SECOND; now += SECOND) {
        (void)heart_step(&heart, &three_peers, &test_identity, NULL, now, &outbox);
        assert_true(heart_response(&heart, &three_peers, &c, NULL, now));
    }
    variance = phi_variance(&heart_peer(&heart, &c)->phi);
    now += 2 * SECOND;
    assert_true(heart_response(&heart, &three_peers, &c, NULL, now));
    assert_int_equal(
        heart_step(&heart, &three_peers, &test_identity, NULL, now, &outbox), 1);
    assert_true(phi_mean(&heart_peer(&heart, &c)->phi) <= 1000);
    assert_true(phi_variance(&heart_peer(&heart, &c)->phi) <= variance);
    heart_fini(&heart);
    gossip_fini(&gossip);
    outbox_fini(&outbox);
}

/* The sequence number of all heartbeats in the outbox, which is emptied. 0: none. */
static int64_t sequence_of(struct outbox *outbox, uint32_t expected_count)
{
    struct outbound out;
    struct heartbeat read = { 0 };
    uint32_t count = 0;
    int64_t sequence = 0;

    while (outbox_next(outbox, &out)) {
        assert_true(slice_is(out.manifest, "HB"));
        assert_true(out.selection); /* as JVM nodes send it */
        assert_int_equal(wire_get_heartbeat(&test_identity, out.payload, &read),
                         WIRE_OK);
        assert_true(count == 0 || read.sequence == sequence);
        sequence = read.sequence;
        count++;
    }
    assert_int_equal(count, expected_count);
    return sequence;
}

static void first_responses_are_awaited_once(void **state)
{
    struct gossip gossip = { 0 };
    struct expect expect = { 0 };
    const struct profile *a = test_add(&gossip, 'a', MEMBER_UP, 1, true);
    const struct profile *b = test_add(&gossip, 'b', MEMBER_UP, 2, true);
    const struct profile *c = test_add(&gossip, 'c', MEMBER_UP, 3, true);
    (void)state;

    assert_true(expect_deadline(&expect) == NEVER);
    assert_null(expect_due(&expect, SECOND));
    expect_first(&expect, a, SECOND);
    expect_first(&expect, b, SECOND);
    expect_first(&expect, a, 2 * SECOND); /* no change */
    expect_first(&expect, c, 2 * SECOND);
    assert_true(expect_deadline(&expect) == SECOND);
    assert_null(expect_due(&expect, SECOND - 1));
    expect_forget(&expect, b);
    expect_forget(&expect, b); /* already gone */
    assert_ptr_equal(expect_due(&expect, SECOND), a);
    assert_null(expect_due(&expect, SECOND));
    assert_ptr_equal(expect_due(&expect, 3 * SECOND), c);
    assert_true(expect_deadline(&expect) == NEVER);
    expect_fini(&expect);
    gossip_fini(&gossip);
}

/* It is neither missing nor accessed. */
static void a_peer_removed_before_its_first_response_is_forgotten(void **state)
{
    struct gossip gossip = { 0 };
    struct heart heart = { 0 };
    struct outbox outbox = { 0 };
    uint8_t reach[3] = { 0 };
    struct node_id b = test_mail('b');
    struct node_id c = test_mail('c');
    const struct profile *self = test_add(&gossip, 'a', MEMBER_UP, 1, true);
    (void)state;

    (void)test_add(&gossip, 'b', MEMBER_UP, 2, true);
    (void)test_add(&gossip, 'c', MEMBER_UP, 3, true);
    heart_follow(&heart, &three_peers, &gossip, reach, self, SECOND);
    (void)heart_step(&heart, &three_peers, &test_identity, NULL, SECOND,
                     &outbox);
    assert_true(gossip_remove(&gossip, &b, 1));
    heart_follow(&heart, &three_peers, &gossip, reach, self, SECOND);
    assert_null(heart_peer(&heart, &b));
    (void)heart_step(&heart, &three_peers, &test_identity, NULL,
                     SECOND + three_peers.expected, &outbox);
    assert_true(heart_peer(&heart, &c)->phi.is_monitoring);
    heart_fini(&heart);
    gossip_fini(&gossip);
    outbox_fini(&outbox);
}

static void a_node_alone_sends_no_heartbeats_MEM040_MEM041_MEM134(void **state)
{
    struct gossip gossip = { 0 };
    struct heart heart = { 0 };
    struct outbox outbox = { 0 };
    uint8_t reach[1] = { 0 };
    const struct profile *self;
    (void)state;

    assert_int_equal(heart.peers.count, 0);
    self = test_add(&gossip, 'a', MEMBER_UP, 1, true);
    heart_follow(&heart, &three_peers, &gossip, reach, self, SECOND);
    assert_int_equal(heart.peers.count, 0);
    (void)heart_step(&heart, &three_peers, &test_identity, NULL, SECOND,
                     &outbox);
    (void)sequence_of(&outbox, 0);
    assert_int_equal(heart.sequence, 0);
    heart_fini(&heart);
    gossip_fini(&gossip);
    outbox_fini(&outbox);
}

/* This node is not in the gossip. */
static void a_node_outside_monitors_the_members_MEM043(void **state)
{
    struct gossip gossip = { 0 };
    struct heart heart = { 0 };
    uint8_t reach[2] = { 0 };
    struct profile *self = test_profile("a", 2552, 1, NULL);
    struct node_id b = test_mail('b'), c = test_mail('c');
    (void)state;

    (void)test_add(&gossip, 'b', MEMBER_UP, 2, true);
    (void)test_add(&gossip, 'c', MEMBER_UP, 3, true);
    heart_follow(&heart, &three_peers, &gossip, reach, self, SECOND);
    assert_int_equal(heart.peers.count, 2);
    assert_non_null(heart_peer(&heart, &b));
    assert_non_null(heart_peer(&heart, &c));
    heart_fini(&heart);
    gossip_fini(&gossip);
    profile_drop(self);
}

/* Receivers of a node's heartbeats, and their numbers. */
static void heartbeats_follow_the_members_MEM039_MEM042_MEM044_MEM045_MEM046(
    void **state)
{
    struct gossip gossip = { 0 };
    struct heart heart = { 0 };
    struct outbox outbox = { 0 };
    uint8_t reach[4] = { 0 };
    struct node_id b = test_mail('b');
    const struct profile *self = test_add(&gossip, 'a', MEMBER_UP, 1, true);
    (void)state;

    (void)test_add(&gossip, 'b', MEMBER_UP, 2, true);
    (void)test_add(&gossip, 'c', MEMBER_JOINING, UP_NUMBER_NONE, true);
    reach[1] = UNREACHABLE; /* monitored anyway */
    heart_follow(&heart, &three_peers, &gossip, reach, self, 2 * SECOND);
    (void)heart_step(&heart, &three_peers, &test_identity, NULL, 2 * SECOND,
                     &outbox);
    assert_int_equal(sequence_of(&outbox, 2), 1);
    (void)heart_step(&heart, &three_peers, &test_identity, NULL, 3 * SECOND,
                     &outbox);
    assert_int_equal(sequence_of(&outbox, 2), 2);
    assert_true(gossip_remove(&gossip, &b, 1));
    reach[1] = 0;
    heart_follow(&heart, &three_peers, &gossip, reach, self, 4 * SECOND);
    assert_null(heart_peer(&heart, &b));
    assert_false(heart_response(&heart, &three_peers, &b, NULL, 4 * SECOND));
    assert_null(heart_peer(&heart, &b)); /* late answers do not bring it back */
    (void)heart_step(&heart, &three_peers, &test_identity, NULL, 4 * SECOND,
                     &outbox);
    assert_int_equal(sequence_of(&outbox, 1), 3);
    heart_fini(&heart);
    gossip_fini(&gossip);
    outbox_fini(&outbox);
}

/* Silent peers, in the ring or dropped from it, are forgotten when they are removed. */
static void removed_peers_are_forgotten_FD025_MEM052(void **state)
{
    struct gossip gossip = { 0 };
    struct heart heart = { 0 };
    struct outbox outbox = { 0 };
    uint8_t reach[6] = { 0 };
    struct node_id b = test_mail('b');
    struct node_id e = test_mail('e');
    const struct profile *self = test_add(&gossip, 'a', MEMBER_UP, 1, true);
    (void)state;

    (void)test_add(&gossip, 'c', MEMBER_UP, 2, true);
    (void)test_add(&gossip, 'd', MEMBER_UP, 3, true);
    (void)test_add(&gossip, 'e', MEMBER_UP, 4, true);
    heart_follow(&heart, &three_peers, &gossip, reach, self, SECOND);
    for (uint64_t i = 1; i <= 3; i++)
        (void)heart_step(&heart, &three_peers, &test_identity, NULL, i * SECOND,
                         &outbox);
    (void)test_add(&gossip, 'b', MEMBER_UP, 5, true); /* takes e's place */
    heart_follow(&heart, &three_peers, &gossip, reach, self, 30 * SECOND);
    assert_non_null(heart_peer(&heart, &e));
    assert_false(heart_is_available(&heart, &three_peers, &e, 30 * SECOND));
    assert_true(gossip_remove(&gossip, &e, 1));
    assert_true(gossip_remove(&gossip, &b, 1));
    heart_follow(&heart, &three_peers, &gossip, reach, self, 30 * SECOND);
    assert_null(heart_peer(&heart, &e));
    assert_null(heart_peer(&heart, &b));
    assert_true(heart_is_available(&heart, &three_peers, &e, 30 * SECOND));
    assert_int_equal(heart.peers.count, 2);
    heart_fini(&heart);
    gossip_fini(&gossip);
    outbox_fini(&outbox);
}

static void the_share_of_different_views_falls_with_the_cluster_size(void **state)
{
    (void)state;
    expect_near(spread_share(0.8, 400, 2), 0.8, 1e-9);
    expect_near(spread_share(0.8, 400, 400), 0.8, 1e-9);
    expect_near(spread_share(0.8, 400, 401), 0.7991, 1e-9);
    expect_near(spread_share(0.8, 400, 600), 0.62, 1e-9);
    expect_near(spread_share(0.8, 400, 800), 0.44, 1e-9);
    expect_near(spread_share(0.8, 400, 1000), 0.26, 1e-9);
    expect_near(spread_share(0.8, 400, 1200), 0.08, 1e-9);
    expect_near(spread_share(0.8, 400, 5000), 0.08, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phi_follows_the_distribution),
        cmocka_unit_test(phi_approximates_the_normal_distribution_FD001),
        cmocka_unit_test(phi_grows_with_the_silence_of_a_peer_FD005),
        cmocka_unit_test(
            a_peer_whose_heartbeats_are_missing_is_unavailable_FD008_FD022),
        cmocka_unit_test(a_peer_that_returns_is_available),
        cmocka_unit_test(a_pause_of_heartbeats_is_accepted_FD010_FD023),
        cmocka_unit_test(a_longer_pause_is_not_accepted_FD011),
        cmocka_unit_test(old_intervals_leave_the_window),
        cmocka_unit_test(a_peer_at_the_threshold_is_unavailable),
        cmocka_unit_test(phi_grows_after_the_first_heartbeats_FD004_FD006),
        cmocka_unit_test(
            a_series_of_heartbeats_makes_a_peer_available_FD007_FD021),
        cmocka_unit_test(a_forgotten_peer_begins_a_fresh_history_FD026),
        cmocka_unit_test(
            the_mean_and_variance_follow_the_intervals_FD013_FD014),
        cmocka_unit_test(phi_has_a_least_deviation),
        cmocka_unit_test(the_ring_chooses_the_monitored_peers_MEM131_MEM133),
        cmocka_unit_test(an_updated_ring_equals_a_new_one),
        cmocka_unit_test(late_heartbeats_are_logged),
        cmocka_unit_test(silent_peer_stays_monitored_MEM048_MEM049),
        cmocka_unit_test(a_suspended_node_misses_no_peer),
        cmocka_unit_test(a_response_that_waited_is_not_late),
        cmocka_unit_test(first_responses_are_awaited_once),
        cmocka_unit_test(a_peer_removed_before_its_first_response_is_forgotten),
        cmocka_unit_test(a_node_alone_sends_no_heartbeats_MEM040_MEM041_MEM134),
        cmocka_unit_test(a_node_outside_monitors_the_members_MEM043),
        cmocka_unit_test(
            heartbeats_follow_the_members_MEM039_MEM042_MEM044_MEM045_MEM046),
        cmocka_unit_test(removed_peers_are_forgotten_FD025_MEM052),
        cmocka_unit_test(the_share_of_different_views_falls_with_the_cluster_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
