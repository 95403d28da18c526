/* Holds messages between nodes as cores see them: lent ones that arrive, and a queue of those to
 * send.
 * A core names peer and paths; `artery/` makes the frame, and the node loops its own messages back.
 * Paths are percent-encoded, e.g. "/system/cluster/core/daemon" or
 * "/system/sharding/Counter#-12345". A recipient may omit "#uid". */
#ifndef SHERD_BASE_OUTBOX_H
#define SHERD_BASE_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"

enum stream { STREAM_CONTROL = 1, STREAM_ORDINARY = 2, STREAM_LARGE = 3 };

/* This node's identity, constant and lent to every core. */
struct identity {
    const char *protocol;
    const char *system;
    struct node_id node;
};

/* A message that arrived. All slices are lent for the call. */
struct inbound {
    struct node_id from;    /* the sending node's incarnation */
    struct slice sender;    /* path with its "#uid"; empty = none */
    struct slice recipient; /* path without "#uid"; empty = none */
    struct slice manifest;
    struct slice payload;
    int32_t serializer;
    bool is_selected; /* it came through an ActorSelection; its path may be a pattern */
};

/* Kinds of messages whose next one brings the current state: a link drops a message if its kind
 * already waits for the peer. */
enum repeats {
    REPEATS_NOT,
    REPEATS_MEMBERS, /* gossip of the membership */
    /* values of distributed data that a peer's status lacks; several queue while fewer than
     * LINK_REPEATED_BYTES wait */
    REPEATS_VALUES,
    REPEATS_COUNT
};

/* A message to send. outbox_put copies its slices; those from outbox_next are lent until the next
 * call. */
struct outbound {
    struct node_id to; /* uid 0 = any incarnation at that address */
    struct slice recipient;
    struct slice sender;
    struct slice manifest;
    struct slice payload;
    int32_t serializer;
    enum stream stream;
    bool selection; /* address the recipient through an ActorSelection */
    enum repeats repeats;
};

/* Zero is an empty one. The owner limits outbox.bytes. */
struct outbox {
    struct outbox_item *items;
    uint32_t head;
    uint32_t count; /* items from 0; those before head are taken */
    uint32_t capacity;
    struct buf bytes; /* texts and payloads */
};

void outbox_fini(struct outbox *outbox);
void outbox_put(struct outbox *outbox, const struct outbound *message);
/* In order; when empty returns false and reuses the memory. */
bool outbox_next(struct outbox *outbox, struct outbound *message);
/* Returns the receiver of the message after that many others; null if none. */
const struct node_id *outbox_to(const struct outbox *outbox, uint32_t behind);

/* Appends "protocol://System@host:port" + path, without a zero byte. */
void ref_put(struct buf *buf, const struct identity *self,
             const struct address *address, struct slice path);
/* Splits a ref into address and path (lent, with a "#uid" if present). False when malformed, or of
 * another protocol or system. */
bool ref_parse(const struct identity *self, struct slice ref,
               struct address *address, struct slice *path);
/* True if the ref is exactly what ref_put writes for this address and some path. Sets the path,
 * lent. Refuses other spellings that ref_parse reads. */
bool ref_at(const struct identity *self, struct slice ref,
            const struct address *address, struct slice *path);
struct slice path_plain(struct slice path);

#endif
