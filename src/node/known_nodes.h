/* Nodes that a lane was told of and has had nothing to do with, as most are of most: what it needs to make a contact (contacts.h) of
 * one when it has, in some 40 bytes. Called by contacts.c only.
 *
 * There is none of a node that has a contact, and at most one at an address. They are as many as control's associations. */
#ifndef SHERD_NODE_KNOWN_NODES_H
#define SHERD_NODE_KNOWN_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/vec.h"

/* What a handshake said of a node. */
struct known_node {
    struct node_id node; /* its uid is not 0 */
    uint64_t capabilities;
    uint32_t lanes;
};

/* Zero has none. */
struct known_nodes {
    VEC(uint32_t) hashes; /* of the addresses; with its two sisters in no order */
    VEC(uint64_t) uids;
    VEC(uint32_t) places; /* of the rest, in texts */
    struct buf texts;     /* with holes */
    size_t unused;        /* bytes of them that are holes */
};

void known_nodes_fini(struct known_nodes *all);
void known_nodes_put(struct known_nodes *all,
                       const struct known_node *one); /* copied; none is at its address */
/* Takes one away; false: there is none. */
bool known_nodes_take(struct known_nodes *all, uint64_t uid,
                        struct known_node *one);
bool known_nodes_take_at(struct known_nodes *all,
                           const struct address *address,
                           struct known_node *one);

#endif
