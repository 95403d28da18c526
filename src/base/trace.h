/* Collects a core's log lines with level and module; the driver takes them.
 * A text is "what happened key=value key=value". Lines beyond TRACE_LINES_MAX are counted, not
 * kept. */
#ifndef SHERD_BASE_TRACE_H
#define SHERD_BASE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/actor.h>

/* The public scale: a level goes from a core to the log function unchanged. 0 keeps no line. */
enum trace_level {
    TRACE_ERROR = SHERD_LOG_ERROR,
    TRACE_WARNING = SHERD_LOG_WARNING,
    TRACE_INFO = SHERD_LOG_INFO,
    TRACE_DEBUG = SHERD_LOG_DEBUG
};

/* The name of a level in configurations and logs; 0 is "off". */
const char *trace_level_text(int level);
int trace_level_of(const char *name); /* -1: unknown */

struct trace_line {
    enum trace_level level;
    const char *module; /* a literal: "member", "region", ... */
    const char *text;   /* lent until the next call on this trace */
    bool is_of_list;    /* by trace_put_all */
};

struct trace;

struct trace *trace_new(enum trace_level level); /* lines above that level are not kept */
void trace_free(struct trace *trace);
void trace_set_level(struct trace *trace, enum trace_level level);
/* Spares costly arguments; false for null. */
bool trace_on(const struct trace *trace, enum trace_level level);
/* Appends a line, formatted by base/line.h; null trace is fine. module must be a literal. */
void trace_put(struct trace *trace, enum trace_level level, const char *module,
               const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same for a list written once: the limit of repeated lines does not apply. */
void trace_put_all(struct trace *trace, enum trace_level level,
                   const char *module, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool trace_next(struct trace *trace, struct trace_line *line); /* in order; false when empty */
uint64_t trace_lost(const struct trace *trace); /* dropped at the limit so far */

#endif
