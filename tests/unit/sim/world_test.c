/* Tests the world: equal seeds, pauses, clocks, calls and the heap of events. */
#include "small_world.h"

#include "base/rng.h"
#include "sim/world/events.h"
#include "sim/seed/streams.h"

/* A little of everything. */
static uint64_t digest_of(uint64_t seed, bool byte_mode)
{
    struct world_settings settings = { .seed = seed, .byte_mode = byte_mode };
    struct world *world = world_new(&settings);
    uint64_t digest;

    begin_nodes(world, 4);
    net_part(world, 0, 3, true);
    world_run(world, 5 * SECOND);
    world_drift(world, 2, 1030000);
    world_crash(world, 1);
    net_part(world, 0, 3, false);
    world_run(world, 5 * SECOND);
    begin_node(world, 1);
    world_pause(world, 2, true);
    world_run(world, 5 * SECOND);
    world_pause(world, 2, false);
    world_run(world, 20 * SECOND);
    digest = world_digest(world);
    world_free(world);
    return digest;
}

static void equal_seeds_give_equal_worlds(void **state)
{
    (void)state;
    for (int byte_mode = 0; byte_mode < 2; byte_mode++) {
        uint64_t digest = digest_of(7, byte_mode);

        assert_true(digest == digest_of(7, byte_mode));
        assert_true(digest != digest_of(8, byte_mode));
    }
    assert_true(digest_of(7, false) != digest_of(7, true));
}

static void count_probe(void *user, uint32_t node, uint32_t machine,
                        const struct probe *probe)
{
    (void)node;
    (void)machine;
    (void)probe;
    ++*(uint32_t *)user;
}

/* Otherwise a comparison of a node's counters with its reports would differ. The turn after the
 * command is still to come. */
static void facts_reach_observers_before_a_status(void **state)
{
    struct world_settings settings = { .seed = 1 };
    struct world *world = world_new(&settings);
    struct node_settings node;
    uint32_t count = 0, before;
    struct world_observer observer = { .user = &count, .probe = count_probe };
    struct sherd_status status;

    (void)state;
    world_observe(world, &observer);
    node = world_node_settings(world, 0, NULL, 0);
    node.lanes = 1;
    node.probes = true;
    world_start(world, 0, &node);
    begin_node(world, 1);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_down(world, 0, 1);
    before = count;
    status = world_counts(world, 0);
    world_status_fini(&status);
    assert_true(count > before);
    world_free(world);
}

static void a_paused_node_is_up_again_after_it_resumes(void **state)
{
    struct world_settings settings = { .seed = 1 };
    struct world *world = world_new(&settings);

    (void)state;
    begin_nodes(world, 3);
    world_pause(world, 2, true);
    assert_true(world_until(world, is_missed, &(struct pair){ 0, 2 },
                            20 * SECOND));
    world_run(world, 60 * SECOND);
    assert_false(sees(world, 0, 2));
    assert_true(sees(world, 2, 0)); /* it has not run */
    world_pause(world, 2, false);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_free(world);
}

/* A command waits for a paused process, and its time counts from the resumption, because its other
 * machines had no time before. */
static void a_paused_node_obeys_commands_when_it_resumes(void **state)
{
    struct world_settings settings = { .seed = 1, .keep_lines = true };
    struct world *world = world_new(&settings);
    uint32_t second = 1;

    (void)state;
    begin_nodes(world, 1);
    net_part(world, 0, 1, true); /* it waits to join, so no other node takes part in its end */
    begin_node(world, 1);
    world_run(world, 5 * SECOND);
    world_pause(world, 1, true);
    world_leave(world, 1);
    world_run(world, 60 * SECOND);
    assert_false(world_node_ended(world, &second));
    world_pause(world, 1, false);
    assert_true(world_until(world, world_node_ended, &second, 20 * SECOND));
    assert_false(world_logged(world, 1, "not done in time"));
    world_free(world);
}

static void commands_of_a_paused_node_end_with_it(void **state)
{
    struct world_settings settings = { .seed = 1 };
    uint64_t before = mem_live();
    struct world *world = world_new(&settings);

    (void)state;
    begin_nodes(world, 2);
    world_pause(world, 1, true);
    world_leave(world, 1);
    world_run(world, SECOND);
    world_crash(world, 1);
    begin_node(world, 1);
    world_run(world, 20 * SECOND);
    assert_non_null(world_node(world, 1)->node);
    world_pause(world, 1, true);
    world_leave(world, 1);
    world_free(world);
    assert_int_equal(mem_live(), before);
}

static uint64_t turns_at_rate(uint32_t ppm)
{
    struct world_settings settings = { .seed = 2 };
    struct world *world = world_new(&settings);
    uint64_t before;

    begin_nodes(world, 1);
    world_drift(world, 0, ppm);
    before = world_events(world);
    world_run(world, 1000 * SECOND);
    before = world_events(world) - before;
    world_free(world);
    return before;
}

static void a_fast_clock_makes_more_turns(void **state)
{
    uint64_t slow = turns_at_rate(950000);
    uint64_t fast = turns_at_rate(1050000);

    (void)state;
    assert_in_range(fast * 1000 / slow, 1095, 1115);
}

static void a_wall_clock_jump_changes_nothing_else(void **state)
{
    struct world_settings settings = { .seed = 3 };
    struct world *world = world_new(&settings);

    (void)state;
    begin_nodes(world, 2);
    world_wall_jump(world, 1, -3600000);
    world_run(world, 10 * SECOND);
    world_wall_jump(world, 1, 86400000);
    world_run(world, 10 * SECOND);
    assert_true(world_all_up(world, NULL));
    world_free(world);
}

static void a_slow_node_falls_behind(void **state)
{
    struct world_settings settings = { .seed = 4 };
    struct world *world = world_new(&settings);

    (void)state;
    begin_nodes(world, 3);
    world_slow(world, 2, 10); /* 0.1 ms a turn */
    world_run(world, 20 * SECOND);
    assert_true(world_all_up(world, NULL));
    world_slow(world, 2, 1000000); /* 10 s a turn */
    assert_true(world_until(world, is_missed, &(struct pair){ 0, 2 },
                            30 * SECOND));
    world_slow(world, 2, 0);
    assert_true(world_until(world, world_all_up, NULL, 120 * SECOND));
    world_free(world);
}

static void note(struct world *world, void *arg)
{
    uint64_t *noted = arg;

    assert_true(noted[0] < 8);
    noted[++noted[0]] = world_now(world);
}

static void calls_come_at_their_times(void **state)
{
    struct world_settings settings = { .seed = 5 };
    struct world *world = world_new(&settings);
    uint64_t noted[9] = { 0 };

    (void)state;
    world_at(world, 5 * SECOND, note, noted);
    world_at(world, 2 * SECOND, note, noted);
    world_at(world, 9 * SECOND, note, noted); /* never */
    world_run(world, 7 * SECOND);
    assert_int_equal(noted[0], 2);
    assert_int_equal(noted[1], 2 * SECOND);
    assert_int_equal(noted[2], 5 * SECOND);
    world_free(world);
}

/* Compares a heap of events with a sorted list, with drops, moves and parking. */
static void events_come_in_order(void **state)
{
    struct events events;
    struct event all[200] = { 0 };
    struct event_list parked = { 0 };
    struct rng rng = stream_rng(6, STREAM_KNOBS, 0);
    struct event *event;
    uint64_t last = 0;
    uint32_t taken = 0;
    uint32_t waiting = 0;

    (void)state;
    events_init(&events, stream_rng(6, STREAM_SCHEDULING, 0));
    for (int i = 0; i < 5000; i++) {
        struct event *one = &all[rng_below(&rng, 200)];

        switch (rng_below(&rng, 4)) {
        case 0:
            events_drop(&events, one);
            break;
        case 1:
            events_drop(&events, one);
            events_park(&parked, one);
            break;
        default:
            events_put(&events, one, rng_below(&rng, 50));
        }
    }
    while ((event = events_unpark(&parked)))
        events_put(&events, event, rng_below(&rng, 50));
    for (int i = 0; i < 200; i++)
        waiting += event_waits(&all[i]);
    while ((event = events_take(&events, 49))) {
        assert_true(event->at >= last);
        assert_false(event_waits(event));
        last = event->at;
        taken++;
    }
    assert_true(taken > 100);
    assert_int_equal(taken, waiting);
    assert_true(events_deadline(&events) == NEVER);
    events_fini(&events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_seeds_give_equal_worlds),
        cmocka_unit_test(facts_reach_observers_before_a_status),
        cmocka_unit_test(a_paused_node_is_up_again_after_it_resumes),
        cmocka_unit_test(a_paused_node_obeys_commands_when_it_resumes),
        cmocka_unit_test(commands_of_a_paused_node_end_with_it),
        cmocka_unit_test(a_fast_clock_makes_more_turns),
        cmocka_unit_test(a_wall_clock_jump_changes_nothing_else),
        cmocka_unit_test(a_slow_node_falls_behind),
        cmocka_unit_test(calls_come_at_their_times),
        cmocka_unit_test(events_come_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
