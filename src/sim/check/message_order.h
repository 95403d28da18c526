/* Keeps the last message of each stream that each receiver got, for the message checker
 * (message-order). */
#ifndef SHERD_SIM_CHECK_MESSAGE_ORDER_H
#define SHERD_SIM_CHECK_MESSAGE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sherd/sherd.h>

/* Zero is empty. */
struct message_order {
    struct order_last *items;
    uint32_t slots; /* a power of two, or 0 */
    uint32_t count;
};

void message_order_fini(struct message_order *order);
/* Whether the table must be swept before the next message. */
bool message_order_is_full(const struct message_order *order);
/* Makes room: forgets messages below a number, if all below it are closed. */
void message_order_sweep(struct message_order *order, uint64_t oldest);
/* The receiver gets that message; stream is not 0, the table not full. False: a message that was
 * sent later came before; *later is its number. */
bool message_order_take(struct message_order *order, uint64_t stream,
                        struct sherd_ref to, uint64_t number, uint64_t *later);
size_t message_order_memory(const struct message_order *order); /* bytes */

#endif
