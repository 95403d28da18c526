/* Checks the lines at level debug of the starts and ends of entities. */
#include "lab.h"

static void a_start_names_the_replayed_events_and_the_time(void **state)
{
    (void)state;

    lab_entity_tell(TYPE_P, "x", 5);
    lab_run();
    actors_replay_event(lab.actors, lab.wants[0], 1, 9, slice_text("e"));
    actors_replay_event(lab.actors, lab.wants[0], 2, 9, slice_text("e"));
    lab_advance(30);
    actors_recovered(lab.actors, lab.wants[0], 2);
    lab_run();
    assert_true(lab_traced("entity started events_replayed=2 ms=30 type=P "));
    lab_entity_tell(TYPE_A, "y", 5);
    lab_run();
    assert_true(lab_traced("entity started type=A "));
}

static void a_passivation_names_its_cause(void **state)
{
    (void)state;

    ENTITY_ORDER(TYPE_A, "x", { DO_PASSIVATE });
    lab_run();
    assert_true(lab_traced("entity passivated cause=requested type=A "));
    lab_entity_tell(TYPE_IDLE, "y", 5);
    lab_run();
    for (int i = 0; i < 40; i++)
        lab_advance(50);
    assert_true(lab_traced("entity passivated cause=idle type=I "));
}

static void an_end_names_its_cause(void **state)
{
    (void)state;

    ENTITY_ORDER(TYPE_A, "x", { DO_SELF_STOP });
    lab_run();
    assert_true(lab_traced("entity stopped cause=by-itself type=A "));
    ENTITY_ORDER(TYPE_A, "x", { DO_FAIL });
    lab_run();
    assert_true(lab_traced("entity stopped cause=failed type=A "));
    lab_entity_tell(TYPE_P, "p", 5);
    lab_run();
    actors_recovery_failed(lab.actors, lab.wants[0], "damaged");
    assert_true(lab_traced("entity stopped cause=recovery-failed type=P "));
    lab_entity_tell(TYPE_A, "z", 5);
    lab_run();
    actors_stop_all(lab.actors, lab.now + SECOND);
    lab_run();
    assert_true(lab_traced("entity stopped cause=shard-stops type=A "));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_start_names_the_replayed_events_and_the_time),
        TEST(a_passivation_names_its_cause),
        TEST(an_end_names_its_cause),
    };

    return cmocka_run_group_tests_name("life log", tests, NULL, NULL);
}
