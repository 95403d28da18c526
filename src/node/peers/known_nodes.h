/* Keeps nodes that a lane has heard of and never used, in about 40 bytes each, until they need an
 * entry in contacts.h. Called by contacts.c only.
 *
 * No such node has an entry, and each address is here at most once. */
#ifndef SHERD_NODE_KNOWN_NODES_H
#define SHERD_NODE_KNOWN_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/vec.h"

struct known_node {
    struct node_id node; /* its uid is not 0 */
    uint64_t capabilities;
    uint32_t lanes;
};

/* Zero is an empty table. */
struct known_nodes {
    VEC(uint32_t) hashes; /* the addresses' hashes; the three arrays are parallel, without order */
    VEC(uint64_t) uids;
    VEC(uint32_t) places; /* of the other fields in `texts` */
    struct buf texts;
    size_t unused;        /* bytes of the holes */
};

void known_nodes_fini(struct known_nodes *all);
void known_nodes_put(struct known_nodes *all,
                       const struct known_node *one); /* copied; its address must be new */
/* Removes a node and returns it; false: there is none. */
bool known_nodes_take(struct known_nodes *all, uint64_t uid,
                        struct known_node *one);
bool known_nodes_take_at(struct known_nodes *all,
                           const struct address *address,
                           struct known_node *one);

#endif
