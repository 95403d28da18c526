/* Tests the journal's failures: failed and unknown commits, fences, damaged records. */
#include "lane.h"

/* Answers the whole next request with this result. */
static void answer(struct lane *lane, enum backend_result result)
{
    struct journal_request *request =
        journal_take_request(lane->journal, lane->now);

    assert_non_null(request);
    backend_settle(request, result, "disk full");
    journal_reply(lane->journal, lane->now, request);
    lane_drain(lane);
}

static void a_failed_commit_fails_its_entities_and_their_later_events(
    void **state)
{
    struct journal_request *commit;
    struct lane lane;
    (void)state;

    lane_open(&lane, "a");
    lane_ready(&lane, 1, "s", "x");
    lane_ready(&lane, 2, "s", "y");
    lane_append(&lane, 1, "a");
    commit = journal_take_request(lane.journal, lane.now);
    lane_append(&lane, 1, "b"); /* fails together with a */
    lane_append(&lane, 2, "c");
    backend_settle(commit, BACKEND_FAILED, "disk full");
    journal_reply(lane.journal, lane.now, commit);
    lane_drain(&lane);
    lane_said(&lane, "failed(1,not stored) ");
    assert_true(lane_append(&lane, 1, "d") == POSITION_NEVER);
    lane_settle(&lane);
    assert_true(lane.durable == 3);
    lane_replay(&lane, 1, "s", "x");
    lane_settle(&lane);
    lane_said(&lane, "recovered(1,0) ");
    lane_append(&lane, 1, "e");
    lane_settle(&lane);
    journal_forget(lane.journal, 1);
    lane_replay(&lane, 3, "s", "x");
    lane_settle(&lane);
    lane_said(&lane, "event(3,1,e) recovered(3,1) ");
    lane_close(&lane);
}

/* Invariant unknown-outcome: nothing else is written or answered before the outcome is known. */
static void an_unknown_outcome_is_read_back(void **state)
{
    for (int stored = 0; stored < 2; stored++) {
        struct journal_request *commit;
        struct journal_status status;
        struct lane lane;
        (void)state;

        lane_open(&lane, "b");
        lane_ready(&lane, 1, "s", "x");
        lane_ready(&lane, 2, "s", "y");
        assert_int_equal(journal_work(lane.journal), 0);
        lane_append(&lane, 1, "a");
        assert_int_equal(journal_work(lane.journal), JOURNAL_COLLECTING);
        commit = journal_take_request(lane.journal, lane.now);
        assert_int_equal(journal_work(lane.journal), JOURNAL_WRITING);
        if (stored)
            lane_run(&lane, commit);
        backend_settle(commit, BACKEND_UNKNOWN, "connection lost");
        journal_reply(lane.journal, lane.now, commit);
        lane_append(&lane, 2, "b");
        assert_int_equal(journal_work(lane.journal),
                         JOURNAL_REPEATING | JOURNAL_COLLECTING);
        lane_replay(&lane, 1, "s", "x"); /* must not read yet */
        lane_drain(&lane);
        assert_null(journal_take_request(lane.journal, lane.now));
        assert_true(lane.durable == 0);
        assert_true(journal_deadline(lane.journal) > lane.now);
        lane.now = journal_deadline(lane.journal);
        answer(&lane, BACKEND_UNKNOWN); /* still unknown */
        assert_null(journal_take_request(lane.journal, lane.now));
        lane.now = journal_deadline(lane.journal);
        lane_settle(&lane);
        assert_true(lane.durable == 2);
        assert_int_equal(journal_work(lane.journal), 0);
        lane_said(&lane, "event(1,1,a) recovered(1,1) ");
        journal_status(lane.journal, &status);
        assert_true(status.retries == 2);
        lane_close(&lane);
    }
}

static void a_higher_fence_ends_the_shard_here_and_no_other(void **state)
{
    struct lane old;
    struct lane new;
    (void)state;

    lane_open(&old, "c");
    lane_open(&new, "c");
    lane_ready(&old, 1, "s", "x");
    lane_ready(&old, 2, "other", "y");
    lane_append(&old, 1, "a");
    lane_settle(&old);
    lane_claim(&new, "s", 1, 2);
    lane_replay(&new, 9, "s", "x");
    lane_settle(&new);
    lane_said(&new, "claimed(s,1.2) event(9,1,a) recovered(9,1) ");
    lane_append(&new, 9, "b");
    lane_settle(&new);
    lane_append(&old, 1, "zombie");
    lane_append(&old, 2, "fine");
    lane_settle(&old);
    lane_said(&old, "failed(1,fenced) fenced(s,1.2) ");
    assert_true(old.durable == 3);
    assert_true(lane_append(&old, 1, "again") == POSITION_NEVER);
    lane_replay(&old, 1, "s", "x");
    lane_settle(&old);
    lane_said(&old, "failed(1,fenced) ");
    lane_append(&old, 2, "still fine");
    lane_settle(&old);
    assert_true(old.durable == 4);
    /* The shard returns with a higher fence. */
    journal_forget(old.journal, 1);
    journal_release(old.journal, slice_text("T"), slice_text("s"));
    lane_claim(&old, "s", 2, 1);
    lane_replay(&old, 1, "s", "x");
    lane_settle(&old);
    lane_said(&old, "claimed(s,2.1) event(1,1,a) event(1,2,b) recovered(1,2) ");
    lane_close(&old);
    lane_close(&new);
}

static void a_stale_claim_is_refused(void **state)
{
    struct lane lane;
    struct lane other;
    (void)state;

    lane_open(&other, "d");
    lane_open(&lane, "d");
    lane_claim(&other, "s", 5, 5);
    lane_settle(&other);
    lane_claim(&lane, "s", 5, 4);
    lane_replay(&lane, 1, "s", "x");
    lane_settle(&lane);
    lane_said(&lane, "failed(1,fenced) fenced(s,5.5) ");
    /* Under a coordinator without terms the store gives the next epoch. */
    journal_forget(lane.journal, 1);
    journal_release(lane.journal, slice_text("T"), slice_text("s"));
    journal_claim_next(lane.journal, slice_text("T"), slice_text("s"));
    lane_settle(&lane);
    lane_said(&lane, "claimed(s,5.6) ");
    lane_close(&lane);
    lane_close(&other);
}

static void a_failed_claim_is_tried_again(void **state)
{
    struct lane lane;
    (void)state;

    lane_open(&lane, "e");
    lane_claim(&lane, "s", 1, 1);
    lane_replay(&lane, 1, "s", "x");
    for (int i = 0; i < 20; i++) {
        answer(&lane, BACKEND_FAILED);
        assert_null(journal_take_request(lane.journal, lane.now));
        assert_true(journal_deadline(lane.journal) <=
                    lane.now + 5 * SECOND);
        lane.now = journal_deadline(lane.journal);
    }
    lane_settle(&lane);
    lane_said(&lane, "claimed(s,1.1) recovered(1,0) ");
    lane_close(&lane);
}

static void a_claim_without_the_coordinators_proof_ends_the_shard(void **state)
{
    struct journal_request *claim;
    struct lane lane;
    (void)state;

    lane_open(&lane, "j");
    journal_claim(lane.journal, slice_text("T"), slice_text("s"),
                  (struct fence){ 3, 1 }, (struct proof){ 3, 9 });
    lane_replay(&lane, 1, "s", "x");
    claim = journal_take_request(lane.journal, lane.now);
    assert_int_equal(claim->proof.term, 3);
    assert_int_equal(claim->proof.value, 9);
    claim->result = BACKEND_OTHER_STORE;
    journal_reply(lane.journal, lane.now, claim);
    lane_settle(&lane);
    lane_said(&lane, "failed(1,fenced) other-store(s,3.1) ");
    journal_forget(lane.journal, 1);
    journal_release(lane.journal, slice_text("T"), slice_text("s"));
    lane_claim(&lane, "s", 3, 2); /* under another coordinator */
    lane_settle(&lane);
    lane_said(&lane, "claimed(s,3.2) ");
    lane_close(&lane);
}

/* The owner's own raise waits for its commit and keeps its entities. */
static void a_raised_fence_keeps_the_entities(void **state)
{
    struct journal_request *commit;
    struct journal_request *claim;
    struct lane lane;
    (void)state;

    lane_open(&lane, "f");
    lane_ready(&lane, 1, "s", "x");
    lane_append(&lane, 1, "a");
    commit = journal_take_request(lane.journal, lane.now);
    lane_claim(&lane, "s", 2, 0);
    lane_append(&lane, 1, "b");
    assert_null(journal_take_request(lane.journal, lane.now));
    lane_answer(&lane, commit);
    claim = journal_take_request(lane.journal, lane.now);
    assert_int_equal(claim->verb, BACKEND_CLAIM);
    assert_null(journal_take_request(lane.journal, lane.now));
    lane_answer(&lane, claim);
    lane_settle(&lane);
    lane_said(&lane, "claimed(s,2.0) ");
    assert_true(lane.durable == 2);
    lane_append(&lane, 1, "c");
    lane_settle(&lane);
    assert_true(lane.durable == 3);
    lane_close(&lane);
}

/* Changes one record of a chunk; the other entity is not affected. */
static void damage(struct lane *lane, int kind, const char *said)
{
    struct journal_request *request;

    lane_ready(lane, 1, "s", "x");
    for (int i = 0; i < 3; i++)
        lane_append(lane, 1, "abc");
    lane_settle(lane);
    lane->log[0] = 0;
    journal_forget(lane->journal, 1);
    lane_replay(lane, 2, "s", "x");
    lane_replay(lane, 3, "s", "y");
    request = journal_take_request(lane->journal, lane->now);
    lane_run(lane, request);
    if (kind == 0)
        request->bytes.data[request->records.items[1].bytes.at + 5] ^= 4;
    else if (kind == 1)
        vec_remove(&request->records, 1);
    else
        request->records.items[1].bytes = request->records.items[0].bytes;
    journal_reply(lane->journal, lane->now, request);
    lane_settle(lane);
    lane_said(lane, said);
}

static void a_damaged_record_stops_its_entity_only(void **state)
{
    struct lane lane;
    (void)state;

    for (int kind = 0; kind < 3; kind++) {
        struct journal_status status;

        lane_open(&lane, "g");
        damage(&lane, kind,
               "event(2,1,abc) failed(2,damaged record) recovered(3,0) ");
        journal_status(lane.journal, &status);
        assert_true(status.damaged == 1);
        assert_int_equal(status.replays_running, 0);
        lane_close(&lane);
    }
}

static void a_claim_is_answered_again(void **state)
{
    struct lane lane;
    (void)state;

    lane_open(&lane, "j");
    lane_claim(&lane, "s", 1, 2);
    lane_claim(&lane, "s", 1, 2);
    lane_settle(&lane);
    lane_said(&lane, "claimed(s,1.2) ");
    lane_claim(&lane, "s", 1, 2);
    lane_claim(&lane, "s", 1, 1); /* a late directive */
    lane_settle(&lane);
    lane_said(&lane, "claimed(s,1.2) ");
    journal_claim_next(lane.journal, slice_text("T"), slice_text("s"));
    lane_settle(&lane);
    lane_said(&lane, "claimed(s,1.2) ");
    lane_replay(&lane, 1, "elsewhere", "x");
    lane_settle(&lane);
    lane_said(&lane, "failed(1,fenced) ");
    lane_close(&lane);
}

static void late_replies_are_ignored(void **state)
{
    struct journal_request *replay;
    struct journal_request *claim;
    struct lane lane;
    (void)state;

    lane_open(&lane, "h");
    lane_ready(&lane, 1, "s", "x");
    lane_replay(&lane, 2, "s", "y");
    replay = journal_take_request(lane.journal, lane.now);
    lane_replay(&lane, 2, "s", "y"); /* restarted meanwhile */
    lane_answer(&lane, replay);
    lane_drain(&lane);
    lane_said(&lane, "");
    lane_settle(&lane);
    lane_said(&lane, "recovered(2,0) ");
    lane_claim(&lane, "t", 1, 1);
    claim = journal_take_request(lane.journal, lane.now);
    journal_release(lane.journal, slice_text("T"), slice_text("t"));
    lane_answer(&lane, claim);
    lane_settle(&lane);
    lane_said(&lane, "");
    lane_close(&lane);
}

static void a_journal_can_be_freed_with_pending_work(void **state)
{
    struct journal_request *commit;
    struct lane lane;
    (void)state;

    lane_open(&lane, "i");
    lane_ready(&lane, 1, "s", "x");
    lane_append(&lane, 1, "a");
    commit = journal_take_request(lane.journal, lane.now);
    lane_append(&lane, 1, "b");
    journal_forget(lane.journal, 1);
    journal_release(lane.journal, slice_text("T"), slice_text("s"));
    lane_claim(&lane, "u", 1, 1);
    lane_replay(&lane, 5, "u", "z");
    journal_request_free(commit);
    lane_close(&lane);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_failed_commit_fails_its_entities_and_their_later_events),
        cmocka_unit_test(an_unknown_outcome_is_read_back),
        cmocka_unit_test(a_higher_fence_ends_the_shard_here_and_no_other),
        cmocka_unit_test(a_stale_claim_is_refused),
        cmocka_unit_test(a_failed_claim_is_tried_again),
        cmocka_unit_test(a_claim_without_the_coordinators_proof_ends_the_shard),
        cmocka_unit_test(a_raised_fence_keeps_the_entities),
        cmocka_unit_test(a_damaged_record_stops_its_entity_only),
        cmocka_unit_test(a_claim_is_answered_again),
        cmocka_unit_test(late_replies_are_ignored),
        cmocka_unit_test(a_journal_can_be_freed_with_pending_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
