/* Reads a journal in PostgreSQL: the session is read-only, and each call is one statement. */
#include "sherd-journal-remote.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "pgdriver/url.h"
#include "pgdriver/schema_001.h" /* generated from postgres/schema/001.sql */
#include "postgres/sql.h"

#define VERSION_MAX 2
#define PAGE_BYTES "1048576"
#define PARAMETERS 5
#define KEYWORDS 12

struct postgres_journal {
    struct journal base;
    PGconn *connection;
    const char *schema;
};

static struct postgres_journal *own_of(struct journal *journal)
{
    return (struct postgres_journal *)journal;
}

/* Keeps the first line of a text. False. */
static bool refuse(struct postgres_journal *own, const char *text)
{
    size_t size = strcspn(text, "\n");

    (void)snprintf(own->base.error, sizeof own->base.error, "journal in PostgreSQL: %.*s",
                   (int)(size < 150 ? size : 150), text); /* fits */
    return false;
}

/* ---- statements ---- */

static void put_number(uint8_t bytes[8], uint64_t number)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> (56 - 8 * i));
}

struct slice journal_remote_cell(const PGresult *result, int row, int column)
{
    return slice_of(PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column));
}

uint64_t journal_remote_number(const PGresult *result, int row, int column)
{
    struct slice bytes = journal_remote_cell(result, row, column);
    uint64_t value = 0;

    for (size_t i = 0; i < bytes.size && i < 8; i++)
        value = value << 8 | bytes.data[i];
    return value;
}

PGresult *journal_remote_run(struct journal *journal, const char *text, const struct slice *parameters, int count,
                             int columns)
{
    struct postgres_journal *own = own_of(journal);
    const char *values[PARAMETERS];
    int sizes[PARAMETERS], formats[PARAMETERS];
    struct buf sql = { 0 };
    PGresult *result;

    for (int i = 0; i < count; i++) {
        values[i] = parameters[i].size ? (const char *)parameters[i].data : "";
        sizes[i] = (int)parameters[i].size;
        formats[i] = 1;
    }
    pg_sql_fill(&sql, text, own->schema);
    buf_put_u8(&sql, 0);
    result = PQexecParams(own->connection, (const char *)sql.data, count, NULL, values, sizes, formats, 1);
    buf_fini(&sql);
    if (PQresultStatus(result) == PGRES_TUPLES_OK && PQnfields(result) >= columns)
        return result;
    (void)refuse(own, PQerrorMessage(own->connection));
    PQclear(result);
    return NULL;
}

/* ---- reading ---- */

static bool read_info(struct journal *journal, struct journal_info *info)
{
    static const char text[] =
        "SELECT m.store_id::text, m.cluster, m.schema::int8, (SELECT count(*) FROM @entity),"
        " (SELECT count(*) FROM @event), (pg_total_relation_size('@event') + pg_total_relation_size('@entity')"
        " + pg_total_relation_size('@snapshot'))::int8,"
        " (SELECT count(*) FROM pg_stat_activity a WHERE a.datname = current_database()"
        " AND starts_with(a.application_name, 'sherd:' || left(m.cluster, 20) || ':')),"
        " (SELECT count(*) FROM @snapshot) FROM @meta m";
    PGresult *result = journal_remote_run(journal, text, NULL, 0, 8);
    bool good = result && PQntuples(result) == 1;

    if (result && !good)
        (void)refuse(own_of(journal), "no node has used it yet");
    if (good) {
        struct slice store = journal_remote_cell(result, 0, 0);

        (void)snprintf(info->kind, sizeof info->kind, "postgres");
        (void)snprintf(info->store, sizeof info->store, "%.*s", (int)store.size,
                       (const char *)store.data); /* fits */
        buf_put_slice(&info->cluster, journal_remote_cell(result, 0, 1));
        info->version = (int64_t)journal_remote_number(result, 0, 2);
        info->entities = journal_remote_number(result, 0, 3);
        info->events = journal_remote_number(result, 0, 4);
        info->bytes = journal_remote_number(result, 0, 5);
        info->users = journal_remote_number(result, 0, 6) > 0 ? 1 : -1; /* a node may be cut off for a while */
        info->snapshots = journal_remote_number(result, 0, 7);
    }
    PQclear(result);
    return good;
}

static bool read_ids(struct journal *journal, struct slice prefix, struct slice after, uint64_t limit,
                     void (*found)(void *context, const struct journal_id *id), void *context)
{
    static const char text[] =
        "SELECT pid, coalesce((SELECT min(seq) FROM @event WHERE entity = id), 0),"
        " coalesce((SELECT max(seq) FROM @event WHERE entity = id), 0),"
        " (SELECT count(*) FROM @snapshot WHERE entity = id)"
        " FROM @entity WHERE pid >= $1::bytea AND pid > $2::bytea ORDER BY pid LIMIT $3::int8";
    uint8_t bytes[8];
    struct slice parameters[] = { prefix, after, { bytes, 8 } };
    PGresult *result;

    put_number(bytes, limit);
    result = journal_remote_run(journal, text, parameters, 3, 4);
    for (int i = 0; result && i < PQntuples(result); i++) {
        struct slice id = journal_remote_cell(result, i, 0);

        if (id.size < prefix.size || !slice_equal(slice_of(id.data, prefix.size), prefix))
            break; /* the order puts all others with the prefix before */
        found(context, &(struct journal_id){ id, journal_remote_number(result, i, 1), journal_remote_number(result, i, 2),
                                             journal_remote_number(result, i, 3) });
    }
    PQclear(result);
    return result != NULL;
}

static bool read_events(struct journal *journal, struct slice id, uint64_t from, journal_found found,
                        void *context)
{
    static const char text[] =
        "SELECT seq, record FROM (SELECT seq, record, row_number() OVER (ORDER BY seq) AS n,"
        " sum(octet_length(record)) OVER (ORDER BY seq) AS size"
        " FROM (SELECT ev.seq, ev.record FROM @entity e JOIN @event ev ON ev.entity = e.id"
        " WHERE e.pid = $1::bytea AND ev.seq >= $2::int8 ORDER BY ev.seq LIMIT $3::int8) found) counted"
        " WHERE n = 1 OR size <= " PAGE_BYTES " ORDER BY seq";
    uint8_t first[8], most[8];
    struct slice parameters[] = { id, { first, 8 }, { most, 8 } };
    PGresult *result;

    put_number(first, from > INT64_MAX ? INT64_MAX : from);
    put_number(most, JOURNAL_PAGE);
    result = journal_remote_run(journal, text, parameters, 3, 2);
    for (int i = 0; result && i < PQntuples(result); i++)
        found(context, journal_remote_number(result, i, 0), journal_remote_cell(result, i, 1));
    PQclear(result);
    return result != NULL;
}

static bool read_snapshot(struct journal *journal, struct slice id, uint64_t from, journal_found found,
                          void *context)
{
    static const char text[] = "SELECT s.seq, s.record FROM @entity e JOIN @snapshot s ON s.entity = e.id"
                               " WHERE e.pid = $1::bytea AND s.seq >= $2::int8 ORDER BY s.seq LIMIT 1";
    uint8_t first[8];
    struct slice parameters[] = { id, { first, 8 } };
    PGresult *result;

    put_number(first, from > INT64_MAX ? INT64_MAX : from);
    result = journal_remote_run(journal, text, parameters, 2, 2);
    for (int i = 0; result && i < PQntuples(result); i++)
        found(context, journal_remote_number(result, i, 0), journal_remote_cell(result, i, 1));
    PQclear(result);
    return result != NULL;
}

static bool hold(struct journal *journal, bool begins)
{
    return journal_remote_execute(journal, begins ? "BEGIN ISOLATION LEVEL REPEATABLE READ" : "COMMIT");
}

static bool read_terms(struct journal *journal, void (*found)(void *context, struct slice type, uint64_t term),
                       void *context)
{
    PGresult *result = journal_remote_run(journal, "SELECT type, last FROM @term ORDER BY type", NULL, 0, 2);

    for (int i = 0; result && i < PQntuples(result); i++)
        found(context, journal_remote_cell(result, i, 0), journal_remote_number(result, i, 1));
    PQclear(result);
    return result != NULL;
}

static bool read_fences(struct journal *journal,
                        void (*found)(void *context, struct slice type, struct slice shard, struct fence fence),
                        void *context)
{
    PGresult *result = journal_remote_run(journal, "SELECT type, shard, term, epoch FROM @shard ORDER BY type, shard",
                           NULL, 0, 4);

    for (int i = 0; result && i < PQntuples(result); i++)
        found(context, journal_remote_cell(result, i, 0), journal_remote_cell(result, i, 1),
              (struct fence){ journal_remote_number(result, i, 2), journal_remote_number(result, i, 3) });
    PQclear(result);
    return result != NULL;
}

/* The highest position of each writer's events. */
#define POSITIONS "(SELECT writer, max(pos) AS pos FROM @event GROUP BY writer) m"
#define NAME "convert_to('writer ' || w.id, 'UTF8')"

/* Compares the tables with each other: what a node relies on when it writes. */
static bool read_faults(struct journal *journal, void (*found)(void *context, struct slice part, const char *why),
                        void *context)
{
    static const struct {
        const char *text, *why;
    } checks[] = {
        { "SELECT " NAME " FROM @writer w JOIN " POSITIONS " ON m.writer = w.id WHERE w.last < m.pos",
          "the writer's position is below that of an event" },
        /* Nodes never delete an entity's last event, so a writer's last one is there, unless another one has
         * a shard of it by now, or the entity went on in another shard under another number of shards. */
        { "SELECT " NAME " FROM @writer w LEFT JOIN " POSITIONS " ON m.writer = w.id"
          " WHERE w.last > coalesce(m.pos, 0) AND w.taken = 0"
          " AND NOT EXISTS (SELECT 1 FROM @shard s JOIN @entity e ON e.shard = s.id JOIN @event ev ON ev.entity = e.id"
          " WHERE s.claim = w.id AND ev.shard <> s.id)",
          "the writer's position is above that of its last event: its newest events are missing" },
        { "SELECT DISTINCT convert_to('writer ' || writer, 'UTF8') FROM @event ev"
          " WHERE NOT EXISTS (SELECT 1 FROM @writer w WHERE w.id = ev.writer)", "events without a row of their writer" },
        { "SELECT DISTINCT convert_to(entity::text, 'UTF8') FROM @event ev"
          " WHERE NOT EXISTS (SELECT 1 FROM @entity e WHERE e.id = ev.entity)", "events without a row of their entity" },
        { "SELECT DISTINCT convert_to(entity::text, 'UTF8') FROM @snapshot s"
          " WHERE NOT EXISTS (SELECT 1 FROM @entity e WHERE e.id = s.entity)", "snapshots without a row of their entity" },
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        PGresult *result = journal_remote_run(journal, checks[i].text, NULL, 0, 1);

        for (int row = 0; result && row < PQntuples(result); row++)
            found(context, journal_remote_cell(result, row, 0), checks[i].why);
        PQclear(result);
        if (!result)
            return false;
    }
    return true;
}

static bool read_schema(struct journal *journal, void (*found)(void *context, const char *sql), void *context)
{
    struct buf sql = { 0 };

    pg_sql_fill(&sql, schema_001, own_of(journal)->schema);
    buf_put_u8(&sql, 0);
    found(context, (const char *)sql.data);
    buf_fini(&sql);
    return true;
}

/* ---- changing ---- */

bool journal_remote_execute(struct journal *journal, const char *text)
{
    struct postgres_journal *own = own_of(journal);
    struct buf sql = { 0 };
    PGresult *result;
    bool good;

    pg_sql_fill(&sql, text, own->schema);
    buf_put_u8(&sql, 0);
    result = PQexec(own->connection, (const char *)sql.data);
    good = PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK ||
           refuse(own, PQerrorMessage(own->connection));
    PQclear(result);
    buf_fini(&sql);
    return good;
}

/* Takes the claim of a changed shard away. A node that lives, without a session that change_all could see, is
 * fenced at its next write, and its successor reads anew. */
#define UNCLAIM                                                                                          \
    "WITH e AS (SELECT id, shard FROM @entity WHERE pid = $1::bytea),"                                   \
    " s AS (SELECT id, claim FROM @shard WHERE id IN (SELECT shard FROM e"                                \
    " UNION (SELECT v.shard FROM @event v JOIN e ON v.entity = e.id ORDER BY v.seq DESC LIMIT 1))),"     \
    " freed AS (UPDATE @shard SET claim = 0, owner = 'sherd journal' WHERE id IN (SELECT id FROM s)),"   \
    " ended AS (UPDATE @writer SET generation = " PG_RAISED("generation") ", taken = taken + 1"                       \
    " WHERE id IN (SELECT claim FROM s)),"

static bool change_one(struct journal *journal, const struct journal_change *change)
{
    static const struct {
        const char *text;
        int parameters;
    } texts[] = {
        [JOURNAL_DELETE_EVENTS] = { UNCLAIM " gone AS (DELETE FROM @event WHERE entity = (SELECT id FROM e)"
                                    " RETURNING 1) SELECT count(*) FROM gone", 1 },
        [JOURNAL_DELETE_SNAPSHOTS] = { UNCLAIM " gone AS (DELETE FROM @snapshot WHERE entity = (SELECT id FROM e)"
                                       " AND seq BETWEEN $2::int8 AND $3::int8 RETURNING 1)"
                                       " SELECT count(*) FROM gone", 3 },
        [JOURNAL_PUT_SNAPSHOT] = { UNCLAIM " put AS (INSERT INTO @snapshot (entity, seq, at, record)"
                                   " SELECT id, $2::int8, clock_timestamp(), $4::bytea FROM e"
                                   " WHERE $3::int8 > 0 ON CONFLICT (entity, seq)"
                                   " DO UPDATE SET record = excluded.record RETURNING 1) SELECT count(*) FROM put", 4 },
    };
    uint8_t from[8], to[8];
    struct slice parameters[] = { buf_slice(&change->id), { from, 8 }, { to, 8 }, buf_slice(&change->bytes) };
    PGresult *result;

    put_number(from, change->from);
    put_number(to, change->to);
    result = journal_remote_run(journal, texts[change->kind].text, parameters, texts[change->kind].parameters, 1);
    PQclear(result);
    return result != NULL;
}

static bool change_all(struct journal *journal, const struct journal_changes *changes)
{
    struct postgres_journal *own = own_of(journal);
    struct journal_info info = { .version = 0 };
    /* No node can claim a shard or write events until the transaction ends: both change a row of a writer.
     * Snapshots lock the row of their shard. */
    bool good = journal_remote_execute(journal, "BEGIN READ WRITE; LOCK TABLE @shard, @writer IN EXCLUSIVE MODE") &&
                read_info(journal, &info);

    buf_fini(&info.cluster);
    if (good && info.users == 1)
        good = refuse(own, "nodes are connected; stop all nodes that use it");
    for (uint32_t i = 0; i < changes->count && good; i++)
        good = change_one(journal, &changes->items[i]);
    if (good)
        return journal_remote_execute(journal, "COMMIT");
    PQclear(PQexec(own->connection, "ROLLBACK")); /* the first error counts */
    journal->is_used = info.users == 1;
    return false;
}

static bool migrate(struct journal *journal)
{
    /* As a node, under the same lock. */
    return journal_remote_execute(journal, "BEGIN READ WRITE; SELECT pg_advisory_xact_lock(7307481216);"
                                           " SET LOCAL client_min_messages = warning") &&
           journal_remote_execute(journal, schema_001) && journal_remote_execute(journal, "COMMIT");
}

static void close_journal(struct journal *journal)
{
    struct postgres_journal *own = own_of(journal);

    PQfinish(own->connection);
    mem_free(own);
}

static const struct journal_ops postgres_ops = {
    .info = read_info,
    .ids = read_ids,
    .events = read_events,
    .snapshot = read_snapshot,
    .hold = hold,
    .terms = read_terms,
    .fences = read_fences,
    .faults = read_faults,
    .schema = read_schema,
    .migrate = migrate,
    .change = change_all,
    .close = close_journal,
};

/* ---- connecting ---- */

/* Keeps libpq's text without the password, which it might quote. False. */
static bool refuse_hidden(struct postgres_journal *own, const char *text, const char *password)
{
    struct buf line = { 0 };

    pg_url_hide(&line, text, password);
    buf_put_u8(&line, 0);
    (void)refuse(own, (const char *)line.data);
    buf_fini(&line);
    return false;
}

static bool connect_to(struct postgres_journal *own, const char *url)
{
    /* Nodes are known by names that begin with "sherd:". */
    const char *keywords[KEYWORDS] = { "dbname", "application_name", "client_encoding", "connect_timeout",
                                       "gssencmode", "options" };
    const char *values[KEYWORDS] = { url, "sherd journal", "UTF8", "5", "disable",
                                     "-c default_transaction_read_only=on -c search_path=pg_catalog"
                                     " -c statement_timeout=600000" };
    char fault[PG_ERROR_SIZE];
    struct pg_url_facts facts;
    PQconninfoOption *parsed;
    bool good;

    if (!pg_url_check(url, &facts, fault))
        return refuse(own, fault);
    parsed = PQconninfoParse(url, NULL);
    check(parsed != NULL); /* pg_url_check */
    /* Nothing is sent before it is known which certificates are wanted. */
    own->connection = PQconnectStartParams(keywords, values, 1);
    if (PQstatus(own->connection) != CONNECTION_BAD) {
        bool must_verify = pg_url_must_verify(parsed, own->connection);

        if (must_verify) {
            keywords[6] = "sslmode";
            values[6] = "verify-full";
        }
        PQfinish(own->connection);
        own->connection = PQconnectdbParams(keywords, values, 1);
    }
    good = PQstatus(own->connection) == CONNECTION_OK ||
           refuse_hidden(own, PQerrorMessage(own->connection), pg_url_value(parsed, "password"));
    PQconninfoFree(parsed);
    return good;
}

/* Nothing upgrades tables of version 1. */
static bool refuse_old(struct postgres_journal *own)
{
    PGresult *result = journal_remote_run(
        &own->base, "SELECT to_regclass('@meta') IS NOT NULL AND to_regclass('@writer') IS NULL", NULL, 0, 1);
    bool good = result && !journal_remote_cell(result, 0, 0).data[0];

    PQclear(result);
    return good || (result && refuse(own, PG_TABLES_OLD));
}

static bool check_version(struct postgres_journal *own)
{
    PGresult *result = journal_remote_run(&own->base, "SELECT min_reader::int8 FROM @meta", NULL, 0, 1);
    bool good = result && (!PQntuples(result) || journal_remote_number(result, 0, 0) <= VERSION_MAX);

    if (result && !good)
        (void)refuse(own, "its tables need a newer program");
    PQclear(result);
    if (!good)
        return false;
    /* The newest table is the last one that 001.sql makes. */
    result = journal_remote_run(&own->base, "SELECT to_regclass('@snapshot') IS NULL", NULL, 0, 1);
    own->base.is_old = own->base.must_migrate = result && journal_remote_cell(result, 0, 0).data[0] != 0;
    PQclear(result);
    return result != NULL;
}

const char *const journal_remote_schema = schema_001;

struct journal *journal_remote_connect(const char *url, const char *schema, bool *is_connected)
{
    struct postgres_journal *own = mem_alloc(sizeof *own);

    own->base.ops = &postgres_ops;
    own->schema = schema;
    *is_connected = false;
    if (!pg_schema_is_valid(schema))
        (void)refuse(own, "--schema: use lower-case letters, digits and _, at most 63");
    else
        *is_connected = connect_to(own, url) && refuse_old(own);
    return &own->base;
}

struct journal *journal_open_postgres(const char *url, const char *schema, char *error)
{
    bool is_connected;
    struct journal *journal = journal_remote_connect(url, schema, &is_connected);

    if (is_connected && check_version(own_of(journal)))
        return journal;
    memcpy(error, journal->error, BACKEND_ERROR_MAX);
    close_journal(journal);
    return NULL;
}
