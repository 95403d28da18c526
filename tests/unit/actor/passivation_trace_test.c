/* Compares whole traces with Akka's strategies: which entities stop, and in which order.
 *
 * The expected numbers are those of Akka 2.6.21's rules for the same accesses, played by its
 * simulator of passivation. */
#include "passivation_cast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"

#define ACCESSES 200000u

static const struct {
    const char *name;
    uint32_t activations[2]; /* with the limits 50 and 200, one shard */
    uint64_t digests[2];
    uint32_t divided_activations, divided_passivations; /* 10 shards in 2 regions, limit 100 */
} rows[] = {
    { "LRU", { 180127, 127018 }, { 0x1fc69b3de5cfb676, 0x13e44c86b9d140cb }, 126881, 126681 },
    { "SLRU", { 170225, 110925 }, { 0x81c932395e960034, 0x570a433801867e22 }, 111355, 111155 },
    { "S4LRU", { 170090, 110239 }, { 0x9858b699453aee8a, 0xbd71cc620797e5ae }, 110510, 110310 },
    { "MRU", { 192660, 169335 }, { 0xb259e31a7a2927b3, 0xb6fbd3c8b3ae18c4 }, 166571, 166371 },
    { "LFU", { 185886, 152185 }, { 0x794a77a3a45746eb, 0x1c4ae50e589f78b7 }, 151900, 151700 },
    { "LFUDA", { 176666, 115227 }, { 0x947b4b130e002640, 0x1283d70197fffa67 }, 115883, 115683 },
    { "FS", { 167030, 103934 }, { 0xd73ba9bf429b8cfa, 0xc2ddcfe7ee1f1b56 }, 103461, 103261 },
    { "HC", { 168755, 105387 }, { 0xab0f04467b458c51, 0x663928b5f03b68df }, 106169, 105969 },
};

#define ROWS (sizeof rows / sizeof rows[0])

static uint32_t trace[ACCESSES];

/* The accesses: popular ids near 0, which move to 500 in the middle. */
static void make_trace(void)
{
    uint32_t x = 12345;

    for (uint32_t i = 0; i < ACCESSES; i++) {
        uint32_t draws[2];

        for (uint32_t k = 0; k < 2; k++) {
            x = (1103515245u * x + 12345u) & 0x7fffffff;
            draws[k] = (x >> 16) % 1000;
        }
        trace[i] = draws[0] * draws[1] / 1000 + (i >= ACCESSES / 2 ? 500 : 0);
    }
}

static uint64_t digest_add(uint64_t digest, const char *text)
{
    for (; *text; text++)
        digest = (digest ^ (uint8_t)*text) * 0x100000001b3u;
    return digest;
}

/* Slots begin at 1, ids at 0. */
static uint32_t hash_of_id(const void *user, uint32_t slot)
{
    return cast_hash(user, slot - 1);
}

static uint64_t digest_of(const struct slots *stopped)
{
    uint64_t digest = 0xcbf29ce484222325u;
    char text[16];

    for (uint32_t i = 0; i < stopped->count; i++) {
        (void)snprintf(text, sizeof text, "%u\n", stopped->items[i] - 1);
        digest = digest_add(digest, text);
    }
    return digest;
}

static void one_shard_stops_the_same_entities_in_the_same_order(void **state)
{
    static const uint32_t limits[2] = { 50, 200 };
    (void)state;

    for (size_t row = 0; row < ROWS; row++)
        for (uint32_t k = 0; k < 2; k++) {
            struct passivation_settings settings = cast_settings(rows[row].name);
            struct cast cast;
            uint32_t activations = 0;

            cast_init(&cast, &settings, limits[k]);
            cast.ranks.hash = hash_of_id;
            for (uint32_t i = 0; i < ACCESSES; i++)
                activations += !cast_use(&cast, 0, trace[i] + 1);
            assert_int_equal(activations, rows[row].activations[k]);
            assert_true(digest_of(&cast.stopped) == rows[row].digests[k]);
            cast_fini(&cast);
        }
}

/* A new shard goes to the region with the fewest shards. */
static void a_divided_limit_gives_the_same_totals(void **state)
{
    (void)state;
    for (size_t row = 0; row < ROWS; row++) {
        struct passivation_settings settings = cast_settings(rows[row].name);
        struct cast regions[2];
        uint32_t region_of[10], activations = 0;

        for (uint32_t i = 0; i < 10; i++)
            region_of[i] = 2;
        for (uint32_t i = 0; i < 2; i++) {
            cast_init(&regions[i], &settings, 100);
            regions[i].ranks.hash = hash_of_id;
        }
        for (uint32_t i = 0; i < ACCESSES; i++) {
            int32_t hash = (int32_t)cast_hash(NULL, trace[i]);
            uint32_t shard = (uint32_t)abs(hash % 10);

            if (region_of[shard] == 2)
                region_of[shard] = regions[1].count < regions[0].count;
            activations += !cast_use(&regions[region_of[shard]], shard, trace[i] + 1);
        }
        assert_int_equal(activations, rows[row].divided_activations);
        assert_int_equal(regions[0].stopped.count + regions[1].stopped.count,
                         rows[row].divided_passivations);
        cast_fini(&regions[0]);
        cast_fini(&regions[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_shard_stops_the_same_entities_in_the_same_order),
        cmocka_unit_test(a_divided_limit_gives_the_same_totals),
    };

    make_trace();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
