/* Ends the process on a broken invariant or when memory is out, and wraps the allocator. */
#include "base/check.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static check_hook installed;

void check_set_hook(check_hook hook)
{
    installed = hook;
}

static _Noreturn void end(const char *words)
{
    if (installed)
        installed(words);
    abort();
}

_Noreturn void check_failed(const char *file, int line, const char *text)
{
    char words[512];

    (void)snprintf(words, sizeof words, "broken invariant at %s:%d: %s",
                   file, line, text);
    end(words);
}

static _Noreturn void out_of_memory(size_t size)
{
    char words[96];

    (void)snprintf(words, sizeof words,
                   "out of memory: no %zu bytes; check the limits of the process",
                   size);
    end(words);
}

#ifdef SHERD_MARKS
static uint64_t live; /* the simulator has one thread */
#define count_live(by) ((void)(live += (by)))
/* The simulator's allocator (sim/world/heap.h). */
void *heap_alloc(size_t size);
void *heap_resize(void *memory, size_t size);
void heap_free(void *memory);
#define malloc heap_alloc
#define realloc heap_resize
#define free heap_free
#define IS_ZEROED_LARGE false
#else
static const uint64_t live;
#define count_live(by) ((void)0)
#define IS_ZEROED_LARGE true /* fresh pages are zero */
#endif

uint64_t mem_live(void)
{
    return live;
}

/* glibc's cache of small blocks serves malloc only, not calloc. */
#define SMALL_MAX 1024

void *mem_alloc(size_t size)
{
    bool is_zero = IS_ZEROED_LARGE && size > SMALL_MAX;
    void *memory = is_zero ? calloc(1, size) : malloc(size ? size : 1);

    if (!memory)
        out_of_memory(size);
    if (!is_zero)
        memset(memory, 0, size);
    count_live(1);
    return memory;
}

void *mem_resize(void *memory, size_t size)
{
    void *resized = realloc(memory, size ? size : 1);

    if (!resized)
        out_of_memory(size);
    count_live(memory == NULL);
    return resized;
}

void *mem_copy(const void *data, size_t size)
{
    char *copy = malloc(size + 1);

    if (!copy)
        out_of_memory(size);
    count_live(1);
    if (size)
        memcpy(copy, data, size);
    copy[size] = 0;
    return copy;
}

char *mem_text(const char *text)
{
    return text ? mem_copy(text, strlen(text)) : NULL;
}

void mem_free(void *memory)
{
    count_live(memory ? UINT64_MAX : 0);
    free(memory);
}
