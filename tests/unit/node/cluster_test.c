/* Actors hear of the cluster that their node is in: each change in the reference's order, on every lane, to the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cast.h"

#include <sherd/cluster.h>

/* What one listener heard, as text: "1up" node 1 is up, "2!" unreachable, "2?" reachable, "*1" leader, "*1host" of a role. */
struct ear {
    struct world *world;
    char text[512];
    bool ended;
};

static int node_of(struct world *world, const char *address)
{
    for (uint32_t i = 0; i < world_node_count(world); i++) {
        char text[ADDRESS_TEXT_MAX];

        (void)address_text(
            &world_node(world, i)->settings.identity.node.address, text,
            sizeof text);
        if (strcmp(text, address) == 0)
            return (int)i;
    }
    return -1;
}

static void note(struct ear *ear, const struct sherd_cluster_event *event)
{
    size_t used = strlen(ear->text);
    int node = node_of(ear->world, event->member.address);
    char *to = ear->text + used;
    size_t room = sizeof ear->text - used;

    switch (event->kind) {
    case SHERD_MEMBER_UNREACHABLE:
        (void)snprintf(to, room, "%d! ", node);
        break;
    case SHERD_MEMBER_REACHABLE:
        (void)snprintf(to, room, "%d? ", node);
        break;
    case SHERD_LEADER_CHANGED:
    case SHERD_ROLE_LEADER_CHANGED:
        (void)snprintf(to, room, "*%d%s ", node, event->role);
        break;
    case SHERD_CLUSTER_SHUTTING_DOWN:
        (void)snprintf(to, room, "end ");
        break;
    default:
        (void)snprintf(to, room, "%d%s ", node,
                       sherd_cluster_event_text(event->kind));
    }
}

static enum sherd_next listen(struct sherd_ctx *ctx, void *self,
                              const struct sherd_msg *msg)
{
    struct ear **ear = self;
    struct sherd_cluster_event event;
    size_t at = 0;

    if (msg->kind == SHERD_STARTED) {
        memcpy(ear, msg->body.data, sizeof *ear);
        assert_int_equal(sherd_cluster_subscribe(ctx, SHERD_EVENTS_ALL,
                                                 SHERD_STATE_FIRST),
                         0);
    }
    while (sherd_cluster_next(msg, &at, &event))
        note(*ear, &event);
    if (msg->kind == SHERD_STOPPING)
        (*ear)->ended = true;
    return SHERD_CONTINUE;
}

static void ear_open(struct ear *ear, struct world *world, uint32_t node,
                     uint32_t lane)
{
    static const struct sherd_behavior behavior = {
        .name = "ear", .state_size = sizeof(struct ear *), .receive = listen
    };
    struct ear *body = ear;

    *ear = (struct ear){ .world = world };
    world_spawn(world, node, lane, &behavior, &body, sizeof body);
    world_run(world, 10 * MS);
}

static void expect(struct ear *ear, const char *text)
{
    assert_string_equal(ear->text, text);
    ear->text[0] = 0;
}

static bool heard(struct world *world, void *arg)
{
    struct {
        struct ear *ear;
        const char *text;
    } *what = arg;

    (void)world;
    return strstr(what->ear->text, what->text) != NULL;
}

static void wait_for(struct ear *ear, const char *text)
{
    struct {
        struct ear *ear;
        const char *text;
    } what = { ear, text };

    assert_true(world_until(ear->world, heard, &what, 60 * SECOND));
}

static void start(struct world *world, uint32_t node, uint32_t lanes)
{
    struct node_settings settings =
        world_node_settings(world, node, cast_types, CAST_TYPES);

    settings.lanes = lanes;
    world_start(world, node, &settings);
}

/* A third node comes, is cut off and heals, crashes, is downed and removed: on both lanes of a node the same. */
static void changes_are_heard_on_every_lane(void **state)
{
    static const char came[] = "2joined 2up ";
    static const char went[] = "2! 2downed 2removed ";
    struct world *world = cast_world(31, 2, 2);
    struct ear ears[2];
    (void)state;

    for (uint32_t i = 0; i < 2; i++)
        ear_open(&ears[i], world, 0, i);
    for (uint32_t i = 0; i < 2; i++)
        expect(&ears[i], "0up 1up *0 *0host ");
    start(world, 2, 1);
    for (uint32_t i = 0; i < 2; i++) {
        wait_for(&ears[i], came);
        expect(&ears[i], came);
    }
    world_pause(world, 2, true);
    wait_for(&ears[0], "2!");
    world_pause(world, 2, false);
    wait_for(&ears[0], "2?");
    world_run(world, 5 * SECOND);
    assert_string_equal(ears[0].text, ears[1].text);
    assert_int_equal(strncmp(ears[0].text, "2! 2? ", 6), 0);
    ears[0].text[0] = ears[1].text[0] = 0;
    world_crash(world, 2);
    wait_for(&ears[0], "2!");
    world_down(world, 1, 2);
    wait_for(&ears[0], "removed");
    world_run(world, SECOND);
    for (uint32_t i = 0; i < 2; i++)
        expect(&ears[i], went);
    world_free(world);
}

/* The leader leaves; it hears its own end before it stops, and the other hears all steps. */
static void a_leaving_node_is_heard_to_its_end(void **state)
{
    struct world *world = cast_world(32, 2, 1);
    struct ear ears[2];
    uint32_t index = 0;
    (void)state;

    for (uint32_t i = 0; i < 2; i++) {
        ear_open(&ears[i], world, i, 0);
        expect(&ears[i], "0up 1up *0 *0host ");
    }
    world_leave(world, 0);
    assert_true(world_until(world, world_node_ended, &index, 60 * SECOND));
    wait_for(&ears[1], "removed");
    world_run(world, SECOND);
    expect(&ears[1], "0left 0exited *1 0removed *-1host ");
    assert_true(ears[0].ended);
    expect(&ears[0], "0left 0exited *1 "
                     "end 0removed 1removed *-1 *-1host ");
    world_free(world);
}

/* A node that joins late hears itself come in. */
static void a_node_hears_itself(void **state)
{
    struct world *world = cast_new(33);
    struct ear ear;
    (void)state;

    cast_begin();
    start(world, 0, 1);
    ear_open(&ear, world, 0, 0);
    wait_for(&ear, "up");
    world_run(world, SECOND);
    expect(&ear, "0up *0 ");
    start(world, 1, 1);
    ear_open(&ear, world, 1, 0);
    wait_for(&ear, "1up");
    world_run(world, SECOND);
    assert_non_null(strstr(ear.text, "0up 1joined *0 1up "));
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_heard_on_every_lane),
        cmocka_unit_test(a_leaving_node_is_heard_to_its_end),
        cmocka_unit_test(a_node_hears_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
