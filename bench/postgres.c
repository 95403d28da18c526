/* Measures a journal in PostgreSQL, and plain SQL on the same server (the limit), in turns: rows 26
 * to 28.
 *
 * usage: postgres URL [DIRECTORY] [REPETITIONS] [SECONDS]
 *
 * Ours is a back end's append, replay or claim (face.h), and the whole path of a user's command
 * through a node (persist_entities.h). The limit inserts the same records into a table with the
 * columns of the journal's events, by a prepared statement on one connection, without shards and
 * fences. Groups of k events are of k entities. Entities of a node are in 100 shards. */
#define _GNU_SOURCE
#include <libpq-fe.h>
#include <sherd/postgres.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "face.h"
#include "host/backend_plugin.h"
#include "persist_entities.h"
#include "postgres/array.h"
#include "turns.h"

#define WAITS_MAX 200000
#define STREAM 100000 /* events of the long stream */
#define STREAM_GROUP 1000
#define LONERS 20000 /* entities of one event each */
#define LONERS_GROUP 500
#define FIRST_LONER 1000000
#define PIPELINE 64
#define CLAIMS 1000
#define COLUMNS 5

static const char *url;
static double seconds = 0.7;
static PGconn *raw;
static struct face face;
static volatile uint64_t sink;

static const struct goal at_least_80 = { ">=", 80, "%" };
static const struct goal at_most_130 = { "<=", 130, "%" };
static const struct goal at_least_25 = { ">=", 25, "%" };
static const struct goal at_most_1000_ms = { "<=", 1000, "ms" };
static const struct goal no_goal;

/* ---- plain SQL ---- */

static void expect(PGresult *result, ExecStatusType status)
{
    if (PQresultStatus(result) == status)
        return;
    (void)fprintf(stderr, "%s", PQerrorMessage(raw));
    exit(1);
}

static void run_sql(const char *sql)
{
    PGresult *result = PQexec(raw, sql);

    expect(result, PGRES_COMMAND_OK);
    PQclear(result);
}

static uint64_t ask_number(const char *sql)
{
    PGresult *result = PQexec(raw, sql);
    uint64_t number;

    expect(result, PGRES_TUPLES_OK);
    number = strtoull(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return number;
}

static void prepare(const char *name, const char *sql)
{
    PGresult *result = PQprepare(raw, name, sql, 0, NULL);

    expect(result, PGRES_COMMAND_OK);
    PQclear(result);
}

static void raw_open(void)
{
    raw = PQconnectdb(url);
    if (PQstatus(raw) != CONNECTION_OK) {
        (void)fprintf(stderr, "%s", PQerrorMessage(raw));
        exit(1);
    }
    run_sql("CREATE TABLE IF NOT EXISTS raw (entity bigint NOT NULL, seq bigint NOT NULL,"
            " shard bigint NOT NULL, pos bigint NOT NULL, at timestamptz NOT NULL,"
            " record bytea NOT NULL, PRIMARY KEY (entity, seq))");
    run_sql("CREATE TABLE IF NOT EXISTS raw_shard (id bigint PRIMARY KEY, epoch bigint NOT NULL)"
            " WITH (fillfactor = 25)");
    run_sql("ALTER TABLE raw ALTER COLUMN record SET STORAGE EXTERNAL");
    prepare("one", "INSERT INTO raw VALUES ($1::int8, $2::int8, $3::int8, $4::int8,"
                   " clock_timestamp(), $5::bytea)");
    prepare("many", "INSERT INTO raw SELECT entity, seq, shard, pos, clock_timestamp(), record"
                    " FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::bytea[])"
                    " AS r (entity, seq, shard, pos, record)");
    prepare("trip", "SELECT 1");
    prepare("scan", "SELECT seq, record FROM raw WHERE entity = $1::int8 ORDER BY seq");
    prepare("claim", "UPDATE raw_shard SET epoch = epoch + 1 WHERE id < $1::int8");
}

static void run_prepared(const char *name, const struct slice *parameters, int count,
                         ExecStatusType status)
{
    static const int formats[COLUMNS] = { 1, 1, 1, 1, 1 };
    const char *values[COLUMNS];
    int sizes[COLUMNS];
    PGresult *result;

    for (int i = 0; i < count; i++) {
        values[i] = (const char *)parameters[i].data;
        sizes[i] = (int)parameters[i].size;
    }
    result = PQexecPrepared(raw, name, count, values, sizes, formats, 1);
    expect(result, status);
    PQclear(result);
}

static uint64_t raw_entity = UINT64_C(1) << 40; /* no two measurements share one */

/* Inserts a row for each entity: as a single row, or by arrays. */
static void raw_append(uint64_t first, uint32_t count, uint64_t number)
{
    static struct pg_array columns[COLUMNS];
    static uint8_t numbers[COLUMNS - 1][8];
    uint8_t record[FACE_RECORD_MAX];
    uint32_t size = face_record(1000, number, record);
    struct slice parameters[COLUMNS];

    for (uint32_t i = 0; i < COLUMNS; i++)
        pg_array_clear(&columns[i], i == COLUMNS - 1);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t row[] = { first + i, number, i % FACE_SHARDS, number };

        for (uint32_t j = 0; j + 1 < COLUMNS; j++) {
            pg_array_add(&columns[j], row[j]);
            pg_put_int8(numbers[j], row[j]);
            parameters[j] = slice_of(numbers[j], 8);
        }
        pg_array_add_bytes(&columns[COLUMNS - 1], slice_of(record, size));
    }
    parameters[COLUMNS - 1] = slice_of(record, size);
    for (uint32_t j = 0; j < COLUMNS && count > 1; j++)
        parameters[j] = pg_array_value(&columns[j]);
    run_prepared(count == 1 ? "one" : "many", parameters, COLUMNS, PGRES_COMMAND_OK);
}

/* Rows of entities, by one statement each, in runs of one pipeline. Returns their number. */
static uint64_t raw_scan(uint64_t first, uint32_t count)
{
    uint64_t rows = 0;

    check(PQenterPipelineMode(raw) == 1);
    for (uint32_t at = 0; at < count; at += PIPELINE) {
        uint32_t run = count - at < PIPELINE ? count - at : PIPELINE;

        for (uint32_t i = 0; i < run; i++) {
            uint8_t number[8];
            const char *value = (const char *)number;
            int size = 8, format = 1;

            pg_put_int8(number, first + at + i);
            check(PQsendQueryPrepared(raw, "scan", 1, &value, &size, &format, 1) == 1);
        }
        check(PQpipelineSync(raw) == 1);
        for (uint32_t i = 0; i <= run; i++) {
            PGresult *result = PQgetResult(raw);

            expect(result, i < run ? PGRES_TUPLES_OK : PGRES_PIPELINE_SYNC);
            for (int row = 0; row < PQntuples(result); row++)
                sink += ((const uint8_t *)PQgetvalue(result, row, 1))[5];
            rows += (uint64_t)PQntuples(result);
            PQclear(result);
            if (i < run)
                check(PQgetResult(raw) == NULL);
        }
    }
    check(PQexitPipelineMode(raw) == 1);
    return rows;
}

/* ---- one turn ---- */

struct turn {
    double rate;     /* thousand events in a second */
    double p50, p99; /* us of a group */
    double wal;      /* bytes of the server's log for an event */
    double cpu;      /* us of the server's process for an event */
};

/* Processor time of a server's process, in ns. */
static uint64_t cpu_of(uint64_t process)
{
    char path[64];
    unsigned long long time = 0;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%llu/schedstat", (unsigned long long)process);
    file = fopen(path, "re");
    if (file) {
        if (fscanf(file, "%llu", &time) != 1)
            time = 0;
        (void)fclose(file); /* only read */
    }
    return time;
}

static uint64_t wal_now(void)
{
    return ask_number("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::int8");
}

/* Ours if it is one; else plain SQL. Half of the entities are in each group. */
static struct turn measure(bool is_ours, uint64_t process, uint32_t group)
{
    static uint64_t numbers[2];
    static uint32_t ours_from;
    static double waits[WAITS_MAX];
    struct turn turn = { 0 };
    uint64_t wal = wal_now(), cpu = cpu_of(process), events = 0, start = turns_now();
    int count = 0;

    numbers[0] = numbers[1] = 0;
    while (turns_since(start) < seconds && count < WAITS_MAX) {
        uint32_t half = (uint32_t)count % 2;
        uint64_t began = turns_now();

        numbers[half]++;
        if (is_ours)
            face_append(&face, ours_from + half * group, group, numbers[half]);
        else
            raw_append(raw_entity + half * group, group, numbers[half]);
        waits[count++] = turns_us(began);
        events += group;
    }
    turn.rate = (double)events / turns_since(start) / 1e3;
    turn.cpu = (double)(cpu_of(process) - cpu) / 1e3 / (double)events;
    turn.wal = (double)(wal_now() - wal) / (double)events;
    turn.p99 = turns_part(waits, count, 0.99);
    turn.p50 = turns_median(waits, count);
    if (is_ours)
        ours_from += 2 * group;
    else
        raw_entity += 2 * group;
    return turn;
}

static double trip_us(void)
{
    static double waits[1000];

    for (int i = 0; i < 1000; i++) {
        uint64_t began = turns_now();

        run_prepared("trip", NULL, 0, PGRES_TUPLES_OK);
        waits[i] = turns_us(began);
    }
    return turns_median(waits, 1000);
}

/* A node uses a schema that this program empties before. */
static double node_write(uint32_t entities, double *wait_us)
{
    char journal[500];

    run_sql("TRUNCATE sherd.event, sherd.entity, sherd.shard, sherd.writer, sherd.term, sherd.proof, sherd.snapshot");
    run_sql("UPDATE sherd.meta SET cluster = 'ClusterSystem'"); /* the node's */
    (void)snprintf(journal, sizeof journal, "postgres:%s", url); /* the open fails if it was cut off */
    return entities_write(journal, entities, seconds, wait_us);
}

/* ---- the rows ---- */

static uint64_t our_process(void)
{
    return ask_number("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'sherd:%'"
                      " ORDER BY backend_start LIMIT 1");
}

static void one_row(int count, const char *sync_path)
{
    double ours[4][REPS_MAX], limit[4][REPS_MAX], trips[REPS_MAX], syncs[REPS_MAX];
    uint64_t process = our_process(), raw_process = (uint64_t)PQbackendPID(raw);

    for (int i = -1; i < count; i++) { /* the first round warms up */
        int at = i < 0 ? 0 : i;
        struct turn one = measure(false, raw_process, 1);
        struct turn our = measure(true, process, 1);

        trips[at] = trip_us();
        syncs[at] = turns_sync_us(sync_path);
        ours[0][at] = our.p50, limit[0][at] = one.p50;
        ours[1][at] = our.p99, limit[1][at] = one.p99;
        ours[2][at] = our.wal, limit[2][at] = one.wal;
        ours[3][at] = our.cpu, limit[3][at] = one.cpu;
    }
    turns_tell("26", "one append, p50, one-row INSERT", "us", ours[0], limit[0], count, at_most_130);
    turns_tell("26", "one append, p99, one-row INSERT", "us", ours[1], limit[1], count, no_goal);
    turns_tell("26", "one append, p50, round trip", "us", ours[0], trips, count, no_goal);
    turns_tell("26", "one append, p50, fdatasync of 4 KiB", "us", ours[0], syncs, count, no_goal);
    turns_tell("26", "log of one append", "bytes", ours[2], limit[2], count, no_goal);
    turns_tell("26", "processor time of one append", "us", ours[3], limit[3], count, no_goal);
}

static void group_rows(int count)
{
    static const struct {
        uint32_t events, shards;
    } groups[] = { { 10, 1 }, { 10, 10 }, { 100, 10 }, { 100, 100 }, { 1000, 100 } };
    double ours[3][REPS_MAX], limit[3][REPS_MAX];
    uint64_t process = our_process(), raw_process = (uint64_t)PQbackendPID(raw);
    char of[40], what[64];

    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        face.shards = groups[g].shards;
        for (int i = -1; i < count; i++) {
            int at = i < 0 ? 0 : i;
            struct turn many = measure(false, raw_process, groups[g].events);
            struct turn our = measure(true, process, groups[g].events);

            ours[0][at] = our.rate, limit[0][at] = many.rate;
            ours[1][at] = our.wal, limit[1][at] = many.wal;
            ours[2][at] = our.cpu, limit[2][at] = many.cpu;
        }
        (void)snprintf(of, sizeof of, "groups of %u in %u shards", groups[g].events,
                       groups[g].shards); /* fits, as the next */
        (void)snprintf(what, sizeof what, "events, %s", of);
        turns_tell("26", what, "k/s", ours[0], limit[0], count, at_least_80);
        (void)snprintf(what, sizeof what, "log of an event, %s", of);
        turns_tell("26", what, "bytes", ours[1], limit[1], count, no_goal);
        (void)snprintf(what, sizeof what, "processor time, %s", of);
        turns_tell("26", what, "us", ours[2], limit[2], count, no_goal);
    }
    face.shards = FACE_SHARDS;
}

/* After the other rows, as it empties the journal. */
static void node_rows(int count)
{
    static const uint32_t groups[] = { 10, 100, 1000 };
    double ours[REPS_MAX], limit[REPS_MAX], rates[REPS_MAX], raw_rates[REPS_MAX];
    uint64_t raw_process = (uint64_t)PQbackendPID(raw);
    char what[64];

    for (int i = -1; i < count; i++) {
        int at = i < 0 ? 0 : i;
        struct turn one = measure(false, raw_process, 1);

        limit[at] = one.p50;
        raw_rates[at] = one.rate;
        rates[at] = node_write(1, &ours[at]);
    }
    turns_tell("26", "one persist, p50, one-row INSERT", "us", ours, limit, count, at_most_130);
    turns_tell("26", "events, one entity alone", "k/s", rates, raw_rates, count, at_least_80);
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        for (int i = 0; i < count; i++) {
            limit[i] = measure(false, raw_process, groups[g]).rate;
            ours[i] = node_write(2 * groups[g], NULL);
        }
        (void)snprintf(what, sizeof what, "events of entities, groups of %u", groups[g]); /* fits */
        turns_tell("26", what, "k/s", ours, limit, count, at_least_80);
    }
}

static void fill(void)
{
    for (uint64_t from = 1; from < STREAM; from += STREAM_GROUP)
        face_extend(&face, FIRST_LONER - 1, from, STREAM_GROUP);
    for (uint32_t at = 0; at < LONERS; at += LONERS_GROUP)
        face_append(&face, FIRST_LONER + at, LONERS_GROUP, 1);
    run_sql("INSERT INTO raw SELECT (1::bigint << 41) + split_part(convert_from(e.pid, 'UTF8'), '|', 2)::bigint,"
            " ev.seq, ev.shard, ev.pos, ev.at, ev.record"
            " FROM sherd.event ev JOIN sherd.entity e ON e.id = ev.entity"
            " WHERE length(e.pid) = 13 OR e.pid = 'Bench|999999'");
    run_sql("VACUUM ANALYZE raw");
    run_sql("VACUUM ANALYZE sherd.event");
    run_sql("VACUUM ANALYZE sherd.entity");
}

static void read_rows(int count)
{
    double ours[2][REPS_MAX], limit[2][REPS_MAX];
    const uint64_t first = (UINT64_C(1) << 41) + FIRST_LONER;

    fill();
    for (int i = -1; i < count; i++) {
        int at = i < 0 ? 0 : i;
        uint64_t start = turns_now();

        check(raw_scan(first - 1, 1) == STREAM);
        limit[0][at] = STREAM / turns_since(start) / 1e6;
        start = turns_now();
        check(face_replay(&face, FIRST_LONER - 1, 1) == STREAM);
        ours[0][at] = STREAM / turns_since(start) / 1e6;
        start = turns_now();
        check(raw_scan(first, LONERS) == LONERS);
        limit[1][at] = LONERS / turns_since(start) / 1e3;
        start = turns_now();
        check(face_replay(&face, FIRST_LONER, LONERS) == LONERS);
        ours[1][at] = LONERS / turns_since(start) / 1e3;
    }
    turns_tell("27", "replay of a stream of 100,000", "M/s", ours[0], limit[0], count, at_least_25);
    turns_tell("27", "entities of one event read", "k/s", ours[1], limit[1], count, at_least_25);
}

static void claim_rows(int count)
{
    double ours[2][REPS_MAX], limit[2][REPS_MAX];
    static uint64_t epoch = 10;
    uint8_t shards[8];
    struct slice parameter = slice_of(shards, 8);

    run_sql("INSERT INTO raw_shard SELECT i, 1 FROM generate_series(0, 999) AS i"
            " ON CONFLICT DO NOTHING");
    for (int i = -1; i < count; i++) {
        int at = i < 0 ? 0 : i;
        uint64_t start = turns_now();

        pg_put_int8(shards, CLAIMS);
        run_prepared("claim", &parameter, 1, PGRES_COMMAND_OK);
        limit[0][at] = turns_us(start) / 1e3;
        start = turns_now();
        face_claim(&face, CLAIMS, ++epoch);
        ours[0][at] = turns_us(start) / 1e3;
        start = turns_now();
        pg_put_int8(shards, 1);
        run_prepared("claim", &parameter, 1, PGRES_COMMAND_OK);
        check(raw_scan(raw_entity - 1, 1) > 0);
        limit[1][at] = turns_us(start);
        start = turns_now();
        face_claim(&face, 1, ++epoch);
        check(face_replay(&face, FIRST_LONER, 1) == 1);
        ours[1][at] = turns_us(start);
    }
    turns_tell("28", "claim of 1000 shards, PostgreSQL", "ms", ours[0], limit[0], count, at_most_1000_ms);
    turns_tell("28", "claim and replay, PostgreSQL", "us", ours[1], limit[1], count, no_goal);
}

int main(int argc, char **argv)
{
    int count = argc > 3 ? atoi(argv[3]) : 5;
    bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
    char path[400];

    if (argc > 4)
        seconds = atof(argv[4]);
    if (argc < 2 || argc > 5 || count < 1 || count > REPS_MAX || seconds <= 0 || argv[1][0] == '-') {
        (void)fprintf(help ? stdout : stderr,
                      "usage: postgres URL [DIRECTORY] [REPETITIONS] [SECONDS]\n");
        return help ? 0 : 2;
    }
    url = argv[1];
    (void)snprintf(path, sizeof path, "%s/sherd-bench-sync", argc > 2 ? argv[2] : "/tmp");
    (void)printf("100-byte events, %d repetitions of %.1f s in turns, medians "
                 "(lowest..highest of ours / limit)\n", count, seconds);
    check(sherd_postgres_register() == 0);
    raw_open();
    face_open(&face, &backend_plugin, backend_plugin_find("postgres"), url);
    face_claim(&face, FACE_SHARDS, 1);
    one_row(count, path);
    group_rows(count);
    read_rows(count);
    claim_rows(count);
    face_close(&face);
    node_rows(count);
    PQfinish(raw);
    return 0;
}
