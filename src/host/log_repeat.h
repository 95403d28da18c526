/* Which lines repeat too often: a small table of the kinds of lines (level,
 * module, words) seen lately. Pure: time is an argument. Called by log.c, under
 * its lock. */
#ifndef SHERD_HOST_LOG_REPEAT_H
#define SHERD_HOST_LOG_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/trace.h"

struct log_kind {
    uint64_t hash;     /* of level, module and words */
    uint64_t since_ms; /* begin of the window; 0: the place is free */
    uint32_t written;  /* lines in this window */
    uint32_t held;     /* lines in this window that were not written */
    enum trace_level level;
    char module[32]; /* for the line that tells the count */
    char words[96];
};

struct log_repeat {
    struct log_kind kinds[LOG_KINDS_MAX];
    uint64_t held; /* in all */
};

/* May this line be written? Otherwise it is counted. words: that many bytes of
 * text. Call log_repeat_next first. */
bool log_repeat_pass(struct log_repeat *repeat, uint64_t now_ms,
                     enum trace_level level, const char *module,
                     const char *text, size_t words);
/* A kind whose window is over, with its count in held; call until false. all:
 * windows that are not over too. */
bool log_repeat_next(struct log_repeat *repeat, uint64_t now_ms, bool all,
                     struct log_kind *kind);

#endif
