/* Who sends to this machine: uid -> address and, for Sherd peers, the newest connection of each sending lane.
 *
 * A lane learns it from the handshake requests on its own connections and reports them to control, which answers. A
 * connection older than the newest of the same sending lane is closed after the newer one's first frame (architecture 4),
 * so order holds over a reconnect. Connections of one (uid, sending lane) must be given to the same machine. */
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

/* Given to the caller. lasting: of the senders' addresses, with its user; null: copies are kept. */
struct origins *origins_new(address_lasting *lasting, void *user);
void origins_free(struct origins *origins);

/* A request was read on one of our connections. The origin is known after it; a known address with another uid replaces
 * the older incarnation, by the order of their connections where it is known. False: it is not taken, as the connection is older
 * than the newest of its lane, or the table is full (ORIGINS_MAX, counted), or this incarnation was replaced or forgotten: close
 * the inlet. */
bool origins_learn(struct origins *origins, enum stream stream,
                   const struct handshake *handshake);
/* The sender with that uid, lent until the next origins_learn or origins_forget; null when unknown: the message is dropped
 * and counted. Quick when it is the same as last time. */
const struct origin *origins_find(struct origins *origins, uint64_t uid);
/* Whether a connection is still the newest of its sending lane; ask once a batch. Generation 0 (a JVM) always is. */
bool origins_current(struct origins *origins, uint64_t uid, enum stream stream,
                     uint32_t lane, uint64_t generation);
/* Another number whenever a connection that was current may be so no more. Never 0. */
uint64_t origins_version(const struct origins *origins);
/* The peer is gone: it is not taken again. Whom it had replaced may come back: of two lives at one address the one that goes was
 * the former, whichever was heard of first. */
void origins_forget(struct origins *origins, uint64_t uid);
/* It has left, and may have a last word: until it is forgotten, or another one is at its address. Whom it had replaced may come back. */
void origins_left(struct origins *origins, uint64_t uid);
bool origins_is_over(const struct origins *origins, uint64_t uid); /* replaced, or forgotten */
uint64_t origins_refused(const struct origins *origins); /* by the full table, or of a lane of too high a number */
uint64_t origins_forgotten(const struct origins *origins); /* late incarnations, the oldest at ORIGINS_RETIRED_MAX */

#endif
