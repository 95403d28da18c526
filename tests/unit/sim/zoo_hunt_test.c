/* Tests the hunt with its own runs: each way in which a child may end, and the parent's
 * conclusion. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/mark.h"
#include "sim/zoo/zoo_hunt.h"

/* From seed 100 on only the bug effects-at-once is found; the first seeds show each way to
 * end. */
static bool run(void *arg, uint64_t seed, struct hunt_finding *finding)
{
    (void)arg;
    REACHED("a seed was run");
    SOMETIMES("the seed is 3", seed == 3);
    (void)snprintf(finding->invariant, sizeof finding->invariant, "I%u",
                   (unsigned)seed);
    (void)snprintf(finding->text, sizeof finding->text, "seed %u\nbroke it",
                   (unsigned)seed);
    if (seed == 7)
        check(zoo_current() != ZOO_OLDER_FENCE_WRITES);
    if (seed == 8 && zoo_current() == ZOO_UNKNOWN_OUTCOME_COUNTS_AS_STORED)
        raise(SIGTERM); /* cmocka catches the usual ones */
    if (seed == 9)
        for (;;)
            (void)pause();
    if (seed == 105)
        return true; /* also without a bug */
    if (seed < 103)
        SOMETIMES("the bug's place", zoo_is(ZOO_DOWN_MEMBER_LEADS));
    return zoo_current() == ZOO_EFFECTS_AT_ONCE && (seed == 107 || seed > 110);
}

static struct hunt_options options_of(uint64_t seed, uint64_t count,
                                      uint32_t jobs)
{
    return (struct hunt_options){ .run = run,
                                  .seed = seed,
                                  .seeds_max = count,
                                  .wall_ms = 100 * 1000,
                                  .jobs = jobs };
}

static void the_first_seed_that_finds_the_bug_counts(void **state)
{
    (void)state;
    for (uint32_t jobs = 0; jobs < 4; jobs++) {
        struct hunt_options options = options_of(100, 100, jobs);
        struct hunt_result result;

        hunt(&options, ZOO_EFFECTS_AT_ONCE, &result);
        assert_true(result.is_found);
        assert_int_equal(result.seed, 107);
        assert_int_equal(result.spoiled, 1); /* 105 proves nothing */
        assert_int_equal(result.broken, 1);
        assert_int_equal(result.broken_seed, 105);
        assert_int_equal(result.seeds, 8);
        assert_string_equal(result.finding.invariant, "I107");
        assert_string_equal(result.finding.text, "seed 107 broke it");
    }
}

static void a_bug_that_no_seed_sees_is_not_found(void **state)
{
    struct hunt_options options = options_of(100, 10, 2);
    struct hunt_result result;

    (void)state;
    hunt(&options, ZOO_DOWN_MEMBER_LEADS, &result);
    assert_false(result.is_found);
    assert_int_equal(result.seeds, 10);
    assert_int_equal(result.met, 3);
    assert_int_equal(result.spoiled, 1);
    hunt(&options, ZOO_NONE, &result);
    assert_true(result.is_found);
    assert_int_equal(result.seed, 105);
}

static void a_failed_check_and_a_crash_are_found(void **state)
{
    struct hunt_options options = options_of(7, 1, 1);
    struct hunt_result result;

    (void)state;
    hunt(&options, ZOO_OLDER_FENCE_WRITES, &result);
    assert_true(result.is_found);
    assert_string_equal(result.finding.invariant, "check");
    assert_non_null(strstr(result.finding.text, "zoo_current()"));
    options.seed = 8;
    hunt(&options, ZOO_UNKNOWN_OUTCOME_COUNTS_AS_STORED, &result);
    assert_true(result.is_found);
    assert_string_equal(result.finding.invariant, "crash");
}

static void a_hanging_seed_is_killed_and_finds_nothing(void **state)
{
    struct hunt_options options = options_of(9, 1, 1);
    struct hunt_result result;

    (void)state;
    options.wall_ms = 1;
    hunt(&options, ZOO_EFFECTS_AT_ONCE, &result);
    assert_false(result.is_found);
    assert_int_equal(result.hung, 1);
}

static void marks_of_all_children_are_added_up(void **state)
{
    struct hunt_options options = options_of(1, 6, 2);
    struct mark_list marks = { 0 };
    uint32_t met = 0;

    (void)state;
    REACHED("the parent was here");
    assert_int_equal(hunt_marks(&options, &marks), 0);
    for (uint32_t i = 0; i < marks.marks.count; i++) {
        const struct mark_total *mark = &marks.marks.items[i];

        if (!strcmp(mark->text, "a seed was run")) {
            assert_int_equal(mark->count, 6);
            met++;
        } else if (!strcmp(mark->text, "the seed is 3") ||
                   !strcmp(mark->text, "the parent was here")) {
            assert_int_equal(mark->count, 1);
            met++;
        }
    }
    assert_int_equal(met, 3);
    mark_fini(&marks);
    options = options_of(104, 3, 2);
    assert_int_equal(hunt_marks(&options, &marks), 1);
    mark_fini(&marks);
}

/* Numbers that children leave and the parent adds up. */
struct heard {
    uint64_t seed;  /* in a child, its own */
    uint64_t seeds; /* sum */
    uint32_t times;
};

static bool run_noting(void *arg, uint64_t seed, struct hunt_finding *finding)
{
    struct heard *heard = arg;

    heard->seed = seed;
    return run(arg, seed, finding);
}

static void leave(void *arg, struct buf *lines)
{
    const struct heard *heard = arg;
    char line[32];

    (void)snprintf(line, sizeof line, "seed %u\n", (unsigned)heard->seed);
    buf_put_text(lines, line);
}

static bool take(void *arg, struct slice lines)
{
    struct heard *heard = arg;

    heard->times++;
    if (lines.size != 7 || memcmp(lines.data, "seed ", 5) != 0)
        return false;
    heard->seeds += (uint64_t)(lines.data[5] - '0');
    return true;
}

static void lines_of_children_are_taken(void **state)
{
    struct heard heard = { 0 };
    struct hunt_options options = options_of(1, 6, 2);
    struct mark_list marks = { 0 };

    (void)state;
    options.run = run_noting;
    options.arg = &heard;
    options.leave = leave;
    options.take = take;
    assert_int_equal(hunt_marks(&options, &marks), 0);
    assert_int_equal(heard.times, 6);
    assert_int_equal(heard.seeds, 21);
    options.seed = 10; /* it leaves a malformed line */
    options.seeds_max = 1;
    assert_int_equal(hunt_marks(&options, &marks), 1);
    assert_int_equal(heard.times, 7);
    mark_fini(&marks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_seed_that_finds_the_bug_counts),
        cmocka_unit_test(a_bug_that_no_seed_sees_is_not_found),
        cmocka_unit_test(a_failed_check_and_a_crash_are_found),
        cmocka_unit_test(a_hanging_seed_is_killed_and_finds_nothing),
        cmocka_unit_test(marks_of_all_children_are_added_up),
        cmocka_unit_test(lines_of_children_are_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
