/* Tests the detection of growth in an idle cluster. */
#include "sim/check/check_growth.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH 60

static bool ends(struct growth *growth, char text[200])
{
    text[0] = 0;
    return growth_end(growth, 10, 1000, text, 200);
}

/* Looks once in each part. */
static bool judge(const uint64_t pieces[GROWTH_PARTS],
                  const uint64_t bytes[GROWTH_PARTS], char text[200])
{
    struct growth growth;

    growth_begin(&growth, 100, LENGTH);
    for (uint64_t i = 0; i < GROWTH_PARTS; i++)
        growth_look(&growth, 105 + i * (LENGTH / GROWTH_PARTS), pieces[i],
                    bytes[i]);
    return ends(&growth, text);
}

static const uint64_t same[GROWTH_PARTS] = { 9000, 9000, 9000,
                                             9000, 9000, 9000 };

static void the_least_of_each_part_counts(void **state)
{
    struct growth growth;
    char text[200];

    (void)state;
    growth_begin(&growth, 100, LENGTH);
    for (uint64_t i = 0; i < GROWTH_PARTS; i++) {
        growth_look(&growth, 101 + i * 10, 900 + i * 100, 9000 + i * 1000);
        /* temporary memory was freed */
        growth_look(&growth, 109 + i * 10, 500 + i * 3, 9000 + i * 300);
    }
    growth_look(&growth, 160, 5000, 90000);
    assert_true(ends(&growth, text));
}

static void more_pieces_each_time_are_growth(void **state)
{
    const uint64_t pieces[GROWTH_PARTS] = { 500, 504, 508, 512, 530, 540 };
    char text[200];

    (void)state;
    assert_false(judge(pieces, same, text));
    assert_non_null(strstr(text, "12 pieces of memory and 0 bytes more"));
}

static void more_bytes_each_time_are_growth(void **state)
{
    const uint64_t pieces[GROWTH_PARTS] = { 500, 400, 300, 200, 100, 0 };
    const uint64_t bytes[GROWTH_PARTS] = { 9000,  9334,  9668,
                                           10002, 10336, 10670 };
    char text[200];

    (void)state;
    assert_false(judge(pieces, bytes, text));
    assert_non_null(strstr(text, "0 pieces of memory and 1002 bytes more"));
}

static void one_lasting_increase_is_no_growth(void **state)
{
    const uint64_t pieces[GROWTH_PARTS] = { 500,  503,  5003,
                                            5003, 5006, 5006 };
    char text[200];

    (void)state;
    assert_true(judge(pieces, same, text));
}

/* A removed node is pruned from many keys, some of them before a look. */
static void an_increase_over_two_parts_is_no_growth(void **state)
{
    const uint64_t bytes[GROWTH_PARTS] = { 2938368, 2938368, 3297040,
                                           3454336, 3454336, 3455200 };
    char text[200];

    (void)state;
    assert_true(judge(same, bytes, text));
}

/* A second increase later. */
static void two_lasting_increases_are_no_growth(void **state)
{
    const uint64_t pieces[GROWTH_PARTS] = { 500, 850, 850, 850, 850, 1200 };
    char text[200];

    (void)state;
    assert_true(judge(pieces, same, text));
}

/* Replicas that forget and learn again: the third step takes back what the others add. */
static void usage_that_falls_again_is_no_growth(void **state)
{
    const uint64_t pieces[GROWTH_PARTS] = { 26143, 26168, 26183, 26160, 26171, 26176 };
    char text[200];

    (void)state;
    assert_true(judge(pieces, same, text));
}

static void growth_after_a_decrease_is_found(void **state)
{
    const uint64_t pieces[GROWTH_PARTS] = { 5000, 500, 506, 512, 518, 524 };
    char text[200];

    (void)state;
    assert_false(judge(pieces, same, text));
    assert_non_null(strstr(text, "12 pieces of memory and 0 bytes more"));
}

static void a_part_without_a_look_is_no_growth(void **state)
{
    struct growth growth = { 0 };
    char text[200];

    (void)state;
    growth_look(&growth, 10, 1, 1); /* not begun */
    for (int unseen = 0; unseen < GROWTH_PARTS; unseen++) {
        growth_begin(&growth, 0, LENGTH);
        for (int i = 0; i < GROWTH_PARTS; i++)
            if (i != unseen)
                growth_look(&growth, (uint64_t)i * 10 + 5, 500u * (unsigned)(i + 1), 9000);
        assert_true(ends(&growth, text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_of_each_part_counts),
        cmocka_unit_test(more_pieces_each_time_are_growth),
        cmocka_unit_test(more_bytes_each_time_are_growth),
        cmocka_unit_test(one_lasting_increase_is_no_growth),
        cmocka_unit_test(an_increase_over_two_parts_is_no_growth),
        cmocka_unit_test(two_lasting_increases_are_no_growth),
        cmocka_unit_test(usage_that_falls_again_is_no_growth),
        cmocka_unit_test(growth_after_a_decrease_is_found),
        cmocka_unit_test(a_part_without_a_look_is_no_growth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
