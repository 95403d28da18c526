/* The remembered entities of a type: what is written, what is loaded, what is started again and how fast. */
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

/* The core with a store that keeps the records of its one shard. */
struct fixture {
    struct remember remember;
    uint64_t now;
    VEC(struct buf) records; /* since the newest base */
    uint32_t parts; /* of the write under way */
    bool holds;     /* writes are not answered */
    bool writes;    /* one waits for its answer */
    bool loads;     /* a load does */
    uint32_t longest; /* bytes of a record */
    uint32_t restarts;
    uint32_t asked; /* to move */
    uint64_t reads; /* of the store, one in each step */
    char log[65536]; /* one word for each piece of news but WRITE, LOAD */
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

/* The shard ends here and starts again, perhaps elsewhere. */
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

/* SHD-189. */
static void starts_and_stops_are_listed_by_the_next_incarnation(void **state)
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
    run(&fixture);
    drain(&fixture);
    assert_int_equal(remember_count(&fixture.remember, SHARD), 4);
    assert_true(remember_has(&fixture.remember, SHARD, slice_text("2")));
    assert_false(remember_has(&fixture.remember, SHARD, slice_text("3")));
    end(&fixture);
}

/* SHD-076, SHD-077, SHD-078, SHD-080, SHD-192. */
static void the_loaded_start_again_all_at_once(void **state)
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
    said(&fixture, ""); /* nothing before the shard runs */
    run(&fixture);
    assert_true(remember_deadline(&fixture.remember) <= fixture.now);
    step(&fixture, 0, 0, 0);
    said(&fixture, ">1 >2 >3 ");
    step(&fixture, SECOND, 0, 0);
    said(&fixture, "");
    end(&fixture);
}

/* Who was started by a message is not started again; who is known is written once. */
static void a_message_is_quicker(void **state)
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

/* D3: what comes while a write is under way goes into the next one, together; what is taken back into none. */
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
    said(&fixture, "-3 "); /* 1 is answered with its stop */
    remember_written(&fixture.remember, fixture.now, SHARD);
    said(&fixture, "+2 -0 -1 ");
    assert_int_equal(fixture.remember.counters.writes, 3);
    fixture.holds = false;
    again(&fixture);
    drain(&fixture);
    assert_int_equal(remember_count(&fixture.remember, SHARD), 1);
    end(&fixture);
}

/* D2: ids are counted, not events: no record is large, whatever starts at once. */
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
    /* Two thousand short ones in two parts; of the rest 255 or so fill one. */
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

/* D1: a base has all that is to be remembered, and nothing else; the stream that is read stays short. */
static void a_base_replaces_what_was_before(void **state)
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

/* SHD-123: the outcome of a write that failed is found out by reading; what was asked for meanwhile is kept. */
static void a_failed_write_is_made_good(void **state)
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
    /* The first of the two got through, nobody knows. */
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

/* What a load after a failure finds started and stopped again is nobody's wish any more. */
static void what_was_forgotten_stays_so_after_a_failure(void **state)
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

/* A base that stands after other records takes back what they had: also in a load after a failure. */
static void a_base_takes_back_in_a_load_after_a_failure(void **state)
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

/* A shard whose set cannot be read does not start; it is tried again, at last every ten seconds. */
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
        remember_loaded(&fixture.remember, fixture.now, SHARD); /* late */
        step(&fixture, waits[i] * SECOND - MS, 0, 0);
        assert_false(fixture.loads);
        step(&fixture, MS, 0, 0);
    }
    said(&fixture, "");
    load(&fixture);
    said(&fixture, "loaded ");
    end(&fixture);
}

static void there_is_a_limit(void **state)
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
        step(&fixture, 0, 100, SECOND); /* whatever the store does */
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

/* Paced: the next batch comes when the last one is there, larger while the store is quick. */
static void a_slow_store_is_given_time(void **state)
{
    struct fixture fixture;
    (void)state;

    set(&fixture, (struct remember_options){ .strategy = REMEMBER_PACED,
                                             .target = 20 * MS });
    fill(&fixture, 1000);
    step(&fixture, 0, 0, 0);
    assert_int_equal(fixture.restarts, 32);
    step(&fixture, MS, 5, 5 * MS); /* five are not there yet */
    assert_int_equal(fixture.restarts, 32);
    step(&fixture, MS, 0, 5 * MS);
    assert_int_equal(fixture.restarts, 32 + 64);
    step(&fixture, MS, 0, 80 * MS); /* slow: half as many, and then a pause */
    assert_int_equal(fixture.restarts, 32 + 64 + 32);
    step(&fixture, 79 * MS, 0, 80 * MS);
    assert_int_equal(fixture.restarts, 32 + 64 + 32);
    step(&fixture, MS, 0, 80 * MS);
    assert_int_equal(fixture.restarts, 32 + 64 + 32 + 16);
    /* However slow it is, it goes on; and what one alone takes, none makes quicker. */
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

#define ALONE (25 * MS) /* that a read takes of which there is no other */

/* A store of which each read takes longer than the target. It does `at_once` of them at a time; the journal's mean is made of each. Returns how many restarts there
 * were in so many seconds; *last: the mean at the end. */
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

/* It is not read one by one with a pause after each: who does one at a time does so nearly always, and who does many does many. */
static void a_target_below_one_read_is_twice_that(void **state)
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
    /* Where it was quick, and is slow. */
    assert_in_range(pace(&fixture, 1, 20, &mean), 20 * 30, 20 * 40);
    end(&fixture);
}

/* Who was told does not recover, for whatever reason: a batch begins each second nevertheless, half as large each time, and they grow again
 * when those are there. */
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
    /* Nor does the pause after a slow read last longer. */
    step(&fixture, MS, 0, 60 * SECOND);
    fixture.restarts = 0;
    for (uint32_t i = 0; i < 10; i++)
        step(&fixture, SECOND, 1, 60 * SECOND);
    assert_int_equal(fixture.restarts, 10);
    end(&fixture);
}

/* Entities without events read nothing: what a read took when their sets were loaded is no reason to wait for the rest of time. */
static void who_reads_nothing_does_not_wait_for_the_store(void **state)
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
        fixture.now += 80 * MS; /* the first one is after a read */
    }
    assert_int_equal(fixture.restarts, 1000);
    end(&fixture);
}

/* A hand-off begins: what is not started yet stays remembered, and is not started. */
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

/* The shard's entities are 1, 2 and 3, and have been told. */
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

/* Behaviour 19.4: asked for until it is acknowledged, then forgotten here. */
static void who_belongs_elsewhere_moves(void **state)
{
    struct fixture fixture;
    (void)state;

    set_three(&fixture);
    move(&fixture, "1");
    move(&fixture, "3");
    move(&fixture, "3"); /* asked for once */
    said(&fixture, "?1 ?3 ");
    moved(&fixture, "2"); /* it does not move */
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
    assert_in_range(fixture.asked, 19, 21); /* no more seldom than that */
    moved(&fixture, "1");
    drain(&fixture);
    assert_int_equal(remember_count(&fixture.remember, SHARD), 1);
    again(&fixture);
    drain(&fixture);
    assert_int_equal(remember_count(&fixture.remember, SHARD), 1);
    assert_true(remember_has(&fixture.remember, SHARD, slice_text("2")));
    end(&fixture);
}

/* A message for it comes here after all, or its shard stops: then nobody asks, and an answer that is late forgets nothing. */
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

/* Both stops of a write that failed and of the one after it are written once more: nobody starts again for that. */
static void a_stop_of_a_move_that_is_not_written_is_written_again(void **state)
{
    struct fixture fixture;
    (void)state;

    set_three(&fixture);
    fixture.holds = true;
    move(&fixture, "1");
    move(&fixture, "2");
    moved(&fixture, "1");
    moved(&fixture, "2"); /* goes into the write after that */
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

/* A stop of a move is written once more only as long as nobody asks for a start. */
static void who_starts_after_its_move_is_remembered(void **state)
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

/* Found by a second read, it is to be told of: before that it is neither asked to move nor forgotten, so that nobody is told to start who
 * is not stored. */
static void who_is_to_be_told_of_does_not_move_before(void **state)
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

/* Asked one after the other where what they wait in has room for one: who finds no room would not be heard of, and be asked again late. */
static void no_more_are_asked_than_there_is_room_for(void **state)
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

/* Those that wait for an answer take the places of messages in others' buffers. One shard's do not keep another's from moving. */
static void so_many_are_asked_to_move_at_once(void **state)
{
    struct fixture fixture;
    uint32_t asked[2] = { 0 };
    struct remember_news news;
    char id[16];
    (void)state;

    set(&fixture, (struct remember_options){ 0 });
    fixture.holds = true;
    for (int32_t shard = 14; shard <= 15; shard++) { /* of ten: as one that has become too many */
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
    for (int i = 0; i < 200; i++) { /* nobody answers for long: no list grows with that */
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
        cmocka_unit_test(starts_and_stops_are_listed_by_the_next_incarnation),
        cmocka_unit_test(the_loaded_start_again_all_at_once),
        cmocka_unit_test(a_message_is_quicker),
        cmocka_unit_test(changes_wait_for_the_write_under_way),
        cmocka_unit_test(a_large_write_comes_in_parts),
        cmocka_unit_test(a_base_replaces_what_was_before),
        cmocka_unit_test(a_failed_write_is_made_good),
        cmocka_unit_test(what_was_forgotten_stays_so_after_a_failure),
        cmocka_unit_test(a_base_takes_back_in_a_load_after_a_failure),
        cmocka_unit_test(a_failed_load_is_tried_again),
        cmocka_unit_test(there_is_a_limit),
        cmocka_unit_test(a_constant_rate_is_kept),
        cmocka_unit_test(a_slow_store_is_given_time),
        cmocka_unit_test(a_target_below_one_read_is_twice_that),
        cmocka_unit_test(a_batch_begins_each_second),
        cmocka_unit_test(who_reads_nothing_does_not_wait_for_the_store),
        cmocka_unit_test(a_stop_ends_the_restarts),
        cmocka_unit_test(who_belongs_elsewhere_moves),
        cmocka_unit_test(a_move_ends_with_a_start_and_with_its_shard),
        cmocka_unit_test(a_stop_of_a_move_that_is_not_written_is_written_again),
        cmocka_unit_test(who_starts_after_its_move_is_remembered),
        cmocka_unit_test(who_is_to_be_told_of_does_not_move_before),
        cmocka_unit_test(no_more_are_asked_than_there_is_room_for),
        cmocka_unit_test(so_many_are_asked_to_move_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
