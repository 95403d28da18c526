/* Stores the members that a core follows, in order of arrival and found by uid. Regions and
 * singleton managers use it. A node has about eight of these, each with all members; a member takes
 * 30 bytes. */
#ifndef SHERD_BASE_KEPT_H
#define SHERD_BASE_KEPT_H

#include "base/peer.h"
#include "base/vec.h"

#define KEPT_MAX 32767 /* members; the owner's limit is lower */

/* Zero is an empty one. */
struct kept {
    VEC(struct kept_peer) items; /* in order of arrival, with holes */
    uint32_t count;              /* without the holes */
    uint16_t *places;  /* by uid: index of the item + 1, 0 = free; places of holes stay */
    uint32_t place_bits; /* the table has two to this power */
};

void kept_fini(struct kept *kept);
/* Returns the member with that uid and, unless address is null, that address; null if there is
 * none. Lent until the next kept_add. The caller may change all but its node. */
struct kept_peer *kept_find(const struct kept *kept, uint64_t uid,
                            const struct address *address);
/* Appends a member, stored as by peer_keep. At most KEPT_MAX fit. Lent as by kept_find. */
struct kept_peer *kept_add(struct kept *kept, const struct peer *peer);
/* Appends a copy of a kept member. */
struct kept_peer *kept_add_again(struct kept *kept,
                                 const struct kept_peer *peer);
/* Removes it; the others keep their order. */
void kept_drop(struct kept *kept, struct kept_peer *peer);
/* Iterates; start with *at = 0. Returns null at the end. The caller may drop the member returned
 * last. */
struct kept_peer *kept_next(const struct kept *kept, uint32_t *at);
/* The last that arrived; null if there is none. */
struct kept_peer *kept_last(const struct kept *kept);

#endif
