/* Cases of sherd-conform on fences, terms and proofs, some of them with several threads. */
#define _POSIX_C_SOURCE 200809L
#include "sherd-conform.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/limits.h"

#define THREADS 8
#define CLAIMS_OF_ONE 20
#define TERMS_OF_ONE 125 /* a thousand in all */
#define ROUNDS 20
#define SHARDS_OF_ONE 12

static void fence_stale_append(struct run *run)
{
    MUST(run, conform_claim(run, run->writer, "s", one) == BACKEND_DONE);
    MUST(run, conform_put(run, run->writer, "s", one, "e", 1, "a") == BACKEND_DONE);
    MUST(run, conform_claim(run, run->other, "s", two) == BACKEND_DONE);
    MUST(run, conform_put(run, run->writer, "s", one, "e", 2, "x") == BACKEND_FENCED);
    MUST(run, conform_put(run, run->other, "s", two, "e", 2, "b") == BACKEND_DONE);
    MUST(run, conform_put(run, run->writer, "s", one, "e", 3, "x") == BACKEND_FENCED);
    MUST(run, conform_has(run, "e", "ab"));
}

static void fence_equal_own(struct run *run)
{
    for (int i = 0; i < 3; i++)
        MUST(run, conform_claim(run, run->writer, "s", one) == BACKEND_DONE);
    MUST(run, conform_put(run, run->writer, "s", one, "e", 1, "a") == BACKEND_DONE);
    MUST(run, conform_claim(run, run->writer, "s", one) == BACKEND_DONE);
    MUST(run, conform_put(run, run->writer, "s", one, "e", 2, "b") == BACKEND_DONE);
    MUST(run, conform_has(run, "e", "ab"));
}

static void fence_equal_two(struct run *run)
{
    if (!run->tells_owners) {
        run->skipped = "the back end does not tell equal fences apart";
        return;
    }
    MUST(run, conform_claim(run, run->writer, "s", one) == BACKEND_DONE);
    MUST(run, conform_put(run, run->writer, "s", one, "e", 1, "a") == BACKEND_DONE);
    MUST(run, conform_claim(run, run->other, "s", one) == BACKEND_DONE);
    MUST(run, conform_put(run, run->writer, "s", one, "e", 2, "x") == BACKEND_FENCED);
    MUST(run, conform_put(run, run->other, "s", one, "e", 2, "b") == BACKEND_DONE);
    MUST(run, conform_has(run, "e", "ab"));
}

static void fence_lower_claim(struct run *run)
{
    struct journal_request *request =
        journal_request_claim(slice_text(run->type), slice_text("s"), two);

    MUST(run, conform_claim(run, run->writer, "s", three) == BACKEND_DONE);
    conform_do(run, run->other, request);
    MUST(run, request->result == BACKEND_FENCED);
    MUST(run, fence_compare(request->fence, three) == 0);
    journal_request_free(request);
    MUST(run, conform_put(run, run->writer, "s", three, "e", 1, "a") == BACKEND_DONE);
}

static void fence_group_mixed(struct run *run)
{
    struct journal_request *request = conform_append(run, "s", one, "e", 1, "a");

    for (char shard[] = "s"; shard[0] <= 'u'; shard[0]++)
        MUST(run, conform_claim(run, run->writer, shard, one) == BACKEND_DONE);
    MUST(run, conform_claim(run, run->other, "t", two) == BACKEND_DONE);
    conform_add(run, request, "t", one, "f", 1, "b");
    conform_add(run, request, "u", one, "g", 1, "c");
    conform_do(run, run->writer, request);
    MUST(run, request->entities.items[0].result == BACKEND_DONE);
    MUST(run, request->entities.items[1].result == BACKEND_FENCED);
    MUST(run, request->entities.items[2].result == BACKEND_DONE);
    MUST(run, request->shards.items[1].result == BACKEND_FENCED);
    MUST(run, fence_compare(request->shards.items[1].stored, two) == 0);
    journal_request_free(request);
    MUST(run, conform_has(run, "e", "a"));
    MUST(run, conform_has(run, "f", ""));
    MUST(run, conform_has(run, "g", "c"));
}

/* A writer whose entities moved away and back must not trust what it knew of them. */
static void fence_there_and_back(struct run *run)
{
    MUST(run, conform_claim(run, run->writer, "s", one) == BACKEND_DONE);
    MUST(run, conform_put(run, run->writer, "s", one, "e", 1, "ab") == BACKEND_DONE);
    MUST(run, conform_claim(run, run->other, "s", two) == BACKEND_DONE);
    MUST(run, conform_put(run, run->other, "s", two, "e", 3, "cd") == BACKEND_DONE);
    MUST(run, conform_claim(run, run->writer, "s", three) == BACKEND_DONE);
    MUST(run, conform_put(run, run->writer, "s", three, "e", 3, "x") == BACKEND_CONFLICT);
    MUST(run, conform_put(run, run->writer, "s", three, "e", 5, "e") == BACKEND_DONE);
    MUST(run, conform_has(run, "e", "abcde"));
}

/* ---- threads ---- */

struct worker {
    struct run *run;
    uint32_t number;
    pthread_t thread;
    uint64_t got[TERMS_OF_ONE];
    const char *failed;
    char shard[16]; /* also the entity */
    uint64_t done; /* records that were confirmed */
};

/* Runs a function on eight threads. False: one failed; it is named. */
static bool all_at_once(struct run *run, struct worker *workers,
                        void *(*work)(void *worker))
{
    const char *failed = NULL;

    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ .run = run, .number = i };
        check(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        check(pthread_join(workers[i].thread, NULL) == 0);
        if (workers[i].failed)
            failed = workers[i].failed;
    }
    if (failed)
        (void)fprintf(stderr, "  %s\n", failed);
    return !failed;
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

/* Tells whether the first `count` numbers of all workers differ. */
static bool all_differ(const struct worker *workers, uint32_t count)
{
    uint64_t all[THREADS * TERMS_OF_ONE];
    uint32_t total = 0;

    for (uint32_t i = 0; i < THREADS; i++)
        for (uint32_t j = 0; j < count; j++)
            all[total++] = workers[i].got[j];
    qsort(all, total, sizeof *all, compare);
    for (uint32_t i = 1; i < total; i++)
        if (all[i] == all[i - 1])
            return false;
    return true;
}

static void *claim_next(void *argument)
{
    struct worker *worker = argument;
    struct run *run = worker->run;
    char error[BACKEND_ERROR_MAX];
    void *writer = conform_open(run, BACKEND_WRITER, error);

    for (uint32_t i = 0; writer && i < CLAIMS_OF_ONE; i++) {
        struct journal_request *request = journal_request_claim(
            slice_text(run->type), slice_text("s"), (struct fence){ 0, 0 });

        request->next = true;
        conform_do(run, writer, request);
        worker->got[i] = request->fence.epoch;
        if (request->result != BACKEND_DONE)
            worker->failed = "a claim of the next epoch failed";
        journal_request_free(request);
    }
    if (writer)
        run->ops->close(writer);
    else
        worker->failed = "a thread cannot open the store";
    return NULL;
}

static void fence_next(struct run *run)
{
    struct worker *workers = mem_alloc(THREADS * sizeof *workers);

    MUST(run, all_at_once(run, workers, claim_next));
    MUST(run, all_differ(workers, CLAIMS_OF_ONE));
    mem_free(workers);
}

static void *take_terms(void *argument)
{
    struct worker *worker = argument;
    struct run *run = worker->run;
    char error[BACKEND_ERROR_MAX];
    void *writer = conform_open(run, BACKEND_WRITER, error);

    for (uint32_t i = 0; writer && i < TERMS_OF_ONE; i++) {
        struct journal_request *request =
            journal_request_take_term(slice_text(run->type), 0);

        request->next_proof = 1 + worker->number;
        conform_do(run, writer, request);
        worker->got[i] = request->fence.term;
        if (request->result != BACKEND_DONE)
            worker->failed = "taking a term failed";
        journal_request_free(request);
    }
    if (writer)
        run->ops->close(writer);
    else
        worker->failed = "a thread cannot open the store";
    return NULL;
}

static void term_unique(struct run *run)
{
    struct worker *workers = mem_alloc(THREADS * sizeof *workers);

    MUST(run, all_at_once(run, workers, take_terms));
    MUST(run, all_differ(workers, TERMS_OF_ONE));
    mem_free(workers);
}

/* Appends until it is fenced. Every confirmed record must be seen by the claimant's replay. */
static void *append_until_fenced(void *argument)
{
    struct worker *worker = argument;
    enum backend_result result = BACKEND_DONE;

    while (result == BACKEND_DONE && worker->done < 100000) {
        result = conform_put(worker->run, worker->run->writer, worker->shard, one,
                             worker->shard, worker->done + 1, "a");
        worker->done += result == BACKEND_DONE;
    }
    if (result != BACKEND_FENCED)
        worker->failed = "an append was neither written nor fenced";
    return NULL;
}

static void fence_claim_waits(struct run *run)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct worker worker = { .run = run };
        struct journal_request *found;
        struct timespec pause = { .tv_nsec = (round * 7 % 10) * 1000000 };
        uint64_t last;

        (void)snprintf(worker.shard, sizeof worker.shard, "s%d", round);
        MUST(run, conform_claim(run, run->writer, worker.shard, one) == BACKEND_DONE);
        check(pthread_create(&worker.thread, NULL, append_until_fenced, &worker) == 0);
        (void)nanosleep(&pause, NULL);
        MUST(run, conform_claim(run, run->other, worker.shard, two) == BACKEND_DONE);
        found = conform_replay(run, run->reader, worker.shard, 1, 100000, 1u << 30);
        last = found->records.count;
        journal_request_free(found);
        check(pthread_join(worker.thread, NULL) == 0);
        MUST(run, !worker.failed);
        MUST(run, worker.done == last);
    }
}

/* Each thread owns shards of its own; all groups of a thread touch all of them. */
static void *append_to_own(void *argument)
{
    struct worker *worker = argument;
    struct run *run = worker->run;
    char error[BACKEND_ERROR_MAX], shard[32], id[32];
    void *writer = conform_open(run, BACKEND_WRITER, error);

    if (!writer) {
        worker->failed = "a thread cannot open the store";
        return NULL;
    }
    for (uint32_t i = 0; i < SHARDS_OF_ONE; i++) {
        (void)snprintf(shard, sizeof shard, "s%u", (unsigned)(i * THREADS + worker->number));
        if (conform_claim(run, writer, shard, one) != BACKEND_DONE)
            worker->failed = "a claim failed";
    }
    for (uint64_t seq = 1; seq <= 20; seq++) {
        struct journal_request *request = journal_request_new(BACKEND_APPEND);

        for (uint32_t i = 0; i < SHARDS_OF_ONE; i++) {
            (void)snprintf(shard, sizeof shard, "s%u", (unsigned)(i * THREADS + worker->number));
            (void)snprintf(id, sizeof id, "e%u", (unsigned)(i * THREADS + worker->number));
            conform_add(run, request, shard, one, id, seq, "a");
        }
        conform_do(run, writer, request);
        for (uint32_t i = 0; i < SHARDS_OF_ONE; i++)
            if (request->entities.items[i].result != BACKEND_DONE)
                worker->failed = "an append of an owner failed";
        journal_request_free(request);
    }
    run->ops->close(writer);
    return NULL;
}

static void position_gapless(struct run *run)
{
    struct worker *workers = mem_alloc(THREADS * sizeof *workers);
    char id[32];

    MUST(run, all_at_once(run, workers, append_to_own));
    mem_free(workers);
    for (uint32_t i = 0; i < THREADS * SHARDS_OF_ONE; i++) {
        (void)snprintf(id, sizeof id, "e%u", (unsigned)i);
        MUST(run, conform_has(run, id, "aaaaaaaaaaaaaaaaaaaa"));
    }
}

/* ---- proofs ---- */

static uint64_t take(struct run *run, uint64_t known, struct proof proof,
                     uint64_t next_proof, enum backend_result *result)
{
    struct journal_request *request =
        journal_request_take_term(slice_text(run->type), known);
    uint64_t term;

    request->proof = proof;
    request->next_proof = next_proof;
    conform_do(run, run->writer, request);
    term = request->fence.term;
    *result = request->result;
    journal_request_free(request);
    return term;
}

static enum backend_result claim_with(struct run *run, struct proof proof,
                                      struct fence *fence)
{
    struct journal_request *request =
        journal_request_claim(slice_text(run->type), slice_text("s"), *fence);
    enum backend_result result;

    request->proof = proof;
    conform_do(run, run->other, request);
    result = request->result;
    *fence = request->fence;
    journal_request_free(request);
    return result;
}

static void term_above_the_known_one(struct run *run)
{
    enum backend_result result;
    const struct proof none = { 0, 0 };

    MUST(run, take(run, 0, none, 0, &result) == 1 && result == BACKEND_DONE);
    MUST(run, take(run, 7, none, 0, &result) == 8 && result == BACKEND_DONE);
    MUST(run, take(run, 3, none, 0, &result) == 9 && result == BACKEND_DONE);
}

static void claim_needs_the_proof(struct run *run)
{
    struct fence fence = { 1, 1 };
    enum backend_result result;
    const struct proof none = { 0, 0 };

    MUST(run, take(run, 0, none, 77, &result) == 1 && result == BACKEND_DONE);
    MUST(run, claim_with(run, (struct proof){ 1, 77 }, &fence) == BACKEND_DONE);
    MUST(run, claim_with(run, (struct proof){ 1, 78 }, &fence) == BACKEND_OTHER_STORE);
    MUST(run, claim_with(run, (struct proof){ 2, 77 }, &fence) == BACKEND_OTHER_STORE);
    MUST(run, take(run, 1, (struct proof){ 1, 78 }, 5, &result) && result == BACKEND_OTHER_STORE);
    MUST(run, take(run, 1, (struct proof){ 1, 77 }, 5, &result) == 2 && result == BACKEND_DONE);
}

static void old_proof_is_fenced(struct run *run)
{
    struct fence fence = { 1, 1 };
    enum backend_result result = BACKEND_DONE;
    struct proof proof = { 0, 0 };

    for (uint64_t i = 1; i <= BACKEND_PROOFS_MAX + 1; i++) {
        MUST(run, take(run, 0, proof, i, &result) == i && result == BACKEND_DONE);
        proof = (struct proof){ i, i };
    }
    MUST(run, claim_with(run, (struct proof){ 1, 1 }, &fence) == BACKEND_FENCED);
    MUST(run, fence.term == 2 && fence.epoch == 0);
    fence = (struct fence){ 2, 1 };
    MUST(run, claim_with(run, (struct proof){ 2, 2 }, &fence) == BACKEND_DONE);
}

static void term_lists_shards(struct run *run)
{
    struct journal_request *request =
        journal_request_take_term(slice_text(run->type), 0);
    uint32_t found = 0;

    for (char shard[] = "a"; shard[0] <= 'e'; shard[0]++)
        MUST(run, conform_claim(run, run->writer, shard, one) == BACKEND_DONE);
    request->lists = true;
    conform_do(run, run->writer, request);
    MUST(run, request->result == BACKEND_DONE);
    MUST(run, request->shards.count == 5);
    for (uint32_t i = 0; i < 5; i++) {
        struct slice name = backend_slice(request, request->shards.items[i].shard);

        MUST(run, name.size == 1);
        found |= 1u << (name.data[0] - 'a');
    }
    MUST(run, found == 31);
    journal_request_free(request);
}

const struct conform_case conform_fences[] = {
    { "fence-stale-append", fence_stale_append },
    { "fence-equal-own", fence_equal_own },
    { "fence-equal-two", fence_equal_two },
    { "fence-lower-claim", fence_lower_claim },
    { "fence-group-mixed", fence_group_mixed },
    { "fence-there-and-back", fence_there_and_back },
    { "fence-claim-waits", fence_claim_waits },
    { "fence-next", fence_next },
    { "term-unique", term_unique },
    { "term-above-the-known-one", term_above_the_known_one },
    { "position-gapless", position_gapless },
    { "claim-needs-the-proof", claim_needs_the_proof },
    { "old-proof-is-fenced", old_proof_is_fenced },
    { "term-lists-shards", term_lists_shards },
    { NULL, NULL },
};
