/* The values under the machine: versions, clocks, reachability, the failure detector, the ring. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/rng.h"
#include "base/timers.h"
#include "member/heartbeat.h"
#include "member/phi.h"
#include "member/state.h"
#include "member/version.h"
#include "values.h"

static int order_of(const char *left, const char *right)
{
    struct version a;
    struct version b;
    int order;

    assert_true(version_parse(&a, left));
    assert_true(version_parse(&b, right));
    order = version_compare(&a, &b);
    assert_true((order > 0) == (version_compare(&b, &a) < 0));
    return (order > 0) - (order < 0);
}

/* Conformance B21. */
static void versions_compare(void **state)
{
    static const char *const bad[] = { "1.2.3.1", "1.x.3", "1.2x.3", "1.2.x",
                                       "1.2.3x",  "x.3",   "1.x",    "1.2x",
                                       "",        "1..2",  ".1",     "1." };
    struct version version;
    (void)state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(version_parse(&version, bad[i]));
    assert_int_equal(order_of("1.2.3", "1.2.3"), 0);
    assert_int_equal(order_of("1.2", "1.2.0"), 0);
    assert_int_equal(order_of("1", "1.0"), 0);
    assert_int_equal(order_of("1", "1.0.0"), 0);
    assert_int_equal(order_of("1.2.4", "1.2.3"), 1);
    assert_int_equal(order_of("3.2.1", "3.3.1"), -1);
    assert_int_equal(order_of("3", "2"), 1);
    assert_int_equal(order_of("2b", "2a"), 1);
    assert_int_equal(order_of("2020-09-07", "2020-08-30"), 1);
    assert_int_equal(order_of("1.2.3-M1", "1.2.3-M1"), 0);
    assert_int_equal(order_of("1.2.0-M1", "1.2-M1"), 0);
    assert_int_equal(order_of("1.2-M1", "1.2.0"), -1);
    assert_int_equal(order_of("1.2.3-M2", "1.2.3-M1"), 1);
    assert_int_equal(order_of("1.0.10+3-1234abcd", "1.0.11"), -1);
    assert_int_equal(order_of("1.0.10+3-1234abcd", "1.0.10+10-1234abcd"), -1);
    assert_int_equal(order_of("1.2+3-1234abcd", "1.2+10-1234abcd"), -1);
    assert_int_equal(order_of("1.0.0+3-1234abcd+20140707-1030",
                              "1.0.0+3-1234abcd+20140707-1130"),
                     -1);
    assert_int_equal(order_of("0.0.0+3-2234abcd", "0.0.0+4-1234abcd"), -1);
    assert_int_equal(order_of("HEAD+20140707-1030", "HEAD+20140707-1130"), -1);
    assert_int_equal(order_of("1.0.10-3-1234abcd", "1.0.10-10-1234abcd"), -1);
    assert_int_equal(order_of("1.0.10+3a-1234abcd", "1.0.10+3b-1234abcd"), -1);
    assert_int_equal(order_of("foo", "1.2.3"), -1);
    assert_int_equal(order_of("foo", "bar"), 1);
    assert_int_not_equal(order_of("1-foo", "01-foo"), 0);
    assert_int_equal(order_of("1-foo", "02-foo"), 1);
}

/* "1:2 3:1" -> a clock with those keys. */
static struct clock clock_of(const char *text)
{
    struct clock clock = { 0 };
    int key;
    int count;
    int used;

    while (sscanf(text, "%d:%d%n", &key, &count, &used) == 2) {
        struct clock_key bytes = { { (uint8_t)key } };

        assert_true(clock_add(&clock, &bytes, count));
        text += used;
    }
    return clock;
}

static void expect_order(const char *left, const char *right,
                         enum clock_order order)
{
    struct clock a = clock_of(left);
    struct clock b = clock_of(right);
    enum clock_order reverse = order == CLOCK_BEFORE  ? CLOCK_AFTER
                               : order == CLOCK_AFTER ? CLOCK_BEFORE
                                                      : order;

    assert_int_equal(clock_compare(&a, &b), order);
    assert_int_equal(clock_compare(&b, &a), reverse);
    clock_fini(&a);
    clock_fini(&b);
}

/* Conformance B3. */
static void clocks_compare(void **state)
{
    (void)state;
    expect_order("1:2 2:1", "1:2 2:1", CLOCK_SAME);
    expect_order("1:2 2:1", "1:2 2:1 3:1", CLOCK_BEFORE);
    expect_order("1:1", "2:1", CLOCK_CONCURRENT);
    expect_order("1:2 2:1", "1:2 3:1", CLOCK_CONCURRENT);
    expect_order("2:2", "1:1 2:2 3:1", CLOCK_BEFORE);
    expect_order("1:1 2:1", "1:2", CLOCK_CONCURRENT);
    expect_order("1:1 2:2 3:1", "1:1 2:4", CLOCK_CONCURRENT);
    expect_order("1:1 3:2", "1:1 2:1 3:1", CLOCK_CONCURRENT);
    expect_order("", "", CLOCK_SAME);
    expect_order("1:1", "", CLOCK_AFTER);
}

static void expect_merge(const char *left, const char *right,
                         const char *expected)
{
    struct clock a = clock_of(left);
    struct clock b = clock_of(right);
    struct clock both = clock_of(expected);
    struct clock merged = { 0 };

    clock_merge(&merged, &a, &b);
    assert_int_equal(clock_compare(&merged, &both), CLOCK_SAME);
    clock_merge(&merged, &b, &a);
    assert_int_equal(clock_compare(&merged, &both), CLOCK_SAME);
    clock_fini(&a);
    clock_fini(&b);
    clock_fini(&both);
    clock_fini(&merged);
}

static void clocks_merge_and_prune(void **state)
{
    struct clock clock = clock_of("1:1 2:1");
    struct clock pruned = { 0 };
    struct clock merged = { 0 };
    struct clock_key one = { { 1 } };
    struct clock_key three = { { 3 } };
    (void)state;

    expect_merge("1:1 2:4", "1:1 2:2 3:1", "1:1 2:4 3:1");
    expect_merge("4:2", "1:1 2:2 3:1", "1:1 2:2 3:1 4:2");
    clock_copy(&pruned, &clock);
    clock_prune(&pruned, &one);
    clock_increment(&pruned, &three);
    assert_int_equal(clock_compare(&clock, &pruned), CLOCK_CONCURRENT);
    clock_prune(&clock, &one);
    clock_merge(&merged, &clock, &pruned);
    assert_int_equal(clock_get(&merged, &one), 0);
    assert_int_equal(clock_get(&merged, &three), 1);
    clock_fini(&clock);
    clock_fini(&pruned);
    clock_fini(&merged);
}

static void expect_key(const char *system, const char *host, uint32_t port,
                       int64_t uid, const char *hex)
{
    struct identity identity = { .protocol = "akka", .system = system };
    struct node_id node = test_node(host, port, (uint64_t)uid);
    struct clock_key key = clock_key_of(&identity, &node);
    char text[33];

    for (int i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", key.bytes[i]);
    assert_string_equal(text, hex);
}

static void clock_keys_are_those_of_the_reference(void **state)
{
    (void)state;
    expect_key("sys", "a", 2552, 1, "c7f7f0bfb4bb24557a489966cf074a76");
    expect_key("sys", "b", 2552, 2, "cda76d8b2d26c81a3425ff605066e03b");
    expect_key("ClusterSystem", "127.0.0.1", 25251, 1234567890123456789,
               "9f0575e29a59263d0adf563b0148878b");
    expect_key("ClusterSystem", "127.0.0.1", 25252, -42,
               "cb4b64f4498ef99c33c68fcf394de28b");
    expect_key("ClusterSystem", "127.0.0.1", 2551, 1234605616436508552,
               "51f3d4d4d764a04eb40e36ffe56259c1");
}

/* A small language: "B>A:U" is B observes A unreachable. */
struct reach_fixture {
    struct profile *profiles[5]; /* A to E */
};

static void fixture_init(struct reach_fixture *fixture)
{
    for (uint32_t i = 0; i < 5; i++) {
        char host[2] = { (char)('A' + i), 0 };

        fixture->profiles[i] = test_profile(host, 2552, i + 1, NULL);
    }
}

static void fixture_fini(struct reach_fixture *fixture)
{
    for (int i = 0; i < 5; i++)
        profile_drop(fixture->profiles[i]);
}

static void change(struct reach_fixture *fixture, struct reachability *table,
                   const char *text)
{
    for (; *text; text += text[5] ? 6 : 5)
        (void)reachability_change(table, fixture->profiles[text[0] - 'A'],
                                  fixture->profiles[text[2] - 'A'],
                                  text[4] == 'U'   ? UNREACHABLE
                                  : text[4] == 'T' ? TERMINATED
                                                   : REACHABLE);
}

static enum reach reach_of(struct reach_fixture *fixture,
                           const struct reachability *table, char subject)
{
    return reachability_of(table, &fixture->profiles[subject - 'A']->node);
}

static int64_t version_of(struct reach_fixture *fixture,
                          const struct reachability *table, char observer)
{
    const struct observer *found =
        reachability_observer(table, &fixture->profiles[observer - 'A']->node);

    return found ? found->version : 0;
}

static struct profile *keep_all(const void *context, const struct node_id *node)
{
    const struct reach_fixture *fixture = context;

    for (int i = 0; i < 5; i++)
        if (node_equal(&fixture->profiles[i]->node, node))
            return fixture->profiles[i];
    return NULL;
}

static struct profile *keep_abce(const void *context,
                                 const struct node_id *node)
{
    return node->address.host[0] == 'D' ? NULL : keep_all(context, node);
}

/* Conformance B5.1, B5.2, MEM-188 to MEM-197. */
static void reachability_changes(void **state)
{
    struct reach_fixture fixture;
    struct reachability table = { 0 };
    const struct observer *b;
    (void)state;

    fixture_init(&fixture);
    assert_false(reachability_change(&table, fixture.profiles[1],
                                     fixture.profiles[0], REACHABLE));
    change(&fixture, &table, "B>A:U B>C:U D>C:U B>A:R B>C:R");
    assert_int_equal(reach_of(&fixture, &table, 'C'), UNREACHABLE);
    assert_int_equal(reach_of(&fixture, &table, 'A'), REACHABLE);
    assert_int_equal(version_of(&fixture, &table, 'D'), 1);
    b = reachability_observer(&table, &fixture.profiles[1]->node);
    assert_int_equal(b->rows.count, 0);
    change(&fixture, &table, "B>D:U B>E:U");
    b = reachability_observer(&table, &fixture.profiles[1]->node);
    assert_int_equal(b->rows.items[0].version, 5);
    assert_int_equal(b->rows.items[1].version, 6);
    assert_false(reachability_change(&table, fixture.profiles[1],
                                     fixture.profiles[4], UNREACHABLE));
    assert_int_equal(version_of(&fixture, &table, 'B'), 6);
    reachability_fini(&table);

    change(&fixture, &table,
           "B>A:U C>A:U D>A:U C>B:U C>B:R D>B:U D>C:U D>C:R E>D:R A>E:U "
           "B>E:T");
    assert_int_equal(reach_of(&fixture, &table, 'A'), UNREACHABLE);
    assert_int_equal(reach_of(&fixture, &table, 'B'), UNREACHABLE);
    assert_int_equal(reach_of(&fixture, &table, 'C'), REACHABLE);
    assert_int_equal(reach_of(&fixture, &table, 'D'), REACHABLE);
    assert_int_equal(reach_of(&fixture, &table, 'E'), TERMINATED);
    change(&fixture, &table, "B>E:R"); /* terminated is for ever */
    assert_int_equal(reach_of(&fixture, &table, 'E'), TERMINATED);
    reachability_remove(&table, &fixture.profiles[4]->node);
    assert_int_equal(reach_of(&fixture, &table, 'E'), REACHABLE);
    reachability_remove(&table, &fixture.profiles[3]->node);
    assert_int_equal(version_of(&fixture, &table, 'D'), 0);
    reachability_fini(&table);
    fixture_fini(&fixture);
}

/* Conformance B5.4, B5.5. */
static void reachability_merges_by_version(void **state)
{
    struct reach_fixture fixture;
    struct reachability one = { 0 };
    struct reachability two = { 0 };
    struct reachability merged = { 0 };
    struct reachability reverse = { 0 };
    (void)state;

    fixture_init(&fixture);
    change(&fixture, &one, "B>A:U C>D:U");
    reachability_copy(&two, &one);
    change(&fixture, &two, "B>A:R D>E:U C>A:U");
    reachability_merge(&merged, &one, &two, keep_all, &fixture);
    reachability_merge(&reverse, &two, &one, keep_all, &fixture);
    assert_true(reachability_equal(&merged, &reverse));
    assert_int_equal(reachability_by(&merged, &fixture.profiles[1]->node,
                                     &fixture.profiles[0]->node),
                     REACHABLE);
    assert_int_equal(reach_of(&fixture, &merged, 'A'), UNREACHABLE);
    assert_int_equal(reach_of(&fixture, &merged, 'D'), UNREACHABLE);
    assert_int_equal(reach_of(&fixture, &merged, 'E'), UNREACHABLE);
    reachability_fini(&merged);
    reachability_merge(&merged, &one, &two, keep_abce, &fixture);
    assert_int_equal(reach_of(&fixture, &merged, 'A'), UNREACHABLE);
    assert_int_equal(reach_of(&fixture, &merged, 'D'), REACHABLE);
    assert_int_equal(reach_of(&fixture, &merged, 'E'), REACHABLE);
    assert_int_equal(version_of(&fixture, &merged, 'D'), 0);
    assert_int_equal(merged.observers.count, 2);
    reachability_fini(&merged);
    reachability_fini(&reverse);

    reachability_copy(&two, &one);
    change(&fixture, &two, "A>E:U");
    change(&fixture, &one, "B>A:R"); /* B's row is gone, and newer */
    reachability_merge(&merged, &two, &one, keep_all, &fixture);
    reachability_merge(&reverse, &one, &two, keep_all, &fixture);
    assert_true(reachability_equal(&merged, &reverse));
    assert_int_equal(reach_of(&fixture, &merged, 'A'), REACHABLE);
    assert_int_equal(reach_of(&fixture, &merged, 'E'), UNREACHABLE);
    assert_int_equal(version_of(&fixture, &merged, 'B'), 2);
    reachability_fini(&merged);
    reachability_fini(&reverse);
    reachability_fini(&one);
    reachability_fini(&two);
    fixture_fini(&fixture);
}

static void expect_near(double value, double expected, double tolerance)
{
    if (!(value >= expected - tolerance && value <= expected + tolerance))
        fail_msg("%.9f is not %.9f within %g", value, expected, tolerance);
}

/* Conformance B1.1, B1.2. */
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

static const struct phi_settings no_pause = { 8, 1000, 100, 0, 1000 };

/* Heartbeats at growing times; the clock is moved on by each call. */
struct beating {
    struct phi phi;
    struct phi_settings settings;
    uint64_t ms;
};

static void beat(struct beating *beating, uint64_t after)
{
    beating->ms += after;
    phi_heartbeat(&beating->phi, &beating->settings, beating->ms * MS);
}

static bool available(struct beating *beating, uint64_t after)
{
    beating->ms += after;
    return phi_is_available(&beating->phi, &beating->settings,
                            beating->ms * MS);
}

static double value(struct beating *beating, uint64_t after)
{
    beating->ms += after;
    return phi_value(&beating->phi, &beating->settings, beating->ms * MS);
}

/* Conformance B1.3. */
static void phi_scenarios(void **state)
{
    struct beating b = { .settings = no_pause, .ms = 1000 };
    double third;
    (void)state;

    assert_true(available(&b, 0)); /* never heard of */
    beat(&b, 0);
    expect_near(value(&b, 1000), 0.301030, 1e-4);
    expect_near(value(&b, 1000), 4.736695, 1e-2);
    expect_near(value(&b, 1000), 21.241600, 1e-1);
    phi_fini(&b.phi);

    b.settings.threshold = 3;
    beat(&b, 0);
    beat(&b, 1000);
    beat(&b, 100);
    assert_true(available(&b, 100));
    assert_false(available(&b, 7000));
    phi_fini(&b.phi);

    b.settings = (struct phi_settings){ 8, 1000, 100, 3000, 1000 };
    beat(&b, 0);
    for (int i = 1; i < 1000; i++)
        beat(&b, 1000);
    assert_false(available(&b, 300000));
    beat(&b, 100);
    assert_true(available(&b, 900));
    beat(&b, 100);
    assert_false(available(&b, 7000));
    beat(&b, 100);
    assert_true(available(&b, 900));
    beat(&b, 100);
    assert_true(available(&b, 900));
    phi_fini(&b.phi);

    for (int i = 0; i < 4; i++)
        beat(&b, 1000);
    assert_true(available(&b, 4000));
    beat(&b, 1000);
    assert_true(available(&b, 1000));
    phi_fini(&b.phi);

    for (int i = 0; i < 5; i++)
        beat(&b, 1000);
    beat(&b, 500);
    assert_true(available(&b, 500));
    beat(&b, 0);
    assert_false(available(&b, 5500));
    phi_fini(&b.phi);

    b.settings = no_pause;
    b.settings.samples_max = 3;
    for (int i = 0; i < 4; i++)
        beat(&b, 100);
    third = value(&b, 100);
    beat(&b, 600);
    for (int i = 0; i < 3; i++)
        beat(&b, 500);
    expect_near(value(&b, 500), third, 1e-3);
    phi_fini(&b.phi);
}

/* Conformance B1.4: through the intervals of heartbeats, after those of the first estimate have left the window. */
static void phi_statistics(void **state)
{
    static const uint64_t intervals[] = { 100, 200, 125, 340, 130 };
    struct beating b = { .settings = { 1e9, 5, 1, 3000, 1000 }, .ms = 1000 };
    (void)state;

    beat(&b, 0);
    for (int i = 0; i < 5; i++)
        beat(&b, intervals[i]);
    expect_near(phi_mean(&b.phi), 179, 1e-9);
    expect_near(phi_variance(&b.phi), 7584, 1e-5);
    phi_fini(&b.phi);
    b.settings.samples_max = 3;
    beat(&b, 0);
    beat(&b, 100);
    beat(&b, 110);
    beat(&b, 90);
    expect_near(phi_mean(&b.phi), 100, 1e-9);
    expect_near(phi_variance(&b.phi), 66.6666667, 1e-5);
    beat(&b, 140);
    expect_near(phi_variance(&b.phi), 422.222222, 1e-5);
    beat(&b, 80);
    expect_near(phi_mean(&b.phi), 103.333333, 1e-5);
    expect_near(phi_variance(&b.phi), 688.88888889, 1e-5);
    phi_fini(&b.phi);
}

static const struct heart_settings three_peers = {
    .phi = { 8, 1000, 100, 3000, 1000 },
    .interval = 1000 * MS,
    .expected = 1000 * MS,
    .monitored_by = 3,
};

static void expect_peers(char self, const char *unreachable,
                         const char *expected)
{
    struct gossip gossip = { 0 };
    struct heart heart = { 0 };
    uint8_t reach[6] = { 0 };
    char text[8] = { 0 };

    for (char letter = 'a'; letter <= 'f'; letter++)
        (void)test_add(&gossip, letter, MEMBER_UP, letter, true);
    for (; *unreachable; unreachable++)
        reach[*unreachable - 'a'] = UNREACHABLE;
    heart_follow(&heart, &three_peers, &gossip, reach,
                 gossip.members.items[self - 'a'].profile, SECOND);
    for (uint32_t i = 0; i < heart.peers.count; i++)
        text[i] = heart.peers.items[i].profile->node.address.host[0];
    assert_string_equal(text, expected);
    heart_fini(&heart);
    gossip_fini(&gossip);
}

/* Conformance B2; peers are listed by name. */
static void ring_chooses_peers(void **state)
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
    assert_int_equal(ring_hash(UINT64_C(0x1122334455667788)), 0x444444cc);
    assert_int_equal(ring_hash(UINT64_C(0xffffffff00000001)), -2);
}

/* MEM-048 to MEM-052: a silent peer that the ring drops is monitored until it answers or is removed. */
static void silent_peer_stays_monitored(void **state)
{
    struct gossip gossip = { 0 };
    struct heart heart = { 0 };
    struct outbox outbox = { 0 };
    uint8_t reach[6] = { 0 };
    struct node_id e = test_letter('e');
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
                     &outbox); /* no answer: the silence counts from here */
    assert_true(heart_is_available(&heart, &three_peers, &e, 3 * SECOND));
    assert_false(heart_is_available(&heart, &three_peers, &e, 20 * SECOND));
    (void)test_add(&gossip, 'b', MEMBER_UP, 5, true);
    heart_follow(&heart, &three_peers, &gossip, reach, self, 20 * SECOND);
    assert_int_equal(heart.peers.count, 4);
    for (char letter = 'b'; letter <= 'e'; letter++) {
        struct node_id node = test_letter(letter);

        assert_true(heart_response(&heart, &three_peers, &node, 20 * SECOND));
    }
    assert_false(heart_response(&heart, &three_peers, &e, 20 * SECOND));
    assert_int_equal(heart.peers.count, 3);
    assert_null(heart_peer(&heart, &e));
    heart_fini(&heart);
    gossip_fini(&gossip);
    outbox_fini(&outbox);
}

/* Conformance B6. */
static void share_of_different_views(void **state)
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
        cmocka_unit_test(versions_compare),
        cmocka_unit_test(clocks_compare),
        cmocka_unit_test(clocks_merge_and_prune),
        cmocka_unit_test(clock_keys_are_those_of_the_reference),
        cmocka_unit_test(reachability_changes),
        cmocka_unit_test(reachability_merges_by_version),
        cmocka_unit_test(phi_follows_the_distribution),
        cmocka_unit_test(phi_scenarios),
        cmocka_unit_test(phi_statistics),
        cmocka_unit_test(ring_chooses_peers),
        cmocka_unit_test(silent_peer_stays_monitored),
        cmocka_unit_test(share_of_different_views),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
