/* Tests the report of a campaign. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "sim/run/report.h"

/* A seed that shows little and fails is only a failure. */
static void each_seed_passes_is_dead_or_fails(void **state)
{
    struct report report;
    struct run_result result;
    struct buf text = { 0 };

    (void)state;
    memset(&report, 0, sizeof report);
    memset(&result, 0, sizeof result);
    result.seed = 1;
    report_add(&report, &result, 1.0, false, 0);
    result.seed = 2;
    result.is_dead = true;
    report_add(&report, &result, 1.0, false, 0);
    result.seed = 3;
    report_add(&report, &result, 1.0, true, 0);
    assert_int_equal(report.dead, 1);
    assert_int_equal(report.dead_seeds[0], 2);
    report_put(&report, &text);
    buf_put_u8(&text, 0);
    assert_non_null(strstr((const char *)text.data,
                           "verdict   pass 1  dead 1  FAIL 1\n"));
    buf_fini(&text);
}

static void incarnations_outside_the_cluster_are_counted(void **state)
{
    struct report report;
    struct run_result result;

    (void)state;
    memset(&report, 0, sizeof report);
    memset(&result, 0, sizeof result);
    result.outsiders = 2;
    report_add(&report, &result, 1.0, false, 0);
    report_add(&report, &result, 1.0, false, 0);
    assert_int_equal(report.outsiders, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_seed_passes_is_dead_or_fails),
        cmocka_unit_test(incarnations_outside_the_cluster_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
