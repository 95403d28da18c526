/* Tests streams of random numbers and drawn delays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/timers.h"
#include "sim/seed/streams.h"

static void streams_are_known_by_seed_purpose_and_index(void **state)
{
    struct rng same = stream_rng(7, STREAM_PATH, 12);
    struct rng again = stream_rng(7, STREAM_PATH, 12);
    struct rng others[] = {
        stream_rng(8, STREAM_PATH, 12),
        stream_rng(7, STREAM_NODE, 12),
        stream_rng(7, STREAM_PATH, 21),
        stream_rng(7, STREAM_PATH, 2),
    };

    (void)state;
    for (int i = 0; i < 100; i++) {
        uint64_t value = rng_next(&same);

        assert_true(value == rng_next(&again));
        for (int j = 0; j < 4; j++)
            assert_true(value != rng_next(&others[j]));
    }
}

static void delays_have_their_least_and_their_mean(void **state)
{
    struct rng rng = stream_rng(1, STREAM_PATH, 0);
    uint64_t least = NEVER;
    uint64_t most = 0;
    uint64_t sum = 0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        uint64_t delay = stream_delay(&rng, 2 * MS, 10 * MS);

        least = delay < least ? delay : least;
        most = delay > most ? delay : most;
        sum += delay;
    }
    assert_in_range(least, 2 * MS, 2 * MS + 10000);
    assert_in_range(most, 50 * MS, 350 * MS);
    assert_in_range(sum / 100000, 99 * MS / 10, 101 * MS / 10);
    assert_int_equal(stream_delay(&rng, 5, 5), 5);
    assert_int_equal(stream_delay(&rng, 5, 0), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_known_by_seed_purpose_and_index),
        cmocka_unit_test(delays_have_their_least_and_their_mean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
