/* Tests the verdict of a world. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/timers.h"
#include "sim/world/verdict.h"

static void the_first_violation_of_each_invariant_is_kept(void **state)
{
    uint64_t now = 0;
    struct verdict *verdict = verdict_new(42, &now);
    char line[VERDICT_LINE_MAX];

    (void)state;
    assert_int_equal(verdict_count(verdict), 0);
    assert_null(verdict_find(verdict, "handoff-safety"));
    now = 3731 * SECOND + 449 * MS;
    violation(verdict, "handoff-safety", 3, "shard %d of %s", 5, "account");
    now += SECOND;
    violation(verdict, "handoff-safety", 4, "another one");
    violation(verdict, "handoff-completes", VERDICT_NO_NODE, "stuck");

    assert_int_equal(verdict_count(verdict), 2);
    assert_ptr_equal(verdict_at(verdict, 0), verdict_find(verdict, "handoff-safety"));
    assert_int_equal(verdict_find(verdict, "handoff-safety")->count, 2);
    assert_int_equal(verdict_find(verdict, "handoff-safety")->node, 3);
    assert_string_equal(
        verdict_line(verdict, verdict_at(verdict, 0), line, sizeof line),
        "FAIL seed=42 inv=handoff-safety t=1h02m11.4s node=3 : shard 5 of account");
    assert_string_equal(
        verdict_line(verdict, verdict_at(verdict, 1), line, sizeof line),
        "FAIL seed=42 inv=handoff-completes t=1h02m12.4s node=- : stuck");
    verdict_free(verdict);
}

static void a_violation_names_its_event(void **state)
{
    uint64_t now = 2 * SECOND, events = 4112909;
    struct verdict *verdict = verdict_new(7, &now);
    const struct violation death = { .invariant = "crash",
                                     .node = VERDICT_NO_NODE,
                                     .text = "gone" };
    char line[VERDICT_LINE_MAX];

    (void)state;
    verdict_counts_events(verdict, &events);
    violation(verdict, "fenced-writes", 1, "twice");
    events++;
    assert_string_equal(
        verdict_line(verdict, verdict_at(verdict, 0), line, sizeof line),
        "FAIL seed=7 inv=fenced-writes t=0h00m02.0s event=4112909 node=1 : twice");
    assert_string_equal(failure_line(9, &death, line, sizeof line),
                        "FAIL seed=9 inv=crash t=0h00m00.0s node=- : gone");
    verdict_free(verdict);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_violation_of_each_invariant_is_kept),
        cmocka_unit_test(a_violation_names_its_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
