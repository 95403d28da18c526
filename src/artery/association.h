/* Keeps what control exchanges with its peers: handshakes, compression tables, and reliable system
 * messages in both directions. The registry (peers.h) decides which incarnations are accepted.
 *
 * The node passes every message of serializer 17 from control's connections, and the handshakes
 * that lanes read on theirs. Messages to peers go to the caller's outbox; control's go on
 * STREAM_CONTROL without recipient, as a JVM demands. node/control/removed_notice.c sends Quarantined. See
 * docs/protocol/link.md. */
#ifndef SHERD_ARTERY_ASSOCIATION_H
#define SHERD_ARTERY_ASSOCIATION_H

#include <stdbool.h>
#include <stdint.h>

#include "artery/control.h"
#include "artery/envelope.h"
#include "artery/peers.h"
#include "artery/table.h"
#include "base/limits.h"
#include "base/outbox.h"
#include "base/probe.h"
#include "base/trace.h"

enum association_news_kind {
    /* An incarnation is at its address: the first one, or another than before (`replaced` is its
     * UID). Pass it to link_expect of every link to that address, here and on the lanes. Tables of
     * the previous one are void. */
    ASSOCIATION_UP,
    /* A HandshakeResponse: pass it to link_answered of the link with that lane and generation, or,
     * when generation is 0, of all links to that address. */
    ASSOCIATION_ANSWERED,
    ASSOCIATION_QUARANTINED_US, /* the peer accepts nothing more from our UID */
    ASSOCIATION_TERMINATING,    /* the peer's system terminates; its UID is forgotten in a second */
    /* system messages cannot be delivered (limit, 6 h): quarantine it, or lose watches */
    ASSOCIATION_FAILED,
    /* an advertised table: `payload` for peer_tables_receive, here and on the lanes */
    ASSOCIATION_TABLE,
    ASSOCIATION_FORGOTTEN, /* a stranger, or one that is refused: the lanes forget it, too */
    /* another node claims the peer's address: pass it to link_verify of control's link */
    ASSOCIATION_CLAIMED,
    /* `watcher` on the peer watches `watchee` here; an unknown one is answered at once */
    ASSOCIATION_WATCH,
    ASSOCIATION_UNWATCH,
    ASSOCIATION_TERMINATED,     /* `watchee` on the peer ended; notify `watcher` here */
    ASSOCIATION_FLUSHED,        /* a FlushAck for our Flush from `watcher` */
};

struct association_news {
    enum association_news_kind kind;
    struct node_id peer;
    uint64_t replaced;     /* UP: the previous UID, 0 = none */
    uint64_t capabilities; /* UP */
    uint32_t lanes;        /* UP: of the peer, 0 = a JVM; FLUSHED: acks of one Flush */
    uint64_t order; /* UP: of its latest connection, see inlet_order; 0 = unknown */
    uint32_t lane;         /* ANSWERED */
    uint64_t generation;   /* ANSWERED */
    enum table_kind table; /* TABLE */
    bool existence_confirmed, address_terminated; /* TERMINATED */
    bool has_watches;      /* FORGOTTEN: system messages were exchanged with it */
    bool is_verdict;       /* UP: as in peers_heard */
    /* whole ref literal as received: answers must repeat it. Slices are lent until the next
     * drain */
    struct slice watchee;
    struct slice watcher;
    struct slice payload;
};

enum association_verdict {
    ASSOCIATION_TAKEN,   /* consumed here */
    ASSOCIATION_DELIVER, /* for an actor: `inbound` is filled */
    ASSOCIATION_DROPPED, /* malformed, unknown sender, quarantined: counted */
};

struct association_counts {
    uint64_t handshakes;   /* requests accepted */
    uint64_t foreign;      /* handshakes of another system or protocol */
    uint64_t misaddressed; /* meant for another address, or claiming ours */
    uint64_t stale;        /* of a replaced or quarantined incarnation */
    uint64_t claims;       /* handshakes with the address of a node that answered */
    uint64_t unknown;      /* messages of a UID without handshake */
    uint64_t malformed;
    uint64_t refused;      /* by a full table or queue */
    uint64_t forgotten;    /* strangers */
    uint64_t system_sent;
    uint64_t system_received; /* delivered as news */
    uint64_t system_resent;
    uint64_t system_repeated; /* received again, or after a gap: not delivered */
};

struct association_options {
    struct peers *peers;         /* of control; lent for the lifetime */
    const struct identity *self; /* likewise */
    uint64_t capabilities;       /* extension.h; announced to peers */
    uint32_t lanes;              /* of this node */
    const struct own_tables *tables; /* to advertise; lent for the lifetime; null = nothing */
    struct trace *trace;
    struct probes *probes; /* facts about accepted messages; may be null */
};

struct associations;

struct associations *associations_new(const struct association_options *options);
void associations_free(struct associations *associations);

/* Handles a message that arrived on `stream`, by the connection of that order (inlet_order; 0:
 * unknown). Answers ArteryHeartbeat, Flush and termination; delivers Identify and everything else
 * for actors. Slices of `inbound` are lent until the frame or `selection` goes. */
enum association_verdict
associations_receive(struct associations *associations, uint64_t now,
                     enum stream stream, uint64_t order,
                     const struct envelope *envelope,
                     struct selection *selection, struct inbound *inbound,
                     struct outbox *outbox);
/* Handles a handshake request on a connection of that stream, which is read elsewhere or waited as
 * a claim; control answers. False: not accepted (quarantined, of an older incarnation, a claim, or
 * full). */
bool associations_handshake(struct associations *associations, uint64_t now,
                            enum stream stream,
                            const struct handshake *handshake,
                            struct outbox *outbox);
/* Handles a handshake request of a lane's connection that waits as a claim there: not answered. The
 * news say which incarnation is at its address. */
void associations_claim(struct associations *associations,
                        const struct handshake *handshake);
/* A lane saw that peer's ActorSystemTerminating and acknowledged it. */
void associations_terminating(struct associations *associations, uint64_t now,
                              uint64_t uid);

/* Sends a reliable message: numbered, in order, resent each second until acknowledged. watchee and
 * watcher are paths with their "#uid", or whole literals as received; the one at the peer is the
 * recipient. Without a known incarnation it waits for the handshake. Beyond SYSTEM_MESSAGES_MAX all
 * are dropped, with news; to a quarantined incarnation without. */
void associations_watch(struct associations *associations, uint64_t now,
                        const struct node_id *peer, struct slice watchee,
                        struct slice watcher, struct outbox *outbox);
void associations_unwatch(struct associations *associations, uint64_t now,
                          const struct node_id *peer, struct slice watchee,
                          struct slice watcher, struct outbox *outbox);
void associations_terminated(struct associations *associations, uint64_t now,
                             const struct node_id *peer, struct slice watchee,
                             struct slice watcher, bool existence_confirmed,
                             bool address_terminated, struct outbox *outbox);

/* Advertises a new version to all peers that have an ordinary connection to us, and later to others
 * when they open one. Call it after own_tables_set, once every lane has the version. */
void associations_advertise(struct associations *associations, uint64_t now,
                            struct outbox *outbox);
/* Tells every peer that this node terminates, so that it forgets us without waiting. sender: a path
 * with "#uid". */
void associations_terminate(struct associations *associations,
                            struct slice sender, struct outbox *outbox);
/* Removes an incarnation permanently: drops its messages and those that wait for it. uid must not
 * be 0. The incarnation that it had replaced may return: the removed one counts as the older. */
void associations_quarantine(struct associations *associations,
                             const struct node_id *peer);
uint64_t associations_uid(const struct associations *associations,
                          const struct address *address); /* 0 = unknown */
bool associations_find(const struct associations *associations, uint64_t uid,
                       struct node_id *node); /* false when unknown or quarantined */
/* Prefetches the memory that a frame and a turn need. */
void associations_fetch(const struct associations *associations);
/* Locates a peer by its UID, or null: to prefetch its memory without reading it. */
struct association_place {
    struct association *association;
    uint64_t freed; /* the place is valid while no peer is freed */
};
struct association_place
associations_place(const struct associations *associations, uint64_t uid);
/* Names the probable peer of the next message, which is then not looked up. */
void associations_expect(struct associations *associations,
                         const struct association_place *place);
/* The registry forgets a stranger: drops what is kept of it, and counts its system messages. */
void associations_forget(struct associations *associations,
                         const struct peer *peer);
/* Every peer notified by associations_terminate answered. */
bool associations_terminating_acked(const struct associations *associations);

void associations_tick(struct associations *associations, uint64_t now,
                       struct outbox *outbox);
uint64_t associations_deadline(const struct associations *associations);
bool associations_next_news(struct associations *associations,
                            struct association_news *news);
struct association_counts
associations_counts(const struct associations *associations);

#endif
