/* Writes one group of requests as one transaction. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "host/backend_sqlite_inside.h"
#include "host/backend_sqlite_pages.h"

#define GROUP_TRIES 16 /* each may find another part damaged */

enum outcome { GROUP_DONE, GROUP_AGAIN, GROUP_FAILED, GROUP_UNKNOWN };

struct verdict {
    struct known *known; /* null: no record of it */
    struct backend_found found;
    bool is_refused; /* damaged */
};

static void bind_text(sqlite3_stmt *statement, int index, struct slice text)
{
    check(sqlite3_bind_text64(statement, index, (const char *)text.data,
                              text.size, SQLITE_STATIC,
                              SQLITE_UTF8) == SQLITE_OK);
}

static void bind_number(sqlite3_stmt *statement, int index, uint64_t number)
{
    check(sqlite3_bind_int64(statement, index, (sqlite3_int64)number) ==
          SQLITE_OK);
}

/* SQLITE_ROW, SQLITE_DONE or the error. */
static int step(sqlite3_stmt *statement)
{
    int result = sqlite3_step(statement);

    if (result != SQLITE_ROW)
        (void)sqlite3_reset(statement);
    return result;
}

/* A writer that passed the queue may hold SQLite's own lock. */
static int begin(struct sqlite_store *store, char *error)
{
    uint64_t end = sqlite_now() + store->lock_wait_ms * UINT64_C(1000000);
    int result = sqlite_run(store, SQL_BEGIN);

    for (uint32_t attempt = 0; sqlite_is_busy(result) && sqlite_now() < end;
         attempt++) {
        sqlite_pause(attempt);
        result = sqlite_run(store, SQL_BEGIN);
    }
    if (sqlite_is_busy(result))
        sqlite_locked(store, error);
    else if (result != SQLITE_OK)
        sqlite_describe(store, error);
    return result;
}

/* Cached fences are valid until the next claim. */
static int refresh_claims(struct sqlite_store *store)
{
    sqlite3_stmt *statement = store->statements[SQL_CLAIMS];
    int result = step(statement);
    struct map_entry entry;
    int64_t claims;

    if (result != SQLITE_ROW)
        return result == SQLITE_DONE ? SQLITE_CORRUPT : result;
    claims = sqlite3_column_int64(statement, 0);
    (void)sqlite3_reset(statement); /* after a row: no error */
    if (claims == store->claims)
        return SQLITE_OK;
    for (uint32_t at = 0; map_next(&store->fences, &at, &entry);)
        mem_free(entry.value);
    map_fini(&store->fences);
    store->claims = claims;
    return SQLITE_OK;
}

static int stored_fence(struct sqlite_store *store, struct slice type,
                        struct slice shard, struct fence **found)
{
    sqlite3_stmt *statement = store->statements[SQL_FENCE];
    int result;

    buf_clear(&store->key);
    buf_put_u32(&store->key, (uint32_t)type.size);
    buf_put_slice(&store->key, type);
    buf_put_slice(&store->key, shard);
    *found = map_get(&store->fences, buf_slice(&store->key));
    if (*found)
        return SQLITE_OK;
    bind_text(statement, 1, type);
    bind_text(statement, 2, shard);
    result = step(statement);
    if (result != SQLITE_ROW && result != SQLITE_DONE)
        return result;
    *found = mem_alloc(sizeof **found);
    if (result == SQLITE_ROW) {
        (*found)->term = (uint64_t)sqlite3_column_int64(statement, 0);
        (*found)->epoch = (uint64_t)sqlite3_column_int64(statement, 1);
        (void)sqlite3_reset(statement); /* after a row: no error */
    }
    (void)map_put(&store->fences, buf_slice(&store->key),
                  *found); /* was absent */
    return SQLITE_OK;
}

/* Reads what proves that a request of the coordinator is meant for this store. */
static int read_proofs(struct sqlite_store *store, struct slice type,
                       uint64_t term, struct backend_proofs *proofs)
{
    sqlite3_stmt *statement = store->statements[SQL_TERM];
    int result;

    bind_text(statement, 1, type);
    result = step(statement);
    if (result == SQLITE_ROW) {
        proofs->last = (uint64_t)sqlite3_column_int64(statement, 0);
        (void)sqlite3_reset(statement); /* after a row: no error */
    } else if (result != SQLITE_DONE) {
        return result;
    }
    statement = store->statements[SQL_PROOF];
    bind_text(statement, 1, type);
    bind_number(statement, 2, term);
    result = step(statement);
    if (result != SQLITE_ROW)
        return result == SQLITE_DONE ? SQLITE_CORRUPT : result;
    proofs->value = (uint64_t)sqlite3_column_int64(statement, 0);
    proofs->lowest = (uint64_t)sqlite3_column_int64(statement, 1);
    (void)sqlite3_reset(statement); /* after a row: no error */
    return SQLITE_OK;
}

/* Sets the request's result: DONE if the coordinator's proof is here, or was not given. */
static int prove(struct sqlite_store *store, struct journal_request *request)
{
    struct backend_proofs proofs = { 0 };
    int result = SQLITE_OK;

    if (request->proof.value)
        result = read_proofs(store, backend_slice(request, request->type),
                             request->proof.term, &proofs);
    request->result = backend_prove(request->proof, &proofs);
    if (request->result == BACKEND_FENCED && request->verb == BACKEND_CLAIM)
        request->fence = (struct fence){ proofs.lowest, 0 };
    return result;
}

static int claim(struct sqlite_store *store, struct journal_request *request)
{
    struct slice type = backend_slice(request, request->type);
    struct slice shard = backend_slice(request, request->shard);
    sqlite3_stmt *statement = store->statements[SQL_FENCE_SET];
    struct fence *stored;
    int result;

    if (sqlite_refuses_shard(store, request, request->type, request->shard)) {
        request->result = BACKEND_FAILED;
        return SQLITE_OK;
    }
    result = prove(store, request);
    if (result != SQLITE_OK || request->result != BACKEND_DONE)
        return result;
    result = stored_fence(store, type, shard, &stored);
    if (result != SQLITE_OK)
        return result;
    if (request->next)
        request->fence = (struct fence){ stored->term, stored->epoch + 1 };
    if (fence_compare(*stored, request->fence) > 0) {
        request->fence = *stored;
        request->result = BACKEND_FENCED;
        return SQLITE_OK;
    }
    request->result = BACKEND_DONE;
    if (fence_compare(*stored, request->fence) == 0)
        return SQLITE_OK;
    bind_text(statement, 1, type);
    bind_text(statement, 2, shard);
    bind_number(statement, 3, request->fence.term);
    bind_number(statement, 4, request->fence.epoch);
    result = sqlite_run(store, SQL_FENCE_SET);
    if (result == SQLITE_OK)
        result = sqlite_run(store, SQL_CLAIMS_RAISE);
    if (result != SQLITE_OK)
        return result;
    *stored = request->fence;
    store->claims++;
    return SQLITE_OK;
}

static int list_shards(struct sqlite_store *store,
                       struct journal_request *request)
{
    struct slice type = backend_slice(request, request->type);
    sqlite3_stmt *statement = store->statements[SQL_SHARDS];
    int result;

    /* Copied: the type's buffer grows with every shard. */
    check(sqlite3_bind_text64(statement, 1, (const char *)type.data, type.size,
                              SQLITE_TRANSIENT, SQLITE_UTF8) == SQLITE_OK);
    while ((result = step(statement)) == SQLITE_ROW) {
        struct backend_shard listed = { .type = request->type };
        struct slice name =
            slice_of(sqlite3_column_text(statement, 0),
                     (size_t)sqlite3_column_bytes(statement, 0));

        listed.shard = backend_put(request, name);
        vec_push(&request->shards, listed);
    }
    return result == SQLITE_DONE ? SQLITE_OK : result;
}

static int add_proof(struct sqlite_store *store,
                     const struct journal_request *request)
{
    struct slice type = backend_slice(request, request->type);
    sqlite3_stmt *statement = store->statements[SQL_PROOF_ADD];
    int result;

    bind_text(statement, 1, type);
    bind_number(statement, 2, request->fence.term);
    bind_number(statement, 3, request->next_proof);
    result = sqlite_run(store, SQL_PROOF_ADD);
    if (result != SQLITE_OK)
        return result;
    statement = store->statements[SQL_PROOF_CUT];
    bind_text(statement, 1, type);
    bind_number(statement, 2, BACKEND_PROOFS_MAX);
    return sqlite_run(store, SQL_PROOF_CUT);
}

static int take_term(struct sqlite_store *store, struct journal_request *request)
{
    struct slice type = backend_slice(request, request->type);
    sqlite3_stmt *statement = store->statements[SQL_TERM];
    uint64_t term = 0;
    int result;

    if (sqlite_refuses_terms(store, request)) {
        request->result = BACKEND_FAILED;
        return SQLITE_OK;
    }
    result = prove(store, request);
    if (result != SQLITE_OK || request->result == BACKEND_OTHER_STORE)
        return result;
    bind_text(statement, 1, type);
    result = step(statement);
    if (result == SQLITE_ROW) {
        term = (uint64_t)sqlite3_column_int64(statement, 0);
        (void)sqlite3_reset(statement); /* after a row: no error */
    } else if (result != SQLITE_DONE) {
        return result;
    }
    if (term < request->fence.term)
        term = request->fence.term;
    request->fence.term = term + 1;
    request->result = BACKEND_DONE;
    if (request->lists) {
        request->shards.count = 0; /* from a try that was rolled back */
        result = list_shards(store, request);
        if (result != SQLITE_OK)
            return result;
    }
    statement = store->statements[SQL_TERM_SET];
    bind_text(statement, 1, backend_slice(request, request->type));
    bind_number(statement, 2, request->fence.term);
    result = sqlite_run(store, SQL_TERM_SET);
    if (result != SQLITE_OK || !request->next_proof)
        return result;
    return add_proof(store, request);
}

/* Reads a statement's only number for an entity; null counts as 0. */
static int read_number(struct sqlite_store *store, enum statement which,
                       int64_t entity, uint64_t *number)
{
    sqlite3_stmt *statement = store->statements[which];
    int result;

    bind_number(statement, 1, (uint64_t)entity);
    result = step(statement);
    if (result != SQLITE_ROW)
        return result == SQLITE_DONE ? SQLITE_CORRUPT : result;
    *number = (uint64_t)sqlite3_column_int64(statement, 0);
    (void)sqlite3_reset(statement); /* after a row: no error */
    return SQLITE_OK;
}

static int read_last(struct sqlite_store *store, struct known *known)
{
    return read_number(store, SQL_LAST, known->id, &known->last);
}

/* Loads an entity that the writer has not seen yet, and creates its row. */
static int load_entity(struct sqlite_store *store, struct slice id,
                       struct known *known)
{
    sqlite3_stmt *statement = store->statements[SQL_ENTITY];
    int result;

    bind_text(statement, 1, id);
    result = step(statement);
    if (result == SQLITE_ROW) {
        known->id = sqlite3_column_int64(statement, 0);
        (void)sqlite3_reset(statement); /* after a row: no error */
        return read_last(store, known);
    }
    if (result != SQLITE_DONE)
        return result;
    bind_text(store->statements[SQL_ENTITY_ADD], 1, id);
    result = sqlite_run(store, SQL_ENTITY_ADD);
    known->id = sqlite3_last_insert_rowid(store->db);
    return result;
}

static int know(struct sqlite_store *store, struct slice id,
                struct fence fence, struct known **found)
{
    struct known *known = map_get(&store->entities, id);
    int result = SQLITE_OK;

    if (!known) {
        known = mem_alloc(sizeof *known);
        (void)map_put(&store->entities, id, known); /* was absent */
        result = load_entity(store, id, known);
    } else if (fence_compare(known->fence, fence) != 0) {
        result = read_last(store, known);
    }
    known->fence = fence;
    *found = known;
    return result;
}

/* Tells whether the same bytes are stored. */
static int is_stored(struct sqlite_store *store,
                     const struct journal_request *request,
                     const struct backend_record *record, int64_t entity,
                     bool *stored)
{
    sqlite3_stmt *statement = store->statements[SQL_RECORD];
    int result;

    *stored = false;
    bind_number(statement, 1, (uint64_t)entity);
    bind_number(statement, 2, record->seq);
    result = step(statement);
    if (result == SQLITE_DONE)
        return SQLITE_OK;
    if (result != SQLITE_ROW)
        return result;
    *stored = slice_equal(
        slice_of(sqlite3_column_blob(statement, 0),
                 (size_t)sqlite3_column_bytes(statement, 0)),
        backend_slice(request, record->bytes));
    (void)sqlite3_reset(statement); /* after a row: no error */
    return SQLITE_OK;
}

static int judge_shards(struct sqlite_store *store,
                        struct journal_request *request)
{
    for (uint32_t i = 0; i < request->shards.count; i++) {
        struct backend_shard *shard = &request->shards.items[i];
        struct slice type = backend_slice(request, shard->type);
        struct slice name = backend_slice(request, shard->shard);
        struct fence *stored;
        int result;

        if (sqlite_refuses_shard(store, request, shard->type, shard->shard)) {
            shard->result = BACKEND_FAILED;
            continue;
        }
        store->blamed.shard = shard;
        result = stored_fence(store, type, name, &stored);
        if (result != SQLITE_OK)
            return result;
        shard->stored = *stored;
        shard->result = fence_compare(*stored, shard->fence) > 0
                            ? BACKEND_FENCED
                            : BACKEND_DONE;
    }
    store->blamed.shard = NULL;
    return SQLITE_OK;
}

static int judge_record(struct sqlite_store *store,
                        struct journal_request *request,
                        const struct backend_record *record,
                        struct verdict *verdict)
{
    const struct backend_entity *entity =
        &request->entities.items[record->entity];
    const struct backend_shard *shard = &request->shards.items[entity->shard];
    int result = SQLITE_OK;
    bool stored = false;

    if (shard->result == BACKEND_FAILED ||
        (!verdict->known && sqlite_refuses_entity(store, request, entity)))
        verdict->is_refused = true;
    if (verdict->is_refused ||
        (shard->result == BACKEND_FENCED && !request->again))
        return SQLITE_OK; /* its fence already refuses it, or damage */
    store->blamed.entity = entity;
    if (!verdict->known) {
        result = know(store, backend_slice(request, entity->id), shard->fence,
                      &verdict->known);
        verdict->found.met = true;
        verdict->found.before = verdict->found.last = verdict->known->last;
    }
    if (result != SQLITE_OK)
        return result;
    if (record->seq == verdict->found.last + 1) {
        verdict->found.last++;
        verdict->found.adds = true;
        return SQLITE_OK;
    }
    if (!verdict->found.adds && request->again &&
        record->seq <= verdict->found.last)
        result =
            is_stored(store, request, record, verdict->known->id, &stored);
    if (!stored)
        verdict->found.conflict = true;
    return result;
}

static int insert(struct sqlite_store *store,
                  const struct journal_request *request,
                  const struct backend_record *record, int64_t entity)
{
    sqlite3_stmt *statement = store->statements[SQL_EVENT_ADD];
    struct slice bytes = backend_slice(request, record->bytes);

    bind_number(statement, 1, (uint64_t)entity);
    bind_number(statement, 2, record->seq);
    check(sqlite3_bind_blob64(statement, 3, bytes.data, bytes.size,
                              SQLITE_STATIC) == SQLITE_OK);
    store->written = bytes;
    store->mark.entity = (uint64_t)entity;
    store->mark.seq = record->seq;
    return sqlite_run(store, SQL_EVENT_ADD);
}

static void decide(struct journal_request *request, struct verdict *verdicts)
{
    for (uint32_t i = 0; i < request->entities.count; i++) {
        struct backend_entity *entity = &request->entities.items[i];
        struct verdict *verdict = &verdicts[i];

        entity->result = verdict->is_refused
                             ? BACKEND_FAILED
                             : backend_decide(request, entity, &verdict->found);
        if (entity->result == BACKEND_DONE && verdict->known)
            verdict->known->last = verdict->found.last;
    }
}

/* Deletes the records that an entity's newest ones replace. */
static int cut(struct sqlite_store *store, const struct journal_request *request,
               const struct backend_entity *entity, const struct known *known)
{
    sqlite3_stmt *statement = store->statements[SQL_CUT];
    uint64_t first;
    uint64_t below;
    int result;

    if (entity->cut <= 1 || !known)
        return SQLITE_OK;
    result = read_number(store, SQL_FIRST, known->id, &first);
    below = result == SQLITE_OK ? backend_cut(request, entity, first) : 0;
    if (!below)
        return result;
    bind_number(statement, 1, (uint64_t)known->id);
    bind_number(statement, 2, below);
    return sqlite_run(store, SQL_CUT);
}

static int append(struct sqlite_store *store, struct journal_request *request)
{
    struct verdict *verdicts =
        mem_alloc(request->entities.count * sizeof *verdicts);
    int result;

    store->verdicts = verdicts;
    result = judge_shards(store, request);

    for (uint32_t i = 0; i < request->records.count && result == SQLITE_OK;
         i++) {
        const struct backend_record *record = &request->records.items[i];

        result =
            judge_record(store, request, record, &verdicts[record->entity]);
    }
    decide(request, verdicts);
    for (uint32_t i = 0; i < request->records.count && result == SQLITE_OK;
         i++) {
        const struct backend_record *record = &request->records.items[i];
        const struct verdict *verdict = &verdicts[record->entity];

        store->blamed.entity = &request->entities.items[record->entity];
        if (request->entities.items[record->entity].result == BACKEND_DONE &&
            record->seq > verdict->found.before)
            result = insert(store, request, record, verdict->known->id);
    }
    for (uint32_t i = 0; i < request->entities.count && result == SQLITE_OK;
         i++) {
        store->blamed.entity = &request->entities.items[i];
        result = cut(store, request, &request->entities.items[i],
                     verdicts[i].known);
    }
    request->result = BACKEND_DONE;
    mem_free(verdicts);
    store->verdicts = NULL;
    return result;
}

/* Sets the result: DONE if the writer's fence is not stale, and its shard is not damaged. */
static int judge_owner(struct sqlite_store *store, struct journal_request *request)
{
    struct fence *stored;
    int result;

    if (sqlite_refuses_owner(store, request)) {
        request->result = BACKEND_FAILED;
        return SQLITE_OK;
    }
    result = stored_fence(store, backend_slice(request, request->type),
                          backend_slice(request, request->shard), &stored);
    if (result != SQLITE_OK)
        return result;
    request->result =
        fence_compare(*stored, request->fence) > 0 ? BACKEND_FENCED : BACKEND_DONE;
    if (request->result == BACKEND_FENCED)
        request->fence = *stored;
    return SQLITE_OK;
}

/* Runs a request of a shard's owner, unless it is refused. */
static int own(struct sqlite_store *store, struct journal_request *request)
{
    int result = judge_owner(store, request);

    if (result != SQLITE_OK || request->result != BACKEND_DONE)
        return result;
    if (request->verb == BACKEND_SAVE)
        return sqlite_save(store, request);
    return request->verb == BACKEND_TRIM ? sqlite_trim(store, request)
                                         : sqlite_drop(store, request);
}

static int run_one(struct sqlite_store *store, struct journal_request *request)
{
    switch (request->verb) {
    case BACKEND_APPEND:
        return append(store, request);
    case BACKEND_CLAIM:
        return claim(store, request);
    case BACKEND_TAKE_TERM:
        return take_term(store, request);
    case BACKEND_SAVE:
    case BACKEND_TRIM:
    case BACKEND_DROP:
        return own(store, request);
    case BACKEND_REPLAY:
    case BACKEND_LOAD:
        break;
    }
    backend_settle(request, BACKEND_FAILED, "not a write");
    return SQLITE_OK;
}

static void roll_back(struct sqlite_store *store)
{
    sqlite_forget(store);
    if (!sqlite3_get_autocommit(store->db))
        (void)sqlite_run(store, SQL_ROLLBACK); /* releases the lock */
}

/* Only a disk error leaves the outcome unknown. The connection stays open: it knows that the log's
 * frames are not committed, so the next transaction overwrites and syncs them. A new connection
 * would take them for durable. */
static enum outcome commit(struct sqlite_store *store, char *error)
{
    uint64_t end = sqlite_now() + store->lock_wait_ms * UINT64_C(1000000);
    int result = sqlite_run(store, SQL_COMMIT);

    for (uint32_t attempt = 0; sqlite_is_busy(result) && sqlite_now() < end;
         attempt++) {
        sqlite_pause(attempt);
        result = sqlite_run(store, SQL_COMMIT);
    }
    if (result == SQLITE_OK)
        return GROUP_DONE;
    sqlite_describe(store, error);
    store->was_full |= sqlite_is_full(store);
    roll_back(store);
    return sqlite_is_busy(result) || result == SQLITE_FULL ? GROUP_FAILED
                                                    : GROUP_UNKNOWN;
}

static enum outcome run_group(struct sqlite_store *store,
                              struct journal_request **requests, uint32_t count,
                              char *error)
{
    bool is_damaged;
    int result;

    store->written = (struct slice){ 0 };
    if (begin(store, error) != SQLITE_OK)
        return GROUP_FAILED;
    if (store->entities.count > BACKEND_KNOWN_MAX)
        sqlite_forget(store);
    store->blamed = (struct blamed){ .request = NULL };
    result = refresh_claims(store);
    for (uint32_t i = 0; i < count && result == SQLITE_OK; i++) {
        store->blamed = (struct blamed){ .request = requests[i] };
        result = run_one(store, requests[i]);
    }
    if (result == SQLITE_OK)
        return commit(store, error);
    sqlite_describe(store, error);
    store->was_full |= sqlite_is_full(store);
    is_damaged = sqlite_is_damaged(store);
    roll_back(store);
    if (is_damaged && sqlite_blame(store, error))
        return GROUP_AGAIN;
    /* Another process wrote without a claim: read the stored state again. */
    return (result & 0xff) == SQLITE_CONSTRAINT ? GROUP_AGAIN : GROUP_FAILED;
}

static void settle_all(struct journal_request **requests, uint32_t count,
                       enum backend_result result, const char *error)
{
    for (uint32_t i = 0; i < count; i++)
        backend_settle(requests[i], result, error);
}

struct group {
    struct sqlite_store *store;
    struct journal_request **requests;
    uint32_t count;
    enum outcome outcome;
    char error[BACKEND_ERROR_MAX];
};

static void set_mark(struct sqlite_store *store)
{
    struct frames_state state = { 0 };

    (void)sqlite_pages_log_state(sqlite_file_of(store), &state); /* else zeros */
    store->mark.sum = hash_bytes(store->written);
    store->mark.log_salt = state.salt;
    store->mark.log_frames = state.count;
    turn_set_mark(store->turn, &store->mark);
}

static bool has_claim(const struct group *group)
{
    for (uint32_t i = 0; i < group->count; i++)
        if (group->requests[i]->verb != BACKEND_APPEND)
            return true;
    return false;
}

/* In this process's turn. If the files were overwritten, the store remembers it. */
static void write_group(void *context)
{
    struct group *group = context;
    struct sqlite_store *store = group->store;

    if (has_claim(group) && !sqlite_is_kept(store))
        return;
    turn_take(store->turn);
    for (uint32_t i = 0; i < GROUP_TRIES && group->outcome == GROUP_AGAIN; i++)
        group->outcome =
            run_group(store, group->requests, group->count, group->error);
    if (group->outcome == GROUP_DONE && store->written.size)
        set_mark(store);
    turn_give(store->turn);
}

void sqlite_write(void *opened, struct journal_request **requests,
                  uint32_t count)
{
    struct sqlite_store *store = opened;
    struct group group = { store, requests, count, GROUP_AGAIN, "" };

    if (!sqlite_is_intact(store, WATCHED_SHARED, WATCHED_TURN) ||
        !sqlite_guard(store, write_group, &group) ||
        !sqlite_is_intact(store, WATCHED_MAIN, WATCHED_LOG))
        settle_all(requests, count, BACKEND_FAILED, store->fault);
    else if (group.outcome != GROUP_DONE)
        settle_all(requests, count,
                   group.outcome == GROUP_UNKNOWN ? BACKEND_UNKNOWN
                                                  : BACKEND_FAILED,
                   group.error);
}

struct trial {
    struct sqlite_store *store;
    char *error;
    bool is_good;
};

/* The trial is small, and fits on a disk that is too full for a group. */
static bool has_room(struct sqlite_store *store)
{
    struct statvfs disk;

    return !store->was_full || statvfs(store->path, &disk) != 0 ||
           (uint64_t)disk.f_bavail * disk.f_frsize >= BACKEND_ROOM_MIN;
}

/* Without a wait for another process. The counter makes all writers read fences again. */
static void try_write(void *context)
{
    struct trial *trial = context;
    struct sqlite_store *store = trial->store;
    int result;

    turn_take(store->turn);
    result = sqlite_run(store, SQL_BEGIN);
    if (result == SQLITE_OK)
        result = sqlite_run(store, SQL_CLAIMS_RAISE);
    if (result == SQLITE_OK)
        result = sqlite_run(store, SQL_COMMIT);
    trial->is_good = result == SQLITE_OK;
    if (sqlite_is_busy(result))
        sqlite_locked(store, trial->error);
    else if (!trial->is_good)
        sqlite_describe(store, trial->error);
    if (!trial->is_good)
        roll_back(store);
    turn_give(store->turn);
}

bool sqlite_can_write(void *opened, char *error)
{
    struct sqlite_store *store = opened;
    struct trial trial = { store, error, false };

    if (!has_room(store)) {
        (void)snprintf(error, BACKEND_ERROR_MAX, "journal %s: %s",
                       store->label, strerror(ENOSPC)); /* fits */
        return false;
    }
    if (!sqlite_is_whole(store, error) || !sqlite_guard(store, try_write, &trial))
        return false;
    store->was_full = store->was_full && !trial.is_good;
    return trial.is_good;
}
