/* Declares the inside of `struct associations` for association.c (handshakes) and
 * association_messages.c (messages with known peers). */
#ifndef SHERD_ARTERY_ASSOCIATION_INSIDE_H
#define SHERD_ARTERY_ASSOCIATION_INSIDE_H

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

struct association {
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
    struct association *last;     /* found last, or named by associations_expect; null = none */
    uint64_t freed;        /* peers so far */
    struct map retired;    /* over; the value is unused */
    VEC(struct retired) retired_ring; /* of RETIRED_PEERS_MAX */
    uint32_t retired_at;
    struct map foreign; /* texts of nodes of other clusters already logged */
    VEC(struct kept_news) news;
    uint32_t news_head;
    struct buf news_bytes;
    uint64_t due; /* no peer needs a tick before */
    struct association_counts counts;
};

static inline struct node_id association_node(const struct association *peer)
{
    return (struct node_id){ address_again(peer->address), peer->uid };
}

/* association.c */
struct association *association_at(const struct associations *associations,
                                   const struct address *address);
struct association *association_find(const struct associations *associations,
                                     uint64_t uid);
struct association *association_add(struct associations *associations,
                                    const struct address *address); /* finds or makes; null when full, counted */
void association_renew(struct associations *associations, struct association *peer,
                       uint64_t uid, uint64_t order);
void associations_due(struct associations *associations, uint64_t at);
void associations_tell(struct associations *associations,
                       const struct association_news *news); /* copied; counted when full */
bool associations_news_full(const struct associations *associations);

/* association_messages.c */
/* Reports to probes that a message of that incarnation had an effect. */
void association_taken(const struct associations *associations,
                       const struct association *peer, uint64_t uid, enum probe_taken what);
bool association_control(struct associations *associations, uint64_t now,
                         enum stream stream, struct association *peer,
                         const struct envelope *envelope,
                         struct outbox *outbox); /* false: malformed */
void association_advertise(struct associations *associations, uint64_t now,
                           struct association *peer, struct outbox *outbox); /* both tables */
void association_readvertise(struct associations *associations, uint64_t now,
                             struct association *peer, struct outbox *outbox); /* the due ones */
/* Gives up system messages, with news. */
void association_fail(struct associations *associations, struct association *peer);

#endif
