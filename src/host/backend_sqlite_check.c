/* Checks an SQLite journal in small steps: all pages of the file, then each table, then the events of
 * each entity.
 *
 * A step is one short read transaction, so it blocks no writer, and the log can be emptied between two
 * steps. Pages are read as they are in the file. One that does not fit may be older than the log:
 * it counts only if it stays so after the log was copied. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "host/backend_sqlite_inside.h"
#include "host/backend_sqlite_pages.h"
#include "journal/record.h"

#define STEP_NS UINT64_C(20000000)
#define STEP_SIZE (256 * 1024)
#define PAGE_SIZE 4096
#define ROW_SIZE 64 /* bytes that reading a row costs beside its record */
#define ENTITIES "table entity"
#define PAGE_TRIES 20 /* steps in which a page does not fit, until it counts */

enum phase { PHASE_PAGES, PHASE_TABLES, PHASE_ENTITIES };

enum {
    CHECK_BEGIN,
    CHECK_END,
    CHECK_LAST,  /* the highest row of an entity */
    CHECK_ROW,
    CHECK_INDEX, /* the row that the index has for a persistence id */
    CHECK_EVENTS,
    CHECK_SNAPSHOTS, /* of an entity, above a number */
    CHECK_NEWEST,    /* its newest snapshot */
    CHECK_COUNT
};

static const char *const check_sql[CHECK_COUNT] = {
    [CHECK_BEGIN] = "BEGIN",
    [CHECK_END] = "COMMIT",
    [CHECK_LAST] = "SELECT max(id) FROM entity",
    [CHECK_ROW] = "SELECT pid FROM entity WHERE id = ?",
    [CHECK_INDEX] = "SELECT id FROM entity WHERE pid = ?",
    [CHECK_EVENTS] = "SELECT seq, record FROM event WHERE entity = ? AND seq > ? ORDER BY seq",
    [CHECK_SNAPSHOTS] = "SELECT seq, record FROM snapshot WHERE entity = ? AND seq > ? ORDER BY seq",
    [CHECK_NEWEST] = "SELECT max(seq) FROM snapshot WHERE entity = ?",
};

/* Reads every column, as a count alone would skip some pages. */
static const struct {
    const char *name;
    const char *sql;
} tables[] = {
    { "table meta", "SELECT total(length(name) + length(value)) FROM meta" },
    { "table claims", "SELECT total(count) FROM claims" },
    { "table fence",
      "SELECT total(length(type) + length(shard) + term + epoch) FROM fence" },
    { "table term", "SELECT total(length(type) + term) FROM term" },
    { "table proof", "SELECT total(length(type) + term + proof) FROM proof" },
    { "table snapshot", "SELECT seq FROM snapshot NOT INDEXED LIMIT 1" }, /* entities read the rows */
};

#define TABLES (sizeof tables / sizeof *tables)

struct sqlite_check {
    sqlite3_stmt *statements[CHECK_COUNT];
    enum phase phase;
    uint32_t page; /* the last one that was read */
    uint32_t tries; /* of the next one */
    size_t table;  /* the next one */
    int64_t last;  /* row of an entity */
    int64_t entity; /* the current one, or the last */
    bool is_inside; /* its snapshots or events are being read */
    bool is_saved;  /* its snapshots are */
    bool has_bad_snapshots;
    bool continues; /* they were read in an earlier step, too */
    bool is_bad;
    bool lacks_rows; /* a row of an entity cannot be read */
    uint64_t seq;   /* the last one that was read */
    uint64_t snapshot; /* number of the last one that was read */
    uint64_t newest;   /* of its newest snapshot; 0: none */
    uint64_t key;   /* of its records */
    struct buf pid;
    bool has_turn;  /* no other process of the host checks */
};

struct step {
    struct sqlite_store *store;
    struct sqlite_check *own;
    struct backend_check *check;
    uint64_t ends_at;
};

int sqlite_check_set_up(struct sqlite_store *store, char *error)
{
    struct sqlite_check *own = mem_alloc(sizeof *own);

    store->check = own;
    if (sqlite_add_snapshots(store->db) != SQLITE_OK ||
        sqlite_run_text(store, "PRAGMA cache_size = -512;"
                        "PRAGMA trusted_schema = OFF;"
                        "PRAGMA query_only = ON") != SQLITE_OK)
        return sqlite_failed(store, error);
    for (int i = 0; i < CHECK_COUNT; i++)
        if (sqlite3_prepare_v3(store->db, check_sql[i], -1,
                               SQLITE_PREPARE_PERSISTENT, &own->statements[i],
                               NULL) != SQLITE_OK)
            return sqlite_failed(store, error);
    return 0;
}

void sqlite_check_fini(struct sqlite_store *store)
{
    struct sqlite_check *own = store->check;

    if (!own)
        return;
    for (int i = 0; i < CHECK_COUNT && !store->is_broken; i++)
        (void)sqlite3_finalize(own->statements[i]); /* errors were reported before */
    if (own->has_turn && store->turn)
        turn_check_end(store->turn);
    buf_fini(&own->pid);
    mem_free(own);
}

static bool has_time(const struct step *step)
{
    return step->check->bytes < STEP_SIZE && sqlite_now() < step->ends_at;
}

static int run(struct step *step, int which)
{
    int result = sqlite3_step(step->own->statements[which]);
    int reset = sqlite3_reset(step->own->statements[which]);

    return result == SQLITE_DONE || result == SQLITE_ROW ? reset : result;
}

static void end_early(struct step *step)
{
    sqlite_describe(step->store, step->check->error);
    step->check->is_over = true;
}

static void add(struct step *step, struct slice part)
{
    char why[BACKEND_ERROR_MAX];

    sqlite_describe(step->store, why);
    backend_damage_add(step->store->damage, part, why);
}

/* ---- pages ---- */

/* A page that is being written, or is in the log, too, fits in a later step. */
static bool fits_later(struct step *step)
{
    if (++step->own->tries >= PAGE_TRIES)
        return false;
    (void)sqlite3_wal_checkpoint_v2(step->store->db, NULL,
                                    SQLITE_CHECKPOINT_PASSIVE, NULL,
                                    NULL); /* others may be doing it */
    step->check->bytes += STEP_SIZE;
    return true;
}

static void note_page(struct step *step, uint32_t page, int result)
{
    char name[32], why[BACKEND_ERROR_MAX];

    (void)snprintf(name, sizeof name, "page %u", page); /* fits */
    (void)snprintf(why, sizeof why, "journal %.120s: page %u of the file is damaged",
                   step->store->path, page); /* fits */
    if (result == SQLITE_IOERR_DATA)
        backend_damage_add(step->store->damage, slice_text(name), why);
    else if (result == SQLITE_OK)
        backend_damage_remove(step->store->damage, slice_text(name));
}

/* Only SQLite's own reading of the first page tells whether pages have checksums. */
static void check_pages(struct step *step)
{
    sqlite3_file *file = sqlite_file_of(step->store);
    uint8_t bytes[PAGE_SIZE];
    sqlite3_int64 size = 0;

    check(file != NULL);
    if (file->pMethods->xFileSize(file, &size) != SQLITE_OK)
        size = 0;
    while (has_time(step) &&
           (sqlite3_int64)step->own->page * PAGE_SIZE + PAGE_SIZE <= size) {
        int result = file->pMethods->xRead(
            file, bytes, PAGE_SIZE, (sqlite3_int64)step->own->page * PAGE_SIZE);

        step->check->bytes += PAGE_SIZE;
        if (result == SQLITE_IOERR_DATA && fits_later(step))
            return;
        if (result == SQLITE_OK && step->store->signs)
            (void)sqlite_pages_sign(file, step->own->page); /* else the next check does it */
        note_page(step, ++step->own->page, result);
        step->own->tries = 0;
        step->check->pages++;
    }
    if ((sqlite3_int64)step->own->page * PAGE_SIZE + PAGE_SIZE > size)
        step->own->phase = PHASE_TABLES;
}

/* ---- tables ---- */

static void check_table(struct step *step)
{
    struct slice name = slice_text(tables[step->own->table].name);
    int result = sqlite3_exec(step->store->db, tables[step->own->table].sql,
                              NULL, NULL, NULL);

    step->check->bytes += STEP_SIZE; /* its size is unknown */
    if (result == SQLITE_OK)
        backend_damage_remove(step->store->damage, name);
    else if (sqlite_is_damaged(step->store))
        add(step, name);
    else if (!sqlite_is_busy(result))
        end_early(step);
    if (!sqlite_is_busy(result))
        step->own->table++;
    if (step->own->table == TABLES)
        step->own->phase = PHASE_ENTITIES;
}

/* ---- entities ---- */

/* Rows of entities are never deleted, so each number up to the highest is tried: a damaged page does
 * not hide the rows behind it. */
static bool find_last(struct step *step)
{
    struct sqlite_check *own = step->own;
    sqlite3_stmt *statement = own->statements[CHECK_LAST];
    bool is_found = sqlite3_step(statement) == SQLITE_ROW;

    if (is_found)
        own->last = sqlite3_column_int64(statement, 0);
    else if (sqlite_is_damaged(step->store))
        add(step, slice_text(ENTITIES));
    if (!is_found)
        end_early(step);
    (void)sqlite3_reset(statement); /* reported */
    return is_found;
}

static void leave_entity(struct step *step)
{
    struct sqlite_check *own = step->own;

    if (!own->is_bad)
        backend_damage_remove(step->store->damage, buf_slice(&own->pid));
    own->is_inside = own->continues = false;
}

/* A record does not fit, or the structure does not lead to it. */
static void refuse(struct step *step, const char *what)
{
    char why[BACKEND_ERROR_MAX];

    (void)snprintf(why, sizeof why, "journal %.100s: %s", step->store->path,
                   what); /* fits */
    backend_damage_add(step->store->damage, buf_slice(&step->own->pid), why);
    step->own->is_bad = true;
}

static void refuse_event(struct step *step, uint64_t seq, const char *what)
{
    char text[80];

    (void)snprintf(text, sizeof text, "event %llu: %s",
                   (unsigned long long)seq, what); /* fits */
    refuse(step, text);
}

/* Damaged snapshots are a part of their own: their entity may have others. */
static void refuse_snapshot(struct step *step, uint64_t seq, const char *what)
{
    char name[BACKEND_PART_SIZE], why[BACKEND_ERROR_MAX];

    backend_damage_snapshots(name, buf_slice(&step->own->pid));
    if (what)
        (void)snprintf(why, sizeof why, "journal %.80s: snapshot %llu: %s", step->store->path,
                       (unsigned long long)seq, what); /* fits */
    else
        sqlite_describe(step->store, why);
    backend_damage_add(step->store->damage, slice_text(name), why);
    step->own->has_bad_snapshots = true;
}

/* Reads the number of the newest snapshot: events up to it may have been deleted. */
static void find_newest(struct step *step)
{
    struct sqlite_check *own = step->own;
    sqlite3_stmt *statement = own->statements[CHECK_NEWEST];

    check(sqlite3_bind_int64(statement, 1, own->entity) == SQLITE_OK);
    own->newest = 0;
    if (sqlite3_step(statement) == SQLITE_ROW)
        own->newest = (uint64_t)sqlite3_column_int64(statement, 0);
    else if (sqlite_is_damaged(step->store))
        refuse_snapshot(step, 0, NULL);
    (void)sqlite3_reset(statement); /* reported */
}

/* Reads snapshots of the entity until the step's end. */
static void check_snapshots(struct step *step)
{
    struct sqlite_check *own = step->own;
    sqlite3_stmt *statement = own->statements[CHECK_SNAPSHOTS];
    char name[BACKEND_PART_SIZE];
    int result = SQLITE_ROW;

    check(sqlite3_bind_int64(statement, 1, own->entity) == SQLITE_OK &&
          sqlite3_bind_int64(statement, 2, (sqlite3_int64)own->snapshot) == SQLITE_OK);
    while (has_time(step) && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        struct slice bytes = slice_of(sqlite3_column_blob(statement, 1),
                                      (size_t)sqlite3_column_bytes(statement, 1));
        struct snapshot snapshot;
        const char *wrong;

        own->snapshot = (uint64_t)sqlite3_column_int64(statement, 0);
        step->check->bytes += bytes.size + ROW_SIZE;
        wrong = snapshot_decode(bytes, own->key, own->snapshot, &snapshot);
        if (wrong)
            refuse_snapshot(step, own->snapshot, wrong);
    }
    if (result != SQLITE_ROW && result != SQLITE_DONE && sqlite_is_damaged(step->store))
        refuse_snapshot(step, 0, NULL);
    (void)sqlite3_reset(statement); /* reported */
    own->is_saved = result == SQLITE_ROW;
    if (own->is_saved || own->has_bad_snapshots)
        return;
    backend_damage_snapshots(name, buf_slice(&own->pid));
    backend_damage_remove(step->store->damage, slice_text(name));
}

/* Enters the next entity, if its row and the index agree. */
static void enter(struct step *step)
{
    struct sqlite_check *own = step->own;
    sqlite3_stmt *row = own->statements[CHECK_ROW];
    sqlite3_stmt *index = own->statements[CHECK_INDEX];
    int result;

    own->entity++;
    own->is_bad = own->has_bad_snapshots = false;
    own->is_saved = true;
    own->seq = own->snapshot = 0;
    check(sqlite3_bind_int64(row, 1, own->entity) == SQLITE_OK);
    result = sqlite3_step(row);
    step->check->bytes += ROW_SIZE;
    if (result == SQLITE_ROW) {
        buf_clear(&own->pid);
        buf_put(&own->pid, sqlite3_column_text(row, 0),
                (size_t)sqlite3_column_bytes(row, 0));
        own->key = record_key(buf_slice(&own->pid));
        own->is_inside = true;
        step->check->entities++;
    } else if (result != SQLITE_DONE && sqlite_is_damaged(step->store)) {
        add(step, slice_text(ENTITIES));
        own->lacks_rows = true;
    }
    (void)sqlite3_reset(row); /* reported */
    if (!own->is_inside)
        return;
    check(sqlite3_bind_text64(index, 1, (const char *)own->pid.data,
                              own->pid.size, SQLITE_STATIC,
                              SQLITE_UTF8) == SQLITE_OK);
    result = sqlite3_step(index);
    if (result == SQLITE_DONE || (result == SQLITE_ROW &&
                                  sqlite3_column_int64(index, 0) != own->entity))
        refuse(step, "the index of entities does not lead to it");
    else if (result != SQLITE_ROW && sqlite_is_damaged(step->store))
        add(step, buf_slice(&own->pid));
    own->is_bad |= result != SQLITE_ROW;
    (void)sqlite3_reset(index); /* reported */
}

/* Checks one record. The first of an entity has the number 1, or follows a snapshot; those of a shard's
 * own stream may have been deleted. False: no more of this entity. */
static bool check_record(struct step *step, uint64_t seq, struct slice bytes)
{
    struct sqlite_check *own = step->own;
    bool is_own = own->pid.size && own->pid.data[0] == '|';
    struct record record;
    const char *wrong;

    step->check->bytes += bytes.size + ROW_SIZE;
    step->check->events++;
    if (seq != own->seq + 1 && !(own->seq == 0 && (is_own || seq <= own->newest + 1))) {
        if (own->continues) {
            own->seq = 0; /* its records were deleted between two steps */
            own->continues = false;
            find_newest(step);
            return check_record(step, seq, bytes);
        }
        refuse_event(step, own->seq + 1, "it is missing");
        return false;
    }
    wrong = record_decode(bytes, own->key, seq, &record);
    if (wrong)
        refuse_event(step, seq, wrong);
    own->seq = seq;
    return !wrong;
}

static void check_events(struct step *step)
{
    struct sqlite_check *own = step->own;
    sqlite3_stmt *statement = own->statements[CHECK_EVENTS];
    bool goes_on = true;
    int result = SQLITE_ROW;

    if (!own->seq)
        find_newest(step); /* in the transaction that reads the first event */
    check(sqlite3_bind_int64(statement, 1, own->entity) == SQLITE_OK &&
          sqlite3_bind_int64(statement, 2, (sqlite3_int64)own->seq) ==
              SQLITE_OK);
    while (goes_on && has_time(step) &&
           (result = sqlite3_step(statement)) == SQLITE_ROW)
        goes_on = check_record(
            step, (uint64_t)sqlite3_column_int64(statement, 0),
            slice_of(sqlite3_column_blob(statement, 1),
                     (size_t)sqlite3_column_bytes(statement, 1)));
    if (result != SQLITE_ROW && result != SQLITE_DONE &&
        sqlite_is_damaged(step->store)) {
        add(step, buf_slice(&own->pid));
        own->is_bad = true;
    }
    (void)sqlite3_reset(statement); /* reported */
    if (!goes_on || result != SQLITE_ROW)
        leave_entity(step);
    own->continues = own->is_inside;
}

static void check_entities(struct step *step)
{
    struct sqlite_check *own = step->own;

    if (run(step, CHECK_BEGIN) != SQLITE_OK) {
        end_early(step);
        return;
    }
    if (own->last || find_last(step)) {
        while (has_time(step) && (own->is_inside || own->entity < own->last)) {
            if (!own->is_inside)
                enter(step);
            if (own->is_inside && own->is_bad)
                leave_entity(step);
            else if (own->is_inside && own->is_saved)
                check_snapshots(step);
            else if (own->is_inside)
                check_events(step);
        }
        step->check->is_over |= !own->is_inside && own->entity >= own->last;
        if (step->check->is_over && !own->lacks_rows)
            backend_damage_remove(step->store->damage, slice_text(ENTITIES));
    }
    (void)run(step, CHECK_END); /* nothing was written */
}

/* ---- a step ---- */

static void do_step(void *context)
{
    struct step *step = context;

    if (!sqlite_is_kept(step->store))
        return;
    step->ends_at = sqlite_now() + STEP_NS;
    switch (step->own->phase) {
    case PHASE_PAGES:
        check_pages(step);
        break;
    case PHASE_TABLES:
        check_table(step);
        break;
    case PHASE_ENTITIES:
        check_entities(step);
        break;
    }
}

void sqlite_check(void *opened, struct backend_check *check)
{
    struct sqlite_store *store = opened;
    struct step step = { .store = store, .own = store->check, .check = check };

    check->bytes = 0;
    step.own->has_turn = step.own->has_turn || !store->turn ||
                         turn_check_begin(store->turn);
    check->is_waiting = !step.own->has_turn;
    if (check->is_waiting)
        return;
    if (!sqlite_is_intact(store, WATCHED_MAIN, WATCHED_SHARED) ||
        !sqlite_guard(store, do_step, &step) || store->fault[0]) {
        (void)snprintf(check->error, sizeof check->error, "%s", store->fault); /* of that size */
        check->is_over = true;
    }
    if (!check->is_over)
        return;
    if (store->turn)
        turn_check_end(store->turn);
    step.own->has_turn = false;
}
