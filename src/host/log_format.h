/* Formats a log line, as logfmt or JSON. Pure: time is an argument. */
#ifndef SHERD_HOST_LOG_FORMAT_H
#define SHERD_HOST_LOG_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/trace.h"

struct log_line {
    int64_t time_ms; /* since 1970, UTC */
    enum trace_level level;
    const char *module;
    const char *node; /* or null */
    const char *text; /* event, then key=value or key="two words", escaped as in base/line.h */
};

/* Bytes of a text before the first key=value: lines with equal words are similar. */
size_t log_words(const char *text);
/* Appends the line without its end, at most LOG_LINE_MAX - 1 bytes. Control characters are escaped.
 * In JSON, invalid UTF-8 becomes U+FFFD, and words without a key get the key "more". Repeated keys,
 * also of the line's own, are numbered: node, node#2, node#3. */
void log_format_text(struct buf *out, const struct log_line *line);
void log_format_json(struct buf *out, const struct log_line *line);

#endif
