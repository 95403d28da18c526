/* Tests all probe checkers over worlds in which nodes join, leave, crash and are replaced, shards
 * move, and an operator downs a live node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/trace.h"
#include "sim/check/check_convergence.h"
#include "sim/check/checks.h"
#include "sim/world/net.h"
#include "sim/world/verdict.h"
#include "sim/world/world.h"
#include "sim/zoo/zoo.h"

/* Types name only the fields that they need. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define IDS 200

static enum sherd_next receive(struct sherd_ctx *ctx, void *state,
                               const struct sherd_msg *msg)
{
    uint64_t *count = state;

    if (msg->kind == SHERD_MESSAGE && sherd_type(ctx)[0] == 'P')
        sherd_persist(ctx, 1, (struct sherd_bytes){ count, sizeof *count });
    return SHERD_CONTINUE;
}

static void apply(void *state, uint32_t type, struct sherd_bytes event)
{
    uint64_t *count = state;

    (void)type;
    (void)event;
    ++*count;
}

static const struct sherd_entity_type types[] = {
    { .name = "E",
      .shards = 20,
      .behavior = { .name = "e", .state_size = 8, .receive = receive } },
    { .name = "P",
      .shards = 20,
      .behavior = { .name = "p",
                    .state_size = 8,
                    .receive = receive,
                    .apply = apply } },
};

struct scene {
    struct world *world;
    struct checks *checks;
    uint32_t told;
    bool resolves; /* nodes that start have a split brain resolver with a lease */
};

static uint32_t centers; /* data centers that nodes are in, in turn */

static void start(struct scene *scene, uint32_t index)
{
    static const char *const names[] = { "even", "odd" };
    static const struct address seeds[] = { { "n0", 2551 }, { "n1", 2551 } };
    struct node_settings settings =
        world_node_settings(scene->world, index, types, 2);

    settings.lanes = 2;
    settings.probes = true;
    settings.rebalance_interval = 2 * SECOND;
    settings.seed_nodes = seeds;
    settings.seed_node_count = 2;
    settings.resolves = scene->resolves;
    settings.resolver.strategy.kind = STRATEGY_LEASE_MAJORITY;
    settings.resolver.stable_after = 3 * SECOND;
    settings.lease_ttl = 20 * SECOND;
    settings.lease_interval = 4 * SECOND;
    if (centers)
        settings.data_center = names[index % centers];
    world_start(scene->world, index, &settings);
}

static void open_scene(struct scene *scene, uint64_t seed, uint32_t nodes)
{
    struct world_settings settings = { .seed = seed, .keep_lines = true };

    *scene = (struct scene){ .world = world_new(&settings) };
    scene->checks = checks_new(scene->world, 0);
    for (uint32_t i = 0; i < nodes; i++) { /* each is older than the next one */
        start(scene, i);
        assert_true(world_until(scene->world, world_all_up, NULL, 60 * SECOND));
    }
}

static void work(struct scene *scene, uint64_t duration)
{
    for (uint64_t i = 0; i < duration / (50 * MS); i++) {
        for (uint32_t k = 0; k < 10; k++) {
            uint32_t number = scene->told++;
            uint32_t node = number % world_node_count(scene->world);
            char id[16];

            (void)snprintf(id, sizeof id, "e%u", number * 7 % IDS);
            if (world_node(scene->world, node)->node)
                world_tell_entity(scene->world, node, types[number % 2].name,
                                  id, 1,
                                  (struct sherd_bytes){ NULL, 0 });
        }
        world_run(scene->world, 50 * MS);
    }
}

static void close_scene(struct scene *scene)
{
    const struct verdict *verdict = world_verdict(scene->world);
    char line[VERDICT_LINE_MAX];

    checks_look(scene->checks);
    for (uint32_t i = 0; i < verdict_count(verdict); i++)
        print_error("%s\n", verdict_line(verdict, verdict_at(verdict, i), line,
                                         sizeof line));
    assert_int_equal(verdict_count(verdict), 0);
    world_free(scene->world);
    checks_free(scene->checks);
}

static void a_calm_cluster_keeps_the_rules(void **state)
{
    struct scene scene;
    struct check_coordinator_counts homes;
    struct check_member_counts members;

    (void)state;
    open_scene(&scene, 1, 3);
    work(&scene, 5 * SECOND);
    homes = check_coordinator_counts(scene.checks->coordinator);
    members = check_member_counts(scene.checks->member);
    assert_int_equal(homes.active, 2);
    assert_int_equal(homes.allocated, 40);
    assert_int_equal(members.founded, 1);
    assert_int_equal(members.joined, 2);
    assert_true(members.actions >= 2);
    assert_true(check_gossip_seen_counts(scene.checks->gossip_seen).judged >= 3);
    assert_int_equal(check_gossip_seen_counts(scene.checks->gossip_seen).excused, 0);
    assert_int_equal(check_entity_counts(scene.checks->entity).live, 2 * IDS / 2);
    close_scene(&scene);
}

static void shards_move_when_nodes_join_and_leave(void **state)
{
    struct scene scene;
    struct check_coordinator_counts homes;
    struct check_state_quorum_counts kept;
    uint32_t gone = 0;

    (void)state;
    open_scene(&scene, 2, 3);
    work(&scene, 3 * SECOND);
    start(&scene, 3);
    assert_true(world_until(scene.world, world_all_up, NULL, 60 * SECOND));
    work(&scene, 20 * SECOND);
    world_leave(scene.world, gone); /* the oldest, with the coordinators */
    work(&scene, 10 * SECOND);
    assert_true(
        world_until(scene.world, world_node_ended, &gone, 120 * SECOND));
    work(&scene, 5 * SECOND);
    homes = check_coordinator_counts(scene.checks->coordinator);
    assert_true(homes.moved > 10);
    assert_true(homes.reported > 10);
    assert_int_equal(homes.active, 4);
    assert_int_equal(check_member_counts(scene.checks->member).removed, 3);
    kept = check_state_quorum_counts(scene.checks->quorum);
    assert_true(kept.writes > 10);
    /* the next oldest read two keys of two types; the first read found nothing */
    assert_int_equal(kept.reads, 4);
    close_scene(&scene);
}

static void crashed_nodes_come_back(void **state)
{
    struct scene scene;

    (void)state;
    open_scene(&scene, 3, 4);
    work(&scene, 3 * SECOND);
    world_crash(scene.world, 0); /* the oldest */
    work(&scene, SECOND);
    start(&scene, 0); /* the old incarnation is downed as replaced */
    work(&scene, 30 * SECOND);
    assert_true(world_until(scene.world, world_all_up, NULL, 60 * SECOND));
    world_crash(scene.world, 2);
    world_down(scene.world, 1, 2);
    work(&scene, 20 * SECOND);
    assert_true(check_member_counts(scene.checks->member).downed >= 2);
    assert_true(check_coordinator_counts(scene.checks->coordinator).active >= 4);
    assert_int_equal(check_entity_counts(scene.checks->entity).overlaps, 0);
    close_scene(&scene);
}

/* It is cut off, and its entities run twice until it learns that it is down. The checkers measure
 * that. */
static void a_downed_node_that_lives_on_is_outside(void **state)
{
    struct scene scene;
    uint32_t gone = 2;

    (void)state;
    open_scene(&scene, 4, 3);
    work(&scene, 3 * SECOND);
    net_part(scene.world, 2, 0, true);
    net_part(scene.world, 2, 1, true);
    world_down(scene.world, 0, 2);
    work(&scene, 20 * SECOND);
    assert_true(check_entity_counts(scene.checks->entity).overlaps > 5);
    net_part(scene.world, 2, 0, false);
    net_part(scene.world, 2, 1, false);
    work(&scene, 20 * SECOND);
    assert_true(world_until(scene.world, world_node_ended, &gone, 60 * SECOND));
    assert_true(check_entity_counts(scene.checks->entity).overlap_ns > SECOND);
    close_scene(&scene);
}

static void cut_off(struct scene *scene, uint32_t node, bool on)
{
    net_part(scene->world, node, 1, on);
    net_part(scene->world, node, 2, on);
}

static void a_node_that_joins_one_outside_is_outside(void **state)
{
    struct scene scene;

    (void)state;
    open_scene(&scene, 12, 3);
    work(&scene, 3 * SECOND);
    cut_off(&scene, 0, true);
    cut_off(&scene, 3, true);
    world_down(scene.world, 1, 0);
    work(&scene, SECOND);
    assert_true(scene.checks->safety.outside[0]);
    start(&scene, 3);
    work(&scene, 20 * SECOND);
    assert_true(scene.checks->safety.outside[3]);
    assert_false(scene.checks->safety.outside[1]);
    cut_off(&scene, 0, false);
    cut_off(&scene, 3, false);
    world_crash(scene.world, 3);
    start(&scene, 3);
    assert_true(world_until(scene.world, world_all_up, NULL, 60 * SECOND));
    assert_false(scene.checks->safety.outside[3]);
    close_scene(&scene);
}

/* The node that welcomed it was given up, but reported it to the others. */
static void a_node_that_the_others_see_is_inside(void **state)
{
    struct scene scene;

    (void)state;
    open_scene(&scene, 13, 3);
    cut_off(&scene, 3, true);
    scene.checks->safety.outside[0] = true;
    start(&scene, 3);
    for (uint32_t i = 0; i < 10000 && !scene.checks->safety.outside[3]; i++)
        world_run(scene.world, MS / 10);
    assert_true(scene.checks->safety.outside[3]);
    cut_off(&scene, 3, false);
    assert_true(world_until(scene.world, world_all_up, NULL, 60 * SECOND));
    assert_false(scene.checks->safety.outside[3]);
    assert_true(scene.checks->safety.outside[0]);
    close_scene(&scene);
}

static void a_lease_has_one_holder(void **state)
{
    struct scene scene;
    uint32_t gone = 2;

    (void)state;
    open_scene(&scene, 10, 3);
    scene.resolves = true;
    check_member_resolves(scene.checks->member);
    for (uint32_t i = 0; i < 3; i++) { /* again, with resolvers */
        world_crash(scene.world, i);
        start(&scene, i);
    }
    assert_true(world_until(scene.world, world_all_up, NULL, 120 * SECOND));
    assert_int_equal(check_lease_count(scene.checks->lease), 0);
    world_run(scene.world, 10 * SECOND); /* they meet first */
    net_part(scene.world, 2, 0, true);
    net_part(scene.world, 2, 1, true);
    assert_true(world_until(scene.world, world_node_ended, &gone, 60 * SECOND));
    assert_int_equal(check_lease_count(scene.checks->lease), 1);
    assert_non_null(world_node(scene.world, 0)->node);
    assert_non_null(world_node(scene.world, 1)->node);
    close_scene(&scene);
}

static bool has_member(struct world *world, void *arg)
{
    struct sherd_status status = world_status(world, 1);
    bool found = false;

    for (uint32_t i = 0; i < status.member_count; i++)
        found |= (int)status.members[i].status == *(int *)arg;
    world_status_fini(&status);
    return found;
}

static bool is_taken_over(struct world *world, void *arg)
{
    const struct scene *scene = arg;

    (void)world;
    return check_coordinator_counts(scene->checks->coordinator).active > 2;
}

/* The oldest is cut off before it has handed over. The leader removes it, and its coordinators go
 * on. */
static void an_exiting_node_that_is_removed_unreachable_is_outside(void **state)
{
    struct scene scene;
    uint32_t gone = 0;
    int leaving = SHERD_LEAVING;
    int exiting = SHERD_EXITING;

    (void)state;
    open_scene(&scene, 1, 3);
    work(&scene, 3 * SECOND);
    world_leave(scene.world, gone);
    for (uint32_t i = 0; i < 60000 && !has_member(scene.world, &leaving); i++)
        world_run(scene.world, MS);
    assert_true(has_member(scene.world, &leaving));
    net_cut(scene.world, 1, 0, NET_ORDINARY, true);
    assert_true(world_until(scene.world, has_member, &exiting, 60 * SECOND));
    net_part(scene.world, 0, 1, true);
    net_part(scene.world, 0, 2, true);
    assert_true(world_until(scene.world, is_taken_over, &scene, 30 * SECOND));
    assert_non_null(world_node(scene.world, gone)->node);
    assert_true(scene.checks->safety.outside[gone]);
    assert_true(world_until(scene.world, world_node_ended, &gone, 60 * SECOND));
    close_scene(&scene);
}

/* Leaves while no other node answers, with a bug in a step of the shutdown. */
static bool ends_late(enum zoo_mutant bug, bool is_paused, uint64_t within)
{
    struct scene scene;
    const struct violation *late;
    bool was_late;

    open_scene(&scene, 5, 2);
    work(&scene, 3 * SECOND);
    zoo_choose(bug);
    world_pause(scene.world, 0, true);
    world_leave(scene.world, 1);
    world_pause(scene.world, 1, is_paused);
    assert_int_equal(checks_ending(scene.checks), 1);
    work(&scene, within);
    checks_look(scene.checks);
    world_pause(scene.world, 1, false);
    late = verdict_find(world_verdict(scene.world), "shutdown-completes");
    was_late = late && late->node == 1;
    assert_int_equal(checks_ending(scene.checks), is_paused);
    zoo_choose(ZOO_NONE);
    world_free(scene.world);
    checks_free(scene.checks);
    return was_late;
}

static void shutdown_completes_a_node_that_does_not_end_is_found(void **state)
{
    (void)state;
    assert_false(ends_late(ZOO_NONE, false, 240 * SECOND));
    assert_true(ends_late(ZOO_UNSEEN_EXIT_DELAYS_THE_END, false, 240 * SECOND));
    assert_false(ends_late(ZOO_UNSEEN_EXIT_DELAYS_THE_END, true, 240 * SECOND)); /* it cannot */
}

static void readable_frames_an_unreadable_frame_is_known_by_its_log_line(void **state)
{
    static const struct {
        const char *module, *text;
        bool is_unreadable;
    } lines[] = {
        { "artery", "frame dropped reason=\"unknown version\"", true },
        { "artery", "connection closed from=n1 reason=\"frame too large\"", true },
        { "artery", "connection closed from=n1 reason=\"not this protocol\"", true },
        { "artery", "connection closed from=n1 reason=\"a newer connection is in use\"",
          false },
        { "artery", "handshake refused reason=\"malformed\"", false },
        { "member", "frame dropped reason=\"unknown version\"", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const struct trace_line line = { .module = lines[i].module,
                                         .text = lines[i].text };

        assert_int_equal(checks_is_unreadable(&line), lines[i].is_unreadable);
    }
}

/* The oldest dies with its coordinators. After it is downed, a node that hears nothing from the next
 * oldest does not know the new coordinators. Gossip uses the ordinary stream, so both are cut. */
static void homes_available_a_cluster_without_coordinators_is_found(void **state)
{
    struct scene scene;
    char text[VERDICT_TEXT_MAX] = "";

    (void)state;
    open_scene(&scene, 8, 3);
    work(&scene, 5 * SECOND);
    if (!quiet_coordinated(scene.world, scene.checks->live, 1, text, sizeof text))
        fail_msg("%s", text);
    world_crash_as(scene.world, 0, WORLD_KILLED);
    world_run(scene.world, 5 * SECOND);
    assert_false(quiet_coordinated(scene.world, scene.checks->live, 1, text,
                                   sizeof text));
    assert_non_null(strstr(text, "0 active coordinators"));
    net_cut(scene.world, 1, 2, NET_BOTH, true);
    world_down(scene.world, 1, 0);
    world_run(scene.world, 2 * SECOND);
    assert_false(quiet_coordinated(scene.world, scene.checks->live, 1, text,
                                   sizeof text));
    net_cut(scene.world, 1, 2, NET_BOTH, false);
    world_run(scene.world, 60 * SECOND);
    if (!quiet_coordinated(scene.world, scene.checks->live, 1, text, sizeof text))
        fail_msg("%s", text);
    close_scene(&scene);
}

/* Checkers that know of one data center see two coordinators. */
static void data_centers_have_their_coordinators(void **state)
{
    struct scene scene;
    char text[VERDICT_TEXT_MAX] = "";

    (void)state;
    centers = 2;
    scene = (struct scene){ .world = world_new(
                                &(struct world_settings){ .seed = 9 }) };
    scene.checks = checks_new(scene.world, 0);
    scene.checks->centers = 2;
    for (uint32_t i = 0; i < 4; i++)
        start(&scene, i);
    assert_true(world_until(scene.world, world_all_up, NULL, 60 * SECOND));
    world_run(scene.world, 10 * SECOND);
    if (!quiet_coordinated(scene.world, scene.checks->live, 2, text, sizeof text))
        fail_msg("%s", text);
    assert_false(quiet_coordinated(scene.world, scene.checks->live, 1, text,
                                   sizeof text));
    close_scene(&scene);
    open_scene(&scene, 9, 4);
    world_run(scene.world, 10 * SECOND);
    assert_true(verdict_count(world_verdict(scene.world)) > 0);
    world_free(scene.world);
    checks_free(scene.checks);
    centers = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_calm_cluster_keeps_the_rules),
        cmocka_unit_test(shards_move_when_nodes_join_and_leave),
        cmocka_unit_test(crashed_nodes_come_back),
        cmocka_unit_test(homes_available_a_cluster_without_coordinators_is_found),
        cmocka_unit_test(data_centers_have_their_coordinators),
        cmocka_unit_test(a_downed_node_that_lives_on_is_outside),
        cmocka_unit_test(a_node_that_joins_one_outside_is_outside),
        cmocka_unit_test(a_node_that_the_others_see_is_inside),
        cmocka_unit_test(a_lease_has_one_holder),
        cmocka_unit_test(an_exiting_node_that_is_removed_unreachable_is_outside),
        cmocka_unit_test(shutdown_completes_a_node_that_does_not_end_is_found),
        cmocka_unit_test(readable_frames_an_unreadable_frame_is_known_by_its_log_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
