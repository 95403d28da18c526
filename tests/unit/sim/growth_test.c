/* What a cluster in the quiet keeps, in one half of a time and in the other. */
#include "sim/growth.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

static bool ends(struct growth *growth, char text[200])
{
    text[0] = 0;
    return growth_end(growth, 10, 1000, text, 200);
}

static void the_least_of_each_half_counts(void **state)
{
    struct growth growth;
    char text[200];

    (void)state;
    growth_begin(&growth, 100, 60);
    growth_look(&growth, 110, 900, 9000);
    growth_look(&growth, 120, 500, 9000); /* what came has gone */
    growth_look(&growth, 140, 800, 9000);
    growth_look(&growth, 160, 510, 10000);
    assert_true(ends(&growth, text));
}

static void more_pieces_are_growth(void **state)
{
    struct growth growth;
    char text[200];

    (void)state;
    growth_begin(&growth, 0, 60);
    growth_look(&growth, 10, 500, 9000);
    growth_look(&growth, 60, 511, 9000);
    assert_false(ends(&growth, text));
    assert_non_null(strstr(text, "11 pieces of memory and 0 bytes more"));
}

static void more_bytes_are_growth(void **state)
{
    struct growth growth;
    char text[200];

    (void)state;
    growth_begin(&growth, 0, 60);
    growth_look(&growth, 10, 500, 9000);
    growth_look(&growth, 60, 400, 10001);
    assert_false(ends(&growth, text));
    assert_non_null(strstr(text, "0 pieces of memory and 1001 bytes more"));
}

static void a_half_that_nobody_saw_is_no_growth(void **state)
{
    struct growth growth = { 0 };
    char text[200];

    (void)state;
    growth_look(&growth, 10, 1, 1); /* not begun */
    growth_begin(&growth, 0, 60);
    growth_look(&growth, 10, 500, 9000);
    assert_true(ends(&growth, text));
    growth_begin(&growth, 0, 60);
    growth_look(&growth, 50, 500, 9000);
    assert_true(ends(&growth, text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_of_each_half_counts),
        cmocka_unit_test(more_pieces_are_growth),
        cmocka_unit_test(more_bytes_are_growth),
        cmocka_unit_test(a_half_that_nobody_saw_is_no_growth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
