/* Declares the inside of `struct associations` for association.c (which peer is where) and peers.c
 * (messages with known peers). */
#ifndef SHERD_ARTERY_PEERS_H
#define SHERD_ARTERY_PEERS_H

#include "artery/association.h"
#include "artery/sequence.h"
#include "base/map.h"
#include "base/vec.h"

/* Advertisements of one kind of table, to and from a peer. */
struct peer_table {
    uint64_t send_at;     /* NEVER = not needed or given up */
    uint16_t sent;        /* times, of our newest */
    int16_t reported_version; /* of the peer's table in the last news; -1 = none */
};

struct peer {
    const struct kept_address *address;
    uint64_t uid;        /* 0: no handshake yet */
    uint64_t order; /* highest of this incarnation's connections, see inlet_order; 0 = unknown */
    /* without a handshake: the incarnation that the waiting system messages are for; 0 = any */
    uint64_t intended;
    uint64_t capabilities;
    uint32_t lanes;
    struct sequence sequence;
    struct peer_table tables[2]; /* by enum table_kind */
    bool is_advertised;  /* it has a connection for messages to us, so it receives our tables */
    uint64_t gone_at;            /* when to forget a peer that terminates; else NEVER */
    bool terminate_sent;         /* we announced our termination */
    bool terminate_acked;
    bool failed; /* reported as ASSOCIATION_FAILED */
    bool has_left; /* it has left, but its last messages are accepted */
};

/* An incarnation that is over. */
struct retired {
    uint64_t uid; /* 0: it returned */
    /* UID that took its address, while it is open which of the two is older; 0 = it is gone */
    uint64_t by;
};

struct kept_news {
    struct association_news news; /* its slices have only sizes */
    size_t at;                    /* of their bytes */
};

struct associations {
    struct association_options options;
    struct map by_address; /* owns the peers */
    struct map by_uid;     /* with a handshake */
    struct peer *last;     /* found last, or named by associations_expect; null = none */
    uint64_t freed;        /* peers so far */
    struct map retired;    /* over; the value is unused */
    VEC(struct retired) retired_ring; /* of RETIRED_UIDS_MAX */
    uint32_t retired_at;
    struct map foreign; /* texts of nodes of other clusters already logged */
    VEC(struct kept_news) news;
    uint32_t news_head;
    struct buf news_bytes;
    uint64_t due; /* no peer needs a tick before */
    struct association_counts counts;
};

static inline struct node_id peers_node(const struct peer *peer)
{
    return (struct node_id){ address_again(peer->address), peer->uid };
}

/* association.c */
struct peer *peers_at(const struct associations *associations,
                      const struct address *address);
struct peer *peers_find(const struct associations *associations,
                        uint64_t uid);
struct peer *peers_add(struct associations *associations,
                       const struct address *address); /* finds or makes; null when full, counted */
void peers_renew(struct associations *associations, struct peer *peer,
                 uint64_t uid, uint64_t order);
void peers_due(struct associations *associations, uint64_t at);
void peers_tell(struct associations *associations,
                const struct association_news *news); /* copied; counted when full */
bool peers_news_full(const struct associations *associations);

/* peers.c */
/* Reports to probes that a message of that incarnation had an effect. */
void peers_taken(const struct associations *associations,
                 const struct peer *peer, uint64_t uid, enum probe_taken what);
bool peers_control(struct associations *associations, uint64_t now,
                   enum stream stream, struct peer *peer,
                   const struct envelope *envelope,
                   struct outbox *outbox); /* false: malformed */
void peers_advertise(struct associations *associations, uint64_t now,
                     struct peer *peer, struct outbox *outbox); /* both tables */
void peers_readvertise(struct associations *associations, uint64_t now,
                       struct peer *peer, struct outbox *outbox); /* the due ones */
/* Gives up system messages, with news. */
void peers_fail(struct associations *associations, struct peer *peer);

#endif
