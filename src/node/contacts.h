/* The other nodes as one machine knows them: address, incarnation, tables, and the machine's links to each.
 *
 * A contact's index is small and stable for the machine's life; routes name contacts by it. */
#ifndef SHERD_NODE_CONTACTS_H
#define SHERD_NODE_CONTACTS_H

#include <sherd/actor.h>

#include "artery/envelope.h"
#include "artery/link.h"
#include "artery/table.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/timers.h"
#include "node/known_nodes.h"

struct machine;

#define CONTACT_LINKS 3 /* that one may have: of each stream */

/* What begins the frames of a lane's sharded messages to one node. */
struct prepared {
    struct envelope_head bound; /* the head of bound_type with the last sender in it; empty = none */
    struct sherd_ref bound_sender;
    uint32_t bound_type;
    uint8_t bound_wants; /* that sender's wants_undelivered */
    uint32_t head_count;
    struct envelope_head heads[]; /* by type; made when first used */
};

/* What is under way on a link. */
struct way {
    bool writing : 1; /* a WANT_WRITE is out that machine_pending has not answered with false */
    bool touched : 1; /* in contacts.touched */
    bool timed : 1;   /* in contacts.timed */
};

/* A node has thousands: what is behind the node's name and number is one cache line. */
struct contact {
    uint64_t uid;          /* 0 = incarnation not known yet */
    struct kept_address *address;
    uint64_t former;       /* another incarnation, replaced or gone: not taken as long as `node` is not gone; 0 = none */
    uint64_t order;        /* the highest of the incarnation's connections that was told, see inlet_order; 0 = none was */
    struct link *links[2]; /* control, ordinary; null until first use */
    struct peer_tables *tables; /* null until it advertised one */
    struct prepared *prepared; /* lane: null until a sharded message goes there */
    uint32_t index;
    uint32_t capabilities; /* the first 32 of extension.h */
    uint16_t lanes;        /* of a Sherd node; 0 = a JVM node or unknown */
    uint16_t name;         /* lane: the number of its name in actors; 0 = none yet */
    struct way ways[2];    /* of the links */
    bool leaves;           /* it is about to, or was downed */
    bool met : 1;          /* a handshake told this incarnation */
    bool gone : 1;         /* that incarnation left the cluster */
    bool shares : 1;       /* control: it was said that it shares a type's role */
    bool has_large : 1;    /* it has a link for large messages, too: in contacts.large */
};

_Static_assert(sizeof(struct contact) == 64 + 16,
               "one cache line behind its name");

/* Few have one: it takes no room in the others. */
struct large_link {
    struct link *link;
    struct way way;
};

struct contacts {
    struct machine *machine;
    struct known_nodes heard; /* lane: those without a contact, which get one when they are looked for */
    VEC(struct contact *) all; /* by index */
    struct map by_address;
    struct map by_uid;
    struct contact *last;  /* whose frames come in, probably; null: nobody's */
    struct map large;      /* index of a contact -> struct large_link */
    VEC(uint64_t) formers; /* incarnations that were replaced, the last ones of all contacts */
    struct buf scratch;    /* of the links */
    struct link_sender sender; /* lent to the links */
    uint64_t lost;         /* frames dropped with other links than control's */
    uint64_t left_out[REPEATS_COUNT]; /* messages of these kinds that were not sent, since one waited already */
    VEC(uint32_t) touched; /* contact index * CONTACT_LINKS + link index */
    VEC(uint32_t) timed;   /* likewise: every link that has a deadline, and some that had one */
    uint64_t deadline;     /* not later than that of any link: those that are timed are looked through when it comes */
};

void contacts_init(struct contacts *contacts, struct machine *machine);
void contacts_fini(struct contacts *contacts);
void contacts_end(struct contacts *contacts); /* the node's end: frames that wait end as SHUTTING_DOWN */
/* The contact at an address, made if there is none. */
struct contact *contacts_at(struct contacts *contacts,
                            const struct address *address);
/* The address as the contact there has it, lent for the contacts' life. */
const struct kept_address *contacts_lasting(void *contacts,
                                            const struct address *address);
struct contact *contacts_find(struct contacts *contacts,
                              const struct address *address); /* null when there is none */
struct contact *contacts_uid(struct contacts *contacts, uint64_t uid); /* null when unknown */
/* A handshake told of an incarnation at its address: remembers it. A former one's tables and heads are dropped, what waits for it
 * ends, and a lane forgets the routes that lead to it. order: of its connection (inlet_order); 0: not known. Handshakes of two
 * incarnations come by two connections and are read in any order: the contact keeps its node when that has the later connection,
 * or, where the order is not known, has replaced this one before; unless it is gone. */
struct contact *contacts_learn(struct contacts *contacts,
                               const struct node_id *node, uint64_t order);
/* What a handshake said of its node. */
void contact_describe(struct contact *contact, uint64_t capabilities,
                      uint32_t lanes);
/* A lane is told what a handshake with control said of a node: as contacts_learn, where there is a contact. */
void contacts_heard(struct contacts *contacts,
                    const struct known_node *node, uint64_t order);
/* The contact for a node that was named without a handshake, as a home. Null when another incarnation is known there, which has
 * not left: nothing may be written to it instead. */
struct contact *contacts_meant(struct contacts *contacts,
                               const struct node_id *node);
void contacts_leaves(struct contacts *contacts, const struct node_id *node); /* it is on its way out: its connections will end */
void contacts_gone(struct contacts *contacts, const struct node_id *node); /* what waits for it is dropped and counted */
/* It is no member: nobody will ever say that it has gone. What waits for a connection to it is dropped and counted. */
void contacts_stranger(struct contacts *contacts, const struct node_id *node);
/* As contacts_learn, with which it begins. */
void contacts_answered(struct contacts *contacts, const struct node_id *node,
                       uint64_t order, uint32_t lane, uint64_t generation);
void contacts_table(struct contacts *contacts, const struct node_id *node,
                    enum table_kind kind, struct slice payload);

static inline struct node_id contact_node(const struct contact *contact)
{
    return (struct node_id){ address_again(contact->address), contact->uid };
}

/* Of a stream, in links and the like. */
static inline uint32_t link_index(enum stream stream)
{
    return (uint32_t)stream - STREAM_CONTROL;
}

struct large_link *contact_large(const struct contacts *contacts,
                                 const struct contact *contact); /* null: it has none */

/* Its link of that index; null when it has none. */
static inline struct link *contact_link_at(const struct contacts *contacts,
                                           const struct contact *contact,
                                           uint32_t index)
{
    if (index < link_index(STREAM_LARGE))
        return contact->links[index];
    return contact->has_large ? contact_large(contacts, contact)->link : NULL;
}

/* What is under way on the link of that index, which it has. */
static inline struct way *contact_way(const struct contacts *contacts,
                                      struct contact *contact, uint32_t index)
{
    return index < link_index(STREAM_LARGE)
               ? &contact->ways[index]
               : &contact_large(contacts, contact)->way;
}

struct link *contact_make_link(struct contacts *contacts,
                               struct contact *contact, enum stream stream); /* for contact_link */

/* The link to a contact, made if there is none. */
static inline struct link *contact_link(struct contacts *contacts,
                                        struct contact *contact,
                                        enum stream stream)
{
    struct link *link =
        contact_link_at(contacts, contact, link_index(stream));

    return link ? link : contact_make_link(contacts, contact, stream);
}

/* Something was put on a link: contacts_flush looks at its wants. */
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
/* The prepared head for sharded messages of a type to a contact; null when a literal is too long. */
const struct envelope_head *contact_head(struct contacts *contacts,
                                         struct contact *contact,
                                         uint32_t type);

/* Whether frames to nodes that have not left wait on other links than control's. */
bool contacts_waiting(const struct contacts *contacts);

/* Has the memory fetched that sending to these needs, of several at a time: in a process of many nodes it is in no cache. */
void contacts_fetch(const struct contacts *contacts, const uint64_t *uids,
                    uint32_t count);
void contacts_fetch_outbox(const struct contacts *contacts,
                           const struct outbox *outbox);
/* The same of one whose own memory is there. */
void contact_fetch(const struct contacts *contacts,
                   const struct contact *contact);
/* Sends a message of the control plane. */
void contacts_send(struct contacts *contacts, const struct outbound *message);

/* The driver's side; number: of a link, as in wants. */
struct link *contacts_link(struct contacts *contacts, uint64_t number,
                           struct contact **contact, enum stream *stream);
void contacts_tick(struct contacts *contacts); /* at machine->now */
uint64_t contacts_deadline(const struct contacts *contacts); /* not later than any link's */
void contacts_flush(struct contacts *contacts); /* wants and news of touched links; at the end of a turn */

#endif
