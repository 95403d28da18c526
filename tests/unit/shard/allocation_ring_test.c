/* Tests consistent hashing against Pekko's own cases, and its bound on the load. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "shard/allocation_ring.h"
#include "shard/shard_id.h"

#define REGIONS_MAX 50

/* Pekko's specification has the port 252525. */
static const char *const names[] = { "pekko://myapp@127.0.0.1:252525",
                                     "pekko://myapp@127.0.0.2:252525",
                                     "pekko://myapp@127.0.0.3:252525",
                                     "pekko://myapp@127.0.0.4:252525" };

/* Regions with their shards, in order of addresses. */
struct world {
    struct allocation_ring ring;
    struct allocation_region regions[REGIONS_MAX];
    VEC(struct allocation_shard) lists[REGIONS_MAX];
    uint32_t count;
};

/* set: a bit for each name that is a region. */
static void make(struct allocation_ring *ring, unsigned set, uint32_t at[4])
{
    struct slice slices[4];
    uint32_t count = 0;

    for (uint32_t i = 0; i < 4; i++) {
        if (!(set >> i & 1))
            continue;
        at[count] = i;
        slices[count++] = slice_text(names[i]);
    }
    allocation_ring_make(ring, slices, count);
}

/* Returns 'A' to 'D'. */
static char region_of(unsigned set, const char *shard)
{
    struct allocation_ring ring = { 0 };
    uint32_t at[4];
    uint32_t found;

    make(&ring, set, at);
    found = allocation_ring_find(&ring, slice_text(shard));
    allocation_ring_fini(&ring);
    return (char)('A' + at[found]);
}

enum { A = 1, B = 2, C = 4, D = 8 };

static void expect_regions(unsigned set, const char *regions)
{
    static const char *const shards[] = { "0", "1", "2", "3", "10", "14" };

    for (int i = 0; i < 6; i++)
        assert_int_equal(region_of(set, shards[i]), regions[i]);
}

static void a_shard_goes_to_the_next_point_on_the_ring_PKO005(void **state)
{
    (void)state;
    expect_regions(A | B | C, "CBAAAA");
    expect_regions(B, "BBBBBB");
}

static void other_shards_stay_when_a_region_goes_PKO006(void **state)
{
    (void)state;
    expect_regions(A | B, "ABAAAA");
}

static void other_shards_stay_when_a_region_comes(void **state)
{
    (void)state;
    expect_regions(A | B | C | D, "DBAAAA");
}

/* lists: shards of A, B and so on, separated by commas. */
static void deal(struct world *world, const char *const *lists, uint32_t count)
{
    uint32_t at[4];

    *world = (struct world){ .count = count };
    make(&world->ring, (1u << count) - 1, at);
    for (uint32_t i = 0; i < count; i++) {
        for (const char *text = lists[i]; *text;) {
            size_t size = strcspn(text, ",");
            int32_t number;

            assert_true(shard_parse(slice_of(text, size), &number));
            vec_push(&world->lists[i],
                     ((struct allocation_shard){ slice_of(text, size), (uint32_t)number, false }));
            text += size + (text[size] == ',');
        }
        world->regions[i] = (struct allocation_region){
            .region = i, .shards = world->lists[i].items, .shard_count = world->lists[i].count
        };
    }
}

static void fini(struct world *world)
{
    for (uint32_t i = 0; i < world->count; i++)
        vec_fini(&world->lists[i]);
    allocation_ring_fini(&world->ring);
}

static void expect_moves(const char *const *lists, uint32_t count, uint32_t limit,
                         const char *moving, const char *moves)
{
    struct world world;
    uint32_t chosen[8];
    uint32_t found;
    char text[64] = "";

    deal(&world, lists, count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < world.lists[i].count; j++)
            if (world.lists[i].items[j].id.size == 1 &&
                strchr(moving, world.lists[i].items[j].id.data[0]))
                world.lists[i].items[j].is_moving = true;
    found = allocation_ring_rebalance(&world.ring, world.regions, count, limit, chosen);
    for (uint32_t i = 0; i < found; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u", i ? " " : "", chosen[i]);
    assert_string_equal(text, moves);
    fini(&world);
}

static void nothing_moves_while_the_regions_stay_PKO008(void **state)
{
    static const char *const lists[] = { "2,10", "1", "0" };
    (void)state;

    expect_moves(lists, 3, 0, "", "");
}

static void a_new_region_takes_its_shards(void **state)
{
    static const char *const lists[] = { "2,3,10,14", "1", "0", "" };
    (void)state;

    expect_moves(lists, 4, 0, "", "0");
}

static void a_round_moves_at_most_the_limit_PKO010(void **state)
{
    static const char *const first[] = { "0,1,2,3,10,14", "", "", "" };
    static const char *const second[] = { "2,3,10,14", "1", "0", "" };
    static const char *const third[] = { "2,3,10,14", "1", "", "0" };
    (void)state;

    expect_moves(first, 4, 1, "", "0");
    expect_moves(first, 4, 2, "", "0 1");
    expect_moves(first, 4, 0, "", "0 1");
    expect_moves(second, 4, 2, "", "0");
    expect_moves(third, 4, 2, "", "");
}

static void shards_that_move_already_are_left_PKO011(void **state)
{
    static const char *const lists[] = { "0,1,2,3,10,14", "", "", "" };
    (void)state;

    expect_moves(lists, 4, 2, "01", "");
    expect_moves(lists, 4, 2, "0123", "");
    expect_moves(lists, 4, 2, "0", "1");
}

/* ---- bounded load ---- */

static void make_many(struct allocation_ring *ring, uint32_t count)
{
    static char texts[REGIONS_MAX][40];
    struct slice slices[REGIONS_MAX];

    for (uint32_t i = 0; i < count; i++) {
        snprintf(texts[i], sizeof texts[i], "akka://S@10.0.0.%02u:2551", i);
        slices[i] = slice_text(texts[i]);
    }
    allocation_ring_make(ring, slices, count);
}

static uint32_t home(const struct allocation_ring *ring, uint32_t shard)
{
    char text[SHARD_TEXT_MAX];

    return allocation_ring_find(ring, shard_text((int32_t)shard, text));
}

/* Returns the most shards of one region. */
static uint32_t most_of(const struct allocation_ring *ring, uint32_t regions, uint32_t shards)
{
    uint32_t counts[REGIONS_MAX] = { 0 };
    uint32_t most = 0;

    for (uint32_t i = 0; i < shards; i++)
        counts[home(ring, i)]++;
    for (uint32_t i = 0; i < regions; i++)
        most = counts[i] > most ? counts[i] : most;
    return most;
}

static void a_bound_limits_the_shards_of_a_region(void **state)
{
    static const struct {
        uint32_t regions, shards;
        double bound;
        uint32_t most;
    } rows[] = {
        { 10, 1000, 1.25, 125 }, { 10, 1000, 1.0, 100 }, { 3, 100, 1.0, 34 },
        { 7, 1000, 1.1, 158 },   { 50, 20, 1.0, 1 },     { 1, 20, 1.0, 20 },
    };
    struct allocation_ring ring = { 0 };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_many(&ring, rows[i].regions);
        if (rows[i].regions > 1)
            assert_true(most_of(&ring, rows[i].regions, rows[i].shards) > rows[i].most);
        allocation_ring_bound(&ring, rows[i].regions, rows[i].shards, rows[i].bound);
        assert_int_equal(most_of(&ring, rows[i].regions, rows[i].shards), rows[i].most);
    }
    allocation_ring_fini(&ring);
}

/* Numbers of JVM extractors can be negative. */
static void a_loose_bound_changes_nothing(void **state)
{
    struct allocation_ring plain = { 0 };
    struct allocation_ring bound = { 0 };
    (void)state;

    make_many(&plain, 10);
    make_many(&bound, 10);
    allocation_ring_bound(&bound, 10, 1000, 1000);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(home(&plain, i), home(&bound, i));
    allocation_ring_bound(&bound, 10, 1000, 1.0);
    for (int32_t i = -20; i < 0; i++) {
        char text[SHARD_TEXT_MAX];
        struct slice id = shard_text(i, text);

        assert_int_equal(allocation_ring_find(&plain, id), allocation_ring_find(&bound, id));
    }
    allocation_ring_fini(&plain);
    allocation_ring_fini(&bound);
}

/* With one more region, less than twice its part of the shards moves. */
static void few_shards_move_under_a_bound(void **state)
{
    struct allocation_ring before = { 0 };
    struct allocation_ring after = { 0 };
    uint32_t moves = 0;
    (void)state;

    make_many(&before, 10);
    make_many(&after, 11);
    allocation_ring_bound(&before, 10, 1000, 1.25);
    allocation_ring_bound(&after, 11, 1000, 1.25);
    for (uint32_t i = 0; i < 1000; i++)
        moves += home(&before, i) != home(&after, i);
    assert_in_range(moves, 1, 2 * 1000 / 11);
    allocation_ring_fini(&before);
    allocation_ring_fini(&after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_goes_to_the_next_point_on_the_ring_PKO005),
        cmocka_unit_test(other_shards_stay_when_a_region_goes_PKO006),
        cmocka_unit_test(other_shards_stay_when_a_region_comes),
        cmocka_unit_test(nothing_moves_while_the_regions_stay_PKO008),
        cmocka_unit_test(a_new_region_takes_its_shards),
        cmocka_unit_test(a_round_moves_at_most_the_limit_PKO010),
        cmocka_unit_test(shards_that_move_already_are_left_PKO011),
        cmocka_unit_test(a_bound_limits_the_shards_of_a_region),
        cmocka_unit_test(a_loose_bound_changes_nothing),
        cmocka_unit_test(few_shards_move_under_a_bound),
    };

    return cmocka_run_group_tests_name("allocation_ring", tests, NULL, NULL);
}
