/* Tests a few nodes with one manager each, on a network that the test can delay: which node runs
 * the singleton, and never two at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/rng.h"
#include "base/timers.h"
#include "base/vec.h"
#include "singleton/singleton.h"

#define NODES_MAX 8
#define PATH "/system/sharding/TCoordinator"

struct mail_content {
    int from;
    int to;
    char manifest[4];
    char sender[80];
};

struct node {
    struct identity identity;
    struct singleton *singleton;
    struct outbox outbox;
    bool is_running; /* runs the singleton */
    bool is_dead;
    bool has_exited;
    int stop_delay; /* messages until the instance has stopped */
    int stopping;
};

struct world {
    struct node nodes[NODES_MAX];
    struct member_info peers[NODES_MAX]; /* the true status */
    int count;
    uint64_t now;
    struct singleton_settings settings;
    VEC(struct mail_content) contents;
    VEC(struct mail_content) history;
    bool may_overlap;
};

static struct node_id node_of(int n, uint64_t life)
{
    struct node_id node = { .address = { .port = 2550 },
                            .uid = 100 + (uint64_t)n + 1000 * life };

    snprintf(node.address.host, sizeof node.address.host, "n%d", n);
    return node;
}

static void listen(struct world *world, int n)
{
    struct node *node = &world->nodes[n];
    struct outbound out;
    enum singleton_news news;
    int running = 0;

    while (singleton_next_news(node->singleton, &news)) {
        if (news == SINGLETON_NEWS_START) {
            assert_false(node->is_running);
            node->is_running = true;
        } else if (news == SINGLETON_NEWS_STOP) {
            assert_true(node->is_running);
            node->stopping = node->stop_delay + 1;
        } else if (news == SINGLETON_NEWS_EXIT_DONE) {
            assert_false(node->is_running);
            node->has_exited = true;
        }
    }
    while (outbox_next(&node->outbox, &out)) {
        struct mail_content content = { .from = n, .to = -1 };

        assert_int_equal(out.serializer, SINGLETON_SERIALIZER);
        assert_int_equal(out.payload.size, 0);
        assert_true(slice_is(path_plain(out.recipient), PATH));
        assert_int_equal(out.selection, out.recipient.size == strlen(PATH));
        assert_true(slice_equal(out.sender, singleton_path(node->singleton)));
        for (int i = 0; i < world->count; i++)
            if (node_equal(&world->nodes[i].identity.node, &out.to))
                content.to = i;
        snprintf(content.manifest, sizeof content.manifest, "%.*s",
                 (int)out.manifest.size, (const char *)out.manifest.data);
        snprintf(content.sender, sizeof content.sender, "%.*s",
                 (int)out.sender.size, (const char *)out.sender.data);
        vec_push(&world->contents, content);
        vec_push(&world->history, content);
    }
    for (int i = 0; i < world->count; i++)
        running += world->nodes[i].is_running && !world->nodes[i].is_dead;
    if (!world->may_overlap)
        assert_true(running <= 1);
}

/* Every living node sees the true status. */
static void view(struct world *world)
{
    for (int i = 0; i < world->count; i++) {
        struct node *node = &world->nodes[i];

        if (node->is_dead)
            continue;
        for (int j = 0; j < world->count; j++)
            if (world->peers[j].status != MEMBER_REMOVED)
                singleton_peer(node->singleton, world->now, &world->peers[j]);
        singleton_peers_done(node->singleton, world->now, &node->outbox);
        listen(world, i);
    }
}

/* An exiting member has confirmed that it runs nothing any more. */
static void remove_node(struct world *world, int n)
{
    bool has_left = world->peers[n].status == MEMBER_EXITING;

    world->peers[n].status = MEMBER_REMOVED;
    for (int i = 0; i < world->count; i++) {
        struct node *node = &world->nodes[i];

        if (node->is_dead)
            continue;
        singleton_peer_removed(node->singleton, world->now,
                               &world->peers[n].node, has_left);
        singleton_peers_done(node->singleton, world->now, &node->outbox);
        listen(world, i);
    }
}

static void add(struct world *world)
{
    int n = world->count++;
    struct node *node = &world->nodes[n];

    node->identity = (struct identity){ "akka", "S", node_of(n, 0) };
    node->singleton = singleton_new(
        &(struct singleton_options){ .identity = &node->identity,
                                     .path = PATH,
                                     .settings = world->settings,
                                     .seed = (uint64_t)n },
        world->now);
    world->peers[n] = (struct member_info){ .node = node->identity.node,
                                     .up_number = n + 1,
                                     .status = MEMBER_UP,
                                     .reachable = true,
                                     .has_role = true };
    view(world);
}

static struct world *world_of(int count)
{
    struct world *world = mem_alloc(sizeof *world);

    world->now = SECOND;
    for (int i = 0; i < count; i++)
        add(world);
    return world;
}

static void world_free(struct world *world)
{
    for (int i = 0; i < world->count; i++) {
        singleton_free(world->nodes[i].singleton);
        outbox_fini(&world->nodes[i].outbox);
    }
    vec_fini(&world->contents);
    vec_fini(&world->history);
    mem_free(world);
}

static void deliver(struct world *world, struct mail_content content)
{
    struct node *node;
    struct inbound inbound = {
        .from = world->nodes[content.from].identity.node,
        .sender = slice_text(content.sender),
        .recipient = slice_text(PATH),
        .manifest = slice_text(content.manifest),
        .serializer = SINGLETON_SERIALIZER,
    };

    if (content.to < 0 || world->nodes[content.to].is_dead)
        return;
    node = &world->nodes[content.to];
    singleton_receive(node->singleton, world->now, &inbound, &node->outbox);
    listen(world, content.to);
}

static void settle_stops(struct world *world)
{
    for (int i = 0; i < world->count; i++) {
        struct node *node = &world->nodes[i];

        if (!node->stopping || --node->stopping || node->is_dead)
            continue;
        node->is_running = false;
        singleton_stopped(node->singleton, world->now, &node->outbox);
        listen(world, i);
    }
}

static void flow(struct world *world)
{
    for (int quiet = 0; quiet < 8; quiet++) {
        while (world->contents.count) {
            struct mail_content content = world->contents.items[0];

            vec_remove(&world->contents, 0);
            deliver(world, content);
            settle_stops(world);
            quiet = 0;
        }
        settle_stops(world);
    }
}

static void pass(struct world *world, uint64_t ms)
{
    uint64_t end = world->now + ms * MS;

    while (world->now < end) {
        world->now += 100 * MS;
        for (int i = 0; i < world->count; i++) {
            struct node *node = &world->nodes[i];

            if (node->is_dead)
                continue;
            if (singleton_deadline(node->singleton) <= world->now)
                singleton_step(node->singleton, world->now, &node->outbox);
            listen(world, i);
        }
        flow(world);
    }
}

static int runner(const struct world *world)
{
    for (int i = 0; i < world->count; i++)
        if (world->nodes[i].is_running && !world->nodes[i].is_dead)
            return i;
    return -1;
}

/* Leaving, exiting, the exit phase and removal, as in a cluster. */
static void leave(struct world *world, int n)
{
    world->peers[n].status = MEMBER_LEAVING;
    view(world);
    flow(world);
    world->peers[n].status = MEMBER_EXITING;
    view(world);
    flow(world);
    singleton_exit(world->nodes[n].singleton, world->now,
                   &world->nodes[n].outbox);
    listen(world, n);
    flow(world);
}

static const char *state_at(const struct world *world, int n)
{
    return singleton_state_text(singleton_state(world->nodes[n].singleton));
}

/* Also while others join one by one. */
static void the_singleton_starts_on_the_oldest_at_once_SGT008_SGT014_SGT016(
    void **state)
{
    struct world *world = world_of(1);
    struct node_id oldest;
    (void)state;

    assert_int_equal(runner(world), 0);
    for (int n = 1; n < 6; n++) {
        add(world);
        flow(world);
        assert_int_equal(runner(world), 0);
        assert_string_equal(state_at(world, n), "younger");
    }
    assert_true(singleton_oldest(world->nodes[2].singleton, &oldest));
    assert_true(node_equal(&oldest, &world->peers[0].node));
    assert_int_equal(world->history.count, 0);
    world_free(world);
}

static void roles_and_joining_members_do_not_count(void **state)
{
    struct world *world = mem_alloc(sizeof *world);
    (void)state;

    world->now = SECOND;
    add(world);
    assert_int_equal(runner(world), 0);
    world_free(world);

    world = mem_alloc(sizeof *world);
    world->now = SECOND;
    world->count = 2;
    for (int n = 0; n < 2; n++) {
        world->nodes[n].identity =
            (struct identity){ "akka", "S", node_of(n, 0) };
        world->nodes[n].singleton = singleton_new(
            &(struct singleton_options){ .identity = &world->nodes[n].identity,
                                         .path = PATH },
            world->now);
        world->peers[n] = (struct member_info){ .node = world->nodes[n].identity.node,
                                         .up_number = n + 1,
                                         .status = MEMBER_UP,
                                         .has_role = n == 1 };
    }
    world->peers[1].status = MEMBER_JOINING;
    world->peers[1].up_number = INT32_MAX;
    view(world);
    assert_int_equal(runner(world), -1);
    assert_string_equal(state_at(world, 1), "starting");
    world->peers[1].status = MEMBER_UP;
    world->peers[1].up_number = 2;
    view(world);
    assert_int_equal(runner(world), 1); /* n0 is older, but lacks the role */
    world_free(world);
}

/* Leaving hands over without a time-out, three times. The last node just stops. */
static void a_leaving_node_hands_over_at_once_SGT024(void **state)
{
    struct world *world = world_of(4);
    (void)state;

    world->nodes[1].stop_delay = 3;
    for (int n = 0; n < 4; n++) {
        assert_int_equal(runner(world), n);
        leave(world, n);
        assert_true(world->nodes[n].has_exited);
        assert_string_equal(state_at(world, n), n < 3 ? "ended" : "stopped");
        assert_int_equal(runner(world), n < 3 ? n + 1 : -1);
        remove_node(world, n);
        world->nodes[n].is_dead = true;
    }
    world_free(world);
}

/* Another node knew it as joining and made it leave, so the merge has a leaving member without a
 * number. Nodes that know it as up keep the number. It runs the instance until it exits, then hands
 * over. */
static void a_member_without_its_number_runs_it_until_it_exits(void **state)
{
    struct world *world = world_of(2);
    (void)state;

    world->peers[0].status = MEMBER_LEAVING;
    world->peers[0].up_number = INT32_MAX;
    view(world);
    pass(world, 60000);
    assert_int_equal(runner(world), 0);
    assert_string_equal(state_at(world, 0), "oldest");
    assert_string_equal(state_at(world, 1), "younger");
    assert_int_equal(world->history.count, 0);
    leave(world, 0);
    assert_true(world->nodes[0].has_exited);
    assert_int_equal(runner(world), 1);
    world_free(world);
}

static void a_hand_over_has_three_messages(void **state)
{
    struct world *world = world_of(2);
    char text[64] = "";
    (void)state;

    leave(world, 0);
    for (uint32_t i = 0; i < world->history.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d%s%d ",
                 world->history.items[i].from, world->history.items[i].manifest,
                 world->history.items[i].to);
    /* C follows the stop. */
    assert_string_equal(text, "1A0 0B1 0C1 ");
    world_free(world);
}

/* The old oldest knows first. */
static void a_take_over_is_offered_SGT013(void **state)
{
    struct world *world = world_of(2);
    char text[64] = "";
    (void)state;

    /* n0 exits before n1 sees it exiting. */
    singleton_exit(world->nodes[0].singleton, world->now,
                   &world->nodes[0].outbox);
    listen(world, 0);
    flow(world);
    assert_string_equal(state_at(world, 0), "was-oldest");
    assert_int_equal(runner(world), 0);
    pass(world, 1000);
    world->peers[0].status = MEMBER_EXITING;
    view(world);
    flow(world);
    assert_int_equal(runner(world), 1);
    assert_true(world->nodes[0].has_exited);
    for (uint32_t i = 0; i < world->history.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d%s%d ",
                 world->history.items[i].from, world->history.items[i].manifest,
                 world->history.items[i].to);
    assert_string_equal(text, "0D1 0D1 1A0 0B1 0C1 ");
    world_free(world);
}

/* The successor does not answer, and the leaving node's time is over: its instance ends before its
 * removal. */
static void a_hand_over_is_given_up(void **state)
{
    struct world *world = world_of(3);
    (void)state;

    world->nodes[1].is_dead = true;
    leave(world, 0);
    pass(world, 5000);
    assert_string_equal(state_at(world, 0), "was-oldest");
    assert_int_equal(runner(world), 0);
    singleton_give_up(world->nodes[0].singleton, world->now,
                      &world->nodes[0].outbox);
    listen(world, 0);
    flow(world);
    assert_string_equal(state_at(world, 0), "stopped");
    assert_int_equal(runner(world), -1);
    assert_true(world->nodes[0].has_exited);
    world_free(world);
}

/* A crash is taken over after the removal. */
static void a_crash_is_taken_over_after_removal(void **state)
{
    struct world *world = world_of(4);
    (void)state;

    world->nodes[0].is_dead = true;
    world->nodes[1].is_dead = true;
    world->peers[0].status = MEMBER_DOWN;
    view(world);
    flow(world);
    pass(world, 20000);
    assert_int_equal(runner(world), -1);
    remove_node(world, 0);
    flow(world);
    assert_int_equal(runner(world), -1); /* n1 is next, but silent */
    remove_node(world, 1);
    flow(world);
    assert_int_equal(runner(world), 2);
    world_free(world);
}

static void the_margin_delays_a_take_over(void **state)
{
    struct world *world = mem_alloc(sizeof *world);
    (void)state;

    world->now = SECOND;
    world->settings.removal_margin_ms = 5000;
    add(world);
    add(world);
    assert_int_equal(runner(world), 0);
    world->nodes[0].is_dead = true;
    remove_node(world, 0);
    pass(world, 4900);
    assert_int_equal(runner(world), -1);
    pass(world, 200);
    assert_int_equal(runner(world), 1);
    world_free(world);
}

static struct world *world_with_margin(int count)
{
    struct world *world = mem_alloc(sizeof *world);

    world->now = SECOND;
    world->settings.removal_margin_ms = 20000;
    for (int i = 0; i < count; i++)
        add(world);
    return world;
}

/* A rolling restart: the oldest node leaves, joins again, and then the next one leaves. All of it
 * takes less than the margin. */
static void nodes_that_leave_one_after_another_hand_over_at_once(void **state)
{
    struct world *world = world_with_margin(3);
    (void)state;

    for (int n = 0; n + 3 < NODES_MAX; n++) {
        assert_int_equal(runner(world), n);
        leave(world, n);
        assert_int_equal(runner(world), n + 1);
        assert_true(world->nodes[n].has_exited);
        world->nodes[n].is_dead = true;
        pass(world, 500);
        remove_node(world, n);
        add(world);
        pass(world, 1000);
    }
    world_free(world);
}

/* The leader has not removed the first node when the second one leaves, or counts it as crashed. */
static void a_member_that_ended_long_ago_hinders_no_hand_over(void **state)
{
    (void)state;

    for (int removes = 0; removes < 2; removes++) {
        struct world *world = world_with_margin(3);

        leave(world, 0);
        world->nodes[0].is_dead = true;
        world->peers[0].status = MEMBER_DOWN;
        view(world);
        if (removes)
            remove_node(world, 0);
        pass(world, 1000);
        leave(world, 1);
        assert_true(world->nodes[1].has_exited);
        assert_int_equal(runner(world), 2);
        world_free(world);
    }
}

/* The end of the first node's hand-over is lost, and the leader removes it as one that exited. */
static void a_member_that_exited_needs_no_margin(void **state)
{
    struct world *world = world_with_margin(2);
    (void)state;

    world->nodes[0].is_dead = true;
    world->peers[0].status = MEMBER_EXITING;
    view(world);
    pass(world, 1000);
    assert_int_equal(runner(world), -1);
    remove_node(world, 0);
    pass(world, 1000);
    assert_int_equal(runner(world), 1);
    world_free(world);
}

/* The end of the first node's hand-over and its confirmation are lost. It is downed, but a new
 * incarnation shows that it has ended. */
static void a_new_incarnation_of_an_exiting_member_ends_its_margin(void **state)
{
    (void)state;

    for (int exits = 0; exits < 2; exits++) {
        struct world *world = world_with_margin(2);

        if (exits) {
            world->peers[0].status = MEMBER_EXITING;
            view(world);
        }
        world->nodes[0].is_dead = true;
        world->peers[0].status = MEMBER_DOWN;
        view(world);
        remove_node(world, 0);
        pass(world, 1000);
        assert_int_equal(runner(world), -1);
        world->peers[0].node.uid += 1000;
        world->peers[0].up_number = INT32_MAX;
        world->peers[0].status = MEMBER_JOINING;
        view(world);
        assert_int_equal(runner(world), exits ? 1 : -1);
        pass(world, 20000);
        assert_int_equal(runner(world), 1);
        world_free(world);
    }
}

/* The first node says that it hands over, and ends before it does. */
static void the_next_member_is_asked_when_the_one_asked_is_removed(void **state)
{
    struct world *world = world_of(3);
    struct mail_content last;
    (void)state;

    world->nodes[0].stop_delay = 1000000;
    world->peers[0].status = world->peers[1].status = MEMBER_EXITING;
    view(world);
    flow(world);
    assert_string_equal(state_at(world, 0), "handing-over");
    world->nodes[0].is_dead = true;
    world->nodes[0].is_running = false;
    remove_node(world, 0);
    last = world->history.items[world->history.count - 1];
    assert_string_equal(last.manifest, "A");
    assert_int_equal(last.from, 2);
    assert_int_equal(last.to, 1);
    pass(world, 1000);
    last = world->history.items[world->history.count - 1];
    assert_string_equal(last.manifest, "A"); /* again, because n1 does not answer */
    assert_int_equal(last.to, 1);
    remove_node(world, 1);
    assert_int_equal(runner(world), 2);
    world_free(world);
}

/* The two oldest members leave together. */
static void neighbours_leaving_together_never_overlap(void **state)
{
    (void)state;

    for (uint64_t seed = 0; seed < 300; seed++) {
        struct world *world = world_of(5);
        struct rng rng;
        int left[5] = { 0 };
        int leaving;

        rng_init(&rng, seed);
        leaving = 2 + (int)rng_below(&rng, 3);
        for (int i = 0; i < 5; i++)
            world->nodes[i].stop_delay = (int)rng_below(&rng, 6);
        for (int steps = 0; steps < 400; steps++) {
            int n = (int)rng_below(&rng, (uint64_t)leaving);

            switch (rng_below(&rng, 6)) {
            case 0:
                if (left[n] == 0 || left[n] == 1) {
                    world->peers[n].status =
                        left[n] ? MEMBER_EXITING : MEMBER_LEAVING;
                    left[n]++;
                    view(world);
                }
                break;
            case 1:
                if (left[n] == 2) {
                    left[n]++;
                    singleton_exit(world->nodes[n].singleton, world->now,
                                   &world->nodes[n].outbox);
                    listen(world, n);
                }
                break;
            case 2:
                if (left[n] == 3 && world->nodes[n].has_exited) {
                    left[n]++;
                    remove_node(world, n);
                    world->nodes[n].is_dead = true;
                }
                break;
            case 3:
                if (world->contents.count) {
                    uint32_t i =
                        (uint32_t)rng_below(&rng, world->contents.count);
                    struct mail_content content = world->contents.items[i];

                    vec_remove(&world->contents, i); /* any order */
                    deliver(world, content);
                    if (rng_below(&rng, 4) == 0)
                        deliver(world, content); /* twice */
                }
                break;
            case 4:
                settle_stops(world);
                break;
            default:
                world->now += 100 * MS;
                for (int i = 0; i < world->count; i++) {
                    if (world->nodes[i].is_dead)
                        continue;
                    singleton_step(world->nodes[i].singleton, world->now,
                                   &world->nodes[i].outbox);
                    listen(world, i);
                }
                break;
            }
        }
        /* Then everything arrives. */
        for (int i = 0; i < leaving; i++) {
            while (left[i] < 2) {
                world->peers[i].status =
                    left[i] ? MEMBER_EXITING : MEMBER_LEAVING;
                left[i]++;
                view(world);
            }
            if (left[i] == 2)
                singleton_exit(world->nodes[i].singleton, world->now,
                               &world->nodes[i].outbox);
            listen(world, i);
        }
        pass(world, 30000);
        for (int i = 0; i < leaving; i++) {
            if (left[i] == 4)
                continue;
            assert_true(world->nodes[i].has_exited);
            remove_node(world, i);
            world->nodes[i].is_dead = true;
        }
        pass(world, 30000);
        assert_int_equal(runner(world), leaving);
        world_free(world);
    }
}

/* A downed node stops, and does not take over from nodes that it sees removed. */
static void a_downed_node_does_not_take_over(void **state)
{
    struct world *world = world_of(2);
    struct node *node = &world->nodes[1];
    struct member_info self = world->peers[1];
    (void)state;

    self.status = MEMBER_DOWN;
    singleton_peer(node->singleton, world->now, &self);
    singleton_peer_removed(node->singleton, world->now,
                           &world->peers[0].node, false);
    singleton_peers_done(node->singleton, world->now, &node->outbox);
    listen(world, 1);
    assert_int_equal(runner(world), 0);
    assert_string_equal(state_at(world, 1), "stopped");
    world_free(world);

    world = world_of(2);
    node = &world->nodes[0];
    self = world->peers[0];
    self.status = MEMBER_DOWN;
    singleton_peer(node->singleton, world->now, &self);
    singleton_peers_done(node->singleton, world->now, &node->outbox);
    listen(world, 0);
    assert_string_equal(state_at(world, 0), "stopping");
    flow(world);
    assert_string_equal(state_at(world, 0), "stopped");
    world_free(world);
}

static void unknown_senders_and_malformed_messages_are_ignored(void **state)
{
    struct world *world = world_of(2);
    struct singleton *singleton = world->nodes[0].singleton;
    struct inbound inbound = { .from = node_of(1, 7),
                               .sender = slice_text(PATH "#1"),
                               .manifest = slice_text("A"),
                               .serializer = SINGLETON_SERIALIZER };
    (void)state;

    singleton_receive(singleton, world->now, &inbound,
                      &world->nodes[0].outbox);
    assert_int_equal(singleton_counters(singleton)->ignored, 1); /* another incarnation of n1 */
    inbound.from = node_of(1, 0);
    inbound.manifest = slice_text("Z");
    singleton_receive(singleton, world->now, &inbound,
                      &world->nodes[0].outbox);
    inbound.serializer = 13;
    singleton_receive(singleton, world->now, &inbound,
                      &world->nodes[0].outbox);
    assert_int_equal(singleton_counters(singleton)->unknown, 2);
    inbound.serializer = SINGLETON_SERIALIZER;
    inbound.manifest = slice_text("C"); /* unasked */
    singleton_receive(world->nodes[1].singleton, world->now, &inbound,
                      &world->nodes[1].outbox);
    assert_int_equal(runner(world), 0);
    assert_string_equal(state_at(world, 1), "younger");
    world_free(world);
}

/* The new oldest restarts before it takes over, and answers that nothing runs there. */
static void a_hand_over_to_a_dead_node_comes_back(void **state)
{
    struct world *world = world_of(2);
    struct member_info older = world->peers[1];
    (void)state;

    /* n0 learns of an older member that dies at once. */
    older.node = node_of(5, 0);
    older.up_number = 0;
    singleton_peer(world->nodes[0].singleton, world->now, &older);
    singleton_peers_done(world->nodes[0].singleton, world->now,
                         &world->nodes[0].outbox);
    listen(world, 0);
    assert_string_equal(state_at(world, 0), "was-oldest");
    assert_true(world->nodes[0].is_running); /* until it is asked */
    singleton_peer_removed(world->nodes[0].singleton, world->now, &older.node,
                           false);
    singleton_peers_done(world->nodes[0].singleton, world->now,
                         &world->nodes[0].outbox);
    listen(world, 0);
    flow(world);
    assert_string_equal(state_at(world, 0), "oldest");
    assert_int_equal(runner(world), 0);
    world_free(world);
}

static void a_stuck_hand_over_starts_again(void **state)
{
    struct world *world = world_of(2);
    (void)state;

    /* n0 is silent but never removed. */
    world->nodes[0].is_dead = true;
    world->nodes[0].is_running = false;
    world->peers[0].status = MEMBER_EXITING;
    view(world);
    pass(world, 15500);
    assert_int_equal(singleton_counters(world->nodes[1].singleton)->retries,
                     15);
    assert_string_equal(state_at(world, 1), "becoming-oldest");
    pass(world, 1000);
    assert_int_equal(singleton_counters(world->nodes[1].singleton)->stuck, 1);
    /* The instance may still run there. */
    assert_string_equal(state_at(world, 1), "younger");
    pass(world, 60000);
    assert_int_equal(runner(world), -1);
    remove_node(world, 0);
    assert_int_equal(runner(world), 1);
    world_free(world);
}

/* The awaited member is removed shortly before the time-out; its margin must still pass. */
static void a_restarted_hand_over_waits_for_the_margin(void **state)
{
    struct world *world = mem_alloc(sizeof *world);
    (void)state;

    world->now = SECOND;
    world->settings.removal_margin_ms = 5000;
    add(world);
    add(world);
    world->nodes[0].is_dead = true;
    world->nodes[0].is_running = false;
    world->peers[0].status = MEMBER_EXITING;
    view(world);
    pass(world, 14000);
    world->peers[0].status = MEMBER_DOWN;
    remove_node(world, 0);
    pass(world, 4000);
    assert_int_equal(singleton_counters(world->nodes[1].singleton)->stuck, 1);
    assert_int_equal(runner(world), -1);
    pass(world, 1100);
    assert_int_equal(runner(world), 1);
    world_free(world);
}

/* One gossip tells a node that it is exiting, and that the awaited member was removed after it
 * handed over to the next. */
static void a_node_that_learns_late_of_its_exit_does_not_take_over(void **state)
{
    struct world *world = world_of(3);
    struct node *node = &world->nodes[1];
    (void)state;

    world->nodes[0].is_dead = true;
    world->nodes[0].is_running = false;
    world->peers[0].status = MEMBER_EXITING;
    view(world);
    assert_string_equal(state_at(world, 1), "becoming-oldest");
    world->peers[1].status = MEMBER_EXITING;
    singleton_peer_removed(node->singleton, world->now,
                           &world->peers[0].node, false);
    singleton_peer(node->singleton, world->now, &world->peers[1]);
    singleton_peers_done(node->singleton, world->now, &node->outbox);
    listen(world, 1);
    assert_int_equal(runner(world), -1);
    world_free(world);
}

/* All members are ready, then leave one after the other. */
static void a_cluster_that_stops_hands_nothing_over_SGT025_SGT027(void **state)
{
    struct world *world = world_of(3);
    (void)state;

    assert_int_equal(runner(world), 0);
    for (int i = 0; i < 3; i++)
        world->peers[i].status = MEMBER_PREPARING_FOR_SHUTDOWN;
    view(world);
    for (int i = 0; i < 3; i++)
        world->peers[i].status = MEMBER_READY_FOR_SHUTDOWN;
    view(world);
    assert_int_equal(runner(world), 0);
    for (int i = 0; i < 3; i++) {
        leave(world, i);
        remove_node(world, i);
        flow(world);
        world->nodes[i].is_dead = true;
        assert_int_equal(runner(world), -1);
    }
    assert_int_equal(world->history.count, 0);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            the_singleton_starts_on_the_oldest_at_once_SGT008_SGT014_SGT016),
        cmocka_unit_test(roles_and_joining_members_do_not_count),
        cmocka_unit_test(a_leaving_node_hands_over_at_once_SGT024),
        cmocka_unit_test(a_member_without_its_number_runs_it_until_it_exits),
        cmocka_unit_test(a_hand_over_has_three_messages),
        cmocka_unit_test(a_take_over_is_offered_SGT013),
        cmocka_unit_test(a_hand_over_is_given_up),
        cmocka_unit_test(a_crash_is_taken_over_after_removal),
        cmocka_unit_test(the_margin_delays_a_take_over),
        cmocka_unit_test(nodes_that_leave_one_after_another_hand_over_at_once),
        cmocka_unit_test(a_member_that_ended_long_ago_hinders_no_hand_over),
        cmocka_unit_test(a_member_that_exited_needs_no_margin),
        cmocka_unit_test(a_new_incarnation_of_an_exiting_member_ends_its_margin),
        cmocka_unit_test(the_next_member_is_asked_when_the_one_asked_is_removed),
        cmocka_unit_test(neighbours_leaving_together_never_overlap),
        cmocka_unit_test(a_downed_node_does_not_take_over),
        cmocka_unit_test(unknown_senders_and_malformed_messages_are_ignored),
        cmocka_unit_test(a_hand_over_to_a_dead_node_comes_back),
        cmocka_unit_test(a_stuck_hand_over_starts_again),
        cmocka_unit_test(a_restarted_hand_over_waits_for_the_margin),
        cmocka_unit_test(a_node_that_learns_late_of_its_exit_does_not_take_over),
        cmocka_unit_test(
            a_cluster_that_stops_hands_nothing_over_SGT025_SGT027),
    };

    return cmocka_run_group_tests_name("singleton", tests, NULL, NULL);
}
