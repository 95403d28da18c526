/* Cases of sherd-conform on a store as a whole: its identity, its cluster, a reopened store, and times. */
#define _POSIX_C_SOURCE 200809L
#include "sherd-conform.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define THREADS 8
#define PERF_EVENTS 10000

static void identity_once(struct run *run)
{
    struct backend_identity first = { { 0 }, { 0 } }, second = first, third = first;

    run->ops->identify(run->writer, &first);
    run->ops->identify(run->other, &second);
    run->ops->identify(run->writer, &third);
    MUST(run, first.id[0]);
    MUST(run, strspn(first.id, "0123456789abcdef-") == strlen(first.id));
    MUST(run, strcmp(first.id, second.id) == 0);
    MUST(run, strcmp(first.id, third.id) == 0);
}

struct opener {
    struct run *run;
    pthread_t thread;
    struct backend_identity identity;
};

static void *open_and_identify(void *argument)
{
    struct opener *opener = argument;
    char error[BACKEND_ERROR_MAX];
    void *writer = conform_open(opener->run, BACKEND_WRITER, error);

    if (writer) {
        opener->run->ops->identify(writer, &opener->identity);
        opener->run->ops->close(writer);
    } else {
        (void)fprintf(stderr, "  %s\n", error);
    }
    return NULL;
}

static void identity_race(struct run *run)
{
    struct opener openers[THREADS];

    for (int i = 0; i < THREADS; i++) {
        openers[i] = (struct opener){ .run = run };
        check(pthread_create(&openers[i].thread, NULL, open_and_identify, &openers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        check(pthread_join(openers[i].thread, NULL) == 0);
    for (int i = 0; i < THREADS; i++) {
        MUST(run, openers[i].identity.id[0]);
        MUST(run, strcmp(openers[i].identity.id, openers[0].identity.id) == 0);
    }
}

static void other_cluster(struct run *run)
{
    const char *own = run->options.cluster;
    char error[BACKEND_ERROR_MAX];
    void *writer;

    run->options.cluster = "another";
    writer = conform_open(run, BACKEND_WRITER, error);
    run->options.cluster = own;
    MUST(run, !writer);
    MUST(run, strstr(error, own));
    MUST(run, strstr(error, "another"));
}

static void stored_after_reopening(struct run *run)
{
    if (run->is_memory) {
        run->skipped = "a journal in memory ends with its last connection";
        return;
    }
    MUST(run, conform_claim(run, run->writer, "s", two) == BACKEND_DONE);
    MUST(run, conform_put(run, run->writer, "s", two, "e", 1, "abc") == BACKEND_DONE);
    MUST(run, conform_reopen(run));
    MUST(run, conform_has(run, "e", "abc"));
    MUST(run, conform_claim(run, run->writer, "s", one) == BACKEND_FENCED);
    MUST(run, conform_claim(run, run->writer, "s", two) == BACKEND_DONE);
    MUST(run, conform_put(run, run->writer, "s", two, "e", 4, "d") == BACKEND_DONE);
    MUST(run, conform_has(run, "e", "abcd"));
}

/* A reader that never pauses, while a writer writes. */
static void readers_do_not_block(struct run *run)
{
    struct journal_request *request = conform_append(run, "s", one, "e", 1, "");

    MUST(run, conform_claim(run, run->writer, "s", one) == BACKEND_DONE);
    for (uint64_t seq = 1; seq <= 5000; seq++)
        conform_add_record(request, seq, slice_text("some payload"));
    MUST(run, conform_write(run, run->writer, request) == BACKEND_DONE);
    for (uint64_t seq = 1; seq <= 200; seq++) {
        struct journal_request *found =
            conform_replay(run, run->reader, "e", 1, 1000, 1 << 20);

        MUST(run, found->records.count == 1000);
        journal_request_free(found);
        MUST(run, conform_put(run, run->writer, "s", one, "f", seq, "a") == BACKEND_DONE);
    }
}

/* Prints figures, and asserts none. */
static void perf_10k(struct run *run)
{
    static const uint32_t sizes[] = { 1, 10, 100, 1000 };
    char id[32];

    MUST(run, conform_claim(run, run->writer, "s", one) == BACKEND_DONE);
    for (int i = 0; i < 4; i++) {
        uint32_t events = sizes[i] == 1 ? PERF_EVENTS / 10 : PERF_EVENTS;
        struct journal_request *found;
        double began = conform_seconds(), wrote;

        (void)snprintf(id, sizeof id, "e%d", i);
        for (uint64_t seq = 1; seq <= events; seq += sizes[i]) {
            struct journal_request *request =
                conform_append(run, "s", one, id, seq, "");

            for (uint32_t j = 0; j < sizes[i]; j++)
                conform_add_record(request, seq + j, slice_text("a payload of 40 bytes, more or less ..."));
            MUST(run, conform_write(run, run->writer, request) == BACKEND_DONE);
        }
        wrote = conform_seconds();
        found = conform_replay(run, run->reader, id, 1, PERF_EVENTS, 1u << 30);
        MUST(run, found->records.count == events);
        journal_request_free(found);
        printf("  groups of %u: %.0f events/s; replay %.0f events/s\n",
               (unsigned)sizes[i], events / (wrote - began), events / (conform_seconds() - wrote));
    }
}

const struct conform_case conform_stores[] = {
    { "identity-once", identity_once },
    { "identity-race", identity_race },
    { "other-cluster", other_cluster },
    { "stored-after-reopening", stored_after_reopening },
    { "readers-do-not-block", readers_do_not_block },
    { "perf-10k", perf_10k },
    { NULL, NULL },
};
