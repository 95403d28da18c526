/* Cases of sherd-conform on a store that is changed while it is closed: damaged bytes, other versions, and
 * reasons to refuse it. */
#include "sherd-conform.h"

#include <string.h>

#include "base/limits.h"
#include "journal/record.h"

#define SNAPSHOT 100000

/* Stores events 1 to 5 of "e" and one of "f". */
static bool fill(struct run *run)
{
    if (conform_claim(run, run->writer, "s", one) == BACKEND_DONE &&
        conform_put(run, run->writer, "s", one, "e", 1, "abcde") == BACKEND_DONE &&
        conform_put(run, run->writer, "s", one, "f", 1, "x") == BACKEND_DONE)
        return true;
    run->failed = "events cannot be stored";
    return false;
}

/* Breaks the closed store, and opens it again. */
static bool change(struct run *run, const char *fault)
{
    conform_close(run);
    if (!conform_break(run, fault))
        return false;
    if (!conform_reopen(run))
        run->failed = run->error;
    return !run->failed;
}

static void goes_on(struct run *run)
{
    MUST_TELL(run, conform_claim(run, run->writer, "s", two) == BACKEND_DONE &&
                       conform_put(run, run->writer, "s", two, "f", 2, "y") == BACKEND_DONE &&
                       conform_has(run, "f", "xy"),
              "intact entities must be read and written");
}

/* The mark of the case, by which the command finds the bytes. */
static void put_mark(const struct run *run, uint8_t *bytes, size_t size)
{
    memset(bytes, '.', size);
    memcpy(bytes + size / 2, "mark-", 5);
    memcpy(bytes + size / 2 + 5, run->type, strlen(run->type));
}

static bool save(struct run *run, uint64_t seq, struct slice bytes)
{
    return conform_settle(run, conform_save(run, one, seq, bytes, 100)) == BACKEND_DONE;
}

/* Tells whether the newest snapshot is read as another one than the stored one, or without bytes. */
static bool loads_damaged(struct run *run, struct slice bytes)
{
    struct journal_request *request = conform_load(run, BACKEND_NEWEST);
    bool is_so;

    is_so = request->result == BACKEND_DONE && request->records.count == 1 &&
            request->records.items[0].seq == 4 &&
            !slice_equal(backend_slice(request, request->records.items[0].bytes), bytes);
    journal_request_free(request);
    return is_so;
}

static void damaged_falls_back(struct run *run)
{
    static uint8_t good[SNAPSHOT], marked[SNAPSHOT];

    if (!run->keeps_snapshots) {
        run->skipped = "the back end keeps no snapshots";
        return;
    }
    if (!fill(run))
        return;
    memset(good, 'g', sizeof good);
    put_mark(run, marked, sizeof marked);
    MUST(run, save(run, 2, slice_of(good, sizeof good)));
    MUST(run, save(run, 4, slice_of(marked, sizeof marked)));
    if (!change(run, run->name))
        return;
    MUST_TELL(run, loads_damaged(run, slice_of(marked, sizeof marked)),
              "the number of a damaged snapshot must be told, so that the next older one is asked for");
    MUST_TELL(run, conform_loads(run, 3, 2, slice_of(good, sizeof good)),
              "a snapshot before the damaged one must be read");
    MUST_TELL(run, conform_has(run, "e", "abcde"), "a damaged snapshot must not stop its entity");
    goes_on(run);
}

/* Tells whether all records of "e" are read and fit their checksums. */
static bool reads_all(struct run *run)
{
    struct journal_request *found =
        conform_replay(run, run->reader, "e", 1, 100, CONFORM_ALL);
    bool is_good = found->result == BACKEND_DONE;
    char text[400];

    conform_id(run, "e", text);
    for (uint32_t i = 0; is_good && i < found->records.count; i++) {
        const struct backend_record *stored = &found->records.items[i];
        struct record record;

        is_good = !record_decode(backend_slice(found, stored->bytes),
                                 record_key(slice_text(text)), stored->seq, &record);
    }
    is_good = is_good && found->records.count == 6;
    journal_request_free(found);
    return is_good;
}

static void damaged_event(struct run *run)
{
    static uint8_t marked[SNAPSHOT];
    struct journal_request *request;

    if (!fill(run))
        return;
    put_mark(run, marked, sizeof marked);
    request = conform_append(run, "s", one, "e", 6, "");
    conform_add_record(request, 6, slice_of(marked, sizeof marked));
    MUST(run, conform_write(run, run->writer, request) == BACKEND_DONE);
    MUST(run, reads_all(run));
    if (!change(run, run->name))
        return;
    MUST_TELL(run, !reads_all(run), "a damaged event must not pass for a good one");
    conform_close(run);
    if (!conform_mend(run))
        return;
    MUST_TELL(run, conform_reopen(run), run->error);
    MUST_TELL(run, reads_all(run), "a store must not change what it cannot read");
    goes_on(run);
}

/* The store is refused, or, if `may_open`, as good as before. */
static void refused_at_open(struct run *run, bool may_open)
{
    if (!fill(run))
        return;
    conform_close(run);
    if (!conform_break(run, run->name))
        return;
    if (conform_reopen(run)) {
        MUST_TELL(run, may_open, "the store must not be opened");
        MUST_TELL(run, conform_has(run, "e", "abcde"), "an older store must keep its events");
    } else {
        MUST_TELL(run, run->error[0], "a store that is not opened must tell why");
    }
    conform_close(run);
    if (!conform_mend(run))
        return;
    MUST_TELL(run, conform_reopen(run), run->error);
    MUST(run, conform_has(run, "e", "abcde"));
    goes_on(run);
}

static void is_refused(struct run *run)
{
    refused_at_open(run, false);
}

static void is_refused_or_upgraded(struct run *run)
{
    refused_at_open(run, true);
}

const struct conform_case conform_closed[] = {
    { "damaged-falls-back", damaged_falls_back },
    { "damaged-event", damaged_event },
    { "schema-newer", is_refused },
    { "schema-older", is_refused_or_upgraded },
    { "opened-read-only", is_refused },
    { "opened-without-auth", is_refused },
    { NULL, NULL },
};
