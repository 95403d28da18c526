/* Decides which log lines repeat too often, in a small table of recent kinds (level, module,
 * words). Pure: time is an argument. Called under the log's lock. */
#ifndef SHERD_HOST_LOG_REPEAT_H
#define SHERD_HOST_LOG_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/trace.h"

struct log_kind {
    uint64_t hash;     /* of level, module and words */
    uint64_t since_ms; /* begin of the window; 0: free */
    uint32_t written;  /* lines in this window */
    uint32_t held;     /* held back in this window */
    enum trace_level level;
    char module[32]; /* for the line with the count */
    char words[96];
};

struct log_repeat {
    struct log_kind kinds[LOG_KINDS_MAX];
    uint64_t held; /* in total */
};

/* True: write the line; false: it was counted. `words`: bytes of text. Call log_repeat_next
 * first. */
bool log_repeat_pass(struct log_repeat *repeat, uint64_t now_ms,
                     enum trace_level level, const char *module,
                     const char *text, size_t words);
/* Returns a kind whose window is over, with its count; repeat until false. `all`: also open
 * windows. */
bool log_repeat_next(struct log_repeat *repeat, uint64_t now_ms, bool all,
                     struct log_kind *kind);

#endif
