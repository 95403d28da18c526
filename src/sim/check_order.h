/* The last message of each stream that each receiver was handed, for the checker of messages (message-order). */
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
/* Is it to be swept before the next one is taken? */
bool check_order_is_full(const struct check_order *order);
/* Makes room: forgets those below a number, where all below it are closed. */
void check_order_sweep(struct check_order *order, uint64_t oldest);
/* The message of that number is handed to a receiver; stream is not 0; not full. False when one that was sent later was there before:
 * *later is that. */
bool check_order_take(struct check_order *order, uint64_t stream,
                      struct sherd_ref to, uint64_t number, uint64_t *later);
size_t check_order_memory(const struct check_order *order); /* bytes */

#endif
