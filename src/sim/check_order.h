/* Keeps the last message of each stream that each receiver got, for the message checker
 * (message-order). */
#ifndef SHERD_SIM_CHECK_ORDER_H
#define SHERD_SIM_CHECK_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sherd/sherd.h>

/* Zero is empty. */
struct check_order {
    struct order_last *items;
    uint32_t slots; /* a power of two, or 0 */
    uint32_t count;
};

void check_order_fini(struct check_order *order);
/* Whether the table must be swept before the next message. */
bool check_order_is_full(const struct check_order *order);
/* Makes room: forgets messages below a number, when all below it are closed. */
void check_order_sweep(struct check_order *order, uint64_t oldest);
/* The receiver gets the message of that number. stream is not 0, and the table is not full. Returns
 * false if a message that was sent later was there before, with its number in *later. */
bool check_order_take(struct check_order *order, uint64_t stream,
                      struct sherd_ref to, uint64_t number, uint64_t *later);
size_t check_order_memory(const struct check_order *order); /* bytes */

#endif
