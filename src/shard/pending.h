/* Messages that wait in a lane for a shard's home or start: first in, first out, and one bound over all of a type.
 *
 * A message is the lane's: it embeds `struct held` as a member, gives the message by handing that over and gets it back by
 * taking it. Nothing here knows what a message is, and nothing here frees one. Behaviour 16.3. */
#ifndef SHERD_SHARD_PENDING_H
#define SHERD_SHARD_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct held {
    struct held *next;
    uint64_t since; /* ns, monotonic: when it began to wait; set by the queue */
    size_t size;    /* bytes it counts for; set by the lane, constant while it waits */
};

/* What all queues of one type on one lane hold together. */
struct pending_budget {
    uint64_t count;
    uint64_t bytes;
    uint64_t count_max;   /* the type's buffer-size divided by the lanes, at least 1 */
    uint64_t bytes_max;   /* likewise */
    uint64_t count_peak;  /* the most that ever waited */
    uint64_t refused;     /* messages refused at either limit */
};

/* Zero is an empty one. */
struct pending_queue {
    struct held *first;
    struct held *last;
    uint32_t count;
};

/* The share of one of `lanes` lanes of a type's limits; 0 takes the default (HELD_COUNT_MAX, HELD_BYTES_MAX). */
void pending_budget_init(struct pending_budget *budget, uint64_t count_max,
                      uint64_t bytes_max, uint32_t lanes);
/* Appends, given; false when a limit is reached: then it stays the caller's, and `refused` has counted it. */
bool pending_put(struct pending_queue *queue, struct pending_budget *budget,
              uint64_t now, struct held *held);
/* Takes the oldest; null when empty. */
struct held *pending_take(struct pending_queue *queue, struct pending_budget *budget);
/* Puts all of `from` before (or behind) what `queue` has and leaves `from` empty. Both count in the same budget. */
void pending_prepend(struct pending_queue *queue, struct pending_queue *from);
void pending_append(struct pending_queue *queue, struct pending_queue *from);

#endif
