/* Compares the members that a core keeps with a list that is searched linearly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/kept_members.h"
#include "base/rng.h"

#define MODEL_MAX 600
#define STEPS 60000

/* The expected members, in order of arrival. */
struct model {
    struct node_id nodes[MODEL_MAX];
    uint8_t marks[MODEL_MAX];
    uint32_t count;
};

static struct member_info peer_of(uint64_t uid, uint32_t host)
{
    struct member_info peer = { .node.uid = uid,
                         .up_number = (int32_t)(uid % 1000),
                         .status = MEMBER_UP };
    char text[16];
    int size = snprintf(text, sizeof text, "host%u", host);

    assert_true(address_set(&peer.node.address, text, (size_t)size, 2551));
    return peer;
}

static void compare(const struct kept_members *kept, const struct model *model)
{
    const struct kept_member *peer;
    uint32_t i = 0;

    assert_int_equal(kept->count, model->count);
    for (uint32_t at = 0; (peer = kept_members_next(kept, &at)); i++) {
        assert_true(i < model->count);
        assert_true(kept_member_is(peer, &model->nodes[i]));
        assert_int_equal(peer->marks, model->marks[i]);
    }
    assert_int_equal(i, model->count);
    peer = kept_members_last(kept);
    assert_int_equal(peer != NULL, model->count > 0);
    assert_true(!peer || kept_member_is(peer, &model->nodes[model->count - 1]));
}

static void come(struct kept_members *kept, struct model *model, uint64_t uid,
                 uint8_t mark)
{
    struct member_info peer = peer_of(uid, (uint32_t)(uid % 7));

    if (model->count == MODEL_MAX)
        return;
    kept_members_add(kept, &peer)->marks = mark;
    model->nodes[model->count] = peer.node;
    model->marks[model->count++] = mark;
}

static void go(struct kept_members *kept, struct model *model, uint32_t index)
{
    const struct node_id *node = &model->nodes[index];
    struct kept_member *peer = kept_members_find(kept, node->uid, &node->address);
    struct node_id gone = *node;

    assert_non_null(peer);
    kept_members_remove(kept, peer);
    assert_null(kept_members_find(kept, gone.uid, NULL));
    model->count--;
    for (uint32_t i = index; i < model->count; i++) {
        model->nodes[i] = model->nodes[i + 1];
        model->marks[i] = model->marks[i + 1];
    }
}

static void compare_again(const struct kept_members *kept, const struct model *model)
{
    const struct kept_member *peer;
    struct kept_members again = { 0 };

    for (uint32_t at = 0; (peer = kept_members_next(kept, &at));)
        (void)kept_members_add_again(&again, peer);
    compare(&again, model);
    kept_members_fini(&again);
}

/* The number of members grows and falls in turn: tables grow, holes appear and are filled. */
static void members_are_added_and_removed_in_order_SBR065(void **state)
{
    static struct model model;
    struct kept_members kept = { 0 };
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
        assert_true(kept_member_is(kept_members_find(&kept, model.nodes[i].uid, NULL),
                                   &model.nodes[i]));
    compare_again(&kept, &model);
    while (model.count)
        go(&kept, &model, model.count / 2);
    compare(&kept, &model);
    kept_members_fini(&kept);
    assert_null(kept_members_find(&kept, uid, NULL));
}

/* Only a hostile member could announce one uid at two addresses. */
static void one_uid_at_two_addresses_is_two_members(void **state)
{
    struct member_info first = peer_of(7, 1), second = peer_of(7, 2);
    struct kept_members kept = { 0 };
    struct kept_member *peer;

    (void)state;
    (void)kept_members_add(&kept, &first);
    assert_null(kept_members_find(&kept, 7, &second.node.address));
    (void)kept_members_add(&kept, &second);
    peer = kept_members_find(&kept, 7, &second.node.address);
    assert_true(peer && kept_member_is(peer, &second.node));
    peer = kept_members_find(&kept, 7, NULL);
    assert_true(peer && kept_member_is(peer, &first.node));
    kept_members_remove(&kept, peer);
    peer = kept_members_find(&kept, 7, NULL);
    assert_true(peer && kept_member_is(peer, &second.node));
    kept_members_fini(&kept);
}

static void memory_for_each_member_is_bounded(void **state)
{
    struct kept_members kept = { 0 };

    (void)state;
    for (uint64_t uid = 1; uid <= 4000; uid++) {
        struct member_info peer = peer_of(uid, 1);

        (void)kept_members_add(&kept, &peer);
        assert_true(kept.items.capacity <= kept.count + kept.count / 4 + 8);
        assert_true(UINT32_C(1) << kept.place_bits <= 4 * kept.count + 32);
    }
    kept_members_fini(&kept);
}

/* Another incarnation at the same address has its own number. */
static void an_up_number_lasts_for_an_incarnation(void **state)
{
    struct member_info peer = peer_of(7, 1);
    struct kept_member kept = { 0 };
    (void)state;

    peer.up_number = INT32_MAX;
    kept_member_set(&kept, &peer);
    assert_int_equal(kept.up_number, INT32_MAX);
    peer.up_number = 5;
    kept_member_set(&kept, &peer);
    peer.up_number = INT32_MAX;
    peer.status = MEMBER_LEAVING;
    kept_member_set(&kept, &peer);
    assert_int_equal(kept.up_number, 5);
    assert_int_equal(kept.status, MEMBER_LEAVING);
    peer.node.uid = 8;
    kept_member_set(&kept, &peer);
    assert_int_equal(kept.up_number, INT32_MAX);
    kept_member_fini(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_added_and_removed_in_order_SBR065),
        cmocka_unit_test(one_uid_at_two_addresses_is_two_members),
        cmocka_unit_test(memory_for_each_member_is_bounded),
        cmocka_unit_test(an_up_number_lasts_for_an_incarnation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
