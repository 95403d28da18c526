/* Tests the class of each SQLSTATE in each phase of a statement. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "postgres/error_class.h"

static void an_unknown_state_is_unknown_once_it_was_sent(void **state)
{
    (void)state;
    assert_int_equal(pg_classify("ABCDE", PG_NOT_SENT), PG_TRANSIENT);
    assert_int_equal(pg_classify("ABCDE", PG_ANSWERED), PG_UNKNOWN);
    assert_int_equal(pg_classify("ABCDE", PG_CUT_OFF), PG_UNKNOWN);
    assert_int_equal(pg_classify("", PG_CUT_OFF), PG_UNKNOWN);
    assert_int_equal(pg_classify(NULL, PG_CUT_OFF), PG_UNKNOWN);
    assert_int_equal(pg_classify("", PG_NOT_SENT), PG_TRANSIENT);
}

static void a_lost_connection_is_never_a_known_failure(void **state)
{
    static const char *const states[] = { "40001", "40P01", "23505", "53100", "42501",
                                          "57014", "25006", "XX001", "57P03", "55P03" };
    (void)state;

    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        assert_int_equal(pg_classify(states[i], PG_CUT_OFF), PG_UNKNOWN);
}

static void a_rolled_back_statement_is_transient(void **state)
{
    static const char *const states[] = { "40001", "40P01", "55P03", "57014", "53300", "57P03",
                                          "25P02", "25P03", "40000" };
    (void)state;

    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        assert_int_equal(pg_classify(states[i], PG_ANSWERED), PG_TRANSIENT);
}

static void an_end_of_the_session_is_unknown(void **state)
{
    (void)state;
    assert_int_equal(pg_classify("57P01", PG_ANSWERED), PG_UNKNOWN);
    assert_int_equal(pg_classify("57P02", PG_ANSWERED), PG_UNKNOWN);
    assert_int_equal(pg_classify("40003", PG_ANSWERED), PG_UNKNOWN);
    assert_int_equal(pg_classify("08006", PG_ANSWERED), PG_UNKNOWN);
    assert_int_equal(pg_classify("08006", PG_NOT_SENT), PG_TRANSIENT);
    assert_int_equal(pg_classify("57P01", PG_NOT_SENT), PG_TRANSIENT);
}

static void a_commit_that_did_not_wait_for_a_standby_is_unknown(void **state)
{
    (void)state;
    assert_int_equal(pg_classify("01000", PG_WARNED), PG_UNKNOWN);
    assert_int_equal(pg_classify("57P01", PG_WARNED), PG_UNKNOWN);
    assert_int_equal(pg_classify("25P01", PG_WARNED), PG_NONE);
    assert_int_equal(pg_classify("00000", PG_WARNED), PG_NONE);
    assert_int_equal(pg_classify(NULL, PG_WARNED), PG_NONE);
}

static void each_permanent_error_has_its_class(void **state)
{
    (void)state;
    assert_int_equal(pg_classify("28P01", PG_NOT_SENT), PG_REFUSED);
    assert_int_equal(pg_classify("3D000", PG_NOT_SENT), PG_REFUSED);
    assert_int_equal(pg_classify("42501", PG_ANSWERED), PG_REFUSED);
    assert_int_equal(pg_classify("42P01", PG_ANSWERED), PG_REFUSED);
    assert_int_equal(pg_classify("42P05", PG_ANSWERED), PG_STALE);
    assert_int_equal(pg_classify("26000", PG_ANSWERED), PG_STALE);
    assert_int_equal(pg_classify("0A000", PG_ANSWERED), PG_STALE);
    assert_int_equal(pg_classify("23505", PG_ANSWERED), PG_CONFLICT);
    assert_int_equal(pg_classify("23514", PG_ANSWERED), PG_REFUSED);
    assert_int_equal(pg_classify("25006", PG_ANSWERED), PG_READ_ONLY);
    assert_int_equal(pg_classify("53100", PG_ANSWERED), PG_FULL);
    assert_int_equal(pg_classify("58030", PG_ANSWERED), PG_FULL);
    assert_int_equal(pg_classify("XX001", PG_ANSWERED), PG_CORRUPT);
    assert_int_equal(pg_classify("22021", PG_ANSWERED), PG_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_state_is_unknown_once_it_was_sent),
        cmocka_unit_test(a_lost_connection_is_never_a_known_failure),
        cmocka_unit_test(a_rolled_back_statement_is_transient),
        cmocka_unit_test(an_end_of_the_session_is_unknown),
        cmocka_unit_test(a_commit_that_did_not_wait_for_a_standby_is_unknown),
        cmocka_unit_test(each_permanent_error_has_its_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
