/* The last message of each stream that a receiver was handed (I2): a table of what may still be followed by an older one. */
#ifndef SHERD_SIM_ORDERS_H
#define SHERD_SIM_ORDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sherd/sherd.h>

struct order;

/* Zero is an empty one. */
struct orders {
    struct order *items;
    uint32_t slots; /* a power of two, or 0 */
    uint32_t count;
};

void orders_fini(struct orders *orders);
/* One more must not be looked for before orders_sweep. */
bool orders_full(const struct orders *orders);
/* Forgets streams whose last message is older than `oldest`, and makes room for at least as many again as are left. */
void orders_sweep(struct orders *orders, uint64_t oldest);
/* The last message's number and one, or 0 where there was none, to be set: lent until the next call. stream: not 0. */
uint64_t *orders_last(struct orders *orders, uint64_t stream,
                      struct sherd_ref to);
size_t orders_memory(const struct orders *orders); /* bytes in use */

#endif
