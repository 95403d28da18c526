/* The members that a core follows: in the order in which they came, and found by uid. Called by the cores that choose among all members,
 * as the regions and the managers of singletons do.
 *
 * A node has some eight of these, each of all members: one takes 30 bytes. */
#ifndef SHERD_BASE_KEPT_H
#define SHERD_BASE_KEPT_H

#include "base/peer.h"
#include "base/vec.h"

#define KEPT_MAX 32767 /* members; who keeps them has a lower limit */

/* Zero has none. */
struct kept {
    VEC(struct kept_peer) items; /* in order of coming, with holes */
    uint32_t count;              /* without the holes */
    uint16_t *places;  /* by uid: index of the item + 1, 0 = free; those of holes stay */
    uint32_t place_bits; /* there are two to the power of this */
};

void kept_fini(struct kept *kept);
/* The member with that uid and, unless address is null, that address; null when there is none. Lent until the next kept_add; it may be
 * changed, but for its node. */
struct kept_peer *kept_find(const struct kept *kept, uint64_t uid,
                            const struct address *address);
/* One more, behind the others, as peer_keep takes it; there must be less than KEPT_MAX. Lent as by kept_find. */
struct kept_peer *kept_add(struct kept *kept, const struct peer *peer);
/* Likewise, another one of the same. */
struct kept_peer *kept_add_again(struct kept *kept,
                                 const struct kept_peer *peer);
void kept_drop(struct kept *kept, struct kept_peer *peer); /* forgets one of them; the order of the others stays */
/* One after the other; start with *at = 0. Null at the end. The one that was given last may be dropped meanwhile. */
struct kept_peer *kept_next(const struct kept *kept, uint32_t *at);
struct kept_peer *kept_last(const struct kept *kept); /* the last that came; null when there is none */

#endif
