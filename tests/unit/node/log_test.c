/* Checks that the log of a node says what an operator must know, and where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cast.h"

static void start(struct world *world, uint32_t index, const char *system,
                  const struct address *seeds, uint32_t count)
{
    struct node_settings settings =
        world_node_settings(world, index, cast_types, CAST_TYPES);

    settings.identity.system = system;
    if (seeds) {
        settings.seed_nodes = seeds;
        settings.seed_node_count = count;
        settings.alone = false;
    }
    world_start(world, index, &settings);
}

/* A node drops what another cluster sends, so the joiner can only name what may be wrong. */
static void a_joiner_names_the_reasons_of_a_silent_seed_node(void **state)
{
    struct world *world = cast_new(51);

    (void)state;
    cast_begin();
    start(world, 0, "World", NULL, 0);
    start(world, 1, "Other", NULL, 0);
    world_run(world, 30 * SECOND);
    assert_true(world_logged(world, 0, "handshake refused"));
    assert_true(world_logged(world, 0, "akka://Other@n1:2551"));
    assert_true(world_logged(world, 1, "no seed node accepted this node"));
    assert_true(world_logged(world, 1, " no_answer=n0:2551 "));
    assert_true(world_logged(
        world, 1, "the lines of module link say why nodes do not answer; "
                  "all need the system akka://Other"));
    assert_true(world_logged(world, 1, "handshake not answered peer=n0:2551"));
    assert_false(world_logged(world, 1, "and cannot be joined"));
    world_free(world);
}

/* Each looks for the other one, so each hears the other's name. */
static void two_seed_nodes_with_other_names_log_it(void **state)
{
    static const struct address first[] = { { "n0", 2551 }, { "n1", 2551 } };
    static const struct address second[] = { { "n1", 2551 }, { "n0", 2551 } };
    struct world *world = cast_new(52);

    (void)state;
    cast_begin();
    start(world, 0, "World", first, 2);
    start(world, 1, "Other", second, 2);
    world_run(world, 30 * SECOND);
    assert_true(world_logged(world, 0,
                             "a seed node has another system name or protocol, "
                             "and cannot be joined seed=n1:2551 "
                             "own=akka://World"));
    assert_true(world_logged(world, 1, "seed=n0:2551 own=akka://Other"));
    world_free(world);
}

/* An Akka node and a Pekko node look for each other. */
static void two_seed_nodes_with_other_protocols_log_it(void **state)
{
    static const struct address seeds[2][2] = { { { "n0", 2551 }, { "n1", 2551 } },
                                                { { "n1", 2551 }, { "n0", 2551 } } };
    struct world *world = cast_new(54);
    (void)state;

    cast_begin();
    for (uint32_t i = 0; i < 2; i++) {
        struct node_settings settings =
            world_node_settings(world, i, cast_types, CAST_TYPES);

        settings.identity.protocol = i ? "akka" : "pekko";
        settings.seed_nodes = seeds[i];
        settings.seed_node_count = 2;
        settings.alone = false;
        world_start(world, i, &settings);
    }
    world_run(world, 30 * SECOND);
    assert_true(world_logged(world, 0, "seed=n1:2551 own=pekko://World reason=\"handshake from akka://"));
    assert_true(world_logged(world, 0, "the seed node speaks the other protocol: "
                                       "set sherd.protocol.name to that"));
    assert_true(world_logged(world, 1, "seed=n0:2551 own=akka://World reason=\"handshake from pekko://"));
    assert_true(world_logged(world, 1, "speaks the other protocol"));
    world_free(world);
}

/* No node answers: none refused this one. */
static void a_search_without_an_answer_is_no_refusal(void **state)
{
    static const struct address seeds[] = { { "n0", 2551 } };
    struct world *world = cast_new(55);
    struct node_settings settings =
        world_node_settings(world, 1, cast_types, CAST_TYPES);
    (void)state;

    cast_begin();
    settings.seed_nodes = seeds;
    settings.seed_node_count = 1;
    settings.alone = false;
    settings.join_give_up = 8 * SECOND;
    world_start(world, 1, &settings);
    world_run(world, 12 * SECOND);
    assert_true(world_logged(world, 1, "this node found no cluster in time reason=\"No seed node "
                                       "accepted this node in time.\""));
    assert_false(world_logged(world, 1, "the cluster refused this node"));
    world_free(world);
}

/* The contact is paused: it sends no welcome. */
static void a_joiner_logs_when_it_tries_again(void **state)
{
    struct world *world = cast_new(53);

    (void)state;
    cast_begin();
    for (uint32_t i = 0; i < 2; i++) {
        struct node_settings settings = world_node_settings(world, i, NULL, 0);

        settings.seed_node_count = 0;
        settings.alone = true;
        world_start(world, i, &settings);
    }
    world_run(world, 5 * SECOND);
    world_pause(world, 0, true);
    world_join(world, 1, 0);
    world_run(world, 12 * SECOND);
    assert_true(world_logged(world, 1, "joining contact=n0:2551 next_try_s=10"));
    assert_true(world_logged(
        world, 1, "no welcome yet contact=n0:2551 next_try_s=10 "
                  "key=cluster.retry-unsuccessful-join-after hint="));
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_joiner_names_the_reasons_of_a_silent_seed_node),
        cmocka_unit_test(two_seed_nodes_with_other_names_log_it),
        cmocka_unit_test(two_seed_nodes_with_other_protocols_log_it),
        cmocka_unit_test(a_search_without_an_answer_is_no_refusal),
        cmocka_unit_test(a_joiner_logs_when_it_tries_again),
    };

    return cmocka_run_group_tests_name("node log", tests, NULL, NULL);
}
