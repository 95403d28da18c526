/* Mixes the seed of a stream with the steps of splitmix64, as rng_init does, once for each part. */
#include "sim/seed/streams.h"

static uint64_t mix(uint64_t value)
{
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

struct rng stream_rng(uint64_t seed, enum stream_purpose purpose,
                      uint64_t index)
{
    struct rng rng;

    rng_init(&rng, mix(mix(mix(seed) + purpose) + index));
    return rng;
}

uint64_t stream_delay(struct rng *rng, uint64_t min, uint64_t mean)
{
    uint64_t drawn = rng_next(rng) | 1;
    uint64_t zeros = (uint64_t)__builtin_clzll(drawn);
    uint64_t part = zeros < 63 ? drawn << (zeros + 1) >> 48 : 0;
    /* -log2 of a number from 0 to 1 in 16.16 bits, linear between powers of two; its mean is
     * 1.5. */
    uint64_t bits = (zeros << 16) + 65536 - part;

    if (mean <= min)
        return min;
    return min + (mean - min) * bits / 65536 * 2 / 3;
}
