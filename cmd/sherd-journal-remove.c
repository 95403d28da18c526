/* Runs the command remove-sharding: deletes what sharding itself stored, while the cluster is stopped. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sherd-journal-alone.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "host/backend_sqlite.h"

struct removing {
    bool is_json;
    struct journal_streams streams;
    uint64_t events;
};

/* ---- finding ---- */

static bool note_stream(void *context, struct slice id, uint64_t first, uint64_t last)
{
    struct removing *removing = context;
    struct buf copy = { 0 };

    if (!last)
        return true; /* nothing is left of it */
    buf_put_slice(&copy, id);
    vec_push(&removing->streams, copy);
    removing->events += last - first + 1;
    if (removing->is_json) {
        (void)putchar('{');
        journal_print_json("id", id, true);
        printf(",\"events\":%" PRIu64 "}\n", last - first + 1);
    } else {
        journal_print_text(id, 4096);
        printf("  %" PRIu64 " events\n", last - first + 1);
    }
    return true;
}

/* The streams |TYPE|SHARD of the given types. Those of entities begin with their type. */
static enum cmd_exit find_streams(const struct cmd_call *call, struct removing *removing)
{
    struct journal *journal = journal_open(call);
    enum cmd_exit exit = CMD_GOOD;
    bool good = true;

    if (!journal)
        return CMD_UNREACHABLE;
    for (uint32_t i = 1; i < call->count && good; i++) {
        struct buf prefix = { 0 };

        buf_put_text(&prefix, "|");
        buf_put_text(&prefix, call->arguments[i]);
        buf_put_text(&prefix, "|");
        good = journal_each_id(journal, buf_slice(&prefix), (struct slice){ 0 }, note_stream, removing);
        buf_fini(&prefix);
    }
    if (good && removing->streams.count && !cmd_value(call, "dry-run") && journal->ops->remove)
        good = journal->ops->remove(journal, &removing->streams);
    if (!good)
        exit = journal_failed(journal);
    journal->ops->close(journal);
    return exit;
}

/* ---- SQLite ---- */

static int delete_streams(struct sqlite_store *store, const struct journal_streams *streams)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(store->db, "DELETE FROM event WHERE entity = (SELECT id FROM entity WHERE pid = ?1)",
                                    -1, &statement, NULL);

    for (uint32_t i = 0; i < streams->count && result == SQLITE_OK; i++) {
        check(sqlite3_bind_text64(statement, 1, (const char *)streams->items[i].data, streams->items[i].size,
                                  SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK);
        (void)sqlite3_step(statement);
        result = sqlite3_reset(statement);
    }
    (void)sqlite3_finalize(statement); /* the error was noted */
    return result;
}

/* FILE-turn notes the last record that was stored. If it was deleted, nodes would miss it: notes one that
 * stays. It may be noted before the commit, as it is there before and after. */
static int move_mark(struct sqlite_store *store)
{
    struct turn_mark mark = { 0 };
    sqlite3_stmt *statement = NULL;
    int result = SQLITE_DONE;

    if (!turn_get_mark(store->turn, &mark))
        return SQLITE_OK;
    if (sqlite3_prepare_v2(store->db,
                           "SELECT entity, seq, record FROM event WHERE entity = ?1 AND seq = ?2 UNION ALL"
                           " SELECT * FROM (SELECT entity, seq, record FROM event ORDER BY entity, seq LIMIT 1)"
                           " LIMIT 1",
                           -1, &statement, NULL) != SQLITE_OK)
        return SQLITE_ERROR;
    check(sqlite3_bind_int64(statement, 1, (sqlite3_int64)mark.entity) == SQLITE_OK &&
          sqlite3_bind_int64(statement, 2, (sqlite3_int64)mark.seq) == SQLITE_OK);
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        mark.entity = (uint64_t)sqlite3_column_int64(statement, 0);
        mark.seq = (uint64_t)sqlite3_column_int64(statement, 1);
        mark.sum = hash_bytes(slice_of(sqlite3_column_blob(statement, 2), (size_t)sqlite3_column_bytes(statement, 2)));
        mark.log_salt = mark.log_frames = 0;
        turn_set_mark(store->turn, &mark);
    }
    (void)sqlite3_finalize(statement); /* the error was noted */
    return result == SQLITE_ROW ? SQLITE_OK : result;
}

static enum cmd_exit remove_alone(struct sqlite_store *store, const struct journal_streams *streams, bool *is_empty)
{
    char error[BACKEND_ERROR_MAX];
    int result;

    turn_take(store->turn);
    result = sqlite_run_text(store, "BEGIN IMMEDIATE");
    if (result == SQLITE_OK)
        result = delete_streams(store, streams);
    if (result == SQLITE_OK)
        result = move_mark(store);
    *is_empty = result == SQLITE_DONE; /* no event is left to be noted */
    if (result == SQLITE_OK || result == SQLITE_DONE)
        result = sqlite_run_text(store, "COMMIT");
    turn_give(store->turn);
    if (result == SQLITE_OK)
        return CMD_GOOD;
    (void)sqlite_failed(store, error);
    return cmd_fail(CMD_UNREACHABLE, "%s; nothing was removed", error);
}

static enum cmd_exit remove_from_file(const struct cmd_call *call, const struct journal_streams *streams)
{
    struct sqlite_store *store = NULL;
    bool is_empty = false;
    enum cmd_exit exit = journal_open_alone(call, NULL, &store);

    if (exit == CMD_GOOD)
        exit = remove_alone(store, streams, &is_empty);
    if (store)
        backend_sqlite.close(store);
    if (exit == CMD_GOOD && is_empty)
        journal_delete_beside(call->arguments[0], "-turn");
    return exit;
}

enum cmd_exit cmd_journal_remove_sharding(const struct cmd_call *call)
{
    struct removing removing = { .is_json = cmd_value(call, "json") != NULL };
    bool is_dry = cmd_value(call, "dry-run") != NULL;
    enum cmd_exit exit = find_streams(call, &removing);

    if (exit == CMD_GOOD && !is_dry && removing.streams.count && !journal_is_remote(call))
        exit = remove_from_file(call, &removing.streams);
    if (exit == CMD_GOOD && removing.is_json)
        printf("{\"streams\":%" PRIu32 ",\"events\":%" PRIu64 ",\"removed\":%s}\n", removing.streams.count,
               removing.events, is_dry ? "false" : "true");
    else if (exit == CMD_GOOD)
        printf("%" PRIu32 " shards with %" PRIu64 " events %s\n", removing.streams.count, removing.events,
               is_dry ? "would be removed" : "removed");
    for (uint32_t i = 0; i < removing.streams.count; i++)
        buf_fini(&removing.streams.items[i]);
    vec_fini(&removing.streams);
    return exit;
}
