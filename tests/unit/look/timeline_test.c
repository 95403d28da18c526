/* Tests the best rows, and the ring of decisions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "look/timeline.h"
#include "look/top.h"

static void the_last_decisions_are_kept_the_newest_first(void **state)
{
    struct timeline timeline = { .count = 0 };
    uint64_t number = 0;

    (void)state;
    assert_null(timeline_at(&timeline, 0));
    for (uint32_t i = 0; i < 10; i++) {
        struct timeline_event event = { .event = "up", .wall_ms = 100 + i };

        timeline_put(&timeline, 4, &number, &event);
        assert_int_equal(timeline_at(&timeline, 0)->wall_ms, 100 + i);
    }
    assert_int_equal(number, 10);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(timeline_at(&timeline, i)->number, 10 - i);
    assert_null(timeline_at(&timeline, 4));
    timeline_fini(&timeline);
}

static void the_limit_is_the_default(void **state)
{
    struct timeline timeline = { .count = 0 };
    struct timeline_event event = { .event = "up" };
    uint64_t number = 0;

    (void)state;
    for (uint32_t i = 0; i < TIMELINE_MAX + 3; i++)
        timeline_put(&timeline, 0, &number, &event);
    assert_int_equal(timeline.decisions.count, TIMELINE_MAX);
    assert_int_equal(timeline_at(&timeline, TIMELINE_MAX - 1)->number, 4);
    timeline_fini(&timeline);
}

static void the_best_of_any_input_stay(void **state)
{
    struct top_item left;
    struct rng rng;

    (void)state;
    rng_init(&rng, 5);
    for (uint32_t round = 0; round < 200; round++) {
        uint32_t max = (uint32_t)rng_below(&rng, 20), worst = 0;
        struct top top = { .items = { 0 } };
        uint64_t keys[60];

        for (uint32_t i = 0; i < 60; i++) {
            keys[i] = rng_below(&rng, 30);
            (void)top_put(&top, max, (struct top_item){ .key = keys[i], .tie = i, .value = i },
                          &left);
        }
        top_sort(&top);
        assert_int_equal(top.items.count, max);
        for (uint32_t i = 0; i < max; i++)
            assert_int_equal(top.items.items[i].key, keys[top.items.items[i].value]);
        for (uint32_t i = 1; i < max; i++)
            assert_true(top.items.items[i].key < top.items.items[i - 1].key ||
                        (top.items.items[i].key == top.items.items[i - 1].key &&
                         top.items.items[i].tie > top.items.items[i - 1].tie));
        for (uint32_t i = 0; max && i < 60; i++)
            worst += keys[i] > top.items.items[max - 1].key;
        assert_true(worst < (max ? max : 1));
        top_fini(&top);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_decisions_are_kept_the_newest_first),
        cmocka_unit_test(the_limit_is_the_default),
        cmocka_unit_test(the_best_of_any_input_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
