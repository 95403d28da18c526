/* Keeps nodes that a lane has heard of and never used, in about 40 bytes each, until they need an
 * entry in peers.h. Called by peers.c only.
 *
 * No such node has an entry, and each address is here at most once. */
#ifndef SHERD_ARTERY_HEARD_PEERS_H
#define SHERD_ARTERY_HEARD_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/vec.h"

struct heard_peer {
    struct node_id node; /* its uid is not 0 */
    uint64_t capabilities;
    uint32_t lanes;
};

/* Zero is an empty table. */
struct heard_peers {
    VEC(uint32_t) hashes; /* the addresses' hashes; the three arrays are parallel, without order */
    VEC(uint64_t) uids;
    VEC(uint32_t) places; /* of the other fields in `texts` */
    struct buf texts;
    size_t unused;        /* bytes of the holes */
};

void heard_peers_fini(struct heard_peers *all);
void heard_peers_put(struct heard_peers *all,
                     const struct heard_peer *one); /* copied; its address must be new */
/* Removes a node and returns it; false: there is none. */
bool heard_peers_take(struct heard_peers *all, uint64_t uid,
                      struct heard_peer *one);
bool heard_peers_take_at(struct heard_peers *all,
                         const struct address *address,
                         struct heard_peer *one);

#endif
