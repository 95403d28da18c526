/* Tests versions, clocks and reachability. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "member/reachability.h"
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

static void are_bad(const char *const *texts, size_t count)
{
    struct version version;

    for (size_t i = 0; i < count; i++)
        assert_false(version_parse(&version, texts[i]));
}

static void versions_of_three_numbers_are_ordered_UTL025(void **state)
{
    (void)state;
    assert_int_equal(order_of("1.2.3", "1.2.3"), 0);
    assert_int_equal(order_of("1.2.4", "1.2.3"), 1);
    assert_int_equal(order_of("3.2.1", "1.2.3"), 1);
    assert_int_equal(order_of("3.2.1", "3.3.1"), -1);
    assert_int_equal(order_of("3.2.0", "3.2.1"), -1);
}

static void versions_of_four_numbers_are_refused_UTL026(void **state)
{
    static const char *const bad[] = { "1.2.3.1", "1.2.3.4." };
    (void)state;

    are_bad(bad, 2);
}

static void versions_of_two_numbers_are_ordered_UTL027(void **state)
{
    (void)state;
    assert_int_equal(order_of("1.2", "1.2"), 0);
    assert_int_equal(order_of("1.2", "1.2.0"), 0);
    assert_int_equal(order_of("1.2", "1.3"), -1);
    assert_int_equal(order_of("1.2.1", "1.2"), 1);
    assert_int_equal(order_of("2.4", "2.3"), 1);
    assert_int_equal(order_of("3.2", "3.2.7"), -1);
}

static void versions_of_one_number_are_ordered_UTL028(void **state)
{
    (void)state;
    assert_int_equal(order_of("1", "1"), 0);
    assert_int_equal(order_of("1", "1.0"), 0);
    assert_int_equal(order_of("1", "1.0.0"), 0);
    assert_int_equal(order_of("1", "2"), -1);
    assert_int_equal(order_of("3", "2"), 1);
    assert_int_equal(order_of("2b", "2a"), 1);
    assert_int_equal(order_of("2020-09-07", "2020-08-30"), 1);
}

static void milestones_are_older_than_their_release_UTL029(void **state)
{
    (void)state;
    assert_int_equal(order_of("1.2.3-M1", "1.2.3-M1"), 0);
    assert_int_equal(order_of("1.2-M1", "1.2-M1"), 0);
    assert_int_equal(order_of("1.2.0-M1", "1.2-M1"), 0);
    assert_int_equal(order_of("1.2-M1", "1.2.0"), -1);
    assert_int_equal(order_of("1.2.0-M1", "1.2.0"), -1);
    assert_int_equal(order_of("1.2.3-M2", "1.2.3-M1"), 1);
}

static void versions_need_digits_UTL030(void **state)
{
    static const char *const bad[] = { "1.x.3", "1.2x.3", "1.2.x", "1.2.3x",
                                       "x.3",   "1.x",    "1.2x",  "",
                                       "1..2",  ".1",     ".",     "1.-2",
                                       "-.2",   "+-1.2",  "1.2.2147483648" };
    (void)state;

    are_bad(bad, sizeof bad / sizeof *bad);
}

static void builds_and_words_are_ordered_like_akkas(void **state)
{
    (void)state;
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
    /* A build time that fits a Java int; beyond that it is a word. */
    assert_int_equal(order_of("1.0.1700000000", "1.0.2026112301"), -1);
    assert_int_equal(order_of("2147483647", "1.2"), 1);
    assert_int_equal(order_of("2147483648", "1.2"), -1);
    assert_int_equal(order_of("1.0+2147483648-a", "1.0+1-b"), -1);
    assert_int_equal(order_of("0000000000001.2", "1.2"), 0);
    /* unusual ones that a JVM accepts and spreads */
    assert_int_equal(order_of("1.", "1"), 0);
    assert_int_equal(order_of("1.2.", "1.2"), 0);
    assert_int_equal(order_of("1.2.3...", "1.2.3"), 0);
    assert_int_equal(order_of("+1.2", "1.2"), 0);
    assert_int_equal(order_of("-1.2", "0.1"), -1);
    assert_int_equal(order_of("1.+2.3", "1.2.3"), 0);
    assert_int_equal(order_of("1.2+", "1.2"), 0);
    assert_int_equal(order_of("foo", "1.2.3"), -1);
    assert_int_equal(order_of("foo", "bar"), 1);
    assert_int_not_equal(order_of("1-foo", "01-foo"), 0);
    assert_int_equal(order_of("1-foo", "02-foo"), 1);
}

/* As Version.compareTo of Akka 2.6.21 orders them: a count of commits follows the last number, so
 * it is the third of two parts. */
static void commits_are_ordered_as_by_a_jvm(void **state)
{
    static const struct {
        const char *left, *right;
        int order;
    } rows[] = {
        { "1.2-14-gabc", "1.2-9-gabc", 1 },
        { "1.2-14-gabc", "1.2-RC1", 1 },
        { "1.2-14-gabc", "1.2-14", 1 }, /* no dash follows: text */
        { "1.2-14-gabc", "1.2", 1 },
        { "1.2-14-gabc", "1.2.10", 1 },
        { "1.2-9-gabc", "1.2.10", -1 },
        { "1.2+14-0123", "1.2.13", 1 },
        { "1.2+14-0123", "1.2.15", -1 },
        { "1.2+14-0123", "1.3", -1 },
        { "1.2-14-gabc", "1.2.13-zzz", 1 },
        { "1.2-14-gabc", "1.2.14-gabc", 0 },
        { "1.2+14-gabc", "1.2.14-gabc", 0 },
        { "1.2-14-gabc", "1.2.14-gabd", -1 },
        { "1.2-14-gabc", "1.2.0-14-gabc", 1 },
        { "1.2-14-gabc", "1.2.14-0-gabc", 0 },
        { "1.2-14-gabc", "1.2.14-1-gabc", -1 },
        { "1.2.3+14-abc", "1.2.3+9-abc", 1 },
        { "1.2.3-14-", "1.2.3", 1 },
        { "1.2.3-14", "1.2.3-9", -1 },
        { "1.2-14", "1.2-9", -1 },
        { "1.2-14-", "1.2.14", 0 },
        { "1.2-0-gabc", "1.2-gabc", 0 },
        { "1.2-014-a", "1.2-14-a", 0 },
        { "1.2-2147483647-a", "1.2.2147483646", 1 },
        { "1.2-2147483648-a", "1.2-1-b", -1 }, /* no number: text */
        { "1.2+-5-a", "1.2-9-a", -1 },
        { "1.2-+5-a", "1.2-9-a", -1 },
        { "1.2+14+a", "1.2+9+a", -1 },
        { "1.2-14-a-b", "1.2-14-a", 1 },
        { "1.2-14-a+b", "1.2-14-a", 1 },
        { "1-14-gabc", "1-9-gabc", -1 }, /* a single part is a number or text */
        { "1+14-gabc", "1.0.14-gabc", -1 },
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (order_of(rows[i].left, rows[i].right) != rows[i].order)
            fail_msg("%s and %s: %d", rows[i].left, rows[i].right,
                     order_of(rows[i].left, rows[i].right));
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

/* Two clocks and their order. */
struct clocks {
    const char *left, *right;
    enum clock_order order;
};

static void clocks_are_ordered(void **state)
{
    const struct clocks *clocks = *state;

    expect_order(clocks->left, clocks->right, clocks->order);
}

static void a_new_clock_has_no_versions_MEM220(void **state)
{
    struct clock clock = { 0 };
    struct clock_key first = { { 1 } };
    (void)state;

    assert_int_equal(clock.entries.count, 0);
    assert_int_equal(clock_get(&clock, &first), 0);
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
    assert_int_equal(clock_compare(&merged, &a), CLOCK_AFTER);
    assert_int_equal(clock_compare(&merged, &b), CLOCK_AFTER);
    clock_fini(&a);
    clock_fini(&b);
    clock_fini(&both);
    clock_fini(&merged);
}

static void prune(struct clock *clock, const struct clock_key *key)
{
    bool stays[4] = { true, true, true, true };

    assert_in_range(clock->entries.count, 1, 4);
    stays[clock_index(clock, key)] = false;
    clock_keep(clock, stays);
}

static void a_merge_of_clocks_follows_both_MEM230_MEM231(void **state)
{
    (void)state;
    expect_merge("1:1 2:4", "1:1 2:2 3:1", "1:1 2:4 3:1");
    expect_merge("4:2", "1:1 2:2 3:1", "1:1 2:2 3:1 4:2");
}

static void pruned_clocks_merge(void **state)
{
    struct clock clock = clock_of("1:1 2:1");
    struct clock pruned = clock_of("1:1 2:1");
    struct clock merged = { 0 };
    struct clock_key one = { { 1 } };
    struct clock_key three = { { 3 } };
    (void)state;

    prune(&pruned, &one);
    clock_increment(&pruned, &three);
    assert_int_equal(clock_compare(&clock, &pruned), CLOCK_CONCURRENT);
    prune(&clock, &one);
    clock_merge(&merged, &clock, &pruned);
    assert_int_equal(clock_get(&merged, &one), 0);
    assert_int_equal(clock_get(&merged, &three), 1);
    clock_fini(&clock);
    clock_fini(&pruned);
    clock_fini(&merged);
}

static void incremented_clocks_are_ordered_or_concurrent_MEM232_MEM233(
    void **state)
{
    struct clock one = { 0 };
    struct clock two = { 0 };
    struct clock none = { 0 };
    struct clock merged = { 0 };
    struct clock_key first = { { 1 } };
    struct clock_key second = { { 2 } };
    struct clock_key third = { { 3 } };
    (void)state;

    assert_int_equal(clock_get(&one, &first), 0);
    clock_increment(&one, &first);
    clock_increment(&two, &second);
    clock_increment(&two, &second);
    assert_int_equal(clock_compare(&one, &none), CLOCK_AFTER);
    assert_int_equal(clock_compare(&two, &none), CLOCK_AFTER);
    assert_int_equal(clock_compare(&one, &two), CLOCK_CONCURRENT);
    clock_merge(&merged, &one, &two);
    assert_int_equal(clock_compare(&merged, &one), CLOCK_AFTER);
    assert_int_equal(clock_compare(&merged, &two), CLOCK_AFTER);
    clock_increment(&merged, &third);
    assert_int_equal(merged.entries.count, 3);
    clock_increment(&one, &first); /* at the same time elsewhere */
    assert_int_equal(clock_compare(&merged, &one), CLOCK_CONCURRENT);
    clock_fini(&one);
    clock_fini(&two);
    clock_fini(&merged);
    expect_order("1:1 2:2", "2:1 3:1", CLOCK_CONCURRENT); /* 1 is pruned */
    expect_order("1:1 2:4 3:1", "1:1 2:4", CLOCK_AFTER);
    expect_order("1:1 2:4 3:1", "1:1 2:2 3:1", CLOCK_AFTER);
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

static struct profile *profile_of(uint64_t uid, const char *role,
                                  const char *version)
{
    struct node_id node = test_node("a", 2552, uid);

    return profile_new(&test_identity, &node, &role, role ? 1 : 0, version);
}

static void equal_traits_are_kept_once(void **state)
{
    static const struct {
        const char *role, *version;
        bool shares;
    } cases[] = {
        { "front", "1.0.0", true },   { NULL, "1.0.0", false },
        { "back", "1.0.0", false },   { "front", "1.0.1", false },
        { "dc-front", "1.0.0", false },
    };
    struct profile *first = profile_of(1, "front", "1.0.0");

    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile *second =
            profile_of(2 + i, cases[i].role, cases[i].version);

        profile_share(second, first);
        profile_share(second, first);
        assert_true((second->traits == first->traits) == cases[i].shares);
        assert_int_equal(first->traits->holders, 1 + cases[i].shares);
        assert_string_equal(second->traits->app_version, cases[i].version);
        assert_true(!cases[i].role ||
                    profile_has_role(second, cases[i].role));
        profile_drop(second);
        assert_int_equal(first->traits->holders, 1);
    }
    profile_drop(first);
}

/* A small language: "B>A:U" means B observes A as unreachable. */
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
    return reachability_of(table, PROFILE_NODE(fixture->profiles[subject - 'A']));
}

static int64_t version_of(struct reach_fixture *fixture,
                          const struct reachability *table, char observer)
{
    const struct observer *found =
        reachability_observer(table, PROFILE_NODE(fixture->profiles[observer - 'A']));

    return found ? found->version : 0;
}

static struct profile *keep_all(const void *context,
                                const struct profile *profile)
{
    const struct reach_fixture *fixture = context;

    for (int i = 0; i < 5; i++)
        if (profile_same(fixture->profiles[i], profile))
            return fixture->profiles[i];
    return NULL;
}

static struct profile *keep_abce(const void *context,
                                 const struct profile *profile)
{
    return profile->address->host[0] == 'D' ? NULL
                                                : keep_all(context, profile);
}

/* context: the profile that is not kept. */
static struct profile *keep_others(const void *context,
                                   const struct profile *profile)
{
    return profile_same(context, profile)
               ? NULL
               : (struct profile *)(uintptr_t)profile;
}

static void observers_change_reachability_by_version_MEM189_MEM190_MEM192(
    void **state)
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
    b = reachability_observer(&table, PROFILE_NODE(fixture.profiles[1]));
    assert_int_equal(b->rows.count, 0);
    change(&fixture, &table, "B>D:U B>E:U");
    b = reachability_observer(&table, PROFILE_NODE(fixture.profiles[1]));
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
    change(&fixture, &table, "B>E:R"); /* terminated is permanent */
    assert_int_equal(reach_of(&fixture, &table, 'E'), TERMINATED);
    reachability_remove(&table, keep_others, fixture.profiles[4]);
    assert_int_equal(reach_of(&fixture, &table, 'E'), REACHABLE);
    reachability_remove(&table, keep_others, fixture.profiles[3]);
    assert_int_equal(version_of(&fixture, &table, 'D'), 0);
    reachability_fini(&table);
    fixture_fini(&fixture);
}

static void reachability_merges_by_version_MEM199_MEM201(void **state)
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
    assert_int_equal(reachability_by(&merged, PROFILE_NODE(fixture.profiles[1]),
                                     PROFILE_NODE(fixture.profiles[0])),
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

/* With equal versions the rows of the second table win; rows that only the first has are lost. */
static void equal_versions_take_the_rows_of_the_other(void **state)
{
    struct reach_fixture fixture;
    struct reachability one = { 0 };
    struct reachability two = { 0 };
    struct reachability merged = { 0 };
    (void)state;

    fixture_init(&fixture);
    change(&fixture, &one, "B>A:U C>D:U");
    change(&fixture, &two, "B>E:U");
    (void)reachability_add_observer(&two, fixture.profiles[2], 1);
    reachability_merge(&merged, &one, &two, keep_all, &fixture);
    assert_int_equal(reach_of(&fixture, &merged, 'A'), REACHABLE);
    assert_int_equal(reach_of(&fixture, &merged, 'E'), UNREACHABLE);
    assert_int_equal(reach_of(&fixture, &merged, 'D'), REACHABLE);
    reachability_fini(&merged);
    reachability_merge(&merged, &two, &one, keep_all, &fixture);
    assert_int_equal(reach_of(&fixture, &merged, 'A'), UNREACHABLE);
    assert_int_equal(reach_of(&fixture, &merged, 'E'), REACHABLE);
    assert_int_equal(reach_of(&fixture, &merged, 'D'), REACHABLE);
    reachability_fini(&merged);
    reachability_fini(&one);
    reachability_fini(&two);
    fixture_fini(&fixture);
}

static void add_row(struct reach_fixture *fixture, struct reachability *table,
                    const char *text, int64_t version)
{
    struct profile *observer = fixture->profiles[text[0] - 'A'];

    (void)reachability_add_observer(table, observer, version);
    assert_true(reachability_add_row(table, PROFILE_NODE(observer),
                                     fixture->profiles[text[2] - 'A'],
                                     text[4] == 'U'   ? UNREACHABLE
                                     : text[4] == 'T' ? TERMINATED
                                                      : REACHABLE,
                                     version));
}

static void reachability_is_the_worst_observation_MEM188_MEM193_MEM194_MEM197(
    void **state)
{
    struct reach_fixture fixture;
    struct reachability table = { 0 };
    const struct node_id *e;
    (void)state;

    fixture_init(&fixture);
    for (char letter = 'A'; letter <= 'E'; letter++)
        assert_int_equal(reach_of(&fixture, &table, letter), REACHABLE);
    add_row(&fixture, &table, "A>B:R", 2);
    add_row(&fixture, &table, "C>B:U", 2);
    add_row(&fixture, &table, "A>D:U", 3);
    add_row(&fixture, &table, "D>B:T", 4);
    assert_int_equal(reach_of(&fixture, &table, 'A'), REACHABLE);
    assert_int_equal(reach_of(&fixture, &table, 'B'), TERMINATED);
    assert_int_equal(reach_of(&fixture, &table, 'D'), UNREACHABLE);
    reachability_fini(&table);

    change(&fixture, &table, "B>A:U C>A:U B>C:U");
    change(&fixture, &table, "B>A:R"); /* not all observers */
    assert_int_equal(reach_of(&fixture, &table, 'A'), UNREACHABLE);
    change(&fixture, &table, "C>A:R");
    assert_int_equal(reach_of(&fixture, &table, 'A'), REACHABLE);
    assert_int_equal(reach_of(&fixture, &table, 'C'), UNREACHABLE);
    reachability_fini(&table);

    change(&fixture, &table,
           "B>A:U C>A:U D>A:U C>B:U C>B:R D>B:U D>C:U D>C:R E>D:R A>E:U "
           "B>E:T");
    e = PROFILE_NODE(fixture.profiles[4]);
    assert_int_equal(reachability_by(&table, PROFILE_NODE(fixture.profiles[0]), e),
                     UNREACHABLE);
    assert_int_equal(reachability_by(&table, PROFILE_NODE(fixture.profiles[1]), e),
                     TERMINATED);
    assert_int_equal(reachability_by(&table, PROFILE_NODE(fixture.profiles[3]), e),
                     REACHABLE);
    assert_int_equal(reachability_by(&table, PROFILE_NODE(fixture.profiles[3]),
                                     PROFILE_NODE(fixture.profiles[1])),
                     UNREACHABLE);
    assert_int_equal(reachability_by(&table, PROFILE_NODE(fixture.profiles[3]),
                                     PROFILE_NODE(fixture.profiles[2])),
                     REACHABLE);
    reachability_fini(&table);
    fixture_fini(&fixture);
}

static void reachability_versions_merge_and_vanish_MEM202_MEM203_MEM204(
    void **state)
{
    struct reach_fixture fixture;
    struct reachability one = { 0 };
    struct reachability two = { 0 };
    struct reachability merged = { 0 };
    (void)state;

    fixture_init(&fixture);
    (void)reachability_add_observer(&one, fixture.profiles[0], 3);
    (void)reachability_add_observer(&one, fixture.profiles[1], 5);
    (void)reachability_add_observer(&one, fixture.profiles[2], 7);
    (void)reachability_add_observer(&two, fixture.profiles[0], 6);
    (void)reachability_add_observer(&two, fixture.profiles[1], 2);
    (void)reachability_add_observer(&two, fixture.profiles[3], 1);
    reachability_merge(&merged, &one, &two, keep_all, &fixture);
    assert_int_equal(version_of(&fixture, &merged, 'A'), 6);
    assert_int_equal(version_of(&fixture, &merged, 'B'), 5);
    assert_int_equal(version_of(&fixture, &merged, 'C'), 7);
    assert_int_equal(version_of(&fixture, &merged, 'D'), 1);
    assert_int_equal(merged.observers.count, 4);
    reachability_fini(&one);
    reachability_fini(&two);
    reachability_fini(&merged);

    change(&fixture, &one, "B>A:U B>C:U C>B:U D>A:U D>A:R");
    reachability_remove(&one, keep_others, fixture.profiles[0]);
    reachability_remove(&one, keep_others, fixture.profiles[3]);
    assert_int_equal(reach_of(&fixture, &one, 'A'), REACHABLE);
    assert_int_equal(reach_of(&fixture, &one, 'B'), UNREACHABLE);
    assert_int_equal(reach_of(&fixture, &one, 'C'), UNREACHABLE);
    assert_int_equal(one.observers.count, 2); /* not D, even without rows */
    reachability_fini(&one);
    fixture_fini(&fixture);
}

#define CLOCKS(name, ...)                                                      \
    { #name, clocks_are_ordered, NULL, NULL, &(struct clocks){ __VA_ARGS__ } }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_of_three_numbers_are_ordered_UTL025),
        cmocka_unit_test(versions_of_four_numbers_are_refused_UTL026),
        cmocka_unit_test(versions_of_two_numbers_are_ordered_UTL027),
        cmocka_unit_test(versions_of_one_number_are_ordered_UTL028),
        cmocka_unit_test(milestones_are_older_than_their_release_UTL029),
        cmocka_unit_test(versions_need_digits_UTL030),
        cmocka_unit_test(builds_and_words_are_ordered_like_akkas),
        cmocka_unit_test(commits_are_ordered_as_by_a_jvm),
        cmocka_unit_test(a_new_clock_has_no_versions_MEM220),
        CLOCKS(empty_clocks_are_the_same_MEM221, "", "", CLOCK_SAME),
        CLOCKS(equal_clocks_are_the_same_MEM222, "1:2 2:1", "1:2 2:1",
               CLOCK_SAME),
        CLOCKS(a_clock_precedes_one_with_more_entries_MEM223, "1:2 2:1",
               "1:2 2:1 3:1", CLOCK_BEFORE),
        CLOCKS(clocks_of_two_nodes_are_concurrent_MEM224, "1:1", "2:1",
               CLOCK_CONCURRENT),
        CLOCKS(clocks_that_went_apart_are_concurrent, "1:2 2:1", "1:2 3:1",
               CLOCK_CONCURRENT),
        CLOCKS(a_part_of_a_clock_precedes_it_MEM226, "2:2", "1:1 2:2 3:1",
               CLOCK_BEFORE),
        CLOCKS(a_higher_and_a_missing_entry_are_concurrent_MEM227, "1:1 2:1",
               "1:2", CLOCK_CONCURRENT),
        CLOCKS(a_lower_and_a_missing_entry_are_concurrent, "1:1 2:2 3:1",
               "1:1 2:4", CLOCK_CONCURRENT),
        CLOCKS(entries_are_compared_by_key, "1:1 3:2", "1:1 2:1 3:1",
               CLOCK_CONCURRENT),
        CLOCKS(an_incremented_clock_follows_an_empty_one, "1:1", "",
               CLOCK_AFTER),
        cmocka_unit_test(a_merge_of_clocks_follows_both_MEM230_MEM231),
        cmocka_unit_test(pruned_clocks_merge),
        cmocka_unit_test(
            incremented_clocks_are_ordered_or_concurrent_MEM232_MEM233),
        cmocka_unit_test(clock_keys_are_those_of_the_reference),
        cmocka_unit_test(equal_traits_are_kept_once),
        cmocka_unit_test(
            observers_change_reachability_by_version_MEM189_MEM190_MEM192),
        cmocka_unit_test(reachability_merges_by_version_MEM199_MEM201),
        cmocka_unit_test(equal_versions_take_the_rows_of_the_other),
        cmocka_unit_test(
            reachability_is_the_worst_observation_MEM188_MEM193_MEM194_MEM197),
        cmocka_unit_test(
            reachability_versions_merge_and_vanish_MEM202_MEM203_MEM204),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
