/* Tests the counting, adding and printing of cells of faults and states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/run/cells.h"

/* A run in which a crash met two states and struck one of them. */
static void crash_meets(struct cells *cells, enum node_state struck,
                        enum node_state met)
{
    struct nemesis_cells sets[FAULT_VERBS] = { { 0, 0 } };

    sets[FAULT_VERB_CRASH].struck = NODE_STATE_BIT(struck);
    sets[FAULT_VERB_CRASH].met = NODE_STATE_BIT(struck) | NODE_STATE_BIT(met);
    cells_add(cells, sets);
}

static void runs_are_counted(void **state)
{
    struct cells cells = { 0 };

    (void)state;
    assert_int_equal(cells_met(&cells), 0);
    crash_meets(&cells, NODE_UP, NODE_LEAVING);
    crash_meets(&cells, NODE_UP, NODE_REPLAYING);
    assert_int_equal(cells_met(&cells), 3);
    assert_int_equal(cells_struck(&cells), 1);
    assert_int_equal(cells.met[FAULT_VERB_CRASH][NODE_UP], 2);
    assert_int_equal(cells.struck[FAULT_VERB_CRASH][NODE_UP], 2);
    assert_int_equal(cells.met[FAULT_VERB_CRASH][NODE_LEAVING], 1);
    assert_int_equal(cells.struck[FAULT_VERB_CRASH][NODE_LEAVING], 0);
    assert_int_equal(cells.met[FAULT_VERB_START][NODE_UP], 0);
}

static void cells_of_several_processes_are_added_up(void **state)
{
    struct cells cells = { 0 }, sum = { 0 };
    struct buf lines = { 0 };

    (void)state;
    crash_meets(&cells, NODE_UP, NODE_REPLAYING);
    buf_put_text(&lines, "# whatever a person reads\n");
    cells_write(&cells, &lines);
    assert_true(cells_merge(&sum, buf_slice(&lines)));
    assert_memory_equal(&sum, &cells, sizeof sum);
    assert_true(cells_merge(&sum, buf_slice(&lines)));
    assert_int_equal(sum.met[FAULT_VERB_CRASH][NODE_REPLAYING], 2);
    assert_int_equal(cells_met(&sum), 2);
    buf_fini(&lines);
}

static void malformed_lines_are_refused(void **state)
{
    static const char *const lines[] = {
        "1 1 crash member up",      "1 crash member up\n",
        "1 1 crush member up\n",    "1 1 crash member upper\n",
        "-1 1 crash member up\n",   "1 1 crash member\n",
        "1 1 crash lease up\n",     "\n",
        "1 1 crash member up more\n", "1 1\n",
    };
    struct cells cells = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_false(cells_merge(&cells, slice_text(lines[i])));
    assert_int_equal(cells_met(&cells), 0);
    assert_true(cells_merge(&cells, slice_text("")));
    assert_true(cells_merge(&cells, slice_text("1 0 crash member up\n")));
    assert_int_equal(cells_met(&cells), 1);
}

static void the_matrix_lists_cells_that_were_never_met(void **state)
{
    struct cells cells = { 0 };
    struct buf text = { 0 };
    const char *shown;

    (void)state;
    crash_meets(&cells, NODE_UP, NODE_LEAVING);
    cells_put(&cells, "| ", &text);
    buf_put_u8(&text, 0);
    shown = (const char *)text.data;
    assert_non_null(strstr(shown, "\n| member   up                  # . . "));
    assert_non_null(strstr(shown, "\n| member   leaving             + . . "));
    assert_non_null(strstr(shown, "\n| lease    held                . . . "));
    assert_non_null(strstr(shown, "\n| never  member up: start leave down "));
    assert_non_null(strstr(shown, "\n| never  lease held: crash start "));
    for (const char *line = shown; *line; line = strchr(line, '\n') + 1)
        assert_memory_equal(line, "| ", 2);
    buf_fini(&text);
    for (int i = 0; i < FAULT_VERBS; i++)
        for (int j = 0; j < NODE_STATE_COUNT; j++)
            cells.met[i][j] = 1;
    cells_put(&cells, "", &text);
    buf_put_u8(&text, 0);
    assert_null(strstr((const char *)text.data, "never"));
    buf_fini(&text);
}

static void each_state_has_its_own_name(void **state)
{
    (void)state;
    for (int i = 0; i < NODE_STATE_COUNT; i++) {
        assert_non_null(node_state_name((enum node_state)i));
        for (int j = 0; j < i; j++)
            assert_true(strcmp(node_state_name((enum node_state)i),
                               node_state_name((enum node_state)j)) != 0 ||
                        strcmp(node_state_automaton((enum node_state)i),
                               node_state_automaton((enum node_state)j)) != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_counted),
        cmocka_unit_test(cells_of_several_processes_are_added_up),
        cmocka_unit_test(malformed_lines_are_refused),
        cmocka_unit_test(the_matrix_lists_cells_that_were_never_met),
        cmocka_unit_test(each_state_has_its_own_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
