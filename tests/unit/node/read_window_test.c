/* Tests how the window of reads grows and shrinks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "node/control/read_window.h"

static void fill(struct read_window *window)
{
    while (read_window_has_room(window))
        read_window_begin(window);
}

static void end_all(struct read_window *window, bool is_good)
{
    while (window->open)
        read_window_end(window, is_good);
}

static void failures_of_one_round_halve_it_once(void **state)
{
    struct read_window window;

    (void)state;
    read_window_init(&window);
    fill(&window);
    assert_int_equal(window.open, REMEMBER_READS_FIRST);
    end_all(&window, false);
    assert_int_equal(window.size, REMEMBER_READS_FIRST / 2);
    fill(&window);
    end_all(&window, false);
    assert_int_equal(window.size, REMEMBER_READS_FIRST / 4);
}

static void the_window_has_a_minimum_and_a_maximum(void **state)
{
    struct read_window window;

    (void)state;
    read_window_init(&window);
    for (int i = 0; i < 32; i++) {
        fill(&window);
        end_all(&window, false);
    }
    assert_int_equal(window.size, REMEMBER_READS_MIN);
    for (int i = 0; i < 2 * REMEMBER_READS_MAX; i++) {
        fill(&window);
        end_all(&window, true);
    }
    assert_int_equal(window.size, REMEMBER_READS_MAX);
}

static void a_good_round_lets_it_grow_by_one(void **state)
{
    struct read_window window;

    (void)state;
    read_window_init(&window);
    fill(&window);
    end_all(&window, true);
    assert_int_equal(window.size, REMEMBER_READS_FIRST + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_of_one_round_halve_it_once),
        cmocka_unit_test(the_window_has_a_minimum_and_a_maximum),
        cmocka_unit_test(a_good_round_lets_it_grow_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
