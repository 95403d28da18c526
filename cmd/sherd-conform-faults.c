/* Cases of sherd-conform on a store that is broken while it is used, and mended later. */
#define _POSIX_C_SOURCE 200809L
#include "sherd-conform.h"

#include <string.h>
#include <time.h>

#include "base/limits.h"

#define MEND_SECONDS 60
#define LARGE (64 * 1024)
#define LARGE_MAX 4096 /* appends that must fill the store */

static const char kept[] = "confirmed events must be stored once, and nothing else";

/* Repeats an append until the store, which was mended, has decided. An outcome that was unknown must be
 * asked for; after a failure nothing was written. */
static enum backend_result repeat(struct run *run, void *writer, enum backend_result result,
                                  const char *id, uint64_t seq, const char *event)
{
    const struct timespec pause = { .tv_nsec = 20000000 };
    double end = conform_seconds() + MEND_SECONDS;
    bool again = false;

    while ((result == BACKEND_FAILED || result == BACKEND_UNKNOWN) && conform_seconds() < end) {
        struct journal_request *request = conform_append(run, "s", one, id, seq, event);

        again |= result == BACKEND_UNKNOWN;
        request->again = again;
        result = conform_write(run, writer, request);
        if (result != BACKEND_DONE)
            (void)nanosleep(&pause, NULL);
    }
    return result;
}

/* Claims the shard and stores the first event. */
static bool begin(struct run *run)
{
    if (conform_claim(run, run->writer, "s", one) == BACKEND_DONE &&
        conform_put(run, run->writer, "s", one, "e", 1, "a") == BACKEND_DONE)
        return true;
    run->failed = "an event cannot be stored";
    return false;
}

static bool is_refusal(enum backend_result result)
{
    return result == BACKEND_FAILED || result == BACKEND_UNKNOWN;
}

static bool can_write(struct run *run)
{
    char error[BACKEND_ERROR_MAX] = "";

    return run->ops->can_write(run->writer, error);
}

/* Nothing is confirmed while the store refuses writes, and the same connections go on later. */
static void refused_until_mended(struct run *run)
{
    enum backend_result result, claimed;
    bool has_trial = run->tries_writes;

    if (!begin(run) || !conform_break(run, run->name))
        return;
    result = conform_put(run, run->writer, "s", one, "e", 2, "b");
    claimed = conform_claim(run, run->other, "t", one);
    MUST_TELL(run, is_refusal(result), "an append to a broken store must be FAILED or UNKNOWN");
    MUST_TELL(run, is_refusal(claimed), "a claim in a broken store must be FAILED or UNKNOWN");
    MUST_TELL(run, !has_trial || !can_write(run), "can_write must fail while nothing can be written");
    if (!conform_mend(run))
        return;
    result = repeat(run, run->writer, result, "e", 2, "b");
    MUST_TELL(run, result == BACKEND_DONE, "the same writer must go on once the store is mended");
    MUST(run, !has_trial || can_write(run));
    MUST(run, conform_claim(run, run->other, "t", one) == BACKEND_DONE);
    MUST_TELL(run, conform_has(run, "e", "ab"), kept);
}

static enum backend_result put_large(struct run *run, uint64_t seq)
{
    static uint8_t bytes[LARGE];
    struct journal_request *request = conform_append(run, "s", one, "large", seq, "");

    memset(bytes, (int)('a' + seq % 26), sizeof bytes);
    conform_add_record(request, seq, slice_of(bytes, sizeof bytes));
    return conform_write(run, run->writer, request);
}

static void full(struct run *run)
{
    enum backend_result result = BACKEND_DONE;
    struct journal_request *found;
    uint64_t seq = 0, count;
    double end;

    if (!begin(run) || !conform_break(run, run->name))
        return;
    while (result == BACKEND_DONE && seq < LARGE_MAX)
        result = put_large(run, ++seq);
    MUST_TELL(run, is_refusal(result), "an append to a full store must be FAILED or UNKNOWN");
    MUST_TELL(run, conform_has(run, "e", "a"), "a full store must be read");
    if (!conform_mend(run))
        return;
    end = conform_seconds() + MEND_SECONDS;
    while (run->tries_writes && !can_write(run) && conform_seconds() < end)
        ;
    result = repeat(run, run->writer, result == BACKEND_UNKNOWN ? result : BACKEND_FAILED, "e", 2, "b");
    MUST_TELL(run, result == BACKEND_DONE, "the same writer must go on once there is room");
    MUST_TELL(run, conform_has(run, "e", "ab"), kept);
    found = conform_replay(run, run->reader, "large", 1, LARGE_MAX, CONFORM_ALL);
    count = found->records.count;
    journal_request_free(found);
    MUST_TELL(run, count + 1 == seq || count == seq, kept);
    MUST(run, put_large(run, count + 1) == BACKEND_DONE);
}

/* Another program reads in one transaction for a long time. */
static void open_reader(struct run *run)
{
    if (!begin(run) || !conform_break(run, run->name))
        return;
    for (uint64_t seq = 2; seq <= 200; seq++) {
        struct journal_request *request = conform_append(run, "s", one, "e", seq, "b");

        request->entities.items[0].cut = seq;
        MUST_TELL(run, conform_write(run, run->writer, request) == BACKEND_DONE,
                  "a transaction that reads must not stop appends and deletions");
    }
    MUST_TELL(run, conform_has(run, "e", "200:b"), kept);
}

/* Another program keeps the shard's row, as a former owner that stopped in a transaction. */
static void held_shard(struct run *run)
{
    double began;

    if (!begin(run) || !conform_break(run, run->name))
        return;
    began = conform_seconds();
    MUST_TELL(run, conform_claim(run, run->other, "s", two) == BACKEND_DONE,
              "a claim must end the transaction of a former owner");
    MUST_TELL(run, conform_seconds() - began < 30, "a claim must be done within 30 s");
    MUST(run, conform_put(run, run->other, "s", two, "e", 2, "b") == BACKEND_DONE);
    MUST_TELL(run, conform_has(run, "e", "ab"), kept);
}

/* Another store answers in the place of this one: nothing is written to it. */
static void other_store(struct run *run)
{
    if (!begin(run) || !conform_break(run, run->name))
        return;
    MUST_TELL(run, is_refusal(conform_put(run, run->writer, "s", one, "e", 2, "x")),
              "an append to another store must be refused");
    MUST_TELL(run, is_refusal(conform_claim(run, run->other, "s", two)),
              "a claim in another store must be refused");
    conform_close(run);
    if (!conform_mend(run))
        return;
    MUST_TELL(run, conform_reopen(run), run->error);
    MUST_TELL(run, conform_has(run, "e", "a"), kept);
    MUST(run, conform_claim(run, run->writer, "s", one) == BACKEND_DONE);
    MUST(run, conform_put(run, run->writer, "s", one, "e", 2, "b") == BACKEND_DONE);
}

/* The store returns to an earlier state, and lacks confirmed events. The entity of the refused append lost
 * none itself. */
static void position_lost(struct run *run)
{
    enum backend_result result;

    if (!begin(run) || !conform_break(run, "remember"))
        return;
    MUST(run, conform_put(run, run->writer, "s", one, "f", 1, "x") == BACKEND_DONE);
    MUST(run, conform_put(run, run->writer, "s", one, "e", 2, "bc") == BACKEND_DONE);
    if (!conform_break(run, "go-back"))
        return;
    if (run->ops->is_whole) /* a node looks each second */
        (void)run->ops->is_whole(run->writer, run->error);
    result = conform_put(run, run->writer, "s", one, "g", 1, "y");
    MUST_TELL(run, result == BACKEND_FENCED || result == BACKEND_FAILED,
              "an append must be LOST or FAILED once the store has less than it confirmed");
    conform_close(run);
    if (!conform_mend(run))
        return;
    MUST_TELL(run, conform_reopen(run), run->error);
    MUST_TELL(run, conform_claim(run, run->writer, "s", two) == BACKEND_DONE,
              "the next owner must go on with what is there");
    MUST(run, conform_has(run, "e", "a"));
    MUST(run, conform_has(run, "g", ""));
    MUST(run, conform_put(run, run->writer, "s", two, "e", 2, "B") == BACKEND_DONE);
}

const struct conform_case conform_faults[] = {
    { "full", full },
    { "read-only", refused_until_mended },
    { "auth-lost", refused_until_mended },
    { "server-stopped", refused_until_mended },
    { "open-reader", open_reader },
    { "held-shard", held_shard },
    { "other-store", other_store },
    { "position-lost", position_lost },
    { NULL, NULL },
};
