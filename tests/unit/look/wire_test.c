/* Tests rows and frames of looks: what is written is read, and what is malformed is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/limits.h"
#include "look/row.h"
#include "look/wire.h"

static struct look_request request_of_all_fields(void)
{
    struct look_request request = {
        .id = 7,
        .kind = SHERD_LOOK_ENTITIES,
        .type = slice_text("Cart"),
        .shard = slice_text("17"),
        .entity = slice_text("alice"),
        .cursor = { .size = 3, .bytes = { 1, 2, 3 } },
        .limit = 200,
        .order = LOOK_ENTITIES_MAILBOX,
        .within_ms = 5000,
        .since_ms = 99,
    };

    return request;
}

static void a_request_is_read_as_it_was_written(void **state)
{
    struct look_request written = request_of_all_fields(), read;
    enum look_error error;
    struct buf buf = { 0 };

    (void)state;
    look_request_put(&buf, &written);
    assert_true(look_request_read(buf_slice(&buf), &read, &error));
    assert_int_equal(error, LOOK_ERROR_NONE);
    assert_int_equal(read.id, 7);
    assert_int_equal(read.kind, SHERD_LOOK_ENTITIES);
    assert_true(slice_is(read.type, "Cart") && slice_is(read.shard, "17") &&
                slice_is(read.entity, "alice"));
    assert_int_equal(read.cursor.size, 3);
    assert_memory_equal(read.cursor.bytes, written.cursor.bytes, 3);
    assert_int_equal(read.limit, 200);
    assert_int_equal(read.order, LOOK_ENTITIES_MAILBOX);
    assert_int_equal(read.within_ms, 5000);
    assert_int_equal(read.since_ms, 99);
    buf_fini(&buf);
}

/* Whether a changed request is read at all. */
static bool reads(const struct look_request *request)
{
    struct look_request read;
    enum look_error error;
    struct buf buf = { 0 };
    bool is_read;

    look_request_put(&buf, request);
    is_read = look_request_read(buf_slice(&buf), &read, &error);
    buf_fini(&buf);
    return is_read;
}

static void a_request_beyond_a_limit_is_refused(void **state)
{
    char name[LOOK_NAME_MAX + 2] = { 0 };
    struct look_request request = request_of_all_fields();

    (void)state;
    memset(name, 'a', LOOK_NAME_MAX + 1);
    request.type = slice_text(name);
    assert_false(reads(&request));
    request.type = slice_of(name, LOOK_NAME_MAX);
    assert_true(reads(&request));
    request.within_ms = LOOK_WITHIN_MAX_MS + 1;
    assert_false(reads(&request));
    request.within_ms = LOOK_WITHIN_MAX_MS;
    request.limit = SHERD_LOOK_ROWS_MAX + 1;
    assert_false(reads(&request));
    request.limit = 0;
    assert_false(reads(&request));
    request.limit = 1;
    assert_true(reads(&request));
    request.id = 0;
    assert_false(reads(&request));
}

static void a_cursor_longer_than_any_of_ours_is_refused(void **state)
{
    uint8_t bytes[LOOK_CURSOR_MAX + 1] = { 0 };
    struct look_request read;
    enum look_error error;
    struct buf buf = { 0 };

    (void)state;
    buf_put_varint(&buf, 6 << 3 | 2);
    buf_put_varint(&buf, sizeof bytes);
    buf_put(&buf, bytes, sizeof bytes);
    assert_false(look_request_read(buf_slice(&buf), &read, &error));
    buf_fini(&buf);
}

static void an_unknown_kind_or_order_has_an_error_and_its_id(void **state)
{
    struct look_request request = request_of_all_fields(), read;
    enum look_error error;
    struct buf buf = { 0 };

    (void)state;
    request.order = LOOK_ENTITIES_TYPE; /* rows cannot be ordered by it */
    look_request_put(&buf, &request);
    assert_true(look_request_read(buf_slice(&buf), &read, &error));
    assert_int_equal(error, LOOK_ERROR_KIND);
    assert_int_equal(read.id, 7);
    buf_clear(&buf);
    request.order = LOOK_NO_ORDER;
    request.kind = SHERD_LOOK_KIND_COUNT;
    look_request_put(&buf, &request);
    assert_true(look_request_read(buf_slice(&buf), &read, &error));
    assert_int_equal(error, LOOK_ERROR_KIND);
    buf_fini(&buf);
}

static void a_reply_is_read_as_it_was_written_with_fields_of_a_newer_node(void **state)
{
    struct look_reply written = { .id = 3,
                                  .rows = slice_text("rows"),
                                  .next = { .size = 1, .bytes = { 9 } },
                                  .error = LOOK_ERROR_BUSY,
                                  .wall_ms = 12 };
    struct look_reply read;
    struct buf buf = { 0 };

    (void)state;
    look_reply_put(&buf, &written);
    buf_put_varint(&buf, 90 << 3 | 2);
    buf_put_varint(&buf, 2);
    buf_put_text(&buf, "ab");
    assert_true(look_reply_read(buf_slice(&buf), &read));
    assert_int_equal(read.id, 3);
    assert_true(slice_is(read.rows, "rows"));
    assert_int_equal(read.next.size, 1);
    assert_int_equal(read.error, LOOK_ERROR_BUSY);
    assert_int_equal(read.wall_ms, 12);
    buf.data[buf.size - 3] = 200; /* the last field is longer than the frame */
    assert_false(look_reply_read(buf_slice(&buf), &read));
    buf_fini(&buf);
}

static void a_part_larger_than_a_frame_is_refused(void **state)
{
    uint8_t *bytes = calloc(1, LOOK_PART_BYTES_MAX + 1);
    struct look_reply reply = { .id = 1, .rows = { bytes, LOOK_PART_BYTES_MAX + 1 } }, read;
    struct buf buf = { 0 };

    (void)state;
    look_reply_put(&buf, &reply);
    assert_false(look_reply_read(buf_slice(&buf), &read));
    buf_clear(&buf);
    reply.rows.size = LOOK_PART_BYTES_MAX;
    look_reply_put(&buf, &reply);
    assert_true(look_reply_read(buf_slice(&buf), &read));
    assert_true(buf.size < FRAME_SIZE_MAX - 8192);
    buf_fini(&buf);
    free(bytes);
}

static void rows_are_read_as_they_were_written(void **state)
{
    struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX];
    struct look_rows rows = { .count = 0 };
    struct cursor cursor;
    struct slice row;

    (void)state;
    look_row_begin(&rows);
    look_put_text(&rows, LOOK_SHARDS_TYPE, "Cart");
    look_put(&rows, LOOK_SHARDS_ENTITIES, 41);
    look_row_end(&rows);
    look_row_begin(&rows);
    look_row_drop(&rows);
    look_row_begin(&rows);
    look_row_end(&rows);
    assert_int_equal(rows.count, 2);
    cursor = cursor_of(buf_slice(&rows.bytes));
    assert_true(look_row_next(&cursor, &row));
    assert_true(look_row_read(SHERD_LOOK_SHARDS, row, values));
    assert_int_equal(values[LOOK_SHARDS_ENTITIES].number, 41);
    assert_int_equal(values[LOOK_SHARDS_TYPE].bytes.size, 4);
    assert_false(values[LOOK_SHARDS_LANE].is_known);
    assert_true(look_row_next(&cursor, &row));
    assert_int_equal(row.size, 0);
    assert_false(look_row_next(&cursor, &row));
    assert_false(cursor.failed);
    /* a text where the kind has a number */
    cursor = cursor_of(buf_slice(&rows.bytes));
    assert_true(look_row_next(&cursor, &row));
    assert_false(look_row_read(SHERD_LOOK_NODES, row, values));
    look_rows_fini(&rows);
}

static void a_long_text_is_cut_before_a_character(void **state)
{
    struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX];
    struct look_rows rows = { .count = 0 };
    char text[LOOK_TEXT_MAX + 8];
    struct cursor cursor;
    struct slice row;

    (void)state;
    memset(text, 'a', sizeof text);
    memcpy(text + LOOK_TEXT_MAX - 1, "\xc3\xa4", 2); /* two bytes */
    look_row_begin(&rows);
    look_put_bytes(&rows, LOOK_ENTITY_FAULT, slice_of(text, sizeof text));
    look_row_end(&rows);
    cursor = cursor_of(buf_slice(&rows.bytes));
    assert_true(look_row_next(&cursor, &row));
    assert_true(look_row_read(SHERD_LOOK_ENTITY, row, values));
    assert_int_equal(values[LOOK_ENTITY_FAULT].bytes.size, LOOK_TEXT_MAX - 1);
    look_rows_fini(&rows);
}

static void every_kind_has_a_name_and_columns(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < SHERD_LOOK_KIND_COUNT; kind++) {
        const char *name = sherd_look_kind_text((enum sherd_look_kind)kind);
        const struct sherd_look_column *columns;
        uint32_t count;

        assert_int_equal(sherd_look_kind_of(name), kind);
        columns = sherd_look_columns((enum sherd_look_kind)kind, &count);
        assert_true(count > 0 && count <= SHERD_LOOK_COLUMNS_MAX);
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t j = 0; j < i; j++)
                assert_string_not_equal(columns[i].name, columns[j].name);
    }
    assert_int_equal(sherd_look_kind_of("nothing"), SHERD_LOOK_KIND_COUNT);
    assert_string_equal(sherd_look_state_text(SHERD_LOOK_TIMEOUT), "timeout");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_read_as_it_was_written),
        cmocka_unit_test(a_request_beyond_a_limit_is_refused),
        cmocka_unit_test(a_cursor_longer_than_any_of_ours_is_refused),
        cmocka_unit_test(an_unknown_kind_or_order_has_an_error_and_its_id),
        cmocka_unit_test(a_reply_is_read_as_it_was_written_with_fields_of_a_newer_node),
        cmocka_unit_test(a_part_larger_than_a_frame_is_refused),
        cmocka_unit_test(rows_are_read_as_they_were_written),
        cmocka_unit_test(a_long_text_is_cut_before_a_character),
        cmocka_unit_test(every_kind_has_a_name_and_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
