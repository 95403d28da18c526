/* Cases of sherd-conform on deleted events and snapshots: what is read after it, and what is kept. */
#include "sherd-conform.h"

#include "base/limits.h"

/* Stores events 1 to 8, and deletes those below a number. False: the case ends, or does not apply. */
static bool trimmed(struct run *run, uint64_t below)
{
    if (!run->keeps_snapshots) {
        run->skipped = "the back end deletes no events but with an append";
        return false;
    }
    if (conform_claim(run, run->writer, "s", one) != BACKEND_DONE ||
        conform_put(run, run->writer, "s", one, "e", 1, "abcdefgh") != BACKEND_DONE)
        run->failed = "events cannot be stored";
    else if (!conform_trims(run, below, 100, false, below > 8 ? 7 : (uint32_t)below - 1))
        run->failed = "a TRIM must delete all events below the number, but the last one";
    return !run->failed;
}

/* Events 1 to 4 are deleted. The count is of events that are there. */
static void reads_after(struct run *run, uint64_t from, uint32_t count_max, uint32_t count,
                        uint64_t first, bool more)
{
    if (trimmed(run, 5))
        MUST_TELL(run, conform_reads(run, from, count_max, CONFORM_ALL, count, first, more),
                  "a REPLAY must have the events that are left, in order, as many as it wants");
}

static void delete_lower(struct run *run)
{
    reads_after(run, 4, 100, 4, 5, false);
}

static void delete_inside(struct run *run)
{
    reads_after(run, 1, 2, 2, 5, true);
}

static void delete_edge(struct run *run)
{
    reads_after(run, 4, 1, 1, 5, true);
}

static void delete_first_left(struct run *run)
{
    reads_after(run, 5, 4, 4, 5, false);
}

static void delete_span(struct run *run)
{
    reads_after(run, 2, 3, 3, 5, true);
}

static void deletion_outlives_reopening(struct run *run)
{
    if (run->is_memory) {
        run->skipped = "a journal in memory ends with its last connection";
        return;
    }
    if (!trimmed(run, 5))
        return;
    MUST_TELL(run, conform_reopen(run), run->error);
    MUST_TELL(run, conform_has(run, "e", "5:efgh"), "deleted events must stay so");
    MUST(run, conform_claim(run, run->writer, "s", two) == BACKEND_DONE);
    MUST(run, conform_put(run, run->writer, "s", two, "e", 4, "x") == BACKEND_CONFLICT);
    MUST(run, conform_put(run, run->writer, "s", two, "e", 9, "i") == BACKEND_DONE);
}

/* The last event stays, so the next owner knows the number without another row. */
static void highest_after_delete_all(struct run *run)
{
    if (!trimmed(run, 100))
        return;
    MUST(run, conform_reads(run, BACKEND_LAST, 1, CONFORM_ALL, 1, 8, false));
    MUST(run, conform_reads(run, 1, 100, CONFORM_ALL, 1, 8, false));
    MUST(run, conform_claim(run, run->other, "s", two) == BACKEND_DONE);
    MUST_TELL(run, conform_put(run, run->other, "s", two, "e", 1, "x") == BACKEND_CONFLICT,
              "a deletion must not reset the numbers of an entity");
    MUST(run, conform_put(run, run->other, "s", two, "e", 9, "i") == BACKEND_DONE);
    MUST(run, conform_has(run, "e", "8:hi"));
}

static void delete_keeps_others(struct run *run)
{
    if (!trimmed(run, 5))
        return;
    MUST(run, conform_put(run, run->writer, "s", one, "f", 1, "abc") == BACKEND_DONE);
    MUST(run, conform_trims(run, 8, 100, false, 3));
    MUST(run, conform_has(run, "e", "8:h"));
    MUST_TELL(run, conform_has(run, "f", "abc"), "a TRIM must leave other entities alone");
}

static void delete_unknown(struct run *run)
{
    struct journal_request *request;

    if (!run->keeps_snapshots) {
        run->skipped = "the back end keeps no snapshots";
        return;
    }
    MUST(run, conform_claim(run, run->writer, "s", one) == BACKEND_DONE);
    MUST_TELL(run, conform_trims(run, 5, 100, false, 0),
              "a TRIM of an entity without events must delete nothing");
    request = conform_by_owner(run, BACKEND_DROP, one);
    request->from = 1;
    MUST_TELL(run, conform_settle(run, request) == BACKEND_DONE,
              "a DROP of an entity without snapshots is no error");
    MUST(run, conform_put(run, run->writer, "s", one, "e", 1, "a") == BACKEND_DONE);
}

static void delete_with_append(struct run *run)
{
    struct journal_request *requests[2];
    bool done;

    if (!trimmed(run, 3))
        return;
    requests[0] = conform_append(run, "s", one, "e", 9, "ij");
    requests[1] = conform_by_owner(run, BACKEND_TRIM, one);
    requests[1]->from = 10;
    requests[1]->count_max = 100;
    run->ops->write(run->writer, requests, 2);
    done = requests[0]->entities.items[0].result == BACKEND_DONE &&
           requests[1]->result == BACKEND_DONE && requests[1]->deleted == 7;
    journal_request_free(requests[0]);
    journal_request_free(requests[1]);
    MUST_TELL(run, done, "an append and a TRIM of one group must both be done, in order");
    MUST(run, conform_has(run, "e", "10:j"));
}

/* ---- snapshots ---- */

static bool save(struct run *run, uint64_t seq, const char *text)
{
    return conform_settle(run, conform_save(run, one, seq, slice_text(text), 100)) ==
           BACKEND_DONE;
}

static bool drop(struct run *run, uint64_t from)
{
    struct journal_request *request = conform_by_owner(run, BACKEND_DROP, one);

    request->from = from;
    return conform_settle(run, request) == BACKEND_DONE;
}

static void delete_events_keeps_snapshots(struct run *run)
{
    if (!trimmed(run, 2))
        return;
    MUST(run, save(run, 3, "third"));
    MUST(run, conform_trims(run, 6, 100, false, 4));
    MUST_TELL(run, conform_loads(run, BACKEND_NEWEST, 3, slice_text("third")),
              "a TRIM must leave snapshots alone");
    MUST(run, conform_has(run, "e", "6:fgh"));
}

static void delete_snapshots_keeps_events(struct run *run)
{
    if (!trimmed(run, 2))
        return;
    for (uint64_t seq = 3; seq <= 7; seq += 2)
        MUST(run, save(run, seq, "x"));
    MUST(run, drop(run, 1));
    MUST_TELL(run, conform_loads(run, BACKEND_NEWEST, 0, slice_text("")),
              "a DROP from 1 must delete all snapshots");
    MUST_TELL(run, conform_has(run, "e", "2:bcdefgh"), "a DROP must leave events alone");
    MUST_TELL(run, save(run, 5, "again") && conform_loads(run, BACKEND_NEWEST, 5, slice_text("again")),
              "a snapshot of a dropped number may be stored again");
}

static void delete_then_newest_is_older(struct run *run)
{
    if (!trimmed(run, 2))
        return;
    MUST(run, save(run, 3, "third"));
    MUST(run, save(run, 5, "fifth"));
    MUST(run, drop(run, 5));
    MUST(run, conform_loads(run, BACKEND_NEWEST, 3, slice_text("third")));
    MUST(run, conform_loads(run, 2, 0, slice_text("")));
}

const struct conform_case conform_deletions[] = {
    { "delete-lower", delete_lower },
    { "delete-inside", delete_inside },
    { "delete-edge", delete_edge },
    { "delete-first-left", delete_first_left },
    { "delete-span", delete_span },
    { "delete-keeps-others", delete_keeps_others },
    { "delete-unknown", delete_unknown },
    { "delete-with-append", delete_with_append },
    { "deleted-after-reopening", deletion_outlives_reopening },
    { "highest-after-delete-all", highest_after_delete_all },
    { "delete-events-keeps-snapshots", delete_events_keeps_snapshots },
    { "delete-snapshots-keeps-events", delete_snapshots_keeps_events },
    { "delete-then-newest-is-older", delete_then_newest_is_older },
    { NULL, NULL },
};
