/* Checks pruning markers, merges of envelopes with markers, and the members that a replicator
 * sees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/rng.h"
#include "base/timers.h"
#include "ddata/envelope.h"
#include "ddata/replicas.h"

static struct node_id node_of(uint32_t n)
{
    struct node_id node = { .uid = 100 + n };

    assert_true(address_set(&node.address, "n", 1, 2550 + n));
    return node;
}

static struct pruning initialized(uint32_t owner, uint32_t seen_by)
{
    struct node_id removed = node_of(0);
    struct node_id seen = node_of(seen_by);
    struct pruning pruning = { 0 };
    struct pruning_mark *mark = pruning_put(&pruning, &removed);

    mark->owner = node_of(owner);
    pruning_see(mark, &seen.address);
    return pruning;
}

static struct pruning performed(int64_t obsolete_at)
{
    struct pruning pruning = initialized(1, 2);

    pruning_perform(&pruning.marks.items[0], obsolete_at);
    return pruning;
}

/* Merges both ways, with the same result. */
static struct pruning merged(struct pruning left, struct pruning right)
{
    struct pruning one = { 0 };
    struct pruning other = { 0 };

    pruning_copy(&one, &left);
    pruning_copy(&other, &right);
    pruning_merge(&one, &right, 0);
    pruning_merge(&other, &left, 0);
    assert_true(pruning_equal(&one, &other));
    pruning_merge(&one, &other, 0);
    assert_true(pruning_equal(&one, &other));
    pruning_fini(&left);
    pruning_fini(&right);
    pruning_fini(&other);
    return one;
}

static void a_performed_marker_wins_DD131(void **state)
{
    struct pruning pruning = merged(initialized(1, 2), performed(1000));
    (void)state;

    assert_true(pruning.marks.items[0].is_performed);
    assert_int_equal(pruning.marks.items[0].obsolete_at, 1000);
    pruning_fini(&pruning);
    pruning = merged(performed(2000), performed(1000));
    assert_int_equal(pruning.marks.items[0].obsolete_at, 2000);
    pruning_fini(&pruning);
}

static void addresses_that_saw_a_marker_are_merged_DD133(void **state)
{
    struct pruning pruning = merged(initialized(1, 2), initialized(1, 3));
    struct node_id two = node_of(2);
    struct node_id three = node_of(3);
    (void)state;

    assert_int_equal(pruning.marks.items[0].seen.count, 2);
    assert_true(pruning_is_seen(&pruning.marks.items[0], &two.address));
    assert_true(pruning_is_seen(&pruning.marks.items[0], &three.address));
    assert_false(pruning_see_all(&pruning, &two.address));
    pruning_fini(&pruning);
}

static void the_lower_of_two_owners_stays(void **state)
{
    struct pruning pruning = merged(initialized(2, 3), initialized(1, 4));
    struct node_id one = node_of(1);
    struct node_id four = node_of(4);
    (void)state;

    assert_true(node_equal(&pruning.marks.items[0].owner, &one));
    assert_int_equal(pruning.marks.items[0].seen.count, 1);
    assert_true(pruning_is_seen(&pruning.marks.items[0], &four.address));
    /* The owner does not add itself. */
    assert_false(pruning_see_all(&pruning, &one.address));
    pruning_fini(&pruning);
}

static void obsolete_markers_are_dropped(void **state)
{
    struct pruning pruning = performed(1000);
    struct pruning none = { 0 };
    (void)state;

    pruning_merge(&pruning, &none, 999);
    assert_int_equal(pruning.marks.count, 1);
    pruning_merge(&pruning, &none, 1000);
    assert_int_equal(pruning.marks.count, 0);
    pruning_fini(&pruning);
}

static void an_envelope_is_pruned_DD001(void **state)
{
    struct dd_writer owner = { node_of(2), 0 };
    struct node_id n1 = node_of(1);
    struct node_id n3 = node_of(3);
    struct node_id n4 = node_of(4);
    struct envelope envelope = { .value = dd_new(DD_GCOUNTER) };
    struct envelope late = { .value = dd_new(DD_GCOUNTER) };
    struct dd_nodes nodes = { 0 };
    (void)state;

    dd_gcounter_add(envelope.value, &n1, 7);
    dd_gcounter_add(late.value, &n1, 9);
    assert_true(dd_needs_pruning(envelope.value, &n1));
    assert_false(dd_needs_pruning(envelope.value, &n4));
    versions_set(&envelope.versions, &n1, 5);
    envelope_prune_begin(&envelope, &n1, &owner.node);
    assert_int_equal(versions_get(&envelope.versions, &n1), 0);
    assert_true(pruning_see_all(&envelope.pruning, &n3.address));
    envelope_prune(&envelope, &n1, &owner, 1000);
    dd_add_modified_by(envelope.value, &nodes);
    assert_int_equal(nodes.items.count, 1);
    assert_true(node_equal(&nodes.items.items[0], &owner.node));
    assert_int_equal(dd_gcounter_get(envelope.value).low, 7);
    /* Later contributions of the removed node are deleted. */
    assert_int_equal(envelope_merge(&envelope, &late, 500), ENVELOPE_SAME);
    assert_int_equal(dd_gcounter_get(envelope.value).low, 7);
    vec_fini(&nodes.items);
    envelope_fini(&envelope);
    envelope_fini(&late);
}

/* When only the other side knows that pruning was performed. */
static void both_values_are_cleaned(void **state)
{
    struct dd_writer owner = { node_of(2), 0 };
    struct node_id n1 = node_of(1);
    struct envelope envelope = { .value = dd_new(DD_GCOUNTER) };
    struct envelope other = { 0 };
    (void)state;

    dd_gcounter_add(envelope.value, &n1, 7);
    envelope_copy(&other, &envelope);
    envelope_prune_begin(&other, &n1, &owner.node);
    envelope_prune(&other, &n1, &owner, 1000);
    assert_int_equal(envelope_merge(&envelope, &other, 500), ENVELOPE_CHANGED);
    assert_int_equal(dd_gcounter_get(envelope.value).low, 7);
    assert_false(dd_needs_pruning(envelope.value, &n1));
    envelope_fini(&envelope);
    envelope_fini(&other);
}

/* A clear contains what its writer had seen. */
static void a_delta_brings_back_no_pruned_element(void **state)
{
    struct node_id removed = node_of(0), writer_node = node_of(2);
    struct dd_writer gone = { removed, 0 }, writer = { writer_node, 0 };
    struct dd_element element = dd_long(1);
    struct envelope envelope = { .value = dd_new(DD_ORSET),
                                 .pruning = performed(10) };
    struct envelope other = { 0 };
    struct dd_value *set = dd_new(DD_ORSET);

    (void)state;
    dd_orset_add(set, &gone, &element);
    dd_reset_delta(set);
    dd_orset_clear(set);
    other.value = dd_take_delta(set);
    dd_orset_add(envelope.value, &writer, &element);
    (void)envelope_merge(&envelope, &other, 0);
    assert_false(dd_needs_pruning(envelope.value, &removed));
    assert_int_equal(dd_set_count(envelope.value), 1);
    dd_free(set);
    envelope_fini(&envelope);
    envelope_fini(&other);
}

/* As in Akka. The key that it put has what others put there, and shows that it has seen theirs;
 * without its own dot the key is removed. It has not seen later additions. */
static void a_living_pruned_member_removes_its_keys(void **state)
{
    struct dd_writer gone = { node_of(0), 0 }, writer = { node_of(2), 0 };
    struct dd_element first = dd_long(1), second = dd_long(2), own = dd_long(3);
    struct envelope inside = { .value = dd_multimap_new(false) };
    struct envelope outside = { 0 };

    (void)state;
    dd_multimap_add(inside.value, &writer, &first, &first);
    dd_multimap_add(inside.value, &writer, &second, &second);
    envelope_copy(&outside, &inside);
    inside.pruning = performed(1000);
    dd_multimap_add(outside.value, &gone, &first, &own);
    dd_multimap_add(outside.value, &gone, &second, &own);
    dd_multimap_add(inside.value, &writer, &second, &first);
    assert_int_equal(envelope_merge(&outside, &inside, 0), ENVELOPE_CHANGED);
    assert_int_equal(envelope_merge(&inside, &outside, 0), ENVELOPE_CHANGED);
    assert_null(dd_map_get(inside.value, &first));
    assert_non_null(dd_map_get(inside.value, &second));
    assert_true(dd_set_has(dd_map_get(inside.value, &second), &second));
    envelope_fini(&inside);
    envelope_fini(&outside);
}

static void another_type_changes_nothing(void **state)
{
    struct dd_writer owner = { node_of(2), 0 };
    struct node_id n1 = node_of(1);
    struct envelope envelope = { .value = dd_new(DD_GCOUNTER) };
    struct envelope other = { .value = dd_new(DD_PNCOUNTER) };
    (void)state;

    dd_gcounter_add(envelope.value, &n1, 7);
    dd_pncounter_add(other.value, &n1, 3);
    envelope_prune_begin(&other, &n1, &owner.node);
    envelope_prune(&other, &n1, &owner, 1000);
    assert_int_equal(envelope_merge(&envelope, &other, 0), ENVELOPE_REFUSED);
    assert_true(dd_needs_pruning(envelope.value, &n1));
    assert_int_equal(envelope.pruning.marks.count, 0);
    envelope_fini(&envelope);
    envelope_fini(&other);
}

static void tell(struct replicas *replicas, uint32_t n, enum member_status status,
                 bool is_reachable)
{
    replicas_put(replicas,
                 &(struct member_info){
                     .node = node_of(n),
                     .up_number = status == MEMBER_JOINING ||
                                          status == MEMBER_WEAKLY_UP
                                      ? INT32_MAX
                                      : (int32_t)n + 1,
                     .status = status,
                     .reachable = is_reachable,
                     .has_role = true,
                 });
}

static void members_are_grouped(void **state)
{
    struct node_id self = node_of(5);
    struct node_id one = node_of(1);
    struct replicas replicas;
    (void)state;

    replicas_init(&replicas, &self, 0);
    tell(&replicas, 5, MEMBER_UP, true);
    assert_true(replicas_leads(&replicas));
    tell(&replicas, 1, MEMBER_JOINING, true);
    assert_true(replicas_know(&replicas, &one));
    assert_int_equal(replicas.up_count, 0);
    assert_int_equal(replicas_gossiped_count(&replicas), 0);
    assert_true(replicas_leads(&replicas));
    tell(&replicas, 1, MEMBER_WEAKLY_UP, true);
    assert_int_equal(replicas_gossiped_count(&replicas), 1);
    assert_int_equal(replicas.up_count, 0);
    tell(&replicas, 1, MEMBER_UP, false);
    assert_int_equal(replicas.up_count, 1);
    assert_int_equal(replicas.unreachable_count, 1);
    assert_false(replicas_leads(&replicas));
    tell(&replicas, 1, MEMBER_EXITING, true);
    assert_int_equal(replicas.up_count, 1);
    assert_int_equal(replicas.unreachable_count, 0);
    assert_true(replicas_leads(&replicas)); /* exiting members come last */
    assert_true(replicas_remove(&replicas, &one));
    assert_true(replicas_is_removed(&replicas, &one));
    assert_false(replicas_know(&replicas, &one));
    assert_int_equal(replicas.up_count, 0);
    replicas_fini(&replicas);
}

static void the_clock_stops_while_a_member_is_unreachable(void **state)
{
    struct node_id self = node_of(5);
    struct replicas replicas;
    (void)state;

    replicas_init(&replicas, &self, 0);
    tell(&replicas, 1, MEMBER_UP, true);
    replicas_tick(&replicas, 2 * SECOND);
    assert_int_equal(replicas.clock, 2 * SECOND);
    tell(&replicas, 1, MEMBER_UP, false);
    replicas_tick(&replicas, 4 * SECOND);
    assert_int_equal(replicas.clock, 2 * SECOND);
    tell(&replicas, 1, MEMBER_UP, true);
    replicas_tick(&replicas, 6 * SECOND);
    assert_int_equal(replicas.clock, 4 * SECOND);
    replicas_fini(&replicas);
}

static void members_have_a_limit(void **state)
{
    struct node_id self = node_of(0);
    struct replicas replicas;
    (void)state;

    replicas_init(&replicas, &self, 0);
    for (uint32_t n = 1; n <= REPLICATOR_MEMBERS_MAX; n++)
        tell(&replicas, n, MEMBER_UP, true);
    assert_int_equal(replicas.up_count, REPLICATOR_MEMBERS_MAX);
    assert_int_equal(replicas.refused, 0);
    tell(&replicas, REPLICATOR_MEMBERS_MAX + 1, MEMBER_UP, true);
    assert_int_equal(replicas.up_count, REPLICATOR_MEMBERS_MAX);
    assert_int_equal(replicas.refused, 1);
    for (uint32_t n = 1; n <= REPLICATOR_REMOVED_MAX + 1; n++) {
        struct node_id node = node_of(n);

        assert_true(replicas_remove(&replicas, &node));
    }
    assert_int_equal(replicas.removed.count, REPLICATOR_REMOVED_MAX);
    assert_int_equal(replicas.forgotten, 1);
    self = node_of(1);
    assert_false(replicas_is_removed(&replicas, &self));
    self = node_of(2);
    assert_true(replicas_is_removed(&replicas, &self));
    replicas_fini(&replicas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_performed_marker_wins_DD131),
        cmocka_unit_test(addresses_that_saw_a_marker_are_merged_DD133),
        cmocka_unit_test(the_lower_of_two_owners_stays),
        cmocka_unit_test(obsolete_markers_are_dropped),
        cmocka_unit_test(an_envelope_is_pruned_DD001),
        cmocka_unit_test(both_values_are_cleaned),
        cmocka_unit_test(a_delta_brings_back_no_pruned_element),
        cmocka_unit_test(a_living_pruned_member_removes_its_keys),
        cmocka_unit_test(another_type_changes_nothing),
        cmocka_unit_test(members_are_grouped),
        cmocka_unit_test(the_clock_stops_while_a_member_is_unreachable),
        cmocka_unit_test(members_have_a_limit),
    };

    return cmocka_run_group_tests_name("ddata_pruning", tests, NULL, NULL);
}
