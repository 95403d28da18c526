/* Invariants, always on, and memory that does not fail.
 *
 * check(x) states a programmer's promise: when it is broken the process ends with the file, the line and the text.
 * Running out of memory ends the process in one place too: real protection is a limit, tested before the allocation.
 * Used by every floor; the driver installs the hook that writes the last words. */
#ifndef SHERD_BASE_CHECK_H
#define SHERD_BASE_CHECK_H

#include <stddef.h>
#include <stdint.h>

/* Aborts the process after handing the text to the hook. Never for input from the network or the disk. */
#define check(x) ((x) ? (void)0 : check_failed(__FILE__, __LINE__, #x))

/* Receives one line of text just before the process aborts; lent. */
typedef void (*check_hook)(const char *text);

/* Installs the hook; null removes it. Call before any thread starts. */
void check_set_hook(check_hook hook);

_Noreturn void check_failed(const char *file, int line, const char *text);

/* Allocate, zeroed. Never return null: out of memory aborts. The caller frees with mem_free. A size of 0 gives a valid pointer. */
void *mem_alloc(size_t size);
void *mem_resize(void *memory, size_t size); /* contents kept, growth not zeroed */
void *mem_copy(const void *data, size_t size); /* a copy of size bytes plus a zero byte behind them */
char *mem_text(const char *text); /* a copy of a text; null gives null */
void mem_free(void *memory); /* null is fine */
/* What was allocated and not freed so far; counted only in the simulator's copy of the cores (SHERD_ZOO), elsewhere 0. */
uint64_t mem_live(void);

#endif
