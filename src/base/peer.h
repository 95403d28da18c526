/* A member of the cluster as the cores that follow membership are told of it: the node translates, cores do not call
 * each other. Values of the status are those of the wire, the same as membership's. */
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

/* An application version (behaviour 1.2): parsed by membership, compared where it matters. */
struct peer_version {
    int64_t numbers[4];
    const char *rest; /* the part behind the numbers, lent; null or "" = a release */
};

struct peer {
    struct node_id node;
    const struct kept_address *lasting; /* the same address, lent for the core's life, to be kept instead of a copy; null = there is none */
    struct peer_version version;
    int32_t up_number; /* age: the smaller, the older; INT32_MAX = never up */
    enum peer_status status;
    bool reachable;
    bool has_role; /* it has the role, and the data center, that the receiving core cares for */
    bool is_far; /* it is in another data center than this node */
};

/* What a core keeps of one: an address that lasts is not copied. Zero is an empty one. */
struct kept_peer {
    uint64_t uid;
    const struct kept_address *address;
    int32_t up_number;
    uint8_t status; /* enum peer_status */
    bool is_copied; /* the address is the core's own */
    uint8_t marks; /* bits that only the core knows */
};

/* Anew, or as it is now. A number is for life: where a leave of a joining member met the leader's move to up, what is told of it then has
 * none, whoever merges (the reference's managers of singletons keep what they were told, too). */
void peer_keep(struct kept_peer *kept, const struct peer *peer);
struct kept_peer peer_again(const struct kept_peer *kept); /* another one of the same; to be forgotten too */
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
                     const struct kept_peer *right); /* below zero: left is the older one */

#endif
