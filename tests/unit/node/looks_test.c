/* Tests looks on whole nodes: pages by cursor, more looks than a lane serves, members that end during
 * a look, and nodes without a cluster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "actor/samples.h"
#include "base/limits.h"
#include "cast.h"
#include "node/mail/look_call.h"

#define SHARDS 12
#define LOOKERS 6
#define ENTITIES 12000 /* several turns of a lane */

/* The looks that have ended. */
struct ends {
    uint32_t count;
    uint32_t results[2]; /* 0, and errors */
    uint32_t rows;
    uint32_t states[SHERD_LOOK_STATE_COUNT];
    uint8_t next[SHERD_LOOK_CURSOR_MAX];
    size_t next_size;
};

static struct ends ends;

static void looked(void *user, uint32_t node, struct look_call *call)
{
    struct sherd_look_page page;

    (void)user;
    (void)node;
    ends.count++;
    ends.results[call->result != 0]++;
    if (call->result)
        return;
    gather_page(call->gather, &page);
    ends.rows += page.row_count;
    for (uint32_t i = 0; i < page.part_count; i++)
        ends.states[page.parts[i].state]++;
    ends.next_size = page.next.size;
    memcpy(ends.next, page.next.data, page.next.size);
}

static struct world *begin(uint32_t nodes)
{
    const struct world_observer observer = { .looked = looked };
    struct world *world = cast_new(11);

    cast_begin();
    ends = (struct ends){ .count = 0 };
    world_observe(world, &observer);
    for (uint32_t i = 0; i < nodes; i++) {
        struct node_settings settings = world_node_settings(world, i, cast_types, CAST_TYPES);

        settings.lanes = 2;
        settings.number_of_shards = SHARDS;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    return world;
}

static void look(struct world *world, uint32_t node, enum sherd_look_kind kind,
                 const struct sherd_look_options *options)
{
    struct look_call *call;

    assert_int_equal(look_call_new(kind, options, &call), 0);
    world_look(world, node, call);
}

static bool have_ended(struct world *world, void *count)
{
    (void)world;
    return ends.count >= *(uint32_t *)count;
}

static void await(struct world *world, uint32_t count)
{
    assert_true(world_until(world, have_ended, &count, 60 * SECOND));
    assert_int_equal(ends.count, count);
}

static void a_busy_lane_answers_all_looks_in_the_end(void **state)
{
    struct sherd_look_options options = { .type = "E", .node = "n0:2551", .order = "mailbox" };
    struct world *world = begin(LOOKERS);
    const uint32_t all = (LOOKERS - 1) * LOOKS_MAX;

    (void)state;
    assert_true(all > 2 * LOOKS_SERVED_MAX);
    cast_wake(world, "E", ENTITIES);
    world_pause(world, 0, true); /* so that all requests come at once */
    for (uint32_t i = 0; i < all; i++)
        look(world, 1 + i % (LOOKERS - 1), SHERD_LOOK_ENTITIES, &options);
    world_run(world, SECOND);
    world_pause(world, 0, false);
    await(world, all);
    assert_int_equal(ends.results[0], all);
    assert_int_equal(ends.states[SHERD_LOOK_OK], all);
    world_free(world);
}

static void pages_have_all_entities_of_a_shard_once(void **state)
{
    struct sherd_look_options options = { .type = "E", .count = 11 };
    struct world *world = begin(2);
    uint8_t cursor[SHERD_LOOK_CURSOR_MAX];
    uint32_t pages = 0;

    (void)state;
    cast_wake(world, "E", 200);
    for (int32_t shard = -SHARDS + 1; shard < SHARDS; shard++) {
        char text[16];

        (void)snprintf(text, sizeof text, "%d", (int)shard);
        options.shard = text;
        options.cursor = (struct sherd_bytes){ NULL, 0 };
        do {
            look(world, 1, SHERD_LOOK_ENTITIES, &options);
            await(world, ++pages);
            memcpy(cursor, ends.next, ends.next_size);
            options.cursor = (struct sherd_bytes){ cursor, ends.next_size };
        } while (ends.next_size);
    }
    assert_int_equal(ends.rows, 200);
    world_free(world);
}

static void at_the_limit_of_looks_one_more_is_refused(void **state)
{
    struct world *world = begin(2);

    (void)state;
    world_pause(world, 1, true);
    for (uint32_t i = 0; i <= LOOKS_MAX; i++)
        look(world, 0, SHERD_LOOK_NODES, NULL);
    world_run(world, MS * 500);
    assert_int_equal(ends.count, 1);
    assert_int_equal(ends.results[1], 1);
    world_pause(world, 1, false);
    await(world, LOOKS_MAX + 1);
    assert_int_equal(ends.states[SHERD_LOOK_OK], 2 * LOOKS_MAX);
    world_free(world);
}

static void a_member_that_dies_during_a_look_is_marked_once(void **state)
{
    struct sherd_look_options options = { .timeout_ms = 30000 };
    struct world *world = begin(3);

    (void)state;
    world_pause(world, 2, true);
    look(world, 0, SHERD_LOOK_NODES, &options);
    world_run(world, SECOND);
    assert_int_equal(ends.count, 0);
    world_crash(world, 2);
    world_down(world, 0, 2);
    await(world, 1);
    assert_int_equal(ends.states[SHERD_LOOK_OK], 2);
    assert_int_equal(ends.states[SHERD_LOOK_GONE] + ends.states[SHERD_LOOK_TIMEOUT], 1);
    look(world, 0, SHERD_LOOK_NODES, NULL);
    await(world, 2);
    assert_int_equal(ends.states[SHERD_LOOK_OK], 4);
    world_free(world);
}

static void undelivered_messages_have_samples(void **state)
{
    struct world *world = begin(1);
    struct sherd_look_options options = { .count = 200 };
    struct player player;

    (void)state;
    player_spawn(&player, world, 0, 0);
    for (uint32_t i = 0; i < UNDELIVERED_SAMPLES_MAX + 5; i++)
        player_tell(&player, "E", i ? "e1" : "e0", FAIL);
    world_run(world, SECOND);
    look(world, 0, SHERD_LOOK_UNDELIVERED, &options);
    await(world, 1);
    assert_int_equal(ends.rows, UNDELIVERED_SAMPLES_MAX + 1); /* one of the other lane, or more */
    world_free(world);
}

static void decisions_about_shards_leave_those_about_members(void **state)
{
    struct sherd_look_options options = { .count = 400 };
    struct world *world = begin(2);
    uint32_t all;

    (void)state;
    cast_wake(world, "E", 200);
    look(world, 0, SHERD_LOOK_TIMELINE, &options);
    await(world, 1);
    all = ends.rows;
    options.type = "E";
    look(world, 0, SHERD_LOOK_TIMELINE, &options);
    await(world, 2);
    assert_true(ends.rows - all >= SHARDS); /* each was given a home and has started */
    assert_true(ends.rows - all < all);     /* the others are about members */
    world_free(world);
}

static void a_node_without_a_cluster_shows_itself(void **state)
{
    const struct world_observer observer = { .looked = looked };
    struct world *world = cast_new(12);
    struct node_settings settings = world_node_settings(world, 1, cast_types, CAST_TYPES);

    (void)state;
    ends = (struct ends){ .count = 0 };
    world_observe(world, &observer);
    world_start(world, 1, &settings); /* its seed node does not run */
    world_run(world, SECOND);
    look(world, 1, SHERD_LOOK_TYPES, NULL);
    await(world, 1);
    assert_int_equal(ends.states[SHERD_LOOK_OK], 1);
    assert_int_equal(ends.rows, CAST_TYPES);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_busy_lane_answers_all_looks_in_the_end),
        cmocka_unit_test(pages_have_all_entities_of_a_shard_once),
        cmocka_unit_test(at_the_limit_of_looks_one_more_is_refused),
        cmocka_unit_test(a_member_that_dies_during_a_look_is_marked_once),
        cmocka_unit_test(undelivered_messages_have_samples),
        cmocka_unit_test(decisions_about_shards_leave_those_about_members),
        cmocka_unit_test(a_node_without_a_cluster_shows_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
