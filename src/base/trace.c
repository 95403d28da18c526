/* Implements a bounded queue of log lines. */
#include "base/trace.h"

#include <stdarg.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/line.h"
#include "base/vec.h"

struct kept {
    enum trace_level level;
    const char *module;
    char *text;
    bool is_of_list;
};

struct trace {
    enum trace_level level;
    VEC(struct kept) lines;
    uint32_t head;
    uint64_t lost;
    char *lent; /* text of the line returned last */
};

static const char *const level_names[] = {
    "off",
    [TRACE_ERROR] = "error",
    [TRACE_WARNING] = "warning",
    [TRACE_INFO] = "info",
    [TRACE_DEBUG] = "debug",
};

const char *trace_level_text(int level)
{
    check(level >= 0 && level <= TRACE_DEBUG);
    return level_names[level];
}

int trace_level_of(const char *name)
{
    for (int level = 0; level <= TRACE_DEBUG; level++)
        if (strcmp(level_names[level], name) == 0)
            return level;
    return -1;
}

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

static void put(struct trace *trace, const struct kept *line,
                const char *format, va_list arguments)
{
    char text[TRACE_TEXT_MAX];
    struct kept kept = *line;

    if (!trace_on(trace, line->level))
        return;
    if (trace->lines.count - trace->head >= TRACE_LINES_MAX) {
        trace->lost++;
        return;
    }
    line_format_list(text, sizeof text, format, arguments);
    kept.text = mem_text(text);
    vec_push(&trace->lines, kept);
}

void trace_put(struct trace *trace, enum trace_level level, const char *module,
               const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    put(trace, &(struct kept){ level, module, NULL, false }, format, arguments);
    va_end(arguments);
}

void trace_put_all(struct trace *trace, enum trace_level level,
                   const char *module, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    put(trace, &(struct kept){ level, module, NULL, true }, format, arguments);
    va_end(arguments);
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
    *line = (struct trace_line){ kept->level, kept->module, kept->text,
                                 kept->is_of_list };
    return true;
}

uint64_t trace_lost(const struct trace *trace)
{
    return trace->lost;
}
