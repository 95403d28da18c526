/* Tests the lines of an exported journal: a round trip keeps them, and others are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "host/export_line.h"

static const char *defect_of(const char *text)
{
    struct export_line line = { .kind = EXPORT_JOURNAL };
    const char *defect = export_decode(slice_text(text), &line);

    export_fini(&line);
    return defect;
}

static void a_record_with_any_bytes_survives_a_round_trip(void **state)
{
    static const char *const ids[] = { "Cart|anna", "Cart|\xff\xfe", "|Cart|1", "a\"\\\n\x1b|\xc2\x9b" };
    static const uint8_t record[] = { 0, 1, 2, 255, 254 };
    (void)state;

    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct export_line in = { .kind = i % 2 ? EXPORT_SNAPSHOT : EXPORT_EVENT,
                                  .texts[EXPORT_ID] = slice_text(ids[i]),
                                  .texts[EXPORT_RECORD] = slice_of(record, i),
                                  .numbers[EXPORT_SEQ] = INT64_MAX };
        struct export_line out = { .kind = EXPORT_JOURNAL };
        struct buf text = { 0 };

        export_encode(&text, &in);
        assert_int_equal(text.data[text.size - 1], '\n');
        for (size_t k = 0; k + 1 < text.size; k++)
            assert_true(text.data[k] >= 0x20 && text.data[k] < 0x7f);
        assert_null(export_decode(slice_of(text.data, text.size - 1), &out));
        assert_int_equal(out.kind, in.kind);
        assert_true(slice_equal(out.texts[EXPORT_ID], in.texts[EXPORT_ID]));
        assert_true(slice_equal(out.texts[EXPORT_RECORD], in.texts[EXPORT_RECORD]));
        assert_true(out.numbers[EXPORT_SEQ] == INT64_MAX);
        export_fini(&out);
        buf_fini(&text);
    }
}

static void a_line_has_exactly_its_fields(void **state)
{
    (void)state;
    assert_null(defect_of("{\"line\":\"term\",\"type\":\"Cart\",\"term\":4}"));
    assert_string_equal(defect_of("{\"line\":\"term\",\"type\":\"Cart\"}"), "a number is missing, or negative");
    assert_string_equal(defect_of("{\"line\":\"term\",\"type\":\"Cart\",\"term\":-4}"),
                        "a number is missing, or negative");
    assert_string_equal(defect_of("{\"line\":\"term\",\"term\":4}"), "a text is missing");
    assert_string_equal(defect_of("{\"line\":\"term\",\"type\":\"Cart\",\"term\":4,\"x\":1}"), "an unknown field");
    assert_string_equal(defect_of("{\"line\":\"term\",\"type\":\"Cart\",\"term\":4,\"term\":5}"), "no JSON object");
    assert_string_equal(defect_of("{\"line\":\"cart\"}"), "\"line\" has an unknown value");
    assert_string_equal(defect_of("[1]"), "no JSON object");
    assert_string_equal(defect_of("{\"line\":\"term\",\"type_base64\":\"Q2FydA==\",\"term\":4}"),
                        "base64 of a text that is UTF-8");
    assert_string_equal(defect_of("{\"line\":\"event\",\"id\":\"a|b\",\"seq\":1,\"record\":\"?\"}"),
                        "a text is no base64");
}

static void a_line_beyond_the_limit_is_refused(void **state)
{
    struct buf text = { 0 };
    struct export_line line = { .kind = EXPORT_JOURNAL };
    (void)state;

    buf_put_text(&text, "{\"line\":\"term\",\"term\":4,\"type\":\"Cart\"}");
    while (text.size < EXPORT_LINE_MAX)
        buf_put_u8(&text, ' ');
    assert_null(export_decode(buf_slice(&text), &line));
    buf_put_u8(&text, ' ');
    assert_string_equal(export_decode(buf_slice(&text), &line), "too long");
    export_fini(&line);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_with_any_bytes_survives_a_round_trip),
        cmocka_unit_test(a_line_has_exactly_its_fields),
        cmocka_unit_test(a_line_beyond_the_limit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
