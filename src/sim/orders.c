/* Streams of messages by stream and receiver, in one open table. */
#include "sim/orders.h"

#include "base/check.h"

#define SLOTS_MIN 1024

struct order {
    uint64_t stream; /* 0: free */
    struct sherd_ref to;
    uint64_t last; /* and one */
};

void orders_fini(struct orders *orders)
{
    mem_free(orders->items);
}

static struct order *find(const struct orders *orders, uint64_t stream,
                          struct sherd_ref to)
{
    uint64_t mixed = stream * UINT64_C(0x9e3779b97f4a7c15) ^
                     (to.actor + to.node * UINT64_C(0xbf58476d1ce4e5b9)) *
                         UINT64_C(0x94d049bb133111eb);
    uint32_t at = (uint32_t)((mixed ^ mixed >> 31) & (orders->slots - 1));

    while (orders->items[at].stream &&
           (orders->items[at].stream != stream ||
            orders->items[at].to.node != to.node ||
            orders->items[at].to.actor != to.actor))
        at = (at + 1) & (orders->slots - 1);
    return &orders->items[at];
}

bool orders_full(const struct orders *orders)
{
    return orders->count * 2 >= orders->slots;
}

void orders_sweep(struct orders *orders, uint64_t oldest)
{
    struct orders old = *orders;

    orders->count = 0;
    for (uint32_t i = 0; i < old.slots; i++)
        orders->count += old.items[i].stream && old.items[i].last > oldest;
    orders->slots = SLOTS_MIN;
    while (orders->slots < orders->count * 4)
        orders->slots *= 2;
    orders->items = mem_alloc(orders->slots * sizeof *orders->items);
    for (uint32_t i = 0; i < old.slots; i++)
        if (old.items[i].stream && old.items[i].last > oldest)
            *find(orders, old.items[i].stream, old.items[i].to) =
                old.items[i];
    mem_free(old.items);
}

uint64_t *orders_last(struct orders *orders, uint64_t stream,
                      struct sherd_ref to)
{
    struct order *order = find(orders, stream, to);

    if (!order->stream) {
        *order = (struct order){ .stream = stream, .to = to };
        orders->count++;
    }
    return &order->last;
}

size_t orders_memory(const struct orders *orders)
{
    return orders->slots * sizeof *orders->items;
}
