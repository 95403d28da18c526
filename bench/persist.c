/* Measures how fast persistent entities store and recover events, and SQLite alone with the same
 * group size (the limit), in turns: rows 14, 15 and 28.
 *
 * usage: persist [DIRECTORY] [REPETITIONS] [SECONDS]
 *
 * Ours is the whole path of a user's command: an actor tells an entity, which persists an event and
 * answers; the answer leaves after the event is durable (persist_entities.h). During the commit of
 * a group of k events the next group is collected, because 2 k entities have a command underway.
 * The limit inserts k events with integer keys and commits. Both have the settings of the SQLite
 * backend: synchronous=FULL, a write-ahead log of the same size that was filled before, and the
 * same cache. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "face.h"
#include "host/backend_sqlite.h"
#include "persist_entities.h"
#include "turns.h"

#define ENTITIES 1000 /* for the scan */
#define EVENTS_EACH 200 /* for the scan */
#define LONERS 20000    /* entities of one event each */
#define CLAIMS 1000
#define WRITERS_MAX 2000

static const char *directory = "/tmp";
static double seconds = 0.7;
static uint8_t event[EVENT_SIZE];
static volatile uint64_t sink;

static const struct goal at_most_130 = { "<=", 130, "%" };
static const struct goal at_least_80 = { ">=", 80, "%" };
static const struct goal at_least_30 = { ">=", 30, "%" };
static const struct goal at_least_25 = { ">=", 25, "%" };
static const struct goal at_most_1000_ms = { "<=", 1000, "ms" };

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 11;
}

static const char *file_path(const char *name, const char *end)
{
    static char path[4][400];
    static unsigned at;

    at = (at + 1) % 4;
    (void)snprintf(path[at], sizeof path[at], "%s/sherd-bench-%s%s", directory,
                   name, end); /* the open fails if it was cut off */
    return path[at];
}

/* As a node's options name it. */
static const char *journal_name(const char *name)
{
    static char journal[500];

    (void)snprintf(journal, sizeof journal, "sqlite:%s", file_path(name, "")); /* fits */
    return journal;
}

static void drop_file(const char *name)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-turn" };

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        (void)unlink(file_path(name, ends[i])); /* the file may not exist */
}

/* --- the limit: SQLite alone --- */

struct raw {
    sqlite3 *db;
    sqlite3_stmt *insert;
};

static void run_sql(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        (void)fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
        exit(1);
    }
}

/* Fills the log up to the size at which it is reset, as the SQLite backend does. Then a sync need
 * not store a new file size. */
static void fill_log(const char *path)
{
    static uint8_t zeros[4096 + 24];
    int file = open(path, O_RDWR | O_CLOEXEC);

    check(file >= 0);
    for (off_t i = 0; i < BACKEND_WAL_PAGES; i++)
        if (lseek(file, 0, SEEK_END) < (i + 1) * (off_t)sizeof zeros)
            check(write(file, zeros, sizeof zeros) == sizeof zeros);
    check(fdatasync(file) == 0);
    check(close(file) == 0);
}

static struct raw raw_open(const char *name)
{
    struct raw raw = { 0 };

    drop_file(name);
    check(sqlite3_open_v2(file_path(name, ""), &raw.db,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                              SQLITE_OPEN_NOMUTEX,
                          NULL) == SQLITE_OK);
    run_sql(raw.db, "PRAGMA journal_mode = WAL");
    run_sql(raw.db, "PRAGMA synchronous = FULL");
    run_sql(raw.db, "PRAGMA cache_size = -32768");
    check(sqlite3_wal_autocheckpoint(raw.db, BACKEND_WAL_PAGES) == SQLITE_OK);
    run_sql(raw.db, "CREATE TABLE event(entity INTEGER, seq INTEGER,"
                    " data BLOB, PRIMARY KEY(entity, seq)) WITHOUT ROWID");
    run_sql(raw.db, "BEGIN IMMEDIATE");
    fill_log(file_path(name, "-wal"));
    run_sql(raw.db, "ROLLBACK");
    check(sqlite3_prepare_v2(raw.db, "INSERT INTO event VALUES(?, ?, ?)", -1,
                             &raw.insert, NULL) == SQLITE_OK);
    return raw;
}

static void raw_close(struct raw *raw, const char *name)
{
    sqlite3_finalize(raw->insert);
    sqlite3_close(raw->db);
    if (name)
        drop_file(name);
}

static void raw_put(struct raw *raw, int64_t entity, int64_t seq)
{
    sqlite3_bind_int64(raw->insert, 1, entity);
    sqlite3_bind_int64(raw->insert, 2, seq);
    sqlite3_bind_blob(raw->insert, 3, event, EVENT_SIZE, SQLITE_STATIC);
    check(sqlite3_step(raw->insert) == SQLITE_DONE);
    sqlite3_reset(raw->insert);
}

/* Returns thousand events in a second, and the median time of a commit in us. */
static double raw_write(uint32_t group, uint32_t entities, double *wait_us)
{
    struct raw raw = raw_open("raw");
    static int64_t seqs[WRITERS_MAX];
    static double waits[200000];
    uint64_t random = 88172645463325252u;
    uint64_t start = turns_now();
    uint64_t events = 0;
    int commits = 0;
    double rate;

    memset(seqs, 0, sizeof seqs);
    while (turns_since(start) < seconds) {
        uint64_t began = turns_now();

        run_sql(raw.db, "BEGIN IMMEDIATE");
        for (uint32_t i = 0; i < group; i++) {
            uint64_t entity = next_random(&random) % entities;

            raw_put(&raw, (int64_t)entity, ++seqs[entity]);
        }
        run_sql(raw.db, "COMMIT");
        events += group;
        if (commits < 200000)
            waits[commits++] = turns_us(began);
    }
    rate = (double)events / turns_since(start) / 1e3;
    *wait_us = turns_median(waits, commits);
    raw_close(&raw, "raw");
    return rate;
}

static void raw_fill(struct raw *raw, int64_t entities, int64_t events)
{
    for (int64_t seq = 1; seq <= events; seq++) {
        run_sql(raw->db, "BEGIN IMMEDIATE");
        for (int64_t entity = 0; entity < entities; entity++)
            raw_put(raw, entity, seq);
        run_sql(raw->db, "COMMIT");
    }
}

/* Returns million events in a second. */
static double raw_scan(struct raw *raw)
{
    sqlite3_stmt *query;
    uint64_t start = turns_now();
    uint64_t events = 0;

    check(sqlite3_prepare_v2(raw->db, "SELECT entity, seq, data FROM event",
                             -1, &query, NULL) == SQLITE_OK);
    while (sqlite3_step(query) == SQLITE_ROW) {
        sink += ((const uint8_t *)sqlite3_column_blob(query, 2))[5];
        events++;
    }
    sqlite3_finalize(query);
    check(events == (uint64_t)ENTITIES * EVENTS_EACH);
    return (double)events / turns_since(start) / 1e6;
}

/* Returns thousand entities in a second, with one event each, in the order of entity_at. */
static double raw_recover(struct raw *raw)
{
    sqlite3_stmt *query;
    uint64_t start = turns_now();

    check(sqlite3_prepare_v2(raw->db,
                             "SELECT seq, data FROM event WHERE entity = ?"
                             " AND seq >= 1 ORDER BY seq",
                             -1, &query, NULL) == SQLITE_OK);
    for (uint32_t i = 0; i < LONERS; i++) {
        sqlite3_bind_int64(query, 1, entity_at(i, LONERS));
        while (sqlite3_step(query) == SQLITE_ROW)
            sink += ((const uint8_t *)sqlite3_column_blob(query, 1))[5];
        sqlite3_reset(query);
    }
    sqlite3_finalize(query);
    return LONERS / turns_since(start) / 1e3;
}

/* --- both, in turns --- */

static double our_write(uint32_t entities, double *wait_us)
{
    double rate;

    drop_file("ours");
    rate = entities_write(journal_name("ours"), entities, seconds, wait_us);
    drop_file("ours");
    return rate;
}

static void write_rows(int count)
{
    static const uint32_t groups[] = { 10, 100, 1000 };
    double ours[REPS_MAX], limit[REPS_MAX], waits[REPS_MAX];
    double raw_waits[REPS_MAX], syncs[REPS_MAX];
    char what[64];

    for (int i = -1; i < count; i++) { /* the first round warms up */
        int at = i < 0 ? 0 : i;

        limit[at] = raw_write(1, 1, &raw_waits[at]);
        ours[at] = our_write(1, &waits[at]);
        syncs[at] = turns_sync_us(file_path("sync", ""));
    }
    turns_tell("14", "one persist, p50, raw SQLite", "us", waits, raw_waits, count, at_most_130);
    turns_tell("14", "one persist, p50, fdatasync of 4 KiB", "us", waits, syncs, count, at_most_130);
    turns_tell("14", "events, one entity alone", "k/s", ours, limit, count, at_least_80);
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        for (int i = 0; i < count; i++) {
            limit[i] = raw_write(groups[g], 2 * groups[g], &raw_waits[i]);
            ours[i] = our_write(2 * groups[g], NULL);
        }
        (void)snprintf(what, sizeof what, "events, groups of %u",
                       groups[g]); /* fits */
        turns_tell("14", what, "k/s", ours, limit, count, at_least_80);
    }
}

static double our_recover(const char *name, uint32_t entities, uint32_t events)
{
    return entities_recover(journal_name(name), entities, events);
}

static void read_rows(int count)
{
    double ours[REPS_MAX], limit[REPS_MAX];
    struct raw scan = raw_open("raw-scan");
    struct raw loners = raw_open("raw-loners");

    raw_fill(&scan, ENTITIES, EVENTS_EACH);
    raw_fill(&loners, LONERS, 1);
    drop_file("our-scan");
    drop_file("our-loners");
    entities_fill(journal_name("our-scan"), ENTITIES, EVENTS_EACH);
    entities_fill(journal_name("our-loners"), LONERS, 1);
    for (int i = -1; i < count; i++) {
        limit[i < 0 ? 0 : i] = raw_scan(&scan);
        ours[i < 0 ? 0 : i] =
            our_recover("our-scan", ENTITIES, EVENTS_EACH) * EVENTS_EACH / 1e3;
    }
    turns_tell("15", "replay of 1000 entities x 200", "M/s", ours, limit, count, at_least_25);
    for (int i = -1; i < count; i++) {
        limit[i < 0 ? 0 : i] = raw_recover(&loners);
        ours[i < 0 ? 0 : i] = our_recover("our-loners", LONERS, 1);
    }
    turns_tell("15", "entities of one event recovered", "k/s", ours, limit, count, at_least_30);
    raw_close(&scan, "raw-scan");
    raw_close(&loners, "raw-loners");
    drop_file("our-scan");
    drop_file("our-loners");
}

/* Claims go through the back end, without a node. */
static void claim_rows(int count)
{
    double ours[REPS_MAX], limit[REPS_MAX];
    struct raw raw = raw_open("raw-claims");
    struct face face;

    drop_file("our-claims");
    face_open(&face, &backend_sqlite, NULL, file_path("our-claims", ""));
    run_sql(raw.db, "CREATE TABLE shard(id INTEGER PRIMARY KEY, epoch INTEGER)");
    run_sql(raw.db, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)"
                    " INSERT INTO shard SELECT i, 1 FROM n");
    for (int i = -1; i < count; i++) {
        uint64_t start = turns_now();

        run_sql(raw.db, "UPDATE shard SET epoch = epoch + 1");
        limit[i < 0 ? 0 : i] = turns_us(start) / 1e3;
        start = turns_now();
        face_claim(&face, CLAIMS, (uint64_t)i + 2);
        ours[i < 0 ? 0 : i] = turns_us(start) / 1e3;
    }
    turns_tell("28", "claim of 1000 shards, SQLite", "ms", ours, limit, count, at_most_1000_ms);
    face_close(&face);
    raw_close(&raw, "raw-claims");
    drop_file("our-claims");
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[2]) : 5;
    bool help = argc == 2 && strcmp(argv[1], "--help") == 0;

    if (argc > 1)
        directory = argv[1];
    if (argc > 3)
        seconds = atof(argv[3]);
    if (count < 1 || count > REPS_MAX || seconds <= 0 || argc > 4 ||
        directory[0] == '-') {
        (void)fprintf(help ? stdout : stderr,
                      "usage: persist [DIRECTORY] [REPETITIONS] [SECONDS]\n");
        return help ? 0 : 2;
    }
    memset(event, 9, sizeof event);
    (void)printf("100-byte events, %s, %d repetitions of %.1f s in turns, "
                 "medians (lowest..highest of ours / limit)\n",
                 directory, count, seconds);
    write_rows(count);
    read_rows(count);
    claim_rows(count);
    return 0;
}
