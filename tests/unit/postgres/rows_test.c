/* Tests parameters and rows in PostgreSQL's binary format, and the text of statements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "postgres/array.h"
#include "postgres/cells.h"
#include "postgres/sql.h"

static void an_array_of_numbers_has_the_servers_format(void **state)
{
    static const uint8_t expected[] = {
        0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 2, 0, 0, 0, 1,
        0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7,
        0, 0, 0, 8, 255, 255, 255, 255, 255, 255, 255, 254,
    };
    struct pg_array array = { .count = 0 };
    (void)state;

    pg_array_clear(&array, false);
    pg_array_add(&array, 7);
    pg_array_add(&array, UINT64_MAX - 1);
    assert_true(slice_equal(pg_array_value(&array), slice_of(expected, sizeof expected)));
    pg_array_clear(&array, false);
    assert_true(slice_equal(pg_array_value(&array),
                            slice_of("\0\0\0\0\0\0\0\0\0\0\0\x14", 12)));
    pg_array_fini(&array);
}

static void an_array_of_bytes_keeps_zeros_and_empty_items(void **state)
{
    static const uint8_t expected[] = {
        0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 2, 0, 0, 0, 1,
        0, 0, 0, 3, 'a', 0, 'b', 0, 0, 0, 0,
    };
    struct pg_array array = { .count = 0 };
    (void)state;

    pg_array_clear(&array, true);
    pg_array_add_bytes(&array, slice_of("a\0b", 3));
    pg_array_add_bytes(&array, slice_of("", 0));
    assert_true(slice_equal(pg_array_value(&array), slice_of(expected, sizeof expected)));
    pg_array_fini(&array);
}

static struct pg_cell number(uint8_t bytes[8], uint64_t value)
{
    pg_put_int8(bytes, value);
    return (struct pg_cell){ bytes, 8 };
}

static void the_first_item_of_an_array_is_a_parameter(void **state)
{
    static const uint8_t seven[8] = { [7] = 7 };
    struct pg_array array = { .count = 0 };
    (void)state;

    pg_array_clear(&array, false);
    pg_array_add(&array, 7);
    pg_array_add(&array, 8);
    assert_true(slice_equal(pg_array_first(&array), slice_of(seven, 8)));
    pg_array_clear(&array, true);
    pg_array_add_bytes(&array, slice_text("record"));
    assert_true(slice_equal(pg_array_first(&array), slice_text("record")));
    pg_array_fini(&array);
}

static void a_row_without_a_record_says_that_more_follow(void **state)
{
    static const uint8_t number[8] = { [7] = 3 };
    struct pg_cell cells[PG_REPLAY_CELLS] = { { number, 8 }, { (const uint8_t *)"r", 1 } };
    struct pg_replay_row row;
    (void)state;

    assert_true(pg_replay_decode(cells, &row));
    assert_false(row.is_more);
    assert_true(row.seq == 3 && slice_equal(row.record, slice_text("r")));
    cells[1] = (struct pg_cell){ NULL, -1 };
    assert_true(pg_replay_decode(cells, &row));
    assert_true(row.is_more);
}

static void cells_of_a_wrong_size_are_refused(void **state)
{
    static uint8_t large[PG_RECORD_MAX + 1];
    uint8_t bytes[8];
    struct slice slice;
    uint64_t value;
    bool flag;
    (void)state;

    assert_true(pg_cell_number(number(bytes, 1234567890123), &value));
    assert_true(value == 1234567890123);
    assert_false(pg_cell_number((struct pg_cell){ bytes, 4 }, &value));
    assert_false(pg_cell_number((struct pg_cell){ bytes, -1 }, &value));
    assert_false(pg_cell_flag((struct pg_cell){ (const uint8_t *)"\2", 1 }, &flag));
    assert_true(pg_cell_flag((struct pg_cell){ (const uint8_t *)"\1", 1 }, &flag));
    assert_false(pg_cell_bytes((struct pg_cell){ bytes, -1 }, 8, &slice));
    assert_false(pg_cell_bytes((struct pg_cell){ large, sizeof large }, PG_RECORD_MAX, &slice));
    assert_true(pg_cell_bytes((struct pg_cell){ large, PG_RECORD_MAX }, PG_RECORD_MAX, &slice));
}

static void a_refused_claim_has_no_row(void **state)
{
    uint8_t bytes[9][8];
    struct pg_cell cells[PG_CLAIM_CELLS];
    struct pg_claim_row row;
    (void)state;

    for (uint64_t i = 0; i < PG_CLAIM_CELLS; i++)
        cells[i] = number(bytes[i], i + 1);
    assert_true(pg_claim_decode(cells, &row));
    assert_true(row.is_written && row.id == 4 && row.fence.term == 5 && row.last == 7);
    assert_true(row.before.term == 8 && row.before.epoch == 9);
    for (int i = 3; i < PG_CLAIM_CELLS; i++)
        cells[i].size = -1;
    assert_true(pg_claim_decode(cells, &row));
    assert_false(row.is_written);
    assert_true(row.last_term == 1 && row.lowest_term == 2 && row.proof == 3);
    cells[0].size = -1;
    assert_false(pg_claim_decode(cells, &row));
}

static void statements_name_the_schema(void **state)
{
    struct buf text = { 0 };
    (void)state;

    for (enum pg_statement which = 0; which < PG_STATEMENTS; which++) {
        buf_clear(&text);
        pg_sql_put(&text, which, "my_schema");
        assert_null(strchr((const char *)text.data, '@'));
        assert_non_null(pg_sql_name(which));
        if (which > PG_ROLLBACK && which != PG_LIVES)
            assert_non_null(strstr((const char *)text.data, "my_schema."));
    }
    buf_fini(&text);
}

static void only_plain_names_of_schemas_are_valid(void **state)
{
    (void)state;
    assert_true(pg_schema_is_valid("sherd"));
    assert_true(pg_schema_is_valid("_a1"));
    assert_false(pg_schema_is_valid(""));
    assert_false(pg_schema_is_valid("1a"));
    assert_false(pg_schema_is_valid("Sherd"));
    assert_false(pg_schema_is_valid("a;b"));
    assert_false(pg_schema_is_valid("a.b"));
    assert_false(pg_schema_is_valid("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_of_numbers_has_the_servers_format),
        cmocka_unit_test(an_array_of_bytes_keeps_zeros_and_empty_items),
        cmocka_unit_test(the_first_item_of_an_array_is_a_parameter),
        cmocka_unit_test(a_row_without_a_record_says_that_more_follow),
        cmocka_unit_test(cells_of_a_wrong_size_are_refused),
        cmocka_unit_test(a_refused_claim_has_no_row),
        cmocka_unit_test(statements_name_the_schema),
        cmocka_unit_test(only_plain_names_of_schemas_are_valid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
