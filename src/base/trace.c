/* A bounded queue of log lines. */
#include "base/trace.h"

#include <stdarg.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/line.h"
#include "base/vec.h"

struct kept {
    enum trace_level level;
    const char *module;
    char *text;
};

struct trace {
    enum trace_level level;
    VEC(struct kept) lines;
    uint32_t head;
    uint64_t lost;
    char *lent; /* text of the line returned last */
};

struct trace *trace_new(enum trace_level level)
{
    struct trace *trace = mem_alloc(sizeof *trace);

    trace->level = level;
    return trace;
}

void trace_free(struct trace *trace)
{
    if (!trace)
        return;
    for (uint32_t i = trace->head; i < trace->lines.count; i++)
        mem_free(trace->lines.items[i].text);
    vec_fini(&trace->lines);
    mem_free(trace->lent);
    mem_free(trace);
}

void trace_set_level(struct trace *trace, enum trace_level level)
{
    trace->level = level;
}

bool trace_on(const struct trace *trace, enum trace_level level)
{
    return trace && level <= trace->level;
}

void trace_put(struct trace *trace, enum trace_level level, const char *module,
               const char *format, ...)
{
    char text[TRACE_TEXT_MAX];
    va_list arguments;
    struct kept line;

    if (!trace_on(trace, level))
        return;
    if (trace->lines.count - trace->head >= TRACE_LINES_MAX) {
        trace->lost++;
        return;
    }
    va_start(arguments, format);
    line_format_list(text, sizeof text, format, arguments);
    va_end(arguments);
    line = (struct kept){ level, module, mem_text(text) };
    vec_push(&trace->lines, line);
}

bool trace_next(struct trace *trace, struct trace_line *line)
{
    struct kept *kept;

    mem_free(trace->lent);
    trace->lent = NULL;
    if (trace->head == trace->lines.count) {
        trace->head = trace->lines.count = 0;
        return false;
    }
    kept = &trace->lines.items[trace->head++];
    trace->lent = kept->text;
    *line = (struct trace_line){ kept->level, kept->module, kept->text };
    return true;
}

uint64_t trace_lost(const struct trace *trace)
{
    return trace->lost;
}
