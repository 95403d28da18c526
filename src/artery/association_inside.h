/* Declares the inside of `struct associations` for association.c (handshakes) and
 * association_messages.c (messages with known peers). */
#ifndef SHERD_ARTERY_ASSOCIATION_INSIDE_H
#define SHERD_ARTERY_ASSOCIATION_INSIDE_H

#include "artery/association.h"
#include "artery/peers.h"
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
    struct peer *peer;
    uint64_t uid;        /* of the peer that the rest is about; 0: no handshake yet */
    /* without a handshake: the incarnation that the waiting system messages are for; 0 = any */
    uint64_t intended;
    struct sequence sequence;
    struct peer_table tables[2]; /* by enum table_kind */
    bool is_advertised;  /* it has a connection for messages to us, so it receives our tables */
    uint64_t gone_at;            /* when to forget a peer that terminates; else NEVER */
    bool terminate_sent;         /* we announced our termination */
    bool terminate_acked;
    bool failed; /* reported as ASSOCIATION_FAILED */
};

struct kept_news {
    struct association_news news; /* its slices have only sizes */
    size_t at;                    /* of their bytes */
};

struct associations {
    struct association_options options;
    VEC(struct association *) all;     /* in order of creation */
    VEC(struct association *) by_peer; /* by the peer's index; null: none */
    struct association *last; /* found last, or named by associations_expect; null = none */
    uint64_t freed;           /* associations so far */
    struct map foreign; /* texts of nodes of other clusters already logged */
    VEC(struct kept_news) news;
    uint32_t news_head;
    struct buf news_bytes;
    uint64_t due; /* no peer needs a tick before */
    struct association_counts counts;
};

static inline struct node_id association_node(const struct association *association)
{
    return (struct node_id){ address_again(association->peer->address), association->uid };
}

/* association.c */
struct association *association_find(const struct associations *associations,
                                     uint64_t uid);
/* Finds or makes it; null when full, counted. */
struct association *association_add(struct associations *associations,
                                    const struct address *address);
void association_renew(struct associations *associations,
                       struct association *association, uint64_t uid);
void associations_due(struct associations *associations, uint64_t at);
void associations_tell(struct associations *associations,
                       const struct association_news *news); /* copied; counted when full */
bool associations_news_full(const struct associations *associations);

/* association_messages.c */
/* Reports to probes that a message of that incarnation had an effect. */
void association_taken(const struct associations *associations,
                       const struct association *association, uint64_t uid,
                       enum probe_taken what);
/* False: malformed. */
bool association_control(struct associations *associations, uint64_t now,
                         enum stream stream, struct association *association,
                         const struct envelope *envelope,
                         struct outbox *outbox);
/* Advertises both tables. */
void association_advertise(struct associations *associations, uint64_t now,
                           struct association *association,
                           struct outbox *outbox);
/* Advertises those that are due. */
void association_readvertise(struct associations *associations, uint64_t now,
                             struct association *association,
                             struct outbox *outbox);
/* Gives up system messages, with news. */
void association_fail(struct associations *associations,
                      struct association *association);

#endif
