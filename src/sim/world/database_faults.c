/* Writes commits to the simulated server's log, and lets it crash, restart, stall and fail over. */
#include "sim/world/database_inside.h"

#define FAULT_MEAN (15 * SECOND) /* between two own faults */
#define DOWN_MAX (8 * SECOND)
#define STALL_MAX (6 * SECOND)
#define LAG_MAX (6 * SECOND)
#define LAG_MEAN (50 * MS) /* of a standby that nothing waits for */

static bool has_standby(const struct database *database)
{
    return database->settings.servers >= DATABASE_SYNC;
}

static uint64_t later(uint64_t left, uint64_t right)
{
    return left > right ? left : right;
}

void database_commit_times(struct database *database, struct database_commit *commit)
{
    const struct database_commit *before =
        database->pending.count ? database->pending.items[database->pending.count - 1] : NULL;

    commit->flushed_at = database->now + stream_delay(&database->rng, 1, database->settings.flush_mean);
    commit->flushed_at = later(commit->flushed_at, database->stalls_until);
    if (before)
        commit->flushed_at = later(commit->flushed_at, before->flushed_at);
    if (has_standby(database)) {
        commit->standby_at = commit->flushed_at + database_way(database) + database_way(database);
        if (database->settings.servers == DATABASE_ASYNC)
            commit->standby_at += stream_delay(&database->rng, 1, LAG_MEAN);
        commit->standby_at = later(commit->standby_at, database->lags_until);
        if (before)
            commit->standby_at = later(commit->standby_at, before->standby_at);
    }
    database_event(database,
                   database->settings.servers == DATABASE_SYNC ? commit->standby_at
                                                               : commit->flushed_at,
                   DATABASE_FLUSHED, commit->number, database->process);
}

void database_commit_free(struct database_commit *commit)
{
    database_writes_fini(&commit->writes);
    mem_free(commit);
}

static void apply_first(struct database *database)
{
    struct database_commit *commit = database->pending.items[0];

    vec_remove(&database->pending, 0);
    database_commit_apply(database, commit);
    if (database->settings.servers == DATABASE_ASYNC)
        vec_push(&database->log, commit);
    else
        database_commit_free(commit);
}

/* ---- crashes ---- */

static void drop_from(struct database *database, uint32_t kept)
{
    while (database->pending.count > kept)
        database_commit_free(database->pending.items[--database->pending.count]);
}

static void end_sessions(struct database *database)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&database->sessions, &at, &entry);) {
        struct database_session *session = entry.value;

        session->is_committing = false;
        database_session_end(database, session);
    }
}

static void stop(struct database *database)
{
    database->is_up = false;
    database->crashed_at = database->now;
    database->process++;
    database->stalls_until = 0;
    end_sessions(database);
}

static void start_at(struct database *database, uint64_t at)
{
    database_event(database, at, DATABASE_UP, 0, database->process);
}

void database_crash(struct database *database, uint64_t now)
{
    uint32_t kept = 0;

    database->now = later(database->now, now);
    if (!database->is_up)
        return;
    database->counters.crashes++;
    while (kept < database->pending.count &&
           database->pending.items[kept]->flushed_at <= database->now)
        kept++;
    while (kept < database->pending.count && rng_below(&database->fault_rng, 2))
        kept++; /* its write had ended */
    drop_from(database, kept);
    stop(database);
}

void database_restart(struct database *database, uint64_t now)
{
    database->now = later(database->now, now);
    if (database->is_up)
        return;
    database->is_up = true;
    database->process++;
    while (database->pending.count) {
        struct database_commit *commit = database->pending.items[0];

        commit->standby_at = later(commit->standby_at, database->now);
        apply_first(database);
    }
    DATABASE_TELL(database, opened, database->rows.book);
}

/* The rows without the commits that the standby lacks. */
static void rebuild(struct database *database)
{
    struct database_rows rows;

    database_rows_init(&rows, "World");
    for (uint32_t i = 0; i < database->log.count; i++) {
        database_apply(&rows, &database->log.items[i]->writes);
        book_keep(rows.book);
    }
    database_rows_fini(&database->rows);
    database->rows = rows;
    DATABASE_TELL(database, rewound, database->rows.book);
}

void database_fail_over(struct database *database, uint64_t now)
{
    uint32_t kept = 0;
    uint64_t end, lost = 0;

    database->now = later(database->now, now);
    if (!has_standby(database))
        return;
    end = database->is_up ? database->now : database->crashed_at;
    while (kept < database->pending.count && database->pending.items[kept]->standby_at <= end)
        kept++;
    drop_from(database, kept);
    while (database->log.count && database->log.items[database->log.count - 1]->standby_at > end) {
        database_commit_free(database->log.items[--database->log.count]);
        lost++;
    }
    stop(database);
    database->timeline++;
    database->counters.failovers++;
    database->counters.lost += lost;
    if (lost)
        rebuild(database);
    start_at(database, database->now + 1 + rng_below(&database->fault_rng, 3 * SECOND));
}

/* ---- own faults ---- */

static void cut_one(struct database *database)
{
    struct map_entry entry;
    uint64_t wanted = database->sessions.count ? rng_below(&database->fault_rng, database->sessions.count)
                                               : 0;

    for (uint32_t at = 0; map_next(&database->sessions, &at, &entry);)
        if (wanted-- == 0) {
            database_session_end(database, entry.value);
            return;
        }
}

static void stall(struct database *database, uint64_t *until, uint64_t max)
{
    database->counters.stalls++;
    *until = database->now + 1 + rng_below(&database->fault_rng, max);
}

static void crash_for_a_while(struct database *database)
{
    if (!database->is_up)
        return;
    database_crash(database, database->now);
    start_at(database, database->now + 1 + rng_below(&database->fault_rng, DOWN_MAX));
}

static void next_fault(struct database *database)
{
    database_event(database,
                   database->now + stream_delay(&database->fault_rng, MS, FAULT_MEAN),
                   DATABASE_FAULT, 0, database->fault_count);
}

static void own_fault(struct database *database)
{
    switch (rng_below(&database->fault_rng, 8)) {
    case 0:
        crash_for_a_while(database);
        break;
    case 2:
    case 3:
        stall(database, &database->stalls_until, STALL_MAX);
        break;
    case 1:
    case 4:
        if (has_standby(database))
            database_fail_over(database, database->now);
        else
            crash_for_a_while(database);
        break;
    case 5:
        stall(database, &database->lags_until, LAG_MAX); /* of the standby */
        break;
    default:
        cut_one(database);
    }
    next_fault(database);
}

void database_faults(struct database *database, uint64_t now, bool on)
{
    database->now = later(database->now, now);
    database->has_faults = on;
    database->fault_count++;
    if (on) {
        next_fault(database);
        return;
    }
    database->stalls_until = database->lags_until = 0;
    database_restart(database, now);
}

void database_fault_event(struct database *database, const struct timer *event)
{
    if (event->kind == DATABASE_FAULT) {
        if (event->generation == database->fault_count)
            own_fault(database);
    } else if (event->generation != database->process) {
        return; /* of a process that crashed */
    } else if (event->kind == DATABASE_UP) {
        database_restart(database, database->now);
    } else {
        check(database->pending.count && database->pending.items[0]->number == event->id);
        apply_first(database);
    }
}
