/* Describes a member to the cores that follow membership; the node translates. Status values are
 * those of the wire. */
#ifndef SHERD_BASE_PEER_H
#define SHERD_BASE_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"

enum peer_status {
    PEER_JOINING = 0,
    PEER_UP = 1,
    PEER_LEAVING = 2,
    PEER_EXITING = 3,
    PEER_DOWN = 4,
    PEER_REMOVED = 5,
    PEER_WEAKLY_UP = 6,
    PEER_PREPARING_FOR_SHUTDOWN = 7,
    PEER_READY_FOR_SHUTDOWN = 8
};

/* Akka's akka.util.Version: parsed by membership, compared where needed. */
struct peer_version {
    int64_t numbers[4];
    const char *rest; /* the part after the numbers, lent; null or "" = a release */
};

struct peer {
    struct node_id node;
    /* the same address, lent for the core's lifetime instead of a copy; null = none */
    const struct kept_address *lasting;
    struct peer_version version;
    int32_t up_number; /* age: smaller is older; INT32_MAX = never up */
    enum peer_status status;
    bool reachable;
    bool has_role; /* has the role and data center that the receiving core serves */
    bool is_far; /* in another data center than this node */
};

/* A member as a core keeps it; a lasting address is not copied. Zero is an empty one. */
struct kept_peer {
    uint64_t uid;
    const struct kept_address *address;
    int32_t up_number;
    uint8_t status; /* enum peer_status */
    bool is_copied; /* the core owns the address */
    uint8_t marks; /* bits for the core's own use */
};

/* Stores a new member or updates a known one. A known up number stays when the merge of a leave
 * with the leader's move to Up has lost it; Akka's ClusterSingletonManager keeps it, too. */
void peer_keep(struct kept_peer *kept, const struct peer *peer);
struct kept_peer peer_again(const struct kept_peer *kept); /* a copy, to be forgotten separately */
void peer_forget(struct kept_peer *kept);

static inline struct node_id peer_node(const struct kept_peer *kept)
{
    return (struct node_id){ address_again(kept->address), kept->uid };
}

static inline bool peer_equal(const struct kept_peer *kept,
                           const struct node_id *node)
{
    return kept->uid == node->uid &&
           kept_address_equal(kept->address, &node->address);
}

int peer_age_compare(const struct kept_peer *left,
                     const struct kept_peer *right); /* below zero: left is older */

#endif
