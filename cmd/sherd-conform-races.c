/* Cases of sherd-conform on two threads that work on one shard: a claim beside an append, and a long replay
 * beside appends and deletions. */
#define _POSIX_C_SOURCE 200809L
#include "sherd-conform.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/limits.h"

#define ROUNDS 40
#define EVENTS UINT64_C(20000)
#define CHUNK 500

struct claimant {
    struct run *run;
    pthread_barrier_t start;
    pthread_t thread;
    char shard[16]; /* also the entity */
    bool is_refused; /* with a proof that the store has not */
    enum backend_result result;
};

static void *claim(void *argument)
{
    struct claimant *claimant = argument;
    struct journal_request *request = journal_request_claim(
        slice_text(claimant->run->type), slice_text(claimant->shard), two);

    if (claimant->is_refused)
        request->proof = (struct proof){ 2, 77 };
    (void)pthread_barrier_wait(&claimant->start); /* one of both gets another value */
    conform_do(claimant->run, claimant->run->other, request);
    claimant->result = request->result;
    journal_request_free(request);
    return NULL;
}

/* Runs the claim and an append at once. Returns the append's result. */
static enum backend_result append_beside(struct run *run, struct claimant *claimant)
{
    struct journal_request *request =
        conform_append(run, claimant->shard, one, claimant->shard, 2, "b");
    enum backend_result result;

    check(pthread_barrier_init(&claimant->start, NULL, 2) == 0);
    check(pthread_create(&claimant->thread, NULL, claim, claimant) == 0);
    (void)pthread_barrier_wait(&claimant->start);
    result = conform_write(run, run->writer, request);
    check(pthread_join(claimant->thread, NULL) == 0);
    check(pthread_barrier_destroy(&claimant->start) == 0);
    return result;
}

/* Appends wait for a claim in progress: they are fenced by one that is done, and written after one that is
 * refused. */
static void fence_append_waits(struct run *run)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct claimant claimant = { .run = run, .is_refused = round % 4 == 3 };
        const char *id = claimant.shard;
        enum backend_result result;
        bool is_written;

        (void)snprintf(claimant.shard, sizeof claimant.shard, "s%d", round);
        MUST(run, conform_claim(run, run->writer, id, one) == BACKEND_DONE);
        MUST(run, conform_put(run, run->writer, id, one, id, 1, "a") == BACKEND_DONE);
        result = append_beside(run, &claimant);
        is_written = result == BACKEND_DONE;
        MUST_TELL(run, is_written || result == BACKEND_FENCED,
                  "an append beside a claim must be written or fenced");
        MUST(run, claimant.result == (claimant.is_refused ? BACKEND_OTHER_STORE : BACKEND_DONE));
        MUST_TELL(run, is_written || !claimant.is_refused,
                  "a refused claim must not fence the owner");
        MUST_TELL(run, conform_has(run, id, is_written ? "ab" : "a"),
                  "an append must be stored if it is done, and only then");
        MUST(run, conform_put(run, claimant.is_refused ? run->writer : run->other, id,
                              claimant.is_refused ? one : two, id, is_written ? 3 : 2, "c") ==
                      BACKEND_DONE);
    }
}

struct appender {
    struct run *run;
    atomic_uint_fast64_t read; /* events up to here have been read */
    atomic_bool is_over;
    uint64_t last;
    bool failed;
};

/* Appends one event after the other, each of which deletes some that were read. */
static void *append_and_delete(void *argument)
{
    struct appender *appender = argument;
    struct run *run = appender->run;

    while (!atomic_load(&appender->is_over) && !appender->failed) {
        uint64_t read = atomic_load(&appender->read);
        struct journal_request *request =
            conform_append(run, "s", one, "e", appender->last + 1, "y");

        request->entities.items[0].cut = read;
        appender->failed = conform_write(run, run->writer, request) != BACKEND_DONE;
        appender->last++;
    }
    return NULL;
}

/* Reads from the first event to the end, while the end moves. False: an event is missing. */
static bool replay_all_chunks(struct run *run, struct appender *appender)
{
    uint64_t next = 1;
    bool more = true;

    while (more) {
        struct journal_request *found =
            conform_replay(run, run->reader, "e", next, CHUNK, CONFORM_ALL);
        bool is_good = found->result == BACKEND_DONE && found->records.count;

        for (uint32_t i = 0; is_good && i < found->records.count; i++)
            is_good = found->records.items[i].seq == next++;
        more = found->more && next <= EVENTS;
        journal_request_free(found);
        if (!is_good)
            return false;
        atomic_store(&appender->read, next - 1);
    }
    return next > EVENTS;
}

static void long_reader(struct run *run)
{
    struct journal_request *request = conform_append(run, "s", one, "e", 1, "");
    struct appender appender = { .run = run, .last = EVENTS };
    pthread_t thread;
    bool is_good;

    MUST(run, conform_claim(run, run->writer, "s", one) == BACKEND_DONE);
    for (uint64_t seq = 1; seq <= EVENTS; seq++)
        conform_add_record(request, seq, slice_text("x"));
    MUST(run, conform_write(run, run->writer, request) == BACKEND_DONE);
    check(pthread_create(&thread, NULL, append_and_delete, &appender) == 0);
    is_good = replay_all_chunks(run, &appender);
    atomic_store(&appender.is_over, true);
    check(pthread_join(thread, NULL) == 0);
    MUST_TELL(run, is_good, "a replay in chunks must have every event, in order");
    MUST_TELL(run, !appender.failed, "a long replay must not stop appends");
    MUST(run, conform_reads(run, appender.last, 100, CONFORM_ALL, 1, appender.last, false));
}

const struct conform_case conform_races[] = {
    { "fence-append-waits", fence_append_waits },
    { "long-reader", long_reader },
    { NULL, NULL },
};
