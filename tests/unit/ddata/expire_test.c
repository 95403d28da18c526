/* Keys that nobody uses: forgotten everywhere, on disks too, and not brought back by who still has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
    replicator_step(lone->replicator, 60 * SECOND, &lone->outbox);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_unused_is_forgotten),
        cmocka_unit_test(a_use_anywhere_keeps_it),
        cmocka_unit_test(tombstones_go_too),
        cmocka_unit_test(durable_ones_leave_the_disk),
        cmocka_unit_test(a_write_outlives_its_key),
        cmocka_unit_test(a_write_after_it_is_not_taken_for_a_repeat),
        cmocka_unit_test(what_is_over_is_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
