/* Memory that is asked for before it is needed. In a process of many nodes what one of them has is in no cache when its turn comes, and
 * each line of it is a wait of its own. */
#ifndef SHERD_BASE_FETCH_H
#define SHERD_BASE_FETCH_H

#include <stddef.h>

#define FETCH_LINE 64 /* bytes of a cache line */

static inline void fetch_memory(const void *memory, size_t size)
{
    for (size_t at = 0; at < size; at += FETCH_LINE)
        __builtin_prefetch((const char *)memory + at);
}

#endif
