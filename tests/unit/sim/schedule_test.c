/* Tests schedules as text, which are read, written, or refused with a line number, and drawn
 * schedules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/timers.h"
#include "sim/faults/nemesis.h"
#include "sim/world/net.h"
#include "sim/faults/schedule.h"

static char *text_of(const struct schedule *schedule, struct buf *text)
{
    schedule_put(schedule, text);
    buf_put_u8(text, 0);
    return (char *)text->data;
}

static void times_are_read_as_written(void **state)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } times[] = {
        { 0, "0s" },
        { 1, "0.000000001s" },
        { 11 * MS, "0.011s" },
        { 5 * SECOND, "5s" },
        { 60 * SECOND, "1m" },
        { 61 * SECOND + 500 * MS, "1m01.5s" },
        { 723 * SECOND + 500 * MS, "12m03.5s" },
        { 3731 * SECOND + 400 * MS, "1h02m11.4s" },
        { 3600 * SECOND, "1h00m00s" },
        { SCHEDULE_TIME_MAX, "720h00m00s" },
    };
    char text[TIME_TEXT_MAX];
    uint64_t ns;

    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_string_equal(time_text(times[i].ns, text, sizeof text),
                            times[i].text);
        assert_true(time_parse(slice_text(text), &ns));
        assert_int_equal(ns, times[i].ns);
    }
    assert_true(time_parse(slice_text("1m3ms7us"), &ns));
    assert_int_equal(ns, 60 * SECOND + 3 * MS + 7000);
}

static void wrong_times_are_refused(void **state)
{
    static const char *const wrong[] = {
        "",     "s",          "5",        "-5s",         "5 s",
        "5.s",  "5.1234567890s", "1.5ns", "721h",        "720h1ns",
        "1x",   "1h2",        "999999999999999999999999s",
    };
    uint64_t ns;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (time_parse(slice_text(wrong[i]), &ns))
            fail_msg("\"%s\" was read as %llu", wrong[i],
                     (unsigned long long)ns);
}

static const char every_verb[] = "at 1s crash 3\n"
                                 "at 2s start 3\n"
                                 "at 2s leave 4\n"
                                 "at 3s down 5\n"
                                 "at 3s down 5 zombie\n"
                                 "at 3.5s pause 2 for 1m\n"
                                 "at 4s slow 0 x100 for 5s\n"
                                 "at 5s wall 999 -24h00m00s\n"
                                 "at 5s wall 0 +0.001s\n"
                                 "at 5s drift 1 950000ppm for 1s\n"
                                 "at 6s cut 0-2,5<>3,4 for 5s\n"
                                 "at 6s cut 0>1 control for 5s\n"
                                 "at 6s cut *>1 data for 0.5s\n"
                                 "at 7s flap 1<>2 every 2s for 1m\n"
                                 "at 8s clog 1>2 for 3s\n"
                                 "at 8s delay 1>2 by 0.5s for 3s\n"
                                 "at 9s reset 1<>*\n"
                                 "at 9s half-open 1>2\n"
                                 "at 9s refuse 1 for 2s\n"
                                 "at 9s slow-accept 1 by 3s for 2s\n"
                                 "at 9s black-hole 1 for 2s\n"
                                 "at 10s disk-stall for 2s\n"
                                 "at 10s disk-error for 2s\n"
                                 "at 10s disk-full for 2s\n"
                                 "at 1m disk-sync\n"
                                 "at 1h02m11.4s power\n"
                                 "at 1h03m00s power-off 2\n"
                                 "at 1h04m00s foreign 2 for 10s\n"
                                 "at 1h05m00s fake-joins 2 for 10s\n"
                                 "at 1h05m00s flood 2 for 10s\n"
                                 "at 1h06m00s lease-cut 2 for 30s\n"
                                 "at 1h07m00s restart 2 by 0.2s\n";

static void written_schedules_are_read_back(void **state)
{
    struct schedule schedule = { { 0 } };
    struct buf text = { 0 };
    char error[SCHEDULE_ERROR_MAX] = "";
    bool seen[FAULT_VERBS] = { false };

    (void)state;
    assert_true(schedule_read(&schedule, slice_text(every_verb), error,
                              sizeof error));
    assert_string_equal(text_of(&schedule, &text), every_verb);
    for (uint32_t i = 0; i < schedule.faults.count; i++)
        seen[schedule.faults.items[i].verb] = true;
    for (int i = 0; i < FAULT_VERBS; i++)
        assert_true(seen[i]);
    assert_int_equal(schedule.faults.items[11].streams, NET_CONTROL);
    assert_true(schedule.faults.items[12].left.all);
    assert_true(schedule.faults.items[10].both_ways);
    assert_int_equal(schedule.faults.items[10].left.count, 4);
    schedule_fini(&schedule);
    buf_fini(&text);
}

static void blanks_and_comments_are_skipped(void **state)
{
    static const char lines[] = "# a comment\n\n  \t\n"
                                "  at   1s\tcrash  3  # why\r\n"
                                "at 1s cut 3,1,1,2>0 for 1s";
    struct schedule schedule = { { 0 } };
    struct buf text = { 0 };
    char error[SCHEDULE_ERROR_MAX];

    (void)state;
    assert_true(
        schedule_read(&schedule, slice_text(lines), error, sizeof error));
    assert_string_equal(text_of(&schedule, &text),
                        "at 1s crash 3\nat 1s cut 1-3>0 for 1s\n");
    schedule_fini(&schedule);
    buf_fini(&text);
}

static void wrong_lines_are_refused_with_their_number(void **state)
{
    static const struct {
        const char *text;
        const char *error;
    } wrong[] = {
        { "crash 3", "line 1: \"at\" wanted" },
        { "at x crash 3",
          "line 1: a time wanted, as 1h2m3.5s, at most 720h" },
        { "\n\nat 1s burn 3", "line 3: there is no such verb" },
        { "at 1s crash", "line 1: a node's number wanted, 0 to 999" },
        { "at 1s crash 1000", "line 1: a node's number wanted, 0 to 999" },
        { "at 1s crash 3 4",
          "line 1: something follows the end of the fault" },
        { "at 1s pause 3", "line 1: \"for TIME\" wanted" },
        { "at 1s cut 1-0>2 for 1s",
          "line 1: nodes wanted, as 1,3-5>2 or 1<>*" },
        { "at 1s cut 1,2 for 1s",
          "line 1: nodes wanted, as 1,3-5>2 or 1<>*" },
        { "at 1s cut 1<2 for 1s",
          "line 1: nodes wanted, as 1,3-5>2 or 1<>*" },
        { "at 1s cut 1>2 blue for 1s", "line 1: \"for TIME\" wanted" },
        { "at 1s flap 1>2 every 1ms for 1s",
          "line 1: \"every\" must be at least 10ms" },
        { "at 1s slow 1 x0 for 1s", "line 1: a factor wanted, as x100" },
        { "at 1s slow 1 100 for 1s", "line 1: a factor wanted, as x100" },
        { "at 1s wall 1 1h", "line 1: a shift wanted, as +1h or -30s" },
        { "at 1s drift 1 949999ppm for 1s",
          "line 1: a rate wanted, 950000ppm to 1050000ppm" },
        { "at 1s delay 1>2 for 1s", "line 1: \"by TIME\" wanted" },
        { "at 2s power\nat 1s power",
          "line 2: it is earlier than the fault before it" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct schedule schedule = { { 0 } };
        char error[SCHEDULE_ERROR_MAX] = "";

        assert_false(schedule_read(&schedule, slice_text(wrong[i].text),
                                   error, sizeof error));
        assert_string_equal(error, wrong[i].error);
        assert_int_equal(schedule.faults.count, 0);
    }
}

static void unknown_nodes_are_refused(void **state)
{
    static const struct {
        const char *text;
        const char *error; /* with 3 nodes; "": none */
        const char *clipped; /* clipped to 3 nodes */
    } rows[] = {
        { "at 1s crash 2\n", "", "at 1s crash 2\n" },
        { "\nat 1s crash 3\n",
          "line 2: there is no node 3, the run has nodes 0 to 2", "" },
        { "at 1s power\nat 2s reset 0,1,7<>*\n",
          "line 2: there is no node 7, the run has nodes 0 to 2",
          "at 1s power\nat 2s reset 0,1<>*\n" },
        { "at 1s reset 0>3,4\nat 2s reset *>1\n",
          "line 1: there is no node 4, the run has nodes 0 to 2",
          "at 2s reset *>1\n" },
        { "at 1s reset 1>1\n", "line 1: no way leads from node 1 to itself",
          "" },
        { "at 1s reset 1,2>1,2\nat 2s reset *<>*\n", "",
          "at 1s reset 1,2>1,2\nat 2s reset *<>*\n" },
        { "at 1s reset 1,5>1,6\n",
          "line 1: there is no node 6, the run has nodes 0 to 2", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct schedule schedule = { { 0 } };
        struct buf text = { 0 };
        char error[SCHEDULE_ERROR_MAX] = "";

        assert_true(schedule_read(&schedule, slice_text(rows[i].text), error,
                                  sizeof error));
        assert_int_equal(schedule_fits(&schedule, 3, error, sizeof error),
                         !*rows[i].error);
        assert_string_equal(error, rows[i].error);
        schedule_clip(&schedule, 3);
        assert_true(schedule_fits(&schedule, 3, error, sizeof error));
        assert_string_equal(text_of(&schedule, &text), rows[i].clipped);
        schedule_fini(&schedule);
        buf_fini(&text);
    }
}

/* Limit: SCHEDULE_FAULTS_MAX. */
static void too_many_faults_are_refused(void **state)
{
    struct schedule schedule = { { 0 } };
    struct buf text = { 0 };
    char error[SCHEDULE_ERROR_MAX] = "";

    (void)state;
    for (int i = 0; i < SCHEDULE_FAULTS_MAX; i++)
        buf_put_text(&text, "at 1s power\n");
    assert_true(schedule_read(&schedule, buf_slice(&text), error,
                              sizeof error));
    schedule_fini(&schedule);
    buf_put_text(&text, "at 1s power\n");
    assert_false(schedule_read(&schedule, buf_slice(&text), error,
                               sizeof error));
    assert_string_equal(error, "line 100001: too many faults, at most 100000");
    buf_fini(&text);
}

static void drawn_schedules_are_read_back(void **state)
{
    struct options_wish wish = { .mode = MODE_SWARM };
    uint64_t seen[FAULT_VERBS] = { 0 };

    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct schedule drawn = { { 0 } }, read = { { 0 } };
        struct buf text = { 0 }, again = { 0 };
        struct options options;
        char error[SCHEDULE_ERROR_MAX] = "";

        wish.nodes_min = wish.nodes_max = seed < 20 ? 1 + seed % 2 : 0; /* 0: as drawn */
        options_draw(&options, seed, &wish);
        nemesis_draw(&options, &drawn);
        assert_true(schedule_fits(&drawn, (uint32_t)options.value[OPTION_NODES],
                                  error, sizeof error));
        (void)text_of(&drawn, &text);
        text.size--;
        assert_true(
            schedule_read(&read, buf_slice(&text), error, sizeof error));
        (void)text_of(&read, &again);
        again.size--;
        assert_true(slice_equal(buf_slice(&text), buf_slice(&again)));
        for (uint32_t i = 0; i < drawn.faults.count; i++)
            seen[drawn.faults.items[i].verb]++;
        schedule_fini(&drawn);
        schedule_fini(&read);
        buf_fini(&text);
        buf_fini(&again);
    }
    for (int i = 0; i < FAULT_VERBS; i++)
        if (!seen[i])
            fail_msg("%s was never drawn", fault_verb_name(i));
}

/* The handoff mode may not lose a message: nodes only leave and start. */
static void handoff_mode_is_graceful(void **state)
{
    const struct options_wish wish = { .mode = MODE_HANDOFF };
    uint32_t leaves = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct schedule drawn = { { 0 } };
        struct options options;

        options_draw(&options, seed, &wish);
        nemesis_draw(&options, &drawn);
        for (uint32_t i = 0; i < drawn.faults.count; i++) {
            enum fault_verb verb = drawn.faults.items[i].verb;

            assert_true(verb == FAULT_VERB_LEAVE || verb == FAULT_VERB_START);
            leaves += verb == FAULT_VERB_LEAVE;
        }
        schedule_fini(&drawn);
    }
    assert_true(leaves > 100);
}

/* A fault of accepting connections breaks the present ones, so new ones are opened. */
static void accept_faults_break_present_connections(void **state)
{
    const struct options_wish wish = { .mode = MODE_SWARM };
    uint32_t doors = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct schedule drawn = { { 0 } };
        struct options options;

        options_draw(&options, seed, &wish);
        nemesis_draw(&options, &drawn);
        for (uint32_t i = 0; i < drawn.faults.count; i++) {
            const struct fault *fault = &drawn.faults.items[i];
            bool is_asked = false;

            if (fault->verb != FAULT_VERB_REFUSE &&
                fault->verb != FAULT_VERB_SLOW_ACCEPT &&
                fault->verb != FAULT_VERB_BLACK_HOLE)
                continue;
            for (uint32_t j = 0; j < drawn.faults.count; j++) {
                const struct fault *reset = &drawn.faults.items[j];

                is_asked |= reset->verb == FAULT_VERB_RESET &&
                            reset->at == fault->at + MS &&
                            reset->right.all && reset->left.count == 1 &&
                            reset->left.items[0] == fault->node;
            }
            assert_true(is_asked);
            doors++;
        }
        schedule_fini(&drawn);
    }
    assert_true(doors > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read_as_written),
        cmocka_unit_test(wrong_times_are_refused),
        cmocka_unit_test(written_schedules_are_read_back),
        cmocka_unit_test(blanks_and_comments_are_skipped),
        cmocka_unit_test(wrong_lines_are_refused_with_their_number),
        cmocka_unit_test(unknown_nodes_are_refused),
        cmocka_unit_test(too_many_faults_are_refused),
        cmocka_unit_test(drawn_schedules_are_read_back),
        cmocka_unit_test(handoff_mode_is_graceful),
        cmocka_unit_test(accept_faults_break_present_connections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
