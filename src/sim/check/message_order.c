/* Implements the table with open addressing. It removes no single entry: when half full, it is
 * swept and grows. */
#include "sim/check/message_order.h"

#include "base/check.h"

#define SLOTS_MIN 1024

struct order_last {
    uint64_t stream; /* 0: free */
    struct sherd_ref to;
    uint64_t number;
};

void message_order_fini(struct message_order *order)
{
    mem_free(order->items);
    *order = (struct message_order){ 0 };
}

static uint32_t slot_of(const struct message_order *order, uint64_t stream,
                        struct sherd_ref to)
{
    uint64_t mixed = stream * UINT64_C(0x9e3779b97f4a7c15) ^
                     (to.actor + to.node * UINT64_C(0xbf58476d1ce4e5b9)) *
                         UINT64_C(0x94d049bb133111eb);
    uint32_t at = (uint32_t)((mixed ^ mixed >> 31) & (order->slots - 1));

    while (order->items[at].stream &&
           (order->items[at].stream != stream ||
            order->items[at].to.node != to.node ||
            order->items[at].to.actor != to.actor))
        at = (at + 1) & (order->slots - 1);
    return at;
}

/* Forgets streams whose last delivery is older than every open token. Then at least as many again
 * fit. */
void message_order_sweep(struct message_order *order, uint64_t oldest)
{
    struct message_order old = *order;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < old.slots; i++)
        kept += old.items[i].stream && old.items[i].number >= oldest;
    order->slots = SLOTS_MIN;
    while (order->slots < kept * 4)
        order->slots *= 2;
    order->items = mem_alloc(order->slots * sizeof *order->items);
    order->count = kept;
    for (uint32_t i = 0; i < old.slots; i++)
        if (old.items[i].stream && old.items[i].number >= oldest)
            order->items[slot_of(order, old.items[i].stream,
                                 old.items[i].to)] = old.items[i];
    message_order_fini(&old);
}

bool message_order_is_full(const struct message_order *order)
{
    return order->count * 2 >= order->slots;
}

bool message_order_take(struct message_order *order, uint64_t stream,
                        struct sherd_ref to, uint64_t number, uint64_t *later)
{
    struct order_last *last = &order->items[slot_of(order, stream, to)];

    order->count += !last->stream;
    if (last->stream && number < last->number) {
        *later = last->number;
        return false;
    }
    *last = (struct order_last){ stream, to, number };
    return true;
}

size_t message_order_memory(const struct message_order *order)
{
    return order->slots * sizeof *order->items;
}
