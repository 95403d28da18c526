/* Tests paths, queries and forms: how they are decoded, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mgmt/params.h"

static void assert_slice(struct slice slice, const char *text)
{
    if (!slice_is(slice, text))
        fail_msg("%.*s instead of %s", (int)slice.size, (const char *)slice.data, text);
}

static void a_path_is_decoded_by_segment(void **state)
{
    struct target target = { .count = 0 };
    struct buf rest = { 0 };

    (void)state;
    assert_true(target_read(&target, slice_text("/a/b%2Fc/%E2%82%AC+d/?x=1&y=%41+%2B&z")));
    assert_int_equal(target.count, 4);
    assert_slice(target.segments[1], "b/c");
    assert_slice(target.segments[2], "\xe2\x82\xac+d");
    assert_slice(target.segments[3], "");
    assert_slice(params_find(&target.query, "x"), "1");
    assert_slice(params_find(&target.query, "y"), "A +");
    assert_non_null(params_find(&target.query, "z").data);
    assert_null(params_find(&target.query, "w").data);
    target_put_rest(&target, 1, &rest);
    assert_slice(buf_slice(&rest), "b/c/\xe2\x82\xac+d/");
    assert_slice(target_raw_rest(&target, 1), "b%2Fc/%E2%82%AC+d/");
    buf_fini(&rest);
    target_fini(&target);
}

static void malformed_targets_are_refused(void **state)
{
    static const char *const bad[] = { "", "a", "/%", "/%4", "/%4g", "/%00", "/%0a", "/%ff", "/?a=%", "/?%zz=1",
                                       "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17" };
    struct target target = { .count = 0 };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (target_read(&target, slice_text(bad[i])))
            fail_msg("%s was taken", bad[i]);
    target_fini(&target);
}

static void parameters_have_limits(void **state)
{
    struct params params = { .count = 0 };
    struct buf text = { 0 };

    (void)state;
    for (int i = 0; i < MGMT_PARAMS_MAX; i++)
        buf_put_text(&text, "&a=b");
    assert_true(params_read(&params, buf_slice(&text)));
    assert_int_equal(params.count, MGMT_PARAMS_MAX);
    buf_put_text(&text, "&a=b");
    assert_false(params_read(&params, buf_slice(&text)));
    buf_clear(&text);
    buf_put_text(&text, "a=");
    for (int i = 0; i < MGMT_PARAM_SIZE_MAX; i++)
        buf_put_text(&text, "%61");
    assert_true(params_read(&params, buf_slice(&text)));
    buf_put_text(&text, "a");
    assert_false(params_read(&params, buf_slice(&text)));
    buf_fini(&text);
    params_fini(&params);
}

static void a_path_has_a_limit_of_segments(void **state)
{
    struct target target = { .count = 0 };
    struct buf text = { 0 };

    (void)state;
    for (int i = 0; i < MGMT_SEGMENTS_MAX; i++)
        buf_put_text(&text, "/a");
    assert_true(target_read(&target, buf_slice(&text)));
    assert_int_equal(target.count, MGMT_SEGMENTS_MAX);
    buf_put_text(&text, "/a");
    assert_false(target_read(&target, buf_slice(&text)));
    buf_fini(&text);
    target_fini(&target);
}

static void forms_of_both_types_are_read(void **state)
{
    static const char body[] = "--X-1\r\nContent-Disposition: form-data; name=\"operation\"\r\n\r\nLeave\r\n--X-1--\r\n";
    static const char two[] = "--X-1\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n"
                              "--X-1\r\nContent-Disposition: form-data; name=\"c\"\r\n\r\nd\r\n--X-1--\r\n";
    struct slice multipart = slice_text("multipart/form-data; boundary=X-1");
    struct params params = { .count = 0 };

    (void)state;
    assert_true(params_read_form(&params, slice_text("application/x-www-form-urlencoded; charset=UTF-8"),
                                 slice_text("address=akka%3A%2F%2FS%40h%3A1")));
    assert_slice(params_find(&params, "address"), "akka://S@h:1");
    assert_true(params_read_form(&params, multipart, slice_text(body)));
    assert_slice(params_find(&params, "operation"), "Leave");
    assert_false(params_read_form(&params, multipart, slice_text(two)));
    assert_false(params_read_form(&params, multipart, slice_text("nothing")));
    assert_false(params_read_form(&params, slice_text("multipart/form-data"), slice_text(body)));
    assert_true(params_read_form(&params, slice_text("text/plain"), slice_text("operation=leave")));
    assert_int_equal(params.count, 0);
    params_fini(&params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_decoded_by_segment),
        cmocka_unit_test(malformed_targets_are_refused),
        cmocka_unit_test(parameters_have_limits),
        cmocka_unit_test(a_path_has_a_limit_of_segments),
        cmocka_unit_test(forms_of_both_types_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
