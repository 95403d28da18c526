/* The journal when all goes well: groups, positions, limits, recoveries. */
#include "lane.h"

#include "base/limits.h"

static void an_entity_is_claimed_recovered_and_written(void **state)
{
    struct lane lane;
    (void)state;

    lane_open(&lane, "a", NULL);
    lane_claim(&lane, "7", 3, 9);
    lane_replay(&lane, 100, "7", "x");
    lane_settle(&lane);
    lane_said(&lane, "claimed(7,3.9) recovered(100,0) ");
    assert_true(lane_append(&lane, 100, "one") == 1);
    assert_true(lane_append(&lane, 100, "two") == 2);
    assert_true(lane.durable == 0);
    lane_settle(&lane);
    assert_true(lane.durable == 2);
    assert_true(journal_seq(lane.journal, 100) == 2);
    lane_said(&lane, "");
    /* Started again, it reads what it wrote. */
    journal_forget(lane.journal, 100);
    lane_replay(&lane, 101, "7", "x");
    lane_settle(&lane);
    lane_said(&lane, "event(101,1,one) event(101,2,two) recovered(101,2) ");
    assert_true(lane_append(&lane, 101, "three") == 3);
    lane_settle(&lane);
    assert_true(lane.durable == 3);
    lane_close(&lane);
}

/* Else an owner before us could still write what we do not read. */
static void nothing_is_read_before_the_claim(void **state)
{
    struct store_request *claim;
    struct store_request *replay;
    struct lane lane;
    (void)state;

    lane_open(&lane, "before", NULL);
    lane_claim(&lane, "7", 3, 9);
    lane_replay(&lane, 100, "7", "x");
    claim = journal_take_request(lane.journal, lane.now);
    assert_int_equal(claim->verb, STORE_CLAIM);
    assert_null(journal_take_request(lane.journal, lane.now));
    lane_run(&lane, claim);
    journal_reply(lane.journal, lane.now, claim);
    lane_drain(&lane);
    replay = journal_take_request(lane.journal, lane.now);
    assert_int_equal(replay->verb, STORE_REPLAY);
    lane_run(&lane, replay);
    journal_reply(lane.journal, lane.now, replay);
    lane_settle(&lane);
    lane_said(&lane, "claimed(7,3.9) recovered(100,0) ");
    lane_close(&lane);
}

static void one_commit_is_out_and_the_next_group_collects(void **state)
{
    struct store_request *first;
    struct lane lane;
    (void)state;

    lane_open(&lane, "b", NULL);
    lane_ready(&lane, 1, "s", "x");
    lane_ready(&lane, 2, "s", "y");
    lane_append(&lane, 1, "a");
    first = journal_take_request(lane.journal, lane.now);
    assert_int_equal(first->records.count, 1);
    lane_append(&lane, 1, "b");
    lane_append(&lane, 2, "c");
    lane_append(&lane, 1, "d");
    assert_null(journal_take_request(lane.journal, lane.now));
    lane_run(&lane, first);
    journal_reply(lane.journal, lane.now, first);
    lane_drain(&lane);
    assert_true(lane.durable == 1);
    first = journal_take_request(lane.journal, lane.now);
    assert_int_equal(first->records.count, 3);
    assert_int_equal(first->entities.count, 2);
    assert_int_equal(first->shards.count, 1);
    assert_true(first->records.items[2].seq == 3);
    lane_run(&lane, first);
    journal_reply(lane.journal, lane.now, first);
    lane_drain(&lane);
    assert_true(lane.durable == 4);
    assert_null(journal_take_request(lane.journal, lane.now));
    assert_true(journal_deadline(lane.journal) == NEVER);
    lane_close(&lane);
}

/* limit: JOURNAL_ENTITY_EVENTS_MAX, JOURNAL_ENTITY_BYTES_MAX, JOURNAL_LANE_EVENTS_MAX */
/* limit: JOURNAL_LANE_BYTES_MAX */
static void limits_stop_an_entity_and_a_lane(void **state)
{
    struct journal_options options = { .seed = 1,
                                       .entity_events_max = 2,
                                       .lane_events_max = 3 };
    struct lane lane;
    (void)state;

    lane_open(&lane, "c", &options);
    lane_ready(&lane, 1, "s", "x");
    lane_ready(&lane, 2, "s", "y");
    lane_append(&lane, 1, "a");
    assert_true(journal_has_room(lane.journal, 1));
    lane_append(&lane, 1, "b");
    assert_false(journal_has_room(lane.journal, 1));
    assert_true(journal_has_room(lane.journal, 2));
    lane_append(&lane, 2, "c");
    assert_false(journal_has_room(lane.journal, 2));
    lane_settle(&lane);
    assert_true(journal_has_room(lane.journal, 1));
    assert_true(journal_has_room(lane.journal, 2));
    lane_close(&lane);
    options = (struct journal_options){ .entity_bytes_max = 100 };
    lane_open(&lane, "c2", &options);
    lane_ready(&lane, 1, "s", "x");
    lane_append(&lane, 1, "0123456789012345678901234567890123456789");
    assert_true(journal_has_room(lane.journal, 1));
    lane_append(&lane, 1, "0123456789012345678901234567890123456789");
    assert_false(journal_has_room(lane.journal, 1));
    lane_close(&lane);
    options = (struct journal_options){ .lane_bytes_max = 100 };
    lane_open(&lane, "c3", &options);
    lane_ready(&lane, 1, "s", "x");
    lane_ready(&lane, 2, "s", "y");
    lane_append(&lane, 1, "0123456789012345678901234567890123456789");
    assert_true(journal_has_room(lane.journal, 2));
    lane_append(&lane, 1, "0123456789012345678901234567890123456789");
    assert_false(journal_has_room(lane.journal, 2));
    lane_close(&lane);
}

static void an_event_at_the_limit_is_stored_and_one_above_is_not(void **state)
{
    uint8_t *event = mem_alloc(JOURNAL_EVENT_SIZE_MAX + 1);
    struct lane lane;
    (void)state;

    lane_open(&lane, "d", NULL);
    lane_ready(&lane, 1, "s", "x");
    assert_true(journal_append(lane.journal, 1, 1,
                               slice_of(event, JOURNAL_EVENT_SIZE_MAX)) == 1);
    lane_settle(&lane);
    assert_true(lane.durable == 1);
    assert_true(journal_append(lane.journal, 1, 1,
                               slice_of(event, JOURNAL_EVENT_SIZE_MAX + 1)) ==
                POSITION_NEVER);
    assert_true(lane_append(&lane, 1, "later") == POSITION_NEVER);
    lane_settle(&lane);
    lane_said(&lane, "failed(1,event too large) ");
    lane_close(&lane);
    mem_free(event);
}

/* 2,500 events come in three chunks, each asked for when the last one was
 * handed out. */
static void a_long_recovery_comes_in_chunks(void **state)
{
    struct store_request *request;
    struct journal_news news;
    struct lane lane;
    uint64_t seq = 0;
    int chunks = 0;
    (void)state;

    lane_open(&lane, "e", NULL);
    lane_ready(&lane, 1, "s", "x");
    for (int i = 0; i < 2500; i++)
        lane_append(&lane, 1, "e");
    lane_settle(&lane);
    journal_forget(lane.journal, 1);
    lane_replay(&lane, 2, "s", "x");
    while ((request = journal_take_request(lane.journal, lane.now))) {
        lane_run(&lane, request);
        assert_true(request->records.count <= JOURNAL_CHUNK_EVENTS_MAX);
        journal_reply(lane.journal, lane.now, request);
        chunks++;
        while (journal_next_news(lane.journal, &news)) {
            if (news.kind == JOURNAL_EVENT)
                assert_true(news.seq == ++seq);
            else
                assert_int_equal(news.kind, JOURNAL_RECOVERED);
            assert_true(news.kind == JOURNAL_EVENT || seq == 2500);
            if (news.kind == JOURNAL_EVENT && news.seq % 1000)
                assert_null(journal_take_request(lane.journal, lane.now));
        }
    }
    assert_int_equal(chunks, 3);
    assert_true(journal_seq(lane.journal, 2) == 2500);
    lane_close(&lane);
}

/* Two of these fit into a chunk. */
static void a_chunk_has_a_limit_of_bytes(void **state)
{
    enum { SIZE = JOURNAL_CHUNK_SIZE_MAX / 5 * 2 };
    uint8_t *event = mem_alloc(SIZE);
    struct store_request *request;
    struct journal_news news;
    struct lane lane;
    uint32_t chunks = 0;
    uint64_t seq = 0;
    (void)state;

    lane_open(&lane, "chunk", NULL);
    lane_ready(&lane, 1, "s", "x");
    for (int i = 0; i < 5; i++)
        (void)journal_append(lane.journal, 1, 1, slice_of(event, SIZE));
    lane_settle(&lane);
    journal_forget(lane.journal, 1);
    lane_replay(&lane, 2, "s", "x");
    while ((request = journal_take_request(lane.journal, lane.now))) {
        lane_run(&lane, request);
        assert_true(request->records.count <= 2);
        assert_true(request->bytes.size <= JOURNAL_CHUNK_SIZE_MAX);
        journal_reply(lane.journal, lane.now, request);
        chunks++;
        while (journal_next_news(lane.journal, &news))
            seq = news.kind == JOURNAL_EVENT ? news.seq : seq;
    }
    assert_int_equal(chunks, 3);
    assert_true(seq == 5);
    mem_free(event);
    lane_close(&lane);
}

/* limit: JOURNAL_REPLAYS_MAX */
static void few_recover_at_a_time_and_in_order(void **state)
{
    struct journal_options options = { .replays_max = 2 };
    struct store_request *out[2];
    struct journal_status status;
    struct lane lane;
    (void)state;

    lane_open(&lane, "f", &options);
    lane_claim(&lane, "s", 1, 1);
    lane_settle(&lane);
    for (uint64_t handle = 1; handle <= 4; handle++) {
        char id[8];

        snprintf(id, sizeof id, "id%d", (int)handle);
        lane_replay(&lane, handle, "s", id);
    }
    out[0] = journal_take_request(lane.journal, lane.now);
    out[1] = journal_take_request(lane.journal, lane.now);
    assert_null(journal_take_request(lane.journal, lane.now));
    journal_status(lane.journal, &status);
    assert_int_equal(status.replays_running, 2);
    assert_int_equal(status.replays_waiting, 2);
    journal_forget(lane.journal, 3); /* its place in the queue is passed over */
    for (int i = 0; i < 2; i++) {
        lane_run(&lane, out[i]);
        journal_reply(lane.journal, lane.now, out[i]);
    }
    lane.log[0] = 0;
    lane_settle(&lane);
    lane_said(&lane, "recovered(1,0) recovered(2,0) recovered(4,0) ");
    lane_close(&lane);
}

static void a_recovery_waits_for_the_entitys_own_events(void **state)
{
    struct store_request *commit;
    struct lane lane;
    (void)state;

    lane_open(&lane, "g", NULL);
    lane_ready(&lane, 1, "s", "x");
    lane_append(&lane, 1, "a");
    commit = journal_take_request(lane.journal, lane.now);
    lane_append(&lane, 1, "b");
    /* Forgotten and started under another handle, while a is out and b waits. */
    journal_forget(lane.journal, 1);
    lane_replay(&lane, 2, "s", "x");
    assert_null(journal_take_request(lane.journal, lane.now));
    lane_run(&lane, commit);
    journal_reply(lane.journal, lane.now, commit);
    lane_settle(&lane);
    lane_said(&lane, "event(2,1,a) event(2,2,b) recovered(2,2) ");
    /* The same for a restart under its own handle. */
    lane_append(&lane, 2, "c");
    lane_replay(&lane, 2, "s", "x");
    assert_true(lane_append(&lane, 2, "too soon") == POSITION_NEVER);
    lane_settle(&lane);
    lane_said(&lane,
              "event(2,1,a) event(2,2,b) event(2,3,c) recovered(2,3) ");
    lane_close(&lane);
}

static void handles_are_found_among_many(void **state)
{
    struct lane lane;
    (void)state;

    lane_open(&lane, "h", NULL);
    lane_claim(&lane, "s", 1, 1);
    for (uint64_t i = 1; i <= 3000; i++) {
        char id[16];

        snprintf(id, sizeof id, "%d", (int)i);
        lane_replay(&lane, i << 32, "s", id);
    }
    lane_settle(&lane);
    for (uint64_t i = 1; i <= 3000; i += 3)
        journal_forget(lane.journal, i << 32);
    for (uint64_t i = 1; i <= 3000; i++) {
        uint64_t position = lane_append(&lane, i << 32, "e");

        assert_int_equal(position == POSITION_NEVER, i % 3 == 1);
    }
    lane_settle(&lane);
    assert_true(lane.durable == 2000);
    lane_close(&lane);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entity_is_claimed_recovered_and_written),
        cmocka_unit_test(nothing_is_read_before_the_claim),
        cmocka_unit_test(one_commit_is_out_and_the_next_group_collects),
        cmocka_unit_test(limits_stop_an_entity_and_a_lane),
        cmocka_unit_test(an_event_at_the_limit_is_stored_and_one_above_is_not),
        cmocka_unit_test(a_long_recovery_comes_in_chunks),
        cmocka_unit_test(a_chunk_has_a_limit_of_bytes),
        cmocka_unit_test(few_recover_at_a_time_and_in_order),
        cmocka_unit_test(a_recovery_waits_for_the_entitys_own_events),
        cmocka_unit_test(handles_are_found_among_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
