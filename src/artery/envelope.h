/* Reads and writes envelopes: 28 fixed bytes, literals, payload, and what they wrap (selections,
 * sharding envelopes). docs/protocol/link.md has the fields.
 *
 * Control writes a struct outbound with envelope_put. The data path uses a prepared struct
 * envelope_head for one recipient and manifest. A frame on the wire is a length of four bytes and
 * an envelope. Writers append whole frames; readers get the envelope that the inlet split off. */
#ifndef SHERD_ARTERY_ENVELOPE_H
#define SHERD_ARTERY_ENVELOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "artery/table.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "base/outbox.h"

#define ENVELOPE_HEADER_SIZE 28 /* bytes before the literals */
#define SERIALIZER_BYTES 4
#define SERIALIZER_SELECTION 6
#define SERIALIZER_MISC 16
#define SERIALIZER_ARTERY 17
#define SERIALIZER_SYSTEM 22
#define SERIALIZER_SHARDING_TYPED 25

/* An envelope that was read. Slices are lent from the frame, or from this node's tables for
 * compressed ones. */
struct envelope {
    uint64_t origin; /* UID of the sending system */
    int32_t serializer;
    int32_t recipient_index; /* in this node's table of refs at `refs_version`; -1 = literal */
    uint8_t flags;
    uint8_t refs_version;
    uint8_t manifests_version;
    struct slice sender;    /* whole literal; empty = none */
    struct slice recipient; /* likewise */
    struct slice manifest;
    struct slice payload;
};

/* Why an envelope was not read; envelope_error_text gives the text. */
enum envelope_error {
    ENVELOPE_OK,
    ENVELOPE_TRUNCATED,   /* a field exceeds the frame, or a length is negative */
    ENVELOPE_VERSION,     /* not version 0 */
    ENVELOPE_LITERAL,     /* a ref or manifest above its limit */
    ENVELOPE_TABLE,       /* compressed with an unknown table, or on a stream without tables */
};

const char *envelope_error_text(enum envelope_error error);
/* Reads the envelope in `frame` (without its length). tables: those that this node advertised; null
 * on control and large streams, which must not use tables. Allocates nothing. */
enum envelope_error envelope_read(struct slice frame,
                                  const struct own_tables *tables,
                                  struct envelope *envelope);
/* Copies an envelope with its texts and its payload into one block, for the caller to free. The
 * copy needs neither the frame nor this node's tables. */
struct envelope *envelope_keep(const struct envelope *envelope);

/* Appends the whole frame (length first) of a message. Prefixes its paths with an address:
 * message->to for the recipient, this node for the sender. A text that does not start with "/" is a
 * whole literal. Wraps a selection. tables: the peer's, for an ordinary link to the incarnation
 * tables->uid; else null. False, and buf unchanged, when the frame or a literal would exceed its
 * limit. */
bool envelope_put(struct buf *buf, const struct identity *self,
                  const struct peer_tables *tables,
                  const struct outbound *message);

/* The contents of an ActorSelection. The path is lent from `path_text`, the rest from the
 * payload. */
struct selection {
    struct slice path; /* "/system/cluster/core/daemon" */
    struct slice manifest;
    struct slice payload;
    int32_t serializer;
    char path_text[SELECTION_PATH_MAX];
};

/* Reads the payload of serializer SERIALIZER_SELECTION. False when it is malformed, or has a parent
 * step or a pattern, which no cluster module sends. */
bool envelope_unwrap_selection(struct slice payload,
                               struct selection *selection);

/* Quickly checks whether a selection, if well-formed, encloses this serializer. */
bool envelope_selects(struct slice payload, int32_t serializer);

/* A prepared frame to one recipient with one manifest and serializer; without sender it is copied
 * as it is. Zero is empty. */
struct envelope_head {
    struct buf bytes;   /* a frame without payload and sender */
    uint32_t tail_at;   /* offset of what follows the sender's literal */
    bool recipient_literal; /* its tag moves by the sender's size; likewise the manifest's */
    bool manifest_literal;
    uint64_t uid; /* the incarnation whose tables it uses; 0 = literals only, valid for any */
};

void envelope_head_fini(struct envelope_head *head);
/* Prepares a head. recipient: whole ref literal, copied, as is manifest. tables: null for literals
 * only. Prepare again for a new incarnation or table of the peer. False when a literal exceeds its
 * limit. */
bool envelope_head_init(struct envelope_head *head, const struct identity *self,
                        const struct peer_tables *tables,
                        struct slice recipient, struct slice manifest,
                        int32_t serializer);
/* Puts a sender into the head, for many messages of one; use it without a sender. */
void envelope_head_bind(struct envelope_head *bound,
                        const struct envelope_head *head, struct slice sender);
/* Appends a whole frame: head, sender (whole ref literal; empty = none), payload. The sum must be
 * below the link's frame limit: see envelope_size_max. */
void envelope_head_put(struct buf *buf, const struct envelope_head *head,
                       struct slice sender, struct slice payload);
/* Writes the part of envelope_head_put before the payload, into memory with the room; returns the
 * end. */
uint8_t *envelope_head_write(uint8_t *at, const struct envelope_head *head,
                             struct slice sender, size_t payload_size);
/* An upper bound of the size of such a frame, length included. */
static inline size_t envelope_size_max(const struct envelope_head *head,
                                       struct slice sender, size_t payload_size)
{
    return head->bytes.size + sender.size + 2 + payload_size;
}

/* Akka's typed ShardingEnvelope: serializer SERIALIZER_SHARDING_TYPED, manifest "a". Empty manifest
 * = omitted. */
struct sharding_envelope {
    struct slice id; /* of the entity */
    struct slice manifest;
    struct slice body;
    int32_t serializer;
};

#define SHARDING_ENVELOPE_OVERHEAD 48 /* most bytes added to id, manifest and body */

/* Appends a whole frame; never allocates when buf has the room: envelope_size_max(head, sender, id
 * + manifest + body + SHARDING_ENVELOPE_OVERHEAD). The caller checks FRAME_SIZE_MAX. */
void sharding_envelope_put(struct buf *buf, const struct envelope_head *head,
                           struct slice sender,
                           const struct sharding_envelope *message);
/* Reads a payload in any form; slices are lent from it. False when it is malformed or lacks a
 * required field. */
bool sharding_envelope_read_any(struct slice payload,
                                struct sharding_envelope *message);

/* Reads a field's size of one or two bytes after its key at *at, and moves *at to the field.
 * SIZE_MAX: it has more bytes. */
static inline size_t usual_size(const uint8_t **at)
{
    const uint8_t *size = *at + 1;

    *at = size + 1;
    if (size[0] < 0x80)
        return size[0];
    *at = size + 2;
    return size[1] < 0x80 ? (size[0] & 0x7fu) | (size_t)size[1] << 7 : SIZE_MAX;
}

/* Reads the usual form of sharding_envelope_put: sizes of at most two bytes, the manifest's and the
 * id's of one, the serializer's number of two. False: another form, which may be valid. */
static inline bool sharding_envelope_read_usual(struct slice payload,
                                                struct sharding_envelope *message)
{
    const uint8_t *at = payload.data;
    const uint8_t *end = at + payload.size;
    size_t size;

    if (payload.size < 2 || at[0] != (1 << 3 | 2) || at[1] >= 0x80 ||
        payload.size < 2u + at[1] + 6u)
        return false;
    message->id = slice_of(at + 2, at[1]);
    at += 2 + message->id.size;
    if (at[0] != (2 << 3 | 2) || usual_size(&at) != (size_t)(end - at) ||
        end - at < 3 || at[0] != (1 << 3 | 2))
        return false;
    size = usual_size(&at);
    if (size > (size_t)(end - at) || (size_t)(end - at) - size < 5)
        return false;
    message->body = slice_of(at, size);
    at += size;
    if (at[0] != 2 << 3 || at[1] < 0x80 || at[2] >= 0x80 ||
        at[3] != (4 << 3 | 2) || at[4] != end - at - 5)
        return false;
    message->serializer = (int32_t)((at[1] & 0x7fu) | (uint32_t)at[2] << 7);
    message->manifest = slice_of(at + 5, at[4]);
    return at[4] < 0x80;
}

static inline bool sharding_envelope_read(struct slice payload,
                                          struct sharding_envelope *message)
{
    return sharding_envelope_read_usual(payload, message) ||
           sharding_envelope_read_any(payload, message);
}

#endif
