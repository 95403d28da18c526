/* Checks Akka's cases of counters, registers and sets, and the cost of a large set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/gzip.h"
#include "world.h"

/* An OR-set from a text: "K:A3,D7 L:B5 |A3 B6" has the elements K and L with these dots, and has
 * seen V. A node is a capital letter. */
struct spec_dot {
    char node;
    int64_t version;
    char element;
};

static uint32_t parse(const char *spec, struct spec_dot *dots)
{
    uint32_t count = 0;
    char element = 0;

    for (const char *at = spec; *at;) {
        if (*at == ' ' || *at == ',') {
            at++;
        } else if (*at == '|') {
            element = 0;
            at++;
        } else if (at[1] == ':') {
            element = *at;
            at += 2;
        } else {
            char *end;

            dots[count].node = *at;
            dots[count].element = element;
            dots[count++].version = strtoll(at + 1, &end, 10);
            at = end;
        }
    }
    return count;
}

/* The additions of one node in the order of versions. A version in the vector without a dot was of
 * a removed element. */
static struct dd_value *made_by(char node, struct spec_dot *dots,
                                uint32_t count)
{
    struct dd_value *set = dd_new(DD_ORSET);
    struct dd_writer writer = writer_of((char)(node - 'A' + 'a'));

    for (int64_t version = 1; version < 100; version++)
        for (uint32_t i = 0; i < count; i++) {
            char text[2] = { dots[i].element ? dots[i].element : '-', 0 };
            struct dd_element element = dd_text(text);

            if (dots[i].node != node || dots[i].version != version ||
                version <= writer.versions)
                continue;
            writer.versions = version - 1;
            dd_orset_add(set, &writer, &element);
            if (!dots[i].element)
                dd_orset_remove(set, &writer, &element);
        }
    return set;
}

static struct dd_value *orset(const char *spec)
{
    struct dd_value *set = dd_new(DD_ORSET);
    struct spec_dot dots[32];
    uint32_t count = parse(spec, dots);

    for (char node = 'A'; node <= 'G'; node++) {
        struct dd_value *part = made_by(node, dots, count);

        check(dd_merge(set, part) <= DD_CHANGED);
        dd_free(part);
    }
    return set;
}

static void merged_is(const char *left, const char *right, const char *expected)
{
    struct dd_value *a = orset(left);
    struct dd_value *b = orset(right);
    struct dd_value *wanted = orset(expected);
    struct dd_value *ab = world_merged(a, b);
    struct dd_value *ba = world_merged(b, a);

    assert_true(dd_equal(ab, wanted));
    assert_true(dd_equal(ba, wanted));
    dd_free(a);
    dd_free(b);
    dd_free(wanted);
    dd_free(ab);
    dd_free(ba);
}

struct merge {
    const char *left, *right, *expected;
};

static void dots_are_merged(void **state)
{
    const struct merge *merge = *state;

    merged_is(merge->left, merge->right, merge->expected);
}

/* A set as a JVM writes it after b put and removed elements, when b had put nothing: version 0 of b
 * was seen. Made from the set of "K:A1". */
static struct dd_value *seen_as_zero(void)
{
    struct dd_value *set = orset("K:A1 |A1 B1");
    struct buf packed = { 0 }, bytes = { 0 };
    struct dd_other other = dd_encode(set, &packed);
    struct dd_value *made = NULL;

    assert_true(gzip_inflate(&bytes, other.bytes, 10000, NULL));
    for (size_t i = 1, count = 0; i < bytes.size; i++) /* the vector's second version, field 2 */
        if (bytes.data[i - 1] == 0x10 && bytes.data[i] == 1 && ++count == 2)
            bytes.data[i] = 0;
    buf_clear(&packed);
    gzip_deflate(&packed, buf_slice(&bytes));
    other.bytes = buf_slice(&packed);
    assert_int_equal(dd_decode(other, &made), DD_OK);
    dd_free(set);
    buf_fini(&bytes);
    buf_fini(&packed);
    return made;
}

static void assert_zero_of_b(const struct dd_value *set, bool is_there)
{
    struct buf packed = { 0 }, bytes = { 0 };
    struct dd_other other = dd_encode(set, &packed);
    struct dd_nodes nodes = { 0 };
    uint32_t zeros = 0;

    assert_true(gzip_inflate(&bytes, other.bytes, 10000, NULL));
    for (size_t i = 1; i < bytes.size; i++)
        zeros += bytes.data[i - 1] == 0x10 && bytes.data[i] == 0;
    assert_int_equal(zeros, is_there);
    dd_add_modified_by(set, &nodes);
    assert_int_equal(nodes.items.count, 1 + is_there);
    vec_fini(&nodes.items);
    buf_fini(&bytes);
    buf_fini(&packed);
}

/* Digests cover bytes: if one of two replicas had it, they would gossip for ever. */
static void a_version_zero_stays(void **state)
{
    struct dd_value *with = seen_as_zero();
    struct dd_value *without = orset("K:A1 |A1");
    struct dd_value *both, *other_way;
    struct dd_writer a = writer_of('a');
    struct dd_element element = dd_text("L");
    (void)state;

    assert_zero_of_b(with, true);
    assert_zero_of_b(without, false);
    both = world_merged(with, without);
    other_way = world_merged(without, with);
    assert_true(dd_equal(both, other_way));
    assert_false(dd_equal(both, without));
    assert_zero_of_b(both, true);
    assert_zero_of_b(other_way, true);
    a.versions = 1;
    dd_orset_add(both, &a, &element); /* encodes again */
    dd_reset_delta(both);
    assert_zero_of_b(both, true);
    dd_free(with);
    dd_free(without);
    dd_free(both);
    dd_free(other_way);
}

/* Like any other node, and by a cleanup too. */
static void a_version_zero_is_pruned(void **state)
{
    struct dd_value *set = seen_as_zero();
    struct dd_writer a = writer_of('a');
    struct dd_writer b = writer_of('b');
    (void)state;

    a.versions = 1;
    assert_true(dd_needs_pruning(set, &b.node));
    assert_true(dd_prune(set, &b.node, &a));
    assert_false(dd_needs_pruning(set, &b.node));
    assert_zero_of_b(set, false);
    dd_free(set);
    set = seen_as_zero();
    assert_true(dd_cleanup(set, &b.node));
    assert_zero_of_b(set, false);
    dd_free(set);
}

static void put(struct dd_value *set, struct dd_writer *writer,
                const char *text)
{
    struct dd_element element = dd_text(text);

    dd_orset_add(set, writer, &element);
}

static void take(struct dd_value *set, struct dd_writer *writer,
                 const char *text)
{
    struct dd_element element = dd_text(text);

    dd_orset_remove(set, writer, &element);
}

/* Elements of one letter. */
static void assert_has(const struct dd_value *set, const char *letters)
{
    uint32_t count = 0;

    for (const char *at = letters; *at; at++, count++) {
        char text[2] = { *at, 0 };
        struct dd_element element = dd_text(text);

        if (!dd_set_has(set, &element))
            fail_msg("no %s", text);
    }
    assert_int_equal(dd_set_count(set), count);
}

static void apply(struct dd_value *set, struct dd_value *delta)
{
    assert_true(dd_merge_delta(set, delta) <= DD_CHANGED);
}

/* A missed change comes with the whole state. */
static void a_lost_delta_comes_with_the_state(void **state)
{
    struct dd_writer n1 = writer_of('a');
    struct dd_writer n2 = writer_of('b');
    struct dd_value *s0 = dd_new(DD_ORSET);
    struct dd_value *s1, *s2, *b, *c, *d;
    (void)state;

    put(s0, &n1, "a");
    dd_reset_delta(s0);
    s1 = dd_copy(s0);
    put(s1, &n1, "b");
    b = dd_take_delta(s1);
    put(s1, &n1, "c");
    c = dd_take_delta(s1);
    s2 = dd_copy(s0);
    put(s2, &n2, "d");
    d = dd_take_delta(s2);
    apply(s0, d);
    apply(s0, c);
    assert_has(s0, "acd");
    check(dd_merge(s2, s1) <= DD_CHANGED);
    check(dd_merge(s0, s2) <= DD_CHANGED);
    /* its delta claimed that all earlier ones were seen, so deltas need causal delivery */
    assert_has(s0, "acd");
    assert_has(s2, "abcd");
    dd_free(s0);
    dd_free(s1);
    dd_free(s2);
    dd_free(b);
    dd_free(c);
    dd_free(d);
}

/* By deltas and by the state. */
static void deltas_of_two_nodes_merge(void **state)
{
    struct dd_writer n1 = writer_of('a');
    struct dd_writer n2 = writer_of('b');
    struct dd_value *on1 = dd_new(DD_ORSET);
    struct dd_value *on2 = dd_new(DD_ORSET);
    struct dd_value *on3 = dd_new(DD_ORSET);
    struct dd_value *other;
    struct dd_value *deltas[4];
    (void)state;

    put(on1, &n1, "q");
    take(on1, &n1, "q");
    deltas[0] = dd_take_delta(on1);
    put(on1, &n1, "z");
    take(on1, &n1, "z");
    deltas[1] = dd_take_delta(on1);
    apply(on2, deltas[0]);
    put(on2, &n2, "x");
    deltas[2] = dd_take_delta(on2);
    put(on2, &n2, "a");
    take(on2, &n2, "a");
    deltas[3] = dd_take_delta(on2);
    apply(on3, deltas[0]);
    apply(on3, deltas[2]);
    apply(on3, deltas[1]);
    other = world_merged(on3, on2);
    assert_has(other, "x");
    apply(on3, deltas[3]);
    assert_has(on3, "x");
    assert_int_equal(dd_delta_size(deltas[3]), 2);
    for (int i = 0; i < 4; i++)
        dd_free(deltas[i]);
    dd_free(other);
    dd_free(on1);
    dd_free(on2);
    dd_free(on3);
}

/* Z was added on each node and removed on each. */
static void an_element_that_all_removed_is_gone(void **state)
{
    static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                      { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    struct dd_writer n1 = writer_of('a');
    struct dd_writer n2 = writer_of('b');
    struct dd_value *on[3];
    (void)state;

    on[0] = dd_new(DD_ORSET);
    put(on[0], &n1, "Z");
    on[2] = dd_copy(on[0]);
    take(on[0], &n1, "Z");
    on[1] = dd_new(DD_ORSET);
    put(on[1], &n2, "Z");
    check(dd_merge(on[0], on[1]) <= DD_CHANGED);
    take(on[1], &n2, "Z");
    for (int i = 0; i < 6; i++) {
        struct dd_value *set = dd_copy(on[orders[i][0]]);

        check(dd_merge(set, on[orders[i][1]]) <= DD_CHANGED);
        check(dd_merge(set, on[orders[i][2]]) <= DD_CHANGED);
        assert_has(set, "");
        dd_free(set);
    }
    for (int i = 0; i < 3; i++)
        dd_free(on[i]);
}

static void adds_win_over_concurrent_removals(void **state)
{
    struct dd_writer n1 = writer_of('a');
    struct dd_writer n2 = writer_of('b');
    struct dd_value *one = dd_new(DD_ORSET);
    struct dd_value *two;
    struct dd_value *old;
    struct dd_value *merged;
    (void)state;

    put(one, &n1, "a");
    put(one, &n1, "b");
    old = dd_copy(one);
    take(one, &n1, "a");
    take(one, &n1, "b");
    merged = world_merged(one, old);
    assert_has(merged, ""); /* a seen and removed element does not return */
    dd_free(merged);
    two = dd_copy(old);
    put(two, &n2, "a"); /* concurrently */
    merged = world_merged(one, two);
    assert_has(merged, "a");
    dd_free(merged);
    put(one, &n1, "b");
    take(one, &n1, "b");
    put(one, &n1, "b");
    merged = world_merged(one, two);
    assert_has(merged, "ab");
    dd_free(merged);
    dd_free(one);
    dd_free(two);
    dd_free(old);
}

static void deltas_remove_only_seen_elements(void **state)
{
    (void)state;
    for (int clears = 0; clears < 2; clears++) {
        struct dd_writer n1 = writer_of('a');
        struct dd_writer n2 = writer_of('b');
        struct dd_value *one = dd_new(DD_ORSET);
        struct dd_value *two;
        struct dd_value *delta;

        put(one, &n1, "a");
        put(one, &n1, "b");
        dd_reset_delta(one);
        two = dd_copy(one);
        put(two, &n2, "b");
        put(two, &n2, "c");
        if (clears)
            dd_orset_clear(one);
        else
            take(one, &n1, "b");
        delta = dd_take_delta(one);
        apply(two, delta);
        assert_has(two, clears ? "bc" : "abc");
        take(two, &n2, "b");
        put(two, &n2, "b");
        apply(two, delta); /* again: no effect */
        assert_has(two, clears ? "bc" : "abc");
        assert_true(dd_needs_causal_delivery(delta));
        dd_free(delta);
        dd_free(one);
        dd_free(two);
    }
}

/* Not one before a remove. */
static void adds_join_the_last_add(void **state)
{
    struct dd_writer n1 = writer_of('a');
    struct dd_value *set = dd_new(DD_ORSET);
    struct dd_value *first;
    struct dd_value *next;
    (void)state;

    put(set, &n1, "a");
    put(set, &n1, "b");
    first = dd_take_delta(set);
    assert_int_equal(dd_delta_size(first), 1);
    take(set, &n1, "a");
    put(set, &n1, "c");
    put(set, &n1, "d");
    next = dd_take_delta(set);
    assert_int_equal(dd_delta_size(next), 2);
    assert_int_equal(dd_merge(first, next), DD_CHANGED);
    assert_int_equal(dd_delta_size(first), 3);
    dd_free(next);
    put(set, &n1, "e");
    next = dd_take_delta(set);
    assert_int_equal(dd_merge(first, next), DD_CHANGED);
    assert_int_equal(dd_delta_size(first), 3);
    dd_free(next);
    next = dd_zero(first);
    apply(next, first);
    assert_has(next, "bcde");
    dd_free(next);
    dd_free(first);
    dd_free(set);
}

static void a_flag_stays_on_DD011_DD012(void **state)
{
    struct dd_value *on = dd_new(DD_FLAG);
    struct dd_value *off = dd_new(DD_FLAG);
    (void)state;

    dd_flag_switch_on(on);
    dd_flag_switch_on(on);
    assert_true(dd_flag(on));
    assert_int_equal(dd_merge(on, off), DD_UNCHANGED);
    assert_true(dd_flag(on));
    assert_int_equal(dd_merge(off, on), DD_CHANGED);
    assert_true(dd_flag(off));
    dd_free(on);
    dd_free(off);
}

/* Overlapping sets, by states and by deltas. */
static void grow_only_sets_merge(void **state)
{
    struct dd_writer none = { 0 };
    struct dd_value *one = dd_new(DD_GSET);
    struct dd_value *two = dd_new(DD_GSET);
    struct dd_value *delta;
    (void)state;

    for (const char *at = "abcd"; *at; at++) {
        char text[2] = { *at, 0 };
        struct dd_element element = dd_text(text);

        dd_gset_add(at[1] ? one : two, &element);
        dd_gset_add(*at == 'b' ? two : one, &element);
    }
    assert_has(one, "abcd");
    assert_has(two, "bd");
    delta = dd_take_delta(one);
    assert_has(delta, "abcd");
    check(dd_merge_delta(two, delta) == DD_CHANGED);
    assert_has(two, "abcd");
    assert_int_equal(dd_merge(one, two), DD_UNCHANGED);
    assert_false(dd_prune(one, &none.node, &none)); /* no part is of a node */
    dd_free(delta);
    dd_free(one);
    dd_free(two);
}

static struct dd_value *counter(uint64_t a, uint64_t b)
{
    struct dd_value *value = dd_new(DD_GCOUNTER);
    struct node_id n1 = node_of('a');
    struct node_id n2 = node_of('b');

    dd_gcounter_add(value, &n1, a);
    dd_gcounter_add(value, &n2, b);
    return value;
}

static void counters_take_the_larger_share(void **state)
{
    static const uint64_t rows[][5] = {
        { 7, 10, 4, 6, 17 }, { 4, 10, 7, 6, 17 }, { 7, 0, 0, 6, 13 }
    };
    struct node_id n1 = node_of('a');
    struct dd_value *value = dd_new(DD_PNCOUNTER);
    struct dd_value *other = dd_new(DD_PNCOUNTER);
    struct dd_value *delta;
    (void)state;

    for (int i = 0; i < 3; i++) {
        struct dd_value *a = counter(rows[i][0], rows[i][1]);
        struct dd_value *b = counter(rows[i][2], rows[i][3]);

        check(dd_merge(a, b) <= DD_CHANGED);
        assert_int_equal(dd_gcounter_get(a).low, rows[i][4]);
        assert_null(dd_take_delta(a));
        dd_free(a);
        dd_free(b);
    }
    dd_pncounter_add(value, &n1, 9);
    dd_pncounter_add(value, &n1, -4);
    assert_int_equal(dd_pncounter_get(value).size.low, 5);
    dd_pncounter_add(other, &n1, 6);
    dd_pncounter_add(other, &n1, -5);
    check(dd_merge(value, other) == DD_CHANGED);
    assert_int_equal(dd_pncounter_get(value).size.low, 4);
    dd_pncounter_add(value, &n1, -6);
    assert_true(dd_pncounter_get(value).negative);
    assert_int_equal(dd_pncounter_get(value).size.low, 2);
    delta = dd_take_delta(value);
    check(dd_merge_delta(other, delta) == DD_CHANGED); /* absolute: twice is once */
    assert_true(dd_pncounter_get(other).negative);
    assert_int_equal(dd_pncounter_get(other).size.low, 5); /* 6 - 11 */
    check(dd_merge_delta(other, delta) == DD_UNCHANGED);
    check(dd_merge(other, value) == DD_CHANGED); /* the state before the delta */
    assert_true(dd_equal(other, value));
    dd_free(delta);
    delta = dd_take_delta(value);
    assert_non_null(delta); /* empty, but present */
    assert_false(dd_needs_causal_delivery(delta));
    dd_free(delta);
    dd_pncounter_add(value, &n1, INT64_MIN);
    assert_int_equal(dd_pncounter_get(value).size.low,
                     (UINT64_C(1) << 63) + 2);
    dd_free(value);
    dd_free(other);
}

/* The wall clock stands still. */
static void the_last_of_100_values_stays_DD032_DD035(void **state)
{
    struct node_id n1 = node_of('a');
    struct dd_value *value =
        dd_register_new(&n1, state_of("0"), 7, DD_CLOCK_LAST);
    char text[8] = "0";
    (void)state;

    for (int i = 1; i <= 100; i++) {
        int64_t before = dd_register_timestamp(value);

        assert_true(slice_is(dd_register_get(value).bytes, text));
        (void)snprintf(text, sizeof text, "%d", i);
        dd_register_set(value, &n1, state_of(text), 7, DD_CLOCK_LAST);
        assert_true(dd_register_timestamp(value) > before);
    }
    assert_true(slice_is(dd_register_get(value).bytes, "100"));
    dd_free(value);
}

static void the_later_value_stays_DD033(void **state)
{
    struct node_id n1 = node_of('a'), n2 = node_of('b');
    struct dd_value *older =
        dd_register_new(&n1, state_of("A"), 100, DD_CLOCK_LAST);
    struct dd_value *newer = dd_copy(older);
    struct dd_value *merged[2];
    (void)state;

    dd_register_set(newer, &n2, state_of("B"), 101, DD_CLOCK_LAST);
    merged[0] = world_merged(older, newer);
    merged[1] = world_merged(newer, older);
    for (int i = 0; i < 2; i++) {
        assert_true(slice_is(dd_register_get(merged[i]).bytes, "B"));
        assert_int_equal(dd_register_timestamp(merged[i]), 101);
        dd_free(merged[i]);
    }
    dd_free(older);
    dd_free(newer);
}

static void registers_keep_the_last(void **state)
{
    struct node_id n1 = node_of('a');
    struct node_id n2 = node_of('b');
    struct dd_value *one =
        dd_register_new(&n1, state_of("one"), 100, DD_CLOCK_LAST);
    struct dd_value *two =
        dd_register_new(&n2, state_of("two"), 100, DD_CLOCK_LAST);
    (void)state;

    check(dd_merge(two, one) == DD_CHANGED); /* the lower node */
    assert_true(slice_is(dd_register_get(two).bytes, "one"));
    check(dd_merge(one, two) == DD_UNCHANGED);
    dd_register_set(two, &n2, state_of("two"), 100, DD_CLOCK_LAST);
    assert_int_equal(dd_register_timestamp(two), 101); /* within a millisecond */
    dd_register_set(two, &n2, state_of("three"), 50, DD_CLOCK_LAST);
    assert_int_equal(dd_register_timestamp(two), 102); /* the clock went back */
    check(dd_merge(one, two) == DD_CHANGED);
    assert_true(slice_is(dd_register_get(one).bytes, "three"));
    assert_true(node_equal(dd_register_node(one), &n2));
    dd_free(one);
    dd_free(two);
    /* The first writer wins. */
    one = dd_register_new(&n1, state_of("one"), 100, DD_CLOCK_FIRST);
    two = dd_register_new(&n2, state_of("two"), 101, DD_CLOCK_FIRST);
    assert_int_equal(dd_register_timestamp(one), -100);
    check(dd_merge(two, one) == DD_CHANGED);
    assert_true(slice_is(dd_register_get(two).bytes, "one"));
    dd_free(one);
    dd_free(two);
}

/* A deletion wins and stays; other or unknown kinds do not merge. */
static void other_kinds_do_not_merge(void **state)
{
    struct dd_value *deleted = dd_new(DD_DELETED);
    struct dd_value *flag = dd_new(DD_FLAG);
    struct dd_value *set = dd_new(DD_GSET);
    struct dd_other foreign = { 99, slice_text("x"), slice_text("1") };
    struct dd_value *opaque;
    struct dd_value *another;
    (void)state;

    assert_int_equal(dd_merge(flag, set), DD_MISMATCH);
    assert_int_equal(dd_merge(flag, deleted), DD_CHANGED);
    assert_int_equal(dd_kind_of(flag), DD_DELETED);
    assert_int_equal(dd_merge(flag, set), DD_UNCHANGED);
    assert_int_equal(dd_merge(deleted, set), DD_UNCHANGED);
    assert_int_equal(dd_decode(foreign, &opaque), DD_OK);
    assert_int_equal(dd_kind_of(opaque), DD_OPAQUE);
    another = dd_copy(opaque);
    assert_int_equal(dd_merge(opaque, another), DD_UNCHANGED);
    dd_free(another);
    foreign.bytes = slice_text("2");
    assert_int_equal(dd_decode(foreign, &another), DD_OK);
    assert_int_equal(dd_merge(opaque, another), DD_UNMERGEABLE);
    assert_int_equal(dd_merge(opaque, set), DD_MISMATCH);
    assert_int_equal(dd_merge(opaque, deleted), DD_CHANGED);
    dd_free(opaque);
    dd_free(another);
    dd_free(deleted);
    dd_free(flag);
    dd_free(set);
}

/* Foreign bytes stay while the state does, and an older replica takes them over. */
static void foreign_bytes_are_kept(void **state)
{
    static const uint8_t unsorted[] = "\x0a\x01" "b" "\x0a\x01" "a";
    struct slice bytes = slice_of(unsorted, sizeof unsorted - 1);
    struct dd_other other = { DD_SERIALIZER, slice_text("B"), bytes };
    struct dd_element element = dd_text("a");
    struct dd_value *set;
    struct dd_value *behind = dd_new(DD_GSET);
    struct buf buf = { 0 };
    (void)state;

    assert_int_equal(dd_decode(other, &set), DD_OK);
    dd_gset_add(behind, &element);
    assert_int_equal(dd_merge(set, behind), DD_UNCHANGED);
    assert_true(slice_equal(dd_encode(set, &buf).bytes, bytes));
    assert_int_equal(dd_merge(behind, set), DD_CHANGED);
    assert_true(slice_equal(dd_encode(behind, &buf).bytes, bytes));
    dd_gset_add(set, &element); /* already present */
    assert_true(slice_equal(dd_encode(set, &buf).bytes, bytes));
    element = dd_text("c");
    dd_gset_add(set, &element);
    assert_true(slice_is(dd_encode(set, &buf).bytes, "\x0a\x01" "a\x0a\x01"
                                                     "b\x0a\x01" "c"));
    dd_free(set);
    dd_free(behind);
    buf_fini(&buf);
}

/* 100,000 elements, added in random order by two nodes, merged, sent and applied as a delta, within
 * a test's time-out: quadratic work would exceed it. */
static void a_large_set_takes_linear_time(void **state)
{
    enum { COUNT = 100000 };
    struct dd_writer n1 = writer_of('a');
    struct dd_writer n2 = writer_of('b');
    struct dd_value *one = dd_new(DD_ORSET);
    struct dd_value *two = dd_new(DD_ORSET);
    struct dd_value *copy;
    struct dd_value *delta;
    struct buf buf = { 0 };
    char text[32];
    (void)state;

    for (uint32_t i = 0; i < COUNT; i++) {
        struct dd_element element;

        snprintf(text, sizeof text, "entity-%u", (unsigned)(i * 48271u));
        element = dd_text(text);
        dd_orset_add(i % 2 ? one : two, i % 2 ? &n1 : &n2, &element);
    }
    delta = dd_take_delta(one);
    assert_int_equal(dd_merge(two, one), DD_CHANGED);
    assert_int_equal(dd_set_count(two), COUNT);
    assert_int_equal(dd_merge_delta(one, delta), DD_UNCHANGED);
    assert_int_equal(dd_decode(dd_encode(two, &buf), &copy), DD_OK);
    assert_true(dd_equal(copy, two));
    dd_free(delta);
    dd_free(copy);
    dd_free(one);
    dd_free(two);
    buf_fini(&buf);
}

#define MERGE(name, ...)                                                       \
    { #name, dots_are_merged, NULL, NULL, &(struct merge){ __VA_ARGS__ } }

int main(void)
{
    const struct CMUnitTest tests[] = {
        MERGE(seen_dots_are_subtracted_DD107, "K:A3,B2,D14,G22",
              "|A4 B1 C1 D14 E5 F2", "K:B2,G22 |A4 B2 C1 D14 E5 F2 G22"),
        MERGE(dots_of_common_elements_are_merged_DD108,
              "K:A3,D7 L:B5,C2 |A3 B5 C2 D7", "K:A3 L:B6 |A3 B6 C1 D8",
              "K:A3 L:B6,C2 |A3 B6 C2 D8"),
        MERGE(unseen_dots_of_one_side_stay_DD109, "|A3 D7",
              "K:A4 L:A3,D8 M:A2 |A4 D8", "K:A4 L:D8 |A4 D8"),
        MERGE(elements_that_the_other_side_removed_are_gone,
              "F:A1 G:B2 |A1 B2", "K:B3 |A1 B3", "K:B3 |A1 B3"),
        cmocka_unit_test(a_version_zero_stays),
        cmocka_unit_test(a_version_zero_is_pruned),
        cmocka_unit_test(a_lost_delta_comes_with_the_state),
        cmocka_unit_test(deltas_of_two_nodes_merge),
        cmocka_unit_test(an_element_that_all_removed_is_gone),
        cmocka_unit_test(adds_win_over_concurrent_removals),
        cmocka_unit_test(deltas_remove_only_seen_elements),
        cmocka_unit_test(adds_join_the_last_add),
        cmocka_unit_test(a_flag_stays_on_DD011_DD012),
        cmocka_unit_test(grow_only_sets_merge),
        cmocka_unit_test(counters_take_the_larger_share),
        cmocka_unit_test(the_last_of_100_values_stays_DD032_DD035),
        cmocka_unit_test(the_later_value_stays_DD033),
        cmocka_unit_test(registers_keep_the_last),
        cmocka_unit_test(other_kinds_do_not_merge),
        cmocka_unit_test(foreign_bytes_are_kept),
        cmocka_unit_test(a_large_set_takes_linear_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
