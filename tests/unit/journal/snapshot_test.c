/* Tests how snapshots are stored after their events, chosen at a recovery, and kept, and when the
 * events behind them are deleted. */
#include "lane.h"

#include "base/limits.h"
#include "journal/record.h"

static void recover(struct lane *lane, uint64_t handle, const char *id)
{
    journal_recover(lane->journal, handle, slice_text("T"), slice_text("7"), slice_text(id));
}

static void save(struct lane *lane, uint64_t handle, const char *image, uint32_t keep, bool trims)
{
    journal_save(lane->journal, handle,
                 &(struct journal_snapshot){
                     .image = slice_text(image), .keep = keep, .trims = trims });
}

static struct journal_request *by_owner(enum backend_verb verb, uint64_t epoch)
{
    return journal_request_owner(verb, slice_text("T"), slice_text("7"),
                                 (struct fence){ 1, epoch }, slice_text("T|x"));
}

static enum backend_result run(struct lane *lane, struct journal_request *request)
{
    enum backend_result result;

    lane_run(lane, request);
    result = request->result;
    journal_request_free(request);
    return result;
}

/* Stores a snapshot of x without the journal. */
static enum backend_result put(struct lane *lane, uint64_t seq, struct slice bytes)
{
    struct journal_request *request = by_owner(BACKEND_SAVE, 1);
    struct backend_record record = { .seq = seq };

    record.bytes = backend_put(request, bytes);
    vec_push(&request->records, record);
    request->count_max = 100;
    return run(lane, request);
}

/* Numbers of the events and snapshots of x that are stored: "3 4 | 2 ". */
static const char *stored(struct lane *lane)
{
    static char text[256];
    struct journal_request *request =
        journal_request_replay(slice_text("T|x"), 1, 1000, 1 << 20);
    uint64_t up_to = BACKEND_NEWEST;

    text[0] = 0;
    lane_run(lane, request);
    for (uint32_t i = 0; i < request->records.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%llu ",
                 (unsigned long long)request->records.items[i].seq);
    journal_request_free(request);
    strcat(text, "|");
    for (;;) {
        request = journal_request_load(slice_text("T|x"), up_to);
        lane_run(lane, request);
        if (!request->records.count)
            break;
        up_to = request->records.items[0].seq;
        snprintf(text + strlen(text), sizeof text - strlen(text), " %llu",
                 (unsigned long long)up_to--);
        journal_request_free(request);
    }
    journal_request_free(request);
    return text;
}

/* Appends events up to a number, and takes a snapshot of the last one. */
static void grow(struct lane *lane, uint64_t to, uint32_t keep, bool trims)
{
    char image[16];

    while (journal_seq(lane->journal, 1) < to)
        lane_append(lane, 1, "e");
    snprintf(image, sizeof image, "i%llu", (unsigned long long)to);
    save(lane, 1, image, keep, trims);
    lane_settle(lane);
    lane->log[0] = 0;
}

static void open_x(struct lane *lane, const char *name)
{
    lane_open(lane, name);
    lane_claim(lane, "7", 1, 1);
    recover(lane, 1, "x");
    lane_settle(lane);
    lane->log[0] = 0;
}

static void again(struct lane *lane)
{
    journal_forget(lane->journal, 1);
    recover(lane, 1, "x");
    lane_settle(lane);
}

static void a_recovery_begins_at_the_newest_snapshot(void **state)
{
    struct lane lane;
    struct journal_status status;
    (void)state;

    open_x(&lane, "newest");
    grow(&lane, 2, 2, false);
    grow(&lane, 4, 2, false);
    lane_append(&lane, 1, "five");
    lane_settle(&lane);
    again(&lane);
    lane_said(&lane, "snapshot(1,4,i4) event(1,5,five) recovered(1,5) ");
    journal_status(lane.journal, &status);
    assert_int_equal(status.snapshots_saved, 2);
    assert_int_equal(status.snapshots_loaded, 1);
    assert_int_equal(status.snapshots_refused, 0);
    assert_true(lane_append(&lane, 1, "six") == status.position + 1);
    assert_true(journal_seq(lane.journal, 1) == 6);
    lane_close(&lane);
}

static void a_snapshot_of_the_last_event_is_enough(void **state)
{
    struct lane lane;
    (void)state;

    open_x(&lane, "last");
    grow(&lane, 3, 2, false);
    again(&lane);
    lane_said(&lane, "snapshot(1,3,i3) recovered(1,3) ");
    lane_close(&lane);
}

static void an_entity_without_a_snapshot_reads_all_events(void **state)
{
    struct lane lane;
    (void)state;

    open_x(&lane, "none");
    lane_append(&lane, 1, "a");
    lane_settle(&lane);
    again(&lane);
    lane_said(&lane, "event(1,1,a) recovered(1,1) ");
    lane_close(&lane);
}

static void a_snapshot_is_sent_after_its_event_is_durable(void **state)
{
    struct journal_request *append;
    struct journal_request *request;
    struct lane lane;
    (void)state;

    open_x(&lane, "order");
    lane_append(&lane, 1, "a");
    save(&lane, 1, "i1", 2, false);
    append = journal_take_request(lane.journal, lane.now);
    assert_int_equal(append->verb, BACKEND_APPEND);
    assert_null(journal_take_request(lane.journal, lane.now));
    lane_answer(&lane, append);
    request = journal_take_request(lane.journal, lane.now);
    assert_int_equal(request->verb, BACKEND_SAVE);
    assert_true(request->records.items[0].seq == 1);
    lane_answer(&lane, request);
    lane_drain(&lane);
    lane_said(&lane, "saved(1,1) ");
    lane_close(&lane);
}

static void a_snapshot_of_an_event_that_was_not_stored_is_dropped(void **state)
{
    struct journal_request *append;
    struct journal_status status;
    struct lane lane;
    (void)state;

    open_x(&lane, "refused");
    lane_append(&lane, 1, "a");
    save(&lane, 1, "i1", 2, false);
    append = journal_take_request(lane.journal, lane.now);
    backend_settle(append, BACKEND_FAILED, "the disk is full");
    journal_reply(lane.journal, lane.now, append);
    lane_settle(&lane);
    lane_said(&lane, "failed(1,not stored) ");
    journal_status(lane.journal, &status);
    assert_int_equal(status.snapshots_failed, 1);
    assert_string_equal(stored(&lane), "|");
    lane_close(&lane);
}

/* The store may have lost the event meanwhile, and then the next one has its number. */
static void a_snapshot_of_before_another_claim_is_dropped(void **state)
{
    struct journal_status status;
    struct lane lane;
    (void)state;

    open_x(&lane, "claimed");
    lane_append(&lane, 1, "a");
    save(&lane, 1, "i1", 2, false);
    lane_answer(&lane, journal_take_request(lane.journal, lane.now));
    journal_forget(lane.journal, 1);
    lane_claim(&lane, "7", 1, 2);
    lane_settle(&lane);
    assert_string_equal(stored(&lane), "1 |");
    journal_status(lane.journal, &status);
    assert_int_equal(status.snapshots_failed, 1);
    lane_close(&lane);
}

static void the_newest_ones_are_kept(void **state)
{
    struct lane lane;
    (void)state;

    open_x(&lane, "keep");
    for (uint64_t to = 1; to <= 5; to++)
        grow(&lane, to, 3, false);
    assert_string_equal(stored(&lane), "1 2 3 4 5 | 5 4 3");
    lane_close(&lane);
}

static void events_go_behind_the_oldest_kept_snapshot(void **state)
{
    struct lane lane;
    (void)state;

    open_x(&lane, "trim");
    grow(&lane, 3, 2, true);
    assert_string_equal(stored(&lane), "1 2 3 | 3"); /* there is no second one to fall back to */
    grow(&lane, 6, 2, true);
    assert_string_equal(stored(&lane), "4 5 6 | 6 3");
    grow(&lane, 7, 2, true);
    assert_string_equal(stored(&lane), "7 | 7 6");
    again(&lane);
    lane_said(&lane, "snapshot(1,7,i7) recovered(1,7) ");
    lane_close(&lane);
}

static void the_last_event_is_never_deleted(void **state)
{
    struct lane lane;
    (void)state;

    open_x(&lane, "only");
    grow(&lane, 4, 1, true);
    assert_string_equal(stored(&lane), "4 | 4");
    lane_close(&lane);
}

static void some_events_before_the_oldest_snapshot_stay(void **state)
{
    struct lane lane;
    (void)state;

    open_x(&lane, "margin");
    while (journal_seq(lane.journal, 1) < 9)
        lane_append(&lane, 1, "e");
    journal_save(lane.journal, 1,
                 &(struct journal_snapshot){ .image = slice_text("i"),
                                             .keep = 1,
                                             .trims = true,
                                             .keep_events = 2 });
    lane_append(&lane, 1, "e");
    lane_settle(&lane);
    assert_string_equal(stored(&lane), "8 9 10 | 9");
    lane_close(&lane);
}

static void many_events_are_deleted_in_slices(void **state)
{
    struct journal_status status;
    struct lane lane;
    (void)state;

    open_x(&lane, "slices");
    while (journal_seq(lane.journal, 1) < 2 * JOURNAL_TRIM_MAX + 10) {
        lane_append(&lane, 1, "e");
        if (!journal_has_room(lane.journal, 1))
            lane_settle(&lane);
    }
    save(&lane, 1, "i", 1, true);
    lane_settle(&lane);
    journal_status(lane.journal, &status);
    assert_int_equal(status.events_trimmed, 2 * JOURNAL_TRIM_MAX + 9);
    assert_string_equal(stored(&lane), "2010 | 2010");
    lane_close(&lane);
}

static void a_damaged_snapshot_falls_back_to_an_older_one(void **state)
{
    struct journal_status status;
    struct lane lane;
    (void)state;

    open_x(&lane, "older");
    grow(&lane, 2, 2, false);
    grow(&lane, 3, 2, false);
    assert_int_equal(put(&lane, 3, slice_text("not a snapshot")), BACKEND_DONE);
    again(&lane);
    lane_said(&lane, "snapshot(1,2,i2) event(1,3,e) recovered(1,3) ");
    journal_status(lane.journal, &status);
    assert_int_equal(status.snapshots_refused, 1);
    lane_close(&lane);
}

static void without_a_good_snapshot_all_events_are_read(void **state)
{
    struct lane lane;
    (void)state;

    open_x(&lane, "all");
    grow(&lane, 2, 2, false);
    assert_int_equal(put(&lane, 1, slice_text("x")), BACKEND_DONE);
    assert_int_equal(put(&lane, 2, slice_text("x")), BACKEND_DONE);
    again(&lane);
    lane_said(&lane, "event(1,1,e) event(1,2,e) recovered(1,2) ");
    lane_close(&lane);
}

/* Otherwise the entity would start with a part of its state. */
static void without_a_good_snapshot_and_event_1_nothing_starts(void **state)
{
    struct lane lane;
    (void)state;

    open_x(&lane, "partial");
    grow(&lane, 2, 1, true);
    assert_int_equal(put(&lane, 2, slice_text("x")), BACKEND_DONE);
    again(&lane);
    lane_said(&lane, "failed(1,damaged record) ");
    lane_close(&lane);
}

/* The journal went back to an older state. The snapshot must not come back once new events have its
 * number. */
static void a_snapshot_above_the_last_event_is_deleted(void **state)
{
    struct journal_request *request;
    struct buf bytes = { 0 };
    struct lane lane;
    (void)state;

    open_x(&lane, "high");
    grow(&lane, 2, 2, false);
    snapshot_encode(&bytes, record_key(slice_text("T|x")), 9,
                    &(struct snapshot){ .image = slice_text("i9") });
    assert_int_equal(put(&lane, 9, buf_slice(&bytes)), BACKEND_CONFLICT);
    journal_forget(lane.journal, 1);
    recover(&lane, 1, "x");
    request = journal_take_request(lane.journal, lane.now);
    assert_int_equal(request->verb, BACKEND_LOAD);
    request->result = BACKEND_DONE;
    vec_push(&request->records,
             ((struct backend_record){ .seq = 9,
                                       .bytes = backend_put(request, buf_slice(&bytes)) }));
    journal_reply(lane.journal, lane.now, request);
    lane_drain(&lane);
    request = journal_take_request(lane.journal, lane.now);
    assert_int_equal(request->verb, BACKEND_REPLAY);
    assert_true(request->from == 9);
    lane_answer(&lane, request);
    lane_drain(&lane);
    lane_said(&lane, "");
    request = journal_take_request(lane.journal, lane.now);
    assert_int_equal(request->verb, BACKEND_DROP);
    assert_true(request->from == 9);
    lane_answer(&lane, request);
    lane_settle(&lane);
    lane_said(&lane, "snapshot(1,2,i2) recovered(1,2) ");
    buf_fini(&bytes);
    lane_close(&lane);
}

static void a_gap_behind_a_snapshot_falls_back(void **state)
{
    struct buf bytes = { 0 };
    struct lane lane;
    (void)state;

    open_x(&lane, "gap");
    grow(&lane, 3, 1, true);
    grow(&lane, 6, 1, true); /* leaves event 6 */
    snapshot_encode(&bytes, record_key(slice_text("T|x")), 4,
                    &(struct snapshot){ .image = slice_text("i4") });
    assert_int_equal(put(&lane, 4, buf_slice(&bytes)), BACKEND_DONE);
    assert_int_equal(put(&lane, 6, slice_text("x")), BACKEND_DONE);
    again(&lane);
    lane_said(&lane, "failed(1,damaged record) ");
    buf_fini(&bytes);
    lane_close(&lane);
}

static void a_rejected_snapshot_falls_back(void **state)
{
    struct journal_request *request;
    struct journal_news news;
    struct lane lane;
    (void)state;

    open_x(&lane, "rejected");
    grow(&lane, 2, 2, false);
    grow(&lane, 4, 2, false);
    journal_forget(lane.journal, 1);
    recover(&lane, 1, "x");
    while ((request = journal_take_request(lane.journal, lane.now))) {
        lane_answer(&lane, request);
        while (journal_next_news(lane.journal, &news)) {
            lane_note(&lane, &news);
            if (news.kind == JOURNAL_SNAPSHOT && news.seq == 4)
                journal_reject_snapshot(lane.journal, 1, "a test");
        }
    }
    lane_said(&lane, "snapshot(1,4,i4) snapshot(1,2,i2) event(1,3,e) event(1,4,e) "
                     "recovered(1,4) ");
    lane_close(&lane);
}

static void a_stale_owner_saves_and_deletes_nothing(void **state)
{
    static const enum backend_verb verbs[] = { BACKEND_TRIM, BACKEND_DROP };
    struct journal_request *claim;
    struct lane lane;
    (void)state;

    open_x(&lane, "stale");
    grow(&lane, 4, 2, false);
    claim = journal_request_claim(slice_text("T"), slice_text("7"), (struct fence){ 1, 2 });
    assert_int_equal(run(&lane, claim), BACKEND_DONE);
    assert_int_equal(put(&lane, 3, slice_text("x")), BACKEND_FENCED);
    for (int i = 0; i < 2; i++) {
        struct journal_request *request = by_owner(verbs[i], 1);

        request->from = i == 0 ? 4 : 1;
        request->count_max = 100;
        assert_int_equal(run(&lane, request), BACKEND_FENCED);
    }
    assert_string_equal(stored(&lane), "1 2 3 4 | 4");
    save(&lane, 1, "late", 2, false);
    lane_settle(&lane);
    lane_said(&lane, "fenced(7,1.2) ");
    lane_close(&lane);
}

static void a_failed_save_changes_nothing_else(void **state)
{
    struct journal_request *request;
    struct journal_status status;
    struct lane lane;
    (void)state;

    open_x(&lane, "failed");
    lane_append(&lane, 1, "a");
    lane_settle(&lane);
    save(&lane, 1, "i1", 1, true);
    request = journal_take_request(lane.journal, lane.now);
    backend_settle(request, BACKEND_FAILED, "the disk is full");
    journal_reply(lane.journal, lane.now, request);
    lane_settle(&lane);
    lane_said(&lane, "");
    journal_status(lane.journal, &status);
    assert_int_equal(status.snapshots_failed, 1);
    lane_append(&lane, 1, "b");
    lane_settle(&lane);
    assert_string_equal(stored(&lane), "1 2 |");
    lane_close(&lane);
}

static void events_stay_while_the_oldest_snapshot_is_damaged(void **state)
{
    struct journal_request *request;
    struct lane lane;
    (void)state;

    open_x(&lane, "verify");
    grow(&lane, 3, 2, true);
    lane_append(&lane, 1, "e");
    save(&lane, 1, "i4", 2, true);
    while ((request = journal_take_request(lane.journal, lane.now))) {
        if (request->verb == BACKEND_LOAD)
            assert_int_equal(put(&lane, 3, slice_text("x")), BACKEND_DONE);
        lane_answer(&lane, request);
    }
    lane_drain(&lane);
    assert_string_equal(stored(&lane), "1 2 3 4 | 4 3");
    lane_close(&lane);
}

static void snapshots_that_wait_are_bounded(void **state)
{
    struct journal_status status;
    struct lane lane;
    (void)state;

    open_x(&lane, "bounded");
    lane_append(&lane, 1, "a");
    for (uint32_t i = 0; i < JOURNAL_SNAPSHOTS_MAX + 5; i++)
        save(&lane, 1, "i", 2, false);
    journal_status(lane.journal, &status);
    assert_int_equal(status.snapshots_failed, 5);
    lane_settle(&lane);
    journal_status(lane.journal, &status);
    assert_int_equal(status.snapshots_saved, JOURNAL_SNAPSHOTS_MAX);
    lane_close(&lane);
}

static void bytes_of_snapshots_that_wait_are_bounded(void **state)
{
    uint8_t *bytes = mem_alloc(JOURNAL_SNAPSHOT_SIZE_MAX + 1);
    struct journal_status status;
    struct journal_snapshot snapshot = { .keep = 2 };
    struct lane lane;
    (void)state;

    open_x(&lane, "bytes");
    lane_append(&lane, 1, "a");
    snapshot.image = slice_of(bytes, JOURNAL_SNAPSHOT_SIZE_MAX + 1);
    journal_save(lane.journal, 1, &snapshot);
    journal_status(lane.journal, &status);
    assert_int_equal(status.ignored, 1);
    snapshot.image.size--;
    for (size_t sum = 0; sum <= JOURNAL_SNAPSHOTS_SIZE_MAX; sum += JOURNAL_SNAPSHOT_SIZE_MAX)
        journal_save(lane.journal, 1, &snapshot);
    journal_status(lane.journal, &status);
    assert_int_equal(status.snapshots_failed, 2); /* each has some bytes more than its image */
    mem_free(bytes);
    lane_close(&lane);
}

static void an_event_never_passes_for_a_snapshot(void **state)
{
    struct buf bytes = { 0 };
    uint64_t key = record_key(slice_text("T|x"));
    struct snapshot snapshot;
    struct record record;
    (void)state;

    record_encode(&bytes, key, 3, &(struct record){ .payload = slice_text("longer than that") });
    assert_non_null(snapshot_decode(buf_slice(&bytes), key, 3, &snapshot));
    buf_clear(&bytes);
    snapshot_encode(&bytes, key, 3,
                    &(struct snapshot){ 7, { 1, 2 }, slice_text("part"), slice_text("image") });
    assert_non_null(record_decode(buf_slice(&bytes), key, 3, &record));
    assert_non_null(snapshot_decode(buf_slice(&bytes), key, 4, &snapshot));
    assert_null(snapshot_decode(buf_slice(&bytes), key, 3, &snapshot));
    assert_int_equal(snapshot.version, 7);
    assert_true(slice_is(snapshot.part, "part"));
    assert_true(slice_is(snapshot.image, "image"));
    buf_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recovery_begins_at_the_newest_snapshot),
        cmocka_unit_test(a_snapshot_of_the_last_event_is_enough),
        cmocka_unit_test(an_entity_without_a_snapshot_reads_all_events),
        cmocka_unit_test(a_snapshot_is_sent_after_its_event_is_durable),
        cmocka_unit_test(a_snapshot_of_an_event_that_was_not_stored_is_dropped),
        cmocka_unit_test(a_snapshot_of_before_another_claim_is_dropped),
        cmocka_unit_test(the_newest_ones_are_kept),
        cmocka_unit_test(events_go_behind_the_oldest_kept_snapshot),
        cmocka_unit_test(the_last_event_is_never_deleted),
        cmocka_unit_test(some_events_before_the_oldest_snapshot_stay),
        cmocka_unit_test(many_events_are_deleted_in_slices),
        cmocka_unit_test(a_damaged_snapshot_falls_back_to_an_older_one),
        cmocka_unit_test(without_a_good_snapshot_all_events_are_read),
        cmocka_unit_test(without_a_good_snapshot_and_event_1_nothing_starts),
        cmocka_unit_test(a_snapshot_above_the_last_event_is_deleted),
        cmocka_unit_test(a_gap_behind_a_snapshot_falls_back),
        cmocka_unit_test(a_rejected_snapshot_falls_back),
        cmocka_unit_test(a_stale_owner_saves_and_deletes_nothing),
        cmocka_unit_test(a_failed_save_changes_nothing_else),
        cmocka_unit_test(events_stay_while_the_oldest_snapshot_is_damaged),
        cmocka_unit_test(snapshots_that_wait_are_bounded),
        cmocka_unit_test(bytes_of_snapshots_that_wait_are_bounded),
        cmocka_unit_test(an_event_never_passes_for_a_snapshot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
