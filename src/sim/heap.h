/* Allocates the memory of a world: check.h's functions use it in the simulator's own copy of the
 * cores.
 *
 * A thousand nodes need some gigabytes that are visited at random. On small pages, most time goes
 * into address translation. So there is one range of addresses, with large pages if the system has
 * them, cut into slabs of one piece size each. Pieces have no header. malloc serves pieces larger
 * than a slab, and everything if there is no range or a sanitizer is used. One thread only. Nothing
 * in a world depends on an address. */
#ifndef SHERD_SIM_HEAP_H
#define SHERD_SIM_HEAP_H

#include <stddef.h>

void *heap_alloc(size_t size); /* not zeroed; null: no memory. size is above 0 */
void *heap_resize(void *memory, size_t size); /* likewise; memory may be null */
void heap_free(void *memory); /* memory may be null */
/* Touches the pages of the next pieces, some megabytes, so measurements of a step exclude the
 * kernel's work for new pages. */
void heap_ahead(void);
/* Returns the bytes of pieces in use, without those of malloc. Looks at each slab. */
size_t heap_used(void);

#endif
