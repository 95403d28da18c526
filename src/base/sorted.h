/* Searches ordered items by bisection, inline for any type: the order is a function of an item and
 * a key. */
#ifndef SHERD_BASE_SORTED_H
#define SHERD_BASE_SORTED_H

#include <stddef.h>
#include <stdint.h>

/* Below 0: the item stands before the key; 0: equal. */
typedef int sorted_order(const void *item, const void *key);

/* Returns the place of the first item that is not before the key; `count` if none. size: bytes of
 * an item. */
static inline uint32_t sorted_place(const void *items, uint32_t count,
                                    size_t size, sorted_order *order,
                                    const void *key)
{
    uint32_t low = 0;
    uint32_t high = count;

    /* Items often arrive in order. */
    if (count && order((const unsigned char *)items + (count - 1) * size,
                       key) < 0)
        return count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (order((const unsigned char *)items + middle * size, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The same in a VEC (base/vec.h). */
#define sorted_vec_place(vec, order, key) \
    sorted_place((vec)->items, (vec)->count, sizeof *(vec)->items, order, key)

#endif
