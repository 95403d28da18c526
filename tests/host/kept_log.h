/* Keeps the log of all systems of a test as one text. Include it in one file. */
#ifndef SHERD_TESTS_KEPT_LOG_H
#define SHERD_TESTS_KEPT_LOG_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <uv.h>

static uv_mutex_t log_mutex; /* initialized by main */
static char logged[1 << 18];

/* For sherd_options.log. */
static void keep_line(void *user, enum sherd_log_level level,
                      const char *module, const char *line)
{
    size_t used;

    (void)user;
    (void)level;
    (void)module;
    uv_mutex_lock(&log_mutex);
    used = strlen(logged);
    (void)snprintf(logged + used, sizeof logged - used, "%s\n", line);
    uv_mutex_unlock(&log_mutex);
}

static inline void forget_log(void)
{
    uv_mutex_lock(&log_mutex);
    logged[0] = 0;
    uv_mutex_unlock(&log_mutex);
}

static inline bool was_logged(const char *text)
{
    bool found;

    uv_mutex_lock(&log_mutex);
    found = strstr(logged, text) != NULL;
    uv_mutex_unlock(&log_mutex);
    return found;
}

#endif
