/* Tests one checker with its own verdict. Include it after cmocka.h. */
#ifndef TESTS_UNIT_SIM_JUDGED_H
#define TESTS_UNIT_SIM_JUDGED_H

#include "base/timers.h"
#include "sim/world/verdict.h"

static uint64_t now = SECOND;
static struct verdict *verdict;

static void judge(void)
{
    now = SECOND;
    verdict = verdict_new(1, &now);
}

/* Expects a violation of that invariant only; null: of none. */
static void expect_only(const char *invariant)
{
    if (!invariant) {
        assert_int_equal(verdict_count(verdict), 0);
        return;
    }
    assert_int_equal(verdict_count(verdict), 1);
    assert_non_null(verdict_find(verdict, invariant));
}

#endif
