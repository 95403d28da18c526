/* Checks messages with a table of every sent token, by facts in the order in which they happened.
 *
 *   message-accounting  sent = delivered + undelivered(reason) + lost with a node + lost in a
 *                       connection + open, exactly; after a drain none is open. No message is lost
 *                       in a connection that a node closes without reason, nor, in the quiet phase,
 *                       in an untouched one. If a message ends because a mailbox is full, others
 *                       wait there
 *   at-most-once        no message is delivered twice
 *   message-order       a receiver gets the messages of one stream (a lane of a node's incarnation)
 *                       in the order of sending
 *   right-receiver      a message reaches its receiver
 *
 * An open token is at a node, or in a connection on its way to the other end. Two bits of a closed
 * one stay forever, so a late second delivery is found. */
#ifndef SHERD_SIM_CHECK_MESSAGE_H
#define SHERD_SIM_CHECK_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/sherd.h>

#include "base/bytes.h"
#include "sim/check/facts.h"

struct check_message;

/* Reports a broken rule; text lent. */
typedef void check_violation(void *user, const char *invariant, uint32_t node,
                             const char *text);

struct check_message_counts {
    uint64_t sent;
    uint64_t delivered;
    uint64_t undelivered[SHERD_REASON_COUNT];
    uint64_t lost_with_node;     /* at the node when it crashed or was downed */
    uint64_t lost_in_connection; /* written, not arrived before the end of the connection */
    uint64_t left_behind;        /* at the node when it ended gracefully: violations */
    /* of these three, those for entities: none without a crash or a broken connection */
    uint64_t lost_to_entities;
    uint64_t open;
    uint64_t undelivered_total;
    /* undelivered because the shard moved, after the end of their sender's incarnation */
    uint64_t last_words_moved;
};

/* How a node ended. */
enum check_end {
    CHECK_CRASHED, /* the process ended at once */
    CHECK_DOWNED,  /* ended itself, removed or refused by the cluster */
    CHECK_LEFT,    /* gracefully: nothing may be lost with it */
};

struct check_message *check_message_new(check_violation *violation, void *user);
void check_message_free(struct check_message *check);
/* Nodes outside (facts.h) keep no order; lent for life. */
void check_message_safety(struct check_message *check,
                          const struct check_safety *safety);

/* Sets the capacity of mailboxes: below it no message may end for lack of room. */
void check_message_mailboxes(struct check_message *check, uint32_t most);

/* A receiver as a value: an actor is its ref; an entity has node 0, its type's and its id's
 * number. */
static inline struct sherd_ref check_entity(uint32_t type, uint32_t id)
{
    return (struct sherd_ref){ 0, (uint64_t)type << 32 | id };
}

/* ---- facts ---- */

/* An actor of a node sends a message. Returns its number, from 0. stream: has an order to each
 * receiver; 0: none. */
uint64_t check_message_sent(struct check_message *check, uint64_t now,
                            uint32_t node, uint64_t stream,
                            struct sherd_ref to);
void check_message_delivered(struct check_message *check, uint32_t node,
                             uint64_t number, struct sherd_ref receiver);
/* The receiver passes the message on: it stays open for another one, without order. */
void check_message_passed(struct check_message *check, uint32_t node,
                          uint64_t number, struct sherd_ref receiver,
                          struct sherd_ref to);
/* A message ended at a node undelivered, or its handler failed after delivery. bytes: any that hold
 * tokens; others are ignored. */
void check_message_ended(struct check_message *check, uint32_t node,
                         struct slice bytes, enum sherd_reason reason);
/* A connection was dropped with bytes that the node had received by it. */
void check_message_dropped(struct check_message *check, uint32_t node,
                           struct slice bytes);

/* Connections, by a number that is used once. */
void check_message_written(struct check_message *check, uint64_t pipe,
                           uint32_t from, struct slice bytes);
void check_message_arrived(struct check_message *check, uint64_t pipe,
                           uint32_t to, size_t size);
/* A node at either end closes it without a reason. Before its end. */
void check_message_pipe_closed(struct check_message *check, uint64_t pipe,
                               uint32_t node);
/* Nothing more arrives, whatever was written. broken: not by its two nodes or their end. */
void check_message_pipe_ended(struct check_message *check, uint64_t pipe,
                              bool broken);
/* Begins or ends the quiet phase, in which no faults happen. */
void check_message_quiet(struct check_message *check, bool on);

void check_message_node_started(struct check_message *check, uint32_t node);
void check_message_node_ended(struct check_message *check, uint32_t node,
                              enum check_end end);

/* ---- questions ---- */

/* After all traffic: each open token is a violation at its last position; the first are reported.
 * Returns their number. */
uint64_t check_message_drained(struct check_message *check);
/* Compares a node's own counters since its start with the table (message-accounting), without
 * LINK_LOST, where a node counts frames. Between two of its turns, after its probes. */
void check_message_status(struct check_message *check, uint32_t node,
                          const struct sherd_status *status);
/* Actors without tokens send, too: a node's counters are at least the table's. */
void check_message_others(struct check_message *check);
struct check_message_counts check_message_counts(const struct check_message *check);
/* It is open and was never written to a connection. */
bool check_message_never_left(const struct check_message *check,
                              uint64_t number);
/* Describes the oldest open token, for a report; false: none. text: size bytes. */
bool check_message_oldest(const struct check_message *check, uint64_t now,
                          char *text, size_t size);
size_t check_message_memory(const struct check_message *check); /* bytes in use */

#endif
