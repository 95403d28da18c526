/* Distributed data on control: the replicator, whom its answers are for, and the lanes that follow keys.
 *
 * The replicator is made at its first use, by an actor here or a message of a peer: a node whose cluster has no such data sends
 * and keeps nothing for it. With durable keys it is made at the start (data_store.h). */
#ifndef SHERD_NODE_DATA_H
#define SHERD_NODE_DATA_H

#include "base/map.h"
#include "ddata/replicator.h"
#include "ddata/value.h"
#include "node/data_durable.h"
#include "node/mail.h"

struct control;
struct member_view;

struct data {
    struct replicator *replicator; /* null: not used yet */
    struct buf path;  /* of it, here and on all others; a text */
    struct dd_writer writer;
    uint64_t token; /* the last one given to a call; those of lanes that follow keys are their numbers, from 1 */
    struct map calls; /* token -> struct asked: answers that are to come */
    size_t waiting_size; /* bytes of those that wait until the durable keys are loaded */
    uint64_t refused;    /* at the limit of these bytes */
    bool is_stirred;  /* it had an input since its news were wired */
    uint64_t due;     /* of the replicator, when it is not stirred: it is asked for once, and not in each turn */
    struct data_durable_store store; /* its durable keys */
};

void data_init(struct control *control);
void data_fini(struct control *control);
void data_peer(struct control *control, const struct member_view *view);
void data_peer_removed(struct control *control, const struct node_id *node);
/* A message for a replicator; false: for none of ours. */
bool data_receive(struct control *control, const struct inbound *inbound);
void data_letter(struct control *control, uint32_t lane, struct letter *letter); /* LETTER_DATA_CALL, LETTER_DATA_FOLLOW */
void data_step(struct control *control); /* what is due */
void data_wire(struct control *control); /* carries its news */
uint64_t data_deadline(const struct control *control);

/* For data_store.c: does this node have replicas; the replicator, made when it is not there. */
bool data_has_role(const struct control *control);
struct replicator *data_replicator(struct control *control);

#endif
