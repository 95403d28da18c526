/* Tests a split in two sides with each strategy of the resolver: which side stays, and that shards,
 * entities and coordinators never exist twice. The scenes are those of Akka's integration test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cast.h"

#define NODES_MAX 9
#define ENTITIES 12
#define STABLE (3 * SECOND)

enum outcome { BOTH_END, FIRST_STAYS, SECOND_STAYS };

struct split {
    struct strategy strategy;
    uint32_t first, second; /* nodes of each side; the first ones are older */
    enum outcome outcome;
};

struct coordinators {
    struct world *world;
    uint32_t together; /* at most, at one time */
    bool lives[NODES_MAX];
};

static void follow_coordinators(void *user, uint32_t node, uint32_t machine,
                                const struct probe *probe)
{
    struct coordinators *seen = user;
    uint32_t living = 0;

    (void)machine;
    if (probe->type != 0)
        return;
    if (probe->kind == PROBE_COORDINATOR_STARTED)
        seen->lives[node] = true;
    if (probe->kind == PROBE_COORDINATOR_ENDED)
        seen->lives[node] = false;
    /* A downed node ends with its coordinator. */
    for (uint32_t i = 0; i < world_node_count(seen->world); i++)
        living += seen->lives[i] && !world_node(seen->world, i)->has_ended;
    if (living > seen->together)
        seen->together = living;
}

static void start(struct world *world, const struct split *split, uint32_t i)
{
    struct node_settings settings =
        world_node_settings(world, i, cast_types, CAST_TYPES);

    settings.probes = true;
    settings.resolves = true;
    settings.resolver.strategy = split->strategy;
    settings.resolver.stable_after = STABLE;
    settings.resolver.unstable_after = 4 * SECOND;
    settings.resolver.release_after = 15 * SECOND;
    settings.down_removal_margin = STABLE;
    world_start(world, i, &settings);
    /* alone, so that the first one is the oldest */
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
}

static void cut_sides(struct world *world, const struct split *split)
{
    for (uint32_t i = 0; i < split->first; i++)
        for (uint32_t k = 0; k < split->second; k++)
            net_part(world, i, split->first + k, true);
}

/* Each entity persists one more event, from this node. */
static void persist(struct world *world, uint32_t node, uint64_t expected)
{
    struct player player;
    char id[8];

    player_spawn(&player, world, node, 0);
    for (uint32_t e = 0; e < ENTITIES; e++) {
        (void)snprintf(id, sizeof id, "e%u", e);
        player.count = 0;
        player_ask(&player, "P", id, STORE, 60000);
        assert_non_null(player_hears(&player, 60 * SECOND));
        assert_int_equal(player_last(&player)->kind, SHERD_ANSWER);
        assert_int_equal(player_last(&player)->value, expected);
    }
}

static void at_most_one_side_stays(void **state)
{
    const struct split *split = *state;
    uint32_t count = split->first + split->second;
    struct world *world = cast_new(61);
    struct coordinators seen = { .world = world };
    uint32_t from = split->outcome == SECOND_STAYS ? split->first : 0;
    uint32_t to = split->outcome == FIRST_STAYS ? split->first : count;

    cast_begin();
    world_observe(world, &(struct world_observer){
                             .user = &seen, .probe = follow_coordinators });
    for (uint32_t i = 0; i < count; i++)
        start(world, split, i);
    persist(world, 0, 1);
    cut_sides(world, split);
    world_run(world, 40 * SECOND);
    for (uint32_t i = 0; i < count; i++) {
        bool stays = split->outcome != BOTH_END && i >= from && i < to;

        assert_int_equal(world_node(world, i)->has_ended, !stays);
        if (!stays)
            assert_int_equal(world_node(world, i)->error, SHERD_EDOWN);
    }
    if (split->outcome != BOTH_END) {
        persist(world, to - 1, 2);
        assert_int_equal(cast_running(world, 1), ENTITIES);
    }
    assert_int_equal(seen.together, 1);
    world_free(world);
}

#define QUORUM { .kind = STRATEGY_STATIC_QUORUM, .quorum_size = 5 }
#define MAJORITY { .kind = STRATEGY_KEEP_MAJORITY }
#define OLDEST { .kind = STRATEGY_KEEP_OLDEST }
#define DOWN_ALL { .kind = STRATEGY_DOWN_ALL }
#define LEASE { .kind = STRATEGY_LEASE_MAJORITY, .minority_delay = 2 * SECOND }
#define SPLIT(name, ...)                                                       \
    { #name, at_most_one_side_stays, NULL, NULL, &(struct split){ __VA_ARGS__ } }

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPLIT(a_quorum_of_5_keeps_none_of_1_and_2_SBR108, QUORUM, 1, 2,
              BOTH_END),
        SPLIT(a_quorum_of_5_keeps_none_of_4_and_4_SBR109, QUORUM, 4, 4,
              BOTH_END),
        SPLIT(a_quorum_of_5_keeps_the_first_of_5_and_4_SBR110, QUORUM, 5, 4,
              FIRST_STAYS),
        SPLIT(a_quorum_of_5_keeps_the_second_of_1_and_5_SBR111, QUORUM, 1, 5,
              SECOND_STAYS),
        SPLIT(a_quorum_of_5_keeps_the_second_of_4_and_5_SBR112, QUORUM, 4, 5,
              SECOND_STAYS),
        SPLIT(a_majority_of_2_and_1_stays_SBR113, MAJORITY, 2, 1, FIRST_STAYS),
        SPLIT(a_majority_of_1_and_2_stays_SBR114, MAJORITY, 1, 2,
              SECOND_STAYS),
        SPLIT(a_majority_of_4_and_5_stays_SBR115, MAJORITY, 4, 5,
              SECOND_STAYS),
        SPLIT(the_lowest_address_of_4_and_4_stays_SBR116, MAJORITY, 4, 4,
              FIRST_STAYS),
        SPLIT(the_oldest_of_3_and_3_stays_SBR117, OLDEST, 3, 3, FIRST_STAYS),
        SPLIT(the_oldest_of_1_and_1_stays_SBR118, OLDEST, 1, 1, FIRST_STAYS),
        SPLIT(the_oldest_alone_of_1_and_2_ends_SBR119, OLDEST, 1, 2,
              SECOND_STAYS),
        SPLIT(down_all_keeps_none_of_1_and_2_SBR121, DOWN_ALL, 1, 2, BOTH_END),
        SPLIT(the_lease_goes_to_the_second_of_4_and_5, LEASE, 4, 5,
              SECOND_STAYS),
    };

    return cmocka_run_group_tests_name("split", tests, NULL, NULL);
}
