/* What a cluster in the quiet keeps, from third to third of a time. */
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

static void the_least_of_each_third_counts(void **state)
{
    struct growth growth;
    char text[200];

    (void)state;
    growth_begin(&growth, 100, 60);
    growth_look(&growth, 105, 900, 9000);
    growth_look(&growth, 115, 500, 9000); /* what came has gone */
    growth_look(&growth, 125, 800, 9000);
    growth_look(&growth, 135, 510, 10000);
    growth_look(&growth, 145, 900, 11000);
    growth_look(&growth, 160, 520, 11000);
    assert_true(ends(&growth, text));
}

static void more_pieces_each_time_are_growth(void **state)
{
    struct growth growth;
    char text[200];

    (void)state;
    growth_begin(&growth, 0, 60);
    growth_look(&growth, 10, 500, 9000);
    growth_look(&growth, 30, 511, 9000);
    growth_look(&growth, 60, 530, 9000);
    assert_false(ends(&growth, text));
    assert_non_null(strstr(text, "11 pieces of memory and 0 bytes more"));
}

static void more_bytes_each_time_are_growth(void **state)
{
    struct growth growth;
    char text[200];

    (void)state;
    growth_begin(&growth, 0, 60);
    growth_look(&growth, 10, 500, 9000);
    growth_look(&growth, 30, 400, 10001);
    growth_look(&growth, 60, 300, 11002);
    assert_false(ends(&growth, text));
    assert_non_null(strstr(text, "0 pieces of memory and 1001 bytes more"));
}

/* However much it is. */
static void what_comes_once_and_stays_is_no_growth(void **state)
{
    struct growth growth;
    char text[200];

    (void)state;
    growth_begin(&growth, 0, 60);
    growth_look(&growth, 10, 500, 9000);
    growth_look(&growth, 30, 5000, 90000);
    growth_look(&growth, 60, 5000, 90000);
    assert_true(ends(&growth, text));
}

static void a_third_that_nobody_saw_is_no_growth(void **state)
{
    struct growth growth = { 0 };
    char text[200];

    (void)state;
    growth_look(&growth, 10, 1, 1); /* not begun */
    for (int unseen = 0; unseen < 3; unseen++) {
        growth_begin(&growth, 0, 60);
        for (int i = 0; i < 3; i++)
            if (i != unseen)
                growth_look(&growth, (uint64_t)i * 20 + 10, 500u * (unsigned)(i + 1), 9000);
        assert_true(ends(&growth, text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_of_each_third_counts),
        cmocka_unit_test(more_pieces_each_time_are_growth),
        cmocka_unit_test(more_bytes_each_time_are_growth),
        cmocka_unit_test(what_comes_once_and_stays_is_no_growth),
        cmocka_unit_test(a_third_that_nobody_saw_is_no_growth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
