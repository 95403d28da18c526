/* Tests which incarnation is at a peer's address, and which of its connections are accepted, for any
 * order of handshakes and events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "artery/peers.h"

static struct node_id life(uint64_t uid)
{
    return (struct node_id){ .address = { "n1", 2551 }, .uid = uid };
}

struct scene {
    struct peers peers;
    struct node_id first, second, third; /* incarnations, one after the other */
    uint64_t renewed, before;            /* of the last change at the address */
    uint32_t gone;                       /* forgotten strangers */
};

static void renewed(void *user, struct peer *peer, uint64_t before)
{
    struct scene *scene = user;

    scene->renewed = peer->uid;
    scene->before = before;
}

static void forgotten(void *user, struct peer *peer)
{
    struct scene *scene = user;

    assert_false(peer->has_answered || peer->is_kept);
    scene->gone++;
}

static struct scene *scene_new(void)
{
    struct scene *scene = mem_alloc(sizeof *scene);

    peers_init(&scene->peers,
               &(struct peers_options){ .renewed = renewed,
                                        .forgotten = forgotten,
                                        .user = scene,
                                        .is_control = true });
    scene->first = life(1);
    scene->second = life(2);
    scene->third = life(3);
    return scene;
}

/* A lane follows control. */
static struct scene *lane_new(void)
{
    struct scene *scene = scene_new();

    scene->peers.options.is_control = false;
    return scene;
}

static void scene_free(struct scene *scene)
{
    peers_fini(&scene->peers);
    mem_free(scene);
}

static enum peer_verdict verdict_of(struct scene *scene,
                                    const struct node_id *node, uint64_t order)
{
    struct peer *peer;

    return peers_learn(&scene->peers, node, order, false, &peer);
}

/* Returns the incarnation that is then at the address. */
static uint64_t learned_by(struct scene *scene, const struct node_id *node,
                           uint64_t order)
{
    (void)verdict_of(scene, node, order);
    return peers_at(&scene->peers, &node->address)->uid;
}

static uint64_t learned(struct scene *scene, const struct node_id *node)
{
    return learned_by(scene, node, 0);
}

static void a_handshake_gets_one_verdict(void **state)
{
    struct scene *scene = scene_new();
    struct node_id elsewhere = scene->second;
    (void)state;

    assert_int_equal(verdict_of(scene, &scene->first, 5), PEER_NEW);
    assert_int_equal(scene->renewed, 1);
    assert_int_equal(scene->before, 0);
    assert_int_equal(verdict_of(scene, &scene->first, 6), PEER_SAME);
    assert_int_equal(verdict_of(scene, &scene->second, 7), PEER_NEW);
    assert_int_equal(scene->renewed, 2);
    assert_int_equal(scene->before, 1);
    assert_int_equal(verdict_of(scene, &scene->first, 6), PEER_OVER);
    assert_int_equal(verdict_of(scene, &scene->third, 6), PEER_EARLIER);
    assert_int_equal(verdict_of(scene, &scene->third, 6), PEER_OVER);
    elsewhere.address.port++;
    assert_int_equal(verdict_of(scene, &elsewhere, 8), PEER_ELSEWHERE);
    assert_int_equal(scene->peers.all.count, 1);
    assert_int_equal(scene->renewed, 2);
    scene_free(scene);
}

/* Connections came in another order than the incarnations, as those of a node behind a proxy. */
static void an_incarnation_is_accepted_in_any_order_after_a_removal(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(verdict_of(scene, &scene->second, 7), PEER_NEW);
    peers_gone(&scene->peers, &scene->second);
    assert_int_equal(verdict_of(scene, &scene->first, 6), PEER_EARLIER);
    peers_forget(&scene->peers, 2);
    assert_int_equal(verdict_of(scene, &scene->third, 6), PEER_NEW);
    assert_int_equal(verdict_of(scene, &scene->second, 9), PEER_OVER);
    scene_free(scene);
}

static void a_home_at_a_removed_incarnation_gets_no_messages(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned(scene, &scene->first), 1);
    peers_gone(&scene->peers, &scene->first);
    peers_forget(&scene->peers, 1);
    assert_int_equal(peers_meant(&scene->peers, &scene->second)->uid, 2);
    assert_null(peers_meant(&scene->peers, &scene->first));
    scene_free(scene);
}

static void a_newer_incarnation_is_learned(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned(scene, &scene->first), 1);
    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(learned(scene, &scene->first), 2);
    assert_null(peers_meant(&scene->peers, &scene->first));
    scene_free(scene);
}

/* On two connections, the former incarnation's handshake came last. */
static void a_removed_incarnation_makes_room_for_the_one_it_replaced(void **state)
{
    struct scene *scene = scene_new();
    struct peer *peer;
    (void)state;

    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(learned(scene, &scene->first), 1);
    assert_null(peers_meant(&scene->peers, &scene->second));
    peers_gone(&scene->peers, &scene->first);
    peer = peers_meant(&scene->peers, &scene->second);
    assert_non_null(peer);
    assert_int_equal(peer->uid, 2);
    assert_int_equal(learned(scene, &scene->first), 2);
    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(learned(scene, &scene->third), 3);
    scene_free(scene);
}

static void a_handshake_after_a_removal_restores_the_replaced_incarnation(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(learned(scene, &scene->first), 1);
    peers_gone(&scene->peers, &scene->first);
    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(learned(scene, &scene->first), 2);
    scene_free(scene);
}

/* Connections come in the order of incarnations, and are read in any order. */
static void the_incarnation_with_the_later_connection_stays(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned_by(scene, &scene->second, 7), 2);
    assert_int_equal(learned_by(scene, &scene->first, 6), 2);
    assert_null(peers_meant(&scene->peers, &scene->first));
    /* an earlier connection of its own */
    assert_int_equal(learned_by(scene, &scene->second, 5), 2);
    assert_int_equal(learned_by(scene, &scene->first, 6), 2);
    assert_int_equal(learned_by(scene, &scene->third, 8), 3);
    assert_int_equal(learned_by(scene, &scene->second, 7), 3);
    scene_free(scene);
}

/* The order of the first connection was unknown. */
static void a_later_connection_restores_an_incarnation(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned(scene, &scene->second), 2);
    assert_int_equal(learned_by(scene, &scene->first, 6), 1);
    assert_int_equal(learned(scene, &scene->second), 1);
    assert_int_equal(learned_by(scene, &scene->second, 7), 2);
    assert_int_equal(learned_by(scene, &scene->first, 6), 2);
    scene_free(scene);
}

/* The lane has read the former incarnation's handshake. */
static void control_sends_the_later_incarnation_to_a_lane(void **state)
{
    struct scene *scene = lane_new();
    const struct heard_peer second = { scene->second, 3, 4 };
    (void)state;

    assert_int_equal(learned_by(scene, &scene->first, 6), 1);
    peers_heard(&scene->peers, &second, 7, false);
    assert_int_equal(peers_at(&scene->peers, &scene->first.address)->uid, 2);
    assert_non_null(peers_meant(&scene->peers, &scene->second));
    scene_free(scene);
}

/* The lane has read the later one, which control has not heard of yet. */
static void a_lane_keeps_what_it_has_read_until_control_has_compared(void **state)
{
    struct scene *scene = lane_new();
    const struct heard_peer first = { scene->first, 3, 4 };
    (void)state;

    assert_int_equal(learned_by(scene, &scene->second, 7), 2);
    peers_heard(&scene->peers, &first, 6, false);
    assert_int_equal(peers_at(&scene->peers, &scene->first.address)->uid, 2);
    peers_heard(&scene->peers, &first, 6, true);
    assert_int_equal(peers_at(&scene->peers, &scene->first.address)->uid, 1);
    peers_forget(&scene->peers, 1);
    peers_heard(&scene->peers, &first, 9, true); /* it was on its way */
    assert_true(peers_at(&scene->peers, &scene->first.address)->over);
    scene_free(scene);
}

/* ---- claims ---- */

static struct peer *proven(struct scene *scene, const struct node_id *node,
                           uint64_t order)
{
    struct peer *peer;

    assert_int_equal(peers_learn(&scene->peers, node, order, true, &peer),
                     PEER_NEW);
    peers_answered(&scene->peers, peer);
    return peer;
}

static void a_node_that_answered_stays_until_another_answers(void **state)
{
    struct scene *scene = scene_new();
    const struct handshake claim = { .from = scene->second, .order = 7 };
    struct peer *peer = proven(scene, &scene->first, 6);
    (void)state;

    scene->renewed = 0;
    assert_int_equal(verdict_of(scene, &scene->second, 7), PEER_CLAIMS);
    assert_int_equal(peers_accept(&scene->peers, STREAM_CONTROL, &claim),
                     PEER_WAITS);
    assert_false(peers_accept_claim(&scene->peers, STREAM_CONTROL, &claim));
    assert_int_equal(scene->renewed, 0);
    assert_false(peers_is_over(&scene->peers, 2));
    assert_int_equal(peer->uid, 1);
    assert_ptr_equal(proven(scene, &scene->second, 7), peer);
    assert_int_equal(scene->before, 1);
    assert_true(peers_is_over(&scene->peers, 1));
    assert_true(peers_accept_claim(&scene->peers, STREAM_CONTROL, &claim));
    assert_non_null(peers_sender(&scene->peers, 2));
    assert_int_equal(verdict_of(scene, &scene->first, 8), PEER_CLAIMS); /* it comes back */
    assert_true(peers_is_over(&scene->peers, 1));
    assert_ptr_equal(proven(scene, &scene->first, 8), peer);
    assert_false(peers_is_over(&scene->peers, 1));
    scene_free(scene);
}

/* A restart need not wait if nobody is in its place. */
static void an_incarnation_that_ended_or_never_answered_does_not_stay(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    (void)proven(scene, &scene->first, 6);
    peers_gone(&scene->peers, &scene->first);
    assert_int_equal(verdict_of(scene, &scene->second, 7), PEER_NEW);
    assert_int_equal(verdict_of(scene, &scene->third, 8), PEER_NEW);
    scene_free(scene);
}

static void a_lane_leaves_claims_to_control(void **state)
{
    struct scene *scene = lane_new();
    const struct heard_peer second = { scene->second, 3, 4 };
    const struct handshake claim = { .from = scene->second, .order = 7 };
    (void)state;

    assert_int_equal(verdict_of(scene, &scene->first, 6), PEER_NEW);
    assert_int_equal(peers_accept(&scene->peers, STREAM_ORDINARY, &claim),
                     PEER_WAITS);
    peers_heard(&scene->peers, &second, 7, false);
    assert_true(peers_accept_claim(&scene->peers, STREAM_ORDINARY, &claim));
    assert_null(peers_sender(&scene->peers, 1));
    assert_non_null(peers_sender(&scene->peers, 2));
    scene_free(scene);
}

static void a_removed_incarnation_is_not_learned(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_int_equal(learned(scene, &scene->second), 2);
    peers_gone(&scene->peers, &scene->first);
    assert_int_equal(learned(scene, &scene->first), 2);
    assert_null(peers_meant(&scene->peers, &scene->first));
    scene_free(scene);
}

/* ---- nodes that were only heard of ---- */

#define MANY 300

static struct heard_peer heard_of(uint32_t number, uint64_t uid)
{
    struct heard_peer one = { .capabilities = uid * 1000, .lanes = 4 };
    char host[HOST_MAX + 1] = { 0 };

    /* of all lengths */
    memset(host, 'a', 1 + number % (HOST_MAX - 8));
    (void)snprintf(host + strlen(host), 8, "%u", number);
    assert_true(address_set(&one.node.address, host, strlen(host),
                            2000 + number));
    one.node.uid = uid;
    return one;
}

static void assert_same(const struct heard_peer *one,
                        const struct heard_peer *other)
{
    assert_true(node_equal(&one->node, &other->node));
    assert_int_equal(one->capabilities, other->capabilities);
    assert_int_equal(one->lanes, other->lanes);
}

static void heard_peers_are_found_by_uid_and_by_address(void **state)
{
    struct heard_peers all = { 0 };
    struct heard_peer one, found;
    (void)state;

    for (uint32_t i = 0; i < MANY; i++) {
        one = heard_of(i, i + 1);
        heard_peers_put(&all, &one);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t number = i * 7 % MANY;

        one = heard_of(number, number + 1);
        assert_true(i % 2 ? heard_peers_take(&all, number + 1, &found)
                          : heard_peers_take_at(&all, &one.node.address,
                                                  &found));
        assert_same(&found, &one);
        assert_false(heard_peers_take(&all, number + 1, &found));
        assert_false(
            heard_peers_take_at(&all, &one.node.address, &found));
        assert_true(all.texts.size <= 2 * (all.texts.size - all.unused) + 1024);
    }
    assert_int_equal(all.uids.count, 0);
    heard_peers_fini(&all);
}

static void a_heard_peer_has_no_entry(void **state)
{
    struct scene *scene = lane_new();
    const struct heard_peer one = heard_of(1, 11), two = heard_of(2, 12);
    const struct peer *peer;
    (void)state;

    peers_heard(&scene->peers, &one, 0, false);
    peers_heard(&scene->peers, &two, 0, false);
    peers_heard(&scene->peers, &one, 0, false);
    assert_int_equal(scene->peers.all.count, 0);
    peer = peers_uid(&scene->peers, 12);
    assert_non_null(peer);
    assert_int_equal(peer->uid, two.node.uid);
    assert_true(kept_address_equal(peer->address, &two.node.address));
    assert_true(peer->met);
    assert_int_equal(peer->capabilities, two.capabilities);
    assert_int_equal(peer->lanes, two.lanes);
    peer = peers_find(&scene->peers, &one.node.address);
    assert_non_null(peer);
    assert_int_equal(peer->uid, 11);
    assert_ptr_equal(peers_at(&scene->peers, &one.node.address), peer);
    assert_int_equal(scene->peers.all.count, 2);
    assert_int_equal(scene->peers.heard.uids.count, 0);
    scene_free(scene);
}

/* A heard peer acts as if it always had an entry. */
static void a_heard_peer_counts_as_learned(void **state)
{
    struct scene *scene = lane_new();
    const struct heard_peer first = { scene->first, 1, 2 };
    const struct heard_peer second = { scene->second, 3, 4 };
    const struct peer *peer;
    (void)state;

    peers_heard(&scene->peers, &first, 0, false);
    assert_null(peers_meant(&scene->peers, &scene->second));
    peers_heard(&scene->peers, &second, 0, false);
    peer = peers_find(&scene->peers, &scene->first.address);
    assert_int_equal(peer->uid, 2);
    assert_true(peers_is_over(&scene->peers, 1));
    assert_int_equal(peer->capabilities, 3);
    assert_int_equal(peer->lanes, 4);
    scene_free(scene);
}

static void a_newer_incarnation_replaces_a_heard_peer(void **state)
{
    struct scene *scene = lane_new();
    const struct heard_peer first = { scene->first, 1, 2 };
    const struct heard_peer second = { scene->second, 3, 4 };
    (void)state;

    peers_heard(&scene->peers, &first, 0, false);
    peers_heard(&scene->peers, &second, 0, false);
    assert_int_equal(learned(scene, &scene->first), 2);
    assert_null(peers_meant(&scene->peers, &scene->first));
    scene_free(scene);
}

static void a_heard_peer_may_be_removed(void **state)
{
    struct scene *scene = lane_new();
    const struct heard_peer first = { scene->first, 1, 2 };
    (void)state;

    peers_heard(&scene->peers, &first, 0, false);
    peers_gone(&scene->peers, &scene->first);
    assert_int_equal(
        peers_meant(&scene->peers, &scene->second)->uid, 2);
    assert_int_equal(learned(scene, &scene->first), 2);
    scene_free(scene);
}

/* ---- connections ---- */

/* Accepts a handshake of an incarnation at one address. */
static bool accept_by(struct scene *scene, uint64_t uid, uint64_t order)
{
    struct handshake handshake = { .lanes = 1,
                                   .generation = 1,
                                   .order = order };

    assert_true(address_set(&handshake.from.address, "n1", 2, 2551));
    handshake.from.uid = uid;
    return peers_accept(&scene->peers, STREAM_CONTROL, &handshake) ==
           PEER_ACCEPTED;
}

static bool accept(struct scene *scene, uint64_t uid)
{
    return accept_by(scene, uid, 0);
}

static void forget(struct scene *scene, uint64_t uid)
{
    peers_forget(&scene->peers, uid);
    peers_silence(&scene->peers, uid);
}

static void left(struct scene *scene, uint64_t uid)
{
    const struct node_id node = life(uid);

    peers_gone(&scene->peers, &node);
}

/* Connections come in the order of incarnations, and are read in any order. */
static void the_incarnation_with_the_later_connection_may_send(void **state)
{
    struct scene *scene = scene_new();

    (void)state;
    assert_true(accept_by(scene, 2, 7));
    assert_true(accept_by(scene, 2, 5));
    assert_false(accept_by(scene, 1, 6)); /* read late: it is the older one */
    assert_true(peers_is_over(&scene->peers, 1));
    assert_true(accept_by(scene, 2, 7));
    assert_true(accept_by(scene, 3, 8));
    assert_false(accept_by(scene, 2, 7));
    forget(scene, 2);
    assert_false(accept_by(scene, 2, 9)); /* a removed incarnation stays removed */
    assert_non_null(peers_sender(&scene->peers, 3));
    scene_free(scene);
}

/* If the order is unknown, an older incarnation counts as the newer one until the next connection
 * corrects it. */
static void a_later_connection_restores_a_sender(void **state)
{
    struct scene *scene = scene_new();

    (void)state;
    assert_true(accept(scene, 2));
    assert_true(accept_by(scene, 1, 6));
    assert_false(accept(scene, 2));
    assert_false(accept_by(scene, 2, 5));
    assert_true(accept_by(scene, 2, 7));
    assert_false(accept_by(scene, 1, 6));
    assert_null(peers_sender(&scene->peers, 1));
    scene_free(scene);
}

static void a_new_incarnation_replaces_the_older_one(void **state)
{
    struct scene *scene = scene_new();

    (void)state;
    assert_true(accept(scene, 1));
    assert_true(accept(scene, 2));
    assert_false(accept(scene, 1));
    assert_true(peers_is_over(&scene->peers, 1));
    forget(scene, 1);
    assert_true(accept(scene, 2));
    assert_non_null(peers_sender(&scene->peers, 2));
    assert_null(peers_sender(&scene->peers, 1));
    forget(scene, 2);
    assert_false(accept(scene, 1)); /* it does not return */
    scene_free(scene);
}

/* The older incarnation's handshake arrives after the newer one's. */
static void a_late_handshake_of_an_older_incarnation_ends_with_it(void **state)
{
    struct scene *scene = scene_new();

    (void)state;
    assert_true(accept(scene, 2));
    assert_true(accept(scene, 1)); /* it is still open which was first */
    assert_false(accept(scene, 2));
    forget(scene, 1);
    assert_true(accept(scene, 2));
    assert_false(accept(scene, 1));
    scene_free(scene);
}

/* The newest of three incarnations is heard first. */
static void late_handshakes_of_older_incarnations_end_with_them(void **state)
{
    struct scene *scene = scene_new();

    (void)state;
    assert_true(accept(scene, 3));
    assert_true(accept(scene, 2));
    assert_true(accept(scene, 1));
    forget(scene, 1);
    forget(scene, 2);
    assert_true(accept(scene, 3));
    assert_false(accept(scene, 1));
    assert_false(accept(scene, 2));
    scene_free(scene);
}

static void an_unknown_forgotten_incarnation_is_refused(void **state)
{
    struct scene *scene = scene_new();

    (void)state;
    assert_true(accept(scene, 2));
    forget(scene, 1);
    assert_false(accept(scene, 1));
    assert_true(accept(scene, 2));
    scene_free(scene);
}

/* The last messages of an incarnation that has left are accepted until it is forgotten or another
 * one is at its address. */
static void an_incarnation_that_left_may_send_last_messages(void **state)
{
    struct scene *scene = scene_new();

    (void)state;
    assert_true(accept(scene, 2));
    assert_true(accept(scene, 1)); /* the older incarnation, read late */
    left(scene, 1);
    assert_non_null(peers_sender(&scene->peers, 1));
    assert_true(accept(scene, 1));
    assert_true(accept(scene, 2));
    assert_false(accept(scene, 1));
    left(scene, 2);
    assert_true(accept(scene, 3));
    forget(scene, 3);
    assert_false(accept(scene, 2)); /* it was not replaced, it is gone */
    left(scene, 4); /* it was never heard of */
    assert_true(accept(scene, 5));
    left(scene, 5);
    forget(scene, 5);
    scene->peers.options.is_control = false; /* control hears a removed one */
    assert_false(accept(scene, 5));
    scene_free(scene);
}

static bool accept_connection(struct scene *scene, uint32_t lane,
                              uint64_t generation)
{
    struct handshake handshake = { .lanes = 4,
                                   .capabilities = 1,
                                   .lane = lane,
                                   .generation = generation };

    assert_true(address_set(&handshake.from.address, "n1", 2, 2551));
    handshake.from.uid = 1;
    return peers_accept(&scene->peers, STREAM_ORDINARY, &handshake) ==
           PEER_ACCEPTED;
}

static void each_lane_keeps_its_newest_connection(void **state)
{
    struct scene *scene = scene_new();

    (void)state;
    assert_true(accept_connection(scene, 0, 7));
    assert_true(accept_connection(scene, 3, 5));
    assert_true(accept_connection(scene, 1, 2));
    assert_false(accept_connection(scene, 0, 6));
    assert_true(accept_connection(scene, 0, 8));
    assert_true(peers_is_newest(&scene->peers, 1, STREAM_ORDINARY, 3, 5));
    assert_false(peers_is_newest(&scene->peers, 1, STREAM_ORDINARY, 3, 4));
    assert_false(peers_is_newest(&scene->peers, 1, STREAM_ORDINARY, 0, 7));
    assert_true(peers_is_newest(&scene->peers, 1, STREAM_ORDINARY, 2, 1)); /* none so far */
    assert_true(peers_is_newest(&scene->peers, 1, STREAM_CONTROL, 0, 1));
    scene_free(scene);
}

static void the_first_connection_may_come_from_a_later_lane(void **state)
{
    struct scene *scene = scene_new();

    (void)state;
    assert_true(accept_connection(scene, 2, 9));
    assert_true(accept_connection(scene, 0, 3));
    assert_false(peers_is_newest(&scene->peers, 1, STREAM_ORDINARY, 2, 8));
    assert_false(peers_is_newest(&scene->peers, 1, STREAM_ORDINARY, 0, 2));
    assert_true(peers_is_newest(&scene->peers, 1, STREAM_ORDINARY, 0, 3));
    scene_free(scene);
}

static void a_removed_incarnation_may_connect_to_control(void **state)
{
    struct scene *scene = scene_new();
    (void)state;

    assert_true(accept(scene, 1));
    peers_forget(&scene->peers, 1);
    scene->peers.options.is_control = false;
    assert_false(accept(scene, 1));
    scene->peers.options.is_control = true;
    assert_true(accept(scene, 1));
    assert_true(accept(scene, 2));
    assert_false(accept(scene, 1)); /* no longer at its address */
    scene_free(scene);
}

static void a_newer_connection_changes_the_version(void **state)
{
    struct scene *scene = scene_new();
    uint64_t version = scene->peers.version;
    (void)state;

    assert_true(accept_connection(scene, 0, 7));
    assert_true(accept_connection(scene, 1, 7));
    assert_int_equal(scene->peers.version, version);
    assert_true(accept_connection(scene, 1, 8));
    assert_true(scene->peers.version > version);
    version = scene->peers.version;
    peers_silence(&scene->peers, 1);
    assert_true(scene->peers.version > version);
    assert_null(peers_sender(&scene->peers, 1));
    scene_free(scene);
}

/* ---- strangers ---- */

#define STRANGERS 3 /* the limit */

static struct scene *control_new(void)
{
    struct scene *scene = scene_new();

    scene->peers.options.strangers_max = STRANGERS;
    return scene;
}

/* Another address for each uid. */
static struct node_id at_port(uint64_t uid)
{
    struct node_id node = life(uid);

    node.address.port = (uint16_t)(3000 + uid);
    return node;
}

static struct peer *shakes(struct scene *scene, uint64_t uid)
{
    const struct node_id node = at_port(uid);

    (void)verdict_of(scene, &node, 0);
    return peers_uid(&scene->peers, uid);
}

static bool is_known(struct scene *scene, uint64_t uid)
{
    const struct node_id node = at_port(uid);

    return peers_find(&scene->peers, &node.address) != NULL;
}

static void control_forgets_the_oldest_stranger_beyond_the_limit(void **state)
{
    struct scene *scene = control_new();
    uint64_t version = scene->peers.version;
    uint32_t first;
    (void)state;

    first = shakes(scene, 1)->index;
    for (uint64_t uid = 2; uid <= STRANGERS; uid++)
        (void)shakes(scene, uid);
    assert_int_equal(scene->gone, 0);
    assert_int_equal(scene->peers.version, version);
    assert_int_equal(shakes(scene, STRANGERS + 1)->index, STRANGERS);
    peers_reuse(&scene->peers); /* the driver has closed its connections */
    assert_int_equal(scene->gone, 1);
    assert_true(scene->peers.version > version); /* its connections are looked at */
    assert_false(is_known(scene, 1));
    assert_null(peers_uid(&scene->peers, 1));
    assert_false(peers_is_over(&scene->peers, 1));
    assert_int_equal(shakes(scene, STRANGERS + 2)->index, first);
    assert_int_equal(scene->gone, 2);
    assert_false(is_known(scene, 2));
    assert_true(is_known(scene, 3));
    assert_int_equal(scene->peers.strangers.count, STRANGERS);
    scene_free(scene);
}

static void a_repeated_handshake_makes_a_stranger_the_newest(void **state)
{
    struct scene *scene = control_new();
    (void)state;

    for (uint64_t uid = 1; uid <= STRANGERS; uid++)
        (void)shakes(scene, uid);
    (void)shakes(scene, 1);
    (void)shakes(scene, STRANGERS + 1);
    assert_true(is_known(scene, 1));
    assert_false(is_known(scene, 2));
    scene_free(scene);
}

static void members_and_nodes_that_answered_are_never_forgotten(void **state)
{
    struct scene *scene = control_new();
    const struct node_id member = at_port(1), answered = at_port(2);
    const struct kept_address *lent;
    (void)state;

    (void)shakes(scene, 1);
    lent = peers_lasting(&scene->peers, &member.address);
    peers_answered(&scene->peers, shakes(scene, 2));
    for (uint64_t uid = 3; uid < 100; uid++) {
        (void)shakes(scene, uid);
        peers_reuse(&scene->peers);
    }
    assert_int_equal(peers_uid(&scene->peers, 1)->uid, 1);
    assert_ptr_equal(peers_lasting(&scene->peers, &member.address), lent);
    assert_true(peers_find(&scene->peers, &answered.address)->has_answered);
    assert_int_equal(scene->peers.all.count, 2 + STRANGERS + 1);
    while (peers_forget_stranger(&scene->peers))
        ;
    assert_true(is_known(scene, 1) && is_known(scene, 2));
    assert_false(is_known(scene, 99));
    scene_free(scene);
}

/* Its former incarnation had answered. */
static void a_new_incarnation_that_never_answered_is_a_stranger(void **state)
{
    struct scene *scene = control_new();
    const struct node_id next = { at_port(1).address, 50 };
    (void)state;

    peers_answered(&scene->peers, shakes(scene, 1));
    peers_forget(&scene->peers, 1);
    assert_int_equal(learned(scene, &next), 50);
    assert_int_equal(scene->peers.strangers.count, 1);
    for (uint64_t uid = 2; uid <= STRANGERS + 1; uid++)
        (void)shakes(scene, uid);
    assert_false(is_known(scene, 1));
    scene_free(scene);
}

/* A lane keeps the index of a home. */
static void a_lane_forgets_what_control_forgets_but_no_home(void **state)
{
    struct scene *scene = lane_new();
    const struct node_id home = at_port(1), heard = at_port(2),
                         sender = at_port(3), other = { home.address, 9 };
    (void)state;

    assert_non_null(peers_meant(&scene->peers, &home));
    peers_heard(&scene->peers, &(struct heard_peer){ .node = heard }, 1,
                false);
    assert_int_equal(peers_accept(&scene->peers, STREAM_ORDINARY,
                                  &(struct handshake){ .from = sender }),
                     PEER_ACCEPTED);
    peers_stranger_gone(&scene->peers, &home);
    peers_stranger_gone(&scene->peers, &heard);
    peers_stranger_gone(&scene->peers, &sender);
    peers_stranger_gone(&scene->peers, &other); /* never known */
    assert_int_equal(peers_uid(&scene->peers, 1)->index, 0);
    assert_int_equal(scene->peers.heard.uids.count, 0);
    assert_null(peers_sender(&scene->peers, 3));
    assert_int_equal(scene->peers.sender_count, 0);
    scene_free(scene);
}

/* Removed nodes of a cluster whose nodes get new addresses must keep no new node out. */
static void removed_and_unknown_senders_make_room_on_control(void **state)
{
    struct scene *scene = control_new();
    struct handshake handshake = { .from = life(1) };
    (void)state;

    for (uint32_t i = 0; i < PEERS_MAX; i++) {
        handshake.from = life(1 + i);
        handshake.from.address.port = (uint16_t)(1 + i);
        assert_int_equal(peers_accept(&scene->peers, STREAM_CONTROL, &handshake),
                         PEER_ACCEPTED);
        peers_answered(&scene->peers, peers_uid(&scene->peers, 1 + i));
    }
    assert_int_equal(scene->peers.sender_count, PEERS_MAX);
    handshake.from = at_port(20000);
    assert_int_equal(peers_accept(&scene->peers, STREAM_CONTROL, &handshake),
                     PEER_REFUSED);
    assert_int_equal(scene->peers.refused, 1);
    peers_forget(&scene->peers, 7);
    assert_int_equal(peers_accept(&scene->peers, STREAM_CONTROL, &handshake),
                     PEER_ACCEPTED);
    assert_null(peers_sender(&scene->peers, 7));
    handshake.from = at_port(20001);
    assert_int_equal(peers_accept(&scene->peers, STREAM_CONTROL, &handshake),
                     PEER_ACCEPTED);
    assert_null(peers_uid(&scene->peers, 20000));
    assert_int_equal(scene->peers.sender_count, PEERS_MAX);
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handshake_gets_one_verdict),
        cmocka_unit_test(
            an_incarnation_is_accepted_in_any_order_after_a_removal),
        cmocka_unit_test(a_home_at_a_removed_incarnation_gets_no_messages),
        cmocka_unit_test(a_newer_incarnation_is_learned),
        cmocka_unit_test(
            a_removed_incarnation_makes_room_for_the_one_it_replaced),
        cmocka_unit_test(
            a_handshake_after_a_removal_restores_the_replaced_incarnation),
        cmocka_unit_test(the_incarnation_with_the_later_connection_stays),
        cmocka_unit_test(a_later_connection_restores_an_incarnation),
        cmocka_unit_test(control_sends_the_later_incarnation_to_a_lane),
        cmocka_unit_test(a_lane_keeps_what_it_has_read_until_control_has_compared),
        cmocka_unit_test(a_node_that_answered_stays_until_another_answers),
        cmocka_unit_test(an_incarnation_that_ended_or_never_answered_does_not_stay),
        cmocka_unit_test(a_lane_leaves_claims_to_control),
        cmocka_unit_test(a_removed_incarnation_is_not_learned),
        cmocka_unit_test(heard_peers_are_found_by_uid_and_by_address),
        cmocka_unit_test(a_heard_peer_has_no_entry),
        cmocka_unit_test(a_heard_peer_counts_as_learned),
        cmocka_unit_test(a_newer_incarnation_replaces_a_heard_peer),
        cmocka_unit_test(a_heard_peer_may_be_removed),
        cmocka_unit_test(the_incarnation_with_the_later_connection_may_send),
        cmocka_unit_test(a_later_connection_restores_a_sender),
        cmocka_unit_test(a_new_incarnation_replaces_the_older_one),
        cmocka_unit_test(a_late_handshake_of_an_older_incarnation_ends_with_it),
        cmocka_unit_test(late_handshakes_of_older_incarnations_end_with_them),
        cmocka_unit_test(an_unknown_forgotten_incarnation_is_refused),
        cmocka_unit_test(an_incarnation_that_left_may_send_last_messages),
        cmocka_unit_test(each_lane_keeps_its_newest_connection),
        cmocka_unit_test(the_first_connection_may_come_from_a_later_lane),
        cmocka_unit_test(a_removed_incarnation_may_connect_to_control),
        cmocka_unit_test(a_newer_connection_changes_the_version),
        cmocka_unit_test(control_forgets_the_oldest_stranger_beyond_the_limit),
        cmocka_unit_test(a_repeated_handshake_makes_a_stranger_the_newest),
        cmocka_unit_test(members_and_nodes_that_answered_are_never_forgotten),
        cmocka_unit_test(a_new_incarnation_that_never_answered_is_a_stranger),
        cmocka_unit_test(a_lane_forgets_what_control_forgets_but_no_home),
        cmocka_unit_test(removed_and_unknown_senders_make_room_on_control),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
