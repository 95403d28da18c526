/* Tests partitions without an operator: at most one side stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cast.h"

#define COUNT 5
#define STABLE (3 * SECOND)
#define RELEASE (15 * SECOND) /* longer than a partition takes to be seen and decided */

static const char *const core[] = { "core" };

/* The first `with_role` nodes have the role "core". */
static struct world *cluster_with(uint64_t seed, struct strategy strategy,
                                  const char *role, uint32_t with_role,
                                  uint64_t pause)
{
    struct world *world = cast_new(seed);

    cast_begin();
    for (uint32_t i = 0; i < COUNT; i++) {
        struct node_settings settings =
            world_node_settings(world, i, cast_types, CAST_TYPES);

        settings.resolves = true;
        settings.resolver_role = role;
        if (i < with_role) {
            settings.roles = core;
            settings.role_count = 1;
        }
        settings.acceptable_heartbeat_pause = pause;
        settings.resolver.strategy = strategy;
        settings.resolver.stable_after = STABLE;
        settings.resolver.unstable_after = 4 * SECOND;
        settings.resolver.release_after = RELEASE;
        settings.down_removal_margin = STABLE;
        world_start(world, i, &settings);
        /* alone, so it is the oldest */
        assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    }
    return world;
}

static struct world *cluster(uint64_t seed, struct strategy strategy)
{
    return cluster_with(seed, strategy, NULL, 0, 0);
}

/* Cuts nodes from `first` on off from those before it. */
static void part(struct world *world, uint32_t first)
{
    for (uint32_t i = 0; i < first; i++)
        for (uint32_t k = first; k < COUNT; k++)
            net_part(world, i, k, true);
}

/* Makes three parts: nodes before `second`, those before `third`, and the rest. */
static void part_in_three(struct world *world, uint32_t second, uint32_t third)
{
    part(world, second);
    for (uint32_t i = second; i < third; i++)
        for (uint32_t k = third; k < COUNT; k++)
            net_part(world, i, k, true);
}

static void pair_off(struct world *world, uint32_t left, uint32_t right)
{
    net_part(world, left, right, true);
}

static bool has_ended(struct world *world, uint32_t node)
{
    const struct world_node *place = world_node(world, node);

    return place->has_ended && place->error == SHERD_EDOWN;
}

/* Nodes first..last ended because they were downed, and no other did. */
static void assert_ended(struct world *world, uint32_t first, uint32_t last)
{
    for (uint32_t i = 0; i < COUNT; i++)
        if (has_ended(world, i) != (i >= first && i <= last))
            fail_msg("node %u has %sended", i,
                     has_ended(world, i) ? "" : "not ");
}

static uint32_t members_of(struct world *world, uint32_t node)
{
    struct sherd_status status = world_status(world, node);
    uint32_t count = status.member_count;

    world_status_fini(&status);
    return count;
}

static void the_majority_stays(void **state)
{
    struct world *world = cluster(
        1, (struct strategy){ .kind = STRATEGY_KEEP_MAJORITY });
    struct player player;
    const char *id;

    (void)state;
    player_spawn(&player, world, 0, 0);
    id = cast_id_at(&player, "P", 4);
    assert_int_equal(player_asks(&player, "P", id, STORE), 1);
    part(world, 3);
    world_run(world, 25 * SECOND);
    assert_ended(world, 3, 4);
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    assert_int_equal(members_of(world, 0), 3);
    assert_true(world_logged(world, 0,
                             "resolver: decides decision=down-unreachable"));
    assert_true(world_logged(world, 3,
                             "resolver: decides decision=down-reachable"));
    /* Entities of the other side run here, with their events. */
    player.count = 0;
    player_ask(&player, "P", id, STORE, 60000);
    assert_non_null(player_hears(&player, 60 * SECOND));
    assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
    assert_int_equal(player_last(&player)->value, 2);
    world_free(world);
}

static void a_majority_without_the_oldest_stays(void **state)
{
    struct world *world = cluster(
        2, (struct strategy){ .kind = STRATEGY_KEEP_MAJORITY });
    struct player player;

    (void)state;
    part(world, 2);
    world_run(world, 25 * SECOND);
    assert_ended(world, 0, 1);
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    assert_int_equal(members_of(world, 4), 3);
    player_spawn(&player, world, 4, 0);
    player_ask(&player, "P", "anything", STORE, 60000);
    assert_non_null(player_hears(&player, 60 * SECOND));
    assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
    world_free(world);
}

static void a_quorum_stays(void **state)
{
    struct world *world = cluster(
        3, (struct strategy){ .kind = STRATEGY_STATIC_QUORUM,
                              .quorum_size = 3 });

    (void)state;
    part(world, 2);
    world_run(world, 25 * SECOND);
    assert_ended(world, 0, 1);
    assert_int_equal(members_of(world, 2), 3);
    world_free(world);
}

static void the_side_of_the_oldest_stays(void **state)
{
    struct world *world =
        cluster(4, (struct strategy){ .kind = STRATEGY_KEEP_OLDEST });

    (void)state;
    part(world, 2);
    world_run(world, 25 * SECOND);
    assert_ended(world, 2, 4);
    assert_int_equal(members_of(world, 0), 2);
    world_free(world);
}

static void an_oldest_that_is_alone_is_downed(void **state)
{
    struct world *world =
        cluster(5, (struct strategy){ .kind = STRATEGY_KEEP_OLDEST });

    (void)state;
    part(world, 1);
    world_run(world, 25 * SECOND);
    assert_ended(world, 0, 0);
    assert_int_equal(members_of(world, 1), 4);
    world_free(world);
}

static void down_all_keeps_no_side(void **state)
{
    struct world *world =
        cluster(6, (struct strategy){ .kind = STRATEGY_DOWN_ALL });

    (void)state;
    part(world, 3);
    world_run(world, 25 * SECOND);
    assert_ended(world, 0, 4);
    world_free(world);
}

static void a_crashed_node_is_downed(void **state)
{
    struct world *world = cluster(
        7, (struct strategy){ .kind = STRATEGY_KEEP_MAJORITY });

    (void)state;
    world_crash(world, 2);
    world_run(world, 20 * SECOND);
    assert_true(world_until(world, world_all_up, NULL, 10 * SECOND));
    assert_int_equal(members_of(world, 0), 4);
    world_free(world);
}

/* As in Akka, each part sees all others as one side. So none stays if each is smaller than the
 * rest, or if the oldest is alone and the others miss more than it. */
static void at_most_one_of_three_parts_stays(void **state)
{
    static const struct three {
        struct strategy strategy;
        uint32_t second, third;
        uint32_t first_ended, last_ended;
    } cases[] = {
        { { .kind = STRATEGY_KEEP_MAJORITY }, 3, 4, 3, 4 },
        { { .kind = STRATEGY_KEEP_MAJORITY }, 1, 2, 0, 1 },
        { { .kind = STRATEGY_KEEP_MAJORITY }, 2, 4, 0, 4 },
        { { .kind = STRATEGY_STATIC_QUORUM, .quorum_size = 3 }, 1, 2, 0, 1 },
        { { .kind = STRATEGY_STATIC_QUORUM, .quorum_size = 3 }, 2, 4, 0, 4 },
        { { .kind = STRATEGY_STATIC_QUORUM, .quorum_size = 3 }, 3, 4, 3, 4 },
        { { .kind = STRATEGY_KEEP_OLDEST }, 2, 4, 2, 4 },
        { { .kind = STRATEGY_KEEP_OLDEST }, 1, 3, 0, 4 },
        { { .kind = STRATEGY_KEEP_OLDEST, .keeps_alone = true }, 1, 3, 1, 4 },
    };
    (void)state;

    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct three *three = &cases[i];
        struct world *world = cluster(20 + i, three->strategy);

        part_in_three(world, three->second, three->third);
        world_run(world, 30 * SECOND);
        assert_ended(world, three->first_ended, three->last_ended);
        for (uint32_t k = 0; k < COUNT; k++)
            if (!has_ended(world, k))
                assert_int_equal(members_of(world, k),
                                 COUNT - 1 - three->last_ended +
                                     three->first_ended);
        world_free(world);
    }
}

/* All others reach both nodes. */
static void indirectly_connected_members_are_downed(void **state)
{
    struct world *world = cluster(
        8, (struct strategy){ .kind = STRATEGY_KEEP_MAJORITY });

    (void)state;
    pair_off(world, 3, 4);
    world_run(world, 30 * SECOND);
    assert_ended(world, 3, 4);
    assert_int_equal(members_of(world, 0), 3);
    world_free(world);
}

static void indirectly_connected_members_are_downed_with_a_partition_SBR104(
    void **state)
{
    struct world *world = cluster(
        9, (struct strategy){ .kind = STRATEGY_KEEP_MAJORITY });

    (void)state;
    part(world, 3);
    pair_off(world, 1, 2);
    world_run(world, 30 * SECOND);
    assert_ended(world, 1, 4);
    assert_int_equal(members_of(world, 0), 1);
    world_free(world);
}

/* Many members lack the role, and do not count. */
static void the_majority_of_a_role_stays(void **state)
{
    struct world *world =
        cluster_with(14, (struct strategy){ .kind = STRATEGY_KEEP_MAJORITY },
                     "core", 2, 0);

    (void)state;
    part(world, 2);
    world_run(world, 25 * SECOND);
    assert_ended(world, 2, 4);
    assert_int_equal(members_of(world, 0), 2);
    assert_true(world_logged(world, 0, " counted=2 unreachable=3 "));
    world_free(world);
}

/* It counts even while it is heard. Two nodes are indirectly connected, and alone they would end.
 * With the downed member the quorum counts, which no side has. */
static void a_downed_member_counts_as_unreachable(void **state)
{
    struct world *world = cluster_with(
        15, (struct strategy){ .kind = STRATEGY_STATIC_QUORUM,
                               .quorum_size = 5 },
        NULL, 0, 30 * SECOND); /* not missed here */

    (void)state;
    pair_off(world, 1, 2);
    while (!world_logged(world, 1, "member unreachable member=n2") ||
           !world_logged(world, 2, "member unreachable member=n1"))
        world_run(world, 100 * MS);
    world_down(world, 0, 4);
    world_run(world, 20 * SECOND);
    assert_false(world_logged(world, 0, "member unreachable member=n4"));
    assert_ended(world, 0, 4);
    world_free(world);
}

static void a_partition_that_heals_in_time_downs_no_member(void **state)
{
    struct world *world = cluster(
        10, (struct strategy){ .kind = STRATEGY_KEEP_MAJORITY });

    (void)state;
    world_run(world, 10 * SECOND); /* the intervals of heartbeats are known */
    net_part(world, 3, 4, true);
    world_run(world, 6 * SECOND); /* seen after four, decided after seven */
    assert_true(world_logged(world, 3, "member: unreachable"));
    net_part(world, 3, 4, false);
    world_run(world, 30 * SECOND);
    assert_true(world_all_up(world, NULL));
    assert_int_equal(members_of(world, 0), 5);
    world_free(world);
}

/* The smaller side asks later and is refused. The lease is released when the others are removed. */
static void the_side_with_the_lease_stays_SBR105(void **state)
{
    struct world *world = cluster(
        12, (struct strategy){ .kind = STRATEGY_LEASE_MAJORITY,
                               .minority_delay = 2 * SECOND });

    (void)state;
    part(world, 2);
    world_run(world, 25 * SECOND);
    assert_ended(world, 0, 1);
    assert_int_equal(members_of(world, 2), 3);
    assert_true(world_logged(
        world, 2, "resolver: decides decision=down-unreachable-by-lease"));
    assert_true(world_logged(world, 0,
                             "resolver: decides decision=down-reachable"));
    assert_true(world_logged(world, 2, "lease: lease is held"));
    world_run(world, 10 * SECOND);
    assert_true(world_logged(world, 2, "lease: lease is releasing"));
    /* It can be acquired again. */
    world_crash(world, 3);
    world_run(world, 20 * SECOND);
    assert_int_equal(members_of(world, 2), 2);
    world_free(world);
}

/* A center would end because another center holds the lease. */
static void a_lease_name_shared_by_centers_is_logged(void **state)
{
    static const char *const names[] = { NULL, "west-sbr" };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world *world = cast_new(15);
        struct node_settings settings =
            world_node_settings(world, 0, cast_types, CAST_TYPES);

        cast_begin();
        settings.resolves = true;
        settings.resolver.strategy.kind = STRATEGY_LEASE_MAJORITY;
        settings.data_center = "west";
        settings.lease_name = names[i];
        world_start(world, 0, &settings);
        assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
        assert_int_equal(
            world_logged(world, 0, "lease: all data centers ask for one lease"),
            i == 0);
        world_free(world);
    }
}

/* Without a name, also without one but blanks, it is that of the system. */
static void the_lease_has_the_configured_name_or_the_systems_SBR001_SBR002(
    void **state)
{
    static const char *const names[] = { NULL, "", " \t", "mine" };

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct world *world = cast_new(16);
        char text[80] = "lease: lease is held name=mine ";

        cast_begin();
        for (uint32_t node = 0; node < 2; node++) {
            struct node_settings settings =
                world_node_settings(world, node, cast_types, CAST_TYPES);

            settings.resolves = true;
            settings.resolver.strategy.kind = STRATEGY_LEASE_MAJORITY;
            settings.resolver.stable_after = STABLE;
            settings.lease_name = names[i];
            world_start(world, node, &settings);
            if (i < 3)
                (void)snprintf(text, sizeof text,
                               "lease: lease is held name=%s-akka-sbr ",
                               settings.identity.system);
        }
        assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
        world_crash(world, 1);
        world_run(world, 30 * SECOND);
        assert_int_equal(members_of(world, 0), 1);
        assert_true(world_logged(world, 0, text));
        world_free(world);
    }
}

/* The others win the lease, remove the majority and release the lease. The majority may not win it
 * afterwards. */
static void a_paused_majority_ends_after_the_others_had_the_lease(void **state)
{
    struct world *world = cluster(
        13, (struct strategy){ .kind = STRATEGY_LEASE_MAJORITY,
                               .minority_delay = 2 * SECOND });

    (void)state;
    world_run(world, 3 * SECOND); /* heartbeats: each node has met all others */
    for (uint32_t i = 0; i < 3; i++)
        world_pause(world, i, true);
    world_run(world, 60 * SECOND);
    assert_int_equal(members_of(world, 3), 2);
    assert_true(world_logged(world, 3, "lease: lease is held"));
    assert_true(world_logged(world, 3, "lease: lease is releasing"));
    part(world, 3); /* they reach each other first */
    for (uint32_t i = 0; i < 3; i++)
        world_pause(world, i, false);
    world_run(world, 5 * SECOND / 2);
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t k = 3; k < COUNT; k++)
            net_part(world, i, k, false);
    world_run(world, 60 * SECOND);
    assert_ended(world, 0, 2);
    assert_int_equal(members_of(world, 3), 2);
    world_free(world);
}

/* In some of these worlds, the lease of the first partition is about to be released. */
static void a_second_partition_finds_the_lease_taken(void **state)
{
    (void)state;
    for (uint64_t wait = 0; wait < 8 * SECOND; wait += SECOND / 2) {
        struct world *world = cluster(
            14, (struct strategy){ .kind = STRATEGY_LEASE_MAJORITY,
                                   .minority_delay = 2 * SECOND });

        part(world, 2);
        world_run(world, 12 * SECOND + wait);
        assert_int_equal(members_of(world, 2), 3);
        part(world, 4);
        world_run(world, 40 * SECOND);
        assert_int_equal(members_of(world, 2), 2);
        assert_true(has_ended(world, 4));
        world_free(world);
    }
}

/* The lease stays taken until it would have been released, not for its time to live, in which a
 * crash would end all others. */
static void a_leaving_node_keeps_the_lease_no_longer(void **state)
{
    struct world *world = cluster(
        16, (struct strategy){ .kind = STRATEGY_LEASE_MAJORITY,
                               .minority_delay = 2 * SECOND });
    uint32_t holder = 2;

    (void)state;
    part(world, 2);
    world_run(world, 12 * SECOND);
    assert_int_equal(members_of(world, holder), 3);
    world_leave(world, holder);
    assert_true(world_until(world, world_node_ended, &holder, 10 * SECOND));
    assert_true(world_logged(world, holder, "lease: lease is held"));
    assert_int_equal(world_node(world, holder)->error, 0);
    world_run(world, RELEASE + 5 * SECOND);
    world_crash(world, 3);
    world_run(world, 30 * SECOND);
    assert_false(has_ended(world, 4));
    assert_int_equal(members_of(world, 4), 1);
    world_free(world);
}

static void the_resolver_is_off_by_default(void **state)
{
    struct world *world = cast_world(11, 3, 1);

    (void)state;
    world_crash(world, 2);
    world_run(world, 120 * SECOND);
    assert_int_equal(members_of(world, 0), 3);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_majority_stays),
        cmocka_unit_test(a_majority_without_the_oldest_stays),
        cmocka_unit_test(a_quorum_stays),
        cmocka_unit_test(the_side_of_the_oldest_stays),
        cmocka_unit_test(an_oldest_that_is_alone_is_downed),
        cmocka_unit_test(down_all_keeps_no_side),
        cmocka_unit_test(a_crashed_node_is_downed),
        cmocka_unit_test(at_most_one_of_three_parts_stays),
        cmocka_unit_test(indirectly_connected_members_are_downed),
        cmocka_unit_test(
            indirectly_connected_members_are_downed_with_a_partition_SBR104),
        cmocka_unit_test(the_majority_of_a_role_stays),
        cmocka_unit_test(a_downed_member_counts_as_unreachable),
        cmocka_unit_test(a_partition_that_heals_in_time_downs_no_member),
        cmocka_unit_test(the_side_with_the_lease_stays_SBR105),
        cmocka_unit_test(a_lease_name_shared_by_centers_is_logged),
        cmocka_unit_test(
            the_lease_has_the_configured_name_or_the_systems_SBR001_SBR002),
        cmocka_unit_test(a_paused_majority_ends_after_the_others_had_the_lease),
        cmocka_unit_test(a_second_partition_finds_the_lease_taken),
        cmocka_unit_test(a_leaving_node_keeps_the_lease_no_longer),
        cmocka_unit_test(the_resolver_is_off_by_default),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
