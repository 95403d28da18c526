/* Tests the cluster events of actors: in Akka's order, on every lane, to the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cast.h"

#include <sherd/cluster.h>

/* A listener's events: "1up" node 1 is up, "2!" unreachable, "2?" reachable, "*1" leader, "*1host"
 * leader of a role. */
struct ear {
    struct world *world;
    char text[512];
    uint32_t seen; /* in seen-by, in states */
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
    while (sherd_cluster_next(msg, &at, &event)) {
        note(*ear, &event);
        (*ear)->seen += event.kind <= SHERD_MEMBER_REMOVED && event.member.seen;
    }
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

/* A node joins, is cut off and heals, crashes, is downed and removed. */
static void every_lane_gets_every_change(void **state)
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

static uint32_t seen_by(struct world *world, uint32_t node)
{
    struct sherd_status status = world_status(world, node);
    uint32_t count = 0;

    for (uint32_t i = 0; i < status.member_count; i++)
        count += status.members[i].seen != 0;
    world_status_fini(&status);
    return count;
}

/* A paused member is unreachable, and has not seen the version. */
static void the_status_lists_the_members_that_have_seen_the_version_MEM066(
    void **state)
{
    struct world *world = cast_world(38, 3, 1);
    struct ear ear;
    (void)state;

    ear_open(&ear, world, 0, 0);
    world_run(world, 10 * SECOND);
    assert_int_equal(seen_by(world, 0), 3);
    world_pause(world, 2, true);
    wait_for(&ear, "2!");
    world_run(world, 5 * SECOND);
    assert_int_equal(seen_by(world, 0), 2);
    world_pause(world, 2, false);
    wait_for(&ear, "2?");
    world_run(world, 10 * SECOND);
    assert_int_equal(seen_by(world, 0), 3);
    world_free(world);
}

/* It also holds on a lane that subscribes already. */
static void a_state_lists_the_members_that_have_seen_it(void **state)
{
    struct world *world = cast_new(79);
    struct ear ears[3];
    (void)state;

    cast_begin();
    for (uint32_t i = 0; i < 3; i++)
        start(world, i, 1);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, 5 * SECOND);
    ear_open(&ears[0], world, 0, 0);
    ear_open(&ears[1], world, 0, 0);
    assert_int_equal(ears[0].seen, 3);
    assert_int_equal(ears[1].seen, 3);
    net_cut(world, 0, 2, NET_BOTH, true);
    net_cut(world, 1, 2, NET_BOTH, true);
    world_run(world, 20 * SECOND);
    ear_open(&ears[2], world, 0, 0);
    wait_for(&ears[2], "2! ");
    assert_int_equal(ears[2].seen, 2);
    assert_int_equal(ears[0].seen, 3); /* no change reports it */
    world_free(world);
}

/* While a node is paused, another one joins and is downed: it takes these gossips in at once. */
static void merged_gossips_give_one_event_for_each_change(void **state)
{
    struct world *world = cast_world(37, 2, 2);
    struct ear ears[2];
    (void)state;

    for (uint32_t i = 0; i < 2; i++) {
        ear_open(&ears[i], world, i, i);
        expect(&ears[i], "0up 1up *0 *0host ");
    }
    world_pause(world, 1, true);
    start(world, 2, 1);
    wait_for(&ears[0], "2joined");
    world_run(world, 1500 * MS);
    world_down(world, 0, 2);
    world_run(world, 1500 * MS);
    expect(&ears[0], "2joined 2downed ");
    world_pause(world, 1, false);
    world_run(world, 200 * MS);
    assert_int_equal(strncmp(ears[1].text, "2joined 2downed ", 16), 0);
    world_free(world);
}

/* The leader gets its own end before it stops, the other node all steps. */
static void a_leaving_node_gets_its_events_to_the_end_SGT044_MEM067(
    void **state)
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

/* The node hands its shards off. Meanwhile it is not ready. */
static void a_node_leaves_at_the_request_of_another(void **state)
{
    struct world *world = cast_world(42, 2, 1);
    struct player player;
    struct ear ear;
    uint32_t index = 1;
    (void)state;

    player_spawn(&player, world, 0, 0);
    for (uint32_t i = 0; i < 16; i++) {
        char id[8];

        (void)snprintf(id, sizeof id, "p%u", i);
        assert_int_equal(player_asks(&player, "P", id, STORE), 1);
    }
    ear_open(&ear, world, 0, 0);
    expect(&ear, "0up 1up *0 *0host ");
    world_leave_member(world, 0, 1);
    wait_for(&ear, "1left ");
    assert_true(world_node(world, 0)->is_ready);
    world_run(world, SECOND);
    assert_false(world_node(world, 1)->is_ready);
    assert_true(world_until(world, world_node_ended, &index, 60 * SECOND));
    assert_int_equal(world_node(world, 1)->error, 0);
    wait_for(&ear, "removed");
    expect(&ear, "1left 1exited 1removed ");
    assert_false(world_logged(world, 1, "not done in time"));
    for (uint32_t i = 0; i < 16; i++) {
        char id[8];

        (void)snprintf(id, sizeof id, "p%u", i);
        assert_int_equal(player_asks(&player, "P", id, STORE), 2);
    }
    assert_true(world_node(world, 0)->is_ready);
    world_leave_member(world, 0, 1);
    world_run(world, 10 * MS);
    assert_true(world_logged(world, 0, "leave ignored: the member does not exist"));
    index = 0;
    world_leave_member(world, 0, 0);
    assert_true(world_until(world, world_node_ended, &index, 60 * SECOND));
    assert_int_equal(world_node(world, 0)->error, 0);
    world_free(world);
}

/* Actors on both lanes get the end, after the messages in their mailboxes, and the node ends at
 * once. */
static void the_downed_hears(struct world *world, uint32_t by, uint32_t node,
                             const char *text)
{
    struct ear ears[2];
    uint64_t began;

    for (uint32_t i = 0; i < 2; i++) {
        ear_open(&ears[i], world, node, i);
        ears[i].text[0] = 0;
    }
    world_run(world, 5 * SECOND);
    began = world_now(world);
    world_down(world, by, node);
    assert_true(world_until(world, world_node_ended, &node, 60 * SECOND));
    assert_true(world_now(world) - began < 5 * SECOND);
    assert_int_equal(world_node(world, node)->error, SHERD_EDOWN);
    for (uint32_t i = 0; i < 2; i++)
        expect(&ears[i], text);
}

/* There are no tasks that would keep its lanes. */
static void a_downed_node_gets_its_events_to_the_end_MEM074(void **state)
{
    struct world *world = cast_world(39, 2, 2);
    (void)state;

    the_downed_hears(world, 0, 1,
                     "1downed end 0removed 1removed *-1 *-1host ");
    world_free(world);
    world = cast_world(40, 1, 2);
    the_downed_hears(world, 0, 0,
                     "0downed *-1 *-1host end 0removed ");
    world_free(world);
}

static void gives_up_soon(struct world *world, uint32_t node)
{
    struct node_settings settings =
        world_node_settings(world, node, cast_types, CAST_TYPES);

    settings.join_give_up = 20 * SECOND;
    world_start(world, node, &settings);
}

static void a_node_without_a_cluster_gets_the_end_event(void **state)
{
    struct world *world = cast_new(44);
    struct ear ear;
    uint32_t index = 1;
    (void)state;

    cast_begin();
    gives_up_soon(world, 1);
    ear_open(&ear, world, 1, 0);
    expect(&ear, "");
    assert_true(world_until(world, world_node_ended, &index, 60 * SECOND));
    assert_int_equal(world_node(world, 1)->error, SHERD_EJOIN);
    assert_true(ear.ended);
    expect(&ear, "end ");
    world_free(world);
}

static void a_joining_node_gets_its_own_events_SGT044_MEM392(void **state)
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

/* When the cut heals, it tells each of the others that it was removed. */
static void a_node_that_downed_all_others_ends_alone(void **state)
{
    struct world *world = cast_world(34, 4, 1);
    (void)state;

    world_run(world, 3 * SECOND); /* heartbeats: each node has met all others */
    for (uint32_t i = 0; i < 3; i++)
        net_part(world, i, 3, true);
    world_run(world, 20 * SECOND);
    for (uint32_t i = 0; i < 3; i++)
        world_down(world, 3, i);
    world_run(world, 10 * SECOND);
    assert_true(world_logged(world, 3, "leader removes member=n1"));
    for (uint32_t i = 0; i < 3; i++)
        net_part(world, i, 3, false);
    world_run(world, 30 * SECOND);
    for (uint32_t i = 0; i < 3; i++) {
        struct sherd_status status;

        assert_false(world_node(world, i)->has_ended);
        assert_true(
            world_logged(world, i, "considers this node removed member=n3"));
        status = world_status(world, i);
        for (uint32_t k = 0; k < 3; k++)
            assert_true(status.members[k].reachable);
        world_status_fini(&status);
    }
    world_free(world);
}

static void a_paused_node_learns_from_others_that_it_was_removed(void **state)
{
    struct world *world = cast_world(35, 4, 1);
    uint32_t index = 3;
    (void)state;

    world_pause(world, 3, true);
    world_run(world, 20 * SECOND);
    world_down(world, 0, 3);
    world_run(world, 10 * SECOND);
    assert_true(world_logged(world, 0, "leader removes member=n3"));
    world_pause(world, 3, false);
    assert_true(world_until(world, world_node_ended, &index, 30 * SECOND));
    assert_int_equal(world_node(world, 3)->error, SHERD_EDOWN);
    for (uint32_t i = 0; i < 3; i++)
        assert_false(world_node(world, i)->has_ended);
    world_free(world);
}

static bool all_ended(struct world *world, void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < world_node_count(world); i++)
        if (!world_node(world, i)->has_ended)
            return false;
    return true;
}

static uint32_t ready_count(struct world *world)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < world_node_count(world); i++)
        count += world_node(world, i)->is_ready;
    return count;
}

/* No shards move and no node joins; then all leave at once without handing off. */
static void a_full_shutdown_prepares_all_members_first_SHT074_MEM265_MEM266_MEM267(
    void **state)
{
    struct world *world = cast_world(36, 3, 1);
    struct player player;
    struct ear ear;
    uint64_t began;
    (void)state;

    player_spawn(&player, world, 2, 0);
    for (uint32_t i = 0; i < 16; i++) {
        char id[8];

        (void)snprintf(id, sizeof id, "p%u", i);
        (void)player_asks(&player, "P", id, STORE);
    }
    ear_open(&ear, world, 1, 0);
    expect(&ear, "0up 1up 2up *0 *0host ");
    assert_int_equal(ready_count(world), 3);
    world_prepare_shutdown(world, 2);
    wait_for(&ear, "2ready for shutdown");
    world_run(world, SECOND);
    expect(&ear, "0preparing for shutdown 1preparing for shutdown "
                 "2preparing for shutdown 0ready for shutdown "
                 "1ready for shutdown 2ready for shutdown ");
    assert_int_equal(ready_count(world), 0);
    start(world, 3, 1);
    world_run(world, 15 * SECOND);
    expect(&ear, "");
    assert_true(world_logged(world, 0, "join ignored: the cluster shuts down peer=n3"));
    world_leave(world, 3);
    began = world_now(world);
    for (uint32_t i = 0; i < 3; i++)
        world_leave(world, i);
    assert_true(world_until(world, all_ended, NULL, 40 * SECOND));
    assert_true(world_now(world) - began < 30 * SECOND);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(world_node(world, i)->error, 0);
    world_free(world);
}

static bool all_five_are_ready(struct world *world, void *arg)
{
    struct sherd_status status = world_status(world, 0);
    uint32_t ready = 0;
    (void)arg;

    for (uint32_t i = 0; i < status.member_count; i++)
        ready += status.members[i].status == SHERD_READY_FOR_SHUTDOWN;
    world_status_fini(&status);
    return ready == 5;
}

static bool is_weakly_up(struct world *world, void *index)
{
    struct sherd_status status = world_status(world, 0);
    bool is = status.member_count > *(uint32_t *)index &&
              status.members[*(uint32_t *)index].status == SHERD_WEAKLY_UP;

    world_status_fini(&status);
    return is;
}

/* While one member is paused, the gossip does not converge: the joining member waits no longer than
 * the others. */
static void a_weakly_up_member_ends_with_its_cluster(void **state)
{
    struct world *world = cast_world(41, 3, 1);
    uint32_t late = 3;
    uint64_t began;
    (void)state;

    world_pause(world, 2, true);
    world_run(world, 10 * SECOND);
    start(world, late, 1);
    assert_true(world_until(world, is_weakly_up, &late, 40 * SECOND));
    world_prepare_shutdown(world, 0);
    world_run(world, 5 * SECOND);
    began = world_now(world);
    for (uint32_t i = 0; i < 4; i++)
        if (i != 2)
            world_leave(world, i);
    while (!world_node(world, 0)->has_ended || !world_node(world, 1)->has_ended || !world_node(world, late)->has_ended) {
        world_run(world, SECOND);
        assert_true(world_now(world) - began < 30 * SECOND);
    }
    assert_int_equal(world_node(world, late)->error, 0);
    world_free(world);
}

/* The node was asked to leave before it knew of the full shutdown. */
static void an_early_leaver_waits_no_longer_than_its_cluster(void **state)
{
    struct world *world = cast_world(42, 3, 1);
    uint64_t began;
    uint32_t index = 1;
    (void)state;

    world_pause(world, 2, true);
    world_run(world, 10 * SECOND);
    world_leave(world, 1);
    world_run(world, 5 * SECOND);
    world_prepare_shutdown(world, 0);
    world_run(world, SECOND);
    began = world_now(world);
    world_leave(world, 0);
    assert_true(world_until(world, world_node_ended, &index, 15 * SECOND));
    assert_int_equal(world_node(world, 1)->error, 0);
    index = 0;
    assert_true(world_until(world, world_node_ended, &index, 15 * SECOND));
    assert_true(world_now(world) - began < 15 * SECOND);
    world_free(world);
}

/* Each member is seen as exiting before its time-out. */
static void all_members_may_leave_at_once(void **state)
{
    (void)state;

    for (uint64_t seed = 43; seed < 46; seed++) {
        struct world *world = cast_world(seed, 5, 1);

        world_prepare_shutdown(world, 2);
        assert_true(world_until(world, all_five_are_ready, NULL, 30 * SECOND));
        for (uint32_t i = 0; i < 5; i++)
            world_leave(world, i);
        assert_true(world_until(world, all_ended, NULL, 60 * SECOND));
        for (uint32_t i = 0; i < 5; i++) {
            assert_int_equal(world_node(world, i)->error, 0);
            assert_false(world_logged(
                world, i, "not done in time phase=cluster-leave"));
        }
        world_free(world);
    }
}

static void start_without_types(struct world *world, uint32_t index)
{
    struct node_settings settings = world_node_settings(world, index, NULL, 0);

    settings.alone = true;
    settings.seed_node_count = 0;
    world_start(world, index, &settings);
}

/* Its actors' view continues, and its entities stay. */
static void a_cluster_of_one_may_join_another(void **state)
{
    struct world *world = cast_new(37);
    struct ear ear;
    (void)state;

    for (uint32_t i = 0; i < 3; i++)
        start_without_types(world, i);
    world_run(world, 5 * SECOND);
    ear_open(&ear, world, 1, 0);
    expect(&ear, "1up *1 ");
    world_join(world, 1, 1);
    world_run(world, SECOND);
    assert_true(world_logged(world, 1, "join ignored: the address is this node"));
    assert_int_equal(ready_count(world), 3);
    world_pause(world, 0, true);
    world_join(world, 1, 0);
    world_run(world, SECOND);
    assert_int_equal(ready_count(world), 2); /* in no cluster during the join */
    world_pause(world, 0, false);
    wait_for(&ear, "1up");
    expect(&ear, "0up 1joined *0 1up ");
    assert_int_equal(ready_count(world), 3);
    world_join(world, 2, 1);
    wait_for(&ear, "2up");
    expect(&ear, "2joined 2up ");
    world_join(world, 1, 2);
    world_run(world, 5 * SECOND);
    expect(&ear, "");
    assert_true(world_logged(world, 1, "join refused: this node has left, or its cluster has other"));
    world_free(world);
}

static void a_cluster_of_one_with_entities_joins_no_other(void **state)
{
    struct world *world = cast_world(38, 1, 1);
    struct sherd_status status;
    struct player player;
    (void)state;

    player_spawn(&player, world, 0, 0);
    (void)player_asks(&player, "P", "p", STORE);
    start_without_types(world, 1);
    world_run(world, 5 * SECOND);
    world_join(world, 0, 1);
    world_run(world, 5 * SECOND);
    assert_true(world_logged(world, 0, "join refused: a node with entity types"));
    status = world_status(world, 0);
    assert_int_equal(status.member_count, 1);
    world_status_fini(&status);
    assert_int_equal(player_asks(&player, "P", "p", STORE), 2);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_lists_the_members_that_have_seen_it),
        cmocka_unit_test(every_lane_gets_every_change),
        cmocka_unit_test(merged_gossips_give_one_event_for_each_change),
        cmocka_unit_test(
            the_status_lists_the_members_that_have_seen_the_version_MEM066),
        cmocka_unit_test(
            a_leaving_node_gets_its_events_to_the_end_SGT044_MEM067),
        cmocka_unit_test(a_node_leaves_at_the_request_of_another),
        cmocka_unit_test(a_downed_node_gets_its_events_to_the_end_MEM074),
        cmocka_unit_test(a_node_without_a_cluster_gets_the_end_event),
        cmocka_unit_test(a_joining_node_gets_its_own_events_SGT044_MEM392),
        cmocka_unit_test(
            a_full_shutdown_prepares_all_members_first_SHT074_MEM265_MEM266_MEM267),
        cmocka_unit_test(a_weakly_up_member_ends_with_its_cluster),
        cmocka_unit_test(an_early_leaver_waits_no_longer_than_its_cluster),
        cmocka_unit_test(all_members_may_leave_at_once),
        cmocka_unit_test(a_cluster_of_one_may_join_another),
        cmocka_unit_test(a_cluster_of_one_with_entities_joins_no_other),
        cmocka_unit_test(a_node_that_downed_all_others_ends_alone),
        cmocka_unit_test(a_paused_node_learns_from_others_that_it_was_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
