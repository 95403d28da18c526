/* Tests the journal without failures: groups, positions, limits, recoveries. */
#include "lane.h"

#include "base/limits.h"

static void an_entity_is_claimed_recovered_and_written(void **state)
{
    struct lane lane;
    (void)state;

    lane_open(&lane, "a");
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
    /* After a restart it reads its own events. */
    journal_forget(lane.journal, 100);
    lane_replay(&lane, 101, "7", "x");
    lane_settle(&lane);
    lane_said(&lane, "event(101,1,one) event(101,2,two) recovered(101,2) ");
    assert_true(lane_append(&lane, 101, "three") == 3);
    lane_settle(&lane);
    assert_true(lane.durable == 3);
    lane_close(&lane);
}

/* Otherwise an earlier owner could write events that this one does not read. */
static void nothing_is_read_before_the_claim(void **state)
{
    struct journal_request *claim;
    struct journal_request *replay;
    struct lane lane;
    (void)state;

    lane_open(&lane, "before");
    lane_claim(&lane, "7", 3, 9);
    lane_replay(&lane, 100, "7", "x");
    claim = journal_take_request(lane.journal, lane.now);
    assert_int_equal(claim->verb, BACKEND_CLAIM);
    assert_null(journal_take_request(lane.journal, lane.now));
    lane_answer(&lane, claim);
    lane_drain(&lane);
    replay = journal_take_request(lane.journal, lane.now);
    assert_int_equal(replay->verb, BACKEND_REPLAY);
    lane_answer(&lane, replay);
    lane_settle(&lane);
    lane_said(&lane, "claimed(7,3.9) recovered(100,0) ");
    lane_close(&lane);
}

static void one_commit_is_out_and_the_next_group_collects(void **state)
{
    struct journal_request *first;
    struct lane lane;
    (void)state;

    lane_open(&lane, "b");
    lane_ready(&lane, 1, "s", "x");
    lane_ready(&lane, 2, "s", "y");
    lane_append(&lane, 1, "a");
    first = journal_take_request(lane.journal, lane.now);
    assert_int_equal(first->records.count, 1);
    lane_append(&lane, 1, "b");
    lane_append(&lane, 2, "c");
    lane_append(&lane, 1, "d");
    assert_null(journal_take_request(lane.journal, lane.now));
    lane_answer(&lane, first);
    lane_drain(&lane);
    assert_true(lane.durable == 1);
    first = journal_take_request(lane.journal, lane.now);
    assert_int_equal(first->records.count, 3);
    assert_int_equal(first->entities.count, 2);
    assert_int_equal(first->shards.count, 1);
    assert_true(first->records.items[2].seq == 3);
    lane_answer(&lane, first);
    lane_drain(&lane);
    assert_true(lane.durable == 4);
    assert_null(journal_take_request(lane.journal, lane.now));
    assert_true(journal_deadline(lane.journal) == NEVER);
    lane_close(&lane);
}

static uint64_t base(struct lane *lane, uint64_t handle, const char *text)
{
    return journal_append(lane->journal, handle,
                        (struct entity_event){ .type = JOURNAL_BASE, .payload = slice_text(text) });
}

/* Returns the numbers of the first and the last stored record, and their count, as a text. */
static const char *rows(struct lane *lane, const char *id)
{
    static char text[64];
    struct journal_request *request =
        journal_request_replay(slice_text(id), 1, UINT32_MAX, UINT32_MAX);
    uint32_t count;

    backend_memory.read(lane->store, &request, 1);
    count = request->records.count;
    snprintf(text, sizeof text, "%llu..%llu, %u",
             count ? (unsigned long long)request->records.items[0].seq : 0,
             count ? (unsigned long long)request->records.items[count - 1].seq
                   : 0,
             count);
    journal_request_free(request);
    return text;
}

/* The commit of a base also deletes earlier records (docs/protocol/journal.md). */
/* Neither the entity's earlier events nor those of others are touched. */
static void events_taken_back_are_not_stored(void **state)
{
    struct lane lane;
    struct journal_status status;
    (void)state;

    lane_open(&lane, "back");
    lane_ready(&lane, 100, "7", "x");
    lane_replay(&lane, 101, "7", "y");
    lane_settle(&lane);
    lane_append(&lane, 100, "one");
    lane_append(&lane, 100, "two");
    lane_append(&lane, 101, "other");
    lane_append(&lane, 100, "three");
    journal_withdraw(lane.journal, 100, 1);
    journal_withdraw(lane.journal, 999, 0); /* unknown */
    assert_int_equal(journal_seq(lane.journal, 100), 1);
    journal_status(lane.journal, &status);
    assert_int_equal(status.events_waiting, 2);
    lane_append(&lane, 100, "new");
    lane_settle(&lane);
    assert_int_equal(lane.durable, 5);
    journal_status(lane.journal, &status);
    assert_int_equal(status.events_stored, 3);
    assert_int_equal(status.events_failed, 2);
    assert_int_equal(status.events_waiting, 0);
    assert_int_equal(status.bytes_waiting, 0);
    lane.log[0] = 0;
    journal_forget(lane.journal, 100);
    lane_replay(&lane, 102, "7", "x");
    lane_settle(&lane);
    lane_said(&lane, "event(102,1,one) event(102,2,new) recovered(102,2) ");
    lane_close(&lane);
}

/* A commit is out with earlier events; the collecting group loses all events. */
static void all_events_of_a_group_can_be_taken_back(void **state)
{
    struct journal_request *commit;
    struct lane lane;
    (void)state;

    lane_open(&lane, "all");
    lane_ready(&lane, 100, "7", "x");
    lane_append(&lane, 100, "one");
    commit = journal_take_request(lane.journal, lane.now);
    lane_append(&lane, 100, "two");
    journal_withdraw(lane.journal, 100, 1);
    journal_forget(lane.journal, 100);
    lane_replay(&lane, 101, "7", "x"); /* waits for the commit */
    lane_drain(&lane);
    assert_null(journal_take_request(lane.journal, lane.now));
    lane_answer(&lane, commit);
    lane_settle(&lane);
    assert_int_equal(lane.durable, 2);
    lane_said(&lane, "event(101,1,one) recovered(101,1) ");
    lane_close(&lane);
}

static void a_base_deletes_what_it_replaces(void **state)
{
    struct lane lane;
    (void)state;

    for (uint64_t kept = 0; kept <= 3; kept += 3) {
        lane_open(&lane, kept ? "some kept" : "none kept");
        journal_free(lane.journal);
        lane.journal =
            journal_new(&(struct journal_options){ .seed = 1, .kept = kept });
        lane_ready(&lane, 1, "7", "");
        lane_ready(&lane, 2, "7", "x");
        for (int i = 1; i <= 100; i++) {
            assert_true(lane_append(&lane, 2, "other") != POSITION_NEVER);
            assert_true((i % 10 ? lane_append(&lane, 1, "more")
                                : base(&lane, 1, "base")) != POSITION_NEVER);
            if (i % 3 == 0) /* a base is the first of its commit, or not */
                lane_settle(&lane);
        }
        lane_settle(&lane);
        assert_string_equal(rows(&lane, "|T|7"),
                            kept ? "97..100, 4" : "100..100, 1");
        assert_string_equal(rows(&lane, "T|x"), "1..100, 100");
        journal_forget(lane.journal, 1);
        lane.log[0] = 0;
        lane_replay(&lane, 3, "7", "");
        lane_settle(&lane);
        lane_said(&lane, "event(3,100,base) recovered(3,100) ");
        lane_close(&lane);
    }
}

/* An owner that pauses during its replay reads the records that a newer owner wrote meanwhile; its
 * events stay valid until it is fenced. */
static void a_base_is_replaced_while_it_is_read(void **state)
{
    struct journal_request *request;
    struct journal_status status;
    struct lane other;
    struct lane lane;
    (void)state;

    lane_open(&lane, "replaced");
    lane_open(&other, "replaced");
    lane_ready(&lane, 1, "7", "");
    assert_true(base(&lane, 1, "first") != POSITION_NEVER);
    assert_true(lane_append(&lane, 1, "more") != POSITION_NEVER);
    lane_settle(&lane);
    journal_forget(lane.journal, 1);
    lane_replay(&lane, 2, "7", "");
    request = journal_take_request(lane.journal, lane.now);
    assert_true(request->from == BACKEND_LAST);
    lane_answer(&lane, request);
    lane_drain(&lane);
    lane_claim(&other, "7", 9, 9);
    lane_replay(&other, 1, "7", "");
    lane_settle(&other);
    assert_true(base(&other, 1, "second") != POSITION_NEVER);
    lane_settle(&other);
    assert_string_equal(rows(&other, "|T|7"), "3..3, 1");
    lane_settle(&lane);
    lane_said(&lane, "event(2,3,second) recovered(2,3) ");
    assert_true(lane_append(&lane, 2, "late") != POSITION_NEVER);
    lane_settle(&lane);
    lane_said(&lane, "failed(2,fenced) fenced(7,9.9) ");
    journal_status(lane.journal, &status);
    assert_int_equal(status.damaged, 0);
    lane_close(&other);
    lane_close(&lane);
}

/* A missing base that the last record names is damage. */
static void a_missing_base_is_damage(void **state)
{
    struct journal_status status;
    struct journal_request *request;
    struct lane lane;
    (void)state;

    lane_open(&lane, "missing");
    lane_ready(&lane, 1, "7", "");
    assert_true(base(&lane, 1, "base") != POSITION_NEVER);
    assert_true(lane_append(&lane, 1, "a") != POSITION_NEVER);
    lane_settle(&lane);
    assert_true(lane_append(&lane, 1, "b") != POSITION_NEVER);
    request = journal_take_request(lane.journal, lane.now);
    request->entities.items[0].cut = 2; /* no lane requests this */
    lane_answer(&lane, request);
    lane_settle(&lane);
    journal_forget(lane.journal, 1);
    lane_replay(&lane, 2, "7", "");
    lane_settle(&lane);
    lane_said(&lane, "failed(2,damaged record) ");
    journal_status(lane.journal, &status);
    assert_int_equal(status.damaged, 1);
    lane_close(&lane);
}

/* A shard's own stream is read from its newest base on, however long it is; no entity's id names
 * that stream. */
static void a_stream_is_read_from_its_base_on(void **state)
{
    struct journal_request *request;
    struct lane lane;
    (void)state;

    lane_open(&lane, "own");
    lane_ready(&lane, 1, "7", "");
    lane_ready(&lane, 2, "7", "|T|7");
    assert_true(lane_append(&lane, 1, "first") != POSITION_NEVER);
    assert_true(lane_append(&lane, 1, "second") != POSITION_NEVER);
    assert_true(lane_append(&lane, 2, "other") != POSITION_NEVER);
    lane_settle(&lane);
    journal_forget(lane.journal, 1);
    lane_replay(&lane, 3, "7", "");
    lane_settle(&lane);
    lane_said(&lane, "event(3,1,first) event(3,2,second) recovered(3,2) ");
    assert_true(base(&lane, 3, "base") != POSITION_NEVER);
    assert_true(lane_append(&lane, 3, "part") != POSITION_NEVER);
    lane_settle(&lane);
    assert_true(lane_append(&lane, 3, "after") != POSITION_NEVER);
    lane_settle(&lane);
    journal_forget(lane.journal, 3);
    lane_replay(&lane, 4, "7", "");
    request = journal_take_request(lane.journal, lane.now);
    assert_true(request->from == BACKEND_LAST);
    lane_answer(&lane, request);
    lane_settle(&lane);
    lane_said(&lane, "event(4,3,base) event(4,4,part) event(4,5,after) "
                     "recovered(4,5) ");
    assert_true(lane_append(&lane, 4, "more") != POSITION_NEVER);
    lane_settle(&lane);
    lane_replay(&lane, 4, "7", ""); /* again, without a stop in between */
    lane_settle(&lane);
    lane_said(&lane, "event(4,3,base) event(4,4,part) event(4,5,after) "
                     "event(4,6,more) recovered(4,6) ");
    lane_close(&lane);
}

/* The time to read a chunk is measured; the newest measurement counts an eighth. */
static void reading_is_measured(void **state)
{
    struct journal_status status;
    struct journal_request *request;
    struct lane lane;
    (void)state;

    lane_open(&lane, "measured");
    lane_ready(&lane, 1, "7", "x");
    lane_replay(&lane, 1, "7", "x");
    request = journal_take_request(lane.journal, lane.now);
    lane.now += 800;
    lane_answer(&lane, request);
    lane_drain(&lane);
    journal_status(lane.journal, &status);
    assert_true(status.replay_ns == 800);
    lane_replay(&lane, 1, "7", "x");
    lane_settle(&lane);
    journal_status(lane.journal, &status);
    assert_true(status.replay_ns == 700);
    lane_close(&lane);
}

/* Appends events of this size while there is room, at most `most`; returns their number. */
static uint32_t fill(struct lane *lane, uint64_t handle, size_t size,
                     uint32_t most)
{
    uint8_t *event = mem_alloc(size);
    uint32_t count = 0;

    while (count < most && journal_has_room(lane->journal, handle)) {
        assert_true(journal_append(lane->journal, handle,
                        (struct entity_event){ .type = 1, .payload = slice_of(event, size) }) != POSITION_NEVER);
        count++;
    }
    mem_free(event);
    return count;
}

/* Opens a lane with entities 1 to count. */
static void open_with_entities(struct lane *lane, const char *name,
                               uint64_t count)
{
    lane_open(lane, name);
    for (uint64_t handle = 1; handle <= count; handle++) {
        char id[8];

        snprintf(id, sizeof id, "id%d", (int)handle);
        lane_ready(lane, handle, "s", id);
    }
}

static void events_of_an_entity_and_of_a_lane_are_bounded(void **state)
{
    enum { COUNT = JOURNAL_LANE_EVENTS_MAX / JOURNAL_ENTITY_EVENTS_MAX + 2 };
    struct lane lane;
    (void)state;

    open_with_entities(&lane, "c", COUNT);
    assert_int_equal(fill(&lane, 1, 1, UINT32_MAX), JOURNAL_ENTITY_EVENTS_MAX);
    assert_true(journal_has_room(lane.journal, COUNT));
    for (uint64_t handle = 2; handle < COUNT - 1; handle++)
        assert_int_equal(fill(&lane, handle, 1, UINT32_MAX),
                         JOURNAL_ENTITY_EVENTS_MAX);
    assert_int_equal(fill(&lane, COUNT - 1, 1, UINT32_MAX),
                     JOURNAL_LANE_EVENTS_MAX % JOURNAL_ENTITY_EVENTS_MAX);
    assert_false(journal_has_room(lane.journal, COUNT));
    lane_settle(&lane);
    assert_true(journal_has_room(lane.journal, 1));
    assert_true(journal_has_room(lane.journal, COUNT));
    lane_close(&lane);
}

static void bytes_of_an_entity_and_of_a_lane_are_bounded(void **state)
{
    enum {
        SIZE = JOURNAL_ENTITY_BYTES_MAX / 8, /* with a record's overhead, eight exceed the limit */
        COUNT = JOURNAL_LANE_BYTES_MAX / JOURNAL_ENTITY_BYTES_MAX + 1
    };
    struct lane lane;
    (void)state;

    open_with_entities(&lane, "c2", COUNT);
    for (uint64_t handle = 1; handle < COUNT; handle++) {
        assert_int_equal(fill(&lane, handle, SIZE, 7), 7);
        assert_true(journal_has_room(lane.journal, handle));
        assert_int_equal(fill(&lane, handle, SIZE, UINT32_MAX), 1);
        assert_true(journal_has_room(lane.journal, COUNT) ==
                    (handle < COUNT - 1));
    }
    lane_settle(&lane);
    assert_true(journal_has_room(lane.journal, 1));
    lane_close(&lane);
}

static void an_event_at_the_limit_is_stored_and_one_above_is_not(void **state)
{
    uint8_t *event = mem_alloc(JOURNAL_EVENT_SIZE_MAX + 1);
    struct lane lane;
    (void)state;

    lane_open(&lane, "d");
    lane_ready(&lane, 1, "s", "x");
    assert_true(journal_append(lane.journal, 1,
                        (struct entity_event){ .type = 1, .payload = slice_of(event, JOURNAL_EVENT_SIZE_MAX) }) == 1);
    lane_settle(&lane);
    assert_true(lane.durable == 1);
    assert_true(journal_append(lane.journal, 1,
                        (struct entity_event){ .type = 1, .payload = slice_of(event, JOURNAL_EVENT_SIZE_MAX + 1) }) ==
                POSITION_NEVER);
    assert_true(lane_append(&lane, 1, "later") == POSITION_NEVER);
    lane_settle(&lane);
    lane_said(&lane, "failed(1,event too large) ");
    lane_close(&lane);
    mem_free(event);
}

/* 2,500 events come in three chunks; each is requested after the previous one was handed out. */
static void a_long_recovery_comes_in_chunks(void **state)
{
    struct journal_request *request;
    struct journal_news news;
    struct lane lane;
    uint64_t seq = 0;
    int chunks = 0;
    (void)state;

    lane_open(&lane, "e");
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
    struct journal_request *request;
    struct journal_news news;
    struct lane lane;
    uint32_t chunks = 0;
    uint64_t seq = 0;
    (void)state;

    lane_open(&lane, "chunk");
    lane_ready(&lane, 1, "s", "x");
    for (int i = 0; i < 5; i++)
        (void)journal_append(lane.journal, 1,
                        (struct entity_event){ .type = 1, .payload = slice_of(event, SIZE) });
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

static void a_limited_number_of_entities_recovers_in_order(void **state)
{
    enum { MAX = JOURNAL_REPLAYS_MAX };
    struct journal_request *out[MAX];
    struct journal_status status;
    struct buf said = { 0 };
    struct lane lane;
    char text[32];
    (void)state;

    lane_open(&lane, "f");
    lane_claim(&lane, "s", 1, 1);
    lane_settle(&lane);
    for (uint64_t handle = 1; handle <= MAX + 2; handle++) {
        snprintf(text, sizeof text, "id%d", (int)handle);
        lane_replay(&lane, handle, "s", text);
        if (handle == MAX + 1)
            continue;
        snprintf(text, sizeof text, "recovered(%d,0) ", (int)handle);
        buf_put_text(&said, text);
    }
    buf_put_u8(&said, 0);
    for (uint32_t i = 0; i < MAX; i++)
        out[i] = journal_take_request(lane.journal, lane.now);
    assert_non_null(out[MAX - 1]);
    assert_null(journal_take_request(lane.journal, lane.now));
    journal_status(lane.journal, &status);
    assert_int_equal(status.replays_running, MAX);
    assert_int_equal(status.replays_waiting, 2);
    journal_forget(lane.journal, MAX + 1); /* its place in the queue is skipped */
    for (uint32_t i = 0; i < MAX; i++) {
        lane_answer(&lane, out[i]);
    }
    lane.log[0] = 0;
    lane_settle(&lane);
    lane_said(&lane, (const char *)said.data);
    buf_fini(&said);
    lane_close(&lane);
}

static void expect_recoveries(struct lane *lane, uint32_t running, uint64_t done, uint64_t failed,
                              uint64_t stopped)
{
    struct journal_status status;

    journal_status(lane->journal, &status);
    assert_int_equal(status.replays_running, running);
    assert_int_equal(status.replays_done, done);
    assert_int_equal(status.replays_failed, failed);
    assert_int_equal(status.replays_stopped, stopped);
    assert_int_equal(status.replays_started, running + done + failed + stopped);
}

/* Each way in which a recovery ends gives its place to the next one, once. */
static void the_end_of_a_recovery_gives_its_place_to_the_next_one(void **state)
{
    const struct journal_options two = { .replays_max = 2 };
    struct journal_request *out[2];
    struct lane lane;
    (void)state;

    lane_open(&lane, "places");
    journal_free(lane.journal);
    lane.journal = journal_new(&two);
    lane_claim(&lane, "s", 1, 1);
    lane_settle(&lane);
    for (uint64_t handle = 1; handle <= 6; handle++)
        lane_replay(&lane, handle, "s", (char[]){ (char)('a' + handle), 0 });
    for (int i = 0; i < 2; i++)
        assert_non_null(out[i] = journal_take_request(lane.journal, lane.now));
    assert_null(journal_take_request(lane.journal, lane.now));
    journal_reject(lane.journal, 1); /* by its entity */
    journal_reject(lane.journal, 1); /* again, and for one that waits: ignored */
    journal_reject(lane.journal, 5);
    expect_recoveries(&lane, 1, 0, 1, 0);
    journal_forget(lane.journal, 1);
    journal_forget(lane.journal, 2); /* it stops */
    expect_recoveries(&lane, 0, 0, 1, 1);
    for (int i = 0; i < 2; i++) /* late: nobody waits for them */
        lane_answer(&lane, out[i]);
    for (int i = 0; i < 2; i++)
        assert_non_null(out[i] = journal_take_request(lane.journal, lane.now));
    assert_null(journal_take_request(lane.journal, lane.now));
    lane_run(&lane, out[0]);
    out[0]->result = BACKEND_FAILED; /* it cannot be read */
    journal_reply(lane.journal, lane.now, out[0]);
    lane_answer(&lane, out[1]);
    lane_settle(&lane);
    expect_recoveries(&lane, 0, 3, 2, 1);
    lane_close(&lane);
}

static void a_recovery_waits_for_the_entitys_own_events(void **state)
{
    struct journal_request *commit;
    struct lane lane;
    (void)state;

    lane_open(&lane, "g");
    lane_ready(&lane, 1, "s", "x");
    lane_append(&lane, 1, "a");
    commit = journal_take_request(lane.journal, lane.now);
    lane_append(&lane, 1, "b");
    /* The entity is forgotten and restarted under another handle while a is out and b waits. */
    journal_forget(lane.journal, 1);
    lane_replay(&lane, 2, "s", "x");
    assert_null(journal_take_request(lane.journal, lane.now));
    lane_answer(&lane, commit);
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

    lane_open(&lane, "h");
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
        cmocka_unit_test(events_of_an_entity_and_of_a_lane_are_bounded),
        cmocka_unit_test(bytes_of_an_entity_and_of_a_lane_are_bounded),
        cmocka_unit_test(events_taken_back_are_not_stored),
        cmocka_unit_test(all_events_of_a_group_can_be_taken_back),
        cmocka_unit_test(an_event_at_the_limit_is_stored_and_one_above_is_not),
        cmocka_unit_test(a_long_recovery_comes_in_chunks),
        cmocka_unit_test(a_chunk_has_a_limit_of_bytes),
        cmocka_unit_test(a_limited_number_of_entities_recovers_in_order),
        cmocka_unit_test(the_end_of_a_recovery_gives_its_place_to_the_next_one),
        cmocka_unit_test(a_recovery_waits_for_the_entitys_own_events),
        cmocka_unit_test(handles_are_found_among_many),
        cmocka_unit_test(a_stream_is_read_from_its_base_on),
        cmocka_unit_test(a_base_deletes_what_it_replaces),
        cmocka_unit_test(a_base_is_replaced_while_it_is_read),
        cmocka_unit_test(a_missing_base_is_damage),
        cmocka_unit_test(reading_is_measured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
