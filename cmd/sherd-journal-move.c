/* Runs the command move: copies an SQLite journal into an empty one in PostgreSQL, and marks the file.
 *
 * The mark is stored before anything is copied. So no node opens the file meanwhile, and an interruption leaves at
 * most one journal with the events that a node can open. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sherd-journal-alone.h"
#include "sherd-journal-target.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "host/backend_sqlite.h"
#include "journal/record.h"

struct moving {
    struct journal *from;
    struct target *to;
    struct slice id;
    uint64_t key, next, entities, events, snapshots;
    const char *defect; /* of the event or snapshot `seq` */
    uint64_t seq;
    bool has_failed; /* the target */
    bool is_unknown; /* the outcome of the commit */
};

/* ---- the file ---- */

static enum cmd_exit change_mark(const struct cmd_call *call, struct sqlite_store *store, bool adds, bool *was_marked)
{
    char error[BACKEND_ERROR_MAX];
    char *sql = adds ? sqlite3_mprintf("UPDATE claims SET count = count + 1;"
                                       "INSERT OR IGNORE INTO meta VALUES('moved', 'PostgreSQL, schema ' || %Q)",
                                       journal_schema(call))
                     : sqlite3_mprintf("DELETE FROM meta WHERE name = 'moved'");
    int result;

    check(sql != NULL);
    turn_take(store->turn);
    result = sqlite_run_text(store, "BEGIN IMMEDIATE");
    if (result == SQLITE_OK)
        result = sqlite_run_text(store, sql);
    *was_marked = (sqlite3_changes(store->db) == 0) == adds;
    if (result == SQLITE_OK)
        result = sqlite_run_text(store, "COMMIT");
    turn_give(store->turn);
    sqlite3_free(sql);
    if (result == SQLITE_OK)
        return CMD_GOOD;
    (void)sqlite_failed(store, error);
    return cmd_fail(CMD_UNREACHABLE, "%s", error);
}

static enum cmd_exit undo(const struct cmd_call *call, struct sqlite_store *store)
{
    bool was_marked = false;
    enum cmd_exit exit = change_mark(call, store, false, &was_marked);

    if (exit == CMD_GOOD && !was_marked)
        return cmd_fail(CMD_FINDINGS, "%s has no mark", call->arguments[0]);
    if (exit == CMD_GOOD)
        printf("%s can be opened by nodes again\n", call->arguments[0]);
    return exit;
}

/* ---- copying ---- */

static bool copy_event(void *context, uint64_t seq, struct slice bytes)
{
    struct moving *moving = context;
    struct record record;

    moving->seq = seq;
    moving->defect = record_decode(bytes, moving->key, seq, &record);
    if (!moving->defect && moving->next && seq != moving->next)
        moving->defect = "an event before it is missing";
    moving->next = seq + 1;
    moving->events++;
    moving->has_failed = !moving->defect && !target_event(moving->to, seq, bytes);
    return !moving->defect && !moving->has_failed;
}

static bool copy_snapshot(void *context, uint64_t seq, struct slice bytes)
{
    struct moving *moving = context;
    struct snapshot snapshot;

    moving->seq = seq;
    moving->defect = snapshot_decode(bytes, moving->key, seq, &snapshot);
    moving->snapshots++;
    moving->has_failed = !moving->defect && !target_snapshot(moving->to, seq, bytes);
    return !moving->defect && !moving->has_failed;
}

static bool goes_on(const struct moving *moving)
{
    return !moving->defect && !moving->has_failed;
}

static bool copy_entity(void *context, const struct journal_id *at)
{
    struct moving *moving = context;
    struct slice type = journal_type_of(at->id);

    moving->id = at->id;
    moving->key = record_key(at->id);
    moving->seq = at->first;
    moving->next = journal_is_stream(at->id) || at->snapshots ? 0 : 1;
    if (!at->last)
        return true; /* it has no events */
    moving->entities++;
    if (!type.size)
        moving->defect = "the id has no type";
    else
        moving->has_failed = !target_entity(moving->to, at->id, type.size);
    return goes_on(moving) && journal_each_event(moving->from, at->id, 1, at->last, copy_event, moving) &&
           goes_on(moving) &&
           (!at->snapshots || journal_each_snapshot(moving->from, at->id, 1, INT64_MAX, copy_snapshot, moving)) &&
           goes_on(moving);
}

static void copy_fence(void *context, struct slice type, struct slice shard, struct fence fence)
{
    struct moving *moving = context;

    if (!moving->has_failed)
        moving->has_failed = !target_fence(moving->to, type, shard, fence);
}

static void copy_term(void *context, struct slice type, uint64_t term)
{
    struct moving *moving = context;

    if (!moving->has_failed)
        moving->has_failed = !target_term(moving->to, type, term);
}

static enum cmd_exit target_failed(const struct moving *moving)
{
    return cmd_fail(target_refuses(moving->to) ? CMD_REFUSED : CMD_UNREACHABLE, "%s; nothing was moved",
                    target_error(moving->to));
}

static enum cmd_exit copy_all(struct moving *moving)
{
    char id[80];
    bool good = journal_each_id(moving->from, (struct slice){ 0 }, (struct slice){ 0 }, copy_entity, moving);

    if (moving->defect) {
        journal_printable(moving->id, id, sizeof id);
        return cmd_fail(CMD_FINDINGS, "number %" PRIu64 " of %s is damaged (%s); nothing was moved", moving->seq, id,
                        moving->defect);
    }
    good = good && !moving->from->error[0] && !moving->has_failed &&
           moving->from->ops->fences(moving->from, copy_fence, moving) &&
           moving->from->ops->terms(moving->from, copy_term, moving);
    if (moving->has_failed)
        return target_failed(moving);
    if (!good)
        return journal_failed(moving->from);
    if (target_commit(moving->to))
        return CMD_GOOD;
    moving->is_unknown = !target_refuses(moving->to);
    if (!moving->is_unknown)
        return target_failed(moving);
    return cmd_fail(CMD_UNREACHABLE, "%s; the outcome is unknown: repeat the move, which is refused if it succeeded",
                    target_error(moving->to));
}

/* ---- the command ---- */

/* Compares what is in PostgreSQL now with what was copied. */
static enum cmd_exit verify(const struct cmd_call *call, const struct moving *moving)
{
    char error[BACKEND_ERROR_MAX] = "";
    struct journal *journal = journal_open_postgres(journal_url(call->arguments[1]), journal_schema(call), error);
    struct backend_check sum = { .bytes = 0 };
    struct journal_info info = { .version = 0 };
    enum cmd_exit exit = CMD_GOOD;

    if (!journal)
        return cmd_fail(CMD_UNREACHABLE, "moved, but not verified: %s", error);
    if (!journal_verify(journal, cmd_value(call, "json") != NULL, true, NULL, &sum) ||
        !journal->ops->info(journal, &info))
        exit = journal_failed(journal);
    else if (sum.damaged || sum.entities != moving->entities || sum.events != moving->events ||
             info.snapshots != moving->snapshots)
        exit = cmd_fail(CMD_FINDINGS, "the journal in PostgreSQL differs: delete it, and undo the move");
    buf_fini(&info.cluster);
    journal->ops->close(journal);
    return exit;
}

static enum cmd_exit copy(const struct cmd_call *call, struct moving *moving, uint64_t shards)
{
    struct journal_info info = { .version = 0 };
    enum cmd_exit exit = CMD_UNREACHABLE;

    moving->from = journal_open(call);
    if (!moving->from)
        return exit;
    moving->to = target_open(journal_url(call->arguments[1]), journal_schema(call), (uint32_t)shards);
    if (!moving->from->ops->info(moving->from, &info))
        exit = journal_failed(moving->from);
    else if (!moving->to || !target_begin(moving->to, buf_slice(&info.cluster)))
        exit = target_failed(moving);
    else
        exit = copy_all(moving);
    buf_fini(&info.cluster);
    target_close(moving->to);
    moving->from->ops->close(moving->from);
    return exit;
}

static enum cmd_exit move(const struct cmd_call *call, struct sqlite_store *store, struct moving *moving,
                          uint64_t shards)
{
    bool was_marked = false, ignored;
    enum cmd_exit exit = change_mark(call, store, true, &was_marked);

    if (exit != CMD_GOOD)
        return exit;
    exit = turn_is_alone(store->turn) ? copy(call, moving, shards) : journal_refuse_users(call);
    if (exit == CMD_GOOD)
        return verify(call, moving);
    if (!was_marked && !moving->is_unknown)
        (void)change_mark(call, store, false, &ignored); /* else it stays, and can be undone */
    return exit;
}

static enum cmd_exit check_call(const struct cmd_call *call, uint64_t *shards)
{
    if (!cmd_number(call, "number-of-shards", shards))
        return CMD_USAGE;
    if (journal_is_remote(call))
        return cmd_fail(CMD_USAGE, "FILE must be an SQLite journal: to leave PostgreSQL, use export and import");
    if (cmd_value(call, "undo"))
        return CMD_GOOD;
    if (call->count < 2 || !journal_url(call->arguments[1]))
        return cmd_fail(CMD_USAGE, "URL must be a journal in PostgreSQL, as postgres:URL");
    if (*shards == 0 || *shards > INT32_MAX)
        return cmd_fail(CMD_USAGE, "a move needs --number-of-shards, as the nodes have it");
    return CMD_GOOD;
}

enum cmd_exit cmd_journal_move(const struct cmd_call *call)
{
    struct moving moving = { .entities = 0 };
    struct sqlite_store *store = NULL;
    uint64_t shards = 0;
    enum cmd_exit exit = check_call(call, &shards);

    if (exit == CMD_GOOD)
        exit = journal_open_alone(call, NULL, true, &store);
    if (exit == CMD_GOOD && cmd_value(call, "undo")) {
        exit = undo(call, store);
    } else if (exit == CMD_GOOD) {
        exit = move(call, store, &moving, shards);
        if (exit == CMD_GOOD && cmd_value(call, "json"))
            printf("{\"entities\":%" PRIu64 ",\"events\":%" PRIu64 ",\"snapshots\":%" PRIu64 ",\"moved\":true}\n",
                   moving.entities, moving.events, moving.snapshots);
        else if (exit == CMD_GOOD)
            printf("%" PRIu64 " entities, %" PRIu64 " events and %" PRIu64 " snapshots moved and verified; no node opens "
                   "%s any more\n", moving.entities, moving.events, moving.snapshots, call->arguments[0]);
    }
    if (store)
        backend_sqlite.close(store);
    return exit;
}
