/* Tests the limit of active entities of whole nodes: its division among shards, changes at run time,
 * and shards that move. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/timers.h"
#include "cast.h"

#define SHARDS 20u
#define ENTITIES 400u /* at least eight in each shard */

static struct world *begin(uint32_t limit)
{
    struct world *world = cast_new(7);

    cast_begin();
    for (uint32_t i = 0; i < 2; i++) {
        struct node_settings settings = world_node_settings(world, i, cast_types, CAST_TYPES);

        settings.number_of_shards = SHARDS;
        settings.active_entity_limit = limit;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    cast_wake(world, "E", SHARDS * 4); /* all shards have homes, then they are spread */
    world_run(world, 60 * SECOND);
    return world;
}

static uint32_t running_at(struct world *world, uint32_t node)
{
    struct sherd_status status = world_status(world, node);
    uint32_t running = (uint32_t)status.types[0].entities_here;

    world_status_fini(&status);
    return running;
}

static void a_limit_is_divided_among_the_shards_of_a_node(void **state)
{
    struct world *world = begin(40);
    (void)state;

    cast_wake(world, "E", ENTITIES);
    world_run(world, SECOND);
    assert_int_equal(running_at(world, 0), 40); /* ten shards on each */
    assert_int_equal(running_at(world, 1), 40);
    world_free(world);
}

static void a_limit_changes_at_run_time(void **state)
{
    struct world *world = begin(0);
    (void)state;

    cast_wake(world, "E", ENTITIES);
    cast_await_running(world, 0, ENTITIES);
    world_active_limit(world, 0, "E", 59, 0);
    world_run(world, SECOND);
    assert_int_equal(running_at(world, 0), 50); /* 59 / 10 = 5 in each shard */
    assert_true(running_at(world, 1) > 50);
    world_active_limit(world, 0, "E", 20, 0);
    world_active_limit(world, 1, "E", 10, 0);
    world_run(world, SECOND);
    assert_int_equal(running_at(world, 0), 20);
    assert_int_equal(running_at(world, 1), 10);
    world_active_limit(world, 0, "E", 0, 0);
    world_active_limit(world, 1, "E", 0, 0);
    cast_wake(world, "E", ENTITIES);
    cast_await_running(world, 0, ENTITIES);
    world_free(world);
}

static void shards_that_move_make_the_parts_smaller(void **state)
{
    struct world *world = begin(40);
    (void)state;

    cast_wake(world, "E", ENTITIES);
    world_leave(world, 1);
    world_run(world, 60 * SECOND);
    cast_wake(world, "E", ENTITIES);
    world_run(world, SECOND);
    assert_int_equal(running_at(world, 0), 40); /* two in each of twenty shards */
    world_free(world);
}

static void a_limit_of_bytes_alone_is_divided_too(void **state)
{
    struct world *world = begin(0);
    uint64_t size = cast_types[0].behavior.state_size;
    (void)state;

    assert_true(size > 0);
    cast_wake(world, "E", ENTITIES);
    world_active_limit(world, 0, "E", 0, 30 * size);
    world_run(world, SECOND);
    assert_int_equal(running_at(world, 0), 30); /* three in each of ten shards */
    cast_wake(world, "E", ENTITIES);
    world_run(world, SECOND);
    assert_int_equal(running_at(world, 0), 30);
    world_free(world);
}

static void other_types_keep_their_own_limits(void **state)
{
    struct world *world = begin(0);
    (void)state;

    world_active_limit(world, 0, "E", 10, 0);
    world_active_limit(world, 1, "E", 10, 0);
    cast_wake(world, "P", 100);
    cast_wake(world, "E", 100);
    world_run(world, SECOND);
    cast_await_running(world, 1, 100);
    cast_await_running(world, 0, 20);
    world_free(world);
}

/* As in Akka each part is zero: an entity stops after its messages. */
static void a_limit_below_the_number_of_shards_is_warned_of(void **state)
{
    static const char warning[] = "limit of active entities is below the number of shards";
    struct world *world = begin(10);
    (void)state;

    assert_false(world_logged(world, 1, warning)); /* ten shards: one entity for each */
    world_active_limit(world, 1, "E", 9, 0);
    cast_wake(world, "E", ENTITIES);
    world_run(world, SECOND);
    assert_true(world_logged(world, 1, warning));
    assert_true(world_logged(world, 1, "key=active-entity-limit limit=9 shards=10 "));
    assert_int_equal(running_at(world, 1), 0);
    assert_int_equal(running_at(world, 0), 10);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_is_divided_among_the_shards_of_a_node),
        cmocka_unit_test(a_limit_changes_at_run_time),
        cmocka_unit_test(shards_that_move_make_the_parts_smaller),
        cmocka_unit_test(a_limit_of_bytes_alone_is_divided_too),
        cmocka_unit_test(other_types_keep_their_own_limits),
        cmocka_unit_test(a_limit_below_the_number_of_shards_is_warned_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
