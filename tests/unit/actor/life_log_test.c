/* Checks the lines at level debug of the starts and ends of entities. */
#include "lab.h"

static void a_start_names_the_replayed_events_and_the_time(void **state)
{
    (void)state;

    lab_entity_tell(TYPE_P, "x", 5);
    lab_run();
    actors_replay_event(lab.actors, lab.wants[0], 1,
                        (struct entity_event){ .type = 9, .payload = slice_text("e") });
    actors_replay_event(lab.actors, lab.wants[0], 2,
                        (struct entity_event){ .type = 9, .payload = slice_text("e") });
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

/* Starts a persistent entity and returns it. */
static uint64_t alive(const char *id)
{
    uint64_t actor;

    lab_entity_tell(TYPE_P, id, 5);
    lab_run();
    actor = lab.wants[0];
    lab_recover_all();
    lab_run();
    return actor;
}

/* True if one line has both. */
static bool one_line_has(const char *one, const char *two)
{
    struct trace_line line;
    bool found = false;

    while (trace_next(lab.trace, &line))
        found = found || (strstr(line.text, one) && strstr(line.text, two));
    return found;
}

static void an_end_by_the_journal_names_its_cause(void **state)
{
    (void)state;

    actors_store_failed(lab.actors, alive("x"), SHERD_REASON_NOT_STORED);
    assert_true(lab_traced("entity stopped cause=not-stored type=P "));
    actors_store_failed(lab.actors, alive("y"), SHERD_REASON_FENCED);
    assert_true(lab_traced("entity stopped cause=fenced type=P "));
}

static void stops_by_force(void)
{
    actors_stop_all(lab.actors, lab.now + SECOND);
    lab_run();
    lab_advance(1000);
}

static void an_end_by_force_names_its_cause(void **state)
{
    (void)state;

    lab_entity_tell(TYPE_S, "z", 5);
    lab_run();
    stops_by_force();
    assert_true(lab_traced("entity stopped cause=stop-timeout type=S "));
}

/* The stop message gets no SHERD_STOP. */
static void an_end_by_force_names_the_remedy_for_the_handler(void **state)
{
    (void)state;

    lab_entity_tell(TYPE_S, "z", 5);
    lab_run();
    stops_by_force();
    assert_true(one_line_has("entities did not stop in time, stopped by force type=S ",
                             " hint=\"receive must return SHERD_STOP soon after the stop "
                             "message\""));
}

static void an_end_by_force_names_the_remedy_for_the_journal(void **state)
{
    (void)state;

    (void)alive("x");
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 });
    lab_run();
    stops_by_force();
    assert_true(one_line_has("entities did not stop in time, stopped by force type=P ",
                             " hint=\"the journal is slow: check its database and disk\""));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_start_names_the_replayed_events_and_the_time),
        TEST(a_passivation_names_its_cause),
        TEST(an_end_names_its_cause),
        TEST(an_end_by_the_journal_names_its_cause),
        TEST(an_end_by_force_names_its_cause),
        TEST(an_end_by_force_names_the_remedy_for_the_handler),
        TEST(an_end_by_force_names_the_remedy_for_the_journal),
    };

    return cmocka_run_group_tests_name("life log", tests, NULL, NULL);
}
