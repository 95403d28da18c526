/* Stores the members that a core follows, in order of arrival and found by uid. A node has about
 * eight such lists of all members; a member takes 30 bytes. */
#ifndef SHERD_BASE_KEPT_H
#define SHERD_BASE_KEPT_H

#include "base/peer.h"
#include "base/vec.h"

#define KEPT_MAX 32767 /* the owner's limit is lower */

/* Zero is an empty one. */
struct kept {
    VEC(struct kept_peer) items; /* in order of arrival, with holes */
    uint32_t count;              /* without the holes */
    uint16_t *places;  /* by uid: index of the item + 1, 0 = free; places of holes stay */
    uint32_t place_bits; /* two to this power */
};

void kept_fini(struct kept *kept);
/* Returns the member with that uid and, unless null, that address; null if none. Lent until the
 * next kept_add. All but its node may be changed. */
struct kept_peer *kept_find(const struct kept *kept, uint64_t uid,
                            const struct address *address);
/* Appends a member, stored as by peer_keep; at most KEPT_MAX. Lent as by kept_find. */
struct kept_peer *kept_add(struct kept *kept, const struct peer *peer);
/* Appends a copy of a kept member. */
struct kept_peer *kept_add_again(struct kept *kept,
                                 const struct kept_peer *peer);
void kept_drop(struct kept *kept, struct kept_peer *peer); /* keeps the order of the others */
/* Iterates from *at = 0; null at the end. The caller may drop the member returned last. */
struct kept_peer *kept_next(const struct kept *kept, uint32_t *at);
struct kept_peer *kept_last(const struct kept *kept); /* null if there is none */

#endif
