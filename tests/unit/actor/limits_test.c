/* Checks the limits of a lane's actors that no setting lowers: at each, and one above. */
#include "lab.h"

#include <stdio.h>

static void the_table_of_node_names_is_limited(void **state)
{
    char text[32];
    (void)state;

    for (uint32_t i = 1; i < ACTOR_PEERS_MAX; i++) { /* 0 is nowhere */
        snprintf(text, sizeof text, "n%u:1", (unsigned)i);
        assert_int_equal(actors_peer(lab.actors, i, text), i);
    }
    assert_int_equal(lab_status().peers_refused, 0);
    assert_int_equal(actors_peer(lab.actors, ACTOR_PEERS_MAX, "late:1"), 0);
    assert_int_equal(lab_status().peers_refused, 1);
    assert_int_equal(actors_peer(lab.actors, 7, "n7:1"), 7);
    assert_int_equal(lab_status().peers_refused, 1);
}

static void the_mailbox_of_a_plain_actor_is_bounded(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    lab.quiet = true;
    lab_run();
    for (uint32_t i = 0; i < ACTOR_MAILBOX_MAX; i++)
        lab_tell(a, 5);
    assert_int_equal(lab_status().undelivered_total, 0);
    lab_tell(a, 5);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_MAILBOX_FULL], 1);
    lab_run();
    assert_int_equal(lab_status().waiting, 0);
}

static void the_mailbox_of_an_entity_is_bounded(void **state)
{
    (void)state;

    lab.quiet = true;
    lab_entity_tell(TYPE_A, "x", 5);
    lab_run();
    for (uint32_t i = 0; i < ENTITY_MAILBOX_MAX; i++)
        lab_entity_tell(TYPE_A, "x", 5);
    assert_int_equal(lab_status().undelivered_total, 0);
    lab_entity_tell(TYPE_A, "x", 5);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_MAILBOX_FULL], 1);
    lab_run();
    assert_int_equal(lab_status().waiting, 0);
}

/* Starts entity x of type P and lets it recover. */
static void start(void)
{
    lab_entity_tell(TYPE_P, "x", 5);
    lab_run();
    lab_recover_all();
    lab_run();
    lab.quiet = true;
}

static void too_many_bytes_of_events_pause_an_entity(void **state)
{
    enum {
        COUNT = 1 + ENTITY_EVENT_BYTES_MAX / SHERD_BODY_MAX,
        REST = ENTITY_EVENT_BYTES_MAX % SHERD_BODY_MAX
    };
    (void)state;

    start();
    for (int i = 1; i < COUNT; i++)
        ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = SHERD_BODY_MAX });
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = REST - 1 });
    lab_run();
    assert_int_equal(lab.events, COUNT); /* a byte below the limit */
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 1 });
    lab_run();
    assert_int_equal(lab.events, COUNT + 1);
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 1 });
    lab_run();
    assert_int_equal(lab.events, COUNT + 1); /* not scheduled */
    assert_int_equal(lab_status().waiting, 1);
    actors_durable(lab.actors, 1);
    lab_run();
    assert_int_equal(lab.events, COUNT + 2);
    actors_durable(lab.actors, lab.events);
    lab_run();
    assert_int_equal(lab_status().waiting, 0);
}

static void too_many_bytes_of_effects_pause_an_entity(void **state)
{
    enum { SIZE = 64 * 1024, COUNT = ENTITY_HELD_BYTES_MAX / SIZE };
    struct sherd_ref a = lab_spawn("a");
    struct order orders[] = { { DO_TELL, 5, .ref = a, .size = SIZE } };
    uint64_t held;
    (void)state;

    start();
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 1 });
    lab_run();
    for (int i = 0; i < COUNT - 2; i++) {
        lab_entity_order(TYPE_P, "x", orders, 1);
        lab_run();
    }
    held = lab_status().held;
    assert_int_equal(held, COUNT - 2); /* below the limit all of them run */
    for (int i = 0; i < 4; i++) {
        lab_entity_order(TYPE_P, "x", orders, 1);
        lab_run();
    }
    held = lab_status().held;
    assert_true(held >= COUNT - 1 && held <= COUNT);
    assert_int_equal(lab_status().waiting, COUNT + 2);
    actors_durable(lab.actors, lab.events);
    lab_run();
    assert_int_equal(lab_status().waiting, 0);
    assert_int_equal(lab_status().held, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_table_of_node_names_is_limited),
        TEST(the_mailbox_of_a_plain_actor_is_bounded),
        TEST(the_mailbox_of_an_entity_is_bounded),
        TEST(too_many_bytes_of_events_pause_an_entity),
        TEST(too_many_bytes_of_effects_pause_an_entity),
    };

    return cmocka_run_group_tests_name("actor_limits", tests, NULL, NULL);
}
