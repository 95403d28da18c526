/* Tests the remembered entities of a type: what is written, loaded and restarted, and how fast. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/vec.h"
#include "shard/remember_inside.h"

#define SHARD 3

/* The core, and a store for one shard. */
struct fixture {
    struct remember remember;
    uint64_t now;
    VEC(struct buf) records; /* since the newest base */
    uint32_t parts; /* of the present write */
    bool holds;     /* writes are not answered */
    bool writes;    /* an answer to a write waits */
    bool loads;     /* an answer to a load waits */
    uint32_t longest; /* bytes of a record */
    uint32_t restarts;
    uint32_t asked; /* requested moves */
    uint64_t reads; /* reads of the store, one for each step */
    char log[65536]; /* a word for each news except WRITE and LOAD */
};

static void set(struct fixture *fixture, struct remember_options options)
{
    *fixture = (struct fixture){ .now = SECOND };
    options.shard_count = options.shard_count ? options.shard_count : 10;
    options.type = "T";
    remember_init(&fixture->remember, &options);
}

static void store_clear(struct fixture *fixture)
{
    for (uint32_t i = 0; i < fixture->records.count; i++)
        buf_fini(&fixture->records.items[i]);
    fixture->records.count = 0;
}

static void end(struct fixture *fixture)
{
    store_clear(fixture);
    vec_fini(&fixture->records);
    remember_fini(&fixture->remember);
}

static void note(struct fixture *fixture, const char *word,
                 const struct remember_news *news)
{
    size_t used = strlen(fixture->log);

    snprintf(fixture->log + used, sizeof fixture->log - used, "%s%.*s ", word,
             (int)news->id.size, (const char *)news->id.data);
}

static void load(struct fixture *fixture)
{
    for (uint32_t i = 0; i < fixture->records.count; i++)
        assert_true(remember_record(&fixture->remember, SHARD,
                                    buf_slice(&fixture->records.items[i])));
    remember_loaded(&fixture->remember, fixture->now, SHARD);
}

static void write_part(struct fixture *fixture,
                       const struct remember_news *news)
{
    struct buf record = { 0 };

    if (news->is_base)
        store_clear(fixture);
    buf_put_slice(&record, news->record);
    if (record.size > fixture->longest)
        fixture->longest = (uint32_t)record.size;
    vec_push(&fixture->records, record);
    fixture->parts++;
    fixture->writes = !news->more;
}

static void drain(struct fixture *fixture)
{
    struct remember_news news;

    while (remember_next_news(&fixture->remember, &news)) {
        assert_int_equal(news.shard, SHARD);
        switch (news.kind) {
        case REMEMBER_LOAD:
            if (fixture->holds)
                fixture->loads = true;
            else
                load(fixture);
            break;
        case REMEMBER_WRITE:
            write_part(fixture, &news);
            break;
        case REMEMBER_LOADED:
            note(fixture, "loaded", &news);
            break;
        case REMEMBER_KEPT:
            note(fixture, "+", &news);
            break;
        case REMEMBER_FORGOTTEN:
            note(fixture, "-", &news);
            break;
        case REMEMBER_REFUSED:
            note(fixture, "!", &news);
            break;
        case REMEMBER_RESTART:
            fixture->restarts++;
            note(fixture, ">", &news);
            break;
        case REMEMBER_MOVE:
            fixture->asked++;
            note(fixture, "?", &news);
            break;
        }
        if (fixture->writes && !fixture->holds) {
            fixture->writes = false;
            remember_written(&fixture->remember, fixture->now, SHARD);
        }
    }
}

static void said(struct fixture *fixture, const char *words)
{
    drain(fixture);
    assert_string_equal(fixture->log, words);
    fixture->log[0] = 0;
}

static void start(struct fixture *fixture, const char *id)
{
    remember_start(&fixture->remember, fixture->now, SHARD, slice_text(id), 7);
}

static void stop(struct fixture *fixture, const char *id)
{
    remember_stop(&fixture->remember, fixture->now, SHARD, slice_text(id), 7);
}

static void begin(struct fixture *fixture)
{
    remember_begin(&fixture->remember, fixture->now, SHARD);
}

static void run(struct fixture *fixture)
{
    remember_run(&fixture->remember, fixture->now, SHARD);
}

/* The shard ends and starts again, here or elsewhere. */
static void again(struct fixture *fixture)
{
    remember_end(&fixture->remember, SHARD);
    begin(fixture);
}

static void step(struct fixture *fixture, uint64_t duration,
                 uint32_t recovering, uint64_t latency)
{
    fixture->now += duration;
    remember_step(&fixture->remember, fixture->now,
                  &(struct remember_pressure){ recovering, latency,
                                               ++fixture->reads });
    drain(fixture);
}

static void starts_and_stops_are_listed_by_the_next_incarnation_SHD189_SHD190(
    void **state)
{
    struct fixture fixture;
    (void)state;

    set(&fixture, (struct remember_options){ 0 });
    begin(&fixture);
    said(&fixture, "loaded ");
    start(&fixture, "1");
    start(&fixture, "2");
    start(&fixture, "3");
    said(&fixture, "+1 +2 +3 ");
    start(&fixture, "4");
    start(&fixture, "5");
    start(&fixture, "6");
    stop(&fixture, "2");
    stop(&fixture, "3");
    said(&fixture, "+4 +5 +6 -2 -3 ");
    stop(&fixture, "6");
    said(&fixture, "-6 ");
    start(&fixture, "2");
    said(&fixture, "+2 ");
    again(&fixture);
    drain(&fixture);
    step(&fixture, 3600 * SECOND, 0, 0); /* the shard starts late */
    said(&fixture, "loaded ");
    assert_int_equal(remember_count(&fixture.remember, SHARD), 4);
    run(&fixture);
    step(&fixture, 0, 0, 0);
    said(&fixture, ">1 >4 >5 >2 ");
    end(&fixture);
}

static void all_loaded_entities_start_at_once_SHD076_SHD077_SHD192(void **state)
{
    struct fixture fixture;
    (void)state;

    set(&fixture, (struct remember_options){ 0 });
    begin(&fixture);
    said(&fixture, "loaded ");
    assert_int_equal(remember_count(&fixture.remember, SHARD), 0);
    start(&fixture, "1");
    start(&fixture, "2");
    start(&fixture, "3");
    said(&fixture, "+1 +2 +3 ");
    again(&fixture);
    said(&fixture, "loaded ");
    step(&fixture, MS, 0, 0);
    said(&fixture, "");
    assert_int_equal(remember_count(&fixture.remember, SHARD), 3); /* none has started */
    run(&fixture);
    assert_true(remember_deadline(&fixture.remember) <= fixture.now);
    step(&fixture, 0, 0, 0);
    said(&fixture, ">1 >2 >3 ");
    step(&fixture, SECOND, 0, 0);
    said(&fixture, "");
    end(&fixture);
}

static void entities_of_all_shards_start_at_once_PKO019(void **state)
{
    static const char *const ids[][2] = { { "1", "2" }, { "3", "4" } };
    struct remember remember;
    struct remember_options options = { .shard_count = 10, .type = "T" };
    struct remember_news news;
    char started[16] = "";
    (void)state;

    remember_init(&remember, &options);
    for (int32_t shard = 0; shard < 2; shard++) {
        struct buf record = { 0 };

        remember_begin(&remember, SECOND, shard);
        for (int i = 0; i < 2; i++)
            remember_start(&remember, SECOND, shard, slice_text(ids[shard][i]),
                           7);
        remember_loaded(&remember, SECOND, shard);
        while (remember_next_news(&remember, &news))
            if (news.kind == REMEMBER_WRITE)
                buf_put_slice(&record, news.record);
        remember_end(&remember, shard);
        remember_begin(&remember, SECOND, shard);
        assert_true(remember_record(&remember, shard, buf_slice(&record)));
        remember_loaded(&remember, SECOND, shard);
        remember_run(&remember, SECOND, shard);
        buf_fini(&record);
    }
    remember_step(&remember, SECOND, &(struct remember_pressure){ 0 });
    while (remember_next_news(&remember, &news))
        if (news.kind == REMEMBER_RESTART)
            strncat(started, (const char *)news.id.data, news.id.size);
    assert_string_equal(started, "1234");
    remember_fini(&remember);
}

/* An entity that a message started is not restarted; a known one is written once. */
static void a_message_before_the_restart_starts_an_entity_once(void **state)
{
    struct fixture fixture;
    (void)state;

    set(&fixture, (struct remember_options){ 0 });
    begin(&fixture);
    start(&fixture, "1");
    start(&fixture, "2");
    drain(&fixture);
    again(&fixture);
    drain(&fixture);
    run(&fixture);
    fixture.log[0] = 0;
    fixture.parts = 0;
    start(&fixture, "2");
    said(&fixture, "+2 ");
    assert_int_equal(fixture.parts, 0);
    step(&fixture, 0, 0, 0);
    said(&fixture, ">1 ");
    end(&fixture);
}

/* Changes during a write go together into the next one; withdrawn changes go into none. */
static void changes_wait_for_the_write_under_way(void **state)
{
    struct fixture fixture;
    (void)state;

    set(&fixture, (struct remember_options){ 0 });
    begin(&fixture);
    drain(&fixture);
    fixture.log[0] = 0;
    start(&fixture, "0");
    said(&fixture, "+0 ");
    fixture.holds = true;
    fixture.parts = 0;
    start(&fixture, "1");
    drain(&fixture);
    assert_true(fixture.writes);
    start(&fixture, "2");
    stop(&fixture, "0");
    start(&fixture, "3");
    stop(&fixture, "3");
    stop(&fixture, "1");
    said(&fixture, "");
    assert_int_equal(fixture.parts, 1);
    remember_written(&fixture.remember, fixture.now, SHARD);
    drain(&fixture);
    assert_int_equal(fixture.parts, 2);
    said(&fixture, "-3 ");
    remember_written(&fixture.remember, fixture.now, SHARD);
    said(&fixture, "+2 -0 -1 ");
    assert_int_equal(fixture.remember.counters.writes, 3);
    fixture.holds = false;
    again(&fixture);
    drain(&fixture);
    assert_int_equal(remember_count(&fixture.remember, SHARD), 1);
    end(&fixture);
}

/* Ids are counted, so no record is large. */
static void a_large_write_comes_in_parts(void **state)
{
    struct fixture fixture;
    char id[256];
    (void)state;

    set(&fixture, (struct remember_options){ .part_ids = 1000 });
    begin(&fixture);
    drain(&fixture);
    fixture.holds = true;
    start(&fixture, "first");
    drain(&fixture);
    memset(id, 'x', 255);
    id[255] = 0;
    for (int i = 0; i < 3500; i++) {
        snprintf(id + 245, 11, "%010d", i);
        start(&fixture, i < 2500 ? id + 240 : id);
    }
    fixture.parts = 0;
    remember_written(&fixture.remember, fixture.now, SHARD);
    drain(&fixture);
    /* Two thousand short ids fill two parts; about 255 of the others fill one. */
    assert_in_range(fixture.parts, 6, 8);
    assert_in_range(fixture.longest, REMEMBER_PART_SIZE_MAX,
                    REMEMBER_PART_SIZE_MAX + 300);
    fixture.holds = false;
    remember_written(&fixture.remember, fixture.now, SHARD);
    again(&fixture);
    drain(&fixture);
    assert_int_equal(remember_count(&fixture.remember, SHARD), 3501);
    end(&fixture);
}

/* A base has all wanted entities and no others; the stream to read stays short. */
static void a_base_replaces_earlier_records(void **state)
{
    struct fixture fixture;
    char id[16];
    (void)state;

    set(&fixture, (struct remember_options){ .base_after = 10, .part_ids = 4 });
    begin(&fixture);
    drain(&fixture);
    for (int i = 0; i < 200; i++) {
        snprintf(id, sizeof id, "%d", i);
        start(&fixture, id);
        drain(&fixture);
        if (i >= 10) {
            snprintf(id, sizeof id, "%d", i - 10);
            stop(&fixture, id);
            drain(&fixture);
        }
        assert_in_range(fixture.records.count, 1, 16);
    }
    assert_in_range(fixture.remember.counters.bases, 20, 60);
    again(&fixture);
    drain(&fixture);
    assert_int_equal(remember_count(&fixture.remember, SHARD), 10);
    assert_true(remember_has(&fixture.remember, SHARD, slice_text("195")));
    end(&fixture);
}

/* A read finds the outcome of a failed write. Later requests are kept. */
static void a_read_finds_the_outcome_of_a_failed_write(void **state)
{
    struct fixture fixture;
    (void)state;

    set(&fixture, (struct remember_options){ 0 });
    begin(&fixture);
    start(&fixture, "1");
    start(&fixture, "2");
    said(&fixture, "loaded +1 +2 ");
    fixture.holds = true;
    start(&fixture, "3");
    stop(&fixture, "1");
    drain(&fixture);
    /* The first of the two was stored, unknown to the core. */
    remember_failed(&fixture.remember, fixture.now, SHARD, "test");
    start(&fixture, "4");
    said(&fixture, "");
    step(&fixture, 2 * SECOND, 0, 0);
    assert_true(fixture.loads);
    load(&fixture);
    said(&fixture, "+3 ");
    fixture.holds = false;
    remember_written(&fixture.remember, fixture.now, SHARD);
    said(&fixture, "-1 +4 ");
    again(&fixture);
    drain(&fixture);
    assert_int_equal(remember_count(&fixture.remember, SHARD), 3);
    end(&fixture);
}

/* An entity that a load after a failure finds started and stopped is not wanted any more. */
static void a_forgotten_entity_stays_forgotten_after_a_failure(void **state)
{
    struct fixture fixture;
    (void)state;

    set(&fixture, (struct remember_options){ 0 });
    begin(&fixture);
    start(&fixture, "1");
    said(&fixture, "loaded +1 ");
    start(&fixture, "2");
    said(&fixture, "+2 ");
    start(&fixture, "3");
    said(&fixture, "+3 ");
    stop(&fixture, "2");
    said(&fixture, "-2 ");
    stop(&fixture, "3");
    said(&fixture, "-3 ");
    start(&fixture, "3");
    said(&fixture, "+3 ");
    fixture.holds = true;
    start(&fixture, "4");
    drain(&fixture);
    remember_failed(&fixture.remember, fixture.now, SHARD, "test");
    fixture.holds = false;
    step(&fixture, 2 * SECOND, 0, 0);
    said(&fixture, "+4 ");
    assert_false(remember_has(&fixture.remember, SHARD, slice_text("2")));
    again(&fixture);
    said(&fixture, "loaded ");
    assert_int_equal(remember_count(&fixture.remember, SHARD), 3);
    assert_false(remember_has(&fixture.remember, SHARD, slice_text("2")));
    assert_true(remember_has(&fixture.remember, SHARD, slice_text("3")));
    end(&fixture);
}

/* A base withdraws the records before it, also in a load after a failure. */
static void a_base_replaces_records_in_a_load_after_a_failure(void **state)
{
    static const uint8_t old[] = { 1, 0, 1, 1, 'a', 0 };
    static const uint8_t base[] = { 1, 1, 1, 1, 'b', 0 };
    struct fixture fixture;
    struct buf record = { 0 };
    (void)state;

    set(&fixture, (struct remember_options){ 0 });
    buf_put(&record, old, sizeof old);
    vec_push(&fixture.records, record);
    record = (struct buf){ 0 };
    buf_put(&record, base, sizeof base);
    vec_push(&fixture.records, record);
    begin(&fixture);
    said(&fixture, "loaded ");
    fixture.holds = true;
    start(&fixture, "c");
    drain(&fixture);
    remember_failed(&fixture.remember, fixture.now, SHARD, "test");
    fixture.holds = false;
    step(&fixture, 2 * SECOND, 0, 0);
    said(&fixture, "+c ");
    assert_false(remember_has(&fixture.remember, SHARD, slice_text("a")));
    assert_int_equal(remember_count(&fixture.remember, SHARD), 2);
    end(&fixture);
}

/* A shard whose set cannot be read does not start. Tries continue, at last every ten seconds. */
static void a_failed_load_is_tried_again(void **state)
{
    struct fixture fixture;
    static const uint64_t waits[] = { 1, 2, 4, 8, 10, 10 };
    (void)state;

    set(&fixture, (struct remember_options){ 0 });
    fixture.holds = true;
    begin(&fixture);
    drain(&fixture);
    for (uint32_t i = 0; i < 6; i++) {
        assert_true(fixture.loads);
        fixture.loads = false;
        assert_false(remember_record(&fixture.remember, SHARD,
                                     slice_text("damaged")));
        remember_failed(&fixture.remember, fixture.now, SHARD, "test");
        remember_loaded(&fixture.remember, fixture.now, SHARD);
        step(&fixture, waits[i] * SECOND - MS, 0, 0);
        assert_false(fixture.loads);
        step(&fixture, MS, 0, 0);
    }
    said(&fixture, "");
    load(&fixture);
    said(&fixture, "loaded ");
    end(&fixture);
}

static void remembered_entities_have_a_limit(void **state)
{
    struct fixture fixture;
    (void)state;

    set(&fixture, (struct remember_options){ 0 });
    assert_int_equal(fixture.remember.options.ids_max, REMEMBERED_MAX);
    end(&fixture);
    set(&fixture, (struct remember_options){ .ids_max = 2 });
    begin(&fixture);
    start(&fixture, "1");
    start(&fixture, "2");
    start(&fixture, "3");
    said(&fixture, "!3 loaded +1 +2 ");
    stop(&fixture, "1");
    said(&fixture, "-1 ");
    start(&fixture, "3");
    said(&fixture, "+3 ");
    assert_int_equal(fixture.remember.counters.refused, 1);
    end(&fixture);
}

static void fill(struct fixture *fixture, uint32_t count)
{
    char id[16];

    begin(fixture);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(id, sizeof id, "%u", i);
        start(fixture, id);
    }
    drain(fixture);
    again(fixture);
    drain(fixture);
    run(fixture);
    fixture->restarts = 0;
}

static void a_constant_rate_is_kept(void **state)
{
    struct fixture fixture;
    (void)state;

    set(&fixture, (struct remember_options){ .strategy = REMEMBER_CONSTANT,
                                             .frequency = 50 * MS,
                                             .batch = 3 });
    fill(&fixture, 10);
    for (uint32_t i = 1; i <= 4; i++) {
        step(&fixture, 0, 100, SECOND); /* independent of the store */
        assert_int_equal(fixture.restarts, i < 4 ? 3 * i : 10);
        step(&fixture, 49 * MS, 0, 0);
        assert_int_equal(fixture.restarts, i < 4 ? 3 * i : 10);
        if (i < 4)
            assert_true(remember_deadline(&fixture.remember) ==
                        fixture.now + MS);
        fixture.now += MS;
    }
    end(&fixture);
}

/* Paced: the next batch follows when the last one has recovered, and is larger while the store is
 * fast. */
static void paced_restarts_slow_down_for_a_slow_store(void **state)
{
    struct fixture fixture;
    (void)state;

    set(&fixture, (struct remember_options){ .strategy = REMEMBER_PACED,
                                             .target = 20 * MS });
    fill(&fixture, 1000);
    step(&fixture, 0, 0, 0);
    assert_int_equal(fixture.restarts, 32);
    step(&fixture, MS, 5, 5 * MS); /* five have not recovered */
    assert_int_equal(fixture.restarts, 32);
    step(&fixture, MS, 0, 5 * MS);
    assert_int_equal(fixture.restarts, 32 + 64);
    step(&fixture, MS, 0, 80 * MS); /* slow: half, then a pause */
    assert_int_equal(fixture.restarts, 32 + 64 + 32);
    step(&fixture, 79 * MS, 0, 80 * MS);
    assert_int_equal(fixture.restarts, 32 + 64 + 32);
    step(&fixture, MS, 0, 80 * MS);
    assert_int_equal(fixture.restarts, 32 + 64 + 32 + 16);
    /* It continues at any speed, and no batch makes a single read faster. */
    for (uint32_t i = 0; i < 5; i++)
        step(&fixture, 80 * MS, 0, 80 * MS);
    assert_int_equal(fixture.restarts, 144 + 8 + 4 + 2 + 1 + 1);
    for (uint32_t i = 0; i < 4; i++)
        step(&fixture, 80 * MS, 0, (80 + i) * MS);
    assert_int_equal(fixture.restarts, 160 + 2 + 4 + 8 + 16);
    step(&fixture, MS, 0, 161 * MS);
    assert_int_equal(fixture.restarts, 190 + 8);
    while (fixture.restarts < 1000)
        step(&fixture, 80 * MS, 0, MS);
    step(&fixture, SECOND, 0, MS);
    assert_int_equal(fixture.restarts, 1000);
    end(&fixture);
}

#define ALONE (25 * MS) /* time of a read without others */

/* A store that does `at_once` reads in parallel, each slower than the target. Returns the restarts
 * in so many seconds; *last: the final mean. */
static uint32_t pace(struct fixture *fixture, uint32_t at_once,
                     uint32_t seconds, uint64_t *mean)
{
    struct remember_pressure pressure = { .latency = *mean,
                                          .reads = fixture->reads };
    uint64_t end = fixture->now + seconds * SECOND;
    uint32_t before = fixture->restarts;

    while (fixture->now < end) {
        uint32_t told = fixture->restarts;
        uint64_t longest = 0;

        remember_step(&fixture->remember, fixture->now, &pressure);
        drain(fixture);
        for (uint32_t i = 0; i < fixture->restarts - told; i++) {
            longest = ALONE * (1 + i / at_once);
            *mean = *mean ? *mean - *mean / 8 + longest / 8 : longest;
        }
        pressure.latency = *mean;
        pressure.reads = fixture->reads += fixture->restarts - told;
        fixture->now += longest ? longest : MS;
    }
    return fixture->restarts - before;
}

/* Reads do not run one by one with pauses: a store that does one at a time is nearly always busy,
 * and a parallel one does many. */
static void a_target_below_a_single_read_counts_as_twice_that(void **state)
{
    struct fixture fixture;
    uint64_t mean = 0;
    (void)state;

    set(&fixture, (struct remember_options){ .strategy = REMEMBER_PACED,
                                             .target = 20 * MS });
    fill(&fixture, 30000);
    assert_in_range(pace(&fixture, 1, 20, &mean), 20 * 30, 20 * 40);
    assert_true(mean < 5 * ALONE);
    assert_in_range(pace(&fixture, 16, 20, &mean), 20 * 400, 20 * 640);
    assert_true(mean < 5 * ALONE);
    /* The store was fast and becomes slow. */
    assert_in_range(pace(&fixture, 1, 20, &mean), 20 * 30, 20 * 40);
    end(&fixture);
}

/* Restarted entities do not recover. A batch begins each second anyway, half as large each time,
 * and batches grow again after the recovery. */
static void a_batch_begins_each_second(void **state)
{
    struct fixture fixture;
    (void)state;

    set(&fixture, (struct remember_options){ .strategy = REMEMBER_PACED,
                                             .target = 20 * MS });
    fill(&fixture, 1000);
    step(&fixture, 0, 0, 0);
    assert_int_equal(fixture.restarts, 32);
    step(&fixture, MS, 32, MS);
    assert_true(remember_deadline(&fixture.remember) ==
                fixture.now + SECOND - MS);
    step(&fixture, SECOND - MS - 1, 1, MS);
    assert_int_equal(fixture.restarts, 32);
    step(&fixture, 1, 1, MS);
    assert_int_equal(fixture.restarts, 32 + 16);
    step(&fixture, MS, 0, MS);
    assert_int_equal(fixture.restarts, 32 + 16 + 32);
    for (uint32_t i = 0; i < 10; i++)
        step(&fixture, SECOND, 1, 0);
    assert_int_equal(fixture.restarts, 80 + 16 + 8 + 4 + 2 + 6);
    /* The pause after a slow read is not longer either. */
    step(&fixture, MS, 0, 60 * SECOND);
    fixture.restarts = 0;
    for (uint32_t i = 0; i < 10; i++)
        step(&fixture, SECOND, 1, 60 * SECOND);
    assert_int_equal(fixture.restarts, 10);
    end(&fixture);
}

/* Entities without events read nothing, so the read times of their set do not slow them for
 * ever. */
static void entities_without_events_do_not_wait_for_the_store(void **state)
{
    struct remember_pressure pressure = { .latency = 80 * MS, .reads = 7 };
    struct fixture fixture;
    (void)state;

    set(&fixture, (struct remember_options){ .strategy = REMEMBER_PACED,
                                             .target = 20 * MS });
    fill(&fixture, 1000);
    for (uint32_t i = 0; i < 10; i++) {
        remember_step(&fixture.remember, fixture.now, &pressure);
        drain(&fixture);
        fixture.now += 80 * MS;
    }
    assert_int_equal(fixture.restarts, 1000);
    end(&fixture);
}

/* A hand-off begins: entities that have not started stay remembered, and do not start. */
static void a_stop_ends_the_restarts(void **state)
{
    struct fixture fixture;
    (void)state;

    set(&fixture, (struct remember_options){ .strategy = REMEMBER_CONSTANT });
    fill(&fixture, 20);
    step(&fixture, 0, 0, 0);
    remember_halt(&fixture.remember, SHARD);
    step(&fixture, SECOND, 0, 0);
    assert_int_equal(fixture.restarts, 5);
    again(&fixture);
    drain(&fixture);
    assert_int_equal(remember_count(&fixture.remember, SHARD), 20);
    end(&fixture);
}

static void move(struct fixture *fixture, const char *id)
{
    remember_move(&fixture->remember, fixture->now, SHARD, slice_text(id));
}

static void moved(struct fixture *fixture, const char *id)
{
    remember_moved(&fixture->remember, fixture->now, SHARD, slice_text(id));
}

/* Entities 1, 2 and 3, announced. */
static void set_three(struct fixture *fixture)
{
    set(fixture, (struct remember_options){ 0 });
    begin(fixture);
    start(fixture, "1");
    start(fixture, "2");
    start(fixture, "3");
    drain(fixture);
    again(fixture);
    drain(fixture);
    run(fixture);
    fixture->log[0] = 0;
    step(fixture, 0, 0, 0);
    said(fixture, ">1 >2 >3 ");
}

/* A move is requested until it is acknowledged, then the entity is forgotten here. */
static void an_entity_of_another_shard_moves(void **state)
{
    struct fixture fixture;
    (void)state;

    set_three(&fixture);
    move(&fixture, "1");
    move(&fixture, "3");
    move(&fixture, "3");
    said(&fixture, "?1 ?3 ");
    moved(&fixture, "2");
    moved(&fixture, "4");
    moved(&fixture, "3");
    moved(&fixture, "3");
    said(&fixture, "");
    assert_int_equal(fixture.remember.counters.moved, 1);
    assert_int_equal(remember_count(&fixture.remember, SHARD), 2);
    step(&fixture, 2 * SECOND - 1, 0, 0);
    said(&fixture, "");
    assert_int_equal(remember_deadline(&fixture.remember), fixture.now + 1);
    step(&fixture, 1, 0, 0);
    said(&fixture, "?1 ");
    step(&fixture, 4 * SECOND - 1, 0, 0);
    said(&fixture, "");
    step(&fixture, 1, 0, 0);
    said(&fixture, "?1 ");
    fixture.asked = 0;
    for (int i = 0; i < 20; i++)
        step(&fixture, 32 * SECOND, 0, 0);
    assert_in_range(fixture.asked, 19, 21);
    moved(&fixture, "1");
    drain(&fixture);
    assert_int_equal(remember_count(&fixture.remember, SHARD), 1);
    again(&fixture);
    drain(&fixture);
    assert_int_equal(remember_count(&fixture.remember, SHARD), 1);
    assert_true(remember_has(&fixture.remember, SHARD, slice_text("2")));
    end(&fixture);
}

/* A message comes for it here, or its shard stops: no more requests, and a late answer forgets
 * nothing. */
static void a_move_ends_with_a_start_and_with_its_shard(void **state)
{
    struct fixture fixture;
    (void)state;

    set_three(&fixture);
    move(&fixture, "1");
    move(&fixture, "2");
    said(&fixture, "?1 ?2 ");
    start(&fixture, "1");
    said(&fixture, "+1 ");
    moved(&fixture, "1");
    assert_true(remember_has(&fixture.remember, SHARD, slice_text("1")));
    remember_halt(&fixture.remember, SHARD);
    move(&fixture, "3");
    moved(&fixture, "2");
    step(&fixture, 100 * SECOND, 0, 0);
    said(&fixture, "");
    again(&fixture);
    drain(&fixture);
    assert_int_equal(remember_count(&fixture.remember, SHARD), 3);
    end(&fixture);
}

/* The stops of a failed write and of the next one are written again, and no entity starts because
 * of that. */
static void a_stop_of_a_move_that_is_not_written_is_written_again(void **state)
{
    struct fixture fixture;
    (void)state;

    set_three(&fixture);
    fixture.holds = true;
    move(&fixture, "1");
    move(&fixture, "2");
    moved(&fixture, "1");
    moved(&fixture, "2");
    drain(&fixture);
    assert_true(fixture.writes);
    buf_fini(&fixture.records.items[--fixture.records.count]);
    fixture.writes = false;
    remember_failed(&fixture.remember, fixture.now, SHARD, "test");
    fixture.holds = false;
    fixture.log[0] = 0;
    step(&fixture, 2 * SECOND, 0, 0);
    step(&fixture, 0, 0, 0);
    said(&fixture, "");
    assert_int_equal(remember_count(&fixture.remember, SHARD), 1);
    again(&fixture);
    drain(&fixture);
    assert_int_equal(remember_count(&fixture.remember, SHARD), 1);
    end(&fixture);
}

/* The stop of a move is repeated only until a start is requested. */
static void an_entity_that_starts_after_its_move_is_remembered(void **state)
{
    struct fixture fixture;
    (void)state;

    set_three(&fixture);
    fixture.holds = true;
    move(&fixture, "1");
    moved(&fixture, "1");
    drain(&fixture);
    buf_fini(&fixture.records.items[--fixture.records.count]);
    fixture.writes = false;
    remember_failed(&fixture.remember, fixture.now, SHARD, "test");
    start(&fixture, "1");
    fixture.holds = false;
    fixture.log[0] = 0;
    step(&fixture, 2 * SECOND, 0, 0);
    said(&fixture, "+1 ");
    again(&fixture);
    drain(&fixture);
    assert_int_equal(remember_count(&fixture.remember, SHARD), 3);
    end(&fixture);
}

/* A second read found it, and it was not announced yet. Before that it is neither moved nor
 * forgotten, so no entity is announced that is not stored. */
static void an_entity_does_not_move_before_it_is_announced(void **state)
{
    static const uint8_t late[] = { 1, 0, 1, 1, '4', 0 };
    struct fixture fixture;
    struct buf record = { 0 };
    (void)state;

    set_three(&fixture);
    fixture.holds = true;
    start(&fixture, "5");
    drain(&fixture);
    buf_put(&record, late, sizeof late);
    vec_push(&fixture.records, record);
    fixture.writes = false;
    remember_failed(&fixture.remember, fixture.now, SHARD, "test");
    fixture.holds = false;
    fixture.now += SECOND;
    remember_step(&fixture.remember, fixture.now,
                  &(struct remember_pressure){ 0 });
    drain(&fixture);
    fixture.log[0] = 0;
    move(&fixture, "4");
    moved(&fixture, "4");
    said(&fixture, "");
    assert_int_equal(remember_count(&fixture.remember, SHARD), 5);
    step(&fixture, 0, 0, 0);
    said(&fixture, ">4 ");
    move(&fixture, "4");
    said(&fixture, "?4 ");
    moved(&fixture, "4");
    drain(&fixture);
    step(&fixture, 100 * SECOND, 0, 0);
    said(&fixture, "");
    assert_int_equal(remember_count(&fixture.remember, SHARD), 4);
    end(&fixture);
}

/* Moves are requested one by one if the buffer has room for one. Others would be dropped, and
 * requested again late. */
static void moves_are_requested_only_as_buffers_have_room(void **state)
{
    struct fixture fixture;
    (void)state;

    set_three(&fixture);
    fixture.remember.options.moves_max = 1;
    move(&fixture, "1");
    move(&fixture, "2");
    move(&fixture, "3");
    said(&fixture, "?1 ");
    moved(&fixture, "1");
    said(&fixture, "?2 ");
    moved(&fixture, "2");
    said(&fixture, "?3 ");
    end(&fixture);
}

/* One shard's moves do not stop another's. */
static void requested_moves_have_a_limit(void **state)
{
    struct fixture fixture;
    uint32_t asked[2] = { 0 };
    struct remember_news news;
    char id[16];
    (void)state;

    set(&fixture, (struct remember_options){ 0 });
    fixture.holds = true;
    for (int32_t shard = 14; shard <= 15; shard++) { /* above the number of shards */
        remember_begin(&fixture.remember, fixture.now, shard);
        for (int i = 0; i < 2 * REMEMBER_MOVES_MAX; i++) {
            (void)snprintf(id, sizeof id, "%d", i);
            remember_start(&fixture.remember, fixture.now, shard,
                           slice_text(id), 1);
        }
        remember_loaded(&fixture.remember, fixture.now, shard);
        remember_written(&fixture.remember, fixture.now, shard);
        remember_run(&fixture.remember, fixture.now, shard);
    }
    while (remember_next_news(&fixture.remember, &news))
        ;
    for (int32_t shard = 14; shard <= 15; shard++)
        for (int i = 0; i < 2 * REMEMBER_MOVES_MAX; i++) {
            (void)snprintf(id, sizeof id, "%d", i);
            remember_move(&fixture.remember, fixture.now, shard,
                          slice_text(id));
        }
    for (int i = 0; i < 5; i++) {
        while (remember_next_news(&fixture.remember, &news))
            asked[news.shard - 14] += news.kind == REMEMBER_MOVE;
        assert_int_equal(asked[0] + asked[1], (i + 1) * REMEMBER_MOVES_MAX);
        fixture.now += 100 * SECOND;
        remember_step(&fixture.remember, fixture.now,
                      &(struct remember_pressure){ 0 });
    }
    assert_in_range(asked[1], REMEMBER_MOVES_MAX, 3 * REMEMBER_MOVES_MAX);
    for (int i = 0; i < 200; i++) { /* no list grows without answers */
        while (remember_next_news(&fixture.remember, &news))
            asked[news.shard - 14]++;
        fixture.now += 100 * SECOND;
        remember_step(&fixture.remember, fixture.now,
                      &(struct remember_pressure){ 0 });
    }
    assert_in_range(asked[0], 90 * REMEMBER_MOVES_MAX,
                    115 * REMEMBER_MOVES_MAX);
    for (int32_t shard = 14; shard <= 15; shard++)
        assert_in_range(remember_here(&fixture.remember, shard)->moves.count,
                        0, 5 * REMEMBER_MOVES_MAX);
    assert_int_equal(fixture.remember.movers.count, 2);
    remember_end(&fixture.remember, 14);
    remember_end(&fixture.remember, 15);
    assert_int_equal(fixture.remember.movers.count, 0);
    while (remember_next_news(&fixture.remember, &news))
        ;
    remember_step(&fixture.remember, fixture.now + 1000 * SECOND,
                  &(struct remember_pressure){ 0 });
    assert_false(remember_next_news(&fixture.remember, &news));
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            starts_and_stops_are_listed_by_the_next_incarnation_SHD189_SHD190),
        cmocka_unit_test(
            all_loaded_entities_start_at_once_SHD076_SHD077_SHD192),
        cmocka_unit_test(entities_of_all_shards_start_at_once_PKO019),
        cmocka_unit_test(a_message_before_the_restart_starts_an_entity_once),
        cmocka_unit_test(changes_wait_for_the_write_under_way),
        cmocka_unit_test(a_large_write_comes_in_parts),
        cmocka_unit_test(a_base_replaces_earlier_records),
        cmocka_unit_test(a_read_finds_the_outcome_of_a_failed_write),
        cmocka_unit_test(a_forgotten_entity_stays_forgotten_after_a_failure),
        cmocka_unit_test(a_base_replaces_records_in_a_load_after_a_failure),
        cmocka_unit_test(a_failed_load_is_tried_again),
        cmocka_unit_test(remembered_entities_have_a_limit),
        cmocka_unit_test(a_constant_rate_is_kept),
        cmocka_unit_test(paced_restarts_slow_down_for_a_slow_store),
        cmocka_unit_test(a_target_below_a_single_read_counts_as_twice_that),
        cmocka_unit_test(a_batch_begins_each_second),
        cmocka_unit_test(entities_without_events_do_not_wait_for_the_store),
        cmocka_unit_test(a_stop_ends_the_restarts),
        cmocka_unit_test(an_entity_of_another_shard_moves),
        cmocka_unit_test(a_move_ends_with_a_start_and_with_its_shard),
        cmocka_unit_test(a_stop_of_a_move_that_is_not_written_is_written_again),
        cmocka_unit_test(an_entity_that_starts_after_its_move_is_remembered),
        cmocka_unit_test(an_entity_does_not_move_before_it_is_announced),
        cmocka_unit_test(moves_are_requested_only_as_buffers_have_room),
        cmocka_unit_test(requested_moves_have_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
