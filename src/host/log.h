/* The log's sink: the one place that writes log lines. Cores leave lines in
 * their trace, the driver hands them here.
 *
 * A line is logfmt, or JSON when asked: time, level, module, node, msg, then
 * the keys and values of its text. It goes to the user's function or to a file
 * descriptor (standard error). Any thread may write. A repeated line is written
 * at most LOG_REPEAT_MAX times in LOG_REPEAT_MS, the rest is counted ("... 12
 * similar"). A reader that does not read costs LOG_STALL_MS once, then lines
 * are dropped and counted until it reads again. */
#ifndef SHERD_HOST_LOG_H
#define SHERD_HOST_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/trace.h"

/* Levels as in the public options: 0 nothing, 1 errors, 2 warnings, 3 info, 4
 * debug. */
#define LOG_OFF 0
#define LOG_ERROR 1
#define LOG_WARNING 2
#define LOG_INFO 3
#define LOG_DEBUG 4

/* One whole line without its end; module and line lent. One call at a time for
 * each log; must not write to that log. */
typedef void (*log_function)(void *user, int level, const char *module,
                             const char *line);

struct log_options {
    int level;             /* of modules without their own */
    bool json;             /* JSON lines instead of logfmt */
    log_function function; /* null: to the descriptor */
    void *user;
    int descriptor; /* 0: standard error; stays open */
};

struct log;

struct log *log_open(const struct log_options *options);
/* The level of one module, or of all that have no own (module null). Any time,
 * any thread. False: LOG_MODULES_MAX reached. */
bool log_set_level(struct log *log, const char *module, int level);
/* The number of a level's name ("error", "warning", "info", "debug", "off"), or
 * -1. */
int log_level_of(const char *name);
/* The most talkative level of any module: what a trace must keep. -1 for
 * nothing at all. */
int log_trace_level(struct log *log);
/* Would a line of this level and module be written? To skip costly arguments.
 */
bool log_on(struct log *log, enum trace_level level, const char *module);

/* Writes one line: text is "what happened key=value key="two words""; node is
 * "host:port" or null. Lent. Any thread. */
void log_write(struct log *log, enum trace_level level, const char *module,
               const char *node, const char *text);
/* The same for text that is put together here. */
void log_say(struct log *log, enum trace_level level, const char *module,
             const char *node, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* The same without the limit of repeats: for lists that are written once. */
void log_write_all(struct log *log, enum trace_level level, const char *module,
                   const char *node, const char *text);
/* Takes all lines of a trace; says how many it lost since the last call (lost
 * is the caller's count of those told). */
void log_drain(struct log *log, struct trace *trace, const char *node,
               uint64_t *lost);

uint64_t log_lost(struct log *log); /* lines dropped because nobody read */
uint64_t
log_similar(struct log *log); /* lines not written because they repeated */
/* Writes the counts of repeats that are due, then frees. No thread may use it
 * any more. Null is fine. */
void log_close(struct log *log);

#endif
