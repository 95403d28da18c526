/* Tests the journal backend on the simulated disk: its answers hold under every fault of the disk,
 * power losses and killed processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/timers.h"
#include "base/vec.h"
#include "sim/world/disk_log.h"
#include "sim/world/disk_backend.h"
#include "sim/seed/streams.h"

static const struct fence one = { 1, 1 };
static const struct fence two = { 1, 2 };

static struct disk_backend *store_of(uint64_t seed)
{
    return disk_backend_new("c", stream_rng(seed, STREAM_DISK, 0),
                          stream_rng(seed, STREAM_DISK, 1), 50000, MS);
}

static struct journal_request *append_of(const char *shard, struct fence fence,
                                       const char *id, uint64_t seq,
                                       const char *text)
{
    struct journal_request *request = journal_request_new(BACKEND_APPEND);
    struct backend_shard named = { .fence = fence };
    struct backend_entity entity = { .shard = 0 };
    struct backend_record record = { .entity = 0, .seq = seq };

    named.type = backend_put(request, slice_text("T"));
    named.shard = backend_put(request, slice_text(shard));
    vec_push(&request->shards, named);
    entity.id = backend_put(request, slice_text(id));
    vec_push(&request->entities, entity);
    record.bytes = backend_put(request, slice_text(text));
    vec_push(&request->records, record);
    return request;
}

/* Runs until the next answer and returns it. Fails after 100 s without one. */
static struct journal_request *answer(struct disk_backend *store, uint64_t *now,
                                    uint32_t *node)
{
    uint64_t end = *now + 100 * SECOND;

    for (;;) {
        struct journal_request *request =
            disk_backend_next_done(store, *now, node);

        if (request)
            return request;
        assert_true(disk_backend_deadline(store) <= end);
        if (disk_backend_deadline(store) > *now)
            *now = disk_backend_deadline(store);
    }
}

/* Sends one request and waits for its answer. */
static enum backend_result ask(struct disk_backend *store, uint64_t *now,
                             struct journal_request *request)
{
    enum backend_result result;
    uint32_t node;

    disk_backend_submit(store, *now, 0, request);
    assert_ptr_equal(answer(store, now, &node), request);
    assert_int_equal(node, 0);
    result = request->result == BACKEND_DONE && request->entities.count
                 ? request->entities.items[0].result
                 : request->result;
    journal_request_free(request);
    return result;
}

static bool holds(const struct book *book, const char *id, uint64_t seq,
                  const char *text)
{
    return slice_is(book_record(book, slice_text(id), seq), text);
}

static void reopen(struct disk_backend *store, uint64_t *now)
{
    uint32_t node;

    disk_backend_reopen(store, *now);
    disk_backend_hold(store, true);
    while (!disk_backend_serves(store) && !disk_backend_damage(store)) {
        assert_true(disk_backend_deadline(store) < NEVER);
        *now = disk_backend_deadline(store);
        assert_null(disk_backend_next_done(store, *now, &node));
    }
    disk_backend_hold(store, false);
}

static void the_backend_answers_like_every_journal_backend(void **state)
{
    struct disk_backend *store = store_of(1);
    struct journal_request *request;
    uint64_t now = SECOND;
    uint32_t node;
    (void)state;

    assert_int_equal(ask(store, &now,
                         journal_request_claim(slice_text("T"),
                                             slice_text("s"), two)),
                     BACKEND_DONE);
    assert_true(now > SECOND);
    assert_int_equal(ask(store, &now, append_of("s", two, "T|x", 1, "a")),
                     BACKEND_DONE);
    assert_int_equal(ask(store, &now, append_of("s", one, "T|x", 2, "b")),
                     BACKEND_FENCED);
    assert_int_equal(ask(store, &now, append_of("s", two, "T|x", 1, "b")),
                     BACKEND_CONFLICT);
    assert_int_equal(
        ask(store, &now, journal_request_take_term(slice_text("T"), 4)),
        BACKEND_DONE);
    disk_backend_submit(store, now, 0,
                      journal_request_replay(slice_text("T|x"), 1, 10, 1000));
    request = answer(store, &now, &node);
    assert_int_equal(request->result, BACKEND_DONE);
    assert_int_equal(request->records.count, 1);
    journal_request_free(request);
    disk_backend_power_loss(store, now);
    assert_null(disk_backend_book(store));
    reopen(store, &now);
    assert_true(holds(disk_backend_book(store), "T|x", 1, "a"));
    assert_int_equal(book_term(disk_backend_book(store), slice_text("T")), 5);
    assert_int_equal(fence_compare(book_fence(disk_backend_book(store),
                                              slice_text("T"),
                                              slice_text("s")),
                                   two),
                     0);
    disk_backend_free(store);
}

static void waiting_writes_share_a_group(void **state)
{
    struct disk_faults slow = { .latency_min = 20 * MS,
                                .latency_mean = 20 * MS };
    struct disk_backend *store = store_of(2);
    uint64_t now = SECOND;
    uint64_t before = 0;
    (void)state;

    disk_set_faults(disk_backend_disk(store), &slow);
    for (uint32_t i = 0; i < 40; i++) {
        char id[16];

        snprintf(id, sizeof id, "T|%u", i);
        disk_backend_submit(store, now, i, append_of("s", one, id, 1, "a"));
    }
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t node;
        struct journal_request *request = answer(store, &now, &node);

        assert_int_equal(request->result, BACKEND_DONE);
        assert_true(now >= before);
        before = now;
        journal_request_free(request);
    }
    assert_true(disk_backend_counters(store)->groups <= 3);
    assert_int_equal(disk_backend_counters(store)->requests, 40);
    disk_backend_free(store);
}

static void writes_of_a_node_arrive_in_its_order(void **state)
{
    struct disk_backend *store = store_of(3);
    uint64_t now = SECOND;
    uint64_t next[3] = { 1, 1, 1 };
    (void)state;

    for (uint64_t seq = 1; seq <= 30; seq++)
        for (uint32_t node = 0; node < 3; node++) {
            char id[] = { 'T', '|', (char)('0' + node), 0 };

            disk_backend_submit(store, now, node,
                              append_of("s", one, id, seq, "a"));
        }
    for (int i = 0; i < 90; i++) {
        uint32_t node;
        struct journal_request *request = answer(store, &now, &node);

        assert_int_equal(request->entities.items[0].result, BACKEND_DONE);
        assert_true(request->records.items[0].seq == next[node]++);
        journal_request_free(request);
    }
    disk_backend_free(store);
}

/* A failed group is longer than its successor at the same place. The rest of it is neither a group
 * nor damage. */
static void a_shorter_group_covers_a_longer_one_that_failed(void **state)
{
    struct disk_faults failing = { .sync_error_ppm = 1000000 };
    struct disk_faults none = { 0 };
    char text[5000];
    (void)state;

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct disk_backend *store = store_of(seed);
        uint64_t now = SECOND;

        assert_int_equal(ask(store, &now, append_of("s", one, "T|x", 1, "a")),
                         BACKEND_DONE);
        disk_set_faults(disk_backend_disk(store), &failing);
        assert_int_equal(
            ask(store, &now, append_of("s", one, "T|x", 2, text)),
            BACKEND_UNKNOWN);
        disk_set_faults(disk_backend_disk(store), &none);
        assert_int_equal(ask(store, &now, append_of("s", one, "T|y", 1, "b")),
                         BACKEND_DONE);
        disk_backend_power_loss(store, now);
        reopen(store, &now);
        assert_null(disk_backend_damage(store));
        assert_true(holds(disk_backend_book(store), "T|y", 1, "b"));
        assert_int_equal(book_last(disk_backend_book(store),
                                   slice_text("T|x")),
                         1);
        assert_int_equal(ask(store, &now, append_of("s", one, "T|x", 2, "c")),
                         BACKEND_DONE);
        disk_backend_free(store);
    }
}

static void a_full_disk_fails_writes_until_there_is_room(void **state)
{
    struct disk_faults full = { .is_full = true };
    struct disk_faults none = { 0 };
    struct disk_backend *store = store_of(4);
    uint64_t now = SECOND;
    (void)state;

    disk_set_faults(disk_backend_disk(store), &full);
    assert_int_equal(ask(store, &now, append_of("s", one, "T|x", 1, "a")),
                     BACKEND_FAILED);
    assert_int_equal(book_last(disk_backend_book(store), slice_text("T|x")), 0);
    disk_set_faults(disk_backend_disk(store), &none);
    assert_int_equal(ask(store, &now, append_of("s", one, "T|x", 1, "b")),
                     BACKEND_DONE);
    disk_backend_free(store);
}

/* The answer to a repetition tells what is stored. */
static void an_unknown_outcome_is_read_back(void **state)
{
    struct disk_faults slow = { .latency_min = 5 * MS,
                                .latency_mean = 10 * MS };
    uint32_t there = 0;
    (void)state;

    for (uint64_t seed = 0; seed < 100; seed++) {
        struct disk_backend *store = store_of(seed);
        struct journal_request *request = append_of("s", one, "T|x", 1, "a");
        uint64_t now = SECOND;
        uint32_t node;

        disk_set_faults(disk_backend_disk(store), &slow);
        disk_backend_submit(store, now, 0, request);
        now += 12 * MS;
        if (seed % 2)
            disk_backend_power_loss(store, now);
        else
            disk_backend_kill(store, now);
        reopen(store, &now);
        there += book_last(disk_backend_book(store), slice_text("T|x")) == 1;
        assert_ptr_equal(answer(store, &now, &node), request);
        if (request->result == BACKEND_UNKNOWN) {
            backend_settle(request, BACKEND_PENDING, "");
            request->again = true;
            assert_int_equal(ask(store, &now, request), BACKEND_DONE);
        } else {
            journal_request_free(request);
        }
        assert_true(holds(disk_backend_book(store), "T|x", 1, "a"));
        assert_int_equal(book_last(disk_backend_book(store),
                                   slice_text("T|x")),
                         1);
        disk_backend_free(store);
    }
    assert_true(there > 10 && there < 90);
}

static void a_backend_that_is_down_fails_and_a_held_one_waits(void **state)
{
    struct disk_backend *store = store_of(5);
    struct journal_request *request;
    uint64_t now = SECOND;
    uint32_t node;
    (void)state;

    disk_backend_refuse(store, true);
    assert_int_equal(ask(store, &now, append_of("s", one, "T|x", 1, "a")),
                     BACKEND_FAILED);
    disk_backend_refuse(store, false);
    disk_backend_power_loss(store, now);
    assert_false(disk_backend_serves(store));
    assert_int_equal(ask(store, &now, append_of("s", one, "T|x", 1, "a")),
                     BACKEND_FAILED);
    reopen(store, &now);
    request = append_of("s", one, "T|x", 1, "a");
    disk_backend_submit(store, now, 7, request);
    disk_backend_hold(store, true);
    while (disk_backend_deadline(store) < NEVER) {
        now = disk_backend_deadline(store);
        assert_null(disk_backend_next_done(store, now, &node));
    }
    disk_backend_hold(store, false);
    assert_true(disk_backend_deadline(store) <= now);
    assert_ptr_equal(disk_backend_next_done(store, now, &node), request);
    assert_int_equal(node, 7);
    journal_request_free(request);
    disk_backend_free(store);
}

/* When a node ends, a first part of its requests is written. */
static void the_end_of_a_node_loses_its_last_requests(void **state)
{
    uint32_t seen[6] = { 0 };
    (void)state;

    for (uint64_t seed = 0; seed < 200; seed++) {
        struct disk_backend *store = store_of(seed);
        uint64_t now = SECOND;
        uint32_t node;

        for (uint64_t seq = 1; seq <= 5; seq++)
            disk_backend_submit(store, now, 1,
                              append_of("s", one, "T|x", seq, "a"));
        disk_backend_drop(store, now, 1, true);
        assert_int_equal(ask(store, &now, append_of("s", one, "T|y", 1, "a")),
                         BACKEND_DONE);
        while (disk_backend_deadline(store) < NEVER) {
            now = disk_backend_deadline(store);
            assert_null(disk_backend_next_done(store, now, &node));
        }
        seen[book_last(disk_backend_book(store), slice_text("T|x"))]++;
        disk_backend_free(store);
    }
    assert_true(seen[0] > 50);
    assert_true(seen[1] > 20 && seen[2] > 5);
}

/* One bit of the log has changed. In the last group this looks like an unfinished write, before
 * that it is reported. */
static void damage_before_the_last_group_is_reported(void **state)
{
    struct disk_faults rot = { .rot_ppm = 100000 };
    uint32_t told = 0;
    char text[420];
    (void)state;

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct disk_backend *store = store_of(seed);
        uint64_t now = SECOND;

        for (uint64_t seq = 1; seq <= 8; seq++)
            assert_int_equal(
                ask(store, &now, append_of("s", one, "T|x", seq, text)),
                BACKEND_DONE);
        disk_backend_power_loss(store, now);
        disk_set_faults(disk_backend_disk(store), &rot);
        reopen(store, &now);
        if (disk_counters(disk_backend_disk(store))->rotten == 1 &&
            disk_backend_damage(store)) {
            told++;
            assert_false(disk_backend_serves(store));
            assert_null(disk_backend_durable(store, now));
            assert_int_equal(
                ask(store, &now, append_of("s", one, "T|x", 9, "a")),
                BACKEND_FAILED);
        } else if (disk_counters(disk_backend_disk(store))->rotten == 1) {
            assert_true(book_last(disk_backend_book(store),
                                  slice_text("T|x")) >= 7);
        }
        disk_backend_free(store);
    }
    assert_true(told > 30);
}

/* ---- answers under faults ---- */

/* A text that a writer tried to write, and its outcome. */
struct attempt {
    uint64_t seq;
    bool open; /* not answered, or unknown */
    bool done;
    char text[24];
};

/* Writes to its own entity, like a lane. */
struct writer {
    struct journal_request *repeat;
    VEC(struct attempt) attempts;
    uint64_t stored; /* acknowledged */
    bool waits;      /* for an answer */
};

#define WRITERS 4

struct bench {
    struct disk_backend *store;
    struct rng rng;
    struct writer writers[WRITERS];
    uint64_t now;
    uint32_t results[BACKEND_FAILED + 1];
    uint32_t broken; /* answers that were broken */
    bool finds;      /* counts broken answers instead of failing */
};

static void promise(struct bench *bench, bool kept)
{
    bench->broken += !kept;
    assert_true(kept || bench->finds);
}

static void name_of(uint32_t writer, char *id)
{
    snprintf(id, 8, "T|%u", writer);
}

static void write_next(struct bench *bench, uint32_t index)
{
    struct writer *writer = &bench->writers[index];
    struct attempt attempt = { .seq = writer->stored + 1, .open = true };
    char id[8];
    char text[24];

    if (writer->waits)
        return;
    writer->waits = true;
    if (writer->repeat) {
        disk_backend_submit(bench->store, bench->now, index, writer->repeat);
        writer->repeat = NULL;
        return;
    }
    name_of(index, id);
    snprintf(text, sizeof text, "%u", writer->attempts.count);
    memcpy(attempt.text, text, sizeof text);
    vec_push(&writer->attempts, attempt);
    disk_backend_submit(bench->store, bench->now, index,
                      append_of("s", one, id, attempt.seq, text));
}

static void take_answers(struct bench *bench)
{
    struct journal_request *request;
    uint32_t node;

    while ((request = disk_backend_next_done(bench->store, bench->now, &node))) {
        struct writer *writer = &bench->writers[node];
        struct attempt *attempt =
            &writer->attempts.items[writer->attempts.count - 1];
        enum backend_result result = request->entities.items[0].result;

        bench->results[result]++;
        writer->waits = false;
        if (result == BACKEND_UNKNOWN ||
            (result == BACKEND_FAILED && request->again)) {
            backend_settle(request, BACKEND_PENDING, "");
            request->again = true;
            writer->repeat = request;
            continue;
        }
        attempt->open = false;
        attempt->done = result == BACKEND_DONE;
        promise(bench, result == BACKEND_DONE || result == BACKEND_FAILED);
        if (result == BACKEND_DONE)
            writer->stored = attempt->seq;
        journal_request_free(request);
    }
}

/* Acknowledged texts are there, refused ones are not, and open ones may be. */
static void look(struct bench *bench, const struct book *book)
{
    promise(bench, book != NULL);
    if (!book)
        return;
    for (uint32_t i = 0; i < WRITERS; i++) {
        const struct writer *writer = &bench->writers[i];
        char id[8];

        name_of(i, id);
        promise(bench,
                book_last(book, slice_text(id)) >= writer->stored &&
                    book_last(book, slice_text(id)) <= writer->stored + 1);
        for (uint32_t j = 0; j < writer->attempts.count; j++) {
            const struct attempt *attempt = &writer->attempts.items[j];

            if (!attempt->open)
                promise(bench, holds(book, id, attempt->seq, attempt->text) ==
                                   attempt->done);
        }
    }
}

static void run(struct bench *bench, uint64_t duration)
{
    uint64_t end = bench->now + duration;

    while (disk_backend_deadline(bench->store) <= end) {
        if (disk_backend_deadline(bench->store) > bench->now)
            bench->now = disk_backend_deadline(bench->store);
        take_answers(bench);
    }
    bench->now = end;
}

static void play(struct bench *bench, uint64_t seed, bool lies)
{
    struct disk_faults faults = {
        .latency_min = 100000,
        .latency_mean = 2 * MS,
        .stall_ppm = 20000,
        .stall_max = 300 * MS,
        .write_error_ppm = 60000,
        .sync_error_ppm = 60000,
        .read_error_ppm = 60000,
        .lies = lies,
    };

    bench->store = store_of(seed);
    bench->now = SECOND;
    bench->rng = stream_rng(seed, STREAM_WORKLOAD, 0);
    disk_set_faults(disk_backend_disk(bench->store), &faults);
    for (int i = 0; i < 400; i++) {
        for (uint32_t j = 0; j < WRITERS; j++)
            write_next(bench, j);
        run(bench, rng_below(&bench->rng, 8 * MS));
        faults.is_full = rng_below(&bench->rng, 10) == 0;
        disk_set_faults(disk_backend_disk(bench->store), &faults);
        if (rng_below(&bench->rng, 25) == 0) {
            if (rng_below(&bench->rng, 2))
                disk_backend_power_loss(bench->store, bench->now);
            else
                disk_backend_kill(bench->store, bench->now);
            take_answers(bench);
            if (rng_below(&bench->rng, 2))
                run(bench, 5 * MS);
            disk_backend_reopen(bench->store, bench->now);
        }
        if (disk_backend_book(bench->store))
            look(bench, disk_backend_book(bench->store));
        if (i % 20 == 0) { /* the platter alone, at any time */
            struct book *book = disk_backend_durable(bench->store, bench->now);

            take_answers(bench);
            look(bench, book);
            book_free(book);
        }
    }
    for (uint32_t i = 0; i < WRITERS; i++) {
        journal_request_free(bench->writers[i].repeat);
        vec_fini(&bench->writers[i].attempts);
    }
    disk_backend_free(bench->store);
}

static void answers_hold_under_every_fault(void **state)
{
    uint32_t results[BACKEND_FAILED + 1] = { 0 };
    (void)state;

    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct bench bench = { 0 };

        play(&bench, seed, false);
        for (int i = 0; i <= BACKEND_FAILED; i++)
            results[i] += bench.results[i];
    }
    assert_true(results[BACKEND_DONE] > 5000);
    assert_true(results[BACKEND_UNKNOWN] > 1000);
    assert_true(results[BACKEND_FAILED] > 500);
}

/* The same test detects false syncs. */
static void a_disk_with_false_syncs_breaks_answers(void **state)
{
    uint32_t broken = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct bench bench = { .finds = true };

        play(&bench, seed, true);
        broken += bench.broken > 0;
    }
    assert_int_equal(broken, 5);
}

static void one_seed_gives_one_history(void **state)
{
    struct disk_counters first;
    struct disk_faults faults = { .latency_mean = MS,
                                  .sync_error_ppm = 200000 };
    uint64_t end = 0;
    (void)state;

    for (int round = 0; round < 2; round++) {
        struct disk_backend *store = store_of(9);
        uint64_t now = SECOND;

        disk_set_faults(disk_backend_disk(store), &faults);
        for (uint64_t i = 1; i <= 50; i++)
            (void)ask(store, &now, append_of("s", one, "T|x", i, "a"));
        if (round == 0) {
            first = *disk_counters(disk_backend_disk(store));
            end = now;
        } else {
            assert_int_equal(end, now);
            assert_int_equal(first.sync_errors,
                             disk_counters(disk_backend_disk(store))
                                 ->sync_errors);
        }
        disk_backend_free(store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_backend_answers_like_every_journal_backend),
        cmocka_unit_test(waiting_writes_share_a_group),
        cmocka_unit_test(writes_of_a_node_arrive_in_its_order),
        cmocka_unit_test(a_shorter_group_covers_a_longer_one_that_failed),
        cmocka_unit_test(a_full_disk_fails_writes_until_there_is_room),
        cmocka_unit_test(an_unknown_outcome_is_read_back),
        cmocka_unit_test(a_backend_that_is_down_fails_and_a_held_one_waits),
        cmocka_unit_test(the_end_of_a_node_loses_its_last_requests),
        cmocka_unit_test(damage_before_the_last_group_is_reported),
        cmocka_unit_test(answers_hold_under_every_fault),
        cmocka_unit_test(a_disk_with_false_syncs_breaks_answers),
        cmocka_unit_test(one_seed_gives_one_history),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
