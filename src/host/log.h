/* Writes log lines: cores leave them in their trace, the driver hands them here.
 *
 * A line is logfmt or JSON: time, level, module, node, msg, then the text's keys and values. It
 * goes to the user's function or a file descriptor (standard error). Any thread may write. At most
 * LOG_REPEAT_MAX similar lines are written in LOG_REPEAT_MS; the rest is counted. A reader that
 * does not read costs LOG_STALL_MS once; then lines are dropped and counted until it resumes. */
#ifndef SHERD_HOST_LOG_H
#define SHERD_HOST_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/trace.h"

/* A level below SHERD_LOG_ERROR: no line is written. */
#define LOG_OFF 0

/* Receives a line without its end; module and line are lent. One call at a time for each log; must
 * not write to that log. */
typedef void (*log_function)(void *user, enum sherd_log_level level,
                             const char *module, const char *line);

struct log_options {
    int level;             /* enum sherd_log_level or LOG_OFF, of modules without their own */
    bool json;             /* JSON lines instead of logfmt */
    log_function function; /* null: write to the descriptor */
    void *user;
    int descriptor; /* 0: standard error; stays open */
};

struct log;

struct log *log_open(const struct log_options *options);
/* Sets the level of a module, or of all without their own (null). Any thread. False:
 * LOG_MODULES_MAX reached. */
bool log_set_level(struct log *log, const char *module, int level);

int log_level(struct log *log); /* of modules without their own */
/* The highest level of any module, which a trace must keep, or LOG_OFF. */
int log_trace_level(struct log *log);
/* Whether such a line is written, to avoid costly arguments. */
bool log_on(struct log *log, enum trace_level level, const char *module);

/* Writes one line: text is "event key=value key="two words"", node "host:port" or null. Lent. Any
 * thread. */
void log_write(struct log *log, enum trace_level level, const char *module,
               const char *node, const char *text);
/* Formats the text. */
void log_say(struct log *log, enum trace_level level, const char *module,
             const char *node, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Ignores the limit of repeats; for lists that are written once. */
void log_write_all(struct log *log, enum trace_level level, const char *module,
                   const char *node, const char *text);
/* Takes all lines of a trace, and reports those that it lost. `lost`: the caller's count of those
 * reported. */
void log_drain(struct log *log, struct trace *trace, const char *node,
               uint64_t *lost);

uint64_t log_lost(struct log *log); /* lines dropped because the reader did not read */
uint64_t
log_similar(struct log *log); /* repeated lines that were not written */
/* In a forked child: frees the lock, which a thread of the parent may have held. */
void log_forked(struct log *log);
/* Writes the due counts of repeats, then frees. No other thread may use it. Null is allowed. */
void log_close(struct log *log);

#endif
