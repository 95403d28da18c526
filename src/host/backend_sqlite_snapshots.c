/* Stores and deletes snapshots, and the events behind them, within the writer's transaction. */
#include "base/check.h"
#include "host/backend_sqlite_inside.h"

/* An entity's row, and its first and last event; all 0: it is not known. */
struct found {
    int64_t entity;
    uint64_t first;
    uint64_t last;
};

static void bind_number(sqlite3_stmt *statement, int index, uint64_t number)
{
    check(sqlite3_bind_int64(statement, index, (sqlite3_int64)number) == SQLITE_OK);
}

/* Runs a statement without rows. SQLITE_OK or the error. */
static int run(struct sqlite_store *store, enum statement which)
{
    int result = sqlite3_step(store->statements[which]);

    (void)sqlite3_reset(store->statements[which]); /* the same error */
    return result == SQLITE_DONE ? SQLITE_OK : result;
}

/* Runs a statement with at most one row of one number; null and no row count as 0. */
static int read_number(struct sqlite_store *store, enum statement which, uint64_t *number)
{
    sqlite3_stmt *statement = store->statements[which];
    int result = sqlite3_step(statement);

    *number = result == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(statement, 0) : 0;
    (void)sqlite3_reset(statement);
    return result == SQLITE_ROW || result == SQLITE_DONE ? SQLITE_OK : result;
}

static int find(struct sqlite_store *store, struct journal_request *request,
                struct found *found)
{
    struct slice id = backend_slice(request, request->id);
    uint64_t entity;
    int result;

    *found = (struct found){ 0 };
    check(sqlite3_bind_text64(store->statements[SQL_ENTITY], 1, (const char *)id.data, id.size,
                              SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK);
    result = read_number(store, SQL_ENTITY, &entity);
    if (result != SQLITE_OK || !entity)
        return result;
    found->entity = (int64_t)entity;
    bind_number(store->statements[SQL_FIRST], 1, entity);
    result = read_number(store, SQL_FIRST, &found->first);
    if (result != SQLITE_OK)
        return result;
    bind_number(store->statements[SQL_LAST], 1, entity);
    return read_number(store, SQL_LAST, &found->last);
}

int sqlite_save(struct sqlite_store *store, struct journal_request *request)
{
    const struct backend_record *snapshot = request->records.items;
    struct slice bytes = backend_slice(request, snapshot->bytes);
    sqlite3_stmt *statement = store->statements[SQL_SAVE];
    struct found found;
    int result = find(store, request, &found);

    if (result != SQLITE_OK)
        return result;
    if (!found.entity || !snapshot->seq || snapshot->seq > found.last) {
        request->result = BACKEND_CONFLICT;
        return SQLITE_OK;
    }
    bind_number(statement, 1, (uint64_t)found.entity);
    bind_number(statement, 2, snapshot->seq);
    check(sqlite3_bind_blob64(statement, 3, bytes.data, bytes.size, SQLITE_STATIC) ==
          SQLITE_OK);
    result = run(store, SQL_SAVE);
    if (result != SQLITE_OK)
        return result;
    bind_number(store->statements[SQL_SAVE_KEEP], 1, (uint64_t)found.entity);
    bind_number(store->statements[SQL_SAVE_KEEP], 2, request->count_max);
    result = run(store, SQL_SAVE_KEEP);
    if (result != SQLITE_OK)
        return result;
    bind_number(store->statements[SQL_SAVE_OLDEST], 1, (uint64_t)found.entity);
    bind_number(store->statements[SQL_SAVE_OLDEST], 2, request->count_max);
    return read_number(store, SQL_SAVE_OLDEST, &request->from);
}

int sqlite_trim(struct sqlite_store *store, struct journal_request *request)
{
    struct found found;
    uint64_t below = request->from;
    int result = find(store, request, &found);

    if (result != SQLITE_OK || !found.entity)
        return result;
    if (below > found.last)
        below = found.last;
    if (below <= found.first)
        return SQLITE_OK;
    request->more = below - found.first > request->count_max;
    if (request->more)
        below = found.first + request->count_max;
    request->deleted = (uint32_t)(below - found.first);
    bind_number(store->statements[SQL_CUT], 1, (uint64_t)found.entity);
    bind_number(store->statements[SQL_CUT], 2, below);
    return run(store, SQL_CUT);
}

int sqlite_drop(struct sqlite_store *store, struct journal_request *request)
{
    struct found found;
    int result = find(store, request, &found);

    if (result != SQLITE_OK || !found.entity)
        return result;
    bind_number(store->statements[SQL_DROP], 1, (uint64_t)found.entity);
    bind_number(store->statements[SQL_DROP], 2, request->from);
    return run(store, SQL_DROP);
}
