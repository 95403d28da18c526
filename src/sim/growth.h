/* Whether a cluster that has nothing to do grows (no-leak in the quiet): what lives in each sixth of a time.
 *
 * What comes and goes is more at one look than at another, so of each sixth the least counts. What comes once and stays is no growth:
 * a removed node is pruned from replicated sets, a table doubles. It may take a while, and so be seen in two steps, or there may be two
 * of it. A leak goes on: so all steps but the two largest count. What is owned, and would be freed with its node, is seen by this
 * alone. */
#ifndef SHERD_SIM_GROWTH_H
#define SHERD_SIM_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GROWTH_PARTS 6

/* The least of a part; UINT64_MAX: nobody has looked. */
struct growth_part {
    uint64_t pieces;
    uint64_t bytes;
};

struct growth {
    struct growth_part parts[GROWTH_PARTS];
    uint64_t begin;  /* ns */
    uint64_t length; /* ns; 0: nothing is looked at */
};

void growth_begin(struct growth *growth, uint64_t now, uint64_t length);
void growth_look(struct growth *growth, uint64_t now, uint64_t pieces, uint64_t bytes);
/* Ends it. True when neither grew by more than that in the steps that count, all together, or a part was never looked at; text says by
 * how much otherwise. */
bool growth_end(struct growth *growth, uint64_t pieces, uint64_t bytes, char *text, size_t size);

#endif
