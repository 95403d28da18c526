/* Makes changes in a journal that no node uses: all in one transaction. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sherd-journal-alone.h"

#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "host/backend_sqlite.h"

static const struct {
    const char *sql;
    int parameters;
} texts[] = {
    [JOURNAL_DELETE_EVENTS] = { "DELETE FROM event WHERE entity = (SELECT id FROM entity WHERE pid = ?1)", 1 },
    [JOURNAL_DELETE_SNAPSHOTS] = { "DELETE FROM snapshot WHERE entity = (SELECT id FROM entity WHERE pid = ?1)"
                                   " AND seq BETWEEN ?2 AND ?3", 3 },
    [JOURNAL_PUT_SNAPSHOT] = { "INSERT OR REPLACE INTO snapshot SELECT id, ?2, ?4 FROM entity"
                               " WHERE pid = ?1 AND ?3 > 0", 4 },
};

void journal_change_add(struct journal_changes *changes, enum journal_change_kind kind, struct slice id,
                        uint64_t from, uint64_t to, struct slice bytes)
{
    struct journal_change change = { .kind = kind, .from = from, .to = to };

    buf_put_slice(&change.id, id);
    buf_put_slice(&change.bytes, bytes);
    vec_push(changes, change);
}

void journal_changes_fini(struct journal_changes *changes)
{
    for (uint32_t i = 0; i < changes->count; i++) {
        buf_fini(&changes->items[i].id);
        buf_fini(&changes->items[i].bytes);
    }
    vec_fini(changes);
}

static int change_one(struct sqlite_store *store, const struct journal_change *change)
{
    sqlite3_stmt *statement = NULL;
    int parameters = texts[change->kind].parameters;
    int result = sqlite3_prepare_v2(store->db, texts[change->kind].sql, -1, &statement, NULL);

    if (result == SQLITE_OK)
        check(sqlite3_bind_text64(statement, 1, (const char *)change->id.data, change->id.size, SQLITE_STATIC,
                                  SQLITE_UTF8) == SQLITE_OK &&
              (parameters < 3 || (sqlite3_bind_int64(statement, 2, (sqlite3_int64)change->from) == SQLITE_OK &&
                                  sqlite3_bind_int64(statement, 3, (sqlite3_int64)change->to) == SQLITE_OK)) &&
              (parameters < 4 || sqlite3_bind_blob64(statement, 4, change->bytes.data, change->bytes.size,
                                                     SQLITE_STATIC) == SQLITE_OK));
    if (result == SQLITE_OK) {
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

static enum cmd_exit change_alone(struct sqlite_store *store, const struct journal_changes *changes, bool *is_empty)
{
    char error[BACKEND_ERROR_MAX];
    int result;

    turn_take(store->turn);
    result = sqlite_run_text(store, "BEGIN IMMEDIATE");
    for (uint32_t i = 0; i < changes->count && result == SQLITE_OK; i++)
        result = change_one(store, &changes->items[i]);
    if (result == SQLITE_OK)
        result = move_mark(store);
    *is_empty = result == SQLITE_DONE; /* no event is left to be noted */
    if (result == SQLITE_OK || result == SQLITE_DONE)
        result = sqlite_run_text(store, "COMMIT");
    turn_give(store->turn);
    if (result == SQLITE_OK)
        return CMD_GOOD;
    (void)sqlite_failed(store, error);
    return cmd_fail(CMD_UNREACHABLE, "%s; nothing was changed", error);
}

static enum cmd_exit change_file(const struct cmd_call *call, const struct journal_changes *changes)
{
    struct sqlite_store *store = NULL;
    bool is_empty = false;
    enum cmd_exit exit = journal_open_alone(call, NULL, false, &store);

    if (exit == CMD_GOOD)
        exit = change_alone(store, changes, &is_empty);
    if (store)
        backend_sqlite.close(store);
    if (exit == CMD_GOOD && is_empty)
        journal_delete_beside(call->arguments[0], "-turn");
    return exit;
}

enum cmd_exit journal_change(const struct cmd_call *call, const struct journal_changes *changes)
{
    struct journal *journal;
    enum cmd_exit exit = CMD_GOOD;

    if (!journal_is_remote(call))
        return change_file(call, changes);
    journal = journal_open(call);
    if (!journal)
        return CMD_UNREACHABLE;
    if (!journal->ops->change(journal, changes))
        exit = journal_failed(journal);
    journal->ops->close(journal);
    return exit;
}
