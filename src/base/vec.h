/* Provides a growable array of any type as macros: VEC(struct x) items; then vec_push(&items,
 * value).
 * Zero is an empty one. A push invalidates pointers into it. The owner limits its count. */
#ifndef SHERD_BASE_VEC_H
#define SHERD_BASE_VEC_H

#include <stdint.h>
#include <string.h>

#include "base/check.h"

#define VEC(type)          \
    struct {               \
        type *items;       \
        uint32_t count;    \
        uint32_t capacity; \
    }

/* Eight, or as many as half a KiB holds: most arrays of large items have one or two. */
#define vec_first(vec) \
    (sizeof *(vec)->items > 64 ? (uint32_t)(512 / sizeof *(vec)->items) + 1 : 8)
/* Makes room for one more; the new item is not cleared. */
#define vec_grow(vec)                                                            \
    ((vec)->count < (vec)->capacity                                              \
         ? (void)0                                                               \
         : (void)((vec)->capacity = (vec)->capacity ? (vec)->capacity * 2        \
                                                    : vec_first(vec),            \
                  (vec)->items = mem_resize(                                     \
                      (vec)->items, (vec)->capacity * sizeof *(vec)->items)))
#define vec_push(vec, item) \
    (vec_grow(vec), (void)((vec)->items[(vec)->count++] = (item)))
/* Removes the item at an index and keeps the order of the others. */
#define vec_remove(vec, index)                                                  \
    ((void)memmove(&(vec)->items[index], &(vec)->items[(index) + 1],            \
                   ((vec)->count - (index)-1) * sizeof *(vec)->items),          \
     (void)(vec)->count--)
/* Empties it and frees room beyond `kept` items after a burst. */
#define vec_empty(vec, kept)                                                    \
    ((vec)->capacity > (kept) ? vec_fini(vec) : (void)((vec)->count = 0))
#define vec_fini(vec)                                                           \
    (mem_free((vec)->items), (void)((vec)->items = NULL),                       \
     (void)((vec)->count = (vec)->capacity = 0))

#endif
