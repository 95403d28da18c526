/* Implements slabs of equal pieces in one range of addresses. A table describes each slab, so empty
 * slabs are used again. */
#define _GNU_SOURCE
#include "sim/world/heap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define RANGE (UINT64_C(1) << 38) /* bytes of addresses, not of memory */
#define HUGE (UINT64_C(1) << 21)
#define PAGE 4096
#define AHEAD (4 * HUGE)
#define SLAB_BITS 16
#define SLAB (1u << SLAB_BITS)
#define STEP 16     /* difference of the sizes up to STEPPED_MAX */
#define STEPPED_MAX 512
#define STEPPED (STEPPED_MAX / STEP)
#define PARTS 8     /* larger sizes for each power of two */
#define CLASSES (STEPPED + PARTS * 7 + 1)

struct piece {
    struct piece *next;
};

/* Slabs of one size with room form a list; 0 ends it. */
struct slab {
    struct piece *free; /* last freed first */
    uint32_t fresh;     /* start of the pieces that were never used */
    uint32_t used;      /* number of pieces */
    uint32_t next, before;
    uint8_t class;
};

static struct heap {
    struct slab *slabs;      /* by number, from 1 */
    uint32_t lists[CLASSES]; /* slabs with room, by class; 0: empty slabs */
    uint32_t count;          /* number of slabs so far + 1 */
    uint8_t *start;          /* the range; null: none */
    uint8_t *touched;        /* touched up to here */
    int tried;
} heap;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||     \
    __has_feature(memory_sanitizer)
#define WATCHED 1
#endif
#endif
#ifndef WATCHED
#define WATCHED 0
#endif

static void *map_range(uint64_t size)
{
    void *range = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return range == MAP_FAILED ? NULL : range;
}

static void open_range(void)
{
    uint8_t *range;

    heap.tried = 1;
    if (WATCHED || !(range = map_range(RANGE + HUGE)))
        return;
    heap.slabs = map_range((RANGE >> SLAB_BITS) * sizeof *heap.slabs);
    if (!heap.slabs)
        return;
    heap.start = range + (HUGE - (uintptr_t)range % HUGE) % HUGE;
    heap.count = 1;
    (void)madvise(heap.start, RANGE, MADV_HUGEPAGE); /* slower without */
}

static uint32_t class_of(size_t size)
{
    uint32_t bits;

    if (size <= STEPPED_MAX)
        return (uint32_t)((size + STEP - 1) / STEP);
    bits = 63 - (uint32_t)__builtin_clzll(size - 1); /* 512 gives 9 */
    return STEPPED + (bits - 9) * PARTS + 1 +
           (uint32_t)((size - 1 - ((size_t)1 << bits)) >> (bits - 3));
}

static size_t class_size(uint32_t class)
{
    uint32_t above;

    if (class <= STEPPED)
        return (size_t)class * STEP;
    above = class - STEPPED - 1;
    return ((size_t)STEPPED_MAX << above / PARTS) / PARTS *
           (PARTS + above % PARTS + 1);
}

static int is_ours(const void *memory)
{
    return (uintptr_t)memory - (uintptr_t)heap.start < RANGE && heap.start;
}

static uint32_t number_of(const void *memory)
{
    return (uint32_t)(((uintptr_t)memory - (uintptr_t)heap.start) >>
                      SLAB_BITS);
}

static void link_slab(uint32_t list, uint32_t number)
{
    struct slab *slab = &heap.slabs[number];

    slab->before = 0;
    slab->next = heap.lists[list];
    heap.slabs[slab->next].before = number;
    heap.lists[list] = number;
}

static void unlink_slab(uint32_t list, uint32_t number)
{
    struct slab *slab = &heap.slabs[number];

    heap.slabs[slab->next].before = slab->before;
    if (slab->before)
        heap.slabs[slab->before].next = slab->next;
    else
        heap.lists[list] = slab->next;
}

/* Returns 0 if the range is used up. */
static uint32_t new_slab(uint32_t class)
{
    uint32_t number = heap.lists[0];

    if (number)
        unlink_slab(0, number);
    else if (heap.count < RANGE >> SLAB_BITS)
        number = heap.count++;
    else
        return 0;
    heap.slabs[number] = (struct slab){ .class = (uint8_t)class };
    link_slab(class, number);
    return number;
}

static int is_full(const struct slab *slab, size_t size)
{
    return !slab->free && slab->fresh + size > SLAB;
}

void *heap_alloc(size_t size)
{
    uint32_t class, number;
    struct slab *slab;
    uint8_t *memory;

    if (!heap.tried)
        open_range();
    if (size > SLAB || !heap.start)
        return malloc(size);
    class = class_of(size);
    number = heap.lists[class] ? heap.lists[class] : new_slab(class);
    if (!number)
        return malloc(size);
    slab = &heap.slabs[number];
    size = class_size(class);
    memory = (void *)slab->free;
    if (memory) {
        slab->free = slab->free->next;
    } else {
        memory = heap.start + ((size_t)number << SLAB_BITS) + slab->fresh;
        slab->fresh += (uint32_t)size;
    }
    slab->used++;
    if (is_full(slab, size))
        unlink_slab(class, number);
    return memory;
}

void heap_free(void *memory)
{
    struct piece *piece = memory;
    uint32_t number;
    struct slab *slab;
    int was_full;

    if (!is_ours(memory)) {
        free(memory);
        return;
    }
    number = number_of(memory);
    slab = &heap.slabs[number];
    was_full = is_full(slab, class_size(slab->class));
    piece->next = slab->free;
    slab->free = piece;
    if (--slab->used) {
        if (was_full)
            link_slab(slab->class, number);
        return;
    }
    if (!was_full)
        unlink_slab(slab->class, number);
    link_slab(0, number);
}

void *heap_resize(void *memory, size_t size)
{
    size_t before;
    void *moved;

    if (!memory)
        return heap_alloc(size);
    if (!is_ours(memory))
        return realloc(memory, size);
    before = class_size(heap.slabs[number_of(memory)].class);
    if (size <= before && size > before / 2)
        return memory;
    moved = heap_alloc(size);
    if (!moved)
        return NULL;
    memcpy(moved, memory, size < before ? size : before);
    heap_free(memory);
    return moved;
}

void heap_ahead(void)
{
    uint8_t *fresh; /* end of the used pieces */

    if (!heap.start)
        return;
    fresh = heap.start + ((size_t)heap.count << SLAB_BITS);
    if (heap.touched < fresh)
        heap.touched = fresh;
    for (; heap.touched < fresh + AHEAD && heap.touched < heap.start + RANGE;
         heap.touched += PAGE)
        *(volatile uint8_t *)heap.touched = 0;
}

size_t heap_used(void)
{
    size_t used = 0;

    for (uint32_t i = 1; i < heap.count; i++)
        used += heap.slabs[i].used * class_size(heap.slabs[i].class);
    return used;
}
