/* Places members on a hash ring, each at KVSTORE_POINTS points, and finds a key's members
 * clockwise.
 * A member's points depend on its name alone. So nodes that know the same members have the same
 * ring, and a new member moves only the keys next to its points. Pure. Dynamo (2007), sections 4.2
 * and 4.3. */
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
    VEC(struct hashring_point) points; /* in order of hashes, equal ones in order of members */
    uint32_t members;
};

void hashring_fini(struct hashring *ring);
/* The names are unique and in the same order on all nodes; lent for the call. */
void hashring_make(struct hashring *ring, const struct slice *names,
                   uint32_t count);
/* A key's preference list: up to `wanted` different members, in order, as indexes of the names.
 * Returns their number. */
uint32_t hashring_find(const struct hashring *ring, struct slice key,
                       uint32_t wanted, uint32_t *members);

#endif
