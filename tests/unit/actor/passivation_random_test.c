/* Runs thousands of random strategies and compares each with the slow model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/rng.h"
#include "passivation_model.h"

static uint64_t current;

static void every_strategy_chooses_as_the_slow_model(void **state)
{
    const char *chosen = getenv("SEED");
    uint64_t first = chosen ? strtoull(chosen, NULL, 10) : 1;
    uint64_t last = chosen ? first : 3000;
    static uint8_t bytes[1200];
    (void)state;

    for (current = first; current <= last; current++) {
        struct rng rng;

        rng_init(&rng, current);
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)rng_next(&rng);
        model_compare(bytes, sizeof bytes);
    }
}

static void last_words(const char *text)
{
    fprintf(stderr, "%s\nrepeat with SEED=%llu\n", text, (unsigned long long)current);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_strategy_chooses_as_the_slow_model),
    };

    check_set_hook(last_words);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
