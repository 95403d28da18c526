/* Checks which incarnation of a sender is accepted, in any order of handshakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "artery/origin.h"

/* Learns a handshake of an incarnation at one address. */
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

/* Connections come in the order of incarnations, and are read in any order. */
static void the_incarnation_with_the_later_connection_stays(void **state)
{
    struct origins *origins = origins_new(NULL, NULL);

    (void)state;
    assert_true(learn_by(origins, 2, 7));
    assert_true(learn_by(origins, 2, 5));
    assert_false(learn_by(origins, 1, 6)); /* read late: it is the older one */
    assert_true(origins_is_over(origins, 1));
    assert_true(learn_by(origins, 2, 7));
    assert_true(learn_by(origins, 3, 8));
    assert_false(learn_by(origins, 2, 7));
    origins_forget(origins, 2);
    assert_false(learn_by(origins, 2, 9)); /* a removed incarnation stays removed */
    assert_non_null(origins_find(origins, 3));
    origins_free(origins);
}

/* If the order is unknown, an older incarnation counts as the newer one until the next connection
 * corrects it. */
static void a_later_connection_restores_an_incarnation(void **state)
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

static void a_new_incarnation_replaces_the_older_one(void **state)
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
    assert_false(learn(origins, 1)); /* it does not return */
    origins_free(origins);
}

/* The older incarnation's handshake arrives after the newer one's. */
static void a_late_handshake_of_an_older_incarnation_ends_with_it(void **state)
{
    struct origins *origins = origins_new(NULL, NULL);

    (void)state;
    assert_true(learn(origins, 2));
    assert_true(learn(origins, 1)); /* it is still open which was first */
    assert_false(learn(origins, 2));
    origins_forget(origins, 1);
    assert_true(learn(origins, 2));
    assert_false(learn(origins, 1));
    origins_free(origins);
}

/* The newest of three incarnations is heard first. */
static void late_handshakes_of_older_incarnations_end_with_them(void **state)
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

static void an_unknown_forgotten_incarnation_is_refused(void **state)
{
    struct origins *origins = origins_new(NULL, NULL);

    (void)state;
    assert_true(learn(origins, 2));
    origins_forget(origins, 1);
    assert_false(learn(origins, 1));
    assert_true(learn(origins, 2));
    origins_free(origins);
}

/* The last messages of an incarnation that has left are accepted until it is forgotten or another
 * one is at its address. */
static void an_incarnation_that_left_may_send_last_messages(void **state)
{
    struct origins *origins = origins_new(NULL, NULL);

    (void)state;
    assert_true(learn(origins, 2));
    assert_true(learn(origins, 1)); /* the older incarnation, read late */
    origins_left(origins, 1);
    assert_non_null(origins_find(origins, 1));
    assert_true(learn(origins, 1));
    assert_true(learn(origins, 2));
    assert_false(learn(origins, 1));
    origins_left(origins, 2);
    assert_true(learn(origins, 3));
    origins_forget(origins, 3);
    assert_false(learn(origins, 2)); /* it was not replaced, it is gone */
    origins_left(origins, 4); /* it was never heard of */
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

static void each_lane_keeps_its_newest_connection(void **state)
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
    assert_true(origins_current(origins, 1, STREAM_ORDINARY, 2, 1)); /* none so far */
    assert_true(origins_current(origins, 1, STREAM_CONTROL, 0, 1));
    origins_free(origins);
}

static void the_first_connection_may_come_from_a_later_lane(void **state)
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
        cmocka_unit_test(the_incarnation_with_the_later_connection_stays),
        cmocka_unit_test(a_later_connection_restores_an_incarnation),
        cmocka_unit_test(a_new_incarnation_replaces_the_older_one),
        cmocka_unit_test(a_late_handshake_of_an_older_incarnation_ends_with_it),
        cmocka_unit_test(late_handshakes_of_older_incarnations_end_with_them),
        cmocka_unit_test(an_unknown_forgotten_incarnation_is_refused),
        cmocka_unit_test(an_incarnation_that_left_may_send_last_messages),
        cmocka_unit_test(each_lane_keeps_its_newest_connection),
        cmocka_unit_test(the_first_connection_may_come_from_a_later_lane),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
