/* Implements xoshiro256** (Blackman and Vigna 2018). */
#include "base/rng.h"

#include "base/check.h"

static uint64_t rotate(uint64_t value, int count)
{
    return value << count | value >> (64 - count);
}

void rng_init(struct rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t mixed = seed += UINT64_C(0x9e3779b97f4a7c15);

        mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        rng->state[i] = mixed ^ mixed >> 31;
    }
}

uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *rng, uint64_t limit)
{
    check(limit != 0);
    return rng_next(rng) % limit; /* the bias is below 2^-32 for our limits */
}
