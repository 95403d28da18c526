/* Over the library's own cores there is no mark, a condition is not evaluated, and no bug can be chosen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mark.h"
#include "sim/mark.h"
#include "sim/zoo.h"

static void nothing_is_marked(void **state)
{
    struct mark_list list = { 0 };
    int evaluated = 0;

    (void)state;
    REACHED("nowhere");
    SOMETIMES("never", ++evaluated);
    assert_int_equal(evaluated, 0);
    mark_take(&list);
    assert_int_equal(list.marks.count, 0);
    mark_fini(&list);
}

static void no_bug_comes_in(void **state)
{
    (void)state;
    zoo_choose(ZOO_A2);
    assert_false(ZOO(A2));
    zoo_choose(ZOO_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_marked),
        cmocka_unit_test(no_bug_comes_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
