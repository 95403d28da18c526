/* Checks values of types that only JVM members know, while members of both kinds change them,
 * crash, and lose messages. Other members never lose what they had, nor what they acknowledged, and
 * JVM members that start again find it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/check.h"
#include "custom.h"

#define SEEDS 40
#define ROUNDS 120
#define JVMS 2
#define OTHERS 3

static const char *const sorts[] = { "whole", "deltas", "causal", "map" };

static struct custom *start(uint64_t seed, enum custom_sort sort)
{
    struct custom *custom = custom_new(seed, sort, JVMS, OTHERS, false);

    cluster_run(custom->cluster, 3 * SECOND);
    return custom;
}

static bool all_agree(struct custom *custom)
{
    struct custom_items first = custom_items(custom, 0);

    for (uint32_t i = 0; i < custom->cluster->count; i++) {
        struct custom_items items = custom_items(custom, i);

        if (custom_count(custom, i) != 1 || memcmp(&items, &first, sizeof items))
            return false;
    }
    return true;
}

static bool agree_within(struct custom *custom, uint64_t limit)
{
    uint64_t end = custom->cluster->now + limit;

    while (custom->cluster->now < end && !all_agree(custom))
        cluster_run(custom->cluster, 100 * MS);
    return all_agree(custom);
}

static void writes_to_all_and_to_a_majority_succeed(void **state)
{
    (void)state;
    for (int sort = 0; sort < CUSTOM_SORT_COUNT; sort++) {
        struct custom *custom = start(1, (enum custom_sort)sort);
        uint64_t tokens[8];

        for (uint32_t i = 0; i < 8; i++) {
            tokens[i] = custom_add(custom, i % JVMS, i,
                                   i < 4 ? to_all(1000) : to_majority(1000));
            cluster_run(custom->cluster, 200 * MS);
        }
        cluster_run(custom->cluster, 2 * SECOND);
        for (uint32_t i = 0; i < 8; i++)
            if (!is_answered(custom->cluster, i % JVMS, tokens[i], REPLICATOR_SUCCESS))
                fail_msg("%s: write %u failed", sorts[sort], (unsigned)i);
        if (!agree_within(custom, 60 * SECOND))
            fail_msg("%s: values stay side by side", sorts[sort]);
        custom_free(custom);
    }
}

static void concurrent_values_stay_side_by_side_and_are_merged_by_a_jvm(void **state)
{
    (void)state;
    for (int sort = 0; sort < CUSTOM_SORT_COUNT; sort++) {
        struct custom *custom = start(2, (enum custom_sort)sort);
        struct cluster *c = custom->cluster;
        struct custom_items items;

        custom->are_apart = true;
        (void)custom_add(custom, 0, 1, to_count(2, 500));
        (void)custom_add(custom, 1, 2, to_all(500));
        cluster_run(c, 3 * SECOND);
        for (uint32_t i = JVMS; i < c->count; i++) {
            items = custom_items(custom, i);
            if (!items.has[2])
                fail_msg("%s: node %u lacks a value", sorts[sort], (unsigned)i);
        }
        custom->are_apart = false;
        if (!agree_within(custom, 60 * SECOND))
            fail_msg("%s: values stay side by side", sorts[sort]);
        items = custom_items(custom, JVMS);
        assert_true(items.has[1] && items.has[2]);
        custom_free(custom);
    }
}

/* ---- crashes ---- */

/* All JVM nodes crash, and start again without data. */
static void jvms_that_start_again_find_every_acknowledged_write(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        for (int sort = 0; sort < CUSTOM_SORT_COUNT; sort++) {
            struct custom *custom = start(seed, (enum custom_sort)sort);
            struct cluster *c = custom->cluster;
            struct custom_items wanted = { 0 }, found;
            uint64_t tokens[20], token;

            for (uint32_t i = 0; i < 20; i++) {
                tokens[i] = custom_add(custom, i % JVMS, i, to_all(1000));
                cluster_run(c, rng_below(&c->rng, 30) * MS);
            }
            for (uint32_t i = 0; i < 20; i++)
                wanted.has[i] = is_answered(c, i % JVMS, tokens[i], REPLICATOR_SUCCESS);
            for (uint32_t i = 0; i < JVMS; i++)
                custom_restart(custom, i);
            token = custom_get(custom, 0, to_all(1000));
            cluster_run(c, 1 * SECOND);
            found = custom_items_of(custom, answer_of(c, 0, token)->value);
            if (!is_answered(c, 0, token, REPLICATOR_SUCCESS) || !custom_has_all(&found, &wanted))
                fail_msg("%s, seed %u: a read finds an older value", sorts[sort], (unsigned)seed);
            cluster_run(c, 30 * SECOND);
            for (uint32_t i = 0; i < c->count; i++) {
                found = custom_items(custom, i);
                if (!custom_has_all(&found, &wanted))
                    fail_msg("%s, seed %u: node %u has an older value", sorts[sort], (unsigned)seed, (unsigned)i);
            }
            custom_free(custom);
        }
    }
}

/* The last values of a JVM node that is gone reach all others, also without a JVM node. */
static void others_pass_on_the_values_of_a_jvm_that_is_gone(void **state)
{
    (void)state;
    for (int sort = 0; sort < CUSTOM_SORT_COUNT; sort++) {
        struct custom *custom = start(3, (enum custom_sort)sort);
        struct cluster *c = custom->cluster;
        struct custom_items items;
        uint32_t holder = JVMS;

        (void)custom_add(custom, 0, 1, to_all(1000));
        cluster_run(c, 1 * SECOND);
        for (uint32_t i = 1; i < c->count; i++) /* only one node hears of the next */
            c->nodes[i].side = i != holder;
        (void)custom_add(custom, 0, 2, to_count(2, 1000));
        cluster_run(c, 1 * SECOND);
        items = custom_items(custom, holder);
        assert_true(items.has[2]);
        cluster_remove(c, 0);
        cluster_remove(c, 1);
        for (uint32_t i = JVMS; i < c->count; i++)
            c->nodes[i].side = 0;
        cluster_run(c, 30 * SECOND);
        for (uint32_t i = JVMS; i < c->count; i++) {
            items = custom_items(custom, i);
            if (!items.has[1] || !items.has[2])
                fail_msg("%s: node %u lacks a value", sorts[sort], (unsigned)i);
        }
        custom_free(custom);
    }
}

/* ---- at random ---- */

static struct consistency some_level(struct cluster *c)
{
    switch (rng_below(&c->rng, 4)) {
    case 0:
        return to_majority(500);
    case 1:
        return to_all(500);
    case 2:
        return to_count(2, 500);
    default:
        return local;
    }
}

struct run {
    struct custom *custom;
    struct custom_items before[CLUSTER_NODES_MAX];
    uint64_t seed;
    uint32_t next;
};

static void check_all(struct run *run)
{
    struct custom *custom = run->custom;

    for (uint32_t i = JVMS; i < custom->cluster->count; i++) {
        struct custom_items items = custom_items(custom, i);

        if (!custom_has_all(&items, &run->before[i]))
            fail_msg("seed %u (%s): node %u went back to an older value",
                     (unsigned)run->seed, sorts[custom->sort], (unsigned)i);
        if (!custom_has_all(&items, &custom->promised[i]))
            fail_msg("seed %u (%s): node %u lacks what it acknowledged",
                     (unsigned)run->seed, sorts[custom->sort], (unsigned)i);
        run->before[i] = items;
    }
}

static void disturb(struct run *run)
{
    struct cluster *c = run->custom->cluster;
    uint32_t index = (uint32_t)rng_below(&c->rng, c->count);

    switch (rng_below(&c->rng, 7)) {
    case 0:
        cluster_split(c, 1 + (uint32_t)rng_below(&c->rng, c->count - 1));
        break;
    case 1:
        c->loss_percent = (uint32_t)rng_below(&c->rng, 30);
        break;
    case 2:
    case 3:
        cluster_heal(c);
        custom_restart(run->custom, index);
        if (!run->custom->is_durable)
            memset(&run->before[index], 0, sizeof run->before[index]);
        break;
    case 4:
        cluster_heal(c);
        for (uint32_t i = 0; i < JVMS; i++)
            custom_restart(run->custom, i);
        break;
    default:
        c->loss_percent = 0;
        cluster_heal(c);
        break;
    }
}

static void act(struct run *run)
{
    struct custom *custom = run->custom;
    struct cluster *c = custom->cluster;
    uint32_t index = (uint32_t)rng_below(&c->rng, c->count);

    if (rng_below(&c->rng, 5) == 0)
        (void)custom_get(custom, index, some_level(c));
    else if (custom->is_jvm[index] || custom->sort == CUSTOM_MAP)
        (void)custom_add(custom, index, run->next++, some_level(c));
}

static void run_seed(uint64_t seed, enum custom_sort sort)
{
    struct run run = { .custom = custom_new(seed, sort, JVMS, OTHERS, seed % 3 == 0),
                       .seed = seed };
    struct custom *custom = run.custom;
    struct cluster *c = custom->cluster;
    bool is_unsteady = seed % 4 == 0;

    custom->is_unsteady = is_unsteady;
    custom->late_percent = 20;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        act(&run);
        if (rng_below(&c->rng, 12) == 0)
            disturb(&run);
        cluster_run(c, rng_below(&c->rng, 300) * MS);
        check_all(&run);
    }
    c->loss_percent = 0;
    cluster_heal(c);
    custom->is_unsteady = false;
    custom->late_percent = 0;
    (void)custom_add(custom, 0, run.next++, local); /* all encode again */
    if (!agree_within(custom, 120 * SECOND)) {
        for (uint32_t i = 0; i < c->count; i++)
            fprintf(stderr, "node %u: %u values\n", (unsigned)i, (unsigned)custom_count(custom, i));
        fail_msg("seed %u (%s): nodes differ", (unsigned)seed, sorts[sort]);
    }
    cluster_run(c, 30 * SECOND);
    for (uint32_t i = 0; i < c->count; i++)
        if (custom_has_removed(custom, i))
            fail_msg("seed %u (%s): node %u has parts of removed nodes",
                     (unsigned)seed, sorts[sort], (unsigned)i);
    custom_free(custom);
}

static void nothing_goes_back_to_an_older_value(void **state)
{
    const char *only = getenv("CUSTOM_SEED");

    (void)state;
    for (uint64_t seed = only ? strtoull(only, NULL, 10) : 1; seed <= SEEDS; seed++) {
        run_seed(seed, (enum custom_sort)(seed % CUSTOM_SORT_COUNT));
        if (only)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_to_all_and_to_a_majority_succeed),
        cmocka_unit_test(concurrent_values_stay_side_by_side_and_are_merged_by_a_jvm),
        cmocka_unit_test(jvms_that_start_again_find_every_acknowledged_write),
        cmocka_unit_test(others_pass_on_the_values_of_a_jvm_that_is_gone),
        cmocka_unit_test(nothing_goes_back_to_an_older_value),
    };

    return cmocka_run_group_tests_name("ddata_custom", tests, NULL, NULL);
}
