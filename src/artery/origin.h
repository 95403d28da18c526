/* Knows the senders to this machine: uid -> address and, for Sherd peers, the newest connection of
 * each sending lane.
 *
 * A lane learns them from handshake requests on its own connections, and reports these to control,
 * which answers. After the first frame of a newer connection, the older one of that sending lane is
 * closed, so order holds over a reconnect. One machine must get all connections of one (uid,
 * sending lane). */
#ifndef SHERD_ARTERY_ORIGIN_H
#define SHERD_ARTERY_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "artery/control.h"
#include "base/limits.h"

struct origin {
    uint64_t uid;
    const struct kept_address *address;
    uint64_t capabilities;
    uint32_t lanes;
};

struct origins;

/* lasting: of the senders' addresses, with its user; null: copies are kept. */
struct origins *origins_new(address_lasting *lasting, void *user);
void origins_free(struct origins *origins);

/* Learns the origin from a request on one of our connections. Another UID at a known address
 * replaces the older incarnation, by the order of their connections if known. False, close the
 * inlet: the connection is older than the newest of its lane, the incarnation was replaced or
 * forgotten, or the table is full (ORIGINS_MAX, counted). */
bool origins_learn(struct origins *origins, enum stream stream,
                   const struct handshake *handshake);
/* Returns the sender with that UID, lent until the next origins_learn or origins_forget; null when
 * unknown: the message is dropped and counted. Quick for the same UID as last time. */
const struct origin *origins_find(struct origins *origins, uint64_t uid);
/* Whether a connection is still the newest of its sending lane; ask once a batch. Generation 0 (a
 * JVM) always is. */
bool origins_current(struct origins *origins, uint64_t uid, enum stream stream,
                     uint32_t lane, uint64_t generation);
/* Changes whenever a current connection may no longer be current. Never 0. */
uint64_t origins_version(const struct origins *origins);
/* Forgets a peer permanently. The incarnation that it had replaced may return: the forgotten one
 * counts as the older. */
void origins_forget(struct origins *origins, uint64_t uid);
/* The peer has left; its last messages are accepted until it is forgotten, or another incarnation
 * is at its address. The incarnation that it had replaced may return. */
void origins_left(struct origins *origins, uint64_t uid);
bool origins_is_over(const struct origins *origins, uint64_t uid); /* replaced, or forgotten */
/* Counts handshakes refused by the full table, or for a lane number that is too high. */
uint64_t origins_refused(const struct origins *origins);
/* Counts retired incarnations that made room at ORIGINS_RETIRED_MAX. */
uint64_t origins_forgotten(const struct origins *origins);

#endif
