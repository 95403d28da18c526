/* Tests check_command with allowed histories and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "judged.h"
#include "sim/check/check_command.h"

#define AGE_MS 100
#define MAX 2

static struct check_command *check;

static int setup(void **state)
{
    (void)state;
    judge();
    check = check_command_new(verdict);
    check_command_window(check, MAX, AGE_MS);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    check_command_free(check);
    verdict_free(verdict);
    return 0;
}

static void effect(uint64_t command, uint64_t result)
{
    check_command_effect(check, 1, &(struct command_effect){ command, result });
}

static void stored(uint64_t command, uint64_t result, uint64_t at)
{
    check_command_stored(check, &(struct command_fact){ .account = 1,
                                                        .command = command,
                                                        .at = at,
                                                        .has_reply = check_command_replies(command),
                                                        .result = result });
}

static void carried_out(uint64_t command, uint64_t result, uint64_t at)
{
    effect(command, result);
    stored(command, result, at);
    check_command_committed(check);
}

static void a_repetition_with_the_reply_of_the_first_is_allowed(void **state)
{
    (void)state;
    carried_out(1, 11, 5);
    check_command_answered(check, 1, 11);
    check_command_answered(check, 1, 11);
    carried_out(8, 12, 6); /* without a reply */
    check_command_seen(check, 8);
    expect_only(NULL);
    assert_int_equal(check_command_counts(check).stored, 2);
    assert_int_equal(check_command_counts(check).answered, 2);
    assert_int_equal(check_command_counts(check).seen, 1);
}

static void a_second_execution_within_the_window_is_found(void **state)
{
    (void)state;
    carried_out(1, 11, 5);
    carried_out(2, 12, 5);
    carried_out(1, 13, 5 + AGE_MS);
    expect_only("command-once");
}

static void a_second_execution_after_the_age_is_allowed(void **state)
{
    (void)state;
    carried_out(1, 11, 5);
    carried_out(1, 12, 6 + AGE_MS);
    check_command_answered(check, 1, 12);
    expect_only(NULL);
    assert_int_equal(check_command_counts(check).again, 1);
}

static void a_second_execution_after_enough_others_is_allowed(void **state)
{
    (void)state;
    carried_out(1, 11, 5);
    carried_out(2, 12, 5);
    carried_out(3, 13, 5);
    carried_out(1, 14, 5);
    expect_only(NULL);
}

static void an_effect_without_its_command_is_found(void **state)
{
    (void)state;
    effect(1, 11);
    check_command_committed(check);
    expect_only("command-once");
}

static void a_command_without_its_effect_is_found(void **state)
{
    (void)state;
    stored(1, 11, 5);
    check_command_committed(check);
    expect_only("command-once");
}

static void a_command_without_its_reply_is_found(void **state)
{
    (void)state;
    effect(1, 11);
    check_command_stored(check, &(struct command_fact){ .account = 1, .command = 1, .at = 5 });
    check_command_committed(check);
    expect_only("command-once");
}

static void another_stored_reply_is_found(void **state)
{
    (void)state;
    effect(1, 11);
    stored(1, 12, 5);
    check_command_committed(check);
    expect_only("command-once");
}

static void an_effect_at_two_accounts_is_found(void **state)
{
    (void)state;
    carried_out(1, 11, 5);
    check_command_effect(check, 2, &(struct command_effect){ 1, 12 });
    assert_true(verdict_count(verdict) > 0);
}

static void another_reply_is_found(void **state)
{
    (void)state;
    carried_out(1, 11, 5);
    check_command_answered(check, 1, 12);
    expect_only("command-once");
}

static void a_reply_before_the_effect_is_durable_is_found(void **state)
{
    (void)state;
    check_command_answered(check, 1, 11);
    expect_only("command-once");
}

static void a_repetition_without_the_stored_reply_is_found(void **state)
{
    (void)state;
    carried_out(1, 11, 5);
    check_command_seen(check, 1);
    expect_only("command-once");
}

static void a_command_that_counts_before_it_is_durable_is_found(void **state)
{
    (void)state;
    check_command_seen(check, 8);
    expect_only("command-once");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void a_reply_of_a_lost_execution_may_arrive(void **state)
{
    (void)state;
    carried_out(1, 11, 5);
    carried_out(2, 12, 5);
    check_command_lost(check, &(struct command_effect){ 1, 11 });
    check_command_forget(check);
    carried_out(2, 12, 5); /* follows again */
    check_command_answered(check, 1, 11);
    carried_out(1, 13, 6);
    check_command_answered(check, 1, 13);
    check_command_answered(check, 1, 11);
    expect_only(NULL);
    check_command_answered(check, 2, 11);
    expect_only("command-once");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_repetition_with_the_reply_of_the_first_is_allowed),
        TEST(a_second_execution_within_the_window_is_found),
        TEST(a_second_execution_after_the_age_is_allowed),
        TEST(a_second_execution_after_enough_others_is_allowed),
        TEST(an_effect_without_its_command_is_found),
        TEST(a_command_without_its_effect_is_found),
        TEST(a_command_without_its_reply_is_found),
        TEST(another_stored_reply_is_found),
        TEST(an_effect_at_two_accounts_is_found),
        TEST(another_reply_is_found),
        TEST(a_reply_before_the_effect_is_durable_is_found),
        TEST(a_repetition_without_the_stored_reply_is_found),
        TEST(a_command_that_counts_before_it_is_durable_is_found),
        TEST(a_reply_of_a_lost_execution_may_arrive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
