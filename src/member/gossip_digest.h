/* Defines short messages that replace heartbeats, responses and gossip statuses among nodes of this
 * library (docs/protocol/extensions.md). They have a serializer of their own and no sender or
 * recipient. JVM nodes never get them.
 *
 * HEARTBEAT and RESPONSE have no payload: the connection names the sender. VERSION names a version
 * of the gossip by its digest, with its seen set. A node with the same version unites the seen
 * sets, and answers with what the other lacks. If versions differ, the node whose rank is not lower
 * sends its gossip, because it probably has the newer one. */
#ifndef SHERD_MEMBER_GOSSIP_DIGEST_H
#define SHERD_MEMBER_GOSSIP_DIGEST_H

#include "member/gossip.h"

#define GOSSIP_DIGEST_HEARTBEAT "h"
#define GOSSIP_DIGEST_RESPONSE "r"
#define GOSSIP_DIGEST_VERSION "v"

#define GOSSIP_DIGEST_SIZE 20

/* A version of the gossip, without its seen set. */
struct gossip_digest_version {
    uint8_t digest[GOSSIP_DIGEST_SIZE]; /* SHA-1 of clock and members; zeroes: none */
    /* sum of the clock's counts: higher for a newer version, unless members were removed */
    uint64_t rank;
};

void gossip_digest_version_of(struct gossip_digest_version *version,
                      const struct gossip *gossip);
/* Appends a payload. gossip null: nothing is seen. */
void gossip_digest_put(struct buf *buf, const struct gossip_digest_version *version,
               const struct gossip *gossip);
/* Reads a payload. seen: lent; a bit for each member of the version, in order. False: malformed. */
bool gossip_digest_get(struct slice payload, struct gossip_digest_version *version,
               struct slice *seen);
/* Adds these bits to the seen set of the gossip, which has that version. False, with nothing
 * changed: their number differs from the members. changed: a member is new in the set; lacking: the
 * bits lack a member of the set. */
bool gossip_digest_unite(struct gossip *gossip, struct slice seen, bool *changed,
                 bool *lacking);

#endif
