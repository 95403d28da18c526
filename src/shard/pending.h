/* Queues messages that wait in a lane for a shard's home or start, with one limit for all queues of
 * a type.
 *
 * The lane owns its messages. Each embeds `struct pending_item`, which is passed to give the message
 * and returned to take it. */
#ifndef SHERD_SHARD_PENDING_H
#define SHERD_SHARD_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pending_item {
    struct pending_item *next;
    uint64_t since; /* ns, monotonic; set by the queue */
    size_t size;    /* in bytes; set by the lane, constant during the wait */
};

/* Total of one type on one lane. */
struct pending_budget {
    uint64_t count;
    uint64_t bytes;
    /* the type's buffer-size divided by the lanes, at least 1; 0: no message waits */
    uint64_t count_max;
    uint64_t bytes_max;   /* likewise */
    uint64_t count_peak;
    uint64_t refused;
};

struct pending_queue {
    struct pending_item *first;
    struct pending_item *last;
    uint32_t count;
};

/* Sets one lane's share of the limits; 0 = PENDING_COUNT_MAX, PENDING_BYTES_MAX. */
void pending_budget_init(struct pending_budget *budget, uint64_t count_max,
                      uint64_t bytes_max, uint32_t lanes);
/* Appends a message, given. False at a limit: it stays the caller's and is counted. */
bool pending_put(struct pending_queue *queue, struct pending_budget *budget,
              uint64_t now, struct pending_item *held);
struct pending_item *pending_take(struct pending_queue *queue, struct pending_budget *budget);
/* Moves the messages for which the test is true to the end of `out`, in order. */
typedef bool pending_test(const struct pending_item *held, const void *user);
void pending_move_if(struct pending_queue *queue, struct pending_budget *budget,
                     pending_test *test, const void *user, struct pending_queue *out);
/* Moves all of `from` before or after `queue`, within one budget. */
void pending_prepend(struct pending_queue *queue, struct pending_queue *from);
void pending_append(struct pending_queue *queue, struct pending_queue *from);

#endif
