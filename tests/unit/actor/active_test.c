/* Checks limits of active entities on a lane: which are passivated, when, and what happens to their
 * messages. */
#include "lab.h"

#include <stdio.h>

#include "actor/passivation/strategy.h"

#define SAME 40 /* ids of one shard */

static struct passivation_settings recent = { .main = { .policy = PASSIVATION_LEAST_RECENT } };
static struct passivation_settings frequent = { .main = { .policy = PASSIVATION_LEAST_FREQUENT } };
static struct passivation_settings newest = { .main = { .policy = PASSIVATION_MOST_RECENT } };
static struct passivation_settings filtered = {
    .main = { .policy = PASSIVATION_LEAST_RECENT },
    .has_filter = true,
    .filter = { 4, 4, 4, 10 }
};
static char same[SAME][8]; /* k0, k7, ... */

static int find_ids(void **state)
{
    uint32_t count = 0;
    (void)state;

    for (uint32_t i = 0; count < SAME; i++) {
        (void)snprintf(same[count], sizeof same[count], "k%u", i);
        count += hash_shard(slice_text(same[count]), 10) == 0;
    }
    return 0;
}

static void limit(uint16_t type, uint32_t entities, uint64_t bytes)
{
    actors_set_active_limit(lab.actors, type, (struct active_limit){ entities, bytes });
    lab_run();
}

static void limited(uint16_t type, const struct passivation_settings *settings,
                    uint32_t entities)
{
    actors_set_passivation(lab.actors, type, settings);
    limit(type, entities, UINT64_MAX);
}

static void tell(uint32_t which)
{
    lab_entity_tell(TYPE_A, same[which], 5);
    lab_run();
}

/* Compares with "0+ 0.5 1-": numbers stand for ids of one shard. */
static void expect(const char *text)
{
    char wanted[512] = "";

    for (const char *at = text; *at;) {
        unsigned which;
        char rest[32];
        int size = 0;

        assert_int_equal(sscanf(at, "%u%31s %n", &which, rest, &size), 2);
        (void)snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "%s%s ",
                       same[which], rest);
        at += size;
    }
    lab_expect(wanted);
}

static void the_least_recent_entity_makes_room(void **state)
{
    (void)state;
    limited(TYPE_A, &recent, 2);
    tell(0);
    tell(1);
    tell(0);
    expect("0+ 0.5 1+ 1.5 0.5");
    tell(2);
    expect("2+ 2.5 1-");
    assert_true(lab_traced("entity passivated cause=limit"));
    tell(1);
    expect("1+ 1.5 0-");
    assert_int_equal(lab_status().entities, 2);
    assert_int_equal(lab_status().surplus, 2);
}

static void each_shard_has_its_own_limit(void **state)
{
    (void)state;
    limited(TYPE_A, &recent, 1);
    for (uint32_t i = 0; i < 100; i++) {
        char id[8];

        (void)snprintf(id, sizeof id, "x%u", i);
        lab_entity_tell(TYPE_A, id, 5);
        lab_run();
    }
    assert_int_equal(lab_status().entities, 10); /* shards */
}

static void messages_to_a_stopping_entity_start_it_again(void **state)
{
    (void)state;
    limited(TYPE_A, &recent, 1);
    tell(0);
    lab_entity_tell(TYPE_A, same[1], 6); /* entity 0 gets its mark */
    lab_entity_tell(TYPE_A, same[0], 7);
    lab_entity_tell(TYPE_A, same[0], 8);
    lab_run();
    /* The second incarnation is active again, so entity 1 has to stop. */
    expect("0+ 0.5 1+ 1.6 0- 0+ 0.7 0.8 1-");
    assert_int_equal(lab_status().entities, 1);
}

static void messages_before_the_mark_are_handled_first(void **state)
{
    (void)state;
    limited(TYPE_A, &recent, 1);
    lab_entity_tell(TYPE_A, same[0], 6);
    lab_entity_tell(TYPE_A, same[0], 7);
    lab_entity_tell(TYPE_A, same[1], 8);
    lab_run();
    expect("0+ 0.6 0.7 0- 1+ 1.8");
}

static void a_refused_entity_handles_its_message_and_stops(void **state)
{
    (void)state;
    limited(TYPE_A, &filtered, 1);
    tell(0);
    tell(0);
    tell(1);
    expect("0+ 0.5 0.5 1+ 1.5 1-");
    tell(1);
    tell(1);
    expect("1+ 1.5 1- 1+ 1.5 0-");
    assert_int_equal(lab_status().entities, 1);
}

static void a_lower_limit_passivates_at_once(void **state)
{
    (void)state;
    limited(TYPE_A, &frequent, 5);
    for (uint32_t i = 0; i < 5; i++)
        for (uint32_t k = 0; k < 5 - i; k++)
            tell(i);
    lab.log[0] = 0;
    limit(TYPE_A, 3, UINT64_MAX);
    expect("4- 3-");
    limit(TYPE_A, 0, UINT64_MAX);
    expect("2- 1- 0-");
    limit(TYPE_A, 4, UINT64_MAX);
    for (uint32_t i = 0; i < 5; i++)
        tell(i);
    assert_int_equal(lab_status().entities, 4);
}

static void a_late_limit_counts_running_entities(void **state)
{
    (void)state;
    actors_set_passivation(lab.actors, TYPE_A, &recent);
    for (uint32_t i = 0; i < 10; i++)
        tell(i);
    assert_int_equal(lab_status().entities, 10);
    limit(TYPE_A, 4, UINT64_MAX);
    assert_int_equal(lab_status().entities, 4);
    limit(TYPE_A, UINT32_MAX, UINT64_MAX);
    for (uint32_t i = 0; i < 20; i++)
        tell(i);
    assert_int_equal(lab_status().entities, 20);
    limit(TYPE_A, 7, UINT64_MAX);
    assert_int_equal(lab_status().entities, 7);
}

static void entities_that_end_otherwise_make_room(void **state)
{
    (void)state;
    limited(TYPE_A, &recent, 2);
    tell(0);
    ENTITY_ORDER(TYPE_A, same[1], { DO_SELF_STOP });
    lab_run();
    ENTITY_ORDER(TYPE_A, same[2], { DO_PASSIVATE });
    lab_run();
    ENTITY_ORDER(TYPE_A, same[3], { DO_FAIL });
    lab_run();
    tell(4);
    assert_int_equal(lab_status().entities, 2);
    assert_int_equal(lab_status().surplus, 0);
}

static void a_recovering_entity_can_be_chosen(void **state)
{
    (void)state;
    limited(TYPE_P, &recent, 1);
    lab_entity_tell(TYPE_P, same[0], 6);
    lab_entity_tell(TYPE_P, same[1], 7);
    lab_run();
    lab_recover_all();
    lab_run();
    expect("0+ 0.6 0- 1+ 1.7");
    assert_int_equal(lab_status().entities, 1);
}

static void a_stop_message_lets_the_entity_finish(void **state)
{
    (void)state;
    limited(TYPE_S, &recent, 1);
    lab_entity_tell(TYPE_S, same[0], 5);
    lab_entity_tell(TYPE_S, same[1], 5);
    lab_run();
    expect("0+ 0.5 0.99 1+ 1.5");
    assert_int_equal(lab_status().entities, 2); /* the stopping one counts no more */
    lab_entity_tell(TYPE_S, same[2], 5);
    lab_run();
    expect("2+ 2.5 1.99");
}

static void a_hand_off_ends_the_limit_of_its_shard(void **state)
{
    (void)state;
    limited(TYPE_A, &recent, 2);
    tell(0);
    tell(1);
    lab_expect(lab.log);
    actors_shard_stop(lab.actors, TYPE_A, 0, lab.now + SECOND);
    limit(TYPE_A, 1, UINT64_MAX);
    assert_int_equal(lab_status().entities, 0);
    tell(2); /* the shard starts here again */
    tell(3);
    assert_int_equal(lab_status().entities, 1);
    actors_shard_fenced(lab.actors, TYPE_A, 0);
    assert_int_equal(lab_status().entities, 0);
}

static void idle_entities_leave_the_limit(void **state)
{
    (void)state;
    limited(TYPE_IDLE, &recent, 2);
    lab_entity_tell(TYPE_IDLE, same[0], 5);
    lab_entity_tell(TYPE_IDLE, same[1], 5);
    lab_run();
    lab_advance(3000);
    for (uint32_t i = 0; i < 10; i++)
        lab_advance(200);
    assert_int_equal(lab_status().entities, 0);
    for (uint32_t i = 2; i < 4; i++)
        lab_entity_tell(TYPE_IDLE, same[i], 5);
    lab_run();
    assert_int_equal(lab_status().entities, 2);
    assert_int_equal(lab_status().surplus, 0);
}

/* Three entities may be active; the one that gets messages stays. */
static void the_idle_ones_end(void **state)
{
    limited(TYPE_IDLE, *state, 3);
    for (uint32_t i = 0; i < 3; i++)
        lab_entity_tell(TYPE_IDLE, same[i], 5);
    lab_run();
    expect("0+ 0.5 1+ 1.5 2+ 2.5");
    for (uint32_t i = 0; i < 9; i++) {
        lab_advance(100);
        lab_entity_tell(TYPE_IDLE, same[1], 5);
        lab_run();
        expect("1.5");
    }
    for (uint32_t i = 0; i < 5; i++)
        lab_advance(100);
    expect("0- 2-");
    for (uint32_t i = 0; i < 10; i++)
        lab_advance(100);
    expect("1-");
}

static void remembered_types_have_no_limit(void **state)
{
    struct sherd_entity_type type = { .name = "R", .behavior = puppet, .shards = 10,
                                      .remember = 1 };
    (void)state;

    actors_add_type(lab.actors, 4, &type);
    actors_set_passivation(lab.actors, 4, &recent);
    limit(4, 1, UINT64_MAX);
    for (uint32_t i = 0; i < 5; i++) {
        lab_entity_tell(4, same[i], 5);
        lab_run();
        for (uint32_t k = 0; k < lab.remember_count; k++)
            actors_remembered(lab.actors, lab.remember[k]);
        lab.remember_count = 0;
        lab_run();
    }
    assert_int_equal(lab_status().entities, 5);
}

/* --- bytes --- */

#define STATE puppet.state_size

static void a_limit_of_bytes_counts_states(void **state)
{
    (void)state;
    actors_set_passivation(lab.actors, TYPE_A, &recent);
    limit(TYPE_A, UINT32_MAX, 3 * STATE);
    for (uint32_t i = 0; i < 5; i++)
        tell(i);
    assert_int_equal(lab_status().entities, 3);
    limit(TYPE_A, UINT32_MAX, STATE);
    assert_int_equal(lab_status().entities, 1);
    limit(TYPE_A, UINT32_MAX, 0); /* the one that is used stays */
    assert_int_equal(lab_status().entities, 0);
    tell(7);
    assert_int_equal(lab_status().entities, 1);
    tell(8);
    assert_int_equal(lab_status().entities, 1);
}

static void a_limit_of_bytes_counts_what_entities_report(void **state)
{
    (void)state;
    actors_set_passivation(lab.actors, TYPE_A, &recent);
    limit(TYPE_A, UINT32_MAX, 10 * 1024);
    for (uint32_t i = 0; i < 5; i++)
        tell(i);
    assert_int_equal(lab_status().entities, 5);
    ENTITY_ORDER(TYPE_A, same[2], { DO_BYTES, .ms = 6000 });
    lab_run();
    assert_int_equal(lab_status().entities, 5);
    ENTITY_ORDER(TYPE_A, same[3], { DO_BYTES, .ms = 7000 });
    lab_run();
    assert_int_equal(lab_status().entities, 1); /* 2 holds most of it and goes last */
    ENTITY_ORDER(TYPE_A, same[3], { DO_BYTES, .ms = 0 });
    lab_run();
    for (uint32_t i = 0; i < 5; i++)
        tell(i);
    assert_int_equal(lab_status().entities, 5);
}

static void a_limit_of_bytes_counts_mailboxes(void **state)
{
    (void)state;
    actors_set_passivation(lab.actors, TYPE_A, &recent);
    limit(TYPE_A, UINT32_MAX, 2000 + 3 * STATE);
    for (uint32_t i = 0; i < 3; i++)
        tell(i);
    assert_int_equal(lab_status().entities, 3);
    for (uint32_t i = 0; i < 5; i++) {
        static const char body[500];
        struct message *message = actors_entity_message(
            lab.actors, TYPE_A, slice_text(same[2]), slice_of(body, sizeof body));

        message->msg = 5;
        actors_deliver_entities(lab.actors, &message, 1);
    }
    lab_run();
    assert_int_equal(lab_status().entities, 1); /* 2500 bytes were too much */
    for (uint32_t i = 0; i < 3; i++)
        tell(i);
    assert_int_equal(lab_status().entities, 3); /* the mailbox is empty again */
}

/* --- interval --- */

static void idle_entities_stay_until_the_next_look(void **state)
{
    (void)state;
    lab_close();
    lab_open_with((struct actors_settings){ .idle_interval = 10 * SECOND });
    lab_advance(1);
    lab_entity_tell(TYPE_IDLE, "x", 5);
    lab_run();
    for (uint32_t i = 0; i < 90; i++)
        lab_advance(100);
    assert_int_equal(lab_status().entities, 1); /* idle for 9 s, the time is 1 s */
    for (uint32_t i = 0; i < 25; i++)
        lab_advance(100);
    assert_int_equal(lab_status().entities, 0);
}

/* Akka looks for idle entities when half of their time has passed again. */
static void idle_entities_end_within_half_of_their_time_more(
    void **state)
{
    static const uint32_t seconds[] = { 120, 180, 42 };
    (void)state;

    for (uint16_t i = 0; i < 3; i++) {
        struct sherd_entity_type type = { .name = "T", .behavior = puppet, .shards = 10,
                                          .idle_ms = seconds[i] * 1000 };

        type.name = (const char *[]){ "T", "U", "V" }[i];
        actors_add_type(lab.actors, 4 + i, &type);
        lab_entity_tell(4 + i, "x", 5);
        lab_run();
        for (uint32_t second = 1; second < seconds[i]; second++)
            lab_advance(1000);
        lab_expect("x+ x.5 ");
        for (uint32_t second = 0; second <= seconds[i] / 2; second++)
            lab_advance(1000);
        lab_expect("x- ");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
/* lab_setup leaves the state. */
#define STRATEGY(name, settings) { #name, the_idle_ones_end, lab_setup, lab_teardown, settings }

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_least_recent_entity_makes_room),
        TEST(each_shard_has_its_own_limit),
        TEST(messages_to_a_stopping_entity_start_it_again),
        TEST(messages_before_the_mark_are_handled_first),
        TEST(a_refused_entity_handles_its_message_and_stops),
        TEST(a_lower_limit_passivates_at_once),
        TEST(a_late_limit_counts_running_entities),
        TEST(entities_that_end_otherwise_make_room),
        TEST(a_recovering_entity_can_be_chosen),
        TEST(a_stop_message_lets_the_entity_finish),
        TEST(a_hand_off_ends_the_limit_of_its_shard),
        TEST(idle_entities_leave_the_limit),
        STRATEGY(idle_entities_end_under_the_default_strategy_SHD151,
                 (void *)&passivation_default),
        STRATEGY(idle_entities_end_under_least_frequently_used_SHD162, &frequent),
        STRATEGY(idle_entities_end_under_least_recently_used_SHD166, &recent),
        STRATEGY(idle_entities_end_under_most_recently_used_SHD170, &newest),
        TEST(remembered_types_have_no_limit),
        TEST(a_limit_of_bytes_counts_states),
        TEST(a_limit_of_bytes_counts_what_entities_report),
        TEST(a_limit_of_bytes_counts_mailboxes),
        TEST(idle_entities_stay_until_the_next_look),
        TEST(idle_entities_end_within_half_of_their_time_more),
    };

    return cmocka_run_group_tests(tests, find_ids, NULL);
}
