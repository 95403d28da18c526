/* Tests many hand-offs with random delays: no message is lost, order is kept, and a shard never has
 * two owners. */
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

static void hand_offs_lose_no_message(void **state)
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

static void repeats_and_failed_attempts_lose_no_message(void **state)
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

/* Messages that the stopping node sends may be refused; all others are delivered. */
static void a_shutdown_moves_all_shards_away(void **state)
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

static void the_limit_refuses_the_newest_messages(void **state)
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

/* As in Akka, the owner drops the messages that it held. No other is lost, and there is one
 * owner. */
static void a_coordinator_without_fences_loses_only_held_messages(void **state)
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

static void equal_seeds_give_equal_runs(void **state)
{
    struct model_options options = { .seed = 77, .nodes = 3, .lanes_max = 3,
                                     .persists = true, .gives_up = true };
    (void)state;
    assert_true(model_run(&options).digest == model_run(&options).digest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand_offs_lose_no_message),
        cmocka_unit_test(repeats_and_failed_attempts_lose_no_message),
        cmocka_unit_test(a_shutdown_moves_all_shards_away),
        cmocka_unit_test(the_limit_refuses_the_newest_messages),
        cmocka_unit_test(a_coordinator_without_fences_loses_only_held_messages),
        cmocka_unit_test(equal_seeds_give_equal_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
