/* Tests the limit of removed members in a singleton manager. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/rng.h"
#include "base/timers.h"
#include "singleton/singleton_state.h"

static struct node_id node_of(uint32_t n)
{
    struct node_id node = { .address = { .port = 2550 }, .uid = 100 + n };

    snprintf(node.address.host, sizeof node.address.host, "n%u", (unsigned)n);
    return node;
}

static void remember(struct singleton *singleton, const struct node_id *node)
{
    struct kept_member kept = { 0 };

    kept_member_set(&kept, &(struct member_info){ .node = *node });
    singleton_remember_removed(singleton, &kept);
    kept_member_fini(&kept);
}

/* A ring: it forgets the oldest. */
static void removed_members_have_a_limit(void **state)
{
    struct identity identity = { "akka", "S", node_of(0) };
    struct singleton *singleton = singleton_new(
        &(struct singleton_options){ .identity = &identity,
                                     .path = "/system/s", .seed = 1 },
        SECOND);
    struct node_id node;
    (void)state;

    for (uint32_t n = 1; n <= SINGLETON_REMOVED_MAX; n++) {
        node = node_of(n);
        remember(singleton, &node);
    }
    node = node_of(1);
    assert_true(singleton_is_removed(singleton, &node));
    assert_int_equal(singleton_counters(singleton)->forgotten, 0);
    node = node_of(SINGLETON_REMOVED_MAX + 1);
    remember(singleton, &node);
    assert_int_equal(singleton_counters(singleton)->forgotten, 1);
    assert_true(singleton_is_removed(singleton, &node));
    node = node_of(1);
    assert_false(singleton_is_removed(singleton, &node));
    node = node_of(2);
    assert_true(singleton_is_removed(singleton, &node));
    singleton_free(singleton);
}

/* Members removed a quarter of an hour ago are forgotten, later ones are not. */
static void removed_members_are_forgotten_by_age(void **state)
{
    struct identity identity = { "akka", "S", node_of(0) };
    struct singleton *singleton = singleton_new(
        &(struct singleton_options){ .identity = &identity,
                                     .path = "/system/s", .seed = 1 },
        SECOND);
    struct outbox outbox = { 0 };
    (void)state;

    for (uint32_t n = 1; n <= 9; n++) {
        struct node_id node = node_of(n);

        singleton_peer_removed(singleton, n / 4 * 120 * SECOND, &node, false);
        singleton_peers_done(singleton, n / 4 * 120 * SECOND, &outbox);
    }
    for (uint32_t minute = 0; minute < 25; minute++) {
        singleton_step(singleton, (minute * 60 + 1) * SECOND, &outbox);
        for (uint32_t n = 1; n <= 9; n++) {
            struct node_id node = node_of(n);

            assert_int_equal(singleton_is_removed(singleton, &node),
                             minute < n / 4 * 2 + 15);
        }
    }
    assert_int_equal(singleton->removed.count, 0);
    outbox_fini(&outbox);
    singleton_free(singleton);
}

/* Its age is n. */
static void tell_up(struct singleton *singleton, uint32_t n)
{
    singleton_peer(singleton, SECOND,
                   &(struct member_info){ .node = node_of(n),
                                   .status = MEMBER_UP,
                                   .up_number = (int32_t)n,
                                   .reachable = true,
                                   .has_role = true });
}

/* All older members go at once, in any order: the remaining one takes over without a question. */
static void a_member_takes_over_when_all_older_members_end(void **state)
{
    enum { OLDER = 900 };
    struct identity identity = { "akka", "S", node_of(OLDER + 1) };
    struct singleton *singleton = singleton_new(
        &(struct singleton_options){ .identity = &identity,
                                     .path = "/system/s", .seed = 1 },
        SECOND);
    struct outbox outbox = { 0 };
    struct outbound out;
    (void)state;

    for (uint32_t i = 0; i <= OLDER; i++)
        tell_up(singleton, 1 + i * 7 % (OLDER + 1));
    singleton_peers_done(singleton, SECOND, &outbox);
    assert_int_equal(singleton_state(singleton), SINGLETON_YOUNGER);
    assert_int_equal(singleton->previous.count, OLDER);
    for (uint32_t i = 0; i < OLDER; i++) {
        struct node_id node = node_of(1 + i * 11 % OLDER);

        singleton_peer_removed(singleton, SECOND, &node, false);
    }
    singleton_peers_done(singleton, SECOND, &outbox);
    assert_int_equal(singleton_state(singleton), SINGLETON_OLDEST);
    assert_int_equal(singleton->previous.count, 0);
    assert_false(outbox_next(&outbox, &out));
    outbox_fini(&outbox);
    singleton_free(singleton);
}

enum { NODES = 300 };

/* Age 0: not a member. */
static void expect_oldest(const struct singleton *singleton,
                          const int32_t ages[NODES])
{
    struct node_id expected = { .uid = 0 };
    struct node_id found;
    int32_t least = INT32_MAX;
    uint32_t count = 0;

    for (uint32_t n = 0; n < NODES; n++) {
        struct node_id node = node_of(n);

        count += ages[n] != 0;
        assert_int_equal(singleton_is_member(singleton, &node), ages[n] != 0);
        if (!ages[n] || ages[n] > least)
            continue;
        least = ages[n];
        expected = node;
    }
    assert_int_equal(singleton->members.count, count);
    assert_int_equal(singleton_oldest(singleton, &found), count > 0);
    assert_true(!count || node_equal(&found, &expected));
}

/* Hundreds of members come, change and go; a search finds each at once. */
static void many_members_join_and_leave(void **state)
{
    struct identity identity = { "akka", "S", node_of(NODES) };
    struct singleton *singleton = singleton_new(
        &(struct singleton_options){ .identity = &identity,
                                     .path = "/system/s", .seed = 1 },
        SECOND);
    struct outbox outbox = { 0 };
    int32_t ages[NODES] = { 0 };
    struct rng rng;
    (void)state;

    rng_init(&rng, 5);
    for (uint32_t round = 0; round < 60; round++) {
        for (uint64_t i = rng_below(&rng, 200); i > 0; i--) {
            uint32_t n = (uint32_t)rng_below(&rng, NODES);
            struct node_id node = node_of(n);

            if (ages[n] && rng_below(&rng, 2)) {
                ages[n] = 0;
                singleton_peer_removed(singleton, SECOND, &node, false);
                continue;
            }
            ages[n] = ages[n] ? ages[n] : 1 + (int32_t)(round * NODES + n);
            singleton_peer(singleton, SECOND,
                           &(struct member_info){ .node = node,
                                           .status = MEMBER_UP,
                                           .up_number = ages[n],
                                           .reachable = true,
                                           .has_role = true });
        }
        singleton_peers_done(singleton, SECOND, &outbox);
        expect_oldest(singleton, ages);
        assert_int_equal(singleton->delayed.count, 0);
    }
    outbox_fini(&outbox);
    singleton_free(singleton);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(removed_members_have_a_limit),
        cmocka_unit_test(removed_members_are_forgotten_by_age),
        cmocka_unit_test(a_member_takes_over_when_all_older_members_end),
        cmocka_unit_test(many_members_join_and_leave),
    };

    return cmocka_run_group_tests_name("singleton_limits", tests, NULL, NULL);
}
