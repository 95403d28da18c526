/* Keeps the connection of a journal in PostgreSQL: connects again, and waits between tries. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pgdriver/inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#define PAUSE_MS UINT64_C(50)
#define PAUSE_MAX_MS 1000
#define LINE_SIZE 600

void pg_store_log(struct pg_store *store, enum sherd_backend_level level,
                  const char *format, ...)
{
    char line[LINE_SIZE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments); /* may be cut */
    va_end(arguments);
    store->log(store->log_user, level, line);
}

static void sleep_ms(uint64_t ms)
{
    struct timespec pause = { .tv_sec = (time_t)(ms / 1000),
                              .tv_nsec = (long)(ms % 1000) * 1000000 };

    (void)nanosleep(&pause, NULL); /* a signal shortens it */
}

bool pg_store_retry(struct pg_store *store, enum pg_class class, uint64_t deadline,
                    uint32_t *attempt)
{
    uint64_t pause = PAUSE_MS << (*attempt < 5 ? *attempt : 5);
    uint64_t now = pg_now();

    if (class == PG_READ_ONLY || class == PG_STALE || class == PG_UNKNOWN)
        pg_link_close(store->link);
    if (class == PG_REFUSED || class == PG_CORRUPT || class == PG_FULL || now >= deadline)
        return false;
    if (pause > PAUSE_MAX_MS)
        pause = PAUSE_MAX_MS;
    if (*attempt > 0)
        sleep_ms(pause < deadline - now ? pause : deadline - now);
    (*attempt)++;
    return true;
}

void pg_store_rollback(struct pg_store *store)
{
    struct pg_call call = { .which = PG_ROLLBACK };

    if (!pg_link_is_open(store->link))
        return;
    if (!pg_link_run(store->link, &call, 1, false, pg_now() + 1000, NULL))
        pg_link_close(store->link);
    pg_calls_clear(&call, 1);
}

/* Says once that the server is away, and once that it is back. */
static void say_state(struct pg_store *store, bool is_down)
{
    if (is_down == store->is_down || store->mode != SHERD_BACKEND_WRITER || !store->was_opened)
        return;
    store->is_down = is_down;
    if (is_down)
        pg_store_log(store, SHERD_BACKEND_WARNING,
                     "connection to the journal's server lost; it is tried again %s class=%s "
                     "error=\"%s\"",
                     pg_link_label(store->link), pg_class_text(pg_link_class(store->link)),
                     pg_link_text(store->link));
    else
        pg_store_log(store, SHERD_BACKEND_INFO, "connected to the journal's server again %s",
                     pg_link_label(store->link));
}

bool pg_store_ready(struct pg_store *store, uint64_t deadline)
{
    uint32_t attempt = 0;

    for (;;) {
        if (pg_link_is_open(store->link))
            return true;
        if (pg_link_connect(store->link, deadline) && pg_store_check(store, deadline)) {
            say_state(store, false);
            return true;
        }
        pg_link_close(store->link);
        say_state(store, true);
        if (!pg_store_retry(store, pg_link_class(store->link), deadline, &attempt))
            return false;
    }
}
