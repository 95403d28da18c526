/* Checks a replicator's promises: levels of consistency, notices of changes, deletions, durable
 * keys. Most cases are Akka's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "cluster.h"

static uint32_t wired_count(const struct cluster *cluster, uint32_t index,
                            uint64_t token, enum replicator_news_kind kind)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < cluster->nodes[index].told.count; i++)
        count += cluster->nodes[index].told.items[i].token == token &&
                 cluster->nodes[index].told.items[i].kind == kind;
    return count;
}

static void majorities_are_akkas_DD154_DD156(void **state)
{
    static const uint32_t capped[] = { 3, 4, 5, 5, 5, 5, 5, 6, 6, 7 };
    (void)state;

    for (uint32_t n = 3; n <= 12; n++)
        assert_int_equal(consistency_majority(5, n, 0), capped[n - 3]);
    assert_int_equal(consistency_majority(0, 3, 1), 3);
    assert_int_equal(consistency_majority(0, 3, 2), 3);
    assert_int_equal(consistency_majority(0, 4, 1), 4);
    assert_int_equal(consistency_majority(0, 5, 1), 4);
    assert_int_equal(consistency_majority(0, 5, 2), 5);
    assert_int_equal(consistency_majority(0, 6, 1), 5);
    assert_int_equal(consistency_majority(0, 7, 1), 5);
    assert_int_equal(consistency_majority(0, 8, 1), 6);
    assert_int_equal(consistency_majority(0, 8, 2), 7);
    assert_int_equal(consistency_majority(0, 9, 1), 6);
    assert_int_equal(consistency_majority(0, 10, 1), 7);
    assert_int_equal(consistency_majority(0, 11, 1), 7);
    assert_int_equal(consistency_majority(0, 11, 3), 9);
    assert_int_equal(consistency_majority(5, 9, 1), 6);
    assert_int_equal(consistency_majority(7, 9, 1), 7);
    assert_int_equal(consistency_majority(10, 9, 1), 9);
}

static void a_single_node_answers_every_level_locally(void **state)
{
    struct cluster *c = cluster_of(1, 1);
    uint64_t got = do_get(c, 0, "A", local);
    uint64_t put = do_count(c, 0, "A", 3, to_majority(1000));
    uint64_t again = do_get(c, 0, "A", to_all(1000));
    (void)state;

    assert_true(is_answered(c, 0, got, REPLICATOR_NOT_FOUND));
    assert_true(is_answered(c, 0, put, REPLICATOR_SUCCESS));
    assert_true(is_answered(c, 0, again, REPLICATOR_SUCCESS));
    assert_int_equal(dd_gcounter_get(answer_of(c, 0, again)->value).low, 3);
    assert_int_equal(replicator_count(c->nodes[0].replicator), 1);
    assert_int_equal(c->sent, 0);
    /* More replicas than exist. */
    put = do_count(c, 0, "A", 1, to_count(2, 1000));
    got = do_get(c, 0, "A", to_count(2, 1000));
    assert_true(is_answered(c, 0, put, REPLICATOR_UPDATE_TIMEOUT));
    assert_true(is_answered(c, 0, got, REPLICATOR_GET_FAILURE));
    assert_int_equal(count_at(c, 0, "A"), 4);
    cluster_free(c);
}

static void an_update_is_merged_with_the_present_value_DD229(void **state)
{
    struct cluster *c = cluster_of(2, 1);
    struct dd_element a = dd_text("a");
    struct dd_element b = dd_text("b");
    struct dd_value *value = dd_new(DD_GSET);
    uint64_t token;
    (void)state;

    dd_gset_add(value, &a);
    (void)do_put(c, 0, "S", value, local);
    value = dd_new(DD_GSET);
    dd_gset_add(value, &b);
    token = do_put(c, 0, "S", value, local);
    assert_true(is_answered(c, 0, token, REPLICATOR_SUCCESS));
    assert_int_equal(size_at(c, 0, "S"), 2);
    cluster_free(c);
}

static void an_update_that_fails_changes_nothing_DD230(void **state)
{
    struct cluster *c = cluster_of(3, 1);
    struct outbox outbox = { 0 };
    const struct dd_value *current;
    struct replicator_news news;
    uint64_t token;
    (void)state;

    (void)do_count(c, 0, "A", 1, local);
    token = do_put(c, 0, "A", dd_new(DD_FLAG), local);
    assert_true(is_answered(c, 0, token, REPLICATOR_MODIFY_FAILURE));
    token = do_put(c, 0, "A", dd_new(DD_DELETED), local);
    assert_true(is_answered(c, 0, token, REPLICATOR_MODIFY_FAILURE));
    assert_int_equal(count_at(c, 0, "A"), 1);
    assert_int_equal(replicator_update_begin(c->nodes[0].replicator, c->now, 77,
                                             slice_text("A"), &current,
                                             &outbox),
                     REPLICATOR_MODIFY);
    assert_int_equal(dd_gcounter_get(current).low, 1);
    replicator_update_fail(c->nodes[0].replicator, c->now, 77, slice_text("A"),
                           &outbox);
    assert_true(replicator_next_news(c->nodes[0].replicator, &news));
    assert_int_equal(news.answer, REPLICATOR_MODIFY_FAILURE);
    assert_int_equal(news.token, 77);
    assert_int_equal(counters_at(c, 0)->writes, 1);
    outbox_fini(&outbox);
    cluster_free(c);
}

static void a_joining_node_gets_everything_DD231(void **state)
{
    struct cluster *c = cluster_of(4, 1);
    (void)state;

    (void)do_count(c, 0, "A", 40, local);
    (void)do_add(c, 0, "S", "x", local);
    (void)cluster_add(c);
    assert_true(replicator_subscribe(c->nodes[1].replicator, 9,
                                     slice_text("A")));
    cluster_run(c, 6 * SECOND);
    assert_int_equal(count_at(c, 1, "A"), 40);
    assert_true(has_at(c, 1, "S", "x"));
    assert_int_equal(wired_count(c, 1, 9, REPLICATOR_NEWS_CHANGED), 1);
    cluster_free(c);
}

static void two_nodes_write_and_read_DD232(void **state)
{
    struct cluster *c = cluster_of(5, 2);
    struct consistency levels[] = { to_count(2, 1000), to_all(1000),
                                    to_majority(1000) };
    (void)state;

    (void)do_count(c, 0, "K", 40, local);
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t token = do_count(c, i % 2, "K", 2, levels[i]);

        assert_null(answer_of(c, i % 2, token));
        cluster_run(c, 20 * MS);
        assert_true(is_answered(c, i % 2, token, REPLICATOR_SUCCESS));
        token = do_get(c, 1 - i % 2, "K", levels[i]);
        cluster_run(c, 20 * MS);
        assert_true(is_answered(c, 1 - i % 2, token, REPLICATOR_SUCCESS));
        assert_int_equal(
            dd_gcounter_get(answer_of(c, 1 - i % 2, token)->value).low,
            42 + 2 * i);
    }
    cluster_free(c);
}

static void many_updates_at_once_converge_DD236(void **state)
{
    struct cluster *c = cluster_of(6, 3);
    (void)state;

    for (uint32_t i = 0; i < 100; i++)
        for (uint32_t n = 0; n < 3; n++)
            (void)do_count(c, n, "K", 1, i % 2 ? local : to_count(2, 2000));
    for (uint32_t i = 0; i < 100; i++) {
        char name[8] = { 'a', (char)('0' + i / 10), (char)('0' + i % 10) };

        (void)do_add(c, 0, "S", name, local);
        name[0] = 'b';
        (void)do_add(c, 0, "S", name, local);
    }
    assert_true(cluster_converge(c, 10 * SECOND));
    for (uint32_t n = 0; n < 3; n++) {
        assert_int_equal(count_at(c, n, "K"), 300);
        assert_int_equal(size_at(c, n, "S"), 200);
    }
    cluster_free(c);
}

static void subscribers_get_each_change_once_DD238(void **state)
{
    struct cluster *c = cluster_of(7, 2);
    struct replica_node *node = &c->nodes[1];
    (void)state;

    assert_true(replicator_subscribe(node->replicator, 1, slice_text("S")));
    cluster_run(c, 600 * MS);
    assert_int_equal(node->told.count, 0); /* nothing yet */
    (void)do_add(c, 0, "S", "a", to_all(1000));
    (void)do_add(c, 1, "S", "b", local);
    cluster_run(c, 600 * MS);
    assert_int_equal(wired_count(c, 1, 1, REPLICATOR_NEWS_CHANGED), 1);
    assert_int_equal(dd_set_count(node->told.items[0].value), 2);
    cluster_run(c, 5 * SECOND);
    assert_int_equal(node->told.count, 1);
    /* For them a set with this element does not differ, although its dot does. */
    (void)do_count(c, 0, "G", 0, local);
    assert_true(replicator_subscribe(node->replicator, 2, slice_text("S")));
    cluster_run(c, 600 * MS);
    assert_int_equal(wired_count(c, 1, 2, REPLICATOR_NEWS_CHANGED), 1);
    assert_int_equal(wired_count(c, 1, 1, REPLICATOR_NEWS_CHANGED), 1);
    replicator_unsubscribe(node->replicator, 1, slice_text("S"));
    (void)do_add(c, 1, "S", "c", local);
    replicator_flush(node->replicator);
    cluster_run(c, 600 * MS);
    assert_int_equal(wired_count(c, 1, 1, REPLICATOR_NEWS_CHANGED), 1);
    assert_int_equal(wired_count(c, 1, 2, REPLICATOR_NEWS_CHANGED), 2);
    cluster_free(c);
}

/* The same data again. */
static void an_unchanged_value_is_not_sent_to_subscribers_DD239(void **state)
{
    struct cluster *c = cluster_of(8, 2);
    struct dd_element x = dd_text("x");
    (void)state;

    assert_true(
        replicator_subscribe(c->nodes[1].replicator, 1, slice_text("G")));
    for (uint32_t i = 0; i < 4; i++) {
        struct dd_value *value = dd_new(DD_GSET);

        dd_gset_add(value, &x);
        (void)do_put(c, i % 2, "G", value, local);
        cluster_run(c, 3 * SECOND);
    }
    assert_int_equal(c->nodes[1].told.count, 1);
    cluster_free(c);
}

static void a_prefix_subscription_gets_all_its_keys_PKO035_PKO037_PKO040_PKO041_PKO042(
    void **state)
{
    struct cluster *c = cluster_of(9, 2);
    struct replica_node *node = &c->nodes[1];
    (void)state;

    (void)do_count(c, 1, "counter-1", 1, local);
    assert_true(
        replicator_subscribe(node->replicator, 1, slice_text("counter-*")));
    cluster_run(c, 600 * MS);
    assert_int_equal(node->told.count, 1);
    assert_string_equal(node->told.items[0].key, "counter-1");
    (void)do_count(c, 0, "counter-2", 1, to_all(1000));
    (void)do_count(c, 0, "other", 1, to_all(1000));
    cluster_run(c, 600 * MS);
    assert_int_equal(node->told.count, 2);
    assert_string_equal(node->told.items[1].key, "counter-2");
    replicator_unsubscribe_all(node->replicator, 1);
    (void)do_count(c, 1, "counter-1", 1, local);
    cluster_run(c, 600 * MS);
    assert_int_equal(node->told.count, 2);
    assert_int_equal(replicator_view(node->replicator).subscriptions, 0);
    cluster_free(c);
}

static void a_deleted_key_stays_deleted(void **state)
{
    struct cluster *c = cluster_of(10, 3);
    uint64_t token;
    struct slice key;
    uint32_t at = 0;
    (void)state;

    (void)do_count(c, 0, "A", 1, to_all(1000));
    assert_true(
        replicator_subscribe(c->nodes[2].replicator, 1, slice_text("A")));
    cluster_run(c, SECOND);
    token = do_delete(c, 1, "A", to_all(1000));
    cluster_run(c, SECOND);
    assert_true(is_answered(c, 1, token, REPLICATOR_SUCCESS));
    assert_int_equal(wired_count(c, 2, 1, REPLICATOR_NEWS_REMOVED), 1);
    for (uint32_t n = 0; n < 3; n++) {
        assert_true(is_answered(c, n, do_get(c, n, "A", local),
                                REPLICATOR_DELETED));
        assert_true(is_answered(c, n, do_count(c, n, "A", 1, local),
                                REPLICATOR_DELETED));
        assert_true(is_answered(c, n, do_delete(c, n, "A", local),
                                REPLICATOR_DELETED));
    }
    assert_false(replicator_next_key(c->nodes[0].replicator, &at, &key));
    assert_int_equal(replicator_view(c->nodes[0].replicator).deleted, 1);
    /* A key that never existed, and a node that comes later. */
    token = do_delete(c, 0, "B", local);
    assert_true(is_answered(c, 0, token, REPLICATOR_SUCCESS));
    (void)cluster_add(c);
    cluster_run(c, 10 * SECOND);
    assert_true(
        is_answered(c, 3, do_get(c, 3, "B", local), REPLICATOR_DELETED));
    cluster_free(c);
}

static void unreachable_replicas_make_writes_and_reads_fail(void **state)
{
    struct cluster *c = cluster_of(11, 5);
    uint64_t few;
    uint64_t many;
    uint64_t gone;
    (void)state;

    cluster_split(c, 3);
    few = do_count(c, 0, "A", 1, to_majority(1000));
    many = do_count(c, 0, "A", 1, to_all(1000));
    gone = do_delete(c, 0, "D", to_count(4, 1000));
    cluster_run(c, 100 * MS);
    assert_true(is_answered(c, 0, few, REPLICATOR_SUCCESS));
    assert_null(answer_of(c, 0, many));
    cluster_run(c, 2 * SECOND);
    assert_true(is_answered(c, 0, many, REPLICATOR_UPDATE_TIMEOUT));
    assert_true(is_answered(c, 0, gone, REPLICATOR_DELETE_FAILURE));
    few = do_get(c, 4, "A", to_count(2, 1000));
    many = do_get(c, 4, "A", to_majority(1000));
    cluster_run(c, 2 * SECOND);
    assert_true(is_answered(c, 4, few, REPLICATOR_NOT_FOUND));
    assert_true(is_answered(c, 4, many, REPLICATOR_GET_FAILURE));
    /* It was not undone. */
    cluster_heal(c);
    assert_true(cluster_converge(c, 20 * SECOND));
    assert_int_equal(count_at(c, 4, "A"), 2);
    assert_true(
        is_answered(c, 4, do_get(c, 4, "D", local), REPLICATOR_DELETED));
    cluster_free(c);
}

static void a_read_repairs_the_local_replica(void **state)
{
    struct cluster *c = cluster_new(12);
    uint64_t token;
    (void)state;

    c->settings.gossip_off = true;
    c->settings.deltas_off = true;
    for (uint32_t n = 0; n < 3; n++)
        (void)cluster_add(c);
    (void)do_count(c, 1, "A", 5, local);
    (void)do_count(c, 2, "A", 6, local);
    token = do_get(c, 0, "A", to_all(1000));
    cluster_run(c, SECOND);
    assert_true(is_answered(c, 0, token, REPLICATOR_SUCCESS));
    assert_int_equal(dd_gcounter_get(answer_of(c, 0, token)->value).low, 11);
    assert_int_equal(count_at(c, 0, "A"), 11);
    assert_int_equal(count_at(c, 1, "A"), 5); /* others wait for gossip */
    cluster_free(c);
}

/* Only when those asked first do not answer. */
static void more_replicas_are_asked_after_a_fifth_of_the_time(void **state)
{
    struct cluster *c = cluster_new(13);
    uint64_t token;
    (void)state;

    c->settings.gossip_off = true;
    for (uint32_t n = 0; n < 5; n++)
        (void)cluster_add(c);
    c->nodes[1].side = c->nodes[2].side = 1; /* not noticed */
    c->settings.prefer_oldest = true;
    cluster_restart(c, 0);
    token = do_count(c, 0, "A", 1, to_majority(1000));
    assert_int_equal(c->sent_of['I'], 2);
    cluster_run(c, 190 * MS);
    assert_null(answer_of(c, 0, token));
    cluster_run(c, 30 * MS);
    assert_int_equal(c->sent_of['I'], 4);
    assert_true(is_answered(c, 0, token, REPLICATOR_SUCCESS));
    cluster_free(c);
}

/* Also if they are not first by address. A younger one is asked only if one of them does not
 * answer. */
static void the_oldest_are_asked_first(void **state)
{
    struct cluster *c = cluster_new(17);
    uint64_t token;
    (void)state;

    c->settings.gossip_off = true;
    c->settings.prefer_oldest = true;
    for (uint32_t n = 0; n < 7; n++)
        (void)cluster_add(c);
    for (uint32_t n = 1; n < 7; n++) { /* the highest addresses are the oldest */
        c->nodes[n].up_number = (int32_t)(20 - n);
        cluster_peer(c, 0, n, MEMBER_UP, true);
    }
    for (uint32_t n = 1; n < 4; n++)
        c->nodes[n].side = 1; /* not noticed */
    for (uint32_t i = 0; i < 10; i++) {
        char key[] = { 'k', (char)('0' + i), 0 };

        token = do_count(c, 0, key, 1, to_majority(1000));
        cluster_run(c, 30 * MS);
        assert_true(is_answered(c, 0, token, REPLICATOR_SUCCESS));
        token = do_get(c, 0, key, to_majority(1000));
        cluster_run(c, 30 * MS);
        assert_true(is_answered(c, 0, token, REPLICATOR_SUCCESS));
    }
    assert_int_equal(c->sent_of['I'], 30);
    assert_int_equal(c->sent_of['K'], 30);
    cluster_free(c);
}

static void a_majority_of_five_needs_two_others_DD151(void **state)
{
    struct cluster *c = cluster_of(14, 5);
    uint64_t token = do_count(c, 0, "A", 1, to_majority(1000));
    (void)state;

    assert_int_equal(c->sent_of['I'], 2);
    cluster_run(c, 20 * MS);
    assert_true(is_answered(c, 0, token, REPLICATOR_SUCCESS));
    assert_int_equal(replicator_view(c->nodes[0].replicator).aggregators, 0);
    cluster_free(c);
}

/* At levels "majority plus" and "all". */
static void exiting_members_are_not_asked_by_all(void **state)
{
    struct cluster *c = cluster_of(15, 3);
    struct consistency plus = { CONSISTENCY_MAJORITY_PLUS, 5, 0, 1000 };
    (void)state;

    cluster_peer(c, 0, 2, MEMBER_EXITING, true);
    (void)do_count(c, 0, "A", 1, to_all(1000));
    assert_int_equal(c->sent_of['I'], 1);
    (void)do_count(c, 0, "A", 1, plus);
    assert_int_equal(c->sent_of['I'], 2);
    (void)do_count(c, 0, "A", 1, to_count(3, 1000));
    assert_int_equal(c->sent_of['I'], 4);
    cluster_free(c);
}

/* Members that leave lack it until it spreads. If they are at most half, a majority read there
 * finds it. */
static void exiting_members_may_lack_a_write_to_all(void **state)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct cluster *c = cluster_new(seed);
        uint64_t token;
        (void)state;

        c->settings.gossip_off = true;
        c->settings.deltas_off = true;
        for (uint32_t n = 0; n < 5; n++)
            (void)cluster_add(c);
        for (uint32_t n = 0; n < 5; n++) {
            cluster_peer(c, n, 3, MEMBER_EXITING, true);
            cluster_peer(c, n, 4, MEMBER_EXITING, true);
        }
        token = do_count(c, 0, "A", 1, to_all(1000));
        cluster_run(c, SECOND);
        assert_true(is_answered(c, 0, token, REPLICATOR_SUCCESS));
        assert_int_equal(count_at(c, 2, "A"), 1);
        assert_true(is_answered(c, 4, do_get(c, 4, "A", local),
                                REPLICATOR_NOT_FOUND));
        token = do_get(c, 4, "A", to_majority(1000));
        cluster_run(c, SECOND);
        assert_true(is_answered(c, 4, token, REPLICATOR_SUCCESS));
        cluster_free(c);
    }
}

static void deltas_are_sent_first_DD157(void **state)
{
    struct cluster *c = cluster_of(16, 3);
    uint64_t token = do_add(c, 0, "S", "a", to_all(1000));
    (void)state;

    assert_int_equal(c->sent_of['Q'], 2);
    assert_int_equal(c->sent_of['I'], 0);
    cluster_run(c, 20 * MS);
    assert_true(is_answered(c, 0, token, REPLICATOR_SUCCESS));
    assert_true(has_at(c, 2, "S", "a"));
    assert_int_equal(counters_at(c, 1)->deltas_applied, 1);
    cluster_free(c);
}

static void a_replica_without_a_delta_gets_the_whole_value(void **state)
{
    struct cluster *c = cluster_new(17);
    uint64_t token;
    (void)state;

    c->settings.gossip_off = true;
    (void)cluster_add(c);
    (void)cluster_add(c);
    c->dropped = 'Q';
    (void)do_add(c, 0, "S", "a", local);
    cluster_run(c, 3 * SECOND); /* sent, as far as it knows */
    c->dropped = 0;
    token = do_add(c, 0, "S", "b", to_all(1000));
    cluster_run(c, 50 * MS);
    assert_int_equal(counters_at(c, 1)->delta_gaps, 1);
    assert_int_equal(counters_at(c, 0)->full_resends, 1);
    assert_true(is_answered(c, 0, token, REPLICATOR_SUCCESS));
    assert_int_equal(size_at(c, 1, "S"), 2);
    /* Now it is up to date. */
    token = do_add(c, 0, "S", "c", to_all(1000));
    cluster_run(c, 50 * MS);
    assert_int_equal(counters_at(c, 1)->delta_gaps, 1);
    assert_int_equal(size_at(c, 1, "S"), 3);
    cluster_free(c);
}

/* The refused delta is followed by the whole value. */
static void a_replica_with_deltas_off_gets_whole_values(void **state)
{
    struct cluster *c = cluster_new(18);
    uint64_t token;
    (void)state;

    (void)cluster_add(c);
    c->settings.deltas_off = true;
    (void)cluster_add(c);
    token = do_add(c, 0, "S", "a", to_all(1000));
    cluster_run(c, 50 * MS);
    assert_true(is_answered(c, 0, token, REPLICATOR_SUCCESS));
    assert_true(counters_at(c, 1)->deltas_refused > 0);
    assert_true(has_at(c, 1, "S", "a"));
    cluster_free(c);
}

/* Gossip is off. */
static void deltas_alone_carry_all_changes_DD215_DD216(void **state)
{
    struct cluster *c = cluster_new(19);
    (void)state;

    c->settings.gossip_off = true;
    for (uint32_t n = 0; n < 4; n++)
        (void)cluster_add(c);
    for (uint32_t i = 0; i < 20; i++) {
        char name[4] = { 'e', (char)('a' + i), 0 };

        (void)do_count(c, i % 4, "A", i, local);
        (void)do_add(c, i % 4, "S", name, local);
        if (i % 5 == 4)
            (void)do_remove(c, i % 4, "S", name, local);
        cluster_run(c, 300 * MS);
    }
    cluster_run(c, 3 * SECOND);
    for (uint32_t n = 0; n < 4; n++) {
        assert_int_equal(count_at(c, n, "A"), 190);
        assert_int_equal(size_at(c, n, "S"), 16);
        assert_int_equal(counters_at(c, n)->delta_gaps, 0);
    }
    assert_int_equal(c->sent_of['N'], 0);
    assert_int_equal(c->sent_of['I'], 0);
    cluster_free(c);
}

static void a_change_without_a_delta_is_left_to_gossip_DD225(void **state)
{
    struct cluster *c = cluster_new(20);
    struct dd_value *value;
    (void)state;

    c->settings.gossip_off = true;
    for (uint32_t n = 0; n < 3; n++)
        (void)cluster_add(c);
    (void)do_add(c, 0, "S", "a", local);
    cluster_run(c, 2 * SECOND);
    assert_int_equal(size_at(c, 2, "S"), 1);
    value = dd_copy(value_at(c, 0, "S"));
    {
        struct dd_element b = dd_text("b");

        dd_orset_add(value, &c->nodes[0].writer, &b);
    }
    dd_reset_delta(value);
    (void)do_put(c, 0, "S", value, local);
    (void)do_add(c, 0, "S", "c", local);
    cluster_run(c, 3 * SECOND);
    assert_int_equal(size_at(c, 0, "S"), 3);
    assert_int_equal(size_at(c, 2, "S"), 1); /* one must not come before the other */
    (void)do_add(c, 0, "S", "d", to_all(1000));
    cluster_run(c, 3 * SECOND);
    assert_int_equal(size_at(c, 2, "S"), 4);
    assert_int_equal(size_at(c, 1, "S"), 4);
    cluster_free(c);
}

static const char *const durable[] = { "dur*", "exact" };

static struct cluster *durable_cluster(uint64_t seed, uint32_t count)
{
    struct cluster *c = cluster_new(seed);

    c->durable_keys = durable;
    c->durable_key_count = 2;
    for (uint32_t n = 0; n < count; n++)
        (void)cluster_add(c);
    return c;
}

static void durable_keys_survive_a_restart_DD191(void **state)
{
    struct cluster *c = durable_cluster(21, 1);
    (void)state;

    for (uint32_t i = 0; i < 3; i++)
        assert_true(is_answered(c, 0, do_count(c, 0, "durable-1", 1, local),
                                REPLICATOR_SUCCESS));
    (void)do_count(c, 0, "other", 1, local);
    (void)do_count(c, 0, "exactly", 1, local);
    assert_int_equal(c->nodes[0].store.count, 1);
    assert_int_equal(c->nodes[0].store.items[0].writes, 3);
    cluster_restart(c, 0);
    assert_int_equal(count_at(c, 0, "durable-1"), 3);
    assert_int_equal(count_at(c, 0, "other"), 0);
    assert_int_equal(c->nodes[0].store.items[0].writes, 3); /* without changes */
    cluster_free(c);
}

static void gossiped_durable_keys_are_stored_DD193(void **state)
{
    struct cluster *c = durable_cluster(22, 2);
    (void)state;

    (void)do_count(c, 0, "exact", 7, local);
    cluster_run(c, 6 * SECOND);
    assert_int_equal(c->nodes[1].store.count, 1);
    cluster_remove(c, 0);
    cluster_restart(c, 1);
    assert_int_equal(count_at(c, 1, "exact"), 7);
    cluster_free(c);
}

/* Reads wait in order until everything is loaded. */
static void commands_wait_during_loading(void **state)
{
    struct identity identity = { "akka", "S", { { "a", 2551 }, 5 } };
    struct dd_writer writer = { identity.node, 0 };
    struct outbox outbox = { 0 };
    struct replicator_news news;
    const struct dd_value *current;
    struct dd_value *value;
    struct replicator *r = replicator_new(
        &(struct replicator_options){ .identity = &identity,
                                      .path = CLUSTER_PATH,
                                      .durable_keys = durable,
                                      .durable_key_count = 2,
                                      .writer = &writer,
                                      .seed = 1 },
        0);
    (void)state;

    replicator_get(r, 0, 1, slice_text("A"), &local, &outbox);
    assert_int_equal(replicator_update_begin(r, 0, 2, slice_text("A"), &current,
                                             &outbox),
                     REPLICATOR_WAIT);
    replicator_get(r, 0, 3, slice_text("A"), &local, &outbox);
    assert_false(replicator_next_news(r, &news));
    assert_int_equal(replicator_count(r), 0);
    replicator_loaded(r, 0, true, &outbox);
    assert_int_equal(replicator_count(r), 1);
    assert_true(replicator_next_news(r, &news));
    assert_int_equal(news.token, 1);
    assert_int_equal(news.answer, REPLICATOR_NOT_FOUND);
    assert_true(replicator_next_news(r, &news));
    assert_int_equal(news.kind, REPLICATOR_NEWS_MODIFY);
    assert_int_equal(news.token, 2);
    assert_false(replicator_next_news(r, &news)); /* the get waits for it */
    replicator_get(r, 0, 4, slice_text("A"), &local, &outbox);
    assert_int_equal(replicator_update_begin(r, 0, 2, slice_text("A"), &current,
                                             &outbox),
                     REPLICATOR_MODIFY);
    assert_null(current);
    value = dd_new(DD_FLAG);
    dd_flag_switch_on(value);
    replicator_update(r, 0, 2, slice_text("A"), value, &local, &outbox);
    for (uint64_t token = 2; token <= 4; token++) {
        assert_true(replicator_next_news(r, &news));
        assert_int_equal(news.kind, REPLICATOR_NEWS_ANSWER);
        assert_int_equal(news.token, token);
        assert_int_equal(news.answer, REPLICATOR_SUCCESS);
    }
    assert_true(dd_flag(news.value));
    assert_false(replicator_next_news(r, &news));
    outbox_fini(&outbox);
    replicator_free(r);
}

static void failed_loading_ends_the_replicator_DD195(void **state)
{
    struct identity identity = { "akka", "S", { { "a", 2551 }, 5 } };
    struct dd_writer writer = { identity.node, 0 };
    struct outbox outbox = { 0 };
    struct replicator_news news;
    struct replicator *r = replicator_new(
        &(struct replicator_options){ .identity = &identity,
                                      .path = CLUSTER_PATH,
                                      .durable_keys = durable,
                                      .durable_key_count = 2,
                                      .writer = &writer,
                                      .seed = 1 },
        0);
    (void)state;

    replicator_get(r, 0, 1, slice_text("A"), &local, &outbox);
    replicator_load(r, 0, slice_text("exact"), slice_text("not an envelope"));
    assert_int_equal(replicator_counters(r)->unloaded, 1);
    replicator_loaded(r, 0, false, &outbox);
    assert_true(replicator_next_news(r, &news));
    assert_int_equal(news.answer, REPLICATOR_STOPPED);
    assert_true(replicator_next_news(r, &news));
    assert_int_equal(news.kind, REPLICATOR_NEWS_ENDED);
    assert_false(replicator_next_news(r, &news));
    replicator_get(r, 0, 2, slice_text("A"), &local, &outbox);
    assert_true(replicator_next_news(r, &news));
    assert_int_equal(news.answer, REPLICATOR_STOPPED);
    assert_int_equal(replicator_deadline(r), NEVER);
    outbox_fini(&outbox);
    replicator_free(r);
}

static void a_refusal_by_the_disk_fails_the_update(void **state)
{
    struct cluster *c = durable_cluster(23, 3);
    uint64_t token;
    (void)state;

    c->nodes[0].mood = STORE_BAD;
    token = do_count(c, 0, "durable-1", 1, local);
    assert_true(is_answered(c, 0, token, REPLICATOR_STORE_FAILURE));
    token = do_delete(c, 0, "durable-2", local);
    assert_true(is_answered(c, 0, token, REPLICATOR_STORE_FAILURE));
    assert_int_equal(count_at(c, 0, "durable-1"), 1);
    cluster_free(c);
}

/* One of five refuses. */
static void other_replicas_compensate_for_a_failed_store_DD161(void **state)
{
    struct cluster *c = durable_cluster(24, 5);
    uint64_t token;
    (void)state;

    c->nodes[1].mood = STORE_BAD;
    token = do_count(c, 0, "durable-1", 1, to_count(4, 1000));
    cluster_run(c, 900 * MS);
    assert_true(is_answered(c, 0, token, REPLICATOR_SUCCESS));
    for (uint32_t n = 2; n < 5; n++)
        c->nodes[n].mood = STORE_BAD;
    token = do_count(c, 0, "durable-1", 1, to_all(1000));
    cluster_run(c, 900 * MS);
    assert_true(is_answered(c, 0, token, REPLICATOR_STORE_FAILURE));
    cluster_free(c);
}

static void silent_stores_time_out_DD163(void **state)
{
    struct cluster *c = durable_cluster(25, 3);
    uint64_t token;
    (void)state;

    c->nodes[1].mood = c->nodes[2].mood = STORE_SILENT;
    token = do_count(c, 0, "durable-1", 1, to_majority(1000));
    cluster_run(c, 900 * MS);
    assert_null(answer_of(c, 0, token));
    cluster_run(c, 200 * MS);
    assert_true(is_answered(c, 0, token, REPLICATOR_UPDATE_TIMEOUT));
    cluster_free(c);
}

/* All waiting callers are told. */
static void removal_of_this_node_ends_the_replicator(void **state)
{
    struct cluster *c = cluster_of(26, 3);
    struct node_id self = c->nodes[0].identity.node;
    uint64_t token;
    (void)state;

    cluster_split(c, 1);
    token = do_count(c, 0, "A", 1, to_all(1000));
    replicator_peer_removed(c->nodes[0].replicator, c->now, &self);
    cluster_run(c, 10 * MS);
    (void)do_get(c, 0, "A", local); /* reads the news */
    assert_true(is_answered(c, 0, token, REPLICATOR_STOPPED));
    assert_true(c->nodes[0].has_ended);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(majorities_are_akkas_DD154_DD156),
        cmocka_unit_test(a_single_node_answers_every_level_locally),
        cmocka_unit_test(an_update_is_merged_with_the_present_value_DD229),
        cmocka_unit_test(an_update_that_fails_changes_nothing_DD230),
        cmocka_unit_test(a_joining_node_gets_everything_DD231),
        cmocka_unit_test(two_nodes_write_and_read_DD232),
        cmocka_unit_test(many_updates_at_once_converge_DD236),
        cmocka_unit_test(subscribers_get_each_change_once_DD238),
        cmocka_unit_test(an_unchanged_value_is_not_sent_to_subscribers_DD239),
        cmocka_unit_test(
            a_prefix_subscription_gets_all_its_keys_PKO035_PKO037_PKO040_PKO041_PKO042),
        cmocka_unit_test(a_deleted_key_stays_deleted),
        cmocka_unit_test(unreachable_replicas_make_writes_and_reads_fail),
        cmocka_unit_test(a_read_repairs_the_local_replica),
        cmocka_unit_test(more_replicas_are_asked_after_a_fifth_of_the_time),
        cmocka_unit_test(the_oldest_are_asked_first),
        cmocka_unit_test(a_majority_of_five_needs_two_others_DD151),
        cmocka_unit_test(exiting_members_are_not_asked_by_all),
        cmocka_unit_test(exiting_members_may_lack_a_write_to_all),
        cmocka_unit_test(deltas_are_sent_first_DD157),
        cmocka_unit_test(a_replica_without_a_delta_gets_the_whole_value),
        cmocka_unit_test(a_replica_with_deltas_off_gets_whole_values),
        cmocka_unit_test(deltas_alone_carry_all_changes_DD215_DD216),
        cmocka_unit_test(a_change_without_a_delta_is_left_to_gossip_DD225),
        cmocka_unit_test(durable_keys_survive_a_restart_DD191),
        cmocka_unit_test(gossiped_durable_keys_are_stored_DD193),
        cmocka_unit_test(commands_wait_during_loading),
        cmocka_unit_test(failed_loading_ends_the_replicator_DD195),
        cmocka_unit_test(a_refusal_by_the_disk_fails_the_update),
        cmocka_unit_test(other_replicas_compensate_for_a_failed_store_DD161),
        cmocka_unit_test(silent_stores_time_out_DD163),
        cmocka_unit_test(removal_of_this_node_ends_the_replicator),
    };

    return cmocka_run_group_tests_name("ddata_replicator", tests, NULL, NULL);
}
