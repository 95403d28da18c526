/* Keeps what one machine knows of its peers: address, incarnation, tables, and links. The index of
 * a peer's entry (struct contact) is small and stable; routes name peers by it. */
#ifndef SHERD_NODE_CONTACTS_H
#define SHERD_NODE_CONTACTS_H

#include <sherd/actor.h>

#include "artery/envelope.h"
#include "artery/link.h"
#include "artery/table.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/timers.h"
#include "node/mail/outputs.h"
#include "node/node.h"
#include "node/peers/known_nodes.h"
#include "node/peers/type_names.h"

#define CONTACT_LINKS 3 /* one for each stream */

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

/* The state of a link between the protocol and the driver. */
struct way {
    bool writing : 1; /* a DRIVER_WRITE is open: machine_pending has not returned false since */
    bool touched : 1;
    bool timed : 1;
};

/* A node has thousands of peers: all fields after uid and address fit in one cache line. */
struct contact {
    uint64_t uid;          /* 0 = the incarnation is not known yet */
    struct kept_address *address;
    /* an incarnation, replaced or removed, that may not replace `node` until it is gone; 0 =
     * none */
    uint64_t former;
    /* the highest order of the incarnation's connections, see inlet_order; 0 = unknown */
    uint64_t order;
    struct link *links[2]; /* control, ordinary; null until first use */
    struct peer_tables *tables; /* null until the peer advertises one */
    struct prepared *prepared; /* lane: null until its first sharded message */
    uint32_t index;
    uint32_t capabilities; /* the first 32 of extension.h */
    uint16_t lanes;        /* of a Sherd node; 0 = a JVM node or unknown */
    uint16_t name;         /* lane: the number of its name in actors; 0 = none yet */
    struct way ways[2];
    bool leaves;           /* it is leaving, or was downed */
    bool met : 1;
    bool has_answered : 1; /* this incarnation answered on a connection to its address */
    bool gone : 1;         /* it left the cluster */
    bool shares : 1;       /* control: the log says that it shares a type's role */
    bool has_large : 1;    /* its link is in contacts.large */
};

_Static_assert(sizeof(struct contact) == 64 + 16,
               "one cache line behind its name");

struct large_link {
    struct link *link;
    struct way way;
};

/* Names what the peers of a machine need from it. Everything is lent. */
struct contacts_options {
    const struct node_settings *settings;
    const struct identity *self;
    const struct type_names *names; /* by type */
    const uint64_t *now;            /* of the machine */
    uint32_t index;                 /* of the machine; 0: control */
    struct trace *trace;
    struct probes *probes; /* or null */
    struct outputs *outputs;
    /* lane: another incarnation is at a peer's address */
    void (*renewed)(void *user, uint32_t contact);
    void *user;
};

struct contacts {
    struct contacts_options options;
    struct known_nodes heard; /* lane: nodes without an entry yet */
    VEC(struct contact *) all; /* by index */
    struct map by_address;
    struct map by_uid;
    struct contact *last;  /* the likely sender of the next frames, or null */
    struct map large;      /* index of a peer -> struct large_link */
    VEC(uint64_t) formers; /* replaced incarnations, the newest FORMERS_MAX */
    struct buf scratch;
    struct link_sender sender;
    uint64_t lost;         /* frames dropped on other links than control's */
    /* messages of these kinds left out because one waited already */
    uint64_t left_out[REPEATS_COUNT];
    VEC(uint32_t) touched; /* peer index * CONTACT_LINKS + link index */
    VEC(uint32_t) timed;   /* likewise: every link with a deadline, and some more */
    uint64_t deadline;     /* not later than that of any link */
};

void contacts_init(struct contacts *contacts,
                   const struct contacts_options *options);
void contacts_fini(struct contacts *contacts);
/* The node ends: waiting frames end as SHUTTING_DOWN. */
void contacts_end(struct contacts *contacts);
/* Returns the peer at an address; makes its entry if there is none. */
struct contact *contacts_at(struct contacts *contacts,
                            const struct address *address);
/* Returns the peer's own copy of the address; lent as long as `contacts`. */
const struct kept_address *contacts_lasting(void *contacts,
                                            const struct address *address);
struct contact *contacts_find(struct contacts *contacts,
                              const struct address *address); /* or null */
struct contact *contacts_uid(struct contacts *contacts, uint64_t uid); /* or null */
/* Remembers an incarnation that a handshake named. If it replaces another one, that one's tables,
 * heads and waiting messages end, and a lane forgets routes to it.
 *
 * order: of the handshake's connection (inlet_order); 0: not known. Handshakes of two incarnations
 * come on two connections, in any order. So a peer that is not gone keeps the incarnation with the
 * later connection or, without orders, the one that has replaced the other. */
struct contact *contacts_learn(struct contacts *contacts,
                               const struct node_id *node, uint64_t order);
void contact_describe(struct contact *contact, uint64_t capabilities,
                      uint32_t lanes);
/* Stores what a handshake with control said of a node, on a lane. Acts as contacts_learn if the
 * node has an entry. */
void contacts_heard(struct contacts *contacts,
                    const struct known_node *node, uint64_t order);
/* Returns the peer for a node that was named without a handshake, such as a home. Null if another
 * incarnation lives there: it must not get messages for this one. */
struct contact *contacts_meant(struct contacts *contacts,
                               const struct node_id *node);
/* The node is leaving, so its connections will end. */
void contacts_leaves(struct contacts *contacts, const struct node_id *node);
/* Drops and counts the messages that wait for the incarnation. */
void contacts_gone(struct contacts *contacts, const struct node_id *node);
/* Drops and counts messages that wait for a connection to the node: it is no member, and will never
 * be removed. */
void contacts_stranger(struct contacts *contacts, const struct node_id *node);
/* Learns the node, then passes the answer of a handshake to its links. */
void contacts_answered(struct contacts *contacts, const struct node_id *node,
                       uint64_t order, uint32_t lane, uint64_t generation);
void contacts_table(struct contacts *contacts, const struct node_id *node,
                    enum table_kind kind, struct slice payload);

static inline struct node_id contact_node(const struct contact *contact)
{
    return (struct node_id){ address_again(contact->address), contact->uid };
}

static inline uint32_t link_index(enum stream stream)
{
    return (uint32_t)stream - STREAM_CONTROL;
}

/* Returns null if there is none. */
struct large_link *contact_large(const struct contacts *contacts,
                                 const struct contact *contact);

/* Returns null if there is none. */
static inline struct link *contact_link_at(const struct contacts *contacts,
                                           const struct contact *contact,
                                           uint32_t index)
{
    if (index < link_index(STREAM_LARGE))
        return contact->links[index];
    return contact->has_large ? contact_large(contacts, contact)->link : NULL;
}

static inline struct way *contact_way(const struct contacts *contacts,
                                      struct contact *contact, uint32_t index)
{
    return index < link_index(STREAM_LARGE)
               ? &contact->ways[index]
               : &contact_large(contacts, contact)->way;
}

struct link *contact_make_link(struct contacts *contacts,
                               struct contact *contact, enum stream stream);

/* Makes the link if there is none. */
static inline struct link *contact_link(struct contacts *contacts,
                                        struct contact *contact,
                                        enum stream stream)
{
    struct link *link =
        contact_link_at(contacts, contact, link_index(stream));

    return link ? link : contact_make_link(contacts, contact, stream);
}

/* Notes that frames were put on a link, so contacts_flush looks at it. */
static inline void contact_touched(struct contacts *contacts,
                                   struct contact *contact, enum stream stream)
{
    uint32_t index = link_index(stream);
    struct way *way = contact_way(contacts, contact, index);

    if (way->touched)
        return;
    way->touched = true;
    vec_push(&contacts->touched, contact->index * CONTACT_LINKS + index);
}
/* Returns the head of sharded messages of a type to a peer; null if a literal is too long. */
const struct envelope_head *contact_head(struct contacts *contacts,
                                         struct contact *contact,
                                         uint32_t type);

bool contacts_waiting(const struct contacts *contacts);

/* Prefetches the memory for sending to several nodes. In a process of many nodes it is in no
 * cache. */
void contacts_fetch(const struct contacts *contacts, const uint64_t *uids,
                    uint32_t count);
void contacts_fetch_outbox(const struct contacts *contacts,
                           const struct outbox *outbox);
/* Prefetches what a peer's entry points to; the entry itself is in the cache. */
void contact_fetch(const struct contacts *contacts,
                   const struct contact *contact);
/* Sends a message of the control plane. */
void contacts_send(struct contacts *contacts, const struct outbound *message);

/* Finds a link by its number in requests to the driver. */
struct link *contacts_link(struct contacts *contacts, uint64_t number,
                           struct contact **contact, enum stream *stream);
void contacts_tick(struct contacts *contacts);
uint64_t contacts_deadline(const struct contacts *contacts); /* not later than that of any link */
/* Reads the requests of touched links, at the end of a turn. */
void contacts_flush(struct contacts *contacts);

#endif
