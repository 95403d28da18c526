/* Runs distributed data on control: the replicator, the callers of its answers, and the lanes that
 * subscribe to keys.
 *
 * The first use, by an actor or a peer, makes the replicator: a cluster without such data sends and
 * keeps nothing. With durable keys the start makes it (data_durable.h). */
#ifndef SHERD_NODE_DATA_H
#define SHERD_NODE_DATA_H

#include "base/map.h"
#include "ddata/replicator.h"
#include "ddata/value.h"
#include "node/control/data_durable.h"
#include "node/mail/mail.h"

struct control;
struct member_view;

struct data {
    struct replicator *replicator; /* null: not used yet */
    struct buf path;  /* the same on all nodes; zero-terminated */
    struct dd_writer writer;
    uint64_t token; /* of the last call; subscribed lanes use their numbers, from 1 */
    struct map calls; /* token -> struct asked: open calls */
    size_t waiting_size; /* bytes of calls that wait for the durable keys */
    uint64_t refused;    /* calls beyond that limit */
    bool is_stirred;  /* it had an input since its events were wired */
    uint64_t due;     /* its deadline while it is not stirred */
    struct data_durable_store store;
};

void data_init(struct control *control);
void data_fini(struct control *control);
void data_peer(struct control *control, const struct member_view *view);
void data_peer_removed(struct control *control, const struct node_id *node);
/* Returns false if the message is for another replicator. */
bool data_receive(struct control *control, const struct inbound *inbound);
/* MAIL_DATA_CALL, MAIL_DATA_FOLLOW. */
void data_mail(struct control *control, uint32_t lane,
               const struct mail_content *content);
void data_step(struct control *control);
void data_wire(struct control *control);
uint64_t data_deadline(const struct control *control);

/* For data_durable.c: whether this node has replicas; the replicator. */
bool data_has_role(const struct control *control);
struct replicator *data_replicator(struct control *control);

#endif
