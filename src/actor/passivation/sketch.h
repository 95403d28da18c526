/* Estimates how often keys were used, with small counters that are halved from time to time.
 *
 * A count-min sketch with the reset of TinyLFU (Einziger, Friedman, Manes: "TinyLFU: A Highly
 * Efficient Cache Admission Policy"), with the positions and resets of Akka's FrequencySketch and
 * FastFrequencySketch. */
#ifndef SHERD_ACTOR_PASSIVATION_SKETCH_H
#define SHERD_ACTOR_PASSIVATION_SKETCH_H

#include <stdbool.h>
#include <stdint.h>

#define SKETCH_DEPTH_MAX 16u
#define SKETCH_WIDTH_MAX (1u << 26) /* counters of a row: a lane has at most 2^24 entities */

struct sketch_settings {
    uint32_t depth; /* rows, 1 to SKETCH_DEPTH_MAX */
    uint32_t bits;  /* of a counter: 2, 4, 8, 16, 32 or 64 */
    double width_multiplier; /* counters of a row for each key of the capacity */
    double reset_multiplier; /* counted uses until the counters are halved, likewise */
};

struct sketch {
    uint64_t *words; /* rows, one after the other */
    uint32_t depth, bits;
    uint32_t width; /* counters of a row, a power of two */
    uint32_t row_words;
    bool is_fast; /* depth 4, 4 bits: its positions are its own, as in Akka */
    uint64_t size; /* counted uses, halved with the counters */
    uint64_t reset_size;
    uint64_t row_sizes[SKETCH_DEPTH_MAX];
};

/* Makes an empty sketch for about `capacity` keys. */
void sketch_init(struct sketch *sketch, const struct sketch_settings *settings,
                 uint32_t capacity);
void sketch_fini(struct sketch *sketch);
/* hash: of the key, all 32 bits used. */
void sketch_add(struct sketch *sketch, uint32_t hash);
uint64_t sketch_frequency(const struct sketch *sketch, uint32_t hash);
/* The counter of a hash in a row. */
uint32_t sketch_position(const struct sketch *sketch, uint32_t hash, uint32_t row);

#endif
