/* Tests that the library's own cores have no marks and evaluate no mark's condition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mark.h"
#include "sim/run/mark.h"

static void the_librarys_cores_have_no_marks(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_librarys_cores_have_no_marks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
