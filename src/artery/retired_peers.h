/* Remembers incarnations of peers that are over. Called by peers.c only.
 *
 * Strangers have places of their own: however many come, a member that was removed stays known. */
#ifndef SHERD_ARTERY_RETIRED_PEERS_H
#define SHERD_ARTERY_RETIRED_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

/* An incarnation that is not accepted. */
struct retired_peer {
    uint64_t uid; /* 0: it returned */
    /* UID that took its address, while it is open which of the two is older; 0 = it is gone */
    uint64_t by;
};

/* At its limit the oldest is dropped first. */
struct retired_ring {
    VEC(struct retired_peer) all;
    uint32_t at;
};

struct retired_peers {
    struct retired_ring rings[2]; /* of strangers, of others */
    struct map by_uid;            /* a place in both rings, plus one */
    uint64_t forgotten;           /* others dropped at RETIRED_PEERS_MAX */
};

/* Zero is empty. */
void retired_peers_fini(struct retired_peers *retired);
/* Returns null if the incarnation is not retired; else lent until the next call. */
struct retired_peer *retired_peers_find(const struct retired_peers *retired,
                                        uint64_t uid);
/* Does nothing with uid 0, or one that is retired already. */
void retired_peers_put(struct retired_peers *retired, uint64_t uid, uint64_t by,
                       bool is_stranger);
/* The incarnation is back. */
void retired_peers_restore(struct retired_peers *retired,
                           struct retired_peer *one);
/* The incarnation leaves, so it counts as the older one at its address: those that it replaced, and
 * that have not left, may return. */
void retired_peers_release(struct retired_peers *retired, uint64_t uid);

#endif
