/* Tests the catalogue of bugs: entries are complete and found by name, and the choice reaches the
 * bug's code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/zoo/zoo.h"

static void every_entry_is_complete_and_found_by_its_name(void **state)
{
    (void)state;
    assert_null(zoo_entry(ZOO_NONE));
    assert_null(zoo_entry(ZOO_COUNT));
    assert_true(ZOO_COUNT > 1);
    for (int i = ZOO_NONE + 1; i < ZOO_COUNT; i++) {
        const struct zoo_entry *entry = zoo_entry((enum zoo_mutant)i);

        assert_non_null(entry);
        assert_int_equal(zoo_find(entry->name), i);
        assert_true(entry->origin[0] && entry->rule[0] && entry->invariant[0]);
    }
    assert_int_equal(zoo_find("all"), ZOO_NONE);
    assert_int_equal(zoo_find(""), ZOO_NONE);
}

static void one_bug_or_none_is_chosen(void **state)
{
    (void)state;
    assert_int_equal(zoo_current(), ZOO_NONE);
    assert_false(zoo_is(ZOO_ANY_STOP_REPORT_COUNTS));
    zoo_choose(ZOO_ANY_STOP_REPORT_COUNTS);
    assert_int_equal(zoo_passed(), 0);
    assert_true(zoo_is(ZOO_ANY_STOP_REPORT_COUNTS));
    assert_false(zoo_is(ZOO_STUBBORN_ENTITY_NOT_ENDED));
    assert_int_equal(zoo_passed(), 1);
    assert_int_equal(zoo_current(), ZOO_ANY_STOP_REPORT_COUNTS);
    zoo_choose(ZOO_NONE);
    assert_false(zoo_is(ZOO_ANY_STOP_REPORT_COUNTS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_is_complete_and_found_by_its_name),
        cmocka_unit_test(one_bug_or_none_is_chosen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
