/* Tests that a node with another journal joins no cluster, or leaves it before an entity starts
 * there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/timers.h"
#include "cast.h"
#include "journal/book.h"
#include "node/control/control.h"
#include "node/machine/machine.h"


/* Journal backends 0 and 1; node n uses number n modulo 2. */
static struct world *two_stores(uint64_t seed)
{
    struct world_settings settings = cast_settings(seed);

    settings.stores = 2;
    cast_begin();
    return world_new(&settings);
}

static void start(struct world *world, uint32_t index, const char *store_id,
                  bool joins_later)
{
    struct node_settings settings =
        world_node_settings(world, index, cast_types, CAST_TYPES);

    settings.lanes = 1;
    settings.store_id = store_id;
    if (joins_later)
        settings.seed_node_count = 0;
    world_start(world, index, &settings);
}

static bool has_ended(struct world *world, void *index)
{
    return world_node(world, *(uint32_t *)index)->has_ended;
}

static void expect_end(struct world *world, uint32_t index)
{
    assert_true(world_until(world, has_ended, &index, 60 * SECOND));
    assert_int_equal(world_node(world, index)->error, SHERD_EJOIN);
}

static uint32_t streams(struct world *world, uint32_t store)
{
    const struct book *book =
        disk_backend_book(world_store_at(world, store));
    struct slice id;
    uint64_t last;
    uint32_t at = 0;
    uint32_t count = 0;

    while (book_next(book, &at, &id, &last))
        count++;
    return count;
}

static void a_node_with_another_store_is_refused(void **state)
{
    struct world *world = two_stores(1);
    (void)state;

    start(world, 0, NULL, false);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    start(world, 1, NULL, false);
    expect_end(world, 1);
    assert_true(world_logged(world, 1, "The journals are not the same"));
    assert_true(world_logged(world, 0, "The journals are not the same"));
    world_free(world);
}

/* A join by command compares no configuration. */
static void a_member_with_another_store_leaves(void **state)
{
    struct world *world = two_stores(2);
    struct player player;
    char id[16];
    (void)state;

    start(world, 0, NULL, false);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    player_spawn(&player, world, 0, 0);
    start(world, 1, NULL, true);
    world_join(world, 1, 0);
    expect_end(world, 1);
    assert_true(world_logged(world, 1, "is not that of another node"));
    assert_true(world_logged(world, 0, "is not that of another node"));
    for (int i = 0; i < 40; i++) {
        (void)snprintf(id, sizeof id, "e%d", i);
        assert_int_equal(player_asks(&player, "P", id, STORE), 1);
    }
    assert_int_equal(streams(world, 0), 40);
    assert_int_equal(streams(world, 1), 0);
    world_free(world);
}

/* Its identity is that of the cluster's store, so only the proof tells. */
static void a_node_with_a_copy_leaves_before_an_entity_starts_there(void **state)
{
    struct world *world = two_stores(3);
    struct player player;
    char id[16];
    (void)state;

    start(world, 0, "c0", false);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    player_spawn(&player, world, 0, 0);
    for (int i = 0; i < 40; i++) {
        (void)snprintf(id, sizeof id, "e%d", i);
        assert_int_equal(player_asks(&player, "P", id, STORE), 1);
    }
    start(world, 1, "c0", false);
    expect_end(world, 1); /* at the first shard that moves there */
    assert_true(world_logged(world, 1, "is not the coordinator's"));
    for (int i = 0; i < 40; i++) {
        (void)snprintf(id, sizeof id, "e%d", i);
        assert_int_equal(player_asks(&player, "P", id, STORE), 2);
    }
    assert_int_equal(streams(world, 0), 40);
    assert_int_equal(streams(world, 1), 0);
    world_free(world);
}

/* The next coordinator's store must have the proof of the former one, which the members keep. */
static void a_node_with_a_copy_becomes_no_coordinator(void **state)
{
    struct world *world = two_stores(4);
    struct player player;
    (void)state;

    start(world, 0, "c0", false);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    player_spawn(&player, world, 0, 0);
    assert_int_equal(player_asks(&player, "P", "e1", STORE), 1);
    start(world, 1, "c0", false);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_crash(world, 0);
    world_run(world, SECOND);
    world_down(world, 1, 0);
    expect_end(world, 1);
    assert_true(world_logged(world, 1, "is not the coordinator's"));
    assert_int_equal(streams(world, 1), 0);
    world_free(world);
}

static void nodes_with_one_store_form_a_cluster(void **state)
{
    struct world *world = two_stores(5);
    struct player player;
    (void)state;

    start(world, 0, NULL, false);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    start(world, 2, NULL, false); /* store 0, too */
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    player_spawn(&player, world, 2, 0);
    for (int i = 0; i < 20; i++) {
        char id[16];

        (void)snprintf(id, sizeof id, "e%d", i);
        assert_int_equal(player_asks(&player, "P", id, STORE), 1);
    }
    world_run(world, 20 * SECOND);
    assert_false(world_node(world, 0)->has_ended);
    assert_false(world_node(world, 2)->has_ended);
    world_free(world);
}

static struct inbound told(const struct node_id *from, struct slice payload)
{
    return (struct inbound){ .from = *from,
                             .manifest = slice_text("I"),
                             .payload = payload,
                             .serializer = 7300 };
}

/* Nodes that may never become members must not fill the memory. */
static void only_so_many_other_stores_are_remembered(void **state)
{
    struct world *world = two_stores(6);
    struct control *control;
    struct node_id node = { { "x", 1 }, 0 };
    (void)state;

    start(world, 0, NULL, false);
    control = node_machine(world_node(world, 0)->node, 0)->control;
    for (uint32_t i = 1; i <= OTHER_STORES_MAX + 5; i++) {
        struct inbound inbound =
            told(&node, slice_of("\x07" "default" "ab-9", 12));

        inbound.from.uid = i;
        assert_true(control_is_store(&inbound));
        control_store_heard(control, &inbound);
        control_store_heard(control, &inbound);
        assert_int_equal(control->other_stores.count,
                         i < OTHER_STORES_MAX ? i : OTHER_STORES_MAX);
    }
    world_free(world);
}

static void identities_that_cannot_be_are_counted(void **state)
{
    static const char *const bad[] = { "", "\x07" "default", "\x09" "default",
                                       "\x07" "defaultABC",
                                       "\x07" "default 12" };
    struct world *world = two_stores(7);
    struct control *control;
    struct node_id node = { { "x", 1 }, 5 };
    char text[128];
    struct inbound inbound;
    (void)state;

    start(world, 0, NULL, false);
    control = node_machine(world_node(world, 0)->node, 0)->control;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        inbound = told(&node, slice_text(bad[i]));
        control_store_heard(control, &inbound);
        assert_int_equal(control->unknown, i + 1);
    }
    (void)snprintf(text, sizeof text, "\x07" "default%0*d", STORE_ID_MAX, 0);
    inbound = told(&node, slice_text(text));
    control_store_heard(control, &inbound);
    assert_int_equal(control->unknown, 6);
    inbound = told(&node, slice_text("\x04" "bluef00")); /* another data center's */
    control_store_heard(control, &inbound);
    inbound = told(&node, slice_text("\x07" "default0")); /* the same store */
    control_store_heard(control, &inbound);
    assert_int_equal(control->unknown, 6);
    assert_int_equal(control->other_stores.count, 0);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_with_another_store_is_refused),
        cmocka_unit_test(a_member_with_another_store_leaves),
        cmocka_unit_test(
            a_node_with_a_copy_leaves_before_an_entity_starts_there),
        cmocka_unit_test(a_node_with_a_copy_becomes_no_coordinator),
        cmocka_unit_test(nodes_with_one_store_form_a_cluster),
        cmocka_unit_test(only_so_many_other_stores_are_remembered),
        cmocka_unit_test(identities_that_cannot_be_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
