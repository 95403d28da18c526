/* One checker and its verdict, for tests of checkers: what was found is as expected. After cmocka.h. */
#ifndef TESTS_UNIT_SIM_JUDGED_H
#define TESTS_UNIT_SIM_JUDGED_H

#include "base/timers.h"
#include "sim/verdict.h"

static uint64_t now = SECOND;
static struct verdict *verdict;

static void judge(void)
{
    now = SECOND;
    verdict = verdict_new(1, &now);
}

/* That invariant is violated, and no other; null: none is. */
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
