/* Tests remembered entities in distributed data: keys and their contents as on a JVM, and the
 * changes of a write one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "shard/remember.h"
#include "shard/remember_keys.h"

#define SHARD 3

static void keys_are_akkas(void **state)
{
    struct buf key = { 0 };

    (void)state;
    remember_key_put(&key, "Order Book", slice_text("-7"), 4);
    assert_true(slice_is(buf_slice(&key), "shard-Order Book--7-4"));
    buf_clear(&key);
    remember_shards_key_put(&key, "T");
    assert_true(slice_is(buf_slice(&key), "shard-T-all"));
    buf_fini(&key);
}

/* |hashCode % 5|: "a" has 97, "ab" 3105, "e0" 3179, "polygenelubricants" -2^31, "zzzzzz" -685785664
 * (a negative remainder), the last one 1772899: a surrogate pair on a JVM. */
static void an_id_has_the_key_that_a_jvm_reads(void **state)
{
    (void)state;
    assert_int_equal(remember_key_of(slice_text("")), 0);
    assert_int_equal(remember_key_of(slice_text("a")), 2);
    assert_int_equal(remember_key_of(slice_text("ab")), 0);
    assert_int_equal(remember_key_of(slice_text("e0")), 4);
    assert_int_equal(remember_key_of(slice_text("polygenelubricants")), 3);
    assert_int_equal(remember_key_of(slice_text("zzzzzz")), 4);
    assert_int_equal(remember_key_of(slice_text("\xf0\x9f\x98\x80")), 4);
}

struct store {
    struct remember remember;
    struct buf records; /* of one write */
    bool is_whole;
    char told[512]; /* +id, -id, !id: kept, forgotten, refused; >id: restarted */
};

static void note(struct store *store, const char *word, struct slice id)
{
    size_t used = strlen(store->told);

    (void)snprintf(store->told + used, sizeof store->told - used, "%s%.*s ",
                   word, (int)id.size, (const char *)id.data);
}

static void drain(struct store *store)
{
    struct remember_news news;

    while (remember_next_news(&store->remember, &news)) {
        if (news.kind == REMEMBER_WRITE) {
            assert_false(news.is_base);
            buf_put_slice(&store->records, news.record);
            store->is_whole = !news.more;
        } else if (news.kind == REMEMBER_KEPT) {
            note(store, "+", news.id);
        } else if (news.kind == REMEMBER_FORGOTTEN) {
            note(store, "-", news.id);
        } else if (news.kind == REMEMBER_REFUSED) {
            note(store, "!", news.id);
        } else if (news.kind == REMEMBER_RESTART) {
            note(store, ">", news.id);
        }
    }
}

/* From five keys. */
static void load(struct store *store, const char *const *ids, uint32_t count)
{
    struct buf bytes = { 0 }, record = { 0 };

    for (uint32_t i = 0; i < count; i++) {
        buf_put_u8(&bytes, (uint8_t)strlen(ids[i]));
        buf_put_text(&bytes, ids[i]);
    }
    remember_starts_put(&record, buf_slice(&bytes), count);
    assert_true(remember_record(&store->remember, SHARD, buf_slice(&record)));
    remember_loaded(&store->remember, SECOND, SHARD);
    buf_fini(&bytes);
    buf_fini(&record);
}

static void begin(struct store *store, struct remember_options options)
{
    *store = (struct store){ 0 };
    options.shard_count = 10;
    options.type = "T";
    options.changes_only = true;
    remember_init(&store->remember, &options);
    remember_begin(&store->remember, SECOND, SHARD);
    drain(store);
}

static void end(struct store *store)
{
    buf_fini(&store->records);
    remember_fini(&store->remember);
}

static void start(struct store *store, const char *id)
{
    remember_start(&store->remember, SECOND, SHARD, slice_text(id), 1);
}

static void written(struct store *store)
{
    drain(store);
    assert_true(store->is_whole);
    buf_clear(&store->records);
    store->told[0] = 0;
    remember_written(&store->remember, SECOND, SHARD);
    drain(store);
}

/* Parts of a write follow one another, and none is a base, whatever their number. */
static void changes_are_written_one_by_one(void **state)
{
    static const char *const ids[] = { "old", "older" };
    static const char expected[] = "+a +b +c -old +d ";
    struct store store;
    struct remember_changes changes;
    char text[64] = "";
    struct slice id;
    bool is_start;

    (void)state;
    begin(&store, (struct remember_options){ .part_ids = 2, .base_after = 1 });
    load(&store, ids, 2);
    start(&store, "first");
    drain(&store);
    start(&store, "a");
    start(&store, "b");
    start(&store, "c");
    remember_stop(&store.remember, SECOND, SHARD, slice_text("old"), 2);
    start(&store, "d");
    written(&store);
    assert_string_equal(store.told, "+first ");
    changes = remember_changes_of(buf_slice(&store.records));
    while (remember_changes_next(&changes, &id, &is_start)) {
        size_t used = strlen(text);

        (void)snprintf(text + used, sizeof text - used, "%c%.*s ",
                       is_start ? '+' : '-', (int)id.size,
                       (const char *)id.data);
    }
    assert_string_equal(text, expected);
    written(&store);
    assert_string_equal(store.told, expected);
    assert_int_equal(remember_count(&store.remember, SHARD), 6);
    end(&store);
}

/* The ids that the changes of a write leave, as the keys have them. */
struct ids {
    char items[8][4];
    uint32_t count;
};

static void apply(struct store *store, struct ids *ids)
{
    struct remember_changes changes;
    struct slice id;
    bool is_start;

    drain(store);
    changes = remember_changes_of(buf_slice(&store->records));
    while (remember_changes_next(&changes, &id, &is_start)) {
        uint32_t found = 0;

        while (found < ids->count && !slice_is(id, ids->items[found]))
            found++;
        if (is_start && found == ids->count)
            (void)snprintf(ids->items[ids->count++], 4, "%.*s", (int)id.size,
                           (const char *)id.data);
        else if (!is_start && found < ids->count)
            memmove(ids->items[found], ids->items[--ids->count], 4);
    }
    written(store);
}

/* The second incarnation of the shard starts late. */
static void starts_and_stops_are_listed_by_the_next_incarnation_SHD189_SHD190(
    void **state)
{
    static const char *const steps[] = { "+1+2+3", "+4+5+6-2-3", "-6", "+2" };
    const char *list[8];
    struct ids ids = { .count = 0 };
    struct store store;
    char told[64];

    (void)state;
    begin(&store, (struct remember_options){ 0 });
    load(&store, NULL, 0);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        for (const char *at = steps[i]; *at; at += 2) {
            const struct slice id = slice_of(at + 1, 1);

            if (*at == '+')
                remember_start(&store.remember, SECOND, SHARD, id, 1);
            else
                remember_stop(&store.remember, SECOND, SHARD, id, 1);
        }
        drain(&store);
        while (store.records.size)
            apply(&store, &ids);
    }
    end(&store);
    for (uint32_t i = 0; i < ids.count; i++)
        list[i] = ids.items[i];
    begin(&store, (struct remember_options){ 0 });
    load(&store, list, ids.count);
    remember_step(&store.remember, 3600 * SECOND,
                  &(struct remember_pressure){ 0 });
    drain(&store);
    assert_string_equal(store.told, "");
    assert_int_equal(remember_count(&store.remember, SHARD), 4);
    remember_run(&store.remember, 3600 * SECOND, SHARD);
    remember_step(&store.remember, 3600 * SECOND,
                  &(struct remember_pressure){ 0 });
    drain(&store);
    for (const char *id = "1245"; *id; id++) {
        (void)snprintf(told, sizeof told, ">%c ", *id);
        assert_non_null(strstr(store.told, told));
    }
    end(&store);
}

/* A start without room is not remembered, but the others of its write are. It may be requested
 * again. */
static void a_start_without_room_is_refused(void **state)
{
    struct store store;

    (void)state;
    begin(&store, (struct remember_options){ 0 });
    load(&store, NULL, 0);
    start(&store, "x");
    start(&store, "a");
    start(&store, "b");
    written(&store); /* a and b share a write */
    remember_refuse(&store.remember, SHARD, slice_text("none"));
    remember_refuse(&store.remember, SHARD, slice_text("x"));
    remember_refuse(&store.remember, SHARD, slice_text("a"));
    remember_refuse(&store.remember, SHARD, slice_text("a"));
    drain(&store);
    assert_string_equal(store.told, "+x !a ");
    written(&store);
    assert_string_equal(store.told, "+b ");
    assert_int_equal(remember_count(&store.remember, SHARD), 2);
    assert_false(remember_has(&store.remember, SHARD, slice_text("a")));
    start(&store, "a");
    written(&store);
    assert_string_equal(store.told, "+a ");
    assert_int_equal(store.remember.counters.kept, 3);
    assert_int_equal(store.remember.counters.forgotten, 0);
    assert_int_equal(store.remember.counters.refused, 1);
    end(&store);
}

/* After a failure the set is read again. Entities that another replica has in addition start, and
 * missing ones are written. */
static void an_entity_found_by_a_second_read_starts(void **state)
{
    static const char *const ids[] = { "a", "late" };
    struct store store;

    (void)state;
    begin(&store, (struct remember_options){ 0 });
    load(&store, ids, 1);
    remember_run(&store.remember, SECOND, SHARD);
    remember_step(&store.remember, SECOND,
                  &(struct remember_pressure){ 0 });
    drain(&store);
    assert_string_equal(store.told, ">a ");
    start(&store, "b");
    drain(&store);
    remember_failed(&store.remember, SECOND, SHARD, "test");
    remember_step(&store.remember, 3 * SECOND,
                  &(struct remember_pressure){ 0 }); /* the pause is over */
    store.told[0] = 0;
    load(&store, ids, 2);
    assert_int_equal(remember_deadline(&store.remember), 0);
    remember_step(&store.remember, 3 * SECOND,
                  &(struct remember_pressure){ 0 });
    drain(&store);
    assert_string_equal(store.told, ">late ");
    written(&store);
    assert_string_equal(store.told, "+b ");
    assert_int_equal(remember_count(&store.remember, SHARD), 3);
    end(&store);
}

/* The own replica also returns changes that failed. A start or a stop counts only after a
 * successful write. */
static void a_failed_change_is_written_again_whatever_is_read(void **state)
{
    static const char *const before[] = { "gone" };
    static const char *const there[] = { "a" };
    struct store store;

    (void)state;
    begin(&store, (struct remember_options){ 0 });
    load(&store, before, 1);
    start(&store, "a");
    remember_stop(&store.remember, SECOND, SHARD, slice_text("gone"), 2);
    drain(&store);
    for (uint64_t now = 1; now < 8; now += 3) {
        remember_failed(&store.remember, now * SECOND, SHARD, "test");
        remember_step(&store.remember, (now + 9) * SECOND,
                      &(struct remember_pressure){ 0 });
        buf_clear(&store.records);
        load(&store, there, 1);
        drain(&store);
        assert_true(store.records.size > 0);
        assert_string_equal(store.told, "");
    }
    written(&store);
    assert_non_null(strstr(store.told, "+a "));
    assert_non_null(strstr(store.told, "-gone "));
    assert_int_equal(remember_count(&store.remember, SHARD), 1);
    end(&store);
}

/* A moved entity is removed until that is stored, though no answer is owed. The own replica already
 * lacks it, so a read does not confirm the others. If a read returns it, it does not start here. */
static void the_stop_of_a_moved_entity_is_written_until_stored(void **state)
{
    static const char *const before[] = { "a", "gone" };
    struct store store;

    (void)state;
    begin(&store, (struct remember_options){ 0 });
    load(&store, before, 2);
    remember_run(&store.remember, SECOND, SHARD);
    remember_step(&store.remember, SECOND, &(struct remember_pressure){ 0 });
    drain(&store);
    assert_string_equal(store.told, ">a >gone ");
    store.told[0] = 0;
    remember_move(&store.remember, SECOND, SHARD, slice_text("gone"));
    drain(&store);
    remember_moved(&store.remember, SECOND, SHARD, slice_text("gone"));
    drain(&store);
    for (uint64_t now = 1; now < 12; now += 3) {
        struct remember_changes changes;
        struct slice id;
        bool is_start;

        remember_failed(&store.remember, now * SECOND, SHARD, "test");
        remember_step(&store.remember, (now + 9) * SECOND,
                      &(struct remember_pressure){ 0 });
        buf_clear(&store.records);
        load(&store, before, now % 2 ? 1 : 2);
        remember_step(&store.remember, (now + 9) * SECOND,
                      &(struct remember_pressure){ 0 });
        drain(&store);
        changes = remember_changes_of(buf_slice(&store.records));
        assert_true(remember_changes_next(&changes, &id, &is_start));
        assert_true(!is_start && slice_is(id, "gone"));
        assert_false(remember_changes_next(&changes, &id, &is_start));
        assert_string_equal(store.told, "");
        assert_int_equal(remember_count(&store.remember, SHARD), 2);
    }
    written(&store);
    assert_string_equal(store.told, "");
    assert_int_equal(remember_count(&store.remember, SHARD), 1);
    end(&store);
}

/* Incomplete records end the iteration, at any cut. */
static void cut_records_end_the_iteration(void **state)
{
    struct buf ids = { 0 }, record = { 0 };
    uint32_t counts[64] = { 0 };

    (void)state;
    buf_put_u8(&ids, 2);
    buf_put_text(&ids, "ab");
    buf_put_u8(&ids, 1);
    buf_put_text(&ids, "c");
    remember_starts_put(&record, buf_slice(&ids), 2);
    assert_true(record.size < 64);
    for (size_t size = 0; size <= record.size; size++) {
        struct remember_changes changes =
            remember_changes_of(slice_of(record.data, size));
        struct slice id;
        bool is_start;

        while (remember_changes_next(&changes, &id, &is_start)) {
            assert_true(is_start);
            counts[size]++;
        }
        assert_true(size == 0 || counts[size] >= counts[size - 1]);
    }
    assert_int_equal(counts[record.size], 2);
    assert_int_equal(counts[0], 0);
    buf_fini(&ids);
    buf_fini(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_akkas),
        cmocka_unit_test(an_id_has_the_key_that_a_jvm_reads),
        cmocka_unit_test(changes_are_written_one_by_one),
        cmocka_unit_test(
            starts_and_stops_are_listed_by_the_next_incarnation_SHD189_SHD190),
        cmocka_unit_test(a_start_without_room_is_refused),
        cmocka_unit_test(an_entity_found_by_a_second_read_starts),
        cmocka_unit_test(a_failed_change_is_written_again_whatever_is_read),
        cmocka_unit_test(the_stop_of_a_moved_entity_is_written_until_stored),
        cmocka_unit_test(cut_records_end_the_iteration),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
