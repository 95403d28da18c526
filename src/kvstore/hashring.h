/* Consistent hashing: members on a ring, each at KVSTORE_POINTS places, and for a key the members that follow it clockwise.
 *
 * A member's points are made of its name alone, so that everybody who knows the same members has the same ring, and one more member
 * moves the keys next to its points and no others. Pure. Seed 001 ("Consistent Hashing Router"), Dynamo, sections 4.2 and 4.3. */
#ifndef SHERD_KVSTORE_HASHRING_H
#define SHERD_KVSTORE_HASHRING_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/vec.h"

struct hashring_point {
    uint32_t hash;
    uint32_t member; /* index of its name */
};

/* Zero is an empty one. */
struct hashring {
    VEC(struct hashring_point) points; /* in order of hashes, equal ones of members */
    uint32_t members;
};

void hashring_fini(struct hashring *ring);
/* Makes it of these names, which are in an order that is the same everywhere, and none twice; lent for the call. */
void hashring_make(struct hashring *ring, const struct slice *names,
                   uint32_t count);
/* The preference list of a key: up to `wanted` different members, in their order, as indexes of the names. Returns how many. */
uint32_t hashring_find(const struct hashring *ring, struct slice key,
                       uint32_t wanted, uint32_t *members);

#endif
