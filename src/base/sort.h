/* A stable sort of an array of any items, by an order of two items. n log n compares and moves, with room for a
 * copy: what comes from elsewhere may be in the worst order. */
#ifndef SHERD_BASE_SORT_H
#define SHERD_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

typedef int sort_order(const void *left, const void *right); /* below 0: the left comes first */

void sort_stable(void *items, uint32_t count, size_t size, sort_order *order); /* size: bytes of an item */

#endif
