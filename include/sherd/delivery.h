/* Delivers messages between entities at least once, and handles each once.
 *
 * sherd_entity_tell sends at most once. sherd_deliver stores the message in the
 * sender's journal, in the same commit as the events of its handler, and
 * repeats it until the receiver has handled it. A persistent receiver stores
 * that it has handled it in the same commit as its own events. So each delivery
 * has its effect once, through crashes, moves and restarts, as long as the
 * journal keeps what it confirmed. sherd_once does this for commands that come
 * from outside the cluster.
 *
 * Guide: docs/guide/delivery.md; program: examples/merchant.c. */
#ifndef SHERD_DELIVERY_H
#define SHERD_DELIVERY_H

#include <sherd/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the sender ---- */

/* Sends a message to an entity at least once. Returns at once; a SHERD_DELIVERY
 * with this number tells the end.
 *
 * The calling entity must be persistent. The delivery is stored like an event,
 * which apply does not see, and leaves when that is durable. It is repeated
 * after sherd.delivery.repeat-interval (5 s), then after twice the time, up to
 * repeat-interval-max (1 min), and when the sender has recovered. Order is not
 * kept: a repeated message can arrive after a later one.
 *
 * An entity with open deliveries is not passivated for idleness, and
 * sherd_passivate waits for them. After a crash or a move the sender's
 * deliveries continue when it starts: set `remember` for its type, so that it
 * starts by itself.
 *
 * type, id, body: as for sherd_entity_tell; body at most
 * SHERD_DELIVERY_BODY_MAX bytes. The receiver gets a SHERD_MESSAGE with msg and
 * body.
 * ttl_ms: after this time the receiver does not handle the message any more; 0,
 * and at most: sherd.delivery.give-up-after (5 days). Nodes compare wall
 * clocks.
 * Result: the number of the delivery, from 1; 0: nothing was sent. Then the
 * type is unknown, the id or the body has a wrong size, or a limit is reached.
 * Limits: SHERD_DELIVERIES_MAX open deliveries of one entity, with
 * SHERD_DELIVERY_BYTES_MAX bytes of bodies. */
SHERD_API uint64_t sherd_deliver(struct sherd_ctx *ctx, const char *type,
                                 const char *id, uint32_t msg,
                                 struct sherd_bytes body, uint64_t ttl_ms);

/* Returns the number of this entity's open deliveries. */
SHERD_API uint32_t sherd_deliveries_open(const struct sherd_ctx *ctx);

/* The end of a delivery: the msg of a SHERD_DELIVERY. Events that its handler
 * stores are in the same commit as the end, so each end has its effect once. */
enum sherd_delivery_end {
    /* The receiver has handled it, and that is durable. */
    SHERD_DELIVERY_HANDLED = 1,
    /* The receiver got it after its time. It has not handled it, and never
     * will. */
    SHERD_DELIVERY_EXPIRED = 2,
    /* No answer came in sherd.delivery.give-up-after. It is unknown whether the
     * receiver has handled it. */
    SHERD_DELIVERY_GIVEN_UP = 3
};

/* Returns the delivery's number of a SHERD_DELIVERY; 0 for other messages. */
SHERD_API uint64_t sherd_delivery_number(const struct sherd_msg *msg);

/* ---- the receiver ---- */

/* A delivery, for its receiver. It is a value: copy it, keep it. All zero: no
 * delivery. */
struct sherd_delivery {
    uint64_t number;            /* the sender's number */
    struct sherd_ref sender;    /* the incarnation that sent it last */
    char type[SHERD_TYPE_MAX + 1]; /* the sender's type */
    char id[SHERD_ID_MAX + 1];  /* the sender's id, with a zero byte */
};

/* Describes the delivery that is being handled. Without a further call it
 * counts as handled when receive returns: the library stores that with the
 * events of the call, and answers the sender when both are durable. A repeated
 * delivery is answered again, and receive is not called. If an event of the
 * call is refused (sherd_persist), neither the mark nor an event is stored: the
 * delivery is not handled and comes again.
 *
 * If receive returns SHERD_FAIL and has stored nothing, the delivery is not
 * handled and comes again. If it has stored events, it counts as handled. A
 * receiver that is not persistent stores nothing: repeated deliveries are
 * handled again.
 *
 * delivery: filled; all zero if the message is no delivery.
 * Result: 1; 0: the message is no delivery. */
SHERD_API int sherd_delivery_get(const struct sherd_ctx *ctx,
                                 struct sherd_delivery *delivery);

/* Takes over the delivery that is being handled: it counts as handled when
 * sherd_confirm is called. Repetitions meanwhile are dropped. If the
 * incarnation ends before, the delivery comes again.
 *
 * delivery: filled as by sherd_delivery_get.
 * Result: 1; 0: the message is no delivery, or is confirmed already. */
SHERD_API int sherd_confirm_later(struct sherd_ctx *ctx,
                                  struct sherd_delivery *delivery);

/* Confirms a delivery of sherd_confirm_later, in any call of the same
 * incarnation; the events of this call are in the same commit. Sets *delivery
 * to zero. A second call, and one of another incarnation, is ignored. */
SHERD_API void sherd_confirm(struct sherd_ctx *ctx,
                             struct sherd_delivery *delivery);

/* ---- commands from outside ---- */

/* The results of sherd_once. */
enum sherd_once_result {
    /* New: carry it out. */
    SHERD_ONCE_NEW = 0,
    /* Carried out before. The library has repeated the reply: return. */
    SHERD_ONCE_ANSWERED = 1,
    /* Carried out before, but no reply is stored: sherd_reply was not called in
     * the same call of receive, or was larger than SHERD_COMMAND_REPLY_MAX. */
    SHERD_ONCE_SEEN = 2
};

/* Finds out whether a command was carried out before, by the id that its caller
 * gave it. Call it in receive before the command's effects, at most once for a
 * message. The id of a new one is stored with the events of this call, and with
 * the reply that sherd_reply gives in it. So a caller that got no answer can
 * repeat the command with the same id: to any node, and after any crash.
 *
 * command: 1 to SHERD_COMMAND_MAX bytes that are unique for this entity.
 * Result: enum sherd_once_result. If the actor is not persistent or the id has
 * a wrong size, the log has an error, and the actor ends as after an event that
 * cannot be stored.
 * Limits: an entity keeps the latest sherd.delivery.commands-max ids (1,000),
 * for sherd.delivery.commands-max-age (1 h). An older command that is repeated
 * is carried out again. */
SHERD_API int sherd_once(struct sherd_ctx *ctx, struct sherd_bytes command);

/* ---- limits ---- */

#define SHERD_DELIVERIES_MAX 10000      /* open ones of an entity */
#define SHERD_DELIVERY_BYTES_MAX 4194304 /* bytes of their bodies */
#define SHERD_DELIVERY_BODY_MAX 190000  /* bytes of one body */
#define SHERD_COMMAND_MAX 255           /* bytes of a command's id */
#define SHERD_COMMAND_REPLY_MAX 1024    /* bytes of a reply that is kept */

#ifdef __cplusplus
}
#endif

#endif
