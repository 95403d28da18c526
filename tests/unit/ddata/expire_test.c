/* Keys that nobody uses: forgotten everywhere, on disks too, and not brought back by who still has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/limits.h"
#include "ddata/replicator_inside.h"
#include "lone.h"

#define AFTER 10000 /* ms */

static const struct replicator_expiry expiries[] = {
    { "s*", AFTER },
    { "session-*", 10 * AFTER }, /* the longest that fits counts */
    { "session*", AFTER },
    { "short", AFTER },
    { "x*", AFTER },
    { "dur*", AFTER },
};

static struct cluster *cluster_with(uint64_t seed, uint32_t count)
{
    static const char *const durable[] = { "dur*" };
    struct cluster *c = cluster_new(seed);

    c->expiries = expiries;
    c->expiry_count = sizeof expiries / sizeof expiries[0];
    c->durable_keys = durable;
    c->durable_key_count = 1;
    for (uint32_t i = 0; i < count; i++)
        (void)cluster_add(c);
    return c;
}

/* And the steps that are due at once then; how many. */
static uint32_t step(struct lone *lone, uint64_t now)
{
    uint32_t steps = 0;

    do {
        replicator_step(lone->replicator, now, &lone->outbox);
        steps++;
    } while (replicator_deadline(lone->replicator) <= now);
    return steps;
}

static uint32_t told_count(const struct cluster *c, uint32_t index,
                           enum replicator_news_kind kind)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < c->nodes[index].told.count; i++)
        count += c->nodes[index].told.items[i].kind == kind;
    return count;
}

static void who_is_unused_is_forgotten(void **state)
{
    struct cluster *c = cluster_with(1, 3);
    (void)state;

    (void)do_count(c, 0, "short", 1, local);
    (void)do_count(c, 0, "session-1", 2, local);
    (void)do_count(c, 0, "always", 3, local);
    assert_true(replicator_subscribe(c->nodes[2].replicator, 1,
                                     slice_text("short")));
    assert_true(replicator_subscribe(c->nodes[2].replicator, 2,
                                     slice_text("s*")));
    cluster_run(c, 8 * SECOND);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(count_at(c, i, "short"), 1);
    cluster_run(c, 8 * SECOND);
    for (uint32_t i = 0; i < 3; i++) {
        assert_null(value_at(c, i, "short"));
        assert_int_equal(count_at(c, i, "session-1"), 2);
        assert_int_equal(count_at(c, i, "always"), 3);
        assert_int_equal(counters_at(c, i)->expired, 1);
        assert_int_equal(replicator_view(c->nodes[i].replicator).keys, 2);
    }
    assert_int_equal(told_count(c, 2, REPLICATOR_NEWS_EXPIRED), 2);
    cluster_run(c, 100 * SECOND);
    assert_null(value_at(c, 1, "session-1"));
    assert_int_equal(count_at(c, 1, "always"), 3);
    /* It may begin anew. */
    (void)do_count(c, 1, "short", 5, local);
    cluster_run(c, 5 * SECOND);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(count_at(c, i, "short"), 5);
    cluster_free(c);
}

/* Read here, changed there: all of it is use, wherever it is. */
static void a_use_anywhere_keeps_it(void **state)
{
    struct cluster *c = cluster_with(2, 3);
    (void)state;

    (void)do_count(c, 0, "short", 1, local);
    for (int i = 0; i < 12; i++) {
        cluster_run(c, 3 * SECOND);
        if (i % 2)
            (void)do_get(c, 1, "short", local);
        else
            (void)do_count(c, 2, "short", 1, local);
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(counters_at(c, i)->expired, 0);
        assert_int_equal(count_at(c, i, "short"), 7);
    }
    cluster_run(c, 20 * SECOND);
    for (uint32_t i = 0; i < 3; i++)
        assert_null(value_at(c, i, "short"));
    cluster_free(c);
}

static void tombstones_go_too(void **state)
{
    struct cluster *c = cluster_with(3, 2);
    (void)state;

    (void)do_count(c, 0, "short", 1, local);
    cluster_run(c, 3 * SECOND);
    (void)do_delete(c, 1, "short", local);
    cluster_run(c, 5 * SECOND);
    assert_int_equal(replicator_view(c->nodes[0].replicator).deleted, 1);
    cluster_run(c, 20 * SECOND);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(replicator_view(c->nodes[i].replicator).deleted, 0);
        assert_int_equal(replicator_view(c->nodes[i].replicator).bytes, 0);
    }
    (void)do_count(c, 0, "short", 7, local);
    assert_int_equal(count_at(c, 0, "short"), 7);
    cluster_free(c);
}

/* The disks of both have no more of it after a restart. */
static void durable_ones_leave_the_disk(void **state)
{
    struct cluster *c = cluster_with(4, 2);
    (void)state;

    (void)do_count(c, 0, "dur", 1, local);
    cluster_run(c, 5 * SECOND);
    assert_int_equal(c->nodes[0].store.count, 1);
    assert_int_equal(c->nodes[1].store.count, 1);
    cluster_run(c, 20 * SECOND);
    assert_int_equal(c->nodes[0].store.count, 0);
    assert_int_equal(c->nodes[1].store.count, 0);
    cluster_restart(c, 0);
    cluster_run(c, 5 * SECOND);
    assert_null(value_at(c, 0, "dur"));
    cluster_free(c);
}

/* All of them end at once: who reads a key from its disk knows of no use of it but this. */
static void so_do_those_that_were_read_from_it(void **state)
{
    struct cluster *c = cluster_with(12, 3);
    (void)state;

    (void)do_count(c, 0, "dur", 1, to_all(1000));
    (void)do_count(c, 0, "always", 1, local);
    cluster_run(c, SECOND);
    for (uint32_t i = 0; i < 3; i++)
        cluster_restart(c, i);
    cluster_run(c, 8 * SECOND);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(count_at(c, i, "dur"), 1);
    cluster_run(c, 10 * SECOND);
    for (uint32_t i = 0; i < 3; i++) {
        assert_null(value_at(c, i, "dur"));
        assert_int_equal(c->nodes[i].store.count, 0);
    }
    cluster_free(c);
}

/* A write that comes is a use: its writer may be gone before it tells of its own. By itself or as a delta, of a key that is known or not. */
static void so_do_those_whose_writer_is_gone(void **state)
{
    struct cluster *c = cluster_with(13, 3);
    (void)state;

    (void)do_count(c, 0, "short", 1, to_all(1000));
    (void)do_add(c, 0, "x", "a", to_all(1000));
    cluster_run(c, 100 * MS);
    cluster_remove(c, 0);
    cluster_run(c, 8 * SECOND);
    assert_int_equal(count_at(c, 1, "short"), 1);
    assert_int_equal(size_at(c, 2, "x"), 1);
    cluster_run(c, 10 * SECOND);
    for (uint32_t i = 1; i < 3; i++)
        assert_int_equal(replicator_view(c->nodes[i].replicator).keys, 0);
    cluster_free(c);
}

/* Whoever acknowledged it has it for as long. */
static void what_is_acknowledged_is_used(void **state)
{
    struct cluster *c = cluster_with(14, 3);
    (void)state;

    (void)do_count(c, 0, "short", 0, local);
    (void)do_add(c, 0, "x", "a", local);
    cluster_run(c, 6 * SECOND);
    c->dropped = 'M'; /* statuses: nobody hears of uses any more */
    for (int i = 0; i < 4; i++) {
        (void)do_count(c, 0, "short", 1, to_all(1000));
        (void)do_add(c, 0, "x", i % 2 ? "a" : "b", to_all(1000));
        cluster_run(c, 8 * SECOND);
        for (uint32_t k = 0; k < 3; k++) {
            assert_int_equal(count_at(c, k, "short"), i + 1);
            assert_true(has_at(c, k, "x", i % 2 ? "a" : "b"));
        }
    }
    cluster_free(c);
}

/* One who is shown what a subscriber before him was told: no use, as no subscription is one. */
static void to_be_shown_it_is_no_use(void **state)
{
    struct cluster *c = cluster_with(15, 2);
    uint32_t shown = 0;
    (void)state;

    (void)do_count(c, 0, "short", 1, local);
    for (int i = 0; i < 8; i++) {
        cluster_run(c, 2 * SECOND);
        replicator_show(c->nodes[0].replicator, 1000 + (uint64_t)i,
                        slice_text("short"));
        cluster_run(c, SECOND);
        shown += is_answered(c, 0, 1000 + (uint64_t)i, REPLICATOR_SUCCESS);
    }
    assert_null(value_at(c, 0, "short"));
    assert_in_range(shown, 2, 5);
    assert_true(is_answered(c, 0, 1007, REPLICATOR_NOT_FOUND));
    cluster_free(c);
}

static void gossip(struct lone *lone, const char *key, int64_t used_ms)
{
    struct dd_value *value = dd_new(DD_GCOUNTER);
    struct envelope envelope = { .value = value };
    struct message_entry entry = { .key = slice_text(key),
                                   .used_ms = used_ms };
    struct buf bytes = { 0 };

    envelope_encode(&bytes, &envelope, NULL, ENVELOPE_WHOLE);
    entry.bytes = buf_slice(&bytes);
    lone_receive(lone, &(struct message){ .kind = MESSAGE_GOSSIP,
                                          .entries = &entry,
                                          .count = 1 });
    buf_fini(&bytes);
    dd_free(value);
}

/* Who is behind sends what is over: it is not taken. A clock that is ahead does not keep it for ever. */
static void what_is_over_is_not_taken(void **state)
{
    struct lone *lone =
        lone_expiring(expiries, sizeof expiries / sizeof expiries[0]);
    struct message_entry digest = { .key = slice_text("xb"),
                                    .bytes = slice_text("12345678901234567890"),
                                    .used_ms = CLUSTER_WALL_MS - AFTER };
    (void)state;

    gossip(lone, "xa", CLUSTER_WALL_MS - AFTER);
    assert_null(replicator_look(lone->replicator, slice_text("xa")));
    assert_int_equal(lone_counters(lone)->stale, 1);
    lone_receive(lone, &(struct message){ .kind = MESSAGE_STATUS,
                                          .entries = &digest,
                                          .count = 1,
                                          .chunks = 1 });
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN); /* it is not asked for */
    assert_int_equal(lone_counters(lone)->stale, 2);
    gossip(lone, "xc", INT64_MAX);
    gossip(lone, "xd", -5);
    gossip(lone, "xe", 0);
    assert_int_equal(replicator_view(lone->replicator).keys, 3);
    replicator_wall(lone->replicator, CLUSTER_WALL_MS + AFTER + 1);
    (void)step(lone, 60 * SECOND);
    assert_null(replicator_look(lone->replicator, slice_text("xc")));
    /* Of these no use is known. */
    assert_non_null(replicator_look(lone->replicator, slice_text("xd")));
    assert_non_null(replicator_look(lone->replicator, slice_text("xe")));
    lone_free(lone);
}

/* Longer than its key lasts. */
static void a_write_outlives_its_key(void **state)
{
    struct cluster *c = cluster_with(5, 3);
    uint64_t put, got;
    (void)state;

    cluster_split(c, 1);
    put = do_count(c, 0, "short", 1, to_all(20 * AFTER));
    got = do_get(c, 0, "short", to_all(20 * AFTER));
    cluster_run(c, 300 * SECOND);
    assert_null(value_at(c, 0, "short"));
    assert_true(is_answered(c, 0, put, REPLICATOR_UPDATE_TIMEOUT));
    assert_true(is_answered(c, 0, got, REPLICATOR_GET_FAILURE));
    cluster_free(c);
}

/* The other one knows versions of the key's former life here: what it acknowledges it has. */
static void a_write_after_it_is_not_taken_for_a_repeat(void **state)
{
    struct cluster *c = cluster_with(6, 2);
    uint64_t token;
    (void)state;

    for (int i = 0; i < 5; i++) {
        char text[2] = { (char)('a' + i), 0 };

        (void)do_add(c, 0, "x1", text, to_all(1000));
        cluster_run(c, 100 * MS);
    }
    cluster_split(c, 1);
    for (int i = 0; i < 8; i++) {
        (void)do_get(c, 1, "x1", local);
        cluster_run(c, 3 * SECOND);
    }
    assert_null(value_at(c, 0, "x1"));
    cluster_heal(c);
    for (int i = 0; i < 4; i++) {
        (void)do_get(c, 1, "x1", local);
        cluster_run(c, 3 * SECOND);
    }
    assert_int_equal(size_at(c, 0, "x1"), 5);
    token = do_add(c, 0, "x1", "six", to_all(1000));
    for (int i = 0; i < 1000 && !answer_of(c, 0, token); i++)
        cluster_run(c, MS);
    assert_true(is_answered(c, 0, token, REPLICATOR_SUCCESS));
    assert_true(has_at(c, 1, "x1", "six"));
    cluster_free(c);
}

static uint64_t gaps_of(const struct cluster *c)
{
    uint64_t gaps = 0;

    for (uint32_t i = 0; i < c->count; i++)
        gaps += counters_at(c, i)->delta_gaps;
    return gaps;
}

static void add_to_all(struct cluster *c, uint32_t index, const char *key,
                       const char *element)
{
    uint64_t token = do_add(c, index, key, element, to_all(1000));

    for (int i = 0; i < 1000 && !answer_of(c, index, token); i++)
        cluster_run(c, MS);
    assert_true(is_answered(c, index, token, REPLICATOR_SUCCESS));
}

/* Deltas of other keys are in their order from the first one on, whatever was forgotten. */
static void other_keys_have_versions_of_their_own(void **state)
{
    struct cluster *c = cluster_with(16, 3);
    (void)state;

    for (int i = 0; i < 4; i++)
        (void)do_add(c, 0, "x1", i % 2 ? "a" : "b", local);
    cluster_run(c, 20 * SECOND);
    assert_null(value_at(c, 0, "x1"));
    for (int i = 0; i < 8; i++) {
        char key[16];

        (void)snprintf(key, sizeof key, "x-%d", i);
        add_to_all(c, 0, key, "a");
        (void)do_add(c, 0, key, "b", local);
        cluster_run(c, SECOND);
        assert_true(has_at(c, 1, key, "b"));
        assert_true(has_at(c, 2, key, "b"));
    }
    assert_int_equal(gaps_of(c), 0);
    cluster_free(c);
}

/* Also where nothing of the key's last life is of this node: it only took away, or deleted all. */
static void what_only_took_away_is_no_repeat_either(void **state)
{
    struct cluster *c = cluster_with(17, 2);
    uint64_t token;
    (void)state;

    add_to_all(c, 1, "x1", "a");
    add_to_all(c, 1, "x1", "b");
    token = do_remove(c, 0, "x1", "a", to_all(1000));
    cluster_run(c, SECOND);
    assert_true(is_answered(c, 0, token, REPLICATOR_SUCCESS));
    add_to_all(c, 0, "x2", "a");
    add_to_all(c, 0, "x2", "b");
    cluster_split(c, 1);
    (void)do_delete(c, 0, "x2", local);
    for (int i = 0; i < 8; i++) {
        (void)do_get(c, 1, "x1", local);
        (void)do_get(c, 1, "x2", local);
        cluster_run(c, 3 * SECOND);
    }
    assert_int_equal(replicator_view(c->nodes[0].replicator).keys, 0);
    assert_int_equal(replicator_view(c->nodes[0].replicator).deleted, 0);
    cluster_heal(c);
    add_to_all(c, 0, "x1", "c");
    assert_true(has_at(c, 1, "x1", "c"));
    assert_true(has_at(c, 1, "x1", "b"));
    assert_false(has_at(c, 1, "x1", "a"));
    add_to_all(c, 0, "x2", "c");
    assert_true(has_at(c, 1, "x2", "c"));
    cluster_free(c);
}

/* What is hidden is gone after a while; what others gave back is numbered as before. An addition that all acknowledge all have. */
static void what_is_given_back_goes_on_with_its_versions(void **state)
{
    struct cluster *c = cluster_with(6, 3);
    (void)state;

    for (int i = 0; i < 5; i++)
        add_to_all(c, 0, "x1", (char[2]){ (char)('a' + i), 0 });
    cluster_split(c, 1);
    for (int i = 0; i < 80; i++) {
        (void)do_get(c, 1, "x1", local);
        cluster_run(c, SECOND);
    }
    assert_null(value_at(c, 0, "x1"));
    cluster_heal(c);
    cluster_run(c, 4 * SECOND);
    for (int i = 0; i < 400; i++) {
        (void)do_get(c, i % 2, "x1", local);
        cluster_run(c, SECOND);
    }
    assert_int_equal(counters_at(c, 0)->expired, 1);
    add_to_all(c, 0, "x1", "f");
    assert_true(has_at(c, 1, "x1", "f"));
    assert_true(has_at(c, 2, "x1", "f"));
    cluster_free(c);
}

/* ---- what others still have ---- */

static void count_up(struct dd_value *value, struct dd_writer *writer,
                     uint32_t number)
{
    (void)number;
    dd_gcounter_add(value, &writer->node, 1);
}

static void count_both_ways(struct dd_value *value, struct dd_writer *writer,
                            uint32_t number)
{
    (void)number;
    dd_pncounter_add(value, &writer->node, 2);
    dd_pncounter_add(value, &writer->node, -1);
}

static void count_in_map(struct dd_value *value, struct dd_writer *writer,
                         uint32_t number)
{
    struct dd_element key = dd_long(number % 2);

    dd_countermap_add(value, writer, &key, 1);
}

static void count_inside(struct dd_value *value, struct dd_writer *writer,
                         uint32_t number)
{
    struct dd_element key = dd_long(number % 2);
    const struct dd_value *was = dd_map_get(value, &key);
    struct dd_value *counter = was ? dd_copy(was) : dd_new(DD_GCOUNTER);

    dd_gcounter_add(counter, &writer->node, 1);
    dd_ormap_update(value, writer, &key, counter);
}

static void add_to_gset(struct dd_value *value, struct dd_writer *writer,
                        uint32_t number)
{
    struct dd_element element = dd_long(number);

    (void)writer;
    dd_gset_add(value, &element);
}

static void add_to_set(struct dd_value *value, struct dd_writer *writer,
                       uint32_t number)
{
    struct dd_element element = dd_long(number);

    dd_orset_add(value, writer, &element);
}

static void put_in_map(struct dd_value *value, struct dd_writer *writer,
                       uint32_t number)
{
    struct dd_element key = dd_long(number);

    dd_lwwmap_put(value, writer, &key,
                  (struct dd_other){ .serializer = 4,
                                     .bytes = slice_text("x") },
                  CLUSTER_WALL_MS, DD_CLOCK_LAST);
}

static void add_to_sets(struct dd_value *value, struct dd_writer *writer,
                        uint32_t number)
{
    struct dd_element key = dd_long(number % 2);
    struct dd_element element = dd_long(number);

    dd_multimap_add(value, writer, &key, &element);
}

/* How many changes of those above it shows. */
static uint64_t changes_in(const struct dd_value *value)
{
    struct dd_element key;
    const struct dd_value *inside;
    uint64_t sum = 0;
    uint32_t at = 0;

    switch (dd_kind_of(value)) {
    case DD_GCOUNTER:
        return dd_gcounter_get(value).low;
    case DD_PNCOUNTER:
        return dd_pncounter_get(value).size.low;
    case DD_GSET:
    case DD_ORSET:
        return dd_set_count(value);
    case DD_LWWMAP:
        return dd_map_count(value);
    default:
        while (dd_map_next(value, &at, &key, &inside))
            sum += changes_in(inside);
        return sum;
    }
}

static const struct {
    enum dd_kind kind;
    change_value *change;
} changes[] = {
    { DD_GCOUNTER, count_up },         { DD_PNCOUNTER, count_both_ways },
    { DD_PNCOUNTERMAP, count_in_map }, { DD_ORMAP, count_inside },
    { DD_GSET, add_to_gset },          { DD_ORSET, add_to_set },
    { DD_LWWMAP, put_in_map },         { DD_MULTIMAP, add_to_sets },
};
#define CHANGE_KINDS (sizeof changes / sizeof *changes)

static void change_with(struct cluster *c, uint32_t index, size_t kind,
                        uint32_t number, struct consistency consistency)
{
    uint64_t token = do_change(c, index, "x", changes[kind].kind,
                               changes[kind].change, number, consistency);

    for (int i = 0; i < 1000 && !answer_of(c, index, token); i++)
        cluster_run(c, MS);
    assert_true(is_answered(c, index, token, REPLICATOR_SUCCESS));
}

static uint64_t changes_at(const struct cluster *c, uint32_t index)
{
    const struct dd_value *value = value_at(c, index, "x");

    return value ? changes_in(value) : 0;
}

/* The first one is cut off while the others use the key, for so long that it forgets it. */
static struct cluster *cluster_of_which_one_has_forgotten(uint64_t seed,
                                                          size_t kind)
{
    struct cluster *c = cluster_with(seed, 3);

    for (uint32_t i = 0; i < 5; i++)
        change_with(c, 0, kind, i, to_all(1000));
    change_with(c, 1, kind, 5, to_all(1000));
    cluster_split(c, 1);
    for (int i = 0; i < 15; i++) {
        (void)do_get(c, 1, "x", local);
        cluster_run(c, SECOND);
    }
    assert_null(value_at(c, 0, "x"));
    assert_int_equal(changes_at(c, 2), 6);
    return c;
}

static void use_for(struct cluster *c, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        (void)do_get(c, 1, "x", local);
        cluster_run(c, SECOND);
    }
}

/* What it writes then does not fall below, nor take away, what others have of its former life. */
static void a_change_after_it_adds_to_what_others_have(void **state)
{
    (void)state;

    for (size_t kind = 0; kind < CHANGE_KINDS; kind++) {
        struct cluster *c = cluster_of_which_one_has_forgotten(7, kind);

        cluster_heal(c);
        for (uint32_t i = 6; i < 9; i++) {
            change_with(c, 0, kind, i, to_all(1000));
            for (uint32_t k = 1; k < 3; k++)
                assert_int_equal(changes_at(c, k), i + 1);
        }
        use_for(c, 15);
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(changes_at(c, k), 9);
        cluster_free(c);
    }
}

/* So it is while it is cut off, and when another one's change comes first. */
static void a_change_behind_the_cut_adds_to_it_too(void **state)
{
    (void)state;

    for (size_t kind = 0; kind < CHANGE_KINDS; kind++) {
        struct cluster *c = cluster_of_which_one_has_forgotten(8, kind);

        change_with(c, 0, kind, 6, local);
        cluster_heal(c);
        use_for(c, 15);
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(changes_at(c, k), 7);
        cluster_free(c);

        c = cluster_of_which_one_has_forgotten(9, kind);
        cluster_heal(c);
        change_with(c, 1, kind, 6, to_all(1000));
        change_with(c, 0, kind, 7, to_all(1000));
        assert_int_equal(changes_at(c, 2), 8);
        use_for(c, 15);
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(changes_at(c, k), 8);
        cluster_free(c);
    }
}

/* What nobody else had when it was hidden is there after the others have given the key back, and that was forgotten, too, with nothing changed in
 * between: it is added to what is hidden, and does not take its place. (A G-set has nothing of a node in it, and is not hidden.) */
static void what_comes_back_takes_nothing_from_it(void **state)
{
    (void)state;

    for (size_t kind = 0; kind < CHANGE_KINDS; kind++) {
        struct cluster *c;

        if (changes[kind].kind == DD_GSET)
            continue;
        c = cluster_with(24, 3);
        change_with(c, 0, kind, 0, to_all(1000));
        change_with(c, 1, kind, 1, to_all(1000));
        cluster_split(c, 1);
        change_with(c, 0, kind, 2, local);
        use_for(c, 15);
        assert_null(value_at(c, 0, "x"));
        cluster_heal(c);
        for (int i = 0; i < 20 && !value_at(c, 0, "x"); i++)
            use_for(c, 1);
        assert_int_equal(changes_at(c, 0), 2);
        cluster_split(c, 1);
        use_for(c, 15);
        assert_null(value_at(c, 0, "x"));
        change_with(c, 0, kind, 3, local);
        cluster_heal(c);
        use_for(c, 15);
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(changes_at(c, k), 4);
        cluster_free(c);
    }
}

/* What others took away while it was hidden is no part of it any more: this one has acknowledged that, too. */
static void what_came_meanwhile_is_in_it(void **state)
{
    struct cluster *c = cluster_with(18, 3);
    uint64_t token;
    (void)state;

    add_to_all(c, 0, "x", "a");
    cluster_split(c, 1);
    use_for(c, 15);
    assert_null(value_at(c, 0, "x"));
    cluster_heal(c);
    token = do_remove(c, 1, "x", "a", to_all(1000));
    cluster_run(c, SECOND);
    assert_true(is_answered(c, 1, token, REPLICATOR_SUCCESS));
    assert_int_equal(size_at(c, 0, "x"), 0);
    cluster_run(c, 20 * SECOND);
    assert_null(value_at(c, 0, "x"));
    add_to_all(c, 0, "x", "b");
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(has_at(c, i, "x", "b"));
        assert_false(has_at(c, i, "x", "a"));
    }
    cluster_free(c);
}

/* An update that changes nothing shows nothing. */
static void what_is_refused_does_not_bring_it_back(void **state)
{
    struct cluster *c = cluster_with(19, 2);
    struct dd_element element = dd_long(1);
    struct dd_value *set;
    uint64_t token;
    (void)state;

    change_with(c, 0, 0, 1, to_all(1000));
    assert_true(replicator_subscribe(c->nodes[0].replicator, 1,
                                     slice_text("x")));
    cluster_run(c, 20 * SECOND);
    assert_null(value_at(c, 0, "x"));
    for (int i = 0; i < 2; i++) {
        set = dd_new(DD_ORSET);
        dd_orset_add(set, &c->nodes[0].writer, &element);
        token = do_put(c, 0, "x", set, local);
        assert_true(is_answered(c, 0, token,
                                REPLICATOR_MODIFY_FAILURE));
        token = do_get(c, 0, "x", local);
        assert_true(is_answered(c, 0, token, REPLICATOR_NOT_FOUND));
        cluster_run(c, 3 * SECOND);
    }
    assert_int_equal(told_count(c, 0, REPLICATOR_NEWS_CHANGED), 1);
    assert_int_equal(told_count(c, 0, REPLICATOR_NEWS_EXPIRED), 1);
    assert_int_equal(replicator_view(c->nodes[0].replicator).bytes, 0);
    change_with(c, 0, 0, 2, to_all(1000));
    assert_int_equal(changes_at(c, 1), 2);
    cluster_free(c);
}

static void use_short_at(struct cluster *c, uint32_t index, uint32_t ms)
{
    for (uint32_t i = 0; i < ms; i += 500) {
        (void)do_get(c, index, "short", local);
        cluster_run(c, 500 * MS);
    }
}

static void use_short(struct cluster *c, uint32_t ms)
{
    use_short_at(c, 1, ms);
}

/* Four members, of which the last has counted 100 and the first two 1 each. It is gone, and the first one has begun to prune it. */
static struct cluster *cluster_that_prunes(uint64_t seed)
{
    struct cluster *c = cluster_new(seed);

    c->expiries = expiries;
    c->expiry_count = sizeof expiries / sizeof expiries[0];
    c->settings.pruning_interval_ms = 30000;
    c->settings.pruning_dissemination_ms = 20000;
    for (int i = 0; i < 4; i++)
        (void)cluster_add(c);
    for (uint32_t i = 0; i < 3; i++) {
        (void)do_count(c, (i + 3) % 4, "short", i ? 1 : 100, to_all(1000));
        cluster_run(c, SECOND);
    }
    cluster_remove(c, 3);
    c->count = 3;
    use_short(c, 31000);
    assert_int_equal(counters_at(c, 0)->pruned, 0);
    return c;
}

/* Begun when it was hidden, and performed here since: a share is not counted under two members. */
static void what_was_pruned_meanwhile_is_counted_once(void **state)
{
    struct cluster *c = cluster_that_prunes(21);
    (void)state;

    cluster_split(c, 1);
    use_short(c, 16000);
    assert_null(value_at(c, 0, "short"));
    cluster_heal(c);
    (void)do_count(c, 1, "short", 1, to_all(1000));
    for (int i = 0; i < 80 && !counters_at(c, 0)->pruned; i++)
        use_short(c, 500);
    assert_true(counters_at(c, 0)->pruned > 0);
    cluster_split(c, 1);
    use_short(c, 16000);
    assert_null(value_at(c, 0, "short"));
    (void)do_count(c, 0, "short", 1, local);
    cluster_heal(c);
    c->dropped = 'N'; /* gossip is slower than the delta */
    for (int i = 0; i < 100; i++) {
        cluster_run(c, 100 * MS);
        assert_in_range(count_at(c, 1, "short"), 1, 104);
        assert_in_range(count_at(c, 2, "short"), 1, 104);
    }
    cluster_free(c);
}

/* Performed by the first one, and known to the second when both forget the key. The third was cut off before, and has it as it was: what the second
 * counts then does not clean away what the gone one had counted, as long as what the first took over is hidden. */
static void what_another_took_over_is_not_cleaned_away(void **state)
{
    struct cluster *c = cluster_that_prunes(23);
    (void)state;

    for (int i = 0; i < 4000 && !counters_at(c, 0)->pruned; i++) {
        if (i % 50 == 0)
            (void)do_get(c, 1, "short", local);
        cluster_run(c, 10 * MS);
    }
    assert_int_equal(counters_at(c, 0)->pruned, 1);
    cluster_split(c, 2);
    use_short_at(c, 2, 20000);
    for (uint32_t k = 0; k < 2; k++)
        assert_null(value_at(c, k, "short"));
    assert_int_equal(count_at(c, 2, "short"), 102);
    cluster_heal(c);
    (void)do_count(c, 1, "short", 1, to_all(1000));
    for (int i = 0; i < 8; i++) {
        use_short_at(c, 2, 1000);
        assert_int_equal(count_at(c, 2, "short"), 103);
    }
    for (uint32_t k = 0; k < 2; k++)
        assert_int_equal(count_at(c, k, "short"), 103);
    cluster_free(c);
}

/* Not for ever: when everybody was reachable for as long as news take, nobody can have it any more. */
static void at_last_it_begins_anew(void **state)
{
    (void)state;

    for (size_t kind = 0; kind < CHANGE_KINDS; kind++) {
        struct cluster *c = cluster_with(10, 3);

        change_with(c, 0, kind, 1, to_all(1000));
        change_with(c, 0, kind, 2, to_all(1000));
        cluster_run(c, 20 * SECOND);
        for (uint32_t k = 0; k < 3; k++)
            assert_null(value_at(c, k, "x"));
        cluster_split(c, 1);
        cluster_run(c, 1000 * SECOND);
        change_with(c, 0, kind, 3, local); /* the others may have used it all the time */
        if (dd_needs_pruning(value_at(c, 0, "x"), &c->nodes[0].identity.node))
            assert_int_equal(changes_at(c, 0), 3);
        cluster_heal(c);
        cluster_run(c, 320 * SECOND);
        assert_null(value_at(c, 0, "x"));
        change_with(c, 0, kind, 4, to_all(1000));
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(changes_at(c, k), 1);
        cluster_free(c);
    }
}

static void change_often(struct cluster *c, uint32_t index, size_t kind,
                         uint32_t times, uint32_t number)
{
    for (uint32_t i = 0; i < times; i++)
        change_with(c, index, kind, number, to_all(1000));
}

#define COUNTING_KINDS 4 /* of the changes above: those that count */

/* One has begun anew; another one, to which a third was out of reach for a while, goes on from its former life. What the first counts anew is
 * acknowledged by all, so it is in the count from then on, and not covered by what it had counted before. */
static void what_one_counts_anew_no_former_life_covers(void **state)
{
    (void)state;

    for (size_t kind = 0; kind < COUNTING_KINDS; kind++) {
        struct cluster *c = cluster_with(22, 3);

        change_often(c, 0, kind, 5, 0);
        change_often(c, 1, kind, 10, 0);
        cluster_run(c, 20 * SECOND);
        for (uint32_t k = 0; k < 3; k++)
            assert_null(value_at(c, k, "x"));
        cluster_peer(c, 1, 2, PEER_UP, false);
        cluster_run(c, 60 * SECOND);
        cluster_peer(c, 1, 2, PEER_UP, true);
        cluster_run(c, 270 * SECOND);
        change_often(c, 0, kind, 1, 0);
        assert_int_equal(changes_at(c, 2), 1);
        change_often(c, 1, kind, 1, 0);
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(changes_at(c, k), 1 + 10 + 1);
        change_often(c, 0, kind, 1, 0);
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(changes_at(c, k), 1 + 10 + 1 + 1);
        cluster_free(c);
    }
}

/* Whose clock is behind has a key for longer than this one, however long, and says so: nothing of it is taken, and what is hidden stays until nobody says
 * it any more. */
static void as_long_as_somebody_has_it_it_stays_hidden(void **state)
{
    struct message_entry digest = { .key = slice_text("x"),
                                    .bytes = slice_text("12345678901234567890"),
                                    .used_ms = CLUSTER_WALL_MS };
    const struct message status = { .kind = MESSAGE_STATUS,
                                    .entries = &digest,
                                    .count = 1,
                                    .chunks = 1 };
    (void)state;

    for (uint64_t silent = 0; silent < 2; silent++) {
        struct lone *lone =
            lone_expiring(expiries, sizeof expiries / sizeof expiries[0]);

        lone_put(lone, slice_text("x"));
        lone_put(lone, slice_text("x"));
        replicator_wall(lone->replicator, CLUSTER_WALL_MS + AFTER);
        for (uint64_t i = 1; i < 400; i++) {
            (void)step(lone, 2 * i * SECOND);
            if (i % 100 == 0 && !silent)
                lone_receive(lone, &status);
        }
        assert_null(replicator_look(lone->replicator, slice_text("x")));
        lone_put(lone, slice_text("x"));
        assert_int_equal(dd_gcounter_get(replicator_look(lone->replicator,
                                                         slice_text("x"))).low,
                         silent ? 1 : 2);
        lone_free(lone);
    }
}

/* A deletion is no part of what it goes on from. */
static void a_deletion_ends_it(void **state)
{
    struct cluster *c = cluster_with(11, 2);
    uint64_t token;
    (void)state;

    change_with(c, 0, 0, 1, to_all(1000));
    cluster_run(c, 20 * SECOND);
    assert_null(value_at(c, 0, "x"));
    (void)do_delete(c, 1, "x", to_all(1000));
    cluster_run(c, SECOND);
    token = do_count(c, 0, "x", 1, local);
    assert_true(is_answered(c, 0, token, REPLICATOR_DELETED));
    cluster_run(c, 20 * SECOND);
    change_with(c, 0, 0, 2, to_all(1000));
    assert_int_equal(changes_at(c, 1), 1);
    cluster_free(c);
}

/* When too much is hidden, what is over stays in sight until there is room. */
static void what_cannot_be_hidden_is_not_forgotten(void **state)
{
    struct lone *lone =
        lone_expiring(expiries, sizeof expiries / sizeof expiries[0]);
    int64_t wall = CLUSTER_WALL_MS + AFTER;
    char key[16];
    (void)state;

    for (uint32_t i = 0; i < REPLICATOR_HIDDEN_MAX + 10; i++) {
        (void)snprintf(key, sizeof key, "x-%u", i);
        lone_put(lone, slice_text(key));
    }
    replicator_wall(lone->replicator, wall);
    (void)step(lone, 10 * SECOND);
    assert_int_equal(replicator_view(lone->replicator).keys, 10);
    assert_int_equal(lone_counters(lone)->unforgotten, 10);
    assert_int_equal(lone_counters(lone)->expired, REPLICATOR_HIDDEN_MAX);
    (void)step(lone, 400 * SECOND); /* it slept */
    assert_int_equal(replicator_view(lone->replicator).keys, 10);
    for (uint64_t i = 1; i < 160; i++)
        (void)step(lone, (400 + 2 * i) * SECOND);
    assert_int_equal(replicator_view(lone->replicator).keys, 0);
    lone_free(lone);
}

/* The machine stood still meanwhile: what the key was is not told any more, and that it is over is. */
static void who_has_just_subscribed_is_told_too(void **state)
{
    static const char *const followed[] = { "x", "x*" };
    struct lone *lone =
        lone_expiring(expiries, sizeof expiries / sizeof expiries[0]);
    struct replicator_news news;
    uint64_t told = 0;
    (void)state;

    (void)step(lone, 1900 * MS); /* who follows is told half a second later, and in a tenth what is over is forgotten */
    lone_put(lone, slice_text("x"));
    for (uint64_t i = 0; i < 2; i++)
        assert_true(replicator_subscribe(lone->replicator, i + 1,
                                         slice_text(followed[i])));
    replicator_wall(lone->replicator, CLUSTER_WALL_MS + AFTER);
    (void)step(lone, 2 * SECOND);
    while (replicator_next_news(lone->replicator, &news)) {
        assert_int_not_equal(news.kind, REPLICATOR_NEWS_CHANGED);
        if (news.kind == REPLICATOR_NEWS_EXPIRED)
            told += news.token;
    }
    assert_int_equal(told, 1 + 2);
    lone_free(lone);
}

/* Nor does a change that turns out to be none for what it finds. */
static void what_is_given_up_does_not_bring_it_back(void **state)
{
    struct lone *lone =
        lone_expiring(expiries, sizeof expiries / sizeof expiries[0]);
    const struct dd_value *current;
    struct replicator_news news;
    (void)state;

    lone_put(lone, slice_text("x"));
    replicator_wall(lone->replicator, CLUSTER_WALL_MS + AFTER);
    (void)step(lone, 10 * SECOND);
    assert_null(replicator_look(lone->replicator, slice_text("x")));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(replicator_update_begin(lone->replicator, 0, 1,
                                                 slice_text("x"), &current,
                                                 &lone->outbox),
                         REPLICATOR_MODIFY);
        assert_non_null(current);
        replicator_update_fail(lone->replicator, 0, 1, slice_text("x"),
                               &lone->outbox);
        assert_null(replicator_look(lone->replicator, slice_text("x")));
        assert_true(replicator_next_news(lone->replicator, &news));
        assert_int_equal(news.answer, REPLICATOR_MODIFY_FAILURE);
        assert_false(replicator_next_news(lone->replicator, &news));
    }
    lone_free(lone);
}

/* A step of control is short, however many keys are over at once; so it is when what is hidden goes. */
static void many_are_forgotten_in_several_steps(void **state)
{
    struct lone *lone =
        lone_expiring(expiries, sizeof expiries / sizeof expiries[0]);
    const uint32_t many = 10000;
    uint64_t before = 0;
    uint32_t steps = 0;
    char key[16];
    (void)state;

    for (uint32_t i = 0; i < many; i++) {
        (void)snprintf(key, sizeof key, "x-%u", i);
        lone_put(lone, slice_text(key));
    }
    replicator_wall(lone->replicator, CLUSTER_WALL_MS + AFTER);
    for (; before < many && steps < many; steps++) {
        replicator_step(lone->replicator, 10 * SECOND, &lone->outbox);
        assert_in_range(lone_counters(lone)->expired, before, before + many / 10);
        before = lone_counters(lone)->expired;
        assert_true(before == many || replicator_deadline(lone->replicator) == 0);
    }
    assert_int_equal(before, many);
    assert_in_range(steps, 10, many / 100);
    steps = 0;
    for (uint64_t i = 1; i < 160; i++)
        steps += step(lone, (10 + 2 * i) * SECOND);
    assert_int_equal(lone->replicator->hidden.count, 0);
    assert_in_range(steps, 160, 160 * 4);
    lone_free(lone);
}

/* Nor does a change begin anew where the table has no room for what is hidden: it is refused until there is. */
static void what_has_no_place_stays_hidden(void **state)
{
    struct lone *lone =
        lone_expiring(expiries, sizeof expiries / sizeof expiries[0]);
    const struct dd_value *current;
    struct replicator_news news;
    char key[16];
    (void)state;

    lone_put(lone, slice_text("x"));
    lone_put(lone, slice_text("x"));
    replicator_wall(lone->replicator, CLUSTER_WALL_MS + AFTER);
    (void)step(lone, 10 * SECOND);
    assert_null(replicator_look(lone->replicator, slice_text("x")));
    for (uint32_t i = 1; i < REPLICATOR_KEYS_MAX; i++) {
        (void)snprintf(key, sizeof key, "%u", i);
        lone_put(lone, slice_text(key));
    }
    lone_put(lone, slice_text("short"));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(replicator_update_begin(lone->replicator, 0, 1,
                                                 slice_text("x"), &current,
                                                 &lone->outbox),
                         REPLICATOR_ANSWERED);
        assert_true(replicator_next_news(lone->replicator, &news));
        assert_int_equal(news.answer, REPLICATOR_FULL);
        assert_null(replicator_look(lone->replicator, slice_text("x")));
    }
    replicator_wall(lone->replicator, CLUSTER_WALL_MS + 2 * AFTER);
    (void)step(lone, 20 * SECOND);
    assert_null(replicator_look(lone->replicator, slice_text("short")));
    while (replicator_next_news(lone->replicator, &news))
        continue;
    lone_put(lone, slice_text("x")); /* it looked before that was in sight: its one is among the two */
    assert_int_equal(
        dd_gcounter_get(replicator_look(lone->replicator, slice_text("x"))).low,
        2);
    lone_free(lone);
}

/* A set with one long text; copies of it have its bytes, and are not packed again. */
static struct dd_value *large_set(struct lone *lone)
{
    static char text[100001];
    struct dd_value *value = dd_new(DD_ORSET), *again;
    struct dd_element element;
    struct buf bytes = { 0 };
    struct rng rng;

    rng_init(&rng, 4);
    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = (char)('0' + rng_below(&rng, 64));
    element = dd_text(text);
    dd_orset_add(value, &lone->writer, &element);
    assert_int_equal(dd_decode(dd_encode(value, &bytes), &again), DD_OK);
    buf_fini(&bytes);
    dd_free(value);
    return again;
}

static void nor_is_what_is_too_large(void **state)
{
    struct lone *lone =
        lone_expiring(expiries, sizeof expiries / sizeof expiries[0]);
    struct dd_value *large = large_set(lone);
    struct replicator_news news;
    uint64_t count = 0, fit = 1;
    char key[16];
    (void)state;

    do {
        (void)snprintf(key, sizeof key, "x-%u", (uint32_t)count++);
        lone_update(lone, slice_text(key), dd_copy(large), &local);
        while (replicator_next_news(lone->replicator, &news))
            assert_int_equal(news.answer, REPLICATOR_SUCCESS);
        if (count == 1)
            fit = REPLICATOR_HIDDEN_BYTES_MAX /
                  replicator_view(lone->replicator).bytes;
    } while (count < fit + 3);
    dd_free(large);
    replicator_wall(lone->replicator, CLUSTER_WALL_MS + AFTER);
    (void)step(lone, 10 * SECOND);
    assert_int_equal(lone_counters(lone)->expired, fit);
    assert_int_equal(lone_counters(lone)->unforgotten, 3);
    lone_free(lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_unused_is_forgotten),
        cmocka_unit_test(a_use_anywhere_keeps_it),
        cmocka_unit_test(tombstones_go_too),
        cmocka_unit_test(durable_ones_leave_the_disk),
        cmocka_unit_test(so_do_those_that_were_read_from_it),
        cmocka_unit_test(so_do_those_whose_writer_is_gone),
        cmocka_unit_test(what_is_acknowledged_is_used),
        cmocka_unit_test(to_be_shown_it_is_no_use),
        cmocka_unit_test(a_write_outlives_its_key),
        cmocka_unit_test(a_write_after_it_is_not_taken_for_a_repeat),
        cmocka_unit_test(other_keys_have_versions_of_their_own),
        cmocka_unit_test(what_only_took_away_is_no_repeat_either),
        cmocka_unit_test(what_is_given_back_goes_on_with_its_versions),
        cmocka_unit_test(what_is_over_is_not_taken),
        cmocka_unit_test(a_change_after_it_adds_to_what_others_have),
        cmocka_unit_test(a_change_behind_the_cut_adds_to_it_too),
        cmocka_unit_test(what_comes_back_takes_nothing_from_it),
        cmocka_unit_test(what_came_meanwhile_is_in_it),
        cmocka_unit_test(what_is_refused_does_not_bring_it_back),
        cmocka_unit_test(what_was_pruned_meanwhile_is_counted_once),
        cmocka_unit_test(what_another_took_over_is_not_cleaned_away),
        cmocka_unit_test(at_last_it_begins_anew),
        cmocka_unit_test(what_one_counts_anew_no_former_life_covers),
        cmocka_unit_test(as_long_as_somebody_has_it_it_stays_hidden),
        cmocka_unit_test(a_deletion_ends_it),
        cmocka_unit_test(what_cannot_be_hidden_is_not_forgotten),
        cmocka_unit_test(who_has_just_subscribed_is_told_too),
        cmocka_unit_test(what_is_given_up_does_not_bring_it_back),
        cmocka_unit_test(many_are_forgotten_in_several_steps),
        cmocka_unit_test(what_has_no_place_stays_hidden),
        cmocka_unit_test(nor_is_what_is_too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
