/* Prefetches memory: in a process with many nodes a node's data has left the caches when its turn
 * comes. */
#ifndef SHERD_BASE_FETCH_H
#define SHERD_BASE_FETCH_H

#include <stddef.h>

#define FETCH_LINE 64

static inline void fetch_memory(const void *memory, size_t size)
{
    for (size_t at = 0; at < size; at += FETCH_LINE)
        __builtin_prefetch((const char *)memory + at);
}

#endif
