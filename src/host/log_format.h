/* The form of a log line, as logfmt and as JSON. Pure: the time is data. Called
 * by log.c. */
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
    const char *text; /* what happened, then key=value or key="two words", escaped as base/line.h says */
};

/* How many bytes of a text are its words, before the first key=value: what
 * makes lines similar. */
size_t log_words(const char *text);
/* Appends the line, without its end, at most LOG_LINE_MAX - 1 bytes. Control
 * characters are escaped; in JSON, bytes that are no UTF-8 become U+FFFD, and
 * words without a key get the key "more". A key that stands again, or that is
 * one of the line's own, is numbered: node, node#2, node#3. */
void log_format_text(struct buf *out, const struct log_line *line);
void log_format_json(struct buf *out, const struct log_line *line);

#endif
