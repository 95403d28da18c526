/* Checks every kind of value on several replicas: by deltas alone, by gossip alone, and registers
 * as sharding uses them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "cluster.h"

/* A change to a copy of the present value, or of none. */
typedef struct dd_value *change(struct cluster *c, uint32_t index,
                                const struct dd_value *current, uint32_t step);

static struct dd_value *copy_of(const struct dd_value *current,
                                enum dd_kind kind)
{
    return current ? dd_copy(current) : dd_new(kind);
}

static struct dd_other text_of(const char *text)
{
    return (struct dd_other){ .serializer = 20, .bytes = slice_text(text) };
}

static struct dd_value *change_counter(struct cluster *c, uint32_t index,
                                       const struct dd_value *current,
                                       uint32_t step)
{
    struct dd_value *value = copy_of(current, DD_PNCOUNTER);

    dd_pncounter_add(value, &c->nodes[index].identity.node,
                     step % 3 ? (int64_t)step : -(int64_t)step);
    return value;
}

static struct dd_value *change_flag(struct cluster *c, uint32_t index,
                                    const struct dd_value *current,
                                    uint32_t step)
{
    struct dd_value *value = copy_of(current, DD_FLAG);
    (void)c;
    (void)index;

    if (step > 5)
        dd_flag_switch_on(value);
    return value;
}

static struct dd_value *change_set(struct cluster *c, uint32_t index,
                                   const struct dd_value *current,
                                   uint32_t step)
{
    struct dd_value *value = copy_of(current, DD_ORSET);
    struct dd_element element = dd_long(step % 7);

    if (step % 10 == 9)
        dd_orset_clear(value);
    else if (step % 4 == 3)
        dd_orset_remove(value, &c->nodes[index].writer, &element);
    else
        dd_orset_add(value, &c->nodes[index].writer, &element);
    return value;
}

static struct dd_value *change_register(struct cluster *c, uint32_t index,
                                        const struct dd_value *current,
                                        uint32_t step)
{
    const struct node_id *node = &c->nodes[index].identity.node;
    int64_t now = (int64_t)(c->now / MS);
    char text[8];
    struct dd_value *value;

    snprintf(text, sizeof text, "v%u", (unsigned)step);
    if (!current)
        return dd_register_new(node, text_of(text), now, DD_CLOCK_LAST);
    value = dd_copy(current);
    dd_register_set(value, node, text_of(text), now, DD_CLOCK_LAST);
    return value;
}

static struct dd_element key_of(uint32_t step)
{
    static const char *const keys[] = { "a", "b", "c", "d" };

    return dd_text(keys[step % 4]);
}

static struct dd_value *change_counters(struct cluster *c, uint32_t index,
                                        const struct dd_value *current,
                                        uint32_t step)
{
    struct dd_value *value = copy_of(current, DD_PNCOUNTERMAP);
    struct dd_element key = key_of(step);

    if (step % 6 == 5)
        dd_map_remove(value, &c->nodes[index].writer, &key);
    else
        dd_countermap_add(value, &c->nodes[index].writer, &key, step);
    return value;
}

static struct dd_value *change_registers(struct cluster *c, uint32_t index,
                                         const struct dd_value *current,
                                         uint32_t step)
{
    struct dd_value *value = copy_of(current, DD_LWWMAP);
    struct dd_element key = key_of(step);
    char text[8];

    snprintf(text, sizeof text, "v%u", (unsigned)step);
    if (step % 6 == 5)
        dd_map_remove(value, &c->nodes[index].writer, &key);
    else
        dd_lwwmap_put(value, &c->nodes[index].writer, &key, text_of(text),
                      (int64_t)(c->now / MS), DD_CLOCK_LAST);
    return value;
}

static struct dd_value *change_bindings(struct cluster *c, uint32_t index,
                                        struct dd_value *value, uint32_t step)
{
    struct dd_element key = key_of(step);
    struct dd_element element = dd_long(step % 5);

    if (step % 6 == 5)
        dd_multimap_remove(value, &c->nodes[index].writer, &key, &element);
    else
        dd_multimap_add(value, &c->nodes[index].writer, &key, &element);
    return value;
}

static struct dd_value *change_multimap(struct cluster *c, uint32_t index,
                                        const struct dd_value *current,
                                        uint32_t step)
{
    return change_bindings(c, index, copy_of(current, DD_MULTIMAP), step);
}

static struct dd_value *change_multimap_with_deltas(
    struct cluster *c, uint32_t index, const struct dd_value *current,
    uint32_t step)
{
    return change_bindings(
        c, index, current ? dd_copy(current) : dd_multimap_new(true), step);
}

static struct dd_value *change_map_of_sets(struct cluster *c, uint32_t index,
                                           const struct dd_value *current,
                                           uint32_t step)
{
    struct dd_value *value = copy_of(current, DD_ORMAP);
    struct dd_element key = key_of(step);
    struct dd_element element = dd_long(step);
    const struct dd_value *old = dd_map_get(value, &key);
    struct dd_value *set;

    if (step % 6 == 5) {
        dd_map_remove(value, &c->nodes[index].writer, &key);
        return value;
    }
    set = copy_of(old, DD_ORSET);
    dd_orset_add(set, &c->nodes[index].writer, &element);
    dd_ormap_update(value, &c->nodes[index].writer, &key, set);
    return value;
}

static const struct {
    const char *key;
    change *change;
} kinds[] = {
    { "counter", change_counter },
    { "flag", change_flag },
    { "set", change_set },
    { "register", change_register },
    { "counters", change_counters },
    { "registers", change_registers },
    { "multimap", change_multimap },
    { "multimap-deltas", change_multimap_with_deltas },
    { "sets", change_map_of_sets },
};

#define KINDS (sizeof kinds / sizeof kinds[0])

static void change_some(struct cluster *c, uint32_t index, uint32_t kind,
                        uint32_t step)
{
    const char *key = kinds[kind].key;
    struct consistency level = step % 5 == 2 ? to_all(1000) : local;

    (void)do_put(c, index, key,
                 kinds[kind].change(c, index, value_at(c, index, key), step),
                 level);
}

static void run(struct cluster *c, uint64_t pause)
{
    for (uint32_t step = 1; step < 40; step++) {
        for (uint32_t kind = 0; kind < KINDS; kind++)
            change_some(c, step * 7 % c->count, kind, step);
        cluster_run(c, pause);
    }
}

static void assert_unbroken(const struct cluster *c)
{
    for (uint32_t n = 0; n < c->count; n++) {
        assert_int_equal(counters_at(c, n)->malformed, 0);
        assert_int_equal(counters_at(c, n)->unmerged, 0);
    }
}

/* One change at a time. */
static void each_kind_converges_by_deltas_alone_DD221_DD222(void **state)
{
    struct cluster *c = cluster_new(61);
    (void)state;

    c->settings.gossip_off = true;
    for (uint32_t n = 0; n < 4; n++)
        (void)cluster_add(c);
    /* Registers and flags have no deltas, so they need a write. */
    run(c, 1500 * MS);
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        const char *key = kinds[kind].key;

        if (kinds[kind].change != change_register &&
            kinds[kind].change != change_flag)
            for (uint32_t n = 1; n < 4; n++)
                if (!dd_equal(value_at(c, 0, key), value_at(c, n, key)))
                    fail_msg("%s differs at %u", key, (unsigned)n);
    }
    for (uint32_t n = 0; n < 4; n++)
        assert_int_equal(counters_at(c, n)->delta_gaps, 0);
    assert_int_equal(c->sent_of['N'], 0);
    assert_unbroken(c);
    cluster_free(c);
}

static void each_kind_converges_by_gossip_alone(void **state)
{
    struct cluster *c = cluster_new(62);
    (void)state;

    c->settings.deltas_off = true;
    for (uint32_t n = 0; n < 4; n++)
        (void)cluster_add(c);
    run(c, 300 * MS);
    assert_true(cluster_converge(c, 30 * SECOND));
    assert_unbroken(c);
    cluster_free(c);
}

/* Concurrent changes on all replicas with losses; then digests are equal, too. */
static void each_kind_converges_under_loss(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 15; seed++) {
        struct cluster *c = cluster_of(630 + seed, 4);
        uint64_t gossips;

        c->loss_percent = 20;
        for (uint32_t step = 1; step < 30; step++) {
            for (uint32_t n = 0; n < 4; n++)
                change_some(c, n, (step + n) % KINDS, step * 3 + n);
            cluster_run(c, rng_below(&c->rng, 600) * MS);
        }
        c->loss_percent = 0;
        if (!cluster_converge(c, 60 * SECOND))
            fail_msg("seed %u does not converge", (unsigned)seed);
        cluster_run(c, 30 * SECOND);
        gossips = c->sent_of['N'];
        cluster_run(c, 60 * SECOND);
        assert_int_equal(c->sent_of['N'], gossips);
        assert_unbroken(c);
        cluster_free(c);
    }
}

/* A coordinator's register is read from, and written to, more than a majority. */
static void a_register_serves_sharding(void **state)
{
    struct cluster *c = cluster_new(64);
    struct consistency reads = { CONSISTENCY_MAJORITY_PLUS, 5, 5, 2000 };
    struct consistency writes = { CONSISTENCY_MAJORITY_PLUS, 3, 5, 5000 };
    const char *key = "CounterCoordinatorState";
    uint64_t token;
    (void)state;

    c->settings.prefer_oldest = true;
    c->settings.max_delta_elements = 5;
    for (uint32_t n = 0; n < 6; n++)
        (void)cluster_add(c);
    for (uint32_t step = 1; step < 12; step++) {
        token = do_put(c, step % 6, key,
                       change_register(c, step % 6,
                                       value_at(c, step % 6, key), step),
                       writes);
        cluster_run(c, 50 * MS);
        assert_true(is_answered(c, step % 6, token, REPLICATOR_SUCCESS));
        token = do_get(c, (step + 1) % 6, key, reads);
        cluster_run(c, 50 * MS);
        assert_true(
            is_answered(c, (step + 1) % 6, token, REPLICATOR_SUCCESS));
        assert_true(dd_equal(answer_of(c, (step + 1) % 6, token)->value,
                             value_at(c, step % 6, key)));
    }
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_converges_by_deltas_alone_DD221_DD222),
        cmocka_unit_test(each_kind_converges_by_gossip_alone),
        cmocka_unit_test(each_kind_converges_under_loss),
        cmocka_unit_test(a_register_serves_sharding),
    };

    return cmocka_run_group_tests_name("ddata_types", tests, NULL, NULL);
}
