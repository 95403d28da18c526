/* Has the functions that all files of the module use: time, log, counters, waking, stamps of files. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "httpd/inside.h"

_Thread_local struct httpd *httpd_here;

uint64_t httpd_now(void)
{
    struct timespec now;

    check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void httpd_wake(struct httpd *httpd)
{
    uint64_t one = 1;

    check(write(httpd->wake, &one, sizeof one) == sizeof one);
}

void httpd_log(struct httpd *httpd, enum sherd_log_level level, const char *format, ...)
{
    char line[1024];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments); /* may be cut */
    va_end(arguments);
    httpd->access->log(httpd->access->node, level, line);
}

void httpd_count(struct httpd *httpd, enum sherd_http_counter counter)
{
    atomic_fetch_add_explicit(&httpd->counters[counter], 1, memory_order_relaxed);
}

bool file_stamp_read(const char *path, struct file_stamp *stamp)
{
    struct stat status;

    memset(stamp, 0, sizeof *stamp);
    if (stat(path, &status) != 0)
        return false;
    stamp->device = status.st_dev;
    stamp->file = status.st_ino;
    stamp->size = status.st_size;
    stamp->changed = status.st_mtim;
    return true;
}

bool file_stamp_same(const struct file_stamp *left, const struct file_stamp *right)
{
    return left->device == right->device && left->file == right->file && left->size == right->size &&
           left->changed.tv_sec == right->changed.tv_sec && left->changed.tv_nsec == right->changed.tv_nsec;
}
