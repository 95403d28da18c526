/* Allocates the memory of a world, for check.h's functions in the simulator's own copy of the
 * cores.
 *
 * A thousand nodes visit gigabytes at random. On small pages, most time goes into address
 * translation. So there is one range of addresses, with large pages if possible, cut into slabs of
 * one piece size each. malloc serves larger pieces, and everything without a range or under a
 * sanitizer. One thread only. Nothing in a world depends on an address. */
#ifndef SHERD_SIM_WORLD_HEAP_H
#define SHERD_SIM_WORLD_HEAP_H

#include <stddef.h>

void *heap_alloc(size_t size); /* not zeroed; null: no memory. size is above 0 */
void *heap_resize(void *memory, size_t size); /* likewise; memory may be null */
void heap_free(void *memory); /* memory may be null */
/* Touches the pages of the next pieces, some megabytes, so that measurements exclude the kernel's
 * work. */
void heap_ahead(void);
/* Returns the bytes of pieces in use outside malloc. Looks at each slab. */
size_t heap_used(void);

#endif
