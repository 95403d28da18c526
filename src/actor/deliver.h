/* Declares how entities deliver at least once: what run.c, durable.c and the like call in deliver*.c. */
#ifndef SHERD_ACTOR_DELIVER_H
#define SHERD_ACTOR_DELIVER_H

#include "actor/inside.h"

/* --- deliver_store.c --- */
struct delivery *delivery_of(struct actors *actors, struct slot *slot); /* made if there is none */
/* Applies a stored event. Null, or why it cannot be applied. */
const char *delivery_replay(struct actors *actors, struct slot *slot,
                            const struct entity_event *event);
/* The entity's part of a snapshot; empty if it has none. */
void delivery_save(struct actors *actors, const struct slot *slot, struct buf *part);
bool delivery_load(struct actors *actors, struct slot *slot, struct slice part);
/* Forgets all when an incarnation ends, or a snapshot is refused. */
void delivery_drop(struct actors *actors, struct slot *slot);
/* The wall clock's time for stored bytes; senders last heard before the second one are forgotten. */
uint64_t delivery_wall(const struct actors *actors);
uint64_t delivery_forgets(const struct actors *actors);

/* Whether it has open deliveries. */
bool delivery_is_open(const struct actors *actors, const struct slot *slot);
/* The same, or deliveries that it confirms later: it stays active. */
bool delivery_is_busy(const struct actors *actors, const struct slot *slot);
/* It has open deliveries: sherd_passivate waits for their end. */
void delivery_passivate(struct actors *actors, struct slot *slot);
/* Brings the lane's count of open deliveries up to date with an entity's. */
void delivery_count(struct actors *actors, struct delivery *delivery);
void delivery_init(struct actors *actors);
void delivery_fini(struct actors *actors);

/* --- deliver.c --- */
/* Appends an event of the library; the caller has changed, or changes, the book. */
void delivery_append(struct actors *actors, uint32_t index, struct slot *slot, uint32_t type,
                     const struct buf *event);
/* Lets an entity that has recovered repeat its open deliveries, before it reads its mailbox. */
void delivery_recovered(struct actors *actors, uint32_t index, struct slot *slot);
/* Repeats what is due. */
void delivery_repeat(struct actors *actors, uint32_t index, struct slot *slot);

/* --- ask.c --- */
uint64_t ask_limit(uint64_t timeout_ms); /* within the limits of asks */

/* --- deliver_handle.c --- */
enum delivery_turn {
    DELIVERY_HANDLES, /* receive follows, with `msg` */
    DELIVERY_DROPS,   /* the message is not needed */
    DELIVERY_REFUSES  /* it ends undelivered, for `reason` */
};

/* Reads a message of the library, which an actor is about to handle. */
enum delivery_turn delivery_begin(struct actors *actors, struct slot *slot,
                                  const struct message *message, struct sherd_msg *msg,
                                  enum sherd_reason *reason);
/* Stores what receive has ended: a delivery, or a command. */
void delivery_finish(struct actors *actors, enum sherd_next next);
/* The timer of an entity's deliveries has run out. */
void delivery_due(struct actors *actors, struct slot *slot);
/* Returns the number and body of the delivery that is being handled. Lent. */
uint32_t delivery_content(const struct actors *actors, struct sherd_bytes *body);
/* Keeps the reply, if it is that to a command that is being handled. */
void delivery_replies(struct actors *actors, uint32_t msg, struct sherd_bytes body);

#endif
