/* Caches the packed gossip of a large cluster in two parts.
 *
 * The head has the fields that stay the same within one version: members, clock, tombstones and
 * observations. The tail has the seen set, which changes more often. The field `overview` occurs in
 * both parts, and a protobuf reader merges them.
 *
 * All nodes have the same head for a version. A node packs the head once, or keeps the bytes of the
 * gossip that brought the version. If a received gossip has the head that the node knows, the node
 * reads only the tail. The nodes' names are the first and largest part of a head. A node packs them
 * once for all versions with the same nodes, and does not read names that it knows.
 *
 * On the wire both parts are one gzip stream of one message. Only the order of fields differs from
 * Akka's. */
#ifndef SHERD_MEMBER_GOSSIP_CACHE_H
#define SHERD_MEMBER_GOSSIP_CACHE_H

#include "member/wire.h"

#define GOSSIP_CACHE_MEMBERS_MIN 32 /* with fewer members the parts cost more than they save */

/* The names of the nodes of a gossip. */
struct gossip_names {
    struct buf bytes; /* deflated; empty: none */
    size_t size;      /* inflated */
    uint32_t crc;     /* of the inflated bytes */
    VEC(struct profile *) members; /* held */
    VEC(struct node_id) gone; /* nodes with tombstones */
};

/* Zero is to be made. */
struct gossip_cache {
    struct buf bytes; /* deflated; begins with names.bytes; empty: to be made */
    size_t size;      /* inflated */
    uint32_t crc;     /* of the inflated bytes */
    struct gossip_names names;
};

void gossip_cache_fini(struct gossip_cache *head);
void gossip_cache_clear(struct gossip_cache *head); /* Discards all but the names. */
/* Appends a compressed gossip, as wire_put_gossip. Makes the head if there is none; otherwise it
 * must be the gossip's. */
void gossip_cache_put_gossip(const struct identity *identity, struct buf *packed,
                     const struct gossip *gossip, struct gossip_cache *head);
/* Makes one part of an empty head, because each takes long: the names, then the rest. False:
 * nothing is left to make. */
bool gossip_cache_make_step(const struct identity *identity, const struct gossip *gossip,
                    struct gossip_cache *head);
/* True if a compressed gossip has this head. Then `seen` has a flag for each member. False: it may
 * still be the same gossip. */
bool gossip_cache_get_seen(struct slice packed, const struct gossip *gossip,
                   const struct gossip_cache *head, bool *seen);

/* An inflated gossip for gossip_cache_get_gossip and gossip_cache_take. Zero at first;
 * gossip_cache_opened_fini at the end. */
struct gossip_cache_opened {
    struct buf bytes;   /* inflated, without the names if these were known */
    bool is_open;       /* packed in this library's form, without an error */
    size_t known_size;  /* of the compressed names if known, otherwise 0 */
    size_t names_end;   /* in the compressed gossip; 0: not in parts */
    size_t head_end;
    size_t names_size;  /* in bytes; 0 if the names were known */
    size_t head_size;   /* in bytes, with the names */
    uint32_t names_crc; /* of those bytes */
    uint32_t rest_crc;  /* of the head after the names */
};
void gossip_cache_opened_fini(struct gossip_cache_opened *opened);

/* Inflates a compressed gossip. This takes about as long as reading it afterwards. The head is
 * another gossip's, or empty. */
void gossip_cache_open(struct slice packed, const struct gossip_cache *head,
               struct gossip_cache_opened *opened);
/* As wire_get_gossip. Uses what was opened. Opens it first, if it is not open or its names are not
 * the head's any more. */
enum verdict gossip_cache_get_gossip(const struct identity *identity,
                             struct slice packed, const struct gossip *known,
                             const struct gossip_cache *head,
                             struct gossip *gossip, struct gossip_cache_opened *opened);
/* Reuses the head of `packed` if it equals the head that would be built. The gossip was read from
 * `packed`, opened with this head's names. */
void gossip_cache_take(const struct identity *identity, struct slice packed,
               const struct gossip_cache_opened *opened, const struct gossip *gossip,
               struct gossip_cache *head);

#endif
