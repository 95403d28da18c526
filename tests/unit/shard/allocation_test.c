/* Tests both least-shard algorithms against Akka's own tables, and in random rounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/vec.h"
#include "shard/allocation.h"

#define NO_LIMIT 1000000

/* Regions with their shards, dealt to the first region, then the next. */
struct world {
    struct allocation_region regions[100];
    VEC(struct allocation_shard) lists[100];
    VEC(char *) ids;
    uint32_t count;
    uint32_t moving;
};

static struct world *deal(uint32_t count, const uint32_t *counts)
{
    struct world *world = mem_alloc(sizeof *world);
    uint32_t number = 0;

    world->count = count;
    for (uint32_t i = 0; i < count; i++) {
        world->regions[i].region = i;
        world->regions[i].status = MEMBER_UP;
        for (uint32_t j = 0; j < counts[i]; j++) {
            char text[16];
            char *id;

            snprintf(text, sizeof text, "%03u", ++number);
            id = mem_text(text);
            vec_push(&world->ids, id);
            vec_push(&world->lists[i], ((struct allocation_shard){
                                           slice_text(id), number, false }));
        }
    }
    return world;
}

static void drop(struct world *world)
{
    for (uint32_t i = 0; i < world->ids.count; i++)
        mem_free(world->ids.items[i]);
    for (uint32_t i = 0; i < world->count; i++)
        vec_fini(&world->lists[i]);
    vec_fini(&world->ids);
    mem_free(world);
}

static void lend(struct world *world)
{
    for (uint32_t i = 0; i < world->count; i++) {
        world->regions[i].shards = world->lists[i].items;
        world->regions[i].shard_count = world->lists[i].count;
    }
}

static uint32_t ask(struct world *world, const struct allocation_limits *limits,
                    bool calm, uint32_t *chosen)
{
    lend(world);
    return allocation_rebalance(limits, world->regions, world->count,
                                world->moving, calm, chosen);
}

static void expect(struct world *world, const struct allocation_limits *limits,
                   const char *text)
{
    uint32_t *chosen = mem_alloc(20000 * sizeof *chosen);
    uint32_t found = ask(world, limits, true, chosen);
    char line[1024] = "";

    for (uint32_t i = 0; i < found; i++)
        snprintf(line + strlen(line), sizeof line - strlen(line), "%s%03u",
                 i ? " " : "", chosen[i]);
    assert_string_equal(line, text);
    mem_free(chosen);
}

static struct allocation_shard take(struct world *world, uint32_t number)
{
    for (uint32_t i = 0; i < world->count; i++) {
        for (uint32_t j = 0; j < world->lists[i].count; j++) {
            struct allocation_shard shard = world->lists[i].items[j];

            if (shard.shard != number)
                continue;
            vec_remove(&world->lists[i], j);
            return shard;
        }
    }
    fail_msg("no shard %u", number);
    return (struct allocation_shard){ 0 };
}

/* Returns the number of moves. */
static uint32_t round_of(struct world *world,
                         const struct allocation_limits *limits)
{
    uint32_t *chosen = mem_alloc(20000 * sizeof *chosen);
    uint32_t found = ask(world, limits, true, chosen);
    struct allocation_shard *moved = mem_alloc(20000 * sizeof *moved);

    for (uint32_t i = 0; i < found; i++)
        moved[i] = take(world, chosen[i]);
    for (uint32_t i = 0; i < found; i++) {
        uint32_t region;

        lend(world);
        region = allocation_choose(world->regions, world->count);
        vec_push(&world->lists[region], moved[i]);
    }
    mem_free(moved);
    mem_free(chosen);
    return found;
}

static void counts_are(struct world *world, uint32_t a, uint32_t b, uint32_t c)
{
    assert_int_equal(world->lists[0].count, a);
    assert_int_equal(world->lists[1].count, b);
    assert_int_equal(world->lists[2].count, c);
}

static void move(struct world *world, uint32_t number)
{
    for (uint32_t i = 0; i < world->count; i++) {
        for (uint32_t j = 0; j < world->lists[i].count; j++) {
            if (world->lists[i].items[j].shard == number) {
                world->lists[i].items[j].is_moving = true;
                world->moving++;
            }
        }
    }
}

static const struct allocation_limits unlimited = { NO_LIMIT, 1.0, 1, 3 };

static void check_balance(const struct world *world, uint32_t regions,
                          uint32_t total)
{
    uint32_t least = UINT32_MAX;
    uint32_t most = 0;

    for (uint32_t k = 0; k < regions; k++) {
        uint32_t here = world->lists[k].count;

        least = here < least ? here : least;
        most = here > most ? here : most;
        total -= here;
    }
    assert_int_equal(total, 0);
    assert_true(most - least <= 1);
}

/* Limits, shards of three regions, what moves, shards after it, what moves next. */
struct rebalance {
    struct allocation_limits limits;
    uint32_t counts[3];
    const char *first;
    uint32_t after[3];
    const char *next;
};

static void a_rebalance_moves_as_in_akka(void **state)
{
    const struct rebalance *row = *state;
    struct world *world = deal(3, row->counts);

    expect(world, &row->limits, row->first);
    (void)round_of(world, &row->limits);
    counts_are(world, row->after[0], row->after[1], row->after[2]);
    if (row->next) {
        expect(world, &row->limits, row->next);
        (void)round_of(world, &row->limits);
        check_balance(world, 3, row->counts[0] + row->counts[1] + row->counts[2]);
    }
    drop(world);
}

static void a_new_shard_goes_to_the_region_with_the_fewest_shards_SHD098_SHD057(
    void **state)
{
    struct world *world = deal(3, (uint32_t[]){ 1, 1, 0 });
    (void)state;

    lend(world);
    assert_int_equal(allocation_choose(world->regions, 3), 2);
    assert_int_equal(allocation_choose(world->regions, 2), 0); /* ties go to the first */
    assert_int_equal(allocation_choose(world->regions, 0), ALLOCATION_NONE);
    drop(world);
}

static void nothing_moves_while_hand_offs_are_in_progress_SHD109(void **state)
{
    struct world *world = deal(3, (uint32_t[]){ 10, 0, 0 });
    (void)state;

    move(world, 2);
    move(world, 3);
    expect(world, &unlimited, "");
    drop(world);
}

static void no_shard_moves_in_a_cluster_that_is_not_calm(void **state)
{
    struct allocation_limits old = { 0, 0.1, 1, 10 };
    struct world *world = deal(3, (uint32_t[]){ 0, 5, 1 });
    uint32_t chosen[8];
    (void)state;

    assert_int_equal(ask(world, &unlimited, false, chosen), 0);
    assert_int_equal(ask(world, &old, false, chosen), 0);
    assert_int_equal(ask(world, &unlimited, true, chosen), 3);
    assert_int_equal(ask(world, &old, true, chosen), 1);
    drop(world);
}

static void no_shard_moves_during_a_rolling_update_SHD111_SHD073(void **state)
{
    struct allocation_limits old = { 0, 0.1, 1, 10 };
    struct world *world = deal(3, (uint32_t[]){ 0, 5, 1 });
    uint32_t chosen[8];
    (void)state;

    world->regions[1].version.numbers[0] = 1;
    assert_int_equal(ask(world, &unlimited, true, chosen), 0);
    assert_int_equal(ask(world, &old, true, chosen), 0);
    world->regions[0].version.numbers[0] = 1;
    world->regions[2].version.numbers[0] = 1;
    assert_int_equal(ask(world, &unlimited, true, chosen), 3);
    assert_int_equal(ask(world, &old, true, chosen), 1);
    drop(world);
}

/* Akka's order of suitability. */
static void a_new_shard_goes_to_the_newest_version(void **state)
{
    struct world *world = deal(3, (uint32_t[]){ 0, 5, 1 });
    (void)state;

    lend(world);
    /* The newest version wins despite more shards; a leaving member comes last. */
    world->regions[1].version.numbers[0] = 1;
    assert_int_equal(allocation_choose(world->regions, 3), 1);
    world->regions[1].status = MEMBER_LEAVING;
    assert_int_equal(allocation_choose(world->regions, 3), 0);
    world->regions[0].status = MEMBER_DOWN;
    assert_int_equal(allocation_choose(world->regions, 3), 2);
    /* A release is newer than its milestones. */
    world->regions[0].status = world->regions[1].status = MEMBER_UP;
    world->regions[2].version.numbers[0] = 1;
    world->regions[2].version.rest = "M1";
    assert_int_equal(allocation_choose(world->regions, 3), 1);
    world->regions[1].version.rest = "M2";
    assert_int_equal(allocation_choose(world->regions, 3), 1);
    world->regions[2].version.rest = "";
    assert_int_equal(allocation_choose(world->regions, 3), 2);
    drop(world);
}

/* Threshold and limit, shards of three regions, what moves in each round. Earlier choices count as
 * in progress. */
struct old_rebalance {
    uint32_t threshold;
    uint32_t limit;
    uint32_t counts[3];
    const char *rounds[3];
};

static void the_old_algorithm_moves_as_in_akka(void **state)
{
    const struct old_rebalance *row = *state;
    struct allocation_limits limits = { 0, 0.1, row->threshold, row->limit };
    struct world *world = deal(3, row->counts);

    for (int j = 0; j < 3 && row->rounds[j]; j++) {
        uint32_t chosen[8];
        uint32_t found = ask(world, &limits, true, chosen);

        expect(world, &limits, row->rounds[j]);
        for (uint32_t k = 0; k < found; k++)
            move(world, chosen[k]);
    }
    drop(world);
}

static void shards_in_progress_do_not_count(void **state)
{
    struct allocation_limits limits = { 0, 0.1, 3, 4 };
    struct world *world = deal(3, (uint32_t[]){ 10, 0, 0 });
    (void)state;

    move(world, 2);
    move(world, 3);
    expect(world, &limits, "001 004");
    drop(world);
}

/* The most regions and shards on each, and the rounds until they are in balance. */
struct random_clusters {
    uint32_t regions;
    uint32_t shards;
    uint32_t rounds;
    bool limited;
};

static void random_clusters_reach_balance(void **state)
{
    const struct random_clusters *row = *state;
    struct rng rng;

    rng_init(&rng, 7);
    for (int j = 0; j < 10; j++) {
        struct allocation_limits limits = unlimited;
        uint32_t counts[100];
        uint32_t regions = 1 + (uint32_t)rng_below(&rng, row->regions);
        uint32_t rounds = 0;
        uint32_t total = 0;
        struct world *world;

        for (uint32_t k = 0; k < regions; k++) {
            counts[k] = (uint32_t)rng_below(&rng, row->shards);
            total += counts[k];
        }
        if (row->limited) {
            limits.absolute_limit = 6 + (uint32_t)rng_below(&rng, 7);
            limits.relative_limit =
                0.05 + 0.95 * (double)rng_below(&rng, 100) / 100;
        }
        world = deal(regions, counts);
        while (round_of(world, &limits))
            rounds++;
        check_balance(world, regions, total);
        assert_true(rounds <= row->rounds);
        drop(world);
    }
}

/* Each of these is a test of Akka's. */
#define REBALANCE(name, ...) \
    { #name, a_rebalance_moves_as_in_akka, NULL, NULL, &(struct rebalance){ __VA_ARGS__ } }
#define OLD(name, ...) \
    { #name, the_old_algorithm_moves_as_in_akka, NULL, NULL, \
      &(struct old_rebalance){ __VA_ARGS__ } }
#define RANDOM(name, ...) \
    { #name, random_clusters_reach_balance, NULL, NULL, \
      &(struct random_clusters){ __VA_ARGS__ } }
#define UNLIMITED { NO_LIMIT, 1.0, 1, 3 }

int main(void)
{
    const struct CMUnitTest tests[] = {
        REBALANCE(rebalance_of_1_2_0_reaches_the_optimum_SHD099, UNLIMITED,
                  { 1, 2, 0 }, "002", { 1, 1, 1 }, ""),
        REBALANCE(rebalance_of_2_0_0_reaches_the_optimum_SHD100, UNLIMITED,
                  { 2, 0, 0 }, "001", { 1, 1, 0 }, ""),
        REBALANCE(rebalance_of_1_1_0_moves_nothing_SHD101, UNLIMITED,
                  { 1, 1, 0 }, "", { 1, 1, 0 }, ""),
        REBALANCE(rebalance_of_3_0_0_reaches_the_optimum_SHD102, UNLIMITED,
                  { 3, 0, 0 }, "001 002", { 1, 1, 1 }, ""),
        REBALANCE(rebalance_of_4_4_0_reaches_the_optimum_SHD103, UNLIMITED,
                  { 4, 4, 0 }, "001 005", { 3, 3, 2 }, ""),
        REBALANCE(rebalance_of_4_4_2_reaches_the_optimum, UNLIMITED,
                  { 4, 4, 2 }, "001", { 3, 4, 3 }, ""),
        REBALANCE(rebalance_of_5_5_0_takes_two_rounds_SHD105, UNLIMITED,
                  { 5, 5, 0 }, "001 006", { 4, 4, 2 }, "002"),
        REBALANCE(rebalance_of_50_50_0_takes_two_rounds, UNLIMITED,
                  { 50, 50, 0 },
                  "001 002 003 004 005 006 007 008 009 010 011 012 013 014 "
                  "015 016 051 052 053 054 055 056 057 058 059 060 061 062 "
                  "063 064 065 066",
                  { 34, 34, 32 }, "017"),
        REBALANCE(rebalance_moves_at_most_the_absolute_limit_SHD107,
                  { 3, 1.0, 1, 3 }, { 1, 9, 0 }, "002 003 004", { 2, 6, 2 },
                  NULL),
        REBALANCE(rebalance_moves_at_most_the_relative_limit_SHD108,
                  { 5, 0.3, 1, 3 }, { 1, 9, 0 }, "002 003 004", { 2, 6, 2 },
                  NULL),
        cmocka_unit_test(
            a_new_shard_goes_to_the_region_with_the_fewest_shards_SHD098_SHD057),
        cmocka_unit_test(nothing_moves_while_hand_offs_are_in_progress_SHD109),
        cmocka_unit_test(no_shard_moves_in_a_cluster_that_is_not_calm),
        cmocka_unit_test(no_shard_moves_during_a_rolling_update_SHD111_SHD073),
        cmocka_unit_test(a_new_shard_goes_to_the_newest_version),
        OLD(the_old_algorithm_moves_one_of_2_0_0_SHD058, 1, 10, { 2, 0, 0 },
            { "001", "" }),
        OLD(the_old_algorithm_moves_none_of_1_1_0_SHD059, 1, 10, { 1, 1, 0 },
            { "" }),
        OLD(the_old_algorithm_moves_one_of_1_2_0_SHD060, 1, 10, { 1, 2, 0 },
            { "002", "" }),
        OLD(the_old_algorithm_moves_two_of_3_0_0_SHD061, 1, 10, { 3, 0, 0 },
            { "001", "002" }),
        OLD(the_old_algorithm_moves_two_of_4_4_0_SHD062, 1, 10, { 4, 4, 0 },
            { "001", "005" }),
        OLD(the_old_algorithm_moves_two_of_4_4_2_SHD063, 1, 10, { 4, 4, 2 },
            { "001", "005" }),
        OLD(a_threshold_of_2_moves_one_of_1_3_0_SHD064, 2, 10, { 1, 3, 0 },
            { "002", "" }),
        OLD(a_threshold_of_2_moves_none_of_1_2_0_SHD064, 2, 10, { 1, 2, 0 },
            { "" }),
        OLD(a_threshold_of_2_moves_none_of_2_2_0_SHD065, 2, 10, { 2, 2, 0 },
            { "" }),
        OLD(a_threshold_of_2_moves_two_of_3_3_0_SHD066, 2, 10, { 3, 3, 0 },
            { "001", "004", "" }),
        OLD(a_threshold_of_2_moves_four_of_4_4_0, 2, 10, { 4, 4, 0 },
            { "001 002", "005 006", "" }),
        OLD(a_threshold_of_2_moves_five_of_5_5_0_SHD068, 2, 10, { 5, 5, 0 },
            { "001 002", "006 007", "003" }),
        OLD(a_threshold_of_2_moves_two_at_a_time, 2, 100, { 50, 50, 0 },
            { "001 002", "051 052", "003 004" }),
        OLD(the_old_algorithm_moves_at_most_its_limit_SHD070, 3, 2,
            { 1, 10, 0 }, { "002 003", "" }),
        cmocka_unit_test(shards_in_progress_do_not_count),
        RANDOM(five_regions_with_5_shards_need_two_rounds_SHD090, 5, 5, 2,
               false),
        RANDOM(five_regions_with_100_shards_need_two_rounds_SHD091, 5, 100, 2,
               false),
        RANDOM(twenty_regions_with_5_shards_need_two_rounds_SHD092, 20, 5, 2,
               false),
        RANDOM(twenty_regions_with_20_shards_need_two_rounds_SHD093, 20, 20, 2,
               false),
        RANDOM(twenty_regions_with_200_shards_need_five_rounds, 20, 200, 5,
               false),
        RANDOM(a_hundred_regions_with_100_shards_need_five_rounds_SHD095, 100,
               100, 5, false),
        RANDOM(limits_need_twenty_rounds, 20, 20, 20, true),
    };

    return cmocka_run_group_tests_name("allocation", tests, NULL, NULL);
}
