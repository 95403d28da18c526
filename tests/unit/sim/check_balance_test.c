/* Tests check_balance: how evenly shards must be spread when nothing moves any more. */
#include "sim/check/check_balance.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

static char text[200];

static bool holds(uint32_t absolute_limit, uint32_t threshold, uint32_t a,
                  uint32_t b, uint32_t c)
{
    const struct check_balance_limits limits = { absolute_limit, threshold };
    const uint32_t shards[] = { a, b, c };

    text[0] = 0;
    return check_balance_holds(&limits, shards, 3, text, sizeof text);
}

static void older_algorithm_allows_a_difference_of_the_threshold(void **state)
{
    (void)state;
    assert_true(holds(0, 1, 4, 3, 3));
    assert_true(holds(0, 3, 5, 3, 2));
    assert_true(holds(0, 10, 10, 0, 0));
    assert_true(holds(0, 1, 0, 0, 0));
}

static void shard_balance_a_difference_above_the_threshold_is_found(void **state)
{
    (void)state;
    assert_false(holds(0, 1, 5, 3, 3));
    assert_false(holds(0, 1, 3, 3, 5));
    assert_string_equal(text, "11 shards on 3 regions, 3 to 5 on each");
    assert_false(holds(0, 3, 3, 7, 4));
}

static void newer_algorithm_allows_the_share_or_one_less(void **state)
{
    (void)state;
    assert_true(holds(1, 1, 4, 3, 3));
    assert_true(holds(1, 1, 4, 4, 4));
    assert_true(holds(100, 1, 0, 0, 1));
    assert_true(holds(1, 1, 0, 0, 0));
}

static void shard_balance_a_region_above_or_below_its_share_is_found(void **state)
{
    (void)state;
    assert_false(holds(1, 10, 5, 4, 3));
    assert_false(holds(1, 10, 4, 4, 2)); /* the older algorithm would allow this */
    assert_string_equal(text, "10 shards on 3 regions, 2 to 4 on each");
    assert_false(holds(5, 10, 12, 0, 0));
}

static void a_single_region_has_all_shards(void **state)
{
    const struct check_balance_limits limits = { 1, 1 };
    const uint32_t shards[] = { 1000 };

    (void)state;
    assert_true(check_balance_holds(&limits, shards, 1, text, sizeof text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(older_algorithm_allows_a_difference_of_the_threshold),
        cmocka_unit_test(shard_balance_a_difference_above_the_threshold_is_found),
        cmocka_unit_test(newer_algorithm_allows_the_share_or_one_less),
        cmocka_unit_test(shard_balance_a_region_above_or_below_its_share_is_found),
        cmocka_unit_test(a_single_region_has_all_shards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
