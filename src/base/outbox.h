/* Messages between nodes as the control-plane cores see them: lent ones coming in, a queue of those going out.
 *
 * A core names the peer and paths; `artery/` makes the frame. A message to the own node is looped back by the node.
 * Paths are those inside a node, percent-encoded, e.g. "/system/cluster/core/daemon" or "/system/sharding/Counter#-12345";
 * "#uid" is optional in a recipient. */
#ifndef SHERD_BASE_OUTBOX_H
#define SHERD_BASE_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"

enum stream { STREAM_CONTROL = 1, STREAM_ORDINARY = 2, STREAM_LARGE = 3 };

/* Who this node is: constant for its life, lent to every core. */
struct identity {
    const char *protocol; /* "akka" */
    const char *system;   /* the cluster's name */
    struct node_id node;
};

/* A message that arrived. All slices are lent for the call. */
struct inbound {
    struct node_id from;    /* the sending node's incarnation */
    struct slice sender;    /* path of the sending actor with its "#uid"; empty = none */
    struct slice recipient; /* path on this node without "#uid"; empty = none */
    struct slice manifest;
    struct slice payload;
    int32_t serializer;
};

/* Another message of its kind comes soon that says what is so by then: it is not put behind one that waits for the same peer. */
enum repeats {
    REPEATS_NOT,
    REPEATS_MEMBERS, /* gossip of the membership */
    REPEATS_VALUES,  /* of distributed data, that a peer's status lacks; several go together while little waits (LINK_REPEATED_BYTES) */
    REPEATS_COUNT
};

/* A message to send. Slices given to outbox_put are copied; those returned by outbox_next are lent until the next call. */
struct outbound {
    struct node_id to; /* uid 0 = whoever is at that address */
    struct slice recipient;
    struct slice sender;
    struct slice manifest;
    struct slice payload;
    int32_t serializer;
    enum stream stream;
    bool selection; /* address the recipient through an ActorSelection (wire 4.1) */
    enum repeats repeats;
};

/* Zero is an empty one. Bounded by the owner: see outbox.bytes. */
struct outbox {
    struct outbox_item *items;
    uint32_t head;
    uint32_t count; /* items from 0; those before head are taken */
    uint32_t capacity;
    struct buf bytes; /* texts and payloads of all items */
};

void outbox_fini(struct outbox *outbox);
void outbox_put(struct outbox *outbox, const struct outbound *message); /* copied */
bool outbox_next(struct outbox *outbox, struct outbound *message); /* in order; false when empty, and then the memory is reused */
/* To whom the message goes that is behind so many; null when there is none. */
const struct node_id *outbox_to(const struct outbox *outbox, uint32_t behind);

/* "protocol://System@host:port" + path, appended to buf without a zero byte. */
void ref_put(struct buf *buf, const struct identity *self,
             const struct address *address, struct slice path);
/* Splits a ref literal into address and path (lent, with "#uid" when it has one). False when it is malformed, or of another
 * protocol or system. */
bool ref_parse(const struct identity *self, struct slice ref,
               struct address *address, struct slice *path);
/* Whether a ref literal is what ref_put writes for this address and a path; then the path, lent. A malformed one is not, and neither is
 * one that ref_parse would read in spite of another spelling, as of the port. */
bool ref_at(const struct identity *self, struct slice ref,
            const struct address *address, struct slice *path);
/* The path without its "#uid". */
struct slice path_plain(struct slice path);

#endif
