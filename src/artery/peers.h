/* Knows the peers of one machine: one entry for each address, with the incarnation there and what
 * the modules of the machine keep for it. Decides which incarnation is at an address.
 *
 * The index of an entry is small. Only a stranger's entry is freed before the end: that of a node
 * that is no member, and never answered at its address. Control forgets the oldest strangers beyond
 * a limit, and tells the lanes. A lane has a short form for nodes that it only heard of
 * (heard_peers.h). */
#ifndef SHERD_ARTERY_PEERS_H
#define SHERD_ARTERY_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "artery/control.h"
#include "artery/heard_peers.h"
#include "artery/retired_peers.h"
#include "artery/sender.h"
#include "artery/strangers.h"
#include "base/address.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/probe.h"
#include "base/vec.h"

/* The state of a link between the protocol and the driver. */
struct way {
    bool writing : 1; /* a DRIVER_WRITE is open: machine_pending has not returned false since */
    bool touched : 1;
    bool timed : 1;
};

/* A node has thousands of peers: all fields after uid and address fit in one cache line. */
struct peer {
    uint64_t uid;          /* 0 = the incarnation is not known yet */
    struct kept_address *address;
    /* the highest order of the incarnation's connections, see inlet_order; 0 = unknown */
    uint64_t order;
    struct sender *sender; /* its connections to this machine; null: none is accepted */
    struct link *links[2]; /* control, ordinary; null until first use */
    struct peer_tables *tables; /* null until the peer advertises one */
    struct prepared *prepared; /* lane: null until its first sharded message */
    uint32_t index;
    uint32_t capabilities; /* the first 32 of extension.h */
    uint16_t lanes;        /* of a Sherd node; 0 = a JVM node or unknown */
    uint16_t name;         /* lane: the number of its name in actors; 0 = none yet */
    struct way ways[2];
    bool leaves;           /* it is leaving, or was downed */
    bool met : 1;          /* a handshake named the incarnation */
    bool has_answered : 1; /* it answered on a connection to its address */
    bool gone : 1;         /* it left the cluster: nothing is sent to it */
    bool over : 1;         /* removed permanently: nothing is accepted from it */
    bool shares : 1;       /* control: the log says that it shares a type's role */
    bool has_large : 1;    /* peer_links.h has a link for large messages */
    bool is_kept : 1;      /* was a member, or a home: it is never forgotten */
    bool is_stranger : 1;  /* control: in the list of strangers */
};

_Static_assert(sizeof(struct peer) == 64 + 16,
               "one cache line behind its name");

struct peers_options {
    /* Another incarnation is at a peer's address; before: its UID, or 0. May be null. */
    void (*renewed)(void *user, struct peer *peer, uint64_t before);
    /* A stranger is forgotten: free what other modules keep in the entry. May be null. */
    void (*forgotten)(void *user, struct peer *peer);
    void *user;
    /* It decides which incarnation is at an address, and a lane follows. It accepts the connections
     * of a removed incarnation, and refuses its messages. It forgets strangers. */
    bool is_control;
    uint32_t strangers_max; /* control; 0: STRANGERS_MAX */
    struct probes *probes;  /* control: facts about peers that answered or are forgotten; may be null */
};

struct peers {
    struct peers_options options;
    VEC(struct peer *) all; /* by index; null: free */
    VEC(uint32_t) unused;   /* free indexes */
    VEC(uint32_t) left;     /* free, but the caller may still name them: see peers_reuse */
    struct strangers strangers; /* control */
    struct map by_address;
    struct map by_uid;
    struct peer *last;        /* the likely sender of the next frames, or null */
    struct heard_peers heard; /* lane: nodes without an entry yet */
    struct retired_peers retired; /* incarnations that are over */
    uint32_t sender_count;
    uint64_t version;   /* changes when a current connection may no longer be current; never 0 */
    uint64_t refused;   /* handshakes, by a full table or for a lane number that is too high */
    uint32_t silenced_at; /* index up to which removed incarnations were searched for room */
};

enum peer_verdict {
    PEER_SAME,     /* the known incarnation */
    PEER_NEW,      /* now at its address; another one may have been replaced */
    PEER_OVER,     /* refused: replaced or removed before */
    PEER_EARLIER,  /* refused: older than the incarnation at its address; from now on it is over */
    PEER_CLAIMS,   /* not yet: another incarnation stays until this one answers at the address */
    PEER_ELSEWHERE /* refused: a UID under a second address is a mistake or a lie */
};

void peers_init(struct peers *peers, const struct peers_options *options);
/* Frees the entries, not what other modules keep in them. */
void peers_fini(struct peers *peers);

/* Returns the peer at an address; makes its entry if there is none. On control a new entry may free
 * that of another peer: the oldest stranger. */
struct peer *peers_at(struct peers *peers, const struct address *address);
/* Returns the peer's own copy of the address; lent as long as `peers`: the peer is a member, and its
 * entry stays. */
const struct kept_address *peers_lasting(void *peers,
                                         const struct address *address);
struct peer *peers_find(struct peers *peers,
                        const struct address *address); /* or null */
struct peer *peers_uid(struct peers *peers, uint64_t uid); /* or null */
/* Looks a peer up by UID if it is known, else by address, and makes its entry if there is none. */
struct peer *peers_of(struct peers *peers, const struct node_id *node);

/* Decides about the incarnation of a handshake; its UID is not 0.
 *
 * order: of the handshake's connection (inlet_order); 0: not known. Connections of incarnations at
 * one address come in the incarnations' order, but may be read in any. So the incarnation with the
 * later connection stays or, without orders, the one that was read later. A replaced incarnation
 * returns by a later connection, or when the one that replaced it leaves: that one was the older.
 *
 * is_proven: the incarnation answered on a connection to the address. Without that it replaces none
 * that has: a stranger may name any address. On a lane it replaces none at all: control decides.
 *
 * *found: the entry of that UID, or of the other incarnation (PEER_EARLIER, PEER_CLAIMS); null:
 * none. */
enum peer_verdict peers_learn(struct peers *peers, const struct node_id *node,
                              uint64_t order, bool is_proven,
                              struct peer **found);
void peer_describe(struct peer *peer, uint64_t capabilities, uint32_t lanes);
/* The incarnation answered on a connection to its address: it is no stranger. */
void peers_answered(struct peers *peers, struct peer *peer);
/* Control: forgets the oldest stranger. False: there is none. */
bool peers_forget_stranger(struct peers *peers);
/* Nothing names the indexes of forgotten peers any more: new ones may have them. */
void peers_reuse(struct peers *peers);
/* A lane: control has forgotten that stranger. A home stays. */
void peers_stranger_gone(struct peers *peers, const struct node_id *node);
/* Stores what control says of a node, on a lane. is_verdict: control has compared it with what the
 * lane has read; else the incarnation with the later connection stays. */
void peers_heard(struct peers *peers, const struct heard_peer *node,
                 uint64_t order, bool is_verdict);
/* Returns the peer for a node that was named without a handshake, such as a home. Null if another
 * incarnation lives there, or this one is over: it must not get messages for the other. */
struct peer *peers_meant(struct peers *peers, const struct node_id *node);
/* The node is leaving, so its connections will end. */
void peers_leaves(struct peers *peers, const struct node_id *node);
/* The node has left the cluster. Its last messages are accepted until it is forgotten, or another
 * incarnation is at its address. */
void peers_gone(struct peers *peers, const struct node_id *node);
/* Removes an incarnation permanently. */
void peers_forget(struct peers *peers, uint64_t uid);
bool peers_is_over(const struct peers *peers, uint64_t uid); /* replaced, or forgotten */

enum peer_acceptance {
    PEER_ACCEPTED,
    PEER_WAITS, /* PEER_CLAIMS: the inlet waits, see inlet_claim */
    /* close the inlet: the incarnation is refused, the connection is older than the newest of its
     * sending lane, or there are too many senders (PEERS_MAX, counted) */
    PEER_REFUSED
};

/* Accepts a connection by its handshake, after peers_learn. At the limit of senders control first
 * silences removed incarnations, then forgets strangers. */
enum peer_acceptance peers_accept(struct peers *peers, enum stream stream,
                                  const struct handshake *handshake);
/* Accepts the connection of a claim, now that its incarnation is at the address. False: close it. */
bool peers_accept_claim(struct peers *peers, enum stream stream,
                        const struct handshake *handshake);
/* Returns the peer with that UID if its connections are accepted; else null: the message is dropped
 * and counted. Quick for the same UID as last time. */
struct peer *peers_sender(struct peers *peers, uint64_t uid);
/* Whether a connection is still the newest of its sending lane; ask once a batch. Generation 0 (a
 * JVM) always is. */
bool peers_is_newest(struct peers *peers, uint64_t uid, enum stream stream,
                     uint32_t lane, uint64_t generation);
/* Accepts nothing more on the connections of an incarnation. */
void peers_silence(struct peers *peers, uint64_t uid);

static inline struct node_id peer_node(const struct peer *peer)
{
    return (struct node_id){ address_again(peer->address), peer->uid };
}

#endif
