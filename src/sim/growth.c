#include "sim/growth.h"

#include <stdio.h>

#define THIRDS 3

void growth_begin(struct growth *growth, uint64_t now, uint64_t length)
{
    for (int i = 0; i < THIRDS; i++)
        growth->thirds[i] = (struct growth_third){ UINT64_MAX, UINT64_MAX };
    growth->begin = now;
    growth->length = length;
}

void growth_look(struct growth *growth, uint64_t now, uint64_t pieces,
                 uint64_t bytes)
{
    struct growth_third *third;
    uint64_t at;

    if (!growth->length)
        return;
    at = (now - growth->begin) * THIRDS / growth->length;
    third = &growth->thirds[at < THIRDS ? at : THIRDS - 1];
    if (third->pieces > pieces)
        third->pieces = pieces;
    if (third->bytes > bytes)
        third->bytes = bytes;
}

/* The lesser of the two steps. */
static uint64_t steady(uint64_t first, uint64_t second, uint64_t third)
{
    uint64_t before = second > first ? second - first : 0;
    uint64_t after = third > second ? third - second : 0;

    return before < after ? before : after;
}

bool growth_end(struct growth *growth, uint64_t pieces, uint64_t bytes,
                char *text, size_t size)
{
    const struct growth_third *thirds = growth->thirds;
    uint64_t more_pieces =
        steady(thirds[0].pieces, thirds[1].pieces, thirds[2].pieces);
    uint64_t more_bytes =
        steady(thirds[0].bytes, thirds[1].bytes, thirds[2].bytes);

    growth->length = 0;
    for (int i = 0; i < THIRDS; i++)
        if (thirds[i].pieces == UINT64_MAX)
            return true;
    if (more_pieces <= pieces && more_bytes <= bytes)
        return true;
    (void)snprintf(text, size,
                   "%llu pieces of memory and %llu bytes more each time, %llu and %llu may be",
                   (unsigned long long)more_pieces,
                   (unsigned long long)more_bytes, (unsigned long long)pieces,
                   (unsigned long long)bytes);
    return false;
}
