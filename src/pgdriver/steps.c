/* Carries the steps of a store out: connects, runs statements, and waits. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pgdriver/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/check.h"

#define PATIENCE_MS 3000 /* of a claim with another session's transaction */

/* Ends the sessions that a claim waits for and whose transactions are old: claims of other nodes, which wait
 * for each other, go on. On a connection of its own, as the writer's waits. */
static void end_holders(void *context)
{
    struct pg_driver *driver = context;
    struct pg_connection *other = pg_connection_new(driver->options);
    uint64_t deadline = pg_now() + 3000;
    char sql[500], ended[400];

    (void)snprintf(sql, sizeof sql,
                   "SELECT string_agg(format('pid=%%s application=%%s ended=%%s', a.pid,"
                   " quote_ident(a.application_name), pg_terminate_backend(a.pid)), ' ')"
                   " FROM unnest(pg_blocking_pids(%" PRIu32 ")) AS b (pid)"
                   " JOIN pg_stat_activity a ON a.pid = b.pid"
                   " WHERE a.usename = current_user AND a.application_name LIKE 'sherd:%%'"
                   " AND a.xact_start < clock_timestamp() - interval '2 s'",
                   pg_connection_backend(driver->connection)); /* fits */
    if (pg_connection_connect(other, deadline) &&
        pg_connection_query(other, sql, deadline, ended, sizeof ended) && ended[0])
        pg_store_log(&driver->store, SHERD_BACKEND_WARNING,
                     "a former owner's session held a shard that was claimed; it was ended %s "
                     "hint=\"check whether that process was suspended\"",
                     ended);
    pg_connection_free(other);
}

static bool connect_once(struct pg_driver *driver, uint64_t deadline)
{
    if (pg_connection_connect(driver->connection, deadline) && pg_driver_check(driver, deadline))
        return true;
    pg_connection_close(driver->connection);
    return false;
}

static void wait_until(uint64_t end)
{
    uint64_t now = pg_now();
    uint64_t ms = now < end ? end - now : 0;
    struct timespec pause = { .tv_sec = (time_t)(ms / 1000),
                              .tv_nsec = (long)(ms % 1000) * 1000000 };

    (void)nanosleep(&pause, NULL); /* a signal shortens it */
}

static void carry_out(struct pg_driver *driver, const struct pg_step *step,
                      struct pg_outcome *outcome)
{
    const struct pg_patience patience = { PATIENCE_MS, end_holders, driver };

    *outcome = (struct pg_outcome){ .is_good = true };
    switch (step->kind) {
    case PG_STEP_CONNECT:
        outcome->is_good = connect_once(driver, step->deadline);
        outcome->timeline = driver->timeline;
        break;
    case PG_STEP_RUN:
        outcome->is_good = pg_connection_run(driver->connection, step->calls, step->count, step->each,
                                             step->deadline, step->claims ? &patience : NULL);
        break;
    case PG_STEP_PAUSE:
        wait_until(step->deadline);
        return;
    }
    outcome->is_open = pg_connection_is_open(driver->connection);
    outcome->class = pg_connection_class(driver->connection);
    outcome->text = pg_connection_text(driver->connection);
}

void pg_driver_work(struct pg_driver *driver)
{
    struct pg_outcome outcome;
    const struct pg_step *step = pg_store_next(&driver->store, pg_now(), NULL);

    while (step) {
        carry_out(driver, step, &outcome);
        step = pg_store_next(&driver->store, pg_now(), &outcome);
    }
}
