/* What sharding keeps in distributed data: a replicator for each role that types have, as on JVM nodes (wire 6.1), the states of
 * coordinators in them (shard/state_store.h), and remembered entities (remember_data.h).
 *
 * A replicator is made at its first use, by a coordinator here or a message of a peer: any member with the role has a replica, whether it
 * has types of that role or not, since all are counted. */
#ifndef SHERD_NODE_SHARD_DATA_H
#define SHERD_NODE_SHARD_DATA_H

#include "base/map.h"
#include "base/vec.h"
#include "ddata/replicator.h"

struct control;
struct member_view;

struct shard_replicator {
    const char *role; /* lent; empty: all members of the data center */
    struct buf path;  /* a text */
    struct replicator *replicator; /* null: not used yet */
    bool is_stirred;  /* it had an input since its news were wired */
    bool is_durable;  /* it has durable keys: made at the start (data_store.h) */
};

struct shard_data {
    VEC(struct shard_replicator) replicators; /* of no role, then of each of this node */
    struct map calls; /* token -> struct kept_call: answers that are to come */
    uint64_t token;
    bool is_stirred;  /* one of them is */
    uint64_t due;     /* none of them is due before; 0: it is to be looked for */
};

/* Which value a register had. */
struct known_value {
    struct node_id node; /* that wrote it; uid 0: there was none */
    int64_t timestamp;
};

/* What a coordinator waits for: one or two answers; and what it knows of its keys. */
struct type_keeping {
    uint64_t life;   /* of the coordinator, from 1: answers to a former one are dropped */
    uint64_t ticket; /* its want's */
    uint32_t open;   /* answers that are to come */
    bool is_good;    /* none has failed */
    bool is_read;    /* in this life */
    struct known_value known[2]; /* that it read or wrote last: of the state, of the fences */
    struct buf state; /* that were read */
    struct buf fences;
};

void shard_data_init(struct control *control);
void shard_data_fini(struct control *control);
void shard_data_peer(struct control *control, const struct member_view *view);
void shard_data_peer_removed(struct control *control,
                             const struct node_id *node);
/* A message for a replicator of sharding; false: for none of them. */
bool shard_data_receive(struct control *control, const struct inbound *inbound);
void shard_data_begin(struct control *control, uint32_t type); /* a coordinator of the type begins */
void shard_data_wants(struct control *control, uint32_t type); /* does what it wants */
/* The replicator of a type's role, for a call: its answers come to whom their tokens are. */
struct replicator *shard_data_replicator(struct control *control,
                                         uint32_t type);
/* A majority as for all that sharding keeps but coordinators' states. */
struct consistency shard_data_majority(const struct control *control,
                                       uint64_t timeout_ms);
/* For data_store.c: the one of that index, made when it is not there, and wired next; null when it has no durable keys. */
struct replicator *shard_data_durable(struct control *control, uint32_t index);
void shard_data_wire(struct control *control); /* carries the replicators' news */
void shard_data_step(struct control *control); /* what is due */
uint64_t shard_data_deadline(const struct control *control);

#endif
