/* Tests what the links to a peer do with messages for its former incarnations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "node/peers/peer_links.h"

static struct node_id life(uint64_t uid)
{
    return (struct node_id){ .address = { "n1", 2551 }, .uid = uid };
}

struct scene {
    struct trace *trace;
    uint64_t now;
    struct peers peers;
    struct peer_links links;
    struct node_id first, second, third; /* incarnations, one after the other */
};

static void renewed(void *user, struct peer *peer, uint64_t before)
{
    peer_links_renewed(&((struct scene *)user)->links, peer, before);
}

static struct scene *scene_new(void)
{
    static const struct node_settings settings = { .lanes = 1 };
    static const struct identity self = { "akka", "sys",
                                          { { "n0", 2551 }, 9 } };
    struct scene *scene = mem_alloc(sizeof *scene);

    scene->trace = trace_new(TRACE_ERROR);
    peers_init(&scene->peers,
               &(struct peers_options){ .renewed = renewed, .user = scene });
    peer_links_init(&scene->links,
                    &(struct peer_links_options){ .peers = &scene->peers,
                                                  .settings = &settings,
                                                  .self = &self,
                                                  .now = &scene->now,
                                                  .trace = scene->trace });
    scene->first = life(1);
    scene->second = life(2);
    scene->third = life(3);
    return scene;
}

static void scene_free(struct scene *scene)
{
    peer_links_fini(&scene->links);
    peers_fini(&scene->peers);
    trace_free(scene->trace);
    mem_free(scene);
}

static uint64_t learned(struct scene *scene, const struct node_id *node)
{
    struct peer *peer;

    (void)peers_learn(&scene->peers, node, 0, true, &peer);
    return peer->uid;
}

static uint32_t sent(struct scene *scene, const struct node_id *to,
                     enum stream stream)
{
    const struct outbound message = { .to = *to,
                                      .stream = stream,
                                      .recipient = slice_text("/a"),
                                      .sender = slice_text("/b") };
    struct peer *peer = peers_at(&scene->peers, &to->address);
    struct link *link = peer_link(&scene->links, peer, stream);
    uint32_t before = link_waiting(link);

    peer_links_send(&scene->links, &message);
    return link_waiting(link) - before;
}

static uint64_t stale(struct scene *scene)
{
    return link_counts(
               peer_link(&scene->links,
                            peers_at(&scene->peers, &scene->first.address),
                            STREAM_ORDINARY))
        .stale;
}

/* The next incarnation has no connection yet. */
static void messages_for_an_ended_incarnation_do_not_wait_for_the_next(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned(scene, &scene->first), 1);
    assert_int_equal(sent(scene, &scene->first, STREAM_ORDINARY), 1);
    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(stale(scene), 1); /* the waiting message */
    assert_int_equal(sent(scene, &scene->first, STREAM_ORDINARY), 0);
    assert_int_equal(stale(scene), 2);
    assert_int_equal(sent(scene, &scene->second, STREAM_ORDINARY), 1);
    /* its handshake may be read later */
    assert_int_equal(sent(scene, &scene->third, STREAM_ORDINARY), 1);
    scene->third.uid = 0;
    assert_int_equal(sent(scene, &scene->third, STREAM_ORDINARY), 1); /* any incarnation there */
    assert_int_equal(sent(scene, &scene->first, STREAM_CONTROL), 1); /* these name their receiver */
    assert_int_equal(stale(scene), 2);
    scene_free(scene);
}

/* Several incarnations may end before messages for the first one stop. */
static void messages_for_an_earlier_incarnation_are_not_sent(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned(scene, &scene->first), 1);
    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(learned(scene, &scene->third), 3);
    assert_int_equal(sent(scene, &scene->first, STREAM_ORDINARY), 0);
    assert_int_equal(sent(scene, &scene->second, STREAM_ORDINARY), 0);
    assert_int_equal(stale(scene), 2);
    assert_int_equal(sent(scene, &scene->third, STREAM_ORDINARY), 1);
    scene_free(scene);
}

/* A node that is no member any more may be a member again: its messages wait, but not for another
 * incarnation. */
static void a_dropped_link_knows_for_which_incarnation_it_keeps_messages(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned(scene, &scene->first), 1);
    assert_int_equal(sent(scene, &scene->first, STREAM_ORDINARY), 1);
    peer_links_no_member(&scene->links, &scene->first);
    assert_int_equal(stale(scene), 1);
    assert_int_equal(sent(scene, &scene->first, STREAM_ORDINARY), 1);
    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(stale(scene), 2);
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            messages_for_an_ended_incarnation_do_not_wait_for_the_next),
        cmocka_unit_test(messages_for_an_earlier_incarnation_are_not_sent),
        cmocka_unit_test(a_dropped_link_knows_for_which_incarnation_it_keeps_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
