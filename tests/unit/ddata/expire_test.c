/* Checks keys that no node uses: they expire everywhere, on disks too, and nodes that still have
 * them do not bring them back. */
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
    { "session-*", 10 * AFTER }, /* the longest match applies */
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

/* Also runs the steps that are due at once; returns their number. */
static uint32_t step(struct lone *lone, uint64_t now)
{
    uint32_t steps = 0;

    do {
        replicator_step(lone->replicator, now, &lone->outbox);
        steps++;
    } while (replicator_deadline(lone->replicator) <= now);
    return steps;
}

static uint32_t wired_count(const struct cluster *c, uint32_t index,
                            enum replicator_news_kind kind)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < c->nodes[index].told.count; i++)
        count += c->nodes[index].told.items[i].kind == kind;
    return count;
}

static void an_unused_key_expires(void **state)
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
    assert_int_equal(wired_count(c, 2, REPLICATOR_NEWS_EXPIRED), 2);
    cluster_run(c, 100 * SECOND);
    assert_null(value_at(c, 1, "session-1"));
    assert_int_equal(count_at(c, 1, "always"), 3);
    /* The key may start again. */
    (void)do_count(c, 1, "short", 5, local);
    cluster_run(c, 5 * SECOND);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(count_at(c, i, "short"), 5);
    cluster_free(c);
}

/* Reads here and changes there are uses everywhere. */
static void a_use_on_any_node_keeps_the_key(void **state)
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

static void deleted_keys_expire(void **state)
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

/* After a restart neither disk has the keys. */
static void durable_keys_expire_from_the_disk(void **state)
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

/* Loading is the last use that the node knows. */
static void loaded_keys_expire_from_the_disk(void **state)
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

/* A received write is a use, since its writer may be removed before it reports its own: direct or
 * as a delta, for known and unknown keys. */
static void keys_of_a_removed_writer_expire(void **state)
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

/* A node that acknowledged it keeps it as long. */
static void an_acknowledged_write_is_a_use(void **state)
{
    struct cluster *c = cluster_with(14, 3);
    (void)state;

    (void)do_count(c, 0, "short", 0, local);
    (void)do_add(c, 0, "x", "a", local);
    cluster_run(c, 6 * SECOND);
    c->dropped = 'M'; /* statuses: no node hears of uses */
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

/* Nor is a subscription. */
static void showing_a_value_to_a_subscriber_is_no_use(void **state)
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

/* A node with a slow clock sends an expired value. A fast clock does not keep a value for ever. */
static void an_expired_value_is_not_accepted(void **state)
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
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN); /* not asked for */
    assert_int_equal(lone_counters(lone)->stale, 2);
    gossip(lone, "xc", INT64_MAX);
    gossip(lone, "xd", -5);
    gossip(lone, "xe", 0);
    assert_int_equal(replicator_view(lone->replicator).keys, 3);
    replicator_wall(lone->replicator, CLUSTER_WALL_MS + AFTER + 1);
    (void)step(lone, 60 * SECOND);
    assert_null(replicator_look(lone->replicator, slice_text("xc")));
    /* These have no known use. */
    assert_non_null(replicator_look(lone->replicator, slice_text("xd")));
    assert_non_null(replicator_look(lone->replicator, slice_text("xe")));
    lone_free(lone);
}

static void a_write_ends_after_its_key_expired(void **state)
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

/* The other node knows versions from before the expiry, and has what it acknowledges. */
static void a_delta_after_expiry_is_no_repeat(void **state)
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

/* Their order starts at the first delta. */
static void other_keys_keep_their_delta_versions(void **state)
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

/* Also if this node only removed elements, or deleted the key. */
static void a_removal_after_expiry_is_no_repeat(void **state)
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

/* The hidden part is dropped after a while; a returned key continues its numbers. All replicas have
 * an addition that all acknowledge. */
static void a_returned_key_continues_its_delta_versions(void **state)
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

/* ---- parts that others still have ---- */

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

/* The number of visible changes of the functions above. */
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

/* The first node is cut off, while the others use the key, until the key expires there. */
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

/* Its next write neither falls below nor removes what others have of it. */
static void a_change_after_expiry_adds_to_the_value_of_others(void **state)
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

/* During the partition, and when another node's change comes first. */
static void a_change_during_a_partition_adds_to_the_value_of_others(void **state)
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

/* The hidden part contains changes that no other node has. The others give the key back, and it
 * expires again without a change: both parts are added. (A G-set has no part of a node and is not
 * hidden.) */
static void a_returned_value_is_added_to_the_hidden_part(void **state)
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

/* This node has acknowledged the removal. */
static void the_hidden_part_contains_later_removals(void **state)
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

static void a_refused_update_keeps_the_part_hidden(void **state)
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
    assert_int_equal(wired_count(c, 0, REPLICATOR_NEWS_CHANGED), 1);
    assert_int_equal(wired_count(c, 0, REPLICATOR_NEWS_EXPIRED), 1);
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

/* The last of four members has counted 100, the first two 1 each. The last is removed, and the
 * first has begun to prune it. */
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

/* Pruning began before the part was hidden, and was performed here since. */
static void a_share_pruned_while_hidden_is_counted_once(void **state)
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

/* The first node performed the pruning, and the second knows it when both expire the key. The third
 * was cut off before, and has the old state. New counts of the second do not delete the removed
 * node's counts there while the first hides what it took over. */
static void a_share_that_another_took_over_is_kept(void **state)
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

/* All were reachable for long enough. */
static void the_hidden_part_is_dropped_when_no_node_has_the_key(void **state)
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
        change_with(c, 0, kind, 3, local); /* the others may have used it */
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

#define COUNTING_KINDS 4 /* the changes above that count */

/* One node starts again. Another, which a third could not reach for a while, continues its old
 * share. All acknowledge the first one's new counts, so its old share must not cover them. */
static void a_hidden_share_does_not_cover_new_counts(void **state)
{
    (void)state;

    for (size_t kind = 0; kind < COUNTING_KINDS; kind++) {
        struct cluster *c = cluster_with(22, 3);

        change_often(c, 0, kind, 5, 0);
        change_often(c, 1, kind, 10, 0);
        cluster_run(c, 20 * SECOND);
        for (uint32_t k = 0; k < 3; k++)
            assert_null(value_at(c, k, "x"));
        cluster_peer(c, 1, 2, MEMBER_UP, false);
        cluster_run(c, 60 * SECOND);
        cluster_peer(c, 1, 2, MEMBER_UP, true);
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

/* A node with a slow clock has the key longer, and reports it: nothing is accepted, and the part
 * stays hidden until no node reports it. */
static void the_part_stays_hidden_while_a_node_has_the_key(void **state)
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

static void a_deletion_drops_the_hidden_part(void **state)
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

/* When too much is hidden, expired keys stay visible until there is room. */
static void a_key_stays_if_its_part_cannot_be_hidden(void **state)
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
    (void)step(lone, 400 * SECOND); /* after a pause */
    assert_int_equal(replicator_view(lone->replicator).keys, 10);
    for (uint64_t i = 1; i < 160; i++)
        (void)step(lone, (400 + 2 * i) * SECOND);
    assert_int_equal(replicator_view(lone->replicator).keys, 0);
    lone_free(lone);
}

/* After a pause the old value is not told, but its expiry is. */
static void new_subscribers_get_the_expiry(void **state)
{
    static const char *const followed[] = { "x", "x*" };
    struct lone *lone =
        lone_expiring(expiries, sizeof expiries / sizeof expiries[0]);
    struct replicator_news news;
    uint64_t told = 0;
    (void)state;

    /* subscribers are notified within half a second, keys expire within a tenth */
    (void)step(lone, 1900 * MS);
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

static void a_failed_update_keeps_the_part_hidden(void **state)
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

/* A step of control must be short, also when hidden parts are dropped. */
static void many_keys_expire_in_several_steps(void **state)
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

/* A change is refused while the table has no room for the hidden part. */
static void a_part_without_room_in_the_table_stays_hidden(void **state)
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
    lone_put(lone, slice_text("x")); /* its first look came before: its one is among the two */
    assert_int_equal(
        dd_gcounter_get(replicator_look(lone->replicator, slice_text("x"))).low,
        2);
    lone_free(lone);
}

/* A set with one long text. Copies share the bytes and are not compressed again. */
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

static void a_key_stays_if_hidden_parts_are_too_large(void **state)
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
        cmocka_unit_test(an_unused_key_expires),
        cmocka_unit_test(a_use_on_any_node_keeps_the_key),
        cmocka_unit_test(deleted_keys_expire),
        cmocka_unit_test(durable_keys_expire_from_the_disk),
        cmocka_unit_test(loaded_keys_expire_from_the_disk),
        cmocka_unit_test(keys_of_a_removed_writer_expire),
        cmocka_unit_test(an_acknowledged_write_is_a_use),
        cmocka_unit_test(showing_a_value_to_a_subscriber_is_no_use),
        cmocka_unit_test(a_write_ends_after_its_key_expired),
        cmocka_unit_test(a_delta_after_expiry_is_no_repeat),
        cmocka_unit_test(other_keys_keep_their_delta_versions),
        cmocka_unit_test(a_removal_after_expiry_is_no_repeat),
        cmocka_unit_test(a_returned_key_continues_its_delta_versions),
        cmocka_unit_test(an_expired_value_is_not_accepted),
        cmocka_unit_test(a_change_after_expiry_adds_to_the_value_of_others),
        cmocka_unit_test(a_change_during_a_partition_adds_to_the_value_of_others),
        cmocka_unit_test(a_returned_value_is_added_to_the_hidden_part),
        cmocka_unit_test(the_hidden_part_contains_later_removals),
        cmocka_unit_test(a_refused_update_keeps_the_part_hidden),
        cmocka_unit_test(a_share_pruned_while_hidden_is_counted_once),
        cmocka_unit_test(a_share_that_another_took_over_is_kept),
        cmocka_unit_test(the_hidden_part_is_dropped_when_no_node_has_the_key),
        cmocka_unit_test(a_hidden_share_does_not_cover_new_counts),
        cmocka_unit_test(the_part_stays_hidden_while_a_node_has_the_key),
        cmocka_unit_test(a_deletion_drops_the_hidden_part),
        cmocka_unit_test(a_key_stays_if_its_part_cannot_be_hidden),
        cmocka_unit_test(new_subscribers_get_the_expiry),
        cmocka_unit_test(a_failed_update_keeps_the_part_hidden),
        cmocka_unit_test(many_keys_expire_in_several_steps),
        cmocka_unit_test(a_part_without_room_in_the_table_stays_hidden),
        cmocka_unit_test(a_key_stays_if_hidden_parts_are_too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
