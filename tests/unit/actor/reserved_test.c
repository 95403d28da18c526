/* Tests refs that are reserved before their actors start: messages to them wait. */
#include "lab.h"

static struct sherd_ref reserve(void)
{
    struct sherd_ref ref = actors_reserve(lab.actors);

    assert_false(ref_is_nobody(ref));
    return ref;
}

static bool spawn(struct sherd_ref ref, const char *name)
{
    return actors_spawn_reserved(lab.actors, ref.actor, slice_of(NULL, 0),
                                 &puppet, slice_text(name));
}

static void a_reserved_ref_counts_as_no_actor(void **state)
{
    struct sherd_ref ref = reserve();

    (void)state;
    assert_int_equal(lab_status().actors, 0);
    assert_int_equal(actors_alive(lab.actors), 0);
    assert_true(spawn(ref, "a"));
    assert_int_equal(lab_status().actors, 1);
    lab_run();
    lab_expect("a+ ");
}

static void messages_before_the_spawn_come_after_the_start(void **state)
{
    struct sherd_ref ref = reserve();

    (void)state;
    lab_tell(ref, 7);
    lab_tell(ref, 8);
    lab_run();
    lab_expect("");
    assert_true(spawn(ref, "a"));
    lab_tell(ref, 9);
    lab_run();
    lab_expect("a+ a.7 a.8 a.9 ");
    ORDER(ref, { DO_SHOW });
    lab_run();
    assert_true(ref_equal(lab.last, ref));
    lab_expect("a.1 ");
    lab_conserved();
}

static void an_ask_before_the_spawn_is_answered(void **state)
{
    struct sherd_ref ref = reserve();
    struct sherd_ref b = lab_spawn("b");

    (void)state;
    ORDER(b, { DO_ASK, .ref = ref, .msg = 3, .tag = 5, .ms = 1000 });
    lab_run();
    lab_expect("b+ b.1 ");
    assert_true(spawn(ref, "a"));
    lab_run();
    lab_expect("a+ a.3 ");
    lab_advance(1000);
    lab_expect("b!5:1:7 "); /* the time-out of a delivered message */
}

static void a_stop_before_the_spawn_ends_the_actor_after_its_start(void **state)
{
    struct sherd_ref ref = reserve();
    struct sherd_ref b = lab_spawn("b");

    (void)state;
    ORDER(b, { DO_WATCH, .ref = ref }, { DO_STOP, .ref = ref });
    lab_run();
    lab_expect("b+ b.1 ");
    assert_true(spawn(ref, "a"));
    lab_run();
    lab_expect("a+ a- b# ");
    assert_int_equal(lab_status().actors, 1);
}

static void a_refused_spawn_ends_the_messages_that_wait(void **state)
{
    struct sherd_behavior behavior = puppet;
    struct sherd_ref ref = reserve();
    struct sherd_ref b = lab_spawn("b");

    (void)state;
    ORDER(b, { DO_WATCH, .ref = ref },
          { DO_ASK, .ref = ref, .msg = 3, .tag = 5, .ms = 1000 });
    lab_run();
    lab_expect("b+ b.1 ");
    lab.quiet = true;
    for (size_t i = 0; i < ACTOR_BEHAVIORS_MAX; i++) {
        behavior.state_size = puppet.state_size + i;
        (void)actors_spawn(lab.actors, &behavior, slice_text("c"));
    }
    lab_run();
    lab.quiet = false;
    behavior.state_size++;
    assert_false(actors_spawn_reserved(lab.actors, ref.actor, slice_of(NULL, 0),
                                       &behavior, slice_text("a")));
    lab_run();
    lab_expect("b# b!5:16:5 "); /* the receiver stopped; the message was queued */
    lab_tell(ref, 9);
    assert_int_equal(lab_status().undelivered[SHERD_REASON_NO_SUCH_ACTOR], 1);
    lab_conserved();
}

/* As at the end of a node: nobody waits for an actor that is not spawned. */
static void reserved_refs_do_not_delay_the_stop_of_all(void **state)
{
    struct sherd_ref ref = reserve();
    struct sherd_ref other = reserve();

    (void)state;
    lab_tell(ref, 7);
    actors_stop_all(lab.actors, lab.now + 10 * MS);
    assert_int_equal(actors_alive(lab.actors), 0);
    assert_true(spawn(ref, "a")); /* its mail came late */
    lab_run();
    lab_expect("a+ a.7 a- ");
    lab_advance(20);
    assert_int_equal(actors_alive(lab.actors), 0);
    assert_false(lab_traced("did not stop in time"));
    lab_tell(other, 8); /* ends with the lane */
}

static void reserved_refs_end_at_the_limit_of_actors(void **state)
{
    (void)state;
    lab_close();
    lab_open_with((struct actors_settings){ .slots_max = 3 });
    for (int i = 0; i < 3; i++)
        (void)reserve();
    assert_true(ref_is_nobody(actors_reserve(lab.actors)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_reserved_ref_counts_as_no_actor,
                                        lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(
            messages_before_the_spawn_come_after_the_start, lab_setup,
            lab_teardown),
        cmocka_unit_test_setup_teardown(an_ask_before_the_spawn_is_answered,
                                        lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(
            a_stop_before_the_spawn_ends_the_actor_after_its_start, lab_setup,
            lab_teardown),
        cmocka_unit_test_setup_teardown(
            a_refused_spawn_ends_the_messages_that_wait, lab_setup,
            lab_teardown),
        cmocka_unit_test_setup_teardown(
            reserved_refs_do_not_delay_the_stop_of_all, lab_setup,
            lab_teardown),
        cmocka_unit_test_setup_teardown(
            reserved_refs_end_at_the_limit_of_actors, lab_setup, lab_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
