/* Counts uses in a count-min sketch, and halves its counters when it is full. */
#include "actor/passivation/sketch.h"

#include "base/check.h"

#define FAST_DEPTH 4u
#define FAST_BITS 4u

/* The seeds of the fast sketch's rows, as in Akka. */
static const uint64_t seeds[FAST_DEPTH] = { 0xc3a5c85c97cb3127u, 0xb492b66fbe98f273u,
                                            0x9ae16a3b2f90404fu, 0xcbf29ce484222325u };

/* Returns the next power of two; 1 for 0. */
static uint64_t power_of_two(uint32_t value)
{
    uint64_t power = 1;

    while (power < value)
        power *= 2;
    return power;
}

/* Returns the width as a power of two. Akka refuses other widths, which fractional multipliers
 * give. */
static uint32_t width_of(const struct sketch_settings *settings, uint32_t capacity)
{
    double wanted = settings->width_multiplier * (double)power_of_two(capacity);

    if (!(wanted < (double)SKETCH_WIDTH_MAX))
        return SKETCH_WIDTH_MAX;
    return (uint32_t)power_of_two((uint32_t)wanted);
}

void sketch_init(struct sketch *sketch, const struct sketch_settings *settings,
                 uint32_t capacity)
{
    uint32_t slots = 64 / settings->bits;
    double reset = settings->reset_multiplier * capacity;

    check(settings->depth > 0 && settings->depth <= SKETCH_DEPTH_MAX);
    *sketch = (struct sketch){ .depth = settings->depth, .bits = settings->bits };
    sketch->width = width_of(settings, capacity);
    sketch->row_words = sketch->width > slots ? sketch->width / slots : 1;
    sketch->is_fast = settings->depth == FAST_DEPTH && settings->bits == FAST_BITS;
    sketch->reset_size = reset < 2147483647.0 ? (uint64_t)reset : 2147483647u;
    sketch->words =
        mem_alloc((size_t)sketch->depth * sketch->row_words * sizeof *sketch->words);
}

void sketch_fini(struct sketch *sketch)
{
    mem_free(sketch->words);
    *sketch = (struct sketch){ 0 };
}

/* --- positions --- */

/* The fast sketch mixes the hash first: hash functions of strings leave the low bits alike. */
static inline uint32_t mix(uint32_t hash)
{
    hash = ((hash >> 15) ^ hash) * 0xd168aaadu;
    hash = ((hash >> 15) ^ hash) * 0xaf723597u;
    return (hash >> 15) ^ hash;
}

static inline uint32_t fast_position(uint32_t mixed, uint32_t row, uint32_t mask)
{
    uint64_t spread = ((uint64_t)(int64_t)(int32_t)mixed + seeds[row]) * seeds[row];

    return (uint32_t)(spread + (spread >> 32)) & mask;
}

static uint32_t rotate(uint32_t value, uint32_t bits)
{
    return value << bits | value >> (32 - bits);
}

/* The second hash of a key: the last steps of MurmurHash3 for the first hash. */
static uint32_t second_hash(uint32_t hash)
{
    uint32_t mixed = hash ^ (rotate(hash * 0xcc9e2d51u, 15) * 0x1b873593u);

    mixed ^= 2;
    mixed = (mixed ^ mixed >> 16) * 0x85ebca6bu;
    mixed = (mixed ^ mixed >> 13) * 0xc2b2ae35u;
    return mixed ^ mixed >> 16;
}

uint32_t sketch_position(const struct sketch *sketch, uint32_t hash, uint32_t row)
{
    uint32_t mask = sketch->width - 1;

    check(row < sketch->depth);
    if (sketch->is_fast)
        return fast_position(mix(hash), row, mask);
    return (hash + row * second_hash(hash)) & mask;
}

/* --- counters --- */

/* The largest value of a counter; Akka's of 64 bits are signed. */
static uint64_t counter_max(uint32_t bits)
{
    return bits == 64 ? INT64_MAX : ((uint64_t)1 << bits) - 1;
}

/* A word with this value in each of its counters. */
static uint64_t in_each_counter(uint64_t value, uint32_t bits)
{
    uint64_t word = 0;

    for (uint32_t at = 0; at < 64; at += bits)
        word |= value << at;
    return word;
}

/* Halves all counters. Each odd one loses a half, which the sizes take into account. */
static void halve(struct sketch *sketch)
{
    uint64_t odd_mask = in_each_counter(1, sketch->bits);
    uint64_t kept = in_each_counter(counter_max(sketch->bits) >> 1, sketch->bits);
    uint64_t *word = sketch->words;

    sketch->size = 0;
    for (uint32_t row = 0; row < sketch->depth; row++) {
        uint64_t odd = 0;

        for (uint32_t i = 0; i < sketch->row_words; i++, word++) {
            odd += (uint64_t)__builtin_popcountll(*word & odd_mask);
            *word = (*word >> 1) & kept;
        }
        sketch->row_sizes[row] = (sketch->row_sizes[row] - odd) / 2;
        if (sketch->row_sizes[row] > sketch->size)
            sketch->size = sketch->row_sizes[row];
    }
}

/* Adds 1 unless the counter is full. Without branches, because full ones are as frequent as others;
 * the four memory accesses of a key overlap. */
static inline uint32_t count_at(struct sketch *sketch, uint32_t row, uint32_t position,
                            uint32_t bits)
{
    uint32_t slots = 64 / bits;
    uint64_t *word = &sketch->words[(size_t)row * sketch->row_words + position / slots];
    uint32_t shift = position % slots * bits;
    uint32_t added = (*word >> shift & counter_max(bits)) != counter_max(bits);

    *word += (uint64_t)added << shift;
    sketch->row_sizes[row] += added;
    return added;
}

static inline uint64_t value_at(const struct sketch *sketch, uint32_t row,
                                uint32_t position, uint32_t bits)
{
    uint32_t slots = 64 / bits;
    uint64_t word = sketch->words[(size_t)row * sketch->row_words + position / slots];

    return word >> (position % slots * bits) & counter_max(bits);
}

void sketch_add(struct sketch *sketch, uint32_t hash)
{
    uint32_t is_counted = 0;

    if (sketch->is_fast) {
        uint32_t mixed = mix(hash), mask = sketch->width - 1;

        uint32_t positions[FAST_DEPTH];

        for (uint32_t row = 0; row < FAST_DEPTH; row++)
            positions[row] = fast_position(mixed, row, mask);
        for (uint32_t row = 0; row < FAST_DEPTH; row++)
            is_counted |= count_at(sketch, row, positions[row], FAST_BITS);
    } else {
        uint32_t second = second_hash(hash);

        for (uint32_t row = 0; row < sketch->depth; row++)
            is_counted |= count_at(sketch, row, (hash + row * second) & (sketch->width - 1),
                                   sketch->bits);
    }
    if (is_counted && ++sketch->size == sketch->reset_size)
        halve(sketch);
}

uint64_t sketch_frequency(const struct sketch *sketch, uint32_t hash)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t row = 0; row < sketch->depth; row++) {
        uint64_t value =
            value_at(sketch, row, sketch_position(sketch, hash, row), sketch->bits);

        least = value < least ? value : least;
    }
    return least;
}
