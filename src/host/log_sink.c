/* Implements the log: levels, lock, clock and writing.
 *
 * Each line is one write of at most LOG_LINE_MAX bytes, which a ready pipe takes whole. So lines of
 * several processes do not mix, and a full pipe is noticed before it blocks. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/line.h"
#include "host/log_format.h"
#include "host/log_repeat.h"

struct module_level {
    char module[32];
    int level;
};

struct log {
    pthread_mutex_t lock;
    struct log_options options;
    struct module_level modules[LOG_MODULES_MAX];
    uint32_t module_count;
    struct log_repeat repeat;
    char node[ADDRESS_TEXT_MAX]; /* of the last line */
    struct buf buf;     /* the current line */
    bool stalled;       /* lines are dropped without waiting */
    uint64_t lost;      /* lines dropped */
    uint64_t lost_reported; /* dropped lines that were reported */
};

static uint64_t clock_ms(clockid_t clock)
{
    struct timespec now;

    check(clock_gettime(clock, &now) == 0);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct log *log_open(const struct log_options *options)
{
    struct log *log = mem_alloc(sizeof *log);

    check(pthread_mutex_init(&log->lock, NULL) == 0);
    log->options = *options;
    if (!log->options.descriptor)
        log->options.descriptor = STDERR_FILENO;
    return log;
}

void log_forked(struct log *log)
{
    check(pthread_mutex_init(&log->lock, NULL) == 0);
}

/* Under the lock. */
static struct module_level *find_module(struct log *log, const char *module)
{
    for (uint32_t i = 0; i < log->module_count; i++)
        if (strcmp(log->modules[i].module, module) == 0)
            return &log->modules[i];
    return NULL;
}

static bool is_on(struct log *log, enum trace_level level, const char *module)
{
    const struct module_level *own = find_module(log, module);

    return (int)level <= (own ? own->level : log->options.level);
}

bool log_set_level(struct log *log, const char *module, int level)
{
    struct module_level *own;
    bool good = true;

    check(level >= LOG_OFF && level <= SHERD_LOG_DEBUG);
    pthread_mutex_lock(&log->lock);
    if (!module) {
        log->options.level = level;
    } else if ((own = find_module(log, module))) {
        own->level = level;
    } else if (log->module_count < LOG_MODULES_MAX &&
               strlen(module) < sizeof own->module) {
        own = &log->modules[log->module_count++];
        (void)snprintf(own->module, sizeof own->module, "%s", module);
        own->level = level;
    } else {
        good = false;
    }
    pthread_mutex_unlock(&log->lock);
    return good;
}

int log_level(struct log *log)
{
    int level;

    pthread_mutex_lock(&log->lock);
    level = log->options.level;
    pthread_mutex_unlock(&log->lock);
    return level;
}

int log_trace_level(struct log *log)
{
    int most;

    pthread_mutex_lock(&log->lock);
    most = log->options.level;
    for (uint32_t i = 0; i < log->module_count; i++)
        if (log->modules[i].level > most)
            most = log->modules[i].level;
    pthread_mutex_unlock(&log->lock);
    return most;
}

bool log_on(struct log *log, enum trace_level level, const char *module)
{
    bool on;

    pthread_mutex_lock(&log->lock);
    on = is_on(log, level, module);
    pthread_mutex_unlock(&log->lock);
    return on;
}

/* Waits a little, but once for each time that the reader stops. */
static bool is_ready(struct log *log)
{
    struct pollfd poll_for = {.fd = log->options.descriptor, .events = POLLOUT};
    int ready = poll(&poll_for, 1, log->stalled ? 0 : LOG_STALL_MS);

    log->stalled = ready == 0;
    /* A pipe without a reader would end the process with SIGPIPE. */
    return ready > 0 && !(poll_for.revents & (POLLERR | POLLHUP | POLLNVAL));
}

/* Writes the line in buf. Under the lock. */
static void put_line(struct log *log, enum trace_level level,
                     const char *module)
{
    ssize_t written;

    if (log->options.function) {
        buf_put_u8(&log->buf, '\0');
        log->options.function(log->options.user,
                              (enum sherd_log_level)level, module,
                              (const char *)log->buf.data);
        return;
    }
    buf_put_u8(&log->buf, '\n');
    if (!is_ready(log)) {
        log->lost++;
        return;
    }
    do
        written = write(log->options.descriptor, log->buf.data, log->buf.size);
    while (written < 0 && errno == EINTR);
    if (written < 0)
        log->lost++; /* a broken log does not stop the process */
}

static void format_line(struct log *log, enum trace_level level,
                        const char *module, const char *node, const char *text)
{
    struct log_line line = {
        .time_ms = (int64_t)clock_ms(CLOCK_REALTIME),
        .level = level,
        .module = module,
        .node = node,
        .text = text,
    };

    buf_clear(&log->buf);
    if (log->options.json)
        log_format_json(&log->buf, &line);
    else
        log_format_text(&log->buf, &line);
    put_line(log, level, module);
}

/* Reports held and lost lines. Under the lock. */
static void tell_counts(struct log *log, uint64_t now_ms, const char *node,
                        bool all)
{
    struct log_kind kind;
    char text[192];

    while (log_repeat_next(&log->repeat, now_ms, all, &kind)) {
        (void)snprintf(text, sizeof text, "%s ... %u similar", kind.words,
                       (unsigned)kind.held);
        format_line(log, kind.level, kind.module, node, text);
    }
    if (log->lost > log->lost_reported && !log->stalled) {
        uint64_t lost = log->lost;

        (void)snprintf(text, sizeof text,
                       "log lines lost: the reader is too slow lines=%llu "
                       "hint=\"read standard error faster, or log less\"",
                       (unsigned long long)(lost - log->lost_reported));
        format_line(log, TRACE_WARNING, "log", node, text);
        if (log->lost == lost)
            log->lost_reported = lost;
    }
}

void log_write(struct log *log, enum trace_level level, const char *module,
               const char *node, const char *text)
{
    uint64_t now_ms = clock_ms(CLOCK_MONOTONIC);

    pthread_mutex_lock(&log->lock);
    if (node && strcmp(node, log->node) != 0)
        (void)snprintf(log->node, sizeof log->node, "%s", node); /* fits */
    tell_counts(log, now_ms, node, false);
    if (is_on(log, level, module) &&
        log_repeat_pass(&log->repeat, now_ms, level, module, text,
                        log_words(text)))
        format_line(log, level, module, node, text);
    pthread_mutex_unlock(&log->lock);
}

void log_write_all(struct log *log, enum trace_level level, const char *module,
                   const char *node, const char *text)
{
    pthread_mutex_lock(&log->lock);
    if (is_on(log, level, module))
        format_line(log, level, module, node, text);
    pthread_mutex_unlock(&log->lock);
}

void log_say(struct log *log, enum trace_level level, const char *module,
             const char *node, const char *format, ...)
{
    char text[TRACE_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    line_format_list(text, sizeof text, format, arguments);
    va_end(arguments);
    log_write(log, level, module, node, text);
}

void log_drain(struct log *log, struct trace *trace, const char *node,
               uint64_t *lost)
{
    struct trace_line line;
    uint64_t lost_now;

    while (trace_next(trace, &line))
        (line.is_of_list ? log_write_all : log_write)(log, line.level,
                                                      line.module, node,
                                                      line.text);
    lost_now = trace_lost(trace);
    if (lost_now > *lost)
        log_say(log, TRACE_WARNING, "log", node,
                "log lines dropped: too many in one turn lines=%llu limit=%d "
                "hint=\"log less\"",
                (unsigned long long)(lost_now - *lost), TRACE_LINES_MAX);
    *lost = lost_now;
}

uint64_t log_lost(struct log *log)
{
    uint64_t lost;

    pthread_mutex_lock(&log->lock);
    lost = log->lost;
    pthread_mutex_unlock(&log->lock);
    return lost;
}

uint64_t log_similar(struct log *log)
{
    uint64_t held;

    pthread_mutex_lock(&log->lock);
    held = log->repeat.held;
    pthread_mutex_unlock(&log->lock);
    return held;
}

void log_close(struct log *log)
{
    if (!log)
        return;
    pthread_mutex_lock(&log->lock);
    tell_counts(log, clock_ms(CLOCK_MONOTONIC),
                *log->node ? log->node : NULL, true);
    pthread_mutex_unlock(&log->lock);
    check(pthread_mutex_destroy(&log->lock) == 0);
    buf_fini(&log->buf);
    mem_free(log);
}
