/* Tests the limits of one coordinator step: the rest follows in later steps, in the same order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "scene.h"
#include "shard/coordinator_state.h"

#define NODES 16
#define MANY NODES_MAX /* too many to tell in one step */
#define SHARDS (40 * NODES) /* 40 shards told to 15 regions exceed one step */

/* 40 started shards at each node. */
static struct scene *full_scene(const struct coordinator_settings *settings)
{
    struct scene *scene = scene_with(NODES, settings);

    for (int i = 0; i < SHARDS; i++) {
        char id[8];

        snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    play(scene);
    forget_sent(scene);
    for (int n = 0; n < NODES; n++)
        assert_int_equal(shards_at(scene, n), SHARDS / NODES);
    scene->is_stepped = true;
    return scene;
}

static uint32_t allocations(const struct scene *scene)
{
    return (uint32_t)coordinator_counters(scene->coordinator)->allocations;
}

/* Returns the number of messages. */
static uint32_t steps(struct scene *scene)
{
    uint32_t before = scene->sent.count;

    assert_int_equal(coordinator_deadline(scene->coordinator), 0);
    passes(scene, 0);
    return scene->sent.count - before;
}

/* Returns the number of steps; checks each. */
static uint32_t steps_to_the_end(struct scene *scene)
{
    uint32_t count = 0;

    while (coordinator_is_busy(scene->coordinator)) {
        assert_in_range(steps(scene), 0, COORDINATOR_TELLS_MAX);
        count++;
    }
    assert_int_not_equal(coordinator_deadline(scene->coordinator), 0);
    return count;
}

/* Only later messages are examined. */
static void steps_to_the_write(struct scene *scene, uint32_t writes)
{
    while (scene->writes == writes) {
        assert_int_equal(scene->sent.count, 0);
        (void)steps(scene);
    }
}

/* Is the node's last home right? -1: none. */
static int told_right(const struct scene *scene, int n, const char *shard)
{
    for (uint32_t i = scene->sent.count; i-- > 0;) {
        const struct sent *sent = &scene->sent.items[i];
        char ref[80];

        if (sent->node != n || sent->kind != SHARD_HOME ||
            strcmp(sent->shard, shard) != 0)
            continue;
        ref_of(ref, sizeof ref, home_of(scene, shard), false);
        return strcmp(sent->ref, ref) == 0 &&
               !fence_compare(sent->fence, fence_of(scene, shard));
    }
    return -1;
}

/* The home gets HostShard before any region learns it. */
static void assert_homes_first(const struct scene *scene)
{
    for (uint32_t i = 0; i < scene->sent.count; i++) {
        const struct sent *sent = &scene->sent.items[i];
        bool hosts = false;

        if (sent->kind != SHARD_HOME)
            continue;
        for (uint32_t j = 0; j < i && !hosts; j++)
            hosts = scene->sent.items[j].kind == SHARD_HOST &&
                    strcmp(scene->sent.items[j].shard, sent->shard) == 0 &&
                    !fence_compare(scene->sent.items[j].fence, sent->fence);
        assert_true(hosts);
    }
}

static void many_announcements_take_several_steps(void **state)
{
    struct scene *scene = full_scene(NULL);
    uint32_t writes = scene->writes;
    (void)state;

    scene->is_held = true;
    peer_removed(scene, 1);
    steps_to_the_write(scene, writes);
    assert_int_equal(scene->sent.count, 0);
    scene_answer(scene, true);
    scene_drain(scene);
    assert_in_range(scene->sent.count, 1, COORDINATOR_TELLS_MAX);
    assert_true(coordinator_is_busy(scene->coordinator));
    assert_in_range(steps_to_the_end(scene), 1, 4);
    assert_int_equal(sent_count(scene, SHARD_HOST, ANY_NODE), SHARDS / NODES);
    for (int n = 0; n < NODES; n++)
        assert_int_equal(sent_count(scene, SHARD_HOME, n),
                         n == 1 ? 0 : SHARDS / NODES);
    assert_homes_first(scene);
    scene_free(scene);
}

/* Its home goes while only some regions know it. */
static void a_removed_home_is_not_announced_any_more(void **state)
{
    struct scene *scene = full_scene(NULL);
    uint32_t writes, sent;
    char last[64];
    int home;
    (void)state;

    scene->is_stepped = false;
    peer_removed(scene, 2); /* a shard costs 15 messages, so the last one is cut */
    play(scene);
    forget_sent(scene);
    scene->is_stepped = true;
    writes = scene->writes;
    peer_removed(scene, 1);
    steps_to_the_write(scene, writes);
    assert_int_not_equal(scene->sent.count % (NODES - 1), 0);
    assert_true(coordinator_is_busy(scene->coordinator));
    snprintf(last, sizeof last, "%s",
             scene->sent.items[scene->sent.count - 1].shard);
    home = home_of(scene, last);
    sent = scene->sent.count;
    scene->is_held = true;
    writes = scene->writes;
    peer_removed(scene, home);
    (void)steps_to_the_end(scene);
    assert_int_equal(scene->writes, writes + 1);
    for (uint32_t i = sent; i < scene->sent.count; i++)
        assert_string_not_equal(scene->sent.items[i].shard, last);
    scene->is_held = false;
    scene_answer(scene, true);
    scene_drain(scene);
    (void)steps_to_the_end(scene);
    for (int n = 0; n < NODES; n++)
        if (n != 1 && n != 2 && n != home)
            assert_int_equal(told_right(scene, n, last), 1);
    assert_homes_first(scene);
    scene_free(scene);
}

/* A request during this is answered at once, but after the home has its order. */
static void a_home_gets_its_order_before_an_asker_learns_it(void **state)
{
    struct scene *scene = full_scene(NULL);
    uint32_t writes = scene->writes;
    char id[8];
    (void)state;

    peer_removed(scene, 1);
    steps_to_the_write(scene, writes);
    assert_true(coordinator_is_busy(scene->coordinator));
    for (int i = 0; i < SHARDS; i++) {
        snprintf(id, sizeof id, "%d", i);
        if (told_right(scene, 0, id) == -1)
            asks(scene, 0, id);
    }
    (void)steps_to_the_end(scene);
    forget_sent(scene);
    for (int i = 0; i < SHARDS; i++) {
        snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
        passes(scene, 0);
        assert_int_equal(told_right(scene, 0, id), 1);
    }
    scene_free(scene);
}

static void a_coordinator_ends_after_all_announcements(void **state)
{
    struct scene *scene = full_scene(NULL);
    uint32_t writes = scene->writes;
    (void)state;

    peer_removed(scene, 1);
    steps_to_the_write(scene, writes);
    assert_true(coordinator_is_busy(scene->coordinator));
    peer_removed(scene, 0); /* without its own region it ends at once */
    coordinator_stop(scene->coordinator, scene->now, &scene->outbox);
    scene_drain(scene);
    assert_false(has_news(scene, COORDINATOR_NEWS_STOPPED));
    (void)steps_to_the_end(scene);
    for (int n = 2; n < NODES; n++)
        assert_true(sent_count(scene, SHARD_HOME, n) >= SHARDS / NODES);
    passes(scene, 3000);
    assert_true(has_news(scene, COORDINATOR_NEWS_STOPPED));
    scene_free(scene);
}

static void a_step_finds_no_more_homes_than_it_may(void **state)
{
    struct coordinator_settings settings = { .number_of_shards = 10000 };
    struct scene *scene = scene_new(&settings);
    uint32_t shards = 2 * COORDINATOR_PLACES_MAX / NODES, placed = 0, last, writes;
    (void)state;

    for (uint32_t i = 0; i < shards; i++) {
        char id[8];

        snprintf(id, sizeof id, "%u", (unsigned)i);
        coordinator_remembered(scene->coordinator, slice_text(id));
    }
    for (int n = 0; n < NODES; n++)
        peer_up(scene, n);
    give_term(scene, 1);
    scene->is_stepped = true;
    for (int n = 0; n < NODES - 1; n++)
        registers(scene, n);
    scene->is_held = true;
    assert_int_equal(allocations(scene), 0);
    registers(scene, NODES - 1);
    last = allocations(scene);
    assert_in_range(last, 0, COORDINATOR_PLACES_MAX / (NODES - 1));
    writes = scene->writes;
    while (placed < shards) {
        (void)steps(scene);
        assert_int_equal(scene->writes, writes);
        placed = allocations(scene);
        assert_in_range(placed - last, 1, COORDINATOR_PLACES_MAX / (NODES - 1));
        last = placed;
    }
    assert_int_equal(placed, shards);
    scene_free(scene);
}

/* Each request compares few regions, but looks up all of them. */
static void a_step_looks_up_no_more_regions_than_it_may(void **state)
{
    struct coordinator_settings settings = { .number_of_shards = 10000 };
    struct scene *scene = scene_with(NODES, &settings);
    uint32_t shards = COORDINATOR_PLACES_MAX / NODES;
    char id[8];
    (void)state;

    scene->is_stepped = true;
    scene->is_held = true;
    for (uint32_t i = 0; i < shards; i++) {
        snprintf(id, sizeof id, "%u", (unsigned)i);
        asks(scene, 0, id);
    }
    assert_in_range(allocations(scene), 1, shards / 8);
    while (allocations(scene) < shards) {
        assert_true(coordinator_is_busy(scene->coordinator));
        (void)steps(scene);
    }
    scene_free(scene);
}

/* A node goes during packing: the write has the state of its time. The step that writes packs
 * nothing. */
static void a_step_packs_no_more_than_it_may(void **state)
{
    struct coordinator_settings settings = { .number_of_shards = 10000 };
    struct scene *scene = scene_new(&settings);
    uint32_t shards = 256 * 2 * COORDINATOR_PACKS_MAX, count = 0, writes;
    char id[8];
    (void)state;

    for (uint32_t i = 0; i < shards; i++) {
        snprintf(id, sizeof id, "%u", (unsigned)i);
        coordinator_remembered(scene->coordinator, slice_text(id));
    }
    peer_up(scene, 0);
    peer_up(scene, 1);
    give_term(scene, 1);
    registers(scene, 0);
    scene->is_stepped = true;
    registers(scene, 1);
    writes = scene->writes;
    assert_int_equal(allocations(scene), shards);
    peer_removed(scene, 1);
    assert_int_equal(allocations(scene), shards + shards / 2);
    for (; scene->writes == writes; count++) {
        assert_true(coordinator_is_busy(scene->coordinator));
        passes(scene, 0);
    }
    assert_in_range(count, 1, 8);
    assert_int_equal(scene->coordinator->announcements.room->packs,
                     COORDINATOR_PACKS_MAX);
    scene->is_stepped = false;
    scene_drain(scene);
    scene_coordinator(scene, &settings);
    peer_up(scene, 0);
    scene_drain(scene);
    for (uint32_t i = 0; i < shards; i++) {
        snprintf(id, sizeof id, "%u", (unsigned)i);
        assert_int_equal(home_of(scene, id), 0);
        assert_int_equal(fence_of(scene, id).epoch, 1 + i % 2);
    }
    scene_free(scene);
}

static void shuts_down(struct scene *scene, int n)
{
    char ref[64];

    ref_of(ref, sizeof ref, n, false);
    say(scene, n,
        (struct shard_message){ .kind = SHARD_GRACEFUL_SHUTDOWN,
                                .ref = slice_text(ref) });
}

static void a_step_begins_no_more_hand_offs_than_it_may(void **state)
{
    struct scene *scene = full_scene(NULL);
    (void)state;

    shuts_down(scene, 1);
    assert_in_range(scene->sent.count, 1, COORDINATOR_TELLS_MAX);
    assert_true(coordinator_is_busy(scene->coordinator));
    (void)steps_to_the_end(scene);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, ANY_NODE),
                     SHARDS / NODES * NODES);
    scene_free(scene);
}

/* n0 has a shard and shuts down. There are more nodes than one step can tell, and the first have
 * got BeginHandOff. */
static struct scene *many_are_told(void)
{
    struct scene *scene = scene_with(MANY, NULL);

    asks(scene, 1, "1");
    play(scene);
    forget_sent(scene);
    assert_int_equal(home_of(scene, "1"), 0);
    scene->is_stepped = true;
    passes(scene, 0);
    shuts_down(scene, 0);
    assert_in_range(sent_count(scene, SHARD_BEGIN_HAND_OFF, ANY_NODE), 1,
                    COORDINATOR_TELLS_MAX);
    assert_true(coordinator_is_busy(scene->coordinator));
    return scene;
}

static void one_hand_off_begins_in_several_steps(void **state)
{
    struct scene *scene = many_are_told();
    (void)state;

    play(scene); /* the told ones hold; the others do not yet */
    assert_int_equal(sent_count(scene, SHARD_HAND_OFF, ANY_NODE), 0);
    (void)steps_to_the_end(scene);
    for (int n = 0; n < MANY; n++)
        assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, n), 1);
    scene->is_silent[0] = true; /* acknowledges, but does not stop */
    play(scene);
    assert_int_equal(sent_count(scene, SHARD_HAND_OFF, 0), 1);
    scene_free(scene);
}

static void a_hand_off_that_has_ended_is_not_begun_elsewhere(void **state)
{
    struct scene *scene = many_are_told();
    uint32_t told = sent_count(scene, SHARD_BEGIN_HAND_OFF, ANY_NODE);
    (void)state;

    peer_removed(scene, 0);
    scene->is_stepped = false;
    scene_drain(scene);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, ANY_NODE), told);
    assert_int_equal(home_of(scene, "1"), 1);
    scene_free(scene);
}

/* n599 was not told yet, n1 was. */
static void a_beginning_hand_off_does_not_wait_for_removed_regions(
    void **state)
{
    struct scene *scene = many_are_told();
    (void)state;

    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 1), 1);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, MANY - 1), 0);
    scene->is_silent[1] = true;
    peer_removed(scene, 1);
    peer_removed(scene, MANY - 1);
    (void)steps_to_the_end(scene);
    for (int n = 0; n < MANY; n++)
        assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, n),
                         n < MANY - 1);
    play(scene);
    assert_int_equal(sent_count(scene, SHARD_HAND_OFF, 0), 1);
    scene_free(scene);
}

/* Regions that hold are asked again after 2 s, in several steps, each once. */
static void silent_regions_are_asked_again_in_several_steps(void **state)
{
    struct scene *scene = many_are_told();
    (void)state;

    (void)steps_to_the_end(scene);
    forget_sent(scene);
    for (int i = 0; i < 4 && !scene->sent.count; i++)
        passes(scene, 1000);
    assert_in_range(scene->sent.count, 1, COORDINATOR_TELLS_MAX);
    (void)steps_to_the_end(scene);
    for (int n = 0; n < MANY; n++)
        assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, n), 1);
    scene_free(scene);
}

static void members_are_queried_in_several_steps(void **state)
{
    struct scene *scene = scene_new(NULL);
    (void)state;

    scene->is_stepped = true;
    for (int n = 0; n < MANY; n++)
        peer_up(scene, n);
    give_term(scene, 1);
    assert_in_range(sent_count(scene, SHARD_QUERY, ANY_NODE), 1,
                    COORDINATOR_TELLS_MAX);
    assert_int_equal(sent_count(scene, SHARD_QUERY, MANY - 1), 0);
    registers(scene, MANY - 1);
    (void)steps_to_the_end(scene);
    for (int n = 0; n < MANY; n++)
        assert_int_equal(sent_count(scene, SHARD_QUERY, n), n < MANY - 1);
    forget_sent(scene);
    passes(scene, 1000);
    assert_in_range(scene->sent.count, 1, COORDINATOR_TELLS_MAX);
    (void)steps_to_the_end(scene);
    assert_int_equal(sent_count(scene, SHARD_QUERY, ANY_NODE), MANY - 1);
    scene_free(scene);
}

static void a_step_rebalances_no_more_than_it_may(void **state)
{
    struct coordinator_settings settings = { .absolute_limit = 1000,
                                             .relative_limit = 1.0 };
    struct scene *scene = full_scene(&settings);
    uint32_t begun = 0;
    (void)state;

    scene->is_stepped = false;
    for (int n = 1; n < 8; n++)
        peer_removed(scene, n);
    play(scene);
    for (int n = 1; n < 8; n++) {
        peer_up(scene, n);
        registers(scene, n);
    }
    play(scene);
    forget_sent(scene);
    scene->is_stepped = true;
    passes(scene, 10000);
    begun = sent_count(scene, SHARD_BEGIN_HAND_OFF, ANY_NODE);
    assert_in_range(begun, 1, COORDINATOR_TELLS_MAX);
    assert_true(coordinator_is_busy(scene->coordinator));
    while (coordinator_is_busy(scene->coordinator)) /* the last step drops the rest */
        assert_in_range(steps(scene), 0, COORDINATOR_TELLS_MAX);
    assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, ANY_NODE),
                     COORDINATOR_HANDOFFS_MAX * NODES);
    scene_free(scene);
}

/* Coordinators of one machine share the work of a step. */
static void coordinators_rebalance_one_after_the_other(void **state)
{
    struct coordinator_room room;
    struct scene *scenes[2];
    (void)state;

    assert_in_range(MANY, COORDINATOR_VIEWS_MAX / 2 + 1, COORDINATOR_VIEWS_MAX);
    coordinator_room_fill(&room);
    for (int i = 0; i < 2; i++) {
        scenes[i] = scene_with(MANY, NULL);
        scenes[i]->is_stepped = true;
        scenes[i]->coordinator->announcements.room = &room;
    }
    for (int i = 0; i < 2; i++) {
        passes(scenes[i], 10000);
        assert_int_equal(coordinator_is_busy(scenes[i]->coordinator), i);
    }
    coordinator_room_fill(&room);
    passes(scenes[1], 0);
    assert_false(coordinator_is_busy(scenes[1]->coordinator));
    for (int i = 0; i < 2; i++)
        scene_free(scenes[i]);
}

/* Each welcome searches all regions for homes. */
static void many_regions_are_welcomed_in_several_steps(void **state)
{
    uint32_t max = COORDINATOR_TELLS_MAX / (1 + MANY / 256) + 1;
    struct scene *scene = scene_with(1, NULL);
    uint32_t writes = scene->writes, welcomed = 0;
    (void)state;

    forget_sent(scene);
    scene->is_held = scene->is_stepped = true;
    for (int n = 1; n < MANY; n++) {
        peer_up(scene, n);
        registers(scene, n);
    }
    steps_to_the_write(scene, writes);
    for (int write = 0; welcomed < MANY - 1; write++) {
        assert_in_range(write, 0, 9);
        forget_sent(scene);
        scene_answer(scene, true);
        scene_drain(scene);
        while (coordinator_is_busy(scene->coordinator)) {
            assert_in_range(sent_count(scene, SHARD_REGISTER_ACK, ANY_NODE), 0, max);
            welcomed += sent_count(scene, SHARD_REGISTER_ACK, ANY_NODE);
            forget_sent(scene);
            passes(scene, 0);
        }
        welcomed += sent_count(scene, SHARD_REGISTER_ACK, ANY_NODE);
    }
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_announcements_take_several_steps),
        cmocka_unit_test(a_removed_home_is_not_announced_any_more),
        cmocka_unit_test(a_home_gets_its_order_before_an_asker_learns_it),
        cmocka_unit_test(a_coordinator_ends_after_all_announcements),
        cmocka_unit_test(a_step_finds_no_more_homes_than_it_may),
        cmocka_unit_test(a_step_looks_up_no_more_regions_than_it_may),
        cmocka_unit_test(a_step_packs_no_more_than_it_may),
        cmocka_unit_test(a_step_begins_no_more_hand_offs_than_it_may),
        cmocka_unit_test(one_hand_off_begins_in_several_steps),
        cmocka_unit_test(a_hand_off_that_has_ended_is_not_begun_elsewhere),
        cmocka_unit_test(
            a_beginning_hand_off_does_not_wait_for_removed_regions),
        cmocka_unit_test(silent_regions_are_asked_again_in_several_steps),
        cmocka_unit_test(members_are_queried_in_several_steps),
        cmocka_unit_test(a_step_rebalances_no_more_than_it_may),
        cmocka_unit_test(coordinators_rebalance_one_after_the_other),
        cmocka_unit_test(many_regions_are_welcomed_in_several_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
