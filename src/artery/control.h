/* Artery's own messages (serializer 17, wire 3.1), read and written: what control and lanes both need.
 *
 * Handshakes, and the answers that belong to the machine which got the question: Flush, termination, heartbeats, Identify.
 * The rules of who is who are in association.h; this file keeps no state. */
#ifndef SHERD_ARTERY_CONTROL_H
#define SHERD_ARTERY_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "artery/envelope.h"
#include "base/bytes.h"
#include "base/outbox.h"

/* Manifests. */
#define ARTERY_QUARANTINED "a"
#define ARTERY_TERMINATING "b"
#define ARTERY_TERMINATING_ACK "c"
#define ARTERY_HANDSHAKE_REQUEST "d"
#define ARTERY_HANDSHAKE_RESPONSE "e"
#define ARTERY_REFS_TABLE "f"
#define ARTERY_REFS_TABLE_ACK "g"
#define ARTERY_MANIFESTS_TABLE "h"
#define ARTERY_MANIFESTS_TABLE_ACK "i"
#define ARTERY_SYSTEM_MESSAGE "j"
#define ARTERY_ACK "k"
#define ARTERY_NACK "l"
#define ARTERY_HEARTBEAT "m"
#define ARTERY_HEARTBEAT_RESPONSE "n"
#define ARTERY_FLUSH "o"
#define ARTERY_FLUSH_ACK "p"

/* A handshake request or response: who sends, and what a Sherd node adds (zero from a JVM). */
struct handshake {
    struct node_id from;
    uint64_t capabilities; /* extension.h */
    uint32_t lane;         /* request: the sending machine, 0 = control, lanes from 1; response: the one it answers */
    uint32_t lanes;        /* lane count of the sender */
    uint64_t generation;   /* of the connection that the request came on; echoed by the response */
    uint64_t order;        /* here: of the connection that it came on, see inlet_order; no part of the message, 0 = not known */
};

enum handshake_fault {
    HANDSHAKE_OK,
    HANDSHAKE_MALFORMED,
    HANDSHAKE_FOREIGN, /* another protocol or system: a node of another cluster */
    HANDSHAKE_ADDRESS, /* meant for another address than our canonical one */
    HANDSHAKE_SELF,    /* claims our own address */
};

/* Payload of a request to `to`, appended. Zero extension fields are left out, so Akka's bytes result. */
void handshake_request_put(struct buf *buf, const struct identity *self,
                           const struct address *to,
                           const struct handshake *handshake);
void handshake_response_put(struct buf *buf, const struct identity *self,
                            const struct handshake *handshake); /* from = self */
/* Reads the payload of a request (manifest d) or a response (e). With a fault other than OK or malformed, text (null, or
 * HANDSHAKE_TEXT_MAX bytes) says in clear words who was meant. */
#define HANDSHAKE_TEXT_MAX 512
enum handshake_fault handshake_request_read(const struct identity *self,
                                            struct slice payload,
                                            struct handshake *handshake,
                                            char *text);
enum handshake_fault handshake_response_read(const struct identity *self,
                                             struct slice payload,
                                             struct handshake *handshake,
                                             char *text);

static inline bool envelope_is(const struct envelope *envelope,
                               int32_t serializer, const char *manifest)
{
    return envelope->serializer == serializer &&
           slice_is(envelope->manifest, manifest);
}

/* Answers what any machine that reads a connection must answer itself, after everything before it was handed over: Flush (o)
 * with FlushAck, ActorSystemTerminating (b) with its ack, ArteryHeartbeat (m, also through a selection) with its response.
 * True when the message was one of these: it is used up (b: tell control too, see associations_terminating). The answers
 * go to the sender on the ordinary stream, ArteryHeartbeat's on control. */
bool control_answer(const struct identity *self, const struct node_id *from,
                    const struct envelope *envelope, struct outbox *outbox);

/* Flush from `sender` (a path on this node with its "#uid") to a peer, on the ordinary stream that the caller owns. */
void flush_put(struct outbox *outbox, const struct node_id *to,
               struct slice sender);
/* A FlushAck (p) that arrived: how many acks belong to one Flush; 1 when it does not say. */
bool flush_ack_read(struct slice payload, uint32_t *expected_acks);

/* Identify (serializer 16, manifest A): answers with ActorIdentity from the path with its "#uid"; empty path = no such
 * actor. False when the payload is malformed. */
bool identify_answer(const struct identity *self, const struct inbound *identify,
                     struct slice path, struct outbox *outbox);

/* An envelope as a message for the control plane's cores: paths without address, a selection unwrapped into `selection`.
 * A sender on a third node stays a whole literal. False when the recipient is not on this node, or a text is malformed. */
bool envelope_inbound(const struct identity *self, const struct node_id *from,
                      const struct envelope *envelope,
                      struct selection *selection, struct inbound *inbound);

#endif
