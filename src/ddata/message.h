/* Encodes and decodes the messages between replicators (Akka's serializer 12). Encoders append
 * to a buffer. A decoded message lends its parts until message_fini; its envelopes are not
 * checked yet. */
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
    MESSAGE_CLIENT, /* commands of a remote client */
    MESSAGE_UNKNOWN
};

struct message_entry {
    struct slice key;   /* text */
    struct slice bytes; /* the envelope, or the digest */
    int64_t from; /* sequence numbers of deltas, inclusive */
    int64_t to;
    int64_t used_ms; /* last use, in statuses and gossips; 0: unknown, or the key does not expire */
};

/* MESSAGES lists the fields of each kind. */
struct message {
    enum message_kind kind;
    struct message_entry *entries;
    uint32_t count;
    uint32_t chunk;
    uint32_t chunks; /* at least 1 */
    struct node_id from; /* uid 0: not stated */
    uint64_t to_uid;
    uint64_t from_uid;
    bool has_to_uid;
    bool has_from_uid;
    bool send_back;
    bool reply;
    bool is_packed; /* of a gossip to encode: mostly compressed already */
    void *memory; /* of a decoded message */
};

const char *message_manifest(enum message_kind kind); /* a literal */
enum message_kind message_kind_of(struct slice manifest);

/* Appends the message; everything it points to is lent. */
void message_put(struct buf *buf, const struct message *message);
/* kind: from the manifest, not client or unknown. False: malformed, or it needs more than
 * REPLICATOR_MESSAGE_MEMORY_MAX. Call message_fini in both cases. */
bool message_get(enum message_kind kind, struct slice payload,
                 struct message *message);
void message_fini(struct message *message);

enum envelope_form {
    ENVELOPE_WHOLE,
    ENVELOPE_PLAIN, /* without delta versions: the bytes of digests */
    ENVELOPE_STORED, /* and only performed pruning markers, but with all siblings */
    /* and of these only this node's: the delta lacks what others took over, and their markers
     * would delete that */
    ENVELOPE_DELTA
};
/* For sending it. A delta never says which nodes have seen a marker, because its receiver need not
 * have what they have. */
enum envelope_form envelope_form_of(const struct dd_value *delta);
/* `value`, if not null, replaces the envelope's own. Siblings are encoded one by one, except when
 * they are stored. */
void envelope_encode(struct buf *buf, const struct envelope *envelope,
                  const struct dd_value *value, enum envelope_form form);
/* Into an empty one. False: malformed or above a limit; then it stays empty. An origin, if any, is
 * RELAYED. */
bool envelope_decode(struct slice bytes, struct envelope *envelope);
/* The same for a stored one, with siblings. */
bool envelope_decode_stored(struct slice bytes, struct envelope *envelope);

#endif
