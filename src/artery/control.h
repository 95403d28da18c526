/* Reads and writes Artery's own messages (serializer 17) for control and lanes: handshakes, and the
 * answers due from the machine that got the question: Flush, termination, heartbeats, Identify.
 * Keeps no state; association.h knows the peers. */
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

/* A handshake request or response: the sender, and what a Sherd node adds (zero from a JVM). */
struct handshake {
    struct node_id from;
    uint64_t capabilities; /* extension.h */
    /* request: the sending machine, 0 = control, lanes from 1; response: the one it answers */
    uint32_t lane;
    uint32_t lanes;        /* lane count of the sender */
    uint64_t generation;   /* of the request's connection; the response echoes it */
    /* of the connection it came on, see inlet_order; not in the message, 0 = unknown */
    uint64_t order;
};

enum handshake_fault {
    HANDSHAKE_OK,
    HANDSHAKE_MALFORMED,
    HANDSHAKE_FOREIGN, /* another protocol or system: a node of another cluster */
    HANDSHAKE_ADDRESS, /* meant for another address than our canonical one */
    HANDSHAKE_SELF,    /* claims our own address */
};

/* Appends the payload of a request to `to`. Leaves out extension fields of zero, so Akka's bytes
 * result. */
void handshake_request_put(struct buf *buf, const struct identity *self,
                           const struct address *to,
                           const struct handshake *handshake);
void handshake_response_put(struct buf *buf, const struct identity *self,
                            const struct handshake *handshake); /* from = self */
/* Reads the payload of a request (manifest d) or a response (e). text is null or has
 * HANDSHAKE_TEXT_MAX bytes. With HANDSHAKE_FOREIGN, _ADDRESS or _SELF it names the intended
 * node. */
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

/* Answers Flush (o), ActorSystemTerminating (b) and ArteryHeartbeat (m, also through a selection).
 * Every machine calls it for its connections, after everything before was passed on. True when the
 * message was one of these and is consumed; after b also call associations_terminating. Answers go
 * to the sender on the ordinary stream, ArteryHeartbeat's on control. */
bool control_answer(const struct identity *self, const struct node_id *from,
                    const struct envelope *envelope, struct outbox *outbox);

/* Sends Flush from `sender` (a path here with "#uid") on the ordinary stream that the caller
 * owns. */
void flush_put(struct outbox *outbox, const struct node_id *to,
               struct slice sender);
/* Reads a FlushAck (p): how many acks belong to one Flush; 1 when absent. */
bool flush_ack_read(struct slice payload, uint32_t *expected_acks);

/* Answers Identify (serializer 16, manifest A) with ActorIdentity of the path with its "#uid";
 * empty path = no such actor. False when the payload is malformed. */
bool identify_answer(const struct identity *self, const struct inbound *identify,
                     struct slice path, struct outbox *outbox);

/* Asks an actor of another node whether it exists; the answer comes to `from`, with its payload for
 * identity_read. Both paths without "#uid". */
void identify_put(struct outbox *outbox, const struct node_id *to, struct slice path,
                  struct slice from);
/* Reads an ActorIdentity (serializer 16, manifest B): the whole ref of the actor; empty: there is
 * none. False when malformed. */
bool identity_read(struct slice payload, struct buf *literal);

/* Makes a message for control's cores from an envelope: paths without address, a selection
 * unwrapped into `selection`. A sender on a third node stays a whole literal. False when the
 * recipient is not on this node, or a text is malformed. */
bool envelope_inbound(const struct identity *self, const struct node_id *from,
                      const struct envelope *envelope,
                      struct selection *selection, struct inbound *inbound);

#endif
