/* Cases of sherd-conform on appends: sequence numbers, repetitions, groups and deletions. */
#include "sherd-conform.h"

#include <stdio.h>

#include "base/limits.h"

static enum backend_result again(struct run *run, struct fence fence,
                                 const char *id, uint64_t from,
                                 const char *events)
{
    struct journal_request *request =
        conform_append(run, "s", fence, id, from, events);

    request->again = true;
    return conform_write(run, run->writer, request);
}

static enum backend_result put(struct run *run, const char *id, uint64_t from,
                               const char *events)
{
    return conform_put(run, run->writer, "s", one, id, from, events);
}

static bool claimed(struct run *run)
{
    return conform_claim(run, run->writer, "s", one) == BACKEND_DONE;
}

static void append_gap(struct run *run)
{
    MUST(run, claimed(run));
    MUST(run, put(run, "e", 2, "b") == BACKEND_CONFLICT);
    MUST(run, put(run, "e", 1, "a") == BACKEND_DONE);
    MUST(run, put(run, "e", 3, "c") == BACKEND_CONFLICT);
    MUST(run, put(run, "e", 2, "b") == BACKEND_DONE);
    MUST(run, conform_has(run, "e", "ab"));
}

static void append_taken(struct run *run)
{
    MUST(run, claimed(run));
    MUST(run, put(run, "e", 1, "abc") == BACKEND_DONE);
    MUST(run, put(run, "e", 3, "x") == BACKEND_CONFLICT);
    MUST(run, put(run, "e", 3, "c") == BACKEND_CONFLICT);
    MUST(run, put(run, "e", 4, "d") == BACKEND_DONE);
    MUST(run, conform_has(run, "e", "abcd"));
}

static void again_written(struct run *run)
{
    MUST(run, claimed(run));
    MUST(run, put(run, "e", 1, "abc") == BACKEND_DONE);
    MUST(run, again(run, one, "e", 1, "abc") == BACKEND_DONE);
    MUST(run, again(run, one, "e", 2, "bc") == BACKEND_DONE);
    MUST(run, conform_has(run, "e", "abc"));
}

static void append_twice_other(struct run *run)
{
    MUST(run, claimed(run));
    MUST(run, put(run, "e", 1, "abc") == BACKEND_DONE);
    MUST(run, again(run, one, "e", 1, "abx") == BACKEND_CONFLICT);
    MUST(run, conform_has(run, "e", "abc"));
}

static void again_not_written(struct run *run)
{
    MUST(run, claimed(run));
    MUST(run, again(run, one, "e", 1, "ab") == BACKEND_DONE);
    MUST(run, again(run, one, "e", 1, "ab") == BACKEND_DONE);
    MUST(run, put(run, "e", 3, "c") == BACKEND_DONE);
    MUST(run, conform_has(run, "e", "abc"));
}

static void again_half(struct run *run)
{
    MUST(run, claimed(run));
    MUST(run, put(run, "e", 1, "ab") == BACKEND_DONE);
    MUST(run, again(run, one, "e", 1, "abcd") == BACKEND_DONE);
    MUST(run, conform_has(run, "e", "abcd"));
}

static void again_under_a_higher_fence(struct run *run)
{
    MUST(run, claimed(run));
    MUST(run, put(run, "e", 1, "ab") == BACKEND_DONE);
    MUST(run, conform_claim(run, run->other, "s", two) == BACKEND_DONE);
    MUST(run, again(run, one, "e", 1, "ab") == BACKEND_DONE);
    MUST(run, again(run, one, "e", 1, "abc") == BACKEND_FENCED);
    MUST(run, conform_has(run, "e", "ab"));
}

static void atomic_several(struct run *run)
{
    MUST(run, claimed(run));
    MUST(run, put(run, "e", 1, "a") == BACKEND_DONE);
    MUST(run, again(run, one, "e", 1, "xbc") == BACKEND_CONFLICT);
    MUST(run, conform_has(run, "e", "a"));
}

static void reject_among(struct run *run)
{
    struct journal_request *request = conform_append(run, "s", one, "f", 1, "a");
    const struct backend_entity *entities;

    MUST(run, claimed(run));
    MUST(run, put(run, "e", 1, "a") == BACKEND_DONE);
    conform_add(run, request, "s", one, "e", 3, "c");
    conform_add(run, request, "s", one, "g", 1, "ab");
    conform_do(run, run->writer, request);
    entities = request->entities.items;
    MUST(run, entities[0].result == BACKEND_DONE);
    MUST(run, entities[1].result == BACKEND_CONFLICT);
    MUST(run, entities[2].result == BACKEND_DONE);
    journal_request_free(request);
    MUST(run, conform_has(run, "e", "a"));
    MUST(run, conform_has(run, "f", "a"));
    MUST(run, conform_has(run, "g", "ab"));
}

/* Several requests of one group may continue one entity. */
static void group_of_requests(struct run *run)
{
    struct journal_request *requests[4];

    requests[0] = journal_request_claim(slice_text(run->type), slice_text("s"), one);
    requests[1] = conform_append(run, "s", one, "e", 1, "ab");
    requests[2] = conform_append(run, "s", one, "e", 3, "c");
    requests[3] = conform_append(run, "s", one, "f", 1, "x");
    run->ops->write(run->writer, requests, 4);
    MUST(run, requests[0]->result == BACKEND_DONE);
    for (int i = 1; i < 4; i++)
        MUST(run, requests[i]->entities.items[0].result == BACKEND_DONE);
    for (int i = 0; i < 4; i++)
        journal_request_free(requests[i]);
    MUST(run, conform_has(run, "e", "abc"));
    MUST(run, conform_has(run, "f", "x"));
}

static void big_group(struct run *run)
{
    struct journal_request *request = conform_append(run, "s", one, "e0", 1, "a");
    char id[16];
    uint32_t done = 0;

    MUST(run, claimed(run));
    for (int i = 1; i < 5000; i++) {
        (void)snprintf(id, sizeof id, "e%d", i); /* fits */
        conform_add(run, request, "s", one, id, 1, "a");
    }
    conform_do(run, run->writer, request);
    for (uint32_t i = 0; i < request->entities.count; i++)
        done += request->entities.items[i].result == BACKEND_DONE;
    journal_request_free(request);
    MUST(run, done == 5000);
    MUST(run, conform_has(run, "e4999", "a"));
    MUST(run, put(run, "e4999", 2, "b") == BACKEND_DONE);
}

static enum backend_result cut(struct run *run, struct fence fence,
                               uint64_t seq, const char *events, uint64_t below,
                               bool repeats)
{
    struct journal_request *request =
        conform_append(run, "s", fence, "e", seq, events);

    request->again = repeats;
    request->entities.items[0].cut = below;
    return conform_write(run, run->writer, request);
}

static void deleted_not_replayed(struct run *run)
{
    MUST(run, claimed(run));
    MUST(run, put(run, "e", 1, "abcd") == BACKEND_DONE);
    MUST(run, cut(run, one, 5, "e", 4, false) == BACKEND_DONE);
    MUST(run, conform_has(run, "e", "4:de"));
    MUST(run, cut(run, one, 6, "f", 6, false) == BACKEND_DONE);
    MUST(run, conform_has(run, "e", "6:f"));
}

static void highest_after_cut(struct run *run)
{
    MUST(run, claimed(run));
    MUST(run, put(run, "e", 1, "abc") == BACKEND_DONE);
    MUST(run, cut(run, one, 4, "d", 4, false) == BACKEND_DONE);
    MUST(run, conform_claim(run, run->other, "s", two) == BACKEND_DONE);
    MUST(run, conform_put(run, run->other, "s", two, "e", 1, "x") ==
                  BACKEND_CONFLICT);
    MUST(run, conform_put(run, run->other, "s", two, "e", 5, "e") ==
                  BACKEND_DONE);
    MUST(run, conform_has(run, "e", "4:de"));
}

static void cut_fenced(struct run *run)
{
    MUST(run, claimed(run));
    MUST(run, put(run, "e", 1, "abc") == BACKEND_DONE);
    MUST(run, conform_claim(run, run->other, "s", two) == BACKEND_DONE);
    MUST(run, cut(run, one, 4, "d", 4, false) == BACKEND_FENCED);
    MUST(run, cut(run, one, 3, "c", 3, true) == BACKEND_DONE);
    MUST(run, conform_has(run, "e", "abc"));
}

static void cut_bounded(struct run *run)
{
    struct journal_request *request = conform_append(run, "s", one, "e", 1, "");
    uint64_t last = BACKEND_CUT_MAX + 10;
    struct journal_request *found;

    MUST(run, claimed(run));
    for (uint64_t seq = 1; seq <= last; seq++)
        conform_add_record(request, seq, slice_text("x"));
    MUST(run, conform_write(run, run->writer, request) == BACKEND_DONE);
    MUST(run, cut(run, one, last + 1, "y", last + 1, false) == BACKEND_DONE);
    found = conform_replay(run, run->reader, "e", 1, 100, 1 << 20);
    MUST(run, found->records.count == 11);
    MUST(run, found->records.items[0].seq == BACKEND_CUT_MAX + 1);
    journal_request_free(found);
}

static void cut_repeat(struct run *run)
{
    MUST(run, claimed(run));
    MUST(run, put(run, "e", 1, "abc") == BACKEND_DONE);
    MUST(run, cut(run, one, 4, "d", 3, true) == BACKEND_DONE);
    MUST(run, cut(run, one, 4, "d", 3, true) == BACKEND_DONE);
    MUST(run, conform_has(run, "e", "3:cd"));
}

const struct conform_case conform_appends[] = {
    { "append-gap", append_gap },
    { "append-taken", append_taken },
    { "again-written", again_written },
    { "append-twice-other", append_twice_other },
    { "again-not-written", again_not_written },
    { "again-half", again_half },
    { "again-under-a-higher-fence", again_under_a_higher_fence },
    { "atomic-several", atomic_several },
    { "reject-among", reject_among },
    { "group-of-requests", group_of_requests },
    { "big-group", big_group },
    { "deleted-not-replayed", deleted_not_replayed },
    { "highest-after-cut", highest_after_cut },
    { "cut-fenced", cut_fenced },
    { "cut-bounded", cut_bounded },
    { "cut-repeat", cut_repeat },
    { NULL, NULL },
};
