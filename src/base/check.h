/* Checks invariants in every build, and allocates memory that never fails.
 * check(x) states a programmer's promise. A broken one ends the process with file, line and text,
 * as does a failed allocation; limits, tested before an allocation, are the real protection. The
 * driver installs the hook that writes the last line. */
#ifndef SHERD_BASE_CHECK_H
#define SHERD_BASE_CHECK_H

#include <stddef.h>
#include <stdint.h>

/* Never use it for input from the network or the disk. */
#define check(x) ((x) ? (void)0 : check_failed(__FILE__, __LINE__, #x))

/* Receives one lent line of text just before the process aborts. */
typedef void (*check_hook)(const char *text);

/* Null removes the hook. Call it before any thread starts. */
void check_set_hook(check_hook hook);

_Noreturn void check_failed(const char *file, int line, const char *text);

/* Allocates zeroed memory. None of these returns null: out of memory aborts. Size 0 gives a valid
 * pointer. The caller frees with mem_free. */
void *mem_alloc(size_t size);
void *mem_resize(void *memory, size_t size); /* keeps the contents; new bytes are not zeroed */
void *mem_copy(const void *data, size_t size); /* adds a zero byte */
char *mem_text(const char *text); /* null gives null */
void mem_free(void *memory); /* accepts null */
/* Live allocations, counted only in the simulator's copy of the cores (SHERD_MARKS); else 0. */
uint64_t mem_live(void);

#endif
