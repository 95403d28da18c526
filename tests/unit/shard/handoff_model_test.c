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

/* What a node itself sends while it stops may be refused; all the rest is delivered. */
static void moves_all_away_in_a_shutdown(void **state)
{
    uint64_t sent = 0, refused = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        struct model_result result = model_run(&(struct model_options){
            .seed = seed, .nodes = 2 + seed % 2,
            .lanes_max = 1 + (uint32_t)(seed / 2 % 3),
            .persists = seed / 6 % 2, .proxy = seed % 7 == 1,
            .shuts_down = true });
        sent += result.sent;
        refused += result.refused;
    }
    assert_true(refused * 100 < sent);
}

static void refuses_the_newest_at_the_limit(void **state)
{
    uint64_t refused = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        struct model_result result = model_run(&(struct model_options){
            .seed = seed, .nodes = 2 + seed % 2,
            .lanes_max = 1 + (uint32_t)(seed / 2 % 3),
            .persists = seed / 6 % 2, .gives_up = seed % 3 == 0,
            .count_max = 9 });
        refused += result.refused;
    }
    assert_true(refused > seeds());
}

/* Akka's rule: the owner drops what it held; nothing else is lost, and there is one owner. */
static void obeys_a_coordinator_without_fences(void **state)
{
    uint64_t moves = 0, dropped = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        struct model_result result = model_run(&(struct model_options){
            .seed = seed, .nodes = 2 + seed % 2,
            .lanes_max = 1 + (uint32_t)(seed / 2 % 3),
            .persists = seed / 6 % 2, .fenceless = true });
        moves += result.moves;
        dropped += result.dropped;
        assert_int_equal(result.refused, 0);
    }
    assert_true(moves > seeds() * 5);
    assert_true(dropped > 0);
}

static void repeats_itself_for_a_seed(void **state)
{
    struct model_options options = { .seed = 77, .nodes = 3, .lanes_max = 3,
                                     .persists = true, .gives_up = true };
    (void)state;
    assert_true(model_run(&options).digest == model_run(&options).digest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loses_nothing),
        cmocka_unit_test(survives_repeats_and_failed_attempts),
        cmocka_unit_test(moves_all_away_in_a_shutdown),
        cmocka_unit_test(refuses_the_newest_at_the_limit),
        cmocka_unit_test(obeys_a_coordinator_without_fences),
        cmocka_unit_test(repeats_itself_for_a_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
