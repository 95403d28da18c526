/* The memory of a world: what check.h's functions allocate in the simulator's own copy of the cores.
 *
 * A thousand nodes are some gigabytes that are visited at random: on small pages most of the time goes to finding the pages.
 * So there is one range of addresses, of large pages where the system has them, cut into slabs of one size each; no piece has
 * a header. What is larger than a slab, and everything where the range cannot be had or a sanitizer watches, is malloc's. One
 * thread. Nothing in a world depends on an address. */
#ifndef SHERD_SIM_HEAP_H
#define SHERD_SIM_HEAP_H

#include <stddef.h>

void *heap_alloc(size_t size); /* not zeroed; null: no memory. size above 0 */
void *heap_resize(void *memory, size_t size); /* likewise; null is fine as memory */
void heap_free(void *memory); /* null is fine */
/* Touches the pages that the next pieces will be on, some megabytes, so that who measures a step does not measure the system that
 * makes them. */
void heap_ahead(void);
/* Bytes of the pieces in use, of those that are not malloc's; looks at each slab. */
size_t heap_used(void);

#endif
