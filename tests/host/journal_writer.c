/* Writes to a shared journal as a process of journal_share_test: a lane with a few entities commits
 * repeatedly through the store's threads.
 *
 * usage: journal_writer FILE NAME TERM SECONDS EVENTS MODE
 *   MODE share   writes for that time, then prints events, commits and waits
 *        tell    prints each sequence number when it is durable
 *        hold    writes once, stops (SIGSTOP) inside the next transaction
 *        pause   writes once, collects one more event, stops (SIGSTOP), then sends it and prints
 *                the result */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/timers.h"
#include "host/backend_sqlite.h"
#include "host/backend_thread.h"
#include "journal/journal.h"

#define ENTITIES 8
#define WAITS_MAX 1000000

struct writer {
    pthread_mutex_t lock;
    pthread_cond_t came;
    struct journal_request *replies[64];
    uint32_t reply_count;
    struct backend_client *client;
    struct journal *journal;
    uint64_t durable;
    uint64_t recovered;
    bool fenced;
    uint64_t *waits;
    uint32_t wait_count;
};

static uint64_t clock_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static void done(void *context, struct journal_request **requests,
                 uint32_t count)
{
    struct writer *writer = context;

    pthread_mutex_lock(&writer->lock);
    for (uint32_t i = 0; i < count; i++) {
        check(writer->reply_count < 64);
        writer->replies[writer->reply_count++] = requests[i];
    }
    pthread_cond_signal(&writer->came);
    pthread_mutex_unlock(&writer->lock);
}

static void take_news(struct writer *writer)
{
    struct journal_news news;

    while (journal_next_news(writer->journal, &news)) {
        if (news.kind == JOURNAL_DURABLE)
            writer->durable = news.position;
        else if (news.kind == JOURNAL_RECOVERED)
            writer->recovered++;
        else if (news.kind == JOURNAL_SHARD_FENCED)
            writer->fenced = true;
        if (news.kind == JOURNAL_FAILED) {
            printf("failed %s %s\n", journal_reason_text(news.reason),
                   news.text);
            fflush(stdout);
        }
    }
}

/* Sends pending requests and waits for a result. */
static void turn(struct writer *writer)
{
    uint64_t started = clock_now();
    struct journal_request *request;
    bool sent = false;

    while ((request = journal_take_request(writer->journal, clock_now()))) {
        backend_submit(writer->client, request);
        sent = true;
    }
    pthread_mutex_lock(&writer->lock);
    while (sent && !writer->reply_count)
        pthread_cond_wait(&writer->came, &writer->lock);
    while (writer->reply_count) {
        request = writer->replies[--writer->reply_count];
        pthread_mutex_unlock(&writer->lock);
        if (request->verb == BACKEND_APPEND && writer->wait_count < WAITS_MAX)
            writer->waits[writer->wait_count++] = clock_now() - started;
        journal_reply(writer->journal, clock_now(), request);
        take_news(writer);
        pthread_mutex_lock(&writer->lock);
    }
    pthread_mutex_unlock(&writer->lock);
}

static void start(struct writer *writer, const char *name, uint64_t term)
{
    journal_claim(writer->journal, slice_text("T"), slice_text(name),
                  (struct fence){ term, 1 }, (struct proof){ 0 });
    for (uint64_t i = 0; i < ENTITIES; i++) {
        char id[64];

        snprintf(id, sizeof id, "%s-%d", name, (int)i);
        journal_replay(writer->journal, i, slice_text("T"), slice_text(name),
                       slice_text(id));
    }
    while (writer->recovered < ENTITIES && !writer->fenced)
        turn(writer);
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

static void tell_share(struct writer *writer)
{
    uint64_t *waits = writer->waits;
    uint32_t count = writer->wait_count;

    qsort(waits, count, sizeof *waits, compare);
    printf("events %llu commits %u p50_us %.1f p99_us %.1f max_us %.1f\n",
           (unsigned long long)writer->durable, count,
           (double)waits[count / 2] / 1e3,
           (double)waits[(uint64_t)count * 99 / 100] / 1e3,
           (double)waits[count - 1] / 1e3);
}

static void write_on(struct writer *writer, uint64_t seconds, int events,
                     bool tell)
{
    static const char payload[100];
    uint64_t end = clock_now() + seconds * SECOND;

    for (uint64_t n = 0; clock_now() < end && !writer->fenced; n++) {
        for (int i = 0; i < events; i++)
            (void)journal_append(writer->journal,
                                 tell ? 0 : (n + (uint64_t)i) % ENTITIES,
                                 (struct entity_event){
                                     .type = 1,
                                     .payload = slice_of(payload, sizeof payload) });
        turn(writer);
        if (tell && !writer->fenced) {
            printf("durable %llu\n", (unsigned long long)writer->durable);
            fflush(stdout);
        }
    }
}

static void pause_once(struct writer *writer)
{
    (void)journal_append(writer->journal, 0,
                        (struct entity_event){ .type = 1, .payload = slice_text("a") });
    turn(writer);
    (void)journal_append(writer->journal, 0,
                        (struct entity_event){ .type = 1, .payload = slice_text("late") });
    printf("ready\n");
    fflush(stdout);
    raise(SIGSTOP);
    turn(writer);
    printf("%s durable %llu\n", writer->fenced ? "fenced" : "not fenced",
           (unsigned long long)writer->durable);
}

static _Atomic bool stops_inside;

static int stop_inside(void *context)
{
    (void)context;
    if (stops_inside)
        raise(SIGSTOP);
    return 0;
}

/* For sqlite3_auto_extension. */
static int hook_commits(sqlite3 *db, char **error, const void *api)
{
    (void)error;
    (void)api;
    (void)sqlite3_commit_hook(db, stop_inside, NULL); /* there was no other hook */
    return SQLITE_OK;
}

static void hold(struct writer *writer)
{
    (void)journal_append(writer->journal, 0,
                        (struct entity_event){ .type = 1, .payload = slice_text("a") });
    turn(writer);
    printf("ready\n");
    fflush(stdout);
    stops_inside = true;
    (void)journal_append(writer->journal, 0,
                        (struct entity_event){ .type = 1, .payload = slice_text("b") });
    turn(writer);
    printf("durable %llu\n", (unsigned long long)writer->durable);
}

int main(int argc, char **argv)
{
    struct writer writer = { .lock = PTHREAD_MUTEX_INITIALIZER,
                             .came = PTHREAD_COND_INITIALIZER };
    struct backend_client_options options = { .ops = &backend_sqlite,
                                            .done = done,
                                            .context = &writer };
    char error[BACKEND_ERROR_MAX];

    if (argc != 7) {
        fprintf(stderr, "usage: journal_writer FILE NAME TERM SECONDS EVENTS "
                        "MODE\n");
        return 2;
    }
    options.store = (struct backend_options){ .path = argv[1],
                                            .cluster = "test" };
    if (strcmp(argv[6], "hold") == 0)
        check(sqlite3_auto_extension((void (*)(void))hook_commits) ==
              SQLITE_OK);
    if (backend_client_open(&writer.client, &options, error) != 0 ||
        backend_client_start(writer.client, error) != 0) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    writer.journal = journal_new(&(struct journal_options){ .seed = 1 });
    writer.waits = malloc(WAITS_MAX * sizeof *writer.waits);
    start(&writer, argv[2], strtoull(argv[3], NULL, 10));
    if (strcmp(argv[6], "pause") == 0)
        pause_once(&writer);
    else if (strcmp(argv[6], "hold") == 0)
        hold(&writer);
    else
        write_on(&writer, strtoull(argv[4], NULL, 10), atoi(argv[5]),
                 strcmp(argv[6], "tell") == 0);
    if (strcmp(argv[6], "share") == 0)
        tell_share(&writer);
    if (strcmp(argv[6], "tell") == 0)
        printf("%s\n", writer.fenced ? "fenced" : "done");
    backend_client_close(writer.client);
    journal_free(writer.journal);
    free(writer.waits);
    return 0;
}
