/* Compares the members that a core keeps with a list that is searched linearly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/kept.h"
#include "base/rng.h"

#define MODEL_MAX 600
#define STEPS 60000

/* The expected members, in order of arrival. */
struct model {
    struct node_id nodes[MODEL_MAX];
    uint8_t marks[MODEL_MAX];
    uint32_t count;
};

static struct peer peer_of(uint64_t uid, uint32_t host)
{
    struct peer peer = { .node.uid = uid,
                         .up_number = (int32_t)(uid % 1000),
                         .status = PEER_UP };
    char text[16];
    int size = snprintf(text, sizeof text, "host%u", host);

    assert_true(address_set(&peer.node.address, text, (size_t)size, 2551));
    return peer;
}

static void compare(const struct kept *kept, const struct model *model)
{
    const struct kept_peer *peer;
    uint32_t i = 0;

    assert_int_equal(kept->count, model->count);
    for (uint32_t at = 0; (peer = kept_next(kept, &at)); i++) {
        assert_true(i < model->count);
        assert_true(peer_equal(peer, &model->nodes[i]));
        assert_int_equal(peer->marks, model->marks[i]);
    }
    assert_int_equal(i, model->count);
    peer = kept_last(kept);
    assert_int_equal(peer != NULL, model->count > 0);
    assert_true(!peer || peer_equal(peer, &model->nodes[model->count - 1]));
}

static void come(struct kept *kept, struct model *model, uint64_t uid,
                 uint8_t mark)
{
    struct peer peer = peer_of(uid, (uint32_t)(uid % 7));

    if (model->count == MODEL_MAX)
        return;
    kept_add(kept, &peer)->marks = mark;
    model->nodes[model->count] = peer.node;
    model->marks[model->count++] = mark;
}

static void go(struct kept *kept, struct model *model, uint32_t index)
{
    const struct node_id *node = &model->nodes[index];
    struct kept_peer *peer = kept_find(kept, node->uid, &node->address);
    struct node_id gone = *node;

    assert_non_null(peer);
    kept_drop(kept, peer);
    assert_null(kept_find(kept, gone.uid, NULL));
    model->count--;
    for (uint32_t i = index; i < model->count; i++) {
        model->nodes[i] = model->nodes[i + 1];
        model->marks[i] = model->marks[i + 1];
    }
}

static void compare_again(const struct kept *kept, const struct model *model)
{
    const struct kept_peer *peer;
    struct kept again = { 0 };

    for (uint32_t at = 0; (peer = kept_next(kept, &at));)
        (void)kept_add_again(&again, peer);
    compare(&again, model);
    kept_fini(&again);
}

/* The number of members grows and falls in turn: tables grow, holes appear and are filled. */
static void members_are_added_and_removed_in_order(void **state)
{
    static struct model model;
    struct kept kept = { 0 };
    uint64_t uid = 0;
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (uint32_t i = 0; i < STEPS; i++) {
        bool grows = rng_below(&rng, 10) < (i / 2000 % 2 ? 3u : 7u);

        if (grows || !model.count)
            come(&kept, &model, ++uid, (uint8_t)rng_below(&rng, 4));
        else
            go(&kept, &model, (uint32_t)rng_below(&rng, model.count));
        if (i % 97 == 0)
            compare(&kept, &model);
    }
    for (uint32_t i = 0; i < model.count; i++)
        assert_true(peer_equal(kept_find(&kept, model.nodes[i].uid, NULL),
                               &model.nodes[i]));
    compare_again(&kept, &model);
    while (model.count)
        go(&kept, &model, model.count / 2);
    compare(&kept, &model);
    kept_fini(&kept);
    assert_null(kept_find(&kept, uid, NULL));
}

/* Only a hostile member could announce one uid at two addresses. */
static void one_uid_at_two_addresses_is_two_members(void **state)
{
    struct peer first = peer_of(7, 1), second = peer_of(7, 2);
    struct kept kept = { 0 };
    struct kept_peer *peer;

    (void)state;
    (void)kept_add(&kept, &first);
    assert_null(kept_find(&kept, 7, &second.node.address));
    (void)kept_add(&kept, &second);
    peer = kept_find(&kept, 7, &second.node.address);
    assert_true(peer && peer_equal(peer, &second.node));
    peer = kept_find(&kept, 7, NULL);
    assert_true(peer && peer_equal(peer, &first.node));
    kept_drop(&kept, peer);
    peer = kept_find(&kept, 7, NULL);
    assert_true(peer && peer_equal(peer, &second.node));
    kept_fini(&kept);
}

static void memory_for_each_member_is_bounded(void **state)
{
    struct kept kept = { 0 };

    (void)state;
    for (uint64_t uid = 1; uid <= 4000; uid++) {
        struct peer peer = peer_of(uid, 1);

        (void)kept_add(&kept, &peer);
        assert_true(kept.items.capacity <= kept.count + kept.count / 4 + 8);
        assert_true(UINT32_C(1) << kept.place_bits <= 4 * kept.count + 32);
    }
    kept_fini(&kept);
}

/* Another incarnation at the same address has its own number. */
static void an_up_number_lasts_for_an_incarnation(void **state)
{
    struct peer peer = peer_of(7, 1);
    struct kept_peer kept = { 0 };
    (void)state;

    peer.up_number = INT32_MAX;
    peer_keep(&kept, &peer);
    assert_int_equal(kept.up_number, INT32_MAX);
    peer.up_number = 5;
    peer_keep(&kept, &peer);
    peer.up_number = INT32_MAX;
    peer.status = PEER_LEAVING;
    peer_keep(&kept, &peer);
    assert_int_equal(kept.up_number, 5);
    assert_int_equal(kept.status, PEER_LEAVING);
    peer.node.uid = 8;
    peer_keep(&kept, &peer);
    assert_int_equal(kept.up_number, INT32_MAX);
    peer_forget(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_added_and_removed_in_order),
        cmocka_unit_test(one_uid_at_two_addresses_is_two_members),
        cmocka_unit_test(memory_for_each_member_is_bounded),
        cmocka_unit_test(an_up_number_lasts_for_an_incarnation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
