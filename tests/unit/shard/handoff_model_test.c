/* Hand-offs over and over, with everything delayed at random: nothing lost, order kept, never two owners. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model.h"

static uint64_t seeds(void)
{
    const char *text = getenv("SHERD_MODEL_SEEDS");
    return text ? strtoull(text, NULL, 10) : 60;
}

static void loses_nothing(void **state)
{
    uint64_t moves = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        struct model_result result = model_run(&(struct model_options){
            .seed = seed, .nodes = 2 + seed % 2,
            .lanes_max = 1 + (uint32_t)(seed / 2 % 3),
            .persists = seed / 6 % 2, .proxy = seed % 5 == 1 });
        assert_int_equal(result.delivered, result.sent);
        moves += result.moves;
    }
    assert_true(moves > seeds() * 5);
}

static void survives_repeats_and_failed_attempts(void **state)
{
    uint64_t given_up = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        struct model_result result = model_run(&(struct model_options){
            .seed = seed, .nodes = 2 + seed % 2,
            .lanes_max = 1 + (uint32_t)(seed / 2 % 3),
            .persists = seed / 6 % 2, .repeats = seed % 3 != 0,
            .gives_up = true });
        assert_int_equal(result.delivered, result.sent);
        given_up += result.given_up;
    }
    assert_true(given_up > seeds());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loses_nothing),
        cmocka_unit_test(survives_repeats_and_failed_attempts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
