/* Checks clusters with loss, partitions, restarts and new members: afterwards all replicas become
 * equal in bounded time. Repeats Akka's chaos scenario with its values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "cluster.h"

#define SEEDS 60

static void write_all(struct cluster *c)
{
    struct consistency two = to_count(2, 1000);

    for (uint32_t i = 0; i < 5; i++) {
        (void)do_count(c, 0, "A", 1, local);
        (void)do_count(c, 1, "A", 1, two);
        (void)do_count(c, 2, "A", 1, to_all(1000));
        (void)do_count(c, 3, "A", 1, to_majority(1000));
        (void)do_count(c, 4, "A", 1, local);
    }
    for (uint32_t i = 0; i < 5; i++) {
        (void)do_count(c, i, "B", 3, local);
        (void)do_count(c, i, "C", 5, two);
        (void)do_count(c, i, "D", 8, to_all(1000));
    }
    (void)do_add(c, 0, "E", "e1", local);
    (void)do_add(c, 1, "E", "e2", two);
    (void)do_add(c, 2, "E", "e3", to_all(1000));
    (void)do_add(c, 0, "F", "e1", local);
    (void)do_add(c, 1, "F", "e2", local);
    (void)do_add(c, 2, "F", "e3", local);
    (void)do_count(c, 4, "X", 50, local);
    (void)do_delete(c, 4, "X", local);
}

static void assert_values(struct cluster *c, uint32_t index, uint64_t a,
                          uint64_t d, uint32_t e, uint32_t f)
{
    assert_int_equal(count_at(c, index, "A"), a);
    assert_int_equal(count_at(c, index, "B"), 15);
    assert_int_equal(count_at(c, index, "C"), 25);
    assert_int_equal(count_at(c, index, "D"), d);
    assert_int_equal(size_at(c, index, "E"), e);
    assert_int_equal(size_at(c, index, "F"), f);
    assert_true(is_answered(c, index, do_get(c, index, "X", local),
                            REPLICATOR_DELETED));
}

static void akkas_chaos_scenario_converges_DD212(void **state)
{
    struct cluster *c = cluster_of(41, 5);
    (void)state;

    write_all(c);
    cluster_run(c, 15 * SECOND);
    for (uint32_t n = 0; n < 5; n++)
        assert_values(c, n, 25, 40, 3, 3);
    cluster_split(c, 2);
    (void)do_count(c, 0, "A", 1, to_count(2, 1000));
    (void)do_count(c, 2, "A", 2, to_count(2, 1000));
    (void)do_count(c, 3, "D", 1, to_count(2, 1000));
    (void)do_add(c, 3, "E", "e4", to_count(2, 1000));
    (void)do_remove(c, 4, "F", "e2", to_count(2, 1000));
    cluster_run(c, 15 * SECOND);
    for (uint32_t n = 0; n < 2; n++)
        assert_values(c, n, 26, 40, 3, 3);
    for (uint32_t n = 2; n < 5; n++)
        assert_values(c, n, 27, 41, 4, 2);
    cluster_heal(c);
    cluster_run(c, 20 * SECOND);
    for (uint32_t n = 0; n < 5; n++)
        assert_values(c, n, 28, 41, 4, 2);
    cluster_free(c);
}

/* Each node's own elements, written there only. */
static void values_of_all_reach_all_DD198_DD199(void **state)
{
    struct cluster *c = cluster_of(43, 5);
    (void)state;

    for (uint32_t n = 0; n < 5; n++)
        assert_int_equal(replicator_count(c->nodes[n].replicator), 5);
    for (uint32_t i = 0; i < 100; i++) {
        char element[8];

        (void)snprintf(element, sizeof element, "e%u", (unsigned)i);
        (void)do_add(c, i % 5, "S", element, local);
        cluster_run(c, rng_below(&c->rng, 50) * MS);
    }
    assert_true(cluster_converge(c, 20 * SECOND));
    for (uint32_t n = 0; n < 5; n++)
        assert_int_equal(size_at(c, n, "S"), 100);
    cluster_free(c);
}

static struct consistency some_level(struct cluster *c)
{
    switch (rng_below(&c->rng, 5)) {
    case 0:
        return to_count(2 + (uint32_t)rng_below(&c->rng, 3), 500);
    case 1:
        return to_majority(500);
    case 2:
        return to_all(500);
    default:
        return local;
    }
}

static void do_something(struct cluster *c)
{
    uint32_t index = (uint32_t)rng_below(&c->rng, c->count);
    char key[8];
    char element[8];

    snprintf(key, sizeof key, "%c%u", "csm"[rng_below(&c->rng, 2)],
             (unsigned)rng_below(&c->rng, 4));
    snprintf(element, sizeof element, "e%u", (unsigned)rng_below(&c->rng, 12));
    if (rng_below(&c->rng, 60) == 0)
        (void)do_delete(c, index, "gone", some_level(c));
    else if (rng_below(&c->rng, 10) == 0)
        (void)do_get(c, index, key, some_level(c));
    else if (key[0] == 'c')
        (void)do_count(c, index, key, 1 + rng_below(&c->rng, 5),
                       some_level(c));
    else if (rng_below(&c->rng, 3) == 0)
        (void)do_remove(c, index, key, element, some_level(c));
    else
        (void)do_add(c, index, key, element, some_level(c));
}

static void disturb(struct cluster *c)
{
    switch (rng_below(&c->rng, 8)) {
    case 0:
        cluster_split(c, 1 + (uint32_t)rng_below(&c->rng, c->count - 1));
        break;
    case 1:
        cluster_heal(c);
        break;
    case 2:
        c->loss_percent = (uint32_t)rng_below(&c->rng, 40);
        break;
    case 3:
        cluster_heal(c); /* the membership must agree first */
        cluster_restart(c, (uint32_t)rng_below(&c->rng, c->count));
        break;
    case 4:
        if (c->count < 6) {
            cluster_heal(c);
            (void)cluster_add(c);
        }
        break;
    default:
        break;
    }
}

static void run_seed(uint64_t seed)
{
    struct cluster *c = cluster_new(seed);

    c->settings.deltas_off = seed % 7 == 3;
    c->settings.max_delta_elements = seed % 3 ? 0 : 3;
    c->settings.prefer_oldest = seed % 5 == 1;
    if (seed % 4 == 2) {
        c->settings.pruning_interval_ms = 1000;
        c->settings.pruning_dissemination_ms = 10000;
    }
    for (uint32_t n = 0; n < 2 + seed % 4; n++)
        (void)cluster_add(c);
    for (uint32_t round = 0; round < 120; round++) {
        do_something(c);
        if (rng_below(&c->rng, 12) == 0)
            disturb(c);
        cluster_run(c, rng_below(&c->rng, 400) * MS);
    }
    c->loss_percent = 0;
    cluster_heal(c);
    /* Each round of gossip goes to one random replica. */
    if (!cluster_converge(c, 60 * SECOND))
        fail_msg("seed %u does not converge", (unsigned)seed);
    cluster_run(c, 5 * SECOND);
    for (uint32_t n = 0; n < c->count; n++) {
        struct replicator_view view = replicator_view(c->nodes[n].replicator);
        const struct replicator_counters *counters = counters_at(c, n);

        /* Every write and read has ended, and no message was malformed. */
        assert_int_equal(view.aggregators, 0);
        assert_int_equal(counters->malformed, 0);
        assert_int_equal(counters->unmerged, 0);
        assert_int_equal(counters->unknown, 0);
        assert_int_equal(counters->unsent, 0);
        for (uint32_t i = 1; i < c->nodes[n].answered.count; i++)
            (void)answer_of(c, n, c->nodes[n].answered.items[i].token);
    }
    cluster_free(c);
}

static void all_replicas_become_equal(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run_seed(seed);
}

/* Whatever node is cut off. */
static void a_majority_read_sees_each_majority_write(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct cluster *c = cluster_new(1000 + seed);
        uint64_t sum = 0;

        c->settings.gossip_off = c->settings.deltas_off = true;
        for (uint32_t n = 0; n < 5; n++)
            (void)cluster_add(c);
        for (uint32_t round = 0; round < 20; round++) {
            uint32_t writer = (uint32_t)rng_below(&c->rng, 5);
            uint32_t reader = (uint32_t)rng_below(&c->rng, 5);
            uint64_t amount = 1 + rng_below(&c->rng, 9);
            uint64_t token;

            c->nodes[rng_below(&c->rng, 5)].side = 1; /* not noticed by any node */
            token = do_count(c, writer, "K", amount, to_majority(500));
            cluster_run(c, 600 * MS);
            if (is_answered(c, writer, token, REPLICATOR_SUCCESS))
                sum += amount;
            for (uint32_t n = 0; n < 5; n++)
                c->nodes[n].side = 0;
            token = do_get(c, reader, "K", to_majority(500));
            cluster_run(c, 600 * MS);
            if (is_answered(c, reader, token, REPLICATOR_SUCCESS))
                assert_true(
                    dd_gcounter_get(answer_of(c, reader, token)->value).low >=
                    sum);
        }
        assert_true(sum > 0);
        cluster_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(akkas_chaos_scenario_converges_DD212),
        cmocka_unit_test(values_of_all_reach_all_DD198_DD199),
        cmocka_unit_test(all_replicas_become_equal),
        cmocka_unit_test(a_majority_read_sees_each_majority_write),
    };

    return cmocka_run_group_tests_name("ddata_chaos", tests, NULL, NULL);
}
