/* Cases of sherd-conform on snapshots, and on the events that are deleted behind them. */
#include "sherd-conform.h"

#include "base/limits.h"

static enum backend_result save(struct run *run, uint64_t seq, const char *text)
{
    return conform_settle(run, conform_save(run, one, seq, slice_text(text), 100));
}

static bool has(struct run *run, uint64_t up_to, uint64_t seq, const char *text)
{
    return conform_loads(run, up_to, seq, slice_text(text));
}

/* Stores events 1 to 5. False: the case ends, or does not apply. */
static bool fill(struct run *run)
{
    if (!run->keeps_snapshots) {
        run->skipped = "the back end keeps no snapshots";
        return false;
    }
    if (conform_claim(run, run->writer, "s", one) == BACKEND_DONE &&
        conform_put(run, run->writer, "s", one, "e", 1, "abcde") == BACKEND_DONE)
        return true;
    run->failed = "events cannot be stored";
    return false;
}

static void none_for_unknown(struct run *run)
{
    if (!fill(run))
        return;
    MUST(run, has(run, BACKEND_NEWEST, 0, ""));
}

static void newest(struct run *run)
{
    if (!fill(run))
        return;
    for (uint64_t seq = 1; seq <= 5; seq += 2)
        MUST(run, save(run, seq, seq == 5 ? "fifth" : "older") == BACKEND_DONE);
    MUST(run, has(run, BACKEND_NEWEST, 5, "fifth"));
    MUST(run, has(run, 5, 5, "fifth"));
    MUST(run, has(run, 4, 3, "older"));
    MUST(run, has(run, 1, 1, "older"));
    MUST(run, has(run, 0, 0, ""));
}

static void overwrites(struct run *run)
{
    if (!fill(run))
        return;
    MUST(run, save(run, 3, "first") == BACKEND_DONE);
    MUST(run, save(run, 3, "second") == BACKEND_DONE);
    MUST(run, has(run, BACKEND_NEWEST, 3, "second"));
}

/* An older one may be saved late; it counts as the others. */
static void keeps_the_newest(struct run *run)
{
    static const struct {
        uint64_t seq, oldest;
    } steps[] = { { 2, 0 }, { 5, 2 }, { 4, 4 }, { 4, 4 }, { 1, 4 } };

    if (!fill(run))
        return;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct journal_request *request =
            conform_save(run, one, steps[i].seq, slice_text("x"), 2);

        conform_do(run, run->writer, request);
        MUST(run, request->result == BACKEND_DONE);
        MUST(run, request->from == steps[i].oldest);
        journal_request_free(request);
    }
    MUST(run, has(run, BACKEND_NEWEST, 5, "x"));
    MUST(run, has(run, 4, 4, "x"));
    MUST(run, has(run, 3, 0, ""));
}

static void large(struct run *run, size_t size)
{
    uint8_t *bytes = mem_alloc(size);
    bool same;

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    same = conform_settle(run, conform_save(run, one, 5, slice_of(bytes, size), 2)) == BACKEND_DONE &&
           conform_loads(run, BACKEND_NEWEST, 5, slice_of(bytes, size));
    mem_free(bytes);
    MUST(run, same);
}

static void of_10000_bytes(struct run *run)
{
    if (fill(run))
        large(run, 10000);
}

static void of_1_mib(struct run *run)
{
    if (fill(run))
        large(run, 1 << 20);
}

static void of_16_mib(struct run *run)
{
    if (fill(run))
        large(run, JOURNAL_SNAPSHOT_SIZE_MAX + 60);
}

static void above_highest_refused(struct run *run)
{
    if (!fill(run))
        return;
    MUST(run, save(run, 6, "x") == BACKEND_CONFLICT);
    MUST(run, has(run, BACKEND_NEWEST, 0, ""));
    MUST(run, conform_put(run, run->writer, "s", one, "e", 6, "f") == BACKEND_DONE);
    MUST(run, save(run, 6, "x") == BACKEND_DONE);
}

static void owner_fenced(struct run *run)
{
    static const enum backend_verb verbs[] = { BACKEND_TRIM, BACKEND_DROP, BACKEND_SAVE };

    if (!fill(run))
        return;
    MUST(run, save(run, 4, "x") == BACKEND_DONE);
    MUST(run, conform_claim(run, run->other, "s", two) == BACKEND_DONE);
    for (int i = 0; i < 3; i++) {
        struct journal_request *request = conform_by_owner(run, verbs[i], one);

        if (verbs[i] == BACKEND_SAVE) {
            journal_request_free(request);
            request = conform_save(run, one, 5, slice_text("y"), 1);
        } else {
            request->from = verbs[i] == BACKEND_TRIM ? 4 : 1;
            request->count_max = 100;
        }
        conform_do(run, run->writer, request);
        MUST(run, request->result == BACKEND_FENCED);
        MUST(run, fence_compare(request->fence, one) > 0);
        journal_request_free(request);
    }
    MUST(run, has(run, BACKEND_NEWEST, 4, "x"));
    MUST(run, conform_has(run, "e", "abcde"));
}

static void with_append(struct run *run)
{
    struct journal_request *requests[2];
    bool done;

    if (!fill(run))
        return;
    requests[0] = conform_append(run, "s", one, "e", 6, "f");
    requests[1] = conform_save(run, one, 6, slice_text("x"), 2);
    run->ops->write(run->writer, requests, 2);
    done = requests[0]->entities.items[0].result == BACKEND_DONE &&
           requests[1]->result == BACKEND_DONE;
    journal_request_free(requests[0]);
    journal_request_free(requests[1]);
    MUST(run, done);
    MUST(run, conform_has(run, "e", "abcdef"));
    MUST(run, has(run, BACKEND_NEWEST, 6, "x"));
}

static void drop(struct run *run)
{
    struct journal_request *request;

    if (!fill(run))
        return;
    for (uint64_t seq = 2; seq <= 4; seq++)
        MUST(run, save(run, seq, "x") == BACKEND_DONE);
    request = conform_by_owner(run, BACKEND_DROP, one);
    request->from = 3;
    MUST(run, conform_settle(run, request) == BACKEND_DONE);
    MUST(run, has(run, BACKEND_NEWEST, 2, "x"));
    request = conform_by_owner(run, BACKEND_DROP, one);
    request->from = 3; /* they are gone already: no error */
    MUST(run, conform_settle(run, request) == BACKEND_DONE);
    MUST(run, has(run, BACKEND_NEWEST, 2, "x"));
}

static void trim(struct run *run)
{
    if (!fill(run))
        return;
    MUST(run, conform_trims(run, 3, 100, false, 2));
    MUST(run, conform_has(run, "e", "3:cde"));
    MUST(run, conform_trims(run, 3, 100, false, 0));
    MUST(run, conform_trims(run, 1, 100, false, 0));
    MUST(run, conform_has(run, "e", "3:cde"));
    MUST(run, conform_trims(run, 100, 100, false, 2));
    MUST(run, conform_has(run, "e", "5:e"));
    MUST(run, conform_put(run, run->writer, "s", one, "e", 6, "f") == BACKEND_DONE);
    MUST(run, conform_put(run, run->writer, "s", one, "e", 1, "a") == BACKEND_CONFLICT);
    MUST(run, conform_has(run, "e", "5:ef"));
}

static void trim_bounded(struct run *run)
{
    if (!fill(run))
        return;
    MUST(run, conform_trims(run, 5, 2, true, 2));
    MUST(run, conform_has(run, "e", "3:cde"));
    MUST(run, conform_trims(run, 5, 2, false, 2));
    MUST(run, conform_has(run, "e", "5:e"));
}

const struct conform_case conform_snapshots[] = {
    { "snapshot-none-for-unknown", none_for_unknown },
    { "snapshot-newest", newest },
    { "snapshot-overwrites", overwrites },
    { "snapshot-keeps-the-newest", keeps_the_newest },
    { "snapshot-10000-bytes", of_10000_bytes },
    { "snapshot-1-MiB", of_1_mib },
    { "snapshot-16-MiB", of_16_mib },
    { "snapshot-above-highest-refused", above_highest_refused },
    { "snapshot-fenced", owner_fenced },
    { "snapshot-with-append", with_append },
    { "snapshot-drop", drop },
    { "trim", trim },
    { "trim-bounded", trim_bounded },
    { NULL, NULL },
};
