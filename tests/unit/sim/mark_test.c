/* Tests marks: they are known before they are reached, counted, taken once, written and added
 * up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mark.h"
#include "node/node.h"
#include "sim/run/mark.h"

/* Refers to a function of the cores, so that the linker keeps them with their marks. */
static struct node *(*volatile keep)(const struct node_settings *, char *,
                                     size_t) = node_new;

static void pass(int number)
{
    REACHED("the test passes here");
    SOMETIMES("the number is even", number % 2 == 0);
    SOMETIMES("the number is negative", number < 0);
}

static const struct mark_total *find(const struct mark_list *list,
                                     const char *text)
{
    for (uint32_t i = 0; i < list->marks.count; i++) {
        if (!strcmp(list->marks.items[i].text, text))
            return &list->marks.items[i];
    }
    return NULL;
}

static void marks_are_known_before_they_are_reached(void **state)
{
    struct mark_list list = { 0 };
    const struct mark_total *mark;

    (void)state;
    assert_non_null((void *)(uintptr_t)keep);
    mark_take(&list);
    mark = find(&list, "the test passes here");
    assert_non_null(mark);
    assert_int_equal(mark->count, 0);
    assert_false(mark->is_condition);
    mark = find(&list, "the number is even");
    assert_non_null(mark);
    assert_true(mark->is_condition);
    mark = find(&list, "a hand-off timed out"); /* of the cores */
    assert_non_null(mark);
    assert_string_equal(mark->file, "shard/handoff.c");
    for (uint32_t i = 1; i < list.marks.count; i++)
        assert_true(strcmp(list.marks.items[i - 1].file,
                           list.marks.items[i].file) <= 0);
    mark_fini(&list);
}

static void counts_are_taken_once(void **state)
{
    struct mark_list list = { 0 };
    uint32_t count;

    (void)state;
    for (int i = 0; i < 5; i++)
        pass(i);
    mark_take(&list);
    count = list.marks.count;
    assert_int_equal(find(&list, "the test passes here")->count, 5);
    assert_int_equal(find(&list, "the number is even")->count, 3);
    assert_int_equal(find(&list, "the number is negative")->count, 0);
    mark_take(&list);
    assert_int_equal(list.marks.count, count);
    assert_int_equal(find(&list, "the test passes here")->count, 5);
    pass(1);
    mark_take(&list);
    assert_int_equal(find(&list, "the test passes here")->count, 6);
    mark_fini(&list);
}

static void lists_of_several_processes_are_added_up(void **state)
{
    static const char other[] = "7 R shard/handoff.c:3 a: b c\n"
                                "2 S actor/run.c:9 odd\n";
    struct mark_list list = { 0 };
    struct mark_list copy = { 0 };
    struct buf text = { 0 };
    struct buf again = { 0 };

    (void)state;
    pass(2);
    mark_take(&list);
    assert_true(mark_merge(&list, slice_text(other)));
    assert_true(mark_merge(&list, slice_text(other)));
    assert_int_equal(find(&list, "a: b c")->count, 14);
    assert_int_equal(find(&list, "a: b c")->line, 3);
    assert_true(find(&list, "odd")->is_condition);
    for (uint32_t i = 1; i < list.marks.count; i++)
        assert_true(strcmp(list.marks.items[i - 1].file,
                           list.marks.items[i].file) <= 0);
    mark_write(&list, &text);
    assert_true(mark_merge(&copy, buf_slice(&text)));
    mark_write(&copy, &again);
    assert_true(slice_equal(buf_slice(&text), buf_slice(&again)));
    buf_fini(&text);
    buf_fini(&again);
    mark_fini(&list);
    mark_fini(&copy);
}

static void malformed_lines_are_refused(void **state)
{
    static const char *const lines[] = {
        "x R a.c:1 t\n",  "1 Q a.c:1 t\n", "1 R a.c t\n",
        "1 R a.c:x t\n",  "1 R a.c:1 t",   "1 R :1 t\n",
        "1 R a.c:5000000000 t\n", "-1 R a.c:1 t\n", "\n",
    };
    struct mark_list list = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_false(mark_merge(&list, slice_text(lines[i])));
    assert_int_equal(list.marks.count, 0);
    assert_true(mark_merge(&list, slice_text("")));
    mark_fini(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_known_before_they_are_reached),
        cmocka_unit_test(counts_are_taken_once),
        cmocka_unit_test(lists_of_several_processes_are_added_up),
        cmocka_unit_test(malformed_lines_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
