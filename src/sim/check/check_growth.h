/* Checks that an idle cluster does not grow (no-leak), by the memory used in each sixth of a time.
 *
 * Usage varies, so the least of each sixth counts, and an increase only as far as usage never falls
 * below it again. A single lasting increase is no growth (a pruned node, a doubled table). It may
 * show in two steps, or happen twice, so all steps but the two largest count. Only this check sees
 * leaks that would be freed with their node. */
#ifndef SHERD_SIM_CHECK_GROWTH_H
#define SHERD_SIM_CHECK_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GROWTH_PARTS 6

/* The least of a part; UINT64_MAX: not looked at. */
struct growth_part {
    uint64_t pieces;
    uint64_t bytes;
};

struct growth {
    struct growth_part parts[GROWTH_PARTS];
    uint64_t begin;  /* ns */
    uint64_t length; /* ns; 0: inactive */
};

void growth_begin(struct growth *growth, uint64_t now, uint64_t length);
void growth_look(struct growth *growth, uint64_t now, uint64_t pieces, uint64_t bytes);
/* Ends it. True if the counting steps add at most `pieces` and `bytes`, or a part was never looked
 * at. Otherwise text has the growth. */
bool growth_end(struct growth *growth, uint64_t pieces, uint64_t bytes, char *text, size_t size);

#endif
