/* Tests check_kvstore with correct histories and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/check/check_kvstore.h"
#include "sim/world/verdict.h"

static struct {
    struct verdict *verdict;
    struct check_kvstore *check;
    uint64_t now;
    uint32_t key;
} at;

static int setup(void **state)
{
    (void)state;
    at.verdict = verdict_new(1, &at.now);
    at.check = check_kvstore_new(at.verdict, 3);
    at.key = check_kvstore_key(at.check);
    check_kvstore_calm(at.check);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    check_kvstore_free(at.check);
    verdict_free(at.verdict);
    return 0;
}

/* An acknowledged write of W = 2 that has seen this one; 0: none. */
static uint64_t written(uint64_t seen)
{
    uint64_t number = check_kvstore_write_begun(at.check, at.key, 2, false,
                                              &seen, seen ? 1 : 0);

    check_kvstore_write_ended(at.check, number, CHECK_STORE_DONE);
    return number;
}

static void read_by(uint32_t replicas, const uint64_t *values, uint32_t count)
{
    struct check_kvstore_read read =
        check_kvstore_read_begun(at.check, at.key, 1, replicas);

    check_kvstore_read_ended(at.check, &read, values, count);
}

static void expect(const char *invariant)
{
    assert_int_equal(verdict_count(at.verdict), invariant ? 1 : 0);
    if (invariant)
        assert_non_null(verdict_find(at.verdict, invariant));
}

static void an_acknowledged_write_is_seen(void **state)
{
    uint64_t values[2];

    (void)state;
    values[0] = written(0);
    values[1] = written(0);
    read_by(2, values, 2);
    read_by(1, NULL, 0); /* it meets no replica of the write */
    expect(NULL);
    assert_int_equal(check_kvstore_counts(at.check).quorums, 2);
    read_by(2, values, 1);
    expect("store-quorum-read");
}

static void a_replaced_write_is_not_seen(void **state)
{
    uint64_t old, new;

    (void)state;
    old = written(0);
    new = written(old);
    read_by(2, &new, 1);
    expect(NULL);
    read_by(2, &old, 1);
    expect("store-quorum-read");
}

/* Its writer got no answer. A read may find it or not; then later ones must. */
static void a_value_found_once_is_found_again(void **state)
{
    struct check_kvstore_read early;
    uint64_t number, next;

    (void)state;
    number = check_kvstore_write_begun(at.check, at.key, 2, false, NULL, 0);
    read_by(2, NULL, 0);
    read_by(1, &number, 1); /* a read from two need not meet that replica */
    early = check_kvstore_read_begun(at.check, at.key, 1, 2);
    read_by(2, NULL, 0);
    read_by(2, &number, 1);
    check_kvstore_read_ended(at.check, &early, NULL, 0); /* it began before that answer */
    read_by(1, NULL, 0);
    read_by(2, &number, 1);
    expect(NULL);
    assert_int_equal(check_kvstore_counts(at.check).again, 1);
    next = check_kvstore_write_begun(at.check, at.key, 2, false, &number, 1);
    read_by(2, NULL, 0); /* a deletion may have replaced it */
    read_by(2, &next, 1);
    expect(NULL);
    read_by(2, &number, 1); /* it was replaced, as is known */
    expect("store-monotonic-read");
}

static void a_value_read_from_all_is_found_by_every_read(void **state)
{
    uint64_t number;

    (void)state;
    number = check_kvstore_write_begun(at.check, at.key, 1, false, NULL, 0);
    read_by(3, &number, 1);
    check_kvstore_changed(at.check);
    read_by(1, NULL, 0);
    check_kvstore_calm(at.check);
    read_by(1, NULL, 0); /* other members */
    read_by(3, &number, 1);
    expect(NULL);
    read_by(1, NULL, 0);
    expect("store-monotonic-read");
}

static void concurrent_calls_are_not_judged(void **state)
{
    uint64_t old, new;
    struct check_kvstore_read read;

    (void)state;
    old = written(0);
    read = check_kvstore_read_begun(at.check, at.key, 1, 2);
    new = written(old);
    check_kvstore_read_ended(at.check, &read, &old, 1);
    check_kvstore_read_ended(at.check, &read, &new, 1);
    expect(NULL);
}

static void other_members_begin_another_epoch(void **state)
{
    struct check_kvstore_read read;

    (void)state;
    (void)written(0);
    read = check_kvstore_read_begun(at.check, at.key, 1, 2);
    check_kvstore_changed(at.check);
    check_kvstore_read_ended(at.check, &read, NULL, 0);
    read_by(2, NULL, 0);
    check_kvstore_calm(at.check);
    read_by(2, NULL, 0);
    expect(NULL);
    (void)written(0);
    read_by(2, NULL, 0);
    expect("store-quorum-read");
}

static void a_value_that_was_never_written_is_found(void **state)
{
    uint64_t number, other;
    uint32_t key = at.key;

    (void)state;
    number = check_kvstore_write_begun(at.check, at.key, 1, false, NULL, 0);
    read_by(1, &number, 1); /* it is in flight */
    check_kvstore_write_ended(at.check, number, CHECK_STORE_DOUBTFUL);
    read_by(1, &number, 1);
    expect(NULL);
    at.key = check_kvstore_key(at.check);
    other = written(0);
    at.key = key;
    read_by(1, &other, 1);
    expect("store-no-foreign-value");
}

static void a_refused_value_that_is_read_is_found(void **state)
{
    uint64_t number = check_kvstore_write_begun(at.check, at.key, 1, false, NULL,
                                              0);

    (void)state;
    check_kvstore_write_ended(at.check, number, CHECK_STORE_REFUSED);
    read_by(1, &number, 1);
    expect("store-no-foreign-value");
}

static void siblings_are_present_at_the_end(void **state)
{
    struct check_kvstore_read read;
    uint64_t values[2];

    (void)state;
    (void)written(0);
    check_kvstore_lost(at.check); /* of a replica of that write */
    values[0] = written(0);
    values[1] = written(0);
    read = check_kvstore_read_begun(at.check, at.key, 1, 3);
    check_kvstore_final(at.check, &read, values, 2);
    expect(NULL);
    assert_int_equal(check_kvstore_counts(at.check).finals, 2);
    check_kvstore_final(at.check, &read, values, 1);
    expect("store-no-lost-write");
}

/* Three replicas took it, and ended with the answer in flight. */
static void replicas_may_end_before_the_answer_arrives(void **state)
{
    struct check_kvstore_read read;
    uint64_t number;

    (void)state;
    number = check_kvstore_write_begun(at.check, at.key, 3, false, NULL, 0);
    check_kvstore_lost(at.check);
    check_kvstore_write_ended(at.check, number, CHECK_STORE_DONE);
    read = check_kvstore_read_begun(at.check, at.key, 1, 3);
    check_kvstore_final(at.check, &read, NULL, 0);
    expect(NULL);
    assert_int_equal(check_kvstore_counts(at.check).finals, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_acknowledged_write_is_seen),
        TEST(a_replaced_write_is_not_seen),
        TEST(a_value_found_once_is_found_again),
        TEST(a_value_read_from_all_is_found_by_every_read),
        TEST(concurrent_calls_are_not_judged),
        TEST(other_members_begin_another_epoch),
        TEST(a_value_that_was_never_written_is_found),
        TEST(a_refused_value_that_is_read_is_found),
        TEST(siblings_are_present_at_the_end),
        TEST(replicas_may_end_before_the_answer_arrives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
