/* Whether a cluster that has nothing to do grows (I26 in the quiet): what lives in each third of a time.
 *
 * What comes and goes is more at one look than at another, so of each third the least counts. What comes once and stays is no growth:
 * a removed node is pruned from replicated sets, a table doubles. A leak goes on: so the lesser of two steps counts. What is owned, and
 * would be freed with its node, is seen by this alone. */
#ifndef SHERD_SIM_GROWTH_H
#define SHERD_SIM_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The least of a third; UINT64_MAX: nobody has looked. */
struct growth_third {
    uint64_t pieces;
    uint64_t bytes;
};

struct growth {
    struct growth_third thirds[3];
    uint64_t begin;  /* ns */
    uint64_t length; /* ns; 0: nothing is looked at */
};

void growth_begin(struct growth *growth, uint64_t now, uint64_t length);
void growth_look(struct growth *growth, uint64_t now, uint64_t pieces, uint64_t bytes);
/* Ends it. True when neither grew by more than that from third to third, or one was never looked at; text says by how much otherwise. */
bool growth_end(struct growth *growth, uint64_t pieces, uint64_t bytes, char *text, size_t size);

#endif
