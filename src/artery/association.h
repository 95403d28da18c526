/* Control's knowledge of its peers (wire 3): which incarnation is at which address, quarantine, compression tables, and
 * reliable system messages both ways.
 *
 * The node gives it every message of serializer 17 that arrives on control's connections, and the handshakes that lanes
 * read on theirs. Messages to peers go into the caller's outbox: control-class ones on STREAM_CONTROL without recipient,
 * as a JVM demands (wire 3.7). Quarantined is sent by who knows why a life is over (node/removed_notice.c). */
#ifndef SHERD_ARTERY_ASSOCIATION_H
#define SHERD_ARTERY_ASSOCIATION_H

#include <stdbool.h>
#include <stdint.h>

#include "artery/control.h"
#include "artery/envelope.h"
#include "artery/table.h"
#include "base/limits.h"
#include "base/outbox.h"
#include "base/probe.h"
#include "base/trace.h"

enum association_news_kind {
    /* An incarnation is at its address: the first one, or another than before (`replaced` is its uid). Give it to
     * link_expect of every link to that address, here and on the lanes; tables of the one before are void. */
    ASSOCIATION_UP,
    /* A HandshakeResponse: hand it to link_answered of the link with that lane and generation, or, when generation is 0,
     * of all links to that address. */
    ASSOCIATION_ANSWERED,
    ASSOCIATION_QUARANTINED_US, /* the peer will not hear us again: this uid is dead for it */
    ASSOCIATION_TERMINATING,    /* the peer's system ends; in a second its uid is gone */
    ASSOCIATION_FAILED,         /* system messages cannot be delivered (limit, 6 h): quarantine it, or lose watches */
    ASSOCIATION_TABLE,          /* the peer advertised a table: `payload` for peer_tables_receive, here and on the lanes */
    ASSOCIATION_WATCH,          /* `watcher` on the peer watches `watchee` here; an unknown one is answered at once */
    ASSOCIATION_UNWATCH,
    ASSOCIATION_TERMINATED,     /* `watchee` on the peer ended; `watcher` here is told */
    ASSOCIATION_FLUSHED,        /* a FlushAck for the sender of our Flush, here `watcher` */
};

struct association_news {
    enum association_news_kind kind;
    struct node_id peer;
    uint64_t replaced;     /* UP: uid before, 0 = none */
    uint64_t capabilities; /* UP */
    uint32_t lanes;        /* UP: of the peer, 0 = a JVM; FLUSHED: acks of one Flush */
    uint64_t order;        /* UP, ANSWERED: the latest connection of that incarnation, see inlet_order; 0 = not known */
    uint32_t lane;         /* ANSWERED */
    uint64_t generation;   /* ANSWERED */
    enum table_kind table; /* TABLE */
    bool existence_confirmed, address_terminated; /* TERMINATED */
    struct slice watchee; /* whole ref literal, exactly as it came: answers must repeat it. Lent until the next drain */
    struct slice watcher; /* likewise */
    struct slice payload; /* likewise */
};

enum association_verdict {
    ASSOCIATION_TAKEN,   /* artery's own: used up */
    ASSOCIATION_DELIVER, /* for an actor: `inbound` is filled */
    ASSOCIATION_DROPPED, /* malformed, unknown sender, quarantined: counted */
};

struct association_counts {
    uint64_t handshakes;   /* requests accepted */
    uint64_t foreign;      /* handshakes of another system or protocol */
    uint64_t misaddressed; /* meant for another address, or claiming ours */
    uint64_t stale;        /* of an incarnation that was replaced or quarantined */
    uint64_t unknown;      /* messages of a uid without handshake */
    uint64_t malformed;
    uint64_t refused;      /* by a full table or queue */
    uint64_t forgotten;    /* incarnations that are over, the oldest at RETIRED_UIDS_MAX */
    uint64_t system_sent;
    uint64_t system_received; /* delivered as news */
    uint64_t system_resent;
    uint64_t system_repeated; /* received again, or after a gap: not delivered */
};

struct association_options {
    const struct identity *self; /* lent for life */
    uint64_t capabilities;       /* extension.h; told to peers */
    uint32_t lanes;              /* of this node */
    const struct own_tables *tables; /* what to advertise; lent for life; null = nothing */
    struct trace *trace;
    struct probes *probes; /* of what is taken from peers; may be null */
    address_lasting *lasting;    /* of the peers [copies are kept] */
    void *user;                  /* its */
};

struct associations;

struct associations *associations_new(const struct association_options *options);
void associations_free(struct associations *associations);

/* A message that arrived on `stream`, by the connection of that order (inlet_order; 0: not known). Slices of `inbound` are lent
 * until the frame or `selection` goes. ArteryHeartbeat, Flush and termination are answered here; Identify and everything
 * else for actors is delivered. */
enum association_verdict
associations_receive(struct associations *associations, uint64_t now,
                     enum stream stream, uint64_t order,
                     const struct envelope *envelope,
                     struct selection *selection, struct inbound *inbound,
                     struct outbox *outbox);
/* A handshake request that a lane read on its connection; answered on control. False: not accepted (quarantined, of a former
 * life, or full): close the inlet it came on. */
bool associations_handshake(struct associations *associations, uint64_t now,
                            const struct handshake *handshake,
                            struct outbox *outbox);
/* A lane saw ActorSystemTerminating from that peer and acknowledged it. */
void associations_terminating(struct associations *associations, uint64_t now,
                              uint64_t uid);

/* Reliable messages: numbered, resent each second until acknowledged, in order. watchee and watcher are paths with their
 * "#uid", or whole literals as they came; the one at the peer is the recipient. A peer without a known incarnation gets
 * them after its handshake. Beyond SYSTEM_MESSAGES_MAX all are dropped, with news; silently to a quarantined incarnation. */
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

/* After own_tables_set, once every lane has the new version: advertises it to all peers that have an ordinary connection to
 * us. Others are told when they open one. */
void associations_advertise(struct associations *associations, uint64_t now,
                            struct outbox *outbox);
/* Tells every peer that this node ends, so that it forgets us without waiting. sender: a path with "#uid". */
void associations_terminate(struct associations *associations,
                            struct slice sender, struct outbox *outbox);
/* That incarnation is dead for us for good: what it sends is dropped, what waits for it too. uid must not be 0. Whom it had
 * replaced at its address may come back: of two lives the one that goes was the former, whichever was heard of first. */
void associations_quarantine(struct associations *associations,
                             const struct node_id *peer);
/* That incarnation has left, and may have a last word: it is heard until it says that it terminates, or another one is at its
 * address. Whom it had replaced may come back. uid must not be 0. */
void associations_left(struct associations *associations,
                       const struct node_id *peer);

uint64_t associations_uid(const struct associations *associations,
                          const struct address *address); /* 0 = not known */
bool associations_find(const struct associations *associations, uint64_t uid,
                       struct node_id *node); /* false when unknown or quarantined */
uint64_t associations_capabilities(const struct associations *associations,
                                   const struct address *address); /* 0 when not known */
void associations_fetch(const struct associations *associations); /* asks for the memory that a frame and a turn need */
/* Where a peer is kept that is known by this uid, or null: to have that memory fetched, as long as nobody looks into it, */
struct association_place {
    struct peer *peer;
    uint64_t freed; /* it is where it was as long as no peer is freed */
};
struct association_place
associations_place(const struct associations *associations, uint64_t uid);
/* and to say that what comes next is from that peer, probably: it is not looked for then. */
void associations_expect(struct associations *associations,
                         const struct association_place *place);
bool associations_quarantined(const struct associations *associations,
                              uint64_t uid);
bool associations_terminating_acked(const struct associations *associations); /* every peer told by associations_terminate answered */

void associations_tick(struct associations *associations, uint64_t now,
                       struct outbox *outbox);
uint64_t associations_deadline(const struct associations *associations);
bool associations_next_news(struct associations *associations,
                            struct association_news *news);
struct association_counts
associations_counts(const struct associations *associations);

#endif
