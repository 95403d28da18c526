/* Queues messages that wait in a lane for a shard's home or start: first in, first out, with one
 * limit for all queues of a type.
 *
 * The lane owns its messages. A message embeds `struct held`; the lane gives the message by passing
 * that member, and gets it back by taking it. This file does not know messages and frees none. */
#ifndef SHERD_SHARD_PENDING_H
#define SHERD_SHARD_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct held {
    struct held *next;
    uint64_t since; /* ns, monotonic: start of the wait; set by the queue */
    size_t size;    /* bytes that count; set by the lane, constant during the wait */
};

/* The total of all queues of one type on one lane. */
struct pending_budget {
    uint64_t count;
    uint64_t bytes;
    uint64_t count_max;   /* the type's buffer-size divided by the lanes, at least 1 */
    uint64_t bytes_max;   /* likewise */
    uint64_t count_peak;  /* highest count so far */
    uint64_t refused;     /* messages refused at a limit */
};

/* Zero is an empty queue. */
struct pending_queue {
    struct held *first;
    struct held *last;
    uint32_t count;
};

/* Sets one lane's share of a type's limits; 0 = the default (HELD_COUNT_MAX, HELD_BYTES_MAX). */
void pending_budget_init(struct pending_budget *budget, uint64_t count_max,
                      uint64_t bytes_max, uint32_t lanes);
/* Appends a message, given. Returns false at a limit: the message stays the caller's, and `refused`
 * counts it. */
bool pending_put(struct pending_queue *queue, struct pending_budget *budget,
              uint64_t now, struct held *held);
/* Takes the oldest; null if empty. */
struct held *pending_take(struct pending_queue *queue, struct pending_budget *budget);
/* Moves all of `from` before (or after) the messages of `queue`. Both count in the same budget. */
void pending_prepend(struct pending_queue *queue, struct pending_queue *from);
void pending_append(struct pending_queue *queue, struct pending_queue *from);

#endif
