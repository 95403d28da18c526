/* Checks passivation strategies: the sequences of Akka's tests, the search for the window's size,
 * and limits at their ends. */
#include "passivation_cast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/check.h"

static struct cast cast;

static void begin(const char *name, uint32_t limit)
{
    struct passivation_settings settings = cast_settings(name);

    cast_init(&cast, &settings, limit);
}

static void use(uint32_t shard, uint32_t first, uint32_t last)
{
    for (uint32_t slot = first; slot <= last; slot++)
        (void)cast_use(&cast, shard, slot);
}

static void use_often(uint32_t slot, uint32_t times)
{
    while (times--)
        (void)cast_use(&cast, 1, slot);
}

/* Reads "3 7..9" as 3 7 8 9. */
static void read_slots(const char *text, struct slots *slots)
{
    const char *at = text;

    slots->count = 0;
    while (*at) {
        unsigned first, last;
        int size = 0;

        if (sscanf(at, "%u..%u %n", &first, &last, &size) < 2 || size == 0) {
            assert_int_equal(sscanf(at, "%u %n", &first, &size), 1);
            last = first;
        }
        for (uint32_t slot = first; slot <= last; slot++)
            vec_push(slots, slot);
        at += size;
    }
}

/* Compares what has stopped since the last comparison. */
static void stopped(const char *text)
{
    struct slots wanted = { 0 };

    read_slots(text, &wanted);
    assert_int_equal(cast.stopped.count, wanted.count);
    for (uint32_t i = 0; i < wanted.count; i++)
        assert_int_equal(cast.stopped.items[i], wanted.items[i]);
    cast.stopped.count = 0;
    vec_fini(&wanted);
}

static void active(uint32_t shard, const char *text)
{
    struct slots wanted = { 0 };

    read_slots(text, &wanted);
    assert_int_equal(strategy_active(cast.shards[shard]), wanted.count);
    for (uint32_t i = 0; i < wanted.count; i++)
        assert_true(ranks_have(&cast.ranks, wanted.items[i]));
    vec_fini(&wanted);
}

static void passivate(uint32_t shard, uint32_t slot)
{
    strategy_remove(cast.shards[shard], slot);
    assert_false(ranks_have(&cast.ranks, slot));
}

/* --- least recently used --- */

static void the_least_recent_leave_SHD164(void **state)
{
    (void)state;
    begin("LRU", 10);
    use(1, 1, 20);
    stopped("1..10");
    active(1, "11..20");
    use(2, 21, 21);
    stopped("11..15");
    use(1, 1, 20);
    stopped("16..20 1..15");
    active(1, "16..20");
    use(2, 21, 24);
    use(3, 31, 31);
    stopped("16 17 21");
    use(2, 25, 30);
    stopped("22..27");
    use(3, 31, 40);
    stopped("31..37");
    active(1, "18..20");
    active(2, "28..30");
    active(3, "38..40");
    passivate(1, 19);
    passivate(2, 29);
    passivate(3, 39);
    use(1, 11, 13);
    use(2, 21, 23);
    use(3, 31, 33);
    stopped("18 20 28 30 38 40");
    cast_fini(&cast);
}

static void segments_protect_entities_that_were_used_again(void **state)
{
    (void)state;
    begin("SLRU", 10);
    use(1, 1, 20);
    stopped("1..10");
    use(1, 11, 20);
    stopped("");
    use(1, 1, 5);
    stopped("11 12 1..3");
    active(1, "4 5 13..20");
    use(2, 21, 21);
    stopped("4 5 13..15");
    for (uint32_t slot = 20; slot > 10; slot--)
        use(1, slot, slot);
    stopped("20 15 14 13 12");
    active(1, "11 16..19");
    cast_fini(&cast);
}

static void a_new_limit_of_the_region_reaches_all_shards_SHD167(void **state)
{
    static const char *const names[] = { "LRU", "LFU" };
    (void)state;

    for (uint32_t i = 0; i < 2; i++) {
        begin(names[i], 10);
        use(1, 1, 20);
        stopped("1..10");
        use(2, 21, 21);
        stopped("11..15");
        cast_set_limit(&cast, 6);
        stopped("16 17");
        use(1, 1, 10);
        stopped("18..20 1..7");
        cast_set_limit(&cast, 12);
        use(1, 11, 20);
        stopped("8..14");
        active(1, "15..20");
        active(2, "21");
        cast_fini(&cast);
    }
}

static void a_new_limit_reaches_segments(void **state)
{
    (void)state;
    begin("SLRU", 20);
    use(1, 1, 30);
    stopped("1..10");
    use(2, 31, 31);
    stopped("11..20");
    cast_set_limit(&cast, 10);
    stopped("21..25");
    use(1, 1, 10);
    stopped("26..30 1..5");
    cast_set_limit(&cast, 30);
    use(1, 11, 30);
    stopped("6..15");
    active(1, "16..30");
    cast_fini(&cast);
}

/* Moves through four segments with the limits 4, 3, 2 and 1. */
static void entities_rise_and_fall_through_segments(void **state)
{
    static const uint32_t again[] = { 2, 4, 6, 8, 10, 12 };
    static const uint32_t later[] = { 8, 9, 10, 11, 12, 13 };
    (void)state;

    begin("S4LRU", 10);
    cast.settings.main.shares[0] = 0.4;
    cast.settings.main.shares[1] = 0.3;
    cast.settings.main.shares[2] = 0.2;
    cast.settings.main.shares[3] = 0.1;
    use(1, 1, 12);
    stopped("1 2");
    for (uint32_t i = 1; i < 6; i++) /* 2 has stopped; Akka's test uses it below the limit */
        use(1, again[i], again[i]);
    stopped("");
    for (uint32_t i = 0; i < 6; i++)
        use(1, later[i], later[i]);
    stopped("3");
    active(1, "4..13");
    cast_fini(&cast);
}

/* --- most recently used --- */

static void the_most_recent_leave_SHD169(void **state)
{
    (void)state;
    begin("MRU", 10);
    use(1, 1, 20);
    stopped("10..19");
    active(1, "1..9 20");
    use(2, 21, 21);
    stopped("20 9 8 7 6");
    use(1, 1, 20);
    stopped("5..19");
    active(1, "1..4 20");
    use(2, 22, 24);
    use(3, 31, 31);
    stopped("20 4 24");
    use(2, 24, 30);
    stopped("23..29");
    active(2, "21 22 30");
    use(3, 31, 40);
    stopped("33..39");
    active(3, "31 32 40");
    passivate(1, 2);
    passivate(2, 22);
    passivate(3, 32);
    use(1, 12, 14);
    use(2, 23, 25);
    use(3, 34, 36);
    stopped("12 13 23 24 34 35");
    active(1, "1 3 14");
    active(2, "21 25 30");
    active(3, "31 36 40");
    cast_fini(&cast);

    begin("MRU", 10);
    use(1, 1, 20);
    use(2, 21, 21);
    cast.stopped.count = 0;
    cast_set_limit(&cast, 6);
    stopped("5 4");
    use(1, 1, 10);
    active(1, "1 2 10");
    cast_set_limit(&cast, 12);
    cast.stopped.count = 0;
    use(1, 11, 20);
    stopped("13..19");
    active(1, "1 2 10..12 20");
    cast_fini(&cast);
}

/* --- least frequently used --- */

static void use_by_rest(uint32_t shard, uint32_t first, uint32_t last, bool is_falling)
{
    for (uint32_t slot = first; slot <= last; slot++) {
        uint32_t rest = (slot - 1) % 4;

        for (uint32_t i = 0; i < (is_falling ? 4 - rest : rest + 1); i++)
            (void)cast_use(&cast, shard, slot);
    }
}

static void use_by_place(uint32_t shard, uint32_t first)
{
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t times = 0; times <= i; times++)
            (void)cast_use(&cast, shard, first + i);
}

static void the_least_frequent_leave(void **state)
{
    (void)state;
    begin("LFU", 10);
    use_by_rest(1, 1, 20, false);
    stopped("1 5 9 13 2 6 10 17 14 18");
    active(1, "3 4 7 8 11 12 15 16 19 20");
    use(2, 21, 21);
    stopped("3 7 11 15 19");
    use_by_rest(1, 1, 20, false);
    stopped("4 1..3 8 5..7 12 9..11 16 13..15 20 17..19");
    active(1, "4 8 12 16 20");
    use(2, 21, 24);
    use(3, 31, 31);
    stopped("4 8 22");
    use_by_rest(2, 21, 30, false);
    stopped("23 24 22 21 25 26 23 27 29");
    active(2, "24 28 30");
    use_by_rest(3, 31, 40, true);
    stopped("32 31 35 36 34 38 39");
    active(3, "33 37 40");
    passivate(1, 16);
    passivate(2, 24);
    passivate(3, 33);
    use_by_place(1, 11);
    use_by_place(2, 21);
    use_by_place(3, 31);
    stopped("11 21 30 40 31");
    active(1, "12 13 20");
    active(2, "22 23 28");
    active(3, "32 33 37");
    cast_fini(&cast);
}

static void dynamic_aging_lets_popular_entities_leave(void **state)
{
    (void)state;
    begin("LFUDA", 10);
    for (uint32_t slot = 1; slot <= 5; slot++)
        use_often(slot, slot <= 2 ? 5 : 10);
    use(1, 6, 20);
    stopped("6..15");
    use(2, 21, 21);
    stopped("16..20");
    use(1, 6, 10);
    active(1, "3..5 9 10");
    use(1, 11, 15);
    active(1, "3..5 14 15");
    use(1, 16, 20);
    active(1, "16..20");
    stopped("1 2 6..13 3..5 14 15");
    cast_fini(&cast);
}

/* --- composite --- */

static void begin_filtered(uint32_t limit)
{
    begin("FS", limit);
    cast.settings.window_share = 0.2;
    cast.settings.main.shares[0] = 0.25;
    cast.settings.main.shares[1] = 0.75;
}

static void a_filter_protects_the_main_area(void **state)
{
    (void)state;
    begin_filtered(20);
    use(1, 1, 40);
    stopped("17..36");
    active(1, "1..16 37..40");
    use(1, 1, 20);
    stopped("37..40");
    active(1, "1..20");
    for (uint32_t slot = 17; slot <= 20; slot++)
        use_often(slot, 5);
    stopped("");
    use(1, 21, 24);
    stopped("1..4");
    use(1, 25, 28);
    stopped("21..24");
    active(1, "5..20 25..28");
    use(2, 41, 41);
    stopped("25 26 17..20 5..8");
    active(1, "9..16 27 28");
    use(1, 17, 20);
    stopped("27 28 9 10");
    active(1, "11..20");
    active(2, "41");
    cast_fini(&cast);
}

static void a_filter_works_without_a_window(void **state)
{
    (void)state;
    begin("FS", 10);
    cast.settings.window.policy = PASSIVATION_NONE;
    cast.settings.main.levels = 0;
    use(1, 1, 20);
    stopped("11..20");
    for (uint32_t slot = 11; slot <= 20; slot++)
        use_often(slot, 5);
    stopped("1..10");
    active(1, "11..20");
    for (uint32_t slot = 1; slot <= 10; slot++)
        use_often(slot, 2);
    stopped("1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 9 9 10 10");
    use(2, 21, 21);
    stopped("11..15");
    use(1, 1, 10);
    stopped("16..20 6..10");
    active(1, "1..5");
    cast_fini(&cast);
}

static void begin_adaptive(void)
{
    begin("HC", 10);
    cast.settings.main.levels = 0;
    cast.settings.window_share = cast.settings.window_share_min = 0.1;
    cast.settings.climb = (struct climb_settings){ 2, 0.4, 0.8, 0.5 };
    cast.settings.filter.reset_multiplier = 100;
}

static void use_each(uint32_t first, uint32_t last, uint32_t times)
{
    for (uint32_t slot = first; slot <= last; slot++)
        use_often(slot, times);
}

static void a_window_adapts_to_the_rate_of_hits(void **state)
{
    (void)state;
    begin_adaptive();
    use_each(1, 10, 10);
    for (uint32_t i = 0; i < 4; i++)
        use(1, 11, 20);
    stopped("10..19 20 11..19 20 11..19 20 11..19");
    active(1, "1..9 20");
    assert_int_equal(strategy_window_limit(cast.shards[1]), 5);
    use_each(21, 30, 2);
    stopped("20 1..4 21..25");
    active(1, "5..9 26..30");
    assert_int_equal(strategy_window_limit(cast.shards[1]), 7);
    use_each(21, 24, 5);
    stopped("26..29");
    active(1, "5..9 21..24 30");
    assert_int_equal(strategy_window_limit(cast.shards[1]), 8);
    use(1, 31, 40);
    stopped("30 5 6 21..24 7 31 32");
    use(1, 31, 40);
    stopped("33..40 31 32");
    active(1, "8 9 33..40");
    assert_int_equal(strategy_window_limit(cast.shards[1]), 7);
    use_each(41, 50, 2);
    stopped("34..43");
    active(1, "8 9 33 44..50");
    assert_int_equal(strategy_window_limit(cast.shards[1]), 3);
    use_each(51, 60, 2);
    stopped("48..57");
    active(1, "8 9 33 44..47 58..60");
    assert_int_equal(strategy_window_limit(cast.shards[1]), 1);
    use(1, 61, 70);
    stopped("60..69");
    cast_fini(&cast);
}

static void a_new_limit_reaches_window_and_main_area(void **state)
{
    (void)state;
    begin_filtered(20);
    use(1, 1, 40);
    stopped("17..36");
    use(2, 41, 41);
    stopped("37 38 1..8");
    active(1, "9..16 39 40");
    cast_set_limit(&cast, 10);
    stopped("39 9..12");
    active(1, "13..16 40");
    use(1, 1, 10);
    stopped("40 13..16 5..9");
    active(1, "1..4 10");
    cast_set_limit(&cast, 30);
    use(1, 1, 20);
    stopped("13..17");
    active(1, "1..12 18..20");
    cast_fini(&cast);
}

/* --- limits at their ends --- */

static const char *const all_names[] = { "LRU", "SLRU", "S4LRU", "MRU", "LFU", "LFUDA", "FS", "HC" };

#define ALL_NAMES (sizeof all_names / sizeof all_names[0])

static void no_limit_is_exceeded_by_more_than_the_used_one(void **state)
{
    static const uint32_t limits[] = { 0, 1, 2, 3, 7 };
    (void)state;

    for (size_t i = 0; i < ALL_NAMES; i++)
        for (size_t k = 0; k < sizeof limits / sizeof limits[0]; k++) {
            begin(all_names[i], limits[k]);
            for (uint32_t round = 0; round < 300; round++) {
                use(1, round * 7 % 11 + 1, round * 7 % 11 + 1);
                assert_true(strategy_active(cast.shards[1]) <= limits[k] + (limits[k] == 0));
            }
            cast_fini(&cast);
        }
}

static void a_huge_limit_passivates_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALL_NAMES; i++) {
        begin(all_names[i], UINT32_MAX);
        use(1, 1, 50000);
        use(1, 1, 50000);
        stopped("");
        assert_int_equal(strategy_active(cast.shards[1]), 50000);
        cast_set_limit(&cast, 0);
        assert_int_equal(cast.stopped.count, 50000);
        cast_fini(&cast);
    }
}

/* --- hill climbing --- */

static void near(double value, double wanted)
{
    double difference = value - wanted;

    assert_true(difference < 1e-12 && difference > -1e-12);
}

static double period(struct climb *climb, uint32_t hits)
{
    double change = 0;

    for (uint32_t i = 0; i < 10; i++) {
        assert_true(change == 0);
        change = climb_use(climb, i < hits);
    }
    return change;
}

static void the_window_shrinks_first_SHD154(void **state)
{
    struct climb climb;
    (void)state;

    climb_init(&climb, &(struct climb_settings){ 2, 0.123, 0.05, 0.5 }, 5);
    near(period(&climb, 0), -0.123);
}

static void steps_decay_while_nothing_changes_SHD155_SHD156(void **state)
{
    struct climb climb;
    double step = -0.1;
    (void)state;

    climb_init(&climb, &(struct climb_settings){ 2, 0.1, 0.05, 0.5 }, 5);
    for (uint32_t i = 0; i < 10; i++, step *= 0.5)
        near(period(&climb, 0), step);
}

static void a_jump_of_the_rate_restores_the_first_step(void **state)
{
    struct climb climb;
    double step = -0.1;
    (void)state;

    climb_init(&climb, &(struct climb_settings){ 2, 0.1, 0.05, 0.5 }, 5);
    for (uint32_t i = 0; i < 10; i++, step = i == 5 ? -0.1 : step * 0.5)
        near(period(&climb, i < 4 ? 0 : 10), step);
}

static void a_falling_rate_turns_the_direction(void **state)
{
    struct climb climb;
    (void)state;

    climb_init(&climb, &(struct climb_settings){ 2, 0.1, 0.05, 0.5 }, 5);
    for (uint32_t i = 0; i < 50; i++)
        assert_true((period(&climb, 10 - i / 5) < 0) == (i / 5 % 2 == 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_recent_leave_SHD164),
        cmocka_unit_test(segments_protect_entities_that_were_used_again),
        cmocka_unit_test(a_new_limit_of_the_region_reaches_all_shards_SHD167),
        cmocka_unit_test(a_new_limit_reaches_segments),
        cmocka_unit_test(entities_rise_and_fall_through_segments),
        cmocka_unit_test(the_most_recent_leave_SHD169),
        cmocka_unit_test(the_least_frequent_leave),
        cmocka_unit_test(dynamic_aging_lets_popular_entities_leave),
        cmocka_unit_test(a_filter_protects_the_main_area),
        cmocka_unit_test(a_filter_works_without_a_window),
        cmocka_unit_test(a_window_adapts_to_the_rate_of_hits),
        cmocka_unit_test(a_new_limit_reaches_window_and_main_area),
        cmocka_unit_test(no_limit_is_exceeded_by_more_than_the_used_one),
        cmocka_unit_test(a_huge_limit_passivates_nothing),
        cmocka_unit_test(the_window_shrinks_first_SHD154),
        cmocka_unit_test(steps_decay_while_nothing_changes_SHD155_SHD156),
        cmocka_unit_test(a_jump_of_the_rate_restores_the_first_step),
        cmocka_unit_test(a_falling_rate_turns_the_direction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
