/* Nodes that a lane was told of and has had nothing to do with, as most are of most: what it needs to make a contact (contacts.h) of
 * one when it has, in some 40 bytes. Called by contacts.c only.
 *
 * There is none of a node that has a contact, and at most one at an address. They are as many as control's associations. */
#ifndef SHERD_NODE_ACQUAINTANCES_H
#define SHERD_NODE_ACQUAINTANCES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/vec.h"

/* What a handshake said of a node. */
struct acquaintance {
    struct node_id node; /* its uid is not 0 */
    uint64_t capabilities;
    uint32_t lanes;
};

/* Zero has none. */
struct acquaintances {
    VEC(uint32_t) hashes; /* of the addresses; with its two sisters in no order */
    VEC(uint64_t) uids;
    VEC(uint32_t) places; /* of the rest, in texts */
    struct buf texts;     /* with holes */
    size_t unused;        /* bytes of them that are holes */
};

void acquaintances_fini(struct acquaintances *all);
void acquaintances_put(struct acquaintances *all,
                       const struct acquaintance *one); /* copied; none is at its address */
/* Takes one away; false: there is none. */
bool acquaintances_take(struct acquaintances *all, uint64_t uid,
                        struct acquaintance *one);
bool acquaintances_take_at(struct acquaintances *all,
                           const struct address *address,
                           struct acquaintance *one);

#endif
