/* Runs the command import: reads an exported journal into a journal, in one transaction. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sherd-journal-alone.h"
#include "sherd-journal-target.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "host/backend_sqlite.h"
#include "host/export_line.h"
#include "journal/record.h"

enum { PUT_ENTITY, PUT_EVENT, PUT_SNAPSHOT, GET_ENTITY, GET_EVENT, PUT_TERM, PUT_FENCE, PUTS };

static const char *const sql[PUTS] = {
    [PUT_ENTITY] = "INSERT OR IGNORE INTO entity(pid) VALUES(?1)",
    [PUT_EVENT] = "INSERT INTO event VALUES(?1, ?2, ?3)",
    [PUT_SNAPSHOT] = "INSERT INTO snapshot VALUES(?1, ?2, ?3)",
    [GET_ENTITY] = "SELECT id FROM entity WHERE pid = ?1",
    [GET_EVENT] = "SELECT 1 FROM event WHERE entity = ?1 LIMIT 1",
    [PUT_TERM] = "INSERT INTO term VALUES(?1, ?2) ON CONFLICT DO UPDATE SET term = max(term, excluded.term)",
    [PUT_FENCE] = "INSERT INTO fence VALUES(?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE"
                  " SET term = excluded.term, epoch = excluded.epoch"
                  " WHERE (excluded.term, excluded.epoch) > (fence.term, fence.epoch)",
};

struct importing {
    FILE *from;
    const char *path; /* of the journal */
    struct sqlite_store *store; /* null: it is in PostgreSQL */
    struct target *target;
    sqlite3_stmt *statements[PUTS];
    struct export_line line;
    struct buf text;
    uint64_t number; /* of the line */
    struct buf id;   /* of the entity whose events are being read */
    int64_t entity;
    uint64_t key, next, entities, events, snapshots;
    uint64_t missing; /* the events before the entity's first one: a snapshot must have them */
    uint64_t saved;   /* number of its last snapshot */
    bool is_new, is_over;
    char error[BACKEND_ERROR_MAX];
};

/* The export is wrong at this line. CMD_FINDINGS. */
static enum cmd_exit wrong(const struct importing *importing, const char *what)
{
    return cmd_fail(CMD_FINDINGS, "line %" PRIu64 " of the export: %s; nothing was imported", importing->number,
                    what);
}

static enum cmd_exit failed(struct importing *importing)
{
    if (!importing->store)
        return cmd_fail(importing->target && target_refuses(importing->target) ? CMD_REFUSED : CMD_UNREACHABLE,
                        "%s; nothing was imported", target_error(importing->target));
    (void)sqlite_failed(importing->store, importing->error);
    return cmd_fail(CMD_UNREACHABLE, "%s; nothing was imported", importing->error);
}

/* ---- lines ---- */

/* Reads a line into `text`, without its end. False: the end of the file, or a line that is too long. */
static bool read_line(struct importing *importing)
{
    int byte;

    buf_clear(&importing->text);
    importing->number++;
    while ((byte = getc_unlocked(importing->from)) != EOF && byte != '\n')
        if (importing->text.size <= EXPORT_LINE_MAX)
            buf_put_u8(&importing->text, (uint8_t)byte);
    return byte != EOF || importing->text.size;
}

static void bind(sqlite3_stmt *statement, int at, struct slice text)
{
    check(sqlite3_bind_text64(statement, at, text.size ? (const char *)text.data : "", text.size,
                              SQLITE_TRANSIENT, SQLITE_UTF8) == SQLITE_OK);
}

static void bind_number(sqlite3_stmt *statement, int at, uint64_t number)
{
    check(sqlite3_bind_int64(statement, at, (sqlite3_int64)number) == SQLITE_OK);
}

/* Runs a statement. SQLITE_DONE, SQLITE_ROW with its first column, or the error. */
static int run(sqlite3_stmt *statement, int64_t *cell)
{
    int result = sqlite3_step(statement);

    if (result == SQLITE_ROW && cell)
        *cell = sqlite3_column_int64(statement, 0);
    (void)sqlite3_reset(statement); /* the result is known */
    return result;
}

/* Makes the entity's row in a file. */
static enum cmd_exit add_entity(struct importing *importing, struct slice id)
{
    int64_t ignored;

    bind(importing->statements[PUT_ENTITY], 1, id);
    bind(importing->statements[GET_ENTITY], 1, id);
    if (run(importing->statements[PUT_ENTITY], NULL) != SQLITE_DONE ||
        run(importing->statements[GET_ENTITY], &importing->entity) != SQLITE_ROW)
        return failed(importing);
    bind_number(importing->statements[GET_EVENT], 1, (uint64_t)importing->entity);
    switch (run(importing->statements[GET_EVENT], &ignored)) {
    case SQLITE_DONE:
        return CMD_GOOD;
    case SQLITE_ROW:
        (void)wrong(importing, "the journal has events of this entity, or the export has it twice");
        return CMD_REFUSED;
    default:
        return failed(importing);
    }
}

static enum cmd_exit begin_entity(struct importing *importing)
{
    struct slice id = importing->line.texts[EXPORT_ID];
    size_t start = journal_is_stream(id) ? 1 : 0;
    const uint8_t *end = id.size > start ? memchr(id.data + start, '|', id.size - start) : NULL;

    if (!end || end == id.data + start)
        return wrong(importing, "the id has no type: TYPE|ENTITY is wanted");
    buf_clear(&importing->id);
    buf_put_slice(&importing->id, id);
    importing->key = record_key(id);
    importing->next = importing->line.numbers[EXPORT_SEQ];
    importing->missing = start ? 0 : importing->next - 1;
    importing->saved = 0;
    importing->entities++;
    if (importing->store)
        return add_entity(importing, id);
    return target_entity(importing->target, id, (size_t)(end - id.data) - start) ? CMD_GOOD : failed(importing);
}

/* All lines of an entity were read. */
static enum cmd_exit end_entity(struct importing *importing)
{
    return importing->missing ? wrong(importing, "events before the first one of the last entity are missing, and no "
                                                 "snapshot has them")
                              : CMD_GOOD;
}

/* Stores the record of the line. */
static enum cmd_exit put_record(struct importing *importing, int which)
{
    sqlite3_stmt *statement = importing->statements[which];
    struct slice record = importing->line.texts[EXPORT_RECORD];
    uint64_t seq = importing->line.numbers[EXPORT_SEQ];

    if (!importing->store && which == PUT_EVENT)
        return target_event(importing->target, seq, record) ? CMD_GOOD : failed(importing);
    if (!importing->store)
        return target_snapshot(importing->target, seq, record) ? CMD_GOOD : failed(importing);
    bind_number(statement, 1, (uint64_t)importing->entity);
    bind_number(statement, 2, seq);
    check(sqlite3_bind_blob64(statement, 3, record.data, record.size, SQLITE_STATIC) == SQLITE_OK);
    return run(statement, NULL) == SQLITE_DONE ? CMD_GOOD : failed(importing);
}

static enum cmd_exit put_snapshot(struct importing *importing)
{
    const struct export_line *line = &importing->line;
    uint64_t seq = line->numbers[EXPORT_SEQ];
    struct snapshot snapshot;
    const char *defect = snapshot_decode(line->texts[EXPORT_RECORD], importing->key, seq, &snapshot);

    if (!slice_equal(buf_slice(&importing->id), line->texts[EXPORT_ID]) || seq >= importing->next)
        return wrong(importing, "the snapshot's event is not before it");
    if (seq <= importing->saved)
        return wrong(importing, "the snapshot does not follow the one before it");
    if (defect)
        return wrong(importing, defect);
    importing->saved = seq;
    if (seq >= importing->missing)
        importing->missing = 0;
    importing->snapshots++;
    return put_record(importing, PUT_SNAPSHOT);
}

static enum cmd_exit put_event(struct importing *importing)
{
    const struct export_line *line = &importing->line;
    uint64_t seq = line->numbers[EXPORT_SEQ];
    enum cmd_exit exit = CMD_GOOD;
    struct record record;
    const char *defect;

    if (!slice_equal(buf_slice(&importing->id), line->texts[EXPORT_ID])) {
        exit = end_entity(importing);
        exit = exit == CMD_GOOD ? begin_entity(importing) : exit;
    }
    if (exit != CMD_GOOD)
        return exit;
    if (seq == 0 || seq != importing->next)
        return wrong(importing, "the event does not follow the one before it");
    defect = record_decode(line->texts[EXPORT_RECORD], importing->key, seq, &record);
    if (defect)
        return wrong(importing, defect);
    importing->next++;
    importing->events++;
    return put_record(importing, PUT_EVENT);
}

static enum cmd_exit put_term(struct importing *importing)
{
    sqlite3_stmt *statement = importing->statements[PUT_TERM];

    if (!importing->store)
        return target_term(importing->target, importing->line.texts[EXPORT_TYPE], importing->line.numbers[EXPORT_OF_TERM])
                   ? CMD_GOOD
                   : failed(importing);
    bind(statement, 1, importing->line.texts[EXPORT_TYPE]);
    bind_number(statement, 2, importing->line.numbers[EXPORT_OF_TERM]);
    return run(statement, NULL) == SQLITE_DONE ? CMD_GOOD : failed(importing);
}

static enum cmd_exit put_fence(struct importing *importing)
{
    sqlite3_stmt *statement = importing->statements[PUT_FENCE];
    struct fence fence = { importing->line.numbers[EXPORT_OF_TERM], importing->line.numbers[EXPORT_OF_EPOCH] };

    if (!importing->store)
        return target_fence(importing->target, importing->line.texts[EXPORT_TYPE],
                            importing->line.texts[EXPORT_SHARD], fence)
                   ? CMD_GOOD
                   : failed(importing);
    bind(statement, 1, importing->line.texts[EXPORT_TYPE]);
    bind(statement, 2, importing->line.texts[EXPORT_SHARD]);
    bind_number(statement, 3, importing->line.numbers[EXPORT_OF_TERM]);
    bind_number(statement, 4, importing->line.numbers[EXPORT_OF_EPOCH]);
    return run(statement, NULL) == SQLITE_DONE ? CMD_GOOD : failed(importing);
}

static enum cmd_exit put_line(struct importing *importing)
{
    const uint64_t *numbers = importing->line.numbers;

    switch (importing->line.kind) {
    case EXPORT_TERM:
        return put_term(importing);
    case EXPORT_FENCE:
        return put_fence(importing);
    case EXPORT_EVENT:
        return put_event(importing);
    case EXPORT_SNAPSHOT:
        return put_snapshot(importing);
    case EXPORT_END:
        importing->is_over = true;
        if (numbers[EXPORT_ENTITIES] == importing->entities && numbers[EXPORT_EVENTS] == importing->events &&
            numbers[EXPORT_SNAPSHOTS] == importing->snapshots)
            return end_entity(importing);
        return wrong(importing, "its counts differ from the lines before");
    case EXPORT_JOURNAL:
    case EXPORT_KINDS:
        break;
    }
    return wrong(importing, "a second header");
}

static enum cmd_exit put_lines(struct importing *importing)
{
    enum cmd_exit exit = CMD_GOOD;

    while (exit == CMD_GOOD && read_line(importing)) {
        const char *defect = export_decode(buf_slice(&importing->text), &importing->line);

        if (importing->is_over)
            defect = "a line after the end";
        exit = defect ? wrong(importing, defect) : put_line(importing);
    }
    if (exit == CMD_GOOD && !importing->is_over)
        exit = wrong(importing, ferror(importing->from) ? "it cannot be read" : "the file ends before the line \"end\"");
    return exit;
}

/* ---- the journal ---- */

/* Reads the header into `line`. */
static enum cmd_exit read_header(struct importing *importing)
{
    const char *defect = read_line(importing) ? export_decode(buf_slice(&importing->text), &importing->line)
                                              : "the file is empty";

    if (!defect && importing->line.kind != EXPORT_JOURNAL)
        defect = "the header is missing";
    if (!defect && importing->line.numbers[EXPORT_FORMAT] != EXPORT_VERSION)
        defect = "the export has a version that this program does not know";
    return defect ? wrong(importing, defect) : CMD_GOOD;
}

static enum cmd_exit begin_file(struct importing *importing, const struct cmd_call *call, const char *cluster)
{
    enum cmd_exit exit;

    importing->is_new = access(importing->path, F_OK) != 0 && errno == ENOENT;
    exit = journal_open_alone(call, cluster, false, &importing->store);
    if (exit != CMD_GOOD)
        return exit;
    if (sqlite_run_text(importing->store, "BEGIN IMMEDIATE; UPDATE claims SET count = count + 1") != SQLITE_OK)
        return failed(importing);
    for (int i = 0; i < PUTS; i++)
        if (sqlite3_prepare_v2(importing->store->db, sql[i], -1, &importing->statements[i], NULL) != SQLITE_OK)
            return failed(importing);
    return CMD_GOOD;
}

static enum cmd_exit begin_remote(struct importing *importing, const struct cmd_call *call, const char *cluster)
{
    uint64_t shards = 0;

    if (!cmd_number(call, "number-of-shards", &shards))
        return CMD_USAGE;
    if (shards == 0 || shards > INT32_MAX)
        return cmd_fail(CMD_USAGE, "an import into PostgreSQL needs --number-of-shards, as the nodes have it");
    importing->target = target_open(journal_url(call->arguments[0]), journal_schema(call), (uint32_t)shards);
    if (!importing->target || !target_begin(importing->target, slice_text(cluster)))
        return failed(importing);
    return CMD_GOOD;
}

/* Closes the journal; without `keeps` a file that was made is deleted. */
static void close_target(struct importing *importing, bool keeps)
{
    for (int i = 0; i < PUTS; i++)
        (void)sqlite3_finalize(importing->statements[i]); /* errors were noted */
    if (!importing->store)
        return;
    if (!keeps)
        (void)sqlite3_exec(importing->store->db, "ROLLBACK", NULL, NULL, NULL);
    backend_sqlite.close(importing->store);
    if (importing->is_new && !keeps) {
        journal_delete_beside(importing->path, "");
        journal_delete_beside(importing->path, "-turn");
    }
}

static enum cmd_exit import_all(struct importing *importing, const struct cmd_call *call)
{
    const char *cluster = cmd_value(call, "cluster");
    enum cmd_exit exit = read_header(importing);
    bool is_remote = journal_is_remote(call);
    char *name;

    if (exit != CMD_GOOD)
        return exit;
    name = cluster ? mem_text(cluster)
                   : mem_copy(importing->line.texts[EXPORT_CLUSTER].data, importing->line.texts[EXPORT_CLUSTER].size);
    exit = is_remote ? begin_remote(importing, call, name) : begin_file(importing, call, name);
    mem_free(name);
    if (exit == CMD_GOOD)
        exit = put_lines(importing);
    if (exit != CMD_GOOD || cmd_value(call, "dry-run"))
        return exit;
    if (is_remote ? !target_commit(importing->target)
                  : sqlite_run_text(importing->store, "COMMIT") != SQLITE_OK)
        exit = failed(importing);
    return exit;
}

enum cmd_exit cmd_journal_import(const struct cmd_call *call)
{
    struct importing importing = { .from = stdin, .path = call->arguments[0] };
    bool is_dry = cmd_value(call, "dry-run") != NULL;
    enum cmd_exit exit;

    if (call->count > 1 && !(importing.from = fopen(call->arguments[1], "re")))
        return cmd_fail(CMD_UNREACHABLE, "%s: %s", call->arguments[1], strerror(errno));
    exit = import_all(&importing, call);
    target_close(importing.target);
    close_target(&importing, exit == CMD_GOOD && !is_dry);
    if (journal_is_remote(call))
        importing.path = "journal in PostgreSQL";
    if (exit == CMD_GOOD && cmd_value(call, "json"))
        printf("{\"entities\":%" PRIu64 ",\"events\":%" PRIu64 ",\"snapshots\":%" PRIu64 ",\"imported\":%s}\n",
               importing.entities, importing.events, importing.snapshots, is_dry ? "false" : "true");
    else if (exit == CMD_GOOD)
        printf("%s: %" PRIu64 " entities, %" PRIu64 " events and %" PRIu64 " snapshots %s\n", importing.path,
               importing.entities, importing.events, importing.snapshots, is_dry ? "would be imported" : "imported");
    if (importing.from != stdin)
        (void)fclose(importing.from); /* it was only read */
    export_fini(&importing.line);
    buf_fini(&importing.text);
    buf_fini(&importing.id);
    return exit;
}
