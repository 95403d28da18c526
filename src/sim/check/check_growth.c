/* Adds up the steps between the parts, without the two largest. */
#include "sim/check/check_growth.h"

#include <stdio.h>

#define STEPS (GROWTH_PARTS - 1)
#define ONCE 2 /* steps that may be single increases */

void growth_begin(struct growth *growth, uint64_t now, uint64_t length)
{
    for (int i = 0; i < GROWTH_PARTS; i++)
        growth->parts[i] = (struct growth_part){ UINT64_MAX, UINT64_MAX };
    growth->begin = now;
    growth->length = length;
}

void growth_look(struct growth *growth, uint64_t now, uint64_t pieces,
                 uint64_t bytes)
{
    struct growth_part *part;
    uint64_t at;

    if (!growth->length)
        return;
    at = (now - growth->begin) * GROWTH_PARTS / growth->length;
    part = &growth->parts[at < GROWTH_PARTS ? at : GROWTH_PARTS - 1];
    if (part->pieces > pieces)
        part->pieces = pieces;
    if (part->bytes > bytes)
        part->bytes = bytes;
}

/* Returns the sum of the lasting increases, without the largest ones. */
static uint64_t steady(uint64_t least[GROWTH_PARTS])
{
    uint64_t largest[ONCE] = { 0 }; /* the first is the largest */
    uint64_t sum = 0;

    for (int i = STEPS; i-- > 0;)
        if (least[i] > least[i + 1])
            least[i] = least[i + 1];
    for (int i = 0; i < STEPS; i++) {
        uint64_t step = least[i + 1] - least[i];

        for (int j = 0; j < ONCE; j++) {
            uint64_t other = largest[j];

            if (step <= other)
                continue;
            largest[j] = step;
            step = other;
        }
        sum += step;
    }
    return sum;
}

bool growth_end(struct growth *growth, uint64_t pieces, uint64_t bytes,
                char *text, size_t size)
{
    uint64_t least_pieces[GROWTH_PARTS];
    uint64_t least_bytes[GROWTH_PARTS];
    uint64_t more_pieces;
    uint64_t more_bytes;

    growth->length = 0;
    for (int i = 0; i < GROWTH_PARTS; i++) {
        if (growth->parts[i].pieces == UINT64_MAX)
            return true;
        least_pieces[i] = growth->parts[i].pieces;
        least_bytes[i] = growth->parts[i].bytes;
    }
    more_pieces = steady(least_pieces);
    more_bytes = steady(least_bytes);
    if (more_pieces <= pieces && more_bytes <= bytes)
        return true;
    (void)snprintf(text, size,
                   "%llu pieces of memory and %llu bytes more in three of five steps; the limits are %llu and %llu",
                   (unsigned long long)more_pieces,
                   (unsigned long long)more_bytes, (unsigned long long)pieces,
                   (unsigned long long)bytes);
    return false;
}
