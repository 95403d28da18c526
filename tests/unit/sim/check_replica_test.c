/* Tests check_replica with equal and unequal replicas, broken laws and broken marks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "ddata/message.h"
#include "judged.h"
#include "sim/check/check_replica.h"

#define NODES 2
#define WALL_MS INT64_C(1700000000000)

static struct identity identities[NODES];
static struct dd_writer writers[NODES];
static struct check_replica replicas[NODES];
static const struct node_id gone = { { "gone", 1 }, 99 };

static struct replicator *one(uint32_t index)
{
    static const char *const durable[] = { "*" };
    struct replicator_options options = { .identity = &identities[index],
                                          .path = "/system/r",
                                          .durable_keys = durable,
                                          .durable_key_count = 1,
                                          .writer = &writers[index] };
    struct replicator *replicator;

    identities[index] = (struct identity){
        "akka", "T", { { "n", (uint16_t)(index + 1) }, index + 1 }
    };
    writers[index].node = identities[index].node;
    replicator = replicator_new(&options, now);
    replicator_wall(replicator, WALL_MS);
    return replicator;
}

static int begin(void **state)
{
    (void)state;
    judge();
    for (uint32_t i = 0; i < NODES; i++) {
        replicas[i].replicator = one(i);
        replicas[i].index = i;
        replicas[i].node = identities[i].node;
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NODES; i++)
        replicator_free((struct replicator *)(uintptr_t)replicas[i].replicator);
    verdict_free(verdict);
    return 0;
}

static struct slice key(void)
{
    return slice_text("key");
}

/* A counter that this node raised; is_marked: the removed member was pruned from it. */
static void put_counter(const struct node_id *node, uint64_t amount,
                        bool is_marked, struct buf *bytes)
{
    struct envelope envelope = { .value = dd_new(DD_GCOUNTER) };

    dd_gcounter_add(envelope.value, node, amount);
    if (is_marked)
        pruning_perform(pruning_put(&envelope.pruning, &gone),
                        WALL_MS + 1000000);
    envelope_encode(bytes, &envelope, NULL, ENVELOPE_WHOLE);
    envelope_fini(&envelope);
}

static struct replicator *of(uint32_t index)
{
    return (struct replicator *)(uintptr_t)replicas[index].replicator;
}

static void give(uint32_t index, const struct node_id *node, uint64_t amount,
                 bool is_marked)
{
    struct buf bytes = { 0 };

    put_counter(node, amount, is_marked, &bytes);
    replicator_load(of(index), now, key(), buf_slice(&bytes));
    buf_fini(&bytes);
}

static void equal_replicas_pass(void **state)
{
    char text[200] = "";

    (void)state;
    assert_true(check_replica_equal(replicas, NODES, key(), text, sizeof text));
    give(0, &identities[0].node, 3, false);
    give(1, &identities[0].node, 3, false);
    assert_true(check_replica_equal(replicas, NODES, key(), text, sizeof text));
    assert_true(check_replica_clean(replicas, NODES, key(), text, sizeof text));
    check_replica_marks(verdict, &replicas[0], key());
    expect_only(NULL);
}

static void replica_convergence_replicas_that_differ_are_found(void **state)
{
    char text[200] = "";

    (void)state;
    give(0, &identities[0].node, 3, false);
    assert_false(
        check_replica_equal(replicas, NODES, key(), text, sizeof text));
    assert_non_null(strstr(text, "not there"));
    give(1, &identities[0].node, 4, false);
    assert_false(
        check_replica_equal(replicas, NODES, key(), text, sizeof text));
    assert_non_null(strstr(text, "n1"));
}

static void an_unused_replica_is_empty(void **state)
{
    struct check_replica unused[NODES] = { replicas[0], replicas[1] };
    char text[200] = "";

    (void)state;
    unused[1].replicator = NULL;
    assert_true(check_replica_equal(unused, NODES, key(), text, sizeof text));
    give(0, &identities[0].node, 3, false);
    assert_false(check_replica_equal(unused, NODES, key(), text, sizeof text));
    assert_true(check_replica_clean(unused, NODES, key(), text, sizeof text));
}

static void data_of_a_removed_member_is_found(void **state)
{
    char text[200] = "";

    (void)state;
    give(1, &gone, 3, false);
    assert_false(
        check_replica_clean(replicas, NODES, key(), text, sizeof text));
    assert_non_null(strstr(text, "gone"));
    check_replica_marks(verdict, &replicas[1], key()); /* it waits to be pruned */
    expect_only(NULL);
}

static void data_that_returns_after_its_mark_is_found(void **state)
{
    (void)state;
    give(1, &gone, 3, true);
    check_replica_marks(verdict, &replicas[1], key());
    expect_only("pruned-stays-pruned");
    assert_int_equal(verdict_find(verdict, "pruned-stays-pruned")->node, 1);
}

/* Others do not know the node, and have pruned it. */
static void a_nodes_own_data_is_not_judged(void **state)
{
    struct check_replica own = replicas[1];

    (void)state;
    own.node = gone;
    give(1, &gone, 3, true);
    check_replica_marks(verdict, &own, key());
    expect_only(NULL);
}

/* ---- disks ---- */

static void all_loaded(void)
{
    struct outbox outbox = { 0 };

    replicator_loaded(of(0), now, true, &outbox);
    outbox_fini(&outbox);
}

static void compare_with_disk(const struct node_id *node, uint64_t amount)
{
    struct buf bytes = { 0 };

    put_counter(node, amount, false, &bytes);
    check_replica_disk(verdict, &replicas[0], key(), buf_slice(&bytes));
    buf_fini(&bytes);
}

static void a_replica_that_has_what_its_disk_has_passes(void **state)
{
    (void)state;
    compare_with_disk(&identities[1].node, 3); /* it is not loaded */
    give(0, &identities[0].node, 3, false);
    all_loaded();
    compare_with_disk(&identities[0].node, 3);
    compare_with_disk(&identities[0].node, 2); /* the last write is not on the disk yet */
    expect_only(NULL);
}

static void a_value_only_on_disk_is_found(void **state)
{
    (void)state;
    give(0, &identities[0].node, 3, false);
    all_loaded();
    compare_with_disk(&identities[0].node, 4);
    expect_only("no-lost-update");
}

static void a_key_only_on_disk_is_found(void **state)
{
    (void)state;
    all_loaded();
    compare_with_disk(&identities[0].node, 1);
    expect_only("no-lost-update");
}

/* ---- laws ---- */

static struct dd_value *set_of(int64_t first, int64_t second)
{
    struct dd_value *value = dd_new(DD_GSET);
    struct dd_element element = dd_long(first);

    dd_gset_add(value, &element);
    element = dd_long(second);
    dd_gset_add(value, &element);
    return value;
}

static void good_values_keep_the_laws(void **state)
{
    struct dd_value *values[3] = { set_of(1, 2), set_of(2, 3), set_of(7, 1) };
    const struct dd_value *lent[3] = { values[0], values[1], values[2] };

    (void)state;
    check_replica_laws(verdict, 0, lent);
    lent[2] = NULL;
    check_replica_laws(verdict, 0, lent);
    expect_only(NULL);
    for (int i = 0; i < 3; i++)
        dd_free(values[i]);
}

/* Another implementation has its own order, and its bytes are kept. */
static void equal_values_with_different_bytes_are_found(void **state)
{
    struct dd_value *values[3] = { set_of(1, 2), NULL, set_of(1, 2) };
    struct buf room = { 0 };
    struct dd_other other = dd_encode(values[0], &room);
    uint8_t *bytes = mem_copy(other.bytes.data, other.bytes.size);
    uint8_t last = bytes[other.bytes.size - 1];

    (void)state;
    bytes[other.bytes.size - 1] = bytes[other.bytes.size - 2];
    bytes[other.bytes.size - 2] = last;
    other.bytes.data = bytes;
    assert_int_equal(dd_decode(other, &values[1]), DD_OK);
    assert_true(dd_equal(values[0], values[1]));
    check_replica_laws(verdict, 0, (const struct dd_value *const *)values);
    expect_only("value-integrity");
    for (int i = 0; i < 3; i++)
        dd_free(values[i]);
    mem_free(bytes);
    buf_fini(&room);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(equal_replicas_pass),
        TEST(replica_convergence_replicas_that_differ_are_found),
        TEST(an_unused_replica_is_empty),
        TEST(data_of_a_removed_member_is_found),
        TEST(data_that_returns_after_its_mark_is_found),
        TEST(a_nodes_own_data_is_not_judged),
        TEST(a_replica_that_has_what_its_disk_has_passes),
        TEST(a_value_only_on_disk_is_found),
        TEST(a_key_only_on_disk_is_found),
        TEST(good_values_keep_the_laws),
        TEST(equal_values_with_different_bytes_are_found),
    };

    return cmocka_run_group_tests_name("check_replica", tests, NULL, NULL);
}
