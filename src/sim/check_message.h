/* The checker of messages: a table of every token that was sent, fed with facts, asked at the end whether all of them are
 * accounted for. It knows nothing of worlds or nodes: who drives it tells what happened, in the order in which it did.
 *
 *   message-accounting   conservation: sent = delivered + undelivered(reason) + lost with a node + lost in a connection + open, to the last one;
 *        after a drain nothing is open
 *        and what is lost in a connection has a cause outside of the two nodes: one that a node closes by itself for no reason loses
 *        nothing, and in the quiet none does that nothing was done to
 *        what ends since a mailbox is full finds some that wait
 *   at-most-once  no message is delivered twice
 *   message-order   messages of one stream (a lane of a node's incarnation) to one receiver are delivered in the order of sending
 *   right-receiver  a message is delivered to whom it was sent
 *
 * A token is somewhere as long as it is open: at a node, or in a connection, from where it may only go on to the other end. Of a
 * closed one two bits are kept for ever, so that a second delivery is seen whenever it comes. */
#ifndef SHERD_SIM_CHECK_MESSAGE_H
#define SHERD_SIM_CHECK_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/sherd.h>

#include "base/bytes.h"
#include "sim/facts.h"

struct check_message;

/* A rule was broken; text lent. */
typedef void check_violation(void *user, const char *invariant, uint32_t node,
                             const char *text);

struct check_message_counts {
    uint64_t sent;
    uint64_t delivered;
    uint64_t undelivered[SHERD_REASON_COUNT];
    uint64_t lost_with_node;     /* they were there when it crashed or was downed */
    uint64_t lost_in_connection; /* written, and not arrived when the connection was over */
    uint64_t left_behind;        /* they were at a node when it ended gracefully: violations */
    uint64_t lost_to_entities;   /* of those three, the ones for entities: none without a crash or a broken connection */
    uint64_t open;
    uint64_t undelivered_total;
    uint64_t last_words_moved; /* of those that ended since their shard had moved: whose sender's life was over */
};

/* How a node ended. */
enum check_end {
    CHECK_CRASHED, /* the process was gone */
    CHECK_DOWNED,  /* it ended itself because the cluster had removed it, or refused it */
    CHECK_LEFT,    /* gracefully: nothing may be lost with it */
};

struct check_message *check_message_new(check_violation *violation, void *user);
void check_message_free(struct check_message *check);
/* Nodes that are outside (facts.h) keep no order; lent for life. */
void check_message_safety(struct check_message *check,
                          const struct check_safety *safety);

/* So many messages may wait in an entity's mailbox: fewer end for no lack of room. */
void check_message_mailboxes(struct check_message *check, uint32_t most);

/* Whom a message is for, as a value: an actor is its ref; an entity has the node 0 and its type's number and its id's number. */
static inline struct sherd_ref check_entity(uint32_t type, uint32_t id)
{
    return (struct sherd_ref){ 0, (uint64_t)type << 32 | id };
}

/* ---- facts ---- */

/* A message is sent by an actor of a node: gives its number, from 0. stream: messages of one stream to one receiver have an
 * order; 0 = none. */
uint64_t check_message_sent(struct check_message *check, uint64_t now,
                            uint32_t node, uint64_t stream,
                            struct sherd_ref to);
/* The receiver is handed the message, at a node. */
void check_message_delivered(struct check_message *check, uint32_t node,
                             uint64_t number, struct sherd_ref receiver);
/* The receiver is handed the message and passes it on: it is open still, for another one, in no order. */
void check_message_passed(struct check_message *check, uint32_t node,
                          uint64_t number, struct sherd_ref receiver,
                          struct sherd_ref to);
/* A message ended at a node without delivery, or its handler failed on it (then it was delivered before). bytes: whatever
 * holds its token, or several. Bytes without a token are nobody's business. */
void check_message_ended(struct check_message *check, uint32_t node,
                         struct slice bytes, enum sherd_reason reason);
/* Bytes that a node had received were dropped with the connection that they came by. */
void check_message_dropped(struct check_message *check, uint32_t node,
                           struct slice bytes);

/* Connections, by a number that is used once. */
void check_message_written(struct check_message *check, uint64_t pipe,
                           uint32_t from, struct slice bytes);
void check_message_arrived(struct check_message *check, uint64_t pipe,
                           uint32_t to, size_t size);
/* A node closes it by itself, at the reader's end or the writer's, and nothing explains that. Before its end. */
void check_message_pipe_closed(struct check_message *check, uint64_t pipe,
                               uint32_t node);
/* Nothing more of it arrives, whatever is still written. broken: not by its two nodes, or by the end of one. */
void check_message_pipe_ended(struct check_message *check, uint64_t pipe,
                              bool broken);
/* From now on nothing goes wrong any more, or something may again. */
void check_message_quiet(struct check_message *check, bool on);

void check_message_node_started(struct check_message *check, uint32_t node);
void check_message_node_ended(struct check_message *check, uint32_t node,
                              enum check_end end);

/* ---- questions ---- */

/* All traffic has stopped and everything had its time: what is open yet is a violation, each with its last position; the
 * first ones are told. Returns how many. */
uint64_t check_message_drained(struct check_message *check);
/* A node's own counters, since its start, against the table's: violations of message-accounting (LINK_LOST, where a node counts frames, is
 * left out). Between two turns of the node, after its
 * probes have been told. */
void check_message_status(struct check_message *check, uint32_t node,
                          const struct sherd_status *status);
/* Actors whose messages have no tokens send some, too: a node's counters are at least the table's. */
void check_message_others(struct check_message *check);
struct check_message_counts check_message_counts(const struct check_message *check);
/* Is it open, and was not written to a connection so far? */
bool check_message_never_left(const struct check_message *check,
                              uint64_t number);
/* What and where the oldest open token is, for a report; false when none is open. text: size bytes. */
bool check_message_oldest(const struct check_message *check, uint64_t now,
                          char *text, size_t size);
size_t check_message_memory(const struct check_message *check); /* bytes in use */

#endif
