/* Rows 14 and 15: events persisted and replayed, through the journal and the
 * SQLite store, against SQLite alone at the same group size (the limit), in
 * turns in one run.
 *
 * usage: persist [DIRECTORY] [REPETITIONS] [SECONDS]
 *
 * Ours is the whole way: journal_append on a lane's thread, the store's writer
 * thread, SQLite with synchronous=FULL, and back as news. The lane collects the
 * next group while one commit is out, as a node's lane does. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/timers.h"
#include "host/store_sqlite.h"
#include "host/store_thread.h"
#include "journal/journal.h"

#define ENTITIES 1000
#define EVENTS_EACH 200 /* for the scan */
#define LONERS 20000    /* entities of one event each */
#define EVENT_SIZE 100
#define REPS_MAX 50
#define REPLIES_MAX 256
#define SPIN_NS 50000 /* how long a lane polls before it sleeps */

static const char *directory = "/tmp";
static double seconds = 0.7;
static uint8_t event[EVENT_SIZE];
static volatile uint64_t sink;

static uint64_t clock_now(void)
{
    struct timespec now;

    check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static double since(uint64_t start)
{
    return (double)(clock_now() - start) / 1e9;
}

static uint64_t random_next(uint64_t *state)
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
                   name, end); /* cut: the open fails */
    return path[at];
}

static void drop_file(const char *name)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-turn" };

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        (void)unlink(file_path(name, ends[i])); /* may not be there */
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

static struct raw raw_open(const char *name)
{
    struct raw raw = { 0 };

    drop_file(name);
    check(sqlite3_open(file_path(name, ""), &raw.db) == SQLITE_OK);
    run_sql(raw.db, "PRAGMA journal_mode = WAL");
    run_sql(raw.db, "PRAGMA synchronous = FULL");
    run_sql(raw.db, "CREATE TABLE event(entity INTEGER, seq INTEGER,"
                    " data BLOB, PRIMARY KEY(entity, seq)) WITHOUT ROWID");
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

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

/* Thousand events a second; the median wait of one commit in us. */
static double raw_write(uint32_t group, double *wait_us)
{
    struct raw raw = raw_open("raw");
    static int64_t seqs[ENTITIES];
    static double waits[200000];
    uint64_t random = 88172645463325252u;
    uint64_t start = clock_now();
    uint64_t events = 0;
    int commits = 0;
    double rate;

    memset(seqs, 0, sizeof seqs);
    while (since(start) < seconds) {
        uint64_t began = clock_now();

        run_sql(raw.db, "BEGIN IMMEDIATE");
        for (uint32_t i = 0; i < group; i++) {
            uint64_t entity = random_next(&random) % ENTITIES;

            raw_put(&raw, (int64_t)entity, ++seqs[entity]);
        }
        run_sql(raw.db, "COMMIT");
        events += group;
        if (commits < 200000)
            waits[commits++] = (double)(clock_now() - began) / 1e3;
    }
    rate = (double)events / since(start) / 1e3;
    *wait_us = median(waits, commits);
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

/* Million events a second. */
static double raw_scan(struct raw *raw)
{
    sqlite3_stmt *query;
    uint64_t start = clock_now();
    uint64_t events = 0;

    check(sqlite3_prepare_v2(raw->db, "SELECT entity, seq, data FROM event",
                             -1, &query, NULL) == SQLITE_OK);
    while (sqlite3_step(query) == SQLITE_ROW) {
        sink += ((const uint8_t *)sqlite3_column_blob(query, 2))[5];
        events++;
    }
    sqlite3_finalize(query);
    check(events == (uint64_t)ENTITIES * EVENTS_EACH);
    return (double)events / since(start) / 1e6;
}

/* Thousand entities a second, one event each, in random order. */
static double raw_recover(struct raw *raw)
{
    sqlite3_stmt *query;
    uint64_t start = clock_now();
    uint64_t random = 99;

    check(sqlite3_prepare_v2(raw->db,
                             "SELECT seq, data FROM event WHERE entity = ?"
                             " AND seq >= 1 ORDER BY seq",
                             -1, &query, NULL) == SQLITE_OK);
    for (int i = 0; i < LONERS; i++) {
        sqlite3_bind_int64(query, 1,
                           (int64_t)(random_next(&random) % LONERS));
        while (sqlite3_step(query) == SQLITE_ROW)
            sink += ((const uint8_t *)sqlite3_column_blob(query, 1))[5];
        sqlite3_reset(query);
    }
    sqlite3_finalize(query);
    return LONERS / since(start) / 1e3;
}

/* --- ours: a lane and the store's threads --- */

struct lane {
    struct journal *journal;
    struct store_client *client;
    pthread_mutex_t lock;
    pthread_cond_t came;
    bool sleeping;
    _Atomic uint32_t reply_count;
    struct store_request *replies[REPLIES_MAX];
    uint64_t durable;
    uint64_t events;
    uint64_t recovered;
};

static void on_done(void *context, struct store_request **requests,
                    uint32_t count)
{
    struct lane *lane = context;

    pthread_mutex_lock(&lane->lock);
    for (uint32_t i = 0; i < count; i++) {
        check(lane->reply_count < REPLIES_MAX);
        lane->replies[lane->reply_count++] = requests[i];
    }
    if (lane->sleeping)
        pthread_cond_signal(&lane->came);
    pthread_mutex_unlock(&lane->lock);
}

static void lane_open(struct lane *lane, const char *name)
{
    struct store_client_options options = { .ops = &store_sqlite,
                                            .done = on_done,
                                            .context = lane };
    char error[STORE_ERROR_MAX];

    *lane = (struct lane){ .lock = PTHREAD_MUTEX_INITIALIZER,
                           .came = PTHREAD_COND_INITIALIZER };
    options.store = (struct store_options){ .path = file_path(name, ""),
                                            .cluster = "bench" };
    if (store_client_open(&lane->client, &options, error) != 0) {
        (void)fprintf(stderr, "%s\n", error);
        exit(1);
    }
    lane->journal = journal_new(&(struct journal_options){ .seed = 1 });
    journal_claim(lane->journal, slice_text("T"), slice_text("s"),
                  (struct fence){ 1, 1 });
}

static void lane_close(struct lane *lane)
{
    store_client_close(lane->client);
    journal_free(lane->journal);
}

static void lane_news(struct lane *lane)
{
    struct journal_news news;

    while (journal_next_news(lane->journal, &news)) {
        if (news.kind == JOURNAL_DURABLE) {
            lane->durable = news.position;
        } else if (news.kind == JOURNAL_EVENT) {
            sink += news.payload.data[5];
            lane->events++;
        } else if (news.kind == JOURNAL_RECOVERED) {
            lane->recovered++;
        } else {
            check(news.kind == JOURNAL_CLAIMED);
        }
    }
}

static void lane_send(struct lane *lane)
{
    struct store_request *request;

    while ((request = journal_take_request(lane->journal, clock_now())))
        store_submit(lane->client, request);
}

/* Polls a little, then sleeps, until a reply is here; takes all of them. */
static void lane_wait(struct lane *lane)
{
    uint64_t start = clock_now();
    struct store_request *replies[REPLIES_MAX];
    uint32_t count;

    while (!atomic_load_explicit(&lane->reply_count, memory_order_acquire) &&
           clock_now() - start < SPIN_NS)
        ;
    pthread_mutex_lock(&lane->lock);
    lane->sleeping = true;
    while (!lane->reply_count)
        pthread_cond_wait(&lane->came, &lane->lock);
    lane->sleeping = false;
    count = lane->reply_count;
    memcpy(replies, lane->replies, count * sizeof *replies);
    lane->reply_count = 0;
    pthread_mutex_unlock(&lane->lock);
    for (uint32_t i = 0; i < count; i++)
        journal_reply(lane->journal, clock_now(), replies[i]);
    lane_news(lane);
}

static void lane_recover(struct lane *lane, uint64_t entity)
{
    char id[32];

    (void)snprintf(id, sizeof id, "entity-%llu",
                   (unsigned long long)entity); /* fits */
    journal_replay(lane->journal, entity + 1, slice_text("T"),
                   slice_text("s"), slice_text(id));
}

static void lane_start(struct lane *lane, uint64_t entities)
{
    for (uint64_t i = 0; i < entities; i++)
        lane_recover(lane, i);
    while (lane->recovered < entities) {
        lane_send(lane);
        lane_wait(lane);
    }
}

static uint64_t append_group(struct lane *lane, uint32_t group,
                             uint64_t *random)
{
    uint64_t position = 0;

    for (uint32_t i = 0; i < group; i++)
        position = journal_append(
            lane->journal, random_next(random) % ENTITIES + 1, 1,
            slice_of(event, EVENT_SIZE));
    return position;
}

/* With `alone` one event is persisted after the other and the median wait told;
 * otherwise the next group is collected while one is out. */
static double our_write(uint32_t group, bool alone, double *wait_us)
{
    static double waits[200000];
    uint64_t random = 88172645463325252u;
    uint64_t position;
    uint64_t start;
    struct lane lane;
    int commits = 0;
    double rate;

    drop_file("ours");
    lane_open(&lane, "ours");
    lane_start(&lane, ENTITIES);
    start = clock_now();
    position = append_group(&lane, group, &random);
    while (since(start) < seconds) {
        uint64_t began = clock_now();
        uint64_t wanted = position;

        lane_send(&lane);
        if (!alone)
            position = append_group(&lane, group, &random);
        while (lane.durable < wanted)
            lane_wait(&lane);
        if (alone)
            position = append_group(&lane, group, &random);
        if (commits < 200000)
            waits[commits++] = (double)(clock_now() - began) / 1e3;
    }
    rate = (double)lane.durable / since(start) / 1e3;
    *wait_us = median(waits, commits);
    lane_close(&lane);
    drop_file("ours");
    return rate;
}

static void our_fill(const char *name, uint64_t entities, uint64_t events)
{
    struct lane lane;

    drop_file(name);
    lane_open(&lane, name);
    lane_start(&lane, entities);
    for (uint64_t seq = 1; seq <= events; seq++) {
        for (uint64_t i = 1; i <= entities; i++)
            (void)journal_append(lane.journal, i, 1,
                                 slice_of(event, EVENT_SIZE));
        lane_send(&lane);
        while (lane.durable < seq * entities)
            lane_wait(&lane);
    }
    lane_close(&lane);
}

static double our_scan(void)
{
    struct lane lane;
    uint64_t start;
    double rate;

    lane_open(&lane, "our-scan");
    start = clock_now();
    lane_start(&lane, ENTITIES);
    check(lane.events == (uint64_t)ENTITIES * EVENTS_EACH);
    rate = (double)lane.events / since(start) / 1e6;
    lane_close(&lane);
    return rate;
}

static double our_recover(void)
{
    uint64_t random = 99;
    uint64_t wanted = 0;
    struct lane lane;
    uint64_t start;
    double rate;

    lane_open(&lane, "our-loners");
    start = clock_now();
    /* Each one leaves before it may come again. */
    for (int round = 0; round < LONERS / 200; round++) {
        uint64_t ids[200];

        for (int i = 0; i < 200; i++) {
            ids[i] = random_next(&random) % (LONERS / 200) * 200 +
                     (uint64_t)i;
            lane_recover(&lane, ids[i]);
        }
        wanted += 200;
        while (lane.recovered < wanted) {
            lane_send(&lane);
            lane_wait(&lane);
        }
        for (int i = 0; i < 200; i++)
            journal_forget(lane.journal, ids[i] + 1);
    }
    rate = LONERS / since(start) / 1e3;
    lane_close(&lane);
    return rate;
}

/* --- both, in turns --- */

static void tell(const char *row, const char *what, const char *unit,
                 double *ours, double *limit, int count, const char *goal,
                 bool less_is_better)
{
    double our = median(ours, count);
    double their = median(limit, count);

    (void)printf("row %s  %-34s ours %9.2f  limit %9.2f %s  %5.1f %% of "
                 "limit  (%.1f..%.1f / %.1f..%.1f)  goal %s%s\n",
                 row, what, our, their, unit, 100 * our / their, ours[0],
                 ours[count - 1], limit[0], limit[count - 1],
                 less_is_better ? "<= " : ">= ", goal);
    (void)fflush(stdout);
}

static double sync_wait_us(void)
{
    static uint8_t page[4096];
    static double waits[500];
    int file = open(file_path("sync", ""), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    check(file >= 0);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 500; i++) {
            uint64_t began = clock_now();

            check(pwrite(file, page, sizeof page, i * 4096) == 4096);
            if (round == 0)
                continue;
            check(fdatasync(file) == 0);
            waits[i] = (double)(clock_now() - began) / 1e3;
        }
        check(fsync(file) == 0);
    }
    (void)close(file); /* nothing depends on it */
    (void)unlink(file_path("sync", ""));
    return median(waits, 500);
}

static void write_rows(int count)
{
    static const uint32_t groups[] = { 1, 10, 100, 1000 };
    double ours[REPS_MAX], limit[REPS_MAX], waits[REPS_MAX];
    double raw_waits[REPS_MAX], syncs[REPS_MAX];
    char what[64];

    for (int i = -1; i < count; i++) { /* the first one warms up */
        int at = i < 0 ? 0 : i;

        limit[at] = raw_write(1, &raw_waits[at]);
        ours[at] = our_write(1, true, &waits[at]);
        syncs[at] = sync_wait_us();
    }
    tell("14", "one entity after the other", "k/s", ours, limit, count,
         "80 %", false);
    tell("14", "one persist, p50, raw SQLite", "us ", waits, raw_waits, count,
         "130 %", true);
    tell("14", "one persist, p50, fdatasync of 4 KiB", "us ", waits, syncs,
         count, "130 %", true);
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        for (int i = 0; i < count; i++) {
            limit[i] = raw_write(groups[g], &raw_waits[i]);
            ours[i] = our_write(groups[g], false, &waits[i]);
        }
        (void)snprintf(what, sizeof what, "events, groups of %u",
                       groups[g]); /* fits */
        tell("14", what, "k/s", ours, limit, count, "80 %", false);
    }
}

static void read_rows(int count)
{
    double ours[REPS_MAX], limit[REPS_MAX];
    struct raw scan = raw_open("raw-scan");
    struct raw loners = raw_open("raw-loners");

    raw_fill(&scan, ENTITIES, EVENTS_EACH);
    raw_fill(&loners, LONERS, 1);
    our_fill("our-scan", ENTITIES, EVENTS_EACH);
    our_fill("our-loners", LONERS, 1);
    for (int i = -1; i < count; i++) {
        limit[i < 0 ? 0 : i] = raw_scan(&scan);
        ours[i < 0 ? 0 : i] = our_scan();
    }
    tell("15", "replay of 1000 entities x 200", "M/s", ours, limit, count,
         "25 %", false);
    for (int i = -1; i < count; i++) {
        limit[i < 0 ? 0 : i] = raw_recover(&loners);
        ours[i < 0 ? 0 : i] = our_recover();
    }
    tell("15", "entities of one event recovered", "k/s", ours, limit, count,
         "30 %", false);
    raw_close(&scan, "raw-scan");
    raw_close(&loners, "raw-loners");
    drop_file("our-scan");
    drop_file("our-loners");
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
    return 0;
}
