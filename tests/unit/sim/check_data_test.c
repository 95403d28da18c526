/* Tests check_data with allowed histories and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "judged.h"
#include "sim/check/check_data.h"
#include "sim/check/facts.h"

#define NODES 3

static struct check_data *check;
static uint32_t key;

static int begin(void **state)
{
    (void)state;
    judge();
    check = check_data_new(verdict);
    for (uint32_t i = 0; i < NODES; i++)
        check_data_node_started(check, i);
    return 0;
}

static int end(void **state)
{
    (void)state;
    check_data_free(check);
    verdict_free(verdict);
    return 0;
}

/* Clients have the numbers of their nodes. */
static uint64_t write_as(uint32_t node, enum check_data_act act,
                         int64_t element, int64_t amount, uint32_t replicas)
{
    const struct check_data_write write = { .key = key,
                                            .node = node,
                                            .client = node,
                                            .act = act,
                                            .element = element,
                                            .amount = amount,
                                            .replicas = replicas,
                                            .signature = 7 };

    return check_data_begun(check, &write);
}

static uint64_t done(uint64_t number)
{
    check_data_ended(check, number, CHECK_DATA_DONE);
    return number;
}

static int64_t add(uint32_t node, uint32_t replicas)
{
    return (int64_t)done(write_as(node, CHECK_DATA_ADD, 0, 0, replicas));
}

static void drop(uint32_t node, int64_t element)
{
    (void)done(write_as(node, CHECK_DATA_REMOVE, element, 0, 1));
}

static void count_by(uint32_t node, int64_t amount)
{
    (void)done(write_as(node, CHECK_DATA_COUNT, 0, amount, 1));
}

static struct check_data_read ask(uint32_t node, uint32_t replicas)
{
    return (struct check_data_read){ .key = key,
                                     .node = node,
                                     .client = node,
                                     .begun = check_data_time(check),
                                     .epoch = check_data_epoch(check),
                                     .replicas = replicas,
                                     .members = NODES,
                                     .signature = 7 };
}

static struct check_data_value of(const int64_t *elements, uint32_t size)
{
    return (struct check_data_value){ .size = size, .elements = elements };
}

static void see(const struct check_data_read *read, const int64_t *elements,
                uint32_t size)
{
    const struct check_data_value value = of(elements, size);

    check_data_seen(check, read, &value);
}

static void settle(const int64_t *elements, uint32_t size)
{
    const struct check_data_value value = of(elements, size);

    check_data_settled(check, key, &value);
}

static void settle_count(int64_t count)
{
    const struct check_data_value value = { .count = count };

    check_data_settled(check, key, &value);
}

/* ---- allowed histories ---- */

static void good_values_pass(void **state)
{
    int64_t elements[2];
    struct check_data_read read;

    (void)state;
    key = check_data_key(check, SHERD_OR_SET);
    elements[0] = add(0, 2);
    elements[1] = add(1, 1);
    read = ask(0, 1);
    see(&read, elements, 1); /* the other's write may be in flight */
    read = ask(2, 2);
    see(&read, elements, 2);
    drop(1, elements[0]); /* it had seen the element or not */
    settle(elements, 2);
    settle(elements + 1, 1);
    expect_only(NULL);
    assert_true(check_data_counts(check).quorums > 0);
}

static void a_write_may_be_lost_with_all_its_replicas(void **state)
{
    struct check_data_read read;

    (void)state;
    key = check_data_key(check, SHERD_G_SET);
    (void)add(0, 1);
    (void)add(1, 2);
    check_data_node_ended(check, 0);
    check_data_node_ended(check, 1);
    check_data_node_started(check, 0);
    read = ask(2, 3);
    check_data_seen(check, &read, NULL);
    check_data_settled(check, key, NULL);
    expect_only(NULL);
}

static void a_write_without_an_answer_need_not_be_seen(void **state)
{
    struct check_data_read read;

    (void)state;
    key = check_data_key(check, SHERD_G_SET);
    (void)write_as(0, CHECK_DATA_ADD, 0, 0, 3);
    check_data_ended(check, write_as(0, CHECK_DATA_ADD, 0, 0, 3),
                     CHECK_DATA_REFUSED);
    read = ask(1, 3);
    check_data_seen(check, &read, NULL);
    expect_only(NULL);
}

static void a_change_of_members_excuses_a_quorum(void **state)
{
    struct check_data_read read;

    (void)state;
    key = check_data_key(check, SHERD_G_SET);
    (void)add(0, 2);
    read = ask(1, 2);
    check_data_members_changed(check);
    check_data_seen(check, &read, NULL);
    read = ask(1, 2);
    check_data_seen(check, &read, NULL);
    expect_only(NULL);
}

/* ---- no-lost-update ---- */

static void a_quorum_that_misses_is_found(void **state)
{
    struct check_data_read read;

    (void)state;
    key = check_data_key(check, SHERD_G_SET);
    (void)add(0, 2);
    read = ask(1, 2);
    see(&read, NULL, 0);
    expect_only("no-lost-update");
    assert_int_equal(verdict_find(verdict, "no-lost-update")->node, 1);
}

static void a_quorum_that_finds_no_key_is_found(void **state)
{
    struct check_data_read read;

    (void)state;
    key = check_data_key(check, SHERD_PN_COUNTER);
    (void)done(write_as(0, CHECK_DATA_COUNT, 0, 5, 3));
    read = ask(1, 1);
    check_data_seen(check, &read, NULL);
    expect_only("no-lost-update");
}

static void a_client_that_misses_its_own_write_is_found(void **state)
{
    struct check_data_read read;

    (void)state;
    key = check_data_key(check, SHERD_OR_SET);
    check_data_ended(check, write_as(0, CHECK_DATA_ADD, 0, 0, 3),
                     CHECK_DATA_DOUBTFUL);
    read = ask(0, 1);
    see(&read, NULL, 0);
    expect_only("no-lost-update");
}

static void a_client_that_goes_back_is_found(void **state)
{
    struct check_data_read read;
    const struct check_data_value more = { .count = 5 }, less = { .count = 4 };

    (void)state;
    key = check_data_key(check, SHERD_G_COUNTER);
    count_by(0, 4);
    count_by(0, 1);
    read = ask(1, 1);
    check_data_seen(check, &read, &more);
    read.replicas = 0; /* a notice */
    check_data_seen(check, &read, &less);
    expect_only("no-lost-update");
}

static void a_write_that_is_lost_in_the_quiet_is_found(void **state)
{
    (void)state;
    key = check_data_key(check, SHERD_G_SET);
    (void)add(0, 2);
    check_data_node_ended(check, 0); /* one more node has it */
    settle(NULL, 0);
    expect_only("no-lost-update");
}

static void a_removal_that_is_undone_is_found(void **state)
{
    int64_t element;

    (void)state;
    key = check_data_key(check, SHERD_OR_SET);
    element = add(0, 1);
    drop(0, element);
    settle(&element, 1);
    expect_only("no-lost-update");
}

static void a_clear_that_is_undone_is_found(void **state)
{
    int64_t element;

    (void)state;
    key = check_data_key(check, SHERD_OR_SET);
    element = add(0, 1);
    drop(0, CHECK_DATA_ALL);
    settle(&element, 1);
    expect_only("no-lost-update");
}

static void an_element_that_is_added_again_is_present(void **state)
{
    int64_t element;

    (void)state;
    key = check_data_key(check, SHERD_OR_SET);
    element = add(0, 1);
    drop(0, element);
    (void)done(write_as(0, CHECK_DATA_ADD, element, 0, 1));
    settle(&element, 1);
    expect_only(NULL);
    settle(NULL, 0);
    expect_only("no-lost-update");
}

/* It may bring back what a removed key had, and must keep later additions. */
static void maps_are_judged_by_their_guarantees(void **state)
{
    int64_t element, other;

    (void)state;
    key = check_data_key(check, SHERD_OR_MULTIMAP);
    element = add(0, 1);
    drop(0, CHECK_DATA_GROUP(element % CHECK_DATA_GROUPS));
    settle(&element, 1);
    settle(NULL, 0);
    expect_only(NULL);
    other = add(0, 1);
    drop(1, CHECK_DATA_GROUP((other + 1) % CHECK_DATA_GROUPS));
    settle(NULL, 0);
    expect_only("no-lost-update");
}

static void a_count_that_lost_something_is_found(void **state)
{
    (void)state;
    key = check_data_key(check, SHERD_PN_COUNTER);
    count_by(0, 5);
    count_by(1, -2);
    settle_count(3);
    expect_only(NULL);
    settle_count(2);
    expect_only("no-lost-update");
}

static void a_deletion_that_is_undone_is_found(void **state)
{
    (void)state;
    key = check_data_key(check, SHERD_G_SET);
    (void)add(0, 1);
    (void)done(write_as(0, CHECK_DATA_DELETE, 0, 0, 1));
    settle(NULL, 0);
    expect_only("no-lost-update");
}

static void a_flag_that_is_off_again_is_found(void **state)
{
    const struct check_data_value off = { .is_on = false };

    (void)state;
    key = check_data_key(check, SHERD_FLAG);
    (void)done(write_as(0, CHECK_DATA_ON, 0, 0, 1));
    check_data_settled(check, key, &off);
    expect_only("no-lost-update");
}

/* ---- value-integrity ---- */

static void an_element_that_was_never_written_is_found(void **state)
{
    int64_t element;

    (void)state;
    key = check_data_key(check, SHERD_G_SET);
    element = add(0, 1);
    key = check_data_key(check, SHERD_G_SET); /* of another key */
    settle(&element, 1);
    expect_only("value-integrity");
}

static void a_count_that_was_never_written_is_found(void **state)
{
    (void)state;
    key = check_data_key(check, SHERD_G_COUNTER);
    count_by(0, 5);
    check_data_node_ended(check, 0);
    settle_count(0);
    settle_count(5);
    expect_only(NULL);
    settle_count(10); /* as if it were pruned twice */
    expect_only("value-integrity");
}

static void a_flag_and_a_deletion_never_written_are_found(void **state)
{
    const struct check_data_value on = { .is_on = true };
    const struct check_data_value gone = { .is_deleted = true };

    (void)state;
    key = check_data_key(check, SHERD_FLAG);
    check_data_settled(check, key, &on);
    expect_only("value-integrity");
    check_data_settled(check, key, &gone);
    assert_int_equal(verdict_find(verdict, "value-integrity")->count, 2);
}

static void a_write_outside_does_not_bind_nodes_inside(void **state)
{
    static struct check_safety safety;
    const struct check_data_value more = { .count = 5 }, less = { .count = 4 };
    struct check_data_read read;

    (void)state;
    check_data_safety(check, &safety);
    key = check_data_key(check, SHERD_G_COUNTER);
    safety.outside[0] = true;
    count_by(0, 5);
    read = ask(0, 1);
    check_data_seen(check, &read, NULL);
    read = ask(1, 1);
    check_data_seen(check, &read, &more);
    check_data_seen(check, &read, &less);
    settle_count(0);
    safety.outside[0] = false;
    expect_only(NULL);
    settle_count(6);
    expect_only("value-integrity");
}

/* ---- nodes outside, and keys of maps ---- */

static struct check_safety safety;

static void judge_with_strays(enum sherd_data_type type)
{
    safety = (struct check_safety){ 0 };
    check_data_safety(check, &safety);
    key = check_data_key(check, type);
}

/* Elements with other numbers are refused. */
static int64_t add_under(uint32_t node, int64_t group)
{
    int64_t number;

    do {
        number = (int64_t)write_as(node, CHECK_DATA_ADD, 0, 0, 1);
        check_data_ended(check, (uint64_t)number,
                         number % CHECK_DATA_GROUPS == group
                             ? CHECK_DATA_DONE
                             : CHECK_DATA_REFUSED);
    } while (number % CHECK_DATA_GROUPS != group);
    return number;
}

static void a_map_key_of_an_outside_node_may_replace_earlier_entries(void **state)
{
    struct check_data_read read;

    (void)state;
    judge_with_strays(SHERD_OR_MULTIMAP);
    (void)add_under(1, 2);
    safety.outside[0] = true;
    (void)add_under(0, 2);
    read = ask(1, 1);
    see(&read, NULL, 0);
    settle(NULL, 0);
    expect_only(NULL);
}

static void a_map_key_may_be_lost_after_a_removal_by_an_outside_node(void **state)
{
    int64_t taken;

    (void)state;
    judge_with_strays(SHERD_OR_MULTIMAP);
    (void)add_under(1, 2);
    taken = add_under(1, 2);
    safety.outside[0] = true;
    drop(0, taken);
    settle(NULL, 0);
    expect_only(NULL);
    (void)add_under(1, 2);
    settle(NULL, 0);
    expect_only("no-lost-update");
}

static void an_entry_put_after_that_of_an_outside_node_must_stay(void **state)
{
    (void)state;
    judge_with_strays(SHERD_OR_MULTIMAP);
    safety.outside[0] = true;
    (void)add_under(0, 2);
    (void)add_under(1, 2);
    settle(NULL, 0);
    expect_only("no-lost-update");
}

static void an_entry_under_another_map_key_must_stay(void **state)
{
    struct check_data_read read;

    (void)state;
    judge_with_strays(SHERD_OR_MULTIMAP);
    (void)add_under(1, 1);
    safety.outside[0] = true;
    (void)add_under(0, 2);
    read = ask(1, 1);
    see(&read, NULL, 0);
    expect_only("no-lost-update");
}

static void a_map_lost_with_the_key_of_an_outside_node_is_found(void **state)
{
    (void)state;
    judge_with_strays(SHERD_OR_MULTIMAP);
    (void)add_under(1, 2);
    safety.outside[0] = true;
    (void)add_under(0, 2);
    check_data_settled(check, key, NULL);
    expect_only("no-lost-update");
}

static void a_set_keeps_elements_added_beside_an_outside_node(void **state)
{
    (void)state;
    judge_with_strays(SHERD_OR_SET);
    (void)add_under(1, 2);
    safety.outside[0] = true;
    (void)add_under(0, 2);
    settle(NULL, 0);
    expect_only("no-lost-update");
}

/* Even an entry from before the separation. */
static void an_entry_known_only_outside_counts_as_outside(void **state)
{
    (void)state;
    judge_with_strays(SHERD_OR_MULTIMAP);
    (void)add_under(1, 2);
    (void)add_under(0, 2);
    safety.outside[0] = true;
    settle(NULL, 0);
    expect_only(NULL);
}

static void a_known_entry_of_a_later_outside_node_excuses_no_loss(void **state)
{
    uint64_t number;

    (void)state;
    judge_with_strays(SHERD_OR_MULTIMAP);
    (void)add_under(1, 2);
    number = write_as(0, CHECK_DATA_ADD, 2, 0, 2);
    (void)done(number);
    safety.outside[0] = true;
    settle(NULL, 0);
    expect_only("no-lost-update");
}

static void add_and_miss(void)
{
    struct check_data_read read;

    (void)add_under(0, 2);
    read = ask(0, 1);
    see(&read, NULL, 0);
}

/* Neither of two clusters that do not know each other is outside. */
static void a_write_pruned_while_its_writer_lives_need_not_stay(void **state)
{
    (void)state;
    judge_with_strays(SHERD_OR_MULTIMAP);
    (void)add_under(1, 2);
    check_data_node_pruned(check, 0, true);
    add_and_miss();
    settle(NULL, 0);
    expect_only(NULL);
    check_data_node_pruned(check, 0, false);
    add_and_miss();
    expect_only("no-lost-update");
}

/* In a map of counters the outsider counts 5 under one key, the other node 20. */
static void stray_and_member_count(int64_t stray_key, int64_t member_key)
{
    judge_with_strays(SHERD_PN_COUNTER_MAP);
    safety.outside[0] = true;
    (void)done(write_as(0, CHECK_DATA_COUNT, stray_key, 5, 1));
    (void)done(write_as(1, CHECK_DATA_COUNT, member_key, 20, 1));
}

/* The counter begins anew, and its old count hides the next ones. */
static void a_count_under_the_key_of_an_outside_node_may_lack_anything(void **state)
{
    (void)state;
    stray_and_member_count(1, 1);
    settle_count(0);
    settle_count(25);
    expect_only(NULL);
    settle_count(26);
    expect_only("value-integrity");
}

static void a_count_under_a_key_without_outside_nodes_is_whole(void **state)
{
    (void)state;
    stray_and_member_count(1, 2);
    settle_count(20);
    expect_only(NULL);
    settle_count(19);
    expect_only("no-lost-update");
}

static void a_write_acknowledged_by_members_that_stay_is_firm(void **state)
{
    uint64_t number;

    (void)state;
    key = check_data_key(check, SHERD_OR_SET);
    number = (uint64_t)add(0, 2);
    assert_true(check_data_is_firm(check, number));
    check_data_node_ended(check, 1);
    assert_int_equal(check_data_ends_since(check, number), 1);
    drop(2, (int64_t)number);
    assert_false(check_data_is_firm(check, number));
    number = write_as(0, CHECK_DATA_ADD, 0, 0, 2);
    assert_false(check_data_is_firm(check, number));
    check_data_members_changed(check);
    (void)done(number);
    assert_false(check_data_is_firm(check, number));
}

/* ---- keys that expire ---- */

/* A read that misses a write of W replicas, after one of them forgot the key. */
static void miss_with(uint32_t replicas)
{
    struct check_data_read read;

    key = check_data_key(check, SHERD_G_SET);
    check_data_expires(check, key);
    (void)add(0, 3);
    check_data_forgotten(check, 0, key);
    read = ask(0, 1);
    see(&read, NULL, 0); /* not even its own */
    read = ask(1, replicas);
    check_data_seen(check, &read, NULL);
}

static void a_replica_that_forgot_a_key_need_not_show_it(void **state)
{
    (void)state;
    miss_with(1);
    assert_int_equal(verdict_count(verdict), 0);
}

static void a_replica_that_did_not_forget_a_key_must_show_it(void **state)
{
    (void)state;
    miss_with(2);
    expect_only("no-lost-update");
}

static void a_write_after_its_key_was_forgotten_must_stay(void **state)
{
    struct check_data_read read;

    (void)state;
    key = check_data_key(check, SHERD_G_COUNTER);
    check_data_expires(check, key);
    (void)done(write_as(0, CHECK_DATA_COUNT, 0, 5, 3));
    check_data_forgotten(check, 0, key);
    (void)done(write_as(0, CHECK_DATA_COUNT, 0, 1, 3));
    read = ask(1, 2);
    check_data_seen(check, &read,
                    &(struct check_data_value){ .count = 6 });
    assert_int_equal(verdict_count(verdict), 0);
    check_data_seen(check, &read,
                    &(struct check_data_value){ .count = 5 });
    expect_only("no-lost-update");
}

/* 5 were counted; 10 are there after a node read its disk. */
static void count_twice(bool is_stored, bool is_forgotten)
{
    key = check_data_key(check, SHERD_G_COUNTER);
    check_data_expires(check, key);
    if (is_stored)
        check_data_stored(check, key);
    (void)done(write_as(0, CHECK_DATA_COUNT, 0, 5, 1));
    if (is_forgotten)
        check_data_forgotten(check, 0, key);
    check_data_node_ended(check, 0);
    check_data_node_started(check, 0);
    if (!is_forgotten)
        check_data_forgotten(check, 1, key); /* after that node read its disk */
    check_data_seen(check, &(struct check_data_read){ .key = key, .node = 1 },
                    &(struct check_data_value){ .count = 10 });
}

static void a_disk_may_restore_a_pruned_count(void **state)
{
    (void)state;
    count_twice(true, true);
    expect_only(NULL);
}

static void a_count_on_no_disk_counts_once(void **state)
{
    (void)state;
    count_twice(false, true);
    expect_only("value-integrity");
}

static void a_count_that_was_never_forgotten_counts_once(void **state)
{
    (void)state;
    count_twice(true, false);
    expect_only("value-integrity");
}

static void an_unused_expiring_key_is_absent_in_the_quiet(void **state)
{
    int64_t element;

    (void)state;
    key = check_data_key(check, SHERD_OR_SET);
    check_data_expires(check, key);
    element = add(0, 3);
    check_data_settled(check, key, NULL);
    assert_int_equal(verdict_count(verdict), 0);
    settle(&element, 1);
    expect_only("no-lost-update");
}

static void a_key_that_does_not_expire_is_not_forgotten(void **state)
{
    (void)state;
    key = check_data_key(check, SHERD_OR_SET);
    check_data_forgotten(check, 1, key);
    expect_only("no-lost-update");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(good_values_pass),
        TEST(a_write_may_be_lost_with_all_its_replicas),
        TEST(a_write_without_an_answer_need_not_be_seen),
        TEST(a_change_of_members_excuses_a_quorum),
        TEST(a_quorum_that_misses_is_found),
        TEST(a_quorum_that_finds_no_key_is_found),
        TEST(a_client_that_misses_its_own_write_is_found),
        TEST(a_client_that_goes_back_is_found),
        TEST(a_write_that_is_lost_in_the_quiet_is_found),
        TEST(a_removal_that_is_undone_is_found),
        TEST(a_clear_that_is_undone_is_found),
        TEST(an_element_that_is_added_again_is_present),
        TEST(maps_are_judged_by_their_guarantees),
        TEST(a_count_that_lost_something_is_found),
        TEST(a_deletion_that_is_undone_is_found),
        TEST(a_flag_that_is_off_again_is_found),
        TEST(an_element_that_was_never_written_is_found),
        TEST(a_count_that_was_never_written_is_found),
        TEST(a_flag_and_a_deletion_never_written_are_found),
        TEST(a_write_outside_does_not_bind_nodes_inside),
        TEST(a_map_key_of_an_outside_node_may_replace_earlier_entries),
        TEST(a_map_key_may_be_lost_after_a_removal_by_an_outside_node),
        TEST(an_entry_put_after_that_of_an_outside_node_must_stay),
        TEST(an_entry_under_another_map_key_must_stay),
        TEST(a_map_lost_with_the_key_of_an_outside_node_is_found),
        TEST(a_set_keeps_elements_added_beside_an_outside_node),
        TEST(an_entry_known_only_outside_counts_as_outside),
        TEST(a_known_entry_of_a_later_outside_node_excuses_no_loss),
        TEST(a_write_pruned_while_its_writer_lives_need_not_stay),
        TEST(a_count_under_the_key_of_an_outside_node_may_lack_anything),
        TEST(a_count_under_a_key_without_outside_nodes_is_whole),
        TEST(a_write_acknowledged_by_members_that_stay_is_firm),
        TEST(a_replica_that_forgot_a_key_need_not_show_it),
        TEST(a_replica_that_did_not_forget_a_key_must_show_it),
        TEST(a_write_after_its_key_was_forgotten_must_stay),
        TEST(a_disk_may_restore_a_pruned_count),
        TEST(a_count_on_no_disk_counts_once),
        TEST(a_count_that_was_never_forgotten_counts_once),
        TEST(an_unused_expiring_key_is_absent_in_the_quiet),
        TEST(a_key_that_does_not_expire_is_not_forgotten),
    };

    return cmocka_run_group_tests_name("check_data", tests, NULL, NULL);
}
