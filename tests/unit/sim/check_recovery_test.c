/* Tests check_recovery with correct recoveries and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "journal/book.h"
#include "journal/record.h"
#include "sim/check/check_recovery.h"
#include "sim/world/verdict.h"

struct bench {
    uint64_t now;
    struct verdict *verdict;
    struct check_recovery *check;
    struct disk_backend_observer told;
};

static int bench_begin(void **state)
{
    struct bench *bench = mem_alloc(sizeof *bench);

    bench->verdict = verdict_new(1, &bench->now);
    bench->check = check_recovery_new(bench->verdict);
    bench->told = check_recovery_observer(bench->check);
    *state = bench;
    return 0;
}

static int bench_end(void **state)
{
    struct bench *bench = *state;

    check_recovery_free(bench->check);
    verdict_free(bench->verdict);
    mem_free(bench);
    return 0;
}

static uint8_t event_byte(uint64_t seq)
{
    return (uint8_t)(seq * 7);
}

static void add_record(struct journal_request *request, uint64_t seq)
{
    uint8_t byte = event_byte(seq);
    struct record record = { .event_type = (uint32_t)(byte + 3),
                             .payload = slice_of(&byte, 1) };
    struct backend_record stored = { .seq = seq };
    struct buf bytes = { 0 };

    record_encode(&bytes, record_key(slice_text("T|x")), seq, &record);
    stored.bytes = backend_put(request, buf_slice(&bytes));
    vec_push(&request->records, stored);
    buf_fini(&bytes);
}

/* One chunk of a replay of T|x. */
static void answered(struct bench *bench, uint32_t node, uint64_t from,
                     uint32_t count, bool more, enum backend_result result)
{
    struct journal_request *request =
        journal_request_replay(slice_text("T|x"), from, 100, 1 << 20);

    request->result = result;
    request->more = more;
    for (uint32_t i = 0; i < count; i++)
        add_record(request, from + i);
    bench->told.answered(bench->told.user, node, request);
    journal_request_free(request);
}

static uint64_t hash_of(uint64_t events, uint64_t swapped)
{
    uint64_t hash = 0;

    for (uint64_t seq = 1; seq <= events; seq++) {
        uint8_t byte = event_byte(seq == swapped       ? seq + 1
                                  : seq == swapped + 1 ? seq - 1
                                                       : seq);

        hash = check_recovery_fold(hash, (uint32_t)(byte + 3),
                                   slice_of(&byte, 1));
    }
    return hash;
}

#define NONE 1000 /* no event is swapped */

static void started(struct bench *bench, uint32_t node, uint64_t events)
{
    check_recovery_started(bench->check, node, "T", "x", events, 0,
                           hash_of(events, NONE));
}

static uint32_t violations(const struct bench *bench)
{
    return verdict_count(bench->verdict);
}

static void assert_i4(const struct bench *bench, const char *text)
{
    assert_int_equal(violations(bench), 1);
    assert_string_equal(verdict_at(bench->verdict, 0)->invariant, "no-lost-ack");
    assert_non_null(strstr(verdict_at(bench->verdict, 0)->text, text));
}

static void a_recovery_of_all_read_events_passes(void **state)
{
    struct bench *bench = *state;

    answered(bench, 1, 1, 0, false, BACKEND_DONE);
    started(bench, 1, 0);
    answered(bench, 1, 1, 100, true, BACKEND_DONE);
    answered(bench, 1, 101, 7, false, BACKEND_DONE);
    started(bench, 1, 107);
    assert_int_equal(violations(bench), 0);
}

/* Node 0 has read, and sleeps while node 1 takes the shard and stores more. */
static void a_node_that_slept_may_start_an_outdated_entity(void **state)
{
    struct bench *bench = *state;

    answered(bench, 0, 1, 30, false, BACKEND_DONE);
    answered(bench, 1, 1, 46, false, BACKEND_DONE);
    started(bench, 1, 46);
    started(bench, 0, 30);
    assert_int_equal(violations(bench), 0);
}

static void an_event_that_is_left_out_is_found(void **state)
{
    struct bench *bench = *state;

    answered(bench, 1, 1, 46, false, BACKEND_DONE);
    started(bench, 1, 45);
    assert_i4(bench, "recovered with 45 events, its replay had 46");
}

static void assert_i29(struct bench *bench, uint64_t hash)
{
    answered(bench, 1, 1, 100, true, BACKEND_DONE);
    answered(bench, 1, 101, 7, false, BACKEND_DONE);
    check_recovery_started(bench->check, 1, "T", "x", 107, 0, hash);
    assert_int_equal(violations(bench), 1);
    assert_string_equal(verdict_at(bench->verdict, 0)->invariant, "faithful-replay");
}

static void events_in_another_order_are_found(void **state)
{
    assert_i29(*state, hash_of(107, 100));
}

static void an_event_of_another_type_is_found(void **state)
{
    uint8_t byte = event_byte(107);

    assert_i29(*state, check_recovery_fold(hash_of(106, NONE), 1,
                                           slice_of(&byte, 1)));
}

static void a_recovery_from_a_part_is_found(void **state)
{
    struct bench *bench = *state;

    answered(bench, 1, 1, 100, true, BACKEND_DONE);
    started(bench, 1, 100);
    assert_i4(bench, "has had no replay");
}

static void a_recovery_from_a_failed_replay_is_found(void **state)
{
    struct bench *bench = *state;

    answered(bench, 1, 1, 0, false, BACKEND_FAILED);
    started(bench, 1, 0);
    assert_i4(bench, "has had no replay");
}

static void a_second_start_from_one_replay_is_found(void **state)
{
    struct bench *bench = *state;

    answered(bench, 1, 1, 3, false, BACKEND_DONE);
    started(bench, 1, 3);
    started(bench, 1, 3);
    assert_i4(bench, "has had no replay");
}

static void a_start_from_an_earlier_incarnations_replay_is_found(void **state)
{
    struct bench *bench = *state;

    answered(bench, 1, 1, 3, false, BACKEND_DONE);
    answered(bench, 2, 1, 3, false, BACKEND_DONE);
    bench->told.node_gone(bench->told.user, 1);
    started(bench, 2, 3);
    assert_int_equal(violations(bench), 0);
    started(bench, 1, 3);
    assert_i4(bench, "has had no replay");
}

/* Makes the first events of T|x durable. */
static void stored(struct bench *bench, uint64_t count)
{
    struct journal_request *append = journal_request_new(BACKEND_APPEND);
    struct backend_entity entity = { .result = BACKEND_DONE };

    entity.id = backend_put(append, slice_text("T|x"));
    vec_push(&append->entities, entity);
    for (uint64_t seq = 1; seq <= count; seq++)
        add_record(append, seq);
    bench->told.committed(bench->told.user, NULL, &append, 1);
    journal_request_free(append);
}

/* Four events, of which a snapshot replaces the first two. */
static void snapshot_and_rest(struct bench *bench)
{
    stored(bench, 4);
    answered(bench, 1, 3, 2, false, BACKEND_DONE);
}

static void a_snapshot_with_the_state_of_its_events_passes(void **state)
{
    struct bench *bench = *state;

    snapshot_and_rest(bench);
    check_recovery_started(bench->check, 1, "T", "x", 4, 2, hash_of(4, NONE));
    assert_int_equal(violations(bench), 0);
}

static void a_snapshot_with_another_state_is_found(void **state)
{
    struct bench *bench = *state;

    snapshot_and_rest(bench);
    check_recovery_started(bench->check, 1, "T", "x", 4, 2, hash_of(4, 1));
    assert_int_equal(violations(bench), 1);
    assert_string_equal(verdict_at(bench->verdict, 0)->invariant, "snapshot-equals-replay");
    assert_non_null(strstr(verdict_at(bench->verdict, 0)->text, "snapshot of event 2"));
}

/* A replay of T|x behind a snapshot of event 1, which is lost then. It has events 2 and 3. */
static void replay_behind_a_lost_event(struct bench *bench, bool is_early)
{
    struct journal_request *replay = journal_request_replay(slice_text("T|x"), 2, 100, 1 << 20);
    struct book *empty = book_new("c");

    stored(bench, 1);
    if (is_early)
        bench->told.asked(bench->told.user, 1, replay);
    bench->told.rewound(bench->told.user, empty);
    if (!is_early)
        bench->told.asked(bench->told.user, 1, replay);
    add_record(replay, 2);
    add_record(replay, 3);
    replay->result = BACKEND_DONE;
    bench->told.answered(bench->told.user, 1, replay);
    check_recovery_started(bench->check, 1, "T", "x", 3, 1, hash_of(3, NONE));
    journal_request_free(replay);
    book_free(empty);
}

static void a_replay_of_before_a_loss_may_begin_with_lost_events(void **state)
{
    struct bench *bench = *state;

    replay_behind_a_lost_event(bench, true);
    assert_int_equal(violations(bench), 0);
}

static void a_snapshot_of_a_lost_event_is_found(void **state)
{
    struct bench *bench = *state;

    replay_behind_a_lost_event(bench, false);
    assert_int_equal(violations(bench), 1);
    assert_string_equal(verdict_at(bench->verdict, 0)->invariant, "snapshot-equals-replay");
}

#define on_bench(test) \
    cmocka_unit_test_setup_teardown(test, bench_begin, bench_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        on_bench(a_recovery_of_all_read_events_passes),
        on_bench(a_node_that_slept_may_start_an_outdated_entity),
        on_bench(an_event_that_is_left_out_is_found),
        on_bench(events_in_another_order_are_found),
        on_bench(an_event_of_another_type_is_found),
        on_bench(a_recovery_from_a_part_is_found),
        on_bench(a_recovery_from_a_failed_replay_is_found),
        on_bench(a_second_start_from_one_replay_is_found),
        on_bench(a_start_from_an_earlier_incarnations_replay_is_found),
        on_bench(a_snapshot_with_the_state_of_its_events_passes),
        on_bench(a_snapshot_with_another_state_is_found),
        on_bench(a_replay_of_before_a_loss_may_begin_with_lost_events),
        on_bench(a_snapshot_of_a_lost_event_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
