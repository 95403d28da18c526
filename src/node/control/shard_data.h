/* Keeps sharding's distributed data: a replicator for each role of a type, as on JVM nodes, with
 * the states of coordinators (shard/state_store.h) and remembered entities (remember_data.h).
 *
 * A replicator is made by its first use, by a coordinator here or a peer. Every member with the
 * role has a replica, even without types of that role, because all of them count. */
#ifndef SHERD_NODE_SHARD_DATA_H
#define SHERD_NODE_SHARD_DATA_H

#include "base/map.h"
#include "base/vec.h"
#include "ddata/replicator.h"

struct control;
struct member_view;

struct shard_replicator {
    const char *role; /* lent; empty: all members of the data center */
    struct buf path;  /* zero-terminated */
    struct replicator *replicator; /* null: not used yet */
    bool is_stirred;  /* it had an input since its events were wired */
    bool is_durable;  /* made at the start (data_durable.h) */
};

struct shard_data {
    VEC(struct shard_replicator) replicators; /* without a role, then for each role of this node */
    struct map calls; /* token -> struct kept_call */
    uint64_t token;
    bool is_stirred;
    uint64_t due;     /* their deadline; 0: unknown */
};

struct known_value {
    struct node_id node; /* the writer; uid 0: there was no value */
    int64_t timestamp;
};

/* A coordinator's open request, with one or two answers, and its keys. */
struct state_calls {
    uint64_t life;   /* the coordinator's, from 1: answers to another one are dropped */
    uint64_t ticket; /* of its request */
    uint32_t open;   /* missing answers */
    bool is_good;    /* none failed */
    bool is_read;    /* by this coordinator */
    struct known_value known[2]; /* read or written last: state, fences */
    struct buf state; /* read */
    struct buf fences;
};

void shard_data_init(struct control *control);
void shard_data_fini(struct control *control);
void shard_data_peer(struct control *control, const struct member_view *view);
void shard_data_peer_removed(struct control *control,
                             const struct node_id *node);
/* Returns false if the message is for no replicator of sharding. */
bool shard_data_receive(struct control *control, const struct inbound *inbound);
void shard_data_begin(struct control *control, uint32_t type);
void shard_data_requests(struct control *control, uint32_t type); /* carries out its requests */
/* Returns the replicator of a type's role, for a call. */
struct replicator *shard_data_replicator(struct control *control,
                                         uint32_t type);
/* Returns a majority for everything except coordinators' states. */
struct consistency shard_data_majority(const struct control *control,
                                       uint64_t timeout_ms);
/* For data_durable.c: returns the replicator of that index, wired next; null without durable
 * keys. */
struct replicator *shard_data_durable(struct control *control, uint32_t index);
void shard_data_wire(struct control *control);
void shard_data_step(struct control *control);
uint64_t shard_data_deadline(const struct control *control);

#endif
