/* Checks the sketch that estimates how often entities are used: the cases of Akka's tests, and its
 * positions. */
#include "passivation_cast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/rng.h"

static uint32_t murmur_mix(uint32_t hash, uint32_t data)
{
    data *= 0xcc9e2d51u;
    return hash ^ ((data << 15 | data >> 17) * 0x1b873593u);
}

/* The hash of a text that Akka's general sketch uses: MurmurHash3 with its default seed. */
static uint32_t murmur_text(const char *text)
{
    uint32_t hash = 135283237, size = (uint32_t)strlen(text), i = 0;

    for (; i + 1 < size; i += 2) {
        hash = murmur_mix(hash, (uint32_t)text[i] << 16 | (uint8_t)text[i + 1]);
        hash = (hash << 13 | hash >> 19) * 5 + 0xe6546b64u;
    }
    if (i < size)
        hash = murmur_mix(hash, (uint8_t)text[i]);
    hash ^= size;
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

/* Akka has a general sketch, and a fast one for a depth of 4 and 4 bits. */
struct kind {
    struct sketch_settings settings;
    uint32_t capacity;
    bool is_fast;
};

static void begin(struct sketch *sketch, const struct kind *kind)
{
    sketch_init(sketch, &kind->settings, kind->capacity);
    sketch->is_fast = kind->is_fast; /* the general one has the same sizes */
}

static uint32_t key_of(const struct sketch *sketch, const char *text)
{
    return sketch->is_fast ? (uint32_t)hash_java(slice_text(text)) : murmur_text(text);
}

static uint32_t key(const struct sketch *sketch, uint32_t id)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%u", id);
    return key_of(sketch, text);
}

static void put(struct sketch *sketch, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i <= last; i++)
        sketch_add(sketch, key(sketch, i));
}

static void put_often(struct sketch *sketch, const char *text, uint32_t times)
{
    while (times--)
        sketch_add(sketch, key_of(sketch, text));
}

static uint64_t frequency(const struct sketch *sketch, const char *text)
{
    return sketch_frequency(sketch, key_of(sketch, text));
}

static void positions_are_those_of_akka(void **state)
{
    static const struct {
        const char *id;
        uint32_t fast[4], wide[4];
        int32_t hash;
        uint32_t general[4];
    } rows[] = {
        { "foo", { 29, 93, 312, 181 }, { 35869, 27741, 44856, 6325 }, 537187922,
          { 82, 204, 326, 448 } },
        { "bar", { 162, 309, 195, 322 }, { 59554, 3893, 34499, 17730 }, -185253344,
          { 32, 29, 26, 23 } },
        { "baz", { 400, 113, 65, 484 }, { 0 }, -478924459, { 341, 171, 1, 343 } },
        { "1", { 177, 256, 215, 115 }, { 0 }, 601033633, { 417, 165, 425, 173 } },
        { "500", { 393, 11, 498, 157 }, { 0 }, 349855152, { 432, 450, 468, 486 } },
        { "entity-1", { 234, 71, 372, 168 }, { 12010, 24647, 64372, 57512 }, 0, { 0 } },
    };
    struct sketch fast, wide, general;
    (void)state;

    sketch_init(&fast, &(struct sketch_settings){ 4, 4, 4, 10 }, 100);
    sketch_init(&wide, &(struct sketch_settings){ 4, 4, 4, 10 }, 16384);
    sketch_init(&general, &(struct sketch_settings){ 4, 8, 4, 10 }, 100);
    assert_int_equal(fast.width, 512);
    assert_int_equal(wide.width, 65536);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (uint32_t row = 0; row < 4; row++) {
            uint32_t hash = (uint32_t)hash_java(slice_text(rows[i].id));

            assert_int_equal(sketch_position(&fast, hash, row), rows[i].fast[row]);
            if (rows[i].wide[0])
                assert_int_equal(sketch_position(&wide, hash, row), rows[i].wide[row]);
            assert_true(!rows[i].hash || murmur_text(rows[i].id) == (uint32_t)rows[i].hash);
            if (rows[i].hash)
                assert_int_equal(sketch_position(&general, (uint32_t)rows[i].hash, row),
                                 rows[i].general[row]);
        }
    sketch_fini(&fast);
    sketch_fini(&wide);
    sketch_fini(&general);
}

static void put_three(struct sketch *sketch)
{
    put_often(sketch, "foo", 1);
    put_often(sketch, "bar", 2);
    put_often(sketch, "baz", 3);
    assert_int_equal(frequency(sketch, "foo"), 1);
    assert_int_equal(frequency(sketch, "bar"), 2);
    assert_int_equal(frequency(sketch, "baz"), 3);
    assert_int_equal(sketch->size, 6);
}

static void uses_are_counted(void **state)
{
    struct sketch sketch;

    begin(&sketch, *state);
    put_three(&sketch);
    sketch_fini(&sketch);
}

static void counters_stay_at_15(void **state)
{
    struct sketch sketch;

    begin(&sketch, *state);
    put_often(&sketch, "foo", 20);
    assert_int_equal(frequency(&sketch, "foo"), 15);
    assert_int_equal(sketch.size, 15);
    sketch_fini(&sketch);
}

/* Counts the keys whose frequency is not half of that before. */
static uint32_t not_halved(const struct sketch *sketch, const uint64_t *before, uint32_t last)
{
    uint32_t count = 0;

    for (uint32_t i = 1; i <= last; i++)
        count += sketch_frequency(sketch, key(sketch, i)) != before[i] / 2;
    return count;
}

static void note_frequencies(const struct sketch *sketch, uint64_t *before, uint32_t last)
{
    for (uint32_t i = 1; i <= last; i++)
        before[i] = sketch_frequency(sketch, key(sketch, i));
}

/* The last key may collide in each of the four rows. */
static void a_full_sketch_halves_its_counters(void **state)
{
    uint64_t before[1000];
    struct sketch sketch;

    begin(&sketch, *state);
    put(&sketch, 1, 500);
    put(&sketch, 1, 499);
    assert_int_equal(sketch.size, 999);
    note_frequencies(&sketch, before, 499);
    put(&sketch, 500, 500);
    assert_int_equal(sketch.size, 500);
    assert_true(not_halved(&sketch, before, 499) <= 4);
    put(&sketch, 501, 999);
    assert_int_equal(sketch.size, 999);
    note_frequencies(&sketch, before, 999);
    put(&sketch, 1000, 1000);
    assert_in_range(sketch.size, 301, 499);
    assert_true(not_halved(&sketch, before, 999) <= 4);
    sketch_fini(&sketch);
}

static void popular_keys_keep_their_order(void **state)
{
    struct sketch sketch;
    uint64_t last;

    begin(&sketch, *state);
    put(&sketch, 1000, 10000); /* noise */
    for (uint32_t i = 1; i <= 5; i++)
        for (uint32_t k = 0; k < (6 - i) * 2; k++)
            put(&sketch, i, i);
    last = sketch_frequency(&sketch, key(&sketch, 5));
    for (uint32_t i = 1; i <= 5; i++)
        assert_true(sketch_frequency(&sketch, key(&sketch, i)) >=
                    sketch_frequency(&sketch, key(&sketch, i + 1)));
    for (uint32_t i = 6; i <= 10; i++)
        assert_true(last >= sketch_frequency(&sketch, key(&sketch, i)));
    sketch_fini(&sketch);
}

#define IDS 1000
#define POPULAR 100

struct use {
    uint32_t id;
    uint32_t count;
};

static int compare_uses(const void *left, const void *right)
{
    uint32_t first = ((const struct use *)left)->count;
    uint32_t second = ((const struct use *)right)->count;

    return (first < second) - (first > second);
}

/* Draws ids with the probabilities of Zipf's law. */
static void put_zipfian(struct sketch *sketch, struct use *uses)
{
    double sums[IDS], sum = 0;
    struct rng rng;

    rng_init(&rng, 11);
    for (uint32_t i = 0; i < IDS; i++) {
        uses[i] = (struct use){ i + 1, 0 };
        sums[i] = sum += 1 / (double)(i + 1);
    }
    for (uint32_t i = 0; i < 100 * IDS; i++) {
        double drawn = sum * (double)rng_below(&rng, 1u << 30) / (1u << 30);
        uint32_t index = 0;

        while (sums[index] <= drawn)
            index++;
        uses[index].count++;
        put(sketch, index + 1, index + 1);
    }
    qsort(uses, IDS, sizeof *uses, compare_uses);
}

static void popular_ids_of_a_zipfian_distribution_are_found(void **state)
{
    struct use uses[IDS];
    struct sketch sketch;
    uint32_t right = 0, all = 0;

    begin(&sketch, *state);
    put_zipfian(&sketch, uses);
    for (uint32_t i = 0; i < POPULAR; i++) {
        uint64_t popular = sketch_frequency(&sketch, key(&sketch, uses[i].id));

        for (uint32_t j = i + 1; j < IDS && uses[j].count; j++, all++)
            right += popular >= sketch_frequency(&sketch, key(&sketch, uses[j].id));
    }
    assert_true(right > all * 0.95);
    sketch_fini(&sketch);
}

/* Fills one counter, if that is possible in a short time, then the whole sketch. */
static void counters_have_the_configured_size(void **state)
{
    const struct kind *kind = *state;
    uint64_t most = kind->settings.bits > 16 ? 1 : ((uint64_t)1 << kind->settings.bits) - 1;
    uint64_t full = (uint64_t)(kind->settings.reset_multiplier * kind->capacity);
    struct sketch sketch;

    begin(&sketch, kind);
    put_three(&sketch);
    if (most > 1)
        put_often(&sketch, "foo", (uint32_t)most + 10);
    assert_int_equal(frequency(&sketch, "foo"), most);
    assert_int_equal(sketch.size, 6 + most - 1);
    put(&sketch, 1, (uint32_t)(full - 1 - sketch.size));
    assert_int_equal(sketch.size, full - 1);
    put_often(&sketch, "qux", 1);
    assert_true(sketch.size <= full / 2);
    sketch_fini(&sketch);
}

static void one_counter_counts_all_keys(void **state)
{
    struct sketch sketch;

    begin(&sketch, *state);
    put_often(&sketch, "foo", 1);
    put_often(&sketch, "bar", 1);
    assert_int_equal(frequency(&sketch, "foo"), 2);
    assert_int_equal(frequency(&sketch, "bar"), 2);
    sketch_fini(&sketch);
}

/* In 32 bits, four times the next power of two would be 0. Akka refuses such a width. */
static void a_huge_capacity_has_a_bounded_width_PKO052_PKO055(void **state)
{
    struct sketch sketch;
    (void)state;

    sketch_init(&sketch, &(struct sketch_settings){ 1, 2, 4, 10 }, 536870913);
    assert_int_equal(sketch.width, SKETCH_WIDTH_MAX);
    sketch_fini(&sketch);
    sketch_init(&sketch, &(struct sketch_settings){ 1, 2, 2147483647, 10 }, 100);
    assert_int_equal(sketch.width, SKETCH_WIDTH_MAX);
    sketch_fini(&sketch);
}

#define GENERAL &(struct kind){ { 4, 4, 4, 10 }, 100, false }
#define FAST &(struct kind){ { 4, 4, 4, 10 }, 100, true }
#define BITS(bits, reset) &(struct kind){ { 4, bits, 4, reset }, 100, false }
#define ROW(name, test, kind) { #name, test, NULL, NULL, kind }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_are_those_of_akka),
        ROW(the_general_sketch_counts_uses_UTL009, uses_are_counted, GENERAL),
        ROW(the_fast_sketch_counts_uses_UTL020, uses_are_counted, FAST),
        ROW(counters_of_the_general_sketch_stay_at_15_UTL010, counters_stay_at_15, GENERAL),
        ROW(counters_of_the_fast_sketch_stay_at_15_UTL021, counters_stay_at_15, FAST),
        ROW(a_full_general_sketch_halves_its_counters, a_full_sketch_halves_its_counters,
            GENERAL),
        ROW(a_full_fast_sketch_halves_its_counters, a_full_sketch_halves_its_counters, FAST),
        ROW(the_general_sketch_keeps_the_order_of_popular_keys_UTL012,
            popular_keys_keep_their_order, GENERAL),
        ROW(the_fast_sketch_keeps_the_order_of_popular_keys_UTL023,
            popular_keys_keep_their_order, FAST),
        ROW(the_general_sketch_finds_popular_ids,
            popular_ids_of_a_zipfian_distribution_are_found, GENERAL),
        ROW(the_fast_sketch_finds_popular_ids_UTL024,
            popular_ids_of_a_zipfian_distribution_are_found, FAST),
        ROW(counters_may_have_2_bits_UTL014, counters_have_the_configured_size, BITS(2, 1)),
        ROW(counters_may_have_8_bits_UTL015, counters_have_the_configured_size, BITS(8, 10)),
        ROW(counters_may_have_16_bits_UTL016, counters_have_the_configured_size,
            BITS(16, 1000)),
        ROW(counters_may_have_32_bits_UTL017, counters_have_the_configured_size, BITS(32, 10)),
        ROW(counters_may_have_64_bits_UTL018, counters_have_the_configured_size, BITS(64, 10)),
        ROW(a_sketch_may_have_one_counter_UTL019, one_counter_counts_all_keys,
            (&(struct kind){ { 1, 64, 1, 10 }, 1, false })),
        cmocka_unit_test(a_huge_capacity_has_a_bounded_width_PKO052_PKO055),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
