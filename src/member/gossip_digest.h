/* What nodes of this library say to each other in few bytes instead of heartbeats, responses and gossip statuses: messages
 * of a serializer of their own, without sender and recipient, for the node at the other end. A JVM is never sent one.
 *
 * HEARTBEAT and RESPONSE have no payload: who says it is known by the connection. VERSION names a version of the gossip by
 * its digest, and says who has seen it. Who has that version takes over the latter, and tells back what the other did not
 * know. Of two different versions the gossip is sent as ever, by the node that probably has the newer one: its rank is not
 * lower. */
#ifndef SHERD_MEMBER_GOSSIP_DIGEST_H
#define SHERD_MEMBER_GOSSIP_DIGEST_H

#include "member/gossip.h"

#define GOSSIP_DIGEST_HEARTBEAT "h"
#define GOSSIP_DIGEST_RESPONSE "r"
#define GOSSIP_DIGEST_VERSION "v"

#define GOSSIP_DIGEST_SIZE 20

/* A version of the gossip, whoever has seen it. */
struct gossip_digest_version {
    uint8_t digest[GOSSIP_DIGEST_SIZE]; /* SHA-1 of clock and members; zeroes: has none */
    uint64_t rank; /* the sum of the clock's counts: a newer version has a higher one, unless members were removed */
};

void gossip_digest_version_of(struct gossip_digest_version *version,
                      const struct gossip *gossip);
/* Appends a payload; gossip null: nobody has seen it. */
void gossip_digest_put(struct buf *buf, const struct gossip_digest_version *version,
               const struct gossip *gossip);
/* Reads one; seen is lent: a bit for each member of the version, in order. False when it is malformed. */
bool gossip_digest_get(struct slice payload, struct gossip_digest_version *version,
               struct slice *seen);
/* The gossip is of that version: those who have seen it by these bits have. False, with nothing changed, when there are not
 * as many as members. changed: somebody new; lacking: somebody had seen it here of whom the bits say nothing. */
bool gossip_digest_unite(struct gossip *gossip, struct slice seen, bool *changed,
                 bool *lacking);

#endif
