/* Tests changes that other nodes make to the remembered entities of a shard here. Living entities
 * that were removed are stored again, new ones start, and no others do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "shard/remember.h"
#include "shard/remember_keys.h"

#define SHARD 3

struct fixture {
    struct remember remember;
    uint64_t now;
    /* "+id", "-id": written; "kept", "forgotten": reported; ">id": restarted; "load" */
    char log[512];
};

static void note(struct fixture *fixture, const char *word, struct slice id)
{
    size_t used = strlen(fixture->log);

    (void)snprintf(fixture->log + used, sizeof fixture->log - used, "%s%.*s ",
                   word, (int)id.size, (const char *)id.data); /* cut at size */
}

static void said(struct fixture *fixture, const char *words)
{
    struct remember_news news;

    while (remember_next_news(&fixture->remember, &news)) {
        struct remember_changes changes = remember_changes_of(news.record);
        struct slice id;
        bool is_start;

        if (news.kind == REMEMBER_LOAD)
            note(fixture, "load", slice_text(""));
        else if (news.kind == REMEMBER_KEPT)
            note(fixture, "kept", slice_text(""));
        else if (news.kind == REMEMBER_FORGOTTEN)
            note(fixture, "forgotten", slice_text(""));
        else if (news.kind == REMEMBER_RESTART)
            note(fixture, ">", news.id);
        while (news.kind == REMEMBER_WRITE &&
               remember_changes_next(&changes, &id, &is_start))
            note(fixture, is_start ? "+" : "-", id);
    }
    assert_string_equal(fixture->log, words);
    fixture->log[0] = 0;
}

/* A record of starts; each letter is an id. */
static void record_put(struct buf *record, const char *ids)
{
    struct buf list = { 0 };

    for (const char *id = ids; *id; id++) {
        buf_put_u8(&list, 1);
        buf_put_u8(&list, (uint8_t)*id);
    }
    remember_starts_put(record, buf_slice(&list), strlen(ids));
    buf_fini(&list);
}

static void step(struct fixture *fixture)
{
    remember_step(&fixture->remember, fixture->now,
                  &(struct remember_pressure){ 0 });
}

/* In each key. */
static void changed(struct fixture *fixture, const char *ids)
{
    struct buf record = { 0 };

    record_put(&record, ids);
    for (uint32_t key = 0; key < REMEMBER_KEYS; key++)
        remember_changed(&fixture->remember, fixture->now, SHARD, key,
                         buf_slice(&record));
    buf_fini(&record);
}

static void loaded(struct fixture *fixture, const char *ids)
{
    struct buf record = { 0 };

    record_put(&record, ids);
    assert_true(remember_record(&fixture->remember, SHARD,
                                buf_slice(&record)));
    remember_loaded(&fixture->remember, fixture->now, SHARD);
    buf_fini(&record);
}

static void written(struct fixture *fixture)
{
    remember_written(&fixture->remember, fixture->now, SHARD);
}

/* Starts the shard with these entities. */
static void begin(struct fixture *fixture, const char *ids)
{
    struct remember_options options = { .shard_count = 10,
                                        .changes_only = true,
                                        .type = "T" };
    struct fixture expected = { 0 };

    *fixture = (struct fixture){ .now = SECOND };
    remember_init(&fixture->remember, &options);
    remember_begin(&fixture->remember, fixture->now, SHARD);
    said(fixture, "load ");
    loaded(fixture, ids);
    remember_run(&fixture->remember, fixture->now, SHARD);
    step(fixture);
    while (*ids)
        note(&expected, ">", slice_of((const uint8_t *)ids++, 1));
    said(fixture, expected.log);
}

static void start(struct fixture *fixture, const char *id)
{
    remember_start(&fixture->remember, fixture->now, SHARD, slice_text(id), 7);
}

static void stop(struct fixture *fixture, const char *id)
{
    remember_stop(&fixture->remember, fixture->now, SHARD, slice_text(id), 7);
}

static void a_removed_living_entity_is_stored_again(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture, "ab");
    changed(&fixture, "ab");
    said(&fixture, "");
    changed(&fixture, "b");
    said(&fixture, "+a ");
    changed(&fixture, "b");
    written(&fixture);
    said(&fixture, "");
    assert_int_equal(fixture.remember.counters.again, 1);
    start(&fixture, "a");
    said(&fixture, "kept ");
    remember_fini(&fixture.remember);
}

static void an_entity_that_ends_is_not_stored_again(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture, "ab");
    stop(&fixture, "a");
    said(&fixture, "-a ");
    changed(&fixture, "b");
    written(&fixture);
    said(&fixture, "forgotten ");
    changed(&fixture, "b");
    said(&fixture, "");
    assert_int_equal(fixture.remember.counters.again, 0);
    remember_fini(&fixture.remember);
}

/* Some replicas may still have it, and others may know its removal. */
static void a_stop_during_the_repair_is_written(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture, "ab");
    start(&fixture, "c");
    said(&fixture, "+c ");
    changed(&fixture, "b");
    stop(&fixture, "a");
    written(&fixture);
    said(&fixture, "kept -a ");
    written(&fixture);
    said(&fixture, "forgotten ");
    remember_fini(&fixture.remember);
}

/* This holds for any read that follows: a replica also has what it could not send on. */
static void a_failed_write_is_repeated(void **state)
{
    static const char *const reads[] = { "b", "ab" };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fixture fixture;

        begin(&fixture, "ab");
        changed(&fixture, "b");
        said(&fixture, "+a ");
        remember_failed(&fixture.remember, fixture.now, SHARD, "no room");
        fixture.now += 20 * SECOND;
        step(&fixture);
        said(&fixture, "load ");
        changed(&fixture, "");
        loaded(&fixture, reads[i]);
        said(&fixture, "+a ");
        written(&fixture);
        said(&fixture, "");
        remember_fini(&fixture.remember);
    }
}

/* It does not count as stored. */
static void an_entity_without_room_is_tried_again(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture, "ab");
    changed(&fixture, "b");
    said(&fixture, "+a ");
    remember_refuse(&fixture.remember, SHARD, slice_text("a"));
    written(&fixture);
    said(&fixture, "");
    changed(&fixture, "b");
    said(&fixture, "+a ");
    written(&fixture);
    assert_int_equal(fixture.remember.counters.refused, 0);
    assert_int_equal(fixture.remember.counters.forgotten, 0);
    remember_fini(&fixture.remember);
}

/* Removed between a failed write and the next read. */
static void a_read_without_a_living_entity_stores_it_again(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture, "ab");
    start(&fixture, "c");
    said(&fixture, "+c ");
    remember_failed(&fixture.remember, fixture.now, SHARD, "no room");
    fixture.now += 20 * SECOND;
    step(&fixture);
    said(&fixture, "load ");
    loaded(&fixture, "b");
    assert_int_equal(fixture.remember.counters.again, 1);
    written(&fixture);
    said(&fixture, "+a +c kept ");
    remember_fini(&fixture.remember);
}

/* A former home of the shard added it, after the read. */
static void an_entity_that_another_node_added_starts(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture, "ab");
    changed(&fixture, "abx");
    changed(&fixture, "abx");
    assert_true(remember_has(&fixture.remember, SHARD, slice_text("x")));
    said(&fixture, "");
    step(&fixture);
    said(&fixture, ">x ");
    assert_int_equal(fixture.remember.counters.late, 1);
    changed(&fixture, "abx");
    step(&fixture);
    said(&fixture, "");
    changed(&fixture, "ab");
    said(&fixture, "+x ");
    written(&fixture);
    stop(&fixture, "x");
    said(&fixture, "-x ");
    written(&fixture);
    said(&fixture, "forgotten ");
    assert_int_equal(fixture.remember.dues, 0);
    remember_fini(&fixture.remember);
}

/* Before the shard's entities may start, like those that were read. */
static void an_entity_added_before_the_shard_runs_starts_with_it(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture, "");
    remember_begin(&fixture.remember, fixture.now, SHARD);
    said(&fixture, "load ");
    changed(&fixture, "ax");
    loaded(&fixture, "a");
    changed(&fixture, "ax");
    step(&fixture);
    said(&fixture, "");
    remember_run(&fixture.remember, fixture.now, SHARD);
    step(&fixture);
    said(&fixture, ">a >x ");
    remember_fini(&fixture.remember);
}

/* Mail that control sent before the answer to a write has the older content. */
static void an_entity_that_is_being_forgotten_does_not_start(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture, "ab");
    start(&fixture, "c");
    said(&fixture, "+c ");
    stop(&fixture, "a");
    changed(&fixture, "abc");
    written(&fixture);
    said(&fixture, "kept -a ");
    changed(&fixture, "abc");
    step(&fixture);
    said(&fixture, "");
    written(&fixture);
    said(&fixture, "forgotten ");
    changed(&fixture, "bc");
    step(&fixture);
    said(&fixture, "");
    assert_int_equal(fixture.remember.counters.late, 0);
    changed(&fixture, "abc"); /* after the answer, so another node added it */
    step(&fixture);
    said(&fixture, ">a ");
    remember_fini(&fixture.remember);
}

static void an_entity_whose_stop_failed_does_not_start(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture, "ab");
    stop(&fixture, "a");
    said(&fixture, "-a ");
    remember_failed(&fixture.remember, fixture.now, SHARD, "no answers");
    changed(&fixture, "abx");
    fixture.now += 20 * SECOND;
    step(&fixture);
    said(&fixture, "load ");
    loaded(&fixture, "ab");
    said(&fixture, "-a ");
    changed(&fixture, "abx");
    step(&fixture);
    said(&fixture, ">x ");
    written(&fixture);
    said(&fixture, "forgotten ");
    remember_fini(&fixture.remember);
}

/* The next home reads it, or gets the change. */
static void no_entity_starts_in_a_stopping_shard(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture, "ab");
    remember_halt(&fixture.remember, SHARD);
    changed(&fixture, "abx");
    step(&fixture);
    said(&fixture, "");
    remember_end(&fixture.remember, SHARD);
    changed(&fixture, "abx"); /* given up, or fenced */
    step(&fixture);
    said(&fixture, "");
    assert_int_equal(fixture.remember.ids, 0);
    remember_fini(&fixture.remember);
}

/* Its start is on its way, or its message came first. */
static void a_starting_entity_is_not_started_again(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture, "ab");
    start(&fixture, "x");
    said(&fixture, "+x ");
    changed(&fixture, "abx");
    step(&fixture);
    said(&fixture, "");
    written(&fixture);
    said(&fixture, "kept ");
    changed(&fixture, "abxy");
    start(&fixture, "y");
    step(&fixture);
    said(&fixture, "kept ");
    remember_fini(&fixture.remember);
}

/* No node looks for it in that key. Its stop would not remove it there, and it would start with
 * each change. */
static void an_entity_in_a_wrong_key_does_not_start(void **state)
{
    struct fixture fixture;
    struct buf record = { 0 };

    (void)state;
    begin(&fixture, "ab");
    record_put(&record, "x");
    remember_changed(&fixture.remember, fixture.now, SHARD,
                     (remember_key_of(slice_text("x")) + 1) % REMEMBER_KEYS,
                     buf_slice(&record));
    buf_fini(&record);
    fixture.log[0] = 0;
    assert_false(remember_has(&fixture.remember, SHARD, slice_text("x")));
    remember_fini(&fixture.remember);
}

/* Beyond the limit it stays, and its messages are refused like others. */
static void entities_beyond_the_limit_do_not_start(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture, "ab");
    fixture.remember.options.ids_max = 3;
    changed(&fixture, "abxy");
    step(&fixture);
    said(&fixture, ">x ");
    assert_int_equal(fixture.remember.counters.late, 1);
    remember_fini(&fixture.remember);
}

/* Slow restarts keep their order, and each entity restarts once. */
static void late_entities_restart_in_order(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture, "ab");
    fixture.remember.options.strategy = REMEMBER_CONSTANT;
    fixture.remember.options.batch = 1;
    changed(&fixture, "abx");
    changed(&fixture, "abxy");
    changed(&fixture, "abxyz");
    assert_int_equal(fixture.remember.runs.count, 1);
    for (int i = 0; i < 3; i++) {
        step(&fixture);
        fixture.now += SECOND;
    }
    said(&fixture, ">x >y >z ");
    assert_int_equal(fixture.remember.runs.count, 0);
    assert_true(remember_deadline(&fixture.remember) > fixture.now);
    remember_fini(&fixture.remember);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_removed_living_entity_is_stored_again),
        cmocka_unit_test(an_entity_that_ends_is_not_stored_again),
        cmocka_unit_test(a_stop_during_the_repair_is_written),
        cmocka_unit_test(a_failed_write_is_repeated),
        cmocka_unit_test(an_entity_without_room_is_tried_again),
        cmocka_unit_test(a_read_without_a_living_entity_stores_it_again),
        cmocka_unit_test(an_entity_that_another_node_added_starts),
        cmocka_unit_test(an_entity_added_before_the_shard_runs_starts_with_it),
        cmocka_unit_test(an_entity_that_is_being_forgotten_does_not_start),
        cmocka_unit_test(an_entity_whose_stop_failed_does_not_start),
        cmocka_unit_test(no_entity_starts_in_a_stopping_shard),
        cmocka_unit_test(a_starting_entity_is_not_started_again),
        cmocka_unit_test(an_entity_in_a_wrong_key_does_not_start),
        cmocka_unit_test(entities_beyond_the_limit_do_not_start),
        cmocka_unit_test(late_entities_restart_in_order),
    };

    return cmocka_run_group_tests_name("remember_changed", tests, NULL, NULL);
}
