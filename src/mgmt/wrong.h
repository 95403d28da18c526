/* Counts wrong tokens of each address, and says when an address has tried too often. */
#ifndef SHERD_MGMT_WRONG_H
#define SHERD_MGMT_WRONG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct wrong {
    char address[64];
    uint64_t since; /* ms */
    uint32_t count;
};

/* Zero is an empty one. */
struct wrong_tokens {
    VEC(struct wrong) items; /* at most MGMT_WRONG_ADDRESSES_MAX, the oldest first */
};

void wrong_tokens_fini(struct wrong_tokens *wrong);
/* Has the address sent MGMT_WRONG_MAX wrong ones within a minute? Then it waits for a minute. */
bool wrong_tokens_too_many(struct wrong_tokens *wrong, const char *address, uint64_t now);
/* Returns the number of the address's wrong ones. */
uint32_t wrong_tokens_add(struct wrong_tokens *wrong, const char *address, uint64_t now);

#endif
