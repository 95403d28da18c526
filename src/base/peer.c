/* Stores and compares members for the cores that follow them. */
#include "base/peer.h"

#include "base/check.h"

void peer_forget(struct kept_peer *kept)
{
    if (kept->is_copied)
        mem_free((void *)(uintptr_t)kept->address);
    *kept = (struct kept_peer){ 0 };
}

void peer_keep(struct kept_peer *kept, const struct peer *peer)
{
    bool is_known = kept->address && peer_equal(kept, &peer->node);

    if (!kept->address ||
        !kept_address_equal(kept->address, &peer->node.address)) {
        peer_forget(kept);
        kept->is_copied = !peer->lasting;
        kept->address = peer->lasting ? peer->lasting
                                      : address_keep(&peer->node.address);
    }
    kept->uid = peer->node.uid;
    if (!is_known || peer->up_number != INT32_MAX)
        kept->up_number = peer->up_number;
    kept->status = (uint8_t)peer->status;
}

struct kept_peer peer_again(const struct kept_peer *kept)
{
    struct kept_peer again = *kept;
    struct address address;

    if (kept->is_copied) {
        address = address_again(kept->address);
        again.address = address_keep(&address);
    }
    return again;
}

int peer_age_compare(const struct kept_peer *left,
                     const struct kept_peer *right)
{
    int order;

    if (left->up_number != right->up_number)
        return left->up_number < right->up_number ? -1 : 1;
    order = strcmp(left->address->host, right->address->host);
    if (!order)
        order = (left->address->port > right->address->port) -
                (left->address->port < right->address->port);
    if (!order)
        return (int64_t)left->uid < (int64_t)right->uid
                   ? -1
                   : left->uid != right->uid;
    return order;
}
