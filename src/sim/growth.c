#include "sim/growth.h"

#include <stdio.h>

void growth_begin(struct growth *growth, uint64_t now, uint64_t length)
{
    for (int i = 0; i < 2; i++)
        growth->halves[i] = (struct growth_half){ UINT64_MAX, UINT64_MAX };
    growth->middle = now + length / 2;
}

void growth_look(struct growth *growth, uint64_t now, uint64_t pieces,
                 uint64_t bytes)
{
    struct growth_half *half = &growth->halves[now > growth->middle];

    if (!growth->middle)
        return;
    if (half->pieces > pieces)
        half->pieces = pieces;
    if (half->bytes > bytes)
        half->bytes = bytes;
}

static uint64_t above(uint64_t before, uint64_t after)
{
    return after > before ? after - before : 0;
}

bool growth_end(struct growth *growth, uint64_t pieces, uint64_t bytes,
                char *text, size_t size)
{
    const struct growth_half *before = &growth->halves[0];
    const struct growth_half *after = &growth->halves[1];
    uint64_t more_pieces = above(before->pieces, after->pieces);
    uint64_t more_bytes = above(before->bytes, after->bytes);

    growth->middle = 0;
    if (after->pieces == UINT64_MAX || before->pieces == UINT64_MAX ||
        (more_pieces <= pieces && more_bytes <= bytes))
        return true;
    (void)snprintf(text, size,
                   "%llu pieces of memory and %llu bytes more, %llu and %llu may be",
                   (unsigned long long)more_pieces,
                   (unsigned long long)more_bytes, (unsigned long long)pieces,
                   (unsigned long long)bytes);
    return false;
}
