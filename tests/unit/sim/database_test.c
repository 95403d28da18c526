/* Tests the simulated database: the store of real nodes keeps its promise on it under crashes, cut
 * connections, stopped nodes and failovers, and notices a standby that lacks confirmed events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/rng.h"
#include "base/timers.h"
#include "base/vec.h"
#include "journal/record.h"
#include "sim/check/check_journal.h"
#include "sim/check/check_loss.h"
#include "sim/seed/streams.h"
#include "sim/world/database.h"
#include "sim/world/verdict.h"

#define NODES 3
#define SHARDS 4
#define ENTITIES 2 /* of each shard */
#define STEP (20 * MS)

/* One node's view of a shard. */
enum doing { IDLE, CLAIMING, READING, OWNING };

struct owner {
    enum doing doing;
    struct fence fence;
    uint64_t last[ENTITIES]; /* event numbers */
    uint32_t read;           /* entities that were read */
    struct journal_request *waits; /* on its way; not owned */
    struct journal_request *again; /* to be repeated, owned */
    uint64_t serial; /* of the last snapshot's event */
};

struct bench {
    uint64_t now;
    struct rng rng;
    struct verdict *verdict;
    struct check_journal *journal;
    struct check_loss *loss;
    struct database *database;
    struct owner owners[NODES][SHARDS];
    uint32_t homes[SHARDS];
    uint64_t epochs[SHARDS];
    uint64_t paused_until[NODES];
    uint64_t done, unknown, fenced, conflicts, failed;
};

static void begin(struct bench *bench, enum database_servers servers, uint64_t seed)
{
    const struct database_settings settings = { .servers = servers, .seed = seed,
                                                .way_mean = MS, .flush_mean = 2 * MS };
    struct disk_backend_observer observer;

    *bench = (struct bench){ .now = SECOND };
    bench->rng = stream_rng(seed, STREAM_WORKLOAD, 0);
    bench->verdict = verdict_new(seed, &bench->now);
    bench->journal = check_journal_new(bench->verdict);
    bench->loss = check_loss_new(bench->verdict);
    bench->database = database_new(&settings);
    observer = check_journal_observer(bench->journal);
    database_observe(bench->database, &observer);
    observer = check_loss_observer(bench->loss);
    database_observe(bench->database, &observer);
}

static void end(struct bench *bench)
{
    for (uint32_t i = 0; i < NODES; i++)
        for (uint32_t j = 0; j < SHARDS; j++)
            if (bench->owners[i][j].again)
                journal_request_free(bench->owners[i][j].again);
    database_free(bench->database);
    check_journal_free(bench->journal);
    check_loss_free(bench->loss);
    verdict_free(bench->verdict);
}

static void assert_whole(const struct bench *bench)
{
    if (verdict_count(bench->verdict))
        fail_msg("%s: %s", verdict_at(bench->verdict, 0)->invariant,
                 verdict_at(bench->verdict, 0)->text);
}

/* ---- requests ---- */

static struct slice id_of(uint32_t shard, uint32_t entity, char text[8])
{
    (void)snprintf(text, 8, "T|%u%c", shard, (char)('a' + entity)); /* fits */
    return slice_text(text);
}

static struct slice name_of(uint32_t shard, char text[8])
{
    (void)snprintf(text, 8, "%u", shard); /* fits */
    return slice_text(text);
}

static void submit(struct bench *bench, uint32_t node, uint32_t shard,
                   struct journal_request *request)
{
    request->machine = shard;
    bench->owners[node][shard].waits = request;
    database_submit(bench->database, bench->now, node, request);
}

static void claim(struct bench *bench, uint32_t node, uint32_t shard)
{
    struct owner *owner = &bench->owners[node][shard];
    char text[8];

    bench->homes[shard] = node;
    owner->fence = (struct fence){ 1, ++bench->epochs[shard] };
    owner->doing = CLAIMING;
    submit(bench, node, shard,
           journal_request_claim(slice_text("T"), name_of(shard, text), owner->fence));
}

static void read_next(struct bench *bench, uint32_t node, uint32_t shard)
{
    struct owner *owner = &bench->owners[node][shard];
    char text[8];

    owner->doing = READING;
    submit(bench, node, shard,
           journal_request_replay(id_of(shard, owner->read, text), 1, 100000, 1 << 24));
}

static void put_record(struct journal_request *request, struct slice id, uint32_t entity,
                       uint64_t seq, struct fence fence, uint64_t number)
{
    struct record record = { .event_type = 7, .fence = fence,
                             .payload = slice_of(&number, sizeof number) };
    struct backend_record stored = { .entity = entity, .seq = seq };

    stored.bytes.at = (uint32_t)request->bytes.size;
    record_encode(&request->bytes, record_key(id), seq, &record);
    stored.bytes.size = (uint32_t)request->bytes.size - stored.bytes.at;
    vec_push(&request->records, stored);
}

/* Writes one or two events of one or both entities. */
static void append(struct bench *bench, uint32_t node, uint32_t shard)
{
    const struct owner *owner = &bench->owners[node][shard];
    struct journal_request *request = journal_request_new(BACKEND_APPEND);
    struct backend_shard named = { .fence = owner->fence };
    uint64_t which = 1 + rng_below(&bench->rng, 3);
    char text[8];

    named.type = backend_put(request, slice_text("T"));
    named.shard = backend_put(request, name_of(shard, text));
    vec_push(&request->shards, named);
    for (uint32_t i = 0; i < ENTITIES; i++) {
        struct backend_entity entity = { .shard = 0, .tag = i };
        struct slice id = id_of(shard, i, text);
        uint64_t count = 1 + rng_below(&bench->rng, 2);

        if (!(which & UINT64_C(1) << i))
            continue;
        entity.id = backend_put(request, id);
        vec_push(&request->entities, entity);
        for (uint64_t j = 1; j <= count; j++)
            put_record(request, id, request->entities.count - 1, owner->last[i] + j, owner->fence,
                       rng_next(&bench->rng));
    }
    submit(bench, node, shard, request);
}

/* A snapshot of the last event of the first entity. */
static void save(struct bench *bench, uint32_t node, uint32_t shard)
{
    struct owner *owner = &bench->owners[node][shard];
    char name[8], text[8];
    struct slice id = id_of(shard, 0, text);
    struct snapshot snapshot = { .fence = owner->fence, .image = slice_text("image") };
    struct backend_record stored = { .seq = owner->last[0] };
    struct journal_request *request = journal_request_owner(
        BACKEND_SAVE, slice_text("T"), name_of(shard, name), owner->fence, id);

    owner->serial = owner->last[0];
    stored.bytes.at = (uint32_t)request->bytes.size;
    snapshot_encode(&request->bytes, record_key(id), stored.seq, &snapshot);
    stored.bytes.size = (uint32_t)request->bytes.size - stored.bytes.at;
    vec_push(&request->records, stored);
    request->count_max = 2;
    submit(bench, node, shard, request);
}

/* ---- answers ---- */

static void learn(struct owner *owner, const struct journal_request *request)
{
    for (uint32_t i = 0; i < request->records.count; i++) {
        uint64_t entity = request->entities.items[request->records.items[i].entity].tag;

        owner->last[entity] = request->records.items[i].seq;
    }
}

/* The repetition of an append. */
static struct journal_request *again_of(const struct journal_request *from)
{
    struct journal_request *request = journal_request_new(BACKEND_APPEND);

    request->again = true;
    buf_put_slice(&request->bytes, buf_slice(&from->bytes));
    for (uint32_t i = 0; i < from->shards.count; i++)
        vec_push(&request->shards, from->shards.items[i]);
    for (uint32_t i = 0; i < from->entities.count; i++)
        vec_push(&request->entities, from->entities.items[i]);
    for (uint32_t i = 0; i < from->records.count; i++)
        vec_push(&request->records, from->records.items[i]);
    return request;
}

static void append_answered(struct bench *bench, struct owner *owner,
                            const struct journal_request *request)
{
    enum backend_result result = BACKEND_DONE;

    for (uint32_t i = 0; i < request->entities.count; i++)
        if (request->entities.items[i].result != BACKEND_DONE)
            result = request->entities.items[i].result;
    if (result == BACKEND_DONE) {
        bench->done++;
        learn(owner, request);
    } else if (result == BACKEND_UNKNOWN) {
        bench->unknown++;
        owner->again = again_of(request);
    } else {
        bench->fenced += result == BACKEND_FENCED;
        bench->conflicts += result == BACKEND_CONFLICT;
        bench->failed += result == BACKEND_FAILED;
        owner->doing = IDLE; /* it recovers, if the shard is still here */
    }
}

static void answered(struct bench *bench, uint32_t node, const struct journal_request *request)
{
    struct owner *owner = &bench->owners[node][request->machine];

    if (owner->waits != request)
        return; /* of an earlier claim */
    owner->waits = NULL;
    if (request->verb == BACKEND_APPEND) {
        append_answered(bench, owner, request);
    } else if (request->verb == BACKEND_SAVE) {
        bench->conflicts += request->result == BACKEND_CONFLICT;
    } else if (request->result != BACKEND_DONE) {
        owner->doing = IDLE;
    } else if (request->verb == BACKEND_CLAIM) {
        owner->read = 0;
        owner->doing = READING;
    } else {
        assert_false(request->more);
        owner->last[owner->read++] = request->records.count;
        owner->doing = owner->read == ENTITIES ? OWNING : READING;
    }
}

static void take_answers(struct bench *bench)
{
    struct journal_request *request;
    uint32_t node;

    while ((request = database_next_done(bench->database, bench->now, &node))) {
        answered(bench, node, request);
        journal_request_free(request);
    }
}

/* ---- histories ---- */

static bool is_paused(const struct bench *bench, uint32_t node)
{
    return bench->paused_until[node] > bench->now;
}

static void work(struct bench *bench, uint32_t node, uint32_t shard)
{
    struct owner *owner = &bench->owners[node][shard];
    struct journal_request *again = owner->again;

    if (owner->waits || is_paused(bench, node))
        return;
    if (again) {
        owner->again = NULL;
        submit(bench, node, shard, again);
    } else if (owner->doing == IDLE && bench->homes[shard] == node) {
        claim(bench, node, shard);
    } else if (owner->doing == READING) {
        read_next(bench, node, shard);
    } else if (owner->doing == OWNING && rng_below(&bench->rng, 3) == 0) {
        if (owner->last[0] > owner->serial && rng_below(&bench->rng, 8) == 0)
            save(bench, node, shard);
        else
            append(bench, node, shard);
    }
}

static void crash(struct bench *bench, uint32_t node)
{
    database_drop(bench->database, bench->now, node);
    bench->paused_until[node] = 0;
    for (uint32_t i = 0; i < SHARDS; i++) {
        struct owner *owner = &bench->owners[node][i];

        if (owner->again)
            journal_request_free(owner->again);
        *owner = (struct owner){ .doing = IDLE };
    }
}

static void disturb(struct bench *bench)
{
    uint32_t node = (uint32_t)rng_below(&bench->rng, NODES);
    uint32_t shard = (uint32_t)rng_below(&bench->rng, SHARDS);

    if (rng_below(&bench->rng, 100) == 0) { /* the former owner goes on meanwhile */
        if (!is_paused(bench, node) && !bench->owners[node][shard].waits)
            claim(bench, node, shard);
    }
    if (rng_below(&bench->rng, 500) == 0 && !is_paused(bench, node)) {
        bench->paused_until[node] = bench->now + 1 + rng_below(&bench->rng, 15 * SECOND);
        database_pause(bench->database, bench->now, node, true);
    }
    if (rng_below(&bench->rng, 800) == 0)
        crash(bench, node);
    for (uint32_t i = 0; i < NODES; i++)
        if (bench->paused_until[i] && !is_paused(bench, i)) {
            bench->paused_until[i] = 0;
            database_pause(bench->database, bench->now, i, false);
        }
}

static void run(struct bench *bench, uint64_t length, bool disturbs)
{
    for (uint64_t until = bench->now + length; bench->now < until; bench->now += STEP) {
        take_answers(bench);
        if (disturbs)
            disturb(bench);
        for (uint32_t i = 0; i < NODES; i++)
            for (uint32_t j = 0; j < SHARDS; j++)
                work(bench, i, j);
    }
}

static uint64_t play(struct bench *bench, enum database_servers servers, uint64_t seed)
{
    begin(bench, servers, seed);
    for (uint32_t i = 0; i < SHARDS; i++)
        bench->homes[i] = i % NODES;
    database_faults(bench->database, bench->now, true);
    run(bench, 150 * SECOND, true);
    database_faults(bench->database, bench->now, false);
    for (uint32_t i = 0; i < NODES; i++)
        bench->paused_until[i] = bench->paused_until[i] ? bench->now : 0;
    run(bench, 20 * SECOND, false);
    return bench->done;
}

/* Sums of many histories. */
struct sums {
    uint64_t done, unknown, fenced, conflicts;
    struct database_counters counters;
    struct check_loss_counts losses;
};

static void play_all(enum database_servers servers, uint64_t seeds, struct sums *sums)
{
    struct bench bench;

    *sums = (struct sums){ .done = 0 };
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        const struct database_counters *counters;

        (void)play(&bench, servers, seed);
        if (verdict_count(bench.verdict))
            print_message("seed %llu of servers %d\n", (unsigned long long)seed, (int)servers);
        assert_whole(&bench);
        counters = database_counters(bench.database);
        sums->done += bench.done;
        sums->unknown += bench.unknown;
        sums->fenced += bench.fenced;
        sums->conflicts += bench.conflicts;
        sums->counters.waits += counters->waits;
        sums->counters.ended += counters->ended;
        sums->counters.crashes += counters->crashes;
        sums->counters.failovers += counters->failovers;
        sums->counters.lost += counters->lost;
        sums->losses.lost += check_loss_counts(bench.loss).lost;
        sums->losses.noticed += check_loss_counts(bench.loss).noticed;
        end(&bench);
    }
}

static void one_server_keeps_what_it_confirmed(void **state)
{
    struct sums sums;

    (void)state;
    play_all(DATABASE_ONE, 6, &sums);
    assert_true(sums.done > 2000);
    assert_true(sums.fenced > 10);
    assert_true(sums.counters.waits > 10);
    assert_true(sums.counters.crashes > 8);
    assert_int_equal(sums.counters.failovers, 0);
    assert_int_equal(sums.conflicts, 0);
}

static void a_synchronous_standby_takes_over_without_a_loss(void **state)
{
    struct sums sums;

    (void)state;
    play_all(DATABASE_SYNC, 4, &sums);
    assert_true(sums.done > 2000);
    assert_true(sums.counters.failovers > 8);
    assert_int_equal(sums.counters.lost, 0);
    assert_int_equal(sums.conflicts, 0);
}

static void owners_notice_an_asynchronous_standby_that_lacks_events(void **state)
{
    struct sums sums;

    (void)state;
    play_all(DATABASE_ASYNC, 10, &sums);
    assert_true(sums.counters.failovers > 8);
    assert_true(sums.counters.lost > 8);
    assert_true(sums.losses.lost > 3);
    assert_true(sums.losses.noticed > 0);
}

static void equal_seeds_give_equal_histories(void **state)
{
    struct bench bench;
    uint64_t first;

    (void)state;
    first = play(&bench, DATABASE_SYNC, 7);
    end(&bench);
    assert_true(first > 0);
    assert_int_equal(play(&bench, DATABASE_SYNC, 7), first);
    end(&bench);
}

/* ---- single cases ---- */

static void wait_for(struct bench *bench, uint32_t node, uint32_t shard)
{
    for (uint64_t until = bench->now + 100 * SECOND; bench->owners[node][shard].waits;
         bench->now += MS) {
        assert_true(bench->now < until);
        take_answers(bench);
    }
}

static void own(struct bench *bench, uint32_t node, uint32_t shard)
{
    claim(bench, node, shard);
    while (bench->owners[node][shard].doing != OWNING) {
        wait_for(bench, node, shard);
        if (bench->owners[node][shard].doing == READING)
            read_next(bench, node, shard);
    }
}

static void a_claim_ends_the_transaction_of_a_stopped_owner(void **state)
{
    struct bench bench;
    uint64_t seed = 0;

    (void)state;
    do { /* until the first owner is stopped in a transaction */
        if (seed)
            end(&bench);
        begin(&bench, DATABASE_ONE, ++seed);
        own(&bench, 0, 0);
        append(&bench, 0, 0);
        wait_for(&bench, 0, 0);
        for (int i = 0; i < 2; i++) { /* a gap goes the slow way, which locks first */
            bench.owners[0][0].last[0] += 5;
            bench.owners[0][0].last[1] += 5;
            append(&bench, 0, 0);
        }
        bench.now += 3 * MS + seed * 100000;
        take_answers(&bench);
        database_pause(bench.database, bench.now, 0, true);
        bench.now += 100 * MS;
        own(&bench, 1, 0);
        assert_whole(&bench);
    } while (!database_counters(bench.database)->ended && seed < 200);
    assert_true(seed < 200);
    append(&bench, 1, 0);
    wait_for(&bench, 1, 0);
    assert_int_equal(bench.conflicts, 0);
    assert_whole(&bench);
    end(&bench);
}

static void a_loss_of_a_shard_that_does_not_write_is_noticed(void **state)
{
    struct bench bench;
    uint64_t seed = 0, done;

    (void)state;
    do { /* until the standby lacks an event */
        if (seed)
            end(&bench);
        begin(&bench, DATABASE_ASYNC, ++seed);
        own(&bench, 0, 0);
        own(&bench, 0, 1);
        bench.now += 3 * SECOND; /* the standby has the claims */
        take_answers(&bench);
        append(&bench, 0, 0);
        wait_for(&bench, 0, 0);
        database_fail_over(bench.database, bench.now);
    } while (!check_loss_counts(bench.loss).lost && seed < 200);
    assert_true(seed < 200);
    bench.now += 5 * SECOND;
    append(&bench, 0, 1); /* the other shard */
    wait_for(&bench, 0, 1);
    assert_true(database_counters(bench.database)->reported > 0);
    done = bench.done;
    append(&bench, 0, 0);
    wait_for(&bench, 0, 0);
    assert_int_equal(bench.done, done);
    assert_int_equal(bench.owners[0][0].doing, IDLE);
    own(&bench, 1, 0); /* recovers from what is there */
    append(&bench, 1, 0);
    wait_for(&bench, 1, 0);
    assert_int_equal(bench.done, done + 1);
    assert_whole(&bench);
    end(&bench);
}

/* A lost shard whose next owner has claimed it, and wrote less than was lost. */
static void a_loss_of_a_shard_that_moved_is_noticed(void **state)
{
    struct bench bench;
    uint64_t seed = 0, reported;

    (void)state;
    do { /* until the standby lacks several events */
        if (seed)
            end(&bench);
        begin(&bench, DATABASE_ASYNC, ++seed);
        own(&bench, 0, 0);
        bench.now += 3 * SECOND; /* the standby has the claim */
        take_answers(&bench);
        for (int i = 0; i < 8; i++) {
            append(&bench, 0, 0);
            wait_for(&bench, 0, 0);
        }
        database_fail_over(bench.database, bench.now);
    } while (!check_loss_counts(bench.loss).lost && seed < 200);
    assert_true(seed < 200);
    bench.now += 5 * SECOND;
    own(&bench, 1, 0); /* the shard moves */
    append(&bench, 1, 0);
    wait_for(&bench, 1, 0);
    reported = database_counters(bench.database)->reported;
    append(&bench, 0, 0); /* the former owner does not know */
    wait_for(&bench, 0, 0);
    assert_int_equal(bench.owners[0][0].doing, IDLE);
    assert_int_equal(database_counters(bench.database)->reported, reported + 1);
    assert_whole(&bench);
    end(&bench);
}

static void a_snapshot_above_the_last_event_is_refused(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, DATABASE_ONE, 1);
    own(&bench, 0, 0);
    append(&bench, 0, 0);
    wait_for(&bench, 0, 0);
    bench.owners[0][0].last[0] += 5;
    save(&bench, 0, 0);
    for (uint64_t until = bench.now + 100 * SECOND; bench.owners[0][0].waits; bench.now += MS) {
        uint32_t node;
        struct journal_request *request = database_next_done(bench.database, bench.now, &node);

        assert_true(bench.now < until);
        if (!request)
            continue;
        assert_int_equal(request->result, BACKEND_CONFLICT);
        bench.owners[0][0].waits = NULL;
        journal_request_free(request);
    }
    assert_whole(&bench);
    end(&bench);
}

static void an_entity_with_a_gap_is_not_written_at_all(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, DATABASE_ONE, 1);
    own(&bench, 0, 0);
    for (int i = 0; i < 10; i++) {
        append(&bench, 0, 0);
        wait_for(&bench, 0, 0);
    }
    bench.owners[0][0].last[0] += 2;
    bench.owners[0][0].last[1] += 2;
    append(&bench, 0, 0);
    wait_for(&bench, 0, 0);
    assert_int_equal(bench.done, 10);
    assert_int_equal(bench.conflicts, 1);
    assert_whole(&bench);
    end(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_server_keeps_what_it_confirmed),
        cmocka_unit_test(a_synchronous_standby_takes_over_without_a_loss),
        cmocka_unit_test(owners_notice_an_asynchronous_standby_that_lacks_events),
        cmocka_unit_test(equal_seeds_give_equal_histories),
        cmocka_unit_test(a_claim_ends_the_transaction_of_a_stopped_owner),
        cmocka_unit_test(a_snapshot_above_the_last_event_is_refused),
        cmocka_unit_test(an_entity_with_a_gap_is_not_written_at_all),
        cmocka_unit_test(a_loss_of_a_shard_that_does_not_write_is_noticed),
        cmocka_unit_test(a_loss_of_a_shard_that_moved_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
