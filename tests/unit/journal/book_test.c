/* Tests the rules of a store, and its changes: listed, undone, repeated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/check.h"
#include "base/rng.h"
#include "journal/book.h"

static const struct fence one = { 1, 1 };
static const struct fence two = { 1, 2 };

/* One letter of `events` is one record. */
static void append_add(struct journal_request *request, const char *shard,
                       struct fence fence, const char *id, uint64_t from,
                       const char *events)
{
    struct backend_shard named = { .fence = fence };
    struct backend_entity entity = { .shard = request->shards.count };

    named.type = backend_put(request, slice_text("T"));
    named.shard = backend_put(request, slice_text(shard));
    vec_push(&request->shards, named);
    entity.id = backend_put(request, slice_text(id));
    vec_push(&request->entities, entity);
    for (; *events; events++) {
        struct backend_record record = {
            .entity = request->entities.count - 1, .seq = from++
        };

        record.bytes = backend_put(request, slice_of(events, 1));
        vec_push(&request->records, record);
    }
}

static enum backend_result append(struct book *book, const char *shard,
                                struct fence fence, const char *id,
                                uint64_t from, const char *events, bool again)
{
    struct journal_request *request = journal_request_new(BACKEND_APPEND);
    enum backend_result result;

    request->again = again;
    append_add(request, shard, fence, id, from, events);
    book_write(book, request);
    result = request->entities.items[0].result;
    journal_request_free(request);
    return result;
}

static enum backend_result claim(struct book *book, const char *shard,
                               struct fence fence)
{
    struct journal_request *request =
        journal_request_claim(slice_text("T"), slice_text(shard), fence);
    enum backend_result result;

    book_write(book, request);
    result = request->result;
    journal_request_free(request);
    return result;
}

static uint64_t take_term(struct book *book, const char *type, uint64_t used)
{
    struct journal_request *request =
        journal_request_take_term(slice_text(type), used);
    uint64_t term;

    book_write(book, request);
    assert_int_equal(request->result, BACKEND_DONE);
    term = request->fence.term;
    journal_request_free(request);
    return term;
}

static void assert_events(const struct book *book, const char *id,
                          const char *events)
{
    struct slice key = slice_text(id);
    size_t count = strlen(events);

    assert_int_equal(book_last(book, key), count);
    for (size_t i = 0; i < count; i++)
        assert_true(slice_equal(book_record(book, key, i + 1),
                                slice_of(events + i, 1)));
    assert_int_equal(book_record(book, key, 0).size, 0);
    assert_int_equal(book_record(book, key, count + 1).size, 0);
}

/* Expects equal content of two books. */
static void assert_same(const struct book *left, const struct book *right)
{
    uint32_t at_left = 0;
    uint32_t at_right = 0;
    struct slice id, other;
    uint64_t last, other_last;

    while (book_next(left, &at_left, &id, &last)) {
        assert_true(book_next(right, &at_right, &other, &other_last));
        assert_true(slice_equal(id, other));
        assert_int_equal(last, other_last);
        assert_int_equal(book_first(left, id), book_first(right, id));
        for (uint64_t seq = 1; seq <= last; seq++)
            assert_true(slice_equal(book_record(left, id, seq),
                                    book_record(right, id, seq)));
    }
    assert_false(book_next(right, &at_right, &other, &other_last));
    for (char shard = 'a'; shard <= 'e'; shard++)
        assert_int_equal(
            fence_compare(
                book_fence(left, slice_text("T"), slice_of(&shard, 1)),
                book_fence(right, slice_text("T"), slice_of(&shard, 1))),
            0);
    assert_int_equal(book_term(left, slice_text("T")),
                     book_term(right, slice_text("T")));
}

static void a_book_keeps_events_in_order(void **state)
{
    struct book *book = book_new("c");
    struct journal_request *request;
    (void)state;

    assert_string_equal(book_cluster(book), "c");
    assert_int_equal(claim(book, "s", one), BACKEND_DONE);
    assert_int_equal(append(book, "s", one, "T|x", 1, "abc", false),
                     BACKEND_DONE);
    assert_int_equal(append(book, "s", one, "T|y", 1, "k", false),
                     BACKEND_DONE);
    assert_int_equal(append(book, "s", one, "T|x", 4, "de", false),
                     BACKEND_DONE);
    assert_events(book, "T|x", "abcde");
    assert_events(book, "T|y", "k");
    assert_events(book, "T|z", "");
    request = journal_request_replay(slice_text("T|x"), 2, 2, 1 << 20);
    book_read(book, request);
    assert_int_equal(request->result, BACKEND_DONE);
    assert_int_equal(request->records.count, 2);
    assert_true(request->records.items[0].seq == 2);
    assert_true(request->more);
    book_write(book, request);
    assert_int_equal(request->result, BACKEND_FAILED);
    journal_request_free(request);
    request = journal_request_replay(slice_text("T|x"), 5, 9, 0);
    book_read(book, request);
    assert_int_equal(request->records.count, 1); /* one always fits */
    assert_false(request->more);
    journal_request_free(request);
    book_free(book);
}

static void a_stale_fence_writes_nothing(void **state)
{
    struct book *book = book_new("c");
    struct journal_request *request = journal_request_new(BACKEND_APPEND);
    (void)state;

    assert_int_equal(claim(book, "s", two), BACKEND_DONE);
    assert_int_equal(claim(book, "s", one), BACKEND_FENCED);
    assert_int_equal(claim(book, "s", two), BACKEND_DONE);
    append_add(request, "s", one, "T|x", 1, "a");
    append_add(request, "t", one, "T|y", 1, "k");
    book_write(book, request);
    assert_int_equal(request->result, BACKEND_DONE);
    assert_int_equal(request->entities.items[0].result, BACKEND_FENCED);
    assert_int_equal(request->entities.items[1].result, BACKEND_DONE);
    assert_int_equal(request->shards.items[0].result, BACKEND_FENCED);
    assert_int_equal(fence_compare(request->shards.items[0].stored, two), 0);
    assert_events(book, "T|x", "");
    assert_events(book, "T|y", "k");
    journal_request_free(request);
    book_free(book);
}

static void numbers_leave_no_gap_and_are_taken_once(void **state)
{
    struct book *book = book_new("c");
    (void)state;

    assert_int_equal(append(book, "s", one, "T|x", 1, "ab", false),
                     BACKEND_DONE);
    assert_int_equal(append(book, "s", one, "T|x", 2, "b", false),
                     BACKEND_CONFLICT);
    assert_int_equal(append(book, "s", one, "T|x", 4, "z", false),
                     BACKEND_CONFLICT);
    assert_int_equal(append(book, "s", one, "T|x", 0, "z", true),
                     BACKEND_CONFLICT);
    assert_int_equal(append(book, "s", one, "T|x", 2, "zz", true),
                     BACKEND_CONFLICT);
    assert_events(book, "T|x", "ab");
    book_free(book);
}

/* A repetition adds the missing half. If all records are stored, a later fence does not refuse
 * it. */
static void a_repetition_counts_stored_records(void **state)
{
    struct book *book = book_new("c");
    (void)state;

    assert_int_equal(append(book, "s", one, "T|x", 1, "ab", false),
                     BACKEND_DONE);
    assert_int_equal(append(book, "s", one, "T|x", 1, "abc", true),
                     BACKEND_DONE);
    assert_events(book, "T|x", "abc");
    assert_int_equal(claim(book, "s", two), BACKEND_DONE);
    assert_int_equal(append(book, "s", one, "T|x", 3, "c", true), BACKEND_DONE);
    assert_int_equal(append(book, "s", one, "T|x", 3, "z", true),
                     BACKEND_FENCED); /* another's */
    assert_int_equal(append(book, "s", one, "T|x", 3, "cd", true),
                     BACKEND_FENCED);
    assert_int_equal(append(book, "s", one, "T|x", 4, "", true),
                     BACKEND_FENCED);
    assert_events(book, "T|x", "abc");
    book_free(book);
}

static void each_term_and_epoch_is_higher_than_the_last(void **state)
{
    struct book *book = book_new("c");
    struct journal_request *request = journal_request_claim(
        slice_text("T"), slice_text("s"), (struct fence){ 0 });
    (void)state;

    assert_int_equal(take_term(book, "T", 0), 1);
    assert_int_equal(take_term(book, "U", 0), 1);
    assert_int_equal(take_term(book, "T", 10), 11);
    assert_int_equal(take_term(book, "T", 3), 12);
    assert_int_equal(book_term(book, slice_text("T")), 12);
    assert_int_equal(book_term(book, slice_text("V")), 0);
    request->next = true;
    for (uint64_t epoch = 1; epoch <= 3; epoch++) {
        book_write(book, request);
        assert_int_equal(request->result, BACKEND_DONE);
        assert_int_equal(request->fence.epoch, epoch);
    }
    journal_request_free(request);
    book_free(book);
}

/* Takes a term with this proof; the former term's proof is `former`. */
static enum backend_result take_proof(struct book *book, struct proof former,
                                    uint64_t value)
{
    struct journal_request *request =
        journal_request_take_term(slice_text("T"), 0);
    enum backend_result result;

    request->proof = former;
    request->next_proof = value;
    book_write(book, request);
    result = request->result;
    journal_request_free(request);
    return result;
}

static struct fence claim_proof(struct book *book, struct fence fence,
                                struct proof proof, enum backend_result wanted)
{
    struct journal_request *request =
        journal_request_claim(slice_text("T"), slice_text("s"), fence);
    struct fence found;

    request->proof = proof;
    book_write(book, request);
    assert_int_equal(request->result, wanted);
    found = request->fence;
    journal_request_free(request);
    return found;
}

static void a_claim_needs_the_coordinators_proof(void **state)
{
    struct book *book = book_new("c");
    const struct proof none = { 0 };
    (void)state;

    assert_int_equal(take_proof(book, none, 77), BACKEND_DONE);
    assert_int_equal(book_proof(book, slice_text("T"), 1), 77);
    (void)claim_proof(book, one, (struct proof){ 1, 77 }, BACKEND_DONE);
    (void)claim_proof(book, two, none, BACKEND_DONE); /* its coordinator has none */
    (void)claim_proof(book, (struct fence){ 1, 3 }, (struct proof){ 1, 78 },
                      BACKEND_OTHER_STORE);
    (void)claim_proof(book, (struct fence){ 2, 1 }, (struct proof){ 2, 77 },
                      BACKEND_OTHER_STORE); /* a term that was not taken here */
    assert_int_equal(fence_compare(book_fence(book, slice_text("T"), slice_text("s")), two), 0);
    assert_int_equal(take_proof(book, (struct proof){ 1, 78 }, 79),
                     BACKEND_OTHER_STORE);
    assert_int_equal(book_term(book, slice_text("T")), 1);
    assert_int_equal(take_proof(book, (struct proof){ 1, 77 }, 79),
                     BACKEND_DONE);
    book_undo(book);
    assert_int_equal(book_proof(book, slice_text("T"), 1), 0);
    book_free(book);
}

static void only_the_newest_proofs_are_kept(void **state)
{
    const uint64_t terms = 3 * BACKEND_PROOFS_MAX + 5;
    const uint64_t lowest = terms - BACKEND_PROOFS_MAX + 1;
    struct book *book = book_new("c");
    struct fence stored;
    (void)state;

    for (uint64_t term = 1; term <= terms; term++) {
        assert_int_equal(take_proof(book, (struct proof){ 0 }, 1000 + term),
                         BACKEND_DONE);
        book_keep(book);
    }
    assert_int_equal(book_proof(book, slice_text("T"), lowest), 1000 + lowest);
    assert_int_equal(book_proof(book, slice_text("T"), lowest - 1), 0);
    stored = claim_proof(book, one, (struct proof){ lowest - 1, 999 + lowest },
                         BACKEND_FENCED);
    assert_int_equal(stored.term, lowest); /* higher than any fence of that coordinator */
    (void)claim_proof(book, one, (struct proof){ lowest, 1000 + lowest },
                      BACKEND_DONE);
    /* An old proof stops no new coordinator. */
    assert_int_equal(take_proof(book, (struct proof){ 1, 1001 }, 5),
                     BACKEND_DONE);
    book_free(book);
}

static void refused_writes_change_nothing(void **state)
{
    struct book *book = book_new("c");
    (void)state;

    assert_int_equal(claim(book, "s", two), BACKEND_DONE);
    assert_int_equal(book_change_count(book), 1);
    book_keep(book);
    assert_int_equal(claim(book, "s", one), BACKEND_FENCED);
    assert_int_equal(claim(book, "s", two), BACKEND_DONE); /* it is already */
    assert_int_equal(append(book, "s", one, "T|x", 1, "a", false),
                     BACKEND_FENCED);
    assert_int_equal(append(book, "s", two, "T|x", 2, "a", false),
                     BACKEND_CONFLICT);
    assert_int_equal(book_change_count(book), 0);
    book_free(book);
}

/* Appends one record, and keeps only the last `kept` before it. */
static void append_and_cut(struct book *book, const char *shard,
                           struct fence fence, const char *id, uint64_t kept)
{
    uint64_t seq = book_last(book, slice_text(id)) + 1;
    struct journal_request *request = journal_request_new(BACKEND_APPEND);

    append_add(request, shard, fence, id, seq, "c");
    request->entities.items[0].cut = seq > kept ? seq - kept : 0;
    book_write(book, request);
    journal_request_free(request);
}

/* Writes a few random requests; some are refused. */
static void write_some(struct book *book, struct rng *rng)
{
    for (uint64_t i = 1 + rng_below(rng, 6); i-- > 0;) {
        char shard[] = { (char)('a' + rng_below(rng, 5)), 0 };
        char id[] = { 'T', '|', (char)('a' + rng_below(rng, 8)), 0 };
        struct fence fence = { rng_below(rng, 3), rng_below(rng, 3) };
        uint64_t from = book_last(book, slice_text(id)) + 1;

        if (rng_below(rng, 4) == 0)
            (void)claim(book, shard, fence); /* any result will do */
        else if (rng_below(rng, 8) == 0)
            (void)take_term(book, "T", rng_below(rng, 20));
        else if (rng_below(rng, 4) == 0)
            append_and_cut(book, shard, fence, id, rng_below(rng, 4));
        else
            (void)append(book, shard, fence, id, from,
                         rng_below(rng, 2) ? "pq" : "r", false);
    }
}

static void changes_are_undone_or_repeated(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct book *book = book_new("c");
        struct book *copy = book_new("c");
        struct rng rng;

        rng_init(&rng, seed);
        for (int group = 0; group < 12; group++) {
            write_some(book, &rng);
            if (rng_below(&rng, 3) == 0) {
                book_undo(book);
                assert_int_equal(book_change_count(book), 0);
            } else {
                for (uint32_t i = 0; i < book_change_count(book); i++)
                    assert_true(book_apply(copy, book_change(book, i)));
                book_keep(book);
            }
            assert_same(book, copy);
        }
        assert_true(book_change_count(copy) > 0);
        book_undo(copy); /* back to an empty book */
        book_free(book);
        book = book_new("c");
        assert_same(book, copy);
        book_free(book);
        book_free(copy);
    }
}

static void a_change_that_cannot_follow_is_refused(void **state)
{
    struct book *book = book_new("c");
    struct book_change record = { .kind = BOOK_RECORD,
                                  .id = slice_text("T|x"),
                                  .seq = 2,
                                  .bytes = slice_text("a") };
    struct book_change fence = { .kind = BOOK_FENCE,
                                 .id = slice_text("T"),
                                 .shard = slice_text("s"),
                                 .fence = two };
    struct book_change term = { .kind = BOOK_TERM,
                                .id = slice_text("T"),
                                .fence = { 4, 0 } };
    struct book_change cut = { .kind = BOOK_CUT,
                               .id = slice_text("T|x"),
                               .seq = 1 };
    struct book_change nothing = { 0 };
    (void)state;

    assert_false(book_apply(book, &record)); /* a gap */
    record.seq = 1;
    assert_true(book_apply(book, &record));
    assert_false(book_apply(book, &record)); /* a duplicate */
    assert_true(book_apply(book, &fence));
    assert_false(book_apply(book, &fence));
    fence.fence = one;
    assert_false(book_apply(book, &fence));
    assert_true(book_apply(book, &term));
    assert_false(book_apply(book, &term));
    assert_false(book_apply(book, &nothing));
    assert_false(book_apply(book, &cut)); /* it is the first one */
    cut.seq = 2;
    assert_false(book_apply(book, &cut)); /* nothing would stay */
    assert_int_equal(book_change_count(book), 3);
    assert_events(book, "T|x", "a");
    record.seq = 2;
    assert_true(book_apply(book, &record));
    assert_true(book_apply(book, &cut));
    assert_false(book_apply(book, &cut));
    assert_int_equal(book_first(book, slice_text("T|x")), 2);
    assert_int_equal(book_last(book, slice_text("T|x")), 2);
    cut.id = slice_text("T|y");
    assert_false(book_apply(book, &cut));
    assert_int_equal(book_first(book, slice_text("T|y")), 0);
    book_free(book);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_book_keeps_events_in_order),
        cmocka_unit_test(a_stale_fence_writes_nothing),
        cmocka_unit_test(numbers_leave_no_gap_and_are_taken_once),
        cmocka_unit_test(a_repetition_counts_stored_records),
        cmocka_unit_test(each_term_and_epoch_is_higher_than_the_last),
        cmocka_unit_test(a_claim_needs_the_coordinators_proof),
        cmocka_unit_test(only_the_newest_proofs_are_kept),
        cmocka_unit_test(refused_writes_change_nothing),
        cmocka_unit_test(changes_are_undone_or_repeated),
        cmocka_unit_test(a_change_that_cannot_follow_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
