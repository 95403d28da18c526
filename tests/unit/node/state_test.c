/* Coordinators' states on whole nodes: how many members must have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cast.h"

#define NODES 3

/* Three nodes that are up; the third one is paused until the others have seen that, and so it stays. */
static struct world *with_one_away(const struct node_settings *as)
{
    struct world *world = cast_new(5);

    cast_begin();
    for (uint32_t i = 0; i < NODES; i++) {
        struct node_settings settings =
            world_node_settings(world, i, cast_types, CAST_TYPES);

        settings.state_write_plus = as->state_write_plus;
        settings.state_read_plus = as->state_read_plus;
        settings.state_majority_min = as->state_majority_min;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, 10 * SECOND); /* all regions are known */
    world_pause(world, NODES - 1, true);
    world_run(world, 30 * SECOND);
    return world;
}

/* Is an entity of a shard that has no home yet found on one of the others? */
static bool finds_a_new_home(struct world *world)
{
    struct player player;
    uint32_t found = 0;
    char id[8];

    player_spawn(&player, world, 0, 0);
    for (int i = 0; i < 6; i++) {
        const struct heard *heard;

        (void)snprintf(id, sizeof id, "e%d", i);
        player.count = 0;
        player_ask(&player, "E", id, ECHO, 8000);
        heard = player_hears(&player, 10 * SECOND);
        found += heard && heard->kind == SHERD_ANSWER;
    }
    return found > 0;
}

static void so_many_must_have_it_as_is_set(void **state)
{
    static const struct node_settings rows[] = {
        { .state_write_plus = 0 }, /* the reference's: three and five beyond, at least five */
        { .state_write_plus = STATE_ALL, .state_majority_min = 1 },
        { .state_write_plus = STATE_NONE, .state_majority_min = 3 },
        { .state_write_plus = 1, .state_majority_min = 1 },
        { .state_write_plus = STATE_NONE, .state_majority_min = 1 },
        { .state_write_plus = STATE_NONE, .state_majority_min = 2 },
    };
    (void)state;

    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world *world = with_one_away(&rows[i]);

        if (finds_a_new_home(world) != (i >= 4))
            fail_msg("row %u", i); /* two can be reached */
        world_free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_must_have_it_as_is_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
