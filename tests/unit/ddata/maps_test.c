/* Checks Akka's cases of maps: a key that one node removes and another changes, by states and
 * deltas, and joined deltas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "world.h"

static struct dd_writer n1;
static struct dd_writer n2;

static int start(void **state)
{
    (void)state;
    n1 = writer_of('a');
    n2 = writer_of('b');
    return 0;
}

static void add_text(struct dd_value *set, struct dd_writer *writer,
                     const char *text)
{
    struct dd_element element = dd_text(text);

    if (dd_kind_of(set) == DD_GSET)
        dd_gset_add(set, &element);
    else
        dd_orset_add(set, writer, &element);
}

/* put: replaces the value by one with this element. */
static void put(struct dd_value *map, struct dd_writer *writer,
                const char *name, enum dd_kind kind, const char *text)
{
    struct dd_element key = dd_text(name);
    struct dd_value *set = dd_new(kind);

    add_text(set, writer, text);
    assert_true(dd_ormap_put(map, writer, &key, set));
}

/* updated: adds an element to the present value, or to a new one. */
static void update(struct dd_value *map, struct dd_writer *writer,
                   const char *name, enum dd_kind kind, const char *text)
{
    struct dd_element key = dd_text(name);
    const struct dd_value *old = dd_map_get(map, &key);
    struct dd_value *set = old ? dd_copy(old) : dd_new(kind);

    add_text(set, writer, text);
    dd_ormap_update(map, writer, &key, set);
}

static void take(struct dd_value *map, struct dd_writer *writer,
                 const char *name)
{
    struct dd_element key = dd_text(name);

    dd_map_remove(map, writer, &key);
}

/* "B B2": the elements of a key's set; null: no key. */
static void assert_set(const struct dd_value *map, const char *name,
                       const char *texts)
{
    struct dd_element key = dd_text(name);
    const struct dd_value *set = dd_map_get(map, &key);
    uint32_t count = 0;

    assert_true(!set == !texts);
    if (!texts)
        return;
    for (const char *at = texts; *at; count++) {
        size_t size = strcspn(at, " ");
        struct dd_element element = { .kind = DD_TEXT,
                                      .text = slice_of(at, size) };

        if (!dd_set_has(set, &element))
            fail_msg("%s lacks %.*s", name, (int)size, at);
        at += size + (at[size] == ' ');
    }
    assert_int_equal(dd_set_count(set), count);
}

typedef void change(struct dd_value *map);

static void base_gset(struct dd_value *map)
{
    put(map, &n1, "a", DD_GSET, "A");
    put(map, &n1, "b", DD_GSET, "B");
}

static void base_orset(struct dd_value *map)
{
    put(map, &n1, "a", DD_ORSET, "A");
    put(map, &n1, "b", DD_ORSET, "B");
}

static void remove_b_on_1(struct dd_value *map)
{
    take(map, &n1, "b");
}

static void update_gset_on_1(struct dd_value *map)
{
    update(map, &n1, "b", DD_GSET, "B2");
}

static void update_orset_on_1(struct dd_value *map)
{
    update(map, &n1, "b", DD_ORSET, "B2");
}

static void remove_update_on_1(struct dd_value *map)
{
    take(map, &n1, "b");
    update(map, &n1, "b", DD_ORSET, "B2");
}

static void remove_update_on_2(struct dd_value *map)
{
    take(map, &n2, "b");
    update(map, &n2, "b", DD_ORSET, "B2");
}

static void put_on_2(struct dd_value *map)
{
    put(map, &n2, "b", DD_GSET, "B2");
}

static void remove_updates_on_2(struct dd_value *map)
{
    take(map, &n2, "b");
    update(map, &n2, "b", DD_ORSET, "B1");
    update(map, &n2, "b", DD_ORSET, "B2");
}

static const struct {
    change *base;
    change *one;
    change *two;
    const char *left;
} rows[] = {
    { base_gset, remove_b_on_1, update_gset_on_1, "B B2" },
    { base_orset, remove_b_on_1, remove_update_on_1, "B2" },
    { base_orset, remove_b_on_1, remove_update_on_2, "B2" },
    { base_orset, remove_b_on_1, update_orset_on_1, "B B2" },
    { base_gset, remove_b_on_1, put_on_2, "B2" },
    { base_orset, remove_b_on_1, remove_updates_on_2, "B1 B2" },
};

/* Two branches of one state merge. One node draws versions on both, on one after the other. */
static void branches_of_one_state_merge(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dd_value *base = dd_new(DD_ORMAP);
        struct dd_value *far = dd_new(DD_ORMAP);
        struct dd_value *one;
        struct dd_value *two;
        struct dd_value *merged;
        struct dd_value *delta;

        start(NULL);
        rows[i].base(base);
        put(far, &n2, "c", DD_GSET, "C");
        check(dd_merge(base, far) == DD_CHANGED);
        one = dd_copy(base);
        two = dd_copy(base);
        rows[i].one(one);
        rows[i].two(two);
        delta = dd_take_delta(two);
        merged = world_merged(one, two);
        assert_set(merged, "a", "A");
        assert_set(merged, "c", "C");
        assert_set(merged, "b", rows[i].left);
        dd_free(merged);
        merged = world_merged(two, one);
        assert_set(merged, "b", rows[i].left);
        dd_free(merged);
        check(dd_merge_delta(one, delta) == DD_CHANGED);
        assert_set(one, "b", rows[i].left);
        dd_free(delta);
        dd_free(base);
        dd_free(far);
        dd_free(one);
        dd_free(two);
    }
}

/* Grow-only sets: put by both, removed by both, put again. */
static void a_key_that_both_put_and_remove_is_gone(void **state)
{
    (void)state;
    for (int updates = 0; updates < 2; updates++) {
        struct dd_value *one = dd_new(DD_ORMAP);
        struct dd_value *two = dd_new(DD_ORMAP);
        struct dd_value *merged;

        put(one, &n1, "b", DD_GSET, "B");
        put(two, &n2, "b", DD_GSET, "B");
        merged = world_merged(one, two);
        dd_free(one);
        dd_free(two);
        one = dd_copy(merged);
        two = merged;
        take(one, &n1, "b");
        take(two, &n2, "b");
        if (updates) {
            update(two, &n2, "b", DD_GSET, "B2");
            update(two, &n2, "b", DD_GSET, "B3");
        } else {
            put(two, &n2, "b", DD_GSET, "B2");
            put(two, &n2, "b", DD_GSET, "B3");
        }
        check(dd_merge(one, two) == DD_CHANGED);
        assert_set(one, "b", updates ? "B2 B3" : "B3");
        dd_free(one);
        dd_free(two);
    }
}

static void an_orset_is_not_replaced(void **state)
{
    struct dd_value *map = dd_new(DD_ORMAP);
    struct dd_element key = dd_text("a");
    (void)state;

    put(map, &n1, "a", DD_ORSET, "A");
    assert_false(dd_ormap_put(map, &n1, &key, dd_new(DD_ORSET)));
    assert_set(map, "a", "A");
    take(map, &n1, "a");
    put(map, &n1, "a", DD_ORSET, "B");
    assert_set(map, "a", "B");
    dd_free(map);
}

/* It has nothing from before the removal. */
static void a_key_put_by_both_after_a_removal_has_both_elements(void **state)
{
    struct dd_value *one = dd_new(DD_ORMAP), *two;
    (void)state;

    put(one, &n1, "a", DD_ORSET, "A");
    put(one, &n1, "b", DD_ORSET, "B1");
    two = dd_copy(one);
    take(two, &n2, "b");
    put(two, &n2, "c", DD_ORSET, "C");
    check(dd_merge(one, two) == DD_CHANGED);
    assert_set(one, "b", NULL);
    put(one, &n1, "b", DD_ORSET, "B2");
    put(two, &n2, "b", DD_ORSET, "B3");
    check(dd_merge(one, two) == DD_CHANGED);
    check(dd_merge(two, one) == DD_CHANGED);
    assert_true(dd_equal(one, two));
    assert_set(one, "a", "A");
    assert_set(one, "b", "B2 B3");
    assert_set(one, "c", "C");
    dd_free(one);
    dd_free(two);
}

static void put_update(struct dd_value *map)
{
    put(map, &n1, "b", DD_GSET, "B2");
    update(map, &n1, "b", DD_GSET, "B3");
}

static void put_put(struct dd_value *map)
{
    put(map, &n1, "b", DD_GSET, "B2");
    put(map, &n1, "b", DD_GSET, "B3");
}

static void put_update_update(struct dd_value *map)
{
    put_update(map);
    update(map, &n1, "b", DD_GSET, "B4");
}

static void put_other_put(struct dd_value *map)
{
    put(map, &n1, "b", DD_GSET, "B2");
    put(map, &n1, "d", DD_GSET, "D");
    put(map, &n1, "b", DD_GSET, "B3");
}

static void put_other_remove_put(struct dd_value *map)
{
    put(map, &n1, "b", DD_GSET, "B2");
    put(map, &n1, "d", DD_GSET, "D");
    take(map, &n1, "d");
    put(map, &n1, "b", DD_GSET, "B3");
}

static const struct {
    change *change;
    uint32_t size; /* of the delta */
    const char *b;
    const char *d;
} joined[] = {
    { put_update, 1, "B B2 B3", NULL },
    { put_put, 1, "B B3", NULL },
    { put_update_update, 1, "B B2 B3 B4", NULL },
    { put_other_put, 3, "B B3", "D" },
    { put_other_remove_put, 4, "B B3", NULL },
};

/* The reader has b = {B}, from another node. */
static void deltas_are_joined(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof joined / sizeof joined[0]; i++) {
        struct dd_value *writer = dd_new(DD_ORMAP);
        struct dd_value *reader = dd_new(DD_ORMAP);
        struct dd_value *delta;

        start(NULL);
        put(reader, &n2, "a", DD_GSET, "A");
        put(reader, &n2, "b", DD_GSET, "B");
        joined[i].change(writer);
        delta = dd_take_delta(writer);
        assert_int_equal(dd_delta_size(delta), joined[i].size);
        check(dd_merge_delta(reader, delta) == DD_CHANGED);
        assert_set(reader, "a", "A");
        assert_set(reader, "b", joined[i].b);
        assert_set(reader, "d", joined[i].d);
        dd_free(delta);
        dd_free(writer);
        dd_free(reader);
    }
}

/* By states and by deltas. */
static void entries_are_added_and_removed(void **state)
{
    struct dd_value *map = dd_new(DD_ORMAP);
    struct dd_value *reader = dd_new(DD_ORMAP);
    struct dd_value *far = dd_new(DD_ORMAP);
    struct dd_value *delta;
    (void)state;

    put(map, &n1, "a", DD_GSET, "A");
    put(map, &n1, "b", DD_GSET, "B");
    put(map, &n1, "a", DD_GSET, "C"); /* replaces */
    assert_set(map, "a", "C");
    take(map, &n1, "b");
    assert_set(map, "b", NULL);
    delta = dd_take_delta(map);
    assert_int_equal(dd_delta_size(delta), 4); /* operations between two puts separate them */
    check(dd_merge_delta(reader, delta) == DD_CHANGED);
    assert_true(dd_equal(reader, map));
    dd_free(delta);
    put(map, &n1, "b", DD_GSET, "D");
    assert_set(map, "b", "D");
    put(far, &n2, "c", DD_GSET, "E");
    put(far, &n2, "a", DD_GSET, "F");
    check(dd_merge(map, far) == DD_CHANGED);
    assert_set(map, "a", "C F");
    assert_set(map, "b", "D");
    assert_set(map, "c", "E");
    assert_int_equal(dd_map_count(map), 3);
    dd_free(map);
    dd_free(reader);
    dd_free(far);
}

/* Counters and a flag under keys, changed by two nodes, by deltas. */
static void values_of_all_kinds_are_updated(void **state)
{
    struct dd_value *on[2] = { dd_new(DD_ORMAP), dd_new(DD_ORMAP) };
    struct dd_writer *writers[2] = { &n1, &n2 };
    struct dd_element grown = dd_text("gcounter");
    struct dd_element both = dd_text("pncounter");
    struct dd_element flag = dd_text("flag");
    struct dd_value *deltas[2];
    (void)state;

    for (int i = 0; i < 2; i++) {
        struct dd_value *count = dd_new(DD_GCOUNTER);
        struct dd_value *balance = dd_new(DD_PNCOUNTER);
        struct dd_value *set = dd_new(DD_FLAG);

        dd_gcounter_add(count, &writers[i]->node, 10);
        dd_ormap_update(on[i], writers[i], &grown, count);
        dd_pncounter_add(balance, &writers[i]->node, i ? -10 : 10);
        dd_ormap_update(on[i], writers[i], &both, balance);
        if (i)
            dd_flag_switch_on(set);
        dd_ormap_update(on[i], writers[i], &flag, set);
        deltas[i] = dd_take_delta(on[i]);
    }
    for (int i = 0; i < 2; i++) {
        check(dd_merge_delta(on[i], deltas[!i]) == DD_CHANGED);
        assert_int_equal(dd_gcounter_get(dd_map_get(on[i], &grown)).low, 20);
        assert_int_equal(dd_pncounter_get(dd_map_get(on[i], &both)).size.low,
                         0);
        assert_true(dd_flag(dd_map_get(on[i], &flag)));
    }
    for (int i = 0; i < 2; i++) {
        dd_free(on[i]);
        dd_free(deltas[i]);
    }
}

/* A concurrent addition stays; cleared elements do not. */
static void a_set_is_cleared_in_an_update(void **state)
{
    struct dd_value *one = dd_new(DD_ORMAP);
    struct dd_element key = dd_text("a");
    struct dd_value *two;
    struct dd_value *set;
    (void)state;

    put(one, &n1, "a", DD_ORSET, "A");
    update(one, &n1, "a", DD_ORSET, "B");
    two = dd_copy(one);
    update(two, &n2, "a", DD_ORSET, "C");
    set = dd_copy(dd_map_get(one, &key));
    dd_orset_clear(set);
    add_text(set, &n1, "D");
    dd_ormap_update(one, &n1, &key, set);
    check(dd_merge(one, two) == DD_CHANGED);
    assert_set(one, "a", "C D");
    check(dd_merge(two, one) == DD_CHANGED);
    assert_true(dd_equal(one, two));
    dd_free(one);
    dd_free(two);
}

static void other_maps_are_joined(void **state)
{
    struct dd_element keys[3] = { dd_text("a"), dd_text("b"), dd_text("c") };
    static const int64_t counts[3] = { 1, 3, 7 };
    struct dd_value *one = dd_new(DD_PNCOUNTERMAP);
    struct dd_value *two = dd_new(DD_PNCOUNTERMAP);
    struct dd_value *delta;
    (void)state;

    dd_countermap_add(one, &n1, &keys[0], 1);
    dd_countermap_add(one, &n1, &keys[1], 5);
    dd_countermap_add(one, &n1, &keys[1], -2);
    dd_countermap_add(two, &n2, &keys[2], 7);
    delta = dd_take_delta(two);
    check(dd_merge_delta(one, delta) == DD_CHANGED);
    for (int i = 0; i < 3; i++)
        assert_int_equal(dd_pncounter_get(dd_map_get(one, &keys[i])).size.low,
                         counts[i]);
    dd_free(delta);
    dd_free(one);
    dd_free(two);
    one = dd_new(DD_LWWMAP);
    two = dd_new(DD_LWWMAP);
    dd_lwwmap_put(one, &n1, &keys[0], state_of("1"), 1, DD_CLOCK_LAST);
    dd_lwwmap_put(one, &n1, &keys[1], state_of("2"), 1, DD_CLOCK_LAST);
    dd_lwwmap_put(two, &n2, &keys[2], state_of("3"), 1, DD_CLOCK_LAST);
    check(dd_merge(one, two) == DD_CHANGED);
    for (int i = 0; i < 3; i++) {
        char text[2] = { (char)('1' + i), 0 };

        assert_true(slice_is(
            dd_register_get(dd_map_get(one, &keys[i])).bytes, text));
    }
    dd_free(one);
    dd_free(two);
}

/* The owner prunes and goes on. Another node has only dropped the removed node's part when the
 * delta arrives before the pruned state. The removed node's elements must be present after both. */
static void pruned_elements_survive_the_next_delta(void **state)
{
    struct dd_writer removed = writer_of('c');
    struct dd_value *owner = dd_new(DD_ORMAP);
    struct dd_value *reader;
    struct dd_value *delta;
    (void)state;

    put(owner, &removed, "a", DD_GSET, "A");
    put(owner, &removed, "s", DD_ORSET, "S");
    dd_reset_delta(owner);
    reader = dd_copy(owner);
    assert_true(dd_prune(owner, &removed.node, &n1));
    assert_false(dd_needs_pruning(owner, &removed.node));
    put(owner, &n1, "b", DD_GSET, "B");
    delta = dd_take_delta(owner);
    assert_true(dd_cleanup(reader, &removed.node));
    check(dd_merge_delta(reader, delta) == DD_CHANGED);
    check(dd_merge(reader, owner) <= DD_CHANGED);
    assert_set(reader, "a", "A");
    assert_set(reader, "s", "S");
    assert_set(reader, "b", "B");
    check(dd_merge(owner, reader) <= DD_CHANGED);
    assert_set(owner, "a", "A");
    assert_set(owner, "s", "S");
    dd_free(delta);
    dd_free(owner);
    dd_free(reader);
}

static void bind(struct dd_value *map, struct dd_writer *writer,
                 const char *name, const char *text)
{
    struct dd_element key = dd_text(name);
    struct dd_element element = dd_text(text);

    dd_multimap_add(map, writer, &key, &element);
}

static void unbind(struct dd_value *map, struct dd_writer *writer,
                   const char *name, const char *text)
{
    struct dd_element key = dd_text(name);
    struct dd_element element = dd_text(text);

    dd_multimap_remove(map, writer, &key, &element);
}

static void bindings_are_added_and_removed(void **state)
{
    struct dd_element key = dd_text("a");
    struct dd_element old = dd_text("A");
    struct dd_element new = dd_text("B");
    struct dd_element both[2] = { dd_text("C"), dd_text("D") };
    (void)state;

    for (int with_deltas = 0; with_deltas < 2; with_deltas++) {
        struct dd_value *map = dd_multimap_new(with_deltas);

        bind(map, &n1, "a", "A");
        bind(map, &n1, "b", "B");
        unbind(map, &n1, "b", "B"); /* the last one removes the key */
        assert_set(map, "b", NULL);
        assert_int_equal(dd_map_count(map), 1);
        dd_multimap_replace(map, &n1, &key, &old, &new);
        assert_set(map, "a", "B");
        dd_reset_delta(map);
        dd_multimap_replace(map, &n1, &key, &new, &new);
        assert_null(dd_take_delta(map));
        dd_multimap_put(map, &n1, &key, both, 2);
        assert_set(map, "a", "C D");
        dd_multimap_put(map, &n1, &key, both, 1);
        assert_set(map, "a", "C");
        dd_map_remove(map, &n1, &key);
        assert_set(map, "a", NULL);
        assert_int_equal(dd_map_count(map), 0);
        dd_free(map);
    }
}

/* By states and by deltas. */
static void bindings_of_two_nodes_merge(void **state)
{
    (void)state;
    for (int with_deltas = 0; with_deltas < 2; with_deltas++) {
        struct dd_value *one = dd_multimap_new(with_deltas);
        struct dd_value *two = dd_multimap_new(with_deltas);
        struct dd_value *merged;
        struct dd_value *delta;

        start(NULL);
        bind(one, &n1, "a", "A1");
        bind(one, &n1, "b", "B1");
        unbind(one, &n1, "a", "A1");
        bind(one, &n1, "d", "D1");
        bind(two, &n2, "c", "C1");
        bind(two, &n2, "a", "A2");
        bind(two, &n2, "b", "B2");
        unbind(two, &n2, "b", "B2");
        unbind(two, &n2, "c", "C1");
        bind(two, &n2, "c", "C2");
        bind(two, &n2, "d", "D2");
        merged = world_merged(one, two);
        assert_set(merged, "a", "A2");
        assert_set(merged, "b", "B1");
        assert_set(merged, "c", "C2");
        assert_set(merged, "d", "D1 D2");
        delta = dd_take_delta(two);
        check(dd_merge_delta(one, delta) == DD_CHANGED);
        assert_true(world_looks_equal(one, merged));
        dd_free(delta);
        dd_free(merged);
        dd_free(one);
        dd_free(two);
    }
}

static void a_key_is_removed_while_it_changes(void **state)
{
    struct dd_value *one = dd_multimap_new(true);
    struct dd_value *two;
    struct dd_element key = dd_text("b");
    struct dd_other register_state;
    (void)state;

    bind(one, &n1, "b", "B");
    two = dd_copy(one);
    take(one, &n1, "b");
    bind(two, &n2, "b", "B2");
    check(dd_merge(one, two) == DD_CHANGED);
    assert_set(one, "b", "B2");
    dd_free(one);
    dd_free(two);

    one = dd_multimap_new(false); /* without value deltas the removal is lost */
    bind(one, &n1, "a", "A");
    two = dd_copy(one);
    unbind(one, &n1, "a", "A");
    bind(two, &n2, "a", "B");
    check(dd_merge(one, two) == DD_CHANGED);
    assert_set(one, "a", "A B");
    dd_free(two);
    two = dd_multimap_new(true);
    assert_int_equal(dd_merge(one, two), DD_MISMATCH);
    dd_free(one);
    dd_free(two);

    one = dd_new(DD_PNCOUNTERMAP);
    dd_countermap_add(one, &n1, &key, 3);
    two = dd_copy(one);
    take(one, &n1, "b");
    dd_countermap_add(two, &n2, &key, 10);
    check(dd_merge(one, two) == DD_CHANGED);
    assert_int_equal(dd_pncounter_get(dd_map_get(one, &key)).size.low, 13);
    dd_free(one);
    dd_free(two);

    one = dd_new(DD_LWWMAP);
    dd_lwwmap_put(one, &n1, &key, state_of("2"), 1, DD_CLOCK_LAST);
    two = dd_copy(one);
    take(one, &n1, "b");
    dd_lwwmap_put(two, &n2, &key, state_of("22"), 1, DD_CLOCK_LAST);
    check(dd_merge(one, two) == DD_CHANGED);
    register_state = dd_register_get(dd_map_get(one, &key));
    assert_true(slice_is(register_state.bytes, "22"));
    assert_int_equal(dd_register_timestamp(dd_map_get(one, &key)), 2);
    dd_free(one);
    dd_free(two);
}

/* Types that differ inside: earlier parts are not merged either. */
static void a_mismatch_changes_nothing(void **state)
{
    struct dd_value *one = dd_new(DD_ORMAP);
    struct dd_value *two = dd_new(DD_ORMAP);
    struct dd_value *before;
    struct dd_value *delta;
    struct dd_element key = dd_text("z");
    struct dd_value *foreign;
    struct dd_other other = { 99, slice_text(""), slice_text("1") };
    (void)state;

    put(one, &n1, "m", DD_GSET, "M");
    before = dd_copy(one);
    put(two, &n2, "a", DD_GSET, "A");
    put(two, &n2, "m", DD_ORSET, "M");
    put(two, &n2, "z", DD_GSET, "Z");
    assert_int_equal(dd_merge(one, two), DD_MISMATCH);
    assert_true(dd_equal(one, before));
    delta = dd_take_delta(two);
    assert_int_equal(dd_merge_delta(one, delta), DD_MISMATCH);
    assert_true(dd_equal(one, before));
    dd_free(delta);
    dd_free(two);
    /* Two foreign values under one key. */
    check(dd_decode(other, &foreign) == DD_OK);
    check(dd_ormap_put(one, &n1, &key, foreign));
    two = dd_copy(one);
    other.bytes = slice_text("2");
    check(dd_decode(other, &foreign) == DD_OK);
    check(dd_ormap_put(two, &n2, &key, foreign));
    dd_free(before);
    before = dd_copy(one);
    assert_int_equal(dd_merge(one, two), DD_UNMERGEABLE);
    assert_true(dd_equal(one, before));
    /* A delta of another type of map. */
    dd_free(two);
    two = dd_new(DD_PNCOUNTERMAP);
    dd_countermap_add(two, &n2, &key, 1);
    delta = dd_take_delta(two);
    assert_int_equal(dd_merge_delta(one, delta), DD_MISMATCH);
    assert_int_equal(dd_merge_delta(two, delta), DD_UNCHANGED);
    dd_free(delta);
    dd_free(one);
    dd_free(two);
    dd_free(before);
}

/* Applied where there is no map yet. */
static void a_delta_creates_its_type_of_map(void **state)
{
    struct dd_element key = dd_text("k");
    struct dd_element element = dd_text("e");
    (void)state;

    for (int kind = 0; kind < 5; kind++) {
        static const enum dd_kind kinds[] = { DD_ORMAP, DD_LWWMAP,
                                              DD_PNCOUNTERMAP, DD_MULTIMAP,
                                              DD_MULTIMAP };
        struct dd_value *map = kind < 3 ? dd_new(kinds[kind])
                                        : dd_multimap_new(kind == 4);
        struct dd_value *delta;
        struct dd_value *zero;

        if (kind == 0)
            check(dd_ormap_put(map, &n1, &key, dd_new(DD_FLAG)));
        else if (kind == 1)
            dd_lwwmap_put(map, &n1, &key, state_of(""), 1, DD_CLOCK_LAST);
        else if (kind == 2)
            dd_countermap_add(map, &n1, &key, 1);
        else
            dd_multimap_add(map, &n1, &key, &element);
        delta = dd_take_delta(map);
        assert_true(dd_is_delta(delta));
        zero = dd_zero(delta);
        assert_int_equal(dd_merge_delta(zero, delta), DD_CHANGED);
        assert_true(dd_equal(zero, map));
        dd_free(delta);
        dd_free(zero);
        dd_free(map);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(branches_of_one_state_merge, start),
        cmocka_unit_test_setup(a_key_that_both_put_and_remove_is_gone, start),
        cmocka_unit_test_setup(a_key_put_by_both_after_a_removal_has_both_elements, start),
        cmocka_unit_test_setup(an_orset_is_not_replaced, start),
        cmocka_unit_test_setup(deltas_are_joined, start),
        cmocka_unit_test_setup(entries_are_added_and_removed, start),
        cmocka_unit_test_setup(values_of_all_kinds_are_updated, start),
        cmocka_unit_test_setup(a_set_is_cleared_in_an_update, start),
        cmocka_unit_test_setup(other_maps_are_joined, start),
        cmocka_unit_test_setup(pruned_elements_survive_the_next_delta, start),
        cmocka_unit_test_setup(bindings_are_added_and_removed, start),
        cmocka_unit_test_setup(bindings_of_two_nodes_merge, start),
        cmocka_unit_test_setup(a_key_is_removed_while_it_changes, start),
        cmocka_unit_test_setup(a_mismatch_changes_nothing, start),
        cmocka_unit_test_setup(a_delta_creates_its_type_of_map, start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
