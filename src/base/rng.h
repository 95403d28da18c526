/* Generates one core's random numbers from a seed that is given once: xoshiro256** seeded by
 * splitmix64. */
#ifndef SHERD_BASE_RNG_H
#define SHERD_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state[4];
};

void rng_init(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t limit); /* 0 <= result < limit; limit must not be 0 */

#endif
