/* Keeps the links of one machine to its peers (artery/peers.h), and what it needs to write frames to
 * them. */
#ifndef SHERD_NODE_PEER_LINKS_H
#define SHERD_NODE_PEER_LINKS_H

#include <sherd/actor.h>

#include "artery/envelope.h"
#include "artery/link.h"
#include "artery/peers.h"
#include "artery/table.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/timers.h"
#include "node/mail/outputs.h"
#include "node/node.h"
#include "node/peers/type_names.h"

#define PEER_LINKS 3 /* one for each stream */

/* The prepared heads of frames with a lane's sharded messages to one node. */
struct prepared {
    /* the head of bound_type, with the last sender in it; empty = none */
    struct envelope_head bound;
    struct sherd_ref bound_sender;
    uint32_t bound_type;
    uint8_t bound_wants; /* wants_undelivered of that sender */
    uint32_t head_count;
    struct envelope_head heads[]; /* by type, from its first use on */
};

struct large_link {
    struct link *link;
    struct way way;
};

/* Names what the peers of a machine need from it. Everything is lent. */
struct peer_links_options {
    struct peers *peers;
    const struct node_settings *settings;
    const struct identity *self;
    const struct type_names *names; /* by type */
    const uint64_t *now;            /* of the machine */
    uint32_t index;                 /* of the machine; 0: control */
    struct trace *trace;
    struct probes *probes; /* or null */
    struct outputs *outputs;
};

struct peer_links {
    struct peer_links_options options;
    struct map large;      /* index of a peer -> struct large_link */
    struct buf scratch;
    struct link_sender sender;
    uint64_t lost;         /* frames dropped on other links than control's */
    /* messages of these kinds left out because one waited already */
    uint64_t left_out[REPEATS_COUNT];
    VEC(uint32_t) touched; /* peer index * PEER_LINKS + link index */
    VEC(uint32_t) timed;   /* likewise: every link with a deadline, and some more */
    uint64_t deadline;     /* not later than that of any link */
};

void peer_links_init(struct peer_links *links,
                     const struct peer_links_options *options);
void peer_links_fini(struct peer_links *links);
/* The node ends: waiting frames end as SHUTTING_DOWN. */
void peer_links_end(struct peer_links *links);
/* Another incarnation is at the peer's address; before: its UID, or 0. Its tables, heads and waiting
 * messages end. */
void peer_links_renewed(struct peer_links *links, struct peer *peer,
                        uint64_t before);
/* The node has left the cluster: peers_gone. Drops and counts the messages that wait for it. */
void peer_links_gone(struct peer_links *links, const struct node_id *node);
/* Drops and counts messages that wait for a connection to the node: it is no member, and will never
 * be removed. */
void peer_links_no_member(struct peer_links *links, const struct node_id *node);
/* The peer's entry ends: its links end, their messages are counted, and all else is freed. */
void peer_links_forget(struct peer_links *links, struct peer *peer);
/* Another node claims the address: control's link shows which one is there. */
void peer_links_verify(struct peer_links *links, const struct node_id *node);
/* Passes the answer of a handshake to the links of its node. */
void peer_links_answered(struct peer_links *links, const struct node_id *node,
                         uint32_t lane, uint64_t generation);
void peer_links_table(struct peer_links *links, const struct node_id *node,
                      enum table_kind kind, struct slice payload);

static inline uint32_t link_index(enum stream stream)
{
    return (uint32_t)stream - STREAM_CONTROL;
}

/* Returns null if there is none. */
struct large_link *peer_large(const struct peer_links *links,
                              const struct peer *peer);

/* Returns null if there is none. */
static inline struct link *peer_link_at(const struct peer_links *links,
                                        const struct peer *peer,
                                        uint32_t index)
{
    if (index < link_index(STREAM_LARGE))
        return peer->links[index];
    return peer->has_large ? peer_large(links, peer)->link : NULL;
}

static inline struct way *peer_way(const struct peer_links *links,
                                   struct peer *peer, uint32_t index)
{
    return index < link_index(STREAM_LARGE)
               ? &peer->ways[index]
               : &peer_large(links, peer)->way;
}

struct link *peer_make_link(struct peer_links *links,
                            struct peer *peer, enum stream stream);

/* Makes the link if there is none. */
static inline struct link *peer_link(struct peer_links *links,
                                     struct peer *peer,
                                     enum stream stream)
{
    struct link *link =
        peer_link_at(links, peer, link_index(stream));

    return link ? link : peer_make_link(links, peer, stream);
}

/* Notes that frames were put on a link, so peer_links_flush looks at it. */
static inline void peer_touched(struct peer_links *links,
                                struct peer *peer, enum stream stream)
{
    uint32_t index = link_index(stream);
    struct way *way = peer_way(links, peer, index);

    if (way->touched)
        return;
    way->touched = true;
    vec_push(&links->touched, peer->index * PEER_LINKS + index);
}
/* Returns the head of sharded messages of a type to a peer; null if a literal is too long. */
const struct envelope_head *peer_head(struct peer_links *links,
                                      struct peer *peer,
                                      uint32_t type);

bool peer_links_waiting(const struct peer_links *links);

/* Prefetches the memory for sending to several nodes. In a process of many nodes it is in no
 * cache. */
void peer_links_fetch(const struct peer_links *links, const uint64_t *uids,
                      uint32_t count);
void peer_links_fetch_outbox(const struct peer_links *links,
                             const struct outbox *outbox);
/* Prefetches what a peer's entry points to; the entry itself is in the cache. */
void peer_fetch(const struct peer_links *links,
                const struct peer *peer);
/* Sends a message of the control plane. */
void peer_links_send(struct peer_links *links, const struct outbound *message);

/* Finds a link by its number in requests to the driver. Null: its peer was forgotten, and the driver
 * will see the request to close it. */
struct link *peer_links_find(struct peer_links *links, uint64_t number,
                             struct peer **peer, enum stream *stream);
void peer_links_tick(struct peer_links *links);
uint64_t peer_links_deadline(const struct peer_links *links); /* not later than that of any link */
/* Reads the requests of touched links, at the end of a turn. */
void peer_links_flush(struct peer_links *links);

#endif
