/* Tests check_looks with allowed histories and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/timers.h"
#include "judged.h"
#include "sim/check/check_looks.h"

static struct check_looks *check;
static const uint64_t members[] = { 11, 22, 33 };
static struct sherd_look_part parts[3];

/* A look with number 1, and a page with a part of each member. */
static struct sherd_look_page begin(void)
{
    const struct check_looks_begin begun = {
        .number = 1, .node = 4, .now = SECOND, .within = 5 * SECOND, .count = 10,
        .is_whole = true, .uids = members, .uid_count = 3,
    };

    judge();
    check = check_looks_new(verdict);
    check_looks_begun(check, &begun);
    for (uint32_t i = 0; i < 3; i++)
        parts[i] = (struct sherd_look_part){ .uid = members[i], .wall_ms = 1 };
    return (struct sherd_look_page){ .row_count = 10, .parts = parts, .part_count = 3 };
}

static void ends(const struct sherd_look_page *page, int result)
{
    const struct check_looks_end end = { .number = 1, .node = 4, .result = result, .page = page,
                                         .uids = members, .uid_count = 3 };

    check_looks_ended(check, &end);
}

static void end(const char *rule)
{
    expect_only(rule);
    check_looks_free(check);
    verdict_free(verdict);
}

static void a_look_that_ends_in_time_is_allowed(void **state)
{
    struct sherd_look_page page = begin();
    (void)state;

    check_looks_at(check, 8 * SECOND, 4, 0);
    ends(&page, 0);
    assert_int_equal(check_looks_open(check), 0);
    assert_int_equal(check_looks_counts(check).parts, 3);
    end(NULL);
}

static void a_second_end_breaks_the_rule(void **state)
{
    struct sherd_look_page page = begin();
    (void)state;

    ends(&page, 0);
    ends(&page, 0);
    end("look-ends-once");
}

static void a_late_end_breaks_the_rule(void **state)
{
    (void)state;
    (void)begin();
    check_looks_at(check, 8 * SECOND, 4, 0);
    expect_only(NULL);
    check_looks_at(check, 9 * SECOND, 4, 0);
    end("look-ends-once");
}

static void a_harmed_node_has_its_time_again(void **state)
{
    (void)state;
    (void)begin();
    check_looks_at(check, 9 * SECOND, 4, 1);
    check_looks_at(check, 16 * SECOND, 4, 1);
    check_looks_node_ended(check, 4);
    assert_int_equal(check_looks_counts(check).lost, 1);
    end(NULL);
}

static void a_member_that_is_left_out_breaks_the_rule(void **state)
{
    struct sherd_look_page page = begin();
    (void)state;

    page.part_count = 2;
    ends(&page, 0);
    end("look-ends-once");
}

static void a_page_that_goes_on_may_leave_members_out(void **state)
{
    struct sherd_look_page page = begin();
    (void)state;

    page.part_count = 1;
    page.next.size = 8;
    ends(&page, 0);
    end(NULL);
}

static void a_missing_part_that_is_not_marked_breaks_the_rule(void **state)
{
    struct sherd_look_page page = begin();
    (void)state;

    parts[1].state = SHERD_LOOK_TIMEOUT;
    ends(&page, 0);
    end("look-ends-once");
}

static void a_part_that_nobody_answered_is_not_ok(void **state)
{
    struct sherd_look_page page = begin();
    (void)state;

    parts[2].wall_ms = 0;
    ends(&page, 0);
    end("look-ends-once");
}

static void too_many_rows_break_the_rule(void **state)
{
    struct sherd_look_page page = begin();
    (void)state;

    page.row_count = 11;
    ends(&page, 0);
    end("look-ends-once");
}

static void only_a_cancelled_look_ends_as_cancelled(void **state)
{
    (void)state;
    (void)begin();
    check_looks_cancelled(check, 1);
    ends(NULL, SHERD_ESTATE);
    end(NULL);
    (void)begin();
    ends(NULL, SHERD_ESTATE);
    end("look-ends-once");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look_that_ends_in_time_is_allowed),
        cmocka_unit_test(a_second_end_breaks_the_rule),
        cmocka_unit_test(a_late_end_breaks_the_rule),
        cmocka_unit_test(a_harmed_node_has_its_time_again),
        cmocka_unit_test(a_member_that_is_left_out_breaks_the_rule),
        cmocka_unit_test(a_page_that_goes_on_may_leave_members_out),
        cmocka_unit_test(a_missing_part_that_is_not_marked_breaks_the_rule),
        cmocka_unit_test(a_part_that_nobody_answered_is_not_ok),
        cmocka_unit_test(too_many_rows_break_the_rule),
        cmocka_unit_test(only_a_cancelled_look_ends_as_cancelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
