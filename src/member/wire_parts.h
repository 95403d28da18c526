/* Declares what encoders and decoders share: nodes, addresses and clocks as parts of messages.
 * Private to them. */
#ifndef SHERD_MEMBER_WIRE_PARTS_H
#define SHERD_MEMBER_WIRE_PARTS_H

#include "member/cluster.pb-c.h"
#include "member/gossip_pack.h"
#include "member/wire.h"

/* A node as a message. Must not be moved, because its parts point into each other. */
struct node_part {
    Cluster__Node node;
    Cluster__Address address;
};

void part_init_address(Cluster__Address *part, const struct identity *identity,
                       const struct address *address);
void part_init_node(struct node_part *part, const struct identity *identity,
                    const struct node_id *node); /* Lends the node's host. */

enum verdict part_get_address(const struct identity *identity,
                              const Cluster__Address *part,
                              struct address *address);
enum verdict part_get_node(const struct identity *identity,
                           const Cluster__Node *part, struct node_id *node);

/* Heartbeat and response in their usual form. False: another form or malformed; *heartbeat is
 * undefined. */
bool heartbeat_wire_get_heartbeat(const struct identity *identity, struct slice payload,
                        struct heartbeat *heartbeat);
bool heartbeat_wire_get_response(const struct identity *identity, struct slice payload,
                       struct heartbeat *heartbeat);

/* Hash texts and counts of a clock, in memory of the arena. */
Cluster__Clock *part_of_clock(struct arena *arena, const struct clock *clock,
                           char ***hashes);
enum verdict part_get_clock(const Cluster__Clock *part, char *const *hashes,
                            size_t hash_count, struct clock *clock);

/* Appends an encoded message. */
void part_put(struct buf *buf, const ProtobufCMessage *message);
/* Memory of the arena for encoding. Never null, because what we encode is bounded. */
void *part_alloc(struct arena *arena, size_t size);

#define COUNT_MAX (INT64_C(1) << 62) /* limit of a decoded count, far from overflow */
#define UP_NUMBER_MAX (INT32_C(1) << 30)

/* The gossip message in the order of field numbers, or in the pieces below, in this order. */
void gossip_write(struct buf *buf, const struct identity *identity,
                  const struct gossip *gossip);
void gossip_write_names(struct buf *buf, const struct identity *identity,
                        const struct gossip *gossip); /* Members, then tombstones. */
/* The clock's hashes; nearly all digits. */
void gossip_write_hashes(struct buf *buf, const struct gossip *gossip);
/* Without names, hashes and overview. */
void gossip_write_rest(struct buf *buf, const struct gossip *gossip);
/* A part of the overview; may be empty. */
void gossip_write_observations(struct buf *buf, const struct gossip *gossip);
/* The other part of the overview; never empty. */
void gossip_write_seen(struct buf *buf, const struct gossip *gossip);

/* The nodes of an address table that the message lacks; lent. */
struct given_names {
    struct profile *const *members; /* these first */
    const struct node_id *gone;
    uint32_t member_count;
    uint32_t gone_count;
};
/* Reads a gossip in its usual form, as wire_get_gossip. given: null if the message has its names.
 * False, with nothing read: another form, or an error. */
bool gossip_read(struct arena *arena, const struct identity *identity,
                 struct slice bytes, const struct given_names *given,
                 const struct gossip *known, struct gossip *gossip);
/* The same in any form. nodes: part->n_addresses nodes if the part has none; null: its own. */
enum verdict part_get_gossip(struct arena *arena,
                             const struct identity *identity,
                             const Cluster__Gossip *part,
                             const struct node_id *const *nodes,
                             const struct gossip *known, struct gossip *gossip);

#endif
