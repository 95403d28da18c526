/* Senders: which life of a node is taken, whatever order its handshakes come in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "artery/origin.h"

/* A life of the node at one address says hello. */
static bool learn_by(struct origins *origins, uint64_t uid, uint64_t order)
{
    struct handshake handshake = { .lanes = 1,
                                   .generation = 1,
                                   .order = order };

    assert_true(address_set(&handshake.from.address, "n", 1, 2552));
    handshake.from.uid = uid;
    return origins_learn(origins, STREAM_CONTROL, &handshake);
}

static bool learn(struct origins *origins, uint64_t uid)
{
    return learn_by(origins, uid, 0);
}

/* Connections come in the order of lives, and are read in any order. */
static void the_life_with_the_later_connection_stays(void **state)
{
    struct origins *origins = origins_new(NULL, NULL);

    (void)state;
    assert_true(learn_by(origins, 2, 7));
    assert_true(learn_by(origins, 2, 5));
    assert_false(learn_by(origins, 1, 6)); /* read late: it was the former */
    assert_true(origins_is_over(origins, 1));
    assert_true(learn_by(origins, 2, 7));
    assert_true(learn_by(origins, 3, 8));
    assert_false(learn_by(origins, 2, 7));
    origins_forget(origins, 2);
    assert_false(learn_by(origins, 2, 9)); /* who is gone stays so */
    assert_non_null(origins_find(origins, 3));
    origins_free(origins);
}

/* Whoever took a former life for the newer, as it did not know the order, is set right by the next connection. */
static void a_later_connection_brings_a_life_back(void **state)
{
    struct origins *origins = origins_new(NULL, NULL);

    (void)state;
    assert_true(learn(origins, 2));
    assert_true(learn_by(origins, 1, 6));
    assert_false(learn(origins, 2));
    assert_false(learn_by(origins, 2, 5));
    assert_true(learn_by(origins, 2, 7));
    assert_false(learn_by(origins, 1, 6));
    assert_null(origins_find(origins, 1));
    origins_free(origins);
}

static void a_new_life_replaces_the_former(void **state)
{
    struct origins *origins = origins_new(NULL, NULL);

    (void)state;
    assert_true(learn(origins, 1));
    assert_true(learn(origins, 2));
    assert_false(learn(origins, 1));
    assert_true(origins_is_over(origins, 1));
    origins_forget(origins, 1);
    assert_true(learn(origins, 2));
    assert_non_null(origins_find(origins, 2));
    assert_null(origins_find(origins, 1));
    origins_forget(origins, 2);
    assert_false(learn(origins, 1)); /* it does not come back */
    origins_free(origins);
}

/* The former life was never heard of when the next one said hello. */
static void a_late_hello_of_a_former_life_ends_with_it(void **state)
{
    struct origins *origins = origins_new(NULL, NULL);

    (void)state;
    assert_true(learn(origins, 2));
    assert_true(learn(origins, 1)); /* nobody can tell yet which was first */
    assert_false(learn(origins, 2));
    origins_forget(origins, 1);
    assert_true(learn(origins, 2));
    assert_false(learn(origins, 1));
    origins_free(origins);
}

/* Of three lives the last was heard of first. */
static void late_hellos_of_former_lives_end_with_them(void **state)
{
    struct origins *origins = origins_new(NULL, NULL);

    (void)state;
    assert_true(learn(origins, 3));
    assert_true(learn(origins, 2));
    assert_true(learn(origins, 1));
    origins_forget(origins, 1);
    origins_forget(origins, 2);
    assert_true(learn(origins, 3));
    assert_false(learn(origins, 1));
    assert_false(learn(origins, 2));
    origins_free(origins);
}

static void who_is_gone_unheard_is_not_taken_any_more(void **state)
{
    struct origins *origins = origins_new(NULL, NULL);

    (void)state;
    assert_true(learn(origins, 2));
    origins_forget(origins, 1);
    assert_false(learn(origins, 1));
    assert_true(learn(origins, 2));
    origins_free(origins);
}

/* Who has left is heard until he is forgotten, and makes room for whoever comes to his address. */
static void who_has_left_has_a_last_word(void **state)
{
    struct origins *origins = origins_new(NULL, NULL);

    (void)state;
    assert_true(learn(origins, 2));
    assert_true(learn(origins, 1)); /* the former life, read late */
    origins_left(origins, 1);
    assert_non_null(origins_find(origins, 1));
    assert_true(learn(origins, 1));
    assert_true(learn(origins, 2));
    assert_false(learn(origins, 1));
    origins_left(origins, 2);
    assert_true(learn(origins, 3));
    origins_forget(origins, 3);
    assert_false(learn(origins, 2)); /* it has not been replaced, it is gone */
    origins_left(origins, 4); /* nobody has heard of it */
    assert_true(learn(origins, 5));
    origins_left(origins, 5);
    origins_forget(origins, 5);
    assert_false(learn(origins, 5));
    origins_free(origins);
}

static bool learn_connection(struct origins *origins, uint32_t lane,
                             uint64_t generation)
{
    struct handshake handshake = { .lanes = 4,
                                   .capabilities = 1,
                                   .lane = lane,
                                   .generation = generation };

    assert_true(address_set(&handshake.from.address, "n", 1, 2552));
    handshake.from.uid = 1;
    return origins_learn(origins, STREAM_ORDINARY, &handshake);
}

static void each_lane_has_its_newest_connection(void **state)
{
    struct origins *origins = origins_new(NULL, NULL);

    (void)state;
    assert_true(learn_connection(origins, 0, 7));
    assert_true(learn_connection(origins, 3, 5));
    assert_true(learn_connection(origins, 1, 2));
    assert_false(learn_connection(origins, 0, 6));
    assert_true(learn_connection(origins, 0, 8));
    assert_true(origins_current(origins, 1, STREAM_ORDINARY, 3, 5));
    assert_false(origins_current(origins, 1, STREAM_ORDINARY, 3, 4));
    assert_false(origins_current(origins, 1, STREAM_ORDINARY, 0, 7));
    assert_true(origins_current(origins, 1, STREAM_ORDINARY, 2, 1)); /* none was heard of */
    assert_true(origins_current(origins, 1, STREAM_CONTROL, 0, 1));
    origins_free(origins);
}

static void the_first_connection_may_be_a_later_lanes(void **state)
{
    struct origins *origins = origins_new(NULL, NULL);

    (void)state;
    assert_true(learn_connection(origins, 2, 9));
    assert_true(learn_connection(origins, 0, 3));
    assert_false(origins_current(origins, 1, STREAM_ORDINARY, 2, 8));
    assert_false(origins_current(origins, 1, STREAM_ORDINARY, 0, 2));
    assert_true(origins_current(origins, 1, STREAM_ORDINARY, 0, 3));
    origins_free(origins);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_life_with_the_later_connection_stays),
        cmocka_unit_test(a_later_connection_brings_a_life_back),
        cmocka_unit_test(a_new_life_replaces_the_former),
        cmocka_unit_test(a_late_hello_of_a_former_life_ends_with_it),
        cmocka_unit_test(late_hellos_of_former_lives_end_with_them),
        cmocka_unit_test(who_is_gone_unheard_is_not_taken_any_more),
        cmocka_unit_test(who_has_left_has_a_last_word),
        cmocka_unit_test(each_lane_has_its_newest_connection),
        cmocka_unit_test(the_first_connection_may_be_a_later_lanes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
