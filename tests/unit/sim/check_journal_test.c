/* Tests check_journal with correct histories and each rule broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/timers.h"
#include "base/vec.h"
#include "journal/record.h"
#include "sim/check/check_journal.h"
#include "sim/world/verdict.h"

static const struct fence one = { 1, 1 };
static const struct fence two = { 1, 2 };

struct bench {
    uint64_t now;
    struct verdict *verdict;
    struct check_journal *check;
    struct disk_backend_observer told;
    struct book *book;
};

static int bench_begin(void **state)
{
    struct bench *bench = mem_alloc(sizeof *bench);

    bench->verdict = verdict_new(1, &bench->now);
    bench->check = check_journal_new(bench->verdict);
    bench->told = check_journal_observer(bench->check);
    bench->book = book_new("c");
    *state = bench;
    return 0;
}

static int bench_end(void **state)
{
    struct bench *bench = *state;

    book_free(bench->book);
    check_journal_free(bench->check);
    verdict_free(bench->verdict);
    mem_free(bench);
    return 0;
}

/* Exactly this rule is broken; null: none. */
static void assert_broken(const struct bench *bench, const char *invariant)
{
    if (!invariant && verdict_count(bench->verdict))
        fail_msg("%s: %s", verdict_at(bench->verdict, 0)->invariant,
                 verdict_at(bench->verdict, 0)->text);
    if (!invariant)
        return;
    assert_int_equal(verdict_count(bench->verdict), 1);
    assert_string_equal(verdict_at(bench->verdict, 0)->invariant, invariant);
}

/* One event for each letter. */
static struct journal_request *append_of(struct fence fence, const char *id,
                                       uint64_t seq, const char *letters)
{
    struct journal_request *request = journal_request_new(BACKEND_APPEND);
    struct backend_shard shard = { .fence = fence };
    struct backend_entity entity = { .shard = 0 };

    shard.type = backend_put(request, slice_text("T"));
    shard.shard = backend_put(request, slice_text("s"));
    vec_push(&request->shards, shard);
    entity.id = backend_put(request, slice_text(id));
    vec_push(&request->entities, entity);
    for (; *letters; letters++) {
        struct record record = { .event_type = 7,
                                 .fence = fence,
                                 .payload = slice_of(letters, 1) };
        struct backend_record stored = { .seq = seq++ };

        stored.bytes.at = (uint32_t)request->bytes.size;
        record_encode(&request->bytes, record_key(slice_text(id)), stored.seq,
                      &record);
        stored.bytes.size = (uint32_t)request->bytes.size - stored.bytes.at;
        vec_push(&request->records, stored);
    }
    return request;
}

static void asked(struct bench *bench, uint32_t node,
                  const struct journal_request *request)
{
    bench->told.asked(bench->told.user, node, request);
}

static void answered(struct bench *bench, uint32_t node,
                     const struct journal_request *request)
{
    bench->told.answered(bench->told.user, node, request);
}

static void committed(struct bench *bench, struct journal_request *request)
{
    bench->told.committed(bench->told.user, bench->book, &request, 1);
}

/* A correct store's answer; the results stay for the caller. */
static void run(struct bench *bench, uint32_t node,
                struct journal_request *request)
{
    asked(bench, node, request);
    if (request->verb == BACKEND_REPLAY) {
        book_read(bench->book, request);
    } else {
        book_write(bench->book, request);
        committed(bench, request);
        book_keep(bench->book);
    }
    answered(bench, node, request);
}

static enum backend_result append(struct bench *bench, uint32_t node,
                                struct fence fence, const char *id,
                                uint64_t seq, const char *letters)
{
    struct journal_request *request = append_of(fence, id, seq, letters);
    enum backend_result result;

    run(bench, node, request);
    result = request->entities.items[0].result;
    journal_request_free(request);
    return result;
}

static void claim(struct bench *bench, struct fence fence)
{
    struct journal_request *request =
        journal_request_claim(slice_text("T"), slice_text("s"), fence);

    run(bench, 1, request);
    journal_request_free(request);
}

static void replay(struct bench *bench, uint32_t node, const char *id)
{
    struct journal_request *request =
        journal_request_replay(slice_text(id), 1, 1000, 1 << 20);

    run(bench, node, request);
    journal_request_free(request);
}

static void answer_with(struct bench *bench, uint32_t node,
                        struct journal_request *request,
                        enum backend_result result)
{
    asked(bench, node, request);
    backend_settle(request, result, "");
    answered(bench, node, request);
}

static void acknowledged(struct bench *bench, const char *id, uint64_t seq,
                         const char *letter)
{
    check_journal_acknowledged(bench->check, "T", id, seq, 7,
                               slice_text(letter));
}

static void a_correct_store_passes(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request;

    claim(bench, one);
    assert_int_equal(append(bench, 1, one, "T|x", 1, "ab"), BACKEND_DONE);
    acknowledged(bench, "x", 1, "a");
    acknowledged(bench, "x", 2, "b");
    claim(bench, two);
    assert_int_equal(append(bench, 1, one, "T|x", 3, "c"), BACKEND_FENCED);
    assert_int_equal(append(bench, 2, two, "T|x", 3, "d"), BACKEND_DONE);
    assert_int_equal(append(bench, 2, two, "T|x", 3, "e"), BACKEND_CONFLICT);
    acknowledged(bench, "x", 3, "d");
    replay(bench, 2, "T|x");
    request = journal_request_take_term(slice_text("T"), 0);
    run(bench, 1, request);
    run(bench, 2, request);
    journal_request_free(request);
    /* A repetition reads an unknown outcome back. */
    request = append_of(two, "T|x", 4, "f");
    answer_with(bench, 2, request, BACKEND_UNKNOWN);
    request->again = true;
    run(bench, 2, request);
    journal_request_free(request);
    acknowledged(bench, "x", 4, "f");
    assert_int_equal(append(bench, 2, two, "T|x", 5, "g"), BACKEND_DONE);
    /* A repetition fails, and a replay shows the outcome. */
    request = append_of(two, "T|x", 6, "h");
    answer_with(bench, 2, request, BACKEND_UNKNOWN);
    request->again = true;
    answer_with(bench, 2, request, BACKEND_FAILED);
    journal_request_free(request);
    replay(bench, 2, "T|x");
    assert_int_equal(append(bench, 2, two, "T|x", 6, "i"), BACKEND_DONE);
    /* The node has ended, and its next incarnation owes nothing. */
    request = append_of(two, "T|x", 7, "j");
    answer_with(bench, 2, request, BACKEND_UNKNOWN);
    journal_request_free(request);
    bench->told.node_gone(bench->told.user, 2);
    assert_int_equal(append(bench, 2, two, "T|x", 7, "k"), BACKEND_DONE);
    check_journal_scan(bench->check, bench->book);
    assert_broken(bench, NULL);
    assert_int_equal(check_journal_counts(bench->check)->events, 7);
    assert_int_equal(check_journal_counts(bench->check)->refused, 2);
    assert_int_equal(check_journal_counts(bench->check)->unknown, 3);
}

static void an_event_that_a_scan_finds_counts(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request = append_of(one, "T|x", 1, "a");

    answer_with(bench, 1, request, BACKEND_UNKNOWN);
    book_write(bench->book, request);
    journal_request_free(request);
    bench->told.opened(bench->told.user, bench->book);
    assert_int_equal(check_journal_counts(bench->check)->found, 1);
    replay(bench, 2, "T|x");
    acknowledged(bench, "x", 1, "a"); /* by node 2, which has read it */
    assert_broken(bench, NULL);
}

/* Eight events, the last with the first as its base, like all here; then one more with a cut. */
static void cut_stream(struct bench *bench, const char *id, uint64_t cut)
{
    struct journal_request *request = append_of(one, id, 9, "i");

    append(bench, 1, one, id, 1, "abcdefgh");
    request->entities.items[0].cut = cut;
    run(bench, 1, request);
    journal_request_free(request);
    assert_int_equal(book_first(bench->book, slice_text(id)), cut);
    check_journal_scan(bench->check, bench->book);
}

static void records_that_a_base_replaces_may_go(void **state)
{
    struct bench *bench = *state;

    cut_stream(bench, "|T|s", 2);
    replay(bench, 1, "|T|s");
    assert_broken(bench, NULL);
}

static void no_lost_ack_a_deleted_base_is_found(void **state)
{
    struct bench *bench = *state;

    cut_stream(bench, "|T|s", 3);
    assert_broken(bench, "no-lost-ack");
}

static void no_lost_ack_a_deleted_event_is_found(void **state)
{
    struct bench *bench = *state;

    cut_stream(bench, "T|x", 2);
    assert_broken(bench, "no-lost-ack");
}

static struct journal_request *by_owner(enum backend_verb verb)
{
    return journal_request_owner(verb, slice_text("T"), slice_text("s"), one, slice_text("x"));
}

/* Stores a snapshot of an event; damaged: it cannot be read. */
static void save(struct bench *bench, uint64_t seq, bool damaged)
{
    struct journal_request *request = by_owner(BACKEND_SAVE);
    struct backend_record record = { .seq = seq };
    struct buf bytes = { 0 };

    snapshot_encode(&bytes, record_key(slice_text("x")), damaged ? seq + 1 : seq,
                    &(struct snapshot){ .image = slice_text("i") });
    record.bytes = backend_put(request, buf_slice(&bytes));
    buf_fini(&bytes);
    vec_push(&request->records, record);
    request->count_max = 9;
    run(bench, 0, request);
    journal_request_free(request);
}

static void trim(struct bench *bench, uint64_t from)
{
    struct journal_request *request = by_owner(BACKEND_TRIM);

    request->from = from;
    request->count_max = 9;
    run(bench, 0, request);
    journal_request_free(request);
}

static void five_events(struct bench *bench)
{
    struct journal_request *request = append_of(one, "x", 1, "abcde");

    claim(bench, one);
    run(bench, 0, request);
    journal_request_free(request);
}

static void events_behind_a_snapshot_may_go(void **state)
{
    struct bench *bench = *state;

    five_events(bench);
    save(bench, 3, false);
    trim(bench, 4);
    bench->told.opened(bench->told.user, bench->book);
    replay(bench, 0, "x");
    assert_broken(bench, NULL);
}

static void retained_state_events_that_no_snapshot_has_are_found(void **state)
{
    struct bench *bench = *state;

    five_events(bench);
    save(bench, 3, false);
    trim(bench, 5);
    assert_broken(bench, "retained-state");
}

static void retained_state_events_behind_a_damaged_snapshot_are_found(void **state)
{
    struct bench *bench = *state;

    five_events(bench);
    save(bench, 4, true);
    trim(bench, 4);
    assert_broken(bench, "retained-state");
}

static void no_lost_ack_a_lost_event_is_found(void **state)
{
    struct bench *bench = *state;

    append(bench, 1, one, "T|x", 1, "a");
    append(bench, 1, one, "T|x", 2, "b");
    book_free(bench->book);
    bench->book = book_new("c");
    bench->told.opened(bench->told.user, bench->book);
    assert_broken(bench, "no-lost-ack");
}

static void no_lost_ack_a_changed_event_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request = append_of(one, "T|x", 1, "z");

    append(bench, 1, one, "T|x", 1, "a");
    book_free(bench->book);
    bench->book = book_new("c");
    book_write(bench->book, request);
    journal_request_free(request);
    check_journal_scan(bench->check, bench->book);
    assert_broken(bench, "no-lost-ack");
}

static void no_lost_ack_an_answer_before_durability_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request = append_of(one, "T|x", 1, "a");

    answer_with(bench, 1, request, BACKEND_DONE);
    journal_request_free(request);
    assert_broken(bench, "no-lost-ack");
}

static void no_lost_ack_an_acknowledgement_before_durability_is_found(void **state)
{
    struct bench *bench = *state;

    append(bench, 1, one, "T|x", 1, "a");
    acknowledged(bench, "x", 2, "b");
    assert_broken(bench, "no-lost-ack");
}

static void no_lost_ack_an_acknowledgement_of_another_event_is_found(void **state)
{
    struct bench *bench = *state;

    append(bench, 1, one, "T|x", 1, "a");
    acknowledged(bench, "x", 1, "b");
    assert_broken(bench, "no-lost-ack");
}

static void no_lost_ack_a_commit_without_its_records_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request = append_of(one, "T|x", 1, "a");

    asked(bench, 1, request);
    backend_settle(request, BACKEND_DONE, "");
    committed(bench, request); /* the book has nothing of it */
    journal_request_free(request);
    assert_broken(bench, "no-lost-ack");
}

/* The store accepts what its own rules refuse. */
static void take_anyway(struct bench *bench, uint32_t node,
                        struct journal_request *request)
{
    struct backend_entity *entity = &request->entities.items[0];

    asked(bench, node, request);
    for (uint32_t i = 0; i < request->records.count; i++) {
        struct backend_record *record = &request->records.items[i];
        struct book_change change = {
            .kind = BOOK_RECORD,
            .id = backend_slice(request, entity->id),
            .seq = record->seq,
            .bytes = backend_slice(request, record->bytes),
        };

        (void)book_apply(bench->book, &change); /* if it can */
    }
    backend_settle(request, BACKEND_DONE, "");
    committed(bench, request);
    book_keep(bench->book);
    journal_request_free(request);
}

static void fenced_writes_a_record_under_a_stale_fence_is_found(void **state)
{
    struct bench *bench = *state;

    claim(bench, two);
    take_anyway(bench, 1, append_of(one, "T|x", 1, "a"));
    assert_broken(bench, "fenced-writes");
}

static void fenced_writes_decreasing_fences_are_found(void **state)
{
    struct bench *bench = *state;

    append(bench, 1, two, "T|x", 1, "a"); /* no claim: no stored fence */
    append(bench, 2, one, "T|x", 2, "b");
    assert_broken(bench, "fenced-writes");
}

static void fenced_writes_a_claim_that_lowers_a_fence_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request =
        journal_request_claim(slice_text("T"), slice_text("s"), one);

    claim(bench, two);
    backend_settle(request, BACKEND_DONE, "");
    committed(bench, request);
    journal_request_free(request);
    assert_broken(bench, "fenced-writes");
}

static void fenced_writes_an_answered_claim_that_is_not_durable_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request =
        journal_request_claim(slice_text("T"), slice_text("s"), one);

    answer_with(bench, 1, request, BACKEND_DONE);
    journal_request_free(request);
    assert_broken(bench, "fenced-writes");
}

static void fenced_writes_a_fence_that_goes_back_is_found(void **state)
{
    struct bench *bench = *state;

    claim(bench, two);
    book_free(bench->book);
    bench->book = book_new("c");
    bench->told.opened(bench->told.user, bench->book);
    assert_broken(bench, "fenced-writes");
}

static void fenced_writes_an_acknowledged_refused_event_is_found(void **state)
{
    struct bench *bench = *state;

    claim(bench, two);
    assert_int_equal(append(bench, 1, one, "T|x", 1, "a"), BACKEND_FENCED);
    acknowledged(bench, "x", 1, "a");
    assert_broken(bench, "fenced-writes");
}

static void coordinator_state_a_term_given_twice_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request =
        journal_request_take_term(slice_text("T"), 0);

    run(bench, 1, request);
    committed(bench, request); /* the same answer once more */
    journal_request_free(request);
    assert_broken(bench, "coordinator-state");
}

static void coordinator_state_a_term_that_goes_back_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request =
        journal_request_take_term(slice_text("T"), 0);

    run(bench, 1, request);
    journal_request_free(request);
    book_free(bench->book);
    bench->book = book_new("c");
    bench->told.opened(bench->told.user, bench->book);
    assert_broken(bench, "coordinator-state");
}

static void coordinator_state_a_given_term_that_is_not_durable_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request =
        journal_request_take_term(slice_text("T"), 4);

    answer_with(bench, 1, request, BACKEND_DONE);
    journal_request_free(request);
    assert_broken(bench, "coordinator-state");
}

static void faithful_replay_an_unreadable_record_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request = append_of(one, "T|x", 1, "a");

    request->bytes.data[request->records.items[0].bytes.at + 1] ^= 1;
    take_anyway(bench, 1, request);
    assert_broken(bench, "faithful-replay");
}

static void faithful_replay_a_replay_of_another_event_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request =
        journal_request_replay(slice_text("T|x"), 1, 10, 1000);

    append(bench, 1, one, "T|x", 1, "a");
    asked(bench, 1, request);
    book_read(bench->book, request);
    request->bytes.data[request->records.items[0].bytes.at + 1] ^= 1;
    answered(bench, 1, request);
    journal_request_free(request);
    assert_broken(bench, "faithful-replay");
}

static void faithful_replay_a_replay_of_an_undurable_event_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request = append_of(one, "T|x", 1, "a");

    book_write(bench->book, request);
    journal_request_free(request);
    replay(bench, 1, "T|x");
    assert_broken(bench, "faithful-replay");
}

static void gapless_sequence_a_replay_that_ends_early_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request =
        journal_request_replay(slice_text("T|x"), 1, 10, 1000);

    append(bench, 1, one, "T|x", 1, "ab");
    asked(bench, 1, request);
    book_read(bench->book, request);
    request->records.count--;
    answered(bench, 1, request);
    journal_request_free(request);
    assert_broken(bench, "gapless-sequence");
}

static void gapless_sequence_a_replay_with_a_gap_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request =
        journal_request_replay(slice_text("T|x"), 1, 10, 1000);

    append(bench, 1, one, "T|x", 1, "abc");
    asked(bench, 1, request);
    book_read(bench->book, request);
    vec_remove(&request->records, 1);
    request->more = true;
    answered(bench, 1, request);
    journal_request_free(request);
    assert_broken(bench, "gapless-sequence");
}

static void gapless_sequence_a_number_given_twice_is_found(void **state)
{
    struct bench *bench = *state;

    append(bench, 1, one, "T|x", 1, "a");
    take_anyway(bench, 1, append_of(one, "T|x", 1, "a"));
    assert_broken(bench, "gapless-sequence");
}

static void gapless_sequence_a_gap_is_found(void **state)
{
    struct bench *bench = *state;

    append(bench, 1, one, "T|x", 1, "a");
    take_anyway(bench, 1, append_of(one, "T|x", 3, "c"));
    assert_non_null(verdict_find(bench->verdict, "gapless-sequence"));
}

static void unknown_outcome_a_write_of_another_event_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request = append_of(one, "T|x", 1, "a");

    answer_with(bench, 1, request, BACKEND_UNKNOWN);
    journal_request_free(request);
    assert_int_equal(append(bench, 2, one, "T|y", 1, "k"), BACKEND_DONE);
    assert_broken(bench, NULL);
    assert_int_equal(append(bench, 1, one, "T|x", 1, "b"), BACKEND_DONE);
    assert_broken(bench, "unknown-outcome");
}

static void unknown_outcome_a_write_that_is_no_repetition_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request = append_of(one, "T|x", 1, "a");

    answer_with(bench, 1, request, BACKEND_UNKNOWN);
    asked(bench, 1, request);
    journal_request_free(request);
    assert_broken(bench, "unknown-outcome");
}

static void unknown_outcome_a_missing_replay_after_a_failed_repetition_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request = append_of(one, "T|x", 1, "a");

    answer_with(bench, 1, request, BACKEND_UNKNOWN);
    request->again = true;
    answer_with(bench, 1, request, BACKEND_FAILED);
    journal_request_free(request);
    assert_broken(bench, NULL);
    assert_int_equal(append(bench, 1, one, "T|x", 1, "b"), BACKEND_DONE);
    assert_broken(bench, "unknown-outcome");
}

/* A request may name an entity although all its events were dropped. */
static void an_unknown_outcome_of_no_event_changes_nothing(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request = append_of(one, "T|x", 1, "a");
    struct journal_request *named = append_of(one, "T|x", 1, "");

    claim(bench, one);
    answer_with(bench, 1, request, BACKEND_UNKNOWN);
    request->again = true;
    answer_with(bench, 1, request, BACKEND_FAILED);
    answer_with(bench, 1, named, BACKEND_UNKNOWN);
    journal_request_free(request);
    journal_request_free(named);
    replay(bench, 1, "T|x");
    assert_int_equal(append(bench, 1, one, "T|x", 1, "b"), BACKEND_DONE);
    assert_broken(bench, NULL);
}

static void unknown_outcome_an_acknowledged_event_is_found(void **state)
{
    struct bench *bench = *state;
    struct journal_request *request = append_of(one, "T|x", 1, "a");

    answer_with(bench, 1, request, BACKEND_UNKNOWN);
    book_write(bench->book, request);
    journal_request_free(request);
    bench->told.opened(bench->told.user, bench->book); /* it is durable */
    acknowledged(bench, "x", 1, "a");
    assert_broken(bench, "unknown-outcome");
}

/* A server takes over that has the events of T|x with these letters, and no fence above `one`. */
static void lose(struct bench *bench, const char *letters)
{
    struct journal_request *kept[2] = {
        journal_request_claim(slice_text("T"), slice_text("s"), one),
        append_of(one, "T|x", 1, letters),
    };

    book_free(bench->book);
    bench->book = book_new("c");
    for (int i = 0; i < 2; i++) {
        book_write(bench->book, kept[i]);
        book_keep(bench->book);
        journal_request_free(kept[i]);
    }
    bench->told.rewound(bench->told.user, bench->book);
}

static void lost_events_and_fences_may_still_be_named(void **state)
{
    struct bench *bench = *state;
    struct journal_request *read = journal_request_replay(slice_text("T|x"), 1, 9, 1 << 20);
    struct journal_request *late = journal_request_claim(slice_text("T"), slice_text("s"), two);

    claim(bench, one);
    assert_int_equal(append(bench, 1, one, "T|x", 1, "abc"), BACKEND_DONE);
    asked(bench, 1, read);
    book_read(bench->book, read);
    claim(bench, two);
    lose(bench, "ab");
    answered(bench, 1, read); /* with event 3 */
    answer_with(bench, 1, late, BACKEND_DONE);
    acknowledged(bench, "x", 3, "c");
    assert_int_equal(append(bench, 1, one, "T|x", 3, "d"), BACKEND_DONE);
    acknowledged(bench, "x", 3, "d");
    replay(bench, 1, "T|x");
    assert_broken(bench, NULL);
    assert_int_equal(check_journal_counts(bench->check)->lost, 1);
    journal_request_free(read);
    journal_request_free(late);
}

static void no_lost_ack_another_event_than_the_lost_one_is_found(void **state)
{
    struct bench *bench = *state;

    assert_int_equal(append(bench, 1, one, "T|x", 1, "ab"), BACKEND_DONE);
    lose(bench, "a");
    acknowledged(bench, "x", 2, "c");
    assert_broken(bench, "no-lost-ack");
}

static void no_lost_ack_an_event_that_the_server_kept_must_stay(void **state)
{
    struct bench *bench = *state;
    struct book *empty = book_new("c");

    assert_int_equal(append(bench, 1, one, "T|x", 1, "abc"), BACKEND_DONE);
    lose(bench, "ab");
    bench->told.opened(bench->told.user, empty);
    assert_string_equal(verdict_at(bench->verdict, 0)->invariant, "no-lost-ack");
    book_free(empty);
}

#define on_bench(test) cmocka_unit_test_setup_teardown(test, bench_begin, bench_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        on_bench(a_correct_store_passes),
        on_bench(an_event_that_a_scan_finds_counts),
        on_bench(records_that_a_base_replaces_may_go),
        on_bench(no_lost_ack_a_deleted_base_is_found),
        on_bench(no_lost_ack_a_deleted_event_is_found),
        on_bench(events_behind_a_snapshot_may_go),
        on_bench(retained_state_events_that_no_snapshot_has_are_found),
        on_bench(retained_state_events_behind_a_damaged_snapshot_are_found),
        on_bench(no_lost_ack_a_lost_event_is_found),
        on_bench(no_lost_ack_a_changed_event_is_found),
        on_bench(no_lost_ack_an_answer_before_durability_is_found),
        on_bench(no_lost_ack_an_acknowledgement_before_durability_is_found),
        on_bench(no_lost_ack_an_acknowledgement_of_another_event_is_found),
        on_bench(no_lost_ack_a_commit_without_its_records_is_found),
        on_bench(fenced_writes_a_record_under_a_stale_fence_is_found),
        on_bench(fenced_writes_decreasing_fences_are_found),
        on_bench(fenced_writes_a_claim_that_lowers_a_fence_is_found),
        on_bench(fenced_writes_an_answered_claim_that_is_not_durable_is_found),
        on_bench(fenced_writes_a_fence_that_goes_back_is_found),
        on_bench(fenced_writes_an_acknowledged_refused_event_is_found),
        on_bench(coordinator_state_a_term_given_twice_is_found),
        on_bench(coordinator_state_a_term_that_goes_back_is_found),
        on_bench(coordinator_state_a_given_term_that_is_not_durable_is_found),
        on_bench(faithful_replay_an_unreadable_record_is_found),
        on_bench(faithful_replay_a_replay_of_another_event_is_found),
        on_bench(faithful_replay_a_replay_of_an_undurable_event_is_found),
        on_bench(gapless_sequence_a_replay_that_ends_early_is_found),
        on_bench(gapless_sequence_a_replay_with_a_gap_is_found),
        on_bench(gapless_sequence_a_number_given_twice_is_found),
        on_bench(gapless_sequence_a_gap_is_found),
        on_bench(unknown_outcome_a_write_of_another_event_is_found),
        on_bench(unknown_outcome_a_write_that_is_no_repetition_is_found),
        on_bench(unknown_outcome_a_missing_replay_after_a_failed_repetition_is_found),
        on_bench(an_unknown_outcome_of_no_event_changes_nothing),
        on_bench(unknown_outcome_an_acknowledged_event_is_found),
        on_bench(lost_events_and_fences_may_still_be_named),
        on_bench(no_lost_ack_another_event_than_the_lost_one_is_found),
        on_bench(no_lost_ack_an_event_that_the_server_kept_must_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
