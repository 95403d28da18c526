/* Checks the choice of deltas for each replica with the cases of Akka's DeltaPropagationSelector,
 * and at the limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "ddata/deltas.h"

static struct node_id node_of(uint32_t n)
{
    struct node_id node = { .uid = 100 + n };

    assert_true(address_set(&node.address, "n", 1, 2550 + n));
    return node;
}

static struct dd_value *delta_of(uint32_t n, uint64_t amount)
{
    struct node_id node = node_of(n);
    struct dd_value *value = dd_new(DD_GCOUNTER);
    struct dd_value *delta;

    dd_gcounter_add(value, &node, amount);
    delta = dd_take_delta(value);
    dd_free(value);
    return delta;
}

static struct slice key_a = { (const uint8_t *)"A", 1 };
static struct slice key_b = { (const uint8_t *)"B", 1 };

/* The node's next group has these versions of the key. */
static void assert_next(struct deltas *deltas, uint32_t n, struct slice key,
                        int64_t from, int64_t to)
{
    struct node_id node = node_of(n);
    struct delta_group group;
    uint32_t at = 0;

    assert_true(
        deltas_next(deltas, deltas_slot(deltas, &node), &at, &group));
    assert_true(slice_equal(group.key, key));
    assert_int_equal(group.from, from);
    assert_int_equal(group.to, to);
    assert_non_null(group.value);
    assert_false(
        deltas_next(deltas, deltas_slot(deltas, &node), &at, &group));
}

static void assert_nothing(struct deltas *deltas, uint32_t n)
{
    struct node_id node = node_of(n);
    struct delta_group group;
    uint32_t at = 0;

    assert_false(
        deltas_next(deltas, deltas_slot(deltas, &node), &at, &group));
}

static void finish(struct deltas *deltas, struct delta_log *log,
                   struct slice key)
{
    deltas_drop(deltas, log, key);
    deltas_fini(deltas);
}

static void deltas_are_dropped_without_nodes_DD003(void **state)
{
    struct deltas deltas;
    struct delta_log log = { 0 };
    uint32_t first;
    (void)state;

    deltas_init(&deltas, 50);
    deltas_put(&deltas, &log, key_a, delta_of(0, 1));
    assert_int_equal(deltas_begin(&deltas, 0, &first), 0);
    assert_int_equal(log.items.count, 1);
    deltas_clean(&deltas, NULL, 0);
    assert_int_equal(log.items.count, 0);
    assert_int_equal(log.version, 1);
    finish(&deltas, &log, key_a);
}

static void one_node_gets_each_key_once_DD004(void **state)
{
    struct node_id node = node_of(1);
    struct deltas deltas;
    struct delta_log a = { 0 };
    struct delta_log b = { 0 };
    struct delta_group group;
    uint32_t first;
    uint32_t at = 0;
    (void)state;

    deltas_init(&deltas, 50);
    deltas_put(&deltas, &a, key_a, delta_of(0, 1));
    deltas_put(&deltas, &b, key_b, delta_of(0, 2));
    assert_int_equal(deltas_begin(&deltas, 1, &first), 1);
    assert_int_equal(first, 0);
    for (int i = 0; i < 2; i++) {
        assert_true(
            deltas_next(&deltas, deltas_slot(&deltas, &node), &at, &group));
        assert_true(slice_equal(group.key, i ? key_b : key_a));
        assert_int_equal(group.from, 1);
        assert_int_equal(group.to, 1);
    }
    assert_nothing(&deltas, 1);
    assert_int_equal(a.items.count + b.items.count, 2);
    deltas_clean(&deltas, &node, 1);
    assert_int_equal(a.items.count + b.items.count, 0);
    deltas_drop(&deltas, &a, key_a);
    finish(&deltas, &b, key_b);
}

static void each_change_has_its_version_DD007(void **state)
{
    struct deltas deltas;
    struct delta_log log = { 0 };
    (void)state;

    deltas_init(&deltas, 50);
    deltas_put(&deltas, &log, key_a, delta_of(0, 1));
    deltas_put(&deltas, &log, key_a, delta_of(1, 2));
    assert_next(&deltas, 1, key_a, 1, 2);
    assert_int_equal(dd_gcounter_get(log.group).low, 3);
    deltas_put(&deltas, &log, key_a, delta_of(2, 4));
    assert_next(&deltas, 1, key_a, 3, 3);
    assert_int_equal(dd_gcounter_get(log.group).low, 4);
    finish(&deltas, &log, key_a);
}

/* Three nodes, one at a time. */
static void each_node_gets_its_missing_versions(void **state)
{
    struct node_id nodes[] = { node_of(0), node_of(1), node_of(2) };
    struct deltas deltas;
    struct delta_log log = { 0 };
    (void)state;

    deltas_init(&deltas, 50);
    deltas_put(&deltas, &log, key_a, delta_of(0, 1));
    assert_next(&deltas, 0, key_a, 1, 1);
    deltas_put(&deltas, &log, key_a, delta_of(1, 1));
    assert_next(&deltas, 1, key_a, 1, 2);
    deltas_put(&deltas, &log, key_a, delta_of(2, 1));
    assert_next(&deltas, 2, key_a, 1, 3);
    deltas_clean(&deltas, nodes, 3);
    assert_int_equal(log.items.count, 2); /* all have the first */
    assert_next(&deltas, 0, key_a, 2, 3);
    assert_next(&deltas, 1, key_a, 3, 3);
    assert_nothing(&deltas, 2);
    deltas_clean(&deltas, nodes, 3);
    assert_int_equal(log.items.count, 0);
    finish(&deltas, &log, key_a);
}

static void slice_sizes_are_akkas_DD010(void **state)
{
    (void)state;
    for (uint32_t count = 0; count <= 200; count++) {
        uint32_t size = count < 2 ? count : count < 10 ? 2 : count / 5 + 1;

        assert_int_equal(deltas_slice_size(count), size > 10 ? 10 : size);
    }
    assert_int_equal(deltas_slice_size(14), 3);
    assert_int_equal(deltas_slice_size(44), 9);
    assert_int_equal(deltas_slice_size(45), 10);
}

static void rounds_serve_all_nodes_in_turn(void **state)
{
    uint32_t seen[7] = { 0 };
    struct deltas deltas;
    (void)state;

    deltas_init(&deltas, 50);
    for (int round = 0; round < 7; round++) {
        uint32_t first;
        uint32_t size = deltas_begin(&deltas, 7, &first);

        assert_int_equal(deltas_clean_due(&deltas), round == 4);
        for (uint32_t i = 0; i < size; i++)
            seen[(first + i) % 7]++;
    }
    for (int i = 0; i < 7; i++)
        assert_int_equal(seen[i], 2);
    deltas_fini(&deltas);
}

static void a_change_without_a_delta_leaves_a_gap(void **state)
{
    struct node_id node = node_of(1);
    struct deltas deltas;
    struct delta_log log = { 0 };
    struct delta_group group;
    uint32_t at = 0;
    (void)state;

    deltas_init(&deltas, 50);
    deltas_put(&deltas, &log, key_a, delta_of(0, 1));
    deltas_put(&deltas, &log, key_a, NULL);
    assert_true(
        deltas_next(&deltas, deltas_slot(&deltas, &node), &at, &group));
    assert_null(group.value);
    assert_int_equal(group.to, 2);
    deltas_put(&deltas, &log, key_a, delta_of(0, 1));
    assert_next(&deltas, 1, key_a, 3, 3);
    finish(&deltas, &log, key_a);
}

static void a_large_group_is_left_to_gossip(void **state)
{
    struct dd_writer writer = { node_of(0), 0 };
    struct node_id node = node_of(1);
    struct dd_value *set = dd_new(DD_ORSET);
    struct deltas deltas;
    struct delta_log log = { 0 };
    struct delta_group group;
    uint32_t at = 0;
    (void)state;

    deltas_init(&deltas, 3);
    for (int64_t i = 0; i < 5; i++) {
        struct dd_element element = dd_long(i);

        dd_orset_add(set, &writer, &element);
        /* Each removal is a change; additions would join. */
        dd_orset_remove(set, &writer, &element);
        deltas_put(&deltas, &log, key_a, dd_take_delta(set));
    }
    assert_true(
        deltas_next(&deltas, deltas_slot(&deltas, &node), &at, &group));
    assert_null(group.value);
    assert_int_equal(group.from, 1);
    assert_int_equal(group.to, 5);
    dd_free(set);
    finish(&deltas, &log, key_a);
}

static void a_new_node_in_an_old_slot_gets_all_deltas(void **state)
{
    struct node_id old = node_of(1);
    struct deltas deltas;
    struct delta_log log = { 0 };
    (void)state;

    deltas_init(&deltas, 50);
    deltas_put(&deltas, &log, key_a, delta_of(0, 1));
    assert_next(&deltas, 1, key_a, 1, 1);
    deltas_remove(&deltas, &old);
    assert_next(&deltas, 2, key_a, 1, 1);
    assert_int_equal(deltas.slots.count, 1);
    finish(&deltas, &log, key_a);
}

static void a_log_has_a_limit_of_deltas(void **state)
{
    struct node_id node = node_of(1);
    struct deltas deltas;
    struct delta_log log = { 0 };
    struct delta_group group;
    uint32_t at = 0;
    (void)state;

    deltas_init(&deltas, 50);
    for (uint32_t i = 0; i < REPLICATOR_DELTAS_MAX; i++)
        deltas_put(&deltas, &log, key_a, delta_of(0, 1));
    assert_int_equal(log.items.count, REPLICATOR_DELTAS_MAX);
    assert_int_equal(deltas.lost, 0);
    deltas_put(&deltas, &log, key_a, delta_of(0, 1));
    assert_int_equal(log.items.count, 1);
    assert_int_equal(deltas.lost, REPLICATOR_DELTAS_MAX);
    assert_true(
        deltas_next(&deltas, deltas_slot(&deltas, &node), &at, &group));
    assert_null(group.value); /* left to gossip */
    assert_int_equal(group.to, REPLICATOR_DELTAS_MAX + 1);
    deltas_put(&deltas, &log, key_a, delta_of(0, 1));
    assert_next(&deltas, 1, key_a, REPLICATOR_DELTAS_MAX + 2,
                REPLICATOR_DELTAS_MAX + 2);
    finish(&deltas, &log, key_a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deltas_are_dropped_without_nodes_DD003),
        cmocka_unit_test(one_node_gets_each_key_once_DD004),
        cmocka_unit_test(each_change_has_its_version_DD007),
        cmocka_unit_test(each_node_gets_its_missing_versions),
        cmocka_unit_test(slice_sizes_are_akkas_DD010),
        cmocka_unit_test(rounds_serve_all_nodes_in_turn),
        cmocka_unit_test(a_change_without_a_delta_leaves_a_gap),
        cmocka_unit_test(a_large_group_is_left_to_gossip),
        cmocka_unit_test(a_new_node_in_an_old_slot_gets_all_deltas),
        cmocka_unit_test(a_log_has_a_limit_of_deltas),
    };

    return cmocka_run_group_tests_name("ddata_deltas", tests, NULL, NULL);
}
