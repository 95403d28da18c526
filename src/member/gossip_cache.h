/* An encoded gossip in two parts, for large clusters. The head is all that only another version changes: members,
 * clock, tombstones, observations. The tail is who has seen it: the overview comes in two pieces, which a reader
 * puts together. While a version spreads, every node's gossip has the same head: it is deflated once, or taken over
 * from the gossip that brought the version, and a gossip with the own head is read by its tail alone. Most of a
 * head are the nodes' names, its first bytes: they are made once for all versions with the same nodes, and not read
 * where they are the own ones.
 *
 * On the wire it is one gzip stream of one message, as any other: only the order of the fields differs. */
#ifndef SHERD_MEMBER_GOSSIP_CACHE_H
#define SHERD_MEMBER_GOSSIP_CACHE_H

#include "member/wire.h"

#define GOSSIP_CACHE_MEMBERS_MIN 32 /* below that the parts cost more than they save */

/* The names of the nodes of some gossip. */
struct gossip_names {
    struct buf bytes; /* deflated; empty = none were made */
    size_t size;      /* of what they inflate to */
    uint32_t crc;     /* of that */
    VEC(struct profile *) members; /* held */
    VEC(struct node_id) gone; /* with tombstones */
};

/* Zero is one that is to be made. */
struct gossip_cache {
    struct buf bytes; /* deflated; begin with names.bytes; empty = to be made */
    size_t size;      /* of what they inflate to */
    uint32_t crc;     /* of that */
    struct gossip_names names;
};

void gossip_cache_fini(struct gossip_cache *head);
void gossip_cache_clear(struct gossip_cache *head); /* to be made again; the names are kept */
/* Appends a compressed gossip, as wire_put_gossip does. The head is made when there is none; it is that of the
 * gossip otherwise. */
void gossip_cache_put_gossip(const struct identity *identity, struct buf *packed,
                     const struct gossip *gossip, struct gossip_cache *head);
/* Makes a part of a head that is to be made, which each takes long: the names, then the rest. False: it is made. */
bool gossip_cache_make_step(const struct identity *identity, const struct gossip *gossip,
                    struct gossip_cache *head);
/* Whether a compressed gossip is the one that the head is of, but for who has seen it; then `seen` tells for each
 * member whether it has. False says nothing: it may still be the same. */
bool gossip_cache_get_seen(struct slice packed, const struct gossip *gossip,
                   const struct gossip_cache *head, bool *seen);

/* What was inflated, for gossip_cache_get_gossip and gossip_cache_take: zero before, gossip_cache_opened_fini afterwards. */
struct gossip_cache_opened {
    struct buf bytes;   /* inflated, behind the names when these were known */
    bool is_open;       /* it is packed as this library does it, and not wrong */
    size_t known_size;  /* of the compressed names when these were known, else 0 */
    size_t names_end;   /* in the compressed gossip; 0 = it is not in parts */
    size_t head_end;
    size_t names_size;  /* of the bytes, 0 when the names were known */
    size_t head_size;   /* of the bytes, with the names */
    uint32_t names_crc; /* of those bytes */
    uint32_t rest_crc;  /* of the head behind the names */
};
void gossip_cache_opened_fini(struct gossip_cache_opened *opened);

/* Inflates a compressed gossip, which takes about as long as to read it then. The head is of another gossip, or none. */
void gossip_cache_open(struct slice packed, const struct gossip_cache *head,
               struct gossip_cache_opened *opened);
/* As wire_get_gossip; with what was opened, but when it was not, or with names that are not the head's any more. */
enum verdict gossip_cache_get_gossip(const struct identity *identity,
                             struct slice packed, const struct gossip *known,
                             const struct gossip_cache *head,
                             struct gossip *gossip, struct gossip_cache_opened *opened);
/* The gossip was read from `packed`, which was opened with this head's names: its head is taken from there when
 * that is what would be made. */
void gossip_cache_take(const struct identity *identity, struct slice packed,
               const struct gossip_cache_opened *opened, const struct gossip *gossip,
               struct gossip_cache *head);

#endif
