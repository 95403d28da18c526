#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/timers.h"
#include "sim/verdict.h"

static void the_first_of_each_invariant_is_kept(void **state)
{
    uint64_t now = 0;
    struct verdict *verdict = verdict_new(42, &now);
    char line[VERDICT_LINE_MAX];

    (void)state;
    assert_int_equal(verdict_count(verdict), 0);
    assert_null(verdict_find(verdict, "I11"));
    now = 3731 * SECOND + 449 * MS;
    violation(verdict, "I11", 3, "shard %d of %s", 5, "account");
    now += SECOND;
    violation(verdict, "I11", 4, "another one");
    violation(verdict, "L3", VERDICT_NO_NODE, "stuck");

    assert_int_equal(verdict_count(verdict), 2);
    assert_ptr_equal(verdict_at(verdict, 0), verdict_find(verdict, "I11"));
    assert_int_equal(verdict_find(verdict, "I11")->count, 2);
    assert_int_equal(verdict_find(verdict, "I11")->node, 3);
    assert_string_equal(
        verdict_line(verdict, verdict_at(verdict, 0), line, sizeof line),
        "FAIL seed=42 inv=I11 t=1h02m11.4s node=3 : shard 5 of account");
    assert_string_equal(
        verdict_line(verdict, verdict_at(verdict, 1), line, sizeof line),
        "FAIL seed=42 inv=L3 t=1h02m12.4s node=- : stuck");
    verdict_free(verdict);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_of_each_invariant_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
