/* Tests check_homes with answered requests and late ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/timers.h"
#include "sim/check/check_homes.h"
#include "sim/world/verdict.h"

#define LIMIT (10 * SECOND)

static struct verdict *verdict;
static struct check_homes *check;
static uint64_t now;

static int begin(void **state)
{
    (void)state;
    now = SECOND;
    verdict = verdict_new(1, &now);
    check = check_homes_new(verdict);
    check_homes_limit(check, LIMIT);
    return 0;
}

static int end(void **state)
{
    (void)state;
    check_homes_free(check);
    verdict_free(verdict);
    return 0;
}

/* A look at two nodes that ask for these shards of type 1; -1: none. */
static void look(int32_t first, int32_t second)
{
    if (first >= 0)
        check_homes_asked(check, now, 0, 1, first);
    if (second >= 0)
        check_homes_asked(check, now, 1, 1, second);
    check_homes_looked(check, now);
}

static bool is_answered(const char **text)
{
    static char words[200];

    *text = words;
    return check_homes_answered(check, words, sizeof words);
}

static void homes_available_an_unanswered_request_is_found(void **state)
{
    const char *text;

    (void)state;
    check_homes_quiet(check, now, true);
    check_homes_judge(check, now);
    look(5, 6);
    assert_false(is_answered(&text));
    assert_non_null(strstr(text, "n0 asks for the home of shard 5"));
    now += 5 * SECOND;
    look(-1, 6); /* the first one is answered */
    assert_false(is_answered(&text));
    assert_non_null(strstr(text, "n1 asks for the home of shard 6"));
    assert_int_equal(verdict_count(verdict), 0);
    now += 6 * SECOND;
    look(-1, 6);
    assert_int_equal(verdict_count(verdict), 1);
    assert_string_equal(verdict_at(verdict, 0)->invariant, "homes-available");
    assert_int_equal(verdict_at(verdict, 0)->node, 1);
    look(-1, 6); /* reported once */
    assert_int_equal(verdict_count(verdict), 1);
    assert_true(check_homes_longest(check) == 11 * SECOND);
    assert_int_equal(check_homes_count(check), 1);
}

static void requests_that_end_between_looks_are_answered(void **state)
{
    const char *text;

    (void)state;
    check_homes_quiet(check, now, true);
    check_homes_judge(check, now);
    assert_true(check_homes_is_quiet(check));
    for (int i = 0; i < 20; i++) {
        look(i, 5);
        now += 2 * SECOND;
        look(-1, -1);
        assert_true(is_answered(&text));
        now += 2 * SECOND;
    }
    assert_int_equal(verdict_count(verdict), 0);
    assert_int_equal(check_homes_count(check), 40);
    assert_true(check_homes_longest(check) == 0);
}

/* It does not prevent agreement. */
static void a_later_request_has_its_own_limit(void **state)
{
    const char *text;

    (void)state;
    check_homes_quiet(check, now, true);
    check_homes_judge(check, now);
    look(5, -1);
    now += SECOND;
    look(-1, 5);
    assert_true(is_answered(&text));
    now += LIMIT;
    look(-1, 5);
    assert_int_equal(verdict_count(verdict), 0);
    now += MS;
    look(-1, 5);
    assert_int_equal(verdict_count(verdict), 1);
}

static void requests_before_judging_are_not_late(void **state)
{
    (void)state;
    check_homes_quiet(check, now, true);
    look(5, -1);
    now += 2 * LIMIT;
    look(5, -1);
    assert_int_equal(verdict_count(verdict), 0);
    check_homes_judge(check, now);
    now += LIMIT;
    look(5, -1);
    assert_int_equal(verdict_count(verdict), 0);
    now += MS;
    look(5, -1);
    assert_int_equal(verdict_count(verdict), 1);
}

static void a_new_quiet_phase_begins_anew(void **state)
{
    const char *text;

    (void)state;
    check_homes_quiet(check, now, true);
    check_homes_judge(check, now);
    look(5, -1);
    check_homes_quiet(check, now, false);
    assert_false(check_homes_is_quiet(check));
    now += 2 * LIMIT;
    check_homes_quiet(check, now, true);
    assert_true(is_answered(&text));
    look(5, -1);
    assert_false(is_answered(&text));
    assert_int_equal(verdict_count(verdict), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(homes_available_an_unanswered_request_is_found),
        TEST(requests_that_end_between_looks_are_answered),
        TEST(a_later_request_has_its_own_limit),
        TEST(requests_before_judging_are_not_late),
        TEST(a_new_quiet_phase_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
