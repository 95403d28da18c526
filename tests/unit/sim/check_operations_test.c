/* Tests check_operations with allowed histories and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/timers.h"
#include "judged.h"
#include "sim/check/check_operations.h"

#define UID 77

static struct check_operations *check;

static void begin(uint64_t number, enum sherd_operation_kind kind)
{
    const struct check_operations_begin begun = {
        .number = number, .node = 4, .kind = kind, .now = now, .within = 5 * SECOND,
        .uid = UID, .place = 2, .type = 1, .shard = 17,
    };

    check_operations_begun(check, &begun);
}

static void begin_first(enum sherd_operation_kind kind)
{
    judge();
    check = check_operations_new(verdict);
    begin(1, kind);
}

static void ends(uint64_t number, enum sherd_operation_state state)
{
    check_operations_ended(check, &(struct check_operations_end){
                                      .number = number, .node = 4, .now = now, .state = state });
}

static void home(uint32_t place, uint64_t takers)
{
    const struct probe probe = { .kind = PROBE_HOME_SET, .type = 1, .shard = 17, .first = takers,
                                 .second = PROBE_HOME_ALLOCATED, .node = { .uid = UID } };

    check_operations_probe(check, now, 0, place, &probe);
}

static void end(const char *rule)
{
    expect_only(rule);
    check_operations_free(check);
    verdict_free(verdict);
}

static void a_move_to_its_target_is_allowed(void **state)
{
    (void)state;
    begin_first(SHERD_MOVE_SHARD);
    home(2, 3);
    ends(1, SHERD_OPERATION_DONE);
    begin(2, SHERD_MOVE_SHARD);
    ends(2, SHERD_OPERATION_DONE); /* it was there already */
    assert_int_equal(check_operations_counts(check).done, 2);
    end(NULL);
}

static void a_done_move_whose_target_was_no_home_breaks_the_rule(void **state)
{
    (void)state;
    begin_first(SHERD_MOVE_SHARD);
    home(3, 3);
    ends(1, SHERD_OPERATION_DONE);
    end("operation-ends");
}

static void a_second_end_breaks_the_rule(void **state)
{
    (void)state;
    begin_first(SHERD_MOVE_SHARD);
    ends(1, SHERD_OPERATION_FAILED);
    ends(1, SHERD_OPERATION_FAILED);
    end("operation-ends");
}

static void an_end_in_an_open_state_breaks_the_rule(void **state)
{
    (void)state;
    begin_first(SHERD_MOVE_SHARD);
    ends(1, SHERD_OPERATION_STOPPING);
    end("operation-ends");
}

static void a_late_end_breaks_the_rule(void **state)
{
    (void)state;
    begin_first(SHERD_MOVE_SHARD);
    check_operations_at(check, 8 * SECOND, 4, 0);
    expect_only(NULL);
    check_operations_at(check, 9 * SECOND, 4, 0);
    end("operation-ends");
}

static void a_harmed_node_has_its_time_again(void **state)
{
    (void)state;
    begin_first(SHERD_MOVE_SHARD);
    check_operations_at(check, 9 * SECOND, 4, 1);
    check_operations_at(check, 16 * SECOND, 4, 1);
    check_operations_node_ended(check, 4);
    assert_int_equal(check_operations_open(check), 0);
    assert_int_equal(check_operations_counts(check).lost, 1);
    end(NULL);
}

static void confirm_cordon(void)
{
    begin_first(SHERD_CORDON);
    ends(1, SHERD_OPERATION_DONE);
    now += CHECK_OPERATIONS_CORDON_NS;
}

static void a_shard_for_a_cordoned_node_breaks_the_rule(void **state)
{
    (void)state;
    confirm_cordon();
    home(2, 2);
    end("cordon-honoured");
}

static void a_cordoned_node_may_get_shards_as_a_last_resort(void **state)
{
    (void)state;
    confirm_cordon();
    home(2, 0);
    end(NULL);
}

static void an_uncordoned_node_may_get_shards(void **state)
{
    (void)state;
    confirm_cordon();
    begin(2, SHERD_UNCORDON);
    home(2, 2);
    end(NULL);
}

static void a_cordon_that_an_uncordon_crosses_is_not_judged(void **state)
{
    (void)state;
    begin_first(SHERD_CORDON);
    begin(2, SHERD_UNCORDON);
    ends(2, SHERD_OPERATION_DONE);
    ends(1, SHERD_OPERATION_DONE);
    now += CHECK_OPERATIONS_CORDON_NS;
    home(2, 2);
    end(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_move_to_its_target_is_allowed),
        cmocka_unit_test(a_done_move_whose_target_was_no_home_breaks_the_rule),
        cmocka_unit_test(a_second_end_breaks_the_rule),
        cmocka_unit_test(an_end_in_an_open_state_breaks_the_rule),
        cmocka_unit_test(a_late_end_breaks_the_rule),
        cmocka_unit_test(a_harmed_node_has_its_time_again),
        cmocka_unit_test(a_shard_for_a_cordoned_node_breaks_the_rule),
        cmocka_unit_test(a_cordoned_node_may_get_shards_as_a_last_resort),
        cmocka_unit_test(an_uncordoned_node_may_get_shards),
        cmocka_unit_test(a_cordon_that_an_uncordon_crosses_is_not_judged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
