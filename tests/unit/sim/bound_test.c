/* Tests bounded-buffers: reports of a core reach the verdict of its world, and whole runs find a
 * queue without a limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bound.h"
#include "base/timers.h"
#include "sim/run/run.h"
#include "sim/world/verdict.h"
#include "sim/world/world.h"
#include "sim/zoo/zoo.h"

static void a_queue_beyond_its_limit_is_found(void **state)
{
    struct world_place place;
    struct world_settings settings = { .seed = 1, .place = &place };
    struct world *world = world_new(&settings);
    struct node_settings node = world_node_settings(world, 3, NULL, 0);
    const struct violation *found;

    (void)state;
    assert_int_equal(place.node, WORLD_NO_NODE);
    BOUNDED("things", 7, 7);
    assert_null(verdict_find(world_verdict(world), "bounded-buffers"));
    world_start(world, 3, &node);
    world_run(world, 5 * SECOND);
    BOUNDED("things", 8, 7);
    BOUNDED("others", 9, 7);
    found = verdict_find(world_verdict(world), "bounded-buffers");
    assert_non_null(found);
    assert_string_equal(found->text, "things: 8, the limit is 7");
    assert_int_equal(found->node, 3);
    assert_int_equal(found->count, 2);
    assert_int_equal(place.node, 3);
    assert_true(place.now > SECOND && place.now <= world_now(world));
    world_free(world);
    BOUNDED("things", 8, 7); /* of no world, so it is ignored */
}

/* With two worlds the newest one gets the reports. Freeing the older one does not end that. */
static void the_newest_world_gets_reports_until_it_ends(void **state)
{
    struct world_settings settings = { .seed = 1 };
    struct world *first = world_new(&settings);
    struct world *second = world_new(&settings);

    (void)state;
    world_free(first);
    BOUNDED("things", 8, 7);
    assert_non_null(verdict_find(world_verdict(second), "bounded-buffers"));
    world_free(second);
}

/* ---- whole runs ---- */

static void with_bug(enum zoo_mutant bug, const struct options *options,
                     struct run_result *result)
{
    struct run_settings settings = { .options = options,
                                     .stops_at_violation = true };

    zoo_choose(bug);
    run_seed(&settings, result);
    zoo_choose(ZOO_NONE);
}

/* The run finds the bug under that name, and nothing without it. */
static void expect(enum zoo_mutant bug, const struct options *options,
                   const char *what)
{
    struct run_result result;

    with_bug(ZOO_NONE, options, &result);
    if (result.violations)
        fail_msg("%s", result.lines[0]);
    with_bug(bug, options, &result);
    assert_true(result.violations > 0);
    assert_non_null(strstr(result.lines[0], " inv=bounded-buffers "));
    assert_non_null(strstr(result.lines[0], what));
}

static void set(struct options *options)
{
    options_default(options, 1);
    options->value[OPTION_NODES] = 3;
    options->value[OPTION_LENGTH] = 30;
    options->value[OPTION_ENTITIES] = 20;
    options->value[OPTION_SHARDS] = 10;
    options->value[OPTION_LOAD] = 20;
    options->value[OPTION_STORM_SIZE] = 500;
}

static void bounded_buffers_a_mailbox_without_a_limit_is_found(void **state)
{
    struct options options;

    (void)state;
    set(&options);
    options.value[OPTION_MAILBOX] = 1;
    expect(ZOO_MAILBOX_UNLIMITED, &options, "messages in a mailbox: 2, the limit is 1");
}

static void bounded_buffers_a_region_that_keeps_all_is_found(void **state)
{
    struct options options;

    (void)state;
    set(&options);
    options.value[OPTION_BUFFER] = 1;
    expect(ZOO_BUFFER_UNLIMITED, &options,
           "messages that wait in a region: 2, the limit is 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_beyond_its_limit_is_found),
        cmocka_unit_test(the_newest_world_gets_reports_until_it_ends),
        cmocka_unit_test(bounded_buffers_a_mailbox_without_a_limit_is_found),
        cmocka_unit_test(bounded_buffers_a_region_that_keeps_all_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
