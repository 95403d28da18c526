/* Tests the effects of faults that the nemesis counts, with written schedules in a small world. */
#include "small_world.h"

#include <stdio.h>

#include "sim/faults/nemesis.h"
#include "sim/faults/schedule.h"
#include "sim/faults/backend_faults.h"

struct played {
    struct world *world;
    struct traffic *traffic;
    struct schedule schedule;
    struct nemesis *nemesis;
    uint64_t downs; /* number of down commands */
    bool is_full;   /* of the disks */
};

static void hand_start(void *user, uint32_t node)
{
    begin_node(((struct played *)user)->world, node);
}

static void hand_down(void *user, uint32_t by, uint32_t node)
{
    struct played *played = user;

    world_down(played->world, by, node);
    played->downs++;
}

static bool hand_disk(void *user, enum fault_verb verb, bool on)
{
    struct played *played = user;

    if (verb == FAULT_VERB_DISK_FULL)
        played->is_full = on;
    return backend_fault(played->world, verb, on);
}

static uint64_t hand_harm(void *user, enum fault_verb verb)
{
    struct played *played = user;

    return verb == FAULT_VERB_DOWN ? played->downs
                                   : backend_harm(played->world, verb);
}

static void play_until(struct played *played, uint64_t end)
{
    while (nemesis_deadline(played->nemesis) < end) {
        world_run(played->world, nemesis_deadline(played->nemesis) -
                                     world_now(played->world));
        nemesis_step(played->nemesis);
    }
    world_run(played->world, end - world_now(played->world));
}

/* Prepares four places of which the first `living` have nodes. */
static void prepare_with(struct played *played, uint32_t living,
                         uint64_t (*states)(void *user, uint32_t node),
                         const char *schedule)
{
    const struct nemesis_hands hands = { .user = played,
                                         .delay_min = MS / 10,
                                         .delay_mean = MS,
                                         .start = hand_start,
                                         .down = hand_down,
                                         .disk = hand_disk,
                                         .harm = hand_harm,
                                         .states = states };
    struct world_settings settings = { .seed = 1,
                                       .give_up = 20 * SECOND,
                                       .link_min = MS / 10,
                                       .link_mean = MS };
    char error[SCHEDULE_ERROR_MAX];

    *played = (struct played){ 0 };
    assert_true(schedule_read(&played->schedule, slice_text(schedule), error,
                              sizeof error));
    played->world = world_new(&settings);
    played->traffic = traffic_of(played->world);
    begin_nodes(played->world, living);
    played->nemesis =
        nemesis_new(played->world, &played->schedule, NODES, &hands);
}

static void prepare(struct played *played, uint32_t living,
                    const char *schedule)
{
    prepare_with(played, living, NULL, schedule);
}

/* Plays all faults of the schedule and their ends. */
static void play(struct played *played, uint32_t living, const char *schedule)
{
    prepare(played, living, schedule);
    play_until(played, world_now(played->world) + 120 * SECOND);
    nemesis_end(played->nemesis);
}

static void stop(struct played *played)
{
    nemesis_free(played->nemesis);
    world_free(played->world);
    mem_free(played->traffic);
    schedule_fini(&played->schedule);
}

/* Expects how often a verb happened, and how many of its faults had an effect. */
static void expect(const struct played *played, enum fault_verb verb,
                   uint64_t happened, uint64_t faults)
{
    struct nemesis_effect effect = nemesis_effect(played->nemesis, verb);

    if (nemesis_count(played->nemesis, verb) != happened ||
        effect.faults != faults || (effect.harm > 0) != (faults > 0))
        fail_msg("%s: %llu of %llu, %llu %s", fault_verb_name(verb),
                 (unsigned long long)effect.faults,
                 (unsigned long long)nemesis_count(played->nemesis, verb),
                 (unsigned long long)effect.harm, nemesis_effect_text(verb));
}

static void effects_of_faults_are_counted(void **state)
{
    struct played played;

    (void)state;
    play(&played, NODES,
         "at 1s cut 0<>1 for 3s\n"
         "at 5s flap 0<>2 every 1s for 4s\n"
         "at 10s clog 1>2 for 3s\n"
         "at 14s delay 1>3 by 500ms for 10s\n"
         "at 16s reset 1<>3\n"
         "at 30s half-open 2>3\n"
         "at 31s pause 0 for 1s\n"
         "at 33s slow 1 x100 for 2s\n"
         "at 36s wall 1 +1h\n"
         "at 37s drift 1 960000ppm for 5s\n"
         "at 43s crash 3\n"
         "at 44s refuse 3 for 12s\n"
         "at 44s down 3\n"
         "at 45s start 3\n"
         "at 60s slow-accept 2 by 1s for 20s\n"
         "at 61s reset 0<>2\n"
         "at 84s black-hole 1 for 10s\n"
         "at 85s reset *<>1\n"
         "at 100s power\n"
         "at 101s leave 2\n");
    for (int i = 0; i < FAULT_VERBS; i++) {
        enum fault_verb verb = (enum fault_verb)i;

        if ((verb >= FAULT_VERB_DISK_STALL && verb < FAULT_VERB_POWER) ||
            verb >= FAULT_VERB_POWER_OFF)
            continue;
        if (verb != FAULT_VERB_RESET)
            expect(&played, verb, 1, 1);
    }
    assert_int_equal(nemesis_count(played.nemesis, FAULT_VERB_RESET), 3);
    assert_true(nemesis_effect(played.nemesis, FAULT_VERB_RESET).faults >= 1);
    stop(&played);
}

static uint64_t arrived_in(struct played *played, uint64_t time)
{
    uint64_t before = played->traffic->arrived[1][2];

    play_until(played, world_now(played->world) + time);
    return played->traffic->arrived[1][2] - before;
}

static uint64_t slowed_in(struct played *played, uint64_t time)
{
    uint64_t before = net_harm(played->world, 1, 2).slowed;

    play_until(played, world_now(played->world) + time);
    return net_harm(played->world, 1, 2).slowed - before;
}

/* The second fault of each kind starts during the first and ends later. */
static void overlapping_faults_end_with_the_last(void **state)
{
    struct played played;

    (void)state;
    prepare(&played, NODES,
            "at 1s clog 1>2 for 3s\n"
            "at 2s clog 1>2 for 5s\n"
            "at 3s clog 1>2 for 1s\n"
            "at 10s delay 1>2 by 200ms for 4s\n"
            "at 11s delay 1>2 by 300ms for 6s\n"
            "at 20s disk-full for 4s\n"
            "at 21s disk-full for 6s\n");
    play_until(&played, world_now(played.world) + 2500 * MS);
    assert_int_equal(arrived_in(&played, 4 * SECOND), 0); /* until 6.5 */
    assert_true(arrived_in(&played, 2 * SECOND) > 0);
    play_until(&played, world_now(played.world) + 6 * SECOND);
    assert_true(slowed_in(&played, 2 * SECOND) > 0); /* until 16.5 */
    (void)slowed_in(&played, 1 * SECOND);
    assert_int_equal(slowed_in(&played, 2 * SECOND), 0); /* until 19.5 */
    play_until(&played, world_now(played.world) + 5 * SECOND);
    assert_true(played.is_full); /* at 24.5 */
    play_until(&played, world_now(played.world) + 3 * SECOND);
    assert_false(played.is_full);
    nemesis_end(played.nemesis);
    stop(&played);
}

static void faults_without_a_victim_have_no_effect(void **state)
{
    struct played played;

    (void)state;
    play(&played, 2,
         "at 1s cut 2<>3 for 3s\n"
         "at 5s flap 0<>2 every 1s for 4s\n"
         "at 10s clog 3>2 for 3s\n"
         "at 14s delay 2>3 by 500ms for 10s\n"
         "at 16s reset 1<>3\n"
         "at 30s half-open 2>3\n"
         "at 31s pause 2 for 1s\n"
         "at 33s slow 2 x100 for 2s\n"
         "at 36s wall 2 +1h\n"
         "at 37s drift 2 960000ppm for 5s\n"
         "at 44s refuse 3 for 12s\n"
         "at 60s slow-accept 2 by 1s for 20s\n"
         "at 84s black-hole 3 for 10s\n"
         "at 90s disk-stall for 1s\n"
         "at 92s disk-error for 1s\n"
         "at 94s disk-full for 1s\n"
         "at 96s disk-sync\n");
    for (int i = 0; i < FAULT_VERBS; i++) {
        enum fault_verb verb = (enum fault_verb)i;

        if (verb == FAULT_VERB_CRASH || verb == FAULT_VERB_START ||
            verb == FAULT_VERB_LEAVE || verb == FAULT_VERB_DOWN ||
            verb >= FAULT_VERB_POWER)
            continue;
        expect(&played, verb, 1, 0);
    }
    stop(&played);
}

/* Node 0 is in state 0, and so on; a dead node is in none. */
static uint64_t hand_states(void *user, uint32_t node)
{
    const struct played *played = user;

    return world_node(played->world, node)->node ? UINT64_C(1) << node : 0;
}

static void expect_cells(const struct played *played, enum fault_verb verb,
                         uint64_t met, uint64_t struck)
{
    struct nemesis_cells cells = nemesis_cells(played->nemesis, verb);

    if (cells.met != met || cells.struck != struck)
        fail_msg("%s: %llx met, %llx struck", fault_verb_name(verb),
                 (unsigned long long)cells.met,
                 (unsigned long long)cells.struck);
}

static void states_that_a_fault_meets_are_recorded(void **state)
{
    struct played played;

    (void)state;
    prepare_with(&played, 3, hand_states,
                 "at 1s cut 0<>3 for 1s\n"
                 "at 2s reset *>1\n"
                 "at 3s wall 2 +1h\n"
                 "at 4s disk-full for 1s\n"
                 "at 5s crash 1\n"
                 "at 6s crash 1\n" /* skipped: the node is dead */
                 "at 7s pause 1 for 1s\n"
                 "at 8s start 1\n"
                 "at 9s power\n");
    play_until(&played, world_now(played.world) + 12 * SECOND);
    nemesis_end(played.nemesis);
    expect_cells(&played, FAULT_VERB_CUT, 7, 1);
    expect_cells(&played, FAULT_VERB_RESET, 7, 7);
    expect_cells(&played, FAULT_VERB_WALL, 7, 4);
    expect_cells(&played, FAULT_VERB_DISK_FULL, 7, 7);
    expect_cells(&played, FAULT_VERB_CRASH, 7, 2);
    expect_cells(&played, FAULT_VERB_PAUSE, 5, 0);
    expect_cells(&played, FAULT_VERB_START, 5, 0);
    expect_cells(&played, FAULT_VERB_POWER, 7, 7);
    expect_cells(&played, FAULT_VERB_SLOW, 0, 0);
    stop(&played);
}

static void each_verb_names_its_unit(void **state)
{
    (void)state;
    for (int i = 0; i < FAULT_VERBS; i++)
        assert_non_null(nemesis_effect_text((enum fault_verb)i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(effects_of_faults_are_counted),
        cmocka_unit_test(overlapping_faults_end_with_the_last),
        cmocka_unit_test(faults_without_a_victim_have_no_effect),
        cmocka_unit_test(states_that_a_fault_meets_are_recorded),
        cmocka_unit_test(each_verb_names_its_unit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
