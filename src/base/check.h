/* Checks invariants in every build, and allocates memory that never fails.
 * check(x) states a programmer's promise. A broken one ends the process with file, line and text,
 * and so does a failed allocation. Limits, tested before an allocation, are the real protection.
 * Every floor uses this; the driver installs the hook that writes the last line. */
#ifndef SHERD_BASE_CHECK_H
#define SHERD_BASE_CHECK_H

#include <stddef.h>
#include <stdint.h>

/* Hands the text to the hook and aborts. Never use it for input from the network or the disk. */
#define check(x) ((x) ? (void)0 : check_failed(__FILE__, __LINE__, #x))

/* Receives one lent line of text just before the process aborts. */
typedef void (*check_hook)(const char *text);

/* Installs the hook; null removes it. Call it before any thread starts. */
void check_set_hook(check_hook hook);

_Noreturn void check_failed(const char *file, int line, const char *text);

/* Allocates zeroed memory. None of these returns null: out of memory aborts. The caller frees with
 * mem_free. Size 0 gives a valid pointer. */
void *mem_alloc(size_t size);
void *mem_resize(void *memory, size_t size); /* keeps the contents; new bytes are not zeroed */
void *mem_copy(const void *data, size_t size); /* a copy of size bytes, followed by a zero byte */
char *mem_text(const char *text); /* a copy of a text; null gives null */
void mem_free(void *memory); /* accepts null */
/* Allocations that are not freed. Counted only in the simulator's copy of the cores (SHERD_ZOO);
 * elsewhere 0. */
uint64_t mem_live(void);

#endif
