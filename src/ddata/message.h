/* The messages between replicators as bytes (serializer 12; wire 6.2): from our values to payloads and back.
 *
 * Encoders append to a buffer. What a decoder returns is lent by the message, until message_fini; it has checked
 * everything but the envelopes, which are read one by one. */
#ifndef SHERD_DDATA_MESSAGE_H
#define SHERD_DDATA_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"
#include "ddata/envelope.h"

/* name, manifest, text */
#define MESSAGES(X)                                                            \
    X(MESSAGE_WRITE, "I", "write") /* entry, from */                           \
    X(MESSAGE_WRITE_ACK, "J", "write-ack")                                     \
    X(MESSAGE_READ, "K", "read") /* entry without envelope, from */            \
    X(MESSAGE_READ_RESULT, "L", "read-result") /* entry without key; no entry: there is none */ \
    X(MESSAGE_STATUS, "M", "status") /* entries with digests, chunk, chunks, uids */ \
    X(MESSAGE_GOSSIP, "N", "gossip") /* entries, send_back, uids */            \
    X(MESSAGE_WRITE_NACK, "O", "write-nack")                                   \
    X(MESSAGE_DELTAS, "Q", "deltas") /* entries with sequences, from, reply */ \
    X(MESSAGE_DELTA_NACK, "R", "delta-nack")

enum message_kind {
#define X(name, manifest, text) name,
    MESSAGES(X)
#undef X
    MESSAGE_CLIENT, /* what a remote client's commands are */
    MESSAGE_UNKNOWN
};

struct message_entry {
    struct slice key;   /* a text */
    struct slice bytes; /* the envelope, or the digest */
    int64_t from; /* sequence numbers of deltas, both included */
    int64_t to;
    int64_t used_ms; /* of statuses and gossips: when it was used last; 0: not known, or it does not expire */
};

/* See MESSAGES for which fields a kind has; the others are zero. */
struct message {
    enum message_kind kind;
    struct message_entry *entries;
    uint32_t count;
    uint32_t chunk;
    uint32_t chunks; /* at least 1 */
    struct node_id from; /* uid 0: not told */
    uint64_t to_uid;
    uint64_t from_uid;
    bool has_to_uid;
    bool has_from_uid;
    bool send_back;
    bool reply;
    bool is_packed; /* of a gossip to be written: more than half of it is packed already, and would be again for nothing */
    void *memory; /* of one that was read */
};

const char *message_manifest(enum message_kind kind); /* a literal */
enum message_kind message_kind_of(struct slice manifest);

/* Appends a message of that kind; all that it points to is lent. */
void message_put(struct buf *buf, const struct message *message);
/* False when it is malformed, or would take more memory than REPLICATOR_MESSAGE_MEMORY_MAX. kind: of its manifest,
 * neither client nor unknown. Either way message_fini. */
bool message_get(enum message_kind kind, struct slice payload,
                 struct message *message);
void message_fini(struct message *message);

enum envelope_form {
    ENVELOPE_WHOLE,
    ENVELOPE_PLAIN, /* without delta versions: what a digest is over */
    ENVELOPE_STORED, /* and of the pruning only what is performed */
    ENVELOPE_DELTA   /* of what is performed only what this node took over: a delta that is merged in any order has
                        nothing of what others did, and its marks would clean that away */
};
enum envelope_form envelope_form_of(const struct dd_value *delta); /* that it is sent in. Who has seen a mark no delta
                        says: whoever hears it takes it for having what that one had */
/* Appends an envelope, with another value than its own unless null. */
void envelope_encode(struct buf *buf, const struct envelope *envelope,
                  const struct dd_value *value, enum envelope_form form);
/* Into an empty one; false when it is malformed, or passes a limit: then it is empty. */
bool envelope_decode(struct slice bytes, struct envelope *envelope);

#endif
