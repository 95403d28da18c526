/* Checks remembered entities on a lane: messages that wait for the store, and restarts. */
#include "lab.h"

#include <stdio.h>

enum { TYPE_M = 4, TYPE_MI }; /* both remember; entities of the second are idle after 1 s */

static int setup(void **state)
{
    struct sherd_entity_type type = { .name = "M",
                                      .behavior = puppet,
                                      .shards = 10,
                                      .idle_ms = UINT64_MAX,
                                      .remember = 1 };

    (void)lab_setup(state); /* it cannot fail */
    actors_add_type(lab.actors, TYPE_M, &type);
    type.name = "MI";
    type.idle_ms = 1000;
    actors_add_type(lab.actors, TYPE_MI, &type);
    return 0;
}

static int32_t shard_of(const char *id)
{
    return hash_shard(slice_text(id), 10);
}

/* The store completes all requests. */
static void store_all(void)
{
    while (lab.remember_count || lab.forget_stored_count) {
        uint32_t starts = lab.remember_count;
        uint32_t stops = lab.forget_stored_count;

        lab.remember_count = lab.forget_stored_count = 0;
        for (uint32_t i = 0; i < starts; i++)
            actors_remembered(lab.actors, lab.remember[i]);
        for (uint32_t i = 0; i < stops; i++)
            actors_forgotten(lab.actors, lab.forget_stored[i]);
        lab_run();
    }
}

static void begin(const char *id)
{
    lab_entity_tell(TYPE_M, id, 5);
    lab_run();
    store_all();
}

static void a_message_waits_for_the_start_to_be_stored_SHD078_SHD081(
    void **state)
{
    (void)state;

    lab_entity_tell(TYPE_M, "x", 5);
    lab_run();
    lab_entity_tell(TYPE_M, "x", 6);
    lab_run();
    lab_expect("");
    assert_int_equal(lab.remember_count, 1);
    assert_int_equal(actors_type_entities(lab.actors, TYPE_M), 0);
    store_all();
    lab_expect("x+ x.5 x.6 ");
    assert_int_equal(actors_type_entities(lab.actors, TYPE_M), 1);
    lab_entity_tell(TYPE_M, "x", 7);
    lab_run();
    lab_expect("x.7 ");
    assert_int_equal(lab.remember_count, 0);
}

/* Messages that arrive while its stop is stored start the next incarnation, which is stored
 * again. */
static void passivated_entities_are_forgotten_SHD080(void **state)
{
    (void)state;

    begin("x");
    lab_expect("x+ x.5 ");
    ENTITY_ORDER(TYPE_M, "x", { DO_PASSIVATE });
    lab_run();
    lab_expect("x.1 x- ");
    assert_int_equal(lab.forget_stored_count, 1);
    lab_entity_tell(TYPE_M, "x", 6);
    lab_run();
    lab_expect("");
    store_all();
    lab_expect("x+ x.6 ");
    ENTITY_ORDER(TYPE_M, "x", { DO_PASSIVATE });
    lab_run();
    store_all();
    lab_expect("x.1 x- ");
    assert_int_equal(lab_status().entities, 0);
    lab_advance(60000);
    lab_expect("");
}

/* Also if it passivates and then ends before the mark. */
static void an_entity_that_passivates_and_stops_is_forgotten(void **state)
{
    (void)state;

    begin("x");
    ENTITY_ORDER(TYPE_M, "x", { DO_PASSIVATE }, { DO_SELF_STOP });
    lab_run();
    assert_int_equal(lab.forget_stored_count, 1);
    store_all();
    assert_int_equal(lab_status().entities, 0);
}

/* After the back-off, or at once with a message, which cancels the back-off. */
static void an_entity_that_ends_by_itself_starts_again(void **state)
{
    (void)state;

    begin("x");
    lab_expect("x+ x.5 ");
    lab_entity_tell(TYPE_M, "x", 60);
    lab_run();
    lab_expect("x.60 ");
    lab_advance(ENTITY_RESTART_MS - 1);
    lab_expect("");
    lab_advance(2);
    lab_expect("x+ ");
    lab_entity_tell(TYPE_M, "x", 61);
    lab_run();
    lab_advance(ENTITY_RESTART_MS / 2);
    lab_expect("x.61 ");
    lab_entity_tell(TYPE_M, "x", 6);
    lab_run();
    lab_expect("x+ x.6 ");
    ENTITY_ORDER(TYPE_M, "x", { DO_PASSIVATE });
    lab_run();
    store_all();
    lab_expect("x.1 x- ");
    lab_advance(ENTITY_RESTART_MS);
    lab_expect("");
    assert_int_equal(lab_status().entities, 0);
    assert_int_equal(lab.remember_count, 0);
}

static void idle_entities_end_and_stay_remembered(void **state)
{
    (void)state;

    lab_entity_tell(TYPE_MI, "x", 5);
    lab_run();
    store_all();
    lab_expect("x+ x.5 ");
    for (int i = 0; i < 40; i++)
        lab_advance(100);
    lab_expect("x- ");
    assert_int_equal(lab_status().entities, 0);
    assert_int_equal(lab.forget_stored_count, 0);
}

/* Entities of the stored set start without a message, once. */
static void the_node_starts_remembered_entities(void **state)
{
    (void)state;

    actors_shard_start(lab.actors, TYPE_M, shard_of("x"));
    actors_entity_start(lab.actors, TYPE_M, shard_of("x"), slice_text("x"));
    actors_entity_start(lab.actors, TYPE_M, shard_of("x"), slice_text("x"));
    lab_run();
    lab_expect("x+ ");
    assert_int_equal(lab.remember_count, 0);
    lab_entity_tell(TYPE_M, "x", 5);
    lab_run();
    lab_expect("x.5 ");
}

/* A hand-off forgets nothing: messages that wait for the store are read here first, and it waits
 * for a pending stop. */
static void a_shard_can_stop_in_every_state(void **state)
{
    static const char *const ids[] = { "runs", "waits", "starts", "leaves",
                                       "comes" };
    (void)state;

    lab.route = false;
    for (int32_t i = -9; i < 10; i++)
        actors_shard_start(lab.actors, TYPE_M, i);
    begin("runs");
    begin("waits");
    begin("leaves");
    begin("comes");
    lab_entity_tell(TYPE_M, "waits", 60);
    ENTITY_ORDER(TYPE_M, "leaves", { DO_PASSIVATE });
    ENTITY_ORDER(TYPE_M, "comes", { DO_PASSIVATE });
    lab_run();
    lab_entity_tell(TYPE_M, "starts", 6);
    lab_entity_tell(TYPE_M, "comes", 7);
    lab_run();
    lab.log[0] = 0;
    for (uint32_t i = 0; i < 5; i++)
        actors_shard_stop(lab.actors, TYPE_M, shard_of(ids[i]), NEVER);
    lab_run();
    lab_expect("runs- ");
    assert_int_equal(lab_status().entities, 3);
    store_all();
    lab_expect("starts+ starts.6 starts- comes+ comes.7 comes- ");
    assert_int_equal(lab_status().entities, 0);
    assert_true(lab.empty_count > 0);
}

/* After the deadline or a fence, messages that wait for the store return, and late answers are
 * ignored. */
static void late_answers_are_ignored(void **state)
{
    uint64_t ignored;
    (void)state;

    lab.route = false;
    for (int32_t i = -9; i < 10; i++)
        actors_shard_start(lab.actors, TYPE_M, i);
    begin("a");
    ENTITY_ORDER(TYPE_M, "a", { DO_PASSIVATE });
    lab_entity_tell(TYPE_M, "b", 6);
    lab_entity_tell(TYPE_M, "c", 7);
    lab_run();
    actors_shard_stop(lab.actors, TYPE_M, shard_of("b"), 1);
    lab_advance(1);
    actors_shard_fenced(lab.actors, TYPE_M, shard_of("c"));
    actors_shard_fenced(lab.actors, TYPE_M, shard_of("a"));
    lab_run();
    assert_int_equal(lab_status().entities, 0);
    assert_int_equal(lab.out_count, 2);
    ignored = lab_status().ignored;
    store_all();
    assert_int_equal(lab_status().ignored, ignored + 3);
}

static void ask_to_start(const char *id)
{
    struct message *message = actors_entity_message(
        lab.actors, TYPE_M, slice_text(id), slice_of(NULL, 0));

    message->kind = MESSAGE_START;
    message->sender = (struct sherd_ref){ NODE + 1, 5 };
    message->entity.shard = shard_of(id);
    message->entity.has_shard = 1;
    actors_shard_start(lab.actors, TYPE_M, shard_of(id));
    actors_deliver_entities(lab.actors, &message, 1);
    lab_run();
}

/* It is acknowledged once its start is stored; an entity that ended permanently starts again. */
static void a_start_is_acknowledged_when_it_is_stored_SHT030(void **state)
{
    (void)state;

    ask_to_start("x");
    ask_to_start("x");
    assert_int_equal(lab.out_count, 0);
    store_all();
    lab_expect("x+ ");
    assert_int_equal(lab.out_count, 2);
    ask_to_start("x");
    assert_int_equal(lab.out_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(lab.out[i]->kind, MESSAGE_START_ACK);
        assert_true(lab.out[i]->to.node == NODE + 1);
        assert_true(slice_is(message_body(lab.out[i]), "x"));
        assert_true((int32_t)(uint32_t)lab.out[i]->ask == shard_of("x"));
    }
    ENTITY_ORDER(TYPE_M, "x", { DO_PASSIVATE });
    lab_run();
    ask_to_start("x");
    lab_expect("x.1 x- ");
    store_all();
    lab_expect("x+ ");
    assert_int_equal(lab.out_count, 4);
}

static void an_entity_that_cannot_be_remembered_refuses(void **state)
{
    (void)state;

    lab_entity_tell(TYPE_M, "x", 5);
    lab_run();
    actors_not_remembered(lab.actors, lab.remember[0]);
    lab_run();
    assert_int_equal(lab_status().undelivered[SHERD_REASON_BUFFER_FULL], 1);
    assert_int_equal(lab_status().entities, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, lab_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_message_waits_for_the_start_to_be_stored_SHD078_SHD081),
        TEST(passivated_entities_are_forgotten_SHD080),
        TEST(an_entity_that_passivates_and_stops_is_forgotten),
        TEST(an_entity_that_ends_by_itself_starts_again),
        TEST(idle_entities_end_and_stay_remembered),
        TEST(the_node_starts_remembered_entities),
        TEST(a_shard_can_stop_in_every_state),
        TEST(late_answers_are_ignored),
        TEST(a_start_is_acknowledged_when_it_is_stored_SHT030),
        TEST(an_entity_that_cannot_be_remembered_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
