/* Sorts an array of any items, stably. Needs n log n compares and moves in every case, because
 * outside input may have the worst order, and memory for a copy. */
#ifndef SHERD_BASE_SORT_H
#define SHERD_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

typedef int sort_order(const void *left, const void *right); /* below 0: left comes first */

/* Size: bytes of an item. */
void sort_stable(void *items, uint32_t count, size_t size, sort_order *order);

#endif
