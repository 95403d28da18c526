/* Tests singletons with a lease: two nodes with one manager each, and a lease that the test grants,
 * denies and takes away. The instance runs only under the lease, and on one node at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/timers.h"
#include "base/vec.h"
#include "singleton/singleton.h"

#define NODES 2
#define PATH "/system/sharding/TCoordinator"
#define RETRY 5000 /* ms */

struct letter {
    int from, to;
    char manifest[4];
    char sender[80];
};

struct node {
    struct identity identity;
    struct singleton *singleton;
    struct outbox outbox;
    bool is_running;
    bool is_stopping; /* was asked to stop */
    bool has_exited;
    bool asks;     /* a request for the lease has no answer */
    bool releases; /* the same for a release */
    int asked;     /* requests so far */
};

struct world {
    struct node nodes[NODES];
    struct member_info peers[NODES];
    uint64_t now;
    int holder; /* of the lease; -1: none */
    bool keeps_letters;
    bool releases_at_once;
    VEC(struct letter) letters;
};

static struct node_id node_of(int n)
{
    struct node_id node = { .address = { .port = 2550 }, .uid = 100 + (uint64_t)n };

    (void)snprintf(node.address.host, sizeof node.address.host, "n%d", n);
    return node;
}

static void settle(struct world *world);

static void take_news(struct world *world, int n, enum singleton_news news)
{
    struct node *node = &world->nodes[n];

    switch (news) {
    case SINGLETON_NEWS_START:
        assert_false(node->is_running);
        assert_int_equal(world->holder, n);
        assert_false(world->nodes[1 - n].is_running);
        node->is_running = true;
        break;
    case SINGLETON_NEWS_STOP:
        assert_true(node->is_running);
        node->is_stopping = true;
        break;
    case SINGLETON_NEWS_END:
        if (!node->is_running)
            break; /* its STOP was answered */
        node->is_running = node->is_stopping = false;
        singleton_stopped(node->singleton, world->now, &node->outbox);
        break;
    case SINGLETON_NEWS_LEASE:
        node->asks = true;
        node->asked++;
        break;
    case SINGLETON_NEWS_RELEASE:
        assert_false(node->is_running);
        node->asks = false;
        node->releases = true;
        break;
    case SINGLETON_NEWS_EXIT_DONE:
        assert_false(node->is_running);
        node->has_exited = true;
        break;
    case SINGLETON_NEWS_OLDEST:
        break;
    }
}

static void released(struct world *world, int n)
{
    struct node *node = &world->nodes[n];

    assert_true(node->releases);
    node->releases = false;
    if (world->holder == n)
        world->holder = -1;
    singleton_released(node->singleton, world->now, &node->outbox);
    settle(world);
}

static void listen(struct world *world, int n)
{
    struct node *node = &world->nodes[n];
    struct outbound out;
    enum singleton_news news;

    while (singleton_next_news(node->singleton, &news))
        take_news(world, n, news);
    while (outbox_next(&node->outbox, &out)) {
        struct letter letter = { .from = n, .to = node_equal(&out.to, &world->nodes[1].identity.node) };

        (void)snprintf(letter.manifest, sizeof letter.manifest, "%.*s", (int)out.manifest.size,
                       (const char *)out.manifest.data);
        (void)snprintf(letter.sender, sizeof letter.sender, "%.*s", (int)out.sender.size,
                       (const char *)out.sender.data);
        vec_push(&world->letters, letter);
    }
    if (node->releases && world->releases_at_once)
        released(world, n);
}

static void settle(struct world *world)
{
    for (int n = 0; n < NODES; n++)
        listen(world, n);
    while (world->letters.count && !world->keeps_letters) {
        struct letter letter = world->letters.items[0];
        struct node *node = &world->nodes[letter.to];
        struct inbound inbound = {
            .from = world->nodes[letter.from].identity.node,
            .sender = slice_text(letter.sender),
            .recipient = slice_text(PATH),
            .manifest = slice_text(letter.manifest),
            .serializer = SINGLETON_SERIALIZER,
        };

        vec_remove(&world->letters, 0);
        singleton_receive(node->singleton, world->now, &inbound, &node->outbox);
        listen(world, letter.to);
    }
}

static void view(struct world *world)
{
    for (int n = 0; n < NODES; n++) {
        struct node *node = &world->nodes[n];

        for (int i = 0; i < NODES; i++)
            singleton_peer(node->singleton, world->now, &world->peers[i]);
        singleton_peers_done(node->singleton, world->now, &node->outbox);
    }
    settle(world);
}

static int set(void **state)
{
    struct world *world = mem_alloc(sizeof *world);

    world->now = SECOND;
    world->holder = -1;
    world->releases_at_once = true;
    for (int n = 0; n < NODES; n++) {
        struct node *node = &world->nodes[n];
        struct singleton_options options = { .identity = &node->identity, .path = PATH,
                                             .settings = { .uses_lease = true,
                                                           .release_timeout_ms = 2000 },
                                             .seed = (uint64_t)n };

        node->identity = (struct identity){ "akka", "S", node_of(n) };
        node->singleton = singleton_new(&options, world->now);
        world->peers[n] = (struct member_info){ .node = node->identity.node, .up_number = n + 1,
                                                .status = MEMBER_UP, .reachable = true,
                                                .has_role = true };
    }
    view(world);
    *state = world;
    return 0;
}

static int unset(void **state)
{
    struct world *world = *state;

    for (int n = 0; n < NODES; n++) {
        singleton_free(world->nodes[n].singleton);
        outbox_fini(&world->nodes[n].outbox);
    }
    vec_fini(&world->letters);
    mem_free(world);
    return 0;
}

static void grant(struct world *world, int n)
{
    assert_true(world->nodes[n].asks);
    assert_true(world->holder == -1 || world->holder == n);
    world->nodes[n].asks = false;
    world->holder = n;
    singleton_leased(world->nodes[n].singleton);
    settle(world);
}

static void deny(struct world *world, int n)
{
    assert_true(world->nodes[n].asks);
    world->nodes[n].asks = false;
    singleton_lease_denied(world->nodes[n].singleton, world->now);
    settle(world);
}

static void lose(struct world *world)
{
    struct node *node = &world->nodes[world->holder];

    world->holder = -1;
    singleton_lease_lost(node->singleton, world->now, &node->outbox);
    settle(world);
}

/* The instance that was asked to stop has stopped. */
static void stop(struct world *world, int n)
{
    struct node *node = &world->nodes[n];

    assert_true(node->is_stopping);
    node->is_running = node->is_stopping = false;
    singleton_stopped(node->singleton, world->now, &node->outbox);
    settle(world);
}

static void pass(struct world *world, uint64_t ms)
{
    uint64_t end = world->now + ms * MS;

    while (world->now < end) {
        world->now += 100 * MS;
        for (int n = 0; n < NODES; n++)
            if (singleton_deadline(world->nodes[n].singleton) <= world->now)
                singleton_step(world->nodes[n].singleton, world->now, &world->nodes[n].outbox);
        settle(world);
    }
}

static void expect(const struct world *world, int n, enum singleton_state state)
{
    assert_string_equal(singleton_state_text(singleton_state(world->nodes[n].singleton)),
                        singleton_state_text(state));
}

/* As in a cluster: leaving, exiting, then the phase in which singletons are handed over. */
static void leave(struct world *world, int n)
{
    world->peers[n].status = MEMBER_EXITING;
    view(world);
    singleton_exit(world->nodes[n].singleton, world->now, &world->nodes[n].outbox);
    settle(world);
}

static void a_singleton_does_not_start_until_its_lease_is_available_SGT001(void **state)
{
    struct world *world = *state;

    expect(world, 0, SINGLETON_ACQUIRING);
    pass(world, 60000);
    assert_false(world->nodes[0].is_running);
    assert_int_equal(world->nodes[0].asked, 1);
    grant(world, 0);
    assert_true(world->nodes[0].is_running);
    expect(world, 0, SINGLETON_OLDEST);
    expect(world, 1, SINGLETON_YOUNGER);
}

static void a_singleton_does_not_start_if_its_lease_is_denied_SGT002_SGT004(void **state)
{
    struct world *world = *state;

    deny(world, 0);
    assert_false(world->nodes[0].is_running);
    expect(world, 0, SINGLETON_ACQUIRING);
    assert_int_equal(singleton_counters(world->nodes[0].singleton)->leases_denied, 1);
}

static void a_singleton_retries_a_lease_it_could_not_get_SGT005(void **state)
{
    struct world *world = *state;

    for (int tries = 1; tries < 4; tries++) {
        assert_int_equal(world->nodes[0].asked, tries);
        deny(world, 0);
        pass(world, RETRY - 100);
        assert_int_equal(world->nodes[0].asked, tries);
        pass(world, 100);
    }
    grant(world, 0);
    assert_true(world->nodes[0].is_running);
}

static void a_lease_is_released_when_the_oldest_leaves_SGT007(void **state)
{
    struct world *world = *state;

    grant(world, 0);
    leave(world, 0);
    assert_true(world->nodes[0].is_running);
    stop(world, 0);
    assert_int_equal(world->holder, -1);
    assert_true(world->nodes[0].has_exited);
    expect(world, 1, SINGLETON_ACQUIRING);
    grant(world, 1);
    assert_true(world->nodes[1].is_running);
}

/* The next node would find the lease taken, and wait for its retry. */
static void a_hand_over_waits_for_the_release(void **state)
{
    struct world *world = *state;

    grant(world, 0);
    world->releases_at_once = false;
    leave(world, 0);
    stop(world, 0);
    expect(world, 0, SINGLETON_HANDING_OVER);
    expect(world, 1, SINGLETON_BECOMING_OLDEST);
    released(world, 0);
    expect(world, 1, SINGLETON_ACQUIRING);
    assert_true(world->nodes[0].has_exited);
}

static void a_hand_over_does_not_wait_for_ever_for_the_release(void **state)
{
    struct world *world = *state;

    grant(world, 0);
    world->releases_at_once = false;
    leave(world, 0);
    stop(world, 0);
    pass(world, 1900);
    expect(world, 0, SINGLETON_HANDING_OVER);
    pass(world, 200);
    expect(world, 1, SINGLETON_ACQUIRING);
    assert_true(world->nodes[0].has_exited);
}

static void a_lost_lease_ends_the_singleton_at_once(void **state)
{
    struct world *world = *state;

    grant(world, 0);
    lose(world);
    assert_false(world->nodes[0].is_running);
    expect(world, 0, SINGLETON_ACQUIRING);
    assert_int_equal(world->nodes[0].asked, 2); /* at once */
    deny(world, 0);
    pass(world, RETRY);
    grant(world, 0);
    assert_true(world->nodes[0].is_running);
    assert_int_equal(singleton_counters(world->nodes[0].singleton)->leases_lost, 1);
}

/* It is about to stop, but may act no more. */
static void a_lease_lost_during_a_hand_over_ends_the_singleton(void **state)
{
    struct world *world = *state;

    grant(world, 0);
    leave(world, 0);
    expect(world, 0, SINGLETON_HANDING_OVER);
    lose(world);
    assert_false(world->nodes[0].is_running);
    expect(world, 1, SINGLETON_ACQUIRING);
}

static void a_lease_lost_before_the_hand_over_ends_the_singleton(void **state)
{
    struct world *world = *state;

    grant(world, 0);
    world->keeps_letters = true;
    leave(world, 0);
    expect(world, 0, SINGLETON_WAS_OLDEST);
    lose(world);
    assert_false(world->nodes[0].is_running);
    expect(world, 0, SINGLETON_WAS_OLDEST);
    assert_int_equal(world->nodes[0].asked, 1); /* no more: another node takes over */
    world->keeps_letters = false;
    settle(world);
    expect(world, 1, SINGLETON_ACQUIRING);
}

static void a_node_without_the_lease_hands_over(void **state)
{
    struct world *world = *state;

    deny(world, 0);
    leave(world, 0);
    assert_true(world->nodes[0].has_exited);
    expect(world, 1, SINGLETON_ACQUIRING);
    grant(world, 1);
    assert_true(world->nodes[1].is_running);
}

/* Its request may still be granted, so it is given up before the other node asks. */
static void a_request_is_given_up_before_the_hand_over(void **state)
{
    struct world *world = *state;

    world->releases_at_once = false;
    leave(world, 0);
    expect(world, 0, SINGLETON_HANDING_OVER);
    assert_int_equal(world->nodes[1].asked, 0);
    released(world, 0);
    grant(world, 1);
    singleton_leased(world->nodes[0].singleton); /* a late answer */
    settle(world);
    assert_false(world->nodes[0].is_running);
}

static void a_downed_node_gives_its_lease_up(void **state)
{
    struct world *world = *state;

    grant(world, 0);
    world->peers[0].status = MEMBER_DOWN;
    view(world);
    assert_true(world->nodes[0].is_stopping);
    assert_int_equal(world->holder, 0);
    stop(world, 0);
    assert_int_equal(world->holder, -1);
    expect(world, 0, SINGLETON_STOPPED);
}

static void a_downed_node_gives_its_request_up(void **state)
{
    struct world *world = *state;

    world->releases_at_once = false;
    world->peers[0].status = MEMBER_DOWN;
    view(world);
    assert_true(world->nodes[0].releases);
    released(world, 0);
    expect(world, 0, SINGLETON_STOPPED);
}

/* The cluster shuts down: no node takes over, so no lease is asked for. */
static void a_full_shutdown_asks_for_no_lease(void **state)
{
    struct world *world = *state;

    deny(world, 0);
    world->peers[0].status = world->peers[1].status = MEMBER_PREPARING_FOR_SHUTDOWN;
    view(world);
    pass(world, 3 * RETRY);
    assert_int_equal(world->nodes[0].asked, 1);
    assert_false(world->nodes[0].is_running);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set, unset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_singleton_does_not_start_until_its_lease_is_available_SGT001),
        TEST(a_singleton_does_not_start_if_its_lease_is_denied_SGT002_SGT004),
        TEST(a_singleton_retries_a_lease_it_could_not_get_SGT005),
        TEST(a_lease_is_released_when_the_oldest_leaves_SGT007),
        TEST(a_hand_over_waits_for_the_release),
        TEST(a_hand_over_does_not_wait_for_ever_for_the_release),
        TEST(a_lost_lease_ends_the_singleton_at_once),
        TEST(a_lease_lost_during_a_hand_over_ends_the_singleton),
        TEST(a_lease_lost_before_the_hand_over_ends_the_singleton),
        TEST(a_node_without_the_lease_hands_over),
        TEST(a_request_is_given_up_before_the_hand_over),
        TEST(a_downed_node_gives_its_lease_up),
        TEST(a_downed_node_gives_its_request_up),
        TEST(a_full_shutdown_asks_for_no_lease),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
