/* Tests the simulated clocks of a node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/timers.h"
#include "sim/world/clock.h"

#define WALL INT64_C(1700000000000)

static void an_untouched_clock_is_exact(void **state)
{
    struct clock clock;

    (void)state;
    clock_init(&clock, WALL);
    assert_int_equal(clock_now(&clock, 12345), 12345);
    assert_int_equal(clock_when(&clock, 12345), 12345);
    assert_int_equal(clock_wall(&clock, 5 * SECOND), WALL + 5000);
    assert_true(clock_when(&clock, NEVER) == NEVER);
}

static void a_fast_clock_gains_and_goes_on_from_there(void **state)
{
    struct clock clock;

    (void)state;
    clock_init(&clock, WALL);
    clock_drift(&clock, 100 * SECOND, 1050000);
    assert_int_equal(clock_now(&clock, 100 * SECOND), 100 * SECOND);
    assert_int_equal(clock_now(&clock, 200 * SECOND), 205 * SECOND);
    assert_int_equal(clock_when(&clock, 205 * SECOND), 200 * SECOND);
    clock_drift(&clock, 200 * SECOND, CLOCK_RATE);
    assert_int_equal(clock_now(&clock, 201 * SECOND), 206 * SECOND);
    assert_int_equal(clock_wall(&clock, 201 * SECOND), WALL + 206000);
}

static void a_wall_clock_jump_leaves_the_monotonic_clock(void **state)
{
    struct clock clock;

    (void)state;
    clock_init(&clock, WALL);
    clock_jump(&clock, -86400000);
    assert_int_equal(clock_wall(&clock, 0), WALL - 86400000);
    assert_int_equal(clock_now(&clock, SECOND), SECOND);
    clock_jump(&clock, 86400000);
    assert_int_equal(clock_wall(&clock, 0), WALL);
}

/* clock_when gives the first moment, at any rate, over days: the clock shows less one ns
 * earlier. */
static void when_is_the_inverse_of_now(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (int i = 0; i < 20000; i++) {
        uint64_t since = rng_below(&rng, 100000 * SECOND);
        uint32_t rate = CLOCK_RATE_MIN + (uint32_t)rng_below(&rng, 100001);
        uint64_t shown;
        uint64_t when;
        struct clock clock;

        clock_init(&clock, 0);
        clock_drift(&clock, since, rate);
        shown = since + 1 + rng_below(&rng, i % 2 ? 5000 : 1000000 * SECOND);
        when = clock_when(&clock, shown);
        assert_true(clock_now(&clock, when) >= shown);
        assert_true(clock_now(&clock, when - 1) < shown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_untouched_clock_is_exact),
        cmocka_unit_test(a_fast_clock_gains_and_goes_on_from_there),
        cmocka_unit_test(a_wall_clock_jump_leaves_the_monotonic_clock),
        cmocka_unit_test(when_is_the_inverse_of_now),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
