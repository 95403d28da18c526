/* Runs replays and reads snapshots: all that wait share one read transaction. */
#include <stdio.h>

#include "base/check.h"
#include "host/backend_sqlite_inside.h"

static void fail(struct sqlite_store *store, struct journal_request *request)
{
    request->result = BACKEND_FAILED;
    sqlite_describe(store, request->error);
    if (sqlite_is_damaged(store))
        backend_damage_add(store->damage, backend_slice(request, request->id),
                           request->error);
}

/* A damaged snapshot is no reason to refuse its entity: an older one, or all events, will do. */
static void note_damaged(struct sqlite_store *store, const struct journal_request *request)
{
    char name[BACKEND_PART_SIZE], why[BACKEND_ERROR_MAX];

    sqlite_describe(store, why);
    backend_damage_snapshots(name, backend_slice(request, request->id));
    backend_damage_add(store->damage, slice_text(name), why);
}

/* Adds a snapshot to the answer, without bytes if its page is damaged. */
static void load_record(struct sqlite_store *store, struct journal_request *request, uint64_t seq,
                        sqlite3_int64 entity)
{
    sqlite3_stmt *statement = store->statements[SQL_LOAD_RECORD];
    struct backend_record record = { .seq = seq };
    int result;

    check(sqlite3_bind_int64(statement, 1, entity) == SQLITE_OK &&
          sqlite3_bind_int64(statement, 2, (sqlite3_int64)seq) == SQLITE_OK);
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        record.bytes = backend_put(request, slice_of(sqlite3_column_blob(statement, 0),
                                                     (size_t)sqlite3_column_bytes(statement, 0)));
    else if (sqlite_is_damaged(store))
        note_damaged(store, request);
    else
        fail(store, request);
    if (request->result == BACKEND_DONE)
        vec_push(&request->records, record);
    (void)sqlite3_reset(statement); /* as above */
}

/* Reads the newest snapshot up to a number. */
static void load(struct sqlite_store *store, struct journal_request *request)
{
    sqlite3_stmt *statement = store->statements[SQL_LOAD];
    struct slice id = backend_slice(request, request->id);
    int result;

    check(sqlite3_bind_text64(statement, 1, (const char *)id.data, id.size,
                              SQLITE_TRANSIENT, SQLITE_UTF8) == SQLITE_OK);
    check(sqlite3_bind_int64(statement, 2, (sqlite3_int64)request->from) == SQLITE_OK);
    result = sqlite3_step(statement);
    request->result = BACKEND_DONE;
    if (result == SQLITE_ROW)
        load_record(store, request, (uint64_t)sqlite3_column_int64(statement, 0),
                    sqlite3_column_int64(statement, 1));
    else if (result != SQLITE_DONE && sqlite_is_damaged(store))
        note_damaged(store, request);
    else if (result != SQLITE_DONE)
        fail(store, request);
    (void)sqlite3_reset(statement);
}

static void replay(struct sqlite_store *store, struct journal_request *request)
{
    bool last = request->from == BACKEND_LAST;
    sqlite3_stmt *statement =
        store->statements[last ? SQL_REPLAY_LAST : SQL_REPLAY];
    struct slice id = backend_slice(request, request->id);
    size_t size = 0;
    int result;

    /* Copied: the id's buffer grows with every record. */
    check(sqlite3_bind_text64(statement, 1, (const char *)id.data, id.size,
                              SQLITE_TRANSIENT, SQLITE_UTF8) == SQLITE_OK);
    if (!last)
        check(sqlite3_bind_int64(statement, 2,
                                 (sqlite3_int64)request->from) == SQLITE_OK);
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        struct slice record =
            slice_of(sqlite3_column_blob(statement, 1),
                     (size_t)sqlite3_column_bytes(statement, 1));

        size += record.size;
        if (request->records.count &&
            (request->records.count >= request->count_max ||
             size > request->size_max)) {
            request->more = true;
            break;
        }
        vec_push(&request->records,
                 ((struct backend_record){
                     .seq = (uint64_t)sqlite3_column_int64(statement, 0),
                     .bytes = backend_put(request, record) }));
    }
    if (result == SQLITE_ROW || result == SQLITE_DONE)
        request->result = BACKEND_DONE;
    else
        fail(store, request);
    (void)sqlite3_reset(statement);
}

struct reading {
    struct sqlite_store *store;
    struct journal_request **requests;
    uint32_t count;
};

static void read_all(void *context)
{
    struct reading *reading = context;
    struct sqlite_store *store = reading->store;
    char error[BACKEND_ERROR_MAX] = "";
    bool ready = sqlite_run(store, SQL_READ_BEGIN) == SQLITE_OK;

    if (!ready)
        sqlite_describe(store, error);
    for (uint32_t i = 0; i < reading->count; i++) {
        struct journal_request *request = reading->requests[i];

        if (!ready)
            backend_settle(request, BACKEND_FAILED, error);
        else if (backend_damage_find(store->damage,
                                     backend_slice(request, request->id),
                                     request->error))
            request->result = BACKEND_FAILED;
        else if (request->verb == BACKEND_REPLAY)
            replay(store, request);
        else if (request->verb == BACKEND_LOAD)
            load(store, request);
        else
            backend_settle(request, BACKEND_FAILED, "not a read");
    }
    if (ready)
        (void)sqlite_run(store, SQL_READ_END); /* nothing was written */
    (void)sqlite_is_kept(store); /* the store remembers it */
}

void sqlite_read(void *opened, struct journal_request **requests, uint32_t count)
{
    struct sqlite_store *store = opened;
    struct reading reading = { store, requests, count };

    if (sqlite_is_intact(store, WATCHED_MAIN, WATCHED_SHARED) &&
        sqlite_guard(store, read_all, &reading) && !store->fault[0])
        return;
    for (uint32_t i = 0; i < count; i++)
        backend_settle(requests[i], BACKEND_FAILED, store->fault);
}
