/* Runs thousands of short lives with random operations, each twice: the same bytes give the same
 * digest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/rng.h"
#include "random.h"

static uint64_t current;

static void every_seed_is_conserved_and_repeats(void **state)
{
    const char *chosen = getenv("SEED");
    uint64_t first = chosen ? strtoull(chosen, NULL, 10) : 1;
    uint64_t last = chosen ? first : 4000;
    static uint8_t bytes[3000];
    struct rng rng;
    (void)state;

    for (uint64_t seed = first; seed <= last; seed++) {
        size_t size;
        uint64_t digest;

        rng_init(&rng, seed);
        size = 50 + rng_below(&rng, sizeof bytes - 50);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)rng_next(&rng);
        current = seed;
        digest = random_life(bytes, size);
        if (seed % 10 == 0)
            assert_true(digest == random_life(bytes, size));
    }
}

static void last_words(const char *text)
{
    fprintf(stderr, "%s\nrepeat with SEED=%llu\n", text,
            (unsigned long long)current);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_seed_is_conserved_and_repeats),
    };

    check_set_hook(last_words);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
